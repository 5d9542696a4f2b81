//! The note of a test on a raw device: whose log is there, and why its writer ended by itself. It
//! lies in the last MiB, which a log leaves empty, and is what the marker and the note of the end
//! are in a folder.
//!
//! Invariants: it is durable when it was written; what cannot be read, or is something else, is no
//! note.

use super::PowerTestError;
use device::queue::write_durable;
use device::raw::END_BYTES;
use device::{FileSet, LogDevice};
use measure::words::sanitize;
use serde::{Deserialize, Serialize};
use std::path::Path;

const SCHEMA: &str = "redolab.powertest-device/1";
const BYTES: usize = 4096;
/// Of a reason so many characters are kept.
const REASON_MAX: usize = 512;

/// A note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeviceNote {
    schema: String,
    /// Identity of the test.
    pub(super) test_id: String,
    /// Why its writer ended by itself; `None` while it writes.
    pub(super) ended: Option<String>,
}

impl DeviceNote {
    pub(super) fn new(test_id: &str, ended: Option<&str>) -> DeviceNote {
        DeviceNote {
            schema: SCHEMA.to_owned(),
            test_id: test_id.to_owned(),
            ended: ended.map(|why| why.chars().take(REASON_MAX).collect()),
        }
    }

    /// Puts it on a device that is held, durably.
    pub(super) fn write(&self, space: &FileSet) -> std::io::Result<()> {
        let failed = |e: &dyn std::fmt::Display| std::io::Error::other(e.to_string());
        let json = serde_json::to_vec(self)?;
        let mut block = vec![0; BYTES];
        let place = block.get_mut(..json.len());
        place
            .ok_or_else(|| failed(&"the note is too long"))?
            .copy_from_slice(&json);
        write_durable(space, place_on(space.bytes()), &block).map_err(|e| failed(&e))
    }

    /// The note on a device; `None` where there is none, or it cannot be read.
    ///
    /// # Errors
    /// The device cannot be opened.
    pub(super) fn read(path: &Path) -> Result<Option<DeviceNote>, PowerTestError> {
        let space = device::raw::read_only(path)?;
        let mut block = vec![0; BYTES];
        if space.read(place_on(space.bytes()), &mut block).is_err() {
            return Ok(None);
        }
        let end = block.iter().position(|byte| *byte == 0).unwrap_or(BYTES);
        let note: Option<DeviceNote> = serde_json::from_slice(&block[..end]).ok();
        Ok(note.filter(|note| note.schema == SCHEMA).map(|note| {
            let ended = note.ended.as_deref().map(sanitize::line);
            DeviceNote::new(&sanitize::line(&note.test_id), ended.as_deref())
        }))
    }
}

/// In the middle of the last MiB, away from its ends, where formats keep their super blocks.
fn place_on(bytes: u64) -> u64 {
    let unit = BYTES as u64;
    bytes.saturating_sub(END_BYTES) / unit * unit + END_BYTES / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_lies_in_the_last_mib_whatever_the_size_is() {
        for bytes in [4 << 20, (4 << 20) + 512, 1 << 40, (1 << 40) + 4095] {
            let at = place_on(bytes);
            assert!(at.is_multiple_of(BYTES as u64), "{bytes}");
            assert!(at >= bytes - END_BYTES && at + BYTES as u64 <= bytes);
        }
    }

    #[test]
    fn a_long_reason_fits() {
        let long = "\u{1F4BE}\"".repeat(REASON_MAX);
        let note = DeviceNote::new("7", Some(&long));
        assert!(serde_json::to_vec(&note).expect("JSON").len() < BYTES);
    }
}
