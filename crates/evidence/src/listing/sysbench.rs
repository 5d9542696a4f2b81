//! Output of sysbench: lines of intervals, the sections of its summary (each figure by its own
//! name), and the latency histogram. Releases 0.4 to 1.1 name sections and figures differently, so
//! that the summary is a table of figures and not of columns.

use crate::Notes;
use crate::notes::quote;
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::imported::Severity;
use measure::printed;

/// Headings of the summary's sections.
const SECTIONS: [&str; 9] = [
    "SQL statistics:",
    "OLTP test statistics:",
    "General statistics:",
    "Test execution summary:",
    "Throughput:",
    "File operations:",
    "Latency (ms):",
    "Threads fairness:",
    "CPU speed:",
];
const HISTOGRAM: &str = "Latency histogram (values are in milliseconds)";

/// Whether a line is its output.
pub fn opens(line: &str) -> bool {
    let begins = ["sysbench 0.", "sysbench 1.", "sysbench v0."];
    begins.iter().any(|b| line.starts_with(b))
        || interval(SourceLine::new(1, line)).is_some()
        || line.starts_with(HISTOGRAM)
        || SECTIONS[..2].contains(&line.trim_end())
}

/// Columns of intervals, and the keys of their figures in every release. `reads` and `writes` are
/// statements per second, or volumes where their unit says so.
const INTERVAL: [(&str, &str, &[&str]); 14] = [
    ("at_s", "At (s)", &[]),
    ("threads", "Threads", &["thds", "threads"]),
    ("tps", "tps", &["tps", "eps"]),
    ("qps", "qps", &["qps"]),
    ("reads_per_s", "Reads/s", &["reads", "reads/s"]),
    ("writes_per_s", "Writes/s", &["writes", "writes/s"]),
    ("others_per_s", "Others/s", &[]),
    ("errors_per_s", "Errors/s", &["err/s", "errors"]),
    (
        "reconnects_per_s",
        "Reconnects/s",
        &["reconn/s", "reconnects"],
    ),
    ("read_mb_per_s", "Reads MiB/s", &[]),
    ("write_mb_per_s", "Writes MiB/s", &[]),
    ("fsyncs_per_s", "fsyncs/s", &["fsyncs"]),
    ("percentile", "Percentile", &[]),
    ("latency_ms", "Latency (ms)", &[]),
];
const READS: usize = 4;
/// From a column of statements to that of volumes.
const TO_VOLUME: usize = 5;
const PERCENTILE: usize = 12;
const LATENCY: usize = 13;

/// A line of an interval: its row, and the first of its figures that has no column.
struct Interval<'a> {
    row: Vec<SourcedCell>,
    unknown: Option<&'a str>,
}

/// `[ 2s ] thds: 16 tps: 1012.86 qps: … lat (ms,95%): 28.67 …`, of releases to 0.5
/// `[   2s] threads: 7, tps: 100.00, reads: 1400.50, … response time: 17.52ms (99%), …`, of files
/// `[ 2s ] reads: 0.00 MiB/s writes: …`; a figure that a release does not print is blank.
fn interval(source: SourceLine<'_>) -> Option<Interval<'_>> {
    let (at, mut rest) = source.text.strip_prefix('[')?.split_once(']')?;
    let at = at.trim().strip_suffix('s')?;
    printed::plain(at)?;
    let mut row = vec![SourcedCell::blank(); INTERVAL.len()];
    row[0] = source.cell(at);
    let (mut unknown, mut is_known) = (None, false);
    while let Some((key, after)) = rest.split_once(": ") {
        let key = key.trim_start_matches([' ', ',', ')']).trim_end();
        let after = after.trim_start();
        let end = after.find([' ', ',']).unwrap_or(after.len());
        let (value, behind) = after.split_at(end);
        rest = without_unit(behind);
        match figure(key, value, behind, source, &mut row) {
            true => is_known |= key != "threads" && key != "thds",
            false => unknown = unknown.or(Some(key)),
        }
    }
    is_known.then_some(Interval { row, unknown })
}

/// What follows a value, without its unit or its percentile in parentheses.
fn without_unit(behind: &str) -> &str {
    let text = behind.trim_start();
    let unit = ["MiB/s", "MB/s"].iter().find_map(|u| text.strip_prefix(u));
    let percentile = || {
        let (inner, rest) = text.strip_prefix('(')?.split_once(')')?;
        inner.ends_with('%').then_some(rest)
    };
    unit.or_else(percentile).unwrap_or(behind)
}

/// Puts a figure of an interval into its columns; whether it has some.
fn figure<'a>(
    key: &'a str,
    value: &'a str,
    behind: &'a str,
    source: SourceLine<'a>,
    row: &mut [SourcedCell],
) -> bool {
    let mut put = |at: usize, word: &'a str| {
        let is_number = printed::plain(word).is_some();
        if let Some(cell) = row.get_mut(at).filter(|_| is_number) {
            *cell = source.cell(word);
        }
        is_number
    };
    if key == "(r/w/o" {
        let parts = value.trim_end_matches(')').split('/');
        return parts
            .zip(READS..)
            .fold(true, |all, (word, at)| put(at, word) && all);
    }
    // `lat (ms,95%)` and `latency (ms,95%)`: the percentile is in the key.
    let of_latency = key.strip_prefix("lat").and_then(|k| k.split_once("(ms,"));
    if let Some((_, percentile)) = of_latency {
        return put(PERCENTILE, percentile.trim_end_matches("%)")) && put(LATENCY, value);
    }
    if key == "response time" {
        // `17.52ms (99%)`
        let percentile = behind
            .trim_start()
            .strip_prefix('(')
            .and_then(|b| b.split_once("%)"));
        let of = percentile.is_some_and(|(p, _)| put(PERCENTILE, p));
        return value.strip_suffix("ms").is_some_and(|ms| put(LATENCY, ms)) && of;
    }
    let Some(at) = INTERVAL.iter().position(|(_, _, keys)| keys.contains(&key)) else {
        return false;
    };
    let unit = behind
        .split([' ', ','])
        .find(|w| !w.is_empty())
        .unwrap_or_default();
    let is_volume = matches!(unit, "MiB/s" | "MB/s");
    match value.strip_suffix("/s") {
        Some(value) => put(at, value),
        None if is_volume && (READS..READS + 2).contains(&at) => put(at + TO_VOLUME, value),
        None => put(at, value),
    }
}

/// The tables of a file.
#[derive(Debug, Default)]
pub struct SysbenchOutput {
    intervals: Option<usize>,
    figures: Option<usize>,
    histogram: Option<usize>,
    /// The section whose figures follow.
    section: Option<SourcedCell>,
    is_in_histogram: bool,
}

impl SysbenchOutput {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let is_idle = self.section.is_none() && !self.is_in_histogram;
        let first = line.as_bytes().first();
        if is_idle
            && !matches!(
                first,
                Some(b'[' | b'S' | b'O' | b'G' | b'T' | b'F' | b'L' | b'C')
            )
        {
            return;
        }
        let source = SourceLine::new(number, line);
        if first == Some(&b'[') {
            if let Some(found) = interval(source) {
                self.interval(found, number, sheets, notes);
            }
            return;
        }
        if let Some(section) = SECTIONS.iter().find(|s| line.trim_end() == **s) {
            self.section = Some(source.text(&line[..section.len() - 1]));
            self.is_in_histogram = false;
            return;
        }
        if line.starts_with(HISTOGRAM) {
            (self.section, self.is_in_histogram) = (None, true);
            return;
        }
        if self.is_in_histogram {
            self.bucket(line, source, sheets);
            return;
        }
        if !line.starts_with([' ', '\t']) || !self.figure(line, source, sheets) {
            // A heading inside of a section has no figure.
            let is_inner = line.starts_with([' ', '\t']) && line.trim_end().ends_with(':');
            if !is_inner {
                self.section = None;
            }
        }
    }

    fn interval(
        &mut self,
        found: Interval<'_>,
        number: u64,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) {
        let columns = INTERVAL.map(|(key, heading, _)| (key, heading));
        let title = "sysbench: intervals";
        let open = || sheets.open("sysbench_intervals", title, number, &columns);
        let table = *self.intervals.get_or_insert_with(open);
        sheets.sourced_row(table, number, found.row);
        if let Some(key) = found.unknown {
            let at = Some(number);
            notes.add(
                Severity::Warning,
                "sysbench.unknown_figure",
                at,
                None,
                || {
                    format!(
                        "{} is not a figure that is known: left out",
                        quote(key.as_bytes())
                    )
                },
            );
        }
    }

    /// `    transactions:                        29611  (986.49 per sec.)`.
    fn figure(&mut self, line: &str, source: SourceLine<'_>, sheets: &mut Sheets) -> bool {
        let Some(section) = self.section.clone() else {
            return false;
        };
        let Some((name, rest)) = line.split_once(": ") else {
            return false;
        };
        let rest = rest.trim();
        let (value, further) = rest.split_once(' ').unwrap_or((rest, ""));
        // `443.0000/0.00` is a mean and a deviation.
        let (value, deviation) = value.split_once('/').unwrap_or((value, ""));
        let Some(number) = printed::number(value).filter(|n| matches!(n.suffix, "" | "s" | "ms"))
        else {
            return false;
        };
        let per_s = further
            .trim()
            .strip_prefix('(')
            .and_then(|f| f.strip_suffix(" per sec.)"));
        let plain = |word: Option<&str>| {
            let word = word.filter(|w| printed::plain(w).is_some());
            word.map_or_else(SourcedCell::blank, |w| source.cell(w))
        };
        let digits = value.strip_suffix(number.suffix).unwrap_or(value);
        let columns = [
            ("section", "Section"),
            ("figure", "Figure"),
            ("value", "Value"),
            ("unit", "Unit"),
            ("per_s", "Per second"),
            ("stddev", "Std dev"),
        ];
        let open = || sheets.open("sysbench", "sysbench: summary", source.number, &columns);
        let table = *self.figures.get_or_insert_with(open);
        let unit = match number.suffix {
            "" => SourcedCell::blank(),
            _ => source.text(&value[digits.len()..]),
        };
        let row = vec![
            section,
            source.text(name),
            source.cell(digits),
            unit,
            plain(per_s),
            plain(Some(deviation)),
        ];
        sheets.sourced_row(table, source.number, row);
        true
    }

    /// `       7.985 |**************************************** 159`.
    fn bucket(&mut self, line: &str, source: SourceLine<'_>, sheets: &mut Sheets) {
        if line.contains("distribution") {
            return;
        }
        let parts = line
            .split_once('|')
            .map(|(value, bar)| (value.trim(), bar.trim_start_matches(['*', ' '])));
        let numbers = |(value, count): &(&str, &str)| {
            printed::plain(value).is_some() && count.trim().parse::<u64>().is_ok()
        };
        let Some((value, count)) = parts.filter(numbers) else {
            self.is_in_histogram = false;
            return;
        };
        let columns = [("value_ms", "Value (ms)"), ("count", "Count")];
        let open = || {
            sheets.open(
                "sysbench_histogram",
                "sysbench: latency histogram",
                source.number,
                &columns,
            )
        };
        let table = *self.histogram.get_or_insert_with(open);
        sheets.sourced_row(
            table,
            source.number,
            vec![source.cell(value), source.cell(count)],
        );
    }
}
