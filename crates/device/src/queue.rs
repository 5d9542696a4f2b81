//! The seam between a log writer and whatever takes its writes.
//!
//! A device is a linear space of bytes, `0..bytes()`. Files, stripes and raw devices map that
//! space onto themselves. I/O goes through queues: a queue takes a batch of operations in one
//! call and completes them in any order.
//!
//! Invariants that every back end keeps:
//! - A flush covers the writes whose completion had been *returned by poll*, on any queue of the
//!   device, before the flush was submitted. It promises nothing about others.
//! - Where [`Caps::durable_writes`] holds, a completed write is durable by itself.
//! - A failed or short operation is reported as it is; nothing is retried, since after a failed
//!   flush the system may have dropped the data (docs/assumptions.md, 6).
//! - The memory of a write belongs to the device from submission until its completion is returned.
#![allow(unsafe_code)]

use crate::doorbell::Doorbell;
use crate::error::DeviceError;
use crate::region::Region;
use std::sync::Arc;
use std::time::Duration;

/// What a device can do and needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Smallest addressable unit, bytes; addresses and lengths are multiples of it where the
    /// back end bypasses the page cache.
    pub logical_bytes: u32,
    /// The medium's sector: what one interrupted write can destroy.
    pub physical_bytes: u32,
    /// Alignment that memory needs.
    pub memory_align: u32,
    /// Largest single transfer, bytes.
    pub max_io_bytes: u32,
    /// A completed write is durable without a flush.
    pub durable_writes: bool,
    /// Operations run inside `submit`.
    pub blocking: bool,
}

impl Caps {
    /// What each of several devices can do; `None` where there is none. Sectors are powers of two,
    /// so that the largest is a multiple of the others.
    #[must_use]
    pub fn common(each: impl IntoIterator<Item = Caps>) -> Option<Caps> {
        each.into_iter().reduce(|a, b| Caps {
            logical_bytes: a.logical_bytes.max(b.logical_bytes),
            physical_bytes: a.physical_bytes.max(b.physical_bytes),
            memory_align: a.memory_align.max(b.memory_align),
            max_io_bytes: a.max_io_bytes.min(b.max_io_bytes),
            durable_writes: a.durable_writes && b.durable_writes,
            blocking: a.blocking || b.blocking,
        })
    }
}

/// A contiguous piece of the region, bytes `at..at + len`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Offset in the region.
    pub at: usize,
    /// Length.
    pub len: usize,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Write the two pieces (the second may be empty: a ring's end) one after the other from
    /// `addr` on.
    Write {
        /// First byte in the device's space.
        addr: u64,
        /// Source.
        pieces: [Piece; 2],
    },
    /// Make durable every write whose completion was returned before this was submitted.
    Flush,
}

/// An operation. `id` is the caller's and comes back with the completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The caller's name for it, unique among those in flight on a queue.
    pub id: u64,
    /// What to do.
    pub kind: OpKind,
}

impl Op {
    /// Bytes that a write transfers; zero for a flush.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self.kind {
            OpKind::Write { pieces, .. } => pieces[0].len + pieces[1].len,
            OpKind::Flush => 0,
        }
    }
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoFailure {
    /// The system's error number (EIO, ENOSPC, …).
    pub errno: i32,
}

impl std::fmt::Display for IoFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", std::io::Error::from_raw_os_error(self.errno))
    }
}

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpCompletion {
    /// Which one.
    pub id: u64,
    /// Bytes transferred (zero for a flush); a short write is a success of fewer bytes.
    pub result: Result<u64, IoFailure>,
    /// Which worker of a [pool](crate::pool) carried it out, from 0; 0 where there are none.
    pub by: u16,
}

/// A place where a log can live.
///
/// # Safety
/// Others write to a region while a queue holds it. An implementation, its queues included, reads
/// only bytes that are named by a write that was submitted to a queue of that region, only between
/// the submission and the return of the completion, and changes none. A device that wraps another
/// keeps this by handing on the operations that it was given, or parts of them, and completions
/// only after the device below returned them.
///
/// ```compile_fail,E0200
/// use device::{Caps, DeviceError, LogDevice, Queue, Region};
/// use std::sync::Arc;
///
/// struct Leak(std::sync::mpsc::SyncSender<Arc<Region>>);
///
/// impl LogDevice for Leak {
///     fn caps(&self) -> Caps {
///         unreachable!()
///     }
///     fn bytes(&self) -> u64 {
///         0
///     }
///     fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
///         self.0.send(region).unwrap();
///         unreachable!()
///     }
///     fn read(&self, _: u64, _: &mut [u8]) -> Result<(), DeviceError> {
///         Ok(())
///     }
/// }
/// ```
pub unsafe trait LogDevice: Send + Sync {
    /// What it can do and needs.
    fn caps(&self) -> Caps;

    /// Size of its space, bytes.
    fn bytes(&self) -> u64;

    /// A new queue whose writes come from `region`. A queue belongs to one thread at a time.
    ///
    /// # Errors
    /// When the back end cannot serve the region.
    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError>;

    /// Reads `out.len()` bytes from `addr`, from the medium and not from the page cache where
    /// the system allows it. Blocking; for recovery and tools.
    ///
    /// # Errors
    /// When the device fails or the range lies outside it.
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError>;

    /// Makes durable everything that may be in a cache, also what others wrote: also what a process
    /// left behind that was killed. Unlike [`OpKind::Flush`], which covers this device's own writes
    /// and may find nothing to do, it always asks. Blocking; the fence of recovery.
    ///
    /// # Errors
    /// When the device fails, or was opened only to be read: nothing is known to be durable then.
    fn settle(&self) -> Result<(), IoOrDevice>;
}

/// A queue of a device.
pub trait Queue: Send {
    /// Submits operations in order. Errors come back as completions.
    fn submit(&mut self, ops: &[Op]);

    /// Appends finished operations to `out` and returns how many. With `wait`, blocks until
    /// there is at least one, unless none is in flight.
    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize;

    /// The back end's name in results.
    fn kind(&self) -> &'static str {
        "threads"
    }

    /// What this queue was asked for and does without, each in words with the reason; for the
    /// record of a run.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Sleeps until [`Queue::poll`] may have something to return, `bell` has been rung since
    /// `seen` was [read](Doorbell::read) from it, or `timeout` is over. May return early; the
    /// caller looks again at all that it waits for. Always the same bell.
    ///
    /// This default is for queues that run operations in `submit`: what they have, poll returned,
    /// so only the bell is waited for. A queue whose operations end later returns from here when
    /// one does: by ringing the bell itself, or by waiting for both.
    fn park(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        bell.wait_timeout(seen, timeout);
    }
}

/// Writes `bytes` at `addr` and makes them durable, blocking; for control information and file
/// headers, never in a commit's path.
///
/// # Errors
/// The operation that failed, or a short write as EIO.
pub fn write_durable(device: &dyn LogDevice, addr: u64, bytes: &[u8]) -> Result<(), IoOrDevice> {
    let region = Arc::new(Region::holding(bytes)?);
    let mut queue = device.queue(region)?;
    let pieces = [
        Piece {
            at: 0,
            len: bytes.len(),
        },
        Piece::default(),
    ];
    run_one(
        &mut *queue,
        Op {
            id: 1,
            kind: OpKind::Write { addr, pieces },
        },
        bytes.len() as u64,
    )?;
    flush(&mut *queue)
}

/// Flushes through a queue that has nothing else in flight, blocking.
///
/// # Errors
/// The flush's failure.
pub fn flush(queue: &mut dyn Queue) -> Result<(), IoOrDevice> {
    run_one(
        queue,
        Op {
            id: 2,
            kind: OpKind::Flush,
        },
        0,
    )
}

/// [`LogDevice::settle`] of a device whose flush is never left out.
///
/// # Errors
/// The flush's failure.
pub fn settle_by_flush(device: &dyn LogDevice) -> Result<(), IoOrDevice> {
    let mut queue = device.queue(Arc::new(Region::new(1)?))?;
    flush(&mut *queue)
}

/// Carries out one operation on a queue that has nothing else in flight, blocking; `expected` are
/// the bytes that it transfers.
///
/// # Errors
/// Its failure; a write that transferred less.
pub fn run_one(queue: &mut dyn Queue, op: Op, expected: u64) -> Result<(), IoOrDevice> {
    const EIO: i32 = 5;
    queue.submit(&[op]);
    let mut done = Vec::with_capacity(1);
    while done.is_empty() {
        queue.poll(&mut done, true);
    }
    match done[0].result {
        Ok(bytes) if bytes == expected => Ok(()),
        Ok(_) => Err(IoOrDevice::Io(IoFailure { errno: EIO })),
        Err(failure) => Err(IoOrDevice::Io(failure)),
    }
}

/// A failed operation, or a device that could not even be asked.
#[derive(Debug, thiserror::Error)]
pub enum IoOrDevice {
    /// The operation failed.
    #[error("{0}")]
    Io(IoFailure),
    /// The device refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
