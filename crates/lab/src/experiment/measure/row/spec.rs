//! What a row is to run.

use crate::experiment::measure::load::CommitApi;
use crate::experiment::measure::planted::PlantedLie;
use measure::Nanos;
use measure::run::RowCondition;
use measure::workload::arrivals::Arrivals;
use measure::workload::{Payload, Workload};
use serde::{Deserialize, Serialize};

/// Length of an interval, and how often a row is looked after in longer ones.
pub const INTERVAL: Nanos = Nanos::from_secs(1);
/// Intervals of a soak at most: what is stored of it is bounded, however long it takes.
const SOAK_INTERVALS: u64 = 1200;
/// Intervals of another row at most: a run of ten rows of hours can still be stored and read.
const ROW_INTERVALS: u64 = 5000;

/// What to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The workload.
    pub workload: Workload,
    /// Sessions.
    pub jobs: u32,
    /// How they commit.
    pub api: CommitApi,
    /// Measured time; ignored when commits are counted.
    pub time: Nanos,
    /// Time before, not measured.
    pub warmup: Nanos,
    /// Commits a session.
    pub commits: Option<u64>,
    /// CPU work before each commit.
    pub cpu_per_txn: Nanos,
    /// Seed of the payload.
    pub seed: u64,
    /// The row ends early when it has written this much redo.
    pub max_redo_bytes: u64,
    /// When transactions are meant to begin; `None` for a closed loop.
    pub arrivals: Option<Arrivals>,
    /// What redo is made of.
    pub payload: Payload,
    /// It runs for the sake of its intervals.
    pub soak: bool,
    /// The condition of an experiment that this row is one of.
    #[serde(default)]
    pub condition: Option<RowCondition>,
    /// What a test has planted; nothing otherwise.
    #[serde(skip)]
    pub planted: PlantedLie,
}

impl Spec {
    /// A closed loop for that time, of incompressible and unique redo.
    #[must_use]
    pub fn closed(workload: Workload, jobs: u32, time: Nanos, warmup: Nanos) -> Spec {
        Spec {
            workload,
            jobs,
            api: CommitApi::Sync,
            time,
            warmup,
            commits: None,
            cpu_per_txn: Nanos::ZERO,
            seed: 1,
            max_redo_bytes: u64::MAX,
            arrivals: None,
            payload: Payload::default(),
            soak: false,
            condition: None,
            planted: PlantedLie::default(),
        }
    }

    /// Length of its intervals: whole seconds, so many that a soak's store stays small.
    #[must_use]
    pub fn interval(&self) -> Nanos {
        let most = if self.soak {
            SOAK_INTERVALS
        } else {
            ROW_INTERVALS
        };
        Nanos::from_secs(self.time.0.div_ceil(most * INTERVAL.0).max(1))
    }
}
