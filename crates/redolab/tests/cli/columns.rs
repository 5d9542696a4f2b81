//! The table of rows, its columns and its other forms, through the binary: what people ask for
//! first, the study's columns, named ones, Markdown, and percentiles in every CSV.

use crate::harness::{Done, Place};
use serde_json::Value;

/// A run that took no device, with enough commits for a percentile of 99.9.
fn run(place: &Place, more: &[&str]) -> Done {
    let common = [
        "run",
        "--null",
        "--jobs",
        "2",
        "--commits",
        "30000",
        "--warmup",
        "0",
        "-q",
    ];
    let done = place.run(&[&common[..], more].concat());
    done.expect(0, &[]);
    done
}

/// The line of a table that has `word`, as words.
fn words<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.contains(word));
    let line = line.unwrap_or_else(|| panic!("no line with `{word}`: {text}"));
    line.split_whitespace().collect()
}

#[test]
fn the_answer_is_first_and_the_table_has_percentiles() {
    let place = Place::new();
    let done = run(&place, &[]);
    let lines: Vec<&str> = done.out.lines().collect();
    assert!(
        lines[0].starts_with("Verdict: NO   durability: volatile"),
        "{}",
        done.out
    );
    let table = lines.iter().position(|line| line.starts_with("Workload"));
    assert!(table.is_some_and(|at| at <= 8), "{}", done.out);
    let headings = words(&done.out, "Workload");
    assert_eq!(
        headings[..9],
        [
            "Workload", "Jobs", "/s", "mean", "p50", "p99", "p99.9", "max", "mean"
        ],
        "{}",
        done.out
    );
    for must in [
        "log file sync",
        "Times in ",
        "1 MB = 1024 kB",
        "More:   redolab runs show",
    ] {
        assert!(done.out.contains(must), "{must}: {}", done.out);
    }
    let json = place
        .run(&["runs", "show", "last", "--format", "json"])
        .json();
    let stats = &json["rows"][0]["waits"]["log_file_sync"];
    let p99_ns = stats["p99_ns"].as_f64().expect("enough waits");
    let shown: f64 = words(&done.out, "LGWR-LAT1")[5]
        .replace(',', "")
        .parse()
        .expect("a number");
    let scale = if done.out.contains("(µs)") { 1e3 } else { 1e6 };
    let error = (shown * scale - p99_ns).abs();
    assert!(
        error <= 0.006 * p99_ns + 0.0005 * scale,
        "{shown} is not {p99_ns}"
    );
}

#[test]
fn tables_that_repeat_are_there_on_demand() {
    let place = Place::new();
    run(&place, &[]);
    let brief = place.run(&["runs", "show", "last"]);
    assert!(!brief.out.contains("Waits"), "{}", brief.out);
    let full = place.run(&["runs", "show", "last", "-v"]);
    full.expect(0, &["Waits", "log file parallel write", "p90"]);
}

#[test]
fn columns_are_those_that_are_named() {
    let place = Place::new();
    run(&place, &[]);
    let show = |more: &[&str]| place.run(&[&["runs", "show", "last"], more].concat());
    let study = show(&["--columns", "study"]);
    study.expect(0, &["Busy", "kBpt", "Elapsed", "rbps"]);
    assert!(!study.out.contains("p99.9"), "{}", study.out);
    let named = show(&["--columns", "jobs,log_file_sync_p90_ms,redo_size_bytes"]);
    named.expect(0, &["p90", "bytes"]);
    assert!(!named.out.contains("Workload"), "{}", named.out);
    let csv = show(&["--columns", "jobs,log_file_sync_p90_ms", "--format", "csv"]);
    assert!(
        csv.out
            .starts_with("run_id,origin,valid,jobs,log_file_sync_p90_ms\n"),
        "{}",
        csv.out
    );
    for (wrong, likely) in [
        ("log_file_sync_p99", "did you mean log_file_sync_p99_ms"),
        ("p9", "use study, or keys of CSV"),
    ] {
        show(&["--columns", wrong]).expect(2, &["--columns", wrong, likely]);
    }
}

#[test]
fn every_csv_has_percentiles_behind_the_columns_that_were_there() {
    let place = Place::new();
    let printed = run(&place, &["--format", "csv"]).out;
    let stored = place.run(&["runs", "show", "last", "--format", "csv"]).out;
    assert_eq!(printed, stored);
    let json = place
        .run(&["runs", "show", "last", "--format", "json"])
        .json();
    let mut lines = stored.lines();
    let headings: Vec<&str> = lines.next().expect("headings").split(',').collect();
    let cells: Vec<&str> = lines.next().expect("a row").split(',').collect();
    assert_eq!(
        headings[..6],
        ["run_id", "origin", "valid", "workload", "nodes", "jobs"]
    );
    let at = |key: &str| headings.iter().position(|h| *h == key).expect("a column");
    assert!(at("log_file_sync_p50_ms") > at("neighbour_fsync_max_us"));
    let waits = &json["rows"][0]["waits"];
    for (key, stats, figure) in [
        ("log_file_sync_p50_ms", &waits["log_file_sync"], "p50_ns"),
        ("log_file_sync_p99_ms", &waits["log_file_sync"], "p99_ns"),
        ("log_file_sync_max_ms", &waits["log_file_sync"], "max_ns"),
        (
            "log_file_parallel_write_ms",
            &waits["log_file_parallel_write"],
            "mean_ns",
        ),
        (
            "log_file_parallel_write_p99_ms",
            &waits["log_file_parallel_write"],
            "p99_ns",
        ),
        (
            "commit_latency_p99_ms",
            &json["rows"][0]["commit_latency"],
            "p99_ns",
        ),
    ] {
        let shown: f64 = cells[at(key)].parse().expect("a number");
        let ns = stats[figure].as_f64().expect("enough waits");
        assert!(
            (shown * 1e6 - ns).abs() < 1e-3 * ns.max(1.0),
            "{key}: {shown}, {ns}"
        );
    }
}

#[test]
fn markdown_is_a_table_with_the_verdict_above() {
    let place = Place::new();
    let printed = run(&place, &["--format", "markdown"]).out;
    let stored = place
        .run(&["runs", "show", "last", "--format", "markdown"])
        .out;
    assert_eq!(printed, stored);
    assert!(
        printed.starts_with("### ") && printed.contains("\n- Durability: volatile\n"),
        "{printed}"
    );
    let table: Vec<&str> = printed
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert_eq!(table.len(), 3, "{printed}");
    let cells = |line: &str| line.matches(" | ").count();
    assert!(
        table.iter().all(|line| cells(line) == cells(table[0])),
        "{printed}"
    );
    let json: Value = place
        .run(&["runs", "show", "last", "--format", "json"])
        .json();
    for must in [
        "log file sync p99",
        "**Findings**",
        "What to do: ",
        json["run_id"].as_str().expect("an id"),
    ] {
        assert!(printed.contains(must), "{must}: {printed}");
    }
    place
        .run(&["compare", "last", "last", "--format", "openmetrics"])
        .expect(2, &["--format", "table, json, csv or markdown"]);
}

#[test]
fn imported_evidence_is_markdown_too() {
    let place = Place::new();
    let trace = "*** 2026-11-20 10:00:00.000\n\
        WAIT #1: nam='log file sync' ela= 5123 buffer#=1 sync scn=2 p3=0 obj#=-1 tim=100000\n\
        WAIT #1: nam='log file sync' ela= 6123 buffer#=1 sync scn=2 p3=0 obj#=-1 tim=200000\n";
    let path = place.path().join("a|b.trc");
    std::fs::write(&path, trace).expect("writes");
    let done = place.run(&["import", "a|b.trc", "--format", "markdown"]);
    done.expect(0, &["**Evidence**", "a\\|b.trc", "| ---"]);
    let lines: Vec<&str> = done.out.lines().filter(|l| l.starts_with('|')).collect();
    assert!(lines.len() >= 3, "{}", done.out);
}
