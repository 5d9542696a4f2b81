//! Who holds a log file, asked without taking its lock: a look must not make an owner fail that
//! opens the log at this moment.
//!
//! Limit: `/proc/locks` shows the locks of this PID namespace only, so `None` is no proof.

use super::node::is_block_device;
use crate::DeviceError;
use crate::file::{DirectoryEntry, Node, io_error};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The process that holds the lock of [`lock_exclusive`](crate::file::lock_exclusive) on a file, or
/// a [raw device](crate::raw::HeldRawDevice); `None` where nobody does, or none can be seen.
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

/// Whether a process runs: one of its threads does, the first or another. A process that has ended
/// and was not waited for by its parent has none; nor has one that was killed while its threads
/// cannot leave the system. Where /proc hides its threads (`hidepid`), a process that exists is
/// alive.
pub(crate) fn is_alive(process: u32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return exists(process);
    };
    threads.flatten().any(|thread| {
        let read = |file| std::fs::read_to_string(thread.path().join(file));
        // A thread that has gone meanwhile cannot be read.
        matches!((read("stat"), read("status")), (Ok(stat), Ok(status)) if runs(&stat, &status))
    })
}

/// Names of the threads of `process` that wait for a device in the kernel, where they can be seen.
pub(crate) fn threads_that_wait(process: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let stats = threads.filter_map(|t| std::fs::read_to_string(t.path().join("stat")).ok());
    let mut names: Vec<String> = stats.filter_map(|stat| name_of_waiting(&stat)).collect();
    names.sort();
    names
}

/// The name of the thread with this `stat`, if it waits and no signal wakes it.
fn name_of_waiting(stat: &str) -> Option<String> {
    let (head, rest) = stat.rsplit_once(") ")?;
    let (_, name) = head.split_once('(')?;
    rest.starts_with("D ").then(|| name.to_owned())
}

/// Whether there is such a process, asked without /proc.
fn exists(process: u32) -> bool {
    let pid = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

/// Whether a thread with this `stat` and `status` goes on: it has not ended, is not about to
/// (PF_EXITING), and was not killed with its process (SIGKILL, which waits for its return from the
/// system). A worker of a ring (PF_IO_WORKER) takes that signal and ends its requests first; it
/// runs nothing of the program.
fn runs(stat: &str, status: &str) -> bool {
    const PF_EXITING: u32 = 0x4;
    const PF_IO_WORKER: u32 = 0x10;
    const SIGKILL: u64 = 1 << 8;
    // proc_pid_stat(5): the name in parentheses may contain any character.
    let Some((_, rest)) = stat.rsplit_once(") ") else {
        return false;
    };
    let mut fields = rest.split(' ');
    let ended = matches!(fields.next(), None | Some("Z" | "X"));
    // Behind the state: parent, group, session, terminal and its group.
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u32>().ok());
    let pending = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigPnd:")?.trim(), 16).ok());
    !ended
        && flags.is_none_or(|flags| flags & (PF_EXITING | PF_IO_WORKER) == 0)
        && pending.is_none_or(|pending| pending & SIGKILL == 0)
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
mod tests;
