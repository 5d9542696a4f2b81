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
        stored::tables(&run, style, output.verbose)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::begin::new_run;
    use crate::experiment::judge::judge;
    use crate::output::stored::tables;
    use crate::output::{json, report, table};
    use analysis::thresholds::Thresholds;
    use measure::judgement::Weight;
    use measure::run::{Origin, Row, Run, WaitStats};
    use measure::stack::Stack;
    use std::path::Path;

    /// A run of one row whose log writes take `mean_ms`.
    fn run(command: &str, mean_ms: f64) -> Run {
        let command = ["redolab", command].map(str::to_owned);
        let mut run = new_run(Path::new("/u01"), "file", Stack::default(), &command);
        let stats = WaitStats {
            count: 1000,
            mean_ns: mean_ms * 1e6,
            total_ns: (mean_ms * 1e9) as u64,
            max_ns: (mean_ms * 3e6) as u64,
            ..WaitStats::default()
        };
        let events = ["log_file_parallel_write", "log_file_sync"];
        run.rows.push(Row {
            workload: "LGWR-LAT1".to_owned(),
            jobs: 8,
            commits: Some(1000),
            waits: events.map(|e| (e.to_owned(), stats.clone())).into(),
            ..Row::default()
        });
        if command[1] == "import" {
            run.origin = Origin::Imported;
            run.imported = Some(measure::imported::Imported::default());
        }
        run
    }

    /// The rule of thumb for log file parallel write is in every view of a stored run, whatever
    /// command made it.
    #[test]
    fn slow_log_writes_show_in_every_view_whatever_made_the_run() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(folder.path()).expect("a store");
        assert_eq!(Thresholds::default().write_mean_problem_ms.value, 20.0);
        for command in ["check", "run", "compare", "import"] {
            for (mean_ms, slow) in [(25.0, true), (0.5, false)] {
                let mut made = run(command, mean_ms);
                judge(&mut made, &Thresholds::default(), Vec::new());
                let writer = store.begin(&made.run_id).expect("a folder");
                writer.finish(&made).expect("stored");
                let mut held = store.load(&made.run_id).expect("complete");
                let found = held.findings.iter().find(|f| f.id == "latency.write_mean");
                let found = found
                    .unwrap_or_else(|| panic!("{command}: no finding"))
                    .clone();
                assert_eq!(found.weight == Weight::Bad, slow, "{command}: {found:?}");
                let style = table::Style::detect(false, None);
                let mut bytes = Vec::new();
                json::write(&held, &mut bytes).expect("into memory");
                let views = [
                    tables(&held, style, false),
                    String::from_utf8(bytes).expect("UTF-8"),
                    report::html(&store, &mut held),
                ];
                for view in views {
                    let view: Vec<&str> = view.split_whitespace().collect();
                    let says = view.join(" ").contains(&found.claim);
                    assert!(says, "{command} at {mean_ms} ms: {}", found.claim);
                }
            }
        }
    }
}
