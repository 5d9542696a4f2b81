//! Number, mean and standard deviation of a sample: all that Welch's test and Cohen's d need.

use super::{StatsRefusal, checked};
use measure::Histogram;

/// Number, mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub n: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation with the denominator n − 1; 0 for one value.
    pub sd: f64,
}

impl Moments {
    /// Published figures.
    ///
    /// # Errors
    /// Fewer than one value, or a mean or standard deviation that cannot be.
    pub fn new(n: u64, mean: f64, sd: f64) -> Result<Moments, StatsRefusal> {
        if n == 0 {
            return Err(StatsRefusal::Empty);
        }
        if !mean.is_finite() {
            return Err(StatsRefusal::NotFinite { index: 0 });
        }
        if !sd.is_finite() || sd < 0.0 {
            let what = "a standard deviation is a finite number that is not negative";
            return Err(StatsRefusal::Parameter(what));
        }
        let n = n as f64;
        Ok(Moments { n, mean, sd })
    }

    /// Of data, in two passes so that a large mean does not swallow a small spread.
    ///
    /// # Errors
    /// No values, or one that is not finite.
    pub fn of(values: &[f64]) -> Result<Moments, StatsRefusal> {
        checked(values, 1)?;
        let n = values.len() as f64;
        let scale = super::scale_of(values);
        let rough = values.iter().map(|v| v / scale / n).sum::<f64>();
        let (mut first, mut second) = (0.0, 0.0);
        for v in values {
            let d = v / scale - rough;
            first += d;
            second += d * d;
        }
        let mean = (rough + first / n) * scale;
        let squares = (second - first * first / n).max(0.0);
        let sd = if values.iter().all(|v| v == &values[0]) {
            0.0
        } else {
            (squares / (n - 1.0)).sqrt() * scale
        };
        Ok(Moments { n, mean, sd })
    }

    /// Of a histogram: number and mean are exact, the standard deviation is from the buckets'
    /// middles. With three significant digits a value is within 0.05 % of its bucket's middle, so
    /// the standard deviation is within 0.05 % of the root mean square of the values.
    ///
    /// # Errors
    /// An empty histogram.
    pub fn of_histogram(histogram: &Histogram) -> Result<Moments, StatsRefusal> {
        let counts = super::Counts::of_histogram(histogram)?;
        let mean = histogram.mean();
        let n = histogram.count() as f64;
        let middle = counts.mean();
        let squares: f64 = counts
            .pairs()
            .map(|(v, c)| (v - middle) * (v - middle) * c as f64)
            .sum();
        let sd = if n > 1.0 {
            (squares / (n - 1.0)).sqrt()
        } else {
            0.0
        };
        Ok(Moments { n, mean, sd })
    }

    /// Squared standard error of the mean.
    #[must_use]
    pub fn variance_of_mean(&self) -> f64 {
        self.sd * self.sd / self.n
    }
}
