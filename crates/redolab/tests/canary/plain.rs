//! The canary in an ordinary directory: what it prints, what it leaves, what it refuses.

use crate::stalls::{Canary, command};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// What the published schema finds wrong with a result.
pub fn schema_problems(value: &Value) -> Vec<String> {
    let path = format!(
        "{}/../../schemas/canary-1.schema.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).expect("the schema is in the repository");
    let json = serde_json::from_str(&text).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&json).expect("the schema is a schema");
    let problems = validator.iter_errors(value);
    problems
        .map(|e| format!("{}: {e}", e.instance_path))
        .collect()
}

fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).expect("lists");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("an entry");
        entry.file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

fn ended(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.output().expect("starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn it_needs_no_root_and_leaves_nothing() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = place.path().join("redo01.log");
    std::fs::write(&file, "a log").expect("writes");
    let at = file.display().to_string();
    // A limit that each probe reaches, so that there is a stall with its evidence.
    let mut canary = command(&[
        &at,
        "--time",
        "1s",
        "--stall-over",
        "1us",
        "--format",
        "json",
    ]);
    if rustix::process::geteuid().is_root() {
        const NOBODY: u32 = 65_534;
        std::os::unix::fs::chown(place.path(), Some(NOBODY), Some(NOBODY)).expect("owns it");
        canary.uid(NOBODY).gid(NOBODY);
    }
    let (code, out, err) = ended(canary);
    assert_eq!(code, Some(0), "{err}");
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(schema_problems(&json), Vec::<String>::new());
    assert!(json["probes"].as_u64() > Some(0), "{json}");
    let stalls = json["stalls"].as_array().expect("stalls");
    assert_eq!(Some(stalls.len() as u64), json["probes"].as_u64());
    let parts = ["late_ns", "write_ns", "fsync_ns"];
    for stall in stalls {
        let evidence = &stall["evidence"];
        let sum: u64 = parts.iter().filter_map(|p| evidence[*p].as_u64()).sum();
        assert_eq!(evidence["duration_ns"].as_u64(), Some(sum), "{stall}");
    }
    assert_eq!(names(place.path()), ["redo01.log"]);
    assert_eq!(std::fs::read(&file).expect("reads"), b"a log");
}

#[test]
fn the_table_has_percentiles_and_what_is_not_available() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let at = place.path().display().to_string();
    let (code, out, err) = ended(command(&[&at, "--time", "1s"]));
    assert_eq!(code, Some(0), "{err}");
    for part in ["Canary on ", "origin: measured", "write and fsync", "p99"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(err.starts_with("Probing "), "{err}");
    assert!(names(place.path()).is_empty());
}

#[test]
fn ctrl_c_ends_it_with_its_summary_and_a_kill_is_cleaned_up() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let at = place.path().display().to_string();
    let (code, json) = Canary::start(&[&at, "--format", "json"]).interrupt();
    assert_eq!(
        (code, &json["interrupted"]),
        (Some(130), &Value::Bool(true))
    );
    assert!(names(place.path()).is_empty());
    let first = Canary::start(&[&at]);
    let second = Canary::start(&[&at]);
    first.kill();
    // A folder of that name that somebody else made, and one of a canary that lives.
    let foreign = place.path().join("redolab-work-20260101-000000-abcd-1");
    std::fs::create_dir(&foreign).expect("makes");
    std::fs::write(foreign.join("canary.dat"), "mine").expect("writes");
    assert_eq!(names(place.path()).len(), 3);
    let (_, _, err) = ended(command(&[&at, "--time", "300ms"]));
    assert!(!err.contains("error"), "{err}");
    assert_eq!(names(place.path()).len(), 2, "{err}");
    assert!(foreign.join("canary.dat").exists());
    second.kill();
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let at = place.path().display().to_string();
    let missing = format!("{at}/no/such");
    for (arguments, code, part) in [
        (
            vec![missing.as_str()],
            2,
            "name a directory of the log's file system",
        ),
        (vec!["/dev/null"], 2, "neither a directory nor a file"),
        (vec![&at, "--rate", "0"], 2, "--rate"),
        (vec![&at, "--rate", "1000"], 2, "--rate"),
        (vec![&at, "--stall-over", "5"], 2, "--stall-over"),
        (vec![&at, "--pid", "1"], 2, "--pid"),
        (vec![&at, "--trace", "t"], 2, "--trace"),
        (vec![&at, "--format", "csv", "--time", "1s"], 2, "--format"),
        (vec![&at, "--time", "100ms"], 2, "give more than 100 ms"),
        (vec!["/proc", "--time", "1s"], 1, "--canary /proc"),
    ] {
        let (ended, _, err) = ended(command(&arguments));
        assert_eq!(ended, Some(code), "{arguments:?}: {err}");
        assert!(err.contains(part), "{arguments:?}: {err}");
    }
    assert!(names(place.path()).is_empty());
    let mut alone = Command::new(env!("CARGO_BIN_EXE_redolab"));
    alone.args(["watch", "--rate", "5", "--pid", "1"]);
    let (code, _, err) = ended(alone);
    assert_eq!(code, Some(2));
    assert!(err.contains("--canary"), "{err}");
}
