//! The meter of a row: charges each log write to the budget, and ends the row when its share is
//! used.
//!
//! Invariants: the log is never failed for want of budget. The row is ended while its share still
//! holds the *tail*: all redo that sessions may have begun and that was not charged yet, in the
//! worst case. A log write is charged when it is written, before its committers are released, so
//! that a session which waits has at most one transaction in the tail, and one that does not wait
//! what the log buffer holds (`cli::limits`). The kernel counts what is written at once: redo whose
//! flush is deferred would be counted twice if it were charged when it is durable.
//!
//! What a server writes asks for nothing and is seen in the kernel's count alone: where it writes
//! so much between two looks that the tail would not hold it, the row ends earlier.
//!
//! What it must not know: what a row is for, and how shares are made.

use crate::budget::{Budget, PAGE_BYTES};
use crate::experiment::measure::control::Control;
use device::SyncMethod;
use measure::Nanos;
use redo::engine::{LogWrite, WrittenBatch};
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
    /// How often each byte of redo is written.
    copies: AtomicU64,
    /// How often it is written once more by what runs beside the log.
    beside: AtomicU64,
    /// One of the copies is on a ring.
    ring: AtomicBool,
    /// Writes go through the page cache.
    cached: AtomicBool,
    /// Events are captured.
    events: AtomicBool,
    /// The share of the next row, and its tail.
    share: Mutex<Option<(u64, u64)>>,
    control: Mutex<Option<Arc<Control>>>,
    /// Used bytes of the budget when the row began, at which it is ended, and its warm-up.
    began_at: AtomicU64,
    end_at: AtomicU64,
    warm_at: AtomicU64,
    /// When the row was ended, on the log's clock; 0 while it goes on, [`BY_ITSELF`] when it came
    /// to its own end.
    ended_ns: AtomicU64,
    /// Sessions were stopped because the share is used.
    stopped: AtomicBool,
    until_look: AtomicU64,
    /// The target is a server, whose writes only the kernel counts.
    server: AtomicBool,
    /// Its tail, what was used at the last look, and bytes by which it ends earlier.
    tail: AtomicU64,
    seen: AtomicU64,
    ahead: AtomicU64,
}

/// The row of a server ends so many of the largest steps between two looks before its share is
/// used.
const LOOKS_AHEAD: u64 = 2;
/// A warm-up uses at most this part of a row's share, as a divisor; and so does the time between
/// it and the measured time of what is left then.
const WARM_UP_DIVISOR: u64 = 4;
/// That time is not shorter: sessions have to learn of the measured time before it begins.
const LEAST_LEAD: Nanos = Nanos::from_millis(2);
/// What [`Meter::ended_ns`] does not return: the row ended by itself.
const BY_ITSELF: u64 = u64::MAX;

impl Meter {
    /// Of a log whose writes `budget` bounds.
    #[must_use]
    pub fn new(budget: Arc<Budget>) -> Meter {
        Meter {
            budget,
            block_bytes: AtomicU64::new(PAGE_BYTES),
            copies: AtomicU64::new(1),
            beside: AtomicU64::new(0),
            ring: AtomicBool::new(false),
            cached: AtomicBool::new(true),
            events: AtomicBool::new(false),
            share: Mutex::default(),
            control: Mutex::default(),
            began_at: AtomicU64::new(0),
            end_at: AtomicU64::new(u64::MAX),
            warm_at: AtomicU64::new(u64::MAX),
            ended_ns: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            until_look: AtomicU64::new(0),
            server: AtomicBool::new(false),
            tail: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
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

    /// Each byte of redo is written so often: once to each member. `ring`: one of them is a ring,
    /// where each log write has a head of its own.
    pub fn set_copies(&self, copies: u64, ring: bool) {
        self.copies.store(copies, Ordering::SeqCst);
        self.ring.store(ring, Ordering::SeqCst);
    }

    /// What runs beside the log writes each byte of redo so often once more: to an archive, to a
    /// data file. It is charged with the log write, although it is written later.
    pub fn set_beside(&self, times: u64) {
        self.beside.store(times, Ordering::SeqCst);
    }

    /// The target is a server: what it writes is in the kernel's count of its processes.
    pub fn set_server(&self) {
        self.server.store(true, Ordering::SeqCst);
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
        self.budget.compare();
        let (used, share) = (self.budget.used(), lock(&self.share).take());
        let tail = share.map_or(0, |(_, tail)| tail);
        self.tail.store(tail, Ordering::SeqCst);
        self.seen.store(used, Ordering::SeqCst);
        self.ahead.store(0, Ordering::SeqCst);
        let at = |part: u64| used.saturating_add(part);
        let limits = share.map(|(share, tail)| share.saturating_sub(tail));
        let (end, warm) = limits.map_or((u64::MAX, u64::MAX), |part| {
            (at(part), at(part / WARM_UP_DIVISOR))
        });
        self.began_at.store(used, Ordering::SeqCst);
        self.ended_ns.store(0, Ordering::SeqCst);
        self.stopped.store(false, Ordering::SeqCst);
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

    /// How long before its measured time a row that began `elapsed` ago announces it, at most
    /// `most`: under a limit so long that a quarter of what is left of its share is used meanwhile,
    /// at the rate at which the row has written so far.
    #[must_use]
    pub fn lead(&self, elapsed: Nanos, most: Nanos) -> Nanos {
        let end_at = self.end_at.load(Ordering::Relaxed);
        if end_at == u64::MAX {
            return most;
        }
        let used = self.budget.used();
        let wrote = used.saturating_sub(self.began_at.load(Ordering::Relaxed));
        if wrote == 0 {
            // Nobody knows how fast it will write.
            return LEAST_LEAD;
        }
        let room = end_at.saturating_sub(used) / WARM_UP_DIVISOR;
        let fits = u128::from(room) * u128::from(elapsed.0) / u128::from(wrote);
        let fits = u64::try_from(fits).unwrap_or(u64::MAX);
        Nanos(fits).min(most).max(LEAST_LEAD)
    }

    /// When the row was ended because its share is used, if it was.
    #[must_use]
    pub fn ended_ns(&self) -> Option<u64> {
        Some(self.ended_ns.load(Ordering::SeqCst)).filter(|ns| *ns > 0 && *ns != BY_ITSELF)
    }

    /// Sessions were stopped because the share is used: in the measured time, or while they served
    /// what was due at its end.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// The measured time is over. What is written from now on ends nothing any more, nor did what
    /// was written since the planned end, where there is one. When the row was ended before, if
    /// it was.
    pub fn row_is_over(&self, planned_ns: Option<u64>) -> Option<u64> {
        let order = Ordering::SeqCst;
        let late = |at: u64| at == 0 || planned_ns.is_some_and(|planned| at >= planned);
        let by_itself = |at: u64| late(at).then_some(BY_ITSELF);
        // Where nothing changes, the row was ended before.
        let _ = self.ended_ns.fetch_update(order, order, by_itself);
        self.ended_ns()
    }

    /// Looks at the kernel's count, and ends the row at `now_ns` where its share is used. That time
    /// where it did.
    pub fn look(&self, now_ns: u64) -> Option<u64> {
        if self.end_at.load(Ordering::Relaxed) == u64::MAX {
            return None;
        }
        self.budget.compare();
        if self.server.load(Ordering::Relaxed) {
            let used = self.budget.used();
            let step = used.saturating_sub(self.seen.swap(used, Ordering::Relaxed));
            let tail = self.tail.load(Ordering::Relaxed);
            let ahead = step.saturating_mul(LOOKS_AHEAD).saturating_sub(tail);
            self.ahead.fetch_max(ahead, Ordering::Relaxed);
        }
        self.end_row_if_used(now_ns)
    }

    /// Charges a batch that is written. Called before its committers are released. When the row
    /// ended, where this write ended it.
    pub fn written(&self, write: &WrittenBatch) -> Option<u64> {
        self.budget.limit()?;
        self.budget.charge(self.cost(write));
        if self.end_at.load(Ordering::Relaxed) == u64::MAX {
            return None;
        }
        self.look_now_and_then();
        self.end_row_if_used(write.at_ns)
    }

    /// Charges what is stored of a log write.
    pub fn stored(&self, write: &LogWrite) {
        if self.budget.limit().is_some() && self.events.load(Ordering::Relaxed) {
            self.budget
                .charge((u64::from(write.commits) + 2) * EVENT_BYTES);
        }
    }

    fn cost(&self, write: &WrittenBatch) -> u64 {
        let block = self.block_bytes.load(Ordering::Relaxed);
        let mut cost = (u64::from(write.blocks) * block).next_multiple_of(PAGE_BYTES);
        if block < PAGE_BYTES || write.writes > 1 {
            cost += u64::from(write.writes.max(1)) * PAGE_BYTES;
        }
        if write.switched {
            cost += CHECKPOINT_BYTES;
        }
        let heads = match self.ring.load(Ordering::Relaxed) {
            true => u64::from(write.writes.max(1)) * PAGE_BYTES,
            false => 0,
        };
        let times = self.copies.load(Ordering::Relaxed) + self.beside.load(Ordering::Relaxed);
        cost.saturating_mul(times) + heads
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

    fn end_row_if_used(&self, now_ns: u64) -> Option<u64> {
        let ahead = self.ahead.load(Ordering::Relaxed);
        if self.budget.used().saturating_add(ahead) < self.end_at.load(Ordering::Relaxed) {
            return None;
        }
        let (order, at) = (Ordering::SeqCst, now_ns.max(1));
        let ended = self.ended_ns.compare_exchange(0, at, order, order);
        if let Some(control) = &*lock(&self.control) {
            if ended.is_ok() {
                control.until_ns.fetch_min(now_ns, order);
            }
            // Also after its end, where an open loop still serves what was due.
            if !control.stop.swap(true, order) {
                self.stopped.store(true, order);
            }
        }
        ended.is_ok().then_some(at)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Each value under it is replaced whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::measure::fixture::{large_budget, log_write, written_batch};

    fn write(blocks: u32, at_ns: u64) -> WrittenBatch {
        WrittenBatch {
            blocks,
            ..written_batch(at_ns)
        }
    }

    #[test]
    fn a_row_ends_while_its_tail_still_fits() {
        let meter = Meter::new(large_budget());
        meter.describe(4096, SyncMethod::Direct);
        let control = Arc::new(Control::new(None));
        meter.allow(100 * 4096, 20 * 4096);
        meter.begin(&control);
        for n in 1..=79 {
            assert_eq!(meter.written(&write(1, n)), None);
        }
        assert_eq!(meter.ended_ns(), None, "79 of 80 blocks are used");
        assert!(meter.is_warm());
        assert_eq!(meter.written(&write(1, 80)), Some(80), "it ends the row");
        assert_eq!(meter.written(&write(1, 81)), None, "once");
        assert_eq!((meter.ended_ns(), meter.has_stopped()), (Some(80), true));
        assert_eq!(meter.row_is_over(None), Some(80));
        assert!(control.stop.load(Ordering::SeqCst));
        assert_eq!(control.until_ns.load(Ordering::SeqCst), 80);
        meter.end();
        meter.begin(&Arc::new(Control::new(None)));
        assert_eq!(meter.ended_ns(), None, "a row without a share goes on");
    }

    /// A row with a share of 80 blocks and a tail.
    fn begun(wrote: u64) -> (Meter, Arc<Control>) {
        let meter = Meter::new(large_budget());
        meter.describe(4096, SyncMethod::Direct);
        let control = Arc::new(Control::new(None));
        meter.allow(100 * 4096, 20 * 4096);
        meter.begin(&control);
        for n in 1..=wrote {
            meter.written(&write(1, n));
        }
        (meter, control)
    }

    #[test]
    fn what_is_written_after_its_end_does_not_end_a_row() {
        // Its last transactions, after its planned end at 75.
        let (meter, control) = begun(79);
        control.stop.store(true, Ordering::SeqCst);
        assert_eq!(meter.row_is_over(Some(75)), None);
        assert_eq!(meter.written(&write(1, 80)), None);
        assert_eq!((meter.ended_ns(), meter.has_stopped()), (None, false));
        assert_eq!(control.until_ns.load(Ordering::SeqCst), u64::MAX);
        // The share was used between the planned end and the look at it.
        let (meter, _) = begun(80);
        assert_eq!(meter.row_is_over(Some(80)), None);
        let (meter, _) = begun(80);
        assert_eq!(meter.row_is_over(Some(81)), Some(80));
        // An open loop still serves what was due: it may not use more than its share for that.
        let (meter, control) = begun(79);
        assert_eq!(meter.row_is_over(Some(75)), None);
        meter.written(&write(1, 80));
        assert_eq!((meter.ended_ns(), meter.has_stopped()), (None, true));
        assert!(control.stop.load(Ordering::SeqCst));
    }

    /// A server writes between two looks what nobody asked for.
    #[test]
    fn the_row_of_a_server_ends_earlier_where_its_steps_exceed_the_tail() {
        let row = |step: u64| {
            let meter = Meter::new(large_budget());
            meter.set_server();
            meter.allow(1000 * 4096, 100 * 4096);
            meter.begin(&Arc::new(Control::new(None)));
            (1..=1000).find(|at| {
                meter.budget().charge(step * 4096);
                meter.look(*at).is_some()
            })
        };
        assert_eq!(
            row(10),
            Some(90),
            "900 of 1,000 pages, and the tail holds ten steps"
        );
        assert_eq!(row(50), Some(18));
        assert_eq!(row(100), Some(8), "the tail holds one step");
        assert_eq!(
            row(300),
            Some(2),
            "600 pages, 300 more than the next step would leave"
        );
    }

    #[test]
    fn a_lead_uses_a_quarter_of_what_is_left_at_most() {
        let most = Nanos::from_millis(20);
        let lead = |wrote, elapsed_ms| begun(wrote).0.lead(Nanos::from_millis(elapsed_ms), most);
        // 40 of 80 blocks in 40 ms: 10 of those that are left take 10 ms.
        assert_eq!(lead(40, 40), Nanos::from_millis(10));
        assert_eq!(lead(40, 400), most);
        assert_eq!(lead(76, 40), LEAST_LEAD);
        assert_eq!(lead(0, 40), LEAST_LEAD, "nobody knows how fast it is");
        let unlimited = Meter::new(Budget::of(None));
        assert_eq!(unlimited.lead(Nanos::from_millis(1), most), most);
    }

    #[test]
    fn each_part_of_a_log_write_costs() {
        let meter = Meter::new(Budget::of(Some(1 << 40)));
        meter.describe(512, SyncMethod::Buffered);
        let cost = |blocks| meter.cost(&write(blocks, 1));
        assert_eq!((cost(1), cost(9)), (8192, 12_288));
        meter.describe(4096, SyncMethod::Direct);
        let switched = WrittenBatch {
            switched: true,
            writes: 2,
            ..write(3, 1)
        };
        assert_eq!(meter.cost(&write(3, 1)), 12_288);
        assert_eq!(meter.cost(&switched), 12_288 + 8192 + CHECKPOINT_BYTES);
        meter.set_copies(2, false);
        assert_eq!(meter.cost(&write(3, 1)), 2 * 12_288);
        meter.set_copies(2, true);
        assert_eq!(meter.cost(&write(3, 1)), 2 * 12_288 + 4096);
        meter.set_beside(3);
        assert_eq!(meter.cost(&write(3, 1)), 5 * 12_288 + 4096);
        let used = || {
            let before = meter.budget().used();
            meter.stored(&log_write(1, 2));
            meter.budget().used() - before
        };
        assert_eq!(used(), 0);
        meter.with_events();
        assert_eq!(used(), 3 * EVENT_BYTES);
    }
}
