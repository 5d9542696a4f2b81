//! What runs beside the sessions of redolab's own log: a database writer with its data file, and an
//! archiver. As a plan, and made ready on the machine.
//!
//! Invariants: a data file is made in a folder of redolab's own, and removed with it; an archive
//! stays. Neither is begun on a volume that would not keep what has to stay free.

use crate::budget::PAGE_BYTES;
use crate::cleanup::WorkFolder;
use crate::experiment::Failure;
use crate::safety::VolumeRoom;
use device::file::{Directory, create_prewritten_at};
use device::{FileSet, LogDevice, SyncMethod};
use drivers::embedded::{ArchiveOptions, NEIGHBOUR_BYTES, Neighbour};
use measure::Nanos;
use measure::record::DATA_BLOCK_BYTES;
use measure::words::size;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What runs beside the sessions of a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogBackgroundPlan {
    /// Archive the log.
    pub archive: Option<ArchivePlan>,
    /// Write blocks of a data file in proportion to redo.
    pub database_writer: Option<DatabaseWriterPlan>,
    /// Synchronise a file of its own.
    pub neighbour: Option<NeighbourPlan>,
}

/// Where a log is archived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivePlan {
    /// The directory in which the archive is made.
    pub directory: PathBuf,
    /// Files that are kept; `None` keeps all.
    pub keep: Option<u32>,
}

/// The database writer of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseWriterPlan {
    /// The directory in which its data file is made.
    pub directory: PathBuf,
    /// Bytes that it writes for each byte of redo.
    pub written_per_redo: f64,
}

/// A neighbour of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbourPlan {
    /// The directory in which its file is made.
    pub directory: PathBuf,
    /// From one fsync to the next.
    pub every: Nanos,
}

/// What the threads beside the log have under way at most, and what the page cache is charged for
/// the ends of their files.
const UNDER_WAY_BYTES: u64 = 16 << 20;
/// The name of a neighbour's file.
const NEIGHBOUR_FILE: &str = "neighbour.dat";
/// The name of a data file.
const DATA_FILE: &str = "data.dbf";

impl LogBackgroundPlan {
    /// Refuses what no run can do: it keeps redo, and the null device has none.
    pub(crate) fn check(&self, on_null: bool) -> Result<(), Failure> {
        let options = [
            ("--archive", self.archive.is_some()),
            ("--dbwr", self.database_writer.is_some()),
            ("--neighbour", self.neighbour.is_some()),
        ];
        let asked = options.iter().filter(|(_, asked)| *asked);
        let asked: Vec<&str> = asked.map(|(option, _)| *option).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let asked = asked.join(" and ");
        let refused = |why: &str| Err(Failure::Unusable(format!("{asked}: {why}")));
        if on_null {
            return refused(
                "the null device keeps no redo; name a directory or a device with --on",
            );
        }
        Ok(())
    }

    /// How often each byte of redo is written once more beside the log, at most: to the archive,
    /// and to the data file.
    #[must_use]
    pub fn writes_per_redo(&self) -> u64 {
        let data = self.database_writer.as_ref();
        // A cast saturates.
        let data = data.map_or(0, |writer| writer.written_per_redo.max(0.0).ceil() as u64);
        u64::from(self.archive.is_some()).saturating_add(data)
    }

    /// Bytes that are written before the first row, and beside redo: files that are made, the ends
    /// of archive files, and what threads have under way.
    #[must_use]
    pub fn making_bytes(&self, log_bytes: u64) -> u64 {
        let data = self.database_writer.as_ref();
        let data = data.map_or(0, |writer| data_bytes(log_bytes, writer.written_per_redo));
        let runs = self.archive.is_some() || data > 0 || self.neighbour.is_some();
        data.saturating_add(if runs { UNDER_WAY_BYTES } else { 0 })
    }

    /// Bytes that a neighbour writes in a second: its page, and the one in which it begins.
    #[must_use]
    pub fn neighbour_bytes_per_s(&self) -> u64 {
        let neighbour = self.neighbour.as_ref();
        neighbour.map_or(0, |n| {
            (2 * PAGE_BYTES).saturating_mul(1_000_000_000 / n.every.0.max(1))
        })
    }

    /// Lines of an announcement.
    pub(crate) fn lines(&self, log_bytes: u64) -> Vec<String> {
        let archive = self.archive.as_ref().map(|archive| {
            let kept = match archive.keep {
                None => "all of it stays there".to_owned(),
                Some(keep) => format!("the newest {keep} files stay there"),
            };
            let path = archive.directory.display();
            format!("All redo is archived to {path}; {kept}.")
        });
        let data = self.database_writer.as_ref().map(|writer| {
            format!(
                "A data file of {} is made in {}; {:.3} B are written to it for each byte of redo.",
                size(data_bytes(log_bytes, writer.written_per_redo)),
                writer.directory.display(),
                writer.written_per_redo
            )
        });
        let neighbour = self.neighbour.as_ref().map(|neighbour| {
            format!(
                "A neighbour appends 4 KiB to a file in {} and calls fsync every {} ms.",
                neighbour.directory.display(),
                neighbour.every.0 / 1_000_000
            )
        });
        archive.into_iter().chain(data).chain(neighbour).collect()
    }
}

/// The data file is so many times what the redo of all log files dirties, so that few blocks are
/// dirtied again before they are written (12 % while a log goes round once).
const SPREAD: f64 = 4.0;
/// It is at least as large as the log, and at most so many times.
const SIZE_MAX: f64 = 8.0;

/// Bytes of a data file, in whole blocks.
fn data_bytes(log_bytes: u64, written_per_redo: f64) -> u64 {
    let times = (SPREAD * written_per_redo).clamp(1.0, SIZE_MAX);
    // A cast saturates.
    let bytes = (log_bytes as f64 * times) as u64;
    bytes.saturating_sub(bytes % DATA_BLOCK_BYTES)
}

/// A data file that is there.
#[derive(Clone)]
pub struct PlacedDataFile {
    /// Where it is.
    pub device: Arc<dyn LogDevice>,
    /// Bytes that are written for each byte of redo.
    pub written_per_redo: f64,
}

impl std::fmt::Debug for PlacedDataFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlacedDataFile")
            .field("bytes", &self.device.bytes())
            .field("written_per_redo", &self.written_per_redo)
            .finish()
    }
}

/// What runs beside the sessions, ready.
#[derive(Clone, Debug, Default)]
pub struct PlacedBackground {
    /// The data file of the database writer.
    pub data: Option<PlacedDataFile>,
    /// Where the log is archived.
    pub archive: Option<ArchiveOptions>,
    /// Software beside the log.
    pub neighbour: Option<Neighbour>,
}

/// Makes ready what runs beside the sessions of a log of `log_bytes`, in files of `file_bytes`. The
/// folders are to be removed after the log.
///
/// # Errors
/// A directory that is none or cannot be written, no room, an interruption.
pub(crate) fn place(
    background: &LogBackgroundPlan,
    file_bytes: u64,
    log_bytes: u64,
    cancel: &dyn Fn() -> bool,
) -> Result<(PlacedBackground, Vec<WorkFolder>), Failure> {
    let mut folders = Vec::new();
    let mut placed = PlacedBackground::default();
    if let Some(plan) = &background.archive {
        let (directory, room) = volume("--archive", &plan.directory)?;
        need("--archive", &plan.directory, room, file_bytes)?;
        placed.archive = Some(ArchiveOptions {
            directory,
            keep: plan.keep,
            spare_bytes: room.keep_bytes(),
        });
    }
    if let Some(plan) = &background.neighbour {
        let (neighbour, folder) = place_neighbour(plan)?;
        placed.neighbour = Some(neighbour);
        folders.push(folder);
    }
    if let Some(plan) = &background.database_writer {
        let (data, folder) = place_data(plan, log_bytes, cancel)?;
        placed.data = Some(data);
        folders.push(folder);
    }
    Ok((placed, folders))
}

fn place_neighbour(plan: &NeighbourPlan) -> Result<(Neighbour, WorkFolder), Failure> {
    let (directory, room) = volume("--neighbour", &plan.directory)?;
    need("--neighbour", &plan.directory, room, NEIGHBOUR_BYTES)?;
    let making = || {
        let path = plan.directory.display();
        Failure::system(format!("making a neighbour's file in {path}"))
    };
    let folder = WorkFolder::create_in(&directory).map_err(making())?;
    folder.register(NEIGHBOUR_FILE).map_err(making())?;
    let file = folder.directory().create_file(NEIGHBOUR_FILE);
    let neighbour = Neighbour {
        file: Arc::new(file.map_err(making())?),
        every: Duration::from_nanos(plan.every.0),
    };
    Ok((neighbour, folder))
}

fn place_data(
    plan: &DatabaseWriterPlan,
    log_bytes: u64,
    cancel: &dyn Fn() -> bool,
) -> Result<(PlacedDataFile, WorkFolder), Failure> {
    let bytes = data_bytes(log_bytes, plan.written_per_redo);
    let (directory, room) = volume("--dbwr", &plan.directory)?;
    need("--dbwr", &plan.directory, room, bytes)?;
    let making = || format!("making a data file in {}", plan.directory.display());
    let folder = WorkFolder::create_in(&directory).map_err(Failure::system(making()))?;
    let at = folder
        .register(DATA_FILE)
        .map_err(Failure::system(making()))?;
    let made = create_prewritten_at(&at, bytes, &[], 1, &|_| {}, cancel);
    match made {
        Err(_) if cancel() => return Err(Failure::Interrupted),
        made => made?.keep(),
    }
    let open = |method| FileSet::open_at(folder.directory(), &[DATA_FILE], bytes, method);
    // Not every volume has direct I/O.
    let device = open(SyncMethod::Direct).or_else(|_| open(SyncMethod::Buffered))?;
    let data = PlacedDataFile {
        device: Arc::new(device),
        written_per_redo: plan.written_per_redo,
    };
    Ok((data, folder))
}

fn volume(option: &str, directory: &Path) -> Result<(Directory, VolumeRoom), Failure> {
    let what = format!("{option} {}", directory.display());
    let opened = directory
        .canonicalize()
        .and_then(|path| Directory::open(&path));
    let opened = opened.map_err(Failure::system(format!("{what}: not a directory")))?;
    let room = VolumeRoom::of(&opened).map_err(Failure::system(what))?;
    Ok((opened, room))
}

fn need(option: &str, directory: &Path, room: VolumeRoom, bytes: u64) -> Result<(), Failure> {
    if room.usable_bytes() >= bytes {
        return Ok(());
    }
    Err(Failure::Unusable(format!(
        "{option} {}: {} are needed, {} of the volume are free and {} must stay free; name a \
         directory on another volume or use smaller log files (--log-file-size)",
        directory.display(),
        size(bytes),
        size(room.available_bytes),
        size(room.keep_bytes())
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_file_grows_with_what_is_written_to_it() {
        let log_bytes = 4 << 20;
        let bytes = |rate| data_bytes(log_bytes, rate);
        assert!(bytes(0.001) <= log_bytes && bytes(0.001) > log_bytes - DATA_BLOCK_BYTES);
        assert_eq!(bytes(1.0), 4 * log_bytes);
        assert_eq!(bytes(100.0), 8 * log_bytes);
        for rate in [0.001, 0.324, 0.77, 3.0] {
            assert!(bytes(rate).is_multiple_of(DATA_BLOCK_BYTES), "{rate}");
        }
    }
}
