//! Runs by the names that users give them, finished or not.

use super::{Entry, LAST, Store, StoreError};
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

    /// The id of the run that `name` names: the id itself, the beginning of one, `last`, a label
    /// (of its newest run), or one of these with `~N`, the run N before it.
    ///
    /// # Errors
    /// No such run, or several.
    pub fn resolve(&self, name: &str) -> Result<String, StoreError> {
        let entries = self.list()?;
        let path = self.path().to_owned();
        if entries.iter().any(|entry| entry.id == name) {
            return Ok(name.to_owned());
        }
        let (base, back) = with_back(name);
        let is_labelled = |entry: &&Entry| {
            let notes = entry.summary.as_ref().map(|summary| &summary.notes);
            notes.and_then(|notes| notes.label.as_deref()) == Some(base)
        };
        let found: Vec<&Entry> = match base == LAST {
            true => entries.iter().collect(),
            false => entries.iter().filter(is_labelled).collect(),
        };
        if base == LAST && found.is_empty() {
            return Err(StoreError::NoRuns { path });
        }
        if !found.is_empty() {
            let one = found.iter().rev().nth(back).map(|entry| entry.id.clone());
            return one.ok_or_else(|| StoreError::FewRuns {
                name: sanitize::line(name),
                count: found.len(),
            });
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

/// A name without its `~N`, and N.
fn with_back(name: &str) -> (&str, usize) {
    match name.rsplit_once('~') {
        Some((base, back)) => match back.parse() {
            Ok(back) => (base, back),
            Err(_) => (name, 0),
        },
        None => (name, 0),
    }
}
