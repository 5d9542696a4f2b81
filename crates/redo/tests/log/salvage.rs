//! Giving up redo behind damage: what lies before is kept, nothing behind is ever seen again, also
//! after further commits over its place and power cuts; and everything that must be refused is.

use crate::common::{SMALL, Scratch, commit, options, record, whose};
use device::fault::{EIO, Fault, FaultDevice, FaultTarget, Injection};
use device::sim_disk::{CrashMix, SimDisk};
use device::{Caps, LogDevice};
use measure::workload::split_mix;
use redo::control::{CONTROL_BYTES, ControlInfo};
use redo::group::Geometry;
use redo::{CommitMode, Error, Layout, Log, Rba, Recovery, Salvage};
use std::path::Path;
use std::sync::Arc;

/// The two disks of a log, between its lives.
#[derive(Clone)]
struct Disks {
    data: SimDisk,
    control: SimDisk,
}

/// Records of this number and later were committed after the redo behind damage was given up.
const LATER: u32 = 1_000_000;

impl Disks {
    fn new() -> Disks {
        let disk = |bytes: u64| SimDisk::new(bytes as usize, 4096, false);
        let disks = Disks {
            data: disk(SMALL.file_bytes * u64::from(SMALL.groups)),
            control: disk(CONTROL_BYTES),
        };
        disks.run();
        let builder = Log::builder(disks.layout()).shape(SMALL);
        builder.create().expect("a new log");
        disks
    }

    fn run(&self) {
        self.data.set_immediate(true);
        self.control.set_immediate(true);
    }

    fn layout(&self) -> Layout {
        Layout::devices(Arc::new(self.data.clone()), Arc::new(self.control.clone()))
    }

    fn geometry(&self) -> Geometry {
        let caps: Caps = self.data.caps();
        SMALL.geometry(&caps, Path::new("disk")).expect("a shape")
    }

    fn open(&self) -> Result<(Log, Recovery), Error> {
        Log::builder(self.layout()).options(options()).open()
    }

    fn salvage(&self, at: Rba) -> Result<Salvage, Error> {
        Log::builder(self.layout()).salvage(at).map(|(_, s)| s)
    }

    fn images(&self) -> (Vec<u8>, Vec<u8>) {
        let whole = |disk: &SimDisk| {
            let mut all = vec![0; disk.bytes() as usize];
            disk.read(0, &mut all).expect("readable");
            all
        };
        (whole(&self.data), whole(&self.control))
    }

    /// Disks that hold these bytes, durably.
    fn with(&self, (data, control): (Vec<u8>, Vec<u8>)) -> Disks {
        let disks = Disks {
            data: self.data.after_crash(data),
            control: self.control.after_crash(control),
        };
        disks.run();
        disks
    }

    /// Flips bytes of a block.
    fn damaged(&self, block: u64) -> Disks {
        let (mut data, control) = self.images();
        let at = self.geometry().address(block) as usize;
        data[at + 50..at + 60].iter_mut().for_each(|b| *b = !*b);
        self.with((data, control))
    }

    /// Power fails.
    fn cut(&self, rng: &mut u64) -> Disks {
        let mix = CrashMix::default();
        let data = self.data.crash(rng, &mix).image;
        self.with((data, self.control.crash(rng, &mix).image))
    }

    /// A log of `count` records, each in a block of its own, that was left open.
    fn holding(count: u32) -> Disks {
        let disks = Disks::new();
        let (log, _) = disks.open().expect("a new log");
        commit_from(&log, 0, count);
        drop(log);
        disks
    }
}

fn commit_from(log: &Log, first: u32, count: u32) {
    let mut session = log.session();
    for which in first..first + count {
        commit(&mut session, 0, which).expect("durable");
    }
}

fn numbers(recovery: &Recovery) -> Vec<u32> {
    let mut found = Vec::new();
    let again = recovery.recover(|_, bytes| {
        found.push(whose(bytes).1);
        Ok::<(), Error>(())
    });
    again.expect("readable");
    found
}

/// The position at which opening refuses the log.
fn refused_at(disks: &Disks) -> Rba {
    match disks.open() {
        Err(Error::Corrupt { rba, .. }) => rba,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_lies_before_damage_is_kept_and_what_was_lost_is_counted() {
    let disks = Disks::holding(40);
    for bad in [0_u64, 1, 20, 38] {
        let damaged = disks.damaged(bad);
        let at = refused_at(&damaged);
        assert_eq!(at, disks.geometry().rba(bad, 0));
        let given_up = damaged.salvage(at).expect("damage");
        let behind = 39 - bad;
        assert_eq!((given_up.at, given_up.kept_records), (at, bad));
        let last = bad.checked_sub(1).map(|last| disks.geometry().rba(last, 0));
        assert_eq!(given_up.last_kept, last);
        assert_eq!(given_up.lost_upto, disks.geometry().rba(40, 0));
        assert_eq!(
            (given_up.lost_blocks, given_up.readable_blocks),
            (behind + 1, behind)
        );
        assert_eq!(given_up.lost_records, behind);
        let text = given_up.to_string();
        assert!(text.contains(&format!("{behind} whole records")), "{text}");
        let (log, recovery) = damaged.open().expect("it was given up");
        assert_eq!(numbers(&recovery), (0..bad as u32).collect::<Vec<_>>());
        log.close().expect("nothing failed");
    }
}

/// Lives that end in power cuts, until all of the old place is written over: in each the log holds
/// what was kept and what was committed since, and never a record from behind the damage.
#[test]
fn nothing_from_behind_the_damage_comes_back_after_commits_and_power_cuts() {
    let old = 60;
    for (seed, bad) in (0_u64..40).zip([1_u64, 7, 30, 58].into_iter().cycle()) {
        let mut rng = seed;
        let mut disks = Disks::holding(old).damaged(bad);
        disks.salvage(refused_at(&disks)).expect("damage");
        disks = disks.cut(&mut rng);
        let kept: Vec<u32> = (0..bad as u32).collect();
        let (mut committed, mut life) = (0, 0);
        while committed < old + 20 {
            life += 1;
            let data = Arc::new(FaultDevice::new(Arc::new(disks.data.clone())));
            let layout = Layout::devices(data.clone(), Arc::new(disks.control.clone()));
            let opened = Log::builder(layout).options(options()).open();
            let (log, recovery) =
                opened.unwrap_or_else(|e| panic!("seed {seed}, life {life}: {e}"));
            let found = numbers(&recovery);
            let (before, since) = found.split_at(kept.len().min(found.len()));
            assert_eq!(before, kept, "seed {seed}, life {life}");
            // One more may be there: its commit failed, and only recovery tells.
            let all: Vec<u32> = (LATER..LATER + since.len() as u32).collect();
            assert_eq!(since, all, "seed {seed}, life {life}");
            let now = since.len() as u32;
            assert!((committed..=committed + 1).contains(&now), "seed {seed}");
            let more = (split_mix(&mut rng) % 12) as u32;
            commit_from(&log, LATER + now, more);
            committed = now + more;
            // A write that no flush makes durable: the cut decides sector by sector.
            data.inject(Injection {
                target: FaultTarget::Flush,
                nth: data.counts().flushes + 1,
                fault: Fault::Errno(EIO),
                for_good: true,
            });
            let mut session = log.session();
            let bytes = record(0, LATER + committed);
            session.append(&[&bytes]).expect("open");
            session
                .commit(CommitMode::WAIT_IMMEDIATE)
                .expect_err("it fails");
            drop((session, log, recovery));
            disks = disks.cut(&mut rng);
        }
    }
}

/// The lives since are followed by checkpoints, which forget incarnations; then the log is damaged
/// again, which is found, and given up again.
#[test]
fn later_damage_of_the_same_log_is_found_and_given_up_as_the_first() {
    let mut disks = Disks::holding(60).damaged(5);
    disks.salvage(refused_at(&disks)).expect("damage");
    for life in 0..4 {
        let (log, _) = disks.open().expect("given up");
        commit_from(&log, LATER + 3 * life, 3);
        log.checkpoint(log.durable()).expect("durable");
        drop(log);
    }
    let (log, _) = disks.open().expect("given up");
    let first = log.durable();
    commit_from(&log, LATER + 12, 10);
    drop(log);
    let bad = u64::from(first.block) + 4;
    disks = disks.damaged(bad);
    let at = refused_at(&disks);
    assert_eq!(at, disks.geometry().rba(bad, 0));
    let given_up = disks.salvage(at).expect("damage");
    assert_eq!((given_up.kept_records, given_up.lost_records), (4, 5));
    let (_, recovery) = disks.open().expect("given up");
    assert_eq!(
        numbers(&recovery),
        (LATER + 12..LATER + 16).collect::<Vec<_>>()
    );
}

#[test]
fn only_the_position_of_damage_is_accepted_and_a_refusal_changes_nothing() {
    let whole = Disks::holding(20);
    let damaged = whole.damaged(9);
    let at = refused_at(&damaged);
    let near = |block: u64| whole.geometry().rba(block, 0);
    let cases = [
        (&whole, near(9), "not damaged"),
        (&whole, near(20), "not damaged"),
        (&damaged, near(8), "it is damaged at RBA"),
        (&damaged, near(10), "it is damaged at RBA"),
        (&damaged, Rba { offset: 1, ..at }, "it is damaged at RBA"),
    ];
    for (disks, position, why) in cases {
        let before = disks.images();
        let refused = disks.salvage(position).expect_err(why);
        assert!(matches!(refused, Error::Salvage { asked, .. } if asked == position));
        assert!(refused.to_string().contains(why), "{refused}");
        assert!(disks.images() == before, "{why}");
    }
}

/// A checkpoint and closing record how far the log was durable: behind the damage that is taken
/// back too, or the log would be refused as before.
#[test]
fn what_control_information_proved_behind_the_damage_is_taken_back() {
    for closed in [false, true] {
        let disks = Disks::new();
        let (log, _) = disks.open().expect("a new log");
        commit_from(&log, 0, 20);
        let upto = log.geometry().rba(4, 0);
        log.checkpoint(upto).expect("durable");
        if closed {
            log.close().expect("nothing failed");
        }
        drop(log);
        let damaged = disks.damaged(9);
        let given_up = damaged.salvage(refused_at(&damaged)).expect("damage");
        assert_eq!((given_up.kept_records, given_up.lost_blocks), (5, 11));
        let (_, recovery) = damaged.open().expect("given up");
        assert_eq!(numbers(&recovery), (4..9).collect::<Vec<_>>(), "{closed}");
    }
}

/// A log that was closed needs nothing of what lies before its checkpoint, however it is damaged:
/// it opens, says so, and opens after a crash and after further commits.
#[test]
fn damage_before_the_checkpoint_of_a_closed_log_is_a_finding_and_no_end() {
    let disks = Disks::new();
    let (log, _) = disks.open().expect("a new log");
    commit_from(&log, 0, 100);
    log.checkpoint(log.durable()).expect("durable");
    log.close().expect("nothing failed");
    let before = disks.geometry().rba(99, 0);
    let (data, control) = disks.images();
    let place = disks.geometry().address(99) as usize;
    for range in [0..4096, 0..512, 40..104, 8..16, 4000..4096] {
        for fill in [0, 0xAA] {
            let mut data = data.clone();
            data[place + range.start..place + range.end].fill(fill);
            let damaged = disks.with((data, control.clone()));
            for life in 0..4 {
                let (log, recovery) = damaged.open().expect("nothing of it is needed");
                let found = recovery.scan().damaged_before;
                let notes = log.back_end().fallbacks.join("\n");
                let moved = life > 1 || found.is_none();
                assert_eq!(
                    found.is_none(),
                    !notes.contains("does not need it"),
                    "{notes}"
                );
                assert!(moved || found == Some(before), "{range:?}: {found:?}");
                if life == 1 {
                    // A crash behind it: what was acknowledged is there, then not needed any more.
                    commit_from(&log, LATER, 3);
                }
                if life == 2 {
                    assert_eq!(numbers(&recovery), (LATER..LATER + 3).collect::<Vec<_>>());
                    log.checkpoint(log.durable()).expect("durable");
                }
            }
        }
    }
}

/// The same of a log that crashed: it may be a file that is older than the control information, in
/// which acknowledged redo behind the checkpoint is missing. It is refused where nothing shows the
/// contrary, and can be given up.
#[test]
fn damage_before_the_checkpoint_of_a_crashed_log_is_refused_only_where_redo_may_be_missing() {
    for behind in [0, 5] {
        let disks = Disks::new();
        let (log, _) = disks.open().expect("a new log");
        commit_from(&log, 0, 20);
        log.checkpoint(log.durable()).expect("durable");
        commit_from(&log, 20, behind);
        drop(log);
        let (mut data, control) = disks.images();
        let place = disks.geometry().address(19) as usize;
        data[place..place + 4096].fill(0);
        let damaged = disks.with((data, control));
        if behind == 0 {
            let at = refused_at(&damaged);
            assert_eq!(at, disks.geometry().rba(19, 0));
            let given_up = damaged.salvage(at).expect("damage");
            assert_eq!((given_up.kept_records, given_up.lost_blocks), (0, 0));
            assert!(given_up.to_string().contains("nothing of it is left"));
        }
        for _ in 0..2 {
            let (_log, recovery) = damaged
                .open()
                .expect("a later block is there, or it was given up");
            assert_eq!(numbers(&recovery), (20..20 + behind).collect::<Vec<_>>());
        }
    }
}

/// Nothing that recovery would give lies before the damage.
#[test]
fn damage_of_the_block_in_which_the_checkpoint_lies_is_not_given_up() {
    let disks = Disks::holding(3);
    let (log, _) = disks.open().expect("whole");
    let mut session = log.session();
    session.append(&[&record(0, 3)]).expect("open");
    let inside = session.append(&[&record(0, 4)]).expect("open");
    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    log.checkpoint(inside).expect("durable");
    commit_from(&log, 5, 5);
    drop((session, log));
    assert!(inside.offset > 0, "{inside}");
    let damaged = disks.damaged(inside.block.into());
    let at = refused_at(&damaged);
    let before = damaged.images();
    let refused = damaged.salvage(at).expect_err("the checkpoint lies there");
    assert!(matches!(refused, Error::Salvage { .. }), "{refused}");
    assert!(refused.to_string().contains("make a new log"), "{refused}");
    assert!(damaged.images() == before);
}

/// Damage beside which something else is wrong: what lies behind may not be this log's.
#[test]
fn control_information_older_than_the_log_is_no_damage_to_be_given_up() {
    let disks = Disks::holding(10);
    let old = disks.images().1;
    let (log, _) = disks.open().expect("whole");
    commit_from(&log, 10, 10);
    drop(log);
    let (data, _) = disks.damaged(4).images();
    let mixed = disks.with((data, old));
    let at = disks.geometry().rba(4, 0);
    let before = mixed.images();
    let refused = mixed.salvage(at).expect_err("older control information");
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    assert!(mixed.images() == before);
}

/// A salvage that is interrupted anywhere, with a power cut: the log is refused as before, or it
/// was given up.
#[test]
fn an_interrupted_salvage_leaves_the_log_as_it_was_or_given_up() {
    let damaged = Disks::holding(30).damaged(12);
    let at = refused_at(&damaged);
    let (mut refused, mut given_up) = (0, 0);
    for (target, nth) in [
        (FaultTarget::Write, 1),
        (FaultTarget::Write, 2),
        (FaultTarget::Flush, 1),
        (FaultTarget::Flush, 2),
        (FaultTarget::Flush, 3),
    ] {
        for seed in 0..8 {
            let mut rng = seed;
            let disks = damaged.with(damaged.images());
            let control = Arc::new(FaultDevice::new(Arc::new(disks.control.clone())));
            control.inject(Injection {
                target,
                nth,
                fault: Fault::Errno(EIO),
                for_good: true,
            });
            let layout = Layout::devices(Arc::new(disks.data.clone()), control);
            let failed = Log::builder(layout)
                .salvage(at)
                .expect_err("the device fails");
            assert!(matches!(failed, Error::Control { .. }), "{failed}");
            let disks = disks.cut(&mut rng);
            if let Err(error) = disks.open() {
                assert!(
                    matches!(error, Error::Corrupt { rba, .. } if rba == at),
                    "{error}"
                );
                disks.salvage(at).expect("damage as before");
                refused += 1;
            } else {
                given_up += 1;
            }
            let (_, recovery) = disks.open().expect("given up");
            assert_eq!(numbers(&recovery), (0..12).collect::<Vec<_>>());
        }
    }
    assert!(refused > 0 && given_up > 0, "{refused}, {given_up}");
}

/// In files: the owner's lock keeps a salvage out, since its write may still be under way.
#[test]
fn a_log_in_use_is_not_given_up() {
    let scratch = Scratch::with_log();
    let log = crate::common::open(&scratch.0);
    commit_from(&log, 0, 20);
    let geometry = *log.geometry();
    let at = geometry.rba(6, 0);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(scratch.0.join("redo01.log"))
        .expect("there");
    let place = geometry.address(6);
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 4096], place).expect("written");
    let control = || std::fs::read(scratch.0.join("redo.ctl")).expect("there");
    let before = control();
    let refused = Log::builder(&scratch.0).salvage(at);
    assert!(matches!(refused, Err(Error::Device(_))), "{refused:?}");
    assert!(control() == before);
    drop(log);
    let (builder, given_up) = Log::builder(&scratch.0).salvage(at).expect("damage");
    assert_eq!((given_up.kept_records, given_up.lost_records), (6, 13));
    let (_log, recovery) = builder.options(options()).open().expect("given up");
    assert_eq!(numbers(&recovery), (0..6).collect::<Vec<_>>());
    let info = ControlInfo::decode(&control()[..redo::control::COPY_BYTES]).expect("whole");
    assert!(info.salvaged > 1 && info.salvaged < info.current().number);
}
