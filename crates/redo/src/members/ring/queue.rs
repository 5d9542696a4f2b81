//! The queue over a disk and its ring: what is complete, and what the ring is given.
//!
//! Invariants: a write is complete when the disk or the ring has completed it; a flush is complete
//! when everything that it covers is durable on the disk or on the ring, each block on one of them
//! at least; when the disk fails everything fails, and what the ring has is recovered by the next
//! opening; a ring that fails is given up, and nothing waits for it.

use super::keeper::{KEEPER_TIME, Keeper};
use super::tail::{Kept, Owner, Tail};
use super::{Patience, RingDevice, RingStanding};
use crate::control::RingKind;
use crate::members::driver::Lane;
use crate::members::lane::{Number, Upto};
use crate::members::queue::copy;
use device::queue::Queue;
use device::{DeviceError, Doorbell, IoFailure, Op, OpCompletion, OpKind, Region};
use measure::Nanos;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const EIO: i32 = 5;
/// One log write in so many may be hedged,
const HEDGED_PART: u64 = 20;
/// and so many at the begin, when there were none yet.
const HEDGED_FIRST: u64 = 64;

/// An operation that was not returned.
struct Pending {
    number: Number,
    id: u64,
    /// Of a write.
    bytes: u64,
    flush: bool,
}

/// What the disk was asked for and has not answered.
struct Asked {
    number: Number,
    flush: bool,
    since: Option<Nanos>,
}

/// What the log writer's queue and those who look at it share.
pub(super) struct Core {
    standing: Arc<RingStanding>,
    disk: Lane,
    tail: Tail,
    pending: Vec<Pending>,
    asked: VecDeque<Asked>,
    /// Writes that the disk has not durably.
    given: VecDeque<Number>,
    /// Flushes that the disk has not completed, each with the last write that it covers.
    flushes: VecDeque<(Number, Number)>,
    /// The last flush that the disk has completed.
    flushed: Number,
    submitted: Number,
    /// Bytes of all writes.
    submitted_bytes: u64,
    /// The last flush that was returned.
    acknowledged: Number,
    writes: u64,
    hedged: u64,
    /// The disk has failed, and the log with it.
    broken: bool,
}

/// The core of the queue that is open, if any.
pub(super) type Shared = Mutex<Option<Core>>;

pub(super) fn lock(shared: &Shared) -> MutexGuard<'_, Option<Core>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    fn submit_one(&mut self, op: Op, region: &Region) {
        self.submitted += 1;
        let number = self.submitted;
        let flush = op.kind == OpKind::Flush;
        // Before the disk has it.
        let clocked = matches!(self.standing.patience, Patience::Clock(_));
        let since =
            (clocked && self.standing.kind == RingKind::Failover).then(|| self.standing.now());
        match op.kind {
            OpKind::Write { addr, pieces } => {
                let bytes = (addr, op.bytes());
                self.submitted_bytes += op.bytes() as u64;
                let upto = Upto {
                    number,
                    bytes: self.submitted_bytes,
                };
                self.given.push_back(number);
                self.disk.write(upto, false, bytes, |to, room| {
                    copy(region, pieces, to, room);
                });
                let kept = self.tail.begin(number, bytes, |to, room| {
                    copy(region, pieces, to, room);
                });
                self.count(kept);
            }
            OpKind::Flush => {
                let pending = &self.pending;
                let returned = |write| pending.iter().all(|p| p.number != write);
                self.tail.cover(number, returned);
                // The disk's flush covers all writes before the first that was not returned.
                let covered = |write: &&Number| {
                    let older = |p: &Pending| !p.flush && p.number <= **write;
                    !pending.iter().any(older)
                };
                let covers = self.given.iter().rev().find(covered).copied();
                let covers = covers.unwrap_or(self.disk.durable().number);
                self.flushes.push_back((number, covers));
                self.disk.want(covers);
            }
        }
        self.asked.push_back(Asked {
            number,
            flush,
            since,
        });
        self.pending.push(Pending {
            number,
            id: op.id,
            bytes: op.bytes() as u64,
            flush,
        });
    }

    fn count(&mut self, kept: Kept) {
        self.writes += 1;
        let standing = &self.standing;
        standing.writes.fetch_add(1, Relaxed);
        let skipped = match kept {
            Kept::Yes | Kept::Failed => return,
            Kept::Busy => &standing.skip_busy,
            Kept::Large => &standing.skip_large,
        };
        skipped.fetch_add(1, Relaxed);
    }

    /// Takes what has ended and submits what may be.
    pub(super) fn pump(&mut self) {
        self.halt_if_told();
        self.disk.pump();
        self.broken |= self.disk.has_failed();
        let durable = self.disk.durable().number;
        let is_durable = |write: &Number| *write <= durable;
        while self.given.front().is_some_and(is_durable) {
            self.given.pop_front();
        }
        if !self.broken {
            let is_complete = |flush: &&(Number, Number)| flush.1 <= durable;
            while let Some(&(number, _)) = self.flushes.front().filter(is_complete) {
                self.flushed = number;
                self.flushes.pop_front();
            }
        }
        self.tail.pump();
        if self.standing.condemned.load(Relaxed) && !self.tail.failed {
            self.tail.fail();
        }
        let written = self.written();
        self.tail.release(self.flushed, |write| write <= written);
        while let Some(oldest) = self.asked.front() {
            let answered = match oldest.flush {
                true => self.flushed >= oldest.number,
                false => oldest.number <= written,
            };
            if !answered {
                break;
            }
            self.asked.pop_front();
        }
        if !self.broken {
            self.want();
            let flushes = self.pending.iter().filter(|p| p.flush).map(|p| p.number);
            self.tail.advance(flushes);
        }
        let standing = &self.standing;
        standing.lag_bytes.store(self.tail.lag_bytes(), Relaxed);
        standing.failed.store(self.tail.failed, Relaxed);
    }

    #[cfg(feature = "crash")]
    fn halt_if_told(&mut self) {
        if self.standing.is_halted() {
            self.disk.halt();
            self.tail.halt();
        }
    }

    #[cfg(not(feature = "crash"))]
    #[allow(clippy::unused_self)]
    fn halt_if_told(&self) {}

    /// Writes redo to the ring: all of it, or what the disk is late with.
    fn want(&mut self) {
        match self.standing.kind {
            RingKind::Ring => {
                let (wanted, _) = self.tail.want(u64::MAX);
                self.standing.ring_writes.fetch_add(wanted, Relaxed);
            }
            RingKind::Failover if self.is_late() => {
                let most = HEDGED_FIRST + self.writes / HEDGED_PART;
                let (wanted, more) = self.tail.want(most.saturating_sub(self.hedged));
                self.hedged += wanted;
                self.standing.ring_writes.fetch_add(wanted, Relaxed);
                if more {
                    self.standing.over_budget.store(true, Relaxed);
                }
            }
            RingKind::Failover => {}
        }
    }

    /// The disk has not answered within the delay.
    fn is_late(&self) -> bool {
        let Some(oldest) = self.asked.front() else {
            return false;
        };
        match &self.standing.patience {
            Patience::Clock(delay) => oldest
                .since
                .is_some_and(|since| self.elapsed(since) >= *delay),
            #[cfg(feature = "crash")]
            Patience::Drawn(late) => late.load(Relaxed),
        }
    }

    fn elapsed(&self, since: Nanos) -> Duration {
        Duration::from_nanos(self.standing.now().since(since).0)
    }

    /// How long to sleep at most until the disk is late.
    fn until_late(&self) -> Option<Duration> {
        let since = self.asked.front()?.since?;
        match &self.standing.patience {
            Patience::Clock(delay) => {
                let left = delay.saturating_sub(self.elapsed(since));
                (!left.is_zero()).then_some(left)
            }
            #[cfg(feature = "crash")]
            Patience::Drawn(_) => None,
        }
    }

    fn is_complete(&self, pending: &Pending) -> bool {
        match pending.flush {
            true => {
                self.flushed >= pending.number || self.tail.is_durable(pending.number, self.flushed)
            }
            false => pending.number <= self.written() || self.tail.has_written(pending.number),
        }
    }

    /// Returns what is complete.
    fn deliver(&mut self, out: &mut Vec<OpCompletion>) -> usize {
        let before = out.len();
        let mut at = 0;
        while at < self.pending.len() {
            let pending = &self.pending[at];
            let result = match (self.broken, self.is_complete(pending)) {
                (true, _) => Err(IoFailure { errno: EIO }),
                (false, true) => Ok(pending.bytes),
                (false, false) => {
                    at += 1;
                    continue;
                }
            };
            let pending = self.pending.remove(at);
            if pending.flush && result.is_ok() {
                self.acknowledged = self.acknowledged.max(pending.number);
                let standing = &self.standing;
                standing.flushes.fetch_add(1, Relaxed);
                if self.flushed < pending.number {
                    standing.first.fetch_add(1, Relaxed);
                    let lag = self.tail.lag_bytes();
                    standing.most_lag_bytes.fetch_max(lag, Relaxed);
                }
            }
            out.push(OpCompletion {
                id: pending.id,
                result,
                by: 0,
            });
        }
        out.len() - before
    }

    /// The disk has completed all writes up to this one; none of a disk that failed.
    fn written(&self) -> Number {
        match self.broken {
            true => 0,
            false => self.disk.complete(),
        }
    }

    /// Nothing is on its way to the disk or to the ring.
    pub(super) fn is_idle(&self) -> bool {
        self.disk.is_idle() && self.tail.is_idle()
    }

    /// What is on its way, to either, does not move.
    fn hangs(&self) -> bool {
        let patience = self.standing.member_patience();
        let disk = self.disk.is_idle() || self.disk.hangs(patience);
        disk && (self.tail.is_idle() || self.tail.hangs(patience))
    }

    /// What is left cannot be written: the log is closed, the disk does not answer, and the ring
    /// has no room, or hangs. All of it fails; what was acknowledged is on one of them.
    fn give_up_disk(&mut self, out: &mut Vec<OpCompletion>) -> usize {
        if self.pending.is_empty() || !self.is_given_up() || !self.hangs() {
            return 0;
        }
        self.broken = true;
        self.deliver(out)
    }

    /// The log is closed, and the disk does not answer.
    pub(super) fn is_given_up(&self) -> bool {
        self.standing.closes() && self.disk.hangs(self.standing.member_patience())
    }

    /// Whether the disk has durably what was acknowledged; `None` when it has failed.
    #[cfg(any(
        feature = "crash",
        all(test, not(any(feature = "loom", feature = "shuttle")))
    ))]
    pub(super) fn has_caught_up(&mut self) -> Option<bool> {
        let acknowledged = self.last_acknowledged();
        self.has_completed(acknowledged)
    }

    /// The last flush that was acknowledged. A ring that is to be given up acknowledges none
    /// behind it.
    pub(super) fn last_acknowledged(&mut self) -> Number {
        self.pump();
        self.acknowledged
    }

    /// Whether the disk has completed this flush; `None` when it has failed.
    pub(super) fn has_completed(&mut self, flush: Number) -> Option<bool> {
        self.pump();
        (!self.broken).then_some(self.flushed >= flush)
    }

    pub(super) fn overlay(&self, addr: u64, out: &mut [u8], mask: &mut [bool]) {
        self.tail.overlay(addr, out, mask);
    }
}

/// The queue that the log writer has.
pub(crate) struct RingQueue {
    shared: Arc<Shared>,
    region: Arc<Region>,
    bell: Arc<Doorbell>,
    blocking: bool,
    /// One of the two rings no bell.
    silent: bool,
    keeper: Option<Keeper>,
}

impl RingQueue {
    pub(super) fn new(ring: &RingDevice, region: Arc<Region>) -> Result<RingQueue, DeviceError> {
        let bell = Arc::new(Doorbell::default());
        let standing = Arc::clone(&ring.standing);
        let both = [&ring.disk, &ring.ring].map(|device| device.caps().blocking);
        let blocking = both.contains(&true);
        // What the disk has not written was not returned, or has a place on the ring.
        let memory = region.len() + standing.ring_bytes as usize;
        let (clock, memory) = (standing.clock(), (memory, false));
        let disk = Lane::open(0, &*ring.disk, memory, &bell, clock, ring.planted)?;
        let owner = Owner {
            log_id: ring.log_id,
            life: ring.life,
        };
        let bytes = standing.ring_bytes;
        let tail = Tail::open(&*ring.ring, bytes, owner, &bell, clock, ring.planted)?;
        *lock(&ring.shared) = Some(Core {
            standing,
            disk,
            tail,
            pending: Vec::new(),
            asked: VecDeque::new(),
            given: VecDeque::new(),
            flushes: VecDeque::new(),
            flushed: 0,
            submitted: 0,
            submitted_bytes: 0,
            acknowledged: 0,
            writes: 0,
            hedged: 0,
            broken: false,
        });
        let keeper = match blocking {
            true => {
                let (shared, bell) = (Arc::clone(&ring.shared), Arc::clone(&bell));
                let look = move || {
                    lock(&shared).as_mut().is_none_or(|core| {
                        core.pump();
                        if core.is_given_up() {
                            bell.ring();
                        }
                        core.is_idle()
                    })
                };
                Some(Keeper::start(look)?)
            }
            false => None,
        };
        Ok(RingQueue {
            shared: Arc::clone(&ring.shared),
            region,
            bell,
            blocking,
            silent: both.contains(&false),
            keeper,
        })
    }

    /// Takes what is complete; also whether nothing will come, and how long to sleep at most.
    fn look(&mut self, out: &mut Vec<OpCompletion>) -> (usize, bool, Option<Duration>) {
        let mut core = lock(&self.shared);
        let Some(core) = core.as_mut() else {
            return (0, true, None);
        };
        core.pump();
        let mut returned = core.deliver(out);
        if returned == 0 {
            returned = core.give_up_disk(out);
        }
        let idle = core.is_idle();
        let over = core.pending.is_empty() && (idle || core.broken || core.hangs());
        if let (false, Some(keeper)) = (idle, &self.keeper) {
            keeper.call();
        }
        // A thread that waits with nothing to come looks at the clock.
        let until_late = match core.pending.is_empty() {
            true => Some(KEEPER_TIME),
            false => core.until_late(),
        };
        (returned, over, until_late)
    }
}

impl Queue for RingQueue {
    fn submit(&mut self, ops: &[Op]) {
        let mut core = lock(&self.shared);
        let Some(core) = core.as_mut() else { return };
        for op in ops {
            core.submit_one(*op, &self.region);
        }
        core.pump();
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        loop {
            let seen = self.bell.read();
            let (returned, over, timeout) = self.look(out);
            // A thread that waits with nothing to come gives the queue up to the disk.
            if returned > 0 || !wait || over || !self.blocking {
                return returned;
            }
            let timeout = match self.silent {
                true => Some(timeout.map_or(KEEPER_TIME, |t| t.min(KEEPER_TIME))),
                false => timeout,
            };
            self.bell.wait_timeout(seen, timeout);
        }
    }

    fn kind(&self) -> &'static str {
        "ring"
    }

    fn park(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        // The disk and the ring ring a bell of their own; look again soon.
        let soon = Duration::from_millis(1);
        bell.wait_timeout(seen, Some(timeout.map_or(soon, |t| t.min(soon))));
    }
}

impl Drop for RingQueue {
    /// What is in flight is waited for, as [`Lane::end`] says.
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.stop();
        }
        let core = lock(&self.shared).take();
        if let Some(mut core) = core {
            core.pump();
            let patience = core.standing.member_patience();
            core.disk.stop();
            core.disk.end(patience);
            core.tail.end(patience);
        }
    }
}
