//! What a server counts of its log around commits, and what becomes of it when the server restarts.

use crate::server::{TestServer, USER, facts, opened, session, workload};
use measure::driver::{Driver, OpenedTarget, ServerCounts};
use std::time::Duration;

const COMMITS: u64 = 1_500;
const LGWR_LAT1: u32 = 1_997;

fn counts(driver: &dyn Driver) -> ServerCounts {
    let counts = driver.server_counts().expect("it answers");
    counts.expect("it is a server")
}

/// Commits of one session, which then ends.
fn commit(target: &OpenedTarget, commits: u64) -> ServerCounts {
    let mut one = session(target, LGWR_LAT1);
    let before = counts(&*target.driver);
    for _ in 0..commits {
        one.transaction().expect("a commit");
    }
    before
}

/// Redo is what was calibrated, and each commit of one session is a write of the log.
#[test]
fn redo_writes_and_commits_of_a_server_agree() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let target = opened(&server.tcp_address(USER)).expect("a target");
    let driver = &*target.driver;
    driver.prepare(&[&workload(LGWR_LAT1)]).expect("calibrated");
    let predicted = facts(&target).calibrations[0].mean_bytes as f64;
    let lsn = server.lsn();
    let before = commit(&target, COMMITS);
    assert!(before.lsn >= Some(lsn), "{before:?}");
    let after = counts(driver);
    assert!(after.lsn <= Some(server.lsn()), "{after:?}");
    let grown = after.since(&before);
    let totals = grown.totals;
    assert_eq!((grown.commits, grown.note), (Some(COMMITS), None));
    let redo = totals.redo_lsn_bytes.expect("known");
    let ratio = redo as f64 / COMMITS as f64 / predicted;
    assert!((0.92..1.08).contains(&ratio), "{ratio}: {totals:?}");
    // The server's own count is the growth of the position, so it is no count of what was written.
    let counted = totals.wal_bytes.expect("counted");
    assert!(counted.abs_diff(redo) < redo / 50, "{totals:?}");
    assert_eq!(totals.written_bytes, None, "{totals:?}");
    let writes = totals.writes.expect("counted");
    assert!((COMMITS..COMMITS + 100).contains(&writes), "{totals:?}");
    assert_eq!(totals.buffers_full, Some(0), "{totals:?}");
    // Only what the version has is known.
    let name = "SHOW GLOBAL STATUS LIKE 'Innodb_os_log_fsyncs'";
    let has_flushes = !server.sql(name).expect("it answers").is_empty();
    assert_eq!(totals.syncs.is_some(), has_flushes, "{totals:?}");
    assert_eq!((totals.records, totals.checkpoints), (None, None));
    assert_eq!((totals.write_ns, totals.sync_ns), (None, None));
    // The next row begins where this one ended.
    let before = commit(&target, 20);
    let again = counts(driver).since(&before);
    assert_eq!(again.commits, Some(20));
    assert!(again.totals.writes < Some(60), "{again:?}");
}

/// No count goes back, and the time of the start is the same in every reading.
#[test]
fn readings_of_one_server_are_of_one_start_and_never_go_back() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let target = opened(&server.socket_address(USER)).expect("a target");
    let mut one = session(&target, LGWR_LAT1);
    let first = counts(&*target.driver);
    assert!(first.began.parse::<u64>().is_ok(), "{first:?}");
    let mut last = first.clone();
    for _ in 0..15 {
        one.transaction().expect("a commit");
        std::thread::sleep(Duration::from_millis(150));
        let now = counts(&*target.driver);
        let grown = now.since(&last);
        assert_eq!(grown.note, None, "{last:?} {now:?}");
        assert!(grown.totals.writes >= Some(1), "{last:?} {now:?}");
        last = now;
    }
    // Another client does not reset what is read here.
    server.sql("FLUSH STATUS").expect("flushed");
    let grown = counts(&*target.driver).since(&first);
    assert_eq!(grown.note, None);
    assert!(grown.totals.writes >= Some(15), "{grown:?}");
    // A second server is another one, whatever its settings are.
    let Some(other) = TestServer::start(&[]) else {
        return;
    };
    let others = opened(&other.socket_address(USER)).expect("a target");
    let others = counts(&*others.driver);
    assert_ne!(first.server, others.server);
    let grown = others.since(&first);
    assert_eq!(
        (grown.totals.redo_lsn_bytes, grown.totals.writes),
        (None, None)
    );
    assert!(!first.server.contains('/'), "{}", first.server);
}

/// Also where the counts after the restart are larger than those before it.
#[test]
fn a_restart_in_the_middle_leaves_the_position_alone() {
    let Some(mut server) = TestServer::start(&[]) else {
        return;
    };
    let target = opened(&server.tcp_address(USER)).expect("a target");
    let one = session(&target, LGWR_LAT1);
    let before = counts(&*target.driver);
    drop(one);
    std::thread::sleep(Duration::from_millis(1_100));
    server.crash_and_recover();
    server
        .sql("CREATE DATABASE elsewhere; CREATE TABLE elsewhere.t (r VARBINARY(2000))")
        .expect("made");
    let insert = "INSERT INTO elsewhere.t VALUES (REPEAT('x', 1900));\n";
    let written = server.value("SHOW GLOBAL STATUS LIKE 'Innodb_log_writes'");
    let written: u64 = written
        .split('\t')
        .nth(1)
        .map_or(0, |n| n.parse().expect("a number"));
    let more = before
        .counted
        .writes
        .expect("counted")
        .saturating_sub(written)
        + 50;
    server.sql(&insert.repeat(more as usize)).expect("inserted");
    let after = counts(&*target.driver);
    assert!(
        after.counted.writes > before.counted.writes,
        "{before:?} {after:?}"
    );
    let grown = after.since(&before);
    let note = grown.note.expect("it is noted");
    assert!(note.contains("restarted"), "{note}");
    let totals = grown.totals;
    assert!(totals.redo_lsn_bytes > Some(50_000), "{totals:?}");
    assert_eq!((totals.writes, totals.wal_bytes), (None, None));
    assert_eq!((totals.syncs, totals.buffers_full), (None, None));
    // A server that is gone is an error, and not an old reading.
    server.kill();
    assert!(target.driver.server_counts().is_err());
}
