//! Looking into a log with a ring without changing it: for tools.
//!
//! Invariants: files are opened only to be read, no lock is taken, nothing is flushed. What an
//! opening would refuse is asked of what an opening asks.

use super::create::hold;
use super::inspect::Inspection;
use super::options::Paths;
use crate::control::RingTable;
use crate::error::Error;
use crate::members::ring::{GivenRing, foresee};
use crate::rba::Rba;
use crate::recovery::Salvage;
use device::{DeviceError, FileSet};
use std::path::Path;
use std::sync::Arc;

/// A disk and its ring, looked at together.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RingInspection {
    /// What the disk's control information says of its ring; `None` where the disk holds no log
    /// with a ring.
    pub table: Option<RingTable>,
    /// Number of the last update of the disk's control information.
    pub generation: Option<u64>,
    /// The process that has the log open.
    pub open_by: Option<u32>,
    /// The first block that does not count on the disk: everything before it is there.
    pub disk_end: Option<Rba>,
    /// The first block that does not count on the disk after it was given what the ring has.
    pub end: Option<Rba>,
    /// Size of the ring, bytes; `None` where it cannot be used.
    pub ring_bytes: Option<u64>,
    /// Batches of the log's current life in the ring.
    pub batches: u64,
    /// Bytes of redo blocks in these batches.
    pub batch_bytes: u64,
    /// Bytes of redo that the disk lacks and the ring has.
    pub lacking_bytes: u64,
    /// Why the log would be opened without its ring.
    pub unused: Option<String>,
    /// What refuses to open the log with this ring; `None` where it opens.
    pub refused: Option<String>,
    /// What [`LogBuilder::salvage`](super::LogBuilder::salvage) would keep and give up; `None`
    /// if the log is not damaged, or the damage is not cured by that.
    pub damage: Option<Salvage>,
}

impl RingInspection {
    /// Looks at the log in `disk` with its ring in `ring`. It may be open elsewhere; what is found
    /// is then a moment's.
    ///
    /// # Errors
    /// A device that fails while it is read.
    pub fn of(disk: impl AsRef<Path>, ring: impl AsRef<Path>) -> Result<RingInspection, Error> {
        let (path, mut found) = (disk.as_ref(), RingInspection::default());
        let log = match Inspection::open(path) {
            Ok(log) => log,
            Err(error) => {
                found.refused = Some(error.to_string());
                return Ok(found);
            }
        };
        let info = log.control().clone();
        found.generation = Some(info.generation);
        found.open_by = log.owner().unwrap_or_default();
        let Some(table) = info.ring else {
            let path = path.to_owned();
            let what = String::from("this log has no ring: open it as a log of its own");
            found.refused = Some(Error::Members { path, what }.to_string());
            return Ok(found);
        };
        found.table = Some(table);
        // What the disk lacks may look like damage there.
        let geometry = &info.geometry;
        found.disk_end = match log.scan(|_, _| {}) {
            Ok(scan) => Some(geometry.rba(scan.end, 0)),
            Err(error @ Error::Device(_)) => return Err(error),
            Err(_) => None,
        };
        let given = give(ring.as_ref());
        let looked = foresee((log.into_data(), path.to_owned()), given, &info, table)?;
        found.end = looked.scan.map(|scan| geometry.rba(scan.end, 0));
        found.ring_bytes = looked.ring_bytes;
        (found.batches, found.batch_bytes) = looked.batches;
        found.lacking_bytes = looked.lacking * u64::from(geometry.block_bytes);
        (found.unused, found.refused) = (looked.unused, looked.refused);
        found.damage = looked.damage;
        Ok(found)
    }
}

/// The ring in a directory, to be read; else why it is not there.
fn give(path: &Path) -> Result<GivenRing, String> {
    let open = || -> Result<FileSet, Error> {
        let directory = hold(path)?;
        let at = directory.entry(Paths::RING)?;
        let bytes = at.file_bytes().map_err(|source| DeviceError::Io {
            path: at.path().to_owned(),
            action: "no ring here",
            source,
        })?;
        let (names, bytes) = ([Paths::RING.to_owned()], bytes.unwrap_or(0));
        Ok(FileSet::open_read_only_at(&directory, &names, bytes)?)
    };
    let device = open().map_err(|error| error.to_string())?;
    Ok(GivenRing {
        path: path.to_owned(),
        device: Arc::new(device),
    })
}
