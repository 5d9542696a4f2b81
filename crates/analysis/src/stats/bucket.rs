//! Token buckets: a limiter that lets a burst pass while tokens last, and its refill rate after.
//!
//! A limiter with a bucket of `V` tokens that is refilled with `S` tokens per second passes a load
//! of `B > S` for `V / (B − S)` seconds, then `S` (the leaky bucket as a meter; Turner 1986). So
//! the rates of a load that never lets up have two levels: one before the bucket is empty, and a
//! second one, which a limiter holds evenly because it counts. What was drained is the sum of what
//! passed above the second level.
//!
//! Invariants: what is found has exactly two levels, a fall within two intervals, and a second
//! level that is even until the end. A slide, three levels, a second burst, a noisy level are none.
//!
//! What it must not know: what the rates are rates of; whether a limiter or a medium made them.

use super::bootstrap::quantile;
use super::{StatsRefusal, change, checked};

/// What counts as a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketCriterion {
    /// Smallest fall from the burst to the level after it, share of the burst.
    pub fall: f64,
    /// Distance from their median that nine of ten intervals of the second level keep, share of it.
    pub even: f64,
}

/// A burst, and the level that was left when its bucket was empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmptiedBucket {
    /// The first interval that is whole in the second level.
    pub from: usize,
    /// When the bucket was empty: time after the beginning of the first interval.
    pub emptied_at: f64,
    /// Median rate of the burst.
    pub burst: f64,
    /// Median rate of the second level.
    pub sustained: f64,
    /// Distance from their median that nine of ten intervals of the second level keep, share of it.
    pub spread: f64,
    /// What passed above the second level, rate times time: tokens that the bucket held at least.
    pub drained: f64,
}

/// Intervals of a burst at least.
const BURST_MIN: usize = 3;
/// Intervals of the second level at least: the tenth part of them may be dips.
const LEVEL_MIN: usize = 10;
/// How far the burst may drift, and its end be lower, as a share of the fall.
const BURST_DRIFT: f64 = 0.35;
/// Part of the intervals of the second level that may be further from its median.
const EXCEPTIONS: f64 = 0.1;
/// Intervals of a dip at most.
const DIP_MAX: usize = 3;

/// The bucket that a series of rates shows; `None` where it shows none. `lengths` are the times of
/// the intervals.
///
/// # Errors
/// No values, one that is negative or not finite, or as many lengths as rates are not there.
pub fn emptied(
    rates: &[f64],
    lengths: &[f64],
    criterion: &BucketCriterion,
) -> Result<Option<EmptiedBucket>, StatsRefusal> {
    checked(rates, 1)?;
    checked(lengths, 1)?;
    if rates.len() != lengths.len() {
        return Err(StatsRefusal::Parameter("each rate needs its length"));
    }
    if rates.iter().any(|r| *r < 0.0) || lengths.iter().any(|l| *l <= 0.0) {
        return Err(StatsRefusal::Unsuitable(
            "rates are not negative, and lengths positive",
        ));
    }
    Ok(two_levels(rates, lengths, criterion))
}

fn two_levels(rates: &[f64], lengths: &[f64], c: &BucketCriterion) -> Option<EmptiedBucket> {
    let split = split(rates)?;
    // An interval on either side of the split may be partly burst and partly not.
    let (high, low) = (rates.get(..split - 1)?, rates.get(split + 1..)?);
    if low.len() < LEVEL_MIN {
        return None;
    }
    let (burst, sustained) = (median(high), median(low));
    let is_a_fall = sustained > 0.0 && sustained <= burst * (1.0 - c.fall);
    if !is_a_fall || !is_one_burst(high, burst, sustained) {
        return None;
    }
    let spread = spread(low, sustained);
    if spread > c.even || !is_held(low, sustained, c.even) {
        return None;
    }
    let above = |i: usize| (rates[i] - sustained) * lengths[i];
    // Both intervals at the split were burst for as long as what passed in them says.
    let mixed = (above(split - 1) + above(split)).max(0.0);
    let begun: f64 = lengths[..split - 1].iter().sum();
    let mixed_length = lengths[split - 1] + lengths[split];
    let whole: f64 = (0..split - 1).map(above).sum();
    Some(EmptiedBucket {
        from: split + 1,
        emptied_at: begun + (mixed / (burst - sustained)).min(mixed_length),
        burst,
        sustained,
        spread,
        drained: whole + mixed,
    })
}

/// Where a level before and one after describe the series best (least squares).
fn split(rates: &[f64]) -> Option<usize> {
    let total: f64 = rates.iter().sum();
    let mut before = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for (i, rate) in rates.iter().enumerate() {
        let left = rates.len() - i;
        let gain = before * before / i.max(1) as f64 + (total - before).powi(2) / left as f64;
        if i >= BURST_MIN && best.is_none_or(|(_, most)| gain > most) {
            best = Some((i, gain));
        }
        before += rate;
    }
    best.map(|(at, _)| at)
}

/// The burst has one level until its end.
fn is_one_burst(high: &[f64], burst: f64, sustained: f64) -> bool {
    let allowed = BURST_DRIFT * (burst - sustained);
    let (first, second) = high.split_at(high.len() / 2);
    let end = high.get(high.len().saturating_sub(3)..).unwrap_or_default();
    let drift = (median(first) - median(second)).abs();
    if drift > allowed || median(end) < burst - allowed {
        return false;
    }
    let levels = change::segments(high, BURST_MIN).unwrap_or_default();
    levels.iter().all(|l| (l.level - burst).abs() <= allowed)
}

/// The second level begins at once, has no trend and no third level below it, and nothing passes
/// above it but what a dip just before held back.
fn is_held(low: &[f64], level: f64, even: f64) -> bool {
    let (least, most) = (level * (1.0 - 2.0 * even), level * (1.0 + 2.0 * even));
    let mut before = None;
    let mut below = 0;
    for rate in low {
        below = if *rate < least { below + 1 } else { 0 };
        if below > DIP_MAX {
            return false;
        }
        let pair = before.map_or(*rate, |b| f64::midpoint(b, *rate));
        if *rate > most && pair > most {
            return false;
        }
        before = Some(*rate);
    }
    let (first, second) = low.split_at(low.len() / 2);
    (median(first) - median(second)).abs() <= even * level
}

/// Distance from `level` that all but [`EXCEPTIONS`] keep, share of it.
fn spread(values: &[f64], level: f64) -> f64 {
    let mut distances: Vec<f64> = values.iter().map(|v| (v - level).abs() / level).collect();
    distances.sort_by(f64::total_cmp);
    let exceptions = (EXCEPTIONS * values.len() as f64).floor() as usize;
    let last = distances.len().saturating_sub(1 + exceptions);
    distances.get(last).copied().unwrap_or(f64::INFINITY)
}

fn median(values: &[f64]) -> f64 {
    quantile(&mut values.to_vec(), 0.5)
}

#[cfg(test)]
mod tests;
