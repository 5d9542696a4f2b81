//! `Run`: the waist of the hourglass. Whatever is measured, simulated or imported becomes this
//! plain data; whatever is shown, judged or compared is read from it.
//!
//! Invariants: units are in the key; a value that was not measured is `None`, never zero. Rows of
//! imported runs name in `not_measured` the fields that their evidence does not tell.

mod row;
mod target;

pub use row::*;
pub use target::{ProbeRow, Target};

use crate::imported::{Diagnostic, Imported};
use crate::judgement::{Finding, Need, Verdict};
use crate::words::words;
use crate::workload::arrivals::Arrivals;
use serde::{Deserialize, Serialize};

/// The schema's name and version.
pub const SCHEMA: &str = "redolab.run/1";

/// Where a run's figures come from. Shown wherever they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Measured on a real device in real time.
    Measured,
    /// Computed in virtual time on a model.
    Simulated,
    /// Read from evidence that others recorded.
    Imported,
}

words!(Origin {
    Measured => "measured",
    Simulated => "simulated",
    Imported => "imported",
});

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Name in the store.
    pub run_id: String,
    /// RFC 3339 time of creation, UTC.
    pub created: String,
    /// Where the figures come from.
    pub origin: Origin,
    /// Version that made it.
    pub redolab_version: String,
    /// The command that made it, argument by argument.
    pub command: Vec<String>,
    /// Where the log lived.
    pub target: Target,
    /// What was run.
    pub workload: WorkloadInfo,
    /// The machine.
    pub environment: Environment,
    /// One row for each workload and number of jobs.
    pub rows: Vec<Row>,
    /// The device's floor, if it was probed.
    #[serde(default)]
    pub floor: Vec<FloorRow>,
    /// The lab's own overhead on the null device, nanoseconds a commit (one job, LGWR-LAT1).
    #[serde(default)]
    pub lab_overhead_ns: Option<f64>,
    /// Findings.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Whether to believe it.
    pub validity: Validity,
    /// The need that was stated.
    #[serde(default)]
    pub need: Need,
    /// The verdict, for `check`.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The report that was written.
    #[serde(default)]
    pub report: Option<String>,
    /// What is wrong or unusual in the evidence, for `import`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// What was read beside the rows, for `import`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadInfo {
    /// Names of the workloads, in order.
    pub names: Vec<String>,
    /// Numbers of jobs, in order.
    pub jobs: Vec<u32>,
    /// Measured seconds asked for each row; `None` when commits were counted.
    pub time_s: Option<f64>,
    /// Seconds of warm-up before each row.
    pub warmup_s: f64,
    /// Commits a session, where they were counted.
    pub commits: Option<u64>,
    /// Microseconds of CPU work before each commit.
    pub cpu_per_txn_us: f64,
    /// `inline`, `lgwr`, `workers=N` or `adaptive`.
    pub log_writer: String,
    /// How sessions ask for durability: `sync` (each on a thread of its own) or `async` (many on a
    /// few threads, by tickets). Empty in runs of earlier versions, which were `sync`.
    #[serde(default)]
    pub commit_api: String,
    /// How foregrounds learn that their redo is durable: `post-wait`, `polling` or `adaptive`.
    /// Empty in runs of earlier versions, which were `post-wait`.
    #[serde(default)]
    pub log_file_sync: String,
    /// What has redo written, as `commit,third,1MB,3s`. Empty in runs of earlier versions, which
    /// had these.
    #[serde(default)]
    pub flush_triggers: String,
    /// CPUs that the log writer's threads stayed on; empty where they ran anywhere.
    #[serde(default)]
    pub log_writer_cpus: Vec<u32>,
    /// Seed of the payload, and of the arrivals of an open loop.
    pub seed: u64,
    /// When transactions were meant to begin; `None` for closed loops, in which each begins when
    /// the one before has returned.
    #[serde(default)]
    pub arrivals: Option<Arrivals>,
    /// Seconds of the soak, where there was one.
    #[serde(default)]
    pub soak_s: Option<f64>,
    /// What the redo was made of, asked and measured; `None` in runs of earlier versions, whose
    /// redo was incompressible and unique.
    #[serde(default)]
    pub payload: Option<PayloadInfo>,
    /// For `size-sweep`: what was swept, and what was held fixed.
    #[serde(default)]
    pub size_sweep: Option<SizeSweep>,
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

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Operating system and kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Online processors.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Name of the host, or empty where it is withheld.
    pub hostname: String,
    /// Frequency governor of the first processor, where readable.
    pub governor: Option<String>,
}

/// One measured floor: a raw durable write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloorRow {
    /// `buffered`, `dsync`, `direct`, `direct-dsync`.
    pub sync_method: String,
    /// The file had been written before; otherwise its blocks were only allocated.
    pub pre_written: bool,
    /// Bytes of each write.
    pub write_bytes: u64,
    /// Durable writes per second, queue depth 1.
    pub writes_per_s: f64,
    /// Time of write and flush.
    pub latency: WaitStats,
    /// Time of the write alone, where a flush follows it.
    pub write_mean_ns: f64,
    /// Time of the flush alone; zero where the write itself is durable.
    pub flush_mean_ns: f64,
}

/// Whether to believe a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Validity {
    /// No problem makes the figures wrong.
    pub valid: bool,
    /// Problems of the figures.
    pub problems: Vec<Problem>,
}

/// A problem of a run: a reason not to believe its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// Stable identifier, such as `io_error`.
    pub id: String,
    /// The figures are wrong, not merely doubtful.
    pub invalidates: bool,
    /// What happened.
    pub detail: String,
}

impl Validity {
    /// Valid so far.
    #[must_use]
    pub fn sound() -> Validity {
        Validity {
            valid: true,
            problems: Vec::new(),
        }
    }

    /// Adds a problem.
    pub fn add(&mut self, id: &str, invalidates: bool, detail: impl Into<String>) {
        if invalidates {
            self.valid = false;
        }
        self.problems.push(Problem {
            id: id.to_owned(),
            invalidates,
            detail: detail.into(),
        });
    }
}
