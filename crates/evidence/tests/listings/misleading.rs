//! What would mislead although every figure is there: averages that were cut to zero, tables under
//! the wrong name, figures without their unit.

use crate::{cell, import, number, table};
use measure::imported::Cell;

/// A report of Statspack: events of all processes, and an average that was cut to zero.
const STATSPACK: &str = "\
STATSPACK report for

Wait Events (fg and bg)  DB/Inst: LAB/lab1  Snaps: 1-2
-> s - second, cs - centisecond,  ms - millisecond, us - microsecond, ns - nanosecond

                                                                    Avg          %Total
                                          %Tim       Total Wait    wait    Waits   Call
Event                               Waits  out         Time (s)    (ms)     /txn   Time
---------------------------- ------------ ---- ---------------- ------- -------- ------
log file parallel write            61,304    0               10       0      0.9    3.1
log file sync                      70,200    0              140       2      1.0   41.7
LGWR wait for redo copy                 0    0                0       0      0.0    0.0
          -------------------------------------------------------------
";

/// Statistics of redo, whose units no report prints.
const STATISTICS: &str = "\
WORKLOAD REPOSITORY report for

Instance Activity Stats            DB/Inst: LAB/lab1  Snaps: 1-2

Statistic                                     Total     per Second     per Trans
-------------------------------- ------------------ -------------- -------------
redo size                             1,048,576,000      291,271.1       5,242.9
redo synch time overhead (usec)           9,000,000        2,500.0          45.0
redo write time                              21,000            5.8           0.1
redo writes                                 180,000           50.0           0.9
          -------------------------------------------------------------
";

#[test]
fn an_average_cut_to_zero_is_the_time_over_the_waits() {
    let out = import(&[STATSPACK]);
    let waits = table(&out, "all_waits");
    assert_eq!(waits.rows.len(), 3);
    let exact = 10_000.0 / 61_304.0;
    assert!((number(waits, 0, "avg_wait_ms") - exact).abs() < 1e-12);
    assert_eq!(cell(waits, 0, "avg_wait"), &Cell::Text("0".to_owned()));
    // A printed average stays, and so does the zero of an event without waits.
    assert_eq!(number(waits, 1, "avg_wait_ms"), 2.0);
    assert_eq!(number(waits, 2, "avg_wait_ms"), 0.0);
}

#[test]
fn waits_of_all_processes_are_not_those_of_foregrounds() {
    let out = import(&[STATSPACK]);
    let ids: Vec<&str> = out.imported.tables.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(ids, ["all_waits"]);
    let title = &table(&out, "all_waits").title;
    assert!(title.contains("foreground and background"), "{title}");
}

#[test]
fn statistics_have_their_units() {
    let out = import(&[STATISTICS]);
    let stats = table(&out, "instance_activity");
    let units: Vec<&Cell> = (0..4).map(|row| cell(stats, row, "unit")).collect();
    let unit = |text: &str| Cell::Text(text.to_owned());
    let want = [unit("bytes"), unit("µs"), unit("10 ms"), Cell::Blank];
    assert_eq!(units, want.iter().collect::<Vec<_>>());
}
