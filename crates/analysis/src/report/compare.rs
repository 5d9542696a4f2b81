//! Runs beside each other as one HTML file: which of these two?
//!
//! Invariants: nothing is computed here but what a drawing needs; what is drawn beside each other
//! has one scale; what cannot be compared is reported; the validity of every run is above all else.
//! The first screen is in `winner`.

use super::chart::{Axis, Chart, Series, SeriesStyle};
use super::data::ReportData;
use super::density::DensityCurve;
use super::escape::esc;
use super::figure::{Figure, thinned};
use super::figures::{SMALL, curve};
use super::forest;
use super::heat::{self, Strip};
use super::page::{Page, Section};
use super::topic::Topic;
use super::{density, first, origin_class, repeat, section, winner};
use crate::account::Body;
use crate::account::comparison::{self as account, run_name};
use crate::account::markdown::ticket;
use crate::format;
use measure::WaitEvent;
use measure::comparison::{Comparison, Difference, Distribution};
use measure::run::Run;

/// Rows whose distributions are drawn.
const GROUPS_MAX: usize = 8;
/// Rows whose heat maps are drawn.
const MAPS_MAX: usize = 3;

/// A run with what the store holds beside it, for its heat maps.
pub type ReportedRun<'a> = (&'a Run, &'a ReportData);

/// The report of a comparison. `held` has the rounds of each run in the comparison's order, one of
/// a stored run; none where it cannot be read any more, which leaves its heat maps out.
#[must_use]
pub fn html(c: &Comparison, held: &[Vec<ReportedRun<'_>>]) -> String {
    let answer = Some(winner::figure(c, 1, tags(c))).filter(|f| !f.drawing.is_empty());
    let of = |part: crate::account::Section| section::tagged(part, tags(c));
    let many = Some(account::decision(c)).filter(|_| c.runs.len() > 2);
    let mut main = vec![account::conditions(c), many];
    main.push(account::matrix(c, false));
    let mut main: Vec<Section> = main.into_iter().flatten().filter_map(of).collect();
    main.extend((1..c.runs.len()).filter_map(|run| differences(c, run)));
    let mut sections = vec![of(account::runs(c))];
    sections.push(account::answers(c).and_then(of));
    sections.extend([densities(c), percentiles(c), maps(c, held)]);
    sections.extend(account::tables(c).into_iter().map(of));
    sections.push(account::not_compared(c).and_then(of));
    sections.extend([of(account::method(c)), repeat::command_of(&c.command)]);
    let whole = account::account(c, false);
    let page = Page {
        title: format!("{}: {}", whole.question, whole.answer.words),
        header: first::header(&whole, &tags(c), &winner::below(c)),
        answer,
        run: None,
        beside: Vec::new(),
        main,
        sections: sections.into_iter().flatten().collect(),
        markdown: ticket(whole),
        footer: format!(
            "<footer>redolab {} · schema {} · {}. Ratios are the compared run over the base; an interval that contains 1 shows no difference. Percentiles come from merged histograms.</footer>\n",
            esc(&c.redolab_version),
            esc(&c.schema),
            esc(&c.created),
        ),
    };
    page.html()
}

/// The origins of all runs.
fn tags(c: &Comparison) -> String {
    let mut all: Vec<String> = c.runs.iter().map(|r| origin_class(r.origin)).collect();
    all.dedup();
    if c.runs.iter().any(|r| !r.valid) {
        all.push("<span class=\"tag loud\">a run is invalid</span>".to_owned());
    }
    all.concat()
}

/// Every difference of one run to the base, folded.
fn differences(c: &Comparison, run: usize) -> Option<Section> {
    let part = account::differences(c, run, true)?;
    let all: Vec<(String, &Difference)> = account::of_run(c, run)
        .map(|d| (account::line_name(d), d))
        .collect();
    let mut rest = part.body.into_iter();
    let table = match rest.next() {
        Some(Body::Table(table)) => Some(table),
        _ => None,
    };
    let caption = format!("Ratio to {}", account::run_name(c, 0));
    let figure = forest::figure(c, &format!("fo{run}"), &caption, &all, table, tags(c));
    let html = format!(
        "<details class=\"all\"><summary>All {}</summary>{}{}</details>",
        format::plural(all.len() as u64, "difference"),
        figure.html(""),
        section::markup_of(&rest.collect::<Vec<Body>>()),
    );
    let heading = format!("All differences of {}", part.title);
    let how = format!("{} {}", part.about, c.method.figures);
    Section::html(&part.id, &heading, &how, html)
}

/// Distributions of one series in all runs.
fn groups(c: &Comparison) -> Vec<Vec<&Distribution>> {
    let mut out: Vec<Vec<&Distribution>> = Vec::new();
    for d in &c.distributions {
        let same = |g: &&mut Vec<&Distribution>| {
            g.first()
                .is_some_and(|f| (&f.workload, f.jobs, &f.event) == (&d.workload, d.jobs, &d.event))
        };
        match out.iter_mut().find(same) {
            Some(group) => group.push(d),
            None => out.push(vec![d]),
        }
    }
    // What one run alone has is beside nothing.
    out.retain(|g| g.len() > 1);
    out.truncate(GROUPS_MAX);
    out
}

fn group_title(group: &[&Distribution]) -> String {
    group.first().map_or_else(String::new, |d| {
        format!(
            "{} with {}: {}",
            d.workload,
            format::jobs(d.jobs),
            d.event.replace('_', " ")
        )
    })
}

fn look(run: usize) -> SeriesStyle {
    if run.is_multiple_of(2) {
        SeriesStyle::Marked(run)
    } else {
        SeriesStyle::Dashed(run)
    }
}

fn densities(c: &Comparison) -> Option<Section> {
    let groups = groups(c);
    let figures = groups.iter().enumerate().map(|(i, group)| {
        let curves = group.iter().map(|d| DensityCurve {
            name: run_name(c, d.run).to_owned(),
            look: look(d.run),
            colour: d.run,
            bins: density::stored_bins(&d.density, d.count),
        });
        let curves: Vec<DensityCurve> = curves.collect();
        let (id, title) = (format!("cd{i}"), group_title(group));
        density::figure(&id, &title, "latency", &curves, tags(c))
    });
    let figures: Vec<Figure> = figures.collect();
    let how = "The curves of all runs on one logarithmic axis, as in study 004; of a comparison in rounds, all rounds are merged. A mean does not show a hump that only one of the runs has.";
    Section::figures("densities", "Densities", how, figures)
}

fn percentiles(c: &Comparison) -> Option<Section> {
    let groups = groups(c);
    let figures = groups.iter().enumerate().map(|(i, group)| {
        let series = group.iter().map(|d| Series {
            look: look(d.run),
            ..curve(d.run, run_name(c, d.run).to_owned(), &d.curve)
        });
        let (id, title) = (format!("cp{i}"), group_title(group));
        let axes = (Axis::percentile(), Axis::latency("latency"));
        let desc = "Percentile curves of the runs.";
        let chart = Chart::new((&id, &title, desc), SMALL, axes, series.collect());
        let how = "Each step to the right is ten times rarer. Lines that are apart only on the right differ in their peaks; lines that are apart everywhere differ in every wait.";
        Figure::of_chart(Topic::Percentiles, &chart, tags(c), how)
    });
    let figures: Vec<Figure> = figures.collect();
    Section::figures(
        "percentiles",
        "Percentiles",
        "The same waits, ordered by percentile; of a comparison in rounds, all rounds are merged.",
        figures,
    )
}

/// Heat maps of the rows that all runs have, those of one row on one scale.
fn maps(c: &Comparison, held: &[Vec<ReportedRun<'_>>]) -> Option<Section> {
    let mut keys: Vec<(&str, u32)> = Vec::new();
    for d in &c.differences {
        if !keys.contains(&(d.workload.as_str(), d.jobs)) {
            keys.push((&d.workload, d.jobs));
        }
    }
    let keys = thinned(&keys, MAPS_MAX);
    let most = heat::columns_each(keys.len() * c.runs.len() * 2);
    let mut figures = Vec::new();
    for (k, (workload, jobs)) in keys.iter().enumerate() {
        for (event, topic, prefix) in [
            (WaitEvent::LogFileSync, Topic::SyncHeat, "ms"),
            (WaitEvent::LogFileParallelWrite, Topic::WriteHeat, "mw"),
        ] {
            let of = |rounds: &Vec<ReportedRun<'_>>| strip(rounds, (workload, *jobs), event, most);
            let strips: Vec<Strip> = held.iter().map(of).collect();
            let ranges = strips.iter().filter_map(Strip::range);
            let Some(range) = ranges.reduce(heat::Range::with) else {
                continue;
            };
            for (run, strip) in strips.iter().enumerate() {
                if strip.range().is_none() {
                    continue;
                }
                let rounds = rounds(
                    strip.rows(),
                    c.runs.get(run).map_or(0, |r| r.round_ids.len()),
                );
                let title = format!(
                    "{}{rounds}: {workload} with {}, {}",
                    run_name(c, run),
                    format::jobs(*jobs),
                    event.name()
                );
                let id = format!("{prefix}{k}-{run}");
                figures.push(heat::map(&id, &title, strip, range, tags(c), topic));
            }
        }
    }
    let how = "The maps of one row are below each other and have the same scale of time, latency and colour.";
    Section::figures("heat", "Heat maps", how, figures)
}

/// The waits of a row in all rounds, one round after the other.
fn strip(
    rounds: &[ReportedRun<'_>],
    (workload, jobs): (&str, u32),
    event: WaitEvent,
    most: usize,
) -> Strip {
    let mut all = Vec::new();
    for (k, (run, data)) in rounds.iter().enumerate() {
        for (i, row) in run.rows.iter().enumerate() {
            let is_it = row.workload == workload && row.jobs == jobs;
            if let Some(grid) = data.grid(i, event).filter(|_| is_it) {
                all.push((format!("round {}", k + 1), row, grid));
            }
        }
    }
    Strip::joined(all, most)
}

/// Which rounds a map shows; empty of a stored run.
fn rounds(shown: usize, made: usize) -> String {
    match made {
        0 | 1 => String::new(),
        _ if shown == made => format!(", {made} rounds one after the other"),
        _ => format!(", {shown} of {made} rounds one after the other"),
    }
}
