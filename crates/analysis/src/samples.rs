//! Samples of single waits, as study 004 has them: one sample, or two and their difference.
//!
//! Significance and size are separate figures. The t test and the Hodges-Lehmann interval treat
//! values as independent; the interval of the mean that allows for autocorrelation is beside them.

use crate::stats::bootstrap::BootstrapPlan;
use crate::stats::pooled::{self, PooledMean, PooledSample, PooledUnit};
use crate::stats::welch::Welch;
use crate::stats::{Counts, Estimate, Moments, StatsRefusal, Summary};
use crate::stats::{effect, shift, summary, welch};
use measure::comparison::Size;
use serde::Serialize;

/// Nanoseconds of the unit of all figures here.
const NS_PER_US: u64 = 1_000;
/// Columns of the density per factor of ten.
const PER_DECADE: f64 = 10.0;
/// Distinct values from which no shift is computed: the time grows with them.
const SHIFT_MAX: usize = 1_000_000;

/// A column of a density: the share of values in an interval of a logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DensityColumn {
    /// Lower end, in microseconds, included.
    pub from_us: f64,
    /// Upper end, in microseconds, excluded.
    pub to_us: f64,
    /// Share of the values, 0 to 1.
    pub share: f64,
}

/// What is known of one sample. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleFigures {
    /// The user's name of the sample.
    pub name: String,
    /// Number of values.
    pub n: u64,
    /// Number of files with values; each is a sequence.
    pub sequences: usize,
    /// Minimum.
    pub min_us: f64,
    /// First quartile (type 7).
    pub q1_us: f64,
    /// Median.
    pub median_us: f64,
    /// Mean.
    pub mean_us: f64,
    /// Third quartile.
    pub q3_us: f64,
    /// Maximum.
    pub max_us: f64,
    /// Standard deviation; `None` for one value.
    pub sd_us: Option<f64>,
    /// Autocorrelation of neighbouring values within the files; `None` without variation.
    pub lag_one_autocorrelation: Option<f64>,
    /// Standard error of the mean that allows for autocorrelation; `None` if it cannot be known.
    pub mean_error_us: Option<f64>,
    /// What counted as independent for it: `stretches` or `files`.
    pub independent: Option<&'static str>,
    /// Number of independent values that would give the same error of the mean.
    pub effective_n: Option<f64>,
    /// The density on a logarithmic axis, ten columns per factor of ten; empty columns are left
    /// out, and values of 0 are in a column from 0 to 0.
    pub density: Vec<DensityColumn>,
}

/// A difference of two samples, always the first minus the second. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleDifference {
    /// Difference of the means.
    pub mean_us: f64,
    /// First mean divided by the second; `None` if the second is 0.
    pub ratio: Option<f64>,
    /// Welch's test.
    pub welch: Option<TestFigures>,
    /// Cohen's d with its interval.
    pub cohens_d: Option<BoundedFigure>,
    /// Cohen's d in a word.
    pub size: Option<&'static str>,
    /// The shift of Hodges and Lehmann with its interval.
    pub shift_us: Option<BoundedFigure>,
    /// The difference of the means with an interval that allows for autocorrelation.
    pub block_bootstrap_us: Option<BoundedFigure>,
    /// Whether that interval is entirely above or below 0.
    pub differs: Option<bool>,
    /// What could not be computed, and why.
    pub refused: Vec<String>,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BoundedFigure {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl From<Estimate> for BoundedFigure {
    fn from(found: Estimate) -> BoundedFigure {
        BoundedFigure {
            value: found.value,
            low: found.low,
            high: found.high,
        }
    }
}

/// Welch's t test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TestFigures {
    /// The statistic.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p-value; 0 if it is too small for a number.
    pub p: f64,
    /// Lower end of the interval of the difference, in microseconds.
    pub low_us: f64,
    /// Upper end of the interval of the difference, in microseconds.
    pub high_us: f64,
}

/// A sample with what its figures were computed from.
#[derive(Clone, Debug)]
pub struct DescribedSample {
    /// The figures.
    pub figures: SampleFigures,
    /// What R's `summary` prints.
    pub summary: Summary,
    counts: Counts,
    moments: Moments,
    mean: Result<PooledMean, StatsRefusal>,
}

/// Describes a sample of nanoseconds.
///
/// # Errors
/// No values.
pub fn describe(
    name: &str,
    sample: &PooledSample,
    plan: &BootstrapPlan,
) -> Result<DescribedSample, StatsRefusal> {
    let counts = sample.counts(NS_PER_US as f64)?;
    let moments = sample.moments(NS_PER_US)?;
    let found = summary::of_counts(&counts, moments.mean)?;
    let mean = sample.mean(plan).map(|m| PooledMean {
        se: m.se / NS_PER_US as f64,
        ..m
    });
    let error = mean.as_ref().ok().filter(|m| m.se > 0.0);
    let effective = |m: &PooledMean| ((moments.sd / m.se).powi(2)).min(moments.n);
    let figures = SampleFigures {
        name: name.to_owned(),
        n: sample.n(),
        sequences: sample.sequences(),
        min_us: found.min,
        q1_us: found.q1,
        median_us: found.median,
        mean_us: found.mean,
        q3_us: found.q3,
        max_us: found.max,
        sd_us: (sample.n() > 1).then_some(moments.sd),
        lag_one_autocorrelation: sample.lag_one().ok(),
        mean_error_us: error.map(|m| m.se),
        independent: error.map(|m| match m.unit {
            PooledUnit::Stretches => "stretches",
            PooledUnit::Sequences => "files",
        }),
        effective_n: error.map(effective),
        density: density(&counts),
    };
    Ok(DescribedSample {
        figures,
        summary: found,
        counts,
        moments,
        mean,
    })
}

fn density(counts: &Counts) -> Vec<DensityColumn> {
    let mut columns: Vec<(i32, u64)> = Vec::new();
    for (value, count) in counts.pairs() {
        let at = match value {
            v if v > 0.0 => (v.log10() * PER_DECADE + 1e-9).floor() as i32,
            _ => i32::MIN,
        };
        match columns.last_mut().filter(|c| c.0 == at) {
            Some(column) => column.1 += count,
            None => columns.push((at, count)),
        }
    }
    let end = |at: i32| match at {
        i32::MIN => 0.0,
        at => 10_f64.powf(f64::from(at) / PER_DECADE),
    };
    let column = |(at, count): (i32, u64)| DensityColumn {
        from_us: end(at),
        to_us: if at == i32::MIN { 0.0 } else { end(at + 1) },
        share: count as f64 / counts.n() as f64,
    };
    columns.into_iter().map(column).collect()
}

/// The difference of `x` and `y`, with intervals of confidence `level`; the test as computed.
#[must_use]
pub fn difference(
    x: &DescribedSample,
    y: &DescribedSample,
    level: f64,
) -> (SampleDifference, Option<Welch>) {
    let mut refused = Vec::new();
    let mut keep = |what: &str, why: &StatsRefusal| refused.push(format!("{what}: {why}"));
    let mean_us = x.moments.mean - y.moments.mean;
    let test = welch::test(&x.moments, &y.moments, level);
    let test = test.map_err(|e| keep("Welch's t test", &e)).ok();
    let found = effect::of(&x.moments, &y.moments, level);
    let d = found.map_err(|e| keep("Cohen's d", &e)).ok().map(|e| e.d);
    let few = [x, y].iter().all(|s| s.counts.pairs().count() <= SHIFT_MAX);
    let shifted = match few {
        true => shift::hodges_lehmann(&x.counts, &y.counts, level),
        false => Err(StatsRefusal::Unsuitable(
            "there are more than 1,000,000 distinct values",
        )),
    };
    let shifted = shifted.map_err(|e| keep("Hodges-Lehmann shift", &e)).ok();
    let both = [&x.mean, &y.mean].map(|m| m.as_ref().map_err(Clone::clone));
    let blocks = match both {
        [Ok(a), Ok(b)] => pooled::difference(mean_us, a, b, level),
        [Err(e), _] | [_, Err(e)] => Err(e),
    };
    let blocks = blocks.map_err(|e| keep("block bootstrap", &e)).ok();
    let figures = SampleDifference {
        mean_us,
        ratio: (y.moments.mean > 0.0).then(|| x.moments.mean / y.moments.mean),
        welch: test.map(|w| TestFigures {
            t: w.t,
            df: w.df,
            p: w.p.value(),
            low_us: w.difference.low,
            high_us: w.difference.high,
        }),
        cohens_d: d.map(BoundedFigure::from),
        size: d.map(|d| Size::word(effect::size_of_d(d.value))),
        shift_us: shifted.map(BoundedFigure::from),
        block_bootstrap_us: blocks.map(BoundedFigure::from),
        differs: blocks.map(|b| b.low > 0.0 || b.high < 0.0),
        refused,
    };
    (figures, test)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(values: &[u64]) -> DescribedSample {
        let mut sample = PooledSample::default();
        for value in values {
            sample.add(*value).expect("small");
        }
        sample.end_sequence().expect("few");
        describe("x", &sample, &BootstrapPlan::default()).expect("values")
    }

    #[test]
    fn a_density_has_each_value_once() {
        let found = described(&[0, 1_000, 1_000_000, 1_258_925, 1_258_926, 10_000_000]);
        let shares: f64 = found.figures.density.iter().map(|c| c.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
        let columns = &found.figures.density;
        assert_eq!(columns.len(), 5, "{columns:?}");
        assert_eq!((columns[0].from_us, columns[0].to_us), (0.0, 0.0));
        assert!((columns[2].from_us - 1_000.0).abs() < 1e-6);
        assert!((columns[2].share - 2.0 / 6.0).abs() < 1e-12, "{columns:?}");
    }

    #[test]
    fn what_cannot_be_computed_is_refused_by_name() {
        let (one, two) = (described(&[5_000]), described(&[5_000, 6_000]));
        assert_eq!(one.figures.sd_us, None);
        let (found, test) = difference(&one, &two, 0.95);
        assert!(test.is_none() && found.differs.is_none());
        assert_eq!(found.refused.len(), 4, "{:?}", found.refused);
        let equal = described(&[5_000; 40]);
        let (found, _) = difference(&equal, &equal, 0.95);
        assert_eq!(found.shift_us.map(|s| s.value), Some(0.0));
        assert_eq!(found.refused.len(), 3, "{:?}", found.refused);
    }
}
