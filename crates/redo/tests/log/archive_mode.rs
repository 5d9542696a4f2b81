//! Archive mode: a log file that was not archived is not reused, which is a wait event of its
//! own. What was archived is known after a crash and after a close, and everything behind it can
//! be read.

use crate::common::{SMALL, Scratch, commit, open_with, options, record, until};
use redo::{ArchiveMode, CommitMode, Error, Log, LogWriter, Options, Rba};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn archiving() -> Options {
    options().archive_mode(ArchiveMode::On)
}

/// The bytes of the records from `from` on, and the position behind them.
fn read(log: &Log, from: Rba) -> (Vec<Vec<u8>>, Rba) {
    let (mut all, mut next) = (Vec::new(), from);
    for record in log.read_from(from).expect("kept") {
        let record = record.expect("readable");
        next = record.next;
        all.push(record.bytes);
    }
    (all, next)
}

fn version(directory: &Path) -> u8 {
    std::fs::read(directory.join("redo.ctl")).expect("a control file")[8]
}

/// What the observer adds up: nanoseconds of waiting for the checkpoint, and for the archiver.
type Waits = Arc<Mutex<(u64, u64)>>;

fn observed(ways: Options) -> (Options, Waits) {
    let waits = Waits::default();
    let seen = Arc::clone(&waits);
    let ways = ways.observer(move |write| {
        let mut seen = seen.lock().expect("nobody panics with it");
        seen.0 += write.checkpoint_wait_ns;
        seen.1 += write.archive_wait_ns;
    });
    (ways, waits)
}

/// Commits until the log is full and one more commit waits; then `lets_go` is called with the log
/// while it waits, and the commit ends. Returns what was waited for.
fn fill(ways: Options, lets_go: impl Fn(&Log, &dyn Fn())) -> (u64, u64) {
    let scratch = Scratch::with_log();
    let (ways, waits) = observed(ways);
    let (log, _) = open_with(&scratch.0, ways).expect("a new log");
    let capacity = log.geometry().capacity_blocks();
    let (asked, committed) = (AtomicU64::new(0), AtomicU64::new(0));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut session = log.session();
        let (asked, committed, over) = (&asked, &committed, &over);
        scope.spawn(move || {
            for which in 0..=capacity {
                session.append(&[&[1; 3000]]).expect("open");
                asked.store(which + 1, Ordering::SeqCst);
                session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                committed.fetch_add(1, Ordering::SeqCst);
            }
            over.store(true, Ordering::SeqCst);
        });
        until("the log fills up", || {
            asked.load(Ordering::SeqCst) > capacity
        });
        let held = || {
            std::thread::sleep(Duration::from_millis(60));
            let done = committed.load(Ordering::SeqCst);
            assert!(
                done == capacity && !over.load(Ordering::SeqCst),
                "{done} of {capacity}"
            );
        };
        held();
        lets_go(&log, &held);
    });
    log.close().expect("nothing failed");
    *waits.lock().expect("nobody panics with it")
}

/// Where the machine kept the committer from its wait, a wait is not reported: it is tried again.
fn with_waits(fits: impl Fn((u64, u64)) -> bool, mut once: impl FnMut() -> (u64, u64)) {
    let mut all = Vec::new();
    for _ in 0..20 {
        let waits = once();
        if fits(waits) {
            return;
        }
        all.push(waits);
    }
    panic!("never reported as they were: {all:?}");
}

const STAY: u64 = 30_000_000;

#[test]
fn a_log_file_that_is_not_archived_holds_the_switch_and_that_is_its_own_wait() {
    for log_writer in crate::common::WRITERS {
        let ways = || archiving().log_writer(log_writer);
        // The checkpoint has gone ahead: the archiver alone holds it.
        with_waits(
            |(checkpoint, archive)| archive >= STAY && checkpoint < archive + STAY,
            || {
                fill(ways(), |log, held| {
                    log.checkpoint(log.durable()).expect("durable");
                    held();
                    log.archived(log.durable()).expect("durable");
                })
            },
        );
        // The archiver is ahead: the wait is for the checkpoint alone.
        with_waits(
            |(checkpoint, archive)| checkpoint >= STAY && archive == 0,
            || {
                fill(ways(), |log, held| {
                    log.archived(log.durable()).expect("durable");
                    held();
                    log.checkpoint(log.durable()).expect("durable");
                })
            },
        );
    }
}

#[test]
fn without_archive_mode_only_the_checkpoint_is_waited_for() {
    let (_, archive) = fill(options(), |log, _| {
        let refused = log.archived(log.durable());
        assert!(matches!(refused, Err(Error::Archive { .. })), "{refused:?}");
        assert_eq!(log.archive_position().expect("open"), None);
        log.checkpoint(log.durable()).expect("durable");
    });
    assert_eq!(archive, 0);
}

/// Redo that the checkpoint has passed is there for the archiver, through closes, crashes and
/// the reuse of other log files; what was archived is remembered.
#[test]
fn what_is_not_archived_is_kept_through_reopening() {
    let scratch = Scratch::with_log();
    let per_file = SMALL.file_bytes / 4096;
    let (mut which, mut archived, mut at) = (0, Vec::new(), None);
    for life in 0..12 {
        // A later opening need not mention it, and one that asks for it again changes nothing.
        let ways = if life % 2 == 0 {
            archiving()
        } else {
            options()
        };
        let (log, _) = open_with(&scratch.0, ways).expect("the log opens");
        let from = log.archive_position().expect("open").expect("archive mode");
        assert_eq!(at.unwrap_or(from), from, "as it was left");
        let mut session = log.session();
        for _ in 0..per_file / 2 {
            commit(&mut session, 0, which).expect("durable");
            which += 1;
            log.checkpoint(log.durable()).expect("durable");
        }
        // Every third life archives: meanwhile up to a log and a half is kept.
        if life % 3 == 2 {
            let (records, next) = read(&log, from);
            archived.extend(records);
            log.archived(next).expect("durable");
            log.archived(from).expect("passed already");
        }
        at = Some(log.archive_position().expect("open").expect("archive mode"));
        if life % 2 == 0 {
            log.close().expect("nothing failed");
        }
    }
    let (log, _) = open_with(&scratch.0, options()).expect("the log opens");
    archived.extend(read(&log, at.expect("it lived")).0);
    let wanted: Vec<_> = (0..which).map(|which| record(0, which)).collect();
    assert!(archived == wanted, "{} of {}", archived.len(), wanted.len());
}

#[test]
fn a_position_that_is_not_durable_is_refused() {
    let scratch = Scratch::with_log();
    let (log, _) = open_with(&scratch.0, archiving()).expect("a new log");
    let durable = log.durable();
    for asked in [
        Rba {
            block: durable.block + 1,
            ..durable
        },
        Rba {
            log_seq: 0,
            ..durable
        },
    ] {
        let refused = log.archived(asked).expect_err("not durable");
        assert!(matches!(refused, Error::Archive { .. }), "{refused}");
    }
    log.archived(durable).expect("nothing is missing");
}

/// Version 4 of the control information refuses programs that would reuse what was not archived;
/// leaving archive mode gives the log back to them.
#[test]
fn archive_mode_is_a_version_of_the_control_information_and_can_be_left() {
    let scratch = Scratch::with_log();
    assert_eq!(version(&scratch.0), 2);
    for (mode, wanted) in [
        (ArchiveMode::Keep, 2),
        (ArchiveMode::On, 4),
        (ArchiveMode::Keep, 4),
        (ArchiveMode::On, 4),
        (ArchiveMode::Off, 2),
        (ArchiveMode::Keep, 2),
    ] {
        let ways = options().archive_mode(mode);
        let (log, _) = open_with(&scratch.0, ways).expect("the log opens");
        commit(&mut log.session(), 0, 1).expect("durable");
        drop(log);
        assert_eq!(version(&scratch.0), wanted, "{mode:?}");
    }
    // It begins at the checkpoint: nothing that was there before is asked to be archived.
    let (log, _) = open_with(&scratch.0, options()).expect("the log opens");
    log.checkpoint(log.durable()).expect("durable");
    let checkpoint = log.durable();
    drop(log);
    let (log, _) = open_with(&scratch.0, archiving()).expect("the log opens");
    let begins = log.archive_position().expect("open");
    assert_eq!(begins, Some(checkpoint));
}

#[test]
fn a_log_that_needs_the_archiver_closes_with_an_error() {
    for log_writer in [LogWriter::Inline, LogWriter::Lgwr, LogWriter::Workers(3)] {
        let scratch = Scratch::with_log();
        let ways = archiving().log_writer(log_writer);
        let (log, _) = open_with(&scratch.0, ways).expect("a new log");
        let mut session = log.session();
        for which in 0..log.geometry().capacity_blocks() as u32 {
            commit(&mut session, 0, which).expect("durable");
            log.checkpoint(log.durable()).expect("durable");
        }
        session.append(&[b"one too many"]).expect("room");
        session.commit(CommitMode::NOWAIT_BATCH).expect("open");
        let closed = log.close();
        assert!(
            matches!(closed, Err(Error::CheckpointIncomplete)),
            "{closed:?}"
        );
    }
}
