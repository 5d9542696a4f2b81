//! Members of a real log that a crash left unequal: what one of them holds is on all of them
//! afterwards, what none holds is the end, and what one of them proves to be damage is damage.

use super::*;
use crate::commit::CommitMode;
use crate::control::{CONTROL_BYTES, ControlFile, MemberTable};
use crate::engine::{Layout, Log, Options, Shape};
use crate::format::LogId;
use crate::recovery::Scan;
use device::SimDisk;
use device::sim_disk::CrashMix;

const SECTOR: usize = 512;
const COMMITS: u64 = 40;

/// A log of [`COMMITS`] records of one block each that was not closed: its disk and its control
/// information.
struct Written {
    image: Vec<u8>,
    info: ControlInfo,
}

fn shape() -> Shape {
    Shape::new()
        .block_bytes(Some(SECTOR as u32))
        .groups(2)
        .file_bytes(512 << 10)
}

fn immediate(bytes: usize) -> SimDisk {
    let disk = SimDisk::new(bytes, SECTOR, false);
    disk.set_immediate(true);
    disk
}

fn written() -> Written {
    let (data, control) = (immediate(1 << 20), immediate(CONTROL_BYTES as usize));
    let shared: Arc<dyn LogDevice> = Arc::new(control.clone());
    let layout = Layout::devices(Arc::new(data.clone()), Arc::clone(&shared));
    let made = Log::builder(layout).shape(shape()).create().expect("made");
    let (log, _) = made.options(Options::default()).open().expect("opened");
    let mut session = log.session();
    for n in 0..COMMITS {
        session.append(&[&n.to_le_bytes()]).expect("room");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    }
    drop((session, log));
    let control = ControlFile::load(shared, Path::new("redo.ctl")).expect("whole");
    Written {
        image: data.durable_image(),
        info: control.info().clone(),
    }
}

fn disk_of(image: &[u8]) -> SimDisk {
    let disk = SimDisk::new(image.len(), SECTOR, false);
    disk.load(image);
    disk.set_immediate(true);
    disk
}

/// The disk's image without these blocks.
fn without(written: &Written, blocks: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut image = written.image.clone();
    for block in blocks {
        let at = written.info.geometry.address(block) as usize;
        image[at..at + SECTOR].fill(0);
    }
    image
}

fn healed(
    disks: &[SimDisk],
    written: &Written,
    planted: Planted,
) -> Result<Vec<Result<Scan, Error>>, Error> {
    let paths = [Path::new("a"), Path::new("b"), Path::new("c")];
    let devices: Vec<Arc<dyn LogDevice>> = disks
        .iter()
        .map(|disk| Arc::new(disk.clone()) as Arc<dyn LogDevice>)
        .collect();
    let members: Vec<MemberData<'_>> = devices
        .iter()
        .zip(paths)
        .map(|(device, path)| MemberData { device, path })
        .collect();
    heal(&members, &written.info, DamageScan::Whole, planted)?;
    // After a power cut, what is durable.
    let mut rng = 7;
    let judged = disks.iter().zip(paths).map(|(disk, path)| {
        let after = disk_of(&disk.crash(&mut rng, &CrashMix::default()).image);
        Reader::new(&after, &written.info, path, planted).scan(|_, _, _| {})
    });
    Ok(judged.collect())
}

/// The last batch of each of many ways to lose some of the last blocks on each member.
#[test]
fn what_one_member_holds_is_on_all_afterwards() {
    let log = written();
    let whole = Reader::new(
        &disk_of(&log.image),
        &log.info,
        Path::new("x"),
        Planted::none(),
    )
    .scan(|_, _, _| {})
    .expect("whole");
    assert_eq!(whole.records, COMMITS);
    let end = whole.end;
    // Each of the last four blocks is on one, on the other, on both or on none of two members.
    for state in 0..256_u32 {
        let lost = |member: u32| {
            (0..4_u32)
                .filter(move |n| state >> (2 * n + member) & 1 != 0)
                .map(move |n| end - 4 + u64::from(n))
        };
        let disks = [
            disk_of(&without(&log, lost(0))),
            disk_of(&without(&log, lost(1))),
        ];
        let first_lost = lost(0).find(|block| lost(1).any(|other| other == *block));
        let expected = first_lost.unwrap_or(end);
        let found = healed(&disks, &log, Planted::none());
        // A later block that says that an earlier one was durable, which is nowhere.
        let proof = (expected..end).any(|block| {
            block > expected && !(lost(0).any(|b| b == block) && lost(1).any(|b| b == block))
        });
        match found {
            Ok(scans) => {
                assert!(!proof, "state {state:#x}: damage was not seen");
                for scan in scans {
                    assert_eq!(scan.expect("no damage").end, expected, "state {state:#x}");
                }
            }
            Err(error) => {
                assert!(proof, "state {state:#x}: {error}");
                assert!(matches!(error, Error::Corrupt { .. }), "{error}");
            }
        }
    }
}

#[test]
fn a_member_that_returns_is_copied_whole_and_durably() {
    let log = written();
    let mut cases = vec![(Planted::none(), true)];
    #[cfg(feature = "crash")]
    cases.push((Planted::with(Bug::CopiedBeforeFlushed), false));
    for (planted, whole) in cases.drain(..) {
        let from: Arc<dyn LogDevice> = Arc::new(disk_of(&log.image));
        // It holds redo of another life.
        let returning = disk_of(&vec![0xA5; log.image.len()]);
        let to: Arc<dyn LogDevice> = Arc::new(returning.clone());
        let member = |device, path| MemberData {
            device,
            path: Path::new(path),
        };
        resilver(&member(&from, "a"), &member(&to, "b"), planted).expect("copied");
        assert_eq!(returning.durable_image() == log.image, whole, "{planted:?}");
    }
}

#[test]
fn a_range_is_copied_in_pieces_and_nothing_beside_it() {
    let image: Vec<u8> = (0..64 * SECTOR).map(|at| (at / 7 % 251) as u8).collect();
    let from = disk_of(&image);
    // The last piece is shorter; one piece is all; the range is shorter than a piece; it ends
    // early.
    let cases = [
        (4, 1, 30, 9),
        (30, 5, 30, 9),
        (4, 9, 3, 9),
        (1, 0, 64, 99),
        (4, 2, 30, 2),
    ];
    for (pieces, first, sectors, further) in cases {
        let copied = disk_of(&vec![0xA5; image.len()]);
        let to: Arc<dyn LogDevice> = Arc::new(copied.clone());
        let member = MemberData {
            device: &to,
            path: Path::new("b"),
        };
        let mut copier = Copier::new(&member, pieces * SECTOR).expect("made");
        let (addr, len) = (first * SECTOR, sectors * SECTOR);
        let left = std::cell::Cell::new(further);
        let goes_on = || left.replace(left.get() - 1) > 0;
        let done = copier.range(
            &|at, out| from.read(at, out),
            addr as u64,
            len as u64,
            goes_on,
        );
        let done = done.expect("copied") as usize;
        copier.flush().expect("durable");
        assert_eq!(done, len.min((1 + further as usize) * pieces * SECTOR));
        let len = done;
        let mut expected = vec![0xA5; image.len()];
        expected[addr..addr + len].copy_from_slice(&image[addr..addr + len]);
        assert!(
            copied.durable_image() == expected,
            "{pieces} {first} {sectors}"
        );
    }
}

#[cfg(feature = "crash")]
#[test]
fn planted_bugs_of_healing_are_found() {
    let log = written();
    let disk = disk_of(&log.image);
    let whole = Reader::new(&disk, &log.info, Path::new("x"), Planted::none());
    let end = whole.scan(|_, _, _| {}).expect("whole").end;
    // The last two blocks are on one member each.
    let disks = || {
        [
            disk_of(&without(&log, [end - 2])),
            disk_of(&without(&log, [end - 1])),
        ]
    };
    let ends = |planted| -> Vec<Option<u64>> {
        let scans = healed(&disks(), &log, planted).expect("no damage");
        scans.into_iter().map(|s| s.ok().map(|s| s.end)).collect()
    };
    assert_eq!(ends(Planted::none()), [Some(end), Some(end)]);
    assert_ne!(ends(Planted::with(Bug::SkipHeal)), [Some(end), Some(end)]);
    // What proves the damage is on the second member alone.
    let torn = [
        disk_of(&without(&log, end - 3..end)),
        disk_of(&without(&log, [end - 3])),
    ];
    assert!(healed(&torn, &log, Planted::none()).is_err());
    let unseen = healed(&torn, &log, Planted::with(Bug::DamageOfOneMember));
    assert!(unseen.is_ok(), "a bug that changes nothing is no bug");
}

/// The control information of two members: a change is on both, one that fails is marked on the
/// other, and one that was left behind by a crash is brought up to date.
#[test]
fn control_information_is_on_every_member_in_sync() {
    let log = written();
    let path = Path::new("redo.ctl");
    let disks = [0, 1].map(|_| immediate(CONTROL_BYTES as usize));
    let device = |n: usize| Arc::new(disks[n].clone()) as Arc<dyn LogDevice>;
    let info = ControlInfo::new(LogId([3; 16]), log.info.geometry);
    let table = MemberTable::new(2, 1).expect("two");
    for own in 0..2 {
        let own_table = MemberTable {
            own: own as u8,
            ..table
        };
        let info = info.clone().with_members(own_table);
        ControlFile::create(device(own), path, info).expect("made");
    }
    let load = |n: usize| ControlFile::load_member(device(n), path).expect("whole");
    let mut joined = ControlFile::join(vec![load(0), load(1)], load(0).info()).expect("joined");
    let checkpoint = |joined: &mut ControlFile, block| {
        joined.update(|info| {
            info.checkpoint.block = block;
            Ok(())
        })
    };
    checkpoint(&mut joined, 8).expect("durable");
    for n in 0..2 {
        let table = load(n).info().members.expect("members");
        assert_eq!((load(n).info().checkpoint.block, table.own), (8, n as u8));
    }
    // The bug that keeps it on one alone.
    #[cfg(feature = "crash")]
    {
        let mut joined = ControlFile::join(vec![load(0), load(1)], load(0).info()).expect("joined");
        joined.plant(Planted::with(Bug::CheckpointOnOneMember));
        checkpoint(&mut joined, 12).expect("durable on one");
        let found = [0, 1].map(|n| load(n).info().checkpoint.block);
        assert_eq!(found, [12, 8]);
    }
    // A crash between the two: the second is brought up to date.
    let mut alone = load(0);
    checkpoint(&mut alone, 16).expect("durable");
    let joined = ControlFile::join(vec![load(0), load(1)], load(0).info()).expect("joined");
    assert_eq!(load(1).info().checkpoint.block, 16);
    assert_eq!(load(1).info().members.expect("members").own, 1);
    // The second fails: the first says so before the update returns.
    let broken = device::FaultDevice::new(device(1));
    broken.inject(device::fault::Injection {
        target: device::fault::FaultTarget::Write,
        nth: 1,
        fault: device::fault::Fault::Errno(device::fault::EIO),
        for_good: true,
    });
    drop(joined);
    let broken: Arc<dyn LogDevice> = Arc::new(broken);
    let second = ControlFile::load_member(broken, path).expect("whole");
    let mut joined = ControlFile::join(vec![load(0), second], load(0).info()).expect("joined");
    checkpoint(&mut joined, 24).expect("the first goes on");
    let table = load(0).info().members.expect("members");
    assert_eq!((load(0).info().checkpoint.block, table.stale), (24, 0b10));
    assert_eq!(load(1).info().checkpoint.block, 16);
    // No member of it is opened alone, as if it were a log.
    let data: Arc<dyn LogDevice> = Arc::new(disk_of(&log.image));
    let opened = Log::builder(Layout::devices(data, device(0))).open();
    assert!(matches!(opened, Err(Error::Members { .. })));
}
