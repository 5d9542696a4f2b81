//! Whether the log's device is slow, or all storage is: reads of data files, writes of them and of
//! the control file beside the log writes.
//!
//! Invariant: nothing is said where some of the others are slow and some are not.

use super::super::latency::band;
use super::super::note::Note;
use super::super::{Info, catalogue};
use super::figures::{EventWaits, ReportFigures, WAITS_MIN};
use super::{WRITE, claim_of};
use crate::format::latency;
use crate::thresholds::Thresholds;

/// Waits for other files, each for one request or one batch of them.
const OTHERS: [&str; 8] = [
    "db file sequential read",
    "db file scattered read",
    "db file parallel read",
    "direct path read",
    "db file parallel write",
    "direct path write",
    "control file sequential read",
    "control file parallel write",
];
/// Kinds of them that have to be slow before storage as a whole is.
const SLOW_MIN: usize = 2;

pub(super) fn collect(report: &ReportFigures<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    let slow_ms = t.write_mean_fair_ms.value;
    let is_slow = |of: &EventWaits| of.mean_ms() >= slow_ms;
    let enough = |of: &EventWaits| of.waits >= WAITS_MIN;
    let Some(write) = report.event(WRITE).filter(is_slow).filter(enough) else {
        return;
    };
    let known = OTHERS.iter().filter_map(|name| {
        let waits = report.event(name).filter(enough)?;
        Some((*name, waits))
    });
    let known: Vec<(&str, EventWaits)> = known.collect();
    let slow = known.iter().filter(|(_, waits)| is_slow(waits)).count();
    let each =
        |(name, waits): &(&str, EventWaits)| format!("{name} {}", latency(waits.mean_ms() * 1e6));
    let each: Vec<String> = known.iter().map(each).collect();
    let own = latency(write.mean_ms() * 1e6);
    let (claim, weight, advice) = match slow {
        0 if !known.is_empty() => (
            format!(
                "the log's device or its path alone is slow: {WRITE} takes {own}, and {}",
                each.join(", ")
            ),
            Info,
            "Look at what the log's files do not share with the data files: their volume, its cache, its limit.",
        ),
        n if n >= SLOW_MIN && n == known.len() => (
            format!(
                "storage as a whole is slow, not the log's device alone: {WRITE} {own}, {}",
                each.join(", ")
            ),
            band(write.mean_ms(), t).0,
            "Look at what the volumes share: the array and its cache, its controllers, the paths, a limit of the \
             machine. A device for the log alone makes commits faster and nothing else.",
        ),
        _ => return,
    };
    let entry = &catalogue::DIAGNOSIS_STORAGE;
    notes.push(
        Note::of(entry, weight, claim_of(report, claim))
            .number("write_mean_ms", write.mean_ms())
            .number("slow_kinds", slow as f64)
            .number("known_kinds", known.len() as f64)
            .limit(format!("a mean of {slow_ms} ms"), &t.write_mean_fair_ms)
            .advice(advice),
    );
}
