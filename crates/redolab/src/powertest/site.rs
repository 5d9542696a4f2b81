//! What a test writes to: files in a folder of redolab's own on a file system, or a log on a raw
//! block device.
//!
//! Invariants: a raw device is overwritten only if its owner repeated its path, and is held from
//! before the server hears of the test until the writer's end is noted. An end of the writer's own
//! is noted durably, in the folder or on the device.

use super::PowerTestError;
use super::device_note::DeviceNote;
use super::folder::TestFolder;
use super::messages::{RawFileShape, TestedFiles, TestedLog};
use super::order::WriteOrder;
use super::raw;
use super::records::TestId;
use crate::raw_consent::{NoConsent, consented};
use crate::safety::{self, PlannedWrites, VolumeRoom};
use device::raw::{ClearedRawDevice, RawDeviceRefusal};
use device::{DeviceError, FileSet, SyncMethod};
use measure::words::{self, sanitize};
use redo::engine::LogBuilder;
use redo::format::LifeId;
use redo::{Log, Options};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The path by which a test is found again: that of a directory without links; of a device the one
/// that was typed, since what a link such as /dev/disk/by-id leads to may change at a restart.
pub(super) fn lasting_path(path: &Path) -> Result<PathBuf, PowerTestError> {
    let found = match device::raw::is_block_device(path) {
        true => std::path::absolute(path),
        // What is gone has the path that it had.
        false => path.canonicalize().or_else(|e| match e.kind() {
            ErrorKind::NotFound => std::path::absolute(path),
            _ => Err(e),
        }),
    };
    found.map_err(PowerTestError::system(path.display()))
}

/// A device that its owner gave.
pub(super) struct TestDevice {
    path: PathBuf,
    /// What will be lost.
    warning: String,
    /// For what is written beside the log.
    space: FileSet,
    /// The hold for that; a log gives up its own when it is closed.
    _hold: OwnedFd,
    /// The device, until its log is made.
    cleared: Option<ClearedRawDevice>,
    /// The test whose note is on it.
    noted: Option<TestId>,
}

/// Where a writer writes.
pub(super) enum TestSite {
    /// To files in a folder.
    Folder(TestFolder),
    /// To a log on a device.
    Device(Box<TestDevice>),
}

/// What is written to, ready.
pub(super) enum Begun {
    /// A log.
    Log(Arc<Log>),
    /// Files of raw writes.
    Raw(Vec<RawFileShape>),
}

impl TestSite {
    /// The place of a new test; nothing is overwritten yet.
    ///
    /// # Errors
    /// A path that cannot be used, or a device whose path was not repeated or that is in use.
    pub(super) fn take(order: &WriteOrder<'_>) -> Result<TestSite, PowerTestError> {
        let (path, shown) = (&order.path, order.path.display());
        let refused = |what: String| Err(PowerTestError::Refused(what));
        // About what a log takes: the rest is refused when it was made.
        let record_max = order.shape.file_bytes / 4;
        if order.raw.is_none() && u64::from(order.payload_bytes) > record_max {
            return Err(too_long(order, record_max));
        }
        if !device::raw::is_block_device(path) {
            if order.destroy.is_some() {
                return refused(format!(
                    "--destroy takes the path of a raw block device, and {shown} is not one; leave \
                     --destroy out"
                ));
            }
            return TestFolder::take(path).map(TestSite::Folder);
        }
        if order.raw.is_some() || order.pressure_bytes.is_some() {
            return refused(format!(
                "{shown} is a block device, and --raw and --pressure write to files: leave them out, \
                 or make a file system on the device and name a directory there"
            ));
        }
        TestDevice::take(order).map(|device| TestSite::Device(Box::new(device)))
    }

    /// The folder, where it is one.
    pub(super) fn folder(&self) -> Option<&TestFolder> {
        match self {
            TestSite::Folder(folder) => Some(folder),
            TestSite::Device(_) => None,
        }
    }

    /// Its folder or device.
    pub(super) fn path(&self) -> &Path {
        match self {
            TestSite::Folder(folder) => folder.folder.path(),
            TestSite::Device(device) => &device.path,
        }
    }

    /// Makes the log or the files of test `test`. `cancel` is asked all the time.
    ///
    /// # Errors
    /// Too little room, a device that is not what it was, the system's.
    pub(super) fn make(
        &mut self,
        order: &WriteOrder<'_>,
        test: TestId,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(Begun, TestedFiles), PowerTestError> {
        let folder = match self {
            TestSite::Folder(folder) => folder,
            TestSite::Device(device) => return device.make(order, test, cancel),
        };
        folder.begin(&test.to_string())?;
        check_room(order, folder)?;
        let Some(writes) = &order.raw else {
            let builder = Log::builder(folder.folder.directory());
            return make_log(builder, order, folder.folder.path(), cancel);
        };
        let shapes = raw::shapes(&writes.sizes, writes.files, order.shape.file_bytes);
        for (seed, shape) in (1..).zip(&shapes) {
            raw::make(&folder.folder, shape, seed, cancel)?;
        }
        Ok((Begun::Raw(shapes.clone()), TestedFiles::Raw(shapes)))
    }

    /// Notes durably why the writer ended by itself.
    pub(super) fn note_end(&self, why: &str) -> std::io::Result<()> {
        match self {
            TestSite::Folder(folder) => folder.note_end(why),
            TestSite::Device(device) => device.note_end(why),
        }
    }
}

impl TestDevice {
    fn take(order: &WriteOrder<'_>) -> Result<TestDevice, PowerTestError> {
        let consented = consented(&order.path, order.destroy.as_deref());
        let (look, consent) = consented.map_err(|no| match no {
            NoConsent::Refused(why) => PowerTestError::Refused(why),
            NoConsent::Device(error) => error.into(),
        })?;
        let needed = redo::engine::raw::device_bytes(&order.shape);
        if look.bytes() < needed {
            let refused = RawDeviceRefusal::TooSmall {
                path: look.typed().to_owned(),
                needed,
                available: look.bytes(),
            };
            return Err(PowerTestError::Refused(refused.to_string()));
        }
        let cleared = look.hold().and_then(|held| held.clear(&consent));
        let cleared = cleared.map_err(|e| match e {
            DeviceError::Refused(why) => PowerTestError::Refused(why.to_string()),
            other => other.into(),
        })?;
        let warning = sanitize::line(&format!(
            "Overwriting the raw device {}, as --destroy confirms: {}.",
            look.typed().display(),
            look.inventory()
        ));
        Ok(TestDevice {
            path: order.path.clone(),
            warning,
            space: cleared.held().space(SyncMethod::Direct)?,
            _hold: cleared
                .held()
                .hold_once_more()
                .map_err(PowerTestError::system(order.path.display()))?,
            cleared: Some(cleared),
            noted: None,
        })
    }

    /// Makes the log and the note of test `test`.
    fn make(
        &mut self,
        order: &WriteOrder<'_>,
        test: TestId,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(Begun, TestedFiles), PowerTestError> {
        let cleared = self.cleared.take();
        let cleared = cleared.ok_or_else(|| {
            PowerTestError::Failed(format!("{}: it is not held", self.path.display()))
        })?;
        (order.say)(&self.warning);
        let made = make_log(Log::builder(cleared), order, &self.path, cancel)?;
        let note = DeviceNote::new(&test.to_string(), None);
        let shown = format!("{}: noting the test", self.path.display());
        note.write(&self.space)
            .map_err(PowerTestError::system(shown))?;
        self.noted = Some(test);
        Ok(made)
    }

    /// Without a note of its own nothing was acknowledged, and nothing is noted.
    fn note_end(&self, why: &str) -> std::io::Result<()> {
        self.noted.map_or(Ok(()), |test| {
            DeviceNote::new(&test.to_string(), Some(why)).write(&self.space)
        })
    }
}

fn too_long(order: &WriteOrder<'_>, most: u64) -> PowerTestError {
    PowerTestError::Refused(format!(
        "--payload {}: records have at most {most} bytes; raise --log-file-size",
        order.payload_bytes
    ))
}

fn make_log(
    builder: LogBuilder<'_>,
    order: &WriteOrder<'_>,
    path: &Path,
    cancel: &dyn Fn() -> bool,
) -> Result<(Begun, TestedFiles), PowerTestError> {
    let options = Options::default().sync_method(order.sync_method);
    let builder = builder.shape(order.shape).options(options).cancel(cancel);
    let made = match builder.create() {
        Err(_) if cancel() => return Err(PowerTestError::Interrupted),
        made => made?,
    };
    let (log, _) = made.open()?;
    if u64::from(order.payload_bytes) > log.max_record_bytes() {
        return Err(too_long(order, log.max_record_bytes()));
    }
    let files = TestedFiles::Log(tested_log(path)?);
    Ok((Begun::Log(Arc::new(log)), files))
}

/// What the server keeps of the log at a path.
fn tested_log(path: &Path) -> Result<TestedLog, PowerTestError> {
    let (control, _) = Log::inspect(path)?;
    let geometry = control.geometry;
    let life = control.current().life.map(LifeId::bytes);
    Ok(TestedLog {
        log_id: TestId(control.log_id.0).to_string(),
        life_id: TestId(life.unwrap_or_default()).to_string(),
        block_bytes: geometry.block_bytes,
        seal_blocks: geometry.seal_blocks,
        groups: geometry.groups,
        blocks_per_group: geometry.blocks_per_group,
        header_bytes: geometry.header_bytes,
        file_bytes: geometry.file_bytes,
    })
}

/// Says what will be written, and refuses what would fill the volume.
fn check_room(order: &WriteOrder<'_>, folder: &TestFolder) -> Result<(), PowerTestError> {
    let shown = order.path.display();
    let room = VolumeRoom::of(folder.folder.directory());
    let room = room.map_err(PowerTestError::system(&shown))?;
    let files = match &order.raw {
        None => u64::from(order.shape.groups),
        Some(raw) => raw.sizes.len() as u64 * u64::from(raw.files),
    };
    let log_bytes = files.saturating_mul(order.shape.file_bytes);
    let bytes = log_bytes.saturating_add(order.pressure_bytes.unwrap_or(0));
    let plan = PlannedWrites {
        footprint_bytes: bytes,
        log_files: files,
        log_file_bytes: order.shape.file_bytes,
        ..PlannedWrites::default()
    };
    safety::check_plan(&plan, room)
        .map_err(|e| PowerTestError::Refused(format!("{shown}: {e}")))?;
    (order.say)(&format!(
        "Files of {} are made, and overwritten until the writer ends.",
        words::size(bytes)
    ));
    Ok(())
}
