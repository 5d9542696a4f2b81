//! Logs whose members can be made to hang, and a clock that goes on when a test says so.
#![allow(dead_code)]

use crate::common::{self, until};
use crate::places::{Places, try_open};
use device::fault::{EIO, Fault, FaultDevice, FaultTarget, Hang, Injection};
use device::{FileSet, LogDevice, SyncMethod};
use measure::{Clock, Nanos};
use redo::control::CONTROL_BYTES;
use redo::engine::Paths;
use redo::{Error, Log, MemberLayout, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// By the clock of the test.
pub const PATIENT: Duration = Duration::from_millis(40);

/// The name of a thread whose looks at the clock are counted.
pub const WATCHED: &str = "watched";

/// A clock that goes on when a test says so.
#[derive(Default)]
pub struct TestClock {
    time: AtomicU64,
    looks: AtomicU64,
}

impl Clock for TestClock {
    fn now(&self) -> Nanos {
        if std::thread::current().name() == Some(WATCHED) {
            self.looks.fetch_add(1, SeqCst);
        }
        Nanos(self.time.load(SeqCst))
    }
}

impl TestClock {
    pub fn go_on(&self, time: Duration) {
        self.time.fetch_add(time.as_nanos() as u64, SeqCst);
    }

    /// Waits until the watched thread has looked several times more: one that waits for a member
    /// looks again and again, and has seen by then that it waits.
    pub fn await_looks(&self) {
        let before = self.looks.load(SeqCst);
        until("it waits for a member", || {
            self.looks.load(SeqCst) > before + 3
        });
    }
}

/// The two devices of a member.
pub struct Member {
    pub redo: Arc<FaultDevice>,
    pub control: Arc<FaultDevice>,
}

impl Member {
    /// Both hang, that of the control information after so many calls.
    pub fn hang(&self, after: usize) -> [Hang; 2] {
        [self.redo.hang(0), self.control.hang(after)]
    }
}

/// A log of members in cells of `cell`.
pub struct Rig {
    pub places: Places,
    pub members: Vec<Member>,
    pub cell: usize,
}

impl Rig {
    /// Of one cell, or of cells of one each.
    pub fn new(count: usize, cell: usize) -> Rig {
        let places = Places::new(count);
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

    pub fn open(&self, options: Options) -> Log {
        let each = self.members.iter().map(|member| {
            let (redo, control) = (member.redo.clone(), member.control.clone());
            (redo as Arc<dyn LogDevice>, control as Arc<dyn LogDevice>)
        });
        let layout = MemberLayout::devices(each.collect::<Vec<_>>(), self.cell);
        let opened = Log::builder(layout).options(options).open();
        opened.expect("a log").0
    }

    /// The member fails until it `is_given_up`.
    pub fn give_up(&self, member: usize, is_given_up: impl FnMut() -> bool) {
        self.members[member].redo.inject(Injection {
            target: FaultTarget::Write,
            nth: 0,
            fault: Fault::Errno(EIO),
            for_good: true,
        });
        until("it is given up", is_given_up);
        self.members[member].redo.heal();
    }

    /// What is left without `lost` has every record from the checkpoint on to the last of so many
    /// that were acknowledged, alone.
    pub fn assert_kept(self, lost: usize, acknowledged: u32) {
        self.assert_kept_without(|member| member == lost, false, acknowledged);
    }

    /// As [`Rig::assert_kept`], `kept` alone, which need not know that the others are lost.
    pub fn assert_kept_by(self, kept: usize, acknowledged: u32) {
        self.assert_kept_without(|member| member != kept, true, acknowledged);
    }

    /// As [`Rig::assert_kept`], with all members.
    pub fn assert_kept_by_all(self, acknowledged: u32) {
        self.assert_kept_without(|_| false, false, acknowledged);
    }

    fn assert_kept_without(self, lost: impl Fn(usize) -> bool, accepted: bool, acknowledged: u32) {
        let Rig { places, cell, .. } = self;
        for gone in (0..places.paths().len()).filter(|member| lost(*member)) {
            let gone = places.path(gone);
            std::fs::rename(&gone, gone.with_extension("away")).expect("renamed");
        }
        let layout = match cell {
            1 => places.mirror(),
            _ => places.race(),
        };
        let opened = try_open(layout.accept_loss(accepted));
        let (_log, recovery) = opened.expect("what is lost is known to be stale, or accepted");
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

/// Waits for members as long as [`PATIENT`], and has none return.
pub fn patient(clock: &Arc<TestClock>) -> Options {
    let options = common::options()
        .member_patience(PATIENT)
        .member_retry(None);
    options.member_clock(Arc::clone(clock) as _)
}

/// A thread that commits one record after the other.
pub struct Commits {
    stop: Arc<AtomicBool>,
    next: Arc<AtomicU32>,
    thread: Option<JoinHandle<Duration>>,
}

impl Commits {
    /// With so long a pause behind each.
    pub fn start(log: &Arc<Log>, pause: Duration) -> Commits {
        let (stop, next): (Arc<AtomicBool>, Arc<AtomicU32>) = Default::default();
        let (log, stops, counts) = (Arc::clone(log), Arc::clone(&stop), Arc::clone(&next));
        let thread = std::thread::spawn(move || {
            let (mut session, mut worst) = (log.session(), Duration::ZERO);
            while !stops.load(SeqCst) {
                let begun = Instant::now();
                common::commit(&mut session, 0, counts.load(SeqCst)).expect("acknowledged");
                worst = worst.max(begun.elapsed());
                counts.fetch_add(1, SeqCst);
                std::thread::sleep(pause);
            }
            worst
        });
        Commits {
            stop,
            next,
            thread: Some(thread),
        }
    }

    pub fn await_more(&self, count: u32) {
        let before = self.next.load(SeqCst);
        until("commits go on", || self.next.load(SeqCst) >= before + count);
    }

    /// How long the longest took, and how many there were.
    pub fn end(mut self) -> (Duration, u32) {
        self.stop.store(true, SeqCst);
        let thread = self.thread.take().expect("it runs");
        (thread.join().expect("acknowledged"), self.next.load(SeqCst))
    }
}

impl Drop for Commits {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
    }
}

/// The live rounds of a test, and how many commits took longer than they may.
pub struct Live {
    asked: Option<u32>,
    over: u32,
    doubtful: u32,
    all: u32,
}

impl Live {
    /// One round, or as many as `REDOLAB_HANGS` asks for.
    pub fn new() -> Live {
        let asked = std::env::var("REDOLAB_HANGS").ok();
        Live {
            asked: asked.map(|rounds| rounds.parse().expect("a number")),
            over: 0,
            doubtful: 0,
            all: 0,
        }
    }

    pub fn rounds(&self) -> u32 {
        self.asked.unwrap_or(1)
    }

    /// Counts a case whose longest commit is what `measure` returns. Where this thread's neighbour
    /// woke far too late, the machine did, and the case says nothing.
    pub fn count(&mut self, case: &str, may: Duration, measure: impl FnOnce() -> Duration) {
        let over = AtomicBool::new(false);
        let (worst, stalled) = std::thread::scope(|scope| {
            let sleeps = scope.spawn(|| longest_sleep(&over));
            let ends = Ends(&over);
            let worst = measure();
            drop(ends);
            (worst, sleeps.join().expect("no panic"))
        });
        println!("{case}: {worst:?}, the machine stalled for {stalled:?}");
        let limit = may + Duration::from_millis(100);
        self.all += 1;
        match worst > limit {
            true if stalled > Duration::from_millis(50) => self.doubtful += 1,
            late => self.over += u32::from(late),
        }
    }

    /// How soon commits go on is the machine's matter, so that it is bounded only where rounds were
    /// asked for.
    pub fn judge(self) {
        let (over, doubtful, all) = (self.over, self.doubtful, self.all);
        println!("{over} of {all} over the patience and 100 ms, {doubtful} doubtful, nothing lost");
        let sure = all - doubtful;
        let holds = over * 20 <= sure && doubtful * 2 <= all;
        assert!(self.asked.is_none() || holds, "{over} of {all}, {doubtful}");
    }
}

/// Ends the other thread, also when a test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

fn longest_sleep(over: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    while !over.load(SeqCst) {
        let begun = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
        longest = longest.max(begun.elapsed());
    }
    longest
}
