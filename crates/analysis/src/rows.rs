//! Selecting rows of a run: those of a workload, those whose sessions waited, and the workload that
//! commit rates are judged by. Findings, envelope, verdict and report select alike.
//!
//! What it must not know: what a row means.

use crate::findings::evidence::view::{Line, lines};
use crate::format;
use measure::WaitEvent;
use measure::run::{Origin, Row, Run, WaitStats};
use measure::units::MB_BYTES;
use measure::workload::{CommitWait, Workload};

/// Rows whose sessions waited for their redo: those that recorded log file sync.
pub(crate) fn waiting_rows(run: &Run) -> impl Iterator<Item = &Row> {
    run.rows
        .iter()
        .filter(|r| sync_of(r).is_some_and(|w| w.count > 0))
}

/// Log file sync of a row.
pub(crate) fn sync_of(row: &Row) -> Option<&WaitStats> {
    row.wait(WaitEvent::LogFileSync)
}

/// What the sessions of a row waited for when they committed: log file sync, or the commit latency
/// where nobody records any wait, as of a server. `None` where none is known.
pub(crate) fn commit_wait_of(row: &Row) -> Option<&WaitStats> {
    let latency = || row.commit_latency.as_ref().filter(|_| row.waits.is_empty());
    sync_of(row).or_else(latency).filter(|wait| wait.count > 0)
}

/// Log file parallel write of a row.
pub(crate) fn write_of(row: &Row) -> Option<&WaitStats> {
    row.wait(WaitEvent::LogFileParallelWrite)
}

/// Names of the workloads in the order of their first row.
pub(crate) fn workloads(run: &Run) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in &run.rows {
        if !names.contains(&row.workload.as_str()) {
            names.push(&row.workload);
        }
    }
    names
}

/// Rows of a workload in ascending number of jobs.
pub(crate) fn rows_of<'a>(run: &'a Run, workload: &str) -> Vec<&'a Row> {
    let mut rows: Vec<&Row> = run.rows.iter().filter(|r| r.workload == workload).collect();
    rows.sort_by_key(|r| r.jobs);
    rows
}

/// Rows of the summaries of pgbench, for sweeps and comparisons: a transaction is a commit, except
/// where only is read. Scale and query mode are in the workload's name, so that only like is beside
/// like. Their latency is that of whole transactions, and no wait for the log.
#[must_use]
pub(crate) fn of_pgbench(run: &Run) -> Vec<Row> {
    let tables = run.imported.iter().flat_map(|i| &i.tables);
    let lines = tables.filter(|table| table.id == "pgbench").flat_map(lines);
    let row = |line: Line<'_>| {
        let script = line.text("transaction_type");
        let scale = line.number("scale").map(|n| format!(", scale {n}"));
        let mode = Some(line.text("query_mode")).filter(|mode| !mode.is_empty());
        let mode = mode.map(|mode| format!(", {mode}"));
        let more: String = scale.into_iter().chain(mode).collect();
        let rate = line.number("tps").or(line.number("tps_with_connecting"))?;
        (!script.contains("select only")).then(|| Row {
            workload: format!("pgbench {script}{more}"),
            nodes: 1,
            // Casts saturate.
            jobs: line.number("clients").unwrap_or(0.0) as u32,
            commit_throughput_tps: Some(rate),
            ..Row::default()
        })
    };
    lines.filter_map(row).collect()
}

/// The row with the highest rate of redo, and that rate in MB (1024 kB) per second.
pub(crate) fn fastest(run: &Run) -> Option<(&Row, f64)> {
    let rates = run.rows.iter();
    rates
        .filter_map(|row| Some((row, redo_mbps(row)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// MB (1024 kB) of redo per second: of a server, the growth of its log for each commit.
pub(crate) fn redo_mbps(row: &Row) -> Option<f64> {
    let of_server = || {
        let each = row.server().redo_per_commit_bytes?;
        Some(each * row.commit_throughput_tps? / MB_BYTES)
    };
    row.redo().redo_data_mbps.or_else(of_server)
}

/// The workload that commit rates are judged by: the smallest transactions of study 003.
pub(crate) const COMMITS: &str = "LGWR-LAT1";

/// The rows that commit rates are judged by, in ascending number of jobs: of a run of one other
/// workload for which a need was stated, those of that workload.
pub(crate) fn judged_rows(run: &Run) -> Vec<&Row> {
    let rows = rows_of(run, COMMITS);
    match run.rows.split_first() {
        Some((first, others))
            if rows.is_empty()
                && run.need.is_stated()
                && others.iter().all(|row| row.workload == first.workload) =>
        {
            rows_of(run, &first.workload)
        }
        _ => rows,
    }
}

/// Whether a row's transactions wait: by what was recorded, else by the workload's definition.
pub(crate) fn waits(row: &Row) -> bool {
    match sync_of(row) {
        Some(stats) => stats.count > 0,
        None => Workload::by_name(&row.workload).is_none_or(|w| w.commit.wait == CommitWait::Wait),
    }
}

/// Whether the rows of a run are of numbers of jobs: evidence and a log that was watched have none,
/// unless a sweep was published.
#[must_use]
pub fn has_jobs(run: &Run) -> bool {
    let is_of_others = matches!(run.origin, Origin::Imported | Origin::Watched);
    !is_of_others || run.rows.iter().any(|row| row.jobs > 1)
}

/// `LGWR-LAT1 with 8 jobs`; the name alone for a process of a trace, a report and a log that was
/// watched, which have no jobs.
pub(crate) fn name_of(row: &Row) -> String {
    let is_measured = row.commits.is_some() && row.commit_throughput_tps.is_some();
    if row.watched.is_some() || row.jobs == 0 || (row.jobs == 1 && !is_measured) {
        return row.workload.clone();
    }
    format!("{} with {}", row.workload, format::jobs(row.jobs))
}
