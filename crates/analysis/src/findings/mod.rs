//! What a run shows, theme by theme. Each finding is a claim with its numbers, the threshold
//! that was applied, that threshold's source and what to do.
//!
//! Invariants: findings know nothing of the verdict, which follows from them; an `id` is stable and
//! its prefix names the [`FindingAxis`] on which it weighs; a theme that has no data says nothing.

pub mod agreement;
pub(crate) mod beside;
mod block;
mod bucket;
mod cache;
pub mod catalogue;
pub(crate) mod concurrency;
mod constants;
pub mod diagnosis;
pub(crate) mod disk;
mod endurance;
pub mod evidence;
mod explain;
mod flush;
pub(crate) mod latency;
mod layers;
mod little;
mod load;
mod mounts;
pub mod need;
mod note;
mod peaks;
mod placement;
mod power_cuts;
pub mod production;
mod protection;
pub mod record;
mod server;
pub(crate) mod space;
mod steady;
mod sustained;
mod validity;
mod watched_log;

pub use little::is_sampled;
pub(crate) use power_cuts::{LOSS_PER_CUT, SHOWN_CUTS};
pub(crate) use protection::declarers;
pub use space::cache_resident;

use crate::thresholds::Thresholds;
use measure::judgement::{Finding, Weight};
use measure::run::Run;
use note::Note;

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingAxis {
    /// Whether an acknowledged write survives power loss.
    Durability,
    /// Whether commits are fast and steady enough for the stated need.
    Need,
    /// How fast and steady commits are.
    Performance,
    /// Whether the figures can be believed.
    Validity,
}

/// Id of the finding that a soak drained burst credits.
pub const BUCKET: &str = catalogue::STEADY_BUCKET.id;
/// Id of the finding that flushes end sooner than a device can carry them out.
pub const FAST_FLUSH: &str = catalogue::DURABILITY_FAST_FLUSH.id;
/// Id of the finding that a power test passed.
pub const TESTED: &str = catalogue::DURABILITY_TESTED.id;
/// Id of the finding that a power test lost acknowledged writes.
pub const REFUTED: &str = catalogue::DURABILITY_REFUTED.id;
/// Id of the finding that the drive, a sourced model entry or the user declares that acknowledged
/// writes survive.
pub const DECLARED: &str = catalogue::DURABILITY_DECLARED.id;

/// Id of the finding that the sides of a comparison are not alike, as the document states it.
pub const UNLIKE: &str = catalogue::EVIDENCE_UNLIKE.id;

/// The axis of a finding, from the prefix of its id.
#[must_use]
pub fn axis(id: &str) -> FindingAxis {
    // Acknowledged redo that a later write can tear is no matter of speed.
    if id == "block.below_physical" {
        return FindingAxis::Durability;
    }
    match id.split('.').next() {
        Some("stack" | "mount" | "durability" | "server") => FindingAxis::Durability,
        Some("need") => FindingAxis::Need,
        Some("validity" | "evidence" | "agreement") => FindingAxis::Validity,
        _ => FindingAxis::Performance,
    }
}

/// Everything that `run` shows, the weightiest first; the order of themes is kept within a
/// weight.
#[must_use]
pub fn findings(run: &Run, t: &Thresholds) -> Vec<Finding> {
    let mut notes: Vec<Note> = Vec::new();
    validity::collect(run, t, &mut notes);
    server::collect(run, t, &mut notes);
    layers::collect(run, &mut notes);
    cache::collect(run, t, &mut notes);
    power_cuts::collect(run, t, &mut notes);
    block::collect(run, &mut notes);
    need::collect(run, t, &mut notes);
    beside::collect(run, t, &mut notes);
    explain::collect(run, &mut notes);
    latency::collect(run, t, &mut notes);
    peaks::collect(run, t, &mut notes);
    concurrency::collect(run, &mut notes);
    load::collect(run, t, &mut notes);
    placement::collect(run, t, &mut notes);
    steady::collect(run, t, &mut notes);
    space::collect(run, t, &mut notes);
    endurance::collect(run, t, &mut notes);
    let mut out: Vec<Finding> = notes.into_iter().map(Note::done).collect();
    out.sort_by_key(|f| std::cmp::Reverse(f.weight));
    out
}

/// Weight for short.
pub(crate) use Weight::{Bad, Caution, Good, Info};

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod need_tests;
#[cfg(test)]
mod tests;
