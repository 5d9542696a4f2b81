//! Fitting costs and a device to cells that were measured: the simulation is run with costs that
//! change, until its cells are those that were measured.
//!
//! Every run has the same seed, so that a difference is one of the costs and not of chance.

use crate::device_model::DeviceModel;
use crate::setup::{Costs, SimulationSetup};
use crate::world::{SimulationStopped, run};
use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead;

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

/// Processor time weighs less than commits: the system counts it by samples.
const PROCESSOR_WEIGHT: f64 = 0.3;
/// A cost is at most so many times more or less than at the beginning.
const FARTHEST: f64 = 20.0;

/// Fits to `cells`, beginning with `costs` and `device`, from so many other beginnings besides.
///
/// # Errors
/// A cell that cannot be simulated.
pub fn fit(
    cells: &[MeasuredCell],
    (costs, device): (Costs, &DeviceModel),
    starts: u32,
) -> Result<Fit, SimulationStopped> {
    let problem = Problem {
        cells,
        costs,
        device,
    };
    // What cannot be simulated at all is reported before.
    problem.error_at(&[0.0; DIMENSIONS])?;
    let mut best: Option<(Vec<f64>, f64)> = None;
    for start in 0..=starts {
        let begin = |axis: usize| match start {
            0 => 0.0,
            n => {
                if (n >> (axis % 4)) & 1 == 0 {
                    0.5
                } else {
                    -0.5
                }
            }
        };
        let center: Vec<f64> = (0..DIMENSIONS).map(begin).collect();
        let mut simplex = vec![center.clone()];
        for axis in 0..DIMENSIONS {
            let mut corner = center.clone();
            corner[axis] += 0.6;
            simplex.push(corner);
        }
        let solver = NelderMead::new(simplex).with_sd_tolerance(1e-4);
        let solver = solver.expect("the tolerance is positive");
        let executor = Executor::new(problem.clone(), solver);
        let Ok(done) = executor.configure(|state| state.max_iters(200)).run() else {
            continue;
        };
        let (Some(at), cost) = (done.state.best_param, done.state.best_cost) else {
            continue;
        };
        if best.as_ref().is_none_or(|(_, least)| cost < *least) {
            best = Some((at, cost));
        }
    }
    let (at, error) = best.unwrap_or((vec![0.0; DIMENSIONS], f64::INFINITY));
    let (costs, device) = problem.at(&at);
    Ok(Fit {
        costs,
        device,
        error,
    })
}

/// Logarithms of the factors of: work, turn, operation, waking, switching, idle, device,
/// contention.
const DIMENSIONS: usize = 8;

#[derive(Clone)]
struct Problem<'a> {
    cells: &'a [MeasuredCell],
    costs: Costs,
    device: &'a DeviceModel,
}

impl Problem<'_> {
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
            ..self.costs
        };
        (costs, self.device.scaled(factor(6)))
    }

    fn error_at(&self, factors: &[f64]) -> Result<f64, SimulationStopped> {
        let (costs, device) = self.at(factors);
        let (mut sum, mut weights) = (0.0, 0.0);
        for cell in self.cells {
            let mut setup = cell.setup.clone();
            setup.costs = costs;
            if !setup.device.is_nothing() {
                setup.device = device.clone();
            }
            let outcome = run(&setup)?;
            let commits = outcome.recording.foreground().latency.count().max(1) as f64;
            let seconds = outcome.recording.elapsed_ns() as f64 / 1e9;
            let off = (commits / seconds / cell.per_s).ln();
            sum += off * off;
            weights += 1.0;
            if let Some(ns) = cell.processor_ns {
                let off = (outcome.processor_ns_per_commit() / ns).ln();
                sum += PROCESSOR_WEIGHT * off * off;
                weights += PROCESSOR_WEIGHT;
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
