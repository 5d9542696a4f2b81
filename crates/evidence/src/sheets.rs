//! Tables that readers of listings fill, with a bound on what is kept of a file.

use super::Notes;
use super::origin::{SourcedCell, apart, short};
use super::tables::column;
use measure::imported::{Cell, Severity, Table};
use measure::origin::RowOrigin;

/// Tables of a file that are kept.
const TABLES_MAX: usize = 1000;
/// Cells of a file that are kept.
const CELLS_MAX: usize = 400_000;

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
                ..Table::default()
            });
            return self.tables.len() - 1;
        }
        usize::MAX
    }

    /// Adds a row of the line of that number; what is missing is blank. Cells with numbers have an
    /// origin: [`Sheets::sourced_row`] takes it.
    pub fn row(&mut self, table: usize, line: u64, mut cells: Vec<Cell>) {
        if let Some(t) = self.room(table) {
            cells.resize(t.columns.len(), Cell::Blank);
            t.origins.push(RowOrigin {
                lines: (line, line),
                ..RowOrigin::default()
            });
            t.rows.push(cells);
        }
    }

    /// Adds a row whose cells have origins. Its lines are those of the cells, and `line`.
    pub fn sourced_row(&mut self, table: usize, line: u64, cells: Vec<SourcedCell>) {
        self.row_of_lines(table, (line, line), cells);
    }

    /// Adds a row that sums up these lines.
    pub fn row_of_lines(&mut self, table: usize, lines: (u64, u64), cells: Vec<SourcedCell>) {
        if let Some(t) = self.room(table) {
            let (cells, origin) = apart(cells, lines, t);
            t.rows.push(cells);
            t.origins.push(origin);
        }
    }

    /// The table, if it takes one more row.
    fn room(&mut self, table: usize) -> Option<&mut Table> {
        self.found += 1;
        match self.tables.get_mut(table) {
            Some(t) if self.cells < CELLS_MAX => {
                self.cells += t.columns.len();
                Some(t)
            }
            _ => {
                self.dropped += 1;
                None
            }
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
