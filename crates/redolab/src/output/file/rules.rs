//! What is asked of an output: who may read it, what becomes of an earlier file, what it must not
//! touch; and why it is refused.

use rustix::fs::Stat;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Bytes that must be available where the result of a measurement is written: reports are smaller.
pub const RESULT_ROOM: u64 = 1 << 20;

/// Who may read an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Mode 0644 without the bits of the umask: figures of a measurement.
    Everyone,
    /// Mode 0600: evidence, which holds statements, names and values of a production system.
    Owner,
}

impl Audience {
    /// The audience of what is made of `imported` data or of measurements.
    #[must_use]
    pub fn of(imported: bool) -> Audience {
        if imported {
            Audience::Owner
        } else {
            Audience::Everyone
        }
    }

    pub(super) fn mode(self) -> u32 {
        match self {
            Audience::Everyone => 0o644,
            Audience::Owner => 0o600,
        }
    }
}

/// What happens to a file that is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced whole.
    Replace,
    /// It stays, and the output is refused.
    Keep,
}

/// Why an output cannot be written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The place is not one to write to; the text says what to do.
    #[error("{path}: {why}", path = path.display())]
    Refused {
        /// The output.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// The volume has no room for a result that takes long to measure.
    #[error(
        "{path}: its volume has {} available, and a result takes up to {}; free some space, or name \
         a file on another volume",
        measure::words::size(*available),
        measure::words::size(RESULT_ROOM),
        path = path.display()
    )]
    NoRoom {
        /// The output.
        path: PathBuf,
        /// Bytes that this user may still write there.
        available: u64,
    },
    /// There is a file already, which had to be kept.
    #[error("{path}: this file already exists and is never replaced", path = path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// A system call failed; what was there before is as it was.
    #[error("{path}: {action}: {source}{}", remedy(source), path = path.display())]
    System {
        /// The output.
        path: PathBuf,
        /// What was attempted, in words.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// What to do about an error of the system; empty where that depends on the error.
#[must_use]
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; make this directory first, or name another place",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; name a place that this user may write to"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space, or name a place on another volume"
        }
        _ => "",
    }
}

/// Files and directories that a command reads, into which it therefore never writes. Compared by
/// device and inode, so that other names and hard links of them are recognised.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub(super) files: BTreeSet<(u64, u64)>,
    pub(super) folders: BTreeSet<(u64, u64)>,
}

impl Inputs {
    /// Adds a file, or what a symbolic link to it names; a file that is missing is ignored.
    pub fn add(&mut self, path: &Path) {
        self.files.extend(rustix::fs::stat(path).ok().map(identity));
    }

    /// Adds a directory with everything up to two levels below it.
    pub fn add_folder(&mut self, path: &Path) {
        let found = rustix::fs::stat(path).ok().map(identity);
        self.folders.extend(found);
    }
}

pub(super) fn identity(stat: Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}
