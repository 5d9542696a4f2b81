//! Tasks that await a batch: a future looks, registers its waker, looks again; the thread that
//! publishes wakes the tasks of the published batches after laying the baton down, and who fails or
//! closes the log wakes all.
//!
//! A future never leads, and never waits. That its batch is written is asked for when it is made
//! ([`SharedBaton::request`]); where foregrounds lead, the fallback log writer does it.
//!
//! What it must not know: what a future gives, executors.

use super::SharedBaton;
use crate::buffer::BATCH_SLOTS;
use crate::error::Error;
use crate::planted::Bug;
use crate::sync::{Ordering, Shared, fence};
use crate::tickets::{CommitRequest, durable_batches};
use crate::wakers::Registration;
use std::task::{Poll, Waker};

/// A commit that a task awaits. It is decided once.
#[derive(Debug)]
pub(crate) enum AwaitedCommit {
    Undecided(CommitRequest, Shared<Registration>),
    Durable,
    Failed,
}

impl AwaitedCommit {
    /// Has the commit written if it is to be, as far as that was not asked for before.
    #[inline]
    pub(crate) fn begin<H>(turn: &SharedBaton<H>, request: CommitRequest) -> AwaitedCommit {
        let Some(batch) = request.through.checked_sub(1) else {
            return AwaitedCommit::Durable;
        };
        if durable_batches(&turn.buffer, turn.rules.planted) > batch {
            return AwaitedCommit::Durable;
        }
        if request.immediate && !turn.rules.planted.has(Bug::CancelledDropsCommit) {
            turn.request(batch);
        }
        turn.request_flush(batch);
        AwaitedCommit::Undecided(request, Registration::new(batch))
    }

    /// As [`std::future::Future::poll`].
    #[inline]
    pub(crate) fn poll<H>(
        &mut self,
        turn: &SharedBaton<H>,
        waker: &Waker,
    ) -> Poll<Result<(), Error>> {
        let outcome = match self {
            AwaitedCommit::Undecided(request, registration) => {
                if request.immediate && turn.rules.planted.has(Bug::CancelledDropsCommit) {
                    turn.request(registration.batch);
                }
                turn.poll_published(registration, waker)
            }
            AwaitedCommit::Durable => Poll::Ready(Ok(())),
            // Whatever has been written since: it was reported as failed.
            AwaitedCommit::Failed => Poll::Ready(Err(turn.refusal())),
        };
        match outcome {
            Poll::Ready(Ok(())) => *self = AwaitedCommit::Durable,
            Poll::Ready(Err(_)) => *self = AwaitedCommit::Failed,
            Poll::Pending => {}
        }
        outcome
    }

    /// Nobody awaits it any more; the commit itself goes on.
    #[inline]
    pub(crate) fn cancel<H>(&mut self, turn: &SharedBaton<H>) {
        if let AwaitedCommit::Undecided(_, registration) = self {
            turn.forget(registration);
        }
    }
}

impl<H> SharedBaton<H> {
    /// What is known of `batch`: it is durable, or the log failed or was closed before it was.
    #[inline]
    pub(crate) fn outcome(&self, batch: u64) -> Option<Result<(), Error>> {
        // The state first: what was durable when the log failed is reported as durable.
        let open = self.is_open();
        if durable_batches(&self.buffer, self.rules.planted) > batch {
            return Some(Ok(()));
        }
        (!open).then(|| Err(self.refusal()))
    }

    /// Looks whether the batch that `registration` awaits is durable or failed, and sees to it that
    /// `waker` is woken once it is. Makes no system call.
    #[inline]
    pub(crate) fn poll_published(
        &self,
        registration: &Shared<Registration>,
        waker: &Waker,
    ) -> Poll<Result<(), Error>> {
        let batch = registration.batch;
        if let Some(outcome) = self.outcome(batch) {
            registration.silence();
            return Poll::Ready(outcome);
        }
        self.buffer.slot(batch).wakers.register(registration, waker);
        if self.rules.planted.has(Bug::FutureRegistersLate) {
            return Poll::Pending;
        }
        fence(Ordering::SeqCst);
        let Some(outcome) = self.outcome(batch) else {
            return Poll::Pending;
        };
        // Who decided it is about to take the list.
        registration.silence();
        Poll::Ready(outcome)
    }

    /// The future of `registration` was dropped.
    pub(crate) fn forget(&self, registration: &Registration) {
        let list = &self.buffer.slot(registration.batch).wakers;
        if !list.forget(registration) {
            return;
        }
        if self.rules.planted.has(Bug::CancelLosesOthers) {
            list.lose();
            return;
        }
        let Some(least) = list.sweep() else { return };
        if self.rules.planted.has(Bug::SweepLooksAway) {
            return;
        }
        fence(Ordering::SeqCst);
        if self.outcome(least).is_some() {
            list.wake();
        }
    }

    /// Wakes the tasks of the batches from `first` to `upto`, or all where the log failed. Without
    /// the baton, and after a full fence: a task may run, and commit, before this returns.
    #[inline]
    pub(super) fn wake_tasks(&self, first: u64, upto: u64) {
        for batch in first..upto {
            self.buffer.slot(batch).wakers.wake();
        }
        if !self.is_open() {
            self.wake_all_tasks();
        }
    }

    /// Wakes all tasks: the log failed or was closed.
    #[cold]
    pub(super) fn wake_all_tasks(&self) {
        if self.rules.planted.has(Bug::FailureWakesNoTask) {
            return;
        }
        fence(Ordering::SeqCst);
        for batch in 0..BATCH_SLOTS {
            self.buffer.slot(batch).wakers.wake();
        }
    }
}
