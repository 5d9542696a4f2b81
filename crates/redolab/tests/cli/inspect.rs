//! `redolab inspect` on logs that are sound, torn, damaged, foreign, and open.

use crate::harness::{Done, Place, entries, schema_problems};
use redo::engine::Paths;
use redo::{CommitMode, Log, Options, Shape};
use std::os::unix::fs::FileExt;
use std::path::Path;

const RECORDS: usize = 40;

fn shape() -> Shape {
    Shape::new()
        .block_bytes(Some(4096))
        .groups(2)
        .file_bytes(1 << 20)
}

fn options() -> Options {
    Options::default()
        // Every file system takes it.
        .sync_method(device::SyncMethod::Buffered)
}

/// A log with [`RECORDS`] commits in `directory`; closed, or left as after a crash.
fn log(directory: &Path, close: bool) {
    Log::builder(directory)
        .shape(shape())
        .create()
        .expect("creates");
    let (log, _) = Log::builder(directory)
        .options(options())
        .open()
        .expect("opens");
    let mut session = log.session();
    for i in 0..RECORDS {
        session.append(&[&[i as u8; 3000][..]]).expect("fits");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("commits");
    }
    drop(session);
    if close {
        log.close().expect("closes");
    }
}

fn inspect(place: &Place, more: &[&str]) -> Done {
    let target = place.target.display().to_string();
    place.run(&[&["inspect", target.as_str()], more].concat())
}

fn json(place: &Place, more: &[&str]) -> serde_json::Value {
    let done = inspect(place, &[&["--format", "json"], more].concat());
    let json = done.json();
    assert_eq!(
        schema_problems("inspection-1.schema.json", &json),
        Vec::<String>::new()
    );
    json
}

/// Everything that could tell of a write: content, length, times.
fn state(directory: &Path) -> Vec<(String, Vec<u8>, std::time::SystemTime)> {
    let read = |name: String| {
        let path = directory.join(&name);
        let modified = std::fs::metadata(&path).and_then(|m| m.modified());
        let bytes = std::fs::read(&path).expect("reads");
        (name, bytes, modified.expect("a time"))
    };
    entries(directory).into_iter().map(read).collect()
}

#[test]
fn a_sound_log_is_described_and_not_touched() {
    for close in [true, false] {
        let place = Place::new();
        log(&place.target, close);
        let before = state(&place.target);
        let found = json(&place, &["--dump", "--limit", "3"]);
        assert_eq!(found["records"], RECORDS);
        assert_eq!(found["end"], "clean");
        assert_eq!(found["verified"], true);
        assert_eq!(found["control"]["closed_at_rba"].is_string(), close);
        assert_eq!(found["problems"], serde_json::json!([]));
        assert_eq!(found["open_by_pid"], serde_json::Value::Null);
        let dump = found["dump"].as_array().expect("a dump");
        assert_eq!(dump.len(), 3);
        assert_eq!(dump[0]["rba"], found["first_rba"]);
        assert_eq!(dump[2]["head_hex"], "02".repeat(32));
        assert_eq!(dump[2]["bytes"], 3000);
        assert_eq!(found["control"]["format_version"], 2);
        assert!(found["control"]["incarnations"][0]["life_id"].is_string());
        // Closing proves the end; without it, opening has proved the beginning.
        assert_eq!(found["control"]["durable_rba"] == found["end_rba"], close);
        let text = inspect(&place, &["--dump"]);
        text.expect(0, &["40", "clean", "current", "unused", "0x000001."]);
        let bytes = format!("  00000010 {0} {0}  |{1}|", " 23".repeat(8), "#".repeat(16));
        text.expect(0, &[&bytes, "3,000 bytes"]);
        let words: Vec<&str> = text.out.split_whitespace().collect();
        let warned = words.join(" ").contains("could be lost without notice");
        assert_eq!(warned, !close);
        // The log's files stand for their directory.
        for name in ["redo.ctl", "redo02.log"] {
            let file = place.target.join(name).display().to_string();
            place.run(&["inspect", &file]).expect(0, &["clean"]);
        }
        assert!(state(&place.target) == before, "it was touched");
        assert!(!place.store.exists());
    }
}

/// Spoils the block of record `which`: past its header, so that its mark stays.
fn damage(place: &Place, which: usize) -> String {
    let found = json(place, &["--dump", "--limit", "0"]);
    let rba = found["dump"][which]["rba"].as_str().expect("an RBA");
    let block = rba.split('.').nth(1).expect("a block");
    let block = u64::from_str_radix(block, 16).expect("hexadecimal");
    let path = Paths::new(&place.target).logs(2).remove(0);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(path)
        .expect("opens");
    file.write_all_at(b"damage", 4096 * (1 + block) + 200)
        .expect("writes");
    rba.to_owned()
}

#[test]
fn a_torn_tail_is_told_from_damage() {
    for (records_lost, end, code) in [(1, "torn", 0), (20, "damaged", 1)] {
        let place = Place::new();
        log(&place.target, false);
        damage(&place, RECORDS - records_lost);
        let found = json(&place, &[]);
        assert_eq!(found["end"], end, "{found}");
        assert_eq!(found["records"], RECORDS - records_lost);
        let text = inspect(&place, &[]);
        text.expect(code, &[if code == 0 { "torn" } else { "DAMAGED" }]);
        if code == 1 {
            text.expect(1, &["RBA 0x000001.", "a block that counts"]);
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_is_no_log_or_another_is_named() {
    type Spoil = fn(&Path);
    let overwrite = |path: &Path, at: u64, bytes: &[u8]| {
        let file = std::fs::OpenOptions::new().write(true).open(path);
        file.expect("opens")
            .write_all_at(bytes, at)
            .expect("writes");
    };
    let cases: [(&str, Spoil, &[&str]); 8] = [
        (
            "no control",
            |d| std::fs::remove_file(d.join("redo.ctl")).expect("removes"),
            &["there is no redo log in this directory"],
        ),
        (
            "a foreign control",
            |d| {
                std::fs::write(d.join("redo.ctl"), vec![7; 32_768]).expect("writes");
            },
            &["redo.ctl", "not a redolab log file"],
        ),
        (
            "a control of another size",
            |d| {
                std::fs::write(d.join("redo.ctl"), "x").expect("writes");
            },
            &["redo.ctl", "not a redolab log file"],
        ),
        (
            "a foreign log",
            |d| {
                std::fs::write(d.join("redo02.log"), vec![7; 1 << 20]).expect("writes");
            },
            &["redo02.log", "not a redolab log file"],
        ),
        (
            "a short log",
            |d| {
                let file = std::fs::OpenOptions::new()
                    .write(true)
                    .open(d.join("redo01.log"));
                file.expect("opens").set_len(4096).expect("cuts");
            },
            &["redo01.log", "has 4096 bytes where"],
        ),
        (
            "a missing log",
            |d| std::fs::remove_file(d.join("redo01.log")).expect("removes"),
            &["redo01.log", "No such file"],
        ),
        (
            "logs that changed places",
            |d| {
                std::fs::copy(d.join("redo01.log"), d.join("redo02.log")).expect("copies");
            },
            &["redo02.log", "holds group 0 of 2"],
        ),
        (
            "a link",
            |d| {
                std::fs::rename(d.join("redo01.log"), d.join("elsewhere")).expect("renames");
                std::os::unix::fs::symlink(d.join("elsewhere"), d.join("redo01.log"))
                    .expect("links");
            },
            &["redo01.log", "symbolic link"],
        ),
    ];
    for (what, spoil, words) in cases {
        let place = Place::new();
        log(&place.target, true);
        spoil(&place.target);
        println!("{what}");
        inspect(&place, &[]).expect(1, words);
        assert!(
            Log::builder(&place.target)
                .options(options())
                .open()
                .is_err(),
            "{what}"
        );
    }
    let place = Place::new();
    log(&place.target, true);
    let newer = |name: &str, at: u64| {
        overwrite(&place.target.join(name), at, &[9]);
        inspect(&place, &[]).expect(1, &[name, "format version 9"]);
    };
    newer("redo01.log", 8);
    newer("redo.ctl", 8);
}

#[test]
fn the_log_of_another_is_refused() {
    let (place, other) = (Place::new(), Place::new());
    log(&place.target, true);
    log(&other.target, true);
    let name = "redo02.log";
    std::fs::copy(other.target.join(name), place.target.join(name)).expect("copies");
    inspect(&place, &[]).expect(1, &[name, "belongs to another log", "DAMAGED"]);
}

#[test]
fn one_damaged_copy_of_the_control_information_is_a_warning() {
    let place = Place::new();
    log(&place.target, true);
    let path = place.target.join("redo.ctl");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(path)
        .expect("opens");
    file.write_all_at(b"damage", 100).expect("writes");
    inspect(&place, &[]).expect(
        0,
        &["copy 1 of the control information is damaged", "clean"],
    );
    file.write_all_at(b"damage", 16_384 + 100).expect("writes");
    inspect(&place, &[]).expect(1, &["both copies", "DAMAGED"]);
}

#[test]
fn an_open_log_has_one_owner_and_can_be_looked_at() {
    let place = Place::new();
    Log::builder(&place.target)
        .shape(shape())
        .create()
        .expect("creates");
    let (log, _) = Log::builder(&place.target)
        .options(options())
        .open()
        .expect("opens");
    let second = Log::builder(&place.target).options(options()).open();
    let second = second.map(|_| ()).expect_err("it has an owner");
    assert!(
        second
            .to_string()
            .contains("in use by this process already"),
        "{second}"
    );
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = log.session();
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                session.append(&[&[1; 500][..]]).expect("fits");
                session.commit(CommitMode::WAIT_IMMEDIATE).expect("commits");
                log.checkpoint(log.durable()).expect("moves on");
            }
        });
        let pid = std::process::id();
        for _ in 0..5 {
            let found = json(&place, &[]);
            assert_eq!(found["open_by_pid"], pid, "{found}");
            assert_ne!(
                found["end"], "damaged",
                "the writer passed the reader: {found}"
            );
        }
        inspect(&place, &[]).expect(0, &["open by process", &pid.to_string()]);
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}

#[test]
fn a_read_only_mount_is_enough() {
    let place = Place::new();
    let Some(mount) = crate::harness::tmpfs(&place, 16) else {
        return;
    };
    log(&mount.at, true);
    mount.remount("ro");
    let path = mount.at.display().to_string();
    place.run(&["inspect", &path]).expect(0, &["clean"]);
    assert!(
        Log::builder(&mount.at).options(options()).open().is_err(),
        "opening has to write"
    );
}

#[test]
fn paths_that_name_no_log() {
    let place = Place::new();
    std::fs::write(place.path().join("notes.txt"), "x").expect("writes");
    for (path, code, word) in [
        ("nowhere", 2, "does not exist"),
        ("notes.txt", 1, "not a redolab log file"),
        ("target", 1, "there is no redo log in this directory"),
        ("/dev/null", 1, "not a redolab log file"),
    ] {
        place.run(&["inspect", path]).expect(code, &[path, word]);
    }
}

/// A log whose record 20 of 40 is damaged, and the RBA of its block, at which opening refuses it.
fn damaged_log() -> (Place, String) {
    let place = Place::new();
    log(&place.target, false);
    damage(&place, 20);
    let opened = Log::builder(&place.target).options(options()).open();
    let Err(redo::Error::Corrupt { rba, .. }) = opened else {
        panic!("it was opened: {opened:?}");
    };
    (place, rba.to_string())
}

#[test]
fn what_would_be_lost_is_printed_and_nothing_is_changed() {
    let (place, at) = damaged_log();
    let before = state(&place.target);
    let found = json(&place, &["--salvage"]);
    let salvage = &found["salvage"];
    assert_eq!(salvage["done"], false);
    assert_eq!(salvage["at_rba"], at.as_str());
    assert_eq!(salvage["kept_records"], 20);
    assert_eq!(salvage["last_kept_rba"], found["last_rba"]);
    assert_eq!(
        (&salvage["lost_blocks"], &salvage["readable_blocks"]),
        (&20.into(), &19.into())
    );
    assert_eq!(salvage["lost_records"], 19);
    let text = inspect(&place, &["--salvage"]);
    let accept = format!("--accept-loss {at}");
    text.expect(
        1,
        &[
            "keep  20 records",
            "lose  20 blocks",
            "Nothing was changed",
            &accept,
        ],
    );
    // No loss is accepted without its position, and none that was not printed.
    let near = at.replace(".0000", ".0001");
    for (code, more, words) in [
        (
            2,
            &["--salvage", "--accept-loss"][..],
            "a value is required",
        ),
        (2, &["--accept-loss", &at], "--salvage"),
        (
            2,
            &["--salvage", "--accept-loss", "all"],
            "is not a redo byte address",
        ),
        (
            2,
            &["--salvage", "--accept-loss", &near],
            "it is damaged at RBA",
        ),
        (
            1,
            &["--salvage", "--accept-loss", &at, "-o", "/nowhere/x"],
            "/nowhere",
        ),
    ] {
        inspect(&place, more).expect(code, &[words]);
    }
    assert!(state(&place.target) == before, "it was touched");
}

#[test]
fn an_accepted_loss_leaves_exactly_the_records_before_the_damage() {
    let (place, at) = damaged_log();
    let result = place.path().join("result.json");
    let result = result.display().to_string();
    let more = [
        "--salvage",
        "--accept-loss",
        &at,
        "--format",
        "json",
        "-o",
        &result,
    ];
    let done = inspect(&place, &more);
    done.expect(0, &["kept 20 records", "gave up 20 blocks", &at]);
    let bytes = std::fs::read(&result).expect("written");
    let found: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let problems = schema_problems("inspection-1.schema.json", &found);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(found["salvage"]["done"], true);
    assert_eq!(
        (&found["records"], &found["end"]),
        (&20.into(), &"torn".into())
    );
    let (log, recovery) = Log::builder(&place.target)
        .options(options())
        .open()
        .expect("it was given up");
    let mut records = Vec::new();
    let read = recovery.recover(|_, bytes| {
        records.push(bytes.to_vec());
        Ok::<(), redo::Error>(())
    });
    read.expect("readable");
    let before: Vec<_> = (0..20).map(|i| vec![i; 3000]).collect();
    assert!(records == before, "{} records", records.len());
    drop((log, recovery));
    // It is not damaged any more.
    inspect(&place, &["--salvage", "--accept-loss", &at]).expect(2, &["not damaged"]);
}

#[test]
fn a_log_that_is_sound_torn_or_in_use_is_not_given_up() {
    for torn in [false, true] {
        let place = Place::new();
        log(&place.target, false);
        if torn {
            damage(&place, RECORDS - 1);
        }
        let before = state(&place.target);
        inspect(&place, &["--salvage"]).expect(2, &["not damaged", "nothing was changed"]);
        let accept = ["--salvage", "--accept-loss", "0x000001.00000014.0000"];
        inspect(&place, &accept).expect(2, &["not damaged", "nothing was changed"]);
        assert!(state(&place.target) == before, "it was touched");
    }
    let place = Place::new();
    log(&place.target, false);
    let (owner, _) = Log::builder(&place.target)
        .options(options())
        .open()
        .expect("opens");
    let at = damage(&place, 20);
    let at = at.replace(at.rsplit('.').next().expect("an offset"), "0000");
    let before = state(&place.target);
    inspect(&place, &["--salvage"]).expect(2, &["in use by process"]);
    let accepted = ["--salvage", "--accept-loss", &at];
    let holder = format!("in use by process {}", std::process::id());
    inspect(&place, &accepted).expect(2, &[&holder]);
    assert!(state(&place.target) == before, "it was touched");
    drop(owner);
    inspect(&place, &accepted).expect(0, &["kept  20 records"]);
}

#[test]
fn damage_of_another_kind_is_not_given_up() {
    let (place, other) = (Place::new(), Place::new());
    log(&place.target, true);
    log(&other.target, true);
    let name = "redo02.log";
    std::fs::copy(other.target.join(name), place.target.join(name)).expect("copies");
    let before = state(&place.target);
    inspect(&place, &["--salvage"]).expect(1, &[name, "belongs to another log"]);
    let accepted = ["--salvage", "--accept-loss", "0x000001.00000014.0000"];
    inspect(&place, &accepted).expect(1, &[name, "belongs to another log"]);
    assert!(state(&place.target) == before, "it was touched");
}

/// A log that was closed needs nothing of the blocks before its checkpoint.
#[test]
fn damage_before_the_checkpoint_of_a_closed_log_is_a_problem_and_no_end() {
    for (at, len) in [(50, 64), (0, 4096), (8, 8)] {
        let place = Place::new();
        log(&place.target, false);
        let ways = || Log::builder(&place.target).options(options());
        let (log, _) = ways().open().expect("opens");
        log.checkpoint(log.durable()).expect("durable");
        log.close().expect("closes");
        let before = (
            log.geometry().address(RECORDS as u64 - 1),
            log.geometry().rba(39, 0),
        );
        let paths = Paths::new(&place.target);
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(&paths.logs(2)[0]);
        let file = file.expect("there");
        file.write_all_at(&vec![0xAA; len], before.0 + at)
            .expect("written");
        let rba = before.1.to_string();
        let told = [
            "clean",
            "damaged",
            rba.as_str(),
            "recovery does not need it",
        ];
        inspect(&place, &[]).expect(0, &told);
        let found = json(&place, &["--no-verify"]);
        assert_eq!(
            (&found["end"], &found["records"]),
            (&"clean".into(), &0.into())
        );
        assert_eq!(found["problems"][0]["id"], "damaged_before_checkpoint");
        inspect(&place, &["--salvage"]).expect(2, &["nothing to give up"]);
        let (again, recovery) = ways().open().expect("nothing of it is needed");
        assert!(recovery.notes()[0].contains(&rba), "{:?}", recovery.notes());
        again.close().expect("closes");
    }
}

/// Of a log with members what one of them has is kept.
#[test]
fn redo_that_no_member_has_is_given_up_on_all() {
    let place = Place::new();
    let directories = ["a", "b"].map(|name| place.target.join(name));
    for directory in &directories {
        std::fs::create_dir(directory).expect("a directory");
    }
    let members = || redo::MemberLayout::mirror(&directories).force_same_device(true);
    Log::builder(members())
        .shape(shape())
        .create()
        .expect("creates");
    let ways = || Log::builder(members()).options(options());
    let (log, _) = ways().open().expect("opens");
    let mut session = log.session();
    for i in 0..RECORDS {
        session.append(&[&[i as u8; 3000][..]]).expect("fits");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("commits");
    }
    let address = |block: u64| log.geometry().address(block);
    let (own, common) = (address(10), address(20));
    let at = log.geometry().rba(20, 0).to_string();
    drop(session);
    drop(log);
    for (directory, places) in directories.iter().zip([&[own, common][..], &[common]]) {
        let logs = Paths::new(directory).logs(2);
        let file = std::fs::OpenOptions::new().write(true).open(&logs[0]);
        let file = file.expect("there");
        for place in places {
            file.write_all_at(&[0xAA; 64], place + 30).expect("written");
        }
    }
    let named = format!(
        "mirror:{},{}",
        directories[0].display(),
        directories[1].display()
    );
    let inspect = |more: &[&str]| place.run(&[&["inspect", "--members", &named], more].concat());
    let before: Vec<_> = directories
        .iter()
        .map(|directory| state(directory))
        .collect();
    inspect(&[]).expect(1, &["damaged at RBA", &at]);
    let told = [
        "keep  20 records",
        "19 whole records",
        &format!("--accept-loss {at}"),
    ];
    inspect(&["--salvage"]).expect(1, &told);
    inspect(&["--salvage", "--accept-loss", "0x000001.00000014.0001"]).expect(2, &[&at]);
    inspect(&["--accept-member-loss"]).expect(2, &["--replace-member or --salvage"]);
    let after: Vec<_> = directories
        .iter()
        .map(|directory| state(directory))
        .collect();
    assert!(before == after, "it was touched");
    inspect(&["--salvage", "--accept-loss", &at])
        .expect(0, &["kept  20 records", "in sync and equal"]);
    let (_log, recovery) = ways().open().expect("it was given up");
    assert_eq!(recovery.scan().records, 20);
    drop((_log, recovery));
    inspect(&["--salvage"]).expect(2, &["nothing to give up"]);
}
