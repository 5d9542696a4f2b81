//! Waits by time and latency, from interval histograms: what heat maps, densities and buckets are
//! drawn from.
//!
//! Invariants: memory is bounded whatever the run's length: stretches are joined in pairs when
//! they become too many; counts, sums and maxima stay exact. Bands are of equal width on a
//! logarithmic axis; a value is in the band of its histogram bucket (within 0.1 %).

use measure::Histogram;

/// Bands of a decade in a heat map.
pub const BANDS: usize = 12;
/// Bins of a decade in a density: a whole number of them makes a band.
pub const FINE: usize = 48;
/// The first decade begins at 100 ns: what is shorter counts in the first bin.
const FIRST_NS: f64 = 100.0;
/// Ten decades: to 1,000 s.
const DECADES: usize = 10;
/// Stretches of a grid at most: more than this are joined in pairs.
pub const COLUMNS_MAX: usize = 360;
/// Buckets of powers of two microseconds: under 1 µs to under 2^31 µs.
pub const DOUBLINGS: usize = 32;

/// A stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct GridColumn {
    /// Its beginning, seconds after the row's first interval began.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// Waits.
    pub count: u64,
    /// Their exact sum.
    pub sum_ns: u128,
    /// The longest, exactly.
    pub max_ns: u64,
    /// Waits in each band, from the lowest.
    pub bands: Vec<u64>,
}

/// Waits of one event by time and latency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyGrid {
    columns: Vec<GridColumn>,
    /// Intervals that a full column takes.
    joined: u64,
    /// Intervals in the last column.
    last: u64,
    origin_ns: Option<u64>,
    fine: Vec<u64>,
    doublings: Vec<u64>,
}

impl LatencyGrid {
    /// Adds an interval, given in nanoseconds of any clock that goes on from call to call.
    pub fn add(&mut self, start_ns: u64, end_ns: u64, histogram: &Histogram) {
        let origin = *self.origin_ns.get_or_insert(start_ns);
        let second = |ns: u64| ns.saturating_sub(origin) as f64 / 1e9;
        if self.joined == 0 {
            self.joined = 1;
            self.last = 1;
            self.fine = vec![0; DECADES * FINE];
            self.doublings = vec![0; DOUBLINGS];
        }
        if self.columns.is_empty() || self.last >= self.joined {
            self.make_room();
        }
        if self.columns.is_empty() || self.last >= self.joined {
            self.columns.push(GridColumn {
                start_s: second(start_ns),
                end_s: second(start_ns),
                count: 0,
                sum_ns: 0,
                max_ns: 0,
                bands: vec![0; DECADES * BANDS],
            });
            self.last = 0;
        }
        self.last += 1;
        let Some(column) = self.columns.last_mut() else {
            return;
        };
        column.end_s = column.end_s.max(second(end_ns));
        column.count += histogram.count();
        column.sum_ns += histogram.sum();
        column.max_ns = column.max_ns.max(histogram.max());
        for step in histogram.buckets().iter_recorded() {
            let (value, count) = (step.value_iterated_to(), step.count_since_last_iteration());
            let fine = fine_of(value);
            self.fine[fine] += count;
            self.doublings[doubling_of(value)] += count;
            column.bands[fine / (FINE / BANDS)] += count;
        }
    }

    /// Joins columns in pairs when there is no room for another.
    fn make_room(&mut self) {
        if self.columns.len() < COLUMNS_MAX {
            return;
        }
        let odd = self.columns.len() % 2 == 1;
        let pairs = std::mem::take(&mut self.columns);
        let mut pairs = pairs.into_iter();
        while let Some(mut first) = pairs.next() {
            if let Some(second) = pairs.next() {
                first.join(&second);
            }
            self.columns.push(first);
        }
        // The last one may take as many again when it had no partner.
        self.last = if odd { self.joined } else { 2 * self.joined };
        self.joined *= 2;
    }

    /// The stretches, in order of time.
    #[must_use]
    pub fn columns(&self) -> &[GridColumn] {
        &self.columns
    }

    /// Waits in all.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.columns.iter().map(|c| c.count).sum()
    }

    /// The longest wait.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.columns.iter().map(|c| c.max_ns).max().unwrap_or(0)
    }

    /// Waits in each fine bin: `FINE` a decade from 100 ns.
    #[must_use]
    pub fn fine(&self) -> &[u64] {
        &self.fine
    }

    /// Waits under 1, 2, 4 … µs that are not in the bucket before.
    #[must_use]
    pub fn doublings(&self) -> &[u64] {
        &self.doublings
    }
}

impl GridColumn {
    fn join(&mut self, other: &GridColumn) {
        self.end_s = other.end_s;
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        for (mine, theirs) in self.bands.iter_mut().zip(&other.bands) {
            *mine += theirs;
        }
    }
}

/// How many of the lowest places of `counts` hold less than one value in a thousand together: a
/// drawing begins above them, so that a few strays do not push all else into a corner.
#[must_use]
pub fn strays(counts: &[u64]) -> usize {
    let total: u64 = counts.iter().sum();
    let mut sum = 0;
    counts
        .iter()
        .position(|n| {
            sum += n;
            sum > 0 && sum * 1000 >= total
        })
        .unwrap_or(0)
}

/// `columns` joined in groups of equal number until at most `most` are left; exact as they are.
#[must_use]
pub fn joined(columns: &[GridColumn], most: usize) -> Vec<GridColumn> {
    let group = columns.len().div_ceil(most.max(1)).max(1);
    columns
        .chunks(group)
        .filter_map(|chunk| {
            let (first, rest) = chunk.split_first()?;
            let mut all = first.clone();
            rest.iter().for_each(|c| all.join(c));
            Some(all)
        })
        .collect()
}

/// Where band `index` of `of` a decade begins, nanoseconds.
#[must_use]
pub fn edge_ns(index: usize, of: usize) -> f64 {
    FIRST_NS * 10f64.powf(index as f64 / of as f64)
}

fn fine_of(value_ns: u64) -> usize {
    let place = (value_ns.max(1) as f64 / FIRST_NS).log10() * FINE as f64;
    (place.max(0.0) as usize).min(DECADES * FINE - 1)
}

/// As `v$event_histogram_micro` does it: the label is the smallest power of two of microseconds
/// that is larger than the wait.
fn doubling_of(value_ns: u64) -> usize {
    let us = value_ns / 1000;
    ((u64::BITS - us.leading_zeros()) as usize).min(DOUBLINGS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut h = Histogram::new();
        values.iter().for_each(|v| h.record(*v));
        h
    }

    #[test]
    fn a_long_run_is_bounded_and_exact() {
        let mut grid = LatencyGrid::default();
        let second = 1_000_000_000;
        let n = 10_801_u64;
        for i in 0..n {
            let peak = 1_000_000 + i;
            grid.add(
                (i + 5) * second,
                (i + 6) * second,
                &histogram(&[90_000, peak]),
            );
        }
        let columns = grid.columns();
        assert!((COLUMNS_MAX / 2..=COLUMNS_MAX).contains(&columns.len()));
        assert_eq!(grid.count(), 2 * n);
        assert_eq!(grid.max_ns(), 1_000_000 + n - 1);
        let sum: u128 = columns.iter().map(|c| c.sum_ns).sum();
        let n = u128::from(n);
        assert_eq!(sum, n * 1_090_000 + n * (n - 1) / 2);
        assert_eq!(columns.first().map(|c| c.start_s), Some(0.0));
        assert_eq!(columns.last().map(|c| c.end_s), Some(10_801.0));
        for pair in columns.windows(2) {
            assert_eq!(pair[0].end_s, pair[1].start_s);
        }
        for c in columns {
            assert_eq!(c.bands.iter().sum::<u64>(), c.count);
        }
        assert_eq!(grid.fine().iter().sum::<u64>(), grid.count());
        assert_eq!(grid.doublings().iter().sum::<u64>(), grid.count());
    }

    #[test]
    fn strays_are_fewer_than_one_in_a_thousand() {
        assert_eq!(strays(&[]), 0);
        assert_eq!(strays(&[0, 0, 5]), 2);
        assert_eq!(strays(&[1, 0, 0, 998, 1]), 0);
        assert_eq!(strays(&[1, 0, 0, 5000, 1]), 3);
    }

    #[test]
    fn every_value_has_its_place() {
        let mut grid = LatencyGrid::default();
        grid.add(0, 1, &histogram(&[0, 1, 99, 100, 999, u64::MAX]));
        assert_eq!(grid.count(), 6);
        assert_eq!(grid.fine().first(), Some(&4));
        assert_eq!(grid.max_ns(), u64::MAX);
        // Labels are exclusive upper bounds: 999 ns is under 1 µs.
        assert_eq!(grid.doublings().first(), Some(&5));
        assert!((edge_ns(FINE, FINE) - 1000.0).abs() < 1e-9);
    }
}
