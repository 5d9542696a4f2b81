//! Welch's t test: do two means differ, when the spreads may differ too?
//!
//! t = (m₁ − m₂) / √(s₁²/n₁ + s₂²/n₂), degrees of freedom by Welch (1947) and Satterthwaite:
//! (v₁ + v₂)² / (v₁²/(n₁ − 1) + v₂²/(n₂ − 1)) with v = s²/n. It takes the values as independent;
//! latencies in sequence are not, and their intervals come from [`super::blocks`].

use super::tails::{PValue, t_critical, t_two_sided};
use super::{Moments, StatsRefusal, checked_level};

/// Outcome of Welch's test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The statistic.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided.
    pub p: PValue,
    /// First mean minus second.
    pub difference: super::Estimate,
}

/// Welch's test of two samples' moments, with an interval of confidence `level`.
///
/// # Errors
/// A sample of fewer than two values; both without any spread.
pub fn test(a: &Moments, b: &Moments, level: f64) -> Result<Welch, StatsRefusal> {
    checked_level(level)?;
    for m in [a, b] {
        if m.n < 2.0 {
            let found = m.n as usize;
            return Err(StatsRefusal::TooFew { needed: 2, found });
        }
    }
    let (va, vb) = (a.variance_of_mean(), b.variance_of_mean());
    let se = (va + vb).sqrt();
    if se == 0.0 {
        return Err(StatsRefusal::Constant);
    }
    let difference = a.mean - b.mean;
    if !se.is_finite() || !difference.is_finite() {
        let what = "the values are too large for their squares to be computed";
        return Err(StatsRefusal::Unsuitable(what));
    }
    // In shares of the sum, so that tiny variances do not underflow when squared.
    let (ra, rb) = (va / (va + vb), vb / (va + vb));
    let df = 1.0 / (ra * ra / (a.n - 1.0) + rb * rb / (b.n - 1.0));
    let t = difference / se;
    let half = t_critical(level, df) * se;
    Ok(Welch {
        t,
        df,
        p: t_two_sided(t, df),
        difference: super::Estimate {
            value: difference,
            low: difference - half,
            high: difference + half,
            level,
        },
    })
}

/// The standard deviations that a published t, degrees of freedom, both means and numbers imply:
/// two equations, two unknowns. `(first, second)`; which of the two is the larger does not follow
/// from the figures, so the first is taken as the larger.
///
/// They are back-solved; a text that shows them has to say so, with the numbers assumed.
///
/// # Errors
/// Figures that no two samples of these sizes can give.
pub fn back_solve(
    t: f64,
    df: f64,
    difference: f64,
    n: (u64, u64),
) -> Result<(f64, f64), StatsRefusal> {
    let impossible = StatsRefusal::Unsuitable("no two samples of these sizes give these figures");
    let (n1, n2) = (n.0 as f64, n.1 as f64);
    let total = (difference / t).powi(2);
    if n.0 < 2 || n.1 < 2 || !total.is_finite() || total <= 0.0 || !df.is_finite() || df <= 0.0 {
        return Err(impossible);
    }
    // With r = v₁ / (v₁ + v₂): r²/(n₁ − 1) + (1 − r)²/(n₂ − 1) = 1/df.
    let (a1, a2) = (1.0 / (n1 - 1.0), 1.0 / (n2 - 1.0));
    let (a, b, c) = (a1 + a2, -2.0 * a2, a2 - 1.0 / df);
    let root = b * b - 4.0 * a * c;
    if root < 0.0 {
        return Err(impossible);
    }
    let r = (-b + root.sqrt()) / (2.0 * a);
    if !(0.0..=1.0).contains(&r) {
        return Err(impossible);
    }
    Ok(((total * r * n1).sqrt(), (total * (1.0 - r) * n2).sqrt()))
}
