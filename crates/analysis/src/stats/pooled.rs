//! Several sequences as one sample, such as the waits of 20 sessions: exact counts, sums and
//! quantiles of whole numbers, and an error of the mean that allows for autocorrelation.
//!
//! Values are counted, so that memory grows with the number of distinct values and not with the
//! number of values. Beside the counts, each sequence is cut into stretches by its position. The
//! stretches at the same position of all sequences are one stretch of the sample: sessions that ran
//! at the same time were disturbed at the same time. A block bootstrap draws these stretches
//! ([`super::blocks`]).
//!
//! If the means of the sequences differ more than their own errors explain (Cochran's Q, 1954, at
//! 5 %), then the sequences are the independent units, and the error of the mean comes from the
//! spread of their means.

use super::blocks::{self, Blocks, Statistic};
use super::bootstrap::{BootstrapPlan, combine};
use super::tails::{normal_quantile, t_critical};
use super::{Counts, Estimate, Moments, StatsRefusal, autocorrelation, checked_level};

/// Stretches of a sample.
const STRETCHES: usize = 200;
/// Parts of a sequence that are kept while its length is not known; then neighbours are joined.
const PARTS_MAX: usize = 4 * STRETCHES;
/// Distinct values that are kept exactly.
const DISTINCT_MAX: usize = 4_000_000;
/// Values that are counted together.
const BUFFER: usize = 1 << 20;
/// Largest value: squares of it can be added 2^32 times.
pub const VALUE_MAX: u64 = 1 << 47;
/// Values of a sequence from which its mean has an error of its own.
const SEQUENCE_MIN: u64 = 16;

/// Number and sum of neighbouring values.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    n: u64,
    sum: u128,
}

/// A sequence that is being read.
#[derive(Clone, Debug, Default)]
struct Sequence {
    parts: Vec<Stretch>,
    stride: u64,
    n: u64,
    sum: u128,
    squares: u128,
    products: u128,
    first: u64,
    last: u64,
}

impl Sequence {
    fn add(&mut self, value: u64) {
        if self.n == 0 {
            (self.first, self.stride) = (value, 1);
        } else {
            self.products += u128::from(self.last) * u128::from(value);
        }
        self.last = value;
        self.n += 1;
        self.sum += u128::from(value);
        self.squares += u128::from(value) * u128::from(value);
        match self.parts.last_mut().filter(|p| p.n < self.stride) {
            Some(part) => {
                part.n += 1;
                part.sum += u128::from(value);
            }
            None => {
                if self.parts.len() == PARTS_MAX {
                    self.halve();
                }
                let sum = u128::from(value);
                self.parts.push(Stretch { n: 1, sum });
            }
        }
    }

    fn halve(&mut self) {
        let joined = self.parts.chunks(2).map(|pair| Stretch {
            n: pair.iter().map(|p| p.n).sum(),
            sum: pair.iter().map(|p| p.sum).sum(),
        });
        self.parts = joined.collect();
        self.stride *= 2;
    }

    /// Σ(x − m)² and Σ(x_t − m)(x_(t+1) − m) around the mean m of this sequence.
    fn around_mean(&self) -> (f64, f64) {
        let n = self.n as f64;
        // Around a whole number near the mean, in integers, so that no digit is lost.
        let near = self.sum / u128::from(self.n.max(1));
        let rest = (self.sum - near * u128::from(self.n)) as f64;
        let shifted = |found: u128, terms: u128, sum: u128| {
            let whole = found as i128 + (near * near * terms) as i128 - (near * sum) as i128;
            whole as f64
        };
        let zero = shifted(self.squares, u128::from(self.n), 2 * self.sum) - rest * rest / n;
        let ends = u128::from(self.first) + u128::from(self.last);
        let pairs = u128::from(self.n.saturating_sub(1));
        let next = shifted(self.products, pairs, 2 * self.sum - ends);
        let m = rest / n;
        let inner = 2.0 * rest - (ends as f64 - 2.0 * near as f64);
        (zero, next - m * inner + pairs as f64 * m * m)
    }
}

/// What is kept of a sequence that was read.
#[derive(Clone, Copy, Debug)]
struct Ended {
    n: u64,
    mean: f64,
    /// Standard error of the mean, which allows for autocorrelation.
    se: Option<f64>,
}

/// A sample of whole numbers in one or more sequences.
#[derive(Clone, Debug)]
pub struct PooledSample {
    counts: Vec<(u64, u64)>,
    buffer: Vec<u64>,
    open: Sequence,
    sequences: Vec<Ended>,
    stretches: Vec<Stretch>,
    n: u64,
    sum: u128,
    squares: u128,
    zero: f64,
    next: f64,
}

impl Default for PooledSample {
    fn default() -> PooledSample {
        PooledSample {
            counts: Vec::new(),
            buffer: Vec::new(),
            open: Sequence::default(),
            sequences: Vec::new(),
            stretches: vec![Stretch::default(); STRETCHES],
            n: 0,
            sum: 0,
            squares: 0,
            zero: 0.0,
            next: 0.0,
        }
    }
}

impl PooledSample {
    /// Adds the next value of the sequence that is being read.
    ///
    /// # Errors
    /// A value over [`VALUE_MAX`]; more distinct values than are kept.
    pub fn add(&mut self, value: u64) -> Result<(), StatsRefusal> {
        if value > VALUE_MAX || self.n >= u64::from(u32::MAX) {
            let what = "a value is too large, or there are more than 4,294,967,295 values";
            return Err(StatsRefusal::Unsuitable(what));
        }
        self.n += 1;
        self.sum += u128::from(value);
        self.squares += u128::from(value) * u128::from(value);
        self.open.add(value);
        self.buffer.push(value);
        if self.buffer.len() >= BUFFER {
            self.count()?;
        }
        Ok(())
    }

    /// Ends the sequence that is being read.
    ///
    /// # Errors
    /// As of [`PooledSample::add`].
    pub fn end_sequence(&mut self) -> Result<(), StatsRefusal> {
        self.count()?;
        let ended = std::mem::take(&mut self.open);
        if ended.n == 0 {
            return Ok(());
        }
        let all = ended.parts.len();
        for (i, part) in ended.parts.iter().enumerate() {
            if let Some(stretch) = self.stretches.get_mut(i * STRETCHES / all) {
                stretch.n += part.n;
                stretch.sum += part.sum;
            }
        }
        let (zero, next) = ended.around_mean();
        self.zero += zero;
        self.next += next;
        self.sequences.push(Ended {
            n: ended.n,
            mean: ended.sum as f64 / ended.n as f64,
            se: error_of(&ended),
        });
        Ok(())
    }

    /// Counts what is in the buffer.
    fn count(&mut self) -> Result<(), StatsRefusal> {
        self.buffer.sort_unstable();
        let mut merged = Vec::with_capacity(self.counts.len());
        let mut old = std::mem::take(&mut self.counts).into_iter().peekable();
        for run in self.buffer.chunk_by(|a, b| a == b) {
            let Some(value) = run.first().copied() else {
                continue;
            };
            while let Some(before) = old.next_if(|o| o.0 < value) {
                merged.push(before);
            }
            let known = old.next_if(|o| o.0 == value).map_or(0, |o| o.1);
            merged.push((value, known + run.len() as u64));
        }
        merged.extend(old);
        self.buffer.clear();
        self.counts = merged;
        if self.counts.len() > DISTINCT_MAX {
            let what = "there are more than 4,000,000 distinct values";
            return Err(StatsRefusal::Unsuitable(what));
        }
        Ok(())
    }

    /// Number of values.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Number of sequences that have values.
    #[must_use]
    pub fn sequences(&self) -> usize {
        self.sequences.len()
    }

    /// The values with their counts, in a unit of `per_unit`: 1000 for microseconds if the values
    /// are nanoseconds.
    ///
    /// # Errors
    /// No values.
    pub fn counts(&self, per_unit: f64) -> Result<Counts, StatsRefusal> {
        let scaled = self.counts.iter().map(|(v, n)| (*v as f64 / per_unit, *n));
        Counts::of_ascending(scaled)
    }

    /// Number, mean and standard deviation in a unit of `per_unit`, from exact sums.
    ///
    /// # Errors
    /// No values.
    pub fn moments(&self, per_unit: u64) -> Result<Moments, StatsRefusal> {
        if self.n == 0 {
            return Err(StatsRefusal::Empty);
        }
        let n = u128::from(self.n);
        let whole = n * u128::from(per_unit);
        let mean = (self.sum / whole) as f64 + (self.sum % whole) as f64 / whole as f64;
        // Around a whole number near the mean, in integers, so that no digit is lost.
        let near = self.sum / n;
        let rest = (self.sum - near * n) as f64;
        let squares = (self.squares + near * near * n - 2 * near * self.sum) as f64;
        let sum = (squares - rest * rest / self.n as f64).max(0.0);
        let sd = match self.n {
            1 => 0.0,
            n => (sum / (n - 1) as f64).sqrt() / per_unit as f64,
        };
        let n = self.n as f64;
        Ok(Moments { n, mean, sd })
    }

    /// Autocorrelation of neighbouring values within the sequences, around the mean of each.
    ///
    /// # Errors
    /// Fewer than two values in every sequence; all values of each sequence equal.
    pub fn lag_one(&self) -> Result<f64, StatsRefusal> {
        if self.zero > 0.0 {
            Ok(self.next / self.zero)
        } else {
            Err(StatsRefusal::Constant)
        }
    }

    /// The mean with an error that allows for autocorrelation, in the unit of the values.
    ///
    /// # Errors
    /// Too few values, or a mean of 0.
    pub fn mean(&self, plan: &BootstrapPlan) -> Result<PooledMean, StatsRefusal> {
        if let Some(found) = self.of_sequences() {
            return Ok(found);
        }
        let mut drawn = Blocks::new();
        for stretch in self.stretches.iter().filter(|s| s.n > 0) {
            drawn.push_rate(stretch.sum as f64, stretch.n as f64);
        }
        let found = blocks::figures(&drawn, &[Statistic::Mean], plan)?;
        let found = found.first().ok_or(StatsRefusal::Empty)?;
        let what = "the mean is 0 in some draws, so it has no error";
        let se = found.se_ln.ok_or(StatsRefusal::Unsuitable(what))? * found.value;
        Ok(PooledMean {
            se,
            df: found.df,
            unit: PooledUnit::Stretches,
            units: drawn.len(),
        })
    }

    /// The error from the means of the sequences, if these differ more than they may by chance.
    fn of_sequences(&self) -> Option<PooledMean> {
        let known = self.sequences.iter().filter_map(|s| Some((s.mean, s.se?)));
        let known: Vec<(f64, f64)> = known.filter(|(_, se)| *se > 0.0).collect();
        if known.len() < 2 || known.len() < self.sequences.len().div_ceil(2) {
            return None;
        }
        let weight: f64 = known.iter().map(|(_, se)| 1.0 / (se * se)).sum();
        let middle = known.iter().map(|(m, se)| m / (se * se)).sum::<f64>() / weight;
        let q: f64 = known
            .iter()
            .map(|(m, se)| ((m - middle) / se).powi(2))
            .sum();
        if q <= chi_square(0.95, (known.len() - 1) as f64) {
            return None;
        }
        let (n, f) = (self.n as f64, self.sequences.len() as f64);
        let mean = self.sum as f64 / n;
        let each = self.sequences.iter();
        let squares: f64 = each
            .map(|s| (s.n as f64 / n * (s.mean - mean)).powi(2))
            .sum();
        Some(PooledMean {
            se: (squares * f / (f - 1.0)).sqrt(),
            df: f - 1.0,
            unit: PooledUnit::Sequences,
            units: self.sequences.len(),
        })
    }
}

/// What counted as independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PooledUnit {
    /// Stretches of all sequences at the same position, drawn in blocks.
    Stretches,
    /// Whole sequences, because their means differ.
    Sequences,
}

/// The error of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledMean {
    /// Standard error.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// What counted as independent.
    pub unit: PooledUnit,
    /// How many of them there are.
    pub units: usize,
}

/// `value`, the difference of two means, with an interval from the errors of both.
///
/// # Errors
/// A confidence outside 0 to 1; no variation in either sample.
pub fn difference(
    value: f64,
    a: &PooledMean,
    b: &PooledMean,
    level: f64,
) -> Result<Estimate, StatsRefusal> {
    checked_level(level)?;
    let (se, df) = combine((a.se, a.df), (b.se, b.df));
    if se == 0.0 {
        return Err(StatsRefusal::Constant);
    }
    let half = t_critical(level, df) * se;
    Ok(Estimate {
        value,
        low: value - half,
        high: value + half,
        level,
    })
}

/// Standard error of a sequence's mean, from its parts and their autocorrelation.
fn error_of(sequence: &Sequence) -> Option<f64> {
    if sequence.n < SEQUENCE_MIN {
        return None;
    }
    // The last part is shorter.
    let whole = sequence.parts.iter().filter(|p| p.n == sequence.stride);
    let means: Vec<f64> = whole.map(|p| p.sum as f64 / p.n as f64).collect();
    let sd = Moments::of(&means).ok()?.sd;
    let long = autocorrelation::missed(&means, 1.0)
        .values_per_independent
        .max(1.0);
    Some(sd * (long / means.len() as f64).sqrt())
}

/// Quantile of the chi-square distribution (Wilson and Hilferty 1931).
fn chi_square(p: f64, df: f64) -> f64 {
    let part = 2.0 / (9.0 * df);
    df * (1.0 - part + normal_quantile(p) * part.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::summary;

    fn pooled(sequences: &[Vec<u64>]) -> PooledSample {
        let mut found = PooledSample::default();
        for sequence in sequences {
            for value in sequence {
                found.add(*value).expect("small");
            }
            found.end_sequence().expect("few");
        }
        found
    }

    #[test]
    fn counts_and_moments_are_those_of_the_values() {
        let a: Vec<u64> = (0..50_001_u64).map(|i| i * i * 7919 % 40_009).collect();
        let b: Vec<u64> = (0..777_u64).map(|i| 1_000_000 + i % 3).collect();
        let all: Vec<f64> = a.iter().chain(&b).map(|v| *v as f64 / 1000.0).collect();
        let found = pooled(&[a, b, Vec::new()]);
        let exact = Moments::of(&all).expect("values");
        let moments = found.moments(1000).expect("values");
        assert_eq!((moments.n, found.sequences()), (exact.n, 2));
        assert!((moments.mean / exact.mean - 1.0).abs() < 1e-14);
        assert!((moments.sd / exact.sd - 1.0).abs() < 1e-13);
        let counts = found.counts(1000.0).expect("values");
        let of = summary::of_counts(&counts, moments.mean).expect("values");
        let exact = summary::of(&all).expect("values");
        assert_eq!(
            (of.min, of.q1, of.median),
            (exact.min, exact.q1, exact.median)
        );
        assert_eq!((of.q3, of.max, of.n), (exact.q3, exact.max, exact.n));
    }

    #[test]
    fn neighbours_are_correlated_as_acf_reports() {
        let values: Vec<u64> = (0..3_000_u64).map(|i| 500 + i / 10 % 37 + i % 2).collect();
        let real: Vec<f64> = values.iter().map(|v| *v as f64).collect();
        let wanted = autocorrelation::acf(&real, 1).expect("a series")[1];
        let found = pooled(&[values]).lag_one().expect("it varies");
        assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
    }

    #[test]
    fn nothing_one_value_and_equal_values_are_refused() {
        let plan = BootstrapPlan::default();
        let none = pooled(&[]);
        assert_eq!(none.moments(1), Err(StatsRefusal::Empty));
        assert!(none.counts(1.0).is_err() && none.lag_one().is_err());
        assert!(none.mean(&plan).is_err());
        let one = pooled(&[vec![7]]);
        assert_eq!(one.moments(1).map(|m| (m.mean, m.sd)), Ok((7.0, 0.0)));
        assert!(one.mean(&plan).is_err() && one.lag_one().is_err());
        let equal = pooled(&[vec![5; 400], vec![5; 300]]);
        let mean = equal.mean(&plan).expect("an error of 0");
        let same = difference(0.0, &mean, &mean, 0.95);
        assert_eq!(same, Err(StatsRefusal::Constant));
        assert!(pooled(&[vec![0; 400]]).mean(&plan).is_err());
        let mut huge = PooledSample::default();
        assert!(huge.add(VALUE_MAX).is_ok() && huge.add(VALUE_MAX + 1).is_err());
    }

    #[test]
    fn sequences_of_different_levels_are_the_units() {
        let session = |level: u64| (0..2_000_u64).map(|i| level + i * 7919 % 101).collect();
        let plan = BootstrapPlan::default();
        let alike = pooled(&[session(500), session(500), session(500)]);
        assert_eq!(alike.mean(&plan).map(|m| m.unit), Ok(PooledUnit::Stretches));
        let apart = pooled(&[session(500), session(520), session(480)]);
        let found = apart.mean(&plan).expect("values");
        assert_eq!((found.unit, found.units), (PooledUnit::Sequences, 3));
        // The standard error of 500, 520 and 480.
        assert!((found.se - 20.0 / 3.0_f64.sqrt()).abs() < 0.5, "{found:?}");
    }
}
