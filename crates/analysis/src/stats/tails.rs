//! Tails of Student's t and of the normal distribution, as logarithms: a t of 263 with eight
//! million degrees of freedom has a p-value near 10^-15,000, which no `f64` holds.
//!
//! Sources: NIST Digital Library of Mathematical Functions 8.17.22 (continued fraction of the
//! incomplete beta function), 5.11.1 (ratio of gamma functions), 7.12.1 (complementary error
//! function), 26.7.5 of Abramowitz and Stegun (t from normal quantiles). `statrs` gives the gamma
//! and error functions.

use statrs::function::{erf, gamma::ln_gamma};
use std::fmt;

/// Smallest p-value that R prints; smaller ones are shown as a bound.
const PRINTED_MIN: f64 = 2.2e-16;
/// From here on t quantiles come from the expansion in 1/df, exact to 1e-14.
const MANY_DF: f64 = 1e5;
/// Terms of a continued fraction; eight million degrees of freedom take some two thousand.
const TERMS: u32 = 200_000;

/// A p-value, kept as its natural logarithm.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct PValue {
    ln: f64,
}

impl PValue {
    /// From a probability; clamped to 0 to 1.
    #[must_use]
    pub fn new(p: f64) -> PValue {
        PValue::from_ln(p.clamp(0.0, 1.0).ln())
    }

    /// From a natural logarithm; what is above 0 counts as 0, and no number as no evidence.
    #[must_use]
    pub fn from_ln(ln: f64) -> PValue {
        let ln = if ln.is_nan() { 0.0 } else { ln.min(0.0) };
        PValue { ln }
    }

    /// The probability; 0 where it underflows.
    #[must_use]
    pub fn value(self) -> f64 {
        self.ln.exp()
    }

    /// Its natural logarithm.
    #[must_use]
    pub fn ln(self) -> f64 {
        self.ln
    }
}

impl fmt::Display for PValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let p = self.value();
        if p < PRINTED_MIN {
            write!(f, "< 2.2e-16")
        } else if p < 0.001 {
            write!(f, "{p:.1e}")
        } else {
            write!(f, "{p:.3}")
        }
    }
}

/// Two-sided p-value of a t statistic. Infinite `df` is the normal distribution.
#[must_use]
pub fn t_two_sided(t: f64, df: f64) -> PValue {
    PValue::from_ln((ln_t_upper(t.abs(), df) + std::f64::consts::LN_2).min(0.0))
}

/// Two-sided p-value of a standard normal statistic.
#[must_use]
pub fn normal_two_sided(z: f64) -> PValue {
    PValue::from_ln((ln_normal_upper(z.abs()) + std::f64::consts::LN_2).min(0.0))
}

/// Logarithm of P(T > t) for `t` of at least 0.
fn ln_t_upper(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return 0.0;
    }
    if df > 1e12 {
        return ln_normal_upper(t);
    }
    if t.is_infinite() {
        return f64::NEG_INFINITY;
    }
    // P(T > t) = I_x(df/2, 1/2) / 2 with x = df / (df + t²).
    let (a, b) = (df / 2.0, 0.5);
    let square = t * t;
    if square.is_infinite() {
        return -df * (t / df.sqrt()).ln();
    }
    let ln_x = -(square / df).ln_1p();
    let ln_y = if square == 0.0 {
        return -std::f64::consts::LN_2;
    } else {
        -(df / square).ln_1p()
    };
    // 1 / B(a, 1/2) = Γ(a + 1/2) / (Γ(a) Γ(1/2))
    let ln_front = a * ln_x + b * ln_y + ln_gamma_half(a) - 0.5 * std::f64::consts::PI.ln();
    let x = ln_x.exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        ln_front + (beta_fraction(x, a, b) / a).ln() - std::f64::consts::LN_2
    } else {
        let other = ln_front.exp() * beta_fraction(ln_y.exp(), b, a) / b;
        (0.5 * (1.0 - other)).ln()
    }
}

/// ln Γ(a + 1/2) − ln Γ(a), without the cancellation that the difference would have.
pub(super) fn ln_gamma_half(a: f64) -> f64 {
    if a < 40.0 {
        return ln_gamma(a + 0.5) - ln_gamma(a);
    }
    let r = 1.0 / a;
    let r2 = r * r;
    0.5 * a.ln() + r * (-1.0 / 8.0 + r2 * (1.0 / 192.0 + r2 * (-1.0 / 640.0 + r2 * 17.0 / 14336.0)))
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let tiny = 1e-300;
    let safe = |v: f64| if v.abs() < tiny { tiny } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / safe(1.0 + even * d);
        c = safe(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / safe(1.0 + odd * d);
        c = safe(1.0 + odd / c);
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}

/// Logarithm of P(Z > z) for `z` of at least 0.
fn ln_normal_upper(z: f64) -> f64 {
    if z.is_nan() {
        return 0.0;
    }
    if z < 25.0 {
        return (0.5 * erf::erfc(z / std::f64::consts::SQRT_2)).ln();
    }
    // The asymptotic series; its fifth term is below 1e-10 here.
    let r = 1.0 / (z * z);
    let series = -r + 3.0 * r * r - 15.0 * r * r * r + 105.0 * r * r * r * r;
    -0.5 * z * z - z.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln() + series.ln_1p()
}

/// The standard normal quantile: the z with P(Z ≤ z) = `p`.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() {
        return f64::NAN;
    }
    let p = p.clamp(0.0, 1.0);
    let z = -std::f64::consts::SQRT_2 * erf::erfc_inv(2.0 * p);
    if !z.is_finite() {
        return z;
    }
    // One step of Newton: the library's inverse is good to some eleven digits.
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let error = 0.5 * erf::erfc(-z / std::f64::consts::SQRT_2) - p;
    if density > 0.0 {
        z - error / density
    } else {
        z
    }
}

/// The t that a Student variable with `df` degrees of freedom stays within, to both sides, with
/// probability `level`: 2.228 for 0.95 and 10.
#[must_use]
pub fn t_critical(level: f64, df: f64) -> f64 {
    let upper = (1.0 - level) / 2.0;
    let z = normal_quantile(1.0 - upper);
    if df.is_nan() || df <= 0.0 || !z.is_finite() {
        return f64::INFINITY;
    }
    if df >= MANY_DF {
        let (z3, z5) = (z.powi(3), z.powi(5));
        return z + (z3 + z) / (4.0 * df) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * df * df);
    }
    let target = upper.ln();
    let (mut low, mut high) = (0.0, z.max(1.0));
    while ln_t_upper(high, df) > target && high < 1e300 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if ln_t_upper(middle, df) > target {
            low = middle;
        } else {
            high = middle;
        }
    }
    low + (high - low) / 2.0
}

/// P(Z ≤ z).
#[must_use]
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * erf::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_shown_as_r_shows_them() {
        assert_eq!(PValue::from_ln(-30_000.0).to_string(), "< 2.2e-16");
        assert_eq!(PValue::new(0.0).to_string(), "< 2.2e-16");
        assert_eq!(PValue::new(0.0421).to_string(), "0.042");
        assert_eq!(PValue::new(3.14e-7).to_string(), "3.1e-7");
        assert_eq!(PValue::new(f64::NAN).value(), 1.0);
    }

    #[test]
    fn nothing_panics_at_the_ends() {
        for t in [0.0, 1e-300, 1e300, f64::INFINITY, f64::NAN] {
            for df in [0.0, 1e-3, 1.0, 1e9, 1e300, f64::INFINITY, f64::NAN] {
                assert!(t_two_sided(t, df).value() <= 1.0, "{t} {df}");
                assert!(!t_critical(0.95, df).is_nan());
            }
            assert!(normal_two_sided(t).value() <= 1.0);
        }
        assert_eq!(t_two_sided(0.0, 5.0).value(), 1.0);
    }
}
