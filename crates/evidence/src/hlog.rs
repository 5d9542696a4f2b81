//! HdrHistogram interval logs (`.hlog`, in the encodings V0, V1 and V2): each interval's histogram
//! is decoded, merged by tag, and percentiles come from the merged counts, never from averages of
//! percentiles.
//!
//! The log does not name its unit. Its `Interval_Max` does, since writers print it in milliseconds
//! of nanoseconds (a ratio of 1,000,000): where that does not fit the values, no unit is guessed.

use super::gathered::Ended;
use super::kind::Head;
use super::lines::{Line, Lines};
use super::notes::quote;
use super::sheets::{Sheets, text};
use super::{Gathered, Options, Sink};
use base64::Engine as _;
use flate2::read::ZlibDecoder;
use measure::imported::{Cell, Severity};
use measure::printed;
use std::collections::BTreeMap;
use std::io::Read as _;

/// Bytes that an interval may inflate to.
const INFLATED_MAX: u64 = 4 << 20;
/// Distinct values of a tag that are kept.
const VALUES_MAX: usize = 1 << 18;
/// Tags that are kept.
const TAGS_MAX: usize = 64;
/// Cookies of the packed and of the inner form of each encoding, without the bits that tell the
/// size of a count.
const ENCODINGS: [(Encoding, u32, u32); 3] = [
    (Encoding::V2, 0x1c84_9304, 0x1c84_9303),
    (Encoding::V1, 0x1c84_9302, 0x1c84_9301),
    (Encoding::V0, 0x1c84_9309, 0x1c84_9308),
];

/// How a histogram was encoded: until HdrHistogram 2.1.2 counts were words of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    V0,
    V1,
    V2,
}

/// Whether the head is such a log.
pub(super) fn recognise(head: &Head<'_>) -> bool {
    head.has("\"Interval_Compressed_Histogram\"")
        || head.has("#[Histogram log format version")
        || head.has("#redolab.hlog/")
        || head
            .lines()
            .any(|l| fields(&String::from_utf8_lossy(&l[..l.len().min(200)])).is_some())
}

/// Tag, start, length, maximum, payload.
fn fields(line: &str) -> Option<(&str, f64, f64, f64, &str)> {
    let (tag, rest) = match line.strip_prefix("Tag=") {
        Some(rest) => rest.split_once(',')?,
        None => ("", line),
    };
    let mut parts = rest.splitn(4, ',').map(str::trim);
    let mut number = || parts.next().and_then(printed::plain);
    let (start, length, max) = (number()?, number()?, number()?);
    let payload = parts.next().filter(|p| p.starts_with("HIST"))?;
    Some((tag, start, length, max, payload))
}

#[derive(Debug, Default)]
struct Merged {
    intervals: u64,
    seconds: f64,
    counts: BTreeMap<u64, u64>,
    max: u64,
    is_ns: bool,
    overflow: u64,
}

/// Reads one file.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    state: State,
}

#[derive(Debug)]
struct State {
    sheets: Sheets,
    tags: BTreeMap<String, Merged>,
    facts: Vec<(String, String)>,
    first: u64,
}

impl Reader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(_options: &Options, file: &str) -> Reader {
        Reader {
            lines: Lines::default(),
            state: State {
                sheets: Sheets::new(file),
                tags: BTreeMap::new(),
                facts: Vec::new(),
                first: 0,
            },
        }
    }

    /// Takes the next text.
    pub fn feed(&mut self, text: &[u8], sink: &mut Sink) {
        let state = &mut self.state;
        self.lines.feed(text, |line| state.line(line, sink));
    }

    /// Ends the file.
    pub fn end(mut self, sink: &mut Sink, out: &mut Gathered) -> Ended {
        let mut state = self.state;
        let lines = self.lines.end(|line| state.line(line, sink));
        state.give(sink);
        out.yielded += state.sheets.found;
        out.tables.extend(state.sheets.into_tables(&mut sink.notes));
        Ended {
            lines,
            facts: state.facts,
        }
    }
}

impl State {
    fn line(&mut self, line: Line<'_>, sink: &mut Sink) {
        let text = String::from_utf8_lossy(line.bytes);
        let text = text.trim();
        let at = Some(line.number);
        if text.is_empty() || text.starts_with('"') {
            return;
        }
        if let Some(comment) = text.strip_prefix('#') {
            if comment.starts_with('[') && self.facts.len() < 8 {
                let said: String = comment.chars().take(200).collect();
                self.facts.push(("log".to_owned(), said));
            }
            return;
        }
        let Some((tag, _, seconds, max, payload)) = fields(text).filter(|_| !line.cut) else {
            sink.notes
                .add(Severity::Warning, "hlog.no_interval", at, None, || {
                    format!("{} is no interval of a histogram log", quote(line.bytes))
                });
            return;
        };
        let counts = match decode(payload) {
            Ok(counts) => counts,
            Err(what) => {
                sink.notes
                    .add(Severity::Error, "hlog.broken", at, None, || {
                        format!("an interval was left out: {what}")
                    });
                return;
            }
        };
        if self.tags.len() >= TAGS_MAX && !self.tags.contains_key(tag) {
            return;
        }
        self.first = self.first.max(1);
        let merged = self.tags.entry(tag.chars().take(60).collect()).or_default();
        merged.intervals += 1;
        merged.seconds += seconds;
        let mut highest = 0;
        for (value, n) in counts {
            highest = highest.max(value);
            if merged.counts.len() < VALUES_MAX || merged.counts.contains_key(&value) {
                let sum = merged.counts.entry(value).or_default();
                *sum = sum.saturating_add(n);
            } else {
                merged.overflow += n;
            }
        }
        merged.max = merged.max.max(highest);
        // Three digits of the histogram, three of the printed maximum.
        let fits = (max * 1e6 - highest as f64).abs() <= 0.002 * highest as f64 + 1000.0;
        merged.is_ns = if merged.intervals == 1 {
            fits
        } else {
            merged.is_ns && fits
        };
    }

    fn give(&mut self, sink: &mut Sink) {
        let columns = [
            ("tag", "Tag"),
            ("intervals", "Intervals"),
            ("seconds", "Seconds"),
            ("unit", "Unit"),
            ("count", "Count"),
            ("mean", "Mean"),
            ("p50", "p50"),
            ("p90", "p90"),
            ("p99", "p99"),
            ("p999", "p99.9"),
            ("max", "Max"),
            ("over_1ms_pct", "Over 1ms %"),
            ("over_10ms_pct", "Over 10ms %"),
            ("over_20ms_pct", "Over 20ms %"),
        ];
        let table = self
            .sheets
            .open("hlog", "Interval histograms, merged", 1, &columns);
        for (tag, m) in &self.tags {
            let count: u64 = m.counts.values().fold(0, |a, b| a.saturating_add(*b));
            if count == 0 {
                continue;
            }
            let sum: f64 = m.counts.iter().map(|(v, n)| *v as f64 * *n as f64).sum();
            let pct = |ns: u64| {
                let over = m
                    .counts
                    .range(ns + 1..)
                    .map(|(_, n)| *n)
                    .fold(0, u64::saturating_add);
                match m.is_ns {
                    true => Cell::Real(100.0 * over as f64 / count as f64),
                    false => Cell::Blank,
                }
            };
            let mut row = vec![
                text(tag),
                Cell::Count(m.intervals),
                Cell::Real(m.seconds),
                if m.is_ns { text("ns") } else { Cell::Blank },
                Cell::Count(count),
                Cell::Real(sum / count as f64),
            ];
            row.extend([0.5, 0.9, 0.99, 0.999].map(|q| percentile(&m.counts, count, q)));
            row.push(Cell::Count(m.max));
            row.extend([1_000_000, 10_000_000, 20_000_000].map(pct));
            self.sheets.row(table, row);
            if !m.is_ns {
                sink.notes
                    .add(Severity::Warning, "hlog.unit_unknown", None, None, || {
                        format!(
                            "the printed maxima of `{tag}` are not its values in milliseconds of \
                         nanoseconds: the unit is unknown and figures are as recorded"
                        )
                    });
            }
        }
    }
}

/// A percentile with at least ten values beyond it.
fn percentile(counts: &BTreeMap<u64, u64>, count: u64, q: f64) -> Cell {
    if (count as f64) * (1.0 - q) < 10.0 {
        return Cell::Blank;
    }
    let wanted = (count as f64 * q).ceil() as u64;
    let mut seen = 0_u64;
    for (value, n) in counts {
        seen = seen.saturating_add(*n);
        if seen >= wanted {
            return Cell::Count(*value);
        }
    }
    Cell::Blank
}

/// Values (the highest of each bucket) and counts of a payload.
fn decode(payload: &str) -> Result<Vec<(u64, u64)>, String> {
    let engine = base64::engine::general_purpose::STANDARD;
    let packed = engine
        .decode(payload.trim())
        .map_err(|e| format!("base64: {e}"))?;
    let word = |bytes: &[u8], at: usize| -> Option<u32> {
        let part = bytes.get(at..at + 4)?;
        Some(u32::from_be_bytes(part.try_into().ok()?))
    };
    let cookie = word(&packed, 0).map(|c| c & !0xf0);
    let found = ENCODINGS
        .iter()
        .find(|(_, outer, _)| Some(*outer) == cookie);
    let Some((encoding, _, inside)) = found else {
        return Err("no cookie of an encoding that is known (V0, V1, V2)".to_owned());
    };
    let mut inner = Vec::new();
    let read = ZlibDecoder::new(packed.get(8..).unwrap_or_default())
        .take(INFLATED_MAX)
        .read_to_end(&mut inner);
    read.map_err(|e| format!("deflate: {e}"))?;
    let cookie = word(&inner, 0).ok_or("cut")?;
    if cookie & !0xf0 != *inside {
        return Err("no cookie inside".to_owned());
    }
    // V0 has the precision first, and a total where later ones have a ratio; no length.
    let (digits_at, lowest_at, body_at) = match encoding {
        Encoding::V0 => (4, 8, 32),
        Encoding::V1 | Encoding::V2 => (12, 16, 40),
    };
    let digits = word(&inner, digits_at).ok_or("cut")?;
    let lowest = inner
        .get(lowest_at..lowest_at + 8)
        .and_then(|b| b.try_into().ok())
        .map(u64::from_be_bytes);
    let lowest = lowest.unwrap_or(1).max(1);
    let body = inner.get(body_at..).unwrap_or_default();
    let length = match encoding {
        Encoding::V0 => body.len(),
        _ => word(&inner, 4).ok_or("cut")? as usize,
    };
    if !(1..=5).contains(&digits) || length > body.len() {
        return Err("a length or precision that does not fit".to_owned());
    }
    let body = &body[..length];
    match encoding {
        Encoding::V2 => unfold(body, digits, lowest),
        _ => words(body, (cookie >> 4 & 0xe) as usize, digits, lowest),
    }
}

/// The highest value of the bucket of an index.
fn highest(index: u64, digits: u32, lowest: u64) -> Result<u64, String> {
    let unit = 63 - lowest.leading_zeros();
    let resolved = 2 * 10_u64.pow(digits);
    let magnitude = 64 - (resolved - 1).leading_zeros();
    let half = 1_u64 << (magnitude - 1);
    let bucket = index >> (magnitude - 1);
    let sub = index & (half - 1);
    let (power, sub) = if bucket == 0 {
        (0, sub)
    } else {
        (bucket - 1, sub + half)
    };
    let power = u32::try_from(power).unwrap_or(64) + unit;
    if power + magnitude > 64 {
        return Err("an index past 64 bits".to_owned());
    }
    Ok((sub << power) + ((1_u64 << power) - 1))
}

/// Counts of one size by index into values and counts.
fn words(body: &[u8], size: usize, digits: u32, lowest: u64) -> Result<Vec<(u64, u64)>, String> {
    if !matches!(size, 2 | 4 | 8) {
        return Err(format!("counts of {size} bytes"));
    }
    let mut out = Vec::new();
    for (index, bytes) in body.chunks_exact(size).enumerate() {
        let count = bytes.iter().fold(0_u64, |n, b| n << 8 | u64::from(*b));
        if count > 0 {
            out.push((highest(index as u64, digits, lowest)?, count));
        }
    }
    Ok(out)
}

/// ZigZag LEB128 counts by index into values and counts.
fn unfold(body: &[u8], digits: u32, lowest: u64) -> Result<Vec<(u64, u64)>, String> {
    let (mut out, mut index, mut at) = (Vec::new(), 0_u64, 0);
    while at < body.len() {
        let (mut raw, mut shift) = (0_u64, 0);
        loop {
            let Some(b) = body.get(at) else {
                return Err("a count is cut".to_owned());
            };
            at += 1;
            if shift == 56 {
                raw |= u64::from(*b) << 56;
                break;
            }
            raw |= u64::from(b & 0x7f) << shift;
            shift += 7;
            if b & 0x80 == 0 {
                break;
            }
        }
        let count = (raw >> 1) as i64 ^ -((raw & 1) as i64);
        if count < 0 {
            index = index.saturating_add(count.unsigned_abs());
            continue;
        }
        if count > 0 {
            out.push((highest(index, digits, lowest)?, count as u64));
        }
        index += 1;
    }
    Ok(out)
}
