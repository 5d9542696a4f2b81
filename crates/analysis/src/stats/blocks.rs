//! Block bootstrap of interval histograms: how stored runs without events are compared.
//!
//! A run's intervals (seconds, or stretches of consecutive events) are drawn whole, in blocks of
//! consecutive ones whose length follows from the measured autocorrelation; the histograms drawn
//! are added, and each figure is computed from the sum. So percentiles are never averaged, what
//! happens within an interval stays together, and neighbours stay neighbours.
//!
//! The autocorrelation that matters is that of a figure's influence on each interval: for the mean
//! the excess of the interval's sum, for a quantile the excess of its values beyond the quantile.
//! Ratios of two runs are compared as logarithms, with a Student interval as in
//! [`super::bootstrap`]; p-value and interval come from the same standard error, so that they
//! never contradict each other.

use super::bootstrap::{BootstrapPlan, Drawer, Spread, combine, freedom};
use super::parts::Part;
use super::random::Random;
use super::tails::{PValue, t_critical, t_two_sided};
use super::{StatsRefusal, autocorrelation, power};

pub use super::parts::Blocks;

/// Parts below which nothing can be said of their variation.
const PARTS_MIN: usize = 4;

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// Sum over number (or seconds).
    Mean,
    /// A quantile, 0 to 1.
    Quantile(f64),
    /// Share of values over a bound, 0 to 1.
    ShareOver(u64),
}

/// A figure with its bootstrap error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockFigure {
    /// The figure.
    pub value: f64,
    /// Standard error of its logarithm; `None` where the figure is not positive in every draw.
    pub se_ln: Option<f64>,
    /// Degrees of freedom: blocks less one.
    pub df: f64,
    /// Length of blocks, in intervals.
    pub block: f64,
}

/// Dense form: buckets in common, for adding draws quickly.
struct Grid {
    buckets: Vec<u64>,
    parts: Vec<Vec<(u32, u64)>>,
}

impl Grid {
    fn of(parts: &[Part]) -> Grid {
        let mut buckets: Vec<u64> = parts
            .iter()
            .flat_map(|p| p.counts.iter().map(|c| c.0))
            .collect();
        buckets.sort_unstable();
        buckets.dedup();
        let place = |b: u64| buckets.binary_search(&b).unwrap_or(0) as u32;
        let parts = parts
            .iter()
            .map(|p| p.counts.iter().map(|(b, c)| (place(*b), *c)).collect())
            .collect();
        Grid { buckets, parts }
    }
}

/// Figures of one run's intervals with their errors, in the order of `statistics`.
///
/// # Errors
/// Fewer than four intervals, or a plan that cannot be. What one figure lacks is in that figure.
pub fn figures(
    blocks: &Blocks,
    statistics: &[Statistic],
    plan: &BootstrapPlan,
) -> Result<Vec<BlockFigure>, StatsRefusal> {
    plan.check()?;
    let parts = &blocks.parts;
    if parts.len() < PARTS_MIN {
        let (needed, found) = (PARTS_MIN, parts.len());
        return Err(StatsRefusal::TooFew { needed, found });
    }
    let grid = Grid::of(parts);
    let mut sum = Sum::new(&grid);
    for (i, part) in parts.iter().enumerate() {
        sum.add(part, &grid.parts[i]);
    }
    let values: Vec<Option<f64>> = statistics.iter().map(|s| sum.figure(&grid, *s)).collect();
    let block = plan
        .block
        .unwrap_or_else(|| longest_block(parts, &grid, statistics, &values));
    let block = block.clamp(1.0, parts.len() as f64 / 2.0);
    let drawer = Drawer {
        n: parts.len(),
        block,
        scheme: plan.scheme,
    };
    let mut random = Random::new(plan.seed);
    let mut spreads = vec![Spread::default(); statistics.len()];
    for _ in 0..plan.resamples {
        sum.clear();
        drawer.draw(&mut random, |i| sum.add(&parts[i], &grid.parts[i]));
        for (spread, statistic) in spreads.iter_mut().zip(statistics) {
            let figure = sum.figure(&grid, *statistic).filter(|v| *v > 0.0);
            if let Some(figure) = figure {
                spread.add(figure.ln());
            }
        }
    }
    let told = |((value, spread), statistic): ((&Option<f64>, &Spread), &Statistic)| {
        let influence = value.map(|v| influence(parts, &grid, *statistic, v));
        let missed = autocorrelation::missed(influence.as_deref().unwrap_or_default(), block);
        let (count, df) = freedom(parts.len(), block.max(missed.values_per_independent));
        let scale = missed.factor * (count / (count - 1.0)).sqrt();
        let every = spread.n() == f64::from(plan.resamples) && value.is_some_and(|v| v > 0.0);
        BlockFigure {
            value: value.unwrap_or(f64::NAN),
            se_ln: every.then(|| (spread.sd() * scale).hypot(resolution(*statistic))),
            df,
            block,
        }
    };
    Ok(values
        .iter()
        .zip(&spreads)
        .zip(statistics)
        .map(told)
        .collect())
}

/// Standard error that a bucket's width adds to the logarithm of a quantile: a value is anywhere
/// in a bucket of relative width 2^-10 at most.
fn resolution(statistic: Statistic) -> f64 {
    match statistic {
        Statistic::Quantile(_) => 1.0 / 1024.0 / 12_f64.sqrt(),
        _ => 0.0,
    }
}

/// The longest of the lengths that the figures' influences ask for.
fn longest_block(
    parts: &[Part],
    grid: &Grid,
    statistics: &[Statistic],
    values: &[Option<f64>],
) -> f64 {
    let mut longest = 1.0_f64;
    for (statistic, value) in statistics.iter().zip(values) {
        let Some(value) = value else { continue };
        let influence = influence(parts, grid, *statistic, *value);
        if let Ok(length) = autocorrelation::block_length(&influence) {
            longest = longest.max(length.circular.ceil());
        }
    }
    longest
}

/// By how much each interval pulls a figure of `value`, up to a factor.
fn influence(parts: &[Part], grid: &Grid, statistic: Statistic, value: f64) -> Vec<f64> {
    let over = |i: usize, bound: u64| -> f64 {
        let counts = grid.parts.get(i).map(Vec::as_slice).unwrap_or_default();
        let above = counts
            .iter()
            .filter(|(b, _)| grid.buckets.get(*b as usize).is_some_and(|v| *v > bound));
        above.map(|(_, c)| *c as f64).sum()
    };
    let each = parts.iter().enumerate().map(|(i, part)| match statistic {
        Statistic::Mean => part.sum - value * part.weight,
        Statistic::Quantile(q) => over(i, value as u64) - (1.0 - q) * part.weight,
        Statistic::ShareOver(bound) => over(i, bound) - value * part.weight,
    });
    each.collect()
}

/// The intervals drawn so far, added.
struct Sum {
    weight: f64,
    sum: f64,
    counts: Vec<u64>,
}

impl Sum {
    fn new(grid: &Grid) -> Sum {
        Sum {
            weight: 0.0,
            sum: 0.0,
            counts: vec![0; grid.buckets.len()],
        }
    }

    fn clear(&mut self) {
        (self.weight, self.sum) = (0.0, 0.0);
        self.counts.fill(0);
    }

    fn add(&mut self, part: &Part, counts: &[(u32, u64)]) {
        self.weight += part.weight;
        self.sum += part.sum;
        for (bucket, count) in counts {
            // Buckets are the grid's own, so each is in range.
            if let Some(slot) = self.counts.get_mut(*bucket as usize) {
                *slot += count;
            }
        }
    }

    fn figure(&self, grid: &Grid, statistic: Statistic) -> Option<f64> {
        match statistic {
            Statistic::Mean => (self.weight > 0.0).then(|| self.sum / self.weight),
            Statistic::Quantile(q) => {
                let n: u64 = self.counts.iter().sum();
                let rank = (q.clamp(0.0, 1.0) * n as f64).ceil().max(1.0) as u64;
                let mut seen = 0;
                let at = self.counts.iter().position(|c| {
                    seen += c;
                    seen >= rank
                })?;
                grid.buckets.get(at).map(|b| *b as f64)
            }
            Statistic::ShareOver(bound) => {
                let n: u64 = self.counts.iter().sum();
                let above = grid.buckets.partition_point(|b| *b <= bound);
                let over: u64 = self.counts.get(above..)?.iter().sum();
                (n > 0).then(|| over as f64 / n as f64)
            }
        }
    }
}

/// The ratio of two figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Second over first, with its interval.
    pub ratio: super::Estimate,
    /// Two-sided, of the ratio being 1.
    pub p: PValue,
    /// Standard error of the ratio's logarithm.
    pub se_ln: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// The smallest ratio above 1 that this comparison finds with 80 % power at 1 − `level`.
    pub detectable: f64,
}

/// `b` over `a`.
///
/// # Errors
/// A figure that is not positive or has no error; no variation in either.
pub fn ratio(a: &BlockFigure, b: &BlockFigure, level: f64) -> Result<Ratio, StatsRefusal> {
    let none = StatsRefusal::Unsuitable("a ratio needs figures that are positive in every draw");
    let (Some(sa), Some(sb)) = (a.se_ln, b.se_ln) else {
        return Err(none);
    };
    let ln = (b.value / a.value).ln();
    if !ln.is_finite() {
        return Err(none);
    }
    let (se, df) = combine((sa, a.df), (sb, b.df));
    of_ln(ln, se, df, level)
}

/// Half the width of Student's interval of a mean with that standard error; `level` lies between 0
/// and 1.
pub(crate) fn t_half_width(error: f64, df: f64, level: f64) -> f64 {
    t_critical(level, df) * error
}

/// From the logarithm of a ratio and its standard error.
///
/// # Errors
/// No variation, or a confidence that cannot be.
pub fn of_ln(ln: f64, se: f64, df: f64, level: f64) -> Result<Ratio, StatsRefusal> {
    super::checked_level(level)?;
    if se == 0.0 {
        return Err(StatsRefusal::Constant);
    }
    let half = t_critical(level, df) * se;
    Ok(Ratio {
        ratio: super::Estimate {
            value: ln.exp(),
            low: (ln - half).exp(),
            high: (ln + half).exp(),
            level,
        },
        p: t_two_sided(ln / se, df),
        se_ln: se,
        df,
        detectable: power::detectable(se, df, 1.0 - level, 0.8)?.exp(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::parts::PARTS_MAX;
    use super::*;
    use measure::Histogram;

    fn interval(seed: u64, n: u64) -> Histogram {
        let mut h = Histogram::new();
        let mut r = Random::new(seed);
        for _ in 0..n {
            h.record((400_000.0 * (0.3 * r.normal()).exp()) as u64);
        }
        h
    }

    #[test]
    fn long_runs_are_joined_and_lose_nothing() {
        let mut blocks = Blocks::new();
        let mut whole = Histogram::new();
        for i in 0..2001 {
            let h = interval(i, 5);
            whole.merge(&h);
            blocks.push(&h);
        }
        assert!(blocks.len() <= 2 * PARTS_MAX && blocks.len() > PARTS_MAX / 2);
        let n: u64 = blocks
            .parts
            .iter()
            .flat_map(|p| p.counts.iter().map(|c| c.1))
            .sum();
        assert_eq!(n, whole.count());
        let sum: f64 = blocks.parts.iter().map(|p| p.sum).sum();
        assert_eq!(sum, whole.sum() as f64);
        assert!(
            blocks
                .parts
                .iter()
                .all(|p| p.counts.is_sorted_by(|a, b| a.0 < b.0))
        );
    }

    #[test]
    fn figures_are_those_of_the_merged_histogram() {
        let mut blocks = Blocks::new();
        let mut whole = Histogram::new();
        for i in 0..60 {
            let h = interval(i, 500);
            whole.merge(&h);
            blocks.push(&h);
        }
        let all = [
            Statistic::Mean,
            Statistic::Quantile(0.5),
            Statistic::Quantile(0.99),
            Statistic::ShareOver(600_000),
        ];
        let f = figures(&blocks, &all, &BootstrapPlan::default()).expect("sixty intervals");
        assert!((f[0].value - whole.mean()).abs() < 1e-6 * whole.mean());
        for (figure, q) in [(f[1], 0.5), (f[2], 0.99)] {
            let exact = whole.quantile_raw(q) as f64;
            assert!(
                (figure.value / exact - 1.0).abs() < 0.001,
                "{figure:?} {exact}"
            );
        }
        assert!(f.iter().all(|f| f.se_ln.is_some_and(|s| s > 0.0)));
        let r = ratio(&f[0], &f[0], 0.95).expect("they vary");
        assert_eq!((r.ratio.value, r.p.value()), (1.0, 1.0));
        assert!(r.ratio.low < 1.0 && r.ratio.high > 1.0 && r.detectable > 1.0);
    }

    #[test]
    fn too_few_intervals_and_constant_rates_are_refused() {
        let mut rates = Blocks::new();
        for _ in 0..3 {
            rates.push_rate(100.0, 1.0);
        }
        let plan = BootstrapPlan::default();
        let r = figures(&rates, &[Statistic::Mean], &plan);
        assert_eq!(
            r,
            Err(StatsRefusal::TooFew {
                needed: 4,
                found: 3
            })
        );
        rates.push_rate(100.0, 1.0);
        rates.push_rate(f64::NAN, 1.0);
        rates.push_rate(1.0, 0.0);
        assert_eq!(rates.len(), 4);
        let f = figures(&rates, &[Statistic::Mean, Statistic::Quantile(0.5)], &plan);
        let f = f.expect("four");
        assert_eq!(ratio(&f[0], &f[0], 0.95), Err(StatsRefusal::Constant));
        assert!(f[1].value.is_nan() && ratio(&f[1], &f[1], 0.95).is_err());
        assert!(Blocks::of_events(&[]).is_empty());
        assert_eq!(Blocks::of_events(&[7; 4_001]).len(), 364);
    }
}
