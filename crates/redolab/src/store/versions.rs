//! Runs of every version that is known, read as runs of this one.
//!
//! What it must not know: where a run's text lies.

use super::{Marker, Version, version};
use measure::run::Run;
use measure::run::version_1::{RunOfVersion1, SCHEMA_1};
use std::io::Read;

/// The version of a run's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunVersion {
    /// This one.
    Current,
    /// `redolab.run/1`.
    One,
}

/// Why a run's text cannot be read as a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// A later version wrote it; the schema that it names.
    Newer(String),
    /// It is no run of a version that is known.
    Unknown(String),
}

impl RunVersion {
    /// The version that the text of a run names.
    ///
    /// # Errors
    /// A schema that is not known, or text that is not JSON.
    pub(super) fn of(text: impl Read) -> Result<RunVersion, Unread> {
        let marker: Marker =
            serde_json::from_reader(text).map_err(|e| Unread::Unknown(e.to_string()))?;
        if marker.schema == SCHEMA_1 {
            return Ok(RunVersion::One);
        }
        match version(&marker.schema, measure::run::SCHEMA) {
            Version::Same => Ok(RunVersion::Current),
            Version::Newer => Err(Unread::Newer(marker.schema)),
            Version::Other => {
                let schema = measure::words::sanitize::line(&marker.schema);
                Err(Unread::Unknown(format!("its schema is `{schema}`")))
            }
        }
    }

    /// Reads the text of a run of this version that is in memory.
    ///
    /// # Errors
    /// What does not fit.
    pub(super) fn parse(self, text: &[u8]) -> serde_json::Result<Run> {
        match self {
            RunVersion::Current => serde_json::from_slice(text),
            RunVersion::One => serde_json::from_slice::<RunOfVersion1>(text).map(Run::from),
        }
    }

    /// Reads the text of a run of this version as it comes.
    ///
    /// # Errors
    /// What does not fit.
    pub(super) fn read(self, text: impl Read) -> serde_json::Result<Run> {
        match self {
            RunVersion::Current => serde_json::from_reader(text),
            RunVersion::One => serde_json::from_reader::<_, RunOfVersion1>(text).map(Run::from),
        }
    }
}
