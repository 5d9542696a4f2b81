//! Everything that a comparison decides, in one place: which row and which run is better, what the
//! conditions say, and how the command ends. Every output prints this and decides nothing.
//!
//! Invariants: there is no winner without an interval that excludes equality, none by a negligible
//! difference, none of fewer rounds than a decision needs, and none where a run is invalid. What
//! loses acknowledged commits never wins over what is not known to lose them.

use super::condition::FailIf;
use super::live::{self, ROUNDS_MIN};
use super::words::cannot_tell;
use crate::format;
use crate::verdict::{EXIT_NO, EXIT_UNDETERMINED};
use measure::comparison::{
    Better, Comparison, ConditionState, Decision, Difference, RowAnswer, RowOutcome, Size,
};
use measure::judgement::Durability;
use measure::run::Origin;

/// Metrics that decide, in the order in which they are printed. Of the percentiles the first one
/// that a row has is taken.
const THROUGHPUT: &str = "commit_throughput_tps";
const P99: [&str; 2] = ["log_file_sync.p99", "commit_latency.p99"];

/// Why nothing is decided of figures that were read from documents.
const DOCUMENTS: &str = "A difference is decided by its interval, and no interval is known of \
    published or imported figures. The figures below are those of the documents.";

/// Completes a comparison whose runs, differences and tables are known.
pub fn decide(c: &mut Comparison, conditions: &[FailIf]) {
    c.conditions = conditions
        .iter()
        .map(|condition| condition.judge(c))
        .collect();
    // Only a condition asks for a figure that neither run has, or that is zero in both.
    c.differences.retain(|d| !says_nothing(d));
    c.answers = answers(c);
    c.decisions = (1..c.runs.len()).map(|run| decision(c, run)).collect();
    c.exit_code = exit_code(c);
}

/// Whether nothing follows from a difference for a reader: no figure, or waits of which there were
/// none in both runs.
fn says_nothing(d: &Difference) -> bool {
    let is_wait = d.metric.contains('.');
    let is_nothing = |v: Option<f64>| v.is_none_or(|v| is_wait && v == 0.0);
    is_nothing(d.a) && is_nothing(d.b)
}

/// A breach weighs more than what could not be decided.
fn exit_code(c: &Comparison) -> u8 {
    let any = |state| {
        c.conditions
            .iter()
            .any(|condition| condition.state == state)
    };
    match any(ConditionState::Breached) {
        true => EXIT_NO,
        false if any(ConditionState::Undetermined) => EXIT_UNDETERMINED,
        false if !c.has_pairs() || c.runs.iter().any(|r| !r.is_sound()) => EXIT_UNDETERMINED,
        false => 0,
    }
}

/// The answers of all rows, in the order of the differences.
fn answers(c: &Comparison) -> Vec<RowAnswer> {
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
    let (outcome, faster) = match is_sound(c, first.run_b) {
        true => judged(&of),
        false => (RowOutcome::Invalid, None),
    };
    let (outcome, winner) = match faster {
        Some(faster) => won(c, first.run_b, faster),
        None => (outcome, None),
    };
    let (base, other) = (name(c, first.run_a), name(c, first.run_b));
    let result = match (outcome, faster) {
        (RowOutcome::Better, Some(run)) => format!("{} is better", name(c, run)),
        (RowOutcome::NotDurable, Some(run)) => {
            let durability = c.runs.get(run).and_then(|r| r.durability);
            let durability = durability.map_or("", Durability::word);
            format!("{} is faster, but {durability}", name(c, run))
        }
        (RowOutcome::Mixed, _) => "each is better in one figure".to_owned(),
        (RowOutcome::TooFewRounds, _) => "too few rounds to decide".to_owned(),
        (RowOutcome::Invalid, _) => "a run is invalid or unfinished".to_owned(),
        (RowOutcome::NoInterval, _) => "no interval".to_owned(),
        (RowOutcome::CannotTell, _) => "cannot tell".to_owned(),
        _ => "no difference found".to_owned(),
    };
    let than = match (outcome, faster) {
        (RowOutcome::Better, Some(run)) if run == first.run_a => format!(" than {other}"),
        (RowOutcome::Better, Some(_)) => format!(" than {base}"),
        _ => String::new(),
    };
    let figures: Vec<String> = of.iter().map(|d| in_words(d)).collect();
    Some(RowAnswer {
        workload: first.workload.clone(),
        jobs: first.jobs,
        run_b: first.run_b,
        outcome,
        winner,
        faster,
        sentence: format!("{result}{than}: {}", figures.join("; ")),
        result,
        by,
    })
}

/// Whether the figures of both the run and the base are right and complete.
fn is_sound(c: &Comparison, run: usize) -> bool {
    [0, run]
        .iter()
        .all(|at| c.runs.get(*at).is_some_and(|r| r.is_sound()))
}

fn name(c: &Comparison, run: usize) -> &str {
    c.runs.get(run).map_or("?", |r| r.name.as_str())
}

/// What the figures decide, and which run has the better ones.
fn judged(of: &[&Difference]) -> (RowOutcome, Option<usize>) {
    if of.iter().any(|d| live::undecided(d)) {
        return (RowOutcome::TooFewRounds, None);
    }
    if of.iter().all(|d| d.significant.is_none()) {
        return (RowOutcome::NoInterval, None);
    }
    let mut better: Vec<usize> = of.iter().filter_map(|d| better(d)).collect();
    better.dedup();
    match better.as_slice() {
        [] if of.iter().any(|d| cannot_tell(d)) => (RowOutcome::CannotTell, None),
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

/// What the better figures of `faster` mean where `run` is compared with the base.
fn won(c: &Comparison, run: usize, faster: usize) -> (RowOutcome, Option<usize>) {
    let slower = if faster == run { 0 } else { run };
    let loses = |at: usize| c.runs.get(at).is_some_and(|r| r.loses_commits());
    match loses(faster) && !loses(slower) {
        true => (RowOutcome::NotDurable, None),
        false => (RowOutcome::Better, Some(faster)),
    }
}

/// Why a run that loses commits does not win.
fn lost(c: &Comparison, run: usize) -> &'static str {
    match c.runs.get(run).and_then(|r| r.durability) {
        Some(Durability::Refuted) => "a power test lost its commits (refuted)",
        _ => "loses its commits without power (volatile)",
    }
}

/// What the rows of a run decide together.
fn decision(c: &Comparison, run: usize) -> Decision {
    let rows: Vec<&RowAnswer> = c.answers.iter().filter(|a| a.run_b == run).collect();
    let is = |outcome: RowOutcome| rows.iter().filter(|a| a.outcome == outcome).count();
    let better = |side: usize| {
        let better = rows.iter().filter(|a| a.faster == Some(side)).count();
        better + is(RowOutcome::Mixed) > 0
    };
    let (outcome, faster) = match (better(run), better(0)) {
        _ if !is_sound(c, run) => (RowOutcome::Invalid, None),
        _ if rows.is_empty() => (RowOutcome::NotComparable, None),
        _ if has_few_rounds(c) => (RowOutcome::TooFewRounds, None),
        _ if is(RowOutcome::NoInterval) == rows.len() => (RowOutcome::NoInterval, None),
        (true, true) => (RowOutcome::Mixed, None),
        (true, false) => (RowOutcome::Better, Some(run)),
        (false, true) => (RowOutcome::Better, Some(0)),
        (false, false) if is(RowOutcome::CannotTell) > 0 => (RowOutcome::CannotTell, None),
        (false, false) => (RowOutcome::NoDifference, None),
    };
    let (outcome, winner) = faster.map_or((outcome, None), |faster| won(c, run, faster));
    Decision {
        run_b: run,
        outcome,
        winner,
        answer: in_few_words(c, outcome, faster),
        reason: reason(c, run, outcome, &rows),
        durability: durability(c, run),
    }
}

fn in_few_words(c: &Comparison, outcome: RowOutcome, faster: Option<usize>) -> String {
    match (outcome, faster) {
        (RowOutcome::Better, Some(run)) => format!("{} wins", name(c, run)),
        (RowOutcome::NotDurable, Some(run)) => {
            let lost = lost(c, run);
            format!("No winner: {} is faster, but {lost}", name(c, run))
        }
        (RowOutcome::Invalid, _) => "No winner: a run is invalid or unfinished".to_owned(),
        (RowOutcome::NotComparable, _) => {
            "No winner: the runs share no row that decides".to_owned()
        }
        (RowOutcome::TooFewRounds, _) => "Too few rounds to decide".to_owned(),
        (RowOutcome::NoInterval, _) => "No interval, so nothing can be decided".to_owned(),
        (RowOutcome::CannotTell, _) => "Cannot tell".to_owned(),
        (RowOutcome::Mixed, _) => "Neither wins".to_owned(),
        _ => "No difference found".to_owned(),
    }
}

/// Too few rounds were made to decide anything.
pub(crate) fn has_few_rounds(c: &Comparison) -> bool {
    c.method
        .rounds
        .is_some_and(|n| usize::try_from(n).is_ok_and(|n| n < ROUNDS_MIN))
}

/// Why, in a sentence or two.
fn reason(c: &Comparison, run: usize, outcome: RowOutcome, rows: &[&RowAnswer]) -> String {
    let all = counts(c, run, rows);
    match outcome {
        RowOutcome::NotComparable => {
            "Commits per second and the 99th percentile of log file sync or commit latency decide."
                .to_owned()
        }
        RowOutcome::TooFewRounds => format!(
            "{} of each were made, and at least {ROUNDS_MIN} are needed (--rounds {ROUNDS_MIN}). The figures below are what was measured so far.",
            format::plural(u64::from(c.method.rounds.unwrap_or(0)), "round"),
        ),
        RowOutcome::NoInterval if of_documents(c, run) => DOCUMENTS.to_owned(),
        RowOutcome::NoInterval => format!(
            "A difference is decided by its interval, and these runs were too short for one. Measure both in rounds (redolab compare --on NAME=PATH --on NAME=PATH, at least {ROUNDS_MIN} rounds), or for longer. The figures below are what was measured."
        ),
        RowOutcome::CannotTell => format!(
            "{all} The intervals contain both a gain and a harm that matter: measure for longer, or in more rounds."
        ),
        RowOutcome::NoDifference => {
            format!("{all} That does not prove that they are equal: see the intervals.")
        }
        _ => all,
    }
}

/// Whether the run or the base was not measured but read from documents.
fn of_documents(c: &Comparison, run: usize) -> bool {
    let is_imported = |at: usize| c.runs.get(at).is_some_and(|r| r.origin == Origin::Imported);
    is_imported(0) || is_imported(run)
}

/// `Of 3 rows (by throughput and p99): b is better than a in 2; cannot tell in 1.`
fn counts(c: &Comparison, run: usize, rows: &[&RowAnswer]) -> String {
    let count = |fits: &dyn Fn(&RowAnswer) -> bool| rows.iter().filter(|a| fits(a)).count();
    let faster = |side: usize| count(&|a| a.faster == Some(side));
    let is = |outcome: RowOutcome| count(&|a| a.outcome == outcome);
    let (base, other) = (name(c, 0), name(c, run));
    let word = |winner: usize| match won(c, run, winner).0 {
        RowOutcome::NotDurable => "faster",
        _ => "better",
    };
    let parts = [
        (faster(run), format!("{other} is {} than {base}", word(run))),
        (faster(0), format!("{base} is {} than {other}", word(0))),
        (
            is(RowOutcome::Mixed),
            "each is better in one figure".to_owned(),
        ),
        (
            is(RowOutcome::NoDifference),
            "no difference found that matters".to_owned(),
        ),
        (is(RowOutcome::CannotTell), "cannot tell".to_owned()),
        (is(RowOutcome::NoInterval), "no interval".to_owned()),
    ];
    let told = parts.iter().filter(|(n, _)| *n > 0);
    let told: Vec<String> = told.map(|(n, what)| format!("{what} in {n}")).collect();
    match told.is_empty() {
        true => String::new(),
        false => format!(
            "Of {} (by throughput and p99): {}.",
            format::plural(rows.len() as u64, "row"),
            told.join("; ")
        ),
    }
}

/// The durability of a run and the base, and what follows from it.
fn durability(c: &Comparison, run: usize) -> String {
    let (Some(a), Some(b)) = (c.runs.first(), c.runs.get(run)) else {
        return String::new();
    };
    let follows = match (a.loses_commits(), b.loses_commits()) {
        (true, true) => " Neither keeps its acknowledged commits when the power fails.".to_owned(),
        (true, false) => lost_by(&a.name),
        (false, true) => lost_by(&b.name),
        (false, false) => String::new(),
    };
    format!(
        "Durability: {} {}, {} {}.{follows}",
        a.name,
        a.durability_in_words(),
        b.name,
        b.durability_in_words()
    )
}

fn lost_by(name: &str) -> String {
    format!(" {name} loses its acknowledged commits when the power fails.")
}

/// `commits per second 4,739 to 6,366 (+34.3 %, from +28.0 % to +41.0 %)`.
fn in_words(d: &Difference) -> String {
    let figure = |v: Option<f64>| match (v, d.unit.as_str()) {
        (None, _) => "-".to_owned(),
        (Some(v), "ns") => format::latency(v),
        (Some(v), _) => format::digits(v),
    };
    let change = d.ratio.map_or_else(String::new, format::change);
    let interval = match d.ci_low.zip(d.ci_high) {
        Some((low, high)) => format!(", from {}", format::change_range(low, high)),
        None => String::new(),
    };
    let name = figure_name(d);
    let (a, b) = (figure(d.a), figure(d.b));
    format!("{name} {a} to {b} ({change}{interval})")
}

/// A deciding figure in the words of a reader.
fn figure_name(d: &Difference) -> String {
    match d.metric.as_str() {
        THROUGHPUT => "commits per second".to_owned(),
        other => match other.split_once('.') {
            Some((event, statistic)) => format!("{statistic} of {}", event.replace('_', " ")),
            None => other.replace('_', " "),
        },
    }
}
