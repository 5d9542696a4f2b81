//! Metrics of a cell's flash log (`FL_*`), as CellCLI lists them, before and after a run: what
//! changed between is the run's, what they hold is the cell's life.

use crate::sheets::{Sheets, text};
use measure::imported::Cell;
use measure::printed;
use std::collections::BTreeMap;

/// Metrics of one snapshot that are kept.
const KEPT: usize = 4096;
/// Values of a file that are kept.
const VALUES_MAX: u64 = 200_000;

/// Whether a line is a metric.
pub fn is_metric(line: &str) -> bool {
    metric(line).is_some() || detail(line).is_some_and(|(k, v)| k == "name" && is_name(v))
}

fn is_name(word: &str) -> bool {
    let plain = word
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    plain && (word.starts_with("FL_") || word.contains("_FL_")) && word.len() > 4
}

#[derive(Clone, Debug, PartialEq)]
struct Metric {
    cell: String,
    name: String,
    object: String,
    value: String,
    unit: String,
    /// When it was collected, as printed.
    time: String,
}

/// Whether a word is the time of a collection: `2024-03-14T10:00:00+01:00`.
fn is_time(word: &str) -> bool {
    let b = word.as_bytes();
    b.len() >= 19 && b[4] == b'-' && b[10] == b'T' && b[13] == b':'
}

/// `[cell:] FL_DISK_FIRST FLASHLOG 32,669,310 IO requests [time]`.
fn metric(line: &str) -> Option<Metric> {
    let words: Vec<&str> = line.split_whitespace().collect();
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
    Some(Metric {
        cell: cell.to_owned(),
        name: words[at].to_owned(),
        object: words[at + 1..value_at].join(" "),
        value: words[value_at].to_owned(),
        unit: words.get(value_at + 1..end).unwrap_or_default().join(" "),
        time: words.get(end).copied().unwrap_or_default().to_owned(),
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
    values: BTreeMap<(String, String), Vec<(u64, f64)>>,
    seen: u64,
    open: Option<Metric>,
    time: String,
    line: u64,
}

impl Metrics {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        if line.len() > 300 {
            return;
        }
        if let Some(found) = metric(line) {
            self.take(found, number, sheets);
            return;
        }
        match detail(line) {
            Some(("name", name)) => {
                self.open = is_name(name).then(|| Metric {
                    cell: String::new(),
                    name: name.to_owned(),
                    object: String::new(),
                    value: String::new(),
                    unit: String::new(),
                    time: std::mem::take(&mut self.time),
                });
            }
            Some(("collectionTime", time)) => {
                // It stands before or behind the value, by the release.
                match &mut self.open {
                    Some(open) => time.clone_into(&mut open.time),
                    None => time.clone_into(&mut self.time),
                }
            }
            Some(("metricObjectName", object)) => {
                if let Some(open) = &mut self.open {
                    object.clone_into(&mut open.object);
                }
            }
            Some(("metricValue", shown)) => {
                if let Some(mut open) = self.open.take() {
                    let (value, unit) = shown.split_once(' ').unwrap_or((shown, ""));
                    value.clone_into(&mut open.value);
                    unit.clone_into(&mut open.unit);
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
        let key = (found.cell.clone(), found.name.clone());
        if self.values.len() >= KEPT && !self.values.contains_key(&key) {
            return;
        }
        let values = self.values.entry(key).or_default();
        let snapshot = values.len() as u64 + 1;
        let is_kept = values.len() < KEPT && self.seen < VALUES_MAX;
        if let Some(n) = printed::plain(&found.value).filter(|_| is_kept) {
            values.push((number, n));
        }
        self.seen += 1;
        let cells = vec![
            Cell::Count(snapshot),
            text(&found.cell),
            text(&found.name),
            text(&found.object),
            printed::cell(&found.value),
            text(&found.unit),
            match found.time.as_str() {
                "" => Cell::Blank,
                time => text(time),
            },
        ];
        sheets.row(self.table.unwrap_or(usize::MAX), number, cells);
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
        for ((cell, name), values) in &self.values {
            let (Some((_, a)), Some((_, b))) = (values.first(), values.last()) else {
                continue;
            };
            let numbers = [*a, *b, b - a].map(Cell::Real);
            let mut row = vec![text(cell), text(name)];
            row.extend(numbers);
            sheets.row(table, self.line, row);
        }
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
                Some((values.first()?.1, values.last()?.1))
            };
            let (Some(flash), Some(disk)) = (ends(name), ends("FL_DISK_FIRST")) else {
                continue;
            };
            let (won, lost) = (flash.1 - flash.0, disk.1 - disk.0);
            let share = |a: f64, b: f64| match a + b {
                all if all > 0.0 => Cell::Real(100.0 * a / all),
                _ => Cell::Blank,
            };
            let both = [won, won + lost].map(Cell::Real);
            let mut row = vec![text(cell), share(won, lost), share(flash.0, disk.0)];
            row.extend(both);
            sheets.row(table, self.line, row);
        }
    }
}
