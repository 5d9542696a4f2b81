//! Standard error that nobody reads, or that is full: a command does all that it was asked for, and
//! what it measured is stored. Standard output likewise.

use crate::harness::{Place, QUICK, entries};
use rustix::process::Signal;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(300);

/// The end of a pipe whose other end is closed.
fn closed() -> Stdio {
    let (near, far) = UnixStream::pair().expect("a pair");
    drop(far);
    Stdio::from(std::os::fd::OwnedFd::from(near))
}

/// A device on which every write fails.
fn full() -> Stdio {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    Stdio::from(full.expect("every Linux has it"))
}

/// A child that ends, and its exit code.
fn code(mut child: Child) -> Option<i32> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            return status.code();
        }
        if Instant::now() > until {
            child.kill().expect("our own child");
            child.wait().expect("our own child");
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a command with these streams.
fn start(place: &Place, arguments: &[&str], out: Stdio, err: Stdio) -> Child {
    let mut command = place.command(arguments);
    command.stdout(out).stderr(err).spawn().expect("starts")
}

/// Runs in the store, and those that are complete.
fn stored(place: &Place) -> (usize, usize) {
    let list = ["runs", "list", "--format", "json"];
    let listed = place.run(&list);
    listed.expect(0, &[]);
    let runs = listed.json()["runs"].as_array().expect("runs").clone();
    let complete = runs.iter().filter(|run| run["state"] == "complete");
    (runs.len(), complete.count())
}

#[test]
fn a_closed_standard_error_loses_no_run() {
    let place = Place::new();
    let target = place.target.display().to_string();
    let second = place.path().join("second");
    std::fs::create_dir(&second).expect("a fresh directory");
    let (a, b) = (format!("a={target}"), format!("b={}", second.display()));
    let short = [
        "--jobs",
        "1",
        "--time",
        "100ms",
        "--warmup",
        "0",
        "--log-file-size",
        "8M",
        "--log-groups",
        "2",
        "--allow-busy",
        "-v",
    ];
    let run = [&["run", "--on", &target], &short[..]].concat();
    let check = [&["check", &target, "-v"], &QUICK[..]].concat();
    let compare = [
        &["compare", "--on", &a, "--on", &b, "--rounds", "2"],
        &short[..],
    ]
    .concat();
    let mut complete = 0;
    for (arguments, runs) in [(&run, 1), (&check, 1), (&compare, 2)] {
        for err in [closed, full] {
            let code = code(start(&place, arguments, Stdio::null(), err()));
            assert!(matches!(code, Some(0 | 4)), "{arguments:?}: {code:?}");
            complete += runs;
            let found = stored(&place);
            assert!(
                found.1 >= complete,
                "{arguments:?}: {found:?}, {complete} expected"
            );
            complete = found.1;
            place.expect_clean(&place.target);
        }
    }
}

#[test]
fn streams_that_are_closed_never_make_a_panic() {
    let place = Place::new();
    let target = place.target.display().to_string();
    let case = place.path().join("a.csv");
    std::fs::write(&case, "a,b\n1,2\n").expect("written");
    let case = case.display().to_string();
    let id = place.store_a_run();
    let commands: [&[&str]; 11] = [
        &["--help"],
        &["run", "--no-such-option"],
        &["run", "--on", "/nowhere"],
        &[
            "run",
            "--null",
            "--jobs",
            "1",
            "--commits",
            "100",
            "--warmup",
            "0",
        ],
        &["probe", &target, "--time", "20ms", "-v"],
        &["import", &case, "-v"],
        &["import", &case, "--csv"],
        &["runs", "list"],
        &["runs", "show", &id],
        &["report", &id, "-o", "-"],
        &["runs", "remove", "nothing"],
    ];
    for arguments in commands {
        for stream in [closed, full] {
            for (out, err) in [
                (Stdio::null(), stream()),
                (stream(), Stdio::null()),
                (stream(), stream()),
            ] {
                let code = code(start(&place, arguments, out, err));
                assert!(
                    code.is_some_and(|code| code != 101),
                    "{arguments:?}: {code:?}"
                );
            }
        }
    }
    assert_eq!(entries(&place.target), [""; 0]);
}

#[test]
fn an_interrupted_run_without_a_reader_is_cleaned_up() {
    let place = Place::new();
    let target = place.target.display().to_string();
    let run = [
        "run",
        "--on",
        &target,
        "--allow-busy",
        "--time",
        "100s",
        "--log-file-size",
        "8M",
    ];
    let child = start(&place, &run, closed(), closed());
    let until = Instant::now() + PATIENCE;
    while !entries(&place.target)
        .iter()
        .any(|n| n.starts_with("redolab-work-"))
    {
        assert!(Instant::now() < until, "it makes no folder");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    // The second one cleans up and ends it at once.
    for _ in 0..2 {
        let _ = rustix::process::kill_process(pid, Signal::INT);
        std::thread::sleep(Duration::from_millis(20));
    }
    let code = code(child);
    assert!(matches!(code, Some(130)), "{code:?}");
    place.expect_clean(&place.target);
}
