//! Windows that a text states in words, `a 3 Hour Workload`, `a test for 10 minutes`: kept with
//! their line, to be compared with what volumes and rates imply. And unlike sides of a comparison,
//! `15 HDDs compared to 8 SSDs`.

use crate::awr::cell::GridCell;
use crate::origin::{SourceLine, SourcedCell};
use crate::quick::{QuickWord, has_any};
use crate::sheets::Sheets;
use measure::printed;

/// Statements of a file that are kept.
const KEPT: usize = 50;

/// Every line that states a window or a load contains one of these.
const WORDS: [QuickWord; 5] = [
    QuickWord::new("hour"),
    QuickWord::new("hr"),
    QuickWord::new("min"),
    QuickWord::new("load average"),
    QuickWord::new("compared to"),
];
/// What platforms are made of, as such a comparison names it.
const PARTS: [&str; 12] = [
    "hdd",
    "ssd",
    "drive",
    "disk",
    "spindle",
    "cpu",
    "core",
    "socket",
    "cache",
    "ram",
    "memory",
    "controller",
];

/// The windows that a file states.
#[derive(Debug, Default)]
pub struct StatedWindows {
    found: Vec<(u64, [SourcedCell; 2])>,
    loads: Vec<(u64, SourcedCell)>,
    unlike: Vec<(u64, [SourcedCell; 2])>,
}

impl StatedWindows {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64) {
        if !has_any(line, &WORDS) {
            return;
        }
        // Of the same length as the line, so that places are the same.
        let small = line.to_ascii_lowercase();
        let source = SourceLine::new(number, line);
        self.load_average(source, &small);
        self.unlike(source);
        let context = [
            "workload", "test", "period", "running", "ran ", "interval", "window",
        ];
        if self.found.len() >= KEPT || !context.iter().any(|c| small.contains(c)) {
            return;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            let [n, unit] = pair else { continue };
            let unit = unit.trim_matches(|c: char| !c.is_alphabetic());
            let seconds = match unit.to_ascii_lowercase().as_str() {
                "hour" | "hours" | "hr" | "hrs" => 3600.0,
                "minute" | "minutes" | "min" | "mins" => 60.0,
                _ => continue,
            };
            if let Some(value) = printed::plain(n).filter(|n| *n > 0.0) {
                let mut words = GridCell::default();
                pair.iter().for_each(|w| words.join(w, source.span(w)));
                let seconds = source.scaled(n, value, seconds);
                self.found.push((number, [seconds, words.sourced()]));
            }
        }
    }

    /// `a load average around 75%`.
    fn load_average(&mut self, line: SourceLine<'_>, small: &str) {
        let Some(at) = small
            .find("load average")
            .filter(|_| self.loads.len() < KEPT)
        else {
            return;
        };
        let word = line.text[at..].split_whitespace().find(|w| w.contains('%'));
        let shown = word.map(|w| w.trim_end_matches(|c: char| !c.is_ascii_digit()));
        if let Some((shown, pct)) = shown.and_then(|s| Some((s, printed::plain(s)?))) {
            self.loads.push((line.number, line.scaled(shown, pct, 1.0)));
        }
    }

    /// `15 HDDs compared to 8 SSDs`, `512MB of cache compared to the 4GB`: amounts of one part.
    fn unlike(&mut self, line: SourceLine<'_>) {
        for (at, _) in line.text.match_indices(" compared to ") {
            let (before, after) = (&line.text[..at], &line.text[at + 13..]);
            let is_amount = |word: &str| {
                word.starts_with(|c: char| c.is_ascii_digit()) && printed::number(word).is_some()
            };
            // The amount, and its part behind it: up to three words.
            let head = before.split_inclusive(' ').rev().take(3);
            let head = head.scan(0, |length, word| {
                *length += word.len();
                Some((*length, word.trim()))
            });
            let begin = head
                .filter(|(_, word)| is_amount(word))
                .map(|(length, _)| length);
            let begin = begin
                .last()
                .and_then(|length| before.get(before.len() - length..));
            let tail = after.strip_prefix("the ").unwrap_or(after);
            let mut words = tail.split([' ', ',', '.', ';']);
            let other = words.next().filter(|word| is_amount(word));
            let (Some(begin), Some(other)) = (begin, other) else {
                continue;
            };
            let small = begin.to_ascii_lowercase();
            let is_part = PARTS.iter().any(|part| small.contains(part));
            // Of a bare number the part is behind it.
            let other_end = match other.bytes().all(|b| b.is_ascii_digit()) {
                true => other.len() + 1 + words.next().map_or(0, str::len),
                false => other.len(),
            };
            let is_alike = begin.split(' ').next() == Some(other);
            let other = tail.get(..other_end).unwrap_or(other);
            if is_part && !is_alike && self.unlike.len() < KEPT {
                let sides = [begin, other].map(|side| line.text(side));
                self.unlike.push((line.number, sides));
            }
        }
    }

    /// Gives them, where the file holds evidence to hold them against.
    pub fn end(self, sheets: &mut Sheets) {
        if sheets.found == 0 {
            return;
        }
        for (line, cells) in self.found {
            let columns = [("seconds", "Seconds"), ("words", "As printed")];
            let table = sheets.open(
                "stated_window",
                "A window that the text states",
                line,
                &columns,
            );
            sheets.sourced_row(table, line, cells.into());
            sheets.found -= 1;
        }
        for (line, sides) in self.unlike {
            let columns = [("one", "One side"), ("other", "Other side")];
            let title = "Sides of a comparison that the text calls unlike";
            let table = sheets.open("stated_unlike", title, line, &columns);
            sheets.sourced_row(table, line, sides.into());
            sheets.found -= 1;
        }
        for (line, pct) in self.loads {
            let title = "A load average stated in percent";
            let table = sheets.open("stated_load_average", title, line, &[("pct", "Stated %")]);
            sheets.sourced_row(table, line, vec![pct]);
            sheets.found -= 1;
        }
    }
}
