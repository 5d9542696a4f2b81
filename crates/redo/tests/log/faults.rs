//! Failing devices under the threaded engine: after the first failed operation nothing is
//! acknowledged, everybody gets the error, and what was acknowledged before is recovered. And a
//! gate that completes operations in an order of its own.

use crate::common::{
    PATIENCE, Scratch, WRITERS, assert_prefixes, commit, options, record, recovered, until, whose,
};
use device::fault::{
    EINTR, EIO, ENOSPC, Fault, FaultDevice, FaultTarget, Gate, HeldOperation, Injection,
};
use device::{FileSet, IoEngine, LogDevice, OpKind, SyncMethod, UringFiles, UringOptions};
use redo::control::CONTROL_BYTES;
use redo::engine::Paths;
use redo::writer::{Cause, Policy};
use redo::{CommitMode, Error, Log, LogWriter, Options};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// The log in `directory` with a fault device around its data and another around its control
/// information.
struct Rig {
    data: Arc<FaultDevice>,
    control: Arc<FaultDevice>,
}

/// A back end: how writes are made durable, and how they are handed to the system.
type Way = (SyncMethod, IoEngine);

const PLAIN: Way = (SyncMethod::Buffered, IoEngine::Threads);

/// Every back end that this system permits below `directory`.
fn ways(directory: &Path) -> Vec<Way> {
    let engines = [IoEngine::Threads, IoEngine::IoUring];
    let all = engines.map(|io| SyncMethod::ALL.map(|method| (method, io)));
    let mut ways = all.concat();
    if let Err(refused) = UringOptions::default().check() {
        println!("skipped: {refused}");
        ways.retain(|(_, io)| *io == IoEngine::Threads);
    }
    let control = [Paths::new(directory).control()];
    if let Err(refused) = FileSet::open(&control, CONTROL_BYTES, SyncMethod::Direct) {
        println!("skipped: {refused}");
        ways.retain(|(method, _)| !method.is_direct());
    }
    ways
}

impl Rig {
    fn new(directory: &Path) -> Rig {
        Rig::of(directory, PLAIN)
    }

    fn of(directory: &Path, (method, io): Way) -> Rig {
        let paths = Paths::new(directory);
        let open = |files: &[_], bytes, method| {
            FileSet::open(files, bytes, method).expect("the log's files")
        };
        let (groups, bytes) = (crate::common::SMALL.groups, crate::common::SMALL.file_bytes);
        let files = open(&paths.logs(groups), bytes, method);
        let data: Arc<dyn LogDevice> = match io {
            IoEngine::IoUring => Arc::new(UringFiles::new(files, UringOptions::default())),
            _ => Arc::new(files),
        };
        let control = open(&[paths.control()], CONTROL_BYTES, SyncMethod::Buffered);
        Rig {
            data: Arc::new(FaultDevice::new(data)),
            control: Arc::new(FaultDevice::new(Arc::new(control))),
        }
    }

    fn open(&self, log_writer: LogWriter) -> Log {
        self.open_as(options().log_writer(log_writer))
    }

    fn open_as(&self, ways: Options) -> Log {
        let data: Arc<dyn LogDevice> = self.data.clone();
        crate::common::open_on(data, self.control.clone(), ways)
            .expect("no fault yet")
            .0
    }

    /// Strikes the `nth` operation from now on.
    fn strike(&self, target: FaultTarget, nth: u64, fault: Fault, for_good: bool) {
        let counts = self.data.counts();
        let before = match target {
            FaultTarget::Write => counts.writes,
            FaultTarget::Flush => counts.flushes,
            FaultTarget::Read => counts.reads,
        };
        self.data.inject(Injection {
            target,
            nth: before + nth,
            fault,
            for_good,
        });
    }
}

/// Threads commit until the log fails; how many commits each got, and the cause that all
/// of them were given.
fn until_it_fails(log: &Log, sessions: u32) -> (Vec<u32>, Cause) {
    let told: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions)
            .map(|who| {
                let mut session = log.session();
                scope.spawn(move || {
                    let mut acknowledged = 0;
                    loop {
                        match commit(&mut session, who, acknowledged) {
                            Ok(_) => acknowledged += 1,
                            Err(Error::Poisoned(cause)) => break (acknowledged, cause, session),
                            Err(other) => panic!("{other}"),
                        }
                        assert!(acknowledged < 500, "the fault never struck");
                    }
                })
            })
            .collect();
        let joined = threads.into_iter().map(|t| t.join().expect("no panic"));
        joined.collect()
    });
    let cause = told[0].1;
    for (_, other, _) in &told {
        assert_eq!(*other, cause, "one cause for all");
    }
    let acknowledged = told.iter().map(|(n, _, _)| *n).collect();
    for (_, _, mut session) in told {
        assert!(matches!(
            session.append(&[b"late"]),
            Err(Error::Poisoned(_))
        ));
        let late = session.commit(CommitMode::WAIT_IMMEDIATE);
        assert!(matches!(late, Err(Error::Poisoned(_))), "{late:?}");
    }
    assert!(matches!(log.flush(), Err(Error::Poisoned(_))));
    let checkpoint = log.checkpoint(log.durable());
    assert!(matches!(checkpoint, Err(Error::Poisoned(_))));
    (acknowledged, cause)
}

/// In memory: on a disk that others use too, the 3,000 flushes of the hundred logs take minutes,
/// which looks as if the test hung.
#[test]
fn the_first_failure_poisons_and_what_was_acknowledged_is_recovered() {
    let faults = [
        (FaultTarget::Write, Fault::Errno(EIO)),
        (FaultTarget::Write, Fault::Errno(ENOSPC)),
        (FaultTarget::Write, Fault::Short(0)),
        (FaultTarget::Write, Fault::Short(4096 - 512)),
        (FaultTarget::Flush, Fault::Errno(EIO)),
    ];
    let mut cases = 0;
    for (target, fault) in faults {
        for (nth, for_good) in [(1, true), (2, false), (3, false), (7, false), (20, true)] {
            for (log_writer, sessions) in [
                (LogWriter::Auto, 1),
                (LogWriter::Auto, 4),
                (LogWriter::Inline, 1),
                (LogWriter::Inline, 4),
                (LogWriter::Lgwr, 4),
                (LogWriter::Workers(3), 4),
            ] {
                let case = format!("{target:?} {nth} {fault:?} {log_writer:?} {sessions}");
                let scratch = in_memory();
                let rig = Rig::new(&scratch.0);
                let log = rig.open(log_writer);
                rig.strike(target, nth, fault, for_good);
                let (acknowledged, cause) = until_it_fails(&log, sessions);
                assert!(fits(target, fault, cause), "{case}: {cause}");
                let struck = rig.data.counts();
                rig.data.heal();
                if cases % 2 == 0 {
                    assert!(matches!(log.close(), Err(Error::Poisoned(_))), "{case}");
                } else {
                    drop(log);
                }
                // Workers may have been given what the writer wanted before it failed.
                let given = u64::from(log_writer.workers().unwrap_or(0));
                let after = rig.data.counts();
                let later = after.writes + after.flushes - struck.writes - struck.flushes;
                assert!(later <= given, "{case}: {later} more: nothing is retried");
                drop(rig);
                let (records, _) = recovered(&scratch.0);
                assert_prefixes(&records, &acknowledged);
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 150);
}

/// A scratch directory in memory where there is one: it is the log's handling of answers that is
/// tested, thousands of times.
fn in_memory() -> Scratch {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("redolab-faults-{}-{number}", std::process::id());
    let scratch = match std::fs::create_dir(Path::new("/dev/shm").join(&name)) {
        Ok(()) => Scratch(Path::new("/dev/shm").join(&name)),
        Err(_) => Scratch::new(),
    };
    crate::common::create(&scratch.0);
    scratch
}

const COMMITS: u32 = 200;

/// What a script left behind, to be found by the next opening of the log.
#[derive(Default)]
struct Left {
    acknowledged: u32,
    struck: bool,
    case: String,
}

/// Opens the log and sees that what was acknowledged is recovered, with the one record more at
/// most that nobody got an answer for; then the log is empty again.
fn open_after(rig: &Rig, left: &Left) -> Log {
    let (data, control) = (Arc::clone(&rig.data), Arc::clone(&rig.control));
    let (log, recovery) = crate::common::open_on(data, control, options()).expect("the log opens");
    let mut next = 0;
    let walked = recovery.recover(|_, bytes| {
        assert_eq!(whose(bytes), (0, next), "{}", left.case);
        next += 1;
        Ok::<(), redo::Error>(())
    });
    walked.expect("what was recovered is readable");
    let possible = left.acknowledged..=left.acknowledged + u32::from(left.struck);
    assert!(possible.contains(&next), "{}: {next} recovered", left.case);
    log.checkpoint(log.durable()).expect("durable");
    log
}

/// One session commits [`COMMITS`] records while the `nth` operation is struck.
fn script(
    directory: &Path,
    way: Way,
    strike: (FaultTarget, Fault, bool),
    nth: u64,
    left: &mut Left,
) {
    let (target, fault, for_good) = strike;
    let case = format!("{way:?} {target:?} {fault:?} {nth} for good: {for_good}");
    let rig = Rig::of(directory, way);
    let log = open_after(&rig, left);
    rig.strike(target, nth, fault, for_good);
    let mut session = log.session();
    let mut acknowledged = 0;
    let failed = (0..COMMITS).find_map(|which| {
        let told = commit(&mut session, 0, which);
        acknowledged += u32::from(told.is_ok());
        told.err()
    });
    let after = rig.data.counts();
    let struck = after.struck > 0;
    assert_eq!(failed.is_some(), struck, "{case}");
    rig.data.heal();
    if let Some(error) = failed {
        let cause = match error {
            Error::Poisoned(cause) => cause,
            other => panic!("{case}: {other}"),
        };
        assert!(fits(target, fault, cause), "{case}: {cause}");
        let late = commit(&mut session, 0, acknowledged);
        assert!(matches!(late, Err(Error::Poisoned(_))), "{case}: {late:?}");
        assert!(matches!(log.flush(), Err(Error::Poisoned(_))), "{case}");
        assert!(matches!(log.close(), Err(Error::Poisoned(_))), "{case}");
        assert_eq!(rig.data.counts(), after, "{case}: nothing is retried");
    } else {
        log.close().expect("nothing failed");
    }
    *left = Left {
        acknowledged,
        struck,
        case,
    };
}

fn fits(target: FaultTarget, fault: Fault, cause: Cause) -> bool {
    match (target, fault, cause) {
        (FaultTarget::Write, Fault::Errno(e), Cause::Write(f)) => f.errno == e,
        (FaultTarget::Flush, Fault::Errno(e), Cause::Flush(f)) => f.errno == e,
        (_, Fault::Short(n), Cause::ShortWrite { written, wanted }) => {
            written == n as u64 && wanted > written
        }
        _ => false,
    }
}

const WRITE_FAULTS: [Fault; 5] = [
    Fault::Errno(EIO),
    Fault::Errno(ENOSPC),
    Fault::Errno(EINTR),
    Fault::Short(0),
    Fault::Short(512),
];
const FLUSH_FAULTS: [Fault; 3] = [Fault::Errno(EIO), Fault::Errno(ENOSPC), Fault::Errno(EINTR)];

/// Strikes every operation of the script in every back end with what `strikes` names for it, until
/// the script ends before it is struck; how many scripts that were.
fn strike_every_operation(strikes: impl Fn(u64, &[Fault]) -> Vec<(Fault, bool)>) -> u32 {
    let scratch = in_memory();
    let (mut scripts, mut left) = (0, Left::default());
    for way in ways(&scratch.0) {
        for (target, faults) in [
            (FaultTarget::Write, &WRITE_FAULTS[..]),
            (FaultTarget::Flush, &FLUSH_FAULTS[..]),
        ] {
            if target == FaultTarget::Flush && way.0.durable_writes() {
                continue;
            }
            let mut nth = 0;
            loop {
                nth += 1;
                for (fault, for_good) in strikes(nth, faults) {
                    script(&scratch.0, way, (target, fault, for_good), nth, &mut left);
                    scripts += 1;
                }
                if !left.struck {
                    break;
                }
            }
            assert!(nth > u64::from(COMMITS), "{way:?} {target:?} {nth}");
        }
    }
    open_after(&Rig::new(&scratch.0), &left);
    scripts
}

/// RELIABILITY R5: every operation of the script fails, in every back end. Neighbouring operations
/// meet different faults, once and for good in turn; with `REDO_FAULTS=all` each operation meets
/// each fault in both ways, which are about 21,000 scripts.
#[test]
fn every_operation_of_a_script_fails_in_every_back_end() {
    let all = std::env::var("REDO_FAULTS").is_ok_and(|how| how == "all");
    let scripts = strike_every_operation(|nth, faults| {
        if all {
            let both = faults.iter().flat_map(|f| [(*f, false), (*f, true)]);
            return both.collect();
        }
        let kinds = faults.len() as u64;
        let fault = faults[(nth % kinds) as usize];
        vec![(fault, (nth / kinds).is_multiple_of(2))]
    });
    println!("{scripts} scripts: nothing acknowledged was lost, nothing was tried again");
}

/// Rings with batches in flight: sessions that commit side by side, and one operation that fails.
#[test]
fn rings_with_batches_in_flight_fail_once_and_for_all() {
    let directory = in_memory();
    let rings = |way: &Way| way.1 == IoEngine::IoUring;
    for way in ways(&directory.0).into_iter().filter(rings) {
        for (target, fault) in [
            (FaultTarget::Write, Fault::Errno(EIO)),
            (FaultTarget::Write, Fault::Short(512)),
            (FaultTarget::Flush, Fault::Errno(EIO)),
        ] {
            if target == FaultTarget::Flush && way.0.durable_writes() {
                continue;
            }
            for nth in [1, 2, 3, 5, 8, 13, 21, 34] {
                let case = format!("{way:?} {target:?} {nth} {fault:?}");
                let scratch = in_memory();
                let rig = Rig::of(&scratch.0, way);
                let log = rig.open_as(
                    options()
                        .log_writer(LogWriter::Lgwr)
                        .policy(Policy::default().depth(4)),
                );
                rig.strike(target, nth, fault, nth % 2 == 0);
                let (acknowledged, cause) = until_it_fails(&log, 6);
                assert!(fits(target, fault, cause), "{case}: {cause}");
                assert!(matches!(log.close(), Err(Error::Poisoned(_))), "{case}");
                drop(rig);
                assert_prefixes(&recovered(&scratch.0).0, &acknowledged);
            }
        }
    }
}

/// A device that answers late is waited for, however late: nobody gets an answer before, and then
/// each gets what the answer was.
#[test]
fn a_stalled_device_acknowledges_nothing_until_it_answers() {
    let directory = in_memory();
    for way in ways(&directory.0) {
        for fault in [None, Some(EIO), Some(ENOSPC)] {
            for log_writer in WRITERS {
                let scratch = in_memory();
                let rig = Rig::of(&scratch.0, way);
                let log = rig.open(log_writer);
                let mut session = log.session();
                commit(&mut session, 0, 0).expect("durable");
                let before = log.durable();
                let gate = rig.data.gate();
                if let Some(errno) = fault {
                    rig.strike(FaultTarget::Write, 1, Fault::Errno(errno), false);
                }
                let thread = std::thread::spawn(move || commit(&mut session, 0, 1));
                await_held(&gate, 1);
                std::thread::sleep(Duration::from_millis(20));
                assert!(!thread.is_finished() && log.durable() == before, "{way:?}");
                drop(gate);
                let told = thread.join().expect("no panic");
                let poisoned = matches!(told, Err(Error::Poisoned(Cause::Write(_))));
                assert_eq!((told.is_ok(), poisoned), (fault.is_none(), fault.is_some()));
                drop(log);
                let acknowledged = 1 + u32::from(told.is_ok());
                assert_prefixes(&recovered(&scratch.0).0, &[acknowledged]);
            }
        }
    }
}

/// One session's records can be lost only from its last on: the one that was being committed.
#[test]
fn a_failed_checkpoint_poisons_because_nobody_knows_what_it_left() {
    for (target, fault) in [
        (FaultTarget::Write, Fault::Errno(EIO)),
        (FaultTarget::Write, Fault::Short(100)),
        (FaultTarget::Flush, Fault::Errno(EIO)),
    ] {
        for nth in [1, 2] {
            let scratch = Scratch::with_log();
            let rig = Rig::new(&scratch.0);
            let log = rig.open(LogWriter::Inline);
            let mut session = log.session();
            for which in 0..5 {
                commit(&mut session, 0, which).expect("durable");
            }
            let third = commit(&mut session, 0, 5).expect("durable");
            let counts = rig.control.counts();
            let before = if target == FaultTarget::Write {
                counts.writes
            } else {
                counts.flushes
            };
            rig.control.inject(Injection {
                target,
                nth: before + nth,
                fault,
                for_good: false,
            });
            let failed = log.checkpoint(third);
            assert!(matches!(failed, Err(Error::Control { .. })), "{failed:?}");
            let refused = commit(&mut session, 0, 6);
            assert!(
                matches!(refused, Err(Error::Poisoned(Cause::Control(_)))),
                "{refused:?}"
            );
            assert!(log.close().is_err());
            let (records, _) = recovered(&scratch.0);
            let from = records.first().map(|r| r.0);
            assert!(
                records.len() == 6 || from == Some(third),
                "{}",
                records.len()
            );
            assert_eq!(records.last().map(|r| &r.1), Some(&record(0, 5)));
        }
    }
}

/// A log that fails while it recovers is not opened, and recovers when it no longer fails.
#[test]
fn a_device_that_fails_in_recovery_opens_nothing() {
    let scratch = Scratch::with_log();
    let log = crate::common::open(&scratch.0);
    let mut session = log.session();
    for which in 0..30 {
        commit(&mut session, 0, which).expect("durable");
    }
    drop(log);
    for (which, target) in [
        ("data", FaultTarget::Read),
        ("data", FaultTarget::Flush),
        ("control", FaultTarget::Read),
        ("control", FaultTarget::Write),
        ("control", FaultTarget::Flush),
    ] {
        for nth in 1..=2 {
            let rig = Rig::new(&scratch.0);
            let device = if which == "data" {
                &rig.data
            } else {
                &rig.control
            };
            device.inject(Injection {
                target,
                nth,
                fault: Fault::Errno(EIO),
                for_good: true,
            });
            let opened = crate::common::open_on(rig.data.clone(), rig.control.clone(), options());
            // One copy of the control information is enough.
            let enough = (which, target, nth) == ("control", FaultTarget::Read, 2);
            let struck = device.counts().struck > 0 && !enough;
            assert_eq!(opened.is_err(), struck, "{which} {target:?} {nth}");
        }
    }
    assert_prefixes(&recovered(&scratch.0).0, &[30]);
}

fn await_held(gate: &Gate, count: usize) -> Vec<HeldOperation> {
    gate.await_pending(count, PATIENCE)
        .expect("the log writer submits")
}

fn is_flush(held: &HeldOperation) -> bool {
    held.op.kind == OpKind::Flush
}

/// A batch in two logs makes two writes: completed in either order, the flush follows both, and
/// nobody returns before the flush does.
#[test]
fn completions_in_any_order_acknowledge_nothing_early() {
    // One worker alone has one write at a time.
    let several = |w: &LogWriter| *w != LogWriter::Workers(1);
    for log_writer in WRITERS.into_iter().filter(several) {
        for reverse in [false, true] {
            let scratch = Scratch::with_log();
            let rig = Rig::new(&scratch.0);
            let log = rig.open(log_writer);
            let blocks = log.geometry().blocks_per_group;
            let mut session = log.session();
            let mut which = 0;
            while log.durable().block as u64 + 1 < blocks {
                commit(&mut session, 0, which).expect("durable");
                which += 1;
            }
            let gate = rig.data.gate();
            let returned = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&returned);
            let body = vec![5_u8; 9_000];
            let large = body.clone();
            let thread = std::thread::spawn(move || {
                session.append(&[&large]).expect("open");
                session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                flag.store(true, Ordering::SeqCst);
            });
            let mut writes = await_held(&gate, 2);
            assert!(!writes.iter().any(is_flush), "{writes:?}");
            if reverse {
                writes.reverse();
            }
            assert!(gate.release(writes[0].ticket));
            std::thread::sleep(Duration::from_millis(30));
            let left = gate.pending();
            assert_eq!(
                left,
                [writes[1]],
                "no flush before the second write is complete"
            );
            assert!(gate.release(writes[1].ticket));
            let flush = await_held(&gate, 1);
            assert!(is_flush(&flush[0]), "{flush:?}");
            let before = log.durable();
            std::thread::sleep(Duration::from_millis(30));
            assert!(
                !returned.load(Ordering::SeqCst),
                "acknowledged before the flush"
            );
            assert_eq!(log.durable(), before);
            drop(gate);
            thread.join().expect("no panic");
            assert!(returned.load(Ordering::SeqCst) && log.durable() > before);
            drop(log);
            drop(rig);
            let (records, _) = recovered(&scratch.0);
            assert_eq!(records.len() as u32, which + 1);
            assert_eq!(records[which as usize].1, body);
        }
    }
}

/// While a leader's write is under way its successors gather in the next batch; one flush of
/// that batch then serves them all.
#[test]
fn who_comes_during_a_write_is_served_by_the_next() {
    // Writers that have several batches in flight write at once.
    for log_writer in WRITERS.into_iter().filter(|w| *w != LogWriter::Workers(3)) {
        let scratch = Scratch::with_log();
        let rig = Rig::new(&scratch.0);
        let log = rig.open(log_writer);
        let gate = rig.data.gate();
        let appended = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..6)
            .map(|who| {
                let (mut session, appended) = (log.session(), Arc::clone(&appended));
                let thread = std::thread::spawn(move || {
                    session.append(&[&record(who, 0)]).expect("open");
                    appended.fetch_add(1, Ordering::SeqCst);
                    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                });
                if who == 0 {
                    await_held(&gate, 1);
                }
                thread
            })
            .collect();
        until("six append", || appended.load(Ordering::SeqCst) == 6);
        assert!(threads.iter().all(|t| !t.is_finished()));
        let before = rig.data.counts();
        drop(gate);
        for thread in threads {
            thread.join().expect("no panic");
        }
        let after = rig.data.counts();
        assert_eq!(after.writes - before.writes, 1, "one write for five");
        assert_eq!(after.flushes - before.flushes, 2);
        log.close().expect("nothing failed");
        assert_prefixes(&recovered(&scratch.0).0, &[1; 6]);
    }
}

/// Closing waits for the write that is under way: the end that it records is durable, and nothing
/// is written behind it.
#[test]
fn closing_waits_for_the_write_under_way() {
    for log_writer in WRITERS {
        for close in [true, false] {
            let scratch = Scratch::with_log();
            let rig = Rig::new(&scratch.0);
            let log = rig.open(log_writer);
            let mut session = log.session();
            commit(&mut session, 0, 0).expect("durable");
            let gate = rig.data.gate();
            let thread = std::thread::spawn(move || commit(&mut session, 0, 1));
            await_held(&gate, 1);
            let closing = std::thread::spawn(move || {
                if close {
                    log.close().expect("nothing failed");
                } else {
                    drop(log);
                }
            });
            std::thread::sleep(Duration::from_millis(50));
            assert!(!closing.is_finished(), "the write is still under way");
            drop(gate);
            closing.join().expect("no panic");
            let told = thread.join().expect("no panic");
            let acknowledged = 1 + u32::from(told.is_ok());
            let counts = rig.data.counts();
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(
                rig.data.counts(),
                counts,
                "nothing is written behind the end"
            );
            assert_prefixes(&recovered(&scratch.0).0, &[acknowledged]);
        }
    }
}
