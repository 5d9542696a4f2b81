//! What one committer runs over: its records, and the times of its acknowledged commits.
//!
//! Invariant: a commit counts when its acknowledgement came inside the measured window, whenever
//! it was asked for.

use hdrhistogram::Histogram;
use measure::workload::Generator;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

/// Bytes of every commit's record.
const RECORD_BYTES: u32 = 2000;

/// Where the cell stands.
#[derive(Debug, Default)]
pub struct Phase(AtomicU8);

const MEASURED: u8 = 1;
const OVER: u8 = 2;

impl Phase {
    pub fn measure(&self) {
        self.0.store(MEASURED, Ordering::SeqCst);
    }

    pub fn end(&self) {
        self.0.store(OVER, Ordering::SeqCst);
    }

    pub fn over(&self) -> bool {
        self.0.load(Ordering::Relaxed) == OVER
    }
}

/// A committer's tape.
pub struct Tape {
    generator: Generator,
    record: Vec<u8>,
    phase: Arc<Phase>,
    times: Histogram<u64>,
    sum_ns: u64,
}

impl Tape {
    /// Of committer `number`; the pool of payload is shared.
    pub fn new(pool: Arc<[u8]>, number: u32, phase: Arc<Phase>) -> Tape {
        let times = Histogram::new_with_bounds(1, 600_000_000_000, 3);
        Tape {
            generator: Generator::new(pool, number, 1),
            record: Vec::with_capacity(RECORD_BYTES as usize),
            phase,
            times: times.expect("bounds that the library takes"),
            sum_ns: 0,
        }
    }

    /// The next record: unique and incompressible.
    pub fn next_record(&mut self) -> &[u8] {
        self.generator.next_transaction();
        let (stamp, body) = self.generator.record(0, RECORD_BYTES);
        self.record.clear();
        self.record.extend_from_slice(&stamp);
        self.record.extend_from_slice(body);
        &self.record
    }

    /// The committer is to end.
    pub fn is_over(&self) -> bool {
        self.phase.over()
    }

    /// A commit that was asked for at `since` is acknowledged now.
    pub fn acknowledged(&mut self, since: Instant) {
        if self.phase.0.load(Ordering::Relaxed) == MEASURED {
            let ns = since.elapsed().as_nanos() as u64;
            self.times.saturating_record(ns);
            self.sum_ns += ns;
        }
    }

    /// Its times, in nanoseconds, and their exact sum.
    pub fn into_times(self) -> (Histogram<u64>, u64) {
        (self.times, self.sum_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_returns_in_the_window_counts() {
        let phase = Arc::new(Phase::default());
        let mut tape = Tape::new(measure::workload::pool(1, 1 << 16), 0, Arc::clone(&phase));
        assert_eq!(tape.next_record().len(), RECORD_BYTES as usize);
        let first = tape.next_record().to_vec();
        assert_ne!(tape.next_record(), first);
        let since = Instant::now();
        tape.acknowledged(since);
        phase.measure();
        tape.acknowledged(since);
        phase.end();
        tape.acknowledged(since);
        assert!(phase.over());
        let (times, sum_ns) = tape.into_times();
        assert_eq!(times.len(), 1);
        assert!(sum_ns > 0);
    }
}
