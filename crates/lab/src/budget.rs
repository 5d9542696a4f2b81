//! What the process may still write: one counter that every writer asks before it writes.
//!
//! Invariants: `taken` only grows by what a writer asked for, so that the sum of all that was
//! granted never exceeds the limit; the kernel's own count of the process (`/proc/self/io`), and of
//! the processes below it where there are some, is looked at now and then, and where it is higher
//! than ours (a page cache with large folios charges a whole folio for 4 KiB; a server asks for
//! nothing), the difference counts too. Without a limit everything is granted.
//!
//! What it must not know: who writes what. What the file system adds (metadata, its journal) is
//! written in the name of the kernel and is not counted.

use crate::observe::background::own_written_bytes;
use crate::observe::process_tree::ProcessTree;
use crate::safety::Refusal;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The unit in which the kernel charges writes through the page cache.
pub const PAGE_BYTES: u64 = 4096;

/// Bytes that a write of `bytes` at any offset costs at most: whole pages, and one more where it
/// begins inside a page.
#[must_use]
pub const fn pages(bytes: u64) -> u64 {
    bytes
        .div_ceil(PAGE_BYTES)
        .saturating_add(1)
        .saturating_mul(PAGE_BYTES)
}

/// A limit on what the process writes, and what of it is used.
#[derive(Debug)]
pub struct Budget {
    limit: Option<u64>,
    taken: AtomicU64,
    /// The most by which the kernel's count was ever higher than `taken`.
    excess: AtomicU64,
    /// The processes whose writes count, once it has started others.
    tree: Mutex<Option<ProcessTree>>,
}

impl Budget {
    /// A budget of `limit` bytes; everything where that is `None`.
    #[must_use]
    pub fn of(limit: Option<u64>) -> Arc<Budget> {
        Arc::new(Budget {
            limit,
            taken: AtomicU64::new(0),
            excess: AtomicU64::new(0),
            tree: Mutex::new(None),
        })
    }

    /// The limit, if there is one.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Bytes that are used: granted, or charged by the kernel beyond that.
    #[must_use]
    pub fn used(&self) -> u64 {
        let excess = self.excess.load(Ordering::Relaxed);
        self.taken.load(Ordering::Relaxed).saturating_add(excess)
    }

    /// Bytes that may still be written.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.limit
            .map_or(u64::MAX, |limit| limit.saturating_sub(self.used()))
    }

    /// Asks for `bytes` before they are written.
    ///
    /// # Errors
    /// [`Refusal::Spent`] when they do not fit; nothing may be written then.
    pub fn take(&self, bytes: u64) -> Result<(), Refusal> {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        let excess = self.excess.load(Ordering::Relaxed);
        let fits = |taken: u64| {
            let then = taken.checked_add(bytes)?;
            (then.checked_add(excess)? <= limit).then_some(then)
        };
        let order = Ordering::Relaxed;
        match self.taken.fetch_update(order, order, fits) {
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::Spent {
                used: self.used(),
                wanted: bytes,
                allowed: limit,
            }),
        }
    }

    /// Notes `bytes` that were written within what its writer had set aside.
    pub fn charge(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns `bytes` of what was taken and will not be written.
    pub fn give_back(&self, bytes: u64) {
        let less = |taken: u64| Some(taken.saturating_sub(bytes));
        let order = Ordering::Relaxed;
        let _ = self.taken.fetch_update(order, order, less);
    }

    /// Counts what the processes below this one write, too, from now on. Without a limit nothing
    /// happens.
    ///
    /// # Errors
    /// They cannot be counted.
    pub fn count_children(&self) -> io::Result<()> {
        if self.limit.is_some() {
            let mut tree = ProcessTree::default();
            tree.written_bytes()?;
            *self.tree.lock().unwrap_or_else(PoisonError::into_inner) = Some(tree);
        }
        Ok(())
    }

    /// Looks at the kernel's count. Without a limit, or without I/O accounting, nothing happens.
    pub fn compare(&self) {
        let Some(limit) = self.limit else {
            return;
        };
        let charged = match &mut *self.tree.lock().unwrap_or_else(PoisonError::into_inner) {
            // Children whose writes cannot be seen may have written anything.
            Some(tree) => Some(tree.written_bytes().unwrap_or(limit)),
            None => own_written_bytes(),
        };
        if let Some(charged) = charged {
            let more = charged.saturating_sub(self.taken.load(Ordering::Relaxed));
            self.excess.fetch_max(more, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_is_granted_than_the_limit() {
        let budget = Budget::of(Some(100 * PAGE_BYTES));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let budget = Arc::clone(&budget);
                let take = move || (0..100).filter(|_| budget.take(PAGE_BYTES).is_ok()).count();
                std::thread::spawn(take)
            })
            .collect();
        let granted: usize = threads.into_iter().map(|t| t.join().expect("ends")).sum();
        assert_eq!((granted, budget.left()), (100, 0));
        budget.give_back(2 * PAGE_BYTES);
        let told = budget.take(3 * PAGE_BYTES).expect_err("over the limit");
        assert!(told.to_string().contains("--max-write allows"), "{told}");
        assert_eq!(budget.take(2 * PAGE_BYTES), Ok(()));
        assert!(budget.take(u64::MAX).is_err(), "no overflow");
        assert_eq!(Budget::of(None).take(u64::MAX), Ok(()));
    }

    #[test]
    fn a_write_costs_whole_pages() {
        for (bytes, want) in [(0, 4096), (1, 8192), (4096, 8192), (4097, 12_288)] {
            assert_eq!(pages(bytes), want, "{bytes}");
        }
    }
}
