//! Targets measured in interleaved rounds: A B, B A, A B …
//!
//! Every target's log is made once, before the first round, so that rounds differ in nothing but
//! time; every round is a stored run, so that nothing measured is lost when a later one fails.

use super::Failure;
use super::begin::{describe, describe_members, run_of};
use super::conduct::{accepts, announce_opened, make, refuse_log_options, report, say_rows};
use super::consent;
use super::console::Console;
use super::ending::{Stopped, finish, keep};
use super::identified::Identified;
use super::judge::judge;
use super::plan::{MeasurementPlan, RoundsPlan};
use super::prepare::{Extent, Prepared, prepare_each};
use super::rows::{RowRunner, lab_overhead, time_of};
use super::target::LoadTarget;
use crate::cleanup::WorkFolder;
use crate::store::{Store, row_and_event};
use analysis::compare::rounds::{LiveSide, Round};
use measure::Nanos;
use measure::driver::DriverKind;
use measure::words;
use std::collections::BTreeMap;

/// A target that was looked at and may be written to.
struct ReadyTarget<'a> {
    name: String,
    target: Identified,
    prepared: Prepared<'a>,
    warning: Option<String>,
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
) -> Result<Option<Vec<LiveSide>>, Stopped> {
    let targets = plan.targets.iter();
    let plans: Vec<MeasurementPlan> = targets
        .map(|named| named.measured(&plan.measured))
        .collect();
    let targets = plan.targets.iter().zip(&plans);
    let identified = targets.map(|(named, measured)| -> Result<_, Failure> {
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
    let prepared = prepare_each(&plans, extent)?;
    let ready = announce(prepared, identified, console)?;
    if plan.measured.dry_run {
        return Ok(None);
    }
    say_rounds(&plan.measured, &ready, plan.rounds, console);
    let largest = ready.iter().map(|ready| &ready.prepared);
    if let Some(largest) = largest.max_by_key(|prepared| prepared.all_bytes) {
        consent::ask(largest, console)?;
    }
    let common = Rounds {
        console,
        store,
        overhead_ns: lab_overhead(console.interrupt())?,
    };
    let sides = common.run(&ready, plan.rounds)?;
    for target in ready.iter().filter_map(|ready| ready.target.path()) {
        target.place.say_what_stays(console, true);
    }
    Ok(Some(sides))
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
    let ready = identified.into_iter().zip(prepared).map(
        |((name, target), prepared)| -> Result<_, Failure> {
            let (writes, lines) = (&prepared.writes, &prepared.limits.lines);
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
                prepared,
                warning,
            })
        },
    );
    ready.collect()
}

fn say_rounds(
    plan: &MeasurementPlan,
    ready: &[ReadyTarget<'_>],
    rounds: u32,
    console: &dyn Console,
) {
    let names = names(ready);
    let timed = plan.rows.iter().all(|s| s.commits.is_none());
    let seconds: f64 = plan
        .rows
        .iter()
        .map(|s| s.time.as_secs() + s.warmup.as_secs())
        .sum();
    let all = seconds * f64::from(rounds) * ready.len() as f64;
    let time = if timed {
        format!(", about {}", words::latency(all * 1e9))
    } else {
        String::new()
    };
    console.say(&format!(
        "Rounds: {rounds} on each of {names}, every second one in reverse order{time}."
    ));
}

fn names(ready: &[ReadyTarget<'_>]) -> String {
    let names: Vec<&str> = ready.iter().map(|r| r.name.as_str()).collect();
    names.join(", ")
}

impl Rounds<'_> {
    /// Makes every log, runs the rounds, and removes the logs again, also after a failure.
    fn run(&self, ready: &[ReadyTarget<'_>], rounds: u32) -> Result<Vec<LiveSide>, Stopped> {
        let mut logs: Vec<MadeLog> = Vec::new();
        let mut outcome: Result<(), Stopped> = Ok(());
        for ready in ready {
            match self.make(ready) {
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
        outcome.map(|()| sides).map_err(|stopped| {
            stopped.with_note(format!(
                "rounds that were finished on {} are in the store {}",
                names(ready),
                self.store.path().display()
            ))
        })
    }

    fn make(&self, ready: &ReadyTarget<'_>) -> Result<MadeLog, Failure> {
        let device = ready.target.device();
        let site = device
            .map(|t| t.site(&ready.prepared.plan.log, self.console))
            .transpose()?;
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
            self.console
                .say(&format!("Round {} of {rounds}", round + 1));
            let mut order: Vec<usize> = (0..ready.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for (nth, at) in order.into_iter().enumerate() {
                let left = (rounds - round) as usize * ready.len() - nth;
                let each = time_of(&ready[at].prepared.plan.rows);
                let left = Nanos(each.0.saturating_mul(left as u64));
                self.console.remaining(left);
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
        if let Some(label) = &mut run.notes.label {
            *label = format!("{label}-{}-{round}", ready.name);
        }
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
