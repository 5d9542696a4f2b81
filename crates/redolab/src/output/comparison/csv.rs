//! A comparison as CSV: a line for each figure, with what every other output says of its row and of
//! its run as a whole.
//!
//! Invariants: a new column comes last; numbers have all their digits, and an empty field is not
//! known. Nothing is decided here.

use super::super::csv::safe;
use measure::comparison::{Comparison, Decision, Difference, RowAnswer, Size};
use std::io::{self, Write};

/// A column of a figure.
type FigureColumn = (&'static str, fn(&Difference) -> String);

/// Columns of a figure, behind the names of the runs.
const FIGURE: [FigureColumn; 19] = [
    ("workload", |d| safe(&d.workload)),
    ("jobs", |d| d.jobs.to_string()),
    ("metric", |d| d.metric.clone()),
    ("unit", |d| d.unit.clone()),
    ("a", |d| number(d.a)),
    ("b", |d| number(d.b)),
    ("ratio", |d| number(d.ratio)),
    ("ci_low", |d| number(d.ci_low)),
    ("ci_high", |d| number(d.ci_high)),
    ("effect", |d| number(d.effect)),
    ("effect_kind", |d| d.effect_kind.clone()),
    ("p_value", |d| number(d.p_value)),
    ("basis", |d| basis(d)),
    ("units_a", |d| d.units_a.to_string()),
    ("units_b", |d| d.units_b.to_string()),
    ("significant", |d| {
        d.significant.map_or_else(String::new, |s| s.to_string())
    }),
    ("size", |d| d.size.map_or("", Size::word).to_owned()),
    ("detectable_pct", |d| number(d.detectable_pct)),
    ("sentence", |d| safe(&d.sentence)),
];
/// What is said of its row and of its run.
const DECIDED: [&str; 5] = [
    "row_result",
    "decision",
    "winner",
    "decision_reason",
    "durability",
];

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

fn basis(d: &Difference) -> String {
    let basis = serde_json::to_value(d.basis).ok();
    let basis = basis.as_ref().and_then(|b| b.as_str());
    basis.unwrap_or_default().to_owned()
}

/// The differences as CSV: a line each. A run that shares no figure with the base has a line with
/// its decision alone.
///
/// # Errors
/// An error of `out`.
pub fn csv(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let keys = FIGURE.iter().map(|(key, _)| *key);
    writer.write_record(["base", "run"].into_iter().chain(keys).chain(DECIDED))?;
    let none = (1..c.runs.len()).filter(|run| !c.differences.iter().any(|d| d.run_b == *run));
    let known = c.differences.iter().map(|d| (d.run_b, Some(d)));
    for (run, d) in known.chain(none.map(|run| (run, None))) {
        let figures = FIGURE.iter().map(|(_, of)| d.map_or_else(String::new, of));
        let row = d.map(|d| (d.workload.as_str(), d.jobs));
        let names = [name(c, 0), name(c, run)].into_iter();
        writer.write_record(names.chain(figures).chain(decided(c, run, row)))?;
    }
    writer.flush()
}

fn name(c: &Comparison, run: usize) -> String {
    c.runs.get(run).map_or(String::new(), |r| safe(&r.name))
}

/// The answer of a row, where there is one, and the decision on its run.
fn decided(c: &Comparison, run_b: usize, row: Option<(&str, u32)>) -> [String; 5] {
    let of_row = |a: &&RowAnswer| a.run_b == run_b && row == Some((a.workload.as_str(), a.jobs));
    let result = c.answers.iter().find(of_row).map(|a| safe(&a.result));
    let decision = c.decisions.iter().find(|d| d.run_b == run_b);
    let of = |text: fn(&Decision) -> &String| decision.map_or(String::new(), |d| safe(text(d)));
    let winner = decision.and_then(|d| d.winner);
    [
        result.unwrap_or_default(),
        of(|d| &d.answer),
        winner.map_or(String::new(), |run| name(c, run)),
        of(|d| &d.reason),
        of(|d| &d.durability),
    ]
}
