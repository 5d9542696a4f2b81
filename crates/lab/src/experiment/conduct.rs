//! The conductor: carries out the plan of an experiment, step by step: identify, plan, announce,
//! measure, judge, report.
//!
//! Invariants: nothing is written before everything was announced and nothing refused; every run
//! passes through the one judge before it is stored; a failure keeps what was measured before it.
//! What it must not know: command lines, terminals, files of results.

use super::Failure;
use super::begin::{begin_events, describe, describe_members, end_events, run_of};
use super::console::{Console, ConsolePhase};
use super::ending::{Stopped, finish, keep, remove};
use super::guard::consent;
use super::guard::limits::ServersToMake;
use super::guard::neighbours;
use super::judge::judge;
use super::measure::floor::{self, Allowed, FloorGround};
use super::measure::load::CommitApi;
use super::measure::placement;
use super::measure::row::Spec;
use super::measure::rows::{RowRunner, lab_overhead, time_of};
use super::plan::expected::announced;
use super::plan::prepare::{Extent, Prepared, prepare};
use super::plan::{ExperimentPlan, FloorPlan, LogPlan, MeasurementPlan};
use super::target::LoadTarget;
use super::target::background;
use super::target::identify::Identified;
use super::target::managed::ManagedServer;
use super::target::place::LogPlace;
use super::target::site::Site;
use crate::cleanup::WorkFolder;
use crate::store::{RunWriter, Store};
use device::SyncMethod;
use measure::driver::{Driver, DriverError, DriverKind};
use measure::power_test::{PowerTestEvidence, StackFingerprint};
use measure::run::{FloorRow, Run};
use measure::words::{self, sanitize};
use std::borrow::Cow;
use std::sync::Arc;

/// Carries out `plan` and stores the run; `None` after a dry run. `drivers` open targets that
/// others made.
///
/// # Errors
/// What refuses or ends the experiment, with the run as far as it came.
pub fn conduct(
    plan: &ExperimentPlan,
    console: &dyn Console,
    store: &Store,
    drivers: &[DriverKind],
) -> Result<Option<Run>, Stopped> {
    let target = Identified::of(&plan.target, &plan.measured, drivers)?;
    let plan = fitted(&plan.measured, &target, console)?;
    let prepared = prepare(&plan, extent(&target))?;
    let warning = announce(&prepared, &target, console)?;
    if plan.dry_run {
        return Ok(None);
    }
    consent::ask(&prepared, console)?;
    let mut run = run_of(&plan, &target, warning.as_deref());
    let mut writer = store.begin(&run.run_id)?.within(&prepared.limits.budget);
    if let Err(failure) = measure(&prepared, &target, console, &mut run, &mut writer) {
        return Err(keep(failure, run, &prepared, &writer, console));
    }
    run.power_tests = power_tests(store, &run, console)?;
    judge(&mut run, &prepared.thresholds, prepared.not_judged());
    report(&mut run, writer, console)?;
    if let Some(target) = target.path() {
        let has_log = !plan.rows.is_empty();
        target.say_what_stays(console, has_log);
    }
    Ok(Some(run))
}

/// What the power tests in the store show about the device of a run, and about its stack as it is
/// now. A file that cannot be read is named, and proves nothing.
pub(super) fn power_tests(
    store: &Store,
    run: &Run,
    console: &dyn Console,
) -> Result<Option<PowerTestEvidence>, Failure> {
    let Some(log) = run.target.redo_log() else {
        return Ok(None);
    };
    if run.target.stack.layers.is_empty() {
        return Ok(None);
    }
    let (cycles, problems) = store.power_cycles()?;
    for problem in problems {
        console.say(&format!("A power test cannot be read: {problem}"));
    }
    let stack = StackFingerprint::of(&run.target.stack, Some(&log.sync_method));
    Ok(PowerTestEvidence::of(&stack, &cycles))
}

/// The plan as far as it can be carried out on `target`. What others made has no floor that could
/// be measured, no log of redolab's, and not every workload.
fn fitted<'a>(
    plan: &'a MeasurementPlan,
    target: &Identified,
    console: &dyn Console,
) -> Result<Cow<'a, MeasurementPlan>, Failure> {
    let accepts = |row: &Spec| accepts(target, row);
    let mut plan = match target {
        Identified::Null | Identified::Path(_) => return Ok(Cow::Borrowed(plan)),
        Identified::Server(_) | Identified::Opened { .. } => plan.clone(),
    };
    refuse_log_options(&plan.log)?;
    if matches!(target, Identified::Opened { .. }) && plan.floor.take().is_some() {
        console.say(
            "No floor is measured: the driver knows no directory of its target's device that redolab \
             may write to.",
        );
    }
    let mut refused = Vec::new();
    plan.rows.retain(|row| {
        let outcome = accepts(row);
        let is_accepted = outcome.is_ok();
        refused.extend(outcome.err().map(|why| (row.workload.name.clone(), why)));
        is_accepted
    });
    refused.dedup_by(|a, b| a.0 == b.0);
    if plan.rows.is_empty()
        && let Some((_, why)) = refused.pop()
    {
        return Err(why.into());
    }
    for (workload, why) in refused {
        console.say(&sanitize::line(&format!("Left out: {workload}: {why}")));
    }
    Ok(Cow::Owned(plan))
}

/// Whether sessions on `target` can run a row.
pub(super) fn accepts(target: &Identified, row: &Spec) -> Result<(), DriverError> {
    let (has_groups, accepted) = match target {
        Identified::Null | Identified::Path(_) => return Ok(()),
        Identified::Opened { driver, .. } => (driver.has_groups(), driver.accepts(&row.workload)),
        Identified::Server(server) => (false, server.accepts(&row.workload)),
    };
    if row.api != CommitApi::Sync && !has_groups {
        return Err(DriverError::no_groups());
    }
    accepted
}

/// Refuses options of redolab's own log where no such log is made.
pub(super) fn refuse_log_options(log: &LogPlan) -> Result<(), Failure> {
    if *log == LogPlan::default() {
        return Ok(());
    }
    Err(Failure::Unusable(
        "options of redolab's own log (--log-writer, --log-file-size, --sync-method and others) \
         have no effect on a server that already exists; omit them"
            .to_owned(),
    ))
}

fn extent(target: &Identified) -> Extent {
    let path = target.path();
    Extent {
        targets: u64::from(path.is_some()),
        logs: 1,
        rounds: 1,
        raw: path.is_some_and(|t| t.is_device()),
        servers: ServersToMake::of(target.server().map(ManagedServer::making_bytes)),
    }
}

/// Says what will be run and written, and refuses what would endanger the machine. Returns a
/// warning for the run where the user insisted.
pub(super) fn announce(
    prepared: &Prepared<'_>,
    target: &Identified,
    console: &dyn Console,
) -> Result<Option<String>, Failure> {
    let plan = prepared.plan;
    console.allow(&prepared.limits.budget);
    say_rows(plan, console);
    match target {
        Identified::Path(target) => {
            target.announce(&prepared.writes, &prepared.limits.lines, plan, console)
        }
        Identified::Null => {
            if plan.dry_run {
                console.say("Dry run: the null device takes no writes, and nothing was run.");
            }
            Ok(None)
        }
        Identified::Server(server) => server.announce(plan, &prepared.limits.lines, console),
        Identified::Opened { shown, driver, .. } => {
            announce_opened(shown, &**driver, plan, console)
        }
    }
}

/// Says that a target which others made will be used, and how much redo its transactions will
/// make, where the driver knows that. Returns a warning for the run where the user insisted.
///
/// # Errors
/// The refusal, with what to do, and a target that does not answer.
pub(super) fn announce_opened(
    shown: &str,
    driver: &dyn Driver,
    plan: &MeasurementPlan,
    console: &dyn Console,
) -> Result<Option<String>, Failure> {
    let shown = sanitize::line(shown);
    console.say(&match plan.dry_run {
        true => format!("Dry run: nothing was committed on {shown}."),
        false => format!("Will commit on {shown}; how much that writes is up to the target."),
    });
    let mut rows: Vec<&Spec> = plan.rows.iter().collect();
    rows.dedup_by(|a, b| a.workload == b.workload);
    let predicted = rows.iter().filter_map(|row| {
        let redo = driver.predicted_redo(&row.workload)?;
        Some(format!("{} {}", row.workload.name, words::count(redo)))
    });
    let predicted: Vec<String> = predicted.collect();
    if !predicted.is_empty() {
        let bytes = predicted.join(", ");
        console.say(&format!("Bytes of redo per transaction: {bytes}."));
    }
    match plan.dry_run {
        true => Ok(None),
        false => neighbours::check_server(driver, plan.allow_busy, console),
    }
}

/// Says which rows would be run, for a dry run.
pub(super) fn say_rows(plan: &MeasurementPlan, console: &dyn Console) {
    if plan.dry_run && !plan.rows.is_empty() {
        console.say("Would run:");
        announced(&plan.rows)
            .iter()
            .for_each(|line| console.say(line));
    }
}

/// Measures floor and rows into `run`, and removes what was made for it.
fn measure(
    prepared: &Prepared<'_>,
    identified: &Identified,
    console: &dyn Console,
    run: &mut Run,
    writer: &mut RunWriter,
) -> Result<(), Failure> {
    let plan = prepared.plan;
    if !plan.rows.is_empty() {
        run.lab_overhead_ns = Some(lab_overhead(console.interrupt())?);
    }
    let target = identified.device();
    let site = target.map(|t| t.site(&plan.log, console)).transpose()?;
    if let (Some(target), Some(site), Some(floor)) = (target, &site, &plan.floor) {
        measure_floor(floor, prepared, target, site, console, run)?;
    }
    if plan.rows.is_empty() {
        let folders = site.map(Site::into_folders).unwrap_or_default();
        return folders.into_iter().try_for_each(remove);
    }
    let (log, folders) = make("log files", identified, prepared, site, &run.floor, console)?;
    describe(run, &log, plan);
    if plan.events {
        begin_events(&log, writer)?;
    }
    let runner = RowRunner {
        target,
        limits: &prepared.limits,
        log: &plan.log,
        console,
        among: None,
        is_one_of_many: false,
    };
    runner.rows(run, &log, &plan.rows, writer)?;
    describe_members(run, &log);
    end_events(&log, writer, run)?;
    finish(log, folders)
}

/// Measures the device's floor, as far as the limits allow.
fn measure_floor(
    plan: &FloorPlan,
    prepared: &Prepared<'_>,
    target: &LogPlace,
    site: &Site,
    console: &dyn Console,
    run: &mut Run,
) -> Result<(), Failure> {
    let limits = &prepared.limits;
    if limits.leaves_floor_out() {
        console.say("Not measured: the floor: --max-write leaves no room");
        return Ok(());
    }
    let points = plan.points();
    console.remaining(plan.expected_time().plus(time_of(&prepared.plan.rows)));
    let phase = ConsolePhase::begin(console, "the device's floor", points.len() as u64);
    let allowed = Allowed {
        budget: &limits.budget,
        ends_at: limits.floor_ends_at(),
    };
    let progress = |done: usize, last: Option<&FloorRow>| {
        phase.at(done as u64);
        if let Some(last) = last {
            phase.note(&floor::in_words(last));
        }
        target.recheck()
    };
    let interrupt = console.interrupt();
    let ground = FloorGround::make(site, allowed.budget, interrupt)?;
    let measured = floor::measure(&ground, &points, plan.time, allowed, interrupt, &progress);
    let (rows, refused) = measured?;
    run.floor = rows;
    let small = |row: &&FloorRow| row.write_bytes == 4096 && row.pre_written;
    let fastest = run.floor.iter().filter(small).min_by(|a, b| {
        let mean = |row: &FloorRow| row.latency.mean_ns;
        mean(a).total_cmp(&mean(b))
    });
    phase.done(&fastest.map_or_else(|| "measured".to_owned(), floor::in_words));
    for refusal in refused {
        console.say(&format!("Not measured: {}", sanitize::line(&refusal)));
    }
    let method = floor::best(&run.floor).unwrap_or(SyncMethod::Direct);
    let stack = &run.target.stack;
    let time = plan.placement;
    run.placement = placement::measure(&ground, stack, method, time, allowed, interrupt)?;
    if run.placement.is_none() {
        console.say("Not measured: the floor per processor: --max-write leaves no room");
    }
    Ok(())
}

/// Makes what is measured: a log on `site`, or on the null device where there is none; a server; or
/// nothing, where others did.
pub(super) fn make(
    phase: &str,
    identified: &Identified,
    prepared: &Prepared<'_>,
    site: Option<Site>,
    floor: &[FloorRow],
    console: &dyn Console,
) -> Result<(LoadTarget, Vec<WorkFolder>), Failure> {
    match (identified, site) {
        (Identified::Opened { driver, .. }, _) => {
            let (rows, budget) = (&prepared.plan.rows, &prepared.limits.budget);
            let target = LoadTarget::behind(Arc::clone(driver), rows, budget)?;
            Ok((target, Vec::new()))
        }
        (Identified::Server(server), Some(Site::Folders(folders))) => {
            let (rows, budget) = (&prepared.plan.rows, &prepared.limits.budget);
            server.make(folders, rows, budget, console)
        }
        (_, site) => make_log(phase, prepared, site, floor, console),
    }
}

fn make_log(
    phase: &str,
    prepared: &Prepared<'_>,
    site: Option<Site>,
    floor: &[FloorRow],
    console: &dyn Console,
) -> Result<(LoadTarget, Vec<WorkFolder>), Failure> {
    let mut setup = prepared.setup(floor);
    let phase = ConsolePhase::begin(console, phase, setup.log.footprint_bytes());
    let cancel = || console.interrupt().requested();
    let log = &setup.log;
    let (placed, beside) = background::place(
        &log.background,
        log.shape.file_bytes,
        log.footprint_bytes(),
        &cancel,
    )?;
    setup.background = placed;
    let (log, folders) = match site {
        Some(site) => LoadTarget::on(site, setup, &|done, _| phase.at(done), &cancel)?,
        None => (LoadTarget::null(setup)?, Vec::new()),
    };
    phase.done("ready");
    Ok((log, folders.into_iter().chain(beside).collect()))
}

/// Hands a judged run to the console and stores it.
pub(super) fn report(
    run: &mut Run,
    writer: RunWriter,
    console: &dyn Console,
) -> Result<(), Failure> {
    console.report(run);
    Ok(writer.finish(run)?)
}
