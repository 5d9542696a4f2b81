//! `redolab compare`: stored runs, exported files, interleaved rounds, conditions, and runs that
//! are not as they should be.

use crate::harness::{Place, schema_problems};
use serde_json::Value;

fn checked(json: &Value) {
    assert_eq!(
        schema_problems("comparison-1.schema.json", json),
        Vec::<String>::new()
    );
}

#[test]
fn stored_runs_and_exported_files_are_compared() {
    let place = Place::new();
    let (a, b) = (place.store_a_run(), place.store_a_run());
    let text = place.run(&["compare", &a, &b, "-v"]);
    text.expect(
        0,
        &[
            ": base; ",
            &a,
            &b,
            "origin: measured",
            "commit_throughput_tps",
            "log_file_sync.mean",
            "without an interval: 1 intervals, at least 4 are needed",
            "Data and requests",
            "Top wait events",
            "How this was compared",
        ],
    );
    let json = place.run(&["compare", &a, &b, "--format", "json"]).json();
    checked(&json);
    assert_eq!(json["runs"][0]["run_id"], Value::from(a.as_str()));
    assert!(json["differences"].as_array().is_some_and(|d| d.len() > 5));
    let csv = place.run(&["compare", &a, &b, "--format", "csv"]);
    csv.expect(0, &["base,run,workload", "LGWR-LAT1"]);

    // A file of another machine, in a store that does not have the run.
    place
        .run(&["report", &a, "--format", "redolab", "-o", "base.json"])
        .expect(0, &[]);
    place.run(&["runs", "delete", &a]).expect(0, &[]);
    let json = place
        .run(&["compare", "base.json", "last", "--format", "json"])
        .json();
    checked(&json);
    assert_eq!(json["runs"][0]["run_id"], Value::from(a.as_str()));
    place.run(&["runs"]).expect(0, &[&b]);
    std::fs::write(place.path().join("no.json"), "{\"schema\":\"x/1\"}").expect("writes");
    place
        .run(&["compare", "no.json", &b])
        .expect(1, &["no.json", "redolab.export/2"]);
}

#[test]
fn captured_events_are_compared_in_their_order_and_drawn() {
    let place = Place::new();
    let store_one = || {
        let done = place.run(&[
            "run",
            "--null",
            "--jobs",
            "1",
            "--commits",
            "6000",
            "--events",
            "--format",
            "json",
            "-q",
        ]);
        done.json()["run_id"].as_str().expect("a name").to_owned()
    };
    let (a, b) = (store_one(), store_one());
    let done = place.run(&[
        "compare",
        &a,
        &b,
        "--format",
        "json",
        "--report",
        "both.html",
        "--resamples",
        "100",
    ]);
    let json = done.json();
    checked(&json);
    let differences = json["differences"].as_array().expect("differences");
    let sync = differences
        .iter()
        .find(|d| d["metric"] == "log_file_sync.mean");
    let sync = sync.expect("it is compared");
    assert_eq!(sync["basis"], "events", "{sync}");
    assert!(
        sync["ci_low"].is_f64() && sync["units_a"].as_u64() > Some(300),
        "{sync}"
    );
    assert_eq!(json["runs"][0]["has_events"], true);
    let html = std::fs::read_to_string(place.path().join("both.html")).expect("written");
    assert!(html.contains(&a) && html.contains(&b) && html.contains("default-src 'none'"));
}

#[test]
fn conditions_decide_the_exit_code() {
    let place = Place::new();
    let (a, b) = (place.store_a_run(), place.store_a_run());
    for (condition, code, said) in [
        // Rows of a moment have no interval.
        ("log_file_sync > +100000000%", 4, "UNDETERMINED"),
        ("log_file_sync > -99.9%", 4, "UNDETERMINED"),
        ("commit_throughput_tps < -10%", 4, "UNDETERMINED"),
        ("log_file_sync > 100s", 0, "not breached"),
        ("commit_throughput_tps > 0.001/s", 3, "BREACHED"),
        ("log_file_sync.outliers > 0", 0, "not breached"),
        ("log_file_switch_completion.p99 > +1%", 4, "UNDETERMINED"),
        ("log_file_sync.p98 > +1%", 2, "STATISTIC one of mean, p50"),
        ("log_file_sync.p99", 2, "no > or <"),
    ] {
        place
            .run(&["compare", &a, &b, "--fail-if", condition])
            .expect(code, &[said]);
    }
    let both = ["compare", &a, &b, "--fail-if", "log_file_sync > +1%"];
    let more = [
        "--fail-if",
        "commit_throughput_tps > 0.001/s",
        "--format",
        "json",
    ];
    let done = place.run(&[&both[..], &more].concat());
    done.expect(3, &[]);
    checked(&done.json());
    let states: Vec<String> = done.json()["conditions"]
        .as_array()
        .expect("conditions")
        .iter()
        .map(|c| c["state"].to_string())
        .collect();
    assert_eq!(states, ["\"undetermined\"", "\"breached\""]);
    let text = place.run(&[&both[..], &more[..2]].concat());
    let limit = "is beyond the limit of 0.0010 /s";
    text.expect(3, &["BREACHED: commit_throughput_tps > 0.001/s", limit]);
}

#[test]
fn what_cannot_be_compared_is_refused_or_told() {
    let place = Place::new();
    let (a, b) = (place.store_a_run(), place.store_a_run());
    for (arguments, said) in [
        (
            vec!["compare"],
            "redolab compare --on ssd=/u01 --on hdd=/u02",
        ),
        (
            vec!["compare", "--own-back-ends", &a, &b],
            "--own-back-ends: only with --on",
        ),
        (vec!["compare", &a], "at least two runs"),
        (vec!["compare", &a, &a], "named twice"),
        (vec!["compare", &a, "nothing"], "not in the store"),
        (vec!["compare", "--on", "a=."], "at least two targets"),
        (
            vec!["compare", "--on", "a=.", "--on", "a=."],
            "have this name",
        ),
        (vec!["compare", "--on", "a", "--on", "b=."], "NAME=PATH"),
        (
            vec!["compare", "--on", "../x=.", "--on", "b=."],
            "a name has letters",
        ),
        (
            vec!["compare", &a, &b, "--confidence", "100"],
            "--confidence",
        ),
        (vec!["compare", &a, &b, "--resamples", "1"], "--resamples"),
        (vec!["compare", &a, "--on", "b=."], "cannot be used with"),
    ] {
        place.run(&arguments).expect(2, &[said]);
    }
    // Another workload.
    let other = [
        "--workload",
        "LGWR-THR",
        "--time",
        "100ms",
        "--warmup",
        "0",
        "-q",
    ];
    let run = [
        &["run", "--null", "--jobs", "1", "--format", "json"][..],
        &other,
    ]
    .concat();
    let other = place.run(&run).json()["run_id"]
        .as_str()
        .expect("a name")
        .to_owned();
    place
        .run(&["compare", &a, &other])
        .expect(4, &["Nothing is comparable", "no row of this workload"]);

    // Cut short: the manifest was never written, and the last interval is cut.
    let folder = place.store.join(&b);
    std::fs::rename(folder.join("manifest.json"), folder.join("draft.json")).expect("renames");
    std::fs::remove_file(folder.join("contents.json")).expect("removes");
    for entry in std::fs::read_dir(&folder).expect("lists") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "hlog") {
            let bytes = std::fs::read(&path).expect("reads");
            std::fs::write(&path, &bytes[..bytes.len() - 9]).expect("cuts");
        }
    }
    let done = place.run(&["compare", &a, &b]);
    done.expect(4, &["INCOMPLETE", "not finished", "commit_throughput_tps"]);
    // Damaged: not compared at all.
    std::fs::write(place.store.join(&a).join("manifest.json"), "{}").expect("writes");
    place
        .run(&["compare", &a, &other])
        .expect(1, &["manifest.json"]);
}

/// A comparison of three rounds on a and b, which are on one device, with 1 and 2 jobs.
fn expect_three_rounds(json: &Value) {
    assert!(
        json["notices"][0]
            .as_str()
            .is_some_and(|n| n.contains("a and b are on the same device")),
        "{}",
        json["notices"]
    );
    let notes = json["method"]["notes"].to_string();
    assert!(notes.contains("Sync method: "), "{notes}");
    for answer in json["answers"].as_array().expect("answers") {
        assert_eq!(answer["outcome"], "too_few_rounds", "{answer}");
        assert_eq!(answer["winner"], Value::Null, "{answer}");
    }
    assert_eq!(
        json["runs"][1]["round_ids"].as_array().map(Vec::len),
        Some(3)
    );
    assert_eq!(json["method"]["rounds"], Value::from(3));
    let names: Vec<&str> = [0, 1]
        .map(|i| json["runs"][i]["name"].as_str().unwrap_or(""))
        .to_vec();
    assert_eq!(names, ["a", "b"]);
    let differences = json["differences"].as_array().expect("differences");
    let rounds = |metric: &str| {
        differences
            .iter()
            .filter(|d| d["metric"] == metric && d["basis"] == "rounds")
            .count()
    };
    assert_eq!(
        rounds("commit_throughput_tps"),
        2,
        "one for each number of jobs"
    );
    assert_eq!(rounds("log_file_sync.mean"), 2);
}

/// Every one of the six rounds is a run, and all were written in one way.
fn expect_written_alike(place: &Place) {
    let listed = place.run(&["runs", "list", "--format", "json"]).json();
    assert_eq!(
        listed["runs"].as_array().map(Vec::len),
        Some(6),
        "every round is a run"
    );
    let written = |run: &Value| {
        let id = run["run_id"].as_str().expect("a name");
        let stored = place.run(&["runs", "show", id, "--format", "json"]).json();
        let target = &stored["target"];
        (target["sync_method"].clone(), target["io"].clone())
    };
    let runs = listed["runs"].as_array().expect("runs");
    for run in runs {
        assert_eq!(written(run), written(&runs[0]), "all are written alike");
    }
}

#[test]
fn targets_are_measured_in_interleaved_rounds() {
    let place = Place::new();
    let second = place.path().join("second");
    std::fs::create_dir(&second).expect("a fresh directory");
    let on = [&place.target, &second].map(|p| p.display().to_string());
    let (a, b) = (format!("a={}", on[0]), format!("b={}", on[1]));
    let arguments = [
        "compare",
        "--on",
        &a,
        "--on",
        &b,
        "--rounds",
        "3",
        "--jobs",
        "1,2",
        "--commits",
        "300",
        "--log-file-size",
        "8M",
        "--log-groups",
        "2",
        "--allow-busy",
        "--max-write",
        "32G",
        "--format",
        "json",
    ];
    let dry = [&arguments[..], &["--dry-run"]].concat();
    place.run(&dry).expect(
        0,
        &[
            "Dry run",
            "a and b are on the same device",
            "Rounds: 3 on each of a, b",
        ],
    );
    let done = place.run(&arguments);
    done.expect(
        0,
        &[
            "Rounds: 3 on each of a, b",
            "Round 3 of 3",
            "on every target, chosen once by the probes of all",
        ],
    );
    let json = done.json();
    checked(&json);
    expect_three_rounds(&json);
    expect_written_alike(&place);
    place.expect_clean(&place.target);
    place.expect_clean(&second);
}

#[test]
fn the_default_rounds_write_little_and_say_how_much_before_they_begin() {
    let place = Place::new();
    let on = place.target.display().to_string();
    let (a, b) = (format!("a={on}"), format!("b={on}"));
    let small = ["--log-file-size", "8M", "--log-groups", "2", "--allow-busy"];
    let rounds = ["compare", "--on", &a, "--on", &b, "--dry-run"];
    let done = place.run(&[&rounds[..], &small].concat());
    done.expect(
        0,
        &[
            "Rounds: 5 on each of a, b",
            "at most 75 s in all",
            "write at most 5.6 GiB to each target and 11.3 GiB in all",
            "A row ends early when it has written 256.0 MiB of redo before its 2 s are over",
        ],
    );
    // A time that is named is measured.
    let named = [&rounds[..], &small, &["--time", "3s", "--jobs", "1"]].concat();
    let done = place.run(&named);
    done.expect(0, &["at most 35 s in all"]);
    assert!(!done.err.contains("A row ends early"), "{}", done.err);
}

#[test]
fn every_combination_of_options_is_a_target() {
    let place = Place::new();
    let on = format!("d={}", place.target.display());
    let several = [
        "--log-writer",
        "inline,lgwr",
        "--sync-method",
        "direct,dsync",
    ];
    let small = ["--log-file-size", "8M", "--log-groups", "2", "--allow-busy"];
    let rounds = [
        "compare",
        "--on",
        &on,
        "--rounds",
        "2",
        "--jobs",
        "2",
        "--commits",
        "200",
    ];
    let done = place.run(&[&rounds[..], &several, &small].concat());
    done.expect(
        0,
        &[
            "Rounds: 2 on each of inline+direct, inline+dsync, lgwr+direct, lgwr+dsync",
            "lgwr+dsync against inline+direct: Too few rounds to decide.",
            "All runs, with the change against the first",
        ],
    );
    // They lie on one device on purpose, and differ in what was asked for.
    for unwanted in [
        "Note: ",
        "lgwr+dsync: log writer:",
        "lgwr+dsync: sync method:",
    ] {
        assert!(!done.out.contains(unwanted), "{unwanted}: {}", done.out);
    }
    place.expect_clean(&place.target);
    for (arguments, said) in [
        (
            vec!["run", "--null", "--log-writer", "inline,lgwr"],
            "redolab compare --on NAME=PATH",
        ),
        (
            vec!["compare", "--on", &on, "--io", "auto,auto"],
            "name each value once",
        ),
        (
            vec!["compare", "--on", &on],
            "several values of --log-writer",
        ),
        (
            vec![
                "compare",
                "--on",
                "s=postgres:/x",
                "--io",
                "threads,io_uring",
            ],
            "is not a directory",
        ),
    ] {
        place.run(&arguments).expect(2, &[said]);
    }
}

/// A trace of waits around a level, in a wave.
fn trace(event: &str, level: u64, seed: u64) -> String {
    let (mut text, mut at) = ("*** 2026-08-09 10:00:00.000\n".to_owned(), 1_000_000);
    for i in 0..2_000_u64 {
        let ela = level + (i * 7919 + seed * 104_729) % 97;
        at += ela;
        let rest = "p1=1 p2=2 p3=0 obj#=-1";
        text += &format!("WAIT #1: nam='{event}' ela= {ela} {rest} tim={at}\n");
    }
    text
}

/// Sets `before` and `after`: three sessions, a log writer and a device each.
fn evidence_sets() -> Place {
    let place = Place::new();
    let write = |file: &str, text: &str| {
        let path = place.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("writes");
    };
    for (folder, level) in [("before", 500), ("after", 600)] {
        for session in 0..3 {
            let text = trace("log file sync", level, session);
            write(
                &format!("{folder}/{folder}_ora_{}.trc", 10 * level + session),
                &text,
            );
        }
        let text = trace("log file parallel write", level - 200, 9);
        write(&format!("{folder}/{folder}_lgwr_{level}.trc"), &text);
        let device = if level == 500 { "sdb" } else { "nvme0n1" };
        let heading = "Device:  r/s  w/s  rMB/s  wMB/s  await  %util";
        let line = format!("{device}  0.00  {level}.00  0.00  5.00  0.50  40.00");
        write(
            &format!("{folder}/{device}.txt"),
            &format!("{heading}\n{line}\n"),
        );
    }
    place
}

#[test]
fn sets_of_evidence_are_paired_by_role_and_not_by_file() {
    let place = evidence_sets();
    let labels = [
        "compare",
        "--label",
        "before=before",
        "--label",
        "after=after",
    ];
    let found = place.run(&labels);
    found.expect(
        0,
        &[
            "before: base; ",
            "after over before",
            "foreground",
            "LGWR",
            "log_file_sync.mean",
            "single figures: no intervals",
            "iostat, the device",
            "1.20",
        ],
    );
    let json = place
        .run(&[&labels[..], &["--format", "json"]].concat())
        .json();
    checked(&json);
    let mean = json["differences"].as_array().and_then(|all| {
        let of = |d: &&Value| d["metric"] == "log_file_sync.mean" && d["workload"] == "foreground";
        all.iter().find(of)
    });
    let mean = mean.unwrap_or_else(|| panic!("{:#}", json["differences"]));
    let ratio = mean["ratio"].as_f64().expect("a ratio");
    assert!((ratio - 648.0 / 548.0).abs() < 0.01, "{mean:#}");
}

#[test]
fn imported_runs_and_single_figures_are_paired_likewise() {
    let place = evidence_sets();
    let before = place
        .run(&["import", "before", "-q", "--format", "json"])
        .json();
    let first = before["run_id"].as_str().expect("a run").to_owned();
    place.run(&["import", "after", "-q"]).expect(0, &[]);
    place.run(&["compare", &first, "last"]).expect(0, &["LGWR"]);

    // Two files of single figures have no rows: figures side by side are a result.
    let io = [
        "compare",
        "--label",
        "a=before/sdb.txt",
        "--label",
        "b=after/nvme0n1.txt",
    ];
    let found = place.run(&io);
    found.expect(0, &["iostat, the device"]);
    assert!(
        !found.out.contains("Nothing is comparable"),
        "{}",
        found.out
    );
    let apart = [
        "compare",
        "--label",
        "a=before/sdb.txt",
        "--label",
        "b=after/after_lgwr_600.trc",
    ];
    place.run(&apart).expect(4, &["Nothing is comparable"]);
    place.run(&io[..3]).expect(2, &["at least two sets"]);
    place
        .run(&["compare", "--label", "a", "--label", "b=x"])
        .expect(2, &["NAME=SOURCE"]);
    let twice = ["compare", "--label", "a=before", "--label", "a=after"];
    place.run(&twice).expect(2, &["two sets have this name"]);
}
