//! io_uring: queues over files that take operations and return at once.
//!
//! What lives here: [`UringFiles`], a [`FileSet`] whose queues are rings (`queue`), and what is
//! done where the system does not permit one. `ring` holds the system's side.
//!
//! Invariants:
//! - All promises of [`crate::queue`] and of [`FileSet`]: a flush covers the writes whose
//!   completion had been returned, on any queue of the set, threads' or rings'; a failed flush
//!   stays failed.
//! - The memory that a write names belongs to the kernel until its completion: a dropped queue
//!   waits for everything in flight.
//! - The log's lock is given up only when no request of a killed owner is left in a ring.
//! - A ring that is refused is replaced by a blocking queue, and a part of it that is refused
//!   (fixed buffer, fixed files) by the plain way; [`Queue::notes`] says which and why.
//!
//! A thread that submitted must live until what it submitted is complete: when a thread ends, the
//! kernel cancels what it had queued and not begun, and the queue reports that as a failure.
//!
//! Not used: IOPOLL, which needs a device with polled queues and writes that are durable by
//! themselves (a flush cannot be polled for), and SQPOLL, which takes a processor.
#![allow(unsafe_code)]

mod divide;
mod park;
mod parts;
mod queue;
mod ring;

use crate::doorbell::Doorbell;
use crate::error::DeviceError;
use crate::file::{FileSet, LockGuard};
use crate::queue::{Caps, IoOrDevice, LogDevice, Op, OpCompletion, Queue};
use crate::region::Region;
use queue::UringQueue;
use ring::Ring;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How rings are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UringOptions {
    /// Entries of the ring, a power of two, 8 to 4096.
    pub entries: u32,
    /// Register the region as a fixed buffer: no pages are looked up for each write. Pinned
    /// memory counts against the limit of locked memory.
    pub fixed_buffer: bool,
    /// A batch runs in its order, each operation after the one before it succeeded in full; the
    /// rest is cancelled (ECANCELED) after a failure, as where operations run in `submit`. A
    /// flush then also covers the writes before it in its batch. Without it the operations of a
    /// batch run side by side.
    pub linked: bool,
    /// Act as a system that refuses to set up a ring with this error number: for tests.
    pub refuse_setup: Option<i32>,
    /// A bug that a test plants: a flush counts writes in flight as durable.
    #[doc(hidden)]
    pub flush_ahead: bool,
}

impl Default for UringOptions {
    fn default() -> UringOptions {
        UringOptions {
            entries: 256,
            fixed_buffer: true,
            linked: false,
            refuse_setup: None,
            flush_ahead: false,
        }
    }
}

impl UringOptions {
    /// Sets the number of entries of the ring, a power of two from 8 to 4096. Default: 256.
    #[must_use]
    pub const fn entries(mut self, entries: u32) -> UringOptions {
        self.entries = entries;
        self
    }

    /// Sets whether the region is registered as a fixed buffer. Default: yes.
    #[must_use]
    pub const fn fixed_buffer(mut self, fixed_buffer: bool) -> UringOptions {
        self.fixed_buffer = fixed_buffer;
        self
    }

    /// Sets whether the operations of a batch are linked, so that they run in order. Default: no.
    #[must_use]
    pub const fn linked(mut self, linked: bool) -> UringOptions {
        self.linked = linked;
        self
    }

    /// Sets the error number with which setting up a ring is refused: for tests.
    #[must_use]
    pub const fn refuse_setup(mut self, refuse_setup: Option<i32>) -> UringOptions {
        self.refuse_setup = refuse_setup;
        self
    }

    fn ring(&self) -> Result<Ring, DeviceError> {
        if let Some(errno) = self.refuse_setup {
            let errno = rustix::io::Errno::from_raw_os_error(errno);
            return Err(ring::refused("set up")(errno));
        }
        Ring::new(self.entries.clamp(8, 4096).next_power_of_two())
    }

    /// Whether a ring can be had.
    ///
    /// # Errors
    /// [`DeviceError::Uring`] with the reason where it can't: a kernel without it, a seccomp
    /// filter, `kernel.io_uring_disabled`, too little locked memory.
    pub fn check(&self) -> Result<(), DeviceError> {
        self.ring().map(|_| ())
    }
}

/// Equal files end to end, written through rings.
#[derive(Debug)]
pub struct UringFiles {
    set: FileSet,
    options: UringOptions,
    /// What its rings hold beside the files, as long as its owner does.
    lock: Weak<OwnedFd>,
}

impl UringFiles {
    /// The files of `set`, written through rings.
    #[must_use]
    pub fn new(set: FileSet, options: UringOptions) -> UringFiles {
        UringFiles {
            set,
            options,
            lock: Weak::new(),
        }
    }

    /// Its rings hold this lock too. When a process is killed, the kernel ends its ring only after
    /// every request in it has ended, and gives up the lock no sooner: the next process that opens
    /// the files meets no late write.
    #[must_use]
    pub fn under_lock(mut self, lock: &LockGuard) -> UringFiles {
        self.lock = lock.shared();
        self
    }

    /// The files.
    #[must_use]
    pub fn files(&self) -> &FileSet {
        &self.set
    }
}

// SAFETY: the kernel reads what an entry names, an entry is made of a submitted write only, and a
// write completes after its last entry has ended. Of a ring that was given up writes end as failed
// before; what the kernel still reads then it reads for itself, and the region stays for ever.
unsafe impl LogDevice for UringFiles {
    fn caps(&self) -> Caps {
        Caps {
            blocking: false,
            ..self.set.caps()
        }
    }

    fn bytes(&self) -> u64 {
        self.set.bytes()
    }

    /// A ring; where it is refused, a queue that blocks, whose notes say so.
    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        match self.options.ring() {
            Ok(ring) => {
                let made = UringQueue::new(&self.set, region, ring, self.options, &self.lock)?;
                Ok(Box::new(made))
            }
            Err(refused) => Ok(Box::new(Replaced {
                inner: self.set.queue(region)?,
                notes: vec![format!(
                    "{refused}: the log is written with threads instead"
                )],
            })),
        }
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.set.read(addr, out)
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        self.set.settle()
    }
}

/// A blocking queue in a ring's place.
struct Replaced {
    inner: Box<dyn Queue>,
    notes: Vec<String>,
}

impl Queue for Replaced {
    fn submit(&mut self, ops: &[Op]) {
        self.inner.submit(ops);
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        self.inner.poll(out, wait)
    }

    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn park(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        self.inner.park(bell, seen, timeout);
    }
}

#[cfg(test)]
mod fork_tests;
#[cfg(test)]
mod lock_tests;
#[cfg(test)]
mod tests;
