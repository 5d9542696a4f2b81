//! Rows of wait events below a table of a report, without headings of their own: somebody cut the
//! report there. What their numbers are shows where one of them is the product of two others.
//!
//! Invariant: a row is read where waits, their average and their total fit each other in one way
//! only; any other one is reported, and what is behind the average is of no known heading.

use super::cell::GridCell;
use super::loose::{is_average, is_event};
use super::{Grid, events::Role};
use crate::Notes;
use crate::notes::quote;
use crate::origin::SourceLine;
use measure::imported::Severity;
use measure::printed;

/// Waits, total and average among the first numbers of a row, where share or number of time-outs
/// may be behind the waits.
const LAYOUTS: [[usize; 3]; 2] = [[0, 1, 2], [0, 2, 3]];
/// Numbers of a row at most.
const NUMBERS_MAX: usize = 8;

/// The rows so far.
#[derive(Debug, Default)]
pub(super) struct HeadlessRows {
    grid: Option<Grid>,
}

impl HeadlessRows {
    /// Takes a line, if it is a name of an event and numbers behind it.
    pub(super) fn line(&mut self, line: SourceLine<'_>, notes: &mut Notes) -> bool {
        let trimmed = line.text.trim();
        if !is_event(trimmed) {
            return false;
        }
        let words: Vec<&str> = trimmed.split_whitespace().collect();
        let is_number = |w: &&str| printed::number(w).is_some();
        let (name, rest) = words.split_at(words.iter().position(&is_number).unwrap_or(0));
        let count = rest.iter().take_while(|w| is_number(w)).count();
        let (numbers, class) = rest.split_at(count);
        let is_class = class.len() <= 2 && class.iter().all(|w| w.starts_with(char::is_uppercase));
        if !(3..=NUMBERS_MAX).contains(&count) || name.is_empty() || !is_class {
            return false;
        }
        let values: Vec<GridCell> = numbers.iter().map(|w| GridCell::of(line, w)).collect();
        let fitting = LAYOUTS.iter().filter_map(|at| {
            let row: Option<Vec<GridCell>> = at.iter().map(|i| values.get(*i).cloned()).collect();
            row.filter(|row| fits(row))
        });
        let fitting: Vec<Vec<GridCell>> = fitting.collect();
        let at = Some(line.number);
        let [row] = fitting.as_slice() else {
            notes.add(Severity::Warning, "awr.row_without_heading", at, None, || {
                let text = quote(trimmed.as_bytes());
                format!("{text} has no headings, and its numbers do not show what they are: not read")
            });
            return true;
        };
        let mut cells = vec![GridCell::default()];
        for word in name {
            cells[0].join(word, line.span(word));
        }
        cells.extend(row.iter().cloned());
        let grid = self.grid.get_or_insert_with(|| Grid {
            line: line.number,
            headings: ["Event", "Waits", "Total Wait Time (s)", "Avg wait (ms)"]
                .map(str::to_owned)
                .to_vec(),
            ..Grid::default()
        });
        grid.push(line.number, cells);
        notes.add(Severity::Note, "awr.row_by_its_numbers", at, None, || {
            format!(
                "{} has no headings: which numbers are waits, seconds and the average in ms shows in their \
                 product; what is behind them is not read",
                quote(trimmed.as_bytes())
            )
        });
        true
    }

    /// What was read.
    pub(super) fn end(&mut self) -> Option<Grid> {
        self.grid.take()
    }
}

/// Whether three values are waits, seconds and the average in ms of each other.
fn fits(row: &[GridCell]) -> bool {
    let roles = [(Role::Waits, 1.0), (Role::Time, 1.0), (Role::Average, 1e6)];
    let is_some = |cell: &GridCell| printed::number(cell).is_some_and(|n| n.value > 0.0);
    row.iter().all(is_some) && is_average(&roles, row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_where_their_numbers_fit() {
        let mut rows = HeadlessRows::default();
        let mut notes = Notes::new("f");
        let mut take = |text: &str| {
            let taken = rows.line(SourceLine::new(1, text), &mut notes);
            let row = rows.end().and_then(|grid| grid.rows.into_iter().next());
            let cells = row.map(|(_, row)| {
                let texts: Vec<String> = row.into_iter().map(|c| c.text).collect();
                texts.join("|")
            });
            (taken, cells)
        };
        for (text, want) in [
            (
                "log file parallel write               11,940     0        239     20      0.9",
                "log file parallel write|11,940|239|20",
            ),
            (
                "log file parallel write  11,940  239  20  0.9  3.1",
                "log file parallel write|11,940|239|20",
            ),
            ("log file sync 1000 12 5 5.2", "log file sync|1000|5|5.2"),
            (
                "log file sync 1000 5 5.2 .7 Commit",
                "log file sync|1000|5|5.2",
            ),
            (
                "LGWR wait for redo copy 2,000 100 .2 .10",
                "LGWR wait for redo copy|2,000|.2|.10",
            ),
        ] {
            assert_eq!(take(text), (true, Some(want.to_owned())), "{text}");
        }
        // The product fits nowhere, or is of nothing.
        for text in ["log file sync 7 8 9 10", "log file sync 11,940 0 0 0 0.9"] {
            assert_eq!(take(text), (true, None), "{text}");
        }
        for text in [
            "log file sync",
            "log file sync 12",
            "logs 1 2 3",
            "log file sync 1 2 3 x y",
        ] {
            assert_eq!(take(text), (false, None), "{text}");
        }
    }
}
