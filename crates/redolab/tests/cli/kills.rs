//! Kills (SIGKILL) inside the work of every command that makes something: each is shown to have hit
//! inside it, and after the next start nothing is left.
//!
//! A command is stopped (SIGSTOP) once it has written a drawn number of bytes into what it made,
//! and it is looked at before it is killed: it lives, and holds its work folder open. Nothing
//! depends on how fast the machine is. `REDOLAB_KILLS` sets how many kills each command gets (2;
//! the proof has 20), `REDOLAB_KILL_SEED` repeats the draws.

use crate::harness::{Place, directories, entries, listed};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Nothing takes as long, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(300);
/// A command may have less to write than was drawn: the next try waits for less.
const TRIES: u32 = 6;
/// Drawn at most, where a log is written; and of what writes little.
const BYTES_MAX: u64 = 48 << 20;
const FEW_BYTES_MAX: u64 = 64 << 10;

fn number(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Bytes that a process has written by calls, whatever became of them; `None` once it is gone.
fn written(pid: u32) -> Option<u64> {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "))?;
    line.trim().parse().ok()
}

/// Files that a process has open below one of `folders`.
fn holds(pid: u32, folders: &[PathBuf]) -> Vec<PathBuf> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let links = open
        .flatten()
        .filter_map(|fd| std::fs::read_link(fd.path()).ok());
    let below = |path: &PathBuf| folders.iter().any(|at| path.starts_with(at) && path != at);
    links.filter(below).collect()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("our own child");
}

fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Kills a command inside its work, which is in `folders`: where it had written `after` bytes since
/// it had something open there. What it held then; nothing where it ended before.
fn kill_inside(place: &Place, arguments: &[&str], folders: &[PathBuf], after: u64) -> Vec<PathBuf> {
    let mut command = place.command(arguments);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let pid = child.id();
    let until = Instant::now() + PATIENCE;
    let mut began = None;
    let held = loop {
        assert!(Instant::now() < until, "{arguments:?} hangs");
        if child.try_wait().expect("our own child").is_some() {
            return Vec::new();
        }
        if began.is_none() && !holds(pid, folders).is_empty() {
            began = written(pid);
        }
        let reached =
            began.is_some_and(|began| written(pid).is_some_and(|now| now >= began + after));
        if reached {
            send(&child, Signal::STOP);
            while !is_stopped(pid) && child.try_wait().expect("our own child").is_none() {
                std::thread::yield_now();
            }
            let held = holds(pid, folders);
            if !held.is_empty() {
                break held;
            }
            // Between two things that it makes: a little later.
            send(&child, Signal::CONT);
        }
        std::thread::sleep(Duration::from_micros(200));
    };
    assert!(is_stopped(pid), "it lives, and is inside its work");
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    held
}

/// Folders without anything of redolab's, an archive that is whole excepted.
fn expect_nothing_left(folders: &[PathBuf], what: &str) {
    for folder in folders {
        for name in entries(folder) {
            let is_archive = name.starts_with("redo-archive-");
            assert!(is_archive, "{what}: {} has {name}", folder.display());
            let partial: Vec<String> = entries(&folder.join(&name));
            let partial = partial.iter().filter(|name| name.ends_with(".partial"));
            assert_eq!(partial.count(), 0, "{what}: {name}");
        }
    }
}

/// Kills a command so often, and starts `next` after each kill.
fn kill_often(place: &Place, arguments: &[&str], folders: &[PathBuf], next: &[&[&str]]) {
    kill_within(place, arguments, folders, next, BYTES_MAX);
}

/// As [`kill_often`], with draws below `most` bytes.
fn kill_within(
    place: &Place,
    arguments: &[&str],
    folders: &[PathBuf],
    next: &[&[&str]],
    most: u64,
) {
    let seed = number("REDOLAB_KILL_SEED", u64::from(std::process::id()));
    let kills = number("REDOLAB_KILLS", 2);
    println!("REDOLAB_KILL_SEED={seed} {}", arguments.join(" "));
    let mut state = seed;
    for kill in 0..kills {
        let mut after = measure::workload::split_mix(&mut state) % most;
        let mut held = Vec::new();
        for _ in 0..TRIES {
            held = kill_inside(place, arguments, folders, after);
            if !held.is_empty() {
                break;
            }
            after /= 8;
        }
        let what = format!("kill {kill} of {arguments:?} after {after} bytes: {held:?}");
        println!("{what}");
        assert!(!held.is_empty(), "{what}: no kill was inside the work");
        let is_left = folders.iter().any(|folder| !entries(folder).is_empty());
        assert!(is_left, "{what}: nobody could clean up");
        for arguments in next {
            let done = place.run(arguments);
            assert!(matches!(done.code, Some(0 | 3 | 4)), "{what}: {done:?}");
        }
        expect_nothing_left(folders, &what);
        expect_sound(place, &what);
    }
}

/// No run of the store is falsely complete, or damaged.
fn expect_sound(place: &Place, what: &str) {
    let listed = place.run(&["runs", "list", "--format", "json"]);
    listed.expect(0, &[]);
    for run in listed.json()["runs"].as_array().expect("runs") {
        assert_ne!(run["state"], "damaged", "{what}: {run}");
        let rows = run["rows"].as_u64().unwrap_or(0);
        assert!(run["state"] != "complete" || rows > 0, "{what}: {run}");
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// What a long run has in common.
const LONG: [&str; 9] = [
    "--time",
    "100s",
    "--jobs",
    "2",
    "--log-file-size",
    "8M",
    "--allow-busy",
    "--max-write",
    "8G",
];

/// A run of a moment, which removes what was left at its place.
fn moment(on: &str) -> [&str; 10] {
    [
        "run",
        "--on",
        on,
        "--jobs",
        "1",
        "--commits",
        "10",
        "--log-file-size",
        "4M",
        "--allow-busy",
    ]
}

#[test]
fn a_run_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let on = text(&place.target);
    let run = [&["run", "--on", &on], &LONG[..]].concat();
    kill_often(
        &place,
        &run,
        std::slice::from_ref(&place.target),
        &[&moment(&on)],
    );
}

#[test]
fn a_check_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let on = text(&place.target);
    let check = [&["check", &on], &LONG[..]].concat();
    kill_often(
        &place,
        &check,
        std::slice::from_ref(&place.target),
        &[&moment(&on)],
    );
}

#[test]
fn a_probe_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let on = text(&place.target);
    let probe = ["probe", &on, "--time", "20s", "--allow-busy"];
    kill_often(
        &place,
        &probe,
        std::slice::from_ref(&place.target),
        &[&moment(&on)],
    );
}

#[test]
fn a_canary_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let on = text(&place.target);
    let canary = ["watch", "--canary", &on, "--time", "100s"];
    let folders = [place.target.clone()];
    kill_within(&place, &canary, &folders, &[&moment(&on)], FEW_BYTES_MAX);
}

#[test]
fn a_comparison_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let all = directories(&place, 2);
    let (a, b) = (text(&all[0]), text(&all[1]));
    let on = [format!("a={a}"), format!("b={b}")];
    let on = ["compare", "--on", &on[0], "--on", &on[1], "--rounds", "2"];
    let compare = [&on[..], &LONG].concat();
    kill_often(&place, &compare, &all, &[&moment(&a), &moment(&b)]);
}

#[test]
fn an_archive_and_a_data_file_leave_nothing() {
    let place = Place::new();
    let all = directories(&place, 3);
    let [on, archive, data] = [0, 1, 2].map(|at| text(&all[at]));
    let beside = ["--archive", &archive, "--dbwr", &data];
    let long: Vec<&str> = LONG
        .iter()
        .map(|word| if *word == "8M" { "1M" } else { word })
        .collect();
    let run = [&["run", "--on", &on], &long[..], &beside].concat();
    let next = [&moment(&on)[..], &beside].concat();
    kill_often(&place, &run, &all, &[&next, &moment(&data)]);
}

#[test]
fn members_and_rings_leave_nothing() {
    let place = Place::new();
    let all = directories(&place, 2);
    let (a, b) = (text(&all[0]), text(&all[1]));
    let two = listed(&all);
    let mirror = format!("mirror:{two}");
    let ring = format!("ring:{two}");
    for (members, more) in [(&mirror, &[][..]), (&ring, &["--ring-size", "1M"])] {
        let run = ["run", "--members", members, "--force-same-device"];
        let run = [&run[..], more, &LONG].concat();
        kill_often(&place, &run, &all, &[&moment(&a), &moment(&b)]);
    }
}

#[test]
fn nodes_and_stripes_leave_nothing() {
    let place = Place::new();
    let on = text(&place.target);
    let run = [&["run", "--on", &on, "--nodes", "2"], &LONG[..]].concat();
    kill_often(
        &place,
        &run,
        std::slice::from_ref(&place.target),
        &[&moment(&on)],
    );
}

/// Files that are exported, redacted or imported are whole, or are not there.
#[test]
fn an_import_that_is_killed_leaves_no_part_of_a_run() {
    let place = Place::new();
    let trace = place.path().join("trace.csv");
    let mut lines = String::from("wait event,us\n");
    for line in 0..400_000 {
        lines.push_str(&format!("log file parallel write,{}\n", 100 + line % 900));
    }
    std::fs::write(&trace, lines).expect("written");
    place.store_a_run();
    let trace = text(&trace);
    let (seed, kills) = (u64::from(std::process::id()), number("REDOLAB_KILLS", 2));
    println!("seed {seed}");
    let mut state = seed;
    for kill in 0..kills {
        let mut child = place
            .command(&["import", &trace])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        // Inside: it has read a drawn part of the file.
        let part = measure::workload::split_mix(&mut state) % (8 << 20);
        let read = |pid: u32| {
            let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
            let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
            line.and_then(|line| line.trim().parse::<u64>().ok())
        };
        let opened = |pid: u32| !holds(pid, &[place.path().to_owned()]).is_empty();
        while child.try_wait().expect("our own child").is_none() {
            if opened(child.id()) && read(child.id()).is_some_and(|read| read >= part) {
                break;
            }
        }
        let inside = child.try_wait().expect("our own child").is_none();
        child.kill().expect("our own child");
        child.wait().expect("our own child");
        println!("kill {kill} after {part} bytes, inside: {inside}");
        expect_sound(&place, "an import");
        let temporary = entries(&place.store)
            .into_iter()
            .find(|name| name.starts_with(".tmp-"));
        assert_eq!(temporary, None);
    }
}
