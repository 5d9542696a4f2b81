//! A row of a run: one workload with one number of jobs, and what it is made of. Plain data; names
//! and units are those of the JSON. It knows nothing of how rows are measured or shown.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The figures of a wait event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitStats {
    /// Waits.
    pub count: u64,
    /// Exact sum.
    pub total_ns: u64,
    /// Exact mean.
    pub mean_ns: f64,
    /// Exact minimum.
    pub min_ns: u64,
    /// Median; percentiles are `None` with fewer than ten samples beyond them.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Exact maximum.
    pub max_ns: u64,
    /// Share over 1 ms, in percent.
    pub over_1ms_pct: f64,
    /// Share over 10 ms, in percent.
    pub over_10ms_pct: f64,
    /// Share over 20 ms, in percent.
    pub over_20ms_pct: f64,
    /// Waits over 500 ms.
    pub outliers: u64,
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

/// Time of a row's sessions that its latencies do not show as they are. With it the books of a
/// closed loop balance: the sum of all latencies, and `lab_ns`, less `beyond_ns`, is the number of
/// jobs times the elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTime {
    /// Nanoseconds of counted transactions after the row's end, less those that sessions spent in
    /// it on transactions that had begun before it, or after their last one; signed.
    pub beyond_ns: i64,
    /// Nanoseconds between transactions, in which the lab put its samples away.
    pub lab_ns: u64,
}

/// Commits, measured time and latencies of a closed loop's row, each counted or timed a second
/// time by somebody else, so that a wrong figure of the row is found (Little's law).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossCheck {
    /// Transactions whose redo was in log writes that began in the measured time, from the
    /// log writer's own count of redo bytes.
    pub log_commits: u64,
    /// Commits that may belong to either side of the ends of the measured time: one for each
    /// session, and what the log buffer may hold where nobody waits.
    pub uncertain_commits: u64,
    /// The measured time by another clock (CLOCK_BOOTTIME), read by the thread that runs the row.
    pub window_ns: u64,
    /// How far apart the two clocks were read at its ends.
    pub uncertain_ns: u64,
    /// Transactions of which sessions took the time once more, by that other clock: 1 of 16.
    pub sampled: u64,
    /// Their time by that clock.
    pub sampled_ns: u64,
    /// Their time as the row's latencies have it.
    pub sampled_recorded_ns: u64,
    /// Time of the row's latencies after the end of the measured time, less that of transactions
    /// which had begun before it; signed, at most one transaction of each session at either end.
    pub edges_ns: i64,
    /// Time in which sessions were in no transaction, by the other clock.
    pub outside_ns: u64,
    /// Bytes of redo that the log writer made durable from the row's start until nothing was left.
    pub log_bytes: u64,
    /// Bytes of redo that the log counted in for the sessions meanwhile.
    pub session_bytes: u64,
    /// Sessions whose own count of transactions differs from the log's count of their records.
    pub miscounted: u32,
    /// The one that differs most.
    pub worst: Option<SessionCount>,
}

/// A session's transactions, warm-up included, as it and as the log counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCount {
    /// Number of the session, from 0.
    pub session: u32,
    /// Its own count.
    pub own: u64,
    /// The log's.
    pub by_log: u64,
}

/// Where a commit's time goes: means over the commits that waited, nanoseconds. The four parts
/// add up to the mean log file sync of the attributed commits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommitPath {
    /// Commits that could be joined to the log write that served them.
    pub attributed: u64,
    /// From asking until the write that served it was submitted.
    pub queue_ns: f64,
    /// Until that write was complete.
    pub write_ns: f64,
    /// Until it was durable.
    pub flush_ns: f64,
    /// Until the foreground ran again.
    pub wake_ns: f64,
}

/// Foregrounds began or ceased to poll.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SyncSwitch {
    /// Seconds after the row's measured window began.
    pub t_s: f64,
    /// `polling` or `post-wait`.
    pub to: String,
    /// Commits a second of the mode that was left.
    pub left_per_s: f64,
    /// Commits a second of the mode that was taken, in its trial.
    pub taken_per_s: f64,
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

/// One session of a row that counts commits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFigures {
    /// Its number, from 0.
    pub session: u32,
    /// Its commits.
    pub commits: u64,
    /// From its first transaction's start to its last one's end.
    pub elapsed_ns: u64,
    /// Mean time of its transactions.
    pub mean_ns: f64,
    /// The longest of them.
    pub max_ns: u64,
}

/// One second of a row; more in a soak.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// End of the interval, seconds after the row's start.
    pub t_s: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// Commits.
    pub commits: u64,
    /// Bytes of redo.
    pub redo_bytes: u64,
    /// Mean log file sync.
    pub log_file_sync_mean_ns: f64,
    /// 99th percentile of log file sync.
    pub log_file_sync_p99_ns: Option<u64>,
    /// Longest log file sync.
    pub log_file_sync_max_ns: u64,
    /// Mean log file parallel write.
    pub log_file_parallel_write_mean_ns: f64,
    /// Longest log file parallel write.
    pub log_file_parallel_write_max_ns: u64,
    /// Log switches that began in it.
    pub log_switches: u64,
    /// Device utilisation in percent, where known.
    pub device_util_pct: Option<f64>,
    /// Resident memory of this process at its end, bytes, where readable.
    #[serde(default)]
    pub rss_bytes: Option<u64>,
    /// Open loop: arrivals that were due at its end and had not begun.
    #[serde(default)]
    pub backlog: Option<u64>,
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

/// One workload at one number of jobs. The first block of fields are the columns of study 003,
/// by the same names and with its binary units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the workload.
    pub workload: String,
    /// Machines.
    pub nodes: u32,
    /// Sessions.
    pub jobs: u32,
    /// Threads that ran the sessions; 0 in runs of earlier versions, which gave each its own.
    #[serde(default)]
    pub threads: u32,
    /// CPU busy, percent of all processors.
    pub cpu_busy_pct: Option<f64>,
    /// User share.
    pub cpu_user_pct: Option<f64>,
    /// System share.
    pub cpu_sys_pct: Option<f64>,
    /// Idle share.
    pub cpu_idle_pct: Option<f64>,
    /// Waiting for I/O.
    pub cpu_iowait_pct: Option<f64>,
    /// Commits a second.
    pub commit_throughput_tps: f64,
    /// Mean time of a transaction from its start until its commit returned; measured for each.
    pub commit_latency_ms: f64,
    /// Redo blocks a second.
    pub redo_blocks_per_s: f64,
    /// Log writes a second.
    pub redo_writes_iops: f64,
    /// Waits for log file sync a second.
    pub redo_synch_writes_iops: f64,
    /// Redo, MB (1024 kB) a second.
    pub redo_data_mbps: f64,
    /// Redo of a transaction, kB.
    pub redo_data_kb_per_txn: f64,
    /// Mean log file sync; `None` when nobody waited.
    pub log_file_sync_ms: Option<f64>,
    /// Only on Exadata.
    pub flash_cache_write_pct: Option<f64>,
    /// Measured seconds.
    pub elapsed_s: f64,

    /// Exact bytes of redo.
    pub redo_size_bytes: u64,
    /// Exact number of commits.
    pub commits: u64,
    /// Exact measured time.
    pub elapsed_ns: u64,
    /// Wait events by [`crate::WaitEvent::key`].
    pub waits: BTreeMap<String, WaitStats>,
    /// Transaction times, the distribution behind `commit_latency_ms`.
    pub commit_latency: WaitStats,
    /// Percentile curves `(percentile, ns)` by wait-event key.
    #[serde(default)]
    pub curves: BTreeMap<String, Vec<(f64, u64)>>,
    /// Group-commit factor.
    pub commits_per_write: CommitsPerWrite,
    /// Where a commit's time goes.
    pub commit_path: CommitPath,
    /// Where the sessions' time went that is in no latency of this row; `None` where that was not
    /// kept.
    #[serde(default)]
    pub session_time: Option<SessionTime>,
    /// What was counted and timed a second time; `None` where that was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_check: Option<CrossCheck>,
    /// Bytes of blocks written without redo in them (padding and block headers).
    pub redo_wastage_bytes: u64,
    /// Flushes or durable writes that the log issued.
    pub flushes: u64,
    /// Log switches.
    pub log_switches: u64,
    /// Changes of an adaptive log writer between alone and workers.
    #[serde(default)]
    pub log_writer_switches: u64,
    /// The log writer's workers; empty where it has none.
    #[serde(default)]
    pub workers: Vec<Worker>,
    /// Writes that the kernel counted on the device.
    pub device_writes: Option<u64>,
    /// Bytes that the kernel counted on the device.
    pub device_written_bytes: Option<u64>,
    /// Device utilisation in percent.
    pub device_util_pct: Option<f64>,
    /// Processor time of this process a commit.
    pub cpu_us_per_commit: Option<f64>,
    /// Context switches of this process a commit.
    pub context_switches_per_commit: Option<f64>,
    /// The flush audit.
    pub flush_audit: Option<FlushAudit>,
    /// Device writes by others during the row, percent of all.
    pub background_write_pct: Option<f64>,
    /// Changes between post/wait and polling that stayed; `None` where the way is fixed.
    #[serde(default)]
    pub log_file_sync_switches: Option<u64>,
    /// Commits while foregrounds polled, percent of all; `None` where the way is fixed.
    #[serde(default)]
    pub log_file_sync_polled_pct: Option<f64>,
    /// The last of these changes.
    #[serde(default)]
    pub log_file_sync_switch_log: Vec<SyncSwitch>,
    /// Redo that a transaction of the workload appends, record headers not included; `None` in runs
    /// of earlier versions and of others' evidence.
    #[serde(default)]
    pub redo_bytes_per_txn: Option<u64>,
    /// Records that it is divided into.
    #[serde(default)]
    pub records_per_txn: Option<u32>,
    /// Commits asked of each session; `None` where a time was.
    #[serde(default)]
    pub commits_per_session: Option<u64>,
    /// The sessions one by one, where commits are counted and they are at most 256.
    #[serde(default)]
    pub sessions: Vec<SessionFigures>,
    /// Open loop: transactions that were meant to begin, a second, over a long time.
    #[serde(default)]
    pub offered_tps: Option<f64>,
    /// Open loop: arrivals that were due at the row's end and had not begun.
    #[serde(default)]
    pub backlog_end: Option<u64>,
    /// Open loop: mean of the lab's own lateness.
    #[serde(default)]
    pub lateness_ms: Option<f64>,
    /// Open loop: the rest of its figures.
    #[serde(default)]
    pub open_loop: Option<OpenLoop>,
    /// A soak: measured for as long as `--soak` said, for the sake of its intervals.
    #[serde(default)]
    pub soak: bool,
    /// Seconds of the row; of a soak, intervals of more than a second.
    #[serde(default)]
    pub intervals: Vec<Interval>,
    /// Events that were stored one by one; missing where it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<CapturedEvents>,
    /// Fields of this row that the evidence does not tell: they hold zero here, are `null` in the
    /// JSON that commands print, and empty elsewhere. Empty in a measured row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<String>,
}

/// What of a row was stored event by event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedEvents {
    /// Log file syncs.
    pub log_file_syncs: u64,
    /// Log file parallel writes.
    pub log_file_parallel_writes: u64,
    /// Events of both kinds that happened and could not be kept up with.
    pub lost: u64,
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

impl Row {
    /// The wait event's figures, if it was recorded.
    #[must_use]
    pub fn wait(&self, event: crate::WaitEvent) -> Option<&WaitStats> {
        self.waits.get(event.key())
    }
}
