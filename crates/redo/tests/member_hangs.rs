//! A member that hangs, in whatever the log does meanwhile: commits wait for it as long as its
//! patience lasts and no longer, reports do not wait at all, and nothing is lost.
//!
//! The patience is counted by a clock of the test, so that the machine's speed decides nothing. The
//! live tests are the same on the system's clock, with `REDOLAB_HANGS` more rounds.

mod common;

#[path = "common/places.rs"]
mod places;

use common::{PATIENCE, until};
use device::fault::{EIO, Fault, FaultDevice, FaultTarget, Hang, Injection};
use device::{FileSet, LogDevice, SyncMethod};
use measure::{Clock, Nanos};
use places::{Places, commit, in_sync, try_open};
use redo::control::CONTROL_BYTES;
use redo::engine::Paths;
use redo::{ArchiveMode, Error, Log, MemberLayout, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// By the clock of the test.
const PATIENT: Duration = Duration::from_millis(40);

/// A clock that goes on when a test says so.
#[derive(Default)]
struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Nanos {
        Nanos(self.0.load(SeqCst))
    }
}

impl TestClock {
    fn go_on(&self, time: Duration) {
        self.0.fetch_add(time.as_nanos() as u64, SeqCst);
    }
}

/// The two devices of a member.
struct Member {
    redo: Arc<FaultDevice>,
    control: Arc<FaultDevice>,
}

impl Member {
    /// Both hang, that of the control information after so many calls.
    fn hang(&self, after: usize) -> [Hang; 2] {
        [self.redo.hang(0), self.control.hang(after)]
    }
}

/// A log of two members, in cells of `cell`.
struct Rig {
    places: Places,
    members: Vec<Member>,
    cell: usize,
}

impl Rig {
    fn new(cell: usize) -> Rig {
        let places = Places::new(2);
        Places::create(match cell {
            1 => places.mirror(),
            _ => places.race(),
        });
        let control = |member: usize| {
            let control = [Paths::new(places.path(member)).control()];
            let control = FileSet::open(&control, CONTROL_BYTES, SyncMethod::Buffered);
            Arc::new(FaultDevice::new(Arc::new(control.expect("a control file"))))
        };
        let redo = places.devices().into_iter().enumerate();
        let member = |(member, redo)| Member {
            redo,
            control: control(member),
        };
        let members = redo.map(member).collect();
        Rig {
            places,
            members,
            cell,
        }
    }

    fn open(&self, options: Options) -> Log {
        let each = self.members.iter().map(|member| {
            let (redo, control) = (member.redo.clone(), member.control.clone());
            (redo as Arc<dyn LogDevice>, control as Arc<dyn LogDevice>)
        });
        let layout = MemberLayout::devices(each.collect::<Vec<_>>(), self.cell);
        let opened = Log::builder(layout).options(options).open();
        opened.expect("a log").0
    }

    /// What is left without `lost` has every record from the checkpoint on to the last of so many
    /// that were acknowledged, alone.
    fn assert_kept(self, lost: usize, acknowledged: u32) {
        let Rig { places, cell, .. } = self;
        let gone = places.path(lost);
        std::fs::rename(&gone, gone.with_extension("away")).expect("renamed");
        let layout = match cell {
            1 => places.mirror(),
            _ => places.race(),
        };
        let (_log, recovery) = try_open(layout).expect("the lost one is known to be stale");
        let mut next = None;
        let read = recovery.recover(|rba, bytes| {
            let (_, number) = common::whose(bytes);
            assert!(next.is_none_or(|next| next == number), "{rba}");
            next = Some(number + 1);
            Ok::<(), Error>(())
        });
        read.expect("what was recovered is readable");
        assert!(next.is_none_or(|next| next == acknowledged), "{next:?}");
    }
}

fn patient(clock: &Arc<TestClock>) -> Options {
    let options = common::options()
        .member_patience(PATIENT)
        .member_retry(None);
    options.member_clock(Arc::clone(clock) as _)
}

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
            let rig = Rig::new(cell);
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
        let rig = Rig::new(cell);
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
        let rig = Rig::new(cell);
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

fn give_up(log: &Log, rig: &Rig, member: usize) {
    rig.members[member].redo.inject(Injection {
        target: FaultTarget::Write,
        nth: 0,
        fault: Fault::Errno(EIO),
        for_good: true,
    });
    until("it is given up", || !in_sync(log)[member]);
    rig.members[member].redo.heal();
    until("it is copied", || log.members()[member].resilvering);
}

/// The longest commit while `hung` hangs for a while, on the system's clock.
fn longest_commit(rig: &Rig, hung: usize, beside: Beside, patience: Duration) -> (Duration, u32) {
    let retry = (beside == Beside::Resilver).then_some(Duration::from_millis(1));
    let options = common::options().member_patience(patience);
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
                common::commit(&mut session, 0, next.load(SeqCst)).expect("acknowledged");
                worst = worst.max(begun.elapsed());
                next.fetch_add(1, SeqCst);
            }
            worst
        });
        until("it is in use", || next.load(SeqCst) > 20);
        if beside == Beside::Resilver {
            give_up(&log, rig, hung);
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

/// Commits go on while the hang goes on: that is certain. How soon is the machine's matter, so that
/// the time is only printed, and bounded in the runs that `REDOLAB_HANGS` asks for.
#[test]
fn commits_go_on_while_a_member_hangs_whatever_the_log_does() {
    let rounds = std::env::var("REDOLAB_HANGS").ok();
    let rounds = rounds.map(|rounds| rounds.parse::<u32>().expect("a number"));
    let patience = Duration::from_millis(300);
    let (mut over, mut all) = (0, 0);
    for _ in 0..rounds.unwrap_or(1) {
        for beside in [Beside::Checkpoints, Beside::Archive, Beside::Resilver] {
            for (cell, hung) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
                let rig = Rig::new(cell);
                let (worst, _) = longest_commit(&rig, hung, beside, patience);
                println!("{beside:?}, cell {cell}, member {hung}: {worst:?}");
                all += 1;
                over += u32::from(worst > patience + Duration::from_millis(100));
            }
        }
    }
    println!("{over} of {all} were over the patience and 100 ms");
    assert!(rounds.is_none() || over * 20 <= all, "{over} of {all}");
}
