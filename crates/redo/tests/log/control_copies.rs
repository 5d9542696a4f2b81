//! The two copies of the control information: what one of them suffers, the other survives.

use device::fault::{EIO, Fault, FaultTarget, Injection};
use device::queue::write_durable;
use device::{FaultDevice, LogDevice, SimDisk};
use redo::control::{CONTROL_BYTES, COPY_BYTES, ControlFile, ControlInfo};
use redo::format::LogId;
use redo::group::Geometry;
use redo::{Error, Options};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const GEOMETRY: Geometry = Geometry {
    block_bytes: 512,
    seal_blocks: 1,
    groups: 2,
    blocks_per_group: 64,
    header_bytes: 4096,
    file_bytes: 4096 + 64 * 512,
};

fn disk(bytes: u64) -> Arc<SimDisk> {
    let disk = SimDisk::new(bytes as usize, 512, false);
    disk.set_immediate(true);
    Arc::new(disk)
}

/// Control information that was updated `updates` times.
fn control(updates: u64) -> Arc<FaultDevice> {
    let device = Arc::new(FaultDevice::new(disk(CONTROL_BYTES)));
    let info = ControlInfo::new(LogId([6; 16]), GEOMETRY);
    let mut file = ControlFile::create(device.clone(), Path::new("redo.ctl"), info).expect("whole");
    for block in 1..=updates {
        checkpoint(&mut file, block).expect("whole");
    }
    device
}

fn checkpoint(file: &mut ControlFile, block: u64) -> Result<(), Error> {
    file.update(|info| {
        info.checkpoint.block = block;
        Ok(())
    })
}

fn load(device: &Arc<FaultDevice>) -> Result<ControlFile, Error> {
    ControlFile::load(device.clone(), Path::new("redo.ctl"))
}

/// Strikes the `nth` call from now on, once.
fn strike(device: &FaultDevice, target: FaultTarget, nth: u64, fault: Fault) {
    let counts = device.counts();
    let before = if target == FaultTarget::Read {
        counts.reads
    } else {
        counts.writes
    };
    device.inject(Injection {
        target,
        nth: before + nth,
        fault,
        for_good: false,
    });
}

#[test]
fn an_unreadable_copy_is_a_damaged_copy() {
    for nth in 1..=2 {
        let device = control(3);
        strike(&device, FaultTarget::Read, nth, Fault::Errno(EIO));
        let mut file = load(&device).expect("the other copy is whole");
        assert_eq!(file.info().checkpoint.block, 3);
        checkpoint(&mut file, 4).expect("both copies are written");
        for copy in 0..2 {
            let mut bytes = vec![0; COPY_BYTES];
            let at = copy * COPY_BYTES as u64;
            device.read(at, &mut bytes).expect("readable again");
            let info = ControlInfo::decode(&bytes).expect("whole");
            assert_eq!(info.checkpoint.block, 4);
        }
        strike(&device, FaultTarget::Read, 1, Fault::Errno(EIO));
        strike(&device, FaultTarget::Read, 2, Fault::Errno(EIO));
        assert!(matches!(load(&device), Err(Error::Device(_))));
    }
}

/// A copy is damaged, and an update of the control information is cut short.
#[test]
fn an_update_never_begins_with_the_only_good_copy() {
    for updates in 0..4 {
        for damaged in 0..2 {
            let device = control(updates);
            let noise = [0xEE; 512];
            write_durable(&*device, damaged * COPY_BYTES as u64, &noise).expect("memory");
            let mut file = load(&device).expect("the other copy is whole");
            strike(&device, FaultTarget::Write, 1, Fault::Short(512));
            checkpoint(&mut file, updates + 1).expect_err("cut short");
            let kept = load(&device).unwrap_or_else(|e| panic!("{updates} {damaged}: {e}"));
            assert_eq!(kept.info().checkpoint.block, updates);
        }
    }
}

/// Two checkpoints at once, the first of which fails: what it left is unknown, so that the second,
/// which waits for it, must not go on from there.
#[test]
fn a_checkpoint_that_waited_for_a_failed_one_fails_too() {
    let control = Arc::new(FaultDevice::new(disk(CONTROL_BYTES)));
    redo::control::ControlFile::format(control.clone(), GEOMETRY, LogId([6; 16])).expect("healthy");
    let data = disk(GEOMETRY.file_bytes * 2);
    let (log, _) =
        crate::common::open_on(data, control.clone(), Options::default()).expect("opens");
    let mut session = log.session();
    let mut ends = Vec::new();
    for _ in 0..2 {
        session.append(&[b"redo"]).expect("room");
        session
            .commit(redo::CommitMode::WAIT_IMMEDIATE)
            .expect("durable");
        ends.push(log.durable());
    }
    let gate = control.gate();
    // The second copy: the first is whole by then and says what nobody was told.
    strike(&control, FaultTarget::Write, 2, Fault::Errno(EIO));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| log.checkpoint(ends[0]));
        let under_way = gate.await_pending(1, Duration::from_secs(300));
        assert!(under_way.is_some(), "the first writes");
        let second = scope.spawn(|| log.checkpoint(ends[1]));
        // Time to come to where it waits; where it comes later, the log is poisoned by then.
        std::thread::sleep(Duration::from_millis(30));
        drop(gate);
        let first = first.join().expect("no panic");
        assert!(matches!(first, Err(Error::Control { .. })), "{first:?}");
        let second = second.join().expect("no panic");
        assert!(matches!(second, Err(Error::Poisoned(_))), "{second:?}");
    });
    let writes = control.counts().writes;
    assert!(log.close().is_err());
    assert_eq!(control.counts().writes, writes, "nothing is retried");
}
