//! How a row controls its sessions: from when to when they record, when they stop, and what they
//! leave behind when they end.

use super::span::{self, Counted, Span};
use measure::Nanos;
use measure::driver::{DriverError, SessionCounts};
use measure::record::WaitSum;
use measure::run::{CrossCheck, SessionFigures, SessionTime};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What sessions of a row are given.
#[derive(Debug)]
pub struct Control {
    /// Transactions that begin before this time are not recorded.
    pub from_ns: AtomicU64,
    /// Transactions that begin at this time or later are not recorded.
    pub until_ns: AtomicU64,
    /// No further transaction but those that began in the measured time.
    pub stop: AtomicBool,
    /// Commits of a session after which it ends by itself.
    pub commits: Option<u64>,
    /// Threads of sessions that have not ended.
    pub running: AtomicU64,
    /// The first error of a session.
    error: Mutex<Option<DriverError>>,
    /// `None` once a session has ended for which the target did not count.
    space_waits: Mutex<Option<WaitSum>>,
    /// Transactions of sessions on threads of their own, and how long those waited for a processor.
    run_queue: Mutex<Option<WaitSum>>,
    spans: Mutex<Vec<Span>>,
}

impl Control {
    /// Nothing is recorded until `from_ns` is set.
    #[must_use]
    pub fn new(commits: Option<u64>) -> Control {
        Control {
            from_ns: AtomicU64::new(u64::MAX),
            until_ns: AtomicU64::new(u64::MAX),
            stop: AtomicBool::new(false),
            commits,
            running: AtomicU64::new(0),
            error: Mutex::new(None),
            space_waits: Mutex::new(Some(WaitSum::default())),
            run_queue: Mutex::new(None),
            spans: Mutex::new(Vec::new()),
        }
    }

    /// The first error of a session, if there was one.
    pub fn take_error(&self) -> Option<DriverError> {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Waits for log buffer space; `None` where the target does not count them.
    #[must_use]
    pub fn space_waits(&self) -> Option<WaitSum> {
        *self
            .space_waits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what a session that ended waited for log buffer space.
    pub(crate) fn add_space_waits(&self, counts: Option<&SessionCounts>) {
        let mut sum = self
            .space_waits
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *sum = sum
            .zip(counts)
            .map(|(sum, counts)| sum.plus(counts.space_waits));
    }

    /// Adds the transactions of a session that ended, and how long its thread waited for a
    /// processor, where the system counts that.
    pub(crate) fn add_run_queue(&self, transactions: u64, waited_ns: Option<u64>) {
        let Some(total_ns) = waited_ns else {
            return;
        };
        let mut sum = self
            .run_queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *sum = Some(sum.unwrap_or_default().plus(WaitSum {
            count: transactions,
            total_ns,
        }));
    }

    /// How long the threads of sessions waited for a processor, and their transactions; `None`
    /// where the system does not count it, or sessions share threads.
    #[must_use]
    pub fn run_queue(&self) -> Option<WaitSum> {
        *self
            .run_queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds when a session's counted transactions began and ended.
    pub(crate) fn add_span(&self, span: Span) {
        self.spans().push(span);
    }

    /// A transaction that began then is recorded.
    pub(crate) fn records(&self, start_ns: u64) -> bool {
        let from = self.from_ns.load(Ordering::Relaxed);
        start_ns >= from && start_ns < self.until_ns.load(Ordering::Relaxed)
    }

    /// A transaction that began then began before the measured time.
    pub(crate) fn is_before(&self, start_ns: u64) -> bool {
        start_ns < self.from_ns.load(Ordering::Relaxed)
    }

    /// Whether a session of a closed loop makes the transaction that begins at `start_ns`, when the
    /// one before ended. After the stop too, where that is in the measured time: a session that the
    /// system did not let run since then was waiting, and that wait would be in no latency.
    pub(crate) fn goes_on(&self, start_ns: u64) -> bool {
        !self.stop.load(Ordering::Acquire) || self.records(start_ns)
    }

    /// No further transaction, and none is recorded: the row has failed.
    pub(crate) fn halt(&self) {
        self.until_ns.store(0, Ordering::SeqCst);
        self.stop.store(true, Ordering::SeqCst);
    }

    /// The time of all sessions that ended, in a row from `from` to `until`, that no latency shows.
    #[must_use]
    pub fn session_time(&self, from: Nanos, until: Nanos) -> SessionTime {
        span::session_time(&self.spans(), from, until)
    }

    /// The closed loop's sessions that ended, by number.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionFigures> {
        span::sessions(&self.spans())
    }

    /// The second count of a closed loop whose sessions have ended.
    pub(crate) fn cross_check(&self, row: &Counted<'_>) -> Option<CrossCheck> {
        span::cross_check(&self.spans(), row)
    }

    fn spans(&self) -> MutexGuard<'_, Vec<Span>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The row has failed, with the first error of its sessions.
    pub(crate) fn fail(&self, error: DriverError) {
        let mut slot = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert(error);
        self.halt();
    }
}
