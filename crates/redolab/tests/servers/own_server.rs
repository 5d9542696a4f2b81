//! Servers that redolab makes, uses and removes, through the binary.

use crate::harness::{self, Place, Running, entries, is_root};
use crate::turn::InTurn;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SHORT: [&str; 6] = ["--time", "1500ms", "--warmup", "200ms", "--jobs", "2"];
/// After a kill nothing of a server is left after this time.
const OUTLIVED_MAX: Duration = Duration::from_secs(5);
/// Kills; `REDOLAB_SERVER_KILLS` asks for more.
const KILLS: u64 = 6;

/// A place that a server's account can enter; `None` where there is no server.
fn place() -> Option<InTurn<Place>> {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    if !versions
        .map(|v| v.path().join("bin/initdb"))
        .any(|initdb| initdb.exists())
    {
        harness::skipped("no PostgreSQL server is installed");
        return None;
    }
    InTurn::of(|| {
        let place = Place::new();
        open(place.path(), 0o711);
        Some(place)
    })
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
}

fn folder(place: &Place, name: &str) -> PathBuf {
    let path = place.path().join(name);
    fs::create_dir(&path).expect("a new directory");
    path
}

fn command<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let on = [
        "run",
        "--driver",
        "postgres",
        "--on",
        target,
        "--allow-busy",
    ];
    [&on[..], &SHORT, more].concat()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Processes whose command line or working directory is below `folder`.
fn processes(folder: &Path) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("lists").flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let at = entry.path();
        let line = fs::read(at.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let inside = fs::read_link(at.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        let is_redolab = line.contains(" run --driver");
        // A process that has ended and was not waited for has neither.
        if !is_redolab && (inside || line.contains(text(folder))) {
            found.push((pid, line));
        }
    }
    found
}

/// Nothing of a server runs on `folder` any more, soon.
fn expect_ended(folder: &Path, what: &str) {
    let start = Instant::now();
    loop {
        let left = processes(folder);
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < OUTLIVED_MAX, "{what}: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_server_is_made_used_and_removed() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let done = place.run(&command(&target, &["--format", "json"]));
    done.expect(
        0,
        &[
            "Will make a server of its own",
            "how much the server writes",
        ],
    );
    place.expect_clean(&place.target);
    expect_ended(&place.target, "a whole run");
    let run = done.json();
    assert_eq!(run["target"]["kind"], "own_server");
    assert_eq!(run["target"]["product"], "PostgreSQL");
    let settings = &run["target"]["settings"];
    assert_eq!(
        (&settings["fsync"], &settings["synchronous_commit"]),
        (&"on".into(), &"on".into())
    );
    let row = &run["rows"][0];
    assert!(
        row["commits"].as_u64().is_some_and(|commits| commits > 20),
        "{row}"
    );
    assert_eq!(
        row["background_write_pct"],
        Value::Null,
        "the server is not somebody else"
    );
    assert!(
        !run["target"]["stack"]["layers"]
            .as_array()
            .expect("a stack")
            .is_empty(),
        "its device is known"
    );
}

#[test]
fn data_and_redo_are_on_directories_of_their_own() {
    let Some(place) = place() else { return };
    let (data, wal) = (folder(&place, "data"), folder(&place, "wal"));
    let arguments = [
        "run",
        "--driver",
        "postgres",
        "--data",
        text(&data),
        "--wal",
        text(&wal),
        "--allow-busy",
        "-v",
        "--format",
        "json",
    ];
    let setting = ["--server-setting", "wal_sync_method=open_datasync"];
    let done = place.run(&[&arguments[..], &SHORT, &setting].concat());
    done.expect(0, &[]);
    let run = done.json();
    assert_eq!(
        run["target"]["settings"]["wal_sync_method"],
        "open_datasync"
    );
    let shown = run["target"]["path"].as_str().expect("a path");
    for part in [text(&data), text(&wal), "wal_sync_method=open_datasync"] {
        assert!(shown.contains(part), "{shown}");
    }
    place.expect_clean(&data);
    place.expect_clean(&wal);
}

#[test]
fn two_servers_are_compared_in_one_command() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let (sync, dsync) = (
        format!("sync={target}"),
        format!("dsync={target}?wal_sync_method=open_datasync"),
    );
    let on = [
        "compare",
        "--driver",
        "postgres",
        "--on",
        &sync,
        "--on",
        &dsync,
        "--rounds",
        "2",
        "--allow-busy",
        "--format",
        "json",
    ];
    let done = place.run(&[&on[..], &SHORT].concat());
    done.expect(0, &[]);
    place.expect_clean(&place.target);
    let comparison = done.json();
    let text = comparison.to_string();
    assert!(
        text.contains("wal_sync_method") && text.contains("open_datasync"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_made_is_refused_with_what_to_do() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let no_programs = folder(&place, "empty");
    let refused: [(&[&str], i32, &str); 6] = [
        (
            &["--server-bin", text(&no_programs)],
            2,
            "there is no initdb in it",
        ),
        (&["--server-setting", "port=1"], 2, "redolab's own"),
        (&["--server-setting", "wal_sync_method"], 2, "NAME=VALUE"),
        (
            &["--server-setting", "no_such_setting=1"],
            1,
            "no_such_setting",
        ),
        (&["--max-write", "8G"], 2, "--max-write"),
        (&["--log-groups", "4"], 2, "redolab's own log"),
    ];
    for (more, code, words) in refused {
        place.run(&command(&target, more)).expect(code, &[words]);
        place.expect_clean(&place.target);
    }
    let unknown = ["run", "--driver", "oracel", "--on", &target];
    place
        .run(&unknown)
        .expect(2, &["there is no driver `oracel`"]);
    if is_root() {
        open(place.path(), 0o700);
        let closed = place.run(&command(&target, &[]));
        closed.expect(2, &["cannot enter it", "chmod o+x"]);
        place.expect_clean(&place.target);
    }
    expect_ended(&place.target, "refusals");
}

#[test]
fn a_server_that_is_killed_makes_an_incomplete_run() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let arguments = [
        "run",
        "--driver",
        "postgres",
        "--on",
        &target,
        "--allow-busy",
        "--jobs",
        "2",
        "--time",
        "20s",
        "--warmup",
        "100ms",
        "-v",
    ];
    let child = place.command(&arguments).spawn().expect("starts");
    let running = Running::of(child, "run".to_owned());
    let postmaster = await_postmaster(&place.target);
    std::thread::sleep(Duration::from_millis(1500));
    kill(postmaster);
    let done = running.wait();
    assert_ne!(done.code, Some(0), "{}", done.err);
    expect_ended(&place.target, "a killed server");
    place.expect_clean(&place.target);
}

/// The process of the server itself.
fn await_postmaster(folder: &Path) -> i32 {
    let start = Instant::now();
    loop {
        let all = processes(folder);
        let is_it =
            |line: &str| line.contains("listen_addresses=") && !line.contains("server-guard");
        if let Some((pid, _)) = all.iter().find(|(_, line)| is_it(line)) {
            return *pid;
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "no server: {all:?}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kill(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a process");
    // It may have ended by itself.
    let _ = kill_process(pid, Signal::KILL);
}

/// Redolab and its guard are killed at random moments: no server outlives them, the next command
/// removes what they left, and no run is falsely complete.
#[test]
fn no_server_outlives_a_kill() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let asked = std::env::var("REDOLAB_SERVER_KILLS").ok();
    let kills = asked.and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let seed = std::process::id();
    println!("seed {seed}");
    let mut random = u64::from(seed) | 1;
    for round in 0..kills {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let child = place
            .command(&command(&target, &["-q"]))
            .spawn()
            .expect("starts");
        let running = Running::of(child, "run".to_owned());
        // Every second time from the start on, else while the server is in use.
        if (round / 3) % 2 == 0 {
            await_postmaster(&place.target);
        }
        std::thread::sleep(Duration::from_millis((random >> 33) % 1500));
        let guards = processes(&place.target);
        let guards = guards
            .iter()
            .filter(|(_, line)| line.contains("server-guard"));
        let guards: Vec<i32> = guards.map(|(pid, _)| *pid).collect();
        match round % 3 {
            0 => running.signal(Signal::KILL),
            1 => guards.into_iter().for_each(kill),
            _ => {
                guards.into_iter().for_each(kill);
                running.signal(Signal::KILL);
            }
        }
        if round % 3 == 1 {
            // Without its guard a server is gone, and redolab says so and cleans up.
            running.wait();
            place.expect_clean(&place.target);
        } else {
            drop(running);
        }
        expect_ended(&place.target, &format!("seed {seed}, round {round}"));
    }
    let done = place.run(&command(&target, &[]));
    done.expect(0, &[]);
    place.expect_clean(&place.target);
    let listed = place.run(&[
        "runs",
        "--store",
        text(&place.store),
        "list",
        "--format",
        "json",
    ]);
    listed.expect(0, &[]);
    for run in listed.json()["runs"].as_array().expect("runs") {
        let rows = run["rows"].as_u64().unwrap_or(0);
        assert!(run["state"] != "complete" || rows == 1, "{run}");
        assert_ne!(run["state"], "damaged", "{run}");
    }
    assert!(entries(&place.store).len() > 1);
}

#[test]
fn a_commit_waits_for_its_standby() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let with = ["--server-setting", "standbys=1", "--format", "json"];
    let remote = ["--server-setting", "synchronous_commit=remote_write"];
    let done = place.run(&command(&target, &[&with[..], &remote].concat()));
    done.expect(0, &[]);
    let run = done.json();
    let settings = &run["target"]["settings"];
    assert_eq!(settings["synchronous_standby_names"], "FIRST 1 (s1)");
    assert_eq!(settings["synchronous_commit"], "remote_write");
    assert_eq!(
        settings["standbys"],
        Value::Null,
        "it is no setting of the server"
    );
    assert!(
        run["rows"][0]["commits"]
            .as_u64()
            .is_some_and(|commits| commits > 10)
    );
    place.expect_clean(&place.target);
    expect_ended(&place.target, "a server with a standby");
    let wrong = command(&target, &["--server-setting", "standbys=3"]);
    place.run(&wrong).expect(2, &["use 0 to 2 standbys"]);
    place.expect_clean(&place.target);
}

/// The verdict on a device is that of the database: by its own commits, and what its settings make
/// of an acknowledgement.
#[test]
fn check_judges_the_device_by_the_commits_of_a_server() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let check = |more: &[&str]| {
        let on = ["check", &target, "--driver", "postgres", "--allow-busy"];
        let rows = ["--quick", "--jobs", "1", "--time", "500ms", "--no-report"];
        let json = ["--warmup", "100ms", "--format", "json"];
        place.run(&[&on[..], &rows, &json, more].concat())
    };
    let healthy = check(&["--commit-rate", "1"]);
    let run = healthy.json();
    let verdict = &run["verdict"];
    // On a busy machine the figures are in doubt.
    let is_doubtful = verdict["answer"] == "undetermined";
    healthy.expect(if is_doubtful { 4 } else { 0 }, &[]);
    assert_eq!(verdict["performance"], "meets", "{verdict}");
    assert_eq!(verdict["durability"], "unverified", "{verdict}");
    let summary = verdict["summary"].as_str().expect("a sentence");
    assert!(
        is_doubtful || summary.contains("1 commits/s are needed"),
        "{summary}"
    );
    let too_much = check(&["--commit-rate", "10M"]).json();
    assert_eq!(too_much["verdict"]["performance"], "misses");
    for setting in ["fsync=off", "synchronous_commit=off"] {
        let liar = check(&["--server-setting", setting]);
        liar.expect(3, &[]);
        let verdict = &liar.json()["verdict"];
        assert_eq!(verdict["durability"], "volatile", "{setting}: {verdict}");
        let summary = verdict["summary"].as_str().expect("a sentence");
        assert!(summary.contains(&setting.replace('=', " = ")), "{summary}");
    }
    place.expect_clean(&place.target);
}
