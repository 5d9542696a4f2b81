//! Kills (SIGKILL) inside the making and the use of private servers, at states that are read from
//! the server's own files: nothing of a server outlives them, and the next start removes the rest.
//!
//! redolab is stopped (SIGSTOP) at a drawn state, and it is looked at before it is killed.
//! `REDOLAB_KILLS` sets how many kills each kind of server gets (2; the proof has 20).

use crate::harness::{Place, entries};
use crate::own_mariadb::{self, MARIADB};
use crate::own_server::{self, POSTGRES};
use crate::private::{PrivateKind, expect_ended, processes, text};
use crate::turn::InTurn;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(300);

/// A state of a server's making: a file of it that exists.
#[derive(Debug, Clone, Copy)]
enum State {
    /// Its directories are made.
    Made(&'static str),
    /// It was made, and the file is not empty.
    Filled(&'static str),
}

/// States of PostgreSQL: begun, bootstrapped, started, in use; and of its standby.
const OF_POSTGRES: [State; 4] = [
    State::Made("server-data/server.log"),
    State::Filled("server-data/cluster/global/pg_control"),
    State::Filled("server-data/cluster/postmaster.pid"),
    State::Made("server-data/cluster/pg_stat_tmp"),
];
const OF_STANDBY: [State; 2] = [
    State::Filled("server-data/standby1/backup_label"),
    State::Filled("server-data/standby1/postmaster.pid"),
];
/// States of MariaDB.
const OF_MARIADB: [State; 3] = [
    State::Made("server-data/server.log"),
    State::Filled("server-log/wal/ib_logfile0"),
    State::Filled("server-data/cluster/server.pid"),
];

fn has_come(target: &Path, state: State) -> bool {
    let work = |name: &String| name.starts_with("redolab-work-");
    let folders: Vec<PathBuf> = entries(target)
        .into_iter()
        .filter(work)
        .map(|name| target.join(name))
        .collect();
    folders.iter().any(|folder| match state {
        State::Made(file) => folder.join(file).exists(),
        State::Filled(file) => std::fs::metadata(folder.join(file)).is_ok_and(|m| m.len() > 0),
    })
}

fn kill_at(place: &InTurn<Place>, arguments: &[&str], state: State) {
    let mut command = place.command(arguments);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let pid = Pid::from_child(&child);
    let until = Instant::now() + PATIENCE;
    while !has_come(&place.target, state) {
        assert!(Instant::now() < until, "{state:?} does not come");
        let ended = child.try_wait().expect("our own child");
        assert!(
            ended.is_none(),
            "{state:?}: {arguments:?} ended before: {ended:?}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_process(pid, Signal::STOP).expect("our own child");
    // Inside the work: it lives, and its guard or its server, too.
    let alive = processes(&place.target);
    let ended = child.try_wait().expect("our own child");
    assert!(ended.is_none(), "{state:?}: {ended:?}");
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    println!("{state:?}: {} processes of the server", alive.len());
    expect_ended(&place.target, &format!("{state:?}"));
    let left = entries(&place.target);
    assert!(!left.is_empty(), "{state:?}: nobody could clean up");
    let on = text(&place.target);
    let next = ["run", "--on", on, "--jobs", "1", "--commits", "10"];
    let small = ["--log-file-size", "4M", "--allow-busy"];
    place
        .run(&[&next[..], &small].concat())
        .expect(0, &["Removed"]);
    place.expect_clean(&place.target);
}

fn kill_often(place: &InTurn<Place>, arguments: &[&str], states: &[State]) {
    let kills = std::env::var("REDOLAB_KILLS").ok();
    let kills = kills.and_then(|text| text.parse().ok()).unwrap_or(2);
    let mut draw = u64::from(std::process::id());
    println!("seed {draw}");
    for _ in 0..kills {
        let drawn = measure::workload::split_mix(&mut draw) % states.len() as u64;
        kill_at(place, arguments, states[drawn as usize]);
    }
}

fn long<'a>(kind: PrivateKind, place: &'a Place, more: &[&'a str]) -> Vec<&'a str> {
    let on = ["run", "--driver", kind.driver, "--on", text(&place.target)];
    let time = ["--time", "100s", "--jobs", "2", "--allow-busy"];
    [&on[..], &time, more].concat()
}

#[test]
fn a_postgres_server_that_is_made_or_used_leaves_nothing() {
    let Some(place) = own_server::place() else {
        return;
    };
    kill_often(&place, &long(POSTGRES, &place, &[]), &OF_POSTGRES);
}

#[test]
fn a_standby_leaves_nothing() {
    let Some(place) = own_server::place() else {
        return;
    };
    let with = ["--server-setting", "standbys=1"];
    let far = ["--server-setting", "standby_round_trip=1ms"];
    let run = long(POSTGRES, &place, &[&with[..], &far].concat());
    kill_often(&place, &run, &OF_STANDBY);
}

#[test]
fn a_mariadb_server_that_is_made_or_used_leaves_nothing() {
    let Some(place) = own_mariadb::place() else {
        return;
    };
    kill_often(&place, &long(MARIADB, &place, &[]), &OF_MARIADB);
}

/// While its tables are loaded, and while its transactions run.
#[test]
fn a_server_of_tproc_c_leaves_nothing() {
    let Some(place) = own_server::place() else {
        return;
    };
    let on = [
        "tprocc",
        "run",
        "--driver",
        "postgres",
        "--on",
        text(&place.target),
    ];
    let time = [
        "--allow-busy",
        "--users",
        "2",
        "--time",
        "100s",
        "--ramp-up",
        "200ms",
    ];
    let run = [&on[..], &time].concat();
    kill_often(&place, &run, &OF_POSTGRES[2..]);
}
