//! What is in a run store, and one stored run, as they are shown.

use super::lines::wrap;
use super::{differences, drawing, lines, table};
use crate::store::{Entry, State};
use measure::judgement::Answer;
use measure::words::{self, sanitize};
use serde::Serialize;
use std::collections::BTreeMap;

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
    doubtful: Option<bool>,
    label: Option<&'a str>,
    tags: Option<&'a BTreeMap<String, String>>,
    options: Option<String>,
    commits_per_s: Option<f64>,
    p99_ns: Option<u64>,
    answer: Option<Answer>,
}

impl<'a> From<&'a Entry> for Line<'a> {
    fn from(entry: &'a Entry) -> Line<'a> {
        let summary = entry.summary.as_ref();
        Line {
            run_id: &entry.id,
            state: state(entry.state),
            detail: &entry.detail,
            created: summary.map(|s| s.created.as_str()),
            origin: summary.map(|s| s.origin.word()),
            target_kind: summary.map(|s| s.target.0.as_str()),
            target_path: summary.map(|s| s.target.1.as_str()),
            workloads: summary.map(|s| s.workloads.as_slice()),
            rows: summary.map(|s| s.rows),
            valid: summary.map(|s| s.valid),
            doubtful: summary.map(|s| s.doubtful),
            label: summary.and_then(|s| s.notes.label.as_deref()),
            tags: summary
                .map(|s| &s.notes.tags)
                .filter(|tags| !tags.is_empty()),
            options: summary.map(|s| differences::options(&s.command)),
            commits_per_s: summary.and_then(|s| s.fastest).map(|(tps, _)| tps),
            p99_ns: summary.and_then(|s| s.fastest).and_then(|(_, p99)| p99),
            answer: summary.and_then(|s| s.answer),
        }
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Complete => "complete",
        State::Incomplete => "incomplete",
        State::Damaged => "damaged",
        State::NewerVersion => "newer version",
        State::OlderVersion => "older version",
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
    let cell = |text: Option<&str>| text.map_or("-".to_owned(), sanitize::line);
    let lines: Vec<Vec<String>> = listing
        .runs
        .iter()
        .map(|line| {
            vec![
                sanitize::line(line.run_id),
                cell(line.label),
                line.commits_per_s.map_or("-".to_owned(), words::digits),
                line.p99_ns
                    .map_or("-".to_owned(), |ns| words::digits(ns as f64 / 1e6)),
                judged(line),
                cell(
                    line.target_path
                        .map(|path| lines::cut(path, CELL_MAX))
                        .as_deref(),
                ),
                cell(line.workloads.map(|names| names.join(" ")).as_deref()),
                cell(
                    line.options
                        .as_deref()
                        .map(|o| lines::cut(o, OPTIONS_MAX))
                        .as_deref(),
                ),
                cell(line.tags.map(in_words).as_deref()),
                cell(line.origin),
                line.rows.map_or("-".to_owned(), |rows| rows.to_string()),
            ]
        })
        .collect();
    let mut lines = lines;
    for at in [COMMITS, P99] {
        to_the_right(&mut lines, at);
    }
    let (headings, lines) = filled(&HEADINGS, lines);
    let (headings, lines) = drawing::fit(&headings, lines, &DROP_FIRST, style);
    let mut out = drawing::draw(&headings, lines, headings.len(), style);
    let figures = "Commits/s and p99 (log file sync) are those of the fastest row whose sessions \
                   waited. compare compares runs, compare --as differences their options.";
    wrap(&mut out, "", figures, style.width);
    let unfinished: Vec<&Line<'_>> = listing
        .runs
        .iter()
        .filter(|l| !l.detail.is_empty())
        .collect();
    for line in unfinished.iter().take(DETAILS) {
        out.push_str(&format!("{}\n", sanitize::line(line.detail)));
    }
    if unfinished.len() > DETAILS {
        let more = words::plural((unfinished.len() - DETAILS) as u64, "run");
        out.push_str(&format!("({more} more that are not complete)\n"));
    }
    out
}

/// Headings of the listing.
const HEADINGS: [&str; 11] = [
    "Run",
    "Label",
    "Commits/s",
    "p99 ms",
    "Verdict",
    "Target",
    "Workloads",
    "Options",
    "Tags",
    "Origin",
    "Rows",
];
/// Columns of numbers among them.
const COMMITS: usize = 2;
const P99: usize = 3;

/// Aligns a column of numbers among columns of text.
fn to_the_right(lines: &mut [Vec<String>], at: usize) {
    let cells = lines.iter().filter_map(|line| line.get(at));
    let width = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
    for cell in lines.iter_mut().filter_map(|line| line.get_mut(at)) {
        if cell != "-" {
            *cell = format!("{cell:>width$}");
        }
    }
}

/// What is left out first where it is narrow.
const DROP_FIRST: [&str; 6] = ["Rows", "Origin", "Tags", "Workloads", "Options", "Target"];
/// Longest path that is shown.
const CELL_MAX: usize = 40;
/// Longest options that are shown.
const OPTIONS_MAX: usize = 72;
/// How many runs that are not complete are explained.
const DETAILS: usize = 5;

/// What a run is worth: its verdict, or why there is none.
fn judged(line: &Line<'_>) -> String {
    let answer = line.answer.map(|answer| answer.word());
    match (line.state, line.valid, line.doubtful) {
        ("complete", Some(false), _) => "INVALID".to_owned(),
        ("complete", _, Some(true)) => {
            match answer.filter(|_| line.answer != Some(Answer::Undetermined)) {
                Some(answer) => format!("{answer} (doubtful)"),
                None => "doubtful".to_owned(),
            }
        }
        ("complete", _, _) => answer.unwrap_or("-").to_owned(),
        (state, _, _) => state.to_owned(),
    }
}

fn in_words(tags: &BTreeMap<String, String>) -> String {
    let pairs = tags.iter().map(|(key, value)| format!("{key}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}

/// The columns in which a line has something.
fn filled(
    headings: &[&'static str],
    lines: Vec<Vec<String>>,
) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let has = |at: &usize| {
        lines
            .iter()
            .any(|line| line.get(*at).is_some_and(|cell| cell != "-"))
    };
    let kept: Vec<usize> = (0..headings.len()).filter(has).collect();
    let pick = |line: &Vec<String>| kept.iter().map(|at| line[*at].clone()).collect();
    let lines = lines.iter().map(pick).collect();
    (kept.iter().map(|at| headings[*at]).collect(), lines)
}
