//! `redolab runs export`: a run for another store, or for other programs.

use super::CommandError;
use super::common::emit;
use crate::interchange::{self, ExportedFile, Source};
use crate::store::Store;
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `runs export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The run
    pub(crate) id: String,
    /// For whom
    #[arg(long, value_enum, default_value = "redolab")]
    format: ExportFormat,
    /// The file, for formats of one file [default: standard output]
    #[arg(short, long, value_name = "FILE", conflicts_with = "into")]
    output: Option<PathBuf>,
    /// The folder, for formats of several files; made where it is missing
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// What a run is exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// One JSON file that `runs load` takes (events stay behind)
    Redolab,
    /// fio's JSON: one document, or with --into what fio-plot reads, a folder a workload
    FioJson,
    /// HdrHistogram logs (V2), one a series; needs --into
    Hlog,
    /// Parquet datasets hist, interval, device and events, by run_id and node; needs --into
    Parquet,
    /// OpenMetrics text
    Openmetrics,
}

pub(crate) fn main(store: &Store, id: &str, wanted: &ExportArgs) -> Result<ExitCode, CommandError> {
    if wanted.format == ExportFormat::Redolab {
        whole(wanted, true)?;
        let mut bytes = Vec::new();
        store.export(id, &mut bytes)?;
        emit(wanted.output.as_deref(), &bytes)?;
        return Ok(ExitCode::SUCCESS);
    }
    let run = store.load(id)?;
    let histograms = store.load_histograms(id)?;
    let source = Source {
        run: &run,
        histograms: &histograms,
    };
    if histograms.series.is_empty() {
        return Err(CommandError::usage(format!(
            "run {id}: it has no histograms, so only --format redolab can hold it"
        )));
    }
    match (wanted.format, &wanted.into) {
        (ExportFormat::FioJson, None) => {
            let document = interchange::fio_document(&source);
            emit(
                wanted.output.as_deref(),
                &interchange::fio_pretty(&document),
            )?;
        }
        (ExportFormat::Openmetrics, _) => {
            whole(wanted, true)?;
            let text = interchange::openmetrics_text(&source);
            emit(wanted.output.as_deref(), text.as_bytes())?;
        }
        (ExportFormat::FioJson, Some(folder)) => {
            place_all(folder, &interchange::fio_files(&source))?;
        }
        (ExportFormat::Hlog, Some(folder)) => {
            place_all(folder, &interchange::hdr_log_files(store, &run)?)?;
        }
        (ExportFormat::Parquet, Some(folder)) => datasets(store, &source, folder)?,
        _ => whole(wanted, false)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses the option for the other kind of format.
fn whole(wanted: &ExportArgs, one_file: bool) -> Result<(), CommandError> {
    let value = wanted.format.to_possible_value();
    let name = value.map_or(String::new(), |v| v.get_name().to_owned());
    if one_file && wanted.into.is_some() {
        return Err(CommandError::usage(format!(
            "--format {name} is one file: use --output instead of --into"
        )));
    }
    if one_file {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "--format {name} is several files: name a folder with --into"
    )))
}

fn datasets(store: &Store, source: &Source<'_>, folder: &Path) -> Result<(), CommandError> {
    let id = &source.run.run_id;
    let (files, events) = interchange::datasets(source)
        .map_err(|e| CommandError::failed(format!("run {id}: encoding Parquet: {e}")))?;
    place_all(folder, &files)?;
    let captured = store.for_each_event_part(id, |name, bytes| {
        place(folder, &format!("{events}/{name}"), bytes)
    })?;
    if !captured && source.run.rows.iter().any(|row| row.events.is_some()) {
        eprintln!("The run's events are not in this store: they stayed where it was exported");
    }
    Ok(())
}

fn place_all(folder: &Path, files: &[ExportedFile]) -> Result<(), CommandError> {
    for file in files {
        place(folder, &file.path, &file.bytes)?;
    }
    Ok(())
}

/// Writes a new file in `folder`; what is there is never replaced.
fn place(folder: &Path, path: &str, bytes: &[u8]) -> Result<(), CommandError> {
    let path = folder.join(path);
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::AlreadyExists => CommandError::usage(format!(
            "{}: already there, and never replaced; export into another folder",
            path.display()
        )),
        _ => CommandError::failed(format!("{}: writing the export: {e}", path.display())),
    };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut file = std::fs::File::create_new(&path).map_err(failed)?;
    let written = file.write_all(bytes);
    if written.is_err() {
        // Half a file would be read as one.
        let _ = std::fs::remove_file(&path);
    }
    written.map_err(failed)
}
