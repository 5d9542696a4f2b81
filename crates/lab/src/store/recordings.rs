//! The recordings of a run: what each row was computed from, a file for each.
//!
//! ```text
//! RUN/recording/03-LGWR-LAT1-64.json      row 3 of the run (`redolab.recording/1`)
//! ```
//! Invariants: a recording is written before the manifest, and what is written reads back equal; a
//! finished run states the length and CRC32C of each; what is read is bounded before it is parsed,
//! and one recording is in memory at a time.

use super::error::io_error;
use super::reader::{contents, damaged, unreadable};
use super::{FileSum, MANIFEST, Store, StoreError, hex, hlog};
use crate::folder::Folder;
use measure::record::Recording;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The folder of a run's recordings.
pub(super) const FOLDER: &str = "recording";
const JSON: &str = ".json";
/// Longest recording that is written and read, in bytes. One with 5,000 intervals and every bucket
/// of six histograms filled takes half of it.
pub(super) const RECORDING_MAX_BYTES: u64 = 8 << 20;
/// Recordings of a run, at most.
const RECORDINGS_MAX: usize = 4096;

/// The recordings of a run that is being written.
#[derive(Debug)]
pub(super) struct Recordings {
    folder: Folder,
    sums: BTreeMap<String, FileSum>,
}

impl Recordings {
    /// Makes the folder in the run's.
    pub(super) fn begin(run: &Folder) -> io::Result<Recordings> {
        let folder = run.create(FOLDER)?;
        let sums = BTreeMap::new();
        Ok(Recordings { folder, sums })
    }

    /// Writes one recording.
    pub(super) fn write(&mut self, name: &str, text: &[u8]) -> io::Result<()> {
        if self.sums.len() == RECORDINGS_MAX {
            return Err(io::Error::other(format!(
                "over {RECORDINGS_MAX} recordings"
            )));
        }
        self.folder.place(name, text)?;
        self.sums.insert(name.to_owned(), sum_of(text));
        Ok(())
    }

    /// Makes all of them durable; length and CRC32C of each.
    pub(super) fn sync(&self) -> io::Result<BTreeMap<String, FileSum>> {
        for name in self.sums.keys() {
            self.folder.open_file(name)?.sync_all()?;
        }
        self.folder.sync()?;
        Ok(self.sums.clone())
    }
}

fn sum_of(text: &[u8]) -> FileSum {
    FileSum {
        bytes: text.len() as u64,
        crc32c: hex(hlog::crc32c(text)),
    }
}

/// The recording in a text.
pub(super) fn parse(text: &[u8]) -> Result<Recording, String> {
    if text.len() as u64 > RECORDING_MAX_BYTES {
        return Err(format!("it is longer than {RECORDING_MAX_BYTES} bytes"));
    }
    let recording: Recording = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    recording.check()?;
    Ok(recording)
}

/// The name of the file that has the recording of a row.
pub(super) fn file_of(row: &str) -> String {
    format!("{row}{JSON}")
}

/// The row that a file of that name is the recording of.
pub(super) fn row_of(file: &str) -> Option<&str> {
    file.strip_suffix(JSON)
        .filter(|row| crate::folder::is_name(row))
}

/// Is handed the name of a recording's file, its bytes and its path.
type VisitText<'a> = dyn FnMut(&str, &[u8], &Path) -> Result<(), StoreError> + 'a;

impl Store {
    /// Hands every recording of a run to `visit` with the name of its row, in the order of rows.
    /// A run of an earlier version has none; nor has one that was imported.
    ///
    /// # Errors
    /// A run that is missing or damaged, or the system's errors; what was visited before is sound.
    pub fn for_each_recording(
        &self,
        id: &str,
        visit: &mut dyn FnMut(&str, Recording),
    ) -> Result<(), StoreError> {
        self.for_each_recording_text(id, &mut |file, text, path| {
            let recording = parse(text).map_err(|what| damaged(path, what))?;
            visit(row_of(file).unwrap_or(file), recording);
            Ok(())
        })
    }

    /// The same with the bytes of each.
    pub(super) fn for_each_recording_text(
        &self,
        id: &str,
        visit: &mut VisitText<'_>,
    ) -> Result<(), StoreError> {
        let run = self.folder(id)?;
        let listing = |e| io_error(run.path(), "listing", e);
        let present = run.names().map_err(listing)?;
        let finished = present.iter().any(|name| name == MANIFEST);
        let stated = match finished {
            true => Some(contents(&run)?.recordings.unwrap_or_default()),
            false => None,
        };
        if !present.iter().any(|name| name == FOLDER) {
            return match stated.and_then(|s| s.into_keys().next()) {
                Some(missing) => Err(damaged(
                    &run.path().join(FOLDER).join(missing),
                    "it is missing",
                )),
                None => Ok(()),
            };
        }
        let path = run.path().join(FOLDER);
        let opening = |e| unreadable(&path, "opening the recordings", e);
        let folder = run.open(FOLDER).map_err(opening)?;
        let mut names = folder.names().map_err(opening)?;
        names.retain(|name| row_of(name).is_some());
        if let Some(missing) = stated.iter().flatten().find(|(n, _)| !names.contains(n)) {
            return Err(damaged(&path.join(missing.0), "it is missing"));
        }
        for name in &names {
            let path = path.join(name);
            let text = folder.read(name, RECORDING_MAX_BYTES);
            let text = text.map_err(|e| unreadable(&path, "reading a recording", e))?;
            if let Some(stated) = &stated
                && stated.get(name) != Some(&sum_of(&text))
            {
                return Err(damaged(&path, "it is not what contents.json lists"));
            }
            visit(name, &text, &path)?;
        }
        Ok(())
    }
}
