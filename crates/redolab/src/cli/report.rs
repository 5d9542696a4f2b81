//! `redolab report`, and what reports show beside a run: the histograms that the store holds.

use super::CommandError;
use super::common::{StoreArgs, audience};
use super::ended;
use super::runs::{load_any, resolve};
use crate::output::file::{self, Inputs};
use crate::store::events::{EventColumn, Query};
use crate::store::{Store, StoreError};
use analysis::report::{self, ReportData};
use clap::Args;
use measure::comparison::Comparison;
use measure::run::Run;
use measure::words::sanitize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run: its id, the first characters of its id if no other run has them, or `last`
    run: String,
    /// File of the report [default: redolab-RUN.html in the current directory]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn main(args: &ReportArgs) -> Result<ExitCode, CommandError> {
    let store = args.store.open()?;
    let id = resolve(&store, &args.run)?;
    let (mut run, complete) = load_any(&store, &id)?;
    let default = || PathBuf::from(format!("redolab-{id}.html"));
    let path = args.output.clone().unwrap_or_else(default);
    let mut inputs = Inputs::default();
    inputs.add_folder(store.path());
    file::check(&path, &inputs)?;
    let html = html(&store, &mut run);
    file::write(&path, html.as_bytes(), audience(&run), &inputs)?;
    say_where(&path);
    Ok(ended(&run, complete))
}

/// Says where a report is.
pub(super) fn say_where(path: &Path) {
    eprintln!("Report: {}", sanitize::line(&path.display().to_string()));
}

/// The report of a run of `store`, finished or not. Where its intervals cannot be read it is drawn
/// without them, which is said here and in the report.
pub(super) fn html(store: &Store, run: &mut Run) -> String {
    let data = data(store, &run.run_id).unwrap_or_else(|why| {
        let why = format!("the figures that need every interval are missing: {why}");
        eprintln!("redolab: {}", sanitize::line(&why));
        run.validity.add("intervals_unreadable", false, why);
        ReportData::default()
    });
    report::html(run, &data)
}

/// The report of a comparison. Runs that are not in the store, such as exported files, have no
/// heat maps; of a live comparison the first round's are shown.
pub(super) fn comparison(store: &Store, found: &Comparison) -> String {
    let held = found.runs.iter().map(|side| {
        let (run, _) = load_any(store, &side.run_id).ok()?;
        let data = intervals(store, &side.run_id).ok()?;
        Some((run, data))
    });
    let held: Vec<Option<(Run, ReportData)>> = held.collect();
    let held: Vec<_> = held
        .iter()
        .map(|h| h.as_ref().map(|(run, data)| (run, data)))
        .collect();
    report::compare::html(found, &held)
}

/// What the store holds of a run beside its manifest.
fn data(store: &Store, id: &str) -> Result<ReportData, StoreError> {
    let mut data = intervals(store, id)?;
    events(store, id, &mut data)?;
    Ok(data)
}

fn intervals(store: &Store, id: &str) -> Result<ReportData, StoreError> {
    let mut data = ReportData::default();
    store.for_each_interval(id, &mut |series, record| {
        data.interval(series, record.start.0, record.end.0, &record.histogram);
    })?;
    Ok(data)
}

/// Samples of the run's log writes and waits, where they were stored one by one.
fn events(store: &Store, id: &str, data: &mut ReportData) -> Result<(), StoreError> {
    let query = Query {
        event: None,
        row: None,
        columns: vec![
            EventColumn::StartUtcUs,
            EventColumn::StartExtraNs,
            EventColumn::LatencyNs,
            EventColumn::RedoBytes,
        ],
    };
    let chunks = match store.events(id, query) {
        Err(StoreError::NoEvents { .. }) => return Ok(()),
        chunks => chunks?,
    };
    for chunk in chunks {
        let chunk = chunk?;
        let Some(row) = chunk.row.checked_sub(1) else {
            continue;
        };
        let Some(sample) = data.sample_mut(row as usize, chunk.event.name()) else {
            continue;
        };
        for i in 0..chunk.events {
            let figure = |column| chunk.column(column).get(i).copied().flatten();
            let (us, extra) = (
                figure(EventColumn::StartUtcUs),
                figure(EventColumn::StartExtraNs),
            );
            let at = us.map(|us| us.saturating_mul(1000).saturating_add(extra.unwrap_or(0)));
            let whole = |v: i64| u64::try_from(v).ok();
            if let (Some(at), Some(ns)) = (at, figure(EventColumn::LatencyNs).and_then(whole)) {
                let bytes = figure(EventColumn::RedoBytes).and_then(whole);
                sample.add_at(at, ns, bytes);
            }
        }
    }
    Ok(())
}
