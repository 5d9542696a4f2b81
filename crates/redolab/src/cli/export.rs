//! `redolab runs export`: a run for another store, or for other programs.

use super::common::{audience, emit};
use super::{CommandError, ended};
use crate::interchange::trace::{self, TraceError};
use crate::interchange::{self, ExportSource, ExportedFile};
use crate::output::file::{self, Audience, Existing, Inputs, OutputError, OutputFile};
use crate::output::lines::tell;
use crate::store::{Store, StoreError};
use clap::{Args, ValueEnum};
use measure::run::Run;
use measure::words::sanitize;
use std::io::{BufWriter, ErrorKind, Write};
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
    /// The row of the run, from 1, for --format trace without --into
    #[arg(long, value_name = "N", conflicts_with = "into")]
    row: Option<u32>,
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
    /// Waits one by one in the form of Oracle's trace (event 10046), one file per row, which import
    /// reads; only of runs with --events
    Trace,
}

pub(crate) fn main(store: &Store, id: &str, wanted: &ExportArgs) -> Result<ExitCode, CommandError> {
    let mut inputs = Inputs::default();
    inputs.add_folder(store.path());
    if wanted.format == ExportFormat::Redolab {
        whole(wanted, true)?;
        let run = redolab(store, id, wanted.output.as_deref(), &inputs)?;
        return Ok(exported(&run));
    }
    let run = store.load(id)?;
    if wanted.format == ExportFormat::Trace {
        traces(store, &run, wanted, &inputs)?;
        return Ok(exported(&run));
    }
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
    Ok(exported(&run))
}

/// How an export ends; other programs do not see that a run is invalid.
fn exported(run: &Run) -> ExitCode {
    if !run.validity.valid {
        let id = sanitize::line(&run.run_id);
        tell(&format!(
            "redolab: run {id} is INVALID: its figures are wrong (redolab runs show {id})"
        ));
    }
    ended(run, true)
}

/// The run as one file for `runs load`, written as it is read.
fn redolab(
    store: &Store,
    id: &str,
    place: Option<&Path>,
    inputs: &Inputs,
) -> Result<Run, CommandError> {
    let run = store.load(id)?;
    let Some(path) = place else {
        return match store.export(id, &mut std::io::stdout().lock()) {
            // The reader of the pipe has seen enough.
            Err(StoreError::Output(e)) if e.kind() == ErrorKind::BrokenPipe => Ok(run),
            Err(StoreError::Output(e)) => Err(CommandError::failed(format!(
                "standard output: writing the result: {e}"
            ))),
            other => Ok(other.map(|()| run)?),
        };
    };
    let mut output = OutputFile::begin(path, audience(&run), Existing::Replace, inputs)?;
    store.export(id, &mut output).map_err(|e| match e {
        StoreError::Output(source) => CommandError::from(OutputError::System {
            path: path.to_owned(),
            action: "writing the result",
            source,
        }),
        e => CommandError::failed(format!("{}: writing the result: {e}", path.display())),
    })?;
    output.finish()?;
    Ok(run)
}

/// The traces of all rows in a folder, or that of one row.
fn traces(
    store: &Store,
    run: &Run,
    wanted: &ExportArgs,
    inputs: &Inputs,
) -> Result<(), CommandError> {
    let id = &run.run_id;
    let rows = run.rows.iter().zip(1..).map(|(row, number)| (number, row));
    let kept = rows.clone().filter(|(_, row)| row.events.is_some());
    if kept.clone().next().is_none() {
        return Err(CommandError::usage(format!(
            "run {id}: its single waits were not stored, so it cannot be written as a trace; \
             measure again with --events"
        )));
    }
    if let Some(folder) = &wanted.into {
        for (number, row) in kept {
            let name = trace::file_name(number, row);
            let mut output = begin_in(folder, &name, audience(run))?;
            trace_of(store, run, number, &mut output, &folder.join(name))?;
            output.finish()?;
        }
        return Ok(());
    }
    let number = match wanted.row {
        Some(number) => number as usize,
        None if run.rows.len() == 1 => 1,
        None => {
            return Err(CommandError::usage(format!(
                "run {id} has {} rows, and a trace is of one: name the row with --row, or a folder \
                 for all of them with --into",
                run.rows.len()
            )));
        }
    };
    if kept.clone().all(|(kept, _)| kept != number) {
        return Err(CommandError::usage(format!(
            "--row {number}: run {id} has rows from 1 to {}",
            run.rows.len()
        )));
    }
    let Some(path) = wanted.output.as_deref() else {
        let place = Path::new("standard output");
        return trace_of(store, run, number, &mut std::io::stdout().lock(), place);
    };
    trace_file(store, run, number, path, inputs)
}

/// Writes the trace of the row with that number, from 1, to a file.
pub(super) fn trace_file(
    store: &Store,
    run: &Run,
    number: usize,
    path: &Path,
    inputs: &Inputs,
) -> Result<(), CommandError> {
    let mut output = OutputFile::begin(path, audience(run), Existing::Replace, inputs)?;
    trace_of(store, run, number, &mut output, path)?;
    Ok(output.finish()?)
}

/// Writes the trace of the row with that number, from 1.
fn trace_of(
    store: &Store,
    run: &Run,
    number: usize,
    out: &mut dyn Write,
    place: &Path,
) -> Result<(), CommandError> {
    let row = &run.rows[number - 1];
    let events = store.events(&run.run_id, trace::query(number as u32))?;
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let written = trace::write(&mut out, run, (number, row), events);
    match written.and_then(|()| Ok(out.flush()?)) {
        // The reader of the pipe has seen enough.
        Err(TraceError::Output(e)) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(TraceError::Output(e)) => Err(CommandError::failed(format!(
            "{}: writing the trace: {e}",
            place.display()
        ))),
        Err(TraceError::Store(e)) => Err(e.into()),
        Ok(()) => Ok(()),
    }
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
        tell(
            "The events of this run are not in this store; look in the store that exported the run",
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
    let path = folder.join(inside);
    let mut output = begin_in(folder, inside, audience)?;
    output.write_all(bytes).map_err(|e| {
        CommandError::failed(format!("{}: writing the export: {e}", path.display()))
    })?;
    Ok(output.finish()?)
}

/// Begins a new file in `folder`.
fn begin_in(folder: &Path, inside: &str, audience: Audience) -> Result<OutputFile, CommandError> {
    let inside = Path::new(inside);
    let folder = file::make_folders(folder, inside.parent().unwrap_or(Path::new("")))?;
    let name = inside.file_name().unwrap_or_default();
    OutputFile::begin_in(&folder, name, audience).map_err(|e| match e {
        OutputError::Exists { .. } => {
            CommandError::usage(format!("{e}; export into another folder"))
        }
        e => e.into(),
    })
}
