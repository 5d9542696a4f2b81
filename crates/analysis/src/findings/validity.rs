//! Doubt about the measurement itself: recorded problems, neighbours, and Little's law. What
//! becomes of flushes is in `flush`.

use super::block::copies_on_write;
use super::note::Note;
use super::{Bad, Caution, Good, Info, name_of};
use crate::format;
use crate::thresholds::Thresholds;
use measure::run::{Origin, Row, Run};

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    origin(run, notes);
    problems(run, notes);
    fallbacks(run, notes);
    neighbours(run, t, notes);
    super::flush::collect(run, t, notes);
    little(run, t, notes);
    unanswered(run, notes);
}

fn origin(run: &Run, notes: &mut Vec<Note>) {
    let (id, claim) = match run.origin {
        Origin::Measured => return,
        Origin::Simulated => (
            "validity.simulated",
            "These figures are simulated: they say what a model does, not what a device did.",
        ),
        Origin::Imported => (
            "origin.imported",
            "These figures were recorded by others; what was not recorded is not judged.",
        ),
    };
    let weight = if id == "validity.simulated" {
        Caution
    } else {
        Info
    };
    notes.push(
        Note::new(id, weight, claim)
            .number("rows", run.rows.len() as f64)
            .rule("simulated time is never reported as measured", "redolab")
            .advice("Measure on the device before deciding."),
    );
}

/// What the log does without. The figures are right for what it does instead.
fn fallbacks(run: &Run, notes: &mut Vec<Note>) {
    for fallback in &run.target.fallbacks {
        notes.push(
            Note::new(
                "validity.fallback",
                Info,
                format!("Asked for and done without: {fallback}."),
            )
            .rule(
                "what was asked for is what is measured, or it is said",
                "redolab: a run says what it measured",
            )
            .advice("Allow it and measure again, if it is what you want to know."),
        );
    }
}

fn problems(run: &Run, notes: &mut Vec<Note>) {
    for problem in &run.validity.problems {
        let (weight, what) = if problem.invalidates {
            (Bad, "Invalid")
        } else {
            (Caution, "Doubtful")
        };
        notes.push(
            Note::new(
                &format!("validity.{}", problem.id),
                weight,
                format!("{what}: {}", problem.detail),
            )
            .rule(
                "any such problem",
                "redolab: validity is part of the result",
            )
            .advice("Remove the cause and measure again."),
        );
    }
    let is_explained = run.validity.problems.iter().any(|p| p.invalidates);
    if !run.validity.valid && !is_explained {
        notes.push(
            Note::new(
                "validity.invalid",
                Bad,
                "Invalid: the run is marked so without a reason.",
            )
            .rule(
                "any such problem",
                "redolab: validity is part of the result",
            )
            .advice("Measure again."),
        );
    }
}

/// Neighbours in more than one row of this many put the whole run in doubt.
const DOUBTFUL_ROWS_DIVISOR: usize = 4;

fn neighbours(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let worst = run
        .rows
        .iter()
        .filter_map(|r| Some((r, r.background_write_pct?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let limit = &t.background_write_pct;
    let Some((row, pct)) = worst else {
        return;
    };
    // Metadata of a copy-on-write file system is written by the kernel in nobody's name.
    let own_metadata = copies_on_write(run);
    let is_over = pct > limit.value && !own_metadata;
    // One row that met a neighbour is a caution; a run that met one throughout is in doubt.
    let watched = run.rows.iter().filter_map(|r| r.background_write_pct);
    let over = watched.clone().filter(|pct| *pct > limit.value).count();
    let is_high = is_over && over * DOUBTFUL_ROWS_DIVISOR > watched.count();
    notes.push(
        Note::new(
            if is_high {
                "validity.background"
            } else {
                "load.background"
            },
            match (is_over, own_metadata) {
                (true, _) => Caution,
                (false, true) => Info,
                (false, false) => Good,
            },
            if own_metadata {
                format!(
                    "{} of what the device wrote was not the log's at most ({}): the file system's metadata, and others if there were any; the two cannot be told apart.",
                    format::percent(pct),
                    name_of(row)
                )
            } else {
                format!(
                    "Others made up to {} of the device's writes ({}).",
                    format::percent(pct),
                    name_of(row)
                )
            },
        )
        .number("background_write_pct", pct)
        .limit(format!("over {} %", limit.value), limit)
        .number("rows_over", over as f64)
        .advice(if is_over {
            "Measure when the device is quiet, or put redo on a device of its own."
        } else {
            ""
        }),
    );
}

/// A row in which nothing was committed: the device stood still, or the machine gave the sessions
/// no processor. Which of the two, no figure tells, and nothing follows for the device.
fn unanswered(run: &Run, notes: &mut Vec<Note>) {
    let measured = run.origin == Origin::Measured;
    let empty = |r: &&Row| measured && r.commits == 0;
    let Some(row) = run.rows.iter().find(empty) else {
        return;
    };
    notes.push(
        Note::new(
            "validity.no_commits",
            Caution,
            format!(
                "No commit was completed in {}, within {}.",
                name_of(row),
                format::latency(row.elapsed_ns as f64)
            ),
        )
        .number("rows", run.rows.iter().filter(empty).count() as f64)
        .rule("at least one commit a row", "redolab")
        .advice("Measure for longer, or when the machine is quiet."),
    );
}

/// Jobs = throughput × latency in a closed loop without think time. Where the row says what its
/// latencies leave out, the books must balance; otherwise the ends of the row and the lab's own
/// time are allowed for.
fn little(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    if run.origin != Origin::Measured {
        return;
    }
    let limit = &t.little_tolerance_pct;
    let deviation = |r: &Row| {
        let jobs = f64::from(r.jobs);
        let apart = r
            .session_time
            .map_or(0.0, |t| t.lab_ns as f64 - t.beyond_ns as f64);
        let inside = r.commit_throughput_tps * r.commit_latency_ms / 1e3
            + apart / r.elapsed_ns.max(1) as f64;
        let off = 100.0 * (inside / jobs - 1.0);
        if r.session_time.is_some() {
            return (jobs > 0.0 && off.abs() > limit.value).then_some((inside, off));
        }
        // Transactions under way at either end of the row belong to it only in part: each session
        // gains or loses at most the longest one.
        let edge_pct = 100.0 * r.commit_latency.max_ns as f64 / r.elapsed_ns.max(1) as f64;
        // What the lab does between transactions is in no latency.
        let cycle_ns = jobs * r.elapsed_ns as f64 / r.commits.max(1) as f64;
        let own_pct = 100.0 * run.lab_overhead_ns.unwrap_or(0.0) / cycle_ns.max(1.0);
        let usable = jobs > 0.0 && inside > 0.0 && off.abs() > limit.value + edge_pct + own_pct;
        usable.then_some((inside, off))
    };
    // In an open loop sessions wait for arrivals, and latencies begin before sessions are free.
    let closed = run.rows.iter().filter(|r| r.open_loop.is_none());
    let worst = closed
        .filter_map(|r| Some((r, deviation(r)?)))
        .max_by(|a, b| a.1.1.abs().total_cmp(&b.1.1.abs()));
    if let Some((row, (inside, off))) = worst {
        notes.push(
            Note::new(
                "validity.little",
                Caution,
                format!(
                    "Throughput times latency gives {} jobs in {}, {:+.1} % off: sessions spent time that no latency shows, or figures are missing.",
                    format::digits(inside),
                    name_of(row),
                    off
                ),
            )
            .number("jobs_by_little", inside)
            .number("deviation_pct", off)
            .limit(format!("within {} %", limit.value), limit)
            .advice("Look for a starved load generator or lost samples, and measure again."),
        );
    }
}
