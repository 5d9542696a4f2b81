//! The one check command: what a change must pass, the same here and in CI.
//!
//! What lives here: the table of steps, and running them with their time. Programs of tests run
//! beside the steps behind theirs: many of them wait for servers and devices while others compute.
//! It stops at the first step that fails, unless it has to keep going. The last line is always
//! `N passed, N failed, N skipped`: tests, each step that failed without a failed test (format,
//! lints, rules, a build), and each that could not run or is held. The lines before it name what
//! was skipped and what failed.

use crate::harness::Tally;
use crate::suite::{self, Suite};
use crate::{Outcome, cargo, held, packages, tidy};
use std::path::Path;
use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a step does.
enum Work {
    /// The project's own rules, in this process.
    Tidy,
    /// What others get, in this process.
    Packages,
    /// A cargo command.
    Cargo(&'static [&'static str]),
    /// Programs of tests that cargo builds, whose results are counted. They run beside the steps
    /// that follow.
    Tests(Tests),
}

/// Tests of a step.
struct Tests {
    /// Arguments of `cargo test`.
    build: &'static [&'static str],
    /// Arguments of each test program.
    filter: &'static [&'static str],
    /// Whether the tests in documentation belong to them.
    documentation: bool,
    /// The package whose files decide how they end, where fixed seeds do: see [`held`].
    decided_by: Option<&'static str>,
}

/// Tests of the log at length.
const fn of_the_log(build: &'static [&'static str], filter: &'static [&'static str]) -> Work {
    Work::Tests(Tests {
        build,
        filter,
        documentation: false,
        decided_by: Some("redolab-redo"),
    })
}

struct Step {
    name: &'static str,
    work: Work,
    env: &'static [(&'static str, &'static str)],
}

/// Seconds of the whole check on two processors with nothing else to do. A longer one is reported
/// and does not fail: beside other work it took half as much again. A test that makes the whole
/// longer belongs into `prove`.
const WHOLE_S: u64 = 1200;

const fn step(name: &'static str, work: Work) -> Step {
    Step {
        name,
        work,
        env: &[],
    }
}

const LINTS: &[&str] = &[
    "clippy",
    "--workspace",
    // What only it compiles is linted too; what it leaves out, the step `packages` builds.
    "--features",
    "redolab-redo/crash",
    "--all-targets",
    "--locked",
    "--quiet",
    "--",
    "-D",
    "warnings",
];
const TESTS: Tests = Tests {
    build: &["--workspace", "--locked"],
    filter: &[],
    documentation: true,
    decided_by: None,
};
const CRASH: &[&str] = &[
    "--release",
    "-p",
    "redolab-redo",
    "--features",
    "crash",
    // Some bugs are planted in tests of the library.
    "--lib",
    "--test",
    "crash*",
    "--locked",
];

const INTERLEAVINGS: &[&str] = &[
    "-p",
    "redolab-redo",
    "--features",
    "loom",
    "--lib",
    "--locked",
];
const SCHEDULES: &[&str] = &[
    // It is built for this step alone, and its queues are what the schedules run.
    "--config",
    "profile.dev.package.redolab-device.opt-level=1",
    "-p",
    "redolab-redo",
    "--features",
    "shuttle",
    "--lib",
    "--locked",
];
/// The schedule that shows a missing bump is one of thousands: `prove schedules` draws them.
const BUT_ONE: &[&str] = &["schedules", "--skip", "a_missing_bump_is_found"];
const DOCUMENTS: &[&str] = &["doc", "--workspace", "--no-deps", "--locked", "--quiet"];

/// Every step, cheap ones first.
const STEPS: &[Step] = &[
    step("format", Work::Cargo(&["fmt", "--all", "--check"])),
    step("tidy", Work::Tidy),
    step("lints", Work::Cargo(LINTS)),
    Step {
        env: &[("RUSTDOCFLAGS", "-D warnings")],
        ..step("documents", Work::Cargo(DOCUMENTS))
    },
    step("tests", Work::Tests(TESTS)),
    step("packages", Work::Packages),
    Step {
        // `prove histories` draws 250,000; from 10,000 on everything has to be reached.
        env: &[("REDOLAB_CRASH_SEEDS", "10000")],
        ..step("crash-simulation", of_the_log(CRASH, &[]))
    },
    Step {
        // Seconds of each model at most; `prove interleavings` gives each ten minutes.
        env: &[("LOOM_MAX_DURATION", "1")],
        ..step(
            "interleavings",
            of_the_log(INTERLEAVINGS, &["interleavings"]),
        )
    },
    Step {
        // The full number of schedules is drawn by `prove schedules`.
        env: &[("REDO_SCHEDULES", "100")],
        ..step("schedules", of_the_log(SCHEDULES, BUT_ONE))
    },
];

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    keep_going: bool,
    only: Vec<String>,
}

impl Options {
    /// Reads the arguments after `check`; an unknown step or option is an error.
    pub fn parse(arguments: &[&str]) -> Result<Options, String> {
        let mut options = Options::default();
        for argument in arguments {
            if *argument == "--keep-going" {
                options.keep_going = true;
            } else if STEPS.iter().any(|step| step.name == *argument) {
                options.only.push(argument.to_string());
            } else {
                let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
                return Err(format!(
                    "no step `{argument}`; there are {}",
                    names.join(", ")
                ));
            }
        }
        Ok(options)
    }

    fn wants(&self, step: &Step) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == step.name)
    }
}

/// How a step ended.
struct Ended {
    name: &'static str,
    how: &'static str,
    wall: Duration,
}

/// What the steps have come to.
#[derive(Default)]
struct Results {
    ended: Vec<Ended>,
    total: Tally,
    failed: bool,
}

impl Results {
    /// Takes the end of a step that ran since `begun`.
    fn take(&mut self, name: &'static str, begun: Instant, done: Outcome<(bool, Tally)>) {
        let (well, tally) = done.unwrap_or_else(|problem| {
            println!("{name}: {problem}");
            (false, Tally::default())
        });
        self.total.add(&tally);
        if !well && tally.failed == 0 {
            self.total.failed += 1;
            self.total.failures.push(name.to_owned());
        }
        self.failed |= !well;
        self.end(name, if well { "passed" } else { "FAILED" }, begun);
    }

    /// Takes a step that passed with these files at `commit` as what it is: not run.
    fn keep(&mut self, name: &'static str, commit: &str, begun: Instant) {
        let commit = commit.get(..8).unwrap_or(commit);
        self.total.skipped += 1;
        self.total.reasons.push(format!(
            "{name}: it passed with exactly these files at {commit}; `cargo xtask check {name}` runs it again"
        ));
        self.end(name, "held", begun);
    }

    fn end(&mut self, name: &'static str, how: &'static str, begun: Instant) {
        let wall = begun.elapsed();
        self.ended.push(Ended { name, how, wall });
    }
}

/// Runs the steps, tests once `setup` has ended. Whether all passed.
pub fn run(root: &Path, options: &Options, setup: Option<JoinHandle<()>>) -> Outcome<bool> {
    let mut setup = setup;
    let (first, mut results) = (Instant::now(), Results::default());
    let mut beside = Vec::new();
    // A step that was asked for alone has all processors.
    let at_once = if options.only.len() == 1 { 2 } else { 1 };
    for step in STEPS.iter().filter(|step| options.wants(step)) {
        let begun = Instant::now();
        if results.failed && !options.keep_going {
            results.end(step.name, "not run", begun);
        } else {
            println!("== {}", step.name);
            let done = match &step.work {
                Work::Tidy => tidy::run(root),
                Work::Packages => packages::run(root),
                Work::Cargo(arguments) => cargo_step(root, arguments, step.env),
                Work::Tests(tests) => {
                    let digest = digest(root, step, tests);
                    let held = digest
                        .as_ref()
                        .and_then(|d| held::held_at(root, step.name, d));
                    if let Some(commit) = held.filter(|_| options.only.is_empty()) {
                        results.keep(step.name, &commit, begun);
                        continue;
                    }
                    // A set-up that has panicked has said so, and tests say what they lack.
                    setup.take().map(JoinHandle::join);
                    match start(root, step, tests, at_once) {
                        Ok(running) => {
                            beside.push((step.name, begun, digest, running));
                            continue;
                        }
                        Err(problem) => Err(problem),
                    }
                }
            };
            results.take(step.name, begun, done.map(|well| (well, Tally::default())));
        }
    }
    // What it installs would be left half made.
    setup.take().map(JoinHandle::join);
    for (name, begun, digest, running) in beside {
        let panicked = "a thread that runs tests has panicked".to_owned();
        let done = running.join().unwrap_or(Err(panicked));
        if let (Some(digest), Ok((true, tally))) = (&digest, &done)
            && tally.skipped == 0
            && let Err(problem) = held::record(root, name, digest, tally.passed)
        {
            println!("{name}: {problem}");
        }
        results.take(name, begun, done);
    }
    print!("{}", summary(&results, first.elapsed(), children_cpu()));
    Ok(!results.failed)
}

fn summary(results: &Results, wall: Duration, cpu: Duration) -> String {
    let mut lines = vec![String::new()];
    let [step, result, seconds] = ["step", "result", "seconds"];
    lines.push(format!("{step:<18} {result:<8} {seconds:>8}"));
    for step in &results.ended {
        let seconds = step.wall.as_secs_f64();
        lines.push(format!("{:<18} {:<8} {seconds:>8.1}", step.name, step.how));
    }
    let is_over = wall.as_secs() > WHOLE_S || cpu.as_secs() > 2 * WHOLE_S;
    lines.push(format!(
        "all in {} s, {} processor seconds{}",
        wall.as_secs(),
        cpu.as_secs(),
        if is_over { ": more than planned" } else { "" }
    ));
    lines.push(String::new());
    let total = &results.total;
    let reasons = total.reasons.iter();
    lines.extend(reasons.map(|reason| format!("skipped: {reason}")));
    let failures = total.failures.iter();
    lines.extend(failures.map(|name| format!("failed: {name}")));
    let (passed, failed, skipped) = (total.passed, total.failed, total.skipped);
    lines.push(format!(
        "{passed} passed, {failed} failed, {skipped} skipped"
    ));
    lines.join("\n") + "\n"
}

/// The digest of what decides how the tests of a step end, where that can be said.
fn digest(root: &Path, step: &Step, tests: &Tests) -> Option<String> {
    let how = format!("{:?} {:?} {:?}", tests.build, tests.filter, step.env);
    held::digest(root, tests.decided_by?, &how).ok()
}

/// Builds the tests of a step and starts them, so many programs that compute at once.
fn start(root: &Path, step: &Step, tests: &Tests, at_once: usize) -> Outcome<Running> {
    let suite = Suite {
        build: tests.build,
        filter: tests.filter,
        env: step.env,
        documentation: tests.documentation,
    };
    let Some(programs) = suite::build(root, &suite)? else {
        return Err("it does not build".to_owned());
    };
    Ok(std::thread::spawn(move || suite::run(programs, at_once)))
}

/// The programs of tests that run beside other steps.
type Running = JoinHandle<Outcome<(bool, Tally)>>;

/// Whether a cargo command went well.
fn cargo_step(root: &Path, arguments: &[&str], env: &[(&str, &str)]) -> Outcome<bool> {
    let mut command = cargo();
    command.args(arguments).envs(env.iter().copied());
    command.current_dir(root).stdin(Stdio::null());
    let status = command.status();
    let status = status.map_err(|e| format!("cargo {}: {e}", arguments.join(" ")))?;
    Ok(status.success())
}

/// User and system time of all children that have ended, from `/proc/self/stat` (fields 16 and
/// 17 of proc_pid_stat(5), in ticks of 10 ms on every architecture that Linux still builds for).
fn children_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    Duration::from_millis(10 * children_ticks(&stat))
}

fn children_ticks(stat: &str) -> u64 {
    // The second field is a name in parentheses and may hold blanks: count from behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_whitespace().skip(13).take(2);
    ticks.filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_known_steps() {
        assert_eq!(Options::parse(&[]), Ok(Options::default()));
        let options = Options::parse(&["tests", "--keep-going"]).expect("both are known");
        assert!(options.keep_going);
        let wanted = STEPS
            .iter()
            .filter(|step| options.wants(step))
            .map(|step| step.name);
        assert_eq!(wanted.collect::<Vec<_>>(), ["tests"]);
        assert!(Options::parse(&["--fast"]).is_err());
    }

    /// What only a feature compiles is run by a step, wherever it is tested.
    #[test]
    fn tests_of_the_library_that_plant_bugs_are_run() {
        let root = crate::root();
        let files = crate::tree::files(&root).expect("the tree");
        let marks = ["#[test]", "    #[test]", "mod planted"];
        let marks = marks.map(|mark| format!("#[cfg(feature = \"crash\")]\n{mark}"));
        let planting = files
            .iter()
            .filter(|file| marks.iter().any(|mark| file.text.contains(mark)));
        let planting: Vec<&str> = planting.map(|file| file.path.as_str()).collect();
        assert!(
            planting
                .iter()
                .any(|path| path.ends_with("writer/tests.rs")),
            "{planting:?}"
        );
        let programs =
            ["crash", "crash_power_cuts"].map(|name| format!("crates/redo/tests/{name}"));
        let main = std::fs::read_to_string(root.join(&programs[0]).join("main.rs"));
        let main = main.expect("the program");
        let is_run = |path: &&str| {
            let beside = path.strip_prefix("crates/redo/tests/");
            path.starts_with("crates/redo/src/")
                || programs.iter().any(|place| path.starts_with(place))
                || beside.is_some_and(|file| main.contains(&format!("\"../{file}\"")))
        };
        assert!(planting.iter().all(is_run), "run by no step: {planting:?}");
        assert!(CRASH.contains(&"--lib") && CRASH.contains(&"crash"));
    }

    #[test]
    fn ticks_are_counted_from_behind_the_name() {
        let stat = "1 (a ) b) S 0 1 1 0 -1 4194560 100 200 3 4 11 12 130 17 20 0 1 0 5\n";
        assert_eq!(children_ticks(stat), 147);
        assert_eq!(children_ticks(""), 0);
        std::process::Command::new("true")
            .status()
            .expect("true runs");
        assert!(children_cpu() < Duration::from_secs(3600));
    }

    #[test]
    fn the_summary_ends_with_the_count() {
        let total = Tally {
            passed: 3,
            failed: 1,
            skipped: 1,
            reasons: vec!["a: not root".to_string()],
            failures: vec!["m::b".to_string()],
        };
        let ended = vec![Ended {
            name: "tests",
            how: "passed",
            wall: Duration::from_millis(1500),
        }];
        let results = Results {
            ended,
            total,
            failed: true,
        };
        let seconds = Duration::from_secs;
        let text = summary(&results, seconds(1200), seconds(2400));
        assert!(
            text.contains(
                "tests              passed        1.5\nall in 1200 s, 2400 processor seconds\n"
            ),
            "{text}"
        );
        let end = "skipped: a: not root\nfailed: m::b\n3 passed, 1 failed, 1 skipped\n";
        assert!(text.ends_with(end), "{text}");
        let late = summary(&results, seconds(1201), seconds(0));
        assert!(late.contains(": more than planned"), "{late}");
        assert!(summary(&results, seconds(0), seconds(2401)).contains(": more than planned"));
    }

    #[test]
    fn a_step_that_cannot_run_has_failed() {
        let mut results = Results::default();
        results.take("tests", Instant::now(), Err("no cargo".to_owned()));
        assert!(results.failed && results.total.failures == ["tests"]);
        let mut results = Results::default();
        results.take("tests", Instant::now(), Ok((true, Tally::default())));
        assert!(!results.failed && results.ended[0].how == "passed");
    }
}
