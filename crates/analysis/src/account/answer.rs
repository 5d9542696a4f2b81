//! The whole of an account: what was asked, what is answered first, and what that rests on.

use super::{Section, Shown, Statement};
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

/// A key figure.
pub struct KeyFigure {
    /// What it is.
    pub label: &'static str,
    /// Its value.
    pub value: Shown,
    /// At which load, and what is shown with it.
    pub note: String,
}

impl KeyFigure {
    pub(super) fn of(label: &'static str, value: impl Into<Shown>, note: String) -> KeyFigure {
        let value = value.into();
        KeyFigure { label, value, note }
    }
}

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
/// What that rests on.
pub const BASED_ON: &str = "Based on";
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

    /// Whether it is a verdict on a place of a log; evidence alone has none.
    #[must_use]
    pub fn is_verdict(&self) -> bool {
        [DURABILITY, PERFORMANCE, NEED]
            .iter()
            .all(|name| self.axis(name).is_some())
    }

    /// Whether its figures are wrong.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.doubts.iter().any(|(of, _)| of.weight == Weight::Bad)
    }
}

/// A claim as one line of at most `most` characters, and what is behind it. It is cut where a
/// sentence or a part of one ends, else between words.
pub(crate) fn one_line(claim: &str, most: usize) -> (String, String) {
    /// Characters that a line has at least, where it is cut within a sentence.
    const LEAST: usize = 30;
    if claim.chars().count() <= most {
        return (claim.to_owned(), String::new());
    }
    let end = claim
        .char_indices()
        .nth(most)
        .map_or(claim.len(), |(at, _)| at);
    let head = &claim[..end];
    let ends = ["; ", ". ", ": ", " (", ", "].iter().filter_map(|end| {
        let at = head.rfind(end).filter(|at| *at >= LEAST)?;
        // What is in brackets keeps the first of them.
        Some((at, at + end.trim_end_matches('(').len()))
    });
    let ends = ends.max();
    let (at, rest) = ends
        .or_else(|| head.rfind(' ').map(|at| (at, at + 1)))
        .unwrap_or((end, end));
    (claim[..at].to_owned(), capitalised(claim[rest..].trim()))
}

/// The text with a capital.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_headline_is_one_line_and_loses_nothing() {
        let claim =
            "the first part of a claim that is long; its second part: with figures (a.txt:7)";
        for (most, head, rest) in [
            (120, claim, ""),
            (
                60,
                "the first part of a claim that is long; its second part",
                "With figures (a.txt:7)",
            ),
            (
                20,
                "the first part of a",
                "Claim that is long; its second part: with figures (a.txt:7)",
            ),
        ] {
            assert_eq!(one_line(claim, most), (head.to_owned(), rest.to_owned()));
        }
        let one = "x".repeat(99);
        assert_eq!(one_line(&one, 40), ("x".repeat(40), capital(&one[40..])));
        assert_eq!(one_line(&"é".repeat(99), 40).0.chars().count(), 40);
    }

    fn capital(text: &str) -> String {
        super::capitalised(text)
    }
}
