//! A comparison as CSV: a line for each figure, with what every other output says of its row and of
//! its run as a whole.
//!
//! Invariants: a new column comes last; numbers have all their digits, and an empty field is not
//! known. Nothing is decided here.

use super::super::csv::safe;
use measure::comparison::{Comparison, Decision, Difference, RowAnswer};
use std::io::{self, Write};

const COLUMNS: [&str; 26] = [
    "base",
    "run",
    "workload",
    "jobs",
    "metric",
    "unit",
    "a",
    "b",
    "ratio",
    "ci_low",
    "ci_high",
    "effect",
    "effect_kind",
    "p_value",
    "basis",
    "units_a",
    "units_b",
    "significant",
    "size",
    "detectable_pct",
    "sentence",
    "row_result",
    "decision",
    "winner",
    "decision_reason",
    "durability",
];
/// Columns of the runs, and those of a figure after them.
const NAMES: usize = 2;
const FIGURE: usize = 19;

/// The differences as CSV: a line each. A run that shares no figure with the base has a line with
/// its decision alone.
///
/// # Errors
/// An error of `out`.
pub fn csv(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS)?;
    for d in &c.differences {
        let names = [name(c, d.run_a), name(c, d.run_b)];
        let row = Some((d.workload.as_str(), d.jobs));
        let all = names.into_iter().chain(figure(d));
        writer.write_record(all.chain(decided(c, d.run_b, row)))?;
    }
    let has_figures = |run_b: usize| c.differences.iter().any(|d| d.run_b == run_b);
    for decision in c.decisions.iter().filter(|d| !has_figures(d.run_b)) {
        let names: [String; NAMES] = [name(c, 0), name(c, decision.run_b)];
        let none = std::iter::repeat_n(String::new(), FIGURE);
        let all = names.into_iter().chain(none);
        writer.write_record(all.chain(decided(c, decision.run_b, None)))?;
    }
    writer.flush()
}

fn name(c: &Comparison, run: usize) -> String {
    c.runs.get(run).map_or(String::new(), |r| safe(&r.name))
}

fn figure(d: &Difference) -> [String; FIGURE] {
    let number = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
    let basis = serde_json::to_value(d.basis).ok();
    let basis = basis.as_ref().and_then(|b| b.as_str()).unwrap_or_default();
    [
        safe(&d.workload),
        d.jobs.to_string(),
        d.metric.clone(),
        d.unit.clone(),
        number(d.a),
        number(d.b),
        number(d.ratio),
        number(d.ci_low),
        number(d.ci_high),
        number(d.effect),
        d.effect_kind.clone(),
        number(d.p_value),
        basis.to_owned(),
        d.units_a.to_string(),
        d.units_b.to_string(),
        d.significant.map_or(String::new(), |s| s.to_string()),
        d.size.map_or(String::new(), |s| s.word().to_owned()),
        number(d.detectable_pct),
        safe(&d.sentence),
    ]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_as_many_fields_as_columns() {
        assert_eq!(COLUMNS.len(), NAMES + FIGURE + 5);
        assert_eq!(COLUMNS[NAMES + FIGURE - 1], "sentence");
    }
}
