//! A ring: a small second member that holds the end of the log.
//!
//! The disk has the whole log; the ring has a part of what the disk does not have durably. To the
//! log writer both are one device, [`RingDevice`], which keeps the rules of one:
//! - a write is complete when the disk or the ring has completed it;
//! - a flush is complete when every block that it covers is durable on the disk or on the ring.
//!
//! So what is acknowledged is max(the disk, the end of the ring), and the ring has no hole to the
//! disk. A place in the ring is written anew when the disk's flush covers what is there. The ring
//! is not waited for: a write for which it has no room is skipped, and counted. With failover the
//! ring is written only when the disk does not answer within a delay.
//!
//! An opening gives the disk what the ring has, durably, before anything is built on it
//! ([`assemble`]). Batches name the life that wrote them; those of another life do not count, so
//! that the new life's control information empties the ring.
//!
//! What lives here: the device, its queue ([`queue`], [`keeper`]), the tail on the ring ([`tail`]),
//! the ring's bytes ([`format`], [`space`]) and opening. What it must not know: when to write,
//! sessions, commits.
#![allow(unsafe_code)]

mod assemble;
mod foresee;
mod format;
mod keeper;
mod queue;
mod space;
mod tail;

pub(crate) use assemble::{GivenRing, OpenedRing, RingAssembly, announce};
pub(crate) use foresee::foresee;
pub(crate) use format::{Announcement, RING_DATA_AT, is_unused};
pub(crate) use queue::RingQueue;

use super::{PATIENCE_NS, contest::nanos, errands::LOOK, errands::timed_out};
use crate::control::RingKind;
use crate::format::{LifeId, LogId};
use crate::planted::Planted;
use crate::sync::EngineClock;
use device::queue::{Caps, IoOrDevice, LogDevice, Queue};
use device::{DeviceError, IoFailure, Region};
use measure::{Clock, Nanos};
use queue::{Core, Shared, lock};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// When the disk is late.
#[derive(Debug)]
pub(crate) enum Patience {
    /// When it has not answered for so long.
    Clock(Duration),
    /// When the crash simulation says so.
    #[cfg(feature = "crash")]
    Drawn(AtomicBool),
}

/// How the ring of an open log is, for the log writer, the opening, and callers of `Log::ring`.
pub(crate) struct RingStanding {
    pub(crate) kind: RingKind,
    pub(crate) ring_bytes: u64,
    pub(crate) patience: Patience,
    clock: OnceLock<Arc<dyn Clock>>,
    /// For how long the end of the log waits for the disk or the ring while it does nothing, ns.
    member_patience_ns: AtomicU64,
    /// The log is closed.
    closes: AtomicBool,
    /// It is to be given up: somebody says so.
    condemned: AtomicBool,
    /// It was given up: nothing is acknowledged because of it any more.
    failed: AtomicBool,
    writes: AtomicU64,
    ring_writes: AtomicU64,
    flushes: AtomicU64,
    first: AtomicU64,
    skip_busy: AtomicU64,
    skip_large: AtomicU64,
    over_budget: AtomicBool,
    lag_bytes: AtomicU64,
    most_lag_bytes: AtomicU64,
    /// The simulated process has ended.
    #[cfg(feature = "crash")]
    halted: AtomicBool,
}

impl RingStanding {
    pub(crate) fn new(kind: RingKind, ring_bytes: u64, patience: Patience) -> RingStanding {
        RingStanding {
            kind,
            ring_bytes,
            patience,
            clock: OnceLock::new(),
            member_patience_ns: AtomicU64::new(PATIENCE_NS),
            closes: false.into(),
            condemned: false.into(),
            failed: false.into(),
            writes: 0.into(),
            ring_writes: 0.into(),
            flushes: 0.into(),
            first: 0.into(),
            skip_busy: 0.into(),
            skip_large: 0.into(),
            over_budget: false.into(),
            lag_bytes: 0.into(),
            most_lag_bytes: 0.into(),
            #[cfg(feature = "crash")]
            halted: false.into(),
        }
    }

    /// The clock by which the disk is late. Only the first counts.
    pub(crate) fn set_clock(&self, clock: Arc<dyn Clock>) {
        let _ = self.clock.set(clock);
    }

    /// The end of the log waits so long for the disk or the ring while it does nothing.
    pub(crate) fn set_member_patience(&self, time: Duration) {
        self.member_patience_ns.store(nanos(time), Relaxed);
    }

    fn member_patience(&self) -> Duration {
        Duration::from_nanos(self.member_patience_ns.load(Relaxed))
    }

    /// The log is closed: from now on nothing waits for a disk that hangs.
    pub(crate) fn close(&self) {
        self.closes.store(true, SeqCst);
    }

    pub(crate) fn closes(&self) -> bool {
        self.closes.load(SeqCst)
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        let real = || -> Arc<dyn Clock> { Arc::new(EngineClock::default()) };
        self.clock.get_or_init(real)
    }

    fn now(&self) -> Nanos {
        self.clock().now()
    }

    /// Has the queue give the ring up.
    pub(crate) fn condemn(&self) {
        self.condemned.store(true, Relaxed);
    }

    /// The ring was given up, or is before the queue returns anything more.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Relaxed) || self.condemned.load(Relaxed)
    }

    /// The simulated process ends: its queue submits nothing any more.
    #[cfg(feature = "crash")]
    pub(crate) fn halt(&self) {
        self.halted.store(true, Relaxed);
    }

    #[cfg(feature = "crash")]
    fn is_halted(&self) -> bool {
        self.halted.load(Relaxed)
    }

    /// How the ring is, without its path.
    pub(crate) fn report(&self) -> RingState {
        let get = |of: &AtomicU64| of.load(Relaxed);
        RingState {
            path: PathBuf::new(),
            ring_bytes: self.ring_bytes,
            in_use: !self.has_failed(),
            writes: get(&self.writes),
            ring_writes: get(&self.ring_writes),
            flushes: get(&self.flushes),
            first: get(&self.first),
            skip_busy: get(&self.skip_busy),
            skip_large: get(&self.skip_large),
            over_budget: self.over_budget.load(Relaxed),
            lag_bytes: get(&self.lag_bytes),
            most_lag_bytes: get(&self.most_lag_bytes),
        }
    }
}

/// How the ring of an open log is, and what it did since the log was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingState {
    /// Its place.
    pub path: PathBuf,
    /// Its size, bytes.
    pub ring_bytes: u64,
    /// It is in use; a ring that failed is given up until the log is opened again.
    pub in_use: bool,
    /// Log writes.
    pub writes: u64,
    /// Of those, the ones that were put on the ring. With failover, because the disk was late.
    pub ring_writes: u64,
    /// Flushes that were acknowledged.
    pub flushes: u64,
    /// Of those, the ones that were acknowledged because of the ring, before the disk had completed
    /// them.
    pub first: u64,
    /// Log writes that were not put on the ring because it was full of what the disk does not have.
    pub skip_busy: u64,
    /// Log writes that were not put on the ring because they were larger.
    pub skip_large: u64,
    /// With failover: the disk was late with more than 5 % of the log writes (and 64 more), and
    /// the log waited for it.
    pub over_budget: bool,
    /// What the disk does not have durably now, bytes of the log.
    pub lag_bytes: u64,
    /// The most that was acknowledged because of the ring and that the disk did not have durably,
    /// bytes: what would have been lost with the ring.
    pub most_lag_bytes: u64,
}

/// A disk and its ring as one device.
pub(crate) struct RingDevice {
    disk: Arc<dyn LogDevice>,
    ring: Arc<dyn LogDevice>,
    log_id: LogId,
    /// The life that the opening begins.
    life: LifeId,
    pub(crate) standing: Arc<RingStanding>,
    planted: Planted,
    shared: Arc<Shared>,
}

impl RingDevice {
    /// The same on other devices, which lead to the same disks.
    #[cfg(feature = "crash")]
    pub(crate) fn on(&self, disk: Arc<dyn LogDevice>, ring: Arc<dyn LogDevice>) -> RingDevice {
        RingDevice {
            disk,
            ring,
            log_id: self.log_id,
            life: self.life,
            standing: Arc::clone(&self.standing),
            planted: self.planted,
            shared: Arc::default(),
        }
    }

    /// Whether the disk has durably everything that was acknowledged; `None` when it has failed,
    /// or nobody writes any more.
    #[cfg(any(
        feature = "crash",
        all(test, not(any(feature = "loom", feature = "shuttle")))
    ))]
    pub(crate) fn has_caught_up(&self) -> Option<bool> {
        lock(&self.shared).as_mut()?.has_caught_up()
    }

    fn is_given_up(&self) -> bool {
        lock(&self.shared).as_ref().is_some_and(Core::is_given_up)
    }

    /// Waits until the disk has durably everything that was acknowledged before the call, though
    /// not what is acknowledged meanwhile: under load a ring is always ahead of its disk. What
    /// control information says rests on it: the disk may be opened without its ring.
    ///
    /// # Errors
    /// When the disk has failed, and ETIMEDOUT when the log is closed and the disk hangs.
    pub(crate) fn catch_up(&self) -> Result<(), IoOrDevice> {
        const EIO: i32 = 5;
        let acknowledged = lock(&self.shared).as_mut().map(Core::last_acknowledged);
        let has = |flush| lock(&self.shared).as_mut()?.has_completed(flush);
        loop {
            match acknowledged.and_then(has) {
                Some(true) => return Ok(()),
                Some(false) if self.is_given_up() => return Err(timed_out()),
                Some(false) => std::thread::sleep(LOOK),
                None => return Err(IoOrDevice::Io(IoFailure { errno: EIO })),
            }
        }
    }
}

// SAFETY: what the disk and the ring write is copied at submission, while the log owns the source,
// into memory of their queues alone.
unsafe impl LogDevice for RingDevice {
    /// Those of the disk; the ring's blocks are its own.
    fn caps(&self) -> Caps {
        let caps = self.disk.caps();
        Caps {
            durable_writes: false,
            blocking: caps.blocking || self.ring.caps().blocking,
            ..caps
        }
    }

    fn bytes(&self) -> u64 {
        self.disk.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(RingQueue::new(self, region)?))
    }

    /// What the disk has, and what was acknowledged and it has not yet. First the latter: what the
    /// disk makes durable meanwhile is there when it is read.
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let (mut over, mut mask) = (Vec::new(), Vec::new());
        if let Some(core) = lock(&self.shared).as_ref() {
            over.resize(out.len(), 0);
            mask.resize(out.len(), false);
            core.overlay(addr, &mut over, &mut mask);
        }
        self.disk.read(addr, out)?;
        for ((to, from), _) in out.iter_mut().zip(over).zip(mask).filter(|(_, mask)| *mask) {
            *to = from;
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        self.disk.settle()
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests;
