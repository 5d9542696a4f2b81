//! The answer of two sets of evidence: what changed, and whether the device explains it.
//!
//! Invariant: nobody wins between documents; a figure without an interval has changed only where it
//! differs by a share that is worth a word.

use super::super::AccountAnswer;
use super::super::answer::capitalised;
use super::figures::metric_name;
use super::{of_run, value};
use crate::figures::TIME_PER_WAIT;
use crate::findings::diagnosis::before_after::BeforeAfter;
use crate::findings::diagnosis::{self, explained_by_writes};
use measure::comparison::{BEFORE_AFTER, Better, Comparison, Difference, EVIDENCE_TABLE};
use measure::imported::Cell;
use measure::judgement::Weight;
use measure::run::Origin;
use measure::words;

/// Part of a figure by which it has to differ where no interval is known.
const ALIKE: f64 = 0.05;

/// Times as much redo that explains longer log writes.
const MORE_REDO: f64 = 2.0;

/// What two sets of evidence show of the same thing.
fn before_after(c: &Comparison) -> Vec<BeforeAfter> {
    let rows = c.tables.iter().filter(|t| t.id == BEFORE_AFTER);
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => text.clone(),
        _ => String::new(),
    };
    let of = |row: &Vec<Cell>| match row.as_slice() {
        [what, before, after, change] => Some(BeforeAfter {
            what: text(what),
            before: text(before),
            after: text(after),
            change: text(change),
        }),
        _ => None,
    };
    rows.flat_map(|t| &t.rows).filter_map(of).collect()
}

/// Of two sets of evidence without a row in common, what else both show.
pub(super) fn paired(c: &Comparison) -> Option<AccountAnswer> {
    const SHOWN: usize = 4;
    let all = before_after(c);
    let mut words = all.iter().map(BeforeAfter::in_words);
    let first = words.next()?;
    Some(AccountAnswer {
        words: capitalised(&first),
        why: words.take(SHOWN).map(|of| capitalised(&of)).collect(),
        ..AccountAnswer::default()
    })
}

/// Of two sets of evidence, which nobody wins: what commits and log writes took before and after,
/// and what that says of the device.
pub(super) fn changed(c: &Comparison) -> Option<AccountAnswer> {
    let is_evidence = c.runs.iter().all(|run| run.origin == Origin::Imported);
    let of = |metric: &str| {
        let known = of_run(c, 1).filter(|d| d.a.is_some() && d.ratio.is_some());
        known.filter(|_| is_evidence).find(|d| d.metric == metric)
    };
    let moved = |d: &Difference| {
        let is_far = d.ratio.is_some_and(|ratio| (ratio - 1.0).abs() > ALIKE);
        is_far && d.significant != Some(false)
    };
    let phrase = |d: &Difference| {
        let event = metric_name(&d.metric);
        let event = event.trim_end_matches(", mean");
        let [before, after] = [d.a, d.b].map(|v| value(v, &d.unit).words(""));
        match moved(d) {
            true => {
                let change = d.ratio.map_or_else(String::new, words::change);
                format!("{event} {before} to {after} ({change})")
            }
            false => format!("{event} unchanged at {after}"),
        }
    };
    let sync = of("log_file_sync.mean").or_else(|| of("commit_latency.mean"));
    let stated = stated_write(c).filter(|_| is_evidence);
    let write = of("log_file_parallel_write.mean").or(stated.as_ref());
    let rate = of("commit_throughput_tps");
    let first = sync.or(write).or(rate)?;
    let ends = |d: &Difference| Some([d.a?, d.b?]);
    let changed = sync.filter(|d| moved(d) && d.metric.starts_with("log_file_sync"));
    let both = changed.and_then(ends).zip(write.and_then(ends));
    let cause = both.and_then(|(sync, write)| explained_by_writes(sync, write));
    let redo = of("redo_data_mbps").filter(|d| moved(d));
    let is_more = |d: &&Difference| d.ratio.is_some_and(|ratio| ratio > MORE_REDO);
    let slower = write.is_some_and(|d| moved(d) && d.ratio > Some(1.0));
    let cause = match redo.filter(is_more).filter(|_| slower) {
        Some(d) => {
            let times = d.ratio.map_or_else(String::new, words::change);
            Some(format!(
                "there is more redo ({times}), and larger log writes take longer, so look at what makes the \
                 redo before the device"
            ))
        }
        None => cause.map(str::to_owned),
    };
    let parts: Vec<String> = [sync, write, rate, redo]
        .into_iter()
        .flatten()
        .map(phrase)
        .collect();
    let diagnoses = before_after(c)
        .into_iter()
        .filter(BeforeAfter::is_diagnosis);
    let diagnoses = diagnoses.map(|of| capitalised(&of.in_words()));
    let decided = c.decisions.first();
    let decided = decided.map(|of| format!("{} {}", of.reason, of.durability));
    let is_worse = (first.better == Better::Lower) == (first.ratio > Some(1.0));
    Some(AccountAnswer {
        words: capitalised(&parts.join("; ")),
        weight: match (moved(first), is_worse) {
            (false, _) => Weight::Info,
            (true, true) => Weight::Caution,
            (true, false) => Weight::Good,
        },
        why: cause.into_iter().chain(diagnoses).chain(decided).collect(),
        ..AccountAnswer::default()
    })
}

/// Log file parallel write of two reports, which have it in their tables alone.
fn stated_write(c: &Comparison) -> Option<Difference> {
    let like = of_run(c, 1).find(|d| d.metric == "log_file_sync.mean")?;
    let tables = c.tables.iter().filter(|table| table.id == EVIDENCE_TABLE);
    let found = tables
        .flat_map(|t| &t.rows)
        .find_map(|row| match row.as_slice() {
            [
                Cell::Text(place),
                Cell::Text(name),
                Cell::Real(a),
                Cell::Real(b),
                ..,
            ] => {
                let is_it = place.ends_with(diagnosis::WRITE) && name.starts_with(TIME_PER_WAIT);
                is_it.then_some((*a, *b))
            }
            _ => None,
        });
    let (a, b) = found.filter(|(a, _)| *a > 0.0)?;
    Some(Difference {
        metric: "log_file_parallel_write.mean".to_owned(),
        a: Some(a * 1e6),
        b: Some(b * 1e6),
        ratio: Some(b / a),
        ..like.clone()
    })
}
