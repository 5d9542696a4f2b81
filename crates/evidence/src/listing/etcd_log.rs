//! Warnings of etcd that a sync of its log took long: `wal: sync duration of 1.13s, expected less
//! than 1s` of releases to 3.3, and the JSON of later ones. Shorter syncs are in no line, so that
//! they are a list and no distribution.

use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::imported::Cell;
use measure::origin::OriginInput;

/// What such a line has.
const TEXT: &str = "wal: sync duration of ";
const JSON: &str = "\"slow fdatasync\"";
const ID: &str = "etcd_slow_syncs";

/// Whether a line is such a warning.
pub fn opens(line: &str) -> bool {
    warning(SourceLine::new(1, line)).is_some()
}

/// When, how long in milliseconds, and what etcd expected.
fn warning(source: SourceLine<'_>) -> Option<[SourcedCell; 3]> {
    let line = source.text;
    if line.len() > 2000 {
        return None;
    }
    if let Some((head, rest)) = line.split_once(TEXT) {
        let (took, expected) = rest.split_once(", expected less than ")?;
        // `2018-10-25 16:20:35.185438 W | `, or what a journal adds before it.
        let at = head
            .trim_end_matches([' ', '|'])
            .trim_end_matches("W")
            .trim_end();
        let at = at.rsplit_once(": ").map_or(at, |(_, own)| own);
        return Some([
            source.text(at),
            duration(took, source)?,
            duration(expected, source)?,
        ]);
    }
    if !line.contains(JSON) {
        return None;
    }
    let value = |key: &str| {
        let (_, rest) = line.split_once(&format!("\"{key}\":\""))?;
        rest.split('"').next()
    };
    let took = duration(value("took")?, source)?;
    let expected = value("expected-duration").and_then(|e| duration(e, source));
    Some([
        source.text(value("ts").unwrap_or_default()),
        took,
        expected.unwrap_or_default(),
    ])
}

/// A duration as Go prints it, in milliseconds: `1.134771573s`, `850.5ms`, `1m2.5s`.
fn duration(text: &str, source: SourceLine<'_>) -> Option<SourcedCell> {
    let text = text.trim();
    let number = |word: &str| {
        let is_plain = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        word.parse::<f64>().ok().filter(|_| is_plain)
    };
    let units = [
        ("ms", 1.0),
        ("µs", 1e-3),
        ("us", 1e-3),
        ("ns", 1e-6),
        ("s", 1e3),
    ];
    let (word, unit) = units
        .iter()
        .find_map(|(u, ms)| Some((text.strip_suffix(u)?, *ms)))?;
    let Some((minutes, seconds)) = word.split_once('m') else {
        return Some(source.scaled(text, number(word)?, unit));
    };
    let ms = 60_000.0 * number(minutes)? + unit * number(seconds)?;
    let inputs = [minutes, seconds]
        .into_iter()
        .filter_map(|w| source.span(w));
    let inputs = inputs.map(OriginInput::Span).collect();
    Some(SourcedCell::computed(
        Some(ms),
        "60000 * a + 1000 * b",
        inputs,
    ))
}

/// The warnings of a file.
#[derive(Debug, Default)]
pub struct EtcdLog {
    table: Option<usize>,
    count: u64,
    longest: Option<(f64, [SourcedCell; 2], u64)>,
    total_ms: f64,
}

impl EtcdLog {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let Some([at, took, expected]) = warning(SourceLine::new(number, line)) else {
            return;
        };
        let columns = [
            ("time", "Time"),
            ("took_ms", "Took ms"),
            ("expected_ms", "Expected ms"),
        ];
        let title = "etcd: syncs of its log that took longer than it expected";
        let open = || sheets.open(ID, title, number, &columns);
        let table = *self.table.get_or_insert_with(open);
        let ms = match took.cell {
            Cell::Real(ms) => ms,
            _ => 0.0,
        };
        self.count += 1;
        self.total_ms += ms;
        if self
            .longest
            .as_ref()
            .is_none_or(|(longest, ..)| ms > *longest)
        {
            self.longest = Some((ms, [took.clone(), at.clone()], number));
        }
        sheets.sourced_row(table, number, vec![at, took, expected]);
    }

    /// Gives their number, their sum and the longest.
    pub fn end(&mut self, sheets: &mut Sheets) {
        let Some((_, [longest, at], number)) = self.longest.take() else {
            return;
        };
        let columns = [
            ("syncs", "Syncs"),
            ("total_ms", "Total ms"),
            ("max_ms", "Longest ms"),
            ("max_at", "Longest at"),
        ];
        let title = "etcd: slow syncs of its log in short";
        let table = sheets.open("etcd_slow_syncs_summary", title, number, &columns);
        let inputs = || vec![format!("{ID}.all.took_ms").into()];
        let count = SourcedCell::derived(Cell::Count(self.count), "count of a", inputs());
        let total = SourcedCell::computed(Some(self.total_ms), "sum of a", inputs());
        sheets.sourced_row(table, number, vec![count, total, longest, at]);
        sheets.found -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_every_unit_and_lines_of_both_forms() {
        let ms = |text: &str| match duration(text, SourceLine::new(1, text))?.cell {
            Cell::Real(ms) => Some(ms),
            _ => None,
        };
        assert_eq!(ms("1.5s"), Some(1500.0));
        assert_eq!(ms("850.5ms"), Some(850.5));
        assert_eq!(ms("1m2.5s"), Some(62_500.0));
        assert_eq!((ms("x1s"), ms("1"), ms("-1s")), (None, None, None));
        let at = |line: &str| Some(warning(SourceLine::new(1, line))?[0].cell.clone());
        let text = |text: &str| Some(Cell::Text(text.to_owned()));
        assert_eq!(
            at("2018-10-25 16:20:35.1 W | wal: sync duration of 1.1s, expected less than 1s"),
            text("2018-10-25 16:20:35.1")
        );
        assert_eq!(
            at(
                "{\"level\":\"warn\",\"ts\":\"2021-03-04T05:06:07.8Z\",\"msg\":\"slow fdatasync\",\
                \"took\":\"1.2s\",\"expected-duration\":\"1s\"}"
            ),
            text("2021-03-04T05:06:07.8Z")
        );
        assert_eq!(at("wal: sync duration of about a second is long"), None);
    }
}
