//! `redolab run`: one workload on one target.

use super::CommandError;
use super::common::{
    EventArgs, LogArgs, OutputArgs, SafetyArgs, SessionArgs, StoreArgs, cpus, duration,
};
use super::limits::{self, Limits, Wanted};
use super::loads::{self, LoadArgs, OPEN_JOBS, SOAK_JOBS, soak_time};
use super::session::{
    Bench, Look, begin, begin_events, describe, end_events, finish, keep, lab_overhead,
};
use crate::experiment::row::Spec;
use crate::experiment::target::{LogTarget, Setup};
use crate::experiment::{Failure, payload};
use crate::output::{back_end, table, workers};
use crate::safety::Plan;
use crate::signals;
use crate::store::RunWriter;
use clap::Args;
use device::SyncMethod;
use measure::Nanos;
use measure::run::{Row, Run, WorkloadInfo};
use measure::stack::Stack;
use measure::units::parse_count;
use measure::workload::{
    CommitMode, CommitPost, CommitWait, DEFAULT_JOBS, SIZE_SWEEP, STORM, STORM_COMMITS, STORM_JOBS,
    Workload, sizes,
};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Workloads (study 003): LGWR-LAT1 (1.95 kB of redo a transaction), LGWR-LAT25 (26.3 kB),
LGWR-LAT125 (124 kB), all COMMIT WRITE WAIT IMMEDIATE, and LGWR-THR (486 kB, NOWAIT BATCH).
storm (study 004): 20 sessions with 200,000 commits each, of LGWR-LAT1's redo.
size-sweep (study 002): redo before the commit from 1 kB to 16 MB (--sizes), in records of 8 kB,
across the flush threshold of 1 MB; nothing is archived, and there is no flash log.

Closed loops, unless --rate makes one open: then latencies count from when each commit was due.

  redolab run --workload storm --jobs 20 --commits 200000
  redolab run --workload size-sweep --sizes 512k..2M+64k --jobs 1,8
  redolab run --rate 5000 --arrivals poisson --burst 500@1s --jobs 64
  redolab run --soak 45m --max-write 2T")]
pub(crate) struct RunArgs {
    /// A directory on the device, or a raw block device (which needs --destroy)
    #[arg(long = "on", value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// Run on the null device, to measure redolab's own overhead
    #[arg(long, conflicts_with_all = ["path", "destroy"])]
    null: bool,
    #[command(flatten)]
    events: EventArgs,
    #[command(flatten)]
    options: RunOptions,
}

/// What is run, and how; where is for others to say.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// LGWR-LAT1, LGWR-LAT25, LGWR-LAT125, LGWR-THR, storm or size-sweep
    #[arg(short, long, value_name = "NAME", default_value = "LGWR-LAT1")]
    workload: String,
    /// Jobs, as 1,8,32 or 2..64 (doubling) or 2..64+2 [default: 1,2,8,32,64; storm 20, size-sweep
    /// 1, --rate 32, --soak 8]
    #[arg(short, long, value_name = "LADDER")]
    jobs: Option<String>,
    /// Measured time of each row, such as 30s [default: 10s]
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Time before each row that is not measured, such as 500ms; 0 for none
    #[arg(long, value_name = "TIME", default_value = "2s")]
    warmup: String,
    /// Commits of each session, such as 5000 or 200k, instead of a time [default of storm: 200000]
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_count,
        conflicts_with_all = ["time", "rate"]
    )]
    commits: Option<u64>,
    /// A long run, such as 45m, in place of --time: prints progress every minute and keeps at most
    /// 1200 intervals
    #[arg(long, value_name = "TIME", conflicts_with_all = ["time", "commits"])]
    soak: Option<String>,
    /// Redo per transaction in a size-sweep, as 4k,1M or 1k..16M (doubling) or 512k..2M+64k
    /// [default: 1k..16M]
    #[arg(long, value_name = "SIZES")]
    sizes: Option<String>,
    /// Records that a transaction's redo is divided into [default: 1; size-sweep: each 8 kB]
    #[arg(long, value_name = "N")]
    records: Option<u32>,
    /// COMMIT WRITE mode: wait-immediate, wait-batch, nowait-immediate, nowait-batch
    #[arg(long, value_name = "MODE")]
    commit_write: Option<String>,
    /// CPU work before each commit, such as 50us
    #[arg(long, value_name = "TIME", default_value = "0")]
    cpu_per_txn: String,
    /// Seed of the payload and of the arrivals
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
}

/// Where rows are run, and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct On {
    /// Targets; none for the null device, to which nothing is written.
    pub(super) targets: u64,
    /// Runs on each.
    pub(super) rounds: u32,
    /// One of them is a raw device.
    pub(super) raw: bool,
    /// Every event is stored.
    pub(super) events: bool,
}

/// What will be run.
pub(super) struct Planned {
    pub(super) specs: Vec<Spec>,
    pub(super) setup: Setup,
    pub(super) plan: Plan,
    pub(super) limits: Limits,
}

/// Rows of a run at most: more is a typing error.
const MAX_ROWS: usize = 1024;

impl RunOptions {
    /// Rows, set-up of the log, what all runs of all rows would write, and what of it they may.
    pub(super) fn plan(&self, on: On) -> Result<Planned, CommandError> {
        let specs = specs(self)?;
        let (mut setup, method) = self.log.setup()?;
        loads::ends(&specs, &setup.triggers)?;
        loads::sweep_fits(&specs, &setup)?;
        setup.sync_method = method.unwrap_or(setup.sync_method);
        setup.probe = method.is_none();
        let max_write_bytes = self.safety.max_write_bytes()?;
        let expected = expected_bytes(&specs, &setup, on.rounds);
        let plan = Plan {
            footprint_bytes: setup.footprint_bytes(),
            device_bytes: redo::engine::raw::device_bytes(&setup.shape),
            write_bytes: max_write_bytes.map_or(expected, |max| max.min(expected)),
            max_write_bytes,
            endurance_bytes: None,
        };
        let limits = limits::plan(&Wanted {
            limit: max_write_bytes.filter(|_| on.targets > 0),
            specs: &specs,
            setup: &setup,
            method,
            logs: on.targets,
            times: on.targets * u64::from(on.rounds),
            floor_files: None,
            raw: on.raw,
            events: on.events,
        })?;
        if limits.direct_only {
            setup.sync_method = SyncMethod::Direct;
            setup.probe = false;
        }
        setup.budget = Arc::clone(&limits.budget);
        setup.making_bytes = limits.making / on.targets.max(1);
        let _ = self.output.budget.set(Arc::clone(&limits.budget));
        Ok(Planned {
            specs,
            setup,
            plan,
            limits,
        })
    }

    /// Says what would be run, for a dry run.
    pub(super) fn announce(&self, specs: &[Spec]) {
        if self.safety.dry_run {
            self.output.say("Would run:");
            for line in loads::announced(specs) {
                self.output.say(&line);
            }
        }
    }
}

pub(crate) fn main(args: &RunArgs) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let (path, null, events) = (&args.path, args.null, args.events.events);
    let args = &args.options;
    // What is wrong with the options is said before a device is looked at.
    let on = |targets, raw| On {
        targets,
        rounds: 1,
        raw,
        events,
    };
    let mut planned = args.plan(on(u64::from(!null), false))?;
    let look = if null {
        None
    } else {
        let look = Look::at(path, &args.safety)?;
        look.check_setup(&planned.setup, &planned.specs)?;
        if look.ground.is_device() {
            planned = args.plan(on(1, true))?;
        }
        Some(look)
    };
    let (specs, setup) = (planned.specs, planned.setup);
    let (plan, limits) = (planned.plan, planned.limits);
    args.announce(&specs);
    if null && args.safety.dry_run {
        args.output
            .say("Dry run: the null device takes no writes, and nothing was run.");
        return Ok(ExitCode::SUCCESS);
    }
    let store = args.store.open()?;
    args.output.check_beside(&store)?;
    let mut busy = None;
    if let Some(look) = &look {
        let (go, warning) = look.preflight(&plan, &limits, &args.safety, &args.output)?;
        if !go {
            return Ok(ExitCode::SUCCESS);
        }
        busy = warning;
    }
    let mut run = match &look {
        Some(look) => look.begin(),
        None => begin(Path::new("null"), "null", Stack::default()),
    };
    if let Some(busy) = busy {
        run.validity.add("busy_device", false, busy);
    }
    run.workload = workload_info(&specs, &setup);
    let mut bench = Bench {
        look: look.as_ref(),
        limits: &limits,
        setup: &setup,
        output: &args.output,
        interrupt: &interrupt,
    };
    let mut writer = store.begin(&run.run_id)?.within(&limits.budget);
    if let Err(failure) = measure(events, &mut bench, (&setup, &specs), &mut run, &mut writer) {
        return Err(keep(failure, &mut run, &writer));
    }
    doubt_zeros(&mut run);
    writer.finish(&run)?;
    if let Some(look) = &look {
        look.ground.say_what_stays(&args.output, true);
    }
    args.output
        .emit_stored(&store, &run, |style| text(&run, style))?;
    Ok(ExitCode::SUCCESS)
}

/// The tables of a run.
fn text(run: &Run, style: table::Style) -> String {
    let mut text = format!("{}\n{}", table::rows(run, style), table::waits(run, style));
    if let Some(workers) = workers::workers(run, style) {
        text.push_str(&format!("\n{workers}"));
    }
    text.push_str(&back_end::text(run, style));
    text
}

/// Makes the log, runs the rows into `run` and removes the log again.
fn measure(
    events: bool,
    bench: &mut Bench<'_>,
    (setup, specs): (&Setup, &[Spec]),
    run: &mut Run,
    writer: &mut RunWriter,
) -> Result<(), Failure> {
    let interrupt = bench.interrupt;
    run.lab_overhead_ns = Some(lab_overhead(interrupt)?);
    let site = bench.look.map(|look| look.ground.site(bench.output));
    let progress = bench.output.progress();
    let phase = progress.phase("log files", setup.footprint_bytes());
    let cancel = || interrupt.requested();
    let (target, folder) = match site.transpose()? {
        Some(site) => LogTarget::on(site, setup.clone(), &|done, _| phase.at(done), &cancel)?,
        None => (LogTarget::null(setup.clone())?, None),
    };
    phase.done("ready");
    describe(run, &target);
    let block_bytes = run.target.redo_block_bytes;
    run.workload.size_sweep = loads::size_sweep(specs, setup, block_bytes);
    if events {
        begin_events(&target, writer)?;
    }
    bench.rows(run, &target, specs, Some(writer))?;
    end_events(&target, writer, run)?;
    finish(target, folder)
}

/// A guess for the announcement.
fn expected_bytes(specs: &[Spec], setup: &Setup, times: u32) -> u64 {
    let rows = specs.iter().map(loads::expected_bytes);
    let once = rows.fold(0, u64::saturating_add);
    setup
        .footprint_bytes()
        .saturating_add(once.saturating_mul(u64::from(times)))
}

/// The workloads that the options name: one, or a sweep's points.
fn workloads(args: &RunOptions) -> Result<Vec<Workload>, CommandError> {
    let named = Workload::by_name(&args.workload).ok_or_else(|| {
        CommandError::usage(format!(
            "--workload: no `{}`; use {}",
            args.workload,
            Workload::names().join(", ")
        ))
    })?;
    let mut all = match (named.name.as_str(), &args.sizes) {
        (SIZE_SWEEP, text) => sizes::parse(text.as_deref().unwrap_or(sizes::DEFAULT))
            .map_err(|e| CommandError::usage(format!("--sizes: {e}")))?
            .into_iter()
            .map(Workload::size_sweep)
            .collect(),
        (other, Some(_)) => {
            return Err(CommandError::usage(format!(
                "--sizes: the redo of {other} is fixed; use --workload {SIZE_SWEEP}"
            )));
        }
        (_, None) => vec![named],
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
        if let Some(mode) = &args.commit_write {
            workload.commit = commit_mode(mode)?;
        }
    }
    Ok(all)
}

fn commit_mode(text: &str) -> Result<CommitMode, CommandError> {
    let (wait, post) = match text.to_ascii_lowercase().as_str() {
        "wait-immediate" => (CommitWait::Wait, CommitPost::Immediate),
        "wait-batch" => (CommitWait::Wait, CommitPost::Batch),
        "nowait-immediate" => (CommitWait::Nowait, CommitPost::Immediate),
        "nowait-batch" => (CommitWait::Nowait, CommitPost::Batch),
        other => {
            return Err(CommandError::usage(format!(
                "--commit-write: no `{other}`; use wait-immediate, wait-batch, nowait-immediate or \
                 nowait-batch"
            )));
        }
    };
    Ok(CommitMode { wait, post })
}

/// Jobs, and commits of each session, when none are named.
fn defaults(args: &RunOptions, workload: &str) -> Result<(Vec<u32>, Option<u64>), CommandError> {
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
        _ => Ok((DEFAULT_JOBS.to_vec(), args.commits)),
    }
}

fn specs(args: &RunOptions) -> Result<Vec<Spec>, CommandError> {
    let workloads = workloads(args)?;
    let api = args.sessions.api()?;
    let name = workloads.first().map_or("", |w| w.name.as_str());
    let (jobs, commits) = defaults(args, name)?;
    let ladder = match &args.jobs {
        Some(text) => args.sessions.ladder(text)?,
        None => jobs,
    };
    let soak = args.soak.as_deref().map(soak_time).transpose()?;
    let time = match soak {
        Some(time) => time,
        None => duration("time", args.time.as_deref().unwrap_or("10s"))?,
    };
    let warmup = duration("warmup", &args.warmup)?;
    let cpu_per_txn = duration("cpu-per-txn", &args.cpu_per_txn)?;
    if time == Nanos::ZERO || commits == Some(0) {
        return Err(CommandError::usage("--time and --commits must be over 0"));
    }
    let (arrivals, payload) = (args.load.arrivals(time)?, args.load.payload()?);
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

/// A row without commits is no measurement: its zeros are not short waits.
pub(super) fn doubt_zeros(run: &mut Run) {
    for row in run.rows.iter().filter(|row| row.commits == 0) {
        let nothing = nothing_measured(row);
        run.validity.add("no_commits", true, nothing);
    }
}

fn nothing_measured(row: &Row) -> String {
    if row.open_loop.is_some() {
        return format!(
            "{} with {}: every transaction that returned was due before the measured time: {} were \
             waiting at its end; offer less (--rate), or more sessions (--jobs)",
            row.workload,
            analysis::format::jobs(row.jobs),
            row.backlog_end.unwrap_or(0)
        );
    }
    format!(
        "{} with {}: no transaction began in the measured time, since every session waited for an \
         earlier one (for a flush trigger that came late or never, or for a device that stood \
         still); measure longer (--time), or look at --commit-write and --flush-triggers",
        row.workload,
        analysis::format::jobs(row.jobs)
    )
}

/// The jobs of the rows, each once, in order.
fn jobs(specs: &[Spec]) -> Vec<u32> {
    let mut seen = std::collections::HashSet::new();
    let first = specs
        .iter()
        .map(|s| s.jobs)
        .filter(|jobs| seen.insert(*jobs));
    first.collect()
}

pub(super) fn workload_info(specs: &[Spec], setup: &Setup) -> WorkloadInfo {
    let first = specs.first();
    WorkloadInfo {
        names: first.map(|s| s.workload.name.clone()).into_iter().collect(),
        jobs: jobs(specs),
        time_s: first
            .filter(|s| s.commits.is_none())
            .map(|s| s.time.as_secs()),
        warmup_s: first.map_or(0.0, |s| s.warmup.as_secs()),
        commits: first.and_then(|s| s.commits),
        cpu_per_txn_us: first.map_or(0.0, |s| s.cpu_per_txn.0 as f64 / 1e3),
        log_writer: setup.log_writer.to_string(),
        commit_api: first.map_or("sync", |s| s.api.name()).to_owned(),
        log_file_sync: setup.log_file_sync.name().to_owned(),
        flush_triggers: setup.triggers.to_string(),
        log_writer_cpus: cpus(setup),
        seed: first.map_or(1, |s| s.seed),
        arrivals: first.and_then(|s| s.arrivals),
        soak_s: first.filter(|s| s.soak).map(|s| s.time.as_secs()),
        payload: first.map(payload::measured),
        size_sweep: None,
    }
}
