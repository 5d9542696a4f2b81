//! The steps of a watched run: find the log, have its events recorded, follow them until the end,
//! and make a run of what was seen.
//!
//! Invariants: the private instance of the trace is removed however this ends; a run that ends
//! before its time is whole, because a watched log has no plan; every run passes through the one
//! judge before it is stored.

use super::WatchError;
use super::measured::{SeenLog, measure, stored_name};
use super::plan::WatchPlan;
use super::subject::Subject;
use super::tally::{WATCHED_ROW, WatchedSecond};
use super::watching::Watching;
use crate::experiment::begin::new_run;
use crate::experiment::console::Console;
use crate::experiment::judge::{judge, note_failure};
use crate::experiment::{Failure, Stopped};
use crate::observe::tools;
use crate::observe::tracefs::TracefsError;
use crate::store::{RunWriter, Store};
use analysis::thresholds::Thresholds;
use drivers::collect::ReadServer;
use measure::run::{Origin, Row, Run, TargetFacts, WatchedFacts, WatchedWorkload, WorkloadInfo};
use measure::stack::Stack;
use measure::{Nanos, WaitEvent};

/// Files that facts list, at most.
const FILES_LISTED: usize = 64;
/// Log writes for which figures are given without doubt, at least.
const LEAST_WRITES: u64 = 20;

/// Watches a log and stores the run. `server` is asked for what it counts; `look` is called after
/// each second.
///
/// # Errors
/// The log cannot be watched, or the run cannot be stored.
pub fn watch(
    plan: &WatchPlan,
    mut server: Option<Box<dyn ReadServer>>,
    console: &dyn Console,
    look: &mut dyn FnMut(&WatchedSecond),
    store: &Store,
) -> Result<Run, Stopped> {
    let thresholds = Thresholds::parse(&plan.judgement.thresholds)
        .map_err(|error| Failure::Unusable(format!("--thresholds: {error}")))?;
    let subject = Subject::find(&plan.subject).map_err(Failure::from)?;
    let mut stack = device::identify::stack_of(&subject.folder).unwrap_or_default();
    tools::complete(&mut stack);
    let mut run = run_of(plan, &subject, stack);
    let mut watching = Watching::begin(subject, console).map_err(Failure::from)?;
    console.say(&watching.in_words());
    let mut writer = store.begin(&run.run_id)?;
    let outcome = measure(&mut watching, plan, &mut server, console, look, &mut writer);
    drop(watching.instance.take());
    match outcome.and_then(|made| finish(&mut run, made, &watching, &mut writer)) {
        Ok(()) => {}
        Err(failure) => {
            note_failure(&mut run, &failure);
            describe(&mut run, &watching);
            judge(&mut run, &thresholds, plan.judgement.not_judged.clone());
            // What cannot be kept is not: the failure is what is reported.
            let _ = writer.draft(&run);
            return Err(failure.into());
        }
    }
    judge(&mut run, &thresholds, plan.judgement.not_judged.clone());
    console.report(&mut run);
    writer.finish(&run)?;
    Ok(run)
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Failure {
        match error {
            WatchError::Tracefs(TracefsError::System {
                path,
                action,
                source,
            }) => Failure::System {
                what: format!("{}: {action}", path.display()),
                source,
            },
            other => Failure::Unusable(other.to_string()),
        }
    }
}

/// A run of `plan` that begins now.
fn run_of(plan: &WatchPlan, subject: &Subject, stack: Stack) -> Run {
    let mut run = new_run(&subject.folder, "watched_log", stack, &plan.command);
    run.origin = Origin::Watched;
    run.workload = WorkloadInfo::Watched(WatchedWorkload {
        names: vec![WATCHED_ROW.to_owned()],
        time_s: plan.time.map(Nanos::as_secs),
    });
    run.target.stack.declared = plan.judgement.declared.clone();
    run.need = plan.judgement.need.clone();
    run.notes = plan.notes.clone();
    run
}

/// Takes over what was seen into the run, and stores it.
fn finish(
    run: &mut Run,
    seen: SeenLog,
    watching: &Watching,
    writer: &mut RunWriter,
) -> Result<(), Failure> {
    let mut recording = seen.recording;
    if let (Some(note), Some(watched)) = (seen.grown_note, &mut recording.watched) {
        watched.notes.insert(note);
    }
    describe(run, watching);
    let row = recording.row();
    doubt(run, &row, watching, seen.lost);
    run.rows.push(row);
    Ok(writer.recording(&stored_name(), &recording)?)
}

/// Takes over what is known of the log at the end.
fn describe(run: &mut Run, watching: &Watching) {
    let known = watching.subject.files.known();
    let shown = known.values().map(|file| file.shown.display().to_string());
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    shown.truncate(FILES_LISTED);
    run.target.facts = TargetFacts::Watched(WatchedFacts {
        log_files: shown,
        log_bytes: known.values().map(|file| file.bytes).sum(),
        added_files: watching.added_files,
        events: watching
            .wanted
            .0
            .keys()
            .map(|kind| kind.path().replace('/', ":"))
            .collect(),
        traces_system_calls: watching.wanted.traces_system_calls(),
        ..watching.facts.clone()
    });
}

/// Notes in the run why its figures are to be doubted, if they are.
fn doubt(run: &mut Run, row: &Row, watching: &Watching, lost: u64) {
    let validity = &mut run.validity;
    let counts = watching.join.counts();
    if lost > 0 {
        let all = lost.saturating_add(watching.events);
        validity.add(
            "trace_lost",
            false,
            format!(
                "the kernel lost {lost} of {all} events, since they came faster than they were \
                 read: counts are too small, and a log write may be joined to the wrong flush"
            ),
        );
    }
    if watching.broken_pages > 0 {
        let pages = watching.broken_pages;
        let what = format!("{pages} pages of the trace could not be read whole");
        validity.add("trace_unreadable", false, what);
    }
    if counts.errors > 0 {
        let errno = std::io::Error::from_raw_os_error(
            i32::try_from(counts.last_error.unsigned_abs()).unwrap_or(0),
        );
        validity.add(
            "watched_errors",
            false,
            format!(
                "{} writes or flushes of the log failed, the last with: {errno}",
                counts.errors
            ),
        );
    }
    for path in &watching.late {
        let shown = path.display();
        let what = format!("{shown} was replaced; its writes of up to a second were not seen");
        validity.add("log_replaced", false, what);
    }
    let writes = row
        .wait(WaitEvent::LogFileParallelWrite)
        .map_or(0, |stats| stats.count);
    if writes == 0 && counts.calls > 0 {
        // Whether that is long enough to convict is a finding.
        let what = format!(
            "{} wrote the log, and no flush made them durable: no log write is complete",
            measure::words::plural(counts.calls, "call")
        );
        validity.add("no_flushes", false, what);
    } else if writes == 0 {
        let what = "no log write was seen: nothing was committed, or another file is the log";
        validity.add("no_log_writes", true, what);
    } else if writes < LEAST_WRITES {
        let what = format!("{writes} log writes are too few for their distribution");
        validity.add("few_log_writes", false, what);
    }
}
