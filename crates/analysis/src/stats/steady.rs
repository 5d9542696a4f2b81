//! Steady state, as SNIA's Solid State Storage Performance Test Specification has it: over a window
//! of five rounds the figures range over at most 20 % of their mean, and their least-squares line
//! rises or falls by at most 10 % of it.

use super::{StatsRefusal, checked, mean};

/// What counts as steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    /// Rounds in a window.
    pub window: usize,
    /// Largest range over the window, share of the mean.
    pub range: f64,
    /// Largest excursion of the line over the window, share of the mean.
    pub slope: f64,
}

impl Default for Criterion {
    fn default() -> Criterion {
        Criterion {
            window: 5,
            range: 0.20,
            slope: 0.10,
        }
    }
}

/// How a series meets the criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// The first round whose window, beginning with it, is steady; `None` where none is.
    pub from: Option<usize>,
    /// The last window is steady.
    pub at_end: bool,
    /// Range of the last window, share of its mean.
    pub range: f64,
    /// Excursion of the last window's line, share of its mean; negative where it falls.
    pub slope: f64,
    /// Mean of the last window.
    pub mean: f64,
}

/// Judges a series of rounds.
///
/// # Errors
/// Fewer rounds than a window holds, a value that is not finite, a mean that is not positive, or a
/// window of fewer than two.
pub fn steadiness(rounds: &[f64], criterion: &Criterion) -> Result<Steadiness, StatsRefusal> {
    if criterion.window < 2 {
        return Err(StatsRefusal::Parameter(
            "a window holds two rounds at least",
        ));
    }
    checked(rounds, criterion.window)?;
    let mut from = None;
    let mut last = None;
    for (at, window) in rounds.windows(criterion.window).enumerate() {
        let (range, slope, mean) = window_of(window)?;
        let steady = range <= criterion.range && slope.abs() <= criterion.slope;
        if steady && from.is_none() {
            from = Some(at);
        }
        last = Some(Steadiness {
            from,
            at_end: steady,
            range,
            slope,
            mean,
        });
    }
    last.ok_or(StatsRefusal::Empty)
}

fn window_of(window: &[f64]) -> Result<(f64, f64, f64), StatsRefusal> {
    let middle = mean(window);
    if !(middle.is_finite() && middle > 0.0) {
        return Err(StatsRefusal::Unsuitable(
            "shares of a mean need a positive mean",
        ));
    }
    let low = window.iter().copied().fold(f64::INFINITY, f64::min);
    let high = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let centre = (window.len() - 1) as f64 / 2.0;
    let (mut over, mut under) = (0.0, 0.0);
    for (i, y) in window.iter().enumerate() {
        let x = i as f64 - centre;
        over += x * (y - middle);
        under += x * x;
    }
    let excursion = over / under * (window.len() - 1) as f64;
    Ok(((high - low) / middle, excursion / middle, middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_and_range_each_forbid() {
        let c = Criterion::default();
        // A fresh drive that settles: steady from the fourth round.
        let settling = [200.0, 160.0, 130.0, 101.0, 100.0, 99.0, 100.0, 100.0];
        let s = steadiness(&settling, &c).expect("rounds");
        assert_eq!((s.from, s.at_end), (Some(3), true));
        // Range 12 %, slope 12 %.
        let falling = [106.0, 103.0, 100.0, 97.0, 94.0];
        let s = steadiness(&falling, &c).expect("rounds");
        assert!(!s.at_end && (s.range - 0.12).abs() < 1e-12 && (s.slope + 0.12).abs() < 1e-12);
        // Range 30 %, slope 0.
        let peak = [95.0, 95.0, 125.0, 95.0, 95.0];
        assert!(!steadiness(&peak, &c).expect("rounds").at_end);
    }

    #[test]
    fn bad_rounds_are_refused() {
        let c = Criterion::default();
        assert!(steadiness(&[1.0; 4], &c).is_err());
        assert!(steadiness(&[0.0; 5], &c).is_err());
        assert!(steadiness(&[f64::NAN; 5], &c).is_err());
        assert!(steadiness(&[1.0; 5], &Criterion { window: 0, ..c }).is_err());
    }
}
