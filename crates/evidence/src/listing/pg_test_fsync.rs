//! `pg_test_fsync`: operations per second of each way to make a write durable.

use crate::Notes;
use crate::quick::{QuickWord, has_any};
use crate::sheets::{Sheets, text};
use measure::imported::{Cell, Severity};
use measure::printed;

/// Whether a line is its output.
pub fn opens(line: &str) -> bool {
    line.starts_with("Compare file sync methods using")
        || line.starts_with("Compare open_sync with different write sizes")
        || result(line).is_some_and(|(name, _, _)| METHODS.iter().any(|m| name.contains(m)))
}

const METHODS: &[&str] = &["open_datasync", "fdatasync", "fsync", "open_sync"];

/// `fdatasync   1234.567 ops/sec   810 usecs/op`, without the last two to 9.2, in the words
/// of other languages (`1234,567 Op./s   810 µs/Op.`), or `8k write, fsync  1101.2/second` of
/// 8.4.
fn result(line: &str) -> Option<(String, f64, Option<f64>)> {
    if line.len() > 200 || !has_any(line, &[QuickWord::new("/s")]) {
        return None;
    }
    // It groups no digits: a comma is the decimal mark.
    let number = |w: &str| printed::plain(&w.replace(',', "."));
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_rate = |w: &str| {
        let small = w.to_lowercase();
        small.starts_with("op") && small.contains("/s")
    };
    let glued = |w: &str| number(w.strip_suffix("/second")?);
    let (at, ops, behind) = words.iter().enumerate().skip(1).find_map(|(i, w)| {
        if let Some(ops) = glued(w) {
            return Some((i, ops, i + 1));
        }
        let rate = words.get(i + 1).is_some_and(|u| is_rate(u));
        Some((i, number(w).filter(|_| rate)?, i + 2))
    })?;
    let us = words.get(behind).and_then(|w| number(w));
    let name = line.split(words[at]).next().unwrap_or_default();
    Some((name.trim().trim_end_matches('*').trim().to_owned(), ops, us))
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
        let absent = trimmed
            .trim_end_matches('*')
            .strip_suffix("n/a")
            .map(str::trim)
            .filter(|n| METHODS.iter().any(|m| n.contains(m)) && n.len() < 40);
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
        let us = us.or((ops > 0.0).then_some(expected));
        if let Some(us) = us
            && ops > 0.0
            && (us - expected).abs() > 0.5 + 0.01 * expected
        {
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
            text(&method),
            Cell::Real(ops),
            us.map_or(Cell::Blank, Cell::Real),
        ];
        sheets.row(table, row);
    }
}
