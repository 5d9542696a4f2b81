//! Options that commands share, and the way results leave the process.

pub(crate) use super::results::{ViewArgs, audience, emit, print};
pub(crate) use crate::command_line::{command_line, without_password};

use super::CommandError;
use super::values::{self, Ladder};
use crate::budget::{Budget, pages};
use crate::experiment::ladder;
use crate::experiment::load::{CommitApi, MAX_THREADS};
use crate::experiment::plan::MeasurementPlan;
use crate::output::file::{self, Audience, Inputs};
use crate::output::lines::tell;
use crate::output::overview::View;
use crate::output::{csv, json, progress, table};
use crate::store::Store;
use analysis::account::columns::Columns;
use analysis::account::markdown;
use clap::{Args, ValueEnum};
use measure::run::Run;
use measure::units::parse_bytes;
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for people.
    Table,
    /// One JSON document with a schema.
    Json,
    /// One line per row, with all columns, those of study 003 first
    Csv,
    /// fio's JSON, one job per row, for programs that read fio's results
    FioJson,
    /// OpenMetrics text, for Prometheus and node_exporter
    Openmetrics,
    /// Markdown with GitHub's tables, to be pasted into a ticket
    Markdown,
}

/// Options of every command that prints a result.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Columns of the rows in tables, Markdown and CSV: study (those of study 003), or keys of CSV
    /// such as workload,jobs,log_file_sync_p99_ms [default: the columns that people ask for first;
    /// CSV has all]
    #[arg(long, value_name = "NAMES", value_parser = Columns::read)]
    pub(crate) columns: Option<Columns>,
    /// Write the result to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print only the result and errors, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print every table and fact, and more details on standard error
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// What the command reads.
    #[arg(skip)]
    inputs: RefCell<Inputs>,
    /// What the result comes out of, where `--max-write` limits it.
    #[arg(skip)]
    pub(crate) budget: OnceLock<Arc<Budget>>,
}

/// What is shown where no columns are named.
static USUAL: Columns = Columns::Usual;

impl OutputArgs {
    /// What is shown of a run.
    pub(crate) fn view(&self) -> View<'_> {
        View {
            columns: self.columns.as_ref().unwrap_or(&USUAL),
            verbose: self.verbose,
        }
    }

    pub(crate) fn progress(&self) -> progress::Progress {
        progress::Progress::new(progress::Mode::of_stderr(self.quiet, self.verbose))
    }

    /// Prints lines of diagnostics unless quiet.
    pub(crate) fn say(&self, line: &str) {
        if !self.quiet {
            tell(line);
        }
    }

    /// Notes a file that the command reads, and to which it therefore never writes.
    pub(crate) fn reads(&self, path: &Path) {
        self.inputs.borrow_mut().add(path);
    }

    /// Keeps results out of the run store.
    pub(crate) fn spares(&self, store: &Store) {
        self.inputs.borrow_mut().add_folder(store.path());
    }

    /// What the command reads.
    pub(crate) fn inputs(&self) -> Inputs {
        self.inputs.borrow().clone()
    }

    /// Refuses a place to which the result could not be written, before anything is measured or
    /// read for it. No result goes into `store`.
    pub(crate) fn check_beside(&self, store: &Store) -> Result<(), CommandError> {
        self.spares(store);
        self.check_report(self.output.as_deref())
    }

    /// Refuses a place to which a report could not be written, where there is to be one.
    pub(crate) fn check_report(&self, path: Option<&Path>) -> Result<(), CommandError> {
        let inputs = self.inputs();
        path.map_or(Ok(()), |path| Ok(file::check_with_room(path, &inputs)?))
    }

    /// Takes what is about to be written from `--max-write`.
    fn take(&self, what: &str, bytes: &[u8]) -> Result<(), CommandError> {
        let Some(budget) = self.budget.get() else {
            return Ok(());
        };
        let refused = |refusal| CommandError::failed(format!("{what}: {refusal}"));
        budget.take(pages(bytes.len() as u64)).map_err(refused)
    }

    /// Writes a report that is made of results which are shown or stored already.
    pub(crate) fn write_report(
        &self,
        path: &Path,
        html: &str,
        audience: Audience,
    ) -> Result<(), CommandError> {
        let what = format!("{}: the report was not written", path.display());
        self.take(&what, html.as_bytes())?;
        Ok(file::write(
            path,
            html.as_bytes(),
            audience,
            &self.inputs(),
        )?)
    }

    /// Writes a result where it was asked for.
    pub(crate) fn emit(&self, bytes: &[u8], audience: Audience) -> Result<(), CommandError> {
        self.take("writing the result", bytes)?;
        emit(self.output.as_deref(), bytes, audience, &self.inputs())
    }

    /// Prints what is not a run: `json`, or the text that `text` makes of it.
    pub(crate) fn emit_view(
        &self,
        json: &impl serde::Serialize,
        audience: Audience,
        text: impl FnOnce(table::Style) -> String,
    ) -> Result<(), CommandError> {
        let bytes = match self.format {
            Format::Table => {
                let style = table::Style::of_output(self.output.as_deref());
                style.fitted(text(style)).into_bytes()
            }
            Format::Json => super::results::json_document(json)?,
            _ => {
                let why = "--format: this result is printed as table or json";
                return Err(CommandError::usage(why));
            }
        };
        self.emit(&bytes, audience)
    }

    /// Prints a run in the format that was asked for; `text` makes the tables.
    pub(crate) fn emit_run(
        &self,
        run: &Run,
        text: impl FnOnce(table::Style) -> String,
    ) -> Result<(), CommandError> {
        let mut bytes = Vec::new();
        let written = match self.format {
            Format::Json => json::write(run, &mut bytes),
            Format::Csv => csv::write_columns(&[run], self.view().columns, &mut bytes),
            Format::Markdown => {
                let text = markdown::run(run, self.view().columns, self.verbose);
                bytes.write_all(text.as_bytes())
            }
            Format::FioJson | Format::Openmetrics => {
                return Err(CommandError::usage(
                    "--format: fio-json and openmetrics are made from histograms, which only runs \
                     that were measured have",
                ));
            }
            Format::Table => {
                let style = table::Style::of_output(self.output.as_deref());
                bytes.write_all(style.fitted(text(style)).as_bytes())
            }
        };
        written.map_err(|e| CommandError::failed(format!("formatting the result: {e}")))?;
        self.emit(&bytes, audience(run))
    }
}

/// How sessions run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sessions")]
pub(crate) struct SessionArgs {
    /// How sessions commit: sync (each session on its own thread) or async (many sessions share a
    /// few threads and wait for tickets)
    #[arg(long, value_name = "API", default_value = "sync", value_parser = values::commit_api())]
    pub(crate) commit_api: CommitApi,
    /// Number of threads that the sessions of --commit-api async share [default: 2]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,
}

impl SessionArgs {
    /// How sessions commit.
    ///
    /// # Errors
    /// Threads where each job is one, or too many of them.
    pub(crate) fn api(&self) -> Result<CommitApi, CommandError> {
        match (self.commit_api, self.threads) {
            (CommitApi::Sync, Some(_)) => Err(CommandError::usage(
                "--threads: only with --commit-api async; with sync each job is a thread",
            )),
            (CommitApi::Async { .. }, Some(threads)) => {
                if !(1..=MAX_THREADS).contains(&threads) {
                    return Err(CommandError::usage(format!(
                        "--threads: use 1 to {MAX_THREADS}"
                    )));
                }
                Ok(CommitApi::Async { threads })
            }
            (api, None) => Ok(api),
        }
    }

    /// The numbers of jobs of a ladder.
    ///
    /// # Errors
    /// More jobs than sessions can be.
    pub(crate) fn jobs(&self, ladder: &Ladder) -> Result<Vec<u32>, CommandError> {
        let most = most_jobs(self.api()?);
        let refused = |e| CommandError::usage(format!("--{e}"));
        ladder.jobs(most).map_err(refused)
    }
}

/// Sessions at most.
pub(crate) fn most_jobs(api: CommitApi) -> u32 {
    match api {
        CommitApi::Sync => ladder::MAX_JOBS,
        CommitApi::Async { .. } => ladder::MAX_ASYNC_JOBS,
    }
}

/// Safety of a machine that matters.
#[derive(Debug, Args)]
#[command(next_help_heading = "Safety")]
pub(crate) struct SafetyArgs {
    /// Measure even if other processes use the device
    ///
    /// The run records this.
    #[arg(long)]
    pub(crate) allow_busy: bool,
    /// Write at most this much in total, such as 20G
    ///
    /// Log files, rows, store and report count, as the kernel counts the writes of this process and
    /// of a private server; writes of the file system itself (metadata, journal) do not. Rows that
    /// do not fit are shortened or left out; --dry-run prints which.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) max_write: Option<u64>,
    /// Overwrite the raw block device: repeat PATH here to confirm
    ///
    /// Once for each raw device (compare --on). A device that is mounted or otherwise in use is
    /// refused even so.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Print what would be done and written, then stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask before more than 10 GiB are written
    ///
    /// redolab asks only if standard input and standard error are a terminal.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

impl SafetyArgs {
    /// A plan within these limits, of nothing yet.
    pub(crate) fn plan(&self) -> MeasurementPlan {
        MeasurementPlan {
            command: command_line(),
            max_write_bytes: self.max_write,
            allow_busy: self.allow_busy,
            dry_run: self.dry_run,
            ..MeasurementPlan::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::PAGE_BYTES;

    #[derive(Debug, clap::Parser)]
    struct Options {
        #[command(flatten)]
        output: OutputArgs,
    }

    #[test]
    fn a_report_comes_out_of_the_budget() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("report.html");
        let output = <Options as clap::Parser>::parse_from(["redolab"]).output;
        let budget = Budget::of(Some(4 * PAGE_BYTES));
        output.budget.set(Arc::clone(&budget)).expect("once");
        let write = |html: &str| output.write_report(&path, html, Audience::Everyone);
        write("a page, and the one in which it ends").expect("fits");
        assert_eq!(budget.left(), 2 * PAGE_BYTES);
        let large = "x".repeat(2 * PAGE_BYTES as usize);
        let problem = write(&large).expect_err("three pages").message;
        let words = ["report.html", "the report was not written", "--max-write"];
        assert!(words.iter().all(|word| problem.contains(word)), "{problem}");
        let kept = std::fs::read_to_string(&path).expect("the first one");
        assert!(kept.starts_with("a page"));
    }
}
