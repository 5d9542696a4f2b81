//! Bytes: redo wastage, write amplification, log switches, and whether the log fits in a cache.

use super::catalogue;
use super::disk::has_controller;
use super::note::Note;
use super::peaks::split;
use super::{Caution, Info};
use crate::format;
use crate::rows::{name_of, write_of};
use crate::thresholds::Thresholds;
use measure::WaitEvent;
use measure::run::{RedoLogFacts, Row, Run};

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    wastage(run, t, notes);
    amplification(run, t, notes);
    switches(run, t, notes);
    stalls(run, notes);
    resident(run, t, notes);
}

/// Redo wastage of a row with redo, percent of the bytes that the log wrote.
pub(crate) fn wastage_pct(row: &Row) -> Option<f64> {
    let redo = row.redo();
    redo.redo_wastage_pct()
        .filter(|_| redo.redo_size_bytes > Some(0))
}

fn highest(run: &Run, f: impl Fn(&Row) -> Option<f64>) -> Option<(&Row, f64)> {
    run.rows
        .iter()
        .filter_map(|r| Some((r, f(r)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

fn wastage(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let Some((row, pct)) = highest(run, wastage_pct) else {
        return;
    };
    let limit = &t.wastage_pct;
    let is_high = pct > limit.value;
    notes.push(
        Note::of(
            &catalogue::SPACE_WASTAGE,
            if is_high { Caution } else { Info },
            format!(
                "Redo wastage is at most {} of the bytes that the log writes ({}).",
                format::percent(pct),
                name_of(row)
            ),
        )
        .number("wastage_pct", pct)
        .number(
            "seal_bytes",
            run.target
                .redo_log()
                .map_or(0.0, |log| log.seal_bytes.into()),
        )
        .limit(format!("over {} %", limit.value), limit)
        .advice_if(is_high),
    );
}

/// Bytes that the kernel counted on the device for each byte of redo.
fn counted_factor(row: &Row) -> Option<f64> {
    let redo = row.redo().redo_size_bytes.filter(|bytes| *bytes > 0)?;
    let counted = row.device().device_written_bytes?;
    Some(counted as f64 / redo as f64)
}

/// The same, or where nothing was counted what the log itself wrote for each byte of redo.
pub(super) fn amplification_factor(row: &Row) -> Option<f64> {
    let own = || Some(1.0 / (1.0 - wastage_pct(row)? / 100.0));
    counted_factor(row).or_else(own)
}

fn amplification(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let Some((row, factor)) = highest(run, counted_factor) else {
        return;
    };
    let limit = &t.write_amplification;
    let is_high = factor > limit.value;
    notes.push(
        Note::of(
            &catalogue::SPACE_WRITE_AMPLIFICATION,
            if is_high { Caution } else { Info },
            format!(
                "The device wrote at most {} bytes per byte of redo ({}), as counted by the kernel.",
                format::digits(factor),
                name_of(row)
            ),
        )
        .number("write_amplification", factor)
        .limit(format!("over {}", limit.value), limit)
        .advice_if(is_high),
    );
}

fn switches(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let total: u64 = run.rows.iter().filter_map(|r| r.redo().log_switches).sum();
    if total == 0 {
        return;
    }
    let worst = run
        .rows
        .iter()
        .filter_map(|r| Some((r, split(r, |i| i.log_switches > Some(0))?)))
        .max_by(|a, b| a.1.rise_pct.total_cmp(&b.1.rise_pct));
    let limit = &t.switch_effect_pct;
    let is_felt = worst
        .as_ref()
        .is_some_and(|(_, e)| e.is_repeated() && e.rise_pct > limit.value);
    let what = match &worst {
        Some((row, e)) => format!(
            "at worst ({}) the mean log file sync was {} in intervals with a switch and {} without ({:+.1} %)",
            name_of(row),
            format::latency(e.with_ns),
            format::latency(e.without_ns),
            e.rise_pct
        ),
        None => "every interval had a switch, so their effect cannot be measured".to_owned(),
    };
    notes.push(
        Note::of(
            &catalogue::SPACE_LOG_SWITCHES,
            if is_felt { Caution } else { Info },
            format!(
                "{}; {what}.",
                format::plural(total, "log switch").replace("switchs", "switches")
            ),
        )
        .number("log_switches", total as f64)
        .maybe("sync_rise_pct", worst.as_ref().map(|(_, e)| e.rise_pct))
        .limit(format!("log file sync higher by {} %", limit.value), limit)
        .advice_if(is_felt),
    );
}

/// Foregrounds or the log writer stood still: buffer full, or the next log not free.
fn stalls(run: &Run, notes: &mut Vec<Note>) {
    switch_completion(run, notes);
    let stalls = [
        (
            WaitEvent::LogFileSwitchCheckpointIncomplete,
            &catalogue::SPACE_LOG_FILE_SWITCH_CHECKPOINT_INCOMPLETE,
        ),
        (
            WaitEvent::LogFileSwitchArchivingNeeded,
            &catalogue::SPACE_LOG_FILE_SWITCH_ARCHIVING_NEEDED,
        ),
        (
            WaitEvent::LogBufferSpace,
            &catalogue::SPACE_LOG_BUFFER_SPACE,
        ),
    ];
    for (event, entry) in stalls {
        let rows = run.rows.iter().filter_map(|r| Some((r, r.wait(event)?)));
        let Some((row, stats)) = rows
            .filter(|(_, w)| w.count > 0)
            .max_by_key(|(_, w)| w.total_ns)
        else {
            continue;
        };
        let is_expected = event == WaitEvent::LogBufferSpace && !crate::rows::waits(row);
        // Of some events only the sum is kept.
        let longest = match stats.max_ns {
            0 => String::new(),
            ns => format!(", the longest {}", format::latency(ns as f64)),
        };
        let per_s = stats.total_ns as f64 / row.elapsed_ns.unwrap_or(0).max(1) as f64;
        notes.push(
            Note::of(
                entry,
                if is_expected { Info } else { Caution },
                format!(
                    "{}: {}, {} of all sessions together{longest} ({}).",
                    event.name(),
                    format::plural(stats.count, "wait"),
                    format::latency(stats.total_ns as f64),
                    name_of(row),
                ),
            )
            .number("waits", stats.count as f64)
            .number("seconds_waited_per_second", per_s)
            .maybe(
                "log_file_parallel_write_ms",
                write_of(row).map(|w| w.mean_ns / 1e6),
            ),
        );
    }
}

/// The first write of a new log, which every session that commits then waits for.
fn switch_completion(run: &Run, notes: &mut Vec<Note>) {
    let event = WaitEvent::LogFileSwitchCompletion;
    let rows = run.rows.iter().filter_map(|r| Some((r, r.wait(event)?)));
    let longest = rows
        .filter(|(_, w)| w.count > 0)
        .max_by_key(|(_, w)| w.max_ns);
    let Some((row, stats)) = longest else {
        return;
    };
    let is_long = stats.max_ns > measure::waits::OUTLIER_NS;
    notes.push(
        Note::of(
            &catalogue::SPACE_LOG_FILE_SWITCH_COMPLETION,
            if is_long { Caution } else { Info },
            format!(
                "{}: {}, the longest {} ({}).",
                event.name(),
                format::plural(stats.count, "time"),
                format::latency(stats.max_ns as f64),
                name_of(row),
            ),
        )
        .number("switches", stats.count as f64)
        .number("longest_ms", stats.max_ns as f64 / 1e6)
        .number("mean_ms", stats.mean_ns / 1e6)
        .advice_if(is_long),
    );
}

/// Whether the log files could live in a cache: their footprint is under a multiple of the
/// largest cache. Of a controller its tool may tell the size; no drive does, so that an assumed one
/// is used there.
#[must_use]
pub fn cache_resident(run: &Run, t: &Thresholds) -> bool {
    let footprint = footprint(run);
    footprint > 0 && (footprint as f64) < bound_bytes(run, t)
}

fn footprint(run: &Run) -> u64 {
    let log = run.target.redo_log();
    log.map_or(0, RedoLogFacts::footprint_bytes)
}

fn bound_bytes(run: &Run, t: &Thresholds) -> f64 {
    let assumed = t.assumed_cache_gib.value * (1_u64 << 30) as f64;
    let known = super::protection::cache_bytes(&run.target.stack).map(|b| b as f64);
    t.cache_multiple.value * known.unwrap_or(assumed)
}

fn resident(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    if !cache_resident(run, t) {
        return;
    }
    let behind_cache = has_controller(&run.target.stack);
    notes.push(
        Note::of(
            &catalogue::SPACE_CACHE_RESIDENT,
            if behind_cache { Caution } else { Info },
            format!(
                "The log files cover {}, which a cache in the path could hold: the rates are those of that cache, if there is one.",
                format::bytes(footprint(run))
            ),
        )
        .number("log_footprint_bytes", footprint(run) as f64)
        .limit(format!("under {}", format::bytes(bound_bytes(run, t) as u64)), &t.cache_multiple),
    );
}
