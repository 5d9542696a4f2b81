//! Figures that no line of the source states: absent columns, and rows of a neighbouring table.

use crate::{cell, import, number, table};
use measure::imported::{Cell, Severity};

/// A column that `iostat` did not print has no mean, and the longest wait is that of any kind.
#[test]
fn absent_columns_of_iostat_are_unknown() {
    let basic = "Device tps kB_read/s kB_wrtn/s\nvda 12.00 4.00 2048.00\n\n";
    let out = import(&[&basic.repeat(3)]);
    let devices = table(&out, "iostat_devices");
    for key in ["writes_per_s", "util_pct", "util_max_pct", "await_max_ms"] {
        assert_eq!(*cell(devices, 0, key), Cell::Blank, "{key}");
    }
    assert_eq!(number(devices, 0, "write_mb_per_s"), 2.0);

    let waits = |read: &str, flush: &str| {
        format!(
            "Device r/s r_await w/s w_await f/s f_await %util\n\
             vda 9.00 {read} 80.00 0.40 40.00 {flush} 12.00\n\n"
        )
    };
    for (read, flush) in [("7.25", "1.10"), ("0.20", "7.25")] {
        let text = waits("0.10", "0.30") + &waits(read, flush);
        let out = import(&[&text]);
        let devices = table(&out, "iostat_devices");
        assert_eq!(number(devices, 0, "await_max_ms"), 7.25);
        assert_eq!(number(devices, 0, "writes_per_s"), 80.0);
    }
}

/// A list of top events below `iostat` has rows of as many words as the heading.
#[test]
fn a_list_of_events_below_iostat_holds_no_devices() {
    let text = "Device: r/s w/s wMB/s await svctm %util Queue\n\
        sdc 1.00 900.00 7.50 0.31 0.05 41.00 0.28\n\
        Event Waits Time(s) Avg wait (ms) % DB time Wait Class\n\
        log file sync 812,004 977 1 21.40 Commit\n\
        latch 4,100 12 3 0.30 1 2\n\
        sdc 2.00 910.00 7.60 0.32 0.05 42.00 broken\n";
    let out = import(&[text]);
    let samples = table(&out, "iostat");
    // A device that was read before has a row, whatever is above it and in its other columns.
    assert_eq!(samples.rows.len(), 2, "{:?}", samples.rows);
    assert_eq!(number(samples, 1, "writes_per_s"), 910.0);
    assert_eq!(*cell(samples, 0, "device"), Cell::Text("sdc".to_owned()));
    let said = out.diagnostics.iter();
    let said = said.filter(|d| d.id == "iostat.other_table");
    let said: Vec<_> = said.map(|d| (d.severity, d.line, &d.detail)).collect();
    let [(Severity::Note, Some(3), detail)] = said[..] else {
        panic!("the stretch is named once: {:?}", out.diagnostics);
    };
    assert!(detail.starts_with("lines 3 to 5 are"), "{detail}");
}

const STATSPACK: &str = "STATSPACK report for\n\n";
const HISTOGRAM: &str = "\
                           Total ----------------- % of Waits ------------------
Event                      Waits  <1ms  <2ms  <4ms  <8ms <16ms <32ms  <=1s   >1s
-------------------------- ----- ----- ----- ----- ----- ----- ----- ----- -----
";

/// A page break of Statspack, with its title, its remarks and its headings, is no row.
#[test]
fn page_breaks_of_statspack_are_no_rows_of_its_histogram() {
    let title = "Wait Event Histogram  DB/Inst: SHOP/shop1  Snaps: 71-72\n\
        -> Total Waits - units: K is 1000, M is 1000000, G is 1000000000\n\
        -> % of Waits - column heading: <=1s is truly <1024ms, >1s is truly >=1024ms\n\n";
    let sync = "log file sync                 5K  90.0   6.0   4.0\n";
    let write = "log file parallel write       3K  99.0   1.0\n";
    let breaks = [
        format!("{title}{HISTOGRAM}"),
        format!("\n{title}{HISTOGRAM}"),
        format!("\u{c}{title}{HISTOGRAM}"),
        HISTOGRAM.to_owned(),
        HISTOGRAM
            .lines()
            .skip(1)
            .map(|l| format!("{l}\n"))
            .collect(),
    ];
    for broken in breaks {
        let text = format!("{STATSPACK}{title}{HISTOGRAM}{sync}{broken}{write}");
        let out = import(&[&text]);
        let tables = out
            .imported
            .tables
            .iter()
            .filter(|t| t.id == "wait_histogram");
        let events: Vec<&Cell> = tables.flat_map(|t| &t.rows).map(|r| &r[0]).collect();
        let want = ["log file sync", "log file parallel write"];
        let want: Vec<Cell> = want.map(|e| Cell::Text(e.to_owned())).to_vec();
        assert_eq!(events, want.iter().collect::<Vec<_>>(), "{broken}");
    }
}

/// Host CPU whose line of figures is lost does not take a line of SQL ordered by CPU.
#[test]
fn sql_ordered_by_cpu_is_not_host_cpu() {
    let events = "Event                      Waits  Time (s)\n\
        -------------------------- ----- ---------\n\
        log file sync               500         4\n\
        -------------------------- ----- ---------\n";
    let cpu = "Host CPU  (CPUs: 4)\n~~~~~~~~  Load Average\n   Begin End User System WIO Idle\n";
    let sql = "SQL ordered by CPU  DB/Inst: SHOP/shop1\n\
        CPU Time Executions Per Exec Total Elapsed Gets Hash\n\
        48.10 20 2.40 31.0 52.77 901,222 3311\n";
    let out = import(&[&format!("{STATSPACK}{events}{cpu}{sql}")]);
    let found = out.imported.tables.iter().find(|t| t.id == "host_cpu");
    assert!(found.is_none(), "{found:?}");
    let figures = "0.53 0.66 3.51 0.71 0.23 95.55\n";
    let out = import(&[&format!("{STATSPACK}{events}{cpu}{figures}{sql}")]);
    assert_eq!(number(table(&out, "host_cpu"), 0, "cpu_idle_pct"), 95.55);
}

/// The mark that ends a section of AWR-Miner ends its listing.
#[test]
fn sections_of_awr_miner_end_at_their_marks() {
    let text = "~~BEGIN-IO-WAIT-HISTOGRAM~~\n\
        SNAP_ID WAIT_CLASS EVENT_NAME WAIT_TIME_MILLI WAIT_COUNT\n\
        ------- ---------- ----------------------- --------------- ----------\n\
        \x20    11 System I/O log file parallel write               1        900\n\
        \x20    11 System I/O log file parallel write               2         40\n\
        ~~END-IO-WAIT-HISTOGRAM~~\n\
        ~~BEGIN-SIZES~~\n\
        \x20    11 System I/O db on disk of the shop                4         77\n\
        8 1234\n\
        ~~END-SIZES~~\n";
    let out = import(&[text]);
    let summary = table(&out, "event_histogram_summary");
    assert_eq!(summary.rows.len(), 1, "{:?}", summary.rows);
    assert_eq!(summary.rows[0][2], Cell::Count(940));
}
