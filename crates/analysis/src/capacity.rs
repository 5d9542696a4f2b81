//! Capacity from a sweep of jobs: knee, Universal Scalability Law with intervals, the load at a
//! bound of log file sync, headroom at a need, and tests that do not fit the others.
//!
//! Figures between two measured points are interpolated linearly; nothing is extrapolated beyond
//! the measured points except the peak of the fitted law, which says so.

use crate::rows::of_pgbench;
use crate::stats::random::Random;
use crate::stats::{StatsRefusal, scaling};
use measure::run::{Row, Run};
use serde::Serialize;
use std::collections::BTreeMap;

/// How much throughput per job rises and latency falls in a test that does not fit.
const CHANGE: f64 = 0.01;
/// Points from which parameters of the law have an interval: three parameters and two to spare.
pub const INTERVAL_MIN: usize = 5;
/// Fits of resampled residuals.
const RESAMPLES: usize = 400;

/// A point of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CapacityPoint {
    /// Number of jobs (sessions).
    pub jobs: f64,
    /// Commits per second.
    pub commits_per_s: f64,
    /// Mean commit latency, ms.
    pub latency_ms: Option<f64>,
    /// Mean log file sync, ms.
    pub sync_ms: Option<f64>,
}

impl CapacityPoint {
    /// The point of a row; `None` where its rate is not known.
    #[must_use]
    pub fn of(row: &Row) -> Option<CapacityPoint> {
        let rate = row.commit_throughput_tps;
        let commits_per_s = rate.filter(|r| r.is_finite() && *r > 0.0)?;
        Some(CapacityPoint {
            jobs: f64::from(row.jobs),
            commits_per_s,
            latency_ms: row.commit_latency_ms,
            sync_ms: row.log_file_sync_ms,
        })
    }
}

/// What is asked of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CapacityNeed {
    /// Bound of the mean log file sync, ms.
    pub sync_under_ms: Option<f64>,
    /// Needed commits per second.
    pub commit_rate: Option<f64>,
    /// Seed of the resampling.
    pub seed: u64,
}

/// A curve and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapacityCurve {
    /// Workload, with the platform where the evidence names one.
    pub name: String,
    /// Points by ascending jobs.
    pub points: Vec<CapacityPoint>,
    /// The point of the highest measured throughput.
    pub peak: CapacityPoint,
    /// The knee: where throughput over latency is largest.
    pub knee: Option<CapacityPoint>,
    /// Why there is no knee.
    pub no_knee: Option<String>,
    /// The fitted law.
    pub law: Option<FittedLaw>,
    /// Why there is no law.
    pub no_law: Option<String>,
    /// The load at the bound of log file sync, if one was asked for.
    pub at_sync: Option<LoadAtSync>,
    /// The needed rate on this curve, if one was asked for.
    pub at_need: Option<LoadAtNeed>,
    /// Pairs of neighbouring points of which the second does not fit.
    pub anomalies: Vec<[CapacityPoint; 2]>,
}

/// A parameter with its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LawParameter {
    /// The estimate.
    pub value: f64,
    /// Ends of the interval; `None` with too few points.
    pub interval: Option<[f64; 2]>,
}

/// The Universal Scalability Law, fitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedLaw {
    /// Contention (alpha, σ).
    pub contention: LawParameter,
    /// Coherency (beta, κ).
    pub coherency: LawParameter,
    /// Throughput of one job (gamma, λ), commits per second.
    pub one_job: LawParameter,
    /// Jobs at the highest throughput of the law; `None` if it grows or only levels out.
    pub peak_jobs: Option<f64>,
    /// Lower and upper end of the interval of these jobs; no upper end if a share of the fits has
    /// no peak.
    pub peak_interval: Option<(f64, Option<f64>)>,
    /// The peak lies within the measured points.
    pub is_peak_measured: bool,
    /// Throughput at the peak, or what the law levels out to, commits per second; `None` if it
    /// grows for ever, or if a measured point is above it.
    pub ceiling: Option<f64>,
    /// Why a ceiling of the law is not given: a measured point is above it.
    pub no_ceiling: Option<String>,
    /// Root mean square of the relative residuals.
    pub relative_residual: f64,
}

/// The load at a bound of the mean log file sync.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadAtSync {
    /// The bound, ms.
    pub sync_under_ms: f64,
    /// Highest rate below the bound; `None` if no point is below it.
    pub commits_per_s: Option<f64>,
    /// Jobs at that rate.
    pub jobs: Option<f64>,
    /// The rate is between two measured points; else it is a measured one.
    pub is_interpolated: bool,
    /// Every measured point is below the bound: more may be possible, and was not measured.
    pub is_least: bool,
}

/// A needed rate on the curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadAtNeed {
    /// The need, commits per second.
    pub commit_rate: f64,
    /// The rate that is available: the one at the bound of log file sync, else the measured peak.
    pub available: Option<f64>,
    /// What is available over the need, less 1, in percent.
    pub headroom_pct: Option<f64>,
    /// Jobs at the need; `None` if it was not reached or lies below the first point.
    pub jobs: Option<f64>,
    /// Mean log file sync at the need, ms.
    pub sync_ms: Option<f64>,
}

/// The curves of a run: one per workload and number of nodes, with at least two numbers of jobs.
#[must_use]
pub fn curves(run: &Run, need: &CapacityNeed) -> Vec<CapacityCurve> {
    let mut order: Vec<(String, u32)> = Vec::new();
    let mut found: BTreeMap<(String, u32), Vec<CapacityPoint>> = BTreeMap::new();
    for row in run.rows.iter().chain(&of_pgbench(run)) {
        let Some(point) = CapacityPoint::of(row) else {
            continue;
        };
        let key = (row.workload.clone(), row.nodes);
        if !found.contains_key(&key) {
            order.push(key.clone());
        }
        found.entry(key).or_default().push(point);
    }
    let mut curves = Vec::new();
    for key in order {
        let points = found.remove(&key).unwrap_or_default();
        curves.extend(curve(&key.0, points, need));
    }
    curves
}

/// What follows from the points of a sweep; `None` for fewer than two numbers of jobs.
#[must_use]
pub fn curve(
    name: &str,
    mut points: Vec<CapacityPoint>,
    need: &CapacityNeed,
) -> Option<CapacityCurve> {
    points.retain(|p| p.jobs >= 1.0 && p.commits_per_s > 0.0);
    points.sort_by(|a, b| a.jobs.total_cmp(&b.jobs));
    let (first, last) = (points.first()?, points.last()?);
    if last.jobs <= first.jobs {
        return None;
    }
    let by_rate =
        |a: &&CapacityPoint, b: &&CapacityPoint| a.commits_per_s.total_cmp(&b.commits_per_s);
    let peak = points.iter().max_by(by_rate).copied()?;
    let (knee, no_knee) = split(knee(&points).map(|at| points.get(at).copied()));
    let (n, x) = columns(&points);
    let (law, no_law) = split(fit(&n, &x, need.seed).map(Some));
    let at_sync = need.sync_under_ms.map(|bound| load_at_sync(&points, bound));
    let available = match &at_sync {
        Some(found) => found.commits_per_s,
        None => Some(peak.commits_per_s),
    };
    let at_need = need
        .commit_rate
        .map(|rate| load_at_need(&points, rate, available));
    Some(CapacityCurve {
        name: name.to_owned(),
        anomalies: anomalies(&points),
        points,
        peak,
        knee,
        no_knee,
        law,
        no_law,
        at_sync,
        at_need,
    })
}

fn columns(points: &[CapacityPoint]) -> (Vec<f64>, Vec<f64>) {
    points.iter().map(|p| (p.jobs, p.commits_per_s)).unzip()
}

/// The place of the knee, where throughput over latency is largest: the one knee that findings,
/// reports and `compare --as capacity` print.
///
/// # Errors
/// Fewer than three points, or none on both sides of it.
pub fn knee(points: &[CapacityPoint]) -> Result<usize, StatsRefusal> {
    let (n, x) = columns(points);
    scaling::knee(&n, &x)
}

fn split<T>(found: Result<Option<T>, StatsRefusal>) -> (Option<T>, Option<String>) {
    match found {
        Ok(value) => (value, None),
        Err(why) => (None, Some(why.to_string())),
    }
}

/// Neighbours of which the second has more throughput per job and less latency, although
/// throughput per job had fallen with more jobs before. Points are in the order of their jobs.
#[must_use]
pub fn anomalies(points: &[CapacityPoint]) -> Vec<[CapacityPoint; 2]> {
    let per_job = |p: &CapacityPoint| p.commits_per_s / p.jobs;
    let odd = |w: &&[CapacityPoint]| {
        let [before, from, to] = w else {
            return false;
        };
        let is_faster = match (from.latency_ms, to.latency_ms) {
            (Some(a), Some(b)) => b < a * (1.0 - CHANGE),
            _ => false,
        };
        from.jobs < to.jobs
            && per_job(from) < per_job(before)
            && per_job(to) > per_job(from) * (1.0 + CHANGE)
            && is_faster
    };
    let pairs = points.windows(3).filter(odd);
    pairs
        .filter_map(|w| Some([*w.get(1)?, *w.get(2)?]))
        .collect()
}

/// The law with intervals from resampled residuals (Efron 1979), relative to the fit.
fn fit(n: &[f64], x: &[f64], seed: u64) -> Result<FittedLaw, StatsRefusal> {
    let found = scaling::usl(n, x)?;
    let (ceiling, no_ceiling) = ceiling(&found, x);
    let fitted: Vec<f64> = x.iter().zip(&found.residuals).map(|(x, r)| x - r).collect();
    let drawn = (n.len() >= INTERVAL_MIN)
        .then(|| resampled(n, &fitted, &found, seed))
        .flatten();
    let parameter = |value: f64, of: fn(&scaling::Usl) -> f64| LawParameter {
        value,
        interval: drawn.as_ref().map(|fits| {
            let mut all: Vec<f64> = fits.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            [0.025, 0.975].map(|q| at(&all, q))
        }),
    };
    let peak_interval = drawn.as_ref().map(|fits| {
        let mut all: Vec<f64> = fits
            .iter()
            .map(|f| f.peak_at.unwrap_or(f64::INFINITY))
            .collect();
        all.sort_by(f64::total_cmp);
        (
            at(&all, 0.025),
            Some(at(&all, 0.975)).filter(|p| p.is_finite()),
        )
    });
    Ok(FittedLaw {
        contention: parameter(found.sigma, |f| f.sigma),
        coherency: parameter(found.kappa, |f| f.kappa),
        one_job: parameter(found.lambda, |f| f.lambda),
        peak_jobs: found.peak_at,
        peak_interval: peak_interval.filter(|(low, _)| low.is_finite()),
        is_peak_measured: found.peak_seen,
        ceiling,
        no_ceiling,
        relative_residual: found.relative_residual,
    })
}

/// The ceiling of a law, or why there is none: what was measured was reached.
fn ceiling(found: &scaling::Usl, x: &[f64]) -> (Option<f64>, Option<String>) {
    let highest = x.iter().copied().fold(0.0, f64::max);
    match found.ceiling {
        Some(ceiling) if ceiling < highest => {
            let why = "the ceiling of the fitted law is below the highest measured rate";
            (None, Some(why.to_owned()))
        }
        ceiling => (ceiling, None),
    }
}

fn at(sorted: &[f64], q: f64) -> f64 {
    let place = (q * (sorted.len().saturating_sub(1)) as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// Fits to the fitted points with drawn residuals; `None` if too many of them fail.
fn resampled(
    n: &[f64],
    fitted: &[f64],
    found: &scaling::Usl,
    seed: u64,
) -> Option<Vec<scaling::Usl>> {
    // Residuals are smaller than the errors, since three parameters were fitted to them.
    let points = n.len() as f64;
    let wider = (points / (points - 3.0)).sqrt();
    let relative: Vec<f64> = found
        .residuals
        .iter()
        .zip(fitted)
        .map(|(r, f)| r / f * wider)
        .collect();
    let mut random = Random::new(seed);
    let mut fits = Vec::new();
    for _ in 0..RESAMPLES {
        let draw = |f: &f64| {
            let error = relative
                .get(random.below(relative.len()))
                .copied()
                .unwrap_or(0.0);
            f * (1.0 + error).max(0.01)
        };
        let x: Vec<f64> = fitted.iter().map(draw).collect();
        fits.extend(scaling::usl(n, &x));
    }
    (fits.len() * 10 >= RESAMPLES * 9).then_some(fits)
}

/// The highest rate before the first crossing of the bound.
fn load_at_sync(points: &[CapacityPoint], bound: f64) -> LoadAtSync {
    let mut best: Option<(f64, f64)> = None;
    let mut is_interpolated = false;
    let mut is_least = true;
    let mut before: Option<(CapacityPoint, f64)> = None;
    for (point, sync) in points.iter().filter_map(|p| Some((*p, p.sync_ms?))) {
        if sync > bound {
            is_least = false;
            if let Some((from, low)) = before {
                let part = (bound - low) / (sync - low);
                let between = |a: f64, b: f64| a + part * (b - a);
                let rate = between(from.commits_per_s, point.commits_per_s);
                if best.is_none_or(|(r, _)| rate > r) {
                    best = Some((rate, between(from.jobs, point.jobs)));
                    is_interpolated = true;
                }
            }
            break;
        }
        if best.is_none_or(|(r, _)| point.commits_per_s > r) {
            best = Some((point.commits_per_s, point.jobs));
        }
        before = Some((point, sync));
    }
    LoadAtSync {
        sync_under_ms: bound,
        commits_per_s: best.map(|b| b.0),
        jobs: best.map(|b| b.1),
        is_interpolated,
        is_least: is_least && best.is_some(),
    }
}

fn load_at_need(points: &[CapacityPoint], rate: f64, available: Option<f64>) -> LoadAtNeed {
    let crossing = points.windows(2).find(|w| {
        let [a, b] = w else { return false };
        a.commits_per_s <= rate && rate <= b.commits_per_s && a.commits_per_s < b.commits_per_s
    });
    let found = crossing.and_then(|w| {
        let (a, b) = (w.first()?, w.get(1)?);
        let part = (rate - a.commits_per_s) / (b.commits_per_s - a.commits_per_s);
        let sync = a.sync_ms.zip(b.sync_ms).map(|(a, b)| a + part * (b - a));
        Some((a.jobs + part * (b.jobs - a.jobs), sync))
    });
    LoadAtNeed {
        commit_rate: rate,
        available,
        headroom_pct: available.map(|a| 100.0 * (a / rate - 1.0)),
        jobs: found.map(|f| f.0),
        sync_ms: found.and_then(|f| f.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: &[(f64, f64, f64)]) -> Vec<CapacityPoint> {
        let each = of.iter().map(|(jobs, rate, sync)| CapacityPoint {
            jobs: *jobs,
            commits_per_s: *rate,
            latency_ms: Some(1e3 * jobs / rate),
            sync_ms: Some(*sync),
        });
        each.collect()
    }

    fn law(sigma: f64, kappa: f64, noise: f64) -> Vec<CapacityPoint> {
        let mut r = Random::new(8);
        let all = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 96.0];
        let each = all.map(|n: f64| {
            let x = 5e3 * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
            (n, x * (1.0 + noise * r.normal()), n / 10.0)
        });
        points(&each)
    }

    #[test]
    fn intervals_hold_the_parameters_of_the_law() {
        let found = curve("x", law(0.05, 5e-4, 0.01), &CapacityNeed::default());
        let law = found.and_then(|c| c.law).expect("a law");
        for (parameter, truth) in [
            (law.contention, 0.05),
            (law.coherency, 5e-4),
            (law.one_job, 5e3),
        ] {
            let [low, high] = parameter.interval.expect("eight points");
            assert!(low <= truth && truth <= high, "{parameter:?} {truth}");
            assert!(low < high && high < 3.0 * truth, "{parameter:?}");
        }
        let peak = (0.95_f64 / 5e-4).sqrt();
        let (low, high) = law.peak_interval.expect("eight points");
        assert!(
            low < peak && high.is_some_and(|h| h > peak),
            "{low} {high:?}"
        );
        assert!(law.is_peak_measured);
    }

    #[test]
    fn a_ceiling_below_a_measured_rate_is_not_given() {
        let each = [
            (2.0, 6_800.0, 0.2),
            (8.0, 12_500.0, 0.5),
            (16.0, 14_100.0, 1.0),
            (24.0, 14_700.0, 1.5),
            (32.0, 20_100.0, 1.4),
        ];
        let found = curve("x", points(&each), &CapacityNeed::default()).expect("a sweep");
        let law = found.law.expect("a law");
        assert!(law.ceiling.is_none(), "{law:?}");
        let why = law.no_ceiling.expect("a measured point is above it");
        assert!(why.contains("highest measured rate"), "{why}");
        assert!(found.knee.is_none() && found.no_knee.is_some_and(|w| w.contains("first point")));
        let clean = curve("x", self::law(0.05, 0.0, 0.0), &CapacityNeed::default());
        let law = clean.and_then(|c| c.law).expect("a law");
        assert!(
            law.ceiling.is_some_and(|c| (c - 1e5).abs() < 1.0),
            "{law:?}"
        );
        assert!(law.no_ceiling.is_none());
    }

    #[test]
    fn loads_are_interpolated_and_never_extrapolated() {
        let of = [
            (2.0, 1000.0, 0.2),
            (4.0, 1800.0, 0.6),
            (8.0, 2600.0, 1.4),
            (16.0, 2500.0, 3.0),
        ];
        let at = |bound: f64| load_at_sync(&points(&of), bound);
        assert_eq!(at(1.0).commits_per_s, Some(2200.0));
        assert!(at(1.0).is_interpolated && !at(1.0).is_least);
        assert_eq!(at(0.1).commits_per_s, None);
        let all = at(9.0);
        assert_eq!((all.commits_per_s, all.jobs), (Some(2600.0), Some(8.0)));
        assert!(all.is_least && !all.is_interpolated);
        // Beyond the peak a longer wait buys nothing.
        assert_eq!(at(2.0).commits_per_s, Some(2600.0));
        let need = load_at_need(&points(&of), 2000.0, at(1.0).commits_per_s);
        assert!(need.headroom_pct.is_some_and(|h| (h - 10.0).abs() < 1e-9));
        assert_eq!(need.jobs, Some(5.0));
        assert!(need.sync_ms.is_some_and(|s| (s - 0.8).abs() < 1e-9));
        let over = load_at_need(&points(&of), 9000.0, Some(2600.0));
        assert!(over.jobs.is_none() && over.headroom_pct.is_some_and(|h| h < 0.0));
    }

    #[test]
    fn a_test_that_does_not_fit_is_found_and_a_clean_curve_has_none() {
        let odd = points(&[
            (2.0, 9_000.0, 0.2),
            (24.0, 73_000.0, 0.25),
            (32.0, 99_700.0, 0.24),
        ]);
        assert_eq!(anomalies(&odd).len(), 1);
        assert!(anomalies(&law(0.05, 5e-4, 0.0)).is_empty());
        // The first step may gain by sharing log writes.
        let shared = points(&[
            (1.0, 1_000.0, 1.0),
            (2.0, 2_400.0, 0.8),
            (4.0, 4_000.0, 0.9),
        ]);
        assert!(anomalies(&shared).is_empty());
        let one = curve("x", points(&[(2.0, 9.0, 0.2)]), &CapacityNeed::default());
        assert!(one.is_none());
        let three = curve("x", odd, &CapacityNeed::default()).expect("a sweep");
        assert!(three.law.is_none() && three.no_law.is_some());
    }
}
