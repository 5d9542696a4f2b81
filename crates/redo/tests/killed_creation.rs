//! SIGKILL while a log is made: a child creates a log, and says before each step where it is; the
//! parent kills it at each step, and at random moments. Afterwards either the log opens, or opening
//! says what to do and creating again does it. What somebody else put there stays.
//!
//! `REDO_KILL_SEED` repeats the moments of a run.

mod common;

use common::{SMALL, Scratch, options};
use measure::workload::split_mix;
use redo::Error;
use redo::engine::Paths;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

const DIRECTORY: &str = "REDO_CREATE_DIRECTORY";
const WAITS: &str = "REDO_CREATE_WAITS";
const KILLS: u64 = 60;

/// Not a test: the child's part.
#[test]
fn child() {
    let Ok(directory) = std::env::var(DIRECTORY) else {
        return;
    };
    // One that is killed at a step says so, and waits for it there.
    let waits = std::env::var(WAITS)
        .ok()
        .and_then(|w| w.parse::<u32>().ok());
    let calls = std::cell::Cell::new(0);
    let step = || {
        let call = calls.replace(calls.get() + 1);
        if waits == Some(call) {
            println!("\nstep");
            std::io::stdout().flush().expect("a pipe");
            std::thread::sleep(common::PATIENCE);
        }
    };
    println!("\nbegun");
    let cancel = || {
        step();
        false
    };
    let made = common::create_with(Path::new(&directory), SMALL, &|_, _| step(), &cancel);
    println!("\nmade {}", made.is_ok());
    // The parent kills it or sees it end.
    std::process::exit(0);
}

struct Creator(Child, BufReader<std::process::ChildStdout>);

impl Creator {
    fn start(directory: &Path, waits: Option<u32>) -> Creator {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env(DIRECTORY, directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(call) = waits {
            command.env(WAITS, call.to_string());
        }
        let mut child = command.spawn().expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Creator(child, lines)
    }

    /// Whether it said that word before its end.
    fn until(&mut self, word: &str) -> bool {
        let mut line = String::new();
        while self.1.read_line(&mut line).expect("reads") > 0 {
            if line.trim() == word {
                return true;
            }
            line.clear();
        }
        false
    }

    fn kill(mut self) {
        self.0.kill().expect("our own child");
        self.0.wait().expect("our own child");
    }
}

/// What the kill left.
#[derive(Debug, PartialEq)]
enum Left {
    Nothing,
    Unfinished,
    Log,
}

/// Looks at what is left, makes a log of it, and works with it.
fn recover(directory: &Path) -> Left {
    let names: Vec<_> = std::fs::read_dir(directory).expect("lists").collect();
    let left = match common::open_with(directory, options()) {
        Ok(_) => Left::Log,
        Err(error @ Error::Unfinished { .. }) => {
            assert!(
                error.to_string().contains("create the log again"),
                "{error}"
            );
            Left::Unfinished
        }
        Err(error) => {
            assert!(names.is_empty(), "{error}: {names:?}");
            Left::Nothing
        }
    };
    if left != Left::Log {
        common::create(directory);
    }
    let log = common::open(directory);
    common::commit(&mut log.session(), 1, 1).expect("commits");
    drop(log);
    let entries = std::fs::read_dir(directory).expect("lists").count();
    assert_eq!(entries, 1 + SMALL.groups as usize, "nothing else is left");
    left
}

#[test]
fn a_creation_that_is_killed_at_any_step_can_be_repeated() {
    let mut steps = 0;
    loop {
        let scratch = Scratch::new();
        let mut at_work = Creator::start(&scratch.0, Some(steps));
        if !at_work.until("step") {
            at_work.kill();
            break;
        }
        let alive = common::create_with(&scratch.0, SMALL, &|_, _| {}, &|| false);
        let alive = alive.expect_err("its creator lives");
        let creator = Some(at_work.0.id());
        assert!(
            matches!(alive, Error::BeingCreated { process, .. } if process == creator),
            "{alive}"
        );
        at_work.kill();
        recover(&scratch.0);
        steps += 1;
    }
    println!("{steps} steps");
    assert!(steps >= 7, "{steps} steps");
}

#[test]
fn a_creation_that_is_killed_at_random_can_be_repeated() {
    let seed = std::env::var("REDO_KILL_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        SystemTime::UNIX_EPOCH
            .elapsed()
            .map_or(1, |t| t.as_nanos() as u64)
    });
    println!("REDO_KILL_SEED={seed}");
    let mut state = seed;
    // As long as a creation takes here.
    let scratch = Scratch::new();
    let mut creator = Creator::start(&scratch.0, None);
    assert!(creator.until("begun"));
    let begun = std::time::Instant::now();
    assert!(creator.until("made true"));
    let whole = begun.elapsed();
    creator.kill();
    let (mut nothing, mut unfinished, mut logs) = (0, 0, 0);
    for _ in 0..KILLS {
        let scratch = Scratch::new();
        let mut creator = Creator::start(&scratch.0, None);
        assert!(creator.until("begun"));
        let part = split_mix(&mut state) % 1000;
        std::thread::sleep(Duration::from_nanos(whole.as_nanos() as u64 * part / 1000));
        creator.kill();
        match recover(&scratch.0) {
            Left::Nothing => nothing += 1,
            Left::Unfinished => unfinished += 1,
            Left::Log => logs += 1,
        }
    }
    println!("{KILLS} kills: {nothing} left nothing, {unfinished} an unfinished log, {logs} a log");
    assert!(unfinished > 0, "no kill came while the log was made");
}

#[test]
fn what_is_not_proved_to_be_left_over_stays() {
    // A creation that was killed with all its log files made.
    let scene = || {
        let scratch = Scratch::new();
        common::create(&scratch.0);
        let at = |name: &str| scratch.0.join(name);
        std::fs::rename(at(Paths::CONTROL), at(Paths::UNFINISHED)).expect("renames");
        scratch
    };
    let scratch = scene();
    common::create(&scratch.0);
    recover(&scratch.0);

    let another = Scratch::new();
    common::create(&another.0);
    for name in ["redo01.log", "redo03.log"] {
        let scratch = scene();
        let path = scratch.0.join(name);
        std::fs::copy(another.0.join(name), &path).expect("copies");
        let kept = std::fs::read(&path).expect("reads");
        let before = std::fs::read_dir(&scratch.0).expect("lists").count();
        let refused = common::create_with(&scratch.0, SMALL, &|_, _| {}, &|| false);
        let refused = refused.expect_err("another log's file").to_string();
        assert!(
            refused.contains(name) && refused.contains("move it away"),
            "{refused}"
        );
        assert_eq!(std::fs::read(&path).expect("still there"), kept);
        let after = std::fs::read_dir(&scratch.0).expect("lists").count();
        assert_eq!(before, after, "all is looked at before anything is removed");
        std::fs::remove_file(&path).expect("ours");
        recover(&scratch.0);
    }

    // A control file of a log that has lived is not unfinished, whatever its name.
    let scratch = Scratch::new();
    common::create(&scratch.0);
    drop(common::open(&scratch.0));
    let at = |name: &str| scratch.0.join(name);
    std::fs::rename(at(Paths::CONTROL), at(Paths::UNFINISHED)).expect("renames");
    let refused = common::create_with(&scratch.0, SMALL, &|_, _| {}, &|| false);
    let refused = refused.expect_err("it has lived").to_string();
    assert!(refused.contains("redo.ctl.unfinished"), "{refused}");
    assert!(at("redo01.log").exists());

    for foreign in ["somebody's", "redolab: a control"] {
        let scratch = Scratch::new();
        let path = scratch.0.join(Paths::UNFINISHED);
        std::fs::write(&path, foreign).expect("writes");
        let refused = common::create_with(&scratch.0, SMALL, &|_, _| {}, &|| false);
        refused.expect_err("somebody else's file");
        assert_eq!(
            std::fs::read(&path).expect("still there"),
            foreign.as_bytes()
        );
    }
}
