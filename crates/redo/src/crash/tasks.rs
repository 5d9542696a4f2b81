//! Simulated tasks: commits that a session awaits, beside what it does next, and whose futures it
//! may drop before they are decided.
//!
//! They are on the lists of wakers that the engine uses. A dropped future cancels the waiting and
//! not the commit, which is written as if somebody waited.
//!
//! Invariant: a task that was not woken when its commit was decided is a broken promise.

use super::env::Env;
use crate::buffer::{BATCH_SLOTS, LogBuffer};
use crate::planted::Bug;
use crate::sync::Shared;
use crate::wakers::Registration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

/// Futures that a session has at most.
const MOST: usize = 8;

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A commit that is awaited, or was until its future was dropped.
struct Awaited {
    registration: Shared<Registration>,
    woken: Arc<Woken>,
    /// Its last record.
    number: usize,
    /// Somebody was asked to write it.
    posts: bool,
    dropped: bool,
}

/// What a session awaits.
#[derive(Default)]
pub(super) struct Tasks(Vec<Awaited>);

impl Tasks {
    pub(super) fn has_room(&self) -> bool {
        self.0.len() < MOST
    }

    pub(super) fn posts(&self) -> bool {
        self.0.iter().any(|awaited| awaited.posts)
    }

    /// The batch behind the last that one of them waits for or waited for.
    pub(super) fn waits_for(&self) -> Option<u64> {
        self.0.iter().map(|a| a.registration.batch + 1).max()
    }

    /// Awaits `batch`, which is not published.
    pub(super) fn begin(&mut self, buffer: &LogBuffer, batch: u64, number: usize, posts: bool) {
        let registration = Registration::new(batch);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        buffer.slot(batch).wakers.register(&registration, &waker);
        self.0.push(Awaited {
            registration,
            woken,
            number,
            posts,
            dropped: false,
        });
    }

    /// Takes what is decided; at times a future is dropped that is not.
    pub(super) fn step(&mut self, buffer: &LogBuffer, poisoned: bool, env: &mut Env) {
        let (decided, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|a| poisoned || buffer.published() > a.registration.batch);
        self.0 = left;
        for awaited in decided.iter().filter(|awaited| !awaited.dropped) {
            if !awaited.woken.0.load(Ordering::SeqCst) {
                env.violated("liveness: a task was not woken when its commit was decided");
            }
            if buffer.published() > awaited.registration.batch {
                env.coverage.tasks_durable += 1;
                env.acknowledge(awaited.number);
            } else {
                env.coverage.tasks_refused += 1;
            }
        }
        if !self.0.is_empty() && env.rng.chance(1, 16) {
            let at = env.rng.below(self.0.len() as u64) as usize;
            self.cancel(at, buffer, env);
        }
    }

    /// Drops a future.
    fn cancel(&mut self, at: usize, buffer: &LogBuffer, env: &mut Env) {
        let Some(awaited) = self.0.get_mut(at).filter(|awaited| !awaited.dropped) else {
            return;
        };
        awaited.dropped = true;
        env.coverage.cancelled += 1;
        let list = &buffer.slot(awaited.registration.batch).wakers;
        if env.planted.has(Bug::CancelLosesOthers) {
            list.lose();
        } else if list.forget(&awaited.registration) {
            list.sweep();
        }
    }
}

/// Wakes the tasks of these batches.
pub(super) fn wake(buffer: &LogBuffer, first: u64, upto: u64) {
    for batch in first..upto {
        buffer.slot(batch).wakers.wake();
    }
}

/// Wakes all tasks: the log failed.
pub(super) fn wake_all(buffer: &LogBuffer) {
    wake(buffer, 0, BATCH_SLOTS);
}
