//! Volumes with credits: a soak whose rate fell from a burst to an even level that more sessions do
//! not raise. What it counts, how much it held, and what it sustains.
//!
//! A closed loop shows a bucket only together with the rows behind it, which ask with more
//! sessions: one log write is under way at a time, so that more sessions make larger log writes.
//! A limiter of requests passes as many of them, each with more redo; a limiter of bytes passes as
//! many bytes, and commits wait longer. A medium does neither evenly. An open loop shows a cap by
//! its backlog, but not what is counted. Behind a RAID controller a cache fills instead.

mod words;

use super::disk::has_controller;
use crate::envelope::keeps;
use crate::rows::{commit_wait_of, redo_mbps, sync_of};
use crate::stats::bucket::{BucketCriterion, EmptiedBucket, emptied};
use crate::thresholds::Thresholds;
use measure::run::{Interval, Row, Run};
use measure::units::MB_BYTES;
use measure::workload::{AFTER_SOAK, AFTER_SOAK_REDO};

/// By how much log writes grow at least where requests are counted, and log file sync, as a share
/// of the growth of sessions, where bytes are.
const WRITES_GROW: f64 = 1.2;
const SYNC_GROWS: f64 = 0.5;

/// Per second, or in all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Traffic {
    pub(super) commits: f64,
    pub(super) log_writes: f64,
    /// Bytes of blocks, padding included.
    pub(super) written_bytes: f64,
    pub(super) redo_bytes: f64,
}

impl Traffic {
    /// What passed in `intervals`, per second. `None` where something was not observed.
    fn of(intervals: &[&Interval]) -> Option<Traffic> {
        let mut all = Traffic::default();
        for i in intervals {
            all.commits += i.commits as f64;
            all.log_writes += i.log_writes? as f64;
            all.written_bytes += i.written_bytes? as f64;
            all.redo_bytes += i.redo_bytes? as f64;
        }
        let seconds: f64 = intervals.iter().map(|i| i.seconds).sum();
        (seconds > 0.0).then(|| all.each(|v| v / seconds))
    }

    /// What a whole row passed, per second.
    fn of_row(row: &Row) -> Option<Traffic> {
        let (redo, seconds) = (row.redo(), row.elapsed_s.filter(|s| *s > 0.0)?);
        let redo_bytes = redo.redo_size_bytes? as f64 / seconds;
        Some(Traffic {
            commits: row.commit_throughput_tps?,
            log_writes: redo.redo_writes_iops?,
            written_bytes: redo_bytes + redo.redo_wastage_bytes? as f64 / seconds,
            redo_bytes,
        })
    }

    fn each(self, f: impl Fn(f64) -> f64) -> Traffic {
        Traffic {
            commits: f(self.commits),
            log_writes: f(self.log_writes),
            written_bytes: f(self.written_bytes),
            redo_bytes: f(self.redo_bytes),
        }
    }

    fn of_unit(&self, unit: TokenUnit) -> f64 {
        match unit {
            TokenUnit::Requests => self.log_writes,
            TokenUnit::Bytes => self.written_bytes,
        }
    }
}

/// What a limiter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenUnit {
    Requests,
    Bytes,
}

/// A bucket that a soak drained.
pub(super) struct CreditBucket<'a> {
    pub(super) soak: &'a Row,
    /// What it counts, and the rows with fewest and most sessions that show it; `None` of an open
    /// loop.
    pub(super) counts: Option<(TokenUnit, [&'a Row; 2])>,
    /// Seconds after the soak's start.
    pub(super) emptied_at_s: f64,
    pub(super) burst: Traffic,
    pub(super) sustained: Traffic,
    /// How evenly the level was held, percent.
    pub(super) spread_pct: f64,
    /// What the burst drained.
    pub(super) drained: Traffic,
    /// Seconds of the soak after the bucket was empty.
    level: Vec<&'a Interval>,
    /// Rows right behind the soak.
    after: Vec<&'a Row>,
}

/// The bucket that the longest soak of `run` drained; `None` where none was seen.
pub(super) fn of<'a>(run: &'a Run, t: &Thresholds) -> Option<CreditBucket<'a>> {
    if has_controller(&run.target.stack) {
        return None;
    }
    let least = Some(t.steady_min_s.value);
    let soaks = run.rows.iter().enumerate();
    let soaks = soaks.filter(|(_, row)| row.soak && row.elapsed_s >= least);
    let (at, soak) = soaks.max_by(|a, b| {
        a.1.elapsed_s
            .partial_cmp(&b.1.elapsed_s)
            .unwrap_or(std::cmp::Ordering::Equal)
    })?;
    let behind = run.rows.iter().skip(at + 1);
    let names = [AFTER_SOAK, AFTER_SOAK_REDO];
    let after = behind.filter(|row| names.contains(&row.workload.as_str()));
    let after: Vec<&Row> = after.collect();
    if let Some(open) = soak.open_loop.as_ref() {
        let offered = open.offered_tps?;
        let mut units = [TokenUnit::Requests, TokenUnit::Bytes].into_iter();
        let bucket = units.find_map(|unit| read(soak, unit, t))?;
        let falls_behind = bucket.sustained.commits < offered && backlog_grows(&bucket.level);
        return falls_behind.then_some(bucket);
    }
    let (unit, pair) = unit(soak, &after, t)?;
    let bucket = read(soak, unit, t)?;
    let holds = [pair[0], pair[1]].into_iter().all(|row| {
        let now = Traffic::of_row(row).map(|traffic| traffic.of_unit(unit));
        now.is_some_and(|now| is_same(now, bucket.sustained.of_unit(unit), t))
    });
    holds.then_some(CreditBucket {
        counts: Some((unit, pair)),
        after,
        ..bucket
    })
}

/// Two figures differ by no more than a limiter allows.
fn is_same(a: f64, b: f64, t: &Thresholds) -> bool {
    b > 0.0 && 100.0 * (a / b - 1.0).abs() <= t.bucket_depth_pct.value
}

/// What stays while more sessions ask for more, and the two rows that show it.
fn unit<'a>(soak: &Row, after: &[&'a Row], t: &Thresholds) -> Option<(TokenUnit, [&'a Row; 2])> {
    let rows = || after.iter().filter(|row| row.workload == AFTER_SOAK);
    let few = *rows().find(|row| row.jobs == soak.jobs)?;
    let many = *rows()
        .max_by_key(|row| row.jobs)
        .filter(|row| row.jobs > few.jobs)?;
    let (base, deep) = (Traffic::of_row(few)?, Traffic::of_row(many)?);
    let write = |traffic: Traffic| traffic.written_bytes / traffic.log_writes;
    let sync = |row: &Row| sync_of(row).map(|w| w.mean_ns);
    let sessions = f64::from(many.jobs) / f64::from(few.jobs.max(1));
    let requests =
        is_same(deep.log_writes, base.log_writes, t) && write(deep) >= WRITES_GROW * write(base);
    let bytes = is_same(deep.written_bytes, base.written_bytes, t)
        && sync(many)? >= SYNC_GROWS * sessions * sync(few)?;
    let unit = match (requests, bytes) {
        (true, _) => TokenUnit::Requests,
        (false, true) => TokenUnit::Bytes,
        (false, false) => return None,
    };
    Some((unit, [few, many]))
}

/// What the intervals of a soak show of a limiter of `unit`.
fn read<'a>(soak: &'a Row, unit: TokenUnit, t: &Thresholds) -> Option<CreditBucket<'a>> {
    let whole: Vec<&Interval> = soak.intervals.iter().filter(|i| i.seconds > 0.5).collect();
    let rate = |i: &&Interval| Some(Traffic::of(&[*i])?.of_unit(unit));
    let rates = whole.iter().map(rate).collect::<Option<Vec<f64>>>()?;
    let lengths: Vec<f64> = whole.iter().map(|i| i.seconds).collect();
    let criterion = BucketCriterion {
        fall: t.step_pct.value / 100.0,
        even: t.cap_flat_pct.value / 100.0,
    };
    let found: EmptiedBucket = emptied(&rates, &lengths, &criterion).ok().flatten()?;
    let (before, level) = (whole.get(..found.from)?, whole.get(found.from..)?);
    // The two intervals before may be partly burst and partly not.
    let burst = Traffic::of(before.get(..before.len().checked_sub(2)?)?)?;
    let (sustained, all) = (Traffic::of(level)?, Traffic::of(before)?);
    let seconds: f64 = lengths.iter().take(found.from).sum();
    Some(CreditBucket {
        soak,
        counts: None,
        emptied_at_s: found.emptied_at,
        burst,
        sustained,
        spread_pct: 100.0 * found.spread,
        drained: Traffic {
            commits: (all.commits - sustained.commits) * seconds,
            log_writes: (all.log_writes - sustained.log_writes) * seconds,
            written_bytes: (all.written_bytes - sustained.written_bytes) * seconds,
            redo_bytes: (all.redo_bytes - sustained.redo_bytes) * seconds,
        },
        level: level.to_vec(),
        after: Vec::new(),
    })
}

/// The backlog is longer in each third of the level than in the one before.
fn backlog_grows(level: &[&Interval]) -> bool {
    let last = |part: &[&Interval]| part.last().and_then(|i| i.backlog);
    let parts: Vec<Option<u64>> = level
        .chunks(level.len().div_ceil(3).max(1))
        .map(last)
        .collect();
    parts.len() == 3 && parts.iter().all(Option::is_some) && parts.is_sorted_by(|a, b| a < b)
}

impl CreditBucket<'_> {
    /// Commits per second of the small transactions, and the sessions, that were sustained within a
    /// bound on the 99th percentile of log file sync.
    pub(super) fn best_commits(&self, bound_ns: Option<u64>) -> Option<(f64, u32)> {
        let rows = self
            .waiting()
            .filter(|r| bound_ns.is_none_or(|b| keeps(r, b) == Some(true)));
        let rows = rows.filter_map(|r| Some((r.commit_throughput_tps?, r.jobs)));
        let kept = |b: u64| self.p99_ns().is_some_and(|p99| p99 <= b);
        let level = (self.after.is_empty() && bound_ns.is_none_or(kept))
            .then_some((self.sustained.commits, self.soak.jobs));
        rows.chain(level).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Whether some load after the burst may have kept a bound, and too few of its waits are known.
    pub(super) fn is_open(&self, bound_ns: u64) -> bool {
        match self.after.is_empty() {
            true => self.p99_ns().is_none(),
            false => self.waiting().any(|r| keeps(r, bound_ns).is_none()),
        }
    }

    /// The lowest 99th percentile of log file sync that was sustained. Of an open loop without rows
    /// behind it, the highest of any second: that of all seconds is at most as high.
    pub(super) fn p99_ns(&self) -> Option<u64> {
        let of_rows = self
            .waiting()
            .filter_map(|r| commit_wait_of(r)?.p99_ns)
            .min();
        let of_level = || {
            let seconds = self.level.iter().map(|i| i.log_file_sync_p99_ns);
            seconds.collect::<Option<Vec<u64>>>()?.into_iter().max()
        };
        match self.after.is_empty() {
            true => of_level(),
            false => of_rows,
        }
    }

    /// Bytes of redo per second at most that were sustained, and what wrote them.
    pub(super) fn redo(&self) -> (f64, &Row) {
        let rows = self.after.iter();
        let best = rows
            .filter_map(|r| Some((redo_mbps(r)? * MB_BYTES, *r)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        best.unwrap_or((self.sustained.redo_bytes, self.soak))
    }

    /// Rows behind the soak whose sessions waited.
    fn waiting(&self) -> impl Iterator<Item = &Row> {
        let waited = |row: &&Row| row.workload == AFTER_SOAK && commit_wait_of(row).is_some();
        self.after.iter().copied().filter(waited)
    }
}

#[cfg(test)]
mod tests;
