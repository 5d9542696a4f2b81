//! Bytes per layer of all runs, row by row below each other: what a database adds to what redolab's
//! own log does with the same step.

use super::cells::real;
use super::tables::{self, head, table};
use crate::bytes::{LayerBytes, has_server};
use measure::imported::{Cell, Table};
use measure::run::Run;

/// All tables that the runs have something for, with this one at the end.
pub(super) fn with_tables<'a>(runs: impl Iterator<Item = (&'a str, &'a Run)>) -> Vec<Table> {
    let runs: Vec<(&str, &Run)> = runs.collect();
    let mut all = tables::of(runs.iter().copied());
    all.push(of(&runs));
    all.retain(|table| !table.rows.is_empty());
    all
}

/// The table; without rows where no run is of a server.
fn of(runs: &[(&str, &Run)]) -> Table {
    let mut steps: Vec<(&str, u32)> = Vec::new();
    if runs.iter().any(|(_, run)| has_server(run)) {
        for row in runs.iter().flat_map(|(_, run)| &run.rows) {
            let step = (row.workload.as_str(), row.jobs);
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
    }
    let mut rows = Vec::new();
    for (workload, jobs) in steps {
        for (name, run) in runs {
            let of_step = |r: &&measure::run::Row| r.workload == workload && r.jobs == jobs;
            for row in run.rows.iter().filter(of_step) {
                let Some(bytes) = LayerBytes::of(row) else {
                    continue;
                };
                let mut line = head(name, row);
                line.extend(cells(&bytes));
                rows.push(line);
            }
        }
    }
    let columns = [
        ("redo_per_commit_bytes", "Redo B/commit"),
        ("written_per_commit_bytes", "Written B/commit"),
        ("device_per_commit_bytes", "Whole disk B/commit"),
        ("written_per_redo", "Written/redo"),
        ("device_per_redo", "Whole disk/redo"),
        ("flushes_per_commit", "Flushes/commit"),
        ("device_flushes_per_commit", "Whole disk flushes/commit"),
    ];
    table("compare_bytes", "Bytes per layer", &columns, rows)
}

fn cells(bytes: &LayerBytes) -> [Cell; 7] {
    [
        bytes.per_commit(bytes.redo_bytes),
        bytes.per_commit(bytes.written_bytes),
        bytes.per_commit(bytes.device_bytes),
        bytes.written_per_redo(),
        bytes.device_per_redo(),
        bytes.per_commit(bytes.flushes),
        bytes.per_commit(bytes.device_flushes),
    ]
    .map(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::clean_run;
    use measure::run::ServerFigures;

    #[test]
    fn rows_of_one_step_are_below_each_other() {
        let (own, mut server) = (clean_run(), clean_run());
        assert!(of(&[("own", &own), ("other", &own)]).rows.is_empty());
        for row in &mut server.rows {
            row.server = Some(ServerFigures {
                commits: Some(10),
                redo_lsn_bytes: Some(20_000),
                written_bytes: Some(100_000),
                ..ServerFigures::default()
            });
        }
        let made = of(&[("own", &own), ("pg", &server)]);
        assert_eq!(made.rows.len(), own.rows.len() * 2);
        for pair in made.rows.chunks(2) {
            assert_eq!(pair[0][1..3], pair[1][1..3]);
            assert_eq!(pair[0][0], Cell::Text("own".to_owned()));
            assert_eq!(pair[1][6], Cell::Real(5.0));
            assert_eq!(pair[1][7], Cell::Blank, "the device is not known");
        }
    }
}
