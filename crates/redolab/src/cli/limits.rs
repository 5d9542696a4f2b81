//! What `--max-write` allows: a plan before anything is written, and each row's share.
//!
//! The rule: the making of the log files comes first, and something is kept for the store and the
//! report. `check` gives its floor at most a quarter of the rest. The rows share what is left:
//! a row that needs less than an equal share takes what it needs, and the others divide the rest
//! equally. A row whose share would be too small to measure anything is left out, the one that
//! needs most first. What a row does not use goes to the rows after it.
//!
//! Invariants: nothing is written here. A plan that cannot hold the log files and one row is
//! refused. What it must not know: how bytes are counted while they are written (`budget`,
//! `meter`).

use super::CommandError;
use super::loads::expected_bytes;
use crate::budget::{Budget, pages};
use crate::experiment::doubt::least_commits;
use crate::experiment::meter::{CHECKPOINT_BYTES, EVENT_BYTES, FOLIO_BYTES};
use crate::experiment::row::Spec;
use crate::experiment::target::Setup;
use crate::safety::{Refusal, size};
use device::SyncMethod;
use measure::workload::CommitWait;
use std::sync::Arc;

/// Blocks are at least so small; their payload is the rest.
const BLOCK_HEADER_BYTES: u64 = redo::format::BLOCK_HEADER_BYTES as u64;
/// Sessions whose last commits may each be a log write of their own.
const LAST_WRITES: u64 = 16;
/// A row is left out that has not this much beside the transactions that its figures need.
const LEAST_BYTES: u64 = 4 << 20;
/// The warm-up, and the time until the measured one, take a quarter each of what a row has then: a
/// row has room for so many times the transactions that its figures need.
const WITH_WARM_UP: u64 = 2;
/// Kept for the store, the report and the result: whatever the rows are, for each row, and for
/// each interval.
pub(crate) const KEEP_BYTES: u64 = 4 << 20;
const KEEP_ROW_BYTES: u64 = 256 << 10;
const KEEP_INTERVAL_BYTES: u64 = 24 << 10;
/// What registering a file costs in the journal of the work folder, and the files beside the logs.
const REGISTER_BYTES: u64 = 8 << 10;
const OTHER_FILES: u64 = 24;
/// Control information: made, opened, closed; and room for what wiping a device takes.
const CONTROL_BYTES: u64 = 1 << 20;
const WIPE_BYTES: u64 = 16 << 20;
/// What the probe beside a log writes at most: 60 writes of 4 KiB and of 128 KiB in eight ways,
/// where the page cache charges a small write like a large one.
pub(crate) const PROBE_BYTES: u64 = 112 << 20;
/// The floor, and the probe, are given at most this part of what is left, as a divisor.
const PROBE_DIVISOR: u64 = 4;

/// What a row may come to write, in the worst case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// With less the row is not run.
    pub(crate) least: u64,
    /// With more it is not longer.
    pub(crate) most: u64,
    /// What may come after the row was ended.
    pub(crate) tail: u64,
    /// Kept for what is stored of it.
    pub(crate) kept: u64,
}

/// What is planned under a limit.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) budget: Arc<Budget>,
    /// Bytes of log files, journal and control information, the probe included.
    pub(crate) making: u64,
    /// The floor's part; `None` where it is left out or there is no limit.
    pub(crate) floor: Option<u64>,
    /// Only ways that bypass the page cache, and no probe: there is no room for others.
    pub(crate) direct_only: bool,
    /// Shares of the rows where they are the same in every round.
    pub(crate) fixed: Option<Vec<Option<u64>>>,
    /// Lines of the announcement.
    pub(crate) lines: Vec<String>,
}

impl Limits {
    /// The part of the floor that is left out, if it is.
    pub(crate) fn leaves_floor_out(&self) -> bool {
        self.budget.limit().is_some() && self.floor.is_none()
    }

    /// The budget's use at which the floor ends.
    pub(crate) fn floor_ends_at(&self) -> u64 {
        let used = self.budget.used();
        self.floor
            .map_or(u64::MAX, |part| used.saturating_add(part))
    }
}

/// What is to be planned.
pub(crate) struct Wanted<'a> {
    pub(crate) limit: Option<u64>,
    pub(crate) specs: &'a [Spec],
    pub(crate) setup: &'a Setup,
    /// The sync method that was named.
    pub(crate) method: Option<SyncMethod>,
    /// Logs that are made.
    pub(crate) logs: u64,
    /// How often each row is run.
    pub(crate) times: u64,
    /// Bytes of the floor's files, where there is a floor.
    pub(crate) floor_files: Option<u64>,
    /// A raw device is wiped first.
    pub(crate) raw: bool,
    /// Every event is stored.
    pub(crate) events: bool,
}

/// Plans what `--max-write` allows.
///
/// # Errors
/// A limit that does not hold the log files and one row, with the smallest one that does.
pub(crate) fn plan(wanted: &Wanted<'_>) -> Result<Limits, CommandError> {
    let mut limits = Limits {
        budget: Budget::of(wanted.limit),
        making: making_bytes(wanted),
        floor: None,
        direct_only: false,
        fixed: None,
        lines: Vec::new(),
    };
    let Some(limit) = wanted.limit else {
        return Ok(limits);
    };
    let cached = wanted.method.map(is_cached);
    let direct = needs(wanted, cached.unwrap_or(false));
    let Smallest { kept, least, all } = smallest(wanted, limits.making, &direct)?;
    if limit < all {
        return Err(refused(&limits, kept, least, limit));
    }
    let room = limit - limits.making - kept;
    let part = room / PROBE_DIVISOR;
    let probes = cached.is_none() && !wanted.raw && wanted.floor_files.is_none();
    let probe = if probes {
        PROBE_BYTES.saturating_mul(wanted.logs)
    } else {
        0
    };
    let mut rows = room;
    if let Some(files) = wanted.floor_files {
        limits.floor = (part > files.saturating_add(files / 4)).then_some(part);
        rows -= limits.floor.unwrap_or(0);
    }
    if cached.is_none() {
        let each = |room: u64, needs: &[Need]| shares(needs, room / wanted.times.max(1));
        let any = each(rows.saturating_sub(probe), &needs(wanted, true));
        let some = each(rows, &direct).iter().flatten().count();
        limits.direct_only = probe > part || any.iter().flatten().count() < some;
    }
    if probes && !limits.direct_only {
        limits.making += probe;
        rows -= probe;
    }
    let needs = if cached == Some(true) || (cached.is_none() && !limits.direct_only) {
        self::needs(wanted, true)
    } else {
        direct
    };
    let each = shares(&needs, rows / wanted.times.max(1));
    limits.lines = lines(wanted, &limits, kept, &each);
    limits.fixed = (wanted.times > 1).then_some(each);
    Ok(limits)
}

/// What every plan of `wanted` writes.
struct Smallest {
    /// Kept for the store and the report.
    kept: u64,
    /// The smallest row, each time that it is run.
    least: u64,
    /// Both, and the making of the logs.
    all: u64,
}

/// Adds up what is written at least, where nothing is left out that may be.
fn smallest(wanted: &Wanted<'_>, making: u64, needs: &[Need]) -> Result<Smallest, CommandError> {
    let add = |sum: u64, need: &Need| sum.checked_add(need.kept);
    let each = needs.iter().try_fold(0, add);
    let kept = each.and_then(|kept| kept.checked_mul(wanted.times)?.checked_add(KEEP_BYTES));
    let least = needs.iter().map(|need| need.least).min().unwrap_or(0);
    let found = kept.zip(least.checked_mul(wanted.times));
    let found = found.and_then(|(kept, least)| {
        let all = making.checked_add(kept)?.checked_add(least)?;
        // The limit that is named is in whole MiB.
        let _ = all.checked_next_multiple_of(1 << 20)?;
        Some(Smallest { kept, least, all })
    });
    found.ok_or_else(|| {
        CommandError::usage(
            "--max-write: what would be written is more than 2^64 bytes, which no limit holds; \
             choose fewer rounds or jobs, or smaller transactions and log files",
        )
    })
}

fn is_cached(method: SyncMethod) -> bool {
    matches!(method, SyncMethod::Buffered | SyncMethod::Dsync)
}

/// What the making of the logs writes, without their probes.
fn making_bytes(wanted: &Wanted<'_>) -> u64 {
    let files = wanted.setup.footprint_bytes();
    let journal = (u64::from(wanted.setup.shape.groups) + OTHER_FILES) * REGISTER_BYTES;
    let wipe = if wanted.raw { WIPE_BYTES } else { 0 };
    let one = files.saturating_add(journal + CONTROL_BYTES + wipe);
    one.saturating_mul(wanted.logs)
}

fn refused(limits: &Limits, kept: u64, least: u64, allowed: u64) -> CommandError {
    let planned = limits.making.saturating_add(kept).saturating_add(least);
    // Whole MiB, so that what is named can be typed and works.
    let planned = planned.next_multiple_of(1 << 20);
    let (files, kept, row) = (limits.making, kept, least);
    let refusal = Refusal::Budget {
        planned,
        allowed,
        parts: format!(
            "{} for the log files, {} kept for the store and the report, {} for the smallest row",
            size(files),
            size(kept),
            size(row)
        ),
    };
    CommandError::usage(refusal.to_string())
}

fn lines(wanted: &Wanted<'_>, limits: &Limits, kept: u64, each: &[Option<u64>]) -> Vec<String> {
    let mut lines = vec![format!(
        "Of this, {} are for making log files, and {} are kept for the store and the report.",
        size(limits.making),
        size(kept)
    )];
    match (wanted.floor_files, limits.floor) {
        (Some(_), Some(part)) => {
            lines.push(format!("The device's floor may use {}.", size(part)));
        }
        (Some(_), None) => lines.push(
            "The device's floor is left out, since a quarter of the rest does not hold its file."
                .to_owned(),
        ),
        (None, _) => {}
    }
    if limits.direct_only {
        lines.push(
            "Log files are written with direct I/O, without a probe of other ways: the page cache \
             could be charged more than is left."
                .to_owned(),
        );
    }
    for (spec, share) in wanted.specs.iter().zip(each) {
        let row = format!(
            "{} with {}",
            spec.workload.name,
            analysis::format::jobs(spec.jobs)
        );
        lines.push(match share {
            Some(share) => format!("  {row}: ends at {} at the latest.", size(*share)),
            None => format!("  {row}: left out, its share would be too small."),
        });
    }
    lines
}

/// The needs of all rows. `cached`: writes go through the page cache.
fn needs(wanted: &Wanted<'_>, cached: bool) -> Vec<Need> {
    needs_of(wanted.specs, wanted.setup, cached, wanted.events)
}

/// What each row needs.
pub(crate) fn needs_of(specs: &[Spec], setup: &Setup, cached: bool, events: bool) -> Vec<Need> {
    // Folios that an earlier row left are charged to a later one.
    let folio = specs.iter().map(|spec| largest_write(spec, setup)).max();
    let folio = folio.unwrap_or(0).min(FOLIO_BYTES);
    let one = |spec: &Spec| need(spec, setup, cached.then_some(folio), events);
    specs.iter().map(one).collect()
}

fn need(spec: &Spec, setup: &Setup, folio: Option<u64>, events: bool) -> Need {
    let jobs = u64::from(spec.jobs);
    let transaction = transaction_bytes(spec, setup, events);
    let begun = jobs.saturating_mul(transaction);
    let buffered = match spec.workload.commit.wait {
        CommitWait::Wait => 0,
        // Of every batch in flight the log buffer may have been released already.
        CommitWait::Nowait => buffer_bytes(setup).saturating_mul(1 + depth(setup)),
    };
    let redo = begun.saturating_add(buffered);
    let switches = 1 + redo / setup.shape.file_bytes.max(1);
    let folios = folio.map_or(0, |folio| {
        let writes = jobs.min(LAST_WRITES) + buffered / folio.max(1 << 16);
        folio.saturating_mul(2).saturating_mul(writes)
    });
    let tail = redo
        .saturating_add(switches.saturating_mul(CHECKPOINT_BYTES))
        .saturating_add(folios);
    let useful = transaction
        .saturating_mul(least_commits(spec.jobs).saturating_mul(WITH_WARM_UP))
        .saturating_add(LEAST_BYTES);
    let counted = spec
        .commits
        .map(|n| begun.saturating_mul(n).saturating_add(1 << 20));
    let useful = counted.map_or(useful, |all| all.min(useful));
    // Of an open loop each transaction may be a log write of its own, and its intervals count too.
    let offered = spec.arrivals.as_ref().map(|open| {
        let burst = open.burst.map_or(0.0, |burst| f64::from(burst.size));
        let seconds = spec.time.plus(spec.warmup).as_secs() + 1.0;
        // A cast saturates.
        let transactions = (open.offered_per_s() * seconds + burst).ceil() as u64;
        // A lone write is charged up to two pages more than its bytes.
        transactions.saturating_mul(transaction.saturating_add(2 * 4096))
    });
    let expected = counted.or(offered).unwrap_or_else(|| expected_bytes(spec));
    let least = tail.saturating_add(useful);
    let intervals = if spec.commits.is_some() {
        // Nobody knows how long it takes.
        60
    } else {
        spec.time
            .0
            .div_ceil(spec.interval().0.max(1))
            .saturating_add(2)
    };
    let kept = KEEP_ROW_BYTES.saturating_add(intervals.saturating_mul(KEEP_INTERVAL_BYTES));
    Need {
        least,
        most: least.max(tail.saturating_add(expected).saturating_add(kept)),
        tail,
        kept,
    }
}

/// What one transaction's redo takes on the device at most, padding included.
fn transaction_bytes(spec: &Spec, setup: &Setup, events: bool) -> u64 {
    let records = u64::from(spec.workload.records.max(1));
    let redo = u64::from(spec.workload.redo_bytes);
    let redo = redo + records * redo::format::RECORD_HEADER_BYTES as u64;
    let block = u64::from(setup.shape.block_bytes.unwrap_or(512));
    // Where the block size is the device's, the worse of the two.
    let with = |block: u64| redo.div_ceil(block - BLOCK_HEADER_BYTES) * block;
    let blocks = match setup.shape.block_bytes {
        Some(bytes) => with(u64::from(bytes)),
        None => with(block).max(with(4096)),
    };
    // A trigger may write in the middle of a transaction; each batch has its padding.
    let third = setup.triggers.third.then_some(buffer_bytes(setup) / 3);
    let bytes = setup.triggers.bytes.map(u64::from);
    let least = third
        .into_iter()
        .chain(bytes)
        .min()
        .unwrap_or(u64::MAX)
        .max(1);
    let batches = 2 + (redo / least).min(records);
    let captured = if events { 4 * EVENT_BYTES } else { 0 };
    // Padding, and the page in which a write begins.
    blocks + batches * pages(4096) + captured
}

/// The log buffer holds no more than one log file does.
fn buffer_bytes(setup: &Setup) -> u64 {
    (setup.buffer_bytes as u64).min(setup.shape.file_bytes)
}

fn depth(setup: &Setup) -> u64 {
    u64::from(setup.log_writer.workers().unwrap_or(setup.io_depth).max(1))
}

fn largest_write(spec: &Spec, setup: &Setup) -> u64 {
    let begun = u64::from(spec.jobs).saturating_mul(transaction_bytes(spec, setup, false));
    match spec.workload.commit.wait {
        CommitWait::Wait => begun.min(buffer_bytes(setup)),
        CommitWait::Nowait => buffer_bytes(setup),
    }
}

/// Divides `room` among the rows by the rule above; `None` for a row that is left out.
pub(crate) fn shares(needs: &[Need], room: u64) -> Vec<Option<u64>> {
    let mut out = vec![false; needs.len()];
    loop {
        let each = divided(needs, &out, room);
        let short = (0..needs.len())
            .filter(|row| !out[*row] && each[*row] < needs[*row].least)
            .max_by_key(|row| needs[*row].least);
        match short {
            Some(row) => out[row] = true,
            None => {
                let share = |row: usize| (!out[row]).then_some(each[row]);
                return (0..needs.len()).map(share).collect();
            }
        }
    }
}

/// Equal parts of `room` for the rows that are not `out`, none more than its row can use.
fn divided(needs: &[Need], out: &[bool], room: u64) -> Vec<u64> {
    let mut rows: Vec<usize> = (0..needs.len()).filter(|row| !out[*row]).collect();
    rows.sort_by_key(|row| needs[*row].most);
    let (mut left, mut count) = (room, rows.len() as u64);
    let mut each = vec![0; needs.len()];
    for row in rows {
        let share = needs[row].most.min(left / count);
        each[row] = share;
        left -= share;
        count -= 1;
    }
    each
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;
    use measure::workload::Workload;

    const MIB: u64 = 1 << 20;

    fn need(least: u64, most: u64) -> Need {
        Need {
            least,
            most,
            tail: 0,
            kept: 0,
        }
    }

    #[test]
    fn rows_share_what_there_is() {
        for (needs, room, want) in [
            (
                vec![need(1, 100), need(1, 100)],
                60,
                vec![Some(30), Some(30)],
            ),
            (
                vec![need(1, 10), need(1, 100)],
                60,
                vec![Some(10), Some(50)],
            ),
            (vec![need(40, 100), need(1, 100)], 60, vec![None, Some(60)]),
            (vec![need(70, 100), need(61, 100)], 60, vec![None, None]),
            (
                vec![need(20, 25), need(25, 90), need(30, 90)],
                70,
                vec![Some(25), Some(45), None],
            ),
            (vec![], 60, vec![]),
        ] {
            let got = shares(&needs, room);
            assert_eq!(got, want, "{needs:?}");
            assert!(got.iter().flatten().sum::<u64>() <= room);
        }
    }

    fn wanted<'a>(specs: &'a [Spec], setup: &'a Setup, limit: u64) -> Wanted<'a> {
        Wanted {
            limit: Some(limit),
            specs,
            setup,
            method: Some(SyncMethod::Direct),
            logs: 1,
            times: 1,
            floor_files: None,
            raw: false,
            events: false,
        }
    }

    #[test]
    fn the_smallest_limit_that_is_named_works() {
        let mut setup = Setup::default();
        setup.shape.file_bytes = 8 * MIB;
        for workload in Workload::standard() {
            for (jobs, times, logs) in [(1, 1, 1), (64, 1, 1), (8, 6, 2)] {
                let time = Nanos::from_secs(10);
                let specs = [Spec::closed(workload.clone(), jobs, time, time)];
                let with = |limit| Wanted {
                    times,
                    logs,
                    ..wanted(&specs, &setup, limit)
                };
                let told = plan(&with(MIB)).expect_err("too small").message;
                let named = told.split("works here is --max-write ").nth(1);
                let named = named.and_then(|text| text.split_once("M:")?.0.parse::<u64>().ok());
                let named = named.expect(&told) * MIB;
                assert!(plan(&with(named - MIB)).is_err(), "{told}");
                let planned = plan(&with(named)).expect("what is named works");
                assert!(
                    planned.lines.iter().any(|l| l.contains("ends at")),
                    "{told}"
                );
            }
        }
    }

    #[test]
    fn a_plan_that_cannot_be_counted_is_refused() {
        let setup = Setup::default();
        let time = Nanos::from_secs(1);
        let specs = [Spec::closed(Workload::storm(), 8, time, time)];
        for (times, logs) in [(1 << 48, 1), (u64::MAX, 1), (1, u64::MAX)] {
            let wanted = Wanted {
                times,
                logs,
                ..wanted(&specs, &setup, u64::MAX)
            };
            let problem = plan(&wanted).expect_err("more than any limit").message;
            assert!(problem.contains("more than 2^64 bytes"), "{problem}");
        }
    }

    /// Whatever a row is given, its measured part holds the commits that its figures need.
    #[test]
    fn a_row_that_is_run_has_room_for_enough_commits() {
        let setup = Setup::default();
        for workload in Workload::standard() {
            for jobs in [1, 4, 64] {
                let time = Nanos::from_secs(10);
                let spec = Spec::closed(workload.clone(), jobs, time, time);
                let need = super::need(&spec, &setup, None, false);
                let transaction = transaction_bytes(&spec, &setup, false);
                let part = need.least - need.tail;
                // A quarter for the warm-up, a quarter of the rest until the measured time.
                let measured = part / 4 * 3 / 4 * 3;
                let commits = measured / transaction;
                assert!(commits >= least_commits(jobs), "{workload:?} {jobs}");
            }
        }
    }

    #[test]
    fn a_small_limit_leaves_out_the_probe_and_the_floor() {
        let setup = Setup::default();
        let specs = [Spec::closed(
            Workload::standard().swap_remove(0),
            8,
            Nanos::from_secs(4),
            Nanos::from_secs(1),
        )];
        let with = |limit, floor_files| {
            let wanted = Wanted {
                method: None,
                floor_files,
                ..wanted(&specs, &setup, limit)
            };
            plan(&wanted).expect("fits")
        };
        assert!(with(1024 * MIB, None).direct_only);
        let large = with(8192 * MIB, None);
        assert!(!large.direct_only);
        assert!(large.making > setup.footprint_bytes() + PROBE_BYTES);
        assert_eq!(with(1024 * MIB, Some(64 * MIB)).floor, None);
        assert!(
            with(8192 * MIB, Some(64 * MIB))
                .floor
                .is_some_and(|part| part > 64 * MIB)
        );
    }
}
