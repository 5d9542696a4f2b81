//! Doubt about the measurement itself: recorded problems and neighbours. What becomes of flushes is
//! in `flush`, Little's law in `little`.

use super::block::copies_on_write;
use super::catalogue;
use super::note::Note;
use super::{Bad, Caution, Good, Info};
use crate::format;
use crate::rows::name_of;
use crate::thresholds::Thresholds;
use measure::run::{Origin, Row, Run, problems};

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    origin(run, notes);
    problems(run, notes);
    fallbacks(run, notes);
    shortened(run, notes);
    neighbours(run, t, notes);
    super::flush::collect(run, t, notes);
    super::little::collect(run, t, notes);
    unanswered(run, notes);
}

fn origin(run: &Run, notes: &mut Vec<Note>) {
    let (entry, weight, claim) = match run.origin {
        Origin::Measured => return,
        Origin::Simulated => (
            &catalogue::VALIDITY_SIMULATED,
            Caution,
            "These figures are simulated: they show what a model does, not what a device did.",
        ),
        Origin::Imported => (
            &catalogue::ORIGIN_IMPORTED,
            Info,
            "Another program recorded these figures; what it did not record is not judged.",
        ),
        Origin::Watched => (
            &catalogue::ORIGIN_WATCHED,
            Info,
            "These are log writes of a running database, under the load that it had: they show how \
             long its log waited, not what the device can carry.",
        ),
    };
    notes.push(Note::of(entry, weight, claim).number("rows", run.rows.len() as f64));
}

/// What was not measured, or not for its whole time, as the user asked for.
fn shortened(run: &Run, notes: &mut Vec<Note>) {
    for line in &run.validity.shortened {
        let claim = format!("Not all was measured: {line}.");
        notes.push(Note::of(&catalogue::VALIDITY_SHORTENED, Info, claim));
    }
}

/// What the log does without. The figures are right for what it does instead.
fn fallbacks(run: &Run, notes: &mut Vec<Note>) {
    let log = run.target.redo_log();
    for fallback in log.map_or(&[][..], |log| &log.fallbacks) {
        notes.push(Note::of(
            &catalogue::VALIDITY_FALLBACK,
            Info,
            format!("A requested feature was unavailable and was not used: {fallback}."),
        ));
    }
}

fn problems(run: &Run, notes: &mut Vec<Note>) {
    for problem in &problems::each_once(&run.validity.problems) {
        let (weight, what) = if problem.invalidates {
            (Bad, "Invalid")
        } else {
            (Caution, "Doubtful")
        };
        notes.push(Note::recorded(
            format!("validity.{}", problem.id),
            weight,
            format!("{what}: {}.", problem.detail.trim_end_matches('.')),
        ));
    }
    let is_explained = run.validity.problems.iter().any(|p| p.invalidates);
    if !run.validity.valid && !is_explained {
        notes.push(Note::of(
            &catalogue::VALIDITY_INVALID,
            Bad,
            "The run is marked invalid without a reason.",
        ));
    }
}

/// Neighbours in more than one row of this many put the whole run in doubt.
const DOUBTFUL_ROWS_DIVISOR: usize = 4;

fn neighbours(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let worst = run
        .rows
        .iter()
        .filter_map(|r| Some((r, r.device().background_write_pct?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let limit = &t.background_write_pct;
    let Some((row, pct)) = worst else {
        return;
    };
    // Metadata of a copy-on-write file system is written by the kernel in nobody's name.
    let own_metadata = copies_on_write(run);
    let is_over = pct > limit.value && !own_metadata;
    // One row that met a neighbour is a caution; a run that met one throughout is in doubt.
    let watched = run
        .rows
        .iter()
        .filter_map(|r| r.device().background_write_pct);
    let over = watched.clone().filter(|pct| *pct > limit.value).count();
    let is_high = is_over && over * DOUBTFUL_ROWS_DIVISOR > watched.count();
    notes.push(
        Note::of(
            if is_high {
                &catalogue::VALIDITY_BACKGROUND
            } else {
                &catalogue::LOAD_BACKGROUND
            },
            match (is_over, own_metadata) {
                (true, _) => Caution,
                (false, true) => Info,
                (false, false) => Good,
            },
            if own_metadata {
                format!(
                    "At most {} of the device's writes did not come from the log ({}). They are metadata of the file system and, if there were any, writes of other processes; these cannot be distinguished.",
                    format::percent(pct),
                    name_of(row)
                )
            } else {
                format!(
                    "Other processes made up to {} of the device's writes ({}).",
                    format::percent(pct),
                    name_of(row)
                )
            },
        )
        .number("background_write_pct", pct)
        .limit(format!("over {} %", limit.value), limit)
        .number("rows_over", over as f64)
        .advice_if(is_over),
    );
}

/// A row in which nothing was committed: the device stood still, or the machine gave the sessions
/// no processor. No figure shows which of the two, and nothing follows for the device.
fn unanswered(run: &Run, notes: &mut Vec<Note>) {
    // Where it is a recorded problem, that says it.
    let is_recorded = run.validity.problems.iter().any(|p| p.id == "no_commits");
    let measured = run.origin == Origin::Measured && !is_recorded;
    let empty = |r: &&Row| measured && r.commits == Some(0);
    let Some(row) = run.rows.iter().find(empty) else {
        return;
    };
    notes.push(
        Note::of(
            &catalogue::VALIDITY_NO_COMMITS,
            Caution,
            format!(
                "No commit was completed in {}, within {}.",
                name_of(row),
                format::latency(row.elapsed_ns.unwrap_or(0) as f64)
            ),
        )
        .number("rows", run.rows.iter().filter(empty).count() as f64),
    );
}
