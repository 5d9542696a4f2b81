//! Claims of factors in words, compared with the sweeps: at equal jobs and from peak to peak.

use super::sweep::{Groups, groups};
use crate::findings::catalogue;
use crate::findings::evidence::view::{Line, Tables, place, show};
use crate::findings::note::Note;
use crate::findings::{Bad, Caution, Info};
use std::collections::BTreeSet;

/// How much worse a newer platform has to be to be named.
const WORSE: f64 = 0.98;

/// A ratio that a claim might mean.
struct Candidate {
    ratio: f64,
    words: String,
}

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let groups = groups(tables);
    let pairs = pairs(&groups);
    if pairs.is_empty() {
        return;
    }
    let mut exceptions = false;
    for claim in tables.lines("claims") {
        judge(&claim, &groups, &pairs, notes);
        exceptions |= claim.text("direction") == "increases";
    }
    if exceptions {
        for (old, new) in &pairs {
            losses(&groups, old, new, notes);
        }
    }
}

/// Platforms to compare, the slower first: those of one family if there are such.
fn pairs<'a>(groups: &Groups<'a>) -> Vec<(&'a str, &'a str)> {
    let platforms: BTreeSet<&str> = groups.keys().map(|(p, _)| *p).collect();
    let family = |p: &str| p.split([' ', '-']).next().unwrap_or("").to_lowercase();
    let mut all = Vec::new();
    for a in &platforms {
        for b in &platforms {
            if a < b {
                all.push((*a, *b));
            }
        }
    }
    let own: Vec<(&str, &str)> = all
        .iter()
        .copied()
        .filter(|(a, b)| family(a) == family(b))
        .collect();
    let chosen = if own.is_empty() { all } else { own };
    let ordered = chosen.into_iter().map(|(a, b)| {
        let wins = |x: &str, y: &str| {
            let peaks = workloads(groups, x, y).into_iter();
            let better = peaks.filter(|w| {
                let peak = |p: &'a str| peak(groups, p, w, "commit_throughput_tps");
                let named = |n: &str| groups.keys().map(|(p, _)| *p).find(|p| *p == n);
                match (named(x).and_then(peak), named(y).and_then(peak)) {
                    (Some(px), Some(py)) => px > py,
                    _ => false,
                }
            });
            better.count()
        };
        if wins(a, b) > wins(b, a) {
            (b, a)
        } else {
            (a, b)
        }
    });
    ordered.collect()
}

fn workloads<'a>(groups: &Groups<'a>, a: &str, b: &str) -> Vec<&'a str> {
    let has = |p: &str, w: &str| groups.keys().any(|(q, v)| *q == p && *v == w);
    let names: BTreeSet<&str> = groups.keys().map(|(_, w)| *w).collect();
    names
        .into_iter()
        .filter(|w| has(a, w) && has(b, w))
        .collect()
}

fn peak(groups: &Groups<'_>, platform: &str, workload: &str, key: &str) -> Option<f64> {
    let lines = groups.get(&(platform, workload))?;
    lines
        .iter()
        .filter_map(|l| l.number(key))
        .max_by(f64::total_cmp)
}

/// Lines of two platforms with the same number of jobs.
fn same_jobs<'a, 'b>(
    groups: &'b Groups<'a>,
    old: &'b str,
    new: &'b str,
    workload: &'b str,
) -> Vec<(f64, &'b Line<'a>, &'b Line<'a>)> {
    let of = |p: &'b str| groups.get(&(p, workload)).map_or(&[][..], Vec::as_slice);
    let mut out = Vec::new();
    for a in of(old) {
        let jobs = a.number("jobs").unwrap_or(0.0);
        let same = of(new).iter().find(|b| b.number("jobs") == Some(jobs));
        out.extend(same.map(|b| (jobs, a, b)));
    }
    out
}

/// The largest ratio at equal jobs for each column, and peak to peak for each workload.
fn candidates(
    groups: &Groups<'_>,
    old: &str,
    new: &str,
    columns: &[(&str, &str, bool)],
) -> Vec<Candidate> {
    let mut out = Vec::new();
    for (key, name, falls) in columns {
        let mut best: Option<Candidate> = None;
        for workload in workloads(groups, old, new) {
            for (jobs, a, b) in same_jobs(groups, old, new, workload) {
                let (Some(x), Some(y)) = (a.number(key), b.number(key)) else {
                    continue;
                };
                let ratio = if *falls { x / y } else { y / x };
                if ratio.is_finite() && best.as_ref().is_none_or(|c| ratio > c.ratio) {
                    let words = format!(
                        "at most {ratio:.2} in {name} at equal jobs ({workload}, {jobs} \
                         jobs: {x} against {y})"
                    );
                    best = Some(Candidate { ratio, words });
                }
            }
            if *falls {
                continue;
            }
            let (a, b) = (
                peak(groups, old, workload, key),
                peak(groups, new, workload, key),
            );
            if let (Some(a), Some(b)) = (a.filter(|a| *a > 0.0), b) {
                let ratio = b / a;
                let words = format!(
                    "{ratio:.2} from peak to peak ({workload}: {} against {})",
                    show(a),
                    show(b)
                );
                out.push(Candidate { ratio, words });
            }
        }
        out.extend(best);
    }
    out
}

fn judge(claim: &Line<'_>, groups: &Groups<'_>, pairs: &[(&str, &str)], notes: &mut Vec<Note>) {
    let (Some(factor), Some(half)) = (claim.number("factor"), claim.number("half_digit")) else {
        return;
    };
    let columns: &[(&str, &str, bool)] = match claim.text("metric") {
        "latency" => &[
            ("commit_latency_ms", "commit latency", true),
            ("log_file_sync_ms", "log file sync", true),
        ],
        "data throughput" => &[("redo_data_mbps", "redo per second", false)],
        _ => &[("commit_throughput_tps", "throughput", false)],
    };
    let all: Vec<Candidate> = pairs
        .iter()
        .flat_map(|(old, new)| candidates(groups, old, new, columns))
        .collect();
    if all.is_empty() {
        return;
    }
    let place = place(claim.table());
    let fits = all
        .iter()
        .find(|c| (c.ratio - factor).abs() <= half * 1.0001);
    if let Some(fits) = fits {
        let words = format!("`{}` holds: {} ({place})", claim.text("claim"), fits.words);
        let note = Note::of(&catalogue::EVIDENCE_CLAIM_HOLDS, Info, words);
        notes.push(note.number("claimed", factor).number("found", fits.ratio));
        return;
    }
    let mut ranked: Vec<&Candidate> = all.iter().collect();
    ranked.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    let said: Vec<&str> = ranked.iter().take(4).map(|c| c.words.as_str()).collect();
    let words = format!(
        "`{}`: no figure of the tables is {factor} within {half}: {} ({place})",
        claim.text("claim"),
        said.join("; ")
    );
    let mut note = Note::of(&catalogue::EVIDENCE_CLAIM, Bad, words).number("claimed", factor);
    for (i, c) in ranked.iter().take(4).enumerate() {
        note = note.number(format!("found_{}", i + 1), c.ratio);
    }
    notes.push(
        note.rule("the largest ratio at equal jobs, or peak to peak, within the claim's digits"),
    );
}

/// Where the faster platform is the slower one.
fn losses(groups: &Groups<'_>, old: &str, new: &str, notes: &mut Vec<Note>) {
    let mut worse = Vec::new();
    for workload in workloads(groups, old, new) {
        for (jobs, a, b) in same_jobs(groups, old, new, workload) {
            let tps = |l: &Line<'_>| l.number("commit_throughput_tps");
            let (Some(x), Some(y)) = (tps(a), tps(b)) else {
                continue;
            };
            if y < WORSE * x {
                worse.push(format!(
                    "{workload} with {jobs} jobs ({} against {} per second)",
                    show(y),
                    show(x)
                ));
            }
        }
    }
    if worse.is_empty() {
        return;
    }
    let claim = format!("{new} loses to {old} at {}", worse.join(", "));
    notes.push(
        Note::of(&catalogue::EVIDENCE_CLAIM_EXCEPTION, Caution, claim)
            .number("lines", worse.len() as f64)
            .rule(format!(
                "at least {WORSE} of the other's throughput at equal jobs"
            )),
    );
}
