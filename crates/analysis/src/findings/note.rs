//! A finding in the making.

use super::catalogue;
use crate::thresholds::Limit;
use measure::judgement::{Confidence, Finding, Weight};

/// Builder of a [`Finding`]; what is not given stays empty.
pub(super) struct Note(Finding);

impl Note {
    pub(super) fn new(id: &str, weight: Weight, claim: impl Into<String>) -> Note {
        Note(Finding {
            id: id.to_owned(),
            weight,
            claim: claim.into(),
            numbers: Vec::new(),
            threshold: String::new(),
            source: String::new(),
            confidence: catalogue::entry(id).map_or(Confidence::Medium, |e| e.confidence),
            advice: String::new(),
        })
    }

    pub(super) fn number(mut self, name: impl Into<String>, value: f64) -> Note {
        self.0.numbers.push((name.into(), value));
        self
    }

    pub(super) fn maybe(self, name: &str, value: Option<f64>) -> Note {
        match value {
            Some(v) => self.number(name, v),
            None => self,
        }
    }

    /// The threshold in words, and its source.
    pub(super) fn limit(mut self, words: impl Into<String>, limit: &Limit) -> Note {
        self.0.threshold = words.into();
        self.0.source.clone_from(&limit.source);
        self
    }

    /// A rule without a number of its own.
    pub(super) fn rule(mut self, words: impl Into<String>, source: &str) -> Note {
        self.0.threshold = words.into();
        source.clone_into(&mut self.0.source);
        self
    }

    pub(super) fn advice(mut self, text: impl Into<String>) -> Note {
        self.0.advice = text.into();
        self
    }

    pub(super) fn id(&self) -> &str {
        &self.0.id
    }

    pub(super) fn weight(&self) -> Weight {
        self.0.weight
    }

    pub(super) fn done(self) -> Finding {
        self.0
    }
}
