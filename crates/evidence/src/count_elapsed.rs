//! `count,elapsed`: what the script of study 000 wrote of a trace, and what similar scripts wrote.
//!
//! The script wrote no heading and microseconds. A heading may name another unit and the event.

use super::head::Head;
use super::line_reader::{Facts, LineReader};
use super::lines::Line;
use super::notes::quote;
use super::series::GrowingSeries;
use super::tables::row;
use super::tally::{Tally, TallyBudget};
use super::{Gathered, Sink, number};
use measure::WaitEvent;
use measure::imported::{Axis, Series, Severity};

/// Lines from which such a file is recognised.
const TOLD_FROM: usize = 20;

/// Where the numbers of a line stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    separator: u8,
    columns: usize,
    elapsed: usize,
    /// The running number, if there is one.
    count: Option<usize>,
    /// Nanoseconds of the unit, if the heading names it.
    unit_ns: Option<u64>,
}

/// Whether the head of a file is one: the heading `count,elapsed`, and pairs of numbers under it.
/// Numbers without it may be of anything: they are read where the user states the kind.
pub(super) fn recognise(head: &Head<'_>) -> bool {
    let lines = first_lines(head);
    let Some(((_, first), under)) = lines.split_first() else {
        return false;
    };
    let layout = heading(first).filter(|_| is_exact(first));
    let is_pair = |(_, line): &(u64, &[u8])| pair(line, layout, 1).is_some();
    layout.is_some() && !under.is_empty() && under.iter().all(is_pair)
}

/// The first lines of a file with their numbers, without one that the head may have cut.
fn first_lines<'a>(head: &Head<'a>) -> Vec<(u64, &'a [u8])> {
    let is_whole = head.bytes.ends_with(b"\n");
    let lines = (1..).zip(head.lines());
    let lines = lines.filter(|(_, l)| !l.trim_ascii().is_empty());
    let mut lines: Vec<(u64, &[u8])> = lines.take(TOLD_FROM + 1).collect();
    if !is_whole && lines.len() > TOLD_FROM {
        lines.pop();
    }
    lines
}

/// Whether a line is the heading `count,elapsed`, with a unit or without.
fn is_exact(line: &[u8]) -> bool {
    let parts = |separator: u8| line.split(move |b| *b == separator).map(bare);
    let names = separator(line).map(|s| parts(s).map(<[u8]>::to_ascii_lowercase));
    let names: Vec<Vec<u8>> = names.into_iter().flatten().collect();
    let units: [&[u8]; 4] = [b"elapsed", b"elapsed_us", b"elapsed_ms", b"elapsed_ns"];
    matches!(names.as_slice(), [count, elapsed] if count == b"count" && units.contains(&&**elapsed))
}

/// The first line that keeps a file from being `count,elapsed`, and what is wrong with it: it has
/// the heading, and most lines are pairs.
pub(super) fn malformed(head: &Head<'_>) -> Option<(u64, String)> {
    let lines = first_lines(head);
    let ((_, first), under) = lines.split_first()?;
    let layout = heading(first).filter(|_| is_exact(first))?;
    let is_pair = |line: &[u8]| pair(line, Some(layout), 1).is_some();
    let pairs = under.iter().filter(|(_, l)| is_pair(l)).count();
    if 2 * pairs <= under.len() {
        return None;
    }
    let (number, line) = under.iter().find(|(_, l)| !is_pair(l))?;
    Some((*number, wrong(line, Some(layout))))
}

/// What a table of numbers is, whose heading says nothing that is known: the names of its columns,
/// or how many there are.
pub(super) fn columns_of(head: &Head<'_>) -> Option<String> {
    let lines = first_lines(head);
    let ((_, first), under) = lines.split_first()?;
    let separator = separator(first)?;
    let parts = |line: &'_ [u8]| line.split(|b| *b == separator).count();
    let is_number = |field: &&[u8]| number::scaled(field, 1).is_some();
    let numbers = |line: &[u8]| {
        line.split(|b| *b == separator)
            .map(bare)
            .filter(|f| is_number(f))
            .count()
    };
    let count = parts(first);
    let is_row = |line: &[u8]| parts(line) == count && 2 * numbers(line) >= count;
    if !(2..=COLUMNS_MAX).contains(&count) || !under.iter().all(|(_, l)| is_row(l)) {
        return None;
    }
    if is_row(first) {
        return Some(format!("lines of {count} numbers without a heading"));
    }
    let names = first.split(|b| *b == separator).map(bare).take(20);
    let names: Vec<String> = names.map(quote).collect();
    let is_table = numbers(first) == 0 && !under.is_empty();
    is_table.then(|| format!("a table with the columns {}", names.join(", ")))
}

/// What is wrong with a line that is not of this layout: its field that is not a number.
fn wrong(line: &[u8], layout: Option<Layout>) -> String {
    let named = |field: &[u8]| format!("'{}'", quote(field).trim_matches('`'));
    let columns = layout.map_or(2, |l| l.columns);
    let fields = layout.and_then(|l| fields(line, l.separator, l.columns));
    let Some((layout, fields)) = layout.zip(fields) else {
        return format!("{} does not have {columns} columns", named(line));
    };
    let count = layout.count.and_then(|at| fields.get(at));
    let elapsed = fields.get(layout.elapsed).copied().unwrap_or_default();
    match count.filter(|f| number::whole_u64(f).is_none()) {
        Some(count) => format!("{} is not a count", named(count)),
        None => format!("{} is not a number", named(elapsed)),
    }
}

/// The layout of a line without a heading: two numbers.
fn plain(line: &[u8]) -> Option<Layout> {
    let separator = separator(line)?;
    Some(Layout {
        separator,
        columns: 2,
        elapsed: 1,
        count: Some(0),
        unit_ns: None,
    })
}

/// A comma separates where nothing else does: in `1;0,5` it is the decimal mark.
fn separator(line: &[u8]) -> Option<u8> {
    let found = b";\t,".iter().find(|s| line.contains(s));
    found.copied()
}

/// A line of numbers: `1,501`, `"1";"501"`, `1<TAB>0,501`; the elapsed time times `scale`. The
/// count is 0 where the layout has none.
fn pair(line: &[u8], layout: Option<Layout>, scale: u64) -> Option<(u64, u64)> {
    let layout = layout?;
    let fields = fields(line, layout.separator, layout.columns)?;
    let count = match layout.count {
        Some(at) => number::whole_u64(fields.get(at)?)?,
        None => 0,
    };
    let elapsed = fields.get(layout.elapsed)?;
    if layout.separator != b',' && elapsed.contains(&b',') {
        let point: Vec<u8> = elapsed
            .iter()
            .map(|b| if *b == b',' { b'.' } else { *b })
            .collect();
        return Some((count, number::scaled(&point, scale)?));
    }
    Some((count, number::scaled(elapsed, scale)?))
}

/// So many fields of a line; empty ones behind them do not count.
fn fields(line: &[u8], separator: u8, columns: usize) -> Option<Vec<&[u8]>> {
    let mut parts: Vec<&[u8]> = line.split(|b| *b == separator).map(bare).collect();
    while parts.len() > columns && parts.last().is_some_and(|p| p.is_empty()) {
        parts.pop();
    }
    (parts.len() == columns).then_some(parts)
}

fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    match field {
        [b'"', inner @ .., b'"'] => inner.trim_ascii(),
        _ => field,
    }
}

/// The layout that a heading names, if the line is such a heading: one column alone has a word for
/// elapsed times.
fn heading(line: &[u8]) -> Option<Layout> {
    let separator = separator(line).unwrap_or(b',');
    let parts: Vec<String> = line
        .split(|b| *b == separator)
        .map(|f| String::from_utf8_lossy(bare(f)).to_ascii_lowercase())
        .collect();
    let is_name = |f: &String| f.starts_with(|c: char| c.is_ascii_alphabetic() || c == '#');
    if parts.len() > COLUMNS_MAX || !parts.iter().all(is_name) {
        return None;
    }
    let has = |name: &str, of: &[&str]| {
        let mut words = name.split(|c: char| !c.is_alphanumeric() && c != '#');
        words.any(|w| of.contains(&w))
    };
    let mut named = (0..parts.len()).filter(|at| has(&parts[*at], ELAPSED));
    let (elapsed, None) = (named.next()?, named.next()) else {
        return None;
    };
    let count = (0..parts.len()).find(|i| *i != elapsed && has(&parts[*i], COUNT));
    let name = &parts[elapsed];
    let unit = UNITS.iter().find(|(words, _)| has(name, words));
    Some(Layout {
        separator,
        columns: parts.len(),
        elapsed,
        count: count.or((parts.len() == 2).then(|| 1 - elapsed)),
        unit_ns: unit.map(|(_, ns)| *ns),
    })
}

/// Columns of a line at most.
const COLUMNS_MAX: usize = 64;
/// Words that name a column of elapsed times.
const ELAPSED: &[&str] = &["elapsed", "ela", "latency", "lat", "duration"];
/// Words that name a running number.
const COUNT: &[&str] = &[
    "count", "n", "no", "nr", "num", "seq", "sequence", "#", "i", "id",
];
/// Words that name a unit, and its nanoseconds.
const UNITS: &[(&[&str], u64)] = &[
    (&["us", "usec", "micros", "microseconds"], 1_000),
    (&["ms", "msec", "millis", "milliseconds"], 1_000_000),
    (&["ns", "nsec", "nanos", "nanoseconds"], 1),
];

/// Reads one file.
#[derive(Debug)]
pub struct CountElapsedReader {
    file: String,
    layout: Option<Layout>,
    /// The heading names other columns.
    is_unknown: bool,
    started: bool,
    last: Option<u64>,
    tally: Tally,
    budget: TallyBudget,
    series: GrowingSeries,
}

impl CountElapsedReader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(file: &str) -> CountElapsedReader {
        CountElapsedReader {
            file: file.to_owned(),
            layout: None,
            is_unknown: false,
            started: false,
            last: None,
            tally: Tally::default(),
            budget: TallyBudget::default(),
            series: GrowingSeries::new(Axis::Sequence),
        }
    }

    fn take(&mut self, count: u64, ns: u64, at: Option<u64>, sink: &mut Sink) {
        if let Some(last) = self.last.filter(|last| last.checked_add(1) != Some(count)) {
            sink.notes
                .add(Severity::Warning, "csv.gap", at, Some(1), || {
                    format!("count goes from {last} to {count}: waits are missing or joined")
                });
        }
        self.last = Some(count);
        self.series.add(self.tally.count(), ns, 0);
        self.tally.add(ns, &mut self.budget);
        if sink.samples.event().is_some() {
            sink.samples.add(ns);
        }
    }

    fn give(self, sink: &mut Sink, out: &mut Gathered) {
        let key = WaitEvent::LogFileParallelWrite.key();
        let unit = match self.layout.and_then(|l| l.unit_ns) {
            Some(_) => "the unit is the heading's",
            None => "taken as microseconds, as that script wrote",
        };
        sink.notes
            .add(Severity::Note, "csv.no_event", None, None, || {
                format!("`count,elapsed` names no event: taken as log file parallel write; {unit}")
            });
        let mut row = row(&self.file);
        row.waits.insert(key.to_owned(), self.tally.stats());
        row.curves.insert(key.to_owned(), self.tally.curve());
        let (axis, width, points) = self.series.points();
        out.series.push(Series {
            row: out.rows.len(),
            event: key.to_owned(),
            axis,
            width,
            points,
            distribution: None,
        });
        out.yielded += self.tally.count();
        out.rows.push(row);
    }
}

impl LineReader for CountElapsedReader {
    fn line(&mut self, line: Line<'_>, sink: &mut Sink) {
        let text = line.bytes.trim_ascii();
        if text.is_empty() {
            return;
        }
        let at = Some(line.number);
        let first = !self.started;
        self.started = true;
        if first && let Some(layout) = heading(text) {
            self.layout = Some(layout);
            return;
        }
        let is_numeric = separator(text).is_none() || text.iter().any(u8::is_ascii_digit);
        self.is_unknown |= first && !is_numeric;
        if self.is_unknown {
            sink.notes
                .add(Severity::Warning, "csv.columns", at, None, || {
                    format!(
                        "{}: no column, or more than one, is of elapsed times",
                        quote(text)
                    )
                });
            return;
        }
        let layout = self.layout.or_else(|| plain(text));
        let unit_ns = layout.and_then(|l| l.unit_ns).unwrap_or(1_000);
        match pair(text, layout, unit_ns).filter(|_| !line.cut) {
            Some((_, ns)) if layout.is_some_and(|l| l.count.is_none()) => {
                let next = self.last.map_or(1, |n| n.saturating_add(1));
                self.take(next, ns, at, sink);
            }
            Some((count, ns)) => self.take(count, ns, at, sink),
            None => {
                // The field that is no number.
                let first = layout.and_then(|l| text.split(|b| *b == l.separator).next());
                let good = first.filter(|f| number::whole_u64(bare(f)).is_some());
                let column = good.map_or(1, |f| f.len() as u64 + 2);
                sink.notes.add(
                    Severity::Warning,
                    "csv.not_a_pair",
                    at,
                    Some(column),
                    || format!("{} is not `count,elapsed` and was left out", quote(text)),
                );
            }
        }
    }

    fn last_line(&mut self, line: Line<'_>, sink: &mut Sink) {
        sink.notes.add(
            Severity::Note,
            "csv.last_line",
            Some(line.number),
            None,
            || "the last line has no end: its number may be cut; counted as it is".to_owned(),
        );
        self.line(line, sink);
    }

    fn end(self: Box<Self>, _lines: u64, sink: &mut Sink, out: &mut Gathered) -> Facts {
        if self.tally.count() > 0 {
            self.give(sink, out);
        }
        Facts::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(u64, u64)> {
        pair(text.as_bytes(), plain(text.as_bytes()), 1000)
    }

    #[test]
    fn pairs_in_every_dress() {
        for text in [
            "1,501",
            "1;501",
            "1\t501",
            " 1 , 501 ",
            "\"1\",\"501\"",
            "1,501,",
            "1;501,0",
            "1\t501.0",
        ] {
            assert_eq!(read(text), Some((1, 501_000)), "{text}");
        }
        for text in [
            "1",
            "1,",
            ",1",
            "a,b",
            "1,2,3",
            "1,-2",
            "1,NaN",
            "1,99999999999999999999",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_line_that_is_no_pair_is_named() {
        let of = |text: &str| {
            malformed(&Head {
                bytes: text.as_bytes(),
            })
        };
        for (text, want) in [
            (
                "count,elapsed\n1,5\n2,6\n3,xx\n",
                Some((4, "'xx' is not a number")),
            ),
            (
                "count,elapsed\n1,5\n\n2,6\n3\n",
                Some((5, "'3' does not have 2 columns")),
            ),
            (
                "count;elapsed_ms\n1;5\n2;6\nb;7\n",
                Some((4, "'b' is not a count")),
            ),
            ("1;5\n2;6\nb;7\n", None),
            ("name,size\na,5\nb,6\nc,7\n", None),
            ("name,size\n1,5\n2,6\nc,x\n", None),
            ("count,elapsed\nx\ny\n", None),
            ("hello\n", None),
        ] {
            let want = want.map(|(line, what)| (line, what.to_owned()));
            assert_eq!(of(text), want, "{text}");
        }
    }

    #[test]
    fn numbers_of_anything_are_not_waits() {
        let head = |text: &'static str| Head {
            bytes: text.as_bytes(),
        };
        for (text, is, columns) in [
            ("count,elapsed\n1,5\n2,6\n", true, None),
            ("\"Count\";\"elapsed_ms\"\n1;0,5\n", true, None),
            (
                "1,5\n2,6\n",
                false,
                Some("lines of 2 numbers without a heading"),
            ),
            (
                "date,price\n1,5\n",
                false,
                Some("a table with the columns `date`, `price`"),
            ),
            (
                "id,elapsed\n1,5\n",
                false,
                Some("a table with the columns `id`, `elapsed`"),
            ),
            ("hello, world\n", false, None),
        ] {
            assert_eq!(recognise(&head(text)), is, "{text}");
            let found = columns_of(&head(text)).filter(|_| !is);
            assert_eq!(found.as_deref(), columns, "{text}");
        }
    }

    #[test]
    fn headings_say_where_and_in_which_unit() {
        let of = |text: &str| {
            let l = heading(text.as_bytes())?;
            Some((l.elapsed, l.count, l.unit_ns))
        };
        for (text, want) in [
            ("count,elapsed", Some((1, Some(0), None))),
            ("n;elapsed_ms", Some((1, Some(0), Some(1_000_000)))),
            ("elapsed_us", Some((0, None, Some(1_000)))),
            ("count,elapsed_us,blocks", Some((1, Some(0), Some(1_000)))),
            ("time\tblocks\tlat_ns", Some((2, None, Some(1)))),
            ("latency [ms],count", Some((0, Some(1), Some(1_000_000)))),
            ("1,2", None),
            ("time,blocks,size", None),
            ("date,price", None),
            ("samples,min_latency,avg_latency", None),
            ("hello", None),
        ] {
            assert_eq!(of(text), want, "{text}");
        }
    }
}
