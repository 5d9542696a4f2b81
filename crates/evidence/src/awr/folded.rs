//! Tables whose lines a mail program folded: each heading, the rule and each row take two lines,
//! and the blank at the fold is lost. A second rule right below the first shows it.

use super::Grid;
use super::ruled::spans;
use std::collections::VecDeque;

/// What a line of a report was.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FoldedLine {
    /// The first half of a row.
    Held,
    /// No second half: what was held is a line, and this is another.
    Alone(Option<(String, u64)>),
    /// Both halves, and the number of the first.
    Joined(String, u64),
}

/// Headings and columns of both halves.
type Unfolded = (VecDeque<String>, Vec<(usize, usize)>);

/// Joins the halves of lines.
#[derive(Debug, Default)]
pub(super) struct FoldedTable {
    /// The last rule that began a table, its line, and the lines above it.
    ruled: Option<(String, u64, VecDeque<String>)>,
    /// Characters of the first half, in a folded table.
    width: Option<usize>,
    held: Option<(String, u64)>,
}

fn joined(front: &str, behind: &str, width: usize) -> String {
    format!("{:width$} {behind}", front.trim_end())
}

impl FoldedTable {
    /// A rule began a table.
    pub(super) fn ruled(&mut self, rule: &str, number: u64, above: &VecDeque<String>) {
        self.ruled = Some((rule.to_owned(), number, above.clone()));
        self.width = None;
    }

    /// Whether the line above is a rule that began a table.
    pub(super) fn is_below_rule(&self, number: u64) -> bool {
        let above = self.ruled.as_ref().map(|(_, at, _)| at + 1);
        above == Some(number) && self.width.is_none()
    }

    /// Opens a folded table by its second rule.
    pub(super) fn open(&mut self, behind: &str) -> Option<Unfolded> {
        let (rule, _, above) = self.ruled.take()?;
        let width = rule.trim_end().chars().count();
        let above: Vec<String> = above.into();
        // A line of the title may be above the headings.
        let halves = above[above.len() % 2..].chunks(2);
        let headings = halves.map(|of| joined(&of[0], &of[1], width)).collect();
        self.width = Some(width);
        Some((headings, spans(&joined(&rule, behind, width))?))
    }

    /// Takes a line.
    pub(super) fn line(&mut self, line: &str, number: u64) -> FoldedLine {
        let Some(width) = self.width else {
            return FoldedLine::Alone(None);
        };
        let is_row = !line.trim().is_empty() && spans(line).is_none();
        match self.held.take() {
            Some((front, at)) if is_row && line.starts_with(' ') => {
                FoldedLine::Joined(joined(&front, line, width), at)
            }
            None if is_row => {
                self.held = Some((line.to_owned(), number));
                FoldedLine::Held
            }
            held => FoldedLine::Alone(held),
        }
    }

    /// Moves the places of the last row's cells that are behind the fold.
    pub(super) fn place(&self, grid: &mut Grid) {
        let Some(width) = self.width.map(|w| w as u32 + 1) else {
            return;
        };
        let last = grid
            .rows
            .last_mut()
            .into_iter()
            .flat_map(|(_, cells)| cells);
        for span in last.filter_map(|cell| cell.span.as_mut()) {
            if span.column > width {
                span.line += 1;
                span.column -= width;
            }
        }
    }

    /// The table ended.
    pub(super) fn close_if(&mut self, is_closed: bool) {
        if is_closed && self.held.is_none() {
            self.width = None;
        }
    }

    /// The line that is held.
    pub(super) fn take_held(&mut self) -> Option<(String, u64)> {
        self.held.take()
    }
}
