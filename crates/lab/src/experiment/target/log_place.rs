//! Where a server of others keeps its log, as far as that can be seen on this machine: the storage
//! stack below its directory, and the devices that count its writes and flushes.
//!
//! Invariant: nothing is written there, and what cannot be seen is unknown.

use crate::observe::diskstats::Counters;
use crate::observe::tools;
use crate::observe::topology::{DevNo, counted_devices};
use measure::run::TargetFacts;
use measure::stack::Stack;
use std::path::Path;

/// The directory of the log of a server on this machine; `None` where it is not known.
pub(crate) fn directory_of(facts: &TargetFacts) -> Option<&Path> {
    let TargetFacts::Database(facts) = facts else {
        return None;
    };
    facts.log_directory.as_deref().map(Path::new)
}

/// The directory of a server's log.
pub struct ServerLogPlace {
    /// The stack below it.
    pub stack: Stack,
    /// The devices below it that count flushes.
    pub counted: Vec<DevNo>,
}

impl ServerLogPlace {
    /// That of a server on this machine whose directory can be seen.
    #[must_use]
    pub fn of(facts: &TargetFacts) -> Option<ServerLogPlace> {
        let directory = directory_of(facts)?;
        let mut stack = device::identify::stack_of(directory).ok()?;
        tools::complete(&mut stack);
        let counted = counted_devices(&stack);
        Some(ServerLogPlace { stack, counted })
    }

    /// Counters of the device below, where there is exactly one that counts.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        match self.counted.as_slice() {
            [one] => Counters::open(*one).ok(),
            _ => None,
        }
    }
}
