//! A member that hangs while one that was given up returns: either of them, at each moment of the
//! copy. Commits wait for it as long as its patience lasts and no longer, the copy ends with the
//! patience, too, nothing is lost, and the member returns when the hang has ended.
//!
//! The patience is counted by a clock of the test, so that the machine's speed decides nothing. The
//! live test is the same on the system's clock, with `REDOLAB_HANGS` more rounds.

use crate::common::{PATIENCE, SMALL, until};
use crate::hangs::{Commits, Live, PATIENT, Rig, TestClock, WATCHED, patient};
use crate::places::{Places, commit, in_sync};
use device::fault::{FaultDevice, Hang};
use measure::Clock;
use redo::engine::Paths;
use redo::{Log, LogWriter, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// Before a member that was given up is copied, by the clock of the test: so long that it does not
/// grow with each attempt.
const PAUSE: Duration = Duration::from_secs(400);
const NEARLY: Duration = Duration::from_nanos(39_999_999);

/// A log in use of which one member was given up: nothing is copied before the clock goes on.
struct Given {
    rig: Rig,
    clock: Arc<TestClock>,
    log: Arc<Log>,
    lost: usize,
    /// Commits so far.
    number: Arc<AtomicU32>,
}

impl Given {
    fn new((count, cell): (usize, usize), lost: usize, options: fn(Options) -> Options) -> Given {
        let rig = Rig::new(count, cell);
        let clock = Arc::new(TestClock::default());
        let ways = patient(&clock).log_writer(LogWriter::Inline);
        let log = rig.open(options(ways.member_retry(Some(PAUSE))));
        let given = Given {
            rig,
            clock,
            log: Arc::new(log),
            lost,
            number: Arc::default(),
        };
        given.rig.give_up(lost, || {
            given.commit();
            !in_sync(&given.log)[lost]
        });
        given
    }

    fn commit(&self) {
        commit_next(&self.log, &self.number);
    }

    fn redo(&self, member: usize) -> &FaultDevice {
        &self.rig.members[member].redo
    }

    fn control(&self, member: usize) -> &FaultDevice {
        &self.rig.members[member].control
    }

    fn is_copied(&self) -> bool {
        self.log.members()[self.lost].resilvering
    }

    /// The copy begins, and goes on until `hang` is reached.
    fn copy_until(&self, hang: &Hang) {
        let mut attempts = Attempts::default();
        until("the copy reaches the hang", || {
            if attempts.is_due() && !self.is_copied() {
                self.clock.go_on(PAUSE);
            }
            hang.await_hanging(1, Duration::ZERO)
        });
        assert!(self.is_copied());
    }

    /// A commit goes on when the clock has gone on by exactly this; it is the call of this number
    /// that hangs.
    fn commit_waits(&self, time: Duration, hang: Option<(&Hang, usize)>) {
        let begun = self.clock.now();
        let (log, number) = (Arc::clone(&self.log), Arc::clone(&self.number));
        // Not in a scope: where this test fails the hang ends with it, and the commit then.
        let commits = std::thread::Builder::new().name(WATCHED.to_owned());
        let commits = commits.spawn(move || commit_next(&log, &number));
        let commits = commits.expect("a thread");
        if let Some((hang, calls)) = hang {
            assert!(hang.await_hanging(calls, PATIENCE), "it is written there");
            self.clock.await_looks();
            self.clock.go_on(NEARLY);
            self.clock.await_looks();
            assert!(!commits.is_finished());
            self.clock.go_on(Duration::from_nanos(1));
        }
        until("the commit goes on", || commits.is_finished());
        commits.join().expect("acknowledged");
        let waited = self.clock.now().since(begun);
        assert_eq!(u128::from(waited.0), time.as_nanos());
    }

    /// Its hang has ended, or it does not hang: it is copied, and is used as the others are.
    fn returns(&self, member: usize) {
        let mut attempts = Attempts::default();
        until("it returns", || {
            // While it is copied no time passes.
            if attempts.is_due() && !self.log.members()[member].resilvering {
                self.clock.go_on(PAUSE);
            }
            in_sync(&self.log)[member]
        });
    }

    /// `kept`, which has returned, alone has everything.
    fn end(self, kept: usize) {
        self.commit();
        self.log.close().expect("closed");
        drop(self.log);
        self.rig.assert_kept_by(kept, self.number.load(SeqCst));
    }
}

fn commit_next(log: &Log, number: &AtomicU32) {
    let next = number.load(SeqCst);
    commit(log, next..next + 1);
    number.store(next + 1, SeqCst);
}

/// Looks for whether it is time for another attempt: seldom, and more and more so, for one that is
/// under way fails when time passes.
#[derive(Default)]
struct Attempts {
    looks: u32,
    next: u32,
}

impl Attempts {
    fn is_due(&mut self) -> bool {
        self.looks += 1;
        let due = self.looks > self.next;
        if due {
            self.next = 2 * self.next + 20;
        }
        due
    }
}

const TWO: [((usize, usize), usize); 4] = [((2, 1), 0), ((2, 1), 1), ((2, 2), 0), ((2, 2), 1)];
const THREE: [(usize, usize); 2] = [(3, 1), (3, 3)];
/// A copy of these logs writes two pieces and flushes.
const CALLS: usize = 3;

/// It is needed by nobody yet.
#[test]
fn no_commit_waits_for_a_member_that_hangs_while_it_is_copied() {
    for (layout, lost) in TWO {
        for after in 0..CALLS {
            let given = Given::new(layout, lost, |options| options);
            let hang = given.redo(lost).hang(after);
            given.copy_until(&hang);
            given.commit_waits(Duration::ZERO, None);
            given.clock.go_on(NEARLY);
            std::thread::sleep(Duration::from_millis(5));
            assert!(given.is_copied());
            given.clock.go_on(Duration::from_nanos(1));
            until("the attempt ends", || !given.is_copied());
            // What was written to it last may come at any time.
            for _ in 0..5 {
                given.clock.go_on(PAUSE);
                std::thread::sleep(Duration::from_millis(2));
                assert!(!given.is_copied() && !in_sync(&given.log)[lost]);
            }
            given.commit();
            drop(hang);
            given.returns(lost);
            given.end(lost);
        }
    }
}

/// The log is closed at once. Its devices are given back when nothing is written to them any more,
/// or when the patience with it is over.
#[test]
fn a_log_that_closes_waits_for_a_member_that_is_copied_as_long_as_it_may() {
    for ((layout, lost), ends) in TWO.iter().flat_map(|two| [(*two, true), (*two, false)]) {
        let given = Given::new(layout, lost, |options| options);
        let hang = given.redo(lost).hang(0);
        given.copy_until(&hang);
        let writes = || given.control(1 - lost).counts().writes;
        let before = writes();
        let log = Arc::clone(&given.log);
        let closes = std::thread::spawn(move || log.close());
        until("the other one has it", || writes() == before + 2);
        given.clock.go_on(NEARLY);
        std::thread::sleep(Duration::from_millis(5));
        assert!(!closes.is_finished(), "what is written there may come yet");
        let hang = (!ends).then_some(hang);
        given.clock.go_on(Duration::from_nanos(u64::from(!ends)));
        until("it ends", || closes.is_finished());
        closes.join().expect("no panic").expect("closed");
        drop(given.log);
        given.rig.assert_kept(lost, given.number.load(SeqCst));
        drop(hang);
    }
}

/// It has everything, and acknowledgements wait for it; it hangs in each call that makes it durable
/// that it is in sync, and in what is committed meanwhile.
#[test]
fn commits_wait_for_a_member_that_hangs_while_it_is_believed_again_as_long_as_it_may() {
    for (layout, lost) in TWO {
        for after in 0..8 {
            let given = Given::new(layout, lost, |options| options);
            let update = given.control(lost).hang(after);
            given.copy_until(&update);
            // The redo is well, still.
            given.commit_waits(Duration::ZERO, None);
            let redo = given.redo(lost).hang(0);
            given.commit_waits(PATIENT, Some((&redo, 1)));
            until("the update ends", || !given.is_copied());
            assert!(!in_sync(&given.log)[lost] && in_sync(&given.log)[1 - lost]);
            given.commit();
            given.log.checkpoint(given.log.durable()).expect("durable");
            drop((update, redo));
            given.returns(lost);
            given.end(lost);
        }
    }
}

/// The copy is made from another one then.
#[test]
fn commits_wait_for_a_member_that_hangs_while_it_is_read_as_long_as_it_may() {
    for (layout, after) in THREE.iter().flat_map(|l| (0..2).map(|after| (*l, after))) {
        let given = Given::new(layout, 2, |options| options);
        // Nothing is written meanwhile, and the first one is read.
        let hang = given.redo(0).hang(after);
        given.copy_until(&hang);
        match layout {
            (_, 1) => given.commit_waits(PATIENT, Some((&hang, 2))),
            _ => {
                given.commit_waits(Duration::ZERO, None);
                given.clock.go_on(PATIENT);
            }
        }
        until("the attempt ends", || !given.is_copied());
        if layout.1 > 1 {
            // Somebody has to look.
            until("it is given up", || {
                given.commit();
                given.clock.go_on(PATIENT);
                !in_sync(&given.log)[0]
            });
        }
        assert_eq!(in_sync(&given.log)[..2], [false, true]);
        given.returns(2);
        given.commit();
        assert_eq!(in_sync(&given.log), [false, true, true]);
        drop(hang);
        given.returns(0);
        given.end(if after % 2 == 0 { 0 } else { 2 });
    }
}

/// The update that states that the other one is in sync goes on without it.
#[test]
fn commits_wait_for_a_member_that_hangs_while_another_is_believed_as_long_as_they_may() {
    for (layout, after) in THREE.iter().flat_map(|l| (0..4).map(|after| (*l, after))) {
        let given = Given::new(layout, 2, |options| options);
        let update = given.control(0).hang(after);
        given.copy_until(&update);
        given.commit_waits(Duration::ZERO, None);
        let redo = given.redo(0).hang(0);
        match layout {
            (_, 1) => given.commit_waits(PATIENT, Some((&redo, 1))),
            _ => {
                given.commit_waits(Duration::ZERO, None);
                given.clock.go_on(PATIENT);
            }
        }
        until("the update ends", || !given.is_copied());
        until("the others are in sync", || {
            given.commit();
            in_sync(&given.log) == [false, true, true]
        });
        drop((update, redo));
        given.returns(0);
        given.end(if after % 2 == 0 { 0 } else { 2 });
    }
}

/// The longest commit while a member is copied and `hung` hangs, on the system's clock.
fn longest_commit(
    rig: &Rig,
    (lost, hung): (usize, usize),
    after: usize,
    patience: Duration,
) -> (Duration, u32) {
    let options = crate::common::options().member_patience(patience);
    let options = options.member_retry(Some(Duration::from_millis(1)));
    let log = Arc::new(rig.open(options));
    let commits = Commits::start(&log, Duration::ZERO);
    let over = Arc::new(AtomicBool::new(false));
    let (held, ends) = (Arc::clone(&log), Arc::clone(&over));
    let checkpoints = std::thread::spawn(move || {
        while !ends.load(SeqCst) {
            held.checkpoint(held.durable()).expect("durable");
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    commits.await_more(20);
    rig.give_up(lost, || !in_sync(&log)[lost]);
    let is_copied = || log.members()[lost].resilvering || in_sync(&log)[lost];
    until("it is copied, or was", is_copied);
    let hung = &rig.members[hung];
    let hangs = [hung.redo.hang(after), hung.control.hang(after)];
    // They fill the log.
    commits.await_more(500);
    over.store(true, SeqCst);
    let (worst, number) = commits.end();
    drop(hangs);
    checkpoints.join().expect("no panic");
    (worst, number)
}

/// Commits go on while the hang goes on: that is certain.
#[test]
fn commits_go_on_while_a_member_hangs_and_another_is_copied() {
    let patience = Duration::from_millis(300);
    let mut live = Live::new();
    for round in 0..live.rounds() {
        let source = THREE.map(|layout| (layout, (2, 0)));
        let own = TWO.map(|(layout, lost)| (layout, (lost, lost)));
        for ((count, cell), members) in own.into_iter().chain(source) {
            let rig = Rig::new(count, cell);
            let (mut number, after) = (0, round as usize % 12);
            let case = format!("{count} members, cell {cell}, {members:?}, after {after}");
            live.count(&case, patience, || {
                let (worst, commits) = longest_commit(&rig, members, after, patience);
                number = commits;
                worst
            });
            rig.assert_kept_by_all(number);
        }
    }
    live.judge();
}

/// It answers at once, so that nearly every attempt is the last.
#[test]
fn a_member_in_a_directory_returns_while_the_log_is_in_use() {
    const ROUNDS: u32 = 20;
    let places = Places::new(2);
    Places::create(places.mirror());
    let clock = Arc::new(TestClock::default());
    let options = patient(&clock).member_retry(Some(PAUSE));
    let opened = Log::builder(places.mirror()).options(options).open();
    let (log, _) = opened.expect("a log");
    let rename = |from: &str, to: &str| {
        for file in Paths::new(places.path(1)).logs(SMALL.groups) {
            let named = |end: &str| file.with_extension(format!("log{end}"));
            std::fs::rename(named(from), named(to)).expect("renamed");
        }
    };
    let mut attempts = 0;
    for round in 0..ROUNDS {
        commit(&log, 2 * round..2 * round + 1);
        rename("", ".away");
        log.checkpoint(log.durable())
            .expect("the other one is there");
        commit(&log, 2 * round + 1..2 * round + 2);
        assert_eq!(in_sync(&log), [true, false]);
        rename(".away", "");
        let mut looks = 0;
        until("it returns", || {
            // While it is copied no time passes.
            if looks % 200 == 0 && !log.members()[1].resilvering {
                clock.go_on(PAUSE);
                attempts += 1;
            }
            looks += 1;
            in_sync(&log)[1]
        });
    }
    assert!(attempts < ROUNDS + ROUNDS / 2, "{attempts} attempts");
    log.close().expect("closed");
}

/// Compiled and run with the program `crash`.
#[cfg(feature = "crash")]
mod planted {
    use super::*;
    use redo::planted::{Bug, Planted};

    #[test]
    fn a_copy_that_waits_for_a_member_is_found() {
        let planted = |options: Options| options.planted(Planted::with(Bug::CopyWaitsForMember));
        let given = Given::new((2, 1), 1, planted);
        let hang = given.redo(1).hang(0);
        given.copy_until(&hang);
        given.clock.go_on(PATIENT * 2);
        std::thread::sleep(Duration::from_millis(100));
        assert!(given.is_copied(), "it has no patience");
    }
}
