//! Listings of event histograms: what was listed, what happened between snapshots, and what cannot
//! be subtracted.

use evidence::{Import, Options, Outcome};
use measure::imported::{Cell, Table};

fn import(files: &[(&str, &str)]) -> Outcome {
    let mut import = Import::new(Options::default());
    for (name, text) in files {
        let mut reading = import.open(name, "");
        for chunk in text.as_bytes().chunks(7) {
            reading.feed(chunk).expect(name);
        }
        import.close(reading).1.expect(name);
    }
    import.finish()
}

fn table<'a>(outcome: &'a Outcome, id: &str) -> &'a Table {
    let found = outcome.imported.tables.iter().find(|t| t.id == id);
    found.unwrap_or_else(|| panic!("no table {id}"))
}

/// Snapshot, waits, and share over 1 ms to three decimals.
fn summary(outcome: &Outcome) -> Vec<(String, u64, String)> {
    let rows = &table(outcome, "event_histogram_summary").rows;
    let each = rows.iter().map(|r| match (&r[0], &r[2], &r[3]) {
        (Cell::Text(name), Cell::Count(n), Cell::Real(pct)) => {
            (name.clone(), *n, format!("{pct:.3}"))
        }
        other => panic!("{other:?}"),
    });
    each.collect()
}

#[test]
fn study_000_is_read_as_it_stands() {
    let text = include_str!("../../../studies/000/event-histograms.txt");
    let outcome = import(&[("f", text)]);
    let want = [
        ("snapshot 1", 2_471_178, "0.437"),
        ("snapshot 2", 51_777_861, "0.495"),
        ("snapshot 1 to snapshot 2", 49_306_683, "0.498"),
    ];
    let want = want.map(|(name, n, pct)| (name.to_owned(), n, pct.to_owned()));
    assert_eq!(summary(&outcome), want);
    let first = &table(&outcome, "event_histogram").rows[1];
    assert_eq!(first[1], Cell::Text("log file parallel write".to_owned()));
    assert_eq!(first[2..4], [Cell::Real(2.0), Cell::Count(6605)]);
    assert_eq!(outcome.rows.len(), 2);
    assert_eq!(outcome.diagnostics, []);
}

const LISTING: &str = "\
   SNAP_ID WAIT_CLASS   EVENT_NAME                WAIT_TIME_MILLI WAIT_COUNT
---------- ------------ ------------------------- --------------- ----------
       528 System I/O   log file parallel write                 1        100
       528 System I/O   log file parallel write                 2          7
       528 Commit       log file sync                           1         90

   SNAP_ID WAIT_CLASS   EVENT_NAME                WAIT_TIME_MILLI WAIT_COUNT
---------- ------------ ------------------------- --------------- ----------
       529 System I/O   log file parallel write                 1         COUNT
       529 Commit       log file sync                           1         95

5 rows selected.
";

#[test]
fn snapshots_that_grow_are_subtracted_and_others_are_not() {
    let grown = import(&[(
        "f",
        &LISTING
            .replace("COUNT\n", "110\n")
            .replace("WAIT_110", "WAIT_COUNT"),
    )]);
    let names: Vec<String> = summary(&grown)
        .into_iter()
        .map(|(name, n, _)| format!("{name}: {n}"))
        .collect();
    // The bucket of 2 ms is missing in the second snapshot: it went back from 7 to 0.
    assert_eq!(
        names,
        [
            "snap 528: 107",
            "snap 528: 90",
            "snap 529: 110",
            "snap 529: 95"
        ]
    );
    assert_eq!(grown.diagnostics[0].id, "histogram.goes_back");

    let before =
        "EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n\"log file sync\",64,10\n\"log file sync\",128,5\n";
    let after = before.replace(",10", ",30").replace(",5\n", ",6\n");
    let outcome = import(&[("before", before), ("after", &after)]);
    let buckets = &table(&outcome, "event_histogram").rows;
    let last = &buckets[buckets.len() - 2..];
    assert_eq!(
        last[0][0],
        Cell::Text("snapshot 1 to snapshot 2".to_owned())
    );
    assert_eq!(last[0][2..4], [Cell::Real(0.064), Cell::Count(20)]);
    assert_eq!(last[1][2..4], [Cell::Real(0.128), Cell::Count(1)]);
}

#[test]
fn listings_of_another_start_are_not_subtracted() {
    let listing = |started: &str, count: u64| {
        format!(
            "\nINST_ID,STARTUP_TIME,EVENT,WAIT_TIME_MILLI,WAIT_COUNT\n1,{started},log file sync,1,{count}\n"
        )
    };
    let (may, june) = ("2026-05-01 10:00:00", "2026-06-01 10:00:00");
    let names = |second: &str| {
        let outcome = import(&[("a", &listing(may, 10)), ("b", &listing(second, 30))]);
        let names = summary(&outcome).into_iter().map(|(name, ..)| name);
        names.collect::<Vec<String>>()
    };
    // Every count has grown since the restart: only the time of it shows that there was one.
    assert_eq!(names(june).len(), 2, "{:?}", names(june));
    let same = names(may);
    assert!(
        same.len() == 3 && same[2].contains("started 2026-05-01 10:00:00"),
        "{same:?}"
    );
}

#[test]
fn a_line_that_does_not_fit_is_said() {
    let outcome = import(&[("f", LISTING)]);
    // Three listed events, and the difference of the one that both snapshots list.
    assert_eq!(summary(&outcome).len(), 4);
    assert_eq!(outcome.diagnostics[0].line, Some(9));
    let text =
        format!("{LISTING}       530 Commit       log file sync               1x         95\n");
    let outcome = import(&[("f", &text)]);
    let told: Vec<(&str, Option<u64>)> = outcome
        .diagnostics
        .iter()
        .map(|d| (d.id.as_str(), d.line))
        .collect();
    let bad = "histogram.bad_line";
    assert_eq!(told, [(bad, Some(9)), (bad, Some(13))]);
}

#[test]
fn listings_without_an_end_are_bounded() {
    let heading = "\nEVENT WAIT_TIME_MILLI WAIT_COUNT\n";
    let mut text = heading.to_owned();
    for n in 0..31_000 {
        text.push_str(&format!("sync 1 {n}\nsync 2 {n}\n"));
    }
    let long = format!("{heading}{} 1 5\n", "x".repeat(100_000));
    let outcome = import(&[("many", &text), ("long", &long)]);
    let rows = &table(&outcome, "event_histogram").rows;
    assert!(rows.len() <= 2 * 60_000 + 1, "{} lines", rows.len());
    let named = |r: &Vec<Cell>| matches!(&r[1], Cell::Text(t) if t.len() > 200);
    assert!(!rows.iter().any(named), "a name is too long");
    let told = outcome.diagnostics.iter();
    let told: Vec<(&str, u64)> = told.map(|d| (d.id.as_str(), d.count)).collect();
    assert!(told.contains(&("histogram.many_buckets", 1)), "{told:?}");
}
