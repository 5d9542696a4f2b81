//! What the server of a row's target counted: a group of a row's figures that only databases have.
//!
//! Invariants: as of [`super::groups`]. In JSON the group is an object of its own, `server`. The
//! counts are of `observed_s` seconds, which begin once all sessions are open and end after the
//! last one has ended: ratios are of the `commits` of that time, not of the row's.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the server counted around a row. Keys and units are those of the metric catalogue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerFigures {
    /// Seconds between the two readings.
    pub observed_s: Option<f64>,
    /// Commits of redolab's sessions between the readings, warm-up included.
    pub commits: Option<u64>,
    /// Redo: growth of the position of the server's log.
    pub redo_lsn_bytes: Option<u64>,
    /// Redo as the server counts it, without page headers and padding.
    pub wal_bytes: Option<u64>,
    /// Records of redo.
    pub records: Option<u64>,
    /// Images of whole pages among them.
    pub full_page_images: Option<u64>,
    /// Writes of the log.
    pub writes: Option<u64>,
    /// Bytes of these writes.
    pub written_bytes: Option<u64>,
    /// They were computed from writes and positions, because the server does not count them.
    pub written_is_computed: Option<bool>,
    /// Bytes with which the server filled new files of its log; not in `written_bytes`.
    pub initialized_bytes: Option<u64>,
    /// Time of the writes together.
    pub write_ns: Option<u64>,
    /// Mean time of a write.
    pub write_ms: Option<f64>,
    /// Flushes of the log that the server asked for.
    pub syncs: Option<u64>,
    /// Time of the flushes together.
    pub sync_ns: Option<u64>,
    /// Mean time of a flush.
    pub sync_ms: Option<f64>,
    /// Writes because the log buffer was full.
    pub buffers_full: Option<u64>,
    /// Checkpoints that began.
    pub checkpoints: Option<u64>,
    /// Writes with data on the device of the log.
    pub device_writes: Option<u64>,
    /// Bytes of these writes.
    pub device_written_bytes: Option<u64>,
    /// Flushes that the device of the log executed.
    pub device_flushes: Option<u64>,
    /// Redo per commit, by positions.
    pub redo_per_commit_bytes: Option<f64>,
    /// Bytes that the server wrote, per commit.
    pub written_per_commit_bytes: Option<f64>,
    /// Bytes that the device received, per commit.
    pub device_per_commit_bytes: Option<f64>,
    /// Writes per commit.
    pub writes_per_commit: Option<f64>,
    /// Flushes per commit.
    pub syncs_per_commit: Option<f64>,
    /// Flushes of the device per commit.
    pub device_flushes_per_commit: Option<f64>,
    /// Bytes that the server wrote for each byte of redo.
    pub written_per_redo: Option<f64>,
    /// Bytes that the device received for each byte of redo.
    pub device_per_redo: Option<f64>,
    /// What sessions waited for in the server, sampled in the row's measured time.
    pub waits: Option<ServerWaits>,
    /// Why something is missing, in words.
    pub notes: Vec<String>,
}

/// What sessions waited for in a server, by samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerWaits {
    /// Readings of all sessions.
    pub readings: u64,
    /// Readings per second.
    pub readings_per_s: f64,
    /// Mean time of the query of a reading; `None` where there was none.
    pub query_ms: Option<f64>,
    /// How often a session was seen in each wait event; `running` is in none.
    pub sessions: BTreeMap<String, u64>,
}
