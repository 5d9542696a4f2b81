//! `compare --as capacity`: what sweeps of jobs can carry.

use super::super::sources::source;
use super::super::{CommandError, INCOMPLETE, values};
use super::CompareArgs;
use crate::output::capacity::CapacityView;
use crate::output::file::Audience;
use crate::signals::{self, Interrupt};
use crate::store::Store;
use analysis::capacity::{CapacityNeed, curves};
use clap::Args;
use measure::Nanos;
use measure::run::Run;
use measure::words::sanitize;
use std::collections::BTreeSet;
use std::process::ExitCode;

/// Nanoseconds of a millisecond.
const NS_PER_MS: f64 = 1e6;
/// Workloads that are listed if none has the asked name.
const NAMES: usize = 20;

/// What a sweep is asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Capacity")]
pub(crate) struct CapacityArgs {
    /// With --as capacity: only workloads whose name contains this text
    #[arg(long, value_name = "NAME")]
    pub(super) curve: Option<String>,
    /// With --as capacity: print the highest rate at which the mean log file sync is below this
    /// time, such as 1ms
    #[arg(long, value_name = "TIME", value_parser = values::time_over_zero)]
    pub(super) sync_under: Option<Nanos>,
    /// With --as capacity: print the headroom over this rate of commits per second, such as 5k
    #[arg(
        id = "headroom",
        long = "commit-rate",
        value_name = "N",
        value_parser = values::commit_rate
    )]
    pub(super) commit_rate: Option<f64>,
}

/// The sources with their names. Evidence of one number of jobs each is one sweep together.
fn swept(
    args: &CompareArgs,
    store: &Store,
    interrupt: &Interrupt,
) -> Result<Vec<(String, Run)>, CommandError> {
    let mut out: Vec<(String, Run)> = Vec::new();
    let mut joined: Option<(String, Run)> = None;
    for name in &args.runs {
        let mut run = source(name, store, interrupt)?;
        let is_point = curves(&run, &CapacityNeed::default()).is_empty();
        match &mut joined {
            _ if run.imported.is_none() || !is_point => out.push((name.clone(), run)),
            None => joined = Some((name.clone(), run)),
            Some((names, whole)) => {
                *names = format!("{names}, {name}");
                whole.rows.append(&mut run.rows);
                if let (Some(all), Some(more)) = (&mut whole.imported, run.imported) {
                    all.tables.extend(more.tables);
                }
            }
        }
    }
    out.extend(joined);
    Ok(out)
}

/// Prints what the sweeps of the sources carry.
pub(super) fn main(args: &CompareArgs, store: &Store) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let (asked, output) = (&args.capacity, &args.options.measure.output);
    let need = CapacityNeed {
        sync_under_ms: asked.sync_under.map(|t| t.0 as f64 / NS_PER_MS),
        commit_rate: asked.commit_rate,
        seed: args.bootstrap_seed,
    };
    let mut view = CapacityView::new(&need);
    let mut known: Vec<String> = Vec::new();
    for (name, run) in swept(args, store, &interrupt)? {
        let mut found = curves(&run, &need);
        if let Some(part) = &asked.curve {
            known.extend(found.iter().map(|curve| curve.name.clone()));
            found.retain(|curve| curve.name.contains(part.as_str()));
        }
        view.add(&name, &run, found, asked.curve.is_some());
    }
    if let Some(part) = &asked.curve
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
            sanitize::line(&args.runs.join(", "))
        )));
    }
    output.emit_view(&view, Audience::Everyone, |style| view.text(style))?;
    Ok(ExitCode::from(if view.is_valid() { 0 } else { INCOMPLETE }))
}
