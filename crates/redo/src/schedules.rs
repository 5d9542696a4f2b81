//! Drawn schedules of whole logs, under shuttle: the engine as it is (sessions, turn-taking, host,
//! writer, log writer's thread, control information) over a simulated disk that ends operations in
//! an order of its own. Everything that happens follows from the schedule.
//!
//! Somewhere in each schedule the power is cut: what had been acknowledged by then must be
//! recovered from what the cut left. At the end everything is reported or refused, nobody sleeps.
//!
//! A failure prints its schedule; `REDO_SCHEDULE` replays it. `REDO_SCHEDULES` sets how many are
//! drawn, `REDO_SCHEDULE_SEED` which. What it leaves out: orders of memory (loom's part).

mod disk;
mod foreground;

use crate::control::{CONTROL_BYTES, ControlFile};
use crate::engine::{Layout, Log, LogWriter, Options};
use crate::format::{LifeId, LogId};
use crate::group::Geometry;
use crate::planted::{Bug, Planted};
use crate::recovery::{DamageScan, recover};
use crate::triggers::Triggers;
use crate::writer::Policy;
use crate::{Error, Rba};
use device::LogDevice;
use device::sim_disk::{CrashMix, SimDisk};
use disk::Drawn;
use foreground::{Later, foreground, take};
use shuttle::rand::{Rng, RngCore, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner, thread};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const GEOMETRY: Geometry = Geometry {
    block_bytes: 512,
    seal_blocks: 1,
    groups: 2,
    blocks_per_group: 4,
    header_bytes: 2048,
    file_bytes: 2048 + 4 * 512,
};
const SESSIONS: u32 = 3;
const EACH: u32 = 3;
const EIO: i32 = 5;

/// What a history is about.
#[derive(Clone, Copy)]
struct Case {
    log_writer: LogWriter,
    planted: Planted,
    /// One operation in so many fails; never where it is zero.
    fails: u32,
    /// Batches in flight at most: several where the log writer is pipelined.
    depth: u32,
    /// The disk's queues count as such that block, so that workers are threads.
    blocking: bool,
    /// Foregrounds begin and cease to poll at any moment.
    polls: bool,
    /// Somebody looks at the history, for which the baton is taken.
    looks: bool,
    triggers: Triggers,
    /// The log is large enough that flushes are deferred.
    roomy: bool,
}

impl Case {
    fn geometry(self) -> Geometry {
        let blocks_per_group = GEOMETRY.blocks_per_group * if self.roomy { 4 } else { 1 };
        Geometry {
            blocks_per_group,
            file_bytes: GEOMETRY.header_bytes + blocks_per_group * 512,
            ..GEOMETRY
        }
    }
}

/// A number below `limit`, or zero, as the schedule has it.
fn below(limit: u32) -> u32 {
    thread_rng().gen_range(0..limit.max(1))
}

/// What a power cut found and left.
struct Cut {
    acknowledged: Vec<(Rba, Vec<u8>)>,
    data: Vec<u8>,
    control: Vec<u8>,
}

/// What the threads of a history share beside the log. Its locks are never held over a place where
/// the schedule may go on elsewhere.
struct World {
    data: Arc<Drawn>,
    control: SimDisk,
    geometry: Geometry,
    /// Foregrounds pause between appending and committing.
    pauses: bool,
    acknowledged: Mutex<Vec<(Rba, Vec<u8>)>>,
    busy: AtomicU32,
}

impl World {
    fn cut(&self) -> Cut {
        let mut rng = thread_rng().next_u64();
        let mix = CrashMix::default();
        Cut {
            acknowledged: self.acknowledged.lock().expect("whole").clone(),
            data: self.data.disk.crash(&mut rng, &mix).image,
            control: self.control.durable_image(),
        }
    }

    /// Recovers what a cut left: every acknowledged record behind the checkpoint is there.
    fn judge(&self, cut: Cut) {
        let control = self.control.after_crash(cut.control);
        let data = self.data.disk.after_crash(cut.data);
        for disk in [&control, &data] {
            disk.set_immediate(true);
        }
        let path = Path::new("redo.ctl");
        let mut control = ControlFile::load(Arc::new(control), path).expect("a whole copy");
        let from = control.info().checkpoint;
        let data: Arc<dyn LogDevice> = Arc::new(data);
        let life = LifeId::from_bytes([3; 16]).expect("not zero");
        let begin = (life, DamageScan::default());
        let recovery =
            recover(&data, &mut control, path, begin, Planted::none()).expect("it opens");
        let mut found = Vec::new();
        recovery
            .recover(|rba, record| {
                found.push((rba, record.to_vec()));
                Ok::<(), crate::Error>(())
            })
            .expect("readable");
        let from = self.geometry.rba(from.block, from.offset.into());
        for (rba, record) in cut.acknowledged.iter().filter(|(rba, _)| *rba >= from) {
            assert!(
                found.contains(&(*rba, record.clone())),
                "{rba} was acknowledged and is not recovered from {from} on"
            );
        }
    }
}

/// What goes on beside the foregrounds as long as they are busy.
fn beside(world: &World, log: &Log, case: Case) {
    while world.busy.load(Ordering::SeqCst) > 0 {
        if case.looks {
            match log.history() {
                Ok(kept) => assert!(kept.is_some(), "it is kept"),
                Err(Error::Poisoned(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        if case.polls {
            log.change_mind(below(2) == 0, below(2) == 0);
        }
        match log.checkpoint(log.durable()) {
            Ok(()) | Err(Error::Poisoned(_)) => thread::yield_now(),
            Err(other) => panic!("{other}"),
        }
    }
}

/// Closes or drops the log.
fn end(log: Log) {
    if below(2) == 0 {
        match log.close() {
            Ok(()) | Err(Error::Poisoned(_) | Error::CheckpointIncomplete) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

fn history(case: Case) {
    let geometry = case.geometry();
    let control = SimDisk::new(CONTROL_BYTES as usize, 512, false);
    control.set_immediate(true);
    let shared: Arc<dyn LogDevice> = Arc::new(control.clone());
    crate::control::ControlFile::format(Arc::clone(&shared), geometry, LogId([3; 16]))
        .expect("healthy");
    let bytes = geometry.file_bytes as usize * geometry.groups as usize;
    let disk = SimDisk::new(bytes, 512, below(4) == 0);
    let data = Arc::new(Drawn {
        disk,
        fails: Arc::default(),
        blocking: case.blocking,
    });
    let gather = below(2) == 0;
    let options = Options {
        log_writer: case.log_writer,
        buffer_bytes: 1 << 20,
        policy: Policy {
            gather,
            depth: case.depth,
            ..Policy::default()
        },
        planted: case.planted,
        record_history: case.looks,
        triggers: case.triggers,
        ..Options::default()
    };
    let opened = Log::builder(Layout::devices(data.clone(), shared))
        .options(options)
        .open();
    let log = Arc::new(opened.expect("nothing fails yet").0);
    data.fails.store(case.fails, Ordering::SeqCst);
    let world = Arc::new(World {
        data,
        control,
        geometry,
        pauses: case.roomy,
        acknowledged: Mutex::default(),
        busy: AtomicU32::new(SESSIONS),
    });
    let threads: Vec<_> = (0..SESSIONS)
        .map(|who| {
            let (world, session) = (Arc::clone(&world), log.session());
            let later = log.completions(EACH as usize);
            thread::spawn(move || foreground(&world, session, later, who))
        })
        .collect();
    let checkpoints = {
        let (world, log) = (Arc::clone(&world), Arc::clone(&log));
        thread::spawn(move || beside(&world, &log, case))
    };
    for _ in 0..below(40) {
        thread::yield_now();
    }
    let cut = world.cut();
    let left: Vec<Later> = threads
        .into_iter()
        .map(|thread| thread.join().expect("no panic"))
        .collect();
    checkpoints.join().expect("no panic");
    world.judge(cut);
    let log = Arc::into_inner(log).expect("all others are gone");
    end(log);
    for mut later in left {
        while later.wait() > 0 {
            take(&world, &mut later);
        }
    }
    world.judge(world.cut());
    assert_eq!(world.data.disk.violations(), Vec::<String>::new());
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn config() -> Config {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::Print;
    config.max_steps = MaxSteps::FailAfter(200_000);
    config.silence_warnings = true;
    config
}

/// Draws schedules: half at random, half with few changes of priority at drawn moments, which
/// reaches what needs one thread to stand still for long.
fn draw(schedules: u64, model: impl Fn() + Send + Sync + 'static) {
    draw_exactly(number("REDO_SCHEDULES").unwrap_or(schedules), model);
}

/// The same with a number of schedules that nothing changes: a planted bug needs so many.
fn draw_exactly(schedules: u64, model: impl Fn() + Send + Sync + 'static) {
    if let Ok(schedule) = std::env::var("REDO_SCHEDULE") {
        return shuttle::replay(model, &schedule);
    }
    let seed = number("REDO_SCHEDULE_SEED").unwrap_or(1);
    let half = (schedules / 2) as usize;
    println!("REDO_SCHEDULE_SEED={seed} REDO_SCHEDULES={}", 2 * half);
    let begun = std::time::Instant::now();
    let model = Arc::new(model);
    let steps = Arc::clone(&model);
    Runner::new(RandomScheduler::new_from_seed(seed, half), config()).run(move || steps());
    Runner::new(PctScheduler::new_from_seed(seed, 4, half), config()).run(move || model());
    println!("{} schedules in {:.1?}", 2 * half, begun.elapsed());
}

fn healthy(log_writer: LogWriter) -> Case {
    Case {
        log_writer,
        planted: Planted::none(),
        fails: 0,
        depth: 1,
        blocking: false,
        polls: false,
        looks: false,
        triggers: Triggers::default(),
        roomy: false,
    }
}

fn workers(log_writer: LogWriter) -> Case {
    Case {
        blocking: true,
        ..healthy(log_writer)
    }
}

#[test]
fn foregrounds_lead_for_each_other() {
    draw(4_000, || history(healthy(LogWriter::Inline)));
    draw(2_000, || history(healthy(LogWriter::Auto)));
}

#[test]
fn a_dedicated_log_writer_serves_all() {
    draw(4_000, || history(healthy(LogWriter::Lgwr)));
}

#[test]
fn a_pipelined_log_writer_has_several_batches_in_flight() {
    for depth in [2, 4] {
        let case = Case {
            depth,
            ..healthy(LogWriter::Lgwr)
        };
        draw(3_000, move || history(case));
    }
}

#[test]
fn workers_end_what_they_are_given_in_any_order() {
    for log_writer in [
        LogWriter::Workers(1),
        LogWriter::Workers(3),
        LogWriter::Adaptive,
    ] {
        draw(1_000, move || history(workers(log_writer)));
    }
}

#[test]
fn foregrounds_begin_and_cease_to_poll_at_any_moment() {
    for case in [
        healthy(LogWriter::Auto),
        healthy(LogWriter::Inline),
        healthy(LogWriter::Lgwr),
        workers(LogWriter::Workers(2)),
    ] {
        let case = Case {
            polls: true,
            ..case
        };
        draw(1_000, move || history(case));
    }
}

/// No flush trigger writes for a session that finds the log buffer full while another one leads who
/// wants nothing afterwards.
#[test]
fn a_full_log_buffer_is_written_whatever_the_triggers_are() {
    let triggers = Triggers {
        commit: true,
        ..Triggers::NONE
    };
    let case = Case {
        triggers,
        ..healthy(LogWriter::Inline)
    };
    draw(2_000, move || history(case));
}

/// Each append makes the log writer write redo that nobody waits for yet, on a log with room enough
/// to defer its flush. Commits ask for nothing: what they wait for is written, or will be.
fn deferring(log_writer: LogWriter, depth: u32) -> Case {
    Case {
        triggers: Triggers::NONE.bytes(Some(1)),
        depth,
        roomy: true,
        ..healthy(log_writer)
    }
}

/// A thread that begins to wait for redo that is written and not flushed is served, on each log
/// writer.
#[test]
fn late_waiters_have_deferred_redo_flushed() {
    for (log_writer, depth, blocking) in [
        (LogWriter::Auto, 1, false),
        (LogWriter::Inline, 1, false),
        (LogWriter::Lgwr, 1, false),
        (LogWriter::Lgwr, 4, false),
        (LogWriter::Workers(2), 1, true),
        (LogWriter::Adaptive, 1, true),
    ] {
        let case = Case {
            blocking,
            ..deferring(log_writer, depth)
        };
        draw(1_000, move || history(case));
        let triggers = case.triggers.commit(true);
        draw(1_000, move || history(Case { triggers, ..case }));
    }
}

/// A session that finds the baton taken by a thread that only looks is not forgotten.
#[test]
fn who_looks_at_the_history_hands_the_baton_on() {
    let case = Case {
        looks: true,
        ..healthy(LogWriter::Inline)
    };
    draw(2_000, move || history(case));
}

/// After the first failure nothing more is acknowledged, and every session gets an error.
#[test]
fn a_failure_is_told_to_all() {
    for (log_writer, depth, blocking) in [
        (LogWriter::Auto, 1, false),
        (LogWriter::Inline, 1, false),
        (LogWriter::Lgwr, 1, false),
        (LogWriter::Lgwr, 4, false),
        (LogWriter::Workers(2), 1, true),
    ] {
        let case = Case {
            fails: 6,
            depth,
            blocking,
            ..healthy(log_writer)
        };
        draw(2_000, move || history(case));
    }
}

/// A planted bug is found within so many schedules.
const BUG_SCHEDULES: u64 = 10_000;
/// A bump that is missing is noticed only where a sleeper's word did not change for another reason:
/// in 1 of 5,000 to 15,000 schedules, as the seed is.
const MISSING_BUMP_SCHEDULES: u64 = 100_000;

/// The search for it takes as long as all others.
#[test]
fn a_missing_bump_is_found() {
    expect_found(&[(Bug::MissingBump, healthy(LogWriter::Inline))]);
}

#[test]
fn planted_bugs_are_found() {
    let inline = healthy(LogWriter::Inline);
    let lgwr = healthy(LogWriter::Lgwr);
    expect_found(&[
        (Bug::NoHandOff, inline),
        (Bug::NoHandOff, healthy(LogWriter::Auto)),
        (Bug::LostChain, lgwr),
        (Bug::SlotReuse, inline),
        (Bug::AcknowledgeBeforeFlush, lgwr),
        (Bug::OverReserve, inline),
        (Bug::CancelLosesOthers, inline),
        (Bug::DeferUnlooked, deferring(LogWriter::Inline, 1)),
        (Bug::LateWaiterSleeps, deferring(LogWriter::Inline, 1)),
        (Bug::LateWaiterSleeps, deferring(LogWriter::Lgwr, 1)),
        (Bug::LateWaiterSleeps, deferring(LogWriter::Lgwr, 4)),
        (Bug::PublishDeferred, deferring(LogWriter::Inline, 1)),
    ]);
}

/// Each bug, and how many schedules it took. Who sleeps for ever is found by those who wait for it
/// without sleeping: the schedule does not end.
fn expect_found(bugs: &[(Bug, Case)]) {
    let mut escaped = Vec::new();
    for &(bug, case) in bugs {
        let case = Case {
            planted: Planted::with(bug),
            ..case
        };
        let schedules = match bug {
            Bug::MissingBump => MISSING_BUMP_SCHEDULES,
            _ => BUG_SCHEDULES,
        };
        let run = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&run);
        let found = std::panic::catch_unwind(move || {
            draw_exactly(schedules, move || {
                count.fetch_add(1, Ordering::SeqCst);
                history(case);
            });
        });
        let run = run.load(Ordering::SeqCst);
        match found {
            Err(_) => println!("{bug:?}: after {run} schedules"),
            Ok(()) => escaped.push(bug),
        }
    }
    assert!(escaped.is_empty(), "not found: {escaped:?}");
}
