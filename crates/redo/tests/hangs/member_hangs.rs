//! A member that hangs, in whatever the log does meanwhile: commits wait for it as long as its
//! patience lasts and no longer, reports do not wait at all, and nothing is lost.
//!
//! The patience is counted by a clock of the test, so that the machine's speed decides nothing. The
//! live tests are the same on the system's clock, with `REDOLAB_HANGS` more rounds.

use crate::common::{PATIENCE, until};
use crate::hangs::{Live, PATIENT, Rig, TestClock, patient};
use crate::places::{commit, in_sync};
use measure::{Clock, Nanos};
use redo::{ArchiveMode, Log};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Commits and reports while `update` hangs on a member, after so many calls of its control
/// information; how long the commit waited, by the clock of the test.
fn commit_beside(rig: &Rig, hung: usize, after: usize, update: impl Fn(&Log) + Sync) -> Duration {
    let clock = Arc::new(TestClock::default());
    let log = rig.open(patient(&clock).archive_mode(ArchiveMode::On));
    commit(&log, 0..10);
    let hangs = rig.members[hung].hang(after);
    let (begun, ended) = (clock.now(), AtomicU64::new(u64::MAX));
    std::thread::scope(|scope| {
        let update = scope.spawn(|| update(&log));
        assert!(hangs[1].await_hanging(1, PATIENCE), "it reaches the member");
        let commits = scope.spawn(|| {
            commit(&log, 10..11);
            ended.store(clock.now().0, SeqCst);
        });
        assert!(
            hangs[0].await_hanging(1, PATIENCE),
            "it is written there, too"
        );
        // Nobody has been patient for long enough, and reports ask no device.
        assert_eq!(log.members().len(), 2);
        assert!(log.archive_position().is_ok() && log.id().is_ok());
        assert!(log.read_from(log.durable()).is_ok());
        if rig.cell > 1 {
            until("the other one suffices", || commits.is_finished());
        }
        clock.go_on(PATIENT - Duration::from_nanos(1));
        std::thread::sleep(Duration::from_millis(5));
        assert!(!update.is_finished());
        assert!(rig.cell > 1 || !commits.is_finished());
        clock.go_on(Duration::from_nanos(1));
        until("the commit goes on without the member", || {
            commits.is_finished()
        });
        until("so does the update", || update.is_finished());
    });
    assert!(!in_sync(&log)[hung]);
    assert!(in_sync(&log)[1 - hung]);
    drop(hangs);
    drop(log);
    Duration::from_nanos(Nanos(ended.into_inner()).since(begun).0)
}

/// At each moment of an update: two copies are written and flushed, one after the other.
#[test]
fn a_member_that_hangs_in_an_update_is_waited_for_exactly_as_long_as_its_patience_lasts() {
    let updates: [fn(&Log); 2] = [
        |log| log.checkpoint(log.durable()).expect("durable"),
        |log| log.archived(log.durable()).expect("durable"),
    ];
    for (cell, hung) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
        for (update, after) in updates
            .iter()
            .flat_map(|u| (0..4).map(move |after| (u, after)))
        {
            let rig = Rig::new(2, cell);
            let waited = commit_beside(&rig, hung, after, update);
            let expected = if cell == 1 { PATIENT } else { Duration::ZERO };
            assert!(
                waited == expected,
                "cell {cell}, member {hung}, {after} calls: {waited:?}"
            );
            rig.assert_kept(hung, 11);
        }
    }
}

/// Without a commit nobody looks at the queue but who waits.
#[test]
fn an_update_of_an_idle_log_goes_on_without_a_member_that_hangs() {
    for (cell, hung) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
        let rig = Rig::new(2, cell);
        let clock = Arc::new(TestClock::default());
        let log = rig.open(patient(&clock));
        commit(&log, 0..10);
        let hangs = rig.members[hung].hang(0);
        std::thread::scope(|scope| {
            let update = scope.spawn(|| log.checkpoint(log.durable()).expect("durable"));
            assert!(hangs[1].await_hanging(1, PATIENCE), "it reaches the member");
            clock.go_on(PATIENT);
            until("it goes on without the member", || update.is_finished());
        });
        commit(&log, 10..11);
        assert!(!in_sync(&log)[hung]);
        drop(hangs);
        drop(log);
        rig.assert_kept(hung, 11);
    }
}

/// It is closed on the other one, which alone shows the end.
#[test]
fn a_log_closes_without_a_member_that_hangs() {
    for (cell, hung) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
        let rig = Rig::new(2, cell);
        let clock = Arc::new(TestClock::default());
        let log = rig.open(patient(&clock));
        commit(&log, 0..10);
        let hang = rig.members[hung].control.hang(0);
        let other = &rig.members[1 - hung].control;
        let writes = || other.counts().writes;
        // The first one begins an update, and one that is cut short is written again, with a mark.
        let all = writes() + if hung == 0 { 2 } else { 3 };
        std::thread::scope(|scope| {
            let closes = scope.spawn(|| log.close());
            assert!(hang.await_hanging(1, PATIENCE), "it reaches the member");
            clock.go_on(PATIENT);
            until("the other one has it", || writes() == all);
            // Its files are given up when nothing is written to them any more.
            drop(hang);
            closes.join().expect("no panic").expect("closed");
        });
        rig.assert_kept(hung, 10);
    }
}

/// What a live test has the log do beside commits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Beside {
    Checkpoints,
    /// An archiver, which log switches wait for, too.
    Archive,
    /// A member that was given up is copied.
    Resilver,
}

/// Checkpoints every few milliseconds, behind what was archived where there is an archiver.
fn hold_back(log: &Log, beside: Beside) {
    let mut upto = log.durable();
    if beside == Beside::Archive {
        let from = log
            .archive_position()
            .expect("open")
            .expect("in archive mode");
        for record in log.read_from(from).expect("kept") {
            upto = record.expect("readable").next;
        }
        log.archived(upto).expect("durable");
    }
    log.checkpoint(upto).expect("durable");
    std::thread::sleep(Duration::from_millis(2));
}

/// The longest commit while `hung` hangs for a while, on the system's clock.
fn longest_commit(rig: &Rig, hung: usize, beside: Beside, patience: Duration) -> (Duration, u32) {
    let retry = (beside == Beside::Resilver).then_some(Duration::from_millis(1));
    let options = crate::common::options().member_patience(patience);
    let options = options.member_retry(retry).archive_mode(match beside {
        Beside::Archive => ArchiveMode::On,
        _ => ArchiveMode::Off,
    });
    let log = rig.open(options);
    let (stop, next) = (AtomicBool::new(false), AtomicU32::new(0));
    let worst = std::thread::scope(|scope| {
        let holds = scope.spawn(|| {
            while !stop.load(SeqCst) {
                hold_back(&log, beside);
            }
        });
        let commits = scope.spawn(|| {
            let (mut session, mut worst) = (log.session(), Duration::ZERO);
            while !stop.load(SeqCst) {
                let begun = Instant::now();
                let committed = crate::common::commit(&mut session, 0, next.load(SeqCst));
                committed.unwrap_or_else(|e| panic!("{e}: {:?}", log.members()));
                worst = worst.max(begun.elapsed());
                next.fetch_add(1, SeqCst);
            }
            worst
        });
        until("it is in use", || next.load(SeqCst) > 20);
        if beside == Beside::Resilver {
            rig.give_up(hung, || !in_sync(&log)[hung]);
            let is_copied = || log.members()[hung].resilvering || in_sync(&log)[hung];
            until("it is copied, or was", is_copied);
        }
        let hangs = rig.members[hung].hang(0);
        let before = next.load(SeqCst);
        // It hangs until commits go on without it, and have filled the log.
        until("commits go on", || next.load(SeqCst) > before + 1000);
        stop.store(true, SeqCst);
        let worst = commits.join().expect("no panic");
        holds.join().expect("no panic");
        drop(hangs);
        worst
    });
    if beside != Beside::Resilver {
        assert!(!in_sync(&log)[hung]);
    }
    (worst, next.into_inner())
}

/// Commits go on while the hang goes on: that is certain.
#[test]
fn commits_go_on_while_a_member_hangs_whatever_the_log_does() {
    let patience = Duration::from_millis(300);
    let mut live = Live::new();
    for _ in 0..live.rounds() {
        for beside in [Beside::Checkpoints, Beside::Archive, Beside::Resilver] {
            for (cell, hung) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
                let rig = Rig::new(2, cell);
                let case = format!("{beside:?}, cell {cell}, member {hung}");
                live.count(&case, patience, || {
                    longest_commit(&rig, hung, beside, patience).0
                });
            }
        }
    }
    live.judge();
}
