//! Listings as tools and settings print them in the field: each says the same as its plain form.

use crate::{cell, import, number, table};
use measure::imported::Cell;

/// The same three buckets of one event, as SQL*Plus, SQLcl and others print them.
const ONE_EVENT: &[(&str, &str)] = &[
    (
        "set colsep",
        "EVENT                         |WAIT_TIME_MILLI|WAIT_COUNT\n\
         ------------------------------|---------------|----------\n\
         log file sync                 |              1|   5000123\n\
         log file sync                 |              2|      4123\n\
         log file sync                 |              4|        11\n",
    ),
    (
        "set markup csv",
        "\"EVENT\",\"WAIT_TIME_MILLI\",\"WAIT_COUNT\"\n\"log file sync\",1,5000123\n\
         \"log file sync\",2,4123\n\n\"log file sync\",4,11\n",
    ),
    (
        "semicolons",
        "EVENT;WAIT_TIME_MILLI;WAIT_COUNT\r\nlog file sync;1;5000123\r\nlog file sync;2;4123\r\n\
         log file sync;4;11\r\n",
    ),
    (
        "set sqlformat delimited",
        "\"EVENT\"|\"WAIT_TIME_MILLI\"|\"WAIT_COUNT\"\n\"log file sync\"|1|5000123\n\
         \"log file sync\"|2|4123\n\"log file sync\"|4|11\n",
    ),
    (
        "set sqlformat ansiconsole",
        "\n           EVENT    WAIT_TIME_MILLI    WAIT_COUNT \n________________ __________________ \
         _____________ \nlog file sync                     1       5000123 \nlog file sync        \
                      2          4123 \nlog file sync                     4            11 \n",
    ),
    (
        "tabs",
        "EVENT\tWAIT_TIME_MILLI\tWAIT_COUNT\nlog file sync\t1\t5000123\nlog file sync\t2\t4123\n\
         log file sync\t4\t11\n",
    ),
    (
        "a table of Markdown",
        "| EVENT | WAIT_TIME_MILLI | WAIT_COUNT |\n|---|---:|---:|\n| log file sync | 1 | 5000123 |\n\
         | log file sync | 2 | 4123 |\n| log file sync | 4 | 11 |\n",
    ),
    (
        "headings cut to their columns",
        "SQL> select event, wait_time_milli, wait_count from v$event_histogram where event='x';\n\n\
         EVENT                WAIT_TIME_MI WAIT_COU\n-------------------- ------------ --------\n\
         log file sync                   1  5000123\nlog file sync                   2     4123\n\
         log file sync                   4       11\n",
    ),
    (
        "a query of several lines, the event in it only",
        "SQL> select wait_time_milli, wait_count\n  2  from v$event_histogram\n  3  where event = \
         'log file sync'\n  4  order by 1;\n\nWAIT_TIME_MILLI WAIT_COUNT\n--------------- ----------\n\
         \x20             1    5000123\n              2       4123\n              4         11\n",
    ),
    ("rows of two lines", include_str!("wild/evh_wrapped.txt")),
];

#[test]
fn event_histograms_in_every_format() {
    for (what, text) in ONE_EVENT {
        let out = import(&[text]);
        assert!(out.diagnostics.is_empty(), "{what}: {:?}", out.diagnostics);
        let buckets = table(&out, "event_histogram");
        assert_eq!(buckets.rows.len(), 3, "{what}: {:?}", buckets.rows);
        for (row, (bound, count)) in [(1.0, 5_000_123.0), (2.0, 4123.0), (4.0, 11.0)]
            .into_iter()
            .enumerate()
        {
            assert_eq!(
                *cell(buckets, row, "event"),
                Cell::Text("log file sync".to_owned()),
                "{what}"
            );
            assert_eq!(number(buckets, row, "wait_time_under_ms"), bound, "{what}");
            assert_eq!(number(buckets, row, "wait_count"), count, "{what}");
        }
    }
}

#[test]
fn a_separator_in_quotes_belongs_to_the_name() {
    let out = import(&["EVENT,WAIT_TIME_MILLI,WAIT_COUNT\n\"enq: TX, index\",2,7\nlatch,1,5\n"]);
    let buckets = table(&out, "event_histogram");
    assert_eq!(
        *cell(buckets, 0, "event"),
        Cell::Text("enq: TX, index".to_owned())
    );
    assert_eq!(number(buckets, 0, "wait_count"), 7.0);
}

#[test]
fn instances_count_for_themselves() {
    let head = "   INST_ID EVENT         WAIT_TIME_MILLI WAIT_COUNT\n\
                ---------- ------------- --------------- ----------\n";
    let row = |instance: u32, ms: u32, count: u32| {
        format!("{instance:10} log file sync {ms:15} {count:10}\n")
    };
    let snapshot =
        |a: u32, b: u32| row(1, 1, a) + &row(1, 2, a / 9) + &row(2, 1, b) + &row(2, 2, 3);
    let text = format!("{head}{}", snapshot(9000, 700));
    let out = import(&[&text]);
    assert_eq!(table(&out, "event_histogram_summary").rows.len(), 2);
    assert!(out.diagnostics.is_empty(), "{:?}", out.diagnostics);
    let later = format!("{head}{}", snapshot(9900, 750));
    let out = import(&[&text, &later]);
    let summary = table(&out, "event_histogram_summary");
    let names: Vec<&Cell> = summary.rows.iter().map(|r| &r[0]).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert_eq!(*names[4], Cell::Text("instance 1 to instance 1".to_owned()));
    assert_eq!(number(summary, 4, "waits"), 1000.0);
    assert_eq!(number(summary, 5, "waits"), 50.0);
}

#[test]
fn microseconds_have_bounds_of_their_own() {
    let out = import(&["EVENT WAIT_TIME_MICRO WAIT_COUNT WAIT_TIME_FORMAT\n\
        ------------- --------------- ---------- ------------------\n\
        log file sync             512         90 512 microseconds\n\
        log file sync            2048         10   2 milliseconds\n"]);
    let summary = table(&out, "event_histogram_summary");
    assert_eq!(*cell(summary, 0, "over_1ms_pct"), Cell::Blank);
    assert_eq!(number(summary, 0, "over_1024us_pct"), 10.0);
    assert_eq!(number(summary, 0, "over_16384us_pct"), 0.0);
}

#[test]
fn outliers_whose_rows_take_several_lines() {
    let out = import(&[
        "SQL> select io_size, file_name, io_latency from v$lgwrio_outlier;\n\n\
           IO_SIZE\n----------\nFILE_NAME\n------------------------------\nIO_LATENCY\n----------\n\
        \x20       16\n/u01/redo 01.log\n       812\n\n       512\n/u01/redo02.log\n       501\n\n\
        2 rows selected.\n",
    ]);
    let outliers = table(&out, "io_outliers");
    assert_eq!(outliers.rows.len(), 2);
    assert_eq!(number(outliers, 0, "io_latency"), 812.0);
    assert_eq!(
        *cell(outliers, 0, "file_name"),
        Cell::Text("/u01/redo 01.log".to_owned())
    );
    assert_eq!(number(outliers, 1, "io_size"), 512.0);
}

/// `BREAK ON snap_id`: only the first line of a snapshot has its number.
#[test]
fn what_sqlplus_leaves_out_repeats_the_line_above() {
    let out = import(&[
        "   SNAP_ID EVENT_NAME               TOTAL_WAITS TIME_WAITED_MICRO\n\
        ---------- ------------------------ ----------- -----------------\n\
        \x20        7 log file sync                    100            500000\n\
        \x20          log file parallel write           90            100000\n\
        \x20        8 log file sync                    300            900000\n\
        \x20          log file parallel write          190            200000\n",
    ]);
    let events = table(&out, "system_event");
    let snaps = events.rows.iter().map(|row| row[0].clone());
    let snaps: Vec<Cell> = snaps.collect();
    assert_eq!(snaps, [7, 7, 8, 8].map(Cell::Count));
    assert_eq!(table(&out, "system_event_change").rows.len(), 2);
    // The same of buckets, by columns and by words.
    for rule in [
        "---------- ------------------------ --------------- ----------\n",
        "",
    ] {
        let heading = "   SNAP_ID EVENT_NAME               WAIT_TIME_MILLI WAIT_COUNT\n";
        let lines = "         7 log file sync                          1        100\n\
            \x20                                                 2         50\n\
            \x20        8 log file sync                          1        300\n\
            \x20                                                 2         90\n";
        let out = import(&[&format!("{heading}{rule}{lines}")]);
        let summary = table(&out, "event_histogram_summary");
        let waits = summary.rows.iter().map(|row| row[2].clone());
        assert_eq!(
            waits.collect::<Vec<Cell>>(),
            [150, 390, 240].map(Cell::Count)
        );
    }
}

#[test]
fn counters_as_markdown() {
    let out = import(&[
        "| EVENT | TOTAL_WAITS | TIME_WAITED_MICRO | AVG_MS |\n|---|---:|---:|---:|\n\
        | log file sync | 100 | 500000 | 5.0 |\n| log file parallel write | 90 | 900000 | 5.0 |\n",
    ]);
    let events = table(&out, "system_event");
    assert_eq!(number(events, 1, "mean_ms"), 10.0);
    assert_eq!(number(events, 1, "avg_wait_ms"), 5.0);
    // The second average is not the time over the waits.
    let wrong = out
        .diagnostics
        .iter()
        .filter(|d| d.id == "sysevent.average");
    assert_eq!(wrong.map(|d| d.line).collect::<Vec<_>>(), [Some(4)]);
}
