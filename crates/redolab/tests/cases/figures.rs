//! What an import shows of each case: the cells of its tables by row and column, and how many rows
//! there are; facts; refusals; diagnostics with their lines.

use crate::{import, inputs, json};
use serde_json::Value;

/// What a case has to show.
enum Want {
    /// A cell: the table, a text that a cell of its row is or `#` with the number of the row from
    /// 0, the column, and the value. Numbers are compared as such; an empty value is a blank cell.
    Cell(&'static str, &'static str, &'static str, &'static str),
    /// A table of so many rows; 0 where there must be none.
    Rows(&'static str, usize),
    /// A fact of the file: its name and value.
    Fact(&'static str, &'static str),
    /// A diagnostic, the line that it names, and words of it.
    Diagnostic(&'static str, Option<u64>, &'static str),
    /// Words of the table that people see.
    Shown(&'static str),
    /// Words that no output has.
    Never(&'static str),
    /// The file is refused, with these words and without the list of kinds.
    Refused(&'static [&'static str]),
}
use Want::{Cell, Diagnostic, Fact, Never, Refused, Rows, Shown};

/// A file and what its import has to show.
type Case = (&'static str, &'static [Want]);

const SQL_SERVER: &[Want] = &[
    Rows("sqlserver_waits", 4),
    Cell("sqlserver_waits", "WRITELOG", "waits", "91589"),
    Cell("sqlserver_waits", "WRITELOG", "wait_ms", "315537"),
    Cell(
        "sqlserver_waits",
        "WRITELOG",
        "mean_ms",
        "3.4451407920165086",
    ),
    Cell(
        "sqlserver_waits",
        "PREEMPTIVE_OS_FLUSHFILEBUFFERS",
        "mean_ms",
        "7.648774755469533",
    ),
];

const CASES: &[Case] = &[
    (
        "02-any-csv.txt",
        &[Refused(&[
            "`samples`, `min_latency`, `avg_latency`, `max_latency`",
            "does not know what they measure",
            "`count,elapsed`",
        ])],
    ),
    (
        "09-hist-event-histogram-break.txt",
        &[
            Rows("event_histogram", 9),
            Rows("event_histogram_summary", 3),
            Cell(
                "event_histogram_summary",
                "#0",
                "event",
                "log file parallel write",
            ),
            Cell(
                "event_histogram_summary",
                "#0",
                "snapshot",
                "instance 1 01-NOV-19 05.00.15.638 PM",
            ),
            Cell("event_histogram_summary", "#0", "waits", "1320"),
            Cell("event_histogram_summary", "#1", "waits", "1950"),
            Cell("event_histogram_summary", "#2", "waits", "630"),
            Cell(
                "event_histogram_summary",
                "#0",
                "over_1ms_pct",
                "24.242424242424242",
            ),
            Cell(
                "event_histogram_summary",
                "#1",
                "over_1ms_pct",
                "23.076923076923077",
            ),
            Cell(
                "event_histogram_summary",
                "#2",
                "over_1ms_pct",
                "20.634920634920636",
            ),
            Cell("event_histogram", "#6", "wait_count", "500"),
            Cell("event_histogram", "#7", "wait_count", "100"),
            Cell("event_histogram", "#8", "wait_count", "30"),
        ],
    ),
    (
        "11-iostat-with-stamps.txt",
        &[
            Rows("iostat", 2),
            Cell("iostat", "#1", "write_await_ms", "12.5"),
            Diagnostic(
                "import.prefix",
                None,
                "8 lines begin with a time stamp (`2020-09-24 10:44:05.254054`)",
            ),
        ],
    ),
    (
        "a22-etcd-wal-sync.txt",
        &[
            Rows("etcd_slow_syncs", 12),
            Cell("etcd_slow_syncs", "#0", "took_ms", "1134.771573"),
            Cell(
                "etcd_slow_syncs",
                "#0",
                "time",
                "2018-10-25 16:20:35.185438",
            ),
            Cell("etcd_slow_syncs_summary", "#0", "syncs", "12"),
            Cell("etcd_slow_syncs_summary", "#0", "total_ms", "31237.002963"),
            Cell("etcd_slow_syncs_summary", "#0", "max_ms", "7645.129468"),
            Cell(
                "etcd_slow_syncs_summary",
                "#0",
                "max_at",
                "2018-10-25 17:30:10",
            ),
        ],
    ),
    (
        "a26-iostat-am-pm.txt",
        &[
            Rows("iostat", 2),
            Cell("iostat", "#1", "time", "03/19/2019 16:10:49"),
            Cell("iostat", "#1", "reads_per_s", "5444"),
            Cell("iostat", "#1", "writes_per_s", "2"),
            Cell("iostat", "#1", "write_await_ms", "5.4"),
            Cell("iostat", "#1", "util_pct", "83.7"),
        ],
    ),
    ("a29-sql-server-markdown.txt", SQL_SERVER),
    ("a29b-sql-server-markdown-without-pipes.txt", SQL_SERVER),
    (
        "01-sysbench-threads.txt",
        &[
            Rows("sysbench_intervals", 2),
            Cell("sysbench_intervals", "#0", "threads", "7"),
            Cell("sysbench_intervals", "#0", "tps", "100"),
            Cell("sysbench_intervals", "#0", "reads_per_s", "1400.5"),
            Cell("sysbench_intervals", "#1", "reads_per_s", "1540"),
            Cell("sysbench_intervals", "#0", "writes_per_s", "400.25"),
            Cell("sysbench_intervals", "#1", "writes_per_s", "440"),
            Cell("sysbench_intervals", "#0", "read_mb_per_s", ""),
            Cell("sysbench_intervals", "#0", "write_mb_per_s", ""),
            Cell("sysbench_intervals", "#0", "percentile", "99"),
            Cell("sysbench_intervals", "#0", "latency_ms", "17.52"),
            Cell("sysbench_intervals", "#1", "latency_ms", "18.35"),
            Cell("sysbench_intervals", "#0", "errors_per_s", "0"),
            Cell("sysbench_intervals", "#1", "errors_per_s", "1"),
            Never("MiB"),
        ],
    ),
    (
        "03-exadata-rowspan-heading.txt",
        &[
            Rows("exadata_section", 1),
            Cell("exadata_section", "#0", "disk_type", "F/2T"),
            Cell("exadata_section", "#0", "cells", "4"),
            Cell("exadata_section", "#0", "iops_total", "8000"),
            Cell("exadata_section", "#0", "iops_total_2", "100"),
            Cell("exadata_section", "#0", "iops_per_cell_average", "2000"),
            Cell("exadata_section", "#0", "iops_per_disk_mean", "500"),
            Cell("exadata_section", "#0", "iops_per_disk_std_dev", "25.5"),
            Cell(
                "exadata_section",
                "#0",
                "iops_per_disk_normal_range",
                "474.50 - 525.50",
            ),
            Cell(
                "exadata_section",
                "#0",
                "small_writes_s_per_cell_average",
                "310",
            ),
            Cell(
                "exadata_section",
                "#0",
                "small_writes_s_per_disk_mean",
                "77.5",
            ),
            Cell(
                "exadata_section",
                "#0",
                "small_writes_s_per_disk_std_dev",
                "5.25",
            ),
            Cell(
                "exadata_section",
                "#0",
                "small_writes_s_per_disk_normal_range",
                "72.25 - 82.75",
            ),
        ],
    ),
    (
        "05-top-events-wait-avg.txt",
        &[
            Rows("top_events", 3),
            Cell("top_events", "log file sync", "avg_wait_ms", "5"),
            Cell("top_events", "direct path read", "avg_wait_ms", "13"),
            Cell("top_events", "log file sync", "rounded", "time"),
            Cell("top_events", "DB CPU", "rounded", "time"),
            Cell("top_events", "DB CPU", "time", "545."),
            Diagnostic("awr.cut_values", Some(13), "3 values"),
        ],
    ),
    (
        "07-markdown-without-outer-pipes.txt",
        &[
            Fact("DB Name", "DB1"),
            Fact("RAC", "YES"),
            Cell("foreground_waits", "log file sync", "waits", "200000"),
            Cell("foreground_waits", "log file sync", "time_s", "240"),
            Cell(
                "foreground_waits",
                "enq: TX - row lock contention",
                "waits",
                "191",
            ),
            Cell(
                "foreground_waits",
                "enq: TX - row lock contention",
                "time_s",
                "18",
            ),
            Cell(
                "background_waits",
                "log file parallel write",
                "waits",
                "400000",
            ),
            Cell(
                "background_waits",
                "log file parallel write",
                "time_s",
                "360",
            ),
            Cell("background_waits", "LNS wait on SENDREQ", "waits", "400000"),
            Cell("background_waits", "LNS wait on SENDREQ", "time_s", "16"),
        ],
    ),
    (
        "14-prose-below-a-wait-table.txt",
        &[
            Rows("background_waits", 2),
            Cell(
                "background_waits",
                "LNS wait on SENDREQ",
                "avg_wait_ms",
                "3",
            ),
            Never("rule of thumb"),
        ],
    ),
    (
        "a02-system-event.txt",
        &[
            Rows("system_event", 5),
            Cell(
                "system_event",
                "log file parallel write",
                "avg_wait_ms",
                "96.8",
            ),
            Cell("system_event", "log buffer space", "avg_wait_ms", "327.8"),
            Cell(
                "system_event",
                "log buffer space",
                "mean_ms",
                "327.8094105156724",
            ),
            Cell("system_event", "log buffer space", "time_us", "972610521"),
        ],
    ),
    (
        "a09-load-profile-without-title.txt",
        &[
            Cell("load_profile", "Redo size", "per_second", "140604.47"),
            Cell("load_profile", "Redo size", "per_transaction", "325.65"),
            Cell("load_profile", "User calls", "per_transaction", "4.79"),
            Cell("load_profile", "Transactions", "per_second", "431.77"),
        ],
    ),
    (
        "a04-log-writer-warnings.txt",
        &[
            Rows("log_write_warnings", 2),
            Cell("log_write_warnings", "#0", "elapsed_ms", "3454"),
            Cell("log_write_warnings", "#1", "elapsed_ms", "5434"),
            Cell("log_write_warnings", "#1", "size_kb", "148"),
            Cell(
                "log_write_warnings",
                "#1",
                "stamp_above",
                "2011-10-26 11:49:15.533",
            ),
        ],
    ),
    (
        "a07-switch-to-post-wait.txt",
        &[
            Rows("adaptive_sync", 1),
            Cell(
                "adaptive_sync",
                "#0",
                "switch",
                "Log file sync switching to post/wait",
            ),
            Cell("adaptive_sync", "#0", "rate_per_s", "10286"),
            Cell(
                "adaptive_sync",
                "#0",
                "stamp_above",
                "2023-02-16 12:45:09.010167",
            ),
            Shown("10,286"),
            Shown("2023-02-16 12:45:09.010167"),
        ],
    ),
    (
        "a11-awr-lfs-lfpw.txt",
        &[
            Cell("foreground_waits", "log file sync", "waits", "345918"),
            Cell("foreground_waits", "log file sync", "time_s", "9567"),
            Cell("foreground_waits", "log file sync", "avg_wait_ms", "27.65"),
            Cell(
                "background_waits",
                "log file parallel write",
                "waits",
                "310211",
            ),
            Cell(
                "background_waits",
                "log file parallel write",
                "time_s",
                "2109",
            ),
            Cell(
                "background_waits",
                "log file parallel write",
                "avg_wait_ms",
                "6.79",
            ),
        ],
    ),
    (
        "a15-pg-test-fsync.txt",
        &[
            Rows("pg_test_fsync", 10),
            Cell(
                "pg_test_fsync",
                "#0",
                "test",
                "Compare file sync methods using one 8kB write",
            ),
            Cell("pg_test_fsync", "#1", "method", "fdatasync"),
            Cell("pg_test_fsync", "#1", "us_per_op", "2025"),
            Cell("pg_test_fsync", "#2", "us_per_op", "1643"),
            Cell(
                "pg_test_fsync",
                "#5",
                "test",
                "Compare file sync methods using two 8kB writes",
            ),
            Cell("pg_test_fsync", "#7", "method", "fsync"),
            Cell("pg_test_fsync", "#7", "us_per_op", "800"),
            Cell("pg_test_fsync", "#9", "ops_per_s", "1197.959"),
        ],
    ),
    (
        "a18-fio-sync-percentiles.txt",
        &[
            Cell("fio_latency", "sync", "mean_us", "6442.63"),
            Cell("fio_latency", "sync", "p50_us", "6000"),
            Cell("fio_latency", "sync", "p99_us", "18000"),
            Cell("fio_latency", "sync", "p9999_us", "305000"),
            Cell("fio_latency", "clat", "p99_us", "44"),
        ],
    ),
    (
        "a24-iostat-with-svctm.txt",
        &[
            Rows("iostat", 4),
            Diagnostic("iostat.since_boot", Some(3), "since boot"),
            Fact(
                "iostat",
                "Linux 2.6.32-431.el6.x86_64 (host1) \t03/19/2014 \t_x86_64_\t(4 CPU)",
            ),
            Never("nan"),
            Cell("iostat", "#0", "covers", "since boot"),
            Cell("iostat", "#1", "covers", "interval"),
            Cell("iostat", "#1", "writes_per_s", "90"),
            Cell("iostat", "#2", "write_await_ms", "14"),
            Cell("iostat", "#3", "service_ms", "11.62"),
            Cell("iostat_devices", "sda", "util_pct", "98.53333333333333"),
        ],
    ),
    (
        "16-redo-write-time-contains-the-standby.txt",
        &[
            Cell("foreground_waits", "log file sync", "avg_wait_ms", "2.5"),
            Cell("background_waits", "SYNC Remote Write", "avg_wait_ms", "2"),
            Cell(
                "background_waits",
                "log file parallel write",
                "avg_wait_ms",
                "0.3",
            ),
            Cell(
                "instance_activity",
                "redo write time (usec)",
                "total",
                "220000000",
            ),
            Cell("instance_activity", "redo writes", "total", "100000"),
        ],
    ),
    (
        "19-p99-over-four-histograms.txt",
        &[
            Rows("wait_histogram", 2),
            Cell("wait_histogram", "#0", "waits", "24200"),
            Cell("wait_histogram", "#1", "waits", "23900"),
            Cell("wait_histogram", "#1", "pct_under_4ms", "45.3"),
            Cell("wait_histogram", "#1", "pct_under_8ms", "4.9"),
            Cell("redo_waits_over", "log file sync", "over_8ms_pct", "0.9"),
        ],
    ),
    (
        "20-histogram-without-a-word.txt",
        &[
            Rows("event_histogram", 8),
            Cell("event_histogram_summary", "#0", "waits", "10005"),
            Cell(
                "event_histogram_summary",
                "#0",
                "over_16ms_pct",
                "60.0199900049975",
            ),
            Cell("event_histogram_summary", "#0", "max_under_ms", "16384"),
            Cell(
                "event_histogram_summary",
                "#2",
                "over_16ms_pct",
                "88.23529411764706",
            ),
        ],
    ),
    (
        "22-pgbench-falls-to-a-level.txt",
        &[
            Rows("pgbench_progress", 10),
            Cell("pgbench_progress", "#4", "tps", "4575.3"),
            Cell("pgbench_progress", "#9", "tps", "1933.1"),
            Cell("pgbench_progress", "#9", "latency_avg_ms", "10.336"),
            Cell("pgbench", "#0", "tps", "3352.985575"),
        ],
    ),
    (
        "26a-before-lgwr-with-header.txt",
        &[
            Cell("worker_latency", "LGWR (100)", "waits", "60"),
            Cell(
                "worker_latency",
                "LGWR (100)",
                "mean_ms",
                "1.0150833333333333",
            ),
        ],
    ),
    (
        "26b-after-lgwr-with-header.txt",
        &[Cell("worker_latency", "LGWR (200)", "waits", "60")],
    ),
];

/// A cell as text.
fn text(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_same(cell: &Value, want: &str) -> bool {
    let found = text(cell);
    match (found.parse::<f64>(), want.parse::<f64>()) {
        (Ok(found), Ok(want)) => (found - want).abs() <= 1e-9 * want.abs().max(1.0),
        _ => found == want,
    }
}

/// The rows of a table, of all of that id, each with the names of its columns.
fn rows<'a>(json: &'a Value, id: &str) -> Vec<(&'a Value, &'a Vec<Value>)> {
    let tables = json["imported"]["tables"]
        .as_array()
        .expect("tables")
        .iter();
    let of_id = tables.filter(|t| t["id"] == *id);
    let each = of_id.flat_map(|t| {
        let rows = t["rows"].as_array().into_iter().flatten();
        rows.map(move |r| (&t["columns"], r.as_array().expect("a row")))
    });
    each.collect()
}

/// A cell that a case wants.
fn cell<'a>(json: &'a Value, id: &str, row: &str, column: &str) -> Option<&'a Value> {
    let rows = rows(json, id);
    let found = match row.strip_prefix('#') {
        Some(at) => rows.get(at.parse::<usize>().expect("a number")),
        None => rows.iter().find(|(_, r)| r.iter().any(|c| c == row)),
    };
    let (columns, cells) = found?;
    let columns = columns.as_array()?;
    cells.get(columns.iter().position(|c| c["key"] == *column)?)
}

/// What an import lacks of what a case wants.
fn lacks(json: &Value, shown: &str, want: &Want) -> Option<String> {
    let lack = |is: bool, what: String| is.then_some(what);
    match want {
        Cell(id, row, column, value) => match cell(json, id, row, column) {
            Some(found) if is_same(found, value) => None,
            found => Some(format!("{id} {row} {column}: {found:?}, not {value}")),
        },
        Rows(id, count) => {
            let found = rows(json, id).len();
            lack(
                found != *count,
                format!("{id} has {found} rows, not {count}"),
            )
        }
        Fact(name, value) => {
            let facts = &json["imported"]["sources"][0]["facts"];
            let is = |f: &&Value| f[0] == **name && f[1] == **value;
            let found = facts.as_array().into_iter().flatten().find(is);
            lack(found.is_none(), format!("no fact {name} {value}: {facts}"))
        }
        Diagnostic(id, line, words) => {
            let all = json["diagnostics"].as_array().into_iter().flatten();
            let is = |d: &&Value| {
                d["id"] == **id && d["line"].as_u64() == *line && text(&d["detail"]).contains(words)
            };
            let found = all.clone().find(is);
            let all: Vec<&Value> = all.collect();
            lack(
                found.is_none(),
                format!("no {id} of {line:?} with `{words}`: {all:?}"),
            )
        }
        Shown(words) => lack(!shown.contains(words), format!("`{words}` is not shown")),
        Never(words) => lack(shown.contains(words), format!("`{words}` is shown")),
        Refused(_) => Some("it is imported".to_owned()),
    }
}

#[test]
fn each_case_shows_its_figures() {
    let mut wrong = Vec::new();
    for (file, wants) in CASES {
        if let [Refused(words)] = wants {
            let done = import(&[file], &[]);
            done.expect(1, words);
            assert!(!done.err.contains("redolab looked for"), "{}", done.err);
            continue;
        }
        let shown = import(&[file], &["-v"]);
        if shown.code != Some(0) {
            wrong.push(format!("{file}: {:?} {}", shown.code, shown.err));
            continue;
        }
        let json = json(&[file]);
        let lack = wants
            .iter()
            .filter_map(|want| lacks(&json, &shown.out, want));
        wrong.extend(lack.map(|l| format!("{file}: {l}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_input_has_a_case() {
    let names = std::fs::read_dir(inputs()).expect("a folder");
    let names = names.map(|e| {
        e.expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8")
    });
    let missing: Vec<String> = names
        .filter(|name| !CASES.iter().any(|(file, _)| file == name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
