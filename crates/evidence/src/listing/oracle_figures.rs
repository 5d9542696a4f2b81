//! The figures of listings of `v$system_event` and `v$sysstat`: their headings, units, and averages
//! that are not their time over their waits.

use super::oracle_layout::{CONTAINERS, EVENT_NAMES, INSTANCES, Layout, MOMENTS, SNAPS};
use crate::Notes;
use crate::awr::cell::GridCell;
use crate::notes::quote;
use crate::origin::SourcedCell;
use measure::imported::{Cell, Severity};
use measure::printed;

/// A hundredth of a second in microseconds: the unit of `TIME_WAITED`.
const HUNDREDTH_US: f64 = 10_000.0;
/// In milliseconds: the unit of `AVERAGE_WAIT`.
const HUNDREDTH_MS: f64 = 10.0;

/// Our keys, the headings of the view, and the factor to our unit; the first heading that a
/// listing has is read.
pub(super) type Figure = (&'static str, &'static [(&'static str, f64)]);

pub(super) const EVENT_FIGURES: [Figure; 7] = [
    ("waits", &[("TOTAL_WAITS", 1.0)]),
    ("timeouts", &[("TOTAL_TIMEOUTS", 1.0)]),
    (
        "time_us",
        &[("TIME_WAITED_MICRO", 1.0), ("TIME_WAITED", HUNDREDTH_US)],
    ),
    ("waits_fg", &[("TOTAL_WAITS_FG", 1.0)]),
    (
        "time_fg_us",
        &[
            ("TIME_WAITED_MICRO_FG", 1.0),
            ("TIME_WAITED_FG", HUNDREDTH_US),
        ],
    ),
    (
        AVERAGES[0].0,
        &[
            ("AVERAGE_WAIT", HUNDREDTH_MS),
            ("AVERAGE_WAIT_MS", 1.0),
            ("AVG_WAIT_MS", 1.0),
            ("AVG_MS", 1.0),
            ("AVERAGE_WAIT_MICRO", 1e-3),
            ("AVG_WAIT_US", 1e-3),
            ("AVG_US", 1e-3),
        ],
    ),
    (AVERAGES[1].0, &[("AVERAGE_WAIT_FG", HUNDREDTH_MS)]),
];
/// The heading of a figure that is shown in our unit.
pub(super) fn shown(key: &str, heading: &'static str, factor: f64) -> &'static str {
    match key {
        _ if factor == 1.0 => heading,
        "time_us" => "TIME_WAITED us",
        "time_fg_us" => "TIME_WAITED_FG us",
        "avg_wait_ms" => "AVERAGE_WAIT ms",
        "avg_wait_fg_ms" => "AVERAGE_WAIT_FG ms",
        _ => heading,
    }
}
/// Averages as printed, with the columns of the waits and of their time: they are no counters.
pub(super) const AVERAGES: [(&str, usize, usize); 2] =
    [("avg_wait_ms", 0, 2), ("avg_wait_fg_ms", 3, 4)];
/// The mean of a line, which has more digits than the printed average.
pub(super) const MEAN: (&str, &str) = ("mean_ms", "Mean ms");

pub(super) const STATISTIC_FIGURES: [Figure; 1] = [("value", &[("VALUE", 1.0), ("TOTAL", 1.0)])];
/// The mean of an event in microseconds, of the columns of its waits and of their time.
pub(super) fn mean_us(
    figures: &[(&str, &str, SourcedCell)],
    waits: usize,
    time: usize,
) -> Option<f64> {
    let of = |at: usize| match figures.get(at).map(|(.., cell)| &cell.cell) {
        Some(Cell::Count(n)) => Some(*n as f64),
        Some(Cell::Real(x)) => Some(*x),
        _ => None,
    };
    let waits = of(waits).filter(|n| *n > 0.0)?;
    Some(of(time)? / waits)
}

/// Reports a printed average that is not the time over the waits, whatever was rounded.
pub(super) fn check_averages<'a>(
    name: &str,
    figures: &[(&str, &str, SourcedCell)],
    of: &dyn Fn(&[&str]) -> Option<&'a GridCell>,
    line: u64,
    notes: &mut Notes,
) {
    for (key, waits, time) in AVERAGES {
        let headings = EVENT_FIGURES.iter().find(|(of, _)| *of == key);
        let printed = headings.and_then(|(_, headings)| {
            let found = headings
                .iter()
                .find_map(|(h, ms)| Some((*h, *ms, of(&[*h])?)));
            let (heading, unit_ms, word) = found?;
            Some((heading, unit_ms, printed::number(word)?))
        });
        let Some(((heading, unit_ms, printed), mean_us)) =
            printed.zip(mean_us(figures, waits, time))
        else {
            continue;
        };
        let mean = mean_us / 1000.0 / unit_ms;
        // A listing may print whole hundredths of time, too.
        if (printed.value - mean).abs() > printed.half_digit() + 1e-3 * mean {
            let at = Some(line);
            notes.add(Severity::Warning, "sysevent.average", at, None, || {
                let (event, value) = (quote(name.as_bytes()), printed.value);
                format!("{heading} of {event} is {value}, and its time over its waits is {mean:.2}")
            });
        }
    }
}

/// Reports columns of a listing of events that have no place in the table.
pub(super) fn note_columns(layout: &Layout, line: u64, notes: &mut Notes) {
    let keys = [SNAPS, MOMENTS, CONTAINERS, EVENT_NAMES, INSTANCES].concat();
    let is_read = |name: &&String| {
        let mut headings = EVENT_FIGURES.iter().flat_map(|(_, of)| *of);
        keys.contains(&name.as_str()) || headings.any(|(heading, _)| heading == name)
    };
    let others: Vec<&str> = layout
        .names
        .iter()
        .filter(|n| !is_read(n))
        .map(String::as_str)
        .collect();
    if layout.is_event && !others.is_empty() {
        notes.add(Severity::Note, "sysevent.columns", Some(line), None, || {
            format!("columns that are left out: {}", others.join(", "))
        });
    }
}

/// The figure of a column, by the first of its headings that the listing has.
pub(super) fn figure<'a>(
    key: &'static str,
    headings: &'static [(&'static str, f64)],
    of: &dyn Fn(&[&str]) -> Option<&'a GridCell>,
) -> (&'static str, &'static str, SourcedCell) {
    let found = headings
        .iter()
        .find_map(|(h, factor)| Some((*h, *factor, of(&[*h])?)));
    let Some((heading, factor, word)) = found else {
        return (key, headings[0].0, SourcedCell::blank());
    };
    let number = printed::number(word).filter(|n| n.suffix.is_empty());
    let cell = match number {
        Some(_) if factor != 1.0 => word.scaled(Some(factor)),
        Some(_) => word.number(),
        None => SourcedCell::blank(),
    };
    (key, shown(key, heading, factor), cell)
}

/// Whether a figure is wider than its column: `####`.
pub(super) fn is_wide<'a>(
    (_, headings): &Figure,
    of: &dyn Fn(&[&str]) -> Option<&'a GridCell>,
) -> bool {
    let word = headings.iter().find_map(|(h, _)| of(&[*h]));
    word.is_some_and(|word| !word.is_empty() && word.bytes().all(|b| b == b'#'))
}

/// A number of a snapshot or an instance, or its text.
pub(super) fn label(word: &GridCell) -> SourcedCell {
    match word.parse::<u64>() {
        Ok(_) => word.number(),
        Err(_) => word.sourced_or_blank(),
    }
}
