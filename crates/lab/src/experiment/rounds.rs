//! Targets measured in interleaved rounds: A B, B A, A B …
//!
//! Every target's log is made once, before the first round, so that rounds differ in nothing but
//! time; every round is a stored run, so that nothing measured is lost when a later one fails.
//! Where no sync method was named, all targets get the same one (`back_end`).

mod back_end;

use self::back_end::{CommonBackEnd, ProbedTarget, choose};
use super::Failure;
use super::begin::{describe, describe_members, run_of};
use super::conduct::{
    accepts, announce_opened, make, power_tests, refuse_log_options, report, say_rows,
};
use super::console::Console;
use super::ending::{Stopped, finish, keep};
use super::guard::consent;
use super::guard::limits::ServersToMake;
use super::judge::judge;
use super::measure::rows::{RowRunner, lab_overhead, time_of};
use super::plan::prepare::{Extent, Prepared, prepare_each};
use super::plan::{MeasurementPlan, RoundsPlan};
use super::target::LoadTarget;
use super::target::identify::Identified;
use super::target::managed::ManagedServer;
use super::target::place::LogPlace;
use super::target::site::Site;
use crate::cleanup::WorkFolder;
use crate::store::{Store, row_and_event};
use analysis::compare::live::{LiveSide, Round};
use device::IoEngine;
use measure::Nanos;
use measure::driver::DriverKind;
use measure::words::size;
use std::collections::{BTreeMap, BTreeSet};

/// A target that was looked at and may be written to.
struct ReadyTarget<'a> {
    name: String,
    target: Identified,
    prepared: Prepared<'a>,
    warning: Option<String>,
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
    let targets = plan.targets.iter();
    let plans: Vec<MeasurementPlan> = targets
        .map(|named| named.measured(&plan.measured))
        .collect();
    let identified = identify_each(plan, &plans, drivers)?;
    let paths = || identified.iter().filter_map(|(_, target)| target.path());
    if paths().next().is_none() {
        refuse_log_options(&plan.measured.log)?;
    }
    let extent = Extent {
        targets: paths().count() as u64,
        logs: 1,
        rounds: plan.rounds,
        raw: paths().any(|target| target.is_device()),
        servers: ServersToMake::of(
            identified
                .iter()
                .filter_map(|(_, target)| target.server())
                .map(ManagedServer::making_bytes),
        ),
    };
    let prepared = prepare_each(&plans, extent)?;
    check_shared_rooms(&prepared, &identified)?;
    let notices = shared_devices(plan, &identified);
    let mut ready = announce(prepared, identified, console)?;
    notices.iter().for_each(|notice| console.say(notice));
    let largest = ready.iter().map(|ready| &ready.prepared);
    let largest = largest.max_by_key(|prepared| prepared.all_bytes);
    if let Some(largest) = largest {
        console.say(&announced(&ready, largest, plan.rounds));
    }
    if plan.measured.dry_run {
        return Ok(None);
    }
    if let Some(largest) = largest {
        consent::ask(largest, console)?;
    }
    let common = Rounds {
        console,
        store,
        overhead_ns: lab_overhead(console.interrupt())?,
    };
    let sites = common.sites(&ready)?;
    let mut notes = Vec::new();
    let chosen = match plan.own_back_ends {
        true => Chosen::own(&ready),
        false => common.one_back_end(&ready, &sites)?,
    };
    notes.extend(chosen.sentence.clone());
    for (ready, (plan, probed_bytes)) in ready.iter_mut().zip(&chosen.plans) {
        ready.prepared = ready.prepared.after_probe(plan, *probed_bytes);
    }
    let sides = common.run(&ready, sites, plan.rounds)?;
    for target in ready.iter().filter_map(|ready| ready.target.path()) {
        target.say_what_stays(console, true);
    }
    Ok(Some(MeasuredRounds {
        sides,
        notices,
        notes,
    }))
}

/// What each target is, by its name, where it can run the rows.
fn identify_each(
    plan: &RoundsPlan,
    plans: &[MeasurementPlan],
    drivers: &[DriverKind],
) -> Result<Vec<(String, Identified)>, Failure> {
    let targets = plan.targets.iter().zip(plans);
    let identified = targets.map(|(named, measured)| {
        let target = Identified::of(&named.target, measured, drivers)?;
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
    identified.collect()
}

/// Refuses logs of several targets on one volume that have no room there together.
fn check_shared_rooms(
    prepared: &[Prepared<'_>],
    identified: &[(String, Identified)],
) -> Result<(), Failure> {
    let all = || {
        let each = identified.iter().zip(prepared);
        each.filter_map(|((_, target), prepared)| Some((target.path()?, prepared)))
    };
    for (target, _) in all() {
        let beside = all().filter(|(other, _)| target.shares_volume(other));
        let writes: Vec<_> = beside.map(|(_, prepared)| prepared.writes).collect();
        target.check_room_for(&writes)?;
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

/// The place of a log whose sync method is still to be chosen.
fn open_target<'r>(ready: &'r ReadyTarget<'_>) -> Option<&'r LogPlace> {
    let prepared = &ready.prepared;
    // Without room for a probe each log is written with direct I/O.
    let is_open = prepared.plan.log.sync_method.is_none() && !prepared.limits.direct_only;
    ready.target.path().filter(|_| is_open)
}

/// How each target is written: its plan, and what a probe has written there.
struct Chosen {
    plans: Vec<(MeasurementPlan, u64)>,
    /// The choice in words, where there was one.
    sentence: Option<String>,
}

impl Chosen {
    /// As each was planned.
    fn own(ready: &[ReadyTarget<'_>]) -> Chosen {
        let plans = ready.iter().map(|ready| (ready.prepared.plan.clone(), 0));
        Chosen {
            plans: plans.collect(),
            sentence: None,
        }
    }
}

/// Says what will be written to each target, and refuses what would endanger the machine.
fn announce<'a>(
    prepared: Vec<Prepared<'a>>,
    identified: Vec<(String, Identified)>,
    console: &dyn Console,
) -> Result<Vec<ReadyTarget<'a>>, Failure> {
    if let Some(first) = prepared.first() {
        console.allow(&first.limits.budget);
        say_rows(first.plan, console);
    }
    let mut said = BTreeSet::new();
    let ready = identified.into_iter().zip(prepared).map(
        |((name, target), prepared)| -> Result<_, Failure> {
            let (writes, lines) = (&prepared.writes, &prepared.limits.lines);
            let warning = match &target {
                Identified::Path(target) => {
                    target.announce_once((writes, lines), prepared.plan, console, &mut said)?
                }
                Identified::Server(server) => server.announce(prepared.plan, lines, console)?,
                Identified::Opened { shown, driver, .. } => {
                    announce_opened(shown, &**driver, prepared.plan, console)?
                }
                Identified::Null => None,
            };
            Ok(ReadyTarget {
                name,
                target,
                prepared,
                warning,
            })
        },
    );
    ready.collect()
}

/// The plan in words: rounds, their order, seconds and GiB.
fn announced(ready: &[ReadyTarget<'_>], largest: &Prepared<'_>, rounds: u32) -> String {
    let time = largest.takes.map_or_else(String::new, |_| {
        // Of all targets, also of those on which no log is made.
        let rows = largest.plan.rows.iter();
        let each: f64 = rows.map(|row| row.time.plus(row.warmup).as_secs()).sum();
        let all = each * f64::from(rounds) * ready.len() as f64;
        format!(", at most {all:.0} s in all")
    });
    let bytes = match largest.all_bytes {
        0 => String::new(),
        all => format!(
            ". They write at most {} to each target and {} in all",
            size(largest.writes.write_bytes),
            size(all)
        ),
    };
    format!(
        "Rounds: {rounds} on each of {}, every second one in reverse order{time}{bytes}.",
        names(ready)
    )
}

fn names(ready: &[ReadyTarget<'_>]) -> String {
    let names: Vec<&str> = ready.iter().map(|r| r.name.as_str()).collect();
    names.join(", ")
}

impl Rounds<'_> {
    /// The places that are written to; none of a target that others made.
    fn sites(&self, ready: &[ReadyTarget<'_>]) -> Result<Vec<Option<Site>>, Failure> {
        let site = |ready: &ReadyTarget<'_>| {
            let device = ready.target.device();
            let site = device.map(|t| t.site(&ready.prepared.plan.log, self.console));
            site.transpose()
        };
        ready.iter().map(site).collect()
    }

    /// One sync method and I/O engine for all logs for which none was named.
    fn one_back_end(
        &self,
        ready: &[ReadyTarget<'_>],
        sites: &[Option<Site>],
    ) -> Result<Chosen, Failure> {
        let mut all = Chosen::own(ready);
        if ready.iter().filter_map(open_target).count() < 2 {
            return Ok(all);
        }
        let (mut probed, mut raw) = (Vec::new(), false);
        for ((ready, site), (plan, bytes)) in ready.iter().zip(sites).zip(&mut all.plans) {
            let Some((target, site)) = open_target(ready).zip(site.as_ref()) else {
                continue;
            };
            let block_bytes = target.block_bytes(&plan.log)?;
            match site {
                Site::Device(_) => raw = true,
                Site::Folders(folders) => {
                    let io = plan.log.io;
                    let found = ProbedTarget::of(&ready.name, io, &folders[0], block_bytes)?;
                    *bytes = found.bytes();
                    probed.push(found);
                }
            }
        }
        let chosen = match raw {
            true => CommonBackEnd::of_raw_devices(),
            false => choose(&probed),
        };
        for (ready, (plan, _)) in ready.iter().zip(&mut all.plans) {
            if open_target(ready).is_none() {
                continue;
            }
            plan.log.sync_method = Some(chosen.method);
            if plan.log.io == IoEngine::Auto {
                plan.log.io = chosen.io;
            }
        }
        self.console.say(&chosen.sentence);
        all.sentence = Some(chosen.sentence);
        Ok(all)
    }

    /// Makes every log, runs the rounds, and removes the logs again, also after a failure.
    fn run(
        &self,
        ready: &[ReadyTarget<'_>],
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
        let side = |r: &ReadyTarget<'_>| LiveSide {
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
        let finished: usize = sides.iter().map(|side| side.rounds.len()).sum();
        outcome.map(|()| sides).map_err(|stopped| {
            stopped.with_note(match finished {
                0 => format!("no round on {} was finished", names(ready)),
                _ => format!(
                    "{} on {} finished and are in the store {} (redolab runs lists them)",
                    measure::words::plural(finished as u64, "round"),
                    names(ready),
                    self.store.path().display()
                ),
            })
        })
    }

    fn make(&self, ready: &ReadyTarget<'_>, site: Option<Site>) -> Result<MadeLog, Failure> {
        let phase = format!("log files on {}", ready.name);
        make(
            &phase,
            &ready.target,
            &ready.prepared,
            site,
            &[],
            self.console,
        )
    }

    fn all(
        &self,
        ready: &[ReadyTarget<'_>],
        logs: &[MadeLog],
        rounds: u32,
        sides: &mut [LiveSide],
    ) -> Result<(), Stopped> {
        for round in 0..rounds {
            let mut order: Vec<usize> = (0..ready.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for (nth, at) in order.into_iter().enumerate() {
                let left = (rounds - round) as usize * ready.len() - nth;
                let each = time_of(&ready[at].prepared.plan.rows);
                let left = Nanos(each.0.saturating_mul(left as u64));
                self.console.remaining(left);
                let name = &ready[at].name;
                self.console
                    .say(&format!("Round {} of {rounds}: {name}", round + 1));
                let done = self.one(&ready[at], &logs[at].0, round + 1)?;
                sides[at].rounds.push(done);
            }
        }
        Ok(())
    }

    /// One round on one target: a stored run.
    fn one(&self, ready: &ReadyTarget<'_>, log: &LoadTarget, round: u32) -> Result<Round, Stopped> {
        let (prepared, plan) = (&ready.prepared, ready.prepared.plan);
        let mut run = run_of(plan, &ready.target, ready.warning.as_deref());
        // A label is a name, and options in the name of a target may have other signs.
        let signs = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_');
        let own = format!("{}-{round}", ready.name.replace(signs, "-"));
        run.notes.label = Some(match run.notes.label.take() {
            Some(label) => format!("{label}-{own}"),
            None => own,
        });
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
            is_one_of_many: true,
        };
        if let Err(failure) = runner.rows(&mut run, log, &plan.rows, &mut writer) {
            return Err(keep(failure, run, prepared, &writer, self.console));
        }
        describe_members(&mut run, log);
        run.power_tests = power_tests(self.store, &run, self.console)?;
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
