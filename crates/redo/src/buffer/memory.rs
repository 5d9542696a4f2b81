//! The log buffer's bytes. Under loom each byte is a tracked cell, so that two threads touching
//! one without order is an error; otherwise it is a [`device::Region`] that devices write from.
//!
//! Who may touch which byte when is the protocol of `buffer`; this module trusts its caller, so
//! that all its functions that touch bytes are `unsafe`.
#![allow(unsafe_code)]

#[cfg(not(feature = "loom"))]
use device::Region;
#[cfg(not(feature = "loom"))]
use std::sync::Arc;

#[cfg(not(feature = "loom"))]
#[derive(Debug)]
pub(crate) struct Memory {
    region: Arc<Region>,
}

#[cfg(not(feature = "loom"))]
impl Memory {
    pub(crate) fn new(region: Arc<Region>) -> Memory {
        Memory { region }
    }

    #[cfg(test)]
    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    pub(crate) fn len(&self) -> usize {
        self.region.len()
    }

    /// Copies `bytes` to `at`.
    ///
    /// # Safety
    /// The caller owns that range: nobody else reads or writes it meanwhile, devices included.
    #[inline]
    pub(crate) unsafe fn write(&self, at: usize, bytes: &[u8]) {
        // SAFETY: by the caller's promise.
        unsafe { self.region.write(at, bytes) }
    }

    /// Zeroes a range.
    ///
    /// # Safety
    /// As [`Memory::write`].
    #[inline]
    pub(crate) unsafe fn zero(&self, at: usize, len: usize) {
        assert!(
            at <= self.len() && len <= self.len() - at,
            "range outside the log buffer"
        );
        // SAFETY: in bounds by the assert; the caller owns the range.
        unsafe { std::ptr::write_bytes(self.region.base().add(at), 0, len) }
    }

    /// Reads a range.
    ///
    /// # Safety
    /// Nobody writes it meanwhile.
    #[inline]
    pub(crate) unsafe fn read<R>(&self, at: usize, len: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: by the caller's promise.
        f(unsafe { self.region.slice(at, len) })
    }
}

#[cfg(feature = "loom")]
pub(crate) struct Memory {
    cells: Vec<loom::cell::UnsafeCell<u8>>,
}

// SAFETY: loom's cells check every access.
#[cfg(feature = "loom")]
unsafe impl Sync for Memory {}
// SAFETY: as above.
#[cfg(feature = "loom")]
unsafe impl Send for Memory {}

#[cfg(feature = "loom")]
impl Memory {
    pub(crate) fn cells(len: usize) -> Memory {
        Memory {
            cells: (0..len).map(|_| loom::cell::UnsafeCell::new(0)).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// # Safety
    /// None is asked for: loom reports every access that is not exclusive.
    pub(crate) unsafe fn write(&self, at: usize, bytes: &[u8]) {
        for (cell, byte) in self.cells[at..at + bytes.len()].iter().zip(bytes) {
            // SAFETY: loom fails the test when the access is not exclusive.
            cell.with_mut(|p| unsafe { *p = *byte });
        }
    }

    /// # Safety
    /// As [`Memory::write`].
    pub(crate) unsafe fn zero(&self, at: usize, len: usize) {
        // SAFETY: loom looks.
        unsafe { self.write(at, &vec![0; len]) };
    }

    /// # Safety
    /// As [`Memory::write`].
    pub(crate) unsafe fn read<R>(&self, at: usize, len: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        let bytes: Vec<u8> = self.cells[at..at + len]
            .iter()
            // SAFETY: loom fails the test when a writer is not ordered before.
            .map(|cell| cell.with(|p| unsafe { *p }))
            .collect();
        f(&bytes)
    }
}
