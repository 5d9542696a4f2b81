//! A disk in memory with a volatile write cache, for the deterministic crash simulation.
//!
//! A scheduler decides when each operation finishes, in which order and how; a crash decides,
//! physical sector by physical sector, which of the contents that the medium might hold survives.
//!
//! Invariants:
//! - Nothing happens by itself: an operation stays pending until [`SimDisk::finish`].
//! - A flush makes durable exactly the writes whose completion had been returned by poll before
//!   it was submitted, as `queue` promises, and never more: the weakest disk that keeps it.
//! - After a failed flush what it covered is never made durable by a later flush: the system may
//!   have dropped it.
//! - A failed or unfinished write may or may not have reached the medium, sector by sector.
//! - Source memory is compared between submission and completion; a difference is a violation.
//!
//! What it must not know: redo, or which content is right.
#![allow(unsafe_code)]

mod crash;
mod state;

pub use crash::{Crash, CrashChoice, CrashCoverage, CrashMix};

use crate::error::DeviceError;
use crate::queue::{Caps, IoOrDevice, LogDevice, Op, OpCompletion, Queue, settle_by_flush};
use crate::region::Region;
use state::State;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most that a write may transfer, bytes.
const MAX_IO_BYTES: u32 = 1 << 20;
/// The unit that a tear may leave whole, bytes.
const LOGICAL_BYTES: usize = 512;

/// An operation that the disk has and has not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// What [`SimDisk::finish`] takes; unique on the disk, ascending in the order of submission.
    pub ticket: u64,
    /// The queue, numbered in the order of creation from 0.
    pub queue: u32,
    /// The operation.
    pub op: Op,
}

/// How an operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpOutcome {
    /// As it should.
    Done,
    /// A write transfers only its first so many bytes and says so.
    Short(u64),
    /// It fails with this error number.
    Fail(i32),
}

/// The disk; clones are the same disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

impl SimDisk {
    /// A zeroed disk of `bytes` with physical sectors of `sector_bytes`. With `durable_writes` a
    /// finished write needs no flush.
    ///
    /// # Panics
    /// When the sector is no power of two of at least 512, or the size no multiple of it.
    #[must_use]
    pub fn new(bytes: usize, sector_bytes: usize, durable_writes: bool) -> SimDisk {
        SimDisk::with_image(vec![0; bytes], sector_bytes, durable_writes)
    }

    fn with_image(image: Vec<u8>, sector_bytes: usize, durable_writes: bool) -> SimDisk {
        assert!(sector_bytes.is_power_of_two() && sector_bytes >= LOGICAL_BYTES);
        assert!(image.len().is_multiple_of(sector_bytes));
        let state = State::new(image, sector_bytes, durable_writes);
        SimDisk {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// A disk of the same kind that holds what a crash left, with an empty cache.
    #[must_use]
    pub fn after_crash(&self, image: Vec<u8>) -> SimDisk {
        let state = self.lock();
        SimDisk::with_image(image, state.sector_bytes, state.durable_writes)
    }

    /// Sets the durable content from address 0 on.
    ///
    /// # Panics
    /// When `image` is longer than the disk, or something was written already.
    pub fn load(&self, image: &[u8]) {
        let mut state = self.lock();
        assert!(state.is_untouched(), "loading comes before writing");
        state.durable[..image.len()].copy_from_slice(image);
    }

    /// With `true`, each operation finishes with success inside `submit`, and those pending now
    /// finish too: for control files, recovery and set-up.
    pub fn set_immediate(&self, immediate: bool) {
        self.lock().set_immediate(immediate);
    }

    /// What waits to be finished, in the order of submission.
    #[must_use]
    pub fn pending(&self) -> Vec<Pending> {
        self.lock().pending()
    }

    /// Ends an operation; its queue's next poll returns the completion. A write's data is taken
    /// from its source now.
    ///
    /// # Panics
    /// When nothing of that ticket is pending, a flush is to be short, or a short write is to
    /// transfer more than it has.
    pub fn finish(&self, ticket: u64, outcome: OpOutcome) {
        self.lock().finish(ticket, outcome);
    }

    /// What the user of the disk did against the rules so far: memory that changed while the disk
    /// owned it, addresses outside the disk or not aligned.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    /// What is durable for certain; a crash leaves at least this in every decided sector.
    #[must_use]
    pub fn durable_image(&self) -> Vec<u8> {
        self.lock().durable.clone()
    }

    /// Power fails now: the image that a fresh disk would start from. The disk itself stays as it
    /// is, so that many crashes of one moment can be drawn.
    #[must_use]
    pub fn crash(&self, rng: &mut u64, mix: &CrashMix) -> Crash {
        crash::draw(&mut self.lock(), rng, mix)
    }

    /// The sectors that a crash now leaves undecided, for exhaustive enumeration.
    #[must_use]
    pub fn crash_choices(&self) -> Vec<CrashChoice> {
        crash::choices(&self.lock())
    }

    /// The crash in which the i-th sector of [`SimDisk::crash_choices`] takes option
    /// `choices[i]`: 0 is the durable content, then the volatile contents from the oldest on, and
    /// the last option is a torn sector.
    ///
    /// # Panics
    /// When the choices don't fit.
    #[must_use]
    pub fn crash_with(&self, choices: &[usize]) -> Crash {
        crash::chosen(&mut self.lock(), choices)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: a source is read at submission, at the end of its write and in between; an operation
// leaves those in flight before its completion can be returned.
unsafe impl LogDevice for SimDisk {
    fn caps(&self) -> Caps {
        let state = self.lock();
        Caps {
            logical_bytes: LOGICAL_BYTES as u32,
            physical_bytes: u32::try_from(state.sector_bytes).expect("a sector is small"),
            memory_align: 1,
            max_io_bytes: MAX_IO_BYTES,
            durable_writes: state.durable_writes,
            blocking: false,
        }
    }

    fn bytes(&self) -> u64 {
        self.lock().durable.len() as u64
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        let number = self.lock().new_queue();
        Ok(Box::new(SimQueue {
            disk: self.clone(),
            region,
            number,
        }))
    }

    /// The content as software sees it: the cache over what is durable.
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        if self.lock().read(addr, out) {
            return Ok(());
        }
        Err(DeviceError::Unsuitable {
            path: PathBuf::from("simulated disk"),
            what: format!("{} bytes at {addr} lie outside", out.len()),
        })
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        settle_by_flush(self)
    }
}

struct SimQueue {
    disk: SimDisk,
    region: Arc<Region>,
    number: u32,
}

impl Queue for SimQueue {
    fn submit(&mut self, ops: &[Op]) {
        let mut state = self.disk.lock();
        for op in ops {
            state.submit(self.number, *op, &self.region);
        }
    }

    /// Never blocks, also with `wait`: nobody but the caller's own thread could finish anything.
    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        self.disk.lock().poll(self.number, out)
    }
}

#[cfg(test)]
mod tests;
