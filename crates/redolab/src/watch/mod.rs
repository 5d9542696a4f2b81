//! Following the log writes of a running database without touching it: which files are its log, the
//! kernel's events on them, and what becomes of these.
//!
//! | file | what lives there |
//! |---|---|
//! | `processes` | processes with their open files, from /proc |
//! | `subject` | whose log is followed: a process, a server by its name, or files |
//! | `files` | the files of that log, kept current while they are switched, recycled and renamed |
//! | `place` | where they lie on their device |
//! | `filters` | which events of the kernel are needed, and their filters |
//! | `join` | events in, log writes and flushes out: a state machine without I/O |
//! | `tally` | what comes out, as intervals and a recording |
//! | `server` | what the server itself counts, and how it is set |
//! | `asked` | asking it at both ends of the watched time |
//! | `plan` | what to watch, as plain data |
//! | `watching` | a log that is being watched: its instance of the trace, its files, its events |
//! | `measured` | following it until the end |
//! | `conduct` | the steps of a watched run |
//! | `canary` | probes of the log's file system, and what held them up |
//!
//! Invariants: nothing is written to the log, its folder or its server; processes are not stopped
//! and not attached to. What events do not show is `None`; events that were lost make the run
//! doubtful.
//!
//! What it must not know: command lines, and how a run is shown.

mod asked;
pub mod canary;
pub mod conduct;
mod files;
mod filters;
pub mod join;
mod measured;
mod place;
mod plan;
mod processes;
mod server;
mod subject;
mod tally;
mod watching;

pub use conduct::watch;
pub use plan::WatchPlan;
pub use subject::{NamedServer, SubjectPlan};
pub use tally::WatchedSecond;

use crate::observe::tracefs::TracefsError;
use std::path::PathBuf;

/// Why a log cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The kernel's tracing cannot be used.
    #[error(transparent)]
    Tracefs(#[from] TracefsError),
    /// No such process.
    #[error(
        "--pid {0}: there is no such process; of a process in a container, its number outside is \
         needed (grep NSpid /proc/[0-9]*/status lists both)"
    )]
    NoProcess(u32),
    /// A process may not be looked at.
    #[error("process {pid}: its open files may not be read: {source}; run as root")]
    Unreadable {
        /// The process.
        pid: u32,
        /// Why not.
        source: std::io::Error,
    },
    /// A process has no log file open.
    #[error(
        "process {pid} ({command}): no file that it or its children have open is named like a redo \
         log; name the log with --file"
    )]
    NoLog {
        /// The process.
        pid: u32,
        /// Its command.
        command: String,
    },
    /// No server of that name runs.
    #[error("--database {0}: no such server runs on this machine")]
    NoServer(&'static str),
    /// Several servers of that name run.
    #[error("--database {name}: several servers run; name one with --pid: {}", pids(.found))]
    Several {
        /// The name.
        name: &'static str,
        /// Their processes.
        found: Vec<u32>,
    },
    /// The folder of the log has no log file.
    #[error("{}: there is no log file in it", .0.display())]
    NoFiles(PathBuf),
    /// A file cannot be used.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A file system whose events are not known.
    #[error(
        "{}: it lies on a file system other than ext4 and XFS, whose trace events are not known to \
         redolab",
        .0.display()
    )]
    FileSystem(PathBuf),
}

fn pids(found: &[u32]) -> String {
    let words: Vec<String> = found.iter().map(u32::to_string).collect();
    words.join(", ")
}
