//! The figures of a comparison: what they are called, how large they are, and their tables.
//!
//! Invariant: a figure has one name, one unit and one way to be shown, in every table.

use crate::account::{AccountColumn, AccountTable, ColumnHeading, Shown, detail, figure, label};
use crate::compare::decision::has_few_rounds;
use crate::compare::outcome_word;
use measure::comparison::{Basis, Comparison, Difference, Size};
use measure::words;
use std::borrow::Cow;

/// Metrics of the first screen, those that decide first, as readers know them.
const METRICS: [(&str, &str); 9] = [
    (THROUGHPUT, "commits per second"),
    ("log_file_sync.p99", "log file sync, p99"),
    ("commit_latency.p99", "commit latency, p99"),
    ("log_file_sync.mean", "log file sync, mean"),
    (
        "log_file_parallel_write.mean",
        "log file parallel write, mean",
    ),
    ("redo_data_mbps", "redo"),
    ("commit_latency.mean", "commit latency, mean"),
    ("log_file_sync.p50", "log file sync, p50"),
    (
        "log_file_parallel_write.p99",
        "log file parallel write, p99",
    ),
];
const THROUGHPUT: &str = "commit_throughput_tps";
/// Metrics of the first figure.
const FIRST: usize = 7;

/// Where a metric is among those of the first screen; behind the last one for others.
#[must_use]
pub fn rank(metric: &str) -> usize {
    let found = METRICS.iter().position(|(key, _)| *key == metric);
    found.filter(|at| *at < FIRST).unwrap_or(FIRST)
}

/// A metric as readers know it.
pub(super) fn metric_name(metric: &str) -> String {
    let known = METRICS.iter().find(|(key, _)| *key == metric);
    known.map_or_else(
        || metric.replace('_', " ").replace('.', ", "),
        |(_, name)| (*name).to_owned(),
    )
}

/// What a difference is about: `LGWR-LAT1 with 8 jobs: log file sync, p99`.
#[must_use]
pub fn line_name(d: &Difference) -> String {
    let (jobs, metric) = (words::jobs(d.jobs), metric_name(&d.metric));
    format!("{} with {jobs}: {metric}", d.workload)
}

/// The differences of a run to the base.
pub fn of_run(c: &Comparison, run: usize) -> impl Iterator<Item = &Difference> {
    c.differences.iter().filter(move |d| d.run_b == run)
}

/// A figure in its own unit.
#[must_use]
pub fn value(value: Option<f64>, unit: &str) -> Shown {
    match (value, unit) {
        (None, _) => Shown::Missing,
        (Some(v), "ns") => Shown::Ns(v),
        (Some(v), "%") => Shown::Share(v),
        (Some(v), "") => Shown::Number(v),
        (Some(v), "1/s") => Shown::Measure(v, "/s".to_owned()),
        (Some(v), unit) => Shown::Measure(v, unit.to_owned()),
    }
}

fn some(words: String) -> Shown {
    let known = Some(words).filter(|words| !words.is_empty());
    known.map(Shown::Text).into()
}

/// The confidence of the intervals: `95 %`.
#[must_use]
pub fn level(c: &Comparison) -> String {
    let text = format!("{:.1}", 100.0 * c.method.level);
    format!("{} %", text.trim_end_matches(".0"))
}

/// Figures of differences, a line each; those of `answers` with the answer of their row.
pub(super) fn figures<'a>(
    c: &'a Comparison,
    of: impl IntoIterator<Item = (&'a Difference, Option<&'a str>)>,
    is_answer: bool,
) -> Option<AccountTable> {
    let few = has_few_rounds(c);
    let interval = figure("Interval", "");
    let interval = ColumnHeading {
        name: Cow::Owned(format!("{} interval", level(c))),
        ..interval
    };
    type Line<'a> = (&'a Difference, Option<&'a str>);
    let columns: [AccountColumn<'_, Line<'a>>; 15] = [
        (label("Workload"), &|(d, _)| Shown::text(&d.workload)),
        (label("Jobs"), &|(d, _)| Shown::jobs(d.jobs)),
        (label("Figure"), &|(d, _)| {
            Shown::Text(metric_name(&d.metric))
        }),
        (figure("Base", ""), &|(d, _)| value(d.a, &d.unit)),
        (figure("Other", ""), &|(d, _)| value(d.b, &d.unit)),
        (figure("Ratio", ""), &|(d, _)| d.ratio.into()),
        (figure("Change", ""), &|(d, _)| {
            d.ratio.map(words::change).map(Shown::Text).into()
        }),
        (interval, &|(d, _)| match d.ci_low.zip(d.ci_high) {
            Some((low, high)) => Shown::Range(low, high),
            None => Shown::Missing,
        }),
        (figure("Result", ""), &|(d, _)| {
            Shown::text(outcome_word(d, few))
        }),
        (figure("Row", ""), &|(_, row)| row.map(Shown::text).into()),
        (detail("Size", ""), &|(d, _)| {
            d.size.map(|size| Shown::text(size.word())).into()
        }),
        (detail("p", ""), &|(d, _)| some(d.p_text.clone())),
        (detail("Effect", ""), &|(d, _)| {
            let kind = match d.effect_kind.as_str() {
                "cliffs_delta" => "Cliff's delta",
                _ => "Cohen's d",
            };
            let kind = kind.to_owned();
            d.effect.map(|effect| Shown::Measure(effect, kind)).into()
        }),
        (detail("From", ""), &|(d, _)| Shown::Text(basis(d))),
        (detail("Key", ""), &|(d, _)| Shown::text(&d.metric)),
    ];
    let mut columns = columns.to_vec();
    columns.retain(|(heading, _)| is_answer || heading.name != "Row");
    AccountTable::of(of, &columns)
}

/// What varied, and how much of it there was.
fn basis(d: &Difference) -> String {
    let units = match d.units_a == d.units_b {
        true => words::count(d.units_a),
        false => format!("{}, {}", words::count(d.units_a), words::count(d.units_b)),
    };
    match d.basis {
        Basis::Events => format!("{units} stretches of events"),
        Basis::Intervals => format!("{units} intervals"),
        Basis::Rounds => format!("{units} rounds"),
        Basis::Moments => "moments".to_owned(),
        Basis::Exact => "nothing varied".to_owned(),
        Basis::None => "nothing".to_owned(),
    }
}

/// The differences of a run at its highest load: throughput, waits, redo.
#[must_use]
pub fn headline(c: &Comparison, run: usize) -> Vec<&Difference> {
    let Some(first) = busiest(of_run(c, run)) else {
        return Vec::new();
    };
    let same = |d: &&Difference| (&d.workload, d.jobs) == (&first.workload, first.jobs);
    let of_it = of_run(c, run).filter(same);
    let mut all: Vec<&Difference> = of_it.filter(|d| rank(&d.metric) < FIRST).collect();
    all.sort_by_key(|d| rank(&d.metric));
    // The latency of a commit repeats log file sync where there is such a wait.
    if all.iter().any(|d| d.metric.starts_with("log_file_sync")) {
        all.retain(|d| !d.metric.starts_with("commit_latency"));
    }
    all
}

/// The difference of the row with the highest throughput, else of the metric that decides first.
pub(super) fn busiest<'a>(of: impl Iterator<Item = &'a Difference>) -> Option<&'a Difference> {
    let rate = |d: &Difference| match d.metric.as_str() {
        THROUGHPUT => d.a.unwrap_or(0.0).max(d.b.unwrap_or(0.0)),
        metric => -(rank(metric) as f64),
    };
    of.max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

/// The table of the headline figures, without details.
#[must_use]
pub fn headline_table(c: &Comparison, run: usize) -> Option<AccountTable> {
    table(c, &headline(c, run)).map(AccountTable::without_details)
}

/// A table of some differences.
#[must_use]
pub fn table(c: &Comparison, of: &[&Difference]) -> Option<AccountTable> {
    figures(c, of.iter().map(|d| (*d, None)), false)
}

/// Before a change that is not shown to be one.
fn tilde(d: &Difference) -> &'static str {
    match d.significant {
        Some(true) => "",
        _ => "~ ",
    }
}

/// `+34.3 % (+30.0 % to +38.2 %)`, with a tilde where nothing shows that they differ.
pub(super) fn change_in_words(d: &Difference) -> Option<String> {
    let tilde = tilde(d);
    let change = words::change(d.ratio?);
    Some(match d.ci_low.zip(d.ci_high) {
        Some((low, high)) => format!("{tilde}{change} ({})", words::change_range(low, high)),
        None => format!("{tilde}{change}"),
    })
}

/// Whether a difference is shown where not all are.
pub(super) fn is_shown(d: &Difference) -> bool {
    let weighs = d.size > Some(Size::Negligible);
    METRICS.iter().any(|(key, _)| *key == d.metric) || (d.significant == Some(true) && weighs)
}

/// `6,366 /s (+34.3 %)`, which is broken before the bracket alone.
pub(super) fn cell(d: &Difference) -> Shown {
    let figure = value(d.b, &d.unit);
    let tilde = tilde(d);
    let Some(ratio) = d.ratio else {
        return figure;
    };
    let change = format!("({tilde}{})", words::change(ratio)).replace(' ', "\u{a0}");
    Shown::Text(format!(
        "{} {change}",
        figure.words("").replace(' ', "\u{a0}")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_read_as_people_say_them() {
        for (metric, want) in [
            ("log_file_sync.p99", "log file sync, p99"),
            ("flushes", "flushes"),
            ("log_file_sync.max", "log file sync, max"),
        ] {
            assert_eq!(metric_name(metric), want);
        }
    }

    #[test]
    fn figures_have_their_own_units() {
        for (figure, unit, want) in [
            (Some(5e5), "ns", "500 µs"),
            (Some(6366.0), "1/s", "6,366 /s"),
            (Some(0.004), "%", "0.004 %"),
            (Some(1.5), "", "1.50"),
            (None, "ns", "–"),
        ] {
            assert_eq!(value(figure, unit).words(""), want);
        }
    }
}
