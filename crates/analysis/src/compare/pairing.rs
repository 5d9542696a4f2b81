//! Which rows belong together, and why others do not.
//!
//! Rows are comparable when workload and number of jobs are equal; what else differs between the
//! runs is said, since it may explain what is found.

use super::setup;
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
        setup::differences(base, other)
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
    if a.workload != measure::workload::SIZE_SWEEP {
        return 0.0;
    }
    let size = |row: &measure::run::Row| row.redo().redo_data_kb_per_txn;
    let share = size(a).zip(size(b)).map(|(a, b)| (b / a - 1.0).abs());
    share.filter(|share| share.is_finite()).unwrap_or(0.0)
}

/// A row's name in messages.
pub(super) fn name(row: &measure::run::Row) -> String {
    match row.jobs {
        0 => row.workload.clone(),
        n => format!("{}, {}", row.workload, crate::format::jobs(n)),
    }
}
