//! `Recording`: what was measured of a row, as plain data. It merges exactly, and
//! [`Recording::row`] computes a row's figures from it.
//!
//! Two forms of merging: [`Recording::then`] for rounds of one target in sequence, in which counts
//! and time add; [`Recording::beside`] for what ran at the same time, in which counts add and time
//! is what the windows share. Invariants: no figure is merged, only what it is computed from; what
//! only a part of the rounds measured is unknown of all; what two recordings observed of one device
//! or machine counts once.
//!
//! What it must not know: who records, files, how a row is shown or judged.

mod background;
mod foreground;
mod interval;
mod log_life;
mod merge;
mod node;
mod observed;
mod row;
mod server;
mod slow_writes;
#[cfg(test)]
mod tests;
mod tproc_c;
mod watched;
mod window;

pub use background::{Background, WorkerRecord};
pub use foreground::{ArrivalRecord, Foreground, LEARNT_KEPT, LearningRecord, LearntSwitch};
pub use interval::{IntervalRecord, WaitPeak};
pub use log_life::{DATA_BLOCK_BYTES, LogLife};
pub use merge::MergeError;
pub use node::NodeRecord;
pub use observed::{
    AdditiveCounts, DeviceCounts, Observation, Observations, ProcessUse, ProcessorTicks,
};
pub use server::{SERVER_NOTES_MAX, ServerRecord, ServerTotals, WAITS_MAX, WaitSamples};
pub use slow_writes::{SLOW_WRITES_KEPT, SlowWrite, SlowWrites};
pub use tproc_c::TprocCRecord;
pub use watched::{WATCHED_NOTES_MAX, WatchedRecord};
pub use window::TimeWindow;

use crate::bounded;
use crate::run::{
    CapturedEvents, CrossCheck, FlushAudit, RowCondition, SessionFigures, SessionTime,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The schema's name and version.
pub const SCHEMA: &str = "redolab.recording/1";
/// Windows that share less of the longest one make a run doubtful, in percent.
pub const LEAST_OVERLAP_PCT: f64 = 95.0;
/// The kind of transaction of a workload that has one.
pub const ONLY_KIND: &str = "transaction";

/// Kinds of transaction of a recording that is read, at most.
pub const KINDS_MAX: usize = 64;
/// Logs of a recording that is read, at most.
pub const NODES_MAX: usize = 64;
/// Workers of the log writer of a recording that is read, at most.
pub const WORKERS_MAX: usize = 128;
/// Machines, processes and devices each of a recording that is read, at most.
pub const OBSERVED_MAX: usize = 4096;

/// Count and sum of waits of which no distribution is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitSum {
    /// Waits.
    pub count: u64,
    /// Their sum, in nanoseconds.
    pub total_ns: u64,
}

impl WaitSum {
    /// The sum of both, saturating.
    #[must_use]
    pub const fn plus(self, other: WaitSum) -> WaitSum {
        WaitSum {
            count: self.count.saturating_add(other.count),
            total_ns: self.total_ns.saturating_add(other.total_ns),
        }
    }
}

/// What was run: the identity of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowLoad {
    /// Name of the workload.
    pub workload: String,
    /// Ids of the machines on which sessions ran.
    #[serde(deserialize_with = "bounded::names::<_, OBSERVED_MAX>")]
    pub nodes: BTreeSet<String>,
    /// Sessions.
    pub jobs: u32,
    /// Threads that ran the sessions.
    pub threads: u32,
    /// Sessions waited until their redo was durable.
    pub waits: bool,
    /// Redo that a transaction appends, in bytes, record headers not included.
    pub redo_bytes_per_txn: Option<u64>,
    /// Records that it is divided into.
    pub records_per_txn: Option<u32>,
    /// Commits asked of each session; `None` where a time was.
    pub commits_per_session: Option<u64>,
    /// Open loop: transactions that were meant to begin, per second, over a long time.
    pub offered_tps: Option<f64>,
    /// It ran for the sake of its intervals.
    pub soak: bool,
    /// The condition of an experiment, where it was one of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<RowCondition>,
}

/// What was measured of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What was run.
    pub load: RowLoad,
    /// When it was measured: one window for each round.
    pub windows: Vec<TimeWindow>,
    /// Time of the longest of the recordings that were merged beside each other, in nanoseconds.
    pub longest_ns: u64,
    /// The least share of it that the windows of all of them covered, in percent.
    pub overlap_pct: f64,
    /// What sessions did, by the kind of transaction.
    #[serde(deserialize_with = "bounded::fields::<_, _, KINDS_MAX>")]
    pub foregrounds: BTreeMap<String, Foreground>,
    /// What sessions waited for room in the log buffer; `None` where the target does not count it.
    pub space_waits: Option<WaitSum>,
    /// What the log writer did; `None` where it could not be observed.
    pub background: Option<Background>,
    /// What each of several logs did, in their order; empty where there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, NODES_MAX>")]
    pub nodes: Vec<NodeRecord>,
    /// What the kernel counted of devices, by an id of the device.
    pub devices: Observations<DeviceCounts>,
    /// Where processor time went, by an id of the machine.
    pub processors: Observations<ProcessorTicks>,
    /// What processes of the lab used, by an id of the process.
    pub processes: Observations<ProcessUse>,
    /// What the server of the target counted, and what its sessions waited for there; `None` of a
    /// target that is not a server.
    #[serde(default)]
    pub server: Option<ServerRecord>,
    /// The flush audit.
    pub flush_audit: Option<FlushAudit>,
    /// What became of the arrivals of an open loop; `None` of a closed loop.
    pub arrivals: Option<ArrivalRecord>,
    /// What adaptive sessions learnt; `None` where the way of waiting is fixed.
    pub learning: Option<LearningRecord>,
    /// What the log's database writer and archiver did; `None` where there are none.
    #[serde(default)]
    pub log_life: Option<LogLife>,
    /// What was seen of a log that somebody else writes; `None` of every other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<WatchedRecord>,
    /// What was counted of TPROC-C; `None` of every other workload.
    pub tproc_c: Option<TprocCRecord>,
    /// Time of the sessions that is in no latency.
    pub session_time: Option<SessionTime>,
    /// Transactions of sessions that are threads of their own, and how long these waited for a
    /// processor; `None` where that was not counted.
    #[serde(default)]
    pub run_queue: Option<WaitSum>,
    /// What was counted and timed a second time.
    pub cross_check: Option<CrossCheck>,
    /// The sessions one by one, of a single round that counts commits.
    pub sessions: Vec<SessionFigures>,
    /// Events that were stored one by one.
    pub events: Option<CapturedEvents>,
    /// The intervals, in their order.
    pub intervals: Vec<IntervalRecord>,
}

impl Recording {
    /// Nothing yet of `load`, measured in `window`.
    #[must_use]
    pub fn new(load: RowLoad, window: TimeWindow) -> Recording {
        Recording {
            schema: SCHEMA.to_owned(),
            load,
            windows: vec![window],
            longest_ns: window.length_ns(),
            overlap_pct: 100.0,
            foregrounds: BTreeMap::new(),
            space_waits: None,
            background: None,
            nodes: Vec::new(),
            devices: Observations::default(),
            processors: Observations::default(),
            processes: Observations::default(),
            server: None,
            flush_audit: None,
            arrivals: None,
            learning: None,
            log_life: None,
            watched: None,
            tproc_c: None,
            session_time: None,
            run_queue: None,
            cross_check: None,
            sessions: Vec::new(),
            events: None,
            intervals: Vec::new(),
        }
    }

    /// The measured time, in nanoseconds: that of all rounds, and of recordings beside each other
    /// what their windows share.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        window::length_ns(&self.windows)
    }

    /// What sessions did with all kinds of transaction.
    #[must_use]
    pub fn foreground(&self) -> Foreground {
        let mut all = Foreground::default();
        for kind in self.foregrounds.values() {
            all.merge(kind);
        }
        all
    }

    /// Checks a recording that was read: its schema, and that its windows are windows.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("its schema is not {SCHEMA}"));
        }
        let shares = (0.0..=100.0).contains(&self.overlap_pct);
        if !window::are_windows(&self.windows) || !shares || self.elapsed_ns() > self.longest_ns {
            return Err("its windows contradict each other".to_owned());
        }
        Ok(())
    }

    /// Why a run with this recording is doubtful, if it is.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        (self.overlap_pct < LEAST_OVERLAP_PCT).then(|| {
            format!(
                "what ran at the same time shares {:.1} % of the longest window; at least \
                 {LEAST_OVERLAP_PCT:.0} % are needed",
                self.overlap_pct
            )
        })
    }
}
