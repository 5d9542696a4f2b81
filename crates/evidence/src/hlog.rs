//! HdrHistogram interval logs (`.hlog`, in the encodings V0, V1 and V2): each interval's histogram
//! is decoded, merged by tag, and percentiles come from the merged counts, never from averages of
//! percentiles.
//!
//! The log does not name its unit. Its `Interval_Max` does, since writers print it in milliseconds
//! of nanoseconds (a ratio of 1,000,000): where that does not fit the values, no unit is guessed.

use super::head::Head;
use super::line_reader::{Facts, LineReader};
use super::lines::Line;
use super::notes::quote;
use super::origin::SourcedCell;
use super::sheets::Sheets;
use super::{Gathered, Sink, hdr};
use measure::imported::{Cell, Severity};
use measure::printed;
use std::collections::BTreeMap;

/// Distinct values of a tag that are kept.
const VALUES_MAX: usize = 1 << 18;
/// Tags that are kept.
const TAGS_MAX: usize = 64;

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
    /// First and last line.
    lines: (u64, u64),
    intervals: u64,
    seconds: f64,
    counts: BTreeMap<u64, u64>,
    max: u64,
    is_ns: bool,
    overflow: u64,
}

/// Reads one file.
#[derive(Debug)]
pub struct HlogReader {
    sheets: Sheets,
    tags: BTreeMap<String, Merged>,
    facts: Facts,
}

impl LineReader for HlogReader {
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
                    format!(
                        "{} is not an interval of a histogram log",
                        quote(line.bytes)
                    )
                });
            return;
        };
        let counts = match hdr::decode(payload) {
            Ok(decoded) => decoded.counts,
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
        let merged = self.tags.entry(tag.chars().take(60).collect()).or_default();
        let first = match merged.intervals {
            0 => line.number,
            _ => merged.lines.0,
        };
        merged.lines = (first, line.number);
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

    fn end(mut self: Box<Self>, _lines: u64, sink: &mut Sink, out: &mut Gathered) -> Facts {
        self.give(sink);
        out.yielded += self.sheets.found;
        out.tables.extend(self.sheets.into_tables(&mut sink.notes));
        self.facts
    }
}

impl HlogReader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(file: &str) -> HlogReader {
        HlogReader {
            sheets: Sheets::new(file),
            tags: BTreeMap::new(),
            facts: Facts::new(),
        }
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
            let pct = |ns: u64, formula| {
                let over = m.counts.range(ns + 1..).map(|(_, n)| *n);
                let over = over.fold(0, u64::saturating_add);
                let share = m.is_ns.then(|| 100.0 * over as f64 / count as f64);
                SourcedCell::computed(share, formula, vec!["tag".into()])
            };
            let of_tag = |cell, formula| SourcedCell::derived(cell, formula, vec!["tag".into()]);
            let quantile = |q, formula| of_tag(percentile(&m.counts, count, q), formula);
            let mean = Cell::Real(sum / count as f64);
            let row = vec![
                SourcedCell::label(tag),
                of_tag(Cell::Count(m.intervals), "count of intervals"),
                of_tag(Cell::Real(m.seconds), "sum of the lengths of intervals"),
                match m.is_ns {
                    true => SourcedCell::label("ns"),
                    false => SourcedCell::blank(),
                },
                of_tag(
                    Cell::Count(count),
                    "count of values in the decoded intervals",
                ),
                of_tag(mean, "mean of the decoded intervals"),
                quantile(0.5, "percentile 50 of the decoded intervals"),
                quantile(0.9, "percentile 90 of the decoded intervals"),
                quantile(0.99, "percentile 99 of the decoded intervals"),
                quantile(0.999, "percentile 99.9 of the decoded intervals"),
                of_tag(Cell::Count(m.max), "largest value of the decoded intervals"),
                pct(1_000_000, "100 * share of values over 1 ms"),
                pct(10_000_000, "100 * share of values over 10 ms"),
                pct(20_000_000, "100 * share of values over 20 ms"),
            ];
            self.sheets.row_of_lines(table, m.lines, row);
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
