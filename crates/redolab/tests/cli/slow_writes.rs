//! The log's own outlier view: each log write over the threshold, with time, size and member, in
//! the warnings, the tables, the JSON and the report.

use crate::harness::{Place, schema_problems};

/// Each log write takes at least a nanosecond, so all of them are listed or counted.
const RUN: [&str; 8] = [
    "run",
    "--null",
    "--jobs",
    "2",
    "--commits",
    "300",
    "--format",
    "json",
];

#[test]
fn every_log_write_over_the_threshold_is_listed_or_counted() {
    let place = Place::new();
    let done = place.run(&[&RUN[..], &["--log-write-warning", "0.001us"]].concat());
    done.expect(
        0,
        &["Warning: log write elapsed time 0ms, size ", "member 0"],
    );
    let run = done.json();
    assert_eq!(
        schema_problems("run-2.schema.json", &run),
        Vec::<String>::new()
    );
    let row = &run["rows"][0];
    let waits = &row["waits"]["log_file_parallel_write"];
    assert_eq!(row["log_write_warnings"], waits["count"]);
    let slow = &row["slow_log_writes"];
    let writes = slow["writes"].as_array().expect("a list");
    let count = waits["count"].as_u64().expect("a number");
    assert_eq!(slow["threshold_ns"], 1);
    assert_eq!(writes.len() as u64, count.min(180));
    assert_eq!(slow["dropped"], count - count.min(180));
    let longest = writes.iter().filter_map(|w| w["took_ns"].as_u64()).max();
    assert_eq!(longest, waits["max_ns"].as_u64());
    let created: jiff::Timestamp = run["created"]
        .as_str()
        .expect("a time")
        .parse()
        .expect("RFC 3339");
    let mut before = 0;
    for write in writes {
        let at_ns = write["at_utc_ns"].as_u64().expect("a time");
        assert!(at_ns >= before, "in the order of time");
        before = at_ns;
        let since_s = at_ns / 1_000_000_000 - created.as_second() as u64;
        assert!(since_s < 3600, "{since_s} s after the run began");
        let size = write["size_bytes"].as_u64().expect("a size");
        assert!(size > 0 && size % 512 == 0, "{size}");
        assert_eq!(write["member"], 0);
    }
    let id = run["run_id"].as_str().expect("a name");
    let shown = place.run(&["runs", "show", id]);
    shown.expect(
        0,
        &[
            "Log writes that took at least 1 ns",
            "more log writes took at least",
        ],
    );
    let report = place.path().join("slow.html");
    let report = report.to_str().expect("a path");
    place.run(&["report", id, "-o", report]).expect(0, &[]);
    let html = std::fs::read_to_string(report).expect("a report");
    assert!(
        html.contains("Log writes that took at least 1 ns"),
        "the report lists them"
    );
}

#[test]
fn the_threshold_is_that_of_oracle_and_nothing_is_listed_below_it() {
    let place = Place::new();
    let done = place.run(&[&RUN[..], &["--log-write-warning", "1h"]].concat());
    done.expect(0, &[]);
    assert!(!done.err.contains("Warning: log write"), "{}", done.err);
    let row = &done.json()["rows"][0];
    assert_eq!(row["log_write_warnings"], 0);
    assert_eq!(row["slow_log_writes"]["writes"], serde_json::json!([]));
    let default = place.run(&RUN);
    default.expect(0, &[]);
    let slow = &default.json()["rows"][0]["slow_log_writes"];
    assert_eq!(slow["threshold_ns"], 500_000_000);
    let zero = place.run(&["run", "--null", "--log-write-warning", "0"]);
    zero.expect(2, &["--log-write-warning"]);
}
