//! Commit modes, and transactions of many records.

use crate::server::{TestServer, load_of, opened};
use measure::driver::DriverSession;
use measure::workload::{CommitMode, Workload};

/// LGWR-LAT1 with that commit mode.
fn short(commit: CommitMode) -> Workload {
    Workload {
        commit,
        ..Workload::by_name("LGWR-LAT1").expect("known")
    }
}

/// Commits that returned before their redo was flushed, of 10.
fn not_flushed(server: &TestServer, session: &mut dyn DriverSession) -> usize {
    let flushed = || -> u64 {
        let text = server.value("SELECT pg_current_wal_flush_lsn() - '0/0'");
        text.parse().expect("a number")
    };
    let mut missing = 0;
    for _ in 0..10 {
        let before = server.insert_lsn();
        session.transaction().expect("a commit");
        missing += usize::from(flushed() < before + 2_000);
    }
    missing
}

/// Also where the server's own setting waits, and only in the sessions that were asked for it; and
/// what was left is flushed by `drain`.
#[test]
fn nowait_batch_does_not_wait_and_drain_does() {
    let settings = ["wal_writer_delay=10s", "wal_writer_flush_after=1GB"];
    let Some(server) = TestServer::start(&settings, "") else {
        return;
    };
    let target = opened(&server.socket_address("redo")).expect("a target");
    let session = |commit| {
        let session = target.driver.session(load_of(short(commit)));
        session.expect("a session")
    };
    let mut waiting = session(CommitMode::WAIT_IMMEDIATE);
    let mut leaving = session(CommitMode::NOWAIT_BATCH);
    assert_eq!(not_flushed(&server, &mut *waiting), 0);
    assert!(not_flushed(&server, &mut *leaving) > 5);
    assert_eq!(not_flushed(&server, &mut *waiting), 0);
    assert_eq!(server.value("SHOW synchronous_commit"), "on");
    leaving.transaction().expect("a commit");
    let end = server.insert_lsn();
    target.driver.drain().expect("durable");
    let flushed = server.value("SELECT pg_current_wal_flush_lsn() - '0/0'");
    assert!(flushed.parse::<u64>().expect("a number") >= end);
    let after = server.insert_lsn();
    target.driver.drain().expect("there is nothing to do");
    assert_eq!(server.insert_lsn(), after);
}

#[test]
fn modes_without_an_equivalent_are_refused_with_the_reason() {
    let Some(server) = TestServer::start(&[], "") else {
        return;
    };
    let target = opened(&server.socket_address("redo")).expect("a target");
    for (commit, reason) in [
        (CommitMode::WAIT_BATCH, "has the WAL flushed itself"),
        (CommitMode::NOWAIT_IMMEDIATE, "next round of its WAL writer"),
    ] {
        let workload = short(commit);
        assert_eq!(target.driver.predicted_redo(&workload), None);
        let refused = [
            target.driver.accepts(&workload).expect_err("refused"),
            target
                .driver
                .session(load_of(workload))
                .err()
                .expect("refused"),
        ];
        for error in refused {
            let text = error.to_string();
            assert!(error.is_unusable(), "{text}");
            assert!(
                text.contains(&format!("no COMMIT WRITE {commit}")),
                "{text}"
            );
            assert!(
                text.contains(reason) && text.contains("NOWAIT BATCH"),
                "{text}"
            );
        }
    }
    let crowded = Workload {
        records: 62,
        ..short(CommitMode::WAIT_IMMEDIATE)
    };
    let error = target.driver.accepts(&crowded).expect_err("refused");
    assert!(error.to_string().contains("at least 4504 bytes"), "{error}");
    for name in Workload::names() {
        let workload = Workload::by_name(&name).expect("known");
        target.driver.accepts(&workload).expect("it runs");
    }
}

/// The server's answers to this transaction do not fit into the socket: it stops reading until they
/// are read.
#[test]
fn answers_are_read_while_a_transaction_is_sent() {
    let Some(server) = TestServer::start(&[], "") else {
        return;
    };
    for address in [server.socket_address("redo"), server.tcp_address("redo")] {
        let target = opened(&address).expect("a target");
        let crowd = Workload {
            redo_bytes: 8 << 20,
            records: 80_000,
            ..short(CommitMode::WAIT_IMMEDIATE)
        };
        let mut session = target.driver.session(load_of(crowd)).expect("a session");
        for _ in 0..2 {
            let before = server.insert_lsn();
            session.transaction().expect("a commit");
            assert!(server.insert_lsn() - before >= 8 << 20);
        }
    }
}
