//! Sorted values with counts: what data and histograms have in common.
//!
//! Of a histogram a value is known to its bucket only. Each value here is a bucket's middle, and
//! has the bucket's ends, so that whatever is computed can say how wrong it may be.

use super::{StatsRefusal, checked};
use measure::Histogram;

/// A distinct value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) value: f64,
    /// Smallest and largest that it may have been.
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) count: u64,
}

/// Sorted values with counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    places: Vec<Place>,
    n: u64,
}

impl Counts {
    /// Of data; equal values are counted together.
    ///
    /// # Errors
    /// No values, or one that is not finite.
    pub fn of(values: &[f64]) -> Result<Counts, StatsRefusal> {
        checked(values, 1)?;
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut places: Vec<Place> = Vec::new();
        for value in sorted {
            match places.last_mut() {
                Some(last) if last.value == value => last.count += 1,
                _ => places.push(Place {
                    value,
                    low: value,
                    high: value,
                    count: 1,
                }),
            }
        }
        let n = values.len() as u64;
        Ok(Counts { places, n })
    }

    /// Of distinct values in ascending order, each with its count.
    ///
    /// # Errors
    /// No values, one that is not finite, or values that do not ascend.
    pub fn of_ascending(values: impl Iterator<Item = (f64, u64)>) -> Result<Counts, StatsRefusal> {
        let places: Vec<Place> = values
            .map(|(value, count)| Place {
                value,
                low: value,
                high: value,
                count,
            })
            .collect();
        if let Some(index) = places.iter().position(|p| !p.value.is_finite()) {
            return Err(StatsRefusal::NotFinite { index });
        }
        if !places.is_sorted_by(|a, b| a.value < b.value) {
            return Err(StatsRefusal::Parameter("the values have to ascend"));
        }
        let n = places.iter().map(|p| p.count).sum();
        match n {
            0 => Err(StatsRefusal::Empty),
            n => Ok(Counts { places, n }),
        }
    }

    /// Of a histogram.
    ///
    /// # Errors
    /// An empty histogram.
    pub fn of_histogram(histogram: &Histogram) -> Result<Counts, StatsRefusal> {
        let (min, max) = (histogram.min() as f64, histogram.max() as f64);
        let buckets = histogram.buckets();
        let mut places: Vec<Place> = buckets
            .iter_recorded()
            .map(|step| {
                let at = step.value_iterated_to();
                let low = buckets.lowest_equivalent(at) as f64;
                let high = buckets.highest_equivalent(at) as f64;
                Place {
                    // Unclamped: what falls into one bucket is equal in every histogram.
                    value: low + (high - low) / 2.0,
                    low: low.clamp(min, max),
                    high: high.clamp(min, max),
                    count: step.count_at_value(),
                }
            })
            .collect();
        // Values beyond what is bucketed count in the last bucket; the maximum tells how far.
        if let Some(last) = places.last_mut() {
            last.high = last.high.max(max);
        }
        let n = places.iter().map(|p| p.count).sum();
        if n == 0 {
            return Err(StatsRefusal::Empty);
        }
        Ok(Counts { places, n })
    }

    /// Number of values.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Distinct values with their counts, ascending.
    pub fn pairs(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.places.iter().map(|p| (p.value, p.count))
    }

    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Mean of the values as they stand here; a histogram's exact mean is its own.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let n = self.n as f64;
        self.pairs().map(|(v, c)| v * (c as f64 / n)).sum()
    }

    /// Quantile of type 7 (Hyndman and Fan 1996; R's default): with h = (n − 1) p, the value of
    /// rank ⌊h⌋ and the next one, interpolated. `low` and `high` are its ends where the values are
    /// known to buckets only; the confidence is 1, since these are bounds.
    ///
    /// # Errors
    /// A `p` outside 0 to 1.
    pub fn quantile(&self, p: f64) -> Result<super::Estimate, StatsRefusal> {
        if !(0.0..=1.0).contains(&p) {
            return Err(StatsRefusal::Parameter("a quantile lies between 0 and 1"));
        }
        let h = (self.n - 1) as f64 * p;
        let rank = h.floor();
        let part = h - rank;
        let below = self.rank(rank as u64);
        let above = self.rank((rank as u64 + 1).min(self.n - 1));
        // In R's order of operations, so that halves are rounded as R rounds them.
        let between = |a: f64, b: f64| match part == 0.0 || a == b {
            true => a,
            false => (1.0 - part) * a + part * b,
        };
        Ok(super::Estimate {
            value: between(below.value, above.value),
            low: between(below.low, above.low),
            high: between(below.high, above.high),
            level: 1.0,
        })
    }

    /// The value of a rank, counted from 0.
    fn rank(&self, rank: u64) -> Place {
        let mut seen = 0;
        for place in &self.places {
            seen += place.count;
            if rank < seen {
                let value = place.value.clamp(place.low, place.high);
                return Place { value, ..*place };
            }
        }
        *self.places.last().expect("counts are never empty")
    }
}
