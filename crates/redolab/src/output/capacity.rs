//! Capacity of sweeps as text and as JSON.

use super::lines::wrap;
use super::section;
use super::table::Style;
use analysis::account::{AccountColumn, AccountTable, Shown, figure};
use analysis::capacity::{
    CapacityCurve, CapacityNeed, CapacityPoint, FittedLaw, INTERVAL_MIN, LawParameter, LoadAtNeed,
    LoadAtSync,
};
use measure::judgement::Finding;
use measure::run::Run;
use measure::words::{digits, sanitize};
use serde::Serialize;

/// The schema of what is printed.
const SCHEMA: &str = "redolab.capacity/1";
/// Longer lines are hard to read, however wide the terminal is.
const WIDTH_MAX: usize = 100;
/// Findings that concern a sweep, by the beginnings of their ids. Knee and peak are the curve's.
const OF_SWEEPS: [&str; 3] = [
    "evidence.sweep_changed",
    "evidence.tests_left_out",
    "validity.",
];

/// Sweeps with what they can carry.
#[derive(Serialize)]
pub struct CapacityView {
    schema: &'static str,
    redolab_version: &'static str,
    sync_under_ms: Option<f64>,
    commit_rate: Option<f64>,
    bootstrap_seed: u64,
    sources: Vec<CapacitySource>,
}

/// A source with its sweeps.
#[derive(Serialize)]
struct CapacitySource {
    name: String,
    origin: &'static str,
    valid: bool,
    curves: Vec<CapacityCurve>,
    findings: Vec<Finding>,
}

impl CapacityView {
    /// Nothing yet.
    #[must_use]
    pub fn new(need: &CapacityNeed) -> CapacityView {
        CapacityView {
            schema: SCHEMA,
            redolab_version: env!("CARGO_PKG_VERSION"),
            sync_under_ms: need.sync_under_ms,
            commit_rate: need.commit_rate,
            bootstrap_seed: need.seed,
            sources: Vec::new(),
        }
    }

    /// Adds the curves of a source with its findings on sweeps; with `chosen` only those that name
    /// one of the curves.
    pub fn add(&mut self, name: &str, run: &Run, curves: Vec<CapacityCurve>, chosen: bool) {
        let named = |f: &Finding| curves.iter().any(|c| f.claim.contains(&c.name));
        let concerns =
            |f: &&Finding| OF_SWEEPS.iter().any(|id| f.id.starts_with(id)) && (!chosen || named(f));
        let findings = run.findings.iter().filter(concerns).cloned().collect();
        self.sources.push(CapacitySource {
            name: name.to_owned(),
            origin: run.origin.word(),
            valid: run.validity.valid,
            curves,
            findings,
        });
    }

    /// Whether no source has a sweep.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.iter().all(|s| s.curves.is_empty())
    }

    /// Whether every source is valid.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.sources.iter().all(|s| s.valid)
    }

    /// The text for people.
    #[must_use]
    pub fn text(&self, style: Style) -> String {
        let width = style.width.min(WIDTH_MAX);
        let mut out = String::new();
        for source in &self.sources {
            let valid = if source.valid { "" } else { "  INVALID" };
            let name = sanitize::line(&source.name);
            out.push_str(&format!("{name}  origin: {}{valid}\n", source.origin));
            if source.curves.is_empty() {
                out.push_str("  no workload has rates of commits at two numbers of jobs\n");
            }
            for curve in &source.curves {
                out.push_str(&format!("\n{}\n", sanitize::line(&curve.name)));
                out.push_str(&of_points(&curve.points, style));
                for line in of_curve(curve) {
                    wrap(&mut out, "  ", &line, width);
                }
            }
            if !source.findings.is_empty() {
                out.push_str("\nFindings on these sweeps:\n");
            }
            for finding in &source.findings {
                let line = format!("{} [{}]", finding.claim, finding.id);
                wrap(&mut out, "  ", &line, width);
                if !finding.advice.is_empty() {
                    wrap(&mut out, "    ", &finding.advice, width);
                }
            }
            out.push('\n');
        }
        out
    }
}

fn of_points(points: &[CapacityPoint], style: Style) -> String {
    let columns: [AccountColumn<'_, &CapacityPoint>; 5] = [
        (figure("Jobs", ""), &|p| Shown::Text(p.jobs.to_string())),
        (figure("Commits", "/s"), &|p| p.commits_per_s.into()),
        (figure("per job", ""), &|p| {
            (p.commits_per_s / p.jobs).into()
        }),
        (figure("Latency", "ms"), &|p| p.latency_ms.into()),
        (figure("log file sync", "ms"), &|p| p.sync_ms.into()),
    ];
    let table = AccountTable::of(points, &columns);
    table.map_or_else(String::new, |of| section::table(&of, usize::MAX, style))
}

/// What follows from a curve, a sentence each.
fn of_curve(curve: &CapacityCurve) -> Vec<String> {
    let mut lines = Vec::new();
    let at =
        |p: &CapacityPoint| format!("{} commits/s at {} jobs", digits(p.commits_per_s), p.jobs);
    lines.push(format!("Highest measured rate: {}.", at(&curve.peak)));
    lines.push(match (&curve.knee, &curve.no_knee) {
        (Some(knee), _) => format!("Knee (largest throughput over latency): {}.", at(knee)),
        (None, why) => format!("Knee: none, {}.", why.as_deref().unwrap_or("no point")),
    });
    match (&curve.law, &curve.no_law) {
        (Some(law), _) => lines.extend(of_law(law, curve)),
        (None, why) => {
            let why = why.as_deref().unwrap_or("no points");
            lines.push(format!("Universal Scalability Law: not fitted, {why}."));
        }
    }
    lines.extend(curve.at_sync.as_ref().map(|found| of_sync(found, curve)));
    lines.extend(curve.at_need.as_ref().map(|found| of_need(found, curve)));
    for [from, to] in &curve.anomalies {
        lines.push(format!(
            "Does not fit: from {} to {} jobs throughput per job grows from {} to {} commits/s while \
             the latency falls.",
            from.jobs,
            to.jobs,
            digits(from.commits_per_s / from.jobs),
            digits(to.commits_per_s / to.jobs)
        ));
    }
    lines
}

fn of_law(law: &FittedLaw, curve: &CapacityCurve) -> Vec<String> {
    let parameter = |p: &LawParameter, write: fn(f64) -> String| {
        let interval = p.interval.map_or(String::new(), |[low, high]| {
            format!(" ({} to {})", write(low), write(high))
        });
        format!("{}{interval}", write(p.value))
    };
    let small = |v: f64| match v == 0.0 {
        true => "0".to_owned(),
        false => format!("{v:.2e}"),
    };
    let has_interval = law.contention.interval.is_some();
    let note = match has_interval {
        true => "intervals of 95 % from resampled residuals",
        false if curve.points.len() < INTERVAL_MIN => "no intervals: these need at least 5 points",
        false => "no intervals: the law does not fit the points when their residuals are exchanged",
    };
    let mut lines = vec![format!(
        "Universal Scalability Law: contention (alpha) {}, coherency (beta) {}, throughput of one job \
         (gamma) {} commits/s; mean deviation of the points {:.1} %; {note}.",
        parameter(&law.contention, digits),
        parameter(&law.coherency, small),
        parameter(&law.one_job, digits),
        100.0 * law.relative_residual
    )];
    let last = curve.points.last().map_or(0.0, |p| p.jobs);
    lines.push(match law.peak_jobs {
        Some(jobs) => {
            let interval = law
                .peak_interval
                .map_or(String::new(), |(low, high)| match high {
                    Some(high) => format!(" ({} to {})", digits(low), digits(high)),
                    None => format!(" (from {} on, without an upper end)", digits(low)),
                });
            let where_it_is = match law.is_peak_measured {
                true => String::new(),
                false => format!(", extrapolated: the last point has {last} jobs"),
            };
            let ceiling = match (law.ceiling, &law.no_ceiling) {
                (Some(c), _) => format!(" with {} commits/s", digits(c)),
                (None, Some(why)) => format!(", without its rate: {why}"),
                (None, None) => String::new(),
            };
            format!(
                "Peak of the law: {} jobs{interval}{ceiling}{where_it_is}.",
                digits(jobs)
            )
        }
        None => match (law.ceiling, &law.no_ceiling) {
            (Some(ceiling), _) => format!(
                "Peak of the law: none; it levels out to {} commits/s (extrapolated).",
                digits(ceiling)
            ),
            (None, Some(why)) => format!("Peak of the law: none, and no ceiling: {why}."),
            (None, None) => "Peak of the law: none; it grows with the jobs.".to_owned(),
        },
    });
    lines
}

fn of_sync(found: &LoadAtSync, curve: &CapacityCurve) -> String {
    let bound = format!("{} ms", found.sync_under_ms);
    let Some((rate, jobs)) = found.commits_per_s.zip(found.jobs) else {
        let known = curve.points.iter().filter_map(|p| p.sync_ms);
        let least = known.fold(f64::INFINITY, f64::min);
        return match least.is_finite() {
            true => format!(
                "No measured point has a mean log file sync under {bound}; the shortest is {} ms.",
                digits(least)
            ),
            false => "The mean log file sync of these points is not known.".to_owned(),
        };
    };
    let rate = digits(rate);
    match (found.is_least, found.is_interpolated) {
        (true, _) => format!(
            "{rate} commits/s at least at a mean log file sync under {bound} (measured, {jobs} jobs): \
             every measured point is below the bound, and more was not measured."
        ),
        (false, true) => format!(
            "{rate} commits/s at most at a mean log file sync under {bound} (about {} jobs, interpolated \
             between two measured points).",
            digits(jobs)
        ),
        (false, false) => format!(
            "{rate} commits/s at most at a mean log file sync under {bound} (measured, {jobs} jobs)."
        ),
    }
}

fn of_need(found: &LoadAtNeed, curve: &CapacityCurve) -> String {
    let need = digits(found.commit_rate);
    let (Some(available), Some(headroom)) = (found.available, found.headroom_pct) else {
        return format!("Need of {need} commits/s: no rate is known that keeps the bound.");
    };
    let of = match curve.at_sync.is_some() {
        true => "at the bound of log file sync",
        false => "measured",
    };
    let place = match (found.jobs, found.sync_ms) {
        (Some(jobs), Some(sync)) => format!(
            "; the need takes about {} jobs with a mean log file sync of {} ms (interpolated)",
            digits(jobs),
            digits(sync)
        ),
        (Some(jobs), None) => format!(
            "; the need takes about {} jobs (interpolated)",
            digits(jobs)
        ),
        (None, _) if headroom < 0.0 => "; the need was not reached".to_owned(),
        (None, _) => "; the need is below the first measured point".to_owned(),
    };
    format!(
        "Need of {need} commits/s: {} commits/s {of}, headroom {headroom:+.1} %{place}.",
        digits(available)
    )
}
