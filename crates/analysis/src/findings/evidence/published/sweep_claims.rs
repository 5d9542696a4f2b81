//! Claims of factors in words, compared with the sweeps: at equal jobs, from peak to peak and from
//! last row to last row. A claim may be rounded or cut to its digits; which of these it is, and
//! whether a larger ratio exists, is part of the finding.

use super::sweep::{Groups, groups};
use crate::findings::catalogue;
use crate::findings::evidence::view::{Line, Tables, place, show};
use crate::findings::note::Note;
use crate::findings::{Bad, Caution, Info};
use std::collections::BTreeSet;

/// How much worse a newer platform has to be to be named.
const WORSE: f64 = 0.98;
/// Ratios that a finding names.
const NAMED: usize = 4;

/// Which rows of two platforms a ratio compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RatioBasis {
    /// Rows with the same number of jobs.
    EqualJobs,
    /// The rows with the highest throughput.
    Peaks,
    /// The rows with the most jobs.
    LastRows,
}

/// A ratio that a claim might mean.
struct Candidate {
    ratio: f64,
    basis: RatioBasis,
    column: &'static str,
    workload: String,
    words: String,
}

/// What is compared: key of the column, its name, and whether less is better.
type ClaimedColumn = (&'static str, &'static str, bool);

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
pub(super) fn pairs<'a>(groups: &Groups<'a>) -> Vec<(&'a str, &'a str)> {
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

pub(super) fn workloads<'a>(groups: &Groups<'a>, a: &str, b: &str) -> Vec<&'a str> {
    let has = |p: &str, w: &str| groups.keys().any(|(q, v)| *q == p && *v == w);
    let names: BTreeSet<&str> = groups.keys().map(|(_, w)| *w).collect();
    names
        .into_iter()
        .filter(|w| has(a, w) && has(b, w))
        .collect()
}

pub(super) fn peak(groups: &Groups<'_>, platform: &str, workload: &str, key: &str) -> Option<f64> {
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

/// Rows of two platforms that a claim may compare, with how they were chosen.
fn chosen_rows<'a, 'b>(
    groups: &'b Groups<'a>,
    old: &'b str,
    new: &'b str,
    workload: &'b str,
) -> Vec<(RatioBasis, &'b Line<'a>, &'b Line<'a>)> {
    let same = same_jobs(groups, old, new, workload).into_iter();
    let mut rows: Vec<_> = same
        .map(|(_, a, b)| (RatioBasis::EqualJobs, a, b))
        .collect();
    let of = |platform: &'b str| groups.get(&(platform, workload));
    let (Some(a), Some(b)) = (of(old), of(new)) else {
        return rows;
    };
    let tps = |line: &Line<'_>| line.number("commit_throughput_tps").unwrap_or(0.0);
    let top = |lines: &'b [Line<'a>]| lines.iter().max_by(|x, y| tps(x).total_cmp(&tps(y)));
    if let (Some(a), Some(b)) = (top(a), top(b)) {
        rows.push((RatioBasis::Peaks, a, b));
    }
    if let (Some(a), Some(b)) = (a.last(), b.last()) {
        rows.push((RatioBasis::LastRows, a, b));
    }
    rows
}

/// Every ratio of two platforms that a claim about these columns might mean.
fn candidates(
    groups: &Groups<'_>,
    old: &str,
    new: &str,
    columns: &[ClaimedColumn],
) -> Vec<Candidate> {
    let mut out = Vec::new();
    for (key, column, falls) in columns {
        for workload in workloads(groups, old, new) {
            for (basis, a, b) in chosen_rows(groups, old, new, workload) {
                let (Some(x), Some(y)) = (a.number(key), b.number(key)) else {
                    continue;
                };
                let ratio = if *falls { x / y } else { y / x };
                if !ratio.is_finite() {
                    continue;
                }
                let jobs = |line: &Line<'_>| line.number("jobs").unwrap_or(0.0);
                let rows = match basis {
                    RatioBasis::EqualJobs => format!("at equal jobs ({workload}, {}", jobs(a)),
                    RatioBasis::Peaks => {
                        format!("from peak to peak ({workload}, {} and {}", jobs(a), jobs(b))
                    }
                    RatioBasis::LastRows => {
                        format!(
                            "from last row to last row ({workload}, {} and {}",
                            jobs(a),
                            jobs(b)
                        )
                    }
                };
                out.push(Candidate {
                    ratio,
                    basis,
                    column,
                    workload: workload.to_owned(),
                    words: format!(
                        "{ratio:.2} in {column} {rows} jobs: {} against {})",
                        show(x),
                        show(y)
                    ),
                });
            }
        }
    }
    out
}

/// The largest ratio of each column at equal jobs, and those of each workload's peaks and last
/// rows, the largest first; last rows that are the peaks are one.
fn largest(all: &[Candidate]) -> Vec<&Candidate> {
    let group = |c: &Candidate| match c.basis {
        RatioBasis::EqualJobs => (c.basis, c.column, String::new()),
        basis => (basis, c.column, c.workload.clone()),
    };
    let mut best: Vec<&Candidate> = Vec::new();
    for c in all {
        match best.iter_mut().find(|b| group(b) == group(c)) {
            Some(b) if c.ratio > b.ratio => *b = c,
            Some(_) => {}
            None => best.push(c),
        }
    }
    best.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    best.dedup_by(|b, a| a.column == b.column && a.ratio == b.ratio);
    best
}

fn judge(claim: &Line<'_>, groups: &Groups<'_>, pairs: &[(&str, &str)], notes: &mut Vec<Note>) {
    let (Some(factor), Some(half)) = (claim.number("factor"), claim.number("half_digit")) else {
        return;
    };
    let columns: &[ClaimedColumn] = match claim.text("metric") {
        "latency" => &[
            ("commit_latency_ms", "commit latency", true),
            ("log_file_sync_ms", "log file sync", true),
        ],
        "data throughput" => &[("redo_data_mbps", "redo per second", false)],
        _ => &[("commit_throughput_tps", "throughput", false)],
    };
    let each = pairs.iter();
    let all: Vec<Candidate> = each
        .flat_map(|(old, new)| candidates(groups, old, new, columns))
        .collect();
    let best = largest(&all);
    if best.is_empty() {
        return;
    }
    let (place, text) = (place(claim.table()), claim.text("claim"));
    let rounds = |c: &&Candidate| (c.ratio - factor).abs() <= half * 1.0001;
    let cut = |c: &&Candidate| (factor..factor + 2.0 * half).contains(&c.ratio);
    if let Some(fits) = best.iter().copied().find(rounds) {
        let words = format!("`{text}` holds: {} ({place})", fits.words);
        let note = Note::of(&catalogue::EVIDENCE_CLAIM_HOLDS, Info, words);
        notes.push(note.number("claimed", factor).number("found", fits.ratio));
        return;
    }
    let words = |some: &[&Candidate]| {
        let words: Vec<&str> = some.iter().take(NAMED).map(|c| c.words.as_str()).collect();
        words.join("; ")
    };
    let fits: Vec<&Candidate> = best.iter().copied().filter(cut).collect();
    let (weight, said) = match fits.first() {
        Some(top) => {
            let above = best.iter().copied().filter(|c| c.ratio > top.ratio);
            let larger = match above.collect::<Vec<_>>().as_slice() {
                [] => String::new(),
                above => format!("; larger ratios exist: {}", words(above)),
            };
            (
                Caution,
                format!("matches, cut to its digits: {}{larger}", words(&fits)),
            )
        }
        None => (
            Bad,
            format!(
                "none of the largest ratios is {factor} within {half}: {}",
                words(&best)
            ),
        ),
    };
    let single = all.iter().filter(|c| c.basis == RatioBasis::EqualJobs);
    let near = match single.clone().filter(|c| rounds(c)).count() {
        0 => String::new(),
        n => format!(
            "; {n} of {} ratios of single rows at equal jobs are {factor} within {half}",
            single.count()
        ),
    };
    let claimed = format!("`{text}`: {said}{near} ({place})");
    let mut note = Note::of(&catalogue::EVIDENCE_CLAIM, weight, claimed).number("claimed", factor);
    for (i, c) in best.iter().take(NAMED).enumerate() {
        note = note.number(format!("found_{}", i + 1), c.ratio);
    }
    notes.push(note.rule(
        "the largest ratio at equal jobs, from peak to peak or from last row to last row, within \
         the claim's digits",
    ));
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
