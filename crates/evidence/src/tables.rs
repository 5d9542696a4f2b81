//! Rows of an import, and the studies' tables over them: per process the share of waits over 1,
//! 10 and 20 ms and the true maximum.

use measure::WaitEvent;
use measure::imported::{Cell, Column, Table};
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

/// The tables that every import has.
#[must_use]
pub fn of_rows(rows: &[Row]) -> Vec<Table> {
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
    for row in rows {
        for event in [WaitEvent::LogFileParallelWrite, WaitEvent::LogFileSync] {
            if let Some(stats) = row.wait(event).filter(|s| s.count > 0) {
                table.rows.push(line(row, event.name(), stats));
            }
        }
    }
    if table.rows.is_empty() {
        Vec::new()
    } else {
        vec![table]
    }
}

fn line(row: &Row, event: &str, stats: &WaitStats) -> Vec<Cell> {
    vec![
        Cell::Text(row.workload.clone()),
        Cell::Text(event.to_owned()),
        Cell::Count(stats.count),
        Cell::Real(stats.over_1ms_pct),
        Cell::Real(stats.over_10ms_pct),
        Cell::Real(stats.over_20ms_pct),
        Cell::Real(stats.max_ns as f64 / 1e6),
        Cell::Real(stats.mean_ns / 1e6),
        Cell::Count(stats.outliers),
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
