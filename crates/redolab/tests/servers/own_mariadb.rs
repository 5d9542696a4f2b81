//! MariaDB servers that redolab makes, uses and removes, through the binary.

use crate::harness::{self, Place, Running, is_root};
use crate::private::{
    PrivateKind, SHORT, expect_ended, folder, kill, open, open_place, processes, text,
};
use crate::turn::InTurn;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const MARIADB: PrivateKind = PrivateKind {
    driver: "mariadb",
    argument: "--pid-file=server.pid",
};
/// A redo log that is made quickly.
const SMALL: [&str; 2] = ["--server-setting", "innodb_log_file_size=64M"];

/// A place that a server's account can enter; `None` where there is no server.
pub fn place() -> Option<InTurn<Place>> {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/libexec"].map(Path::new);
    let is_there = |name| folders.iter().any(|folder| folder.join(name).exists());
    if !is_there("mariadbd") || !is_there("mariadb-install-db") {
        harness::skipped("no MariaDB server is installed");
        return None;
    }
    InTurn::of(|| Some(open_place()))
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    found
}

fn redo_files(folder: &Path) -> Vec<PathBuf> {
    let mut all = files(folder);
    all.retain(|path| path.to_string_lossy().contains("ib_logfile"));
    all
}

#[test]
fn a_server_is_made_used_and_removed() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let done = place.run(&MARIADB.command(&target, &["--format", "json"]));
    done.expect(0, &["Will make a server of its own"]);
    place.expect_clean(&place.target);
    expect_ended(&place.target, "a whole run");
    let run = done.json();
    assert_eq!(run["target"]["kind"], "own_server");
    assert_eq!(run["target"]["product"], "MariaDB");
    let settings = &run["target"]["settings"];
    for (name, value) in [
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "ON"),
        ("innodb_log_file_size", "1073741824"),
        ("innodb_buffer_pool_size", "268435456"),
        ("log_bin", "OFF"),
    ] {
        assert_eq!(settings[name], value, "{name}");
    }
    let mean = run["target"]["calibrations"][0]["mean_bytes"].as_u64();
    assert!(
        mean.is_some_and(|mean| (1_850..=2_150).contains(&mean)),
        "{mean:?}"
    );
    let row = &run["rows"][0];
    let commits = row["commits"].as_u64();
    assert!(commits.is_some_and(|commits| commits > 20), "{row}");
    assert_eq!(
        row["background_write_pct"],
        Value::Null,
        "the server is not somebody else"
    );
    let layers = run["target"]["stack"]["layers"].as_array();
    assert!(
        layers.is_some_and(|layers| !layers.is_empty()),
        "its device is known"
    );
}

/// The redo log is where `--wal` says, whatever blanks its path has, and was written once.
#[test]
fn data_and_redo_are_on_directories_of_their_own() {
    let Some(place) = place() else { return };
    let (data, wal) = (folder(&place, "da ta"), folder(&place, "w al"));
    let on = ["run", "--driver", "mariadb", "--data", text(&data)];
    let more = ["--wal", text(&wal), "--allow-busy", "--time", "60s", "-v"];
    let child = place.command(&[&on[..], &more, &SMALL].concat()).spawn();
    let mut running = Running::of(child.expect("starts"), "run".to_owned());
    let server = MARIADB.await_server(&data);
    let redo = redo_files(&wal);
    assert!(!redo.is_empty(), "{:?}", files(&wal));
    assert_eq!(redo_files(&data), Vec::<PathBuf>::new());
    running.until_said("started");
    // What was written before is on the device then, and rows have not begun.
    running.until_said("left: done");
    for file in &redo {
        assert!(is_open(server, file), "{file:?} is not in use");
        assert!(!is_unwritten(file), "{file:?} was only allocated");
    }
    assert_eq!(network_sockets(server), 0, "it listens on the network");
    running.signal(Signal::INT);
    let done = running.wait();
    assert_ne!(done.code, Some(0), "{}", done.err);
    for folder in [&data, &wal] {
        place.expect_clean(folder);
        expect_ended(folder, "an interrupted run");
    }
}

/// What a process has open.
fn open_files(pid: i32) -> Vec<PathBuf> {
    let open = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    open.flatten()
        .filter_map(|fd| fs::read_link(fd.path()).ok())
        .collect()
}

fn is_open(pid: i32, file: &Path) -> bool {
    open_files(pid).iter().any(|open| open == file)
}

/// Sockets of TCP that a process has open.
fn network_sockets(pid: i32) -> usize {
    let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/{pid}/net/{name}")));
    let inodes: Vec<String> = tables
        .iter()
        .flatten()
        .flat_map(|table| table.lines().skip(1))
        .filter_map(|line| line.split_whitespace().nth(9).map(str::to_owned))
        .collect();
    let is_listed = |file: &&PathBuf| {
        let inode = file.to_string_lossy();
        inodes.iter().any(|n| inode == format!("socket:[{n}]"))
    };
    open_files(pid).iter().filter(is_listed).count()
}

/// Blocks are allocated that nobody has written, as far as that can be seen.
fn is_unwritten(path: &Path) -> bool {
    let extents = harness::done("filefrag", &["-v", text(path)]);
    extents.is_some_and(|text| text.contains("unwritten"))
}

#[test]
fn a_server_that_flushes_late_is_convicted_beside_one_that_does_not() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let (durable, late) = (
        format!("durable={target}"),
        format!("late={target}?innodb_flush_log_at_trx_commit=2"),
    );
    let on = [
        "compare", "--driver", "mariadb", "--on", &durable, "--on", &late,
    ];
    let more = ["--rounds", "2", "--allow-busy", "--format", "json"];
    let done = place.run(&[&on[..], &more, &SHORT, &SMALL].concat());
    place.expect_clean(&place.target);
    let comparison = done.expect(0, &[]).json();
    let differs = comparison["not_compared"].to_string();
    assert!(
        differs.contains("innodb_flush_log_at_trx_commit"),
        "{differs}"
    );
    assert!(!differs.contains("redolab-work"), "{differs}");
    let list = place.run(&["runs", "list", "--format", "json"]).json();
    for run in list["runs"].as_array().expect("runs") {
        let id = run["run_id"].as_str().expect("an id");
        let run = place.run(&["runs", "show", id, "--format", "json"]).json();
        let findings = run["findings"].as_array().expect("a list").iter();
        let of_server: Vec<&str> = findings
            .filter_map(|finding| finding["id"].as_str())
            .filter(|id| id.starts_with("server."))
            .collect();
        let setting = &run["target"]["settings"]["innodb_flush_log_at_trx_commit"];
        let expected = match setting.as_str() {
            Some("1") => &["server.acknowledgement"],
            Some("2") => &["server.late_flush"],
            other => panic!("a server with {other:?}"),
        };
        assert_eq!(of_server, expected, "{setting}");
    }
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(4));
}

#[test]
fn it_is_compared_with_postgres_in_one_command() {
    if fs::read_dir("/usr/lib/postgresql").is_err() {
        return harness::skipped("no PostgreSQL server is installed");
    }
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let (maria, postgres) = (
        format!("maria=mariadb:{target}?innodb_log_file_size=64M"),
        format!("pg=postgres:{target}"),
    );
    let on = ["compare", "--on", &maria, "--on", &postgres];
    let more = ["--rounds", "2", "--allow-busy", "--format", "json"];
    let done = place.run(&[&on[..], &more, &SHORT].concat());
    let comparison = done.expect(0, &[]).json();
    place.expect_clean(&place.target);
    let mut rate = comparison["differences"].as_array().expect("a list").iter();
    let rate = rate.rfind(|row| row["metric"] == "commit_throughput_tps");
    let rate = rate.expect("measured on both");
    assert!(
        rate["a"].as_f64() > Some(20.0) && rate["b"].as_f64() > Some(20.0),
        "{rate}"
    );
    let differs = comparison["not_compared"].to_string();
    assert!(!differs.contains("setting"), "{differs}");
}

#[test]
fn what_cannot_be_made_is_refused_with_what_to_do() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let none = folder(&place, "empty");
    let mysql = folder(&place, "mysql");
    fs::write(mysql.join("mysqld"), "").expect("writes");
    let unknown = "no_such_setting=1";
    let refused: [(&[&str], i32, &str); 9] = [
        (&["--server-bin", text(&none)], 2, "package mariadb-server"),
        (
            &["--server-bin", text(&mysql)],
            2,
            "no private servers of MySQL",
        ),
        (
            &["--server-setting", "skip-networking=0"],
            2,
            "redolab's own",
        ),
        (
            &["--server-setting", "standbys=1"],
            2,
            "only private PostgreSQL",
        ),
        // These are the server's own words.
        (
            &["--server-setting", unknown],
            1,
            "unknown variable 'no_such_setting=1'",
        ),
        (
            &["--server-setting", "innodb_flush_method=banana"],
            1,
            "Error while setting value 'banana'",
        ),
        (
            &["--server-setting", "innodb_flush_log_at_trx_commit=7"],
            2,
            "the server uses 3 instead",
        ),
        (&["--workload", "LGWR-THR"], 2, "no equivalent"),
        (&["--max-write", "8M"], 2, "--max-write"),
    ];
    for (more, code, words) in refused {
        let arguments = MARIADB.command(&target, &[more, &SMALL].concat());
        place.run(&arguments).expect(code, &[words]);
        place.expect_clean(&place.target);
    }
    let mysql = ["run", "--driver", "mysql", "--on", &target];
    place
        .run(&mysql)
        .expect(2, &["servers of mariadb, not of mysql"]);
    if is_root() {
        open(place.path(), 0o700);
        let closed = place.run(&MARIADB.command(&target, &[]));
        closed.expect(2, &["cannot enter it", "chmod o+x"]);
        place.expect_clean(&place.target);
    }
    expect_ended(&place.target, "refusals");
}

#[test]
fn a_server_that_is_killed_makes_an_incomplete_run() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let on = [
        "run",
        "--driver",
        "mariadb",
        "--on",
        &target,
        "--allow-busy",
    ];
    let more = ["--jobs", "2", "--time", "60s", "--warmup", "100ms", "-v"];
    let child = place.command(&[&on[..], &more, &SMALL].concat()).spawn();
    let mut running = Running::of(child.expect("starts"), "run".to_owned());
    let server = MARIADB.await_server(&place.target);
    running.until_said("started");
    std::thread::sleep(Duration::from_secs(4));
    assert!(
        processes(&place.target)
            .iter()
            .any(|(pid, _)| *pid == server)
    );
    kill(server);
    let done = running.wait();
    assert_ne!(done.code, Some(0), "{}", done.err);
    expect_ended(&place.target, "a killed server");
    place.expect_clean(&place.target);
}

#[test]
fn no_server_outlives_a_kill() {
    let Some(place) = place() else { return };
    MARIADB.expect_no_server_outlives_a_kill(&place);
}

/// The server counts nothing in its rows: the verdict is on the commits that clients see.
#[test]
fn check_judges_the_device_by_its_commits() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let on = ["check", &target, "--driver", "mariadb", "--allow-busy"];
    let rows = ["--quick", "--jobs", "1", "--time", "500ms", "--no-report"];
    let json = ["--warmup", "100ms", "--format", "json"];
    let need = ["--p99", "30s", "--commit-rate", "1"];
    let done = place.run(&[&on[..], &rows, &json, &need, &SMALL].concat());
    place.expect_clean(&place.target);
    let verdict = &done.json()["verdict"];
    assert_eq!(verdict["performance"], "meets", "{verdict}");
    assert_eq!(verdict["durability"], "unverified", "{verdict}");
}
