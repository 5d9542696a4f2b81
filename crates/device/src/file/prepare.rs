//! Making log files: allocated, and written once from end to end.
//!
//! A file that is merely allocated has unwritten extents, and a flush behind the first write of
//! each then also commits the file system's journal: about twice the cost
//! (experiments/mechanisms). So a log's files are written in full before their first
//! use, with data that no device can compress or deduplicate, and never truncated afterwards.
//!
//! Invariants: what exists is never touched; a file that could not be finished is removed, by its
//! name in the directory that it was made in, and only while the name leads to it. Its head is
//! written before anything else, so what a kill leaves is empty or begins with its head.

use crate::error::DeviceError;
use crate::file::{Directory, DirectoryEntry, LockGuard, io_error};
use crate::region::Region;
use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

const CHUNK_BYTES: usize = 4 << 20;

/// Creates `path` (mode 0600) with `bytes` pseudo-random bytes, the first overlaid by `head`, and
/// makes it and its directory entry durable. `progress` hears the bytes written so far; `cancel`
/// is asked before each chunk.
///
/// # Errors
/// [`DeviceError::NoSpace`], [`DeviceError::Cancelled`], or [`DeviceError::Io`], also when the
/// path exists. The unfinished file is removed.
///
/// # Panics
/// When `head` is longer than the file.
pub fn create_prewritten(
    path: &Path,
    bytes: u64,
    head: &[u8],
    seed: u64,
    progress: &dyn Fn(u64),
    cancel: &dyn Fn() -> bool,
) -> Result<(), DeviceError> {
    let at = DirectoryEntry::of(path)?;
    create_prewritten_at(&at, bytes, head, seed, progress, cancel).map(CreatedFile::keep)
}

/// As [`create_prewritten`], in a held directory. The file is removed again unless it is
/// [kept](CreatedFile::keep).
///
/// # Errors
/// As [`create_prewritten`].
///
/// # Panics
/// As [`create_prewritten`].
pub fn create_prewritten_at(
    at: &DirectoryEntry,
    bytes: u64,
    head: &[u8],
    seed: u64,
    progress: &dyn Fn(u64),
    cancel: &dyn Fn() -> bool,
) -> Result<CreatedFile, DeviceError> {
    CreatedFile::create(at, bytes)?.prewrite(head, seed, progress, cancel)
}

/// As [`create_prewritten_at`]; the file is locked, as by
/// [`lock_exclusive`](super::lock_exclusive), before its first byte is written. Between its
/// creation and its lock another owner may lock it and take it for something left over: this call
/// fails then, and leaves the file to that owner.
///
/// # Errors
/// As [`create_prewritten`], and [`DeviceError::InUse`] when another owner locked it first.
///
/// # Panics
/// As [`create_prewritten`].
pub fn create_prewritten_locked_at(
    at: &DirectoryEntry,
    bytes: u64,
    head: &[u8],
    seed: u64,
    progress: &dyn Fn(u64),
    cancel: &dyn Fn() -> bool,
) -> Result<(CreatedFile, LockGuard), DeviceError> {
    let (file, lock) = CreatedFile::create(at, bytes)?.lock()?;
    Ok((file.prewrite(head, seed, progress, cancel)?, lock))
}

/// Creates `path` (mode 0600) with `bytes` allocated and nothing written, durable with its
/// directory entry: what a prober compares a pre-written file with.
///
/// # Errors
/// As [`create_prewritten`]; [`DeviceError::Io`] where the file system cannot allocate.
pub fn create_fallocated(path: &Path, bytes: u64) -> Result<(), DeviceError> {
    create_fallocated_at(&DirectoryEntry::of(path)?, bytes).map(CreatedFile::keep)
}

/// As [`create_fallocated`], in a held directory. The file is removed again unless it is
/// [kept](CreatedFile::keep).
///
/// # Errors
/// As [`create_fallocated`].
pub fn create_fallocated_at(at: &DirectoryEntry, bytes: u64) -> Result<CreatedFile, DeviceError> {
    let file = CreatedFile::create(at, bytes)?;
    if !file.allocate()? {
        return Err(io_error(at.path(), "allocate", Errno::OPNOTSUPP));
    }
    file.finish()
}

/// Makes the entries of a directory durable.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_directory(path: &Path) -> Result<(), DeviceError> {
    let directory = Directory::open(path).map_err(|source| DeviceError::Io {
        path: path.to_owned(),
        action: "make the directory durable",
        source,
    })?;
    directory.sync()
}

/// A file that was made new. Dropped before it is kept, it is removed, if its name in the directory
/// still leads to it.
#[derive(Debug)]
pub struct CreatedFile {
    at: DirectoryEntry,
    file: OwnedFd,
    bytes: u64,
    keep: bool,
}

impl CreatedFile {
    fn create(at: &DirectoryEntry, bytes: u64) -> Result<CreatedFile, DeviceError> {
        require_space(at.directory(), bytes)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
        let file = at
            .open(flags, Mode::RUSR | Mode::WUSR)
            .map_err(|e| io_error(at.path(), "create", e))?;
        Ok(CreatedFile {
            at: at.clone(),
            file,
            bytes,
            keep: false,
        })
    }

    /// Locks the new file. One that another owner locked before is left to that owner.
    fn lock(mut self) -> Result<(CreatedFile, LockGuard), DeviceError> {
        match rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if self.at.leads_to(&self.file) => {}
            Ok(()) | Err(Errno::WOULDBLOCK) => {
                self.keep = true;
                let path = self.at.path().to_owned();
                let process = None;
                return Err(DeviceError::InUse { path, process });
            }
            Err(errno) => return Err(self.error("lock", errno)),
        }
        // The same open file, and so the same lock.
        let same = rustix::io::fcntl_dupfd_cloexec(&self.file, 0);
        let lock = LockGuard::of(same.map_err(|e| self.error("lock", e))?);
        Ok((self, lock))
    }

    /// Writes it from end to end, its head first, and makes it durable.
    fn prewrite(
        self,
        head: &[u8],
        seed: u64,
        progress: &dyn Fn(u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<CreatedFile, DeviceError> {
        let bytes = self.bytes;
        assert!(head.len() as u64 <= bytes, "the head fits the file");
        self.write_all(head, 0)?;
        self.allocate()?;
        self.go_direct();
        let mut chunk = Region::new(CHUNK_BYTES)?;
        let memory = chunk.bytes_mut();
        let mut at = 0;
        while at < bytes {
            if cancel() {
                return Err(DeviceError::Cancelled {
                    path: self.at.path().to_owned(),
                });
            }
            let len = usize::try_from(bytes - at).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
            fill_noise(&mut memory[..len], seed, at);
            overlay(&mut memory[..len], at, head);
            self.write_all(&memory[..len], at)?;
            at += len as u64;
            progress(at);
        }
        self.finish()
    }

    /// It stays when this is dropped.
    pub fn keep(mut self) {
        self.keep = true;
    }

    /// Removes it now.
    ///
    /// # Errors
    /// Another file under its name, which stays, or the system's. It is not tried again.
    pub fn discard(mut self) -> Result<(), DeviceError> {
        self.keep = true;
        self.at.remove(&self.file)
    }

    /// Gives it its final name in the same directory, which must be free, and keeps it. The caller
    /// makes the directory durable.
    ///
    /// # Errors
    /// A name that is taken, or the system's. It has its first name then, and is not kept.
    pub fn rename(&mut self, name: &DirectoryEntry) -> Result<(), DeviceError> {
        if !self.at.leads_to(&self.file) {
            return Err(DeviceError::Unsuitable {
                path: self.at.path().to_owned(),
                what: "was replaced while the log was made".to_owned(),
            });
        }
        // Where a system renames by a link, or its answer was lost, the new name counts.
        if let Err(errno) = self.at.rename_to(name)
            && !name.leads_to(&self.file)
        {
            return Err(io_error(name.path(), "create", errno));
        }
        self.keep = true;
        // Gone already, as a rule.
        let _gone = self.at.remove(&self.file);
        Ok(())
    }

    /// False where the file system has no such call; writing allocates there.
    fn allocate(&self) -> Result<bool, DeviceError> {
        loop {
            match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, self.bytes) {
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
                result => return result.map(|()| true).map_err(|e| self.error("allocate", e)),
            }
        }
    }

    /// Keeps the page cache out of it, where the file system can.
    fn go_direct(&self) {
        // A refusal is an answer: the data then goes through the page cache.
        let _refused = self.set_flag(true);
    }

    fn set_flag(&self, direct: bool) -> Result<(), Errno> {
        let mut flags = rustix::fs::fcntl_getfl(&self.file)?;
        flags.set(OFlags::DIRECT, direct);
        rustix::fs::fcntl_setfl(&self.file, flags)
    }

    fn write_all(&self, mut bytes: &[u8], mut at: u64) -> Result<(), DeviceError> {
        let mut direct = true;
        while !bytes.is_empty() {
            match rustix::io::pwrite(&self.file, bytes, at) {
                Ok(0) => return Err(self.error("write", Errno::IO)),
                Ok(wrote) => {
                    bytes = &bytes[wrote..];
                    at += wrote as u64;
                }
                Err(Errno::INTR) => {}
                // A tail that is no multiple of a sector, or a late refusal of O_DIRECT.
                Err(Errno::INVAL) if direct => {
                    direct = false;
                    self.set_flag(false).map_err(|e| self.error("write", e))?;
                }
                Err(errno) => return Err(self.error("write", errno)),
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<CreatedFile, DeviceError> {
        rustix::fs::fsync(&self.file).map_err(|e| self.error("make durable", e))?;
        let advice = rustix::fs::Advice::DontNeed;
        // Advice only: what stays cached costs memory, not truth.
        let _ignored = rustix::fs::fadvise(&self.file, 0, None, advice);
        self.at.directory().sync()?;
        Ok(self)
    }

    fn error(&self, action: &'static str, errno: Errno) -> DeviceError {
        if errno == Errno::NOSPC {
            let directory = self.at.directory();
            return DeviceError::NoSpace {
                path: directory.path().to_owned(),
                needed: self.bytes,
                available: directory.available_bytes().unwrap_or(0),
            };
        }
        io_error(self.at.path(), action, errno)
    }
}

impl Drop for CreatedFile {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing is left to do about a failure here; the cause is already on its way.
            let _ignored = self.at.remove(&self.file);
        }
    }
}

fn require_space(directory: &Directory, needed: u64) -> Result<(), DeviceError> {
    let path = directory.path();
    let available = directory
        .available_bytes()
        .map_err(|source| DeviceError::Io {
            path: path.to_owned(),
            action: "read free space",
            source,
        })?;
    if available < needed {
        return Err(DeviceError::NoSpace {
            path: path.to_owned(),
            needed,
            available,
        });
    }
    Ok(())
}

fn overlay(chunk: &mut [u8], at: u64, head: &[u8]) {
    if let Some(rest) = usize::try_from(at).ok().and_then(|at| head.get(at..)) {
        let len = rest.len().min(chunk.len());
        chunk[..len].copy_from_slice(&rest[..len]);
    }
}

/// Fills `chunk`, which starts at byte `at` of the file, with the output of SplitMix64 counted
/// from the position, so that any part can be made alone.
pub fn fill_noise(chunk: &mut [u8], seed: u64, at: u64) {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = seed.wrapping_add((at / 8).wrapping_mul(STEP));
    let mut words = chunk.chunks_exact_mut(8);
    for word in &mut words {
        word.copy_from_slice(&measure::workload::split_mix(&mut state).to_le_bytes());
    }
    let tail = words.into_remainder();
    let last = measure::workload::split_mix(&mut state).to_le_bytes();
    tail.copy_from_slice(&last[..tail.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tests::Scratch;
    use crate::file::unwritten_extents;
    use std::cell::Cell;
    use std::os::unix::fs::PermissionsExt;

    fn plain(path: &Path, bytes: u64, head: &[u8]) -> Result<(), DeviceError> {
        create_prewritten(path, bytes, head, 42, &|_| (), &|| false)
    }

    #[test]
    fn a_prewritten_file_is_noise_behind_its_head() {
        let scratch = Scratch::new();
        for bytes in [4096, CHUNK_BYTES as u64 + 8192, 5000] {
            let path = scratch.0.join(format!("log{bytes}"));
            let heard = Cell::new(0);
            create_prewritten(&path, bytes, b"HEAD", 42, &|n| heard.set(n), &|| false)
                .expect("room");
            let content = std::fs::read(&path).expect("readable");
            assert_eq!(content.len() as u64, bytes);
            assert_eq!(heard.get(), bytes);
            assert!(content.starts_with(b"HEAD"));
            let mut expected = vec![0; content.len()];
            fill_noise(&mut expected, 42, 0);
            assert!(content[4..] == expected[4..], "{bytes}");
            let zeros = content.iter().filter(|b| **b == 0).count();
            assert!(zeros < content.len() / 128, "{zeros} zeros are not noise");
            let mode = path.metadata().expect("exists").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn writing_leaves_no_unwritten_extent() {
        let scratch = Scratch::new();
        let (written, allocated) = (scratch.0.join("written"), scratch.0.join("allocated"));
        plain(&written, 1 << 20, b"").expect("room");
        match create_fallocated(&allocated, 1 << 20) {
            Ok(()) => {}
            Err(error) => return println!("skipped: no allocation here: {error}"),
        }
        let (Some(before), Some(after)) =
            (unwritten_extents(&allocated), unwritten_extents(&written))
        else {
            return println!("skipped: the file system does not tell its extents");
        };
        assert!(before > 0, "a merely allocated file has unwritten extents");
        assert_eq!(after, 0);
    }

    #[test]
    fn what_exists_is_left_alone() {
        let scratch = Scratch::new();
        let path = scratch.file("log", 10);
        assert!(plain(&path, 4096, b"").is_err());
        assert!(create_fallocated(&path, 4096).is_err());
        assert_eq!(std::fs::read(&path).expect("still there"), [0; 10]);
    }

    #[test]
    fn a_failure_leaves_no_file() {
        let scratch = Scratch::new();
        let path = scratch.0.join("log");
        let chunks = Cell::new(0);
        let second = || chunks.replace(chunks.get() + 1) == 1;
        let cancelled = create_prewritten(&path, 9 << 20, b"", 1, &|_| (), &second);
        assert!(matches!(cancelled, Err(DeviceError::Cancelled { .. })));
        assert!(!path.exists());
        let huge = plain(&path, 1 << 60, b"");
        assert!(matches!(huge, Err(DeviceError::NoSpace { .. })));
        assert!(!path.exists());
        let panicking = std::panic::catch_unwind(|| {
            let stop = |_| std::panic::panic_any(());
            create_prewritten(&path, 4096, b"", 1, &stop, &|| false)
        });
        assert!(panicking.is_err() && !path.exists());
        assert!(plain(&scratch.0.join("absent/log"), 4096, b"").is_err());
    }

    /// Where a rename is a link and a removal, or its answer is lost on the way, the file may have
    /// both names, or the new one and an error.
    #[test]
    fn a_file_that_has_its_new_name_is_kept_under_it_alone() {
        let scratch = Scratch::new();
        let directory = Directory::open(&scratch.0).expect("opens");
        let [first, last] = ["first", "last"].map(|name| directory.entry(name).expect("a name"));
        let made = || create_prewritten_at(&first, 4096, b"HEAD", 1, &|_| (), &|| false);
        let mut file = made().expect("room");
        std::fs::hard_link(first.path(), last.path()).expect("links");
        file.rename(&last).expect("it has the name");
        drop(file);
        assert!(last.path().exists() && !first.path().exists());
        // Somebody else's file stays, and ours has no other name.
        let mut file = made().expect("room");
        file.rename(&last).expect_err("taken");
        drop(file);
        assert!(last.path().exists() && !first.path().exists());
    }
}
