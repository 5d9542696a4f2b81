//! Runs by the names that users give them, finished or not.

use super::{LAST, Store, StoreError};
use measure::run::Run;
use measure::words::sanitize;

/// Runs that are named when a prefix fits several.
const NAMED: usize = 5;

impl Store {
    /// A finished run, or what an unfinished one had written; `false` means the latter.
    ///
    /// # Errors
    /// As of [`Store::load`]; an unfinished run without a finished row.
    pub fn load_any(&self, id: &str) -> Result<(Run, bool), StoreError> {
        let why = match self.load(id) {
            Ok(run) => return Ok((run, true)),
            Err(why @ (StoreError::Incomplete { .. } | StoreError::Running { .. })) => why,
            Err(other) => return Err(other),
        };
        let nothing = || StoreError::NoRow(why.to_string());
        let mut run = self.load_draft(id)?.ok_or_else(nothing)?;
        if !run.validity.problems.iter().any(|p| p.id == "incomplete") {
            run.validity.add("incomplete", true, why.to_string());
        }
        Ok((run, false))
    }

    /// The id of the run that `name` names: the id itself, the beginning of one, or `last`.
    ///
    /// # Errors
    /// No such run, or several.
    pub fn resolve(&self, name: &str) -> Result<String, StoreError> {
        let entries = self.list()?;
        let path = self.path().to_owned();
        if name == LAST {
            let last = entries.last().map(|entry| entry.id.clone());
            return last.ok_or(StoreError::NoRuns { path });
        }
        if entries.iter().any(|entry| entry.id == name) {
            return Ok(name.to_owned());
        }
        let fits: Vec<&str> = entries
            .iter()
            .map(|entry| entry.id.as_str())
            .filter(|id| !name.is_empty() && id.starts_with(name))
            .collect();
        let id = sanitize::line(name);
        match fits.as_slice() {
            [one] => Ok((*one).to_owned()),
            [] => Err(StoreError::NoSuchRun { id, path }),
            several => Err(StoreError::SeveralRuns {
                count: several.len(),
                some: several
                    .iter()
                    .take(NAMED)
                    .map(|id| (*id).to_owned())
                    .collect(),
                name: id,
            }),
        }
    }
}
