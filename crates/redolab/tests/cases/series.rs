//! A folder of reports as a series: in Parquet and CSV, as a need, and with messages that do not
//! grow with the reports.

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

/// What an import of so many reports says: lines on the terminal, findings and diagnostics, the
/// longest of their texts, bytes of the JSON.
fn said(reports: u64) -> [usize; 5] {
    let place = Place::new();
    write(&place.path().join("day"), 1, reports, 1, |_| HEALTHY);
    let text = place.run(&["import", "day"]);
    let run = place.run(&["import", "day", "--format", "json"]);
    let json = run.expect(0, &[]).json();
    let list = |key: &str| json[key].as_array().cloned().unwrap_or_default();
    let texts = list("findings").into_iter().chain(list("diagnostics"));
    let lengths = texts.map(|of| of.to_string().len());
    [
        text.expect(0, &[]).out.lines().count() + text.err.lines().count(),
        list("findings").len(),
        list("diagnostics").len(),
        lengths.max().unwrap_or(0),
        run.out.len(),
    ]
}

#[test]
fn two_hundred_reports_say_no_more_than_fifty() {
    let [few, many] = [said(50), said(200)];
    assert!(many[0] <= few[0] + 160, "lines: {few:?} {many:?}");
    assert_eq!(few[1], many[1], "findings: {few:?} {many:?}");
    assert!(many[2] <= few[2] + 160, "diagnostics: {few:?} {many:?}");
    assert!(many[3] <= few[3] + 200, "the longest: {few:?} {many:?}");
    assert!(many[4] <= 5 * few[4], "bytes: {few:?} {many:?}");
}

/// Beyond 200 reports the tables of the slowest and the busiest are kept, and each report has its
/// line, its source and its row: a year of hours can be stored.
#[test]
fn a_long_series_keeps_the_tables_of_two_reports() {
    let place = Place::new();
    write(&place.path().join("day"), 1, 260, 1, |at| match at {
        100 => Hour {
            commits_per_s: 900,
            ..HEALTHY
        },
        200 => Hour {
            sync_ms: 4.0,
            write_ms: 2.0,
            ..HEALTHY
        },
        _ => HEALTHY,
    });
    let done = place.run(&["import", "day", "--format", "json"]);
    done.expect(0, &["the tables of 258 reports of the series are not kept"]);
    let json = done.json();
    let tables = json["imported"]["tables"].as_array().expect("tables");
    let of = |id: &str| {
        let own = tables.iter().filter(|t| t["id"] == id);
        own.cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("instance_activity").len(), 2);
    assert_eq!(
        of("report_series")[0]["rows"].as_array().map(Vec::len),
        Some(260)
    );
    assert_eq!(
        json["imported"]["sources"].as_array().map(Vec::len),
        Some(260)
    );
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(260));
    let said = json["diagnostics"].to_string();
    assert!(said.contains("import.tables_of_series"), "{said}");
    place
        .run(&["runs", "show", "last"])
        .expect(0, &["By time: pay1"]);
}

/// Each report contradicts itself: its window is not the one of its volume and rate.
#[test]
fn what_all_reports_of_a_series_contradict_is_said_three_times() {
    let place = Place::new();
    let folder = place.path().join("day");
    std::fs::create_dir(&folder).expect("a folder");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/awr-text/whole.txt");
    let whole = std::fs::read_to_string(corpus).expect("the corpus");
    for hour in 0..20 {
        let text = whole
            .replace("01-Jan-13 11:00:00", &format!("01-Jan-13 {hour:02}:00:00"))
            .replace("10.00 (mins)", "60.00 (mins)");
        std::fs::write(folder.join(format!("{hour}.txt")), text).expect("written");
    }
    let all = crate::hourly::claims(&place);
    let of: Vec<&String> = all
        .iter()
        .filter(|claim| claim.contains("LGWR wrote 615M"))
        .collect();
    assert_eq!(of.len(), 3, "{all:#?}");
    assert!(
        of[2].ends_with("; and 17 more findings of this kind"),
        "{}",
        of[2]
    );
}

/// Listings of counters since the start, an hour apart, each below `stamp`; from 14:00 on log
/// file sync and the log writes take these many times as long.
fn listings(stamp: impl Fn(u32) -> String, times: u64) -> Vec<String> {
    let (mut waits, mut sync_us, mut write_us) = (9_000_000_u64, 7_200_000_000, 4_500_000_000);
    let mut of_hour = |hour: u32| {
        let more = 400_000 + u64::from(hour) * 7_000;
        let factor = if hour > 14 { times } else { 1 };
        waits += more;
        sync_us += more * (790 + u64::from(hour * 5 % 21)) * factor;
        write_us += more * (490 + u64::from(hour * 7 % 19)) * factor;
        format!(
            "{}\n\nEVENT                          TOTAL_WAITS TOTAL_TIMEOUTS TIME_WAITED_MICRO\n\
             ------------------------------ ----------- -------------- -----------------\n\
             log file parallel write        {waits:>11}              0 {write_us:>17}\n\
             log file sync                  {waits:>11}              0 {sync_us:>17}\n\n\
             NAME                                     VALUE\n\
             ----------------------------- ----------------\n\
             redo size                     {:>16}\n\
             user commits                  {waits:>16}\n\n",
            stamp(hour),
            waits * 3_000
        )
    };
    (0..24).map(&mut of_hour).collect()
}

#[test]
fn hourly_listings_of_counters_are_a_series_of_their_intervals() {
    let place = Place::new();
    let folder = place.path().join("day");
    std::fs::create_dir(&folder).expect("a folder");
    // A folder whose files' names have the time, and a file with what `date` printed.
    for (hour, text) in listings(|_| "SQL> @waits".to_owned(), 1).iter().enumerate() {
        std::fs::write(folder.join(format!("snap_20240618_{hour:02}00.lst")), text)
            .expect("written");
    }
    let healthy = place.run(&["import", "day"]);
    healthy.expect(0, &["23 intervals by time show no lasting change"]);
    assert!(!healthy.out.contains("caution"), "{healthy:?}");
    let stamped = listings(|hour| format!("Tue Jun 18 {hour:02}:00:03 CEST 2024"), 12);
    std::fs::write(place.path().join("loop.lst"), stamped.concat()).expect("written");
    let changed = place.run(&["import", "loop.lst"]);
    changed.expect(
        0,
        &[
            "Log file sync changed at 2024-06-18 14:00:03",
            "the log writes changed too",
        ],
    );
    let first: Vec<&str> = changed.out.lines().take(3).collect();
    assert!(
        first.join(" ").contains("changed at 2024-06-18 14:00:03"),
        "{first:?}"
    );
}

#[test]
fn a_long_series_of_listings_loses_no_table() {
    let place = Place::new();
    let days =
        (18..28).flat_map(|day| listings(move |hour| format!("2024-06-{day} {hour:02}:00:03"), 1));
    std::fs::write(place.path().join("loop.lst"), days.collect::<String>()).expect("written");
    let done = place.run(&["import", "loop.lst"]);
    done.expect(0, &["By time"]);
    assert!(!done.out.contains("are not kept"), "{done:?}");
}
