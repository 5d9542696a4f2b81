//! Experiments: what is run on a target, and how it becomes rows of a run.
//!
//! What lives here: the ladder of jobs ([`ladder`]), the target with its log files ([`target`]),
//! sessions that generate load ([`load`]), the pace of an open loop ([`pace`]), what is recorded of
//! them ([`recorder`]), counted a second time (`span`) and captured event by event ([`capture`]),
//! one row ([`row`]), when a row is to be doubted ([`doubt`]), what redo is made of ([`payload`]),
//! what a row may write ([`meter`]),
//! the raw floor ([`floor`]).
//!
//! What it must not know: how a result is shown or judged.

pub mod capture;
pub mod doubt;
#[cfg(test)]
pub(crate) mod fixture;
pub mod floor;
pub mod ladder;
#[cfg(test)]
mod little;
pub mod load;
pub mod meter;
mod multiplex;
mod open;
pub mod pace;
pub mod payload;
mod planted;
pub mod recorder;
pub mod row;
pub mod site;
mod span;
pub mod target;

/// What stops an experiment before its end.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user asked.
    #[error("interrupted")]
    Interrupted,
    /// The log failed; what was measured until then is kept as invalid.
    #[error("{0}")]
    Log(#[from] redo::Error),
    /// The target is no place for log files.
    #[error("{0}")]
    Device(#[from] device::DeviceError),
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

impl Failure {
    /// The system refused `what`.
    pub fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Failure {
        let what = what.into();
        move |source| Failure::System { what, source }
    }
}
