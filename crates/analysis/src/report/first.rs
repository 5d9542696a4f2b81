//! The first screen of a run's page: host, device, volume and log, the answer, what raises doubt,
//! and four figures. The drawing that follows is in `answer`.
//!
//! Invariants: it fits 900 pixels of height together with its drawing; what is not known is left
//! out.

use super::escape::esc;
use super::{judged, origin_tag, place, tiles};
use crate::account::findings::claim;
use crate::envelope::Envelope;
use crate::format;
use crate::verdict::{need_places, needed};
use measure::imported::{Imported, Source};
use measure::judgement::{Need, Verdict};
use measure::run::{Run, TargetFacts};

/// What stands above the contents of a run's page.
pub(super) fn header(run: &Run) -> String {
    format!(
        "<header>\n<h1>{}</h1>\n{}{}{}\n{}{}</header>\n",
        esc(&question(run)),
        meta(run),
        facts(run),
        answer(run),
        doubts(run),
        tiles::html(run),
    )
}

/// The name of the page in a list of windows or files: the answer first.
pub(super) fn title(run: &Run) -> String {
    let answer = match (&run.verdict, run.imported.is_some()) {
        (_, true) => "evidence: ".to_owned(),
        (Some(verdict), _) => format!("{}: ", verdict.answer.word()),
        (None, _) => String::new(),
    };
    let host = match run.environment.hostname.as_str() {
        "" => String::new(),
        host => format!(" on {host}"),
    };
    format!("{answer}{}{host} ({})", path(run), run.run_id)
}

/// The question that the page answers.
pub(super) fn question(run: &Run) -> String {
    match (run.imported.is_some(), run.verdict.is_some()) {
        (true, _) => "Why do commits wait? What the evidence shows".to_owned(),
        (false, true) => format!("Should a redo log live on {}?", path(run)),
        (false, false) => format!("What was measured on {}", path(run)),
    }
}

fn path(run: &Run) -> &str {
    match run.target.path.as_str() {
        "" => "this target",
        path => path,
    }
}

fn meta(run: &Run) -> String {
    format!(
        "<p class=\"meta\">{} · run {} · {} · redolab {}</p>\n",
        origin_tag(run),
        esc(&run.run_id),
        esc(&run.created),
        esc(&run.redolab_version),
    )
}

/// What was measured, and where: label, the words that matter, and details.
pub(super) fn facts_of(run: &Run) -> Vec<(&'static str, String, String)> {
    let notes = notes(run);
    if let Some(evidence) = &run.imported {
        return evidence_facts(evidence).into_iter().chain(notes).collect();
    }
    let mut out = vec![host(run)];
    match &run.target.facts {
        TargetFacts::Database(server) => out.push((
            "Server",
            format!("{} {}", server.product, server.version),
            server.log_directory.clone().unwrap_or_default(),
        )),
        TargetFacts::Watched(log) => out.push((
            "Log",
            format!("of {}, watched", log.product),
            format::plural(log.log_files.len() as u64, "log file"),
        )),
        _ if run.target.kind == "null" => out.push((
            "Device",
            "none: the null device".to_owned(),
            "redolab's own overhead".to_owned(),
        )),
        _ => {}
    }
    out.extend(place::device(&run.target.stack));
    out.extend(place::volume(&run.target.stack));
    out.extend(place::log(run));
    out.extend(notes);
    out.retain(|(_, words, details)| !words.is_empty() || !details.is_empty());
    out
}

/// The name of what the user noted.
pub(super) const LABEL: &str = "Label";

/// What the user noted; `None` where that is nothing.
fn notes(run: &Run) -> Option<(&'static str, String, String)> {
    let label = run.notes.label.clone().unwrap_or_default();
    (!run.notes.is_empty()).then(|| (LABEL, label, run.notes.tags_in_words()))
}

fn host(run: &Run) -> (&'static str, String, String) {
    let e = &run.environment;
    let name = match e.hostname.as_str() {
        "" => "name withheld",
        name => name,
    };
    let mut details = Vec::new();
    if e.cpus > 0 {
        details.push(format::plural(u64::from(e.cpus), "processor"));
    }
    if e.memory_bytes > 0 {
        details.push(format::bytes(e.memory_bytes));
    }
    details.extend([e.kernel.clone()].into_iter().filter(|k| !k.is_empty()));
    ("Host", name.to_owned(), details.join(" · "))
}

/// The last part of a path: the table of the evidence has all of it.
fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn evidence_facts(evidence: &Imported) -> Vec<(&'static str, String, String)> {
    const SHOWN: usize = 3;
    let fact = |source: &Source| {
        let lines = format::plural(source.lines, "line");
        let details = format!("{} · {lines}", source.kind);
        ("Evidence", file_name(&source.file), details)
    };
    let mut out: Vec<_> = evidence.sources.iter().take(SHOWN).map(fact).collect();
    let more = evidence.sources.len().saturating_sub(SHOWN);
    if more > 0 {
        out.push(("Evidence", format!("and {more} more"), String::new()));
    }
    out
}

fn facts(run: &Run) -> String {
    facts_html(&facts_of(run))
}

/// Facts beside each other.
pub(super) fn facts_html(all: &[(&'static str, String, String)]) -> String {
    let each: String = all
        .iter()
        .map(|(label, words, details)| {
            format!(
                "<div><dt>{label}</dt><dd><b>{}</b><small>{}</small></dd></div>",
                esc(words),
                esc(details)
            )
        })
        .collect();
    if each.is_empty() {
        each
    } else {
        format!("<dl class=\"facts\">{each}</dl>\n")
    }
}

fn answer(run: &Run) -> String {
    if run.imported.is_some() {
        return causes(run);
    }
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
         <div><dt>Based on</dt><dd>{}</dd></div></dl></div>",
        esc(&clipped(&without_answer(&verdict.summary, &answer))),
        esc(&verdict.durability_in_words()),
        verdict.performance,
        esc(&need_in_words(&run.need)),
        esc(&rests_on(verdict)),
    )
}

/// What the weightiest findings of the evidence claim.
fn causes(run: &Run) -> String {
    let found = judged::diagnosis(run);
    let Some((first, rest)) = found.split_first() else {
        return "<div class=\"banner none\"><p class=\"a\">No cause found</p><p class=\"s\">No finding follows from this evidence about what commits wait for: it takes figures of log file sync and log file parallel write. The figures and tables below show what it contains.</p></div>\n".to_owned();
    };
    let class = judged::tone(first.weight);
    let rest: String = rest
        .iter()
        .take(2)
        .map(|f| format!("<p class=\"s\">{}</p>", esc(&capitalised(&claim(f)))))
        .collect();
    let advice = match first.advice.as_str() {
        "" => String::new(),
        advice => format!("<p class=\"s\"><b>What to do:</b> {}</p>", esc(advice)),
    };
    format!(
        "<div class=\"banner {class}\"><p class=\"a long\">{}</p>{advice}{rest}</div>\n",
        esc(&capitalised(&claim(first)))
    )
}

/// A line where a problem makes the figures wrong or doubtful.
fn doubts(run: &Run) -> String {
    let problems = &run.validity.problems;
    let Some(first) = problems.iter().max_by_key(|p| p.invalidates) else {
        return String::new();
    };
    // A summary that is about this problem says it already.
    let summary = run.verdict.as_ref().map_or("", |v| v.summary.as_str());
    if run.validity.valid && summary.contains(&first.detail) {
        return "<p class=\"how\"><a href=\"#validity\">All doubts about the figures</a></p>\n"
            .to_owned();
    }
    let word = match run.validity.valid {
        true => "Doubtful",
        false => "Invalid: do not use these figures",
    };
    let more = match problems.len() {
        1 => String::new(),
        n => format!(" {} more.", n - 1),
    };
    format!(
        "<p class=\"warn\">{word}. {}{more} <a href=\"#validity\">Validity</a></p>\n",
        esc(&clipped(&first.detail))
    )
}

/// A sentence as far as the first screen has room for it.
fn clipped(text: &str) -> String {
    const MOST: usize = 420;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let head: String = text.chars().take(MOST).collect();
    let end = head.rfind(' ').unwrap_or(head.len());
    format!("{} …", head.get(..end).unwrap_or(&head))
}

/// The summary without the answer that is above it.
pub(super) fn without_answer(summary: &str, answer: &str) -> String {
    let rest = summary
        .strip_prefix(answer)
        .and_then(|s| s.strip_prefix(": "))
        .unwrap_or(summary);
    capitalised(rest)
}

pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// The need: `5,000 commits/s, p99 2 ms`, with the places that its figures were taken from, or
/// `none stated`.
pub(super) fn need_in_words(need: &Need) -> String {
    let parts = needed(need);
    if parts.is_empty() {
        return "none stated".to_owned();
    }
    let sources = need_places(need).into_iter();
    let sources: Vec<String> = sources
        .map(|(what, place)| format!("{what}: {place}"))
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
