//! What was read from evidence, for spreadsheets.
//!
//! Every text here came from a file of somebody else: it passes [`super::csv::safe`].

use super::csv::safe;
use analysis::account::findings::weight_word;
use measure::imported::Cell;
use measure::run::Run;
use std::io::{self, Write};

/// The tables as CSV, one below the other: a line with the table's name, its headings, its lines.
/// The last is of the findings, a line for each number that they are made of.
///
/// # Errors
/// An error of `out`.
pub fn tables_csv(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(out);
    let tables = run.imported.iter().flat_map(|i| &i.tables);
    for table in tables {
        let keys = table.columns.iter().map(|c| safe(&c.key));
        let head = ["table".to_owned(), "file".to_owned()];
        writer.write_record(head.into_iter().chain(keys))?;
        for row in &table.rows {
            let lead = [safe(&table.id), safe(&table.file)];
            writer.write_record(lead.into_iter().chain(row.iter().map(exact)))?;
        }
    }
    findings_csv(run, &mut writer)?;
    writer.flush()
}

fn findings_csv(run: &Run, writer: &mut csv::Writer<&mut dyn Write>) -> io::Result<()> {
    if run.findings.is_empty() {
        return Ok(());
    }
    writer.write_record(["table", "finding", "weight", "claim", "number", "value"])?;
    for f in &run.findings {
        let lead = ["findings", &f.id, weight_word(f), &f.claim].map(safe);
        let mut line = |name: &str, value: String| {
            let more = [safe(name), value];
            writer.write_record(lead.iter().chain(&more))
        };
        if f.numbers.is_empty() {
            line("", String::new())?;
        }
        for (name, value) in &f.numbers {
            line(name, value.to_string())?;
        }
    }
    Ok(())
}

fn exact(cell: &Cell) -> String {
    match cell {
        Cell::Blank => String::new(),
        Cell::Count(n) => n.to_string(),
        Cell::Real(x) => x.to_string(),
        Cell::Text(text) => safe(text),
    }
}
