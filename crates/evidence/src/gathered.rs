//! What readers give: rows, tables, series. Readers add; nobody takes away.

use super::counters::CounterListing;
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
    /// Listings of counters since a start, in the order in which they were read.
    pub counters: Vec<CounterListing>,
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
