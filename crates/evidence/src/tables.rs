//! Rows of an import, and the studies' tables over them: per process the share of waits over 1,
//! 10 and 20 ms and the true maximum.

use super::origin::{SourcedCell, add_sourced};
use measure::WaitEvent;
use measure::imported::{Cell, Column, Table};
use measure::origin::OriginInput;
use measure::run::{Row, WaitStats};

/// A row of evidence that contains nothing yet but its name. `jobs` is 1: one process.
#[must_use]
pub fn row(name: &str) -> Row {
    Row {
        workload: name.to_owned(),
        nodes: 1,
        jobs: 1,
        ..Row::default()
    }
}

/// A column by our key and the heading that people know.
#[must_use]
pub fn column(key: &str, heading: &str) -> Column {
    Column {
        key: key.to_owned(),
        heading: heading.to_owned(),
    }
}

/// The key of a wait in a row: its name in small letters, all else as single underscores, as
/// [`WaitEvent::key`] has it.
#[must_use]
pub fn key_of(event: &str) -> String {
    let mut key = String::with_capacity(event.len());
    for c in event.chars() {
        if c.is_ascii_alphanumeric() {
            key.push(c.to_ascii_lowercase());
        } else if !key.ends_with('_') && !key.is_empty() {
            key.push('_');
        }
    }
    key.truncate(key.trim_end_matches('_').len());
    if key.is_empty() {
        "unnamed".to_owned()
    } else {
        key
    }
}

/// A file, and the rows that it gave.
#[derive(Clone, Debug)]
pub struct RowsOfFile {
    /// The file as the user named it.
    pub file: String,
    /// Its lines.
    pub lines: u64,
    /// One behind the last of its rows.
    pub end: usize,
}

/// The tables that every import has. `files` are in the order of the rows.
#[must_use]
pub fn of_rows(rows: &[Row], files: &[RowsOfFile]) -> Vec<Table> {
    let mut table = Table {
        id: "worker_latency".to_owned(),
        title: "Redo waits by process: share over 1, 10 and 20 ms, and the longest".to_owned(),
        columns: vec![
            column("process", "Process"),
            column("event", "Event"),
            column("waits", "Waits"),
            column("over_1ms_pct", "Over 1ms %"),
            column("over_10ms_pct", "Over 10ms %"),
            column("over_20ms_pct", "Over 20ms %"),
            column("max_ms", "Max ms"),
            column("mean_ms", "Mean ms"),
            column("outliers", "Over 500ms"),
        ],
        ..Table::default()
    };
    for (index, row) in rows.iter().enumerate() {
        let of = files.iter().find(|f| index < f.end);
        let (file, lines) = of.map_or(("", 1), |f| (f.file.as_str(), f.lines.max(1)));
        for event in [WaitEvent::LogFileParallelWrite, WaitEvent::LogFileSync] {
            if let Some(stats) = row.wait(event).filter(|s| s.count > 0) {
                let cells = line(index, row, event, stats);
                add_sourced(&mut table, file, (1, lines), cells);
            }
        }
    }
    if table.rows.is_empty() {
        Vec::new()
    } else {
        vec![table]
    }
}

fn line(index: usize, row: &Row, event: WaitEvent, stats: &WaitStats) -> Vec<SourcedCell> {
    let label = |text: &str| SourcedCell {
        cell: Cell::Text(text.to_owned()),
        ..SourcedCell::default()
    };
    let of_row = |cell, formula, figure: &str| {
        let id = format!("rows.{index}.waits.{}.{figure}", event.key());
        SourcedCell::derived(cell, formula, vec![OriginInput::from(id)])
    };
    let ms = |ns: f64| Cell::Real(ns / 1e6);
    vec![
        label(&row.workload),
        label(event.name()),
        of_row(Cell::Count(stats.count), "a", "count"),
        of_row(Cell::Real(stats.over_1ms_pct), "a", "over_1ms_pct"),
        of_row(Cell::Real(stats.over_10ms_pct), "a", "over_10ms_pct"),
        of_row(Cell::Real(stats.over_20ms_pct), "a", "over_20ms_pct"),
        of_row(ms(stats.max_ns as f64), "a / 1000000", "max_ns"),
        of_row(ms(stats.mean_ns), "a / 1000000", "mean_ns"),
        of_row(Cell::Count(stats.outliers), "a", "outliers"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_vocabulary() {
        for event in WaitEvent::ALL {
            assert_eq!(key_of(event.name()), event.key());
        }
        assert_eq!(
            key_of("SQL*Net message to client"),
            "sql_net_message_to_client"
        );
        assert_eq!(key_of("\u{1b}["), "unnamed");
    }
}
