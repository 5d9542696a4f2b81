//! Other processes that write their logs on the device of a target: of a place for a log, of a
//! server that will be made there, and of a server of others.
//!
//! Invariant: a log that is only open is no neighbour; the log of the target itself is none either.

use crate::experiment::Failure;
use crate::experiment::console::Console;
use crate::experiment::target::storage::directory_of;
use crate::safety::{self, ForeignLog};
use device::identify::{Holder, OpenLogs};
use measure::driver::Driver;
use std::path::Path;
use std::time::{Duration, Instant};

/// Looks whether a device is free: `busy` watches it for the time in which logs of others on the
/// volume of `path` are looked at. `own` is the directory of the target's own log. Returns a
/// warning for the run where the user insisted.
///
/// # Errors
/// The refusal, with what to do.
pub(crate) fn check(
    path: Option<&Path>,
    own: Option<&Path>,
    busy: impl FnOnce() -> Option<f64>,
    allow_busy: bool,
    console: &dyn Console,
) -> Result<Option<String>, Failure> {
    let open = path.map(OpenLogs::of).transpose()?;
    let begun = Instant::now();
    let busy = busy();
    if open.as_ref().is_some_and(|open| !open.is_empty()) {
        let window = Duration::from_secs(safety::BUSY_WINDOW_S);
        std::thread::sleep(window.saturating_sub(begun.elapsed()));
    }
    let found = open.map(|open| open.written_since()).unwrap_or_default();
    if found.unreadable > 0 {
        console.detail(&format!(
            "{} processes could not be looked at; they may write redo or WAL files here",
            found.unreadable
        ));
    }
    let foreign = |holder: Holder| {
        let mut files = holder.files.into_iter();
        let file = files.find(|file| own.is_none_or(|own| file.parent() != Some(own)))?;
        Some(ForeignLog {
            pid: holder.pid,
            name: holder.command,
            file,
        })
    };
    let foreign: Vec<ForeignLog> = found.found.into_iter().filter_map(foreign).collect();
    let warning = safety::check_busy(busy, &foreign, allow_busy)?.map(|refusal| refusal.fact());
    if let Some(warning) = &warning {
        console.say(&format!("Warning (--allow-busy): {warning}"));
    }
    Ok(warning)
}

/// The same for the device of the log of a server of others, where its directory can be seen. How
/// busy the device is shows the server's own work, and is not asked.
///
/// # Errors
/// As of [`check`], and a server that does not answer.
pub(crate) fn check_server(
    driver: &dyn Driver,
    allow_busy: bool,
    console: &dyn Console,
) -> Result<Option<String>, Failure> {
    // Where its log is, a driver knows when it is ready.
    driver.prepare(&[])?;
    let facts = driver.facts();
    match directory_of(&facts) {
        Some(own) if own.is_dir() => check(Some(own), Some(own), || None, allow_busy, console),
        _ => Ok(None),
    }
}
