//! What sessions count together.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of all sessions of a target; none ever goes back.
#[derive(Debug, Default)]
pub struct SessionTally {
    rolled_back: AtomicU64,
    retries: AtomicU64,
    returned: AtomicU64,
}

impl SessionTally {
    /// A new order was rolled back, as it was to be.
    pub fn add_rollback(&self) {
        self.rolled_back.fetch_add(1, Ordering::Relaxed);
    }

    /// A transaction is run again.
    pub fn add_retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// A session has ended in which so many transactions returned.
    pub fn add_returned(&self, transactions: u64) {
        self.returned.fetch_add(transactions, Ordering::Relaxed);
    }

    /// New orders that were rolled back.
    pub fn rolled_back(&self) -> u64 {
        self.rolled_back.load(Ordering::Relaxed)
    }

    /// Transactions that were run again.
    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// Transactions of sessions that have ended.
    pub fn returned(&self) -> u64 {
        self.returned.load(Ordering::Relaxed)
    }
}
