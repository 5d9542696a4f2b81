//! The columns of a listing of event histograms: their names, where each is in a line, and the unit
//! of their labels.

use super::words;
use crate::awr::cell::GridCell;
use crate::origin::span_of_bytes;
use crate::quick::QuickWord;

/// What every heading contains, cut or not.
const LABEL: QuickWord = QuickWord::new("wait_");

/// Columns of the instance, and of the snapshot: its number or its moment.
pub(super) const INSTANCES: [&str; 5] = ["INST_ID", "INSTANCE_NUMBER", "INST", "INST#", "INSTANCE"];
pub(super) const SNAPSHOTS: [&str; 6] = [
    "SNAP_ID",
    "BEGIN_INTERVAL_TIME",
    "END_INTERVAL_TIME",
    "BEGIN_TIME",
    "END_TIME",
    "SNAP_TIME",
];

pub(super) const MS_NS: u64 = 1_000_000;
pub(super) const US_NS: u64 = 1_000;

/// The separator that a heading shows: `set colsep`, `set sqlformat csv | delimited`, tables of
/// Markdown.
fn separator(heading: &str) -> Option<u8> {
    let found = b"|;,\t".iter().find(|s| heading.as_bytes().contains(s));
    found.copied()
}

/// What the columns of a listing are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// Where each column begins and ends; empty for comma-separated values.
    pub(super) ranges: Vec<(usize, usize)>,
    pub(super) names: Vec<String>,
    /// Where each name begins and ends in the heading.
    pub(super) heads: Vec<(usize, usize)>,
    pub(super) unit_ns: u64,
    pub(super) separator: Option<u8>,
}

/// The columns that a heading names, if it is one. `unit_ns` is what the query above states: a
/// heading may be cut to `WAIT_TIME_MI`.
pub(super) fn columns(line: &[u8], unit_ns: Option<u64>) -> Option<Columns> {
    if !LABEL.is_in(line) {
        return None;
    }
    let text = upper(line);
    if text.contains("SELECT ") {
        return None;
    }
    // No name has blanks; tabs may stand for runs of them.
    let separator = separator(&text).filter(|s| *s != b'\t');
    let bare = |name: &str| name.trim().trim_matches('"').to_owned();
    let names: Vec<String> = match separator {
        Some(s) => text.split(char::from(s)).map(bare).collect(),
        None => text.split_whitespace().map(bare).collect(),
    };
    named(names, separator, unit_ns)
}

/// Where each word of a heading begins and ends.
pub(super) fn heads(line: &[u8]) -> Vec<(usize, usize)> {
    let words = line
        .split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty());
    let place = |word: &[u8]| {
        let at = (word.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
        Some((at, at + word.len()))
    };
    words.filter_map(place).collect()
}

/// The columns of these names, if buckets and counts are among them.
pub(super) fn named(
    names: Vec<String>,
    separator: Option<u8>,
    unit_ns: Option<u64>,
) -> Option<Columns> {
    let names: Vec<String> = names.iter().map(|n| whole(n, unit_ns).to_owned()).collect();
    let has = |name: &str| names.iter().any(|n| n == name);
    let unit_ns = match (has("WAIT_TIME_MILLI"), has("WAIT_TIME_MICRO")) {
        (true, false) => MS_NS,
        (false, true) => US_NS,
        _ => return None,
    };
    has("WAIT_COUNT").then_some(Columns {
        ranges: Vec::new(),
        heads: Vec::new(),
        names,
        unit_ns,
        separator,
    })
}

/// A name that SQL*Plus cut to the width of its column.
fn whole(name: &str, unit_ns: Option<u64>) -> &str {
    let cut = |of: &'static str, least: usize| of.starts_with(name) && name.len() >= least;
    match unit_ns {
        _ if cut("WAIT_TIME_MILLI", 13) => "WAIT_TIME_MILLI",
        _ if cut("WAIT_TIME_MICRO", 13) => "WAIT_TIME_MICRO",
        _ if cut("WAIT_COUNT", 6) => "WAIT_COUNT",
        Some(MS_NS) if cut("WAIT_TIME_MILLI", 9) => "WAIT_TIME_MILLI",
        Some(US_NS) if cut("WAIT_TIME_MICRO", 9) => "WAIT_TIME_MICRO",
        _ => name,
    }
}

pub(super) fn upper(line: &[u8]) -> String {
    let line = &line[..line.len().min(2000)];
    String::from_utf8_lossy(line).to_ascii_uppercase()
}

/// A line of a listing.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListingLine<'a> {
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
}

impl ListingLine<'_> {
    /// A part of the line as a field.
    pub(super) fn field(self, part: &[u8]) -> GridCell {
        GridCell {
            text: String::from_utf8_lossy(part).trim().to_owned(),
            span: span_of_bytes(self.number, self.bytes, part),
            ..GridCell::default()
        }
    }
}

/// The fields of a line by its columns: by position where the hyphens show it, else by words.
/// `above` are those of the line before it, which it may leave out.
pub(super) fn fields(
    columns: &Columns,
    line: ListingLine<'_>,
    above: Option<&[GridCell]>,
) -> Option<Vec<GridCell>> {
    let bytes = line.bytes;
    if let Some(separator) = columns.separator {
        let mut fields = separated(line, separator);
        words::repeated(columns, &mut fields, above);
        return (fields.len() == columns.names.len()).then_some(fields);
    }
    if !columns.ranges.is_empty() {
        let last = columns.ranges.len() - 1;
        let each = columns.ranges.iter().enumerate().map(|(i, (from, to))| {
            let to = if i == last { bytes.len().max(*to) } else { *to };
            line.field(bytes.get(*from..to.min(bytes.len())).unwrap_or_default())
        });
        let mut fields: Vec<GridCell> = each.collect();
        words::repeated(columns, &mut fields, above);
        return Some(fields);
    }
    words::fields(columns, line, above)
}

/// The fields of a line of separated values; a separator inside of quotes does not separate.
fn separated(line: ListingLine<'_>, separator: u8) -> Vec<GridCell> {
    let mut fields = Vec::new();
    let (mut quoted, mut from) = (false, 0);
    let mut push = |part: &[u8]| {
        let mut field = line.field(bare(part));
        field.text.retain(|c| c != '"');
        fields.push(field);
    };
    for (at, b) in line.bytes.iter().enumerate() {
        match b {
            b'"' => quoted = !quoted,
            b if *b == separator && !quoted => {
                push(&line.bytes[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    push(&line.bytes[from..]);
    fields
}

/// Without the quotes around it.
fn bare(part: &[u8]) -> &[u8] {
    match part.trim_ascii() {
        [b'"', inner @ .., b'"'] => inner,
        part => part,
    }
}
