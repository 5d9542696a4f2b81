//! When written batches are flushed: at once where somebody waits for one of them, otherwise after
//! so many bytes, so many batches or so long. One flush then makes durable what several had to.
//!
//! It knows of waiting only what the batches and [`super::Event::Wanted`] say. What is deferred was
//! acknowledged to nobody: a commit with NOWAIT promises nothing, so no promise depends on it.
//!
//! Invariant: redo that somebody waits for is never deferred, and what is deferred never lies in
//! the way of the checkpoint: the log files hold a whole log file more before they are full.

use super::{MAX_DEPTH, Policy};
use crate::buffer::{BATCH_SLOTS, Batch};
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use measure::Nanos;

/// Batches that are written and not durable, at most: a quarter of the slots that batches have.
pub(super) const MAX_UNFLUSHED: u64 = BATCH_SLOTS / 4;

/// Batches that are sealed and not durable, at most.
pub(crate) const MAX_UNDERWAY: usize = MAX_UNFLUSHED as usize + MAX_DEPTH;

/// A place between batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) batches: u64,
    pub(super) block: StreamBlock,
}

/// A flush that is on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    pub(super) op: u64,
    pub(super) covers: Place,
    /// Of the batches that it covers, those that somebody waited for when they were written.
    pub(super) held: u64,
    /// When the oldest batch that it covers was issued; `None` where one of them was deferred,
    /// which says nothing of how long a log write takes.
    pub(super) since: Option<Nanos>,
}

#[derive(Clone, Debug)]
pub(super) struct Deferral {
    /// Blocks that may be written and not flushed; nothing is deferred where it is zero.
    most_blocks: u64,
    most_time: Nanos,
    blocks_per_log: u64,
    planted: Planted,
    /// The batches before this one are waited for.
    wanted: u64,
    /// Somebody waits for what is written and covered by no flush.
    due: bool,
    /// What was submitted to be flushed last, or is durable.
    covered: Place,
    /// When the first batch behind `covered` was written.
    since: Option<Nanos>,
    /// The batches before this one were reported as deferred.
    reported: u64,
}

impl Deferral {
    pub(super) fn new(
        policy: &Policy,
        geometry: &Geometry,
        start: Place,
        planted: Planted,
    ) -> Deferral {
        let blocks = policy.defer_bytes / u64::from(geometry.block_bytes);
        Deferral {
            most_blocks: if policy.durable_writes { 0 } else { blocks },
            most_time: policy.defer_time,
            blocks_per_log: geometry.blocks_per_group,
            planted,
            wanted: start.batches,
            due: false,
            covered: start,
            since: None,
            reported: start.batches,
        }
    }

    /// Somebody waits for the batches before `batches`, of which those before `written` are
    /// written.
    pub(super) fn want(&mut self, batches: u64, written: u64) {
        self.wanted = self.wanted.max(batches);
        self.due |= self.wanted > self.covered.batches && written > self.covered.batches;
    }

    /// A batch is written. Returns whether somebody waits for it, as far as is known.
    #[inline]
    pub(super) fn wrote(&mut self, now: Nanos, batch: &Batch) -> bool {
        let wanted = self.most_blocks == 0 || batch.commits > 0 || batch.id < self.wanted;
        self.due |= wanted;
        self.since.get_or_insert(now);
        wanted
    }

    /// Whether what is `written` is flushed now. `limit` is the first block that the checkpoint
    /// does not let be written.
    #[inline]
    pub(super) fn flushes(&self, now: Nanos, written: Place, limit: StreamBlock) -> bool {
        self.due
            || written.block - self.covered.block >= self.most_blocks
            || written.batches - self.covered.batches >= MAX_UNFLUSHED
            || written.block + self.blocks_per_log >= limit && !self.planted.has(Bug::DeferInTheWay)
            || self
                .since
                .is_some_and(|since| now.since(since) >= self.most_time)
    }

    /// A flush of what is `written` is submitted. Returns whether some of it had been deferred.
    #[inline]
    pub(super) fn flushing(&mut self, written: Place) -> bool {
        let deferred = self.reported > self.covered.batches;
        self.covered = written;
        self.due = false;
        self.since = None;
        deferred
    }

    /// A flush failed and is repeated, which only a planted bug does.
    #[cold]
    pub(super) fn forget(&mut self, durable: Place) {
        self.covered = durable;
        self.due = true;
    }

    /// What is `written` is left. True where that is to be reported.
    pub(super) fn defers(&mut self, written: u64) -> bool {
        let news = written > self.reported;
        self.reported = self.reported.max(written);
        news
    }
}
