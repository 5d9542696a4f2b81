//! Making, opening, naming and removing what is in a held directory.
//!
//! Invariants: each name is one plain component, and no symbolic link is followed; files are made
//! new, with mode 0600, directories with 0700; only regular files are opened. What is changed is
//! the directory that is held, whatever its path leads to by now.

use super::directory::{Directory, check};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;

impl Directory {
    /// Makes a new directory (0700) in it; an existing one is an error.
    ///
    /// # Errors
    /// The system's.
    pub fn make_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Directory> {
        let name = name.as_ref();
        check(name)?;
        rustix::fs::mkdirat(self, name, Mode::RWXU)?;
        self.open_inside(name)
    }

    /// Makes a new file (0600) that is written at any position; an existing one is an error.
    ///
    /// # Errors
    /// The system's.
    pub fn create_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.create(name.as_ref(), OFlags::WRONLY)
    }

    /// Makes a new file (0600) that can be read, and to whose end everything is written; an
    /// existing one is an error.
    ///
    /// # Errors
    /// The system's.
    pub fn create_appended(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.create(name.as_ref(), OFlags::RDWR | OFlags::APPEND)
    }

    fn create(&self, name: &OsStr, how: OFlags) -> io::Result<File> {
        check(name)?;
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(self, name, how | new, Mode::RUSR | Mode::WUSR)?;
        Ok(File::from(fd))
    }

    /// Opens a regular file for reading; anything else (link, FIFO, device) is refused.
    ///
    /// # Errors
    /// The system's, or `InvalidInput` for what is not a regular file.
    pub fn open_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_regular(name.as_ref(), OFlags::RDONLY)
    }

    /// Opens a regular file for reading and writing, as [`Directory::open_file`].
    ///
    /// # Errors
    /// As [`Directory::open_file`].
    pub fn open_writable(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_regular(name.as_ref(), OFlags::RDWR)
    }

    fn open_regular(&self, name: &OsStr, how: OFlags) -> io::Result<File> {
        check(name)?;
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(self, name, flags, Mode::empty())?;
        if FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::RegularFile {
            return Ok(File::from(fd));
        }
        let what = format!("{} is not a regular file", name.display());
        Err(io::Error::new(io::ErrorKind::InvalidInput, what))
    }

    /// Names of what is in it, sorted.
    ///
    /// # Errors
    /// The system's.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(self)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Gives what is called `old` a name that must be free.
    ///
    /// # Errors
    /// The system's.
    pub fn rename(&self, old: impl AsRef<OsStr>, new: impl AsRef<OsStr>) -> io::Result<()> {
        let (old, new) = (self.named(old.as_ref())?, self.named(new.as_ref())?);
        Ok(old.rename_to(&new)?)
    }

    /// Makes a symbolic link to `target`.
    ///
    /// # Errors
    /// The system's.
    pub fn make_link(&self, name: impl AsRef<OsStr>, target: &OsStr) -> io::Result<()> {
        check(name.as_ref())?;
        Ok(rustix::fs::symlinkat(target, self, name.as_ref())?)
    }

    /// Removes a file or a link (never what the link points to).
    ///
    /// # Errors
    /// The system's.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        check(name.as_ref())?;
        Ok(rustix::fs::unlinkat(self, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes an empty directory in it.
    ///
    /// # Errors
    /// The system's; `DirectoryNotEmpty` when something is left in it.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        check(name.as_ref())?;
        let removed = rustix::fs::unlinkat(self, name.as_ref(), AtFlags::REMOVEDIR);
        Ok(removed?)
    }

    /// Sets its permissions.
    ///
    /// # Errors
    /// The system's.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::fchmod(self, Mode::from_raw_mode(mode))?)
    }

    /// Gives it to a user and a group.
    ///
    /// # Errors
    /// The system's.
    pub fn give_to(&self, uid: u32, gid: u32) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        Ok(rustix::fs::fchown(self, Some(uid), Some(gid))?)
    }

    /// Gives a socket in it, which this process made, to a user and a group.
    ///
    /// # Errors
    /// The system's, or `InvalidInput` where something else has taken its name.
    pub fn give_socket_to(&self, name: impl AsRef<OsStr>, uid: u32, gid: u32) -> io::Result<()> {
        check(name.as_ref())?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let socket = rustix::fs::openat(self, name.as_ref(), flags, Mode::empty())?;
        let found = rustix::fs::fstat(&socket)?;
        let is_socket = FileType::from_raw_mode(found.st_mode) == FileType::Socket;
        if !is_socket || found.st_uid != rustix::process::geteuid().as_raw() {
            let what = format!("{} was replaced", name.as_ref().display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        let given = rustix::fs::chownat(&socket, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH);
        Ok(given?)
    }

    fn named(&self, name: &OsStr) -> io::Result<super::DirectoryEntry> {
        self.entry(name).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tests::Scratch;
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    #[test]
    fn what_is_changed_is_the_directory_that_is_held() {
        let scratch = Scratch::new();
        let (path, moved) = (scratch.0.join("folder"), scratch.0.join("moved"));
        let precious = scratch.0.join("precious");
        std::fs::create_dir(&precious).expect("fresh");
        let before = std::fs::metadata(&precious).expect("there").permissions();
        let parent = Directory::open(&scratch.0).expect("opens");
        let folder = parent.make_folder("folder").expect("made");
        std::fs::rename(&path, &moved).expect("renames");
        symlink(&precious, &path).expect("links");
        folder.set_mode(0o711).expect("ours");
        folder.create_file("a").expect("made");
        let mut appended = folder.create_appended("b").expect("made");
        appended.write_all(b"b").expect("writes");
        folder.make_folder("c").expect("made");
        folder.make_link("d", OsStr::new("../c")).expect("made");
        folder.rename("a", "e").expect("free");
        assert!(folder.rename("b", "e").is_err(), "nothing is replaced");
        assert_eq!(folder.names().expect("lists"), ["b", "c", "d", "e"]);
        assert!(folder.open_file("c").is_err() && folder.open_file("d").is_err());
        assert!(folder.open_writable("b").is_ok() && folder.create_file("b").is_err());
        let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode();
        assert_eq!(mode(&moved) & 0o777, 0o711);
        assert_eq!(mode(&moved.join("b")) & 0o777, 0o600);
        for file in ["b", "d", "e"] {
            folder.remove_file(file).expect("ours");
        }
        folder.remove_folder("c").expect("empty");
        assert_eq!(mode(&precious), before.mode());
        assert_eq!(precious.read_dir().expect("lists").count(), 0);
        assert!(folder.parent().expect("a parent").is_same(&parent));
        for name in ["", "..", "a/b"] {
            assert!(folder.make_folder(name).is_err() && folder.create_file(name).is_err());
            assert!(folder.remove_file(name).is_err() && folder.rename(name, "x").is_err());
        }
    }
}
