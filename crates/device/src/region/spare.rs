//! Small mappings that a thread uses again. Control information, recovery and members make a region
//! for each write, and to unmap one interrupts every processor that runs a thread of the process.
//!
//! Invariants: a mapping is in one region or in one thread's store, never in both; what is taken
//! is all zeros; a thread keeps at most [`KEPT`] of [`MOST_BYTES`] each, and gives them back when
//! it ends. Only plain mappings come here: neither locked, nor kept from children, nor huge.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ptr::NonNull;

/// A larger mapping is given back to the system.
const MOST_BYTES: usize = 256 << 10;
/// Mappings that a thread keeps at most.
const KEPT: usize = 16;

struct Spare {
    base: NonNull<u8>,
    bytes: usize,
}

impl Drop for Spare {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone since its region was dropped.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "unmapping our own memory cannot fail");
    }
}

thread_local! {
    static SPARES: RefCell<Vec<Spare>> = const { RefCell::new(Vec::new()) };
}

/// A mapping of exactly `bytes`, all zeros, if this thread has one.
pub(super) fn take(bytes: usize) -> Option<NonNull<u8>> {
    if bytes > MOST_BYTES {
        return None;
    }
    let taken = SPARES.try_with(|spares| {
        let mut spares = spares.borrow_mut();
        // The newest is the one that a processor's cache is most likely to hold.
        let at = spares.iter().rposition(|spare| spare.bytes == bytes)?;
        let spare = spares.remove(at);
        let base = spare.base;
        std::mem::forget(spare);
        Some(base)
    });
    // A thread that is ending has none.
    let base = taken.ok().flatten()?;
    // SAFETY: the whole mapping, which nobody else has.
    unsafe { std::ptr::write_bytes(base.as_ptr(), 0, bytes) };
    Some(base)
}

/// Keeps a mapping whose region is gone; false where it has to be given back by the caller.
pub(super) fn keep(base: NonNull<u8>, bytes: usize) -> bool {
    if bytes > MOST_BYTES {
        return false;
    }
    let kept = SPARES.try_with(|spares| {
        let mut spares = spares.borrow_mut();
        if spares.len() == KEPT {
            spares.remove(0);
        }
        spares.push(Spare { base, bytes });
    });
    kept.is_ok()
}

#[cfg(test)]
mod tests {
    use crate::Region;

    #[test]
    fn a_mapping_that_is_used_again_is_all_zeros() {
        let mut region = Region::new(5000).expect("memory");
        region.bytes_mut().fill(7);
        let base = region.base() as usize;
        drop(region);
        let mut again = Region::new(8192).expect("memory");
        assert_eq!(again.base() as usize, base, "it is the same mapping");
        assert!(again.bytes_mut().iter().all(|byte| *byte == 0));
        let other = Region::new(8192).expect("memory");
        assert_ne!(other.base() as usize, base, "no two regions have it");
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_special_or_large_is_given_back() {
        let regions = |bytes: usize, count: usize| -> Vec<Region> {
            let new = |_| Region::new(bytes).expect("memory");
            (0..count).map(new).collect()
        };
        drop(regions(4096, 3 * super::KEPT));
        super::SPARES.with(|spares| assert_eq!(spares.borrow().len(), super::KEPT));
        let kept = || super::SPARES.with(|spares| spares.borrow().iter().map(|s| s.bytes).max());
        drop(regions(super::MOST_BYTES + 1, 1));
        assert_eq!(kept(), Some(4096));
        let special = Region::new(8192).expect("memory");
        special.keep_from_children().expect("known to this system");
        drop(special);
        let lock = crate::RegionOptions::default().lock(true);
        drop(Region::with(8192, lock).expect("memory"));
        assert_eq!(kept(), Some(4096));
    }
}
