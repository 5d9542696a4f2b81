//! Metrics of a cell's flash log (`FL_*`), as CellCLI lists them, before and after a run: what
//! changed between is the run's, what they hold is the cell's life.

use crate::awr::cell::GridCell;
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::imported::Cell;
use measure::origin::{OriginInput, TextSpan};
use measure::printed;
use std::collections::BTreeMap;

/// Metrics of one snapshot that are kept.
const KEPT: usize = 4096;
/// Values of a file that are kept.
const VALUES_MAX: u64 = 200_000;

/// How a snapshot is counted.
const SNAPSHOT: &str = "how often the metric of the cell was listed so far";
/// What changed between the snapshots.
const CHANGE: &str = "after - before";
/// Of FL_FLASH_FIRST in the first and last snapshot (a, b), and FL_DISK_FIRST (c, d).
const WON: &str = "100 * (b - a) / (b - a + d - c)";
const WON_BEFORE: &str = "100 * a / (a + c)";

/// Whether a line is a metric.
pub fn is_metric(line: &str) -> bool {
    metric(SourceLine::new(0, line)).is_some()
        || detail(line).is_some_and(|(k, v)| k == "name" && is_name(v))
}

fn is_name(word: &str) -> bool {
    let plain = word
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    plain && (word.starts_with("FL_") || word.contains("_FL_")) && word.len() > 4
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Metric {
    cell: GridCell,
    name: GridCell,
    object: GridCell,
    value: GridCell,
    unit: GridCell,
    /// When it was collected, as printed.
    time: GridCell,
}

/// Whether a word is the time of a collection: `2024-03-14T10:00:00+01:00`.
fn is_time(word: &str) -> bool {
    let b = word.as_bytes();
    b.len() >= 19 && b[4] == b'-' && b[10] == b'T' && b[13] == b':'
}

/// `[cell:] FL_DISK_FIRST FLASHLOG 32,669,310 IO requests [time]`.
fn metric(line: SourceLine<'_>) -> Option<Metric> {
    if !line.text.split_whitespace().take(2).any(is_name) {
        return None;
    }
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let at = words.iter().take(2).position(|w| is_name(w))?;
    let cell = match at {
        0 => "",
        _ => words[0].strip_suffix(':')?,
    };
    let number = |w: &str| printed::plain(w).is_some();
    let value_at = words.iter().skip(at + 1).position(|w| number(w))? + at + 1;
    let end = words
        .last()
        .filter(|w| is_time(w))
        .map_or(words.len(), |_| words.len() - 1);
    let joined = |from: usize, to: usize| {
        let words = words.get(from..to).unwrap_or_default();
        let mut cell = GridCell::default();
        words.iter().for_each(|w| cell.join(w, line.span(w)));
        cell
    };
    Some(Metric {
        cell: GridCell::of(line, cell),
        name: joined(at, at + 1),
        object: joined(at + 1, value_at),
        value: joined(value_at, value_at + 1),
        unit: joined(value_at + 1, end),
        time: joined(end, end + 1),
    })
}

/// `name: FL_DISK_FIRST` of a listing with `detail`.
fn detail(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim();
    let known = matches!(
        key,
        "name" | "metricValue" | "metricObjectName" | "collectionTime"
    );
    known.then(|| (key, value.trim()))
}

/// The metrics of a file.
#[derive(Debug, Default)]
pub struct Metrics {
    /// First line and, in order of appearance, cell, name, and values with their snapshot.
    table: Option<usize>,
    values: BTreeMap<(String, String), Vec<MetricValue>>,
    seen: u64,
    open: Option<Metric>,
    time: GridCell,
    line: u64,
}

/// A value of a metric.
#[derive(Clone, Copy, Debug)]
struct MetricValue {
    value: f64,
    span: Option<TextSpan>,
}

impl Metrics {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        if line.len() > 300 {
            return;
        }
        let source = SourceLine::new(number, line);
        let part = |part: &str| GridCell::of(source, part);
        if let Some(found) = metric(source) {
            self.take(found, number, sheets);
            return;
        }
        match detail(line) {
            Some(("name", name)) => {
                self.open = is_name(name).then(|| Metric {
                    name: part(name),
                    time: std::mem::take(&mut self.time),
                    ..Metric::default()
                });
            }
            Some(("collectionTime", time)) => {
                // It stands before or behind the value, by the release.
                match &mut self.open {
                    Some(open) => open.time = part(time),
                    None => self.time = part(time),
                }
            }
            Some(("metricObjectName", object)) => {
                if let Some(open) = &mut self.open {
                    open.object = part(object);
                }
            }
            Some(("metricValue", shown)) => {
                if let Some(mut open) = self.open.take() {
                    let (value, unit) = shown.split_once(' ').unwrap_or((shown, ""));
                    (open.value, open.unit) = (part(value), part(unit));
                    if printed::plain(value).is_some() {
                        self.take(open, number, sheets);
                    }
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, found: Metric, number: u64, sheets: &mut Sheets) {
        let columns = [
            ("snapshot", "Snapshot"),
            ("cell", "Cell"),
            ("metric", "Metric"),
            ("object", "Object"),
            ("value", "Value"),
            ("unit", "Unit"),
            ("time", "Collected"),
        ];
        if self.table.is_none() {
            self.line = number;
            let title = "Metrics of the flash log";
            self.table = Some(sheets.open("flash_log_metrics", title, number, &columns));
        }
        let key = (found.cell.text.clone(), found.name.text.clone());
        if self.values.len() >= KEPT && !self.values.contains_key(&key) {
            return;
        }
        let values = self.values.entry(key).or_default();
        let snapshot = values.len() as u64 + 1;
        let is_kept = values.len() < KEPT && self.seen < VALUES_MAX;
        if let Some(value) = printed::plain(&found.value).filter(|_| is_kept) {
            let span = found.value.span;
            values.push(MetricValue { value, span });
        }
        self.seen += 1;
        let cells = vec![
            SourcedCell::derived(Cell::Count(snapshot), SNAPSHOT, Vec::new()),
            found.cell.sourced(),
            found.name.sourced(),
            found.object.sourced(),
            found.value.number(),
            found.unit.sourced(),
            found.time.sourced_or_blank(),
        ];
        sheets.sourced_row(self.table.unwrap_or(usize::MAX), number, cells);
    }

    /// Gives what changed between the first and the last snapshot, and who was first.
    pub fn end(&self, sheets: &mut Sheets) {
        let changed = self.values.values().any(|v| v.len() > 1);
        if !changed {
            return;
        }
        let columns = [
            ("cell", "Cell"),
            ("metric", "Metric"),
            ("before", "Before"),
            ("after", "After"),
            ("change", "Change"),
        ];
        let title = "Metrics of the flash log: before and after";
        let table = sheets.open("flash_log_change", title, self.line, &columns);
        let most = self.values.values().map(Vec::len).max().unwrap_or(0);
        let mut left_out = Vec::new();
        for ((cell, name), values) in &self.values {
            let (Some(a), Some(b)) = (values.first(), values.last()) else {
                continue;
            };
            // Which of the snapshots lacks it is unknown.
            if values.len() < most {
                left_out.push(name.as_str());
                continue;
            }
            let change = Some(b.value - a.value);
            let row = vec![
                SourcedCell::label(cell),
                SourcedCell::label(name),
                SourcedCell::scaled(a.value, 1.0, a.span),
                SourcedCell::scaled(b.value, 1.0, b.span),
                SourcedCell::computed(change, CHANGE, vec!["before".into(), "after".into()]),
            ];
            let line = a.span.map_or(self.line, |s| u64::from(s.line));
            sheets.sourced_row(table, line, row);
        }
        self.flash_first(&left_out, sheets);
    }

    /// Gives who completed the log write first; `left_out` are metrics that a snapshot lacks.
    fn flash_first(&self, left_out: &[&str], sheets: &mut Sheets) {
        let columns = [
            ("cell", "Cell"),
            ("flash_first_pct", "Flash first in the run %"),
            ("flash_first_life_pct", "Flash first before it %"),
            ("flash_first", "Flash first"),
            ("all", "Log writes"),
        ];
        let table = sheets.open(
            "flash_first",
            "Who completed the log write first",
            self.line,
            &columns,
        );
        for (cell, name) in self.values.keys().filter(|(_, n)| n == "FL_FLASH_FIRST") {
            let ends = |name: &str| {
                let values = self.values.get(&(cell.clone(), name.to_owned()))?;
                Some((*values.first()?, *values.last()?))
            };
            let (Some(flash), Some(disk)) = (ends(name), ends("FL_DISK_FIRST")) else {
                continue;
            };
            if left_out.iter().any(|n| [name, "FL_DISK_FIRST"].contains(n)) {
                continue;
            }
            let spans = [flash.0, flash.1, disk.0, disk.1].map(|v| v.span);
            let inputs = || spans.into_iter().flatten().map(OriginInput::Span).collect();
            let (won, lost) = (flash.1.value - flash.0.value, disk.1.value - disk.0.value);
            let share = |a: f64, b: f64, formula| {
                let share = Some(a + b).filter(|all| *all > 0.0);
                SourcedCell::computed(share.map(|all| 100.0 * a / all), formula, inputs())
            };
            let row = vec![
                SourcedCell::label(cell),
                share(won, lost, WON),
                share(flash.0.value, disk.0.value, WON_BEFORE),
                SourcedCell::computed(Some(won), "b - a", inputs()),
                SourcedCell::computed(Some(won + lost), "b - a + d - c", inputs()),
            ];
            sheets.sourced_row(table, self.line, row);
        }
    }
}
