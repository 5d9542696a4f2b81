//! The one way in which a file of the user is written: beside its place, then renamed into it.
//!
//! Invariants: what was there before stays whole until the new file is complete and synchronised;
//! after a failure nothing of the new one is left. A file that the command reads is never written,
//! whatever name it has, nor is anything in the run store; a symbolic link is never written
//! through. A FIFO, a character device and a descriptor (`/dev/stdout`) have no earlier content
//! and are written directly.

mod folders;
mod rules;

pub use folders::make_folders;
pub use rules::{Audience, Existing, Inputs, OutputError, RESULT_ROOM, remedy};

use super::temporary;
use device::file::Directory;
use rules::identity;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Levels above an output at which a directory of [`Inputs`] is looked for.
const LEVELS: [&str; 3] = [".", "..", "../.."];

/// Where the process finds its open files by number.
const DESCRIPTORS: &str = "/proc/self/fd";

/// An output that is being written. Dropping it without [`OutputFile::finish`] leaves what was
/// there before, and nothing else.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// `None` for what is written directly.
    place: Option<Place>,
    existing: Existing,
    inputs: Inputs,
}

/// A name in a directory that is held open.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    folder: Arc<OwnedFd>,
    name: OsString,
    /// The file's name until it is complete; `None` while it has no name at all.
    temporary: Option<String>,
}

/// What stands at a place.
enum Found {
    Nothing,
    /// A regular file with these permissions.
    Regular(u32),
    /// A FIFO or a character device.
    Direct,
}

impl OutputFile {
    /// Begins an output at `path`.
    ///
    /// # Errors
    /// A place that is refused, or the system's errors.
    pub fn begin(
        path: &Path,
        audience: Audience,
        existing: Existing,
        inputs: &Inputs,
    ) -> Result<OutputFile, OutputError> {
        match descriptor(path)? {
            Some(file) => Ok(OutputFile::of(file, None, existing, inputs)),
            None => OutputFile::begin_at(Place::at(path)?, audience, existing, inputs),
        }
    }

    /// Begins a new file in a directory that is held open.
    ///
    /// # Errors
    /// A file that exists, or the system's errors.
    pub fn begin_in(
        folder: &Directory,
        name: impl AsRef<OsStr>,
        audience: Audience,
    ) -> Result<OutputFile, OutputError> {
        let path = folder.path().join(name.as_ref());
        let place = Place {
            name: name.as_ref().to_owned(),
            path,
            folder: folder.descriptor(),
            temporary: None,
        };
        OutputFile::begin_at(place, audience, Existing::Keep, &Inputs::default())
    }

    fn of(file: File, place: Option<Place>, existing: Existing, inputs: &Inputs) -> OutputFile {
        OutputFile {
            file,
            place,
            existing,
            inputs: inputs.clone(),
        }
    }

    fn begin_at(
        mut place: Place,
        audience: Audience,
        existing: Existing,
        inputs: &Inputs,
    ) -> Result<OutputFile, OutputError> {
        let begun = |file, place| OutputFile::of(file, place, existing, inputs);
        let mode = match place.look(existing, inputs)? {
            Found::Direct => return Ok(begun(place.open_direct()?, None)),
            Found::Nothing => audience.mode(),
            // Never wider than it was.
            Found::Regular(mode) => audience.mode() & mode | 0o600,
        };
        let file = place.open(Mode::from_raw_mode(mode))?;
        Ok(begun(file, Some(place)))
    }

    /// Completes the output: synchronised, renamed into place, and the name synchronised.
    ///
    /// # Errors
    /// The system's, or a place that changed meanwhile; what was there before stays.
    pub fn finish(mut self) -> Result<(), OutputError> {
        let Some(mut place) = self.place.take() else {
            return Ok(());
        };
        let failed = |action| {
            let path = place.path.clone();
            move |source| OutputError::System {
                path,
                action,
                source,
            }
        };
        let synced = self.file.sync_all().map_err(failed("synchronising"));
        let placed = synced
            .and_then(|()| place.look(self.existing, &self.inputs).map(|_| ()))
            .and_then(|()| place.put(&self.file, self.existing));
        if placed.is_err() {
            place.give_up();
        }
        placed
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(place) = &mut self.place {
            place.give_up();
        }
    }
}

/// Writes `bytes` as the whole of `path`.
///
/// # Errors
/// Those of [`OutputFile::begin`] and [`OutputFile::finish`].
pub fn write(
    path: &Path,
    bytes: &[u8],
    audience: Audience,
    inputs: &Inputs,
) -> Result<(), OutputError> {
    let mut file = OutputFile::begin(path, audience, Existing::Replace, inputs)?;
    match file.write_all(bytes) {
        // Nobody reads the pipe any more.
        Err(e) if file.place.is_none() && e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
        other => other.map_err(|source| OutputError::System {
            path: path.to_owned(),
            action: "writing the result (what was there before is as it was)",
            source,
        })?,
    }
    file.finish()
}

/// Refuses a place that [`write()`] would refuse, before anything is read or measured for it.
///
/// # Errors
/// Why the place is refused.
pub fn check(path: &Path, inputs: &Inputs) -> Result<(), OutputError> {
    place_of(path, inputs).map(|_| ())
}

/// The same before anything is measured: what was measured must not be lost for want of room.
///
/// # Errors
/// Those of [`check()`], and a volume without room for a result.
pub fn check_with_room(path: &Path, inputs: &Inputs) -> Result<(), OutputError> {
    let Some(place) = place_of(path, inputs)? else {
        return Ok(());
    };
    match available(&place.folder).filter(|bytes| *bytes < RESULT_ROOM) {
        Some(available) => Err(OutputError::NoRoom {
            path: path.to_owned(),
            available,
        }),
        None => Ok(()),
    }
}

/// Where a file may be made; `None` for what is written directly.
fn place_of(path: &Path, inputs: &Inputs) -> Result<Option<Place>, OutputError> {
    if descriptor(path)?.is_some() {
        return Ok(None);
    }
    let place = Place::at(path)?;
    match place.look(Existing::Replace, inputs)? {
        Found::Nothing | Found::Regular(_) => place.may_be_made().map(|()| Some(place)),
        Found::Direct => Ok(None),
    }
}

/// Bytes that this process may still write on the volume of a directory; `None` where that is not
/// known.
pub fn available(directory: impl AsFd) -> Option<u64> {
    let volume = rustix::fs::fstatvfs(directory)
        .ok()
        .filter(|v| v.f_blocks > 0)?;
    let blocks = match rustix::process::geteuid().is_root() {
        true => volume.f_bfree,
        false => volume.f_bavail,
    };
    Some(blocks.saturating_mul(volume.f_frsize))
}

/// The open descriptor that `path` names, such as `/dev/stdout`; `None` for other paths.
fn descriptor(path: &Path) -> Result<Option<File>, OutputError> {
    let own = |fd: io::Result<OwnedFd>| match fd {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(e) => Err(system(path, "opening", e)),
    };
    let stdout = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
    let stderr = ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"];
    if stdout.iter().any(|p| path == Path::new(p)) {
        return own(io::stdout().as_fd().try_clone_to_owned());
    }
    if stderr.iter().any(|p| path == Path::new(p)) {
        return own(io::stderr().as_fd().try_clone_to_owned());
    }
    let numbered = path
        .strip_prefix("/dev/fd")
        .or(path.strip_prefix("/proc/self/fd"));
    let Ok(number) = numbered else {
        return Ok(None);
    };
    // A process substitution of the shell: the other end of a pipe.
    let at = Path::new("/proc/self/fd").join(number);
    let stat = rustix::fs::stat(&at).map_err(|e| system(path, "opening", e.into()))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo | FileType::CharacterDevice => {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
            own(rustix::fs::open(&at, flags, Mode::empty()).map_err(io::Error::from))
        }
        _ => Err(refused(path, "is not a pipe; name the file itself")),
    }
}

impl Place {
    fn at(path: &Path) -> Result<Place, OutputError> {
        let directory = "is a directory; name a file in it";
        let name = match path.file_name() {
            Some(name) if !path.as_os_str().as_bytes().ends_with(b"/") => name.to_owned(),
            _ => return Err(refused(path, directory)),
        };
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |more| rustix::fs::open(parent, flags | more, Mode::empty());
        // A directory that may be written but not listed cannot be opened for reading.
        let folder = match open(OFlags::RDONLY) {
            Err(Errno::ACCESS) => open(OFlags::PATH),
            other => other,
        };
        let folder = folder.map_err(|e| system(path, "opening its directory", e.into()))?;
        Ok(Place {
            path: path.to_owned(),
            folder: Arc::new(folder),
            name,
            temporary: None,
        })
    }

    /// What is there, if it may be written.
    fn look(&self, existing: Existing, inputs: &Inputs) -> Result<Found, OutputError> {
        let refused = |why: &str| Err(refused(&self.path, why));
        let inside = |level: &str| {
            let above = rustix::fs::statat(&self.folder, level, AtFlags::empty());
            above.is_ok_and(|stat| inputs.folders.contains(&identity(stat)))
        };
        if LEVELS.iter().any(|level| inside(level)) {
            return refused("is inside the run store; choose another place");
        }
        let stat = rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = match stat {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Found::Nothing),
            Err(e) => return Err(system(&self.path, "looking at it", e.into())),
        };
        if inputs.files.contains(&identity(stat)) {
            return refused(
                "is a file that this command reads; choose another name for the result",
            );
        }
        let kind = FileType::from_raw_mode(stat.st_mode);
        if existing == Existing::Keep && kind != FileType::Symlink {
            let path = self.path.clone();
            return Err(OutputError::Exists { path });
        }
        match kind {
            FileType::RegularFile => {
                let access = rustix::fs::Access::WRITE_OK;
                let may = rustix::fs::accessat(&self.folder, &self.name, access, AtFlags::EACCESS);
                if let Err(e @ (Errno::ACCESS | Errno::ROFS | Errno::PERM)) = may {
                    return Err(system(&self.path, "writing the result", e.into()));
                }
                Ok(Found::Regular(stat.st_mode & 0o777))
            }
            FileType::Fifo | FileType::CharacterDevice => Ok(Found::Direct),
            FileType::Symlink => refused(
                "is a symbolic link, and redolab writes through none; name the file itself, or \
                 remove the link",
            ),
            FileType::Directory => refused("is a directory; name a file in it"),
            _ => refused("is a block device or a socket; name a file"),
        }
    }

    /// Refuses a directory in which no file may be made: also a file that is there already is
    /// written beside its place.
    fn may_be_made(&self) -> Result<(), OutputError> {
        use rustix::fs::Access;
        let access = Access::WRITE_OK | Access::EXEC_OK;
        match rustix::fs::accessat(&self.folder, ".", access, AtFlags::EACCESS) {
            Err(e @ (Errno::ACCESS | Errno::ROFS | Errno::PERM)) => {
                Err(system(&self.path, "writing into its directory", e.into()))
            }
            _ => Ok(()),
        }
    }

    /// Opens a FIFO or a character device.
    fn open_direct(&self) -> Result<File, OutputError> {
        let flags =
            OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty());
        let fd = opened.map_err(|e| match e {
            Errno::NXIO => refused(
                &self.path,
                "is a FIFO that no process reads; start its reader first",
            ),
            e => system(&self.path, "opening", e.into()),
        })?;
        let kind = |stat: Stat| FileType::from_raw_mode(stat.st_mode);
        let found = rustix::fs::fstat(&fd).map(kind);
        if !matches!(found, Ok(FileType::Fifo | FileType::CharacterDevice)) {
            return Err(refused(
                &self.path,
                "was replaced by something else just now",
            ));
        }
        // Only opening must not wait.
        rustix::fs::fcntl_setfl(&fd, OFlags::empty())
            .map_err(|e| system(&self.path, "opening", e.into()))?;
        Ok(File::from(fd))
    }

    /// Opens the new file: without a name where the file system can, so that even a process that
    /// is killed leaves nothing; else under a name of its own.
    fn open(&mut self, mode: Mode) -> Result<File, OutputError> {
        // Also for reading: what cannot be given a name has to be copied.
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE;
        let nameless = rustix::fs::openat(&self.folder, ".", flags, mode);
        if let Ok(fd) = nameless
            && Path::new(DESCRIPTORS).exists()
        {
            return Ok(File::from(fd));
        }
        self.open_named(mode)
            .map_err(|e| system(&self.path, "writing the result", e.into()))
    }

    /// Opens a new file beside the place, under a name that is given up with it.
    fn open_named(&mut self, mode: Mode) -> rustix::io::Result<File> {
        let name = temporary::name_for(&self.name);
        let flags =
            OFlags::WRONLY | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&self.folder, &name, flags, mode)?;
        self.temporary = Some(name);
        Ok(File::from(fd))
    }

    /// Gives a file without a name one beside the place, through the `descriptors` of the process.
    /// Where those lead nowhere (another /proc, or none any more) it is copied to a file with one.
    fn give_name(&mut self, file: &File, descriptors: &str) -> io::Result<()> {
        let name = temporary::name_for(&self.name);
        let from = format!("{descriptors}/{}", file.as_raw_fd());
        let follow = AtFlags::SYMLINK_FOLLOW;
        if rustix::fs::linkat(&self.folder, &from, &self.folder, &name, follow).is_ok() {
            self.temporary = Some(name);
            return Ok(());
        }
        let mode = Mode::from_raw_mode(rustix::fs::fstat(file)?.st_mode & 0o777);
        let mut named = self.open_named(mode)?;
        let mut whole = file;
        whole.rewind()?;
        io::copy(&mut whole, &mut named)?;
        named.sync_all()
    }

    /// Puts the complete file in place.
    fn put(&mut self, file: &File, existing: Existing) -> Result<(), OutputError> {
        let placed = self.try_put(file, existing);
        placed.map_err(|e| match (e.kind(), existing) {
            (io::ErrorKind::AlreadyExists, Existing::Keep) => OutputError::Exists {
                path: self.path.clone(),
            },
            _ => system(&self.path, "putting the result in place", e),
        })
    }

    fn try_put(&mut self, file: &File, existing: Existing) -> io::Result<()> {
        if self.temporary.is_none() {
            self.give_name(file, DESCRIPTORS)?;
        }
        let from = self.temporary.as_deref().unwrap_or_default();
        match existing {
            Existing::Replace => {
                rustix::fs::renameat(&self.folder, from, &self.folder, &self.name)?;
            }
            Existing::Keep => {
                let flags = RenameFlags::NOREPLACE;
                let to = &self.folder;
                match rustix::fs::renameat_with(to, from, to, &self.name, flags) {
                    // A file system without that flag; nothing was there a moment ago.
                    Err(Errno::INVAL) => rustix::fs::renameat(to, from, to, &self.name)?,
                    other => other?,
                }
            }
        }
        self.temporary = None;
        match rustix::fs::fsync(&self.folder) {
            // Some file systems cannot sync a directory, and one that cannot be listed is only
            // held by its path.
            Ok(()) | Err(Errno::INVAL | Errno::BADF) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Removes what is not complete.
    fn give_up(&mut self) {
        if let Some(name) = self.temporary.take() {
            // The first error is the one that is reported.
            let _ = rustix::fs::unlinkat(&self.folder, &name, AtFlags::empty());
        }
    }
}

fn refused(path: &Path, why: &str) -> OutputError {
    OutputError::Refused {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}

fn system(path: &Path, action: &'static str, source: io::Error) -> OutputError {
    OutputError::System {
        path: path.to_owned(),
        action,
        source,
    }
}

#[cfg(test)]
mod tests;
