//! Change points of imported waits over time or sequence.

use crate::findings::Caution;
use crate::findings::catalogue;
use crate::findings::note::Note;
use crate::format;
use crate::stats::change::{Segment, segments};
use measure::imported::{Axis, Imported, Series};

/// Points of a series below which no level is looked for.
const POINTS_MIN: usize = 40;
/// Share of the points that a level has at least.
const SHORTEST: usize = 20;
/// Highest level over the lowest from which the levels are apart.
const APART: f64 = 1.25;
/// Waits of a point on average: fewer have no mean to speak of.
const WAITS_MIN: f64 = 10.0;
/// Levels that a finding names.
const NAMED: usize = 6;

pub(super) fn collect(imported: &Imported, notes: &mut Vec<Note>) {
    for series in &imported.series {
        notes.extend(of_series(imported, series));
    }
}

fn of_series(imported: &Imported, series: &Series) -> Option<Note> {
    let points: Vec<_> = series
        .points
        .iter()
        .filter(|p| p.count > 0 && p.mean_ns > 0.0)
        .collect();
    let waits: u64 = points.iter().map(|p| p.count).sum();
    if points.len() < POINTS_MIN || (waits as f64) < WAITS_MIN * points.len() as f64 {
        return None;
    }
    // Waits are skewed: their logarithms have a level.
    let values: Vec<f64> = points.iter().map(|p| p.mean_ns.ln()).collect();
    let found = segments(&values, points.len().div_ceil(SHORTEST)).ok()?;
    let levels = || found.iter().map(|s| s.level.exp());
    let (low, high) = levels().fold((f64::INFINITY, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)));
    if found.len() < 2 || high < APART * low {
        return None;
    }
    let unit = match series.axis {
        Axis::Time => " s",
        Axis::Sequence => "",
    };
    let begins = |s: &Segment| points.get(s.start).map_or(0.0, |p| p.at);
    let named = found.iter().take(NAMED).map(|s| {
        let level = format::latency(s.level.exp());
        let at = format::digits(begins(s));
        match series.axis {
            Axis::Time => format!("{level} from {at}{unit} on"),
            Axis::Sequence => format!("{level} from wait {at} on"),
        }
    });
    let named: Vec<String> = named.collect();
    let more = if found.len() > NAMED {
        ", and more"
    } else {
        ""
    };
    let name = match imported.sources.as_slice() {
        [one] => one.file.clone(),
        _ => format!("process {} of the import", series.row + 1),
    };
    let claim = format!(
        "{} of {name} changes its level {}: means of {}{more}",
        series.event.replace('_', " "),
        match found.len() {
            2 => "once".to_owned(),
            n => format!("{} times", n - 1),
        },
        named.join(", ")
    );
    Some(
        Note::of(&catalogue::EVIDENCE_CHANGE, Caution, claim)
            .number("changes", (found.len() - 1) as f64)
            .number("first_change_at", found.get(1).map_or(0.0, begins))
            .number("lowest_ns", low)
            .number("highest_ns", high),
    )
}
