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
    // Latency is judged too: production's waits are beside the device's, in one sentence.
    let waits = json["need"]["production"].as_array().expect("waits");
    let events: Vec<&str> = waits.iter().filter_map(|w| w["event"].as_str()).collect();
    assert!(events.contains(&"log_file_sync"), "{events:?}");
    let reasons = json["verdict"]["reasons"].as_array().expect("reasons");
    let beside = reasons.iter().find(|r| r["id"] == "need.production");
    let claim = beside.and_then(|r| r["claim"].as_str()).expect("judged");
    assert!(
        claim.contains("log file sync takes")
            && claim.contains("in production")
            && claim.contains("on this device"),
        "{claim}"
    );
    // Stored, and shown with the same words.
    let shown = place.run(&["runs", "show", "last"]);
    assert!(shown.out.contains("The need comes from"), "{}", shown.out);
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

/// Production's log file sync is 17.1 ms: nobody wants that again, and rates alone meet no need.
#[test]
fn a_sick_production_is_to_be_beaten_and_not_a_target() {
    let place = Place::new();
    let report = place.path().join("awr.txt");
    let text = std::fs::read_to_string(evidence("awr-text/whole.txt")).expect("the corpus");
    let healthy = "log file sync                        76,800         154      2";
    assert!(text.contains(healthy), "the corpus");
    let sick = "log file sync                        76,800       1,313     17";
    std::fs::write(&report, text.replace(healthy, sick)).expect("writes");
    let named = report.display().to_string();
    let said = need(&place, &named, &[]);
    assert!(
        said.contains("too long to be a target: it is what is to be beaten"),
        "{said}"
    );
    assert!(!said.contains("of log file sync (p99)"), "{said}");
    let json = check(&place, &named, &["--format", "json"]).json();
    assert_eq!(
        schema_problems("run-2.schema.json", &json),
        Vec::<String>::new()
    );
    assert_eq!(json["need"]["p99_ns"], Value::Null);
    let open = json["verdict"]["scope"]["not_judged"].to_string();
    assert!(open.contains("a target for commit latency"), "{open}");
    let reasons = json["verdict"]["reasons"].to_string();
    assert!(
        reasons.contains("in production (too long to be a target"),
        "{reasons}"
    );
}

/// The histograms of 12.2 and later are one distribution, divided into tables.
#[test]
fn the_percentile_lies_in_a_bucket_of_four_histograms() {
    let place = Place::new();
    let part = |title: &str, waits: &str, bounds: &[&str], shares: &[&str]| {
        let heads: String = bounds.iter().map(|b| format!("<th>{b}</th>")).collect();
        let cells: String = shares.iter().map(|s| format!("<td>{s}</td>")).collect();
        format!(
            "<h3 class=\"awr\">Wait Event Histogram{title}</h3><table border=\"0\" class=\"tdiff\" \
             summary=\"This table displays total number of waits, and information about percentage of \
             waits\"><tr><td colspan=\"2\"></td><th colspan=\"{}\">% of Waits</th></tr>\
             <tr><th>Event</th><th>{waits}</th>{heads}</tr>\
             <tr><td>log file sync</td><td>24.2K</td>{cells}</tr></table>\n",
            bounds.len()
        )
    };
    let page = format!(
        "<html><head><title>AWR Report for DB: DB1, Inst: db1, Snaps: 100-101</title></head>\
         <body class=\"awr\">\n<h1 class=\"awr\">WORKLOAD REPOSITORY report for</h1>\n{}{}</body></html>",
        part(
            "",
            "Total Waits",
            &["&lt;128us", "&lt;256us", "&lt;512us", ">=512us"],
            &[".2", ".3", ".6", "98.9"]
        ),
        part(
            " Detail (1 msec to 32 msec)",
            "Waits 1ms to 32ms",
            &[
                "&lt;512us",
                "&lt;1ms",
                "&lt;2ms",
                "&lt;4ms",
                "&lt;8ms",
                "&lt;16ms",
                "&lt;32ms",
                "&gt;=32ms"
            ],
            &["1.1", "1.1", "46.7", "45.3", "4.9", ".6", ".2", ".1"],
        ),
    );
    let file = place.path().join("awr.html");
    std::fs::write(&file, page).expect("writes");
    let said = need(&place, &file.display().to_string(), &[]);
    for words in [
        "p50 between 2.00 ms and 4.00 ms",
        "p99 between 4.00 ms and 8.00 ms",
        "p99.9 between 16.0 ms and 32.0 ms",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(said.contains("8.00 ms of log file sync (p99)"), "{said}");
}

/// Of a sweep the largest load is the need, and the command says which one.
#[test]
fn a_sweep_is_a_need_and_its_largest_load_is_named() {
    let place = Place::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/003/tables.tsv");
    let file = file.display().to_string();
    let words = [
        "the largest of 97 loads",
        "LGWR-LAT1 on Exadata X9M-2 With PMEM 2021 with 80 jobs",
        "367,848 commits/s (row",
        "80 sessions (row",
        "log file sync: 120 µs on average",
    ];
    let said = need(&place, &file, &[]);
    for word in words {
        assert!(said.contains(word), "{word}: {said}");
    }
    // A stored run of the same rows is the same need.
    place.run(&["import", &file, "-q"]).expect(0, &[]);
    let stored = need(&place, "last", &[]);
    assert!(stored.contains("the largest of 97 loads"), "{stored}");
}
