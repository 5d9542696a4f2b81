//! A run's intervals of one series as [`super::blocks`] draws them, of bounded size however long
//! the run was.
//!
//! Invariants: nothing that was pushed is lost but what is said; parts are in the order of time,
//! and all but the last join equally many intervals.

use measure::Histogram;

/// Parts that are kept; more are joined with their neighbours, which only lengthens blocks.
pub(super) const PARTS_MAX: usize = 400;
/// One interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// What the sum is divided by: values, or seconds.
    pub(super) weight: f64,
    pub(super) sum: f64,
    /// Bucket and count, ascending; buckets are the histogram's lowest equivalent values.
    pub(super) counts: Vec<(u64, u64)>,
}

impl Part {
    fn join(&mut self, other: Part) {
        self.weight += other.weight;
        self.sum += other.sum;
        let mut joined = Vec::with_capacity(self.counts.len() + other.counts.len());
        let (mut mine, mut theirs) = (
            self.counts.iter().peekable(),
            other.counts.iter().peekable(),
        );
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => joined.extend(mine.next()),
                std::cmp::Ordering::Greater => joined.extend(theirs.next()),
                std::cmp::Ordering::Equal => {
                    joined.push((a.0, a.1.saturating_add(b.1)));
                    mine.next();
                    theirs.next();
                }
            }
        }
        joined.extend(mine);
        joined.extend(theirs);
        self.counts = joined;
    }
}

/// A run's intervals of one series, of bounded size however long the run was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    pub(super) parts: Vec<Part>,
    /// Intervals that a part is joined from.
    stride: usize,
    /// Intervals in the last part, of `stride`.
    filled: usize,
}

impl Blocks {
    /// None yet.
    #[must_use]
    pub fn new() -> Blocks {
        Blocks {
            parts: Vec::new(),
            stride: 1,
            filled: 0,
        }
    }

    /// Appends an interval of latencies.
    pub fn push(&mut self, histogram: &Histogram) {
        let buckets = histogram.buckets();
        let counts = buckets.iter_recorded().map(|s| {
            (
                buckets.lowest_equivalent(s.value_iterated_to()),
                s.count_at_value(),
            )
        });
        self.append(Part {
            weight: histogram.count() as f64,
            sum: histogram.sum() as f64,
            counts: counts.collect(),
        });
    }

    /// Appends an interval of a rate: so much in so many seconds. Only `Statistic::Mean` can be
    /// asked of rates. What is not finite, or takes no time, is left out.
    pub fn push_rate(&mut self, amount: f64, seconds: f64) {
        if amount.is_finite() && seconds.is_finite() && seconds > 0.0 {
            self.append(Part {
                weight: seconds,
                sum: amount,
                counts: Vec::new(),
            });
        }
    }

    /// Events in their order, cut into at most 400 stretches.
    #[must_use]
    pub fn of_events(events: &[u64]) -> Blocks {
        let mut blocks = Blocks::new();
        let length = events.len().div_ceil(PARTS_MAX).max(1);
        let mut histogram = Histogram::new();
        for stretch in events.chunks(length) {
            // A short last stretch would weigh as much in a draw as the others.
            if stretch.len() * 2 < length {
                break;
            }
            histogram.clear();
            for event in stretch {
                histogram.record(*event);
            }
            blocks.push(&histogram);
        }
        blocks
    }

    fn append(&mut self, part: Part) {
        if self.stride == 0 {
            self.stride = 1;
        }
        match self.parts.last_mut() {
            Some(last) if self.filled < self.stride => {
                last.join(part);
                self.filled += 1;
            }
            _ => {
                if self.parts.len() == 2 * PARTS_MAX {
                    self.halve();
                }
                self.parts.push(part);
                self.filled = 1;
            }
        }
    }

    fn halve(&mut self) {
        let mut joined: Vec<Part> = Vec::with_capacity(PARTS_MAX + 1);
        for (i, part) in std::mem::take(&mut self.parts).into_iter().enumerate() {
            match joined.last_mut() {
                Some(last) if i % 2 == 1 => last.join(part),
                _ => joined.push(part),
            }
        }
        self.parts = joined;
        self.stride *= 2;
        self.filled = self.stride;
    }

    /// Intervals that can be drawn.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}
