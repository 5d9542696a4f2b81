//! Errors of the log: each names the file or place and what to do.

use crate::group::MAX_SEAL_BYTES;
use crate::rba::Rba;
use crate::writer::{Cause, MAX_DEPTH};
use device::queue::IoOrDevice;
use device::{DeviceError, IoFailure};
use std::path::{Path, PathBuf};

/// Why no log can have a [`Shape`](crate::Shape).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The redo block size is neither 512 nor 4096.
    #[error("block size {bytes}: use 512 or 4096")]
    BlockBytes {
        /// Bytes that were asked for.
        bytes: u32,
    },
    /// The number of log groups is out of bounds.
    #[error("{groups} log groups: use 2 to 1024")]
    Groups {
        /// Groups that were asked for.
        groups: u32,
    },
    /// The size of a log file is out of bounds, or not a multiple of 4096.
    #[error("log files of {bytes} bytes: use a multiple of 4096 from 512k to 1T")]
    FileBytes {
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// The device's physical sectors are too large for any log.
    #[error("physical sectors of {bytes} bytes: a log supports at most {MAX_SEAL_BYTES}")]
    PhysicalSector {
        /// Bytes of a sector.
        bytes: u32,
    },
}

/// What can go wrong with a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device or a file refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Control information could not be made durable.
    #[error("{path}: control information could not be made durable: {source}; the log cannot continue", path = path.display())]
    Control {
        /// The control file.
        path: PathBuf,
        /// Why.
        source: IoOrDevice,
    },
    /// A member failed while the members of a log were made equal.
    #[error("{path}: this member failed while the members were made equal: {source}; open the log without it", path = path.display())]
    Member {
        /// The member.
        path: PathBuf,
        /// Why.
        source: IoOrDevice,
    },
    /// What was given are not the members of one log, or not enough of them.
    #[error("{path}: {what}", path = path.display())]
    Members {
        /// The member that shows it.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// What was given is not the whole stripe of one log.
    #[error("{path}: {what}", path = path.display())]
    Stripe {
        /// The file or directory that shows it.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A raw device failed while a log was made on it.
    #[error("{path}: writing a new log failed: {source}; the device holds no log", path = path.display())]
    Making {
        /// The device.
        path: PathBuf,
        /// Why.
        source: IoOrDevice,
    },
    /// The log files could not be flushed before recovery.
    #[error("{path}: flushing before recovery failed: {source}; nothing was changed", path = path.display())]
    TailFlush {
        /// The log's directory.
        path: PathBuf,
        /// Why.
        source: IoOrDevice,
    },
    /// The directory that a log was to be made or opened in is not there, or is no directory.
    #[error(
        "{path}: {}",
        match *is_file {
            true => "this is not a directory: name the directory that holds, or is to hold, the log",
            false => "there is no such directory: make it first (mkdir -p), or correct the path",
        },
        path = path.display()
    )]
    NoDirectory {
        /// The path that was given.
        path: PathBuf,
        /// Something that is no directory has that name, or a part of the path is none.
        is_file: bool,
    },
    /// A directory without a redo log.
    #[error("{path}: there is no redo log in this directory (it contains no redo.ctl): create a log there first, or name the directory of one", path = path.display())]
    NoLog {
        /// The directory.
        path: PathBuf,
    },
    /// A log was to be made where there is one.
    #[error("{path}: there is a redo log in this directory already; nothing was changed: open it, or choose another directory", path = path.display())]
    Exists {
        /// The control file of that log.
        path: PathBuf,
    },
    /// Not a redo log of this project.
    #[error("{path}: not a redolab log file; nothing was changed", path = path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// The creation of the log was interrupted, or is under way.
    #[error("{path}: the creation of this log was interrupted, or is still under way; it holds no redo yet: create the log again, which removes what an interrupted creation left", path = path.display())]
    Unfinished {
        /// What is left: the control file under its first name.
        path: PathBuf,
    },
    /// Another creation of a log is under way in the same directory.
    #[error(
        "{path}: {} creating a log in this directory at this moment; nothing was changed: wait \
         until that has ended, or choose another directory",
        creator(*process),
        path = path.display()
    )]
    BeingCreated {
        /// The control file of that log under its first name.
        path: PathBuf,
        /// The process that is at it, where it can be seen.
        process: Option<u32>,
    },
    /// The control file of a log that has been opened has the name of an unfinished one.
    #[error("{path}: this is the control file of a log that was already in use, but it has the name of an unfinished one; the log files in its directory may hold acknowledged redo: remove nothing; rename it to redo.ctl and open the log", path = path.display())]
    Misnamed {
        /// The control file under that name.
        path: PathBuf,
    },
    /// A file stands where a log is to be made, and nothing proves that an interrupted creation
    /// left it.
    #[error("{path}: this file is in the way of a new log, and nothing proves that an interrupted creation left it; move it away", path = path.display())]
    InTheWay {
        /// The file.
        path: PathBuf,
    },
    /// Written by another version of the format.
    #[error(
        "{path}: format version {found}; this program reads versions {} and {}",
        crate::format::VERSION_WITHOUT_LIVES,
        crate::format::FORMAT_VERSION,
        path = path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u8,
    },
    /// The file belongs to another log, group or shape.
    #[error("{path}: {what}; was it copied from another log?", path = path.display())]
    WrongLog {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// Both copies of the control information are damaged.
    #[error("{path}: both copies of the control information are damaged; restore the file from a copy of this log", path = path.display())]
    ControlDamaged {
        /// The control file.
        path: PathBuf,
    },
    /// The log is damaged before its end: acknowledged redo would be missing.
    #[error("{path}: damaged at RBA {rba}: expected {expected}, found {found}; not opened, so that no acknowledged commit is silently lost", path = path.display())]
    Corrupt {
        /// The log's directory or file.
        path: PathBuf,
        /// Where.
        rba: Rba,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Blocks of two copies of one log were mixed: each copy went on by itself.
    #[error("{path}: the block at RBA {rba} was written by another copy of this log (incarnation {incarnation}: life {found} there, {expected} here); not opened, so that redo of two copies is never recovered as one log; restore all files from the same copy", path = path.display())]
    MixedCopies {
        /// The log's directory or file.
        path: PathBuf,
        /// The block.
        rba: Rba,
        /// Number of the incarnation that both copies have.
        incarnation: u32,
        /// Its life in this copy.
        expected: String,
        /// Its life in the copy that wrote the block.
        found: String,
    },
    /// More crashes since the last checkpoint than the control information can tell.
    #[error(
        "the log was recovered {kept} times since the last checkpoint, and no more recoveries can be \
         recorded: it cannot be opened, but its records can still be read (redolab inspect --dump); \
         checkpoint after each recovery"
    )]
    TooManyIncarnations {
        /// Incarnations kept.
        kept: usize,
    },
    /// A write or flush failed earlier; nothing more is acknowledged.
    #[error("the log is poisoned: {0}; nothing more is acknowledged, reopen it to recover")]
    Poisoned(Cause),
    /// The record is larger than this log takes.
    #[error(
        "a record of {len} bytes is too large; this log accepts at most {max} (an eighth of the log buffer or a quarter of a log file)"
    )]
    RecordTooLarge {
        /// Its bytes.
        len: u64,
        /// The most.
        max: u64,
    },
    /// No log can have such a shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// [`Options::buffer_bytes`](crate::Options::buffer_bytes) is out of bounds.
    #[error("a log buffer of {bytes} bytes: use 1M to 1G")]
    Buffer {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// [`LogWriter::Workers`](crate::LogWriter::Workers) with a number that is out of bounds.
    #[error("{count} log writer workers: use 1 to {MAX_DEPTH}")]
    Workers {
        /// Workers that were asked for.
        count: u32,
    },
    /// [`Policy::depth`](crate::writer::Policy::depth) is out of bounds.
    #[error("{depth} batches in flight: use 1 to {MAX_DEPTH}")]
    Depth {
        /// Batches in flight that were asked for.
        depth: u32,
    },
    /// The log was made for smaller physical sectors than the device has.
    #[error("{path}: this log was made for physical sectors of {made_for} bytes, here they have {found}: an interrupted write could destroy acknowledged redo; move the log back to its device, or its records to a new log", path = path.display())]
    Sectors {
        /// The log's directory or device.
        path: PathBuf,
        /// Bytes of the sectors that it was made for.
        made_for: u64,
        /// Bytes of the device's physical sectors.
        found: u32,
    },
    /// The log writer cannot stay on the CPUs that were asked for.
    #[error("CPU of the log writer: {0}")]
    Cpu(#[source] std::io::Error),
    /// The system has no thread for the log writer.
    #[error("no thread for the log writer: {0}; nothing was written")]
    Thread(#[source] std::io::Error),
    /// The log was closed while its next block lay in a log that the checkpoint or, in archive
    /// mode, the archiver still needs: redo that was reported durable to nobody was not written.
    #[error(
        "the log is full up to its checkpoint or to what was archived: redo that was not acknowledged could not be written before the log was closed"
    )]
    CheckpointIncomplete,
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
    /// A waker closed the log on the thread of a log writer that has several log writes in flight:
    /// that thread cannot wait for them. The log takes no more redo, gives up its files when it is
    /// dropped, and recovers when it is opened again.
    #[error(
        "a waker closed the log on the log writer's own thread, which cannot wait for its log writes: the log takes no more redo, and recovers when it is opened again; close a log on a thread of your own"
    )]
    ClosedByWaker,
    /// A log was to be made on a raw device that nobody confirmed may be overwritten.
    #[error("{path}: this device may not be overwritten: to make a log on a raw device, consent to it first; nothing was changed", path = path.display())]
    NotCleared {
        /// The device.
        path: PathBuf,
    },
    /// Redo that was asked for is not kept any more: the log files were reused since, or the log
    /// was recovered since and the checkpoint has passed it.
    #[error("the log no longer has the redo at RBA {asked}: it has redo from RBA {kept} on")]
    Overwritten {
        /// The position that was asked for.
        asked: Rba,
        /// Every position from here on can be read.
        kept: Rba,
    },
    /// A position that cannot be read from.
    #[error("reading from {asked} is not possible: {why}")]
    Position {
        /// The position.
        asked: Rba,
        /// Why it cannot be read from.
        why: &'static str,
    },
    /// Redo behind damage is not given up.
    #[error("{path}: giving up redo from RBA {asked} on is refused: {why}; nothing was changed", path = path.display())]
    Salvage {
        /// The log's directory or device.
        path: PathBuf,
        /// The position that was named.
        asked: Rba,
        /// Why.
        why: String,
    },
    /// A position up to which redo cannot have been archived.
    #[error("taking the redo before {asked} for archived is not possible: {why}")]
    Archive {
        /// The position.
        asked: Rba,
        /// Why.
        why: &'static str,
    },
    /// A checkpoint position that the log has not reached or has passed.
    #[error("a checkpoint at {asked} is not possible: {why}")]
    Checkpoint {
        /// The position.
        asked: Rba,
        /// Why.
        why: &'static str,
    },
}

impl Error {
    /// The failed operation behind it; EIO where the system said nothing.
    pub(crate) fn io_failure(&self) -> IoFailure {
        const EIO: i32 = 5;
        match self {
            Error::Control {
                source: IoOrDevice::Io(failure),
                ..
            } => *failure,
            _ => IoFailure { errno: EIO },
        }
    }

    pub(crate) fn control(path: &Path, source: IoOrDevice) -> Error {
        Error::Control {
            path: path.to_owned(),
            source,
        }
    }
}

/// Who creates a log.
fn creator(process: Option<u32>) -> String {
    match process {
        Some(process) if process == std::process::id() => "this process is already".to_owned(),
        Some(process) => format!("process {process} is"),
        None => "another process is".to_owned(),
    }
}
