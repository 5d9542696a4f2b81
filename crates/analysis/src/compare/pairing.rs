//! Which rows belong together, and why others do not.
//!
//! Rows are comparable when workload and number of jobs are equal; what else differs between the
//! runs is said, since it may explain what is found.

use measure::comparison::NotCompared;
use measure::run::Run;

/// Places of two rows that are comparable: in the base and in the other.
pub(super) type Pair = (usize, usize);

/// Pairs of rows, and what has no partner.
pub(super) fn rows(base: &Run, other: &Run, run_b: usize) -> (Vec<Pair>, Vec<NotCompared>) {
    let mut taken = vec![false; other.rows.len()];
    let (mut pairs, mut lone) = (Vec::new(), Vec::new());
    let told = |what: String, why: String| NotCompared { run_b, what, why };
    for (a, row) in base.rows.iter().enumerate() {
        let free = other.rows.iter().enumerate().filter(|(b, _)| !taken[*b]);
        let found = free
            .filter(|(_, r)| r.workload == row.workload && r.jobs == row.jobs)
            .filter(|(_, r)| r.nodes == row.nodes)
            .map(|(b, r)| (b, apart(row, r)))
            .filter(|(_, apart)| *apart <= SIZES_APART)
            .min_by(|x, y| x.1.total_cmp(&y.1));
        match found.map(|(b, _)| b) {
            Some(b) => {
                taken[b] = true;
                pairs.push((a, b));
            }
            None => {
                let same = other.rows.iter().any(|r| r.workload == row.workload);
                let why = if same {
                    "the other run has this workload with other numbers of jobs, or other sizes"
                } else {
                    "the other run has no row of this workload"
                };
                lone.push(told(format!("{} of the base", name(row)), why.to_owned()));
            }
        }
    }
    for (row, _) in other.rows.iter().zip(&taken).filter(|(_, taken)| !**taken) {
        let why = "the base has no such row".to_owned();
        lone.push(told(name(row), why));
    }
    lone.extend(
        whole(base, other)
            .into_iter()
            .map(|(what, why)| told(what, why)),
    );
    (pairs, lone)
}

/// How far apart the redo of a transaction may be in rows of a size-sweep, share of the base's.
const SIZES_APART: f64 = 0.02;

/// How far apart the redo of a transaction is; of other workloads than size-sweep it is fixed, and
/// what is measured of it varies a little with the moment of its end.
fn apart(a: &measure::run::Row, b: &measure::run::Row) -> f64 {
    let (a, b) = match a.workload == measure::workload::SIZE_SWEEP {
        true => (a.redo_data_kb_per_txn, b.redo_data_kb_per_txn),
        false => return 0.0,
    };
    let share = (b / a - 1.0).abs();
    if share.is_finite() { share } else { 0.0 }
}

/// A row's name in messages.
pub(super) fn name(row: &measure::run::Row) -> String {
    match row.jobs {
        0 => row.workload.clone(),
        n => format!("{}, {}", row.workload, crate::format::jobs(n)),
    }
}

/// What differs between the runs as such.
fn whole(base: &Run, other: &Run) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut differ = |what: &str, a: String, b: String| {
        if a != b {
            let why = format!("{a} in the base, {b} here: a difference may be due to it");
            found.push((what.to_owned(), why));
        }
    };
    let origin = |r: &Run| format!("{:?}", r.origin).to_lowercase();
    differ("origin", origin(base), origin(other));
    let w = |r: &Run| r.workload.clone();
    let (a, b) = (w(base), w(other));
    differ("log writer", shown(&a.log_writer), shown(&b.log_writer));
    differ("commit API", shown(&a.commit_api), shown(&b.commit_api));
    differ(
        "log file sync mode",
        shown(&a.log_file_sync),
        shown(&b.log_file_sync),
    );
    differ(
        "flush triggers",
        shown(&a.flush_triggers),
        shown(&b.flush_triggers),
    );
    differ(
        "CPU work before each commit",
        format!("{} µs", a.cpu_per_txn_us),
        format!("{} µs", b.cpu_per_txn_us),
    );
    let arrivals = |w: &measure::run::WorkloadInfo| match &w.arrivals {
        Some(arrivals) => format!("an open loop ({arrivals:?})"),
        None => "a closed loop".to_owned(),
    };
    differ("arrivals", arrivals(&a), arrivals(&b));
    let time = |t: Option<f64>| t.map_or("counted commits".to_owned(), |s| format!("{s} s"));
    differ("measured time", time(a.time_s), time(b.time_s));
    let sync = |r: &Run| shown(&r.target.sync_method);
    differ("sync method", sync(base), sync(other));
    let size = |r: &Run| format!("{} bytes", r.target.redo_block_bytes);
    differ("redo block size", size(base), size(other));
    let cpu = |r: &Run| shown(&r.environment.cpu_model);
    differ("processor", cpu(base), cpu(other));
    found
}

fn shown(text: &str) -> String {
    if text.is_empty() {
        "unknown".to_owned()
    } else {
        text.to_owned()
    }
}
