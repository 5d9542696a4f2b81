//! Where a run's log lived, and how it was written.
//!
//! Invariants: as of [`crate::run`]; a field that came later has a default, so that older runs are
//! read.

use crate::stack::Stack;
use serde::{Deserialize, Serialize};

/// Where the log lived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// `file`, `raw_device`, `null`, later `postgresql` and so on.
    pub kind: String,
    /// The path as the user gave it.
    pub path: String,
    /// The stack below it.
    pub stack: Stack,
    /// The sync method used: `buffered`, `dsync`, `direct`, `direct-dsync`.
    pub sync_method: String,
    /// Redo block size in bytes.
    pub redo_block_bytes: u32,
    /// Writes are padded to this many bytes: the largest of block, physical sector, atomic unit.
    pub seal_bytes: u32,
    /// Log groups.
    pub log_groups: u32,
    /// Bytes of each log file.
    pub log_file_bytes: u64,
    /// Log buffer in bytes.
    pub log_buffer_bytes: u64,
    /// The log buffer is in huge pages.
    pub huge_pages: bool,
    /// Extents of the log files that the file system holds as unwritten, if it can tell.
    pub unwritten_extents: Option<u64>,
    /// How writes were handed to the system: `threads`, `io_uring`; empty where nobody said.
    #[serde(default)]
    pub io: String,
    /// Batches in flight at most; 0 where nobody said.
    #[serde(default)]
    pub io_depth: u32,
    /// What the probe at open found, if there was one.
    #[serde(default)]
    pub probe: Vec<ProbeRow>,
    /// What was asked for and done without, each with the reason.
    #[serde(default)]
    pub fallbacks: Vec<String>,
}

/// One way of writing as the probe at open found it: durable writes, one at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeRow {
    /// `buffered`, `dsync`, `direct`, `direct-dsync`.
    pub sync_method: String,
    /// `threads`, `io_uring`.
    pub io: String,
    /// Bytes of each write.
    pub write_bytes: u64,
    /// Durable writes that were timed.
    pub writes: u64,
    /// Their median; `None` where none was timed.
    pub p50_ns: Option<u64>,
    /// Their mean.
    pub mean_ns: Option<f64>,
    /// Why not, or why not more.
    pub refused: Option<String>,
    /// The log was written in this way.
    pub chosen: bool,
}
