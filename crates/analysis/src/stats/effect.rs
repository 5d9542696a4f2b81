//! How large a difference is, apart from whether it is one.
//!
//! Cohen's d (Cohen 1988): the difference of the means over the pooled standard deviation.
//! Hedges' g (Hedges 1981): d times the exact correction Γ(m/2) / (√(m/2) Γ((m − 1)/2)) with
//! m = n₁ + n₂ − 2, which takes the bias of small samples away.

use super::tails::{ln_gamma_half, normal_quantile};
use super::{Estimate, Moments, StatsRefusal, checked_level};
use measure::comparison::Size;

/// The word for Cohen's d: the nearest of 0 and Cohen's benchmarks 0.2, 0.5 and 0.8, so the limits
/// are the middles 0.1, 0.35 and 0.65.
#[must_use]
pub fn size_of_d(d: f64) -> Size {
    match d.abs() {
        d if d < 0.1 => Size::Negligible,
        d if d < 0.35 => Size::Small,
        d if d < 0.65 => Size::Medium,
        _ => Size::Large,
    }
}

/// The word for Cliff's delta: limits 0.147, 0.33 and 0.474 (Romano and others 2006).
#[must_use]
pub fn size_of_delta(delta: f64) -> Size {
    match delta.abs() {
        d if d < 0.147 => Size::Negligible,
        d if d < 0.33 => Size::Small,
        d if d < 0.474 => Size::Medium,
        _ => Size::Large,
    }
}

/// Effect sizes of a difference of means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Cohen's d with its large-sample interval (Hedges and Olkin 1985, chapter 5):
    /// variance (n₁ + n₂)/(n₁ n₂) + d²/(2 (n₁ + n₂)).
    pub d: Estimate,
    /// Hedges' g.
    pub g: f64,
}

/// Effect sizes of the first sample's mean over the second's.
///
/// # Errors
/// Fewer than two values in a sample; no spread in either.
pub fn of(a: &Moments, b: &Moments, level: f64) -> Result<Effect, StatsRefusal> {
    checked_level(level)?;
    for m in [a, b] {
        if m.n < 2.0 {
            let found = m.n as usize;
            return Err(StatsRefusal::TooFew { needed: 2, found });
        }
    }
    let free = a.n + b.n - 2.0;
    let (wa, wb) = ((a.n - 1.0) / free, (b.n - 1.0) / free);
    let pooled = (wa * a.sd * a.sd + wb * b.sd * b.sd).sqrt();
    if pooled == 0.0 {
        return Err(StatsRefusal::Constant);
    }
    let d = (a.mean - b.mean) / pooled;
    if !d.is_finite() {
        let what = "the values are too large for their squares to be computed";
        return Err(StatsRefusal::Unsuitable(what));
    }
    let all = a.n + b.n;
    let se = (all / (a.n * b.n) + d * d / (2.0 * all)).sqrt();
    let half = normal_quantile(0.5 + level / 2.0) * se;
    // Γ(m/2) / Γ((m − 1)/2) is the half-step ratio at (m − 1)/2.
    let correction = (ln_gamma_half((free - 1.0) / 2.0) - 0.5 * (free / 2.0).ln()).exp();
    Ok(Effect {
        d: Estimate {
            value: d,
            low: d - half,
            high: d + half,
            level,
        },
        g: d * correction,
    })
}
