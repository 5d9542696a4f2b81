//! Which of the runs wins, and by how much: the first screen of a comparison.
//!
//! Invariant: nothing is computed here but which figures are shown; who wins is decided in
//! [`crate::compare::decision`].

use super::escape::esc;
use super::figure::Figure;
use super::first::facts_html;
use super::judged::tone;
use super::topic::Topic;
use super::{forest, section};
use crate::account::Body;
use crate::account::comparison::{self as account, of_run, rank};
use measure::comparison::{Comparison, Difference};

/// Lines of the first figure.
const SHOWN: usize = 10;

/// The answer in a few words.
pub(super) fn answer(c: &Comparison, run: usize) -> &str {
    c.decision(run).map_or("Not decided", |d| d.answer.as_str())
}

pub(super) fn header(c: &Comparison, tags: &str) -> String {
    let names: Vec<String> = c.runs.iter().map(|r| esc(&r.name)).collect();
    // The load that the runs are ranked at is in its title.
    let titled = |of: crate::account::Section| [vec![Body::Text(of.title)], of.body].concat();
    let ranking = account::ranking(c).map(titled);
    let one = || account::headline_table(c, 1).map(|of| vec![Body::Table(of)]);
    let body = ranking.or_else(one).unwrap_or_default();
    format!(
        "<header>\n<h1>{}</h1>\n<p class=\"meta\">{tags} · {} · redolab {}</p>\n{}{}{}{}</header>\n",
        names.join(" or "),
        esc(&c.created),
        esc(&c.redolab_version),
        facts_html(&facts(c)),
        banner(c),
        doubts(c),
        section::markup_of(&body),
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

/// Who wins; of more than two runs, who of the first ones.
fn banner(c: &Comparison) -> String {
    let decision = match (c.runs.len(), c.decisions.as_slice()) {
        (0..=2, [decision]) => decision,
        _ => return String::new(),
    };
    format!(
        "<div class=\"banner {}\"><p class=\"a\">{}</p><p class=\"s\">{} {}</p></div>\n",
        tone(account::weight(decision.outcome)),
        esc(&decision.answer),
        esc(&decision.reason),
        esc(&decision.durability),
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
        .filter(|d| (3..6).contains(&rank(&d.metric)))
        .collect();
    rest.sort_by_key(|d| rank(&d.metric));
    rest.truncate(SHOWN.saturating_sub(out.len()));
    out.extend(rest);
    out
}

/// The forest plot of those.
pub(super) fn figure(c: &Comparison, run: usize, tags: String) -> Figure {
    let shown = shown_first(c, run);
    let name = |d: &&Difference| account::line_name(d);
    let lines: Vec<(String, &Difference)> = shown.iter().map(|d| (name(d), *d)).collect();
    let (base, other) = (account::run_name(c, 0), account::run_name(c, run));
    let caption = format!("{other} over {base}");
    let table = account::table(c, &shown);
    let mut figure = forest::figure(c, &format!("top{run}"), &caption, &lines, table, tags);
    figure.topic = Topic::Answer;
    figure
}
