//! The folder of a power test below the path under test: it stays when the power goes, so that it
//! can be read after the restart.
//!
//! Invariants: a folder without this marker is never touched; only files of a power test are
//! removed, by name; while a writer lives it holds the folder's lock.

use super::PowerTestError;
use crate::folder::Folder;
use measure::words::sanitize;
use redo::engine::Paths;
use std::io::ErrorKind;
use std::path::Path;

/// Name of the folder.
pub(super) const NAME: &str = "redolab-powertest";
/// Name of the folder in which something was lost: the first one is kept.
pub(super) const EVIDENCE: &str = "redolab-powertest-lost";
const MARKER: &str = "powertest.json";
const SCHEMA: &str = "redolab.powertest-files/1";
/// Why the writer ended by itself.
const ENDED: &str = "ended.txt";
/// What puts the page cache under pressure.
pub(super) const PRESSURE: &str = "pressure.dat";
const SMALL_MAX_BYTES: u64 = 64 << 10;

/// The folder, held open.
pub(super) struct TestFolder {
    parent: Folder,
    pub(super) folder: Folder,
}

fn open_parent(path: &Path) -> Result<Folder, PowerTestError> {
    let shown = path.display();
    Folder::open_root(path).map_err(|e| {
        PowerTestError::Refused(format!("--on {shown}: {e}; name an existing directory"))
    })
}

impl TestFolder {
    /// The folder of an earlier test; `None` where there is none.
    ///
    /// # Errors
    /// A path that cannot be opened, or another folder of that name.
    pub(super) fn find(path: &Path) -> Result<Option<TestFolder>, PowerTestError> {
        let parent = open_parent(path)?;
        match parent.open(NAME) {
            Ok(folder) => Ok(Some(TestFolder { parent, folder })),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(PowerTestError::Failed(format!(
                "{}/{NAME}: {e}",
                path.display()
            ))),
        }
    }

    /// The folder for a new test, locked; it is made where there is none.
    ///
    /// # Errors
    /// Another writer has it, it is somebody else's, or the system's.
    pub(super) fn take(path: &Path) -> Result<TestFolder, PowerTestError> {
        let found = match TestFolder::find(path)? {
            Some(found) => found,
            None => {
                let parent = open_parent(path)?;
                let shown = format!("{}/{NAME}: making the folder", path.display());
                let folder = parent.create(NAME).map_err(PowerTestError::system(shown))?;
                TestFolder { parent, folder }
            }
        };
        let shown = found.folder.path().display();
        let locked = found.folder.try_lock();
        if !locked.map_err(PowerTestError::system(format!("{shown}: locking")))? {
            return Err(PowerTestError::Refused(format!(
                "{shown}: another power test is writing here; end it first"
            )));
        }
        let names = found.names()?;
        let ours = names.iter().all(|name| is_ours(name));
        if !ours || (!names.is_empty() && found.test_id()?.is_none()) {
            return Err(PowerTestError::Refused(format!(
                "{shown}: this folder holds something else than a power test's files; move it away"
            )));
        }
        Ok(found)
    }

    fn names(&self) -> Result<Vec<String>, PowerTestError> {
        let shown = self.folder.path().display().to_string();
        self.folder
            .names()
            .map_err(PowerTestError::system(format!("{shown}: listing")))
    }

    /// Whether a writer that lives has it.
    pub(super) fn is_locked(&self) -> bool {
        self.folder.is_locked()
    }

    /// Identity of the test whose files these are; `None` where there is none, or it cannot be read
    /// any more.
    pub(super) fn test_id(&self) -> Result<Option<String>, PowerTestError> {
        let shown = self.folder.path().display();
        match self.folder.read(MARKER, SMALL_MAX_BYTES) {
            Ok(bytes) => {
                let found: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
                let ours = found["schema"].as_str() == Some(SCHEMA);
                let id = found["test_id"].as_str().filter(|_| ours);
                Ok(id.map(sanitize::line))
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(PowerTestError::Failed(format!("{shown}/{MARKER}: {e}"))),
        }
    }

    /// Removes the files of an earlier test, and marks the folder as that of a new one, durably.
    pub(super) fn begin(&self, test_id: &str) -> Result<(), PowerTestError> {
        let shown = self.folder.path().display().to_string();
        let failed = || PowerTestError::system(format!("{shown}: beginning a test"));
        let marker = serde_json::json!({ "schema": SCHEMA, "test_id": test_id });
        for name in self.names()?.iter().filter(|name| *name != MARKER) {
            self.folder.remove_file(name).map_err(failed())?;
        }
        self.folder
            .replace(MARKER, marker.to_string().as_bytes())
            .map_err(failed())?;
        self.parent.sync().map_err(failed())
    }

    /// Notes durably why the writer ended by itself.
    pub(super) fn note_end(&self, why: &str) -> std::io::Result<()> {
        self.folder.replace(ENDED, why.as_bytes())
    }

    /// Why the writer ended by itself; `None` where it did not.
    pub(super) fn end_note(&self) -> Option<String> {
        let bytes = self.folder.read(ENDED, SMALL_MAX_BYTES).ok()?;
        Some(sanitize::line(&String::from_utf8_lossy(&bytes)))
    }

    /// Removes the folder with its files.
    pub(super) fn remove(self) -> std::io::Result<()> {
        for name in self.folder.names()?.iter().filter(|name| is_ours(name)) {
            self.folder.remove_file(name)?;
        }
        self.parent.remove_folder(NAME)?;
        self.parent.sync()
    }

    /// Keeps the folder as evidence of a loss, under another name; a later one is removed.
    pub(super) fn keep_as_evidence(self) -> std::io::Result<Option<String>> {
        if self.parent.open(EVIDENCE).is_ok() {
            return self.remove().map(|()| None);
        }
        let at = self.parent.directory();
        rustix::fs::renameat(at, NAME, at, EVIDENCE)?;
        self.parent.sync()?;
        let kept = self.parent.path().join(EVIDENCE);
        Ok(Some(kept.display().to_string()))
    }
}

/// Whether a file of that name belongs to a power test.
fn is_ours(name: &str) -> bool {
    let of_log = name.starts_with("redo") && (name.contains(".ctl") || name.ends_with(".log"));
    let of_raw = name.starts_with("raw-") && name.ends_with(".dat");
    of_log
        || of_raw
        || [MARKER, ENDED, PRESSURE, Paths::CONTROL].contains(&name)
        || name.starts_with(crate::folder::TEMPORARY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_once_and_never_that_of_somebody_else() {
        let place = tempfile::tempdir().expect("a temporary directory");
        assert!(TestFolder::find(place.path()).expect("looks").is_none());
        let first = TestFolder::take(place.path()).expect("is made");
        first.begin("a1").expect("begins");
        first.note_end("time is over").expect("notes");
        let second = TestFolder::take(place.path());
        let refused = second.err().expect("the first one lives").to_string();
        assert!(
            refused.contains("another power test is writing"),
            "{refused}"
        );
        drop(first);
        let again = TestFolder::take(place.path()).expect("is free");
        assert_eq!(again.test_id().expect("reads").as_deref(), Some("a1"));
        assert_eq!(again.end_note().as_deref(), Some("time is over"));
        again.begin("b2").expect("begins");
        assert_eq!(again.end_note(), None);
        drop(again);
        std::fs::write(place.path().join(NAME).join("diary"), "mine").expect("writes");
        let refused = TestFolder::take(place.path())
            .err()
            .expect("not ours")
            .to_string();
        assert!(refused.contains("something else"), "{refused}");
        assert!(place.path().join(NAME).join("diary").exists());
    }

    #[test]
    fn the_first_loss_is_kept_and_later_ones_are_removed() {
        let place = tempfile::tempdir().expect("a temporary directory");
        for number in 0..2 {
            let folder = TestFolder::take(place.path()).expect("is made");
            folder.begin(&format!("{number}")).expect("begins");
            let kept = folder.keep_as_evidence().expect("keeps");
            assert_eq!(kept.is_some(), number == 0);
        }
        let marker = std::fs::read_to_string(place.path().join(EVIDENCE).join(MARKER));
        assert!(marker.expect("kept").contains("\"0\""));
        assert!(!place.path().join(NAME).exists());
    }

    #[test]
    fn another_device_and_a_missing_path_are_refused() {
        for path in ["/no/such/directory", "/dev/null"] {
            let refused = TestFolder::find(Path::new(path)).err().expect("refused");
            assert!(
                refused.to_string().contains("existing directory"),
                "{refused}"
            );
        }
    }
}
