//! What long steps of the check passed with: the digest of everything that they are built from.
//!
//! A step whose files are those with which it passed would pass again: its seeds are fixed. The
//! check says so instead of running it, unless it is asked for by name. One changed byte of the
//! log, of its tests, of a crate below it or of `Cargo.lock` makes it run.
//!
//! Invariant: only a step that passed whole, without a skipped test, has a line.

use crate::prove::{built_from, record};
use crate::{Outcome, tree};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Where each step that passed with other files than before appends a line.
const DATA: &str = "experiments/proofs/held.csv";
const COLUMNS: &str = "step,sha256,tests,commit";

/// The digest of the files of a package and of what it is built from, and of how they are run.
///
/// # Errors
/// When a file cannot be read.
pub fn digest(root: &Path, package: &str, how: &str) -> Outcome<String> {
    let folders = built_from(root, package);
    let folders: Vec<String> = folders.iter().map(|n| format!("crates/{n}/")).collect();
    let counts = |path: &str| {
        let is_of_all = ["Cargo.toml", "Cargo.lock"].contains(&path);
        is_of_all || folders.iter().any(|folder| path.starts_with(folder))
    };
    let files = tree::files(root)?;
    Ok(of(files.iter().filter(|file| counts(&file.path)), how))
}

fn of<'a>(files: impl Iterator<Item = &'a tree::File>, how: &str) -> String {
    let mut digest = Sha256::new();
    let mut part = |text: &str| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    };
    part(how);
    for file in files {
        part(&file.path);
        part(&file.text);
    }
    let bytes = digest.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The commit at which a step passed with these files.
pub fn held_at(root: &Path, step: &str, digest: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(DATA)).ok()?;
    let rows = record::rows(&text).into_iter().rev();
    let is = |field: Option<&String>, value: &str| field.is_some_and(|field| field == value);
    let mut same = rows.filter(|row| is(row.get("step"), step) && is(row.get("sha256"), digest));
    same.next()?.get("commit").cloned()
}

/// Writes down that a step passed with these files.
///
/// # Errors
/// When the line cannot be written.
pub fn record(root: &Path, step: &str, digest: &str, tests: usize) -> Outcome<()> {
    if held_at(root, step, digest).is_some() {
        return Ok(());
    }
    let row = [step, digest, &tests.to_string(), &record::commit(root)].map(str::to_owned);
    record::append(root, DATA, COLUMNS, &row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_changed_byte_is_another_digest() {
        let file = |path: &str, text: &str| tree::File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let one = |path: &str, text: &str, how: &str| of([&file(path, text)].into_iter(), how);
        let before = one("a", "bc", "x");
        assert_eq!(before.len(), 64);
        for (path, text, how) in [("a", "bd", "x"), ("ab", "c", "x"), ("a", "bc", "y")] {
            assert_ne!(one(path, text, how), before, "{path} {text} {how}");
        }
    }

    #[test]
    fn what_passed_is_found_again_and_nothing_else() {
        let root = std::env::temp_dir().join(format!("redolab-held-{}", std::process::id()));
        std::fs::create_dir_all(&root).expect("a folder");
        assert_eq!(held_at(&root, "schedules", "aa"), None);
        record(&root, "schedules", "aa", 9).expect("a line");
        record(&root, "schedules", "aa", 9).expect("no second line");
        let text = std::fs::read_to_string(root.join(DATA)).expect("the data");
        assert_eq!(text.matches("schedules,aa,9,").count(), 1, "{text}");
        assert!(held_at(&root, "schedules", "aa").is_some());
        assert_eq!(held_at(&root, "schedules", "ab"), None);
        assert_eq!(held_at(&root, "interleavings", "aa"), None);
        std::fs::remove_dir_all(&root).expect("the folder");
    }
}
