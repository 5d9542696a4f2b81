//! What `--max-write` means for private servers: what making one writes, what its rows need, and a
//! watch on what it writes while it is made.
//!
//! A server asks for nothing before it writes; the kernel counts what its processes wrote. So each
//! row keeps a tail for what is written until the next look, and what is made is stopped before
//! the limit is reached.

use super::RowNeed;
use super::needs::kept_of;
use crate::budget::Budget;
use crate::experiment::Failure;
use crate::experiment::judge::doubt::least_commits;
use crate::experiment::measure::row::Spec;
use crate::safety::Refusal;
use crate::signals::Interrupt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a server writes after its row was ended: new files of redo, pages, the last transactions.
const TAIL_BYTES: u64 = 64 << 20;
/// A row is left out that has not this much beside its tail and its least commits: a new file of
/// redo, of 16 MiB, may be written at once in the warm-up, whose part is a quarter.
const LEAST_BYTES: u64 = 64 << 20;
/// A transaction writes its redo, the same again for new files of redo, and pages.
const WRITTEN_PER_REDO: u64 = 4;
/// And so much at least: whole blocks of redo, and whole pages that it changes.
const TRANSACTION_BYTES: u64 = 64 << 10;
/// The making of a server is stopped when so little is left.
const MARGIN_BYTES: u64 = 32 << 20;
const LOOK: Duration = Duration::from_millis(5);

/// Private servers that are made for an experiment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServersToMake {
    pub(crate) count: u64,
    /// Bytes that making all of them writes, by estimate.
    pub(crate) making_bytes: u64,
}

impl ServersToMake {
    /// Each of which writes so many bytes while it is made.
    pub(crate) fn of(making_bytes: impl IntoIterator<Item = u64>) -> ServersToMake {
        let none = ServersToMake::default();
        making_bytes
            .into_iter()
            .fold(none, |all, bytes| ServersToMake {
                count: all.count + 1,
                making_bytes: all.making_bytes.saturating_add(bytes),
            })
    }

    /// The needs of rows where they run on servers, too.
    pub(crate) fn raise(&self, needs: Vec<RowNeed>, specs: &[Spec]) -> Vec<RowNeed> {
        if self.count == 0 {
            return needs;
        }
        let both = |(own, spec): (RowNeed, &Spec)| {
            let server = need(spec);
            RowNeed {
                least: own.least.max(server.least),
                most: own.most.max(server.most),
                tail: own.tail.max(server.tail),
                kept: own.kept.max(server.kept),
            }
        };
        needs.into_iter().zip(specs).map(both).collect()
    }
}

fn need(spec: &Spec) -> RowNeed {
    let redo = u64::from(spec.workload.redo_bytes).saturating_mul(WRITTEN_PER_REDO);
    let transaction = redo.saturating_add(TRANSACTION_BYTES);
    let begun = transaction.saturating_mul(spec.jobs.into());
    let tail = TAIL_BYTES.saturating_add(begun);
    // The warm-up, and the time until the measured one, have their parts, too.
    let useful = transaction.saturating_mul(least_commits(spec.jobs).saturating_mul(2));
    RowNeed {
        least: tail.saturating_add(useful).saturating_add(LEAST_BYTES),
        // How much it writes is not known.
        most: u64::MAX,
        tail,
        kept: kept_of(spec),
    }
}

/// Calls `make` with a flag that asks it to stop, which is set on an interrupt and before the
/// limit of `budget` is reached.
///
/// # Errors
/// The limit would have been reached.
pub(crate) fn make_watched<T>(
    budget: &Budget,
    interrupt: &Interrupt,
    make: impl FnOnce(Arc<AtomicBool>) -> T,
) -> Result<T, Failure> {
    let Some(allowed) = budget.limit() else {
        return Ok(make(interrupt.flag()));
    };
    let (stop, spent) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    let done = AtomicBool::new(false);
    let watch = || {
        while !done.load(Ordering::Relaxed) {
            budget.compare();
            if budget.left() < MARGIN_BYTES {
                spent.store(true, Ordering::Relaxed);
            }
            if interrupt.requested() || spent.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(LOOK);
        }
    };
    let made = std::thread::scope(|scope| {
        // Also where `make` panics: the scope waits for the watch.
        let _ends = Ends(&done);
        scope.spawn(watch);
        make(Arc::clone(&stop))
    });
    if spent.load(Ordering::Relaxed) {
        let (used, wanted) = (budget.used(), MARGIN_BYTES);
        return Err(Failure::Refused(Refusal::Spent {
            used,
            wanted,
            allowed,
        }));
    }
    Ok(made)
}

/// Sets a flag when it goes.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_stopped_before_the_limit_and_on_an_interrupt() {
        let made = |budget: &Budget, interrupt: &Interrupt| {
            make_watched(budget, interrupt, |stop| {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::sleep(LOOK);
                }
            })
        };
        // This process has written nothing of the kind; what is taken counts as written.
        let budget = Budget::of(Some(1 << 40));
        budget.charge((1 << 40) - MARGIN_BYTES + 1);
        let refused = made(&budget, &Interrupt::default()).expect_err("it is spent");
        assert!(refused.to_string().contains("--max-write"), "{refused}");
        let interrupt = Interrupt::default();
        interrupt.request();
        made(&Budget::of(Some(1 << 40)), &interrupt).expect("interrupted, and not spent");
        made(&Budget::of(None), &interrupt).expect("no limit");
    }
}
