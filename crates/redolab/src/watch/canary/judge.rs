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
/// A device that has requests and completes none for less is slow, or works on large requests.
const PAUSE_NS: u64 = 100_000_000;
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
    /// Longest time for which the device had requests in flight and completed none, between two
    /// samples.
    pub no_completion_ns: Option<u64>,
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

    /// The device had requests, of whomever, and completed none of them.
    fn device_paused(&self) -> bool {
        self.no_completion_ns
            .is_some_and(|ns| ns >= PAUSE_NS && self.is_half(ns))
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
        if self.device_paused() {
            let why =
                "the device had requests in flight, and completed none for at least half of it";
            return (StallClass::Storage, why);
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
                "the device had requests in flight, and no load of pages was under writeback on it",
            ),
            _ if self.waited_for_io() && self.in_flight_most == Some(0) => (
                StallClass::Storage,
                "the canary waited for I/O that the device had not received: a limit above it",
            ),
            _ if self.waited_for_io() && self.device_busy_ns.is_some() => (
                StallClass::Storage,
                "the canary waited for I/O, and the device was busy for less than half of it",
            ),
            _ if self.waited_for_io() => (
                StallClass::Storage,
                "the canary waited for I/O, and the device has no counters",
            ),
            _ => (
                StallClass::Unknown,
                "neither processor nor device accounts for half of it",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn waited(functions: &[(&str, u32)]) -> Vec<WaitedIn> {
        let one = |(function, samples): &(&str, u32)| WaitedIn {
            function: (*function).to_owned(),
            samples: *samples,
        };
        functions.iter().map(one).collect()
    }

    /// A disk that confirmed nothing for 280 ms, recorded on ext4 on a loop device.
    fn paused() -> StallEvidence {
        StallEvidence {
            duration_ns: 284 * MS,
            fsync_ns: 284 * MS,
            run_delay_ns: Some(MS / 10),
            heartbeat_late_ns: 42 * MS,
            samples: 54,
            waited_in: waited(&[("folio_wait_bit", 54)]),
            dirty_bytes: Some(536 << 20),
            writeback_bytes: Some(0),
            in_flight_most: Some(1),
            in_flight_samples: Some(54),
            no_completion_ns: None,
            device_busy_ns: Some(280 * MS),
            device_written_bytes: Some(7 << 10),
            pressure_io_ns: Some(143 * MS),
            pressure_cpu_ns: Some(272 * MS),
            ..StallEvidence::default()
        }
    }

    /// The reason does not state that the device had received nothing where it had requests.
    #[test]
    fn a_device_that_was_busy_for_less_than_half_had_received_something() {
        let partly = StallEvidence {
            in_flight_samples: Some(26),
            device_busy_ns: Some(141 * MS),
            ..paused()
        };
        let (class, why) = partly.judged();
        assert_eq!(class, StallClass::Storage);
        assert!(why.contains("busy for less than half"), "{why}");
        let (class, why) = limited().judged();
        assert_eq!(class, StallClass::Storage);
        assert!(why.contains("had not received"), "{why}");
    }

    /// A limit of two writes per second in the canary's control group.
    fn limited() -> StallEvidence {
        StallEvidence {
            duration_ns: 516 * MS,
            fsync_ns: 516 * MS,
            heartbeat_late_ns: 12 * MS,
            samples: 102,
            waited_in: waited(&[("folio_wait_bit", 102)]),
            writeback_bytes: Some(4 << 10),
            in_flight_most: Some(0),
            in_flight_samples: Some(0),
            device_busy_ns: Some(4 * MS),
            ..paused()
        }
    }

    /// Somebody has 40 MiB written back on a disk of 24 MiB/s.
    fn storm() -> StallEvidence {
        StallEvidence {
            duration_ns: 1687 * MS,
            fsync_ns: 1684 * MS,
            run_delay_ns: Some(7 * MS),
            heartbeat_late_ns: 51 * MS,
            samples: 337,
            waited_in: waited(&[("folio_wait_bit", 268), ("jbd2_log_wait_commit", 69)]),
            writeback_bytes: Some(32 << 20),
            in_flight_most: Some(33),
            in_flight_samples: Some(337),
            device_busy_ns: Some(1680 * MS),
            device_written_bytes: Some(40 << 20),
            ..paused()
        }
    }

    /// A real-time process on the canary's processor.
    fn hogged() -> StallEvidence {
        StallEvidence {
            duration_ns: 216 * MS,
            late_ns: 216 * MS,
            fsync_ns: MS / 3,
            run_delay_ns: Some(218 * MS),
            heartbeat_late_ns: 216 * MS,
            samples: 2,
            waited_in: Vec::new(),
            writeback_bytes: Some(60 << 20),
            in_flight_most: Some(1),
            in_flight_samples: Some(2),
            device_busy_ns: Some(0),
            ..paused()
        }
    }

    /// A file system that is frozen for a snapshot.
    fn frozen() -> StallEvidence {
        StallEvidence {
            duration_ns: 243 * MS,
            write_ns: 242 * MS,
            fsync_ns: MS,
            samples: 48,
            waited_in: waited(&[("percpu_rwsem_wait", 47), ("folio_wait_bit", 1)]),
            in_flight_samples: Some(1),
            device_busy_ns: Some(0),
            ..paused()
        }
    }

    #[test]
    fn recorded_stalls_have_their_class() {
        for (evidence, class) in [
            (paused(), StallClass::Storage),
            (limited(), StallClass::Storage),
            (storm(), StallClass::Writeback),
            (hogged(), StallClass::Scheduler),
            (frozen(), StallClass::Unknown),
            (
                StallEvidence {
                    duration_ns: 25 * MS,
                    ..StallEvidence::default()
                },
                StallClass::Unknown,
            ),
        ] {
            assert_eq!(evidence.judged().0, class, "{evidence:?}");
        }
    }

    fn class(change: impl FnOnce(&mut StallEvidence), mut evidence: StallEvidence) -> StallClass {
        change(&mut evidence);
        evidence.judged().0
    }

    #[test]
    fn half_of_a_stall_without_a_processor_makes_it_the_schedulers() {
        let half = 142 * MS;
        for (delay, late, expected) in [
            (Some(half), 0, StallClass::Scheduler),
            (Some(half - 1), 0, StallClass::Storage),
            (None, half, StallClass::Scheduler),
            (Some(0), half, StallClass::Scheduler),
            (None, half - 1, StallClass::Storage),
            (Some(half - 1), half - 1, StallClass::Storage),
        ] {
            let found = class(
                |e| (e.run_delay_ns, e.heartbeat_late_ns) = (delay, late),
                paused(),
            );
            assert_eq!(found, expected, "{delay:?} {late}");
        }
    }

    #[test]
    fn writeback_needs_pages_and_a_device_that_writes_for_others() {
        for (pages, written, expected) in [
            (
                Some(WRITEBACK_LOAD_BYTES),
                Some(PROBE_BYTES + OTHERS_LOAD_BYTES),
                StallClass::Writeback,
            ),
            (
                Some(WRITEBACK_LOAD_BYTES - 1),
                Some(40 << 20),
                StallClass::Storage,
            ),
            (
                Some(WRITEBACK_LOAD_BYTES),
                Some(PROBE_BYTES + OTHERS_LOAD_BYTES - 1),
                StallClass::Storage,
            ),
            (None, Some(40 << 20), StallClass::Storage),
            // The pages may be those of another device.
            (Some(32 << 20), None, StallClass::Unknown),
        ] {
            let found = class(
                |e| (e.writeback_bytes, e.device_written_bytes) = (pages, written),
                storm(),
            );
            assert_eq!(found, expected, "{pages:?} {written:?}");
        }
    }

    #[test]
    fn a_device_that_completes_nothing_pauses_whatever_is_under_writeback() {
        let dirty_limit = waited(&[("balance_dirty_pages", 337)]);
        for (duration, pause, expected) in [
            (400, Some(200), StallClass::Storage),
            (400, Some(199), StallClass::Writeback),
            (150, Some(100), StallClass::Storage),
            (150, Some(99), StallClass::Writeback),
            (150, None, StallClass::Writeback),
        ] {
            for functions in [waited(&[("folio_wait_bit", 337)]), dirty_limit.clone()] {
                let found = class(
                    |e| {
                        e.duration_ns = duration * MS;
                        e.no_completion_ns = pause.map(|ms: u64| ms * MS);
                        e.waited_in = functions;
                    },
                    storm(),
                );
                assert_eq!(found, expected, "{duration} {pause:?}");
            }
        }
        // A canary without a processor comes first.
        let found = class(|e| e.no_completion_ns = Some(216 * MS), hogged());
        assert_eq!(found, StallClass::Scheduler);
    }

    #[test]
    fn half_of_the_samples_in_the_dirty_limit_is_writeback() {
        for (samples, expected) in [(27, StallClass::Writeback), (26, StallClass::Storage)] {
            let functions = [
                ("balance_dirty_pages", samples),
                ("folio_wait_bit", 54 - samples),
            ];
            let found = class(|e| e.waited_in = waited(&functions), paused());
            assert_eq!(found, expected, "{samples}");
        }
    }

    #[test]
    fn a_device_is_busy_by_its_time_or_by_its_requests() {
        let elsewhere = waited(&[("jbd2_log_wait_commit", 54)]);
        for (busy, in_flight, functions, expected) in [
            (Some(142), Some(0), elsewhere.clone(), StallClass::Storage),
            (Some(141), Some(27), elsewhere.clone(), StallClass::Storage),
            (Some(141), Some(26), elsewhere.clone(), StallClass::Unknown),
            (None, None, elsewhere, StallClass::Unknown),
            (
                Some(0),
                Some(0),
                waited(&[("folio_wait_bit_common", 27)]),
                StallClass::Storage,
            ),
            (
                Some(0),
                Some(0),
                waited(&[("folio_wait_bit_common", 26)]),
                StallClass::Unknown,
            ),
            (
                None,
                None,
                waited(&[("request_wait_answer", 54)]),
                StallClass::Storage,
            ),
            (Some(0), Some(0), Vec::new(), StallClass::Unknown),
        ] {
            let found = class(
                |e| {
                    e.device_busy_ns = busy.map(|ms: u64| ms * MS);
                    e.in_flight_samples = in_flight;
                    e.waited_in = functions.clone();
                },
                paused(),
            );
            assert_eq!(found, expected, "{busy:?} {in_flight:?} {functions:?}");
        }
        // Nobody looked at it: there is no half of nothing.
        let found = class(
            |e| {
                (e.samples, e.in_flight_samples, e.device_busy_ns) = (0, Some(0), Some(0));
                e.waited_in = Vec::new();
            },
            paused(),
        );
        assert_eq!(found, StallClass::Unknown);
    }
}
