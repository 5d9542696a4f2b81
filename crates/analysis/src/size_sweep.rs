//! Where a size sweep breaks (study 002): the size of a transaction's redo above which the log
//! writer wrote some of it before the commit requested it.
//!
//! Invariants: a break is judged by counts, not by latencies. A commit requests one log write, so
//! log writes beyond the commits were written without a request. Where log writes or commits were
//! not counted, whether a line breaks is not known. Terminal and report print the same sentence.

use crate::format;
use crate::rows::sync_of;
use measure::run::{Row, Run, SizeSweep};
use measure::workload::SIZE_SWEEP;

/// Log writes beyond the commits, as a share of these, from which redo was written before them. At
/// the flush threshold itself the log writer is early now and then (one commit in eight on the null
/// device), above it at two commits in three.
const EARLY: f64 = 0.35;
/// Log writes beyond the commits that are counted at least: the ends of a row explain fewer.
const EARLY_WRITES: f64 = 3.0;

/// Whether the log writer wrote redo before commits requested it, at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counted {
    redo_bytes: u64,
    writes_per_commit: f64,
    is_early: bool,
}

/// What the counts of a line show.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeBreak {
    /// Between these two sizes, with the log writes per commit of both.
    Between([(u64, f64); 2]),
    /// At every size that was run redo was written early, the smallest included.
    Below(u64, f64),
    /// At no size up to this one.
    None(u64),
    /// Some size has too few commits, or log writes were not counted.
    Unknown,
}

/// The break of the rows of a sweep with that many jobs.
#[must_use]
pub fn of_jobs(run: &Run, jobs: u32) -> SizeBreak {
    let rows = run.rows.iter();
    let rows = rows.filter(|r| r.workload == SIZE_SWEEP && r.jobs == jobs);
    let counted: Option<Vec<Counted>> = rows.map(counted).collect();
    let Some(mut points) = counted else {
        return SizeBreak::Unknown;
    };
    points.sort_by_key(|p| p.redo_bytes);
    let Some((first, last)) = points.first().zip(points.last()) else {
        return SizeBreak::Unknown;
    };
    // Above the break redo is written early at every size.
    let from = points
        .iter()
        .rposition(|p| !p.is_early)
        .map_or(0, |at| at + 1);
    let at = |p: &Counted| (p.redo_bytes, p.writes_per_commit);
    match (
        from.checked_sub(1).and_then(|b| points.get(b)),
        points.get(from),
    ) {
        (Some(before), Some(after)) => SizeBreak::Between([at(before), at(after)]),
        (None, Some(_)) => SizeBreak::Below(first.redo_bytes, first.writes_per_commit),
        (_, None) => SizeBreak::None(last.redo_bytes),
    }
}

fn counted(row: &Row) -> Option<Counted> {
    let seconds = row.elapsed_s.filter(|s| *s > 0.0)?;
    let commits = row.commits.filter(|n| *n > 0)? as f64;
    let writes = row.redo().redo_writes_iops? * seconds;
    let early = writes - commits;
    Some(Counted {
        redo_bytes: row.redo_bytes_per_txn?,
        writes_per_commit: writes / commits,
        is_early: early >= EARLY * commits && early >= EARLY_WRITES,
    })
}

/// The numbers of jobs of a sweep's rows, ascending.
#[must_use]
pub fn jobs(run: &Run) -> Vec<u32> {
    let rows = run.rows.iter().filter(|r| r.workload == SIZE_SWEEP);
    let mut jobs: Vec<u32> = rows
        .filter(|r| sync_of(r).is_some())
        .map(|r| r.jobs)
        .collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs
}

/// What the counts of a sweep show, a sentence for each number of jobs; empty for other runs.
#[must_use]
pub fn sentences(run: &Run) -> Vec<String> {
    let facts = run
        .workload
        .redo()
        .and_then(|redo| redo.size_sweep.as_ref());
    let all = jobs(run);
    let several = all.len() > 1;
    let each = all.into_iter().map(|jobs| {
        let text = sentence(&of_jobs(run, jobs), facts);
        match several {
            true => format!("With {}: {text}", format::jobs(jobs)),
            false => text,
        }
    });
    each.collect()
}

fn sentence(found: &SizeBreak, facts: Option<&SizeSweep>) -> String {
    let per_commit = |n: f64| format!("{} log writes per commit", format::digits(n));
    match found {
        SizeBreak::Between([(below, few), (above, many)]) => {
            let triggers = facts.map(triggers).unwrap_or_default();
            format!(
                "The line breaks between {} and {} of redo: {} below, {} above, because redo was \
                 written before the commit requested it{triggers}.",
                format::bytes(*below),
                format::bytes(*above),
                per_commit(*few),
                format::digits(*many),
            )
        }
        SizeBreak::Below(size, many) => format!(
            "Redo was written before the commit requested it at every size, the smallest of {} \
             included ({}): a break can only be below it.",
            format::bytes(*size),
            per_commit(*many)
        ),
        SizeBreak::None(size) => format!(
            "No break was found: up to {} of redo, no more log writes than commits were counted.",
            format::bytes(*size)
        ),
        SizeBreak::Unknown => {
            "Whether the line breaks is not known: log writes or commits were not counted at \
             every size."
                .to_owned()
        }
    }
}

/// What makes the log writer write without a commit.
fn triggers(facts: &SizeSweep) -> String {
    let all = [
        ("the flush threshold", facts.flush_threshold_bytes),
        ("a third of the log buffer", facts.buffer_third_bytes),
    ];
    let known = all
        .into_iter()
        .filter_map(|(name, bytes)| Some((name, bytes?)));
    let text = known.map(|(name, bytes)| format!("; {name} is {}", format::bytes(bytes)));
    text.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::{clean_run, set_sync};

    /// Rows of these sizes in KiB with so many log writes and commits.
    fn sweep(points: &[(u64, f64, u64)]) -> Run {
        let mut run = clean_run();
        let template = run.rows[0].clone();
        let row = |(kib, writes, commits): &(u64, f64, u64)| {
            let mut row = template.clone();
            (row.workload, row.jobs) = (SIZE_SWEEP.to_owned(), 1);
            (row.commits, row.elapsed_s) = (Some(*commits), Some(2.0));
            row.redo_bytes_per_txn = Some(kib << 10);
            let redo = row.redo.get_or_insert_default();
            redo.redo_writes_iops = Some(writes / 2.0);
            set_sync(&mut row, |w| w.count = *commits);
            row
        };
        run.rows = points.iter().map(row).collect();
        run
    }

    #[test]
    fn a_break_is_where_more_log_writes_than_commits_begin() {
        // 0.99 commits per write at 1 MiB and 0.56 to 0.61 above, as they were counted live.
        let broken = sweep(&[
            (64, 301.0, 300),
            (1024, 303.0, 300),
            (1126, 164.0, 100),
            (2048, 178.0, 100),
            (4096, 90.0, 50),
        ]);
        let SizeBreak::Between([(below, few), (above, many)]) = of_jobs(&broken, 1) else {
            panic!("{:?}", of_jobs(&broken, 1));
        };
        assert_eq!((below, above), (1 << 20, 1126 << 10));
        assert!((few - 1.01).abs() < 1e-9 && (many - 1.64).abs() < 1e-9);
        let said = sentences(&broken);
        assert!(said[0].contains("between 1 MiB and 1.10 MiB"), "{said:?}");
        // The order of the rows is that of the run.
        let mut turned = broken.clone();
        turned.rows.reverse();
        assert_eq!(of_jobs(&turned, 1), of_jobs(&broken, 1));
    }

    #[test]
    fn there_is_no_break_where_commits_request_all_writes() {
        let none = sweep(&[(1, 990.0, 1000), (512, 301.0, 300), (1024, 12.0, 10)]);
        assert_eq!(of_jobs(&none, 1), SizeBreak::None(1 << 20));
        // One write at each end of a short row is not a break.
        let short = sweep(&[(1, 1000.0, 1000), (1024, 7.0, 5)]);
        assert_eq!(of_jobs(&short, 1), SizeBreak::None(1 << 20));
        let early = sweep(&[(2048, 180.0, 100), (4096, 190.0, 100)]);
        assert_eq!(of_jobs(&early, 1), SizeBreak::Below(2 << 20, 1.8));
    }

    #[test]
    fn what_was_not_counted_is_not_judged() {
        let mut run = sweep(&[(512, 300.0, 300), (2048, 180.0, 100)]);
        run.rows[1].redo.get_or_insert_default().redo_writes_iops = None;
        assert_eq!(of_jobs(&run, 1), SizeBreak::Unknown);
        assert!(sentences(&run)[0].contains("not known"));
        assert_eq!(sentences(&clean_run()), Vec::<String>::new());
    }
}
