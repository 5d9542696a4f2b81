//! What a log may stand on: a regular file, or a block device.
//!
//! Invariants: the caller that opens names the kind, which is never taken from what is found;
//! symbolic links are not followed; a path that changed hands while it was opened is refused.

use crate::error::DeviceError;
use crate::file::{DirectoryEntry, io_error};
use crate::ioctl;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The kind of node that is to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A regular file.
    File,
    /// A block device.
    Block,
}

impl Node {
    /// Opens an existing node of this kind by its path.
    pub(crate) fn open(self, path: &Path, flags: OFlags) -> Result<OwnedFd, DeviceError> {
        self.open_at(&DirectoryEntry::of(path)?, flags)
    }

    /// Opens an existing node of this kind. Looking before opening keeps other nodes from
    /// noticing; looking again at the descriptor keeps a swapped name out.
    pub(crate) fn open_at(
        self,
        at: &DirectoryEntry,
        flags: OFlags,
    ) -> Result<OwnedFd, DeviceError> {
        let path = at.path();
        let seen = at.stat().map_err(|e| io_error(path, "stat", e))?;
        self.refuse_others(path, FileType::from_raw_mode(seen.st_mode))?;
        let flags = flags | OFlags::NOCTTY;
        let file = at.open(flags, Mode::empty()).map_err(|e| match e {
            Errno::INVAL if flags.contains(OFlags::DIRECT) => DeviceError::Unsuitable {
                path: path.to_owned(),
                what: self.no_direct().to_owned(),
            },
            e => io_error(path, "open", e),
        })?;
        let opened = rustix::fs::fstat(&file).map_err(|e| io_error(path, "stat", e))?;
        self.refuse_others(path, FileType::from_raw_mode(opened.st_mode))?;
        if self.identity_of(&opened) != self.identity_of(&seen) {
            return Err(DeviceError::Unsuitable {
                path: path.to_owned(),
                what: "was replaced while it was being opened".to_owned(),
            });
        }
        Ok(file)
    }

    /// What distinguishes it from others, whatever its path: device and inode of a file, the number
    /// of the device itself.
    pub(crate) fn identity(self, file: &OwnedFd) -> Result<(u64, u64), Errno> {
        rustix::fs::fstat(file).map(|stat| self.identity_of(&stat))
    }

    fn identity_of(self, stat: &rustix::fs::Stat) -> (u64, u64) {
        match self {
            Node::File => (stat.st_dev, stat.st_ino),
            Node::Block => (stat.st_rdev, 0),
        }
    }

    /// Its size in bytes.
    pub(crate) fn bytes(self, file: &OwnedFd) -> Result<u64, Errno> {
        match self {
            Node::File => {
                rustix::fs::fstat(file).map(|stat| u64::try_from(stat.st_size).unwrap_or(0))
            }
            Node::Block => ioctl::bytes(file),
        }
    }

    fn no_direct(self) -> &'static str {
        match self {
            Node::File => "the file system refuses O_DIRECT; use dsync or buffered",
            Node::Block => "the device refuses O_DIRECT; use dsync or buffered",
        }
    }

    fn refuse_others(self, path: &Path, kind: FileType) -> Result<(), DeviceError> {
        let is = match (self, kind) {
            (Node::Block, FileType::BlockDevice) | (Node::File, FileType::RegularFile) => {
                return Ok(());
            }
            (Node::File, FileType::BlockDevice) => {
                "a block device; a redo log needs a regular file on it"
            }
            (Node::Block, _) => "not a block device",
            (Node::File, FileType::Symlink) => "a symbolic link; name the file itself",
            (Node::File, FileType::Directory) => "a directory; name a file in it",
            (Node::File, FileType::Fifo) => "a FIFO; a redo log needs a regular file",
            (Node::File, FileType::Socket) => "a socket; a redo log needs a regular file",
            (Node::File, FileType::CharacterDevice) => {
                "a character device; a redo log needs a regular file"
            }
            (Node::File, FileType::Unknown) => {
                "of an unknown kind; a redo log needs a regular file"
            }
        };
        Err(DeviceError::Unsuitable {
            path: path.to_owned(),
            what: format!("is {is}"),
        })
    }
}

/// Whether a path leads to a block device, links followed; `false` also where it leads nowhere.
#[must_use]
pub fn is_block_device(path: &Path) -> bool {
    let kind = rustix::fs::stat(path).map(|stat| FileType::from_raw_mode(stat.st_mode));
    kind == Ok(FileType::BlockDevice)
}
