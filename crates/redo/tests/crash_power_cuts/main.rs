//! Power cuts, two ways.
//!
//! **By file-system shutdown** (here, `life`, `control`): a child commits on a file system of its
//! own, on a loop device; at a random moment the file system is shut down without writing its
//! journal, as if the power had gone; the page cache dies with it. It is mounted again, the log is
//! recovered, and every commit that was acknowledged through a pipe, outside the file system, is
//! looked for. What this cannot see: the device's own cache is not lost, so a direct write that
//! was never flushed survives. That is seen
//!
//! **by crash states between flushes** (`requests`, `states`, `fuse`): the block requests of the
//! same child are logged below its file system, and the log is recovered from what a power cut at
//! any of them may have left.
//!
//! **With requests held** (`fences`, `late`, `held`, `shelf`): the log's files themselves are
//! served over FUSE, several requests at once, so that one can be held while others pass: a write
//! in flight across a flush or beyond the end of its process.
//!
//! Controls that acknowledge without a flush must lose, or all this would prove nothing.
//!
//! `REDO_CUTS` sets how many cuts for each file system and back end (3), `REDO_CUT_STATES` how
//! many crash states of each back end (100), `REDO_CUT_FS` and `REDO_CUT_METHODS` which (all),
//! `REDO_CUT_SEED` repeats the choices of a run; with `REDO_CUT_REQUIRED` nothing is skipped.
//! `REDO_CUT_CSV` and `REDO_CUT_STATES_CSV` name files to which a line is appended for each kind of
//! cut and of crash states. `cargo xtask prove cuts` sets them.

#[path = "../common/mod.rs"]
mod common;
mod control;
mod fences;
mod fuse;
mod held;
mod late;
mod life;
mod members;
mod program;
mod requests;
mod rings;
mod shelf;
mod states;
mod volume;

use common::WRITERS;
use control::Control;
use device::{IoEngine, SyncMethod};
use life::{Known, Told, Way};
use measure::workload::split_mix;
use redo::LogWriter;
use requests::{Bench, Explored};
use std::fmt::Display;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use volume::Volume;

/// File systems that can be shut down.
const FILE_SYSTEMS: [&str; 2] = ["ext4", "xfs"];
/// How operations are handed to the system; one that is refused here falls back to the other.
const ENGINES: [IoEngine; 2] = [IoEngine::Threads, IoEngine::IoUring];
/// A log lives through as many cuts before the next is made, which is cut at too.
const CUTS_A_LOG: u64 = 7;
/// Every so many cuts one comes early, while the child makes, opens or recovers the log.
const EARLY_EVERY: u64 = 4;
/// Cuts in which a control may get away with it.
const CONTROL_CUTS: u64 = 20;

#[test]
fn acknowledged_commits_survive_power_cuts() {
    be_what_was_asked();
    let _alone = alone();
    let cuts = life::number("REDO_CUTS").unwrap_or(3);
    let seed = seed();
    println!("REDO_CUT_SEED={seed} REDO_CUTS={cuts}");
    let mut state = seed;
    let file_systems = chosen("REDO_CUT_FS", FILE_SYSTEMS.map(str::to_owned).to_vec());
    for kind in &file_systems {
        let what = format!("power cuts on {kind}");
        let Some(volume) = here(&what, Volume::make(kind)) else {
            continue;
        };
        for (method, io) in back_ends() {
            let what = format!("{method}, {}", io.name());
            let tally = cut_and_recover(&volume, method, io, cuts, &mut state)
                .unwrap_or_else(|problem| panic!("seed {seed}, {kind}, {what}: {problem}"));
            println!("{}", tally.line(kind, &what));
            tally.csv([kind, &method.to_string(), io.name()], seed);
            // All but the early ones, where the machine is slow enough.
            assert!(
                tally.busy * 2 >= cuts,
                "seed {seed}: most cuts hit a log at work"
            );
        }
        for control in Control::all() {
            let tally = cut_until_lost(&volume, control, &mut state);
            println!("{}", tally.line(kind, control.name()));
            tally.csv([kind, control.name(), ""], seed);
            assert!(
                tally.lost > 0,
                "seed {seed}, {kind}: {} lost nothing, so these cuts prove nothing",
                control.name()
            );
        }
    }
}

/// The one that was asked for, or a new one.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    life::number("REDO_CUT_SEED").unwrap_or(now.map_or(1, |t| t.as_nanos() as u64))
}

#[test]
fn acknowledged_commits_survive_crashes_between_flushes() {
    let _alone = alone();
    let count = life::number("REDO_CUT_STATES").unwrap_or(100);
    let seed = seed();
    println!("REDO_CUT_SEED={seed} REDO_CUT_STATES={count}");
    let mut state = seed;
    let Some(bench) = here("crash states", Bench::make()) else {
        return;
    };
    let share = count.div_ceil(WRITERS.len() as u64);
    for (method, io) in back_ends() {
        let mut under_way = 0;
        for writer in WRITERS {
            let way = Way {
                method,
                io,
                writer,
                control: None,
            };
            let what = format!("{method}, {}, {writer}", io.name());
            let explored = crash_states(&bench, &what, &way, share, &mut state);
            csv(
                &explored,
                [&method.to_string(), io.name(), &writer.to_string()],
                seed,
            );
            let first = explored.what.unwrap_or_default();
            assert_eq!(explored.lost, 0, "seed {seed}, {what}: {first}");
            under_way += explored.under_way;
        }
        // More than half, as a rule: most crashes come right after a write.
        assert!(
            under_way * 5 >= count,
            "seed {seed}, {method}, {}: {under_way} states with writes under way",
            io.name()
        );
    }
    let way = Way {
        method: SyncMethod::Direct,
        io: IoEngine::Threads,
        writer: LogWriter::Inline,
        control: Some(Control::Planted),
    };
    let explored = crash_states(&bench, Control::Planted.name(), &way, count, &mut state);
    csv(&explored, [Control::Planted.name(), "", ""], seed);
    assert!(explored.lost > 0, "seed {seed}: the control lost nothing");
}

/// What came of crash states as a line of data (experiments/power-cuts).
fn csv(explored: &Explored, [method, io, writer]: [&str; 3], seed: u64) {
    let Explored {
        states,
        under_way,
        lost,
        ..
    } = explored;
    let heading = "method,io,log_writer,states,under_way,lost,seed";
    let line = format!("{method},{io},{writer},{states},{under_way},{lost},{seed}");
    common::csv_line("REDO_CUT_STATES_CSV", heading, &line);
}

/// Records a life and recovers from `count` crash states of it; returns what came of them.
fn crash_states(bench: &Bench, what: &str, way: &Way, count: u64, state: &mut u64) -> Explored {
    let name = what.replace([' ', ',', ':'], "-");
    let recording = bench.record(&name, way);
    let recording = recording.unwrap_or_else(|problem| panic!("{what}: {problem}"));
    let [writes, flushes, acks] = recording.counts();
    let explored = recording.explore(count, state);
    let explored = explored.unwrap_or_else(|problem| panic!("{what}: {problem}"));
    let Explored {
        states,
        under_way,
        lost,
        ..
    } = explored;
    println!(
        "{what}: {writes} writes, {flushes} flushes, {acks} commits acknowledged; {states} crash \
         states, {under_way} with writes under way, lost in {lost}"
    );
    assert!(acks > 0, "{what}: nothing was acknowledged");
    explored
}

/// One test at a time: a child that one starts holds the lock of a log that the other has open,
/// from its fork to its exec.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A test that failed has left nothing behind that the next would see.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Children and janitors are this program too.
fn be_what_was_asked() {
    if life::is_child() {
        life::child();
    }
    if members::is_child() {
        members::child();
    }
    if held::is_life() {
        held::live();
    }
    if volume::is_janitor() {
        volume::janitor();
    }
}

/// Every way to make a write durable, through every engine.
fn back_ends() -> Vec<(SyncMethod, IoEngine)> {
    let methods = chosen("REDO_CUT_METHODS", SyncMethod::ALL.to_vec());
    let with_engines = |method| ENGINES.map(|io| (method, io));
    methods.into_iter().flat_map(with_engines).collect()
}

/// What the variable names, or all.
fn chosen<T: std::str::FromStr<Err: Display>>(name: &str, all: Vec<T>) -> Vec<T> {
    let Ok(words) = std::env::var(name) else {
        return all;
    };
    let read = |word: &str| {
        word.trim()
            .parse()
            .unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    words.split(',').map(read).collect()
}

/// What could be made here; says why it skips.
fn here<T>(what: &str, made: Result<T, String>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(why) if std::env::var_os("REDO_CUT_REQUIRED").is_some() => panic!("{what}: {why}"),
        Err(why) => {
            println!("skipped: {what}: {why}");
            None
        }
    }
}

/// What came of the cuts of one kind.
#[derive(Default)]
struct Tally {
    cuts: u64,
    /// Cuts that hit a log which had acknowledged a commit in that life.
    busy: u64,
    acknowledged: usize,
    /// Cuts after which something acknowledged was missing.
    lost: u64,
}

impl Tally {
    /// The same as a line of data (experiments/power-cuts).
    fn csv(&self, [file_system, method, io]: [&str; 3], seed: u64) {
        let Tally {
            cuts,
            busy,
            acknowledged,
            lost,
        } = self;
        let heading = "file_system,method,io,cuts,busy,acknowledged,lost,seed";
        let line =
            format!("{file_system},{method},{io},{cuts},{busy},{acknowledged},{lost},{seed}");
        common::csv_line("REDO_CUT_CSV", heading, &line);
    }

    fn line(&self, kind: &str, what: &str) -> String {
        let Tally {
            cuts,
            busy,
            acknowledged,
            lost,
        } = self;
        let head = format!(
            "{kind}, {what}: {cuts} cuts, {busy} during commits, {acknowledged} commits \
             acknowledged, lost in {lost} cuts"
        );
        if *lost > 0 || *cuts < 10 {
            return head;
        }
        // With none in n tries the rate is below 3/n with 95 % confidence: of few it says little.
        format!("{head} (below {:.2} % of cuts, 95 %)", 300.0 / *cuts as f64)
    }
}

/// One log after the other through `cuts` power cuts; the error is a loss or a failure.
fn cut_and_recover(
    volume: &Volume,
    method: SyncMethod,
    io: IoEngine,
    cuts: u64,
    state: &mut u64,
) -> Result<Tally, String> {
    let directory = volume.at().join(method.name());
    let mut tally = Tally::default();
    let mut known = None;
    for cut in 0..cuts {
        if cut % CUTS_A_LOG == 0 {
            known = None;
            remove(&directory);
        }
        let way = Way {
            method,
            io,
            writer: WRITERS[(split_mix(state) % WRITERS.len() as u64) as usize],
            control: None,
        };
        let moment = Duration::from_micros(split_mix(state) % 60_000);
        let early = cut % EARLY_EVERY == EARLY_EVERY - 1;
        let told = life::until_cut(volume, &directory, &way, early, moment)
            .map_err(|what| format!("cut {cut}: {what}"))?;
        tally.cuts += 1;
        tally.busy += u64::from(!told.acks.is_empty());
        tally.acknowledged += told.acks.len();
        known = after(&directory, known, &told)
            .map_err(|what| format!("cut {cut} after {moment:?}, {}: {what}", way.writer))?;
        if known.is_none() {
            remove(&directory);
        }
    }
    remove(&directory);
    Ok(tally)
}

/// What must be there from now on: `None` where the log was being made and not yet reported.
fn after(directory: &Path, known: Option<Known>, told: &Told) -> Result<Option<Known>, String> {
    let mut acknowledged = match known {
        Some(known) => known,
        None if told.created => Known::default(),
        None => return Ok(None),
    };
    for &(who, which) in &told.acks {
        acknowledged[who as usize] = Some(which);
    }
    life::verify(directory, &acknowledged).map(Some)
}

/// The control through cuts until it loses.
fn cut_until_lost(volume: &Volume, control: Control, state: &mut u64) -> Tally {
    let directory = volume.at().join("control");
    let mut tally = Tally::default();
    while tally.lost == 0 && tally.cuts < CONTROL_CUTS {
        remove(&directory);
        let way = Way {
            method: SyncMethod::Buffered,
            io: IoEngine::Threads,
            writer: LogWriter::Inline,
            control: Some(control),
        };
        let moment = Duration::from_micros(split_mix(state) % 60_000);
        let told = life::until_cut(volume, &directory, &way, false, moment);
        let told = told.unwrap_or_else(|what| panic!("{}: {what}", control.name()));
        tally.cuts += 1;
        tally.busy += u64::from(!told.acks.is_empty());
        tally.acknowledged += told.acks.len();
        tally.lost += u64::from(control.lost(&directory, &told));
    }
    remove(&directory);
    tally
}

fn remove(directory: &Path) {
    match std::fs::remove_dir_all(directory) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            panic!("{}: {e}", directory.display())
        }
        _ => {}
    }
}
