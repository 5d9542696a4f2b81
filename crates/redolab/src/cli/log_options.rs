//! Options of redolab's own log: how it is made, written and waited for.

use super::CommandError;
use super::background::BackgroundArgs;
use super::values::{self, CpuList, LogChoice, SyncChoice};
use crate::experiment::plan::LogPlan;
use clap::Args;
use device::IoEngine;
use measure::Nanos;
use measure::units::parse_bytes;
use redo::{LogFileSync, LogWriter, Shape, ShapeError, Triggers};

/// How the log is made and run.
#[derive(Debug, Args)]
#[command(next_help_heading = "The log")]
pub(crate) struct LogArgs {
    /// How writes are made durable: auto (the fastest durable method), buffered, dsync, direct or
    /// direct-dsync (O_DIRECT with RWF_DSYNC: one FUA write if the device supports FUA)
    #[arg(
        long,
        value_name = "METHOD",
        default_value = "auto",
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
        value_delimiter = ',',
        value_parser = values::log_writer()
    )]
    pub(crate) log_writer: Vec<LogWriter>,
    /// Bind the threads of the log writer to these CPUs, such as 1 or 0,2-3
    #[arg(long, value_name = "LIST", value_parser = CpuList::read)]
    pub(crate) log_writer_cpu: Option<CpuList>,
    /// How sessions wait until their redo is durable: post-wait, polling or adaptive [default:
    /// adaptive with --log-writer auto, post-wait with any other]
    #[arg(long, value_name = "MODE", value_delimiter = ',', value_parser = values::log_file_sync())]
    pub(crate) log_file_sync: Vec<LogFileSync>,
    /// What makes the log writer write: commit (a commit with IMMEDIATE), third (a third of the log
    /// buffer is full), a size, a time, several of these, or none. Commits that WAIT for a trigger
    /// that never fires end when the row ends
    #[arg(
        long,
        value_name = "LIST",
        default_value = "commit,third,1MB,3s",
        value_parser = str::parse::<Triggers>
    )]
    pub(crate) flush_triggers: Triggers,
    /// Redo block size in bytes: 512 or 4096 [default: the size of the physical sector]
    #[arg(long, value_name = "512|4096", value_parser = values::block_bytes)]
    pub(crate) block_size: Option<u32>,
    /// Number of log groups
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) log_groups: u32,
    /// Size of each log file, such as 64M
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = parse_bytes)]
    pub(crate) log_file_size: u64,
    /// Size of the log buffer, such as 16M
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = parse_bytes)]
    pub(crate) log_buffer: u64,
    /// How writes are submitted to the kernel: threads (blocking calls), io_uring, or auto (chosen
    /// to suit --log-writer; with --sync-method auto, the one that a probe finds faster)
    #[arg(
        long,
        value_name = "ENGINE",
        default_value = "auto",
        value_delimiter = ',',
        value_parser = values::io()
    )]
    pub(crate) io: Vec<IoEngine>,
    /// Largest number of batches in flight, from 1 to 8; more than 1 needs --log-writer lgwr and
    /// io_uring
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) io_depth: u32,
    /// Keep each log write that takes at least this long, with its time, size and member (the
    /// slowest 180 of each row), and print a warning for it
    #[arg(
        long,
        value_name = "TIME",
        default_value = "500ms",
        value_parser = values::time_over_zero
    )]
    pub(crate) log_write_warning: Nanos,
    /// Put the log buffer in reserved huge pages; without this option it uses transparent huge
    /// pages if the system provides them
    #[arg(long)]
    pub(crate) huge_pages: bool,
    /// Lock the log buffer in memory if the system allows it
    #[arg(long)]
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
