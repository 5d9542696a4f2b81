//! What was run: the workload of a run, by its kind.
//!
//! Invariants: as of [`crate::run`]. `kind` names the kind in JSON; a kind that comes later is a
//! further variant. How the log was written is a fact of the target, not of the workload.

use crate::workload::arrivals::Arrivals;
use crate::workload::{CommitMode, TprocC};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a run holds one")]
pub enum WorkloadInfo {
    /// Nothing is known: the run ended before its load was.
    #[default]
    Unknown,
    /// Transactions that append redo and commit.
    Redo(RedoWorkload),
    /// What others ran, of which evidence was imported.
    Imported(ImportedWorkload),
    /// What others ran while their log was watched.
    Watched(WatchedWorkload),
}

impl WorkloadInfo {
    /// Names of the workloads, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            WorkloadInfo::Unknown => &[],
            WorkloadInfo::Redo(redo) => &redo.names,
            WorkloadInfo::Imported(imported) => &imported.names,
            WorkloadInfo::Watched(watched) => &watched.names,
        }
    }

    /// The redo workload; `None` of any other kind.
    #[must_use]
    pub fn redo(&self) -> Option<&RedoWorkload> {
        match self {
            WorkloadInfo::Redo(redo) => Some(redo),
            _ => None,
        }
    }
}

/// Names that evidence gives to what was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedWorkload {
    /// Names of processes or snapshots, in order.
    pub names: Vec<String>,
}

/// What others ran while their log was watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchedWorkload {
    /// Names of the rows, in order.
    pub names: Vec<String>,
    /// Seconds asked for; `None` where it was watched until it was ended.
    pub time_s: Option<f64>,
}

/// Transactions that append redo and commit, and how they were run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RedoWorkload {
    /// Names of the workloads, in order.
    pub names: Vec<String>,
    /// Numbers of jobs, in order.
    pub jobs: Vec<u32>,
    /// Measured seconds asked for each row; `None` when commits were counted.
    pub time_s: Option<f64>,
    /// Seconds of warm-up before each row.
    pub warmup_s: f64,
    /// Commits per session, where they were counted.
    pub commits: Option<u64>,
    /// Microseconds of CPU work before each commit.
    pub cpu_per_txn_us: f64,
    /// `COMMIT WRITE` of each workload, by its name.
    #[serde(default)]
    pub commit_write: BTreeMap<String, CommitMode>,
    /// How sessions ask for durability: `sync` (each on a thread of its own) or `async` (many on a
    /// few threads, by tickets).
    pub commit_api: Option<String>,
    /// Seed of the payload, and of the arrivals of an open loop.
    pub seed: u64,
    /// When transactions were meant to begin; `None` for closed loops, in which each begins when
    /// the one before has returned.
    pub arrivals: Option<Arrivals>,
    /// Seconds of the soak, where there was one.
    pub soak_s: Option<f64>,
    /// What the redo was made of, asked and measured.
    pub payload: Option<PayloadInfo>,
    /// For `size-sweep`: what was swept, and what was held fixed.
    pub size_sweep: Option<SizeSweep>,
    /// For TPROC-C: what the plan decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tproc_c: Option<TprocC>,
}

/// What redo was made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PayloadInfo {
    /// Uncompressed to compressed, as asked; 1 is incompressible.
    pub compressibility: f64,
    /// All units of 4 KiB to distinct ones, as asked; 1 is unique.
    pub dedupe: f64,
    /// Uncompressed to compressed as a compressor finds it in a sample: see `compressor`.
    pub measured_compressibility: f64,
    /// All units of 4 KiB of the sample to distinct ones.
    pub measured_dedupe: f64,
    /// How the sample was compressed.
    pub compressor: String,
    /// Bytes of payload in the sample: redo without record headers, block headers and padding,
    /// which lie between on the device and are never the same.
    pub sample_bytes: u64,
}

/// A sweep over the redo of a transaction, with what study 002 held fixed and where a break is to
/// be looked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeSweep {
    /// Bytes of redo of a transaction, in order.
    pub sizes_bytes: Vec<u32>,
    /// Bytes of redo in the log buffer from which on it is written without a commit; `None` when
    /// that trigger is off.
    pub flush_threshold_bytes: Option<u64>,
    /// A third of the log buffer, from which on likewise; `None` when that trigger is off.
    pub buffer_third_bytes: Option<u64>,
    /// Bytes of a redo block.
    pub redo_block_bytes: u32,
    /// Full log files were archived. They are not: nothing reads the log while it is measured.
    pub archiving: bool,
    /// Log writes went to a flash log too. They did not.
    pub smart_flash_logging: bool,
}
