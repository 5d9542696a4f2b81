//! The findings of a run in the order of their weight, the diagnosis among them.

use measure::judgement::{Finding, Weight};
use measure::run::Run;

/// All findings: of a judged run those that its verdict follows from, the weightiest first.
pub(super) fn findings(run: &Run) -> Vec<&Finding> {
    let all = run.verdict.as_ref().map_or(&run.findings, |v| &v.reasons);
    let (record, mut ordered): (Vec<&Finding>, Vec<&Finding>) =
        all.iter().partition(|f| f.weight == Weight::Info);
    ordered.extend(record);
    ordered
}

/// What evidence shows of the causes of waits, the weightiest first. What is wrong with the
/// evidence itself is no diagnosis.
pub(super) fn diagnosis(run: &Run) -> Vec<&Finding> {
    let mut all = findings(run);
    all.retain(|f| f.id.starts_with("diagnosis.") || f.id.starts_with("latency."));
    all.sort_by_key(|f| std::cmp::Reverse(f.weight));
    all
}

/// The class of a banner for what weighs so.
pub(super) const fn tone(weight: Weight) -> &'static str {
    match weight {
        Weight::Bad => "no",
        Weight::Caution => "conditional",
        Weight::Good => "yes",
        Weight::Info => "none",
    }
}
