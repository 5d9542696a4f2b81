//! What all threads of a log share, and the protocol by which foregrounds wait, lead and hand on.
//!
//! The baton is the mutex around the [`Host`]. A foreground that wants its redo durable either
//! takes it and leads, or sleeps on its batch's wake word. A leader publishes, lays the baton
//! down, wakes one waiter of the next batch to lead on (the hand-off), and only then wakes those
//! that it served.
//!
//! Nothing is lost, because each side looks after it has acted: a committer has counted its redo
//! into the open batch before it tries the baton, a leader lays the baton down before it looks
//! at the open batch, and both put a full fence between. A committer that fails to get the baton
//! sleeps only if its wake word is still what it was before it tried.

use super::host::{Host, Led};
use crate::buffer::LogBuffer;
use crate::error::Error;
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use crate::sync::{AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering, fence};
use crate::wait::WaitWord;
use crate::writer::Cause;
use measure::RealClock;

/// Above this many sleepers the leader wakes half, and each of those wakes one more.
const WAKE_ALONE: u32 = 32;

const OPEN: u32 = 0;
const POISONED: u32 = 1;
const CLOSED: u32 = 2;

pub(crate) struct Core {
    pub(crate) buffer: LogBuffer,
    pub(crate) geometry: Geometry,
    pub(crate) clock: RealClock,
    baton: Mutex<Host>,
    /// The durable checkpoint's block.
    checkpoint: AtomicU64,
    pub(crate) switch: WaitWord,
    /// Posts the log writer, dedicated or fallback.
    pub(crate) post: WaitWord,
    /// [`OPEN`], [`POISONED`] or [`CLOSED`].
    state: AtomicU32,
    cause: Mutex<Option<Cause>>,
    /// Foregrounds lead; otherwise a dedicated log writer does.
    pub(crate) inline: bool,
    pub(crate) max_record: u64,
    pub(crate) planted: Planted,
}

impl Core {
    pub(crate) fn new(
        buffer: LogBuffer,
        geometry: Geometry,
        clock: RealClock,
        host: Host,
        checkpoint: StreamBlock,
        inline: bool,
        planted: Planted,
    ) -> Core {
        let max_record = geometry.max_record(buffer.ring_blocks());
        Core {
            buffer,
            geometry,
            clock,
            baton: Mutex::new(host),
            checkpoint: AtomicU64::new(checkpoint),
            switch: WaitWord::default(),
            post: WaitWord::default(),
            state: AtomicU32::new(OPEN),
            cause: Mutex::new(None),
            inline,
            max_record,
            planted,
        }
    }

    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.state.load(Ordering::Acquire) == OPEN {
            Ok(())
        } else {
            Err(self.refusal())
        }
    }

    #[cold]
    fn refusal(&self) -> Error {
        if self.state.load(Ordering::Acquire) == CLOSED {
            return Error::Closed;
        }
        let cause = self.cause.lock().map_or(None, |cause| *cause);
        Error::Poisoned(cause.unwrap_or(Cause::Abandoned))
    }

    /// Fails every waiter, now and later.
    #[cold]
    pub(crate) fn poison(&self, cause: Cause) {
        if let Ok(mut slot) = self.cause.lock() {
            slot.get_or_insert(cause);
        }
        self.state.store(POISONED, Ordering::SeqCst);
        self.wake_everybody();
    }

    /// Refuses new redo; what waits is told that the log is closed.
    pub(crate) fn close(&self) {
        let closed = (OPEN, CLOSED);
        // A poisoned log stays poisoned.
        let _ = self
            .state
            .compare_exchange(closed.0, closed.1, Ordering::SeqCst, Ordering::SeqCst);
        self.wake_everybody();
    }

    /// Writes out what is left in the buffer of a closed log. When it returns without an error,
    /// everything before the open batch is durable: it has held the baton, so nothing is in
    /// flight, and the log was not poisoned.
    pub(crate) fn drain(&self) -> Result<(), Error> {
        loop {
            let host = self.baton()?;
            if self.state.load(Ordering::Acquire) == POISONED {
                return Err(self.refusal());
            }
            if self.buffer.open_batch().1 == 0 {
                return Ok(());
            }
            self.lead(host);
        }
    }

    fn wake_everybody(&self) {
        for batch in 0..crate::buffer::BATCH_SLOTS {
            let word = &self.buffer.slot(batch).wake;
            word.bump();
            word.wake_all();
        }
        for word in [&self.buffer.space, &self.switch, &self.post] {
            word.bump();
            word.wake_all();
        }
    }

    /// The baton, if nobody holds it.
    #[inline]
    fn try_baton(&self) -> Option<MutexGuard<'_, Host>> {
        match self.baton.try_lock() {
            Ok(host) => Some(host),
            Err(std::sync::TryLockError::WouldBlock) => None,
            Err(std::sync::TryLockError::Poisoned(_)) => {
                self.poison(Cause::Abandoned);
                None
            }
        }
    }

    /// The baton, waiting for it.
    pub(crate) fn baton(&self) -> Result<MutexGuard<'_, Host>, Error> {
        self.baton.lock().map_err(|_| {
            self.poison(Cause::Abandoned);
            self.refusal()
        })
    }

    /// Leads with the baton, lays it down, hands on and wakes.
    #[inline]
    pub(crate) fn lead(&self, mut host: MutexGuard<'_, Host>) {
        let led = host.lead(self);
        let upto = self.buffer.published();
        if let Led::From(first) = led {
            self.bump(first, upto);
        }
        drop(host);
        fence(Ordering::SeqCst);
        self.hand_off();
        if let Led::From(first) = led {
            for batch in first..upto {
                self.wake_batch(batch);
            }
        }
    }

    #[inline]
    fn bump(&self, first: u64, upto: u64) {
        if self.planted.has(Bug::MissingBump) {
            return;
        }
        for batch in first..upto {
            self.buffer.slot(batch).wake.bump();
        }
    }

    /// If redo was left in the open batch, somebody who waits for it must lead on.
    #[inline]
    fn hand_off(&self) {
        let (open, bytes) = self.buffer.open_batch();
        if bytes == 0 {
            return;
        }
        if self.inline {
            let word = &self.buffer.slot(open).wake;
            if !self.planted.has(Bug::MissingBump) {
                word.bump();
            }
            word.wake(1);
        }
    }

    #[inline]
    fn wake_batch(&self, batch: u64) {
        let word = &self.buffer.slot(batch).wake;
        let sleepers = word.sleepers();
        if sleepers > WAKE_ALONE {
            word.wake(sleepers / 2)
        } else {
            word.wake_all()
        }
    }

    /// Waits until `batch` is durable, leading where that is this host's way. `willing` is false
    /// for a commit that posts nobody: it leads only when it was handed the baton.
    #[inline]
    pub(crate) fn await_durable(&self, batch: u64, willing: bool) -> Result<(), Error> {
        let word = &self.buffer.slot(batch).wake;
        let mut slept = false;
        fence(Ordering::SeqCst);
        loop {
            let seen = word.read();
            if self.buffer.published() > batch {
                if slept && word.sleepers() >= WAKE_ALONE / 2 {
                    word.wake(1);
                }
                return Ok(());
            }
            self.check()?;
            if self.inline
                && (willing || slept)
                && let Some(host) = self.try_baton()
            {
                self.lead(host);
                continue;
            }
            word.wait(seen);
            slept = true;
        }
    }

    /// Waits for room in the log buffer: `log buffer space`. Writes some out where that is this
    /// host's way.
    pub(crate) fn await_space(&self, seen: u32) -> Result<(), Error> {
        self.check()?;
        if self.inline {
            if let Some(host) = self.try_baton() {
                self.lead(host);
                return Ok(());
            }
        } else {
            self.post();
        }
        self.buffer.space.wait(seen);
        Ok(())
    }

    /// Posts the log writer.
    #[inline]
    pub(crate) fn post(&self) {
        self.post.bump();
        self.post.wake(1);
    }

    /// Waits until the log `log_seq` may be written: `log file switch (checkpoint incomplete)`.
    /// Returns the checkpoint's block; `None` when the log was poisoned or closed meanwhile, and
    /// nothing may be written into that log.
    pub(crate) fn await_checkpoint(&self, log_seq: u64) -> Option<StreamBlock> {
        let start = (log_seq - 1) * self.geometry.blocks_per_group;
        loop {
            let seen = self.switch.read();
            let checkpoint = self.checkpoint.load(Ordering::Acquire);
            if self.geometry.reuse_limit(checkpoint) > start {
                return Some(checkpoint);
            }
            if self.state.load(Ordering::Acquire) != OPEN {
                return None;
            }
            self.switch.wait(seen);
        }
    }

    /// The checkpoint's block is durable at `block`.
    pub(crate) fn checkpointed(&self, block: StreamBlock) {
        self.checkpoint.fetch_max(block, Ordering::AcqRel);
        self.switch.bump();
        self.switch.wake_all();
    }
}
