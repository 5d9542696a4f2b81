//! The bugs that can be planted are as many as docs/testing.md says, and each is planted by a test.

use std::path::{Path, PathBuf};

/// Names of the variants of `Bug` in the text of planted.rs.
fn names(text: &str) -> Vec<String> {
    let body = text.split_once("pub enum Bug {").expect("the list").1;
    let body = body.split_once("\n}").expect("its end").0;
    let lines = body.lines().map(str::trim);
    let variants = lines.filter(|line| !line.starts_with("///") && line.ends_with(','));
    variants
        .map(|line| line.trim_end_matches(',').to_owned())
        .collect()
}

/// Text of all Rust files below a directory.
fn text_below(directory: &Path, all: &mut String) {
    let entries = std::fs::read_dir(directory).expect("a directory of the crate");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            text_below(&path, all);
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push_str(&std::fs::read_to_string(&path).expect("text"));
        }
    }
}

#[test]
fn planted_bugs_are_counted_rightly_and_each_is_planted() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(here.join(path)).ok();
    let bugs = names(&read("src/planted.rs").expect("of this crate"));
    assert!(bugs.len() > 30, "{bugs:?}");
    let mut planting = String::new();
    for place in ["tests", "src/crash", "src/interleavings", "src/schedules"] {
        text_below(&here.join(place), &mut planting);
    }
    for file in [
        "src/schedules.rs",
        "src/members/queue/tests.rs",
        "src/members/heal/tests.rs",
        "src/members/ring/tests.rs",
        "src/recovery/reading.rs",
    ] {
        planting.push_str(&read(file).expect("of this crate"));
    }
    for bug in &bugs {
        let named = planting.contains(&format!("Bug::{bug}"));
        assert!(named, "no test plants {bug}");
    }
    // A package has no such document.
    let Some(claims) = read("../../docs/testing.md") else {
        return println!("skipped: docs/testing.md is not part of the package");
    };
    let claim = claims.split_once(" planted bugs (").expect("the claim").0;
    let number = claim.rsplit(' ').next().expect("a number");
    assert_eq!(
        number,
        bugs.len().to_string(),
        "docs/testing.md says {number}"
    );
}
