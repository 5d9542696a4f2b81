//! Files of several kinds: each part is read, and none takes lines of another. And kinds that begin
//! behind the head from which a file is recognised. The texts are made up.

use crate::{import, import_in, number, table};
use evidence::{Kind, Outcome};
use measure::imported::Cell;

const HISTOGRAM: &str = "SQL> select wait_time_milli, wait_count from v$event_histogram
  2  where event = 'log file parallel write';

WAIT_TIME_MILLI WAIT_COUNT
--------------- ----------
              1      90210
              2       1234
              4        567

3 rows selected.

";
const OUTLIERS: &str = "SQL> select io_size, io_latency from x$ksfdstll;

   IO_SIZE IO_LATENCY
---------- ----------
         4        612
         8        701

2 rows selected.

";

fn buckets(out: &Outcome) -> Vec<(f64, f64)> {
    let table = table(out, "event_histogram");
    let at = |key: &str| table.columns.iter().position(|c| c.key == key);
    assert!(at("event").is_some(), "{:?}", table.columns);
    let real = |cell: &Cell| match cell {
        Cell::Count(n) => *n as f64,
        Cell::Real(x) => *x,
        other => panic!("{other:?}"),
    };
    table
        .rows
        .iter()
        .map(|r| (real(&r[2]), real(&r[3])))
        .collect()
}

#[test]
fn a_spool_keeps_its_histogram_and_its_outliers() {
    let want = [(1.0, 90_210.0), (2.0, 1234.0), (4.0, 567.0)];
    for text in [
        format!("{HISTOGRAM}{OUTLIERS}"),
        format!("{OUTLIERS}{HISTOGRAM}"),
        format!("{OUTLIERS}{HISTOGRAM}")
            .replace("2 rows selected.\n", "")
            .replace("3 rows selected.\n", ""),
    ] {
        let out = import(&[&text]);
        assert_eq!(buckets(&out), want, "{text}");
        let outliers = table(&out, "io_outliers");
        assert_eq!(outliers.rows.len(), 2, "{text}\n{:?}", outliers.rows);
        assert_eq!(number(outliers, 1, "io_latency"), 701.0);
    }
}

#[test]
fn a_page_keeps_every_kind() {
    let page = format!(
        "The log writer's trace has lines such as\n\
         WAIT #0: nam='log file parallel write' ela= 411 files=1 blocks=9\n\
         WAIT #0: nam='log file parallel write' ela= 1207 files=1 blocks=31\n\
         and the view shows\n\n{HISTOGRAM}The outliers are\n\n{OUTLIERS}\
         Warning: log write elapsed time 701ms, size 8KB\n\n\
         Event                                 Waits     Time(s)\n\
         ------------------------------ ------------ -----------\n\
         log file sync                         4,410       1,764\n"
    );
    let out = import(&[&page]);
    let write = &out.rows[0].waits["log_file_parallel_write"];
    assert_eq!((write.count, write.total_ns), (2, 1_618_000));
    assert_eq!(buckets(&out).len(), 3);
    assert_eq!(table(&out, "io_outliers").rows.len(), 2);
    assert_eq!(table(&out, "log_write_warnings").rows.len(), 1);
    assert_eq!(number(table(&out, "all_waits"), 0, "waits"), 4410.0);
}

/// The statements of a trace may contain anything, also listings.
#[test]
fn a_trace_is_no_page() {
    let text = format!(
        "*** 2024-05-06 07:00:00.000\nPARSING IN CURSOR #1 len=500 dep=0 uid=0 oct=3 lid=0 tim=1 hv=1 ad='1'\n\
         {HISTOGRAM}END OF STMT\nWAIT #1: nam='log file sync' ela= 5 tim=7\n"
    );
    let out = import(&[&text]);
    assert!(
        out.imported
            .tables
            .iter()
            .all(|t| t.id != "event_histogram_summary")
    );
    assert_eq!(out.rows.len(), 1);
}

#[test]
fn a_miners_histogram_behind_the_head_is_read() {
    let many = "   17 user calls per sec   3.1\n".repeat(12_000);
    assert!(many.len() > evidence::HEAD_BYTES);
    let text = format!(
        "~~BEGIN-OS-INFORMATION~~\nSTAT_NAME STAT_VALUE\nVERSION 19.3\n~~END-OS-INFORMATION~~\n\
         ~~BEGIN-MAIN-METRICS~~\n{many}~~END-MAIN-METRICS~~\n\
         ~~BEGIN-IO-WAIT-HISTOGRAM~~\n\
         \x20  SNAP_ID WAIT_CLASS   EVENT_NAME              WAIT_TIME_MILLI WAIT_COUNT\n\
         ---------- ------------ ----------------------- --------------- ----------\n\
         \x20       71 System I/O   log file parallel write               1       4001\n\
         \x20       71 System I/O   log file parallel write               2         17\n\
         ~~END-IO-WAIT-HISTOGRAM~~\n"
    );
    let out = import(&[&text]);
    assert_eq!(buckets(&out), [(1.0, 4001.0), (2.0, 17.0)]);
    let note = out
        .diagnostics
        .iter()
        .find(|d| d.id == "histogram.sections_unread");
    let detail = &note.expect("a note").detail;
    for words in [
        "OS-INFORMATION (lines 1 to 4)",
        "MAIN-METRICS (lines 5 to 12006)",
    ] {
        assert!(detail.contains(words), "{detail}");
    }
    assert!(!detail.contains("HISTOGRAM"), "{detail}");
}

#[test]
fn no_break_spaces_separate_columns() {
    let with = |text: &str| {
        text.replace("  ", "\u{a0} ")
            .replace("   ", " \u{a0}\u{a0}")
    };
    let plain = format!("{OUTLIERS}{HISTOGRAM}");
    let (a, b) = (import(&[&plain]), import(&[&with(&plain)]));
    assert_eq!(a.imported.tables, b.imported.tables);
    let bare = "1\u{a0} \u{a0}700\n2\u{a0} 31\n4 \u{a0}\u{a0} 2\n";
    let latin: Vec<u8> = bare.chars().map(|c| c as u32 as u8).collect();
    for bytes in [bare.as_bytes(), &latin] {
        let out = import_in(&[bytes], usize::MAX, Some(Kind::EventHistogram)).expect("read");
        assert_eq!(buckets(&out), [(1.0, 700.0), (2.0, 31.0), (4.0, 2.0)]);
        assert!(import_in(&[bytes], 3, None).is_ok());
    }
}

#[test]
fn tables_of_platforms_are_read() {
    let text = "# Platforms\n\n\nStorage\tRack A\tArray B\nLaunch date\t2020\t2022\n\
        Disk capacity, total raw\t-\t9 TByte\n\n# Platforms\n\nSoftware\tRack A\tArray B\nVersion\t1.5\t1.6\n";
    let out = import(&[text]);
    let rows = &table(&out, "platforms").rows;
    let words = |row: &Vec<Cell>| -> Vec<String> {
        let text = |c: &Cell| match c {
            Cell::Text(t) => t.clone(),
            other => panic!("{other:?}"),
        };
        row.iter().map(text).collect()
    };
    assert_eq!(rows.len(), 6);
    assert_eq!(
        words(&rows[1]),
        ["Array B", "Storage", "Launch date", "2022"]
    );
    assert_eq!(
        words(&rows[2]),
        ["Rack A", "Storage", "Disk capacity, total raw", "-"]
    );
    assert_eq!(words(&rows[5]), ["Array B", "Software", "Version", "1.6"]);
}
