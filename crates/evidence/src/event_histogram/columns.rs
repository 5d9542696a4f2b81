//! The columns of a listing of event histograms: their names, where each is in a line, and the unit
//! of their labels.

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
