//! Histograms of eBPF tools, as bcc (biolatency, ext4dist, xfsdist) and bpftrace print them, also
//! inside of prose: each bucket with its bounds. They double, so that nothing between two bounds is
//! known. The tools do not run here: the layouts are those of their documented examples.

use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;

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

/// Bounds of a bucket: each its word, its digits and their factor; and the word of the count.
struct Bucket<'a> {
    from: (&'a str, f64, f64),
    to: (&'a str, f64, f64),
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
        from: (from, whole(from)?, 1.0),
        to: (to, whole(to)?, 1.0),
        is_closed: true,
        count,
    })
}

/// `[64, 128)            12 |@@@@      |`, with `K`, `M`, `G` of 1024; `[5]  3 |@|` is one value.
fn interval(line: &str) -> Option<Bucket<'_>> {
    let rest = line.trim_start().strip_prefix('[')?;
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
    let ((low, low_unit), (high, high_unit)) = (scaled(from)?, scaled(to)?);
    Some(Bucket {
        from: (from, low, low_unit),
        to: (to, high, high_unit),
        is_closed: !bounds.contains(','),
        count,
    })
}

/// A number, and its suffix of powers of 1024.
fn scaled(word: &str) -> Option<(f64, f64)> {
    let (digits, scale) = match word.as_bytes().last()? {
        b'K' => (&word[..word.len() - 1], 1024_f64),
        b'M' => (&word[..word.len() - 1], 1024_f64.powi(2)),
        b'G' => (&word[..word.len() - 1], 1024_f64.powi(3)),
        b'T' => (&word[..word.len() - 1], 1024_f64.powi(4)),
        _ => (word, 1.0),
    };
    digits.parse::<u64>().ok().map(|n| (n as f64, scale))
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
    open: Option<(Form, SourcedCell)>,
    /// What the histogram is of, and the time above it.
    label: SourcedCell,
    time: SourcedCell,
    histogram: u64,
}

impl EbpfHistograms {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let first = line.as_bytes().first();
        let may = matches!(
            first,
            Some(b' ' | b'\t' | b'@' | b'[' | b'0'..=b'9' | b'a'..=b'z' | b'B')
        );
        if !may {
            self.open = None;
            return;
        }
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
            self.open = None;
            self.label = SourcedCell::blank();
        }
        if first == Some(&b'@') {
            if let Some(name) = map_name(line) {
                self.label = source.text(name);
                self.histogram += 1;
                let unit = unit_of(name).map_or_else(SourcedCell::blank, SourcedCell::label);
                self.open = Some((Form::Map, unit));
            }
        } else if matches!(first, Some(b' ' | b'\t')) {
            if let Some(unit) = heading(line) {
                self.histogram += 1;
                self.open = Some((Form::Bcc, source.text(unit)));
            }
        } else if is_time(line) {
            self.time = source.text(line.trim_end().trim_end_matches(':'));
            self.label = SourcedCell::blank();
        } else if is_label(line) {
            self.label = source.text(line);
        }
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
        let (from, low, unit_from) = bucket.from;
        let (to, high, unit_to) = bucket.to;
        let to = if bucket.is_closed {
            let inputs = source.span(to).map(Into::into).into_iter().collect();
            SourcedCell::computed(Some(high + 1.0), "last value + 1", inputs)
        } else {
            source.scaled(to, high, unit_to)
        };
        let row = vec![
            SourcedCell::label(&self.histogram.to_string()),
            self.label.clone(),
            self.time.clone(),
            source.scaled(from, low, unit_from),
            to,
            unit,
            source.cell(bucket.count),
        ];
        sheets.sourced_row(table, source.number, row);
    }
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
