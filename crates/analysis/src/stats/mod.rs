//! Statistics: pure functions of numbers, each with its formula's name and source.
//!
//! | topic | file |
//! |---|---|
//! | five-number summary, quantiles of type 7 | [`summary`] |
//! | values with counts, from data and from histograms | [`counts`] |
//! | number, mean and standard deviation | [`moments`] |
//! | p-values that do not underflow, quantiles of t and normal | [`tails`] |
//! | Welch's t test | [`welch`] |
//! | Mann-Whitney U, probability of superiority, Cliff's delta | [`rank`] |
//! | Hodges-Lehmann shift | [`shift`] |
//! | Cohen's d, Hedges' g, their sizes in words | [`effect`] |
//! | autocorrelation and the length of blocks | [`autocorrelation`] |
//! | block bootstrap of a series | [`bootstrap`] |
//! | block bootstrap of interval histograms, and of events cut into blocks | [`blocks`] |
//! | several sequences as one sample | [`pooled`] |
//! | change points | [`change`] |
//! | token bucket: a burst, then an even level | [`bucket`] |
//! | steady state | [`steady`] |
//! | Universal Scalability Law, knee | [`scaling`] |
//! | plateau that looks like a cap, decay in time | [`decay`] |
//! | power and the smallest shift that a test would find | [`power`] |
//!
//! Invariants: nothing here panics on any numbers; what cannot be computed is refused with a
//! typed [`StatsRefusal`]. What draws random numbers takes a seed and gives the same result for it.
//! Units are the caller's: a result has the unit of what went in.
//!
//! What it must not know: runs, metrics, files, clocks.

pub mod autocorrelation;
pub mod blocks;
pub mod bootstrap;
pub mod bucket;
pub mod change;
pub mod counts;
pub mod decay;
pub mod effect;
pub mod moments;
mod parts;
pub mod pooled;
pub mod power;
pub mod random;
pub mod rank;
pub mod scaling;
pub mod shift;
pub mod steady;
pub mod summary;
pub mod tails;
pub mod welch;

pub use counts::Counts;
pub use moments::Moments;
pub use summary::Summary;
pub use tails::PValue;

/// Why a figure cannot be given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StatsRefusal {
    /// There is nothing to compute it from.
    #[error("there are no values")]
    Empty,
    /// There is less than the method needs.
    #[error("{found} values, at least {needed} are needed")]
    TooFew {
        /// What the method needs.
        needed: usize,
        /// What there is.
        found: usize,
    },
    /// All values are equal, so that noise cannot be distinguished from a difference.
    #[error("all values are equal")]
    Constant,
    /// A value is infinite or not a number.
    #[error("value {index}, counted from 0, is not a finite number")]
    NotFinite {
        /// Where it stands.
        index: usize,
    },
    /// A parameter that the method does not allow.
    #[error("{0}")]
    Parameter(&'static str),
    /// The points have not the shape that the model needs.
    #[error("{0}")]
    Unsuitable(&'static str),
}

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Confidence of the interval, such as 0.95.
    pub level: f64,
}

/// All values finite and at least `needed` of them.
fn checked(values: &[f64], needed: usize) -> Result<(), StatsRefusal> {
    if values.is_empty() {
        return Err(StatsRefusal::Empty);
    }
    if let Some(index) = values.iter().position(|v| !v.is_finite()) {
        return Err(StatsRefusal::NotFinite { index });
    }
    if values.len() < needed {
        let found = values.len();
        return Err(StatsRefusal::TooFew { needed, found });
    }
    Ok(())
}

/// A confidence strictly between 0 and 1.
fn checked_level(level: f64) -> Result<(), StatsRefusal> {
    if level > 0.0 && level < 1.0 {
        Ok(())
    } else {
        Err(StatsRefusal::Parameter(
            "the confidence must lie between 0 and 1",
        ))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// A power of two by which squares of the values neither overflow nor vanish, and by which no
/// digit is lost; 1 for ordinary values.
fn scale_of(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    if largest == 0.0 || (1e-100..1e100).contains(&largest) {
        1.0
    } else {
        largest.log2().floor().clamp(-1000.0, 1000.0).exp2()
    }
}
