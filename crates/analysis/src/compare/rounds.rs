//! Differences of interleaved rounds: A B, B A, A B …
//!
//! **Rounds are the unit of replication.** A round is one whole run of a row; what happens within
//! it is summed up in one figure, however many commits that was: within a round commits share the
//! state of the machine, so that they are no independent witnesses. Round i of a target and round
//! i of the base stand next to each other in time and make a pair; of the pairs' logarithms of the
//! ratio a Student interval is taken (paired t test), with as many degrees of freedom as there are
//! pairs less one. What drifts slowly cancels, since every second pair is turned around.
//!
//! **One set of figures.** The figure of a target is the geometric mean of its rounds, in every
//! table and format: the ratio of two such means *is* the geometric mean of the pairs' ratios, so
//! that a ratio can be recomputed from the figures beside it. A percentile of all rounds merged
//! would be that of the worst round, and an interval about it covers too little.

use super::live::{LiveSide, ROUNDS_MIN};
use super::metrics::{self, ROW, WAIT};
use super::stored::{Effects, begun, blank, judged};
use super::{Options, compared, decision, distribution, pairing, pooled, words};
use crate::stats::{Moments, StatsRefusal, blocks};
use measure::Histogram;
use measure::comparison::{Basis, Better, Comparison, Difference, NotCompared};
use measure::run::{Problem, Row, Run, WaitStats, problems};
use std::collections::BTreeMap;

/// Compares the first target with each of the others.
#[must_use]
pub fn compare(sides: &[LiveSide], options: &Options) -> Comparison {
    let least = sides.iter().map(|s| s.rounds.len()).min().unwrap_or(0);
    let mut comparison = begun(options, u32::try_from(least).ok());
    comparison.method.notes = notes(least);
    comparison.method.figures = figures(least);
    let told = sides.iter().filter_map(|side| {
        let rounds: Vec<&Run> = side.rounds.iter().map(|r| &r.run).collect();
        let mut told = compared(&side.name, &joined(side)?, &rounds, (true, false));
        told.round_ids = side.rounds.iter().map(|r| r.run.run_id.clone()).collect();
        Some(told)
    });
    comparison.runs = told.collect();
    let Some((base, others)) = sides.split_first() else {
        return comparison;
    };
    for (i, other) in others.iter().enumerate() {
        let run_b = i + 1;
        if let (Some(a), Some(b)) = (base.rounds.first(), other.rounds.first()) {
            let (pairs, lone) = pairing::rows(&a.run, &b.run, run_b);
            let is_new = |n: &NotCompared| !options.asked.contains(&n.what);
            comparison
                .not_compared
                .extend(lone.into_iter().filter(is_new));
            for places in pairs {
                let pair = Pair {
                    base,
                    other,
                    run_b,
                    places,
                };
                comparison
                    .differences
                    .extend(pair.differences(options.level));
            }
        }
    }
    for (run, side) in sides.iter().enumerate() {
        let rows = side.rounds.first().map_or(0, |r| r.run.rows.len());
        for row in 0..rows {
            for (event, histogram) in pooled(side, row) {
                if let Some(shown) = side.rounds.first().and_then(|r| r.run.rows.get(row)) {
                    let drawn = distribution::of(run, shown, &event, &histogram);
                    comparison.distributions.push(drawn);
                }
            }
        }
    }
    comparison.tables = pooled::tables(sides, least);
    decision::decide(&mut comparison, &options.conditions);
    comparison
}

/// What the figures of a comparison of so many rounds are.
fn figures(rounds: usize) -> String {
    match rounds {
        0 | 1 => {
            "Base and other are the figures of one round; a ratio is the other divided by the base."
                .to_owned()
        }
        n => format!(
            "Base and other are geometric means of {n} rounds; a ratio is the other divided by the base."
        ),
    }
}

fn notes(rounds: usize) -> Vec<String> {
    vec![
        format!(
            "Rounds are the unit of replication: {rounds} pairs of rounds, in alternating order \
             (A B, B A). Commits within a round share the state of the machine and together count \
             as one sample."
        ),
        "A figure is the geometric mean of the rounds, so that a ratio is also the geometric mean of \
         the ratios of the pairs; interval and p-value are those of a paired t test of their \
         logarithms. Longest waits, numbers of outliers and curves are of all rounds merged."
            .to_owned(),
        format!("With fewer than {ROUNDS_MIN} rounds no difference is called significant."),
        "P-values are not corrected for multiple comparisons: of 100 metrics of two equal targets, \
         about 5 are reported as significant."
            .to_owned(),
    ]
}

/// The first round's run with the problems of all rounds, each once per row.
fn joined(side: &LiveSide) -> Option<Run> {
    let mut run = side.rounds.first()?.run.clone();
    for round in side.rounds.iter().skip(1) {
        run.validity.valid &= round.run.validity.valid;
        for line in &round.run.validity.shortened {
            if !run.validity.shortened.contains(line) {
                run.validity.shortened.push(line.clone());
            }
        }
        for problem in &round.run.validity.problems {
            let kind = |p: &Problem| {
                (
                    p.id.clone(),
                    problems::row_of(&p.detail).0.map(str::to_owned),
                )
            };
            let known = &run.validity.problems;
            if !known.iter().any(|p| kind(p) == kind(problem)) {
                run.validity.problems.push(problem.clone());
            }
        }
    }
    Some(run)
}

/// All rounds of a row, by event.
fn pooled(side: &LiveSide, row: usize) -> BTreeMap<String, Histogram> {
    let mut all: BTreeMap<String, Histogram> = BTreeMap::new();
    for round in &side.rounds {
        for (event, histogram) in round.merged.get(row).into_iter().flatten() {
            if event != "commits_per_write" {
                all.entry(event.clone()).or_default().merge(histogram);
            }
        }
    }
    all
}

struct Pair<'a> {
    base: &'a LiveSide,
    other: &'a LiveSide,
    run_b: usize,
    places: (usize, usize),
}

impl Pair<'_> {
    fn differences(&self, level: f64) -> Vec<Difference> {
        let rows = |side: &LiveSide, at: usize| -> Vec<Row> {
            let rows = side.rounds.iter().filter_map(|r| r.run.rows.get(at));
            rows.cloned().collect()
        };
        let (ra, rb) = (
            rows(self.base, self.places.0),
            rows(self.other, self.places.1),
        );
        let Some(shown) = ra.first() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for metric in &ROW {
            let mut d = blank(
                metric.key.to_owned(),
                shown,
                self.run_b,
                metric.unit,
                metric.better,
            );
            let values =
                |rows: &[Row]| -> Vec<Option<f64>> { rows.iter().map(|r| metric.of(r)).collect() };
            let (va, vb) = (values(&ra), values(&rb));
            paired(&mut d, &va, &vb, level);
            found.push(d);
        }
        let (pa, pb) = (
            pooled(self.base, self.places.0),
            pooled(self.other, self.places.1),
        );
        for event in metrics::events() {
            let of = |rows: &[Row]| -> Vec<Option<WaitStats>> {
                rows.iter()
                    .map(|r| metrics::wait_of(r, event).cloned())
                    .collect()
            };
            let (wa, wb) = (of(&ra), of(&rb));
            let (Some(ha), Some(hb)) = (pa.get(event), pb.get(event)) else {
                continue;
            };
            let effects = Effects::of(ha, hb);
            for metric in &WAIT {
                let name = format!("{event}.{}", metric.name);
                let mut d = blank(name, shown, self.run_b, metric.unit, Better::Lower);
                let merged = (metric.of_histogram(ha), metric.of_histogram(hb));
                let is_zero = merged.0.unwrap_or(0.0) == 0.0 && merged.1.unwrap_or(0.0) == 0.0;
                if metric.statistic.is_none() || is_zero {
                    (d.a, d.b) = merged;
                    let why = "single extremes have none; it is of all rounds merged";
                    match metric.is_count() {
                        true => words::tell_exact(&mut d, "it is a count of all rounds"),
                        false => words::tell_bare(&mut d, why),
                    }
                    found.push(d);
                    continue;
                }
                effects.put(&mut d, metric);
                let values = |waits: &[Option<WaitStats>]| -> Vec<Option<f64>> {
                    waits
                        .iter()
                        .map(|w| w.as_ref().and_then(|w| metric.of(w)))
                        .collect()
                };
                paired(&mut d, &values(&wa), &values(&wb), level);
                found.push(d);
            }
        }
        found
    }
}

/// The paired comparison of two lists of rounds.
fn paired(d: &mut Difference, a: &[Option<f64>], b: &[Option<f64>], level: f64) {
    let pairs = a.len().min(b.len());
    let (a, b) = (a.split_at(pairs).0, b.split_at(pairs).0);
    (d.units_a, d.units_b) = (pairs as u64, pairs as u64);
    (d.a, d.b) = (pooled::figure(a), pooled::figure(b));
    let logs: Vec<f64> = a
        .iter()
        .zip(b)
        .filter_map(|(a, b)| Some((b.filter(|v| *v > 0.0)? / a.filter(|v| *v > 0.0)?).ln()))
        .collect();
    if logs.len() < pairs {
        words::tell_bare(d, "missing or zero in at least one round");
        return;
    }
    if logs.len() < 2 {
        words::tell_bare(
            d,
            "one pair of rounds; at least two are needed to show how much rounds vary",
        );
        return;
    }
    let ratio = Moments::of(&logs).and_then(|m| {
        let se = m.variance_of_mean().sqrt();
        if se == 0.0 && m.mean == 0.0 {
            return Err(StatsRefusal::Constant);
        }
        blocks::of_ln(m.mean, se, m.n - 1.0, level)
    });
    match ratio {
        Ok(ratio) if pairs < ROUNDS_MIN => {
            d.basis = Basis::Rounds;
            words::tell_undecided(d, &ratio, ROUNDS_MIN);
        }
        ratio => judged(d, ratio, Basis::Rounds),
    }
}
