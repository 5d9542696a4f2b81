//! What a rate is worth that was seen in a burst: a RAID controller's cache takes redo faster than
//! its disks, a cloud volume may spend credits. The sustained rate is one that was measured beyond:
//! where a soak drained the credits, whatever the volume is called, what was measured after that.

use super::bucket::{self, CreditBucket};
use super::catalogue;
use super::disk::{has_cloud_volume, has_controller};
use super::note::Note;
use super::protection::cache_bytes;
use super::{Caution, steady};
use crate::format;
use crate::rows::name_of;
use crate::thresholds::Thresholds;
use measure::run::{RedoLogFacts, Row, Run};

/// Id of the finding that a sustained rate is not known.
pub const UNKNOWN: &str = catalogue::NEED_SUSTAINED.id;

/// The rate behind a burst.
pub(super) enum Sustained<'a> {
    /// Nothing below makes bursts.
    NoBursts,
    /// Bytes of redo per second at the end of a row that was long enough.
    Rate(f64, &'a Row),
    /// A soak drained the credits.
    Emptied(Box<CreditBucket<'a>>),
    /// Not seen, and why.
    Unknown(Box<Note>),
}

pub(super) fn sustained<'a>(run: &'a Run, t: &Thresholds) -> Sustained<'a> {
    let stack = &run.target.stack;
    if let Some(bucket) = bucket::of(run, t) {
        Sustained::Emptied(Box::new(bucket))
    } else if has_cloud_volume(stack) {
        after_credits(run, t)
    } else if has_controller(stack) {
        behind_cache(run, t)
    } else {
        Sustained::NoBursts
    }
}

/// The highest rate at the end of the rows that are long enough.
fn settled<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<(f64, &'a Row)> {
    rows.filter_map(|row| Some((steady::settled(row)?, row)))
        .max_by(|a, b| a.0.total_cmp(&b.0))
}

fn after_credits<'a>(run: &'a Run, t: &Thresholds) -> Sustained<'a> {
    let limit = &t.soak_min;
    let needed_s = limit.value * 60.0;
    let soaked = run.rows.iter().filter(|r| r.elapsed_s >= Some(needed_s));
    if let Some((rate, row)) = settled(soaked) {
        return Sustained::Rate(rate, row);
    }
    let longest = run
        .rows
        .iter()
        .filter_map(|r| r.elapsed_s)
        .fold(0.0, f64::max);
    Sustained::Unknown(Box::new(
        Note::of(
            &catalogue::NEED_SUSTAINED,
            Caution,
            format!(
                "The sustained rate of a cloud volume is undetermined: the longest row took {} s, and burst credits can last {} minutes.",
                format::digits(longest),
                limit.value
            ),
        )
        .number("longest_row_s", longest)
        .limit(format!("one row of at least {} minutes", limit.value), limit)
        .advice("Soak for 45 minutes, then judge the need by the rate at its end."),
    ))
}

/// Bytes that a row has written, as far as they are known.
fn written(row: &Row) -> f64 {
    let redo = row.redo();
    (redo.redo_size_bytes.unwrap_or(0) + redo.redo_wastage_bytes.unwrap_or(0)) as f64
}

fn behind_cache<'a>(run: &'a Run, t: &Thresholds) -> Sustained<'a> {
    let limit = &t.destage_multiple;
    let assumed = t.assumed_cache_gib.value * (1_u64 << 30) as f64;
    let cache = cache_bytes(&run.target.stack).map_or(assumed, |b| b as f64);
    let log = run.target.redo_log();
    let footprint = log.map_or(0, RedoLogFacts::footprint_bytes);
    // A log that fits is overwritten in the cache and never has to leave it.
    let fits = (footprint as f64) < cache;
    let beyond = |r: &&Row| !fits && written(r) >= limit.value * cache;
    if let Some((rate, row)) = settled(run.rows.iter().filter(beyond)) {
        return Sustained::Rate(rate, row);
    }
    let most = run
        .rows
        .iter()
        .max_by(|a, b| written(a).total_cmp(&written(b)));
    let seen = most.map_or_else(String::new, |row| {
        format!(
            ", and {} wrote {} at most",
            name_of(row),
            format::bytes(written(row) as u64)
        )
    });
    Sustained::Unknown(Box::new(
        Note::of(
            &catalogue::NEED_SUSTAINED,
            Caution,
            format!(
                "The rate at which the controller's cache drains is not known: the log files cover {}{seen}; its cache of {} can hold all of it.",
                format::bytes(footprint),
                format::bytes(cache as u64),
            ),
        )
        .number("cache_bytes", cache)
        .number("log_footprint_bytes", footprint as f64)
        .maybe("most_written_bytes", most.map(written))
        .limit(
            format!("log files over the cache, and {} times the cache written in a row", limit.value),
            limit,
        )
        .advice("Measure with --log-file-size and --log-groups over the cache, and --time long enough to write it twice."),
    ))
}
