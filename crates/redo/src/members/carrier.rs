//! How control information reaches a member that may hang: a thread of the member writes it, and an
//! update goes on without one that does not answer in its patience, where others go on.
//!
//! What it must not know: what is written, and what becomes of the member.

use super::Standing;
use super::errands::{Errands, is_late, timed_out};
use super::ring::RingStanding;
use crate::control::{Carried, Carrier};
use device::file::LockGuard;
use device::queue::IoOrDevice;
use measure::{Clock, Nanos};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// For how long a member is waited for at least while the log is opened: longer than for the lock
/// of a process that is ending.
pub(crate) const OPENING: Duration = Duration::from_secs(31);

/// A clock by which members are late.
#[derive(Clone)]
pub(crate) struct MemberClock(pub(crate) Arc<dyn Clock>);

impl std::fmt::Debug for MemberClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemberClock")
    }
}

/// The thread of a member that writes its control information.
pub(crate) struct MemberCarrier {
    errands: Errands,
    member: usize,
    patience: Duration,
    clock: Arc<dyn Clock>,
    /// The members of the open log; none while it is opened.
    standing: OnceLock<Arc<Standing>>,
    /// Of the disk of an open log with a ring.
    ring: OnceLock<Arc<RingStanding>>,
}

impl MemberCarrier {
    /// Of the member of this number. Its thread keeps `lock` until what was given up has ended.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(
        member: usize,
        lock: Option<LockGuard>,
        (patience, clock): (Duration, Arc<dyn Clock>),
    ) -> std::io::Result<MemberCarrier> {
        Ok(MemberCarrier {
            errands: Errands::start(format!("lgc{member:02}"), lock)?,
            member,
            patience,
            clock,
            standing: OnceLock::new(),
            ring: OnceLock::new(),
        })
    }

    /// The log is open: these know whether it goes on without the member.
    pub(crate) fn join(&self, standing: &Arc<Standing>) {
        // Only the first counts: a log is opened once.
        let _ = self.standing.set(Arc::clone(standing));
    }

    /// The log is open, and its only member is the disk of this ring: it is waited for as long as
    /// the log is open.
    pub(crate) fn join_ring(&self, ring: &Arc<RingStanding>) {
        let _ = self.ring.set(Arc::clone(ring));
    }

    /// Has `ask` carried out; `None` where the log goes on without the member.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        ask: impl FnOnce() -> R + Send + 'static,
    ) -> Option<R> {
        let late = |time| is_late(time, self.patience);
        let gives_up = |time: Nanos| match (self.standing.get(), self.ring.get()) {
            (Some(s), _) => s.goes_on_without(self.member, late(time)),
            (None, Some(ring)) => ring.closes() && late(time),
            // Nobody waits for a commit, and a slow member is better than none.
            (None, None) => is_late(time, self.patience.max(OPENING)),
        };
        self.errands.run(&*self.clock, gives_up, ask)
    }

    /// Has `ask` carried out on a member that returns: the log does not need it yet. `None` where
    /// it does not answer in its patience, or no member is to return any more.
    pub(crate) fn ask_returning<R: Send + 'static>(
        &self,
        ask: impl FnOnce() -> R + Send + 'static,
    ) -> Option<R> {
        let ended = || self.standing.get().is_some_and(|s| s.returns_end());
        let gives_up = |time: Nanos| is_late(time, self.patience) || ended();
        self.errands.run(&*self.clock, gives_up, ask)
    }
}

impl Drop for MemberCarrier {
    /// A write that was given up with the copy when the log was closed need not hang: what it was
    /// to write must not come later than what the next owner writes, and the next opening must not
    /// find the member locked.
    fn drop(&mut self) {
        let leaves = |time| is_late(time, self.patience);
        self.errands.end(&*self.clock, leaves);
    }
}

impl Carrier for MemberCarrier {
    fn carry(&self, work: Carried) -> Result<(), IoOrDevice> {
        if self.is_busy() {
            // What was given up is still under way, and this would wait for it.
            return Err(timed_out());
        }
        self.ask(work).unwrap_or_else(|| Err(timed_out()))
    }

    fn is_busy(&self) -> bool {
        self.errands.is_busy()
    }
}

/// Carries what a member is given while it returns.
pub(super) struct ReturnCarrier(pub(super) Arc<MemberCarrier>);

impl Carrier for ReturnCarrier {
    fn carry(&self, work: Carried) -> Result<(), IoOrDevice> {
        let carried = self.0.ask_returning(work);
        carried.unwrap_or_else(|| Err(timed_out()))
    }

    fn is_busy(&self) -> bool {
        self.0.is_busy()
    }
}
