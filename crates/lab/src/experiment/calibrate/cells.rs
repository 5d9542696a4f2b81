//! Which cells are measured, and what came of them.

use super::super::plan::LogPlan;
use super::super::row::Spec;
use super::CalibrationPlan;
use ::measure::Histogram;
use ::measure::run::{Row, Run};
use ::measure::workload::Workload;
use ::measure::{WaitEvent, words};
use analysis::calibration::{CalibrationCell, CellFigures, FittedCell, differ_pct, repeats};
use analysis::compare::live::{LiveSide, Round};
use analysis::stats::random::Random;
use redo::LogWriter;

/// Log writers of every row.
pub(super) const LOG_WRITERS: [LogWriter; 3] =
    [LogWriter::Inline, LogWriter::Lgwr, LogWriter::Auto];
/// A row ends early when it has written so much.
const ROW_BYTES: u64 = 256 << 20;
/// Jobs and redo that judging cells are drawn from; the last two jobs are beyond what is fitted.
const JOBS: [u32; 11] = [2, 3, 6, 8, 12, 24, 32, 48, 64, 128, 256];
const REDO: [u32; 6] = [1997, 4096, 8192, 26_931, 65_536, 126_976];
/// Rows that are drawn.
const DRAWN: usize = 5;
/// Those of them that may be beyond.
const DRAWN_BEYOND: usize = 1;

/// Rows of jobs and redo, each with every log writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cells {
    pub(super) rows: Vec<(u32, u32)>,
}

impl Cells {
    /// What a model is fitted to.
    pub(super) fn fitted() -> Cells {
        let rows = vec![
            (1, 1997),
            (4, 1997),
            (16, 1997),
            (64, 1997),
            (16, 26_931),
            (1, 126_976),
        ];
        Cells { rows }
    }

    /// What it is judged by: drawn, none of them fitted, none twice.
    pub(super) fn drawn(seed: u64) -> Cells {
        let fitted = Cells::fitted();
        let (most, mut random) = (fitted.jobs()[1], Random::new(seed));
        let mut rows: Vec<(u32, u32)> = Vec::new();
        while rows.len() < DRAWN {
            let jobs = JOBS[random.below(JOBS.len())];
            let redo = REDO[random.below(REDO.len())];
            let beyond = rows.iter().filter(|(jobs, _)| *jobs > most).count();
            let is_known = [&rows, &fitted.rows]
                .iter()
                .any(|known| known.contains(&(jobs, redo)));
            if !is_known && (jobs <= most || beyond < DRAWN_BEYOND) {
                rows.push((jobs, redo));
            }
        }
        Cells { rows }
    }

    /// Cells without a device: what they take is the processor's.
    pub(super) fn without_a_device() -> [(LogWriter, Cells); 2] {
        let of = |rows: &[(u32, u32)]| Cells {
            rows: rows.to_vec(),
        };
        [
            (LogWriter::Inline, of(&[(1, 1997), (8, 1997)])),
            (LogWriter::Lgwr, of(&[(8, 1997), (64, 1997)])),
        ]
    }

    pub(super) fn jobs(&self) -> [u32; 2] {
        ends(self.rows.iter().map(|(jobs, _)| *jobs))
    }

    pub(super) fn redo_bytes(&self) -> [u32; 2] {
        ends(self.rows.iter().map(|(_, redo)| *redo))
    }

    /// Its rows as they are run.
    pub(super) fn specs(&self, plan: &CalibrationPlan) -> Vec<Spec> {
        let spec = |(jobs, redo): &(u32, u32)| Spec {
            max_redo_bytes: ROW_BYTES,
            ..Spec::closed(workload(*redo), *jobs, plan.time, plan.warmup)
        };
        self.rows.iter().map(spec).collect()
    }

    /// The log of each log writer, by its name.
    pub(super) fn logs(&self, usual: &LogPlan) -> Vec<(String, LogPlan)> {
        let log = |writer: LogWriter| (writer.to_string(), of_writer(usual, writer));
        LOG_WRITERS.map(log).to_vec()
    }
}

/// The log of `usual` with that log writer.
pub(super) fn of_writer(usual: &LogPlan, log_writer: LogWriter) -> LogPlan {
    LogPlan {
        log_writer,
        log_file_sync: log_writer.usual_log_file_sync(),
        ..usual.clone()
    }
}

/// A closed loop of commits of that much redo, in one record.
pub(super) fn workload(redo_bytes: u32) -> Workload {
    let standard = Workload::standard();
    let named = standard.iter().find(|w| w.redo_bytes == redo_bytes);
    named.cloned().unwrap_or_else(|| Workload {
        name: format!("LAT-{redo_bytes}"),
        redo_bytes,
        ..standard[0].clone()
    })
}

fn ends(values: impl Iterator<Item = u32> + Clone) -> [u32; 2] {
    let least = values.clone().min().unwrap_or_default();
    [least, values.max().unwrap_or_default()]
}

/// A cell, measured twice.
#[derive(Clone, Debug)]
pub(super) struct MeasuredCell {
    pub(super) cell: CalibrationCell,
    pub(super) runs: [CellFigures; 2],
    pub(super) sync: [Histogram; 2],
    pub(super) rows: [Row; 2],
    pub(super) log_write: Histogram,
}

impl MeasuredCell {
    pub(super) fn of(
        cell: CalibrationCell,
        rows: [Row; 2],
        sync: [Histogram; 2],
        log_write: Histogram,
    ) -> MeasuredCell {
        MeasuredCell {
            runs: [0, 1].map(|i| CellFigures::of(per_s(&rows[i]), &sync[i])),
            cell,
            sync,
            rows,
            log_write,
        }
    }
}

/// Cells that were measured, and where.
#[derive(Clone, Debug)]
pub(super) struct MeasuredCells {
    pub(super) cells: Vec<MeasuredCell>,
    /// Names of the runs in the store.
    pub(super) runs: Vec<String>,
    /// Bytes to which the log padded its writes.
    pub(super) seal_bytes: u32,
}

impl MeasuredCells {
    /// Of the rounds of each log writer.
    pub(super) fn of(cells: &Cells, sides: &[LiveSide]) -> MeasuredCells {
        let mut out = MeasuredCells {
            cells: Vec::new(),
            runs: Vec::new(),
            seal_bytes: 4096,
        };
        for side in sides {
            let [a, b] = side.rounds.as_slice() else {
                continue;
            };
            out.runs
                .extend([a, b].map(|round| round.run.run_id.clone()));
            if let Some(log) = a.run.target.redo_log() {
                out.seal_bytes = log.seal_bytes;
            }
            let names = cells.rows.iter().enumerate();
            out.cells
                .extend(names.filter_map(|(at, (jobs, redo_bytes))| {
                    let cell = CalibrationCell {
                        log_writer: side.name.clone(),
                        jobs: *jobs,
                        redo_bytes: *redo_bytes,
                    };
                    let rows = [a.run.rows.get(at)?.clone(), b.run.rows.get(at)?.clone()];
                    let of = |round: &Round, event: WaitEvent| {
                        let found = round.merged.get(at).and_then(|row| row.get(event.key()));
                        found.cloned().unwrap_or_default()
                    };
                    let sync = [a, b].map(|round| of(round, WaitEvent::LogFileSync));
                    let mut log_write = of(a, WaitEvent::LogFileParallelWrite);
                    log_write.merge(&of(b, WaitEvent::LogFileParallelWrite));
                    Some(MeasuredCell::of(cell, rows, sync, log_write))
                }));
        }
        out
    }

    /// The rows of cells whose runs differ too much.
    pub(super) fn unsteady(&self) -> Cells {
        let unsteady = self.cells.iter().filter(|cell| !repeats(cell.runs));
        let mut rows: Vec<(u32, u32)> = unsteady
            .map(|of| (of.cell.jobs, of.cell.redo_bytes))
            .collect();
        rows.sort_unstable();
        rows.dedup();
        Cells { rows }
    }

    /// Cells that were measured again, in the place of those that did not repeat.
    pub(super) fn replace(&mut self, again: MeasuredCells) {
        self.runs.extend(again.runs);
        for cell in again.cells {
            let same = |of: &&mut MeasuredCell| of.cell == cell.cell && !repeats(of.runs);
            if let Some(of) = self.cells.iter_mut().find(same) {
                *of = cell;
            }
        }
    }

    /// Why no model is fitted to them; `None` where all repeat.
    pub(super) fn refusal(&self) -> Option<String> {
        let unsteady: Vec<&MeasuredCell> = self
            .cells
            .iter()
            .filter(|cell| !repeats(cell.runs))
            .collect();
        let worst = unsteady
            .iter()
            .max_by(|a, b| differ_pct(a.runs).total_cmp(&differ_pct(b.runs)))?;
        let (of, [a, b]) = (&worst.cell, worst.runs.map(|run| run.per_s.round() as u64));
        Some(format!(
            "two runs of {} of {} cells differ by more than {} % also when they are repeated; most \
             {} with {}: {} and {} commits/s. What does not repeat cannot be predicted: stop other \
             work on this machine and its device, or measure longer (--time)",
            unsteady.len(),
            self.cells.len(),
            analysis::calibration::REPEATS_PCT,
            of.log_writer,
            words::jobs(of.jobs),
            words::count(a),
            words::count(b),
        ))
    }

    /// The cells without a model.
    pub(super) fn as_they_are(&self) -> Vec<FittedCell> {
        let cells = self.cells.iter().map(|of| FittedCell {
            cell: of.cell.clone(),
            null_device: false,
            runs: of.runs,
            simulated: None,
        });
        cells.collect()
    }

    /// The cell with that log writer and row.
    pub(super) fn cell(&self, of: &CalibrationCell) -> Option<&MeasuredCell> {
        self.cells.iter().find(|cell| cell.cell == *of)
    }
}

/// Commits per second of a row.
pub(super) fn per_s(row: &Row) -> f64 {
    row.commit_throughput_tps.unwrap_or(f64::NAN)
}

/// Figures of a row of a run without its histograms.
pub(super) fn figures(run: &Run, at: usize) -> Option<CellFigures> {
    let row = run.rows.get(at)?;
    let sync = row.wait(WaitEvent::LogFileSync)?;
    Some(CellFigures {
        per_s: per_s(row),
        mean_ns: sync.mean_ns,
        p50_ns: sync.p50_ns? as f64,
        p99_ns: sync.p99_ns? as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_judge_were_not_fitted_and_are_drawn_by_their_seed() {
        let fitted = Cells::fitted();
        for seed in 0..200 {
            let drawn = Cells::drawn(seed);
            assert_eq!(drawn, Cells::drawn(seed));
            let mut rows = drawn.rows.clone();
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), DRAWN, "{rows:?}");
            assert!(!rows.iter().any(|row| fitted.rows.contains(row)));
            let beyond = rows.iter().filter(|(jobs, _)| *jobs > 64).count();
            assert!(beyond <= DRAWN_BEYOND, "{rows:?}");
        }
        assert_ne!(Cells::drawn(1), Cells::drawn(2));
    }
}
