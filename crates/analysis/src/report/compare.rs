//! Runs beside each other as one HTML file: which of these two?
//!
//! Invariants: nothing is computed here but what a drawing needs; what is drawn beside each other
//! has one scale; what cannot be compared is reported; the validity of every run is above all else.
//! The first screen is in `winner`.

use super::chart::{Axis, Chart, Series, SeriesStyle};
use super::data::ReportData;
use super::density::DensityCurve;
use super::differences::{label, name};
use super::escape::esc;
use super::figure::{Figure, thinned};
use super::figures::{SMALL, curve};
use super::forest;
use super::heat::{self, Strip};
use super::page::{Page, Section};
use super::topic::Topic;
use super::{density, imported, markdown, origin_class, repeat, winner};
use crate::format;
use measure::WaitEvent;
use measure::comparison::{Comparison, Condition, ConditionState, Difference, Distribution};
use measure::run::{Run, problems};

/// Most lines of a table, and rows whose distributions are drawn.
const ENTRIES_MAX: usize = 400;
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
    let mut main = vec![conditions(c)];
    main.extend((2..c.runs.len()).map(|run| first_of(c, run)));
    main.extend((1..c.runs.len()).map(|run| differences(c, run)));
    let mut sections = vec![runs(c), densities(c), percentiles(c), maps(c, held)];
    sections.extend(c.tables.iter().enumerate().map(|(i, t)| table(c, i, t)));
    sections.extend([not_compared(c), method(c), repeat::command_of(&c.command)]);
    let names: Vec<&str> = c.runs.iter().map(|r| r.name.as_str()).collect();
    let page = Page {
        title: format!("{}: {}", names.join(" or "), winner::answer(c, 1)),
        header: winner::header(c, &tags(c)),
        answer,
        run: None,
        beside: Vec::new(),
        main: main.into_iter().flatten().collect(),
        sections: sections.into_iter().flatten().collect(),
        markdown: markdown::comparison(c),
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

fn runs(c: &Comparison) -> Option<Section> {
    let line = |(i, r): (usize, &measure::comparison::ComparedRun)| {
        let role = if i == 0 { "base" } else { "compared" };
        let state = match (r.valid, r.complete, r.problems.is_empty()) {
            (false, _, _) => "▲ invalid",
            (true, false, _) => "▲ unfinished",
            (true, true, false) => "◆ doubtful",
            (true, true, true) => "● valid",
        };
        let place = [&r.target_kind, &r.target_path, &r.target_detail];
        let place: Vec<String> = place
            .iter()
            .filter(|p| !p.is_empty())
            .map(|p| esc(p))
            .collect();
        format!(
            "<tr><th class=\"t\">{}</th><td class=\"t\">{role}</td><td class=\"t\">{state}</td><td class=\"t wrap\">{}</td><td class=\"t\">{}</td><td class=\"t wrap\">{}</td><td class=\"t\">{}</td><td class=\"t\">{}</td></tr>",
            esc(&r.name),
            esc(&r.judged_in_words()),
            origin_class(r.origin),
            place.join(" · "),
            esc(&r.run_id),
            esc(&r.created),
        )
    };
    let body: String = c
        .runs
        .iter()
        .enumerate()
        .take(ENTRIES_MAX)
        .map(line)
        .collect();
    let heads = [
        "Run", "Role", "Validity", "Judged", "Origin", "Target", "Run id", "Created",
    ];
    Section::html(
        "runs",
        "Runs",
        "A difference is only as reliable as the worse of the two runs.",
        table_of(&heads, &body) + &problems(c),
    )
}

/// Problems of the runs.
fn problems(c: &Comparison) -> String {
    let each = c.runs.iter().flat_map(|r| {
        problems::each_once(&r.problems)
            .into_iter()
            .take(20)
            .map(move |p| (r, p))
    });
    let lines: String = each
        .take(ENTRIES_MAX)
        .map(|(r, p)| format!("<li><b>{}</b>: {}</li>", esc(&r.name), esc(&p.detail)))
        .collect();
    if lines.is_empty() {
        return lines;
    }
    format!("<p class=\"how\">Their problems:</p><ul class=\"plain\">{lines}</ul>")
}

fn table_of(heads: &[&str], body: &str) -> String {
    let heads: String = heads
        .iter()
        .map(|h| format!("<th class=\"t\">{h}</th>"))
        .collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )
}

fn conditions(c: &Comparison) -> Option<Section> {
    let line = |condition: &Condition| {
        let (class, mark) = match condition.state {
            ConditionState::Breached => ("bad", "▲"),
            ConditionState::Undetermined => ("caution", "◆"),
            ConditionState::NotBreached => ("good", "●"),
        };
        let word = condition.state;
        format!(
            "<li><span class=\"w {class}\">{mark} {word}</span><div><p class=\"c\">{}</p><p class=\"d\">{}</p></div></li>",
            esc(&condition.text),
            esc(&condition.detail)
        )
    };
    let list: String = c.conditions.iter().take(ENTRIES_MAX).map(line).collect();
    let list = if list.is_empty() {
        list
    } else {
        format!("<ul class=\"reasons\">{list}</ul>")
    };
    Section::html(
        "conditions",
        "Conditions",
        "Conditions of --fail-if, and whether they are breached.",
        list,
    )
}

/// The first differences of a run that is neither the base nor the first that is compared.
fn first_of(c: &Comparison, run: usize) -> Option<Section> {
    let heading = format!("{} or {}", name(c, run), name(c, 0));
    let figure = winner::figure(c, run, tags(c));
    Section::figures(&format!("first-{run}"), &heading, "", vec![figure])
}

/// Every difference of one run to the base, folded.
fn differences(c: &Comparison, run: usize) -> Option<Section> {
    let all: Vec<(String, &Difference)> = c
        .differences
        .iter()
        .filter(|d| d.run_b == run)
        .map(|d| (label(d), d))
        .collect();
    if all.is_empty() {
        return None;
    }
    let caption = format!("Ratio to {}", name(c, 0));
    let figure = forest::figure(c, &format!("fo{run}"), &caption, &all, tags(c));
    let heading = format!("All differences of {} to {}", name(c, run), name(c, 0));
    let html = format!(
        "<details class=\"all\"><summary>All {}</summary>{}</details>",
        format::plural(all.len() as u64, "difference"),
        figure.html(""),
    );
    let how = format!(
        "Every difference with its interval, its size and its significance. {}",
        c.method.figures
    );
    Section::html(&format!("against-{run}"), &heading, &how, html)
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
            name: name(c, d.run).to_owned(),
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
            ..curve(d.run, name(c, d.run).to_owned(), &d.curve)
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
                    name(c, run),
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

fn table(c: &Comparison, i: usize, table: &measure::imported::Table) -> Option<Section> {
    let html = imported::table_html(table);
    Section::html(&format!("table-{i}"), &table.title, &table.file, html).map(|s| s.tagged(tags(c)))
}

fn not_compared(c: &Comparison) -> Option<Section> {
    let line = |n: &measure::comparison::NotCompared| {
        format!(
            "<li><b>{}</b> in {}: {}</li>",
            esc(&n.what),
            esc(name(c, n.run_b)),
            esc(&n.why)
        )
    };
    let list = super::entries(&c.not_compared, line);
    let list = if list.is_empty() {
        list
    } else {
        format!("<ul class=\"plain\">{list}</ul>")
    };
    Section::html(
        "not-compared",
        "Not comparable",
        "Rows without a counterpart, and why.",
        list,
    )
}

fn method(c: &Comparison) -> Option<Section> {
    let m = &c.method;
    let facts = super::pairs(&[
        (
            "Confidence",
            Some(format!("{} %", format::digits(100.0 * m.level))),
        ),
        ("Resamples", Some(format::count(u64::from(m.resamples)))),
        ("Seed", Some(m.seed.to_string())),
        ("Rounds", m.rounds.map(|r| r.to_string())),
    ]);
    let notes = super::entries(&m.notes, |n| format!("<li>{}</li>", esc(n)));
    Section::html(
        "method",
        "How it was compared",
        "",
        format!("{facts}<ul class=\"plain\">{notes}</ul>"),
    )
}
