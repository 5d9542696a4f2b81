//! Consistency of imported evidence: what its own figures say against each other, each finding with
//! its arithmetic. Nothing here knows a study: every rule is about tables by their ids and columns.
//!
//! Rules stay silent where the figures' rounding can explain a difference.

mod changes;
pub(super) mod distribution;
mod events;
mod flash;
mod iostat;
pub(crate) mod published;
mod samples;
pub(crate) mod view;

use super::catalogue as c;
use super::note::Note;
use measure::imported::Imported;
use measure::judgement::Finding;
use measure::run::Run;
pub use published::sweep_peaks::table as sweep_peaks;

/// What the evidence's own figures say against each other, the gravest first.
#[must_use]
pub fn findings(run: &Run) -> Vec<Finding> {
    run.imported.as_ref().map(of).unwrap_or_default()
}

/// Whether a finding is about a document (a misprint, figures that contradict each other), and not
/// about what its figures show.
#[must_use]
pub fn is_about_document(id: &str) -> bool {
    let all = [
        c::AGREEMENT_RESTART,
        c::EVIDENCE_AGREEMENT,
        c::EVIDENCE_AVERAGE,
        c::EVIDENCE_BUCKETS,
        c::EVIDENCE_CEILING,
        c::EVIDENCE_CLOCK,
        c::EVIDENCE_COLUMNS,
        c::EVIDENCE_COMMIT_MODE,
        c::EVIDENCE_COUNTER_BACK,
        c::EVIDENCE_CPU,
        c::EVIDENCE_INTERVAL,
        c::EVIDENCE_LITTLE,
        c::EVIDENCE_LOAD_AVERAGE,
        c::EVIDENCE_MISPRINT,
        c::EVIDENCE_NOT_ALIKE,
        c::EVIDENCE_PERCENTAGE,
        c::EVIDENCE_QUEUE,
        c::EVIDENCE_ROUNDING,
        c::EVIDENCE_SHARES,
        c::EVIDENCE_TESTS_LEFT_OUT,
        c::EVIDENCE_THRESHOLDS,
        c::EVIDENCE_WINDOW,
    ];
    all.iter().any(|entry| entry.id == id)
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
