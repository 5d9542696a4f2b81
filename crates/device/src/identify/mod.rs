//! What a path stands on: the storage stack below it, layer by layer, and who else uses it.
//!
//! What lives here: [`Probe`], which walks mounts (`mountinfo`), block devices (`block`, `disk`)
//! and the machine around them (`hypervisor`) into a [`Stack`]; the room on a volume
//! ([`volume`]); the processes that hold redo or WAL files open (`holders`); who uses a block
//! device (`usage`); where a disk's interrupts arrive (`interrupts`); and all of the machine's file
//! systems (`inventory`).
//!
//! Invariants: facts only, never a judgement and never a guess: what cannot be read is `None`,
//! and [`Stack::unknown`] says so in words. No text of the kernel, however damaged, makes it
//! panic or run forever. Nothing is written, and no command is run.
//!
//! What it must not know: redo, workloads, thresholds, verdicts.

mod block;
mod disk;
mod filesystem;
mod holders;
mod hypervisor;
mod interrupts;
mod inventory;
mod mountinfo;
mod place;
mod root;
mod usage;
mod user;
mod walk;

#[cfg(test)]
mod tests;

pub use holders::{Holder, Holders, OpenLogs, is_log_file};
pub use interrupts::{DiskInterrupts, InterruptCounts, interrupts_since, numa_nodes};
pub use mountinfo::{Mount, MountTable};
pub use place::{Place, Volume, volume};
pub use root::{Dev, Root};
pub use user::{Relation, Use, User};
pub use walk::{BlockDevice, Watched};

use crate::error::DeviceError;
use measure::stack::Stack;
use std::path::Path;

/// A look at one machine, live or recorded. The mount table is read once, when it is made.
#[derive(Clone, Debug)]
pub struct Probe {
    root: Root,
    mounts: MountTable,
    /// The mount table could be read.
    has_mounts: bool,
    /// `LD_PRELOAD` of this process.
    preload: Option<String>,
}

impl Probe {
    /// This machine.
    #[must_use]
    pub fn live() -> Probe {
        let preload = std::env::var_os("LD_PRELOAD");
        Probe {
            preload: preload.map(|value| value.to_string_lossy().into_owned()),
            ..Probe::with_root(Root::live())
        }
    }

    /// A recording, or this machine under another name.
    #[must_use]
    pub fn with_root(root: Root) -> Probe {
        let table = root.bytes("/proc/self/mountinfo");
        Probe {
            has_mounts: table.is_some(),
            mounts: MountTable::parse(&table.unwrap_or_default()),
            preload: None,
            root,
        }
    }

    /// The same, in a process with this `LD_PRELOAD`.
    #[must_use]
    pub fn with_preload(mut self, value: &str) -> Probe {
        self.preload = Some(value.to_owned());
        self
    }

    /// The mount table.
    #[must_use]
    pub fn mounts(&self) -> &MountTable {
        &self.mounts
    }

    /// The stack below a path; a raw block device's begins with the device itself.
    ///
    /// # Errors
    /// When the path does not exist on the live machine.
    pub fn stack_of(&self, path: &Path) -> Result<Stack, DeviceError> {
        Ok(self.stack_at(&self.place(path)?))
    }

    /// The devices whose counters tell of the I/O of a path; `None` when there is no block
    /// device below it that can be seen.
    ///
    /// # Errors
    /// When the path does not exist on the live machine.
    pub fn device_of(&self, path: &Path) -> Result<Option<Watched>, DeviceError> {
        Ok(Watched::of(&self.stack_of(path)?))
    }

    fn place(&self, path: &Path) -> Result<Place, DeviceError> {
        if self.root.is_live() {
            Place::of(path)
        } else {
            Ok(Place::named(path))
        }
    }
}

/// [`Probe::stack_of`] on this machine.
///
/// # Errors
/// When the path does not exist.
pub fn stack_of(path: &Path) -> Result<Stack, DeviceError> {
    Probe::live().stack_of(path)
}

/// [`Probe::device_of`] on this machine.
///
/// # Errors
/// When the path does not exist.
pub fn device_of(path: &Path) -> Result<Option<Watched>, DeviceError> {
    Probe::live().device_of(path)
}

/// [`Probe::holders`] on this machine.
///
/// # Errors
/// When the path does not exist.
pub fn holders(path: &Path) -> Result<Holders, DeviceError> {
    Probe::live().holders(path)
}

/// [`Probe::all`] on this machine.
#[must_use]
pub fn all() -> Vec<Stack> {
    Probe::live().all()
}
