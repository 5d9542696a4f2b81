//! Findings about the measurement itself.

use super::{CatalogueEntry, FigureAnchor};
use crate::thresholds::RuleBasis::Opinion;
use measure::judgement::Confidence::{High, Medium};

const VALID: &str = "redolab: validity is part of the result";
const AGAIN: &str = "Remove the cause and measure again.";

/// A problem that was recorded while measuring, and becomes a finding as it is.
const fn problem(id: &'static str, claim: &'static str) -> CatalogueEntry {
    CatalogueEntry::new(id, High, claim)
        .rule("any such problem", VALID)
        .advice(AGAIN)
        .at(FigureAnchor::Trust)
}

entries! {
    VALIDITY_IO_ERROR = problem("validity.io_error",
        "A write or flush failed: nothing after it was acknowledged, and the row is incomplete.");
    VALIDITY_SHORT_WRITE = problem("validity.short_write", "A write was cut short.");
    VALIDITY_INCOMPLETE = problem("validity.incomplete",
        "The run ended before its plan: interrupted, stopped, or failed.");
    VALIDITY_CLOCK_STEP = problem("validity.clock_step", "The clock made a step during the measurement.");
    VALIDITY_BUSY_DEVICE = problem("validity.busy_device",
        "Other processes used the device when the run began (--allow-busy).");
    VALIDITY_LITTLES_LAW = problem("validity.littles_law",
        "Jobs, throughput and latency contradict each other.");
    VALIDITY_FEW_COMMITS = CatalogueEntry::new("validity.few_commits", High,
        "A row has so few commits that its figures are not reliable.")
        .rule("at least 20 commits in a row, and 4 for each session", "redolab: a percentile needs ten samples beyond it, so fewer than 20 commits do not even give a median; with fewer than 4 per session, a row consists mostly of the group commits in which its sessions began and ended")
        .rests_on(Opinion)
        .advice("Measure for longer, or raise --max-write if it ended the row.")
        .at(FigureAnchor::Trust);
    VALIDITY_EVIDENCE_CUT = problem("validity.evidence_cut",
        "Some of the evidence could not be read.");
    VALIDITY_INVALID = CatalogueEntry::new("validity.invalid", High,
        "The run is marked invalid without a reason.")
        .rule("any such problem", VALID)
        .advice("Measure again.")
        .at(FigureAnchor::Trust);
    VALIDITY_SIMULATED = CatalogueEntry::new("validity.simulated", High,
        "The figures come from a model.")
        .rule("simulated time is never reported as measured", "redolab")
        .advice("Measure on the device before deciding.");
    VALIDITY_FALLBACK = CatalogueEntry::new("validity.fallback", High,
        "A requested feature was unavailable and was not used.")
        .rule("the run measures what was requested, or records what it measured instead", "redolab: a run records what it measured")
        .advice("To measure with this feature, make it available and measure again.");
    VALIDITY_SHORTENED = CatalogueEntry::new("validity.shortened", High,
        "Rows ended early or were left out, because --max-write limits what is written.")
        .rule("a row has the commits that its figures need, or it is doubtful for that", "redolab: a limit of the user is no fault of the log")
        .advice("The figures are right for what was measured. Raise --max-write to measure all of it.")
        .at(FigureAnchor::Trust);
    VALIDITY_FLUSHES_MISSING = CatalogueEntry::new("validity.flushes_missing", High,
        "Fewer flushes were counted than the acknowledged writes need.")
        .rule("counted >= needed", "redolab: flushes that the kernel counted, compared with those that acknowledged writes need")
        .advice("A layer above the device drops flushes: find it before you rely on any commit.")
        .at(FigureAnchor::Trust);
    VALIDITY_BACKGROUND = CatalogueEntry::new("validity.background", Medium,
        "Other processes wrote to the device in more than a quarter of the rows.")
        .limit("writes of other processes", &["background_write_pct"])
        .advice("Measure when the device is quiet, or put redo on a device of its own.")
        .at(FigureAnchor::Trust);
    VALIDITY_NO_COMMITS = CatalogueEntry::new("validity.no_commits", High,
        "A row has no commits.")
        .rule("at least one commit per row", "redolab")
        .advice("Measure for longer, or when the machine is quiet.");
    VALIDITY_LITTLE = CatalogueEntry::new("validity.little", Medium,
        "Throughput times latency is not equal to the number of jobs.")
        .limit("deviation from Little's law", &["little_tolerance_pct"])
        .advice("Look for a starved load generator or lost samples, and measure again.")
        .at(FigureAnchor::Trust);
    ORIGIN_IMPORTED = CatalogueEntry::new("origin.imported", High,
        "Another program recorded the figures; what it did not record is not judged.")
        .rule("simulated time is never reported as measured", "redolab")
        .advice("Measure on the device before deciding.");
    ORIGIN_WATCHED = CatalogueEntry::new("origin.watched", High,
        "The figures are of the log writes of a running database under the load that it had.")
        .rule("a watched log shows what happened, not what its device can carry", "redolab")
        .advice("Run `redolab check` on a device of the same kind that may be loaded to see what it can carry.");
}
