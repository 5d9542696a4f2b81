//! Whether rates hold: steady state over a window of rounds, decay, steps down to another level,
//! and plateaus that look like a provisioned cap.
//!
//! Rates are redo a second from the rows' intervals; a row that is too short is not spoken of.

use super::cache::has_cloud_volume;
use super::note::Note;
use super::{Caution, Good, Info, name_of, rows_of, sync_of, workloads, write_of};
use crate::format;
use crate::thresholds::Thresholds;
use measure::run::{Interval, Row, Run};
use measure::units::MB_BYTES;

/// Rounds of a window (SNIA Solid State Storage Performance Test Specification).
const ROUNDS: usize = 5;

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let longest = run
        .rows
        .iter()
        .filter(|r| r.elapsed_s >= t.steady_min_s.value)
        .max_by(|a, b| a.elapsed_s.total_cmp(&b.elapsed_s));
    if let Some(row) = longest {
        state(row, t, notes);
        if !step(row, t, notes) {
            decay(row, t, notes);
        }
    }
    for workload in workloads(run) {
        cap(run, workload, t, notes);
    }
}

/// Mean rates, bytes a second, of `n` parts of equal length of the seconds from `from` on. `None`
/// where a part has no interval.
fn parts(intervals: &[Interval], from: f64, to: f64, n: usize) -> Option<Vec<f64>> {
    let length = (to - from) / n as f64;
    let mut sums = vec![(0.0, 0.0); n];
    for interval in intervals {
        let middle = interval.t_s - interval.seconds / 2.0;
        let part = ((middle - from) / length).floor();
        if part >= 0.0
            && let Some(sum) = sums.get_mut(part as usize)
        {
            sum.0 += interval.redo_bytes as f64;
            sum.1 += interval.seconds;
        }
    }
    let rate = |(bytes, seconds): (f64, f64)| (seconds > 0.0).then(|| bytes / seconds);
    sums.into_iter().map(rate).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Span of the values and rise of the line through them, percent of their mean.
fn span_and_slope(values: &[f64]) -> Option<(f64, f64)> {
    let (n, mean) = (values.len() as f64, mean(values));
    if values.len() < 2 || mean <= 0.0 {
        return None;
    }
    let max = values.iter().copied().fold(f64::MIN, f64::max);
    let min = values.iter().copied().fold(f64::MAX, f64::min);
    let middle = (n - 1.0) / 2.0;
    let (mut above, mut below) = (0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let x = i as f64 - middle;
        above += x * (value - mean);
        below += x * x;
    }
    let rise = above / below * (n - 1.0);
    Some((100.0 * (max - min) / mean, 100.0 * rise / mean))
}

/// The window is the second half of the row, in five rounds.
fn state(row: &Row, t: &Thresholds, notes: &mut Vec<Note>) {
    let rounds = parts(&row.intervals, row.elapsed_s / 2.0, row.elapsed_s, ROUNDS);
    let Some((rounds, (span, slope))) = rounds.and_then(|r| Some((r.clone(), span_and_slope(&r)?)))
    else {
        return;
    };
    let (wide, tilted) = (
        span > t.steady_range_pct.value,
        slope.abs() > t.steady_slope_pct.value,
    );
    let is_steady = !wide && !tilted;
    let words = if is_steady { "steady" } else { "not steady" };
    let limit = if tilted && !wide {
        &t.steady_slope_pct
    } else {
        &t.steady_range_pct
    };
    notes.push(
        Note::new(
            "steady.state",
            if is_steady { Good } else { Caution },
            format!(
                "The rate was {words} in the second half of {} ({} s): {} MB/s of redo, five rounds within {} of their mean, rising by {:+.1} %.",
                name_of(row),
                format::digits(row.elapsed_s),
                format::digits(mean(&rounds) / MB_BYTES),
                format::percent(span),
                slope,
            ),
        )
        .number("rate_mbps", mean(&rounds) / MB_BYTES)
        .number("span_pct", span)
        .number("slope_pct", slope)
        .number("round_s", row.elapsed_s / 2.0 / ROUNDS as f64)
        .limit(
            format!(
                "span at most {} %, slope at most {} %",
                t.steady_range_pct.value, t.steady_slope_pct.value
            ),
            limit,
        )
        .advice(if is_steady {
            ""
        } else {
            "Run longer; a rate that has not settled is no rate to plan with."
        }),
    );
}

/// First fifth against last.
fn decay(row: &Row, t: &Thresholds, notes: &mut Vec<Note>) {
    let fifths = parts(&row.intervals, 0.0, row.elapsed_s, ROUNDS).unwrap_or_default();
    let (Some(first), Some(last)) = (fifths.first(), fifths.last()) else {
        return;
    };
    let lost = 100.0 * (1.0 - last / first);
    let limit = &t.decay_pct;
    if *first <= 0.0 || lost <= limit.value {
        return;
    }
    notes.push(
        Note::new(
            "steady.decay",
            Caution,
            format!(
                "The rate decayed by {} in {} s: from {} MB/s in the first fifth of {} to {} in the last.",
                format::percent(lost),
                format::digits(row.elapsed_s),
                format::digits(first / MB_BYTES),
                name_of(row),
                format::digits(last / MB_BYTES),
            ),
        )
        .number("first_mbps", first / MB_BYTES)
        .number("last_mbps", last / MB_BYTES)
        .number("lost_pct", lost)
        .limit(format!("over {} %", limit.value), limit)
        .advice("A fast cache that fills, heat, or garbage collection: plan with the rate at the end, and soak."),
    );
}

/// One level until a moment, a lower one from then on.
struct Step {
    at_s: f64,
    before: f64,
    after: f64,
    /// Deviation of the intervals after it, percent of their mean.
    spread_pct: f64,
}

/// Where two levels fit the intervals best, by least squares. Each side is at least a tenth of them.
fn best_step(intervals: &[Interval]) -> Option<Step> {
    let usable: Vec<&Interval> = intervals.iter().filter(|i| i.seconds > 0.0).collect();
    let rates: Vec<f64> = usable
        .iter()
        .map(|i| i.redo_bytes as f64 / i.seconds)
        .collect();
    let (n, least) = (rates.len(), (rates.len() / 10).max(3));
    let total: f64 = rates.iter().sum();
    let mut sum = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for (i, rate) in rates.iter().enumerate() {
        // What two means explain, up to a constant.
        if i >= least && i + least <= n {
            let (left, right) = (i as f64, (n - i) as f64);
            let gain = sum * sum / left + (total - sum) * (total - sum) / right;
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, i));
            }
        }
        sum += rate;
    }
    let (_, at) = best?;
    let (before, after) = rates.split_at_checked(at)?;
    let level = mean(after);
    let variance = mean(
        &after
            .iter()
            .map(|r| (r - level).powi(2))
            .collect::<Vec<_>>(),
    );
    Some(Step {
        at_s: usable.get(at)?.t_s - usable.get(at)?.seconds,
        before: mean(before),
        after: level,
        spread_pct: 100.0 * variance.sqrt() / level.max(f64::MIN_POSITIVE),
    })
}

fn step(row: &Row, t: &Thresholds, notes: &mut Vec<Note>) -> bool {
    let limit = &t.step_pct;
    let Some(step) = best_step(&row.intervals) else {
        return false;
    };
    let fall = 100.0 * (1.0 - step.after / step.before);
    // A level: what lies below it is well within the fall.
    if step.before <= 0.0 || fall < limit.value || step.spread_pct > fall / 2.0 {
        return false;
    }
    notes.push(
        Note::new(
            "steady.step",
            Caution,
            format!(
                "After {} s of {} the rate fell by {}, from {} to {} MB/s, and stayed there.",
                format::digits(step.at_s),
                name_of(row),
                format::percent(fall),
                format::digits(step.before / MB_BYTES),
                format::digits(step.after / MB_BYTES),
            ),
        )
        .number("at_s", step.at_s)
        .number("before_mbps", step.before / MB_BYTES)
        .number("after_mbps", step.after / MB_BYTES)
        .number("spread_after_pct", step.spread_pct)
        .limit(format!("a fall of at least {} %", limit.value), limit)
        .advice("Spent burst credits or a full fast cache: the lower level is the sustained rate."),
    );
    true
}

/// Redo held evenly over four times the jobs, while waits grow: a limiter, not a medium.
fn cap(run: &Run, workload: &str, t: &Thresholds, notes: &mut Vec<Note>) {
    let rows = rows_of(run, workload);
    let is_free = |r: &&Row| {
        r.cpu_busy_pct
            .is_none_or(|busy| busy <= t.cpu_busy_pct.value)
    };
    let rows: Vec<&Row> = rows.into_iter().filter(is_free).collect();
    let Some(last) = rows.last() else {
        return;
    };
    let near = |r: &&&Row| {
        let off = (r.redo_data_mbps / last.redo_data_mbps - 1.0).abs();
        100.0 * off <= t.cap_flat_pct.value
    };
    let flat: Vec<&&Row> = rows.iter().rev().take_while(near).collect();
    let (Some(first), true) = (flat.last(), flat.len() >= 3) else {
        return;
    };
    let wait = |r: &Row| sync_of(r).or_else(|| write_of(r)).map(|w| w.mean_ns);
    let (Some(low), Some(high)) = (wait(first), wait(last)) else {
        return;
    };
    let held = flat.iter().all(|r| is_even(r, t.cap_flat_pct.value));
    let depth = f64::from(last.jobs) / f64::from(first.jobs.max(1));
    if !held || depth < 4.0 || low <= 0.0 || high / low < t.cap_latency_ratio.value {
        return;
    }
    let is_cloud = has_cloud_volume(&run.target.stack);
    notes.push(
        Note::new(
            "steady.cap",
            if is_cloud { Caution } else { Info },
            format!(
                "{workload} is flat at {} MB/s from {} to {} while the wait grows from {} to {}: a plateau that looks provisioned.",
                format::digits(last.redo_data_mbps),
                format::jobs(first.jobs),
                last.jobs,
                format::latency(low),
                format::latency(high),
            ),
        )
        .number("level_mbps", last.redo_data_mbps)
        .number("log_writes_per_s", last.redo_writes_iops)
        .number("from_jobs", f64::from(first.jobs))
        .number("to_jobs", f64::from(last.jobs))
        .number("latency_growth", high / low)
        .limit(
            format!(
                "within {} % over 4 times the jobs while waits grow by {} times",
                t.cap_flat_pct.value, t.cap_latency_ratio.value
            ),
            &t.cap_flat_pct,
        )
        .advice("Compare the level with what is provisioned; a larger volume or instance type may raise it."),
    );
}

/// The seconds of a row vary as little as a limiter has them.
fn is_even(row: &Row, pct: f64) -> bool {
    let whole = row.intervals.iter().filter(|i| i.seconds > 0.5);
    let rates: Vec<f64> = whole.map(|i| i.redo_bytes as f64 / i.seconds).collect();
    let level = mean(&rates);
    let deviation = rates
        .iter()
        .map(|r| (r - level).powi(2))
        .collect::<Vec<_>>();
    rates.len() >= 3 && level > 0.0 && 100.0 * mean(&deviation).sqrt() / level <= pct
}

/// Redo a second at the end of a row: its last fifth, or a level that it fell to, bytes.
pub(super) fn settled(row: &Row) -> Option<f64> {
    let fifths = parts(&row.intervals, 0.0, row.elapsed_s, ROUNDS)?;
    fifths.last().copied()
}

#[cfg(test)]
mod tests;
