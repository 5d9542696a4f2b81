//! A folder of reports of one instance as a series by time, and when something changed in it.
//!
//! Invariants: a report is in the series of its own instance alone; reports of one interval are
//! there once; what a report does not contain is blank; a change is claimed where both sides have
//! several reports and an interval of their difference excludes zero.

use super::super::evidence::view::{Line, Tables, lines};
use super::super::latency::band;
use super::super::note::Note;
use super::super::{Caution, Info, catalogue};
use super::figures::{REDO_RATE, ReportFigures};
use super::intervals::moment;
use super::reports::reports;
use super::{SYNC, WRITE, explained_by_writes, risen};
use crate::format::{self, latency};
use crate::stats::bootstrap::quantile;
use crate::stats::change::{Segment, segments};
use crate::stats::counts::Counts;
use crate::stats::shift::hodges_lehmann;
use crate::thresholds::Thresholds;
use jiff::civil::DateTime;
use measure::imported::{Cell, Column, Imported, Source, Table};
use measure::judgement::Weight;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Id of the table of a series.
pub const REPORT_SERIES: &str = "report_series";
/// Before the instance in a title.
const TITLE: &str = "By time: ";
/// What a series of differences is called whose listings do not name their instance.
const LISTINGS: &str = "intervals between listings";
/// Reports that are a series.
const REPORTS_MIN: usize = 3;
/// Reports on each side of a change.
const SIDE_MIN: usize = 3;
/// Part by which the levels have to differ.
const CHANGE_MIN: f64 = 0.2;
/// Means that are shorter on both sides are quick, whatever their ratio.
const QUICK_MS: f64 = 0.5;
/// Confidence of the interval.
const LEVEL: f64 = 0.95;

/// How a cell of the series is computed of its report.
type OfReport = fn(&ReportFigures<'_>) -> Option<f64>;

/// The figures of a series: key, heading, name in a sentence.
const FIGURES: [(&str, &str, OfReport); 7] = [
    ("log_file_sync_ms", "log file sync, mean ms", |r| {
        Some(r.event(SYNC)?.mean_ms())
    }),
    (
        "log_file_parallel_write_ms",
        "log file parallel write, mean ms",
        |r| Some(r.event(WRITE)?.mean_ms()),
    ),
    ("commits_per_s", "Commits/s", |r| {
        Some(r.statistic("user commits")? / r.window_s?)
    }),
    ("redo_mb_per_s", "Redo MB/s", |r| {
        let counted = || Some(r.statistic("redo size")? / r.window_s?);
        Some(counted().or_else(|| r.statistic(REDO_RATE))? / 1_048_576.0)
    }),
    ("commits_per_write", "Commits/write", |r| {
        let writes = r.statistic("redo writes").filter(|n| *n > 0.0)?;
        Some(r.statistic("user commits")? / writes)
    }),
    ("sync_db_time_pct", "log file sync, % of DB time", |r| {
        r.db_time_pct(SYNC)
    }),
    ("cpu_busy_pct", "Processors busy %", |r| {
        Some(100.0 - r.idle_pct?)
    }),
];

/// Keys of the columns of a series that are numbers, in their order.
pub fn keys() -> impl Iterator<Item = &'static str> {
    FIGURES.iter().map(|(key, ..)| *key)
}

/// The two latencies of a series: log file sync and log file parallel write.
pub(super) const LATENCIES: [&str; 2] = [FIGURES[0].0, FIGURES[1].0];

/// Commits and redo per second.
const COMMITS: &str = FIGURES[2].0;
const REDO: &str = FIGURES[3].0;
/// Times as many commits with the same redo from which transactions have become smaller.
const SMALLER: f64 = 2.0;

/// A report in a series.
struct SeriesReport<'a> {
    begin: DateTime,
    startup: &'a str,
    file: &'a str,
    cells: Vec<Option<f64>>,
}

/// A table for each instance with enough reports, in the order of their times.
#[must_use]
pub fn tables(imported: &Imported) -> Vec<Table> {
    let mut all: BTreeMap<[&str; 4], Vec<SeriesReport<'_>>> = BTreeMap::new();
    let by_file: BTreeMap<&str, &Source> = imported
        .sources
        .iter()
        .map(|s| (s.file.as_str(), s))
        .collect();
    for report in reports(Tables(&imported.tables)) {
        let source = by_file.get(report.file);
        let fact = |name: &str| {
            let mut facts = source.into_iter().flat_map(|source| &source.facts);
            let found = facts.find(|(known, _)| known == name);
            found.map_or("", |(_, text)| text.as_str())
        };
        let (key, begin) = match report.interval {
            Some((instance, from)) => (["", LISTINGS, instance, ""], from),
            None => (
                ["DB Id", "DB Name", "Instance", "Inst Num"].map(fact),
                fact("Begin Snap"),
            ),
        };
        let Some(begin) = moment(begin) else {
            continue;
        };
        let of = all.entry(key).or_default();
        of.push(SeriesReport {
            begin,
            startup: fact("Startup Time"),
            file: report.file,
            cells: FIGURES.iter().map(|(.., of)| of(&report)).collect(),
        });
    }
    let series = all.into_iter().filter_map(|(key, mut of)| {
        of.sort_by_key(|report| report.begin);
        // The same interval as text and as HTML.
        of.dedup_by_key(|report| report.begin);
        (of.len() >= REPORTS_MIN).then(|| table(key, &of))
    });
    series.collect()
}

fn table([id, name, instance, number]: [&str; 4], of: &[SeriesReport<'_>]) -> Table {
    let column = |key: &str, heading: &str| Column {
        key: key.to_owned(),
        heading: heading.to_owned(),
    };
    let mut columns = vec![column("begin", "Begin")];
    columns.extend(FIGURES.iter().map(|(key, heading, _)| column(key, heading)));
    columns.extend([column("restarted", "Restarted"), column("report", "Report")]);
    let row = |(at, report): (usize, &SeriesReport<'_>)| {
        let before = at.checked_sub(1).and_then(|at| of.get(at));
        let is_new = before.is_some_and(|before| before.startup != report.startup);
        let begin = report.begin.strftime("%Y-%m-%d %H:%M:%S").to_string();
        let mut cells = vec![Cell::Text(begin)];
        let known = |value: &Option<f64>| value.map_or(Cell::Blank, Cell::Real);
        cells.extend(report.cells.iter().map(known));
        cells.push(if is_new {
            Cell::Text("yes".to_owned())
        } else {
            Cell::Blank
        });
        cells.push(Cell::Text(report.file.to_owned()));
        cells
    };
    let rows: Vec<Vec<Cell>> = of.iter().enumerate().map(row).collect();
    let origin = |(report, cells): (&SeriesReport<'_>, &Vec<Cell>)| {
        super::super::agreement::computed(report.file, 1, cells)
    };
    let origins = of.iter().zip(&rows).map(origin).collect();
    let named = if name.is_empty() { id } else { name };
    let which = match instance {
        _ if name == LISTINGS => format!("{name} {instance}").trim_end().to_owned(),
        "" => format!("{named} {number}").trim_end().to_owned(),
        instance => instance.to_owned(),
    };
    Table {
        id: REPORT_SERIES.to_owned(),
        title: format!("{TITLE}{which}"),
        columns,
        rows,
        origins,
        formulas: vec!["means, rates and shares of the report that the row names".to_owned()],
        ..Table::default()
    }
}

/// Reports of which no single findings are made: those of a series but its slowest.
pub(super) fn passed_over(tables: Tables<'_>) -> BTreeSet<&str> {
    let mut all = BTreeSet::new();
    for table in tables.of(REPORT_SERIES) {
        let slow = |line: &Line<'_>| line.number(FIGURES[0].0).or(line.number(FIGURES[1].0));
        let slow = |line: &Line<'_>| slow(line).unwrap_or(0.0);
        let slowest = lines(table).max_by(|a, b| slow(a).total_cmp(&slow(b)));
        let slowest = slowest.map(|line| line.text("report"));
        let reports = lines(table).map(|line| line.text("report"));
        all.extend(reports.filter(|report| Some(*report) != slowest));
    }
    all
}

/// When log file sync, or the log writes, changed their level, and what changed with them;
/// `without` reports of hours that recur.
pub(super) fn note_of_change(
    table: &Table,
    reports: &[ReportFigures<'_>],
    without: &BTreeSet<usize>,
    t: &Thresholds,
) -> Note {
    let changes = LATENCIES.map(|key| change(table, key, without));
    match changes.into_iter().flatten().next() {
        Some(change) => changed(table, reports, &change, t),
        None => unchanged(table),
    }
}

/// A lasting step of a figure: the reports of both its levels, medians, and an interval of their
/// difference.
struct SeriesChange {
    key: &'static str,
    before: Range<usize>,
    after: Range<usize>,
    levels: [f64; 2],
    interval: [f64; 2],
}

fn column(table: &Table, key: &str) -> Vec<Option<f64>> {
    lines(table).map(|line| line.number(key)).collect()
}

/// Whether two levels are far enough apart.
fn has_moved(before: f64, after: f64) -> bool {
    (after / before).ln().abs() >= CHANGE_MIN.ln_1p()
}

/// The largest lasting rise of a figure, else its largest fall: of hours that were slow, where they
/// begin says more than where they end.
fn change(table: &Table, key: &'static str, without: &BTreeSet<usize>) -> Option<SeriesChange> {
    let known: Vec<(usize, f64)> = column(table, key)
        .into_iter()
        .enumerate()
        .filter(|(at, _)| !without.contains(at))
        .filter_map(|(at, value)| Some((at, value?)))
        .collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let found = segments(&values, SIDE_MIN).ok()?;
    let pairs = found.windows(2).filter_map(|pair| match pair {
        [left, right] => Some((right.level / left.level, left, right)),
        _ => None,
    });
    let weight = |ratio: f64| (ratio > 1.0 && has_moved(1.0, ratio), ratio.ln().abs());
    let (_, left, right) = pairs.max_by(|(a, ..), (b, ..)| {
        let (a, b) = (weight(*a), weight(*b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })?;
    let levels = [left.level, right.level];
    if !has_moved(left.level, right.level) || left.level.max(right.level) < QUICK_MS {
        return None;
    }
    let side = |of: &Segment| Counts::of(values.get(of.start..of.end).unwrap_or_default()).ok();
    // Too few reports for an interval show no change.
    let shift = hodges_lehmann(&side(right)?, &side(left)?, LEVEL).ok()?;
    let reports = |of: &Segment| {
        let end = known.get(of.end).map_or(table.rows.len(), |(at, _)| *at);
        Some(known.get(of.start)?.0..end)
    };
    Some(SeriesChange {
        key,
        before: reports(left)?,
        after: reports(right)?,
        levels,
        interval: [shift.low, shift.high],
    })
    .filter(|of| of.interval[0] > 0.0 || of.interval[1] < 0.0)
}

/// The instance of the series that is a table.
#[must_use]
pub fn instance(table: &Table) -> &str {
    table.title.trim_start_matches(TITLE)
}

fn heading(key: &str) -> &'static str {
    let found = FIGURES.iter().find(|(known, ..)| *known == key);
    found.map_or("", |(_, heading, _)| {
        heading.split(',').next().unwrap_or(heading)
    })
}

/// The medians of a figure on both sides of a change.
fn sides(table: &Table, change: &SeriesChange, key: &str) -> Option<[f64; 2]> {
    let all = column(table, key);
    let median = |of: &Range<usize>| {
        let mut known: Vec<f64> = all.get(of.clone())?.iter().flatten().copied().collect();
        (!known.is_empty()).then(|| quantile(&mut known, 0.5))
    };
    Some([median(&change.before)?, median(&change.after)?])
}

/// What a slower level weighs: at least a caution, else as much as the mean of its log writes, so
/// that the hours of slow writes come before the slowest of them.
pub(super) fn weight_of_slower(write_ms: Option<f64>, t: &Thresholds) -> Weight {
    write_ms.map_or(Caution, |ms| band(ms, t).0.max(Caution))
}

/// What the load did where redo did not rise: nothing, or more and smaller transactions.
fn of_load(table: &Table, change: &SeriesChange) -> Option<String> {
    let redo = sides(table, change, REDO).filter(|[a, b]| !has_moved(*a, *b))?;
    let commits = sides(table, change, COMMITS).filter(|[a, b]| *b >= SMALLER * a);
    let [a, b] = redo.map(format::digits);
    let Some(commits) = commits else {
        return Some(format!(
            "; redo did not rise ({a} and {b} MB/s): it is not the load"
        ));
    };
    let each = |at: usize| format::bytes((redo[at] * 1_048_576.0 / commits[at]) as u64);
    Some(format!(
        "; the same redo ({a} and {b} MB/s) in {} times as many commits, {} each instead of {}: commit less often",
        format::digits(commits[1] / commits[0]),
        each(1),
        each(0)
    ))
}

fn changed(
    table: &Table,
    reports: &[ReportFigures<'_>],
    change: &SeriesChange,
    t: &Thresholds,
) -> Note {
    let begin = |at: usize| lines(table).nth(at).map(|line| line.text("begin"));
    let time = |ms: f64| latency(ms * 1e6);
    let [before, after] = change.levels;
    let [low, high] = change.interval;
    // What goes back, as a job of the night does, does not last.
    let until = match begin(change.after.end) {
        Some(end) => format!("until {end}"),
        None => "from then on".to_owned(),
    };
    let others = FIGURES.iter().filter(|(key, ..)| *key != change.key);
    let moved = others.filter_map(|(key, name, _)| {
        let [a, b] = sides(table, change, key).filter(|[a, b]| has_moved(*a, *b))?;
        let [a, b] = [a, b].map(format::digits);
        Some(format!("{name} {a} to {b}"))
    });
    let moved: Vec<String> = moved.collect();
    let is_before = |at: usize| change.before.contains(&at);
    let is_after = |at: usize| change.after.contains(&at);
    let risen = match after > before {
        true => risen::in_series(table, reports, [&is_after, &is_before]),
        false => String::new(),
    };
    let with = match moved.is_empty() && risen.is_empty() {
        true => "nothing else in the reports changed with it".to_owned(),
        false if moved.is_empty() => risen.trim_start_matches("; ").to_owned(),
        false => format!("with it changed: {}{risen}", moved.join("; ")),
    };
    let writes = sides(table, change, FIGURES[1].0);
    let writes = writes.filter(|_| change.key == FIGURES[0].0);
    let cause = writes.and_then(|writes| explained_by_writes(change.levels, writes));
    let mut cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
    cause += &of_load(table, change)
        .filter(|_| after > before)
        .unwrap_or_default();
    let claim = format!(
        "{} changed at {}: {} before, {} {until} ({}, a difference of {} to {} at 95 %); \
         {with}{cause} ({})",
        heading(change.key),
        begin(change.after.start).unwrap_or_default(),
        time(before),
        time(after),
        measure::words::change(after / before),
        time(low),
        time(high),
        instance(table)
    );
    let write_after = match writes {
        Some([_, after]) => Some(after),
        None => Some(after).filter(|_| change.key == FIGURES[1].0),
    };
    let weight = match after > before {
        true => weight_of_slower(write_after, t),
        false => Info,
    };
    Note::of(&catalogue::DIAGNOSIS_CHANGE, weight, claim)
        .number("before_ms", before)
        .number("after_ms", after)
        .number("reports_before", change.before.len() as f64)
}

fn unchanged(table: &Table) -> Note {
    let known: Vec<f64> = column(table, FIGURES[0].0).into_iter().flatten().collect();
    let ends = known
        .iter()
        .copied()
        .reduce(f64::min)
        .zip(known.iter().copied().reduce(f64::max));
    let range = ends.map_or_else(String::new, |(low, high)| {
        format!(
            ": log file sync from {} to {}",
            latency(low * 1e6),
            latency(high * 1e6)
        )
    });
    let claim = format!(
        "{} {} by time show no lasting change{range} ({})",
        table.rows.len(),
        if instance(table).contains(LISTINGS) {
            "intervals"
        } else {
            "reports"
        },
        instance(table)
    );
    Note::of(&catalogue::DIAGNOSIS_CHANGE, Info, claim).no_advice()
}
