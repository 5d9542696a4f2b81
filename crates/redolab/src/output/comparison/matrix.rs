//! Many runs as a matrix: a line for each figure of a row, a column for each run, the base first.

use super::super::table::{Style, draw};
use super::{figure, told};
use measure::comparison::{Comparison, Difference};
use measure::words::{self, sanitize};

/// Lines that the short view prints.
const LINES: usize = 10;

/// The matrix of more than two runs; empty of two, whose table has more to say.
pub(super) fn text(c: &Comparison, style: Style, verbose: bool) -> String {
    if c.runs.len() < 3 || c.differences.is_empty() {
        return String::new();
    }
    let all = lines(c, verbose);
    let most = if verbose { usize::MAX } else { LINES };
    let count = all.len();
    let names = c.runs.iter().map(|r| sanitize::line(&r.name));
    let headings: Vec<String> = ["Workload", "Jobs", "Figure"]
        .map(str::to_owned)
        .into_iter()
        .chain(names)
        .collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let shown = all.iter().take(most).map(|line| cells(c, line));
    let mut out =
        "\nAll runs, with the change against the first (~: not shown to differ):\n".to_owned();
    out.push_str(&draw(&headings, shown.collect(), 1, style));
    if count > most {
        out.push_str(&format!("({most} of {count} lines; all {count} with -v)\n"));
    }
    if !verbose {
        out.push_str("(intervals, p and size of each difference with -v)\n");
    }
    out
}

/// Differences of one figure of one row, of each run that has it.
type Line<'a> = Vec<&'a Difference>;

fn lines(c: &Comparison, verbose: bool) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for d in &c.differences {
        let key = |d: &Difference| (d.workload.clone(), d.jobs, d.metric.clone());
        // Points of a sweep have one key: a run is in a line once.
        let fits = |line: &&mut Line<'_>| {
            line.first()
                .is_some_and(|first| key(first) == key(d) && first.a == d.a)
                && line.iter().all(|other| other.run_b != d.run_b)
        };
        match lines.iter_mut().find(fits) {
            Some(line) => line.push(d),
            None => lines.push(vec![d]),
        }
    }
    lines.retain(|line| verbose || line.iter().any(|d| told(d)));
    lines
}

fn cells(c: &Comparison, line: &Line<'_>) -> Vec<String> {
    let Some(first) = line.first() else {
        return Vec::new();
    };
    let mut cells = vec![
        sanitize::line(&first.workload),
        first.jobs.to_string(),
        first.metric.clone(),
        figure(first.a, &first.unit),
    ];
    for run in 1..c.runs.len() {
        let of_run = line.iter().find(|d| d.run_b == run);
        cells.push(of_run.map_or("-".to_owned(), |d| cell(d)));
    }
    cells
}

/// `6,366 1/s (+34.3 %)`; with a tilde where nothing shows that they differ.
fn cell(d: &Difference) -> String {
    let value = figure(d.b, &d.unit);
    let sure = if d.significant == Some(true) {
        ""
    } else {
        "~ "
    };
    match d.ratio {
        Some(ratio) => format!("{value} ({sure}{})", words::change(ratio)),
        None => value,
    }
}
