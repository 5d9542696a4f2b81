//! What tests of rows share: a log write, and a laboratory with nothing around it.

use super::row::Lab;
use crate::budget::Budget;
use crate::experiment::target::LoadTarget;
use crate::observe::sampler::Sampler;
use crate::signals::Interrupt;
use redo::Stations;
use redo::engine::{LogWrite, WrittenBatch};
use std::sync::Arc;
use std::time::Duration;

/// A log write of one commit, submitted and durable at these times.
pub(crate) fn log_write(submitted_ns: u64, durable_ns: u64) -> LogWrite {
    LogWrite {
        batch: 1,
        commits: 1,
        redo_bytes: 500,
        blocks: 1,
        writes: 1,
        flushes: 1,
        deferred_ns: 0,
        log_seq: 1,
        switched: false,
        checkpoint_wait_ns: 0,
        archive_wait_ns: 0,
        scalable: false,
        worker: None,
        group_wait_ns: 0,
        stations: Stations {
            submitted_ns,
            durable_ns,
            ..Stations::default()
        },
    }
}

/// A batch of one block that was written then.
pub(crate) fn written_batch(at_ns: u64) -> WrittenBatch {
    WrittenBatch {
        batch: 1,
        blocks: 1,
        writes: 1,
        switched: false,
        at_ns,
    }
}

/// A budget of which more is used than this process ever writes: what other tests write meanwhile
/// changes nothing in it.
pub(crate) fn large_budget() -> Arc<Budget> {
    let budget = Budget::of(Some(1 << 50));
    budget.charge(1 << 49);
    budget
}

/// Runs `work` with a laboratory on `target` that watches no device, stores nothing and reports
/// nothing.
pub(crate) fn in_a_quiet_lab<T>(target: &LoadTarget, work: impl FnOnce(&mut Lab<'_>) -> T) -> T {
    let sampler = Sampler::start(None, Duration::from_secs(1)).expect("a thread");
    let interrupt = Interrupt::default();
    work(&mut Lab {
        target,
        sampler: &sampler,
        declares_cache: None,
        devices: 0,
        store: None,
        interrupt: &interrupt,
        guard: &|_| Ok(()),
        progress: &|_| {},
        log: &|_| {},
    })
}
