//! The null device as a place for a log: what is written there goes nowhere, only the control
//! information is kept, in memory.

use device::{LogDevice, NullDevice, SimDisk};
use redo::control::{CONTROL_BYTES, ControlFile};
use redo::format::LogId;
use redo::{Layout, Shape};
use std::path::Path;
use std::sync::Arc;

/// A log of that shape, made on the null device, behind whatever `wrap` puts around the device.
///
/// # Errors
/// An impossible shape.
pub fn null_layout(
    shape: &Shape,
    wrap: impl FnOnce(Arc<dyn LogDevice>) -> Arc<dyn LogDevice>,
) -> Result<Layout, redo::Error> {
    let caps = NullDevice::PLAIN;
    let geometry = shape.geometry(&caps, Path::new("null"))?;
    let control = SimDisk::new(CONTROL_BYTES as usize, 4096, false);
    control.set_immediate(true);
    let control: Arc<dyn LogDevice> = Arc::new(control);
    let id = LogId(*b"null-device-log!");
    ControlFile::format(Arc::clone(&control), geometry, id)?;
    let bytes = geometry.file_bytes * u64::from(geometry.groups);
    let data = wrap(Arc::new(NullDevice::new(bytes, caps)));
    Ok(Layout::devices(data, control))
}
