//! Plays the plan: each cell in a child process, its directory made and removed around it.
//!
//! Invariants: one child at a time; a child that crashes, hangs or fills the disk is a row with a
//! reason and no more; nothing is left in the directory, also on Ctrl-C.

use crate::device::{Counters, stat_file};
use crate::outcome::{self, Flushed, Report, Row};
use crate::plan::{Cell, Plan};
use crate::{AnyError, peer, table};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the device is watched before each cell, with nothing of ours at work.
const IDLE: Duration = Duration::from_millis(300);
/// How often a child is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How often its directory is added up.
const ADD_UP: Duration = Duration::from_secs(1);

/// The directory of all cells, removed with what is in it.
struct Work(PathBuf);

impl Work {
    fn make(on: &Path) -> Result<Work, AnyError> {
        let path = on.join(format!("redolab-peers-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Work(path.canonicalize()?))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Err(e) = std::fs::remove_dir_all(&self.0) {
            eprintln!("peers: {} is left: {e}", self.0.display());
        }
    }
}

/// A child that never outlives its cell.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It has ended already, as a rule.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Runs the plan: data to the file as it comes, the table to standard output.
pub fn run(plan: &Plan) -> Result<ExitCode, AnyError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let stat = stat_file(&plan.on)?;
    let pebble = go_program(plan);
    let work = Work::make(&plan.on)?;
    room(plan, &work.0)?;
    let mut csv = match &plan.csv {
        Some(path) => Some(File::create(path).map_err(|e| format!("{}: {e}", path.display()))?),
        None => None,
    };
    if let Some(csv) = &mut csv {
        writeln!(csv, "{}", outcome::HEADING)?;
    }
    let mut rows = Vec::new();
    for round in 0..plan.rounds {
        for (name, threads) in plan.round(round) {
            let cell = Cell {
                directory: work.0.join(format!("{}-{threads}", name.replace(':', "-"))),
                peer: name,
                threads,
                seconds: plan.seconds,
                warm_up: plan.warm_up,
                stat: stat.clone(),
            };
            let row = play(plan, &cell, round, &pebble, &interrupted)?;
            if interrupted.load(Ordering::SeqCst) {
                eprintln!("peers: interrupted; what was measured so far is in the data");
                return Ok(ExitCode::from(130));
            }
            progress(&row);
            if let Some(csv) = &mut csv {
                writeln!(csv, "{}", outcome::line(&row))?;
            }
            rows.push(row);
        }
    }
    print!("{}", table::markdown(&rows));
    Ok(ExitCode::SUCCESS)
}

fn progress(row: &Row) {
    let Row {
        round,
        peer,
        threads,
        ..
    } = row;
    match (&row.outcome, row.per_s()) {
        (Ok(_), Some(per_s)) => {
            let flushed = match row.flushed() {
                Some(Flushed::No) => ", does not flush",
                Some(Flushed::Unclear) => ", others flush too much to tell whether it does",
                _ => "",
            };
            eprintln!("round {round}: {peer}, {threads} threads: {per_s:.0}/s{flushed}");
        }
        (Ok(_), None) => eprintln!("round {round}: {peer}, {threads} threads: nothing measured"),
        (Err(why), _) => eprintln!("round {round}: {peer}, {threads} threads: {why}"),
    }
}

/// Refuses a volume that has no room for one cell and some left.
fn room(plan: &Plan, work: &Path) -> Result<(), AnyError> {
    let output = Command::new("df")
        .args(["-B1", "--output=avail"])
        .arg(work)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let free: u64 = text
        .split_whitespace()
        .last()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    let needed = plan.max_bytes + (2 << 30);
    if free < needed {
        let (free, needed) = (free >> 30, needed >> 30);
        let on = plan.on.display();
        return Err(format!("{on} has {free} GiB free, {needed} are needed: see --max-gib").into());
    }
    Ok(())
}

/// Plays one cell. An error here ends the run; one of the child is the row's.
fn play(
    plan: &Plan,
    cell: &Cell,
    round: u32,
    pebble: &Result<PathBuf, String>,
    interrupted: &AtomicBool,
) -> Result<Row, AnyError> {
    std::fs::create_dir(&cell.directory)?;
    // What the last cell removed is made durable now, not in the middle of this one.
    File::open(&plan.on)?.sync_all()?;
    let before = Counters::read(&cell.stat)?;
    std::thread::sleep(IDLE);
    let idle = Counters::read(&cell.stat)?.since(before);
    let own = std::env::current_exe()?;
    let program = match peer::find(&cell.peer)?.0.open {
        Some(_) => Ok(&own),
        None => pebble.as_ref(),
    };
    let outcome = match program {
        Ok(program) => child(program, cell, plan.max_bytes, interrupted),
        Err(why) => Err(why.clone()),
    };
    std::fs::remove_dir_all(&cell.directory)?;
    Ok(Row {
        round,
        peer: cell.peer.clone(),
        threads: cell.threads,
        idle_flushes_per_s: idle.flushes as f64 / IDLE.as_secs_f64(),
        outcome,
    })
}

fn child(
    program: &Path,
    cell: &Cell,
    max_bytes: u64,
    interrupted: &AtomicBool,
) -> Result<Report, String> {
    let told = |e: std::io::Error| format!("{}: {e}", program.display());
    let child = Command::new(program)
        .arg("child")
        .args(cell.arguments())
        .env("WALRUS_DATA_DIR", &cell.directory)
        .env("WALRUS_QUIET", "1")
        .current_dir(&cell.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(told)?;
    let mut child = Ended(child);
    let output = child.0.stdout.take().map(drain);
    let errors = child.0.stderr.take().map(drain);
    let (begun, mut added_up) = (Instant::now(), Instant::now());
    let status = loop {
        if let Some(status) = child.0.try_wait().map_err(told)? {
            break status;
        }
        if interrupted.load(Ordering::SeqCst) {
            return Err("interrupted".to_owned());
        }
        if begun.elapsed() > cell.time_limit() {
            return Err(format!("ended after {} s", cell.time_limit().as_secs()));
        }
        if added_up.elapsed() > ADD_UP {
            let bytes = bytes_below(&cell.directory);
            if bytes > max_bytes {
                return Err(format!(
                    "ended: {} MiB of files; see --max-gib",
                    bytes >> 20
                ));
            }
            added_up = Instant::now();
        }
        std::thread::sleep(LOOK);
    };
    let text = |thread: Option<std::thread::JoinHandle<String>>| {
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    };
    let (output, errors) = (text(output), text(errors));
    let report = output
        .lines()
        .rev()
        .find_map(|line| serde_json::from_str(line).ok());
    match report {
        Some(report) if status.success() => Ok(report),
        _ => {
            let last = errors.lines().rev().find(|line| !line.trim().is_empty());
            Err(format!("{status}: {}", last.unwrap_or("it said nothing")))
        }
    }
}

/// Reads a pipe to its end, so that its writer never waits; the last mebibyte is kept.
fn drain(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut kept, mut part) = (Vec::new(), vec![0; 1 << 16]);
        while let Ok(got @ 1..) = pipe.read(&mut part) {
            kept.extend_from_slice(&part[..got]);
            let excess = kept.len().saturating_sub(1 << 20);
            kept.drain(..excess);
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

/// Bytes that the files below a directory take on the device.
fn bytes_below(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        Ok(found) => found.blocks() * 512,
        // Removed meanwhile.
        Err(_) => 0,
    });
    bytes.sum()
}

/// The Go program: the one that was named, or built here.
fn go_program(plan: &Plan) -> Result<PathBuf, String> {
    if let Some(program) = &plan.pebble {
        return program
            .canonicalize()
            .map_err(|e| format!("{}: {e}", program.display()));
    }
    if !plan.peers.iter().any(|name| name == peer::PEBBLE.name) {
        return Err("not asked for".to_owned());
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("pebble");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pebble");
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(&source)
        .output();
    match built {
        Ok(output) if output.status.success() => Ok(program),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!(
                "go build: {}",
                said.lines().last().unwrap_or_default()
            ))
        }
        Err(e) => Err(format!("go: {e}")),
    }
}
