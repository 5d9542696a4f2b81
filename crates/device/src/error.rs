//! Errors of this crate: each names the file or device and what to do.

use crate::raw::RawDeviceRefusal;
use std::path::PathBuf;

/// What can go wrong before and beside queued I/O.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A system call on a path failed.
    #[error("{path}: {action}: {source}", path = path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted, in words.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The path is not what was expected; the message says what to do.
    #[error("{path}: {what}", path = path.display())]
    Unsuitable {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong and what to do.
        what: String,
    },
    /// Another process holds the log, or this one has it open already.
    #[error("{path}: {}", in_use(*process), path = path.display())]
    InUse {
        /// The locked file.
        path: PathBuf,
        /// The process that holds it, where it can be seen.
        process: Option<u32>,
    },
    /// No process that goes on holds the log, and yet it is locked.
    #[error("{path}: {}", finishing(*seconds, *process, waits), path = path.display())]
    Finishing {
        /// The locked file.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
        /// The process that holds it and is ending, where it can be seen.
        process: Option<u32>,
        /// Names of its threads that wait for a device.
        waits: Vec<String>,
    },
    /// The volume has too little room, or says so.
    #[error("{path}: {}", no_room(*needed, *available), path = path.display())]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes available.
        available: u64,
    },
    /// The caller asked to stop; nothing is left behind.
    #[error("{path}: cancelled", path = path.display())]
    Cancelled {
        /// The file that was being made.
        path: PathBuf,
    },
    /// A transfer that is not aligned as the device needs.
    #[error("{path}: the logical block size ({block}) is not compatible with the disk sector size (media sector size is {physical} and host sector size is {logical}); use a block size of at least {logical}", path = path.display())]
    BlockSize {
        /// The file or device.
        path: PathBuf,
        /// The block size asked for.
        block: u64,
        /// Logical (host) sector size.
        logical: u64,
        /// Physical (media) sector size.
        physical: u64,
    },
    /// A raw device that is not to be written.
    #[error(transparent)]
    Refused(Box<RawDeviceRefusal>),
    /// The device refuses transfers of the sectors that it states.
    #[error("{path}: the device reports sectors of {stated} bytes but accepts no direct transfer of less than {accepted}, and this log has blocks of {block} bytes; use sync method dsync or buffered, or make a log with a block size of {accepted}", path = path.display())]
    Misstated {
        /// The log's directory.
        path: PathBuf,
        /// The log's block size.
        block: u64,
        /// The logical sector that the device states.
        stated: u64,
        /// The smallest transfer that it takes.
        accepted: u64,
    },
    /// An io_uring could not be had.
    #[error("io_uring: {action}: {source}{hint}")]
    Uring {
        /// What was attempted, in words.
        action: &'static str,
        /// Who may have refused, in words, or nothing.
        hint: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// Memory could not be had.
    #[error("cannot allocate {bytes} bytes of aligned memory: {source}")]
    Memory {
        /// Bytes asked for.
        bytes: usize,
        /// The system's error.
        source: std::io::Error,
    },
}

impl From<RawDeviceRefusal> for DeviceError {
    fn from(refusal: RawDeviceRefusal) -> DeviceError {
        DeviceError::Refused(Box::new(refusal))
    }
}

impl DeviceError {
    /// The system's error number, where it was the system that refused.
    #[must_use]
    pub(crate) fn errno(&self) -> Option<rustix::io::Errno> {
        match self {
            DeviceError::Io { source, .. }
            | DeviceError::Memory { source, .. }
            | DeviceError::Uring { source, .. } => rustix::io::Errno::from_io_error(source),
            _ => None,
        }
    }
}

/// Who has the log, and what to do.
fn in_use(process: Option<u32>) -> String {
    match process {
        Some(process) if process == std::process::id() => "in use by this process already; share \
             that log between threads, or drop it and its sessions first"
            .to_owned(),
        Some(process) => format!(
            "in use by process {process}; a redo log has one owner at a time: wait until that \
             process has ended, or use another log"
        ),
        None => "in use by another process; a redo log has one owner at a time: wait until that \
                 process has ended, or use another log"
            .to_owned(),
    }
}

/// What is short, and what to do. A volume can count room that the storage below it has not.
fn finishing(seconds: u64, process: Option<u32>, waits: &[String]) -> String {
    let Some(process) = process else {
        return format!(
            "locked for {seconds} s although no process that can be seen has this log: the device \
             has not finished the last writes of a process that ended, or a process in another \
             container has the log; if the log were opened now, those writes could overwrite new \
             redo; try again, and check whether the device hangs"
        );
    };
    let waits = match waits {
        [] => String::from("it has not left the system"),
        waits => format!("its threads {} wait for a device", waits.join(", ")),
    };
    format!(
        "locked for {seconds} s by process {process}, which was killed or has ended: {waits}; all \
         its locks are released when the device answers; until then its last writes could overwrite \
         new redo; end the hang of the device, then try again"
    )
}

fn no_room(needed: u64, available: u64) -> String {
    if available >= needed {
        return format!(
            "the system reports that no space is left, although the volume counts {available} bytes \
             and {needed} are needed: a quota is used up, or the storage below is full (thin \
             provisioning); choose another volume"
        );
    }
    format!(
        "needs {needed} bytes, {available} are available; choose smaller log files or another \
         volume"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_is_only_counted_is_no_reason_for_smaller_files() {
        let said = |available| {
            let path = PathBuf::from("/u02");
            let needed = 60 << 20;
            DeviceError::NoSpace {
                path,
                needed,
                available,
            }
            .to_string()
        };
        assert!(said(1 << 20).contains("choose smaller log files"));
        let thin = said(8 << 30);
        assert!(
            thin.starts_with("/u02: ") && thin.contains("thin provisioning"),
            "{thin}"
        );
        assert!(!thin.contains("smaller"), "{thin}");
    }
}
