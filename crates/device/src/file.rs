//! Logs in files: how a file is opened, locked and made durable.
//!
//! What lives here: [`SyncMethod`], the rules for opening (regular files only, no links followed),
//! the lock of an owner; below it [`FileSet`], the device over equal files, `prepare`, which makes
//! log files, `directory`, through which they are reached, `contents`, which changes what is in
//! it, and `extents`, which asks the file system about them.
//!
//! Invariants: nothing that exists is ever overwritten or truncated here; no symbolic link, FIFO,
//! socket or device node is opened as a log file. A block device is opened only for
//! [`raw`](crate::raw), which holds it.
//!
//! What it must not know: what the bytes mean.
#![allow(unsafe_code)]

mod contents;
mod directory;
mod extents;
mod geometry;
pub(crate) mod node;
mod owner;
mod prepare;
mod read;
pub(crate) mod set;

pub use directory::{Directory, DirectoryEntry, is_plain_name};
pub use extents::{MappedExtent, mapped_extents, unwritten_extents};
pub use geometry::Misstated;
pub(crate) use node::Node;
pub(crate) use owner::is_alive;
pub use owner::{owner, owner_at};
pub use prepare::{CreatedFile, create_fallocated, create_fallocated_at};
pub use prepare::{create_prewritten, create_prewritten_at, create_prewritten_locked_at};
pub use prepare::{fill_noise, sync_directory};
pub(crate) use read::Reader;
pub use set::FileSet;

use crate::error::DeviceError;
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::{Errno, ReadWriteFlags};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How a write reaches the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SyncMethod {
    /// Through the page cache, then `fdatasync`.
    Buffered,
    /// `O_DSYNC`: a completed write is durable, a flush has nothing left to do.
    Dsync,
    /// `O_DIRECT`, then `fdatasync`: the page cache is bypassed, the device's cache is not.
    Direct,
    /// `O_DIRECT` with `RWF_DSYNC` on each write: a completed write is durable. Where the device
    /// takes writes with force-unit-access (FUA) nothing else is flushed; where it does not, the
    /// system flushes its whole cache inside each write.
    DirectDsync,
}

impl SyncMethod {
    /// Every method, in the order in which they are listed to people.
    pub const ALL: [SyncMethod; 4] = [
        SyncMethod::Buffered,
        SyncMethod::Dsync,
        SyncMethod::Direct,
        SyncMethod::DirectDsync,
    ];

    /// Its name in options and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SyncMethod::Buffered => "buffered",
            SyncMethod::Dsync => "dsync",
            SyncMethod::Direct => "direct",
            SyncMethod::DirectDsync => "direct-dsync",
        }
    }

    /// A completed write is durable by itself: no flush follows it.
    #[must_use]
    pub const fn durable_writes(self) -> bool {
        matches!(self, SyncMethod::Dsync | SyncMethod::DirectDsync)
    }

    /// The page cache is bypassed: addresses, lengths and memory are aligned to sectors.
    #[must_use]
    pub const fn is_direct(self) -> bool {
        matches!(self, SyncMethod::Direct | SyncMethod::DirectDsync)
    }

    /// What each write says beside its bytes.
    pub(crate) fn write_flags(self) -> ReadWriteFlags {
        match self {
            SyncMethod::DirectDsync => ReadWriteFlags::DSYNC,
            SyncMethod::Buffered | SyncMethod::Dsync | SyncMethod::Direct => {
                ReadWriteFlags::empty()
            }
        }
    }

    fn flags(self) -> OFlags {
        match self {
            SyncMethod::Buffered => OFlags::empty(),
            SyncMethod::Dsync => OFlags::DSYNC,
            SyncMethod::Direct | SyncMethod::DirectDsync => OFlags::DIRECT,
        }
    }
}

impl std::fmt::Display for SyncMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no sync method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown sync method {0:?}; use buffered, dsync, direct or direct-dsync")]
pub struct UnknownSyncMethod(pub String);

impl std::str::FromStr for SyncMethod {
    type Err = UnknownSyncMethod;

    fn from_str(text: &str) -> Result<SyncMethod, UnknownSyncMethod> {
        SyncMethod::ALL
            .into_iter()
            .find(|method| method.name() == text)
            .ok_or_else(|| UnknownSyncMethod(text.to_owned()))
    }
}

/// Holds a file for one owner; dropping the last clone of it, or the end of the process, releases
/// it.
#[derive(Clone, Debug)]
pub struct LockGuard {
    file: Arc<OwnedFd>,
}

impl Drop for LockGuard {
    /// Unlocks, and does not rely on the descriptor's end: a child that another thread is starting
    /// just now has a copy of it until it runs its own program.
    fn drop(&mut self) {
        // A ring that was given up with requests in the kernel keeps the lock.
        if Arc::strong_count(&self.file) == 1 {
            // What was not locked (a raw device is held by its opening) needs no unlocking.
            let _ = rustix::fs::flock(&*self.file, FlockOperation::Unlock);
        }
    }
}

impl LockGuard {
    /// Of a descriptor that already holds what it guards.
    pub(crate) fn of(file: OwnedFd) -> LockGuard {
        LockGuard {
            file: Arc::new(file),
        }
    }

    /// The open file that has the lock, for the rings of the log; gone with this guard.
    pub(crate) fn shared(&self) -> Weak<OwnedFd> {
        Arc::downgrade(&self.file)
    }

    /// Whether the locked file begins with these bytes.
    #[must_use]
    pub fn begins_with(&self, head: &[u8]) -> bool {
        let mut found = vec![0; head.len()];
        self.read_head(&mut found) && found == head
    }

    /// Fills `head` from the beginning of the locked file; false where it is shorter, or cannot be
    /// read.
    pub fn read_head(&self, head: &mut [u8]) -> bool {
        let wanted = head.len();
        matches!(rustix::io::pread(&self.file, head, 0), Ok(read) if read == wanted)
    }

    /// Whether the locked file holds no data at all: it is empty, or only allocated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let size = rustix::fs::fstat(&self.file).map_or(1, |stat| stat.st_size);
        let data = rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Data(0));
        size == 0 || data == Err(Errno::NXIO)
    }

    /// Removes the locked file if `at` still leads to it.
    ///
    /// # Errors
    /// Another file under that name, which stays, or the system's.
    pub fn remove(&self, at: &DirectoryEntry) -> Result<(), DeviceError> {
        at.remove(&self.file)
    }
}

/// How long the last writes of a process that has ended are waited for.
pub(crate) const FINISHING_MAX: Duration = Duration::from_secs(30);
/// How long between two tries.
const FINISHING_PAUSE: Duration = Duration::from_millis(5);

/// Takes the file for this owner alone. The lock is advisory and belongs to the open file: a
/// second call fails in the same process too.
///
/// A process that is alive is not waited for. One that was killed keeps its lock until the device
/// has ended its last writes; those are waited for, at most half a minute.
///
/// # Errors
/// [`DeviceError::InUse`] when somebody else has it, [`DeviceError::Finishing`] when nobody who
/// can be seen has it and it does not become free; otherwise as opening.
pub fn lock_exclusive(path: &Path) -> Result<LockGuard, DeviceError> {
    lock_within(&DirectoryEntry::of(path)?, FINISHING_MAX)
}

/// As [`lock_exclusive`], of a file in a held directory.
///
/// # Errors
/// As [`lock_exclusive`].
pub fn lock_exclusive_at(at: &DirectoryEntry) -> Result<LockGuard, DeviceError> {
    lock_within(at, FINISHING_MAX)
}

fn lock_within(at: &DirectoryEntry, patience: Duration) -> Result<LockGuard, DeviceError> {
    let file = Node::File.open_at(at, OFlags::RDWR)?;
    let begun = Instant::now();
    loop {
        let path = at.path().to_owned();
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // Who had it before may have removed the file.
            Ok(()) if !at.leads_to(&file) => {
                let process = None;
                return Err(DeviceError::InUse { path, process });
            }
            Ok(()) => return Ok(LockGuard::of(file)),
            Err(Errno::WOULDBLOCK) => {}
            Err(errno) => return Err(io_error(at.path(), "lock", errno)),
        }
        let process = owner::holder(at.path(), &file)?;
        if process.is_some_and(owner::is_alive) {
            return Err(DeviceError::InUse { path, process });
        }
        let waited = begun.elapsed();
        if waited >= patience {
            let seconds = waited.as_secs();
            let waits = process.map_or_else(Vec::new, owner::threads_that_wait);
            return Err(DeviceError::Finishing {
                path,
                seconds,
                process,
                waits,
            });
        }
        std::thread::sleep(FINISHING_PAUSE);
    }
}

/// Opens an existing regular file.
#[cfg(test)]
pub(crate) fn open_regular(path: &Path, flags: OFlags) -> Result<OwnedFd, DeviceError> {
    Node::File.open(path, flags)
}

pub(crate) fn io_error(path: &Path, action: &'static str, errno: Errno) -> DeviceError {
    DeviceError::Io {
        path: path.to_owned(),
        action,
        source: errno.into(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rustix::fs::{FileType, Mode};
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A directory of one test, removed with everything in it.
    pub(crate) struct Scratch(pub(crate) PathBuf);

    impl Scratch {
        pub(crate) fn new() -> Scratch {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let name = format!(
                "redolab-device-{}-{}",
                std::process::id(),
                NEXT.fetch_add(1, Ordering::Relaxed)
            );
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir(&path).expect("a fresh directory");
            Scratch(path)
        }

        /// A file of `bytes` zero bytes.
        pub(crate) fn file(&self, name: &str, bytes: u64) -> PathBuf {
            let path = self.0.join(name);
            let zeros = vec![0; usize::try_from(bytes).expect("small")];
            std::fs::write(&path, zeros).expect("writable");
            path
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn methods_are_named_and_parsed() {
        for method in SyncMethod::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        assert!("O_DIRECT".parse::<SyncMethod>().is_err());
        assert_eq!(format!("{:>9}", SyncMethod::Dsync), "    dsync");
    }

    #[test]
    fn one_owner_at_a_time() {
        let scratch = Scratch::new();
        let path = scratch.file("log", 4096);
        let held = lock_exclusive(&path).expect("free");
        assert!(matches!(
            lock_exclusive(&path),
            Err(DeviceError::InUse { .. })
        ));
        // As in a child that has not yet run its own program.
        let copy = rustix::io::dup(&*held.file).expect("a descriptor");
        drop(held);
        lock_exclusive(&path).expect("free again");
        drop(copy);
    }

    /// A process that has ended has the lock: so it looks when its last writes are not finished.
    #[test]
    fn what_an_ended_process_holds_is_waited_for_but_not_for_ever() {
        let scratch = Scratch::new();
        let path = scratch.file("log", 4096);
        let file = open_regular(&path, OFlags::RDWR).expect("a file");
        // flock(1) locks our open file in its own name, and ends.
        let taken = std::process::Command::new("flock")
            .args(["--nonblock", "--exclusive", "0"])
            .stdin(file.try_clone().expect("a descriptor"))
            .status();
        if !taken.is_ok_and(|status| status.success()) {
            return println!("skipped: flock(1) is not here");
        }
        let soon = Duration::from_millis(50);
        let refused = lock_within(&DirectoryEntry::of(&path).expect("an entry"), soon)
            .expect_err("it is locked");
        assert!(
            matches!(refused, DeviceError::Finishing { .. }),
            "{refused}"
        );
        let later = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(file);
        });
        lock_exclusive(&path).expect("free in the end");
        later.join().expect("no panic");
    }

    #[test]
    fn only_regular_files_are_opened() {
        let scratch = Scratch::new();
        let target = scratch.file("log", 4096);
        let link = scratch.0.join("link");
        std::os::unix::fs::symlink(&target, &link).expect("link");
        let fifo = scratch.0.join("fifo");
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, mode, 0).expect("fifo");
        let socket = scratch.0.join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).expect("socket");
        for (path, word) in [
            (&link, "symbolic link"),
            (&fifo, "FIFO"),
            (&socket, "socket"),
            (&scratch.0, "directory"),
        ] {
            let refused = open_regular(path, OFlags::RDWR).expect_err("not a regular file");
            assert!(refused.to_string().contains(word), "{refused}");
        }
        open_regular(&target, OFlags::RDWR).expect("a regular file");
    }
}
