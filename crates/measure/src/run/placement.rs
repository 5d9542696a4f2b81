//! The device's floor from each processor: what was measured, as plain data. Names and units are
//! those of the JSON. It knows nothing of how it is measured, or of what follows from it.

use super::WaitStats;
use serde::{Deserialize, Serialize};

/// Durable writes from several processors, in turns of interleaved rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlacementFigures {
    /// How writes were made durable: `buffered`, `dsync`, `direct`, `direct-dsync`.
    pub sync_method: String,
    /// Bytes of each write.
    pub write_bytes: u64,
    /// Processors that the process was allowed to use. With one there is nothing to compare.
    pub allowed_cpus: u32,
    /// What was measured from each place, the unpinned thread first; empty where nothing was.
    pub places: Vec<PlaceFigures>,
}

/// Durable writes of a thread on one processor, or wherever the scheduler put it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlaceFigures {
    /// The processor that the thread was pinned to; `None` if it was not pinned.
    pub cpu: Option<u32>,
    /// The processor's NUMA node, where known.
    pub numa_node: Option<u32>,
    /// Time of write and flush, of all rounds together.
    pub latency: WaitStats,
    /// Median of each round; all places have the same rounds, in the same order.
    pub round_p50_ns: Vec<u64>,
    /// Interrupts of the disks below during the first rounds of this place, by the processor that
    /// took them; `None` where they are not counted per disk (network, FUSE).
    pub interrupts: Option<Vec<ProcessorInterrupts>>,
    /// Share of the measured time in which the thread could have run and waited for its processor,
    /// because others used it, in percent; `None` where the kernel does not count it.
    pub run_queue_pct: Option<f64>,
}

/// Interrupts that a processor took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorInterrupts {
    /// The processor.
    pub cpu: u32,
    /// Number of interrupts.
    pub count: u64,
}
