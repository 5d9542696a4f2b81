//! What docs/interchange.md says other programs read, they read: its snippets are run as they stand
//! there, and what they print is compared with redolab's own figures.
//!
//! Python's packages are looked for in `target/interchange`, where `cargo xtask setup` puts them,
//! or with the interpreter that REDOLAB_PYTHON names.

use crate::harness::{Place, entries, schema_problems, skipped};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Commits of each session: enough for a 99th percentile, however slow the machine is.
const COUNTED: &str = "--commits 4000";

/// A place in which the first snippet was run.
struct Lake {
    place: Place,
    run: Value,
}

impl Lake {
    /// `more` options make the run short: as many commits as percentiles need, or two intervals.
    fn fill(more: &str) -> Lake {
        let place = Place::new();
        let commands = blocks("sh").remove(0);
        for line in commands.lines() {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            if words.get(1) == Some(&"run") {
                // The number of commits is that of `more`.
                let at = words.iter().position(|word| *word == "--commits");
                let at = at.expect("the run of the document is bounded");
                words.drain(at..at + 2);
                words.extend(more.split_whitespace());
            }
            assert_eq!(words.first(), Some(&"redolab"), "{line}");
            place.run(&words[1..]).expect(0, &[]);
        }
        let run = place.run(&["runs", "show", "last", "--format", "json"]);
        let run = run.json();
        let valid = schema_problems("run-2.schema.json", &run);
        assert_eq!(valid, Vec::<String>::new());
        Lake { place, run }
    }

    /// A figure of a wait in the row with so many jobs.
    fn figure(&self, jobs: u64, event: &str, figure: &str) -> u64 {
        let rows = self.run["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["jobs"] == jobs);
        let row = row.expect("a row with these jobs");
        let wait = match event {
            "commit_latency" => &row["commit_latency"],
            event => &row["waits"][event],
        };
        wait[figure]
            .as_u64()
            .unwrap_or_else(|| panic!("{event} {figure}: {wait}"))
    }

    /// What a program printed in the lake.
    fn said(&self, program: &Path, arguments: &[&str]) -> String {
        let done = Command::new(program)
            .args(arguments)
            .current_dir(self.place.path())
            .env("MPLCONFIGDIR", self.place.path().join("mpl"))
            .output()
            .expect("starts");
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{arguments:?}\n{said}{errors}");
        said
    }
}

/// The snippets of the document in a language, in their order.
fn blocks(language: &str) -> Vec<String> {
    let path = format!("{}/../../docs/interchange.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the document is in the repository");
    let mut found = Vec::new();
    for part in text.split("\n```").skip(1).step_by(2) {
        if let Some(code) = part.strip_prefix(&format!("{language}\n")) {
            found.push(code.to_owned());
        }
    }
    assert!(!found.is_empty(), "no snippet in {language}");
    found
}

/// The interpreter that has `modules`.
fn python(modules: &[&str]) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/interchange/bin/python");
    let named = std::env::var_os("REDOLAB_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or(here);
    let import = format!("import {}", modules.join(", "));
    let done = Command::new(&python).args(["-c", &import]).output();
    if done.is_ok_and(|done| done.status.success()) {
        return Some(python);
    }
    let modules = modules.join(", ");
    skipped(&format!(
        "no Python with {modules}: `cargo xtask setup` installs it"
    ));
    None
}

/// The snippet that contains `word`.
fn block(language: &str, word: &str) -> String {
    let mut all = blocks(language).into_iter();
    all.find(|code| code.contains(word)).expect("a snippet")
}

#[test]
fn duckdb_merges_histograms_and_reads_events() {
    let Some(python) = python(&["duckdb"]) else {
        return;
    };
    let lake = Lake::fill(COUNTED);
    let ask = "import duckdb, sys\nfor row in duckdb.sql(sys.argv[1]).fetchall(): print(*row)";
    let said = lake.said(&python, &["-c", ask, &block("sql", "p99_ns")]);
    let mut judged = 0;
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, jobs, event, waits, p99] = words.as_slice() else {
            panic!("{line}");
        };
        let jobs = jobs.parse().expect("a number");
        let count = lake.figure(jobs, event, "count").to_string();
        assert_eq!(*waits, count, "{line}");
        let p99_ns = lake.figure(jobs, event, "p99_ns").to_string();
        assert_eq!(*p99, p99_ns, "{line}");
        judged += 1;
    }
    assert_eq!(judged, 6, "three histograms of two rows:\n{said}");
    let said = lake.said(&python, &["-c", ask, &block("sql", "mean_flush_ns")]);
    assert_eq!(said.lines().count(), 2, "{said}");
    for (line, jobs) in said.lines().zip([1, 4]) {
        let sync = |figure| lake.figure(jobs, "log_file_sync", figure).to_string();
        let want = [sync("count"), sync("total_ns"), sync("max_ns")];
        let words: Vec<&str> = line.split_whitespace().skip(2).take(3).collect();
        assert_eq!(words, want, "{line}");
    }
    for dataset in ["interval", "device"] {
        let sql = format!(
            "SELECT origin, count(*), count(DISTINCT run_id), count(node) > 0 FROM \
             read_parquet('lake/{dataset}/*/*/*.parquet', hive_partitioning = true) GROUP BY ALL"
        );
        let said = lake.said(&python, &["-c", ask, &sql]);
        assert!(said.starts_with("measured"), "{dataset}: {said}");
        assert!(said.trim_end().ends_with("1 True"), "{dataset}: {said}");
    }
}

#[test]
fn pandas_reads_every_event() {
    let Some(python) = python(&["pandas", "pyarrow"]) else {
        return;
    };
    let lake = Lake::fill(COUNTED);
    let said = lake.said(&python, &["-c", &block("python", "pandas")]);
    for jobs in [1, 4] {
        for (word, event) in [
            ("sync", "log_file_sync"),
            ("write", "log_file_parallel_write"),
        ] {
            let figure = |name| lake.figure(jobs, event, name);
            let (count, total, max) = (figure("count"), figure("total_ns"), figure("max_ns"));
            let want = format!("{word} LGWR-LAT1 {jobs} {count} {total} {max}\n");
            assert!(said.contains(&want), "`{want}` is not in\n{said}");
        }
    }
    let joined = said.lines().find_map(|l| l.strip_prefix("joined "));
    let joined = joined.and_then(|l| l.split(' ').next()?.parse::<u64>().ok());
    let all = lake.figure(1, "log_file_sync", "count") + lake.figure(4, "log_file_sync", "count");
    let joined = joined.expect("a number");
    assert!(joined > 0 && joined <= all, "{joined} of {all}");
}

#[test]
fn r_reads_every_event() {
    let has = |package: &str| {
        let code = format!("library({package})");
        let done = Command::new("Rscript").args(["-e", &code]).output();
        done.is_ok_and(|done| done.status.success())
    };
    if !has("arrow") {
        skipped("no R with the package arrow, which Debian does not have");
        return;
    }
    let lake = Lake::fill(COUNTED);
    let said = lake.said(Path::new("Rscript"), &["-e", &blocks("r")[0]]);
    for jobs in [1, 4] {
        let figure = |name| lake.figure(jobs, "log_file_sync", name);
        let want = format!("sync {jobs} {} {}", figure("count"), figure("total_ns"));
        assert!(said.contains(&want), "`{want}` is not in\n{said}");
    }
}

/// What the test adds to the document's snippet, whose `hdrhistogram` rounds 0.99 n to the nearest
/// rank where redolab takes the next one: the values at the two ranks between which that lies.
const RANKS: &str = "
def at(histogram, rank):
    seen = 0
    for index in range(histogram.counts_len):
        seen += histogram.get_count_at_index(index)
        if seen >= rank:
            value = histogram.get_value_from_index(index)
            return histogram.get_highest_equivalent_value(value)
for path in sorted(glob.glob('hlog/*.hlog')):
    merged = HdrHistogram(1, 600_000_000_000, 3)
    reader = HistogramLogReader(path, merged)
    while reader.add_next_interval_histogram(merged):
        pass
    rank = -(-99 * merged.get_total_count() // 100)
    print(path, at(merged, rank - 1), at(merged, rank))
";

#[test]
fn pythons_hdrhistogram_reads_the_logs() {
    let Some(python) = python(&["hdrh.log"]) else {
        return;
    };
    let lake = Lake::fill(COUNTED);
    let code = format!("{}\n{RANKS}", block("python", "hdrh"));
    let said = lake.said(&python, &["-c", &code]);
    let lines: Vec<Vec<&str>> = said.lines().map(|l| l.split(' ').collect()).collect();
    let (documented, ranks) = lines.split_at(lines.len() / 2);
    assert_eq!((documented.len(), ranks.len()), (6, 6), "{said}");
    for (documented, ranks) in documented.iter().zip(ranks) {
        let ([path, count, p99], [same, before, at]) = (&documented[..], &ranks[..]) else {
            panic!("{said}");
        };
        assert_eq!(path, same);
        let event = path.rsplit('.').nth(1).expect("an event");
        let jobs = if path.contains("-1.") { 1 } else { 4 };
        let commits = lake.figure(jobs, event, "count").to_string();
        assert_eq!(*count, commits, "{path}");
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let ours = lake.figure(jobs, event, "p99_ns") as f64;
        // A bucket is as wide, and redolab shows nothing beyond the exact maximum.
        let off = number(at) / ours - 1.0;
        assert!((0.0..1e-3).contains(&off), "{path}: {at}, ours {ours}");
        assert!([before, at].contains(&p99), "{path}: {p99}, {before}, {at}");
    }
}

#[test]
fn prometheus_reads_the_text() {
    let Some(python) = python(&["prometheus_client"]) else {
        return;
    };
    let lake = Lake::fill(COUNTED);
    let said = lake.said(&python, &["-c", &block("python", "prometheus_client")]);
    for jobs in [1, 4] {
        let count = lake.figure(jobs, "log_file_sync", "count");
        let want = format!("sync LGWR-LAT1 {jobs} {count}\n");
        assert!(said.contains(&want), "`{want}` is not in\n{said}");
    }
}

#[test]
fn fio_plot_draws_what_is_exported_and_import_reads_it_back() {
    let lake = Lake::fill("--time 2200ms --warmup 0 --cpu-per-txn 50us");
    let files = entries(&lake.place.path().join("fio/LGWR-LAT1"));
    for jobs in [1, 4] {
        for end in [
            ".json",
            "_lat.1.log",
            "_clat.1.log",
            "_iops.1.log",
            "_bw.1.log",
        ] {
            let name = format!("write-iodepth-1-numjobs-{jobs}{end}");
            assert!(files.contains(&name), "{name} is not in {files:?}");
        }
        let file = format!("fio/LGWR-LAT1/write-iodepth-1-numjobs-{jobs}.json");
        let imported = lake.place.run(&["import", &file, "--format", "json", "-q"]);
        let imported = imported.json();
        let tables = imported["imported"]["tables"].as_array().expect("tables");
        let text = serde_json::to_string(tables).expect("JSON");
        for (event, figure) in [
            ("log_file_sync", "count"),
            ("log_file_parallel_write", "count"),
        ] {
            let count = lake.figure(jobs, event, figure).to_string();
            assert!(
                text.contains(&count),
                "{event}: {count} is not in {text:.3000}"
            );
        }
        let max_us = lake.figure(jobs, "log_file_sync", "max_ns") as f64 / 1e3;
        assert!(
            text.contains(&max_us.to_string()),
            "{max_us} is not in {text:.3000}"
        );
    }
    let Some(python) = python(&["fio_plot"]) else {
        return;
    };
    let bin = python.parent().expect("a folder").display().to_string();
    let path = format!("PATH={bin}:$PATH; set -e\n{}", block("sh", "fio-plot -i"));
    lake.said(Path::new("sh"), &["-c", &path]);
    for picture in ["bars.png", "lines.png"] {
        let bytes = std::fs::read(lake.place.path().join(picture)).expect("drawn");
        assert!(
            bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000,
            "{picture}"
        );
    }
}

/// The first commands of the document, exactly as they are there.
#[test]
fn the_first_run_of_the_document_is_valid() {
    let place = Place::new();
    let commands = blocks("sh").remove(0);
    let run = commands.lines().next().expect("a command");
    let words: Vec<&str> = run.split_whitespace().skip(1).collect();
    place.run(&words).expect(0, &[]);
    let run = place
        .run(&["runs", "show", "last", "--format", "json"])
        .json();
    assert_eq!(
        run["validity"]["problems"],
        serde_json::json!([]),
        "{run:.2000}"
    );
    assert_eq!(run["rows"][1]["events"]["lost"], 0);
    // Without a bound events would be lost, so it is refused before anything runs.
    let endless = ["run", "--null", "--jobs", "1,4", "--events"];
    place
        .run(&endless)
        .expect(2, &["--events", "--commits 400000", "--cpu-per-txn"]);
    let listed = place.run(&["runs", "list", "--format", "json"]).json();
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn an_export_says_what_it_wants_and_replaces_nothing() {
    let place = Place::new();
    let id = place.store_a_run();
    let lake = place.path().join("lake").display().to_string();
    let export = |more: &[&str]| {
        let mut arguments = vec!["report", id.as_str()];
        arguments.extend(more);
        place.run(&arguments)
    };
    export(&["--format", "parquet"]).expect(2, &["several files", "--output"]);
    export(&["--format", "hlog"]).expect(2, &["several files", "--output"]);
    export(&["--format", "openmetrics", "-o", "."]).expect(2, &["is a directory"]);
    export(&["--format", "parquet", "-o", &lake]).expect(0, &[]);
    assert_eq!(entries(Path::new(&lake)), ["device", "hist", "interval"]);
    export(&["--format", "parquet", "-o", &lake]).expect(2, &["already exists"]);
    let text = export(&["--format", "openmetrics"]);
    text.expect(0, &["# TYPE redolab_log_file_sync_seconds histogram", &id]);
    assert!(text.out.ends_with("# EOF\n"));
    let shown = place.run(&["runs", "show", &id, "--format", "fio-json"]);
    let document = shown.json();
    assert_eq!(document["redolab"]["run_id"], id.as_str());
    assert_eq!(document["jobs"][0]["job options"]["numjobs"], "1");
    let commits =
        &place.run(&["runs", "show", &id, "--format", "json"]).json()["rows"][0]["commits"];
    assert_eq!(&document["jobs"][0]["write"]["total_ios"], commits);
}
