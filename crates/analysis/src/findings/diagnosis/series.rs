//! A folder of reports of one instance as a series by time, and when something changed in it.
//!
//! Invariants: a report stands in the series of its own instance alone; reports of one interval are
//! there once; what a report does not contain is blank; a change is claimed where both sides have
//! several reports and an interval of their difference excludes none.

use super::super::evidence::view::{Line, Tables, lines};
use super::super::note::Note;
use super::super::{Caution, Info, catalogue};
use super::figures::{ReportFigures, reports};
use super::{SYNC, WRITE};
use crate::format::{self, latency};
use crate::stats::change::segments;
use crate::stats::counts::Counts;
use crate::stats::shift::hodges_lehmann;
use jiff::civil::DateTime;
use measure::imported::{Cell, Column, Imported, Source, Table};
use measure::origin::{CellOrigin, RowOrigin};
use std::collections::{BTreeMap, BTreeSet};

/// Id of the table of a series.
pub const REPORT_SERIES: &str = "report_series";
/// Before the instance in a title.
const TITLE: &str = "By time: ";
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
        Some(r.statistic("redo size")? / r.window_s? / 1_048_576.0)
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
        let Some(source) = by_file.get(report.file) else {
            continue;
        };
        let fact = |name: &str| {
            let found = source.facts.iter().find(|(known, _)| known == name);
            found.map_or("", |(_, text)| text.as_str())
        };
        let Some(begin) = moment(fact("Begin Snap")) else {
            continue;
        };
        let key = ["DB Id", "DB Name", "Instance", "Inst Num"].map(fact);
        let of = all.entry(key).or_default();
        // The same interval as text and as HTML.
        if of.iter().any(|known| known.begin == begin) {
            continue;
        }
        of.push(SeriesReport {
            begin,
            startup: fact("Startup Time"),
            file: report.file,
            cells: FIGURES.iter().map(|(.., of)| of(&report)).collect(),
        });
    }
    let series = all.into_iter().filter(|(_, of)| of.len() >= REPORTS_MIN);
    series.map(|(key, of)| table(key, of)).collect()
}

/// `38483 27-Sep-20 11:00:13 65 1.7`: when a snapshot was taken.
fn moment(snap: &str) -> Option<DateTime> {
    let words: Vec<&str> = snap.split_whitespace().collect();
    let pairs = words.windows(2).map(|pair| pair.join(" "));
    let forms = [
        "%d-%b-%y %H:%M:%S",
        "%d-%b-%Y %H:%M:%S",
        "%Y-%m-%d %H:%M:%S",
    ];
    pairs.into_iter().find_map(|text| {
        forms
            .iter()
            .find_map(|form| DateTime::strptime(form, &text).ok())
    })
}

fn table([id, name, instance, number]: [&str; 4], mut of: Vec<SeriesReport<'_>>) -> Table {
    of.sort_by_key(|report| report.begin);
    let column = |key: &str, heading: &str| Column {
        key: key.to_owned(),
        heading: heading.to_owned(),
    };
    let mut columns = vec![column("begin", "Begin")];
    columns.extend(FIGURES.iter().map(|(key, heading, _)| column(key, heading)));
    columns.extend([column("restarted", "Restarted"), column("report", "Report")]);
    let startups: Vec<&str> = of.iter().map(|report| report.startup).collect();
    let row = |(at, report): (usize, &SeriesReport<'_>)| {
        let before = at.checked_sub(1).and_then(|at| startups.get(at));
        let is_new = before.is_some_and(|before| *before != report.startup);
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
    let origin = |(report, cells): (&SeriesReport<'_>, &Vec<Cell>)| RowOrigin {
        file: report.file.to_owned(),
        lines: (1, 1),
        cells: cells
            .iter()
            .map(|cell| match cell {
                Cell::Blank => CellOrigin::Given,
                _ => CellOrigin::Derived(Box::default()),
            })
            .collect(),
    };
    let origins = of.iter().zip(&rows).map(origin).collect();
    let named = if name.is_empty() { id } else { name };
    let which = match instance {
        "" => format!("{named} {number}"),
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

/// Of which reports of series single findings are made: of a day, of the worst one alone.
pub(super) struct ToldReports<'a> {
    in_series: BTreeSet<&'a str>,
    worst: BTreeSet<&'a str>,
}

impl ToldReports<'_> {
    pub(super) fn is_of(&self, file: &str) -> bool {
        !self.in_series.contains(file) || self.worst.contains(file)
    }
}

pub(super) fn told_of(tables: Tables<'_>) -> ToldReports<'_> {
    let mut told = ToldReports {
        in_series: BTreeSet::new(),
        worst: BTreeSet::new(),
    };
    for table in tables.of(REPORT_SERIES) {
        let slow = |line: &Line<'_>| line.number(FIGURES[0].0).or(line.number(FIGURES[1].0));
        let worst = lines(table).max_by(|a, b| {
            let [a, b] = [a, b].map(|line| slow(line).unwrap_or(0.0));
            a.total_cmp(&b)
        });
        told.in_series
            .extend(lines(table).map(|line| line.text("report")));
        told.worst.extend(worst.map(|line| line.text("report")));
    }
    told
}

/// When log file sync, or the log writes, changed their level, and what changed with them.
pub(super) fn collect(tables: Tables<'_>, notes: &mut Vec<Note>) {
    for table in tables.of(REPORT_SERIES) {
        let changes = [FIGURES[0].0, FIGURES[1].0].map(|key| change(table, key));
        let first = changes.into_iter().flatten().next();
        notes.push(match first {
            Some(change) => changed(table, &change),
            None => unchanged(table),
        });
    }
}

/// A change of a figure: the first report behind it, and both sides.
struct SeriesChange {
    key: &'static str,
    at: usize,
    before: f64,
    after: f64,
    /// Of the difference.
    interval: Option<[f64; 2]>,
}

fn column(table: &Table, key: &str) -> Vec<Option<f64>> {
    lines(table).map(|line| line.number(key)).collect()
}

/// The largest lasting change of a figure.
fn change(table: &Table, key: &'static str) -> Option<SeriesChange> {
    let known: Vec<(usize, f64)> = column(table, key)
        .into_iter()
        .enumerate()
        .filter_map(|(at, value)| Some((at, value?)))
        .collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let found = segments(&values, SIDE_MIN).ok()?;
    let (left, right) = found
        .windows(2)
        .filter_map(|pair| Some((pair.first()?, pair.last()?)))
        .max_by(|a, b| {
            let step = |pair: &(_, &_)| -> f64 {
                let (left, right): (
                    &crate::stats::change::Segment,
                    &crate::stats::change::Segment,
                ) = *pair;
                (right.level / left.level).ln().abs()
            };
            step(a).total_cmp(&step(b))
        })?;
    let (before, after) = (left.level, right.level);
    if (after / before).ln().abs() < CHANGE_MIN.ln_1p() || before.max(after) < QUICK_MS {
        return None;
    }
    let side = |from: usize, to: usize| Counts::of(values.get(from..to).unwrap_or_default());
    let sides = side(right.start, right.end)
        .ok()
        .zip(side(left.start, left.end).ok());
    let shift = sides.and_then(|(x, y)| hodges_lehmann(&x, &y, LEVEL).ok());
    if shift.is_some_and(|shift| shift.low <= 0.0 && shift.high >= 0.0) {
        return None;
    }
    Some(SeriesChange {
        key,
        at: known.get(right.start)?.0,
        before,
        after,
        interval: shift.map(|shift| [shift.low, shift.high]),
    })
}

fn instance(table: &Table) -> &str {
    table.title.trim_start_matches(TITLE)
}

fn heading(key: &str) -> &'static str {
    let found = FIGURES.iter().find(|(known, ..)| *known == key);
    found.map_or("", |(_, heading, _)| {
        heading.split(',').next().unwrap_or(heading)
    })
}

fn changed(table: &Table, change: &SeriesChange) -> Note {
    let when = lines(table).nth(change.at);
    let when = when.map_or("", |line: Line<'_>| line.text("begin"));
    let time = |ms: f64| latency(ms * 1e6);
    let interval = change.interval.map_or_else(String::new, |[low, high]| {
        format!(", a difference of {} to {} at 95 %", time(low), time(high))
    });
    let median = |key: &str, from: usize, to: usize| {
        let all = column(table, key);
        let mut known: Vec<f64> = all.get(from..to)?.iter().flatten().copied().collect();
        (!known.is_empty()).then(|| crate::stats::bootstrap::quantile(&mut known, 0.5))
    };
    let others = FIGURES.iter().filter(|(key, ..)| *key != change.key);
    let mut with = Vec::new();
    let mut device = None;
    for (key, name, _) in others {
        let sides = median(key, 0, change.at).zip(median(key, change.at, table.rows.len()));
        let Some((before, after)) = sides else {
            continue;
        };
        let has_moved = (after / before).ln().abs() >= CHANGE_MIN.ln_1p();
        if *key == FIGURES[1].0 {
            device = Some(has_moved);
        }
        if has_moved {
            let [before, after] = [before, after].map(format::digits);
            with.push(format!("{name} {before} to {after}"));
        }
    }
    let with = match with.is_empty() {
        true => "nothing else in the reports changed with it".to_owned(),
        false => format!("with it changed: {}", with.join("; ")),
    };
    let cause = match (change.key == FIGURES[0].0, device) {
        (true, Some(false)) => ": the log writes did not, so it is not the device",
        (true, Some(true)) => {
            ": the log writes did too, so look at the device and at what else it does"
        }
        _ => "",
    };
    let claim = format!(
        "{} changed at {when}: {} before, {} from then on ({}{interval}); {with}{cause} ({})",
        heading(change.key),
        time(change.before),
        time(change.after),
        measure::words::change(change.after / change.before),
        instance(table)
    );
    let weight = match change.after > change.before {
        true => Caution,
        false => Info,
    };
    Note::of(&catalogue::DIAGNOSIS_CHANGE, weight, claim)
        .number("before_ms", change.before)
        .number("after_ms", change.after)
        .number("reports_before", change.at as f64)
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
        "{} reports by time show no lasting change{range} ({})",
        table.rows.len(),
        instance(table)
    );
    Note::of(&catalogue::DIAGNOSIS_CHANGE, Info, claim).no_advice()
}
