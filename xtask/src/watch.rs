//! Runs a program of tests under a time limit for each of its tests.
//!
//! What lives here: reading the output of a test program while it runs, finding the tests that take
//! too long, and ending the program with everything that it started. The standard test harness
//! prints a line for each test that runs for over 60 seconds; from that line on the clock of that
//! test runs, so that a test that hangs is named.
//!
//! Invariant: [`watch`] returns in bounded time, whatever the program does.

use crate::{Outcome, stacks};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long the test harness waits before it names a test that still runs.
const NAMED_AFTER: Duration = Duration::from_secs(60);
/// How long output is waited for after the program has ended: a process that it left behind may
/// hold the pipe open.
const DRAIN: Duration = Duration::from_secs(2);
/// How often the program is asked whether it has ended.
const TICK: Duration = Duration::from_millis(20);

/// The longest times that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For one test; at least [`NAMED_AFTER`] counts.
    pub test: Duration,
    /// For the whole program.
    pub program: Duration,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, and whether it reported success.
    Ended(bool),
    /// These tests had not ended within their limit, and the program was killed.
    Late(Vec<String>),
    /// The program as a whole took too long and was killed.
    Overran,
    /// The caller wanted no more of it, and it was killed.
    Stopped,
}

/// The test that a line of the harness names as slow.
fn slow(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("test ")?;
    rest.strip_suffix(" has been running for over 60 seconds")
}

/// The test whose result a line reports, and whether it passed.
pub fn result(line: &str) -> Option<(&str, bool)> {
    let (name, how) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    Some((name, !how.starts_with("FAILED")))
}

/// Runs `command` and gives each line of its standard output to `take`, which answers whether to
/// go on. It inherits standard error.
///
/// # Errors
/// When the program cannot be started or waited for.
pub fn watch(
    command: &mut Command,
    limits: Limits,
    mut take: impl FnMut(&str) -> bool,
) -> Outcome<End> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let failed = |e: std::io::Error| format!("{shown}: {e}");
    let begun = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let lines = lines_of(&mut child);
    let mut due: BTreeMap<String, Instant> = BTreeMap::new();
    let mut ended = None;
    loop {
        let line = lines.recv_timeout(TICK);
        let now = Instant::now();
        match line {
            Ok(line) => {
                if let Some(name) = slow(&line) {
                    let left = limits.test.saturating_sub(NAMED_AFTER);
                    due.insert(name.to_owned(), now + left);
                } else if let Some((name, _)) = result(&line) {
                    due.remove(name);
                }
                if !take(&line) {
                    if ended.is_none() {
                        end(&mut child)?;
                    }
                    return Ok(End::Stopped);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK / 4),
        }
        if ended.is_none() {
            let status = child.try_wait().map_err(failed)?;
            ended = status.map(|status| (status.success(), now));
        }
        if let Some((success, at)) = ended {
            if line_is_last(&lines, &mut take) || now.duration_since(at) > DRAIN {
                return Ok(End::Ended(success));
            }
            continue;
        }
        let late: Vec<String> = (due.iter().filter(|(_, at)| **at <= now))
            .map(|(name, _)| name.clone())
            .collect();
        if !late.is_empty() {
            end_late(&mut child)?;
            return Ok(End::Late(late));
        }
        if now.duration_since(begun) > limits.program {
            end_late(&mut child)?;
            return Ok(End::Overran);
        }
    }
}

/// Takes what has already come. Whether nothing more can come.
fn line_is_last(lines: &mpsc::Receiver<String>, take: &mut impl FnMut(&str) -> bool) -> bool {
    loop {
        match lines.try_recv() {
            Ok(line) => {
                take(&line);
            }
            Err(mpsc::TryRecvError::Empty) => return false,
            Err(mpsc::TryRecvError::Disconnected) => return true,
        }
    }
}

/// A thread that reads the program's output, so that a silent program can be ended.
fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                let line = line.trim_end_matches('\r').to_owned();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    lines
}

/// Prints where a program and all processes below it are, then ends them.
fn end_late(child: &mut Child) -> Outcome<()> {
    let mut all = vec![child.id()];
    all.extend(descendants(child.id()));
    println!("{}", stacks::of(&all));
    end(child)
}

/// Kills a program and all processes below it, and waits for it.
fn end(child: &mut Child) -> Outcome<()> {
    let below: Vec<String> = descendants(child.id()).iter().map(u32::to_string).collect();
    // It may have ended by itself; then there is nothing to kill.
    drop(child.kill());
    if !below.is_empty() {
        let killed = Command::new("kill")
            .arg("-KILL")
            .args(&below)
            .stderr(Stdio::null())
            .status();
        killed.map_err(|e| format!("kill: {e}"))?;
    }
    child.wait().map_err(|e| format!("waiting: {e}"))?;
    Ok(())
}

/// Processes below `root`, from the parents that `/proc/*/stat` gives.
fn descendants(root: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|n| n.parse::<u32>().ok())
        else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        parents.extend(parent(&stat).map(|parent| (pid, parent)));
    }
    let mut found: Vec<u32> = vec![root];
    let mut next = 0;
    while let Some(&above) = found.get(next) {
        next += 1;
        let children = parents.iter().filter(|(_, parent)| *parent == above);
        found.extend(children.map(|(pid, _)| *pid));
    }
    found.split_off(1)
}

/// The parent in a line of `/proc/PID/stat`: the second field behind the name in parentheses.
fn parent(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(300);

    fn shell(script: &str, limits: Limits) -> (End, Vec<String>) {
        let mut lines = Vec::new();
        let end = watch(Command::new("sh").args(["-c", script]), limits, |line| {
            lines.push(line.to_owned());
            line != "enough"
        });
        (end.expect("sh is everywhere"), lines)
    }

    #[test]
    fn what_ends_by_itself_is_read_to_its_last_line() {
        let limits = Limits {
            test: LONG,
            program: LONG,
        };
        let (end, lines) = shell("echo a; echo b; exit 3", limits);
        assert_eq!((end, lines.len()), (End::Ended(false), 2));
        let (end, lines) = shell("seq 5000", limits);
        assert_eq!((end, lines.len()), (End::Ended(true), 5000));
        assert_eq!(shell("echo enough; sleep 600", limits).0, End::Stopped);
        // A process that is left behind holds the pipe.
        assert_eq!(shell("sleep 20 & echo a", limits).0, End::Ended(true));
    }

    #[test]
    fn a_test_that_hangs_is_named_and_ended_with_its_children() {
        let limits = Limits {
            test: NAMED_AFTER + Duration::from_millis(300),
            program: LONG,
        };
        let hangs = "echo 'test quick::one has been running for over 60 seconds'; \
             echo 'test lost::wake has been running for over 60 seconds'; \
             echo 'test quick::one ... ok'; sleep 598.125 & sleep 599; echo late";
        let begun = Instant::now();
        let (end, lines) = shell(hangs, limits);
        assert_eq!(end, End::Late(vec!["lost::wake".to_owned()]));
        assert_eq!(lines.len(), 3);
        assert!(begun.elapsed() < LONG);
        let mut running = Command::new("sh");
        running.args(["-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"]);
        let running = running.output().expect("sh is everywhere").stdout;
        let running = String::from_utf8_lossy(&running).into_owned();
        assert!(!running.contains("sleep 598.125 "), "{running}");
    }

    #[test]
    fn a_program_that_says_nothing_is_ended_too() {
        let limits = Limits {
            test: LONG,
            program: Duration::from_millis(200),
        };
        assert_eq!(shell("exec sleep 600", limits).0, End::Overran);
    }

    #[test]
    fn lines_of_the_harness_are_read() {
        let line = "test a::b has been running for over 60 seconds";
        assert_eq!(slow(line), Some("a::b"));
        assert_eq!(slow("test a::b ... ok"), None);
        for (line, expected) in [
            ("test a::b ... ok", Some(("a::b", true))),
            ("test a - should panic ... ok", Some(("a", true))),
            ("test a::b ... FAILED", Some(("a::b", false))),
            ("test a ... ignored", Some(("a", true))),
            ("test result: ok. 1 passed", None),
        ] {
            assert_eq!(result(line), expected, "{line}");
        }
        assert_eq!(parent("12 (a ) b) S 7 1 1"), Some(7));
        assert_eq!(parent(""), None);
    }
}
