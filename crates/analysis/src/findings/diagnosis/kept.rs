//! What is kept of a long series: a thousand reports have a thousand times the same tables and
//! contradictions, and a run has room for a few hundred.
//!
//! Invariants: every report keeps its line in the series, its source and its row; what is left out
//! is counted and said.

use super::super::evidence::view::{Line, Tables, lines};
use super::series::{LATENCIES, REPORT_SERIES};
use measure::imported::Imported;
use measure::judgement::Finding;
use std::collections::{BTreeMap, BTreeSet};

/// Reports of a series whose tables are all kept: a week of hours.
const REPORTS_FULL: usize = 200;
/// Findings of one kind that a series has.
const KIND_MAX: usize = 3;

/// Leaves out the tables of the reports of a long series, except those of its slowest and its
/// busiest report; says so.
pub fn thin(imported: &mut Imported) -> Option<String> {
    let mut dropped: BTreeSet<String> = BTreeSet::new();
    let mut kept: BTreeSet<String> = BTreeSet::new();
    for table in Tables(&imported.tables).of(REPORT_SERIES) {
        if table.rows.len() <= REPORTS_FULL {
            continue;
        }
        let report = |line: Line<'_>| line.text("report").to_owned();
        dropped.extend(lines(table).map(report));
        for key in [LATENCIES[0], LATENCIES[1], "commits_per_s"] {
            let known = lines(table).filter_map(|line| Some((line.number(key)?, line)));
            let most = known.max_by(|a, b| a.0.total_cmp(&b.0));
            kept.extend(most.map(|(_, line)| report(line)));
        }
    }
    // Intervals between listings have no tables of their own.
    let files: BTreeSet<&str> = imported.tables.iter().map(|t| t.file.as_str()).collect();
    dropped.retain(|report| !kept.contains(report) && files.contains(report.as_str()));
    imported
        .tables
        .retain(|table| !dropped.contains(&table.file));
    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    (!dropped.is_empty()).then(|| {
        format!(
            "the tables of {} reports of the series are not kept, because there is no room for them; those of \
             the slowest and the busiest are ({}). Import fewer reports to have the tables of all",
            dropped.len(),
            kept.join(", ")
        )
    })
}

/// Leaves out findings that say the same of many reports of a series; the last that is kept says
/// how many there were.
pub fn shorten(imported: &Imported, findings: &mut Vec<Finding>) {
    if Tables(&imported.tables).of(REPORT_SERIES).next().is_none() {
        return;
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    findings.retain(|finding| {
        let of = seen.entry(finding.id.clone()).or_default();
        *of += 1;
        *of <= KIND_MAX
    });
    for (id, all) in seen.into_iter().filter(|(_, all)| *all > KIND_MAX) {
        if let Some(last) = findings.iter_mut().rfind(|finding| finding.id == id) {
            let more = all - KIND_MAX;
            last.claim = format!("{}; and {more} more findings of this kind", last.claim);
        }
    }
}
