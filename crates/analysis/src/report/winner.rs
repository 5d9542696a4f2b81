//! Which of the runs wins, and by how much: the first screen of a comparison.
//!
//! Invariant: nothing is computed here but which figures are shown; who wins is decided in
//! [`crate::compare::decision`].

use super::figure::Figure;
use super::topic::Topic;
use super::{forest, section};
use crate::account::Body;
use crate::account::comparison::{self as account, of_run, rank};
use measure::comparison::{Comparison, Difference};

/// Lines of the first figure.
const SHOWN: usize = 8;

/// What is below the answer: the ranking of many runs, the figures of two that decide.
pub(super) fn below(c: &Comparison) -> String {
    // The load that the runs are ranked at is in its title.
    let titled = |of: crate::account::Section| [vec![Body::Text(of.title)], of.body].concat();
    let ranking = account::ranking(c).map(titled);
    let one = || account::headline_table(c, 1).map(|of| vec![Body::Table(of)]);
    section::markup_of(&ranking.or_else(one).unwrap_or_default())
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
