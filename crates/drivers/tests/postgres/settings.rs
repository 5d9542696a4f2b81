//! What is reported of a server, and which servers are refused.

use crate::server::{TestServer, environment, facts, load, opened, refused, session};
use std::time::{Duration, Instant};

#[test]
fn settings_are_those_of_the_session_that_commits() {
    let Some(server) = TestServer::start(&["commit_siblings=7"], "") else {
        return;
    };
    let address = server.socket_address("redo");
    let target = opened(&address).expect("a target");
    let before = facts(&target);
    assert_eq!(before.product, "PostgreSQL");
    assert_eq!(before.version, server.value("SHOW server_version"));
    for name in [
        "fsync",
        "synchronous_commit",
        "wal_sync_method",
        "wal_level",
        "commit_delay",
    ] {
        assert_eq!(before.settings[name], server.value(&format!("SHOW {name}")));
    }
    assert_eq!(before.settings["commit_siblings"], "7");
    assert_eq!(before.settings["synchronous_commit"], "on");
    server
        .psql("ALTER ROLE redo SET synchronous_commit = off")
        .expect("altered");
    // The facts of this target are not those of its next session.
    let error = target.driver.session(load(1_997)).err().expect("refused");
    assert!(error.is_unusable(), "{error}");
    assert!(
        error
            .to_string()
            .contains("synchronous_commit changed from on to off"),
        "{error}"
    );
    let target = opened(&address).expect("a target");
    assert_eq!(facts(&target).settings["synchronous_commit"], "off");
    session(&target, 1_997)
        .transaction()
        .expect("it still runs");
    server
        .psql("ALTER SYSTEM SET full_page_writes = off;\nSELECT pg_reload_conf();")
        .expect("altered");
    let until = Instant::now() + Duration::from_secs(20);
    while facts(&opened(&address).expect("a target")).settings["full_page_writes"] != "off" {
        assert!(Instant::now() < until, "the setting is not read");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_with_a_logical_slot_is_refused_unless_it_is_allowed() {
    let Some(server) = TestServer::start(&["wal_level=logical"], "") else {
        return;
    };
    let address = server.socket_address("redo");
    assert!(opened(&address).is_ok());
    server
        .psql("SELECT pg_create_physical_replication_slot('physical')")
        .expect("a slot");
    let target = opened(&address).expect("a physical slot receives no messages of its own");
    server
        .psql("SELECT pg_create_logical_replication_slot('decoded', 'test_decoding')")
        .or_else(|_| {
            server.psql("SELECT pg_create_logical_replication_slot('decoded', 'pgoutput')")
        })
        .expect("a slot");
    for error in [
        refused(&address, &environment()),
        target.driver.session(load(1_997)).err().expect("refused"),
    ] {
        assert!(error.is_unusable(), "{error}");
        assert!(
            error.to_string().contains("logical replication slot"),
            "{error}"
        );
        assert!(
            error.to_string().contains("allow_logical_slots=1"),
            "{error}"
        );
    }
    let allowed = format!("{address}&allow_logical_slots=1");
    let target = opened(&allowed).expect("it is allowed");
    assert!(
        target.shown.ends_with("&allow_logical_slots=1"),
        "{}",
        target.shown
    );
    session(&target, 1_997).transaction().expect("a commit");
}

#[test]
fn a_standby_is_refused() {
    let Some(server) = TestServer::start_with(&[], "", &["standby.signal"]) else {
        return;
    };
    assert_eq!(server.value("SELECT pg_is_in_recovery()"), "t");
    let error = refused(&server.socket_address("redo"), &environment());
    assert!(error.is_unusable(), "{error}");
    assert!(
        error.to_string().contains("in recovery (a standby)"),
        "{error}"
    );
}
