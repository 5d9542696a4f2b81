//! Commands that are stopped: by a signal, by a kill, by a volume that fills up.

use crate::harness::{Place, QUICK, Running, entries, tmpfs};
use rustix::process::Signal;
use std::path::Path;

/// Time of a row that is interrupted: the rows after it last longer than the signal may take on a
/// machine that has other things to do.
const LONG: &str = "3s";

/// Starts a `check` that says when its phases begin.
fn start(place: &Place, target: &Path, time: &str) -> Running {
    let target = target.display().to_string();
    let quick = QUICK.map(|a| if a == "200ms" { time } else { a });
    let arguments = [&["check", target.as_str(), "-v", "--no-report"], &quick[..]].concat();
    let child = place.command(&arguments).spawn().expect("starts");
    Running::of(child, arguments.join(" "))
}

#[test]
fn a_signal_at_any_moment_ends_it_in_order() {
    for (signal, moment, rows) in [
        (Signal::INT, "Will make log files", false),
        (Signal::TERM, "the device's floor ...", false),
        (Signal::INT, "log files ...", false),
        (Signal::TERM, "LGWR-LAT1 1 job (1/8) ...", false),
        (Signal::INT, "LGWR-LAT1 2 jobs (2/8) ...", true),
    ] {
        let place = Place::new();
        let mut running = start(&place, &place.target, LONG);
        running.until_said(moment);
        running.signal(signal);
        let done = running.wait();
        done.expect(130, &["interrupted; "]);
        let says = ["nothing is kept", "redolab runs show "];
        let says = says.iter().any(|words| done.err.contains(words));
        assert!(says, "{moment}: {}", done.err);
        assert_eq!(done.out, "", "{moment}: no result");
        place.expect_clean(&place.target);
        let listed = place.run(&["runs", "list", "--format", "json"]).json();
        for run in listed["runs"].as_array().expect("runs") {
            assert_eq!(run["state"], "incomplete", "{moment}: {run}");
        }
        if rows {
            // One row, or more where the signal came late.
            done.expect(130, &["kept ", " as run", "(incomplete)"]);
            let shown = place.run(&["runs", "show", "last"]);
            shown.expect(
                4,
                &["INVALID", "invalid: incomplete: interrupted", "LGWR-LAT1"],
            );
            place
                .run(&["report", "last", "-o", "r.html"])
                .expect(4, &["r.html"]);
        }
    }
}

#[test]
fn after_a_kill_the_next_start_cleans_up() {
    let place = Place::new();
    let mut running = start(&place, &place.target, LONG);
    running.until_said("LGWR-LAT1 2 jobs (2/8) ...");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None, "killed");
    let left = entries(&place.target);
    assert_eq!(left.len(), 1, "nobody could clean up: {left:?}");
    place
        .run(&["runs"])
        .expect(0, &["incomplete", "it ended before its manifest"]);
    let shown = place.run(&["runs", "show", "last"]);
    shown.expect(4, &["INVALID", "LGWR-LAT1"]);

    let target = place.target.display().to_string();
    let run = [
        "run",
        "--on",
        &target,
        "--jobs",
        "1",
        "--commits",
        "10",
        "--allow-busy",
        "--log-file-size",
        "4M",
    ];
    place
        .run(&run)
        .expect(0, &["Removed 1 folder that a killed run had left"]);
    place.expect_clean(&place.target);
}

#[test]
fn a_volume_that_fills_up_while_running_stops_it() {
    // A quarter of it, 300 MiB, must stay free.
    const VOLUME_MIB: u64 = 1200;
    let place = Place::new();
    let Some(mount) = tmpfs(&place, VOLUME_MIB) else {
        return;
    };
    let target = mount.at.join("target");
    std::fs::create_dir(&target).expect("creates");
    let mut running = start(&place, &target, LONG);
    running.until_said("LGWR-LAT1 2 jobs (2/8) ...");
    let others = std::fs::File::create(mount.at.join("others")).expect("creates");
    let mode = rustix::fs::FallocateFlags::empty();
    let room = rustix::fs::statvfs(&mount.at).expect("a volume");
    let most = room.f_bavail * room.f_frsize - (200 << 20);
    rustix::fs::fallocate(&others, mode, 0, most).expect("there is as much");
    let done = running.wait();
    done.expect(
        4,
        &[
            "stopped: only",
            "must stay free",
            "another process is filling it",
            "(incomplete)",
        ],
    );
    place.expect_clean(&target);
    place
        .run(&["runs", "show", "last"])
        .expect(4, &["INVALID", "stopped: only"]);
}

#[test]
fn an_output_that_is_closed_or_full_is_no_crash() {
    let place = Place::new();
    place.store_a_run();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("a device");
    let mut command = place.command(&["runs", "show", "last"]);
    let child = command.stdout(full).output().expect("starts");
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.code(), Some(1), "{said}");
    assert!(
        said.contains("standard output: writing the result"),
        "{said}"
    );
    place
        .run(&["runs", "show", "last", "-o", "nowhere/run.txt"])
        .expect(1, &["nowhere/run.txt"]);
}

#[test]
fn a_run_that_is_killed_keeps_the_events_of_its_whole_parts_and_nothing_else() {
    use redolab::store::Store;
    use redolab::store::events::{EventColumn, EventKind, Query};
    let place = Place::new();
    let arguments = [
        "run",
        "--null",
        "-v",
        "--jobs",
        "1,2,1,1",
        "--time",
        "1s",
        "--warmup",
        "0",
        "--events",
        "--cpu-per-txn",
        "50us",
    ];
    let child = place.command(&arguments).spawn().expect("starts");
    let mut running = Running::of(child, arguments.join(" "));
    // The first row is over, so its parts are in place.
    running.until_said("LGWR-LAT1 2 jobs (2/4) ...");
    running.signal(rustix::process::Signal::KILL);
    running.wait();
    let store = Store::open(&place.store).expect("opens");
    let entry = store.list().expect("lists").remove(0);
    assert_eq!(entry.state, redolab::store::State::Incomplete);
    let names = entries(&place.store.join(&entry.id).join("events"));
    assert!(names.len() >= 2, "{names:?}");
    assert!(
        names.iter().all(|name| name.ends_with(".parquet")),
        "{names:?}"
    );
    let query = Query {
        event: Some(EventKind::LogFileSync),
        row: Some(1),
        columns: vec![EventColumn::LatencyNs],
    };
    let mut events = store.events(&entry.id, query).expect("reads");
    let read: usize = events.by_ref().map(|c| c.expect("whole").events).sum();
    let draft = store
        .load_draft(&entry.id)
        .expect("reads")
        .expect("a row was finished");
    let row = draft.rows[0].events.as_ref().expect("captured");
    assert_eq!((read as u64, row.lost), (row.log_file_syncs, 0));
    assert_eq!(events.cut(), []);
    place
        .run(&["runs", "delete", &entry.id])
        .expect(0, &["Deleted"]);
}
