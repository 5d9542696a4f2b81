//! Runs of version 1 that an earlier redolab stored (`tests/version_1`): they are listed, shown,
//! compared, reported, exported and loaded, and every figure is the one that it printed.

use crate::harness::{Place, schema_problems};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const CHECK: &str = "20261122-093654-ca232d";
const RUN: &str = "20261122-093709-f9c2e5";
const ADAPTIVE: &str = "20261122-093725-06dd1f";
const IMPORT: &str = "20261122-093737-88e9bb";
const ALL: [&str; 4] = [CHECK, RUN, ADAPTIVE, IMPORT];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version_1")
}

fn printed(name: &str) -> String {
    fs::read_to_string(fixtures().join("printed").join(name)).expect("a fixture")
}

/// A place whose store holds the old runs.
fn place() -> Place {
    let place = Place::new();
    fs::create_dir(&place.store).expect("a fresh directory");
    let from = fixtures().join("store");
    fs::copy(from.join("store.json"), place.store.join("store.json")).expect("copies");
    for id in ALL {
        let to = place.store.join(id);
        fs::create_dir(&to).expect("a fresh directory");
        for file in fs::read_dir(from.join(id)).expect("a fixture") {
            let file = file.expect("a fixture");
            fs::copy(file.path(), to.join(file.file_name())).expect("copies");
        }
    }
    place
}

fn manifest(id: &str) -> Value {
    let path = fixtures().join("store").join(id).join("manifest.json");
    let text = fs::read_to_string(path).expect("a fixture");
    serde_json::from_str(&text).expect("JSON")
}

/// The old columns are as they were; columns that came later are behind them, and empty.
fn expect_columns(new: &str, old: &str) {
    assert_eq!(new.lines().count(), old.lines().count());
    for (number, (new, old)) in new.lines().zip(old.lines()).enumerate() {
        let later = new.strip_prefix(old);
        let is_as_before = later.is_some_and(|later| {
            let is_heading = number == 0 && (later.is_empty() || later.starts_with(','));
            // Percentiles, which old runs have, are columns since later.
            is_heading || later.starts_with(',')
        });
        assert!(is_as_before, "{new}\n{old}");
    }
}

/// Without the note on columns that are left out, whose words have changed.
fn without_note(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("more column"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a line has a figure in a column of its own; headings and units have none.
fn has_figure(line: &str) -> bool {
    let is_number = |word: &str| word.replace([',', '%'], "").parse::<f64>().is_ok();
    !line.starts_with(' ') && line.split_whitespace().any(is_number)
}

/// Lines of figures, in order, and all words in no order: where a heading is broken and how wide a
/// column is may change.
fn content(text: &str) -> (Vec<String>, Vec<&str>) {
    let lines = text.lines().filter(|line| has_figure(line));
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    (lines.map(collapsed).collect(), words)
}

fn collapsed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn they_are_listed_and_shown_as_before() {
    let place = place();
    let listed = place.run(&["runs"]);
    listed.expect(0, &[]);
    assert_eq!(listed.out, printed("runs.txt"));
    for id in ALL {
        let text = place.run(&["runs", "show", id]);
        text.expect(0, &[]);
        let before = printed(&format!("{id}.txt"));
        let (now, before) = (without_note(&text.out), without_note(&before));
        assert_eq!(content(&now), content(&before), "{id}");
        let csv = place.run(&["runs", "show", id, "--format", "csv"]);
        csv.expect(0, &[]);
        expect_columns(&csv.out, &printed(&format!("{id}.csv")));
    }
}

#[test]
fn every_figure_in_json_is_the_stored_one_or_null() {
    let place = place();
    let (mut measured, mut unknown) = (0, 0);
    for id in ALL {
        let shown = place.run(&["runs", "show", id, "--format", "json"]);
        shown.expect(0, &[]);
        let (old, new) = (manifest(id), shown.json());
        let problems = schema_problems("run-1.schema.json", &old);
        assert_eq!(problems, Vec::<String>::new(), "{id}");
        let problems = schema_problems("run-2.schema.json", &new);
        assert_eq!(problems, Vec::<String>::new(), "{id}");
        for (key, value) in old.as_object().expect("a run") {
            if !["schema", "target", "workload", "rows"].contains(&key.as_str()) {
                assert_eq!(new[key], *value, "{id}: {key}");
            }
        }
        assert_eq!(new["target"]["stack"], old["target"]["stack"], "{id}");
        let rows = old["rows"].as_array().expect("rows");
        assert_eq!(new["rows"].as_array().map(Vec::len), Some(rows.len()));
        for (old, new) in rows.iter().zip(new["rows"].as_array().expect("rows")) {
            let listed = old["not_measured"].as_array().cloned().unwrap_or_default();
            for (key, value) in old.as_object().expect("a row") {
                if listed.contains(&Value::from(key.as_str())) {
                    assert!(new[key].is_null(), "{id}: {key} is {}", new[key]);
                    unknown += 1;
                } else if key != "not_measured" {
                    assert_eq!(new[key], *value, "{id}: {key}");
                    measured += 1;
                }
            }
        }
    }
    assert!(measured > 150 && unknown > 50, "{measured}, {unknown}");
}

#[test]
fn options_of_the_log_are_facts_of_the_target() {
    let place = place();
    for id in [CHECK, RUN, ADAPTIVE] {
        let new = place.run(&["runs", "show", id, "--format", "json"]).json();
        let old = manifest(id);
        assert_eq!(new["target"]["system"], "redo_log");
        for key in [
            "log_writer",
            "log_writer_cpus",
            "log_file_sync",
            "flush_triggers",
        ] {
            assert_eq!(new["target"][key], old["workload"][key], "{id}: {key}");
        }
        for (key, value) in old["target"].as_object().expect("a target") {
            assert_eq!(new["target"][key], *value, "{id}: {key}");
        }
        assert_eq!(new["workload"]["commit_write"], serde_json::json!({}));
    }
    let import = place
        .run(&["runs", "show", IMPORT, "--format", "json"])
        .json();
    assert_eq!(import["target"]["system"], "imported");
    assert_eq!(import["workload"]["kind"], "imported");
    assert_eq!(
        import["workload"]["names"],
        manifest(IMPORT)["workload"]["names"]
    );
}

#[test]
fn they_are_compared_with_each_other_and_with_new_runs() {
    let place = place();
    let done = place.run(&["compare", RUN, ADAPTIVE]);
    done.expect(0, &[]);
    // Notes in words, which are indented or in brackets, may read otherwise by now.
    let printed = printed("compare.txt");
    for line in printed
        .lines()
        .filter(|l| !l.starts_with("  ") && !l.starts_with('('))
    {
        let is_there = match has_figure(line) {
            true => done.out.lines().any(|l| collapsed(l) == collapsed(line)),
            false => line.split_whitespace().all(|word| done.out.contains(word)),
        };
        assert!(is_there, "`{line}`: {}", done.out);
    }
    let new = place.store_a_run();
    place.run(&["compare", RUN, &new]).expect(
        0,
        &[
            "commit_throughput_tps",
            "COMMIT WRITE of LGWR-LAT1: not recorded in the base, WAIT IMMEDIATE here",
        ],
    );
}

#[test]
fn they_are_reported_exported_and_loaded() {
    let place = place();
    for id in ALL {
        let report = place.path().join("r.html");
        let to = report.to_str().expect("UTF-8");
        place.run(&["report", id, "-o", to]).expect(0, &[]);
        let html = fs::read_to_string(&report).expect("written");
        assert!(html.contains(id), "{id}");
        fs::remove_file(report).expect("is there");
    }
    let before = place.run(&["runs", "show", ADAPTIVE, "--format", "json"]);
    place.run(&["runs", "delete", ADAPTIVE]).expect(0, &[]);
    fs::write(place.path().join("old.json"), printed("export.json")).expect("writes");
    place.run(&["runs", "load", "old.json"]).expect(0, &[]);
    let after = place.run(&["runs", "show", ADAPTIVE, "--format", "json"]);
    assert_eq!(after.json(), before.json());
    let text = fs::read_to_string(place.store.join(ADAPTIVE).join("manifest.json"));
    assert!(text.expect("stored").contains("redolab.run/2"));
}
