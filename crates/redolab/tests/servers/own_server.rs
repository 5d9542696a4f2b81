//! Servers that redolab makes, uses and removes, through the binary.

use crate::harness::{self, Place, Running, expect_run, is_root};
use crate::private::{PrivateKind, SHORT, expect_ended, folder, kill, open, open_place, text};
use crate::turn::InTurn;
use serde_json::Value;
use std::fs;
use std::time::Duration;

pub const POSTGRES: PrivateKind = PrivateKind {
    driver: "postgres",
    argument: "listen_addresses=",
};

/// A place that a server's account can enter; `None` where there is no server.
pub fn place() -> Option<InTurn<Place>> {
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
    InTurn::of(|| Some(open_place()))
}

#[test]
fn a_server_is_made_used_and_removed() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let done = place.run(&POSTGRES.command(&target, &["--format", "json"]));
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
        (&["--max-write", "8M"], 2, "--max-write"),
        (&["--log-groups", "4"], 2, "redolab's own log"),
    ];
    for (more, code, words) in refused {
        place
            .run(&POSTGRES.command(&target, more))
            .expect(code, &[words]);
        place.expect_clean(&place.target);
    }
    let unknown = ["run", "--driver", "oracel", "--on", &target];
    place
        .run(&unknown)
        .expect(2, &["there is no driver `oracel`"]);
    if is_root() {
        open(place.path(), 0o700);
        let closed = place.run(&POSTGRES.command(&target, &[]));
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
    let postmaster = POSTGRES.await_server(&place.target);
    std::thread::sleep(Duration::from_millis(1500));
    kill(postmaster);
    let done = running.wait();
    assert_ne!(done.code, Some(0), "{}", done.err);
    expect_ended(&place.target, "a killed server");
    place.expect_clean(&place.target);
}

#[test]
fn no_server_outlives_a_kill() {
    let Some(place) = place() else { return };
    POSTGRES.expect_no_server_outlives_a_kill(&place);
}

#[test]
fn a_commit_waits_for_its_standby() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let with = ["--server-setting", "standbys=1", "--format", "json"];
    let remote = ["--server-setting", "synchronous_commit=remote_write"];
    let done = place.run(&POSTGRES.command(&target, &[&with[..], &remote].concat()));
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
    for (wrong, why) in [
        ("standbys=3", "use 0 to 2 standbys"),
        ("standby_round_trip=1ms", "there is no standby"),
    ] {
        let wrong = POSTGRES.command(&target, &["--server-setting", wrong]);
        place.run(&wrong).expect(2, &[why]);
        place.expect_clean(&place.target);
    }
}

#[test]
fn the_distance_of_a_standby_is_in_every_commit() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let with = [
        "--server-setting",
        "standbys=2",
        "--server-setting",
        "standby_round_trip=30ms",
        "--format",
        "json",
    ];
    let done = place.run(&POSTGRES.command(&target, &with));
    done.expect(0, &[]);
    let run = done.json();
    let row = &run["rows"][0];
    let least = row["commit_latency"]["min_ns"].as_f64();
    assert!(least >= Some(30e6), "{row}");
    assert!(row["commits"].as_u64() > Some(10), "{row}");
    place.expect_clean(&place.target);
    expect_ended(&place.target, "a server with standbys far away");
}

/// The verdict on a device is that of the database: by its own commits, and what its settings make
/// of an acknowledgement.
#[test]
fn check_judges_the_device_by_the_commits_of_a_server() {
    let Some(place) = place() else { return };
    let target = text(&place.target).to_owned();
    let check = |more: &[&str]| {
        let on = [
            "check",
            "--driver",
            "postgres",
            "--on",
            &target,
            "--allow-busy",
        ];
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
        is_doubtful || summary.contains("1.00 commits/s are needed"),
        "{summary}"
    );
    let too_much = check(&["--commit-rate", "10M"]).json();
    assert_eq!(too_much["verdict"]["performance"], "misses");
    for setting in ["fsync=off", "synchronous_commit=off"] {
        let liar = check(&["--server-setting", setting]);
        let verdict = &expect_run(&liar, 3)["verdict"];
        assert_eq!(verdict["durability"], "volatile", "{setting}: {verdict}");
        let summary = verdict["summary"].as_str().expect("a sentence");
        assert!(summary.contains(&setting.replace('=', " = ")), "{summary}");
    }
    place.expect_clean(&place.target);
}

/// A server that flushes to memory keeps its settings, and loses everything with the power.
#[test]
fn a_server_whose_log_is_in_memory_is_convicted() {
    let Some(place) = place() else { return };
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return harness::skipped("there is no tmpfs on /dev/shm to write to");
    };
    open(memory.path(), 0o711);
    let wal = memory.path().join("wal");
    fs::create_dir(&wal).expect("a folder");
    let data = folder(&place, "data");
    let on = ["run", "--driver", "postgres", "--allow-busy"];
    let folders = ["--data", text(&data), "--wal", text(&wal)];
    let more = ["--format", "json"];
    let run = place
        .run(&[&on[..], &folders, &SHORT, &more].concat())
        .json();
    assert_eq!(run["target"]["settings"]["fsync"], "on");
    let findings = run["findings"].as_array().expect("a list");
    let volatile = findings.iter().find(|f| f["id"] == "stack.volatile");
    assert_eq!(volatile.expect("it is reported")["weight"], "bad");
    place.expect_clean(&data);
    place.expect_clean(&wal);
}
