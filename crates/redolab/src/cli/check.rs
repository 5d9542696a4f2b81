//! `redolab check`: should a redo log live on this device, and why? It is `run` with the workloads
//! of study 003 and the device's floor.

use super::common::most_jobs;
use super::measured::{JudgedArgs, JudgedCommand, MeasureArgs};
use super::need::NeedArgs;
use super::{CommandError, soak};
use crate::experiment::plan::{ExperimentPlan, FloorExtent, FloorPlan, MeasurementPlan};
use crate::experiment::row::Spec;
use clap::Args;
use measure::Nanos;
use measure::driver::DriverKind;
use measure::workload::{DEFAULT_JOBS, Workload};
use std::process::ExitCode;

/// Options of `check`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
#[command(after_long_help = "\
The verdict has two axes. Durability: does an acknowledged write survive power loss? Performance: \
are commits fast and steady enough for the need? The answer is the worse of the two.
Without a stated need, performance is reported as an envelope (the figures that were measured).")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    need: NeedArgs,
    /// Run a short check of about 20 seconds
    #[arg(long)]
    pub(super) quick: bool,
    /// Explain what a commit waits for, instead of judging the device
    ///
    /// LGWR-LAT1 runs with 8 jobs in interleaved rounds with WAIT IMMEDIATE and NOWAIT BATCH, with
    /// fewer and more busy threads than processors, and with every way of waiting. It divides log
    /// file sync into I/O, group commit, CPU and log writer, with intervals. It takes about a
    /// minute, with --quick about 20 seconds.
    #[arg(long, conflicts_with_all = ["soak", "strict", "rate", "events", "need_from", "nodes"])]
    pub(super) explain_latency: bool,
    /// Write no report
    #[arg(long, help_heading = "Output", conflicts_with = "report")]
    no_report: bool,
    #[command(flatten)]
    pub(super) measure: MeasureArgs,
    #[command(flatten)]
    judged: JudgedArgs,
}

impl CheckArgs {
    /// The plan of `measured`, with the target and the need.
    pub(super) fn planned(
        &self,
        measured: MeasurementPlan,
        not_judged: Option<&str>,
    ) -> Result<ExperimentPlan, CommandError> {
        let safety = &self.measure.safety;
        (self.judged).plan(&self.need, measured, not_judged, safety)
    }

    /// The command, which writes a report and decides.
    pub(super) fn command(&self) -> JudgedCommand<'_> {
        JudgedCommand {
            need: &self.need,
            judged: &self.judged,
            measure: &self.measure,
            reports: !self.no_report,
            decides: true,
        }
    }
}

/// Where no time is named, a row of `check` ends early when it has written this much: long enough
/// to judge, and kind to the medium.
const ROW_BYTES: u64 = 4 << 30;
const QUICK_ROW_BYTES: u64 = 1 << 30;
/// The floor: time of each point, and of all processors together.
const FLOOR: FloorPlan = FloorPlan {
    extent: FloorExtent::Short,
    time: Nanos::from_millis(600),
    placement: Nanos::from_secs(1),
};
const QUICK_FLOOR: FloorPlan = FloorPlan {
    extent: FloorExtent::Short,
    time: Nanos::from_millis(200),
    placement: Nanos::from_millis(500),
};
/// What a quick check leaves out.
const QUICK: &str = "most numbers of jobs, and steadiness beyond seconds (--quick)";

pub(crate) fn main(args: &CheckArgs, drivers: &[DriverKind]) -> Result<ExitCode, CommandError> {
    let complete = |plan: &mut ExperimentPlan, sessions| {
        add_sessions(&mut plan.measured.rows, args, sessions);
        soak::add_rows_behind(plan);
    };
    args.command().carry_out(plan(args)?, complete, drivers)
}

/// The plan of a check: the short floor, then every workload of study 003, then the soak.
fn plan(args: &CheckArgs) -> Result<ExperimentPlan, CommandError> {
    let measured = MeasurementPlan {
        log: args.measure.log.plan()?,
        rows: specs(args)?,
        floor: Some(if args.quick { QUICK_FLOOR } else { FLOOR }),
        ..args.measure.safety.plan()
    };
    let not_judged = args.quick.then_some(QUICK);
    args.planned(measured, not_judged)
}

/// Adds a row of LGWR-LAT1 with the number of sessions that production has, unless the numbers of
/// jobs were named.
fn add_sessions(rows: &mut Vec<Spec>, args: &CheckArgs, sessions: Option<u32>) {
    let is_first = |row: &Spec| row.workload.name == Workload::standard()[0].name && !row.soak;
    let Some(first) = rows.iter().find(|row| is_first(row)).cloned() else {
        return;
    };
    let possible = 1..=most_jobs(first.api);
    let nodes = args.judged.target.nodes();
    let is_open =
        |n: &u32| args.measure.jobs.is_none() && possible.contains(n) && n.is_multiple_of(nodes);
    let Some(jobs) = sessions.filter(is_open) else {
        return;
    };
    if rows.iter().any(|row| is_first(row) && row.jobs == jobs) {
        return;
    }
    let after = rows
        .iter()
        .rposition(|row| is_first(row) && row.jobs < jobs);
    rows.insert(after.map_or(0, |last| last + 1), Spec { jobs, ..first });
}

fn specs(args: &CheckArgs) -> Result<Vec<Spec>, CommandError> {
    let given = &args.measure;
    let jobs = |ladder| given.sessions.jobs(ladder);
    let ladder = given.jobs.as_ref().map(jobs).transpose()?;
    let api = given.sessions.api()?;
    let (time, warmup, bytes) = match args.quick {
        true => (1500, 500, QUICK_ROW_BYTES),
        false => (4000, 1000, ROW_BYTES),
    };
    let max_redo_bytes = given.time.map_or(bytes, |_| u64::MAX);
    let time = given.time.unwrap_or(Nanos::from_millis(time));
    let warmup = given.warmup.unwrap_or(Nanos::from_millis(warmup));
    let payload = given.load.payload();
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
    let soak = soak::row(&given.load, warmup)?;
    specs.extend(soak.map(|spec| Spec {
        api,
        payload,
        ..spec
    }));
    Ok(specs)
}
