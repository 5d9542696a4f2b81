//! A device as it was measured: quantiles of its times by size and depth, and how much a time
//! depends on the one before.
//!
//! Ranks follow each other as a Gaussian autoregression (a copula), so that both the distribution
//! and the autocorrelation of the ranks are those that were measured.

use super::Operation;
use super::field::{Contradiction, Field};
use crate::chance::Chance;

/// Quantiles of what writes and flushes took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmpiricalModel {
    /// The shares of operations whose times are in the tables: from 0 to 1, rising.
    pub shares: Vec<f64>,
    /// Of each table of writes: the size, kB. Between two sizes times are interpolated.
    pub kb: Vec<f64>,
    /// Of each table: the operations in flight, this one included. The next table with fewer is
    /// used where there is none.
    pub depth: Vec<f64>,
    /// The tables, one after the other: a time for each share, nanoseconds.
    pub write_ns: Vec<f64>,
    /// The same of flushes; empty where a completed write is durable.
    pub flush_ns: Vec<f64>,
    /// Spearman's correlation of a time and the one before, -1 to 1; of writes and of flushes.
    pub autocorrelation: f64,
}

impl EmpiricalModel {
    pub(super) fn fields(&mut self) -> Vec<Field<'_>> {
        vec![
            Field::list("shares", 1.0, &mut self.shares),
            Field::list("kb", 1e6, &mut self.kb),
            Field::list("depth", 1e6, &mut self.depth).from(1.0),
            Field::times("write_us", &mut self.write_ns),
            Field::times("flush_us", &mut self.flush_ns).optional(),
            Field::number("autocorrelation", 0.99, &mut self.autocorrelation).from(-0.99),
        ]
    }

    pub(super) fn contradiction(&self) -> Contradiction {
        let (shares, tables) = (&self.shares, self.kb.len());
        let ends = shares.first() == Some(&0.0) && shares.last() == Some(&1.0);
        if !ends || shares.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Some(("shares", "shares: use 0.0, rising numbers, 1.0".to_owned()));
        }
        if self.depth.len() != tables || tables == 0 {
            return Some(("depth", "depth: use one number for each of kb".to_owned()));
        }
        let falls = |all: &[f64]| {
            let mut rows = all.chunks(shares.len());
            rows.any(|row| row.windows(2).any(|pair| pair[0] > pair[1]))
        };
        let flush = usize::from(!self.flush_ns.is_empty());
        let lists = [
            ("write_us", &self.write_ns, tables),
            ("flush_us", &self.flush_ns, flush),
        ];
        let wrong =
            |(_, all, rows): &(_, &Vec<f64>, usize)| all.len() != rows * shares.len() || falls(all);
        lists.into_iter().find(wrong).map(|(key, _, rows)| {
            let count = shares.len();
            let what = format!("{key}: use {rows} rows of {count} times, each of which rises");
            (key, what)
        })
    }

    /// Tables of the greatest depth up to `depth`, or of the least; in the order of their sizes.
    fn tables(&self, depth: f64) -> Vec<(f64, &[f64])> {
        let depths = self.depth.iter().copied();
        let fits = depths.clone().filter(|of| *of <= depth);
        let nearest = fits.max_by(f64::total_cmp);
        let nearest = nearest.or_else(|| depths.min_by(f64::total_cmp));
        let rows = self.write_ns.chunks(self.shares.len().max(1));
        let all = self.kb.iter().zip(&self.depth).zip(rows);
        let chosen = all.filter(|((_, of), _)| Some(**of) == nearest);
        let mut out: Vec<(f64, &[f64])> = chosen.map(|((kb, _), ns)| (*kb, ns)).collect();
        out.sort_by(|a, b| a.0.total_cmp(&b.0));
        out
    }

    fn write_time(&self, kb: f64, depth: f64, rank: f64) -> f64 {
        let tables = self.tables(depth);
        let at = |table: usize| quantile(&self.shares, tables[table].1, rank);
        match tables.iter().position(|(size, _)| *size >= kb) {
            None => tables.len().checked_sub(1).map_or(0.0, at),
            Some(0) => at(0),
            Some(next) => {
                let (less, more) = (tables[next - 1].0, tables[next].0);
                between(at(next - 1), at(next), (kb - less) / (more - less))
            }
        }
    }
}

fn between(a: f64, b: f64, share: f64) -> f64 {
    a + (b - a) * share
}

fn quantile(shares: &[f64], times: &[f64], rank: f64) -> f64 {
    let next = shares.partition_point(|share| *share < rank).max(1);
    match (times.get(next - 1), times.get(next)) {
        (Some(a), Some(b)) => {
            let (less, more) = (shares[next - 1], shares[next]);
            between(*a, *b, (rank - less) / (more - less))
        }
        _ => times.last().copied().unwrap_or(0.0),
    }
}

/// An [`EmpiricalModel`] at work.
#[derive(Debug)]
pub(crate) struct EmpiricalDevice {
    of: EmpiricalModel,
    /// Correlation of the normal scores.
    correlation: f64,
    /// The last normal score of writes, and of flushes.
    scores: [Option<f64>; 2],
    /// Ends of the operations in flight.
    in_flight: Vec<u64>,
}

impl EmpiricalDevice {
    pub(super) fn new(of: &EmpiricalModel) -> EmpiricalDevice {
        EmpiricalDevice {
            of: of.clone(),
            // Spearman's correlation of two normal variables is 6/π asin(r/2).
            correlation: 2.0 * libm::sin(std::f64::consts::PI / 6.0 * of.autocorrelation),
            scores: [None; 2],
            in_flight: Vec::new(),
        }
    }

    pub(super) fn ends(&mut self, now: u64, operation: Operation, chance: &mut Chance) -> u64 {
        self.in_flight.retain(|end| *end > now);
        let depth = (self.in_flight.len() + 1) as f64;
        let is_flush = operation == Operation::Flush;
        let score = &mut self.scores[usize::from(is_flush)];
        let (r, draw) = (self.correlation, chance.normal());
        let next = score.map_or(draw, |last| r * last + libm::sqrt(1.0 - r * r) * draw);
        *score = Some(next);
        let rank = 0.5 * libm::erfc(-next / std::f64::consts::SQRT_2);
        let ns = match operation {
            Operation::Flush => quantile(&self.of.shares, &self.of.flush_ns, rank),
            Operation::Write { bytes, .. } => {
                self.of.write_time(bytes as f64 / 1024.0, depth, rank)
            }
        };
        let ends = now.saturating_add(libm::round(ns) as u64);
        self.in_flight.push(ends);
        ends
    }
}
