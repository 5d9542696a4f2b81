//! Hodges-Lehmann: by how much is one sample shifted against the other?
//!
//! The estimate is the median of all m n differences x − y; the interval's ends are two of the
//! sorted differences (Hodges and Lehmann 1963; Hollander and Wolfe, section 4.3). Their ranks come
//! from the exact distribution of U where R uses it, else from its normal approximation with ties.
//!
//! No difference is ever stored. A difference of rank k is found by bisection over the ordered bit
//! patterns of `f64`: 64 times, both sorted samples are walked once and the pairs up to a candidate
//! are counted. Memory beyond the samples is constant, the result is exact.

use super::counts::Place;
use super::tails::normal_quantile;
use super::{Counts, Estimate, StatsRefusal, checked_level, rank};

/// The shift of `x` against `y`, with an interval of confidence `level`. Of histograms the result
/// is within the sum of half the widths of the buckets at both ends: about 0.05 % of the values.
///
/// # Errors
/// A confidence outside 0 to 1; too few values for an interval of that confidence; values whose
/// differences are too large for `f64`.
pub fn hodges_lehmann(x: &Counts, y: &Counts, level: f64) -> Result<Estimate, StatsRefusal> {
    checked_level(level)?;
    let (m, n) = (u128::from(x.n()), u128::from(y.n()));
    let pairs = m * n;
    let ends = [x, y].map(|c| {
        let all = c.places();
        let first = all.first().map_or(0.0, |p| p.value);
        (first, all.last().map_or(0.0, |p| p.value))
    });
    if !(ends[0].0 - ends[1].1).is_finite() || !(ends[0].1 - ends[1].0).is_finite() {
        let what = "the differences are too large to be computed";
        return Err(StatsRefusal::Unsuitable(what));
    }
    let below = lower_rank(x, y, level)?;
    // Ranks from 1; the middle is the mean of two where the number of pairs is even.
    let middle = [pairs.div_ceil(2), pairs / 2 + 1].map(|k| select(x, y, k));
    Ok(Estimate {
        value: middle[0] + (middle[1] - middle[0]) / 2.0,
        low: select(x, y, below),
        high: select(x, y, pairs + 1 - below),
        level,
    })
}

/// Rank, from 1, of the difference that is the interval's lower end.
fn lower_rank(x: &Counts, y: &Counts, level: f64) -> Result<u128, StatsRefusal> {
    let tail = (1.0 - level) / 2.0;
    let (m, n) = (x.n(), y.n());
    let distinct = |c: &Counts| c.places().len() as u64 == c.n();
    if m < 50 && n < 50 && distinct(x) && distinct(y) {
        // As R: the quantile of U at the tail, at least 1.
        let ways = rank::ways(m as usize, n as usize);
        let all: f64 = ways.iter().sum();
        let mut sum = 0.0;
        let at = ways.iter().position(|w| {
            sum += w;
            sum >= tail * all * (1.0 - 64.0 * f64::EPSILON)
        });
        let exact = at.unwrap_or(0) as u128;
        if exact == 0 {
            return Err(StatsRefusal::TooFew {
                needed: 4,
                found: m.min(n) as usize,
            });
        }
        return Ok(exact);
    }
    let pairs = m as f64 * n as f64;
    let total = (m + n) as f64;
    let deviation = (pairs * (total + 1.0) / 12.0).sqrt();
    let rank = (pairs / 2.0 + normal_quantile(tail) * deviation).floor();
    if rank < 1.0 {
        return Err(StatsRefusal::TooFew {
            needed: 4,
            found: m.min(n) as usize,
        });
    }
    Ok(rank as u128)
}

/// The difference of rank `k`, from 1, among all x − y.
fn select(x: &Counts, y: &Counts, k: u128) -> f64 {
    let (mut low, mut high) = (ordered(f64::NEG_INFINITY), ordered(f64::INFINITY));
    while low < high {
        let middle = low + (high - low) / 2;
        if up_to(x.places(), y.places(), real(middle)) >= k {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    real(low)
}

/// Pairs with x − y of at most `d`. As x grows, so does the smallest y that is near enough.
fn up_to(xs: &[Place], ys: &[Place], d: f64) -> u128 {
    let mut behind: u128 = ys.iter().map(|p| u128::from(p.count)).sum();
    let mut j = 0;
    let mut pairs = 0;
    for x in xs {
        while let Some(y) = ys.get(j).filter(|y| x.value - y.value > d) {
            behind -= u128::from(y.count);
            j += 1;
        }
        pairs += u128::from(x.count) * behind;
    }
    pairs
}

/// A number as an integer of the same order.
fn ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

fn real(ordered: u64) -> f64 {
    f64::from_bits(if ordered >> 63 == 1 {
        ordered & !(1 << 63)
    } else {
        !ordered
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn selection_equals_sorting_all_differences() {
        let mut r = Random::new(11);
        for round in 0..40 {
            let mut draw = |n: usize| -> Vec<f64> {
                (0..n).map(|_| (r.normal() * 4.0).round() / 2.0).collect()
            };
            let (x, y) = (draw(1 + round % 9), draw(1 + round % 7));
            let mut all: Vec<f64> = x
                .iter()
                .flat_map(|a| y.iter().map(move |b| a - b))
                .collect();
            all.sort_by(f64::total_cmp);
            let (x, y) = (Counts::of(&x).expect("x"), Counts::of(&y).expect("y"));
            for (i, d) in all.iter().enumerate() {
                assert_eq!(select(&x, &y, i as u128 + 1), *d);
            }
        }
    }

    #[test]
    fn too_little_for_an_interval_is_refused() {
        let (a, b) = (Counts::of(&[1.0]), Counts::of(&[2.0]));
        let (a, b) = (a.expect("one"), b.expect("one"));
        let r = hodges_lehmann(&a, &b, 0.95);
        assert!(matches!(r, Err(StatsRefusal::TooFew { .. })), "{r:?}");
        let far = Counts::of(&[f64::MAX]).expect("one");
        let near = Counts::of(&[-f64::MAX]).expect("one");
        assert!(hodges_lehmann(&far, &near, 0.95).is_err());
        assert!(hodges_lehmann(&a, &b, 1.0).is_err());
    }
}
