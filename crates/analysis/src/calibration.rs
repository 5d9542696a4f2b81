//! A model against measured cells: what its errors are, and whether it is better than none.
//!
//! A cell is a log writer with a number of jobs and a size of redo. Cells that were fitted say how
//! well the model bends to what it was shown; cells that were judged were predicted before they
//! were measured, and say how far it is to be believed. Beside each prediction are two without any
//! physics: a power law of jobs and redo, and the Universal Scalability Law of jobs.
//!
//! The demerit figure (Ruemmler and Wilkes, An Introduction to Disk Drive Modeling, 1994) is the
//! root mean square of the horizontal distance between two distributions of latency, over the mean
//! of the measured one.

use crate::stats::scaling::{solve, usl};
use measure::Histogram;
use serde::Serialize;

/// The schema's name and version.
pub const SCHEMA: &str = "redolab.calibration/1";
/// Two runs of a cell that differ by more do not repeat: there is nothing to be predicted.
pub const REPEATS_PCT: f64 = 25.0;
/// The share of judged cells that a band is to hold, percent.
pub const HELD_PCT: f64 = 85.0;
/// The part of the drawn cells that has to be judged, or the error is not known.
const JUDGED_PART: f64 = 0.6;
/// Places at which two distributions are compared.
const PLACES: u32 = 1000;

/// What was run in a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CalibrationCell {
    /// The log writer.
    pub log_writer: String,
    /// Sessions.
    pub jobs: u32,
    /// Redo of each commit, bytes.
    pub redo_bytes: u32,
}

/// Figures of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CellFigures {
    /// Commits per second.
    pub per_s: f64,
    /// Log file sync, nanoseconds: mean, median, 99th percentile.
    pub mean_ns: f64,
    /// See `mean_ns`.
    pub p50_ns: f64,
    /// See `mean_ns`.
    pub p99_ns: f64,
}

impl CellFigures {
    /// Of that many commits per second and these waits.
    #[must_use]
    pub fn of(per_s: f64, sync: &Histogram) -> CellFigures {
        CellFigures {
            per_s,
            mean_ns: sync.mean(),
            p50_ns: sync.quantile_raw(0.5) as f64,
            p99_ns: sync.quantile_raw(0.99) as f64,
        }
    }

    /// The mean of two runs.
    #[must_use]
    pub fn between(runs: [CellFigures; 2]) -> CellFigures {
        let mean = |of: fn(&CellFigures) -> f64| (of(&runs[0]) + of(&runs[1])) / 2.0;
        CellFigures {
            per_s: mean(|f| f.per_s),
            mean_ns: mean(|f| f.mean_ns),
            p50_ns: mean(|f| f.p50_ns),
            p99_ns: mean(|f| f.p99_ns),
        }
    }
}

/// By how much two runs differ in commits per second, percent of the lower.
#[must_use]
pub fn differ_pct(runs: [CellFigures; 2]) -> f64 {
    let [a, b] = runs.map(|run| run.per_s);
    (a.max(b) / a.min(b).max(f64::MIN_POSITIVE) - 1.0) * 100.0
}

/// Whether two runs of a cell are alike enough for it to be predicted.
#[must_use]
pub fn repeats(runs: [CellFigures; 2]) -> bool {
    differ_pct(runs) <= REPEATS_PCT
}

/// A cell that was fitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedCell {
    /// What was run; without a device where the log writer's name says so.
    pub cell: CalibrationCell,
    /// Nothing was written: the null device.
    pub null_device: bool,
    /// As measured, twice.
    pub runs: [CellFigures; 2],
    /// By the model that was fitted; `None` where there is none.
    pub simulated: Option<CellFigures>,
}

/// What was predicted of a cell before it was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellPrediction {
    /// What will be run.
    pub cell: CalibrationCell,
    /// More jobs or more redo than any cell that was fitted.
    pub beyond: bool,
    /// By the model.
    pub model: CellFigures,
    /// The ends of its band, commits per second.
    pub band_per_s: [f64; 2],
    /// By a power law, commits per second.
    pub power_law_per_s: Option<f64>,
    /// By the Universal Scalability Law, commits per second.
    pub usl_per_s: Option<f64>,
}

/// A prediction, and what was measured then.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedCell {
    /// What was predicted.
    pub predicted: CellPrediction,
    /// As measured, twice.
    pub runs: [CellFigures; 2],
    /// The demerit figure of the model, percent.
    pub demerit_pct: Option<f64>,
    /// The demerit figure of the two runs, percent.
    pub demerit_of_runs_pct: Option<f64>,
}

impl JudgedCell {
    /// Whether it is judged: its two runs are alike.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        repeats(self.runs)
    }

    /// A figure of the model off the measured one, percent.
    pub fn off_pct(&self, of: fn(&CellFigures) -> f64) -> f64 {
        off(
            of(&self.predicted.model),
            of(&CellFigures::between(self.runs)),
        )
    }

    /// Whether the measured rate lies in the band.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let [low, high] = self.predicted.band_per_s;
        (low..=high).contains(&CellFigures::between(self.runs).per_s)
    }

    fn baseline_off(&self, of: fn(&CellPrediction) -> Option<f64>) -> Option<f64> {
        Some(off(
            of(&self.predicted)?,
            CellFigures::between(self.runs).per_s,
        ))
    }
}

fn off(predicted: f64, measured: f64) -> f64 {
    (predicted / measured - 1.0) * 100.0
}

/// Errors of some judged cells in the mean: absolute, percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CalibrationErrors {
    /// Cells whose runs repeat.
    pub judged: usize,
    /// Cells in all.
    pub drawn: usize,
    /// Of commits per second.
    pub per_s_pct: f64,
    /// Of the mean of log file sync.
    pub mean_pct: f64,
    /// Of its median.
    pub p50_pct: f64,
    /// Of its 99th percentile.
    pub p99_pct: f64,
    /// The demerit figure of the model, and of two runs.
    pub demerit_pct: Option<f64>,
    /// See `demerit_pct`.
    pub demerit_of_runs_pct: Option<f64>,
    /// Of commits per second, by the power law.
    pub power_law_pct: Option<f64>,
    /// Of commits per second, by the Universal Scalability Law.
    pub usl_pct: Option<f64>,
    /// Judged cells within their bands.
    pub held: usize,
}

/// Errors of those of `cells` that are judged; `None` where none is.
#[must_use]
pub fn errors<'a>(cells: impl IntoIterator<Item = &'a JudgedCell>) -> Option<CalibrationErrors> {
    let all: Vec<&JudgedCell> = cells.into_iter().collect();
    let judged: Vec<&&JudgedCell> = all.iter().filter(|cell| cell.is_judged()).collect();
    let mean = |of: &dyn Fn(&JudgedCell) -> f64| {
        judged.iter().map(|cell| of(cell)).sum::<f64>() / judged.len() as f64
    };
    let known = |of: &dyn Fn(&JudgedCell) -> Option<f64>| {
        let known: Vec<f64> = judged.iter().filter_map(|cell| of(cell)).collect();
        // A mean over other cells than the model's is no comparison.
        (known.len() == judged.len()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    (!judged.is_empty()).then(|| CalibrationErrors {
        judged: judged.len(),
        drawn: all.len(),
        per_s_pct: mean(&|c| c.off_pct(|f| f.per_s).abs()),
        mean_pct: mean(&|c| c.off_pct(|f| f.mean_ns).abs()),
        p50_pct: mean(&|c| c.off_pct(|f| f.p50_ns).abs()),
        p99_pct: mean(&|c| c.off_pct(|f| f.p99_ns).abs()),
        demerit_pct: known(&|c| c.demerit_pct),
        demerit_of_runs_pct: known(&|c| c.demerit_of_runs_pct),
        power_law_pct: known(&|c| c.baseline_off(|p| p.power_law_per_s).map(f64::abs)),
        usl_pct: known(&|c| c.baseline_off(|p| p.usl_per_s).map(f64::abs)),
        held: judged.iter().filter(|cell| cell.is_held()).count(),
    })
}

/// The error that [`HELD_PCT`] of `errors` do not exceed; of few errors the largest, `None` of
/// none.
/// The place is that of an error still to come (a prediction interval without a distribution).
#[must_use]
pub fn held_error(errors: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sorted.sort_by(f64::total_cmp);
    let place = (HELD_PCT / 100.0 * (sorted.len() + 1) as f64).ceil() as usize;
    sorted.get(place.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// The demerit figure of `model` against `measured`, percent; `None` where either is empty.
#[must_use]
pub fn demerit_pct(model: &Histogram, measured: &Histogram) -> Option<f64> {
    if model.count() == 0 || measured.count() == 0 {
        return None;
    }
    let squares = (0..PLACES).map(|place| {
        let q = (f64::from(place) + 0.5) / f64::from(PLACES);
        (model.quantile_raw(q) as f64 - measured.quantile_raw(q) as f64).powi(2)
    });
    let mean = squares.sum::<f64>() / f64::from(PLACES);
    Some(mean.sqrt() / measured.mean().max(1.0) * 100.0)
}

/// Predictions without physics of one log writer, from its cells that were fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Baselines {
    /// ln X = a + b ln jobs + c ln redo.
    power: Option<[f64; 3]>,
    /// λ, σ, κ, and the redo for which they were found.
    law: Option<([f64; 3], f64)>,
}

impl Baselines {
    /// From jobs, redo and commits per second of each cell.
    #[must_use]
    pub fn of(cells: &[(u32, u32, f64)]) -> Baselines {
        let (mut normal, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
        for (jobs, redo, per_s) in cells {
            let x = [1.0, f64::from(*jobs).ln(), f64::from(*redo).ln()];
            for i in 0..3 {
                right[i] += x[i] * per_s.ln();
                for j in 0..3 {
                    normal[i][j] += x[i] * x[j];
                }
            }
        }
        let smallest = cells.iter().map(|(_, redo, _)| *redo).min();
        let of_one_size = cells.iter().filter(|(_, redo, _)| Some(*redo) == smallest);
        let (jobs, rates): (Vec<f64>, Vec<f64>) =
            of_one_size.map(|(n, _, x)| (f64::from(*n), *x)).unzip();
        let law = usl(&jobs, &rates)
            .ok()
            .map(|of| [of.lambda, of.sigma, of.kappa]);
        Baselines {
            power: solve(normal, right),
            law: law.zip(smallest.map(f64::from)),
        }
    }

    /// Commits per second by the power law.
    #[must_use]
    pub fn power_law(&self, jobs: u32, redo: u32) -> Option<f64> {
        let [a, b, c] = self.power?;
        Some((a + b * f64::from(jobs).ln() + c * f64::from(redo).ln()).exp())
    }

    /// Commits per second by the Universal Scalability Law, with the power law's share of redo.
    #[must_use]
    pub fn usl(&self, jobs: u32, redo: u32) -> Option<f64> {
        let ([lambda, sigma, kappa], of_redo) = self.law?;
        let [_, _, c] = self.power?;
        let n = f64::from(jobs);
        let one_size = lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
        Some(one_size * (f64::from(redo) / of_redo).powf(c))
    }
}

/// A calibration from its first cell to its last.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibrationFacts {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Version that made it.
    pub redolab_version: &'static str,
    /// The directory or device whose cells were measured.
    pub target: String,
    /// Where the model was written; `None` where there is none.
    pub model: Option<String>,
    /// Why there is no model.
    pub refused: Option<String>,
    /// The fit's root mean square error of logarithms, percent.
    pub fit_error_pct: f64,
    /// Cells that were fitted.
    pub fitted: Vec<FittedCell>,
    /// Of which the judged cells were drawn.
    pub holdout_seed: u64,
    /// SHA-256 of the predictions, which were written before their cells were measured.
    pub predictions_sha256: Option<String>,
    /// Cells that were predicted.
    pub judged: Vec<JudgedCell>,
    /// Runs of the store that were measured for it.
    pub runs: Vec<String>,
}

impl CalibrationFacts {
    /// Errors between and beyond the cells that were fitted.
    #[must_use]
    pub fn errors(&self, beyond: bool) -> Option<CalibrationErrors> {
        errors(
            self.judged
                .iter()
                .filter(|cell| cell.predicted.beyond == beyond),
        )
    }

    /// The error that most judged cells between the fitted ones do not exceed, percent; `None`
    /// where too few of those that were drawn repeat. What lies beyond is called extrapolated.
    #[must_use]
    pub fn held_error_pct(&self) -> Option<f64> {
        let between = self.judged.iter().filter(|cell| !cell.predicted.beyond);
        let judged = between.clone().filter(|cell| cell.is_judged());
        let errors: Vec<f64> = judged.map(|cell| cell.off_pct(|f| f.per_s)).collect();
        let enough = errors.len() as f64 >= JUDGED_PART * between.count() as f64;
        held_error(&errors).filter(|_| enough)
    }
}

#[cfg(test)]
mod tests;
