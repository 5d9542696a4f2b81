//! What was seen of the log writes of a running database: a group of a row's figures that only
//! watched runs have, and what such a run says of its target.
//!
//! Invariants: as of [`super::groups`]. In JSON the group is an object of its own, `watched`. What
//! the kernel's events do not show, and what the server did not report, is `None`.

use super::figures::WaitStats;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of a block in the slow writes and traces of a watched log, whose own blocks are not known.
pub const WATCHED_BLOCK_BYTES: u64 = 512;

/// What was seen of a log that somebody else writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchedFigures {
    /// Log writes: each is what one flush made durable, or one write that is durable by itself.
    pub log_writes: Option<u64>,
    /// Calls that wrote redo.
    pub write_calls: Option<u64>,
    /// Bytes of these calls.
    pub written_bytes: Option<u64>,
    /// Bytes that the device was given for the extents of the log files; `None` where requests to
    /// it could not be joined.
    pub device_bytes: Option<u64>,
    /// Requests that carried these bytes.
    pub device_requests: Option<u64>,
    /// Mean bytes of a log write.
    pub bytes_per_write: Option<f64>,
    /// Commits that the server counted, for each log write; `None` where no server was read.
    pub commits_per_write: Option<f64>,
    /// Time of a call that writes, nanoseconds.
    pub write_call: Option<WaitStats>,
    /// Time of a flush, nanoseconds.
    pub flush: Option<WaitStats>,
    /// Bytes of a log write: count, mean, extremes and percentiles are bytes.
    pub size_bytes: Option<WaitStats>,
    /// Time from the begin of a log write to the begin of the next, nanoseconds.
    pub between_writes: Option<WaitStats>,
    /// Time of a request to the device that writes a log file, nanoseconds.
    pub device_write: Option<WaitStats>,
    /// Time of a flush of the device, nanoseconds, for whomever it was made.
    pub device_flush: Option<WaitStats>,
    /// Where the time of log writes went, means.
    pub layers: Option<WatchedLayers>,
    /// Flushes of log files without a log write before them, of which no figure contains any.
    pub other_flushes: Option<u64>,
    /// Writes of headers and checkpoints, of which no figure contains any.
    pub left_out_writes: Option<u64>,
    /// Bytes with which new log files were filled, as far as that was seen, of which no figure
    /// contains any.
    pub filled_bytes: Option<u64>,
    /// Calls that wrote redo which no flush had made durable at the end.
    pub not_flushed: Option<u64>,
    /// Time for which the oldest of these calls waited, at the end, for a flush of the log to
    /// begin; 0 while one is in flight.
    pub unflushed_ns: Option<u64>,
    /// Transactions that wrote redo and committed, at least, by the growth of the server's
    /// transaction id; `None` where no server was read, or this does not show it.
    pub writing_commits: Option<u64>,
    /// Sessions of the server at one time, at most; `None` likewise.
    pub sessions: Option<u64>,
    /// Writes of its log that the server itself counted; `None` where it was not read.
    pub server_writes: Option<u64>,
    /// Flushes of its log that the server itself counted; `None` likewise.
    pub server_flushes: Option<u64>,
    /// Events of the kernel that were read.
    pub events: Option<u64>,
    /// Events that the kernel lost.
    pub lost_events: Option<u64>,
    /// What is to be known about these figures, in words.
    pub notes: Vec<String>,
}

/// Where the time of log writes went: means over those whose requests to the device are known, in
/// nanoseconds. The three parts add up to their mean log file parallel write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchedLayers {
    /// Log writes.
    pub log_writes: u64,
    /// The device wrote the log file.
    pub device_write_ns: f64,
    /// The device flushed its cache.
    pub device_flush_ns: f64,
    /// The rest: the file system, its journal and the queue before the device.
    pub file_system_ns: f64,
}

/// A log that somebody else writes, as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchedFacts {
    /// What writes it: `PostgreSQL`, `InnoDB`, or the command of the process.
    pub product: String,
    /// The processes that were followed, at the beginning.
    pub processes: Vec<u32>,
    /// Its files at the end, at most 64.
    pub log_files: Vec<String>,
    /// Bytes of all its files.
    pub log_bytes: u64,
    /// Files that were added while it was watched.
    pub added_files: u64,
    /// How processes had its files open when these were looked at, such as `O_RDWR|O_DIRECT`; empty
    /// where none had.
    pub open_flags: Vec<String>,
    /// Settings of the server that decide how durable a commit is, or what it costs, at the
    /// beginning; empty where it was not read.
    pub settings: BTreeMap<String, String>,
    /// Values at the end of those that were changed meanwhile.
    pub changed_settings: BTreeMap<String, String>,
    /// Settings of single roles and databases, which take precedence for their sessions.
    pub scoped_settings: Vec<ScopedSetting>,
    /// The events of the kernel that were recorded.
    pub events: Vec<String>,
    /// Events of system calls were among them: they slow down every system call of the machine.
    pub traces_system_calls: bool,
}

/// A setting of a role, of a database, or of a role in a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct ScopedSetting {
    /// The role; `None`: all roles.
    pub role: Option<String>,
    /// The database; `None`: all databases.
    pub database: Option<String>,
    /// The name of the setting.
    pub name: String,
    /// Its value.
    pub value: String,
}
