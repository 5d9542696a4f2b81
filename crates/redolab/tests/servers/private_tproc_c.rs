//! TPROC-C on servers that redolab makes, loads, uses and removes, through the binary.

use crate::harness::{Place, Running, entries};
use crate::own_mariadb::{self, MARIADB};
use crate::own_server::{self, POSTGRES};
use crate::private::{PrivateKind, expect_ended, text};
use crate::turn::InTurn;
use rustix::process::Signal;
use std::time::Duration;

/// A product whose servers can be made here, and a place for one.
type Made = (PrivateKind, InTurn<Place>);

fn on_postgres() -> Option<Made> {
    own_server::place().map(|place| (POSTGRES, place))
}

fn on_mariadb() -> Option<Made> {
    own_mariadb::place().map(|place| (MARIADB, place))
}

/// A short run on a private server with that many warehouses.
fn command<'a>(kind: PrivateKind, place: &'a Place, warehouses: &'a str) -> Vec<&'a str> {
    let run = [
        "run",
        "--workload",
        "tproc-c",
        "--driver",
        kind.driver,
        "--on",
    ];
    let rest = ["--allow-busy", "--jobs", "2", "--time", "2s", "--warmup"];
    let size = ["200ms", "--warehouses", warehouses];
    [&run[..], &[text(&place.target)], &rest, &size].concat()
}

fn expect_run((kind, place): Made) -> serde_json::Value {
    let json = ["--format", "json"];
    let done = place.run(&[&command(kind, &place, "1")[..], &json].concat());
    done.expect(0, &["Will make a server of its own", "warehouses=1"]);
    place.expect_clean(&place.target);
    expect_ended(&place.target, "a whole run");
    let run = done.json();
    assert_eq!(run["target"]["kind"], "own_server");
    let row = &run["rows"][0];
    assert!(row["nopm"].as_f64().is_some_and(|nopm| nopm > 0.0), "{row}");
    assert_eq!(row["tproc_c"]["warehouses"], 1);
    let conditions = row["tproc_c"]["conditions"].as_array().expect("checked");
    assert_eq!(conditions.len(), 4);
    for condition in conditions {
        assert!(condition["checked"].as_u64() > Some(0), "{condition}");
        assert_eq!(condition["violated"], 0, "{condition}");
    }
    let layers = run["target"]["stack"]["layers"].as_array();
    assert!(layers.is_some_and(|layers| !layers.is_empty()), "{run}");
    let shown = place.run(&["runs", "show", "last"]);
    shown.expect(0, &["NOPM", "all 4 consistency conditions hold"]);
    run
}

#[test]
fn a_postgresql_server_is_made_loaded_run_checked_and_removed() {
    let Some(made) = on_postgres() else { return };
    let run = expect_run(made);
    assert_eq!(run["target"]["product"], "PostgreSQL");
    let waits = &run["rows"][0]["server"]["waits"];
    assert!(waits["readings"].as_u64() > Some(0), "{waits}");
    let sessions = waits["sessions"].as_object().expect("events");
    assert!(!sessions.is_empty(), "{waits}");
}

#[test]
fn a_mariadb_server_is_made_loaded_run_checked_and_removed() {
    let Some(made) = on_mariadb() else { return };
    let run = expect_run(made);
    assert_eq!(run["target"]["product"], "MariaDB");
}

/// A load of twenty warehouses is under way.
fn loading((kind, place): &Made) -> Running {
    let command = command(*kind, place, "20");
    let child = place.command(&command).spawn().expect("starts");
    let running = Running::of(child, "run tproc-c".to_owned());
    kind.await_server(&place.target);
    std::thread::sleep(Duration::from_secs(3));
    running
}

fn expect_removed_when_interrupted(made: Made) {
    let running = loading(&made);
    running.signal(Signal::INT);
    running.wait().expect(130, &[]);
    let (_, place) = &made;
    place.expect_clean(&place.target);
    expect_ended(&place.target, "an interrupted load");
}

#[test]
fn an_interrupted_load_on_postgresql_leaves_nothing() {
    let Some(made) = on_postgres() else { return };
    expect_removed_when_interrupted(made);
}

#[test]
fn an_interrupted_load_on_mariadb_leaves_nothing() {
    let Some(made) = on_mariadb() else { return };
    expect_removed_when_interrupted(made);
}

/// The server ends with redolab; its files are removed by the next command.
#[test]
fn what_a_killed_load_left_is_removed_by_the_next_run() {
    let Some(made) = on_postgres() else { return };
    let running = loading(&made);
    running.signal(Signal::KILL);
    drop(running);
    let (kind, place) = &made;
    expect_ended(&place.target, "a killed load");
    assert!(!entries(&place.target).is_empty(), "its files are left");
    let next = place.run(&[&command(*kind, place, "1")[..], &["-v"]].concat());
    next.expect(0, &["Removed"]);
    place.expect_clean(&place.target);
}

#[test]
fn what_cannot_be_made_is_refused() {
    let Some((kind, place)) = on_postgres() else {
        return;
    };
    for number in ["0", "100001"] {
        let refused = place.run(&command(kind, &place, number));
        refused.expect(2, &["warehouses: use from 1 to 100000"]);
        place.expect_clean(&place.target);
    }
    let on = ["--on", text(&place.target)];
    for (arguments, word) in [
        (&["--driver", "oracle", on[0], on[1]][..], "oracle"),
        (&["--on", "postgres://h/d", "--warehouses", "2"], "--driver"),
        (&on, "--driver"),
    ] {
        let refused = place.run(&[&["run", "--workload", "tproc-c"], arguments].concat());
        refused.expect(2, &[word]);
    }
}
