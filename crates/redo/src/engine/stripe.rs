//! A log in a stripe: one file in each of several directories.
//!
//! ```text
//! each file   | header | 1 MiB: a piece of the log | another piece | …
//! the log     as on a raw device, over the pieces of all files
//! ```
//!
//! Each file's header contains the log's identity, how many files there are, which of them it is
//! and how wide the stripe is. So the directories may be given in any order, and a file of another
//! log, a missing one or one that was copied is refused by name.
//!
//! Invariants: nothing that exists is overwritten. While they are made the files are called
//! [`Paths::UNFINISHED_STRIPE`] and locked, and they begin with text; what is removed of an
//! interrupted creation begins with it, and nobody has it locked. A header replaces the text when
//! everything else is durable, in all files before the first one gets its name. All files are
//! locked while the log is open.

use super::create::{Progress, met, refuse_taken};
use super::headers::{fresh_id, header};
use super::options::{Options, Paths, Shape};
use super::raw::{control_window, device_bytes, open_groups};
use super::{Log, back_end};
use crate::control::{ControlFile, ControlInfo};
use crate::error::Error;
use crate::format::{HeaderProblem, RAW_LOG_AT, STRIPE_DATA_AT, STRIPE_HEADER_BYTES, StripeHeader};
use crate::recovery::Recovery;
use device::file::{CreatedFile, Directory, DirectoryEntry, LockGuard, SyncMethod};
use device::file::{create_prewritten_locked_at, lock_exclusive_at};
use device::queue::{IoOrDevice, write_durable};
use device::stripe::MAX_STRIPE_DEVICES;
use device::{DeviceError, DeviceWindow, FileSet, LogDevice, StripeWidth, StripedDevice};
use std::path::Path;
use std::sync::Arc;

/// What a stripe file begins with until it has its header.
const HEAD: &[u8] = b"redolab: a stripe file in the making\n";

/// Bytes of each stripe file of a log of this shape over `count` directories.
#[must_use]
pub fn stripe_file_bytes(shape: &Shape, count: usize, width: StripeWidth) -> u64 {
    STRIPE_DATA_AT.saturating_add(column_bytes(shape, count, width))
}

fn column_bytes(shape: &Shape, count: usize, width: StripeWidth) -> u64 {
    let row = width.bytes().saturating_mul(count.max(1) as u64);
    device_bytes(shape)
        .div_ceil(row)
        .saturating_mul(width.bytes())
}

/// Makes the files of a log in a stripe over `directories`.
pub(super) fn create(
    directories: &[Directory],
    width: StripeWidth,
    shape: Shape,
    progress: Progress<'_>,
    cancel: &dyn Fn() -> bool,
) -> Result<(), Error> {
    refuse_set(directories)?;
    shape.check()?;
    // What explains a name that is taken comes first.
    directories.iter().try_for_each(remove_unfinished)?;
    for directory in directories {
        refuse_taken(&directory.entry(Paths::STRIPE)?, &[])?;
    }
    let path = directories[0].path();
    let log_id = fresh_id(path);
    let (count, mut made) = (directories.len(), Vec::new());
    let bytes = stripe_file_bytes(&shape, count, width);
    for (number, directory) in (0_u64..).zip(directories) {
        let at = directory.entry(Paths::UNFINISHED_STRIPE)?;
        let seed = u64::from_le_bytes(*log_id.0.first_chunk().expect("sixteen bytes")) ^ number;
        let report = |done: u64| progress(number * bytes + done, count as u64 * bytes);
        let file = create_prewritten_locked_at(&at, bytes, HEAD, seed, &report, cancel);
        made.push(file.map_err(|error| met(&at, error))?);
        // Another creation may have ended since.
        refuse_taken(&directory.entry(Paths::STRIPE)?, &[])?;
    }
    let open = |directory: &Directory| {
        FileSet::open_at(
            directory,
            &[Paths::UNFINISHED_STRIPE],
            bytes,
            SyncMethod::Direct,
        )
        .or_else(|_| buffered(directory, Paths::UNFINISHED_STRIPE, bytes))
    };
    let sets = directories
        .iter()
        .map(open)
        .collect::<Result<Vec<_>, _>>()?;
    describe(&sets, width, shape, log_id, path)?;
    for (number, set) in (0..).zip(&sets) {
        let head = StripeHeader {
            log_id,
            number,
            count: count as u32,
            width,
            column_bytes: bytes - STRIPE_DATA_AT,
        };
        let mut extent = vec![0; 4096_usize.max(set.caps().logical_bytes as usize)];
        extent[..STRIPE_HEADER_BYTES].copy_from_slice(&head.encode());
        write_durable(set, 0, &extent).map_err(|source| making(path, source))?;
    }
    drop(sets);
    name(directories, &mut made)
}

fn buffered(directory: &Directory, name: &str, bytes: u64) -> Result<FileSet, DeviceError> {
    FileSet::open_at(directory, &[name], bytes, SyncMethod::Buffered)
}

/// Writes the header of each group and, last, the control information.
fn describe(
    sets: &[FileSet],
    width: StripeWidth,
    shape: Shape,
    log_id: crate::format::LogId,
    path: &Path,
) -> Result<(), Error> {
    let space = space_over(sets.iter().map(as_device).collect(), width, path)?;
    let geometry = shape.geometry(&space.caps(), path)?;
    let info = ControlInfo::new(log_id, geometry);
    for group in 0..geometry.groups {
        let mut extent = vec![0; geometry.header_bytes as usize];
        let head = header(&info, group).encode();
        extent[..head.len()].copy_from_slice(&head);
        let at = RAW_LOG_AT + u64::from(group) * geometry.file_bytes;
        write_durable(&*space, at, &extent).map_err(|source| making(path, source))?;
    }
    ControlFile::create(control_window(&space, path)?, path, info).map(|_| ())
}

/// Gives the files their names: all of them, or none.
fn name(directories: &[Directory], made: &mut [(CreatedFile, LockGuard)]) -> Result<(), Error> {
    let mut named = Vec::new();
    let mut given = Ok(());
    for (directory, (file, lock)) in directories.iter().zip(made) {
        let at = directory.entry(Paths::STRIPE)?;
        given = file.rename(&at).and_then(|()| directory.sync());
        named.push((at, lock));
        if given.is_err() {
            break;
        }
    }
    if given.is_err() {
        for (at, lock) in named {
            // It is locked, so nobody has opened it; the cause is on its way.
            let _left = lock.remove(&at);
        }
    }
    Ok(given?)
}

fn making(path: &Path, source: IoOrDevice) -> Error {
    match source {
        IoOrDevice::Device(error) => error.into(),
        IoOrDevice::Io(failure) => Error::Device(DeviceError::Io {
            path: path.to_owned(),
            action: "write the headers of a new log",
            source: std::io::Error::from_raw_os_error(failure.errno),
        }),
    }
}

/// Refuses what cannot be the directories of a stripe.
fn refuse_set(directories: &[Directory]) -> Result<(), Error> {
    if !(2..=MAX_STRIPE_DEVICES).contains(&directories.len()) {
        let first = directories.first().map(|d| d.path().to_owned());
        return Err(Error::Stripe {
            path: first.unwrap_or_default(),
            what: format!(
                "a stripe over {} directories; name from 2 to {MAX_STRIPE_DEVICES}",
                directories.len()
            ),
        });
    }
    for (at, directory) in directories.iter().enumerate() {
        if directories[..at]
            .iter()
            .any(|other| other.is_same(directory))
        {
            return Err(Error::Stripe {
                path: directory.path().to_owned(),
                what: "this directory is named twice; name each directory of a stripe once"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// Removes what an interrupted creation left, where that is proven.
fn remove_unfinished(directory: &Directory) -> Result<(), Error> {
    let at = directory.entry(Paths::UNFINISHED_STRIPE)?;
    if !at.exists()? {
        return Ok(());
    }
    let lock = match lock_exclusive_at(&at) {
        Ok(lock) => lock,
        // Its creator ended meanwhile.
        Err(_) if !at.exists()? => return Ok(()),
        Err(error) => return Err(met(&at, error)),
    };
    if lock.is_empty() || lock.begins_with(HEAD) {
        return Ok(lock.remove(&at)?);
    }
    Err(match has_header(&lock) {
        true => without_name(&at),
        false => Error::InTheWay {
            path: at.path().to_owned(),
        },
    })
}

fn has_header(file: &LockGuard) -> bool {
    let mut head = [0; STRIPE_HEADER_BYTES];
    file.read_head(&mut head) && StripeHeader::decode(&head).is_ok()
}

/// A stripe file has its header and not its name.
fn without_name(at: &DirectoryEntry) -> Error {
    let name = Paths::STRIPE;
    Error::Stripe {
        path: at.path().to_owned(),
        what: format!(
            "this stripe file has the name of an unfinished one; if it was renamed, rename it to \
             {name}; if the creation of the log was interrupted, the log holds no redo: remove \
             this file, and {name} in the other directories of that log"
        ),
    }
}

/// Refuses to take a directory of a stripe for a whole log.
pub(super) fn refuse_alone(directory: &Directory) -> Result<(), Error> {
    let at = directory.entry(Paths::STRIPE)?;
    if !at.exists()? || directory.entry(Paths::CONTROL)?.exists()? {
        return Ok(());
    }
    Err(Error::Stripe {
        path: at.path().to_owned(),
        what: "this file is a part of a striped log; open the log with all its directories"
            .to_owned(),
    })
}

/// A stripe file that is locked and has a header.
struct Column {
    at: DirectoryEntry,
    lock: LockGuard,
    header: StripeHeader,
}

impl Column {
    fn open(directory: &Directory) -> Result<Column, Error> {
        let at = directory.entry(Paths::STRIPE)?;
        let path = at.path().to_owned();
        if !at.exists()? {
            let unfinished = directory.entry(Paths::UNFINISHED_STRIPE)?;
            if unfinished.exists()? {
                let path = unfinished.path().to_owned();
                return Err(match lock_exclusive_at(&unfinished) {
                    Ok(lock) if has_header(&lock) => without_name(&unfinished),
                    _ => Error::Unfinished { path },
                });
            }
            let what = "no stripe file of a redo log is here; name the directories in which the \
                        log was made"
                .to_owned();
            return Err(Error::Stripe { path, what });
        }
        let lock = lock_exclusive_at(&at)?;
        // Its creator may have been killed before the name was durable.
        directory.sync()?;
        let mut head = [0; STRIPE_HEADER_BYTES];
        if !lock.read_head(&mut head) {
            return Err(Error::NotALog { path });
        }
        match StripeHeader::decode(&head) {
            Ok(header) => Ok(Column { at, lock, header }),
            Err(HeaderProblem::NotOurs) => Err(Error::NotALog { path }),
            Err(HeaderProblem::Version(found)) => Err(Error::Version { path, found }),
            Err(HeaderProblem::Damaged) => {
                let what = "its stripe header is damaged".to_owned();
                Err(Error::WrongLog { path, what })
            }
        }
    }

    fn set(&self, method: SyncMethod) -> Result<FileSet, Error> {
        let expected = STRIPE_DATA_AT + self.header.column_bytes;
        let found = self.at.file_bytes().ok().flatten();
        if let Some(found) = found.filter(|found| *found != expected) {
            return Err(Error::Stripe {
                path: self.at.path().to_owned(),
                what: format!(
                    "has {found} bytes where its header says {expected}; restore it from a copy of \
                     this log"
                ),
            });
        }
        let names = [self.at.name()];
        Ok(FileSet::open_at(
            self.at.directory(),
            &names,
            expected,
            method,
        )?)
    }
}

/// The stripe files in `directories`, in the order of the stripe.
fn columns(directories: &[Directory]) -> Result<Vec<Column>, Error> {
    refuse_set(directories)?;
    let all = directories.iter().map(Column::open);
    let mut all = all.collect::<Result<Vec<_>, _>>()?;
    let first = all[0].header;
    for column in &all {
        let (path, found) = (column.at.path().to_owned(), column.header);
        if found.log_id != first.log_id {
            let what = format!("belongs to another log than {}", all[0].at.path().display());
            return Err(Error::WrongLog { path, what });
        }
        let same = |c: &&Column| c.header.number == found.number;
        let number = first.number;
        let alike = StripeHeader { number, ..found };
        let what = if all.iter().filter(same).count() > 1 {
            format!(
                "is number {} of its stripe, as another given file",
                found.number + 1
            )
        } else if alike != first {
            format!(
                "has another shape of stripe than {}",
                all[0].at.path().display()
            )
        } else {
            continue;
        };
        return Err(Error::WrongLog { path, what });
    }
    let missing = (0..first.count).filter(|n| all.iter().all(|c| c.header.number != *n));
    let missing: Vec<String> = missing.map(|n| (n + 1).to_string()).collect();
    if !missing.is_empty() {
        return Err(Error::Stripe {
            path: all[0].at.path().to_owned(),
            what: format!(
                "the stripe of this log has {} files, and {} were given; number {} is missing: name \
                 all directories of the log",
                first.count,
                all.len(),
                missing.join(", ")
            ),
        });
    }
    all.sort_by_key(|column| column.header.number);
    Ok(all)
}

fn as_device(set: &FileSet) -> Arc<dyn LogDevice> {
    Arc::new(set.clone())
}

/// The log's bytes in stripe files.
fn space_over(
    files: Vec<Arc<dyn LogDevice>>,
    width: StripeWidth,
    path: &Path,
) -> Result<Arc<dyn LogDevice>, Error> {
    let part = |file: Arc<dyn LogDevice>| -> Result<Arc<dyn LogDevice>, DeviceError> {
        let bytes = file.bytes().saturating_sub(STRIPE_DATA_AT);
        Ok(Arc::new(DeviceWindow::new(
            file,
            STRIPE_DATA_AT,
            bytes,
            path,
        )?))
    };
    let parts = files.into_iter().map(part).collect::<Result<_, _>>()?;
    Ok(Arc::new(StripedDevice::new(parts, width, path)?))
}

/// The log's bytes with the locks of its files, for tools.
pub(super) fn open_space(
    directories: &[Directory],
) -> Result<(Arc<dyn LogDevice>, Vec<LockGuard>), Error> {
    let columns = columns(directories)?;
    let space = buffered_space(&columns)?;
    Ok((
        space,
        columns.into_iter().map(|column| column.lock).collect(),
    ))
}

fn buffered_space(columns: &[Column]) -> Result<Arc<dyn LogDevice>, Error> {
    let sets = columns
        .iter()
        .map(|column| column.set(SyncMethod::Buffered));
    let sets = sets.collect::<Result<Vec<_>, _>>()?;
    let path = columns[0].at.path();
    space_over(
        sets.iter().map(as_device).collect(),
        columns[0].header.width,
        path,
    )
}

impl Log {
    /// Opens the log in a stripe over `directories` and recovers it.
    pub(super) fn open_stripe(
        directories: &[Directory],
        options: Options,
    ) -> Result<(Log, Recovery), Error> {
        let columns = columns(directories)?;
        let (width, path) = (columns[0].header.width, columns[0].at.path());
        let look = control_window(&buffered_space(&columns)?, path)?;
        let block = ControlFile::load(look, path)?.info().geometry.block_bytes;
        let probed = columns[0].at.directory();
        let chosen = back_end::choose(Some(probed), block, &options);
        let sets = columns.iter().map(|column| column.set(chosen.method));
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        for (column, set) in columns.iter().zip(&sets) {
            if let Some(misstated) = set.misstated()
                && block < misstated.accepted
            {
                let path = column.at.path().to_owned();
                return Err(misstated.clone().refuses(path, block).into());
            }
        }
        // As on a raw device, control information stays with calls that block.
        let plain = space_over(sets.iter().map(as_device).collect(), width, path)?;
        let control = ControlFile::load(control_window(&plain, path)?, path)?;
        let locks: Vec<&LockGuard> = columns.iter().map(|column| &column.lock).collect();
        let (files, back_end) = chosen.devices(sets.clone(), &options, &locks);
        let space = space_over(files, width, path)?;
        let data = open_groups(&space, control.info(), path)?;
        if control.info().log_id != columns[0].header.log_id {
            let (path, what) = (
                path.to_owned(),
                "contains another log than its header".to_owned(),
            );
            return Err(Error::WrongLog { path, what });
        }
        let path = path.to_owned();
        let locks = columns.into_iter().map(|column| column.lock).collect();
        let (mut log, recovery) = Log::start(data, control, &path, options, locks)?;
        log.keep_files(sets);
        log.say_first(back_end);
        Ok((log, recovery))
    }
}
