//! The first screen of a run's page: host, device, volume and log, the answer, what raises doubt,
//! and four figures. The drawing that follows is in `answer`.
//!
//! Invariants: it fits 900 pixels of height together with its drawing; the four figures are of one
//! row, apart from the redo rate; what is not known is left out.

use super::escape::esc;
use super::{judged, origin_tag, reasons, target};
use crate::envelope::{Envelope, best_commits};
use crate::findings::diagnosis;
use crate::format;
use crate::rows::{commit_wait_of, redo_mbps, sync_of, write_of};
use measure::imported::Imported;
use measure::judgement::{Need, Verdict};
use measure::run::{Row, Run, TargetFacts, WaitStats};

/// What stands above the contents of a run's page.
pub(super) fn header(run: &Run) -> String {
    format!(
        "<header>\n<h1>{}</h1>\n{}{}{}\n{}{}</header>\n",
        esc(&question(run)),
        meta(run),
        facts(run),
        answer(run),
        doubts(run),
        tiles_html(&tiles(run)),
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
    format!("{answer}{}{host} ({})", place(run), run.run_id)
}

/// The question that the page answers.
pub(super) fn question(run: &Run) -> String {
    match (run.imported.is_some(), run.verdict.is_some()) {
        (true, _) => "Why do commits wait? What the evidence shows".to_owned(),
        (false, true) => format!("Should a redo log live on {}?", place(run)),
        (false, false) => format!("What was measured on {}", place(run)),
    }
}

fn place(run: &Run) -> &str {
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
    if let Some(evidence) = &run.imported {
        return evidence_facts(evidence);
    }
    let mut out = vec![host(run)];
    match &run.target.facts {
        TargetFacts::Database(server) => out.push((
            "Server",
            format!("{} {}", server.product, server.version),
            server.log_directory.clone().unwrap_or_default(),
        )),
        _ if run.target.kind == "null" => out.push((
            "Device",
            "none: the null device".to_owned(),
            "redolab's own overhead".to_owned(),
        )),
        _ => {}
    }
    out.extend(target::device(&run.target.stack));
    out.extend(target::volume(&run.target.stack));
    out.extend(target::log(run));
    out.retain(|(_, words, details)| !words.is_empty() || !details.is_empty());
    out
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

fn evidence_facts(evidence: &Imported) -> Vec<(&'static str, String, String)> {
    const SHOWN: usize = 3;
    let mut out: Vec<(&'static str, String, String)> = evidence
        .sources
        .iter()
        .take(SHOWN)
        .map(|s| {
            let lines = (s.lines > 0).then(|| format::plural(s.lines, "line"));
            let parts = [Some(s.kind.clone()), lines];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            ("Evidence", s.file.clone(), parts.join(" · "))
        })
        .collect();
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
         <div><dt>Rests on</dt><dd>{}</dd></div></dl></div>",
        esc(&clipped(&without_answer(&verdict.summary, &answer))),
        verdict.durability,
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
        .map(|f| {
            format!(
                "<p class=\"s\">{}</p>",
                esc(&capitalised(&reasons::claim(f)))
            )
        })
        .collect();
    let advice = match first.advice.as_str() {
        "" => String::new(),
        advice => format!("<p class=\"s\"><b>What to do:</b> {}</p>", esc(advice)),
    };
    format!(
        "<div class=\"banner {class}\"><p class=\"a long\">{}</p>{advice}{rest}</div>\n",
        esc(&capitalised(&reasons::claim(first)))
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
    const MOST: usize = 300;
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

/// The stated need: `5,000 commits/s, p99 2 ms`, or `none`.
pub(super) fn need_in_words(need: &Need) -> String {
    let redo = |r: f64| {
        let mbps = format::digits(r / measure::units::MB_BYTES);
        format!("{mbps} MB/s of redo")
    };
    let parts = [
        need.commit_rate
            .map(|r| format!("{} commits/s", format::digits(r))),
        need.redo_bytes_per_s.map(redo),
        need.p99_ns
            .map(|p| format!("p99 {}", format::latency(p as f64))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        "none stated".to_owned()
    } else {
        parts.join(", ")
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

/// A key figure.
pub(super) struct Tile {
    pub(super) label: &'static str,
    pub(super) value: String,
    pub(super) unit: &'static str,
    /// At which load, and what stands beside it.
    pub(super) note: String,
}

/// The four figures of a run, of the row that committed most within the bound on the 99th
/// percentile; the redo rate is of the row that wrote most.
pub(super) fn tiles(run: &Run) -> Vec<Tile> {
    if let Some(evidence) = &run.imported {
        return evidence_tiles(run, evidence);
    }
    let Some((row, bound)) = best_row(run) else {
        return redo(run).into_iter().collect();
    };
    [
        commits(run, row, bound),
        tail(run, row),
        write(row),
        redo(run),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What the evidence has of the same figures; of several reports the first that has them.
fn evidence_tiles(run: &Run, evidence: &Imported) -> Vec<Tile> {
    let waits = waits_of(evidence);
    let mean = |label: &'static str, known: Option<(f64, f64)>, row: Option<&WaitStats>| {
        let (ns, count) = known.or_else(|| row.map(|w| (w.mean_ns, w.count as f64)))?;
        let (value, unit) = split_unit(ns);
        let note = format::plural(count.max(0.0) as u64, "wait");
        Some(Tile {
            label,
            value,
            unit,
            note,
        })
    };
    let of_row = |of: fn(&Row) -> Option<&WaitStats>| {
        run.rows
            .iter()
            .find_map(|row| of(row).filter(|w| w.count > 0))
    };
    let commits = run.rows.iter().find_map(|r| r.commit_throughput_tps);
    let redo = run.rows.iter().find_map(redo_mbps);
    let plain = |label, value: Option<f64>, unit| {
        let value = format::digits(value.filter(|v| *v > 0.0)?);
        Some(Tile {
            label,
            value,
            unit,
            note: String::new(),
        })
    };
    [
        mean("Log file sync, mean", waits.map(|w| w.0), of_row(sync_of)),
        mean(
            "Log file parallel write, mean",
            waits.map(|w| w.1),
            of_row(write_of),
        ),
        plain("Commits", commits, "/s"),
        plain("Redo", redo, "MB/s"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Mean nanoseconds and number of log file sync, then of log file parallel write, of the first
/// report that has both.
pub(super) fn waits_of(evidence: &Imported) -> Option<((f64, f64), (f64, f64))> {
    diagnosis::commit_waits(evidence)
        .first()
        .map(|w| (w.sync, w.write))
}

/// The row, and the bound that its 99th percentile keeps, nanoseconds.
fn best_row(run: &Run) -> Option<(&Row, Option<u64>)> {
    let bound = run.need.p99_ns.or(Envelope::of(run).commits.map(|c| c.1));
    let within = bound.and_then(|b| Some((best_commits(run, Some(b))?, Some(b))));
    let rate = |row: &&Row| row.commit_throughput_tps.unwrap_or(0.0);
    let fastest = || {
        let rows = run.rows.iter().filter(|row| rate(row) > 0.0);
        rows.max_by(|a, b| rate(a).total_cmp(&rate(b)))
            .or_else(|| run.rows.first())
    };
    within
        .or_else(|| Some((best_commits(run, None)?, None)))
        .or_else(|| Some((fastest()?, None)))
}

fn load(row: &Row) -> String {
    format!("{} with {}", row.workload, format::jobs(row.jobs))
}

fn needed(text: Option<String>) -> String {
    text.map_or_else(String::new, |text| format!("; needed: {text}"))
}

fn commits(run: &Run, row: &Row, bound: Option<u64>) -> Option<Tile> {
    let bound = bound.map_or_else(String::new, |b| {
        format!(", p99 under {}", format::latency(b as f64))
    });
    let need = run.need.commit_rate.map(format::digits);
    Some(Tile {
        label: "Commits",
        value: format::digits(row.commit_throughput_tps?),
        unit: "/s",
        note: format!("{}{bound}{}", load(row), needed(need)),
    })
}

fn tail(run: &Run, row: &Row) -> Option<Tile> {
    let wait = commit_wait_of(row)?;
    let label = match sync_of(row) {
        Some(_) => "Log file sync, p99",
        None => "Commit, p99",
    };
    let (value, unit) = match wait.p99_ns {
        Some(p99) => split_unit(p99 as f64),
        None => ("–".to_owned(), ""),
    };
    let known =
        |name: &str, ns: Option<u64>| ns.map(|ns| format!("{name} {}", format::latency(ns as f64)));
    let parts = [
        known("p50", wait.p50_ns),
        known("p99.9", wait.p999_ns),
        known("longest", Some(wait.max_ns)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let need = run.need.p99_ns.map(|ns| format::latency(ns as f64));
    Some(Tile {
        label,
        value,
        unit,
        note: format!("{}{}", parts.join(", "), needed(need)),
    })
}

fn write(row: &Row) -> Option<Tile> {
    let wait = write_of(row).filter(|wait| wait.count > 0)?;
    let (value, unit) = split_unit(wait.mean_ns);
    let p99 = wait.p99_ns.map_or_else(String::new, |ns| {
        format!("p99 {}, ", format::latency(ns as f64))
    });
    Some(Tile {
        label: "Log file parallel write, mean",
        value,
        unit,
        note: format!("{p99}{}", load(row)),
    })
}

fn redo(run: &Run) -> Option<Tile> {
    let (mbps, load_of) = match Envelope::of(run).redo_mbps {
        Some((mbps, workload)) => (mbps, workload),
        None => {
            let row = run.rows.iter().find(|row| redo_mbps(row).is_some())?;
            (redo_mbps(row)?, row.workload.clone())
        }
    };
    let need = run.need.redo_bytes_per_s;
    let need = need.map(|r| format::digits(r / measure::units::MB_BYTES));
    Some(Tile {
        label: "Redo",
        value: format::digits(mbps),
        unit: "MB/s",
        note: format!("most of all rows, {load_of}{}", needed(need)),
    })
}

fn split_unit(ns: f64) -> (String, &'static str) {
    let text = format::latency(ns);
    let unit = ["ns", "µs", "ms", "s"]
        .into_iter()
        .find(|u| text.ends_with(&format!(" {u}")))
        .unwrap_or("");
    (text.trim_end_matches(unit).trim_end().to_owned(), unit)
}

/// Key figures beside each other.
pub(super) fn tiles_html(all: &[Tile]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let body: String = all
        .iter()
        .map(|tile| {
            format!(
                "<div><dt>{}</dt><dd class=\"v\">{} <small>{}</small></dd><dd class=\"n\">{}</dd></div>",
                tile.label,
                esc(&tile.value),
                tile.unit,
                esc(&tile.note)
            )
        })
        .collect();
    format!("<dl class=\"tiles\">{body}</dl>\n")
}
