//! Servers that redolab makes, uses and removes: private, on directories of its own, run by an
//! account without privileges.
//!
//! A server is started by a guard, a process of redolab's own program that waits for the end of
//! either side. Invariants: no server outlives the guard (the kernel's parent-death signal), nor
//! the process that asked for it (the guard reads the end of a pipe); a guard ends the one process
//! that it started, and no other.
//!
//! What it must not know: which database a server is, and what is measured on it.

mod account;
mod fill;
#[cfg(test)]
pub(crate) mod fixture;
pub mod guard;
mod order;
mod own_server;
mod places;
mod process;
mod ready;
mod settings;
mod spawn;
mod standing;

pub use account::ServerAccount;
pub use order::ServerOrder;
pub use process::{GuardProgram, GuardedProcess};

pub(crate) use fill::fill;
pub(crate) use own_server::OwnServer;
pub(crate) use places::{EndSignals, ServerPlaces};
pub(crate) use ready::{await_ready, check_interrupted};
pub(crate) use settings::{merged, refuse_reserved};

use measure::driver::DriverError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// What goes wrong with a server that redolab runs.
#[derive(Debug, Error)]
pub enum ManagedError {
    /// A program that could not be started.
    #[error("{}: cannot be started: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program that ended when it should not have, or not as it should have.
    #[error("{} {how}{}", program.display(), last_words(output))]
    Ended {
        /// The program.
        program: PathBuf,
        /// How it ended.
        how: String,
        /// The end of what it printed; may be empty.
        output: String,
    },
    /// A program that is not there.
    #[error("{0}")]
    Missing(String),
    /// What was asked for is not possible.
    #[error("{0}")]
    Unusable(String),
    /// The system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl ManagedError {
    /// An error of the system while `what` was tried.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> ManagedError {
        let what = what.into();
        |source| ManagedError::System { what, source }
    }
}

impl From<ManagedError> for DriverError {
    fn from(error: ManagedError) -> DriverError {
        match error {
            ManagedError::Unusable(_) | ManagedError::Missing(_) => {
                DriverError::unusable(error.to_string())
            }
            error => DriverError::failed(error.to_string()),
        }
    }
}

fn last_words(output: &str) -> String {
    if output.is_empty() {
        String::new()
    } else {
        format!("; it printed: {output}")
    }
}
