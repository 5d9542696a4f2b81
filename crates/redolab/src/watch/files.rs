//! The files of a log, kept current: a new file of the folder is one of the log from when it has
//! the name of one; a file stays one when it is renamed or recycled, because it is known by its
//! inode.

use super::WatchError;
use super::join::FileRules;
use super::processes::traced_file;
use crate::observe::tracefs::events::TracedFile;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Characters of the name of a WAL segment.
const SEGMENT_NAME: usize = 24;
/// `f_type` of ext4 and of XFS (linux/magic.h).
const EXT4: i64 = 0xEF53;
const XFS: i64 = 0x5846_5342;
/// MariaDB from 10.8 begins its log with this, and its redo behind 12,288 bytes; older ones and
/// MySQL begin theirs behind 2,048.
const PHYSICAL_FORMAT: &[u8; 4] = b"Phys";
const PHYSICAL_HEADER: u64 = 0x3000;
const OLD_HEADER: u64 = 2048;
/// Files of a log, at most.
const FILES_MAX: usize = 65_536;

/// How the files of a log are named and used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogKind {
    /// Segments in `pg_wal`, recycled by renaming them.
    Postgres,
    /// `ib_logfile*` or `#ib_redo*`, with headers and checkpoints in them.
    Innodb,
    /// Any others.
    Other,
}

impl LogKind {
    /// Of a file with that path.
    pub(super) fn of(path: &Path) -> LogKind {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        let folder = path.parent().and_then(Path::file_name);
        let is_wal = folder.is_some_and(|folder| folder == "pg_wal" || folder == "pg_xlog");
        if is_wal && is_segment(name) {
            return LogKind::Postgres;
        }
        match name.starts_with("ib_logfile") || name.starts_with("#ib_redo") {
            true => LogKind::Innodb,
            false => LogKind::Other,
        }
    }

    fn has(self, name: &str) -> bool {
        match self {
            LogKind::Postgres => is_segment(name),
            // Spare files of MySQL have a name of their own until they are used.
            LogKind::Innodb => name.starts_with("ib_logfile") || name.starts_with("#ib_redo"),
            LogKind::Other => false,
        }
    }
}

fn is_segment(name: &str) -> bool {
    name.len() == SEGMENT_NAME && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A file system whose events are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TracedFileSystem {
    /// ext4, also for ext3 and ext2.
    Ext4,
    /// XFS.
    Xfs,
}

/// A file of the log.
#[derive(Clone, Debug)]
pub(super) struct LogFile {
    /// Its path as this process sees it.
    pub(super) here: PathBuf,
    /// Its path as results show it.
    pub(super) shown: PathBuf,
    /// Its length.
    pub(super) bytes: u64,
    /// What is written to it and is not redo.
    pub(super) rules: FileRules,
    /// Its file system.
    pub(super) file_system: TracedFileSystem,
}

/// The files of a log.
#[derive(Debug)]
pub(super) struct LogFiles {
    kind: LogKind,
    place: Place,
    known: BTreeMap<TracedFile, LogFile>,
}

#[derive(Debug)]
enum Place {
    /// Those of a folder with such names: as this process sees it, and as it is shown.
    Folder(PathBuf, PathBuf),
    /// These, likewise.
    Named(Vec<(PathBuf, PathBuf)>),
}

/// What a look at the files has found.
#[derive(Clone, Debug, Default)]
pub(super) struct FilesFound {
    /// Files that were not known.
    pub(super) added: Vec<TracedFile>,
    /// Names that lead to another file than before, or to none.
    pub(super) changed: BTreeSet<PathBuf>,
}

impl LogFiles {
    /// Those of a folder.
    ///
    /// # Errors
    /// There is none, or it cannot be followed.
    pub(super) fn in_folder(
        kind: LogKind,
        here: PathBuf,
        shown: PathBuf,
    ) -> Result<LogFiles, WatchError> {
        let empty = WatchError::NoFiles(shown.clone());
        LogFiles::first(kind, Place::Folder(here, shown))?.ok_or(empty)
    }

    /// Files with these paths: as this process sees them, and as they are shown.
    ///
    /// # Errors
    /// One cannot be followed.
    pub(super) fn named(paths: Vec<(PathBuf, PathBuf)>) -> Result<LogFiles, WatchError> {
        let first = paths
            .first()
            .map(|(_, shown)| shown.clone())
            .unwrap_or_default();
        for (here, shown) in &paths {
            let failed = |why: String| WatchError::File {
                path: shown.clone(),
                why,
            };
            let metadata = std::fs::metadata(here).map_err(|e| failed(e.to_string()))?;
            if !metadata.is_file() {
                return Err(failed(
                    "it is not a regular file; name log files".to_owned(),
                ));
            }
        }
        let kind = LogKind::of(&first);
        // A single segment stays the one that was named.
        let kind = if kind == LogKind::Innodb {
            kind
        } else {
            LogKind::Other
        };
        let found = LogFiles::first(kind, Place::Named(paths))?;
        found.ok_or(WatchError::NoFiles(first))
    }

    fn first(kind: LogKind, place: Place) -> Result<Option<LogFiles>, WatchError> {
        let mut files = LogFiles {
            kind,
            place,
            known: BTreeMap::new(),
        };
        files.look()?;
        Ok((!files.known.is_empty()).then_some(files))
    }

    /// What kind of log it is.
    pub(super) fn kind(&self) -> LogKind {
        self.kind
    }

    /// Whether files are added and recycled in the ordinary course of things.
    pub(super) fn change(&self) -> bool {
        let in_redo_folder = |path: &Path| path.ends_with("#innodb_redo");
        match (&self.place, self.kind) {
            (Place::Folder(_, shown), LogKind::Innodb) => in_redo_folder(shown),
            (Place::Folder(..), _) => true,
            (Place::Named(_), _) => false,
        }
    }

    /// Whether it is one of them.
    pub(super) fn has(&self, file: TracedFile) -> bool {
        self.known.contains_key(&file)
    }

    /// All of them.
    pub(super) fn known(&self) -> &BTreeMap<TracedFile, LogFile> {
        &self.known
    }

    /// Looks for files that are new, and for names that lead elsewhere.
    ///
    /// # Errors
    /// A file that cannot be followed.
    pub(super) fn look(&mut self) -> Result<FilesFound, WatchError> {
        let paths = match &self.place {
            Place::Named(paths) => paths.clone(),
            Place::Folder(here, shown) => {
                let entries = std::fs::read_dir(here).into_iter().flatten().flatten();
                let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
                let own = names.filter(|name| self.kind.has(name)).take(FILES_MAX);
                own.map(|name| (here.join(&name), shown.join(&name)))
                    .collect()
            }
        };
        let mut found = FilesFound::default();
        let before: BTreeMap<&PathBuf, TracedFile> = match &self.place {
            Place::Named(_) => self
                .known
                .iter()
                .map(|(file, known)| (&known.shown, *file))
                .collect(),
            Place::Folder(..) => BTreeMap::new(),
        };
        let mut added = BTreeMap::new();
        for (here, shown) in &paths {
            // It is removed or renamed meanwhile.
            let metadata = std::fs::metadata(here)
                .ok()
                .filter(std::fs::Metadata::is_file);
            let file = metadata.as_ref().map(traced_file);
            if before.get(shown).is_some_and(|known| file != Some(*known)) {
                found.changed.insert(shown.clone());
            }
            let (Some(file), Some(metadata)) = (file, metadata) else {
                continue;
            };
            if self.known.contains_key(&file) || added.contains_key(&file) {
                continue;
            }
            let Some(file_system) = file_system_of(here) else {
                return Err(WatchError::FileSystem(shown.clone()));
            };
            added.insert(
                file,
                LogFile {
                    rules: self.rules(here),
                    bytes: metadata.len(),
                    here: here.clone(),
                    shown: shown.clone(),
                    file_system,
                },
            );
        }
        found.added.extend(added.keys());
        self.known.extend(added);
        Ok(found)
    }

    fn rules(&self, here: &Path) -> FileRules {
        let header_bytes = match self.kind {
            LogKind::Innodb => {
                let mut head = [0; PHYSICAL_FORMAT.len()];
                let read = std::fs::File::open(here).and_then(|mut f| f.read_exact(&mut head));
                match read.is_ok() && head == *PHYSICAL_FORMAT {
                    true => PHYSICAL_HEADER,
                    false => OLD_HEADER,
                }
            }
            LogKind::Postgres | LogKind::Other => 0,
        };
        FileRules {
            header_bytes,
            is_filled_first: self.kind == LogKind::Postgres,
        }
    }
}

fn file_system_of(path: &Path) -> Option<TracedFileSystem> {
    let found = rustix::fs::statfs(path).ok()?;
    match found.f_type {
        EXT4 => Some(TracedFileSystem::Ext4),
        XFS => Some(TracedFileSystem::Xfs),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
