//! `redolab run`: one workload on one target.

use super::CommandError;
use super::loads::{OPEN_JOBS, SOAK_JOBS};
use super::measured::{JudgedArgs, JudgedCommand, MeasureArgs};
use super::need::{CutsBoundArgs, NeedArgs};
use super::tproc_c::TprocCWorkloadArgs;
use super::values::{self, SweepSizes};
use crate::experiment::fits;
use crate::experiment::plan::{
    ExperimentPlan, JudgementPlan, LogPlan, MeasurementPlan, PlannedTarget,
};
use crate::experiment::row::Spec;
use clap::Args;
use measure::Nanos;
use measure::driver::DriverKind;
use measure::units::{parse_count, parse_duration};
use measure::workload::{
    CommitMode, DEFAULT_JOBS, SIZE_SWEEP, STORM, STORM_COMMITS, STORM_JOBS, TPROC_C_NOTICE,
    Workload, sizes,
};
use std::process::ExitCode;

/// Options of `run`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Workloads (study 003): LGWR-LAT1 (1.95 kB of redo per transaction), LGWR-LAT25 (26.3 kB), \
LGWR-LAT125 (124 kB), all COMMIT WRITE WAIT IMMEDIATE, and LGWR-THR (486 kB, NOWAIT BATCH).
storm (study 004): 20 sessions with 200,000 commits each, of LGWR-LAT1's redo.
size-sweep (study 002): from 1 kB to 16 MB of redo before the commit (--sizes), in records of 8 \
kB, across the flush threshold of 1 MB. Unlike the study, it has no archiving and no flash log.
tproc-c: the transactions of an order entry on a database server, with --jobs users. It is derived \
from the TPC-C benchmark and does not comply with it: its results are not comparable with published \
TPC-C results. `redolab tprocc load` makes its tables, except on a private server (--driver).

Loops are closed. --rate makes an open loop: each latency then counts from the time when its \
commit was due.

With a need (--commit-rate, --redo-rate, --p99, --need-from) or --strict the verdict is the exit \
code, as of check: 0 yes or conditional, 3 no, 4 undetermined.

  redolab run /u02 --jobs 1,8,32
  redolab run /u02 --nodes 2 --commit-rate 5000 --p99 2ms
  redolab run --workload storm --jobs 20 --commits 200000
  redolab run --workload size-sweep --sizes 512k..2M+64k --jobs 1,8
  redolab run --rate 5000 --arrivals poisson --burst 500@1s --jobs 64
  redolab run --workload tproc-c --driver postgres --on /u01 --warehouses 10 --jobs 1,4,16
  redolab run --soak 45m --max-write 2T")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    need: NeedArgs,
    #[command(flatten)]
    options: RunOptions,
    #[command(flatten)]
    judged: JudgedArgs,
    /// Run on the null device, to measure redolab's own overhead
    #[arg(
        long,
        help_heading = "Target",
        conflicts_with_all = ["path", "destroy", "driver", "stripe", "members"]
    )]
    null: bool,
    #[command(flatten)]
    tproc_c: TprocCWorkloadArgs,
}

/// What is run, and how; where is for others to say.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct RunOptions {
    /// LGWR-LAT1, LGWR-LAT25, LGWR-LAT125, LGWR-THR, storm, size-sweep or tproc-c (--help explains
    /// them)
    #[arg(
        short,
        long,
        value_name = "NAME",
        default_value = "LGWR-LAT1",
        hide_possible_values = true,
        value_parser = values::workload()
    )]
    workload: Workload,
    /// End each row after this many commits of each session, such as 200k, instead of after a time
    ///
    /// The default of storm is 200000.
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_count,
        conflicts_with_all = ["time", "rate", "soak"]
    )]
    commits: Option<u64>,
    /// Redo per transaction in a size-sweep, such as 4k,1M or 1k..16M (doubling) or 512k..2M+64k
    /// (steps of 64k) [default: 1k..16M]
    #[arg(long, value_name = "SIZES", value_parser = SweepSizes::read)]
    sizes: Option<SweepSizes>,
    /// Number of records into which the redo of a transaction is divided [default: 1; size-sweep:
    /// one per 8 kB]
    #[arg(long, value_name = "N")]
    records: Option<u32>,
    /// COMMIT WRITE mode: wait-immediate, wait-batch, nowait-immediate, nowait-batch
    #[arg(
        long,
        value_name = "MODE",
        hide_possible_values = true,
        value_parser = values::commit_write()
    )]
    commit_write: Option<CommitMode>,
    /// Time of CPU work before each commit, such as 50us
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    cpu_per_txn: Nanos,
    /// Seed of the random payload, of the random arrivals and of the users of tproc-c
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    #[command(flatten)]
    pub(super) measure: MeasureArgs,
}

/// What is measured where the options do not say it.
struct Unnamed {
    time: Nanos,
    warmup: Nanos,
    jobs: &'static [u32],
    /// A row ends with so much redo, where its time was not named.
    row_bytes: u64,
}

impl Unnamed {
    /// Of `run`.
    const RUN: Unnamed = Unnamed {
        time: Nanos::from_secs(10),
        warmup: Nanos::from_secs(2),
        jobs: &DEFAULT_JOBS,
        row_bytes: u64::MAX,
    };
    /// Of TPROC-C.
    const TPROC_C: Unnamed = Unnamed {
        time: Nanos::from_secs(300),
        warmup: Nanos::from_secs(120),
        jobs: &[1, 2, 4, 8],
        row_bytes: u64::MAX,
    };
    /// Of a round of `compare`: each row is measured in every round, on every target.
    const ROUND: Unnamed = Unnamed {
        time: Nanos::from_secs(2),
        warmup: Nanos::from_millis(500),
        jobs: &[1, 8, 32],
        row_bytes: 256 << 20,
    };
}

/// Rows of a run at most: more is a typing error.
const MAX_ROWS: usize = 1024;

/// What is measured in each round of a comparison.
pub(super) struct RoundOptions {
    /// The measurement, with the first of the logs.
    pub(super) measured: MeasurementPlan,
    /// The logs that the options name, with their names; the name of a single one is empty.
    pub(super) logs: Vec<(String, LogPlan)>,
    /// The options with several values, as a comparison names what differs.
    pub(super) varied: Vec<String>,
}

impl RunOptions {
    /// What is measured in a round of several, which writes less by default; and the logs that the
    /// options name, with their names.
    ///
    /// # Errors
    /// The option that is wrong, and what it takes.
    pub(super) fn plan_of_rounds(
        &self,
        bound: &CutsBoundArgs,
    ) -> Result<RoundOptions, CommandError> {
        if self.workload.tproc_c.is_some() {
            return Err(CommandError::usage(
                "--workload tproc-c: measure it with redolab run, and compare the runs",
            ));
        }
        let logs = self.measure.log.plans()?;
        let log = logs.first().map(|(_, log)| log.clone()).unwrap_or_default();
        let measured = self.planned(log, &Unnamed::ROUND)?;
        let varied = self.measure.log.varied();
        let judgement = JudgementPlan {
            thresholds: bound.over(String::new()),
            ..JudgementPlan::default()
        };
        Ok(RoundOptions {
            measured: MeasurementPlan {
                judgement,
                ..measured
            },
            logs,
            varied,
        })
    }

    /// What is run, where nothing is measured.
    ///
    /// # Errors
    /// The option that is wrong, and what it takes.
    pub(super) fn plan(&self) -> Result<MeasurementPlan, CommandError> {
        self.planned(self.measure.log.plan()?, &Unnamed::RUN)
    }

    fn planned(&self, log: LogPlan, unnamed: &Unnamed) -> Result<MeasurementPlan, CommandError> {
        let rows = specs(self, unnamed)?;
        fits::ends(&rows, &log.triggers)?;
        fits::sweep_fits(&rows, &log)?;
        Ok(MeasurementPlan {
            log,
            rows,
            ..self.measure.safety.plan()
        })
    }
}

pub(crate) fn main(args: &RunArgs, drivers: &[DriverKind]) -> Result<ExitCode, CommandError> {
    let (options, judged) = (&args.options, &args.judged);
    if args.null && judged.target.names_nodes() {
        return Err(CommandError::usage(
            "--nodes: the null device takes a number of logs",
        ));
    }
    let is_tproc_c = options.workload.tproc_c.is_some();
    let unnamed = if is_tproc_c {
        &Unnamed::TPROC_C
    } else {
        &Unnamed::RUN
    };
    let measured = options.planned(options.measure.log.plan()?, unnamed)?;
    let mut plan = judged.plan(&args.need, measured, None, &options.measure.safety)?;
    if args.null {
        plan.target = PlannedTarget::Null;
        if plan.measured.events {
            fits::events_fit(&plan.measured.rows)?;
        }
    }
    if is_tproc_c {
        if options.records.is_some() || options.commit_write.is_some() {
            return Err(CommandError::usage(
                "--records and --commit-write have no effect on tproc-c; omit them",
            ));
        }
        options.measure.output.say(TPROC_C_NOTICE);
    }
    args.tproc_c.apply(&mut plan, is_tproc_c)?;
    let command = JudgedCommand {
        need: &args.need,
        judged,
        measure: &options.measure,
        reports: false,
        decides: false,
    };
    command.carry_out(plan, |_: &mut ExperimentPlan, _| {}, drivers)
}

/// The workloads that the options name: one, or a sweep's points.
fn workloads(args: &RunOptions) -> Result<Vec<Workload>, CommandError> {
    let named = &args.workload;
    let is_sweep = named.name == SIZE_SWEEP;
    let mut all = match &args.sizes {
        Some(_) if !is_sweep => {
            return Err(CommandError::usage(format!(
                "--sizes: the redo of {} is fixed; use --workload {SIZE_SWEEP}",
                named.name
            )));
        }
        Some(SweepSizes(sizes)) => sizes.iter().copied().map(Workload::size_sweep).collect(),
        None if is_sweep => {
            let all = sizes::parse(sizes::DEFAULT).map_err(CommandError::usage)?;
            all.into_iter().map(Workload::size_sweep).collect()
        }
        None => vec![named.clone()],
    };
    for workload in &mut all {
        let most = workload.redo_bytes / 32;
        match args.records {
            Some(n) if n == 0 || n > most => {
                return Err(CommandError::usage(format!(
                    "--records: {} bytes of redo can be divided into 1 to {most} records",
                    workload.redo_bytes
                )));
            }
            Some(n) => workload.records = n,
            None => {}
        }
        if let Some(mode) = args.commit_write {
            workload.commit = mode;
        }
    }
    Ok(all)
}

/// Jobs, and commits of each session, when none are named.
fn defaults(
    args: &RunOptions,
    workload: &str,
    unnamed: &Unnamed,
) -> Result<(Vec<u32>, Option<u64>), CommandError> {
    let given = &args.measure;
    let timed = given.time.is_some() || given.load.soak.is_some() || given.load.rate.is_some();
    match workload {
        STORM if timed => Err(CommandError::usage(
            "--workload storm counts the commits of each session; use --commits, or another \
             workload with --time, --soak and --rate",
        )),
        STORM => Ok((
            vec![STORM_JOBS],
            Some(args.commits.unwrap_or(STORM_COMMITS)),
        )),
        SIZE_SWEEP => Ok((vec![1], args.commits)),
        _ if given.load.rate.is_some() => Ok((vec![OPEN_JOBS], None)),
        _ if given.load.soak.is_some() => Ok((vec![SOAK_JOBS], None)),
        _ => Ok((unnamed.jobs.to_vec(), args.commits)),
    }
}

fn specs(args: &RunOptions, unnamed: &Unnamed) -> Result<Vec<Spec>, CommandError> {
    let workloads = workloads(args)?;
    let given = &args.measure;
    let api = given.sessions.api()?;
    let (jobs, commits) = defaults(args, &args.workload.name, unnamed)?;
    let ladder = match &given.jobs {
        Some(ladder) => given.sessions.jobs(ladder)?,
        None => jobs,
    };
    let soak = given.load.soak;
    if soak.is_some() && given.time.is_some() {
        return Err(CommandError::usage(
            "--soak cannot be used with --time: it is the time of the rows",
        ));
    }
    let named = soak.or(given.time);
    let time = named.unwrap_or(unnamed.time);
    let (warmup, cpu_per_txn) = (given.warmup.unwrap_or(unnamed.warmup), args.cpu_per_txn);
    let whole = named.is_some() || commits.is_some() || given.load.rate.is_some();
    if commits == Some(0) {
        return Err(CommandError::usage("--time and --commits must be over 0"));
    }
    let (arrivals, payload) = (given.load.arrivals(time)?, given.load.payload());
    let spec = |workload: &Workload, jobs| Spec {
        api,
        warmup: if commits.is_some() {
            Nanos::ZERO
        } else {
            warmup
        },
        commits,
        cpu_per_txn,
        seed: args.seed,
        arrivals,
        payload,
        soak: soak.is_some(),
        max_redo_bytes: if whole { u64::MAX } else { unnamed.row_bytes },
        ..Spec::closed(workload.clone(), jobs, time, warmup)
    };
    let rows = workloads
        .iter()
        .flat_map(|workload| ladder.iter().map(move |jobs| (workload, *jobs)));
    let specs: Vec<Spec> = rows.map(|(workload, jobs)| spec(workload, jobs)).collect();
    if specs.len() > MAX_ROWS {
        return Err(CommandError::usage(format!(
            "--sizes and --jobs make {} rows together; use at most {MAX_ROWS}",
            specs.len()
        )));
    }
    Ok(specs)
}
