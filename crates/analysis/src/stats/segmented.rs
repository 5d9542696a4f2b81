//! Regression with one break: does the slope change, and where? As sync time over redo size in
//! study 002, where redo past a threshold is written before the commit.
//!
//! y = a + b x + c max(x − ψ, 0), by least squares over every ψ between the second and the last
//! but one x (profile; Muggeo 2003 describes the model). The interval of ψ holds every ψ whose
//! residual sum of squares is within F(1, n − 4) of the best. Whether there is a break at all is
//! tested by the largest F over all ψ; its distribution is not an F distribution (Davies 1987), so
//! the p-value comes from normal errors drawn under the straight line, seeded.

use super::random::Random;
use super::tails::{PValue, t_critical};
use super::{Estimate, StatsRefusal, checked, checked_level};

/// Values of ψ between two neighbours that are tried first.
const STEPS: usize = 8;

/// A fit with one break.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segmented {
    /// Where the slope changes, with its interval.
    pub at: Estimate,
    /// Height of the first line at x = 0.
    pub intercept: f64,
    /// Slope before the break.
    pub before: f64,
    /// Slope behind it.
    pub after: f64,
    /// Residual sum of squares.
    pub rss: f64,
    /// Residual sum of squares of a straight line.
    pub straight_rss: f64,
    /// Of no break.
    pub p: PValue,
}

/// Fits one break and tests against none, with `draws` samples under the straight line.
///
/// # Errors
/// Fewer than seven points, or five different x; lengths that differ; values that are not finite;
/// points that lie on a line exactly.
pub fn one_break(
    x: &[f64],
    y: &[f64],
    level: f64,
    draws: u32,
    seed: u64,
) -> Result<Segmented, StatsRefusal> {
    checked_level(level)?;
    checked(x, 7)?;
    checked(y, 7)?;
    if x.len() != y.len() {
        return Err(StatsRefusal::Parameter("as many x as y are needed"));
    }
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
    let scaled = Scaled::of(order.iter().map(|i| x[*i]), order.iter().map(|i| y[*i]))?;
    let fit = best(&scaled.x, &scaled.y, &scaled.candidates);
    let straight = rss_straight(&scaled.x, &scaled.y);
    if straight <= 1e-24 * scaled.y.len() as f64 {
        return Err(StatsRefusal::Unsuitable(
            "the points lie on one line exactly",
        ));
    }
    let free = (x.len() - 4) as f64;
    let p = against_none(&scaled, straight, fit.rss, free, (draws, seed));
    let (low, high) = profile(&scaled, &fit, level, free);
    let back = |v: f64| scaled.x_zero + v * scaled.x_unit;
    let slope = scaled.y_unit / scaled.x_unit;
    let (before, after) = (fit.b * slope, (fit.b + fit.c) * slope);
    Ok(Segmented {
        at: Estimate {
            value: back(fit.at),
            low: back(low),
            high: back(high),
            level,
        },
        intercept: scaled.y_zero + fit.a * scaled.y_unit - before * scaled.x_zero,
        before,
        after,
        rss: fit.rss * scaled.y_unit * scaled.y_unit,
        straight_rss: straight * scaled.y_unit * scaled.y_unit,
        p,
    })
}

/// Points moved and scaled to 0 to 1, so that no sum of squares overflows or cancels.
struct Scaled {
    x: Vec<f64>,
    y: Vec<f64>,
    candidates: Vec<f64>,
    x_zero: f64,
    x_unit: f64,
    y_zero: f64,
    y_unit: f64,
}

impl Scaled {
    fn of(
        x: impl Iterator<Item = f64>,
        y: impl Iterator<Item = f64>,
    ) -> Result<Scaled, StatsRefusal> {
        let (x, y): (Vec<f64>, Vec<f64>) = (x.collect(), y.collect());
        let range = |v: &[f64]| {
            let low = v.iter().copied().fold(f64::INFINITY, f64::min);
            let high = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (low, high - low)
        };
        let ((x_zero, x_unit), (y_zero, y_unit)) = (range(&x), range(&y));
        if !x_unit.is_finite() || !y_unit.is_finite() {
            return Err(StatsRefusal::Unsuitable("the values are too far apart"));
        }
        if x_unit == 0.0 || y_unit == 0.0 {
            return Err(StatsRefusal::Constant);
        }
        let x: Vec<f64> = x.iter().map(|v| (v - x_zero) / x_unit).collect();
        let y: Vec<f64> = y.iter().map(|v| (v - y_zero) / y_unit).collect();
        let mut places = x.clone();
        places.dedup();
        if places.len() < 5 {
            let (needed, found) = (5, places.len());
            return Err(StatsRefusal::TooFew { needed, found });
        }
        let inner = places.get(1..places.len() - 1).unwrap_or_default();
        let mut candidates = Vec::new();
        for pair in inner.windows(2) {
            for i in 0..STEPS {
                candidates.push(pair[0] + (pair[1] - pair[0]) * i as f64 / STEPS as f64);
            }
        }
        candidates.extend(inner.last());
        Ok(Scaled {
            x,
            y,
            candidates,
            x_zero,
            x_unit,
            y_zero,
            y_unit,
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Fit {
    at: f64,
    a: f64,
    b: f64,
    c: f64,
    rss: f64,
}

/// Least squares for one ψ, by orthogonalising 1, x and the hinge in turn.
fn at(x: &[f64], y: &[f64], psi: f64) -> Fit {
    let n = x.len() as f64;
    let hinge = |v: f64| (v - psi).max(0.0);
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let mh = x.iter().map(|v| hinge(*v)).sum::<f64>() / n;
    let (mut xx, mut xh, mut xy) = (0.0, 0.0, 0.0);
    for (u, v) in x.iter().zip(y) {
        let d = u - mx;
        xx += d * d;
        xh += d * (hinge(*u) - mh);
        xy += d * (v - my);
    }
    let (on_x, line) = (xh / xx, xy / xx);
    let (mut rr, mut ry) = (0.0, 0.0);
    for (u, v) in x.iter().zip(y) {
        let r = hinge(*u) - mh - on_x * (u - mx);
        rr += r * r;
        ry += r * (v - my - line * (u - mx));
    }
    let c = if rr > 1e-18 { ry / rr } else { 0.0 };
    let b = line - c * on_x;
    let a = my - b * mx - c * mh;
    let rss = x
        .iter()
        .zip(y)
        .map(|(u, v)| (v - a - b * u - c * hinge(*u)).powi(2))
        .sum();
    Fit {
        at: psi,
        a,
        b,
        c,
        rss,
    }
}

fn rss_straight(x: &[f64], y: &[f64]) -> f64 {
    // A hinge beyond the last point is none.
    at(x, y, 2.0).rss
}

/// The best ψ: among the candidates, then between the best one's neighbours by golden section.
fn best(x: &[f64], y: &[f64], candidates: &[f64]) -> Fit {
    let (place, coarse) = coarse(x, y, candidates);
    let low = candidates.get(place.saturating_sub(1)).copied();
    let high = candidates.get(place + 1).copied();
    let (mut low, mut high) = (low.unwrap_or(coarse.at), high.unwrap_or(coarse.at));
    let golden = (5_f64.sqrt() - 1.0) / 2.0;
    for _ in 0..60 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if at(x, y, left).rss < at(x, y, right).rss {
            high = right;
        } else {
            low = left;
        }
    }
    let fine = at(x, y, low + (high - low) / 2.0);
    if fine.rss < coarse.rss { fine } else { coarse }
}

fn coarse(x: &[f64], y: &[f64], candidates: &[f64]) -> (usize, Fit) {
    let mut found = (0, at(x, y, candidates.first().copied().unwrap_or(0.5)));
    for (i, psi) in candidates.iter().enumerate().skip(1) {
        let fit = at(x, y, *psi);
        if fit.rss < found.1.rss {
            found = (i, fit);
        }
    }
    found
}

/// Ends of the candidates that the data do not reject, each refined by bisection.
fn profile(scaled: &Scaled, fit: &Fit, level: f64, free: f64) -> (f64, f64) {
    // F with one degree of freedom above is t squared.
    let limit = fit.rss * (1.0 + t_critical(level, free).powi(2) / free);
    let within = |psi: f64| at(&scaled.x, &scaled.y, psi).rss <= limit;
    let all = &scaled.candidates;
    let edge = |inside: f64, outside: f64| {
        let (mut good, mut bad) = (inside, outside);
        for _ in 0..50 {
            let middle = good + (bad - good) / 2.0;
            if within(middle) {
                good = middle
            } else {
                bad = middle
            }
        }
        good
    };
    // From the outside, so that a second valley belongs to the interval.
    let first = all.iter().position(|p| within(*p) || *p >= fit.at);
    let last = all.iter().rposition(|p| within(*p) || *p <= fit.at);
    let low = match first {
        Some(0) => all[0],
        Some(i) if within(all[i]) => edge(all[i], all[i - 1]),
        Some(i) => edge(fit.at, all[i - 1]),
        None => fit.at,
    };
    let high = match last {
        Some(i) if i + 1 == all.len() => all[i],
        Some(i) if within(all[i]) => edge(all[i], all[i + 1]),
        Some(i) => edge(fit.at, all[i + 1]),
        None => fit.at,
    };
    (low.min(fit.at), high.max(fit.at))
}

/// P-value of the largest F, among samples of normal errors around a line.
fn against_none(
    scaled: &Scaled,
    straight: f64,
    rss: f64,
    free: f64,
    (draws, seed): (u32, u64),
) -> PValue {
    let ratio = |straight: f64, rss: f64| (straight - rss) / (rss / free).max(f64::MIN_POSITIVE);
    let found = ratio(
        straight,
        coarse(&scaled.x, &scaled.y, &scaled.candidates)
            .1
            .rss
            .max(rss),
    );
    let mut random = Random::new(seed);
    let mut as_large = 0;
    for _ in 0..draws {
        // F does not depend on the line or on the errors' size.
        let y: Vec<f64> = scaled.x.iter().map(|_| random.normal()).collect();
        let drawn = coarse(&scaled.x, &y, &scaled.candidates).1.rss;
        if ratio(rss_straight(&scaled.x, &y), drawn) >= found {
            as_large += 1;
        }
    }
    PValue::new(f64::from(as_large + 1) / f64::from(draws.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_has_no_break() {
        let mut r = Random::new(21);
        let x: Vec<f64> = (0..40).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|v| 3.0 + 0.5 * v + r.normal()).collect();
        let fit = one_break(&x, &y, 0.95, 199, 1).expect("points");
        assert!(fit.p.value() > 0.05, "{fit:?}");
        let broken: Vec<f64> = y
            .iter()
            .zip(&x)
            .map(|(y, x)| y + (x - 25.0).max(0.0))
            .collect();
        let fit = one_break(&x, &broken, 0.95, 199, 1).expect("points");
        assert!(fit.p.value() <= 0.01, "{fit:?}");
        assert!(fit.at.low <= 25.0 && 25.0 <= fit.at.high, "{fit:?}");
    }

    #[test]
    fn bad_points_are_refused() {
        let x: Vec<f64> = (0..10).map(f64::from).collect();
        for (x, y) in [
            (vec![], vec![]),
            (x.clone(), vec![1.0; 10]),
            (x.clone(), x.clone()),
            (vec![1.0; 10], x.clone()),
            (x.clone(), vec![f64::NAN; 10]),
            (x.clone(), vec![1.0; 9]),
            (x.iter().map(|v| (v / 4.0).floor()).collect(), x.clone()),
        ] {
            assert!(one_break(&x, &y, 0.95, 9, 1).is_err(), "{x:?} {y:?}");
        }
    }
}
