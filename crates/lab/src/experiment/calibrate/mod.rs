//! Calibration: cells are measured, a model is fitted to them, and is then judged by other cells,
//! which were predicted before they are measured.
//!
//! Invariants: predictions are out of this program's hands before their cells are measured; a
//! machine on which two runs of a cell differ too much gets no model.

mod cells;
mod predict;
#[cfg(test)]
mod tests;

use self::cells::{Cells, MeasuredCells};
use self::predict::Fitted;
use super::conduct::conduct;
use super::console::Console;
use super::plan::{ExperimentPlan, MeasurementPlan, NamedTarget, PlannedTarget, RoundsPlan};
use super::row::Spec;
use super::{Failure, Stopped, conduct_rounds};
use crate::store::Store;
use ::measure::Nanos;
use ::measure::run::Run;
use analysis::calibration::{CalibrationFacts, REPEATS_PCT, SCHEMA};
use simulate::{FitEffort, Model, ModelBasis};

/// What is asked of a calibration.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibrationPlan {
    /// The directory or device.
    pub target: PlannedTarget,
    /// What the target is called in the model.
    pub name: String,
    /// Command, log and limits; its rows are not read.
    pub measured: MeasurementPlan,
    /// Measured time of each cell, and the time before it.
    pub time: Nanos,
    /// See `time`.
    pub warmup: Nanos,
    /// Of which the cells are drawn that judge the model.
    pub holdout_seed: u64,
    /// How hard the fit looks.
    pub effort: FitEffort,
}

/// A fit of less than a minute, with two processors.
pub const USUAL_EFFORT: FitEffort = FitEffort {
    starts: 3,
    steps: 150,
    commits: 2000,
};
/// A coarse one, of seconds.
pub const QUICK_EFFORT: FitEffort = FitEffort {
    starts: 0,
    steps: 10,
    commits: 300,
};

/// A calibration that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratedModel {
    /// What was found.
    pub facts: CalibrationFacts,
    /// The model, with its error; `None` where it was refused.
    pub model: Option<Model>,
}

/// Keeps predictions where nobody changes them, and gives their SHA-256.
pub type KeepPredictions<'a> = &'a dyn Fn(&[u8]) -> Result<String, Failure>;

/// Parts of `--max-write`: for the cells that are fitted, for each repetition of some of them, and
/// for those that judge. All together are one.
const FITTED_PART: f64 = 0.4;
const REPEATED_PART: f64 = 0.1;
const JUDGING_PART: f64 = 0.3;
/// Each cell is measured so often.
const RUNS: u32 = 2;
/// Rows whose cells do not repeat are measured again so often.
const REPEATED: u32 = 3;

/// Carries out `plan`; `None` after a dry run.
///
/// # Errors
/// What refuses or ends the measurements; what cannot be simulated.
pub fn calibrate(
    plan: &CalibrationPlan,
    keep: KeepPredictions<'_>,
    console: &dyn Console,
    store: &Store,
) -> Result<Option<CalibratedModel>, Stopped> {
    let lab = Laboratory {
        plan,
        console,
        store,
    };
    console.say("Cells to be fitted:");
    let Some(mut measured) = lab.cells(&Cells::fitted(), FITTED_PART, None)? else {
        return Ok(None);
    };
    for _ in 0..REPEATED {
        let unsteady = measured.unsteady();
        if unsteady.rows.is_empty() {
            break;
        }
        console.say(&format!(
            "Two runs of a cell differ by more than {REPEATS_PCT} %: once more:"
        ));
        if let Some(again) = lab.cells(&unsteady, REPEATED_PART, None)? {
            measured.replace(again);
        }
    }
    let mut facts = CalibrationFacts {
        schema: SCHEMA,
        redolab_version: env!("CARGO_PKG_VERSION"),
        target: plan.name.clone(),
        model: None,
        refused: measured.refusal(),
        fit_error_pct: 0.0,
        fitted: Vec::new(),
        holdout_seed: plan.holdout_seed,
        predictions_sha256: None,
        judged: Vec::new(),
        runs: measured.runs.clone(),
    };
    if facts.refused.is_some() {
        facts.fitted = measured.as_they_are();
        return Ok(Some(CalibratedModel { facts, model: None }));
    }
    console.say("Cells without a device, for the processors' part:");
    let null = lab.without_a_device()?;
    console.say("Fitting the model to these cells.");
    let fitted = Fitted::to(&measured, &null, (plan, console))?;
    facts.fitted = fitted.cells(&measured, &null)?;
    facts.fit_error_pct = fitted.fit.error * 100.0;
    let drawn = Cells::drawn(plan.holdout_seed);
    let predicted = fitted.predicted(&drawn)?;
    let kept = predict::in_json(&predicted).map_err(Failure::Unusable)?;
    let hash = keep(&kept)?;
    console.say("Other cells, which were predicted, to judge it:");
    if let Some(judging) = lab.cells(&drawn, JUDGING_PART, Some(&hash))? {
        facts.runs.extend(judging.runs.iter().cloned());
        facts.judged = predict::judged(predicted, &judging);
    }
    facts.predictions_sha256 = Some(hash);
    let basis = ModelBasis {
        source: fitted.source(&facts),
        error_pct: facts.held_error_pct(),
        jobs: Some(Cells::fitted().jobs()),
        redo_bytes: Some(Cells::fitted().redo_bytes()),
        ..ModelBasis::default()
    };
    let model = Some(fitted.model(basis));
    Ok(Some(CalibratedModel { facts, model }))
}

/// What measures cells.
struct Laboratory<'a> {
    plan: &'a CalibrationPlan,
    console: &'a dyn Console,
    store: &'a Store,
}

impl Laboratory<'_> {
    /// Cells measured twice, in rounds; `None` after a dry run.
    fn cells(
        &self,
        cells: &Cells,
        part: f64,
        predictions: Option<&str>,
    ) -> Result<Option<MeasuredCells>, Stopped> {
        let mut measured = self.measurement(cells.specs(self.plan), part);
        if let Some(hash) = predictions {
            let tags = &mut measured.notes.tags;
            tags.insert("predictions-sha256".to_owned(), hash.to_owned());
        }
        let target = |(name, log)| NamedTarget {
            name,
            target: self.plan.target.clone(),
            log: Some(log),
            members: None,
        };
        let rounds = RoundsPlan {
            targets: cells.logs(&measured.log).into_iter().map(target).collect(),
            rounds: RUNS,
            own_back_ends: false,
            measured,
        };
        let found = conduct_rounds(&rounds, self.console, self.store, &[])?;
        Ok(found.map(|found| MeasuredCells::of(cells, &found.sides)))
    }

    /// The runs of the cells that have no device, each twice.
    fn without_a_device(&self) -> Result<Vec<[Run; 2]>, Stopped> {
        let mut out = Vec::new();
        for (log_writer, rows) in Cells::without_a_device() {
            let mut measured = self.measurement(rows.specs(self.plan), 1.0);
            measured.log.log_writer = log_writer;
            measured.log.log_file_sync = log_writer.usual_log_file_sync();
            let plan = ExperimentPlan {
                target: PlannedTarget::Null,
                measured,
            };
            let run = || -> Result<Run, Stopped> {
                let run = conduct(&plan, self.console, self.store, &[])?;
                run.ok_or_else(|| {
                    Failure::Unusable("--dry-run: nothing was measured".into()).into()
                })
            };
            out.push([run()?, run()?]);
        }
        Ok(out)
    }

    fn measurement(&self, rows: Vec<Spec>, part: f64) -> MeasurementPlan {
        let of = &self.plan.measured;
        let limit = of.max_write_bytes.map(|most| (most as f64 * part) as u64);
        MeasurementPlan {
            rows,
            max_write_bytes: limit,
            ..of.clone()
        }
    }
}
