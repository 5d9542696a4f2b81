//! Which run is better: row by row, by commits per second and the 99th percentile of what a commit
//! waits, with absolute figures and intervals.
//!
//! Invariants: there is no winner without an interval that excludes equality, none by a negligible
//! difference, none of fewer rounds than a decision needs, and none where a run is invalid.

use super::live;
use measure::comparison::{Better, Comparison, Difference, RowAnswer, RowOutcome, Size};

/// Metrics that decide, in the order in which they are printed. Of the percentiles the first one
/// that a row has is taken.
const THROUGHPUT: &str = "commit_throughput_tps";
const P99: [&str; 2] = ["log_file_sync.p99", "commit_latency.p99"];

/// The answers of all rows, in the order of the differences.
#[must_use]
pub fn of(c: &Comparison) -> Vec<RowAnswer> {
    let mut rows: Vec<(&Difference, Vec<usize>)> = Vec::new();
    for (at, d) in c.differences.iter().enumerate() {
        let starts = rows.last().is_none_or(|(first, _)| {
            // Points of a sweep follow each other under one name: each begins with the throughput.
            let same = (&first.workload, first.jobs, first.run_b) == (&d.workload, d.jobs, d.run_b);
            !same || d.metric == first.metric
        });
        match rows.last_mut() {
            Some((_, all)) if !starts => all.push(at),
            _ => rows.push((d, vec![at])),
        }
    }
    rows.iter().filter_map(|(_, all)| answer(c, all)).collect()
}

/// The answer of the row whose differences are at these places.
fn answer(c: &Comparison, places: &[usize]) -> Option<RowAnswer> {
    let find = |metric: &str| {
        let is_it = |at: &&usize| c.differences.get(**at).is_some_and(|d| d.metric == metric);
        places.iter().find(is_it).copied()
    };
    let usable = |at: &usize| c.differences.get(*at).is_some_and(|d| d.ratio.is_some());
    let p99 = P99.iter().find_map(|m| find(m).filter(usable));
    let by: Vec<usize> = find(THROUGHPUT)
        .filter(usable)
        .into_iter()
        .chain(p99)
        .collect();
    let of: Vec<&Difference> = by.iter().filter_map(|at| c.differences.get(*at)).collect();
    let first = *of.first()?;
    let sound = |run: usize| c.runs.get(run).is_some_and(|r| r.valid && r.complete);
    let (outcome, winner) = match sound(first.run_a) && sound(first.run_b) {
        true => judged(&of),
        false => (RowOutcome::Invalid, None),
    };
    let name = |run: usize| c.runs.get(run).map_or("?", |r| r.name.as_str());
    let (base, other) = (name(first.run_a), name(first.run_b));
    let head = match (outcome, winner) {
        (RowOutcome::Better, Some(run)) => {
            let than = if run == first.run_a { other } else { base };
            format!("{} is better than {than}", name(run))
        }
        (RowOutcome::Mixed, _) => format!("{base} and {other} are each better in one figure"),
        (RowOutcome::TooFewRounds, _) => "too few rounds to decide".to_owned(),
        (RowOutcome::Invalid, _) => "no answer, since a run is invalid or unfinished".to_owned(),
        (RowOutcome::NoInterval, _) => "no interval, so nothing can be decided".to_owned(),
        _ => "no difference found that matters".to_owned(),
    };
    let figures: Vec<String> = of.iter().map(|d| in_words(d)).collect();
    Some(RowAnswer {
        workload: first.workload.clone(),
        jobs: first.jobs,
        run_b: first.run_b,
        outcome,
        winner,
        sentence: format!("{head}: {}", figures.join("; ")),
        by,
    })
}

/// What the figures decide, and for whom.
fn judged(of: &[&Difference]) -> (RowOutcome, Option<usize>) {
    if of.iter().any(|d| live::undecided(d)) {
        return (RowOutcome::TooFewRounds, None);
    }
    if of.iter().all(|d| d.significant.is_none()) {
        return (RowOutcome::NoInterval, None);
    }
    let mut winners: Vec<usize> = of.iter().filter_map(|d| better(d)).collect();
    winners.dedup();
    match winners.as_slice() {
        [] => (RowOutcome::NoDifference, None),
        [one] => (RowOutcome::Better, Some(*one)),
        _ => (RowOutcome::Mixed, None),
    }
}

/// The run with the better figure, where the difference is significant and matters.
fn better(d: &Difference) -> Option<usize> {
    let matters = d.significant == Some(true) && d.size > Some(Size::Negligible);
    let ratio = d.ratio.filter(|_| matters)?;
    match d.better {
        Better::Higher if ratio > 1.0 => Some(d.run_b),
        Better::Lower if ratio < 1.0 => Some(d.run_b),
        Better::Higher | Better::Lower => Some(d.run_a),
        Better::Neither => None,
    }
}

/// `commits per second 4,739 to 6,366 (+34.3 %, from +28.0 % to +41.0 %)`.
fn in_words(d: &Difference) -> String {
    let figure = |v: Option<f64>| match (v, d.unit.as_str()) {
        (None, _) => "-".to_owned(),
        (Some(v), "ns") => crate::format::latency(v),
        (Some(v), _) => crate::format::digits(v),
    };
    let change = d.ratio.map_or_else(String::new, crate::format::change);
    let interval = match d.ci_low.zip(d.ci_high) {
        Some((low, high)) => format!(
            ", from {} to {}",
            crate::format::change(low),
            crate::format::change(high)
        ),
        None => String::new(),
    };
    let name = name(d);
    let (a, b) = (figure(d.a), figure(d.b));
    format!("{name} {a} to {b} ({change}{interval})")
}

/// A deciding figure in the words of a reader.
fn name(d: &Difference) -> String {
    match d.metric.as_str() {
        THROUGHPUT => "commits per second".to_owned(),
        other => match other.split_once('.') {
            Some((event, statistic)) => format!("{statistic} of {}", event.replace('_', " ")),
            None => other.replace('_', " "),
        },
    }
}
