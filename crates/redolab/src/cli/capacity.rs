//! `redolab capacity`: what a sweep of jobs can carry.

use super::common::ViewArgs;
use super::sources::source;
use super::stored::StoreArgs;
use super::{CommandError, INCOMPLETE, values};
use crate::output::capacity::CapacityView;
use crate::signals;
use analysis::capacity::{CapacityNeed, curves};
use clap::Args;
use measure::Nanos;
use measure::words::sanitize;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

/// Nanoseconds of a millisecond.
const NS_PER_MS: f64 = 1e6;
/// Workloads that are listed if none has the asked name.
const NAMES: usize = 20;

/// Options of `capacity`.
#[derive(Debug, Args)]
#[command(after_help = "\
A sweep is a workload with several numbers of jobs: a stored run (redolab run --jobs 1,2,4,8,...), \
an exported run, or evidence with a sweep, such as the tables of study 003. Figures between two \
measured points are interpolated. Nothing is extrapolated beyond them, except the peak of the \
fitted law, which is labelled as extrapolated. Evidence is read and not stored.

  redolab capacity last --sync-under 1ms --commit-rate 5000
  redolab capacity peakmarks-2021.csv --sync-under 500us")]
pub(crate) struct CapacityArgs {
    /// Stored runs, exported runs, or evidence with sweeps: files, directories, patterns in quotes
    #[arg(value_name = "RUN|FILE", required = true)]
    sources: Vec<String>,
    /// Only workloads whose name contains this text
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Print the highest rate at which the mean log file sync is below this time, such as 1ms
    #[arg(long, value_name = "TIME", value_parser = values::time_over_zero)]
    sync_under: Option<Nanos>,
    /// Print the headroom over this rate of commits per second, such as 5000 or 5k
    #[arg(long, value_name = "N", value_parser = values::commit_rate)]
    commit_rate: Option<f64>,
    /// Seed of the resampling from which the law has its intervals
    #[arg(long, value_name = "N", default_value = "1")]
    bootstrap_seed: u64,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn main(args: &CapacityArgs) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let store = args.store.open()?;
    args.view.spares(&store);
    let files = args.sources.iter().map(Path::new).filter(|p| p.exists());
    files.for_each(|path| args.view.reads(path));
    args.view.check()?;
    let need = CapacityNeed {
        sync_under_ms: args.sync_under.map(|t| t.0 as f64 / NS_PER_MS),
        commit_rate: args.commit_rate,
        seed: args.bootstrap_seed,
    };
    let mut view = CapacityView::new(&need);
    let mut known: Vec<String> = Vec::new();
    for name in &args.sources {
        let run = source(name, &store, &interrupt)?;
        let mut found = curves(&run, &need);
        if let Some(part) = &args.workload {
            known.extend(found.iter().map(|curve| curve.name.clone()));
            found.retain(|curve| curve.name.contains(part.as_str()));
        }
        view.add(name, &run, found, args.workload.is_some());
    }
    if let Some(part) = &args.workload
        && view.is_empty()
        && !known.is_empty()
    {
        let mut listed = known.iter().collect::<BTreeSet<_>>().into_iter();
        let shown: Vec<&str> = listed.by_ref().take(NAMES).map(String::as_str).collect();
        let more = match listed.count() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let message = format!(
            "no workload named {part}; there are {}{more}",
            shown.join(", ")
        );
        return Err(CommandError::usage(sanitize::line(&message)));
    }
    if view.is_empty() {
        return Err(CommandError::failed(format!(
            "{}: no workload has rates of commits at two numbers of jobs",
            sanitize::line(&args.sources.join(", "))
        )));
    }
    args.view.emit(&view, |style| view.text(style))?;
    Ok(ExitCode::from(if view.is_valid() { 0 } else { INCOMPLETE }))
}
