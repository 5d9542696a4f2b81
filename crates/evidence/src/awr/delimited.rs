//! Tables of reports whose cells are separated by tabs or bars: copied from a report in HTML, or
//! written as Markdown. A heading that is known begins a table; its lines follow directly.

use super::cell::GridCell;
use super::{Grid, squeeze, views};
use crate::origin::SourceLine;

/// Cells of a line.
const CELLS_MAX: usize = 64;

/// What separates cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Tab,
    Bar,
}

/// The table that is being read.
#[derive(Debug, Default)]
pub struct DelimitedTable {
    open: Option<(Separator, Grid)>,
}

/// What a line did.
#[derive(Debug)]
pub struct DelimitedStep {
    /// The table that ended before it.
    pub ended: Option<Grid>,
    /// It belongs to a table.
    pub is_taken: bool,
}

impl DelimitedTable {
    /// Takes a line, below a title.
    pub fn line(&mut self, line: &str, number: u64, title: &str) -> DelimitedStep {
        let step = |ended, is_taken| DelimitedStep { ended, is_taken };
        let Some((separator, cells)) = cells(SourceLine::new(number, line)) else {
            // A rule whose columns are one blank apart has no tabs.
            let is_rule =
                !line.trim().is_empty() && line.trim().bytes().all(|b| b"- ".contains(&b));
            let is_begun = self
                .open
                .as_ref()
                .is_some_and(|(_, grid)| grid.rows.is_empty());
            if is_rule && is_begun {
                return step(None, true);
            }
            return step(self.end(), false);
        };
        if let Some((_, grid)) = self.open.as_mut().filter(|(s, _)| *s == separator) {
            if is_drawn(&cells) {
                return step(None, true);
            }
            if !is_heading(&cells) {
                grid.push(number, cells);
                return step(None, true);
            }
        }
        let ended = self.end();
        if !is_heading(&cells) {
            return step(ended, false);
        }
        let mut headings: Vec<String> = cells.iter().map(|c| usual(&c.text)).collect();
        // The first column of the load profile has no heading, and pages lose its cell.
        if headings.first().is_some_and(|c| squeeze(c) == "persecond") {
            headings.insert(0, String::new());
        }
        self.open = Some((
            separator,
            Grid {
                title: title.to_owned(),
                line: number,
                headings,
                ..Grid::default()
            },
        ));
        step(ended, true)
    }

    /// Ends the table.
    pub fn end(&mut self) -> Option<Grid> {
        self.open.take().map(|(_, grid)| grid)
    }
}

/// Whether a line is the heading of such a table.
#[must_use]
pub fn opens(line: &str) -> bool {
    cells(SourceLine::new(0, line)).is_some_and(|(_, cells)| is_heading(&cells))
}

fn cells(source: SourceLine<'_>) -> Option<(Separator, Vec<GridCell>)> {
    let line = source.text;
    let trimmed = line.trim();
    // Markdown may leave out the bars at both ends, and pages make each line an item of a list.
    let bullet = ["* ", "- ", "+ "]
        .iter()
        .find_map(|b| trimmed.strip_prefix(b));
    let trimmed = bullet.unwrap_or(trimmed);
    let inner = trimmed.strip_prefix('|').unwrap_or(trimmed);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let (separator, parts): (_, Vec<&str>) = if trimmed.contains('|') {
        (Separator::Bar, inner.split('|').collect())
    } else if line.contains('\t') {
        (Separator::Tab, line.trim_end().split('\t').collect())
    } else {
        return None;
    };
    let bare = |c: &&str| GridCell::of(source, c.trim().trim_matches(['*', '`']));
    let cells: Vec<GridCell> = parts.iter().map(bare).collect();
    (cells.len() >= 2 && cells.len() <= CELLS_MAX).then_some((separator, cells))
}

/// A heading as reports have it, where somebody who wrote the table again shortened it.
fn usual(heading: &str) -> String {
    const SHORT: [(&str, &str); 3] = [
        ("waitevent", "Event"),
        ("avg(ms)", "Avg wait (ms)"),
        ("average(ms)", "Avg wait (ms)"),
    ];
    let found = SHORT.iter().find(|(short, _)| *short == squeeze(heading));
    found.map_or_else(|| heading.to_owned(), |(_, whole)| (*whole).to_owned())
}

/// The line of hyphens below a heading of Markdown.
fn is_drawn(cells: &[GridCell]) -> bool {
    let drawn = |c: &GridCell| c.contains('-') && c.bytes().all(|b| matches!(b, b'-' | b':'));
    cells.iter().all(drawn)
}

/// Whether cells are the headings of a table that is read. Tabs that only pad leave empty cells
/// between the names: such a line is none.
fn is_heading(cells: &[GridCell]) -> bool {
    let names: Vec<String> = cells.iter().map(|c| squeeze(&usual(c))).collect();
    let Some((first, rest)) = names.split_first() else {
        return false;
    };
    if rest.iter().any(String::is_empty) {
        return false;
    }
    let has = |name: &str| names.iter().any(|n| n == name);
    let ends = |name: &str| names.iter().any(|n| n.ends_with(name));
    match first.as_str() {
        // Columns of v$system_event have underscores: they are of another reader.
        "event" => {
            let is_waits = |n: &String| n.contains("waits") && !n.contains('_');
            rest.iter().any(is_waits) && rest.len() >= 2
        }
        "statistic" => has("total"),
        "functionname" | "filetypename" => names.iter().any(|n| n.contains("data")),
        "dbname" | "hostname" => rest.len() >= 2,
        "parametername" => rest.iter().any(|n| n.contains("value")),
        _ => {
            has("persecond") && has("pertransaction")
                || views::heads(&names)
                || ends("%user") && ends("%idle") && ends("%system")
        }
    }
}
