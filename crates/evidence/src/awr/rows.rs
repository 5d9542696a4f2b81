//! Whether a line below headings is a row of their table. Reports end a table with an empty line or
//! a rule; pages that quote one go on with prose, a fence of Markdown or the next section.
//!
//! Invariant: a line that is no row gives no cell, and is reported with its number.

use super::cell::GridCell;
use super::events::{self, Role};
use super::{Grid, squeeze};
use crate::Notes;
use crate::notes::quote;
use measure::imported::Severity;
use measure::printed;

/// Whether each column of a table that is read holds numbers; empty for a table of another kind,
/// whose cells may be anything.
pub(super) fn numeric_columns(headings: &[String]) -> Vec<bool> {
    let first = headings.first().map(|h| squeeze(h)).unwrap_or_default();
    let all = |is: fn(&String) -> bool| headings.iter().map(is).collect();
    match first.as_str() {
        "event" => all(|h| {
            let role = events::role(h).map(|(role, _)| role);
            events::bound(h) || role.is_some_and(|r| !matches!(r, Role::Event | Role::Class))
        }),
        "statistic" => all(|h| matches!(squeeze(h).as_str(), "total" | "persecond" | "pertrans")),
        "functionname" | "filetypename" => all(|h| {
            let h = squeeze(h);
            ["data", "req", "count", "avg"]
                .iter()
                .any(|word| h.contains(word))
        }),
        _ => Vec::new(),
    }
}

/// Whether a cell is what reports print for a number: one with its unit, in powers of ten, blank,
/// not available, or wider than its column.
fn is_value(cell: &str) -> bool {
    let power = |c: &str| {
        let (digits, power) = c.split_once(['E', 'e'])?;
        let power = power.trim_start_matches(['+', '-']);
        let is_power = !power.is_empty() && power.bytes().all(|b| b.is_ascii_digit());
        (is_power && printed::plain(digits).is_some()).then_some(())
    };
    cell.is_empty()
        || printed::number(cell).is_some()
        || matches!(cell, "N/A" | "n/a" | "NA" | "-" | "--")
        || cell.bytes().all(|b| b == b'#')
        || power(cell).is_some()
}

/// Whether cells fit below headings of these columns.
pub(super) fn fit(numeric: &[bool], cells: &[GridCell]) -> bool {
    let mut pairs = numeric.iter().zip(cells).skip(1);
    let name = cells.first().map_or("", |c| c.as_str());
    let is_drawn = !name.is_empty() && !name.contains(char::is_alphanumeric);
    numeric.is_empty() || (!is_drawn && pairs.all(|(is, cell)| !is || is_value(cell)))
}

/// Whether cells are surely a row: a name, and numbers that end where their columns end.
pub(super) fn fit_exactly(numeric: &[bool], spans: &[(usize, usize)], cells: &[GridCell]) -> bool {
    let is_named = cells
        .first()
        .is_some_and(|c| c.starts_with(char::is_alphabetic));
    let is_aligned = |(cell, (_, end)): (&GridCell, &(usize, usize))| {
        cell.span
            .is_some_and(|s| (s.column + s.length) as usize == end + 1)
    };
    let columns = numeric.iter().zip(cells.iter().zip(spans)).skip(1);
    let filled = columns.filter(|(is, (cell, _))| **is && !cell.is_empty());
    let aligned: Vec<bool> = filled.map(|(_, pair)| is_aligned(pair)).collect();
    is_named && fit(numeric, cells) && aligned.len() >= 2 && aligned.iter().all(|is| *is)
}

/// Whether only the name of a row is there.
fn is_name_alone(cells: &[GridCell]) -> bool {
    cells.iter().skip(1).all(|c| c.is_empty())
}

/// Reports a line that is no row of the table above it.
pub(super) fn note(line: u64, text: &str, notes: &mut Notes) {
    notes.add(Severity::Warning, "awr.not_a_row", Some(line), None, || {
        let text = quote(text.as_bytes());
        format!("{text} is not a row of the table above it: left out")
    });
}

/// Takes out the rows that do not fit the headings of a table, and reports them.
pub(super) fn only_fitting(grid: &Grid, notes: &mut Notes) -> Grid {
    let numeric = numeric_columns(&grid.headings);
    let fits = |row: &[GridCell]| numeric.is_empty() || (!is_name_alone(row) && fit(&numeric, row));
    let (kept, others): (Vec<_>, Vec<_>) = grid.rows.iter().partition(|(_, row)| fits(row));
    for (line, row) in &others {
        let texts: Vec<&str> = row
            .iter()
            .map(GridCell::as_str)
            .filter(|t| !t.is_empty())
            .collect();
        // A row of empty cells shows nothing that could be lost.
        if !texts.is_empty() {
            note(*line, &texts.join(" "), notes);
        }
    }
    let is_wide = |c: &GridCell| c.len() > 2 && c.bytes().all(|b| b == b'#');
    for (line, _) in kept.iter().filter(|(_, row)| row.iter().any(is_wide)) {
        notes.add(Severity::Warning, "awr.too_wide", Some(*line), None, || {
            "`####` is a number that is wider than its column: it is not in the report".to_owned()
        });
    }
    let names = grid.headings.len();
    for (line, count) in &grid.unmatched {
        notes.add(Severity::Warning, "awr.columns", Some(*line), None, || {
            format!(
                "{count} cells do not fit the {names} columns of the headings: which cell is below \
                 which heading is not known, and none is shown"
            )
        });
    }
    Grid {
        rows: kept.into_iter().cloned().collect(),
        ..grid.clone()
    }
}

/// Marks the values that a report as text cut to the width of their column: `545.`, and beside it
/// `1000`, which fills the column.
pub(super) fn mark_cut(grid: &mut Grid, spans: &[(usize, usize)], notes: &mut Notes) {
    for (column, (start, end)) in spans.iter().enumerate().skip(1) {
        let cells = || {
            grid.rows
                .iter()
                .filter_map(move |(l, row)| Some((*l, row.get(column)?)))
        };
        let is_number = |c: &GridCell| printed::plain(c).is_some();
        let Some((line, first)) = cells().find(|(_, c)| c.ends_with('.') && is_number(c)) else {
            continue;
        };
        let (width, first) = (end - start, first.text.clone());
        let heading = grid.headings.get(column).cloned().unwrap_or_default();
        let mut count = 0;
        for (_, row) in &mut grid.rows {
            if let Some(cell) = row.get_mut(column)
                && is_number(cell)
                && (cell.ends_with('.') || cell.chars().count() >= width)
            {
                cell.is_cut = true;
                count += 1;
            }
        }
        notes.add(Severity::Note, "awr.cut_values", Some(line), None, || {
            let (first, heading) = (quote(first.as_bytes()), quote(heading.as_bytes()));
            format!(
                "{count} values of the column {heading} are cut to its {width} characters, such as \
                 {first}: their last digits are lost"
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::SourceLine;

    #[test]
    fn values_of_reports_are_no_prose() {
        for value in [
            "", "1,600", ".99ms", "288.84us", "1.2E+05", "N/A", "######", "4.7T", "0.0%",
        ] {
            assert!(is_value(value), "{value}");
        }
        for prose in ["to 5 ms on", "SSD,", "12 34", "1 to 5", "E+05"] {
            assert!(!is_value(prose), "{prose}");
        }
    }

    #[test]
    fn a_row_after_prose_has_its_numbers_at_the_ends_of_the_columns() {
        let headings = ["Event", "Waits", "Total Wait Time (s)"].map(str::to_owned);
        let numeric = numeric_columns(&headings);
        assert_eq!(numeric, [false, true, true]);
        let spans = [(0, 23), (24, 30), (31, 40)];
        let row = |text: &str| super::super::ruled::slice(SourceLine::new(1, text), &spans);
        let exact = |text: &str| fit_exactly(&numeric, &spans, &row(text));
        assert!(exact("log file parallel write 100000     1,600"));
        assert!(!exact("as of 2013 it is about  5          20"));
        assert!(fit(&numeric, &row("as of 2013 it is about  5          20")));
        assert!(!fit(&numeric, &row("```")));
    }
}
