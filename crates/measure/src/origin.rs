//! Where the cells of an imported table come from: the characters of the file that were read, or
//! the formula and the inputs of which they were computed.
//!
//! Invariants: lines and columns count from 1, columns and lengths count characters of the text as
//! redolab reads it (UTF-8 without a byte order mark, a line end is one character); a cell that has
//! neither characters nor a formula is a label of redolab's own or blank, never a number.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Where a row of a [`crate::imported::Table`] comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowOrigin {
    /// The file, where the table joins several; else empty, and it is the file of the table.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// First and last line that the row was read from, from 1.
    pub lines: (u64, u64),
    /// One for each cell; empty where only the lines are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellOrigin>,
}

/// Where a cell comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CellOrigin {
    /// It is blank, or a label that redolab gives; `null` in JSON.
    #[default]
    Given,
    /// Characters of the file, as printed: `[line, column, length]` in JSON.
    Read(TextSpan),
    /// A number of the file times a factor: `[line, column, length, factor]` in JSON.
    Scaled(Box<ScaledSpan>),
    /// It was computed.
    Derived(Box<Derivation>),
}

/// Characters of a file.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(from = "(u32, u32, u32)", into = "(u32, u32, u32)")]
pub struct TextSpan {
    /// Line of the first one, from 1.
    pub line: u32,
    /// Column of the first one in characters, from 1.
    pub column: u32,
    /// How many they are.
    pub length: u32,
}

/// A number of the file times a factor, which converts its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u32, f64)", into = "(u32, u32, u32, f64)")]
pub struct ScaledSpan {
    /// The number's characters, with its suffix where it has one.
    pub span: TextSpan,
    /// What the digits were multiplied by.
    pub factor: f64,
}

/// How a cell was computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Derivation {
    /// Index into the formulas of the table.
    pub formula: u32,
    /// What it was computed of: a, b, c, ... of the formula, in their order, unless the formula
    /// names columns of the row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<OriginInput>,
}

/// One input of a [`Derivation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OriginInput {
    /// Characters of the file.
    Span(TextSpan),
    /// A cell: `column` of the same row, or `table.row.column`, where `*` is every row and `a-b`
    /// are rows a to b. The table is the one of that id that joins files as this one does, or is of
    /// the row's file; rows count from 0. `rows.n.` begins a figure of the run's own rows.
    Cell(Cow<'static, str>),
}

impl From<(u32, u32, u32)> for TextSpan {
    fn from((line, column, length): (u32, u32, u32)) -> TextSpan {
        TextSpan {
            line,
            column,
            length,
        }
    }
}

impl From<TextSpan> for (u32, u32, u32) {
    fn from(span: TextSpan) -> (u32, u32, u32) {
        (span.line, span.column, span.length)
    }
}

impl From<(u32, u32, u32, f64)> for ScaledSpan {
    fn from((line, column, length, factor): (u32, u32, u32, f64)) -> ScaledSpan {
        ScaledSpan {
            span: (line, column, length).into(),
            factor,
        }
    }
}

impl From<ScaledSpan> for (u32, u32, u32, f64) {
    fn from(scaled: ScaledSpan) -> (u32, u32, u32, f64) {
        let (line, column, length) = scaled.span.into();
        (line, column, length, scaled.factor)
    }
}

impl From<TextSpan> for OriginInput {
    fn from(span: TextSpan) -> OriginInput {
        OriginInput::Span(span)
    }
}

impl From<&'static str> for OriginInput {
    fn from(cell: &'static str) -> OriginInput {
        OriginInput::Cell(Cow::Borrowed(cell))
    }
}

impl From<String> for OriginInput {
    fn from(cell: String) -> OriginInput {
        OriginInput::Cell(Cow::Owned(cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_short_in_json_and_come_back() {
        let span = TextSpan {
            line: 12,
            column: 5,
            length: 7,
        };
        let cells = vec![
            CellOrigin::Given,
            CellOrigin::Read(span),
            CellOrigin::Scaled(Box::new(ScaledSpan {
                span,
                factor: 0.001,
            })),
            CellOrigin::Derived(Box::new(Derivation {
                formula: 0,
                inputs: vec![span.into(), "waits".into()],
            })),
        ];
        let origin = RowOrigin {
            lines: (12, 13),
            cells,
            ..RowOrigin::default()
        };
        let json = serde_json::to_string(&origin).expect("JSON");
        let want = "{\"lines\":[12,13],\"cells\":[null,[12,5,7],[12,5,7,0.001],\
                    {\"formula\":0,\"inputs\":[[12,5,7],\"waits\"]}]}";
        assert_eq!(json, want);
        let back: RowOrigin = serde_json::from_str(&json).expect("an origin");
        assert_eq!(back, origin);
        assert!(std::mem::size_of::<CellOrigin>() <= 16);
    }
}
