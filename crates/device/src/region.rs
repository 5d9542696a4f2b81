//! Memory that devices write from: aligned, optionally in huge pages, owned here.
//!
//! Invariants: the address never moves; the memory lives until the last `Arc` is dropped, and a
//! queue holds one, so it outlives every operation in flight. Who may touch which byte when is
//! the owner's business (the log buffer's protocol); this module only gives raw access.
#![allow(unsafe_code)]

use crate::error::DeviceError;
use rustix::mm::{MapFlags, ProtFlags};
use std::ptr::NonNull;

/// Smallest page of the machines that this runs on; regions are aligned to it at least.
pub const PAGE_BYTES: usize = 4096;
const HUGE_BYTES: usize = 2 << 20;

/// Aligned, zeroed memory.
#[derive(Debug)]
pub struct Region {
    base: NonNull<u8>,
    len: usize,
    mapped: usize,
    huge: bool,
}

// SAFETY: a region is plain memory; all access goes through raw pointers whose users synchronise.
unsafe impl Send for Region {}
// SAFETY: as above; `&Region` gives no safe way to alias mutable bytes but `fill`, see there.
unsafe impl Sync for Region {}

impl Region {
    /// At least `len` bytes in normal pages.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn new(len: usize) -> Result<Region, DeviceError> {
        Region::map(len.max(1), PAGE_BYTES, MapFlags::empty(), false)
    }

    /// At least `len` bytes, in huge pages where the system allows it ([`Region::is_huge`] says).
    ///
    /// # Errors
    /// When the system has no memory at all.
    pub fn huge(len: usize) -> Result<Region, DeviceError> {
        Region::map(len.max(1), HUGE_BYTES, MapFlags::HUGETLB, true).or_else(|_| Region::new(len))
    }

    fn map(len: usize, unit: usize, flags: MapFlags, huge: bool) -> Result<Region, DeviceError> {
        let mapped = len.div_ceil(unit) * unit;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = flags | MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a fresh anonymous mapping at an address of the system's choice aliases nothing.
        let base =
            unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), mapped, protection, flags) }
                .map_err(|e| DeviceError::Memory {
                    bytes: mapped,
                    source: e.into(),
                })?;
        let base = NonNull::new(base.cast::<u8>()).expect("mmap never returns null");
        Ok(Region {
            base,
            len,
            mapped,
            huge,
        })
    }

    /// First byte.
    #[inline]
    #[must_use]
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Usable bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never; a region has at least one byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Huge pages hold it.
    #[must_use]
    pub fn is_huge(&self) -> bool {
        self.huge
    }

    /// The bytes `at..at + len`.
    ///
    /// # Safety
    /// Nobody writes them while the slice lives.
    ///
    /// # Panics
    /// When the range lies outside the region.
    #[inline]
    #[must_use]
    pub unsafe fn slice(&self, at: usize, len: usize) -> &[u8] {
        assert!(
            at <= self.len && len <= self.len - at,
            "range outside the region"
        );
        // SAFETY: in bounds by the assert, initialised by mmap, unaliased by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.base().add(at), len) }
    }

    /// Copies `bytes` to offset `at`. For regions that one thread owns (set-up, control
    /// information); a shared log buffer writes through its own protocol.
    ///
    /// # Panics
    /// When the range lies outside the region.
    pub fn fill(&self, at: usize, bytes: &[u8]) {
        assert!(
            at <= self.len && bytes.len() <= self.len - at,
            "range outside the region"
        );
        // SAFETY: in bounds by the assert; source and target cannot overlap since no safe code
        // holds a slice of a region.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base().add(at), bytes.len()) }
    }

    /// Copies the bytes from offset `at` to `out`. As [`Region::fill`], for regions that one
    /// thread owns, and for a device that owns those bytes between submission and completion.
    ///
    /// # Panics
    /// When the range lies outside the region.
    pub fn copy_to(&self, at: usize, out: &mut [u8]) {
        assert!(
            at <= self.len && out.len() <= self.len - at,
            "range outside the region"
        );
        // SAFETY: in bounds by the assert; source and target cannot overlap since no safe code
        // holds a slice of a region.
        unsafe {
            std::ptr::copy_nonoverlapping(self.base().add(at), out.as_mut_ptr(), out.len());
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no queue holds it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.base().cast(), self.mapped) };
        debug_assert!(unmapped.is_ok(), "unmapping our own memory cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_aligned_and_zeroed() {
        for len in [1, 511, 4096, 70_000] {
            let region = Region::new(len).expect("memory");
            assert_eq!(region.base() as usize % PAGE_BYTES, 0);
            // SAFETY: nobody writes it.
            assert!(unsafe { region.slice(0, len) }.iter().all(|b| *b == 0));
        }
    }

    #[test]
    fn huge_falls_back_and_says_so() {
        let region = Region::huge(3 << 20).expect("memory");
        region.fill((3 << 20) - 4, b"tail");
        let mut tail = [0; 4];
        region.copy_to((3 << 20) - 4, &mut tail);
        assert_eq!(&tail, b"tail");
    }
}
