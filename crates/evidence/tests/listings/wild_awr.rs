//! Reports of AWR and Statspack in the layouts of their releases, with figures of our own: what
//! stands in each table, and that page breaks, titles and groups of headings cost no line.

use crate::{cell, import, number, table};
use evidence::Outcome;
use measure::imported::{Cell, Table};

const PAGES: &str = include_str!("wild/awr19_pages.txt");
const AWR_11: &str = include_str!("wild/awr112.txt");
const AWR_10: &str = include_str!("wild/awr102.txt");
const STATSPACK_19: &str = include_str!("wild/statspack19.lst");
const STATSPACK_9: &str = include_str!("wild/statspack92.lst");
const STATSPACK_8: &str = include_str!("wild/statspack817.lst");

fn row_of(table: &Table, name: &str) -> usize {
    let is = |row: &Vec<Cell>| row.first() == Some(&Cell::Text(name.to_owned()));
    let at = table.rows.iter().position(is);
    at.unwrap_or_else(|| panic!("no {name} in {}: {:?}", table.id, table.rows))
}

fn value(out: &Outcome, id: &str, name: &str, key: &str) -> f64 {
    let table = table(out, id);
    number(table, row_of(table, name), key)
}

#[test]
fn every_release_has_its_load_profile_and_log_waits() {
    for (report, redo, syncs, sync_s) in [
        (PAGES, 2_048_000.0, 180_000.0, 198.0),
        (AWR_11, 172_032.0, 4_410.0, 1_764.0),
        (AWR_10, 262_144.0, 230_400.0, 691.0),
        (STATSPACK_19, 524_288.0, 120_000.0, 240.0),
        (STATSPACK_9, 131_072.0, 57_600.0, 172.0),
        (STATSPACK_8, 65_536.0, 9_600.0, 48.0),
    ] {
        for report in [report.to_owned(), report.replace('\n', "\r\n")] {
            let out = import(&[&report]);
            let profile = table(&out, "load_profile");
            let name = |row: &Vec<Cell>| match row.first() {
                Some(Cell::Text(text)) => text.clone(),
                _ => String::new(),
            };
            let is_redo = |row: &Vec<Cell>| name(row).starts_with("Redo size");
            let at = profile.rows.iter().position(is_redo).expect("redo size");
            assert_eq!(number(profile, at, "per_second"), redo);
            assert_eq!(value(&out, "top_events", "log file sync", "waits"), syncs);
            assert_eq!(value(&out, "top_events", "log file sync", "time_s"), sync_s);
            let row = &out.rows[0];
            assert!(
                row.redo().redo_data_mbps > Some(0.0) && row.elapsed_s > Some(0.0),
                "{row:?}"
            );
        }
    }
}

#[test]
fn a_report_states_when_it_begins() {
    for (report, begin) in [
        (PAGES, "02-Mar-25 10:00:07"),
        (AWR_11, "11-Apr-12 10:00:02"),
        (AWR_10, "03-Feb-09 09:00:11"),
        (STATSPACK_19, "01-Jun-21 10:00:00"),
        (STATSPACK_9, "03-Feb-05 09:00:11"),
        (STATSPACK_8, "03-Feb-02 09:00:11"),
    ] {
        let out = import(&[report]);
        let facts = &out.imported.sources[0].facts;
        let is_it =
            |(name, value): &&(String, String)| name == "Begin Snap" && value.contains(begin);
        assert!(facts.iter().find(is_it).is_some(), "{facts:?}");
    }
}

#[test]
fn pages_of_sqlplus_cost_no_line() {
    let out = import(&[PAGES]);
    let top = table(&out, "top_events");
    assert_eq!(top.rows.len(), 5, "{:?}", top.rows);
    assert_eq!(number(top, 2, "avg_wait_ms"), 20_510.0);
    assert!((number(top, 4, "avg_wait_ms") - 0.000_300_1).abs() < 1e-12);
    assert_eq!(table(&out, "load_profile").rows.len(), 6);
    assert_eq!(table(&out, "foreground_waits").rows.len(), 4);
    assert_eq!(value(&out, "iostat_by_function", "Others", "waits"), 1900.0);
    assert_eq!(
        value(&out, "iostat_by_filetype", "Log File", "write_reqs_per_s"),
        400.1
    );
    assert_eq!(
        value(&out, "instance_activity", "redo writes", "total"),
        360_000.0
    );
    let facts = &out.imported.sources[0].facts;
    for (name, want) in [
        ("Release", "19.0.0.0.0"),
        ("Container Name", "PDB9"),
        ("CPUs", "16"),
    ] {
        assert!(
            facts.iter().any(|(n, v)| n == name && v == want),
            "{name}: {facts:?}"
        );
    }
    let pages = PAGES.replace("OUTPUT\n--------------------------------------------------------------------------------\n", "OUTPUT\n");
    assert_eq!(
        import(&[&pages]).imported.tables.len(),
        out.imported.tables.len()
    );
}

#[test]
fn histograms_name_their_bounds() {
    let out = import(&[AWR_11]);
    let all: Vec<&Table> = out
        .imported
        .tables
        .iter()
        .filter(|t| t.id == "wait_histogram")
        .collect();
    assert_eq!(all.len(), 3);
    assert_eq!(number(all[0], 0, "pct_over_1s"), 0.7);
    assert_eq!(*cell(all[0], 2, "pct_under_1ms"), Cell::Blank);
    assert_eq!(number(all[0], 2, "pct_under_2ms"), 100.0);
    assert_eq!(number(all[0], 1, "waits"), 4_410_000.0);
    assert_eq!(number(all[1], 0, "pct_under_1_8s"), 2.6);
    let over = table(&out, "redo_waits_over");
    for (key, want) in [
        ("over_1ms_pct", 31.9),
        ("over_8ms_pct", 27.5),
        ("over_32ms_pct", 13.8),
    ] {
        assert!(
            (number(over, 0, key) - want).abs() < 1e-9,
            "{key}: {:?}",
            over.rows
        );
    }
    assert!(
        all[2]
            .columns
            .iter()
            .any(|c| c.heading == "<1m" && c.key == "pct_under_1m")
    );
    let out = import(&[STATSPACK_19]);
    assert_eq!(
        number(table(&out, "wait_histogram"), 0, "pct_under_2ms"),
        15.0
    );
}

#[test]
fn histograms_in_html_stand_under_a_group_of_headings() {
    let head = |bounds: &[&str]| {
        let each: String = bounds.iter().map(|b| format!("<th>{b}</th>")).collect();
        format!(
            "<html><title>AWR Report</title><h3>Wait Event Histogram</h3><table><tr><td>&#160;</td>\
             <td>&#160;</td><th colspan=\" 8\">% of Waits</th></tr><tr><th>Event</th>\
             <th>Total Waits</th>{each}</tr>"
        )
    };
    let page = head(&["&lt;1ms", "&lt;2ms", " &lt;4ms", "&gt;=4ms"])
        + "<tr><td>log file sync</td><td>12.5K</td><td>90.0</td><td>&#160;</td><td>9.9</td>\
           <td>.1</td></tr></table>";
    let out = import(&[&page]);
    let histogram = table(&out, "wait_histogram");
    assert_eq!(number(histogram, 0, "waits"), 12_500.0);
    assert_eq!(number(histogram, 0, "pct_under_4ms"), 9.9);
    assert_eq!(number(histogram, 0, "pct_from_4ms"), 0.1);
}

#[test]
fn statspack_says_the_same_in_other_words() {
    let out = import(&[STATSPACK_19]);
    let function = table(&out, "iostat_by_function");
    assert_eq!(number(function, 0, "read_reqs_per_s"), 0.2);
    assert_eq!(number(function, 0, "write_reqs_per_s"), 91.7);
    assert_eq!(number(function, 0, "avg_wait_ms"), 0.9);
    assert_eq!(*cell(function, 1, "read_data_bytes"), Cell::Blank);
    let cpu = table(&out, "host_cpu");
    for (key, want) in [
        ("load_average_begin", 0.81),
        ("cpu_user_pct", 12.2),
        ("cpu_sys_pct", 3.1),
        ("cpu_iowait_pct", 0.6),
        ("cpu_idle_pct", 84.7),
    ] {
        assert_eq!(number(cpu, 0, key), want, "{key}");
    }
    let facts = &out.imported.sources[0].facts;
    assert!(
        facts.contains(&("Release".to_owned(), "19.0.0.0.0".to_owned())),
        "{facts:?}"
    );
    assert!(
        facts.contains(&("Elapsed".to_owned(), "20.00 (mins)".to_owned())),
        "{facts:?}"
    );

    let out = import(&[STATSPACK_9]);
    // Until 9.2 it counts time-outs, and prints no share of them.
    assert_eq!(
        value(
            &out,
            "foreground_waits",
            "log file parallel write",
            "time_outs_pct"
        ),
        100.0
    );
    assert_eq!(
        value(
            &out,
            "background_waits",
            "log file parallel write",
            "avg_wait_ms"
        ),
        1.0
    );
    let out = import(&[STATSPACK_8]);
    assert_eq!(
        value(
            &out,
            "top_events",
            "log file parallel write",
            "call_time_pct"
        ),
        30.0
    );
    assert_eq!(
        value(&out, "foreground_waits", "log file sync", "avg_wait_ms"),
        5.0
    );
}

/// Shares over a bound are sums of the printed buckets, and a sum of `.0` alone is no figure.
#[test]
fn shares_over_a_bound_are_sums_of_what_is_printed() {
    let bounds = [
        "&lt;1ms", "&lt;8ms", "&lt;16ms", "&lt;32ms", "&lt;=1s", "&gt;1s",
    ];
    let row = |cells: &[&str]| {
        let each: String = cells.iter().map(|c| format!("<td>{c}</td>")).collect();
        format!("<tr>{each}</tr>")
    };
    let head: String = bounds.iter().map(|b| format!("<th>{b}</th>")).collect();
    let none = "&#160;";
    let page = format!(
        "<html><title>AWR Report</title><h3>Wait Event Histogram</h3><table><tr><td>&#160;</td>\
         <td>&#160;</td><th colspan=\"8\">% of Waits</th></tr><tr><th>Event</th>\
         <th>Total Waits</th>{head}</tr>{}{}</table>",
        row(&[
            "log file sync",
            "12.5K",
            "90.0",
            "9.0",
            ".6",
            ".3",
            ".0",
            ".0"
        ]),
        row(&[
            "log file parallel write",
            "900",
            "99.9",
            ".1",
            none,
            none,
            none,
            none
        ]),
    );
    let out = import(&[&page]);
    let over = table(&out, "redo_waits_over");
    let of = |event: &str| {
        let event = Cell::Text(event.to_owned());
        let found = over.rows.iter().position(|r| r[0] == event);
        found.expect("the event")
    };
    let (sync, write) = (of("log file sync"), of("log file parallel write"));
    assert_eq!(number(over, sync, "over_1ms_pct"), 9.9);
    assert_eq!(number(over, sync, "over_8ms_pct"), 0.9);
    assert_eq!(number(over, sync, "over_16ms_pct"), 0.3);
    assert_eq!(*cell(over, sync, "over_32ms_pct"), Cell::Blank);
    assert_eq!(number(over, write, "over_1ms_pct"), 0.1);
    assert_eq!(number(over, write, "over_16ms_pct"), 0.0);
    assert!(
        out.diagnostics
            .iter()
            .any(|d| d.id == "awr.share_under_a_tenth")
    );
}

#[test]
fn a_report_that_a_mail_folded_and_quoted_is_read() {
    let text = "\
From: ops
Subject: Re: commits slow

> It is 180 km away.
>
> Elapsed:               60.02 (mins)
> DB Time:              174.58 (mins)
>
> Foreground Wait Events               DB/Inst: PAY/pay1  Snaps: 1-2
>
>                                         %Time Total Wait
>   Waits   % DB
> Event                             Waits -outs   Time (s)  Avg wait
>     /txn   time
> -------------------------- ------------ ----- ---------- ---------
> -------- ------
> log file sync                   512,300     0      6,096   11.90ms
>      1.0   58.2
> db file sequential read         402,117     0        241  600.00us
>      0.8    2.3
>
> Background Wait Events               DB/Inst: PAY/pay1  Snaps: 1-2
>
>                                         %Time Total Wait
>   Waits   % bg
> Event                             Waits -outs   Time (s)  Avg wait
>     /txn   time
> -------------------------- ------------ ----- ---------- ---------
> -------- ------
> log file parallel write         498,120     0        349  700.00us
>      1.0    4.5
";
    let out = import(&[text]);
    let shown: Vec<String> = out
        .imported
        .tables
        .iter()
        .map(|t| format!("{t:?}"))
        .collect();
    let shown = shown.join("\n");
    for event in [
        "log file sync",
        "db file sequential read",
        "log file parallel write",
    ] {
        assert!(shown.contains(event), "{event}: {shown}");
    }
    for figure in ["512300", "58.2", "498120", "4.5"] {
        assert!(shown.contains(figure), "{figure}: {shown}");
    }
}
