//! How results leave the process, and the options of commands that show what is not a run.

use super::CommandError;
use crate::output::file::{self, Audience, Inputs};
use crate::output::table;
use crate::store::Store;
use clap::{Args, ValueEnum};
use measure::run::{Origin, Run};
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Who may read what is made of a run.
pub(crate) fn audience(run: &Run) -> Audience {
    Audience::of(run.origin == Origin::Imported)
}

/// Writes a result to `place`, or to standard output.
///
/// # Errors
/// Of [`file::write`], or the system's on standard output.
pub(crate) fn emit(
    place: Option<&Path>,
    bytes: &[u8],
    audience: Audience,
    inputs: &Inputs,
) -> Result<(), CommandError> {
    match place {
        Some(path) => Ok(file::write(path, bytes, audience, inputs)?),
        None => print(bytes),
    }
}

/// Prints a result on standard output.
///
/// # Errors
/// The system's.
pub(crate) fn print(bytes: &[u8]) -> Result<(), CommandError> {
    match std::io::stdout().lock().write_all(bytes) {
        // The reader of the pipe has seen enough.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other
            .map_err(|e| CommandError::failed(format!("standard output: writing the result: {e}"))),
    }
}

/// How something is printed that is not a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViewFormat {
    /// Text for people.
    #[default]
    Table,
    /// One JSON document with a schema.
    Json,
}

/// Options of commands that show something that is not a run.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ViewArgs {
    /// Format of the result
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ViewFormat,
    /// Write the result to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What the command reads.
    #[arg(skip)]
    inputs: RefCell<Inputs>,
}

impl ViewArgs {
    /// Notes a file that the command reads, and to which it therefore never writes.
    pub(crate) fn reads(&self, path: &Path) {
        self.inputs.borrow_mut().add(path);
    }

    /// Keeps results out of the run store.
    pub(crate) fn spares(&self, store: &Store) {
        self.inputs.borrow_mut().add_folder(store.path());
    }

    /// Refuses a place to which the result could not be written, before anything is done for it.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let path = self.output.as_deref();
        path.map_or(Ok(()), |path| Ok(file::check(path, &self.inputs.borrow())?))
    }

    /// Prints `json` or the text that `text` makes of it.
    pub(crate) fn emit<T: serde::Serialize>(
        &self,
        json: &T,
        text: impl FnOnce(table::Style) -> String,
    ) -> Result<(), CommandError> {
        let bytes = match self.format {
            ViewFormat::Table => {
                let style = table::Style::of_output(self.output.as_deref());
                style.fitted(text(style)).into_bytes()
            }
            ViewFormat::Json => json_document(json)?,
        };
        let inputs = self.inputs.borrow();
        emit(self.output.as_deref(), &bytes, Audience::Everyone, &inputs)
    }
}

/// A value as a JSON document that ends with a line break.
pub(super) fn json_document(value: &impl serde::Serialize) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    crate::harmless_json::write_pretty(value, &mut bytes)
        .map_err(|e| CommandError::failed(format!("formatting the result: {e}")))?;
    Ok(bytes)
}
