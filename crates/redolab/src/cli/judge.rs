//! From a run to its judged views: findings, verdict, report.
//!
//! Invariant: a run that failed is judged like any other; it is invalid, and every view says so.

use super::common::audience;
use super::limits::KEEP_BYTES;
use super::{CommandError, report};
use crate::budget::{Budget, pages};
use crate::experiment::Failure;
use crate::output::file::{self, Inputs};
use crate::store::Store;
use analysis::thresholds::Thresholds;
use device::DeviceError;
use measure::judgement::Scope;
use measure::run::{RedoFigures, RedoLogFacts, Run};
use redo::Error;
use redo::writer::Cause;
use rustix::io::Errno;
use std::path::Path;

/// Fills findings and verdict of `run`; `not_judged` is what the caller left out.
pub(crate) fn judge(run: &mut Run, thresholds: &Thresholds, not_judged: Vec<String>) {
    run.findings = analysis::findings::findings(run, thresholds);
    // Every view of the run says so, not the verdict alone.
    let little = run.findings.iter().find(|f| f.id == "validity.little");
    if let Some(claim) = little.map(|f| f.claim.clone()) {
        run.validity.add("littles_law", false, claim);
    }
    let scope = Scope {
        seconds: run.rows.iter().filter_map(|r| r.elapsed_s).sum(),
        bytes_written: run.rows.iter().map(|r| written_bytes(r.redo())).sum(),
        log_footprint_bytes: run
            .target
            .redo_log()
            .map_or(0, RedoLogFacts::footprint_bytes),
        cache_resident: analysis::findings::cache_resident(run, thresholds),
        not_judged,
    };
    let verdict = analysis::verdict::verdict(run, &run.findings, &run.need, scope);
    run.verdict = Some(verdict);
}

/// Bytes that the log wrote, as far as they are known.
fn written_bytes(redo: &RedoFigures) -> u64 {
    redo.redo_size_bytes.unwrap_or(0) + redo.redo_wastage_bytes.unwrap_or(0)
}

/// Writes the report of `run` to `path`, and notes it there.
///
/// # Errors
/// Those of the output; the run then names no report.
pub(crate) fn write_report(
    store: &Store,
    run: &mut Run,
    path: &Path,
    inputs: &Inputs,
    budget: &Budget,
) -> Result<(), CommandError> {
    run.report = Some(path.display().to_string());
    let html = report::html(store, run);
    // What the store needs for the run itself stays.
    let kept = KEEP_BYTES / 2 + run.rows.len() as u64 * (64 << 10);
    let bytes = pages(html.len() as u64);
    if let Err(refusal) = budget.take(bytes.saturating_add(kept)) {
        run.report = None;
        return Err(CommandError::failed(format!(
            "{}: the report was not written: {refusal}; the run is stored (redolab report {})",
            path.display(),
            run.run_id
        )));
    }
    budget.give_back(kept);
    file::write(path, html.as_bytes(), audience(run), inputs).map_err(|e| {
        run.report = None;
        e.into()
    })
}

/// Notes in `run` what a failure makes of it: the device's word where it was the device, and that
/// the plan was not carried out.
pub(crate) fn note_failure(run: &mut Run, failure: &Failure) {
    if let Some(id) = of_the_device(failure) {
        run.validity.add(id, true, format!("{failure}."));
    }
    run.validity.add("incomplete", true, failure.to_string());
}

/// The problem that a device made, by its id.
pub(crate) fn of_the_device(failure: &Failure) -> Option<&'static str> {
    match failure {
        Failure::Log(Error::Poisoned(Cause::ShortWrite { .. })) => Some("short_write"),
        Failure::Log(
            Error::Poisoned(Cause::Write(_) | Cause::Flush(_) | Cause::Control(_))
            | Error::Control { .. }
            | Error::Making { .. }
            | Error::Device(DeviceError::Io { .. }),
        )
        | Failure::Device(DeviceError::Io { .. }) => Some("io_error"),
        Failure::System { source, .. } => {
            let cut_short = source.kind() == std::io::ErrorKind::WriteZero;
            let by_medium = source.raw_os_error().is_some_and(|e| MEDIUM.contains(&e));
            match (cut_short, by_medium) {
                (true, _) => Some("short_write"),
                (_, true) => Some("io_error"),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What media and their ways say when they fail, are full or are gone.
const MEDIUM: [i32; 7] = [
    Errno::IO.raw_os_error(),
    Errno::NOSPC.raw_os_error(),
    Errno::DQUOT.raw_os_error(),
    Errno::NXIO.raw_os_error(),
    Errno::NODEV.raw_os_error(),
    Errno::REMOTEIO.raw_os_error(),
    Errno::TIMEDOUT.raw_os_error(),
];

#[cfg(test)]
mod tests;
