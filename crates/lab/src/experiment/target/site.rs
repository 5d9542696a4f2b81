//! Where an experiment writes: folders of redolab's own on volumes, or a raw device that is held
//! and cleared to be overwritten.
//!
//! Invariants: a site is made before the first byte is written and after all questions were asked;
//! what a raw device carried is wiped before anything else is written to it. What it must not
//! know: what is measured on it.

use crate::cleanup::WorkFolder;
use crate::experiment::Failure;
use device::file::DirectoryEntry;
use device::raw::{self, ClearedRawDevice, END_BYTES};
use device::{DeviceWindow, FileSet, LogDevice, SyncMethod};
use std::sync::Arc;

/// Where an experiment writes.
#[derive(Debug)]
pub enum Site {
    /// In files of a folder of redolab's own.
    Folder(WorkFolder),
    /// In files of several such folders, at least one.
    Folders(Vec<WorkFolder>),
    /// On a raw device.
    Device(Box<ClearedRawDevice>),
}

impl Site {
    /// The folder, or the first of several; `None` on a raw device.
    #[must_use]
    pub fn folder(&self) -> Option<&WorkFolder> {
        match self {
            Site::Folder(folder) => Some(folder),
            Site::Folders(folders) => folders.first(),
            Site::Device(_) => None,
        }
    }

    /// The folders, to be removed.
    #[must_use]
    pub fn into_folders(self) -> Vec<WorkFolder> {
        match self {
            Site::Folder(folder) => vec![folder],
            Site::Folders(folders) => folders,
            Site::Device(_) => Vec::new(),
        }
    }
}

/// A place for raw writes of
/// [`FILE_BYTES`](crate::experiment::measure::floor::FILE_BYTES) that were all written before.
pub(crate) enum FloorPlace<'a> {
    File(DirectoryEntry),
    Device(&'a ClearedRawDevice),
}

impl FloorPlace<'_> {
    /// As a device of `bytes` under a sync method.
    pub(crate) fn open(
        &self,
        bytes: u64,
        method: SyncMethod,
    ) -> Result<Box<dyn LogDevice>, Failure> {
        Ok(match self {
            FloorPlace::File(at) => {
                let names = [at.name()];
                Box::new(FileSet::open_at(at.directory(), &names, bytes, method)?)
            }
            FloorPlace::Device(device) => {
                let space = Arc::new(device.held().space(method)?);
                let path = device.held().look().path();
                Box::new(DeviceWindow::new(space, END_BYTES, bytes, path)?)
            }
        })
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
