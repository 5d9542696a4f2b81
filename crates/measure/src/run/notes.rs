//! What the user of a run noted about it: a label, and facts that redolab cannot see, such as the
//! type of an instance or the price of a volume. Nothing is computed from them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The notes of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunNotes {
    /// A name that the user gave; several runs may have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Values by their keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

impl RunNotes {
    /// Nothing is noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.label.is_none() && self.tags.is_empty()
    }

    /// Adds `more`, whose label and values replace those that are there.
    pub fn add(&mut self, more: &RunNotes) {
        if more.label.is_some() {
            self.label.clone_from(&more.label);
        }
        let tags = more
            .tags
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()));
        self.tags.extend(tags);
    }

    /// `key=value, key=value`; empty without tags.
    #[must_use]
    pub fn tags_in_words(&self) -> String {
        RunNotes::in_words(&self.tags)
    }

    /// The same of tags alone.
    #[must_use]
    pub fn in_words(tags: &BTreeMap<String, String>) -> String {
        let pairs = tags.iter().map(|(key, value)| format!("{key}={value}"));
        crate::words::sanitize::line(&pairs.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_notes_replace_earlier_ones() {
        let notes = |label: Option<&str>, tags: &[(&str, &str)]| RunNotes {
            label: label.map(str::to_owned),
            tags: tags
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
        };
        let mut all = notes(Some("a"), &[("volume", "gp2"), ("price", "10")]);
        all.add(&notes(None, &[("volume", "gp3")]));
        assert_eq!(all, notes(Some("a"), &[("volume", "gp3"), ("price", "10")]));
        assert_eq!(all.tags_in_words(), "price=10, volume=gp3");
        all.add(&notes(Some("b"), &[]));
        assert_eq!(all.label.as_deref(), Some("b"));
        assert!(RunNotes::default().is_empty() && !all.is_empty());
    }
}
