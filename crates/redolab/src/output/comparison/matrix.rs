//! Many runs as a matrix: a line for each figure of a row, a column for each run, the base first.

use super::super::lines;
use super::super::table::{Style, draw, too_wide};
use super::{figure, told};
use measure::comparison::{Comparison, Difference};
use measure::words::{self, sanitize};

/// Lines that the short view prints.
const LINES: usize = 16;
/// Figures that the short view leaves out where log file sync is among them.
const REPEATED: [&str; 2] = ["redo_data_mbps", "commit_latency.mean"];

/// The matrix of more than two runs; empty of two, whose table has more to say.
pub(super) fn text(c: &Comparison, style: Style, verbose: bool) -> String {
    if c.runs.len() < 3 || c.differences.is_empty() {
        return String::new();
    }
    let all = lines(c, verbose);
    let most = if verbose { usize::MAX } else { LINES };
    let count = all.len();
    let names: Vec<String> = c.runs.iter().map(|r| sanitize::line(&r.name)).collect();
    let headings: Vec<&str> = ["Workload", "Jobs", "Figure"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    let shown: Vec<Vec<String>> = all.iter().take(most).map(|line| cells(c, line)).collect();
    let mut out =
        "\nAll runs, with the change against the first (~: not shown to differ):\n".to_owned();
    match too_wide(&headings, &shown, style) {
        None => out.push_str(&draw(&headings, shown, 1, style)),
        Some(limit) => narrow(&mut out, &names, &shown, (limit, style)),
    }
    if count > most {
        out.push_str(&format!("({most} of {count} lines; all {count} with -v)\n"));
    }
    if !verbose {
        out.push_str("(intervals, p and size of each difference with -v)\n");
    }
    out
}

/// The matrix of a terminal that is too narrow for it: a table for each row, with the change below
/// each figure, and as many runs beside the base in each as fit.
fn narrow(
    out: &mut String,
    names: &[String],
    lines: &[Vec<String>],
    (limit, style): (usize, Style),
) {
    let below = |cell: &String| cell.replacen(" (", "\n(", 1);
    for row in lines.chunk_by(|a, b| a[..2] == b[..2]) {
        let jobs = row[0][1]
            .parse()
            .map_or_else(|_| row[0][1].clone(), words::jobs);
        out.push_str(&format!("\n{}, {jobs}\n", row[0][0]));
        let width = |at: usize| {
            let cells = row.iter().filter_map(|line| line.get(at)).map(below);
            let cells = cells.map(|cell| lines::widest(&cell));
            let heading = at.checked_sub(3).and_then(|run| names.get(run));
            cells
                .max()
                .unwrap_or(0)
                .max(heading.map_or(0, |h| lines::width(h)))
                + 2
        };
        let mut others = (4..3 + names.len()).peekable();
        while others.peek().is_some() {
            let mut columns = vec![2, 3];
            let mut room = limit.saturating_sub(width(2) + width(3));
            while let Some(at) = others.next_if(|at| width(*at) <= room || columns.len() < 3) {
                room = room.saturating_sub(width(at));
                columns.push(at);
            }
            let heading = |at: &usize| match at.checked_sub(3).and_then(|run| names.get(run)) {
                Some(name) => name.as_str(),
                None => "Figure",
            };
            let headings: Vec<&str> = columns.iter().map(heading).collect();
            let cell =
                |line: &Vec<String>, at: &usize| line.get(*at).map(below).unwrap_or_default();
            let table = row
                .iter()
                .map(|line| columns.iter().map(|at| cell(line, at)).collect());
            out.push_str(&draw(&headings, table.collect(), 1, style));
        }
    }
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
    let has_sync = |d: &Difference, all: &[Line<'_>]| {
        let same = |other: &Difference| {
            (&other.workload, other.jobs) == (&d.workload, d.jobs)
                && other.metric == "log_file_sync.mean"
        };
        all.iter()
            .filter_map(|line| line.first())
            .any(|other| same(other))
    };
    // The rate of redo and the latency of a commit repeat what the figures beside them show.
    let repeats = |d: &Difference, all: &[Line<'_>]| {
        REPEATED.contains(&d.metric.as_str()) && has_sync(d, all)
    };
    if !verbose {
        let kept = lines.iter().filter(|line| {
            line.iter().any(|d| told(d)) && !line.first().is_some_and(|d| repeats(d, &lines))
        });
        return kept.cloned().collect();
    }
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
