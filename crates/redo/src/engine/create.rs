//! Creating a log in files, and removing what an interrupted creation left.
//!
//! The control file is made first, under the name [`Paths::UNFINISHED`], with its whole content:
//! the log's identity and shape. Then each log file, whose header is written before anything else.
//! The control file gets its own name last, when all of this is durable. So a log whose creation
//! was interrupted is known by that first name, and a log file in it is known by its header, or
//! holds no data yet.
//!
//! Invariants: nothing that exists is overwritten; what is removed is proved to be left from an
//! interrupted creation, and nobody is at work on it (the unfinished control file is locked from
//! before its first byte until its creator has ended); of several creations in one directory at
//! most one goes on; log files are removed, durably, before the control file that names them; all
//! of it is reached through the directory's descriptor.

use super::Log;
use super::headers::{check_header, fresh_id, header, open_logs, open_member_control};
use super::options::{Paths, Shape};
use crate::control::{CONTROL_BYTES, ControlFile, ControlInfo, MemberTable, RingTable};
use crate::error::Error;
use crate::format::{FILE_HEADER_BYTES, LogId};
use device::file::{CreatedFile, Directory, DirectoryEntry, LockGuard, SyncMethod};
use device::file::{
    create_prewritten_at, create_prewritten_locked_at, lock_exclusive_at, owner_at,
};
use device::{Caps, DeviceError, FileSet, LogDevice};
use std::path::Path;
use std::sync::Arc;

/// Called while log files are written: bytes done, bytes in all.
pub(super) type Progress<'a> = &'a dyn Fn(u64, u64);

/// What the unfinished control file begins with until it has its content.
const HEAD: &[u8] = b"redolab: a control file in the making\n";

impl Log {
    /// Creates the files of a log in `directory`: log files pre-written with pseudo-random bytes
    /// and control information, which gets its name last.
    pub(super) fn create_at(
        directory: &Directory,
        shape: Shape,
        progress: Progress<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let log_id = fresh_id(directory.path());
        let mut made = Made::begin(directory, shape.groups, log_id, cancel)?;
        let geometry = shape.geometry(&made.caps(shape)?, directory.path())?;
        made.write(&ControlInfo::new(log_id, geometry), progress, cancel)?;
        made.finish().map(drop)
    }

    /// Creates a log in several directories, whose members they are: `table` says which cells they
    /// form. When it fails, none of them holds a log, unless it failed while they got their names.
    pub(super) fn create_members_at(
        directories: &[Directory],
        table: MemberTable,
        shape: Shape,
        progress: Progress<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let log_id = fresh_id(directories[0].path());
        let mut all = Vec::new();
        for directory in directories {
            all.push(Made::begin(directory, shape.groups, log_id, cancel)?);
        }
        let caps: Result<Vec<Caps>, Error> = all.iter().map(|made| made.caps(shape)).collect();
        let caps = Caps::common(caps?).expect("a log has members");
        let geometry = shape.geometry(&caps, directories[0].path())?;
        let bytes = shape.file_bytes * u64::from(shape.groups);
        let total = bytes * directories.len() as u64;
        for (own, made) in (0_u8..).zip(&mut all) {
            let info =
                ControlInfo::new(log_id, geometry).with_members(MemberTable { own, ..table });
            let before = bytes * u64::from(own);
            made.write(&info, &|done, _| progress(before + done, total), cancel)?;
        }
        all.into_iter().try_for_each(|made| made.finish().map(drop))
    }

    /// Creates a log with a ring in `directory`. `make` makes the ring, durably, before the log
    /// gets its name; it is kept when the log is made.
    pub(super) fn create_with_ring_at(
        directory: &Directory,
        table: RingTable,
        shape: Shape,
        (progress, cancel): (Progress<'_>, &dyn Fn() -> bool),
        make: impl FnOnce(LogId) -> Result<Option<CreatedFile>, Error>,
    ) -> Result<(), Error> {
        let log_id = fresh_id(directory.path());
        let mut made = Made::begin(directory, shape.groups, log_id, cancel)?;
        let geometry = shape.geometry(&made.caps(shape)?, directory.path())?;
        let info = ControlInfo::new(log_id, geometry).with_ring(table);
        made.write(&info, progress, cancel)?;
        let ring = make(log_id)?;
        made.finish()?;
        if let Some(ring) = ring {
            ring.keep();
        }
        Ok(())
    }
}

/// Opens the directory that holds a log, or is to hold one, by the path that a user named.
pub(super) fn hold(directory: &Path) -> Result<Directory, Error> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    Directory::open(directory).map_err(|source| {
        let path = directory.to_owned();
        match source.kind() {
            NotFound | NotADirectory => Error::NoDirectory {
                path,
                is_file: source.kind() == NotADirectory,
            },
            _ => Error::Device(DeviceError::Io {
                path,
                action: "open the directory of a redo log",
                source,
            }),
        }
    })
}

/// Refuses names that are taken: the control file's first, which names a log.
pub(super) fn refuse_taken(named: &DirectoryEntry, logs: &[DirectoryEntry]) -> Result<(), Error> {
    if named.exists()? {
        return Err(Error::Exists {
            path: named.path().to_owned(),
        });
    }
    for at in logs {
        if at.exists()? {
            return Err(Error::InTheWay {
                path: at.path().to_owned(),
            });
        }
    }
    Ok(())
}

/// Another creation has the unfinished control file.
fn being_created(unfinished: &DirectoryEntry) -> Error {
    Error::BeingCreated {
        path: unfinished.path().to_owned(),
        // It may have ended by now, or be in another container.
        process: owner_at(unfinished).unwrap_or_default(),
    }
}

/// What a failure to make or to lock the unfinished control file says of another creation.
pub(super) fn met(unfinished: &DirectoryEntry, error: DeviceError) -> Error {
    use std::io::ErrorKind::{AlreadyExists, NotFound};
    let others = match &error {
        DeviceError::InUse { .. } => true,
        DeviceError::Io { source, .. } => match source.kind() {
            AlreadyExists => true,
            // It has come back since.
            NotFound => unfinished.exists().unwrap_or(false),
            _ => false,
        },
        // Replaced while it was opened.
        DeviceError::Unsuitable { .. } => matches!(owner_at(unfinished), Ok(Some(_))),
        _ => false,
    };
    match others {
        true => being_created(unfinished),
        false => error.into(),
    }
}

/// A log in the making; dropped before it is finished, its files are removed, the control file
/// last: as long as it is there, a later creation knows the others.
struct Made {
    directory: Directory,
    /// The name that it gets last.
    named: DirectoryEntry,
    /// Names of the log files.
    names: Vec<DirectoryEntry>,
    logs: Vec<CreatedFile>,
    /// Until it is finished or removed.
    control: Option<CreatedFile>,
    seed: u64,
    /// Until it is finished.
    lock: Option<LockGuard>,
}

impl Made {
    fn begin(
        directory: &Directory,
        groups: u32,
        log_id: LogId,
        cancel: &dyn Fn() -> bool,
    ) -> Result<Made, Error> {
        let named = directory.entry(Paths::CONTROL)?;
        let unfinished = directory.entry(Paths::UNFINISHED)?;
        let names = directory.entries(&Paths::log_names(groups))?;
        refuse_taken(&named, &[])?;
        remove_unfinished(directory)?;
        if let Err(error) = refuse_taken(&named, &names) {
            // Another creation may have begun since.
            return Err(match unfinished.exists()? {
                true => being_created(&unfinished),
                false => error,
            });
        }
        let seed = u64::from_le_bytes(*log_id.0.first_chunk().expect("sixteen bytes"));
        let bytes = CONTROL_BYTES;
        let made = create_prewritten_locked_at(&unfinished, bytes, HEAD, seed, &|_| {}, cancel);
        let (control, lock) = made.map_err(|error| met(&unfinished, error))?;
        let made = Made {
            directory: directory.clone(),
            named,
            names,
            logs: Vec::new(),
            control: Some(control),
            seed,
            lock: Some(lock),
        };
        // Or have ended. From here on none can begin.
        refuse_taken(&made.named, &made.names)?;
        Ok(made)
    }

    fn open(&self, method: SyncMethod) -> Result<FileSet, DeviceError> {
        let names = [Paths::UNFINISHED.to_owned()];
        FileSet::open_at(&self.directory, &names, CONTROL_BYTES, method)
    }

    /// What the shape of a new log is made for here.
    fn caps(&self, shape: Shape) -> Result<Caps, Error> {
        let control = self.open(SyncMethod::Buffered)?;
        Ok(caps_for(shape, &control, || self.open(SyncMethod::Direct)))
    }

    /// Writes the control information, durably, then the log files.
    fn write(
        &mut self,
        info: &ControlInfo,
        progress: Progress<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let control = self.open(SyncMethod::Buffered)?;
        let path = self.directory.path().join(Paths::CONTROL);
        ControlFile::create(Arc::new(control), &path, info.clone())?;
        let bytes = info.geometry.file_bytes;
        let total = bytes * u64::from(info.geometry.groups);
        for (group, at) in (0_u32..).zip(&self.names) {
            let before = bytes * u64::from(group);
            let report = |done: u64| progress(before + done, total);
            let head = header(info, group).encode();
            let seed = self.seed ^ before;
            let made = create_prewritten_at(at, bytes, &head, seed, &report, cancel)?;
            self.logs.push(made);
        }
        Ok(())
    }

    /// The name is durable before the lock is given up: the next process that opens the log may
    /// commit at once.
    fn finish(mut self) -> Result<LockGuard, Error> {
        // Until here all of it is removed on a failure; from here on it is a log.
        let control = self.control.as_mut().expect("taken by the drop alone");
        control.rename(&self.named)?;
        self.logs.drain(..).for_each(CreatedFile::keep);
        self.directory.sync()?;
        Ok(self.lock.take().expect("it is finished once"))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let mut removed = true;
        for log in self.logs.drain(..) {
            removed &= log.discard().is_ok();
        }
        removed = removed && self.directory.sync().is_ok();
        if let Some(control) = self.control.take()
            && !removed
        {
            // A log file may be left, or come back with the power: the next creation needs to know.
            control.keep();
        }
    }
}

/// A member that was made, held by its lock.
pub(super) struct MadeMember {
    pub(super) control: ControlFile,
    pub(super) files: FileSet,
    pub(super) lock: LockGuard,
}

/// Makes a member of an existing log in a directory that [holds nothing](vacancy): its log files
/// get their content by `copy`, durably, before the control information gets its name. `info` is
/// that of a log that was just made, so that what is left of an interruption is known as such.
pub(super) fn make_member(
    directory: &Directory,
    info: &ControlInfo,
    method: SyncMethod,
    copy: impl FnOnce(&FileSet) -> Result<(), Error>,
) -> Result<MadeMember, Error> {
    let mut made = Made::begin(directory, info.geometry.groups, info.log_id, &|| false)?;
    made.write(info, &|_, _| {}, &|| false)?;
    let files = open_logs(directory, info, method)?;
    copy(&files)?;
    let lock = made.finish()?;
    Ok(MadeMember {
        control: open_member_control(&directory.entry(Paths::CONTROL)?)?,
        files,
        lock,
    })
}

/// Why a member could be made in this directory, in words; `None` where something is in it. What a
/// new file system contains does not count, nor what an interrupted creation left.
pub(super) fn vacancy(directory: &Directory) -> Option<&'static str> {
    let all: Vec<_> = std::fs::read_dir(directory.path())
        .ok()?
        .collect::<Result<_, _>>()
        .ok()?;
    let names = all.iter().map(std::fs::DirEntry::file_name);
    let names: Vec<_> = names.filter(|name| name != "lost+found").collect();
    if names.is_empty() {
        return Some("it is empty");
    }
    let is_left = |name: &std::ffi::OsString| {
        name == Paths::UNFINISHED
            || (name.to_str().and_then(|name| name.strip_prefix("redo")))
                .and_then(|rest| rest.strip_suffix(".log"))
                .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
    };
    let unfinished = names.iter().any(|name| name == Paths::UNFINISHED);
    (unfinished && names.iter().all(is_left)).then_some("a member in it was never finished")
}

/// What the shape of a new log is made for: where it names no block size, one that every sync
/// method can write, also on a device that refuses what it states.
fn caps_for(
    shape: Shape,
    control: &FileSet,
    direct: impl FnOnce() -> Result<FileSet, DeviceError>,
) -> Caps {
    if shape.block_bytes.is_some() {
        return control.caps();
    }
    direct().map_or(control.caps(), |set| set.caps())
}

/// Whether a log was opened, and may hold redo.
pub(super) fn has_lived(info: &ControlInfo) -> bool {
    info.generation > 1 || info.current().number > 1
}

/// Removes what an interrupted creation left in `directory`, the control file last.
fn remove_unfinished(directory: &Directory) -> Result<(), Error> {
    let at = directory.entry(Paths::UNFINISHED)?;
    let in_the_way = |at: &DirectoryEntry| Error::InTheWay {
        path: at.path().to_owned(),
    };
    match at.file_bytes() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Ok(Some(_)) => {}
        _ => return Err(in_the_way(&at)),
    }
    let lock = match lock_exclusive_at(&at) {
        Ok(lock) => lock,
        // Its creator ended meanwhile.
        Err(_) if !at.exists()? => return Ok(()),
        Err(error) => return Err(met(&at, error)),
    };
    match unfinished_log(directory, &at) {
        Some(info) if has_lived(&info) => {
            let path = at.path().to_owned();
            return Err(Error::Misnamed { path });
        }
        Some(info) => {
            let names = Paths::log_names(info.geometry.groups);
            let mut left = Vec::new();
            // All are looked at before the first one goes.
            for (group, log) in (0_u32..).zip(directory.entries(&names)?) {
                if log.exists()? {
                    let held = lock_exclusive_at(&log)?;
                    if !is_unfinished(&held, &info, group, &log) {
                        return Err(in_the_way(&log));
                    }
                    left.push((log, held));
                }
            }
            for (log, held) in left {
                held.remove(&log)?;
            }
            directory.sync()?;
        }
        // Its content was not whole: no log file had been made then.
        None if lock.is_empty() || lock.begins_with(HEAD) => {}
        None => return Err(in_the_way(&at)),
    }
    Ok(lock.remove(&at)?)
}

/// The control information under the name of an unfinished log.
pub(super) fn unfinished_log(directory: &Directory, at: &DirectoryEntry) -> Option<ControlInfo> {
    let names = [Paths::UNFINISHED.to_owned()];
    let device = FileSet::open_read_only_at(directory, &names, CONTROL_BYTES).ok()?;
    let control = ControlFile::load_member(Arc::new(device), at.path()).ok()?;
    Some(control.info().clone())
}

/// Whether a log file is this log's, or has no data.
fn is_unfinished(held: &LockGuard, info: &ControlInfo, group: u32, at: &DirectoryEntry) -> bool {
    if held.is_empty() {
        return true;
    }
    let mut head = [0_u8; FILE_HEADER_BYTES];
    held.read_head(&mut head) && check_header(&head, info, group, at.path()).is_ok()
}
