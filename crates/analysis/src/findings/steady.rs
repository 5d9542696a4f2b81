//! Whether rates hold: steady state over a window of rounds, decay, steps down to another level,
//! and plateaus that look like a provisioned cap.
//!
//! Rates are redo per second from the rows' intervals; a row that is too short is not spoken of.

use super::bucket;
use super::catalogue;
use super::disk::has_cloud_volume;
use super::note::Note;
use super::{Caution, Good, Info};
use crate::format;
use crate::rows::{name_of, rows_of, sync_of, workloads, write_of};
use crate::stats::change::{self, Segment};
use crate::stats::decay::{decay, plateau};
use crate::stats::steady::{Criterion, steadiness};
use crate::thresholds::Thresholds;
use measure::run::{Interval, Row, Run};
use measure::units::MB_BYTES;

/// Rounds of a window (SNIA Solid State Storage Performance Test Specification).
const ROUNDS: usize = 5;
/// Intervals of a level at least: a shorter one is a peak.
const SEGMENT_MIN: usize = 5;
/// Levels that a finding names.
const SEGMENTS_NAMED: usize = 6;

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let longest = run
        .rows
        .iter()
        .filter_map(|r| Some((r, r.elapsed_s.filter(|s| *s >= t.steady_min_s.value)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((row, elapsed_s)) = longest {
        state(row, elapsed_s, t, notes);
        let bucket = bucket::of(run, t).filter(|b| std::ptr::eq(b.soak, row));
        if let Some(bucket) = bucket {
            notes.push(bucket.note(run, t));
        } else if !fall(row, elapsed_s, t, notes) {
            changes(row, elapsed_s, t, notes);
        }
    }
    for workload in workloads(run) {
        cap(run, workload, t, notes);
    }
}

/// Mean rates, bytes per second, of `n` parts of equal length of the seconds from `from` on. `None`
/// where a part has no interval, or the redo of one is not known.
fn parts(intervals: &[Interval], from: f64, to: f64, n: usize) -> Option<Vec<f64>> {
    let length = (to - from) / n as f64;
    let mut sums = vec![(0.0, 0.0); n];
    for interval in intervals {
        let middle = interval.t_s - interval.seconds / 2.0;
        let part = ((middle - from) / length).floor();
        if part >= 0.0
            && let Some(sum) = sums.get_mut(part as usize)
        {
            sum.0 += interval.redo_bytes? as f64;
            sum.1 += interval.seconds;
        }
    }
    let rate = |(bytes, seconds): (f64, f64)| (seconds > 0.0).then(|| bytes / seconds);
    sums.into_iter().map(rate).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Redo a second, interval by interval.
fn rates(row: &Row) -> Vec<f64> {
    let whole = row.intervals.iter().filter(|i| i.seconds > 0.5);
    let rate = |i: &Interval| Some(i.redo_bytes? as f64 / i.seconds);
    whole.filter_map(rate).collect()
}

/// The window is the second half of the row, in five rounds.
fn state(row: &Row, elapsed_s: f64, t: &Thresholds, notes: &mut Vec<Note>) {
    let (range, slope) = (&t.steady_range_pct, &t.steady_slope_pct);
    let criterion = Criterion {
        window: ROUNDS,
        range: range.value / 100.0,
        slope: slope.value / 100.0,
    };
    let rounds = parts(&row.intervals, elapsed_s / 2.0, elapsed_s, ROUNDS);
    let judged = rounds.and_then(|r| steadiness(&r, &criterion).ok());
    let Some(found) = judged else {
        return;
    };
    let (span_pct, slope_pct) = (100.0 * found.range, 100.0 * found.slope);
    let words = if found.at_end { "steady" } else { "not steady" };
    let is_tilted = slope_pct.abs() > slope.value && span_pct <= range.value;
    let rate = found.mean / MB_BYTES;
    notes.push(
        Note::of(
            &catalogue::STEADY_STATE,
            if found.at_end { Good } else { Caution },
            format!(
                "The rate was {words} in the second half of {} ({} s): {} MB/s of redo, five rounds within {} of their mean, with a trend of {:+.1} %.",
                name_of(row),
                format::digits(elapsed_s),
                format::digits(rate),
                format::percent(span_pct),
                slope_pct,
            ),
        )
        .number("rate_mbps", rate)
        .number("span_pct", span_pct)
        .number("slope_pct", slope_pct)
        .number("round_s", elapsed_s / 2.0 / ROUNDS as f64)
        .limit(
            format!("span at most {} %, slope at most {} %", range.value, slope.value),
            if is_tilted { slope } else { range },
        )
        .advice_if(!found.at_end),
    );
}

/// A level that changed and did not stay down: change points of the rate, up or down.
fn changes(row: &Row, elapsed_s: f64, t: &Thresholds, notes: &mut Vec<Note>) {
    let limit = &t.decay_pct;
    let whole: Vec<&Interval> = row.intervals.iter().filter(|i| i.seconds > 0.5).collect();
    let rates = rates(row);
    if rates.len() != whole.len() {
        return;
    }
    let found = change::segments(&rates, SEGMENT_MIN).unwrap_or_default();
    let levels = || found.iter().map(|s| s.level);
    let (low, high) = levels().fold((f64::INFINITY, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)));
    let span = 100.0 * (high / low - 1.0);
    if found.len() < 2 || !span.is_finite() || span < limit.value {
        return;
    }
    let begins = |s: &Segment| whole.get(s.start).map_or(0.0, |i| i.t_s - i.seconds);
    let named = found.iter().take(SEGMENTS_NAMED).map(|s| {
        let level = format::digits(s.level / MB_BYTES);
        format!(
            "{level} MB/s from {} s on",
            format::digits(begins(s).max(0.0))
        )
    });
    let named: Vec<String> = named.collect();
    let more = match found.len() > SEGMENTS_NAMED {
        true => ", and more",
        false => "",
    };
    notes.push(
        Note::of(
            &catalogue::STEADY_CHANGE,
            Caution,
            format!(
                "The rate of {} changed its level {} in {} s: {}{more}.",
                name_of(row),
                times(found.len() - 1),
                format::digits(elapsed_s),
                named.join(", ")
            ),
        )
        .number("changes", (found.len() - 1) as f64)
        .number("first_change_s", found.get(1).map_or(0.0, begins))
        .number("lowest_mbps", low / MB_BYTES)
        .number("highest_mbps", high / MB_BYTES)
        .number("span_pct", span)
        .limit(
            format!(
                "levels at least {} % apart, {SEGMENT_MIN} s or longer",
                limit.value
            ),
            limit,
        ),
    );
}

fn times(n: usize) -> String {
    match n {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

/// A level that fell and stayed down: at once, or by and by.
fn fall(row: &Row, elapsed_s: f64, t: &Thresholds, notes: &mut Vec<Note>) -> bool {
    let rates = rates(row);
    let found = decay(&rates, t.decay_pct.value / 100.0).ok().flatten();
    let Some(found) = found.filter(|d| d.before > 0.0) else {
        return false;
    };
    let lost = 100.0 * (1.0 - found.after / found.before);
    let at_s = row
        .intervals
        .get(found.at)
        .map_or(0.0, |i| i.t_s - i.seconds);
    let levels = format!(
        "from {} to {} MB/s",
        format::digits(found.before / MB_BYTES),
        format::digits(found.after / MB_BYTES)
    );
    let is_step = found.segments == 2 && lost >= t.step_pct.value;
    let (entry, limit, claim) = if is_step {
        (
            &catalogue::STEADY_STEP,
            &t.step_pct,
            format!(
                "After {} s of {} the rate fell by {}, {levels}, and stayed there.",
                format::digits(at_s),
                name_of(row),
                format::percent(lost),
            ),
        )
    } else {
        (
            &catalogue::STEADY_DECAY,
            &t.decay_pct,
            format!(
                "The rate decayed by {} in {} s of {}, {levels}.",
                format::percent(lost),
                format::digits(elapsed_s),
                name_of(row),
            ),
        )
    };
    notes.push(
        Note::of(entry, Caution, claim)
            .number("at_s", at_s)
            .number("before_mbps", found.before / MB_BYTES)
            .number("after_mbps", found.after / MB_BYTES)
            .number("lost_pct", lost)
            .number("levels", found.segments as f64)
            .limit(format!("a fall of at least {} %", limit.value), limit),
    );
    true
}

/// Redo held evenly over four times the jobs and in time, while waits grow with the jobs: a
/// limiter, not a medium.
fn cap(run: &Run, workload: &str, t: &Thresholds, notes: &mut Vec<Note>) {
    let wait = |r: &Row| sync_of(r).or_else(|| write_of(r)).map(|w| w.mean_ns);
    let is_free = |r: &&Row| {
        r.processors()
            .cpu_busy_pct
            .is_none_or(|busy| busy <= t.cpu_busy_pct.value)
    };
    let rows = rows_of(run, workload).into_iter().filter(is_free);
    let rows: Vec<(&Row, f64, f64)> = rows
        .filter_map(|r| Some((r, wait(r)?, r.redo().redo_data_mbps?)))
        .collect();
    let column = |f: fn(&(&Row, f64, f64)) -> f64| -> Vec<f64> { rows.iter().map(f).collect() };
    let found = plateau(
        &column(|(r, ..)| f64::from(r.jobs)),
        &column(|(_, _, mbps)| *mbps),
        &column(|(_, ns, _)| *ns),
    );
    let limit = &t.cap_flat_pct;
    let Some(found) = found
        .ok()
        .flatten()
        .filter(|p| 100.0 * p.spread <= limit.value)
    else {
        return;
    };
    let held = rows.get(found.from..).unwrap_or_default();
    let (Some((first, low, _)), Some((last, high, _))) = (held.first(), held.last()) else {
        return;
    };
    if !held.iter().all(|(r, ..)| is_even(r, limit.value)) {
        return;
    }
    let is_cloud = has_cloud_volume(&run.target.stack);
    notes.push(
        Note::of(
            &catalogue::STEADY_CAP,
            if is_cloud { Caution } else { Info },
            format!(
                "{workload} is flat at {} MB/s from {} to {} while the wait grows from {} to {}: a plateau that looks like a provisioned cap.",
                format::digits(found.level),
                format::jobs(first.jobs),
                last.jobs,
                format::latency(*low),
                format::latency(*high),
            ),
        )
        .number("level_mbps", found.level)
        .maybe("log_writes_per_s", last.redo().redo_writes_iops)
        .number("from_jobs", f64::from(first.jobs))
        .number("to_jobs", f64::from(last.jobs))
        .number("latency_growth", found.latency_growth)
        .limit(
            format!("within {} % over 4 times the jobs and in time, while waits grow as the jobs do", limit.value),
            limit,
        ),
    );
}

/// The seconds of a row vary as little as a limiter has them.
fn is_even(row: &Row, pct: f64) -> bool {
    let rates = rates(row);
    let level = mean(&rates);
    let squares: Vec<f64> = rates.iter().map(|r| (r - level).powi(2)).collect();
    rates.len() >= 3 && level > 0.0 && 100.0 * mean(&squares).sqrt() / level <= pct
}

/// Redo a second in the last fifth of a row, bytes.
pub(super) fn settled(row: &Row) -> Option<f64> {
    let fifths = parts(&row.intervals, 0.0, row.elapsed_s?, ROUNDS)?;
    fifths.last().copied()
}

#[cfg(test)]
mod tests;
