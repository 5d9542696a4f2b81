//! Peaks of log file parallel write, and what they did to log file sync: the claim against SSDs
//! that study 000 put to the test.

use super::catalogue;
use super::note::Note;
use super::{Caution, Good, Info};
use crate::format;
use crate::rows::{name_of, sync_of, waiting_rows, write_of};
use crate::thresholds::Thresholds;
use measure::run::{Interval, Row, Run};

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let with_peaks = waiting_rows(run).filter_map(|r| Some((r, ratio(r)?)));
    let Some((row, ratio)) = with_peaks.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return;
    };
    let (Some(write), Some(sync)) = (write_of(row), sync_of(row)) else {
        return;
    };
    let limit = &t.peak_ratio;
    if ratio < limit.value {
        notes.push(none(row, ratio, write.max_ns, t));
        return;
    }
    let effect = effect(row, limit.value * write.mean_ns);
    let is_felt = effect
        .as_ref()
        .is_some_and(|e| e.is_repeated() && e.rise_pct > t.peak_effect_pct.value);
    let what = match &effect {
        Some(e) => format!(
            "in the {} with such peaks the mean log file sync was {}, in the others {} ({:+.1} %)",
            format::plural(e.seconds, "interval"),
            format::latency(e.with_ns),
            format::latency(e.without_ns),
            e.rise_pct,
        ),
        None => {
            "all intervals or none had such peaks, so their effect cannot be measured".to_owned()
        }
    };
    notes.push(
        Note::of(
            &catalogue::LATENCY_PEAKS,
            if is_felt { Caution } else { Info },
            format!(
                "The longest log file parallel write took {}, {} times the mean ({}); {what}. The longest log file sync was {}.",
                format::latency(write.max_ns as f64),
                format::digits(ratio),
                name_of(row),
                format::latency(sync.max_ns as f64),
            ),
        )
        .number("longest_over_mean", ratio)
        .number("longest_write_ms", write.max_ns as f64 / 1e6)
        .number("longest_sync_ms", sync.max_ns as f64 / 1e6)
        .maybe("sync_rise_pct", effect.as_ref().map(|e| e.rise_pct))
        .limit(
            format!(
                "a peak is {} times the mean; felt when log file sync rises by {} %",
                limit.value, t.peak_effect_pct.value
            ),
            limit,
        )
        .advice_if(is_felt),
    );
}

fn none(row: &Row, ratio: f64, longest_ns: u64, t: &Thresholds) -> Note {
    let limit = &t.peak_ratio;
    Note::of(
        &catalogue::LATENCY_PEAKS,
        Good,
        format!(
            "No peaks: the longest log file parallel write is {} times the mean ({}).",
            format::digits(ratio),
            name_of(row)
        ),
    )
    .number("longest_over_mean", ratio)
    .number("longest_write_ms", longest_ns as f64 / 1e6)
    .limit(format!("a peak is {} times the mean", limit.value), limit)
    .no_advice()
}

/// Longest log write over the mean.
fn ratio(row: &Row) -> Option<f64> {
    let write = write_of(row)?;
    (write.count > 0 && write.mean_ns > 0.0).then(|| write.max_ns as f64 / write.mean_ns)
}

/// Log file sync in some intervals against the others of a row.
pub(super) struct Effect {
    /// Intervals of the first kind.
    pub(super) seconds: u64,
    /// The other intervals.
    pub(super) others: u64,
    /// Mean log file sync in them.
    pub(super) with_ns: f64,
    /// Mean log file sync in the others.
    pub(super) without_ns: f64,
    /// Rise in percent.
    pub(super) rise_pct: f64,
}

impl Effect {
    /// One interval against one is chance: an effect is felt when it shows in two of each kind.
    pub(super) fn is_repeated(&self) -> bool {
        self.seconds >= 2 && self.others >= 2
    }
}

fn effect(row: &Row, bound_ns: f64) -> Option<Effect> {
    let reaches = |ns: u64| ns as f64 >= bound_ns;
    split(row, |i| {
        i.log_file_parallel_write_max_ns.is_some_and(reaches)
    })
}

/// Splits a row's intervals by `is_with`, each weighed by its commits. `None` without both kinds.
pub(super) fn split(row: &Row, is_with: impl Fn(&Interval) -> bool) -> Option<Effect> {
    let (mut with, mut without, mut seconds) = ((0.0, 0.0), (0.0, 0.0), 0);
    let mut others = 0;
    let with_commits = row.intervals.iter().filter(|i| i.commits > 0);
    let known = with_commits.filter_map(|i| Some((i, i.log_file_sync_mean_ns?)));
    for (interval, mean_ns) in known {
        let commits = interval.commits as f64;
        let side = if is_with(interval) {
            seconds += 1;
            &mut with
        } else {
            others += 1;
            &mut without
        };
        side.0 += commits * mean_ns;
        side.1 += commits;
    }
    let (with_ns, without_ns) = (with.0 / with.1, without.0 / without.1);
    let usable = with.1 > 0.0 && without.1 > 0.0 && without_ns > 0.0;
    usable.then(|| Effect {
        seconds,
        others,
        with_ns,
        without_ns,
        rise_pct: 100.0 * (with_ns / without_ns - 1.0),
    })
}
