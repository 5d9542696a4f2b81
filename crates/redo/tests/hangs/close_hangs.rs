//! The end of a log with a member that hangs: `close` and `drop` wait for it as long as its
//! patience lasts and no longer, whatever they are at, and nothing is lost. The log can then be
//! opened without the member while it still hangs.
//!
//! The patience is counted by a clock of the test, so that the machine's speed decides nothing. The
//! live test is the same on the system's clock, with `REDOLAB_HANGS` more rounds.

use crate::common::{PATIENCE, record, until};
use crate::ends::{assert_ends_with_the_patience, commit_until_closed};
use crate::hangs::{Live, Member, Rig, TestClock, patient};
use crate::places::{commit, count, try_open};
use device::fault::Hang;
use redo::{CommitMode, Error, LogWriter, Session};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Two members that mirror each other, and two that race, and which of them hangs.
const CASES: [(usize, usize); 4] = [(1, 0), (1, 1), (2, 0), (2, 1)];

/// Where the hang begins: after so many calls of a member's redo, or of its control information.
#[derive(Clone, Copy, Debug)]
enum From {
    Redo(usize),
    Control(usize),
    /// Of both at once, as a device hangs.
    Both,
}

/// A log is drained by a write and a flush; that it was closed is written to two copies, each with
/// a write and a flush.
const MOMENTS: [From; 7] = [
    From::Redo(0),
    From::Redo(1),
    From::Control(0),
    From::Control(1),
    From::Control(2),
    From::Control(3),
    From::Both,
];

impl From {
    /// The first one is reached.
    fn begin(self, member: &Member) -> Vec<Hang> {
        match self {
            From::Redo(after) => vec![member.redo.hang(after)],
            From::Control(after) => vec![member.control.hang(after)],
            From::Both => vec![member.redo.hang(0), member.control.hang(0)],
        }
    }
}

/// Redo that nobody has written before the log is closed.
fn append(session: &mut Session, number: u32) {
    session.append(&[&record(0, number)]).expect("open");
    session.commit(CommitMode::NOWAIT_BATCH).expect("open");
}

#[test]
fn a_log_closes_when_the_patience_with_a_member_that_hangs_is_over() {
    for (cell, hung) in CASES {
        for from in MOMENTS {
            let what = format!("cell {cell}, member {hung}, {from:?}");
            let rig = Rig::new(2, cell);
            let clock = Arc::new(TestClock::default());
            let log = rig.open(patient(&clock));
            commit(&log, 0..10);
            append(&mut log.session(), 10);
            let hangs = from.begin(&rig.members[hung]);
            std::thread::scope(|scope| {
                // Let go of when the test fails, too.
                let hangs = hangs;
                let closes = scope.spawn(|| log.close());
                assert_ends_with_the_patience(&what, &clock, &hangs[0], &closes);
                let closed = closes.join().expect("no panic");
                assert!(closed.is_ok(), "{what}: {closed:?}");
                // The hang goes on while the other member is opened.
                rig.assert_kept(hung, 11);
                drop(hangs);
            });
        }
    }
}

/// A commit waits for a member of a mirror; in a race the member is late with what the other one
/// has.
#[test]
fn a_log_that_is_dropped_ends_when_the_patience_is_over() {
    for (cell, hung) in CASES {
        for after in 0..2 {
            let what = format!("cell {cell}, member {hung}, after {after} calls");
            let rig = Rig::new(2, cell);
            let clock = Arc::new(TestClock::default());
            // The session writes for itself, and so gets its answer.
            let log = rig.open(patient(&clock).log_writer(LogWriter::Inline));
            commit(&log, 0..10);
            let hang = rig.members[hung].redo.hang(after);
            std::thread::scope(|scope| {
                let hang = hang;
                let mut session = log.session();
                let commits =
                    scope.spawn(move || crate::common::commit(&mut session, 0, 10).map(drop));
                assert!(hang.await_hanging(1, PATIENCE), "{what}: it is reached");
                if cell > 1 {
                    until("the other one suffices", || commits.is_finished());
                }
                let drops = scope.spawn(move || drop(log));
                assert_ends_with_the_patience(&what, &clock, &hang, &drops);
                until("the commit is answered", || commits.is_finished());
                let committed = commits.join().expect("no panic");
                assert!(committed.is_ok(), "{what}: {committed:?}");
                rig.assert_kept(hung, 11);
                drop(hang);
            });
        }
    }
}

/// The close waits for what the update waits for, and not once more.
#[test]
fn a_log_closes_beside_an_update_that_waits_for_a_member() {
    for (cell, hung) in CASES {
        let what = format!("cell {cell}, member {hung}");
        let rig = Rig::new(2, cell);
        let clock = Arc::new(TestClock::default());
        let log = rig.open(patient(&clock));
        commit(&log, 0..10);
        let (log, hang) = (&log, rig.members[hung].control.hang(0));
        std::thread::scope(|scope| {
            let hang = hang;
            let durable = log.durable();
            let update = scope.spawn(move || log.checkpoint(durable));
            assert!(hang.await_hanging(1, PATIENCE), "{what}: it is reached");
            let closes = scope.spawn(move || log.close());
            assert_ends_with_the_patience(&what, &clock, &hang, &closes);
            let closed = closes.join().expect("no panic");
            assert!(closed.is_ok(), "{what}: {closed:?}");
            until("the update ends", || update.is_finished());
            rig.assert_kept(hung, 10);
            drop(hang);
        });
    }
}

/// The longest that a commit or the close itself took, from the moment on at which `hung` hangs,
/// after so many calls.
fn longest_wait(rig: &Rig, hung: usize, after: usize, patience: Duration) -> Duration {
    let options = crate::common::options().member_patience(patience);
    let log = rig.open(options.member_retry(None));
    let hangs = std::thread::scope(|scope| {
        let mut session = log.session();
        let commits = scope.spawn(move || commit_until_closed(&mut session));
        std::thread::sleep(Duration::from_millis(5));
        let hangs = rig.members[hung].hang(after);
        let begun = Instant::now();
        let closed = log.close();
        let took = begun.elapsed();
        let full = matches!(closed, Err(Error::CheckpointIncomplete));
        assert!(closed.is_ok() || full, "{closed:?}");
        let (acknowledged, worst) = commits.join().expect("no panic");
        (hangs, acknowledged, worst.max(took))
    });
    let (hangs, acknowledged, worst) = hangs;
    let gone = rig.places.path(hung);
    std::fs::rename(&gone, gone.with_extension("away")).expect("renamed");
    let layout = match rig.cell {
        1 => rig.places.mirror(),
        _ => rig.places.race(),
    };
    let (_log, recovery) = try_open(layout).expect("the other one alone");
    // A commit that was not acknowledged may be there.
    let left = count(&recovery) as u32;
    assert!(left == acknowledged || left == acknowledged + 1);
    drop(hangs);
    worst
}

#[test]
fn commits_go_on_while_a_member_hangs_and_the_log_closes() {
    let (mut live, patience) = (Live::new(), Duration::from_millis(300));
    for round in 0..live.rounds() {
        for (cell, hung) in CASES {
            let rig = Rig::new(2, cell);
            let case = format!("close, cell {cell}, member {hung}");
            live.count(&case, patience, || {
                longest_wait(&rig, hung, round as usize % 4, patience)
            });
        }
    }
    live.judge();
}
