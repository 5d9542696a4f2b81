//! The soak of `check` and the short rows right behind it, which show what is left when burst
//! credits are spent: whether more sessions still get more, and of what.
//!
//! Invariant: a soak and its rows have names of their own, since their sessions, rates and times
//! are not those of the ladder.

use super::CommandError;
use super::loads::{LoadArgs, OPEN_JOBS, SOAK_JOBS};
use crate::experiment::plan::{ExperimentPlan, PlannedTarget};
use crate::experiment::row::Spec;
use measure::Nanos;
use measure::workload::{AFTER_SOAK, AFTER_SOAK_REDO, SOAK, Workload};

/// Sessions of the second row behind a soak, as a multiple of the soak's.
const MORE_SESSIONS: u32 = 4;
/// Part of a soak's time that each row behind it takes, and its shortest and longest time.
const PART: u64 = 20;
const SHORTEST: Nanos = Nanos::from_secs(2);
const LONGEST: Nanos = Nanos::from_secs(60);
/// Jobs of the row that writes as much redo as it can.
const REDO_JOBS: u32 = 2;

/// The soak, if one was asked for.
///
/// # Errors
/// A rate without a soak, or one that makes too few commits.
pub(super) fn row(load: &LoadArgs, warmup: Nanos) -> Result<Option<Spec>, CommandError> {
    let Some(time) = load.soak else {
        return match load.rate {
            None => Ok(None),
            Some(_) => Err(CommandError::usage(
                "--rate: check measures how much the device can do, in closed loops; use --rate \
                 with --soak, or with redolab run",
            )),
        };
    };
    let arrivals = load.arrivals(time)?;
    let jobs = arrivals.map_or(SOAK_JOBS, |_| OPEN_JOBS);
    let workload = Workload {
        name: SOAK.to_owned(),
        ..Workload::standard().swap_remove(0)
    };
    Ok(Some(Spec {
        arrivals,
        soak: true,
        ..Spec::closed(workload, jobs, time, warmup)
    }))
}

/// Adds the rows behind a soak in a closed loop on a log of redolab's own: its transactions with
/// its sessions and with four times as many; where a rate of redo is needed, also large
/// transactions. Of other targets no log writes are observed: these rows would show nothing.
pub(super) fn add_rows_behind(plan: &mut ExperimentPlan) {
    let is_own_log = matches!(plan.target, PlannedTarget::Path { .. });
    let rows = &mut plan.measured.rows;
    let soak = rows.last().filter(|row| row.soak && row.arrivals.is_none());
    let Some(soak) = soak.filter(|_| is_own_log).cloned() else {
        return;
    };
    let time = Nanos((soak.time.0 / PART).clamp(SHORTEST.0, LONGEST.0));
    let behind = |workload: Workload, jobs: u32| Spec {
        workload,
        jobs,
        time,
        soak: false,
        ..soak.clone()
    };
    for jobs in [soak.jobs, soak.jobs * MORE_SESSIONS] {
        let workload = Workload {
            name: AFTER_SOAK.to_owned(),
            ..soak.workload.clone()
        };
        rows.push(behind(workload, jobs));
    }
    if plan.measured.judgement.need.redo_bytes_per_s.is_some() {
        let workload = Workload {
            name: AFTER_SOAK_REDO.to_owned(),
            ..Workload::standard().swap_remove(3)
        };
        rows.push(behind(workload, REDO_JOBS * plan.measured.log.nodes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::plan::MeasurementPlan;
    use measure::workload::arrivals::{Arrivals, Process};
    use std::path::PathBuf;

    fn soak(time: Nanos) -> Spec {
        let workload = Workload::standard().swap_remove(0);
        Spec {
            soak: true,
            ..Spec::closed(workload, SOAK_JOBS, time, Nanos::from_secs(1))
        }
    }

    /// What is added behind a row of the ladder and this soak.
    fn added(soak: Spec, redo: Option<f64>, target: PlannedTarget) -> Vec<Spec> {
        let ladder = Spec {
            soak: false,
            ..soak.clone()
        };
        let mut plan = ExperimentPlan {
            target,
            measured: MeasurementPlan {
                rows: vec![ladder, soak],
                ..MeasurementPlan::default()
            },
        };
        plan.measured.judgement.need.redo_bytes_per_s = redo;
        add_rows_behind(&mut plan);
        plan.measured.rows.split_off(2)
    }

    fn place() -> PlannedTarget {
        PlannedTarget::Path {
            path: PathBuf::from("/u02"),
            destroy: None,
            more: Vec::new(),
        }
    }

    #[test]
    fn short_rows_run_behind_a_soak_with_its_sessions_and_with_more() {
        for (soak_s, each_s) in [(2, 2.0), (100, 5.0), (2_700, 60.0)] {
            let rows = added(soak(Nanos::from_secs(soak_s)), None, place());
            let shown: Vec<(&str, u32, f64, bool)> = rows
                .iter()
                .map(|r| (r.workload.name.as_str(), r.jobs, r.time.as_secs(), r.soak))
                .collect();
            let wanted = [8, 32].map(|jobs| ("after-soak", jobs, each_s, false));
            assert_eq!(shown, wanted, "{soak_s}");
        }
        let rows = added(soak(Nanos::from_secs(60)), Some(1e6), place());
        let last = rows.last().expect("rows");
        let name = last.workload.name.as_str();
        assert_eq!((name, last.jobs), ("after-soak-thr", 2));
        assert_eq!(last.workload.commit, Workload::standard()[3].commit);
    }

    #[test]
    fn no_rows_run_where_they_would_show_nothing() {
        let minute = || soak(Nanos::from_secs(60));
        assert_eq!(added(minute(), Some(1e6), PlannedTarget::Null), []);
        let open = Spec {
            arrivals: Arrivals::new(500.0, Process::Constant, None).ok(),
            ..minute()
        };
        assert_eq!(added(open, Some(1e6), place()), []);
        let none = Spec {
            soak: false,
            ..minute()
        };
        assert_eq!(added(none, Some(1e6), place()), []);
    }
}
