//! What single waits for the log show in every kind of source, where a mean hides them or nothing
//! else judges them: histograms of events, wait views, syncs of other programs, series of rates.
//!
//! Invariant: every source is judged by the same thresholds, the mean's and the 20 ms rule's for
//! the tail. What has a mean, a percentile and a longest wait is judged by `sources`.

use super::super::evidence::view::{Line, Tables, lines, place, show};
use super::super::note::Note;
use super::super::{Caution, Good, Info, catalogue};
use super::{SYNC, WRITE};
use crate::format::{count, latency};
use crate::stats::change::{Segment, segments};
use crate::thresholds::Thresholds;
use measure::imported::Table;
use std::collections::BTreeMap;

/// Waits from which a share or a percentile of them says something.
pub(super) const WAITS_MIN: f64 = 100.0;
/// A single wait that is reported: Oracle's outlier.
pub(super) const OUTLIER_MS: f64 = 500.0;
/// Bound of a tail in the buckets of wait histograms, the nearest one under 20 ms.
const TAIL_MS: f64 = 16.0;
/// Intervals of a series that a level has to last.
const LEVEL_MIN: usize = 3;

pub(super) fn collect(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    event_histograms(tables, t, notes);
    report_histograms(tables, t, notes);
    buckets_of_syncs(tables, t, notes);
    for (id, rate, what) in [
        ("pgbench_progress", "tps", "transactions/s"),
        ("sysbench_intervals", "tps", "transactions/s"),
    ] {
        tables
            .of(id)
            .for_each(|table| levels(table, rate, what, t, notes));
    }
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
        let claim = "the evidence contains means and no histogram of log file sync: a mean hides \
                     rare waits of a second";
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
    let claim = format!(
        "etcd reported {} slow syncs of its log, {} together, the longest {}{when}{}",
        count(all.len() as u64),
        latency(sum * 1e6),
        latency(longest * 1e6),
        at(table)
    );
    notes.push(
        slow(claim, t)
            .number("sum_ms", sum)
            .number("longest_ms", *longest),
    );
}

/// One event of one histogram over all of its buckets.
#[derive(Debug, Default)]
struct Tail<'a> {
    /// The snapshot or the interval.
    snapshot: &'a str,
    waits: f64,
    over_pct: f64,
    /// Waits in buckets over [`OUTLIER_MS`], with the bounds of the slowest one.
    outliers: f64,
    from_ms: f64,
    to_ms: f64,
}

impl Tail<'_> {
    fn add(&mut self, from_ms: f64, to_ms: f64, waits: f64) {
        self.waits += waits;
        self.over_pct += if from_ms >= TAIL_MS { waits } else { 0.0 };
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
        let range = match show(low) == show(high) {
            true => format!("{} %", show(high)),
            false => format!("from {} to {} %", show(low), show(high)),
        };
        let all: f64 = known.iter().map(|tail| tail.waits).sum();
        parts.push(format!(
            "{range} of {} waits took over {TAIL_MS} ms",
            count(all as u64)
        ));
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
    let claim = format!("{event}: {}{}", parts.join("; "), at(table));
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
            let over = line.number("over_16ms_pct");
            let Some(over) = over.filter(|pct| *pct >= t.slow_share_pct.value) else {
                continue;
            };
            let event = line.text("event");
            let claim = format!(
                "{event}: {} % of the waits took over {TAIL_MS} ms ({})",
                show(over),
                place(table)
            );
            notes.push(
                Note::of(&catalogue::DIAGNOSIS_TAIL, Caution, claim)
                    .number("over_16ms_pct", over)
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

/// Cumulative buckets of log syncs: the bucket in which 99 of 100 are.
fn buckets_of_syncs(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    for table in tables.of("prometheus_buckets") {
        let mut series: BTreeMap<[&str; 3], Vec<(f64, f64)>> = BTreeMap::new();
        for line in lines(table) {
            let key = ["metric", "labels", "scrape"].map(|key| line.text(key));
            let bound = line.number("le").unwrap_or(f64::INFINITY);
            let of = series.entry(key).or_default();
            of.extend(line.number("count").map(|n| (bound, n)));
        }
        for ([metric, labels, scrape], mut of) in series {
            of.sort_by(|a, b| a.0.total_cmp(&b.0));
            let all = of.last().map_or(0.0, |(_, n)| *n);
            let at = of.iter().position(|(_, n)| *n >= 0.99 * all);
            let Some(at) = at.filter(|_| all >= WAITS_MIN) else {
                continue;
            };
            let from = at
                .checked_sub(1)
                .and_then(|at| of.get(at))
                .map_or(0.0, |b| b.0);
            let to = of.get(at).map_or(f64::INFINITY, |b| b.0);
            if from * 1e3 < TAIL_MS {
                continue;
            }
            let to = match to.is_finite() {
                true => format!("to {}", latency(to * 1e9)),
                false => "on".to_owned(),
            };
            let claim = format!(
                "{metric}{}: the 99th percentile of {} syncs is from {} {to} (scrape {scrape}, {})",
                named(labels),
                count(all as u64),
                latency(from * 1e9),
                place(table)
            );
            notes.push(slow(claim, t).number("p99_over_ms", from * 1e3));
        }
    }
}

/// A rate that stays at one level and then at another: its mean describes neither.
fn levels(table: &Table, rate: &str, what: &str, t: &Thresholds, notes: &mut Vec<Note>) {
    let known: Vec<(f64, f64)> = lines(table)
        .filter_map(|line| Some((line.number("at_s")?, line.number(rate)?)))
        .collect();
    let rates: Vec<f64> = known.iter().map(|(_, rate)| *rate).collect();
    let Ok(found) = segments(&rates, LEVEL_MIN) else {
        return;
    };
    let level = |pick: fn(f64, f64) -> f64| found.iter().map(|s| mean_of(s, &rates)).reduce(pick);
    let (Some(low), Some(high)) = (level(f64::min), level(f64::max)) else {
        return;
    };
    let lost = 100.0 * (1.0 - low / high);
    if found.len() < 2 || !lost.is_finite() || lost < t.step_pct.value {
        return;
    }
    let named: Vec<String> = found
        .iter()
        .map(|s| {
            let begin = s.start.checked_sub(1).and_then(|at| known.get(at));
            let begin = begin.map_or(0.0, |(at_s, _)| *at_s);
            format!("{} {what} from {begin} s on", show(mean_of(s, &rates)))
        })
        .collect();
    let claim = format!(
        "the rate changed its level: {}; the mean of the whole run describes none of them{}",
        named.join(", "),
        at(table)
    );
    notes.push(
        Note::of(&catalogue::DIAGNOSIS_LEVELS, Caution, claim)
            .number("highest", high)
            .number("lowest", low)
            .limit(
                format!("levels at least {} % apart", t.step_pct.value),
                &t.step_pct,
            ),
    );
}

/// The mean of a segment without the intervals in which the rate was on its way.
fn mean_of(segment: &Segment, rates: &[f64]) -> f64 {
    /// Part of the median that a value may be off.
    const NEAR: f64 = 0.1;
    let all = rates.get(segment.start..segment.end).unwrap_or_default();
    let near = |rate: &&f64| (**rate - segment.level).abs() <= NEAR * segment.level;
    let near: Vec<f64> = all.iter().filter(near).copied().collect();
    match near.len() {
        0 => segment.level,
        n => near.iter().sum::<f64>() / n as f64,
    }
}

/// Where a table is from, in brackets; nothing where it joins several files.
fn at(table: &Table) -> String {
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
            "{} of {} writes of the log were made because wal_buffers were full: sessions wait for them ({})",
            count(full as u64),
            count(writes as u64),
            place(table)
        );
        notes.push(
            Note::of(&catalogue::DIAGNOSIS_WAL_BUFFERS, Caution, claim)
                .number("share_pct", 100.0 * full / writes),
        );
    }
}
