//! Signals and kills, on a child process: this very program, asked by its environment to be one.

use crate::common::{full_run, histogram};
use measure::Nanos;
use redolab::cleanup::{self, WorkFolder};
use redolab::store::{State, Store};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROLE: &str = "REDOLAB_TEST_ROLE";
const PLACE: &str = "REDOLAB_TEST_PLACE";
/// No child of these tests takes as long, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// Not a test: the child's part, idle unless the environment asks for it.
#[test]
fn child() {
    let (Ok(role), Ok(place)) = (std::env::var(ROLE), std::env::var(PLACE)) else {
        return;
    };
    let place = Path::new(&place);
    let interrupt = redolab::signals::install().expect("handlers");
    let work = WorkFolder::create(place).expect("creates");
    let log = work.register("redo01.log").expect("registers");
    std::fs::write(log.path(), "redo").expect("writes");
    println!("\nready");
    match role.as_str() {
        "polite" => {
            while !interrupt.requested() {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(work);
            std::process::exit(42);
        }
        "deaf" => loop {
            std::thread::sleep(Duration::from_secs(1));
            if interrupt.requested() {
                println!("asked");
            }
        },
        "storing" => {
            let store = Store::open(&place.join("store")).expect("opens");
            for number in 0.. {
                let id = format!("run-{number:05}");
                let mut writer = store.begin(&id).expect("begins");
                println!("begun {id}");
                for i in 0..10 {
                    let h = histogram(i, 200);
                    writer
                        .interval("r/x", Nanos(i), Nanos(i + 1), &h)
                        .expect("appends");
                }
                writer
                    .finish(&full_run(&id, &histogram(0, 200)))
                    .expect("finishes");
                println!("finished {id}");
            }
        }
        other => panic!("no such role: {other}"),
    }
}

fn spawn(role: &str, place: &Path) -> (Child, BufReader<std::process::ChildStdout>) {
    let program = std::env::current_exe().expect("this program");
    spawn_by(Command::new(program), role, place)
}

/// A command that starts this program with SIGHUP as `how` of env(1) says, whatever this process
/// inherited: under nohup SIGHUP is ignored. `None` where env does not know the option.
fn with_hangup(how: &str) -> Option<Command> {
    let option = format!("--{how}-signal=HUP");
    let known = Command::new("env")
        .args([option.as_str(), "true"])
        .stderr(Stdio::null())
        .status();
    if !known.is_ok_and(|status| status.success()) {
        println!("skipped: env has no option {option} here");
        return None;
    }
    let mut command = Command::new("env");
    command.arg(option);
    command.arg(std::env::current_exe().expect("this program"));
    Some(command)
}

fn spawn_by(
    mut command: Command,
    role: &str,
    place: &Path,
) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = command
        .args([
            "--exact",
            "violence::child",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ROLE, role)
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    while line.trim() != "ready" {
        line.clear();
        assert!(
            lines.read_line(&mut line).expect("reads") > 0,
            "the child died early"
        );
    }
    (child, lines)
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("not zero");
    kill_process(pid, signal).expect("our own child");
}

fn exit_code(mut child: Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            return status.code();
        }
        if start.elapsed() > PATIENCE {
            child.kill().expect("our own child");
            panic!("the child does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn work_folders(place: &Path) -> usize {
    let entries = std::fs::read_dir(place).expect("lists");
    entries
        .filter(|e| {
            let name = e.as_ref().expect("an entry").file_name();
            name.to_string_lossy().starts_with(cleanup::PREFIX)
        })
        .count()
}

#[test]
fn the_first_signal_asks_for_an_orderly_end() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let Some(command) = with_hangup("default") else {
            return;
        };
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (child, _out) = spawn_by(command, "polite", dir.path());
        assert_eq!(work_folders(dir.path()), 1);
        send(&child, signal);
        assert_eq!(exit_code(child), Some(42), "{signal:?}");
        assert_eq!(work_folders(dir.path()), 0, "{signal:?}");
    }
}

/// Started under nohup it survives the end of its terminal.
#[test]
fn a_hangup_that_is_ignored_ends_nothing() {
    let Some(command) = with_hangup("ignore") else {
        return;
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (mut child, mut out) = spawn_by(command, "deaf", dir.path());
    send(&child, Signal::HUP);
    // A hangup that counted would be the first signal, and this one would end it at once.
    send(&child, Signal::INT);
    let mut line = String::new();
    while line.trim() != "asked" {
        line.clear();
        assert!(out.read_line(&mut line).expect("reads") > 0, "it ended");
    }
    assert_eq!(child.try_wait().expect("our own child"), None);
    send(&child, Signal::INT);
    assert_eq!(exit_code(child), Some(130));
}

#[test]
fn the_second_signal_cleans_up_and_ends_with_130() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (child, mut out) = spawn("deaf", dir.path());
    send(&child, Signal::INT);
    let mut line = String::new();
    while line.trim() != "asked" {
        line.clear();
        assert!(
            out.read_line(&mut line).expect("reads") > 0,
            "one signal ended it"
        );
    }
    send(&child, Signal::INT);
    assert_eq!(exit_code(child), Some(130));
    assert_eq!(work_folders(dir.path()), 0);
}

#[test]
fn kill_9_leaves_the_store_sound_and_the_next_start_cleans_up() {
    const KILLS: u64 = 12;
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut state = seed;
    let (mut complete, mut incomplete) = (0, 0);
    for kill in 0..KILLS {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (mut child, mut out) = spawn("storing", dir.path());
        // Every other kill comes while it works, however slow it is; some of the rest before.
        if kill % 2 == 0 {
            let mut line = String::new();
            assert!(out.read_line(&mut line).expect("reads") > 0, "it begins");
        }
        let moment = measure::workload::split_mix(&mut state) % 60_000;
        std::thread::sleep(Duration::from_micros(moment));
        child.kill().expect("our own child");
        child.wait().expect("our own child");
        let mut said = String::new();
        out.read_to_string(&mut said).expect("reads");

        assert_eq!(work_folders(dir.path()), 1, "nobody could clean up");
        assert_eq!(cleanup::sweep(dir.path()).expect("sweeps").len(), 1);
        assert_eq!(work_folders(dir.path()), 0);
        let store = Store::open(&dir.path().join("store")).expect("opens");
        let entries = store.list().expect("lists");
        for id in said.lines().filter_map(|l| l.strip_prefix("finished ")) {
            let entry = entries
                .iter()
                .find(|e| e.id == id)
                .expect("a finished run is listed");
            assert_eq!(entry.state, State::Complete, "{id}: {}", entry.detail);
        }
        for entry in entries {
            let read = store.load_histograms(&entry.id).expect("sound");
            let intervals = read.series.get("r/x").map_or(0, |s| s.intervals.len());
            match entry.state {
                State::Complete => {
                    assert_eq!(intervals, 10);
                    complete += 1;
                }
                State::Incomplete => incomplete += 1,
                other => panic!("{}: {other:?}: {}", entry.id, entry.detail),
            }
        }
    }
    println!("{complete} complete, {incomplete} incomplete runs after {KILLS} kills");
    assert!(
        incomplete >= 1,
        "no kill fell into a run: the test says nothing"
    );
}
