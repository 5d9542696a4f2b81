//! How long commits and log writes take on a production system, beside the same waits on the
//! device, in one sentence.
//!
//! Invariants: what production waits for and what was not measured here is not judged, and is
//! listed as such; a value from which production suffers is not a target, but what the device
//! has to beat.

use super::note::Note;
use super::production::in_words;
use super::{Bad, Caution, Good, catalogue};
use crate::envelope::p99_unknown;
use crate::format;
use crate::rows::{commit_wait_of, judged_rows, name_of, sync_of, write_of};
use crate::thresholds::Thresholds;
use measure::WaitEvent;
use measure::judgement::{Need, ProductionWait, Weight};
use measure::run::{Row, Run, WaitStats};

/// The load of the device that is compared: of those that reach the needed rate the one whose
/// commits wait least, else the one with the highest rate; without a needed rate the one whose
/// commits wait least.
fn load<'a>(run: &'a Run, need: &Need) -> Option<&'a Row> {
    let mean = |row: &&Row| commit_wait_of(row).map_or(f64::INFINITY, |w| w.mean_ns);
    let rate = |row: &&Row| row.commit_throughput_tps.unwrap_or(0.0);
    let mut rows = judged_rows(run);
    rows.retain(|row| commit_wait_of(row).is_some() || written(row).is_some());
    let reaching = rows
        .iter()
        .filter(|row| need.commit_rate.is_none_or(|needed| rate(row) >= needed));
    let by_mean = |a: &&&Row, b: &&&Row| mean(a).total_cmp(&mean(b));
    let fastest = || rows.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
    reaching.min_by(by_mean).or_else(fastest).copied()
}

fn written(row: &Row) -> Option<&WaitStats> {
    write_of(row).filter(|wait| wait.count > 0)
}

/// The device's own wait, and what it is called here.
fn own<'a>(row: &'a Row, wait: &ProductionWait) -> Option<(&'static str, &'a WaitStats)> {
    if wait.event == WaitEvent::LogFileParallelWrite.key() {
        return Some((WaitEvent::LogFileParallelWrite.name(), written(row)?));
    }
    let name = match sync_of(row) {
        Some(_) => WaitEvent::LogFileSync.name(),
        None => "commit latency",
    };
    Some((name, commit_wait_of(row)?))
}

/// The event as Oracle prints it.
pub(crate) fn name(wait: &ProductionWait) -> &'static str {
    let of_key = |event: &&WaitEvent| event.key() == wait.event;
    WaitEvent::ALL
        .iter()
        .find(of_key)
        .map_or("a wait", |e| e.name())
}

/// Waits of production for which the device has no counterpart, each with the reason.
pub(crate) fn unjudged(run: &Run, need: &Need) -> Vec<String> {
    let load = load(run, need);
    let is_open = |wait: &&ProductionWait| load.is_none_or(|row| own(row, wait).is_none());
    let waits = need.production.iter().filter(is_open);
    let text = |wait: &ProductionWait| {
        format!(
            "production's {} ({}): LGWR-LAT1 was not run, or no wait of it is known",
            name(wait),
            in_words(wait)
        )
    };
    waits.map(text).collect()
}

/// How a wait of the device relates to that of production.
struct Relation {
    weight: Weight,
    words: String,
}

fn relate(wait: &ProductionWait, own: &WaitStats, t: &Thresholds) -> Relation {
    // The bucket of a percentile is judged by its ends: what lies between them is not known.
    let [low, high] = wait.p99_ns.unwrap_or_default().map(|ns| ns as f64);
    let (theirs, ours, what) = match (wait.mean_ns, own.p99_ns) {
        (Some(mean), _) => (Some((mean, mean)), Some(own.mean_ns), ""),
        (None, p99) => (
            wait.p99_ns.map(|_| (low, high)),
            p99.map(|p| p as f64),
            " at p99",
        ),
    };
    let Some(((low, high), ours)) = theirs.zip(ours) else {
        let words = "p99 of this device is not known".to_owned();
        return Relation {
            weight: Caution,
            words,
        };
    };
    let times = |a: f64, b: f64| format::digits(a / b.max(1.0));
    let is_shorter = ours < low;
    let own_bound = match wait.event == WaitEvent::LogFileSync.key() {
        true => t.sync_mean_problem_ms.value,
        false => t.write_mean_problem_ms.value,
    };
    let is_sick = own.mean_ns > own_bound * 1e6;
    let weight = match (is_shorter, ours <= high) {
        (true, _) if is_sick => Caution,
        (true, _) if 100.0 * (low / ours.max(1.0) - 1.0) >= t.headroom_pct.value => Good,
        (true, _) | (false, true) => Caution,
        (false, false) => Bad,
    };
    let words = match (weight, wait.is_target) {
        (Bad, true) => format!("{} times as long{what}", times(ours, high)),
        (Bad, false) => format!(
            "{} times as long{what}, which does not beat it",
            times(ours, high)
        ),
        (_, _) if !is_shorter => format!("within the same bucket{what}"),
        (_, true) => format!("{} times shorter{what}", times(low, ours)),
        (_, false) => format!("{} times shorter{what}, which beats it", times(low, ours)),
    };
    Relation { weight, words }
}

/// What the device's wait is, as production's is written.
fn own_in_words(row: &Row, wait: &ProductionWait, own: &WaitStats) -> String {
    let mean = format!("{} on average", format::latency(own.mean_ns));
    let p99 = match (wait.p99_ns, own.p99_ns) {
        (None, _) => None,
        (Some(_), Some(ns)) => Some(format!("p99 {}", format::latency(ns as f64))),
        (Some(_), None) => Some(p99_unknown(row).unwrap_or("p99 not known").to_owned()),
    };
    // Few waits have no such percentile; the words for p99 say why.
    let of = |name: &str, theirs: Option<[u64; 2]>, ns: Option<u64>| {
        let ns = ns.filter(|_| theirs.is_some())?;
        Some(format!("{name} {}", format::latency(ns as f64)))
    };
    let p50 = of("p50", wait.p50_ns, own.p50_ns);
    let p999 = of("p99.9", wait.p999_ns, own.p999_ns);
    [Some(mean), p50, p99, p999]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let Some(row) = load(run, &run.need) else {
        return;
    };
    let mut weights = Vec::new();
    let (mut parts, mut numbers) = (Vec::new(), Vec::new());
    let is_sync = |wait: &ProductionWait| wait.event == WaitEvent::LogFileSync.key();
    let waits = run.need.production.iter();
    let has_sync = waits.clone().any(|w| is_sync(w) && own(row, w).is_some());
    for wait in waits {
        let Some((own_name, stats)) = own(row, wait) else {
            continue;
        };
        let Relation { mut weight, words } = relate(wait, stats, t);
        // Sessions wait for their commits: a slower write that leaves these fast enough is a doubt.
        if wait.event == WaitEvent::LogFileParallelWrite.key() && has_sync {
            weight = weight.min(Caution);
        }
        weights.push(weight);
        let sick = match wait.is_target {
            true => "",
            false => " (too long to be a target: it is what is to be beaten)",
        };
        let here = match own_name == name(wait) {
            true => String::new(),
            false => format!("{own_name} "),
        };
        parts.push(format!(
            "{} takes {} in production{sick}, {here}{} on this device: {words}",
            name(wait),
            in_words(wait),
            own_in_words(row, wait, stats),
        ));
        let figures = [
            ("production_ms", wait.mean_ns),
            ("device_ms", Some(stats.mean_ns)),
        ];
        for (what, ns) in figures {
            numbers.extend(ns.map(|ns| (format!("{}_{what}", wait.event), ns / 1e6)));
        }
    }
    let Some(weight) = weights.into_iter().max() else {
        return;
    };
    let claim = format!("With {}, {}.", load_in_words(row), parts.join("; "));
    let mut note = Note::of(&catalogue::NEED_PRODUCTION, weight, claim);
    for (name, value) in numbers {
        note = note.number(name, value);
    }
    notes.push(
        note.limit(
            format!("headroom of {} %", t.headroom_pct.value),
            &t.headroom_pct,
        )
        .advice_if(weight == Bad),
    );
}

fn load_in_words(row: &Row) -> String {
    let rate = row.commit_throughput_tps.map_or_else(String::new, |tps| {
        format!(", {} commits/s", format::digits(tps))
    });
    format!("{}{rate}", name_of(row))
}

/// What evidence of a production system does not contain, or contains and is not a target.
pub(crate) fn no_target(need: &Need) -> Vec<String> {
    if !need.is_of_production() || need.p99_ns.is_some() {
        return Vec::new();
    }
    let is_sync = |wait: &&ProductionWait| wait.event == WaitEvent::LogFileSync.key();
    let text = match need.production.iter().find(is_sync) {
        None => "commit latency: the evidence of production contains no log file sync (state a bound with --p99)".to_owned(),
        Some(wait) if wait.is_target => return Vec::new(),
        Some(wait) => format!(
            "a target for commit latency: production's log file sync ({}) is too long to be one (state a bound with --p99)",
            in_words(wait)
        ),
    };
    vec![text]
}

/// The figures of a need that were taken from evidence, with their places.
#[must_use]
pub fn need_places(need: &Need) -> Vec<(String, String)> {
    let of_rates = need.sources.iter();
    let of_rates = of_rates.map(|s| (s.quantity.words().to_owned(), s.place.clone()));
    let of_waits = need.production.iter();
    let of_waits = of_waits.map(|w| (name(w).to_owned(), w.place.clone()));
    of_rates.chain(of_waits).collect()
}

/// `log file sync: 17.1 ms on average`, and whether it is a target.
#[must_use]
pub fn production_wait(wait: &ProductionWait) -> String {
    let sick = match wait.is_target {
        true => "",
        false => " (too long to be a target: it is what is to be beaten)",
    };
    format!("{}: {}{sick}", name(wait), in_words(wait))
}
