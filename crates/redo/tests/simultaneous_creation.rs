//! Several creations of a log in one directory at once: one makes it, the others get an error that
//! names it, and nothing else is left. Threads and processes meet between any two system calls.
//!
//! `REDO_CREATION_ROUNDS` sets how many rounds (100 of threads, a fifth of processes).

mod common;

use common::{SMALL, Scratch};
use measure::workload::split_mix;
use redo::engine::Paths;
use redo::{Error, Shape};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;

const DIRECTORY: &str = "REDO_MEETING_DIRECTORY";
/// Two log files are enough, and soon made.
const SHAPE: Shape = SMALL.groups(2);

fn rounds() -> usize {
    let asked = std::env::var("REDO_CREATION_ROUNDS").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(100)
}

fn create(directory: &Path) -> Result<(), Error> {
    common::create_with(directory, SHAPE, &|_, _| {}, &|| false)
}

/// What a creation came to, in a line: `made`, `met`, or the error that says neither.
fn outcome(result: &Result<(), Error>) -> String {
    match result {
        Ok(()) => "made".to_owned(),
        Err(Error::BeingCreated { .. }) => "met".to_owned(),
        // It had ended by then.
        Err(Error::Exists { .. }) => "met".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// One made it and the others met it; it opens, and nothing else is left.
fn assert_one(directory: &Path, outcomes: &[String], round: usize) {
    let made = outcomes.iter().filter(|o| *o == "made").count();
    let others = outcomes.iter().filter(|o| *o == "met").count();
    let all = (made, made + others);
    assert_eq!(all, (1, outcomes.len()), "round {round}: {outcomes:?}");
    drop(common::open(directory));
    let left = std::fs::read_dir(directory).expect("lists").count();
    assert_eq!(left, 1 + SHAPE.groups as usize, "round {round}");
}

#[test]
fn of_creations_in_several_threads_one_wins() {
    for threads in [2, 4] {
        let mut met = 0;
        for round in 0..rounds() / threads {
            let scratch = Scratch::new();
            let together = Barrier::new(threads);
            let outcomes: Vec<String> = std::thread::scope(|scope| {
                let mut state = (round * threads) as u64;
                let begin = || {
                    // One after the other too, so that each step of one is met by another.
                    let later = Duration::from_micros(split_mix(&mut state) % 4000);
                    let (together, scratch) = (&together, &scratch);
                    scope.spawn(move || {
                        together.wait();
                        std::thread::sleep(later);
                        create(&scratch.0)
                    })
                };
                let all: Vec<_> = std::iter::repeat_with(begin).take(threads).collect();
                let joined = all.into_iter().map(|t| t.join().expect("no panic"));
                let results: Vec<_> = joined.collect();
                let is_met = |r: &&Result<_, _>| matches!(r, Err(Error::BeingCreated { .. }));
                met += results.iter().filter(is_met).count();
                results.iter().map(outcome).collect()
            });
            assert_one(&scratch.0, &outcomes, round);
        }
        println!("{threads} threads: {met} met another one at work");
        assert!(met > 0, "no two creations met");
    }
}

/// Not a test: the child's part. It creates a log in each directory that it is sent.
#[test]
fn child() {
    if std::env::var_os(DIRECTORY).is_none() {
        return;
    }
    println!("\nready");
    for line in std::io::stdin().lines() {
        let result = create(Path::new(&line.expect("readable")));
        println!("\n{}", outcome(&result));
        std::io::stdout().flush().expect("a pipe");
    }
    std::process::exit(0);
}

struct Creator(Child, BufReader<std::process::ChildStdout>);

impl Creator {
    fn start() -> Creator {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env(DIRECTORY, "")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        while line.trim() != "ready" {
            line.clear();
            assert!(lines.read_line(&mut line).expect("reads") > 0, "it begins");
        }
        Creator(child, lines)
    }

    fn send(&mut self, directory: &Path) {
        let input = self.0.stdin.as_mut().expect("piped");
        writeln!(input, "{}", directory.display()).expect("it listens");
    }

    fn outcome(&mut self) -> String {
        let mut line = String::new();
        while line.trim().is_empty() {
            line.clear();
            assert!(self.1.read_line(&mut line).expect("reads") > 0, "it lives");
        }
        line.trim().to_owned()
    }
}

impl Drop for Creator {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        drop(self.1.read_to_string(&mut String::new()));
        drop(self.0.wait());
    }
}

#[test]
fn of_creations_in_two_processes_one_wins() {
    let mut creators = [Creator::start(), Creator::start()];
    for round in 0..rounds() / 5 {
        let scratch = Scratch::new();
        creators.iter_mut().for_each(|c| c.send(&scratch.0));
        let outcomes: Vec<_> = creators.iter_mut().map(Creator::outcome).collect();
        assert_one(&scratch.0, &outcomes, round);
    }
}

/// A creation that meets another one reports its process and changes nothing.
#[test]
fn a_creation_at_work_is_named() {
    let scratch = Scratch::new();
    let refused = std::cell::RefCell::new(Vec::new());
    let meet = |_, _| {
        let error = create(&scratch.0).expect_err("one is at work");
        refused.borrow_mut().push(error.to_string());
    };
    common::create_with(&scratch.0, SHAPE, &meet, &|| false).expect("undisturbed");
    let refused = refused.into_inner();
    assert_eq!(refused.len(), 2, "met while each log file was made");
    for text in &refused {
        assert!(
            text.contains(Paths::UNFINISHED) && text.contains("this process is already creating"),
            "{text}"
        );
    }
    assert_one(&scratch.0, &["made".to_owned()], 0);
}
