//! The interval log: one HdrHistogram V2 log line an interval, followed by one comment line with
//! what buckets cannot keep exactly, and a CRC32C of both.
//!
//! ```text
//! #redolab.hlog/1 values in nanoseconds unless the tag says otherwise
//! Tag=log_file_sync,0.000,1.000,1249279.000,HISTFAAA…
//! #exact start_ns=0 end_ns=1000000000 count=9341 sum=… min=… max=… over=3,0,0,0 crc32c=1f2e3d4c
//! ```
//! Other tools read it as it is: to them the second line is a comment. `over` counts the values
//! over 1, 10, 20 and 500 ms. The CRC is of the first line, its newline, and the second line up
//! to the space before `crc32c`.
//!
//! Invariants: an interval counts only whole and with its CRC; a file may be read up to where it
//! was cut; damage before the last interval is an error, never skipped. Files are read as hostile:
//! bounded lines, bounded inflation, every companion checked against the buckets.

use crc_fast::{CrcAlgorithm, Digest};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use measure::histogram::Exact;
use measure::{Histogram, Nanos};
use std::io::{BufRead, Read};
use std::time::Duration;

/// First line of every file.
pub const HEADER: &str = "#redolab.hlog/1 values in nanoseconds unless the tag says otherwise\n";
/// Longest line that is read: a full histogram of three digits takes less than a tenth of it.
const LINE_MAX: u64 = 4 << 20;
/// Most values that an interval may claim, so that sums of millions of intervals stay in range.
const COUNT_MAX: u64 = 1 << 40;
/// One interval of one series.
#[derive(Clone, Debug)]
pub struct Record {
    /// The series within the file, such as `log_file_sync`.
    pub tag: String,
    /// Start on the run's clock.
    pub start: Nanos,
    /// End on the run's clock.
    pub end: Nanos,
    /// What was recorded.
    pub histogram: Histogram,
}

/// Where a file stops being readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Line of the interval, from 1.
    pub line: u64,
    /// What does not fit.
    pub what: String,
}

/// What reading a file found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HlogScan {
    /// Intervals read.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// CRC32C of the whole file.
    pub crc32c: u32,
    /// The last interval was cut, or damaged with nothing whole behind it; it was left out.
    pub cut: Option<Flaw>,
}

/// The text of one interval: two lines.
///
/// # Errors
/// When the tag cannot stand in a log line or the histogram cannot be encoded.
pub fn encode(
    tag: &str,
    start: Nanos,
    end: Nanos,
    histogram: &Histogram,
) -> Result<String, String> {
    let name = Tag::new(tag).ok_or_else(|| format!("`{tag}` cannot be a tag"))?;
    let mut line = Vec::with_capacity(1024);
    let mut serializer = V2DeflateSerializer::new();
    IntervalLogWriterBuilder::new()
        .begin_log_with(&mut line, &mut serializer)
        .map_err(|e| e.to_string())?
        .write_histogram(
            histogram.buckets(),
            Duration::from_nanos(start.0),
            Duration::from_nanos(end.since(start).0),
            Some(name),
        )
        .map_err(|e| e.to_string())?;
    let mut text = String::from_utf8(line).map_err(|e| e.to_string())?;
    let e = histogram.exact();
    let [a, b, c, d] = e.over;
    text.push_str(&format!(
        "#exact start_ns={} end_ns={} count={} sum={} min={} max={} over={a},{b},{c},{d}",
        start.0,
        end.0,
        histogram.count(),
        e.sum,
        e.min,
        e.max
    ));
    let crc = crc32c(text.as_bytes());
    text.push_str(&format!(" crc32c={crc:08x}\n"));
    Ok(text)
}

/// CRC32C (Castagnoli) of some bytes.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    narrow(crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes))
}

/// A running CRC32C.
#[must_use]
pub fn digest() -> Digest {
    Digest::new(CrcAlgorithm::Crc32Iscsi)
}

/// A digest's value.
#[must_use]
pub fn finish(digest: &Digest) -> u32 {
    narrow(digest.finalize())
}

fn narrow(crc: u64) -> u32 {
    u32::try_from(crc).expect("a 32-bit CRC fits 32 bits")
}

/// Reads a file, handing each whole interval to `visit`.
///
/// # Errors
/// A read error (line 0), a file that is not an interval log, or a damaged interval with whole
/// ones behind it. What `visit` was given before the error is sound.
pub fn scan(input: impl BufRead, visit: &mut dyn FnMut(Record)) -> Result<HlogScan, Flaw> {
    let mut lines = Lines::new(input);
    let mut records = 0;
    let mut flaw: Option<Flaw> = None;
    match lines.next()? {
        None => flaw = Some(lines.flaw("the file is empty")),
        Some(line) if line == HEADER.as_bytes() => {}
        Some(line) if HEADER.as_bytes().starts_with(&line) => {
            flaw = Some(lines.flaw("cut in the first line"));
        }
        Some(line) if line.starts_with(b"#redolab.hlog/") => {
            return Err(lines.flaw("an interval log of another version"));
        }
        Some(_) => return Err(lines.flaw("not an interval log of redolab")),
    }
    let mut pending: Option<Vec<u8>> = None;
    while let Some(line) = lines.next()? {
        let Some(first) = pending.take() else {
            if line.starts_with(b"Tag=") {
                pending = Some(line);
            } else if flaw.is_none() {
                flaw = Some(lines.flaw("neither an interval nor its companion"));
            }
            continue;
        };
        match decode(&first, &line) {
            Ok(record) => {
                if let Some(earlier) = flaw {
                    return Err(earlier);
                }
                records += 1;
                visit(record);
            }
            Err(what) => {
                flaw = flaw.or_else(|| Some(lines.flaw(&what)));
                // A damaged companion must not swallow the interval behind it.
                if line.starts_with(b"Tag=") {
                    pending = Some(line);
                }
            }
        }
    }
    if pending.is_some() {
        flaw = flaw.or_else(|| Some(lines.flaw("cut before its companion line")));
    }
    Ok(HlogScan {
        records,
        bytes: lines.bytes,
        crc32c: finish(&lines.digest),
        cut: flaw,
    })
}

/// Lines with their newline, bounded, counted and summed.
struct Lines<R> {
    input: R,
    number: u64,
    bytes: u64,
    digest: Digest,
}

impl<R: BufRead> Lines<R> {
    fn new(input: R) -> Lines<R> {
        let digest = digest();
        Lines {
            input,
            number: 0,
            bytes: 0,
            digest,
        }
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Flaw> {
        let mut line = Vec::new();
        let read = (&mut self.input)
            .take(LINE_MAX)
            .read_until(b'\n', &mut line)
            .map_err(|e| Flaw {
                line: 0,
                what: e.to_string(),
            })?;
        self.number += 1;
        self.bytes += read as u64;
        self.digest.update(&line);
        if read as u64 == LINE_MAX {
            return Err(self.flaw("a line longer than any histogram"));
        }
        Ok((read > 0).then_some(line))
    }

    fn flaw(&self, what: &str) -> Flaw {
        Flaw {
            line: self.number,
            what: what.to_owned(),
        }
    }
}

/// Two lines into a record.
fn decode(first: &[u8], second: &[u8]) -> Result<Record, String> {
    let cut = || "the interval is cut".to_owned();
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| "not text".to_owned());
    let first = text(first)?.strip_suffix('\n').ok_or_else(cut)?;
    let second = text(second)?.strip_suffix('\n').ok_or_else(cut)?;
    let (body, stated) = second
        .rsplit_once(" crc32c=")
        .ok_or("no companion line with a CRC behind the interval")?;
    let mut sum = digest();
    sum.update(first.as_bytes());
    sum.update(b"\n");
    sum.update(body.as_bytes());
    let found = format!("{:08x}", finish(&sum));
    if stated != found {
        return Err(format!("CRC32C is {found}, the file states {stated}"));
    }
    let (tag, rest) = first
        .strip_prefix("Tag=")
        .and_then(|t| t.split_once(','))
        .ok_or("no tag")?;
    if !crate::folder::is_name(tag) {
        return Err("a tag outside the rule for names".to_owned());
    }
    let (_, encoded) = rest.rsplit_once(',').ok_or("no histogram")?;
    let companion = Companion::parse(body)?;
    let buckets = decode_buckets(encoded)?;
    companion.check(&buckets)?;
    Ok(Record {
        tag: tag.to_owned(),
        start: Nanos(companion.start),
        end: Nanos(companion.end),
        histogram: Histogram::from_parts(buckets, companion.exact),
    })
}

/// The exact companion of an interval.
struct Companion {
    start: u64,
    end: u64,
    count: u64,
    exact: Exact,
}

impl Companion {
    fn parse(body: &str) -> Result<Companion, String> {
        let mut words = body
            .strip_prefix("#exact ")
            .ok_or("no #exact line behind the interval")?
            .split(' ');
        let mut field = |key: &str| {
            words
                .next()
                .and_then(|w| w.strip_prefix(key))
                .and_then(|w| w.strip_prefix('='))
                .ok_or_else(|| format!("#exact has no {key}"))
        };
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| format!("`{text}`: no number"))
        };
        let (start, end) = (number(field("start_ns")?)?, number(field("end_ns")?)?);
        let count = number(field("count")?)?;
        let sum = field("sum")?;
        let sum: u128 = sum.parse().map_err(|_| format!("`{sum}`: no number"))?;
        let (min, max) = (number(field("min")?)?, number(field("max")?)?);
        let mut over = [0_u64; 4];
        let mut parts = field("over")?.split(',');
        for slot in &mut over {
            *slot = number(parts.next().ok_or("#exact: over has four numbers")?)?;
        }
        if parts.next().is_some() || words.next().is_some() || start > end {
            return Err("#exact has more than its fields, or ends before it starts".to_owned());
        }
        let exact = Exact {
            sum,
            min,
            max,
            over,
        };
        Ok(Companion {
            start,
            end,
            count,
            exact,
        })
    }

    /// What is kept exactly cannot contradict the buckets.
    fn check(&self, buckets: &hdrhistogram::Histogram<u64>) -> Result<(), String> {
        let e = &self.exact;
        let count = u128::from(self.count);
        let fits = self.count == buckets.len()
            && self.count <= COUNT_MAX
            && e.min <= e.max
            && e.sum >= count * u128::from(e.min)
            && e.sum <= count * u128::from(e.max)
            && e.over.is_sorted_by(|a, b| a >= b)
            && e.over.iter().all(|n| *n <= self.count);
        if fits {
            Ok(())
        } else {
            Err("count, sum, minimum, maximum and buckets contradict each other".to_owned())
        }
    }
}

/// The buckets of an encoded histogram, of our precision, with a count that fits 64 bits.
fn decode_buckets(encoded: &str) -> Result<hdrhistogram::Histogram<u64>, String> {
    let decoded = evidence::hdr::decode(encoded)?;
    if decoded.digits != u32::from(measure::histogram::DIGITS) {
        return Err(format!("a histogram of {} digits", decoded.digits));
    }
    let mut counts = decoded.counts.iter().map(|(_, count)| *count);
    let total = counts.try_fold(0_u64, |sum: u64, count| sum.checked_add(count));
    total.ok_or("counts beyond 64 bits")?;
    let mut buckets =
        hdrhistogram::Histogram::new(measure::histogram::DIGITS).map_err(|e| e.to_string())?;
    buckets.auto(true);
    // The highest first: memory for the buckets is taken once.
    for (value, count) in decoded.counts.iter().rev() {
        let recorded = buckets.record_n(*value, *count);
        recorded.map_err(|e| e.to_string())?;
    }
    Ok(buckets)
}
