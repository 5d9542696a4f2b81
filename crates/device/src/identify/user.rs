//! What uses a block device, as data and in words.
//!
//! What it must not know: how a use is found (`usage`), and what follows from it.

use std::fmt;
use std::path::PathBuf;

/// A use of a device, or of one that shares its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The kernel's name of the device that is used.
    pub device: String,
    /// How that device is related to the one that was asked for.
    pub relation: Relation,
    /// What uses it.
    pub by: User,
}

/// Devices that share bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The device itself.
    Itself,
    /// The disk that the device is a partition of.
    Disk,
    /// A partition of the device.
    Partition,
}

/// What uses a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum User {
    /// A mounted file system.
    Mount {
        /// Its type.
        kind: String,
        /// Where it is mounted.
        point: PathBuf,
    },
    /// Swap that is on.
    Swap,
    /// A device that stands on it: device mapper, RAID, a cache.
    Holder(String),
    /// A loop device on it.
    Loop(String),
    /// A process that has it open for writing.
    Process {
        /// Its id.
        pid: u32,
        /// Its command.
        command: String,
    },
    /// It could not be seen whether there is any: what was not readable.
    Unknown(String),
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = &self.device;
        match self.relation {
            Relation::Itself => write!(f, "{device} ")?,
            Relation::Disk => write!(f, "{device}, the disk that it is a part of, ")?,
            Relation::Partition => write!(f, "{device}, a partition of it, ")?,
        }
        match &self.by {
            User::Mount { kind, point } => write!(f, "is mounted at {} ({kind})", point.display()),
            User::Swap => write!(f, "is swap that is on"),
            User::Holder(name) => write!(f, "is held by {name}, which uses it"),
            User::Loop(name) => write!(f, "is behind the loop device {name}"),
            User::Process { pid, command } => {
                write!(f, "is open for writing in process {pid} ({command})")
            }
            User::Unknown(what) => write!(f, "may be in use: {what}"),
        }
    }
}
