//! The slowest log writes of a row, one by one: the log's own `V$LGWRIO_OUTLIER`.
//!
//! Invariants: bounded whatever the number of slow writes; those that are kept are the slowest, the
//! others are counted; merging in any order gives the same.

use crate::bounded;
use serde::{Deserialize, Serialize};

/// Slow log writes of a row that are kept at most: as many as Oracle's `V$LGWRIO_OUTLIER` shows
/// (study 000).
pub const SLOW_WRITES_KEPT: usize = 180;

/// A log write that took at least the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SlowWrite {
    /// Nanoseconds from its submission until it was durable, without a deferral of its flush.
    pub took_ns: u64,
    /// When it was submitted: nanoseconds since 1970 UTC, in a recorder on the log's clock.
    pub at_ns: u64,
    /// Blocks written.
    pub blocks: u32,
    /// Number of the member that completed it last, from 0; 0 in a log that has one copy, `None`
    /// where it is not known which of several it was.
    pub member: Option<u16>,
}

/// Log writes that took at least a threshold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowWrites {
    /// The threshold in nanoseconds.
    pub threshold_ns: u64,
    /// The slowest, longest first.
    #[serde(deserialize_with = "bounded::list::<_, _, SLOW_WRITES_KEPT>")]
    pub kept: Vec<SlowWrite>,
    /// Number of those that are not kept, because as many others took longer.
    pub dropped: u64,
}

impl SlowWrites {
    /// None yet, of those that take at least `threshold_ns`.
    #[must_use]
    pub fn over(threshold_ns: u64) -> SlowWrites {
        SlowWrites {
            threshold_ns,
            ..SlowWrites::default()
        }
    }

    /// Counts a log write, and keeps it where it is one of the slowest. One below the threshold
    /// changes nothing.
    #[inline]
    pub fn add(&mut self, write: SlowWrite) {
        if write.took_ns >= self.threshold_ns {
            self.keep(write);
        }
    }

    #[cold]
    fn keep(&mut self, write: SlowWrite) {
        let full = self.kept.len() >= SLOW_WRITES_KEPT;
        if full {
            self.dropped = self.dropped.saturating_add(1);
            if self.kept.last().is_some_and(|last| *last >= write) {
                return;
            }
            self.kept.pop();
        }
        let place = self.kept.partition_point(|kept| *kept > write);
        self.kept.insert(place, write);
    }

    /// Number of log writes that took at least the threshold.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.dropped.saturating_add(self.kept.len() as u64)
    }

    /// Adds all of `other`. Where the thresholds differ, what is known of all is what took at least
    /// the larger one; writes that are not kept are counted as they were.
    pub fn merge(&mut self, other: &SlowWrites) {
        self.threshold_ns = self.threshold_ns.max(other.threshold_ns);
        let threshold_ns = self.threshold_ns;
        self.kept.retain(|write| write.took_ns >= threshold_ns);
        self.dropped = self.dropped.saturating_add(other.dropped);
        other.kept.iter().for_each(|write| self.add(*write));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(took_ns: u64) -> SlowWrite {
        SlowWrite {
            took_ns,
            at_ns: took_ns * 7 % 1000,
            blocks: 2,
            member: Some(0),
        }
    }

    #[test]
    fn the_slowest_are_kept_and_the_others_are_counted() {
        let mut slow = SlowWrites::over(100);
        // Neither rising nor falling.
        for i in 0..1000_u64 {
            slow.add(write(i * 389 % 1000));
        }
        assert_eq!(slow.count(), 900);
        assert_eq!((slow.kept.len(), slow.dropped), (180, 720));
        let took: Vec<u64> = slow.kept.iter().map(|w| w.took_ns).collect();
        assert_eq!(took, (820..1000).rev().collect::<Vec<u64>>());
    }

    #[test]
    fn merging_gives_what_one_recorder_would_have_kept() {
        let all = |range: std::ops::Range<u64>| {
            let mut slow = SlowWrites::over(5);
            range.for_each(|i| slow.add(write(i * 7919 % 1009)));
            slow
        };
        let (a, b) = (all(0..500), all(500..900));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        assert_eq!(ab, all(0..900));
        assert_eq!(ab, ba);
        let mut nothing = SlowWrites::default();
        nothing.merge(&a);
        assert_eq!(nothing, a);
    }
}
