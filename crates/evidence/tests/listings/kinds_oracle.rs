//! `v$system_event` and `v$sysstat` and their forms of snapshots. There is no Oracle here: the
//! layouts are those of SQL*Plus and of Oracle's Database Reference, the figures are ours.

use crate::{cell, import, import_in, number, table};
use evidence::{Kind, Outcome};
use measure::imported::Cell;

/// A listing of `v$system_event`, as SQL*Plus aligns it.
fn events(sync: (u64, u64), write: (u64, u64)) -> String {
    let mut text = "SQL> select event, total_waits, total_timeouts, time_waited_micro from v$system_event;\n\n\
        EVENT                          TOTAL_WAITS TOTAL_TIMEOUTS TIME_WAITED_MICRO\n\
        ------------------------------ ----------- -------------- -----------------\n"
        .to_owned();
    for (event, (waits, us)) in [("log file sync", sync), ("log file parallel write", write)] {
        text += &format!("{event:<30} {waits:>11} {:>14} {us:>17}\n", 3);
    }
    text + "\n2 rows selected.\n\n"
}

fn has(out: &Outcome, id: &str) -> bool {
    out.imported.tables.iter().any(|t| t.id == id)
}

fn noted(out: &Outcome, id: &str) -> bool {
    out.diagnostics.iter().any(|d| d.id == id)
}

#[test]
fn two_listings_of_an_instance_are_subtracted() {
    let text =
        events((1000, 2_000_000), (900, 450_000)) + &events((1400, 3_000_000), (1300, 610_000));
    assert!(crate::places::checked(&text) >= 12);
    let out = import(&[&text]);
    assert_eq!(out.imported.sources[0].kind, "oracle-counters");
    let listed = table(&out, "system_event");
    assert_eq!(listed.rows.len(), 4);
    let first = |key: &str| number(listed, 0, key);
    assert_eq!(
        (first("waits"), first("timeouts"), first("time_us")),
        (1000.0, 3.0, 2e6)
    );
    assert_eq!(
        *cell(listed, 0, "event"),
        Cell::Text("log file sync".to_owned())
    );
    let changes = table(&out, "system_event_change");
    assert_eq!(changes.rows.len(), 2);
    for (event, waits, us) in [
        ("log file sync", 400.0, 1e6),
        ("log file parallel write", 400.0, 160_000.0),
    ] {
        let name = Cell::Text(event.to_owned());
        let row = changes.rows.iter().position(|r| r[2] == name).expect(event);
        assert_eq!(number(changes, row, "waits"), waits);
        assert_eq!(number(changes, row, "time_us"), us);
        assert_eq!(number(changes, row, "mean_us"), us / waits);
    }
    assert!(noted(&out, "counters.no_instance"));
    // In two files as well.
    let out = import(&[&events((1, 5), (2, 6)), &events((3, 8), (4, 9))]);
    assert_eq!(number(table(&out, "system_event_change"), 0, "waits"), 2.0);
}

#[test]
fn a_restart_is_reported_and_not_subtracted() {
    let text = events((1000, 2_000_000), (900, 450_000)) + &events((1400, 3_000_000), (12, 610));
    let out = import(&[&text]);
    assert!(!has(&out, "system_event_change"));
    let back = out
        .diagnostics
        .iter()
        .find(|d| d.id == "counters.goes_back")
        .expect("said");
    assert!(
        back.detail.contains("log file parallel write: "),
        "{}",
        back.detail
    );
}

/// Rows of snapshots and instances: each instance is subtracted for itself, in hundredths of a
/// second where nothing finer is listed.
#[test]
fn snapshots_of_two_instances_are_kept_apart() {
    let mut text =
        "   SNAP_ID INSTANCE_NUMBER EVENT_NAME                     TOTAL_WAITS TIME_WAITED\n\
        ---------- --------------- ------------------------------ ----------- -----------\n"
            .to_owned();
    for (snap, instance, waits, cs) in [
        (71, 1, 500, 40),
        (71, 2, 90, 7),
        (72, 1, 800, 55),
        (72, 2, 95, 9),
    ] {
        text += &format!(
            "{snap:>10} {instance:>15} {:<30} {waits:>11} {cs:>11}\n",
            "log file sync"
        );
    }
    let out = import(&[&text]);
    let listed = table(&out, "system_event");
    assert_eq!(number(listed, 0, "time_us"), 400_000.0);
    assert_eq!(number(listed, 1, "instance"), 2.0);
    let changes: Vec<_> = out
        .imported
        .tables
        .iter()
        .filter(|t| t.id == "system_event_change")
        .collect();
    assert_eq!(changes.len(), 2);
    let figures = |at: usize| {
        (
            number(changes[at], 0, "waits"),
            number(changes[at], 0, "time_us"),
        )
    };
    assert_eq!(figures(0), (300.0, 150_000.0));
    assert_eq!(figures(1), (5.0, 20_000.0));
    assert!(
        changes[1].title.contains("instance 2"),
        "{}",
        changes[1].title
    );
    assert_eq!(
        *cell(changes[0], 0, "from"),
        Cell::Text("snap 71".to_owned())
    );
    assert!(!noted(&out, "counters.no_instance"));
}

const HEAD: &str = "NAME                                      VALUE\n\
    ----------------------------------- ----------\n";

#[test]
fn statistics_about_redo_are_read() {
    let text = format!(
        "{HEAD}redo size                            987654321\nredo writes                              4321\n\
         user commits                             4000\nsorts (memory)                             77\n\n"
    );
    let out = import_in(&[text.as_bytes()], 5, Some(Kind::OracleCounters)).expect("evidence");
    let listed = table(&out, "sysstat");
    assert_eq!(listed.rows.len(), 3);
    assert_eq!(number(listed, 0, "value"), 987_654_321.0);
    assert_eq!(
        *cell(listed, 2, "statistic"),
        Cell::Text("user commits".to_owned())
    );
    assert!(noted(&out, "sysstat.other_names"));
    // With the query, every name is a statistic.
    let text = format!("SQL> select name, value from v$sysstat;\n\n{text}");
    let out = import(&[&text]);
    assert_eq!(table(&out, "sysstat").rows.len(), 4);
    assert!(!noted(&out, "sysstat.other_names"));
}

/// Separated values, with quotes and without.
#[test]
fn separated_values() {
    let text = "\"EVENT\",\"TOTAL_WAITS\",\"TIME_WAITED_MICRO\",\"WAIT_CLASS\"\n\
        \"log file sync\",812,90211,\"Commit\"\n\"control file sequential read\",5,17,\"System I/O\"\n";
    for text in [text.to_owned(), text.replace('"', "")] {
        let out = import(&[&text]);
        let listed = table(&out, "system_event");
        assert_eq!(listed.rows.len(), 2);
        assert_eq!(number(listed, 0, "time_us"), 90_211.0);
        assert_eq!(*cell(listed, 0, "timeouts"), Cell::Blank);
    }
}

/// Parameters, other views and prose have headings like these.
#[test]
fn other_views_give_no_counters() {
    for text in [
        "NAME                                      VALUE\n----------------------------------- ----------\n\
         log_buffer                               7077888\nprocesses                                320\n",
        "NAME VALUE\n\nredo size is the statistic to look at\n",
        "EVENT                          TOTAL_WAITS TIME_WAITED\nlog file sync 5 6\n",
        "EVENT TOTAL_WAITS\n----- -----------\nlog       5\n",
        "POOL   NAME                       BYTES\n------ --------------- ---------------\nshared log buffer             12345\n",
    ] {
        let read = import_in(&[text.as_bytes()], usize::MAX, Some(Kind::OracleCounters));
        assert!(
            read.is_err(),
            "{text}\n{:?}",
            read.map(|o| o.imported.tables)
        );
    }
    // A line that does not fit the columns ends the listing.
    let text =
        events((10, 20), (30, 40)) + "and this text is between the two columns of nothing at all\n";
    assert_eq!(table(&import(&[&text]), "system_event").rows.len(), 2);
}

/// Tabs of SQL*Plus stand for blanks to the next multiple of eight.
#[test]
fn tabs_of_sqlplus() {
    let text = "EVENT            TOTAL_WAITS TIME_WAITED_MICRO\n---------------- ----------- -----------------\n\
        log file sync\t\t   4\t\t  80\n";
    let out = import(&[text]);
    let listed = table(&out, "system_event");
    assert_eq!(
        (number(listed, 0, "waits"), number(listed, 0, "time_us")),
        (4.0, 80.0)
    );
}

/// A cut listing has fewer lines, and no others but the last one.
#[test]
fn a_cut_listing_says_no_more() {
    let text =
        events((1000, 2_000_000), (900, 450_000)) + &events((1400, 3_000_000), (1300, 610_000));
    let whole = import(&[&text]);
    for end in crate::cut::cuts(text.len()) {
        let read = import_in(&[&text.as_bytes()[..end]], 64, Some(Kind::OracleCounters));
        let Ok(part) = read else { continue };
        let listed = table(&part, "system_event");
        let before = listed.rows.len() - 1;
        assert_eq!(
            listed.rows[..before],
            table(&whole, "system_event").rows[..before],
            "{end}"
        );
    }
}
