//! Workers: a queue of many operations at once out of queues that block.
//!
//! Each worker is a thread with a queue of its own on the same device. `submit` hands operations
//! to idle workers, the lowest number first, so that few workers do most of the work and their
//! memory stays warm; what finds no idle worker waits for the first that becomes idle.
//!
//! Invariants:
//! - The rules of [`Queue`] hold across workers, because a device keeps them across its queues: a
//!   flush covers the writes whose completion *this* queue's poll has returned before it was
//!   submitted, whichever worker carries out either.
//! - Every operation completes exactly once, also when a worker dies in it: then as EIO.
//! - Dropping the queue waits for what is being carried out; what no worker had begun is dropped.
//!
//! What it must not know: what is written, and when.

use crate::cpus;
use crate::doorbell::Doorbell;
use crate::error::DeviceError;
use crate::fault::EIO;
use crate::queue::{IoFailure, LogDevice, Op, OpCompletion, Queue};
use crate::region::Region;
use measure::{Clock, Nanos, RealClock};
#[cfg(feature = "shuttle")]
use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(feature = "shuttle")]
use shuttle::thread::{Builder, JoinHandle};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
#[cfg(not(feature = "shuttle"))]
use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(feature = "shuttle"))]
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Workers of a pool at most.
pub const MAX_WORKERS: usize = 64;

/// The queue over the workers.
pub struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    in_flight: usize,
}

/// What a worker did, for callers that ask while it works.
pub struct WorkerStats {
    clock: Arc<dyn Clock>,
    operations: AtomicU64,
    idle: Mutex<Idle>,
}

impl std::fmt::Debug for WorkerStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerStats")
            .field("operations", &self.operations())
            .field("idle", &self.idle())
            .finish()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    ended: u64,
    ended_ns: u64,
    since: Option<Nanos>,
}

/// What a worker waited for operations so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleTime {
    /// Waits that have ended.
    pub ended: u64,
    /// It waits now.
    pub going_on: bool,
    /// Nanoseconds of all of them, that of the one that goes on until now included.
    pub ns: u64,
}

impl WorkerStats {
    /// Operations carried out.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// What it waited for operations so far.
    #[must_use]
    pub fn idle(&self) -> IdleTime {
        let idle = *self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let going_on = idle.since.map_or(0, |since| self.nanos_since(since));
        IdleTime {
            ended: idle.ended,
            going_on: idle.since.is_some(),
            ns: idle.ended_ns.saturating_add(going_on),
        }
    }

    fn waits(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.since.get_or_insert_with(|| self.clock.now());
    }

    fn works(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = idle.since.take() {
            idle.ended += 1;
            idle.ended_ns = idle.ended_ns.saturating_add(self.nanos_since(since));
        }
    }

    fn nanos_since(&self, start: Nanos) -> u64 {
        self.clock.now().since(start).0
    }
}

struct Shared {
    state: Mutex<State>,
    /// Somebody polls and waits.
    finished: Condvar,
    seats: Box<[Seat]>,
}

/// Where a worker sits.
struct Seat {
    bell: Doorbell,
    stats: Arc<WorkerStats>,
}

#[derive(Default)]
struct State {
    /// What each worker was given and has not taken.
    given: Vec<Option<Op>>,
    /// A bit for each worker that has nothing to do.
    idle: u64,
    /// What found no idle worker.
    backlog: VecDeque<Op>,
    done: Vec<OpCompletion>,
    /// Rung at each completion, once somebody has parked.
    bell: Option<Arc<Doorbell>>,
    polling: bool,
    stop: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workers {
    /// Starts `count` workers on `device` that write from `region`; the threads are called `lg00`
    /// and so on, and stay on `cpus` unless that is empty.
    ///
    /// # Errors
    /// When the device gives no queue, the system no thread, or a CPU is not to be had.
    ///
    /// # Panics
    /// When `count` is not 1 to [`MAX_WORKERS`].
    pub fn start(
        device: &dyn LogDevice,
        region: &Arc<Region>,
        count: usize,
        cpus: &[usize],
    ) -> Result<Workers, DeviceError> {
        let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
        Workers::start_by(&clock, device, region, count, cpus)
    }

    /// As [`Workers::start`], with idle times by `clock`.
    ///
    /// # Errors
    /// As [`Workers::start`].
    ///
    /// # Panics
    /// As [`Workers::start`].
    pub fn start_by(
        clock: &Arc<dyn Clock>,
        device: &dyn LogDevice,
        region: &Arc<Region>,
        count: usize,
        cpus: &[usize],
    ) -> Result<Workers, DeviceError> {
        assert!(
            (1..=MAX_WORKERS).contains(&count),
            "1 to {MAX_WORKERS} workers"
        );
        let refused = |source| DeviceError::Io {
            path: PathBuf::from("log writer workers"),
            action: "start",
            source,
        };
        if !cpus.is_empty() {
            cpus::check(cpus, &cpus::allowed().map_err(refused)?).map_err(refused)?;
        }
        let seat = || Seat {
            bell: Doorbell::default(),
            stats: Arc::new(WorkerStats {
                clock: Arc::clone(clock),
                operations: AtomicU64::new(0),
                idle: Mutex::default(),
            }),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                given: vec![None; count],
                idle: u64::MAX >> (64 - count),
                ..State::default()
            }),
            finished: Condvar::new(),
            seats: std::iter::repeat_with(seat).take(count).collect(),
        });
        let mut workers = Workers {
            shared,
            threads: Vec::with_capacity(count),
            in_flight: 0,
        };
        for number in 0..count {
            let (shared, cpus) = (Arc::clone(&workers.shared), cpus.to_vec());
            let queue = device.queue(Arc::clone(region))?;
            let thread = Builder::new()
                .name(format!("lg{number:02}"))
                .spawn(move || {
                    // It was checked above; a CPU that has gone since costs placement, not redo.
                    let _ = cpus::pin(&cpus);
                    work(&shared, number, queue);
                })
                .map_err(refused)?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// What each worker did so far, in their order.
    #[must_use]
    pub fn stats(&self) -> Vec<Arc<WorkerStats>> {
        self.shared
            .seats
            .iter()
            .map(|seat| Arc::clone(&seat.stats))
            .collect()
    }
}

impl Queue for Workers {
    fn submit(&mut self, ops: &[Op]) {
        let mut called = 0_u64;
        {
            let mut state = self.shared.lock();
            for op in ops {
                if state.idle == 0 {
                    state.backlog.push_back(*op);
                    continue;
                }
                let number = state.idle.trailing_zeros() as usize;
                state.idle &= state.idle - 1;
                state.given[number] = Some(*op);
                called |= 1 << number;
            }
        }
        self.in_flight += ops.len();
        for (number, seat) in self.shared.seats.iter().enumerate() {
            if called & 1 << number != 0 {
                seat.bell.ring();
            }
        }
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        let mut state = self.shared.lock();
        while wait && self.in_flight > 0 && state.done.is_empty() {
            state.polling = true;
            let woken = self.shared.finished.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
            state.polling = false;
        }
        let returned = state.done.len();
        out.append(&mut state.done);
        self.in_flight -= returned;
        returned
    }

    fn park(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        let known = |known: &Arc<Doorbell>| Arc::ptr_eq(known, bell);
        {
            let mut state = self.shared.lock();
            if !state.done.is_empty() {
                return;
            }
            if !state.bell.as_ref().is_some_and(known) {
                state.bell = Some(Arc::clone(bell));
            }
        }
        // Whatever ends from here on rings it, and `seen` was read before.
        bell.wait_timeout(seen, timeout);
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.stop = true;
            state.backlog.clear();
        }
        for seat in &self.shared.seats {
            seat.bell.ring();
        }
        for thread in self.threads.drain(..) {
            // One that died has left its completion behind, which nobody asks for any more.
            let _ = thread.join();
        }
    }
}

/// Ends the operation that a dying worker was carrying out.
struct Dies<'a> {
    shared: &'a Shared,
    number: usize,
    id: u64,
}

impl Drop for Dies<'_> {
    fn drop(&mut self) {
        let result = Err(IoFailure { errno: EIO });
        let by = self.number as u16;
        let completion = OpCompletion {
            id: self.id,
            result,
            by,
        };
        // It is not idle ever after: nothing is given to it. What waits for a worker fails too if
        // it was the last, which the writer, poisoned by this, does not wait for.
        tell(self.shared, completion);
    }
}

fn tell(shared: &Shared, completion: OpCompletion) {
    let mut state = shared.lock();
    state.done.push(completion);
    let bell = state.bell.clone();
    let polling = state.polling;
    drop(state);
    if polling {
        shared.finished.notify_one();
    }
    if let Some(bell) = bell {
        bell.ring();
    }
}

/// A worker's life.
fn work(shared: &Shared, number: usize, mut queue: Box<dyn Queue>) {
    let mut done = Vec::with_capacity(1);
    while let Some(op) = next(shared, number) {
        let dies = Dies {
            shared,
            number,
            id: op.id,
        };
        queue.submit(&[op]);
        while done.is_empty() {
            queue.poll(&mut done, true);
        }
        std::mem::forget(dies);
        let stats = &shared.seats[number].stats;
        stats.operations.fetch_add(1, Ordering::Relaxed);
        let completion = done.pop().expect("one operation, one completion");
        let by = number as u16;
        tell(shared, OpCompletion { by, ..completion });
    }
}

/// The next operation of a worker that has just ended one; waits for it. `None` to go home.
fn next(shared: &Shared, number: usize) -> Option<Op> {
    let seat = &shared.seats[number];
    let op = loop {
        let seen = seat.bell.read();
        {
            let mut state = shared.lock();
            if state.stop {
                break None;
            }
            let given = state.given[number].take();
            if let Some(op) = given.or_else(|| state.backlog.pop_front()) {
                // The backlog may have come to a worker that was marked idle at its start.
                state.idle &= !(1 << number);
                break Some(op);
            }
            state.idle |= 1 << number;
        }
        seat.stats.waits();
        seat.bell.wait(seen);
    };
    seat.stats.works();
    op
}

#[cfg(test)]
mod tests;
