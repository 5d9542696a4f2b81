//! The metric catalogue: every column and counter with its unit, definition and source.
//! `docs/metrics.md` is generated from it; a metric that is not here is not shown.

mod server;
mod waits;

pub use server::{SERVER, SERVER_PREFIX};
pub use waits::{COMMIT_LATENCY, WAITS, WaitColumn, WaitFigure};

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Key in JSON and CSV.
    pub key: &'static str,
    /// Column heading in tables.
    pub heading: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// What exactly it is.
    pub definition: &'static str,
    /// Where the definition comes from.
    pub source: &'static str,
}

const PEAKMARKS: &str = "study 003 (peakmarks 2021), column of the same name";
const ORACLE: &str = "Oracle Database Reference, statistic or wait event of the same name";
const OWN: &str = "redolab";

/// Every metric that can be a column: of [`ROW`], of [`SERVER`], of [`WAITS`].
pub fn all() -> impl Iterator<Item = &'static Metric> {
    let waits = WAITS.iter().map(|(_, _, metric)| metric);
    ROW.iter().chain(SERVER).chain(waits)
}

/// Metrics of a row, in the order of tables; those of a server are in [`SERVER`], percentiles in
/// [`WAITS`].
pub const ROW: &[Metric] = &[
    Metric {
        key: "workload",
        heading: "Workload",
        unit: "",
        definition: "Name of the workload.",
        source: PEAKMARKS,
    },
    Metric {
        key: "nodes",
        heading: "Nodes",
        unit: "",
        definition: "Machines that ran it, or redo logs with sessions of their own (`--nodes`).",
        source: PEAKMARKS,
    },
    Metric {
        key: "jobs",
        heading: "Jobs",
        unit: "",
        definition: "Sessions that ran the workload, each on a thread of its own unless `threads` is given.",
        source: PEAKMARKS,
    },
    Metric {
        key: "threads",
        heading: "Threads",
        unit: "",
        definition: "Threads that ran the sessions of the asynchronous API, each session with one commit in flight. A thread reads its clock once for at most 32 sessions: that reading ends their commits and begins their next ones. So what a session waits for its thread is part of its latency, and a time is wrong by at most the work of 32 sessions.",
        source: OWN,
    },
    Metric {
        key: "cpu_busy_pct",
        heading: "Busy %",
        unit: "%",
        definition: "All processors: 100 minus idle and waiting for I/O.",
        source: PEAKMARKS,
    },
    Metric {
        key: "cpu_user_pct",
        heading: "User %",
        unit: "%",
        definition: "All processors: user time.",
        source: PEAKMARKS,
    },
    Metric {
        key: "cpu_sys_pct",
        heading: "Sys %",
        unit: "%",
        definition: "All processors: kernel time.",
        source: PEAKMARKS,
    },
    Metric {
        key: "cpu_idle_pct",
        heading: "Idle %",
        unit: "%",
        definition: "All processors: idle.",
        source: PEAKMARKS,
    },
    Metric {
        key: "cpu_iowait_pct",
        heading: "IOwait %",
        unit: "%",
        definition: "All processors: idle with an I/O outstanding.",
        source: PEAKMARKS,
    },
    Metric {
        key: "commit_throughput_tps",
        heading: "Commits tps",
        unit: "1/s",
        definition: "Commits that returned, per measured second. WAIT: durable. NOWAIT: requested.",
        source: PEAKMARKS,
    },
    Metric {
        key: "commit_latency_ms",
        heading: "Latency ms",
        unit: "ms",
        definition: "Mean time of a transaction from its start until its commit returned, measured for each.",
        source: "study 003; there it is jobs / throughput, here it is measured",
    },
    Metric {
        key: "redo_blocks_per_s",
        heading: "Redo rbps",
        unit: "1/s",
        definition: "Redo blocks written per second.",
        source: PEAKMARKS,
    },
    Metric {
        key: "redo_writes_iops",
        heading: "Writes IOPS",
        unit: "1/s",
        definition: "Log writes per second: one for each batch.",
        source: ORACLE,
    },
    Metric {
        key: "redo_synch_writes_iops",
        heading: "Synch IOPS",
        unit: "1/s",
        definition: "Commits per second that requested to wait for their redo.",
        source: ORACLE,
    },
    Metric {
        key: "redo_data_mbps",
        heading: "Redo MBps",
        unit: "MB/s, 1 MB = 1024 kB",
        definition: "redo_size_bytes per second.",
        source: PEAKMARKS,
    },
    Metric {
        key: "redo_data_kb_per_txn",
        heading: "Redo kBpt",
        unit: "kB = 1024 B",
        definition: "redo_size_bytes per commit.",
        source: PEAKMARKS,
    },
    Metric {
        key: "log_file_sync_ms",
        heading: "LFS ms",
        unit: "ms",
        definition: "Mean log file sync: from asking for the commit until the foreground runs again knowing that its redo is durable.",
        source: ORACLE,
    },
    Metric {
        key: "flash_cache_write_pct",
        heading: "FC write %",
        unit: "%",
        definition: "Exadata only; null elsewhere.",
        source: PEAKMARKS,
    },
    Metric {
        key: "elapsed_s",
        heading: "Elapsed s",
        unit: "s",
        definition: "Measured time, warm-up excluded.",
        source: PEAKMARKS,
    },
    Metric {
        key: "redo_size_bytes",
        heading: "Redo bytes",
        unit: "B",
        definition: "Redo records with their headers; block headers and padding not included.",
        source: ORACLE,
    },
    Metric {
        key: "commits",
        heading: "Commits",
        unit: "",
        definition: "Commits that returned in the measured time.",
        source: OWN,
    },
    Metric {
        key: "commits_per_write",
        heading: "Commits/write",
        unit: "",
        definition: "Group-commit factor: waiting commits served by a log write, as a distribution.",
        source: OWN,
    },
    Metric {
        key: "redo_wastage_bytes",
        heading: "Wastage",
        unit: "B",
        definition: "Bytes of blocks written without redo in them: padding and block headers.",
        source: ORACLE,
    },
    Metric {
        key: "flushes",
        heading: "Flushes",
        unit: "",
        definition: "Flushes, or durable writes, that the log issued.",
        source: OWN,
    },
    Metric {
        key: "device_writes",
        heading: "Dev writes",
        unit: "",
        definition: "Writes that the kernel counted on the device, flushes not included.",
        source: "Documentation/block/stat of the Linux kernel",
    },
    Metric {
        key: "cpu_us_per_commit",
        heading: "CPU µs/commit",
        unit: "µs",
        definition: "User and system time of this process divided by commits.",
        source: OWN,
    },
    Metric {
        key: "context_switches_per_commit",
        heading: "CS/commit",
        unit: "",
        definition: "Voluntary and involuntary context switches of this process divided by commits.",
        source: OWN,
    },
    Metric {
        key: "log_file_sync_polled_pct",
        heading: "Polled %",
        unit: "%",
        definition: "With adaptive learning: commits whose log write became durable while foregrounds polled, of all commits.",
        source: "Oracle's statistic redo synch polls, as a share",
    },
    Metric {
        key: "log_file_sync_switches",
        heading: "Sync switches",
        unit: "",
        definition: "With adaptive learning: changes between post/wait and polling that lasted; trials are not counted.",
        source: "Oracle's messages of the log writer on switching to polling or post/wait",
    },
    Metric {
        key: "redo_bytes_per_txn",
        heading: "Redo B/txn",
        unit: "B",
        definition: "Redo that a transaction of the workload appends before its commit, record headers not included: what a size sweep varies.",
        source: "study 002 (redo generated before the commit)",
    },
    Metric {
        key: "commits_per_session",
        heading: "Commits/session",
        unit: "",
        definition: "Commits that each session makes in a row that ends after a number of commits (--commits) and not after a time. Multiplied by jobs, it is the number of commits of the row.",
        source: "study 004 (20 processes, 200,000 updates with commits each)",
    },
    Metric {
        key: "offered_tps",
        heading: "Offered tps",
        unit: "1/s",
        definition: "Open loop: transactions per second that are due on average, bursts included. The achieved rate is commit_throughput_tps: all that returned in the measured time, whenever they were due. The commits and all latencies are those of transactions that were due in the measured time; a latency counts from the intended start, log_file_sync from the request of the commit, as everywhere.",
        source: OWN,
    },
    Metric {
        key: "backlog_end",
        heading: "Backlog",
        unit: "",
        definition: "Open loop: transactions that were due at the end of the measured time and had not begun, because every session was in a transaction.",
        source: OWN,
    },
    Metric {
        key: "lateness_ms",
        heading: "Late ms",
        unit: "ms",
        definition: "Open loop: mean time from when a transaction was due and a session was free until it began. redolab itself causes it; it is part of the latency and is reported so that it can be subtracted.",
        source: OWN,
    },
    Metric {
        key: "nopm",
        heading: "NOPM",
        unit: "1/min",
        definition: "TPROC-C: growth of the sum of d_next_o_id over all districts per minute, between two readings at the ends of the measured time. New orders that were rolled back are not in it; those of other clients are.",
        source: "HammerDB 4.12, new orders per minute",
    },
    Metric {
        key: "tpm",
        heading: "TPM",
        unit: "1/min",
        definition: "TPROC-C: commits and rollbacks of the server per minute, between the same readings. PostgreSQL: xact_commit + xact_rollback over all databases of pg_stat_database.",
        source: "HammerDB 4.12, transactions per minute",
    },
    Metric {
        key: "nowait_window_bytes",
        heading: "NOWAIT window",
        unit: "B",
        definition: "Largest amount of redo that one deferred flush made durable. A power cut before \
                     this flush loses this redo of commits with NOWAIT, and what the log buffer \
                     holds. Null if no flush was deferred.",
        source: OWN,
    },
    Metric {
        key: "nowait_window_ms",
        heading: "NOWAIT window ms",
        unit: "ms",
        definition: "Longest time from the log write of redo that nobody waited for until it was durable.",
        source: OWN,
    },
    Metric {
        key: "log_write_warnings",
        heading: "Write warnings",
        unit: "",
        definition: "Log writes that took at least --log-write-warning (500 ms) from submission until they were durable. `slow_log_writes` lists the slowest 180 with time, size and member.",
        source: "Oracle 12c, V$LGWRIO_OUTLIER and the warnings in the trace file of the log writer",
    },
    Metric {
        key: "data_blocks_written",
        heading: "Data blocks",
        unit: "",
        definition: "Blocks of 8 kB that --dbwr wrote to its data file and made durable.",
        source: OWN,
    },
    Metric {
        key: "data_written_mbps",
        heading: "Data MBps",
        unit: "MB/s",
        definition: "Data that --dbwr wrote per second. 1 MB is 1024 kB.",
        source: OWN,
    },
    Metric {
        key: "log_checkpoints",
        heading: "Checkpoints",
        unit: "",
        definition: "How often the checkpoint advanced: when it enters another log file, and every 3 seconds.",
        source: OWN,
    },
    Metric {
        key: "archived_files",
        heading: "Archived files",
        unit: "",
        definition: "Files that --archive completed: one for each log file.",
        source: OWN,
    },
    Metric {
        key: "archived_bytes",
        heading: "Archived",
        unit: "B",
        definition: "Bytes of the archived files.",
        source: OWN,
    },
    Metric {
        key: "neighbour_fsyncs",
        heading: "Neighbour fsyncs",
        unit: "",
        definition: "How often --neighbour appended 4 KiB to its file and called fsync.",
        source: OWN,
    },
    Metric {
        key: "neighbour_fsync_p50_us",
        heading: "Neighbour fsync p50",
        unit: "us",
        definition: "Median of the time of these calls.",
        source: OWN,
    },
    Metric {
        key: "neighbour_fsync_p99_us",
        heading: "Neighbour fsync p99",
        unit: "us",
        definition: "99th percentile of the time of these calls.",
        source: OWN,
    },
    Metric {
        key: "neighbour_fsync_max_us",
        heading: "Neighbour fsync max",
        unit: "us",
        definition: "The longest of these calls.",
        source: OWN,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_documented() {
        let mut keys: Vec<&str> = all().map(|m| m.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), ROW.len() + SERVER.len() + WAITS.len());
        assert!(all().all(|m| !m.definition.is_empty() && !m.source.is_empty()));
        assert!(SERVER.iter().all(|m| m.key.starts_with(SERVER_PREFIX)));
    }
}
