//! Experiments: a plan is carried out, and becomes a run.
//!
//! What lives here: the conductor ([`conduct()`], [`conduct_rounds`] for several targets, and
//! [`conduct_explained`] for one under several conditions) and the [`console`] to which it talks.
//! Its steps have a room each: [`plan`] (plain data, and what it comes to on its targets),
//! [`target`] (what a planned target is on this machine, and how it is made), [`guard`] (what keeps
//! it from harm), [`mod@measure`] (sessions, rows, the floor), [`mod@judge`] (what a run means, and
//! when a row is to be doubted); `ending` is how it ends.
//!
//! What it must not know: command lines, and how a result is shown. Only [`mod@judge`] asks what a
//! run means.

pub mod begin;
mod calibrate;
pub mod conduct;
pub mod console;
mod drafts;
pub mod ending;
pub mod explain;
pub mod guard;
pub mod judge;
pub mod measure;
pub mod plan;
pub mod rounds;
mod simulated;
pub mod target;

use ::measure::driver::DriverError;

pub use self::measure::{load, row};
pub use calibrate::{
    CalibratedModel, CalibrationPlan, KeepPredictions, QUICK_EFFORT, USUAL_EFFORT, calibrate,
};
pub use conduct::conduct;
pub use console::Console;
pub use ending::Stopped;
pub use explain::conduct_explained;
pub use guard::limits;
pub use plan::{ExperimentPlan, ExplainPlan, RoundsPlan, fits, ladder, quantities};
pub use rounds::conduct_rounds;
pub use simulated::{WhatIf, simulate_rows};
pub use target::background;

/// What stops an experiment before its end.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user asked.
    #[error("interrupted")]
    Interrupted,
    /// The log failed; what was measured until then is kept as invalid.
    #[error("{0}")]
    Log(#[from] redo::Error),
    /// A target behind its driver failed, or cannot do what was asked.
    #[error("{0}")]
    Driver(DriverError),
    /// The target is no place for log files.
    #[error("{0}")]
    Device(#[from] device::DeviceError),
    /// The plan or its target cannot be used as it was asked for.
    #[error("{0}")]
    Unusable(String),
    /// It would endanger the machine.
    #[error("{0}")]
    Refused(#[from] crate::safety::Refusal),
    /// The run store refused.
    #[error("{0}")]
    Store(#[from] crate::store::StoreError),
    /// The system refused.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Failure {
        match error.into_cause::<redo::Error>() {
            Ok(of_the_log) => Failure::Log(of_the_log),
            Err(other) => Failure::Driver(other),
        }
    }
}

impl Failure {
    /// The system refused `what`.
    pub fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Failure {
        let what = what.into();
        move |source| Failure::System { what, source }
    }
}
