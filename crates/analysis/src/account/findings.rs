//! Findings as claims: with a word for what is only suspected, and with what to do.

use super::Statement;
use measure::judgement::{Confidence, Finding, Weight};

/// How the ids of findings begin that hold figures of the evidence against each other.
pub(super) const EVIDENCE: &str = "evidence.";

/// The claim; one that other explanations fit too is a suspicion.
#[must_use]
pub fn claim(f: &Finding) -> String {
    match f.confidence {
        Confidence::Low => format!("Suspicion: {}", f.claim),
        Confidence::Medium | Confidence::High => f.claim.clone(),
    }
}

/// What a finding is called: one about the evidence says how wrong that is, another how it weighs.
#[must_use]
pub fn weight_word(f: &Finding) -> &'static str {
    match (f.weight, f.id.starts_with(EVIDENCE)) {
        (Weight::Bad, true) => "wrong",
        (Weight::Caution, true) => "doubtful",
        (Weight::Bad, false) => "bad",
        (Weight::Caution, false) => "caution",
        (Weight::Good | Weight::Info, _) => "note",
    }
}

/// The finding with its id and its advice; of evidence with the word of its weight.
#[must_use]
pub fn statement(f: &Finding, is_evidence: bool) -> Statement {
    Statement {
        weight: f.weight,
        word: match is_evidence {
            true => weight_word(f).to_owned(),
            false => String::new(),
        },
        claim: format!("{} [{}]", claim(f), f.id),
        details: match f.advice.as_str() {
            "" => Vec::new(),
            advice => vec![format!("What to do: {advice}")],
        },
    }
}
