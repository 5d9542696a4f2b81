//! What a commit's wait consists of by cause, from its own log write and those before it: I/O,
//! group commit, CPU, and the log writer.
//!
//! Invariants: bounded memory; a batch whose entry was overwritten by a later one is unknown, never
//! guessed; the four parts of a commit add up to its log file sync.

use measure::driver::Transaction;
use redo::engine::LogWrite;

/// Batches that are remembered: sessions hand their samples over after 200 ms at the latest, or as
/// soon as they run again.
const BATCHES: usize = 1 << 18;

/// When a batch was written.
#[derive(Clone, Copy, Debug, Default)]
struct BatchTimes {
    /// The batch, plus one; 0 for none.
    batch: u64,
    /// When all log writes before it were durable, on the log's clock.
    before_ns: u64,
    submitted_ns: u64,
    durable_ns: u64,
}

/// The last batches.
#[derive(Debug, Default)]
pub(crate) struct EarlierWrites {
    /// By the batch's number.
    batches: Vec<BatchTimes>,
    /// When the last one was durable.
    durable_ns: u64,
}

impl EarlierWrites {
    /// The next batch is durable.
    pub(crate) fn add(&mut self, write: &LogWrite) {
        if self.batches.is_empty() {
            self.batches.resize(BATCHES, BatchTimes::default());
        }
        let stations = &write.stations;
        self.batches[write.batch as usize % BATCHES] = BatchTimes {
            batch: write.batch + 1,
            before_ns: self.durable_ns,
            submitted_ns: stations.submitted_ns,
            durable_ns: stations.durable_ns,
        };
        self.durable_ns = self.durable_ns.max(stations.durable_ns);
    }

    /// I/O, group commit, CPU and log writer of a commit that waited, in nanoseconds; `None` where
    /// its batch is not known any more. A commit that came while its write was on the way spends no
    /// time in what had passed.
    pub(crate) fn parts_ns(&self, transaction: &Transaction) -> Option<[u64; 4]> {
        let (batch, sync_ns) = (transaction.batch?, transaction.sync_ns?);
        let times = self.batches.get(batch as usize % BATCHES)?;
        if times.batch != batch + 1 {
            return None;
        }
        let start = transaction.requested.0;
        let end = start.saturating_add(sync_ns);
        let submitted = times.submitted_ns.clamp(start, end);
        let durable = times.durable_ns.clamp(submitted, end);
        let before = times.before_ns.clamp(start, submitted);
        Some([
            durable - submitted,
            before - start,
            end - durable,
            submitted - before,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::measure::fixture::log_write;
    use measure::Nanos;

    fn commit(batch: u64, requested_ns: u64, sync_ns: u64) -> Transaction {
        Transaction {
            kind: 0,
            requested: Nanos(requested_ns),
            returned: Nanos(requested_ns + sync_ns),
            sync_ns: Some(sync_ns),
            // As of a session that ran again so late that the log had forgotten its batch.
            path_ns: None,
            batch: Some(batch),
        }
    }

    fn write(batch: u64, submitted_ns: u64, durable_ns: u64) -> LogWrite {
        LogWrite {
            batch,
            ..log_write(submitted_ns, durable_ns)
        }
    }

    #[test]
    fn the_parts_of_a_wait_add_up_to_it() {
        let mut earlier = EarlierWrites::default();
        assert_eq!(earlier.parts_ns(&commit(7, 1000, 50)), None, "unknown");
        earlier.add(&write(7, 1100, 2000));
        earlier.add(&write(8, 2050, 3000));
        let cases = [
            (
                "nothing before it",
                commit(7, 1000, 1010),
                [900, 0, 10, 100],
            ),
            (
                "batch 7 in flight",
                commit(8, 1400, 1700),
                [950, 600, 100, 50],
            ),
            ("asked after it", commit(8, 2010, 1000), [950, 0, 10, 40]),
            (
                "its write on its way",
                commit(8, 2500, 700),
                [500, 0, 200, 0],
            ),
            ("it was durable", commit(8, 3500, 40), [0, 0, 40, 0]),
        ];
        for (what, commit, want) in cases {
            assert_eq!(earlier.parts_ns(&commit), Some(want), "{what}");
            assert_eq!(Some(want.iter().sum()), commit.sync_ns, "{what}");
        }
        earlier.add(&write(8 + BATCHES as u64, 3900, 4000));
        assert_eq!(earlier.parts_ns(&commit(8, 1400, 1700)), None, "forgotten");
        let mut nowait = commit(7, 1000, 50);
        nowait.sync_ns = None;
        assert_eq!(earlier.parts_ns(&nowait), None);
    }
}
