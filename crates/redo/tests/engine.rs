//! The engine on real files: every way of syncing and writing, switches and checkpoints, commits
//! that nobody waits for, closing and opening, replay.

mod common;

use common::{
    PATIENCE, Scratch, WRITERS, assert_prefixes, commit, open, options, record, recovered, until,
    whose,
};
use device::probe::ProbedWay;
use device::{IoEngine, SyncMethod, UringOptions};
use redo::recovery::End;
use redo::writer::Policy;
use redo::{CommitMode, Error, Log, LogWriter, Rba};
use redo::{CommitPost, CommitWait};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const NOWAIT: CommitMode = CommitMode {
    wait: CommitWait::Nowait,
    post: CommitPost::Immediate,
};

/// `sessions` threads commit `each` records; the addresses by session.
fn run(log: &Log, sessions: u32, each: u32) -> Vec<Vec<Rba>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions)
            .map(|who| {
                let mut session = log.session();
                let one = move |which| commit(&mut session, who, which).expect("durable");
                scope.spawn(move || (0..each).map(one).collect::<Vec<_>>())
            })
            .collect();
        let joined = threads.into_iter().map(|t| t.join().expect("no panic"));
        joined.collect()
    })
}

#[test]
fn every_way_of_writing_recovers_what_it_acknowledged() {
    for sync_method in SyncMethod::ALL {
        for log_writer in WRITERS {
            for (sessions, each, close) in [(1, 40, true), (8, 20, true), (8, 20, false)] {
                let case = format!("{sync_method} {log_writer} {sessions}");
                let scratch = Scratch::with_log();
                let ways = options().sync_method(sync_method).log_writer(log_writer);
                let log = match common::open_with(&scratch.0, ways) {
                    Ok((log, _)) => log,
                    Err(e) if sync_method.is_direct() => {
                        println!("skipped: {case}: {e}");
                        continue;
                    }
                    Err(e) => panic!("{case}: {e}"),
                };
                let addresses = run(&log, sessions, each);
                if close {
                    log.close().expect("nothing failed");
                } else {
                    drop(log);
                }
                let (records, how) = recovered(&scratch.0);
                assert_eq!(how, End::Clean, "{case}");
                assert_prefixes(&records, &vec![each; sessions as usize]);
                assert_eq!(records.len() as u32, sessions * each, "{case}");
                for (rba, bytes) in &records {
                    let (who, which) = whose(bytes);
                    let said = addresses[who as usize][which as usize];
                    assert_eq!(*rba, said, "{case}: the address that append gave");
                }
            }
        }
    }
}

/// More waiters on one batch than the leader wakes by itself, for a second. A wake-up that is
/// lost among them would let a session sleep for ever.
#[test]
fn a_herd_of_waiters_is_woken_to_the_last() {
    for log_writer in WRITERS {
        let scratch = Scratch::with_log();
        let ways = options()
            .log_writer(log_writer)
            .sync_method(SyncMethod::Buffered);
        let (log, _) = common::open_with(&scratch.0, ways).expect("a new log");
        let (tx, rx) = std::sync::mpsc::channel();
        let threads: Vec<_> = (0..96)
            .map(|who: u32| {
                let (mut session, tx) = (log.session(), tx.clone());
                std::thread::spawn(move || {
                    for which in 0..40_u32 {
                        let bytes = [who.to_le_bytes(), which.to_le_bytes()].concat();
                        session.append(&[&bytes]).expect("open");
                        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                    }
                    tx.send(who).expect("the test waits");
                })
            })
            .collect();
        // A thread that sleeps for ever is left alone in the end, when nothing moves any more.
        let (mut back, mut durable, mut moved) = (0, log.durable(), Instant::now());
        while back < threads.len() {
            let came = rx.recv_timeout(Duration::from_millis(20)).is_ok();
            back += usize::from(came);
            if came || log.durable() > durable {
                (durable, moved) = (log.durable(), Instant::now());
            }
            log.checkpoint(log.durable()).expect("durable");
            let still = moved.elapsed() < PATIENCE;
            assert!(still, "{back} of {} came back", threads.len());
        }
        for thread in threads {
            thread.join().expect("no panic");
        }
        log.close().expect("nothing failed");
    }
}

#[test]
fn logs_are_reused_behind_the_checkpoint() {
    for log_writer in WRITERS {
        let scratch = Scratch::with_log();
        let switches = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&switches);
        let ways = options().log_writer(log_writer).observer(move |write| {
            seen.fetch_add(u64::from(write.switched), Ordering::Relaxed);
        });
        let (log, _) = common::open_with(&scratch.0, ways).expect("a new log");
        let body = vec![7_u8; 9_000];
        let mut session = log.session();
        let mut kept = Vec::new();
        for which in 0..600_u32 {
            let rba = session
                .append(&[&which.to_le_bytes(), &body])
                .expect("open");
            session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
            kept.push((rba, which));
            if which % 50 == 49 {
                let upto = kept[kept.len() - 10].0;
                log.checkpoint(upto).expect("durable");
                kept.retain(|(rba, _)| *rba >= upto);
            }
        }
        let last = log.durable().log_seq;
        assert!(last > 12, "{last}: every log was used several times");
        assert!(switches.load(Ordering::Relaxed) >= last - 1);
        // A commit that had waited for a checkpoint would wait still: the same thread takes them.
        log.close().expect("nothing failed");
        let (records, how) = recovered(&scratch.0);
        assert_eq!(how, End::Clean);
        let found: Vec<_> = records
            .iter()
            .map(|(rba, bytes)| {
                let (head, rest) = bytes.split_first_chunk().expect("its number");
                assert_eq!(rest, body);
                (*rba, u32::from_le_bytes(*head))
            })
            .collect();
        assert_eq!(found, kept);
    }
}

/// `log file switch (checkpoint incomplete)`. The wait is reported; where the machine kept the
/// committer from its wait until the checkpoint came, it is tried again.
#[test]
fn a_log_that_the_checkpoint_needs_is_waited_for() {
    const STAY: Duration = Duration::from_millis(150);
    let mut waits = (0..20).map(|_| wait_for_the_checkpoint(STAY));
    assert!(
        waits.any(|waited| waited >= STAY / 2),
        "no wait is reported"
    );
}

/// Fills a log, leaves it so for a while, and gives the wait that was reported.
fn wait_for_the_checkpoint(stay: Duration) -> Duration {
    let scratch = Scratch::with_log();
    let waited = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&waited);
    let ways = options().observer(move |write| {
        seen.fetch_max(write.checkpoint_wait_ns, Ordering::Relaxed);
    });
    let (log, _) = common::open_with(&scratch.0, ways).expect("a new log");
    let capacity = log.geometry().capacity_blocks();
    let (committed, asked) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let mut session = log.session();
        let (committed, asked) = (&committed, &asked);
        let thread = scope.spawn(move || {
            for which in 0..capacity + 20 {
                session.append(&[&[1; 3000]]).expect("open");
                asked.store(which + 1, Ordering::SeqCst);
                session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                committed.fetch_add(1, Ordering::SeqCst);
            }
        });
        until("the log fills up", || {
            asked.load(Ordering::SeqCst) > capacity
        });
        std::thread::sleep(stay);
        assert_eq!(committed.load(Ordering::SeqCst), capacity, "one block each");
        assert!(!thread.is_finished());
        log.checkpoint(log.durable()).expect("durable");
        thread.join().expect("it went on");
    });
    log.close().expect("nothing failed");
    Duration::from_nanos(waited.load(Ordering::Relaxed))
}

/// A log that is full up to its checkpoint can still be dropped and closed; what was acknowledged
/// before is there.
#[test]
fn a_full_log_closes_and_says_what_was_not_written() {
    for (log_writer, close) in [
        (LogWriter::Auto, true),
        (LogWriter::Inline, true),
        (LogWriter::Lgwr, true),
        (LogWriter::Lgwr, false),
        (LogWriter::Workers(3), true),
        (LogWriter::Workers(3), false),
        (LogWriter::Adaptive, true),
    ] {
        let scratch = Scratch::with_log();
        let ways = options().log_writer(log_writer);
        let (log, _) = common::open_with(&scratch.0, ways).expect("a new log");
        let mut session = log.session();
        for which in 0..log.geometry().capacity_blocks() {
            session.append(&[&which.to_le_bytes()]).expect("open");
            session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
        }
        session
            .append(&[b"one too many"])
            .expect("room in the buffer");
        session.commit(NOWAIT).expect("posted");
        std::thread::sleep(Duration::from_millis(20));
        let capacity = log.geometry().capacity_blocks();
        if close {
            assert!(matches!(log.close(), Err(Error::CheckpointIncomplete)));
        } else {
            drop(log);
        }
        assert!(matches!(
            session.append(&[b"late"]),
            Err(Error::CheckpointIncomplete)
        ));
        let (records, _) = recovered(&scratch.0);
        assert_eq!(records.len() as u64, capacity);
    }
}

#[test]
fn redo_that_nobody_waits_for_is_durable_in_the_end() {
    for log_writer in WRITERS {
        let scratch = Scratch::with_log();
        let ways = options().log_writer(log_writer);
        let (log, _) = common::open_with(&scratch.0, ways).expect("a new log");
        let before = log.durable();
        let mut session = log.session();
        session.append(&[b"nobody waits"]).expect("open");
        let told = session.commit(CommitMode::NOWAIT_BATCH).expect("open");
        assert!(!told.durable);
        // The log writer looks every three seconds; how soon it then gets to run and the device
        // to answer is the machine's.
        until("nobody waits, and it is never written", || {
            log.durable() > before
        });
        drop(log);
        assert_eq!(recovered(&scratch.0).0[0].1, b"nobody waits");
    }
}

#[test]
fn redo_that_nobody_waits_for_is_durable_when_it_is_flushed_or_closed() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut session = log.session();
    session.append(&[&record(0, 0)]).expect("open");
    log.flush().expect("whole");
    let flushed = log.durable();
    assert!(
        flushed
            > Rba {
                log_seq: 1,
                block: 0,
                offset: 0
            }
    );
    session.append(&[&record(0, 1)]).expect("open");
    session.commit(CommitMode::NOWAIT_BATCH).expect("open");
    log.close().expect("nothing failed");
    let (records, how) = recovered(&scratch.0);
    assert_eq!(how, End::Clean);
    assert_prefixes(&records, &[2]);
}

#[test]
fn a_log_lives_many_lives() {
    let scratch = Scratch::with_log();
    for life in 0..40_u32 {
        let (log, recovery) = common::open_with(&scratch.0, options()).expect("opens again");
        let mut found = Vec::new();
        recovery
            .recover(|_, bytes| {
                found.push(whose(bytes));
                Ok::<(), redo::Error>(())
            })
            .expect("readable");
        let expected: Vec<_> = (0..life).map(|which| (0, which)).collect();
        assert_eq!(found, expected, "life {life}");
        let mut session = log.session();
        commit(&mut session, 0, life).expect("durable");
        if life % 3 == 0 {
            log.close().expect("nothing failed");
        }
    }
}

#[test]
fn records_of_every_size_come_back_and_larger_ones_are_refused() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let max = log.max_record_bytes() as usize;
    let mut session = log.session();
    let mut wanted = Vec::new();
    let payload = log.geometry().payload() as usize;
    let edges = [
        0,
        1,
        payload - 9,
        payload - 8,
        payload - 7,
        2 * payload,
        max - 1,
        max,
    ];
    for len in edges {
        let body: Vec<u8> = (0..len).map(|at| (at * 31 + len) as u8).collect();
        let thirds: Vec<&[u8]> = body.chunks(len / 3 + 1).collect();
        session.append(&thirds).expect("open");
        wanted.push(body);
        if len % 2 == 0 {
            session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
        }
    }
    let refused = session.append(&[&vec![0; max], b"x"]);
    let told = matches!(refused, Err(Error::RecordTooLarge { len, max: most })
        if len == max as u64 + 1 && most == max as u64);
    assert!(told, "{refused:?}");
    log.close().expect("nothing failed");
    let (records, _) = recovered(&scratch.0);
    let found: Vec<_> = records.into_iter().map(|(_, bytes)| bytes).collect();
    assert!(found == wanted, "{} records", found.len());
}

#[test]
fn a_checkpoint_is_taken_only_where_the_log_is_durable() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut session = log.session();
    let first = commit(&mut session, 0, 0).expect("durable");
    let open_rba = session.append(&[&record(0, 1)]).expect("open");
    for far in [
        Rba {
            offset: 1,
            ..open_rba
        },
        Rba {
            log_seq: 9,
            ..open_rba
        },
        Rba {
            log_seq: 0,
            ..open_rba
        },
    ] {
        let refused = log.checkpoint(far);
        assert!(matches!(refused, Err(Error::Checkpoint { .. })), "{far}");
    }
    log.checkpoint(first).expect("durable");
    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    log.checkpoint(open_rba).expect("durable");
    log.checkpoint(first).expect("going back changes nothing");
    drop(log);
    let (records, _) = recovered(&scratch.0);
    assert_eq!(records, [(open_rba, record(0, 1))]);
}

/// A waiting log buffer: appends far ahead of a slow writer. Where the machine let the writer keep
/// up all the same, it is tried again.
#[test]
fn a_full_log_buffer_is_waited_for() {
    for log_writer in WRITERS {
        let mut waits = (0..20).map(|_| wait_for_room(log_writer));
        assert!(waits.any(|waits| waits > 0), "the buffer was never full");
    }
}

/// Appends more than the log buffer holds; how many waits for room there were.
fn wait_for_room(log_writer: LogWriter) -> u64 {
    let scratch = Scratch::with_log();
    let ways = options().log_writer(log_writer).observer(|_| {
        std::thread::sleep(Duration::from_millis(20));
    });
    let (log, _) = common::open_with(&scratch.0, ways).expect("a new log");
    let waits = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for who in 0..4_u32 {
            let (mut session, waits) = (log.session(), &waits);
            scope.spawn(move || {
                let body = vec![who as u8; 20_000];
                for which in 0..15_u32 {
                    let vectors: [&[u8]; 2] = [&which.to_le_bytes(), &body];
                    session.append(&vectors).expect("open");
                }
                session.commit(CommitMode::NOWAIT_BATCH).expect("open");
                waits.fetch_add(session.space_waits().count, Ordering::Relaxed);
            });
        }
    });
    log.close().expect("nothing failed");
    let (records, _) = recovered(&scratch.0);
    assert_eq!(records.len(), 60);
    waits.load(Ordering::Relaxed)
}

#[test]
fn a_recorded_run_replays_byte_for_byte() {
    for log_writer in WRITERS {
        let scratch = Scratch::with_log();
        let writes = Arc::new(Mutex::new(0_u64));
        let count = Arc::clone(&writes);
        let ways = options()
            .log_writer(log_writer)
            .record_history(true)
            .observer(move |_| *count.lock().expect("whole") += 1);
        let (log, _) = common::open_with(&scratch.0, ways).expect("a new log");
        run(&log, 4, 40);
        let history = log.history().expect("whole").expect("it was asked for");
        let batches = *writes.lock().expect("whole");
        assert!(history.steps() >= 4 * batches, "{} steps", history.steps());
        assert_eq!(history.replay(log.fresh_writer()), Ok(history.steps()));
        log.close().expect("nothing failed");
    }
}

/// Every engine with every sync method recovers what it acknowledged; the log says which it was.
#[test]
fn every_engine_recovers_what_it_acknowledged() {
    let refused = UringOptions::default().check().err();
    for (sync_method, io) in SyncMethod::ALL
        .into_iter()
        .flat_map(|method| [(method, IoEngine::IoUring), (method, IoEngine::Threads)])
    {
        for (log_writer, linked, depth) in [
            (LogWriter::Auto, false, 1),
            (LogWriter::Inline, false, 1),
            (LogWriter::Lgwr, true, 1),
            (LogWriter::Lgwr, false, 4),
            (LogWriter::Workers(2), false, 1),
        ] {
            let scratch = Scratch::with_log();
            let ways = options()
                .sync_method(sync_method)
                .io(io)
                .log_writer(log_writer)
                .huge_pages(linked)
                .lock_memory(linked)
                .policy(Policy::default().depth(depth))
                .uring(UringOptions::default().linked(linked));
            let log = match common::open_with(&scratch.0, ways) {
                Ok((log, _)) => log,
                Err(e) if sync_method.is_direct() => {
                    println!("skipped: {sync_method}: {e}");
                    continue;
                }
                Err(e) => panic!("{sync_method} {io:?}: {e}"),
            };
            let back_end = log.back_end();
            assert_eq!(back_end.sync_method, Some(sync_method));
            let wanted = match &refused {
                Some(_) => IoEngine::Threads,
                None => io,
            };
            // A system may refuse a ring at one moment and not at another; then it is said.
            let refused_now = back_end.fallbacks.iter().any(|f| f.contains("io_uring"));
            if refused_now && refused.is_none() {
                println!(
                    "skipped: rings with {sync_method}: {:?}",
                    back_end.fallbacks
                );
            } else {
                assert_eq!(back_end.io, wanted.name(), "{:?}", back_end.fallbacks);
            }
            run(&log, 4, 30);
            log.close().expect("nothing failed");
            let (records, how) = recovered(&scratch.0);
            assert_eq!((how, records.len()), (End::Clean, 120));
            assert_prefixes(&records, &[30; 4]);
        }
    }
}

/// A system that permits no io_uring: the log is written with threads, and says so.
#[test]
fn a_refused_ring_is_said_and_done_without() {
    for probe in [false, true] {
        let scratch = Scratch::with_log();
        let ways = options()
            .io(IoEngine::IoUring)
            .probe(probe)
            .uring(UringOptions::default().refuse_setup(Some(1)));
        let (log, _) = common::open_with(&scratch.0, ways).expect("threads do");
        let back_end = log.back_end();
        assert_eq!(back_end.io, "threads");
        let said = back_end.fallbacks.join("; ");
        assert!(said.contains("io_uring") && said.contains("threads instead"));
        assert_eq!(back_end.probe.is_empty(), !probe);
        assert!(back_end.probe.iter().all(|f| f.way.io == IoEngine::Threads));
        let mut session = log.session();
        commit(&mut session, 0, 0).expect("durable");
        log.close().expect("nothing failed");
        assert_prefixes(&recovered(&scratch.0).0, &[1]);
    }
}

/// The probe chooses among what it measured, leaves nothing beside the log, and a probe that
/// cannot be made leaves the sync method that was named.
#[test]
fn a_probe_chooses_and_leaves_nothing() {
    let scratch = Scratch::with_log();
    let files = || std::fs::read_dir(&scratch.0).expect("readable").count();
    let before = files();
    let ways = || options().sync_method(SyncMethod::Buffered).probe(true);
    let (log, _) = common::open_with(&scratch.0, ways()).expect("a new log");
    let back_end = log.back_end();
    let chosen = |f: &&ProbedWay| Some(f.way.method) == back_end.sync_method;
    let chosen = back_end.probe.iter().find(chosen).expect("was probed");
    assert!(chosen.writes > 0, "{chosen:?}");
    assert_eq!(files(), before);
    log.close().expect("nothing failed");
    let in_the_way = scratch.0.join(device::probe::FILE_NAME);
    std::fs::write(&in_the_way, b"not the probe's").expect("writable");
    let (log, _) = common::open_with(&scratch.0, ways()).expect("the log is there");
    assert_eq!(log.back_end().sync_method, Some(SyncMethod::Buffered));
    let said = log.back_end().fallbacks.join("; ");
    assert!(said.contains("in the way") && said.contains("buffered is used"));
    assert!(in_the_way.exists(), "what is not ours stays");
}

const RESIDENT: &str = "REDO_RESIDENT_DIRECTORY";

/// An engine with a log buffer of 64 MiB stays under 100 MiB, with normal and with huge pages, with
/// threads and with rings. A process of its own is measured.
#[test]
fn a_log_buffer_of_64_mib_stays_under_100_mib() {
    if let Ok(directory) = std::env::var(RESIDENT) {
        return resident(std::path::Path::new(&directory));
    }
    let scratch = Scratch::new();
    let shape = common::SMALL.groups(2).file_bytes(72 << 20);
    common::create_with(&scratch.0, shape, &|_, _| {}, &|| false).expect("a new log");
    let test = "a_log_buffer_of_64_mib_stays_under_100_mib";
    let child = std::process::Command::new(std::env::current_exe().expect("a test has a path"))
        .args([test, "--exact", "--nocapture"])
        .env(RESIDENT, &scratch.0)
        .output()
        .expect("a child");
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{said}");
    let figures = said.lines().filter_map(|l| l.strip_prefix("resident kB: "));
    let figures: Vec<u64> = figures.map(|n| n.parse().expect("a number")).collect();
    assert_eq!(figures.len(), 4, "{said}");
    let most = figures.iter().max().expect("four");
    assert!((64 << 10..100 << 10).contains(most), "{figures:?} kB");
}

/// Opens the log in each way, fills its buffer once, and says how much memory that took at most.
fn resident(directory: &std::path::Path) {
    for (io, huge_pages) in [
        (IoEngine::Threads, false),
        (IoEngine::Threads, true),
        (IoEngine::IoUring, false),
        (IoEngine::IoUring, true),
    ] {
        let ways = options()
            .io(io)
            .huge_pages(huge_pages)
            .buffer_bytes(64 << 20);
        let (log, _) = common::open_with(directory, ways).expect("the log opens");
        assert_eq!(log.buffer_bytes(), 64 << 20);
        let mut session = log.session();
        let body = vec![7; 1 << 20];
        for _ in 0..66 {
            session.append(&[&body]).expect("open");
            session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
            log.checkpoint(log.durable()).expect("durable");
        }
        log.close().expect("nothing failed");
        let status = std::fs::read_to_string("/proc/self/status").expect("readable");
        let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|l| l.split_whitespace().next());
        println!("resident kB: {}", peak.expect("the kernel says it"));
    }
}
