//! Importing texts, and looking into the tables of what came of it. The tests of the consistency
//! rules (`crates/redolab/tests/consistency`) include this file.

use evidence::{Import, ImportRefusal, Kind, Options, Outcome};
use measure::imported::{Cell, Table};

/// Imports texts, each in chunks of `step` bytes.
pub fn import_in(
    texts: &[&[u8]],
    step: usize,
    kind: Option<Kind>,
) -> Result<Outcome, ImportRefusal> {
    let mut import = Import::new(Options {
        kind,
        ..Options::default()
    });
    for (i, text) in texts.iter().enumerate() {
        let mut reading = import.open(&format!("f{i}"), "");
        for chunk in text.chunks(step.max(1)) {
            reading.feed(chunk)?;
        }
        import.close(reading).1?;
    }
    Ok(import.finish())
}

/// Imports texts that have to be evidence.
pub fn import(texts: &[&str]) -> Outcome {
    let bytes: Vec<&[u8]> = texts.iter().map(|t| t.as_bytes()).collect();
    import_in(&bytes, usize::MAX, None).unwrap_or_else(|e| panic!("{e}\n{}", texts.join("\n---\n")))
}

/// The first table of an id.
pub fn table<'a>(outcome: &'a Outcome, id: &str) -> &'a Table {
    let found = outcome.imported.tables.iter().find(|t| t.id == id);
    found.unwrap_or_else(|| {
        let ids: Vec<&str> = outcome
            .imported
            .tables
            .iter()
            .map(|t| t.id.as_str())
            .collect();
        panic!("no table {id}: {ids:?}")
    })
}

/// A number of a table.
pub fn number(table: &Table, row: usize, key: &str) -> f64 {
    match cell(table, row, key) {
        Cell::Count(n) => *n as f64,
        Cell::Real(x) => *x,
        other => panic!("{key} of line {row} is {other:?}"),
    }
}

/// A cell of a table.
pub fn cell<'a>(table: &'a Table, row: usize, key: &str) -> &'a Cell {
    let at = table.columns.iter().position(|c| c.key == key);
    &table.rows[row][at.unwrap_or_else(|| panic!("no column {key}"))]
}
