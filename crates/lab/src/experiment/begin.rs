//! The beginning of a run: who made it, where, on what machine; and the capture of its events.

use super::Failure;
use super::measure::capture::Capture;
use super::plan::MeasurementPlan;
use super::plan::expected::{size_sweep, workload_info};
use super::target::LoadTarget;
use super::target::identify::Identified;
use crate::observe::machine;
use crate::store::{RunWriter, new_run_id, now_rfc3339};
use measure::run::{Origin, Run, SCHEMA, Target, TargetFacts, Validity, WorkloadInfo};
use measure::stack::Stack;
use measure::words;
use std::path::Path;

/// A run that begins now, made by `command` on `path`.
#[must_use]
pub fn new_run(path: &Path, kind: &str, stack: Stack, command: &[String]) -> Run {
    Run {
        schema: SCHEMA.to_owned(),
        run_id: new_run_id(),
        created: now_rfc3339(),
        origin: Origin::Measured,
        redolab_version: env!("CARGO_PKG_VERSION").to_owned(),
        notes: measure::run::RunNotes::default(),
        command: command.to_vec(),
        target: Target {
            kind: kind.to_owned(),
            path: path.display().to_string(),
            stack,
            ..Target::default()
        },
        workload: WorkloadInfo::default(),
        environment: machine::environment(true),
        rows: Vec::new(),
        floor: Vec::new(),
        placement: None,
        power_tests: None,
        lab_overhead_ns: None,
        findings: Vec::new(),
        validity: Validity::sound(),
        need: measure::judgement::Need::default(),
        verdict: None,
        report: None,
        diagnostics: Vec::new(),
        imported: None,
    }
}

/// A run of `plan` on `target` that begins now. `warning` is what the user insisted against.
pub(super) fn run_of(plan: &MeasurementPlan, target: &Identified, warning: Option<&str>) -> Run {
    let mut run = match target {
        Identified::Path(t) => {
            let (path, stack) = (t.shown(), t.storage.stack.clone());
            new_run(&path, t.kind(), stack, &plan.command)
        }
        Identified::Null => new_run(Path::new("null"), "null", Stack::default(), &plan.command),
        Identified::Server(server) => {
            let (shown, stack) = (server.shown(), server.log.storage.stack.clone());
            new_run(Path::new(&shown), "own_server", stack, &plan.command)
        }
        Identified::Opened { shown, .. } => {
            let stack = Stack::default();
            new_run(Path::new(shown), "server", stack, &plan.command)
        }
    };
    run.target.stack.declared = plan.judgement.declared.clone();
    run.need = plan.judgement.need.clone();
    run.notes = plan.notes.clone();
    if !plan.rows.is_empty() {
        run.workload = workload_info(&plan.rows);
    }
    if let Some(warning) = warning {
        run.validity.add("busy_device", false, warning);
    }
    run
}

/// Takes over the facts that the target reports, keeping kind and path, and the stack unless the
/// target knows better.
pub(super) fn describe(run: &mut Run, target: &LoadTarget, plan: &MeasurementPlan) {
    let facts = target.driver.facts();
    if let (WorkloadInfo::Redo(workload), TargetFacts::RedoLog(log)) = (&mut run.workload, &facts) {
        workload.size_sweep = size_sweep(&plan.rows, &plan.log, log.redo_block_bytes);
    }
    run.target.facts = facts;
    if let Some(storage) = &target.storage {
        let declared = std::mem::take(&mut run.target.stack.declared);
        run.target.stack = storage.stack.clone();
        run.target.stack.declared = declared;
    }
}

/// Notes what the members of the log did, when the rows are over.
pub(super) fn describe_members(run: &mut Run, target: &LoadTarget) {
    if let (TargetFacts::RedoLog(noted), TargetFacts::RedoLog(found)) =
        (&mut run.target.facts, target.driver.facts())
    {
        noted.members = found.members;
        noted.ring = found.ring;
    }
}

/// Has every event of what is run on `target` captured into the run.
pub(super) fn begin_events(target: &LoadTarget, writer: &mut RunWriter) -> Result<(), Failure> {
    target.meter.with_events();
    let events = writer.begin_events()?;
    let started = |shards| Capture::start(shards, events);
    let outcome = target.recorder.capture_with(started);
    outcome.map_err(Failure::system("starting the capture of events"))
}

/// Takes over what was captured, and says where something is missing.
pub(super) fn end_events(
    target: &LoadTarget,
    writer: &mut RunWriter,
    run: &mut Run,
) -> Result<(), Failure> {
    let Some(capture) = target.recorder.capture() else {
        return Ok(());
    };
    writer.end_events(capture.end()?)?;
    for row in &run.rows {
        let Some(events) = row.events.as_ref().filter(|events| events.lost > 0) else {
            continue;
        };
        let kept = events.log_file_syncs + events.log_file_parallel_writes;
        let lost = format!(
            "{} with {}: {} of {} events were lost, since they came faster than they could be \
             stored; the histograms count all of them. Put the store on another device, leave a \
             processor free, or measure without --events",
            row.workload,
            words::jobs(row.jobs),
            events.lost,
            kept + events.lost
        );
        run.validity.add("events_lost", true, lost);
    }
    Ok(())
}
