//! The catalogue against the code that makes findings, and against the thresholds.

use super::*;
use std::collections::BTreeSet;
use std::path::Path;

/// Text of all files below a folder that are not tests.
fn code(folder: &Path, out: &mut String) {
    for found in std::fs::read_dir(folder).expect("it is there") {
        let path = found.expect("an entry").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && name != "catalogue" {
            code(&path, out);
        } else if name.ends_with(".rs") && !name.contains("test") && name != "fixture.rs" {
            let text = std::fs::read_to_string(&path).expect("UTF-8");
            out.push_str(
                text.split("#[cfg(test)]\nmod tests {")
                    .next()
                    .unwrap_or_default(),
            );
        }
    }
}

/// Strings of the form `"prefix.word"`, as ids have it.
fn ids(code: &str) -> BTreeSet<&str> {
    const PREFIXES: &[&str] = &[
        "stack",
        "mount",
        "durability",
        "need",
        "validity",
        "origin",
        "evidence",
        "latency",
        "flush",
        "block",
        "concurrency",
        "steady",
        "load",
        "space",
    ];
    let is_id = |text: &&str| {
        let Some((prefix, rest)) = text.split_once('.') else {
            return false;
        };
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        PREFIXES.contains(&prefix) && !rest.is_empty() && rest.chars().all(word)
    };
    code.split('"').filter(is_id).collect()
}

#[test]
fn it_holds_every_id_of_the_code_and_no_other() {
    let mut text = String::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    code(&root.join("src/findings"), &mut text);
    let made = ids(&text);
    assert!(made.len() > 60, "{}", made.len());
    for id in &made {
        assert!(entry(id).is_some(), "{id} is not in the catalogue");
    }
    // Made from a wait event's key, from a recorded problem, or by a power test.
    let others = [
        "space.log_",
        "validity.",
        "durability.tested",
        "durability.refuted",
    ];
    for entry in entries() {
        let elsewhere = others.iter().any(|begin| entry.id.starts_with(begin));
        assert!(
            elsewhere || made.contains(entry.id),
            "{}: nothing makes it",
            entry.id
        );
    }
}

#[test]
fn each_entry_stands_once_and_is_complete() {
    let t = Thresholds::default();
    let mut seen = BTreeSet::new();
    let mut applied = BTreeSet::new();
    for entry in entries() {
        assert!(seen.insert(entry.id), "{} stands twice", entry.id);
        assert!(entry.claim.ends_with('.'), "{}: {}", entry.id, entry.claim);
        assert!(
            entry.advice.is_empty() || entry.advice.ends_with('.'),
            "{}",
            entry.id
        );
        let limits = entry.limits(&t);
        assert_eq!(
            limits.len(),
            entry.thresholds.len(),
            "{}: an unknown threshold",
            entry.id
        );
        let sourced = !entry.source.is_empty() || !limits.is_empty();
        assert!(sourced, "{} has no source", entry.id);
        applied.extend(entry.thresholds);
    }
    let all: BTreeSet<&str> = Thresholds::NAMES.iter().copied().collect();
    let unused: Vec<_> = all.difference(&applied).collect();
    assert!(unused.is_empty(), "no finding applies {unused:?}");
}
