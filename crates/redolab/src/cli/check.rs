//! `redolab check`: should a redo log live on this device, and why?

use super::common::{
    EventArgs, LogArgs, OutputArgs, SafetyArgs, SessionArgs, StoreArgs, cpus, duration,
};
use super::session::{Bench, Look, begin_events, describe, end_events, finish, keep, lab_overhead};
use super::{CommandError, INCOMPLETE, VERDICT_NO, report};
use crate::experiment::row::Spec;
use crate::experiment::target::{LogTarget, Setup};
use crate::experiment::{Failure, floor, site};
use crate::output::{back_end, sanitize, table, verdict, workers};
use crate::safety::Plan;
use crate::signals;
use crate::store::{RunWriter, Store};
use analysis::thresholds::Thresholds;
use clap::Args;
use device::SyncMethod;
use measure::Nanos;
use measure::judgement::{Answer, Need, Scope, Verdict};
use measure::run::{Run, WorkloadInfo};
use measure::workload::{DEFAULT_JOBS, Workload};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `check`.
#[derive(Debug, Args)]
#[command(after_help = "\
The verdict has two axes, and the answer is the worse of them: does an acknowledged write survive
power loss (durability), and are commits fast and steady enough for the need (performance)?
Without a stated need the performance is given as an envelope.")]
pub(crate) struct CheckArgs {
    /// A directory on the device, where log files are made in a folder of redolab's own and
    /// removed; or a raw block device, which is overwritten and needs --destroy
    #[arg(default_value = ".")]
    path: PathBuf,
    /// A first look in about 20 seconds
    #[arg(long)]
    quick: bool,
    /// The need: commits a second
    #[arg(long, value_name = "N", help_heading = "The need")]
    commit_rate: Option<f64>,
    /// The need: redo a second, such as 80M
    #[arg(long, value_name = "SIZE", help_heading = "The need")]
    redo_rate: Option<String>,
    /// The need: 99th percentile of log file sync, such as 2ms
    #[arg(long, value_name = "TIME", help_heading = "The need")]
    p99: Option<String>,
    /// Exit with 3 for a conditional verdict too
    #[arg(long)]
    strict: bool,
    /// Jobs of each workload, as 1,8,32 or 2..64 [default: 1,2,8,32,64]
    #[arg(long, value_name = "LADDER")]
    jobs: Option<String>,
    /// Measured time of each row [default: 4s; with --quick 1500ms]
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Time before each row that is not measured [default: 1s; with --quick 500ms]
    #[arg(long, value_name = "TIME")]
    warmup: Option<String>,
    /// Where to write the report [default: redolab-RUN.html in the current directory]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write no report
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
    /// Thresholds that override the built-in ones
    #[arg(long, value_name = "FILE")]
    thresholds: Option<PathBuf>,
    #[command(flatten)]
    sessions: SessionArgs,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    safety: SafetyArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    events: EventArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// A row of `check` ends early when it has written this much: long enough to judge, and kind to
/// the medium.
const ROW_BYTES: u64 = 4 << 30;
const QUICK_ROW_BYTES: u64 = 1 << 30;
/// Time of each point of the floor.
const FLOOR_TIME: Nanos = Nanos::from_millis(600);
const QUICK_FLOOR_TIME: Nanos = Nanos::from_millis(200);

pub(crate) fn main(args: &CheckArgs) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let thresholds = thresholds(args)?;
    let need = need(args)?;
    let (setup, method) = args.log.setup()?;
    let specs = specs(args)?;
    let look = Look::at(&args.path, &args.safety)?;
    look.check_setup(&setup, &specs)?;
    let store = args.store.open()?;
    let plan = plan(args, &look, &setup, &specs)?;
    let (go, busy) = look.preflight(&plan, &args.safety, &args.output)?;
    if !go {
        return Ok(ExitCode::SUCCESS);
    }
    let mut run = look.begin();
    run.need = need;
    run.workload = workload_info(&specs, &setup);
    if let Some(busy) = busy {
        run.validity.add("busy_device", false, busy);
    }
    let mut writer = store.begin(&run.run_id)?;
    let mut bench = Bench {
        look: Some(&look),
        plan,
        output: &args.output,
        interrupt: &interrupt,
        written: 0,
    };
    let outcome = experiment(
        args,
        &mut bench,
        (setup, method),
        &specs,
        &mut run,
        &mut writer,
    );
    if let Err(failure) = outcome {
        return Err(keep(failure, &mut run, &writer));
    }
    judge(&mut run, &thresholds, args);
    // A report that cannot be written costs neither the run nor its result.
    let report = write_report(args, &store, &mut run);
    writer.finish(&run)?;
    look.ground.say_what_stays(&args.output, true);
    let verbose = args.output.verbose;
    args.output
        .emit_stored(&store, &run, |style| text(&run, style, verbose))?;
    report?;
    Ok(exit_code(run.verdict.as_ref(), args.strict))
}

fn thresholds(args: &CheckArgs) -> Result<Thresholds, CommandError> {
    let Some(path) = &args.thresholds else {
        return Ok(Thresholds::default());
    };
    let text = std::fs::read_to_string(path)
        .map_err(|e| CommandError::usage(format!("{}: {e}", path.display())))?;
    Thresholds::parse(&text).map_err(|e| CommandError::usage(format!("{}: {e}", path.display())))
}

fn need(args: &CheckArgs) -> Result<Need, CommandError> {
    let rate = args.commit_rate;
    if rate.is_some_and(|r| !r.is_finite() || r <= 0.0) {
        return Err(CommandError::usage(
            "--commit-rate: write a number of commits a second over 0",
        ));
    }
    let redo = match &args.redo_rate {
        None => None,
        Some(text) => Some(
            measure::units::parse_bytes(text.trim_end_matches("/s"))
                .map_err(|e| CommandError::usage(format!("--redo-rate: {e}")))? as f64,
        ),
    };
    if redo == Some(0.0) {
        return Err(CommandError::usage("--redo-rate: must be over 0"));
    }
    let p99 = args
        .p99
        .as_deref()
        .map(|text| duration("p99", text))
        .transpose()?;
    if p99 == Some(Nanos::ZERO) {
        return Err(CommandError::usage("--p99: must be over 0"));
    }
    Ok(Need {
        commit_rate: rate,
        redo_bytes_per_s: redo,
        p99_ns: p99.map(|p| p.0),
    })
}

fn specs(args: &CheckArgs) -> Result<Vec<Spec>, CommandError> {
    let ladder = args
        .jobs
        .as_deref()
        .map(|text| args.sessions.ladder(text))
        .transpose()?;
    let api = args.sessions.api()?;
    let time = duration(
        "time",
        args.time
            .as_deref()
            .unwrap_or(if args.quick { "1500ms" } else { "4s" }),
    )?;
    let warmup = duration(
        "warmup",
        args.warmup
            .as_deref()
            .unwrap_or(if args.quick { "500ms" } else { "1s" }),
    )?;
    if time == Nanos::ZERO {
        return Err(CommandError::usage("--time: must be over 0"));
    }
    let mut specs = Vec::new();
    for workload in Workload::standard() {
        let quick: &[u32] = match workload.name.as_str() {
            "LGWR-LAT1" => &[1, 8, 64],
            "LGWR-THR" => &[2],
            _ => &[8],
        };
        let jobs = match (&ladder, args.quick) {
            (Some(ladder), _) => ladder.clone(),
            (None, true) => quick.to_vec(),
            (None, false) => DEFAULT_JOBS.to_vec(),
        };
        specs.extend(jobs.into_iter().map(|jobs| Spec {
            workload: workload.clone(),
            jobs,
            api,
            time,
            warmup,
            commits: None,
            cpu_per_txn: Nanos::ZERO,
            seed: 1,
            max_redo_bytes: if args.quick {
                QUICK_ROW_BYTES
            } else {
                ROW_BYTES
            },
        }));
    }
    Ok(specs)
}

fn plan(
    args: &CheckArgs,
    look: &Look,
    setup: &Setup,
    specs: &[Spec],
) -> Result<Plan, CommandError> {
    let points = floor::short();
    let fresh = points.iter().filter(|p| !p.pre_written).count() as u64;
    // A raw device has no blocks that are allocated and not written.
    let fresh = if look.ground.is_device() { 0 } else { fresh };
    let files = setup.footprint_bytes() + floor::FILE_BYTES * (1 + fresh);
    let device_bytes = site::device_bytes(floor::FILE_BYTES);
    // A row goes on to the end of a second; the floor writes at most what a fast device takes.
    let rows: u64 = specs.iter().map(|s| s.max_redo_bytes * 3 / 2).sum();
    let max_write_bytes = args.safety.max_write_bytes()?;
    let write_bytes = files + rows + (8 << 30);
    Ok(Plan {
        footprint_bytes: files,
        device_bytes: device_bytes.max(redo::engine::raw::device_bytes(&setup.shape)),
        write_bytes: max_write_bytes.map_or(write_bytes, |max| max.min(write_bytes).max(files)),
        max_write_bytes,
        endurance_bytes: None,
    })
}

fn workload_info(specs: &[Spec], setup: &Setup) -> WorkloadInfo {
    let mut jobs: Vec<u32> = specs.iter().map(|s| s.jobs).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let mut names: Vec<String> = specs.iter().map(|s| s.workload.name.clone()).collect();
    names.dedup();
    WorkloadInfo {
        names,
        jobs,
        time_s: specs.first().map(|s| s.time.as_secs()),
        warmup_s: specs.first().map_or(0.0, |s| s.warmup.as_secs()),
        commits: None,
        cpu_per_txn_us: 0.0,
        log_writer: setup.log_writer.to_string(),
        commit_api: specs.first().map_or("sync", |s| s.api.name()).to_owned(),
        log_file_sync: setup.log_file_sync.name().to_owned(),
        flush_triggers: setup.triggers.to_string(),
        log_writer_cpus: cpus(setup),
        seed: 1,
    }
}

/// Measures floor and rows into `run`.
fn experiment(
    args: &CheckArgs,
    bench: &mut Bench<'_>,
    (mut setup, method): (Setup, Option<SyncMethod>),
    specs: &[Spec],
    run: &mut Run,
    writer: &mut RunWriter,
) -> Result<(), Failure> {
    let (progress, interrupt) = (args.output.progress(), bench.interrupt);
    let look = bench.look.expect("check always has a target");
    run.lab_overhead_ns = Some(lab_overhead(interrupt)?);
    let site = look.ground.site(&args.output)?;
    let points = floor::short();
    let phase = progress.phase("the device's floor", points.len() as u64);
    let time = if args.quick {
        QUICK_FLOOR_TIME
    } else {
        FLOOR_TIME
    };
    let (rows, refused) = floor::measure(&site, &points, time, interrupt, &|done| {
        phase.at(done as u64);
        look.budget(&bench.plan, 0)
    })?;
    phase.done("measured");
    for refusal in refused {
        args.output
            .say(&format!("Not measured: {}", sanitize::line(&refusal)));
    }
    setup.sync_method = method
        .or_else(|| floor::best(&rows))
        .unwrap_or(SyncMethod::Buffered);
    run.floor = rows;
    let phase = progress.phase("log files", setup.footprint_bytes());
    let cancel = || interrupt.requested();
    let (target, folder) = LogTarget::on(site, setup, &|done, _| phase.at(done), &cancel)?;
    phase.done("written");
    describe(run, &target);
    bench.written = bench.plan.footprint_bytes;
    if args.events.events {
        begin_events(&target, writer)?;
    }
    bench.rows(run, &target, specs, Some(writer))?;
    end_events(&target, writer, run)?;
    finish(target, folder)
}

fn judge(run: &mut Run, thresholds: &Thresholds, args: &CheckArgs) {
    run.findings = analysis::findings::findings(run, thresholds);
    // Every view of the run says so, not the verdict alone.
    if let Some(found) = run.findings.iter().find(|f| f.id == "validity.little") {
        run.validity.add("littles_law", false, found.claim.clone());
    }
    let mut not_judged = Vec::new();
    if args.quick {
        not_judged.push("most numbers of jobs, and steadiness beyond seconds (--quick)".to_owned());
    }
    let scope = Scope {
        seconds: run.rows.iter().map(|r| r.elapsed_s).sum(),
        bytes_written: run
            .rows
            .iter()
            .map(|r| r.redo_size_bytes + r.redo_wastage_bytes)
            .sum(),
        log_footprint_bytes: run.target.log_file_bytes * u64::from(run.target.log_groups),
        cache_resident: analysis::findings::cache_resident(run, thresholds),
        not_judged,
    };
    run.verdict = Some(analysis::verdict::verdict(
        run,
        &run.findings,
        &run.need,
        scope,
    ));
}

fn write_report(args: &CheckArgs, store: &Store, run: &mut Run) -> Result<(), CommandError> {
    if args.no_report {
        return Ok(());
    }
    let path = args
        .report
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("redolab-{}.html", run.run_id)));
    run.report = Some(path.display().to_string());
    std::fs::write(&path, report::html(store, run)).map_err(|e| {
        run.report = None;
        CommandError::failed(format!("{}: writing the report: {e}", path.display()))
    })
}

fn text(run: &Run, style: table::Style, verbose: bool) -> String {
    let mut out = table::rows(run, style);
    out.push('\n');
    if let Some(workers) = workers::workers(run, style) {
        out.push_str(&format!("{workers}\n"));
    }
    out.push_str(&table::floor_below(run, style));
    out.push_str(&back_end::text(run, style));
    if let Some(verdict) = &run.verdict {
        out.push('\n');
        out.push_str(&verdict::text(verdict, style, verbose));
    }
    if let Some(report) = &run.report {
        out.push_str(&format!("\nReport: {}\n", sanitize::line(report)));
    }
    out.push_str(&format!(
        "Run:    {} (redolab runs show {})\n",
        run.run_id, run.run_id
    ));
    out
}

fn exit_code(verdict: Option<&Verdict>, strict: bool) -> ExitCode {
    match verdict.map(|v| v.answer) {
        Some(Answer::Yes) => ExitCode::SUCCESS,
        Some(Answer::Conditional) if strict => ExitCode::from(VERDICT_NO),
        Some(Answer::Conditional) => ExitCode::SUCCESS,
        Some(Answer::No) => ExitCode::from(VERDICT_NO),
        Some(Answer::Undetermined) | None => ExitCode::from(INCOMPLETE),
    }
}
