//! What a run holds beside its rows when it was read from evidence that others recorded: what was
//! read, the tables as the evidence has them, latency over time or sequence, and what is wrong.
//!
//! Invariants: exact values stay exact; the source's own name of a thing is kept with ours; a
//! cell that the evidence leaves blank is [`Cell::Blank`], never zero. All text here came from a
//! file of somebody else: what shows it makes it harmless first.

use crate::Histogram;
use crate::origin::RowOrigin;
use serde::{Deserialize, Serialize};

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Unusual, and understood.
    Note,
    /// Something could not be read, or is doubtful; the figures hold without it.
    Warning,
    /// Figures are missing or wrong because of it.
    Error,
}

/// Something about the evidence, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// Stable identifier, such as `trace.cut_line`.
    pub id: String,
    /// The file as the user named it; `-` is standard input.
    pub file: String,
    /// Line of the first occurrence, counted from 1; `None` where it concerns the whole file.
    pub line: Option<u64>,
    /// Byte in that line, counted from 1.
    pub column: Option<u64>,
    /// What it is, and what was done about it.
    pub detail: String,
    /// Occurrences that this entry stands for, itself included.
    pub count: u64,
}

/// What was read from evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// The files.
    pub sources: Vec<Source>,
    /// Tables, in the order of the evidence.
    pub tables: Vec<Table>,
    /// Latency over time or sequence.
    pub series: Vec<Series>,
    /// The device of the log, as `iostat` names it, where the user named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_device: Option<String>,
}

/// One file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file as the user named it.
    pub file: String,
    /// What it is, such as `oracle-trace`.
    pub kind: String,
    /// How it was packed: `gzip`, `bzip2`, `xz`, `zstd`; empty when it was not.
    pub packing: String,
    /// Bytes after unpacking.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// What the file says of itself, by its own names: version, instance, host.
    pub facts: Vec<(String, String)>,
    /// What became of its lines, without gaps; empty where that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<SourceRegion>,
}

/// Key of the fact that a file names a setting with which commits do not wait for a medium.
pub const NOT_DURABLE: &str = "not durable";

/// Lines of a file that became the same. Either `read_as` or `passed_over` is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRegion {
    /// First line, from 1.
    pub first: u64,
    /// Last line.
    pub last: u64,
    /// The table whose rows they are, or the kind of the file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub read_as: String,
    /// Why they were passed over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub passed_over: String,
}

/// A table of the evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Stable identifier, such as `worker_latency`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The file it comes from; empty when it joins several.
    pub file: String,
    /// Line of its heading, counted from 1.
    pub line: Option<u64>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its lines: as many cells as columns.
    pub rows: Vec<Vec<Cell>>,
    /// Where each row comes from, in the order of the rows; empty where that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<RowOrigin>,
    /// How cells were computed, in words; origins refer to these by their index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formulas: Vec<String>,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Our name, with the unit in it: `wait_count`, `avg_wait_ns`.
    pub key: String,
    /// The evidence's own heading.
    pub heading: String,
}

/// A cell of a [`Table`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// The evidence says nothing.
    #[default]
    Blank,
    /// A whole number.
    Count(u64),
    /// Any other number.
    Real(f64),
    /// Text of the evidence.
    Text(String),
}

/// What the positions of a [`Series`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Seconds since the first one: the evidence has time stamps.
    Time,
    /// The number of the wait, from 1: the evidence has no time stamps.
    Sequence,
}

/// Latency over time or sequence, in at most a few hundred points of equal width.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Index into the run's rows.
    pub row: usize,
    /// Key of the wait in the row's `waits`.
    pub event: String,
    /// What the positions are.
    pub axis: Axis,
    /// Width of a point, in seconds or waits.
    pub width: f64,
    /// The points, in order; empty stretches are left out.
    pub points: Vec<SeriesPoint>,
    /// All of its waits, where an import was asked to keep them; never stored.
    #[serde(skip)]
    pub distribution: Option<Box<Histogram>>,
}

/// A stretch of a [`Series`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// Where it begins.
    pub at: f64,
    /// Waits in it.
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// The longest.
    pub max_ns: u64,
    /// Blocks written, where the evidence contains it.
    pub blocks: u64,
}
