//! Statistics of the instance that a report lists more than once, or under one name.
//!
//! Reports list the key statistics twice: in a section of their own and among all. Reports as text
//! cut names to the width of the column, so that several statistics share one
//! (`redo synch time overhead count (<`). The first are one statistic, the second are not.

use crate::Notes;
use measure::imported::Severity;
use std::collections::HashMap;

/// The statistics that were listed so far.
#[derive(Debug, Default)]
pub(super) struct ListedStatistics {
    title: String,
    table: u32,
    /// By name and total as printed: the first table that lists it, and the title of that table.
    first: HashMap<(String, String), (u32, String)>,
    /// By name: the table that listed it last.
    names: HashMap<String, u32>,
}

impl ListedStatistics {
    /// Begins a table of that title.
    pub(super) fn begin(&mut self, title: &str) {
        self.table += 1;
        title.clone_into(&mut self.title);
    }

    /// Whether a row is another statistic than those of the tables before. A row of the same name
    /// and total in a section of another title repeats one; in the same section it does not.
    pub(super) fn is_new(&mut self, name: &str, total: &str, line: u64, notes: &mut Notes) -> bool {
        let key = (name.to_owned(), total.trim().to_owned());
        let this = (self.table, self.title.clone());
        let (table, title) = self.first.entry(key).or_insert(this);
        let is_continued = !self.title.is_empty() && *title == self.title;
        if *table != self.table && !is_continued {
            return false;
        }
        if self.names.insert(name.to_owned(), self.table) == Some(self.table) {
            notes.add(Severity::Note, "awr.equal_names", Some(line), None, || {
                format!(
                    "several statistics are printed as `{name}`: the report cuts their names; each \
                     is a row of its own"
                )
            });
        }
        true
    }
}
