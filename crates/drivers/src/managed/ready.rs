//! Waiting for a server that was started.

use super::GuardedProcess;
use measure::driver::{DriverError, ManagedPlan};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const START_MAX: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(20);

/// Whether the user asked to stop while `what` was done.
///
/// # Errors
/// The user did.
pub(crate) fn check_interrupted(plan: &ManagedPlan, what: &str) -> Result<(), DriverError> {
    if plan.interrupted.load(Ordering::Relaxed) {
        return Err(DriverError::failed(format!("interrupted while {what}")));
    }
    Ok(())
}

/// Connects to a server as soon as it accepts connections.
///
/// # Errors
/// The server ended, with the last lines that it printed; or an error that is not that of a server
/// which is starting, by `is_starting`; or the user asked to stop.
pub(crate) fn await_ready<T, E: Into<DriverError>>(
    process: &mut GuardedProcess,
    plan: &ManagedPlan,
    mut connect: impl FnMut() -> Result<T, E>,
    is_starting: fn(&E) -> bool,
) -> Result<T, DriverError> {
    let until = Instant::now() + START_MAX;
    loop {
        if let Some(how) = process.ended() {
            let how = format!("ended {how} when it was started");
            return Err(process.failure(how).into());
        }
        match connect() {
            Ok(connected) => return Ok(connected),
            Err(error) if Instant::now() > until || !is_starting(&error) => {
                return Err(error.into());
            }
            Err(_) => {}
        }
        check_interrupted(plan, "a server was started")?;
        std::thread::sleep(LOOK);
    }
}
