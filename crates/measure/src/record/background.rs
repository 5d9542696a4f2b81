//! What the log writer did.

use super::{SlowWrites, WORKERS_MAX, WaitSum};
use crate::{Histogram, bounded};
use serde::{Deserialize, Serialize};

/// What a log writer did. Times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Background {
    /// Log file parallel write.
    pub write: Histogram,
    /// Commits per log write.
    pub commits: Histogram,
    /// Log file switch (checkpoint incomplete).
    pub checkpoint: Histogram,
    /// Log file switch (archiving needed).
    #[serde(default)]
    pub archive: Histogram,
    /// Log file switch completion: the first write of a new log.
    pub switch: Histogram,
    /// LGWR any worker group.
    pub any_worker: Histogram,
    /// Bytes of redo, record headers included.
    pub redo_bytes: u64,
    /// Blocks written.
    pub blocks: u64,
    /// Bytes of these blocks.
    pub block_bytes: u64,
    /// Flushes, or durable writes where there are none.
    pub flushes: u64,
    /// Most bytes of redo that one deferred flush made durable.
    #[serde(default)]
    pub deferred_bytes_max: u64,
    /// Longest time from a log write whose flush was deferred until it was durable.
    #[serde(default)]
    pub deferred_ns_max: u64,
    /// Log switches.
    pub switches: u64,
    /// Changes of an adaptive log writer between alone and workers.
    pub mode_switches: u64,
    /// The log writer's workers by number.
    #[serde(deserialize_with = "bounded::list::<_, _, WORKERS_MAX>")]
    pub workers: Vec<WorkerRecord>,
    /// Log writes over the threshold of warnings; `None` where they were not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowWrites>,
}

/// What a worker of the log writer did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// Log file parallel write of the batches whose last write was this worker's, in nanoseconds.
    pub write: Histogram,
    /// Writes and flushes that it carried out.
    pub operations: u64,
    /// LGWR worker group idle.
    pub idle: WaitSum,
}

impl Background {
    /// The worker with that number, from 0.
    pub fn worker(&mut self, number: usize) -> &mut WorkerRecord {
        if self.workers.len() <= number {
            self.workers.resize_with(number + 1, WorkerRecord::default);
        }
        &mut self.workers[number]
    }

    /// Adds all of `other`, exactly.
    pub fn merge(&mut self, other: &Background) {
        self.write.merge(&other.write);
        self.commits.merge(&other.commits);
        self.checkpoint.merge(&other.checkpoint);
        self.archive.merge(&other.archive);
        self.switch.merge(&other.switch);
        self.any_worker.merge(&other.any_worker);
        for (sum, part) in [
            (&mut self.redo_bytes, other.redo_bytes),
            (&mut self.blocks, other.blocks),
            (&mut self.block_bytes, other.block_bytes),
            (&mut self.flushes, other.flushes),
            (&mut self.switches, other.switches),
            (&mut self.mode_switches, other.mode_switches),
        ] {
            *sum = sum.saturating_add(part);
        }
        for (most, part) in [
            (&mut self.deferred_bytes_max, other.deferred_bytes_max),
            (&mut self.deferred_ns_max, other.deferred_ns_max),
        ] {
            *most = part.max(*most);
        }
        if let Some(theirs) = &other.slow {
            self.slow.get_or_insert_default().merge(theirs);
        }
        for (number, theirs) in other.workers.iter().enumerate() {
            let mine = self.worker(number);
            mine.write.merge(&theirs.write);
            mine.operations = mine.operations.saturating_add(theirs.operations);
            mine.idle = mine.idle.plus(theirs.idle);
        }
    }
}
