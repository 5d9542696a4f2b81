//! Judged power cuts, beside the runs: one small file each.
//!
//! ```text
//! STORE/powertests/ID.json            a judged cut (`redolab.powertest/1`), mode 0600
//! ```
//!
//! Invariants: a file is placed whole and never changed; one that cannot be read hides no other.

use super::error::io_error;
use super::{Store, StoreError};
use crate::folder::Folder;
use measure::power_test::{PowerCycle, SCHEMA};
use measure::words::sanitize;
use std::io::ErrorKind;

/// Name of the folder.
pub(super) const POWER_TESTS: &str = "powertests";
const FILE_MAX_BYTES: u64 = 1 << 20;

impl Store {
    /// Stores a judged cut, durably.
    ///
    /// # Errors
    /// The system's.
    pub fn add_power_cycle(&self, cycle: &PowerCycle) -> Result<(), StoreError> {
        let folder = match self.power_folder()? {
            Some(folder) => folder,
            None => {
                let made = self.root.create(POWER_TESTS);
                made.map_err(|e| self.failed("making the folder of power tests", e))?
            }
        };
        let failed = |e| io_error(folder.path(), "storing a power test", e);
        let bytes = serde_json::to_vec_pretty(cycle).map_err(|e| failed(e.into()))?;
        folder
            .replace(&format!("{}.json", cycle.test_id), &bytes)
            .map_err(failed)
    }

    /// Every judged cut, the oldest first, and why others cannot be read.
    ///
    /// # Errors
    /// Only when the folder itself cannot be read.
    pub fn power_cycles(&self) -> Result<(Vec<PowerCycle>, Vec<String>), StoreError> {
        let (mut cycles, mut problems) = (Vec::new(), Vec::new());
        let Some(folder) = self.power_folder()? else {
            return Ok((cycles, problems));
        };
        let names = folder.names();
        let names = names.map_err(|e| io_error(folder.path(), "listing power tests", e))?;
        for name in names.iter().filter(|name| name.ends_with(".json")) {
            match read(&folder, name) {
                Ok(cycle) => cycles.push(cycle),
                Err(what) => {
                    let place = folder.path().join(name);
                    problems.push(sanitize::line(&format!("{}: {what}", place.display())));
                }
            }
        }
        cycles.sort_by(|a: &PowerCycle, b| a.judged.cmp(&b.judged));
        Ok((cycles, problems))
    }

    fn power_folder(&self) -> Result<Option<Folder>, StoreError> {
        match self.root.open(POWER_TESTS) {
            Ok(folder) => Ok(Some(folder)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.failed("opening the folder of power tests", e)),
        }
    }
}

fn read(folder: &Folder, name: &str) -> Result<PowerCycle, String> {
    let bytes = folder
        .read(name, FILE_MAX_BYTES)
        .map_err(|e| e.to_string())?;
    let schema: super::Marker = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
    if schema.schema != SCHEMA {
        return Err(format!("the schema is `{}`, not {SCHEMA}", schema.schema));
    }
    serde_json::from_slice(&bytes).map_err(|e| e.to_string())
}
