//! `--nodes`: several logs, each with its own log writer and sessions; rows with the sums of all
//! and the figures of each.

use crate::harness::{Done, Place, entries, expect_valid};
use serde_json::Value;
use std::path::PathBuf;

fn run(place: &Place, more: &[&str]) -> Done {
    let own = ["run", "--log-file-size", "4M", "--allow-busy"];
    place.run(&[&own[..], more].concat())
}

/// Checks that the figures of `count` logs are those of the row, and returns them.
fn parts(row: &Value, count: u64) -> &Vec<Value> {
    assert_eq!(row["nodes"], count, "{row}");
    let nodes = row["by_node"].as_array().expect("a list");
    assert_eq!(nodes.len() as u64, count);
    for key in [
        "jobs",
        "commits",
        "redo_size_bytes",
        "flushes",
        "log_switches",
    ] {
        let sum: u64 = nodes
            .iter()
            .map(|node| node[key].as_u64().expect("a count"))
            .sum();
        assert_eq!(Some(sum), row[key].as_u64(), "{key} of {row}");
    }
    let waits = |stats: &Value| [stats["count"].as_u64(), stats["total_ns"].as_u64()];
    for event in ["log_file_sync", "log_file_parallel_write"] {
        let of_nodes = nodes.iter().map(|node| waits(&node[event]));
        let sums = of_nodes.fold([0, 0], |[n, ns], [count, total]| {
            [n + count.unwrap_or(0), ns + total.unwrap_or(0)]
        });
        let of_row = waits(&row["waits"][event]).map(|n| n.unwrap_or(0));
        assert_eq!(sums, of_row, "{event} of {row}");
    }
    nodes
}

#[test]
fn rows_have_the_sums_of_all_logs_and_the_figures_of_each() {
    let place = Place::new();
    let at = place.target.display().to_string();
    let more = ["--on", &at, "--nodes", "2", "--format", "json"];
    let count = ["--jobs", "1,3", "--commits", "50"];
    let json = run(&place, &[&more[..], &count].concat()).json();
    expect_valid(&json);
    let rows = json["rows"].as_array().expect("rows");
    for (row, jobs) in rows.iter().zip([1, 3]) {
        for node in parts(row, 2) {
            // The redo of its own commits: log writes are counted where they were made.
            let redo = node["redo_size_bytes"].as_u64().expect("bytes");
            assert_eq!(Some(2 * redo), row["redo_size_bytes"].as_u64(), "{row}");
            let writes = &node["log_file_parallel_write"]["count"];
            assert!(
                writes.as_u64() >= Some(50),
                "a session waits for each: {node}"
            );
            assert_eq!(
                (&node["jobs"], &node["commits"]),
                (&Value::from(jobs), &Value::from(50 * jobs))
            );
        }
    }
    let directories = json["target"]["node_directories"]
        .as_array()
        .expect("a list");
    assert_eq!(directories.len(), 2);
    assert_eq!(directories[0], directories[1], "both below the target");
    place.expect_clean(&place.target);
    // A time instead of commits, a log writer with workers, and redo that nobody waits for.
    let timed = [
        "--time",
        "300ms",
        "--warmup",
        "100ms",
        "--jobs",
        "2",
        "--workload",
    ];
    for load in [
        &["LGWR-THR", "--log-writer", "adaptive"][..],
        &["LGWR-LAT25", "--log-writer", "workers=2"],
        &["LGWR-LAT1", "--commit-api", "async", "--threads", "2"],
    ] {
        let json = run(&place, &[&more[..], &timed, load].concat()).json();
        let problems = crate::harness::schema_problems("run-2.schema.json", &json);
        assert_eq!(problems, [""; 0], "{load:?}");
        let nodes = parts(&json["rows"][0], 2);
        assert!(
            nodes.iter().all(|node| node["commits"].as_u64() > Some(0)),
            "{load:?}: {nodes:?}"
        );
    }
    place.expect_clean(&place.target);
}

#[test]
fn each_log_can_have_a_directory_of_its_own() {
    let place = Place::new();
    let all: Vec<PathBuf> = (1..=3)
        .map(|n| place.path().join(format!("u{n:02}")))
        .collect();
    all.iter()
        .for_each(|path| std::fs::create_dir(path).expect("a fresh directory"));
    let paths: Vec<String> = all.iter().map(|path| path.display().to_string()).collect();
    let (own, load) = (paths.join(","), ["--jobs", "1", "--commits", "30"]);
    let done = run(
        &place,
        &[&["--nodes", &own, "--format", "json"][..], &load].concat(),
    );
    let json = done.expect(0, &[]).json();
    parts(&json["rows"][0], 3);
    let listed = json["target"]["node_directories"]
        .as_array()
        .expect("a list");
    let listed: Vec<PathBuf> = listed
        .iter()
        .map(|p| PathBuf::from(p.as_str().expect("a path")))
        .collect();
    let expected: Vec<PathBuf> = all
        .iter()
        .map(|p| p.canonicalize().expect("there"))
        .collect();
    assert_eq!(listed, expected);
    all.iter()
        .for_each(|path| assert_eq!(entries(path), [""; 0]));
    // The run is shown again from the store, with the same table.
    let shown = place.run(&["runs", "show", json["run_id"].as_str().expect("a name")]);
    shown.expect(0, &["Each log of the rows above", "Node 3: "]);
}

#[test]
fn the_table_of_the_logs_fits_a_terminal_of_80_columns() {
    let place = Place::new();
    let mut command = place.command(&[
        "run",
        "--null",
        "--nodes",
        "4",
        "--jobs",
        "2",
        "--commits",
        "500",
    ]);
    let out = command.output().expect("runs");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let begin = text.find("Each log of the rows above").expect("the table");
    let table: Vec<&str> = text[begin..]
        .lines()
        .skip(1)
        .take_while(|l| !l.is_empty())
        .collect();
    assert_eq!(
        table
            .iter()
            .filter(|line| line.contains("LGWR-LAT1"))
            .count(),
        4,
        "{text}"
    );
    assert!(
        table.iter().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn what_is_no_number_of_logs_is_refused() {
    let place = Place::new();
    for (arguments, words) in [
        (&["--nodes", "0"][..], "from 1 to 16"),
        (&["--nodes", "17"], "from 1 to 16"),
        (&["--nodes", "/u01"], "such as /u01,/u02"),
        (&["--nodes", "/u01,"], "without a name"),
        (&["--nodes", "/u01,/u02", "--on", "/u03"], "omit PATH"),
        (
            &["--nodes", "/u01,/u02", "--null"],
            "takes a number of logs",
        ),
        (
            &["--nodes", "/missing-1,/missing-2"],
            "/missing-1: does not exist",
        ),
        (&["--nodes", "2", "--events"], "--events"),
        (&["--nodes", "2", "--stripe", "fine:/u01,/u02"], "--stripe"),
        (
            &[
                "--nodes",
                "2",
                "--null",
                "--commit-api",
                "async",
                "--threads",
                "3",
            ],
            "a multiple of 2",
        ),
        (
            &["--nodes", "16", "--null", "--jobs", "1000"],
            "at most 4096 are possible",
        ),
    ] {
        let done = run(&place, arguments);
        done.expect(2, &[words]);
    }
    place.expect_clean(&place.target);
}
