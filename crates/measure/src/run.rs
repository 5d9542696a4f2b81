//! `Run`: the waist of the hourglass. Whatever is measured, simulated or imported becomes this
//! plain data; whatever is shown, judged or compared is read from it.
//!
//! Invariants: units are in the key; a value that was not measured is `None`, never zero.

mod figures;
mod groups;
mod load;
mod notes;
mod placement;
pub mod problems;
mod row;
mod server;
mod target;
mod tproc_c;
mod watched;

pub use figures::*;
pub use groups::{
    AuditStatus, CommitsPerWrite, DeviceFigures, FlushAudit, LearningFigures, LogLifeFigures,
    NfsRequests, NodeFigures, OpenLoop, OpenLoopFigures, ProcessorFigures, RecordedSyncSwitch,
    RedoFigures, SlowLogWrite, SlowLogWrites, Worker, measured,
};
pub use load::{
    ImportedWorkload, PayloadInfo, RedoWorkload, SizeSweep, WatchedWorkload, WorkloadInfo,
};
pub use notes::RunNotes;
pub use placement::{PlaceFigures, PlacementFigures, ProcessorInterrupts};
pub use row::Row;
pub use server::{ServerFigures, ServerWaits};
pub use target::{
    DatabaseFacts, ImportedFacts, MemberFacts, ModelInfluence, ProbeRow, RedoCalibration,
    RedoLogFacts, RingFacts, RingFactsKind, SimulatedFacts, SimulatedMember, StripeFacts, Target,
    TargetFacts,
};
pub use tproc_c::{ConsistencyCondition, TprocCDetail, TprocCFigures};
pub use watched::{
    ScopedSetting, WATCHED_BLOCK_BYTES, WatchedFacts, WatchedFigures, WatchedLayers,
};

use crate::enum_words::words;
use crate::imported::{Diagnostic, Imported};
use crate::judgement::{Finding, Need, Verdict};
use crate::power_test::PowerTestEvidence;
use serde::{Deserialize, Serialize};

/// The schema's name and version.
pub const SCHEMA: &str = "redolab.run/2";

/// Where a run's figures come from. Shown wherever they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Measured on a real device in real time.
    Measured,
    /// Seen of a log that somebody else writes, in real time.
    Watched,
    /// Computed in virtual time on a model.
    Simulated,
    /// Read from evidence that others recorded.
    Imported,
}

words!(Origin {
    Measured => "measured",
    Watched => "watched",
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
    /// What its user noted about it.
    #[serde(default, skip_serializing_if = "RunNotes::is_empty")]
    pub notes: RunNotes,
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
    /// The floor from each processor, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementFigures>,
    /// What power tests show about the device, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_tests: Option<PowerTestEvidence>,
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
    /// The verdict, where the evidence allows one: for runs that were measured and have rows.
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
    /// Which rows were ended early or left out because of a limit that the user set. The figures
    /// are right for what was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<String>,
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
            shortened: Vec::new(),
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
