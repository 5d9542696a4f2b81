//! Tables of platforms, as study 003 prints them: a heading with a part of the platform (`Storage`)
//! and the names of the platforms, and a line for each property, separated by tabs.

use crate::awr::cell::GridCell;
use crate::origin::SourceLine;
use crate::sheets::Sheets;

/// Parts of a platform that a heading begins with.
const PARTS: &[&str] = &[
    "storage",
    "server",
    "servers",
    "database server",
    "software",
    "database software",
    "peakmarks® software",
];
/// Platforms of a table.
const PLATFORMS_MAX: usize = 16;

/// Whether a line begins such a table.
pub fn opens(line: &str) -> bool {
    heading(SourceLine::new(0, line)).is_some()
}

fn heading(line: SourceLine<'_>) -> Option<(GridCell, Vec<GridCell>)> {
    let mut cells = cells(line)?;
    let part = cells.remove(0);
    let is_part = PARTS.contains(&part.to_lowercase().as_str());
    let is_name = |c: &GridCell| c.chars().any(char::is_alphabetic);
    (is_part && cells.len() >= 2 && cells.iter().all(is_name)).then_some((part, cells))
}

fn cells(line: SourceLine<'_>) -> Option<Vec<GridCell>> {
    if !line.text.contains('\t') {
        return None;
    }
    let cells = line.text.split('\t').map(|c| GridCell::of(line, c));
    let cells: Vec<GridCell> = cells.collect();
    let named = cells.first().is_some_and(|c| !c.is_empty());
    (named && (2..=PLATFORMS_MAX).contains(&cells.len())).then_some(cells)
}

/// The tables of platforms of a file.
#[derive(Debug, Default)]
pub struct Platforms {
    open: Option<(GridCell, Vec<GridCell>)>,
    table: Option<usize>,
}

impl Platforms {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let source = SourceLine::new(number, line);
        if let Some(found) = heading(source) {
            self.open = Some(found);
            return;
        }
        let Some((part, names)) = &self.open else {
            return;
        };
        let row = cells(source).filter(|cells| cells.len() == names.len() + 1);
        let Some(row) = row else {
            self.open = None;
            return;
        };
        let table = *self.table.get_or_insert_with(|| {
            let columns = [
                ("platform", "Platform"),
                ("part", "Part"),
                ("property", "Property"),
                ("value", "Value"),
            ];
            sheets.open("platforms", "Published: platforms", number, &columns)
        });
        for (name, value) in names.iter().zip(&row[1..]) {
            let cells = [name, part, &row[0], value];
            sheets.sourced_row(table, number, cells.map(GridCell::sourced).to_vec());
        }
    }
}
