//! `redolab watch` on real servers: its counts are those of the server, with a second server and
//! another file written on the same disk; what it leaves behind is nothing.
//!
//! `REDOLAB_WATCH_RUNS` repeats each (`cargo xtask prove watched`).

use crate::databases::{of_server, server as postgres};
use crate::harness::{Place, Running, is_root, schema_problems, skipped};
use crate::mariadb::server as mariadb;
use crate::turn::InTurn;
use redolab::observe::tracefs::mount::Tracefs;
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Commits of a run.
const COMMITS: usize = 400;
/// Statistics of PostgreSQL arrive so late.
const STATISTICS: Duration = Duration::from_millis(1_500);

/// Whether the kernel's tracing can be used here; prints why not.
pub fn can_watch() -> bool {
    if !is_root() {
        skipped("only root may use the kernel's tracing");
        return false;
    }
    match Tracefs::find() {
        Ok(_) => true,
        Err(error) => {
            skipped(&error.to_string());
            false
        }
    }
}

fn runs() -> usize {
    let asked = std::env::var("REDOLAB_WATCH_RUNS").ok();
    asked.map_or(1, |n| n.parse().expect("REDOLAB_WATCH_RUNS is a number"))
}

/// A command that has begun to watch.
pub fn begin(place: &Place, arguments: &[&str]) -> Running {
    let mut command = place.command(&[&["watch", "--format", "json"], arguments].concat());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = Running::of(command.spawn().expect("it starts"), arguments.join(" "));
    // After the first second.
    running.until_said("log writes/s");
    running
}

/// The run that a command makes which is asked to end; none of its events was lost.
pub fn end(running: Running) -> Value {
    let run = ended(running);
    assert_eq!(run["rows"][0]["watched"]["lost_events"], 0);
    run
}

/// What was watched whole, with what belongs to it. A busy machine may lose events and ends of
/// flushes, which the run says: then it is watched again, at most five times.
pub fn whole<T>(mut watch: impl FnMut() -> Option<(Value, T)>) -> Option<(Value, T)> {
    for _ in 0..5 {
        let (run, more) = watch()?;
        let lost = &run["rows"][0]["watched"]["lost_events"];
        if lost == 0 && !run.to_string().contains("of which the end was not seen") {
            return Some((run, more));
        }
        println!("not whole ({lost} events lost), so it is watched again");
    }
    skipped("the machine is too busy: five times not all was seen");
    None
}

/// The run that a command makes which is asked to end.
pub fn ended(running: Running) -> Value {
    running.signal(Signal::INT);
    let done = running.wait();
    done.expect(0, &["Watching"]);
    let run = done.json();
    assert_eq!(
        schema_problems("run-2.schema.json", &run),
        [] as [String; 0]
    );
    assert_eq!(run["origin"], "watched");
    run
}

/// Names of instances of redolab that there are.
pub fn instances() -> Vec<String> {
    let tracefs = Tracefs::find().expect("it was there");
    let entries = std::fs::read_dir(tracefs.root().join("instances")).expect("a folder");
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("redolab")).collect()
}

/// Writes a file of `place` and flushes it, again and again, until it is dropped.
struct Neighbour<'a> {
    stop: &'a AtomicBool,
}

impl Drop for Neighbour<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

fn beside(place: &Place, load: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::File::create(place.path().join("other")).expect("made");
            while !stop.load(Ordering::SeqCst) {
                file.write_all(&[7; 4096]).expect("written");
                file.sync_data().expect("flushed");
            }
        });
        let _neighbour = Neighbour { stop: &stop };
        load();
    });
}

fn count(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is a count"))
}

/// What a server counted before and after, outside and inside of the watching.
struct Bounds<T> {
    outer: [T; 2],
    inner: [T; 2],
}

impl Bounds<u64> {
    fn expect(&self, what: &str, seen: u64) {
        let least = self.inner[1] - self.inner[0];
        let most = self.outer[1] - self.outer[0];
        assert!(least > 0, "{what}: the server counted none");
        assert!(
            (least..=most).contains(&seen),
            "{what}: {seen} seen, the server counted from {least} to {most}"
        );
        println!("{what}: {seen} seen, the server counted from {least} to {most}");
    }
}

/// Calls that wrote and flushes of the WAL that PostgreSQL has counted.
fn counted(server: &postgres::TestServer) -> [u64; 2] {
    std::thread::sleep(STATISTICS);
    let has_io = server.value("SELECT current_setting('server_version_num')::int >= 180000") == "t";
    let sql = match has_io {
        true => {
            "SELECT sum(writes) || ' ' || sum(fsyncs) FROM pg_stat_io \
             WHERE object = 'wal' AND context = 'normal'"
        }
        false => "SELECT wal_write || ' ' || wal_sync FROM pg_stat_wal",
    };
    let text = server.value(sql);
    let mut numbers = text.split(' ').map(|n| n.parse().expect("a count"));
    [
        numbers.next().expect("writes"),
        numbers.next().expect("flushes"),
    ]
}

fn commit_on_postgres(server: &postgres::TestServer) {
    let one = "SELECT pg_logical_emit_message(true, 'r', repeat('x', 500)) IS NULL;\n";
    server.psql(&one.repeat(COMMITS)).expect("committed");
}

/// Neither its counts nor its settings convict it.
pub fn expect_acquitted(run: &Value) {
    let found = of_server(run);
    let is_good = |(_, weight): &(String, String)| weight == "good" || weight == "info";
    assert!(found.iter().all(is_good), "{found:?}");
    assert_eq!(
        run["verdict"]["durability"], "unverified",
        "{}",
        run["verdict"]
    );
}

pub fn pid(pid: Pid) -> String {
    pid.as_raw_nonzero().to_string()
}

/// What a server counted of writes and flushes, and where its run is kept.
type OfPostgres = (Bounds<[u64; 2]>, Place);

/// A watched run of PostgreSQL with these settings, beside a second server and another file; and
/// what the server counted.
fn watch_postgres(settings: &[&str]) -> Option<(Value, OfPostgres)> {
    if !can_watch() {
        return None;
    }
    let start = || {
        let second = postgres::TestServer::start(&[], "")?;
        Some((postgres::TestServer::start(settings, "")?, second))
    };
    let servers = InTurn::of(start)?;
    let (server, second) = &*servers;
    let place = Place::new();
    let before = counted(server);
    let address = server.tcp_address("redo");
    let watching = begin(
        &place,
        &[
            "--pid",
            &pid(server.pid()),
            "--database",
            &address,
            "--trace",
            "log.trc",
        ],
    );
    let inside = counted(server);
    beside(&place, || {
        std::thread::scope(|scope| {
            scope.spawn(|| commit_on_postgres(second));
            commit_on_postgres(server);
        });
    });
    let after = counted(server);
    let run = ended(watching);
    let bounds = Bounds {
        outer: [before, counted(server)],
        inner: [inside, after],
    };
    Some((run, (bounds, place)))
}

fn of<const N: usize>(bounds: &Bounds<[u64; N]>, at: usize) -> Bounds<u64> {
    Bounds {
        outer: bounds.outer.map(|counts| counts[at]),
        inner: bounds.inner.map(|counts| counts[at]),
    }
}

#[test]
fn writes_and_flushes_of_postgres_are_those_that_it_counts() {
    for _ in 0..runs() {
        let settings = ["wal_sync_method=fdatasync"];
        let Some((run, (bounds, place))) = whole(|| watch_postgres(&settings)) else {
            return;
        };
        let row = &run["rows"][0];
        let watched = &row["watched"];
        of(&bounds, 0).expect("writes", count(&watched["write_calls"]));
        of(&bounds, 1).expect("flushes", count(&row["flushes"]));
        assert_eq!(count(&watched["log_writes"]), count(&row["flushes"]));
        assert!(count(&row["commits"]) >= COMMITS as u64, "{row}");
        assert_eq!(run["target"]["product"], "PostgreSQL");
        assert_eq!(run["target"]["traces_system_calls"], true);
        assert_eq!(run["verdict"]["scope"]["watched"], true);
        assert_eq!(run["target"]["settings"]["fsync"], "on");
        assert!(
            count(&watched["writing_commits"]) + 10 >= COMMITS as u64,
            "{watched}"
        );
        expect_acquitted(&run);
        expect_same_when_imported(&place, row);
    }
}

/// The trace of a run has its log writes, to the nearest microsecond.
fn expect_same_when_imported(place: &Place, row: &Value) {
    let done = place.run(&["import", "log.trc", "--format", "json"]);
    done.expect(0, &[]);
    let imported = done.json();
    let rows = imported["rows"].as_array().expect("rows");
    let event = "log_file_parallel_write";
    let waits = rows
        .iter()
        .find_map(|row| row["waits"].get(event))
        .expect("log writes");
    let own = &row["waits"][event];
    assert_eq!(waits["count"], own["count"]);
    for figure in ["mean_ns", "min_ns", "max_ns"] {
        let of = |waits: &Value| waits[figure].as_f64().expect("a time");
        let differs = (of(waits) - of(own)).abs();
        assert!(
            differs <= 500.0,
            "{figure}: {} and {}",
            waits[figure],
            own[figure]
        );
    }
}

#[test]
fn each_write_of_postgres_with_open_datasync_is_durable_by_itself() {
    for _ in 0..runs() {
        let settings = ["wal_sync_method=open_datasync"];
        let Some((run, (bounds, _))) = whole(|| watch_postgres(&settings)) else {
            return;
        };
        let row = &run["rows"][0];
        let watched = &row["watched"];
        of(&bounds, 0).expect("writes", count(&watched["write_calls"]));
        assert_eq!(watched["log_writes"], watched["write_calls"]);
        assert_eq!(
            watched["flush"]["count"], watched["write_calls"],
            "within each write"
        );
        expect_acquitted(&run);
    }
}

/// Log writes, all flushes of InnoDB and commits that MariaDB has counted.
fn counted_by_mariadb(server: &mariadb::TestServer) -> [u64; 3] {
    let status = |name: &str| {
        let sql = format!(
            "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='{name}'"
        );
        server.value(&sql).parse().expect("a count")
    };
    ["INNODB_LOG_WRITES", "INNODB_DATA_FSYNCS", "HANDLER_COMMIT"].map(status)
}

/// A watched run of MariaDB beside a second server and another file, and what the server counted.
fn watch_mariadb() -> Option<(Value, Bounds<[u64; 3]>)> {
    let start = || {
        Some((
            mariadb::TestServer::start(&[])?,
            mariadb::TestServer::start(&[])?,
        ))
    };
    let servers = InTurn::of(start)?;
    let (server, second) = &*servers;
    let table = "CREATE DATABASE d; CREATE TABLE d.t (b VARCHAR(200)) ENGINE=InnoDB";
    for server in [server, second] {
        server.sql(table).expect("made");
    }
    let insert = "INSERT INTO d.t VALUES (REPEAT('x', 100));\n".repeat(COMMITS);
    let place = Place::new();
    let before = counted_by_mariadb(server);
    let address = server.tcp_address(mariadb::USER);
    let watching = begin(
        &place,
        &["--pid", &pid(server.pid()), "--database", &address],
    );
    let inside = counted_by_mariadb(server);
    beside(&place, || {
        std::thread::scope(|scope| {
            scope.spawn(|| second.sql(&insert).expect("committed"));
            server.sql(&insert).expect("committed");
        });
    });
    let after = counted_by_mariadb(server);
    let run = ended(watching);
    let bounds = Bounds {
        outer: [before, counted_by_mariadb(server)],
        inner: [inside, after],
    };
    Some((run, bounds))
}

/// MariaDB counts the flushes of all of its files together: those of its log are the most of them.
#[test]
fn log_writes_of_mariadb_are_those_that_it_counts() {
    if !can_watch() {
        return;
    }
    for _ in 0..runs() {
        let Some((run, bounds)) = whole(watch_mariadb) else {
            return;
        };
        let (row, watched) = (&run["rows"][0], &run["rows"][0]["watched"]);
        of(&bounds, 0).expect("writes", count(&watched["write_calls"]));
        let flushes = count(&row["flushes"]) + count(&watched["other_flushes"]);
        let [outer, inner] = [bounds.outer, bounds.inner].map(|[from, to]| to[1] - from[1]);
        assert!(flushes <= outer, "{flushes} flushes");
        assert!(flushes + 20 >= inner, "{flushes} flushes");
        of(&bounds, 2).expect("commits", count(&row["commits"]));
        expect_acquitted(&run);
        assert_eq!(run["target"]["product"], "InnoDB");
        assert_eq!(run["target"]["traces_system_calls"], false);
        assert!(
            count(&watched["device_bytes"]) >= count(&watched["written_bytes"]),
            "{watched}"
        );
    }
}

#[test]
fn a_server_that_ends_ends_the_watching() {
    if !can_watch() {
        return;
    }
    let Some(mut server) = InTurn::of(|| postgres::TestServer::start(&[], "")) else {
        return;
    };
    let place = Place::new();
    let pid = pid(server.pid());
    let watching = begin(&place, &["--pid", &pid]);
    commit_on_postgres(&server);
    server.kill();
    let done = watching.wait();
    done.expect(0, &[]);
    let notes = done.json()["rows"][0]["watched"]["notes"].to_string();
    assert!(notes.contains(&format!("Process {pid} ended")), "{notes}");
    place
        .run(&["watch", "--pid", &pid])
        .expect(2, &["there is no such process"]);
}
