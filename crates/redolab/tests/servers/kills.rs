//! Kills (SIGKILL) inside the making and the use of private servers, at states that are read from
//! the server's own files: nothing of a server outlives them, and the next start removes the rest.
//! And inside what is done on a server that exists: a load of TPROC-C, a collection.
//!
//! redolab is stopped (SIGSTOP) at a drawn state, and it is looked at before it is killed.
//! `REDOLAB_KILLS` sets how many kills each kind of server gets (2; the proof has 20).

use crate::harness::{Place, entries};
use crate::inside::{self, Counter, Inside};
use crate::own_mariadb::{self, MARIADB};
use crate::own_server::{self, POSTGRES};
use crate::private::{PrivateKind, expect_ended, processes, text};
use crate::turn::InTurn;
use crate::{databases, mariadb};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(300);
/// Drawn at most: ticks of the processor time of a load, bytes that a collection reads.
const LOADED_MAX: u64 = 150;
const READ_MAX: u64 = 8 << 10;

/// A state of a server's making: a file of it that exists.
#[derive(Debug, Clone, Copy)]
enum State {
    /// Its directories are made.
    Made(&'static str),
    /// It was made, and the file is not empty.
    Filled(&'static str),
    /// So many files are in its directory.
    Files(&'static str, usize),
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

/// States of a load: of PostgreSQL it has written redo, of MariaDB there are a first and a last
/// table.
const OF_POSTGRES_LOAD: [State; 2] = [
    State::Files("server-data/cluster/pg_wal", 4),
    State::Files("server-data/cluster/pg_wal", 6),
];
const OF_MARIADB_LOAD: [State; 2] = [
    State::Filled("server-data/cluster/redolab_tprocc/redolab_marker.ibd"),
    State::Filled("server-data/cluster/redolab_tprocc/stock.ibd"),
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
        State::Files(directory, count) => {
            std::fs::read_dir(folder.join(directory)).is_ok_and(|files| files.count() >= count)
        }
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

fn expect_no_rest_of_tproc_c(kind: PrivateKind, place: &InTurn<Place>, states: &[State]) {
    let run = [
        "run",
        "--workload",
        "tproc-c",
        "--driver",
        kind.driver,
        "--on",
    ];
    let time = ["--allow-busy", "--jobs", "2", "--time", "100s"];
    let run = [
        &run[..],
        &[text(&place.target)],
        &time,
        &["--warmup", "200ms"],
    ]
    .concat();
    kill_often(place, &run, states);
}

/// Before its tables are loaded, and while they are.
#[test]
fn a_server_of_tproc_c_leaves_nothing() {
    if let Some(place) = own_server::place() {
        expect_no_rest_of_tproc_c(POSTGRES, &place, &OF_POSTGRES[2..]);
        expect_no_rest_of_tproc_c(POSTGRES, &place, &OF_POSTGRES_LOAD);
    }
    if let Some(place) = own_mariadb::place() {
        expect_no_rest_of_tproc_c(MARIADB, &place, &OF_MARIADB_LOAD);
    }
}

/// What a killed load left on a server is never run, and the next load or `drop` removes it.
fn expect_no_rest_of_a_load(address: &str, schemas: &dyn Fn() -> Vec<String>) {
    let place = Place::new();
    let tprocc = |command: &str| place.run(&["tprocc", command, "--url", address]);
    let inside = Inside {
        seen: &|_| schemas().into_iter().map(PathBuf::from).collect(),
        counter: Counter::Processor,
        most: LOADED_MAX,
    };
    let load = ["tprocc", "load", "--url", address];
    inside::kill_often(&|| place.command(&load), &inside, &|what| {
        assert_eq!(schemas(), ["redolab_tprocc"], "{what}");
        let run = [
            "run",
            "--workload",
            "tproc-c",
            "--on",
            address,
            "--jobs",
            "1",
        ];
        let short = ["--time", "1s", "--warmup", "100ms"];
        let done = place.run(&[&run[..], &short].concat());
        // The server may end the last statement of a client that was killed: the load is whole.
        if done.code != Some(0) {
            done.expect(2, &["did not end"]);
        }
        tprocc("drop").expect(0, &["Removed the schema"]);
        assert_eq!(schemas(), [""; 0], "{what}");
    });
    let mut killed = place.command(&load);
    let killed = killed.stdout(Stdio::null()).stderr(Stdio::null());
    let killed = &mut killed.spawn().expect("starts");
    assert!(
        !inside::kill(killed, &inside, 1).is_empty(),
        "inside the load"
    );
    tprocc("load").expect(0, &[]);
    tprocc("check").expect(0, &[]);
    tprocc("drop").expect(0, &["Removed the schema"]);
    assert_eq!(schemas(), [""; 0]);
}

#[test]
fn a_load_of_a_postgres_server_is_whole_or_nothing() {
    let Some(server) = databases::server() else {
        return;
    };
    server
        .psql("GRANT CREATE ON DATABASE postgres TO bench")
        .expect("granted");
    let address = server.tcp_address("bench:hunter2");
    let schemas = "SELECT nspname FROM pg_namespace WHERE nspname = 'redolab_tprocc'";
    expect_no_rest_of_a_load(&address, &|| server.psql(schemas).expect("a query"));
}

#[test]
fn a_load_of_a_mariadb_server_is_whole_or_nothing() {
    let Some(server) = mariadb::server() else {
        return;
    };
    let granted = "GRANT ALL ON `redolab\\_tprocc`.* TO guest@'127.0.0.1'";
    server.sql(granted).expect("granted");
    let address = server.tcp_address("guest:hunter2");
    expect_no_rest_of_a_load(&address, &|| server.schemas());
}

/// While it reads, and while it writes its files.
fn expect_no_rest_of_a_collection(product: &str, address: &str) {
    let place = Place::new();
    let got = place.path().join("got");
    let collect = ["collect", product, address, "-o", "got", "--time"];
    let now = [&collect[..], &["10ms"]].concat();
    let files = || match got.exists() {
        true => entries(&got),
        false => Vec::new(),
    };
    place.run(&now).expect(0, &[]);
    let whole = files();
    std::fs::remove_dir_all(&got).expect("removes");
    let reads = |_| inside::existing(&got);
    let writes = |_| -> Vec<PathBuf> {
        let files = files();
        let is_whole = files.len() >= whole.len() && !files.contains(&"unfinished.txt".to_owned());
        let files = files.into_iter().filter(|_| !is_whole);
        files.map(PathBuf::from).collect()
    };
    let long = [&collect[..], &["100s"]].concat();
    let seen: [(&dyn Fn(u32) -> Vec<PathBuf>, _, _, _); 2] = [
        (&reads, &long, Counter::Read, READ_MAX),
        (&writes, &now, Counter::Written, 4 << 10),
    ];
    for (seen, arguments, counter, most) in seen {
        let inside = Inside {
            seen,
            counter,
            most,
        };
        let collect = || {
            // What ended before its kill is whole, and each later try would be refused.
            let _ = std::fs::remove_dir_all(&got);
            place.command(arguments)
        };
        inside::kill_often(&collect, &inside, &|what| {
            place.run(&now).expect(0, &[]);
            let names = |files: Vec<String>| -> Vec<String> {
                let is_fixed = |name: &String| !name.starts_with("waits-");
                files.into_iter().filter(is_fixed).collect()
            };
            assert_eq!(names(files()), names(whole.clone()), "{what}");
            std::fs::remove_dir_all(&got).expect("removes");
        });
    }
}

#[test]
fn a_collection_that_is_killed_is_not_in_the_way_of_the_next() {
    if let Some(server) = databases::server() {
        let address = server.tcp_address("bench:hunter2");
        expect_no_rest_of_a_collection("postgres", &address);
    }
    if let Some(server) = mariadb::server() {
        let address = server.tcp_address("guest:hunter2");
        expect_no_rest_of_a_collection("mariadb", &address);
    }
}
