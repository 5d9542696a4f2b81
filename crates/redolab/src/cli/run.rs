//! `redolab run`: one workload on one target.

use super::CommandError;
use super::common::{
    EventArgs, LogArgs, OutputArgs, SafetyArgs, SessionArgs, StoreArgs, cpus, duration,
};
use super::session::{
    Bench, Look, begin, begin_events, describe, end_events, finish, keep, lab_overhead,
};
use crate::experiment::Failure;
use crate::experiment::row::Spec;
use crate::experiment::target::{LogTarget, Setup};
use crate::output::{back_end, table, workers};
use crate::safety::Plan;
use crate::signals;
use crate::store::RunWriter;
use clap::Args;
use measure::Nanos;
use measure::run::{Row, Run, WorkloadInfo};
use measure::stack::Stack;
use measure::workload::{CommitMode, CommitPost, CommitWait, DEFAULT_JOBS, Workload};
use redo::Triggers;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Workloads (study 003): LGWR-LAT1 (1.95 kB of redo a transaction), LGWR-LAT25 (26.3 kB),
LGWR-LAT125 (124 kB), all COMMIT WRITE WAIT IMMEDIATE, and LGWR-THR (486 kB, NOWAIT BATCH).")]
pub(crate) struct RunArgs {
    /// A directory on the device, or a raw block device (which needs --destroy)
    #[arg(long = "on", value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// Run on the null device: what the lab itself costs
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
    /// LGWR-LAT1, LGWR-LAT25, LGWR-LAT125 or LGWR-THR
    #[arg(short, long, value_name = "NAME", default_value = "LGWR-LAT1")]
    workload: String,
    /// Jobs, as 1,8,32 or 2..64 (doubling) or 2..64+2 [default: 1,2,8,32,64]
    #[arg(short, long, value_name = "LADDER")]
    jobs: Option<String>,
    /// Measured time of each row
    #[arg(long, value_name = "TIME", default_value = "10s")]
    time: String,
    /// Time before each row that is not measured
    #[arg(long, value_name = "TIME", default_value = "2s")]
    warmup: String,
    /// Commits of each session, instead of a time
    #[arg(long, value_name = "N", conflicts_with = "time")]
    commits: Option<u64>,
    /// Records that a transaction's redo is divided into
    #[arg(long, value_name = "N", default_value = "1")]
    records: u32,
    /// COMMIT WRITE mode: wait-immediate, wait-batch, nowait-immediate, nowait-batch
    #[arg(long, value_name = "MODE")]
    commit_write: Option<String>,
    /// CPU work before each commit, such as 50us
    #[arg(long, value_name = "TIME", default_value = "0")]
    cpu_per_txn: String,
    /// Seed of the payload
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
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

impl RunOptions {
    /// Rows, set-up of the log, and what `times` runs of all rows would write.
    pub(super) fn plan(&self, times: u32) -> Result<(Vec<Spec>, Setup, Plan), CommandError> {
        let specs = specs(self)?;
        let (mut setup, method) = self.log.setup()?;
        ends(&specs, &setup.triggers)?;
        setup.sync_method = method.unwrap_or(setup.sync_method);
        setup.probe = method.is_none();
        let max_write_bytes = self.safety.max_write_bytes()?;
        let (footprint, expected) = (
            setup.footprint_bytes(),
            expected_bytes(&specs, &setup, times),
        );
        let plan = Plan {
            footprint_bytes: footprint,
            device_bytes: redo::engine::raw::device_bytes(&setup.shape),
            // The log files are written whole before anything can stop.
            write_bytes: max_write_bytes.map_or(expected, |max| max.min(expected).max(footprint)),
            max_write_bytes,
            endurance_bytes: None,
        };
        Ok((specs, setup, plan))
    }
}

pub(crate) fn main(args: &RunArgs) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let (path, null, events) = (&args.path, args.null, args.events.events);
    let args = &args.options;
    let (specs, setup, plan) = args.plan(1)?;
    let look = if null {
        None
    } else {
        let look = Look::at(path, &args.safety)?;
        look.check_setup(&setup, &specs)?;
        Some(look)
    };
    if null && args.safety.dry_run {
        args.output
            .say("Dry run: the null device takes no writes, and nothing was run.");
        return Ok(ExitCode::SUCCESS);
    }
    let store = args.store.open()?;
    let mut busy = None;
    if let Some(look) = &look {
        let (go, warning) = look.preflight(&plan, &args.safety, &args.output)?;
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
    run.workload = workload_info(args, &specs, &setup);
    let mut bench = Bench {
        look: look.as_ref(),
        plan,
        output: &args.output,
        interrupt: &interrupt,
        written: 0,
    };
    let mut writer = store.begin(&run.run_id)?;
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
    if bench.look.is_some() {
        bench.written = setup.footprint_bytes();
    }
    if events {
        begin_events(&target, writer)?;
    }
    bench.rows(run, &target, specs, Some(writer))?;
    end_events(&target, writer, run)?;
    finish(target, folder)
}

/// A guess for the announcement: as fast as fast devices are.
fn expected_bytes(specs: &[Spec], setup: &Setup, times: u32) -> u64 {
    const FAST_BYTES_PER_S: f64 = 2e9;
    let rows: f64 = specs
        .iter()
        .map(|s| match s.commits {
            Some(n) => n as f64 * f64::from(s.jobs) * f64::from(s.workload.redo_bytes) * 2.1,
            None => (s.time.as_secs() + s.warmup.as_secs()) * FAST_BYTES_PER_S,
        })
        .sum();
    let rows = rows * f64::from(times);
    setup.footprint_bytes().saturating_add(rows as u64)
}

fn workload(args: &RunOptions) -> Result<Workload, CommandError> {
    let mut workload = Workload::by_name(&args.workload).ok_or_else(|| {
        let names: Vec<String> = Workload::standard().into_iter().map(|w| w.name).collect();
        CommandError::usage(format!(
            "--workload: no `{}`; use {}",
            args.workload,
            names.join(", ")
        ))
    })?;
    if args.records == 0 || args.records > workload.redo_bytes / 32 {
        return Err(CommandError::usage(format!(
            "--records: {} bytes of redo can be divided into 1 to {} records",
            workload.redo_bytes,
            workload.redo_bytes / 32
        )));
    }
    workload.records = args.records;
    if let Some(mode) = &args.commit_write {
        workload.commit = commit_mode(mode)?;
    }
    Ok(workload)
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

fn specs(args: &RunOptions) -> Result<Vec<Spec>, CommandError> {
    let workload = workload(args)?;
    let api = args.sessions.api()?;
    let ladder = match &args.jobs {
        Some(text) => args.sessions.ladder(text)?,
        None => DEFAULT_JOBS.to_vec(),
    };
    let time = duration("time", &args.time)?;
    let warmup = duration("warmup", &args.warmup)?;
    let cpu_per_txn = duration("cpu-per-txn", &args.cpu_per_txn)?;
    if time == Nanos::ZERO || args.commits == Some(0) {
        return Err(CommandError::usage("--time and --commits must be over 0"));
    }
    Ok(ladder
        .into_iter()
        .map(|jobs| Spec {
            workload: workload.clone(),
            jobs,
            api,
            time,
            warmup: if args.commits.is_some() {
                Nanos::ZERO
            } else {
                warmup
            },
            commits: args.commits,
            cpu_per_txn,
            seed: args.seed,
            max_redo_bytes: u64::MAX,
        })
        .collect())
}

/// Refuses sessions that would wait for ever: each has commits to make, and nothing has the last
/// ones written.
fn ends(specs: &[Spec], triggers: &Triggers) -> Result<(), CommandError> {
    let Some(spec) = specs.iter().find(|s| s.commits.is_some()) else {
        return Ok(());
    };
    let mode = spec.workload.commit;
    let posts = triggers.commit && mode.post == CommitPost::Immediate;
    if mode.wait == CommitWait::Nowait || posts || triggers.period.is_some() {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "--commits with --flush-triggers {triggers} would never end: commits WAIT, and nothing has \
         the last ones written; add a time such as 3s to --flush-triggers (with IMMEDIATE commits, \
         commit does too), or use --time"
    )))
}

/// A row without commits is no measurement: its zeros are not short waits.
pub(super) fn doubt_zeros(run: &mut Run) {
    for row in run.rows.iter().filter(|row| row.commits == 0) {
        let nothing = nothing_measured(row);
        run.validity.add("no_commits", true, nothing);
    }
}

fn nothing_measured(row: &Row) -> String {
    format!(
        "{} with {}: no transaction began in the measured time, since every session waited for an \
         earlier one (for a flush trigger that came late or never, or for a device that stood \
         still); measure longer (--time), or look at --commit-write and --flush-triggers",
        row.workload,
        analysis::format::jobs(row.jobs)
    )
}

pub(super) fn workload_info(args: &RunOptions, specs: &[Spec], setup: &Setup) -> WorkloadInfo {
    let first = specs.first();
    WorkloadInfo {
        names: first.map(|s| s.workload.name.clone()).into_iter().collect(),
        jobs: specs.iter().map(|s| s.jobs).collect(),
        time_s: first
            .filter(|s| s.commits.is_none())
            .map(|s| s.time.as_secs()),
        warmup_s: first.map_or(0.0, |s| s.warmup.as_secs()),
        commits: args.commits,
        cpu_per_txn_us: first.map_or(0.0, |s| s.cpu_per_txn.0 as f64 / 1e3),
        log_writer: setup.log_writer.to_string(),
        commit_api: first.map_or("sync", |s| s.api.name()).to_owned(),
        log_file_sync: setup.log_file_sync.name().to_owned(),
        flush_triggers: setup.triggers.to_string(),
        log_writer_cpus: cpus(setup),
        seed: args.seed,
    }
}
