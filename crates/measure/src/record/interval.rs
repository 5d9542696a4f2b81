//! Seconds of a row: exact sums, placed on the clock of the recording's windows.

use super::window::TimeWindow;
use crate::Histogram;
use serde::{Deserialize, Serialize};

/// Count, sum and longest of waits in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitPeak {
    /// Waits.
    pub count: u64,
    /// Their sum, in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
}

impl WaitPeak {
    /// Of a histogram of nanoseconds.
    #[must_use]
    pub fn of(histogram: &Histogram) -> WaitPeak {
        WaitPeak {
            count: histogram.count(),
            total_ns: u64::try_from(histogram.sum()).unwrap_or(u64::MAX),
            max_ns: histogram.max(),
        }
    }

    /// The mean; `None` of none.
    #[must_use]
    pub(super) fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total_ns as f64 / self.count as f64)
    }

    /// The longest; `None` of none.
    #[must_use]
    pub(super) fn longest_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    fn plus(self, other: WaitPeak) -> WaitPeak {
        WaitPeak {
            count: self.count.saturating_add(other.count),
            total_ns: self.total_ns.saturating_add(other.total_ns),
            max_ns: self.max_ns.max(other.max_ns),
        }
    }
}

/// An interval of a row, a second long or more. Its histograms are in the run's interval files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IntervalRecord {
    /// When.
    pub window: TimeWindow,
    /// Commits.
    pub commits: u64,
    /// Bytes of redo; `None` where log writes are not observed.
    pub redo_bytes: Option<u64>,
    /// Bytes of the blocks written, padding included; `None` where log writes are not observed.
    #[serde(default)]
    pub written_bytes: Option<u64>,
    /// Log file sync.
    pub sync: WaitPeak,
    /// 99th percentile of log file sync, in nanoseconds.
    pub sync_p99_ns: Option<u64>,
    /// Log file parallel write.
    pub write: WaitPeak,
    /// Log switches that began in it; `None` where log writes are not observed.
    pub log_switches: Option<u64>,
    /// Device utilisation in percent.
    pub device_util_pct: Option<f64>,
    /// Resident memory of the process at its end, in bytes.
    pub rss_bytes: Option<u64>,
    /// Open loop: arrivals that were due at its end and had not begun.
    pub backlog: Option<u64>,
}

impl IntervalRecord {
    /// Adds what `other` counted at about the same time. What does not add is unknown of both.
    fn add(&mut self, other: &IntervalRecord) {
        self.commits = self.commits.saturating_add(other.commits);
        self.redo_bytes = known(self.redo_bytes, other.redo_bytes);
        self.written_bytes = known(self.written_bytes, other.written_bytes);
        self.sync = self.sync.plus(other.sync);
        self.write = self.write.plus(other.write);
        self.log_switches = known(self.log_switches, other.log_switches);
        self.backlog = self
            .backlog
            .zip(other.backlog)
            .map(|(a, b)| a.saturating_add(b));
        (self.sync_p99_ns, self.device_util_pct, self.rss_bytes) = (None, None, None);
    }
}

/// The sum of what either counted; one agent observes the log writer, the others are clients.
fn known(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, other) => one.or(other),
    }
}

/// Puts intervals in their order, whatever the order in which they were merged.
pub(super) fn sort(intervals: &mut [IntervalRecord]) {
    let key = |i: &IntervalRecord| (i.window, i.commits, i.redo_bytes, i.sync.total_ns);
    intervals.sort_by_key(key);
}

/// The intervals as one series: an interval whose middle lies in the one before it is of another
/// recording at the same time, and added to it. Those of one recording do not overlap.
pub(super) fn series(intervals: &[IntervalRecord]) -> Vec<IntervalRecord> {
    let mut out: Vec<IntervalRecord> = Vec::with_capacity(intervals.len());
    for interval in intervals {
        match out.last_mut() {
            Some(last) if interval.window.middle_ns() < last.window.end_ns => last.add(interval),
            _ => out.push(interval.clone()),
        }
    }
    out
}
