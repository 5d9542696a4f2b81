//! Notes that were made after a run was finished: a small file beside the manifest, which replaces
//! nothing but the label and values of tags.

use super::error::io_error;
use super::{Store, StoreError, Version, version};
use crate::folder::Folder;
use measure::run::RunNotes;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;

/// The file.
const NOTES: &str = "notes.json";
const SCHEMA: &str = "redolab.notes/1";
/// Longest file that is read: 32 tags are far below it.
const NOTES_MAX_BYTES: u64 = 64 << 10;

#[derive(Serialize, Deserialize)]
struct LaterNotes {
    schema: String,
    notes: RunNotes,
}

/// What was noted later about the run in `folder`.
///
/// # Errors
/// A file that is damaged or of a newer version, or the system's errors.
pub(super) fn later(folder: &Folder) -> Result<RunNotes, StoreError> {
    let path = folder.path().join(NOTES);
    let damaged = |what: String| StoreError::Damaged {
        path: path.clone(),
        what,
    };
    let bytes = match folder.read(NOTES, NOTES_MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(RunNotes::default()),
        Err(e) => return Err(io_error(&path, "reading the notes", e)),
    };
    let read: LaterNotes = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
    match version(&read.schema, SCHEMA) {
        Version::Same => Ok(read.notes),
        Version::Newer | Version::Older | Version::Other => Err(damaged(format!(
            "the schema is `{}`, not {SCHEMA}",
            read.schema
        ))),
    }
}

impl Store {
    /// Adds notes to a finished run. Its label is replaced, and so are values of the same keys.
    ///
    /// # Errors
    /// A run that is missing or not finished, or the system's errors.
    pub fn note(&self, id: &str, more: &RunNotes) -> Result<RunNotes, StoreError> {
        let run = self.load(id)?;
        let folder = self.folder(id)?;
        let mut notes = later(&folder)?;
        notes.add(more);
        let text = LaterNotes {
            schema: SCHEMA.to_owned(),
            notes,
        };
        let bytes = serde_json::to_vec_pretty(&text).expect("strings are JSON");
        folder
            .replace(NOTES, &bytes)
            .map_err(|e| io_error(folder.path(), "writing the notes", e))?;
        let mut all = run.notes;
        all.add(more);
        Ok(all)
    }
}
