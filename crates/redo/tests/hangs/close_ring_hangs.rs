//! The end of a log with a ring while the disk or the ring hangs: `close` and `drop` wait for it
//! as long as its patience lasts and no longer, and nothing is lost. The disk alone says that a log
//! was closed: without it the close fails, and what was acknowledged is recovered from the ring.
//!
//! The patience is counted by a clock of the test, so that the machine's speed decides nothing. The
//! live test is the same on the system's clock, with `REDOLAB_HANGS` more rounds.

use crate::common::{PATIENCE, record, until};
use crate::ends::{assert_ends_with_the_patience, commit_until_closed};
use crate::hangs::{Live, PATIENT, TestClock, patient};
use crate::places::commit;
use crate::ring_rig::{CONTROL, DELAY, DISK, RING, RingRig};
use redo::{CommitMode, LogWriter, Session};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The log is drained by a write and a flush of the disk, and of the ring, where nothing is late. A
/// close is durable when the disk has it in two copies, each with a write and a flush. With
/// failover the ring gets nothing while the disk answers.
const MOMENTS: [(usize, usize); 8] = [
    (DISK, 0),
    (DISK, 1),
    (CONTROL, 0),
    (CONTROL, 1),
    (CONTROL, 2),
    (CONTROL, 3),
    (RING, 0),
    (RING, 1),
];

#[test]
fn a_log_closes_when_the_patience_with_the_disk_or_the_ring_is_over() {
    for (delay, (hung, after)) in [None, Some(DELAY)]
        .iter()
        .flat_map(|delay| MOMENTS.map(|moment| (*delay, moment)))
    {
        if delay.is_some() && hung == RING {
            continue;
        }
        let what = format!("delay {delay:?}, device {hung}, after {after} calls");
        let rig = RingRig::new(delay);
        let clock = Arc::new(TestClock::default());
        let log = rig.open(delay, patient(&clock));
        commit(&log, 0..10);
        let mut session = log.session();
        session.append(&[&record(0, 10)]).expect("open");
        session.commit(CommitMode::NOWAIT_BATCH).expect("open");
        // The ring is flushed while the disk does not answer.
        let gate = (hung == RING).then(|| rig.devices[DISK].gate());
        let (log, hang) = (&log, rig.devices[hung].hang(after));
        std::thread::scope(|scope| {
            let (gate, hang) = (gate, hang);
            let closes = scope.spawn(move || log.close());
            assert!(hang.await_hanging(1, PATIENCE), "{what}: it is reached");
            drop(gate);
            assert_ends_with_the_patience(&what, &clock, &hang, &closes);
            let closed = closes.join().expect("no panic");
            // The disk alone says that the log was closed.
            assert_eq!(closed.is_ok(), hung == RING, "{what}: {closed:?}");
            if hung == RING {
                rig.lose_ring();
            }
            rig.assert_kept(delay, 0, 11);
            drop(hang);
        });
    }
}

#[test]
fn a_log_that_is_dropped_waits_for_the_disk_and_the_ring_until_the_patience_is_over() {
    let cases = [
        (None, DISK, 0),
        (None, DISK, 1),
        (Some(DELAY), DISK, 0),
        (Some(DELAY), DISK, 1),
        (None, RING, 0),
        (None, RING, 1),
    ];
    for (delay, hung, after) in cases {
        let what = format!("delay {delay:?}, device {hung}, after {after} calls");
        let rig = RingRig::new(delay);
        let clock = Arc::new(TestClock::default());
        // The session writes for itself, and so gets its answer.
        let log = rig.open(delay, patient(&clock).log_writer(LogWriter::Inline));
        commit(&log, 0..10);
        let gate = (hung == RING).then(|| rig.devices[DISK].gate());
        let hang = rig.devices[hung].hang(after);
        std::thread::scope(|scope| {
            let (gate, hang) = (gate, hang);
            let mut session = log.session();
            let commits = scope.spawn(move || crate::common::commit(&mut session, 0, 10).map(drop));
            assert!(hang.await_hanging(1, PATIENCE), "{what}: it is reached");
            drop(gate);
            if delay.is_none() {
                until("the other one suffices", || commits.is_finished());
            }
            let drops = scope.spawn(move || drop(log));
            assert_ends_with_the_patience(&what, &clock, &hang, &drops);
            let committed = commits.join().expect("no panic");
            assert!(committed.is_ok(), "{what}: {committed:?}");
            rig.assert_kept(delay, 0, 11);
            drop(hang);
        });
    }
}

/// An open log waits for the disk before it says that a checkpoint is durable. One that closes does
/// not, and its checkpoint fails.
#[test]
fn a_log_closes_beside_a_checkpoint_that_waits_for_the_disk() {
    for (delay, hung) in [(None, DISK), (None, CONTROL), (Some(DELAY), CONTROL)] {
        let what = format!("delay {delay:?}, device {hung}");
        let rig = RingRig::new(delay);
        let clock = Arc::new(TestClock::default());
        let log = rig.open(delay, patient(&clock));
        commit(&log, 0..10);
        let (log, hang) = (&log, rig.devices[hung].hang(0));
        std::thread::scope(|scope| {
            let hang = hang;
            if hung == DISK {
                commit(log, 10..11);
            }
            let durable = log.durable();
            let update = scope.spawn(move || log.checkpoint(durable));
            assert!(hang.await_hanging(1, PATIENCE), "{what}: it is reached");
            clock.go_on(PATIENT);
            std::thread::sleep(Duration::from_millis(5));
            assert!(!update.is_finished(), "{what}: the log is open");
            let closes = scope.spawn(move || log.close());
            until(&format!("{what}: it ends"), || closes.is_finished());
            assert!(closes.join().expect("no panic").is_err(), "{what}");
            assert!(update.join().expect("no panic").is_err(), "{what}");
            rig.assert_kept(delay, 0, if hung == DISK { 11 } else { 10 });
            drop(hang);
        });
    }
}

/// A ring that is given a few log writes at most while the disk is late has no room for the last
/// commit: nobody can write it, and it fails when the log is closed.
#[test]
fn a_log_closes_that_waits_for_the_disk_because_the_ring_takes_no_more() {
    let what = "the ring takes no more";
    let rig = RingRig::new(Some(DELAY));
    let clock = Arc::new(TestClock::default());
    let log = rig.open(Some(DELAY), patient(&clock));
    let (log, hang) = (&log, rig.devices[DISK].hang(0));
    std::thread::scope(|scope| {
        let hang = hang;
        let mut session = log.session();
        let commits = scope.spawn(move || commit_until_refused(&mut session));
        assert!(hang.await_hanging(1, PATIENCE), "{what}: it is reached");
        clock.go_on(DELAY);
        until(what, || log.ring().is_some_and(|ring| ring.over_budget));
        let closes = scope.spawn(move || log.close());
        std::thread::sleep(Duration::from_millis(5));
        assert!(!closes.is_finished(), "{what}: the patience is not over");
        clock.go_on(PATIENT - DELAY);
        until("it closes", || closes.is_finished());
        assert!(closes.join().expect("no panic").is_err(), "{what}");
        let acknowledged = commits.join().expect("no panic");
        assert!(acknowledged > 10);
        // The ring has what was acknowledged, and nothing of the last one.
        assert_eq!(rig.kept(Some(DELAY), 0), acknowledged);
        drop(hang);
    });
}

fn commit_until_refused(session: &mut Session) -> u32 {
    let refused = |number: &u32| crate::common::commit(session, 0, *number).is_err();
    (0..).find(refused).expect("the log is closed")
}

/// The longest that a commit or the close itself took, from the moment on at which a device hangs.
fn longest_wait(
    rig: &RingRig,
    delay: Option<Duration>,
    hung: usize,
    after: usize,
    patience: Duration,
) -> Duration {
    let log = rig.open(delay, crate::common::options().member_patience(patience));
    let (hang, acknowledged, worst) = std::thread::scope(|scope| {
        let mut session = log.session();
        let commits = scope.spawn(move || commit_until_closed(&mut session));
        std::thread::sleep(Duration::from_millis(5));
        let hang = rig.devices[hung].hang(after);
        let begun = Instant::now();
        // What came of it depends on what hangs.
        let _ = log.close();
        let took = begun.elapsed();
        let (acknowledged, worst) = commits.join().expect("no panic");
        (hang, acknowledged, worst.max(took))
    });
    // A commit that was not acknowledged may be there.
    let left = rig.kept(delay, 0);
    assert!(left == acknowledged || left == acknowledged + 1);
    drop(hang);
    worst
}

#[test]
fn commits_go_on_while_the_disk_or_the_ring_hangs_and_the_log_closes() {
    let (mut live, patience) = (Live::new(), Duration::from_millis(300));
    for round in 0..live.rounds() {
        for (delay, hung) in [
            (None, DISK),
            (None, CONTROL),
            (None, RING),
            (Some(DELAY), DISK),
        ] {
            let rig = RingRig::new(delay);
            let case = format!("close, {delay:?}, device {hung}");
            let after = round as usize % 4;
            live.count(&case, patience, || {
                longest_wait(&rig, delay, hung, after, patience)
            });
        }
    }
    live.judge();
}
