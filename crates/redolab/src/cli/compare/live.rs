//! Targets measured in interleaved rounds: A B, B A, A B …
//!
//! Every target's log is made once, before the first round, so that rounds differ in nothing but
//! time; every round is a stored run, so that nothing measured is lost when a later one fails.

use super::super::CommandError;
use super::super::limits::Limits;
use super::super::loads;
use super::super::run::{On, Planned, RunOptions, doubt_zeros, workload_info};
use super::super::session::{Bench, Look, describe, finish, keep, lab_overhead};
use super::stored::place;
use crate::cleanup::WorkFolder;
use crate::experiment::Failure;
use crate::experiment::row::Spec;
use crate::experiment::target::{LogTarget, Setup};
use crate::folder::is_name;
use crate::signals::{self, Interrupt};
use crate::store::Store;
use analysis::compare::Options;
use analysis::compare::rounds::{self, LiveSide, Round};
use measure::comparison::Comparison;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A target that was looked at and may be written to.
struct Ready {
    name: String,
    look: Look,
    busy: Option<String>,
}

/// What all rounds have in common.
struct Rounds<'a> {
    args: &'a RunOptions,
    specs: &'a [Spec],
    setup: &'a Setup,
    limits: &'a Limits,
    interrupt: &'a Interrupt,
    store: &'a Store,
    overhead_ns: f64,
}

/// What is measured, and where the report goes.
pub(super) struct Asked<'a> {
    /// Each as `NAME=PATH`.
    pub(super) targets: &'a [String],
    pub(super) rounds: u32,
    pub(super) report: Option<&'a Path>,
}

/// Measures and compares; `None` after a dry run.
pub(super) fn compare(
    asked: &Asked<'_>,
    args: &RunOptions,
    options: &Options,
) -> Result<Option<Comparison>, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let (targets, rounds) = (targets(asked.targets)?, asked.rounds);
    let Planned {
        specs,
        setup,
        plan,
        limits,
    } = args.plan(On {
        targets: targets.len() as u64,
        rounds,
        raw: targets
            .iter()
            .any(|(_, path)| device::raw::is_block_device(path)),
        events: false,
    })?;
    args.announce(&specs);
    let store = args.store.open()?;
    args.output.check_beside(&store)?;
    args.output.check_report(asked.report)?;
    let mut ready = Vec::new();
    let mut go = true;
    for (name, path) in targets {
        let look = Look::at(&path, &args.safety)?;
        look.check_setup(&setup, &specs)?;
        let (may, busy) = look.preflight(&plan, &limits, &args.safety, &args.output)?;
        go &= may;
        ready.push(Ready { name, look, busy });
    }
    if !go {
        return Ok(None);
    }
    announce(args, &specs, &ready, rounds);
    let common = Rounds {
        args,
        specs: &specs,
        setup: &setup,
        limits: &limits,
        interrupt: &interrupt,
        store: &store,
        overhead_ns: lab_overhead(&interrupt)?,
    };
    let sides = common.run(&ready, rounds)?;
    for ready in &ready {
        ready.look.ground.say_what_stays(&args.output, true);
    }
    Ok(Some(rounds::compare(&sides, options)))
}

/// Names and paths of `NAME=PATH`.
fn targets(on: &[String]) -> Result<Vec<(String, PathBuf)>, CommandError> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for text in on {
        let (name, path) = text.split_once('=').ok_or_else(|| {
            CommandError::usage(format!("--on {text}: write NAME=PATH, such as ssd=/u01"))
        })?;
        if !is_name(name) || path.is_empty() {
            return Err(CommandError::usage(format!(
                "--on {text}: a name has letters, digits, dots, dashes and underscores, and a path \
                 follows it"
            )));
        }
        if found.iter().any(|(n, _)| n == name) {
            return Err(CommandError::usage(format!(
                "--on {text}: two targets have this name"
            )));
        }
        found.push((name.to_owned(), PathBuf::from(path)));
    }
    if found.len() < 2 {
        let message = "compare: name two targets or more with --on NAME=PATH, the base first";
        return Err(CommandError::usage(message));
    }
    Ok(found)
}

fn announce(args: &RunOptions, specs: &[Spec], ready: &[Ready], rounds: u32) {
    let names: Vec<&str> = ready.iter().map(|r| r.name.as_str()).collect();
    let timed = specs.iter().all(|s| s.commits.is_none());
    let seconds: f64 = specs
        .iter()
        .map(|s| s.time.as_secs() + s.warmup.as_secs())
        .sum();
    let all = seconds * f64::from(rounds) * names.len() as f64;
    let time = if timed {
        format!(", about {}", analysis::format::latency(all * 1e9))
    } else {
        String::new()
    };
    args.output.say(&format!(
        "Rounds: {rounds} on each of {}, every second one in reverse order{time}.",
        names.join(", ")
    ));
}

impl Rounds<'_> {
    /// Makes every log, runs the rounds, and removes the logs again, also after a failure.
    fn run(&self, ready: &[Ready], rounds: u32) -> Result<Vec<LiveSide>, CommandError> {
        let mut logs: Vec<(LogTarget, Option<WorkFolder>)> = Vec::new();
        let mut outcome = Ok(());
        for ready in ready {
            match self.make(ready) {
                Ok(log) => logs.push(log),
                Err(failure) => {
                    outcome = Err(failure.into());
                    break;
                }
            }
        }
        let side = |r: &Ready| LiveSide {
            name: r.name.clone(),
            rounds: Vec::new(),
        };
        let mut sides: Vec<LiveSide> = ready.iter().map(side).collect();
        if outcome.is_ok() {
            outcome = self.all(ready, &logs, rounds, &mut sides);
        }
        for (target, folder) in logs {
            let ended = finish(target, folder);
            outcome = outcome.and(ended.map_err(CommandError::from));
        }
        outcome
            .map(|()| sides)
            .map_err(|error| self.with_kept(error, ready))
    }

    fn make(&self, ready: &Ready) -> Result<(LogTarget, Option<WorkFolder>), Failure> {
        let site = ready.look.ground.site(&self.args.output)?;
        let progress = self.args.output.progress();
        let name = format!("log files on {}", ready.name);
        let phase = progress.phase(&name, self.setup.footprint_bytes());
        let cancel = || self.interrupt.requested();
        let made = LogTarget::on(site, self.setup.clone(), &|done, _| phase.at(done), &cancel)?;
        phase.done("ready");
        Ok(made)
    }

    fn all(
        &self,
        ready: &[Ready],
        logs: &[(LogTarget, Option<WorkFolder>)],
        rounds: u32,
        sides: &mut [LiveSide],
    ) -> Result<(), CommandError> {
        for round in 0..rounds {
            self.args
                .output
                .say(&format!("Round {} of {rounds}", round + 1));
            let mut order: Vec<usize> = (0..ready.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for at in order {
                let (ready, (target, _)) = (&ready[at], &logs[at]);
                let mut bench = Bench {
                    look: Some(&ready.look),
                    limits: self.limits,
                    setup: self.setup,
                    output: &self.args.output,
                    interrupt: self.interrupt,
                };
                let done = self.one(ready, target, &mut bench)?;
                sides[at].rounds.push(done);
            }
        }
        Ok(())
    }

    /// One round on one target: a stored run.
    fn one(
        &self,
        ready: &Ready,
        target: &LogTarget,
        bench: &mut Bench<'_>,
    ) -> Result<Round, CommandError> {
        let mut run = ready.look.begin();
        if let Some(busy) = &ready.busy {
            run.validity.add("busy_device", false, busy.clone());
        }
        run.workload = workload_info(self.specs);
        run.lab_overhead_ns = Some(self.overhead_ns);
        describe(&mut run, target);
        let block_bytes = run.target.redo_log().map_or(0, |log| log.redo_block_bytes);
        let sizes = loads::size_sweep(self.specs, self.setup, block_bytes);
        run.workload.set_size_sweep(sizes);
        let writer = self.store.begin(&run.run_id)?;
        let mut writer = writer.within(&self.limits.budget);
        if self.args.output.verbose {
            self.args
                .output
                .say(&format!("{}: run {}", ready.name, run.run_id));
        }
        if let Err(failure) = bench.rows(&mut run, target, self.specs, Some(&mut writer)) {
            return Err(keep(failure, &mut run, &writer));
        }
        doubt_zeros(&mut run);
        writer.finish(&run)?;
        let mut merged = vec![BTreeMap::new(); run.rows.len()];
        for (name, series) in self.store.load_histograms(&run.run_id)?.series {
            if let Some((row, event)) = place(&name)
                && let Some(slot) = merged.get_mut(row)
            {
                slot.insert(event.to_owned(), series.merged);
            }
        }
        Ok(Round { run, merged })
    }

    fn with_kept(&self, mut error: CommandError, ready: &[Ready]) -> CommandError {
        let names: Vec<&str> = ready.iter().map(|r| r.name.as_str()).collect();
        error.message.push_str(&format!(
            "; rounds that were finished on {} are in the store {}",
            names.join(", "),
            self.store.path().display()
        ));
        error
    }
}
