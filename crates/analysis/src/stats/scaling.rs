//! Throughput over concurrency: the Universal Scalability Law and the knee.
//!
//! X(N) = λ N / (1 + σ (N − 1) + κ N (N − 1)) (Gunther 1993; Guerrilla Capacity Planning, 2007):
//! λ is what one job does, σ the share of waiting for one another, κ that of agreeing with one
//! another. The peak is at N* = √((1 − σ)/κ). Fitted by least squares of X with σ, κ ≥ 0
//! (Levenberg 1944, Marquardt 1963, with a parameter at its bound held there).
//!
//! The knee is where throughput over latency is largest (Kleinrock's power, 1979); in a closed
//! loop, where latency is N/X, that is the largest X²/N.

use super::{StatsRefusal, checked, mean};

/// Points of different concurrency that a fit takes: three parameters and one to spare.
const POINTS_MIN: usize = 4;
/// Largest concurrency over smallest that a fit takes; less shows no curve.
const SPAN_MIN: f64 = 4.0;
/// Root mean square of the relative residuals from which the law does not describe the points.
const RESIDUAL_MAX: f64 = 0.15;

/// A fitted law.
#[derive(Clone, Debug, PartialEq)]
pub struct Usl {
    /// λ: throughput of one job.
    pub lambda: f64,
    /// σ: contention, 0 or more.
    pub sigma: f64,
    /// κ: coherency, 0 or more.
    pub kappa: f64,
    /// N*: concurrency of the highest throughput; `None` where κ is 0 and throughput only levels
    /// out, or σ leaves no rise.
    pub peak_at: Option<f64>,
    /// N* lies within the points: seen, not extrapolated.
    pub peak_seen: bool,
    /// Throughput at N*, or what it levels out to; `None` where it grows for ever.
    pub ceiling: Option<f64>,
    /// Measured minus fitted, in the order of the points.
    pub residuals: Vec<f64>,
    /// Root mean square of residual over measured.
    pub relative_residual: f64,
    /// Share of the variance that is explained.
    pub r_squared: f64,
}

/// Fits the law to points of concurrency and throughput.
///
/// # Errors
/// Fewer than four different concurrencies, or none four times another; figures that are not
/// positive; points that the law does not describe.
pub fn usl(n: &[f64], x: &[f64]) -> Result<Usl, StatsRefusal> {
    checked(n, POINTS_MIN)?;
    checked(x, POINTS_MIN)?;
    if n.len() != x.len() {
        return Err(StatsRefusal::Parameter(
            "as many throughputs as concurrencies are needed",
        ));
    }
    if n.iter().any(|v| *v < 1.0) || x.iter().any(|v| *v <= 0.0) {
        let what = "concurrencies are 1 or more and throughputs positive";
        return Err(StatsRefusal::Unsuitable(what));
    }
    let mut places = n.to_vec();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let (first, last) = (places[0], places[places.len() - 1]);
    if places.len() < POINTS_MIN {
        let (needed, found) = (POINTS_MIN, places.len());
        return Err(StatsRefusal::TooFew { needed, found });
    }
    if last / first < SPAN_MIN || last > 1e9 {
        let what = "the largest concurrency has to be four times the smallest, or no curve shows";
        return Err(StatsRefusal::Unsuitable(what));
    }
    let unit = x.iter().copied().fold(0.0, f64::max);
    let scaled: Vec<f64> = x.iter().map(|v| v / unit).collect();
    let fit = minimise(n, &scaled);
    let fitted = |v: f64| fit[0] * unit * shape(v, fit[1], fit[2]);
    let residuals: Vec<f64> = n.iter().zip(x).map(|(n, x)| x - fitted(*n)).collect();
    let relative = residuals
        .iter()
        .zip(x)
        .map(|(r, x)| (r / x).powi(2))
        .sum::<f64>();
    let relative = (relative / x.len() as f64).sqrt();
    if !relative.is_finite() || relative > RESIDUAL_MAX {
        let what = "the Universal Scalability Law does not describe these points";
        return Err(StatsRefusal::Unsuitable(what));
    }
    let middle = mean(&scaled);
    let total: f64 = scaled.iter().map(|v| (v - middle).powi(2)).sum();
    let rest: f64 = residuals.iter().map(|v| (v / unit).powi(2)).sum();
    let [lambda, sigma, kappa] = [fit[0] * unit, fit[1], fit[2]];
    // What is below the noise of the fit is none: a peak far beyond any number of jobs.
    let peak_at = (kappa > 1e-12 && sigma < 1.0)
        .then(|| ((1.0 - sigma) / kappa).sqrt())
        .filter(|p| *p >= 1.0);
    let levels = (sigma > 0.0 && kappa <= 1e-12).then(|| lambda / sigma);
    Ok(Usl {
        lambda,
        sigma,
        kappa,
        peak_at,
        peak_seen: peak_at.is_some_and(|p| p <= last),
        ceiling: peak_at.map(fitted).or(levels),
        residuals,
        relative_residual: relative,
        r_squared: if total > 0.0 { 1.0 - rest / total } else { 1.0 },
    })
}

fn shape(n: f64, sigma: f64, kappa: f64) -> f64 {
    n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

/// Least squares over λ, σ and κ.
fn minimise(n: &[f64], x: &[f64]) -> [f64; 3] {
    let loss = |p: &[f64; 3]| -> f64 {
        let each = n
            .iter()
            .zip(x)
            .map(|(n, x)| (x - p[0] * shape(*n, p[1], p[2])).powi(2));
        each.sum()
    };
    let mut best: Option<([f64; 3], f64)> = None;
    let one = x[0] / n[0];
    for start in [
        [one, 0.01, 1e-5],
        [one, 0.1, 1e-3],
        [one * 2.0, 0.5, 0.0],
        [one, 0.0, 1e-2],
    ] {
        let found = descend(n, x, start, &loss);
        let value = loss(&found);
        if best.is_none_or(|(_, b)| value < b) {
            best = Some((found, value));
        }
    }
    best.map_or([one, 0.0, 0.0], |(p, _)| p)
}

fn descend(n: &[f64], x: &[f64], start: [f64; 3], loss: &dyn Fn(&[f64; 3]) -> f64) -> [f64; 3] {
    let (mut p, mut damping) = (start, 1e-3);
    let mut value = loss(&p);
    for _ in 0..500 {
        let (normal, gradient) = normal_equations(n, x, &p);
        // A parameter at its bound that would be pushed through it stays.
        let free = [
            true,
            p[1] > 0.0 || gradient[1] > 0.0,
            p[2] > 0.0 || gradient[2] > 0.0,
        ];
        let mut damped = normal;
        for i in 0..3 {
            damped[i][i] *= 1.0 + damping;
            if !free[i] {
                damped[i] = [0.0; 3];
                damped[i][i] = 1.0;
            }
        }
        let masked = [0, 1, 2].map(|i| if free[i] { gradient[i] } else { 0.0 });
        let Some(step) = solve(damped, masked) else {
            damping *= 10.0;
            continue;
        };
        let next = [
            (p[0] + step[0]).max(1e-12),
            (p[1] + step[1]).max(0.0),
            (p[2] + step[2]).max(0.0),
        ];
        let reached = loss(&next);
        if reached < value {
            (p, value) = (next, reached);
            damping = (damping / 10.0).max(1e-15);
        } else {
            damping *= 4.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    p
}

/// JᵀJ and Jᵀr.
fn normal_equations(n: &[f64], x: &[f64], p: &[f64; 3]) -> ([[f64; 3]; 3], [f64; 3]) {
    let (mut normal, mut gradient) = ([[0.0; 3]; 3], [0.0; 3]);
    for (n, x) in n.iter().zip(x) {
        let s = shape(*n, p[1], p[2]);
        let bent = p[0] * s * s / n;
        let slopes = [s, -bent * (n - 1.0), -bent * n * (n - 1.0)];
        let rest = x - p[0] * s;
        for i in 0..3 {
            gradient[i] += slopes[i] * rest;
            for j in 0..3 {
                normal[i][j] += slopes[i] * slopes[j];
            }
        }
    }
    (normal, gradient)
}

/// Cramer's rule; `None` for a singular matrix.
pub(crate) fn solve(m: [[f64; 3]; 3], v: [f64; 3]) -> Option<[f64; 3]> {
    // Scaled by the diagonal, whose entries differ by many orders of magnitude.
    let unit = [0, 1, 2].map(|i| m[i][i].sqrt().max(1e-150));
    let m = [0, 1, 2].map(|i| [0, 1, 2].map(|j| m[i][j] / unit[i] / unit[j]));
    let v = [0, 1, 2].map(|i| v[i] / unit[i]);
    let det = |m: &[[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
            - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let whole = det(&m);
    let solved = [0, 1, 2].map(|k| {
        let mut with = m;
        for i in 0..3 {
            with[i][k] = v[i];
        }
        det(&with) / whole / unit[k]
    });
    (whole != 0.0 && solved.iter().all(|s| s.is_finite())).then_some(solved)
}

/// The knee of a curve: the place of the largest X²/N.
///
/// # Errors
/// Fewer than three points; figures that are not positive; the largest at the first or at the last
/// point, beyond which nothing was measured.
pub fn knee(n: &[f64], x: &[f64]) -> Result<usize, StatsRefusal> {
    checked(n, 3)?;
    checked(x, 3)?;
    if n.len() != x.len() || n.iter().chain(x).any(|v| *v <= 0.0) {
        return Err(StatsRefusal::Unsuitable(
            "concurrencies and throughputs are positive",
        ));
    }
    let power = |i: &usize| x[*i] / n[*i] * x[*i];
    let best = (0..n.len()).max_by(|a, b| power(a).total_cmp(&power(b)));
    let best = best.ok_or(StatsRefusal::Empty)?;
    if !n.iter().any(|v| *v > n[best]) {
        return Err(StatsRefusal::Unsuitable(
            "throughput still rises at the last point: no knee was reached",
        ));
    }
    // A curve that bends before its first point shows where it bent only with fewer jobs.
    if !n.iter().any(|v| *v < n[best]) {
        return Err(StatsRefusal::Unsuitable(
            "throughput over latency is largest at the first point: no knee lies within the points",
        ));
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

    fn law(lambda: f64, sigma: f64, kappa: f64) -> Vec<f64> {
        N.iter().map(|n| lambda * shape(*n, sigma, kappa)).collect()
    }

    #[test]
    fn exact_points_give_their_parameters_back() {
        for (sigma, kappa) in [
            (0.03, 4e-4),
            (0.2, 1e-3),
            (0.0, 1e-4),
            (0.1, 0.0),
            (0.0, 0.0),
        ] {
            let fit = usl(&N, &law(5e4, sigma, kappa)).expect("a law");
            assert!((fit.lambda / 5e4 - 1.0).abs() < 1e-6, "{fit:?}");
            assert!((fit.sigma - sigma).abs() < 1e-7, "{fit:?}");
            assert!((fit.kappa - kappa).abs() < 1e-8, "{fit:?}");
        }
        let fit = usl(&N, &law(1.0, 0.0, 1e-2)).expect("a law");
        assert!(fit.peak_seen && (fit.peak_at.expect("a peak") - 10.0).abs() < 1e-3);
    }

    #[test]
    fn points_that_do_not_allow_it_are_refused() {
        let odd = [5.0, 1.0, 9.0, 1.0, 7.0, 1.0, 8.0, 1.0];
        for (n, x) in [
            (vec![], vec![]),
            (vec![1.0, 2.0, 4.0], vec![1.0, 2.0, 3.0]),
            (vec![1.0, 1.0, 2.0, 2.0, 4.0], vec![1.0; 5]),
            (vec![10.0, 11.0, 12.0, 13.0], vec![1.0, 2.0, 3.0, 4.0]),
            (vec![1.0, 2.0, 4.0, 8.0], vec![1.0, 2.0, 0.0, 4.0]),
            (vec![1.0, 2.0, 4.0, f64::NAN], vec![1.0; 4]),
            (N.to_vec(), odd.to_vec()),
        ] {
            assert!(usl(&n, &x).is_err(), "{n:?} {x:?}");
        }
    }

    #[test]
    fn a_knee_needs_a_look_behind_it() {
        let x = [
            1000.0, 1990.0, 3900.0, 7000.0, 8000.0, 8100.0, 8100.0, 8100.0,
        ];
        assert_eq!(knee(&N, &x), Ok(3));
        assert!(knee(&N, &N).is_err() && knee(&N[..2], &N[..2]).is_err());
        // The first point is no knee either: less was not measured.
        let flat = [
            6835.0, 9000.0, 12_509.0, 14_125.0, 14_682.0, 15_000.0, 15_100.0, 15_200.0,
        ];
        let refused = knee(&N, &flat).expect_err("the largest is the first");
        assert!(refused.to_string().contains("first point"), "{refused}");
    }
}
