//! Raw block devices: what is refused and left as it was, what is measured, and what stays there.
//! Each test has a loop device of its own.

use crate::harness::{
    Done, LoopDevice, Mount, Place, QUICK, Running, done, expect_valid, schema_problems, skipped,
};
use redo::{CommitMode, Log, Options, Recovery};
use rustix::process::Signal;
use std::path::Path;

/// Room for the floor's 64 MiB and for two small log files.
const MIB: u64 = 96;

fn check(place: &Place, node: &str, more: &[&str]) -> Done {
    let quick: Vec<&str> = QUICK
        .iter()
        .copied()
        .filter(|a| !matches!(*a, "--jobs" | "1,2"))
        .collect();
    let own = ["check", node, "--jobs", "2", "--no-report"];
    place.run(&[&own[..], &quick, more].concat())
}

/// `run` with ten commits on small log files.
fn run<'a>(on: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let own = [
        "run",
        "--on",
        on,
        "--jobs",
        "1",
        "--commits",
        "10",
        "--log-file-size",
        "4M",
        "--allow-busy",
    ];
    [&own[..], more].concat()
}

fn inspection(place: &Place, node: &str) -> serde_json::Value {
    let found = place.run(&["inspect", node, "--format", "json"]).json();
    let problems = schema_problems("inspection-1.schema.json", &found);
    assert_eq!(problems, Vec::<String>::new());
    found
}

/// Opens the log that stands on a device, as an embedder would, and writes it through rings where
/// there are any.
fn open(node: &str) -> Result<(Log, Recovery), redo::Error> {
    let held = device::raw::RawDevice::at(Path::new(node))?.hold()?;
    let options = Options::default()
        .buffer_bytes(1 << 20)
        .io(device::IoEngine::IoUring)
        .probe(true);
    Log::builder(held).options(options).open()
}

#[test]
fn a_raw_device_is_judged_and_keeps_its_log() {
    for sector in ["512", "4096"] {
        let Some(device) = LoopDevice::make(MIB, &["--sector-size", sector]) else {
            return;
        };
        let (place, node) = (Place::new(), device.node.as_str());
        let done = check(&place, node, &["--destroy", node, "--format", "json"]);
        let json = done.json();
        assert_eq!(
            schema_problems("run-2.schema.json", &json),
            Vec::<String>::new()
        );
        let target = &json["target"];
        assert_eq!(
            (&target["kind"], &target["path"]),
            (&"raw_device".into(), &node.into())
        );
        let first = &target["stack"]["layers"][0];
        assert_eq!(first["kind"], "loop");
        assert_eq!(first["logical_block_bytes"].to_string(), sector);
        assert_eq!(json["verdict"]["durability"], "unverified");
        expect_valid(&json);
        let floor = json["floor"].as_array().expect("a floor");
        assert!(!floor.is_empty() && floor.iter().all(|row| row["pre_written"] == true));
        // What other work on the machine does to the figures is not judged here.
        assert!(matches!(done.code, Some(0 | 3 | 4)), "{done:?}");
        let words = [
            "Will overwrite the raw device",
            "loop device on",
            "The redo log stays on",
        ];
        done.expect(done.code.unwrap_or(0), &words);

        let found = inspection(&place, node);
        assert_eq!(
            (&found["end"], &found["problems"]),
            (&"clean".into(), &serde_json::json!([]))
        );
        assert!(found["control"]["closed_at_rba"].is_string(), "{found}");
        assert_eq!(
            found["groups"][1]["file"],
            format!("{node}+{}", (1 << 20) + (8 << 20))
        );
        let text = place.run(&["inspect", node, "--dump", "--limit", "1"]);
        text.expect(0, &[&format!("Redo log {node}"), "clean"]);

        // It is not taken for empty, and its owner's word is asked for again.
        let before = device.ends();
        place
            .run(&run(node, &[]))
            .expect(2, &["redolab redo log at byte 0", "--destroy"]);
        assert!(device.ends() == before, "a refusal changes nothing");
        let again = place.run(&run(node, &["--destroy", node, "--format", "json"]));
        again.expect(0, &["carries redolab redo log at byte 0"]);
        assert_eq!(again.json()["rows"][0]["commits"], 10);
        assert_ne!(
            inspection(&place, node)["control"]["log_id"],
            found["control"]["log_id"]
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn refusals_leave_both_ends_as_they_were() {
    let Some(device) = LoopDevice::make(MIB, &[]) else {
        return;
    };
    let (place, node) = (Place::new(), device.node.as_str());
    assert!(
        done("mkfs.ext4", &["-q", node]).is_some(),
        "mkfs.ext4 is everywhere"
    );
    let link = place.path().join("by-another-name").display().to_string();
    std::os::unix::fs::symlink(node, &link).expect("links");
    let target = place.target.display().to_string();
    let doubled = node.replacen("/dev/", "/dev//", 1);
    let before = device.ends();
    let refused = |arguments: &[&str], words: &[&str]| {
        place.run(arguments).expect(2, words);
        assert!(device.ends() == before, "{arguments:?}");
    };
    let lost = [
        "ext2, ext3 or ext4 at byte 1080",
        "100663296 bytes",
        "loop device on",
    ];
    for command in [&["check", node][..], &["probe", node], &run(node, &[])] {
        refused(command, &lost);
        refused(command, &[&format!("repeat its path: --destroy {node}")]);
    }
    refused(&run(&link, &[]), &[&format!("--destroy {link}")]);
    for other in [
        doubled.as_str(),
        "/dev/sdx",
        link.as_str(),
        target.as_str(),
        ".",
    ] {
        refused(
            &run(node, &["--destroy", other]),
            &["--destroy names", lost[0]],
        );
    }
    refused(&run(&link, &["--destroy", node]), &["names another path"]);
    refused(&run(&target, &["--destroy", node]), &["is a directory"]);
    refused(
        &run("/dev/null", &["--destroy", "/dev/null"]),
        &["is not a directory, and no block device"],
    );
    refused(
        &["run", "--null", "--destroy", node],
        &["cannot be used with"],
    );
    let large = ["--destroy", node, "--log-groups", "32"];
    refused(
        &run(node, &large),
        &["the device has 96.0 MiB", "130.0 MiB are needed"],
    );
    refused(
        &run(node, &["--destroy", node, "--max-write", "1M"]),
        &["--max-write allows"],
    );
    place
        .run(&run(node, &["--destroy", node, "--dry-run"]))
        .expect(0, &["nothing was written"]);
    place
        .run(&["inspect", node])
        .expect(1, &["not a redolab log"]);
    assert!(
        device.ends() == before,
        "neither a dry run nor a look changes anything"
    );

    let at = place.path().join("mount");
    std::fs::create_dir(&at).expect("creates");
    // Read-only, so that the file system itself writes nothing between two looks.
    let Some(mount) = Mount::make(&["-t", "ext4", "-o", "ro", node], &at) else {
        return skipped("ext4 cannot be mounted here");
    };
    for (name, destroy) in [(node, node), (&link, &link)] {
        let words = [
            format!("is mounted at {}", at.display()),
            "never overwritten".to_owned(),
        ];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let more = ["--destroy", destroy];
        for command in [
            run(name, &more),
            run(name, &[]),
            ["check", name, more[0], more[1]].into(),
        ] {
            let mounted = device.ends();
            place.run(&command).expect(2, &words);
            assert!(device.ends() == mounted, "{command:?}");
        }
    }
    drop(mount);
    // By a link it is as good as by its own name.
    place
        .run(&run(&link, &["--destroy", &link]))
        .expect(0, &[&format!("{link} ({node})")]);
    assert_eq!(inspection(&place, &link)["end"], "clean");
}

#[test]
fn a_device_with_4096_byte_sectors_takes_no_smaller_blocks() {
    let Some(device) = LoopDevice::make(MIB, &["--sector-size", "4096"]) else {
        return;
    };
    let (place, node) = (Place::new(), device.node.as_str());
    let before = device.ends();
    let words = ["logical block size (512)"];
    place
        .run(&run(node, &["--destroy", node, "--block-size", "512"]))
        .expect(2, &words);
    assert!(device.ends() == before, "a refusal changes nothing");
    let Some(read_only) = LoopDevice::make(MIB, &["--read-only"]) else {
        return;
    };
    let node = read_only.node.as_str();
    place
        .run(&run(node, &["--destroy", node]))
        .expect(2, &["is read-only"]);
}

/// Starts a `check` of a device that says when its phases begin.
fn start(place: &Place, node: &str, time: &str) -> Running {
    let quick = QUICK.map(|a| if a == "200ms" { time } else { a });
    let own = ["check", node, "--destroy", node, "-v", "--no-report"];
    let arguments = [&own[..], &quick].concat();
    let child = place.command(&arguments).spawn().expect("starts");
    Running::of(child, arguments.join(" "))
}

#[test]
fn a_signal_leaves_the_device_free_and_consistent() {
    for (signal, moment, log) in [
        (Signal::INT, "Will overwrite", None),
        (Signal::TERM, "the device's floor ...", None),
        (Signal::INT, "log files ...", None),
        (Signal::TERM, "LGWR-LAT1 2 jobs (2/8) ...", Some("clean")),
    ] {
        let Some(device) = LoopDevice::make(MIB, &[]) else {
            return;
        };
        let (place, node) = (Place::new(), device.node.as_str());
        let mut running = start(&place, node, "1s");
        running.until_said(moment);
        running.signal(signal);
        running.wait().expect(130, &["interrupted"]);
        let held = device::raw::RawDevice::at(Path::new(node)).and_then(|look| look.hold());
        drop(held.expect("nobody has it any more"));
        match log {
            Some(end) => {
                let found = inspection(&place, node);
                assert_eq!(found["end"], end, "{found}");
                assert!(
                    found["control"]["closed_at_rba"].is_string(),
                    "closed: {found}"
                );
            }
            // No log yet, or one in which nothing was committed: never half of one.
            None => {
                let found = place.run(&["inspect", node]);
                assert!(matches!(found.code, Some(0 | 1)), "{found:?}");
                found.expect(found.code.unwrap_or(0), &[]);
            }
        }
    }
}

#[test]
fn what_a_killed_run_leaves_is_recovered_and_one_log_has_one_owner() {
    let Some(device) = LoopDevice::make(MIB, &[]) else {
        return;
    };
    let (place, node) = (Place::new(), device.node.as_str());
    // Far longer than what is asked of it meanwhile, on any machine.
    let mut running = start(&place, node, "80s");
    running.until_said("LGWR-LAT1 1 job (1/8) ...");
    let other = place.run(&run(node, &["--destroy", node]));
    other.expect(2, &["is open for writing in process"]);
    let beside = inspection(&place, node);
    assert_eq!(beside["open_by_pid"], running.pid(), "{beside}");
    assert!(open(node).is_err(), "its owner lives");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None, "killed");

    let found = inspection(&place, node);
    assert!(
        matches!(found["end"].as_str(), Some("clean" | "torn")),
        "{found}"
    );
    assert!(found["control"]["closed_at_rba"].is_null(), "{found}");
    let (log, recovery) = open(node).expect("it recovers");
    assert_eq!(recovery.scan().records, found["records"], "{found}");
    assert!(recovery.scan().records > 0, "{found}");
    let said = log.back_end();
    let no_probe = |note: &String| note.contains("no room for a probe");
    assert!(said.fallbacks.iter().any(no_probe), "{said:?}");
    let rings = device::UringOptions::default().check().is_ok();
    assert_eq!(said.io == "io_uring", rings, "{said:?}");
    let mut session = log.session();
    session.append(&[b"goes on"]).expect("fits");
    session.commit(CommitMode::WAIT_IMMEDIATE).expect("commits");
    drop(session);
    log.close().expect("closes");
    let after = inspection(&place, node);
    assert_eq!(after["end"], "clean");
    let records = |found: &serde_json::Value| found["records"].as_u64().expect("a number");
    assert_eq!(records(&after), records(&found) + 1);
}

#[test]
fn a_probe_leaves_neither_what_was_there_nor_a_log() {
    let Some(device) = LoopDevice::make(MIB, &[]) else {
        return;
    };
    let (place, node) = (Place::new(), device.node.as_str());
    assert!(
        done("mkfs.ext4", &["-q", node]).is_some(),
        "mkfs.ext4 is everywhere"
    );
    let probe = [
        "probe",
        node,
        "--destroy",
        node,
        "--time",
        "20ms",
        "--allow-busy",
    ];
    place
        .run(&probe)
        .expect(0, &["there is no log on it", "written before"]);
    assert!(
        device.ends().iter().flatten().all(|b| *b == 0),
        "both ends are wiped"
    );
    place
        .run(&["inspect", node])
        .expect(1, &["not a redolab log"]);
    let words = "no known signature, and its first and last MiB are zero";
    place.run(&run(node, &[])).expect(2, &[words]);
}
