//! The processes of a server that redolab made, while it is measured.

use super::{GuardedProcess, ManagedError};
use measure::driver::DriverError;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a server may take to end in order.
const END_MAX: Duration = Duration::from_secs(60);

/// The processes of a server of redolab's own. Dropping it ends them at once.
#[derive(Debug)]
pub(crate) struct OwnServer(Mutex<Processes>);

#[derive(Debug)]
struct Processes {
    primary: GuardedProcess,
    standbys: Vec<GuardedProcess>,
}

impl OwnServer {
    /// A server, and its standbys.
    pub(crate) fn new(primary: GuardedProcess, standbys: Vec<GuardedProcess>) -> OwnServer {
        OwnServer(Mutex::new(Processes { primary, standbys }))
    }

    /// Ends the server, then its standbys.
    ///
    /// # Errors
    /// One of them had ended before, and how.
    pub(crate) fn end(&self) -> Result<(), DriverError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Processes { primary, standbys } = &mut *all;
        let mut lost: Option<ManagedError> = None;
        for process in standbys.iter_mut().chain([&mut *primary]) {
            if let Some(how) = process.ended().map(str::to_owned) {
                let how = format!("ended {how} while it was in use");
                lost = Some(process.failure(how));
            }
        }
        primary.end(END_MAX);
        standbys.iter_mut().for_each(GuardedProcess::kill);
        lost.map_or(Ok(()), |lost| Err(lost.into()))
    }
}
