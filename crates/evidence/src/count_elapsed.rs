//! `count,elapsed`: what the script of study 000 wrote of a trace, and what similar scripts wrote.
//!
//! The script wrote no heading and microseconds. A heading may name another unit and the event.

use super::gathered::Ended;
use super::head::Head;
use super::lines::{Line, Lines};
use super::notes::quote;
use super::series::GrowingSeries;
use super::tables::row;
use super::tally::{Tally, TallyBudget};
use super::{Gathered, Options, Sink, number};
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

/// Whether the head of a file is one: a heading at most, then numbers in pairs, or under the
/// heading a column of elapsed times.
pub(super) fn recognise(head: &Head<'_>) -> bool {
    let whole = head.bytes.ends_with(b"\n");
    let mut lines: Vec<&[u8]> = head
        .lines()
        .filter(|l| !l.trim_ascii().is_empty())
        .take(TOLD_FROM + 1)
        .collect();
    if !whole && lines.len() > 1 {
        lines.pop();
    }
    let named = lines.first().and_then(|l| heading(l));
    let first = usize::from(named.is_some());
    let told = |line: &&[u8]| pair(line, named.or_else(|| plain(line)), 1).is_some();
    lines.len() > first && lines[first..].iter().all(told)
}

/// The first line that keeps a file from being `count,elapsed`, and what is wrong with it: the
/// heading names elapsed times, or there is none, and most lines have them.
pub(super) fn malformed(head: &Head<'_>) -> Option<(u64, String)> {
    let is_whole = head.bytes.ends_with(b"\n");
    let mut lines: Vec<(u64, &[u8])> = (1..)
        .zip(head.lines())
        .filter(|(_, l)| !l.trim_ascii().is_empty())
        .take(TOLD_FROM + 1)
        .collect();
    if !is_whole && lines.len() > TOLD_FROM {
        lines.pop();
    }
    let (_, first) = lines.first()?;
    let named = heading(first);
    if named.is_some_and(|_| !names_elapsed(first)) {
        return None;
    }
    let under = lines.get(usize::from(named.is_some())..)?;
    let is_pair = |line: &[u8]| pair(line, named.or_else(|| plain(line)), 1).is_some();
    let pairs = under.iter().filter(|(_, l)| is_pair(l)).count();
    if 2 * pairs <= under.len() {
        return None;
    }
    let (number, line) = under.iter().find(|(_, l)| !is_pair(l))?;
    let layout = named.or_else(|| plain(line));
    Some((*number, wrong(line, layout)))
}

/// Whether a heading has a word for elapsed times.
fn names_elapsed(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line).to_ascii_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|w| ELAPSED.contains(&w))
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

/// The layout that a heading names, if the line is such a heading. Of two columns the second is
/// elapsed time whatever it is called; one or more than two have to name it.
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
    let elapsed = parts.iter().position(|p| has(p, ELAPSED));
    let elapsed = match (parts.len(), elapsed) {
        (2, found) => found.unwrap_or(1),
        (_, found) => found?,
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
    lines: Lines,
    state: State,
}

#[derive(Debug)]
struct State {
    file: String,
    layout: Option<Layout>,
    started: bool,
    last: Option<u64>,
    tally: Tally,
    budget: TallyBudget,
    series: GrowingSeries,
}

impl CountElapsedReader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(_options: &Options, file: &str) -> CountElapsedReader {
        CountElapsedReader {
            lines: Lines::default(),
            state: State {
                file: file.to_owned(),
                layout: None,
                started: false,
                last: None,
                tally: Tally::default(),
                budget: TallyBudget::default(),
                series: GrowingSeries::new(Axis::Sequence),
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
        let lines = self.lines.end(|line| {
            sink.notes.add(
                Severity::Note,
                "csv.last_line",
                Some(line.number),
                None,
                || "the last line has no end: its number may be cut; counted as it is".to_owned(),
            );
            state.line(line, sink);
        });
        if state.tally.count() > 0 {
            state.give(sink, out);
        }
        Ended {
            lines,
            facts: Vec::new(),
        }
    }
}

impl State {
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
        });
        out.yielded += self.tally.count();
        out.rows.push(row);
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
            ("1;5\n2;6\nb;7\n", Some((3, "'b' is not a count"))),
            ("elapsed_us\n5\n6\n-7\n", Some((4, "'-7' is not a number"))),
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
            ("hello", None),
        ] {
            assert_eq!(of(text), want, "{text}");
        }
    }
}
