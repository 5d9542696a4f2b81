//! The canary: a small write and fsync on the log's file system, again and again, without root. A
//! probe that takes long is a stall, and what was seen meanwhile shows who held it up.
//!
//! | file | what lives there |
//! |---|---|
//! | `probes` | the canary's file and its probes |
//! | `heartbeat` | a thread that needs a processor too, and that looks at the canary |
//! | `machine` | what is found before the first probe: directory, device, missing evidence |
//! | `judge` | the evidence of a stall, and the class that follows from it |
//!
//! Invariants: nothing is written but one file of 4 KiB in a work folder of redolab's own, which is
//! removed at the end, on a signal, and by the next start after a kill; the log, its server and its
//! processes are not looked at; what this machine does not report is `None`.

mod heartbeat;
pub mod judge;
mod machine;
mod probes;

pub use judge::{StallClass, StallEvidence, WaitedIn};
pub use probes::canary;

use measure::Nanos;
use measure::run::WaitStats;
use serde::Serialize;
use std::path::PathBuf;

/// Schema of the result.
pub const SCHEMA: &str = "redolab.canary/1";

/// What to probe.
#[derive(Clone, Debug)]
pub struct CanaryPlan {
    /// A directory, or a file beside which to write.
    pub path: PathBuf,
    /// Probes per second.
    pub rate_per_s: u32,
    /// How long.
    pub time: Nanos,
    /// A probe that takes at least this is a stall; `None`: 20 ms or ten times the median so far,
    /// whichever is more.
    pub stall_over: Option<Nanos>,
}

/// A probe that took long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stall {
    /// Number of the probe, from 1.
    pub probe: u64,
    /// When it was due, after the begin.
    pub at_ns: u64,
    /// The limit that it reached.
    pub limit_ns: u64,
    /// What it was.
    pub class: StallClass,
    /// What of the evidence decides this.
    pub reason: &'static str,
    /// What was seen.
    pub evidence: StallEvidence,
}

/// How many stalls there were of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StallCounts {
    /// The canary did not get a processor.
    pub scheduler: u64,
    /// It waited behind pages of others.
    pub writeback: u64,
    /// The device, or what limits it, took the time.
    pub storage: u64,
    /// The evidence does not decide.
    pub unknown: u64,
}

impl StallCounts {
    fn add(&mut self, class: StallClass) {
        *match class {
            StallClass::Scheduler => &mut self.scheduler,
            StallClass::Writeback => &mut self.writeback,
            StallClass::Storage => &mut self.storage,
            StallClass::Unknown => &mut self.unknown,
        } += 1;
    }

    /// Stalls of a class.
    #[must_use]
    pub const fn of(&self, class: StallClass) -> u64 {
        match class {
            StallClass::Scheduler => self.scheduler,
            StallClass::Writeback => self.writeback,
            StallClass::Storage => self.storage,
            StallClass::Unknown => self.unknown,
        }
    }

    /// Stalls of all classes.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.scheduler + self.writeback + self.storage + self.unknown
    }
}

/// What the canary saw.
#[derive(Clone, Debug, Serialize)]
pub struct CanaryReport {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Version of redolab.
    pub redolab_version: &'static str,
    /// When it began (RFC 3339, UTC).
    pub started: String,
    /// The directory of the probes.
    pub path: String,
    /// Name and number of the device below it; `None` where there is not exactly one with counters.
    pub device: Option<String>,
    /// Probes per second that were asked for.
    pub rate_per_s: u32,
    /// The limit of a stall that was asked for.
    pub stall_over_ns: Option<u64>,
    /// How long it ran.
    pub elapsed_ns: u64,
    /// Somebody ended it before its time.
    pub interrupted: bool,
    /// Why a write or an fsync of a probe failed, which ended it.
    pub ended_by: Option<String>,
    /// Probes that were made.
    pub probes: u64,
    /// Times from the begin of a write to the end of its fsync.
    pub write_and_fsync: WaitStats,
    /// Times from the moment at which a probe was due to its begin.
    pub late: WaitStats,
    /// Stalls by class.
    pub stalls_by_class: StallCounts,
    /// The first stalls, with their evidence.
    pub stalls: Vec<Stall>,
    /// Stalls after those.
    pub stalls_left_out: u64,
    /// Evidence that this machine does not provide.
    pub not_available: Vec<String>,
}
