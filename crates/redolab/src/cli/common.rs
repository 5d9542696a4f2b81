//! Options that commands share, and the way results leave the process.

pub(crate) use super::results::{ViewArgs, audience, emit, print};
pub(crate) use super::stored::{EventArgs, StoreArgs};

use super::CommandError;
use super::numbers::{block_bytes, cpu_list};
use crate::budget::{Budget, pages};
use crate::experiment::ladder;
use crate::experiment::load::{CommitApi, DEFAULT_THREADS, MAX_THREADS};
use crate::experiment::target::Setup;
use crate::output::file::{self, Audience, Inputs};
use crate::output::{csv, json, progress, sanitize, table};
use crate::store::Store;
use clap::{Args, ValueEnum};
use device::{IoEngine, SyncMethod};
use measure::Nanos;
use measure::run::Run;
use measure::units::{parse_bytes, parse_duration};
use redo::{LogWriter, Shape, ShapeError};
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
    /// One line per row, with the study's columns.
    Csv,
    /// fio's JSON, one job per row, for programs that read fio's results
    FioJson,
    /// OpenMetrics text, for Prometheus and node_exporter
    Openmetrics,
}

/// Options of every command that prints a result.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub(crate) format: Format,
    /// Write the result to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// No progress, only the result and errors
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print more on standard error
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// What the command reads.
    #[arg(skip)]
    inputs: RefCell<Inputs>,
    /// What the result comes out of, where `--max-write` limits it.
    #[arg(skip)]
    pub(crate) budget: OnceLock<Arc<Budget>>,
}

impl OutputArgs {
    pub(crate) fn progress(&self) -> progress::Progress {
        progress::Progress::new(progress::Mode::of_stderr(self.quiet, self.verbose))
    }

    /// Prints lines of diagnostics unless quiet.
    pub(crate) fn say(&self, line: &str) {
        if !self.quiet {
            // Lines name paths, which may hold anything.
            eprintln!("{}", sanitize::text(line));
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

    /// Refuses a place to which the result could not be written, before anything is done for it.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let path = self.output.as_deref();
        path.map_or(Ok(()), |path| Ok(file::check(path, &self.inputs())?))
    }

    /// The same of a command that uses `store`, into which no result goes.
    pub(crate) fn check_beside(&self, store: &Store) -> Result<(), CommandError> {
        self.spares(store);
        self.check()
    }

    /// Refuses a place to which a report could not be written, where there is to be one.
    pub(crate) fn check_report(&self, path: Option<&Path>) -> Result<(), CommandError> {
        path.map_or(Ok(()), |path| Ok(file::check(path, &self.inputs())?))
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
            Format::Csv => csv::write(&[run], &mut bytes),
            Format::FioJson | Format::Openmetrics => {
                return Err(CommandError::usage(
                    "--format: fio-json and openmetrics are made from histograms, which only runs \
                     that were measured have",
                ));
            }
            Format::Table => {
                let style = match self.output {
                    Some(_) => table::Style::detect(false, None),
                    None => table::Style::of_stdout(),
                };
                bytes.write_all(text(style).as_bytes())
            }
        };
        written.map_err(|e| CommandError::failed(format!("formatting the result: {e}")))?;
        self.emit(&bytes, audience(run))
    }
}

/// How the log is made and run.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// How writes are made durable: auto (the fastest that is durable), buffered, dsync, direct
    /// or direct-dsync (O_DIRECT with RWF_DSYNC: one forced write where the device has FUA)
    #[arg(
        long,
        value_name = "METHOD",
        default_value = "auto",
        help_heading = "The log"
    )]
    pub(crate) sync_method: String,
    /// Log writer: inline (a committing session writes), lgwr (a dedicated thread), workers=N (a
    /// thread with from 1 to 8 workers) or adaptive (lgwr or workers, whichever is faster)
    #[arg(
        long,
        value_name = "MODE",
        default_value = "inline",
        help_heading = "The log"
    )]
    pub(crate) log_writer: String,
    /// CPUs that the log writer's threads stay on, such as 1 or 0,2-3
    #[arg(long, value_name = "LIST", help_heading = "The log")]
    pub(crate) log_writer_cpu: Option<String>,
    /// How sessions wait for durability: post-wait (sleep), polling (spin) or adaptive
    #[arg(
        long,
        value_name = "MODE",
        default_value = "post-wait",
        help_heading = "The log"
    )]
    pub(crate) log_file_sync: String,
    /// What makes the log writer write: any of commit (IMMEDIATE commits), third (log buffer one
    /// third full), a size, an interval; or none. WAIT commits whose trigger never fires end with
    /// the row
    #[arg(
        long,
        value_name = "LIST",
        default_value = "commit,third,1MB,3s",
        help_heading = "The log"
    )]
    pub(crate) flush_triggers: String,
    /// Redo block size in bytes: 512 or 4096 [default: the physical sector's]
    #[arg(long, value_name = "512|4096", help_heading = "The log")]
    pub(crate) block_size: Option<String>,
    /// Log groups
    #[arg(long, value_name = "N", default_value = "3", help_heading = "The log")]
    pub(crate) log_groups: u32,
    /// Size of each log file, such as 64M
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "256M",
        help_heading = "The log"
    )]
    pub(crate) log_file_size: String,
    /// Size of the log buffer, such as 16M
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "16M",
        help_heading = "The log"
    )]
    pub(crate) log_buffer: String,
    /// How writes are submitted: threads (blocking calls), io_uring, or auto (what suits the log
    /// writer; with --sync-method auto, what a probe finds faster)
    #[arg(
        long,
        value_name = "ENGINE",
        default_value = "auto",
        help_heading = "The log"
    )]
    pub(crate) io: String,
    /// Most batches in flight, from 1 to 8; more than 1 needs --log-writer lgwr and io_uring
    #[arg(long, value_name = "N", default_value = "1", help_heading = "The log")]
    pub(crate) io_depth: u32,
    /// Put the log buffer in reserved huge pages; without this option it uses transparent ones
    /// where the system provides them
    #[arg(long, help_heading = "The log")]
    pub(crate) huge_pages: bool,
    /// Lock the log buffer in memory where the system allows it
    #[arg(long, help_heading = "The log")]
    pub(crate) lock_memory: bool,
}

impl LogArgs {
    /// The set-up, and the sync method if one was named.
    pub(crate) fn setup(&self) -> Result<(Setup, Option<SyncMethod>), CommandError> {
        let bytes = |name: &str, text: &str| {
            parse_bytes(text).map_err(|e| CommandError::usage(format!("--{name}: {e}")))
        };
        let method = match self.sync_method.as_str() {
            "auto" => None,
            name => Some(
                name.parse::<SyncMethod>()
                    .map_err(|e| CommandError::usage(format!("--sync-method: {e}, or auto")))?,
            ),
        };
        let block_bytes = match &self.block_size {
            None => None,
            Some(text) => Some(block_bytes(text)?),
        };
        let buffer = bytes("log-buffer", &self.log_buffer)?;
        let log_writer: LogWriter = self
            .log_writer
            .parse()
            .map_err(|e| CommandError::usage(format!("--log-writer: {e}")))?;
        let io = self.io(log_writer)?;
        let setup = Setup {
            shape: Shape {
                block_bytes,
                groups: self.log_groups,
                file_bytes: bytes("log-file-size", &self.log_file_size)?,
            },
            sync_method: method.unwrap_or(SyncMethod::Direct),
            log_writer,
            log_writer_cpus: self.log_writer_cpus(log_writer)?,
            log_file_sync: self
                .log_file_sync
                .parse()
                .map_err(|e| CommandError::usage(format!("--log-file-sync: {e}")))?,
            triggers: self
                .flush_triggers
                .parse()
                .map_err(|e| CommandError::usage(format!("--flush-triggers: {e}")))?,
            buffer_bytes: usize::try_from(buffer).unwrap_or(usize::MAX),
            huge_pages: self.huge_pages,
            lock_memory: self.lock_memory,
            io,
            io_depth: self.io_depth,
            probe: false,
            ..Setup::default()
        };
        // Said before anything is written, and by a dry run too; the device has its own word later.
        (setup.shape.check()).map_err(|e| CommandError::usage(format!("{}: {e}", asked_by(&e))))?;
        if !(1 << 20..=1 << 30).contains(&buffer) {
            return Err(CommandError::usage("--log-buffer: use 1M to 1G"));
        }
        Ok((setup, method))
    }

    fn io(&self, log_writer: LogWriter) -> Result<IoEngine, CommandError> {
        let io = self
            .io
            .parse::<IoEngine>()
            .map_err(|e| CommandError::usage(format!("--io: {e}")))?;
        let overlaps = log_writer == LogWriter::Lgwr && io != IoEngine::Threads;
        let most = redo::writer::MAX_DEPTH as u32;
        if !(1..=most).contains(&self.io_depth) || (self.io_depth > 1 && !overlaps) {
            return Err(CommandError::usage(format!(
                "--io-depth {}: use 1 to {most}, more than 1 only with --log-writer lgwr and rings \
                 (--io io_uring or auto)",
                self.io_depth
            )));
        }
        Ok(io)
    }

    fn log_writer_cpus(&self, log_writer: LogWriter) -> Result<Vec<usize>, CommandError> {
        let Some(list) = &self.log_writer_cpu else {
            return Ok(Vec::new());
        };
        let refused = |why: String| CommandError::usage(format!("--log-writer-cpu: {why}"));
        if log_writer == LogWriter::Inline {
            let why =
                "with --log-writer inline the sessions write; use lgwr, workers=N or adaptive";
            return Err(refused(why.to_owned()));
        }
        let cpus = cpu_list(list).map_err(refused)?;
        let allowed = device::cpus::allowed().map_err(|e| refused(e.to_string()))?;
        device::cpus::check(&cpus, &allowed).map_err(|e| refused(e.to_string()))?;
        Ok(cpus)
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

/// What a run says of the CPUs of the log writer.
pub(crate) fn cpus(setup: &Setup) -> Vec<u32> {
    let number = |cpu: &usize| u32::try_from(*cpu).unwrap_or(u32::MAX);
    setup.log_writer_cpus.iter().map(number).collect()
}

/// How sessions run.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// How sessions commit: sync (each on its own thread) or async (many on a few threads, with
    /// tickets)
    #[arg(
        long,
        value_name = "API",
        default_value = "sync",
        help_heading = "Sessions"
    )]
    pub(crate) commit_api: String,
    /// Threads that the sessions of --commit-api async share [default: 2]
    #[arg(long, value_name = "N", help_heading = "Sessions")]
    pub(crate) threads: Option<u32>,
}

impl SessionArgs {
    pub(crate) fn api(&self) -> Result<CommitApi, CommandError> {
        match (self.commit_api.as_str(), self.threads) {
            ("sync", None) => Ok(CommitApi::Sync),
            ("sync", Some(_)) => Err(CommandError::usage(
                "--threads: only with --commit-api async; with sync each job is a thread",
            )),
            ("async", threads) => {
                let threads = threads.unwrap_or(DEFAULT_THREADS);
                if !(1..=MAX_THREADS).contains(&threads) {
                    return Err(CommandError::usage(format!(
                        "--threads: use 1 to {MAX_THREADS}"
                    )));
                }
                Ok(CommitApi::Async { threads })
            }
            (other, _) => Err(CommandError::usage(format!(
                "--commit-api: no `{other}`; use sync or async"
            ))),
        }
    }

    /// The numbers of jobs that `text` says.
    pub(crate) fn ladder(&self, text: &str) -> Result<Vec<u32>, CommandError> {
        let most = match self.api()? {
            CommitApi::Sync => ladder::MAX_JOBS,
            CommitApi::Async { .. } => ladder::MAX_ASYNC_JOBS,
        };
        ladder::parse(text, most).map_err(|e| CommandError::usage(format!("--{e}")))
    }
}

/// Safety of a machine that matters.
#[derive(Debug, Args)]
pub(crate) struct SafetyArgs {
    /// Measure although others use the device; the run records it
    #[arg(long, help_heading = "Safety")]
    pub(crate) allow_busy: bool,
    /// Write at most this much in all, such as 20G: log files, rows, store and report together, by
    /// the kernel's count of this process, without what the file system adds (metadata, its
    /// journal). Rows are ended early or left out, as --dry-run prints
    #[arg(long, value_name = "SIZE", help_heading = "Safety")]
    pub(crate) max_write: Option<String>,
    /// Repeat the device path to confirm that the raw block device PATH may be overwritten. A
    /// device that is mounted or otherwise in use is refused even so
    #[arg(long, value_name = "DEVICE", help_heading = "Safety")]
    pub(crate) destroy: Option<PathBuf>,
    /// Print what would be done and written, and do nothing
    #[arg(long, help_heading = "Safety")]
    pub(crate) dry_run: bool,
}

impl SafetyArgs {
    pub(crate) fn max_write_bytes(&self) -> Result<Option<u64>, CommandError> {
        let parse = |text: &String| {
            parse_bytes(text).map_err(|e| CommandError::usage(format!("--max-write: {e}")))
        };
        self.max_write.as_ref().map(parse).transpose()
    }
}

/// Parses a duration option.
pub(crate) fn duration(name: &str, text: &str) -> Result<Nanos, CommandError> {
    parse_duration(text).map_err(|e| CommandError::usage(format!("--{name}: {e}")))
}

/// The directory that a target path names.
///
/// # Errors
/// Missing, no directory, or not writable: each with what to do.
pub(crate) fn directory(path: &Path) -> Result<PathBuf, CommandError> {
    let shown = path.display();
    let found = std::fs::metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => CommandError::usage(format!(
            "{shown}: does not exist; name an existing directory or raw block device"
        )),
        _ => CommandError::usage(format!("{shown}: {e}")),
    })?;
    if !found.is_dir() {
        return Err(CommandError::usage(format!(
            "{shown}: is not a directory, and no block device; name the directory in which log \
             files may be made"
        )));
    }
    path.canonicalize()
        .map_err(|e| CommandError::usage(format!("{shown}: {e}")))
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
