//! `redolab runs`: what is in the run store.

use super::common::{OutputArgs, ViewArgs};
use super::stored::StoreArgs;
use super::{CommandError, ended, notes};
use crate::output::lines::tell;
use crate::output::overview;
use crate::output::stored::{self, Listing};
use crate::store::Store;
use clap::{Args, Subcommand};
use measure::run::RunNotes;
use measure::words::sanitize;
use std::process::ExitCode;

/// Options of `runs`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Name a run by its id, by the first characters of its id if no other run has them, by `last` or by \
its label (the newest run with it). `last~1` is the run before the newest, LABEL~1 the one before \
the newest with that label.")]
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
    /// Add a label or tags to a finished run
    Tag {
        /// The run
        id: String,
        /// What to note, such as volume=gp3; replaces the value that the key has
        #[arg(value_name = "KEY=VALUE", value_parser = notes::tag)]
        tags: Vec<(String, String)>,
        /// Label of the run; replaces the one that it has
        #[arg(long, value_name = "NAME", value_parser = notes::label)]
        label: Option<String>,
    },
    /// Delete runs permanently
    Delete {
        /// The runs, each by its id; `last` and labels are not accepted here
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

pub(crate) fn main(args: &RunsArgs) -> Result<ExitCode, CommandError> {
    match &args.command {
        None => list(&args.store.open()?, &ViewArgs::default()),
        Some(RunsCommand::List(view)) => list(&args.store.open()?, view),
        Some(RunsCommand::Show { id, output }) => show(&args.store.open()?, id, output),
        Some(RunsCommand::Tag { id, tags, label }) => tag(
            &args.store.open()?,
            id,
            notes::collected(label.clone(), tags)?,
        ),
        Some(RunsCommand::Delete { ids }) => delete(&args.store.open()?, ids),
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
        overview::text(&run, output.view(), style)
    })?;
    Ok(ended(&run, complete))
}

fn tag(store: &Store, id: &str, more: RunNotes) -> Result<ExitCode, CommandError> {
    if more.is_empty() {
        let message = "runs tag: give KEY=VALUE, such as volume=gp3, or --label NAME";
        return Err(CommandError::usage(message));
    }
    let id = store.resolve(id)?;
    let all = store.note(&id, &more)?;
    let label = all
        .label
        .as_deref()
        .map_or_else(String::new, |label| format!(" {label}"));
    tell(&format!(
        "{id}:{} {}",
        sanitize::line(&label),
        all.tags_in_words()
    ));
    Ok(ExitCode::SUCCESS)
}

/// All names are looked up before anything is deleted.
fn delete(store: &Store, ids: &[String]) -> Result<ExitCode, CommandError> {
    let mut found = Vec::new();
    for id in ids {
        let named = store.resolve(id)?;
        if !named.starts_with(id.as_str()) {
            let message = format!(
                "runs delete {}: name the run by its id ({named}); `last` or a label may be a different \
                 run now",
                sanitize::line(id)
            );
            return Err(CommandError::usage(message));
        }
        found.push(named);
    }
    found.sort();
    found.dedup();
    for id in found {
        store.delete(&id)?;
        tell(&format!("Deleted {id}"));
    }
    Ok(ExitCode::SUCCESS)
}
