//! `check --explain-latency`: every condition in every round, the parts of a commit's wait, and
//! nothing left behind.

use crate::harness::{Place, schema_problems};
use std::path::Path;

/// Rounds that are short, and long enough that a session gets a processor in each row beside busy
/// threads of the test's and of others.
const SHORT: [&str; 13] = [
    "--explain-latency",
    "--quick",
    "--jobs",
    "2",
    "--time",
    "500ms",
    "--warmup",
    "20ms",
    "--log-file-size",
    "8M",
    "--log-groups",
    "2",
    "--allow-busy",
];

fn explain(place: &Place, target: &Path, more: &[&str]) -> crate::harness::Done {
    let target = target.to_str().expect("a path");
    place.run(&[&["check", target][..], &SHORT, more].concat())
}

/// In memory: a device that others keep busy could leave a round of 100 ms without a commit.
fn in_memory() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir_in("/dev/shm").ok();
    if folder.is_none() {
        println!("skipped: there is no /dev/shm for log files in memory");
    }
    folder
}

#[test]
fn the_parts_of_a_commit_are_measured_under_every_condition() {
    let Some(target) = in_memory() else {
        return;
    };
    let place = Place::new();
    let done = explain(&place, target.path(), &["--format", "json", "--no-report"]);
    done.expect(0, &["Round 3 of 3"]);
    place.expect_clean(target.path());
    let run = done.json();
    assert_eq!(
        schema_problems("run-2.schema.json", &run),
        Vec::<String>::new()
    );
    assert!(run["verdict"].is_null(), "busy threads judge no device");
    let rows = run["rows"].as_array().expect("rows");
    let conditions = |round: u64| -> Vec<String> {
        let of = rows.iter().filter(|row| row["condition"]["round"] == round);
        let mut of: Vec<String> = of
            .map(|row| {
                let c = &row["condition"];
                format!(
                    "{} {} {}",
                    c["commit_write"], c["log_file_sync"], c["busy_threads"]
                )
            })
            .collect();
        of.sort();
        of
    };
    assert!(conditions(1).len() >= 5, "{:?}", conditions(1));
    assert_eq!(conditions(1), conditions(2));
    assert_eq!(conditions(1), conditions(3));
    let find = |id: &str| {
        let all = run["findings"].as_array().expect("findings").iter();
        let found = all.clone().find(|finding| finding["id"] == id);
        found.unwrap_or_else(|| panic!("{id}: {:?}", run["findings"]))
    };
    let parts = find("latency.parts");
    let number = |name: &str| {
        let all = parts["numbers"].as_array().expect("numbers").iter();
        let found = all.clone().find(|number| number[0] == name);
        found
            .and_then(|number| number[1].as_f64())
            .unwrap_or_else(|| panic!("{name}: {parts}"))
    };
    let sum: f64 = ["io_us", "group_commit_us", "cpu_us", "log_writer_us"]
        .iter()
        .map(|name| number(name))
        .sum();
    let sync = number("log_file_sync_us");
    assert!(
        (sum / sync - 1.0).abs() < 0.05,
        "{sum} of {sync} us: {parts}"
    );
    assert!(number("log_file_sync_low_us") <= sync && sync <= number("log_file_sync_high_us"));
    let changed = find("latency.conditions")["claim"]
        .as_str()
        .expect("a claim");
    for condition in [
        "NOWAIT BATCH commits",
        "busy thread",
        "polling",
        "post-wait",
    ] {
        assert!(changed.contains(condition), "{condition}: {changed}");
    }
    shown(&place, run["run_id"].as_str().expect("a name"));
}

/// The stored run is shown in the same way, as tables and as a report.
fn shown(place: &Place, id: &str) {
    let words = [
        "What a commit of LGWR-LAT1 with 2 jobs waits for",
        "group commit",
        "Run",
    ];
    place.run(&["runs", "show", id]).expect(0, &words);
    let report = place.path().join("explained.html");
    let path = report.to_str().expect("a path");
    place.run(&["report", id, "-o", path]).expect(0, &[]);
    let html = std::fs::read_to_string(&report).expect("a report");
    for words in [
        "What a commit of LGWR-LAT1 with 2 jobs waits for",
        "group commit",
        "NOWAIT BATCH",
        "busy thread",
    ] {
        assert!(html.contains(words), "{words} is not in the report");
    }
}

#[test]
fn what_cannot_be_explained_is_refused_before_anything_is_written() {
    let place = Place::new();
    let target = place.target.clone();
    let dry = explain(&place, &target, &["--dry-run"]);
    let rows = [
        "LGWR-LAT1-NOWAIT with 2 jobs (adaptive)",
        "LGWR-LAT1 with 2 jobs (polling)",
    ];
    dry.expect(0, &[&["Would run:", "busy thread"][..], &rows].concat());
    place.expect_clean(&target);
    let many = place.run(&["check", "--explain-latency", "--jobs", "1,2"]);
    many.expect(2, &["--jobs", "one number"]);
    let soak = place.run(&["check", "--explain-latency", "--soak", "1m"]);
    soak.expect(2, &["--soak"]);
    let little = explain(&place, &target, &["--max-write", "1M"]);
    little.expect(2, &["--max-write"]);
    place.expect_clean(&target);
}
