//! `redolab report`.

use super::CommandError;
use super::common::{StoreArgs, audience};
use super::ended;
use crate::output::file::{self, Inputs};
use crate::output::report;
use clap::Args;
use measure::words::sanitize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run: its id, the first characters of its id if no other run has them, its label, or
    /// `last`
    run: String,
    /// File of the report [default: redolab-RUN.html in the current directory]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn main(args: &ReportArgs) -> Result<ExitCode, CommandError> {
    let store = args.store.open()?;
    let id = store.resolve(&args.run)?;
    let (mut run, complete) = store.load_any(&id)?;
    let default = || PathBuf::from(format!("redolab-{id}.html"));
    let path = args.output.clone().unwrap_or_else(default);
    let mut inputs = Inputs::default();
    inputs.add_folder(store.path());
    file::check(&path, &inputs)?;
    let html = report::html(&store, &mut run);
    file::write(&path, html.as_bytes(), audience(&run), &inputs)?;
    say_where(&path);
    Ok(ended(&run, complete))
}

/// Says where a report is.
pub(super) fn say_where(path: &Path) {
    eprintln!("Report: {}", sanitize::line(&path.display().to_string()));
}
