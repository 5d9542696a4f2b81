//! What a test would have found: "no difference" means little without it.
//!
//! The smallest shift that a two-sided test at `alpha` finds with probability `power` is
//! (t_{1−α/2} + z_power) standard errors (Cohen 1988, chapter 2; the normal approximation of the
//! noncentral t, which is a little optimistic below ten degrees of freedom).

use super::StatsRefusal;
use super::tails::{normal_cdf, normal_quantile, t_critical};

/// The shift, in the unit of `se`, that is found with probability `power`.
///
/// # Errors
/// A standard error, degrees of freedom or probability that cannot be.
pub fn detectable(se: f64, df: f64, alpha: f64, power: f64) -> Result<f64, StatsRefusal> {
    let probability = |p: f64| p > 0.0 && p < 1.0;
    if !probability(alpha) || !probability(power) {
        return Err(StatsRefusal::Parameter("probabilities lie between 0 and 1"));
    }
    if !se.is_finite() || se < 0.0 || df.is_nan() || df <= 0.0 {
        return Err(StatsRefusal::Parameter(
            "a standard error and degrees of freedom are positive",
        ));
    }
    Ok((t_critical(1.0 - alpha, df) + normal_quantile(power)) * se)
}

/// The probability of finding a shift of `shift` with a standard error `se`.
///
/// # Errors
/// A standard error, degrees of freedom or probability that cannot be.
pub fn power(shift: f64, se: f64, df: f64, alpha: f64) -> Result<f64, StatsRefusal> {
    if !(se > 0.0 && df > 0.0 && alpha > 0.0 && alpha < 1.0 && shift.is_finite()) {
        return Err(StatsRefusal::Parameter(
            "a standard error and degrees of freedom are positive",
        ));
    }
    let critical = t_critical(1.0 - alpha, df);
    let away = shift.abs() / se;
    Ok(normal_cdf(away - critical) + normal_cdf(-away - critical))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_detectable_shift_is_found_as_often_as_said() {
        let shift = detectable(2.0, 1e9, 0.05, 0.8).expect("valid");
        // 1.959964 + 0.841621
        assert!((shift - 2.0 * 2.801_585).abs() < 1e-5, "{shift}");
        let p = power(shift, 2.0, 1e9, 0.05).expect("valid");
        assert!((p - 0.8).abs() < 1e-5, "{p}");
        assert!(detectable(f64::NAN, 5.0, 0.05, 0.8).is_err());
        assert!(power(1.0, 0.0, 5.0, 0.05).is_err());
    }
}
