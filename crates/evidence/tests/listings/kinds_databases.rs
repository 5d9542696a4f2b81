//! Counters of other databases: InnoDB (printed here by MariaDB 10.11, see `real`), SQL Server and
//! etcd, which do not run here: their layouts are those of their documentation, the figures ours.

use crate::{cell, import, import_in, number, table};
use evidence::{Kind, Outcome};
use measure::imported::{Cell, Table};

const STATUS: &str = include_str!("real/innodb-status.txt");
const VARIABLES: &str = include_str!("real/mariadb-status.txt");

fn text_of<'a>(table: &'a Table, row: usize, key: &str) -> &'a str {
    match cell(table, row, key) {
        Cell::Text(text) => text,
        other => panic!("{key} of line {row} is {other:?}"),
    }
}

fn row_of(table: &Table, key: &str, value: &str) -> usize {
    let found = (0..table.rows.len()).find(|i| text_of(table, *i, key) == value);
    found.unwrap_or_else(|| panic!("no {value}"))
}

fn has(out: &Outcome, id: &str) -> bool {
    out.imported.tables.iter().any(|t| t.id == id)
}

/// The numbers behind each occurrence of some words.
fn all_behind(text: &str, words: &str) -> Vec<f64> {
    let lines = text.lines().filter_map(|l| l.strip_prefix(words));
    lines.map(|l| l.trim().parse().expect("a number")).collect()
}

#[test]
fn the_log_of_two_statuses_of_innodb() {
    assert!(crate::places::checked(STATUS) >= 10);
    let out = import(&[STATUS]);
    assert_eq!(out.imported.sources[0].kind, "innodb");
    let status = table(&out, "innodb_status");
    assert_eq!(status.rows.len(), 2);
    for (key, words) in [
        ("lsn", "Log sequence number"),
        ("flushed_lsn", "Log flushed up to"),
        ("pages_flushed_lsn", "Pages flushed up to"),
        ("checkpoint_lsn", "Last checkpoint at"),
    ] {
        let want = all_behind(STATUS, words);
        assert_eq!(
            (number(status, 0, key), number(status, 1, key)),
            (want[0], want[1]),
            "{key}"
        );
    }
    let changes = table(&out, "innodb_status_change");
    let lsn = all_behind(STATUS, "Log sequence number");
    assert_eq!(number(changes, 0, "lsn"), lsn[1] - lsn[0]);
    assert_eq!(number(changes, 0, "os_fsyncs"), 22.0);
    assert_eq!(number(status, 0, "os_fsyncs"), 124.0);
}

/// Older releases count I/Os of the log; MySQL 8 prints further positions.
#[test]
fn innodb_status_of_other_releases() {
    let text = "=====\n120323 21:05:31 INNODB MONITOR OUTPUT\n=====\n--------\nFILE I/O\n--------\n\
        Pending flushes (fsync) log: 0; buffer pool: 0\n217 OS file reads, 31 OS file writes, 13 OS fsyncs\n\
        ---\nLOG\n---\nLog sequence number 7687931\nLog flushed up to   7687900\n\
        Last checkpoint at  7600000\n1 pending log writes, 2 pending chkp writes\n\
        8 log i/o's done, 0.25 log i/o's/second\n---\nROW OPERATIONS\n---\nLog sequence number 1\n\
        END OF INNODB MONITOR OUTPUT\n=====\n";
    let out = import(&[text]);
    let status = table(&out, "innodb_status");
    assert_eq!(status.rows.len(), 1);
    for (key, want) in [
        ("lsn", 7_687_931.0),
        ("flushed_lsn", 7_687_900.0),
        ("checkpoint_lsn", 7_600_000.0),
        ("pending_log_writes", 1.0),
        ("pending_checkpoint_writes", 2.0),
        ("log_ios", 8.0),
        ("log_ios_per_s", 0.25),
        ("os_file_reads", 217.0),
        ("os_file_writes", 31.0),
        ("os_fsyncs", 13.0),
    ] {
        assert_eq!(number(status, 0, key), want, "{key}");
    }
    assert_eq!(text_of(status, 0, "time"), "120323 21:05:31");
    assert_eq!(*cell(status, 0, "written_lsn"), Cell::Blank);
    for end in crate::cut::cuts(text.len()) {
        let part = import_in(&[&text.as_bytes()[..end]], 64, Some(Kind::Innodb));
        assert!(part.is_err() || table(&part.expect("read"), "innodb_status").rows.len() == 1);
    }
    let prose = "Log sequence number 5\nthe section LOG\nLog flushed up to   5\n";
    assert!(import_in(&[prose.as_bytes()], 64, Some(Kind::Innodb)).is_err());
}

/// The section LOG alone, as people paste it, and the settings that it is compared with; of two
/// excerpts each is a line.
#[test]
fn an_excerpt_of_a_status_and_settings() {
    let excerpt = |lsn: u64| {
        format!(
            "---\nLOG\n---\nLog sequence number {lsn}\nLog flushed up to   5\n\
             Last checkpoint at  700\n0 pending log flushes, 2 pending chkp writes\n"
        )
    };
    let settings =
        "innodb_log_file_size\t268435456\ninnodb_log_files_in_group\t2\nversion\t5.7.38-log\n";
    let text = format!(
        "{}{}mysql> show variables;\n{settings}",
        excerpt(900),
        excerpt(901)
    );
    let out = import(&[&text]);
    let status = table(&out, "innodb_status");
    assert_eq!(status.rows.len(), 2);
    assert_eq!(number(status, 0, "lsn"), 900.0);
    assert_eq!(number(status, 1, "lsn"), 901.0);
    assert_eq!(number(status, 1, "checkpoint_lsn"), 700.0);
    assert_eq!(number(status, 0, "pending_checkpoint_writes"), 2.0);
    let variables = table(&out, "mysql_variables");
    assert_eq!(variables.rows.len(), 2);
    assert_eq!(number(variables, 0, "value"), 268_435_456.0);
    // Vertical, and asked for by name; behind a status that is cut.
    for settings in [
        "Variable_name: innodb_log_file_size\n        Value: 7\n",
        "@@innodb_log_file_size: 7\n",
        "  @@global.innodb_log_file_size: 7\n",
        "| innodb_log_file_size | 7 |\n",
    ] {
        let out = import(&[&format!("{}{settings}", excerpt(900))]);
        let variables = table(&out, "mysql_variables");
        assert_eq!(number(variables, 0, "value"), 7.0, "{settings}");
        assert_eq!(table(&out, "innodb_status").rows.len(), 1, "{settings}");
    }
}

#[test]
fn variables_about_the_log() {
    assert!(crate::places::checked(VARIABLES) >= 16);
    let out = import(&[VARIABLES]);
    let status = table(&out, "mysql_status");
    assert_eq!(status.rows.len(), 20);
    let writes: Vec<f64> = VARIABLES
        .lines()
        .filter(|l| l.contains("Innodb_log_writes "))
        .map(|l| {
            l.split('|')
                .nth(2)
                .expect("a value")
                .trim()
                .parse()
                .expect("a number")
        })
        .collect();
    let first = row_of(status, "variable", "Innodb_log_writes");
    assert_eq!(number(status, first, "value"), writes[0]);
    let changes = table(&out, "mysql_status_change");
    let row = row_of(changes, "variable", "Innodb_log_writes");
    assert_eq!(number(changes, row, "value"), writes[1] - writes[0]);
    assert_eq!(writes[1] - writes[0], 50.0, "fifty commits");
    // With tabs, and vertical.
    let out = import(&[
        "Variable_name\tValue\nInnodb_os_log_fsyncs\t812\nSlow_queries\t3\nCom_commit\t800\n",
    ]);
    let status = table(&out, "mysql_status");
    assert_eq!(status.rows.len(), 2);
    assert_eq!(number(status, 0, "value"), 812.0);
    let out = import(&[
        "*** 1. row ***\nVariable_name: Innodb_log_waits\n        Value: 7\nVariable_name: Threads_running\n        Value: 9\n\
        Innodb_log_waits\t7\n",
    ]);
    assert_eq!(table(&out, "mysql_status").rows.len(), 2);
    for text in [
        "Innodb_log_waits is 5\n",
        "| Innodb_log_waits | counts waits |\n",
        "Innodb_log_waits 5\n",
    ] {
        assert!(
            import_in(&[text.as_bytes()], 64, Some(Kind::Innodb)).is_err(),
            "{text}"
        );
    }
}

fn waits(tasks: u32, ms: u32) -> String {
    format!(
        "wait_type                      waiting_tasks_count  wait_time_ms         max_wait_time_ms     signal_wait_time_ms\n\
         ------------------------------ -------------------- -------------------- -------------------- -------------------\n\
         WRITELOG                       {tasks:>20} {ms:>20} {:>20} {:>19}\n\
         HADR_SYNC_COMMIT               {:>20} {:>20} {:>20} {:>19}\n\n(2 rows affected)\n",
        91, 40, 5, 10, 3, 1
    )
}

#[test]
fn waits_of_sql_server() {
    let text = waits(4000, 6200) + &waits(9000, 13_700);
    assert!(crate::places::checked(&text) >= 16);
    let out = import(&[&text]);
    assert_eq!(out.imported.sources[0].kind, "sqlserver-waits");
    let listed = table(&out, "sqlserver_waits");
    assert_eq!(listed.rows.len(), 4);
    for (key, want) in [
        ("waits", 4000.0),
        ("wait_ms", 6200.0),
        ("max_ms", 91.0),
        ("signal_ms", 40.0),
        ("mean_ms", 1.55),
    ] {
        assert_eq!(number(listed, 0, key), want, "{key}");
    }
    let changes = table(&out, "sqlserver_waits_change");
    let row = row_of(changes, "wait_type", "WRITELOG");
    assert_eq!(
        (
            number(changes, row, "waits"),
            number(changes, row, "wait_ms")
        ),
        (5000.0, 7500.0)
    );
    // Without a maximum, with tabs; a restart is not subtracted.
    let text = "wait_type\twaiting_tasks_count\twait_time_ms\nWRITELOG\t81\t90\n";
    assert_eq!(
        number(table(&import(&[text]), "sqlserver_waits"), 0, "wait_ms"),
        90.0
    );
    let out = import(&[&(waits(4000, 6200) + &waits(10, 20))]);
    assert!(!has(&out, "sqlserver_waits_change"));
    assert!(out.diagnostics.iter().any(|d| d.id == "counters.goes_back"));
    for text in [
        "wait_type waiting_tasks_count wait_time_ms are the columns\nWRITELOG 1 2\n",
        "wait_type waiting_tasks_count wait_time_ms\nWRITELOG 1\n",
        "WRITELOG 81 90\n",
    ] {
        assert!(
            import_in(&[text.as_bytes()], 64, Some(Kind::SqlServerWaits)).is_err(),
            "{text}"
        );
    }
}

fn scrape(first: u32, second: u32) -> String {
    format!(
        "# HELP etcd_disk_wal_fsync_duration_seconds The latency distributions of fsync called by WAL.\n\
         # TYPE etcd_disk_wal_fsync_duration_seconds histogram\n\
         etcd_disk_wal_fsync_duration_seconds_bucket{{le=\"0.001\"}} {first}\n\
         etcd_disk_wal_fsync_duration_seconds_bucket{{le=\"0.002\"}} {second}\n\
         etcd_disk_wal_fsync_duration_seconds_bucket{{le=\"+Inf\"}} {second}\n\
         etcd_disk_wal_fsync_duration_seconds_sum 8.25\netcd_disk_wal_fsync_duration_seconds_count {second}\n\
         go_gc_duration_seconds_sum 0.5\n"
    )
}

#[test]
fn histograms_of_etcd() {
    let text = scrape(800, 912) + &scrape(900, 1100);
    assert!(crate::places::checked(&text) >= 10);
    let out = import(&[&text]);
    assert_eq!(out.imported.sources[0].kind, "prometheus");
    let buckets = table(&out, "prometheus_buckets");
    assert_eq!(buckets.rows.len(), 6);
    assert_eq!(
        (number(buckets, 0, "le"), number(buckets, 0, "count")),
        (0.001, 800.0)
    );
    assert_eq!(text_of(buckets, 2, "le"), "+Inf");
    assert_eq!(
        text_of(buckets, 0, "metric"),
        "etcd_disk_wal_fsync_duration_seconds"
    );
    let totals = table(&out, "prometheus_totals");
    assert_eq!(
        (number(totals, 0, "value"), number(totals, 1, "value")),
        (8.25, 912.0)
    );
    let changes = table(&out, "prometheus_change");
    let name = "etcd_disk_wal_fsync_duration_seconds_bucket{} le=0.002";
    assert_eq!(
        number(changes, row_of(changes, "metric", name), "value"),
        188.0
    );
    for text in [
        "go_gc_duration_seconds_bucket{le=\"0.001\"} 3\n",
        "etcd_disk_wal_fsync_duration_seconds_bucket is cumulative\n",
        "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.001\"} NaN\n",
    ] {
        assert!(
            import_in(&[text.as_bytes()], 64, Some(Kind::Prometheus)).is_err(),
            "{text}"
        );
    }
}

/// Files are given in the order of their names, in which `after` is before `before`.
#[test]
fn a_file_that_is_named_after_is_the_later_one() {
    let text = |waits: u32, ms: u32| {
        format!("wait_type,waiting_tasks_count,wait_time_ms\nWRITELOG,{waits},{ms}\n")
    };
    let changed = |names: [&str; 2]| {
        let mut import = evidence::Import::new(evidence::Options::default());
        for (name, text) in names.into_iter().zip([text(900, 5000), text(500, 1000)]) {
            let mut reading = import.open(name, "");
            reading.feed(text.as_bytes()).expect("it is evidence");
            import.close(reading).1.expect("it is evidence");
        }
        let out = import.finish();
        let is_said = out
            .diagnostics
            .iter()
            .any(|d| d.id == "counters.named_order");
        assert_eq!(is_said, has(&out, "sqlserver_waits_change"));
        has(&out, "sqlserver_waits_change")
            .then(|| number(table(&out, "sqlserver_waits_change"), 0, "waits"))
    };
    assert_eq!(
        changed(["a/waits_after_10h18.csv", "a/waits_before_10h13.csv"]),
        Some(400.0)
    );
    assert_eq!(changed(["a/waits_1.csv", "a/waits_2.csv"]), None);
    assert_eq!(changed(["a/after.csv", "a/other_before.csv"]), None);
}
