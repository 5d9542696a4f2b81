//! The groups of a row's figures: each is what one observer sees (the log writer, the kernel's
//! counters of a device and of processors, the schedule of an open loop, adaptive learning).
//!
//! Invariants: a figure that was not measured is `None`; a group of which nothing was measured is
//! `None` as a whole ([`measured`]). In JSON the fields of all groups lie flat in the row, `null`
//! where they were not measured, so that readers of JSON need not know the groups.

use super::figures::WaitStats;
use serde::{Deserialize, Serialize};

/// The group; `None` where nothing in it was measured. Only with this form does a row that is
/// written and read again equal itself.
#[must_use]
pub fn measured<G: Default + PartialEq>(group: G) -> Option<G> {
    (group != G::default()).then_some(group)
}

/// Groups in JSON: their fields lie flat in the row, all of them `null` where there is no group.
pub(super) mod flat {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<G, S>(group: &Option<G>, serializer: S) -> Result<S::Ok, S::Error>
    where
        G: Serialize + Default,
        S: Serializer,
    {
        match group {
            Some(group) => group.serialize(serializer),
            None => G::default().serialize(serializer),
        }
    }

    pub fn deserialize<'de, G, D>(deserializer: D) -> Result<Option<G>, D::Error>
    where
        G: Deserialize<'de> + Default + PartialEq,
        D: Deserializer<'de>,
    {
        G::deserialize(deserializer).map(super::measured)
    }
}

/// What the log writer did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RedoFigures {
    /// Redo blocks written per second.
    pub redo_blocks_per_s: Option<f64>,
    /// Log writes per second.
    pub redo_writes_iops: Option<f64>,
    /// Redo, MB (1024 kB) per second.
    pub redo_data_mbps: Option<f64>,
    /// Redo of a transaction, kB.
    pub redo_data_kb_per_txn: Option<f64>,
    /// Share of writes that went to the flash cache, in percent; only on Exadata.
    pub flash_cache_write_pct: Option<f64>,
    /// Exact bytes of redo.
    pub redo_size_bytes: Option<u64>,
    /// Group-commit factor.
    pub commits_per_write: Option<CommitsPerWrite>,
    /// Bytes of blocks written without redo in them (padding and block headers).
    pub redo_wastage_bytes: Option<u64>,
    /// Flushes or durable writes that the log issued.
    pub flushes: Option<u64>,
    /// Most redo that one deferred flush made durable: what a power cut could have taken of commits
    /// with NOWAIT, beside the log buffer. `None` where no flush was deferred.
    pub nowait_window_bytes: Option<u64>,
    /// Longest time from the log write of redo that nobody waited for until it was durable.
    pub nowait_window_ms: Option<f64>,
    /// Log switches.
    pub log_switches: Option<u64>,
    /// Changes of an adaptive log writer between alone and workers.
    pub log_writer_switches: Option<u64>,
    /// The log writer's workers; empty where it has none, or none were observed.
    pub workers: Vec<Worker>,
    /// Log writes that took at least the threshold of warnings (`--log-write-warning`).
    pub log_write_warnings: Option<u64>,
    /// The slowest of them one by one; `None` where they were not kept.
    pub slow_log_writes: Option<SlowLogWrites>,
}

impl RedoFigures {
    /// Blocks' bytes without redo in them, in percent of all written; `None` where one of both
    /// was not measured, or nothing was written.
    #[must_use]
    pub fn redo_wastage_pct(&self) -> Option<f64> {
        let (wastage, redo) = (self.redo_wastage_bytes?, self.redo_size_bytes?);
        let bytes = wastage.saturating_add(redo) as f64;
        (bytes > 0.0).then(|| 100.0 * wastage as f64 / bytes)
    }
}

/// What the kernel counted of the device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceFigures {
    /// Writes that the kernel counted on the device.
    pub device_writes: Option<u64>,
    /// Bytes that the kernel counted on the device.
    pub device_written_bytes: Option<u64>,
    /// Device utilisation in percent.
    pub device_util_pct: Option<f64>,
    /// The flush audit.
    pub flush_audit: Option<FlushAudit>,
    /// Device writes by others during the row, percent of all.
    pub background_write_pct: Option<f64>,
}

/// Where processor time went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessorFigures {
    /// CPU busy, percent of all processors.
    pub cpu_busy_pct: Option<f64>,
    /// User share.
    pub cpu_user_pct: Option<f64>,
    /// System share.
    pub cpu_sys_pct: Option<f64>,
    /// Idle share.
    pub cpu_idle_pct: Option<f64>,
    /// Share of waiting for I/O.
    pub cpu_iowait_pct: Option<f64>,
    /// Processor time of this process per commit.
    pub cpu_us_per_commit: Option<f64>,
    /// Context switches of this process per commit.
    pub context_switches_per_commit: Option<f64>,
}

/// An open loop: transactions that were meant to begin at given times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenLoopFigures {
    /// Transactions that were meant to begin, per second, over a long time.
    pub offered_tps: Option<f64>,
    /// Arrivals that were due at the row's end and had not begun.
    pub backlog_end: Option<u64>,
    /// Mean of the lab's own lateness.
    pub lateness_ms: Option<f64>,
    /// What became of the arrivals, in detail.
    #[serde(rename = "open_loop")]
    pub detail: Option<OpenLoop>,
}

/// What adaptive sessions learnt; `None` where the way of waiting is fixed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LearningFigures {
    /// Changes of the way of waiting, or of who writes, that stayed.
    pub log_file_sync_switches: Option<u64>,
    /// Commits while foregrounds polled, percent of all.
    pub log_file_sync_polled_pct: Option<f64>,
    /// The last of these changes.
    pub log_file_sync_switch_log: Vec<RecordedSyncSwitch>,
}

/// What the database writer and the archiver of a log did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogLifeFigures {
    /// Blocks of 8 kB that the database writer made durable in its data file.
    pub data_blocks_written: Option<u64>,
    /// The same in MB (1024 kB) per second.
    pub data_written_mbps: Option<f64>,
    /// Checkpoints that moved.
    pub log_checkpoints: Option<u64>,
    /// Log files, or parts of them, that were archived.
    pub archived_files: Option<u64>,
    /// Bytes of their archive.
    pub archived_bytes: Option<u64>,
    /// How often a neighbour synchronised its file.
    pub neighbour_fsyncs: Option<u64>,
    /// Median of the time of these, microseconds.
    pub neighbour_fsync_p50_us: Option<f64>,
    /// 99th percentile, microseconds.
    pub neighbour_fsync_p99_us: Option<f64>,
    /// The longest, microseconds.
    pub neighbour_fsync_max_us: Option<f64>,
}

/// Commits a log write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommitsPerWrite {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
}

/// The log writes over the threshold of warnings: the log's own `V$LGWRIO_OUTLIER`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowLogWrites {
    /// The threshold in nanoseconds.
    pub threshold_ns: u64,
    /// Number of slow log writes that are not listed, because those that are took longer.
    pub dropped: u64,
    /// The slowest, in the order in which they were submitted.
    pub writes: Vec<SlowLogWrite>,
}

/// A log write that took at least the threshold of warnings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowLogWrite {
    /// When it was submitted, in nanoseconds since 1970 UTC.
    pub at_utc_ns: u64,
    /// Bytes of the blocks that it wrote.
    pub size_bytes: u64,
    /// Nanoseconds from its submission until it was durable.
    pub took_ns: u64,
    /// Number of the member that completed it last, from 0; 0 in a log that has one copy, `None`
    /// where it is not known which of several it was.
    pub member: Option<u16>,
}

impl SlowLogWrite {
    /// The warning that Oracle's log writer writes to its trace file: milliseconds and kB, both
    /// rounded down.
    #[must_use]
    pub fn warning(&self) -> String {
        format!(
            "Warning: log write elapsed time {}ms, size {}KB",
            self.took_ns / 1_000_000,
            self.size_bytes / 1024
        )
    }
}

/// A worker of the log writer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Worker {
    /// `LG00`, `LG01`, …
    pub name: String,
    /// Log file parallel write of the batches that it wrote: the last write of each was its.
    pub log_file_parallel_write: WaitStats,
    /// Writes and flushes that it carried out.
    pub operations: u64,
    /// How often it waited for work: `LGWR worker group idle`.
    pub idle_count: u64,
    /// Nanoseconds of that together.
    pub idle_ns: u64,
}

/// One of several logs that were measured together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeFigures {
    /// Number of the log, from 1.
    pub node: u32,
    /// Sessions on it.
    pub jobs: u32,
    /// Commits of its sessions.
    pub commits: u64,
    /// Commits per second of its sessions.
    pub commit_throughput_tps: f64,
    /// Times of its transactions.
    pub commit_latency: WaitStats,
    /// Waits for log file sync; `None` where nobody waited.
    pub log_file_sync: Option<WaitStats>,
    /// Bytes of redo, record headers included.
    pub redo_size_bytes: u64,
    /// Redo, MB (1024 kB) per second.
    pub redo_data_mbps: f64,
    /// Log file parallel write of its log writer.
    pub log_file_parallel_write: WaitStats,
    /// Flushes or durable writes that it issued.
    pub flushes: u64,
    /// Its log switches.
    pub log_switches: u64,
}

/// The flush audit: flushes that the kernel counted beside those that the acknowledged writes need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlushAudit {
    /// What the comparison is worth.
    pub status: AuditStatus,
    /// Durable completions that the log relied on.
    pub needed: u64,
    /// Flushes that the kernel counted on the device; `None` where it counts none. Of NFS the
    /// requests that can make data durable: COMMIT, and WRITE (which may ask for FILE_SYNC).
    pub counted: Option<u64>,
    /// What the NFS client sent in the row, from mountstats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfs: Option<NfsRequests>,
    /// Why, in words.
    pub note: String,
}

/// Requests that an NFS client sent for a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsRequests {
    /// WRITE, whatever stability they asked for.
    pub writes: u64,
    /// COMMIT.
    pub commits: u64,
}

/// What a flush audit is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditStatus {
    /// Nobody else used the device, and the count fits.
    Verified,
    /// Others used the device: the count is an upper limit of ours.
    LowerBound,
    /// The kernel counted fewer flushes than were needed.
    Missing,
    /// No counter for this kind of target.
    Unavailable,
}

/// What became of the arrivals of an open loop: transactions that were meant to begin at given
/// times, whatever became of those before. Every latency of the row counts from the intended start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Arrivals whose intended start lay in the row's measured time.
    pub arrivals: u64,
    /// Of these, transactions that did not begin within a second after its end. They are in no
    /// latency: where there are any, the true latencies are longer.
    pub not_served: u64,
    /// How long the first of these had waited at the row's end; `None` where all were served.
    pub oldest_not_served_ns: Option<u64>,
    /// The largest backlog that was seen at the end of an interval.
    pub backlog_max: u64,
    /// From the intended start until a session was free for it: what the log made wait.
    pub queue: WaitStats,
    /// From when it was due and a session was free until it began: what the lab made wait.
    pub lateness: WaitStats,
    /// Shares of what the latencies add up to, in percent, that are the lab's own lateness.
    pub lateness_pct: f64,
    /// Time that sessions with a backlog spent between two transactions, percent of the time in
    /// which they had one: what the lab takes of its own throughput. `None` without a backlog.
    pub lab_busy_pct: Option<f64>,
}

/// Foregrounds began or ceased to poll, or to write for themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedSyncSwitch {
    /// Seconds after the row's measured window began.
    pub t_s: f64,
    /// `polling` or `post-wait`; `inline` where sessions write for themselves from then on.
    pub to: String,
    /// Commits a second of the mode that was left.
    pub left_per_s: f64,
    /// Commits a second of the mode that was taken, in its trial.
    pub taken_per_s: f64,
}
