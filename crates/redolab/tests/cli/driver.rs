//! Commands on a target that others made, through a trivial driver of which nothing but this file
//! and its folder knows: a target of another kind needs nothing but its driver.

mod trivial;

use crate::harness::{Done, Place, Running, schema_problems};
use redolab::store::Store;
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};

/// The arguments of the child's command, one a line.
const ARGUMENTS: &str = "REDOLAB_TEST_DRIVER_ARGUMENTS";

/// Not a test: the binary with one more driver, idle unless the environment asks for it.
#[test]
fn child() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    let arguments: Vec<OsString> = arguments.lines().map(OsString::from).collect();
    let code = redolab::cleanup::guarded(|| {
        redolab::cli::run_command(arguments.clone(), &[trivial::TRIVIAL])
    });
    let number = (0..=u8::MAX).find(|n| ExitCode::from(*n) == code);
    std::process::exit(number.map_or(1, i32::from));
}

fn start(place: &Place, arguments: &[&str]) -> Running {
    let own = std::env::current_exe().expect("this program");
    let mut command = Command::new(own);
    let lines = [&["redolab"], arguments].concat().join("\n");
    command
        .args(["--exact", "driver::child", "--nocapture", "--quiet"])
        .current_dir(place.path())
        .env("REDOLAB_STORE", &place.store)
        .env(ARGUMENTS, lines)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("starts");
    Running::of(child, arguments.join(" "))
}

fn done(place: &Place, arguments: &[&str]) -> Done {
    start(place, arguments).wait()
}

/// The JSON that a command wrote with `-o out.json`.
fn written(place: &Place) -> Value {
    let text = std::fs::read(place.path().join("out.json")).expect("written");
    serde_json::from_slice(&text).expect("JSON")
}

const JSON: [&str; 5] = ["--format", "json", "-o", "out.json", "-q"];
const SHORT: [&str; 4] = ["--time", "400ms", "--warmup", "50ms"];

fn run(place: &Place, more: &[&str], code: i32) -> Value {
    let on = ["run", "--on", "trivial://"];
    let arguments = [&on, &SHORT[..], &JSON, more].concat();
    done(place, &arguments).expect(code, &[]);
    written(place)
}

#[test]
fn run_measures_it_and_invents_nothing() {
    let place = Place::new();
    let run = run(&place, &["--jobs", "1,4"], 0);
    let problems = schema_problems("run-2.schema.json", &run);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(run["target"]["kind"], "server");
    assert_eq!(run["target"]["path"], "trivial://");
    assert_eq!(run["target"]["system"], "database");
    assert_eq!(run["target"]["settings"]["sleep"], "100us");
    for (row, jobs) in run["rows"].as_array().expect("rows").iter().zip([1.0, 4.0]) {
        let latency = row["commit_latency_ms"].as_f64().expect("measured");
        assert!((0.1..5.0).contains(&latency), "{latency}");
        let rate = row["commit_throughput_tps"].as_f64().expect("measured");
        assert!((rate * latency / 1e3 / jobs - 1.0).abs() < 0.1, "{row}");
        let unknown = [
            "log_file_sync_ms",
            "redo_synch_writes_iops",
            "redo_writes_iops",
            "redo_data_mbps",
            "redo_size_bytes",
            "redo_wastage_bytes",
            "flushes",
            "commits_per_write",
            "device_writes",
            "device_util_pct",
            "flush_audit",
            "commit_path",
            "cross_check",
        ];
        for name in unknown {
            assert_eq!(
                row.get(name).unwrap_or(&Value::Null),
                &Value::Null,
                "{name}: {row}"
            );
        }
        assert_eq!(row["waits"], serde_json::json!({}), "{row}");
        for interval in row["intervals"].as_array().expect("intervals") {
            let unknown = [
                "redo_bytes",
                "log_switches",
                "log_file_sync_mean_ns",
                "log_file_sync_max_ns",
                "log_file_parallel_write_mean_ns",
                "log_file_parallel_write_max_ns",
            ];
            for name in unknown {
                let found = interval.get(name).unwrap_or(&Value::Null);
                assert_eq!(found, &Value::Null, "{name}: {interval}");
            }
        }
    }
    let table = place.run(&["runs", "show", "last"]);
    table.expect(0, &["trivial", "LGWR-LAT1"]);
}

/// The recording keeps the kinds apart.
#[test]
fn every_kind_of_transaction_has_its_own_record() {
    for more in [
        &["--jobs", "2"][..],
        &["--jobs", "6", "--commit-api", "async"],
    ] {
        let place = Place::new();
        let run = run(&place, more, 0);
        let store = Store::open(&place.store).expect("opens");
        let id = run["run_id"].as_str().expect("a name");
        let mut found = Vec::new();
        let mut visit = |_: &str, recording| found.push(recording);
        store.for_each_recording(id, &mut visit).expect("sound");
        let recording = found.pop().expect("one row");
        let counts: Vec<(&str, u64)> = (recording.foregrounds.iter())
            .map(|(kind, foreground)| (kind.as_str(), foreground.latency.count()))
            .collect();
        let mut names = trivial::KINDS;
        names.sort_unstable();
        assert!(counts.iter().map(|(kind, _)| *kind).eq(names), "{counts:?}");
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        assert_eq!(run["rows"][0]["commits"].as_u64(), Some(all));
        for (kind, count) in counts {
            assert!(count.abs_diff(all / 3) <= 8, "{kind}: {count} of {all}");
        }
    }
}

#[test]
fn an_open_loop_runs_on_it() {
    for more in [&[][..], &["--commit-api", "async"]] {
        let place = Place::new();
        let open = [&["--rate", "500", "--jobs", "8"][..], more].concat();
        let run = run(&place, &open, 0);
        let row = &run["rows"][0];
        let offered = row["offered_tps"].as_f64().expect("an open loop");
        let returned = row["commit_throughput_tps"].as_f64().expect("measured");
        assert!((returned / offered - 1.0).abs() < 0.25, "{row}");
    }
}

#[test]
fn check_measures_it_and_gives_no_verdict() {
    let place = Place::new();
    let rows = [
        "check",
        "trivial://",
        "--quick",
        "--jobs",
        "1,2",
        "--no-report",
    ];
    let arguments = [&rows[..], &SHORT, &JSON].concat();
    // Nothing is known of the device, so there is no verdict on it.
    done(&place, &arguments).expect(4, &[]);
    let run = written(&place);
    assert_eq!(run["verdict"], Value::Null);
    assert_eq!(run["floor"], serde_json::json!([]));
    assert_eq!(run["rows"].as_array().map(Vec::len), Some(8));
}

#[test]
fn compare_measures_it_in_rounds_with_redolabs_own_log() {
    let place = Place::new();
    let own = format!("own={}", place.target.display());
    let named = [
        "compare",
        "--on",
        &own,
        "--on",
        "other=trivial://",
        "--rounds",
        "3",
    ];
    let log = [
        "--log-file-size",
        "8M",
        "--log-groups",
        "2",
        "--allow-busy",
        "--jobs",
        "2",
    ];
    // A number of commits, not a time: a busy device may finish none in a moment.
    let commits = ["--commits", "300", "--warmup", "50ms"];
    let arguments = [&named[..], &commits, &log, &JSON].concat();
    let done = done(&place, &arguments);
    done.expect(0, &[]);
    place.expect_clean(&place.target);
    let comparison = written(&place);
    let differences = comparison["differences"].as_array().expect("a list");
    let latency = differences
        .iter()
        .find(|d| d["metric"] == "commit_latency.mean");
    let other_ns = latency.expect("measured on both")["b"].as_f64();
    assert!(
        other_ns.is_some_and(|ns| (1e5..1e8).contains(&ns)),
        "{latency:?}"
    );
    // What only one of them has is no difference.
    assert!(
        !differences
            .iter()
            .any(|d| d["metric"] == "log_file_sync.mean")
    );
    assert_eq!(comparison["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_failure_keeps_the_rows_before_it() {
    let place = Place::new();
    let on = [
        "run",
        "--on",
        "trivial://fail?after=6000",
        "--jobs",
        "1,2,4,8",
        "-v",
    ];
    let arguments = [&on[..], &SHORT].concat();
    let done = done(&place, &arguments);
    done.expect(
        1,
        &[
            "the trivial target failed on demand",
            "kept ",
            "(incomplete)",
        ],
    );
    let shown = place.run(&["runs", "show", "last"]);
    shown.expect(4, &["INVALID", "incomplete", "failed on demand"]);
}

#[test]
fn a_signal_ends_it_in_order() {
    let place = Place::new();
    let on = [
        "run",
        "--on",
        "trivial://",
        "--jobs",
        "1,2",
        "--time",
        "3s",
        "-v",
    ];
    let mut running = start(&place, &[&on[..], &["--warmup", "50ms"]].concat());
    running.until_said("LGWR-LAT1 2 jobs (2/2) ...");
    running.signal(Signal::INT);
    running
        .wait()
        .expect(130, &["interrupted", "kept 1 row as run"]);
}

#[test]
fn what_it_cannot_do_is_refused_with_the_reason() {
    let place = Place::new();
    for (more, word) in [
        (
            &["--on", "trivial://refuse"][..],
            "the trivial target is closed; open it",
        ),
        (
            &["--on", "nobody://x"],
            "there is no driver `nobody`; there are: trivial",
        ),
        (
            &["--driver", "nobody", "--url", "x"],
            "there is no driver `nobody`",
        ),
        (&["--driver", "trivial"], "--url"),
        (
            &["--on", "trivial://", "--max-write", "1G"],
            "a server that exists already is none of them",
        ),
        (
            &["--on", "trivial://", "--events"],
            "--events is not possible",
        ),
        (
            &["--on", "trivial://", "--log-groups", "4"],
            "options of redolab's own log",
        ),
    ] {
        let arguments = [&["run"], more].concat();
        done(&place, &arguments).expect(2, &[word]);
    }
    let listed = place.run(&["runs", "list", "--format", "json"]).json();
    assert_eq!(listed["runs"], serde_json::json!([]), "nothing is stored");
    let dry = ["run", "--on", "trivial://", "--dry-run"];
    done(&place, &dry).expect(0, &["nothing was committed on trivial://"]);
}
