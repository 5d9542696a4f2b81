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

/// The name of an entry's constant.
fn constant(entry: &CatalogueEntry) -> String {
    entry.id.replace('.', "_").to_uppercase()
}

/// Whether `name` is in `code` as a word of its own.
fn has_word(code: &str, name: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        !before.ends_with(joins) && !after.starts_with(joins)
    })
}

#[test]
fn the_code_makes_each_finding() {
    let mut text = String::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    code(&root.join("src/findings"), &mut text);
    for entry in entries() {
        // Made from a recorded problem.
        let elsewhere = entry.id.starts_with("validity.");
        let made = has_word(&text, &format!("catalogue::{}", constant(entry)));
        assert!(elsewhere || made, "{}: nothing makes it", entry.id);
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
