//! `check --need-from`: the need of a production system from its evidence.

use crate::harness::{Done, Place, schema_problems};
use serde_json::Value;
use std::path::Path;

/// A file of the corpus of evidence.
fn evidence(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(name);
    path.display().to_string()
}

fn check(place: &Place, from: &str, more: &[&str]) -> Done {
    let more = [&["--need-from", from, "--no-report"], more].concat();
    place.check(&place.target, &more)
}

/// The need of a check that only announces what it would do.
fn need(place: &Place, from: &str, more: &[&str]) -> String {
    let done = check(place, from, &[&["--dry-run"], more].concat());
    done.expect(0, &["The need, from "]);
    done.err
}

/// The sources of a need: quantity and place.
fn sources(json: &Value) -> Vec<(&str, &str)> {
    let all = json["need"]["sources"].as_array().expect("from evidence");
    let word = |value: &Value| value.as_str().map(str::len).map(|_| ());
    assert!(all.iter().all(|source| word(&source["place"]).is_some()));
    all.iter()
        .map(|source| {
            let text = |key: &str| source[key].as_str().unwrap_or_default();
            (text("quantity"), text("place"))
        })
        .collect()
}

#[test]
fn an_awr_report_is_the_need_and_the_verdict_says_from_where() {
    let place = Place::new();
    let awr = evidence("awr-text/whole.txt");
    let done = check(&place, &awr, &["--format", "json"]);
    let json = done.json();
    assert_eq!(
        schema_problems("run-2.schema.json", &json),
        Vec::<String>::new()
    );
    // 76,800 commits and 629,145,600 bytes in 600 s; 98 % of waits are under 8 ms, 100 % under 16.
    assert_eq!(json["need"]["commit_rate"], 128.0);
    assert_eq!(json["need"]["redo_bytes_per_s"], 1_048_576.0);
    assert_eq!(json["need"]["p99_ns"], 16_000_000);
    assert_eq!(
        json["need"]["sessions"],
        Value::Null,
        "the report has none that commit"
    );
    let found = sources(&json);
    for (quantity, words) in [
        ("commit_rate", "instance activity: user commits"),
        ("redo_rate", "instance activity: redo size"),
        ("p99", "its bucket ends there"),
    ] {
        let source = found.iter().find(|(known, _)| *known == quantity);
        let (_, from) = source.unwrap_or_else(|| panic!("{quantity}: {found:?}"));
        assert!(from.starts_with(&awr) && from.contains(words), "{from}");
    }
    done.expect(
        done.code.expect("it ended"),
        &[
            "128 commits/s (",
            "1.00 MB/s of redo (",
            "not in this evidence: sessions",
        ],
    );
    // Stored, and shown with the same words.
    let shown = place.run(&["runs", "show", "last"]);
    assert!(shown.out.contains("The need comes from:"), "{}", shown.out);
    assert!(
        done.err.contains("16.0 ms of log file sync (p99) ("),
        "{}",
        done.err
    );
    let summary = json["verdict"]["summary"].as_str().expect("a sentence");
    let doubtful = json["verdict"]["answer"] == "undetermined";
    assert!(
        doubtful
            || (summary.contains("your production needs 128 commits/s and 1.00 MB/s of redo")
                && summary.contains("this device: ")),
        "{summary}"
    );
}

#[test]
fn options_override_evidence_and_a_stored_import_is_one() {
    let place = Place::new();
    let awr = evidence("awr-text/whole.txt");
    place.run(&["import", &awr, "-q"]).expect(0, &[]);
    let done = check(
        &place,
        "last",
        &["--commit-rate", "5000", "--p99", "2ms", "--format", "json"],
    );
    let json = done.json();
    assert_eq!(json["need"]["commit_rate"], 5000.0);
    assert_eq!(json["need"]["p99_ns"], 2_000_000);
    assert_eq!(json["need"]["redo_bytes_per_s"], 1_048_576.0);
    let quantities: Vec<&str> = sources(&json)
        .iter()
        .map(|(quantity, _)| *quantity)
        .collect();
    assert_eq!(quantities, ["redo_rate"]);
}

#[test]
fn listings_of_counters_and_traces_have_what_they_have() {
    let place = Place::new();
    let write = |name: &str, text: &str| {
        let path = place.path().join(name);
        std::fs::write(&path, text).expect("writes");
        path.display().to_string()
    };
    let wal = |time: &str, bytes: u64| {
        format!(
            " now | wal_records | wal_fpi | wal_bytes | stats_reset\n-----+----+----+----+----\n \
             2026-11-23 {time}+00 | {} | 3 | {bytes} | 2026-11-20 03:51:39+00\n(1 row)\n\n",
            bytes / 100
        )
    };
    let timed = wal("10:00:00", 1_000_000) + &wal("10:00:20", 105_857_600);
    let said = need(&place, &write("wal.txt", &timed), &[]);
    assert!(said.contains("5.00 MB/s of redo (pg_stat_wal"), "{said}");
    assert!(
        said.contains("from 2026-11-23 10:00:00+00 to 2026-11-23 10:00:20+00"),
        "{said}"
    );
    assert!(
        said.contains("not in this evidence: commits per second, sessions"),
        "{said}"
    );

    let said = need(
        &place,
        &evidence("oracle-trace/release_19.trc"),
        &["--p99", "5ms"],
    );
    assert!(said.contains("2 sessions (traced sessions"), "{said}");
    assert!(said.contains("sum of 2 traced sessions"), "{said}");
    // A percentile of several processes is that of none.
    assert!(
        said.matches("(p99)").count() == 1
            && said.contains("stated: 5.00 ms of log file sync (p99)"),
        "{said}"
    );

    let status = |uptime: u64, commits: u64, bytes: u64| {
        format!(
            "+-----------------------+-------+\n| Variable_name         | Value |\n\
             +-----------------------+-------+\n| Handler_commit        | {commits} |\n\
             | Innodb_os_log_written | {bytes} |\n| Innodb_log_writes | {commits} |\n\
             | Uptime                | {uptime} |\n\
             +-----------------------+-------+\n4 rows in set (0.00 sec)\n\n"
        )
    };
    let both = status(1000, 70_000, 9_000_000) + &status(1010, 75_000, 61_428_800);
    let said = need(&place, &write("status.txt", &both), &[]);
    assert!(
        said.contains("500 commits/s (") && said.contains("Handler_commit"),
        "{said}"
    );
    assert!(said.contains("5.00 MB/s of redo ("), "{said}");
}

#[test]
fn what_contradicts_itself_or_has_nothing_is_refused_with_what_to_do() {
    let place = Place::new();
    let two = place.path().join("two");
    std::fs::create_dir(&two).expect("fresh");
    let awr = std::fs::read_to_string(evidence("awr-text/whole.txt")).expect("the corpus");
    std::fs::write(two.join("night.txt"), &awr).expect("writes");
    // Five times the commits, and the same redo.
    let busy = awr.replace(
        "user commits                                 76,800",
        "user commits                                384,000",
    );
    std::fs::write(two.join("day.txt"), busy).expect("writes");
    let named = two.display().to_string();
    let refused = |from: &str, words: &[&str]| {
        check(&place, from, &[]).expect(2, &[&["--need-from", from], words].concat());
        place.expect_clean(&place.target);
    };
    refused(
        &named,
        &[
            "commits per second differ by more than 10 %",
            "128 commits/s (",
            "640 commits/s (",
            "--commit-rate",
        ],
    );
    // The quantity that contradicts itself is stated.
    let said = need(&place, &named, &["--commit-rate", "700"]);
    assert!(said.contains("1.00 MB/s of redo"), "{said}");
    refused(
        &evidence("pg-stats/whole.txt"),
        &[
            "contains no commits per second",
            "SELECT now(), *",
            "--commit-rate",
        ],
    );
    let run = place.store_a_run();
    refused(&run, &["measured by redolab", "redolab import"]);
    let done = check(&place, "nowhere.txt", &[]);
    done.expect(2, &["nowhere.txt", "there is no such file"]);
    check(&place, &named, &["--explain-latency"]).expect(2, &["--need-from"]);
    // The evidence is not replaced by the result.
    let file = two.join("night.txt").display().to_string();
    check(&place, &file, &["-o", &file]).expect(2, &["this command reads"]);
}
