//! Where an experiment writes: folders of redolab's own on volumes, or a raw device that is held
//! and cleared to be overwritten.
//!
//! Invariants: a site is made before the first byte is written and after all questions were asked;
//! what a raw device carried is wiped before anything else is written to it. What it must not
//! know: what is measured on it.

use crate::cleanup::WorkFolder;
use crate::experiment::Failure;
use device::SyncMethod;
use device::raw::{self, ClearedRawDevice, END_BYTES};

/// Where an experiment writes.
#[derive(Debug)]
pub enum Site {
    /// In files of folders of redolab's own, at least one.
    Folders(Vec<WorkFolder>),
    /// On a raw device.
    Device(Box<ClearedRawDevice>),
}

impl Site {
    /// The folders, to be removed.
    #[must_use]
    pub fn into_folders(self) -> Vec<WorkFolder> {
        match self {
            Site::Folders(folders) => folders,
            Site::Device(_) => Vec::new(),
        }
    }
}

/// Takes away what a device carried, and writes the first `bytes` that a log would have there.
pub(crate) fn prewrite(
    device: &ClearedRawDevice,
    bytes: u64,
    cancel: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let space = device.held().space(SyncMethod::Direct)?;
    let path = device.held().look().path().display().to_string();
    let failed = |e: device::queue::IoOrDevice| Failure::System {
        what: path.clone(),
        source: std::io::Error::other(e),
    };
    raw::wipe(&space).map_err(failed)?;
    let part = (END_BYTES, bytes);
    let whole = raw::prewrite(&space, part, &[], 1, &|_| {}, &|| !cancel());
    if whole.map_err(failed)? {
        Ok(())
    } else {
        Err(Failure::Interrupted)
    }
}

/// Bytes of a raw device that raw writes of `bytes` need.
#[must_use]
pub fn device_bytes(bytes: u64) -> u64 {
    bytes + 2 * END_BYTES
}
