//! Views of PostgreSQL's statistics, as psql printed them (`real`, see its README).

use crate::{cell, import, import_in, number, table};
use evidence::{Kind, Outcome};
use measure::imported::Cell;

const WAL: &str = include_str!("real/psql-wal.txt");
const FORMATS: &str = include_str!("real/psql-formats.txt");
const RELEASE_18: &str = include_str!("real/psql-18.txt");

fn has(out: &Outcome, id: &str) -> bool {
    out.imported.tables.iter().any(|t| t.id == id)
}

fn noted(out: &Outcome, id: &str) -> bool {
    out.diagnostics.iter().any(|d| d.id == id)
}

/// The words of the rows of an aligned listing.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let rows = text
        .lines()
        .filter(|l| l.contains(" | ") && !l.contains("stats_reset"));
    rows.map(|l| l.split('|').map(str::trim).collect())
        .collect()
}

#[test]
fn two_listings_of_pg_stat_wal_are_subtracted() {
    let out = import(&[WAL]);
    assert_eq!(out.imported.sources[0].kind, "pg-stats");
    let keys = [
        "wal_records",
        "wal_fpi",
        "wal_bytes",
        "wal_buffers_full",
        "wal_write",
        "wal_sync",
        "wal_write_time_ms",
        "wal_sync_time_ms",
    ];
    let words = rows(WAL);
    let value = |row: usize, at: usize| words[row][at].parse::<f64>().expect("a number");
    let tables: Vec<_> = out
        .imported
        .tables
        .iter()
        .filter(|t| t.id == "pg_stat_wal")
        .collect();
    assert_eq!(tables.len(), 2);
    let changes = table(&out, "pg_stat_wal_change");
    assert_eq!(changes.rows.len(), 1);
    for (at, key) in keys.iter().enumerate() {
        assert_eq!(number(tables[0], 0, key), value(0, at), "{key}");
        assert_eq!(number(tables[1], 0, key), value(1, at), "{key}");
        let change = value(1, at) - value(0, at);
        assert!((number(changes, 0, key) - change).abs() < 1e-6, "{key}");
    }
    let reset = Cell::Text(words[0][8].to_owned());
    assert_eq!(*cell(tables[0], 0, "stats_reset"), reset);
    // The statistics name their beginning, so that nothing is assumed.
    assert!(!noted(&out, "counters.no_instance") && !noted(&out, "psql.no_footer"));
}

#[test]
fn every_format_of_psql_gives_the_same() {
    let out = import(&[FORMATS]);
    let tables: Vec<_> = out
        .imported
        .tables
        .iter()
        .filter(|t| t.id == "pg_stat_wal")
        .collect();
    // Expanded, with a border, unaligned, separated by commas.
    assert_eq!(tables.len(), 4);
    for other in &tables[1..] {
        assert_eq!(other.rows, tables[0].rows);
        assert_eq!(other.columns, tables[0].columns);
    }
    let writer = table(&out, "pg_stat_bgwriter");
    let words = rows(FORMATS);
    let last = words.last().expect("a row");
    for (at, key) in [
        "checkpoints_timed",
        "checkpoints_req",
        "checkpoint_write_time_ms",
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(
            number(writer, 0, key),
            last[at].parse::<f64>().expect("a number"),
            "{key}"
        );
    }
}

/// `pg_stat_io` of release 18 has lines for each backend and context, with blanks.
#[test]
fn pg_stat_io_is_read_and_subtracted_by_line() {
    let out = import(&[RELEASE_18]);
    let io = table(&out, "pg_stat_io");
    assert_eq!(io.rows.len(), 4);
    assert_eq!(*cell(io, 0, "reads"), Cell::Blank);
    let words = rows(RELEASE_18);
    let fsyncs = |row: usize| words[row][17].parse::<f64>().expect("a number");
    assert_eq!(number(io, 1, "fsyncs"), fsyncs(1));
    let changes = table(&out, "pg_stat_io_change");
    let of = Cell::Text("client backend, wal, normal".to_owned());
    let row = changes
        .rows
        .iter()
        .position(|r| r[2] == of)
        .expect("the commits");
    assert_eq!(number(changes, row, "fsyncs"), fsyncs(5) - fsyncs(1));
    assert_eq!(fsyncs(5) - fsyncs(1), 400.0, "pgbench committed 400 times");
    assert_eq!(
        number(table(&out, "pg_stat_wal"), 0, "wal_bytes"),
        21_004_793.0
    );
    assert_eq!(
        number(table(&out, "pg_stat_checkpointer"), 0, "num_timed"),
        0.0
    );
}

const HEAD: &str =
    " wal_records | wal_sync | wal_sync_time\n-------------+----------+---------------\n";

/// Statistics that were reset, and listings of two servers, are not subtracted.
#[test]
fn counters_that_go_back_are_not_subtracted() {
    let listing =
        |records: u32, syncs: u32| format!("{HEAD} {records} | {syncs} | 7.25\n(1 row)\n\n");
    let out = import(&[&(listing(500, 40) + &listing(600, 39))]);
    assert!(!has(&out, "pg_stat_wal_change"));
    let back = out
        .diagnostics
        .iter()
        .find(|d| d.id == "counters.goes_back");
    let back = &back.expect("a restart").detail;
    assert!(back.contains("wal_sync goes back from 40 to 39"), "{back}");
    // Across files, and without a name of the instance.
    let out = import(&[&listing(500, 40), &listing(600, 41)]);
    let changes = table(&out, "pg_stat_wal_change");
    assert_eq!(number(changes, 0, "wal_records"), 100.0);
    // A sync without time: it was not measured.
    assert_eq!(*cell(changes, 0, "wal_sync_time_ms"), Cell::Blank);
    assert_eq!(*cell(changes, 0, "mean_ms"), Cell::Blank);
    assert!(noted(&out, "counters.no_instance") && noted(&out, "counters.wal_not_timed"));
    // Two clusters by the time of their statistics.
    let since = |day: u32, records: u32| {
        format!(
            "wal_records|wal_sync|stats_reset\n{records}|3|2026-11-{day} 03:51:39.5+00\n(1 row)\n"
        )
    };
    let out = import(&[&since(22, 5), &since(23, 9)]);
    assert!(!has(&out, "pg_stat_wal_change") && !noted(&out, "counters.goes_back"));
    let out = import(&[&since(22, 5), &since(23, 9), &since(22, 6)]);
    assert_eq!(
        number(table(&out, "pg_stat_wal_change"), 0, "wal_records"),
        1.0
    );
}

/// Times of 0 beside syncs were not measured; where they were, the mean of a sync is given.
#[test]
fn wal_times_that_were_not_measured_are_blank() {
    let listing = |records: u32, syncs: u32, ms: &str| {
        format!("{HEAD} {records} | {syncs} | {ms}\n(1 row)\n\n")
    };
    let out = import(&[&(listing(500, 40, "0") + &listing(600, 44, "0"))]);
    let wal = table(&out, "pg_stat_wal");
    assert_eq!(*cell(wal, 0, "wal_sync_time_ms"), Cell::Blank);
    assert_eq!(*cell(wal, 0, "wal_sync_mean_ms"), Cell::Blank);
    assert!(noted(&out, "psql.wal_not_timed"));
    let changes = table(&out, "pg_stat_wal_change");
    assert_eq!(number(changes, 0, "wal_sync"), 4.0);
    assert!(!changes.columns.iter().any(|c| c.key == "wal_sync_time_ms"));

    let out = import(&[&(listing(500, 40, "10") + &listing(600, 44, "16"))]);
    assert_eq!(
        number(table(&out, "pg_stat_wal"), 0, "wal_sync_mean_ms"),
        0.25
    );
    let changes = table(&out, "pg_stat_wal_change");
    assert_eq!(number(changes, 0, "wal_sync_time_ms"), 6.0);
    assert_eq!(number(changes, 0, "mean_ms"), 1.5);
    assert!(!noted(&out, "psql.wal_not_timed") && !noted(&out, "counters.wal_not_timed"));
    // Nothing happened: 0 is measured.
    let out = import(&[&listing(500, 0, "0")]);
    assert_eq!(
        number(table(&out, "pg_stat_wal"), 0, "wal_sync_time_ms"),
        0.0
    );
}

#[test]
fn what_only_looks_like_a_view_gives_nothing() {
    for text in [
        "| wal_write | waits for a write |\n| wal_sync | waits for a sync |\n",
        "set wal_sync_method | wal_level to what you need\n",
        " wal_records | wal_sync\n-------------+----------\n(0 rows)\n",
        " name | setting\n------+--------\n wal_sync_method | fdatasync\n(1 row)\n",
        "a | b\n---+---\n1 | 2\n",
    ] {
        let read = import_in(&[text.as_bytes()], usize::MAX, Some(Kind::PgStats));
        assert!(
            read.is_err(),
            "{text}\n{:?}",
            read.map(|o| o.imported.tables)
        );
    }
    let out = import(&[&format!(
        "{HEAD} 500 | 40 | 7.25\nand so on | with | prose | of more\n 9 | 9 | 9\n"
    )]);
    assert_eq!(table(&out, "pg_stat_wal").rows.len(), 1);
    assert!(noted(&out, "psql.no_footer"));
}

#[test]
fn a_cut_view_has_no_other_figures() {
    let whole = import(&[RELEASE_18]);
    for end in crate::cut::cuts(RELEASE_18.len()) {
        let read = import_in(&[&RELEASE_18.as_bytes()[..end]], 64, Some(Kind::PgStats));
        let Ok(part) = read else { continue };
        for id in ["pg_stat_io", "pg_stat_io_change"] {
            let rows = |o: &Outcome| {
                let tables = o.imported.tables.iter().filter(|t| t.id == id);
                tables.map(|t| t.rows.len()).sum::<usize>()
            };
            assert!(rows(&part) <= rows(&whole), "{id} cut at {end}");
        }
    }
}

#[test]
fn a_server_log_is_read_behind_what_grep_puts_there() {
    let line = |file: &str, n: u32, time: &str, apart: u32| {
        format!(
            "{file}:{n}:2026-11-{time} UTC [901] LOG:  checkpoints are occurring too frequently \
             ({apart} seconds apart)\n{file}:{}:2026-11-{time} UTC [901] HINT:  Consider it.\n\
             {file}:{}:2026-11-{time} UTC [901] LOG:  checkpoint starting: wal\n",
            n + 1,
            n + 2
        )
    };
    let first = line("pg-20.log", 123, "20 23:59:50.204", 9);
    let both = first.clone() + &line("pg-21.log", 1, "21 00:00:02.204", 12);
    for (text, apart) in [(first, vec![9.0]), (both, vec![9.0, 12.0])] {
        let out = import(&[&format!("$ grep -n checkpoint pg-20.log\n{text}")]);
        let often = table(&out, "pg_frequent_checkpoints");
        let rows = (0..often.rows.len()).map(|row| number(often, row, "apart_s"));
        assert_eq!(rows.collect::<Vec<_>>(), apart, "{text}");
    }
}
