//! Histograms of log syncs in Prometheus' format, which count from below: the bucket in which 99 of
//! 100 are, the mean, and what etcd's documentation asks for.

use super::super::evidence::view::{Tables, lines, place};
use super::super::note::Note;
use super::super::{Caution, Good, Info, catalogue};
use super::figures::WAITS_MIN;
use super::tails::{TAIL_MS, named, slow};
use crate::format::{count, latency};
use crate::thresholds::{Limit, Thresholds};
use measure::imported::Table;
use std::collections::BTreeMap;

/// A histogram: its metric, its labels and its scrape.
type SeriesKey<'a> = [&'a str; 3];

/// Bounds in seconds, and how many are up to them.
type FromBelow = Vec<(f64, f64)>;

pub(super) fn collect(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    for table in tables.of("prometheus_buckets") {
        let mut series: BTreeMap<SeriesKey<'_>, FromBelow> = BTreeMap::new();
        for line in lines(table) {
            let key = ["metric", "labels", "scrape"].map(|key| line.text(key));
            let bound = line.number("le").unwrap_or(f64::INFINITY);
            let of = series.entry(key).or_default();
            of.extend(line.number("count").map(|n| (bound, n)));
        }
        // The log's syncs before what is made of them.
        let mut all: Vec<(SeriesKey<'_>, FromBelow)> = series.into_iter().collect();
        all.sort_by_key(|([metric, ..], _)| !metric.contains("sync"));
        for (key, mut of) in all {
            of.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mean = mean_of(tables, &table.file, key);
            let [metric, _, scrape] = key;
            let leaders = || single(tables, &table.file, LEADERS, scrape);
            notes.extend(match metric.contains(ROUND_TRIP) {
                true => round_trip(key, &of, leaders(), table),
                false => one(key, &of, mean, &place(table), t),
            });
        }
    }
}

/// The mean in seconds, of the sum and the count of the same histogram.
fn mean_of(tables: Tables<'_>, file: &str, key: SeriesKey<'_>) -> Option<f64> {
    let totals = tables
        .of("prometheus_totals")
        .filter(|table| table.file == file);
    let of_it = totals.flat_map(lines).filter(|line| {
        // A scrape begins again with the first name that it has twice.
        ["metric", "labels", "scrape"].map(|key| line.text(key)) == key
    });
    let known: Vec<_> = of_it.collect();
    let value = |what: &str| {
        let found = known.iter().find(|line| line.text("what") == what);
        found?.number("value")
    };
    let count = value("count").filter(|n| *n > 0.0)?;
    Some(value("sum")? / count)
}

/// What etcd's documentation asks of the 99th percentile of a metric.
fn asked<'a>(metric: &str, t: &'a Thresholds) -> Option<&'a Limit> {
    match metric {
        "etcd_disk_wal_fsync_duration_seconds" => Some(&t.etcd_wal_p99_ms),
        "etcd_disk_backend_commit_duration_seconds" => Some(&t.etcd_commit_p99_ms),
        _ => None,
    }
}

/// What the names of round trips between members contain.
const ROUND_TRIP: &str = "peer_round_trip_time";
const LEADERS: &str = "etcd_server_leader_changes_seen_total";
/// Seconds between heartbeats of etcd unless it is configured: a round trip over it makes members
/// elect another leader.
const HEARTBEAT_S: f64 = 0.1;

/// A counter or gauge of a scrape.
fn single(tables: Tables<'_>, file: &str, metric: &str, scrape: &str) -> Option<f64> {
    let totals = tables.of("prometheus_totals").filter(|of| of.file == file);
    let mut of_it = totals
        .flat_map(lines)
        .filter(|line| line.text("metric") == metric && line.text("scrape") == scrape);
    of_it.next()?.number("value")
}

/// Where the 99th percentile of `all` is, in seconds: the ends of its bucket.
fn p99_of(of: &[(f64, f64)]) -> Option<(f64, f64)> {
    let all = of.last().map_or(0.0, |(_, n)| *n);
    let at = of.iter().position(|(_, n)| *n >= 0.99 * all);
    let at = at.filter(|_| all >= WAITS_MIN)?;
    let from = at.checked_sub(1).and_then(|at| of.get(at));
    let to = of.get(at).map_or(f64::INFINITY, |bucket| bucket.0);
    Some((from.map_or(0.0, |bucket| bucket.0), to))
}

/// The end of a bucket in words.
fn end(to_s: f64) -> String {
    match to_s.is_finite() {
        true => format!("to {}", latency(to_s * 1e9)),
        false => "on".to_owned(),
    }
}

/// Slow round trips between members: what they agree on waits for them, whatever the disk does.
fn round_trip(
    [metric, labels, scrape]: SeriesKey<'_>,
    of: &[(f64, f64)],
    leaders: Option<f64>,
    table: &Table,
) -> Option<Note> {
    let (from_s, to_s) = p99_of(of)?;
    let changes = leaders.filter(|n| *n > 1.0).map_or_else(String::new, |n| {
        format!("; the leader changed {} times", count(n as u64))
    });
    let claim = format!(
        "{metric}{}: the 99th percentile of round trips is from {} {}{changes}: the network between the members, not a \
         disk (scrape {scrape}, {})",
        named(labels),
        latency(from_s * 1e9),
        end(to_s),
        place(table)
    );
    let is_slow = from_s >= HEARTBEAT_S;
    let weight = if is_slow { Caution } else { Info };
    let note = Note::of(&catalogue::LATENCY_SOURCE, weight, claim);
    Some(match is_slow {
        true => note.advice("Look at the network to that member: its path, losses, and its load."),
        false => note.no_advice(),
    })
}

fn one(
    [metric, labels, scrape]: SeriesKey<'_>,
    of: &[(f64, f64)],
    mean_s: Option<f64>,
    place: &str,
    t: &Thresholds,
) -> Option<Note> {
    let (from_s, to_s) = p99_of(of)?;
    let all = of.last().map_or(0.0, |(_, n)| *n);
    let to = end(to_s);
    let mean = mean_s.map_or_else(String::new, |s| format!(", the mean {}", latency(s * 1e9)));
    let asked = asked(metric, t);
    let limit = asked.unwrap_or(&t.tail_p999_ms);
    let advised = asked.map_or_else(String::new, |limit| {
        format!("; etcd asks for a 99th percentile under {} ms", limit.value)
    });
    let claim = format!(
        "{metric}{}: the 99th percentile of {} syncs is from {} {to}{mean}{advised} (scrape {scrape}, {place})",
        named(labels),
        count(all as u64),
        latency(from_s * 1e9),
    );
    // A bucket that the limit is in is on neither side.
    let slow_ms = asked.map_or(TAIL_MS, |limit| limit.value);
    let note = match (from_s * 1e3 >= slow_ms, to_s * 1e3 <= slow_ms) {
        (true, _) => slow(claim, t),
        (false, true) => Note::of(&catalogue::LATENCY_SOURCE, Good, claim).no_advice(),
        (false, false) => Note::of(&catalogue::LATENCY_SOURCE, Info, claim).no_advice(),
    };
    let words = format!("a 99th percentile over {} ms", limit.value);
    let is_slow = note.weight() == Caution;
    Some(
        note.limit(words, limit)
            .maybe("p99_over_ms", is_slow.then_some(from_s * 1e3))
            .maybe("mean_ms", mean_s.map(|s| s * 1e3)),
    )
}
