//! Listings of SQL*Plus whose rows are longer than its line: headings and rules stand in turn, and
//! a row is as many lines.
//!
//! ```text
//!    IO_SIZE FILE_NAME
//! ---------- --------------------
//! IO_LATENCY  TIMESTAMP
//! ---------- ----------
//!         16 /u01/redo01.log
//!        812  170000111
//! ```

use super::awr::cell::GridCell;
use super::awr::ruled::{slice_words, spans};
use super::origin::SourceLine;

/// Lines that a row may take.
const LINES_MAX: usize = 16;

/// Puts the rows of such a listing together.
#[derive(Debug, Default)]
pub struct Wrapped {
    /// A line that is a heading if a rule follows.
    above: Option<String>,
    heads: Vec<Head>,
    /// Lines of the row that has begun.
    row: Vec<(u64, String)>,
    in_heads: bool,
}

#[derive(Debug)]
struct Head {
    names: Vec<String>,
    spans: Vec<(usize, usize)>,
}

/// What a line was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrappedLine {
    /// None of such a listing.
    No,
    /// A part of one.
    Part,
    /// The last of a row: its cells.
    Row(Vec<GridCell>),
}

impl Wrapped {
    /// The names of all columns in small letters, where rows take more than one line.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        if !self.is_open() {
            return Vec::new();
        }
        self.heads.iter().flat_map(|h| h.names.clone()).collect()
    }

    /// Whether rows take more than one line.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.heads.len() > 1 && !(self.in_heads && self.above.is_some())
    }

    /// Whether a row has begun.
    #[must_use]
    pub fn is_in_row(&self) -> bool {
        !self.row.is_empty()
    }

    /// Whether each cell of a row is below the hyphens of its column.
    #[must_use]
    pub fn is_aligned(&self, cells: &[GridCell]) -> bool {
        let columns = self.heads.iter().flat_map(|h| &h.spans);
        columns.zip(cells).all(|((start, end), cell)| {
            cell.span.is_none_or(|at| {
                let begin = at.column as usize - 1;
                *start <= begin && begin + at.length as usize <= *end
            })
        })
    }

    /// Takes a line. Of a listing whose rows take one line it is [`WrappedLine::No`].
    pub fn line(&mut self, source: SourceLine<'_>) -> WrappedLine {
        let line = source.text;
        if line.trim().is_empty() {
            self.row.clear();
            // Headings of one listing follow each other.
            self.in_heads = false;
            return WrappedLine::No;
        }
        if let Some(spans) = spans(line) {
            return self.rule(spans);
        }
        // The second line of a row may be a name in capitals.
        if self.row.is_empty() && is_heading(line) {
            self.above = Some(line.to_owned());
            return WrappedLine::No;
        }
        self.above = None;
        self.in_heads = false;
        let is_end = line.contains("selected.") || line.starts_with("SQL>");
        if is_end || self.heads.len() < 2 {
            self.row.clear();
            self.heads.clear();
            return WrappedLine::No;
        }
        self.row.push((source.number, line.to_owned()));
        if self.row.len() < self.heads.len() {
            return WrappedLine::Part;
        }
        let lines = std::mem::take(&mut self.row);
        let cells = lines.iter().zip(&self.heads);
        let cells = cells.flat_map(|((n, l), h)| slice_words(SourceLine::new(*n, l), &h.spans));
        WrappedLine::Row(cells.collect())
    }

    fn rule(&mut self, spans: Vec<(usize, usize)>) -> WrappedLine {
        let Some(above) = self.above.take() else {
            return WrappedLine::No;
        };
        if !self.in_heads {
            self.heads.clear();
        }
        self.in_heads = true;
        let names = slice_words(SourceLine::new(0, &above), &spans);
        if self.heads.len() < LINES_MAX {
            self.heads.push(Head {
                names: names.iter().map(|n| n.to_ascii_lowercase()).collect(),
                spans,
            });
        }
        WrappedLine::No
    }
}

/// Whether a line holds names of columns alone.
#[must_use]
pub fn is_heading(line: &str) -> bool {
    let name = |w: &str| {
        w.starts_with(|c: char| c.is_ascii_uppercase())
            && w.bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"_#$".contains(&b))
    };
    line.len() < 2000 && line.split_whitespace().all(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(text: &str) -> impl Iterator<Item = SourceLine<'_>> {
        (1..)
            .zip(text.lines())
            .map(|(n, line)| SourceLine::new(n, line))
    }

    #[test]
    fn rows_of_several_lines() {
        let text = "\
   IO_SIZE\n----------\nFILE_NAME\n--------------------\nIO_LATENCY  TIMESTAMP
---------- ----------\n        16\n/u01/redo01.log\n       812  170000111\n
       512\n/u01/redo02.log\n       501\n";
        let mut wrapped = Wrapped::default();
        let took: Vec<WrappedLine> = numbered(text).map(|l| wrapped.line(l)).collect();
        assert_eq!(
            wrapped.names(),
            ["io_size", "file_name", "io_latency", "timestamp"]
        );
        let rows = took.iter().filter_map(|t| match t {
            WrappedLine::Row(cells) => Some(cells.iter().map(|c| &**c).collect::<Vec<&str>>()),
            _ => None,
        });
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [
                ["16", "/u01/redo01.log", "812", "170000111"],
                ["512", "/u01/redo02.log", "501", ""],
            ]
        );
        let places = took.iter().rev().find_map(|t| match t {
            WrappedLine::Row(cells) => Some(
                cells
                    .iter()
                    .map(|c| c.span.map(|s| s.line))
                    .collect::<Vec<_>>(),
            ),
            _ => None,
        });
        assert_eq!(places, Some(vec![Some(11), Some(12), Some(13), None]));
    }

    #[test]
    fn rows_of_one_line_are_not_its_own() {
        let mut wrapped = Wrapped::default();
        let text = "  IO_SIZE IO_LATENCY\n--------- ----------\n       16        812\n";
        for line in numbered(text) {
            assert_eq!(wrapped.line(line), WrappedLine::No);
        }
        assert!(wrapped.names().is_empty());
    }
}
