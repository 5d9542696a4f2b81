//! Shares of `--max-write`: what each row gets, and what is left out where it does not suffice.

use super::needs::{need, transaction_bytes};
use super::*;
use crate::experiment::judge::doubt::least_commits;
use measure::Nanos;
use measure::workload::Workload;

const MIB: u64 = 1 << 20;

fn bounds(least: u64, most: u64) -> RowNeed {
    RowNeed {
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
            vec![bounds(1, 100), bounds(1, 100)],
            60,
            vec![Some(30), Some(30)],
        ),
        (
            vec![bounds(1, 10), bounds(1, 100)],
            60,
            vec![Some(10), Some(50)],
        ),
        (
            vec![bounds(40, 100), bounds(1, 100)],
            60,
            vec![None, Some(60)],
        ),
        (vec![bounds(70, 100), bounds(61, 100)], 60, vec![None, None]),
        (
            vec![bounds(20, 25), bounds(25, 90), bounds(30, 90)],
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

fn wanted<'a>(specs: &'a [Spec], log: &'a LogPlan, limit: u64) -> Wanted<'a> {
    Wanted {
        limit: Some(limit),
        specs,
        log,
        files: log.footprint_bytes(),
        method: Some(SyncMethod::Direct),
        logs: 1,
        servers: ServersToMake::default(),
        times: 1,
        floor_files: None,
        raw: false,
        events: false,
    }
}

#[test]
fn the_smallest_limit_that_is_named_works() {
    let mut log = LogPlan::default();
    log.shape.file_bytes = 8 * MIB;
    for workload in Workload::standard() {
        for (jobs, times, logs) in [(1, 1, 1), (64, 1, 1), (8, 6, 2)] {
            let time = Nanos::from_secs(10);
            let specs = [Spec::closed(workload.clone(), jobs, time, time)];
            let with = |limit| Wanted {
                times,
                logs,
                ..wanted(&specs, &log, limit)
            };
            let refused = plan(&with(MIB)).expect_err("too small").to_string();
            let named = refused.split("works here is --max-write ").nth(1);
            let named = named.and_then(|text| text.split_once("M:")?.0.parse::<u64>().ok());
            let named = named.expect(&refused) * MIB;
            assert!(plan(&with(named - MIB)).is_err(), "{refused}");
            let planned = plan(&with(named)).expect("what is named works");
            assert!(
                planned.lines.iter().any(|l| l.contains("ends at")),
                "{refused}"
            );
        }
    }
}

#[test]
fn a_plan_that_cannot_be_counted_is_refused() {
    let log = LogPlan::default();
    let time = Nanos::from_secs(1);
    let specs = [Spec::closed(Workload::storm(), 8, time, time)];
    for (times, logs) in [(1 << 48, 1), (u64::MAX, 1), (1, u64::MAX)] {
        let wanted = Wanted {
            times,
            logs,
            ..wanted(&specs, &log, u64::MAX)
        };
        let problem = plan(&wanted).expect_err("more than any limit").to_string();
        assert!(problem.contains("more than 2^64 bytes"), "{problem}");
    }
}

/// Whatever a row is given, its measured part holds the commits that its figures need.
#[test]
fn a_row_that_is_run_has_room_for_enough_commits() {
    let log = LogPlan::default();
    for workload in Workload::standard() {
        for jobs in [1, 4, 64] {
            let time = Nanos::from_secs(10);
            let spec = Spec::closed(workload.clone(), jobs, time, time);
            let need = need(&spec, &log, None, false);
            let transaction = transaction_bytes(&spec, &log, false);
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
    let log = LogPlan::default();
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
            ..wanted(&specs, &log, limit)
        };
        plan(&wanted).expect("fits")
    };
    assert!(with(1024 * MIB, None).direct_only);
    let large = with(8192 * MIB, None);
    assert!(!large.direct_only);
    assert!(large.making > log.footprint_bytes() + PROBE_BYTES);
    assert_eq!(with(1024 * MIB, Some(64 * MIB)).floor, None);
    assert!(
        with(8192 * MIB, Some(64 * MIB))
            .floor
            .is_some_and(|part| part > 64 * MIB)
    );
}
