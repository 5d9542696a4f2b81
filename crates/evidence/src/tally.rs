//! The waits of one event of one process: exact figures, the buckets of Oracle's histograms, and a
//! distribution for percentiles.
//!
//! Few values are kept as they are; a distribution is made when they become many, and not even
//! then once [`TallyBudget`] is spent: then percentiles are missing and all else stays exact.

use measure::Histogram;
use measure::run::WaitStats;
use measure::waits::OUTLIER_NS;

/// Values that are kept one by one.
pub const FEW: usize = 256;
/// Distributions that an import keeps; each takes some 100 kB.
pub const DISTRIBUTIONS_MAX: usize = 400;
/// Buckets of milliseconds: under 1, 2, 4, … ms, the last one for all above.
const MS_BUCKETS: usize = 24;
const OVER_NS: [u64; 4] = [1_000_000, 10_000_000, 20_000_000, OUTLIER_NS];

/// How many distributions may still be made.
#[derive(Debug)]
pub struct TallyBudget {
    left: usize,
}

impl Default for TallyBudget {
    fn default() -> TallyBudget {
        TallyBudget {
            left: DISTRIBUTIONS_MAX,
        }
    }
}

impl TallyBudget {
    /// Whether so many more can be made, or none at all: then it does not matter which come first.
    #[must_use]
    pub fn grants_each(&self, more: usize) -> bool {
        self.left == 0 || more <= self.left
    }
}

#[derive(Debug)]
enum Spread {
    Few(Vec<u64>),
    Many(Box<Histogram>),
    Unknown,
}

/// Waits of one event.
#[derive(Debug)]
pub struct Tally {
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    over: [u64; 4],
    ms: [u64; MS_BUCKETS],
    spread: Spread,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            over: [0; 4],
            ms: [0; MS_BUCKETS],
            spread: Spread::Few(Vec::new()),
        }
    }
}

impl Tally {
    /// Adds a wait.
    #[inline]
    pub fn add(&mut self, ns: u64, budget: &mut TallyBudget) {
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        if ns > OVER_NS[0] {
            for (n, bound) in self.over.iter_mut().zip(OVER_NS) {
                *n += u64::from(ns > bound);
            }
        }
        self.ms[ms_bucket(ns)] += 1;
        match &mut self.spread {
            Spread::Many(h) => h.record(ns),
            Spread::Few(few) if few.len() < FEW => few.push(ns),
            Spread::Few(_) => self.widen(ns, budget),
            Spread::Unknown => {}
        }
    }

    #[cold]
    fn widen(&mut self, ns: u64, budget: &mut TallyBudget) {
        let Spread::Few(few) = &self.spread else {
            return;
        };
        if budget.left == 0 {
            self.spread = Spread::Unknown;
            return;
        }
        budget.left -= 1;
        let mut h = Histogram::new();
        few.iter().for_each(|v| h.record(*v));
        h.record(ns);
        self.spread = Spread::Many(Box::new(h));
    }

    /// Whether a distribution is asked of the [`TallyBudget`] while so many more are added.
    #[must_use]
    pub fn widens(&self, more: u32) -> bool {
        matches!(&self.spread, Spread::Few(few) if few.len() + more as usize > FEW)
    }

    /// Waits.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact sum.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Waits below 1, 2, 4, … ms that are not in the bucket before: Oracle's event histogram.
    #[must_use]
    pub fn ms_buckets(&self) -> &[u64; MS_BUCKETS] {
        &self.ms
    }

    /// Percentiles are missing because there were too many distributions.
    #[must_use]
    pub fn is_spread_unknown(&self) -> bool {
        matches!(self.spread, Spread::Unknown)
    }

    /// The distribution, where there is one.
    #[must_use]
    pub fn distribution(&self) -> Option<Histogram> {
        match &self.spread {
            Spread::Many(h) => Some(Histogram::clone(h)),
            Spread::Few(few) => Some(of(few)),
            Spread::Unknown => None,
        }
    }

    /// The percentile curve; empty where there is no distribution.
    #[must_use]
    pub fn curve(&self) -> Vec<(f64, u64)> {
        match &self.spread {
            Spread::Many(h) => h.curve(),
            Spread::Few(few) => of(few).curve(),
            Spread::Unknown => Vec::new(),
        }
    }

    /// The figures of a run's row.
    #[must_use]
    pub fn stats(&self) -> WaitStats {
        let pct = |n: u64| 100.0 * n as f64 / self.count.max(1) as f64;
        let spread = match &self.spread {
            Spread::Many(h) => h.stats(),
            Spread::Few(few) => of(few).stats(),
            Spread::Unknown => WaitStats::default(),
        };
        WaitStats {
            count: self.count,
            total_ns: u64::try_from(self.sum_ns).unwrap_or(u64::MAX),
            mean_ns: self.sum_ns as f64 / self.count.max(1) as f64,
            min_ns: if self.count == 0 { 0 } else { self.min_ns },
            max_ns: self.max_ns,
            over_1ms_pct: pct(self.over[0]),
            over_10ms_pct: pct(self.over[1]),
            over_20ms_pct: pct(self.over[2]),
            outliers: self.over[3],
            ..spread
        }
    }
}

fn of(few: &[u64]) -> Histogram {
    let mut h = Histogram::new();
    few.iter().for_each(|v| h.record(*v));
    h
}

/// The bucket of Oracle's event histogram: its label is the smallest power of two of milliseconds
/// that is larger than the wait.
#[must_use]
fn ms_bucket(ns: u64) -> usize {
    let ms = ns / 1_000_000;
    let bits = (u64::BITS - ms.leading_zeros()) as usize;
    bits.min(MS_BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_is_the_histogram_and_exact() {
        let (mut tally, mut h) = (Tally::default(), Histogram::new());
        let mut budget = TallyBudget::default();
        for n in 0..5000_u64 {
            let v = n * n * 1000;
            tally.add(v, &mut budget);
            h.record(v);
            if n % 997 == 0 {
                assert_eq!(tally.stats(), h.stats(), "after {n}");
            }
        }
        assert_eq!(tally.stats(), h.stats());
        assert_eq!(tally.ms_buckets().iter().sum::<u64>(), 5000);
        assert_eq!(budget.left, DISTRIBUTIONS_MAX - 1);
    }

    #[test]
    fn without_a_budget_what_is_exact_stays() {
        let (mut tally, mut budget) = (Tally::default(), TallyBudget { left: 0 });
        (1..=1000_u64).for_each(|n| tally.add(n * 1_000_000, &mut budget));
        let stats = tally.stats();
        assert!(tally.is_spread_unknown() && stats.p50_ns.is_none());
        assert_eq!((stats.count, stats.min_ns), (1000, 1_000_000));
        assert_eq!(stats.max_ns, 1_000_000_000);
        assert_eq!((stats.over_10ms_pct, stats.outliers), (99.0, 500));
    }

    #[test]
    fn bucket_labels_are_exclusive_upper_bounds() {
        for (us, bucket) in [
            (0, 0),
            (999, 0),
            (1000, 1),
            (1999, 1),
            (2000, 2),
            (13_660, 4),
        ] {
            assert_eq!(ms_bucket(us * 1000), bucket, "{us} us");
        }
        assert_eq!(ms_bucket(u64::MAX), MS_BUCKETS - 1);
    }
}
