//! A folder of reports as a series: in Parquet and CSV, and as a need.

use crate::harness::Place;
use crate::hourly::{HEALTHY, Hour, write};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::path::{Path, PathBuf};

/// Two instances; the first has its busiest hour, a slow one, at five in the morning.
fn two_instances() -> Place {
    let place = Place::new();
    let folder = place.path().join("day");
    write(&folder, 1, 24, 1, |at| match at {
        5 => Hour {
            sync_ms: 3.0,
            write_ms: 1.5,
            commits_per_s: 900,
        },
        _ => HEALTHY,
    });
    write(&folder, 2, 24, 2, |_| HEALTHY);
    place
}

/// The only file below a folder.
fn only_file(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let entries: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    let [one] = entries.as_slice() else {
        panic!("{entries:?}");
    };
    if one.is_dir() {
        only_file(one)
    } else {
        one.clone()
    }
}

#[test]
fn a_series_is_exported_as_parquet_and_csv() {
    let place = two_instances();
    let csv = place.run(&["import", "day", "--format", "csv", "-q"]);
    let csv = &csv.expect(0, &[]).out;
    let lines = csv.lines().filter(|l| l.starts_with("report_series,"));
    let lines: Vec<&str> = lines.filter(|line| line.contains("2025-03-03")).collect();
    assert_eq!(lines.len(), 48, "{csv:.2000}");
    place
        .run(&["report", "last", "--format", "parquet", "-o", "lake"])
        .expect(0, &[]);
    let path = only_file(&place.path().join("lake/series"));
    let file = std::fs::File::open(path).expect("the export");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let rows: Vec<_> = reader
        .get_row_iter(None)
        .expect("rows")
        .map(|row| row.expect("a row"))
        .collect();
    assert_eq!(rows.len(), 48);
    // Each row of the CSV has the figures of the row of the Parquet file.
    for (row, line) in rows.iter().zip(&lines) {
        let field = |name: &str| {
            let mut columns = row.get_column_iter();
            let found = columns.find(|(known, _)| known.as_str() == name);
            found.unwrap_or_else(|| panic!("{name}: {row}")).1.clone()
        };
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(field("begin"), Field::Str(cells[2].to_owned()), "{line}");
        for (key, at) in [("log_file_sync_ms", 3), ("commits_per_s", 5)] {
            let number: f64 = cells[at].parse().expect("a number");
            assert_eq!(field(key), Field::Double(number), "{key}: {line}");
        }
        assert_eq!(field("cpu_busy_pct"), Field::Null, "not in these reports");
    }
    let instance = |at: usize| rows[at].to_string();
    assert!(instance(0).contains("pay1") && instance(47).contains("pay2"));
    // Other formats are of histograms, which reports do not have.
    place
        .run(&["report", "last", "--format", "hlog", "-o", "other"])
        .expect(2, &["no histograms"]);
}

#[test]
fn the_need_of_a_series_is_its_busiest_hour() {
    let place = two_instances();
    let done = place.check(
        &place.target,
        &["--need-from", "day", "--no-report", "--dry-run"],
    );
    done.expect(
        0,
        &[
            "taken: the report of the busiest hour of 48, from 2025-03-03 05:00:00",
            "900 commits/s (day/r1-",
            "8.79 MB/s of redo (day/r1-",
            "log file sync: 2.93 ms on average",
        ],
    );
}
