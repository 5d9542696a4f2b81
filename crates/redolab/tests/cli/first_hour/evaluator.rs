//! The storage evaluator: three volumes with their prices, one matrix, and CSV for a spreadsheet.

use super::{Terminal, csv_lines, expect_log_file_sync, expect_plain_markdown, markdown_tables};
use crate::harness::{LoopVolume, done, is_root};
use std::os::unix::fs::symlink;

/// Volumes: label, file system where it can be mounted, price.
const VOLUMES: [(&str, &str, &str); 3] = [
    ("gp3", "ext4", "0.08"),
    ("io2", "xfs", "0.125"),
    ("st1", "ext4", "0.045"),
];

/// The volumes below their labels: file systems of their own, or directories of one device.
fn volumes(evaluator: &Terminal) -> Vec<LoopVolume> {
    // Directories are a first hour too: without root the script is not skipped.
    let can_mount = is_root() && done("mkfs.xfs", &["-V"]).is_some();
    let kinds = VOLUMES
        .iter()
        .filter(|_| can_mount)
        .map(|(_, kind, _)| kind);
    let made: Vec<LoopVolume> = kinds
        .filter_map(|kind| LoopVolume::make(kind, 1, 512))
        .collect();
    for (at, (label, _, _)) in VOLUMES.iter().enumerate() {
        let link = evaluator.place.path().join(label);
        let made = match made.get(at).filter(|_| made.len() == VOLUMES.len()) {
            Some(volume) => symlink(volume.path(), link),
            None => std::fs::create_dir(link),
        };
        made.expect("a volume");
    }
    made
}

#[test]
fn compares_three_volumes_in_a_matrix_and_a_spreadsheet() {
    let evaluator = Terminal::new();
    let made = volumes(&evaluator);
    for (label, _, price) in VOLUMES {
        let run = "redolab run --jobs 1,8 --commits 1500";
        let done = evaluator.types(&format!(
            "{run} {} --on {label} --label {label} --tag volume={label} --tag price={price}",
            super::SMALL
        ));
        let tags = format!("price={price}, volume={label}");
        let named = format!(" {label}  origin: measured");
        done.expect(0, &["Verdict: ", &named, &tags]);
        expect_log_file_sync(&done.out);
    }
    evaluator
        .types("redolab runs")
        .expect(0, &["Label", "gp3", "io2", "st1", "Verdict"]);

    let compare = "redolab compare gp3 io2 st1";
    let done = evaluator.types(compare);
    done.expect(
        0,
        &[
            "gp3: base; ",
            "st1: compared; ",
            "price=0.125, volume=io2",
            "io2 against gp3: ",
            "st1 against gp3: ",
            "Ranking: LGWR-LAT1 with ",
            "All runs, with the change against the first",
            "commits per",
            "log file sync,",
        ],
    );
    if made.len() < VOLUMES.len() {
        done.expect(0, &["gp3, io2 and st1 are on the same device"]);
    }
    // Labels, and not ids, name the columns.
    let is_heading = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words == ["Workload", "Jobs", "Figure", "gp3", "io2", "st1"]
    };
    assert_eq!(
        done.out.lines().filter(is_heading).count(),
        1,
        "{}",
        done.out
    );

    let done = evaluator.types(&format!("{compare} --format markdown"));
    done.expect(0, &["### gp3 or io2 or st1", "; price=0.08, volume=gp3"]);
    expect_plain_markdown(&done.out);
    let tables = markdown_tables(&done.out);
    // The ranking, and all runs.
    assert_eq!(tables[0][0][0], "Run", "{}", done.out);
    let heads = ["Workload", "Jobs", "Figure", "gp3", "io2", "st1"];
    assert_eq!(tables[1][0], heads, "{}", done.out);
    let p99 = |line: &&Vec<String>| line[1..3] == ["8", "log file sync, p99"];
    assert_eq!(tables[1].iter().filter(p99).count(), 1, "{}", done.out);

    expect_spreadsheet(&evaluator, compare);
}

/// CSV of the comparison and of each run, with percentiles, labels and tags.
fn expect_spreadsheet(evaluator: &Terminal, compare: &str) {
    evaluator
        .types(&format!("{compare} --format csv -o volumes.csv"))
        .expect(0, &[]);
    let lines_of_comparison = csv_lines(&evaluator.file("volumes.csv"));
    for metric in [
        "commit_throughput_tps",
        "log_file_sync.p99",
        "log_file_sync.p999",
    ] {
        for other in ["io2", "st1"] {
            let found = lines_of_comparison.iter().filter(|line| {
                line["base"] == "gp3"
                    && line["run"] == other
                    && line["jobs"] == "8"
                    && line["metric"] == metric
            });
            let figures: Vec<Option<f64>> = found
                .flat_map(|line| ["a", "b"].map(|key| line[key].parse().ok()))
                .collect();
            let known = |figure: &Option<f64>| figure.is_some_and(|value| value > 0.0);
            assert!(
                figures.len() == 2 && figures.iter().all(known),
                "{metric} {other}: {lines_of_comparison:?}"
            );
        }
    }
    for (label, _, price) in VOLUMES {
        let done = evaluator.types(&format!("redolab runs show {label} --format csv"));
        let lines = csv_lines(&done.out);
        assert_eq!(lines.len(), 2, "{}", done.out);
        let of_eight = lines
            .iter()
            .find(|line| line["jobs"] == "8")
            .expect("a row");
        assert_eq!(of_eight["label"], label);
        assert_eq!(of_eight["tags"], format!("price={price}, volume={label}"));
        let percentile = |name: &str| -> f64 {
            let key = format!("log_file_sync_{name}_ms");
            let cell = of_eight.get(&key).unwrap_or_else(|| panic!("{key}"));
            cell.parse()
                .unwrap_or_else(|e| panic!("{key}: {cell}: {e}"))
        };
        let all = ["p50", "p90", "p99", "p999", "max"].map(percentile);
        assert!(all[0] > 0.0 && all.is_sorted(), "{all:?}");
        // The comparison has the same figure under the same label.
        let same = |line: &&std::collections::BTreeMap<String, String>| {
            line["jobs"] == "8" && line["metric"] == "log_file_sync.p99" && line["run"] != "gp3"
        };
        let compared = lines_of_comparison.iter().filter(same).find_map(|line| {
            let side = [("base", "a"), ("run", "b")];
            let own = side.iter().find(|(name, _)| line[*name] == label);
            own.and_then(|(_, key)| line[*key].parse::<f64>().ok())
        });
        let p99_ns = 1e6 * all[2];
        let near = compared.is_some_and(|ns| (ns / p99_ns - 1.0).abs() < 1e-6);
        assert!(near, "{label}: {compared:?} ns, {p99_ns} ns");
    }
}
