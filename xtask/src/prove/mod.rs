//! `cargo xtask prove [NAME…]`: what takes longer than a check may, by name, with its data.
//!
//! What lives here: the list of proofs and taking them in turn. The table of those that are tests
//! is in `tests`, how old each is in `age`; `cuts` adds options to one of them, `soak` repeats some
//! with other seeds, `mutants` changes the product, `deny` asks cargo-deny, `dist` installs what
//! others install.
//!
//! Invariant: a proof that could not be made has failed; nothing here skips.

mod age;
mod cuts;
mod deny;
mod dist;
mod mutants;
pub mod record;
mod soak;
mod tests;

pub use age::{built_from, notes};
pub use deny::install;

use crate::{Outcome, fuzz};
use age::Age;
use std::collections::BTreeMap;
use std::path::Path;
use tests::{PROOFS, Proof};

/// Seconds of each fuzz target, unless a number follows its name.
const FUZZ_SECONDS: &str = "300";

/// A proof that is not a test of the workspace: name, what it shows, how long it takes.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "mutants",
        "how many of 200 small changes of the product the tests notice (--seed N, --each N, --tier \
         units|fast|crates|whole, --again survived|timeout, --only CRATE:NUMBER,…)",
        "1 h",
    ),
    (
        "fuzz",
        "every fuzz target from its corpus on, 300 s each (fuzz SECONDS)",
        "2 h",
    ),
    (
        "deny",
        "licences, sources and banned crates of every dependency",
        "1 min",
    ),
    (
        "dist",
        "every crate compiles from its package; a program outside the workspace embeds the log; the .deb, the wheel and the static binary, installed \
         in clean directories, run `redolab check --quick` there and leave nothing behind when they \
         are removed; the first hour of three newcomers with the binary of the .deb (--on DIRECTORY: measure there)",
        "10 min",
    ),
    (
        "soak",
        "the proofs that other seeds repeat, in turn (soak MINUTES, or soak 8h)",
        "as asked",
    ),
];

/// A name, and the words up to the next name.
type Asked<'a> = (&'a str, Vec<&'a str>);

/// Makes the proofs that the words name, or all but `soak`. Whether all hold.
///
/// # Errors
/// When a name or an option is not known, or a proof cannot be made.
pub fn run(root: &Path, words: &[&str]) -> Outcome<bool> {
    if words == ["list"] {
        print!("{}", list(&age::ages(root)));
        return Ok(true);
    }
    let asked = asked(words)?;
    let mut ended = Vec::new();
    for (name, options) in &asked {
        println!("== prove {name}");
        let held = prove(root, name, options).unwrap_or_else(|problem| {
            println!("{name}: {problem}");
            false
        });
        ended.push((name, held));
    }
    println!();
    for (name, held) in &ended {
        println!("{name:<16} {}", if *held { "holds" } else { "FAILED" });
    }
    Ok(ended.iter().all(|(_, held)| *held))
}

fn prove(root: &Path, name: &str, options: &[&str]) -> Outcome<bool> {
    match (name, options) {
        ("cuts", options) => cuts::run(root, options),
        ("mutants", options) => mutants::run(root, &mutants::Options::parse(options)?),
        ("fuzz", []) => fuzz::run(root, &[FUZZ_SECONDS]),
        ("fuzz", options) => fuzz::run(root, options),
        ("deny", []) => deny::run(root),
        ("dist", []) => dist::run(root, None),
        ("dist", ["--on", place]) => dist::run(root, Some(Path::new(place))),
        ("soak", [time]) => soak::run(root, soak::parse(time)?),
        ("soak", _) => Err("say how long: soak MINUTES, or soak 8h".to_owned()),
        ("interleavings", [seconds]) => {
            let proof = PROOFS.iter().find(|proof| proof.name == name);
            let proof = proof.ok_or("no such proof")?;
            tests::run(root, proof, 0, &[("LOOM_MAX_DURATION", *seconds)])
        }
        (_, []) => match PROOFS.iter().find(|proof| proof.name == name) {
            Some(proof) => tests::run(root, proof, 0, &[]),
            None => Err(format!("no proof `{name}`; see `cargo xtask prove list`")),
        },
        (_, [option, ..]) => Err(format!("{name} has no option {option}")),
    }
}

/// The proofs that are tests.
fn proofs() -> impl Iterator<Item = &'static Proof> {
    PROOFS.iter().chain([&cuts::PROOF])
}

/// Names of all proofs, with what they show and how long they take.
fn all() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut all: Vec<_> = proofs().map(|p| (p.name, p.shows, p.takes)).collect();
    all.extend(OTHERS);
    all
}

/// The table of proofs of docs/testing.md.
pub fn table() -> String {
    let lines = all().into_iter().map(|(name, shows, takes)| {
        let shows = shows.replace('|', "\\|");
        format!("\n| `{name}` | {shows} | {takes} |")
    });
    let heading = "| proof | what it shows | time |\n|---|---|---|".to_owned();
    heading + &lines.collect::<String>()
}

/// Each proof, and how old it is where that is known.
fn list(ages: &BTreeMap<&str, Age>) -> String {
    let line = |(name, shows, takes): (&str, &str, &str)| {
        let age = ages
            .get(name)
            .map_or(String::new(), |age| format!("{:<24} {age}\n", ""));
        format!("{name:<14} {takes:<9} {shows}\n{age}")
    };
    let lines = all().into_iter().map(line);
    lines.collect()
}

/// Takes the words apart: each name begins a proof, other words belong to the one before.
fn asked<'a>(words: &[&'a str]) -> Outcome<Vec<Asked<'a>>> {
    let all = all();
    if words.is_empty() {
        let names = all.iter().map(|(name, ..)| *name);
        let names = names.filter(|name| *name != "soak");
        return Ok(names.map(|name| (name, Vec::new())).collect());
    }
    let mut asked: Vec<Asked> = Vec::new();
    for word in words {
        if all.iter().any(|(name, ..)| name == word) {
            asked.push((word, Vec::new()));
        } else if let Some((_, options)) = asked.last_mut() {
            options.push(word);
        } else {
            return Err(format!("no proof `{word}`; see `cargo xtask prove list`"));
        }
    }
    Ok(asked)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn words_belong_to_the_name_before_them() {
        let words = asked(&["cuts", "--cuts", "7", "deny", "soak", "5"]).expect("all are known");
        let expected: Vec<Asked> = vec![
            ("cuts", vec!["--cuts", "7"]),
            ("deny", vec![]),
            ("soak", vec!["5"]),
        ];
        assert_eq!(words, expected);
        assert!(asked(&["nothing"]).is_err());
        let every = asked(&[]).expect("all");
        assert_eq!(every.len() + 1, all().len());
    }

    #[test]
    fn names_are_unique_and_listed_with_their_time() {
        let all = all();
        for (at, (name, shows, takes)) in all.iter().enumerate() {
            assert!(
                !all.iter().take(at).any(|(other, ..)| other == name),
                "{name}"
            );
            assert!(!shows.is_empty() && !takes.is_empty(), "{name}");
            assert!(list(&BTreeMap::new()).contains(shows));
        }
        let root = crate::root();
        assert!(prove(&root, "flips", &["--deep"]).is_err());
        assert!(prove(&root, "soak", &[]).is_err());
    }
}
