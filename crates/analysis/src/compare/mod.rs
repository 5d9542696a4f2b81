//! Runs beside each other: what differs, by how much, how surely, and what is not comparable.
//!
//! Stored runs are compared by their intervals, drawn whole and in blocks
//! ([`crate::stats::blocks`]); interleaved rounds by the ratios of their pairs ([`rounds`]). Both
//! give a [`measure::comparison::Comparison`], which is shown without computing anything.
//!
//! | part | file |
//! |---|---|
//! | metrics that are compared, their units and directions | [`metrics`] |
//! | which rows belong together, and why others do not | `pairing` |
//! | imported rows by the role of their process, report or snapshot | [`roles`] |
//! | figures of imported tables by their place | `places` |
//! | runs of different directories on one device | `shared` |
//! | differences of stored runs | [`stored`] |
//! | differences of interleaved rounds | [`rounds`] |
//! | tables of interleaved rounds, one figure of all of them per cell | `pooled` |
//! | which run is better, what conditions say, how the command ends | [`decision`] |
//! | significance and size in words | `words` |
//! | tables as those of study 001 | `tables` |
//! | bytes per layer, of databases and of redolab's own log | `bytes` |
//! | `--fail-if` | [`condition`] |
//!
//! Invariants: the first run is the base; significance and size are said apart; what one run lacks
//! is named and the rest is compared.

mod bytes;
mod cells;
pub mod condition;
pub mod decision;
mod distribution;
pub mod live;
pub mod metrics;
mod pairing;
mod places;
mod pooled;
pub mod roles;
pub mod rounds;
mod setup;
mod shared;
pub mod stored;
mod tables;
mod words;

pub use words::{DifferenceOutcome, cannot_tell, outcome, outcome_word};

use crate::stats::blocks::Blocks;
use crate::verdict::durability_of;
use measure::Histogram;
use measure::comparison::{Basis, ComparedRun};
use measure::run::Run;
use std::collections::BTreeMap;

/// How to compare, and what the comparison says of itself.
#[derive(Clone, Debug)]
pub struct Options {
    /// Confidence of intervals.
    pub level: f64,
    /// Resamples of the bootstrap.
    pub resamples: u32,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Conditions to judge.
    pub conditions: Vec<condition::FailIf>,
    /// Settings that differ on purpose, as what is not alike is named: they are not listed there.
    pub asked: Vec<String>,
    /// RFC 3339 time, UTC.
    pub created: String,
    /// Version of redolab.
    pub version: String,
    /// The command, argument by argument.
    pub command: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            level: 0.95,
            resamples: 1000,
            seed: 1,
            conditions: Vec::new(),
            asked: Vec::new(),
            created: String::new(),
            version: String::new(),
            command: Vec::new(),
        }
    }
}

/// A series of a row: what is drawn, and all of it together.
#[derive(Clone, Debug)]
pub struct WaitSeries {
    /// Intervals in their order.
    pub blocks: Blocks,
    /// All of them merged.
    pub merged: Histogram,
    /// All waits of imported means, where the import kept them.
    pub distribution: Option<Histogram>,
    /// What the intervals are.
    pub basis: Basis,
}

impl WaitSeries {
    /// No interval yet.
    #[must_use]
    pub fn new() -> WaitSeries {
        WaitSeries {
            blocks: Blocks::new(),
            merged: Histogram::new(),
            distribution: None,
            basis: Basis::Intervals,
        }
    }

    /// All waits of it; empty where only means are known.
    #[must_use]
    pub fn waits(&self) -> &Histogram {
        self.distribution.as_ref().unwrap_or(&self.merged)
    }

    /// Appends an interval.
    pub fn push(&mut self, histogram: &Histogram) {
        self.blocks.push(histogram);
        self.merged.merge(histogram);
    }

    /// From means over time, as imported evidence holds them: only the mean can be compared.
    #[must_use]
    pub fn of_means(series: &measure::imported::Series) -> WaitSeries {
        let mut blocks = Blocks::new();
        for point in &series.points {
            let count = point.count as f64;
            blocks.push_rate(point.mean_ns * count, count);
        }
        WaitSeries {
            blocks,
            distribution: series.distribution.as_deref().cloned(),
            ..WaitSeries::new()
        }
    }

    /// From single events in their order, nanoseconds.
    #[must_use]
    pub fn of_events(events: &[u64]) -> WaitSeries {
        let mut merged = Histogram::new();
        for event in events {
            merged.record(*event);
        }
        WaitSeries {
            blocks: Blocks::of_events(events),
            merged,
            distribution: None,
            basis: Basis::Events,
        }
    }
}

impl Default for WaitSeries {
    fn default() -> WaitSeries {
        WaitSeries::new()
    }
}

/// A run to compare.
#[derive(Clone, Debug)]
pub struct Side {
    /// What it is called.
    pub name: String,
    /// The run.
    pub run: Run,
    /// It was finished.
    pub complete: bool,
    /// Series by wait-event key, for each row of the run in its order; the last rows may have none.
    pub series: Vec<BTreeMap<String, WaitSeries>>,
}

/// What a comparison says of a run that is all of `rounds`. Where those were judged differently,
/// the worst counts.
fn compared(
    name: &str,
    run: &Run,
    rounds: &[&Run],
    (complete, has_events): (bool, bool),
) -> ComparedRun {
    let layers = run.target.stack.layers.iter();
    let detail: Vec<&str> = layers
        .flat_map(|l| [l.name.as_str(), l.model.as_deref().unwrap_or("")])
        .filter(|s| !s.is_empty())
        .collect();
    let verdicts = || rounds.iter().filter_map(|run| run.verdict.as_ref());
    let durability = rounds
        .iter()
        .filter_map(|run| durability_of(run))
        .max_by_key(|d| d.badness());
    let basis = verdicts().find(|v| Some(v.durability) == durability);
    ComparedRun {
        name: name.to_owned(),
        run_id: run.run_id.clone(),
        round_ids: Vec::new(),
        origin: run.origin,
        created: run.created.clone(),
        complete,
        valid: run.validity.valid,
        problems: run.validity.problems.clone(),
        target_kind: run.target.kind.clone(),
        target_path: run.target.path.clone(),
        target_detail: detail.join(", "),
        has_events,
        tags: run.notes.tags.clone(),
        verdict: verdicts().map(|v| v.answer).max_by_key(|a| a.badness()),
        durability,
        durability_basis: basis.and_then(|v| v.durability_basis.clone()),
        performance: verdicts()
            .map(|v| v.performance)
            .max_by_key(|p| p.badness()),
    }
}
