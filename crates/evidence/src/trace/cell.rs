//! The waits of one event of one process: the tally, and for redo events latency over time.

use crate::series::GrowingSeries;
use crate::tally::{Tally, TallyBudget};
use measure::imported::{Axis, SeriesPoint};

/// A `tim` this far from the first one is no time of this trace: ten years.
const SPAN_MAX_US: u64 = 10 * 366 * 86_400 * 1_000_000;

/// Waits of one event of one process.
#[derive(Debug, Default)]
pub struct EventWaits {
    /// Exact figures.
    pub tally: Tally,
    /// Over time and sequence, for redo events.
    pub track: Option<Box<Track>>,
}

/// Latency over what the trace contains.
#[derive(Debug)]
pub struct Track {
    sequence: GrowingSeries,
    tim: GrowingSeries,
    stamp: GrowingSeries,
    waits: u64,
    with_tim: u64,
    /// Blocks written.
    pub blocks: u64,
}

impl Default for Track {
    fn default() -> Track {
        Track {
            sequence: GrowingSeries::new(Axis::Sequence),
            tim: GrowingSeries::new(Axis::Time),
            stamp: GrowingSeries::new(Axis::Time),
            waits: 0,
            with_tim: 0,
            blocks: 0,
        }
    }
}

/// When a wait was, as far as the trace contains it.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitMoment {
    /// Microseconds since the first `tim` of the process.
    pub tim_us: Option<u64>,
    /// Microseconds from the first stamp of the process to the last one before the wait.
    pub stamp_us: Option<u64>,
}

impl EventWaits {
    /// Adds a wait of `ns`, in which so many blocks were written.
    #[inline]
    pub fn add(&mut self, blocks: u32, ns: u64, when: WaitMoment, budget: &mut TallyBudget) {
        self.tally.add(ns, budget);
        let Some(track) = &mut self.track else {
            return;
        };
        let blocks = u64::from(blocks);
        track.sequence.add(track.waits, ns, blocks);
        track.waits += 1;
        track.blocks += blocks;
        if let Some(at) = when.tim_us.filter(|at| *at <= SPAN_MAX_US) {
            track.tim.add(at, ns, blocks);
            track.with_tim += 1;
        } else if let Some(at) = when.stamp_us.filter(|at| *at <= SPAN_MAX_US) {
            track.stamp.add(at, ns, blocks);
        }
    }
}

impl Track {
    /// The best axis that all of the waits have: `tim`, stamps if there are several, sequence.
    #[must_use]
    pub fn best(&self) -> (Axis, f64, Vec<SeriesPoint>) {
        if self.with_tim == self.waits {
            return self.tim.points();
        }
        let stamps = self.stamp.points();
        if self.with_tim == 0 && stamps.2.len() > 1 {
            return stamps;
        }
        self.sequence.points()
    }
}
