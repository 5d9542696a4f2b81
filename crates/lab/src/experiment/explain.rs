//! What a commit waits for: the rows of a plan, each under a condition of its own, in interleaved
//! rounds (A B C, C B A) on one device.
//!
//! Invariants: every log is made before the first round, and all logs make writes durable in the
//! same way, so that conditions differ in nothing else; all rounds are rows of one stored run; the
//! logs are removed also after a failure.

use super::Failure;
use super::begin::{describe, describe_members, run_of};
use super::conduct::{announce, report};
use super::console::{Console, ConsolePhase};
use super::ending::{Stopped, finish, keep};
use super::guard::consent;
use super::guard::limits::ServersToMake;
use super::judge::judge;
use super::measure::row::Spec;
use super::measure::rows::{RowPlace, RowRunner, lab_overhead, time_of};
use super::plan::prepare::{Extent, Prepared, prepare};
use super::plan::{ExplainPlan, MeasurementPlan};
use super::target::identify::Identified;
use super::target::place::LogPlace;
use super::target::{LoadTarget, Setup};
use crate::cleanup::WorkFolder;
use crate::store::{RunWriter, Store};
use measure::Nanos;
use measure::driver::DriverKind;
use measure::run::{Run, TargetFacts};
use redo::LogFileSync;

/// A log with one way of waiting, and the folders that hold it.
struct WayLog {
    way: LogFileSync,
    log: LoadTarget,
    folders: Vec<WorkFolder>,
}

/// What all rounds have in common.
struct Explained<'a> {
    prepared: &'a Prepared<'a>,
    rounds: u32,
    target: &'a LogPlace,
    console: &'a dyn Console,
}

/// Carries out `plan` and stores all of its rounds as one run; `None` after a dry run.
///
/// # Errors
/// A target that cannot hold several logs, and what refuses or ends the experiment, with the run
/// as far as it came.
pub fn conduct_explained(
    plan: &ExplainPlan,
    console: &dyn Console,
    store: &Store,
    drivers: &[DriverKind],
) -> Result<Option<Run>, Stopped> {
    let measured = &plan.measured;
    let identified = Identified::of(&plan.target, measured, drivers)?;
    let target = directory(&identified)?;
    let ways = ways(measured)?;
    let extent = Extent {
        targets: 1,
        logs: u32::try_from(ways.len()).unwrap_or(u32::MAX),
        rounds: plan.rounds,
        raw: false,
        servers: ServersToMake::default(),
    };
    let prepared = prepare(measured, extent)?;
    let warning = announce(&prepared, &identified, console)?;
    if measured.dry_run {
        return Ok(None);
    }
    consent::ask(&prepared, console)?;
    let mut run = run_of(measured, &identified, warning.as_deref());
    let mut writer = store.begin(&run.run_id)?.within(&prepared.limits.budget);
    let explained = Explained {
        prepared: &prepared,
        rounds: plan.rounds,
        target,
        console,
    };
    if let Err(failure) = explained.measure(&ways, &mut run, &mut writer) {
        return Err(keep(failure, run, &prepared, &writer, console));
    }
    judge(&mut run, &prepared.thresholds, prepared.not_judged());
    report(&mut run, writer, console)?;
    Ok(Some(run))
}

/// The target, where several logs of redolab's own can be beside each other.
fn directory(identified: &Identified) -> Result<&LogPlace, Failure> {
    match identified {
        Identified::Path(target) if !target.is_device() => Ok(target),
        Identified::Path(_) => Err(Failure::Unusable(
            "--explain-latency makes several logs beside each other, and a raw device holds one; \
             name a directory on a file system of the device"
                .to_owned(),
        )),
        Identified::Null | Identified::Server(_) | Identified::Opened { .. } => {
            Err(Failure::Unusable(
                "--explain-latency measures redolab's own log; name a directory on the device"
                    .to_owned(),
            ))
        }
    }
}

/// The ways of waiting of the rows, the base's first.
fn ways(plan: &MeasurementPlan) -> Result<Vec<LogFileSync>, Failure> {
    let mut ways = Vec::new();
    for spec in &plan.rows {
        let way = way_of(spec)?;
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    Ok(ways)
}

fn way_of(spec: &Spec) -> Result<LogFileSync, Failure> {
    let way = spec.condition.as_ref().map(|c| c.log_file_sync.parse());
    way.transpose()
        .map_err(Failure::Unusable)?
        .ok_or_else(|| Failure::Unusable("a row of the plan has no condition".to_owned()))
}

impl Explained<'_> {
    /// Makes the logs, runs the rounds, and removes the logs again, also after a failure.
    fn measure(
        &self,
        ways: &[LogFileSync],
        run: &mut Run,
        writer: &mut RunWriter,
    ) -> Result<(), Failure> {
        run.lab_overhead_ns = Some(lab_overhead(self.console.interrupt())?);
        let mut logs: Vec<WayLog> = Vec::new();
        let mut outcome = Ok(());
        for way in ways {
            match self.make(*way, logs.first()) {
                Ok(log) => logs.push(log),
                Err(failure) => {
                    outcome = Err(failure);
                    break;
                }
            }
        }
        if let (Ok(()), Some(base)) = (&outcome, logs.first()) {
            describe(run, &base.log, self.prepared.plan);
            outcome = self.all(&logs, run, writer);
            describe_members(run, &base.log);
        }
        for WayLog { log, folders, .. } in logs {
            let ended = finish(log, folders);
            outcome = outcome.and(ended);
        }
        outcome
    }

    /// Makes a log; `base` is the one whose way of writing it takes.
    fn make(&self, way: LogFileSync, base: Option<&WayLog>) -> Result<WayLog, Failure> {
        let mut setup = self.prepared.setup(&[]);
        setup.log.log_file_sync = way;
        if let Some(base) = base {
            write_alike(&mut setup, &base.log);
        }
        let site = self.target.site(&setup.log, self.console)?;
        let name = format!("log files, {way}", way = way.name());
        let phase = ConsolePhase::begin(self.console, &name, setup.log.footprint_bytes());
        let cancel = || self.console.interrupt().requested();
        let (log, folders) = LoadTarget::on(site, setup, &|done, _| phase.at(done), &cancel)?;
        phase.done("ready");
        Ok(WayLog { way, log, folders })
    }

    fn all(&self, logs: &[WayLog], run: &mut Run, writer: &mut RunWriter) -> Result<(), Failure> {
        let rows = &self.prepared.plan.rows;
        let all = rows.len() * self.rounds as usize;
        let mut done = 0;
        for round in 1..=self.rounds {
            self.console
                .say(&format!("Round {round} of {}", self.rounds));
            let mut order: Vec<usize> = (0..rows.len()).collect();
            if round % 2 == 0 {
                order.reverse();
            }
            for planned in order {
                let mut spec = rows[planned].clone();
                if let Some(condition) = &mut spec.condition {
                    condition.round = round;
                }
                let way = way_of(&spec)?;
                let Some(log) = logs.iter().find(|log| log.way == way) else {
                    continue;
                };
                let left = all - done;
                let each = time_of(std::slice::from_ref(&spec));
                self.console
                    .remaining(Nanos(each.0.saturating_mul(left as u64)));
                let runner = RowRunner {
                    target: Some(self.target),
                    limits: &self.prepared.limits,
                    log: &self.prepared.plan.log,
                    console: self.console,
                    among: Some(RowPlace {
                        planned,
                        done: (done, all),
                    }),
                    is_one_of_many: true,
                };
                runner.rows(run, &log.log, std::slice::from_ref(&spec), writer)?;
                done += 1;
            }
        }
        Ok(())
    }
}

/// Has a log write like `base`, which may have probed for the fastest way.
fn write_alike(setup: &mut Setup, base: &LoadTarget) {
    let TargetFacts::RedoLog(facts) = base.driver.facts() else {
        return;
    };
    if let Ok(method) = facts.sync_method.parse() {
        setup.sync_method = method;
        setup.probe = false;
    }
    if let Some(io) = facts.io.as_deref().and_then(|io| io.parse().ok()) {
        setup.log.io = io;
    }
}
