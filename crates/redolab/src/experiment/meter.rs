//! The meter of a row: charges each log write to the budget, and ends the row when its share is
//! used.
//!
//! Invariants: the log is never failed for want of budget. The row is ended while its share still
//! holds the *tail*: all redo that sessions may have begun and that was not charged yet, in the
//! worst case. A log write is charged before its committers are released, so that a session which
//! waits has at most one transaction in the tail, and one that does not wait what the log buffer
//! holds (`cli::limits`).
//!
//! What it must not know: what a row is for, and how shares are made.

use super::load::Control;
use crate::budget::{Budget, PAGE_BYTES};
use device::SyncMethod;
use redo::engine::LogWrite;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A checkpoint writes two copies of the control information, and flushes each.
pub const CHECKPOINT_BYTES: u64 = 64 << 10;
/// The page cache charges at most so much more for each end of a write: a folio.
pub const FOLIO_BYTES: u64 = 2 << 20;
/// A captured event takes less in its part.
pub const EVENT_BYTES: u64 = 96;
/// The kernel's count is looked at after so many log writes at the latest.
const LOOK_WRITES: u64 = 512;

/// Charges log writes; shared by the log's observer and the thread that runs rows.
#[derive(Debug)]
pub struct Meter {
    budget: Arc<Budget>,
    block_bytes: AtomicU64,
    /// Writes go through the page cache.
    cached: AtomicBool,
    /// Events are captured.
    events: AtomicBool,
    /// The share of the next row, and its tail.
    share: Mutex<Option<(u64, u64)>>,
    control: Mutex<Option<Arc<Control>>>,
    /// Used bytes of the budget at which the row is ended, and its warm-up.
    end_at: AtomicU64,
    warm_at: AtomicU64,
    /// When the row was ended, on the log's clock; 0 while it goes on.
    ended_ns: AtomicU64,
    until_look: AtomicU64,
}

/// A warm-up uses at most this part of a row's share, as a divisor.
const WARM_UP_DIVISOR: u64 = 4;

impl Meter {
    /// Of a log whose writes `budget` bounds.
    #[must_use]
    pub fn new(budget: Arc<Budget>) -> Meter {
        Meter {
            budget,
            block_bytes: AtomicU64::new(PAGE_BYTES),
            cached: AtomicBool::new(true),
            events: AtomicBool::new(false),
            share: Mutex::default(),
            control: Mutex::default(),
            end_at: AtomicU64::new(u64::MAX),
            warm_at: AtomicU64::new(u64::MAX),
            ended_ns: AtomicU64::new(0),
            until_look: AtomicU64::new(0),
        }
    }

    /// What it charges.
    #[must_use]
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// The log was opened: its block size and how it writes.
    pub fn describe(&self, block_bytes: u32, method: SyncMethod) {
        let cached = matches!(method, SyncMethod::Buffered | SyncMethod::Dsync);
        self.block_bytes.store(block_bytes.into(), Ordering::SeqCst);
        self.cached.store(cached, Ordering::SeqCst);
    }

    /// Writes go through the page cache.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.cached.load(Ordering::SeqCst)
    }

    /// Every event is captured from now on, and stored.
    pub fn with_events(&self) {
        self.events.store(true, Ordering::SeqCst);
    }

    /// The next row may use `share` bytes, of which `tail` may come after it was ended.
    pub fn allow(&self, share: u64, tail: u64) {
        *lock(&self.share) = Some((share, tail));
    }

    /// A row begins.
    pub fn begin(&self, control: &Arc<Control>) {
        let (used, share) = (self.budget.used(), lock(&self.share).take());
        let at = |part: u64| used.saturating_add(part);
        let limits = share.map(|(share, tail)| share.saturating_sub(tail));
        let (end, warm) = limits.map_or((u64::MAX, u64::MAX), |part| {
            (at(part), at(part / WARM_UP_DIVISOR))
        });
        self.ended_ns.store(0, Ordering::SeqCst);
        self.until_look.store(0, Ordering::SeqCst);
        self.warm_at.store(warm, Ordering::SeqCst);
        *lock(&self.control) = share.map(|_| Arc::clone(control));
        self.end_at.store(end, Ordering::SeqCst);
    }

    /// The row is over.
    pub fn end(&self) {
        self.end_at.store(u64::MAX, Ordering::SeqCst);
        self.warm_at.store(u64::MAX, Ordering::SeqCst);
        *lock(&self.control) = None;
        self.budget.compare();
    }

    /// The warm-up has used its part.
    #[must_use]
    pub fn is_warm(&self) -> bool {
        self.budget.used() >= self.warm_at.load(Ordering::Relaxed)
    }

    /// When the row was ended because its share is used, if it was.
    #[must_use]
    pub fn ended_ns(&self) -> Option<u64> {
        Some(self.ended_ns.load(Ordering::SeqCst)).filter(|ns| *ns > 0)
    }

    /// Looks at the kernel's count, and ends the row at `now_ns` where its share is used.
    pub fn look(&self, now_ns: u64) {
        if self.end_at.load(Ordering::Relaxed) != u64::MAX {
            self.budget.compare();
            self.end_row_if_used(now_ns);
        }
    }

    /// Charges a log write. Called before its committers are released.
    pub fn log_write(&self, write: &LogWrite) {
        if self.budget.limit().is_none() {
            return;
        }
        self.budget.charge(self.cost(write));
        if self.end_at.load(Ordering::Relaxed) == u64::MAX {
            return;
        }
        self.look_now_and_then();
        self.end_row_if_used(write.stations.durable_ns);
    }

    fn cost(&self, write: &LogWrite) -> u64 {
        let block = self.block_bytes.load(Ordering::Relaxed);
        let mut cost = (u64::from(write.blocks) * block).next_multiple_of(PAGE_BYTES);
        if block < PAGE_BYTES || write.writes > 1 {
            cost += u64::from(write.writes.max(1)) * PAGE_BYTES;
        }
        if write.switched {
            cost += CHECKPOINT_BYTES;
        }
        if self.events.load(Ordering::Relaxed) {
            cost += (u64::from(write.commits) + 2) * EVENT_BYTES;
        }
        cost
    }

    /// Reads the kernel's count so often that what the page cache charges beyond our count cannot
    /// use up the share in between.
    fn look_now_and_then(&self) {
        let until = self.until_look.load(Ordering::Relaxed);
        if until > 0 {
            self.until_look.store(until - 1, Ordering::Relaxed);
            return;
        }
        self.budget.compare();
        let left = self
            .end_at
            .load(Ordering::Relaxed)
            .saturating_sub(self.budget.used());
        let next = match self.cached.load(Ordering::Relaxed) {
            true => (left / (2 * FOLIO_BYTES)).min(LOOK_WRITES),
            false => LOOK_WRITES,
        };
        self.until_look.store(next, Ordering::Relaxed);
    }

    fn end_row_if_used(&self, now_ns: u64) {
        if self.budget.used() < self.end_at.load(Ordering::Relaxed) {
            return;
        }
        let order = Ordering::SeqCst;
        let first = self
            .ended_ns
            .compare_exchange(0, now_ns.max(1), order, order);
        if first.is_ok()
            && let Some(control) = &*lock(&self.control)
        {
            control.until_ns.fetch_min(now_ns, order);
            control.stop.store(true, order);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Each value under it is replaced whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redo::engine::LogWrite;

    fn write(blocks: u32, at_ns: u64) -> LogWrite {
        LogWrite {
            batch: 1,
            commits: 1,
            redo_bytes: 1,
            blocks,
            writes: 1,
            flushes: 1,
            log_seq: 1,
            switched: false,
            checkpoint_wait_ns: 0,
            scalable: false,
            worker: None,
            group_wait_ns: 0,
            stations: redo::Stations {
                durable_ns: at_ns,
                ..Default::default()
            },
        }
    }

    #[test]
    fn a_row_ends_while_its_tail_still_fits() {
        let budget = Budget::of(Some(1 << 40));
        budget.compare();
        let meter = Meter::new(Arc::clone(&budget));
        meter.describe(4096, SyncMethod::Direct);
        let control = Arc::new(Control::new(None));
        meter.allow(100 * 4096, 20 * 4096);
        meter.begin(&control);
        for n in 1..=79 {
            meter.log_write(&write(1, n));
        }
        assert_eq!(meter.ended_ns(), None, "79 of 80 blocks are used");
        assert!(meter.is_warm());
        meter.log_write(&write(1, 80));
        meter.log_write(&write(1, 81));
        assert_eq!(meter.ended_ns(), Some(80));
        assert!(control.stop.load(Ordering::SeqCst));
        assert_eq!(control.until_ns.load(Ordering::SeqCst), 80);
        meter.end();
        meter.begin(&Arc::new(Control::new(None)));
        assert_eq!(meter.ended_ns(), None, "a row without a share goes on");
    }

    #[test]
    fn each_part_of_a_log_write_costs() {
        let meter = Meter::new(Budget::of(Some(1 << 40)));
        meter.describe(512, SyncMethod::Buffered);
        let cost = |blocks| meter.cost(&write(blocks, 1));
        assert_eq!((cost(1), cost(9)), (8192, 12_288));
        meter.describe(4096, SyncMethod::Direct);
        let switched = LogWrite {
            switched: true,
            writes: 2,
            ..write(3, 1)
        };
        assert_eq!(meter.cost(&write(3, 1)), 12_288);
        assert_eq!(meter.cost(&switched), 12_288 + 8192 + CHECKPOINT_BYTES);
        meter.with_events();
        assert_eq!(meter.cost(&write(1, 1)), 4096 + 3 * EVENT_BYTES);
    }
}
