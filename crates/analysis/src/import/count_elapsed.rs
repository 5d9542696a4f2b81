//! `count,elapsed`: what the script of study 000 wrote of a trace, and whoever did alike.
//!
//! The script wrote no heading and microseconds. A heading may name another unit and the event.

use super::gathered::{Ended, row};
use super::kind::Head;
use super::lines::{Line, Lines};
use super::notes::quote;
use super::series::Binned;
use super::tally::{Budget, Tally};
use super::{Gathered, Options, Sink, number};
use measure::WaitEvent;
use measure::imported::{Axis, Series, Severity};

/// Lines from which such a file is told.
const TOLD_FROM: usize = 20;

/// Whether the head of a file is one: a heading at most, then numbers in pairs.
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
    let first = usize::from(lines.first().is_some_and(|l| heading(l).is_some()));
    lines.len() > first && lines[first..].iter().all(|l| pair(l, 1).is_some())
}

/// A line of two numbers: `1,501`, `"1";"501"`, `1<TAB>501`; the second times `scale`.
fn pair(line: &[u8], scale: u64) -> Option<(u64, u64)> {
    let (a, b) = fields(line)?;
    Some((number::whole_u64(a)?, number::scaled(b, scale)?))
}

fn fields(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = line.split(|b| matches!(b, b',' | b';' | b'\t'));
    let (a, b) = (parts.next()?, parts.next()?);
    let rest_is_empty = parts.all(|p| p.trim_ascii().is_empty());
    rest_is_empty.then(|| (bare(a), bare(b)))
}

fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    match field {
        [b'"', inner @ .., b'"'] => inner.trim_ascii(),
        _ => field,
    }
}

/// Nanoseconds of a unit of the column that a heading names, if the line is such a heading.
fn heading(line: &[u8]) -> Option<Option<u64>> {
    let (a, b) = fields(line)?;
    let is_name = |f: &[u8]| f.first().is_some_and(u8::is_ascii_alphabetic);
    if !is_name(a) || !is_name(b) {
        return None;
    }
    let name = String::from_utf8_lossy(b).to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let has = |all: &[&str]| words.iter().any(|w| all.contains(w));
    Some(if has(&["us", "usec", "micros", "microseconds"]) {
        Some(1_000)
    } else if has(&["ms", "msec", "millis", "milliseconds"]) {
        Some(1_000_000)
    } else if has(&["ns", "nsec", "nanos", "nanoseconds"]) {
        Some(1)
    } else {
        None
    })
}

/// Reads one file.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    state: State,
}

#[derive(Debug)]
struct State {
    file: String,
    unit_ns: u64,
    unit_told: bool,
    started: bool,
    last: Option<u64>,
    tally: Tally,
    budget: Budget,
    series: Binned,
}

impl Reader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(_options: &Options, file: &str) -> Reader {
        Reader {
            lines: Lines::default(),
            state: State {
                file: file.to_owned(),
                unit_ns: 1_000,
                unit_told: false,
                started: false,
                last: None,
                tally: Tally::default(),
                budget: Budget::default(),
                series: Binned::new(Axis::Sequence),
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
                || {
                    "the last line has no end: its number may be cut; counted as it stands"
                        .to_owned()
                },
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
        match pair(text, self.unit_ns) {
            Some((count, elapsed_ns)) if !line.cut => self.take(count, elapsed_ns, at, sink),
            _ if first && heading(text).is_some() => {
                let unit = heading(text).flatten();
                self.unit_told = unit.is_some();
                self.unit_ns = unit.unwrap_or(self.unit_ns);
            }
            _ => {
                let column = fields(text).map_or(1, |(a, _)| {
                    // The field that is no number.
                    let skipped = if number::whole_u64(a).is_some() {
                        a.len() + 1
                    } else {
                        0
                    };
                    skipped as u64 + 1
                });
                sink.notes.add(
                    Severity::Warning,
                    "csv.not_a_pair",
                    at,
                    Some(column),
                    || format!("{} is no `count,elapsed` and was left out", quote(text)),
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
        let unit = match (self.unit_told, self.unit_ns) {
            (true, _) => "the unit is the heading's",
            (false, _) => "taken as microseconds, as that script wrote",
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

    #[test]
    fn pairs_in_every_dress() {
        for text in [
            "1,501",
            "1;501",
            "1\t501",
            " 1 , 501 ",
            "\"1\",\"501\"",
            "1,501,",
        ] {
            assert_eq!(pair(text.as_bytes(), 1000), Some((1, 501_000)), "{text}");
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
            assert_eq!(pair(text.as_bytes(), 1000), None, "{text}");
        }
        assert_eq!(heading(b"count,elapsed"), Some(None));
        assert_eq!(heading(b"n;elapsed_ms"), Some(Some(1_000_000)));
        assert_eq!(heading(b"1,2"), None);
    }
}
