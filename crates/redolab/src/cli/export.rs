//! `redolab runs export`: a run for another store, or for other programs.

use super::CommandError;
use super::common::{audience, emit};
use crate::interchange::{self, ExportSource, ExportedFile};
use crate::output::file::{self, Audience, Existing, Inputs, OutputError, OutputFile};
use crate::store::{Store, StoreError};
use clap::{Args, ValueEnum};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `runs export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The run
    pub(crate) id: String,
    /// Format of the export
    #[arg(long, value_enum, default_value = "redolab")]
    format: ExportFormat,
    /// File of the export, for formats of one file [default: standard output]
    #[arg(short, long, value_name = "FILE", conflicts_with = "into")]
    output: Option<PathBuf>,
    /// Folder of the export, for formats of several files; created if it does not exist
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// What a run is exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// One JSON file that `runs load` reads (without events)
    Redolab,
    /// fio's JSON: one document, or with --into the files that fio-plot reads, one folder per
    /// workload
    FioJson,
    /// HdrHistogram logs (V2), one file per series; needs --into
    Hlog,
    /// Parquet datasets hist, interval, device and events, by run_id and node; needs --into
    Parquet,
    /// OpenMetrics text
    Openmetrics,
}

pub(crate) fn main(store: &Store, id: &str, wanted: &ExportArgs) -> Result<ExitCode, CommandError> {
    let mut inputs = Inputs::default();
    inputs.add_folder(store.path());
    if wanted.format == ExportFormat::Redolab {
        whole(wanted, true)?;
        redolab(store, id, wanted.output.as_deref(), &inputs)?;
        return Ok(ExitCode::SUCCESS);
    }
    let run = store.load(id)?;
    let readers = audience(&run);
    let one = |bytes: &[u8]| emit(wanted.output.as_deref(), bytes, readers, &inputs);
    let histograms = store.load_histograms(id)?;
    let source = ExportSource {
        run: &run,
        histograms: &histograms,
    };
    if histograms.series.is_empty() {
        return Err(CommandError::usage(format!(
            "run {id}: it has no histograms; only --format redolab can export it"
        )));
    }
    match (wanted.format, &wanted.into) {
        (ExportFormat::FioJson, None) => {
            let document = interchange::fio_document(&source);
            one(&interchange::fio_pretty(&document))?;
        }
        (ExportFormat::Openmetrics, _) => {
            whole(wanted, true)?;
            let text = interchange::openmetrics_text(&source);
            one(text.as_bytes())?;
        }
        (ExportFormat::FioJson, Some(folder)) => {
            place_all(folder, &interchange::fio_files(&source), readers)?;
        }
        (ExportFormat::Hlog, Some(folder)) => {
            place_all(folder, &interchange::hdr_log_files(store, &run)?, readers)?;
        }
        (ExportFormat::Parquet, Some(folder)) => datasets(store, &source, folder)?,
        _ => whole(wanted, false)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The run as one file for `runs load`, written as it is read.
fn redolab(
    store: &Store,
    id: &str,
    place: Option<&Path>,
    inputs: &Inputs,
) -> Result<(), CommandError> {
    let readers = audience(&store.load(id)?);
    let Some(path) = place else {
        return match store.export(id, &mut std::io::stdout().lock()) {
            // The reader of the pipe has seen enough.
            Err(StoreError::Output(e)) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(StoreError::Output(e)) => Err(CommandError::failed(format!(
                "standard output: writing the result: {e}"
            ))),
            other => Ok(other?),
        };
    };
    let mut output = OutputFile::begin(path, readers, Existing::Replace, inputs)?;
    store.export(id, &mut output).map_err(|e| {
        CommandError::failed(format!("{}: writing the result: {e}", path.display()))
    })?;
    Ok(output.finish()?)
}

/// Refuses the option for the other kind of format.
fn whole(wanted: &ExportArgs, one_file: bool) -> Result<(), CommandError> {
    let value = wanted.format.to_possible_value();
    let name = value.map_or(String::new(), |v| v.get_name().to_owned());
    if one_file && wanted.into.is_some() {
        return Err(CommandError::usage(format!(
            "--format {name} writes one file: use --output instead of --into"
        )));
    }
    if one_file {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "--format {name} writes several files: name a folder with --into"
    )))
}

fn datasets(store: &Store, source: &ExportSource<'_>, folder: &Path) -> Result<(), CommandError> {
    let id = &source.run.run_id;
    let (files, events) = interchange::datasets(source)
        .map_err(|e| CommandError::failed(format!("run {id}: encoding Parquet: {e}")))?;
    let readers = audience(source.run);
    place_all(folder, &files, readers)?;
    let captured = store.for_each_event_part(id, |name, bytes| {
        place(folder, &format!("{events}/{name}"), bytes, readers)
    })?;
    if !captured && source.run.rows.iter().any(|row| row.events.is_some()) {
        eprintln!(
            "The events of this run are not in this store; look in the store that exported the run"
        );
    }
    Ok(())
}

fn place_all(
    folder: &Path,
    files: &[ExportedFile],
    audience: Audience,
) -> Result<(), CommandError> {
    for file in files {
        place(folder, &file.path, &file.bytes, audience)?;
    }
    Ok(())
}

/// Writes a new file in `folder`; what is there is never replaced.
fn place(
    folder: &Path,
    inside: &str,
    bytes: &[u8],
    audience: Audience,
) -> Result<(), CommandError> {
    let inside = Path::new(inside);
    let path = folder.join(inside);
    file::make_folders(folder, inside.parent().unwrap_or(Path::new("")))?;
    let mut output = OutputFile::begin(&path, audience, Existing::Keep, &Inputs::default())
        .map_err(|e| match e {
            OutputError::Exists { .. } => {
                CommandError::usage(format!("{e}; export into another folder"))
            }
            e => e.into(),
        })?;
    output.write_all(bytes).map_err(|e| {
        CommandError::failed(format!("{}: writing the export: {e}", path.display()))
    })?;
    Ok(output.finish()?)
}
