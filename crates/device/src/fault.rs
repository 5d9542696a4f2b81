//! The fault device: any device, made to fail, crawl or answer in an order that a test chooses.
//!
//! Invariants: operations are counted over all queues in the order of their submission, from 1; a
//! failed operation does not reach the device below, a short write reaches it shortened; where the
//! device below runs operations in `submit`, the rest of a failed batch is cancelled, as a file
//! back end does.
//!
//! What it must not know: why something is written, or what a log does about a failure.
#![allow(unsafe_code)]

mod gate;

pub use gate::{Gate, Hang, HeldOperation};

use crate::doorbell::Doorbell;
use crate::error::DeviceError;
use crate::queue::{
    Caps, IoFailure, IoOrDevice, LogDevice, Op, OpCompletion, OpKind, Piece, Queue,
};
use crate::region::Region;
use gate::GateState;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The system gave up on an operation because an earlier one failed.
pub const ECANCELED: i32 = 125;
/// The medium failed.
pub const EIO: i32 = 5;
/// The volume is full.
pub const ENOSPC: i32 = 28;
/// Interrupted by a signal.
pub const EINTR: i32 = 4;

/// Which calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// Queued writes.
    Write,
    /// Queued flushes.
    Flush,
    /// Blocking reads.
    Read,
}

/// What happens to the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails with this error number and does nothing.
    Errno(i32),
    /// A write transfers at most so many bytes and says so.
    Short(usize),
}

/// A fault and when it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Which calls.
    pub target: FaultTarget,
    /// The first call that is struck, counted from 1.
    pub nth: u64,
    /// How.
    pub fault: Fault,
    /// Every later call of the target too.
    pub for_good: bool,
}

/// Calls seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Writes, struck ones included.
    pub writes: u64,
    /// Flushes, struck ones included.
    pub flushes: u64,
    /// Reads, struck ones included.
    pub reads: u64,
    /// Calls that a fault struck.
    pub struck: u64,
}

/// Wraps a device and injects faults into it.
pub struct FaultDevice {
    inner: Arc<dyn LogDevice>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    plan: Mutex<Plan>,
    delay_ns: AtomicU64,
    gate: Arc<GateState>,
    queues: AtomicU32,
}

#[derive(Default)]
struct Plan {
    injections: Vec<Injection>,
    counts: FaultCounts,
}

impl FaultDevice {
    /// A device that does as `inner` does until a fault is planted.
    #[must_use]
    pub fn new(inner: Arc<dyn LogDevice>) -> FaultDevice {
        FaultDevice {
            inner,
            shared: Arc::default(),
        }
    }

    /// Adds a fault; of several that strike the same call the first added wins.
    ///
    /// # Panics
    /// When a call that transfers no bytes is to be short.
    pub fn inject(&self, injection: Injection) {
        let fits =
            matches!(injection.fault, Fault::Errno(_)) || injection.target == FaultTarget::Write;
        assert!(fits, "only a write can be short");
        self.shared.plan().injections.push(injection);
    }

    /// Forgets all faults; counting goes on.
    pub fn heal(&self) {
        self.shared.plan().injections.clear();
    }

    /// Calls seen so far.
    #[must_use]
    pub fn counts(&self) -> FaultCounts {
        self.shared.plan().counts
    }

    /// Sleeps so long before each queued operation, in `submit`.
    pub fn set_delay(&self, delay: Duration) {
        let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.shared.delay_ns.store(nanos, Ordering::Relaxed);
    }

    /// The device hangs after so many more calls, until what is returned is dropped.
    #[must_use]
    pub fn hang(&self, after: usize) -> Hang {
        Hang::begin(Arc::clone(&self.shared.gate), after)
    }

    /// From now on completions of queued operations are held until the gate releases them.
    /// Operations run below as always; only their completions wait.
    #[must_use]
    pub fn gate(&self) -> Gate {
        Gate::close(Arc::clone(&self.shared.gate))
    }
}

impl Shared {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before each call.
    fn delay(&self) {
        self.gate.wait_while_hung();
        let nanos = self.delay_ns.load(Ordering::Relaxed);
        if nanos > 0 {
            std::thread::sleep(Duration::from_nanos(nanos));
        }
    }
}

impl Plan {
    /// Counts a call and says what strikes it.
    fn strike(&mut self, target: FaultTarget) -> Option<Fault> {
        let count = match target {
            FaultTarget::Write => &mut self.counts.writes,
            FaultTarget::Flush => &mut self.counts.flushes,
            FaultTarget::Read => &mut self.counts.reads,
        };
        *count += 1;
        let now = *count;
        let strikes =
            |i: &&Injection| i.target == target && (now == i.nth || (i.for_good && now > i.nth));
        let fault = self.injections.iter().find(strikes).map(|i| i.fault);
        self.counts.struck += u64::from(fault.is_some());
        fault
    }
}

// SAFETY: the device below is given the operations that came, some of them shortened; completions
// are its own, or of operations that it was never given.
unsafe impl LogDevice for FaultDevice {
    fn caps(&self) -> Caps {
        self.inner.caps()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(FaultQueue {
            inner: self.inner.queue(region)?,
            shared: Arc::clone(&self.shared),
            number: self.shared.queues.fetch_add(1, Ordering::Relaxed),
            cancels: self.inner.caps().blocking,
            below: 0,
            arrived: Vec::new(),
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.shared.gate.wait_while_hung();
        match self.shared.plan().strike(FaultTarget::Read) {
            Some(Fault::Errno(errno)) => Err(DeviceError::Io {
                path: PathBuf::from("injected fault"),
                action: "read",
                source: std::io::Error::from_raw_os_error(errno),
            }),
            _ => self.inner.read(addr, out),
        }
    }

    /// Counts as a flush, and is struck as one.
    fn settle(&self) -> Result<(), IoOrDevice> {
        self.shared.gate.wait_while_hung();
        match self.shared.plan().strike(FaultTarget::Flush) {
            Some(Fault::Errno(errno)) => Err(IoOrDevice::Io(IoFailure { errno })),
            _ => self.inner.settle(),
        }
    }
}

struct FaultQueue {
    inner: Box<dyn Queue>,
    shared: Arc<Shared>,
    number: u32,
    /// After a failure the rest of a batch is cancelled.
    cancels: bool,
    /// Operations that the device below has.
    below: usize,
    /// Completions that were not yet returned.
    arrived: Vec<OpCompletion>,
}

impl Queue for FaultQueue {
    fn submit(&mut self, ops: &[Op]) {
        let mut passed = Vec::with_capacity(ops.len());
        let mut broken = false;
        for op in ops {
            if broken && self.cancels {
                self.fail(op.id, ECANCELED);
                continue;
            }
            self.shared.delay();
            let target = match op.kind {
                OpKind::Write { .. } => FaultTarget::Write,
                OpKind::Flush => FaultTarget::Flush,
            };
            let fault = self.shared.plan().strike(target);
            broken |= fault.is_some();
            match fault {
                None => passed.push(*op),
                Some(Fault::Short(bytes)) => passed.push(shortened(*op, bytes)),
                Some(Fault::Errno(errno)) => self.fail(op.id, errno),
            }
        }
        // Whoever sees an operation at the gate finds it counted.
        self.shared.gate.hold(self.number, ops);
        self.below += passed.len();
        self.inner.submit(&passed);
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        let gate = Arc::clone(&self.shared.gate);
        loop {
            self.below -= self.inner.poll(&mut self.arrived, false);
            let returned = gate.pass(self.number, &mut self.arrived, out);
            let in_flight = self.below + self.arrived.len();
            if returned > 0 || !wait || in_flight == 0 {
                return returned;
            }
            if self.arrived.is_empty() {
                self.below -= self.inner.poll(&mut self.arrived, true);
            } else {
                gate.wait(self.number, &self.arrived, self.below > 0);
            }
        }
    }

    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn notes(&self) -> &[String] {
        self.inner.notes()
    }

    /// What the gate releases rings no bell: while it holds something this sleeps in moments.
    fn park(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        const MOMENT: Duration = Duration::from_millis(1);
        if self.below + self.arrived.len() == 0 {
            return bell.wait_timeout(seen, timeout);
        }
        let moment = timeout.map_or(MOMENT, |t| t.min(MOMENT));
        self.inner.park(bell, seen, Some(moment));
    }
}

impl FaultQueue {
    fn fail(&mut self, id: u64, errno: i32) {
        let result = Err(IoFailure { errno });
        self.arrived.push(OpCompletion { id, result, by: 0 });
    }
}

/// The write, cut to its first `bytes`.
fn shortened(op: Op, bytes: usize) -> Op {
    let OpKind::Write { addr, pieces } = op.kind else {
        return op;
    };
    let first = pieces[0].len.min(bytes);
    let second = pieces[1].len.min(bytes - first);
    let cut = |piece: Piece, len| Piece { at: piece.at, len };
    let pieces = [cut(pieces[0], first), cut(pieces[1], second)];
    Op {
        id: op.id,
        kind: OpKind::Write { addr, pieces },
    }
}

#[cfg(test)]
mod tests;
