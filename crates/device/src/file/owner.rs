//! Who holds a log file, asked without taking its lock: a look must not make an owner fail that
//! opens the log at this moment.
//!
//! Limit: `/proc/locks` shows the locks of this PID namespace only, so `None` is no proof.

use crate::DeviceError;
use crate::file::{DirectoryEntry, Node, io_error};
use crate::raw::is_block_device;
use rustix::fs::OFlags;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The process that holds the lock of [`lock_exclusive`](crate::file::lock_exclusive) on a file, or
/// a [raw device](crate::raw::Held); `None` where nobody does, or none can be seen.
///
/// # Errors
/// As opening the file to read it.
pub fn owner(path: &Path) -> Result<Option<u32>, DeviceError> {
    let file = if is_block_device(path) {
        let resolved = path.canonicalize().map_err(|source| DeviceError::Io {
            path: path.to_owned(),
            action: "look up the device",
            source,
        })?;
        Node::Block.open(&resolved, OFlags::RDONLY)?
    } else {
        return owner_at(&DirectoryEntry::of(path)?);
    };
    holder(path, &file)
}

/// As [`owner`], of a regular file in a held directory.
///
/// # Errors
/// As opening the file to read it.
pub fn owner_at(at: &DirectoryEntry) -> Result<Option<u32>, DeviceError> {
    holder(at.path(), &Node::File.open_at(at, OFlags::RDONLY)?)
}

pub(super) fn holder(path: &Path, file: &OwnedFd) -> Result<Option<u32>, DeviceError> {
    let stat = rustix::fs::fstat(file).map_err(|e| io_error(path, "stat", e))?;
    let (major, minor) = (
        rustix::fs::major(stat.st_dev),
        rustix::fs::minor(stat.st_dev),
    );
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    Ok(find(&locks, (major, minor), stat.st_ino))
}

/// Whether a process runs. One that has ended and was not waited for by its parent does not; nor
/// does one that was killed while one of its threads cannot leave the system.
pub(super) fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // proc_pid_stat(5): the name in parentheses may contain any character.
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The first exclusive flock of a file in the text of `/proc/locks`. File systems with several
/// volumes (btrfs) show an anonymous device of their own to `stat` and another one here.
fn find(locks: &str, (major, minor): (u32, u32), inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        // 12: FLOCK  ADVISORY  WRITE 4242 fe:00:1315 0 EOF
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, file, ..] = fields.as_slice() else {
            return None;
        };
        let mut parts = file.split(':');
        let mut hex = || u32::from_str_radix(parts.next()?, 16).ok();
        let device = (hex()?, hex()?);
        let same = device == (major, minor) || (device.0 == 0 && major == 0);
        let number: u64 = parts.next()?.parse().ok()?;
        (same && number == inode).then(|| pid.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{lock_exclusive, tests::Scratch};

    #[test]
    fn locks_are_found_by_device_and_inode() {
        let locks = "\
1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF
2: FLOCK  ADVISORY  READ  12 fe:00:77 0 EOF
2: -> FLOCK  ADVISORY  WRITE 16 fe:00:77 0 EOF
3: FLOCK  ADVISORY  WRITE 13 fe:01:77 0 EOF
4: FLOCK  ADVISORY  WRITE 14 fe:00:77 0 EOF
5: FLOCK  ADVISORY  WRITE 15 00:2b:78 0 EOF
6: FLOCK
";
        for (dev, inode, want) in [
            ((254, 0), 77, Some(14)),
            ((254, 1), 77, Some(13)),
            ((254, 0), 78, None),
            ((0, 99), 78, Some(15)),
            ((7, 0), 77, None),
        ] {
            assert_eq!(find(locks, dev, inode), want, "{dev:?} {inode}");
        }
    }

    #[test]
    fn a_held_file_names_its_owner_and_a_free_one_nobody() {
        let scratch = Scratch::new();
        let path = scratch.file("log", 4096);
        assert_eq!(owner(&path).expect("readable"), None);
        let held = lock_exclusive(&path).expect("free");
        assert_eq!(owner(&path).expect("readable"), Some(std::process::id()));
        drop(held);
        assert_eq!(owner(&path).expect("readable"), None);
    }
}
