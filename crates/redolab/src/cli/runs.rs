//! `redolab runs`: what is in the run store.

use super::common::{OutputArgs, StoreArgs, ViewArgs, print};
use super::export::{self, ExportArgs};
use super::{CommandError, FAILED, ended};
use crate::input;
use crate::output::stored::{self, Listing};
use crate::store::{LAST, Store};
use clap::{Args, Subcommand};
use measure::words::sanitize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `runs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Name a run by its id, by the first characters of its id if no other run has them, or by `last`.")]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: Option<RunsCommand>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// List the runs, oldest first (the default)
    List(ViewArgs),
    /// Show a run's tables and verdict
    Show {
        /// The run
        id: String,
        #[command(flatten)]
        output: Box<OutputArgs>,
    },
    /// Export a run: as one JSON file (with its intervals) for another store, or as files for other
    /// programs
    Export(ExportArgs),
    /// Load exported runs into the store
    Load {
        /// Files that `runs export` wrote
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Delete runs permanently
    Delete {
        /// The runs, each by its id; `last` is not accepted here
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Print the directory of the store
    Path,
}

pub(crate) fn main(args: &RunsArgs) -> Result<ExitCode, CommandError> {
    match &args.command {
        None => list(&args.store.open()?, &ViewArgs::default()),
        Some(RunsCommand::List(view)) => list(&args.store.open()?, view),
        Some(RunsCommand::Show { id, output }) => show(&args.store.open()?, id, output),
        Some(RunsCommand::Export(wanted)) => {
            let store = args.store.open()?;
            let id = store.resolve(&wanted.id)?;
            export::main(&store, &id, wanted)
        }
        Some(RunsCommand::Load { files }) => load(&args.store.open()?, files),
        Some(RunsCommand::Delete { ids }) => delete(&args.store.open()?, ids),
        Some(RunsCommand::Path) => {
            let path = args.store.path()?;
            let shown = sanitize::line(&path.display().to_string());
            print(format!("{shown}\n").as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list(store: &Store, view: &ViewArgs) -> Result<ExitCode, CommandError> {
    let entries = store.list()?;
    let listing = Listing::new(store.path().display().to_string(), &entries);
    view.spares(store);
    view.emit(&listing, |style| stored::text(&listing, style))?;
    Ok(ExitCode::SUCCESS)
}

fn show(store: &Store, id: &str, output: &OutputArgs) -> Result<ExitCode, CommandError> {
    let id = store.resolve(id)?;
    let (run, complete) = store.load_any(&id)?;
    output.emit_stored(store, &run, |style| {
        stored::tables(&run, output.view(), style)
    })?;
    Ok(ended(&run, complete))
}

fn load(store: &Store, files: &[PathBuf]) -> Result<ExitCode, CommandError> {
    let mut code = ExitCode::SUCCESS;
    for path in files {
        let loaded = input::open(path)
            .map_err(|e| e.to_string())
            .and_then(|mut file| store.import(&mut file).map_err(|e| e.to_string()));
        match loaded {
            Ok(id) => print(format!("{id}\n").as_bytes())?,
            Err(why) => {
                let line = format!("{}: {why}", path.display());
                eprintln!("redolab: {}", sanitize::line(&line));
                code = ExitCode::from(FAILED);
            }
        }
    }
    Ok(code)
}

/// All names are looked up before anything is deleted.
fn delete(store: &Store, ids: &[String]) -> Result<ExitCode, CommandError> {
    let mut found = Vec::new();
    for id in ids {
        if id == LAST {
            let message = "runs delete: name the run by its id; `last` may be a different run now";
            return Err(CommandError::usage(message));
        }
        found.push(store.resolve(id)?);
    }
    found.sort();
    found.dedup();
    for id in found {
        store.delete(&id)?;
        eprintln!("Deleted {id}");
    }
    Ok(ExitCode::SUCCESS)
}
