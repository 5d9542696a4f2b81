//! A cell of a report's table: its text, and where it is in the file.

use crate::origin::{SourceLine, SourcedCell};
use measure::imported::Cell;
use measure::origin::{OriginInput, TextSpan};
use measure::printed;
use std::ops::Deref;

/// How a text of several lines is joined.
const LINES: &str = "the inputs, one behind the other";

/// Text of a report, and where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GridCell {
    /// The text, without the blanks around it.
    pub text: String,
    /// Its characters in the file; `None` where it is empty or redolab's own.
    pub span: Option<TextSpan>,
    /// Those of further lines that belong to it.
    pub more: Vec<TextSpan>,
    /// The text as it is printed, where its decimal marks were exchanged.
    pub printed: Option<Box<str>>,
    /// The report cut it to the width of its column.
    pub is_cut: bool,
}

impl GridCell {
    /// A part of a line.
    #[must_use]
    pub fn of(line: SourceLine<'_>, part: &str) -> GridCell {
        GridCell {
            text: part.trim().to_owned(),
            span: line.span(part),
            ..GridCell::default()
        }
    }

    /// Adds a word that is further to the right in the same line.
    pub fn join(&mut self, word: &str, span: Option<TextSpan>) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(word);
        self.span = match (self.span, span) {
            (Some(from), Some(to)) if from.line == to.line => Some(TextSpan {
                length: (to.column + to.length).saturating_sub(from.column),
                ..from
            }),
            (own, word) => own.or(word),
        };
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Without this character at its end, as often as it is there.
    #[must_use]
    pub fn without_end(&self, end: char) -> GridCell {
        let kept = self.text.trim_end_matches(end);
        let less = u32::try_from(self.text.chars().count() - kept.chars().count()).unwrap_or(0);
        GridCell {
            text: kept.to_owned(),
            span: self.span.map(|span| TextSpan {
                length: span.length.saturating_sub(less),
                ..span
            }),
            ..self.clone()
        }
    }

    /// The same text in a row of another line, which has it from this one.
    #[must_use]
    pub fn borrowed(&self) -> GridCell {
        GridCell {
            text: self.text.clone(),
            span: None,
            more: self.span.iter().chain(&self.more).copied().collect(),
            ..GridCell::default()
        }
    }

    /// Adds the text of a line below.
    pub fn join_line(&mut self, below: &GridCell) {
        if !self.text.is_empty() {
            self.text.push(' ');
            self.more.extend(below.span);
        }
        self.text.push_str(&below.text);
        self.span = self.span.or(below.span);
    }

    /// With points for commas and commas for points, if it is a number.
    #[must_use]
    pub fn pointed(&self) -> GridCell {
        match printed::number(&self.text) {
            Some(_) => GridCell {
                text: printed::pointed(&self.text),
                printed: Some(self.text.as_str().into()),
                ..self.clone()
            },
            None => self.clone(),
        }
    }

    /// As a cell of text.
    #[must_use]
    pub fn sourced(&self) -> SourcedCell {
        let text = crate::origin::text(self.printed.as_deref().unwrap_or(&self.text));
        if self.more.is_empty() {
            return SourcedCell::read(text, self.span);
        }
        let spans = self.span.iter().chain(&self.more).copied();
        SourcedCell::derived(text, LINES, spans.map(OriginInput::Span).collect())
    }

    /// As text, or blank where there is none.
    #[must_use]
    pub fn sourced_or_blank(&self) -> SourcedCell {
        match self.text.trim() {
            "" => SourcedCell::blank(),
            _ => self.sourced(),
        }
    }

    /// As a cell of a number; blank where it is none.
    #[must_use]
    pub fn number(&self) -> SourcedCell {
        SourcedCell::read(printed::cell(&self.text), self.span)
    }

    /// As a count: whole where it is printed whole, with suffixes as powers of 1000.
    #[must_use]
    pub fn count(&self) -> SourcedCell {
        let Some(n) = printed::number(&self.text) else {
            return SourcedCell::blank();
        };
        match (n.whole, n.suffix) {
            (Some(whole), "") => SourcedCell::read(Cell::Count(whole), self.span),
            _ => self.scaled(n.unit(1000.0)),
        }
    }

    /// Its number times a factor, where there is one.
    #[must_use]
    pub fn scaled(&self, factor: Option<f64>) -> SourcedCell {
        match printed::number(&self.text).zip(factor) {
            Some((n, factor)) => SourcedCell::scaled(n.value, factor, self.span),
            None => SourcedCell::blank(),
        }
    }

    /// As an input of a formula.
    #[must_use]
    pub fn input(&self) -> Option<OriginInput> {
        self.span.map(OriginInput::Span)
    }
}

impl Deref for GridCell {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_cell_are_one_place() {
        let line = SourceLine::new(3, "  log  file sync   1.5K");
        let mut cell = GridCell::of(line, &line.text[2..5]);
        cell.join("file", line.span(&line.text[7..11]));
        cell.join("sync", line.span(&line.text[12..16]));
        assert_eq!(&*cell, "log file sync");
        let span = cell.span.map(|s| (s.line, s.column, s.length));
        assert_eq!(span, Some((3, 3, 14)));
        let count = GridCell::of(line, &line.text[19..]).count();
        assert_eq!(count.cell, Cell::Real(1500.0));
    }
}
