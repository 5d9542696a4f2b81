//! What became of every line of a file: the regions that were read, by the tables of which they
//! are rows, and those that were passed over, each with the reason.
//!
//! Invariants: regions follow each other without a gap and cover all lines; they are bounded.

use super::snapshots::Snapshot;
use measure::imported::{SourceRegion, Table};
use measure::origin::{CellOrigin, OriginInput};
use std::collections::BTreeMap;

/// Regions of a file that are kept.
const REGIONS_MAX: usize = 500;
/// Marks of a file that are kept.
const MARKS_MAX: usize = 20_000;
/// What lines are that no reader names.
const UNKNOWN: &str = "not part of a table that is read";
/// What lines are that contain no figure.
const WORDS: &str = "text without figures";

/// What readers say of lines while they read.
#[derive(Debug, Default)]
pub struct LineMarks {
    marks: Vec<LineMark>,
    /// Runs of lines that contain digits, where a reader counts them.
    figures: Vec<(u64, u64)>,
    is_counted: bool,
}

#[derive(Debug)]
struct LineMark {
    first: u64,
    last: u64,
    what: String,
    is_read: bool,
}

impl LineMarks {
    /// Lines that were passed over, and why.
    pub fn passed(&mut self, first: u64, last: u64, why: impl FnOnce() -> String) {
        self.add(first, last, why, false);
    }

    /// Lines that were read as something other than rows of a table.
    pub fn read_as(&mut self, first: u64, last: u64, what: &str) {
        self.add(first, last, || what.to_owned(), true);
    }

    fn add(&mut self, first: u64, last: u64, what: impl FnOnce() -> String, is_read: bool) {
        if let Some(before) = self.marks.last_mut().filter(|m| m.is_read == is_read)
            && before.last + 1 == first
        {
            let what = what();
            if before.what == what {
                before.last = last;
                return;
            }
            return self.add_mark(first, last, what, is_read);
        }
        if self.marks.len() < MARKS_MAX {
            self.add_mark(first, last, what(), is_read);
        }
    }

    fn add_mark(&mut self, first: u64, last: u64, what: String, is_read: bool) {
        if self.marks.len() < MARKS_MAX {
            self.marks.push(LineMark {
                first,
                last,
                what,
                is_read,
            });
        }
    }

    /// Takes a line: whether it contains a digit.
    pub fn line(&mut self, number: u64, text: &[u8]) {
        self.is_counted = true;
        if !text.iter().any(u8::is_ascii_digit) {
            return;
        }
        // Beyond the bound every line may contain one.
        let is_full = self.figures.len() >= MARKS_MAX;
        match self.figures.last_mut() {
            Some((_, last)) if is_full || *last + 1 == number => *last = number,
            _ => self.figures.push((number, number)),
        }
    }

    fn has_figures(&self, first: u64, last: u64) -> bool {
        let at = self.figures.partition_point(|(_, end)| *end < first);
        !self.is_counted || self.figures.get(at).is_some_and(|(from, _)| *from <= last)
    }
}

/// The regions of a file of so many lines. `kind` is named where figures of whole lines were read
/// and no table has their places.
pub fn of(
    marks: &LineMarks,
    tables: &[Table],
    snapshots: &[Snapshot],
    lines: u64,
    kind: Option<&str>,
) -> Vec<SourceRegion> {
    let mut passed: Vec<&LineMark> = marks.marks.iter().filter(|m| !m.is_read).collect();
    passed.sort_by_key(|m| (m.first, m.last));
    let mut out = Growing {
        marks,
        passed,
        at: 0,
        kind,
        regions: Vec::new(),
        next: 1,
    };
    for (first, last, id) in read_runs(marks, tables, snapshots) {
        if first < out.next || last > lines {
            continue;
        }
        if first > out.next {
            out.gap_to(first - 1);
        }
        out.push(first, last, id, true);
    }
    out.gap_to(lines);
    out.bounded(lines)
}

/// Runs of lines that tables have cells from, in order. Lines without figures between two rows of
/// a table belong to it.
fn read_runs<'a>(
    marks: &'a LineMarks,
    tables: &'a [Table],
    snapshots: &[Snapshot],
) -> Vec<(u64, u64, &'a str)> {
    let mut lines: BTreeMap<u64, &str> = BTreeMap::new();
    for mark in marks.marks.iter().filter(|m| m.is_read) {
        (mark.first..=mark.last).for_each(|line| {
            lines.entry(line).or_insert(&mark.what);
        });
    }
    for line in snapshots.iter().flat_map(Snapshot::lines) {
        lines.insert(line, "event_histogram");
    }
    for table in tables {
        for cell in table.origins.iter().flat_map(|o| &o.cells) {
            let mut add = |line: u32| {
                lines.entry(u64::from(line)).or_insert(&table.id);
            };
            match cell {
                CellOrigin::Given => {}
                CellOrigin::Read(span) => add(span.line),
                CellOrigin::Scaled(scaled) => add(scaled.span.line),
                CellOrigin::Derived(derived) => {
                    for input in &derived.inputs {
                        if let OriginInput::Span(span) = input {
                            add(span.line);
                        }
                    }
                }
            }
        }
    }
    let mut runs: Vec<(u64, u64, &str)> = Vec::new();
    for (line, id) in lines {
        match runs.last_mut() {
            Some((_, last, of))
                if *of == id && (*last + 1 == line || !marks.has_figures(*last + 1, line - 1)) =>
            {
                *last = line;
            }
            _ => runs.push((line, line, id)),
        }
    }
    runs
}

struct Growing<'a> {
    marks: &'a LineMarks,
    /// Marks of lines that were passed over, in order, from the first that may still count.
    passed: Vec<&'a LineMark>,
    at: usize,
    kind: Option<&'a str>,
    regions: Vec<SourceRegion>,
    next: u64,
}

impl Growing<'_> {
    fn push(&mut self, first: u64, last: u64, what: &str, is_read: bool) {
        self.next = last + 1;
        let (read_as, passed_over) = match is_read {
            true => (what.to_owned(), String::new()),
            false => (String::new(), what.to_owned()),
        };
        if let Some(before) = self.regions.last_mut()
            && (before.read_as == read_as && before.passed_over == passed_over)
        {
            before.last = last;
            return;
        }
        self.regions.push(SourceRegion {
            first,
            last,
            read_as,
            passed_over,
        });
    }

    /// Lines up to this one that no table has cells from.
    fn gap_to(&mut self, last: u64) {
        while let Some(mark) = self
            .passed
            .get(self.at)
            .copied()
            .filter(|m| m.first <= last)
        {
            if mark.first > self.next {
                self.unknown_to(mark.first - 1);
            }
            if mark.last >= self.next {
                self.push(self.next, mark.last.min(last), &mark.what, false);
            }
            if mark.last > last {
                break;
            }
            self.at += 1;
        }
        if self.next <= last {
            self.unknown_to(last);
        }
    }

    fn unknown_to(&mut self, last: u64) {
        match self.kind {
            Some(kind) => self.push(self.next, last, kind, true),
            None if self.marks.has_figures(self.next, last) => {
                self.push(self.next, last, UNKNOWN, false);
            }
            None => self.push(self.next, last, WORDS, false),
        }
    }

    fn bounded(mut self, lines: u64) -> Vec<SourceRegion> {
        if self.regions.len() > REGIONS_MAX {
            let rest = self.regions.len() - REGIONS_MAX + 1;
            self.regions.truncate(REGIONS_MAX - 1);
            let first = self.regions.last().map_or(1, |r| r.last + 1);
            self.regions.push(SourceRegion {
                first,
                last: lines,
                read_as: format!("{rest} further regions, of which some were passed over"),
                passed_over: String::new(),
            });
        }
        self.regions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::origin::{RowOrigin, TextSpan};

    fn table(id: &str, lines: &[u32]) -> Table {
        let cell = |line: &u32| {
            CellOrigin::Read(TextSpan {
                line: *line,
                column: 1,
                length: 1,
            })
        };
        let origin = |line| RowOrigin {
            cells: vec![cell(line)],
            ..RowOrigin::default()
        };
        Table {
            id: id.to_owned(),
            origins: lines.iter().map(origin).collect(),
            ..Table::default()
        }
    }

    #[test]
    fn regions_cover_every_line_once() {
        let mut marks = LineMarks::default();
        let text = ["words", "1", "", "2", "left out 3", "4", "words", "9"];
        for (number, line) in (1..).zip(text) {
            marks.line(number, line.as_bytes());
        }
        marks.passed(5, 5, || "why".to_owned());
        let tables = [table("a", &[2, 4]), table("b", &[6])];
        let regions = of(&marks, &tables, &[], 8, None);
        let shown: Vec<String> = regions
            .iter()
            .map(|r| format!("{}-{} {}{}", r.first, r.last, r.read_as, r.passed_over))
            .collect();
        let want = [
            "1-1 text without figures",
            "2-4 a",
            "5-5 why",
            "6-6 b",
            "7-8 not part of a table that is read",
        ];
        assert_eq!(shown, want);
        let one = of(&LineMarks::default(), &[], &[], 3, Some("hlog"));
        assert_eq!((one.len(), one[0].last), (1, 3));
        let many: Vec<u32> = (1..4000).step_by(2).collect();
        let regions = of(&LineMarks::default(), &[table("a", &many)], &[], 4000, None);
        assert_eq!(regions.len(), REGIONS_MAX);
        assert!(regions.windows(2).all(|w| w[0].last + 1 == w[1].first));
        assert_eq!(regions.last().map(|r| r.last), Some(4000));
    }
}
