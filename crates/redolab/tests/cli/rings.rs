//! `--members ring:` and `failover:`: a log with a small second member, through `run`, `check`,
//! `compare` and `inspect`; what is refused, and that nothing stays.

use crate::harness::{
    Done, Place, Running, directories, entries, expect_empty, expect_valid, listed, schema_problems,
};
use redo::{CommitMode, Log, MemberLayout, Options, Shape, SyncMethod};
use rustix::process::Signal;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

const RING_BYTES: u64 = 1 << 20;

const LOAD: [&str; 7] = [
    "--jobs",
    "2",
    "--commits",
    "50",
    "--log-file-size",
    "4M",
    "--allow-busy",
];

fn run(place: &Place, members: &str, more: &[&str]) -> Done {
    let own = ["run", "--members", members];
    place.run(&[&own[..], &LOAD, more].concat())
}

fn number(value: &Value, key: &str) -> u64 {
    let found = value[key].as_u64();
    found.unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn runs_with_a_ring_report_it_and_leave_nothing() {
    let place = Place::new();
    let all = directories(&place, 2);
    let own = ["--force-same-device", "--ring-size", "1M"];
    for (kind, delay) in [("ring", None), ("failover", Some(1_000_000_000))] {
        let members = format!("{kind}:{}", listed(&all));
        let late: &[&str] = match delay {
            Some(_) => &["--failover-delay", "1s"],
            None => &[],
        };
        let own = [&own[..], late].concat();
        let json = run(
            &place,
            &members,
            &[&own[..], &["--format", "json"]].concat(),
        );
        json.expect(0, &[]);
        let json = json.json();
        expect_valid(&json);
        let problems = schema_problems("run-2.schema.json", &json);
        assert_eq!(problems, Vec::<String>::new());
        assert!(json["target"]["members"].is_null(), "{}", json["target"]);
        let ring = &json["target"]["ring"];
        assert_eq!(ring["kind"], kind);
        assert_eq!(ring["delay_ns"].as_u64(), delay);
        assert_eq!(ring["disk_directory"], all[0].display().to_string());
        assert_eq!(ring["directory"], all[1].display().to_string());
        assert_eq!(number(ring, "ring_bytes"), RING_BYTES);
        assert_eq!(ring["in_use"], true);
        // At least one for each of the 100 commits that did not share a write.
        let (writes, flushes) = (number(ring, "log_writes"), number(ring, "flushes"));
        assert!(writes >= 50 && flushes >= 50, "{ring}");
        assert!(number(ring, "first") <= flushes, "{ring}");
        let skipped = number(ring, "skip_busy") + number(ring, "skip_large");
        match kind {
            "ring" => assert_eq!(number(ring, "ring_writes") + skipped, writes, "{ring}"),
            _ => assert_eq!(skipped, 0, "{ring}"),
        }
        assert_eq!(json["rows"][0]["commits"], 100);
        let text = run(&place, &members, &own);
        text.expect(0, &[]);
        expect_text(&text.out, kind);
        // What was stored is shown alike.
        let shown = place.run(&["runs", "show", "last"]);
        expect_text(&shown.out, kind);
        place
            .run(&["report", "last", "-o", "r.html"])
            .expect(0, &["r.html"]);
        let page = std::fs::read_to_string(place.path().join("r.html")).expect("a report");
        for place in &all[..2] {
            let words = format!("<dd>{}</dd>", place.display());
            assert!(page.contains(&words), "{words}");
        }
    }
    expect_empty(&all);
}

/// The part of a run's text about its ring.
fn expect_text(out: &str, kind: &str) {
    let ours = out.split_once("Members: ").expect("the ring").1;
    let ours = ours.split_once("\nFindings").map_or(ours, |(ours, _)| ours);
    let words = match kind {
        "ring" => vec!["ring of 1.0 MiB", "--on ring=ring:DISK,RING"],
        _ => vec![
            "failover to 1.0 MiB after 1.00 s",
            "Hedged: ",
            "At most 5 % and 64 more",
            "--on failover=failover:DISK,RING",
        ],
    };
    let common = [
        "As Oracle counts",
        "FL_DISK_FIRST",
        "FL_FLASH_FIRST",
        "FL_IO_W_SKIP_BUSY",
        "FL_IO_W_SKIP_LARGE",
        "Cover: 1.0 MiB would be full after ",
        "Window: at most ",
        "not comparable with these",
        "measure interleaved rounds",
    ];
    let joined: Vec<&str> = ours.split_whitespace().collect();
    let joined = joined.join(" ");
    for word in words.iter().chain(&common) {
        assert!(joined.contains(word), "`{word}` is missing: {ours}");
    }
    let wide = |line: &&str| line.chars().count() > 110 && !line.starts_with("  ");
    assert_eq!(ours.lines().find(wide), None, "{ours}");
}

#[test]
fn a_check_with_a_ring_has_a_verdict() {
    let place = Place::new();
    let all = directories(&place, 2);
    let members = format!("ring:{}", listed(&all));
    let own = ["check", "--members", &members, "--force-same-device"];
    let done = place.run(&[&own[..], &crate::harness::QUICK].concat());
    assert!(
        done.out.contains("Members: ring of 64.0 MiB"),
        "{}{}",
        done.out,
        done.err
    );
    expect_empty(&all);
}

/// What a ring or a race gains is read from this.
#[test]
fn a_disk_is_compared_with_and_without_its_ring() {
    let place = Place::new();
    let all = directories(&place, 2);
    let disk = format!("disk={}", all[0].display());
    let ring = format!("ring=ring:{}", listed(&all));
    let race = format!("race=race:{}", listed(&all));
    let on = ["--on", &disk, "--on", &ring, "--on", &race];
    let own = ["--rounds", "2", "--format", "json", "--max-write", "32G"];
    let forced = ["--force-same-device", "--ring-size", "1M"];
    let compare = |more: &[&str]| place.run(&[&["compare"], &on[..], &own, &LOAD, more].concat());
    compare(&[]).expect(2, &["--members", "same device", "--force-same-device"]);
    compare(&[&forced[..], &["--dry-run"]].concat()).expect(0, &["Dry run"]);
    let done = compare(&forced);
    done.expect(0, &["Rounds: 2 on each of disk, ring, race"]);
    let json = done.json();
    let settings = json["setup"].to_string() + &json["notes"].to_string() + &json.to_string();
    assert!(settings.contains("ring of 1.0 MiB") && settings.contains("race of 2"));
    let listed = place.run(&["runs", "list", "--format", "json"]).json();
    let (mut plain, mut rings, mut races) = (0, 0, 0);
    for stored in listed["runs"].as_array().expect("runs") {
        let name = stored["run_id"].as_str().expect("a name");
        let shown = place
            .run(&["runs", "show", name, "--format", "json"])
            .json();
        let target = &shown["target"];
        match (target["ring"].is_object(), target["members"].is_array()) {
            (true, false) => {
                assert!(number(&target["ring"], "log_writes") > 0, "{target}");
                rings += 1;
            }
            (false, true) => {
                assert!(number(&target["members"][0], "log_writes") > 0, "{target}");
                races += 1;
            }
            (false, false) => plain += 1,
            both => panic!("{both:?}: {target}"),
        }
    }
    assert_eq!((plain, rings, races), (2, 2, 2));
    expect_empty(&all);
}

#[test]
fn rings_that_cannot_be_are_refused() {
    let place = Place::new();
    let all = directories(&place, 2);
    let two = listed(&all);
    let (ring, failover) = (format!("ring:{two}"), format!("failover:{two}"));
    let (mirror, alone) = (format!("mirror:{two}"), all[0].display().to_string());
    let force = "--force-same-device";
    let refused = |members: &str, more: &[&str], words: &[&str]| {
        run(&place, members, more).expect(2, words);
    };
    refused(&ring, &[], &["--members", "same device", force]);
    refused(
        &ring,
        &[force, "--ring-size", "32k"],
        &["--ring-size", "32.0 KiB", "64k"],
    );
    refused(
        &failover,
        &[force, "--failover-delay", "0"],
        &["--failover-delay", "up to 1s"],
    );
    refused(
        &failover,
        &[force, "--failover-delay", "1001ms"],
        &["--failover-delay", "1.00 s", "up to 1s"],
    );
    let no_ring = ["--ring-size", "there is no ring", "ring:/u01,/f01"];
    refused(&mirror, &[force, "--ring-size", "1M"], &no_ring);
    let no_failover = [
        "--failover-delay",
        "there is no failover",
        "failover:/u01,/f01",
    ];
    refused(&mirror, &[force, "--failover-delay", "5ms"], &no_failover);
    refused(&ring, &[force, "--failover-delay", "5ms"], &no_failover);
    let on = |more: &[&str]| place.run(&[&["run", "--on", &alone], &LOAD[..], more].concat());
    on(&["--ring-size", "1M"]).expect(2, &no_ring);
    on(&["--failover-delay", "5ms"]).expect(2, &no_failover);
    on(&[force]).expect(2, &[force, "--members"]);
    refused(
        &format!("ring:{alone}"),
        &[],
        &["1 directories", "disk", "ring:/u01,/f01"],
    );
    refused(&format!("ring:{two},/f02"), &[], &["3 directories"]);
    refused(&format!("ring:{alone},{alone}"), &[force], &["named twice"]);
    let missing = place.path().join("missing").display().to_string();
    refused(&format!("ring:{alone},{missing}"), &[force], &[&missing]);
    let (a, b) = (format!("a={alone}"), format!("b={alone}"));
    let compare = ["compare", "--on", &a, "--on", &b, "--ring-size", "1M"];
    place.run(&compare).expect(2, &no_ring);
    let wrong = format!("b=ring:{alone}");
    let compare = ["compare", "--on", &a, "--on", &wrong];
    place
        .run(&compare)
        .expect(2, &["--on b=ring:", "1 directories"]);
    expect_empty(&all);
}

/// The files of the ring count, and so does what is written to it.
#[test]
fn a_limit_holds_the_ring_too() {
    let place = Place::new();
    let all = directories(&place, 2);
    let least = |members: &str, more: &[&str]| -> u64 {
        let own = ["--force-same-device", "--max-write", "1M"];
        let done = run(&place, members, &[&own[..], more].concat());
        done.expect(2, &["--max-write"]);
        let named = done.err.split("works here is --max-write ").nth(1);
        let named = named.and_then(|text| text.split_once("M:")?.0.parse().ok());
        named.unwrap_or_else(|| panic!("{}", done.err))
    };
    let ring = format!("ring:{}", listed(&all));
    let small = least(&ring, &["--ring-size", "1M"]);
    let large = least(&ring, &["--ring-size", "65M"]);
    assert_eq!(large - small, 64);
    // A ring of a log file's size needs less than a second copy of all three.
    let mirror = least(&format!("mirror:{}", listed(&all)), &[]);
    assert!(small < mirror, "{small} of {mirror}");
    let limit = format!("{small}M");
    let own = [
        "--force-same-device",
        "--ring-size",
        "1M",
        "--max-write",
        &limit,
    ];
    run(&place, &ring, &own).expect(0, &["FL_FLASH_FIRST"]);
    expect_empty(&all);
}

#[test]
fn a_signal_and_a_kill_leave_no_ring() {
    let place = Place::new();
    let all = directories(&place, 2);
    let members = format!("ring:{}", listed(&all));
    let start = || {
        let own = [
            "run",
            "--members",
            &members,
            "--force-same-device",
            "--ring-size",
            "1M",
            "--jobs",
            "1",
            "--time",
            "60s",
            "--log-file-size",
            "4M",
            "--allow-busy",
            "-v",
        ];
        let child = place.command(&own).spawn().expect("starts");
        let mut running = Running::of(child, own.join(" "));
        running.until_said("1 job");
        running
    };
    let running = start();
    running.signal(Signal::INT);
    running.wait().expect(130, &["interrupted"]);
    expect_empty(&all);
    let running = start();
    let rings = || {
        let folders = entries(&all[1]).into_iter();
        let named = folders.map(|name| all[1].join(name).join("redo.ring"));
        named.filter(|ring| ring.exists()).count()
    };
    assert_eq!(rings(), 1);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None, "killed");
    assert_eq!(rings(), 1);
    let own = ["--force-same-device", "--ring-size", "1M"];
    run(&place, &members, &own).expect(0, &["that a killed run had left"]);
    expect_empty(&all);
}

fn layout(all: &[PathBuf]) -> MemberLayout {
    let delay = Duration::from_secs(1);
    MemberLayout::failover(&all[0], &all[1], RING_BYTES, delay).force_same_device(true)
}

fn open(all: &[PathBuf]) -> Log {
    let options = Options::default().sync_method(SyncMethod::Buffered);
    let opened = Log::builder(layout(all)).options(options).open();
    opened.expect("a log with a ring").0
}

#[test]
fn inspect_shows_a_disk_and_its_ring() {
    let place = Place::new();
    let all = directories(&place, 4);
    let shape = Shape::new().groups(2).file_bytes(1 << 20);
    for pair in all.chunks(2) {
        let made = Log::builder(layout(pair)).shape(shape).create();
        made.expect("a new log");
    }
    let inspect = |pair: &[PathBuf], more: &[&str]| {
        let members = format!("failover:{}", listed(pair));
        place.run(&[&["inspect", "--members", &members], more].concat())
    };
    let two = &all[..2];
    // As it was made: nothing was acknowledged.
    inspect(two, &[]).expect(0, &["Members: failover", "The ring is spare", "1.0 MiB"]);
    let log = open(two);
    let mut session = log.session();
    session.append(&[b"order"]).expect("appended");
    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    let pid = std::process::id().to_string();
    inspect(two, &[]).expect(0, &["The ring is needed", "open by process", &pid]);
    drop(session);
    drop(log);
    let json = inspect(two, &["--format", "json"]);
    json.expect(0, &[]);
    let json = json.json();
    assert_eq!(json["ring"]["state"], "needed", "{json}");
    assert_eq!(json["ring"]["ring_bytes"], RING_BYTES);
    assert_eq!(json["members"][0]["lacking_bytes"], 0);
    assert!(
        json["refused"].is_null() && json["ring"]["end_rba"].is_string(),
        "{json}"
    );
    let disk = place.run(&["inspect", &two[0].display().to_string()]);
    disk.expect(0, &["ring", "needed", "--members ring:DISK,RING"]);
    // Without its ring, and with the ring of another log.
    let ring_of_other = [all[0].clone(), all[3].clone()];
    inspect(&ring_of_other, &[]).expect(1, &["is refused", "the ring of another log"]);
    let empty = [all[0].clone(), place.target.clone()];
    inspect(&empty, &[]).expect(1, &["is refused", "is not there", "accept the loss"]);
    let swapped = [all[1].clone(), all[0].clone()];
    inspect(&swapped, &[]).expect(1, &["is refused", "none found"]);
    let mirror = format!("mirror:{}", listed(&all[..2]));
    let mirror = place.run(&["inspect", "--members", &mirror]);
    mirror.expect(1, &["the disk of a log with a ring"]);
    let replaced = inspect(two, &["--replace-member"]);
    replaced.expect(2, &["--replace-member", "a ring holds no copy"]);
    // Closed, it needs no ring.
    open(two).close().expect("closed");
    inspect(two, &[]).expect(0, &["The ring is spare"]);
    inspect(&empty, &[]).expect(0, &["goes on without the ring"]);
    inspect(&ring_of_other, &[]).expect(1, &["the ring of another log"]);
    // Looking changed nothing.
    let log = open(two);
    assert!(log.ring().is_some_and(|ring| ring.in_use));
}

/// The disk is put back to what it was before the commit: only the ring has it.
#[test]
fn inspect_counts_what_the_disk_lacks_and_changes_nothing() {
    let place = Place::new();
    let all = directories(&place, 2);
    let layout = || MemberLayout::ring(&all[0], &all[1], RING_BYTES).force_same_device(true);
    let shape = Shape::new().groups(2).file_bytes(1 << 20);
    Log::builder(layout())
        .shape(shape)
        .create()
        .expect("a new log");
    let options = Options::default().sync_method(SyncMethod::Buffered);
    let (log, _) = Log::builder(layout())
        .options(options)
        .open()
        .expect("opens");
    let files = || ["redo01.log", "redo02.log", "redo.ctl"].map(|name| all[0].join(name));
    let read = || files().map(|file| std::fs::read(file).expect("a file"));
    let before = read();
    let mut session = log.session();
    session.append(&[b"order"]).expect("appended");
    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    drop(session);
    drop(log);
    for (file, bytes) in files().iter().zip(&before).take(2) {
        std::fs::write(file, bytes).expect("put back");
    }
    let ring = std::fs::read(all[1].join("redo.ring")).expect("the ring");
    let members = format!("ring:{}", listed(&all));
    let inspect = |more: &[&str]| place.run(&[&["inspect", "--members", &members], more].concat());
    let json = inspect(&["--format", "json"]);
    json.expect(0, &[]);
    let json = json.json();
    let (disk, found) = (&json["members"][0], &json["ring"]);
    assert_eq!(json["kind"], "ring");
    assert_eq!(json["equal"], false, "{json}");
    assert!(number(disk, "lacking_bytes") > 0, "{json}");
    assert!(
        number(found, "batches") > 0 && number(found, "batch_bytes") > 0,
        "{json}"
    );
    assert_ne!(disk["end_rba"], found["end_rba"], "{json}");
    inspect(&[]).expect(
        0,
        &["The ring is needed", "an opening gives them to the disk"],
    );
    assert_eq!(read()[..2], before[..2], "looking gives the disk nothing");
    assert!(std::fs::read(all[1].join("redo.ring")).is_ok_and(|bytes| bytes == ring));
    let (_, recovery) = Log::builder(layout()).open().expect("opens");
    let mut records = 0;
    let read = recovery.recover(|_, bytes| {
        assert_eq!(bytes, b"order");
        records += 1;
        Ok::<(), redo::Error>(())
    });
    read.expect("reads");
    assert_eq!(records, 1, "as foreseen");
}
