//! Every operation of a script fails on a member of a mirror and of a race of two, on the first, on
//! the second, and on both: of its redo and of its control information, once and for good.
//!
//! What must come of it:
//! - a mirror goes on without a member that fails, whatever it was doing, and has marked it stale
//!   before it acknowledges again: what is left has everything, alone;
//! - a race goes on without a member that fails at its redo. It fails where control information
//!   fails, because which of its members led is not known there
//!   (docs/decisions/2026-11-23-members.md);
//! - where no member is left it fails for good, and nothing is tried again;
//! - with both members everything acknowledged is recovered, and both are in sync again.
//!
//! With `REDO_FAULTS=all` each operation meets each fault, once and for good, in more back ends.

use crate::common::{SMALL, Scratch, commit, options, whose};
use device::fault::{EINTR, EIO, ENOSPC, Fault, FaultCounts, FaultDevice, FaultTarget, Injection};
use device::{FileSet, LogDevice, SyncMethod};
use redo::control::CONTROL_BYTES;
use redo::engine::Paths;
use redo::{Error, Log, LogWriter, MemberLayout, Recovery, Shape};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const COMMITS: u32 = 10;
/// The commit after which the script takes a checkpoint.
const CHECKPOINT: u32 = 5;
const SHAPE: Shape = SMALL.groups(2);
const WRITE_FAULTS: [Fault; 5] = [
    Fault::Errno(EIO),
    Fault::Errno(ENOSPC),
    Fault::Errno(EINTR),
    Fault::Short(0),
    Fault::Short(512),
];
const FLUSH_FAULTS: [Fault; 3] = [Fault::Errno(EIO), Fault::Errno(ENOSPC), Fault::Errno(EINTR)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mirror,
    Race,
}

/// Which of a member's two devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Redo,
    Control,
}

/// What is struck: which operation, of which device, on which members.
#[derive(Clone, Copy, Debug)]
struct Strike {
    part: Part,
    target: FaultTarget,
    fault: Fault,
    for_good: bool,
    nth: u64,
    members: [bool; 2],
}

/// The devices of a member.
struct Member {
    redo: Arc<FaultDevice>,
    control: Arc<FaultDevice>,
}

impl Member {
    fn of(&self, part: Part) -> &FaultDevice {
        match part {
            Part::Redo => &self.redo,
            Part::Control => &self.control,
        }
    }

    fn counts(&self) -> [FaultCounts; 2] {
        [self.redo.counts(), self.control.counts()]
    }

    fn struck(&self) -> bool {
        self.counts().iter().any(|counts| counts.struck > 0)
    }
}

/// A log of two members in files.
struct Rig {
    kind: Kind,
    writer: LogWriter,
    method: SyncMethod,
    places: [PathBuf; 2],
    _scratch: Scratch,
}

impl Rig {
    fn new(kind: Kind, writer: LogWriter, method: SyncMethod) -> Rig {
        let scratch = in_memory();
        let places = ["one", "two"].map(|name| scratch.0.join(name));
        for place in &places {
            std::fs::create_dir(place).expect("a directory");
        }
        let layout = match kind {
            Kind::Mirror => MemberLayout::mirror(&places),
            Kind::Race => MemberLayout::race(&places),
        };
        let layout = layout.force_same_device(true);
        let made = Log::builder(layout).shape(SHAPE).create();
        made.expect("a new log");
        Rig {
            kind,
            writer,
            method,
            places,
            _scratch: scratch,
        }
    }

    fn members(&self) -> [Member; 2] {
        self.places.each_ref().map(|place| {
            let paths = Paths::new(place);
            let set = |files: &[PathBuf], bytes, method| {
                let set = FileSet::open(files, bytes, method).expect("the log's files");
                Arc::new(FaultDevice::new(Arc::new(set)))
            };
            Member {
                redo: set(&paths.logs(SHAPE.groups), SHAPE.file_bytes, self.method),
                control: set(&[paths.control()], CONTROL_BYTES, SyncMethod::Buffered),
            }
        })
    }

    fn open(&self, members: &[Member; 2], accept_loss: bool) -> Result<(Log, Recovery), Error> {
        let devices = members.each_ref().map(|member| {
            let redo: Arc<dyn LogDevice> = member.redo.clone();
            let control: Arc<dyn LogDevice> = member.control.clone();
            (redo, control)
        });
        let cell = match self.kind {
            Kind::Mirror => 1,
            Kind::Race => 2,
        };
        let layout = MemberLayout::devices(devices, cell).accept_loss(accept_loss);
        let options = options().log_writer(self.writer);
        Log::builder(layout).options(options).open()
    }

    /// Opens the log with this member alone.
    fn alone(&self, member: usize) -> Result<(Log, Recovery), Error> {
        let members = self.members();
        members[1 - member].control.inject(Injection {
            target: FaultTarget::Read,
            nth: 1,
            fault: Fault::Errno(EIO),
            for_good: true,
        });
        self.open(&members, true)
    }
}

/// A scratch directory in memory where there is one: it is the log's handling of answers that is
/// tested, hundreds of times.
fn in_memory() -> Scratch {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("redolab-member-faults-{}-{number}", std::process::id());
    let path = Path::new("/dev/shm").join(name);
    match std::fs::create_dir(&path) {
        Ok(()) => Scratch(path),
        Err(_) => Scratch::new(),
    }
}

/// Records of session 0 from the first on, without a gap: the first, and how many.
fn found(recovery: &Recovery, case: &str) -> (u32, u32) {
    let mut all: Option<(u32, u32)> = None;
    let walked = recovery.recover(|_, bytes| {
        let (who, which) = whose(bytes);
        let (first, next) = all.unwrap_or((which, which));
        assert_eq!((who, which), (0, next), "{case}");
        all = Some((first, next + 1));
        Ok::<(), Error>(())
    });
    walked.expect("what was recovered is readable");
    all.unwrap_or_default()
}

/// What a script came to.
struct Ended {
    acknowledged: u32,
    failed: bool,
    struck: [bool; 2],
}

/// One session commits [`COMMITS`] records, with a checkpoint among them, while an operation is
/// struck.
fn script(rig: &Rig, strike: &Strike, case: &str) -> Ended {
    let members = rig.members();
    let (log, _) = rig.open(&members, false).expect("no fault yet");
    log.checkpoint(log.durable()).expect("durable");
    for (member, _) in members.iter().zip(strike.members).filter(|(_, on)| *on) {
        let device = member.of(strike.part);
        let counts = device.counts();
        let before = match strike.target {
            FaultTarget::Write => counts.writes,
            FaultTarget::Flush => counts.flushes,
            FaultTarget::Read => counts.reads,
        };
        device.inject(Injection {
            target: strike.target,
            nth: before + strike.nth,
            fault: strike.fault,
            for_good: strike.for_good,
        });
    }
    let mut session = log.session();
    let mut acknowledged = 0;
    let failed = (0..COMMITS).find_map(|which| {
        let told = commit(&mut session, 0, which);
        acknowledged += u32::from(told.is_ok());
        let told = told.and_then(|_| match which {
            CHECKPOINT => log.checkpoint(log.durable()),
            _ => Ok(()),
        });
        told.err()
    });
    let mut ended = Ended {
        acknowledged,
        failed: failed.is_some(),
        struck: [false; 2],
    };
    if let Some(error) = &failed {
        let poisoned = matches!(error, Error::Poisoned(_) | Error::Control { .. });
        assert!(poisoned, "{case}: {error}");
        // Late members end what they have.
        let all_ended = |before: &[[FaultCounts; 2]; 2]| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            members.each_ref().map(Member::counts) == *before
        };
        crate::common::until("members end what they have", || {
            let before = members.each_ref().map(Member::counts);
            all_ended(&before)
        });
        let after = members.each_ref().map(Member::counts);
        members.iter().for_each(|member| {
            member.redo.heal();
            member.control.heal();
        });
        let late = commit(&mut session, 0, acknowledged);
        assert!(matches!(late, Err(Error::Poisoned(_))), "{case}: {late:?}");
        assert!(matches!(log.flush(), Err(Error::Poisoned(_))), "{case}");
        assert!(log.close().is_err(), "{case}");
        let devices = members.iter().flat_map(Member::counts);
        for (counts, after) in devices.zip(after.into_iter().flatten()) {
            // A late member of a race is given what it lacks when nobody waits any more.
            if rig.kind == Kind::Mirror || counts.struck > 0 {
                assert_eq!(counts, after, "{case}: nothing is tried again");
            }
        }
    } else {
        // The last operations are those of closing.
        ended.failed = log.close().is_err();
    }
    ended.struck = members.each_ref().map(Member::struck);
    ended
}

/// What must come of a script.
fn judge(rig: &Rig, strike: &Strike, ended: &Ended, case: &str) {
    let one = strike.members != [true, true];
    let goes_on = rig.kind == Kind::Mirror || strike.part == Part::Redo;
    if one && goes_on {
        assert!(!ended.failed, "{case}: a member is left");
        assert_eq!(ended.acknowledged, COMMITS, "{case}");
    }
    let all = |(first, next): (u32, u32)| {
        // After the checkpoint the rest, or everything.
        let begins = first == 0 || first == CHECKPOINT + 1 || next == 0;
        let last = ended.acknowledged..=ended.acknowledged + u32::from(ended.failed);
        // Where the checkpoint has passed everything there is nothing.
        let empty = next == 0 && ended.acknowledged == CHECKPOINT + 1;
        assert!(
            begins && (empty || last.contains(&next)),
            "{case}: {first}..{next}"
        );
    };
    let lost = ended.struck.iter().position(|struck| *struck);
    // Marked stale, it is not needed.
    if let (true, true, Some(lost)) = (one && goes_on, strike.nth % 2 == 1, lost) {
        let (log, recovery) = rig.alone(1 - lost).expect("the other one has everything");
        all(found(&recovery, case));
        drop(log);
    }
    let members = rig.members();
    let (log, recovery) = rig.open(&members, false).expect("both are there");
    all(found(&recovery, case));
    if rig.kind == Kind::Mirror && one && lost.is_some() {
        let notes = log.back_end().fallbacks.join("\n");
        assert!(
            notes.contains("was stale and was copied whole"),
            "{case}: {notes}"
        );
    }
    assert!(log.members().iter().all(|m| m.in_sync), "{case}");
    drop(log);
    let (log, recovery) = rig
        .alone((strike.nth % 2) as usize)
        .expect("they are equal");
    all(found(&recovery, case));
    drop(log);
    let members = rig.members();
    let (log, _) = rig.open(&members, false).expect("both are there");
    log.checkpoint(log.durable()).expect("durable");
    log.close().expect("nothing fails");
}

/// Strikes every operation of a part until the script ends before it is struck; how many scripts.
fn strike_all(rig: &Rig, part: Part, target: FaultTarget, members: [bool; 2], all: bool) -> u32 {
    let faults = match target {
        FaultTarget::Write => &WRITE_FAULTS[..],
        _ => &FLUSH_FAULTS[..],
    };
    let (mut scripts, mut nth) = (0, 0);
    loop {
        nth += 1;
        let kinds = faults.len() as u64;
        let drawn = [(
            faults[(nth % kinds) as usize],
            (nth / kinds).is_multiple_of(2),
        )];
        let each = faults.iter().flat_map(|f| [(*f, false), (*f, true)]);
        let each: Vec<_> = if all { each.collect() } else { drawn.to_vec() };
        let mut any_struck = false;
        for (fault, for_good) in each {
            let strike = Strike {
                part,
                target,
                fault,
                for_good,
                nth,
                members,
            };
            let (kind, writer, method) = (rig.kind, rig.writer, rig.method);
            let case = format!("{kind:?} {writer} {method} {strike:?}");
            let ended = script(rig, &strike, &case);
            judge(rig, &strike, &ended, &case);
            any_struck |= ended.struck.contains(&true);
            scripts += 1;
        }
        if !any_struck {
            return scripts;
        }
        assert!(nth < 1000, "it never ends");
    }
}

#[test]
fn every_operation_of_a_script_fails_on_members() {
    let all = std::env::var("REDO_FAULTS").is_ok_and(|how| how == "all");
    let mut scripts = 0;
    for kind in [Kind::Mirror, Kind::Race] {
        let ways = [
            (LogWriter::Inline, SyncMethod::Buffered),
            (LogWriter::Auto, SyncMethod::DirectDsync),
            (LogWriter::Lgwr, SyncMethod::Dsync),
            (LogWriter::Adaptive, SyncMethod::Direct),
        ];
        for (writer, method) in &ways[..if all { 4 } else { 2 }] {
            let (writer, method) = (*writer, *method);
            let rig = Rig::new(kind, writer, method);
            let files = Paths::new(&rig.places[0]).logs(SHAPE.groups);
            if let Err(refused) = FileSet::open(&files, SHAPE.file_bytes, method) {
                println!("skipped: {refused}");
                continue;
            }
            for members in [[true, false], [false, true], [true, true]] {
                for target in [FaultTarget::Write, FaultTarget::Flush] {
                    let redo = strike_all(&rig, Part::Redo, target, members, all);
                    // A race may write several of its commits at once on the member that is late.
                    // Nothing is flushed where each write is durable.
                    let durable = matches!(method, SyncMethod::Dsync | SyncMethod::DirectDsync);
                    let struck =
                        kind == Kind::Mirror && !(durable && matches!(target, FaultTarget::Flush));
                    assert!(
                        !struck || redo > COMMITS,
                        "{kind:?} {writer} {method} {target:?} {members:?}: {redo}"
                    );
                    scripts += redo;
                    scripts += strike_all(&rig, Part::Control, target, members, all);
                }
            }
        }
    }
    println!("{scripts} scripts: nothing acknowledged was lost, nothing was tried again");
}
