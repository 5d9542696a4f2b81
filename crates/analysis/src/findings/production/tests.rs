//! Times of labels, and figures of tables as evidence has them. What files give is in
//! `crates/redolab/tests/cli/production.rs`.

use super::*;
use measure::imported::{Cell, Column};

#[test]
fn readings_are_apart_as_long_as_their_labels_say() {
    for (from, to, seconds) in [
        ("2026-11-23T10:00:00", "2026-11-23T10:05:00", Some(300.0)),
        (
            "2026-11-23 23:59:30.5+00",
            "2026-11-24 00:00:00+00",
            Some(29.5),
        ),
        (
            "2027-02-28 12:00:00+01",
            "2027-03-01 12:00:00+01",
            Some(86_400.0),
        ),
        (
            "2028-02-28 12:00:00",
            "2028-03-01 12:00:00",
            Some(172_800.0),
        ),
        ("2026-12-31 23:00:00", "2027-01-01 00:00:00", Some(3600.0)),
        (
            "Mon 23 Nov 2026 11:59:50 AM UTC",
            "Mon 23 Nov 2026 12:00:10 PM UTC",
            Some(20.0),
        ),
        (
            "Mon Nov 23 23:59:50 2026",
            "Tue Nov 24 00:00:10 2026",
            Some(20.0),
        ),
        ("snap 71", "snap 72", None),
        ("a.txt line 1", "a.txt line 6", None),
        ("25:00:00", "26:00:00", None),
        ("1:2", "1:3", None),
        ("é:ü:ö", "2026-11-23T10:00:00", None),
    ] {
        assert_eq!(between(from, to), seconds, "{from} {to}");
    }
}

fn table(id: &str, columns: &[&str], rows: Vec<Vec<Cell>>) -> Table {
    let column = |key: &&str| Column {
        key: (*key).to_owned(),
        ..Column::default()
    };
    Table {
        id: id.to_owned(),
        file: "a.txt".to_owned(),
        columns: columns.iter().map(column).collect(),
        rows,
        ..Table::default()
    }
}

fn imported(tables: Vec<Table>) -> Imported {
    Imported {
        tables,
        ..Imported::default()
    }
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[test]
fn the_busiest_stretch_counts_and_one_without_a_time_does_not() {
    let stretch = |from: &str, to: &str, bytes: u64| vec![text(from), text(to), Cell::Count(bytes)];
    let columns = ["from", "to", "wal_bytes"];
    let wal = |rows| imported(vec![table("pg_stat_wal_change", &columns, rows)]);
    let found = of_counters(&wal(vec![
        stretch("10:00:00", "10:00:10", 1000),
        stretch("10:00:10", "10:00:20", 5000),
        stretch("10:00:20", "10:00:30", 3000),
    ]));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].quantity, found[0].value),
        (NeedQuantity::RedoRate, 500.0)
    );
    assert!(
        found[0].place.contains("the busiest of 3 stretches"),
        "{}",
        found[0].place
    );
    assert_eq!(
        of_counters(&wal(vec![stretch("line 1", "line 6", 5000)])),
        []
    );
}

#[test]
fn the_99th_percentile_lies_in_a_bucket_or_is_unknown() {
    let keys = [
        "event",
        "pct_under_1ms",
        "pct_under_2ms",
        "pct_to_1s",
        "pct_over_1s",
    ];
    for (shares, end_ms) in [
        ([99.0, 1.0, 0.0, 0.0], Some(1.0)),
        ([90.0, 9.5, 0.5, 0.0], Some(2.0)),
        ([90.0, 5.0, 4.5, 0.5], Some(1000.0)),
        ([90.0, 5.0, 3.0, 2.0], None),
    ] {
        let row = shares.map(Cell::Real);
        let row = [text(SYNC)].into_iter().chain(row).collect();
        let found = of_reports(&imported(vec![table("wait_histogram", &keys, vec![row])]));
        let value = found.first().map(|figure| figure.value / 1e6);
        assert_eq!(value, end_ms, "{shares:?}");
    }
}
