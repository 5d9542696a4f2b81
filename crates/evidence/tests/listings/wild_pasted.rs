//! Reports as people paste them: without the rules of dashes, with tabs, as Markdown, with
//! collapsed blanks; and what a report lists under one name. The texts are made up.

use crate::{cell, import, number, table};
use evidence::Outcome;
use measure::imported::{Cell, Table};

const AWR_11: &str = include_str!("wild/awr112.txt");
const AWR_10: &str = include_str!("wild/awr102.txt");
const PAGES: &str = include_str!("wild/awr19_pages.txt");

fn event(out: &Outcome, id: &str, name: &str, key: &str) -> f64 {
    let table = table(out, id);
    let at = table
        .rows
        .iter()
        .position(|r| r[0] == Cell::Text(name.to_owned()));
    number(
        table,
        at.unwrap_or_else(|| panic!("no {name}: {:?}", table.rows)),
        key,
    )
}

fn without_rules(report: &str) -> String {
    let is_rule = |l: &&str| {
        let l = l.trim();
        l.contains("---") && l.bytes().all(|b| matches!(b, b'-' | b' ' | b'~'))
    };
    let lines = report.lines().filter(|l| !is_rule(l));
    lines.map(|l| format!("{l}\n")).collect()
}

fn collapsed(report: &str) -> String {
    let squash = |l: &str| l.split_whitespace().collect::<Vec<_>>().join(" ");
    report.lines().map(|l| format!("{}\n", squash(l))).collect()
}

#[test]
fn reports_without_rules_or_blanks_keep_their_events() {
    for changed in [
        without_rules(AWR_11),
        collapsed(AWR_11),
        collapsed(&without_rules(AWR_11)),
    ] {
        let out = import(&[&changed]);
        let sync = |key| event(&out, "top_events", "log file sync", key);
        assert_eq!(
            [
                sync("waits"),
                sync("time_s"),
                sync("avg_wait_ms"),
                sync("db_time_pct")
            ],
            [4410.0, 1764.0, 400.0, 20.8],
            "{changed}"
        );
        let top = table(&out, "top_events");
        assert_eq!(top.rows.len(), 3, "{:?}", top.rows);
        assert_eq!(event(&out, "top_events", "DB CPU", "time_s"), 52.0);
        assert_eq!(event(&out, "top_events", "DB CPU", "db_time_pct"), 0.6);
        assert_eq!(*cell(top, 1, "wait_class"), Cell::Text("Commit".to_owned()));
        let write = |key| event(&out, "background_waits", "log file parallel write", key);
        assert_eq!(
            [
                write("waits"),
                write("time_outs_pct"),
                write("time_s"),
                write("avg_wait_ms")
            ],
            [7305.0, 0.0, 263.0, 36.0]
        );
        assert_eq!([write("waits_per_txn"), write("bg_time_pct")], [0.8, 58.7]);
    }
}

/// Columns that were padded, and the headings of 12.2.
#[test]
fn padded_columns_without_rules_are_read() {
    let report = "\
WORKLOAD REPOSITORY report for

Top 10 Foreground Events by Total Wait Time
Event                                      Waits     Total Wait Time (sec) Wait Avg(ms) % DB time Wait Class
DB CPU                                     5.1K      71.0
db file scattered read                     11,000    333.3                  0.80         6.1        User I/O
log file sync                              12,000    205.2                  17.10        3.8        Commit

Back to Top

Foreground Wait Events

Event                                      Waits   %Time-outs Total Wait Time (s) Avg wait (ms) Waits /txn % DB time
log file sync                              12,000    0            205                17.10          0.06       3.80
db file scattered read                     11,000    0            333                0.80           0.08       6.10
";
    let out = import(&[report]);
    assert_eq!(
        event(&out, "top_events", "log file sync", "waits"),
        12_000.0
    );
    assert_eq!(event(&out, "top_events", "log file sync", "time_s"), 205.2);
    assert_eq!(
        event(&out, "top_events", "log file sync", "avg_wait_ms"),
        17.1
    );
    assert_eq!(
        event(&out, "foreground_waits", "log file sync", "waits"),
        12_000.0
    );
    assert_eq!(
        event(&out, "foreground_waits", "log file sync", "db_time_pct"),
        3.8
    );
    assert_eq!(table(&out, "foreground_waits").rows.len(), 2);
}

#[test]
fn other_releases_without_rules_keep_theirs() {
    for (report, name, waits) in [
        (AWR_10, "log file sync", 230_400.0),
        (PAGES, "log file sync", 180_000.0),
    ] {
        for changed in [without_rules(report), collapsed(report)] {
            let out = import(&[&changed]);
            assert_eq!(event(&out, "top_events", name, "waits"), waits, "{changed}");
        }
    }
}

/// A row that lacks a value is read only where the average shows which one it is.
#[test]
fn a_row_that_lacks_a_value_is_not_guessed() {
    let text = "Background Wait Events   DB/Inst: A/a  Snaps: 1-2\n\n\
        % bg\n%Time Total Wait wait Waits\nEvent Waits -outs Time (s) (ms) /txn time\n\
        log file parallel write 2,000 12 6 0.5 40.0\n\
        LGWR wait for redo copy 900 77 6 0.5 40.0\n\n";
    let out = import(&[text]);
    let rows = &table(&out, "background_waits").rows;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(
        event(
            &out,
            "background_waits",
            "log file parallel write",
            "time_s"
        ),
        12.0
    );
    let lost = out.diagnostics.iter().find(|d| d.id == "awr.values_lost");
    assert!(lost.is_some_and(|d| d.line == Some(7) && d.detail.contains("LGWR wait")));
}

#[test]
fn tables_with_tabs_and_bars_are_read() {
    let cells: &[&[&str]] = &[
        &[
            "Event",
            "Waits",
            "%Time -outs",
            "Total Wait Time (s)",
            "Avg wait (ms)",
            "Waits /txn",
            "% DB time",
        ],
        &["log file sync", "8,200", "0", "41", "5", "1.00", "30.5"],
        &[
            "enq: TX - row lock contention",
            "3",
            "",
            "9",
            "3,000",
            "0.00",
            "6.7",
        ],
    ];
    let tabs: String = cells
        .iter()
        .map(|r| format!("{}\n", r.join("\t")))
        .collect();
    let mut bars: Vec<String> = cells
        .iter()
        .map(|r| format!("| {} |\n", r.join(" | ")))
        .collect();
    bars.insert(1, "|---|--:|:-:|---|---|---|---|\n".to_owned());
    for table_text in [tabs, bars.concat()] {
        let text = format!("Foreground Wait Events\n\n{table_text}\nSome other words\n");
        let out = import(&[&text]);
        let rows = table(&out, "foreground_waits");
        assert_eq!(rows.rows.len(), 2, "{text}");
        assert_eq!(
            event(&out, "foreground_waits", "log file sync", "avg_wait_ms"),
            5.0
        );
        assert_eq!(number(rows, 1, "time_s"), 9.0);
        assert_eq!(*cell(rows, 1, "time_outs_pct"), Cell::Blank);
    }
    let profile = "Load Profile\n\tPer Second\tPer Transaction\tPer Exec\n\
        Redo size (bytes):\t1,048,576.0\t2,048.5\t\nTransactions:\t512.0\t\t\n\n\
        Statistic\tTotal\tper Second\tper Trans\nredo writes\t1,234\t5.6\t0.1\n";
    let out = import(&[profile]);
    assert_eq!(
        number(table(&out, "load_profile"), 0, "per_second"),
        1_048_576.0
    );
    assert_eq!(number(table(&out, "instance_activity"), 0, "total"), 1234.0);
}

const STATISTICS: &str = "\
Instance Activity Stats                      DB/Inst: A/a  Snaps: 1-2

Statistic                                     Total     per Second     per Trans
-------------------------------- ------------------ -------------- -------------
redo size                                 9,000,000        2,500.0         450.0
redo synch time overhead count (              1,200             .3            .1
redo synch time overhead count (                 90             .0            .0
redo synch time overhead count (                  7             .0            .0
redo synch time overhead count (                  7             .0            .0
redo synch time overhead count (                  0             .0            .0
";

#[test]
fn statistics_whose_names_are_cut_alike_are_all_kept() {
    let totals = |table: &Table| -> Vec<f64> {
        (0..table.rows.len())
            .map(|r| number(table, r, "total"))
            .collect()
    };
    let want = [9e6, 1200.0, 90.0, 7.0, 7.0, 0.0];
    for text in [
        STATISTICS.to_owned(),
        collapsed(STATISTICS),
        without_rules(STATISTICS),
    ] {
        let out = import(&[&text]);
        assert_eq!(totals(table(&out, "instance_activity")), want, "{text}");
        assert!(out.diagnostics.iter().any(|d| d.id == "awr.equal_names"));
    }
    // The key statistics are among all statistics again: those are listed once.
    let key = STATISTICS.replace("Instance Activity", "Key Instance Activity");
    let key: String = key.lines().take(6).map(|l| format!("{l}\n")).collect();
    let out = import(&[&format!("{key}\n{STATISTICS}")]);
    let each = out
        .imported
        .tables
        .iter()
        .filter(|t| t.id == "instance_activity");
    assert_eq!(each.flat_map(totals).collect::<Vec<f64>>(), want);
}

/// Layouts of Exadata and Data Guard are unverified: the sections are tables by their own headings.
#[test]
fn sections_of_exadata_and_data_guard_are_tables_as_printed() {
    let text = "\
Exadata Smart Flash Log Statistics           DB/Inst: A/a  Snaps: 1-2

Cell Name          Flash First    Disk First
---------------- ------------- -------------
cel01                      812        90,123
cel02                      799        90,011
          -------------------------------------------------------------

Data Guard Redo Transport                    DB/Inst: A/a  Snaps: 1-2

Destination            Waits  Avg wait
---------------- ----------- ---------
stby1                  4,391    1.25ms
          -------------------------------------------------------------

Event                                 Waits     Time(s)
------------------------------ ------------ -----------
log file sync                         4,410       1,764
";
    let html = "<html class='awr'><h3>Exadata Smart Flash Log Statistics</h3><table><tr><th>Cell Name</th>\
        <th>Flash First</th><th>Disk First</th></tr><tr><td>cel01</td><td>812</td><td>90,123</td></tr>\
        <tr><td>cel02</td><td>799</td><td>90,011</td></tr></table>\
        <h3>Data Guard Redo Transport</h3><table><tr><th>Destination</th><th>Waits</th><th>Avg wait</th>\
        </tr><tr><td>stby1</td><td>4,391</td><td>1.25ms</td></tr></table>\
        <h3>Foreground Wait Events</h3><table><tr><th>Event</th><th>Waits</th><th>Total Wait Time (s)</th>\
        </tr><tr><td>log file sync</td><td>4,410</td><td>1,764</td></tr></table>";
    for text in [text, html] {
        let out = import(&[text]);
        let cells = table(&out, "exadata_section");
        let title = "Exadata Smart Flash Log Statistics";
        assert!(cells.title.starts_with(title), "{}", cells.title);
        assert_eq!(cells.rows.len(), 2);
        assert_eq!(number(cells, 0, "flash_first"), 812.0);
        assert_eq!(number(cells, 1, "disk_first"), 90_011.0);
        let guard = table(&out, "data_guard_section");
        assert_eq!(number(guard, 0, "waits"), 4391.0);
        assert_eq!(guard.rows[0][2], Cell::Text("1.25ms".to_owned()));
        let said = out.diagnostics.iter().find(|d| d.id == "awr.as_printed");
        assert!(said.expect("a note").detail.starts_with("2 sections"));
        assert_eq!(number(table(&out, "foreground_waits"), 0, "waits"), 4410.0);
    }
}
