//! Situations from practice, imported through the binary: `inputs` has a file for each, `figures`
//! what the import shows of it (tables, headings, origins, refusals, diagnostics).
//!
//! Names that begin with `a` are of public reports, whose figures are kept; the others were made up
//! to show one kind of fault, and only their format is real.

mod csv;
mod day;
mod fifth;
mod figures;
mod findings;
mod hourly;
mod nights;
mod pairs;
mod parts;
mod series;
mod sixth;
mod sixty;
mod third;

#[path = "../cli/harness.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod harness;

use harness::{Done, Place};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The files of the cases.
pub fn inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/inputs")
}

/// Imports files of `inputs` with further arguments.
pub fn import(files: &[&str], more: &[&str]) -> Done {
    let place = Place::new();
    let paths = files.iter().map(|f| inputs().join(f).display().to_string());
    let mut arguments = vec!["import".to_owned()];
    arguments.extend(paths);
    arguments.extend(more.iter().map(|m| (*m).to_owned()));
    place.run(&arguments)
}

/// The JSON of an import that succeeds.
pub fn json(files: &[&str]) -> Value {
    let done = import(files, &["--format", "json", "-q"]);
    done.expect(0, &[]).json()
}
