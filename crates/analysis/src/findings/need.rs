//! The stated need against what was reached: commits per second, redo per second, 99th percentile.

use super::catalogue;
use super::disk::{has_cloud_volume, has_controller};
use super::note::Note;
use super::sustained::{Sustained, sustained};
use super::{Bad, Caution, Good};
use crate::envelope::{best_commits, keeps};
use crate::format;
use crate::rows::{COMMITS, commit_wait_of, fastest, rows_of};
use crate::thresholds::Thresholds;
use measure::judgement::Weight;
use measure::run::Run;

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
    let rows = rows_of(run, COMMITS);
    // Where no wait is known, nothing is known of a bound on waits.
    if rows.is_empty() || (bound.is_some() && rows.iter().all(|r| commit_wait_of(r).is_none())) {
        return;
    }
    let row = best_commits(run, bound);
    let best = row.and_then(|r| r.commit_throughput_tps).unwrap_or(0.0);
    let margin = headroom(best, need);
    let (weight, words, advice) = weigh(margin, t);
    let at = bound.map_or_else(String::new, |b| {
        format!(
            " at a 99th percentile of at most {}",
            format::latency(b as f64)
        )
    });
    let reached = match row {
        Some(r) => format!(
            "{COMMITS} reached {}{at} with {}",
            format::digits(best),
            format::jobs(r.jobs)
        ),
        None => format!("no row of {COMMITS} ran{at}"),
    };
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
        .number("headroom_pct", margin)
        .limit(
            format!("headroom of {} %", t.headroom_pct.value),
            &t.headroom_pct,
        )
        .advice(advice),
    );
}

fn redo_rate(run: &Run, need: f64, t: &Thresholds, notes: &mut Vec<Note>) {
    let Some((fastest, burst_mbps)) = fastest(run) else {
        return;
    };
    let need_mbps = need / measure::units::MB_BYTES;
    let (row, reached_mbps, sustained_mbps) = match sustained(run, t) {
        Sustained::Rate(rate, row) => {
            let mbps = rate / measure::units::MB_BYTES;
            (row, mbps, Some(mbps))
        }
        Sustained::NoBursts | Sustained::Unknown(_) => (fastest, burst_mbps, None),
    };
    let behind = match sustained_mbps {
        Some(_) if has_controller(&run.target.stack) => format!(
            " behind the controller's cache (up to {} into it)",
            format::digits(burst_mbps)
        ),
        Some(_) => format!(
            " after the soak (up to {} before)",
            format::digits(burst_mbps)
        ),
        None => String::new(),
    };
    let margin = headroom(reached_mbps, need_mbps);
    let (weight, words, advice) = weigh(margin, t);
    notes.push(
        Note::of(
            &catalogue::NEED_REDO_RATE,
            weight,
            format!(
                "{} MB/s of redo are needed, {} MB/s were reached{behind} ({}): {words} ({}).",
                format::digits(need_mbps),
                format::digits(reached_mbps),
                crate::rows::name_of(row),
                margin_text(margin)
            ),
        )
        .number("needed_mbps", need_mbps)
        .number("reached_mbps", reached_mbps)
        .maybe("burst_mbps", sustained_mbps.map(|_| burst_mbps))
        .number("headroom_pct", margin)
        .limit(
            format!("headroom of {} %", t.headroom_pct.value),
            &t.headroom_pct,
        )
        .advice(advice),
    );
}

fn p99(run: &Run, bound: u64, t: &Thresholds, notes: &mut Vec<Note>) {
    let mut rows = rows_of(run, COMMITS);
    rows.retain(|row| commit_wait_of(row).is_some());
    if rows.is_empty() {
        return;
    }
    let tight = (bound as f64 / (1.0 + t.headroom_pct.value / 100.0)) as u64;
    let any = |b: u64| rows.iter().any(|r| keeps(r, b));
    let best = rows.iter().filter_map(|r| commit_wait_of(r)?.p99_ns).min();
    let (weight, words) = match (any(tight), any(bound)) {
        (true, _) => (Good, "meets the need with headroom"),
        (false, true) => (Caution, "meets the need without headroom"),
        _ => (Bad, "misses the need"),
    };
    let seen = best.map_or_else(|| "unknown".to_owned(), |p| format::latency(p as f64));
    notes.push(
        Note::of(
            &catalogue::NEED_P99,
            weight,
            format!(
                "A 99th percentile of {} is needed; the lowest of {COMMITS} is {seen}: {words}.",
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
