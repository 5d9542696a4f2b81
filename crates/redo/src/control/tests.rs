//! What the control information keeps: copies, versions, incarnations, archive mode.

use super::*;
use device::LogDevice;
use device::fault::{Fault, FaultDevice, FaultTarget, Injection};
use std::path::Path;
use std::sync::Arc;

pub(crate) fn geometry() -> Geometry {
    Geometry {
        block_bytes: 512,
        seal_blocks: 4,
        groups: 3,
        blocks_per_group: 100,
        header_bytes: 4096,
        file_bytes: 4096 + 51_200,
    }
}

fn life(n: u8) -> LifeId {
    LifeId::from_bytes([n; 16]).expect("not zero")
}

#[test]
fn copies_come_back_and_no_flipped_bit_is_believed() {
    let mut info = ControlInfo::new(LogId([9; 16]), geometry());
    info.checkpoint = Position {
        block: 17,
        offset: 99,
    };
    info.begin_incarnation(30, life(1)).expect("room");
    info.durable = 33;
    let bytes = info.encode();
    assert_eq!(ControlInfo::decode(&bytes), Ok(info));
    for byte in (0..COPY_BYTES).step_by(7).chain(0..HEAD_BYTES) {
        let mut bad = bytes.clone();
        bad[byte] ^= 0x10;
        assert!(ControlInfo::decode(&bad).is_err(), "byte {byte}");
    }
}

#[test]
fn archive_mode_comes_back_with_and_without_members() {
    let at = |block, offset| Position { block, offset };
    for members in [None, MemberTable::new(2, 1)] {
        let mut info = ControlInfo::new(LogId([9; 16]), geometry());
        info.members = members;
        info.checkpoint = at(40, 3);
        info.set_archived(Some(at(17, 470)));
        assert_eq!((info.version, info.kept_from()), (4, at(17, 470)));
        let bytes = info.encode();
        assert_eq!(ControlInfo::decode(&bytes), Ok(info.clone()));
        // Of redo that is to be archived it is known which incarnation wrote it.
        info.begin_incarnation(30, life(1)).expect("room");
        info.begin_incarnation(36, life(2)).expect("room");
        info.begin_incarnation(44, life(3)).expect("room");
        assert_eq!(info.incarnations.len(), 4, "{:?}", info.incarnations);
        // What is given up is not archived any more.
        info.set_archived(Some(at(43, 5)));
        assert_eq!(info.kept_from(), at(40, 3));
        info.give_up_behind(41, life(4)).expect("room");
        assert_eq!(info.archived, Some(at(41, 0)));
        info.set_archived(Some(at(1 << 61, 0)));
        assert!(
            ControlInfo::decode(&info.encode()).is_err(),
            "no such block"
        );
        info.set_archived(None);
        assert_eq!(info.version, if members.is_some() { 3 } else { 2 });
    }
}

#[test]
fn incarnations_own_their_blocks_and_nothing_between() {
    let mut info = ControlInfo::new(LogId([1; 16]), geometry());
    let second = info.begin_incarnation(30, life(1)).expect("room");
    assert_eq!((second.number, second.first), (2, 32));
    let number = |b| info.incarnation_of(b).map(|i| i.number);
    assert_eq!((number(0), number(29)), (Some(1), Some(1)));
    assert_eq!((number(30), number(31), number(32)), (None, None, Some(2)));
}

#[test]
fn an_incarnation_that_wrote_nothing_leaves_no_trace() {
    let mut info = ControlInfo::new(LogId([1; 16]), geometry());
    for _ in 0..10_000 {
        info.begin_incarnation(30, life(1)).expect("room");
    }
    assert_eq!(info.incarnations.len(), 2);
    assert_eq!(info.current().number, 10_001);
    assert_eq!(info.incarnation_of(31), None);
}

#[test]
fn incarnations_behind_the_checkpoint_are_dropped() {
    let mut info = ControlInfo::new(LogId([1; 16]), geometry());
    for n in 1..5_000_u64 {
        info.checkpoint.block = n * 8;
        info.begin_incarnation(n * 8 + 4, life(1)).expect("room");
    }
    assert!(info.incarnations.len() < 4, "{:?}", info.incarnations.len());
    let mut stuck = ControlInfo::new(LogId([1; 16]), geometry());
    let full = (1..5_000_u64).find_map(|n| stuck.begin_incarnation(n * 8, life(1)).err());
    assert!(
        matches!(full, Some(Error::TooManyIncarnations { .. })),
        "{full:?}"
    );
    assert_eq!(stuck.incarnations.len(), 406, "as docs/assumptions.md says");
    assert_eq!(ControlInfo::decode(&stuck.encode()), Ok(stuck));
}

/// In version 1 as many lives as before fit; they are refused a new one, which needs more room.
#[test]
fn version_1_comes_back_and_ends_with_the_next_incarnation() {
    let mut info = ControlInfo::new(LogId([1; 16]), geometry());
    info.version = VERSION_WITHOUT_LIVES;
    for number in 2..=677 {
        let first = u64::from(number) * 8;
        info.incarnations.push(Incarnation {
            number,
            previous_end: first - 1,
            first,
            life: None,
        });
    }
    assert_eq!(ControlInfo::decode(&info.encode()), Ok(info.clone()));
    let full = info.clone().begin_incarnation(8_000, life(3));
    let full = matches!(full, Err(Error::TooManyIncarnations { kept: 677 }));
    assert!(full);
    info.checkpoint.block = 400 * 8;
    info.begin_incarnation(8_000, life(3)).expect("room");
    assert_eq!(info.version, FORMAT_VERSION);
    assert_eq!(info.current().life, Some(life(3)));
    assert_eq!(info.incarnation(677).expect("kept").life, None);
    assert_eq!(info.incarnation(399), None);
    assert_eq!(ControlInfo::decode(&info.encode()), Ok(info));
}

#[test]
fn what_proves_a_block_durable() {
    let mut info = ControlInfo::new(LogId([1; 16]), geometry());
    info.closed_at = None;
    assert_eq!(info.known_durable(), 0);
    info.begin_incarnation(6, life(1)).expect("room");
    assert_eq!(info.known_durable(), 6);
    (info.checkpoint.block, info.checkpoint.offset) = (9, 0);
    assert_eq!(info.known_durable(), 9);
    info.checkpoint.offset = 1;
    assert_eq!(info.known_durable(), 10);
    info.durable = 12;
    assert_eq!(info.known_durable(), 12);
    info.closed_at = Some(16);
    assert_eq!(info.known_durable(), 16);
}

#[test]
fn a_copy_that_counts_more_incarnations_than_it_can_hold_is_damaged() {
    const COUNT_AT: usize = 40;
    for (version, most) in [(VERSION_WITHOUT_LIVES, 677), (FORMAT_VERSION, 406)] {
        let mut info = ControlInfo::new(LogId([1; 16]), geometry());
        info.version = version;
        let more = (2..=most).map(|number| Incarnation {
            number,
            previous_end: u64::from(number) * 8 - 1,
            first: u64::from(number) * 8,
            life: None,
        });
        info.incarnations.extend(more);
        assert_eq!(ControlInfo::decode(&info.encode()).as_ref(), Ok(&info));
        let mut bytes = info.encode();
        for count in [0_u32, most + 1, u32::MAX] {
            bytes[COUNT_AT..COUNT_AT + 4].copy_from_slice(&count.to_le_bytes());
            let (copy, sum) = bytes.split_at_mut(COPY_BYTES - 4);
            sum.copy_from_slice(&Summer::new(info.log_id).sum(copy, &[]).to_le_bytes());
            let found = ControlInfo::decode(&bytes);
            assert_eq!(found, Err(CopyProblem::Damaged), "{count} in {version}");
        }
    }
}

/// One copy would do until the next update, which begins with the other one.
#[test]
fn an_update_is_durable_in_both_copies() {
    let disk = device::sim_disk::SimDisk::new(CONTROL_BYTES as usize, 512, false);
    disk.set_immediate(true);
    let info = ControlInfo::new(LogId([9; 16]), geometry());
    let shared: Arc<dyn LogDevice> = Arc::new(disk.clone());
    ControlFile::create(Arc::clone(&shared), Path::new("c"), info).expect("healthy");
    let mut file = ControlFile::load(shared, Path::new("c")).expect("two copies");
    for block in 1..5 {
        let moved = file.update(|info| {
            info.checkpoint.block = block;
            Ok(())
        });
        moved.expect("healthy");
        let image = disk.durable_image();
        for copy in image.chunks(COPY_BYTES) {
            let found = ControlInfo::decode(copy).expect("whole");
            assert_eq!(found.checkpoint.block, block);
        }
    }
}

/// What the disk holds is unknown then, so nothing may rest on it.
#[test]
fn after_an_update_that_failed_nothing_is_written() {
    let disk = device::sim_disk::SimDisk::new(CONTROL_BYTES as usize, 512, false);
    disk.set_immediate(true);
    let device = Arc::new(FaultDevice::new(Arc::new(disk.clone())));
    let shared: Arc<dyn LogDevice> = Arc::clone(&device) as _;
    let info = ControlInfo::new(LogId([9; 16]), geometry());
    let mut file = ControlFile::create(shared, Path::new("c"), info).expect("healthy");
    let mut move_to = |block| {
        file.update(|info| {
            info.checkpoint.block = block;
            Ok(())
        })
    };
    device.inject(Injection {
        target: FaultTarget::Flush,
        nth: device.counts().flushes + 1,
        fault: Fault::Errno(5),
        for_good: false,
    });
    move_to(1).expect_err("the flush fails");
    device.heal();
    let before = disk.durable_image();
    move_to(2).expect_err("nothing is known");
    assert!(disk.durable_image() == before, "nothing was written");
}
