//! The whole of an account: what was asked, what is answered first, and what that rests on.

use super::{Section, Statement};
use measure::judgement::Weight;

/// What a run, a comparison or an import says.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// What was asked; of a comparison, between which runs.
    pub question: String,
    /// What is said first.
    pub answer: AccountAnswer,
    /// What it rests on, in the order of a reader.
    pub sections: Vec<Section>,
    /// Where its figures come from.
    pub origin: String,
    /// Which run it is of, when and by which version it was made.
    pub made: String,
}

/// A fact of the first screen: label, the words that matter, details.
pub type AccountFact = (&'static str, String, String);

/// What is said first.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountAnswer {
    /// In a few words; empty where there is an answer for each of several runs.
    pub words: String,
    /// How it weighs for a reader who looks for a place of a log.
    pub weight: Weight,
    /// Why, and what follows from it: a sentence or two each.
    pub why: Vec<String>,
    /// What was judged, each by its name, such as [`DURABILITY`].
    pub axes: Vec<(&'static str, String)>,
    /// What was looked at, and where.
    pub facts: Vec<AccountFact>,
    /// What makes the figures wrong or doubtful, the worst first, with the section that has more.
    pub doubts: Vec<(Statement, &'static str)>,
}

/// Names of what is judged.
pub const DURABILITY: &str = "Durability";
/// See [`DURABILITY`].
pub const PERFORMANCE: &str = "Performance";
/// See [`DURABILITY`]; absent where nothing was judged.
pub const NEED: &str = "Need";
/// Of a log that others wrote.
pub const SCOPE: &str = "Scope";

impl Default for AccountAnswer {
    fn default() -> AccountAnswer {
        AccountAnswer {
            words: String::new(),
            weight: Weight::Info,
            why: Vec::new(),
            axes: Vec::new(),
            facts: Vec::new(),
            doubts: Vec::new(),
        }
    }
}

impl AccountAnswer {
    /// What was judged by that name.
    #[must_use]
    pub fn axis(&self, name: &str) -> Option<&str> {
        let found = self.axes.iter().find(|(of, _)| *of == name);
        found.map(|(_, words)| words.as_str())
    }

    /// Whether its figures are wrong.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.doubts.iter().any(|(of, _)| of.weight == Weight::Bad)
    }
}

/// The text with a capital.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
