//! Block bootstrap of a series: how far would the figure move, had the same process been watched
//! again?
//!
//! Values in sequence are drawn in blocks, so that what is autocorrelated stays so. Moving blocks
//! (Künsch 1989) are circular here (Politis and Romano 1992): every value is drawn equally often.
//! The stationary bootstrap (Politis and Romano 1994) draws geometric lengths.
//!
//! Intervals are the estimate ± t standard errors, with the bootstrap's standard error times
//! √(k/(k − 1)) and k − 1 degrees of freedom for the k blocks that the series holds: percentile
//! intervals of few blocks are too short, because draws from k blocks vary by (k − 1)/k too little.
//! What blocks cut off of the autocorrelation is made up for ([`super::autocorrelation`]). How
//! often intervals hold is simulated in `tests/stats_simulation.rs`.

use super::random::Random;
use super::tails::t_critical;
use super::{Estimate, StatsRefusal, autocorrelation, checked, checked_level};

/// How blocks are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// All of one length.
    Moving,
    /// Of geometric length around a mean.
    Stationary,
}

/// How a bootstrap is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootstrapPlan {
    /// How blocks are drawn.
    pub scheme: Scheme,
    /// How often the sample is drawn anew.
    pub resamples: u32,
    /// Confidence of intervals.
    pub level: f64,
    /// Seed.
    pub seed: u64,
    /// Length of blocks; from the measured autocorrelation where it is `None`.
    pub block: Option<f64>,
}

impl Default for BootstrapPlan {
    fn default() -> BootstrapPlan {
        BootstrapPlan {
            scheme: Scheme::Moving,
            resamples: 1000,
            level: 0.95,
            seed: 1,
            block: None,
        }
    }
}

impl BootstrapPlan {
    pub(super) fn check(&self) -> Result<(), StatsRefusal> {
        checked_level(self.level)?;
        if self.resamples < 20 {
            return Err(StatsRefusal::Parameter(
                "a bootstrap takes 20 resamples at least",
            ));
        }
        match self.block {
            Some(b) if !(b.is_finite() && b >= 1.0) => {
                Err(StatsRefusal::Parameter("a block holds one value at least"))
            }
            _ => Ok(()),
        }
    }
}

/// An estimate with the bootstrap's error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrapped {
    /// Estimate and interval.
    pub estimate: Estimate,
    /// Standard error.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Length of blocks, of the first sample.
    pub block: f64,
}

/// Draws positions in a series of `n`, block by block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawer {
    pub(super) n: usize,
    pub(super) block: f64,
    pub(super) scheme: Scheme,
}

impl Drawer {
    /// Calls `visit` with `n` positions.
    pub(super) fn draw(&self, random: &mut Random, mut visit: impl FnMut(usize)) {
        let length = self.block.round().max(1.0) as usize;
        let (mut at, mut left) = (0, 0);
        for _ in 0..self.n {
            let anew = match self.scheme {
                Scheme::Moving => left == 0,
                Scheme::Stationary => left == 0 || random.uniform() * self.block < 1.0,
            };
            if anew {
                (at, left) = (random.below(self.n), length);
            }
            visit(at);
            at = if at + 1 == self.n { 0 } else { at + 1 };
            if self.scheme == Scheme::Moving {
                left -= 1;
            }
        }
    }
}

/// Blocks that `n` values make, and the degrees of freedom that they leave.
pub(super) fn freedom(n: usize, block: f64) -> (f64, f64) {
    let blocks = (n as f64 / block).max(2.0);
    (blocks, blocks - 1.0)
}

/// Any figure of a series. `statistic` may reorder what it is given.
///
/// # Errors
/// Fewer than four values, one that is not finite, all equal, a plan that cannot be.
pub fn one_sample(
    values: &[f64],
    statistic: &mut dyn FnMut(&mut [f64]) -> f64,
    plan: &BootstrapPlan,
) -> Result<Bootstrapped, StatsRefusal> {
    let replicates = replicate(values, statistic, plan, plan.seed)?;
    let (se, df) = (replicates.se, replicates.df);
    Ok(finish(replicates.estimate, se, df, replicates.block, plan))
}

/// Quantile of type 7 by selection; `values` are reordered. 0 where there are none.
pub fn quantile(values: &mut [f64], q: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let h = (values.len() - 1) as f64 * q.clamp(0.0, 1.0);
    let rank = h.floor() as usize;
    let (_, at, above) = values.select_nth_unstable_by(rank, f64::total_cmp);
    let at = *at;
    let next = above.iter().copied().min_by(f64::total_cmp).unwrap_or(at);
    let part = h - rank as f64;
    if part == 0.0 {
        at
    } else {
        at + (next - at) * part
    }
}

/// Standard error and degrees of freedom of a difference, by Welch and Satterthwaite.
pub(super) fn combine(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let (va, vb) = (a.0 * a.0, b.0 * b.0);
    let total = va + vb;
    if total == 0.0 {
        return (0.0, a.1 + b.1);
    }
    let (ra, rb) = (va / total, vb / total);
    (total.sqrt(), 1.0 / (ra * ra / a.1 + rb * rb / b.1))
}

struct Replicates {
    estimate: f64,
    se: f64,
    df: f64,
    block: f64,
}

fn replicate(
    values: &[f64],
    statistic: &mut dyn FnMut(&mut [f64]) -> f64,
    plan: &BootstrapPlan,
    seed: u64,
) -> Result<Replicates, StatsRefusal> {
    plan.check()?;
    checked(values, 4)?;
    let block = match plan.block {
        Some(b) => b.min(values.len() as f64),
        None => {
            let found = autocorrelation::block_length(values)?;
            match plan.scheme {
                Scheme::Moving => found.circular.ceil(),
                Scheme::Stationary => found.stationary,
            }
        }
    };
    let drawer = Drawer {
        n: values.len(),
        block,
        scheme: plan.scheme,
    };
    let mut random = Random::new(seed);
    let mut drawn = values.to_vec();
    let estimate = statistic(&mut drawn);
    let mut spread = Spread::default();
    for _ in 0..plan.resamples {
        drawn.clear();
        drawer.draw(&mut random, |at| drawn.push(values[at]));
        spread.add(statistic(&mut drawn) - estimate);
    }
    let missed = autocorrelation::missed(values, block);
    let (blocks, df) = freedom(values.len(), block.max(missed.values_per_independent));
    let se = spread.sd() * missed.factor * (blocks / (blocks - 1.0)).sqrt();
    Ok(Replicates {
        estimate,
        se,
        df,
        block,
    })
}

fn finish(value: f64, se: f64, df: f64, block: f64, plan: &BootstrapPlan) -> Bootstrapped {
    let half = t_critical(plan.level, df) * se;
    Bootstrapped {
        estimate: Estimate {
            value,
            low: value - half,
            high: value + half,
            level: plan.level,
        },
        se,
        df,
        block,
    }
}

/// Standard deviation as values come (Welford 1962).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    n: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    pub(super) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.n += 1.0;
        let d = value - self.mean;
        self.mean += d / self.n;
        self.squares += d * (value - self.mean);
    }

    pub(super) fn sd(&self) -> f64 {
        if self.n < 2.0 {
            return 0.0;
        }
        (self.squares / (self.n - 1.0)).max(0.0).sqrt()
    }

    pub(super) fn n(&self) -> f64 {
        self.n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ninth_decile(values: &[f64], plan: &BootstrapPlan) -> Result<Bootstrapped, StatsRefusal> {
        one_sample(values, &mut |values| quantile(values, 0.9), plan)
    }

    #[test]
    fn a_seed_gives_the_same_interval() {
        let a: Vec<f64> = (0..200).map(|i| f64::from(i * 37 % 101)).collect();
        let plan = BootstrapPlan::default();
        let first = ninth_decile(&a, &plan).expect("valid");
        assert_eq!(first, ninth_decile(&a, &plan).expect("valid"));
        let other = BootstrapPlan { seed: 2, ..plan };
        assert_ne!(first, ninth_decile(&a, &other).expect("valid"));
        assert!(first.estimate.low < first.estimate.high);
    }

    #[test]
    fn bad_input_is_refused() {
        let plan = BootstrapPlan::default();
        let good = [1.0, 5.0, 2.0, 4.0, 3.0];
        assert!(ninth_decile(&[], &plan).is_err());
        assert!(ninth_decile(&[1.0; 9], &plan).is_err());
        let bad = BootstrapPlan {
            block: Some(0.0),
            ..plan
        };
        assert!(ninth_decile(&good, &bad).is_err());
        let few = BootstrapPlan {
            resamples: 1,
            ..plan
        };
        assert!(ninth_decile(&good, &few).is_err());
        assert_eq!(quantile(&mut [], 0.5), 0.0);
    }
}
