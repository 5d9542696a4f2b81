//! Output of sysbench: lines of intervals, the sections of its summary (each figure by its own
//! name), and the latency histogram. Releases 0.4 to 1.1 name sections and figures differently, so
//! that the summary is a table of figures and not of columns.

use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
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
        || interval(line, SourceLine::new(1, line)).is_some()
        || line.starts_with(HISTOGRAM)
        || SECTIONS[..2].contains(&line.trim_end())
}

/// `[ 2s ] thds: 16 tps: 1012.86 qps: … lat (ms,95%): 28.67 …`, or of files
/// `[ 2s ] reads: 0.00 MiB/s writes: …`; a figure that a release does not print is blank.
fn interval(line: &str, source: SourceLine<'_>) -> Option<Vec<SourcedCell>> {
    let rest = line.strip_prefix('[')?;
    let (at, rest) = rest.split_once(']')?;
    let at = at.trim().strip_suffix('s')?;
    printed::plain(at)?;
    let word = |key: &str| {
        let (_, after) = rest.split_once(key)?;
        let end = after.find([' ', ',', ')', '/']).unwrap_or(after.len());
        let word = &after[..end];
        printed::plain(word).map(|_| word)
    };
    let cell = |word: Option<&str>| word.map_or_else(SourcedCell::blank, |w| source.cell(w));
    let mix: Vec<&str> = rest
        .split_once("(r/w/o: ")
        .and_then(|(_, m)| m.split_once(')'))
        .map_or(Vec::new(), |(m, _)| m.split('/').collect());
    let latency = rest
        .split_once("(ms,")
        .and_then(|(_, l)| l.split_once("%): "));
    let latency = latency.filter(|(p, _)| printed::plain(p).is_some());
    let value = latency.and_then(|(_, v)| v.split_whitespace().next());
    let value = value.filter(|v| printed::plain(v).is_some());
    let is_sql = word(" tps: ").or_else(|| word(" eps: ")).is_some();
    let is_file = word("fsyncs: ").or_else(|| word("writes: ")).is_some();
    if !(is_sql || is_file) {
        return None;
    }
    let mut row = vec![
        source.cell(at),
        cell(word("thds: ")),
        cell(word(" tps: ").or_else(|| word(" eps: "))),
        cell(word("qps: ")),
    ];
    row.extend((0..3).map(|i| cell(mix.get(i).copied().filter(|w| printed::plain(w).is_some()))));
    row.extend(["err/s: ", "reconn/s: ", "reads: ", "writes: ", "fsyncs: "].map(|k| cell(word(k))));
    row.push(cell(latency.map(|(p, _)| p)));
    row.push(cell(value));
    Some(row)
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
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
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
            if let Some(row) = interval(line, source) {
                self.interval(row, number, sheets);
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

    fn interval(&mut self, row: Vec<SourcedCell>, number: u64, sheets: &mut Sheets) {
        let columns = [
            ("at_s", "At (s)"),
            ("threads", "thds"),
            ("tps", "tps"),
            ("qps", "qps"),
            ("reads_per_s", "r"),
            ("writes_per_s", "w"),
            ("others_per_s", "o"),
            ("errors_per_s", "err/s"),
            ("reconnects_per_s", "reconn/s"),
            ("read_mb_per_s", "reads MiB/s"),
            ("write_mb_per_s", "writes MiB/s"),
            ("fsyncs_per_s", "fsyncs/s"),
            ("percentile", "Percentile"),
            ("latency_ms", "Latency (ms)"),
        ];
        let open = || {
            sheets.open(
                "sysbench_intervals",
                "sysbench: intervals",
                number,
                &columns,
            )
        };
        let table = *self.intervals.get_or_insert_with(open);
        sheets.sourced_row(table, number, row);
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
