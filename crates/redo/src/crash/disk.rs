//! The disks as blocking code sees them (recovery, control information): each operation is a
//! place where the rest of the log goes on, an operation fails, the process is killed or the
//! power is cut. What comes after a cut or a kill fails and has no effect.
#![allow(unsafe_code)]

use super::disks::{Domain, EIO};
use super::world::World;
use device::queue::{Caps, LogDevice, Op, OpCompletion, Queue};
use device::{DeviceError, IoFailure, Region};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const ETIMEDOUT: i32 = 110;

/// The world, shared with the devices in it.
pub(super) type Shared = Arc<Mutex<World>>;

pub(super) fn lock(world: &Shared) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of the disks, for blocking callers.
pub(super) struct Blocking {
    world: Shared,
    domain: Domain,
}

impl Blocking {
    pub(super) fn shared(world: &Shared, domain: Domain) -> Arc<dyn LogDevice> {
        Arc::new(Blocking {
            world: Arc::clone(world),
            domain,
        })
    }
}

// SAFETY: the disk below is given the operations that came.
unsafe impl LogDevice for Blocking {
    fn caps(&self) -> Caps {
        lock(&self.world).env.disks.of(self.domain).caps()
    }

    fn bytes(&self) -> u64 {
        lock(&self.world).env.disks.of(self.domain).bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        let inner = lock(&self.world).env.disks.of(self.domain).queue(region)?;
        Ok(Box::new(BlockingQueue {
            world: Arc::clone(&self.world),
            domain: self.domain,
            inner: Some(inner),
            number: None,
            last: 0,
            dead: Vec::new(),
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        lock(&self.world).env.disks.of(self.domain).read(addr, out)
    }

    fn settle(&self) -> Result<(), device::queue::IoOrDevice> {
        device::queue::settle_by_flush(self)
    }
}

struct BlockingQueue {
    world: Shared,
    domain: Domain,
    /// None when its operation hangs, and is not waited for any more.
    inner: Option<Box<dyn Queue>>,
    /// Its number on the disk, once it was used.
    number: Option<u32>,
    /// The operation that was submitted last.
    last: u64,
    /// Operations that came after the process's end.
    dead: Vec<OpCompletion>,
}

impl Queue for BlockingQueue {
    fn submit(&mut self, ops: &[Op]) {
        let world = lock(&self.world);
        if let Some(inner) = self.inner.as_mut().filter(|_| !world.is_over()) {
            inner.submit(ops);
            self.last = ops.last().map_or(0, |op| op.id);
            let last = world.env.disks.of(self.domain).pending().pop();
            self.number = last.map(|pending| pending.queue).or(self.number);
            return;
        }
        let failure = |op: &Op| OpCompletion {
            id: op.id,
            result: Err(IoFailure { errno: EIO }),
            by: 0,
        };
        self.dead.extend(ops.iter().map(failure));
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        if !self.dead.is_empty() {
            let dead = self.dead.len();
            out.append(&mut self.dead);
            return dead;
        }
        let mut world = lock(&self.world);
        if !world.blocked(self.domain, self.number) {
            let (id, result) = (self.last, Err(IoFailure { errno: ETIMEDOUT }));
            out.push(OpCompletion { id, result, by: 0 });
            world.env.hangs.keep(self.inner.take());
            return 1;
        }
        let before = out.len();
        if let Some(inner) = &mut self.inner {
            inner.poll(out, false);
        }
        if world.is_over() {
            for completion in &mut out[before..] {
                completion.result = Err(IoFailure { errno: EIO });
            }
        }
        out.len() - before
    }
}
