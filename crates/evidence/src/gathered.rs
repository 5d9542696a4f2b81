//! What readers give: rows, tables, series. Readers add; nobody takes away.

use super::snapshots::Snapshot;
use measure::imported::{Series, Table};
use measure::run::Row;

/// What the files of an import gave so far.
#[derive(Debug, Default)]
pub struct Gathered {
    /// One row for each process or snapshot.
    pub rows: Vec<Row>,
    /// Tables of the evidence.
    pub tables: Vec<Table>,
    /// Latency over time or sequence; `row` indexes `rows`.
    pub series: Vec<Series>,
    /// Event histograms, in the order in which they were read.
    pub snapshots: Vec<Snapshot>,
    /// Pieces of evidence that were found: a file that adds none is an error.
    pub yielded: u64,
}

/// What a reader knows of its file at the end.
#[derive(Debug, Default)]
pub struct Ended {
    /// Lines.
    pub lines: u64,
    /// What the file says of itself, by its own names.
    pub facts: Vec<(String, String)>,
}

/// Fields of a row that hold zero when the evidence does not contain them.
const UNTOLD: &[&str] = &[
    "commit_throughput_tps",
    "commit_latency_ms",
    "redo_blocks_per_s",
    "redo_writes_iops",
    "redo_synch_writes_iops",
    "redo_data_mbps",
    "redo_data_kb_per_txn",
    "elapsed_s",
    "redo_size_bytes",
    "commits",
    "elapsed_ns",
    "commit_latency",
    "commits_per_write",
    "commit_path",
    "redo_wastage_bytes",
    "flushes",
    "log_switches",
    "log_writer_switches",
    "threads",
];

/// A row of evidence that contains nothing yet but its name. `jobs` is 1: one process.
#[must_use]
pub fn row(name: &str) -> Row {
    Row {
        workload: name.to_owned(),
        nodes: 1,
        jobs: 1,
        not_measured: UNTOLD.iter().map(|s| (*s).to_owned()).collect(),
        ..Row::default()
    }
}

/// Notes that the evidence contains `fields` of the row.
pub fn tells(row: &mut Row, fields: &[&str]) {
    row.not_measured.retain(|f| !fields.contains(&f.as_str()));
}
