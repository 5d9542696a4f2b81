//! The top of a comparison: which run is better, by how much, with absolute figures and intervals.

use super::super::table::{Style, draw, too_wide};
use super::figure;
use measure::comparison::{Comparison, Difference, RowAnswer, RowOutcome};
use measure::words::{self, sanitize};

/// Lines that the short view prints.
const LINES: usize = 10;

/// What a reader has to know before any figure.
pub(super) fn notices(c: &Comparison) -> String {
    let line = |notice: &String| format!("NOTE: {}\n", sanitize::line(notice));
    c.notices.iter().map(line).collect()
}

/// The answers of all rows; of at most ten lines unless `verbose`.
pub(super) fn text(c: &Comparison, style: Style, verbose: bool) -> String {
    if c.answers.is_empty() {
        return String::new();
    }
    let most = if verbose { usize::MAX } else { LINES };
    let all: Vec<Vec<String>> = c.answers.iter().flat_map(|a| lines(c, a)).collect();
    let count = all.len();
    let level = format!("{:.1}", 100.0 * c.method.level);
    let level = format!("{} % interval", level.trim_end_matches(".0"));
    let headings = [
        "Workload", "Jobs", "Figure", "Base", "Other", "Ratio", "Change", &level, "Result",
    ];
    let shown: Vec<Vec<String>> = all.into_iter().take(most).collect();
    let mut out = format!("\n{}\n", summary(c));
    match too_wide(&headings, &shown, style) {
        None => out.push_str(&draw(&headings, shown, 1, style)),
        Some(_) => shown
            .iter()
            .for_each(|line| stack(&mut out, &headings, line)),
    }
    if count > most {
        out.push_str(&format!("({most} of {count} lines; all {count} with -v)\n"));
    }
    out.push_str(&format!("{}\n", sanitize::line(&c.method.figures)));
    out
}

/// A line of the table for a terminal that is too narrow for it: the row, and below it its figures.
fn stack(out: &mut String, headings: &[&str], line: &[String]) {
    let [
        workload,
        jobs,
        figure,
        base,
        other,
        ratio,
        change,
        interval,
        result,
    ] = line
    else {
        return;
    };
    let level = headings[7];
    let jobs = jobs.parse().map_or_else(|_| jobs.clone(), words::jobs);
    let row = [workload.as_str(), &jobs, result].join(", ");
    if !result.is_empty() {
        out.push_str(&format!("{row}\n"));
    }
    out.push_str(&format!(
        "  {figure}: base {base}, other {other}, ratio {ratio} ({change})\n"
    ));
    if interval != "-" {
        out.push_str(&format!("    {level}: {interval}\n"));
    }
}

fn name(c: &Comparison, run: usize) -> String {
    let name = c.runs.get(run).map_or("?", |r| r.name.as_str());
    sanitize::line(name)
}

/// The outcomes of all rows in a line for each run: `b over a: 2 of 3 rows: b is better than a`.
fn summary(c: &Comparison) -> String {
    let mut lines = Vec::new();
    for run in 1..c.runs.len() {
        let of: Vec<&RowAnswer> = c.answers.iter().filter(|a| a.run_b == run).collect();
        if of.is_empty() {
            continue;
        }
        let (base, other) = (name(c, 0), name(c, run));
        let count = |fits: &dyn Fn(&RowAnswer) -> bool| of.iter().filter(|a| fits(a)).count();
        let wins = |winner: usize| count(&|a| a.winner == Some(winner));
        let is = |outcome: RowOutcome| count(&|a| a.outcome == outcome);
        let parts = [
            (wins(run), format!("{other} is better than {base}")),
            (wins(0), format!("{base} is better than {other}")),
            (
                is(RowOutcome::Mixed),
                "each is better in one figure".to_owned(),
            ),
            (
                is(RowOutcome::NoDifference),
                "no difference found that matters".to_owned(),
            ),
            (
                is(RowOutcome::TooFewRounds),
                "too few rounds to decide".to_owned(),
            ),
            (
                is(RowOutcome::NoInterval),
                "no interval, so nothing can be decided".to_owned(),
            ),
            (
                is(RowOutcome::Invalid),
                "no answer, since a run is invalid or unfinished".to_owned(),
            ),
        ];
        let rows = words::plural(of.len() as u64, "row");
        let told = parts.iter().filter(|(n, _)| *n > 0);
        let told: Vec<String> = told
            .map(|(n, what)| format!("{n} of {rows}: {what}"))
            .collect();
        lines.push(format!("{other} over {base}: {}", told.join("; ")));
    }
    lines.join("\n")
}

/// A line for each figure that decides a row.
fn lines(c: &Comparison, answer: &RowAnswer) -> Vec<Vec<String>> {
    let many = c.runs.len() > 2;
    let of = answer.by.iter().filter_map(|at| c.differences.get(*at));
    let line = |(i, d): (usize, &Difference)| {
        let result = match (answer.outcome, answer.winner) {
            (RowOutcome::Better, Some(run)) => format!("{} is better", name(c, run)),
            (RowOutcome::Mixed, _) => "each in one figure".to_owned(),
            (RowOutcome::TooFewRounds, _) => "too few rounds to decide".to_owned(),
            (RowOutcome::NoInterval, _) => "no interval".to_owned(),
            (RowOutcome::Invalid, _) => "a run is invalid or unfinished".to_owned(),
            _ => "no difference found".to_owned(),
        };
        let result = match (i, many) {
            (0, true) => format!("{}: {result}", name(c, answer.run_b)),
            (0, false) => result,
            _ => String::new(),
        };
        let interval = match d.ci_low.zip(d.ci_high) {
            Some((low, high)) => format!("{} to {}", words::change(low), words::change(high)),
            None => "-".to_owned(),
        };
        vec![
            sanitize::line(&answer.workload),
            answer.jobs.to_string(),
            d.metric.clone(),
            figure(d.a, &d.unit),
            figure(d.b, &d.unit),
            super::ratio(d.ratio),
            d.ratio.map_or("-".to_owned(), words::change),
            interval,
            result,
        ]
    };
    of.enumerate().map(line).collect()
}
