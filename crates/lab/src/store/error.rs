//! Errors of the store: each names the file or the run and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong with the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system does not permit it, or no store can be made there.
    #[error(
        "run store {path}: {action}: {source}; name another store with --store DIR or REDOLAB_STORE",
        path = path.display()
    )]
    Denied {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted, in words.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A system call failed.
    #[error("run store {path}: {action}: {source}", path = path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted, in words.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The volume of the store is full, or a quota is used up.
    #[error(
        "run store {path}: {action}: no space left; what was stored before stays readable. Free \
         some space, delete runs (`redolab runs delete`) or choose another store with --store",
        path = path.display()
    )]
    NoSpace {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted, in words.
        action: &'static str,
    },
    /// Neither `--store`, `REDOLAB_STORE`, `XDG_DATA_HOME` nor `HOME` say where the store is.
    #[error("no place for the run store: HOME is not set; give --store DIR or set REDOLAB_STORE")]
    NoHome,
    /// The directory holds something else.
    #[error(
        "{path}: not a run store: it has files in it but no store.json; choose an empty or a new \
         directory",
        path = path.display()
    )]
    NotAStore {
        /// The directory.
        path: PathBuf,
    },
    /// A later version made the store.
    #[error(
        "{path}: this store has the format {found}, this redolab reads {supported}; use the newer \
         redolab, or another store with --store",
        path = path.display()
    )]
    NewerStore {
        /// The directory.
        path: PathBuf,
        /// The schema that was found.
        found: String,
        /// The schema that is supported.
        supported: &'static str,
    },
    /// A later version made the run.
    #[error(
        "run {id}: it has the format {found}, this redolab reads {supported}; use the newer redolab"
    )]
    NewerRun {
        /// The run.
        id: String,
        /// The schema that was found.
        found: String,
        /// The schema that is supported.
        supported: &'static str,
    },
    /// An earlier version made the run, and nothing of this one reads it.
    #[error(
        "{path}: it has the format {found}, this redolab reads {supported}; measure again, and \
         remove this run with `redolab runs delete {id}`",
        path = path.display()
    )]
    OlderRun {
        /// The run.
        id: String,
        /// Its manifest or its draft.
        path: PathBuf,
        /// The schema that was found.
        found: String,
        /// The schema that is supported.
        supported: &'static str,
    },
    /// A name outside the rule.
    #[error(
        "`{name}` cannot name a run or series: 1 to 64 of A-Z a-z 0-9 . _ - without a leading dot"
    )]
    BadName {
        /// What was given.
        name: String,
    },
    /// A name that means another run at another time.
    #[error("`{name}` cannot be the id of a run: it means the newest run; give the run another id")]
    ReservedName {
        /// What was given.
        name: String,
    },
    /// There is no such run.
    #[error("run {id}: not in the store {path}; `redolab runs` lists them", path = path.display())]
    NoSuchRun {
        /// The run.
        id: String,
        /// The store.
        path: PathBuf,
    },
    /// `last~N` or `LABEL~N` of fewer runs.
    #[error("run {name}: there are only {count} such runs; `redolab runs` lists them")]
    FewRuns {
        /// What was given.
        name: String,
        /// How many there are.
        count: usize,
    },
    /// There are no runs.
    #[error("no runs in {}", path.display())]
    NoRuns {
        /// The store.
        path: PathBuf,
    },
    /// The beginning of an id that several runs have.
    #[error(
        "run {name}: the ids of {count} runs begin with these characters: {}{}",
        some.join(", "),
        if *count > some.len() { ", …" } else { "" }
    )]
    SeveralRuns {
        /// What was given.
        name: String,
        /// How many there are.
        count: usize,
        /// The first of them.
        some: Vec<String>,
    },
    /// An unfinished run without a finished row; the text states why it is unfinished.
    #[error("{0}; no row was finished")]
    NoRow(String),
    /// The run is already there.
    #[error("run {id}: already in the store; runs are never overwritten: delete it first")]
    Exists {
        /// The run.
        id: String,
    },
    /// The run is being written.
    #[error("run {id}: still being written by another process")]
    Running {
        /// The run.
        id: String,
    },
    /// The run ended before it was finished.
    #[error(
        "run {id}: incomplete, it ended before its manifest was written; its intervals are readable"
    )]
    Incomplete {
        /// The run.
        id: String,
    },
    /// Something stored is not what was written.
    #[error("{path}: damaged: {what}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// A file is shorter than it was when it was written.
    #[error(
        "{path}: cut short: {bytes} of {stated} bytes are left; copy the run again, or delete it",
        path = path.display()
    )]
    CutShort {
        /// The file.
        path: PathBuf,
        /// Bytes that are there.
        bytes: u64,
        /// Bytes that were written.
        stated: u64,
    },
    /// The run has no events.
    #[error(
        "run {id}: its events were not captured; measure with --events. (A run that was \
         exported and loaded has no events.)"
    )]
    NoEvents {
        /// The run.
        id: String,
    },
    /// The run cannot be stored as it is.
    #[error("run {id} cannot be stored: {what}")]
    NotStorable {
        /// The run.
        id: String,
        /// Why.
        what: String,
    },
    /// What is exported cannot be written where it is wanted.
    #[error("{0}")]
    Output(io::Error),
    /// A file given to `load` is not an exported run.
    #[error("not an exported run: {what}")]
    NotAnExport {
        /// What does not fit.
        what: String,
    },
}

/// Wraps a system error, telling a full volume from the rest.
pub(super) fn io_error(path: &Path, action: &'static str, source: io::Error) -> StoreError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::NoSpace { path, action }
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::Denied {
            path,
            action,
            source,
        },
        _ => StoreError::Io {
            path,
            action,
            source,
        },
    }
}

/// An error of making the directory of a store: whatever is wrong with it, another one helps.
pub(super) fn making_error(path: &Path, source: io::Error) -> StoreError {
    let action = "making the directory";
    match io_error(path, action, source) {
        StoreError::Io {
            path,
            action,
            source,
        } => StoreError::Denied {
            path,
            action,
            source,
        },
        other => other,
    }
}
