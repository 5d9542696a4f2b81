//! Workloads as plain data: what a transaction appends and how it commits ([`Workload`]), when
//! transactions begin ([`arrivals`]), how much redo they vary over ([`sizes`]), which bytes it is
//! made of ([`payload`]).
//!
//! Sizes are those of study 003 (redo of a transaction as its tables show it): LGWR-LAT1 1.95 kB,
//! LGWR-LAT25 26.3 kB, LGWR-LAT125 124 kB with COMMIT WRITE WAIT IMMEDIATE, LGWR-THR 486 kB with
//! COMMIT WRITE NOWAIT BATCH. `storm` is the load of study 004, `size-sweep` that of study 002.
//! TPROC-C ([`tproc_c`]) runs on databases only.
//! Nothing here knows of logs, threads or clocks.

pub mod arrivals;
pub mod payload;
pub mod sizes;
pub mod tproc_c;

pub use payload::{Generator, Payload, STAMP_BYTES, pool, split_mix};
pub use tproc_c::{TPROC_C, TPROC_C_NOTICE, TprocC};

use serde::{Deserialize, Serialize};

/// Whether the foreground waits for its redo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CommitWait {
    /// Return when the redo is durable.
    Wait,
    /// Return at once.
    Nowait,
}

/// Whether the foreground posts the log writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CommitPost {
    /// Have it written now.
    Immediate,
    /// Leave it to the next write.
    Batch,
}

/// `COMMIT WRITE {WAIT|NOWAIT} {IMMEDIATE|BATCH}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitMode {
    /// Whether to wait.
    pub wait: CommitWait,
    /// Whether to post.
    pub post: CommitPost,
}

impl CommitMode {
    /// The safe default.
    pub const WAIT_IMMEDIATE: CommitMode = CommitMode {
        wait: CommitWait::Wait,
        post: CommitPost::Immediate,
    };
    /// Waits without posting the log writer: written when something else has it written.
    pub const WAIT_BATCH: CommitMode = CommitMode {
        wait: CommitWait::Wait,
        post: CommitPost::Batch,
    };
    /// Posts the log writer and goes on.
    pub const NOWAIT_IMMEDIATE: CommitMode = CommitMode {
        wait: CommitWait::Nowait,
        post: CommitPost::Immediate,
    };
    /// The fastest and least safe.
    pub const NOWAIT_BATCH: CommitMode = CommitMode {
        wait: CommitWait::Nowait,
        post: CommitPost::Batch,
    };
}

/// As the statement has it: `WAIT IMMEDIATE`.
impl std::fmt::Display for CommitMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let wait = match self.wait {
            CommitWait::Wait => "WAIT",
            CommitWait::Nowait => "NOWAIT",
        };
        let post = match self.post {
            CommitPost::Immediate => "IMMEDIATE",
            CommitPost::Batch => "BATCH",
        };
        write!(f, "{wait} {post}")
    }
}

/// A workload's specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Its name, as the study writes it.
    pub name: String,
    /// Bytes of redo of a transaction, record headers not included.
    pub redo_bytes: u32,
    /// Records that the transaction's redo is divided into.
    pub records: u32,
    /// How it commits.
    pub commit: CommitMode,
    /// What the plan decides of TPROC-C; `None` of every other workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tproc_c: Option<TprocC>,
}

/// The jobs that run when none are named. Fixed, so that runs compare.
pub const DEFAULT_JOBS: [u32; 5] = [1, 2, 8, 32, 64];

/// Name of study 004's load.
pub const STORM: &str = "storm";
/// Its sessions.
pub const STORM_JOBS: u32 = 20;
/// Commits of each: 4,000,000 log file syncs together.
pub const STORM_COMMITS: u64 = 200_000;
/// Name of the long row of `check`: LGWR-LAT1 until caches are full and credits are spent.
pub const SOAK: &str = "soak";
/// Name of the rows right behind it, with the same transactions and several numbers of sessions.
pub const AFTER_SOAK: &str = "after-soak";
/// Name of the row behind them that writes as much redo as it can.
pub const AFTER_SOAK_REDO: &str = "after-soak-thr";
/// Name of study 002's load.
pub const SIZE_SWEEP: &str = "size-sweep";
/// Its records are at most this long: redo comes row by row, not as one record of a transaction.
pub const SWEEP_RECORD_BYTES: u32 = 8 << 10;

impl Workload {
    /// The four workloads of study 003, one record a transaction.
    #[must_use]
    pub fn standard() -> Vec<Workload> {
        let latency = |name: &str, redo_bytes| Workload {
            name: name.to_owned(),
            redo_bytes,
            records: 1,
            commit: CommitMode::WAIT_IMMEDIATE,
            tproc_c: None,
        };
        vec![
            latency("LGWR-LAT1", 1_997),
            latency("LGWR-LAT25", 26_931),
            latency("LGWR-LAT125", 126_976),
            Workload {
                name: "LGWR-THR".to_owned(),
                redo_bytes: 497_664,
                records: 1,
                commit: CommitMode::NOWAIT_BATCH,
                tproc_c: None,
            },
        ]
    }

    /// The load of study 004: sessions that each make so many updates, each with its commit. The
    /// study does not tell the redo of an update; it is taken to be that of LGWR-LAT1.
    #[must_use]
    pub fn storm() -> Workload {
        Workload {
            name: STORM.to_owned(),
            ..Workload::standard().swap_remove(0)
        }
    }

    /// A point of study 002's sweep: `redo_bytes` generated in records of at most
    /// [`SWEEP_RECORD_BYTES`] before the commit, so that what is past the flush threshold is
    /// written while the transaction still runs.
    #[must_use]
    pub fn size_sweep(redo_bytes: u32) -> Workload {
        Workload {
            name: SIZE_SWEEP.to_owned(),
            redo_bytes,
            records: redo_bytes.div_ceil(SWEEP_RECORD_BYTES).max(1),
            commit: CommitMode::WAIT_IMMEDIATE,
            tproc_c: None,
        }
    }

    /// The workload of that name, case and the `LGWR-` prefix being optional. Of `size-sweep` it
    /// is the smallest point.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Workload> {
        let wanted = name.to_ascii_uppercase();
        let others = [Workload::storm(), Workload::size_sweep(1024)];
        Workload::standard().into_iter().chain(others).find(|w| {
            let own = w.name.to_ascii_uppercase();
            own == wanted || own.strip_prefix("LGWR-") == Some(wanted.as_str())
        })
    }

    /// Every name that [`Workload::by_name`] knows, in the order in which they are explained.
    #[must_use]
    pub fn names() -> Vec<String> {
        let standard = Workload::standard().into_iter().map(|w| w.name);
        standard
            .chain([STORM, SIZE_SWEEP].map(str::to_owned))
            .collect()
    }

    /// Length of record `index` of a transaction: the redo is divided evenly, the first records
    /// taking the remainder.
    #[must_use]
    pub fn record_bytes(&self, index: u32) -> u32 {
        let records = self.records.max(1);
        self.redo_bytes / records + u32::from(index < self.redo_bytes % records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_studys() {
        let kb: Vec<f64> = Workload::standard()
            .iter()
            .map(|w| f64::from(w.redo_bytes) / 1024.0)
            .collect();
        for (got, want) in kb.iter().zip([1.95, 26.3, 124.0, 486.0]) {
            assert!((got - want).abs() < 0.01, "{got} against {want}");
        }
        assert_eq!(
            Workload::by_name("lat25").map(|w| w.name).as_deref(),
            Some("LGWR-LAT25")
        );
        assert_eq!(Workload::by_name("LGWR-LAT2"), None);
    }

    #[test]
    fn records_add_up_to_the_transaction() {
        for records in [1, 2, 3, 7, 100] {
            let w = Workload {
                records,
                ..Workload::standard().remove(1)
            };
            let sum: u32 = (0..records).map(|i| w.record_bytes(i)).sum();
            assert_eq!(sum, w.redo_bytes);
        }
    }

    #[test]
    fn every_name_is_known_and_storm_is_study_004s() {
        for name in Workload::names() {
            assert!(Workload::by_name(&name).is_some(), "{name}");
        }
        let storm = Workload::by_name("Storm").expect("known");
        assert_eq!(storm.commit, CommitMode::WAIT_IMMEDIATE);
        assert_eq!(u64::from(STORM_JOBS) * STORM_COMMITS, 4_000_000);
    }

    #[test]
    fn a_sweeps_redo_comes_in_records_that_any_log_buffer_takes() {
        for (bytes, records) in [(64, 1), (8192, 1), (8193, 2), (16 << 20, 2048)] {
            let point = Workload::size_sweep(bytes);
            assert_eq!(point.records, records, "{bytes}");
            let sum: u32 = (0..records).map(|i| point.record_bytes(i)).sum();
            assert_eq!(sum, bytes);
            assert!(point.record_bytes(0) <= SWEEP_RECORD_BYTES);
        }
    }
}
