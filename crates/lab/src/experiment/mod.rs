//! Experiments: a plan is carried out, and becomes a run.
//!
//! What lives here: the plan as plain data ([`plan`]); the conductor ([`conduct()`],
//! [`conduct_rounds`] for several targets, and [`conduct_explained`] for one under several
//! conditions) with its steps (identify: `place`, `identified`; plan: `prepare`, `limits`,
//! `expected`; measure: `rows`; judge: [`judge`]; `ending`) and the console to which it talks
//! ([`console`]).
//!
//! Below it what measures: the ladder of jobs ([`ladder`]), the target with its log files
//! ([`target`]) or a server of others ([`log_place`]), sessions that generate load ([`load`]), the
//! pace of an open loop ([`pace`]), what is recorded of them ([`recorder`]), counted a second time
//! (`span`) and captured event by event ([`capture`]), logs of others there (`neighbours`), one
//! row ([`row`]), when a row is to be
//! doubted ([`doubt`]), what redo is made of ([`payload`]), what a row may write ([`meter`]), the
//! raw floor ([`floor`]), also by processor (`placement`).
//!
//! What it must not know: command lines, and how a result is shown. Only [`judge`] asks what a run
//! means.

pub mod background;
pub mod begin;
mod busy;
pub mod capture;
pub mod conduct;
mod consent;
pub mod console;
pub mod control;
pub mod doubt;
mod drafts;
mod earlier;
pub mod ending;
pub mod expected;
pub mod explain;
pub mod fits;
#[cfg(test)]
pub(crate) mod fixture;
pub mod floor;
mod identified;
mod identify;
pub mod judge;
pub mod ladder;
pub mod limits;
#[cfg(test)]
mod little;
pub mod load;
pub mod log_place;
mod managed;
pub mod meter;
mod multiplex;
mod neighbours;
mod open;
pub mod pace;
pub mod payload;
mod place;
mod placement;
mod places;
pub mod plan;
mod planted;
mod prepare;
pub mod quantities;
pub mod recorder;
pub mod rounds;
pub mod row;
mod rows;
pub mod sample;
pub mod shared;
pub mod site;
mod span;
pub mod target;

use measure::driver::DriverError;

pub use conduct::conduct;
pub use console::Console;
pub use ending::Stopped;
pub use explain::conduct_explained;
pub use plan::{ExperimentPlan, ExplainPlan, RoundsPlan};
pub use rounds::conduct_rounds;

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
