//! The null device: takes every write, keeps nothing, completes at once.
//!
//! It measures what everything above a device costs. Invariant: its completions are in order and
//! never fail, so a run on it says nothing about any medium; its caps say what it pretends to be.
#![allow(unsafe_code)]

use crate::error::DeviceError;
use crate::queue::{Caps, IoOrDevice, LogDevice, Op, OpCompletion, Queue};
use crate::region::Region;
use std::sync::Arc;

/// A device without a medium.
#[derive(Clone, Debug)]
pub struct NullDevice {
    bytes: u64,
    caps: Caps,
}

impl NullDevice {
    /// What a plain disk needs: 512-byte sectors on 4096-byte media, flushes, calls that block.
    pub const PLAIN: Caps = Caps {
        logical_bytes: 512,
        physical_bytes: 4096,
        memory_align: 512,
        max_io_bytes: 1 << 20,
        durable_writes: false,
        blocking: true,
    };

    /// A device of `bytes` that claims `caps`, so that both a write with a flush and a durable
    /// write can be driven.
    #[must_use]
    pub fn new(bytes: u64, caps: Caps) -> NullDevice {
        NullDevice { bytes, caps }
    }
}

// SAFETY: it never touches a region.
unsafe impl LogDevice for NullDevice {
    fn caps(&self) -> Caps {
        self.caps
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn queue(&self, _region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(NullQueue {
            done: Vec::with_capacity(64),
        }))
    }

    /// Zeros: nothing was kept.
    fn read(&self, _addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        out.fill(0);
        Ok(())
    }

    /// Nothing was kept.
    fn settle(&self) -> Result<(), IoOrDevice> {
        Ok(())
    }
}

struct NullQueue {
    done: Vec<OpCompletion>,
}

impl Queue for NullQueue {
    #[inline]
    fn submit(&mut self, ops: &[Op]) {
        self.done.extend(ops.iter().map(|op| OpCompletion {
            id: op.id,
            result: Ok(op.bytes() as u64),
            by: 0,
        }));
    }

    #[inline]
    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        let finished = self.done.len();
        out.append(&mut self.done);
        finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{OpKind, Piece};

    #[test]
    fn everything_completes_once_in_order() {
        let caps = NullDevice::PLAIN;
        let device = NullDevice::new(1 << 30, caps);
        assert_eq!((device.bytes(), device.caps()), (1 << 30, caps));
        let region = Arc::new(Region::new(4096).expect("memory"));
        let mut queue = device.queue(region).expect("queue");
        let pieces = [Piece { at: 0, len: 512 }, Piece { at: 1024, len: 512 }];
        let kind = OpKind::Write { addr: 0, pieces };
        let flush = OpKind::Flush;
        queue.submit(&[Op { id: 4, kind }, Op { id: 5, kind: flush }]);
        let mut done = Vec::new();
        assert_eq!(queue.poll(&mut done, true), 2);
        let seen: Vec<_> = done.iter().map(|c| (c.id, c.result)).collect();
        assert_eq!(seen, [(4, Ok(1024)), (5, Ok(0))]);
        assert_eq!(queue.poll(&mut done, true), 0);
    }

    #[test]
    fn what_was_written_reads_as_zeros() {
        let device = NullDevice::new(1 << 20, NullDevice::PLAIN);
        let mut read = [7; 1024];
        device.read(512, &mut read).expect("it never fails");
        assert_eq!(read, [0; 1024]);
    }
}
