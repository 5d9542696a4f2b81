//! Histograms of eBPF tools, as bcc (biolatency, ext4dist, xfsdist) and bpftrace print them, also
//! inside of prose: each bucket with its bounds. They double, so that nothing between two bounds is
//! known. The tools do not run here: the layouts are those of their documented examples.
//!
//! A label or a time belongs to one run: a prompt or the line that a tool prints at its start ends
//! it. Buckets that have no heading, and the dictionaries of `-j`, are passed over by name.

use crate::Notes;
use crate::notes::quote;
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::imported::Severity;

/// The unit of a heading of bcc: `     usecs           : count     distribution`.
fn heading(line: &str) -> Option<&str> {
    let (unit, rest) = line.trim_start().split_once(' ')?;
    let rest = rest.trim_start().strip_prefix(':')?;
    let mut words = rest.split_whitespace();
    let is_heading = words.next() == Some("count") && words.next() == Some("distribution");
    (is_heading && matches!(unit, "nsecs" | "usecs" | "msecs" | "secs")).then_some(unit)
}

/// `@usecs:` and `@usecs[fsync]:`.
fn map_name(line: &str) -> Option<&str> {
    let name = line.trim_end().strip_suffix(':')?;
    let begins = name.strip_prefix('@')?;
    let plain = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '[' | ']' | ',' | ' ' | '/' | '-' | '.')
    };
    (begins.len() < 100 && begins.chars().all(plain)).then_some(name)
}

/// Whether a line begins or continues such a histogram.
pub fn opens(line: &str) -> bool {
    heading(line).is_some() || interval(line).is_some()
}

/// A bound: its word, its digits and their factor.
type Bound<'a> = (&'a str, f64, f64);

/// Bounds of a bucket, `None` where it is open; and the word of the count.
struct Bucket<'a> {
    from: Option<Bound<'a>>,
    to: Option<Bound<'a>>,
    /// The upper bound is the last value of the bucket, not the first behind it.
    is_closed: bool,
    count: &'a str,
}

/// `   128 -> 255        : 12       |****  |`; of linear histograms `  8   : 12   |***|`. Its
/// upper bound is the last value of the bucket.
fn row(line: &str) -> Option<Bucket<'_>> {
    let (bounds, rest) = line.split_once(':')?;
    let (count, bar) = rest.split_once('|')?;
    let count = count.trim();
    let (from, to) = bounds.split_once("->").unwrap_or((bounds, bounds));
    let (from, to) = (from.trim(), to.trim());
    let whole = |w: &str| w.parse::<u64>().ok().map(|n| n as f64);
    whole(count).filter(|_| bar.trim_end().ends_with('|'))?;
    Some(Bucket {
        from: Some((from, whole(from)?, 1.0)),
        to: Some((to, whole(to)?, 1.0)),
        is_closed: true,
        count,
    })
}

/// `[64, 128)            12 |@@@@      |`, with `K`, `M` and `G` of 1024; `[5]` is one value,
/// `(..., 0)` and `[1000, ...)` are open.
fn interval(line: &str) -> Option<Bucket<'_>> {
    let rest = line.trim_start().strip_prefix(['[', '('])?;
    let end = rest.find([')', ']'])?;
    let (bounds, rest) = (&rest[..end], &rest[end + 1..]);
    let (count, bar) = rest.split_once('|')?;
    let count = count.trim();
    count
        .parse::<u64>()
        .ok()
        .filter(|_| bar.trim_end().ends_with('|'))?;
    let (from, to) = bounds.split_once(',').unwrap_or((bounds, bounds));
    let (from, to) = (from.trim(), to.trim());
    let bound = |word| match word {
        "..." => Some(None),
        _ => scaled(word).map(|(value, unit)| Some((word, value, unit))),
    };
    Some(Bucket {
        from: bound(from)?,
        to: bound(to)?,
        is_closed: !bounds.contains(','),
        count,
    })
}

/// A number, and its suffix of powers of 1024.
fn scaled(word: &str) -> Option<(f64, f64)> {
    let is_number = |c: char| c.is_ascii_digit();
    if !word
        .strip_prefix('-')
        .unwrap_or(word)
        .starts_with(is_number)
    {
        return None;
    }
    let (digits, scale) = match word.as_bytes().last()? {
        b'K' => (&word[..word.len() - 1], 1024_f64),
        b'M' => (&word[..word.len() - 1], 1024_f64.powi(2)),
        b'G' => (&word[..word.len() - 1], 1024_f64.powi(3)),
        b'T' => (&word[..word.len() - 1], 1024_f64.powi(4)),
        _ => (word, 1.0),
    };
    digits.parse::<i64>().ok().map(|n| (n as f64, scale))
}

/// Words of `avg = 663 usecs, total: 16575 usecs, count: 25`: mean, sum, their unit, count.
fn summary(line: &str) -> Option<[&str; 4]> {
    let mut parts = line.trim_end().split(", ");
    let (mean, unit) = parts.next()?.strip_prefix("avg = ")?.split_once(' ')?;
    let (total, same) = parts.next()?.strip_prefix("total: ")?.split_once(' ')?;
    let count = parts.next()?.strip_prefix("count: ")?;
    let is_whole = |w: &str| w.parse::<u64>().is_ok();
    let fits = [mean, total, count].into_iter().all(is_whole);
    (fits && unit == same && parts.next().is_none()).then_some([mean, total, unit, count])
}

/// Whether a line begins a run: a prompt, or what a tool prints before it measures.
fn begins_run(line: &str) -> bool {
    let begins = ["# ", "$ ", "Tracing ", "Attaching "];
    begins.iter().any(|b| line.starts_with(b)) || line.contains("Hit Ctrl-C")
}

/// Whether a line is a histogram as a dictionary of Python, of `-j`.
fn is_dictionary(line: &str) -> bool {
    line.starts_with('{') && line.contains("'interval-start'")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// bcc's, behind its heading.
    Bcc,
    /// bpftrace's, behind the name of its map.
    Map,
}

/// The histograms of a file.
#[derive(Debug, Default)]
pub struct EbpfHistograms {
    table: Option<usize>,
    summaries: Option<usize>,
    open: Option<(Form, SourcedCell)>,
    /// What the histogram is of, and the time above it.
    label: SourcedCell,
    time: SourcedCell,
    histogram: u64,
    /// What the last histogram of the run is of: its summary follows it.
    last: Option<SourcedCell>,
}

impl EbpfHistograms {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let source = SourceLine::new(number, line);
        if let Some((form, unit)) = self.open.clone() {
            let bucket = match form {
                Form::Bcc => row(line),
                Form::Map => interval(line),
            };
            if let Some(bucket) = bucket {
                self.bucket(&bucket, unit, source, sheets);
                return;
            }
            if form == Form::Map && line.starts_with(['[', '(']) && line.ends_with('|') {
                left_out(source, "its bounds are not read", notes);
                return;
            }
            self.last = Some(std::mem::take(&mut self.label));
            self.open = None;
        }
        match line.as_bytes().first() {
            Some(b'@') => {
                if let Some(name) = map_name(line) {
                    let unit = unit_of(name).map_or_else(SourcedCell::blank, SourcedCell::label);
                    self.label = source.text(name);
                    self.begin(Form::Map, unit);
                }
            }
            Some(b' ' | b'\t') if heading(line).is_some() => {
                let unit = heading(line).map_or_else(SourcedCell::blank, |u| source.text(u));
                self.begin(Form::Bcc, unit);
            }
            Some(b' ' | b'\t') if is_bucket_alone(line) => left_out(source, NO_HEADING, notes),
            Some(b'[' | b'(') if interval(line).is_some() => left_out(source, NO_HEADING, notes),
            Some(b'{') if is_dictionary(line) => dictionary(number, notes),
            Some(b'0'..=b'9') if is_time(line) => {
                self.time = source.text(line.trim_end().trim_end_matches(':'));
                self.label = SourcedCell::blank();
            }
            Some(b'a') if summary(line).is_some() => self.summary(source, sheets),
            Some(b'a'..=b'z' | b'B') if is_label(line) => self.label = source.text(line),
            _ if begins_run(line) => {
                self.label = SourcedCell::blank();
                self.time = SourcedCell::blank();
                self.last = None;
            }
            _ => {}
        }
    }

    fn begin(&mut self, form: Form, unit: SourcedCell) {
        self.histogram += 1;
        self.open = Some((form, unit));
    }

    /// The line of `-e` below a histogram.
    fn summary(&mut self, source: SourceLine<'_>, sheets: &mut Sheets) {
        let (Some([mean, total, unit, count]), Some(label)) = (summary(source.text), &self.last)
        else {
            return;
        };
        let columns = [
            ("histogram", "Histogram"),
            ("of", "Of"),
            ("time", "Time"),
            ("avg", "avg"),
            ("total", "total"),
            ("unit", "Unit"),
            ("count", "count"),
        ];
        let title = "Means and sums that eBPF tools print below their histograms";
        let open = || sheets.open("ebpf_summary", title, source.number, &columns);
        let table = *self.summaries.get_or_insert_with(open);
        let row = vec![
            SourcedCell::label(&self.histogram.to_string()),
            label.clone(),
            self.time.clone(),
            source.cell(mean),
            source.cell(total),
            source.text(unit),
            source.cell(count),
        ];
        sheets.sourced_row(table, source.number, row);
    }

    fn bucket(
        &mut self,
        bucket: &Bucket<'_>,
        unit: SourcedCell,
        source: SourceLine<'_>,
        sheets: &mut Sheets,
    ) {
        let columns = [
            ("histogram", "Histogram"),
            ("of", "Of"),
            ("time", "Time"),
            ("from", "From"),
            ("to", "Under"),
            ("unit", "Unit"),
            ("count", "Count"),
        ];
        let title = "Histograms of eBPF tools";
        let open = || sheets.open("ebpf_histogram", title, source.number, &columns);
        let table = *self.table.get_or_insert_with(open);
        let bound = |bound: Option<Bound<'_>>| {
            bound.map_or_else(SourcedCell::blank, |(word, value, unit)| {
                source.scaled(word, value, unit)
            })
        };
        let to = match bucket.to {
            Some((to, high, unit)) if bucket.is_closed => {
                let inputs = source.span(to).map(Into::into).into_iter().collect();
                SourcedCell::computed(Some(high * unit + 1.0), "last value + 1", inputs)
            }
            to => bound(to),
        };
        let row = vec![
            SourcedCell::label(&self.histogram.to_string()),
            self.label.clone(),
            self.time.clone(),
            bound(bucket.from),
            to,
            unit,
            source.cell(bucket.count),
        ];
        sheets.sourced_row(table, source.number, row);
    }
}

/// Why a bucket is left out that follows no heading.
const NO_HEADING: &str = "no heading or name of a map is above it";

/// `   128 -> 255        : 12       |****  |`, below no heading.
fn is_bucket_alone(line: &str) -> bool {
    line.trim_end().ends_with('|') && line.contains(" -> ") && row(line).is_some()
}

fn left_out(source: SourceLine<'_>, why: &str, notes: &mut Notes) {
    let line = Some(source.number);
    notes.add(
        Severity::Warning,
        "ebpf.bucket_left_out",
        line,
        None,
        || {
            let bucket = quote(source.text.trim().as_bytes());
            format!("the bucket {bucket} of a histogram is left out: {why}")
        },
    );
}

fn dictionary(number: u64, notes: &mut Notes) {
    let line = Some(number);
    notes.add(Severity::Warning, "ebpf.json_left_out", line, None, || {
        "a histogram as a dictionary (`biolatency -j`) is not read: left out".to_owned()
    });
}

/// The unit that the name of a map says.
fn unit_of(name: &str) -> Option<&'static str> {
    let name = name.trim_start_matches('@').split('[').next()?;
    let last = name.rsplit('_').next()?;
    match last {
        "ns" | "nsecs" => Some("nsecs"),
        "us" | "usecs" => Some("usecs"),
        "ms" | "msecs" => Some("msecs"),
        _ => None,
    }
}

/// `06:20:16`, or `10:19:00:` of ext4dist.
fn is_time(line: &str) -> bool {
    let line = line.trim_end().trim_end_matches(':');
    let is_time = |(i, b): (usize, u8)| match i {
        2 | 5 => b == b':',
        _ => b.is_ascii_digit(),
    };
    line.len() == 8 && line.bytes().enumerate().all(is_time)
}

/// `operation = 'read'`, `Bucket disk = 'xvdb'`, `flags = Read`.
fn is_label(line: &str) -> bool {
    let Some((key, value)) = line.trim_end().split_once(" = ") else {
        return false;
    };
    let words = key.split(' ').count();
    let is_word = |c: char| c.is_ascii_alphabetic() || c == ' ';
    words <= 2 && key.chars().all(is_word) && value.len() < 60
}
