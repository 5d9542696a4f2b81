//! A directory held by its descriptor: everything inside it is reached relative to that
//! descriptor and without following symbolic links.
//!
//! Invariants: a name is one path component of `[A-Za-z0-9._-]{1,64}` without a leading dot (or
//! one of this crate's own hidden names), so nothing leaves the directory; only regular files are
//! read; files are made with mode 0600, directories with 0700; what is replaced is replaced whole.

use device::file::{Directory, is_plain_name};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

/// Longest name that is accepted, in bytes.
pub const NAME_MAX: usize = 64;
/// How often, and how long after each other, it is tried to remove a tree that is still filled.
const TREE_TRIES: u32 = 60;
const TREE_PAUSE: Duration = Duration::from_millis(50);
/// Temporary files of [`Folder::replace`] start with this.
pub const TEMPORARY: &str = ".tmp-";

/// Whether `name` may be used for a run, a series or a working directory.
#[must_use]
pub fn is_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// An open directory.
#[derive(Debug)]
pub struct Folder {
    fd: Directory,
}

impl Folder {
    /// Opens a directory that the user named; a symbolic link given by the user is followed,
    /// nothing below it is.
    ///
    /// # Errors
    /// The system's.
    pub fn open_root(path: &Path) -> io::Result<Folder> {
        Ok(Folder::of(Directory::open(path)?))
    }

    /// Makes a directory that the user named, and those above it, where they are missing.
    ///
    /// # Errors
    /// The system's.
    pub fn make_root(path: &Path, mode: u32) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(mode).create(path)
    }

    /// Of a directory that is held already.
    #[must_use]
    pub fn of(fd: Directory) -> Folder {
        Folder { fd }
    }

    /// The directory, for a log in it.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.fd
    }

    /// Opens a directory in this one; a symbolic link is refused (ENOTDIR or ELOOP).
    ///
    /// # Errors
    /// The system's.
    pub fn open(&self, name: &str) -> io::Result<Folder> {
        Ok(Folder::of(self.fd.open_inside(name.as_ref())?))
    }

    /// Makes a new directory (0700) in this one; an existing one is an error.
    ///
    /// # Errors
    /// The system's.
    pub fn create(&self, name: &str) -> io::Result<Folder> {
        Ok(Folder::of(self.fd.make_folder(name)?))
    }

    /// Makes a new file (0600) for appending; an existing one is an error.
    ///
    /// # Errors
    /// The system's.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        self.fd.create_appended(name)
    }

    /// Opens a regular file for reading; anything else (link, FIFO, device) is refused.
    ///
    /// # Errors
    /// The system's, or `InvalidInput` for what is not a regular file.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        self.fd.open_file(name)
    }

    /// The whole of a regular file of at most `limit` bytes.
    ///
    /// # Errors
    /// The system's, or `InvalidData` for a longer file.
    pub fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(name)?
            .take(limit + 1)
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            let what = format!("{name} is longer than {limit} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(bytes)
    }

    /// Puts a file in place whole: temporary file, fsync, rename, fsync of the directory. After a
    /// failure the earlier file is as it was.
    ///
    /// # Errors
    /// The system's.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = temporary(name);
        let written = self.create_file(&temporary).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        let placed = written.and_then(|()| {
            rustix::fs::renameat(&self.fd, &temporary, &self.fd, name).map_err(io::Error::from)
        });
        if let Err(e) = placed {
            // The first error is the one to tell; a left-over temporary file is never read.
            let _ = rustix::fs::unlinkat(&self.fd, &temporary, AtFlags::empty());
            return Err(e);
        }
        self.sync()
    }

    /// Puts a new file in place whole; an existing one is an error. It has no name before it is
    /// whole, so a kill leaves nothing of it (where the file system knows no files without a name,
    /// a temporary one). Nothing is synchronised.
    ///
    /// # Errors
    /// The system's; nothing is left then.
    pub fn place(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        check(name)?;
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let nameless = rustix::fs::openat(&self.fd, ".", flags, Mode::RUSR | Mode::WUSR);
        let Ok(fd) = nameless else {
            return self.place_renamed(name, bytes);
        };
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let link = |fd| rustix::fs::linkat(fd, &path, fd, name, AtFlags::SYMLINK_FOLLOW);
        match link(&self.fd) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::EXIST) => Err(rustix::io::Errno::EXIST.into()),
            // No /proc here, or a file system that links nothing.
            Err(_) => self.place_renamed(name, bytes),
        }
    }

    fn place_renamed(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = temporary(name);
        let written = self
            .create_file(&temporary)
            .and_then(|mut file| file.write_all(bytes));
        let placed = written.and_then(|()| {
            let flags = RenameFlags::NOREPLACE;
            rustix::fs::renameat_with(&self.fd, &temporary, &self.fd, name, flags)
                .map_err(io::Error::from)
        });
        placed.inspect_err(|_| {
            // The first error is the one to tell; a left-over temporary file is never read.
            let _ = rustix::fs::unlinkat(&self.fd, &temporary, AtFlags::empty());
        })
    }

    /// Names of what is in it, sorted; names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// The system's.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let names = self.fd.names()?.into_iter();
        Ok(names.filter_map(|name| name.into_string().ok()).collect())
    }

    /// Removes a file or a link (never what the link points to).
    ///
    /// # Errors
    /// The system's.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        self.fd.remove_file(name)
    }

    /// Removes an empty directory in this one.
    ///
    /// # Errors
    /// The system's; `DirectoryNotEmpty` when something is left in it.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        self.fd.remove_folder(name)
    }

    /// Removes a directory with whatever is in it; of links only the links. What is made in it
    /// meanwhile, by a server that is just ending, is removed as well, for some seconds.
    ///
    /// # Errors
    /// The system's.
    pub fn remove_tree(&self, name: &str) -> io::Result<()> {
        check(name)?;
        let held = self.fd.as_fd().as_raw_fd();
        let path = format!("/proc/self/fd/{held}/{name}");
        let mut tries = TREE_TRIES;
        loop {
            tries -= 1;
            match std::fs::remove_dir_all(&path) {
                Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty && tries > 0 => {
                    std::thread::sleep(TREE_PAUSE);
                }
                removed => return removed,
            }
        }
    }

    /// Whether `name` in this directory is the directory that `other` holds open.
    #[must_use]
    pub fn holds(&self, name: &str, other: &Folder) -> bool {
        self.fd
            .entry(name)
            .is_ok_and(|entry| entry.leads_to(&other.fd))
    }

    /// Makes names in it durable.
    ///
    /// # Errors
    /// The system's.
    pub fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.fd) {
            // Some network and FUSE file systems cannot sync a directory, and nobody can sync one
            // that he may not read (it is held without reading then).
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::BADF) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Takes the exclusive lock on the directory, kept as long as this value (or a process that
    /// inherited it) lives. `false`: somebody else has it.
    ///
    /// # Errors
    /// The system's.
    pub fn try_lock(&self) -> io::Result<bool> {
        match rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Waits for the exclusive lock; see [`Folder::try_lock`].
    ///
    /// # Errors
    /// The system's.
    pub fn lock(&self) -> io::Result<()> {
        Ok(rustix::fs::flock(&self.fd, FlockOperation::LockExclusive)?)
    }

    /// Whether somebody else has the exclusive lock. Never disturbs others who only look.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        let taken = rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockShared);
        if taken.is_ok() {
            // Unlocking what is ours cannot fail; closing the descriptor would unlock as well.
            let _ = rustix::fs::flock(&self.fd, FlockOperation::Unlock);
        }
        matches!(taken, Err(rustix::io::Errno::WOULDBLOCK))
    }

    /// Its path, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.fd.path()
    }
}

/// A name for what becomes `name`, which no other process or thread uses at the same time.
fn temporary(name: &str) -> String {
    // Each RandomState is seeded by the system; the counter in it makes two differ.
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{TEMPORARY}{name}-{random:016x}")
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Refuses what is not a single component.
fn check(name: &str) -> io::Result<()> {
    if is_plain_name(name.as_ref()) {
        Ok(())
    } else {
        Err(invalid(format!("`{name}` is not a plain file name")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn names_are_plain() {
        for good in [
            "a",
            "20261120-101500-4f2a",
            "LGWR-LAT1_64.x",
            &"x".repeat(64),
        ] {
            assert!(is_name(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            ".a",
            "a/b",
            "a b",
            "ä",
            "a\0",
            "a\n",
            &"x".repeat(65),
        ] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn links_are_not_followed_and_modes_are_private() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Folder::open_root(dir.path()).expect("opens");
        let outside = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(outside.path().join("secret"), "s").expect("writes");
        symlink(outside.path(), dir.path().join("link")).expect("links");
        symlink(outside.path().join("secret"), dir.path().join("file")).expect("links");
        assert!(root.open("link").is_err());
        assert!(root.read("file", 10).is_err());
        assert!(root.create_file("file").is_err());
        assert!(root.open("../x").is_err() && root.open("..").is_err());
        root.replace("file", b"new")
            .expect("a link is replaced, not followed");
        assert_eq!(
            std::fs::read(outside.path().join("secret")).expect("reads"),
            b"s"
        );
        let made = root.create("run").expect("creates");
        made.replace("m", b"1").expect("writes");
        for (path, mode) in [("run", 0o700), ("run/m", 0o600)] {
            let meta = std::fs::metadata(dir.path().join(path)).expect("exists");
            assert_eq!(meta.permissions().mode() & 0o777, mode, "{path}");
        }
        assert_eq!(made.names().expect("lists"), ["m"]);
        assert!(root.read("run/m", 1).is_err(), "a path is not a name");
        assert!(made.read("m", 0).is_err(), "the limit holds");
    }
}
