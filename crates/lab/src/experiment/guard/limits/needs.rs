//! What each row may come to write, and how rows share what there is.

use crate::budget::pages;
use crate::experiment::guard::meter::{CHECKPOINT_BYTES, EVENT_BYTES, FOLIO_BYTES};
use crate::experiment::judge::doubt::least_commits;
use crate::experiment::measure::row::Spec;
use crate::experiment::plan::LogPlan;
use crate::experiment::plan::expected::expected_bytes;
use measure::workload::CommitWait;

/// Blocks are at least so small; their payload is the rest.
const BLOCK_HEADER_BYTES: u64 = redo::format::BLOCK_HEADER_BYTES as u64;
/// Sessions whose last commits may each be a log write of their own.
const LAST_WRITES: u64 = 16;
/// A row is left out that has not this much beside the transactions that its figures need.
const LEAST_BYTES: u64 = 4 << 20;
/// The warm-up, and the time until the measured one, take a quarter each of what a row has then: a
/// row has room for so many times the transactions that its figures need.
const WITH_WARM_UP: u64 = 2;
/// Kept for what is stored of each row, its recording included, and of each interval.
const KEEP_ROW_BYTES: u64 = 640 << 10;
const KEEP_INTERVAL_BYTES: u64 = 24 << 10;

/// What a row may come to write, in the worst case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowNeed {
    /// With less the row is not run.
    pub(crate) least: u64,
    /// With more it is not longer.
    pub(crate) most: u64,
    /// What may come after the row was ended.
    pub(crate) tail: u64,
    /// Kept for what is stored of it.
    pub(crate) kept: u64,
}

/// What each row needs.
pub(crate) fn needs_of(specs: &[Spec], log: &LogPlan, cached: bool, events: bool) -> Vec<RowNeed> {
    // Folios that an earlier row left are charged to a later one.
    let folio = specs.iter().map(|spec| largest_write(spec, log)).max();
    let folio = folio.unwrap_or(0).min(FOLIO_BYTES);
    let copies = log.writes_per_redo();
    // What a neighbour writes between two looks at the kernel's count.
    let beside = log.background.neighbour_bytes_per_s();
    let one = |spec: &Spec| {
        let need = need(spec, log, cached.then_some(folio), events);
        let all = |bytes: u64| bytes.saturating_mul(copies);
        let time = spec.time.plus(spec.warmup).as_secs().ceil() as u64;
        let most = all(need.most).saturating_add(beside.saturating_mul(time.saturating_add(1)));
        RowNeed {
            least: all(need.least).saturating_add(beside),
            most,
            tail: all(need.tail).saturating_add(beside),
            kept: need.kept,
        }
    };
    specs.iter().map(one).collect()
}

pub(super) fn need(spec: &Spec, log: &LogPlan, folio: Option<u64>, events: bool) -> RowNeed {
    let jobs = u64::from(spec.jobs);
    let transaction = transaction_bytes(spec, log, events);
    let begun = jobs.saturating_mul(transaction);
    let buffered = match spec.workload.commit.wait {
        CommitWait::Wait => 0,
        // Of every batch in flight the log buffer may have been released already.
        CommitWait::Nowait => buffer_bytes(log).saturating_mul(1 + depth(log)),
    };
    let redo = begun.saturating_add(buffered);
    let switches = 1 + redo / log.shape.file_bytes.max(1);
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
    let kept = kept_of(spec);
    RowNeed {
        least,
        most: least.max(tail.saturating_add(expected).saturating_add(kept)),
        tail,
        kept,
    }
}

/// What is kept for what is stored of a row.
pub(super) fn kept_of(spec: &Spec) -> u64 {
    let intervals = if spec.commits.is_some() {
        // Nobody knows how long it takes.
        60
    } else {
        spec.time
            .0
            .div_ceil(spec.interval().0.max(1))
            .saturating_add(2)
    };
    KEEP_ROW_BYTES.saturating_add(intervals.saturating_mul(KEEP_INTERVAL_BYTES))
}

/// What one transaction's redo takes on the device at most, padding included.
pub(super) fn transaction_bytes(spec: &Spec, log: &LogPlan, events: bool) -> u64 {
    let records = u64::from(spec.workload.records.max(1));
    let redo = u64::from(spec.workload.redo_bytes);
    let redo = redo + records * redo::format::RECORD_HEADER_BYTES as u64;
    let block = u64::from(log.shape.block_bytes.unwrap_or(512));
    // Where the block size is the device's, the worse of the two.
    let with = |block: u64| redo.div_ceil(block - BLOCK_HEADER_BYTES) * block;
    let blocks = match log.shape.block_bytes {
        Some(bytes) => with(u64::from(bytes)),
        None => with(block).max(with(4096)),
    };
    // A trigger may write in the middle of a transaction; each batch has its padding.
    let third = log.triggers.third.then_some(buffer_bytes(log) / 3);
    let bytes = log.triggers.bytes.map(u64::from);
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

/// A log buffer holds no more than one log file does. The buffers of all logs.
fn buffer_bytes(log: &LogPlan) -> u64 {
    let one = (log.buffer_bytes as u64).min(log.shape.file_bytes);
    one.saturating_mul(u64::from(log.nodes.max(1)))
}

fn depth(log: &LogPlan) -> u64 {
    u64::from(log.log_writer.workers().unwrap_or(log.io_depth).max(1))
}

fn largest_write(spec: &Spec, log: &LogPlan) -> u64 {
    let begun = u64::from(spec.jobs).saturating_mul(transaction_bytes(spec, log, false));
    match spec.workload.commit.wait {
        CommitWait::Wait => begun.min(buffer_bytes(log)),
        CommitWait::Nowait => buffer_bytes(log),
    }
}

/// Divides `room` among the rows by the rule above; `None` for a row that is left out.
pub(crate) fn shares(needs: &[RowNeed], room: u64) -> Vec<Option<u64>> {
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
fn divided(needs: &[RowNeed], out: &[bool], room: u64) -> Vec<u64> {
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
