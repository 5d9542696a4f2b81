//! Mann-Whitney U: is a value of one sample larger than one of the other more often than not?
//!
//! U counts the pairs with x > y, ties as half. Mann and Whitney 1947; the variance with ties and
//! the continuity correction are those of R's `wilcox.test`, which is also followed in when the
//! exact distribution is used: both samples under 50 and no ties. Like every test of this kind it
//! takes the values as independent.

use super::tails::{PValue, normal_two_sided};
use super::{Counts, StatsRefusal};

/// Samples below this size get the exact distribution.
const EXACT_BELOW: u64 = 50;

/// Outcome of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Pairs in which the first sample's value is the larger, ties as half.
    pub u: f64,
    /// Standardised, with the continuity correction; 0 where the distribution was exact.
    pub z: f64,
    /// Two-sided.
    pub p: PValue,
    /// The p-value is from the exact distribution.
    pub exact: bool,
    /// P(X > Y) + P(X = Y)/2, the probability of superiority.
    pub superiority: f64,
    /// Cliff's delta: P(X > Y) − P(X < Y), −1 to 1.
    pub delta: f64,
    /// How far `superiority` may be off, since histograms know their values to their buckets
    /// only: half the share of pairs that fell into one bucket. 0 for data.
    pub superiority_error: f64,
}

/// Mann-Whitney's test of two samples, of data or of histograms.
///
/// # Errors
/// All values of both samples equal.
pub fn mann_whitney(x: &Counts, y: &Counts) -> Result<MannWhitney, StatsRefusal> {
    let tally = Tally::of(x, y);
    let (m, n) = (x.n() as f64, y.n() as f64);
    let pairs = m * n;
    let total = m + n;
    let u = tally.larger + tally.tied / 2.0;
    let exact = x.n() < EXACT_BELOW && y.n() < EXACT_BELOW && tally.ties == 0.0;
    let variance = pairs / 12.0 * ((total + 1.0) - tally.ties / (total * (total - 1.0)));
    if variance <= 0.0 || !variance.is_finite() {
        return Err(StatsRefusal::Constant);
    }
    let away = u - pairs / 2.0;
    let (z, p) = if exact {
        (0.0, exact_p(x.n() as usize, y.n() as usize, u as usize))
    } else {
        let corrected = away - 0.5 * away.signum() * f64::from(u8::from(away != 0.0));
        let z = corrected / variance.sqrt();
        (z, normal_two_sided(z))
    };
    Ok(MannWhitney {
        u,
        z,
        p,
        exact,
        superiority: u / pairs,
        delta: 2.0 * away / pairs,
        superiority_error: tally.blurred / 2.0 / pairs,
    })
}

/// What one pass over both samples counts.
#[derive(Default)]
struct Tally {
    larger: f64,
    tied: f64,
    /// Sum of t³ − t over the groups of ties of both samples.
    ties: f64,
    /// Tied pairs that are tied only because a bucket is wider than a value.
    blurred: f64,
}

impl Tally {
    fn of(x: &Counts, y: &Counts) -> Tally {
        let mut tally = Tally::default();
        let (xs, ys) = (x.places(), y.places());
        let (mut i, mut j) = (0, 0);
        let mut y_below = 0.0;
        while i < xs.len() || j < ys.len() {
            let next = |p: Option<&super::counts::Place>| p.map_or(f64::INFINITY, |p| p.value);
            let value = next(xs.get(i)).min(next(ys.get(j)));
            let (mut cx, mut cy, mut wide) = (0.0, 0.0, false);
            while let Some(p) = xs.get(i).filter(|p| p.value == value) {
                cx += p.count as f64;
                wide |= p.high > p.low;
                i += 1;
            }
            while let Some(p) = ys.get(j).filter(|p| p.value == value) {
                cy += p.count as f64;
                wide |= p.high > p.low;
                j += 1;
            }
            tally.larger += cx * y_below;
            tally.tied += cx * cy;
            tally.blurred += if wide { cx * cy } else { 0.0 };
            let t = cx + cy;
            tally.ties += (t * t - 1.0) * t;
            y_below += cy;
        }
        tally
    }
}

/// Two-sided p-value of `u` in the exact distribution: twice the smaller tail, at most 1.
fn exact_p(m: usize, n: usize, u: usize) -> PValue {
    let ways = ways(m, n);
    let all: f64 = ways.iter().sum();
    let lower: f64 = ways.iter().take(u + 1).sum();
    let upper: f64 = ways.iter().skip(u).sum();
    PValue::new((2.0 * lower.min(upper) / all).min(1.0))
}

/// Orders of m and n values with each U from 0 to m n: the coefficients of the Gaussian binomial
/// of m + n over m, by multiplying with (1 − q^(n + i)) and dividing by (1 − q^i).
pub(super) fn ways(m: usize, n: usize) -> Vec<f64> {
    let mut ways = vec![0.0; m * n + 1];
    ways[0] = 1.0;
    for i in 1..=m {
        for k in (n + i..ways.len()).rev() {
            ways[k] -= ways[k - n - i];
        }
        for k in i..ways.len() {
            ways[k] += ways[k - i];
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Histogram;

    #[test]
    fn all_orders_are_counted() {
        assert_eq!(ways(2, 3), [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
        let all: f64 = ways(10, 10).iter().sum();
        assert_eq!(all, 184_756.0);
    }

    #[test]
    fn one_bucket_says_that_it_knows_nothing_within_it() {
        let (mut a, mut b) = (Histogram::new(), Histogram::new());
        for i in 0..100 {
            a.record(10_000_000 + i);
            b.record(10_000_000 + 2 * i);
        }
        let (a, b) = (Counts::of_histogram(&a), Counts::of_histogram(&b));
        let r = mann_whitney(&a.expect("a"), &b.expect("b"));
        assert_eq!(r, Err(StatsRefusal::Constant));
        let one = Counts::of(&[1.0]).expect("one");
        assert_eq!(mann_whitney(&one, &one), Err(StatsRefusal::Constant));
        let two = Counts::of(&[2.0]).expect("one");
        let r = mann_whitney(&one, &two).expect("they differ");
        assert_eq!((r.p.value(), r.delta, r.exact), (1.0, -1.0, true));
    }
}
