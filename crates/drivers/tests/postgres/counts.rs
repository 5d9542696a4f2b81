//! What a server counts of its commits, what its sessions wait for, and how it has opened its log.

use crate::server::{TestServer, facts, opened, session};
use measure::driver::{Driver, OpenedTarget, ServerCounts, ServerGrowth};
use std::time::{Duration, Instant};

const COMMITS: u64 = 500;
const LGWR_LAT1: u32 = 1_997;

/// A server that counts its log; `None` where the installed one is too old for that.
fn server(settings: &[&str]) -> Option<TestServer> {
    let all = [&["track_wal_io_timing=on"], settings].concat();
    let server = TestServer::start(&all, "")?;
    let version: u32 = server
        .value("SHOW server_version_num")
        .parse()
        .expect("a number");
    if version < 140_000 {
        println!("skipped: PostgreSQL {version} counts nothing of its WAL");
        return None;
    }
    Some(server)
}

fn counts(driver: &dyn Driver) -> ServerCounts {
    let counts = driver.server_counts().expect("it answers");
    counts.expect("it is a server")
}

/// What the server counts of so many commits of one session.
fn growth(target: &OpenedTarget, commits: u64, meanwhile: impl FnOnce()) -> ServerGrowth {
    let driver = &*target.driver;
    let before = counts(driver);
    let mut one = session(target, LGWR_LAT1);
    for _ in 0..commits {
        one.transaction().expect("a commit");
    }
    meanwhile();
    drop(one);
    std::thread::sleep(driver.statistics_delay());
    counts(driver).since(&before)
}

/// Commits, redo and flushes agree, and each commit writes its last page again.
#[test]
fn a_server_that_flushes_counts_a_flush_for_each_commit() {
    let Some(server) = server(&["wal_sync_method=fdatasync"]) else {
        return;
    };
    let target = opened(&server.tcp_address("redo")).expect("a target");
    let grown = growth(&target, COMMITS, || {});
    let totals = grown.totals;
    assert_eq!((grown.commits, grown.note), (Some(COMMITS), None));
    let redo = totals.redo_lsn_bytes.expect("known");
    assert!((1_000_000..1_050_000).contains(&redo), "{totals:?}");
    let counted = totals.wal_bytes.expect("counted");
    assert!(counted > 990_000 && counted < redo, "{totals:?}");
    let records = totals.records.expect("counted");
    assert!((1_000..1_050).contains(&records), "{totals:?}");
    // Another commit may be flushed along with its own, and the server writes records of its own.
    let syncs = totals.syncs.expect("counted");
    assert!((COMMITS..COMMITS + 10).contains(&syncs), "{totals:?}");
    let written = totals.written_bytes.expect("known");
    let ratio = written as f64 / redo as f64;
    assert!((4.7..5.5).contains(&ratio), "{ratio}: {totals:?}");
    assert!(
        totals.write_ns > Some(0) && totals.sync_ns > Some(0),
        "{totals:?}"
    );
    // The next row begins where this one ended.
    let again = growth(&target, 20, || {});
    assert_eq!(again.commits, Some(20));
    assert!(again.totals.syncs.expect("counted") < 30, "{again:?}");
}

#[test]
fn a_server_whose_writes_are_durable_counts_no_flush() {
    let Some(server) = server(&["wal_sync_method=open_datasync", "track_wal_io_timing=off"]) else {
        return;
    };
    let target = opened(&server.tcp_address("redo")).expect("a target");
    let totals = growth(&target, 200, || {}).totals;
    assert_eq!(totals.syncs, Some(0), "{totals:?}");
    assert!(totals.writes >= Some(200), "{totals:?}");
    assert_eq!(
        (totals.write_ns, totals.sync_ns),
        (None, None),
        "they are not tracked"
    );
}

/// Also where the counts after the reset are larger than those before it.
#[test]
fn a_reset_in_the_middle_leaves_the_position_alone() {
    let Some(server) = server(&[]) else { return };
    let target = opened(&server.socket_address("redo")).expect("a target");
    let reset = || {
        server
            .psql("SELECT pg_stat_reset_shared('wal')")
            .expect("reset");
    };
    let grown = growth(&target, 50, reset);
    let totals = grown.totals;
    assert!(
        grown.note.is_some_and(|note| note.contains("reset")),
        "{totals:?}"
    );
    assert!(totals.redo_lsn_bytes > Some(100_000), "{totals:?}");
    assert_eq!(grown.commits, Some(50));
    assert_eq!((totals.wal_bytes, totals.writes), (None, None));
    assert_eq!((totals.syncs, totals.written_bytes), (None, None));
}

/// By TCP and by a Unix socket, with the method that the server was started with.
#[test]
fn the_servers_log_file_is_seen_where_it_may_be() {
    for (method, flags) in [
        ("fdatasync", "O_RDWR"),
        ("open_datasync", "O_RDWR|O_DSYNC"),
        ("open_sync", "O_RDWR|O_SYNC"),
    ] {
        let Some(server) = server(&[&format!("wal_sync_method={method}")]) else {
            return;
        };
        for address in [server.tcp_address("redo"), server.socket_address("redo")] {
            let target = opened(&address).expect("a target");
            assert_eq!(
                facts(&target).log_open_flags,
                None,
                "nothing was committed yet"
            );
            target.driver.prepare(&[]).expect("it answers");
            let found = facts(&target);
            if found.log_open_flags.is_none() && !rustix::process::geteuid().is_root() {
                println!("skipped: the server's files may not be looked at");
                continue;
            }
            assert_eq!(found.log_open_flags.as_deref(), Some(flags), "{address}");
            let wal = server.folder().join("data/pg_wal");
            assert_eq!(found.log_directory.as_deref(), wal.to_str(), "{address}");
        }
    }
}

/// The waits of two sessions, of nobody else, and what sampling them costs.
#[test]
fn waits_are_sampled_until_the_row_ends() {
    let Some(server) = server(&[]) else { return };
    let target = opened(&server.tcp_address("redo")).expect("a target");
    let driver = &*target.driver;
    let none = driver.sample_waits().expect("it answers");
    assert!(none.is_none(), "there are no sessions");
    let mut sessions: Vec<_> = (0..2).map(|_| session(&target, LGWR_LAT1)).collect();
    let sampling = driver
        .sample_waits()
        .expect("it answers")
        .expect("there are sessions");
    let until = Instant::now() + Duration::from_secs(1);
    std::thread::scope(|scope| {
        for session in &mut sessions {
            scope.spawn(move || {
                while Instant::now() < until {
                    session.transaction().expect("a commit");
                }
            });
        }
    });
    let samples = sampling.end().expect("the server answered");
    println!("{samples:?}");
    assert!((3..=22).contains(&samples.readings), "{samples:?}");
    assert!(samples.observed_ns >= 900_000_000, "{samples:?}");
    let seen: u64 = samples.events.values().sum();
    assert!(seen <= 2 * samples.readings && seen > 0, "{samples:?}");
    let waits = ["IO:WalSync", "IO:WalWrite", "LWLock:WALWrite"];
    let of_log: u64 = waits
        .iter()
        .filter_map(|name| samples.events.get(*name))
        .sum();
    assert!(of_log > 0, "commits wait for the log: {samples:?}");
    // A twentieth of the time at most, whatever the server needs for an answer.
    let share = samples.queries.total_ns as f64 / samples.observed_ns as f64;
    assert!(share < 0.1, "{share}: {samples:?}");
    // The connection goes back to where the counts are read.
    let before = server.value(CONNECTIONS);
    counts(driver);
    assert_eq!(server.value(CONNECTIONS), before);
    drop(sessions);
    assert!(driver.sample_waits().expect("it answers").is_none());
}

const CONNECTIONS: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'redolab'";

/// Sampling ends with a server that ends, and so do readings, with an error.
#[test]
fn a_killed_server_ends_sampling_and_reading() {
    let Some(mut server) = server(&[]) else {
        return;
    };
    let target = opened(&server.tcp_address("redo")).expect("a target");
    let one = session(&target, LGWR_LAT1);
    let sampling = target
        .driver
        .sample_waits()
        .expect("it answers")
        .expect("a session");
    std::thread::sleep(Duration::from_millis(100));
    server.kill();
    // The next reading comes after a rest of 19 times the last one, slow on a busy machine.
    std::thread::sleep(Duration::from_secs(3));
    let started = Instant::now();
    assert_eq!(sampling.end(), None, "what was sampled is not whole");
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(target.driver.server_counts().is_err());
    drop(one);
}
