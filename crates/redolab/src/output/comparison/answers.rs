//! The top of a comparison: which run wins, and the deciding figures with their intervals.
//!
//! Invariant: nothing is decided here; [`analysis::compare::decision`] has done so.

use super::super::lines::wrap;
use super::super::table::{Style, draw, too_wide};
use super::super::verdict::LINE_MAX;
use super::figure;
use measure::comparison::{Comparison, Difference, RowAnswer};
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
    let mut out = format!("\n{}", decisions(c, style));
    if c.answers.is_empty() {
        return out;
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

/// What was decided on each run: the answer, the durability of both, and why.
fn decisions(c: &Comparison, style: Style) -> String {
    let mut out = String::new();
    let width = style.width.min(LINE_MAX);
    for decision in &c.decisions {
        let (base, other) = (name(c, 0), name(c, decision.run_b));
        let answer = format!("{other} against {base}: {}.", decision.answer);
        wrap(&mut out, "", &answer, width);
        wrap(&mut out, "  ", &decision.durability, width);
        wrap(&mut out, "  ", &decision.reason, width);
    }
    out
}

/// A line for each figure that decides a row.
fn lines(c: &Comparison, answer: &RowAnswer) -> Vec<Vec<String>> {
    let many = c.runs.len() > 2;
    let of = answer.by.iter().filter_map(|at| c.differences.get(*at));
    let line = |(i, d): (usize, &Difference)| {
        let result = sanitize::line(&answer.result);
        let result = match (i, many) {
            (0, true) => format!("{}: {result}", name(c, answer.run_b)),
            (0, false) => result,
            _ => String::new(),
        };
        let interval = match d.ci_low.zip(d.ci_high) {
            Some((low, high)) => words::change_range(low, high),
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
