//! What `--max-write` allows: a plan before anything is written, and each row's share.
//!
//! The rule: the making of the log files comes first, and something is kept for the store and the
//! report. `check` gives its floor at most a quarter of the rest. The rows share what is left:
//! a row that needs less than an equal share takes what it needs, and the others divide the rest
//! equally. A row whose share would be too small to measure anything is left out, the one that
//! needs most first. What a row does not use goes to the rows after it.
//!
//! Private servers are made before the rows as log files are; what they write is estimated
//! (`servers`), and watched while they are made.
//!
//! Invariants: nothing is written here. A plan that cannot hold what is made and one row is
//! refused. What it must not know: how bytes are counted while they are written (`budget`,
//! `meter`).

mod floor;
mod needs;
mod servers;
#[cfg(test)]
mod tests;

pub(crate) use floor::of_floor;
pub(crate) use needs::{RowNeed, needs_of, shares};
pub(crate) use servers::{ServersToMake, make_watched};

use crate::budget::Budget;
use crate::experiment::Failure;
use crate::experiment::measure::row::Spec;
use crate::experiment::plan::LogPlan;
use crate::experiment::plan::expected::row_name;
use crate::safety::Refusal;
use device::SyncMethod;
use measure::words::size;
use std::sync::Arc;

/// Kept for the store, the report and the result, whatever the rows are.
pub const KEEP_BYTES: u64 = 4 << 20;
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

/// What is planned under a limit.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) budget: Arc<Budget>,
    /// Bytes of log files, journal and control information, the probe included.
    pub(crate) making: u64,
    /// Private servers, beside the logs.
    pub(crate) servers: ServersToMake,
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
    /// What each row may come to write, on whichever target.
    pub(crate) fn needs_of(
        &self,
        specs: &[Spec],
        log: &LogPlan,
        cached: bool,
        events: bool,
    ) -> Vec<RowNeed> {
        let needs = needs_of(specs, log, cached, events);
        self.servers.raise(needs, specs)
    }

    /// What is made before the rows, in words.
    fn made_in_words(&self) -> &'static str {
        match (self.servers.count, self.making) {
            (0, _) => "the log files",
            (1, 0) => "the server",
            (_, 0) => "the servers",
            _ => "the log files and servers",
        }
    }

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
    pub(crate) log: &'a LogPlan,
    /// Bytes of the files of a log.
    pub(crate) files: u64,
    /// The sync method that was named.
    pub(crate) method: Option<SyncMethod>,
    /// Logs that are made.
    pub(crate) logs: u64,
    /// Private servers that are made.
    pub(crate) servers: ServersToMake,
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
pub(crate) fn plan(wanted: &Wanted<'_>) -> Result<Limits, Failure> {
    let mut limits = Limits {
        budget: Budget::of(wanted.limit),
        making: making_bytes(wanted),
        servers: wanted.servers,
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
    let made = limits.making.saturating_add(wanted.servers.making_bytes);
    let Smallest { kept, least, all } = smallest(wanted, made, &direct)?;
    if limit < all {
        return Err(refused(&limits, (made, kept, least), limit));
    }
    let room = limit - made - kept;
    let part = room / PROBE_DIVISOR;
    let probes = cached.is_none() && !wanted.raw && wanted.floor_files.is_none();
    let probe = if probes {
        let probes = wanted
            .logs
            .saturating_mul(u64::from(wanted.log.nodes.max(1)));
        PROBE_BYTES.saturating_mul(probes)
    } else {
        0
    };
    let mut rows = room;
    if let Some(files) = wanted.floor_files {
        limits.floor = (part > files.saturating_add(files / 4)).then_some(part);
        rows -= limits.floor.unwrap_or(0);
    }
    if cached.is_none() {
        let each = |room: u64, needs: &[RowNeed]| shares(needs, room / wanted.times.max(1));
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
fn smallest(wanted: &Wanted<'_>, making: u64, needs: &[RowNeed]) -> Result<Smallest, Failure> {
    let add = |sum: u64, need: &RowNeed| sum.checked_add(need.kept);
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
        Failure::Unusable(
            "--max-write: what would be written is more than 2^64 bytes, which no limit holds; \
             choose fewer rounds or jobs, or smaller transactions and log files"
                .to_owned(),
        )
    })
}

fn is_cached(method: SyncMethod) -> bool {
    matches!(method, SyncMethod::Buffered | SyncMethod::Dsync)
}

/// What the making of the logs writes, without their probes.
fn making_bytes(wanted: &Wanted<'_>) -> u64 {
    let files = wanted.files;
    let nodes = u64::from(wanted.log.nodes.max(1));
    let journal = (u64::from(wanted.log.shape.groups) + OTHER_FILES) * REGISTER_BYTES * nodes;
    let wipe = if wanted.raw { WIPE_BYTES } else { 0 };
    let one = files.saturating_add(journal + CONTROL_BYTES + wipe);
    let beside = wanted
        .log
        .background
        .making_bytes(wanted.log.footprint_bytes());
    one.saturating_add(beside).saturating_mul(wanted.logs)
}

fn refused(limits: &Limits, (made, kept, row): (u64, u64, u64), allowed: u64) -> Failure {
    let planned = made.saturating_add(kept).saturating_add(row);
    // Whole MiB, so that what is named can be typed and works.
    let planned = planned.next_multiple_of(1 << 20);
    let refusal = Refusal::Budget {
        planned,
        allowed,
        parts: format!(
            "{} for {}, {} kept for the store and the report, {} for the smallest row",
            size(made),
            limits.made_in_words(),
            size(kept),
            size(row)
        ),
        advice: match limits.servers.count {
            0 => ", or choose smaller log files (--log-file-size, --log-groups)",
            _ => {
                ", or make less on the server: a smaller redo log (MariaDB: --server-setting \
                 innodb_log_file_size=SIZE), fewer warehouses, fewer standbys"
            }
        },
    };
    refusal.into()
}

fn lines(wanted: &Wanted<'_>, limits: &Limits, kept: u64, each: &[Option<u64>]) -> Vec<String> {
    let mut lines = vec![format!(
        "Of this, {} are for making {}, and {} are kept for the store and the report.",
        size(limits.making.saturating_add(limits.servers.making_bytes)),
        limits.made_in_words(),
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
        let row = row_name(spec);
        lines.push(match share {
            Some(share) => format!("  {row}: ends at {} at the latest.", size(*share)),
            None => format!("  {row}: left out, its share would be too small."),
        });
    }
    lines
}

/// The needs of all rows. `cached`: writes go through the page cache.
fn needs(wanted: &Wanted<'_>, cached: bool) -> Vec<RowNeed> {
    let needs = needs_of(wanted.specs, wanted.log, cached, wanted.events);
    wanted.servers.raise(needs, wanted.specs)
}
