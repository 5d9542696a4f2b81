//! The catalogue of findings: what each can claim, its threshold, how sure it is, what
//! to do about it, and which figure shows it. `docs/findings.md` and `redolab findings` are made
//! from it.
//!
//! Invariants: each kind of finding is a constant, from which the code takes its id, rule, source
//! and advice, so that an unknown id does not compile; none is here that the product cannot make.

/// Constants, and the list of all of them.
macro_rules! entries {
    ($($name:ident = $entry:expr;)+) => {
        $(pub(crate) const $name: CatalogueEntry = $entry;)+
        pub(super) const ENTRIES: &[&CatalogueEntry] = &[$(&$name),+];
    };
}

mod diagnosis;
mod durability;
mod evidence;
mod need;
mod performance;
mod server;
mod validity;

pub(crate) use diagnosis::*;
pub(crate) use durability::*;
pub(crate) use evidence::*;
pub(crate) use need::*;
pub(crate) use performance::*;
pub(crate) use server::*;
pub(crate) use validity::*;

use super::{FindingAxis, axis};
use crate::thresholds::{Limit, RuleBasis, Thresholds};
use measure::judgement::Confidence;

/// The rules of the storage stack, as the project's verdict document states them.
const STACK_RULE: &str = "redolab's rules for storage stacks: the worst layer decides";

/// What a figure of a report shows; where a finding is best looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FigureAnchor {
    /// Throughput by number of jobs.
    Throughput,
    /// Log file sync by number of jobs.
    LogFileSync,
    /// Percentiles of wait events.
    Percentiles,
    /// Where a commit's time goes.
    CommitPath,
    /// Commits by second.
    Seconds,
    /// Longest waits by second.
    Longest,
    /// The device's floor.
    Floor,
    /// The layers of the storage stack.
    Stack,
    /// The flush audit and the other checks of the measurement.
    Trust,
}

impl FigureAnchor {
    /// A stable name, for anchors.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FigureAnchor::Throughput => "throughput",
            FigureAnchor::LogFileSync => "log_file_sync",
            FigureAnchor::Percentiles => "percentiles",
            FigureAnchor::CommitPath => "commit_path",
            FigureAnchor::Seconds => "seconds",
            FigureAnchor::Longest => "longest",
            FigureAnchor::Floor => "floor",
            FigureAnchor::Stack => "stack",
            FigureAnchor::Trust => "trust",
        }
    }
}

/// One kind of finding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CatalogueEntry {
    /// Stable identifier.
    pub id: &'static str,
    /// What it claims.
    pub claim: &'static str,
    /// Names of the thresholds that it applies; empty where a rule has no number.
    pub thresholds: &'static [&'static str],
    /// The rule in words.
    pub rule: &'static str,
    /// Where a rule without a threshold comes from.
    pub source: &'static str,
    /// What numbers in the rule itself rest on; those of thresholds have a basis of their own.
    pub rule_basis: RuleBasis,
    /// What to do about it.
    pub advice: &'static str,
    /// How sure it is, where a finding does not say otherwise.
    pub confidence: Confidence,
    /// Where to look at it.
    pub figure: Option<FigureAnchor>,
}

impl CatalogueEntry {
    const fn new(id: &'static str, confidence: Confidence, claim: &'static str) -> CatalogueEntry {
        CatalogueEntry {
            id,
            claim,
            thresholds: &[],
            rule: "",
            source: "",
            rule_basis: RuleBasis::Fact,
            advice: "",
            confidence,
            figure: None,
        }
    }

    const fn rule(mut self, rule: &'static str, source: &'static str) -> CatalogueEntry {
        self.rule = rule;
        self.source = source;
        self
    }

    const fn rests_on(mut self, basis: RuleBasis) -> CatalogueEntry {
        self.rule_basis = basis;
        self
    }

    const fn limit(
        mut self,
        rule: &'static str,
        thresholds: &'static [&'static str],
    ) -> CatalogueEntry {
        self.rule = rule;
        self.thresholds = thresholds;
        self
    }

    const fn advice(mut self, advice: &'static str) -> CatalogueEntry {
        self.advice = advice;
        self
    }

    const fn at(mut self, figure: FigureAnchor) -> CatalogueEntry {
        self.figure = Some(figure);
        self
    }

    /// Its axis.
    #[must_use]
    pub fn axis(&self) -> FindingAxis {
        axis(self.id)
    }

    /// Its thresholds as they apply: name and value with its source.
    pub fn limits<'a>(&self, t: &'a Thresholds) -> Vec<(&'static str, &'a Limit)> {
        let names = self.thresholds.iter();
        names
            .filter_map(|name| Some((*name, t.get(name)?)))
            .collect()
    }

    /// What it rests on: the least sure of its rule and its thresholds.
    #[must_use]
    pub fn basis(&self, t: &Thresholds) -> RuleBasis {
        let limits = self.limits(t).into_iter().map(|(_, limit)| limit.basis);
        limits.fold(self.rule_basis, RuleBasis::max)
    }
}

/// Every kind of finding: durability, need, performance, servers, validity, evidence.
pub fn entries() -> impl Iterator<Item = &'static CatalogueEntry> {
    let parts = [
        durability::ENTRIES,
        need::ENTRIES,
        performance::ENTRIES,
        server::ENTRIES,
        validity::ENTRIES,
        evidence::ENTRIES,
        diagnosis::ENTRIES,
    ];
    parts.into_iter().flatten().copied()
}

/// The kind of a finding.
#[must_use]
pub fn entry(id: &str) -> Option<&'static CatalogueEntry> {
    entries().find(|entry| entry.id == id)
}

#[cfg(test)]
mod tests;
