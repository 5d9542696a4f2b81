//! Opening a set: each file is looked at, and opened
//! again for every queue, always by its name in the directory that was held from the beginning.

use super::{Access, FileSet, LogFile, Shared};
use crate::error::DeviceError;
use crate::file::{Directory, DirectoryEntry, Node, Reader, SyncMethod, geometry, io_error};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Weak};

const UNSUITABLE_SIZE: &str = "a log file has at least one byte, and there is at least one file";

impl FileSet {
    /// Opens `paths`, each of exactly `bytes_each` bytes, as one space in that order. What earlier
    /// processes left in caches stays there until [`LogDevice::settle`](crate::LogDevice::settle).
    /// Takes no lock: see [`lock_exclusive`](crate::file::lock_exclusive).
    ///
    /// # Errors
    /// [`DeviceError::Unsuitable`] for links, FIFOs and the like, another size, or a file system
    /// that refuses the method; [`DeviceError::Io`] when the system refuses.
    pub fn open(
        paths: &[PathBuf],
        bytes_each: u64,
        method: SyncMethod,
    ) -> Result<FileSet, DeviceError> {
        let at = DirectoryEntry::all_of(paths)?;
        FileSet::open_as(&at, bytes_each, method, Access::ReadWrite, Node::File)
    }

    /// As [`FileSet::open`], of files in a directory that is held open as long as the set lives:
    /// its path may change hands.
    ///
    /// # Errors
    /// As [`FileSet::open`].
    pub fn open_at(
        directory: &Directory,
        names: &[impl AsRef<OsStr>],
        bytes_each: u64,
        method: SyncMethod,
    ) -> Result<FileSet, DeviceError> {
        let at = directory.entries(names)?;
        FileSet::open_as(&at, bytes_each, method, Access::ReadWrite, Node::File)
    }

    /// Opens files of a held directory as [`FileSet::open`] does, only to read them: nothing is
    /// flushed, and [`LogDevice::queue`](crate::LogDevice::queue) is refused.
    ///
    /// # Errors
    /// As [`FileSet::open`].
    pub fn open_read_only_at(
        directory: &Directory,
        names: &[impl AsRef<OsStr>],
        bytes_each: u64,
    ) -> Result<FileSet, DeviceError> {
        let (method, access) = (SyncMethod::Buffered, Access::ReadOnly);
        let at = directory.entries(names)?;
        FileSet::open_as(&at, bytes_each, method, access, Node::File)
    }

    /// Opens a block device of `bytes` as one space. Its holder sees to it that nobody else
    /// writes there.
    ///
    /// # Errors
    /// As [`FileSet::open`].
    pub(crate) fn open_block(
        path: &Path,
        bytes: u64,
        method: SyncMethod,
    ) -> Result<FileSet, DeviceError> {
        FileSet::open_as(
            &[DirectoryEntry::of(path)?],
            bytes,
            method,
            Access::ReadWrite,
            Node::Block,
        )
    }

    /// As [`FileSet::open_block`], only to be read.
    ///
    /// # Errors
    /// As [`FileSet::open`].
    pub(crate) fn open_block_read_only(path: &Path, bytes: u64) -> Result<FileSet, DeviceError> {
        let (method, access) = (SyncMethod::Buffered, Access::ReadOnly);
        FileSet::open_as(
            &[DirectoryEntry::of(path)?],
            bytes,
            method,
            access,
            Node::Block,
        )
    }

    fn open_as(
        places: &[DirectoryEntry],
        bytes_each: u64,
        method: SyncMethod,
        access: Access,
        node: Node,
    ) -> Result<FileSet, DeviceError> {
        let first = places.first().filter(|_| bytes_each > 0);
        let first = first.ok_or_else(|| DeviceError::Unsuitable {
            path: places
                .first()
                .map(|at| at.path().to_owned())
                .unwrap_or_default(),
            what: UNSUITABLE_SIZE.to_owned(),
        })?;
        let files = places
            .iter()
            .map(|at| LogFile::open(at, bytes_each, access, node))
            .collect::<Result<Box<[_]>, _>>()?;
        let mut caps = geometry::caps(&open_for(first, method, access, node)?, method, node);
        for at in &places[1..] {
            let other = geometry::caps(&open_for(at, method, access, node)?, method, node);
            caps.logical_bytes = caps.logical_bytes.max(other.logical_bytes);
            caps.physical_bytes = caps.physical_bytes.max(other.physical_bytes);
            caps.memory_align = caps.memory_align.max(other.memory_align);
        }
        let misstated = match method.is_direct() {
            true => geometry::misstated(&open_for(first, method, access, node)?, caps, bytes_each)?,
            false => None,
        };
        if let Some(misstated) = &misstated {
            caps.logical_bytes = misstated.accepted;
            caps.physical_bytes = caps.physical_bytes.max(misstated.accepted);
        }
        let shared = Arc::new(Shared {
            files,
            bytes_each,
            method,
            caps,
            misstated,
            access,
            node,
        });
        let lock = Weak::new();
        Ok(FileSet { shared, lock })
    }
}

fn open_for(
    at: &DirectoryEntry,
    method: SyncMethod,
    access: Access,
    node: Node,
) -> Result<OwnedFd, DeviceError> {
    node.open_at(at, access.flags() | method.flags())
}

impl LogFile {
    fn open(
        at: &DirectoryEntry,
        bytes: u64,
        access: Access,
        node: Node,
    ) -> Result<LogFile, DeviceError> {
        let path = at.path();
        let file = open_for(at, SyncMethod::Buffered, access, node)?;
        let failed = |e| io_error(path, "stat", e);
        let size = node.bytes(&file).map_err(failed)?;
        if size != bytes {
            return Err(DeviceError::Unsuitable {
                path: path.to_owned(),
                what: format!("has {size} bytes where the log's files have {bytes}"),
            });
        }
        Ok(LogFile {
            at: at.clone(),
            identity: node.identity(&file).map_err(failed)?,
            reader: Reader::open_at(at, node)?,
            written: AtomicU64::new(0),
            flushed: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        })
    }

    /// A descriptor for a queue, of the same file even if the name has changed hands.
    pub(super) fn reopen(&self, method: SyncMethod, node: Node) -> Result<OwnedFd, DeviceError> {
        let file = open_for(&self.at, method, Access::ReadWrite, node)?;
        let identity = node
            .identity(&file)
            .map_err(|e| io_error(self.at.path(), "stat", e))?;
        if identity == self.identity {
            return Ok(file);
        }
        Err(DeviceError::Unsuitable {
            path: self.at.path().to_owned(),
            what: "was replaced while the log was open".to_owned(),
        })
    }
}
