//! Creating a log in files, and removing what an interrupted creation left.
//!
//! The control file is made first, under the name [`Paths::UNFINISHED`], with its whole content:
//! the log's identity and shape. Then each log file, whose header is written before anything else.
//! The control file gets its own name last, when all of this is durable. So a log whose creation
//! was interrupted is known by that first name, and a log file in it is known by its header, or
//! holds no data yet.
//!
//! Invariants: nothing that exists is overwritten; what is removed is proved to be left from an
//! interrupted creation, and nobody is at work on it (the unfinished control file is locked while
//! its creator lives); all of it is reached through the directory's descriptor.

use super::Log;
use super::open::{Progress, check_header, fresh_id, header};
use super::options::{Paths, Shape};
use crate::control::{CONTROL_BYTES, ControlFile, ControlInfo};
use crate::error::Error;
use crate::format::FILE_HEADER_BYTES;
use device::file::{CreatedFile, Directory, DirectoryEntry, LockGuard, SyncMethod};
use device::file::{create_prewritten_at, lock_exclusive_at};
use device::{Caps, DeviceError, FileSet, LogDevice};
use std::path::Path;
use std::sync::Arc;

/// What the unfinished control file begins with until it has its content.
const HEAD: &[u8] = b"redolab: a control file in the making\n";

impl Log {
    /// Creates the files of a log in `directory`, which must exist: log files pre-written with
    /// pseudo-random bytes and control information, which gets its name last. Nothing that exists
    /// is overwritten; what was begun is removed when it fails or `cancel` says so, and by the next
    /// call where this one was killed.
    ///
    /// # Errors
    /// Impossible shapes, block sizes that the device does not allow, no room, existing files.
    pub fn create(
        directory: &Path,
        shape: Shape,
        progress: Progress<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let held = Directory::open(directory).map_err(|source| DeviceError::Io {
            path: directory.to_owned(),
            action: "open the directory for a log",
            source,
        })?;
        Log::create_at(&held, shape, progress, cancel)
    }

    /// As [`Log::create`], in a directory that is held open: its path may change hands.
    ///
    /// # Errors
    /// As [`Log::create`].
    pub fn create_at(
        directory: &Directory,
        shape: Shape,
        progress: Progress<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let named = directory.entry(Paths::CONTROL)?;
        if named.exists()? {
            return Err(taken(&named));
        }
        remove_unfinished(directory)?;
        let names = Paths::log_names(shape.groups);
        for at in directory.entries(&names)? {
            if at.exists()? {
                return Err(taken(&at));
            }
        }
        let mut made = Made::begin(directory, cancel)?;
        let info = made.describe(directory, shape)?;
        let total = shape.file_bytes * u64::from(shape.groups);
        for (group, name) in (0_u32..).zip(&names) {
            let before = shape.file_bytes * u64::from(group);
            let report = |done: u64| progress(before + done, total);
            let at = directory.entry(name)?;
            let head = header(&info, group).encode();
            let seed = made.seed ^ before;
            let bytes = shape.file_bytes;
            made.logs.push(create_prewritten_at(
                &at, bytes, &head, seed, &report, cancel,
            )?);
        }
        made.finish(&named, directory)
    }
}

fn taken(at: &DirectoryEntry) -> Error {
    const EEXIST: i32 = 17;
    Error::Device(DeviceError::Io {
        path: at.path().to_owned(),
        action: "create",
        source: std::io::Error::from_raw_os_error(EEXIST),
    })
}

/// A log in the making; dropped before it is finished, its files are removed, the control file
/// last: as long as it is there, a later creation knows the others.
struct Made {
    logs: Vec<CreatedFile>,
    control: CreatedFile,
    seed: u64,
    log_id: crate::format::LogId,
    _lock: LockGuard,
}

impl Made {
    fn begin(directory: &Directory, cancel: &dyn Fn() -> bool) -> Result<Made, Error> {
        let at = directory.entry(Paths::UNFINISHED)?;
        let log_id = fresh_id(directory.path());
        let seed = u64::from_le_bytes(*log_id.0.first_chunk().expect("sixteen bytes"));
        let control = create_prewritten_at(&at, CONTROL_BYTES, HEAD, seed, &|_| {}, cancel)?;
        Ok(Made {
            _lock: lock_exclusive_at(&at)?,
            logs: Vec::new(),
            control,
            seed,
            log_id,
        })
    }

    /// Writes the control information, durably.
    fn describe(&self, directory: &Directory, shape: Shape) -> Result<ControlInfo, Error> {
        let names = [Paths::UNFINISHED.to_owned()];
        let open = |method| FileSet::open_at(directory, &names, CONTROL_BYTES, method);
        let control = open(SyncMethod::Buffered)?;
        let caps = caps_for(shape, &control, || open(SyncMethod::Direct));
        let geometry = shape.geometry(&caps, directory.path())?;
        let info = ControlInfo::new(self.log_id, geometry);
        let path = directory.path().join(Paths::CONTROL);
        ControlFile::create(Arc::new(control), &path, info.clone())?;
        Ok(info)
    }

    /// The name is durable before the lock is given up: who opens the log next may commit at once.
    fn finish(self, named: &DirectoryEntry, directory: &Directory) -> Result<(), Error> {
        // Until here all of it is removed on a failure; from here on it is a log.
        self.control.rename(named)?;
        self.logs.into_iter().for_each(CreatedFile::keep);
        Ok(directory.sync()?)
    }
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

/// Refuses to open what an interrupted creation left, and says what to do.
pub(super) fn refuse_unfinished(directory: &Directory) -> Result<(), Error> {
    let at = directory.entry(Paths::UNFINISHED)?;
    if at.exists()? && !directory.entry(Paths::CONTROL)?.exists()? {
        return Err(Error::Unfinished {
            path: at.path().to_owned(),
        });
    }
    Ok(())
}

/// Removes what an interrupted creation left in `directory`, the control file last.
fn remove_unfinished(directory: &Directory) -> Result<(), Error> {
    let at = directory.entry(Paths::UNFINISHED)?;
    if !at.exists()? {
        return Ok(());
    }
    let in_the_way = |at: &DirectoryEntry| Error::InTheWay {
        path: at.path().to_owned(),
    };
    if !matches!(at.file_bytes(), Ok(Some(_))) {
        return Err(in_the_way(&at));
    }
    let lock = lock_exclusive_at(&at)?;
    match unfinished_log(directory, &at) {
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
        }
        // Its content was not whole: no log file had been made then.
        None if lock.is_empty() || lock.begins_with(HEAD) => {}
        None => return Err(in_the_way(&at)),
    }
    Ok(lock.remove(&at)?)
}

/// The control information of a log that was never opened.
fn unfinished_log(directory: &Directory, at: &DirectoryEntry) -> Option<ControlInfo> {
    let names = [Paths::UNFINISHED.to_owned()];
    let device = FileSet::open_read_only_at(directory, &names, CONTROL_BYTES).ok()?;
    let control = ControlFile::load(Arc::new(device), at.path()).ok()?;
    let info = control.info().clone();
    (info.generation == 1 && info.current().number == 1).then_some(info)
}

/// Whether a log file is this log's, or has no data.
fn is_unfinished(held: &LockGuard, info: &ControlInfo, group: u32, at: &DirectoryEntry) -> bool {
    if held.is_empty() {
        return true;
    }
    let mut head = [0_u8; FILE_HEADER_BYTES];
    held.read_head(&mut head) && check_header(&head, info, group, at.path()).is_ok()
}
