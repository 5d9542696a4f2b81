//! Options that commands share, and the way results leave the process.

pub(crate) use super::results::{ViewArgs, audience, emit, print};
pub(crate) use crate::command_line::{command_line, without_password};

use super::CommandError;
use super::background::BackgroundArgs;
use super::values::{self, CpuList, Ladder, LogChoice, SyncChoice};
use crate::budget::{Budget, pages};
use crate::experiment::ladder;
use crate::experiment::load::{CommitApi, MAX_THREADS};
use crate::experiment::plan::{LogPlan, MeasurementPlan};
use crate::output::file::{self, Audience, Inputs};
use crate::output::lines::tell;
use crate::output::overview::View;
use crate::output::{csv, json, markdown, progress, table};
use crate::store::Store;
use analysis::account::columns::Columns;
use clap::{Args, ValueEnum};
use device::IoEngine;
use measure::Nanos;
use measure::run::Run;
use measure::units::parse_bytes;
use redo::{LogFileSync, LogWriter, Shape, ShapeError, Triggers};
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
pub(crate) struct OutputArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub(crate) format: Format,
    /// Columns of the rows in tables, Markdown and CSV: study (those of study 003), or keys of CSV
    /// such as workload,jobs,log_file_sync_p99_ms [default: the columns that people ask for first;
    /// CSV has all]
    #[arg(long, value_name = "NAMES", help_heading = "Output", value_parser = Columns::read)]
    pub(crate) columns: Option<Columns>,
    /// Write the result to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Print only the result and errors, no progress
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print every table and fact, and more details on standard error
    #[arg(short, long, help_heading = "Output")]
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
                let text = markdown::text(run, self.view());
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

/// How the log is made and run.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// How writes are made durable: auto (the fastest durable method), buffered, dsync, direct or
    /// direct-dsync (O_DIRECT with RWF_DSYNC: one FUA write if the device supports FUA)
    #[arg(
        long,
        value_name = "METHOD",
        default_value = "auto",
        help_heading = "The log",
        value_delimiter = ',',
        value_parser = values::sync_method()
    )]
    pub(crate) sync_method: Vec<SyncChoice>,
    /// What writes the log: auto (a session that commits alone writes for itself, for several the
    /// faster of lgwr and inline), inline (a committing session writes for all that wait), lgwr (a
    /// dedicated log writer), workers=N (a log writer with N workers, from 1 to 8) or adaptive
    /// (lgwr or workers, whichever is faster). With compare, several values of this option, of
    /// --io, of --sync-method and of --log-file-sync are targets of one comparison
    #[arg(
        long,
        value_name = "MODE",
        default_value = "auto",
        help_heading = "The log",
        value_delimiter = ',',
        value_parser = values::log_writer()
    )]
    pub(crate) log_writer: Vec<LogWriter>,
    /// Bind the threads of the log writer to these CPUs, such as 1 or 0,2-3
    #[arg(long, value_name = "LIST", help_heading = "The log", value_parser = CpuList::read)]
    pub(crate) log_writer_cpu: Option<CpuList>,
    /// How sessions wait until their redo is durable: post-wait, polling or adaptive [default:
    /// adaptive with --log-writer auto, post-wait with any other]
    #[arg(
        long,
        value_name = "MODE",
        help_heading = "The log",
        value_delimiter = ',',
        value_parser = values::log_file_sync()
    )]
    pub(crate) log_file_sync: Vec<LogFileSync>,
    /// What makes the log writer write: commit (a commit with IMMEDIATE), third (a third of the log
    /// buffer is full), a size, a time, several of these, or none. Commits that WAIT for a trigger
    /// that never fires end when the row ends
    #[arg(
        long,
        value_name = "LIST",
        default_value = "commit,third,1MB,3s",
        help_heading = "The log",
        value_parser = str::parse::<Triggers>
    )]
    pub(crate) flush_triggers: Triggers,
    /// Redo block size in bytes: 512 or 4096 [default: the size of the physical sector]
    #[arg(
        long,
        value_name = "512|4096",
        help_heading = "The log",
        value_parser = values::block_bytes
    )]
    pub(crate) block_size: Option<u32>,
    /// Number of log groups
    #[arg(long, value_name = "N", default_value = "3", help_heading = "The log")]
    pub(crate) log_groups: u32,
    /// Size of each log file, such as 64M
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "256M",
        help_heading = "The log",
        value_parser = parse_bytes
    )]
    pub(crate) log_file_size: u64,
    /// Size of the log buffer, such as 16M
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "16M",
        help_heading = "The log",
        value_parser = parse_bytes
    )]
    pub(crate) log_buffer: u64,
    /// How writes are submitted to the kernel: threads (blocking calls), io_uring, or auto (chosen
    /// to suit --log-writer; with --sync-method auto, the one that a probe finds faster)
    #[arg(
        long,
        value_name = "ENGINE",
        default_value = "auto",
        help_heading = "The log",
        value_delimiter = ',',
        value_parser = values::io()
    )]
    pub(crate) io: Vec<IoEngine>,
    /// Largest number of batches in flight, from 1 to 8; more than 1 needs --log-writer lgwr and
    /// io_uring
    #[arg(long, value_name = "N", default_value = "1", help_heading = "The log")]
    pub(crate) io_depth: u32,
    /// Keep each log write that takes at least this long, with its time, size and member (the
    /// slowest 180 of each row), and print a warning for it
    #[arg(
        long,
        value_name = "TIME",
        default_value = "500ms",
        help_heading = "The log",
        value_parser = values::time_over_zero
    )]
    pub(crate) log_write_warning: Nanos,
    /// Put the log buffer in reserved huge pages; without this option it uses transparent huge
    /// pages if the system provides them
    #[arg(long, help_heading = "The log")]
    pub(crate) huge_pages: bool,
    /// Lock the log buffer in memory if the system allows it
    #[arg(long, help_heading = "The log")]
    pub(crate) lock_memory: bool,
    #[command(flatten)]
    background: BackgroundArgs,
}

impl LogArgs {
    /// How the log is made and written with these values.
    ///
    /// # Errors
    /// Options that do not go together, and what does.
    pub(super) fn plan_with(&self, choice: &LogChoice) -> Result<LogPlan, CommandError> {
        self.check_depth(choice)?;
        let plan = LogPlan {
            shape: Shape::new()
                .block_bytes(self.block_size)
                .groups(self.log_groups)
                .file_bytes(self.log_file_size),
            sync_method: choice.method.0,
            log_writer: choice.writer,
            log_writer_cpus: self.log_writer_cpus(choice.writer)?,
            log_file_sync: choice.sync.unwrap_or(choice.writer.usual_log_file_sync()),
            triggers: self.flush_triggers,
            buffer_bytes: usize::try_from(self.log_buffer).unwrap_or(usize::MAX),
            huge_pages: self.huge_pages,
            lock_memory: self.lock_memory,
            io: choice.io,
            io_depth: self.io_depth,
            log_write_warning: self.log_write_warning,
            stripe: None,
            members: None,
            nodes: 1,
            background: self.background.plan(),
        };
        // Said before anything is written, and by a dry run too; the device has its own word later.
        (plan.shape.check()).map_err(|e| CommandError::usage(format!("{}: {e}", asked_by(&e))))?;
        if !(1 << 20..=1 << 30).contains(&self.log_buffer) {
            return Err(CommandError::usage("--log-buffer: use 1M to 1G"));
        }
        Ok(plan)
    }

    fn check_depth(&self, choice: &LogChoice) -> Result<(), CommandError> {
        let overlaps = choice.writer == LogWriter::Lgwr && choice.io != IoEngine::Threads;
        let most = redo::writer::MAX_DEPTH as u32;
        if !(1..=most).contains(&self.io_depth) || (self.io_depth > 1 && !overlaps) {
            return Err(CommandError::usage(format!(
                "--io-depth {}: use 1 to {most}, more than 1 only with --log-writer lgwr and rings \
                 (--io io_uring or auto)",
                self.io_depth
            )));
        }
        Ok(())
    }

    fn log_writer_cpus(&self, writer: LogWriter) -> Result<Vec<usize>, CommandError> {
        let Some(CpuList(cpus)) = &self.log_writer_cpu else {
            return Ok(Vec::new());
        };
        let refused = |why: String| CommandError::usage(format!("--log-writer-cpu: {why}"));
        if writer == LogWriter::Inline {
            let why = "with --log-writer inline the sessions write; use auto, lgwr, workers=N or adaptive";
            return Err(refused(why.to_owned()));
        }
        let allowed = device::cpus::allowed().map_err(|e| refused(e.to_string()))?;
        device::cpus::check(cpus, &allowed).map_err(|e| refused(e.to_string()))?;
        Ok(cpus.clone())
    }
}

/// The option behind a shape that no log can have.
fn asked_by(error: &ShapeError) -> &'static str {
    match error {
        ShapeError::BlockBytes { .. } => "--block-size",
        ShapeError::Groups { .. } => "--log-groups",
        _ => "--log-file-size",
    }
}

/// How sessions run.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// How sessions commit: sync (each session on its own thread) or async (many sessions share a
    /// few threads and wait for tickets)
    #[arg(
        long,
        value_name = "API",
        default_value = "sync",
        help_heading = "Sessions",
        value_parser = values::commit_api()
    )]
    pub(crate) commit_api: CommitApi,
    /// Number of threads that the sessions of --commit-api async share [default: 2]
    #[arg(long, value_name = "N", help_heading = "Sessions")]
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
pub(crate) struct SafetyArgs {
    /// Measure even if other processes use the device; the run records this
    #[arg(long, help_heading = "Safety")]
    pub(crate) allow_busy: bool,
    /// Write at most this much in total, such as 20G. Log files, rows, store and report count, as
    /// the kernel counts the writes of this process and of a private server; writes of the file
    /// system itself (metadata, journal) do not. Rows that do not fit are shortened or left out;
    /// --dry-run prints which
    #[arg(long, value_name = "SIZE", help_heading = "Safety", value_parser = parse_bytes)]
    pub(crate) max_write: Option<u64>,
    /// Overwrite the raw block device: repeat the path of PATH here to confirm (compare --on: once
    /// for each raw device). A device that is mounted or otherwise in use is refused even so
    #[arg(long, value_name = "DEVICE", help_heading = "Safety")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Print what would be done and written, then stop
    #[arg(long, help_heading = "Safety")]
    pub(crate) dry_run: bool,
    /// Do not ask before more than 10 GiB are written. redolab asks only if standard input and
    /// standard error are a terminal
    #[arg(short, long, help_heading = "Safety")]
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
