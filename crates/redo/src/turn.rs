//! Taking turns: how foregrounds and the log writer wait, lead and hand on. It is the same code
//! on threads and under loom; what the holder of the baton does is the caller's (`lead`).
//!
//! The baton is the mutex around `H`. A foreground that wants its redo durable either takes it
//! and leads, or sleeps on its batch's wake word. A leader publishes, lays the baton down, wakes
//! one waiter of the next batch to lead on (the hand-off), and only then wakes those that it
//! served.
//!
//! Nothing is lost, because each side looks after it has acted: a committer has counted its redo
//! into the open batch before it tries the baton, a leader lays the baton down before it looks
//! at the open batch, and both put a full fence between. A committer that fails to get the baton
//! sleeps only if its wake word is still what it was before it tried.
//!
//! After [`SharedBaton::close`] nobody leads but [`SharedBaton::drain`], and a leader that led
//! before is waited for: after closing, nothing is written any more.
//!
//! What it must not know: devices, clocks, control information.

mod checkpoint;
mod deferral;
mod events;
mod futures;
mod pipeline;
mod waiting;

use checkpoint::Reusable;
pub(crate) use checkpoint::SwitchHold;
pub(crate) use events::{ArmedTicket, Signal};
pub(crate) use futures::AwaitedCommit;
pub(crate) use pipeline::Turned;
pub(crate) use waiting::{Leadership, Rules};

use crate::buffer::{BATCH_SLOTS, Full, LogBuffer, Reservation};
use crate::error::Error;
use crate::group::{Geometry, StreamBlock};
use crate::planted::Bug;
use crate::rules;
use crate::sync::{AtomicU32, Mutex, MutexGuard, Ordering, fence};
use crate::wait::WaitWord;
use crate::writer::{Cause, Learner};
use deferral::Deferred;
#[cfg(not(feature = "loom"))]
use std::sync::PoisonError;
use std::sync::{Arc, OnceLock};

const OPEN: u32 = 0;
const POISONED: u32 = 1;
const CLOSED: u32 = 2;

/// What leading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeadOutcome {
    /// There was nothing to write, or nothing can be written any more.
    Nothing,
    /// Batches were published, or the log was poisoned: waiters are to be woken from this batch.
    From(u64),
}

/// What all threads of a log share; `H` belongs to the holder of the baton.
pub(crate) struct SharedBaton<H> {
    pub(crate) buffer: LogBuffer,
    baton: Mutex<H>,
    reusable: Reusable,
    switch: WaitWord,
    /// Posts the log writer, dedicated or fallback. A pipelined one's queue rings it too.
    post: Arc<WaitWord>,
    /// Posts so far: what was rung for and what was asked for are two things where completions
    /// ring.
    asked: AtomicU32,
    post_bytes: u32,
    deferred: Deferred,
    /// [`OPEN`], [`POISONED`] or [`CLOSED`].
    state: AtomicU32,
    /// Set before the state is. A thread that reads it does not wait for a lock; a future does.
    cause: OnceLock<Cause>,
    /// Foregrounds poll (1) or sleep (0).
    polling: AtomicU32,
    /// Foregrounds write for themselves (1), or the log writer's thread does (0). It decides whom a
    /// committer turns to, and nothing hangs on it: the thread that was asked for redo sees to it.
    leading: AtomicU32,
    /// Only the holder of the baton feeds it.
    learner: Option<Mutex<Learner>>,
    /// The dedicated log writer has batches in flight while it waits.
    pub(crate) pipelined: bool,
    pub(crate) rules: Rules,
}

/// Dropped only when a leader unwinds: whom it would have served sleeps, and nobody else would come
/// to the baton to find it dead.
struct Dies<'a, H>(&'a SharedBaton<H>);

impl<H> Drop for Dies<'_, H> {
    fn drop(&mut self) {
        self.0.poison(Cause::Abandoned);
    }
}

impl<H> SharedBaton<H> {
    pub(crate) fn new(
        buffer: LogBuffer,
        geometry: &Geometry,
        holder: H,
        checkpoint: StreamBlock,
        rules: Rules,
    ) -> SharedBaton<H> {
        let room = buffer.ring_blocks() * u64::from(geometry.payload());
        let learner = rules.learner();
        let way = learner
            .as_ref()
            .map_or_else(|| rules.fixed(), |l| l.learned().way);
        SharedBaton {
            buffer,
            baton: Mutex::new(holder),
            reusable: Reusable::new(checkpoint),
            switch: WaitWord::default(),
            post: Arc::default(),
            asked: AtomicU32::new(0),
            post_bytes: rules.triggers.post_bytes(room),
            deferred: Deferred::default(),
            state: AtomicU32::new(OPEN),
            cause: OnceLock::new(),
            polling: AtomicU32::new(way.polling.into()),
            leading: AtomicU32::new(way.inline.into()),
            learner: learner.map(Mutex::new),
            pipelined: rules.way == Leadership::Pipelined,
            rules,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) == OPEN
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.state.load(Ordering::Acquire) == POISONED
    }

    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_open() {
            Ok(())
        } else {
            Err(self.refusal())
        }
    }

    #[cold]
    pub(crate) fn refusal(&self) -> Error {
        if self.state.load(Ordering::Acquire) == CLOSED {
            return Error::Closed;
        }
        match self.cause.get().copied() {
            Some(Cause::NoCheckpoint) => Error::CheckpointIncomplete,
            cause => Error::Poisoned(cause.unwrap_or(Cause::Abandoned)),
        }
    }

    /// Fails every waiter, now and later. Not for the holder of the baton.
    #[cold]
    pub(crate) fn poison(&self, cause: Cause) {
        self.poison_as_holder(cause);
        self.wake_all_tasks();
    }

    /// As [`SharedBaton::poison`], for the holder of the baton: tasks are woken, which is code of
    /// the embedder, where the baton is laid down.
    #[cold]
    pub(crate) fn poison_as_holder(&self, cause: Cause) {
        // The first cause is the one that is reported.
        let _ = self.cause.set(cause);
        self.state.store(POISONED, Ordering::SeqCst);
        if cause == Cause::Abandoned {
            self.buffer.abandon();
        }
        self.wake_everybody();
    }

    /// Refuses new redo; waiting commits get an error: the log is closed. When it returns nobody
    /// leads any more.
    pub(crate) fn close(&self) {
        // A poisoned log stays poisoned.
        let _ = self
            .state
            .compare_exchange(OPEN, CLOSED, Ordering::SeqCst, Ordering::SeqCst);
        self.wake_everybody();
        self.wake_all_tasks();
        // A baton that died with its holder leads no more either.
        drop(self.baton.lock());
    }

    /// What the baton guards, of a log that is closed, for what is left to be waited for; also when
    /// its last holder died.
    #[cfg(not(feature = "loom"))]
    pub(crate) fn settle(&self, wait: impl FnOnce(&mut H)) {
        wait(&mut self.baton.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Writes out what is left in the buffer of a closed log.
    ///
    /// # Errors
    /// A poisoned log, or one that needs a checkpoint before it can be written on.
    pub(crate) fn drain(&self, mut lead: impl FnMut(&mut H) -> LeadOutcome) -> Result<(), Error> {
        let mut holder = self.baton()?;
        let left = || {
            let (open, bytes) = self.buffer.open_batch();
            self.want(open);
            bytes > 0 || self.is_deferred()
        };
        while left() && self.state.load(Ordering::Acquire) != POISONED {
            if lead(&mut holder) == LeadOutcome::Nothing {
                return Err(Error::CheckpointIncomplete);
            }
        }
        if self.state.load(Ordering::Acquire) == POISONED {
            return Err(self.refusal());
        }
        if self.buffer.published() < self.buffer.open_batch().0 {
            return Err(Error::CheckpointIncomplete);
        }
        Ok(())
    }

    fn wake_everybody(&self) {
        for batch in 0..BATCH_SLOTS {
            let word = &self.buffer.slot(batch).wake;
            word.bump();
            word.wake_all();
        }
        for word in [&self.buffer.space, &self.switch, &*self.post] {
            word.bump();
            word.wake_all();
        }
    }

    /// The baton, if nobody holds it.
    #[inline]
    fn try_baton(&self) -> Option<MutexGuard<'_, H>> {
        match self.baton.try_lock() {
            Ok(holder) => Some(holder),
            Err(std::sync::TryLockError::WouldBlock) => None,
            Err(std::sync::TryLockError::Poisoned(_)) => {
                self.poison(Cause::Abandoned);
                None
            }
        }
    }

    /// The baton, waiting for it.
    pub(crate) fn baton(&self) -> Result<MutexGuard<'_, H>, Error> {
        self.baton.lock().map_err(|_| {
            self.poison(Cause::Abandoned);
            self.refusal()
        })
    }

    /// Looks at what the baton guards, and hands on to a thread that found it taken meanwhile.
    #[cfg(not(feature = "loom"))]
    pub(crate) fn look<R>(&self, look: impl FnOnce(&H) -> R) -> Result<R, Error> {
        let holder = self.baton()?;
        let seen = look(&holder);
        drop(holder);
        fence(Ordering::SeqCst);
        self.hand_off();
        self.post_flush();
        Ok(seen)
    }

    /// Leads with the baton, lays it down, hands on and wakes.
    #[inline]
    pub(crate) fn lead(&self, holder: MutexGuard<'_, H>, lead: impl FnOnce(&mut H) -> LeadOutcome) {
        if !self.is_open() {
            // Looked at under the baton, as `close` relies on it.
            return;
        }
        let dies = Dies(self);
        // Where leading unwinds, the baton is given up before the tasks are woken.
        let mut holder = holder;
        let led = lead(&mut holder);
        let upto = self.buffer.published();
        if let LeadOutcome::From(first) = led {
            self.bump(first, upto);
            self.learn(first, upto);
        }
        drop(holder);
        std::mem::forget(dies);
        fence(Ordering::SeqCst);
        self.hand_off();
        // Before the tasks' wakers, which are not ours and may take their time.
        self.post_flush();
        if let LeadOutcome::From(first) = led {
            for batch in first..upto {
                self.wake_batch(batch);
            }
            self.wake_tasks(first, upto);
        }
    }

    /// A thread that began to wait for deferred redo, and found the baton taken, is not forgotten.
    #[inline]
    fn post_flush(&self) {
        if self.flush_is_wanted() {
            self.post();
        }
    }

    #[inline]
    fn bump(&self, first: u64, upto: u64) {
        if self.rules.planted.has(Bug::MissingBump) {
            return;
        }
        for batch in first..upto {
            self.buffer.slot(batch).wake.bump();
        }
    }

    /// If redo was left in the open batch that somebody wants written, who waits for it must lead
    /// on. Commits that post nobody (BATCH) don't want it.
    #[inline]
    fn hand_off(&self) {
        if !self.rules.way.may_lead() || self.rules.planted.has(Bug::NoHandOff) {
            return;
        }
        let (open, bytes) = self.buffer.open_batch();
        let slot = self.buffer.slot(open);
        if rules::hands_on(bytes, || slot.asked.load(Ordering::SeqCst), open) {
            if !self.foregrounds_lead() {
                // Who asked while foregrounds led waits, and leads no more.
                self.post();
                return;
            }
            let word = &slot.wake;
            if !self.rules.planted.has(Bug::MissingBump) {
                word.bump();
            }
            word.wake(1);
        }
    }

    /// Wakes the sleepers of a published batch: a few at once, of many the half, and leaves word
    /// how many the woken have to wake. Every sleeper is woken by somebody: those woken here are
    /// at least as many as those left to them.
    #[inline]
    fn wake_batch(&self, batch: u64) {
        let slot = self.buffer.slot(batch);
        let wakes = rules::wakes(slot.wake.sleepers(), rules::WAKE_ALONE);
        if wakes.by_woken > 0 {
            if !self.rules.planted.has(Bug::LostChain) {
                slot.chain.fetch_add(wakes.by_woken, Ordering::Release);
            }
            slot.wake.wake(wakes.by_leader);
        } else {
            slot.wake.wake_all();
        }
    }

    /// Wakes the one sleeper that the leader left to a woken one.
    #[inline]
    fn wake_on(&self, batch: u64) {
        let slot = self.buffer.slot(batch);
        let take = |left: u32| left.checked_sub(1);
        if slot.chain.load(Ordering::Acquire) > 0
            && slot
                .chain
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, take)
                .is_ok()
        {
            slot.wake.wake(1);
        }
    }

    /// Reserves `len` bytes, waiting for room in the log buffer: `log buffer space`. Writes some
    /// out where that is this host's way.
    #[cold]
    pub(crate) fn reserve_when_room(
        &self,
        len: u32,
        mut lead: impl FnMut(&mut H) -> LeadOutcome,
    ) -> Result<Reservation, Error> {
        loop {
            let seen = self.buffer.space.read();
            match self.buffer.reserve(len) {
                Ok(reservation) => return Ok(reservation),
                Err(Full) => self.await_space(seen, &mut lead)?,
            }
        }
    }

    fn await_space(
        &self,
        seen: u32,
        lead: impl FnOnce(&mut H) -> LeadOutcome,
    ) -> Result<(), Error> {
        self.check()?;
        if self.foregrounds_lead()
            && let Some(holder) = self.try_baton()
        {
            self.lead(holder, lead);
            return Ok(());
        }
        // Who leads may have released already what he will, and hands on only to who waits for a
        // batch: the fallback log writer comes after him.
        self.post();
        self.buffer.space.wait(seen);
        Ok(())
    }

    /// A reservation was filled: posts the log writer when the open batch has grown enough.
    #[inline]
    pub(crate) fn appended(&self, reservation: &Reservation) {
        if rules::posts_for_size(reservation.offset, reservation.end(), self.post_bytes) {
            self.post();
        }
    }

    /// Posts the log writer.
    #[inline]
    pub(crate) fn post(&self) {
        if self.pipelined {
            self.asked.fetch_add(1, Ordering::SeqCst);
        }
        self.post.bump();
        self.post.wake(1);
    }

    /// Posts so far, to be read before the open batch is looked at: a thread that had posted then
    /// is served by what is sealed after.
    #[inline]
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }

    /// The log writer's life, until the log is closed or poisoned: leads when it was posted since
    /// it last looked, or when `park`, which sleeps while the word is what it is given, says that
    /// redo has lain for too long.
    pub(crate) fn serve(
        &self,
        mut lead: impl FnMut(&mut H) -> LeadOutcome,
        mut park: impl FnMut(&WaitWord, u32) -> bool,
    ) {
        // The word begins at 0: a post from before this thread ran is served too.
        let mut handled = 0;
        let mut overdue = false;
        loop {
            let seen = self.post.read();
            if !self.is_open() {
                return;
            }
            let (_, bytes) = self.buffer.open_batch();
            // The writer knows whether it is time to flush what it deferred.
            let due = || rules::is_due(bytes, seen != handled, overdue, self.is_deferred());
            if self.flush_is_wanted() || due() {
                handled = seen;
                overdue = false;
                let Ok(holder) = self.baton() else { return };
                self.lead(holder, &mut lead);
                continue;
            }
            handled = seen;
            overdue = park(&self.post, seen);
        }
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests;
