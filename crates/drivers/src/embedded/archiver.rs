//! The archiver: copies the redo of each log file that is full into a file of an archive, and the
//! rest when it ends, and then lets the log reuse it (`log file switch (archiving needed)`).
//!
//! Invariants: the log takes redo for archived only when the file that has it is durable with its
//! name; what an archiver that was killed had begun is copied again. It removes only files of its
//! own archive, in a folder that is called by the log's identity.

use super::archive_file::{ArchiveFile, SYNC_BYTES, begin_of, end_of, is_partial};
use super::background::{Background, Progress, Stop};
use device::file::Directory;
use redo::{Error as LogError, Log, Rba};
use rustix::fs::{FlockOperation, flock};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The name of an archive's folder begins so; the rest is the identity of its log.
const FOLDER: &str = "redo-archive-";
/// How often it looks for redo.
const LOOK: Duration = Duration::from_millis(2);

/// Where a log is archived.
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    /// The directory, held open; the archive is a folder in it.
    pub directory: Directory,
    /// Files that are kept, the newest; `None` keeps all.
    pub keep: Option<u32>,
    /// Bytes of the directory's volume that stay free.
    pub spare_bytes: u64,
}

impl ArchiveOptions {
    /// All of a log's redo, into `directory`, up to the last byte of its volume.
    #[must_use]
    pub fn new(directory: Directory) -> ArchiveOptions {
        ArchiveOptions {
            directory,
            keep: None,
            spare_bytes: 0,
        }
    }
}

/// What an archiver did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchivedSoFar {
    /// Files that are complete.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct ArchiveCounts {
    files: AtomicU64,
    bytes: AtomicU64,
}

impl ArchiveCounts {
    pub(super) fn read(&self) -> ArchivedSoFar {
        ArchivedSoFar {
            files: self.files.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

/// The folder of the log's archive in `directory`.
///
/// # Errors
/// A log that was closed.
pub fn archive_folder(log: &Log, directory: &Path) -> Result<PathBuf, LogError> {
    Ok(directory.join(folder_name(log)?))
}

fn folder_name(log: &Log) -> Result<String, LogError> {
    let id: String = log.id()?.iter().map(|b| format!("{b:02x}")).collect();
    Ok(format!("{FOLDER}{id}"))
}

/// Why archiving stopped.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArchiveError {
    #[error("the archive {path}: {source}", path = path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("archiving the log: {0}")]
    Log(#[from] LogError),
    #[error("the log is not in archive mode, so it may overwrite redo before it is archived")]
    NotInArchiveMode,
    #[error(
        "{path}: the archive ends at {end}, and the log was archived up to {archived}: what is \
         between is missing or was given up; move the archive away to begin a new one",
        path = path.display()
    )]
    Parted {
        path: PathBuf,
        end: Rba,
        archived: Rba,
    },
    #[error(
        "{path}: {left} bytes are free on the volume of the archive, and {spare} must stay free; \
         archive to another volume, or keep fewer files",
        path = path.display()
    )]
    Full {
        path: PathBuf,
        left: u64,
        spare: u64,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    let path = path.to_owned();
    move |source| ArchiveError::File { path, source }
}

/// Copies redo in a thread of its own.
pub(super) struct Archiver {
    log: Arc<Log>,
    options: ArchiveOptions,
    folder: Directory,
    identity: ([u8; 16], u32),
    counts: Arc<ArchiveCounts>,
    progress: Progress,
    /// Files of the archive, oldest first.
    kept: VecDeque<String>,
    /// Everything before is copied.
    at: Rba,
    file: Option<ArchiveFile>,
}

impl Archiver {
    /// Begins to archive `log`, which is in archive mode, where it was archived up to.
    pub(super) fn start(
        log: &Arc<Log>,
        options: ArchiveOptions,
        counts: Arc<ArchiveCounts>,
        progress: Progress,
    ) -> Result<Background, ArchiveError> {
        let position = log.archive_position()?;
        let position = position.ok_or(ArchiveError::NotInArchiveMode)?;
        let parent = &options.directory;
        let name = folder_name(log)?;
        let made = match parent.make_folder(&name) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => parent.open_inside(name.as_ref()),
            made => made,
        };
        let folder = made.map_err(at(&parent.path().join(&name)))?;
        sweep(parent, &name);
        // Kept as long as the folder is open. Some network file systems have no such lock.
        let _ = flock(&folder, FlockOperation::NonBlockingLockExclusive);
        sync(parent)?;
        let kept = resume(&folder, position)?;
        sync(&folder)?;
        let mut archiver = Archiver {
            identity: (log.id()?, log.geometry().block_bytes),
            log: Arc::clone(log),
            options,
            counts,
            progress: progress.clone(),
            kept,
            at: position,
            file: None,
            folder,
        };
        let path = archiver.folder.path().to_owned();
        let started = Background::start("arch", progress, move |stop| {
            archiver.run(stop).map_err(|error| error.to_string())
        });
        started.map_err(at(&path))
    }

    fn run(&mut self, stop: &Stop) -> Result<(), ArchiveError> {
        loop {
            let ends = stop.is_asked();
            // Before reading: what is durable now is read to its end.
            let durable = self.log.durable();
            self.copy()?;
            if self.at.log_seq < durable.log_seq {
                let next = Rba {
                    log_seq: self.at.log_seq + 1,
                    ..Rba::default()
                };
                self.finish(next)?;
            } else if ends {
                if self.file.is_some() {
                    self.finish(self.at)?;
                }
                return Ok(());
            } else {
                stop.sleep(LOOK);
            }
        }
    }

    /// Copies what is durable.
    fn copy(&mut self) -> Result<(), ArchiveError> {
        let log = Arc::clone(&self.log);
        for record in log.read_from(self.at)? {
            let record = record?;
            let open = self.file.as_ref().map(ArchiveFile::log_seq);
            if open.is_some_and(|open| open < record.rba.log_seq) {
                self.finish(record.rba)?;
            }
            let spare = self.file()?.push(&record);
            if spare.map_err(at(self.folder.path()))? {
                self.check_room()?;
            }
            self.at = record.next;
            // It ends in the next log: this one is complete.
            if record.rba.log_seq < record.next.log_seq {
                self.finish(record.next)?;
            }
        }
        Ok(())
    }

    /// The file that is written, which begins where everything before is copied.
    fn file(&mut self) -> Result<&mut ArchiveFile, ArchiveError> {
        if self.file.is_none() {
            self.check_room()?;
            let made = ArchiveFile::create(&self.folder, self.identity, self.at);
            self.file = Some(made.map_err(at(self.folder.path()))?);
        }
        Ok(self.file.as_mut().expect("it is there now"))
    }

    /// Ends the file at `next`, and lets the log reuse what it has.
    fn finish(&mut self, next: Rba) -> Result<(), ArchiveError> {
        self.file()?;
        if let Some(file) = self.file.take() {
            let finished = file.finish(&self.folder, next);
            let (name, bytes) = finished.map_err(at(self.folder.path()))?;
            self.counts.files.fetch_add(1, Ordering::Relaxed);
            self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.kept.push_back(name);
        }
        self.log.archived(next)?;
        self.progress.updated_control();
        self.at = next;
        let keep = self.options.keep.map_or(usize::MAX, |keep| keep as usize);
        while self.kept.len() > keep.max(1) {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            let removed = self.folder.remove_file(&oldest);
            removed.map_err(at(&self.folder.path().join(&oldest)))?;
        }
        Ok(())
    }

    fn check_room(&self) -> Result<(), ArchiveError> {
        let left = self
            .folder
            .available_bytes()
            .map_err(at(self.folder.path()))?;
        let spare = self.options.spare_bytes;
        if left < spare.saturating_add(2 * SYNC_BYTES) {
            let path = self.folder.path().to_owned();
            return Err(ArchiveError::Full { path, left, spare });
        }
        Ok(())
    }
}

/// Removes what archivers that were killed had begun beside the archive `own`, where nobody has the
/// archive in use. What cannot be removed stays: it is no part of any archive.
fn sweep(parent: &Directory, own: &str) {
    let is_other = |name: &String| name.starts_with(FOLDER) && name != own;
    let names = parent.names().unwrap_or_default().into_iter();
    for name in names
        .filter_map(|name| name.into_string().ok())
        .filter(is_other)
    {
        let Ok(folder) = parent.open_inside(name.as_ref()) else {
            continue;
        };
        if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let names = folder.names().unwrap_or_default().into_iter();
        for left in names.filter_map(|name| name.into_string().ok()) {
            if is_partial(&left) {
                let _ = folder.remove_file(&left);
            }
        }
    }
}

fn sync(folder: &Directory) -> Result<(), ArchiveError> {
    let synced = folder.sync().map_err(io::Error::other);
    synced.map_err(at(folder.path()))
}

/// Removes what an archiver that was killed had begun, and returns the files that are there, which
/// end where the log was archived up to.
fn resume(folder: &Directory, position: Rba) -> Result<VecDeque<String>, ArchiveError> {
    let mut kept = Vec::new();
    for name in folder.names().map_err(at(folder.path()))? {
        let Ok(name) = name.into_string() else {
            continue;
        };
        let unfinished = is_partial(&name);
        let begin = begin_of(&name);
        // The log does not take it for archived, so that it still has the redo.
        if unfinished || begin.is_some_and(|begin| begin >= position) {
            let removed = folder.remove_file(&name);
            removed.map_err(at(&folder.path().join(&name)))?;
        } else if let Some(begin) = begin {
            kept.push((begin, name));
        }
    }
    kept.sort();
    if let Some((begin, last)) = kept.last() {
        let end = folder.open_file(last).and_then(end_of);
        let end = end.map_err(at(&folder.path().join(last)))?;
        if end.unwrap_or(*begin) != position {
            return Err(ArchiveError::Parted {
                path: folder.path().to_owned(),
                end: end.unwrap_or(*begin),
                archived: position,
            });
        }
    }
    Ok(kept.into_iter().map(|(_, name)| name).collect())
}
