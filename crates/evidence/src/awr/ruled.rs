//! Tables whose columns a rule of dashes under their headings shows: where the columns are, which
//! cells a line has, and where the table ends.

use super::cell::GridCell;
use super::{Grid, rows};
use crate::origin::SourceLine;
use crate::quick::QuickWord;

/// The title of a section.
pub(crate) const TITLE: QuickWord = QuickWord::exactly("DB/Inst:");
/// A part of the title of several columns.
const RULE: QuickWord = QuickWord::exactly("-----");

/// A table whose columns a rule shows.
#[derive(Debug)]
pub(super) struct RuledGrid {
    pub(super) grid: Grid,
    pub(super) spans: Vec<(usize, usize)>,
    /// Columns that hold numbers, where they are known.
    numeric: Vec<bool>,
    /// A line was met that is no row: further ones have to fit exactly.
    is_doubtful: bool,
    /// The first line, if it has no figure: headings may take two rules.
    first: String,
}

impl RuledGrid {
    /// A table without rows yet.
    pub(super) fn new(grid: Grid, spans: Vec<(usize, usize)>) -> RuledGrid {
        RuledGrid {
            numeric: rows::numeric_columns(&grid.headings),
            grid,
            spans,
            is_doubtful: false,
            first: String::new(),
        }
    }

    /// Whether a line begins another page or section.
    pub(super) fn ends_before(&self, line: &str) -> bool {
        begins_page(line, &self.grid, &self.spans)
    }

    /// The headings below the rule, where the only line is one of names: another rule is below it.
    pub(super) fn headings(&mut self) -> Option<String> {
        let is_alone = self.grid.rows.len() == 1 && !self.first.is_empty();
        is_alone.then(|| std::mem::take(&mut self.first))
    }

    /// Takes a line, if it is a row.
    pub(super) fn take(&mut self, line: SourceLine<'_>) -> bool {
        // Lists of statements are most of a report, and none of them is read.
        let row = match of_statements(&self.grid) {
            true => Vec::new(),
            false => slice(line, &self.spans),
        };
        let is_row = match self.is_doubtful {
            true => rows::fit_exactly(&self.numeric, &self.spans, &row),
            false => rows::fit(&self.numeric, &row),
        };
        if is_row {
            if self.grid.rows.is_empty() && !line.text.contains(|c: char| c.is_ascii_digit()) {
                line.text.clone_into(&mut self.first);
            }
            join_or_push(&mut self.grid, line.number, row);
        }
        self.is_doubtful |= !is_row;
        is_row
    }
}

/// Whether a table lists SQL statements.
fn of_statements(grid: &Grid) -> bool {
    grid.headings.iter().any(|h| h == "SQL Id")
}

/// Whether a line begins another page or section, so that the rows above it were the last: a form
/// feed, the title with the database's name, a remark (`-> …`), the title of several columns
/// (`----- % of Waits -----`), or the headings once more.
fn begins_page(line: &str, grid: &Grid, spans: &[(usize, usize)]) -> bool {
    let trimmed = line.trim_start();
    let title = TITLE.is_in(line.as_bytes()) || RULE.is_in(line.as_bytes());
    let is_page = line.starts_with('\u{c}') && !trimmed.is_empty();
    if is_page || trimmed.starts_with("->") || title {
        return true;
    }
    let has_it = |h: &&String| {
        h.split_whitespace()
            .next()
            .is_some_and(|w| line.contains(w))
    };
    let again = grid.headings.first().filter(has_it);
    again.is_some_and(|h| {
        let cells = slice(SourceLine::new(0, line), spans);
        cells.first().is_some_and(|c| c.text == *h)
    })
}

/// The columns of a rule of dashes; `None` of any other line. Positions count characters.
/// Statspack draws its first column with tildes.
pub fn spans(line: &str) -> Option<Vec<(usize, usize)>> {
    let mut spans = Vec::new();
    let mut start = None;
    // Most lines are none: their first character says so.
    if !line.trim_start().starts_with(['-', '~']) {
        return None;
    }
    for (i, c) in line.trim_end().chars().enumerate() {
        let c = if c == '~' && spans.is_empty() { '-' } else { c };
        match (c, start) {
            ('-', None) => start = Some(i),
            (' ', Some(s)) => {
                spans.push((s, i));
                start = None;
            }
            ('-', Some(_)) | (' ' | '\t', None) => {}
            _ => return None,
        }
    }
    if let Some(s) = start {
        spans.push((s, line.trim_end().chars().count()));
    }
    let wide = spans.iter().any(|(s, e)| e - s >= 3);
    let wide = wide && line.contains('-');
    (wide && spans.len() <= 64).then_some(spans)
}

/// Cuts a line into columns: each run of words goes to the column that it overlaps or ends next
/// to, so that numbers wider than their column stay whole.
pub fn slice(source: SourceLine<'_>, spans: &[(usize, usize)]) -> Vec<GridCell> {
    let line = source.text;
    // A name that is longer than its column stands alone, and has no gap.
    let trimmed = line.trim();
    let is_name = !trimmed.contains("  ") && !trimmed.contains(|c: char| c.is_ascii_digit());
    let first = spans.first().map_or(0, |(_, end)| *end);
    let begins = line.len() - line.trim_start().len() < first;
    if is_name && begins && trimmed.chars().count() > first {
        let mut cells = vec![GridCell::default(); spans.len()];
        cells[0] = GridCell::of(source, trimmed);
        return cells;
    }
    slice_words(source, spans)
}

/// Cuts a line into columns, whatever its words are.
pub fn slice_words(source: SourceLine<'_>, spans: &[(usize, usize)]) -> Vec<GridCell> {
    let mut cells = vec![GridCell::default(); spans.len()];
    for (start, end, word) in words(source.text) {
        let overlap = |(s, e): &(usize, usize)| end.min(*e).saturating_sub(start.max(*s));
        let best = (0..spans.len()).max_by_key(|i| {
            let (s, e) = spans[*i];
            let gap = start.saturating_sub(e) + s.saturating_sub(end);
            (overlap(&spans[*i]), usize::MAX - gap, usize::MAX - *i)
        });
        if let Some(cell) = best.and_then(|i| cells.get_mut(i)) {
            cell.join(word, source.span(word));
        }
    }
    cells
}

fn words(line: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let mut at = 0;
    line.split(' ').filter_map(move |word| {
        let start = at;
        let width = word.chars().count();
        at += width + 1;
        let word = word.trim();
        (!word.is_empty()).then_some((start, start + width, word))
    })
}

/// A row; a name that took a line of its own joins the values below it.
fn join_or_push(grid: &mut Grid, number: u64, mut row: Vec<GridCell>) {
    let alone = |row: &[GridCell]| row.iter().skip(1).all(|c| c.is_empty());
    if let Some((_, last)) = grid.rows.last() {
        let nameless = row.first().is_some_and(|c| c.is_empty()) && !alone(&row);
        if nameless && alone(last) {
            let name = last.first().cloned().unwrap_or_default();
            grid.rows.pop();
            row[0] = name;
        }
    }
    grid.push(number, row);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_by_the_rule() {
        let rule = "----------------- ------- ------";
        let spans = spans(rule).expect("a rule");
        assert_eq!(spans, [(0, 17), (18, 25), (26, 32)]);
        let slice = |line: &str| {
            let cells = slice(SourceLine::new(1, line), &spans).into_iter();
            cells.map(|c| c.text).collect::<Vec<String>>()
        };
        let cells = slice("log file sync      72    1.1");
        assert_eq!(cells, ["log file sync", "72", "1.1"]);
        let wide = slice("log file sync 1,234,567,890    1.1");
        assert_eq!(wide[0], "log file sync");
        assert_eq!(slice("DB CPU                      0.3")[1], "");
        assert_eq!(super::spans("- a list"), None);
        assert_eq!(super::spans("a--b"), None);
    }
}
