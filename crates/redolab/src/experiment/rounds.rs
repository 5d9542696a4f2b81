//! Targets measured in interleaved rounds: A B, B A, A B …
//!
//! Every target's log is made once, before the first round, so that rounds differ in nothing but
//! time; every round is a stored run, so that nothing measured is lost when a later one fails.
//! Where no sync method was named, all targets get the same one (`back_end`).

mod back_end;
mod estimate;

pub use estimate::{RoundsEstimate, estimate};

use self::back_end::{CommonBackEnd, ProbedTarget, choose};
use super::Failure;
use super::begin::{describe, run_of};
use super::conduct::{accepts, announce_opened, make, refuse_log_options, report, say_rows};
use super::console::Console;
use super::ending::{Stopped, finish, keep};
use super::identified::Identified;
use super::judge::judge;
use super::plan::{MeasurementPlan, RoundsPlan};
use super::prepare::{Extent, Prepared, prepare};
use super::rows::{RowRunner, lab_overhead};
use super::site::Site;
use super::target::LoadTarget;
use crate::cleanup::WorkFolder;
use crate::store::{Store, row_and_event};
use analysis::compare::rounds::{LiveSide, Round};
use device::IoEngine;
use measure::driver::DriverKind;
use std::collections::BTreeMap;

/// A target that was looked at and may be written to.
struct ReadyTarget {
    name: String,
    target: Identified,
    warning: Option<String>,
    /// What is measured there, with its own log.
    plan: MeasurementPlan,
    /// Bytes that a probe has written there.
    probed_bytes: u64,
}

/// What rounds came to.
#[derive(Clone, Debug)]
pub struct MeasuredRounds {
    /// The targets with their rounds.
    pub sides: Vec<LiveSide>,
    /// What a reader has to know before any figure.
    pub notices: Vec<String>,
    /// How the targets were written.
    pub notes: Vec<String>,
}

/// A log, or a server, with the folders that hold it.
type MadeLog = (LoadTarget, Vec<WorkFolder>);

/// What all rounds have in common.
struct Rounds<'a> {
    prepared: &'a Prepared<'a>,
    console: &'a dyn Console,
    store: &'a Store,
    overhead_ns: f64,
}

/// Carries out `plan` and stores a run for each round on each target; `None` after a dry run.
///
/// # Errors
/// What refuses or ends the experiment; rounds that were finished are in the store.
pub fn conduct_rounds(
    plan: &RoundsPlan,
    console: &dyn Console,
    store: &Store,
    drivers: &[DriverKind],
) -> Result<Option<MeasuredRounds>, Stopped> {
    let identified = plan.targets.iter().map(|named| -> Result<_, Failure> {
        let target = Identified::of(&named.target, &plan.measured, drivers)?;
        if matches!(target, Identified::Null) {
            let null = "rounds are not measured on the null device";
            return Err(Failure::Unusable(null.to_owned()));
        }
        // Rounds need the same rows on every target.
        let rows = plan.measured.rows.iter();
        let refused = rows.map(|row| accepts(&target, row)).find_map(Result::err);
        refused.map_or(Ok(()), |why| Err(Failure::from(why)))?;
        Ok((named.name.clone(), target))
    });
    let identified: Vec<(String, Identified)> = identified.collect::<Result<_, _>>()?;
    let paths = || identified.iter().filter_map(|(_, target)| target.path());
    if paths().next().is_none() {
        refuse_log_options(&plan.measured.log)?;
    }
    let extent = Extent {
        targets: paths().count() as u64,
        logs: 1,
        rounds: plan.rounds,
        raw: paths().any(|target| target.place.is_device()),
    };
    let prepared = prepare(&plan.measured, extent)?;
    check_shared_rooms(&prepared, &identified)?;
    let notices = shared_devices(plan, &identified);
    let mut ready = announce(&prepared, plan, identified, console)?;
    for line in notices.iter().chain(&estimate::lines(plan)) {
        console.say(line);
    }
    if plan.measured.dry_run {
        return Ok(None);
    }
    let common = Rounds {
        prepared: &prepared,
        console,
        store,
        overhead_ns: lab_overhead(console.interrupt())?,
    };
    let mut notes = Vec::new();
    let sites = common.sites(&ready)?;
    if !plan.own_back_ends {
        notes.extend(common.one_back_end(&mut ready, &sites)?);
    }
    let sides = common.run(&ready, sites, plan.rounds)?;
    for target in ready.iter().filter_map(|ready| ready.target.path()) {
        target.place.say_what_stays(console, true);
    }
    Ok(Some(MeasuredRounds {
        sides,
        notices,
        notes,
    }))
}

/// Refuses logs of several targets on one volume that have no room there together.
fn check_shared_rooms(
    prepared: &Prepared<'_>,
    identified: &[(String, Identified)],
) -> Result<(), Failure> {
    let all = || identified.iter().filter_map(|(_, target)| target.path());
    for target in all() {
        let beside = all().filter(|other| target.shares_volume(other)).count() as u64;
        target.check_room_for(&prepared.writes, beside.max(1))?;
    }
    Ok(())
}

/// Targets that are on one device, a sentence for each pair of them.
fn shared_devices(plan: &RoundsPlan, identified: &[(String, Identified)]) -> Vec<String> {
    let mut notices = Vec::new();
    for (i, (name, target)) in identified.iter().enumerate() {
        for ((before, other), planned) in identified.iter().zip(&plan.targets).take(i) {
            // Options of one place are compared on purpose.
            let options = plan
                .targets
                .get(i)
                .is_some_and(|own| own.target == planned.target && own.log != planned.log);
            let both = other.device().zip(target.device()).filter(|_| !options);
            if let Some(device) = both.and_then(|(a, b)| a.shared_device(b)) {
                notices.push(format!(
                    "{before} and {name} are on the same device ({device}): a difference between \
                     them is not a difference between devices."
                ));
            }
        }
    }
    notices
}

/// Says what will be written to each target, and refuses what would endanger the machine.
fn announce(
    prepared: &Prepared<'_>,
    plan: &RoundsPlan,
    identified: Vec<(String, Identified)>,
    console: &dyn Console,
) -> Result<Vec<ReadyTarget>, Failure> {
    console.allow(&prepared.limits.budget);
    say_rows(prepared.plan, console);
    let (writes, lines) = (&prepared.writes, &prepared.limits.lines);
    let ready = identified.into_iter().zip(&plan.targets).map(
        |((name, target), planned)| -> Result<_, Failure> {
            let warning = match &target {
                Identified::Path(target) => {
                    target.announce(writes, lines, prepared.plan, console)?
                }
                Identified::Server(server) => server.announce(prepared.plan, console)?,
                Identified::Opened { shown, driver, .. } => {
                    announce_opened(shown, &**driver, prepared.plan, console);
                    None
                }
                Identified::Null => None,
            };
            Ok(ReadyTarget {
                name,
                target,
                warning,
                plan: MeasurementPlan {
                    log: planned
                        .log
                        .clone()
                        .unwrap_or_else(|| plan.measured.log.clone()),
                    ..plan.measured.clone()
                },
                probed_bytes: 0,
            })
        },
    );
    ready.collect()
}

fn names(ready: &[ReadyTarget]) -> String {
    let names: Vec<&str> = ready.iter().map(|r| r.name.as_str()).collect();
    names.join(", ")
}

impl Rounds<'_> {
    /// The places that are written to; none of a target that others made.
    fn sites(&self, ready: &[ReadyTarget]) -> Result<Vec<Option<Site>>, Failure> {
        let site = |ready: &ReadyTarget| {
            let device = ready.target.device();
            device
                .map(|t| t.site(&ready.plan.log, self.console))
                .transpose()
        };
        ready.iter().map(site).collect()
    }

    /// Plans one sync method and I/O engine for all logs for which none was named; what was chosen,
    /// in words.
    fn one_back_end(
        &self,
        ready: &mut [ReadyTarget],
        sites: &[Option<Site>],
    ) -> Result<Option<String>, Failure> {
        let is_open = |ready: &ReadyTarget| {
            ready.target.path().is_some() && ready.plan.log.sync_method.is_none()
        };
        let open = ready.iter().filter(|ready| is_open(ready)).count();
        // Without room for a probe each log is written with direct I/O.
        if open < 2 || self.prepared.limits.direct_only {
            return Ok(None);
        }
        let (mut probed, mut raw) = (Vec::new(), false);
        for (ready, site) in ready.iter_mut().zip(sites) {
            if !is_open(ready) {
                continue;
            }
            let target = ready.target.path().expect("an open one is a path");
            let block_bytes = target.block_bytes(&ready.plan.log)?;
            let Some(Site::Folder(folder)) = site else {
                raw = true;
                continue;
            };
            let found = ProbedTarget::of(&ready.name, ready.plan.log.io, folder, block_bytes)?;
            ready.probed_bytes = found.bytes();
            probed.push(found);
        }
        let chosen = match raw {
            true => CommonBackEnd::of_raw_devices(),
            false => choose(&probed),
        };
        for ready in ready.iter_mut().filter(|ready| is_open(ready)) {
            ready.plan.log.sync_method = Some(chosen.method);
            if ready.plan.log.io == IoEngine::Auto {
                ready.plan.log.io = chosen.io;
            }
        }
        self.console.say(&chosen.sentence);
        Ok(Some(chosen.sentence))
    }

    /// Makes every log, runs the rounds, and removes the logs again, also after a failure.
    fn run(
        &self,
        ready: &[ReadyTarget],
        sites: Vec<Option<Site>>,
        rounds: u32,
    ) -> Result<Vec<LiveSide>, Stopped> {
        let mut logs: Vec<MadeLog> = Vec::new();
        let mut outcome: Result<(), Stopped> = Ok(());
        for (ready, site) in ready.iter().zip(sites) {
            match self.make(ready, site) {
                Ok(log) => logs.push(log),
                Err(failure) => {
                    outcome = Err(failure.into());
                    break;
                }
            }
        }
        let side = |r: &ReadyTarget| LiveSide {
            name: r.name.clone(),
            rounds: Vec::new(),
        };
        let mut sides: Vec<LiveSide> = ready.iter().map(side).collect();
        if outcome.is_ok() {
            outcome = self.all(ready, &logs, rounds, &mut sides);
        }
        for (target, folders) in logs {
            let ended = finish(target, folders);
            outcome = outcome.and(ended.map_err(Stopped::from));
        }
        outcome.map(|()| sides).map_err(|stopped| {
            stopped.with_note(format!(
                "rounds that were finished on {} are in the store {}",
                names(ready),
                self.store.path().display()
            ))
        })
    }

    fn make(&self, ready: &ReadyTarget, site: Option<Site>) -> Result<MadeLog, Failure> {
        let prepared = self.prepared.of_target(&ready.plan, ready.probed_bytes);
        let phase = format!("log files on {}", ready.name);
        make(&phase, &ready.target, &prepared, site, &[], self.console)
    }

    fn all(
        &self,
        ready: &[ReadyTarget],
        logs: &[MadeLog],
        rounds: u32,
        sides: &mut [LiveSide],
    ) -> Result<(), Stopped> {
        for round in 0..rounds {
            self.console
                .say(&format!("Round {} of {rounds}", round + 1));
            let mut order: Vec<usize> = (0..ready.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for at in order {
                let done = self.one(&ready[at], &logs[at].0)?;
                sides[at].rounds.push(done);
            }
        }
        Ok(())
    }

    /// One round on one target: a stored run.
    fn one(&self, ready: &ReadyTarget, log: &LoadTarget) -> Result<Round, Stopped> {
        let (prepared, plan) = (self.prepared, &ready.plan);
        let mut run = run_of(plan, &ready.target, ready.warning.as_deref());
        run.lab_overhead_ns = Some(self.overhead_ns);
        describe(&mut run, log, plan);
        let writer = self.store.begin(&run.run_id)?;
        let mut writer = writer.within(&prepared.limits.budget);
        self.console
            .detail(&format!("{}: run {}", ready.name, run.run_id));
        let runner = RowRunner {
            target: ready.target.device(),
            limits: &prepared.limits,
            log: &plan.log,
            console: self.console,
            among: None,
        };
        if let Err(failure) = runner.rows(&mut run, log, &plan.rows, &mut writer) {
            return Err(keep(failure, run, prepared, &writer, self.console));
        }
        judge(&mut run, &prepared.thresholds, prepared.not_judged());
        report(&mut run, writer, self.console)?;
        let mut merged = vec![BTreeMap::new(); run.rows.len()];
        for (name, series) in self.store.load_histograms(&run.run_id)?.series {
            if let Some((row, event)) = row_and_event(&name)
                && let Some(slot) = merged.get_mut(row)
            {
                slot.insert(event.to_owned(), series.merged);
            }
        }
        Ok(Round { run, merged })
    }
}
