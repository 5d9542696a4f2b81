//! Cells with their origin, as readers make them: the characters that were read, or the formula and
//! its inputs.
//!
//! Invariant: a factor is applied here, once, so that what the characters say times the factor is
//! the cell exactly.

use measure::imported::{Cell, Table};
use measure::origin::{CellOrigin, Derivation, OriginInput, RowOrigin, ScaledSpan, TextSpan};
use measure::printed;

/// Lines that a row takes.
const ROW_LINES_MAX: u64 = 16;
/// Characters of a text cell.
const TEXT_MAX: usize = 200;

/// A line of a file of which readers take parts.
#[derive(Clone, Copy, Debug)]
pub struct SourceLine<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Its text.
    pub text: &'a str,
}

impl<'a> SourceLine<'a> {
    /// The line of that number.
    #[must_use]
    pub fn new(number: u64, text: &'a str) -> SourceLine<'a> {
        SourceLine { number, text }
    }

    /// Where a part of the line is, without the blanks around it. `None` for what is empty or is no
    /// part of this line's memory.
    #[must_use]
    pub fn span(&self, part: &str) -> Option<TextSpan> {
        let part = part.trim();
        let start = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let head = self.text.get(..start)?;
        self.text.get(start..start + part.len())?;
        let number = |n: usize| u32::try_from(n).ok();
        (!part.is_empty()).then_some(TextSpan {
            line: u32::try_from(self.number).ok()?,
            column: number(head.chars().count() + 1)?,
            length: number(part.chars().count())?,
        })
    }

    /// A part as a cell of text.
    #[must_use]
    pub fn text(&self, part: &str) -> SourcedCell {
        SourcedCell::read(text(part), self.span(part))
    }

    /// A part as a cell of a plain number; blank where it is none.
    #[must_use]
    pub fn cell(&self, part: &str) -> SourcedCell {
        SourcedCell::read(printed::cell(part), self.span(part))
    }

    /// A number that was read of a part, times a factor.
    #[must_use]
    pub fn scaled(&self, part: &str, value: f64, factor: f64) -> SourcedCell {
        SourcedCell::scaled(value, factor, self.span(part))
    }
}

/// Where a part of a line of bytes is, without the blanks around it. What is no UTF-8 counts as the
/// replacement characters that are shown for it.
#[must_use]
pub fn span_of_bytes(number: u64, line: &[u8], part: &[u8]) -> Option<TextSpan> {
    let part = part.trim_ascii();
    let start = (part.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
    line.get(start..start + part.len())?;
    let chars = |bytes: &[u8]| match bytes.is_ascii() {
        true => bytes.len(),
        false => String::from_utf8_lossy(bytes).chars().count(),
    };
    let number_of = |n: usize| u32::try_from(n).ok();
    (!part.is_empty()).then_some(TextSpan {
        line: u32::try_from(number).ok()?,
        column: number_of(chars(line.get(..start)?) + 1)?,
        length: number_of(chars(part))?,
    })
}

/// A cell and where it comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourcedCell {
    /// The cell.
    pub cell: Cell,
    /// Where it comes from.
    pub source: CellSource,
}

/// Where a cell comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CellSource {
    /// It is blank, or a label that redolab gives.
    #[default]
    Given,
    /// Characters of the file.
    Read(TextSpan),
    /// A number of the file times a factor.
    Scaled(TextSpan, f64),
    /// Computed: the formula in words, and its inputs.
    Derived(&'static str, Vec<OriginInput>),
}

impl SourcedCell {
    /// A blank cell.
    #[must_use]
    pub fn blank() -> SourcedCell {
        SourcedCell::default()
    }

    /// A label of redolab's own: never a number.
    #[must_use]
    pub fn label(label: &str) -> SourcedCell {
        SourcedCell {
            cell: text(label),
            source: CellSource::Given,
        }
    }

    /// What the characters say.
    #[must_use]
    pub fn read(cell: Cell, span: Option<TextSpan>) -> SourcedCell {
        let source = match (&cell, span) {
            (Cell::Blank, _) | (_, None) => CellSource::Given,
            (_, Some(span)) => CellSource::Read(span),
        };
        SourcedCell { cell, source }
    }

    /// A number of these characters times a factor.
    #[must_use]
    pub fn scaled(value: f64, factor: f64, span: Option<TextSpan>) -> SourcedCell {
        let source = match span {
            None => CellSource::Given,
            Some(span) if factor == 1.0 => CellSource::Read(span),
            Some(span) => CellSource::Scaled(span, factor),
        };
        SourcedCell {
            cell: Cell::Real(value * factor),
            source,
        }
    }

    /// What a formula gives of its inputs, which are named in its order.
    #[must_use]
    pub fn derived(cell: Cell, formula: &'static str, inputs: Vec<OriginInput>) -> SourcedCell {
        let source = match cell {
            Cell::Blank => CellSource::Given,
            _ => CellSource::Derived(formula, inputs),
        };
        SourcedCell { cell, source }
    }

    /// Line of its characters.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match self.source {
            CellSource::Read(span) | CellSource::Scaled(span, _) => Some(u64::from(span.line)),
            CellSource::Given | CellSource::Derived(..) => None,
        }
    }

    /// A number that a formula gives, if it gives one.
    #[must_use]
    pub fn computed(
        value: Option<f64>,
        formula: &'static str,
        inputs: Vec<OriginInput>,
    ) -> SourcedCell {
        SourcedCell::derived(value.map_or(Cell::Blank, Cell::Real), formula, inputs)
    }
}

/// Adds a row whose cells have origins to a table that is kept elsewhere; `file` names the file
/// where the table joins several.
pub fn add_sourced(table: &mut Table, file: &str, lines: (u64, u64), cells: Vec<SourcedCell>) {
    let (cells, mut origin) = apart(cells, lines, table);
    file.clone_into(&mut origin.file);
    table.rows.push(cells);
    table.origins.push(origin);
}

/// The cells of a row, and where they come from; formulas are kept once, in the table.
pub(crate) fn apart(
    mut cells: Vec<SourcedCell>,
    mut lines: (u64, u64),
    table: &mut Table,
) -> (Vec<Cell>, RowOrigin) {
    cells.resize(table.columns.len(), SourcedCell::default());
    let mut widen = |span: TextSpan| {
        let line = u64::from(span.line);
        // A name may be far above, in the query or the title of all rows.
        if line.abs_diff(lines.0) <= ROW_LINES_MAX {
            lines = (lines.0.min(line), lines.1.max(line));
        }
    };
    let (mut values, mut origins) = (
        Vec::with_capacity(cells.len()),
        Vec::with_capacity(cells.len()),
    );
    for SourcedCell { cell, source } in cells {
        values.push(cell);
        origins.push(match source {
            CellSource::Given => CellOrigin::Given,
            CellSource::Read(span) => {
                widen(span);
                CellOrigin::Read(span)
            }
            CellSource::Scaled(span, factor) => {
                widen(span);
                CellOrigin::Scaled(Box::new(ScaledSpan { span, factor }))
            }
            CellSource::Derived(formula, inputs) => CellOrigin::Derived(Box::new(Derivation {
                formula: formula_index(&mut table.formulas, formula),
                inputs,
            })),
        });
    }
    let origin = RowOrigin {
        lines,
        cells: origins,
        ..RowOrigin::default()
    };
    (values, origin)
}

fn formula_index(formulas: &mut Vec<String>, formula: &str) -> u32 {
    let at = formulas.iter().position(|f| f == formula);
    let at = at.unwrap_or_else(|| {
        formulas.push(formula.to_owned());
        formulas.len() - 1
    });
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Text of the evidence for a cell.
#[must_use]
pub fn text(text: &str) -> Cell {
    Cell::Text(short(text))
}

/// The beginning of a text that a cell or a heading keeps.
pub(crate) fn short(text: &str) -> String {
    text.trim().chars().take(TEXT_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "µs\tlog file sync \u{1f600}  7.5ms ";
        let line = SourceLine::new(9, text);
        let part = |part: &str| &text[text.find(part).expect("a part")..][..part.len()];
        let at = |span: TextSpan| (span.line, span.column, span.length);
        assert_eq!(line.span(part("µs")).map(at), Some((9, 1, 2)));
        assert_eq!(line.span(part(" 7.5ms ")).map(at), Some((9, 21, 5)));
        assert_eq!(line.span("7.5ms"), None, "of other memory");
        assert_eq!(line.span(part("  ")), None, "nothing is nowhere");
        let cell = line.scaled(part("7.5ms"), 7.5, 1000.0);
        assert_eq!(cell.cell, Cell::Real(7500.0));
        assert_eq!(line.cell(part("log")).source, CellSource::Given);
    }
}
