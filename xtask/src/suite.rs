//! The test programs of a step of the check: built once, run in two lanes, each test under a time
//! limit.
//!
//! What lives here: the table of limits, which programs wait and which compute, and turning what
//! they print into counts. A test that exceeds its limit fails by name, with the stacks of what it
//! ends; tests of its program that had not ended by then are named too and count as failed.

use crate::binaries;
use crate::harness::{Reader, Tally};
use crate::watch::{self, End, Limits};
use crate::{Outcome, cargo};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Seconds of a test, unless its program is in [`LONGER`]. The longest one takes about 150 where
/// nothing else runs, and four times as long beside other work.
const TEST_S: u64 = 600;
/// Programs with tests that may take longer, and why.
const LONGER: &[(&str, u64)] = &[
    // The proof watches a quiet machine for ten minutes.
    ("canary", 900),
    // A calibration fits a model in a debug build: a minute and a half where nothing else runs.
    ("cli", 1500),
];
/// A program is ended after so many times the limit of one test.
const PROGRAM_TIMES: u32 = 4;
/// Programs whose tests mostly wait, for servers, devices or the end of a measured time, longest
/// first; and how many of their tests run at once.
const WAITING: &[(&str, usize)] = &[
    ("servers", 2),
    ("cli", 4),
    ("powertest", 2),
    ("mariadb", 2),
    ("postgres", 2),
    ("engine", 2),
    ("outlived", 2),
    ("canary", 2),
    ("kill", 2),
];
/// Programs that compute for long are begun first.
const FIRST: &[&str] = &["it", "crash", "log", "analysis", "consistency"];
/// So many programs that wait run at once.
const WAIT_AT_ONCE: usize = 3;
/// What the tests in documentation are called here.
const DOCUMENTATION: &str = "documentation";

/// What to build and to run.
pub struct Suite<'a> {
    /// Arguments of `cargo test`.
    pub build: &'a [&'a str],
    /// Arguments of each test program.
    pub filter: &'a [&'a str],
    /// Environment of both.
    pub env: &'a [(&'a str, &'a str)],
    /// Whether the tests in documentation are run too.
    pub documentation: bool,
}

/// The limits of a program.
fn limits(name: &str) -> Limits {
    let longer = LONGER.iter().find(|(program, _)| *program == name);
    let test = Duration::from_secs(longer.map_or(TEST_S, |(_, seconds)| *seconds));
    Limits {
        test,
        program: test * PROGRAM_TIMES,
    }
}

/// A test program, and what runs it.
type Program = (String, Command);

/// Builds the programs; `None` when they do not compile.
///
/// # Errors
/// When cargo cannot be started.
pub fn build(root: &Path, suite: &Suite) -> Outcome<Option<Vec<Program>>> {
    let cargo_test = || {
        let mut command = cargo();
        command.arg("test").args(suite.build).current_dir(root);
        command.envs(suite.env.iter().copied());
        command
    };
    let Some(built) = binaries::build(&mut cargo_test())? else {
        return Ok(None);
    };
    let mut programs: Vec<Program> = Vec::new();
    for binary in &built {
        let mut command = binary.command();
        command.envs(suite.env.iter().copied());
        programs.push((binary.name.clone(), command));
    }
    if suite.documentation {
        let mut command = cargo_test();
        command.args(["--doc", "--"]);
        programs.push((DOCUMENTATION.to_owned(), command));
    }
    for (name, command) in &mut programs {
        // A single thread would print no line for a test that runs for long.
        let least = WAITING.iter().find(|(program, _)| program == name);
        let least = least.map_or(2, |(_, tests)| *tests);
        let threads = std::thread::available_parallelism().map_or(least, |n| n.get().max(least));
        let threads = threads.to_string();
        command.args(["--show-output", "--test-threads", &threads]);
        if name != DOCUMENTATION {
            command.args(suite.filter);
        }
    }
    let rank = |name: &String| {
        let waiting = WAITING.iter().map(|(program, _)| *program);
        let mut order = waiting.chain(FIRST.iter().copied());
        order.position(|program| program == name)
    };
    programs.sort_by_key(|(name, _)| rank(name).unwrap_or(usize::MAX));
    Ok(Some(programs))
}

/// Runs programs, those that wait beside those that compute, `at_once` of these. Whether all went
/// well, and the tests that were counted.
///
/// # Errors
/// When something cannot be started.
pub fn run(programs: Vec<Program>, at_once: usize) -> Outcome<(bool, Tally)> {
    // What the build has left in the caches would be written while tests measure.
    let _ = Command::new("sync").status();
    let waits = |(name, _): &Program| WAITING.iter().any(|(program, _)| program == name);
    let (waiting, computing): (Vec<_>, Vec<_>) = programs.into_iter().partition(waits);
    let (wait, compute) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| all(waiting, WAIT_AT_ONCE));
        let computing = all(computing, at_once);
        let panicked = "a thread that runs tests has panicked".to_owned();
        (waiting.join().unwrap_or(Err(panicked)), computing)
    });
    let ((well, mut tally), (also_well, more)) = (wait?, compute?);
    tally.add(&more);
    Ok((well && also_well, tally))
}

/// Runs the programs, so many at once.
fn all(programs: Vec<Program>, at_once: usize) -> Outcome<(bool, Tally)> {
    let sum = Mutex::new((true, Tally::default()));
    let next = AtomicUsize::new(0);
    let programs: Vec<Mutex<Program>> = programs.into_iter().map(Mutex::new).collect();
    let failed: Vec<String> = std::thread::scope(|scope| {
        let work = || -> Outcome<()> {
            while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut program = program.lock().map_err(|_| "a program was lost")?;
                let (name, command) = &mut *program;
                let (well, tally) = one(name, command, limits(name))?;
                let mut sum = sum.lock().map_err(|_| "the counts were lost")?;
                sum.0 &= well;
                sum.1.add(&tally);
            }
            Ok(())
        };
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join());
        ended
            .filter_map(|end| match end {
                Ok(done) => done.err(),
                Err(_) => Some("a thread that runs tests has panicked".to_owned()),
            })
            .collect()
    });
    match failed.into_iter().next() {
        Some(problem) => Err(problem),
        None => sum
            .into_inner()
            .map_err(|_| "the counts were lost".to_owned()),
    }
}

/// Runs one program and prints what is to be shown when it has ended.
fn one(name: &str, command: &mut Command, limits: Limits) -> Outcome<(bool, Tally)> {
    let begun = Instant::now();
    let (mut reader, mut shown) = (Reader::default(), Vec::new());
    let mut ended: BTreeSet<String> = BTreeSet::new();
    let end = watch::watch(command, limits, |line| {
        ended.extend(watch::result(line).map(|(test, _)| test.to_owned()));
        if reader.line(line) {
            shown.push(line.to_owned());
        }
        true
    })?;
    let mut tally = reader.finish();
    let late = match &end {
        End::Late(tests) => tests.clone(),
        End::Overran => vec![format!("{name} as a whole")],
        End::Ended(_) | End::Stopped => Vec::new(),
    };
    for test in &late {
        let limit = if end == End::Overran {
            limits.program
        } else {
            limits.test
        };
        shown.push(format!("test {test} ... FAILED: no end within {limit:.0?}"));
    }
    tally.failed += late.len();
    if !late.is_empty() {
        for test in listed(command) {
            if !ended.contains(&test) && !late.contains(&test) {
                shown.push(format!("test {test} ... FAILED: ended with {name}"));
                tally.failed += 1;
            }
        }
    }
    let well = end == End::Ended(true) && tally.failed == 0;
    let mut text = format!("-- {name}: {:.1} s\n", begun.elapsed().as_secs_f64());
    shown
        .iter()
        .for_each(|line| text.push_str(&format!("{line}\n")));
    print!("{text}");
    Ok((well, tally))
}

/// The tests that a program would run, with the arguments that it had.
fn listed(command: &Command) -> Vec<String> {
    let mut list = Command::new(command.get_program());
    list.args(command.get_args())
        .args(["--list", "--format", "terse"]);
    if let Some(folder) = command.get_current_dir() {
        list.current_dir(folder);
    }
    // A program that cannot list its tests has been reported as late already.
    let output = list
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&output).into_owned();
    let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
    tests.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_test_that_hangs_fails_and_so_does_what_it_kept_from_ending() {
        // Asked for its list it prints one; otherwise it hangs in `lost`.
        let script = "case \"$*\" in *--list*) printf 'quick: test\\nlost: test\\nafter: test\\n' \
             ;; *) echo 'test quick ... ok'; \
             echo 'test lost has been running for over 60 seconds'; sleep 600;; esac";
        let mut command = shell(script);
        command.arg("sh");
        let limits = Limits {
            test: Duration::from_secs(60),
            program: Duration::from_secs(600),
        };
        let (well, tally) = one("example", &mut command, limits).expect("sh runs");
        assert!(!well);
        assert_eq!((tally.passed, tally.failed), (0, 2), "lost and after");
    }

    #[test]
    fn programs_add_up() {
        let result = |passed| {
            format!("echo 'test result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured'")
        };
        let programs = vec![
            ("a".to_owned(), shell(&result(3))),
            ("b".to_owned(), shell(&result(4))),
            ("servers".to_owned(), shell("exit 1")),
        ];
        let (well, tally) = run(programs, 2).expect("sh runs");
        assert_eq!((well, tally.passed), (false, 7));
        assert!(all(vec![("d".to_owned(), Command::new("no-such-program"))], 1).is_err());
    }

    #[test]
    fn limits_are_longer_where_the_table_says_so() {
        assert_eq!(limits("kill").test, Duration::from_secs(TEST_S));
        assert!(limits("canary").test > limits("kill").test);
        assert!(limits("kill").program > limits("kill").test);
    }
}
