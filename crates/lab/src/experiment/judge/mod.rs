//! The one judge of runs: what a run shows, whatever command made it, and the verdict where the
//! evidence allows one.
//!
//! Invariants: every run that is stored has passed through here, and a run that failed is judged
//! like any other: it is invalid, and every view says so. Imported evidence says nothing of the
//! storage below, neither does a server whose device is not known, and a floor alone says nothing
//! of commits: none of them has a verdict.

pub mod doubt;

use crate::experiment::Failure;
use analysis::findings::{self, FindingAxis};
use analysis::thresholds::Thresholds;
use device::DeviceError;
use measure::judgement::{Finding, Scope};
use measure::run::{Origin, Row, RowCondition, Run, TargetFacts, WorkloadInfo};
use measure::words;
use measure::workload::{CommitMode, CommitWait, Workload};
use redo::Error;
use redo::writer::Cause;
use rustix::io::Errno;

/// Findings on the waits that others recorded, and on whether to believe them, by their ids. What
/// else a finding rests on (the storage, the load, how it was changed) is not in such evidence.
const OF_WAITS: [&str; 3] = ["latency.", "origin.", "validity."];

/// Findings on a server, by the beginnings of their ids: what its acknowledgements mean, what is
/// below its log, and what is needed. What else concerns the storage needs the log to be redolab's
/// own.
const OF_A_SERVER: [&str; 5] = [
    "server.",
    "mount.",
    "stack.",
    "durability.declared",
    "need.",
];

fn of_a_server(finding: &Finding) -> bool {
    OF_A_SERVER.iter().any(|id| finding.id.starts_with(id))
}

/// Whether a run on a server allows a verdict: the device of its log is known, its transactions are
/// those of LGWR workloads, and sessions waited where commit rates are judged.
fn answers_for_its_device(run: &Run) -> bool {
    let WorkloadInfo::Redo(workload) = &run.workload else {
        return false;
    };
    let answers = |row: &Row| {
        let waits = |mode: &CommitMode| mode.wait == CommitWait::Wait;
        let waited = workload.commit_write.get(&row.workload).map(waits);
        let asked = Workload::by_name(&row.workload).map(|w| waits(&w.commit));
        asked.is_some_and(|asked| !asked || waited == Some(true))
    };
    !run.target.stack.layers.is_empty() && run.rows.iter().all(answers)
}

/// Whether a finding is about an experiment that explains latency, about the storage below it, or
/// about whether to believe it.
fn explains(finding: &Finding) -> bool {
    let of_experiment = ["latency.parts", "latency.conditions"];
    of_experiment.contains(&finding.id.as_str())
        || matches!(
            findings::axis(&finding.id),
            FindingAxis::Durability | FindingAxis::Validity
        )
}

fn of_waits(finding: &Finding) -> bool {
    OF_WAITS.iter().any(|id| finding.id.starts_with(id))
}

/// Fills findings and verdict of `run`; `not_judged` is what its plan left out on purpose.
pub fn judge(run: &mut Run, thresholds: &Thresholds, not_judged: Vec<String>) {
    doubt_zeros(run);
    run.findings = findings::findings(run, thresholds);
    // Every view of the run says so, not the verdict alone.
    let little = run.findings.iter().find(|f| f.id == "validity.little");
    if let Some(claim) = little.map(|f| f.claim.clone()) {
        add_once(run, "littles_law", false, claim);
    }
    if run.origin == Origin::Imported {
        run.findings.retain(of_waits);
        // What the figures say against each other comes before what they show.
        let mut found = findings::evidence::findings(run);
        if let Some(imported) = &run.imported {
            let is_judged = run.findings.iter().any(|f| f.id == "latency.write_mean");
            found.extend(findings::diagnosis::of(imported, thresholds, is_judged));
            found.extend(findings::agreement::findings(imported));
            findings::diagnosis::kept::shorten(imported, &mut found);
        }
        found.append(&mut run.findings);
        found.sort_by_key(|f| std::cmp::Reverse(f.weight));
        run.findings = found;
        run.verdict = None;
        return;
    }
    if run.origin == Origin::Watched {
        run.findings.retain(|f| of_waits(f) || of_a_server(f));
    }
    if let TargetFacts::Database(_) = &run.target.facts {
        run.findings.retain(|f| of_waits(f) || of_a_server(f));
        if !answers_for_its_device(run) {
            // They weigh on the device, of which this run says nothing.
            run.findings.retain(|f| !f.id.starts_with("need."));
            run.verdict = None;
            return;
        }
    }
    if run.rows.iter().any(|row| row.condition.is_some()) {
        // Rows that compete with busy threads on purpose do not judge the device.
        run.findings.retain(explains);
        run.verdict = None;
        return;
    }
    if run.rows.is_empty() {
        run.verdict = None;
        return;
    }
    let scope = Scope {
        seconds: run.rows.iter().filter_map(|r| r.elapsed_s).sum(),
        bytes_written: run.rows.iter().map(written_bytes).sum(),
        log_footprint_bytes: match &run.target.facts {
            TargetFacts::RedoLog(log) => log.footprint_bytes(),
            TargetFacts::Watched(log) => log.log_bytes,
            _ => 0,
        },
        cache_resident: findings::cache_resident(run, thresholds),
        not_judged,
        watched: run.origin == Origin::Watched,
    };
    let verdict = analysis::verdict::verdict(run, &run.findings, &run.need, scope);
    run.verdict = Some(verdict);
}

/// Bytes that the log wrote, as far as they are known.
fn written_bytes(row: &Row) -> u64 {
    let redo = row.redo();
    let own = redo.redo_size_bytes.unwrap_or(0) + redo.redo_wastage_bytes.unwrap_or(0);
    let of_others = row.watched().written_bytes.unwrap_or(0);
    own + row.server().written_bytes.unwrap_or(0) + of_others
}

fn add_once(run: &mut Run, id: &str, invalidates: bool, detail: String) {
    let is_known = |p: &measure::run::Problem| p.id == id && p.detail == detail;
    if !run.validity.problems.iter().any(is_known) {
        run.validity.add(id, invalidates, detail);
    }
}

/// A row without commits is no measurement: its zeros are not short waits.
fn doubt_zeros(run: &mut Run) {
    if run.origin != Origin::Measured {
        return;
    }
    let empty = run.rows.iter().filter(|row| row.commits == Some(0));
    for nothing in empty.map(nothing_measured).collect::<Vec<_>>() {
        add_once(run, "no_commits", true, nothing);
    }
}

fn nothing_measured(row: &Row) -> String {
    let condition = row.condition.as_ref().map(RowCondition::in_words);
    let condition = condition.unwrap_or_default();
    let jobs = words::jobs(row.jobs);
    let name = format!("{} with {jobs}{condition}", row.workload);
    if row.open_loop.is_some() {
        return format!(
            "{name}: every transaction that returned was due before the measured time: {} were \
             waiting at its end; lower --rate, or use more sessions (--jobs)",
            row.open_loop().backlog_end.unwrap_or(0)
        );
    }
    format!(
        "{name}: no transaction began in the measured time, since every session waited for an \
         earlier one (for a flush trigger that came late or never, or for a device that did not \
         answer); measure longer (--time), or look at --commit-write and --flush-triggers"
    )
}

/// Notes in `run` what a failure makes of it: the device's word where it was the device, and that
/// the plan was not carried out.
pub fn note_failure(run: &mut Run, failure: &Failure) {
    if let Some(id) = of_the_device(failure) {
        run.validity.add(id, true, format!("{failure}."));
    }
    run.validity.add("incomplete", true, failure.to_string());
}

/// The problem that a device made, by its id; `None` where it was not the device.
#[must_use]
pub fn of_the_device(failure: &Failure) -> Option<&'static str> {
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

/// Errors of a medium, or of the way to it, that fails, is full or is gone.
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
