//! `redolab report`, and what reports show beside a run: the histograms that the store holds.

use super::CommandError;
use super::common::{StoreArgs, emit};
use super::runs::{ended, load_any, resolve};
use crate::output::sanitize;
use crate::store::{Store, StoreError};
use analysis::report::{self, ReportData};
use clap::Args;
use measure::run::Run;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run: its id, the unique beginning of it, or `last`
    run: String,
    /// The file [default: redolab-RUN.html in the current directory]
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
    emit(Some(&path), html(&store, &mut run).as_bytes())?;
    eprintln!("Report: {}", path.display());
    Ok(ended(complete))
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

/// What the store holds of a run beside its manifest.
pub(super) fn data(store: &Store, id: &str) -> Result<ReportData, StoreError> {
    let mut data = ReportData::default();
    store.for_each_interval(id, &mut |series, record| {
        data.interval(series, record.start.0, record.end.0, &record.histogram);
    })?;
    Ok(data)
}
