//! `redolab check`: should a redo log live on this device, and why?

use super::common::{EventArgs, LogArgs, OutputArgs, SafetyArgs, SessionArgs, StoreArgs, duration};
use super::judge;
use super::limits::{self, Limits, Wanted};
use super::loads::{self, LoadArgs, OPEN_JOBS, SOAK_JOBS, soak_time};
use super::need::NeedArgs;
use super::session::{Bench, Look, begin_events, describe, end_events, finish, keep, lab_overhead};
use super::{CommandError, INCOMPLETE, VERDICT_NO};
use crate::experiment::floor::Allowed;
use crate::experiment::row::Spec;
use crate::experiment::target::{LogTarget, Setup};
use crate::experiment::{Failure, floor, payload, site};
use crate::output::{back_end, sanitize, table, verdict, workers};
use crate::safety::Plan;
use crate::signals;
use crate::store::{RunWriter, Store};
use analysis::thresholds::Thresholds;
use clap::Args;
use device::SyncMethod;
use measure::Nanos;
use measure::judgement::{Answer, Verdict};
use measure::run::{RedoWorkload, Run, WorkloadInfo};
use measure::workload::{DEFAULT_JOBS, Workload};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

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
    /// A long run after the others, such as 45m: steady state, decay, caps. LGWR-LAT1 with 8 jobs,
    /// or with --rate an open loop; only --max-write bounds what it writes
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    soak: Option<String>,
    #[command(flatten)]
    load: LoadArgs,
    /// Where to write the report [default: redolab-RUN.html in the current directory]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write no report
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
    #[command(flatten)]
    need: NeedArgs,
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
/// Name of the long row.
const SOAK: &str = "soak";
/// Time of each point of the floor.
const FLOOR_TIME: Nanos = Nanos::from_millis(600);
const QUICK_FLOOR_TIME: Nanos = Nanos::from_millis(200);

pub(crate) fn main(args: &CheckArgs) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let thresholds = args.need.thresholds()?;
    let need = args.need.need()?;
    let declared = args.need.declared()?;
    let (mut setup, method) = args.log.setup()?;
    let specs = specs(args)?;
    args.safety.max_write_bytes()?;
    args.need.rated_bytes()?;
    let mut look = Look::at(&args.path, &args.safety)?;
    look.stack.declared = declared;
    look.check_setup(&setup, &specs)?;
    let store = args.store.open()?;
    args.need.spared(&args.output);
    args.output.check_beside(&store)?;
    args.output
        .check_report(report_path(args, "RUN").as_deref())?;
    let plan = plan(args, &look, &setup, &specs)?;
    let limits = limits(args, &look, (&setup, method), &specs)?;
    let (go, busy) = look.preflight(&plan, &limits, &args.safety, &args.output)?;
    if !go {
        return Ok(ExitCode::SUCCESS);
    }
    setup.budget = Arc::clone(&limits.budget);
    setup.making_bytes = limits.making;
    let mut run = look.begin();
    run.need = need;
    run.workload = workload_info(&specs);
    if let Some(busy) = busy {
        run.validity.add("busy_device", false, busy);
    }
    let mut writer = store.begin(&run.run_id)?.within(&limits.budget);
    let mut bench = Bench {
        look: Some(&look),
        limits: &limits,
        setup: &setup,
        output: &args.output,
        interrupt: &interrupt,
    };
    let outcome = experiment(
        args,
        &mut bench,
        (setup.clone(), method),
        &specs,
        &mut run,
        &mut writer,
    );
    if let Err(failure) = outcome {
        return Err(failed(
            args,
            &store,
            failure,
            &thresholds,
            &mut run,
            (&writer, &limits),
        ));
    }
    judge::judge(&mut run, &thresholds, not_judged(args, &limits));
    // A report that cannot be written costs neither the run nor its result.
    let report = write_report(args, &store, &mut run, &limits);
    writer.finish(&run)?;
    look.ground.say_what_stays(&args.output, true);
    let verbose = args.output.verbose;
    args.output
        .emit_stored(&store, &run, |style| text(&run, style, verbose))?;
    report?;
    Ok(exit_code(run.verdict.as_ref(), args.strict))
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
    let payload = args.load.payload()?;
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
            api,
            max_redo_bytes: if args.quick {
                QUICK_ROW_BYTES
            } else {
                ROW_BYTES
            },
            payload,
            ..Spec::closed(workload.clone(), jobs, time, warmup)
        }));
    }
    specs.extend(soak(args, warmup)?.map(|spec| Spec {
        api,
        payload,
        ..spec
    }));
    Ok(specs)
}

/// The long row, if one was asked for. It has a name of its own: its sessions and its rate are not
/// those of the ladder.
fn soak(args: &CheckArgs, warmup: Nanos) -> Result<Option<Spec>, CommandError> {
    let Some(text) = &args.soak else {
        return match args.load.rate {
            None => Ok(None),
            Some(_) => Err(CommandError::usage(
                "--rate: check measures how much the device can do, in closed loops; use --rate \
                 with --soak, or with redolab run",
            )),
        };
    };
    let time = soak_time(text)?;
    let arrivals = args.load.arrivals(time)?;
    let jobs = arrivals.map_or(SOAK_JOBS, |_| OPEN_JOBS);
    let workload = Workload {
        name: SOAK.to_owned(),
        ..Workload::standard().swap_remove(0)
    };
    Ok(Some(Spec {
        arrivals,
        soak: true,
        ..Spec::closed(workload, jobs, time, warmup)
    }))
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
    let most = |s: &Spec| match s.soak {
        true => loads::expected_bytes(s),
        false => s.max_redo_bytes * 3 / 2,
    };
    let rows = specs.iter().map(most).fold(0, u64::saturating_add);
    let max_write_bytes = args.safety.max_write_bytes()?;
    let write_bytes = rows.saturating_add(files + (8 << 30));
    Ok(Plan {
        footprint_bytes: files,
        device_bytes: device_bytes.max(redo::engine::raw::device_bytes(&setup.shape)),
        write_bytes: max_write_bytes.map_or(write_bytes, |max| max.min(write_bytes)),
        max_write_bytes,
        endurance_bytes: args.need.rated_bytes()?,
    })
}

/// What `--max-write` allows.
fn limits(
    args: &CheckArgs,
    look: &Look,
    (setup, method): (&Setup, Option<SyncMethod>),
    specs: &[Spec],
) -> Result<Limits, CommandError> {
    let limits = limits::plan(&Wanted {
        limit: args.safety.max_write_bytes()?,
        specs,
        setup,
        method,
        logs: 1,
        times: 1,
        floor_files: Some(floor::FILE_BYTES),
        raw: look.ground.is_device(),
        events: args.events.events,
    })?;
    let _ = args.output.budget.set(Arc::clone(&limits.budget));
    Ok(limits)
}

fn workload_info(specs: &[Spec]) -> WorkloadInfo {
    let soak = specs.iter().find(|s| s.soak);
    let mut jobs: Vec<u32> = specs.iter().map(|s| s.jobs).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let mut names: Vec<String> = specs.iter().map(|s| s.workload.name.clone()).collect();
    names.dedup();
    WorkloadInfo::Redo(RedoWorkload {
        names,
        jobs,
        time_s: specs.first().map(|s| s.time.as_secs()),
        warmup_s: specs.first().map_or(0.0, |s| s.warmup.as_secs()),
        commits: None,
        cpu_per_txn_us: 0.0,
        commit_write: loads::commit_write(specs),
        commit_api: specs.first().map(|s| s.api.name().to_owned()),
        seed: 1,
        arrivals: soak.and_then(|s| s.arrivals),
        soak_s: soak.map(|s| s.time.as_secs()),
        payload: specs.first().map(payload::measured),
        size_sweep: None,
    })
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
    let allowed = Allowed {
        budget: &bench.limits.budget,
        ends_at: bench.limits.floor_ends_at(),
    };
    let outcome = if bench.limits.leaves_floor_out() {
        Ok((
            Vec::new(),
            vec!["the floor: --max-write leaves no room".to_owned()],
        ))
    } else {
        floor::measure(&site, &points, time, allowed, interrupt, &|done| {
            phase.at(done as u64);
            look.recheck()
        })
    };
    let (rows, refused) = outcome?;
    phase.done("measured");
    for refusal in refused {
        args.output
            .say(&format!("Not measured: {}", sanitize::line(&refusal)));
    }
    let best = match bench.limits.direct_only {
        true => Some(SyncMethod::Direct),
        false => floor::best(&rows),
    };
    setup.sync_method = method.or(best).unwrap_or(SyncMethod::Buffered);
    run.floor = rows;
    let phase = progress.phase("log files", setup.footprint_bytes());
    let cancel = || interrupt.requested();
    let (target, folder) = LogTarget::on(site, setup, &|done, _| phase.at(done), &cancel)?;
    phase.done("written");
    describe(run, &target);
    if args.events.events {
        begin_events(&target, writer)?;
    }
    bench.rows(run, &target, specs, Some(writer))?;
    end_events(&target, writer, run)?;
    finish(target, folder)
}

/// What this command left out by itself.
fn not_judged(args: &CheckArgs, limits: &Limits) -> Vec<String> {
    let quick = "most numbers of jobs, and steadiness beyond seconds (--quick)";
    let floor = "the device's floor (--max-write)";
    let parts = [(args.quick, quick), (limits.leaves_floor_out(), floor)];
    let left_out = parts.into_iter().filter(|(is_left_out, _)| *is_left_out);
    left_out.map(|(_, what)| what.to_owned()).collect()
}

/// Where the report on the run with that name goes; `None` where none is wanted.
fn report_path(args: &CheckArgs, run_id: &str) -> Option<PathBuf> {
    let default = || PathBuf::from(format!("redolab-{run_id}.html"));
    (!args.no_report).then(|| args.report.clone().unwrap_or_else(default))
}

fn write_report(
    args: &CheckArgs,
    store: &Store,
    run: &mut Run,
    limits: &Limits,
) -> Result<(), CommandError> {
    let Some(path) = report_path(args, &run.run_id) else {
        return Ok(());
    };
    let inputs = args.output.inputs();
    judge::write_report(store, run, &path, &inputs, &limits.budget)
}

/// What a device that failed leaves: the run as far as it came, judged, shown and kept as invalid.
fn failed(
    args: &CheckArgs,
    store: &Store,
    failure: Failure,
    thresholds: &Thresholds,
    run: &mut Run,
    (writer, limits): (&RunWriter, &Limits),
) -> CommandError {
    let by_device = judge::of_the_device(&failure).is_some();
    let error = keep(failure, run, writer);
    if by_device && !run.rows.is_empty() {
        judge::judge(run, thresholds, not_judged(args, limits));
        // The failure is what is told; these are views of it.
        let verbose = args.output.verbose;
        let _ = write_report(args, store, run, limits);
        let _ = writer.draft(run);
        let _ = args.output.emit_run(run, |style| text(run, style, verbose));
    }
    error
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
