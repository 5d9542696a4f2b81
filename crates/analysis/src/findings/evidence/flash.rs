//! Counters of the flash log: they only grow, and a test's share is not the cell's.

use super::super::catalogue;
use super::super::note::Note;
use super::super::{Bad, Caution};
use super::view::{Tables, place, show};
use std::collections::BTreeMap;

/// Shares of a test and of the cell's life that differ by this factor are different loads.
const OTHER_LOAD: f64 = 1.5;
/// Log writes from which shares are compared.
const WRITES_MIN: f64 = 1000.0;

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    counters(tables, notes);
    for line in tables.lines("flash_first") {
        let (Some(run), Some(life)) = (
            line.number("flash_first_pct"),
            line.number("flash_first_life_pct"),
        ) else {
            continue;
        };
        let all = line.number("all").unwrap_or(0.0);
        let ratio = (run / life).max(life / run);
        if all < WRITES_MIN || ratio.is_nan() || ratio < OTHER_LOAD {
            continue;
        }
        let claim = format!(
            "flash completed {} of {} log writes of the test first, {run:.2} %; over the cell's life \
             before it {life:.1} %: the load of the test differs from the normal load of the cell ({})",
            show(line.number("flash_first").unwrap_or(0.0)),
            show(all),
            place(line.table())
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_OTHER_LOAD, Caution, claim)
                .number("flash_first_pct", run)
                .number("flash_first_life_pct", life)
                .rule(format!("shares within a factor of {OTHER_LOAD}")),
        );
    }
}

/// A cumulative counter that is smaller later.
fn counters(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let mut last: BTreeMap<(&str, &str, &str), f64> = BTreeMap::new();
    for line in tables.lines("flash_log_metrics") {
        let unit = line.text("unit");
        // Rates and shares may go either way.
        if unit.contains('%') || unit.contains("/sec") || unit.contains("/s") {
            continue;
        }
        let Some(value) = line.number("value") else {
            continue;
        };
        let key = (
            line.table().file.as_str(),
            line.text("cell"),
            line.text("metric"),
        );
        let Some(before) = last.insert(key, value).filter(|b| value < *b) else {
            continue;
        };
        let claim = format!(
            "{} goes back from {} to {}: a counter that only grows was reset, or the snapshots are in \
             the wrong order ({})",
            key.2,
            show(before),
            show(value),
            place(line.table())
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_COUNTER_BACK, Bad, claim)
                .number("before", before)
                .number("after", value),
        );
    }
}
