//! The project's own rules: what no compiler and no lint checks.
//!
//! What lives here: the list of rule sets, the ratchet and the report. A rule set is a function
//! from files to violations; it reads no disk, so each is tested on small examples. What cargo
//! knows is asked of cargo.
//!
//! Invariant: one line a violation, `file:line: rule: message`, in the order of files.

mod circles;
mod documents;
mod layers;
mod names;
mod paths;
mod style;
mod unsafety;
mod words;

use crate::source::Source;
use crate::tree;
use crate::{Outcome, policy, prove};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// From the root.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// Name of the rule.
    pub rule: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Violation {
    fn new(path: &str, line: usize, rule: &'static str, message: impl Into<String>) -> Violation {
        Violation {
            path: path.to_string(),
            line,
            rule,
            message: message.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation {
            path,
            line,
            rule,
            message,
        } = self;
        write!(f, "{path}:{line}: {rule}: {message}")
    }
}

/// Applies every rule and prints the report. Whether nothing was found.
pub fn run(root: &Path) -> Outcome<bool> {
    let files = tree::files(root)?;
    let sources: Vec<Source> = files
        .iter()
        .filter(|file| file.ending() == "rs")
        .map(Source::new)
        .collect();
    let mut found = Vec::new();
    for source in &sources {
        found.extend(style::check(source));
        found.extend(unsafety::check(source));
        found.extend(paths::check(source));
        found.extend(words::plain_code(source));
    }
    found.extend(names::check(&sources));
    found.extend(circles::check(&sources));
    found.extend(files.iter().flat_map(words::check));
    found.extend(files.iter().flat_map(words::plain_document));
    found.extend(documents::check(root, &files));
    found.extend(layers::check(root)?);

    let ratchet = files.iter().find(|file| file.path == policy::RATCHET);
    let mut found = ratchet_down(found, ratchet.map_or("", |file| file.text.as_str()));
    found.sort();
    found.iter().for_each(|violation| println!("{violation}"));
    sources
        .iter()
        .filter_map(style::note)
        .for_each(|note| println!("note: {note}"));
    prove::notes(root)
        .iter()
        .for_each(|note| println!("note: {note}"));
    println!(
        "tidy: {} violations in {} files ({} of Rust)",
        found.len(),
        files.len(),
        sources.len()
    );
    Ok(found.is_empty())
}

/// Takes away what the ratchet allows. A line `rule path count` allows that many of a rule in a
/// file; fewer than that many is a violation too, so that the ratchet only ever turns one way.
fn ratchet_down(found: Vec<Violation>, ratchet: &str) -> Vec<Violation> {
    let mut by_rule: BTreeMap<(String, String), Vec<Violation>> = BTreeMap::new();
    for violation in found {
        let key = (violation.rule.to_string(), violation.path.clone());
        by_rule.entry(key).or_default().push(violation);
    }
    let mut left = Vec::new();
    for (index, line) in ratchet.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let told = |message: String| Violation::new(policy::RATCHET, index + 1, "ratchet", message);
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[rule, path, count] = words.as_slice() else {
            left.push(told(format!("`{line}` is not `rule path count`")));
            continue;
        };
        let key = (rule.to_string(), path.to_string());
        let now = by_rule.get(&key).map_or(0, Vec::len);
        match count.parse::<usize>() {
            Ok(allowed) if allowed == now && now > 0 => drop(by_rule.remove(&key)),
            Ok(allowed) if allowed > now => left.push(told(format!(
                "{path} breaks `{rule}` {now} times now, not {allowed}: turn the ratchet down"
            ))),
            Ok(_) => {}
            Err(_) => left.push(told(format!("`{count}` is not a number"))),
        }
    }
    left.extend(by_rule.into_values().flatten());
    left
}

/// Where `rule` fires: what the tests of the rule sets compare.
#[cfg(test)]
fn fired(found: &[Violation]) -> Vec<(&'static str, usize)> {
    found.iter().map(|v| (v.rule, v.line)).collect()
}

/// A file made up for a test.
#[cfg(test)]
fn made_up(path: &str, text: &str) -> tree::File {
    tree::File {
        path: path.to_string(),
        text: text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_one_line() {
        let violation = Violation::new("a/b.rs", 3, "unwrap", "say why");
        assert_eq!(violation.to_string(), "a/b.rs:3: unwrap: say why");
    }

    #[test]
    fn the_ratchet_only_turns_down() {
        let found = || {
            vec![
                Violation::new("a.rs", 1, "columns", "x"),
                Violation::new("a.rs", 2, "columns", "x"),
            ]
        };
        for (ratchet, expected) in [
            ("", vec![("columns", 1), ("columns", 2)]),
            ("# none\ncolumns a.rs 2 # grown before the rule\n", vec![]),
            ("columns a.rs 1\n", vec![("columns", 1), ("columns", 2)]),
            (
                "columns a.rs 3\n",
                vec![("ratchet", 1), ("columns", 1), ("columns", 2)],
            ),
            ("columns a.rs 2\nunwrap b.rs 1\n", vec![("ratchet", 2)]),
            (
                "columns a.rs 2\ncolumns\nunwrap b.rs many\n",
                vec![("ratchet", 2), ("ratchet", 3)],
            ),
        ] {
            assert_eq!(
                fired(&ratchet_down(found(), ratchet)),
                expected,
                "{ratchet}"
            );
        }
    }
}
