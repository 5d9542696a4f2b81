//! A finding in the making: what its catalogue entry says of it, and what was measured.

use super::catalogue::{self, CatalogueEntry};
use crate::thresholds::Limit;
use measure::judgement::{Confidence, Finding, Weight};

/// Builder of a [`Finding`]. Rule, source, advice and confidence are those of its entry, unless
/// this case has its own.
pub(super) struct Note(Finding);

impl Note {
    pub(super) fn of(entry: &CatalogueEntry, weight: Weight, claim: impl Into<String>) -> Note {
        Note(Finding {
            id: entry.id.to_owned(),
            weight,
            claim: claim.into(),
            numbers: Vec::new(),
            threshold: entry.rule.to_owned(),
            source: entry.source.to_owned(),
            confidence: entry.confidence,
            advice: entry.advice.to_owned(),
        })
    }

    /// A problem that was recorded while measuring. An id that this version does not know, as a run
    /// of another version may have it, is kept.
    pub(super) fn recorded(id: String, weight: Weight, claim: String) -> Note {
        if let Some(entry) = catalogue::entry(&id) {
            return Note::of(entry, weight, claim);
        }
        let mut note = Note::of(&catalogue::VALIDITY_INVALID, weight, claim);
        (note.0.id, note.0.confidence) = (id, Confidence::default());
        note
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

    /// The rule with the number of this case; its source is the entry's.
    pub(super) fn rule(mut self, words: impl Into<String>) -> Note {
        self.0.threshold = words.into();
        self
    }

    /// A rule of this case alone, with its own source.
    pub(super) fn rule_from(self, words: impl Into<String>, source: &str) -> Note {
        let mut note = self.rule(words);
        source.clone_into(&mut note.0.source);
        note
    }

    /// Advice for this case, where the entry's is too general.
    pub(super) fn advice(mut self, text: impl Into<String>) -> Note {
        self.0.advice = text.into();
        self
    }

    /// Advice for this case, where it has its own.
    pub(super) fn advice_or_own(self, text: Option<&str>) -> Note {
        match text {
            Some(text) => self.advice(text),
            None => self,
        }
    }

    /// The entry's advice, where it is needed.
    pub(super) fn advice_if(self, is_needed: bool) -> Note {
        if is_needed { self } else { self.no_advice() }
    }

    /// Nothing has to be done.
    pub(super) fn no_advice(self) -> Note {
        self.advice("")
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
