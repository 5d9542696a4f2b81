//! Rates of a run, interval by interval: stalls, and levels that a mean hides.

use super::super::evidence::view::{Tables, lines, show};
use super::super::note::Note;
use super::super::{Caution, catalogue};
use super::tails::at;
use crate::stats::bootstrap::quantile;
use crate::stats::change::{Segment, segments};
use crate::thresholds::Thresholds;
use measure::imported::Table;

/// Intervals of a series that a level has to last.
const LEVEL_MIN: usize = 3;

pub(super) fn collect(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    for (id, rate, what) in [
        ("pgbench_progress", "tps", "transactions/s"),
        ("sysbench_intervals", "tps", "transactions/s"),
    ] {
        for table in tables.of(id) {
            if !stalls(table, rate, what, notes) {
                levels(table, rate, what, t, notes);
            }
        }
    }
}

/// Intervals in which hardly anything ended, between others at their usual rate. Whether there are
/// any.
fn stalls(table: &Table, rate: &str, what: &str, notes: &mut Vec<Note>) -> bool {
    /// Part of the middle rate under which an interval is a stall, and intervals to know it from.
    const STALLED: f64 = 0.05;
    const INTERVALS_MIN: usize = 6;
    let known: Vec<(f64, f64)> = lines(table)
        .filter_map(|line| Some((line.number("at_s")?, line.number(rate)?)))
        .collect();
    let mut rates: Vec<f64> = known.iter().map(|(_, rate)| *rate).collect();
    let middle = quantile(&mut rates, 0.5);
    let stalled = known.iter().filter(|(_, rate)| *rate <= STALLED * middle);
    let ends: Vec<String> = stalled.map(|(at_s, _)| format!("{at_s}")).collect();
    if ends.is_empty() || middle <= 0.0 || known.len() < INTERVALS_MIN {
        return false;
    }
    let shown: Vec<&str> = ends.iter().take(6).map(String::as_str).collect();
    let more = if ends.len() > shown.len() {
        ", …"
    } else {
        ""
    };
    let claim = format!(
        "hardly anything ended in {} of {} intervals (those that end at {} s{more}), and {} {what} is the middle \
         rate: stalls; a mean describes neither{}",
        ends.len(),
        known.len(),
        shown.join(", "),
        show(middle),
        at(table)
    );
    let entry = &catalogue::DIAGNOSIS_STALLS;
    notes.push(
        Note::of(entry, Caution, claim)
            .number("stalled", ends.len() as f64)
            .number("intervals", known.len() as f64)
            .number("middle_rate", middle),
    );
    true
}

/// A rate that stays at one level and then at another: its mean describes neither.
fn levels(table: &Table, rate: &str, what: &str, t: &Thresholds, notes: &mut Vec<Note>) {
    let known: Vec<(f64, f64)> = lines(table)
        .filter_map(|line| Some((line.number("at_s")?, line.number(rate)?)))
        .collect();
    let rates: Vec<f64> = known.iter().map(|(_, rate)| *rate).collect();
    let Ok(found) = segments(&rates, LEVEL_MIN) else {
        return;
    };
    let level = |pick: fn(f64, f64) -> f64| found.iter().map(|s| mean_of(s, &rates)).reduce(pick);
    let (Some(low), Some(high)) = (level(f64::min), level(f64::max)) else {
        return;
    };
    let lost = 100.0 * (1.0 - low / high);
    if found.len() < 2 || !lost.is_finite() || lost < t.step_pct.value {
        return;
    }
    let named: Vec<String> = found
        .iter()
        .map(|s| {
            let begin = s.start.checked_sub(1).and_then(|at| known.get(at));
            let begin = begin.map_or(0.0, |(at_s, _)| *at_s);
            format!("{} {what} from {begin} s on", show(mean_of(s, &rates)))
        })
        .collect();
    let claim = format!(
        "the rate changed its level: {}; the mean of the whole run describes none of them{}",
        named.join(", "),
        at(table)
    );
    notes.push(
        Note::of(&catalogue::DIAGNOSIS_LEVELS, Caution, claim)
            .number("highest", high)
            .number("lowest", low)
            .limit(
                format!("levels at least {} % apart", t.step_pct.value),
                &t.step_pct,
            ),
    );
}

/// The mean of a segment without the intervals in which the rate was on its way.
fn mean_of(segment: &Segment, rates: &[f64]) -> f64 {
    /// Part of the median that a value may be off.
    const NEAR: f64 = 0.1;
    let all = rates.get(segment.start..segment.end).unwrap_or_default();
    let near = |rate: &&f64| (**rate - segment.level).abs() <= NEAR * segment.level;
    let near: Vec<f64> = all.iter().filter(near).copied().collect();
    match near.len() {
        0 => segment.level,
        n => near.iter().sum::<f64>() / n as f64,
    }
}
