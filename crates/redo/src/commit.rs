//! Commits: how a foreground asks, and what it learns.

use crate::buffer::Stations;
use measure::Nanos;
pub use measure::workload::{CommitMode, CommitPost, CommitWait};

/// A commit that returned. With WAIT its redo is durable; with NOWAIT it was only requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The batch that carries its last record.
    pub batch: u64,
    /// Its redo is durable.
    pub durable: bool,
    /// It was already durable when it was asked for, or there was nothing to wait for.
    pub immediate: bool,
    /// When it was asked for, on the log's clock.
    pub requested: Nanos,
    /// When the foreground ran again.
    pub returned: Nanos,
    /// The log write that served it; `None` when nobody waited or the record of it was reused
    /// before this foreground ran.
    pub stations: Option<Stations>,
}

/// Where a commit's wait went. The parts add up to `returned - requested`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitPath {
    /// Until the write that served it was submitted.
    pub queue_ns: u64,
    /// Until it was complete.
    pub write_ns: u64,
    /// Until it was durable.
    pub flush_ns: u64,
    /// Until the foreground ran again.
    pub wake_ns: u64,
}

impl Commit {
    /// The wait: log file sync.
    #[must_use]
    pub fn log_file_sync(&self) -> Nanos {
        self.returned.since(self.requested)
    }

    /// The wait's parts. A commit that came while its write was already on the way spends no
    /// time in the stations that had passed.
    #[must_use]
    pub fn path(&self) -> Option<CommitPath> {
        let stations = self.stations?;
        let start = self.requested.0;
        let end = self.returned.0.max(start);
        let submitted = stations.submitted_ns.clamp(start, end);
        let written = stations.written_ns.clamp(submitted, end);
        let durable = stations.durable_ns.clamp(written, end);
        Some(CommitPath {
            queue_ns: submitted - start,
            write_ns: written - submitted,
            flush_ns: durable - written,
            wake_ns: end - durable,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_whatever_the_order_of_the_stations() {
        for (submitted, written, durable) in [(5, 20, 90), (0, 0, 0), (150, 160, 170), (50, 40, 30)]
        {
            let commit = Commit {
                batch: 1,
                durable: true,
                immediate: false,
                requested: Nanos(10),
                returned: Nanos(100),
                stations: Some(Stations {
                    submitted_ns: submitted,
                    written_ns: written,
                    durable_ns: durable,
                }),
            };
            let p = commit.path().expect("stations are there");
            assert_eq!(p.queue_ns + p.write_ns + p.flush_ns + p.wake_ns, 90);
        }
    }
}
