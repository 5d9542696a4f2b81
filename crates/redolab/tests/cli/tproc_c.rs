//! TPROC-C through a driver that counts without a server: what its figures are computed
//! from, what a broken condition makes of a run, users that think.

mod counting;

use crate::harness::{Done, Place, Running, schema_problems};
use serde_json::Value;
use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};

/// The arguments of the child's command, one a line.
const ARGUMENTS: &str = "REDOLAB_TEST_TPROCC_ARGUMENTS";

/// Not a test: the binary with the driver that counts, idle unless the environment asks for it.
#[test]
fn child() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    let arguments: Vec<OsString> = arguments.lines().map(OsString::from).collect();
    let code = redolab::cleanup::guarded(|| {
        redolab::cli::run_command(arguments.clone(), &[counting::COUNTING])
    });
    let number = (0..=u8::MAX).find(|n| ExitCode::from(*n) == code);
    std::process::exit(number.map_or(1, i32::from));
}

fn done(place: &Place, address: &str, more: &[&str]) -> Done {
    let own = std::env::current_exe().expect("this program");
    let run = ["redolab", "run", "--workload", "tproc-c", "--on", address];
    let lines = [&run[..], more].concat().join("\n");
    let mut command = Command::new(own);
    command
        .args(["--exact", "tproc_c::child", "--nocapture", "--quiet"])
        .current_dir(place.path())
        .env("REDOLAB_STORE", &place.store)
        .env(ARGUMENTS, lines)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Running::of(command.spawn().expect("starts"), "run tproc-c".to_owned()).wait()
}

const SHORT: [&str; 6] = ["--jobs", "2", "--time", "1s", "--warmup", "100ms"];
const JSON: [&str; 5] = ["--format", "json", "-o", "out.json", "-q"];

/// The run that a command made, as JSON.
fn run(address: &str, more: &[&str], code: i32) -> Value {
    let place = Place::new();
    done(&place, address, &[&SHORT[..], &JSON, more].concat()).expect(code, &[]);
    let text = std::fs::read(place.path().join("out.json")).expect("written");
    let run: Value = serde_json::from_slice(&text).expect("JSON");
    let problems = schema_problems("run-2.schema.json", &run);
    assert_eq!(problems, Vec::<String>::new());
    run
}

#[test]
fn nopm_and_tpm_are_growth_per_minute_between_the_readings() {
    let run = run("counting://", &[], 0);
    let row = &run["rows"][0];
    let figure = |key: &str| row[key].as_f64().expect("measured");
    assert!(
        (figure("nopm") / counting::NOPM - 1.0).abs() < 0.01,
        "{row}"
    );
    assert!((figure("tpm") / counting::TPM - 1.0).abs() < 0.01, "{row}");
    let detail = &row["tproc_c"];
    assert_eq!(detail["warehouses"], 3);
    assert_eq!(detail["think"], false);
    let kinds = ["new-order", "payment"].map(|kind| detail["latencies"][kind]["count"].as_u64());
    let sum: Option<u64> = kinds.into_iter().sum();
    assert_eq!(sum, row["commits"].as_u64(), "{detail}");
    assert_eq!(row["redo_bytes_per_txn"], Value::Null);
    assert_eq!(run["workload"]["payload"], Value::Null);
    assert_eq!(run["workload"]["tproc_c"]["think"], false);
}

/// What was counted before the measured time is in no figure.
#[test]
fn the_ramp_up_is_not_counted() {
    let place = Place::new();
    let times = ["--jobs", "1", "--time", "1s", "--warmup", "1500ms"];
    let more = [&times[..], &JSON].concat();
    done(&place, "counting://jumping", &more).expect(0, &[]);
    let text = std::fs::read(place.path().join("out.json")).expect("written");
    let run: Value = serde_json::from_slice(&text).expect("JSON");
    let row = &run["rows"][0];
    let nopm = row["nopm"].as_f64().expect("measured");
    assert!((nopm / counting::NOPM - 1.0).abs() < 0.01, "{row}");
    let commits = row["commits"].as_u64().expect("counted");
    assert!(commits < 550, "one user commits every 2 ms: {commits}");
}

#[test]
fn what_could_not_be_read_is_unknown() {
    let run = run("counting://blind", &[], 0);
    let row = &run["rows"][0];
    assert_eq!((&row["nopm"], row["tpm"].is_null()), (&Value::Null, false));
    assert_eq!(row["tproc_c"]["new_orders"], Value::Null);
}

#[test]
fn a_condition_that_does_not_hold_makes_the_run_invalid() {
    let place = Place::new();
    let broken = done(&place, "counting://broken", &SHORT);
    let words = [
        "INVALID",
        "inconsistent",
        "c = d does not hold in 1 of 30 places",
        "district 7: 1 is not 2",
        "the tables are NOT consistent",
        "not comparable with published TPC-C results",
    ];
    broken.expect(4, &words);
    let shown = place.run(&["runs", "show", "last"]);
    shown.expect(4, &["INVALID", "inconsistent", "NOPM", "not comparable"]);
    place
        .run(&["report", "last", "-o", "r.html"])
        .expect(4, &[]);
    let page = std::fs::read_to_string(place.path().join("r.html")).expect("written");
    for part in [
        "id=\"tproc-c\"",
        "such as district 7: 1 is not 2",
        "payment</th><td class=\"t\">2</td>",
        "not comparable with published TPC-C results",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let sound = done(&place, "counting://", &SHORT);
    sound.expect(0, &["all 2 consistency conditions hold", "NOPM", "payment"]);
}

/// Their thinking is in no latency, and does not keep the row from ending.
#[test]
fn users_that_think_have_short_transactions() {
    let run = run("counting://", &["--think"], 0);
    let row = &run["rows"][0];
    let latency = row["commit_latency_ms"].as_f64().expect("measured");
    assert!((2.0..60.0).contains(&latency), "{latency}");
    let commits = row["commits"].as_u64().expect("counted");
    // 2 users, 1 s, 122 ms each.
    assert!((8..=18).contains(&commits), "{commits}");
    assert_eq!(row["tproc_c"]["think"], true);
    assert!(row.get("cross_check").is_none_or(Value::is_null));
}

#[test]
fn wrong_options_are_refused_before_anything_is_done() {
    let place = Place::new();
    for (arguments, word) in [
        (&["run", "--workload", "tproc-c"][..], "postgres://"),
        (&["run", "--workload", "tproc-c", "--jobs", "0"], "--jobs"),
        (&["run", "--workload", "tproc-c", "--null"], "postgres://"),
        (
            &["run", "--workload", "tproc-c", "--records", "2"],
            "--records",
        ),
        (&["run", "--workload", "storm", "--think"], "tproc-c"),
        (
            &[
                "compare",
                "--workload",
                "tproc-c",
                "--on",
                "a=x",
                "--on",
                "b=y",
            ],
            "redolab run",
        ),
        (
            &["tprocc", "load", "--url", "x", "--warehouses", "0"],
            "--warehouses: use from 1",
        ),
        (
            &["tprocc", "load", "--url", "x", "--connections", "0"],
            "--connections: use from 1",
        ),
        (&["tprocc", "check", "--url", "mysql://h/d"], "mariadb://"),
        (
            &["tprocc", "check", "--url", "oracle://h/d"],
            "postgres://USER@HOST:PORT/DATABASE or mariadb://USER@HOST",
        ),
        (&["tprocc", "drop"], "--url"),
    ] {
        place.run(arguments).expect(2, &[word]);
    }
    done(&place, "counting://", &["--dry-run"]).expect(0, &["Dry run", "TPROC-C with 4 jobs"]);
}
