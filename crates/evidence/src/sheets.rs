//! Tables that readers of listings fill, with a bound on what is kept of a file.

use super::Notes;
use super::tables::column;
use measure::imported::{Cell, Severity, Table};

/// Tables of a file that are kept.
const TABLES_MAX: usize = 1000;
/// Cells of a file that are kept.
const CELLS_MAX: usize = 400_000;
/// Characters of a text cell.
const TEXT_MAX: usize = 200;

/// The tables of one file.
#[derive(Debug, Default)]
pub struct Sheets {
    file: String,
    tables: Vec<Table>,
    cells: usize,
    dropped: u64,
    /// Rows, kept or not.
    pub found: u64,
}

impl Sheets {
    /// None yet, of the file of that name.
    #[must_use]
    pub fn new(file: &str) -> Sheets {
        Sheets {
            file: file.to_owned(),
            ..Sheets::default()
        }
    }

    /// Begins a table: columns are our keys and the evidence's headings.
    pub fn open(&mut self, id: &str, title: &str, line: u64, columns: &[(&str, &str)]) -> usize {
        if self.tables.len() < TABLES_MAX {
            self.tables.push(Table {
                id: id.to_owned(),
                title: short(title),
                file: self.file.clone(),
                line: Some(line),
                columns: columns.iter().map(|(k, h)| column(k, &short(h))).collect(),
                rows: Vec::new(),
            });
            return self.tables.len() - 1;
        }
        usize::MAX
    }

    /// Adds a line to a table; what is missing is blank.
    pub fn row(&mut self, table: usize, mut cells: Vec<Cell>) {
        self.found += 1;
        match self.tables.get_mut(table) {
            Some(t) if self.cells < CELLS_MAX => {
                cells.resize(t.columns.len(), Cell::Blank);
                self.cells += cells.len();
                t.rows.push(cells);
            }
            _ => self.dropped += 1,
        }
    }

    /// The tables so far.
    #[must_use]
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The tables that hold something.
    #[must_use]
    pub fn into_tables(self, notes: &mut Notes) -> Vec<Table> {
        if self.dropped > 0 {
            notes.add(Severity::Warning, "listing.too_long", None, None, || {
                format!(
                    "{} lines of tables were not kept: the file has too many",
                    self.dropped
                )
            });
        }
        self.tables
            .into_iter()
            .filter(|t| !t.rows.is_empty())
            .collect()
    }
}

/// Text of the evidence for a cell.
#[must_use]
pub fn text(text: &str) -> Cell {
    Cell::Text(short(text))
}

fn short(text: &str) -> String {
    text.trim().chars().take(TEXT_MAX).collect()
}
