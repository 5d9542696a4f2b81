//! Formats of `redolab report` that are for another store, or for other programs.

use super::super::common::{audience, emit};
use super::super::{CommandError, ended};
use super::{ReportArgs, ReportFormat};
use crate::interchange::trace::{self, TraceError};
use crate::interchange::{self, ExportSource, ExportedFile};
use crate::output::file::{self, Audience, Existing, Inputs, OutputError, OutputFile};
use crate::output::lines::tell;
use crate::store::{Store, StoreError};
use clap::ValueEnum;
use measure::run::Run;
use measure::words::sanitize;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn main(
    store: &Store,
    id: &str,
    args: &ReportArgs,
    format: ReportFormat,
) -> Result<ExitCode, CommandError> {
    let mut inputs = Inputs::default();
    inputs.add_folder(store.path());
    let place = args.output.as_deref();
    if format == ReportFormat::Redolab {
        return Ok(exported(&redolab(store, id, place, &inputs)?));
    }
    let run = store.load(id)?;
    if format == ReportFormat::Trace {
        traces(store, &run, args, &inputs)?;
        return Ok(exported(&run));
    }
    let readers = audience(&run);
    let one = |bytes: &[u8]| emit(place, bytes, readers, &inputs);
    let histograms = store.load_histograms(id)?;
    let source = ExportSource {
        run: &run,
        histograms: &histograms,
    };
    let is_series = format == ReportFormat::Parquet && interchange::has_series(&run);
    if histograms.series.is_empty() && !is_series {
        return Err(CommandError::usage(format!(
            "run {id}: it has no histograms; use --format html, markdown or redolab"
        )));
    }
    match format {
        ReportFormat::FioJson => {
            let document = interchange::fio_document(&source);
            one(&interchange::fio_pretty(&document))?;
        }
        ReportFormat::Openmetrics => one(interchange::openmetrics_text(&source).as_bytes())?,
        ReportFormat::FioPlot => {
            place_all(
                folder(args, format)?,
                &interchange::fio_files(&source),
                readers,
            )?;
        }
        ReportFormat::Hlog => {
            let files = interchange::hdr_log_files(store, &run)?;
            place_all(folder(args, format)?, &files, readers)?;
        }
        _ => datasets(store, &source, folder(args, format)?)?,
    }
    Ok(exported(&run))
}

/// The folder for a format of several files.
fn folder(args: &ReportArgs, format: ReportFormat) -> Result<&Path, CommandError> {
    args.output.as_deref().ok_or_else(|| {
        let value = format.to_possible_value();
        let name = value.map_or(String::new(), |v| v.get_name().to_owned());
        CommandError::usage(format!(
            "--format {name} writes several files: name a folder with --output"
        ))
    })
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

/// The run as one file for `import`, written as it is read.
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
    wanted: &ReportArgs,
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
    let is_one = wanted.row.is_some() || run.rows.len() == 1;
    let folder = (wanted.output.as_ref()).filter(|path| path.is_dir() || !is_one);
    if let Some(folder) = folder.filter(|_| wanted.row.is_none()) {
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
                 for all of them with --output",
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
pub(in crate::cli) fn trace_file(
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
