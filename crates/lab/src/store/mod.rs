//! The run store: a directory a run, readable with nothing but a text editor.
//!
//! ```text
//! STORE/store.json                    {"schema": "redolab.store/1"}
//! STORE/20261120-101500-4f2a/         one run, mode 0700
//!     03-LGWR-LAT1-64.hlog            interval histograms of a row, appended as they come
//!     events/…-003-00001.parquet      every event of a row, where captured (see `events`)
//!     recording/03-LGWR-LAT1-64.json  what the figures of that row are computed from
//!     draft.json                      the run so far; gone when it is finished
//!     contents.json                   length and CRC32C of each file above and of the manifest
//!     manifest.json                   the run (`redolab.run/2`): written last, by rename
//!     notes.json                      label and tags that were noted after it was finished
//! STORE/powertests/                   judged power cuts (see `powertests`)
//! ```
//!
//! Invariants: a run is complete exactly when its manifest is in place; a finished run is never
//! written again, but for `notes.json`, which holds no figure; listing reads manifests and nothing
//! else, there is no index; one damaged run never hides another; nothing is followed or written
//! outside the store (see [`crate::folder`]). A run that is being written holds a lock on its
//! directory, so it is distinguished from a dead one.

mod error;
pub mod events;
mod export;
pub mod hlog;
mod names;
mod notes;
mod outline;
mod powertests;
mod reader;
mod recordings;
mod series;
mod writer;

pub use error::StoreError;
pub use export::{Rereadable, read as read_export};
pub use outline::{RUN_MAX_BYTES, RUN_MAX_MEMORY};
pub use reader::{CutFile, Entry, Histograms, IntervalFigures, RunSummary, State, StoredSeries};
pub use series::row_and_event;
pub use writer::RunWriter;

use crate::folder::{Folder, is_name};
use error::{io_error, making_error};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The store's layout.
pub const SCHEMA: &str = "redolab.store/1";
const MARKER: &str = "store.json";
const MANIFEST: &str = "manifest.json";
const CONTENTS: &str = "contents.json";
const DRAFT: &str = "draft.json";
const HLOG: &str = ".hlog";
/// Bytes that must be available before a run is measured: most runs are smaller.
const RUN_ROOM: u64 = 1 << 20;
/// Means the newest run, and therefore no run in particular.
pub const LAST: &str = "last";
/// Longest marker that is read.
const MARKER_MAX_BYTES: u64 = 4096;
/// Longest list of contents that is written and read.
const CONTENTS_MAX_BYTES: u64 = 16 << 20;

/// Names a schema; read before anything else of a document.
#[derive(Serialize, Deserialize)]
struct Marker {
    schema: String,
}

/// What a finished run consists of.
#[derive(Serialize, Deserialize)]
struct Contents {
    schema: String,
    manifest_crc32c: String,
    files: std::collections::BTreeMap<String, FileSum>,
    /// Parts of the events, by their names in the folder `events`; missing where none were
    /// captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    events: Option<std::collections::BTreeMap<String, FileSum>>,
    /// Recordings, by their names in the folder `recording`; missing where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recordings: Option<std::collections::BTreeMap<String, FileSum>>,
}

const CONTENTS_SCHEMA: &str = "redolab.contents/1";

#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, Debug)]
struct FileSum {
    bytes: u64,
    crc32c: String,
}

fn hex(crc: u32) -> String {
    format!("{crc:08x}")
}

/// A directory of runs.
#[derive(Debug)]
pub struct Store {
    root: Folder,
}

impl Store {
    /// Where the store is: `flag` (`--store`), else `REDOLAB_STORE`, else `redolab` in the XDG data
    /// directory. `env` looks up an environment variable. XDG's rule holds: a relative
    /// `XDG_DATA_HOME` is ignored.
    ///
    /// # Errors
    /// When none of them is set and there is no `HOME`.
    pub fn locate(
        flag: Option<&Path>,
        env: impl Fn(&str) -> Option<OsString>,
    ) -> Result<PathBuf, StoreError> {
        let set = |name: &str| env(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        if let Some(path) = flag {
            return Ok(path.to_owned());
        }
        if let Some(path) = set("REDOLAB_STORE") {
            return Ok(path);
        }
        if let Some(path) = set("XDG_DATA_HOME").filter(|p| p.is_absolute()) {
            return Ok(path.join("redolab"));
        }
        set("HOME")
            .map(|home| home.join(".local/share/redolab"))
            .ok_or(StoreError::NoHome)
    }

    /// Opens the store in `path`, making it if the directory is missing or empty.
    ///
    /// # Errors
    /// A directory that holds something else, a store of a newer version, or the system's errors.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        Folder::make_root(path, 0o700).map_err(|e| making_error(path, e))?;
        let root = Folder::open_root(path).map_err(|e| io_error(path, "opening", e))?;
        let store = Store { root };
        match store.root.read(MARKER, MARKER_MAX_BYTES) {
            Ok(bytes) => store.check_marker(&bytes)?,
            Err(e) if e.kind() == ErrorKind::NotFound => store.initialise()?,
            Err(e) => return Err(store.failed("reading store.json", e)),
        }
        Ok(store)
    }

    /// Whether a run can be stored here, before it is measured.
    ///
    /// # Errors
    /// The system's, with what to do; also where a volume has less room than a run may take.
    pub fn check_writable(&self) -> Result<(), StoreError> {
        use rustix::fs::{Access, AtFlags, accessat, fstatvfs};
        use rustix::io::Errno;
        let access = Access::WRITE_OK | Access::EXEC_OK;
        match accessat(self.root.directory(), ".", access, AtFlags::EACCESS) {
            Err(e @ (Errno::ACCESS | Errno::ROFS | Errno::PERM)) => {
                Err(self.failed("storing a run", e.into()))
            }
            _ => {
                let volume = fstatvfs(self.root.directory())
                    .ok()
                    .filter(|v| v.f_blocks > 0);
                // Of a user, not of root, a part of the volume may be reserved.
                let room = volume.map(|v| v.f_bfree.saturating_mul(v.f_frsize));
                match room.is_some_and(|bytes| bytes < RUN_ROOM) {
                    true => Err(self.failed("storing a run", Errno::NOSPC.into())),
                    false => Ok(()),
                }
            }
        }
    }

    fn check_marker(&self, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.root.path().join(MARKER);
        let marker: Marker = serde_json::from_slice(bytes).map_err(|e| StoreError::Damaged {
            path: path.clone(),
            what: e.to_string(),
        })?;
        match version(&marker.schema, SCHEMA) {
            Version::Same => Ok(()),
            Version::Newer => Err(StoreError::NewerStore {
                path: self.root.path().to_owned(),
                found: marker.schema,
                supported: SCHEMA,
            }),
            Version::Older | Version::Other => Err(StoreError::Damaged {
                path,
                what: format!("the schema is `{}`, not {SCHEMA}", marker.schema),
            }),
        }
    }

    fn initialise(&self) -> Result<(), StoreError> {
        let names = self.root.names().map_err(|e| self.failed("listing", e))?;
        if names
            .iter()
            .any(|n| !n.starts_with(crate::folder::TEMPORARY))
        {
            // Another process may have made the store just now.
            if let Ok(bytes) = self.root.read(MARKER, MARKER_MAX_BYTES) {
                return self.check_marker(&bytes);
            }
            let path = self.root.path().to_owned();
            return Err(StoreError::NotAStore { path });
        }
        let marker = Marker {
            schema: SCHEMA.to_owned(),
        };
        let text = serde_json::to_vec(&marker).expect("a struct of one string is JSON");
        // Two commands at once write the same bytes; the one that comes second changes nothing.
        self.root
            .replace(MARKER, &text)
            .map_err(|e| self.failed("writing store.json", e))
    }

    /// Begins a run: makes its directory and locks it.
    ///
    /// # Errors
    /// A name outside the rule, one that exists, or the system's errors.
    pub fn begin(&self, run_id: &str) -> Result<RunWriter, StoreError> {
        RunWriter::begin(self, run_id)
    }

    /// The store's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Removes a run for good. The manifest goes first, so that a deletion that is interrupted
    /// leaves an incomplete run and never a complete one with parts missing.
    ///
    /// # Errors
    /// A run that is being written, that does not exist, or the system's errors.
    pub fn delete(&self, id: &str) -> Result<(), StoreError> {
        let folder = self.folder(id)?;
        let locked = folder
            .try_lock()
            .map_err(|e| io_error(folder.path(), "locking", e))?;
        if !locked {
            return Err(StoreError::Running { id: id.to_owned() });
        }
        remove_run(&self.root, &folder, id)
    }

    fn folder(&self, id: &str) -> Result<Folder, StoreError> {
        named(id)?;
        self.root.open(id).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => StoreError::NoSuchRun {
                id: id.to_owned(),
                path: self.root.path().to_owned(),
            },
            _ => io_error(&self.root.path().join(id), "opening", e),
        })
    }

    fn failed(&self, action: &'static str, e: std::io::Error) -> StoreError {
        io_error(self.root.path(), action, e)
    }
}

/// Removes the run `id` of `root`, whose directory `folder` is.
fn remove_run(root: &Folder, folder: &Folder, id: &str) -> Result<(), StoreError> {
    let removing = |e| io_error(folder.path(), "deleting", e);
    let names = folder.names().map_err(removing)?;
    if names.iter().any(|n| n == MANIFEST) {
        folder.remove_file(MANIFEST).map_err(removing)?;
        folder.sync().map_err(removing)?;
    }
    for name in names.iter().filter(|n| *n != MANIFEST) {
        if [events::FOLDER, recordings::FOLDER].contains(&name.as_str())
            && let Ok(parts) = folder.open(name)
        {
            for part in parts.names().map_err(removing)? {
                parts.remove_file(&part).map_err(removing)?;
            }
            folder.remove_folder(name).map_err(removing)?;
        } else {
            folder.remove_file(name).map_err(removing)?;
        }
    }
    root.remove_folder(id).map_err(removing)?;
    root.sync().map_err(removing)
}

/// Whether a name in the store is none of a run.
fn is_reserved(name: &str) -> bool {
    [MARKER, powertests::POWER_TESTS].contains(&name)
}

/// Refuses what cannot be the id of a new run: `last` names the youngest one.
fn run_named(id: &str) -> Result<(), StoreError> {
    named(id)?;
    if id == LAST || id.starts_with("last~") || is_reserved(id) {
        return Err(StoreError::ReservedName {
            name: id.to_owned(),
        });
    }
    Ok(())
}

fn named(name: &str) -> Result<(), StoreError> {
    if is_name(name) {
        Ok(())
    } else {
        Err(StoreError::BadName {
            name: measure::words::sanitize::line(name),
        })
    }
}

/// A new run's name: `YYYYMMDD-HHMMSS-` in UTC and six random hexadecimal digits.
#[must_use]
pub fn new_run_id() -> String {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    // Each RandomState is seeded by the system; the counter in it makes two in one second differ.
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{now}-{:06x}", random & 0xff_ffff)
}

/// The time as RFC 3339 in UTC with milliseconds, as `created` holds it.
#[must_use]
pub fn now_rfc3339() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// How a schema found relates to the one supported.
#[derive(Debug, PartialEq, Eq)]
enum Version {
    Same,
    Newer,
    Older,
    Other,
}

/// Compares `name/number` schemas.
fn version(found: &str, supported: &str) -> Version {
    if found == supported {
        return Version::Same;
    }
    let split = |s: &str| {
        let (name, number) = s.rsplit_once('/')?;
        Some((name.to_owned(), number.parse::<u32>().ok()?))
    };
    match (split(found), split(supported)) {
        (Some((a, n)), Some((b, m))) if a == b && n > m => Version::Newer,
        (Some((a, n)), Some((b, m))) if a == b && n < m => Version::Older,
        _ => Version::Other,
    }
}

/// Why a document of the schema `found` is not read as one of `supported`, and what to do; `None`
/// when it is.
fn other_version(found: &str, supported: &str) -> Option<String> {
    let advice = match version(found, supported) {
        Version::Same => return None,
        Version::Newer => "; use the newer redolab",
        Version::Older => "; measure again",
        Version::Other => "",
    };
    Some(format!(
        "it has the format `{found}`, this redolab reads {supported}{advice}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_where_it_was_asked_for() {
        let find = |flag: Option<&str>, vars: &[(&str, &str)]| {
            let vars: Vec<(String, String)> = vars
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect();
            let env = |k: &str| vars.iter().find(|(n, _)| n == k).map(|(_, v)| v.into());
            Store::locate(flag.map(Path::new), env).map(|p| p.display().to_string())
        };
        let home = ("HOME", "/h");
        for (flag, vars, want) in [
            (Some("/x"), vec![("REDOLAB_STORE", "/s"), home], "/x"),
            (
                None,
                vec![("REDOLAB_STORE", "/s"), ("XDG_DATA_HOME", "/d")],
                "/s",
            ),
            (
                None,
                vec![("REDOLAB_STORE", ""), ("XDG_DATA_HOME", "/d"), home],
                "/d/redolab",
            ),
            (
                None,
                vec![("XDG_DATA_HOME", "rel"), home],
                "/h/.local/share/redolab",
            ),
        ] {
            assert_eq!(find(flag, &vars).expect("found"), want);
        }
        assert!(matches!(find(None, &[]), Err(StoreError::NoHome)));
    }

    #[test]
    fn run_ids_follow_the_rule_and_differ() {
        let ids: std::collections::BTreeSet<String> = (0..200).map(|_| new_run_id()).collect();
        assert!(ids.len() > 195, "{} of 200 are distinct", ids.len());
        for id in ids {
            assert!(is_name(&id) && id.len() == 22, "{id}");
        }
        assert!(
            now_rfc3339().ends_with('Z') && now_rfc3339().len() == 24,
            "{}",
            now_rfc3339()
        );
    }

    #[test]
    fn versions_compare() {
        for (found, want) in [
            ("redolab.store/1", Version::Same),
            ("redolab.store/2", Version::Newer),
            ("redolab.store/0", Version::Older),
            ("redolab.run/2", Version::Other),
            ("", Version::Other),
        ] {
            assert_eq!(version(found, SCHEMA), want, "{found}");
        }
    }
}
