//! The machine that makes the load: whether its processors, or the lab itself, are the limit.

use super::catalogue;
use super::note::Note;
use super::{Caution, Good, Info};
use crate::format;
use crate::rows::{COMMITS, name_of, rows_of};
use crate::thresholds::Thresholds;
use measure::run::{Origin, Row, Run};

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    processors(run, t, notes);
    overhead(run, t, notes);
}

fn processors(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let limit = &t.cpu_busy_pct;
    let saturated: Vec<(&Row, f64)> = run
        .rows
        .iter()
        .filter_map(|r| Some((r, r.cpu_busy_pct?)))
        .filter(|(_, busy)| *busy > limit.value)
        .collect();
    let Some((row, busy)) = saturated.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return;
    };
    notes.push(
        Note::of(
            &catalogue::LOAD_PROCESSORS,
            Caution,
            format!(
                "Processors were {} busy in {}: in {} of {} rows the load generator, not the device, may be the limit.",
                format::percent(*busy),
                name_of(row),
                saturated.len(),
                run.rows.len(),
            ),
        )
        .number("busiest_pct", *busy)
        .number("rows_over", saturated.len() as f64)
        .limit(format!("busy over {} %", limit.value), limit),
    );
}

/// The lab's own time on the null device against the commit of one job.
fn overhead(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    if run.origin != Origin::Measured {
        return;
    }
    let rows = rows_of(run, COMMITS);
    let Some((own, row)) = run.lab_overhead_ns.zip(rows.first()) else {
        return;
    };
    if row.commit_latency_ms <= 0.0 {
        return;
    }
    let share = 100.0 * own / (row.commit_latency_ms * 1e6);
    let limit = &t.overhead_share_pct;
    let is_high = share > limit.value;
    notes.push(
        Note::of(
            &catalogue::LOAD_LAB_OVERHEAD,
            if is_high { Info } else { Good },
            format!(
                "redolab's own overhead is {} per commit (measured on the null device), {} of the commit measured with {}.",
                format::latency(own),
                format::percent(share),
                format::jobs(row.jobs),
            ),
        )
        .number("lab_overhead_us", own / 1e3)
        .number("share_pct", share)
        .limit(format!("over {} % of a commit", limit.value), limit)
        .advice_if(is_high),
    );
}
