//! `pg_test_fsync`: operations a second of each way to make a write durable.

use crate::import::Notes;
use crate::import::sheets::{Sheets, text};
use crate::import::value;
use measure::imported::{Cell, Severity};

/// Whether a line is its output.
pub fn opens(line: &str) -> bool {
    line.starts_with("Compare file sync methods using")
        || line.starts_with("Compare open_sync with different write sizes")
        || result(line).is_some()
}

/// `fdatasync   1234.567 ops/sec   810 usecs/op`.
fn result(line: &str) -> Option<(&str, f64, f64)> {
    let (left, right) = line.split_once("ops/sec")?;
    let us = value::plain(right.trim().strip_suffix("usecs/op")?)?;
    let left = left.trim_end();
    let (name, ops) = left.rsplit_once(char::is_whitespace)?;
    Some((
        name.trim().trim_end_matches('*').trim(),
        value::plain(ops)?,
        us,
    ))
}

/// The tests of a file.
#[derive(Debug, Default)]
pub struct Tests {
    table: Option<usize>,
    section: String,
}

impl Tests {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let trimmed = line.trim();
        let heading = trimmed.ends_with(':') && line.starts_with(|c: char| c.is_ascii_uppercase());
        if heading && trimmed.len() < 100 {
            trimmed.trim_end_matches(':').clone_into(&mut self.section);
            return;
        }
        let absent = trimmed.strip_suffix("n/a").map(str::trim).filter(|n| {
            self.section.contains("sync") && !n.is_empty() && n.len() < 40 && self.table.is_some()
        });
        let found = result(line);
        if found.is_none() && absent.is_none() {
            return;
        }
        let columns = [
            ("test", "Test"),
            ("method", "Method"),
            ("ops_per_s", "ops/sec"),
            ("us_per_op", "usecs/op"),
        ];
        let open = || sheets.open("pg_test_fsync", "pg_test_fsync", number, &columns);
        let table = *self.table.get_or_insert_with(open);
        let Some((method, ops, us)) = found else {
            sheets.row(
                table,
                vec![text(&self.section), text(absent.unwrap_or_default())],
            );
            return;
        };
        // usecs/op is rounded to a whole microsecond.
        let expected = 1e6 / ops;
        if ops > 0.0 && (us - expected).abs() > 0.5 + 0.01 * expected {
            notes.add(
                Severity::Warning,
                "fsync.not_reciprocal",
                Some(number),
                None,
                || format!("{ops} ops/sec are {expected:.1} usecs/op, not {us}"),
            );
        }
        let row = vec![
            text(&self.section),
            text(method),
            Cell::Real(ops),
            Cell::Real(us),
        ];
        sheets.row(table, row);
    }
}
