//! Asynchronous commits on real and simulated devices: every ticket comes back once, in order,
//! and means what it says; failures, closing and forgetting with thousands outstanding; the flush
//! triggers and the ways of learning, counted by log writes and not by time.

use crate::common::{Scratch, assert_prefixes, options, record, recovered};
use device::fault::{EIO, Fault, FaultDevice, FaultTarget, Injection};
use device::{FileSet, LogDevice, NullDevice, SimDisk, SyncMethod};
use redo::control::CONTROL_BYTES;
use redo::engine::{LogWrite, Paths};
use redo::writer::{Cause, Policy};
use redo::{CommitMode, Error, Log, LogFileSync, LogWriter, Options, Session, Shape, Triggers};
use redo::{CommitPost, CommitWait};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const WRITERS: [LogWriter; 5] = [
    LogWriter::Auto,
    LogWriter::Inline,
    LogWriter::Lgwr,
    LogWriter::Workers(2),
    LogWriter::Adaptive,
];
const LEARNING: [LogFileSync; 3] = [
    LogFileSync::PostWait,
    LogFileSync::Polling,
    LogFileSync::Adaptive,
];
const NEVER: Duration = Duration::from_secs(60);
/// No timed wait hides a lost wake-up.
const UNTIMED: Triggers = Triggers::NONE
    .commit(true)
    .third(true)
    .bytes(Some(1 << 20))
    .period(None);

/// A log on the null device, and its log writes.
fn null_log(ways: Options) -> (Arc<Log>, Arc<Mutex<Vec<LogWrite>>>) {
    null_log_of(ways, Arc::new)
}

/// As [`null_log`], on what `wrap` makes of the device.
fn null_log_of<D: LogDevice + 'static>(
    ways: Options,
    wrap: impl FnOnce(NullDevice) -> Arc<D>,
) -> (Arc<Log>, Arc<Mutex<Vec<LogWrite>>>) {
    let shape = Shape::default().file_bytes(64 << 20);
    let caps = NullDevice::PLAIN;
    let geometry = shape
        .geometry(&caps, std::path::Path::new("null"))
        .expect("a shape");
    let control = SimDisk::new(CONTROL_BYTES as usize, 4096, false);
    control.set_immediate(true);
    let control: Arc<dyn LogDevice> = Arc::new(control);
    let id = redo::format::LogId(*b"a log of nothing");
    redo::control::ControlFile::format(Arc::clone(&control), geometry, id).expect("a fresh disk");
    let bytes = geometry.file_bytes * u64::from(geometry.groups);
    let writes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&writes);
    let ways = ways.observer(move |write| {
        seen.lock().expect("whole").push(*write);
    });
    let data = wrap(NullDevice::new(bytes, caps));
    let (log, _) = crate::common::open_on(data, control, ways).expect("a new log");
    (Arc::new(log), writes)
}

/// Keeps the checkpoint moving while `work` runs.
fn with_checkpoints<R>(log: &Log, work: impl FnOnce() -> R) -> R {
    let stop = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while stop.load(Ordering::Relaxed) == 0 {
                std::thread::sleep(Duration::from_millis(1));
                // A log that failed tells who works on it.
                let _ = log.checkpoint(log.durable());
            }
        });
        let result = work();
        stop.store(1, Ordering::Relaxed);
        result
    })
}

/// Waits until `done`, for as long as a slow machine may take.
fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let patience = Instant::now() + NEVER;
    while !done() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Keeps `in_flight` commits under way until `total` came back; asserts that each came back once
/// and in order. `polls`: looks instead of waiting.
fn closed_loop(log: &Log, who: u32, total: u32, in_flight: u32, polls: bool) {
    let mut session = log.session();
    let mut queue = log.completions(in_flight as usize);
    let (mut sent, mut next) = (0, 0);
    while next < total {
        while sent < total && queue.len() < queue.capacity() {
            session.append(&[&record(who, sent)]).expect("open");
            let ticket = session.commit_async(CommitPost::Immediate).expect("open");
            queue.push(ticket, sent).expect("room");
            sent += 1;
        }
        if polls {
            if queue.poll() == 0 {
                std::thread::yield_now();
            }
        } else {
            assert!(queue.wait() > 0, "some are queued");
        }
        while let Some(done) = queue.take() {
            done.outcome.expect("durable");
            assert_eq!(done.tag, next, "in order, none left out, none twice");
            next += 1;
        }
    }
    assert!(queue.is_empty() && queue.take().is_none());
    assert_eq!((queue.wait(), queue.poll()), (0, 0), "nothing to wait for");
}

#[test]
fn tags_come_back_once_and_in_order_whoever_writes_and_however_they_learn() {
    for log_writer in WRITERS {
        for log_file_sync in LEARNING {
            let scratch = Scratch::with_log();
            let ways = options()
                .log_writer(log_writer)
                .log_file_sync(log_file_sync)
                .triggers(UNTIMED);
            let (log, _) = crate::common::open_with(&scratch.0, ways).expect("a new log");
            std::thread::scope(|scope| {
                for who in 0..3 {
                    let log = &log;
                    scope.spawn(move || closed_loop(log, who, 300, 64, who == 2));
                }
                // Others wait for theirs meanwhile.
                let mut session = log.session();
                for which in 0..50 {
                    crate::common::commit(&mut session, 3, which).expect("durable");
                }
            });
            drop(log);
            let (records, _) = recovered(&scratch.0);
            assert_prefixes(&records, &[300, 300, 300, 50]);
        }
    }
}

#[test]
fn thousands_in_flight_on_each_of_two_threads() {
    for log_writer in WRITERS {
        for polls in [false, true] {
            let ways = options().log_writer(log_writer).triggers(UNTIMED);
            let (log, writes) = null_log(ways);
            with_checkpoints(&log, || {
                std::thread::scope(|scope| {
                    for who in 0..2 {
                        let log = &log;
                        scope.spawn(move || closed_loop(log, who, 20_000, 4096, polls));
                    }
                });
            });
            let commits: u64 = writes
                .lock()
                .expect("whole")
                .iter()
                .map(|w| u64::from(w.commits))
                .sum();
            assert!(commits <= 40_000, "each is counted once: {commits}");
        }
    }
}

/// What a caller can hold: nothing to commit, a full queue, a ticket of another log.
#[test]
fn odd_uses_are_answered() {
    let (log, _) = null_log(options());
    let mut queue = log.completions(1);
    assert!(format!("{queue:?}").contains("capacity: 1"));
    let mut session = log.session();
    let ticket = session.commit_async(CommitPost::Immediate).expect("open");
    queue.push(ticket, 'a').expect("room");
    let ticket = session.commit_async(CommitPost::Immediate).expect("open");
    let full = queue.push(ticket, 'b').expect_err("no room");
    assert!(full.to_string().contains("take completions first"));
    assert_eq!(queue.poll(), 1, "nothing was appended");
    assert!(
        queue
            .take()
            .is_some_and(|c| c.tag == 'a' && c.outcome.is_ok())
    );
    queue.push(full.ticket, full.tag).expect("room again");
    assert_eq!(queue.wait(), 1);
    let (other, _) = null_log(options());
    let ticket = other
        .session()
        .commit_async(CommitPost::Batch)
        .expect("open");
    let mixed_up = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = queue.push(ticket, 'c');
    }));
    assert!(
        mixed_up.is_err(),
        "a ticket of another log reports nothing here"
    );
}

/// The device fails while thousands are in flight on two threads: what was acknowledged before is
/// recovered, what was not fails, each once, and nothing after the first failure succeeds.
#[test]
fn a_failure_with_thousands_in_flight_fails_each_once() {
    const IN_FLIGHT: u32 = 2000;
    for log_writer in WRITERS {
        for (flushes, polls) in [(0, false), (1, true), (3, false)] {
            let scratch = Scratch::new();
            let acknowledged = [AtomicU32::new(0), AtomicU32::new(0)];
            poisoned_run(
                &scratch,
                log_writer,
                flushes,
                polls,
                IN_FLIGHT,
                &acknowledged,
            );
            let (records, _) = recovered(&scratch.0);
            let acknowledged = acknowledged.map(AtomicU32::into_inner);
            assert_prefixes(&records, &acknowledged);
        }
    }
}

/// A log whose flush number `fails` fails for good, so large that it needs no checkpoint before.
fn failing_log(scratch: &Scratch, log_writer: LogWriter, fails: u64) -> Log {
    let shape = crate::common::SMALL.file_bytes(4 << 20);
    crate::common::create_with(&scratch.0, shape, &|_, _| {}, &|| false).expect("a new log");
    let paths = Paths::new(&scratch.0);
    let files = |files: &[_], bytes| {
        Arc::new(FileSet::open(files, bytes, SyncMethod::Buffered).expect("the log's files"))
    };
    let data = Arc::new(FaultDevice::new(files(
        &paths.logs(shape.groups),
        shape.file_bytes,
    )));
    let control = files(&[paths.control()], CONTROL_BYTES);
    let ways = options().log_writer(log_writer).triggers(UNTIMED);
    let device: Arc<dyn LogDevice> = data.clone();
    let (log, _) = crate::common::open_on(device, control, ways).expect("no fault yet");
    data.inject(Injection {
        target: FaultTarget::Flush,
        nth: data.counts().flushes + 1 + fails,
        fault: Fault::Errno(EIO),
        for_good: true,
    });
    log
}

fn poisoned_run(
    scratch: &Scratch,
    log_writer: LogWriter,
    flushes: u64,
    polls: bool,
    in_flight: u32,
    acknowledged: &[AtomicU32; 2],
) {
    let log = failing_log(scratch, log_writer, flushes);
    std::thread::scope(|scope| {
        for who in 0..2_u32 {
            let (mut session, mut queue) = (log.session(), log.completions(in_flight as usize));
            let told = &acknowledged[who as usize];
            scope.spawn(move || {
                let (mut sent, mut next, mut failed, mut refused) = (0, 0, 0, false);
                loop {
                    while queue.len() < queue.capacity() && !refused {
                        match requested(&mut session, who, sent) {
                            Ok(ticket) => queue.push(ticket, sent).expect("room"),
                            Err(Error::Poisoned(_)) => {
                                refused = true;
                                break;
                            }
                            Err(other) => panic!("{other}"),
                        }
                        sent += 1;
                    }
                    if polls && queue.poll() == 0 {
                        std::thread::yield_now();
                    } else if !polls {
                        queue.wait();
                    }
                    while let Some(done) = queue.take() {
                        assert_eq!(done.tag, next, "once and in order");
                        next += 1;
                        match done.outcome {
                            Ok(()) => assert_eq!(failed, 0, "I8: none after the first failure"),
                            Err(Error::Poisoned(Cause::Flush(_))) => failed += 1,
                            Err(other) => panic!("{other}"),
                        }
                    }
                    told.store(next - failed, Ordering::Relaxed);
                    if queue.is_empty() && refused {
                        break;
                    }
                }
                assert_eq!(next, sent, "every ticket was reported");
                assert!(session.commit_async(CommitPost::Immediate).is_err());
            });
        }
    });
}

fn requested(session: &mut Session, who: u32, which: u32) -> Result<redo::Ticket, Error> {
    session.append(&[&record(who, which)])?;
    session.commit_async(CommitPost::Immediate)
}

/// Closing writes out what is outstanding: the tickets say so afterwards, and nothing is lost.
#[test]
fn closing_makes_what_is_outstanding_durable() {
    for log_writer in WRITERS {
        let scratch = Scratch::with_log();
        let ways = options().log_writer(log_writer).triggers(Triggers::NONE);
        let (log, _) = crate::common::open_with(&scratch.0, ways).expect("a new log");
        let (mut session, mut queue) = (log.session(), log.completions(1000));
        for which in 0..1000 {
            let ticket = requested(&mut session, 0, which).expect("open");
            queue.push(ticket, which).expect("room");
        }
        assert_eq!(queue.poll(), 0, "no trigger had it written");
        log.close().expect("nothing failed");
        assert_eq!(queue.wait(), 1000);
        let durable = std::iter::from_fn(|| queue.take());
        assert!(durable.map(|done| done.outcome).all(|told| told.is_ok()));
        assert!(matches!(
            requested(&mut session, 0, 1000),
            Err(Error::Closed)
        ));
        let (records, _) = recovered(&scratch.0);
        assert_prefixes(&records, &[1000]);
    }
}

/// A log that is dropped, not closed, may leave redo unwritten: its tickets fail, and nobody waits
/// for ever. Nor does anybody for tickets that were forgotten.
#[test]
fn dropping_the_log_or_the_queue_with_tickets_outstanding() {
    for log_writer in WRITERS {
        let scratch = Scratch::with_log();
        let ways = options().log_writer(log_writer).triggers(Triggers::NONE);
        let (log, _) = crate::common::open_with(&scratch.0, ways).expect("a new log");
        let (mut session, mut queue) = (log.session(), log.completions(8));
        let mut forgotten = log.completions(8);
        for which in 0..8 {
            forgotten
                .push(requested(&mut session, 0, which).expect("open"), ())
                .expect("room");
        }
        drop(forgotten);
        log.flush().expect("nothing failed");
        for which in 8..16 {
            let ticket = requested(&mut session, 0, which).expect("open");
            queue.push(ticket, which).expect("room");
        }
        drop(log);
        assert_eq!(queue.wait(), 8);
        for which in 8..16 {
            let done = queue.take().expect("reported");
            assert_eq!(done.tag, which);
            assert!(matches!(done.outcome, Err(Error::Closed)), "{done:?}");
        }
        let (records, _) = recovered(&scratch.0);
        assert_prefixes(&records, &[8]);
    }
}

fn count(writes: &Mutex<Vec<LogWrite>>) -> usize {
    writes.lock().expect("whole").len()
}

/// Each trigger makes the log writer write when it should and not before. Nobody waits, so that it
/// need not be durable.
#[test]
fn each_flush_trigger_writes_by_itself() {
    const NONE: Triggers = Triggers::NONE;
    const BODY: [u8; 1000] = [7; 1000];
    let nowait = CommitMode {
        wait: CommitWait::Nowait,
        post: CommitPost::Immediate,
    };
    // A third of the log buffer of 1 MiB; a size below and one above it.
    let third = (1_u64 << 20) / 3;
    let sized = |bytes| NONE.bytes(Some(bytes));
    let cases = [
        (NONE.third(true), third),
        (sized(100_000), 100_000),
        (sized(600_000).third(true), third),
        (sized(200_000).third(true), 200_000),
    ];
    for log_writer in WRITERS {
        for (triggers, bytes) in cases {
            let case = format!("{triggers} {}", log_writer);
            let (log, _) = null_log(options().log_writer(log_writer).triggers(triggers));
            let (mut session, begin) = (log.session(), log.written());
            // Block headers are no redo: stop well before, go well beyond.
            for _ in 0..bytes * 9 / 10 / 1008 {
                session.append(&[&BODY]).expect("open");
                session.commit(nowait).expect("open");
            }
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(log.written(), begin, "{case}: before its time");
            for _ in 0..bytes / 5 / 1008 {
                session.append(&[&BODY]).expect("open");
            }
            eventually(&case, || log.written() > begin);
        }
        let triggers = NONE.period(Some(Duration::from_millis(20)));
        let (log, _) = null_log(options().log_writer(log_writer).triggers(triggers));
        let (mut session, begin) = (log.session(), log.written());
        session.append(&[&BODY]).expect("open");
        session.commit(CommitMode::NOWAIT_BATCH).expect("open");
        eventually("the period", || log.written() > begin);
        // A session that waits is served by it as well.
        session.append(&[&BODY]).expect("open");
        assert!(
            session
                .commit(CommitMode::WAIT_IMMEDIATE)
                .expect("open")
                .durable
        );
        let triggers = NONE.commit(true);
        let (log, _) = null_log(options().log_writer(log_writer).triggers(triggers));
        let (mut session, begin) = (log.session(), log.written());
        session.append(&[&BODY]).expect("open");
        session.commit(nowait).expect("open");
        eventually("a commit", || log.written() > begin);
    }
}

/// BATCH posts nobody, in any way of writing and learning: a commit with it waits until another's
/// commit has the redo written. And without the trigger a commit IMMEDIATE is no better.
#[test]
fn who_posts_nobody_is_served_by_others() {
    let batch = CommitMode {
        wait: CommitWait::Wait,
        post: CommitPost::Batch,
    };
    for log_writer in WRITERS {
        for log_file_sync in LEARNING {
            for (triggers, mode) in [
                (Triggers::default().period(None), batch),
                (Triggers::NONE, batch),
                (Triggers::NONE, CommitMode::WAIT_IMMEDIATE),
            ] {
                let ways = options()
                    .log_writer(log_writer)
                    .log_file_sync(log_file_sync)
                    .triggers(triggers);
                let (log, writes) = null_log(ways);
                let served = AtomicU64::new(0);
                std::thread::scope(|scope| {
                    for _ in 0..3 {
                        let (mut session, served) = (log.session(), &served);
                        scope.spawn(move || {
                            session.append(&[b"waits"]).expect("open");
                            let commit = session.commit(mode).expect("served");
                            assert!(commit.durable);
                            served.fetch_add(1, Ordering::SeqCst);
                        });
                    }
                    let mut queue = log.completions(1);
                    let mut session = log.session();
                    session.append(&[b"asks later"]).expect("open");
                    let ticket = session.commit_async(mode.post).expect("open");
                    queue.push(ticket, ()).expect("room");
                    std::thread::sleep(Duration::from_millis(10));
                    assert_eq!((queue.poll(), count(&writes)), (0, 0), "nobody posted");
                    assert_eq!(served.load(Ordering::SeqCst), 0);
                    // A session may come late, behind the first of these.
                    eventually("all are served", || {
                        log.flush().expect("nothing failed");
                        served.load(Ordering::SeqCst) == 3
                    });
                    assert_eq!(queue.poll(), 1);
                    assert!(queue.take().is_some_and(|done| done.outcome.is_ok()));
                });
            }
        }
    }
}

/// One commit IMMEDIATE among those that post nobody has all of their batch written.
#[test]
fn one_that_posts_serves_the_whole_batch() {
    for log_writer in WRITERS {
        let triggers = Triggers::default().period(None);
        let (log, writes) = null_log(options().log_writer(log_writer).triggers(triggers));
        let mut queue = log.completions(3);
        let mut session = log.session();
        for post in [CommitPost::Batch, CommitPost::Immediate, CommitPost::Batch] {
            session.append(&[b"x"]).expect("open");
            let ticket = session.commit_async(post).expect("open");
            queue.push(ticket, post).expect("room");
        }
        // The last may lie in a batch that nobody asked for.
        let mut told = 0;
        while told < 2 {
            assert!(queue.wait() > 0);
            while queue.take().is_some_and(|done| done.outcome.is_ok()) {
                told += 1;
            }
        }
        log.flush().expect("nothing failed");
        assert_eq!(queue.poll(), 3 - told);
        assert!(count(&writes) <= 2);
    }
}

/// A log buffer that is full is written whatever the triggers are, and the waits are counted.
#[test]
fn a_full_log_buffer_is_written_without_any_trigger() {
    for log_writer in WRITERS {
        for log_file_sync in LEARNING {
            let triggers = Triggers::NONE;
            let ways = options()
                .log_writer(log_writer)
                .log_file_sync(log_file_sync)
                .triggers(triggers);
            let (log, writes) = null_log(ways);
            let mut session = log.session();
            for _ in 0..3000 {
                session.append(&[&[1; 1000]]).expect("room comes");
            }
            assert!(session.space_waits().count > 0);
            log.flush().expect("nothing failed");
            assert!(count(&writes) >= 2, "3 MB through a buffer of 1 MiB");
        }
    }
}

/// Foregrounds that change between sleeping and looking while they wait, in every order.
#[test]
fn adaptive_learning_tries_both_and_loses_nobody() {
    for log_writer in WRITERS {
        let ways = options()
            .log_writer(log_writer)
            .log_file_sync(LogFileSync::Adaptive)
            .triggers(UNTIMED);
        // A device that is done at once is not worth trying anything for.
        let (log, _) = null_log_of(ways, |null| {
            let slow = FaultDevice::new(Arc::new(null));
            slow.set_delay(Duration::from_micros(100));
            Arc::new(slow)
        });
        let stop = AtomicU32::new(0);
        with_checkpoints(&log, || {
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    let (mut session, stop) = (log.session(), &stop);
                    scope.spawn(move || {
                        while stop.load(Ordering::Relaxed) == 0 {
                            session.append(&[b"again"]).expect("open");
                            session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                        }
                    });
                }
                eventually("the other mode is tried", || {
                    log.learned().is_some_and(|learned| learned.trials >= 2)
                });
                stop.store(1, Ordering::Relaxed);
            });
        });
        let learned = log.learned().expect("it learns");
        assert!(
            learned.polled > 0 && learned.polled < learned.commits,
            "{learned:?}"
        );
    }
    let scratch = Scratch::with_log();
    let fixed = options().log_writer(LogWriter::Inline);
    let (log, _) = Log::builder(&scratch.0)
        .options(fixed)
        .open()
        .expect("healthy");
    assert_eq!(log.learned(), None, "nothing to learn");
}

/// A stream that nobody waits for keeps its deferred flushes while checkpoints follow it through a
/// log of two groups: the writer hears of a checkpoint that it does not wait for.
#[test]
fn flushes_stay_deferred_through_a_small_log() {
    for log_writer in WRITERS {
        let ways = options().log_writer(log_writer).triggers(UNTIMED);
        let ways = ways.policy(Policy::default().defer_bytes(4 << 20));
        let (log, writes) = null_log(ways);
        let mut session = log.session();
        let body = vec![7; 60_000];
        // Five times all of it, 192 MiB.
        for _ in 0..16_000 {
            session.append(&[&body]).expect("open");
            session.commit(CommitMode::NOWAIT_IMMEDIATE).expect("open");
            log.checkpoint(log.durable()).expect("in order");
        }
        log.flush().expect("open");
        let writes = writes.lock().expect("whole");
        let late = &writes[writes.len() / 2..];
        let flushes: u64 = late.iter().map(|write| u64::from(write.flushes)).sum();
        let redo: u64 = late.iter().map(|write| u64::from(write.redo_bytes)).sum();
        let most = redo / (1 << 20);
        assert!(
            flushes <= most,
            "{log_writer}: {flushes} flushes of {redo} bytes"
        );
    }
}
