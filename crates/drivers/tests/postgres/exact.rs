//! Over a window of transactions the LSN grows by exactly what the driver predicts, page headers
//! included, once the records of others are taken away.
//!
//! The oracle is the server: positions, and the lengths of records as its own programs read them.

use crate::records::{Reader, Split, WalRecord};
use crate::server::{TestServer, facts, load_of, opened, programs};
use measure::driver::{Driver, OpenedTarget, SessionLoad};
use measure::workload::{CommitMode, Workload};
use std::collections::BTreeSet;
use std::sync::Barrier;

const PAGE: u64 = 8192;
const SEGMENT: u64 = 16 << 20;

/// Bytes of page headers between two positions at which records begin.
fn page_headers(from: u64, to: u64) -> u64 {
    let pages = (from.div_ceil(PAGE)..to.div_ceil(PAGE)).map(|page| page * PAGE);
    pages
        .map(|at| if at.is_multiple_of(SEGMENT) { 40 } else { 24 })
        .sum()
}

/// Runs so many transactions of a workload on each session.
fn run(target: &OpenedTarget, workload: &Workload, sessions: u32, transactions: u32) {
    let together = Barrier::new(sessions as usize);
    let shared = load_of(workload.clone());
    std::thread::scope(|scope| {
        for number in 0..sessions {
            let (driver, together): (&dyn Driver, _) = (&*target.driver, &together);
            let load = SessionLoad {
                number,
                ..shared.clone()
            };
            scope.spawn(move || {
                let mut session = driver.session(load).expect("a session");
                together.wait();
                for _ in 0..transactions {
                    session.transaction().expect("a commit");
                }
            });
        }
    });
}

/// Runs transactions during a checkpoint and checks what they wrote. The records of others.
fn exact(
    server: &TestServer,
    target: &OpenedTarget,
    reader: &Reader,
    workload: &Workload,
    (sessions, transactions): (u32, u32),
) -> Vec<WalRecord> {
    let what = format!("{} in {} records", workload.name, workload.records);
    let predicted = target.driver.predicted_redo(workload).expect("predicted");
    let count = u64::from(sessions) * u64::from(transactions);
    let from = server.insert_lsn();
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| server.psql("CHECKPOINT").expect("a checkpoint"));
        run(target, workload, sessions, transactions);
        checkpoint.join().expect("no panic");
    });
    let to = server.insert_lsn();
    // What was not awaited is written now, behind the window.
    target.driver.drain().expect("durable");
    let records = reader.between(server, from, to);
    let starts = records.iter().map(|record| record.lsn).chain([to]);
    assert_eq!(records.first().map(|record| record.lsn), Some(from));
    for (record, next) in records.iter().zip(starts.skip(1)) {
        let end = record.lsn + record.aligned() + page_headers(record.lsn, next);
        assert_eq!(end, next, "{what}: nothing is between records: {record:?}");
    }
    let split = Split::of(records);
    assert_eq!(split.transactions.len() as u64, count, "{what}");
    for (number, found) in &split.transactions {
        let expected = (predicted, workload.records, 1);
        assert_eq!(*found, expected, "{what}: transaction {number}");
    }
    let others: u64 = split.others.iter().map(WalRecord::aligned).sum();
    let (grown, headers) = (to - from, page_headers(from, to));
    assert_eq!(
        grown - others,
        count * predicted + headers,
        "{what}: grown by {grown}, {others} of others, {headers} of page headers"
    );
    split.others
}

/// As [`exact`] where nothing reads records: the growth alone, in a window in which others wrote
/// nothing.
fn exact_without_records(
    server: &TestServer,
    target: &OpenedTarget,
    workload: &Workload,
    (sessions, transactions): (u32, u32),
) {
    let predicted = target.driver.predicted_redo(workload).expect("predicted");
    let count = u64::from(sessions) * u64::from(transactions);
    let windows = (0..4).map(|_| {
        let from = server.insert_lsn();
        run(target, workload, sessions, transactions);
        let to = server.insert_lsn();
        (to - from).wrapping_sub(count * predicted + page_headers(from, to))
    });
    let least = windows.take(4).find(|others| *others == 0);
    assert_eq!(least, Some(0), "{} {}", workload.name, workload.records);
}

/// Every workload that sessions run, with sessions and transactions of each.
fn workloads() -> Vec<(Workload, (u32, u32))> {
    let named = |name: &str| Workload::by_name(name).expect("known");
    let in_records = |name: &str, records| Workload {
        records,
        ..named(name)
    };
    vec![
        (named("LGWR-LAT1"), (1, 300)),
        (named("LGWR-LAT1"), (8, 100)),
        (in_records("LGWR-LAT1", 7), (2, 100)),
        (named("LGWR-LAT25"), (2, 100)),
        (in_records("LGWR-LAT25", 5), (2, 50)),
        (named("LGWR-LAT125"), (2, 40)),
        (named("LGWR-THR"), (2, 20)),
        (in_records("LGWR-THR", 61), (2, 20)),
        (named("storm"), (20, 20)),
        (Workload::size_sweep(1 << 10), (1, 100)),
        (Workload::size_sweep(20_000), (1, 100)),
        (Workload::size_sweep(1 << 20), (1, 10)),
        (Workload::size_sweep(16 << 20), (1, 2)),
    ]
}

#[test]
fn every_workload_makes_the_redo_that_is_predicted_on_every_version() {
    let all = programs::every();
    if all.is_empty() {
        println!("skipped: no PostgreSQL server is installed");
    }
    for bin in all {
        // What is flushed does not matter here, and would take most of the time.
        let Some(server) = TestServer::start_of(bin, &["fsync=off"], "", &[]) else {
            return;
        };
        let target = opened(&server.socket_address("redo")).expect("a target");
        let version = facts(&target).version;
        let Some(reader) = Reader::of(&server) else {
            for (workload, load) in workloads() {
                exact_without_records(&server, &target, &workload, load);
            }
            println!("PostgreSQL {version}: exact by the LSN; nothing reads its records");
            continue;
        };
        let mut kinds = BTreeSet::new();
        for (workload, load) in workloads() {
            let others = exact(&server, &target, &reader, &workload, load);
            kinds.extend(others.into_iter().map(|record| record.kind));
        }
        println!("PostgreSQL {version}: exact by {reader:?}; others wrote {kinds:?}");
        for part in ["CHECKPOINT_ONLINE", "RUNNING_XACTS"] {
            assert!(kinds.iter().any(|kind| kind.contains(part)), "{kinds:?}");
        }
    }
}

/// A page of the transactions' states is added every 32,768 transactions.
#[test]
fn pages_of_transaction_states_are_not_the_workloads() {
    let Some(server) = TestServer::start(&["wal_level=logical", "fsync=off"], "") else {
        return;
    };
    let target = opened(&server.socket_address("redo")).expect("a target");
    let smallest = Workload {
        name: "smallest".to_owned(),
        redo_bytes: 112,
        records: 1,
        commit: CommitMode::NOWAIT_BATCH,
        tproc_c: None,
    };
    assert_eq!(target.driver.predicted_redo(&smallest), Some(120));
    let Some(reader) = Reader::of(&server) else {
        println!("skipped: nothing reads the records of this version");
        return;
    };
    let others = exact(&server, &target, &reader, &smallest, (4, 8_400));
    let is_there = others.iter().any(|record| record.kind.starts_with("CLOG"));
    assert!(is_there, "{others:?}");
}
