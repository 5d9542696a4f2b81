//! Evidence through its reader (`evidence`) and the rules that compare its figures (`analysis`),
//! which only the binary's crate sees together: the figures of the studies from the documents' own
//! lines, rules that fire and stay silent, and rules that survive whatever evidence they are given.

mod agreement;
mod diagnosis;
mod findings;
mod hostile;
mod record;
mod studies;

#[path = "../../../../xtask/src/generate/evidence/mod.rs"]
mod generate;
#[path = "../../../evidence/tests/listings/read.rs"]
mod read;
#[path = "../../../evidence/tests/listings/samples.rs"]
mod samples;

use evidence::Outcome;
use measure::judgement::Finding;
use read::{cell, import, import_in, number, table};

/// What the figures say against each other.
pub fn findings_of(outcome: &Outcome) -> Vec<Finding> {
    analysis::findings::evidence::of(&outcome.imported)
}

/// The number of a finding.
pub fn found(findings: &[Finding], id: &str, name: &str) -> f64 {
    let finding = findings
        .iter()
        .find(|f| f.id == id && f.numbers.iter().any(|(n, _)| n == name));
    let finding = finding.unwrap_or_else(|| {
        let ids: Vec<&str> = findings.iter().map(|f| f.id.as_str()).collect();
        panic!("no finding {id} with {name}: {ids:?}")
    });
    finding
        .numbers
        .iter()
        .find(|(n, _)| n == name)
        .map(|(_, v)| *v)
        .expect("found above")
}
