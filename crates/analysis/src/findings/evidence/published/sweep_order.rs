//! What the order of a sweep's lines shows: a system that changed under the test, and tests that
//! were left out.

use super::sweep::{Groups, groups};
use crate::capacity::{CapacityPoint, anomalies};
use crate::findings::catalogue;
use crate::findings::evidence::view::{Line, Tables, show};
use crate::findings::note::Note;
use crate::findings::{Caution, Info};
use std::collections::{BTreeMap, BTreeSet};

/// Missing numbers between two tests from which it is another series of tests.
const GAP_MAX: u64 = 8;

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let groups = groups(tables);
    changed(&groups, notes);
    left_out(&groups, notes);
}

/// More throughput per job with less latency, after it fell with more jobs.
fn changed(groups: &Groups<'_>, notes: &mut Vec<Note>) {
    for ((platform, workload), lines) in groups {
        let point = |l: &Line<'_>| {
            Some(CapacityPoint {
                jobs: l.number("jobs")?,
                commits_per_s: l.number("commit_throughput_tps")?,
                latency_ms: l.number("commit_latency_ms"),
                sync_ms: l.number("log_file_sync_ms"),
            })
        };
        let points: Vec<CapacityPoint> = lines.iter().filter_map(point).collect();
        for [from, to] in anomalies(&points) {
            let [jobs, rate] = [to.jobs / from.jobs, to.commits_per_s / from.commits_per_s];
            let latency = |p: &CapacityPoint| p.latency_ms.map_or("-".to_owned(), show);
            let claim = format!(
                "{workload} on {platform}: from {} to {} jobs ({:+.0} %) throughput grows by {:.0} %, and the \
                 latency falls from {} to {} ms: the system changed under the test",
                from.jobs,
                to.jobs,
                100.0 * (jobs - 1.0),
                100.0 * (rate - 1.0),
                latency(&from),
                latency(&to)
            );
            notes.push(
                Note::of(&catalogue::EVIDENCE_SWEEP_CHANGED, Caution, claim)
                    .number("jobs", to.jobs)
                    .number("jobs_ratio", jobs)
                    .number("throughput_ratio", rate),
            );
        }
    }
}

/// Numbers of tests that no line of the platform has.
fn left_out(groups: &Groups<'_>, notes: &mut Vec<Note>) {
    let test = |l: &Line<'_>| -> Option<u64> {
        let number = l.number("test").map(|n| n as u64);
        l.text("test").parse().ok().or(number)
    };
    let mut known: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for ((platform, _), lines) in groups {
        known
            .entry(platform)
            .or_default()
            .extend(lines.iter().filter_map(test));
    }
    for ((platform, workload), lines) in groups {
        let mut numbers: Vec<u64> = lines.iter().filter_map(test).collect();
        numbers.sort_unstable();
        let near = numbers.windows(2).filter(|w| w[1] - w[0] <= GAP_MAX + 1);
        let inside = near.flat_map(|w| w[0] + 1..w[1]);
        let others = known.get(platform);
        let is_lost = |n: &u64| others.is_none_or(|known| !known.contains(n));
        let lost: Vec<u64> = inside.filter(is_lost).collect();
        // Where no two numbers follow each other, nothing shows that they count tests.
        if lost.is_empty() || !numbers.windows(2).any(|w| w[1] == w[0] + 1) {
            continue;
        }
        let named: Vec<String> = lost.iter().map(u64::to_string).collect();
        let claim = format!(
            "{workload} on {platform} has tests {} to {} without {}: lines were left out",
            numbers.first().copied().unwrap_or(0),
            numbers.last().copied().unwrap_or(0),
            named.join(", ")
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_TESTS_LEFT_OUT, Info, claim)
                .number("left_out", lost.len() as f64),
        );
    }
}
