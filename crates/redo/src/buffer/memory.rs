//! The log buffer's bytes. Under loom each byte is a tracked cell, so that two threads touching
//! one without order is an error; otherwise it is a [`device::Region`] that devices write from.
//!
//! Who may touch which byte when is the protocol of `buffer`; this module trusts its caller and
//! therefore stays private to it.
#![allow(unsafe_code)]

#[cfg(not(loom))]
use device::Region;
#[cfg(not(loom))]
use std::sync::Arc;

#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Memory {
    region: Arc<Region>,
}

#[cfg(not(loom))]
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

    /// Copies `bytes` to `at`; the caller owns that range by the buffer's protocol.
    #[inline]
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        self.region.fill(at, bytes);
    }

    /// Zeroes a range that the caller owns by the buffer's protocol.
    #[inline]
    pub(crate) fn zero(&self, at: usize, len: usize) {
        assert!(
            at <= self.len() && len <= self.len() - at,
            "range outside the log buffer"
        );
        // SAFETY: in bounds by the assert; the caller owns the range.
        unsafe { std::ptr::write_bytes(self.region.base().add(at), 0, len) }
    }

    /// Reads a range whose filling has happened before, by the buffer's protocol.
    #[inline]
    pub(crate) fn read<R>(&self, at: usize, len: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: all writers of the range were counted in before the caller came here.
        f(unsafe { self.region.slice(at, len) })
    }
}

#[cfg(loom)]
pub(crate) struct Memory {
    cells: Vec<loom::cell::UnsafeCell<u8>>,
}

// SAFETY: loom's cells check every access.
#[cfg(loom)]
unsafe impl Sync for Memory {}
// SAFETY: as above.
#[cfg(loom)]
unsafe impl Send for Memory {}

#[cfg(loom)]
impl Memory {
    pub(crate) fn cells(len: usize) -> Memory {
        Memory {
            cells: (0..len).map(|_| loom::cell::UnsafeCell::new(0)).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        for (cell, byte) in self.cells[at..at + bytes.len()].iter().zip(bytes) {
            // SAFETY: loom fails the test when the access is not exclusive.
            cell.with_mut(|p| unsafe { *p = *byte });
        }
    }

    pub(crate) fn zero(&self, at: usize, len: usize) {
        self.write(at, &vec![0; len]);
    }

    pub(crate) fn read<R>(&self, at: usize, len: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        let bytes: Vec<u8> = self.cells[at..at + len]
            .iter()
            // SAFETY: loom fails the test when a writer is not ordered before.
            .map(|cell| cell.with(|p| unsafe { *p }))
            .collect();
        f(&bytes)
    }
}
