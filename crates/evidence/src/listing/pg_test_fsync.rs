//! `pg_test_fsync`: operations per second of each way to make a write durable.

use crate::Notes;
use crate::number::decimal;
use crate::origin::{SourceLine, SourcedCell};
use crate::quick::{QuickWord, has_any};
use crate::sheets::Sheets;
use measure::imported::Severity;
use measure::printed;

/// Whether a line is its output.
pub fn opens(line: &str) -> bool {
    line.starts_with("Compare file sync methods using")
        || line.starts_with("Compare open_sync with different write sizes")
        || result(line).is_some_and(|found| METHODS.iter().any(|m| found.method.contains(m)))
}

const METHODS: &[&str] = &["open_datasync", "fdatasync", "fsync", "open_sync"];

/// `fdatasync   1234.567 ops/sec   810 usecs/op`, without the last two to 9.2, in the words
/// of other languages (`1234,567 Op./s   810 µs/Op.`), or `8k write, fsync  1101.2/second` of
/// 8.4.
fn result(line: &str) -> Option<TestResult<'_>> {
    if line.len() > 200 || !has_any(line, &[QuickWord::new("/s")]) {
        return None;
    }
    let number = |w: &str| printed::plain(&decimal(w));
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
    let us = words.get(behind).and_then(|w| Some((*w, number(w)?)));
    let name = line.split(words[at]).next().unwrap_or_default();
    // The heading may be glued to its first line.
    let name = name.trim();
    let ends = |m: &&&str| name.ends_with(**m) && name.len() > 2 * m.len() + 20;
    let method = METHODS.iter().find(ends).map_or(name.len(), |m| m.len());
    let name = name.get(name.len() - method..).unwrap_or(name);
    Some(TestResult {
        method: name.trim().trim_end_matches('*').trim(),
        ops: (words[at].trim_end_matches("/second"), ops),
        us,
    })
}

/// What a line says: figures with their words.
struct TestResult<'a> {
    method: &'a str,
    ops: (&'a str, f64),
    us: Option<(&'a str, f64)>,
}

/// The tests of a file.
#[derive(Debug, Default)]
pub struct Tests {
    table: Option<usize>,
    section: SourcedCell,
}

impl Tests {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let trimmed = line.trim();
        let source = SourceLine::new(number, line);
        let heading =
            trimmed.ends_with(':') && trimmed.starts_with(|c: char| c.is_ascii_uppercase());
        if heading && trimmed.len() < 100 {
            self.section = source.text(trimmed.trim_end_matches(':'));
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
        let section = self.section.clone();
        let Some(found) = found else {
            let absent = source.text(absent.unwrap_or_default());
            sheets.sourced_row(table, number, vec![section, absent]);
            return;
        };
        let (shown, ops) = found.ops;
        // usecs/op is rounded to a whole microsecond.
        let expected = 1e6 / ops;
        if let Some((_, us)) = found.us
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
        let us = match found.us {
            Some((word, us)) => source.scaled(word, us, 1.0),
            None => {
                let implied = (ops > 0.0).then_some(expected);
                SourcedCell::computed(implied, "1000000 / ops_per_s", vec!["ops_per_s".into()])
            }
        };
        let row = vec![
            section,
            source.text(found.method),
            source.scaled(shown, ops, 1.0),
            us,
        ];
        sheets.sourced_row(table, number, row);
    }
}
