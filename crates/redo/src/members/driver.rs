//! What carries out a member's operations: its queue where that does not block, otherwise threads
//! of its own. Both drive the same state machine, [`LaneState`], which knows neither.
//!
//! A thread takes what is next from the state machine when it has ended an operation, so that the
//! flush follows the write without a way through the log writer. The log writer's bell is rung when
//! something ended that it may wait for; not between a write and its flush, where flushes are so
//! fast that waking it would take longer.
//!
//! Invariants: each operation ends exactly once, also when its thread dies in it: then as EIO.
//! Dropping a lane waits for what is in flight, unless it was [ended](Lane::end).
//!
//! What it must not know: what is complete or durable, and what is wanted next.

use super::errands::{LOOK, is_late};
use super::lane::{Abilities, FLUSH, LaneState, LaneStatus, Number, Upto};
use crate::planted::{Bug, Planted};
use crate::sync::{Builder, JoinHandle, Mutex, MutexGuard};
use device::queue::{LogDevice, Queue};
use device::{DeviceError, Doorbell, IoFailure, Op, OpCompletion, OpKind, Piece, Region};
use measure::{Clock, Nanos};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

const EIO: i32 = 5;
/// A flush that takes less follows its write before the log writer is woken.
const FAST_FLUSH: Duration = Duration::from_micros(50);

/// A member in a queue.
pub(super) struct Lane {
    pub(super) member: usize,
    shared: Arc<Shared>,
    driver: Driver,
    done: Vec<OpCompletion>,
    /// How it was when it was looked at last.
    status: LaneStatus,
    /// It was different when [`Lane::pump`] returned last.
    moved: bool,
    planted: Planted,
}

enum Driver {
    /// The thread that submits and polls.
    Caller(Box<dyn Queue>),
    Threads(Vec<JoinHandle<()>>),
}

struct Shared {
    state: Mutex<Driven>,
    /// Rung when there is something to carry out.
    work: Doorbell,
    /// Rung when something has ended that the log writer may wait for.
    bell: Arc<Doorbell>,
    clock: Arc<dyn Clock>,
}

struct Driven {
    lane: LaneState,
    stop: bool,
    /// Since when each thread has carried out what it is at.
    begun: Vec<Option<Nanos>>,
    /// How long the last flush took.
    flush_time: Duration,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Driven> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    /// With threads of its own where the device blocks, which ring `bell`. `races` says that others
    /// of its cell may complete a write before it does.
    pub(super) fn open(
        member: usize,
        device: &dyn LogDevice,
        (bytes, races): (usize, bool),
        bell: &Arc<Doorbell>,
        clock: &Arc<dyn Clock>,
        planted: Planted,
    ) -> Result<Lane, DeviceError> {
        let caps = device.caps();
        let can = Abilities {
            durable_writes: caps.durable_writes,
            flushes_early: planted.has(Bug::FlushOfTheFirst),
            ..Abilities::of_a_cell(races, caps.max_io_bytes.into())
        };
        let region = Arc::new(Region::new(bytes)?);
        let lane = LaneState::new(Arc::clone(&region), can);
        let shared = Arc::new(Shared {
            state: Mutex::new(Driven {
                lane,
                stop: false,
                begun: vec![None; can.depth],
                flush_time: Duration::MAX,
            }),
            work: Doorbell::default(),
            bell: Arc::clone(bell),
            clock: Arc::clone(clock),
        });
        let mut opened = Lane {
            member,
            shared,
            driver: Driver::Threads(Vec::new()),
            done: Vec::new(),
            status: LaneStatus::default(),
            moved: false,
            planted,
        };
        if !caps.blocking {
            opened.driver = Driver::Caller(device.queue(region)?);
            return Ok(opened);
        }
        for number in 0..can.depth {
            let queue = device.queue(Arc::clone(&region))?;
            let thread = opened.start(number, queue)?;
            if let Driver::Threads(threads) = &mut opened.driver {
                threads.push(thread);
            }
        }
        Ok(opened)
    }

    fn start(&self, number: usize, queue: Box<dyn Queue>) -> Result<JoinHandle<()>, DeviceError> {
        let shared = Arc::clone(&self.shared);
        let name = format!("lgm{:02}.{number}", self.member);
        let thread = Builder::new().name(name);
        let thread = thread.spawn(move || carry_out(&shared, number, queue));
        thread.map_err(|source| DeviceError::Io {
            path: PathBuf::from(format!("threads of member {}", self.member)),
            action: "start",
            source,
        })
    }

    /// Gives it a write, as [`LaneState::write`] says; with `flush` one that is flushed.
    pub(super) fn write(
        &mut self,
        upto: Upto,
        flush: bool,
        at: (u64, usize),
        copy: impl FnOnce(&Region, [Piece; 2]),
    ) {
        self.change(|lane| {
            lane.write(upto, at, copy);
            if flush {
                lane.want(upto.number);
            }
        });
    }

    /// A flush is wanted that covers the writes up to this one.
    pub(super) fn want(&mut self, covers: Number) {
        self.change(|lane| lane.want(covers));
    }

    /// It is given up: nothing more is handed out.
    pub(super) fn fail(&mut self) {
        self.change(LaneState::fail);
    }

    /// It is given what comes behind `upto`.
    pub(super) fn begin_behind(&mut self, upto: Upto) {
        self.change(|lane| lane.begin_behind(upto));
    }

    /// Nothing is handed out while it is on hold.
    pub(super) fn hold(&mut self, on_hold: bool) {
        self.change(|lane| lane.hold(on_hold));
    }

    #[cfg(feature = "crash")]
    pub(super) fn halt(&mut self) {
        self.change(LaneState::halt);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.status.failed
    }

    /// All writes up to here are complete.
    pub(super) fn complete(&self) -> Number {
        self.status.complete.number
    }

    /// All writes up to here are durable.
    pub(super) fn durable(&self) -> Upto {
        self.status.durable
    }

    /// How it is, as it was seen last.
    pub(super) fn status(&self) -> LaneStatus {
        self.status
    }

    /// It moves when this does.
    pub(super) fn progress(&self) -> (Number, Number) {
        (self.status.complete.number, self.status.durable.number)
    }

    /// Bytes of its memory that are in use.
    pub(super) fn held_bytes(&self) -> u64 {
        self.status.held_bytes
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.status.in_flight > 0
    }

    /// Nothing of it is on its way or wanted.
    pub(super) fn is_idle(&self) -> bool {
        self.status.idle
    }

    fn change(&mut self, change: impl FnOnce(&mut LaneState)) {
        let mut driven = self.shared.lock();
        change(&mut driven.lane);
        match &mut self.driver {
            Driver::Caller(queue) => submit(&mut driven.lane, &mut **queue),
            Driver::Threads(_) => {
                let status = driven.lane.status();
                let ready = driven.lane.is_ready();
                drop(driven);
                self.take_in(status);
                if ready {
                    self.shared.work.ring();
                }
                return;
            }
        }
        let status = driven.lane.status();
        drop(driven);
        self.take_in(status);
    }

    fn take_in(&mut self, status: LaneStatus) {
        self.moved |= status != self.status;
        self.status = status;
    }

    /// Takes in what has ended; returns whether it is in another state than at the last call.
    pub(super) fn pump(&mut self) -> bool {
        let mut driven = self.shared.lock();
        if let Driver::Caller(queue) = &mut self.driver {
            queue.poll(&mut self.done, false);
            for completion in self.done.drain(..) {
                driven.lane.ended(completion);
            }
            submit(&mut driven.lane, &mut **queue);
        }
        let status = driven.lane.status();
        drop(driven);
        self.take_in(status);
        std::mem::take(&mut self.moved)
    }
}

impl Lane {
    /// When the oldest operation began that its threads are carrying out.
    pub(super) fn begun(&self) -> Option<Nanos> {
        self.shared.lock().begun.iter().flatten().min().copied()
    }

    /// An operation of its threads has been in flight for so long.
    pub(super) fn hangs(&self, patience: Duration) -> bool {
        let late = |begun| is_late(self.shared.clock.now().since(begun), patience);
        self.begun().is_some_and(late)
    }

    /// The log is closed: nothing is begun any more.
    pub(super) fn stop(&self) {
        self.shared.lock().stop = true;
    }

    /// After [`Lane::stop`]: what is in flight is waited for until it has been for as long as
    /// `patience`. Threads that hang are left behind then. The next process that opens the member
    /// meets no late write: their queues hold its lock.
    pub(super) fn end(&mut self, patience: Duration) {
        let Driver::Threads(_) = &self.driver else {
            return;
        };
        loop {
            let seen = self.shared.bell.read();
            if self.shared.lock().lane.status().in_flight == 0 {
                return;
            }
            if self.hangs(patience) && !self.planted.has(Bug::CloseWaitsForMember) {
                self.driver = Driver::Threads(Vec::new());
                return;
            }
            self.shared.bell.wait_timeout(seen, Some(LOOK));
        }
    }
}

fn submit(lane: &mut LaneState, queue: &mut dyn Queue) {
    while let Some(op) = lane.next() {
        queue.submit(&[op]);
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let Driver::Threads(threads) = &mut self.driver else {
            return;
        };
        self.shared.lock().stop = true;
        self.shared.work.bump();
        self.shared.work.wake_all();
        for thread in threads.drain(..) {
            if self.planted.has(Bug::MembersOutliveLog) {
                continue;
            }
            // One that died has ended its operation as failed.
            let _ = thread.join();
        }
    }
}

/// Ends the operation that a dying thread was carrying out.
struct Dies<'a> {
    shared: &'a Shared,
    number: usize,
    id: u64,
}

impl Drop for Dies<'_> {
    fn drop(&mut self) {
        let completion = OpCompletion {
            id: self.id,
            result: Err(IoFailure { errno: EIO }),
            by: 0,
        };
        let mut driven = self.shared.lock();
        driven.begun[self.number] = None;
        driven.lane.ended(completion);
        drop(driven);
        self.shared.bell.ring();
    }
}

/// A thread's life.
fn carry_out(shared: &Shared, number: usize, mut queue: Box<dyn Queue>) {
    let mut done = Vec::with_capacity(1);
    let mut next = None;
    loop {
        let Some(op) = next.take() else {
            let seen = shared.work.read();
            let mut driven = shared.lock();
            if driven.stop {
                return;
            }
            next = take(shared, number, &mut driven);
            drop(driven);
            if next.is_none() {
                shared.work.wait(seen);
            }
            continue;
        };
        let id = op.id;
        let dies = Dies { shared, number, id };
        queue.submit(&[op]);
        while done.is_empty() {
            queue.poll(&mut done, true);
        }
        std::mem::forget(dies);
        let completion = done.pop().expect("one operation, one completion");
        let quiet;
        {
            let mut driven = shared.lock();
            let begun = driven.begun[number].take();
            if let Some(begun) = begun.filter(|_| op.id == FLUSH) {
                driven.flush_time = Duration::from_nanos(shared.clock.now().since(begun).0);
            }
            driven.lane.ended(completion);
            next = if driven.stop {
                None
            } else {
                take(shared, number, &mut driven)
            };
            let flushes = next.is_some_and(|op: Op| op.kind == OpKind::Flush);
            quiet = flushes && driven.flush_time < FAST_FLUSH;
        }
        if !quiet {
            shared.bell.ring();
        }
    }
}

/// What a thread carries out next; another one is woken where there is more.
fn take(shared: &Shared, number: usize, driven: &mut Driven) -> Option<Op> {
    let next = driven.lane.next();
    driven.begun[number] = next.map(|_| shared.clock.now());
    if driven.lane.is_ready() {
        shared.work.ring();
    }
    next
}
