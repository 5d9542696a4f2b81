//! What a stall of the canary shows: its evidence, and the class that follows from it.
//!
//! Invariants: pure functions; the class follows from the evidence alone; evidence that was not
//! available is `None` and decides nothing; where the evidence does not decide, the class is
//! `unknown`. The rules and their reasons are in docs/decisions/2026-11-24-canary.md.

use serde::Serialize;

/// Bytes of a probe.
pub const PROBE_BYTES: u64 = 4096;
/// Pages under writeback from which the machine counts as writing back a load: far more than a
/// probe, its journal, and what an idle machine writes now and then.
const WRITEBACK_LOAD_BYTES: u64 = 1 << 20;
/// Bytes beside the probe that the device wrote during a stall, from which it was busy with the
/// writes of others: more than a commit of a journal.
const OTHERS_LOAD_BYTES: u64 = 256 << 10;
/// The thread waited here since the kernel made it write less: too many pages are dirty.
const DIRTY_LIMIT: &str = "balance_dirty_pages";
/// Beginnings of functions in which a thread waits for the completion of I/O, whatever does it.
const IO_WAITS: &[&str] = &[
    "folio_wait_bit",
    "folio_wait_writeback",
    "wait_on_page_bit",
    "wait_on_page_writeback",
    "bit_wait_io",
    "io_schedule",
    "blk_io_schedule",
    "blk_wait_io",
    "submit_bio_wait",
    "blkdev_issue_flush",
    "blk_mq_get_tag",
    "rq_qos_wait",
    "wbt_wait",
    "request_wait_answer",
    "rpc_wait_bit_killable",
    "nfs_wait_bit_killable",
];

/// What a stall was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StallClass {
    /// The canary did not get a processor.
    Scheduler,
    /// It waited behind pages of others that were written back.
    Writeback,
    /// The device, or what limits it, took the time.
    Storage,
    /// The evidence does not decide.
    Unknown,
}

impl StallClass {
    /// Every class, in the order in which they are tried.
    pub const ALL: [StallClass; 4] = [
        StallClass::Scheduler,
        StallClass::Writeback,
        StallClass::Storage,
        StallClass::Unknown,
    ];

    /// The word for it in tables and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            StallClass::Scheduler => "scheduler",
            StallClass::Writeback => "writeback",
            StallClass::Storage => "storage",
            StallClass::Unknown => "unknown",
        }
    }
}

/// How often the canary was seen to wait in a function of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitedIn {
    /// Name of the function.
    pub function: String,
    /// Samples that found the canary there.
    pub samples: u32,
}

/// What was seen of a stall.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StallEvidence {
    /// From the moment at which the probe was due to the end of its fsync.
    pub duration_ns: u64,
    /// Part of it: from the moment at which it was due to its begin.
    pub late_ns: u64,
    /// Part of it: the write.
    pub write_ns: u64,
    /// Part of it: the fsync.
    pub fsync_ns: u64,
    /// Time for which the canary's thread was ready to run and had no processor.
    pub run_delay_ns: Option<u64>,
    /// Time of the stall for which the heartbeat was overdue.
    pub heartbeat_late_ns: u64,
    /// How often the canary was looked at while it waited.
    pub samples: u32,
    /// Where it waited then, the most frequent first; empty if the kernel does not report it.
    pub waited_in: Vec<WaitedIn>,
    /// Most dirty pages of the machine.
    pub dirty_bytes: Option<u64>,
    /// Most pages under writeback of the machine.
    pub writeback_bytes: Option<u64>,
    /// Most requests in flight at the device.
    pub in_flight_most: Option<u64>,
    /// Samples with a request in flight at the device.
    pub in_flight_samples: Option<u32>,
    /// Time for which the device had requests in flight, as it counts them itself.
    pub device_busy_ns: Option<u64>,
    /// Bytes that the device wrote, for the canary and others.
    pub device_written_bytes: Option<u64>,
    /// Time for which some task of the machine waited for I/O (PSI).
    pub pressure_io_ns: Option<u64>,
    /// Time for which some task of the machine waited for a processor (PSI).
    pub pressure_cpu_ns: Option<u64>,
    /// Time for which some task of the machine waited for memory (PSI).
    pub pressure_memory_ns: Option<u64>,
}

impl StallEvidence {
    /// At least half of the stall.
    fn is_half(&self, part_ns: u64) -> bool {
        part_ns.saturating_mul(2) >= self.duration_ns
    }

    /// At least half of the samples, where there are any.
    fn is_half_of_samples(&self, part: u32) -> bool {
        self.samples > 0 && part.saturating_mul(2) >= self.samples
    }

    /// Samples in functions that `is_one` accepts.
    fn samples_in(&self, is_one: impl Fn(&str) -> bool) -> u32 {
        let those = self.waited_in.iter().filter(|w| is_one(&w.function));
        those.map(|waited| waited.samples).sum()
    }

    fn waited_for_processor(&self) -> bool {
        self.is_half(self.heartbeat_late_ns) || self.run_delay_ns.is_some_and(|ns| self.is_half(ns))
    }

    fn waited_for_dirty_limit(&self) -> bool {
        self.is_half_of_samples(self.samples_in(|function| function == DIRTY_LIMIT))
    }

    fn waited_for_io(&self) -> bool {
        let is_io = |function: &str| IO_WAITS.iter().any(|begin| function.starts_with(begin));
        self.is_half_of_samples(self.samples_in(is_io))
    }

    fn has_writeback(&self) -> bool {
        self.writeback_bytes
            .is_some_and(|bytes| bytes >= WRITEBACK_LOAD_BYTES)
    }

    /// The device wrote for others; `None` where that is not known.
    fn wrote_for_others(&self) -> Option<bool> {
        let others = self.device_written_bytes?.saturating_sub(PROBE_BYTES);
        Some(others >= OTHERS_LOAD_BYTES)
    }

    fn device_was_busy(&self) -> bool {
        self.device_busy_ns.is_some_and(|ns| self.is_half(ns))
            || self
                .in_flight_samples
                .is_some_and(|samples| self.is_half_of_samples(samples))
    }

    /// The class, and what of the evidence decides it.
    #[must_use]
    pub fn judged(&self) -> (StallClass, &'static str) {
        if self.waited_for_processor() {
            let why = match self.run_delay_ns.is_some_and(|ns| self.is_half(ns)) {
                true => "the canary was ready to run and had no processor",
                false => "the heartbeat was late by at least half of it",
            };
            return (StallClass::Scheduler, why);
        }
        if self.waited_for_dirty_limit() {
            let why = "the kernel made the canary wait since too many pages are dirty";
            return (StallClass::Writeback, why);
        }
        match (self.has_writeback(), self.wrote_for_others()) {
            (true, Some(true)) => {
                let why = "the device wrote for others, and pages were under writeback";
                (StallClass::Writeback, why)
            }
            // Whose device these pages go to is not known.
            (true, None) => (
                StallClass::Unknown,
                "pages were under writeback, and the device has no counters",
            ),
            _ if self.device_was_busy() => (
                StallClass::Storage,
                "the device had requests in flight, without writeback by others",
            ),
            _ if self.waited_for_io() => (
                StallClass::Storage,
                "the canary waited for I/O that the device had not received: a limit above it",
            ),
            _ => (
                StallClass::Unknown,
                "neither processor nor device accounts for half of it",
            ),
        }
    }
}
