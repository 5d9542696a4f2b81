//! What R's `summary` prints: minimum, quartiles (type 7), median, mean, maximum.

use super::{Counts, StatsRefusal};
use measure::Histogram;

/// A summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub n: u64,
    /// Minimum.
    pub min: f64,
    /// First quartile.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Mean.
    pub mean: f64,
    /// Third quartile.
    pub q3: f64,
    /// Maximum.
    pub max: f64,
    /// How far a quartile or the median may be off, since a histogram knows its values to their
    /// buckets only; 0 for data. Minimum, mean and maximum are exact.
    pub quantile_error: f64,
}

/// Of data.
///
/// # Errors
/// No values, or one that is not finite.
pub fn of(values: &[f64]) -> Result<Summary, StatsRefusal> {
    let counts = Counts::of(values)?;
    let mean = super::Moments::of(values)?.mean;
    build(&counts, mean)
}

/// Of a histogram.
///
/// # Errors
/// An empty histogram.
pub fn of_histogram(histogram: &Histogram) -> Result<Summary, StatsRefusal> {
    build(&Counts::of_histogram(histogram)?, histogram.mean())
}

/// Of counted values whose exact mean is known.
///
/// # Errors
/// No values.
pub fn of_counts(counts: &Counts, mean: f64) -> Result<Summary, StatsRefusal> {
    build(counts, mean)
}

fn build(counts: &Counts, mean: f64) -> Result<Summary, StatsRefusal> {
    let [min, q1, median, q3, max] = {
        let at = |p| counts.quantile(p);
        [at(0.0)?, at(0.25)?, at(0.5)?, at(0.75)?, at(1.0)?]
    };
    let error = [q1, median, q3]
        .iter()
        .map(|q| (q.high - q.value).max(q.value - q.low))
        .fold(0.0, f64::max);
    Ok(Summary {
        n: counts.n(),
        min: min.low,
        q1: q1.value,
        median: median.value,
        mean,
        q3: q3.value,
        max: max.high,
        quantile_error: error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_says_how_wrong_it_may_be() {
        let mut h = Histogram::new();
        let values: Vec<f64> = (0..10_001_u64)
            .map(|i| (i * 37 % 10_001 * 991) as f64)
            .collect();
        for v in &values {
            h.record(*v as u64);
        }
        let exact = of(&values).expect("values");
        let rough = of_histogram(&h).expect("values");
        assert_eq!(
            (rough.min, rough.max, rough.n),
            (exact.min, exact.max, exact.n)
        );
        assert!((rough.mean - exact.mean).abs() < 1e-6);
        assert!(rough.quantile_error > 0.0 && rough.quantile_error < 0.001 * exact.q3);
        for (a, b) in [
            (rough.q1, exact.q1),
            (rough.median, exact.median),
            (rough.q3, exact.q3),
        ] {
            assert!((a - b).abs() <= rough.quantile_error, "{a} {b}");
        }
    }

    #[test]
    fn bad_samples_are_refused() {
        assert_eq!(of(&[]), Err(StatsRefusal::Empty));
        assert_eq!(
            of(&[1.0, f64::NAN]),
            Err(StatsRefusal::NotFinite { index: 1 })
        );
        assert_eq!(of_histogram(&Histogram::new()), Err(StatsRefusal::Empty));
        let one = of(&[3.5]).expect("one value");
        assert_eq!((one.min, one.median, one.max), (3.5, 3.5, 3.5));
        let big = of(&[f64::MAX, f64::MAX, -f64::MAX]).expect("finite");
        assert!(big.mean.is_finite());
    }
}
