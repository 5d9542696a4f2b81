//! A latency histogram with exact count, sum, minimum and maximum beside its buckets.
//!
//! Buckets come from `hdrhistogram` (3 significant digits: a percentile is within 0.1 % of a
//! recorded value); what can be exact is kept exact. Memory grows only with the largest value.
//! Percentiles are never averaged: histograms merge, percentiles are computed at the end.

mod serial;

use crate::run::WaitStats;
use crate::waits::OUTLIER_NS;

/// Significant decimal digits that buckets keep.
pub const DIGITS: u8 = 3;
/// Largest value that is bucketed: ten minutes. Longer values count in the last bucket; the
/// exact maximum still contains them.
pub const MAX_NS: u64 = 600_000_000_000;

/// Values in nanoseconds (or any other unit that its owner names).
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: hdrhistogram::Histogram<u64>,
    sum: u128,
    min: u64,
    max: u64,
    over: [u64; 4],
}

/// Thresholds whose exact exceedances are counted: 1, 10, 20 ms (study 000) and 500 ms (outliers).
const OVER_NS: [u64; 4] = [1_000_000, 10_000_000, 20_000_000, OUTLIER_NS];

/// The same values in the same buckets; how much room either has is without effect.
impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        self.exact() == other.exact() && self.filled().eq(other.filled())
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Histogram {
        let mut buckets = hdrhistogram::Histogram::new(DIGITS)
            .expect("three significant digits are within what the library accepts");
        buckets.auto(true);
        Histogram {
            buckets,
            sum: 0,
            min: u64::MAX,
            max: 0,
            over: [0; 4],
        }
    }

    /// Records one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Records `n` equal values.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.buckets
            .record_n(value.min(MAX_NS), n)
            .expect("an auto-resizing histogram takes every value up to MAX_NS");
        self.sum += u128::from(value) * u128::from(n);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        for (count, bound) in self.over.iter_mut().zip(OVER_NS) {
            if value > bound {
                *count += n;
            }
        }
    }

    /// Adds all of `other`, exactly.
    pub fn merge(&mut self, other: &Histogram) {
        self.buckets
            .add(&other.buckets)
            .expect("both histograms resize and share their digits");
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        for (mine, theirs) in self.over.iter_mut().zip(other.over) {
            *mine += theirs;
        }
    }

    /// Forgets everything, keeping its memory.
    pub fn clear(&mut self) {
        self.buckets.reset();
        self.sum = 0;
        self.min = u64::MAX;
        self.max = 0;
        self.over = [0; 4];
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Exact sum.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Exact minimum; zero when empty.
    #[must_use]
    pub fn min(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.min }
    }

    /// Exact maximum.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Exact mean; zero when empty.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let count = self.count();
        if count == 0 {
            0.0
        } else {
            self.sum as f64 / count as f64
        }
    }

    /// The value at quantile `q` (0 to 1), never beyond the exact extremes; `None` when fewer
    /// than ten samples lie beyond it.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let beyond = (1.0 - q) * self.count() as f64;
        if self.count() == 0 || beyond + 1e-9 < 10.0 {
            return None;
        }
        Some(self.quantile_raw(q))
    }

    /// The value at quantile `q` whatever the sample's size; for curves that show the maximum.
    #[must_use]
    pub fn quantile_raw(&self, q: f64) -> u64 {
        if self.count() == 0 {
            return 0;
        }
        self.buckets
            .value_at_quantile(q)
            .clamp(self.min(), self.max)
    }

    /// The library's histogram, for writing in its own interchange format.
    #[must_use]
    pub fn buckets(&self) -> &hdrhistogram::Histogram<u64> {
        &self.buckets
    }

    /// The largest value of each bucket that holds something, and its count.
    fn filled(&self) -> impl Iterator<Item = (u64, u64)> {
        let filled = self.buckets.iter_recorded();
        filled.map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
    }

    /// The exact companions, for storing beside the buckets.
    #[must_use]
    pub fn exact(&self) -> Exact {
        Exact {
            sum: self.sum,
            min: self.min(),
            max: self.max,
            over: self.over,
        }
    }

    /// Rebuilt from stored buckets and companions.
    #[must_use]
    pub fn from_parts(mut buckets: hdrhistogram::Histogram<u64>, exact: Exact) -> Histogram {
        buckets.auto(true);
        let min = if buckets.is_empty() {
            u64::MAX
        } else {
            exact.min
        };
        Histogram {
            buckets,
            sum: exact.sum,
            min,
            max: exact.max,
            over: exact.over,
        }
    }

    /// The figures of a wait event, as a run shows them.
    #[must_use]
    pub fn stats(&self) -> WaitStats {
        let count = self.count();
        let pct = |n: u64| {
            if count == 0 {
                0.0
            } else {
                100.0 * n as f64 / count as f64
            }
        };
        WaitStats {
            count,
            total_ns: u64::try_from(self.sum).unwrap_or(u64::MAX),
            mean_ns: self.mean(),
            min_ns: self.min(),
            p50_ns: self.quantile(0.50),
            p90_ns: self.quantile(0.90),
            p99_ns: self.quantile(0.99),
            p999_ns: self.quantile(0.999),
            max_ns: self.max,
            over_1ms_pct: pct(self.over[0]),
            over_10ms_pct: pct(self.over[1]),
            over_20ms_pct: pct(self.over[2]),
            outliers: self.over[3],
        }
    }

    /// Points `(percentile, value)` of the percentile curve, denser towards the tail, ending at
    /// 100 with the exact maximum.
    #[must_use]
    pub fn curve(&self) -> Vec<(f64, u64)> {
        let mut points = Vec::new();
        let count = self.count() as f64;
        if count == 0.0 {
            return points;
        }
        for decade in 0..7_i32 {
            let scale = 10f64.powi(-decade);
            for step in [1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15] {
                let beyond = scale * step;
                if beyond * count < 1.0 {
                    break;
                }
                points.push((100.0 * (1.0 - beyond), self.quantile_raw(1.0 - beyond)));
            }
        }
        points.push((100.0, self.max));
        points
    }
}

/// What is kept exactly beside the buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Sum of all values.
    pub sum: u128,
    /// Smallest value, zero when empty.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// Values over 1, 10, 20 and 500 ms.
    pub over: [u64; 4],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_exact_is_exact() {
        let mut h = Histogram::new();
        for v in [29_u64, 435_123, 1_000_001, 20_000_001, 700_000_000] {
            h.record(v);
        }
        assert_eq!(h.count(), 5);
        assert_eq!(h.sum(), 29 + 435_123 + 1_000_001 + 20_000_001 + 700_000_000);
        assert_eq!((h.min(), h.max()), (29, 700_000_000));
        let s = h.stats();
        assert_eq!(
            (s.over_1ms_pct, s.over_20ms_pct, s.outliers),
            (60.0, 40.0, 1)
        );
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        let mut h = Histogram::new();
        for v in 1..=999 {
            h.record(v);
        }
        assert_eq!(h.quantile(0.99), None);
        h.record(1000);
        assert_eq!(h.quantile(0.99), Some(990));
        assert_eq!(h.quantile(0.999), None);
    }

    #[test]
    fn merging_equals_recording_together() {
        let (mut a, mut b, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
        for i in 0..10_000_u64 {
            let v = i * i % 7_919_000;
            if i % 3 == 0 {
                a.record(v)
            } else {
                b.record(v)
            }
            both.record(v);
        }
        a.merge(&b);
        assert_eq!(a.stats(), both.stats());
        assert_eq!(a.curve(), both.curve());
        assert_eq!(a.curve().last(), Some(&(100.0, both.max())));
    }

    #[test]
    fn memory_stays_bounded() {
        let mut h = Histogram::new();
        h.record(u64::MAX);
        assert_eq!(h.max(), u64::MAX);
        assert!(
            h.buckets().distinct_values() < 40_000,
            "{}",
            h.buckets().distinct_values()
        );
    }
}
