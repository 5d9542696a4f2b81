//! What a commit writes, and that it is durable.

use crate::server::{TestServer, facts, load, opened, session};
use drivers::postgres::redo_of;

const COMMITS: u64 = 100;
const PAGE: u64 = 8192;
const SEGMENT: u64 = 16 << 20;

/// Bytes of WAL before a position, page headers not included.
fn without_headers(lsn: u64) -> u64 {
    let (segments, inside) = (lsn / SEGMENT, lsn % SEGMENT);
    let (pages, offset) = (inside / PAGE, inside % PAGE);
    let segment = SEGMENT - SEGMENT / PAGE * 24 - 16;
    let before = if pages == 0 {
        0
    } else {
        pages * (PAGE - 24) - 16
    };
    let header = if pages == 0 { 40 } else { 24 };
    segments * segment + before + offset.saturating_sub(header)
}

/// Growth of the WAL while `work` runs, page headers not included. The server writes a record of
/// its own every 15 s, so the least of a few windows counts once it is what is expected.
fn growth(server: &TestServer, expected: u64, mut work: impl FnMut()) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..4 {
        let before = server.insert_lsn();
        work();
        let grown = without_headers(server.insert_lsn()) - without_headers(before);
        least = least.min(grown);
        if grown == expected {
            break;
        }
    }
    least
}

/// The growth of the LSN over 100 commits is the workload's redo, to the byte.
fn commits_make_the_redo_of_their_workload(level: &str) {
    let Some(server) = TestServer::start(&[&format!("wal_level={level}")], "") else {
        return;
    };
    let target = opened(&server.tcp_address("redo")).expect("a target");
    assert_eq!(facts(&target).settings["wal_level"], level);
    for redo in [
        112, 200, 312, 320, 328, 336, 344, 1_096, 1_997, 26_931, 126_976,
    ] {
        let mut session = session(&target, redo);
        let expected = COMMITS * u64::from(redo.next_multiple_of(8).max(112));
        let expected = match (level, redo) {
            ("logical", 112) => COMMITS * 120,
            _ => expected,
        };
        let grown = growth(&server, expected, || {
            for _ in 0..COMMITS {
                session.transaction().expect("a commit");
            }
        });
        assert_eq!(grown, expected, "{redo} bytes, wal_level {level}");
    }
}

#[test]
fn commits_make_the_redo_of_their_workload_with_wal_level_replica() {
    commits_make_the_redo_of_their_workload("replica");
}

#[test]
fn commits_make_the_redo_of_their_workload_with_wal_level_logical() {
    commits_make_the_redo_of_their_workload("logical");
}

/// The formula, near the limit of the short header and beyond it, against another client.
#[test]
fn sizes_are_those_of_the_server() {
    for level in ["replica", "logical"] {
        let Some(server) = TestServer::start(&[&format!("wal_level={level}")], "") else {
            return;
        };
        let payloads: Vec<u64> = (0..8)
            .chain(215..248)
            .chain([1_905, 26_839, 126_881])
            .collect();
        for attempt in 0..3 {
            let mut sql = String::new();
            for payload in &payloads {
                sql.push_str("SELECT pg_current_wal_insert_lsn() - '0/0';\n");
                sql.push_str(&format!(
                    "SELECT pg_logical_emit_message(true, 'r', repeat('x', {payload})::bytea) \
                     IS NULL;\n"
                ));
                sql.push_str("SELECT pg_current_wal_insert_lsn() - '0/0';\n");
            }
            let rows = server.psql(&sql).expect("rows");
            let lsns: Vec<u64> = rows.iter().filter_map(|row| row.parse().ok()).collect();
            let differ = |(payload, lsns): &(&u64, &[u64])| {
                let grown = without_headers(lsns[1]) - without_headers(lsns[0]);
                grown != redo_of([**payload], level == "logical")
            };
            assert_eq!(lsns.len(), payloads.len() * 2);
            let pairs = payloads.iter().zip(lsns.chunks(2));
            let wrong: Vec<&u64> = pairs.filter(differ).map(|(payload, _)| payload).collect();
            if wrong.is_empty() {
                break;
            }
            // A record of the server's own is in one window at most.
            assert!(wrong.len() == 1 && attempt < 2, "{level}: {wrong:?}");
        }
    }
}

/// Commits after which the WAL was not flushed as far as they wrote, of 30.
fn not_flushed(server: &TestServer) -> usize {
    let target = opened(&server.socket_address("redo")).expect("a target");
    let mut session = session(&target, 1_997);
    let mut missing = 0;
    for _ in 0..30 {
        let before = server.insert_lsn();
        let redo = 2_000;
        let transaction = session.transaction().expect("a commit");
        assert!(transaction.returned > transaction.requested);
        assert_eq!((transaction.sync_ns, transaction.kind), (None, 0));
        let flushed = server.value("SELECT pg_current_wal_flush_lsn() - '0/0'");
        let flushed: u64 = flushed.parse().expect("a number");
        missing += usize::from(flushed < before + redo);
    }
    missing
}

/// And where the server is asked not to wait, the same test sees that.
#[test]
fn a_commit_that_returned_is_flushed() {
    let Some(server) = TestServer::start(&["wal_writer_delay=10s"], "") else {
        return;
    };
    assert_eq!(not_flushed(&server), 0);
    server
        .psql("ALTER ROLE redo SET synchronous_commit = off")
        .expect("altered");
    assert!(not_flushed(&server) > 0);
}

#[test]
fn a_session_runs_its_cpu_work_before_the_commit_is_asked_for() {
    let Some(server) = TestServer::start(&["log_min_messages=debug1"], "") else {
        return;
    };
    let target = opened(&server.tcp_address("redo")).expect("a target");
    let mut work = load(1_997);
    work.cpu_per_txn = measure::Nanos::from_millis(30);
    let mut session = target.driver.session(work).expect("a session");
    let first = session.transaction().expect("a commit");
    let second = session.transaction().expect("a commit");
    let between = second.requested.since(first.returned);
    assert!(between >= measure::Nanos::from_millis(30), "{between:?}");
    assert_eq!(target.driver.kinds().len(), 1);
    let client = server
        .value("SELECT application_name FROM pg_stat_activity WHERE application_name = 'redolab'");
    assert_eq!(client, "redolab");
    drop(session);
    let gone = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'redolab'";
        server.value(count) == "0"
    });
    assert!(gone, "the connection is closed");
    let log = std::fs::read_to_string(server.folder().join("log")).expect("a log");
    assert!(!log.contains("unexpected EOF"), "it said farewell: {log}");
    let error = target
        .driver
        .session(load(64 << 20))
        .err()
        .expect("refused");
    assert!(error.is_unusable(), "{error}");
}
