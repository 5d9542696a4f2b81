//! The columns of `iostat` and `sar -d`, by their names in every version, and the fields that
//! they fill.

use super::iostat_stamps::sar_stamp;
use crate::origin::SourcedCell;
use crate::quick::QuickWord;
use measure::origin::TextSpan;

/// Bytes of the unit of volumes.
pub const MB: f64 = 1_048_576.0;

/// Fields of a sample, in the order of the table.
pub const FIELDS: [(&str, &str); 17] = [
    ("reads_per_s", "r/s"),
    ("writes_per_s", "w/s"),
    ("read_mb_per_s", "rMB/s"),
    ("write_mb_per_s", "wMB/s"),
    ("request_kb", "avg request kB"),
    ("write_request_kb", "avg write kB"),
    ("queue", "avg queue"),
    ("await_ms", "await ms"),
    ("read_await_ms", "r_await ms"),
    ("write_await_ms", "w_await ms"),
    ("flushes_per_s", "f/s"),
    ("flush_await_ms", "f_await ms"),
    ("service_ms", "svctm ms"),
    ("util_pct", "%util"),
    ("discards_per_s", "d/s"),
    ("transfers_per_s", "tps"),
    ("mb_per_s", "MB/s"),
];
/// Places of fields that are summed up.
pub const WRITES: usize = 1;
/// Of MB written.
pub const WRITE_MB: usize = 3;
/// Of waiting.
pub const AWAIT: usize = 7;
/// Of reads that wait.
pub const READ_AWAIT: usize = 8;
/// Of writes that wait.
pub const WRITE_AWAIT: usize = 9;
/// Of flushes that wait.
pub const FLUSH_AWAIT: usize = 11;
/// Of utilisation.
pub const UTIL: usize = 13;

/// The field of a column and the factor to its unit.
pub fn role(heading: &str) -> Option<(usize, f64)> {
    Some(match heading {
        "r/s" => (0, 1.0),
        "w/s" => (WRITES, 1.0),
        "rMB/s" | "MB_read/s" => (2, 1.0),
        "rkB/s" | "kB_read/s" => (2, 1.0 / 1024.0),
        "rsec/s" | "rd_sec/s" | "Blk_read/s" => (2, 512.0 / MB),
        "wMB/s" | "MB_wrtn/s" => (WRITE_MB, 1.0),
        "wkB/s" | "kB_wrtn/s" => (WRITE_MB, 1.0 / 1024.0),
        "wsec/s" | "wr_sec/s" | "Blk_wrtn/s" => (WRITE_MB, 512.0 / MB),
        "avgrq-sz" => (4, 0.5),
        "areq-sz" => (4, 1.0),
        "wareq-sz" => (5, 1.0),
        "avgqu-sz" | "aqu-sz" | "avqqu-sz" => (6, 1.0),
        "await" | "avwait" => (AWAIT, 1.0),
        "r_await" => (READ_AWAIT, 1.0),
        "w_await" => (WRITE_AWAIT, 1.0),
        "f/s" => (10, 1.0),
        "f_await" => (FLUSH_AWAIT, 1.0),
        "svctm" => (12, 1.0),
        "%util" | "util" => (UTIL, 1.0),
        "d/s" => (14, 1.0),
        "tps" => (15, 1.0),
        "MB/s" => (16, 1.0),
        "kB/s" => (16, 1.0 / 1024.0),
        "sec/s" => (16, 512.0 / MB),
        _ => return None,
    })
}

/// Other columns of `iostat` that are known and not kept.
pub const KNOWN: &[&str] = &[
    "rrqm/s",
    "wrqm/s",
    "drqm/s",
    "frqm/s",
    "%rrqm",
    "%wrqm",
    "%drqm",
    "%frqm",
    "rrqm",
    "wrqm",
    "drqm",
    "rareq-sz",
    "dareq-sz",
    "dkB/s",
    "dMB/s",
    "dsec/s",
    "d_await",
    "kB_dscd/s",
    "MB_dscd/s",
    "Blk_dscd/s",
    "kB_read",
    "kB_wrtn",
    "kB_dscd",
    "MB_read",
    "MB_wrtn",
    "MB_dscd",
    "Blk_read",
    "Blk_wrtn",
    "Blk_dscd",
    "rqm/s",
];

/// What every heading contains.
const NAME: QuickWord = QuickWord::exactly("Device");
/// What it contains in `sar -d`.
const SAR: QuickWord = QuickWord::exactly("DEV");

/// Whether a line is a heading of `iostat`.
pub fn is_heading(line: &str) -> bool {
    columns(line).is_some()
}

/// The columns of a heading.
pub fn columns(line: &str) -> Option<Vec<&str>> {
    let is_sar = !NAME.is_in(line.as_bytes());
    if is_sar && !SAR.is_in(line.as_bytes()) {
        return None;
    }
    let line = if is_sar { sar_stamp(line)?.1 } else { line };
    let words: Vec<&str> = line.split_whitespace().collect();
    if is_sar && words.first() != Some(&"DEV") {
        return None;
    }
    let is_device = |w: &str| matches!(w, "Device" | "Device:");
    let ends =
        words.first().is_some_and(|w| is_device(w)) || words.last().is_some_and(|w| is_device(w));
    if !(ends || is_sar) || words.len() < 3 || words.len() > 64 {
        return None;
    }
    let known = |w: &&&str| role(w).is_some() || KNOWN.contains(*w);
    (words.iter().filter(known).count() >= 2).then_some(words)
}

/// The fields of a sample, as cells.
pub type IostatFields = [SourcedCell; FIELDS.len()];

/// A value under a heading, before its unit is that of the field.
#[derive(Clone, Copy, Debug)]
pub struct IostatValue {
    /// The digits.
    pub value: f64,
    /// The factor of its suffix.
    pub scale: f64,
    /// Where it is.
    pub span: Option<TextSpan>,
}

/// A sample from values by column name; unknown names are left out.
#[must_use]
pub fn reading<'a>(pairs: impl Iterator<Item = (&'a str, IostatValue)>) -> IostatFields {
    let mut out = IostatFields::default();
    for (name, found) in pairs {
        if let Some((field, factor)) = role(name) {
            out[field] = SourcedCell::scaled(found.value, found.scale * factor, found.span);
        }
    }
    out
}
