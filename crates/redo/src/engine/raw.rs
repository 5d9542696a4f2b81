//! A log on a raw block device: where its parts stand, making it, opening it.
//!
//! ```text
//! 0          RAW_CONTROL_AT + 32 KiB    RAW_LOG_AT                         bytes - RAW_TAIL_BYTES
//! | control information | zeros         | group 1 | group 2 | … | not used | zeros |
//! ```
//!
//! Invariants: both ends and all known signatures are wiped, durably, before anything else is
//! written, and the control information is written last, so that a device on which this was
//! interrupted carries neither its former content's super blocks nor a log. Control information
//! and log share one device, hence one history of writes and flushes: a flush that fails for one
//! has failed for the other.
//!
//! What it must not know: how a device is chosen, and whose word it takes to overwrite one
//! (`device::raw`).

use super::Log;
use super::back_end;
use super::create::Progress;
use super::headers::{check_header, fresh_id, header};
use super::options::{Options, Shape};
use crate::control::{CONTROL_BYTES, ControlFile, ControlInfo};
use crate::error::Error;
use crate::format::FILE_HEADER_BYTES;
use crate::format::{RAW_CONTROL_AT, RAW_LOG_AT, RAW_TAIL_BYTES};
use crate::group::Geometry;
use crate::recovery::Recovery;
use device::file::SyncMethod;
use device::queue::IoOrDevice;
use device::raw::{ClearedRawDevice, END_BYTES, HeldRawDevice, RawDeviceRefusal, prewrite, wipe};
use device::{DeviceError, DeviceWindow, LogDevice};
use std::path::Path;
use std::sync::Arc;

const _: () = assert!(
    RAW_LOG_AT == END_BYTES && RAW_TAIL_BYTES == END_BYTES,
    "what is wiped is what the layout leaves empty"
);

/// Bytes of a device that a log of this shape needs.
#[must_use]
pub fn device_bytes(shape: &Shape) -> u64 {
    let groups = shape.file_bytes.saturating_mul(u64::from(shape.groups));
    groups.saturating_add(RAW_LOG_AT + RAW_TAIL_BYTES)
}

impl Log {
    /// Makes a log on a raw device, over whatever stood there: that is wiped from both ends, the
    /// groups are written once with pseudo-random bytes, and the control information comes last.
    /// When it fails or `cancel` says so, the device holds no log.
    pub(super) fn create_raw(
        device: &ClearedRawDevice,
        shape: Shape,
        progress: Progress<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let path = device.held().look().path();
        let space: Arc<dyn LogDevice> = Arc::new(device.held().space(SyncMethod::Direct)?);
        Log::create_in(&space, path, shape, progress, cancel)
    }

    /// Opens the log on a raw device and recovers it. The device is held until the log is gone.
    pub(super) fn open_raw(
        device: HeldRawDevice,
        options: Options,
    ) -> Result<(Log, Recovery), Error> {
        let path = device.look().path().to_owned();
        let chosen = back_end::choose(None, 0, &options);
        let set = device.space(chosen.method)?;
        let plain: Arc<dyn LogDevice> = Arc::new(set.clone());
        let control = ControlFile::load(control_window(&plain, &path)?, &path)?;
        let block = control.info().geometry.block_bytes;
        if let Some(misstated) = set.misstated()
            && block < misstated.accepted
        {
            return Err(misstated.clone().refuses(path, block).into());
        }
        // Control information stays with calls that block: a ring for each update is no gain.
        let guard = device.into_guard();
        let (space, back_end) = chosen.device(set, &options, &guard);
        let data = open_groups(&space, control.info(), &path)?;
        let (mut log, recovery) = Log::start(data, control, &path, options, vec![guard])?;
        log.say_first(back_end);
        Ok((log, recovery))
    }

    /// On a device of models and tests, named `path` in errors.
    pub(super) fn create_in(
        space: &Arc<dyn LogDevice>,
        path: &Path,
        shape: Shape,
        progress: Progress<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let geometry = shape.geometry(&space.caps(), path)?;
        let (needed, available) = (device_bytes(&shape), space.bytes());
        if needed > available {
            let path = path.to_owned();
            let refused = RawDeviceRefusal::TooSmall {
                path,
                needed,
                available,
            };
            return Err(DeviceError::from(refused).into());
        }
        let info = ControlInfo::new(fresh_id(path), geometry);
        let failed = |source| making(path, source);
        space.settle().map_err(failed)?;
        wipe(&**space).map_err(failed)?;
        let seed = u64::from_le_bytes(*info.log_id.0.first_chunk().expect("sixteen bytes"));
        let total = geometry.file_bytes * u64::from(geometry.groups);
        for group in 0..geometry.groups {
            let before = geometry.file_bytes * u64::from(group);
            let head = header(&info, group).encode();
            let part = (RAW_LOG_AT + before, geometry.file_bytes);
            let report = |done: u64| progress(before + done, total);
            let whole = prewrite(&**space, part, &head, seed ^ before, &report, &|| !cancel());
            if !whole.map_err(failed)? {
                let path = path.to_owned();
                return Err(DeviceError::Cancelled { path }.into());
            }
        }
        let control = control_window(space, path)?;
        ControlFile::create(control, path, info).map(|_| ())
    }

    /// On a device of models and tests, named `path` in errors.
    pub(super) fn open_in(
        space: &Arc<dyn LogDevice>,
        path: &Path,
        options: Options,
    ) -> Result<(Log, Recovery), Error> {
        let control = ControlFile::load(control_window(space, path)?, path)?;
        let data = open_groups(space, control.info(), path)?;
        Log::start(data, control, path, options, Vec::new())
    }
}

/// The control information's part of a device.
pub(super) fn control_window(
    space: &Arc<dyn LogDevice>,
    path: &Path,
) -> Result<Arc<dyn LogDevice>, Error> {
    let window = DeviceWindow::new(Arc::clone(space), RAW_CONTROL_AT, CONTROL_BYTES, path)?;
    Ok(Arc::new(window))
}

/// The groups' part of a device, after a look at the header of each.
pub(super) fn open_groups(
    space: &Arc<dyn LogDevice>,
    info: &ControlInfo,
    path: &Path,
) -> Result<Arc<dyn LogDevice>, Error> {
    let Geometry {
        groups, file_bytes, ..
    } = info.geometry;
    let bytes = file_bytes * u64::from(groups);
    if RAW_LOG_AT + bytes > space.bytes() {
        let what = format!(
            "its log takes {} bytes where the device has {}",
            RAW_LOG_AT + bytes,
            space.bytes()
        );
        let path = path.to_owned();
        return Err(Error::WrongLog { path, what });
    }
    let data = DeviceWindow::new(Arc::clone(space), RAW_LOG_AT, bytes, path)?;
    for group in 0..groups {
        let mut head = [0_u8; FILE_HEADER_BYTES];
        data.read(u64::from(group) * file_bytes, &mut head)?;
        check_header(&head, info, group, path)?;
    }
    Ok(Arc::new(data))
}

fn making(path: &Path, source: IoOrDevice) -> Error {
    let path = path.to_owned();
    Error::Making { path, source }
}

#[cfg(test)]
mod tests;
