//! The stated need against what was reached: commits per second, redo per second, 99th percentile.

use super::bucket;
use super::catalogue;
use super::disk::{has_cloud_volume, has_controller};
use super::note::Note;
use super::sustained::{Sustained, sustained};
use super::{Bad, Caution, Good};
use crate::envelope::{best_commits, keeps};
use crate::format;
use crate::rows::{COMMITS, commit_wait_of, fastest, judged_rows};
use crate::thresholds::Thresholds;
use measure::judgement::Weight;
use measure::run::Run;
use measure::units::MB_BYTES;

/// Id of the finding on `--commit-rate`.
pub const COMMIT_RATE: &str = catalogue::NEED_COMMIT_RATE.id;
/// Id of the finding on `--redo-rate`.
pub const REDO_RATE: &str = catalogue::NEED_REDO_RATE.id;
/// Id of the finding on `--p99` without a commit rate.
pub const P99: &str = catalogue::NEED_P99.id;
/// Id of the finding on `--tbw` and `--years` where a rate is needed.
pub const ENDURANCE: &str = catalogue::NEED_ENDURANCE.id;
pub use super::sustained::UNKNOWN as SUSTAINED;

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let before = notes.len();
    match (run.need.commit_rate, run.need.p99_ns) {
        (Some(rate), bound) if rate > 0.0 => commit_rate(run, rate, bound, t, notes),
        (None, Some(bound)) => p99(run, bound, t, notes),
        _ => {}
    }
    if let Some(rate) = run.need.redo_bytes_per_s.filter(|r| *r > 0.0) {
        redo_rate(run, rate, t, notes);
    }
    burst(run, t, before, notes);
}

/// A rate that is met in a burst is met for now: what comes after was not seen.
fn burst(run: &Run, t: &Thresholds, before: usize, notes: &mut Vec<Note>) {
    let in_burst = |note: &Note| match note.id() {
        REDO_RATE => true,
        COMMIT_RATE => has_cloud_volume(&run.target.stack),
        _ => false,
    };
    let met = |note: &Note| in_burst(note) && note.weight() < Bad;
    let asks = notes.iter().skip(before).any(met);
    if let (true, Sustained::Unknown(note)) = (asks, sustained(run, t)) {
        notes.push(*note);
    }
}

fn weigh(headroom_pct: f64, t: &Thresholds) -> (Weight, &'static str, &'static str) {
    match headroom_pct {
        h if h >= t.headroom_pct.value => (Good, "meets the need with headroom", ""),
        h if h >= 0.0 => (
            Caution,
            "meets the need without headroom",
            "A peak of load or of the device will reach the limit; plan for more.",
        ),
        _ => (Bad, "misses the need", catalogue::NEED_COMMIT_RATE.advice),
    }
}

fn headroom(best: f64, need: f64) -> f64 {
    100.0 * (best / need - 1.0)
}

/// `+12 %`, or `15.3 times the need` where a percentage would be hard to read.
fn margin_text(headroom_pct: f64) -> String {
    if headroom_pct > 200.0 {
        let times = format::digits(1.0 + headroom_pct / 100.0);
        format!("{times} times the need")
    } else {
        format!("{headroom_pct:+.0} %")
    }
}

fn commit_rate(run: &Run, need: f64, bound: Option<u64>, t: &Thresholds, notes: &mut Vec<Note>) {
    let rows = judged_rows(run);
    let workload = rows.first().map_or(COMMITS, |row| row.workload.as_str());
    let bucket = bucket::of(run, t);
    // Where no wait is known, nothing is known of a bound on waits.
    let waited = rows.iter().any(|r| commit_wait_of(r).is_some());
    if bucket.is_none() && (rows.is_empty() || (bound.is_some() && !waited)) {
        return;
    }
    let at = bound.map_or_else(String::new, |b| {
        format!(
            " at a 99th percentile of at most {}",
            format::latency(b as f64)
        )
    });
    let in_burst = best_commits(run, bound);
    let in_burst = in_burst.and_then(|r| Some((r.commit_throughput_tps?, r.jobs)));
    let best = match &bucket {
        Some(bucket) => bucket.best_commits(bound),
        None => in_burst,
    };
    // A load may have kept the bound: only what no load reached is missed for certain.
    let is_open = bound.is_some_and(|b| match &bucket {
        Some(bucket) => bucket.is_open(b),
        None => rows.iter().any(|r| keeps(r, b).is_none()),
    });
    let (best, at) = match is_open && best.is_none_or(|(tps, _)| tps < need) {
        true => {
            let any = match &bucket {
                Some(bucket) => bucket.best_commits(None),
                None => {
                    best_commits(run, None).and_then(|r| Some((r.commit_throughput_tps?, r.jobs)))
                }
            };
            if any.is_none_or(|(tps, _)| tps >= need) {
                return;
            }
            (any, String::new())
        }
        false => (best, at),
    };
    let burst_tps = in_burst.map(|b| b.0);
    // The burst of the soak itself had other jobs; whether it kept a bound is not known.
    let of_soak = bucket.as_ref().filter(|_| bound.is_none());
    let burst_tps = of_soak.map_or(burst_tps, |b| {
        Some(b.burst.commits.max(burst_tps.unwrap_or(0.0)))
    });
    let of = bucket.is_none().then_some(workload);
    let reached = reached(of, (best, burst_tps), &at);
    let best = best.map_or(0.0, |b| b.0);
    let margin = headroom(best, need);
    let (weight, words, advice) = weigh(margin, t);
    notes.push(
        Note::of(
            &catalogue::NEED_COMMIT_RATE,
            weight,
            format!(
                "{} commits/s are needed, {reached}: {words} ({}).",
                format::digits(need),
                margin_text(margin)
            ),
        )
        .number("needed_tps", need)
        .number("reached_tps", best)
        .maybe("burst_tps", bucket.and(burst_tps))
        .number("headroom_pct", margin)
        .limit(
            format!("headroom of {} %", t.headroom_pct.value),
            &t.headroom_pct,
        )
        .advice(advice),
    );
}

/// The rate of commits that was reached with so many jobs, and what before a burst ended; of a
/// workload, or sustained by a soak.
fn reached(
    workload: Option<&str>,
    (best, in_burst): (Option<(f64, u32)>, Option<f64>),
    at: &str,
) -> String {
    let best_tps = best.map(|(tps, _)| tps);
    let best = best.map(|(tps, jobs)| (format::digits(tps), format::jobs(jobs)));
    let in_burst = in_burst.filter(|burst| best_tps.is_none_or(|best| *burst > best));
    match (workload, best) {
        (None, Some((rate, jobs))) => format!(
            "after the burst the soak sustained {rate}{at} with {jobs}{}",
            before(in_burst)
        ),
        (None, None) => format!(
            "no load that ran after the burst kept its commits{at}{}",
            before(in_burst)
        ),
        (Some(name), Some((rate, jobs))) => format!("{name} reached {rate}{at} with {jobs}"),
        (Some(name), None) => format!("no row of {name} ran{at}"),
    }
}

/// What was reached before a burst ended, in brackets.
fn before(rate: Option<f64>) -> String {
    rate.map_or_else(String::new, |rate| {
        format!(" (up to {} before)", format::digits(rate))
    })
}

fn redo_rate(run: &Run, need: f64, t: &Thresholds, notes: &mut Vec<Note>) {
    let Some((fastest, burst_mbps)) = fastest(run) else {
        return;
    };
    let need_mbps = need / MB_BYTES;
    let found = sustained(run, t);
    let (row, reached_mbps, behind) = match &found {
        Sustained::Rate(rate, row) => {
            let words = match has_controller(&run.target.stack) {
                true => format!(
                    " behind the controller's cache (up to {} into it)",
                    format::digits(burst_mbps)
                ),
                false => format!(" after the soak{}", before(Some(burst_mbps))),
            };
            (*row, rate / MB_BYTES, Some(words))
        }
        Sustained::Emptied(bucket) => {
            let (rate, row) = bucket.redo();
            let words = format!(" after the burst{}", before(Some(burst_mbps)));
            (row, rate / MB_BYTES, Some(words))
        }
        Sustained::NoBursts | Sustained::Unknown(_) => (fastest, burst_mbps, None),
    };
    let margin = headroom(reached_mbps, need_mbps);
    let (weight, words, advice) = weigh(margin, t);
    notes.push(
        Note::of(
            &catalogue::NEED_REDO_RATE,
            weight,
            format!(
                "{} MB/s of redo are needed, {} MB/s were reached{} ({}): {words} ({}).",
                format::digits(need_mbps),
                format::digits(reached_mbps),
                behind.as_deref().unwrap_or_default(),
                crate::rows::name_of(row),
                margin_text(margin)
            ),
        )
        .number("needed_mbps", need_mbps)
        .number("reached_mbps", reached_mbps)
        .maybe("burst_mbps", behind.as_ref().map(|_| burst_mbps))
        .number("headroom_pct", margin)
        .limit(
            format!("headroom of {} %", t.headroom_pct.value),
            &t.headroom_pct,
        )
        .advice(advice),
    );
}

fn p99(run: &Run, bound: u64, t: &Thresholds, notes: &mut Vec<Note>) {
    let bucket = bucket::of(run, t);
    let mut rows = judged_rows(run);
    let workload = rows.first().map_or(COMMITS, |row| row.workload.as_str());
    rows.retain(|row| commit_wait_of(row).is_some());
    if rows.is_empty() && bucket.is_none() {
        return;
    }
    let tight = (bound as f64 / (1.0 + t.headroom_pct.value / 100.0)) as u64;
    let any = |b: u64| match &bucket {
        Some(bucket) => bucket.best_commits(Some(b)).is_some(),
        None => rows.iter().any(|r| keeps(r, b) == Some(true)),
    };
    let is_open = match &bucket {
        Some(bucket) => bucket.is_open(bound),
        None => rows.iter().any(|r| keeps(r, bound).is_none()),
    };
    if is_open && !any(bound) {
        return;
    }
    let (weight, words) = match (any(tight), any(bound)) {
        (true, _) => (Good, "meets the need with headroom"),
        (false, true) => (Caution, "meets the need without headroom"),
        _ => (Bad, "misses the need"),
    };
    let in_burst = rows.iter().filter_map(|r| commit_wait_of(r)?.p99_ns).min();
    let best = match &bucket {
        Some(bucket) => bucket.p99_ns(),
        None => in_burst,
    };
    let shown = |ns: Option<u64>| ns.map(|p| format::latency(p as f64));
    let seen = shown(best).unwrap_or_else(|| "unknown".to_owned());
    let lowest = match (&bucket, shown(in_burst)) {
        (Some(_), Some(burst)) => format!("the lowest after the burst is {seen} ({burst} before)"),
        (Some(_), None) => format!("the lowest after the burst is {seen}"),
        (None, _) => format!("the lowest of {workload} is {seen}"),
    };
    notes.push(
        Note::of(
            &catalogue::NEED_P99,
            weight,
            format!(
                "A 99th percentile of {} is needed; {lowest}: {words}.",
                format::latency(bound as f64)
            ),
        )
        .number("needed_ms", bound as f64 / 1e6)
        .maybe("reached_ms", best.map(|p| p as f64 / 1e6))
        .limit(
            format!("headroom of {} %", t.headroom_pct.value),
            &t.headroom_pct,
        )
        .advice_if(weight == Bad),
    );
}
