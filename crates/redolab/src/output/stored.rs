//! What is in a run store, and one stored run, as they are shown.

use super::overview::{self, View};
use super::{imported, table};
use crate::store::{Entry, State};
use measure::run::Run;
use measure::words::{self, sanitize};
use serde::Serialize;

/// The schema of a listing.
const SCHEMA: &str = "redolab.runs/1";

/// The runs of a store, oldest first.
#[derive(Serialize)]
pub struct Listing<'a> {
    schema: &'static str,
    store: String,
    runs: Vec<Line<'a>>,
}

/// One run of a listing. What an unfinished run does not tell is left out.
#[derive(Serialize)]
struct Line<'a> {
    run_id: &'a str,
    state: &'static str,
    detail: &'a str,
    created: Option<&'a str>,
    origin: Option<&'static str>,
    target_kind: Option<&'a str>,
    target_path: Option<&'a str>,
    workloads: Option<&'a [String]>,
    rows: Option<usize>,
    valid: Option<bool>,
}

impl<'a> From<&'a Entry> for Line<'a> {
    fn from(entry: &'a Entry) -> Line<'a> {
        let summary = entry.summary.as_ref();
        Line {
            run_id: &entry.id,
            state: state(entry.state),
            detail: &entry.detail,
            created: summary.map(|s| s.created.as_str()),
            origin: summary.map(|s| words::origin(s.origin)),
            target_kind: summary.map(|s| s.target.0.as_str()),
            target_path: summary.map(|s| s.target.1.as_str()),
            workloads: summary.map(|s| s.workloads.as_slice()),
            rows: summary.map(|s| s.rows),
            valid: summary.map(|s| s.valid),
        }
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Complete => "complete",
        State::Incomplete => "incomplete",
        State::Damaged => "damaged",
        State::NewerVersion => "newer version",
    }
}

impl<'a> Listing<'a> {
    /// The runs of the store at `store`.
    pub fn new(store: String, entries: &'a [Entry]) -> Listing<'a> {
        Listing {
            schema: SCHEMA,
            store,
            runs: entries.iter().map(Line::from).collect(),
        }
    }
}

/// A line for each run.
pub fn text(listing: &Listing<'_>, style: table::Style) -> String {
    let place = sanitize::line(&listing.store);
    if listing.runs.is_empty() {
        return format!("No runs in {place}\n");
    }
    let headings = [
        "Run",
        "State",
        "Origin",
        "Target",
        "Workloads",
        "Valid",
        "Rows",
    ];
    let cell = |text: Option<&str>| text.map_or("-".to_owned(), sanitize::line);
    let lines = listing.runs.iter().map(|line| {
        let valid = line.valid.map(|valid| if valid { "yes" } else { "NO" });
        vec![
            sanitize::line(line.run_id),
            line.state.to_owned(),
            cell(line.origin),
            cell(line.target_path),
            cell(line.workloads.map(|names| names.join(" ")).as_deref()),
            cell(valid),
            line.rows.map_or("-".to_owned(), |rows| rows.to_string()),
        ]
    });
    let mut out = table::draw(&headings, lines.collect(), 6, style);
    for line in listing.runs.iter().filter(|l| !l.detail.is_empty()) {
        out.push_str(&format!("{}\n", sanitize::line(line.detail)));
    }
    out
}

/// A stored run: imported evidence, or what was measured.
pub fn tables(run: &Run, view: View<'_>, style: table::Style) -> String {
    match run.imported.is_some() {
        true => imported::text(run, style, view.verbose),
        false => overview::text(run, view, style),
    }
}
