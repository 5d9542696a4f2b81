//! `redolab check`: should a redo log live on this device, and why?

use super::common::{LogArgs, OutputArgs, SafetyArgs, SessionArgs, command_line};
use super::console::{ReportTo, Terminal};
use super::loads::LoadArgs;
use super::need::NeedArgs;
use super::notes::NotesArgs;
use super::stored::{EventArgs, StoreArgs};
use super::targets::{DriverArgs, PlacesArgs};
use super::values::{self, Ladder};
use super::{CommandError, soak};
use crate::experiment::console::Console;
use crate::experiment::ladder;
use crate::experiment::load::CommitApi;
use crate::experiment::plan::{
    ExperimentPlan, FloorExtent, FloorPlan, JudgementPlan, MeasurementPlan, PlannedTarget,
};
use crate::experiment::row::Spec;
use crate::experiment::{Stopped, conduct};
use crate::output::{overview, table};
use crate::store::Store;
use analysis::verdict::exit_code;
use clap::Args;
use measure::Nanos;
use measure::driver::DriverKind;
use measure::run::Run;
use measure::units::parse_duration;
use measure::words::sanitize;
use measure::workload::{DEFAULT_JOBS, Workload};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `check`.
#[derive(Debug, Args)]
#[command(after_help = "\
The verdict has two axes. Durability: does an acknowledged write survive power loss? Performance: \
are commits fast and steady enough for the need? The answer is the worse of the two.
Without a stated need, performance is reported as an envelope (the figures that were measured).")]
pub(crate) struct CheckArgs {
    /// A directory on the device (log files are created in a folder of redolab's own and removed at
    /// the end), or a raw block device (which is overwritten and needs --destroy)
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    #[command(flatten)]
    pub(super) places: PlacesArgs,
    #[command(flatten)]
    pub(super) driver: DriverArgs,
    /// Run a short check of about 20 seconds
    #[arg(long)]
    pub(super) quick: bool,
    /// Explain what a commit waits for, instead of judging the device: LGWR-LAT1 with 8 jobs in
    /// interleaved rounds with WAIT IMMEDIATE and NOWAIT BATCH, with fewer and more busy threads
    /// than processors, and with every way of waiting. It divides log file sync into I/O, group
    /// commit, CPU and log writer, with intervals. It takes about a minute, with --quick about 20
    /// seconds
    #[arg(long, conflicts_with_all = ["soak", "strict", "rate", "events", "need_from"])]
    pub(super) explain_latency: bool,
    /// Exit with 3 also if the verdict is conditional
    #[arg(long)]
    strict: bool,
    /// Numbers of jobs of each workload, such as 1,8,32 or 2..64 (doubling)
    /// [default: 1,2,8,32,64]
    #[arg(long, value_name = "LADDER", value_parser = Ladder::read)]
    pub(super) jobs: Option<Ladder>,
    /// Measured time of each row [default: 4s, or less for a row that has written 4 GiB; with
    /// --quick 1500ms or 1 GiB]
    #[arg(long, value_name = "TIME", value_parser = values::time_over_zero)]
    pub(super) time: Option<Nanos>,
    /// Warm-up time before each row, not measured [default: 1s; with --quick 500ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(super) warmup: Option<Nanos>,
    /// Add a long run of this time after the others, such as 45m, to detect steady state, decay,
    /// caps and burst credits. It runs LGWR-LAT1 with 8 jobs, or an open loop with --rate. Short
    /// rows with 8 and 32 jobs follow (a twentieth of this time each, from 2s to 1m): what they
    /// sustain shows what a cap counts. Only --max-write limits how much they write
    #[arg(long, value_name = "TIME", help_heading = "Load", value_parser = values::soak_time)]
    soak: Option<Nanos>,
    #[command(flatten)]
    pub(super) load: LoadArgs,
    /// File of the report [default: redolab-RUN.html in the current directory]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write no report
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
    #[command(flatten)]
    pub(super) need: NeedArgs,
    #[command(flatten)]
    pub(super) sessions: SessionArgs,
    #[command(flatten)]
    pub(super) log: LogArgs,
    #[command(flatten)]
    pub(super) safety: SafetyArgs,
    #[command(flatten)]
    pub(super) notes: NotesArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    events: EventArgs,
    #[command(flatten)]
    pub(super) store: StoreArgs,
}

impl CheckArgs {
    /// Where the report goes; `None` where none is written.
    pub(super) fn report_to<'a>(&self, store: &'a Store) -> Option<ReportTo<'a>> {
        (!self.no_report).then(|| ReportTo {
            store,
            path: self.report.clone(),
        })
    }
}

impl CheckArgs {
    /// Refuses a place to which the report could not be written, before anything is measured.
    pub(super) fn check_report(&self, to: Option<&ReportTo<'_>>) -> Result<(), CommandError> {
        let file = to.map(|to| to.file("RUN"));
        let checked = self.output.check_report(file.as_deref());
        checked.map_err(|e| match self.report {
            Some(_) => e,
            // Nobody named this place.
            None => CommandError {
                message: format!("{} (--report FILE), or write none (--no-report)", e.message),
                ..e
            },
        })
    }
}

/// Where no time is named, a row of `check` ends early when it has written this much: long enough
/// to judge, and kind to the medium.
const ROW_BYTES: u64 = 4 << 30;
const QUICK_ROW_BYTES: u64 = 1 << 30;
/// Time of each point of the floor.
const FLOOR_TIME: Nanos = Nanos::from_millis(600);
const QUICK_FLOOR_TIME: Nanos = Nanos::from_millis(200);
/// Time of the floor per processor, of all processors together.
const PLACEMENT_TIME: Nanos = Nanos::from_secs(1);
const QUICK_PLACEMENT_TIME: Nanos = Nanos::from_millis(500);

pub(crate) fn main(args: &CheckArgs, drivers: &[DriverKind]) -> Result<ExitCode, CommandError> {
    let mut plan = plan(args)?;
    let store = args.store.open_to_store()?;
    args.need.spared(&args.output);
    args.output.check_beside(&store)?;
    let report = args.report_to(&store);
    args.check_report(report.as_ref())?;
    let terminal = Terminal::new(&args.output, report)?.agreeing(args.safety.yes);
    if let Some((need, lines)) = args.need.of_production(&store, terminal.interrupt())? {
        lines.iter().for_each(|line| args.output.say(line));
        add_sessions(&mut plan.measured.rows, args, need.sessions);
        plan.measured.judgement.need = need;
    }
    soak::add_rows_behind(&mut plan);
    let run = match conduct(&plan, &terminal, &store, drivers) {
        Ok(Some(run)) => run,
        Ok(None) => return Ok(ExitCode::SUCCESS),
        Err(stopped) => return Err(failed(args, stopped)),
    };
    args.output
        .emit_stored(&store, &run, |style| text(&run, args, style))?;
    terminal.reported()?;
    Ok(ExitCode::from(exit_code(&run, args.strict)))
}

/// What is checked.
pub(super) fn target(args: &CheckArgs) -> Result<PlannedTarget, CommandError> {
    match args.places.target() {
        Some(places) => Ok(places),
        None => args.driver.target(&args.safety, &args.path),
    }
}

/// The plan of a check: the short floor, then every workload of study 003, then the soak.
fn plan(args: &CheckArgs) -> Result<ExperimentPlan, CommandError> {
    let thresholds = args.need.thresholds()?;
    let need = args.need.need();
    let log = args.places.log(args.log.plan()?)?;
    let rows = specs(args)?;
    let quick = "most numbers of jobs, and steadiness beyond seconds (--quick)";
    Ok(ExperimentPlan {
        target: target(args)?,
        measured: MeasurementPlan {
            command: command_line(),
            log,
            rows,
            floor: Some(FloorPlan {
                extent: FloorExtent::Short,
                time: if args.quick {
                    QUICK_FLOOR_TIME
                } else {
                    FLOOR_TIME
                },
                placement: if args.quick {
                    QUICK_PLACEMENT_TIME
                } else {
                    PLACEMENT_TIME
                },
            }),
            events: args.events.events,
            max_write_bytes: args.safety.max_write,
            allow_busy: args.safety.allow_busy,
            dry_run: args.safety.dry_run,
            judgement: JudgementPlan {
                need,
                declared: args.need.declared(),
                thresholds,
                not_judged: args.quick.then(|| quick.to_owned()).into_iter().collect(),
            },
            notes: args.notes.notes()?,
        },
    })
}

/// Adds a row of LGWR-LAT1 with the number of sessions that production has, unless the numbers of
/// jobs were named.
fn add_sessions(rows: &mut Vec<Spec>, args: &CheckArgs, sessions: Option<u32>) {
    let most = match args.sessions.api() {
        Ok(CommitApi::Async { .. }) => ladder::MAX_ASYNC_JOBS,
        _ => ladder::MAX_JOBS,
    };
    let Some(jobs) = sessions.filter(|n| args.jobs.is_none() && (1..=most).contains(n)) else {
        return;
    };
    let is_first = |row: &Spec| row.workload.name == Workload::standard()[0].name && !row.soak;
    if rows.iter().any(|row| is_first(row) && row.jobs == jobs) {
        return;
    }
    let after = rows
        .iter()
        .rposition(|row| is_first(row) && row.jobs < jobs);
    let at = after.map_or(0, |last| last + 1);
    if let Some(row) = rows.iter().find(|row| is_first(row)).cloned() {
        rows.insert(at, Spec { jobs, ..row });
    }
}

/// What a device that failed leaves: the run as far as it came, shown as invalid.
fn failed(args: &CheckArgs, stopped: Stopped) -> CommandError {
    if let Some(run) = stopped.by_the_device() {
        // The failure is what is reported; this is a view of it.
        let _ = args.output.emit_run(run, |style| text(run, args, style));
    }
    stopped.into()
}

fn specs(args: &CheckArgs) -> Result<Vec<Spec>, CommandError> {
    let jobs = |ladder| args.sessions.jobs(ladder);
    let ladder = args.jobs.as_ref().map(jobs).transpose()?;
    let api = args.sessions.api()?;
    let (time, warmup) = match args.quick {
        true => (Nanos::from_millis(1500), Nanos::from_millis(500)),
        false => (Nanos::from_secs(4), Nanos::from_secs(1)),
    };
    let max_redo_bytes = match (args.time, args.quick) {
        (Some(_), _) => u64::MAX,
        (None, true) => QUICK_ROW_BYTES,
        (None, false) => ROW_BYTES,
    };
    let time = args.time.unwrap_or(time);
    let warmup = args.warmup.unwrap_or(warmup);
    let payload = args.load.payload();
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
            max_redo_bytes,
            payload,
            ..Spec::closed(workload.clone(), jobs, time, warmup)
        }));
    }
    let soak = soak::row(args.soak, &args.load, warmup)?;
    specs.extend(soak.map(|spec| Spec {
        api,
        payload,
        ..spec
    }));
    Ok(specs)
}

fn text(run: &Run, args: &CheckArgs, style: table::Style) -> String {
    let text = overview::text(run, args.output.view(), style);
    format!("{text}{}", report_place(run))
}

/// Where the report of a run is.
fn report_place(run: &Run) -> String {
    run.report.as_deref().map_or_else(String::new, |report| {
        format!("Report: {}\n", sanitize::line(report))
    })
}

/// Where the report of a run is, and the run itself.
pub(super) fn places(run: &Run) -> String {
    format!(
        "\n{}Run:    {} (redolab runs show {})\n",
        report_place(run),
        run.run_id,
        run.run_id
    )
}
