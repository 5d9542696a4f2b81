//! Waiting for batches whose flush is deferred: a thread that begins to wait says so, and the
//! leader that defers looks for those who did.
//!
//! Nothing is lost, because each side looks after it has acted, with a full fence between: a
//! waiter marks what it waits for before it looks at what is deferred, the holder of the baton
//! marks what it defers before it looks at what is waited for. A waiter that finds its batch
//! deferred leads, or posts the log writer; where it finds the baton taken, its holder looks once
//! more after it has laid it down.
//!
//! What it must not know: when a flush is deferred (`crate::writer`).

use super::SharedBaton;
use crate::planted::Bug;
use crate::rules;
use crate::sync::{AtomicU64, Isolated, Ordering, fence};

/// What waiters and the holder of the baton leave for each other.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// The batch behind the last that somebody waits for or waited for.
    wanted: Isolated<AtomicU64>,
    /// The batches before this one are written, and their flush is deferred; 0 where none is.
    upto: AtomicU64,
}

impl<H> SharedBaton<H> {
    /// Marks that somebody waits for `batch`. A full fence, then [`SharedBaton::is_late`], must
    /// follow before it sleeps.
    #[inline]
    pub(crate) fn want(&self, batch: u64) {
        if !self.rules.defers {
            return;
        }
        let wanted = &self.deferred.wanted.0;
        if wanted.load(Ordering::Relaxed) <= batch {
            wanted.fetch_max(batch + 1, Ordering::SeqCst);
        }
    }

    /// The flush of `batch` is deferred: a thread that waits for it has it flushed.
    #[inline]
    pub(super) fn is_late(&self, batch: u64) -> bool {
        self.rules.defers
            && self.deferred.upto.load(Ordering::Relaxed) > batch
            && !self.rules.planted.has(Bug::LateWaiterSleeps)
    }

    /// The flush of the batches before `batches` is deferred; with 0 what was deferred is being
    /// flushed. Only for the holder of the baton, who must look at
    /// [`SharedBaton::flush_is_wanted`] afterwards.
    #[inline]
    pub(crate) fn defer(&self, batches: u64) {
        let upto = &self.deferred.upto;
        if upto.load(Ordering::Relaxed) != batches {
            upto.store(batches, Ordering::SeqCst);
        }
    }

    /// The flush of some batches is deferred.
    #[inline]
    pub(crate) fn is_deferred(&self) -> bool {
        self.deferred.upto.load(Ordering::Relaxed) > 0
    }

    /// The flush of some batches is deferred, and somebody waits for one of them, or for the open
    /// batch and asked for no write of it. Where it was asked for, it is written next, and what is
    /// deferred is flushed with it.
    #[inline]
    pub(crate) fn flush_is_wanted(&self) -> bool {
        if !self.rules.defers || self.rules.planted.has(Bug::DeferUnlooked) {
            return false;
        }
        fence(Ordering::SeqCst);
        let wanted = self.wanted();
        if !self.is_deferred() {
            return false;
        }
        let published = self.buffer.published();
        let (open, bytes) = self.buffer.open_batch();
        let asked = || self.buffer.slot(open).asked.load(Ordering::SeqCst);
        let hands_on = || rules::hands_on(bytes, asked, open);
        rules::flush_is_wanted(wanted, published, open, hands_on)
    }

    /// The batch behind the last that somebody waits for.
    #[inline]
    pub(crate) fn wanted(&self) -> u64 {
        self.deferred.wanted.0.load(Ordering::SeqCst)
    }

    /// Wakes those who wait for batches from `first` on that are published.
    pub(crate) fn wake_from(&self, first: u64) {
        let upto = self.buffer.published();
        self.bump(first, upto);
        for batch in first..upto {
            self.wake_batch(batch);
        }
    }
}
