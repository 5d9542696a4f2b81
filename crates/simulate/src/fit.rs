//! Fitting costs and a device to cells that were measured: the simulation is run with costs that
//! change, until its cells are those that were measured.
//!
//! Every run has the same seed, so that a difference is one of the costs and not of chance.

use crate::device_model::DeviceModel;
use crate::setup::{Costs, SimulationSetup};
use crate::world::{SimulationStopped, run_while};
use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead;
use std::thread;

/// A cell that was measured.
#[derive(Clone, Debug)]
pub struct MeasuredCell {
    /// How it was measured; its costs and its device are those that are fitted, but for a device
    /// that takes no time, which stays.
    pub setup: SimulationSetup,
    /// Commits per second.
    pub per_s: f64,
    /// Processor time per commit, nanoseconds; `None` where it was not measured.
    pub processor_ns: Option<f64>,
    /// Median of log file sync, nanoseconds; `None` where it was not measured.
    pub sync_p50_ns: Option<f64>,
}

/// What was fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Costs of the processors.
    pub costs: Costs,
    /// The device.
    pub device: DeviceModel,
    /// Root mean square of the errors of the logarithms.
    pub error: f64,
}

/// How hard a fit looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FitEffort {
    /// Beginnings beside the one that is given.
    pub starts: u32,
    /// Steps from each.
    pub steps: u64,
    /// Commits of a cell that are simulated for each guess.
    pub commits: u64,
}

/// Processor time weighs less than commits: the system counts it by samples.
const PROCESSOR_WEIGHT: f64 = 0.3;
/// So does the median: it follows from the commits, but for how sessions share them.
const MEDIAN_WEIGHT: f64 = 0.3;
/// A cost is at most so many times more or less than at the beginning.
const FARTHEST: f64 = 20.0;
/// Of the commits of a cell, those before that do not count.
const WARM_PART: f64 = 0.1;

/// Whether a fit goes on; asked by each of its threads.
pub type GoesOn<'a> = &'a (dyn Fn() -> bool + Sync);

/// Fits to `cells`, beginning with `costs` and `device`, and from other beginnings besides. Each
/// beginning has a thread; the result does not depend on which of them ends first.
///
/// # Errors
/// A cell that cannot be simulated.
pub fn fit(
    cells: &[MeasuredCell],
    (costs, device): (Costs, &DeviceModel),
    effort: FitEffort,
    goes_on: GoesOn<'_>,
) -> Result<Fit, SimulationStopped> {
    let problem = Problem {
        cells,
        costs,
        device,
        commits: effort.commits,
        goes_on,
    };
    // What cannot be simulated at all is reported before.
    let as_given = (vec![0.0; DIMENSIONS], problem.error_at(&[0.0; DIMENSIONS])?);
    let found: Vec<(Vec<f64>, f64)> = thread::scope(|scope| {
        let problem = &problem;
        let searches: Vec<_> = (0..=effort.starts)
            .map(|start| scope.spawn(move || problem.search(start, effort.steps)))
            .collect();
        let ended = searches.into_iter().filter_map(|search| search.join().ok());
        ended.flatten().collect()
    });
    if !goes_on() {
        return Err(SimulationStopped::Interrupted);
    }
    let better = |best: (Vec<f64>, f64), other: (Vec<f64>, f64)| match other.1 < best.1 {
        true => other,
        false => best,
    };
    let (at, error) = found.into_iter().fold(as_given, better);
    let (costs, device) = problem.at(&at);
    Ok(Fit {
        costs,
        device,
        error,
    })
}

/// Logarithms of the factors of: work, turn, operation, waking, switching, idle, device,
/// contention, copying.
const DIMENSIONS: usize = 9;

#[derive(Clone)]
struct Problem<'a> {
    cells: &'a [MeasuredCell],
    costs: Costs,
    device: &'a DeviceModel,
    commits: u64,
    goes_on: GoesOn<'a>,
}

impl Problem<'_> {
    /// The best that is found from a beginning; `None` where a guess cannot be simulated.
    fn search(&self, start: u32, steps: u64) -> Option<(Vec<f64>, f64)> {
        let begin = |axis: usize| match start {
            0 => 0.0,
            n if (n >> (axis % 4)) & 1 == 0 => 0.5,
            _ => -0.5,
        };
        let center: Vec<f64> = (0..DIMENSIONS).map(begin).collect();
        let mut simplex = vec![center.clone()];
        for axis in 0..DIMENSIONS {
            let mut corner = center.clone();
            corner[axis] += 0.6;
            simplex.push(corner);
        }
        let solver = NelderMead::new(simplex).with_sd_tolerance(1e-4).ok()?;
        let executor = Executor::new(self.clone(), solver);
        let done = executor.configure(|state| state.max_iters(steps)).run();
        let state = done.ok()?.state;
        Some((state.best_param?, state.best_cost))
    }

    fn at(&self, factors: &[f64]) -> (Costs, DeviceModel) {
        let factor = |axis: usize| factors[axis].exp().clamp(1.0 / FARTHEST, FARTHEST);
        let times = |ns: u64, axis: usize| (ns as f64 * factor(axis)) as u64;
        let costs = Costs {
            work_ns: times(self.costs.work_ns, 0),
            turn_ns: times(self.costs.turn_ns, 1),
            io_ns: times(self.costs.io_ns, 2),
            wake_ns: times(self.costs.wake_ns, 3),
            switch_ns: times(self.costs.switch_ns, 4),
            idle_ns: times(self.costs.idle_ns, 5),
            contention: self.costs.contention * factor(7),
            copy_ns_per_kb: times(self.costs.copy_ns_per_kb, 8),
            ..self.costs
        };
        (costs, self.device.scaled(factor(6)))
    }

    fn error_at(&self, factors: &[f64]) -> Result<f64, SimulationStopped> {
        let (costs, device) = self.at(factors);
        let (mut sum, mut weights) = (0.0, 0.0);
        let mut add = |simulated: f64, measured: f64, weight: f64| {
            let off = (simulated / measured).ln();
            sum += weight * off * off;
            weights += weight;
        };
        for cell in self.cells {
            let mut setup = cell.setup.clone();
            setup.costs = costs;
            if !setup.device.is_nothing() {
                setup.device = device.clone();
            }
            let lasts_ns = self.commits as f64 / cell.per_s * 1e9;
            setup.warmup_ns = (lasts_ns * WARM_PART) as u64;
            // A guess that is far too slow does not have to be known exactly.
            setup.time_ns = (lasts_ns * 4.0) as u64;
            setup.commits = Some(self.commits);
            let outcome = run_while(&setup, self.goes_on)?;
            let of = outcome.recording.foreground();
            let seconds = outcome.recording.elapsed_ns() as f64 / 1e9;
            let commits = of.latency.count().max(1) as f64;
            add(commits / seconds, cell.per_s, 1.0);
            if let Some(ns) = cell.processor_ns {
                add(outcome.processor_ns_per_commit(), ns, PROCESSOR_WEIGHT);
            }
            if let Some(ns) = cell.sync_p50_ns {
                let median = of.sync.quantile_raw(0.5).max(1);
                add(median as f64, ns, MEDIAN_WEIGHT);
            }
        }
        Ok((sum / weights).sqrt())
    }
}

impl CostFunction for Problem<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, factors: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.error_at(factors)?)
    }
}
