//! `import --csv` prints single waits, and the run that it stores has all else of the file.

use crate::harness::Place;

#[test]
fn single_waits_are_printed_and_nothing_else_is_left_out() {
    let place = Place::new();
    let page = "WAIT #1: nam='log file parallel write' ela= 500 files=1 blocks=2 requests=1\n\
        WAIT #1: nam='log file parallel write' ela= 700 files=1 blocks=2 requests=1\n\n\
        Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n\
        sdb 0.00 1.00 0.00 90.00 0.00 528.00 11.73 0.98 10.89 10.89 98.00\n\n\
        SQL> select wait_time_milli, wait_count from v$event_histogram \
        where event = 'log file sync';\n\
        WAIT_TIME_MILLI WAIT_COUNT\n--------------- ----------\n\
        \x20             1        100\n              2         50\n";
    std::fs::write(place.path().join("page.txt"), page).expect("a fresh file");
    let done = place.run(&["import", "page.txt", "--csv"]);
    done.expect(0, &[]);
    assert_eq!(done.out, "1,500\n2,700\n");
    let stored = place.run(&["runs", "list", "--format", "json"]);
    let stored = stored.expect(0, &[]).json();
    let runs = stored.as_array().or_else(|| stored["runs"].as_array());
    let id = runs.expect("a list")[0]["run_id"]
        .as_str()
        .expect("a name")
        .to_owned();
    let run = place.run(&["runs", "show", &id, "--format", "json"]);
    let run = run.expect(0, &[]).json();
    let tables = run["imported"]["tables"].as_array().expect("tables");
    for id in ["wait_events", "iostat", "event_histogram_summary"] {
        assert!(tables.iter().any(|t| t["id"] == id), "no {id}");
    }
}
