//! What sessions did: times of transactions, waits, and where the time of a commit went.

use crate::Histogram;
use crate::run::{CommitPathFigures, WaitParts};
use serde::{Deserialize, Serialize};

/// What the sessions of a row did with one kind of transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Foreground {
    /// Times of transactions, in nanoseconds: their count is that of the commits.
    pub latency: Histogram,
    /// Waits for log file sync, in nanoseconds.
    pub sync: Histogram,
    /// Sums of queue, write, flush and wake-up of the attributed commits, in nanoseconds.
    pub path_ns: [u128; 4],
    /// Commits in those sums.
    pub attributed: u64,
    /// Sums of I/O, group commit, CPU and log writer of the commits that were joined to the log
    /// writes before their own, in nanoseconds.
    #[serde(default)]
    pub parts_ns: [u128; 4],
    /// Commits in those sums.
    #[serde(default)]
    pub joined: u64,
}

impl Foreground {
    /// Adds a transaction: its time, its wait for log file sync where it waited, and where that
    /// went (queue, write, flush, wake-up) where it is known.
    pub fn add(&mut self, latency_ns: u64, sync_ns: Option<u64>, path_ns: Option<[u64; 4]>) {
        self.latency.record(latency_ns);
        if let Some(sync) = sync_ns {
            self.sync.record(sync);
        }
        if let Some(parts) = path_ns {
            for (sum, part) in self.path_ns.iter_mut().zip(parts) {
                *sum += u128::from(part);
            }
            self.attributed += 1;
        }
    }

    /// Adds what a commit's wait consists of: I/O, group commit, CPU and log writer.
    pub fn add_parts(&mut self, parts_ns: [u64; 4]) {
        for (sum, part) in self.parts_ns.iter_mut().zip(parts_ns) {
            *sum = sum.saturating_add(u128::from(part));
        }
        self.joined = self.joined.saturating_add(1);
    }

    /// Adds all of `other`, exactly.
    pub fn merge(&mut self, other: &Foreground) {
        self.latency.merge(&other.latency);
        self.sync.merge(&other.sync);
        for (sum, part) in self.path_ns.iter_mut().zip(other.path_ns) {
            *sum = sum.saturating_add(part);
        }
        self.attributed = self.attributed.saturating_add(other.attributed);
        for (sum, part) in self.parts_ns.iter_mut().zip(other.parts_ns) {
            *sum = sum.saturating_add(part);
        }
        self.joined = self.joined.saturating_add(other.joined);
    }

    /// Forgets everything, keeping its memory.
    pub fn clear(&mut self) {
        self.latency.clear();
        self.sync.clear();
        self.path_ns = [0; 4];
        self.attributed = 0;
        (self.parts_ns, self.joined) = ([0; 4], 0);
    }

    /// What the wait of the joined commits consists of, means; `None` of none.
    fn wait_parts(&self) -> Option<WaitParts> {
        let mean = |index: usize| self.parts_ns[index] as f64 / self.joined as f64;
        (self.joined > 0).then(|| WaitParts {
            commits: self.joined,
            io_ns: mean(0),
            group_commit_ns: mean(1),
            cpu_ns: mean(2),
            log_writer_ns: mean(3),
        })
    }

    /// Where the attributed commits' time went, means.
    #[must_use]
    pub(super) fn commit_path(&self) -> CommitPathFigures {
        let mean = |index: usize| match self.attributed {
            0 => 0.0,
            n => self.path_ns[index] as f64 / n as f64,
        };
        CommitPathFigures {
            attributed: self.attributed,
            queue_ns: mean(0),
            write_ns: mean(1),
            flush_ns: mean(2),
            wake_ns: mean(3),
            parts: self.wait_parts(),
            run_queue_ns: None,
        }
    }
}

/// What became of the arrivals of an open loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArrivalRecord {
    /// Transactions that returned in the measured time, whenever they were due.
    pub returned: u64,
    /// Arrivals that were due in the measured time and never began.
    pub not_served: u64,
    /// How long the first of these had waited at the end, in nanoseconds.
    pub oldest_not_served_ns: Option<u64>,
    /// Arrivals that were due at the end and had not begun.
    pub backlog_end: u64,
    /// The most of these at the end of any interval; of recordings beside each other the sum of
    /// theirs, which is an upper bound.
    pub backlog_max: u64,
    /// From the intended start until a session was free, in nanoseconds.
    pub queue: Histogram,
    /// From when a session was free until the transaction began, in nanoseconds.
    pub lateness: Histogram,
    /// Time of sessions with a backlog between two transactions, in nanoseconds.
    pub lab_busy_ns: u64,
    /// All time of sessions with a backlog, in nanoseconds.
    pub busy_ns: u64,
}

impl ArrivalRecord {
    /// Adds all of `other`; `in_sequence` where it came later, else at the same time.
    pub(super) fn merge(&mut self, other: &ArrivalRecord, in_sequence: bool) {
        self.returned = self.returned.saturating_add(other.returned);
        self.not_served = self.not_served.saturating_add(other.not_served);
        self.oldest_not_served_ns = self.oldest_not_served_ns.max(other.oldest_not_served_ns);
        if in_sequence {
            self.backlog_end = other.backlog_end;
            self.backlog_max = self.backlog_max.max(other.backlog_max);
        } else {
            self.backlog_end = self.backlog_end.saturating_add(other.backlog_end);
            self.backlog_max = self.backlog_max.saturating_add(other.backlog_max);
        }
        self.queue.merge(&other.queue);
        self.lateness.merge(&other.lateness);
        self.lab_busy_ns = self.lab_busy_ns.saturating_add(other.lab_busy_ns);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
    }
}

/// What adaptive sessions learnt: whether to poll for durable redo or to sleep, and who writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearningRecord {
    /// Changes of the way of waiting, or of who writes, that stayed.
    pub switches: u64,
    /// Commits of all log writes.
    pub commits: u64,
    /// Those while foregrounds polled.
    pub polled: u64,
    /// The last changes, oldest first, at most [`LEARNT_KEPT`].
    pub recent: Vec<LearntSwitch>,
}

/// Foregrounds began or ceased to poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearntSwitch {
    /// When, on the clock of the recording's windows.
    pub at_ns: u64,
    /// They began.
    pub to_polling: bool,
    /// They write for themselves since then; otherwise the log writer's thread does.
    #[serde(default)]
    pub to_inline: bool,
    /// Commits per second of the mode that was left.
    pub left_per_s: f64,
    /// Commits per second of the mode that was taken, in its trial.
    pub taken_per_s: f64,
}

/// Changes that are kept one by one, at most.
pub const LEARNT_KEPT: usize = 64;

impl LearningRecord {
    /// Adds all of `other`.
    pub(super) fn merge(&mut self, other: &LearningRecord) {
        self.switches = self.switches.saturating_add(other.switches);
        self.commits = self.commits.saturating_add(other.commits);
        self.polled = self.polled.saturating_add(other.polled);
        self.recent.extend(&other.recent);
        self.recent.sort_by_key(|switch| switch.at_ns);
        let more = self.recent.len().saturating_sub(LEARNT_KEPT);
        self.recent.drain(..more);
    }
}
