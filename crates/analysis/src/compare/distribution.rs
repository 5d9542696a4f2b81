//! Distributions to draw: a density on a logarithmic axis, and the percentile curve.

use measure::Histogram;
use measure::comparison::Distribution;
use measure::run::Row;
use std::collections::BTreeMap;

/// Buckets an octave: each is 9 % wide.
const PER_OCTAVE: f64 = 8.0;

/// Of one series in one row of one run.
pub(super) fn of(run: usize, row: &Row, event: &str, histogram: &Histogram) -> Distribution {
    let buckets = histogram.buckets();
    let mut counts: BTreeMap<i64, (u64, u64, u64)> = BTreeMap::new();
    for step in buckets.iter_recorded() {
        let high = step.value_iterated_to();
        let low = buckets.lowest_equivalent(high);
        let place = ((low.max(1) as f64).log2() * PER_OCTAVE).floor() as i64;
        let entry = counts.entry(place).or_insert((low, high, 0));
        entry.1 = high;
        entry.2 += step.count_at_value();
    }
    let n = histogram.count().max(1) as f64;
    let share = |(low, high, count): &(u64, u64, u64)| (*low, *high, *count as f64 / n);
    Distribution {
        run,
        workload: row.workload.clone(),
        jobs: row.jobs,
        event: event.to_owned(),
        count: histogram.count(),
        density: counts.values().map(share).collect(),
        curve: histogram.curve(),
    }
}
