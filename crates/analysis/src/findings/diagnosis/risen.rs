//! What else sessions and processes waited for in reports that are slower than the others of their
//! series: a backup, reads and writes of data files, processors.
//!
//! Invariant: an event is named by its own figures; that it is the cause is not claimed.

use super::super::evidence::view::lines;
use super::figures::{EventWaits, ReportFigures};
use super::{SYNC, WRITE};
use crate::format::{count, latency};
use measure::imported::Table;
use std::collections::{BTreeMap, BTreeSet};

/// How many times as long an event is waited for that has risen.
const TIMES: f64 = 2.0;
/// Its rise is at least this part of the largest one.
const SHARE: f64 = 0.05;
/// Events that are named.
const NAMED_MAX: usize = 3;
/// Words in the names of events that wait for work.
const IDLE: [&str; 5] = ["idle", "SQL*Net", "ipc message", "timer", "slave wait"];

/// An event that was waited for longer: by how many ms a report, and what to say.
struct RisenEvent {
    rise_ms: f64,
    words: String,
}

/// The same of a series: the lines of its slow reports and of the others by their places.
pub(super) fn in_series(
    table: &Table,
    reports: &[ReportFigures<'_>],
    places: [&dyn Fn(usize) -> bool; 2],
) -> String {
    let is_other = |of: &str| !table.title.ends_with(of);
    let by_file: BTreeMap<&str, &ReportFigures<'_>> = reports
        .iter()
        .filter(|report| !report.interval.is_some_and(|(of, _)| is_other(of)))
        .map(|report| (report.file, report))
        .collect();
    let [slow, others] = places.map(|is_in| {
        let all = lines(table).enumerate().filter(|(at, _)| is_in(*at));
        let found = all.filter_map(|(_, line)| by_file.get(line.text("report")).copied());
        found.collect::<Vec<&ReportFigures<'_>>>()
    });
    beside(&slow, &others)
}

/// The events that rose most between the `others` and the `slow` reports, in words to stand behind
/// others; empty where none did.
pub(super) fn beside(slow: &[&ReportFigures<'_>], others: &[&ReportFigures<'_>]) -> String {
    let names: BTreeSet<&str> = slow
        .iter()
        .flat_map(|report| report.event_names())
        .collect();
    let is_other = |name: &&str| {
        *name != SYNC && *name != WRITE && !IDLE.iter().any(|idle| name.contains(idle))
    };
    // Tables of a report cut the same name at different places.
    let is_cut = |name: &&str| {
        let next = names.range(*name..).nth(1);
        next.is_some_and(|other| other.starts_with(*name))
    };
    let each = names.iter().copied().filter(is_other);
    let each = each.filter(|name| !is_cut(name));
    let mut risen: Vec<RisenEvent> = each.filter_map(|name| of(name, slow, others)).collect();
    risen.sort_by(|a, b| b.rise_ms.total_cmp(&a.rise_ms));
    let most = risen.first().map_or(0.0, |event| event.rise_ms);
    risen.retain(|event| event.rise_ms >= SHARE * most);
    let words: Vec<&str> = risen
        .iter()
        .take(NAMED_MAX)
        .map(|event| event.words.as_str())
        .collect();
    match words.is_empty() || others.is_empty() {
        true => String::new(),
        false => format!("; beside it: {}", words.join(", ")),
    }
}

/// All waits for an event in some reports, and how many of them have it.
fn sum(name: &str, reports: &[&ReportFigures<'_>]) -> (Option<EventWaits>, usize) {
    let found = reports.iter().filter_map(|report| report.event(name));
    let of = found.clone().count();
    (found.reduce(EventWaits::and), of)
}

fn of(
    name: &str,
    slow: &[&ReportFigures<'_>],
    others: &[&ReportFigures<'_>],
) -> Option<RisenEvent> {
    let (now, _) = sum(name, slow);
    let (before, of_others) = sum(name, others);
    let now = now?;
    let per_report =
        |waits: EventWaits, of: &[&ReportFigures<'_>]| waits.total_ms / of.len() as f64;
    let now_ms = per_report(now, slow);
    let before_ms = before.map_or(0.0, |waits| per_report(waits, others));
    let mean = |waits: EventWaits| latency(waits.mean_ms() * 1e6);
    let words = match before {
        Some(before) if 2 * of_others >= others.len() => {
            format!("{name} {} to {}", mean(before), mean(now))
        }
        _ => format!(
            "{name} only then ({} waits of {})",
            count(now.waits as u64),
            mean(now)
        ),
    };
    (now_ms > TIMES * before_ms).then_some(RisenEvent {
        rise_ms: now_ms - before_ms,
        words,
    })
}
