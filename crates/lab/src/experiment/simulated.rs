//! Rows in virtual time: a plan and a model become a run, as a plan and a target do.
//!
//! Invariants: its origin is `simulated`, so nothing of it is ever judged to be a yes; what of the
//! plan is not simulated is refused by name, before anything is.

use super::begin::new_run;
use super::console::Console;
use super::judge::judge;
use super::load::CommitApi;
use super::plan::expected::workload_info;
use super::plan::{LogPlan, MeasurementPlan};
use super::row::{Spec, stored_name};
use super::{Failure, Stopped};
use crate::store::Store;
use ::measure::run::{ModelInfluence, Origin, Run, SimulatedFacts, SimulatedMember, TargetFacts};
use ::measure::words;
use ::measure::workload::Payload;
use analysis::thresholds::Thresholds;
use device::{Caps, NullDevice};
use redo::{LogWriter, Policy};
use simulate::{
    Costs, DeviceModel, LogSetup, MemberCount, MemberDevices, Model, SimulationOutcome,
    SimulationSetup, SimulationStopped, WayToDevices,
};
use std::path::Path;

/// What the models leave out.
const NOT_MODELLED: [&str; 5] = [
    "other work on the machine and on the device",
    "database writers that fall behind",
    "sessions that poll on one processor",
    "what a scheduler does with hundreds of threads",
    "waking the threads of members for their first operation",
];
/// Bytes to which log writes are padded: the sector of most devices.
const SEAL_BYTES: u32 = 4096;
/// A value of the model is changed to so many times itself to see what it changes.
const VARIED: f64 = 1.2;
/// Virtual time of such a row at most, nanoseconds.
const VARIED_NS: u64 = 200_000_000;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct WhatIf<'a> {
    /// The machine, and the device of the log or of its first member.
    pub model: Model,
    /// The file that it was read from.
    pub path: &'a Path,
    /// Processors in the place of its own.
    pub processors: Option<u32>,
    /// Every member by its name and device, and how many are in a cell; none of a log in one place.
    pub members: Vec<(String, DeviceModel)>,
    /// Members of a cell.
    pub cell: usize,
}

impl WhatIf<'_> {
    fn devices(&self) -> Option<MemberDevices> {
        let others = self
            .members
            .get(1..)?
            .iter()
            .map(|(_, device)| device.clone());
        Some(MemberDevices {
            others: others.collect(),
            cell: self.cell,
            have_threads: true,
        })
    }

    /// What of the rows the model was not fitted to, in words, each once.
    fn extrapolated(&self, plan: &MeasurementPlan, calibrated: u32) -> Vec<String> {
        let model = &self.model;
        let mut out: Vec<String> = model.basis.other_device.iter().cloned().collect();
        if !self.members.is_empty() {
            let count = words::plural(self.members.len() as u64, "member");
            out.push(format!("{count} (the model is of one device)"));
        }
        if model.processors != calibrated {
            let has = words::plural(model.processors.into(), "processor");
            out.push(format!("{has} (the model is of {calibrated})"));
        }
        for spec in &plan.rows {
            let (jobs, redo) = (spec.jobs, spec.workload.redo_bytes);
            let of_jobs = outside(&words::plural(jobs.into(), "job"), jobs, model.basis.jobs);
            let size = format!("{} of redo per commit", words::size(redo.into()));
            out.extend(of_jobs);
            out.extend(outside(&size, redo, model.basis.redo_bytes));
        }
        let mut seen = std::collections::BTreeSet::new();
        out.retain(|words| seen.insert(words.clone()));
        out
    }

    /// The same with another model: members on its device are on that of the other.
    fn with(&self, model: &Model) -> Self {
        let mut out = self.clone();
        for (_, device) in &mut out.members {
            if *device == self.model.device {
                *device = model.device.clone();
            }
        }
        out.model = model.clone();
        out
    }

    /// The members, and what they did.
    fn facts(&self, counts: &[MemberCount]) -> Vec<SimulatedMember> {
        let all = self.members.iter().zip(counts).enumerate();
        let of = all.map(|(at, ((name, _), count))| SimulatedMember {
            device: name.clone(),
            cell: (at / self.cell.max(1)) as u64,
            first: (self.cell > 1 && at < self.cell).then_some(count.first_durable),
        });
        of.collect()
    }
}

/// Simulates the rows of `plan`, and stores the run.
///
/// # Errors
/// What cannot be simulated, by the name of its option.
pub fn simulate_rows(
    plan: &MeasurementPlan,
    what_if: &WhatIf<'_>,
    console: &dyn Console,
    store: &Store,
) -> Result<Run, Stopped> {
    check_plan(plan)?;
    plan.rows.iter().try_for_each(check_row)?;
    check_log(&plan.log)?;
    let calibrated = what_if.model.processors;
    let mut what_if = what_if.clone();
    what_if.model.processors = what_if.processors.unwrap_or(calibrated);
    if let Some((_, device)) = what_if.members.first() {
        what_if.model.device = device.clone();
    }
    let (what_if, path) = (&what_if, what_if.path);
    let thresholds = Thresholds::parse(&plan.judgement.thresholds)
        .map_err(|error| Failure::Unusable(format!("--thresholds: {error}")))?;
    let mut run = new_run(path, "model", Default::default(), &plan.command);
    run.origin = Origin::Simulated;
    run.workload = workload_info(&plan.rows);
    run.need = plan.judgement.need.clone();
    run.notes = plan.notes.clone();
    // Nothing is stored of what cannot be simulated.
    let (mut recordings, mut members) = (Vec::new(), Vec::new());
    for spec in &plan.rows {
        let outcome = simulated(&setup_of(plan, spec, what_if)?, console)?;
        recordings.push(outcome.recording);
        members = what_if.facts(&outcome.members);
    }
    run.target.facts = TargetFacts::Simulated(SimulatedFacts {
        members,
        ..facts(plan, what_if, calibrated, console)?
    });
    let mut writer = store.begin(&run.run_id)?;
    for (number, (spec, recording)) in (1..).zip(plan.rows.iter().zip(recordings)) {
        let stored = writer.recording(&stored_name(number, spec), &recording);
        stored.map_err(Failure::from)?;
        run.rows.push(recording.row());
    }
    judge(&mut run, &thresholds, plan.judgement.not_judged.clone());
    console.report(&mut run);
    writer.finish(&run).map_err(Failure::from)?;
    Ok(run)
}

/// Refuses the first of some options that is given: whether it is, its name, and what it asks for.
fn refuse(options: &[(bool, &str, &str)]) -> Result<(), Failure> {
    match options.iter().find(|(given, ..)| *given) {
        Some((_, option, what)) => Err(Failure::Unusable(format!(
            "{option}: {what} is not simulated; leave it out"
        ))),
        None => Ok(()),
    }
}

fn check_plan(plan: &MeasurementPlan) -> Result<(), Failure> {
    refuse(&[
        (plan.dry_run, "--dry-run", "what is only planned"),
        (plan.allow_busy, "--allow-busy", "a device that others use"),
        (
            plan.max_write_bytes.is_some(),
            "--max-write",
            "a device that is written to",
        ),
    ])
}

fn check_row(spec: &Spec) -> Result<(), Failure> {
    let refusals = [
        (spec.arrivals.is_some(), "--rate", "an open loop"),
        (spec.soak, "--soak", "a soak"),
        (spec.condition.is_some(), "--explain-latency", "other work"),
        (
            spec.workload.tproc_c.is_some(),
            "--workload tproc-c",
            "a database",
        ),
        (
            spec.api != CommitApi::Sync,
            "--commit-api async",
            "a session that waits for several commits",
        ),
        (
            spec.payload != Payload::default(),
            "--compressibility and --dedupe",
            "what redo is made of",
        ),
    ];
    refuse(&refusals)
}

fn check_log(log: &LogPlan) -> Result<(), Failure> {
    let writer = log.log_writer.to_string();
    let is_known = matches!(
        log.log_writer,
        LogWriter::Auto | LogWriter::Inline | LogWriter::Lgwr
    );
    let usual = LogPlan::default();
    let background = log.background != usual.background;
    let memory = log.huge_pages || log.lock_memory;
    let warns = log.log_write_warning != usual.log_write_warning;
    let refusals = [
        (log.sync_method.is_some(), "--sync-method", "a file"),
        (log.io != usual.io, "--io", "a queue of the system"),
        (
            !log.log_writer_cpus.is_empty(),
            "--log-writer-cpu",
            "a processor of this machine",
        ),
        (memory, "--huge-pages and --lock-memory", "memory"),
        (warns, "--log-write-warning", "a warning"),
        (!is_known, "--log-writer", &*writer),
        (log.stripe.is_some(), "--stripe", "a stripe"),
        (log.members.is_some(), "--members", "a log with members"),
        (log.nodes > 1, "--nodes", "a log beside others"),
        (
            log.io_depth > 1,
            "--io-depth",
            "more than one batch in flight",
        ),
        (
            background,
            "--dbwr, --data and --archive",
            "what runs beside the log",
        ),
    ];
    refuse(&refusals)
}

/// A log as it is simulated.
#[derive(Clone, Copy)]
pub(super) struct ModelLog<'a> {
    pub(super) log: &'a LogPlan,
    /// Bytes to which its writes are padded.
    pub(super) seal_bytes: u32,
}

/// What is simulated of a row.
pub(super) fn setup(
    ModelLog { log, seal_bytes }: ModelLog<'_>,
    spec: &Spec,
    processors: u32,
    mut costs: Costs,
    device: &DeviceModel,
) -> Result<SimulationSetup, Failure> {
    let caps = Caps {
        physical_bytes: seal_bytes,
        ..NullDevice::PLAIN
    };
    let geometry = log.shape.geometry(&caps, Path::new("model"))?;
    let options = redo::Options::default().buffer_bytes(log.buffer_bytes);
    costs.work_ns = costs.work_ns.saturating_add(spec.cpu_per_txn.0);
    Ok(SimulationSetup {
        processors,
        costs,
        log: LogSetup {
            writer: log.log_writer,
            log_file_sync: Some(log.log_file_sync),
            triggers: log.triggers,
            policy: Policy::default(),
            geometry,
            buffer_blocks: options.ring_blocks(&geometry)?,
        },
        sessions: spec.jobs,
        workload: spec.workload.clone(),
        device: device.clone(),
        members: None,
        way: WayToDevices::default(),
        warmup_ns: spec.warmup.0,
        time_ns: match spec.commits {
            Some(_) => u64::MAX / 4,
            None => spec.time.0,
        },
        commits: spec
            .commits
            .map(|each| each.saturating_mul(spec.jobs.into())),
        seed: spec.seed,
    })
}

/// A row of a plan.
fn setup_of(
    plan: &MeasurementPlan,
    spec: &Spec,
    what_if: &WhatIf<'_>,
) -> Result<SimulationSetup, Failure> {
    let log = ModelLog {
        log: &plan.log,
        seal_bytes: SEAL_BYTES,
    };
    let of = &what_if.model;
    Ok(SimulationSetup {
        members: what_if.devices(),
        ..setup(log, spec, of.processors, of.costs, &of.device)?
    })
}

pub(super) fn simulated(
    setup: &SimulationSetup,
    console: &dyn Console,
) -> Result<SimulationOutcome, Failure> {
    let goes_on = || !console.interrupt().requested();
    simulate::run_while(setup, &goes_on).map_err(|stopped| {
        let jobs = words::plural(setup.sessions.into(), "job");
        failure(stopped, &format!("{} with {jobs}", setup.workload.name))
    })
}

/// Why `what` could not be simulated.
pub(super) fn failure(stopped: SimulationStopped, what: &str) -> Failure {
    match stopped {
        SimulationStopped::Interrupted => Failure::Interrupted,
        stopped => Failure::Unusable(format!("{what}: {stopped}")),
    }
}

/// `what` is outside of the cells that were fitted, and how far; `None` where it is not.
fn outside(what: &str, value: u32, fitted: Option<[u32; 2]>) -> Option<String> {
    let [least, most] = fitted?;
    let (end, word) = match value {
        _ if value > most => (most, "most"),
        _ if value < least => (least, "least"),
        _ => return None,
    };
    let factor = f64::from(value) / f64::from(end.max(1));
    Some(format!(
        "{what} ({factor:.1} times the {word} that were fitted)"
    ))
}

fn facts(
    plan: &MeasurementPlan,
    what_if: &WhatIf<'_>,
    calibrated: u32,
    console: &dyn Console,
) -> Result<SimulatedFacts, Failure> {
    let (log, model) = (&plan.log, &what_if.model);
    Ok(SimulatedFacts {
        model: model.name.clone(),
        basis: model.basis.source.clone(),
        error_pct: model.basis.error_pct,
        fitted_jobs: model.basis.jobs,
        processors: model.processors,
        log_writer: log.log_writer.to_string(),
        log_file_sync: log.log_file_sync.name().to_owned(),
        flush_triggers: log.triggers.to_string(),
        log_bytes: u64::from(log.shape.groups).saturating_mul(log.shape.file_bytes),
        log_buffer_bytes: log.buffer_bytes as u64,
        influence: influence(plan, what_if, console)?,
        extrapolated: what_if.extrapolated(plan, calibrated),
        not_modelled: NOT_MODELLED.map(str::to_owned).to_vec(),
        members: Vec::new(),
    })
}

/// What a fifth more of each value changes at the last row, most first.
fn influence(
    plan: &MeasurementPlan,
    what_if: &WhatIf<'_>,
    console: &dyn Console,
) -> Result<Vec<ModelInfluence>, Failure> {
    let Some(spec) = plan.rows.last() else {
        return Ok(Vec::new());
    };
    let rate = |model: &Model| {
        let what_if = what_if.with(model);
        let mut of = setup_of(plan, spec, &what_if)?;
        of.warmup_ns = of.warmup_ns.min(VARIED_NS / 4);
        of.time_ns = of.time_ns.min(VARIED_NS);
        let recording = simulated(&of, console)?.recording;
        let commits = recording.foreground().latency.count() as f64;
        Ok::<f64, Failure>(commits / (recording.elapsed_ns().max(1) as f64))
    };
    let model = &what_if.model;
    let usual = rate(model)?;
    let mut out = Vec::new();
    for (value, changed) in model.varied(VARIED) {
        let change_pct = (rate(&changed)? / usual - 1.0) * 100.0;
        out.push(ModelInfluence {
            value: value.to_owned(),
            change_pct: if change_pct.is_finite() {
                change_pct
            } else {
                0.0
            },
        });
    }
    out.sort_by(|a, b| b.change_pct.abs().total_cmp(&a.change_pct.abs()));
    Ok(out)
}
