//! Output of tools in the versions, switches and languages of the field.

use crate::{cell, import, import_in, number, table};
use base64::Engine as _;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use measure::imported::Cell;
use std::io::Write as _;

fn text_of(table: &measure::imported::Table, row: usize, key: &str) -> String {
    match cell(table, row, key) {
        Cell::Text(text) => text.clone(),
        other => panic!("{key} of line {row} is {other:?}"),
    }
}

const WIDE: &str =
    "Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n";

fn wide(writes: u32) -> String {
    format!("{WIDE}sdb 0.00 0.00 0.00 {writes}.00 0.00 3200.00 15.96 0.04 0.11 0.10 4.00\n\n")
}

/// OSWatcher leaves the banner out: of several reports under a stamp the first is since boot; a
/// single one is an interval.
#[test]
fn archives_of_oswatcher() {
    let block = |at: &str, reports: &[u32]| {
        let each: String = reports.iter().map(|w| wide(*w)).collect();
        format!("zzz ***Fri Jan 10 {at} CST 2026\n{each}")
    };
    let several = block("12:00:00", &[3, 500, 510]) + &block("12:00:30", &[3, 700]);
    let out = import(&[&several]);
    let samples = table(&out, "iostat");
    let covers: Vec<String> = (0..5).map(|i| text_of(samples, i, "covers")).collect();
    let (boot, interval) = ("since boot", "interval");
    assert_eq!(covers, [boot, interval, interval, boot, interval]);
    assert_eq!(text_of(samples, 4, "time"), "Fri Jan 10 12:00:30 CST 2026");
    assert_eq!(
        number(table(&out, "iostat_devices"), 0, "writes_per_s"),
        570.0
    );
    let warned = out.diagnostics.iter().any(|d| d.id == "iostat.columns");
    assert!(!warned, "{:?}", out.diagnostics);
    let single = block("12:00:00", &[500]) + &block("12:00:30", &[700]);
    let out = import(&[&single]);
    assert_eq!(number(table(&out, "iostat_devices"), 0, "intervals"), 2.0);
}

/// `iostat -h` prints each report as several tables of the same devices.
#[test]
fn a_report_of_several_tables_is_one() {
    let report = |writes: &str| {
        format!(
            "     r/s     rkB/s r_await Device\n    0.31      9.5k    0.30 nvme0n1\n\n\
             \x20    w/s     wkB/s w_await wareq-sz Device\n {writes}      4.8M    0.05     4.0k nvme0n1\n\n\
             \x20    f/s f_await  aqu-sz  %util Device\n  600.20    0.44    0.33  26.1% nvme0n1\n\n"
        )
    };
    let text = format!(
        "Linux 6.1 (box)  03/14/24  _x86_64_ (16 CPU)\n\n{}{}",
        report("1234.50"),
        report("1300.50")
    );
    let out = import(&[&text]);
    let samples = table(&out, "iostat");
    assert_eq!(samples.rows.len(), 2, "{:?}", samples.rows);
    for (key, want) in [
        ("reads_per_s", 0.31),
        ("writes_per_s", 1300.5),
        ("write_mb_per_s", 4.8),
        ("flush_await_ms", 0.44),
        ("util_pct", 26.1),
    ] {
        assert!((number(samples, 1, key) - want).abs() < 1e-9, "{key}");
    }
    assert_eq!(text_of(samples, 0, "covers"), "since boot");
    assert_eq!(text_of(samples, 1, "covers"), "interval");
}

#[test]
fn short_reports_keep_their_rates() {
    let out = import(&[
        "Device  tps kB/s rqm/s await areq-sz aqu-sz %util\nsda 1200.50 4900.00 0.00 0.06 4.00 0.33 26.10\n",
    ]);
    let samples = table(&out, "iostat");
    assert_eq!(number(samples, 0, "transfers_per_s"), 1200.5);
    assert!((number(samples, 0, "mb_per_s") - 4900.0 / 1024.0).abs() < 1e-9);
}

#[test]
fn pg_test_fsync_of_every_version() {
    for (text, ops, us) in [
        (
            "Compare file sync methods using one 8kB write:\n        fdatasync       1608.573 ops/sec     622 usecs/op\n",
            1608.573,
            622.0,
        ),
        (
            "2000 operations per test\n\nCompare file sync methods using one 8kB write:\n\
          \x20       open_datasync                 n/a\n        fdatasync                         159.689 ops/sec\n",
            159.689,
            1e6 / 159.689,
        ),
        (
            "Loops = 10000\n\nCompare file sync methods using one write:\n\t8k write, fdatasync           1104.333/second\n",
            1104.333,
            1e6 / 1104.333,
        ),
        (
            "5 Sekunden pro Test\n\nVergleich von Datei-Sync-Methoden bei einem Schreibvorgang aus 8kB:\n\
          \x20       fdatasync                          1608,573 Op./s     622 µs/Op.\n",
            1608.573,
            622.0,
        ),
    ] {
        let out = import(&[text]);
        let tests = table(&out, "pg_test_fsync");
        let last = tests.rows.len() - 1;
        assert!(
            text_of(tests, last, "method").ends_with("fdatasync"),
            "{text}"
        );
        assert_eq!(number(tests, last, "ops_per_s"), ops, "{text}");
        assert!(
            (number(tests, last, "us_per_op") - us).abs() < 1e-6,
            "{text}"
        );
    }
    let out = import(&[
        "Compare file sync methods using one 8kB write:\n  fsync   29177.431 ops/sec      34 usecs/op\n\
        \x20 open_sync                                        n/a*\n",
    ]);
    let tests = table(&out, "pg_test_fsync");
    assert_eq!(text_of(tests, 1, "method"), "open_sync");
    assert_eq!(*cell(tests, 1, "ops_per_s"), Cell::Blank);
}

#[test]
fn summaries_of_r_by_column_and_by_group() {
    let out = import(&["> summary(d)\n      n             elapsed_us    \n\
         Min.   :      1   Min.   :   29.0  \n 1st Qu.: 250001   1st Qu.:  435.0  \n\
         Median : 500000   Median :  481.0  \n Mean   : 500000   Mean   :  508.7  \n\
         3rd Qu.: 750000   3rd Qu.:  535.0  \n Max.   :1000000   Max.   : 3111.0  \n"]);
    let summary = table(&out, "r_summary");
    assert_eq!(summary.rows.len(), 2);
    assert_eq!(text_of(summary, 1, "sample"), "elapsed_us");
    assert_eq!(text_of(summary, 1, "unit"), "us");
    assert_eq!(number(summary, 1, "mean"), 508.7);
    assert_eq!(number(summary, 1, "max"), 3111.0);
    let out = import(&[
        "> tapply(d$lat_ms, d$mode, summary)\n$OFF\n   Min. 1st Qu.  Median    Mean 3rd Qu.    Max. \n\
         0.1 0.2 0.3 0.4 0.5 6.6\n\n$ON\n   Min. 1st Qu.  Median    Mean 3rd Qu.    Max. \n 0.1 0.2 0.3 0.4 0.5 7.7\n",
    ]);
    let summary = table(&out, "r_summary");
    assert_eq!(text_of(summary, 0, "sample"), "d$lat_ms # OFF");
    assert_eq!(text_of(summary, 1, "unit"), "ms");
}

#[test]
fn columns_of_elapsed_times() {
    for (text, max_ns) in [
        ("n;elapsed_ms\n1;0,501\n2;12,000\n", 12_000_000),
        ("\u{feff}elapsed_us\r\n501\r\n12000\r\n", 12_000_000),
        (
            "seq\tblocks\tlatency_ns\n1\t58\t501000\n2\t4\t7000000\n",
            7_000_000,
        ),
        ("count,elapsed\n1,501\n2,499\n", 501_000),
    ] {
        let kind = Some(evidence::Kind::CountElapsed);
        let out = import_in(&[text.as_bytes()], 64, kind).expect("the stated kind");
        let waits = out.rows[0]
            .waits
            .get("log_file_parallel_write")
            .expect("the event");
        assert_eq!((waits.count, waits.max_ns), (2, max_ns), "{text}");
    }
}

#[test]
fn times_of_cell_metrics_are_no_part_of_the_unit() {
    let out = import(&[
        "cel01: FL_DISK_FIRST   FLASHLOG  10,441,253 IO requests  2024-03-14T10:00:00+01:00\n\
        cel01: FL_FLASH_FIRST  FLASHLOG  426,834 IO requests  2024-03-14T10:00:00+01:00\n",
    ]);
    let metrics = table(&out, "flash_log_metrics");
    assert_eq!(text_of(metrics, 0, "unit"), "IO requests");
    assert_eq!(text_of(metrics, 1, "time"), "2024-03-14T10:00:00+01:00");
}

#[test]
fn global_options_of_fio_are_the_jobs() {
    let out = import(&[
        "fio: this platform does not support process shared mutexes\n\
        {\"fio version\": \"fio-3.36\", \"global options\": {\"direct\": \"1\", \"bs\": \"4k\"},\n\
        \"jobs\": [{\"jobname\": \"redo\", \"job options\": {\"bs\": \"8k\"}, \"write\": {\"total_ios\": 5, \"iops\": 2.0}}]}\n",
    ]);
    assert_eq!(
        text_of(table(&out, "fio_jobs"), 0, "method"),
        "direct=1 bs=8k"
    );
}

/// Histogram logs of HdrHistogram to 2.1.2 (jHiccup 2.0) hold counts of one size.
#[test]
fn histogram_logs_of_every_encoding() {
    let pack = |outer: u32, inner: Vec<u8>| {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&inner).expect("memory");
        let body = zlib.finish().expect("memory");
        let head = [outer.to_be_bytes(), (body.len() as u32).to_be_bytes()].concat();
        base64::engine::general_purpose::STANDARD.encode([head, body].concat())
    };
    // Value 500 ten times, 900 three times, 1500 once.
    let count = |i: usize| match i {
        500 => 10_u64,
        900 => 3,
        1500 => 1,
        _ => 0,
    };
    let words = |size: usize| -> Vec<u8> {
        (0..1501)
            .flat_map(|i| count(i).to_be_bytes()[8 - size..].to_vec())
            .collect()
    };
    let later = |cookie: u32, body: Vec<u8>| {
        let head = [cookie, body.len() as u32, 0, 3]
            .map(u32::to_be_bytes)
            .concat();
        [
            head,
            1_u64.to_be_bytes().to_vec(),
            3_600_000_000_u64.to_be_bytes().to_vec(),
            1.0_f64.to_be_bytes().to_vec(),
            body,
        ]
        .concat()
    };
    let first = |cookie: u32, body: Vec<u8>| {
        let head = [cookie, 3].map(u32::to_be_bytes).concat();
        let wide = [1_u64, 3_600_000_000, 14].map(u64::to_be_bytes).concat();
        [head, wide, body].concat()
    };
    for (what, payload) in [
        (
            "V1 of 8 bytes",
            pack(0x1c84_9382, later(0x1c84_9381, words(8))),
        ),
        (
            "V1 of 2 bytes",
            pack(0x1c84_9322, later(0x1c84_9321, words(2))),
        ),
        (
            "V0 of 4 bytes",
            pack(0x1c84_9349, first(0x1c84_9348, words(4))),
        ),
    ] {
        let out = import(&[&format!(
            "#[Histogram log format version 1.01]\n0.127,1.007,0.0015,{payload}\n"
        )]);
        let hlog = table(&out, "hlog");
        assert_eq!(number(hlog, 0, "count"), 14.0, "{what}");
        assert_eq!(number(hlog, 0, "max"), 1500.0, "{what}");
    }
}
