//! A row of a run: one workload with one number of jobs. Plain data; names and units are those of
//! the JSON. It knows nothing of how rows are measured.
//!
//! Invariants: identity and figures of commits lie in the row itself; what other observers saw is
//! in groups ([`super::groups`]), flat in JSON but for what a server counted. A figure that was not
//! measured is `None`, `null` in JSON, never zero.

use super::figures::{
    CapturedEvents, CommitPathFigures, CrossCheck, Interval, RowCondition, SessionFigures,
    SessionTime, WaitStats,
};
use super::groups::{
    DeviceFigures, LearningFigures, LogLifeFigures, NodeFigures, OpenLoopFigures, ProcessorFigures,
    RedoFigures, flat,
};
use super::server::ServerFigures;
use super::tproc_c::TprocCFigures;
use super::watched::WatchedFigures;
use crate::words::{sanitize, size};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// One workload at one number of jobs. The columns of study 003 have the study's names and binary
/// units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the workload.
    pub workload: String,
    /// Machines, or logs on one machine, each with sessions of its own.
    pub nodes: u32,
    /// Sessions.
    pub jobs: u32,
    /// Threads that ran the sessions.
    pub threads: Option<u32>,
    /// Redo that a transaction of the workload appends, record headers not included.
    pub redo_bytes_per_txn: Option<u64>,
    /// Records that it is divided into.
    pub records_per_txn: Option<u32>,
    /// Commits asked of each session; `None` where a time was.
    pub commits_per_session: Option<u64>,
    /// A soak: measured for as long as `--soak` said, for the sake of its intervals.
    #[serde(default)]
    pub soak: bool,

    /// The condition of an experiment; missing where a row is not one of several conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<RowCondition>,

    /// Commits per second.
    pub commit_throughput_tps: Option<f64>,
    /// Mean time of a transaction from its start until its commit returned; measured for each.
    pub commit_latency_ms: Option<f64>,
    /// Waits for log file sync per second.
    pub redo_synch_writes_iops: Option<f64>,
    /// Mean log file sync; `None` when nobody waited.
    pub log_file_sync_ms: Option<f64>,
    /// Measured seconds.
    pub elapsed_s: Option<f64>,
    /// Exact number of commits.
    pub commits: Option<u64>,
    /// Exact measured time.
    pub elapsed_ns: Option<u64>,
    /// Wait events by [`crate::WaitEvent::key`].
    pub waits: BTreeMap<String, WaitStats>,
    /// Transaction times, the distribution behind `commit_latency_ms`.
    pub commit_latency: Option<WaitStats>,
    /// Percentile curves `(percentile, ns)` by wait-event key.
    #[serde(default)]
    pub curves: BTreeMap<String, Vec<(f64, u64)>>,
    /// Where a commit's time goes.
    pub commit_path: Option<CommitPathFigures>,
    /// Where the sessions' time went that is in no latency of this row; `None` where that was not
    /// kept.
    pub session_time: Option<SessionTime>,
    /// What was counted and timed a second time; `None` where that was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_check: Option<CrossCheck>,
    /// The sessions one by one, where commits are counted and they are at most 256.
    #[serde(default)]
    pub sessions: Vec<SessionFigures>,
    /// Seconds of the row; of a soak, intervals of more than a second.
    #[serde(default)]
    pub intervals: Vec<Interval>,
    /// Each of several logs that were measured together; missing where there was one. The row's
    /// figures are those of all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_node: Vec<NodeFigures>,
    /// Events that were stored one by one; missing where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<CapturedEvents>,

    /// What the log writer did; `None` where nobody observed it.
    #[serde(flatten, with = "flat")]
    pub redo: Option<RedoFigures>,
    /// What the kernel counted of the device; `None` where it was not observed.
    #[serde(flatten, with = "flat")]
    pub device: Option<DeviceFigures>,
    /// Where processor time went; `None` where nobody looked.
    #[serde(flatten, with = "flat")]
    pub processors: Option<ProcessorFigures>,
    /// What became of an open loop; `None` of a closed one.
    #[serde(flatten, with = "flat")]
    pub open_loop: Option<OpenLoopFigures>,
    /// What adaptive sessions learnt; `None` where the way of waiting is fixed.
    #[serde(flatten, with = "flat")]
    pub learning: Option<LearningFigures>,
    /// What the server of the target counted; `None` where it is not a server, or nothing was read.
    /// In JSON an object, which is missing there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerFigures>,
    /// What TPROC-C came to; `None` of every other workload.
    #[serde(flatten, with = "flat")]
    pub tproc_c: Option<TprocCFigures>,
    /// What the log's database writer and archiver did; `None` where there are none.
    #[serde(flatten, with = "flat")]
    pub log_life: Option<LogLifeFigures>,
    /// What was seen of a log that somebody else writes; missing of every other run. In JSON an
    /// object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<WatchedFigures>,
}

static NO_REDO: LazyLock<RedoFigures> = LazyLock::new(RedoFigures::default);
static NO_DEVICE: LazyLock<DeviceFigures> = LazyLock::new(DeviceFigures::default);
static NO_PROCESSORS: LazyLock<ProcessorFigures> = LazyLock::new(ProcessorFigures::default);
static NO_OPEN_LOOP: LazyLock<OpenLoopFigures> = LazyLock::new(OpenLoopFigures::default);
static NO_LEARNING: LazyLock<LearningFigures> = LazyLock::new(LearningFigures::default);
static NO_SERVER: LazyLock<ServerFigures> = LazyLock::new(ServerFigures::default);
static NO_LOG_LIFE: LazyLock<LogLifeFigures> = LazyLock::new(LogLifeFigures::default);
static NO_WATCHED: LazyLock<WatchedFigures> = LazyLock::new(WatchedFigures::default);
static NO_TPROC_C: LazyLock<TprocCFigures> = LazyLock::new(TprocCFigures::default);

impl Row {
    /// The workload where only jobs and waits are shown beside it: its name, and in a sweep over
    /// redo sizes the size too.
    #[must_use]
    pub fn label(&self) -> String {
        let name = sanitize::line(&self.workload);
        match self.redo_bytes_per_txn {
            Some(bytes) if self.workload == crate::workload::SIZE_SWEEP => {
                format!("{name} {}", size(bytes))
            }
            _ => name,
        }
    }

    /// The wait event's figures, if it was recorded.
    #[must_use]
    pub fn wait(&self, event: crate::WaitEvent) -> Option<&WaitStats> {
        self.waits.get(event.key())
    }

    /// Mean number of waiting commits that a log write made durable; `None` where none waited.
    #[must_use]
    pub fn commits_per_write(&self) -> Option<f64> {
        let waited = self.redo_synch_writes_iops > Some(0.0);
        let factor = self.redo().commits_per_write.as_ref();
        factor.filter(|_| waited).map(|factor| factor.mean)
    }

    /// The log writer's figures; each is `None` where nobody observed it.
    #[must_use]
    pub fn redo(&self) -> &RedoFigures {
        self.redo.as_ref().unwrap_or(&NO_REDO)
    }

    /// The device's figures; each is `None` where it was not observed.
    #[must_use]
    pub fn device(&self) -> &DeviceFigures {
        self.device.as_ref().unwrap_or(&NO_DEVICE)
    }

    /// The processors' figures; each is `None` where nobody looked.
    #[must_use]
    pub fn processors(&self) -> &ProcessorFigures {
        self.processors.as_ref().unwrap_or(&NO_PROCESSORS)
    }

    /// The open loop's figures; each is `None` of a closed loop.
    #[must_use]
    pub fn open_loop(&self) -> &OpenLoopFigures {
        self.open_loop.as_ref().unwrap_or(&NO_OPEN_LOOP)
    }

    /// The figures of adaptive learning; each is `None` where the way of waiting is fixed.
    #[must_use]
    pub fn learning(&self) -> &LearningFigures {
        self.learning.as_ref().unwrap_or(&NO_LEARNING)
    }

    /// The server's figures; each is `None` where it was not read.
    #[must_use]
    pub fn server(&self) -> &ServerFigures {
        self.server.as_ref().unwrap_or(&NO_SERVER)
    }

    /// The figures of TPROC-C; each is `None` of every other workload.
    #[must_use]
    pub fn tproc_c(&self) -> &TprocCFigures {
        self.tproc_c.as_ref().unwrap_or(&NO_TPROC_C)
    }

    /// The figures of the log's database writer and archiver; each is `None` where there is none.
    #[must_use]
    pub fn log_life(&self) -> &LogLifeFigures {
        self.log_life.as_ref().unwrap_or(&NO_LOG_LIFE)
    }

    /// The figures of a log that was watched; each is `None` of every other run.
    #[must_use]
    pub fn watched(&self) -> &WatchedFigures {
        self.watched.as_ref().unwrap_or(&NO_WATCHED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn what_was_not_measured_is_null_and_is_there() {
        let json = serde_json::to_value(Row::default()).expect("a row is JSON");
        for metric in crate::catalogue::ROW {
            let value = json.get(metric.key);
            let identity = ["workload", "nodes", "jobs"].contains(&metric.key);
            assert_eq!(
                value.is_some_and(Value::is_null),
                !identity,
                "{}",
                metric.key
            );
        }
        let back: Row = serde_json::from_value(json).expect("a row");
        assert_eq!(back, Row::default());
    }

    #[test]
    fn a_group_is_there_where_one_of_its_figures_is() {
        let mut row = Row::default();
        row.redo.get_or_insert_default().redo_size_bytes = Some(0);
        row.open_loop.get_or_insert_default().backlog_end = Some(3);
        let mut json = serde_json::to_value(&row).expect("a row is JSON");
        assert_eq!(
            (&json["redo_size_bytes"], &json["backlog_end"]),
            (&0.into(), &3.into())
        );
        let back: Row = serde_json::from_value(json.clone()).expect("a row");
        assert_eq!(back, row);
        assert_eq!((&back.device, back.redo().flushes), (&None, None));
        json["redo_size_bytes"] = Value::Null;
        let nothing: Row = serde_json::from_value(json.clone()).expect("a row");
        assert_eq!(nothing.redo, None);
        // A figure of another type is an error, and no missing group.
        json["redo_size_bytes"] = "many".into();
        assert!(serde_json::from_value::<Row>(json).is_err());
    }

    #[test]
    fn points_of_a_sweep_have_labels_of_their_own() {
        let mut row = Row {
            workload: "size-sweep".to_owned(),
            redo_bytes_per_txn: Some(1 << 20),
            ..Row::default()
        };
        assert_eq!(row.label(), "size-sweep 1.0 MiB");
        row.workload = "storm".to_owned();
        assert_eq!(row.label(), "storm");
    }
}
