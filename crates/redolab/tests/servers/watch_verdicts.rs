//! `redolab watch` on servers that acknowledge commits before they are durable: convicted by their
//! counts, with and without an address, and by their settings; and on a log of a program that it
//! does not know. Healthy ones are acquitted in `watch`.

use crate::databases::{of_server, server as postgres};
use crate::harness::{LoopVolume, Place};
use crate::mariadb::server as mariadb;
use crate::turn::InTurn;
use crate::watch::{begin, can_watch, end, expect_acquitted, pid};
use serde_json::Value;
use std::io::Write;
use std::time::Duration;

/// Longer than a log is unflushed without being convicted.
const UNFLUSHED: Duration = Duration::from_millis(2_500);
const COMMITS: usize = 300;

fn start(settings: &[&str]) -> Option<InTurn<postgres::TestServer>> {
    can_watch().then_some(())?;
    InTurn::of(|| postgres::TestServer::start(settings, ""))
}

fn commit(server: &postgres::TestServer, commits: usize) {
    let one = "SELECT pg_logical_emit_message(true, 'r', repeat('x', 500)) IS NULL;\n";
    server.psql(&one.repeat(commits)).expect("committed");
}

fn number(finding: &Value, name: &str) -> u64 {
    let numbers = finding["numbers"].as_array().expect("a list");
    let found = numbers.iter().find(|pair| pair[0] == name);
    let value = found.and_then(|pair| pair[1].as_f64());
    value.unwrap_or_else(|| panic!("{name}: {finding}")) as u64
}

fn finding<'a>(run: &'a Value, id: &str) -> &'a Value {
    let all = run["findings"].as_array().expect("a list");
    let found = all.iter().find(|f| f["id"] == id && f["weight"] == "bad");
    found.unwrap_or_else(|| panic!("{id}: {all:?}"))
}

fn expect_no(run: &Value) {
    let verdict = &run["verdict"];
    assert_eq!(verdict["answer"], "no", "{verdict}");
    assert_eq!(verdict["durability"], "volatile", "{verdict}");
}

#[test]
fn a_server_that_is_switched_to_no_flushes_while_it_is_watched_is_convicted() {
    let Some(server) = start(&[]) else { return };
    let place = Place::new();
    let address = server.tcp_address("redo");
    let on = ["--pid", &pid(server.pid()), "--database", &address];
    let watching = begin(&place, &on);
    commit(&server, COMMITS);
    let off = "ALTER SYSTEM SET fsync = off;\nSELECT pg_reload_conf();\n";
    server.psql(off).expect("switched");
    commit(&server, COMMITS);
    let run = end(watching);
    expect_no(&run);
    let claim = finding(&run, "server.no_flush")["claim"].to_string();
    assert!(claim.contains("set while it was watched"), "{claim}");
    assert_eq!(run["target"]["settings"]["fsync"], "on");
    assert_eq!(run["target"]["changed_settings"]["fsync"], "off");
    // From its first write on, and without an address: three numbers say it.
    for address in [Some(address.as_str()), None] {
        let place = Place::new();
        let of = pid(server.pid());
        let mut on = vec!["--pid", &of];
        on.extend(address.iter().flat_map(|address| ["--database", address]));
        let watching = begin(&place, &on);
        commit(&server, COMMITS);
        std::thread::sleep(UNFLUSHED);
        let run = end(watching);
        expect_no(&run);
        let found = finding(&run, "server.log_not_flushed");
        assert!(number(found, "write_calls_not_flushed") > 100, "{found}");
        assert_eq!(number(found, "flushes"), 0, "{found}");
        if address.is_some() {
            assert!(number(found, "commits") >= COMMITS as u64, "{found}");
            finding(&run, "server.no_flush");
        }
        let summary = run["verdict"]["summary"].as_str().expect("a sentence");
        assert!(summary.contains("that no flush followed"), "{summary}");
    }
}

/// The server's own setting is `on`: `wal_writer_delay` decides how late these commits are durable,
/// and only flushes against commits show it.
#[test]
fn commits_that_do_not_wait_are_convicted_by_their_number() {
    let Some(server) = start(&[]) else { return };
    let place = Place::new();
    let role = "CREATE ROLE app LOGIN;\nALTER ROLE app SET synchronous_commit = off;\n";
    server.psql(role).expect("made");
    let address = server.tcp_address("redo");
    let on = ["--pid", &pid(server.pid()), "--database", &address];
    let watching = begin(&place, &on);
    let one = "BEGIN;\nSET LOCAL synchronous_commit = off;\n\
               SELECT pg_logical_emit_message(true, 'r', repeat('x', 500)) IS NULL;\nCOMMIT;\n";
    let commits = 10 * COMMITS;
    server.psql(&one.repeat(commits)).expect("committed");
    let run = end(watching);
    expect_no(&run);
    let found = finding(&run, "server.commits_not_durable");
    assert!(number(found, "commits") + 100 >= commits as u64, "{found}");
    assert_eq!(run["target"]["settings"]["synchronous_commit"], "on");
    let late = ("server.late_flush".to_owned(), "caution".to_owned());
    assert!(of_server(&run).contains(&late), "the role's own: {run}");
    // Transactions that only read need no flush, however many they are.
    let place = Place::new();
    server.psql("DROP ROLE app").expect("dropped");
    let watching = begin(&place, &on);
    server.psql(&"SELECT 1;\n".repeat(commits)).expect("read");
    commit(&server, 30);
    expect_acquitted(&end(watching));
}

#[test]
fn settings_of_mariadb_are_judged_while_it_is_watched() {
    if !can_watch() {
        return;
    }
    let table = "CREATE DATABASE d; CREATE TABLE d.t (b VARCHAR(200)) ENGINE=InnoDB";
    let insert = "INSERT INTO d.t VALUES (REPEAT('x', 100));\n".repeat(COMMITS);
    let torn = ("server.torn_pages".to_owned(), "caution".to_owned());
    for (settings, id) in [
        (
            &[
                "--innodb-flush-log-at-trx-commit=2",
                "--innodb-doublewrite=0",
            ][..],
            "server.late_flush",
        ),
        (&["--innodb-flush-method=nosync"], "server.no_flush"),
    ] {
        let Some(server) = InTurn::of(|| mariadb::TestServer::start(settings)) else {
            return;
        };
        server.sql(table).expect("made");
        let place = Place::new();
        let address = server.tcp_address(mariadb::USER);
        let on = ["--pid", &pid(server.pid()), "--database", &address];
        let watching = begin(&place, &on);
        server.sql(&insert).expect("committed");
        let run = end(watching);
        expect_no(&run);
        finding(&run, id);
        assert_eq!(
            of_server(&run).contains(&torn),
            settings.len() == 2,
            "{run}"
        );
    }
}

/// Counted exactly, and said to be nothing before; a program that appends and flushes, as etcd and
/// Redis do.
#[test]
fn what_was_seen_of_any_log_is_said() {
    if !can_watch() {
        return;
    }
    let Some(volume) = InTurn::of(|| LoopVolume::make("ext4", 1, 512)) else {
        return;
    };
    let path = volume.path().join("appendonly.aof");
    let mut file = std::fs::File::create(&path).expect("made");
    file.write_all(b"first").expect("written");
    let shown = path.display().to_string();
    let place = Place::new();
    let watching = begin(&place, &["--file", &shown, "--report", "w.html"]);
    for _ in 0..COMMITS {
        file.write_all(&[7; 100]).expect("written");
        file.sync_data().expect("flushed");
    }
    let run = end(watching);
    let summary = run["verdict"]["summary"].as_str().expect("a sentence");
    let seen = format!("{COMMITS} log writes were seen");
    let text = place.run(&["runs", "show", "last"]);
    text.expect(0, &[&seen, "call that writes", "flush of the log"]);
    let html = std::fs::read_to_string(place.path().join("w.html")).expect("written");
    for (what, text) in [
        ("summary", summary),
        ("terminal", &text.out),
        ("report", &html),
    ] {
        assert!(!text.contains("nothing was measured"), "{what}: {text}");
        assert!(!text.contains("0 jobs"), "{what}: {text}");
    }
    assert!(html.contains(&seen) && summary.contains(&seen), "{summary}");
    let notes = run["rows"][0]["watched"]["notes"].to_string();
    assert!(
        !notes.contains("end was not seen"),
        "appends cross pages: {notes}"
    );
    expect_acquitted(&run);
    drop(volume);
}
