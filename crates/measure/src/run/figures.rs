//! What a row's figures consist of where one number is not enough: the figures of a wait event, the
//! parts of a commit's time, the sessions, the intervals. Plain data; names and units are those of
//! the JSON. It knows nothing of how rows are measured or shown.

use serde::{Deserialize, Serialize};

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
    /// Standard error of the difference of those two, from how much the transactions' differences
    /// vary; `None` with fewer than two, and in runs that did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_error_ns: Option<u64>,
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
pub struct CommitPathFigures {
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
    /// What the wait consists of by cause; missing where commits were not joined to the log writes
    /// before their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<WaitParts>,
    /// Time per transaction for which the session's thread was ready to run and waited for a
    /// processor, warm-up included. It lies in any of the four parts, or between two commits.
    /// Missing where the system does not count it, or a session is not a thread of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue_ns: Option<f64>,
}

/// What log file sync consists of: means over the commits that were joined to the log writes before
/// their own, nanoseconds. The four parts add up to the mean log file sync of these commits, also
/// of those whose session ran again so late that they could not be attributed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitParts {
    /// Commits that were joined.
    pub commits: u64,
    /// Its own log write: from its submission until it was durable.
    pub io_ns: f64,
    /// Before that, while an earlier log write was in flight.
    pub group_commit_ns: f64,
    /// From durable until the session ran again.
    pub cpu_ns: f64,
    /// The rest: the log writer collects, seals and submits.
    pub log_writer_ns: f64,
}

/// Under which condition a row of `check --explain-latency` was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RowCondition {
    /// COMMIT WRITE, as `--commit-write` names it.
    pub commit_write: String,
    /// How sessions waited, as `--log-file-sync` names it.
    pub log_file_sync: String,
    /// Threads of redolab that kept processors busy beside the sessions.
    pub busy_threads: u32,
    /// Number of the round, from 1.
    pub round: u32,
}

impl RowCondition {
    /// The condition behind the name of a row: ` (polling, 4 busy threads, round 2)`. COMMIT WRITE
    /// is in the name of the workload; a plan has no round yet.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut words = vec![self.log_file_sync.clone()];
        if self.busy_threads > 0 {
            let count = u64::from(self.busy_threads);
            words.push(crate::words::plural(count, "busy thread"));
        }
        if self.round > 0 {
            words.push(format!("round {}", self.round));
        }
        format!(" ({})", crate::words::sanitize::line(&words.join(", ")))
    }
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
    /// Bytes of redo; `None` where log writes are not observed.
    pub redo_bytes: Option<u64>,
    /// Bytes of the blocks written, padding included; `None` where log writes are not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Log writes; `None` where they are not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_writes: Option<u64>,
    /// Mean log file sync; `None` where there was none.
    pub log_file_sync_mean_ns: Option<f64>,
    /// 99th percentile of log file sync.
    pub log_file_sync_p99_ns: Option<u64>,
    /// Longest log file sync; `None` where there was none.
    pub log_file_sync_max_ns: Option<u64>,
    /// Mean log file parallel write; `None` where there was none.
    pub log_file_parallel_write_mean_ns: Option<f64>,
    /// Longest log file parallel write; `None` where there was none.
    pub log_file_parallel_write_max_ns: Option<u64>,
    /// Log switches that began in it; `None` where log writes are not observed.
    pub log_switches: Option<u64>,
    /// Device utilisation in percent, where known.
    pub device_util_pct: Option<f64>,
    /// Resident memory of this process at its end, bytes, where readable.
    #[serde(default)]
    pub rss_bytes: Option<u64>,
    /// Open loop: arrivals that were due at its end and had not begun.
    #[serde(default)]
    pub backlog: Option<u64>,
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
