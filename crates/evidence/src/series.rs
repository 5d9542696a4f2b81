//! Latency over time or sequence, in points whose width doubles when they become too many: the
//! memory is bounded, the counts, sums and maxima are exact.

use measure::imported::{Axis, SeriesPoint};

/// Points that a series keeps.
pub const POINTS_MAX: usize = 512;
/// Finest width over time: 2^13 µs, 8.192 ms.
const FINEST_TIME: u32 = 13;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    count: u64,
    sum_ns: u128,
    max_ns: u64,
    blocks: u64,
}

impl Bin {
    fn join(&mut self, other: Bin) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.blocks += other.blocks;
    }
}

/// A series that grows.
#[derive(Debug)]
pub struct GrowingSeries {
    axis: Axis,
    /// Width of a bin, in microseconds or waits: two to this power.
    shift: u32,
    bins: Vec<Bin>,
}

impl GrowingSeries {
    /// An empty series over time (positions in microseconds) or sequence.
    #[must_use]
    pub fn new(axis: Axis) -> GrowingSeries {
        GrowingSeries {
            axis,
            shift: match axis {
                Axis::Time => FINEST_TIME,
                Axis::Sequence => 0,
            },
            bins: Vec::new(),
        }
    }

    /// Adds a wait at a position: microseconds since the first, or waits before it.
    #[inline]
    pub fn add(&mut self, at: u64, ns: u64, blocks: u64) {
        while at >> self.shift >= POINTS_MAX as u64 {
            self.halve();
        }
        let index = (at >> self.shift) as usize;
        if index >= self.bins.len() {
            self.bins.resize(index + 1, Bin::default());
        }
        self.bins[index].join(Bin {
            count: 1,
            sum_ns: u128::from(ns),
            max_ns: ns,
            blocks,
        });
    }

    #[cold]
    fn halve(&mut self) {
        self.shift += 1;
        let pairs = self.bins.chunks(2).map(|pair| {
            let mut sum = pair[0];
            pair.iter().skip(1).for_each(|b| sum.join(*b));
            sum
        });
        self.bins = pairs.collect();
    }

    /// The axis, the width of a point (seconds or waits), and the points that hold waits.
    #[must_use]
    pub fn points(&self) -> (Axis, f64, Vec<SeriesPoint>) {
        let unit = match self.axis {
            Axis::Time => 1e6,
            Axis::Sequence => 1.0,
        };
        let offset = match self.axis {
            Axis::Time => 0,
            Axis::Sequence => 1,
        };
        let filled = self.bins.iter().enumerate().filter(|(_, b)| b.count > 0);
        let points = filled.map(|(i, b)| SeriesPoint {
            at: (((i as u64) << self.shift) + offset) as f64 / unit,
            count: b.count,
            mean_ns: b.sum_ns as f64 / b.count as f64,
            max_ns: b.max_ns,
            blocks: b.blocks,
        });
        (
            self.axis,
            (1_u64 << self.shift) as f64 / unit,
            points.collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_bounded_and_exact() {
        let mut series = GrowingSeries::new(Axis::Sequence);
        for n in 0..100_000_u64 {
            series.add(n, n, 2);
        }
        let (axis, width, points) = series.points();
        assert_eq!((axis, width), (Axis::Sequence, 256.0));
        assert!(points.len() <= POINTS_MAX);
        assert_eq!(points.iter().map(|p| p.count).sum::<u64>(), 100_000);
        assert_eq!(points.iter().map(|p| p.blocks).sum::<u64>(), 200_000);
        assert_eq!(points.last().map(|p| p.max_ns), Some(99_999));
        assert_eq!(points[0].at, 1.0);
    }

    #[test]
    fn a_far_position_costs_no_memory() {
        let mut series = GrowingSeries::new(Axis::Time);
        series.add(0, 1, 0);
        series.add(u64::MAX, 1, 0);
        let (_, _, points) = series.points();
        assert_eq!(points.len(), 2);
    }
}
