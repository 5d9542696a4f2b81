//! Which of the runs wins, and by how much: the first screen of a comparison.
//!
//! Invariant: nothing is computed here but which figures are shown; who wins is decided in
//! [`crate::compare::decision`].

use super::differences::{
    METRICS, THROUGHPUT, interval_text, label, level, metric_name, name, shown,
};
use super::escape::esc;
use super::figure::Figure;
use super::first::facts_html;
use super::forest;
use super::topic::Topic;
use crate::compare::decision::has_few_rounds;
use crate::format;
use measure::comparison::{Comparison, Difference, RowOutcome};

/// Lines of the first figure.
const SHOWN: usize = 10;

fn of_run(c: &Comparison, run: usize) -> impl Iterator<Item = &Difference> {
    c.differences.iter().filter(move |d| d.run_b == run)
}

fn rank(metric: &str) -> usize {
    let found = METRICS.iter().position(|(key, _)| *key == metric);
    found.unwrap_or(METRICS.len())
}

/// The answer in a few words.
pub(super) fn answer(c: &Comparison, run: usize) -> &str {
    c.decision(run).map_or("Not decided", |d| d.answer.as_str())
}

/// Why, with the durability of both runs.
pub(super) fn reason(c: &Comparison, run: usize) -> String {
    c.decision(run)
        .map_or_else(String::new, |d| format!("{} {}", d.reason, d.durability))
}

const fn class(outcome: RowOutcome) -> &'static str {
    match outcome {
        RowOutcome::Better => "yes",
        RowOutcome::Mixed => "conditional",
        RowOutcome::Invalid | RowOutcome::NotDurable => "no",
        RowOutcome::TooFewRounds
        | RowOutcome::NoInterval
        | RowOutcome::NoDifference
        | RowOutcome::CannotTell
        | RowOutcome::NotComparable => "none",
    }
}

/// The row with the highest throughput: the load by which the runs are introduced.
pub(super) fn headline(c: &Comparison, run: usize) -> Vec<&Difference> {
    let rate = |d: &Difference| d.a.unwrap_or(0.0).max(d.b.unwrap_or(0.0));
    let throughput = of_run(c, run).filter(|d| d.metric == THROUGHPUT);
    let first = throughput
        .max_by(|a, b| rate(a).total_cmp(&rate(b)))
        .or_else(|| of_run(c, run).min_by_key(|d| rank(&d.metric)));
    let Some(first) = first else {
        return Vec::new();
    };
    let same = |d: &&Difference| (&d.workload, d.jobs) == (&first.workload, first.jobs);
    let mut all: Vec<&Difference> = of_run(c, run)
        .filter(same)
        .filter(|d| rank(&d.metric) < METRICS.len())
        .collect();
    all.sort_by_key(|d| rank(&d.metric));
    // The latency of a commit repeats log file sync where there is such a wait.
    if all.iter().any(|d| d.metric.starts_with("log_file_sync")) {
        all.retain(|d| !d.metric.starts_with("commit_latency"));
    }
    all
}

pub(super) fn header(c: &Comparison, tags: &str) -> String {
    let names: Vec<String> = c.runs.iter().map(|r| esc(&r.name)).collect();
    let banners: String = (1..c.runs.len()).map(|run| banner(c, run)).collect();
    format!(
        "<header>\n<h1>{}</h1>\n<p class=\"meta\">{tags} · {} · redolab {}</p>\n{}{banners}{}{}</header>\n",
        names.join(" or "),
        esc(&c.created),
        esc(&c.redolab_version),
        facts_html(&facts(c)),
        doubts(c),
        table(c, 1),
    )
}

fn facts(c: &Comparison) -> Vec<(&'static str, String, String)> {
    let each = c.runs.iter().enumerate().take(6);
    each.map(|(i, r)| {
        let role = if i == 0 { "Base" } else { "Compared" };
        let place = [&r.target_path, &r.target_detail];
        let place = place.iter().filter(|p| !p.is_empty());
        let judged = r.judged_in_words();
        let place: Vec<&str> = place.map(|p| p.as_str()).chain([judged.as_str()]).collect();
        (role, r.name.clone(), place.join(" · "))
    })
    .collect()
}

fn banner(c: &Comparison, run: usize) -> String {
    let against = match c.runs.len() {
        0..=2 => String::new(),
        _ => format!("{} against {}: ", name(c, run), name(c, 0)),
    };
    format!(
        "<div class=\"banner {}\"><p class=\"a\">{}</p><p class=\"s\">{}</p></div>\n",
        c.decision(run).map_or("none", |d| class(d.outcome)),
        esc(&format!("{against}{}", answer(c, run))),
        esc(&reason(c, run)),
    )
}

/// Doubts that are in sight at once: with more, the drawing ends below the first screen.
const DOUBTS: usize = 2;

/// Why the figures may not mean what they seem to; those behind the first ones unfold.
fn doubts(c: &Comparison) -> String {
    let mut lines: Vec<String> = c.notices.iter().map(|n| esc(n)).collect();
    let problems = c.runs.iter().filter_map(|r| Some((r, r.problems.first()?)));
    lines.extend(problems.map(|(r, p)| {
        format!(
            "{}: {}. <a href=\"#runs\">Runs</a>",
            esc(&r.name),
            esc(p.detail.trim_end_matches('.'))
        )
    }));
    let not = c.not_compared.iter().take(2);
    lines.extend(not.map(|n| {
        format!(
            "Not comparable: {}, {}. <a href=\"#not-compared\">All</a>",
            esc(&n.what),
            esc(n.why.trim_end_matches('.'))
        )
    }));
    let warn = |lines: &[String]| -> String {
        let lines = lines.iter();
        lines
            .map(|line| format!("<p class=\"warn\">{line}</p>\n"))
            .collect()
    };
    let (shown, others) = lines.split_at(DOUBTS.min(lines.len()));
    match others {
        [] | [_] => warn(&lines),
        _ => format!(
            "{}<details class=\"doubts\"><summary>{} more of these</summary>\n{}</details>\n",
            warn(shown),
            others.len(),
            warn(others)
        ),
    }
}

/// The runs at the load with the highest throughput, in absolute values.
fn table(c: &Comparison, run: usize) -> String {
    let lines = headline(c, run);
    let Some(first) = lines.first() else {
        return String::new();
    };
    let few = has_few_rounds(c);
    let line = |d: &&Difference| {
        let word = forest::word(d, few);
        format!(
            "<tr><th class=\"t\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"t\">{word}</td></tr>",
            esc(&metric_name(&d.metric)),
            esc(&shown(d.a, &d.unit)),
            esc(&shown(d.b, &d.unit)),
            d.ratio.map_or_else(|| "–".to_owned(), forest::times),
            interval_text(d),
        )
    };
    let body: String = lines.iter().map(line).collect();
    format!(
        "<div class=\"scroll\"><table><thead><tr><th class=\"t\">{}</th><th>{}</th><th>{}</th><th>Ratio</th><th>{} % interval</th><th class=\"t\"></th></tr></thead><tbody>{body}</tbody></table></div>\n",
        esc(&format!(
            "{} with {}",
            first.workload,
            format::jobs(first.jobs)
        )),
        esc(name(c, 0)),
        esc(name(c, run)),
        level(c),
    )
}

/// The differences that are drawn first: throughput and p99 of the rows, then what differs most.
pub(super) fn shown_first(c: &Comparison, run: usize) -> Vec<&Difference> {
    let drawn = || of_run(c, run).filter(|d| d.ratio.is_some());
    let of =
        |at: usize| -> Vec<&Difference> { drawn().filter(|d| rank(&d.metric) == at).collect() };
    let tails = match of(1) {
        waits if waits.is_empty() => of(2),
        waits => waits,
    };
    let mut out = super::figure::thinned(&of(0), SHOWN / 2);
    out.extend(super::figure::thinned(&tails, SHOWN / 2));
    let mut rest: Vec<&Difference> = drawn()
        .filter(|d| (3..METRICS.len() - 1).contains(&rank(&d.metric)))
        .collect();
    rest.sort_by_key(|d| rank(&d.metric));
    rest.truncate(SHOWN.saturating_sub(out.len()));
    out.extend(rest);
    out
}

/// The forest plot of those.
pub(super) fn figure(c: &Comparison, run: usize, tags: String) -> Figure {
    let lines: Vec<(String, &Difference)> = shown_first(c, run)
        .into_iter()
        .map(|d| (label(d), d))
        .collect();
    let id = format!("top{run}");
    let caption = format!("{} over {}", name(c, run), name(c, 0));
    let mut figure = forest::figure(c, &id, &caption, &lines, tags);
    figure.topic = Topic::Answer;
    figure
}
