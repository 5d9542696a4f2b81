//! The life of a log writer that has batches in flight while it waits: it holds the baton around
//! its steps only, and sleeps on one word that committers and completions ring alike.
//!
//! What it must not know: what a turn does, and on what queue.

use super::{Dies, SharedBaton};
use crate::error::Error;
use crate::planted::Bug;
use crate::sync::{Ordering, fence};
use crate::wait::WaitWord;
use std::sync::Arc;

/// What a turn of a pipelined log writer came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// There may be more to do at once.
    Again,
    /// The same, but others should run first.
    Yield,
    /// Nothing to do until an operation ends, somebody posts, or this time is over.
    Wait(Option<std::time::Duration>),
    /// The log was closed and nothing is in flight, or it was poisoned.
    Over,
}

impl<H> SharedBaton<H> {
    /// The life of a pipelined log writer. `turn` has the baton and says what comes next; `carry`
    /// has not: it hands over what the turn wanted done, takes what has ended, and sleeps where it
    /// is asked to, while the word is what it is given.
    ///
    /// Nothing is lost: the word is read before the turn looks at posts, at the open batch and at
    /// what has ended; a thread that changes one of these rings after it.
    pub(crate) fn pipeline(
        &self,
        mut turn: impl FnMut(&mut H) -> Turned,
        mut carry: impl FnMut(&Arc<WaitWord>, u32, Turned),
    ) {
        loop {
            let seen = self.post.read();
            let Ok(turned) = self.attend(&mut turn) else {
                return;
            };
            let late = self.rules.planted.has(Bug::ReadBellLate);
            let seen = if late { self.post.read() } else { seen };
            let dies = Dies(self);
            carry(&self.post, seen, turned);
            std::mem::forget(dies);
            if turned == Turned::Over {
                return;
            }
        }
    }

    /// What a queue does whose operation ended.
    #[cfg(feature = "loom")]
    pub(crate) fn ring(&self) {
        self.post.bump();
        self.post.wake(1);
    }

    /// One turn of a pipelined log writer with the baton; threads that it served are woken without.
    #[inline]
    fn attend(&self, turn: impl FnOnce(&mut H) -> Turned) -> Result<Turned, Error> {
        let holder = self.baton()?;
        let dies = Dies(self);
        // Where the turn unwinds, the baton is given up before the tasks are woken.
        let mut holder = holder;
        let first = self.buffer.published();
        let turned = turn(&mut holder);
        let upto = self.buffer.published();
        self.bump(first, upto);
        self.learn(first, upto);
        drop(holder);
        std::mem::forget(dies);
        fence(Ordering::SeqCst);
        for batch in first..upto {
            self.wake_batch(batch);
        }
        self.wake_tasks(first, upto);
        Ok(turned)
    }
}
