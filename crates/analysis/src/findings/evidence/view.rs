//! Looking into the tables of an import by id and column key.

use measure::imported::{Cell, Table};

/// The tables of an import.
#[derive(Clone, Copy, Debug)]
pub(in crate::findings) struct Tables<'a>(pub(in crate::findings) &'a [Table]);

/// A line of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    table: &'a Table,
    cells: &'a [Cell],
}

impl<'a> Tables<'a> {
    /// Every table of that id.
    pub(in crate::findings) fn of(self, id: &'a str) -> impl Iterator<Item = &'a Table> + use<'a> {
        self.0.iter().filter(move |t| t.id == id)
    }

    /// The lines of every table of that id.
    pub(in crate::findings) fn lines(
        self,
        id: &'a str,
    ) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.of(id).flat_map(lines)
    }
}

/// The lines of a table.
pub(crate) fn lines(table: &Table) -> impl Iterator<Item = Line<'_>> {
    table.rows.iter().map(move |cells| Line { table, cells })
}

/// `file:line` of a table.
pub(in crate::findings) fn place(table: &Table) -> String {
    match table.line {
        Some(line) => format!("{}:{line}", table.file),
        None => table.file.clone(),
    }
}

impl<'a> Line<'a> {
    /// The table it stands in.
    pub(in crate::findings) fn table(&self) -> &'a Table {
        self.table
    }

    fn cell(&self, key: &str) -> Option<&'a Cell> {
        let at = self.table.columns.iter().position(|c| c.key == key)?;
        self.cells.get(at)
    }

    /// The number of a column.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        match self.cell(key)? {
            Cell::Count(n) => Some(*n as f64),
            Cell::Real(x) if x.is_finite() => Some(*x),
            _ => None,
        }
    }

    /// The text of a column; empty where there is none.
    pub(crate) fn text(&self, key: &str) -> &'a str {
        match self.cell(key) {
            Some(Cell::Text(text)) => text,
            _ => "",
        }
    }
}

/// A number in as many digits as tell something.
pub(in crate::findings) fn show(x: f64) -> String {
    let magnitude = x.abs();
    if magnitude >= 1000.0 {
        crate::format::digits(x)
    } else if magnitude >= 100.0 {
        format!("{x:.1}")
    } else if magnitude >= 1.0 || x == 0.0 {
        format!("{x:.2}")
    } else {
        format!("{x:.3}")
    }
}

/// A window in words.
pub(in crate::findings) fn duration(seconds: f64) -> String {
    if seconds >= 5400.0 {
        format!("{:.2} h", seconds / 3600.0)
    } else if seconds >= 90.0 {
        format!("{:.1} min", seconds / 60.0)
    } else {
        format!("{seconds:.1} s")
    }
}
