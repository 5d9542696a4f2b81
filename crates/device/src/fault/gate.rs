//! The gate of a fault device: completions wait in front of it until a test lets them through. Also
//! the device that hangs.
//!
//! Invariants: completions of a queue pass in the order of their release; what was submitted
//! before the gate was closed passes freely; a dropped gate is open, so that no thread is left
//! waiting.

use crate::queue::{Op, OpCompletion};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An operation whose completion is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldOperation {
    /// What [`Gate::release`] takes; unique on the device.
    pub ticket: u64,
    /// The queue, numbered in the order of creation from 0.
    pub queue: u32,
    /// The operation.
    pub op: Op,
}

/// Releases completions. Dropping it releases all and holds no more.
pub struct Gate {
    state: Arc<GateState>,
}

#[derive(Default)]
pub(super) struct GateState {
    inside: Mutex<Inside>,
    changed: Condvar,
}

/// A device that hangs: what it is asked, reads too, waits before it reaches the device below until
/// this is dropped.
pub struct Hang {
    state: Arc<GateState>,
}

impl Hang {
    pub(super) fn begin(state: Arc<GateState>, after: usize) -> Hang {
        let mut inside = state.lock();
        (inside.hangs, inside.before) = (inside.hangs + 1, after);
        drop(inside);
        Hang { state }
    }

    /// Waits until at least `count` calls hang; whether they did within `patience`.
    #[must_use]
    pub fn await_hanging(&self, count: usize, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        let mut inside = self.state.lock();
        while inside.hanging < count {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return false;
            };
            let waited = self.state.changed.wait_timeout(inside, left);
            inside = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Hang {
    fn drop(&mut self) {
        self.state.lock().hangs -= 1;
        self.state.changed.notify_all();
    }
}

#[derive(Default)]
struct Inside {
    /// Hangs that were not ended, and calls that wait for that.
    hangs: usize,
    /// Calls that pass before the device hangs.
    before: usize,
    hanging: usize,
    closed: bool,
    tickets: u64,
    held: Vec<HeldOperation>,
    released: Vec<HeldOperation>,
}

impl Gate {
    pub(super) fn close(state: Arc<GateState>) -> Gate {
        state.lock().closed = true;
        Gate { state }
    }

    /// What is held, in the order of submission.
    #[must_use]
    pub fn pending(&self) -> Vec<HeldOperation> {
        self.state.lock().held.clone()
    }

    /// Waits until at least `count` operations are held; what is held then, or `None` when
    /// `patience` ran out before.
    #[must_use]
    pub fn await_pending(&self, count: usize, patience: Duration) -> Option<Vec<HeldOperation>> {
        let end = Instant::now() + patience;
        let mut inside = self.state.lock();
        while inside.held.len() < count {
            let left = end.checked_duration_since(Instant::now())?;
            let waited = self.state.changed.wait_timeout(inside, left);
            inside = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(inside.held.clone())
    }

    /// Lets one completion through; false when nothing of that ticket is held.
    pub fn release(&self, ticket: u64) -> bool {
        let mut inside = self.state.lock();
        let Some(at) = inside.held.iter().position(|held| held.ticket == ticket) else {
            return false;
        };
        let held = inside.held.remove(at);
        inside.released.push(held);
        self.state.changed.notify_all();
        true
    }

    /// Lets all through that are held now, in the order of submission.
    pub fn release_all(&self) {
        self.state.release_all();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.state.lock().closed = false;
        self.state.release_all();
    }
}

impl GateState {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release_all(&self) {
        let mut inside = self.lock();
        let mut held = std::mem::take(&mut inside.held);
        inside.released.append(&mut held);
        self.changed.notify_all();
    }

    /// Waits while the device hangs.
    pub(super) fn wait_while_hung(&self) {
        let mut inside = self.lock();
        if inside.hangs == 0 || inside.before > 0 {
            inside.before = inside.before.saturating_sub(1);
            return;
        }
        inside.hanging += 1;
        self.changed.notify_all();
        while inside.hangs > 0 {
            let woken = self.changed.wait(inside);
            inside = woken.unwrap_or_else(PoisonError::into_inner);
        }
        inside.hanging -= 1;
    }

    /// Holds the completions of operations that are about to be submitted.
    pub(super) fn hold(&self, queue: u32, ops: &[Op]) {
        let mut inside = self.lock();
        if !inside.closed {
            return;
        }
        for op in ops {
            let ticket = inside.tickets;
            inside.tickets += 1;
            let op = *op;
            inside.held.push(HeldOperation { ticket, queue, op });
        }
        self.changed.notify_all();
    }

    /// Moves what may pass from `arrived` to `out`: the released in the order of their release,
    /// then what was never held.
    pub(super) fn pass(
        &self,
        queue: u32,
        arrived: &mut Vec<OpCompletion>,
        out: &mut Vec<OpCompletion>,
    ) -> usize {
        let before = out.len();
        let mut inside = self.lock();
        inside.released.retain(|released| {
            let is_it = |c: &OpCompletion| released.queue == queue && c.id == released.op.id;
            let found = arrived.iter().position(is_it);
            out.extend(found.map(|at| arrived.remove(at)));
            found.is_none()
        });
        let held = &inside.held;
        arrived.retain(|completion| {
            let stays = is_held(held, queue, completion.id);
            if !stays {
                out.push(*completion);
            }
            stays
        });
        out.len() - before
    }

    /// Blocks while all that arrived is held; with operations still `below`, whose completions
    /// come without a notice here, only for a moment.
    pub(super) fn wait(&self, queue: u32, arrived: &[OpCompletion], below: bool) {
        const MOMENT: Duration = Duration::from_millis(1);
        let mut inside = self.lock();
        while arrived.iter().all(|c| is_held(&inside.held, queue, c.id)) {
            if below {
                drop(self.changed.wait_timeout(inside, MOMENT));
                return;
            }
            let woken = self.changed.wait(inside);
            inside = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn is_held(held: &[HeldOperation], queue: u32, id: u64) -> bool {
    held.iter().any(|h| h.queue == queue && h.op.id == id)
}
