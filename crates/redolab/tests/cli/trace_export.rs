//! `runs export --format trace`: what `import` reads from the trace of a run are the run's figures.

use crate::harness::Place;
use serde_json::Value;
use std::path::Path;

/// The nearest microsecond is at most this far away.
const ROUNDING_NS: f64 = 500.0;

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is not a number"))
}

/// A run of two rows whose waits were kept one by one; its JSON.
fn measured(place: &Place, more: &[&str]) -> Value {
    let run = [
        "run",
        "--null",
        "--jobs",
        "1,3",
        "--commits",
        "2k",
        "--events",
        "--format",
        "json",
        "-q",
    ];
    let done = place.run(&[&run[..], more].concat());
    done.expect(0, &[]);
    done.json()
}

fn import(place: &Place, file: &Path) -> Value {
    let file = file.to_str().expect("a path");
    let done = place.run(&["import", file, "--format", "json", "-q"]);
    done.expect(0, &[]);
    done.json()
}

/// The figures that `import` gives of the processes whose names begin so.
fn waits<'a>(imported: &'a Value, process: &str, event: &str) -> Vec<&'a Value> {
    let rows = imported["rows"].as_array().expect("rows");
    let of = rows.iter().filter(|row| {
        let name = row["workload"].as_str();
        name.is_some_and(|name| name.starts_with(process))
    });
    of.map(|row| &row["waits"][event])
        .filter(|waits| !waits.is_null())
        .collect()
}

/// Every figure of `ours` is in `theirs`, as far as microseconds show it.
fn expect_same(ours: &Value, theirs: &Value) {
    assert_eq!(ours["count"], theirs["count"]);
    for key in ["mean_ns", "min_ns", "max_ns"] {
        let apart = (number(&ours[key]) - number(&theirs[key])).abs();
        assert!(apart <= ROUNDING_NS, "{key}: {ours} {theirs}");
    }
    let mut percentiles = 0;
    for key in ["p50_ns", "p90_ns", "p99_ns", "p999_ns"] {
        assert_eq!(ours[key].is_null(), theirs[key].is_null(), "{key}");
        if ours[key].is_null() {
            continue;
        }
        percentiles += 1;
        let (ours, theirs) = (number(&ours[key]), number(&theirs[key]));
        // Beside the rounding, a bucket of the histograms is 0.1 % wide.
        let near = ROUNDING_NS + ours / 500.0;
        assert!((ours - theirs).abs() <= near, "{key}: {ours} {theirs}");
    }
    assert!(percentiles >= 3, "{ours}");
}

#[test]
fn import_gives_the_figures_of_the_run() {
    let place = Place::new();
    let run = measured(&place, &[]);
    let folder = place.path().join("traces");
    let into = folder.to_str().expect("a path");
    let id = run["run_id"].as_str().expect("a name");
    place
        .run(&["report", id, "--format", "trace", "-o", into])
        .expect(0, &[]);
    for (row, jobs) in [(1, 1), (2, 3)] {
        let ours = &run["rows"][row - 1];
        let file = folder.join(format!("{row:02}-LGWR-LAT1-{jobs}.trc"));
        let imported = import(&place, &file);
        let writes = waits(&imported, "LGWR", "log_file_parallel_write");
        expect_same(&ours["waits"]["log_file_parallel_write"], writes[0]);
        let syncs = waits(&imported, "session ", "log_file_sync");
        assert_eq!(syncs.len(), jobs, "a process for each session");
        let ours = &ours["waits"]["log_file_sync"];
        if let [only] = syncs[..] {
            expect_same(ours, only);
        }
        let all = |key: &str| syncs.iter().map(|sync| number(&sync[key])).sum::<f64>();
        assert_eq!(all("count"), number(&ours["count"]));
        let mean_ns = all("total_ns") / all("count");
        assert!((mean_ns - number(&ours["mean_ns"])).abs() <= ROUNDING_NS);
        let max_ns = syncs.iter().map(|sync| number(&sync["max_ns"]));
        let max_ns = max_ns.fold(0.0, f64::max);
        assert!((max_ns - number(&ours["max_ns"])).abs() <= ROUNDING_NS);
        let commits = imported["rows"].as_array().expect("rows").iter();
        let commits: u64 = commits.filter_map(|row| row["commits"].as_u64()).sum();
        assert_eq!(Some(commits), run["rows"][row - 1]["commits"].as_u64());
        // Missing where there is none.
        let doubts = imported["diagnostics"].as_array().into_iter().flatten();
        let doubts: Vec<&Value> = doubts.filter(|d| d["severity"] != "note").collect();
        assert!(doubts.is_empty(), "{doubts:?}");
    }
    // The pooled waits of all sessions have the percentiles of the row.
    let file = folder.join("02-LGWR-LAT1-3.trc");
    let file = file.to_str().expect("a path");
    let event = ["--event", "log file sync", "--format", "json"];
    let pooled = place.run(&[&["compare", "--as", "r2", file][..], &event].concat());
    pooled.expect(0, &[]);
    let median_us = number(&pooled.json()["samples"][0]["median_us"]);
    let p50_ns = number(&run["rows"][1]["waits"]["log_file_sync"]["p50_ns"]);
    let near = ROUNDING_NS + p50_ns / 500.0;
    assert!(
        (median_us * 1e3 - p50_ns).abs() <= near,
        "{median_us} {p50_ns}"
    );
}

#[test]
fn slow_log_writes_have_their_warnings_in_the_trace() {
    let place = Place::new();
    let more = [
        "--jobs",
        "1",
        "--commits",
        "50",
        "--log-write-warning",
        "0.001us",
    ];
    let run = place.run(
        &[
            &["run", "--null", "--events", "--format", "json", "-q"][..],
            &more,
        ]
        .concat(),
    );
    run.expect(0, &[]);
    let run = run.json();
    let file = place.path().join("one.trc");
    let path = file.to_str().expect("a path");
    place
        .run(&["report", "last", "--format", "trace", "-o", path])
        .expect(0, &[]);
    let text = std::fs::read_to_string(&file).expect("a trace");
    assert!(text.contains("not by an Oracle server"), "{text}");
    assert!(!text.contains("Release"), "no release of Oracle wrote it");
    let imported = import(&place, &file);
    let tables = imported["imported"]["tables"].as_array().expect("tables");
    let warnings = tables.iter().find(|t| t["id"] == "log_write_warnings");
    let listed = warnings.expect("a table")["rows"].as_array().map(Vec::len);
    let count = run["rows"][0]["log_write_warnings"].as_u64();
    assert_eq!(listed.map(|n| n as u64), count);
}

#[test]
fn a_trace_is_of_one_row_of_a_run_with_events() {
    let place = Place::new();
    let without = place.store_a_run();
    let export =
        |more: &[&str]| place.run(&[&["report", "last", "--format", "trace"][..], more].concat());
    export(&[]).expect(2, &[&without, "--events"]);
    measured(&place, &[]);
    export(&[]).expect(2, &["2 rows", "--row", "--output"]);
    for row in ["0", "3"] {
        export(&["--row", row]).expect(2, &["--row", "from 1 to 2"]);
    }
    let shown = export(&["--row", "2"]);
    shown.expect(0, &["Jobs: 3", "nam='log file sync' ela= "]);
}
