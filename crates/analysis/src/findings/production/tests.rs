//! Times of labels, and figures of tables as evidence has them. What files give is in
//! `crates/redolab/tests/cli/production.rs`.

use super::counters::{between, of_counters};
use super::*;
use measure::imported::{Cell, Column, Table};

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

fn evidence(tables: Vec<Table>) -> Run {
    Run {
        origin: Origin::Imported,
        imported: Some(imported(tables)),
        rows: Vec::new(),
        ..crate::findings::fixture::clean_run()
    }
}

/// What is taken of evidence.
fn taken(run: &Run) -> ProductionEvidence {
    of(run, &Thresholds::default(), |_| true).expect("no contradiction")
}

fn value(found: &ProductionEvidence, quantity: NeedQuantity) -> Option<f64> {
    let figure = found.figures.iter().find(|f| f.quantity == quantity);
    figure.map(|f| f.value)
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
    for (shares, ends_ms) in [
        ([99.0, 1.0, 0.0, 0.0], Some([0, 1])),
        ([90.0, 9.5, 0.5, 0.0], Some([1, 2])),
        ([98.9, 0.5, 0.6, 0.0], Some([1, 2])),
        ([90.0, 5.0, 4.5, 0.5], Some([2, 1000])),
        ([90.0, 5.0, 3.0, 2.0], None),
    ] {
        let row = shares.map(Cell::Real);
        let row = [text(SYNC)].into_iter().chain(row).collect();
        let found = taken(&evidence(vec![table("wait_histogram", &keys, vec![row])]));
        let ends = found.waits.first().and_then(|w| w.p99_ns);
        assert_eq!(
            ends.map(|e| e.map(|ns| ns / 1_000_000)),
            ends_ms,
            "{shares:?}"
        );
        let target = value(&found, NeedQuantity::P99).map(|ns| ns / 1e6);
        assert_eq!(target, ends_ms.map(|[_, end]| end as f64), "{shares:?}");
    }
}

/// The parts of a histogram from 12.2 on: each has shares of all waits, and its first and last
/// bucket contain what the others divide.
#[test]
fn the_parts_of_a_histogram_are_one_distribution() {
    let line = |shares: &[f64]| {
        let cells = shares.iter().map(|pct| Cell::Real(*pct));
        [text(SYNC)].into_iter().chain(cells).collect::<Vec<Cell>>()
    };
    let short = [
        "event",
        "pct_under_256us",
        "pct_under_512us",
        "pct_from_512us",
    ];
    let middle = [
        "event",
        "pct_under_512us",
        "pct_under_1ms",
        "pct_under_32ms",
        "pct_from_32ms",
    ];
    let long = [
        "event",
        "pct_under_32ms",
        "pct_under_1_8s",
        "pct_under_2s",
        "pct_from_2s",
    ];
    let parts = |middle_shares: &[f64], long_shares: &[f64]| {
        evidence(vec![
            table("wait_histogram", &short, vec![line(&[0.5, 0.6, 98.9])]),
            table("wait_histogram", &middle, vec![line(middle_shares)]),
            table("wait_histogram", &long, vec![line(long_shares)]),
        ])
    };
    let ends = |run: &Run| taken(run).waits.first().and_then(|w| w.p99_ns);
    let run = parts(&[1.1, 50.0, 48.0, 0.9], &[99.1, 0.9, 0.0, 0.0]);
    assert_eq!(ends(&run), Some([1_000_000, 32_000_000]));
    let run = parts(&[1.1, 50.0, 40.0, 8.9], &[91.1, 8.5, 0.4, 0.0]);
    assert_eq!(ends(&run), Some([32_000_000, 125_000_000]));
    // One wait in eleven takes at least 32 ms: nobody wants that again.
    let found = taken(&run);
    assert!(!found.waits[0].is_target);
    assert_eq!(value(&found, NeedQuantity::P99), None);
}

#[test]
fn a_listing_of_few_buckets_has_the_bounds_of_its_buckets() {
    let keys = ["snapshot", "event", "wait_time_under_ms", "wait_count"];
    let line = |snapshot: &str, under: f64, count: u64| {
        vec![
            text(snapshot),
            text(WRITE),
            Cell::Real(under),
            Cell::Count(count),
        ]
    };
    let run = evidence(vec![table(
        "event_histogram",
        &keys,
        vec![
            line("snap 1", 1.0, 1000),
            line("snap 1 to snap 2", 1.0, 900),
            line("snap 1 to snap 2", 64.0, 900),
            line("snap 2 to snap 3", 1.0, 0),
        ],
    )]);
    let found = taken(&run);
    assert_eq!(found.waits[0].p99_ns, Some([32_000_000, 64_000_000]));
    assert!(
        found.waits[0].place.contains("snap 1 to snap 2"),
        "{found:?}"
    );
    assert!(!found.waits[0].is_target);
}

/// What production suffers from is not wished for.
#[test]
fn a_mean_in_the_bad_band_is_to_be_beaten() {
    let keys = ["event", "waits", "time_s", "time"];
    let line = |event: &str, waits: u64, seconds: f64| {
        let printed = Cell::Text(format!("{seconds:.2}"));
        vec![
            text(event),
            Cell::Count(waits),
            Cell::Real(seconds),
            printed,
        ]
    };
    for (sync_s, write_s, targets) in [
        (2.0, 1.5, [true, true]),
        (17.0, 0.26, [false, true]),
        (30.0, 21.0, [false, false]),
        (10.0, 20.0, [true, true]),
    ] {
        let rows = vec![line(SYNC, 1000, sync_s), line(WRITE, 1000, write_s)];
        let found = taken(&evidence(vec![table("top_events", &keys, rows)]));
        let means: Vec<f64> = found.waits.iter().filter_map(|w| w.mean_ns).collect();
        assert_eq!(means, [sync_s * 1e6, write_s * 1e6]);
        let is_target: Vec<bool> = found.waits.iter().map(|w| w.is_target).collect();
        assert_eq!(is_target, targets, "{sync_s} {write_s}");
    }
}

#[test]
fn of_several_loads_the_largest_is_taken_whole() {
    let mut run = evidence(Vec::new());
    let sweep = [
        (2, 4_000.0, 8.0, 0.5),
        (48, 90_000.0, 170.0, 0.6),
        (96, 80_000.0, 200.0, 1.2),
    ];
    run.rows = sweep
        .into_iter()
        .map(|(jobs, tps, mbps, sync_ms)| {
            let mut row = crate::findings::fixture::row("LGWR-LAT1", jobs, tps, mbps, 1e6);
            row.waits.clear();
            row.log_file_sync_ms = Some(sync_ms);
            row
        })
        .collect();
    let found = taken(&run);
    assert_eq!(value(&found, NeedQuantity::CommitRate), Some(90_000.0));
    assert_eq!(
        value(&found, NeedQuantity::RedoRate),
        Some(170.0 * MB_BYTES)
    );
    assert_eq!(value(&found, NeedQuantity::Sessions), Some(48.0));
    assert_eq!(found.waits[0].mean_ns, Some(600_000.0));
    let load = found.load.expect("which one");
    assert!(
        load.contains("48 jobs") && load.contains("the largest of 3 loads"),
        "{load}"
    );
}

#[test]
fn published_tables_have_the_rates_of_their_largest_load() {
    let events = |waits: u64, seconds: f64| {
        let keys = ["event", "waits", "time_s", "time"];
        let printed = Cell::Text(format!("{seconds:.0}"));
        let row = vec![text(SYNC), Cell::Count(waits), Cell::Real(seconds), printed];
        table("top_events", &keys, vec![row])
    };
    let io = |names: &[(&str, f64)]| {
        let rows = names
            .iter()
            .map(|(name, mbps)| vec![text(name), Cell::Real(*mbps)]);
        table(
            "iostat_by_filetype",
            &["name", "write_mb_per_s"],
            rows.collect(),
        )
    };
    let window = table("stated_window", &["seconds"], vec![vec![Cell::Real(300.0)]]);
    let found = taken(&evidence(vec![
        events(6_700_242, 4_059.0),
        events(5_366_376, 12_709.0),
        io(&[("SSD/RAW", 170.0), ("HDD/RAW", 130.0)]),
        window.clone(),
    ]));
    let rate = value(&found, NeedQuantity::CommitRate).expect("waits in a stated time");
    assert!((rate - 22_334.14).abs() < 0.01, "{rate}");
    assert_eq!(
        value(&found, NeedQuantity::RedoRate),
        Some(170.0 * MB_BYTES)
    );
    // The mean is of the same load as the rate.
    let mean = found.waits[0].mean_ns.expect("printed");
    assert!((mean / 1e6 - 0.6058).abs() < 1e-3, "{mean}");
    // Data files are no log, and two windows are none.
    let other = table("stated_window", &["seconds"], vec![vec![Cell::Real(600.0)]]);
    let tables = vec![
        events(1000, 1.0),
        io(&[("Data File", 500.0)]),
        window,
        other,
    ];
    assert_eq!(taken(&evidence(tables)).figures, []);
}
