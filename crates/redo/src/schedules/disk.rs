//! A simulated disk that ends operations when the schedule has it, some with a failure.
//!
//! What it must not know: logs.
#![allow(unsafe_code)]

use super::{EIO, below};
use device::sim_disk::{OpOutcome, SimDisk};
use device::{Caps, DeviceError, Doorbell, LogDevice, Op, OpCompletion, Queue, Region};
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A disk that ends what it was given while others run.
pub(super) struct Drawn {
    pub(super) disk: SimDisk,
    /// As [`super::Case::fails`]; set when the log is open.
    pub(super) fails: Arc<AtomicU32>,
    /// As [`super::Case::blocking`].
    pub(super) blocking: bool,
}

// SAFETY: the disk below is given the operations that came.
unsafe impl LogDevice for Drawn {
    fn caps(&self) -> Caps {
        Caps {
            blocking: self.blocking,
            ..self.disk.caps()
        }
    }

    fn bytes(&self) -> u64 {
        self.disk.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(DrawnQueue {
            inner: self.disk.queue(region)?,
            disk: self.disk.clone(),
            fails: Arc::clone(&self.fails),
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.disk.read(addr, out)
    }

    fn settle(&self) -> Result<(), device::queue::IoOrDevice> {
        device::queue::settle_by_flush(self)
    }
}

struct DrawnQueue {
    inner: Box<dyn Queue>,
    disk: SimDisk,
    fails: Arc<AtomicU32>,
}

impl Queue for DrawnQueue {
    fn submit(&mut self, ops: &[Op]) {
        self.inner.submit(ops);
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        loop {
            thread::yield_now();
            let pending = self.disk.pending();
            if let Some(one) = pending.get(below(pending.len() as u32 + 1) as usize) {
                let fails = self.fails.load(Ordering::SeqCst);
                let fail = fails > 0 && below(fails) == 0;
                let outcome = if fail {
                    OpOutcome::Fail(EIO)
                } else {
                    OpOutcome::Done
                };
                self.disk.finish(one.ticket, outcome);
            }
            let returned = self.inner.poll(out, false);
            if returned > 0 || !wait || self.disk.pending().is_empty() {
                return returned;
            }
        }
    }

    fn park(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        if self.disk.pending().is_empty() {
            bell.wait_timeout(seen, timeout);
        } else {
            thread::yield_now();
        }
    }
}
