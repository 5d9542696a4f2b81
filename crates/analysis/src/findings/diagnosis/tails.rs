//! What single waits for the log show in every kind of source, where a mean hides them or nothing
//! else judges them: histograms of events, wait views, syncs of other programs, series of rates.
//!
//! Invariant: every source is judged by the same thresholds, the mean's and the 20 ms rule's for
//! the tail. What has a mean, a percentile and a longest wait is judged by `sources`.

use super::super::constants::gathered;
use super::super::evidence::distribution::of_report;
use super::super::evidence::view::{Line, Tables, lines, place, show};
use super::super::note::Note;
use super::super::{Caution, Good, Info, catalogue};
use super::figures::WAITS_MIN;
use super::humps::two_groups;
use super::intervals::moment;
use super::{SYNC, WRITE};
use crate::format::{count, latency};
use crate::thresholds::Thresholds;
use jiff::civil::DateTime;
use measure::imported::Table;
use std::collections::BTreeMap;

/// A single wait that is reported: Oracle's outlier.
pub(super) const OUTLIER_MS: f64 = 500.0;
/// Bound of a tail in the buckets of wait histograms, the nearest one under 20 ms.
pub(super) const TAIL_MS: f64 = 16.0;

pub(super) fn collect(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    event_histograms(tables, t, notes);
    report_histograms(tables, t, notes);
    tables
        .of("pg_stat_wal")
        .for_each(|table| wal_buffers(table, notes));
    tables
        .of("etcd_slow_syncs")
        .for_each(|table| warnings_of_etcd(table, t, notes));
    means_alone(tables, notes);
}

/// Tables that contain waits for the log one by one, or by how long they took.
const WITH_TAILS: &[&str] = &[
    "wait_events",
    "event_histogram",
    "wait_histogram",
    "redo_waits_over",
    "log_write_warnings",
    "io_outliers",
];
/// Tables of reports that have means of them, or less.
const MEANS: &[&str] = &[
    "load_profile",
    "top_events",
    "foreground_waits",
    "background_waits",
    "system_event",
];

/// Evidence of Oracle that cannot show rare long waits.
fn means_alone(tables: Tables<'_>, notes: &mut Vec<Note>) {
    let has = |ids: &[&str]| tables.0.iter().any(|t| ids.contains(&t.id.as_str()));
    if has(MEANS) && !has(WITH_TAILS) {
        let since = match has(&["system_event"]) && !has(&["system_event_change"]) {
            true => ", and v$system_event counts from the start of the instance",
            false => "",
        };
        let claim = format!(
            "the evidence contains means and no histogram of log file sync: a mean hides rare waits of a \
             second{since}"
        );
        notes.push(Note::of(&catalogue::DIAGNOSIS_MEANS_ALONE, Info, claim));
    }
}

/// Syncs that etcd reported one by one because they took longer than it expects.
fn warnings_of_etcd(table: &Table, t: &Thresholds, notes: &mut Vec<Note>) {
    let took = |line: &Line<'_>| Some((line.number("took_ms")?, line.text("time").to_owned()));
    let all: Vec<(f64, String)> = lines(table).filter_map(|line| took(&line)).collect();
    let Some((longest, when)) = all.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return;
    };
    let sum: f64 = all.iter().map(|(ms, _)| ms).sum();
    let when = match when.as_str() {
        "" => String::new(),
        when => format!(" at {when}"),
    };
    let times: Vec<f64> = all.iter().map(|(ms, _)| *ms).collect();
    let path = gathered(&times);
    let claim = format!(
        "etcd reported {} slow syncs of its log, {} together, the longest {}{when}{}{}; how long the others \
         took is not in its log{}",
        count(all.len() as u64),
        latency(sum * 1e6),
        latency(longest * 1e6),
        bursts(&all),
        path.as_ref().map_or("", |(words, _)| words),
        at(table)
    );
    notes.push(
        slow(claim, t)
            .advice_or_own(path.map(|(_, advice)| advice))
            .number("sum_ms", sum)
            .number("longest_ms", *longest),
    );
}

/// When they came together, where they did: `, in 2 bursts that began at 02:11 and 02:41`.
fn bursts(all: &[(f64, String)]) -> String {
    /// Seconds without one between bursts, and how many are one.
    const APART_S: f64 = 600.0;
    const BURST: usize = 3;
    let mut each: Vec<(DateTime, DateTime, usize)> = Vec::new();
    for at in all.iter().filter_map(|(_, time)| moment(time.get(..19)?)) {
        match each.last_mut() {
            Some(last) if at.duration_since(last.1).as_secs_f64() < APART_S => {
                (last.1, last.2) = (at, last.2 + 1);
            }
            _ => each.push((at, at, 1)),
        }
    }
    each.retain(|(.., n)| *n >= BURST);
    let begins: Vec<String> = each
        .iter()
        .map(|(at, ..)| at.strftime("%H:%M").to_string())
        .collect();
    match begins.len() {
        0 | 1 => String::new(),
        n => format!(", in {n} bursts that began at {}", begins.join(", ")),
    }
}

/// One event of one histogram over all of its buckets.
#[derive(Debug, Default)]
struct Tail<'a> {
    /// The snapshot or the interval.
    snapshot: &'a str,
    waits: f64,
    over_pct: f64,
    /// The same of waits over half of that bound.
    over_half_pct: f64,
    /// Waits in buckets over [`OUTLIER_MS`], with the bounds of the slowest one.
    outliers: f64,
    from_ms: f64,
    to_ms: f64,
    /// Ends in ms, and waits.
    buckets: Vec<(f64, f64)>,
}

impl Tail<'_> {
    fn add(&mut self, from_ms: f64, to_ms: f64, waits: f64) {
        self.buckets.push((to_ms, waits));
        self.waits += waits;
        self.over_pct += if from_ms >= TAIL_MS { waits } else { 0.0 };
        self.over_half_pct += if from_ms >= TAIL_MS / 2.0 { waits } else { 0.0 };
        if from_ms >= OUTLIER_MS && waits > 0.0 {
            if self.outliers == 0.0 {
                self.from_ms = from_ms;
            }
            self.outliers += waits;
            self.to_ms = to_ms;
        }
    }
}

/// `V$EVENT_HISTOGRAM`: differences where there are some, else every snapshot.
fn event_histograms(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    for table in tables.of("event_histogram") {
        let mut tails: BTreeMap<&str, Vec<Tail<'_>>> = BTreeMap::new();
        let events = |line: &Line<'_>| is_of_log(line.text("event"));
        for line in lines(table).filter(events) {
            let (event, snapshot) = (line.text("event"), line.text("snapshot"));
            let bound = line
                .number("wait_time_under_ms")
                .or_else(|| Some(line.number("wait_time_under_us")? / 1e3));
            let (Some(to_ms), Some(waits)) = (bound, line.number("wait_count")) else {
                continue;
            };
            // A bucket begins at half of its bound; what is between two listed ones is empty.
            let from_ms = to_ms / 2.0;
            let of = tails.entry(event).or_default();
            if of.last().is_none_or(|tail| tail.snapshot != snapshot) {
                of.push(Tail {
                    snapshot,
                    ..Tail::default()
                });
            }
            if let Some(tail) = of.last_mut() {
                tail.add(from_ms, to_ms, waits);
            }
        }
        for (event, mut of) in tails {
            for tail in &mut of {
                tail.over_pct *= 100.0 / tail.waits.max(1.0);
                tail.over_half_pct *= 100.0 / tail.waits.max(1.0);
            }
            if of.iter().any(|tail| tail.snapshot.contains(" to ")) {
                of.retain(|tail| tail.snapshot.contains(" to "));
            }
            notes.extend(tail_note(event, &of, table, t));
        }
    }
}

fn is_of_log(event: &str) -> bool {
    event == SYNC || event == WRITE
}

fn tail_note(event: &str, of: &[Tail<'_>], table: &Table, t: &Thresholds) -> Option<Note> {
    let limit = &t.slow_share_pct;
    let known: Vec<&Tail<'_>> = of.iter().filter(|tail| tail.waits >= WAITS_MIN).collect();
    let share = |pick: fn(f64, f64) -> f64| known.iter().map(|tail| tail.over_pct).reduce(pick);
    let high = share(f64::max).filter(|pct| *pct >= limit.value);
    let outliers = of
        .iter()
        .filter(|tail| tail.outliers > 0.0)
        .max_by(|a, b| a.to_ms.total_cmp(&b.to_ms));
    let mut parts = Vec::new();
    if let Some(tail) = outliers {
        parts.push(format!(
            "{} of {} waits took from {} to {}{}",
            count(tail.outliers as u64),
            count(tail.waits as u64),
            latency(tail.from_ms * 1e6),
            latency(tail.to_ms * 1e6),
            named(tail.snapshot)
        ));
    }
    if let (Some(low), Some(high)) = (share(f64::min), high) {
        parts.push(shares(&known, low, high));
    }
    let (entry, weight) = match parts.is_empty() {
        true => (&catalogue::LATENCY_SOURCE, Good),
        false => (&catalogue::DIAGNOSIS_TAIL, Caution),
    };
    if parts.is_empty() {
        let all: f64 = known.iter().map(|tail| tail.waits).sum();
        let low = share(f64::max)?;
        parts.push(format!(
            "{} % of {} waits took over {TAIL_MS} ms, none over {OUTLIER_MS} ms",
            show(low),
            count(all as u64)
        ));
    }
    let longest = known.iter().max_by(|a, b| a.waits.total_cmp(&b.waits));
    let groups = longest.and_then(|tail| two_groups(&tail.buckets));
    let groups = groups.unwrap_or_default();
    let claim = format!("{event}: {}{groups}{}", parts.join("; "), at(table));
    Some(
        Note::of(entry, weight, claim)
            .advice_if(weight == Caution)
            .maybe("over_16ms_pct", high)
            .maybe("outliers", outliers.map(|tail| tail.outliers))
            .maybe("longest_under_ms", outliers.map(|tail| tail.to_ms))
            .limit(
                format!(
                    "over {} % over {TAIL_MS} ms, or any over {OUTLIER_MS} ms",
                    limit.value
                ),
                limit,
            ),
    )
}

/// Shares of snapshots, intervals or instances; the worst one is first where it is far from the
/// best.
fn shares(known: &[&Tail<'_>], low: f64, high: f64) -> String {
    /// Times of the least share that the greatest one is.
    const FAR: f64 = 2.0;
    let all: f64 = known.iter().map(|tail| tail.waits).sum();
    let is_far = |tail: &&&Tail<'_>| known.len() > 1 && tail.over_pct == high && high >= FAR * low;
    let Some(worst) = known.iter().find(is_far) else {
        let range = match show(low) == show(high) {
            true => show(high),
            false => format!("from {} to {}", show(low), show(high)),
        };
        return format!(
            "{range} % of {} waits took over {TAIL_MS} ms",
            count(all as u64)
        );
    };
    let others = known.iter().filter(|tail| tail.snapshot != worst.snapshot);
    let waits: f64 = others.clone().map(|tail| tail.waits).sum();
    let most = others.map(|tail| tail.over_pct).fold(0.0, f64::max);
    let are_instances = known
        .iter()
        .all(|tail| tail.snapshot.starts_with("instance "));
    let reason = match are_instances {
        true => {
            "; what it has for itself is the reason (node, path, redo logs), not storage that all share"
        }
        false => "",
    };
    let most = match most > 0.0 {
        true => format!("at most {} %", show(most)),
        false => "none".to_owned(),
    };
    format!(
        "{}: {} % of its {} waits took over {TAIL_MS} ms, and {} % over {} ms; of the other {} {most} took over \
         {TAIL_MS} ms{reason}",
        worst.snapshot,
        show(high),
        count(worst.waits as u64),
        show(worst.over_half_pct),
        TAIL_MS / 2.0,
        count(waits as u64),
    )
}

pub(super) fn named(snapshot: &str) -> String {
    match snapshot {
        "" => String::new(),
        name => format!(" ({name})"),
    }
}

/// The histograms of reports, whose shares are of all waits.
fn report_histograms(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    for table in tables.of("redo_waits_over") {
        for line in lines(table).filter(|line| is_of_log(line.text("event"))) {
            let event = line.text("event");
            let over = line.number("over_16ms_pct");
            let is_slow = over.is_some_and(|pct| pct >= t.slow_share_pct.value);
            let shares = of_report(tables, &table.file, event);
            let p99 = shares.and_then(|shares| shares.percentile(99.0));
            let over = match over {
                // `.0` is printed of what is under 0.05.
                Some(pct) if pct < 0.05 => {
                    format!("under 0.05 % of the waits took over {TAIL_MS} ms")
                }
                Some(pct) => format!("{} % of the waits took over {TAIL_MS} ms", show(pct)),
                // Each bucket is printed as `.0`, or there is none.
                None => format!("next to none of the waits took over {TAIL_MS} ms"),
            };
            let ends = |[low, high]: [u64; 2]| {
                let [low, high] = [low, high].map(|ns| latency(ns as f64));
                format!(", the 99th percentile is from {low} to {high}")
            };
            let p99 = p99.map_or_else(String::new, ends);
            let claim = format!("{event}: {over}{p99} ({})", place(table));
            let (entry, weight) = match is_slow {
                true => (&catalogue::DIAGNOSIS_TAIL, Caution),
                false => (&catalogue::LATENCY_SOURCE, Good),
            };
            notes.push(
                Note::of(entry, weight, claim)
                    .maybe("over_16ms_pct", line.number("over_16ms_pct"))
                    .advice_if(is_slow)
                    .limit(
                        format!("over {} % over {TAIL_MS} ms", t.slow_share_pct.value),
                        &t.slow_share_pct,
                    ),
            );
        }
    }
}

/// What makes waits slow.
pub(super) fn slow_in_words(t: &Thresholds) -> String {
    format!(
        "a mean over {} ms, a 99th percentile over {} ms, or a single one over {OUTLIER_MS} ms",
        t.write_mean_fair_ms.value, t.tail_p999_ms.value
    )
}

pub(super) fn slow(claim: String, t: &Thresholds) -> Note {
    Note::of(&catalogue::DIAGNOSIS_SLOW_SYNCS, Caution, claim)
        .limit(slow_in_words(t), &t.write_mean_fair_ms)
}

/// Where a table is from, in brackets; nothing where it joins several files.
pub(super) fn at(table: &Table) -> String {
    named(&place(table))
}

/// Writes of PostgreSQL's log because its buffers were full.
fn wal_buffers(table: &Table, notes: &mut Vec<Note>) {
    /// Share of them from which sessions write instead of the log writer.
    const FULL: f64 = 0.1;
    for line in lines(table) {
        let (Some(full), Some(writes)) =
            (line.number("wal_buffers_full"), line.number("wal_write"))
        else {
            continue;
        };
        if writes < WAITS_MIN || full < FULL * writes {
            continue;
        }
        let claim = format!(
            "{} of {} writes of the log ({:.0} %) were made because wal_buffers were full: they are too small, and \
             sessions wait for these writes ({})",
            count(full as u64),
            count(writes as u64),
            100.0 * full / writes,
            place(table)
        );
        notes.push(
            Note::of(&catalogue::DIAGNOSIS_WAL_BUFFERS, Caution, claim)
                .number("share_pct", 100.0 * full / writes),
        );
    }
}
