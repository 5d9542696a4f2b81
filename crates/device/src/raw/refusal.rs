//! Why a raw device is not written: each reason names the device and says what to do.

use crate::identify::{Use, User};
use std::path::PathBuf;

/// A raw device that is not to be written. Nothing was changed on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RawDeviceRefusal {
    /// The path leads to something else.
    #[error("{path}: not a block device", path = path.display())]
    NotABlockDevice {
        /// The path.
        path: PathBuf,
    },
    /// It, its disk or a partition of it is in use.
    #[error("{path}: {used}; a device in use is never overwritten: {}", way_out(used), path = path.display())]
    InUse {
        /// The path.
        path: PathBuf,
        /// By what.
        used: Use,
    },
    /// The kernel says that somebody has it exclusively, and does not say who.
    #[error(
        "{path}: the device is in use (EBUSY): it is mounted, perhaps in another container, or part \
         of a pool, an array or another process's log; free it, or name another device",
        path = path.display()
    )]
    Claimed {
        /// The path.
        path: PathBuf,
    },
    /// It takes no writes.
    #[error("{path}: the device is read-only; a redo log cannot be written there", path = path.display())]
    ReadOnly {
        /// The path.
        path: PathBuf,
    },
    /// Its sectors do not lie on those of the medium.
    #[error(
        "{path}: the device does not begin at a boundary of physical sectors of {physical} bytes, so \
         an interrupted write could destroy acknowledged redo in the same sector; align the partition",
        path = path.display()
    )]
    Misaligned {
        /// The path.
        path: PathBuf,
        /// Physical sector in bytes.
        physical: u32,
    },
    /// Too small for what was asked for.
    #[error(
        "{path}: the device has {available} bytes, the log needs {needed}: choose smaller or fewer \
         log files, or a larger device",
        path = path.display()
    )]
    TooSmall {
        /// The path.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes that it has.
        available: u64,
    },
    /// Its path was not repeated.
    #[error(
        "{path}: this is a raw block device ({inventory}); everything on it would be lost. If you \
         want this, repeat its path: --destroy {path}",
        path = path.display()
    )]
    Unconfirmed {
        /// The path.
        path: PathBuf,
        /// Size, model and signatures.
        inventory: String,
    },
    /// Another path was repeated.
    #[error(
        "{path}: --destroy names another path, {repeated}; {path} is {inventory}. If everything on \
         it may be lost, type --destroy {path}",
        path = path.display(), repeated = repeated.display()
    )]
    OtherPath {
        /// The path.
        path: PathBuf,
        /// What was repeated.
        repeated: PathBuf,
        /// Size, model and signatures.
        inventory: String,
    },
    /// It is not what was looked at.
    #[error(
        "{path}: this is no longer the device that was inspected a moment ago, or its content has \
         changed; inspect it again",
        path = path.display()
    )]
    Replaced {
        /// The path.
        path: PathBuf,
    },
}

fn way_out(used: &Use) -> &'static str {
    match used.by {
        User::Mount { .. } => "unmount it, or name a directory on it, or another device",
        User::Swap => "name another device, or switch that swap off first",
        User::Holder(_) | User::Loop(_) => "name the device that uses it, or another device",
        User::Process { .. } => "end that process, or name another device",
        User::Unknown(_) => "run where /proc and /sys show it, or name another device",
    }
}
