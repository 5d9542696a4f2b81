//! `redolab check --explain-latency`: study 000's experiment, from the options to its plan, and the
//! result as text.

use super::check::CheckArgs;
use super::measured::report_place;
use super::{CommandError, ended};
use crate::experiment::conduct_explained;
use crate::experiment::plan::{ExperimentPlan, ExplainPlan, LogPlan, MeasurementPlan};
use crate::experiment::row::Spec;
use crate::observe::machine;
use crate::output::{section, table};
use analysis::account;
use measure::Nanos;
use measure::driver::DriverKind;
use measure::run::{RowCondition, Run};
use measure::workload::{CommitMode, CommitPost, CommitWait, Workload};
use redo::LogFileSync;
use std::process::ExitCode;

/// Rounds, and time and warm-up of each row: about a minute, and about a quarter of one.
const ROUNDS: u32 = 5;
const TIME: Nanos = Nanos::from_millis(1500);
const WARMUP: Nanos = Nanos::from_millis(500);
const QUICK_ROUNDS: u32 = 3;
const QUICK_TIME: Nanos = Nanos::from_millis(500);
const QUICK_WARMUP: Nanos = Nanos::from_millis(200);
/// Sessions where no number is named.
const JOBS: u32 = 8;
/// Busy threads per processor in the condition with more runnable threads than processors.
const BUSY_PER_PROCESSOR: u32 = 2;
/// Where no time is named, a row ends early when it has written this much.
const ROW_BYTES: u64 = 1 << 30;
/// COMMIT WRITE NOWAIT BATCH: how much could be committed if nobody waited.
const NOWAIT_BATCH: CommitMode = CommitMode {
    wait: CommitWait::Nowait,
    post: CommitPost::Batch,
};

/// Measures, and prints what a commit waits for.
pub(super) fn main(args: &CheckArgs, drivers: &[DriverKind]) -> Result<ExitCode, CommandError> {
    let plan = plan(args)?;
    let (command, output) = (args.command(), &args.measure.output);
    let store = command.store()?;
    let terminal = command.terminal(&store)?;
    let Some(run) = conduct_explained(&plan, &terminal, &store, drivers)? else {
        return Ok(ExitCode::SUCCESS);
    };
    output.emit_stored(&store, &run, |style| text(&run, style, output.verbose))?;
    terminal.reported()?;
    Ok(ended(&run, true))
}

fn plan(args: &CheckArgs) -> Result<ExplainPlan, CommandError> {
    let log = args.measure.log.plan()?;
    let measured = MeasurementPlan {
        rows: rows(args, &log, machine::usable_cpus())?,
        log,
        ..args.measure.safety.plan()
    };
    let ExperimentPlan { target, measured } = args.planned(measured, None)?;
    Ok(ExplainPlan {
        target,
        rounds: if args.quick { QUICK_ROUNDS } else { ROUNDS },
        measured,
    })
}

/// The conditions, the base first: WAIT IMMEDIATE as the options have it, NOWAIT BATCH, one busy
/// thread fewer than processors and twice as many, and the other ways of waiting.
fn rows(args: &CheckArgs, log: &LogPlan, processors: u32) -> Result<Vec<Spec>, CommandError> {
    let (jobs, given) = (jobs(args)?, &args.measure);
    let (time, warmup) = match args.quick {
        true => (QUICK_TIME, QUICK_WARMUP),
        false => (TIME, WARMUP),
    };
    let waits = Workload::standard().swap_remove(0);
    let nowait = Workload {
        name: format!("{}-NOWAIT", waits.name),
        commit: NOWAIT_BATCH,
        ..waits.clone()
    };
    let row = |workload: &Workload, commit_write: &str, way: LogFileSync, busy_threads| Spec {
        payload: given.load.payload(),
        max_redo_bytes: given.time.map_or(ROW_BYTES, |_| u64::MAX),
        condition: Some(RowCondition {
            commit_write: commit_write.to_owned(),
            log_file_sync: way.name().to_owned(),
            busy_threads,
            round: 0,
        }),
        ..Spec::closed(
            workload.clone(),
            jobs,
            given.time.unwrap_or(time),
            given.warmup.unwrap_or(warmup),
        )
    };
    let base = log.log_file_sync;
    let wait = |way, busy| row(&waits, "wait-immediate", way, busy);
    let mut rows = vec![wait(base, 0), row(&nowait, "nowait-batch", base, 0)];
    let busy = [
        processors.saturating_sub(1),
        processors.saturating_mul(BUSY_PER_PROCESSOR),
    ];
    rows.extend(busy.iter().filter(|n| **n > 0).map(|n| wait(base, *n)));
    let ways = [
        LogFileSync::PostWait,
        LogFileSync::Polling,
        LogFileSync::Adaptive,
    ];
    rows.extend(
        ways.iter()
            .filter(|way| **way != base)
            .map(|way| wait(*way, 0)),
    );
    Ok(rows)
}

fn jobs(args: &CheckArgs) -> Result<u32, CommandError> {
    let Some(ladder) = &args.measure.jobs else {
        return Ok(JOBS);
    };
    match args.measure.sessions.jobs(ladder)?.as_slice() {
        [jobs] => Ok(*jobs),
        many => Err(CommandError::usage(format!(
            "--jobs: --explain-latency measures one number of jobs, and {} were named",
            many.len()
        ))),
    }
}

fn text(run: &Run, style: table::Style, verbose: bool) -> String {
    let mut out = format!("{}\n", table::caption(run));
    let sections = [
        account::explained_latency(run),
        account::slow_writes(run),
        account::findings::section(run, verbose),
    ];
    out.push_str(&format!("\n{}", section::texts(sections, style, verbose)));
    out.push_str(&places(run));
    out
}

/// Where the report of a run is, and the run itself.
fn places(run: &Run) -> String {
    format!(
        "\n{}Run:    {} (redolab runs show {})\n",
        report_place(run),
        run.run_id,
        run.run_id
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Options {
        #[command(flatten)]
        check: CheckArgs,
    }

    fn conditions(words: &[&str], processors: u32) -> Result<Vec<String>, CommandError> {
        let words = [&["check", "--explain-latency"], words].concat();
        let args = Options::try_parse_from(words).expect("options").check;
        let log = args.measure.log.plan()?;
        let rows = rows(&args, &log, processors)?;
        let shown = |spec: &Spec| {
            let c = spec.condition.as_ref().expect("each has one");
            format!(
                "{} {} {} {}",
                spec.jobs, c.commit_write, c.log_file_sync, c.busy_threads
            )
        };
        Ok(rows.iter().map(shown).collect())
    }

    #[test]
    fn every_condition_of_study_000_is_a_row() {
        assert_eq!(
            conditions(&[], 2).expect("rows"),
            [
                "8 wait-immediate adaptive 0",
                "8 nowait-batch adaptive 0",
                "8 wait-immediate adaptive 1",
                "8 wait-immediate adaptive 4",
                "8 wait-immediate post-wait 0",
                "8 wait-immediate polling 0",
            ]
        );
        let lgwr = ["--log-writer", "lgwr", "--jobs", "3"];
        let rows = conditions(&lgwr, 1).expect("rows");
        assert_eq!(rows[0], "3 wait-immediate post-wait 0");
        assert_eq!(
            rows.len(),
            5,
            "no thread fewer than one processor: {rows:?}"
        );
        let many = conditions(&["--jobs", "1,2"], 2).expect_err("two numbers");
        assert!(many.message.contains("--jobs"), "{}", many.message);
    }

    #[test]
    fn the_experiment_takes_two_minutes_at_most() {
        for (words, most_s) in [(&["--quick"][..], 20.0), (&[], 120.0)] {
            let words = [&["check", "--explain-latency"], words].concat();
            let args = Options::try_parse_from(words).expect("options").check;
            let plan = plan(&args).expect("a plan");
            let rows = plan.measured.rows.iter();
            let each: f64 = rows.map(|row| row.time.plus(row.warmup).as_secs()).sum();
            let all = each * f64::from(plan.rounds);
            assert!(
                all <= 0.75 * most_s,
                "{all} s, and the logs are made before"
            );
        }
    }
}
