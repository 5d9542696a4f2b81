//! A canary that runs, and the stalls that it prints.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Nothing here takes as long, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// After so long without a stall an injection is over.
const QUIET: Duration = Duration::from_millis(700);

/// A canary that runs.
pub struct Canary {
    child: Child,
    lines: Receiver<String>,
}

/// A stall as it was printed: milliseconds, its class, and by how many the heartbeat was overdue.
pub type PrintedStall = (f64, String, f64);

/// The binary with these arguments, and nothing of the user's.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redolab"));
    command
        .args(["watch", "--canary"])
        .args(arguments)
        .env_remove("COLUMNS")
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// `12.3 s: stall of 1,234 ms, storage: …`
fn read_stall(line: &str) -> Option<PrintedStall> {
    let (_, rest) = line.split_once(" s: stall of ")?;
    let (ms, rest) = rest.split_once(" ms, ")?;
    let (class, _) = rest.split_once(':')?;
    Some((ms.replace(',', "").parse().ok()?, class.to_owned(), 0.0))
}

/// `heartbeat overdue 1,234 ms`, in a later line of a stall.
fn read_overdue(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once("heartbeat overdue ")?;
    let (ms, _) = rest.split_once(" ms")?;
    ms.replace(',', "").parse().ok()
}

impl Canary {
    /// Starts one, and waits for its first line.
    pub fn start(arguments: &[&str]) -> Canary {
        let mut child = command(arguments).spawn().expect("starts");
        let stream = child.stderr.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                // Beside the figures, which are on standard output.
                eprintln!("{line}");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let canary = Canary { child, lines };
        let first = canary.lines.recv_timeout(PATIENCE).expect("a line");
        assert!(first.starts_with("Probing "), "{first}");
        canary
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stalls from now on until none is printed for a while.
    pub fn stalls(&self) -> Vec<PrintedStall> {
        let mut found = Vec::new();
        let until = Instant::now() + PATIENCE;
        let mut last = None;
        while Instant::now() < until {
            let quiet = last.is_some_and(|at: Instant| at.elapsed() > QUIET);
            if quiet {
                return found;
            }
            let line = self.lines.recv_timeout(Duration::from_millis(50));
            let Ok(line) = line else { continue };
            if let Some(stall) = read_stall(&line) {
                last = Some(Instant::now());
                found.push(stall);
            } else if let (Some(overdue), Some(stall)) = (read_overdue(&line), found.last_mut()) {
                stall.2 = overdue;
            }
        }
        found
    }

    /// Stalls that were printed and not yet taken.
    pub fn leftover(&self) -> Vec<PrintedStall> {
        self.lines
            .try_iter()
            .filter_map(|line| read_stall(&line))
            .collect()
    }

    /// Ends it as Ctrl-C does: its exit code, and what it printed.
    pub fn interrupt(self) -> (Option<i32>, Value) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        self.wait()
    }

    /// Waits for its end: its exit code, and what it printed.
    pub fn wait(mut self) -> (Option<i32>, Value) {
        let mut text = String::new();
        let mut stdout = self.child.stdout.take().expect("piped");
        stdout.read_to_string(&mut text).expect("text");
        let code = self.child.wait().expect("ends").code();
        let json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        (code, json)
    }

    /// Kills it.
    pub fn kill(self) {
        drop(self);
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
