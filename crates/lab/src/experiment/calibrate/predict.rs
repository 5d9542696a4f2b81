//! From measured cells to a model, from the model to predictions, and from these to their errors.

use super::super::Failure;
use super::super::console::Console;
use super::super::row::Spec;
use super::super::simulated::{ModelLog, failure, setup, simulated};
use super::CalibrationPlan;
use super::cells::{Cells, LOG_WRITERS, MeasuredCell, MeasuredCells, figures, of_writer, workload};
use crate::observe::machine;
use ::measure::Nanos;
use ::measure::run::Run;
use analysis::calibration::{
    Baselines, CalibrationCell, CalibrationFacts, CellFigures, CellPrediction, FittedCell,
    JudgedCell, demerit_pct, held_error,
};
use redo::LogWriter;
use simulate::{
    Costs, DeviceModel, Fit, FitEffort, LatencyTail, Model, ModelBasis, ServiceModel,
    SimulationOutcome, SimulationSetup, fit,
};
use std::collections::BTreeMap;

/// A cell that is predicted has so many times the commits of a guess; the virtual time before them.
const MORE_COMMITS: u64 = 10;
const WARMUP: Nanos = Nanos::from_millis(20);
/// Virtual time at most: a prediction that is far too slow ends.
const LONGEST: Nanos = Nanos::from_secs(20);

/// A cell that a fit is shown, and its row of jobs and redo.
type ShownCell = (Option<(u32, u32)>, simulate::MeasuredCell);

/// A model that was fitted.
pub(super) struct Fitted<'a> {
    pub(super) fit: Fit,
    plan: &'a CalibrationPlan,
    console: &'a dyn Console,
    processors: u32,
    seal_bytes: u32,
    /// Errors of cells that were left out of a fit, logarithms: within the others, and beyond them.
    left_out: [Vec<f64>; 2],
    baselines: BTreeMap<String, Baselines>,
}

impl<'a> Fitted<'a> {
    pub(super) fn to(
        measured: &MeasuredCells,
        null: &[[Run; 2]],
        (plan, console): (&'a CalibrationPlan, &'a dyn Console),
    ) -> Result<Fitted<'a>, Failure> {
        let device = DeviceModel::Service(device_of(measured));
        let mut fitted = Fitted {
            fit: Fit {
                costs: Costs::ROUND,
                device,
                error: f64::INFINITY,
            },
            plan,
            console,
            processors: machine::usable_cpus(),
            seal_bytes: measured.seal_bytes,
            left_out: [Vec::new(), Vec::new()],
            baselines: baselines(measured),
        };
        let all = fitted.fitted_cells(measured, null)?;
        let interrupt = console.interrupt();
        let goes_on = || !interrupt.requested();
        let fit = |without: Option<(u32, u32)>, from: &Fit, effort| {
            let shown = all
                .iter()
                .filter(|(row, _)| without.is_none() || *row != without);
            let cells: Vec<_> = shown.map(|(_, cell)| cell.clone()).collect();
            let found = fit(&cells, (from.costs, &from.device), effort, &goes_on);
            found.map_err(|stopped| failure(stopped, "the fit"))
        };
        fitted.fit = fit(None, &fitted.fit, plan.effort)?;
        let [_, most] = Cells::fitted().jobs();
        for row in Cells::fitted().rows {
            // It begins at the fit with all.
            let less = FitEffort {
                starts: 0,
                steps: plan.effort.steps / 3,
                ..plan.effort
            };
            let refit = fit(Some(row), &fitted.fit, less)?;
            for cell in measured.cells.iter().filter(|of| is_of(of, row)) {
                let setup = fitted.setup(&cell.cell, false, &refit)?;
                let simulated = rate(&simulated(&setup, console)?);
                let measured = CellFigures::between(cell.runs).per_s;
                let beyond = usize::from(row.0 == most);
                fitted.left_out[beyond].push((simulated / measured).ln());
            }
        }
        Ok(fitted)
    }

    /// What a fit is shown, with the row of each cell; those without a device are of none.
    fn fitted_cells(
        &self,
        measured: &MeasuredCells,
        null: &[[Run; 2]],
    ) -> Result<Vec<ShownCell>, Failure> {
        let mut out = Vec::new();
        for of in &measured.cells {
            let figures = CellFigures::between(of.runs);
            let processor = of.rows.iter().filter_map(processor_ns);
            let shown = simulate::MeasuredCell {
                setup: self.setup(&of.cell, false, &self.fit)?,
                per_s: figures.per_s,
                processor_ns: mean(processor),
                sync_p50_ns: Some(figures.p50_ns),
            };
            out.push((Some((of.cell.jobs, of.cell.redo_bytes)), shown));
        }
        for (cell, at, runs) in null_cells(null) {
            let Some(figures) = both(runs, at) else {
                continue;
            };
            let rows = runs.iter().filter_map(|run| run.rows.get(at));
            let shown = simulate::MeasuredCell {
                setup: self.setup(&cell, true, &self.fit)?,
                per_s: CellFigures::between(figures).per_s,
                processor_ns: mean(rows.filter_map(processor_ns)),
                sync_p50_ns: None,
            };
            out.push((None, shown));
        }
        Ok(out)
    }

    /// What is simulated of a cell.
    fn setup(
        &self,
        cell: &CalibrationCell,
        null_device: bool,
        fit: &Fit,
    ) -> Result<SimulationSetup, Failure> {
        let named = LOG_WRITERS
            .iter()
            .find(|w| w.to_string() == cell.log_writer);
        let log = of_writer(
            &self.plan.measured.log,
            named.copied().unwrap_or(LogWriter::Inline),
        );
        let spec = Spec {
            commits: Some((self.plan.effort.commits * MORE_COMMITS).div_ceil(cell.jobs.into())),
            ..Spec::closed(workload(cell.redo_bytes), cell.jobs, LONGEST, WARMUP)
        };
        let device = match null_device {
            true => DeviceModel::Service(ServiceModel {
                flush_ns: Some(0.0),
                ..ServiceModel::NOTHING
            }),
            false => fit.device.clone(),
        };
        let log = ModelLog {
            log: &log,
            seal_bytes: self.seal_bytes,
        };
        let mut setup = setup(log, &spec, self.processors, fit.costs, &device)?;
        setup.time_ns = LONGEST.0;
        Ok(setup)
    }

    fn simulated(
        &self,
        cell: &CalibrationCell,
        null_device: bool,
    ) -> Result<SimulationOutcome, Failure> {
        simulated(&self.setup(cell, null_device, &self.fit)?, self.console)
    }

    /// The cells that were fitted, by the model.
    pub(super) fn cells(
        &self,
        measured: &MeasuredCells,
        null: &[[Run; 2]],
    ) -> Result<Vec<FittedCell>, Failure> {
        let mut out = measured.as_they_are();
        for of in &mut out {
            of.simulated = Some(figures_of(&self.simulated(&of.cell, false)?));
        }
        for (cell, at, runs) in null_cells(null) {
            let Some(runs) = both(runs, at) else { continue };
            let simulated = Some(figures_of(&self.simulated(&cell, true)?));
            out.push(FittedCell {
                cell,
                null_device: true,
                runs,
                simulated,
            });
        }
        Ok(out)
    }

    /// What the cells of `drawn` will be.
    pub(super) fn predicted(&self, drawn: &Cells) -> Result<Vec<Predicted>, Failure> {
        let fitted = Cells::fitted();
        let [_, jobs_most] = fitted.jobs();
        let [redo_least, redo_most] = fitted.redo_bytes();
        let mut out = Vec::new();
        for log_writer in LOG_WRITERS {
            for (jobs, redo_bytes) in &drawn.rows {
                let cell = CalibrationCell {
                    log_writer: log_writer.to_string(),
                    jobs: *jobs,
                    redo_bytes: *redo_bytes,
                };
                let beyond = *jobs > jobs_most || !(redo_least..=redo_most).contains(redo_bytes);
                let outcome = self.simulated(&cell, false)?;
                let model = figures_of(&outcome);
                let within = held_error(&self.left_out[0]).unwrap_or_default();
                let error = match beyond {
                    true => held_error(&self.left_out[1])
                        .unwrap_or_default()
                        .max(within),
                    false => within,
                };
                let of = self.baselines.get(&cell.log_writer);
                out.push(Predicted {
                    sync: outcome.recording.foreground().sync,
                    prediction: CellPrediction {
                        power_law_per_s: of.and_then(|of| of.power_law(*jobs, *redo_bytes)),
                        usl_per_s: of.and_then(|of| of.usl(*jobs, *redo_bytes)),
                        band_per_s: [-error, error].map(|of| model.per_s * of.exp()),
                        cell,
                        beyond,
                        model,
                    },
                });
            }
        }
        Ok(out)
    }

    /// Where the values come from, in words.
    pub(super) fn source(&self, facts: &CalibrationFacts) -> String {
        let judged = facts.judged.iter().filter(|cell| cell.is_judged()).count();
        format!(
            "redolab calibrate, fitted to {} cells of {}, judged by {judged} others",
            facts.fitted.len(),
            facts.target,
        )
    }

    pub(super) fn model(&self, basis: ModelBasis) -> Model {
        Model {
            name: self.plan.name.clone(),
            basis,
            processors: self.processors,
            costs: self.fit.costs,
            device: self.fit.device.clone(),
        }
    }
}

/// A prediction, and all of its waits.
pub(super) struct Predicted {
    prediction: CellPrediction,
    sync: ::measure::Histogram,
}

/// The predictions as they are kept.
pub(super) fn in_json(predicted: &[Predicted]) -> Result<Vec<u8>, String> {
    let all: Vec<&CellPrediction> = predicted.iter().map(|of| &of.prediction).collect();
    let mut out = serde_json::to_vec_pretty(&all).map_err(|error| error.to_string())?;
    out.push(b'\n');
    Ok(out)
}

/// The predictions beside what was measured then.
pub(super) fn judged(predicted: Vec<Predicted>, measured: &MeasuredCells) -> Vec<JudgedCell> {
    let judged = predicted.into_iter().filter_map(|of| {
        let cell = measured.cell(&of.prediction.cell)?;
        let [a, b] = &cell.sync;
        let mut both = a.clone();
        both.merge(b);
        Some(JudgedCell {
            runs: cell.runs,
            demerit_pct: demerit_pct(&of.sync, &both),
            demerit_of_runs_pct: demerit_pct(a, b),
            predicted: of.prediction,
        })
    });
    judged.collect()
}

/// Without physics, by the name of the log writer.
fn baselines(measured: &MeasuredCells) -> BTreeMap<String, Baselines> {
    let of = |writer: LogWriter| {
        let name = writer.to_string();
        let cells = measured.cells.iter();
        let cells = cells.filter(|of| of.cell.log_writer == name).map(|of| {
            let per_s = CellFigures::between(of.runs).per_s;
            (of.cell.jobs, of.cell.redo_bytes, per_s)
        });
        let found = Baselines::of(&cells.collect::<Vec<_>>());
        (name, found)
    };
    LOG_WRITERS.map(of).into_iter().collect()
}

/// The device as a single session sees it: what its log writes take at two sizes, and how they
/// vary.
fn device_of(measured: &MeasuredCells) -> ServiceModel {
    let alone = |redo: u32| {
        measured.cells.iter().find(|of| {
            let of = &of.cell;
            of.log_writer == LogWriter::Inline.to_string() && (of.jobs, of.redo_bytes) == (1, redo)
        })
    };
    let [least, most] = Cells::fitted().redo_bytes();
    let (Some(small), Some(large)) = (alone(least), alone(most)) else {
        return ServiceModel::NOTHING;
    };
    let path = small.rows[0].commit_path.as_ref();
    let flushes = small.rows[0].redo().flushes.unwrap_or_default() > 0;
    let p50 = small.log_write.quantile_raw(0.5).max(1) as f64;
    let per_kb = (large.log_write.quantile_raw(0.5) as f64 - p50).max(0.0)
        / (f64::from(most - least) / 1024.0);
    // How the time of a log write is shared, in the mean.
    let share = path.map_or(0.5, |path| path.write_ns / (path.write_ns + path.flush_ns));
    let share = if flushes {
        share.clamp(0.05, 0.95)
    } else {
        1.0
    };
    // 84 of 100 values of a log-normal distribution lie below its median times e to the sigma; two
    // operations vary less than one.
    let sigma = (small.log_write.quantile_raw(0.84) as f64 / p50).ln();
    let operations = if flushes { 2.0_f64 } else { 1.0 };
    let slow = p50 * (sigma * TAIL_SIGMAS).exp();
    ServiceModel {
        write_ns: p50 * share,
        write_ns_per_kb: per_kb,
        flush_ns: flushes.then_some(p50 * (1.0 - share)),
        variation: (sigma * operations.sqrt()).clamp(0.01, 2.0),
        tail: tail(&small.log_write, slow, operations),
        ..ServiceModel::NOTHING
    }
}

/// So many sigmas over the median, a value belongs to the tail.
const TAIL_SIGMAS: f64 = 2.5;

/// Values above `slow`: how many of the operations, and how much longer they take on average.
fn tail(of: &::measure::Histogram, slow: f64, operations: f64) -> LatencyTail {
    let (mut count, mut sum) = (0_u64, 0.0);
    for step in of.buckets().iter_recorded() {
        let value = step.value_iterated_to() as f64;
        if value > slow {
            count += step.count_at_value();
            sum += (value - slow) * step.count_at_value() as f64;
        }
    }
    match count {
        0 => LatencyTail::default(),
        n => LatencyTail {
            share: n as f64 / of.count().max(1) as f64 / operations,
            mean_ns: sum / n as f64,
        },
    }
}

fn figures_of(outcome: &SimulationOutcome) -> CellFigures {
    CellFigures::of(rate(outcome), &outcome.recording.foreground().sync)
}

fn rate(outcome: &SimulationOutcome) -> f64 {
    let recording = &outcome.recording;
    let commits = recording.foreground().latency.count() as f64;
    commits / (recording.elapsed_ns().max(1) as f64 / 1e9)
}

fn processor_ns(row: &::measure::run::Row) -> Option<f64> {
    Some(row.processors().cpu_us_per_commit? * 1e3)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn is_of(cell: &MeasuredCell, row: (u32, u32)) -> bool {
    (cell.cell.jobs, cell.cell.redo_bytes) == row
}

/// Each cell without a device: what it is, which row of its runs it is, and these.
fn null_cells(null: &[[Run; 2]]) -> impl Iterator<Item = (CalibrationCell, usize, &[Run; 2])> {
    let with_runs = Cells::without_a_device().into_iter().zip(null);
    with_runs.flat_map(|((writer, cells), runs)| {
        let cell = move |(at, (jobs, redo_bytes)): (usize, (u32, u32))| {
            let log_writer = writer.to_string();
            let cell = CalibrationCell {
                log_writer,
                jobs,
                redo_bytes,
            };
            (cell, at, runs)
        };
        cells.rows.into_iter().enumerate().map(cell)
    })
}

fn both(runs: &[Run; 2], at: usize) -> Option<[CellFigures; 2]> {
    Some([figures(&runs[0], at)?, figures(&runs[1], at)?])
}
