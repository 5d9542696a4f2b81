//! What the log writer's workers did in a row's measured time.

use super::Lab;
use device::pool::IdleTime;

/// What a worker did: operations, waits for work (those too of which a part falls into the
/// window), nanoseconds of those.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkerWork {
    pub(super) operations: u64,
    pub(super) idle_count: u64,
    pub(super) idle_ns: u64,
}

/// What each worker did so far.
pub(super) fn worker_stats(lab: &Lab<'_>) -> Vec<(u64, IdleTime)> {
    let workers = lab.target.log.workers().iter();
    workers.map(|w| (w.operations(), w.idle())).collect()
}

/// What each worker did since `before`.
pub(super) fn worker_work(lab: &Lab<'_>, before: &[(u64, IdleTime)]) -> Vec<WorkerWork> {
    let now = worker_stats(lab).into_iter().zip(before);
    now.map(
        |((operations, idle), (operations_before, idle_before))| WorkerWork {
            operations: operations - operations_before,
            idle_count: idle.ended + u64::from(idle.going_on) - idle_before.ended,
            idle_ns: idle.ns.saturating_sub(idle_before.ns),
        },
    )
    .collect()
}
