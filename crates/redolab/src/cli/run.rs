//! `redolab run`: one workload on one target.

use super::common::{LogArgs, OutputArgs, SafetyArgs, SessionArgs, command_line};
use super::console::Terminal;
use super::loads::{LoadArgs, OPEN_JOBS, SOAK_JOBS};
use super::need::CutsBoundArgs;
use super::notes::NotesArgs;
use super::stored::{EventArgs, StoreArgs};
use super::targets::{DriverArgs, PlacesArgs};
use super::values::{self, Ladder, NodesChoice, SweepSizes};
use super::{CommandError, ended};
use crate::experiment::ladder;
use crate::experiment::load::CommitApi;
use crate::experiment::plan::{
    ExperimentPlan, JudgementPlan, LogPlan, MeasurementPlan, PlannedTarget,
};
use crate::experiment::row::Spec;
use crate::experiment::{conduct, fits};
use crate::output::overview;
use clap::Args;
use measure::Nanos;
use measure::driver::DriverKind;
use measure::run::RunNotes;
use measure::units::{parse_count, parse_duration};
use measure::workload::{
    CommitMode, DEFAULT_JOBS, SIZE_SWEEP, STORM, STORM_COMMITS, STORM_JOBS, Workload, sizes,
};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Workloads (study 003): LGWR-LAT1 (1.95 kB of redo per transaction), LGWR-LAT25 (26.3 kB), \
LGWR-LAT125 (124 kB), all COMMIT WRITE WAIT IMMEDIATE, and LGWR-THR (486 kB, NOWAIT BATCH).
storm (study 004): 20 sessions with 200,000 commits each, of LGWR-LAT1's redo.
size-sweep (study 002): from 1 kB to 16 MB of redo before the commit (--sizes), in records of 8 \
kB, across the flush threshold of 1 MB. Unlike the study, it has no archiving and no flash log.

Loops are closed. --rate makes an open loop: each latency then counts from the time when its \
commit was due.

  redolab run /u02 --jobs 1,8,32
  redolab run --workload storm --jobs 20 --commits 200000
  redolab run --workload size-sweep --sizes 512k..2M+64k --jobs 1,8
  redolab run --rate 5000 --arrivals poisson --burst 500@1s --jobs 64
  redolab run --workload LGWR-THR --nodes 2 --jobs 1,8
  redolab run --soak 45m --max-write 2T")]
pub(crate) struct RunArgs {
    /// A directory on the device, a raw block device (which needs --destroy), or the address of a
    /// database server (postgres://user@host/database, mariadb://user@host/database) [default: .]
    #[arg(value_name = "PATH", group = "path")]
    place: Option<PathBuf>,
    /// The same as PATH
    #[arg(long, value_name = "PATH", group = "path")]
    on: Option<PathBuf>,
    /// Run on the null device, to measure redolab's own overhead
    #[arg(long, conflicts_with_all = ["path", "destroy", "driver", "stripe", "members"])]
    null: bool,
    #[command(flatten)]
    places: PlacesArgs,
    /// Number of redo logs that are measured together, each with its own log writer and --jobs
    /// sessions, below the target; or the directory of each, such as /u01,/u02. A row has the sums
    /// of all, and a table the figures of each [default: 1]
    #[arg(
        long,
        value_name = "N|PATHS",
        help_heading = "The log",
        conflicts_with_all = ["stripe", "members", "destroy", "driver", "events"]
    )]
    nodes: Option<NodesChoice>,
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    events: EventArgs,
    #[command(flatten)]
    notes: NotesArgs,
    #[command(flatten)]
    options: RunOptions,
}

/// What is run, and how; where is for others to say.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// LGWR-LAT1, LGWR-LAT25, LGWR-LAT125, LGWR-THR, storm or size-sweep
    #[arg(
        short,
        long,
        value_name = "NAME",
        default_value = "LGWR-LAT1",
        value_parser = values::workload()
    )]
    workload: Workload,
    /// Numbers of jobs, such as 1,8,32 or 2..64 (doubling) or 2..64+2 (steps of 2) [default:
    /// 1,2,8,32,64; compare 1,8,32; storm 20, size-sweep 1, --rate 32, --soak 8]
    #[arg(short, long, value_name = "LADDER", value_parser = Ladder::read)]
    jobs: Option<Ladder>,
    /// Measured time of each row, such as 30s [default: 10s; compare 2s]
    #[arg(long, value_name = "TIME", value_parser = values::time_over_zero)]
    time: Option<Nanos>,
    /// Warm-up time before each row, not measured, such as 500ms; 0 for none [default: 2s; compare
    /// 500ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    warmup: Option<Nanos>,
    /// End each row after this many commits of each session, such as 5000 or 200k, instead of after
    /// a time [default of storm: 200000]
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_count,
        conflicts_with_all = ["time", "rate"]
    )]
    commits: Option<u64>,
    /// Run for a long time, such as 45m, instead of --time: the run reports its progress at
    /// intervals and keeps at most 1200 intervals
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with_all = ["time", "commits"],
        value_parser = values::soak_time
    )]
    soak: Option<Nanos>,
    /// Redo per transaction in a size-sweep, such as 4k,1M or 1k..16M (doubling) or 512k..2M+64k
    /// (steps of 64k) [default: 1k..16M]
    #[arg(long, value_name = "SIZES", value_parser = SweepSizes::read)]
    sizes: Option<SweepSizes>,
    /// Number of records into which the redo of a transaction is divided [default: 1; size-sweep:
    /// one per 8 kB]
    #[arg(long, value_name = "N")]
    records: Option<u32>,
    /// COMMIT WRITE mode: wait-immediate, wait-batch, nowait-immediate, nowait-batch
    #[arg(long, value_name = "MODE", value_parser = values::commit_write())]
    commit_write: Option<CommitMode>,
    /// Time of CPU work before each commit, such as 50us
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    cpu_per_txn: Nanos,
    /// Seed of the random payload and of the random arrivals
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    sessions: SessionArgs,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    pub(super) safety: SafetyArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) store: StoreArgs,
    #[command(flatten)]
    bound: CutsBoundArgs,
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
    pub(super) fn plan_of_rounds(&self) -> Result<RoundOptions, CommandError> {
        let logs = self.log.plans()?;
        let log = logs.first().map(|(_, log)| log.clone()).unwrap_or_default();
        let measured = self.planned(1, log, false, &Unnamed::ROUND)?;
        let varied = self.log.varied();
        Ok(RoundOptions {
            measured,
            logs,
            varied,
        })
    }

    /// What is measured on so many logs, each with the sessions that are asked for.
    fn plan_on(&self, nodes: u32, events: bool) -> Result<MeasurementPlan, CommandError> {
        self.planned(nodes, self.log.plan()?, events, &Unnamed::RUN)
    }

    fn planned(
        &self,
        nodes: u32,
        log: LogPlan,
        events: bool,
        unnamed: &Unnamed,
    ) -> Result<MeasurementPlan, CommandError> {
        let mut rows = specs(self, unnamed)?;
        for row in &mut rows {
            on_nodes(row, nodes)?;
        }
        let log = LogPlan { nodes, ..log };
        fits::ends(&rows, &log.triggers)?;
        fits::sweep_fits(&rows, &log)?;
        Ok(MeasurementPlan {
            command: command_line(),
            log,
            rows,
            floor: None,
            events,
            max_write_bytes: self.safety.max_write,
            allow_busy: self.safety.allow_busy,
            dry_run: self.safety.dry_run,
            judgement: JudgementPlan {
                thresholds: self.bound.over(String::new()),
                ..JudgementPlan::default()
            },
            notes: RunNotes::default(),
        })
    }
}

pub(crate) fn main(args: &RunArgs, drivers: &[DriverKind]) -> Result<ExitCode, CommandError> {
    let options = &args.options;
    let named = args.place.as_deref().or(args.on.as_deref());
    let path = named.unwrap_or(Path::new("."));
    let nodes = args.nodes.clone().unwrap_or_default();
    if args.null && !nodes.directories.is_empty() {
        return Err(CommandError::usage(
            "--nodes: the null device takes a number of logs",
        ));
    }
    if named.is_some() && !nodes.directories.is_empty() {
        return Err(CommandError::usage(
            "--nodes names the directory of each log; omit PATH, or use a number of logs",
        ));
    }
    let measured = options.plan_on(nodes.count, args.events.events)?;
    if args.null && args.events.events {
        fits::events_fit(&measured.rows)?;
    }
    let plan = ExperimentPlan {
        target: match (args.null, args.places.target().or_else(|| nodes.target())) {
            (true, _) => PlannedTarget::Null,
            (false, Some(places)) => places,
            (false, None) => args.driver.target(&options.safety, path)?,
        },
        measured: MeasurementPlan {
            log: args.places.log(measured.log)?,
            notes: args.notes.notes()?,
            ..measured
        },
    };
    let (output, store) = (&options.output, options.store.open_to_store()?);
    output.check_beside(&store)?;
    let terminal = Terminal::new(output, None)?.agreeing(options.safety.yes);
    let Some(run) = conduct(&plan, &terminal, &store, drivers)? else {
        return Ok(ExitCode::SUCCESS);
    };
    output.emit_stored(&store, &run, |style| {
        overview::text(&run, output.view(), style)
    })?;
    Ok(ended(&run, true))
}

/// Gives `row` its sessions on each of so many logs.
fn on_nodes(row: &mut Spec, nodes: u32) -> Result<(), CommandError> {
    let most = match row.api {
        CommitApi::Sync => ladder::MAX_JOBS,
        CommitApi::Async { .. } => ladder::MAX_ASYNC_JOBS,
    };
    let jobs = row.jobs.saturating_mul(nodes);
    if jobs > most {
        return Err(CommandError::usage(format!(
            "--nodes {nodes}: {} sessions on each are {jobs} together; at most {most} are possible",
            row.jobs
        )));
    }
    if let CommitApi::Async { threads } = row.api
        && !threads.is_multiple_of(nodes)
    {
        return Err(CommandError::usage(format!(
            "--threads {threads}: with --nodes {nodes} the threads of --commit-api async are shared \
             out evenly; use a multiple of {nodes}"
        )));
    }
    row.jobs = jobs;
    Ok(())
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
    let timed = args.time.is_some() || args.soak.is_some() || args.load.rate.is_some();
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
        _ if args.load.rate.is_some() => Ok((vec![OPEN_JOBS], None)),
        _ if args.soak.is_some() => Ok((vec![SOAK_JOBS], None)),
        _ => Ok((unnamed.jobs.to_vec(), args.commits)),
    }
}

fn specs(args: &RunOptions, unnamed: &Unnamed) -> Result<Vec<Spec>, CommandError> {
    let workloads = workloads(args)?;
    let api = args.sessions.api()?;
    let (jobs, commits) = defaults(args, &args.workload.name, unnamed)?;
    let ladder = match &args.jobs {
        Some(ladder) => args.sessions.jobs(ladder)?,
        None => jobs,
    };
    let soak = args.soak;
    let named = soak.or(args.time);
    let time = named.unwrap_or(unnamed.time);
    let (warmup, cpu_per_txn) = (args.warmup.unwrap_or(unnamed.warmup), args.cpu_per_txn);
    let whole = named.is_some() || commits.is_some() || args.load.rate.is_some();
    if commits == Some(0) {
        return Err(CommandError::usage("--time and --commits must be over 0"));
    }
    let (arrivals, payload) = (args.load.arrivals(time)?, args.load.payload());
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
