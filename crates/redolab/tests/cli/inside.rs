//! Kills (SIGKILL) that are shown to have hit a command inside its work.
//!
//! A command is stopped (SIGSTOP) once a counter of it has grown by a drawn number since its work
//! was first seen, and it is looked at before it is killed: it lives, and the work is
//! still seen. Nothing depends on how fast the machine is. `REDOLAB_KILLS` sets how many kills each
//! command gets (2; the proof has 20), `REDOLAB_KILL_SEED` repeats the draws.

use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Nothing takes as long, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(300);
/// A command may have less to do than was drawn: the next try waits for less.
const TRIES: u32 = 40;
/// What is drawn is divided by so much after each of them.
const LESS: u64 = 8;

/// How the work of a command is seen.
pub struct Inside<'a> {
    /// What of it is seen of this process: nothing before and after the work.
    pub seen: &'a dyn Fn(u32) -> Vec<PathBuf>,
    /// What grows with it.
    pub counter: Counter,
    /// Draws are below so much.
    pub most: u64,
}

/// What grows while a process works, whatever became of it.
#[derive(Debug, Clone, Copy)]
pub enum Counter {
    /// Bytes that it read by calls, sockets excepted.
    Read,
    /// Bytes that it wrote by calls, sockets excepted.
    Written,
    /// Ticks of its processor time, of 10 ms each.
    Processor,
}

impl Counter {
    /// `None` once the process is gone.
    fn of(self, pid: u32) -> Option<u64> {
        let name = match self {
            Counter::Read => "rchar: ",
            Counter::Written => "wchar: ",
            Counter::Processor => return ticks(pid),
        };
        let io = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
        let line = io.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    }
}

fn ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let [user, system] = [fields.next()?, fields.next()?].map(|ticks| ticks.parse::<u64>().ok());
    Some(user? + system?)
}

fn number(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Files that a process has open below one of `folders`.
pub fn holds(pid: u32, folders: &[PathBuf]) -> Vec<PathBuf> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let links = open
        .flatten()
        .filter_map(|fd| std::fs::read_link(fd.path()).ok());
    let below = |path: &PathBuf| folders.iter().any(|at| path.starts_with(at) && path != at);
    links.filter(below).collect()
}

/// The path, if it is there.
pub fn existing(path: &Path) -> Vec<PathBuf> {
    let is_there = path.symlink_metadata().is_ok();
    is_there.then(|| path.to_owned()).into_iter().collect()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("our own child");
}

fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Kills a process inside its work, once its counter had grown by `after` since the work was first
/// seen. What was seen of it then; nothing where the process ended before.
pub fn kill(child: &mut Child, inside: &Inside<'_>, after: u64) -> Vec<PathBuf> {
    let pid = child.id();
    let until = Instant::now() + PATIENCE;
    let mut began = None;
    let seen = loop {
        if child.try_wait().expect("our own child").is_some() {
            return Vec::new();
        }
        if Instant::now() >= until {
            child.kill().expect("our own child");
            panic!("it hangs");
        }
        if began.is_none() && !(inside.seen)(pid).is_empty() {
            began = inside.counter.of(pid);
        }
        let now = inside.counter.of(pid);
        if began.is_some_and(|began| now.is_some_and(|now| now >= began + after)) {
            send(child, Signal::STOP);
            while !is_stopped(pid) && child.try_wait().expect("our own child").is_none() {
                std::thread::yield_now();
            }
            if child.try_wait().expect("our own child").is_some() {
                // What it made stays to be seen, and its work was over.
                return Vec::new();
            }
            let seen = (inside.seen)(pid);
            if !seen.is_empty() {
                break seen;
            }
            // Between two things that it makes: a little later.
            send(child, Signal::CONT);
        }
        match began {
            // Its work may be a few files.
            None => std::thread::yield_now(),
            Some(_) => std::thread::sleep(Duration::from_micros(50)),
        }
    };
    assert!(is_stopped(pid), "it lives, and is inside its work");
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    seen
}

/// Kills a command so often, each time inside its work, and calls `then` after each kill, with what
/// was done.
pub fn kill_often(command: &dyn Fn() -> Command, inside: &Inside<'_>, then: &dyn Fn(&str)) {
    println!("{:?}", command());
    let once = |after| {
        let mut command = command();
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        kill(&mut command.spawn().expect("starts"), inside, after)
    };
    draw_often(inside.most, &once, then);
}

/// Calls `kill` so often, with numbers that are drawn below `most`, until it was inside the work,
/// and `then` after each, with what was done.
pub fn draw_often(most: u64, kill: &dyn Fn(u64) -> Vec<PathBuf>, then: &dyn Fn(&str)) {
    let seed = number("REDOLAB_KILL_SEED", u64::from(std::process::id()));
    println!("REDOLAB_KILL_SEED={seed}");
    let mut state = seed;
    for count in 0..number("REDOLAB_KILLS", 2) {
        let mut after = measure::workload::split_mix(&mut state) % most;
        let mut seen = Vec::new();
        for _ in 0..TRIES {
            seen = kill(after);
            if !seen.is_empty() {
                break;
            }
            after /= LESS;
        }
        let first = seen.first().and_then(|path| path.file_name());
        let what = format!("kill {count} after {after}: {} seen, {first:?}", seen.len());
        println!("{what}");
        assert!(!seen.is_empty(), "{what}: no kill was inside the work");
        then(&what);
    }
}
