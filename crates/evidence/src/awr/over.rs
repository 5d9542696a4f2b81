//! What the histograms of a report say of redo: the share of its waits over 1, 8, 16 and 32 ms.
//!
//! A histogram's buckets are percent of the event's waits, so what is over a bound is the sum of
//! the buckets behind it, where the last one is open. Each is rounded to a tenth: `.0` is under
//! 0.05 and a blank is no wait, so a sum of `.0` alone is left blank. Bounds are powers of two of
//! a millisecond (of 1024 µs from 12.2 on, as the report says); 10 and 20 ms are none of them, and
//! are not guessed.

use crate::Notes;
use crate::origin::{CellSource, SourcedCell};
use crate::sheets::Sheets;
use measure::imported::{Cell, Severity};
use measure::origin::{OriginInput, TextSpan};

/// The bounds, in milliseconds.
const BOUNDS_MS: [f64; 4] = [1.0, 8.0, 16.0, 32.0];
/// The waits.
const EVENTS: [&str; 3] = [
    "log file parallel write",
    "log file sync",
    "target log write size",
];

/// A share and the buckets that it was computed of.
#[derive(Debug)]
struct ShareOver {
    /// `None` where each bucket is printed as `.0`.
    pct: Option<f64>,
    buckets: Vec<TextSpan>,
}

/// What was found so far, by event and bound.
#[derive(Debug, Default)]
pub struct SharesOver {
    found: [[Option<ShareOver>; BOUNDS_MS.len()]; EVENTS.len()],
    names: [SourcedCell; EVENTS.len()],
    line: Option<u64>,
}

impl SharesOver {
    /// Takes a row of a histogram: its headings as [`super::squeeze`] gives them, and its cells.
    pub fn row(&mut self, line: u64, headings: &[String], cells: &[SourcedCell]) {
        let Some(name) = cells.first() else {
            return;
        };
        let Cell::Text(event) = &name.cell else {
            return;
        };
        let Some(slot) = EVENTS.iter().position(|e| e == event) else {
            return;
        };
        if !headings.last().is_some_and(|h| h.starts_with('>')) {
            return;
        }
        for (i, heading) in headings.iter().enumerate().skip(2) {
            let bound = heading.strip_prefix('<').filter(|h| !h.starts_with('='));
            let ms = bound.and_then(|b| b.strip_suffix("ms")?.parse::<f64>().ok());
            let at = ms.and_then(|ms| BOUNDS_MS.iter().position(|b| *b == ms));
            if let Some(share) = at.and_then(|at| self.found[slot].get_mut(at)) {
                self.line.get_or_insert(line);
                share.get_or_insert_with(|| over(cells.get(i + 1..).unwrap_or_default()));
                if self.names[slot].cell == Cell::Blank {
                    self.names[slot] = name.clone();
                }
            }
        }
    }

    /// Gives the table, if there is anything to give.
    pub fn give(&self, sheets: &mut Sheets, notes: &mut Notes) {
        let Some(line) = self.line else {
            return;
        };
        let columns = [
            ("event", "Event"),
            ("over_1ms_pct", "Over 1ms %"),
            ("over_8ms_pct", "Over 8ms %"),
            ("over_16ms_pct", "Over 16ms %"),
            ("over_32ms_pct", "Over 32ms %"),
        ];
        let title = "Redo waits: share over a bound, from the report's histograms";
        let table = sheets.open("redo_waits_over", title, line, &columns);
        let formula = "sum of the buckets over the bound, each rounded to a tenth";
        for (name, found) in self.names.iter().zip(&self.found) {
            if found.iter().all(Option::is_none) {
                continue;
            }
            let is_tiny = |s: &ShareOver| s.pct.is_none();
            if found.iter().flatten().any(is_tiny) {
                let at = Some(line);
                notes.add(Severity::Note, "awr.share_under_a_tenth", at, None, || {
                    "a share over a bound is blank where each bucket over it is printed as `.0`: \
                     each of them is under 0.05 percent"
                        .to_owned()
                });
            }
            let cells = found.iter().map(|share| match share {
                Some(share) => {
                    let buckets = share.buckets.iter().copied().map(OriginInput::Span);
                    SourcedCell::computed(share.pct, formula, buckets.collect())
                }
                None => SourcedCell::blank(),
            });
            let cells = std::iter::once(name.clone()).chain(cells).collect();
            sheets.sourced_row(table, line, cells);
            sheets.found -= 1;
        }
    }
}

/// The share of the buckets behind a bound. No bucket is 0: a blank one had no wait.
fn over(tail: &[SourcedCell]) -> ShareOver {
    let (mut sum, mut buckets) = (0.0, Vec::new());
    for cell in tail {
        sum += match &cell.cell {
            Cell::Real(x) => *x,
            Cell::Count(n) => *n as f64,
            Cell::Blank | Cell::Text(_) => 0.0,
        };
        if let CellSource::Read(span) = cell.source {
            buckets.push(span);
        }
    }
    // Sums of tenths have one decimal.
    let pct = (sum * 10.0).round() / 10.0;
    let is_known = buckets.is_empty() || pct > 0.0;
    ShareOver {
        pct: is_known.then_some(pct),
        buckets,
    }
}
