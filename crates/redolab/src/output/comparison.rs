//! A comparison as text, and as CSV (`csv`).
//!
//! Invariants: origin and validity stand above every figure; significance and size are said apart,
//! in the words that the comparison carries; what is not comparable is listed, never left out.

mod answers;
mod csv;
mod matrix;

pub use self::csv::csv;

use super::cells::{self, grouped};
use super::table::{Style, draw};
use analysis::compare::cannot_tell;
use measure::comparison::{Basis, Comparison, ConditionState, Difference};
use measure::imported::{Cell, Table};
use measure::run::{Problem, problems};
use measure::words::sanitize;

/// Metrics of the short view; all others stand in the verbose one, in JSON and in CSV. Whatever
/// differs significantly, and is more than negligible, is shown in any view.
const SHORT: [&str; 8] = [
    "commit_throughput_tps",
    "redo_data_mbps",
    "commit_latency.mean",
    "log_file_sync.mean",
    "log_file_sync.p50",
    "log_file_sync.p99",
    "log_file_parallel_write.mean",
    "log_file_parallel_write.p99",
];

/// Rows of a table that the short view prints.
const TABLE_ROWS: usize = 60;
/// Metrics of a row that the short view prints at most.
const METRICS: usize = 10;

/// The comparison as text; every metric when `verbose`.
#[must_use]
pub fn text(c: &Comparison, style: Style, verbose: bool) -> String {
    let mut out = answers::notices(c);
    out.push_str(&runs(c));
    out.push_str(&answers::text(c, style, verbose));
    out.push_str(&matrix::text(c, style, verbose));
    // Of many runs the matrix is the short view.
    let detailed = verbose || c.runs.len() < 3;
    for (row, lines) in by_row(c).into_iter().filter(|_| detailed) {
        out.push_str(&format!("\n{row}\n"));
        let shown = lines.iter().filter(|d| verbose || told(d));
        let most = if verbose { usize::MAX } else { METRICS };
        let shown: Vec<&&Difference> = shown.take(most).collect();
        out.push_str(&differences(&shown, style));
        if shown.len() < lines.len() {
            let (shown, all) = (shown.len(), lines.len());
            out.push_str(&format!("({shown} of {all} metrics; all {all} with -v)\n"));
        }
        out.push_str(&in_words(&shown, verbose));
    }
    if !c.has_pairs() {
        out.push_str("\nNothing is comparable.\n");
    }
    out.push_str(&not_compared(c));
    for table in &c.tables {
        let most = if verbose { usize::MAX } else { TABLE_ROWS };
        out.push_str(&format!(
            "\n{}\n{}",
            sanitize::line(&table.title),
            of_table(table, most, style)
        ));
        let more = table.rows.len().saturating_sub(most);
        if more > 0 {
            let more = measure::words::plural(more as u64, "more row");
            out.push_str(&format!("({more} with -v)\n"));
        }
    }
    out.push_str("\nHow this was compared:\n");
    let percent = 100.0 * c.method.level;
    out.push_str(&format!(
        "  Intervals of {percent} %, {} resamples, bootstrap seed {}.\n",
        c.method.resamples, c.method.seed
    ));
    for note in &c.method.notes {
        out.push_str(&format!("  {}\n", sanitize::line(note)));
    }
    out.push_str(&conditions(c));
    out
}

/// The sentences of the metrics; in the short view only why there is no interval, each reason once.
fn in_words(shown: &[&&Difference], verbose: bool) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for d in shown {
        let reason = match d.sentence.split_once("without an interval: ") {
            Some((_, reason)) if !verbose => reason,
            _ if verbose || d.ratio.is_none() => d.sentence.as_str(),
            _ => continue,
        };
        match reasons.iter_mut().find(|(r, _)| *r == reason) {
            Some((_, metrics)) => metrics.push(&d.metric),
            None => reasons.push((reason, vec![&d.metric])),
        }
    }
    let line = |(reason, metrics): &(&str, Vec<&str>)| {
        let reason = sanitize::line(reason);
        match (verbose, metrics.as_slice()) {
            (false, [_, _, ..]) => {
                format!("  no interval of {} metrics: {reason}\n", metrics.len())
            }
            _ => format!("  {}: {reason}\n", metrics.join(", ")),
        }
    };
    reasons.iter().map(line).collect()
}

fn runs(c: &Comparison) -> String {
    let mut out = String::new();
    for (i, run) in c.runs.iter().enumerate() {
        let role = if i == 0 { "base" } else { "run " };
        let name = sanitize::line(&run.name);
        let id = match run.name == run.run_id {
            true => String::new(),
            false => format!(" (run {})", sanitize::line(&run.run_id)),
        };
        out.push_str(&format!(
            "{role} {name}{id}  origin: {}  target: {} {}",
            run.origin.word(),
            sanitize::line(&run.target_kind),
            sanitize::line(&run.target_path)
        ));
        if !run.target_detail.is_empty() {
            out.push_str(&format!("  on {}", sanitize::line(&run.target_detail)));
        }
        out.push('\n');
        out.push_str(&format!("  {}\n", run.judged_in_words()));
        if !run.tags.is_empty() {
            out.push_str(&format!("  {}\n", run.tags_in_words()));
        }
        if !run.complete {
            out.push_str("  INCOMPLETE: not finished; what it had written is compared\n");
        }
        if !run.valid {
            out.push_str("  INVALID: its figures are wrong:\n");
        }
        for problem in &of_run(c, i) {
            let weight = if problem.invalidates {
                "invalid"
            } else {
                "doubtful"
            };
            let (id, detail) = (sanitize::line(&problem.id), sanitize::line(&problem.detail));
            out.push_str(&format!("  {weight}: {id}: {detail}\n"));
        }
    }
    out
}

/// The problems of a run, each once; one that a run before it has too is named with that run.
fn of_run(c: &Comparison, run: usize) -> Vec<Problem> {
    let (before, from) = c.runs.split_at(run);
    let all = from.first().map_or(&[][..], |run| &run.problems);
    let first = |problem: &Problem| {
        let has = |p: &Problem| problems::kind(p) == problems::kind(problem);
        before.iter().find(|run| run.problems.iter().any(has))
    };
    let (known, new): (Vec<&Problem>, Vec<&Problem>) = all.iter().partition(|p| first(p).is_some());
    let new: Vec<Problem> = new.into_iter().cloned().collect();
    let mut out = problems::each_once(&new);
    let known = known.into_iter().filter_map(|problem| {
        let like = format!("as of {}", first(problem)?.name);
        let detail = match problems::row_of(&problem.detail).0 {
            Some(row) => format!("{row}: {like}"),
            None => like,
        };
        Some(Problem {
            detail,
            ..problem.clone()
        })
    });
    out.extend(problems::each_once(&known.collect::<Vec<_>>()));
    out
}

/// Differences by row and other run, with a heading each.
fn by_row(c: &Comparison) -> Vec<(String, Vec<&Difference>)> {
    let mut found: Vec<(String, Vec<&Difference>)> = Vec::new();
    let name = |i: usize| {
        c.runs
            .get(i)
            .map_or("?".to_owned(), |r| sanitize::line(&r.name))
    };
    for d in &c.differences {
        let heading = format!(
            "{}, {}: {} over {}",
            sanitize::line(&d.workload),
            measure::words::jobs(d.jobs),
            name(d.run_b),
            name(d.run_a)
        );
        match found.last_mut().filter(|(h, _)| *h == heading) {
            Some((_, lines)) => lines.push(d),
            None => found.push((heading, vec![d])),
        }
    }
    found
}

fn told(d: &Difference) -> bool {
    let weighs = d.size > Some(measure::comparison::Size::Negligible);
    SHORT.contains(&d.metric.as_str()) || (d.significant == Some(true) && weighs)
}

fn differences(lines: &[&&Difference], style: Style) -> String {
    let headings = [
        "Metric", "Base", "Other", "Ratio", "Interval", "p", "Size", "From",
    ];
    let rows = lines.iter().map(|d| {
        let interval = match d.ci_low.zip(d.ci_high) {
            Some((low, high)) => format!("{} to {}", of_ratio(low), of_ratio(high)),
            None => "-".to_owned(),
        };
        let p = if d.p_text.is_empty() { "-" } else { &d.p_text };
        let size = match (d.significant, d.size) {
            (Some(false), _) if cannot_tell(d) => "cannot tell",
            (Some(false), _) => "no difference found",
            (Some(true), Some(size)) => size.word(),
            (None, _) if d.basis == Basis::Rounds => "too few rounds",
            _ => "-",
        };
        vec![
            d.metric.clone(),
            figure(d.a, &d.unit),
            figure(d.b, &d.unit),
            ratio(d.ratio),
            interval,
            p.to_owned(),
            size.to_owned(),
            basis(d),
        ]
    });
    draw(&headings, rows.collect(), 1, style)
}

/// A ratio with three decimals, or three digits where it is small.
fn of_ratio(ratio: f64) -> String {
    match ratio {
        r if r < 0.1 => measure::words::digits(r),
        r => format!("{r:.3}"),
    }
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_owned(), of_ratio)
}

/// A figure with its unit; times as people read them.
fn figure(value: Option<f64>, unit: &str) -> String {
    match value {
        None => "-".to_owned(),
        Some(v) if unit == "ns" => measure::words::latency(v),
        Some(v) if unit.is_empty() => cells::real(v),
        Some(v) => format!("{} {unit}", cells::real(v)),
    }
}

fn basis(d: &Difference) -> String {
    let units = match d.units_a == d.units_b {
        true => grouped(d.units_a),
        false => format!("{}, {}", grouped(d.units_a), grouped(d.units_b)),
    };
    match d.basis {
        Basis::Events => format!("{units} stretches of events"),
        Basis::Intervals => format!("{units} intervals"),
        Basis::Rounds => format!("{units} rounds"),
        Basis::Moments => "moments".to_owned(),
        Basis::Exact => "nothing varied".to_owned(),
        Basis::None => "-".to_owned(),
    }
}

fn not_compared(c: &Comparison) -> String {
    if c.not_compared.is_empty() {
        return String::new();
    }
    let mut out = "\nNot comparable, or not alike:\n".to_owned();
    for item in &c.not_compared {
        let name = c.runs.get(item.run_b).map_or("?", |r| r.name.as_str());
        out.push_str(&format!(
            "  {}: {}: {}\n",
            sanitize::line(name),
            sanitize::line(&item.what),
            sanitize::line(&item.why)
        ));
    }
    out
}

fn of_table(table: &Table, most: usize, style: Style) -> String {
    let headings: Vec<String> = table
        .columns
        .iter()
        .map(|c| sanitize::line(&c.heading))
        .collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let cell = |cell: &Cell| match cell {
        Cell::Blank => "-".to_owned(),
        Cell::Count(n) => grouped(*n),
        Cell::Real(x) => cells::real(*x),
        Cell::Text(t) => sanitize::line(t),
    };
    let rows = table
        .rows
        .iter()
        .take(most)
        .map(|row| row.iter().map(cell).collect());
    draw(&headings, rows.collect(), 2, style)
}

fn conditions(c: &Comparison) -> String {
    let mut out = String::new();
    for condition in &c.conditions {
        let state = match condition.state {
            ConditionState::NotBreached => condition.state.word().to_owned(),
            other => other.word().to_uppercase(),
        };
        if out.is_empty() {
            out.push_str("\nConditions:\n");
        }
        out.push_str(&format!(
            "  {state}: {}: {}\n",
            sanitize::line(&condition.text),
            sanitize::line(&condition.detail)
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::comparison::{ComparedRun, Method, SCHEMA};
    use measure::run::Origin;

    fn run(name: &str, doubts: &[(&str, &str)]) -> ComparedRun {
        let problem = |(id, detail): &(&str, &str)| Problem {
            id: (*id).to_owned(),
            invalidates: false,
            detail: (*detail).to_owned(),
        };
        ComparedRun {
            name: name.to_owned(),
            run_id: name.to_owned(),
            round_ids: Vec::new(),
            origin: Origin::Measured,
            created: String::new(),
            complete: true,
            valid: true,
            problems: doubts.iter().map(problem).collect(),
            target_kind: "file".to_owned(),
            target_path: "/redo".to_owned(),
            target_detail: String::new(),
            has_events: false,
            tags: std::collections::BTreeMap::new(),
            verdict: None,
            durability: None,
            durability_basis: None,
            performance: None,
        }
    }

    fn comparison(runs: Vec<ComparedRun>) -> Comparison {
        Comparison {
            schema: SCHEMA.to_owned(),
            created: String::new(),
            redolab_version: String::new(),
            command: Vec::new(),
            method: Method::default(),
            runs,
            notices: Vec::new(),
            decisions: Vec::new(),
            answers: Vec::new(),
            differences: Vec::new(),
            not_compared: Vec::new(),
            tables: Vec::new(),
            distributions: Vec::new(),
            conditions: Vec::new(),
            exit_code: 0,
        }
    }

    #[test]
    fn a_doubt_of_several_rows_and_runs_is_printed_once() {
        let (one, two) = (
            "A with 1 job: 3 are too few",
            "A with 2 jobs: 4 are too few",
        );
        let busy = ("busy_device", "others used it");
        let few = |detail| ("few_commits", detail);
        let text = runs(&comparison(vec![
            run("flash", &[busy, few(one), few(two)]),
            run(
                "disk",
                &[busy, few(two), few(one), ("backlog", "A with 1 job: late")],
            ),
        ]));
        assert_eq!(text.matches("others used it").count(), 1, "{text}");
        assert_eq!(text.matches("too few").count(), 1, "{text}");
        for part in [
            "few_commits: A with 1 job: 3 are too few (this also applies to A with 2 jobs)",
            "busy_device: as of flash",
            "few_commits: A with 2 jobs: as of flash (this also applies to A with 1 job)",
            "backlog: A with 1 job: late",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
