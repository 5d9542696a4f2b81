//! What the log writer's workers did in a row's measured time.

use measure::driver::WorkerCounts;

/// What a worker did: operations, waits for work (those too of which a part falls into the
/// window), nanoseconds of those.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkerWork {
    pub(super) operations: u64,
    pub(super) idle_count: u64,
    pub(super) idle_ns: u64,
}

/// What each worker did between two readings of its counters.
pub(super) fn worker_work(now: &[WorkerCounts], before: &[WorkerCounts]) -> Vec<WorkerWork> {
    let pairs = now.iter().zip(before);
    let work = pairs.map(|(now, before)| WorkerWork {
        operations: now.operations - before.operations,
        idle_count: now.idle.count + u64::from(now.is_idle) - before.idle.count,
        idle_ns: now.idle.total_ns.saturating_sub(before.idle.total_ns),
    });
    work.collect()
}
