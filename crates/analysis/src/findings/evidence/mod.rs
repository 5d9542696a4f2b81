//! Consistency of imported evidence: what its own figures say against each other, each finding with
//! its arithmetic. Nothing here knows a study: every rule is about tables by their ids and columns.
//!
//! Rules stay silent where the figures' rounding can explain a difference.

mod changes;
mod events;
mod flash;
mod iostat;
pub(super) mod published;
mod samples;
pub(crate) mod view;

use super::note::Note;
use measure::imported::Imported;
use measure::judgement::Finding;
use measure::run::Run;

/// What the evidence's own figures say against each other, the gravest first.
#[must_use]
pub fn findings(run: &Run) -> Vec<Finding> {
    run.imported.as_ref().map(of).unwrap_or_default()
}

/// The same of tables that are no run yet.
#[must_use]
pub fn of(imported: &Imported) -> Vec<Finding> {
    let tables = view::Tables(&imported.tables);
    let mut notes: Vec<Note> = Vec::new();
    published::collect(&tables, &mut notes);
    events::collect(&tables, &mut notes);
    iostat::collect(&tables, &mut notes);
    flash::collect(&tables, &mut notes);
    samples::collect(&tables, &mut notes);
    changes::collect(imported, &mut notes);
    let mut out: Vec<Finding> = notes.into_iter().map(Note::done).collect();
    out.sort_by_key(|f| std::cmp::Reverse(f.weight));
    out
}
