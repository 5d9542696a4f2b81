//! The banner with the verdict and the key figures, the reasons, and what was not judged.

use super::escape::esc;
use super::{Content, Section, entries, origin_tag};
use crate::envelope::{Envelope, best_commits};
use crate::format;
use crate::rows::{rows_of, sync_of, workloads};
use crate::verdict::needed;
use measure::judgement::{Finding, Verdict, Weight};
use measure::run::Run;

pub(super) fn banner(run: &Run) -> String {
    if run.imported.is_some() {
        return format!(
            "<header>\n<h1>What the evidence shows: {}</h1>\n<p class=\"meta\">{} · run {} · {} · redolab {}</p>\n</header>\n",
            esc(place(run)),
            origin_tag(run),
            esc(&run.run_id),
            esc(&run.created),
            esc(&run.redolab_version),
        );
    }
    format!(
        "<header>\n<h1>Should a redo log live on {}?</h1>\n<p class=\"meta\">{} · run {} · {} · redolab {}</p>\n{}\n{}\n</header>\n",
        esc(place(run)),
        origin_tag(run),
        esc(&run.run_id),
        esc(&run.created),
        esc(&run.redolab_version),
        verdict_card(run),
        tiles(run),
    )
}

fn place(run: &Run) -> &str {
    match run.target.path.as_str() {
        "" => "this target",
        path => path,
    }
}

fn verdict_card(run: &Run) -> String {
    let Some(verdict) = &run.verdict else {
        return format!(
            "<div class=\"banner none\"><p class=\"a\">Not judged</p><p class=\"s\">This run was measured without a verdict: {}.</p></div>",
            esc(&Envelope::of(run).sentence())
        );
    };
    let class = verdict.answer.word();
    let answer = capitalised(class);
    format!(
        "<div class=\"banner {class}\"><p class=\"a\">{answer}</p><p class=\"s\">{}</p>\
         <dl class=\"axes\"><div><dt>Durability</dt><dd>{}</dd></div>\
         <div><dt>Performance</dt><dd>{}</dd></div>\
         <div><dt>Need</dt><dd>{}</dd></div>\
         <div><dt>Rests on</dt><dd>{}</dd></div></dl></div>",
        esc(&without_answer(&verdict.summary, &answer)),
        verdict.durability,
        verdict.performance,
        esc(&need(run)),
        esc(&rests_on(verdict)),
    )
}

/// The summary without the answer that stands above it.
fn without_answer(summary: &str, answer: &str) -> String {
    let rest = summary
        .strip_prefix(answer)
        .and_then(|s| s.strip_prefix(": "))
        .unwrap_or(summary);
    capitalised(rest)
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

fn need(run: &Run) -> String {
    let need = &run.need;
    let parts = needed(need);
    if parts.is_empty() {
        return "none".to_owned();
    }
    let sources = need.sources.iter();
    let sources: Vec<String> = sources
        .map(|source| format!("{}: {}", source.quantity.words(), source.place))
        .collect();
    match sources.as_slice() {
        [] => parts.join(", "),
        sources => format!("{} (from {})", parts.join(", "), sources.join("; ")),
    }
}

fn rests_on(verdict: &Verdict) -> String {
    let scope = &verdict.scope;
    let cached = if scope.cache_resident {
        " (could fit into a cache)"
    } else {
        ""
    };
    let files = match scope.log_footprint_bytes {
        0 => String::new(),
        bytes => format!(", log files of {}{cached}", format::bytes(bytes)),
    };
    format!(
        "{} s, {} written{files}",
        format::digits(scope.seconds),
        format::bytes(scope.bytes_written),
    )
}

/// Key figures: label, value, unit, note.
type Tile = (String, String, &'static str, String);

fn tiles(run: &Run) -> String {
    let all: Vec<Tile> = [one_job(run), best(run), tail(run), redo(run)]
        .into_iter()
        .flatten()
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let body: String = all
        .iter()
        .map(|(label, value, unit, note)| {
            format!(
                "<div><dt>{}</dt><dd class=\"v\">{} <small>{unit}</small></dd><dd class=\"n\">{}</dd></div>",
                esc(label),
                esc(value),
                esc(note)
            )
        })
        .collect();
    format!("<dl class=\"tiles\">{body}</dl>")
}

fn split_unit(ns: f64) -> (String, &'static str) {
    let text = format::latency(ns);
    let unit = ["ns", "µs", "ms", "s"]
        .into_iter()
        .find(|u| text.ends_with(&format!(" {u}")))
        .unwrap_or("");
    (text.trim_end_matches(unit).trim_end().to_owned(), unit)
}

fn one_job(run: &Run) -> Option<Tile> {
    let first = workloads(run).into_iter().next()?;
    let row = rows_of(run, first).into_iter().next()?;
    let (value, unit) = split_unit(sync_of(row)?.mean_ns);
    Some((
        "Log file sync, mean".to_owned(),
        value,
        unit,
        format!("{} with {}", row.workload, format::jobs(row.jobs)),
    ))
}

fn best(run: &Run) -> Option<Tile> {
    let envelope = Envelope::of(run);
    let (tps, note) = match (envelope.commits, envelope.best) {
        (Some((tps, bound, jobs)), _) => (
            tps,
            format!("p99 under {} ms, {}", bound / 1_000_000, format::jobs(jobs)),
        ),
        (None, Some((tps, _))) => (tps, "p99 over 10 ms".to_owned()),
        (None, None) => return None,
    };
    Some(("Commits".to_owned(), format::digits(tps), "/s", note))
}

fn tail(run: &Run) -> Option<Tile> {
    let bound = Envelope::of(run).commits.map(|c| c.1);
    let row = best_commits(run, bound)?;
    let sync = sync_of(row)?;
    let (value, unit) = match sync.p999_ns {
        Some(p) => split_unit(p as f64),
        None => ("–".to_owned(), ""),
    };
    Some((
        "Log file sync, p99.9".to_owned(),
        value,
        unit,
        format!(
            "at that load; longest {}",
            format::latency(sync.max_ns as f64)
        ),
    ))
}

fn redo(run: &Run) -> Option<Tile> {
    let (mbps, workload) = Envelope::of(run).redo_mbps?;
    Some(("Redo".to_owned(), format::digits(mbps), "MB/s", workload))
}

/// What was found, in the order in which it is shown: what weighs, then what is for the record.
pub(super) fn ordered(run: &Run) -> Vec<&Finding> {
    let all = run.verdict.as_ref().map_or(&run.findings, |v| &v.reasons);
    let (record, mut ordered): (Vec<&Finding>, Vec<&Finding>) =
        all.iter().partition(|f| f.weight == Weight::Info);
    ordered.extend(record);
    ordered
}

fn weighty(run: &Run) -> usize {
    let all = ordered(run);
    all.iter().filter(|f| f.weight != Weight::Info).count()
}

pub(super) fn reasons(run: &Run) -> Option<Section> {
    let end = weighty(run);
    let heading = if run.verdict.is_some() {
        "Reasons"
    } else {
        "Findings"
    };
    (end > 0).then(|| Section {
        id: "reasons".to_owned(),
        topic: None,
        heading: heading.to_owned(),
        tags: String::new(),
        how: "Each finding has its numbers, the threshold that was applied and the source of the threshold, and links to the figure that shows it. The verdict follows from the findings.".to_owned(),
        content: Content::Findings(0..end, "reasons full"),
    })
}

pub(super) fn record(run: &Run) -> Option<Section> {
    let (from, end) = (weighty(run), ordered(run).len());
    (end > from).then(|| Section {
        id: "record".to_owned(),
        topic: None,
        heading: "For the record".to_owned(),
        tags: String::new(),
        how: "Findings that count neither for nor against the device.".to_owned(),
        content: Content::Findings(from..end, "reasons"),
    })
}

pub(super) fn scope(run: &Run) -> Option<Section> {
    let not = &run.verdict.as_ref()?.scope.not_judged;
    if not.is_empty() {
        return None;
    }
    let list = entries(not, |n| format!("<li>{}</li>", esc(n)));
    Section::html(
        "not-judged",
        "Not judged",
        "What this verdict does not cover.",
        format!("<ul class=\"cols\">{list}</ul>"),
    )
}
