//! Change points: where in a series does its level change, and how often?
//!
//! Optimal partitioning (Jackson and others 2005; the exact minimum that PELT also finds) with the
//! absolute deviations from each segment's median as cost, which single peaks hardly move, and a
//! penalty for each change. The scale of the noise comes from differences of neighbours, which
//! changes of level hardly touch; autocorrelated noise wanders, so that its penalty is larger by
//! its variance inflation, (1 + ρ)/(1 − ρ) for an AR(1) (Lavielle and Moulines 2000 show that the
//! penalty has to grow with the long-run variance).

use super::{StatsRefusal, checked};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Longer series are averaged in runs of equal length: the time grows with the square.
const LONGEST: usize = 600;
/// Penalty of a change, in noise scales times ln n. Three is the Bayesian criterion of a level, a
/// scale and a place; the simulation test shows what it does to series without a change.
const PENALTY: f64 = 3.0;

/// A stretch of one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// First value.
    pub start: usize,
    /// Behind the last value.
    pub end: usize,
    /// Median of its values (of averages, in long series).
    pub level: f64,
}

/// The segments of a series; one where its level does not change. Each holds `shortest` values at
/// least.
///
/// # Errors
/// Fewer than four values, or one that is not finite.
pub fn segments(values: &[f64], shortest: usize) -> Result<Vec<Segment>, StatsRefusal> {
    checked(values, 4)?;
    let run = values.len().div_ceil(LONGEST);
    let averaged: Vec<f64> = values.chunks(run).map(super::mean).collect();
    let n = averaged.len();
    let noise = Noise::of(&averaged);
    let whole = || {
        let mut sorted = averaged.clone();
        let level = super::bootstrap::quantile(&mut sorted, 0.5);
        let (start, end) = (0, values.len());
        vec![Segment { start, end, level }]
    };
    if noise.scale == 0.0 {
        // Most neighbours are equal: any step is then told by plain comparison, at no penalty but
        // a rounding error's.
        let spread = averaged
            .iter()
            .fold(0.0_f64, |m, v| m.max((v - averaged[0]).abs()));
        if spread == 0.0 {
            return Ok(whole());
        }
    }
    let penalty = if noise.scale == 0.0 {
        averaged.iter().fold(0.0_f64, |m, v| m.max(v.abs())) * 1e-9
    } else {
        PENALTY * noise.scale * noise.inflation * (n as f64).ln()
    };
    let shortest = shortest.div_ceil(run).max(1);
    let cuts = partition(&averaged, penalty, shortest);
    let mut found = Vec::new();
    for pair in cuts.windows(2) {
        let mut stretch = averaged.get(pair[0]..pair[1]).unwrap_or_default().to_vec();
        found.push(Segment {
            start: pair[0] * run,
            end: (pair[1] * run).min(values.len()),
            level: super::bootstrap::quantile(&mut stretch, 0.5),
        });
    }
    Ok(found)
}

/// What varies without any change of level.
struct Noise {
    /// Mean absolute deviation of a value from its level.
    scale: f64,
    /// By how much a mean of many wanders more than independent values would.
    inflation: f64,
}

impl Noise {
    fn of(values: &[f64]) -> Noise {
        let steps: Vec<f64> = values.windows(2).map(|w| w[1] - w[0]).collect();
        let mut sizes: Vec<f64> = steps.iter().map(|s| s.abs()).collect();
        // A normal variable's median size is 0.6745 standard deviations.
        let step_sd = super::bootstrap::quantile(&mut sizes, 0.5) / 0.674_489_75;
        if step_sd == 0.0 {
            let (scale, inflation) = (0.0, 1.0);
            return Noise { scale, inflation };
        }
        // Differences of an AR(1) have the autocorrelation −(1 − ρ)/2. Steps of changes and peaks
        // are cut at three deviations.
        let cut: Vec<f64> = steps
            .iter()
            .map(|s| s.clamp(-3.0 * step_sd, 3.0 * step_sd))
            .collect();
        let r = super::autocorrelation::acf(&cut, 1)
            .map_or(-0.5, |a| a.get(1).copied().unwrap_or(-0.5));
        let rho = (1.0 + 2.0 * r).clamp(0.0, 0.9);
        let sd = step_sd / (2.0 * (1.0 - rho)).sqrt();
        Noise {
            // Mean size of a normal variable.
            scale: sd * (2.0 / std::f64::consts::PI).sqrt(),
            inflation: (1.0 + rho) / (1.0 - rho),
        }
    }
}

/// Ends of the segments with the least cost, from 0 to n.
fn partition(values: &[f64], penalty: f64, shortest: usize) -> Vec<usize> {
    let n = values.len();
    // best[t]: least cost of the first t values; from[t]: where their last segment begins.
    let mut best = vec![f64::INFINITY; n + 1];
    let mut from = vec![0; n + 1];
    best[0] = -penalty;
    for t in 1..=n {
        let mut cost = Deviations::default();
        for s in (0..t).rev() {
            cost.add(values[s]);
            let fits = t - s >= shortest || (s == 0 && t == n);
            let total = best[s] + cost.sum() + penalty;
            if fits && total < best[t] {
                (best[t], from[t]) = (total, s);
            }
        }
    }
    let mut cuts = vec![n];
    let mut at = n;
    while at > 0 {
        at = from[at];
        cuts.push(at);
    }
    cuts.reverse();
    cuts
}

/// Sum of absolute deviations from the median, as values come: two heaps around the median.
#[derive(Default)]
struct Deviations {
    low: BinaryHeap<Key>,
    high: BinaryHeap<Reverse<Key>>,
    low_sum: f64,
    high_sum: f64,
}

#[derive(Clone, Copy, PartialEq)]
struct Key(f64);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Deviations {
    fn add(&mut self, value: f64) {
        if self.low.peek().is_none_or(|top| value <= top.0) {
            self.low.push(Key(value));
            self.low_sum += value;
        } else {
            self.high.push(Reverse(Key(value)));
            self.high_sum += value;
        }
        if self.low.len() > self.high.len() + 1 {
            if let Some(Key(v)) = self.low.pop() {
                (self.low_sum, self.high_sum) = (self.low_sum - v, self.high_sum + v);
                self.high.push(Reverse(Key(v)));
            }
        } else if self.high.len() > self.low.len()
            && let Some(Reverse(Key(v))) = self.high.pop()
        {
            (self.low_sum, self.high_sum) = (self.low_sum + v, self.high_sum - v);
            self.low.push(Key(v));
        }
    }

    fn sum(&self) -> f64 {
        let median = self.low.peek().map_or(0.0, |k| k.0);
        let odd = (self.low.len() - self.high.len()) as f64;
        (self.high_sum - self.low_sum + odd * median).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn the_partition_is_the_cheapest_of_all() {
        let mut r = Random::new(5);
        let cost = |v: &[f64]| {
            let mut sorted = v.to_vec();
            let m = crate::stats::bootstrap::quantile(&mut sorted, 0.5);
            v.iter().map(|x| (x - m).abs()).sum::<f64>()
        };
        for _ in 0..30 {
            let values: Vec<f64> = (0..10).map(|_| (r.normal() * 3.0).round()).collect();
            let total = |cuts: &[usize]| -> f64 {
                cuts.windows(2)
                    .map(|w| cost(&values[w[0]..w[1]]) + 2.5)
                    .sum::<f64>()
            };
            let mut least = f64::INFINITY;
            for mask in 0..512_u32 {
                let mut cuts = vec![0];
                cuts.extend((1..10).filter(|i| mask >> (i - 1) & 1 == 1));
                cuts.push(10);
                least = least.min(total(&cuts));
            }
            let found = partition(&values, 2.5, 1);
            assert!((total(&found) - least).abs() < 1e-9, "{values:?} {found:?}");
        }
    }

    #[test]
    fn a_step_is_found_where_it_is_and_peaks_are_not_steps() {
        let mut r = Random::new(9);
        let mut values: Vec<f64> = (0..300)
            .map(|i| if i < 120 { 100.0 } else { 80.0 } + 4.0 * r.normal())
            .collect();
        values[40] = 900.0;
        values[200] = 900.0;
        let s = segments(&values, 5).expect("values");
        assert_eq!(s.len(), 2, "{s:?}");
        assert!(
            s[0].end.abs_diff(120) <= 3 && (s[1].level - 80.0).abs() < 1.5,
            "{s:?}"
        );
    }

    #[test]
    fn degenerate_series_have_one_level_or_are_refused() {
        assert_eq!(
            segments(&[1.0, 2.0], 1),
            Err(StatsRefusal::TooFew {
                needed: 4,
                found: 2
            })
        );
        assert_eq!(segments(&[5.0; 50], 3).expect("constant").len(), 1);
        let step: Vec<f64> = [1.0; 10].into_iter().chain([2.0; 10]).collect();
        let s = segments(&step, 2).expect("a clean step");
        assert_eq!((s.len(), s[0].end, s[1].level), (2, 10, 2.0));
        let long: Vec<f64> = (0..100_000).map(|i| f64::from(i % 10)).collect();
        assert_eq!(segments(&long, 1).expect("long").len(), 1);
        assert!(segments(&[1.0, f64::INFINITY, 1.0, 1.0], 1).is_err());
    }
}
