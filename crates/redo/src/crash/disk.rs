//! The disks as blocking code sees them (recovery, control information): each operation is a
//! place where the rest of the log goes on, an operation fails, the process is killed or the
//! power is cut. What comes after a cut or a kill fails and has no effect.
#![allow(unsafe_code)]

use super::world::{Domain, World};
use device::queue::{Caps, LogDevice, Op, OpCompletion, Queue};
use device::{DeviceError, IoFailure, Region};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) const EIO: i32 = 5;

/// The world, shared with the devices in it.
pub(super) type Shared = Arc<Mutex<World>>;

pub(super) fn lock(world: &Shared) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of the two disks, for blocking callers.
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
        lock(&self.world).disk(self.domain).caps()
    }

    fn bytes(&self) -> u64 {
        lock(&self.world).disk(self.domain).bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        let inner = lock(&self.world).disk(self.domain).queue(region)?;
        Ok(Box::new(BlockingQueue {
            world: Arc::clone(&self.world),
            domain: self.domain,
            inner,
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        lock(&self.world).disk(self.domain).read(addr, out)
    }

    fn settle(&self) -> Result<(), device::queue::IoOrDevice> {
        device::queue::settle_by_flush(self)
    }
}

struct BlockingQueue {
    world: Shared,
    domain: Domain,
    inner: Box<dyn Queue>,
}

impl Queue for BlockingQueue {
    fn submit(&mut self, ops: &[Op]) {
        self.inner.submit(ops);
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        let mut world = lock(&self.world);
        world.blocked(self.domain);
        let before = out.len();
        self.inner.poll(out, false);
        if world.is_over() {
            for completion in &mut out[before..] {
                completion.result = Err(IoFailure { errno: EIO });
            }
        }
        out.len() - before
    }
}
