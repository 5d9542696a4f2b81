//! Runs beside each other: which one wins, by which figures, and what is not comparable.
//!
//! Invariants: the first run is the base; nothing is decided here, [`crate::compare::decision`] has
//! done so; what is not comparable is listed, never left out.

mod changed;
mod figures;

pub use figures::{headline_table, level, line_name, of_run, rank, table, value};

use super::{
    Account, AccountAnswer, AccountColumn, AccountFact, AccountTable, Body, ColumnHeading, Section,
    Shown, Statement, figure, imported, label,
};
use changed::{changed, paired};
use figures::{busiest, cell, change_in_words, figures, headline, is_shown, metric_name};
use measure::comparison::{
    Better, ComparedRun, Comparison, ConditionState, Difference, RowOutcome,
};
use measure::judgement::Weight;
use measure::run::{Problem, problems};
use measure::words;
use std::borrow::Cow;

/// Runs whose differences are all shown without being asked for: more are a table of all runs.
const FEW_RUNS: usize = 2;

/// The name of a run.
#[must_use]
pub fn run_name(c: &Comparison, run: usize) -> &str {
    c.runs.get(run).map_or("?", |r| r.name.as_str())
}

/// All of a comparison: of `all` figures, or of those that decide or differ.
#[must_use]
pub fn account(c: &Comparison, all: bool) -> Account {
    let names: Vec<&str> = c.runs.iter().map(|r| r.name.as_str()).collect();
    let mut origins: Vec<&str> = c.runs.iter().map(|r| r.origin.word()).collect();
    origins.dedup();
    let answer =
        match c.decisions.as_slice() {
            [decision] if c.runs.len() <= FEW_RUNS => changed(c)
                .or_else(|| paired(c))
                .unwrap_or_else(|| AccountAnswer {
                    words: decision.answer.clone(),
                    weight: weight(decision.outcome),
                    why: vec![format!("{} {}", decision.reason, decision.durability)],
                    ..AccountAnswer::default()
                }),
            _ => AccountAnswer::default(),
        };
    Account {
        question: names.join(" or "),
        answer: AccountAnswer {
            facts: facts(c),
            doubts: doubts(c),
            ..answer
        },
        sections: sections(c, all),
        origin: origins.join(", "),
        made: format!("{}, redolab {}", c.created, c.redolab_version),
    }
}

/// What is compared.
fn facts(c: &Comparison) -> Vec<AccountFact> {
    const SHOWN: usize = 6;
    let of = |(at, r): (usize, &ComparedRun)| {
        let role = if at == 0 { "Base" } else { "Compared" };
        let judged = r.judged_in_words();
        let mut parts = vec![&r.target_path, &r.target_detail, &judged];
        parts.retain(|part| !part.is_empty());
        let parts: Vec<&str> = parts.into_iter().map(String::as_str).collect();
        (role, r.name.clone(), parts.join(" · "))
    };
    c.runs.iter().enumerate().take(SHOWN).map(of).collect()
}

/// Why the figures may not mean what they seem to.
fn doubts(c: &Comparison) -> Vec<(Statement, &'static str)> {
    let doubt = |word: &str, claim: &str, section| {
        let of = Statement {
            weight: Weight::Caution,
            word: word.to_owned(),
            claim: format!("{}.", claim.trim_end_matches('.')),
            ..Statement::default()
        };
        (of, section)
    };
    let notices = c.notices.iter().map(|n| doubt("note", n, "method"));
    let problems = c
        .runs
        .iter()
        .filter_map(|r| Some(doubt(&r.name, &r.problems.first()?.detail, "runs")));
    let not = c.not_compared.iter().take(2);
    let not = not.map(|n| {
        let claim = format!("{}, {}", n.what, n.why);
        doubt("not comparable", &claim, "not-compared")
    });
    notices.chain(problems).chain(not).collect()
}

/// Its sections, in the order of a reader: the answer first.
fn sections(c: &Comparison, all: bool) -> Vec<Section> {
    let mut out = vec![Some(decision(c)), ranking(c)];
    let few = c.runs.len() <= FEW_RUNS;
    out.push(answers(c).filter(|_| all || few));
    out.push(matrix(c, all));
    let each = (1..c.runs.len()).filter(|_| all || few);
    out.extend(each.map(|run| differences(c, run, all)));
    out.extend([Some(runs(c)), not_compared(c)]);
    out.extend(tables(c).into_iter().map(Some));
    out.extend([Some(method(c)), conditions(c)]);
    out.into_iter().flatten().collect()
}

/// What was decided on each run.
#[must_use]
pub fn decision(c: &Comparison) -> Section {
    let of = |decision: &measure::comparison::Decision| Statement {
        weight: weight(decision.outcome),
        claim: format!(
            "{} against {}: {}.",
            run_name(c, decision.run_b),
            run_name(c, 0),
            decision.answer
        ),
        details: vec![decision.durability.clone(), decision.reason.clone()],
        ..Statement::default()
    };
    let mut body = vec![Body::Findings(c.decisions.iter().map(of).collect())];
    if !c.has_pairs() {
        body.push(Body::Text("Nothing is comparable.".to_owned()));
    }
    Section::of("decision", "Decision", "", body)
}

/// How an outcome weighs for a reader who looks for a winner.
#[must_use]
pub const fn weight(outcome: RowOutcome) -> Weight {
    match outcome {
        RowOutcome::Better => Weight::Good,
        RowOutcome::Mixed => Weight::Caution,
        RowOutcome::Invalid | RowOutcome::NotDurable => Weight::Bad,
        RowOutcome::TooFewRounds
        | RowOutcome::NoInterval
        | RowOutcome::NoDifference
        | RowOutcome::CannotTell
        | RowOutcome::NotComparable => Weight::Info,
    }
}

/// The runs: role, origin, target, verdict and durability, tags; and their problems.
#[must_use]
pub fn runs(c: &Comparison) -> Section {
    let fact = |(at, r): (usize, &ComparedRun)| {
        let role = if at == 0 { "base" } else { "compared" };
        let place = [&r.target_kind, &r.target_path, &r.target_detail].map(String::as_str);
        let wrong = "INVALID: its figures are wrong".to_owned();
        let cut = "INCOMPLETE: not finished; what it had written is compared".to_owned();
        let mut parts = vec![role.to_owned(), format!("origin: {}", r.origin.word())];
        parts.push(format!("target: {}", place.join(" ").trim()));
        parts.extend([r.judged_in_words(), r.tags_in_words()]);
        parts.extend((!r.valid).then_some(wrong));
        parts.extend((!r.complete).then_some(cut));
        parts.push(format!("run {}, {}", r.run_id, r.created));
        parts.retain(|part| !part.is_empty());
        (r.name.clone(), Shown::Text(parts.join("; ")))
    };
    let facts = c.runs.iter().enumerate().map(fact).collect();
    let each = (0..c.runs.len()).flat_map(|run| problems_of(c, run));
    let body = vec![Body::Facts(facts), Body::Findings(each.collect())];
    let about = "A difference is only as reliable as the worse of the two runs.";
    Section::of("runs", "Runs", about, body)
}

/// The problems of a run, each once; one that a run before it has too is named with that run.
fn problems_of(c: &Comparison, run: usize) -> Vec<Statement> {
    let (before, from) = c.runs.split_at(run);
    let all = from.first().map_or(&[][..], |run| &run.problems);
    let first = |problem: &Problem| {
        let has = |p: &Problem| problems::kind(p) == problems::kind(problem);
        before.iter().find(|run| run.problems.iter().any(has))
    };
    let (known, new): (Vec<Problem>, Vec<Problem>) =
        all.iter().cloned().partition(|p| first(p).is_some());
    let known = known.into_iter().filter_map(|problem| {
        let like = format!("as of {}", first(&problem)?.name);
        let detail = match problems::row_of(&problem.detail).0 {
            Some(row) => format!("{row}: {like}"),
            None => like,
        };
        Some(Problem { detail, ..problem })
    });
    let known: Vec<Problem> = known.collect();
    let each = problems::each_once(&new).into_iter();
    let each = each.chain(problems::each_once(&known));
    each.map(|p| Statement::problem(&p, &format!("{}: ", run_name(c, run))))
        .collect()
}

/// The figures that decide, row by row.
#[must_use]
pub fn answers(c: &Comparison) -> Option<Section> {
    let lines = c.answers.iter().flat_map(|answer| {
        let of = answer.by.iter().filter_map(|at| c.differences.get(*at));
        of.map(|d| (d, Some(answer.result.as_str())))
    });
    let table = figures(c, lines, true)?;
    let about = &c.method.figures;
    let mut body = vec![Body::Table(table)];
    if !about.is_empty() {
        body.push(Body::Text(about.clone()));
    }
    Some(Section::of("answers", "Figures that decide", "", body))
}

/// More than two runs in the order of their throughput at the highest load, with their intervals
/// and the durability of each.
#[must_use]
pub fn ranking(c: &Comparison) -> Option<Section> {
    let first = busiest(c.differences.iter()).filter(|_| c.runs.len() > FEW_RUNS)?;
    let shown = headline(c, first.run_b);
    let rate = shown.first()?;
    let wait = shown.get(1).unwrap_or(rate);
    let of = |run: usize, metric: &str| {
        let is_it = |d: &&Difference| {
            d.metric == metric && (&d.workload, d.jobs) == (&first.workload, first.jobs)
        };
        of_run(c, run).find(is_it)
    };
    let figure_of = |run: usize, d: &Difference| match run {
        0 => value(d.a, &d.unit),
        run => value(of(run, &d.metric).and_then(|d| d.b), &d.unit),
    };
    let against = |run: usize, d: &Difference| {
        let of = of(run, &d.metric);
        Shown::from(of.and_then(change_in_words).map(Shown::Text))
    };
    let named = |d: &Difference| ColumnHeading {
        name: Cow::Owned(metric_name(&d.metric)),
        ..figure("", "")
    };
    let durability = |run: &usize| Some(Shown::Text(c.runs.get(*run)?.durability_in_words()));
    let mut order: Vec<usize> = (0..c.runs.len()).collect();
    let key = |run: usize| match figure_of(run, rate).number() {
        Some(v) if rate.better == Better::Higher => -v,
        known => known.unwrap_or(f64::MAX),
    };
    order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
    let columns: [AccountColumn<'_, usize>; 6] = [
        (label("Run"), &|run| Shown::text(run_name(c, *run))),
        (named(rate), &|run| figure_of(*run, rate)),
        (figure("Against the first", ""), &|run| against(*run, rate)),
        (named(wait), &|run| figure_of(*run, wait)),
        (figure("Against the first", ""), &|run| against(*run, wait)),
        (figure("Durability", ""), &|run| durability(run).into()),
    ];
    let mut columns = columns.to_vec();
    if shown.len() < 2 {
        columns.drain(3..5);
    }
    let table = AccountTable::of(order, &columns)?;
    let jobs = words::jobs(first.jobs);
    let title = format!("Ranking: {} with {jobs}", first.workload);
    let about = "The order of the figures; a tilde is a difference that is not shown to be one. \
                 What loses commits never wins over what is not known to.";
    Some(Section::of(
        "ranking",
        title,
        about,
        vec![Body::Table(table)],
    ))
}

/// More than two runs: a line for each figure of a row, a column for each run.
#[must_use]
pub fn matrix(c: &Comparison, all: bool) -> Option<Section> {
    if c.runs.len() <= FEW_RUNS {
        return None;
    }
    let mut lines: Vec<Vec<&Difference>> = Vec::new();
    for d in &c.differences {
        // Points of a sweep have one key: a run is in a line once.
        let fits = |line: &&mut Vec<&Difference>| {
            is_same_figure(line[0], d) && line.iter().all(|other| other.run_b != d.run_b)
        };
        match lines.iter_mut().find(fits) {
            Some(line) => line.push(d),
            None => lines.push(vec![d]),
        }
    }
    lines.retain(|line| all || line.iter().any(|d| is_shown(d)));
    let named = |r: &ComparedRun| ColumnHeading {
        name: Cow::Owned(r.name.clone()),
        ..figure("", "")
    };
    let columns = ["Workload", "Jobs", "Figure"].map(label).into_iter();
    let line = |line: &Vec<&Difference>| {
        let d = line[0];
        let mut cells = vec![Shown::text(&d.workload), Shown::jobs(d.jobs)];
        cells.extend([Shown::Text(metric_name(&d.metric)), value(d.a, &d.unit)]);
        let of_run = |run: usize| line.iter().find(|d| d.run_b == run);
        cells.extend((1..c.runs.len()).map(|run| of_run(run).map(|d| cell(d)).into()));
        cells
    };
    let table = AccountTable {
        columns: columns.chain(c.runs.iter().map(named)).collect(),
        lines: lines.iter().map(line).collect(),
    };
    let about = "A tilde is a difference that is not shown to be one.";
    let title = "All runs, with the change against the first (~: not shown to differ)";
    let is_known = !table.lines.is_empty();
    is_known.then(|| Section::of("matrix", title, about, vec![Body::Table(table)]))
}

/// Whether two differences are of one figure of one row of the base.
fn is_same_figure(a: &Difference, b: &Difference) -> bool {
    (&a.workload, a.jobs, &a.metric, a.a) == (&b.workload, b.jobs, &b.metric, b.a)
}

/// The differences of a run to the base, and what else is to be said of them: of `all`, their
/// significance and size in words; else why there is no interval.
#[must_use]
pub fn differences(c: &Comparison, run: usize, all: bool) -> Option<Section> {
    let known: Vec<&Difference> = of_run(c, run).collect();
    let shown: Vec<&Difference> = known
        .iter()
        .copied()
        .filter(|d| all || is_shown(d))
        .collect();
    let table = table(c, &shown)?;
    let mut body = vec![Body::Table(table)];
    if shown.len() < known.len() {
        let (shown, all) = (shown.len(), known.len());
        let text = format!("({shown} of {all} figures; all {all} with -v)");
        body.push(Body::Text(text));
    }
    body.push(Body::Facts(reasons(&shown, all)));
    let title = format!("{} over {}", run_name(c, run), run_name(c, 0));
    let about = "Every difference with its interval, its significance and its size.";
    Some(Section::of(format!("against-{run}"), title, about, body))
}

/// Sentences of differences, each once, by their metrics.
fn reasons(of: &[&Difference], all: bool) -> Vec<(String, Shown)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for d in of {
        let reason = match d.sentence.split_once("without an interval: ") {
            Some((_, reason)) if !all => reason,
            _ if all || d.ratio.is_none() => d.sentence.as_str(),
            _ => continue,
        };
        match found.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, metrics)) if metrics.contains(&d.metric.as_str()) => {}
            Some((_, metrics)) => metrics.push(&d.metric),
            None => found.push((reason, vec![&d.metric])),
        }
    }
    let fact = |(reason, metrics): (&str, Vec<&str>)| match all {
        true => (metrics.join(", "), Shown::text(reason)),
        false => ("No interval".to_owned(), Shown::text(reason)),
    };
    found.into_iter().map(fact).collect()
}

/// Rows without a counterpart, and why.
#[must_use]
pub fn not_compared(c: &Comparison) -> Option<Section> {
    let fact = |of: &measure::comparison::NotCompared| {
        let name = format!("{}: {}", run_name(c, of.run_b), of.what);
        (name, Shown::text(&of.why))
    };
    let facts: Vec<_> = c.not_compared.iter().map(fact).collect();
    let is_known = !facts.is_empty();
    let title = "Not comparable, or not alike";
    is_known.then(|| Section::of("not-compared", title, "", vec![Body::Facts(facts)]))
}

/// Tables beside the differences, as those of study 001.
#[must_use]
pub fn tables(c: &Comparison) -> Vec<Section> {
    let all = c.tables.iter().enumerate();
    all.map(|(at, of)| imported::computed_table(at, of))
        .collect()
}

/// How it was compared.
#[must_use]
pub fn method(c: &Comparison) -> Section {
    let m = &c.method;
    let mut facts = vec![
        ("Confidence".to_owned(), Shown::Text(level(c))),
        ("Resamples".to_owned(), m.resamples.into()),
        ("Bootstrap seed".to_owned(), Shown::Text(m.seed.to_string())),
    ];
    facts.extend(m.rounds.map(|rounds| ("Rounds".to_owned(), rounds.into())));
    let mut body = vec![Body::Facts(facts)];
    body.extend(m.notes.iter().cloned().map(Body::Text));
    Section::of("method", "How this was compared", "", body)
}

/// Conditions of `--fail-if`, and whether they are breached.
#[must_use]
pub fn conditions(c: &Comparison) -> Option<Section> {
    let of = |condition: &measure::comparison::Condition| {
        let (weight, word) = match condition.state {
            ConditionState::Breached => (Weight::Bad, "BREACHED"),
            ConditionState::Undetermined => (Weight::Caution, "UNDETERMINED"),
            ConditionState::NotBreached => (Weight::Good, "not breached"),
        };
        Statement {
            weight,
            word: word.to_owned(),
            claim: format!("{}: {}", condition.text, condition.detail),
            ..Statement::default()
        }
    };
    let all: Vec<Statement> = c.conditions.iter().map(of).collect();
    let about = "Conditions of --fail-if, and whether they are breached.";
    let is_asked = !all.is_empty();
    is_asked.then(|| Section::of("conditions", "Conditions", about, vec![Body::Findings(all)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;
    use measure::comparison::Basis;
    use measure::run::Origin;

    fn run(name: &str, doubts: &[(&str, &str)]) -> ComparedRun {
        let problem = |(id, detail): &(&str, &str)| Problem {
            id: (*id).to_owned(),
            invalidates: false,
            detail: (*detail).to_owned(),
        };
        ComparedRun {
            name: name.to_owned(),
            run_id: name.to_owned(),
            round_ids: Vec::new(),
            origin: Origin::Measured,
            created: String::new(),
            complete: true,
            valid: true,
            problems: doubts.iter().map(problem).collect(),
            target_kind: "file".to_owned(),
            target_path: "/redo".to_owned(),
            target_detail: String::new(),
            has_events: false,
            tags: std::collections::BTreeMap::new(),
            verdict: None,
            durability: None,
            durability_basis: None,
            performance: None,
        }
    }

    fn comparison_of(runs: Vec<ComparedRun>) -> Comparison {
        Comparison {
            runs,
            ..Comparison::default()
        }
    }

    #[test]
    fn a_doubt_of_several_rows_and_runs_is_named_once() {
        let (one, two) = (
            "A with 1 job: 3 are too few",
            "A with 2 jobs: 4 are too few",
        );
        let busy = ("busy_device", "others used it");
        let few = |detail| ("few_commits", detail);
        let c = comparison_of(vec![
            run("flash", &[busy, few(one), few(two)]),
            run(
                "disk",
                &[busy, few(two), few(one), ("backlog", "A with 1 job: late")],
            ),
        ]);
        let text = super::super::markdown::section(&runs(&c), usize::MAX);
        let text = text.replace('\\', "");
        assert_eq!(text.matches("others used it").count(), 1, "{text}");
        assert_eq!(text.matches("too few").count(), 1, "{text}");
        for part in [
            "few_commits: A with 1 job: 3 are too few (this also applies to A with 2 jobs)",
            "disk: busy_device: as of flash",
            "few_commits: A with 2 jobs: as of flash (this also applies to A with 1 job)",
            "backlog: A with 1 job: late",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    /// Commits per second of a run beside 1,000 of the base.
    fn rate(run_b: usize, b: f64, jobs: u32) -> Difference {
        let ratio = b / 1000.0;
        Difference {
            metric: "commit_throughput_tps".to_owned(),
            workload: "A".to_owned(),
            jobs,
            run_a: 0,
            run_b,
            unit: "1/s".to_owned(),
            better: Better::Higher,
            a: Some(1000.0),
            b: Some(b),
            ratio: Some(ratio),
            ci_low: Some(ratio * 0.9),
            ci_high: Some(ratio * 1.1),
            effect: None,
            effect_kind: String::new(),
            p_value: None,
            p_text: String::new(),
            basis: Basis::Rounds,
            units_a: 5,
            units_b: 5,
            significant: Some(ratio > 1.1),
            size: None,
            detectable_pct: None,
            sentence: String::new(),
        }
    }

    #[test]
    fn more_than_two_runs_are_ranked_at_the_highest_load() {
        let names = ["base", "slow", "fast"];
        let mut c = comparison_of(names.map(|name| run(name, &[])).to_vec());
        c.differences = vec![
            rate(1, 990.0, 8),
            rate(1, 5.0, 1),
            rate(2, 2000.0, 8),
            rate(2, 9.0, 1),
        ];
        let section = ranking(&c).expect("three runs");
        assert_eq!(section.title, "Ranking: A with 8 jobs");
        let lines = words_of(&section);
        let first: Vec<&str> = lines.iter().map(|line| line[0].as_str()).collect();
        assert_eq!(first, ["fast", "base", "slow"]);
        assert_eq!(lines[0][1..3], ["2,000 /s", "+100 % (+80.0 % to +120 %)"]);
        assert_eq!(lines[1][1..3], ["1,000 /s", "–"]);
        assert_eq!(lines[1].len(), 4, "one figure is shown once");
        assert!(lines[2][2].starts_with("~ −1.0 %"), "{lines:?}");
        c.runs.pop();
        assert_eq!(ranking(&c), None, "two have an answer");
    }
}
