//! How strongly a value determines the next ones, and how long the blocks of a bootstrap have to
//! be.
//!
//! Block length: Politis and White (2004) with the correction of Patton, Politis and White (2009).
//! The autocorrelations count up to the lag m after which K_n = max(5, √(log₁₀ n)) in a row are
//! below 2 √(log₁₀ n / n); a flat-top window of width 2m weighs them.

use super::{StatsRefusal, checked, mean};

/// Longer series are averaged in runs of equal length before their block length is looked for, so
/// that the time is bounded: what is shorter than a run is inside any block anyway.
const LONGEST: usize = 100_000;

/// Autocorrelations at the lags 0 to `lags`, as R's `acf`: sums over n − k products, divided by n.
///
/// # Errors
/// Fewer than two values, one that is not finite, all equal.
pub fn acf(values: &[f64], lags: usize) -> Result<Vec<f64>, StatsRefusal> {
    let centred = centre(values)?;
    let zero = dot(&centred, 0);
    let last = lags.min(values.len() - 1);
    Ok((0..=last).map(|k| dot(&centred, k) / zero).collect())
}

fn centre(values: &[f64]) -> Result<Vec<f64>, StatsRefusal> {
    checked(values, 2)?;
    if values.iter().all(|v| v == &values[0]) {
        return Err(StatsRefusal::Constant);
    }
    let scale = super::scale_of(values);
    let mut centred: Vec<f64> = values.iter().map(|v| v / scale).collect();
    let middle = mean(&centred);
    for v in &mut centred {
        *v -= middle;
    }
    Ok(centred)
}

fn dot(centred: &[f64], lag: usize) -> f64 {
    let ahead = centred.get(lag..).unwrap_or_default();
    centred.iter().zip(ahead).map(|(a, b)| a * b).sum()
}

/// Lengths of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockLength {
    /// Mean length for the stationary bootstrap.
    pub stationary: f64,
    /// Length for the circular (moving) block bootstrap.
    pub circular: f64,
}

/// The length of blocks that suits the autocorrelation of `values`.
///
/// # Errors
/// Fewer than four values, one that is not finite, all equal.
pub fn block_length(values: &[f64]) -> Result<BlockLength, StatsRefusal> {
    checked(values, 4)?;
    let run = values.len().div_ceil(LONGEST);
    let averaged: Vec<f64>;
    let series = if run > 1 {
        averaged = values.chunks_exact(run).map(mean).collect();
        &averaged
    } else {
        values
    };
    let centred = centre(series)?;
    let found = politis_white(&centred);
    let run = run as f64;
    Ok(BlockLength {
        stationary: found.stationary * run,
        circular: found.circular * run,
    })
}

fn politis_white(centred: &[f64]) -> BlockLength {
    let n = centred.len();
    let real_n = n as f64;
    let quiet = 5.max(real_n.log10().sqrt().ceil() as usize);
    let longest = (real_n.sqrt().ceil() as usize + quiet).min(n - 1);
    let zero = dot(centred, 0);
    let limit = 2.0 * (real_n.log10() / real_n).sqrt();
    // Covariances as far as they are needed; index 0 is lag 0.
    let mut covariance = vec![zero];
    let mut below = 0;
    let mut last = 0;
    let mut found = None;
    for lag in 1..=longest {
        let c = dot(centred, lag);
        covariance.push(c);
        if (c / zero).abs() < limit {
            below += 1;
        } else {
            (below, last) = (0, lag);
        }
        if below == quiet {
            found = Some((lag - quiet).max(1));
            break;
        }
    }
    let m = found.unwrap_or(last).max(1);
    let width = (2 * m).min(longest);
    let (mut spectrum, mut slope) = (covariance[0], 0.0);
    for lag in 1..=width {
        let c = match covariance.get(lag) {
            Some(c) => *c,
            None => dot(centred, lag),
        };
        let share = lag as f64 / width as f64;
        let weight = if share <= 0.5 {
            1.0
        } else {
            2.0 * (1.0 - share)
        };
        spectrum += 2.0 * weight * c;
        slope += 2.0 * weight * lag as f64 * c;
    }
    let most = (3.0 * real_n.sqrt()).min(real_n / 3.0).ceil();
    let length = |d: f64| {
        let b = (2.0 * slope * slope / d).cbrt() * real_n.cbrt();
        if b.is_finite() {
            b.clamp(1.0, most)
        } else {
            most
        }
    };
    BlockLength {
        stationary: length(2.0 * spectrum * spectrum),
        circular: length(4.0 / 3.0 * spectrum * spectrum),
    }
}

/// What blocks of a length miss of a series' long-run variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Missed {
    /// By what a standard error from such blocks has to be multiplied, 1 or more.
    pub(super) factor: f64,
    /// Values that count as one independent value.
    pub(super) values_per_independent: f64,
}

/// Blocks cut what hangs together at their ends, and short series hide their autocorrelation: an
/// estimate is too low by (1 + 4ρ)/n (Marriott and Pope 1954). Both are made up for by the larger
/// of two descriptions: an AR(1) with the first coefficient, so corrected, which has in the long
/// run (1 + ρ)/(1 − ρ); or the first ∛n coefficients as they are, corrected likewise, for series
/// whose slow part is small beside their noise. Blocks of b catch 1 + 2 Σ (1 − h/b) ρ(h) of either.
pub(super) fn missed(values: &[f64], block: f64) -> Missed {
    let n = values.len() as f64;
    let few = (n.cbrt().round() as usize).max(1);
    let found = acf(values, few).unwrap_or_default();
    let first = found.get(1).copied().unwrap_or(0.0);
    let rho = (first + (1.0 + 4.0 * first) / n).clamp(0.0, 0.95);
    let long = (1.0 + rho) / (1.0 - rho);
    let caught = |h: f64| 2.0 * (1.0 - h / block).max(0.0);
    let (mut within, mut power, mut h) = (1.0, rho, 1.0);
    while h < block && power > 1e-12 {
        within += caught(h) * power;
        (power, h) = (power * rho, h + 1.0);
    }
    let (mut plain, mut plain_within) = (1.0, 1.0);
    for (h, r) in found.iter().enumerate().skip(1) {
        let r = r + long / n;
        plain += 2.0 * r;
        plain_within += caught(h as f64) * r;
    }
    let ratio = |long: f64, within: f64| (long / within.max(0.1)).max(1.0);
    Missed {
        factor: ratio(long, within).max(ratio(plain, plain_within)).sqrt(),
        values_per_independent: long.max(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn blocks_grow_with_the_autocorrelation() {
        let mut r = Random::new(3);
        let mut lengths = Vec::new();
        for phi in [0.0, 0.5, 0.9] {
            let mut x = 0.0;
            let series: Vec<f64> = (0..4000)
                .map(|_| {
                    x = phi * x + r.normal();
                    x
                })
                .collect();
            lengths.push(block_length(&series).expect("a series").circular);
        }
        assert!(lengths[0] < 8.0 && lengths[1] > lengths[0], "{lengths:?}");
        assert!(lengths[2] > 20.0 && lengths[2] < 200.0, "{lengths:?}");
    }

    #[test]
    fn bad_series_are_refused() {
        assert_eq!(acf(&[], 3), Err(StatsRefusal::Empty));
        assert_eq!(acf(&[1.0, 1.0], 3), Err(StatsRefusal::Constant));
        assert!(block_length(&[1.0, 2.0]).is_err());
        assert!(block_length(&[1.0, f64::NAN, 2.0, 3.0]).is_err());
        let huge: Vec<f64> = (0..300_000).map(|i| f64::from(i % 7)).collect();
        assert!(block_length(&huge).is_ok());
        assert_eq!(acf(&[1.0, 2.0], 9).expect("two").len(), 2);
    }
}
