//! A directory held by its descriptor, and names in it: what is opened, made or removed there is
//! reached relative to the descriptor, so the directory's path may change hands meanwhile.
//!
//! Invariants: a name is one plain component; no symbolic link is followed below the directory; a
//! file is removed only while its name leads to the very file that was made (device and inode).
//! Between that look and the removal the name could still change hands, by somebody who may write
//! in the directory itself: it has to belong to the log's owner.

use crate::error::DeviceError;
use crate::file::io_error;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory held open. Cheap to clone; all clones share one descriptor.
#[derive(Clone, Debug)]
pub struct Directory {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

impl Directory {
    /// Opens the directory that a user named: symbolic links in the path are followed, nothing
    /// below it is. One that may be searched but not listed is held too; it cannot be synchronised.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Directory> {
        Ok(Directory::held(CWD, path, OFlags::empty(), path)?)
    }

    /// Opens a directory in this one; a symbolic link is refused (ENOTDIR or ELOOP).
    ///
    /// # Errors
    /// The system's, or `InvalidInput` for a name that is not one plain component.
    pub fn open_inside(&self, name: &OsStr) -> io::Result<Directory> {
        check(name)?;
        let path = self.held.path.join(name);
        Ok(Directory::held(self, name, OFlags::NOFOLLOW, &path)?)
    }

    fn held<P: rustix::path::Arg + Copy>(
        at: impl AsFd,
        name: P,
        more: OFlags,
        path: &Path,
    ) -> Result<Directory, Errno> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | more;
        let open = |mode| rustix::fs::openat(&at, name, flags | mode, Mode::empty());
        let fd = match open(OFlags::RDONLY) {
            Err(Errno::ACCESS) => open(OFlags::PATH)?,
            result => result?,
        };
        Ok(Directory::of(Arc::new(fd), path.to_owned()))
    }

    /// Of a descriptor that leads to a directory; its path is for messages.
    #[must_use]
    pub fn of(fd: Arc<OwnedFd>, path: PathBuf) -> Directory {
        let held = Arc::new(Held { fd, path });
        Directory { held }
    }

    /// The descriptor, which stays open as long as anybody has it.
    #[must_use]
    pub fn descriptor(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.held.fd)
    }

    /// The directory that contains it by now, wherever it was moved; of the root, itself.
    ///
    /// # Errors
    /// The system's.
    pub fn parent(&self) -> io::Result<Directory> {
        let path = self.path().parent().unwrap_or(self.path());
        Ok(Directory::held(self, "..", OFlags::empty(), path)?)
    }

    /// Its path when it was opened, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.held.path
    }

    /// A name in it, which need not exist.
    ///
    /// # Errors
    /// [`DeviceError::Unsuitable`] for a name that is not one plain component.
    pub fn entry(&self, name: impl AsRef<OsStr>) -> Result<DirectoryEntry, DeviceError> {
        let name = name.as_ref();
        let path = self.held.path.join(name);
        match check(name) {
            Ok(()) => Ok(DirectoryEntry {
                directory: self.clone(),
                name: name.to_owned(),
                path,
            }),
            Err(error) => Err(DeviceError::Unsuitable {
                path,
                what: error.to_string(),
            }),
        }
    }

    /// Names in it, in that order.
    ///
    /// # Errors
    /// As [`Directory::entry`].
    pub fn entries<N: AsRef<OsStr>>(
        &self,
        names: &[N],
    ) -> Result<Vec<DirectoryEntry>, DeviceError> {
        names.iter().map(|name| self.entry(name)).collect()
    }

    /// Makes the names in it durable.
    ///
    /// # Errors
    /// When it cannot be synchronised.
    pub fn sync(&self) -> Result<(), DeviceError> {
        match rustix::fs::fsync(self) {
            // Some network file systems cannot synchronise a directory, and one that may not be
            // listed was opened without the right to.
            Ok(()) | Err(Errno::INVAL | Errno::BADF) => Ok(()),
            Err(e) => Err(io_error(self.path(), "make the directory durable", e)),
        }
    }

    /// Bytes that its volume has available.
    ///
    /// # Errors
    /// The system's.
    pub fn available_bytes(&self) -> io::Result<u64> {
        let volume = rustix::fs::fstatvfs(self)?;
        Ok(volume.f_bavail.saturating_mul(volume.f_frsize))
    }

    /// Whether both hold the same directory.
    #[must_use]
    pub fn is_same(&self, other: &Directory) -> bool {
        let identity = |d: &Directory| rustix::fs::fstat(d).map(|s| (s.st_dev, s.st_ino));
        matches!((identity(self), identity(other)), (Ok(a), Ok(b)) if a == b)
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.fd.as_fd()
    }
}

/// A name in a held directory.
#[derive(Clone, Debug)]
pub struct DirectoryEntry {
    directory: Directory,
    name: OsString,
    path: PathBuf,
}

impl DirectoryEntry {
    /// The name at the end of `path`, in the directory before it, which is opened.
    ///
    /// # Errors
    /// A directory that cannot be opened, or a path that ends with no name.
    pub fn of(path: &Path) -> Result<DirectoryEntry, DeviceError> {
        Ok(DirectoryEntry::all_of(&[path.to_owned()])?.remove(0))
    }

    /// Each of `paths`; directories that follow each other are opened once.
    ///
    /// # Errors
    /// As [`DirectoryEntry::of`].
    pub fn all_of(paths: &[PathBuf]) -> Result<Vec<DirectoryEntry>, DeviceError> {
        let mut entries: Vec<DirectoryEntry> = Vec::with_capacity(paths.len());
        for path in paths {
            let parent = parent_of(path);
            let same = |last: &&DirectoryEntry| last.directory.path() == parent;
            let directory = match entries.last().filter(same) {
                Some(last) => last.directory.clone(),
                None => Directory::open(parent).map_err(|source| DeviceError::Io {
                    path: path.clone(),
                    action: "open its directory",
                    source,
                })?,
            };
            let name = path.file_name().ok_or_else(|| DeviceError::Unsuitable {
                path: path.clone(),
                what: "names no file".to_owned(),
            })?;
            entries.push(DirectoryEntry {
                path: path.clone(),
                ..directory.entry(name)?
            });
        }
        Ok(entries)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The path, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it; a symbolic link is refused.
    pub(crate) fn open(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.directory, &self.name, flags, mode)
    }

    /// What stands there; of a symbolic link, the link.
    pub(crate) fn stat(&self) -> Result<Stat, Errno> {
        rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Whether anything stands there, a dangling link included.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn exists(&self) -> Result<bool, DeviceError> {
        match self.stat() {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(io_error(&self.path, "stat", errno)),
        }
    }

    /// Size of the regular file there, bytes; `None` for anything else.
    ///
    /// # Errors
    /// When nothing is there, or the system does not say.
    pub fn file_bytes(&self) -> io::Result<Option<u64>> {
        let stat = self.stat()?;
        let is_file = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
        Ok(is_file.then(|| u64::try_from(stat.st_size).unwrap_or(0)))
    }

    /// Whether the name leads to the file or directory that `file` holds open.
    #[must_use]
    pub fn leads_to(&self, file: impl AsFd) -> bool {
        let identity = |s: Stat| (s.st_dev, s.st_ino);
        let (there, here) = (
            self.stat().map(identity),
            rustix::fs::fstat(file).map(identity),
        );
        matches!((there, here), (Ok(a), Ok(b)) if a == b)
    }

    /// Removes the name if it still leads to the file that `file` holds open.
    ///
    /// # Errors
    /// Another file under that name, which stays, or the system's.
    pub(crate) fn remove(&self, file: impl AsFd) -> Result<(), DeviceError> {
        if !self.leads_to(file) {
            return Err(DeviceError::Unsuitable {
                path: self.path.clone(),
                what: "was replaced; it is not removed".to_owned(),
            });
        }
        rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty())
            .map_err(|e| io_error(&self.path, "remove", e))
    }

    /// Gives the file another name in the same directory, which must be free.
    pub(crate) fn rename_to(&self, new: &DirectoryEntry) -> Result<(), Errno> {
        let (at, old) = (&self.directory, &self.name);
        match rustix::fs::renameat_with(at, old, at, &new.name, RenameFlags::NOREPLACE) {
            // Some network and user-space file systems know no such flag.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(at, old, at, &new.name, AtFlags::empty())?;
                rustix::fs::unlinkat(at, old, AtFlags::empty())
            }
            result => result,
        }
    }
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Whether `name` is one plain component of a path.
#[must_use]
pub fn is_plain_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    !matches!(bytes, b"" | b"." | b"..") && !bytes.contains(&b'/') && !bytes.contains(&0)
}

pub(super) fn check(name: &OsStr) -> io::Result<()> {
    if is_plain_name(name) {
        return Ok(());
    }
    let what = format!("`{}` is not a plain file name", name.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tests::Scratch;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_are_one_component_and_links_are_not_followed() {
        let scratch = Scratch::new();
        let directory = Directory::open(&scratch.0).expect("opens");
        for bad in ["", ".", "..", "a/b", "/", "a\0"] {
            assert!(directory.entry(bad).is_err(), "{bad:?}");
            assert!(directory.open_inside(OsStr::new(bad)).is_err(), "{bad:?}");
        }
        let target = scratch.file("log", 10);
        symlink(&target, scratch.0.join("link")).expect("links");
        symlink(&scratch.0, scratch.0.join("folder")).expect("links");
        assert!(directory.open_inside(OsStr::new("folder")).is_err());
        let link = directory.entry("link").expect("a name");
        assert_eq!(
            link.open(OFlags::RDONLY, Mode::empty()).err(),
            Some(Errno::LOOP)
        );
        assert_eq!(link.file_bytes().expect("a link"), None);
        let log = directory.entry("log").expect("a name");
        assert_eq!(log.file_bytes().expect("a file"), Some(10));
    }

    #[test]
    fn it_stays_the_same_directory_when_its_path_changes_hands() {
        let scratch = Scratch::new();
        let path = scratch.0.join("folder");
        std::fs::create_dir(&path).expect("a fresh directory");
        let directory = Directory::open(&path).expect("opens");
        std::fs::write(path.join("log"), "ours").expect("writable");
        std::fs::rename(&path, scratch.0.join("moved")).expect("renames");
        std::fs::create_dir(&path).expect("a fresh directory");
        std::fs::write(path.join("log"), "another").expect("writable");
        let log = directory.entry("log").expect("a name");
        assert_eq!(log.file_bytes().expect("a file"), Some(4));
        let file = log.open(OFlags::RDONLY, Mode::empty()).expect("opens");
        log.remove(&file).expect("ours");
        assert!(path.join("log").exists() && !log.exists().expect("answers"));
    }

    #[test]
    fn a_file_is_removed_only_under_its_own_name() {
        let scratch = Scratch::new();
        let directory = Directory::open(&scratch.0).expect("opens");
        let log = directory.entry("log").expect("a name");
        std::fs::write(log.path(), "ours").expect("writable");
        let file = log.open(OFlags::RDONLY, Mode::empty()).expect("opens");
        std::fs::remove_file(log.path()).expect("ours");
        std::fs::write(log.path(), "another").expect("writable");
        let refused = log.remove(&file).expect_err("another file");
        assert!(refused.to_string().contains("was replaced"), "{refused}");
        assert!(log.exists().expect("answers"));
        let taken = directory.entry("taken").expect("a name");
        std::fs::write(taken.path(), "another").expect("writable");
        assert_eq!(log.rename_to(&taken), Err(Errno::EXIST));
    }

    #[test]
    fn paths_become_names_in_directories() {
        let scratch = Scratch::new();
        let path = scratch.file("log", 10);
        let entry = DirectoryEntry::of(&path).expect("opens");
        assert_eq!(
            (entry.path(), entry.directory().path()),
            (&*path, &*scratch.0)
        );
        assert!(DirectoryEntry::of(Path::new("log")).is_ok(), "here");
        assert!(DirectoryEntry::of(&scratch.0.join("none/log")).is_err());
        assert!(DirectoryEntry::of(Path::new("/")).is_err());
        assert!(DirectoryEntry::of(&scratch.0.join("..")).is_err());
    }
}
