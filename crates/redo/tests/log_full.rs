//! A log whose every file is still needed: nothing is overwritten and nobody hangs, whether the
//! checkpoint that would free a file fails or never comes.

use device::fault::{EIO, Fault, Injection, Target};
use device::{FaultDevice, LogDevice, SimDisk};
use redo::commit::{CommitPost, CommitWait};
use redo::control::CONTROL_BYTES;
use redo::format::LogId;
use redo::group::Geometry;
use redo::writer::Cause;
use redo::{CommitMode, Error, Log, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Blocks of all logs; with one commit a block, so many commits fit.
const BLOCKS: u64 = 128;
const NOWAIT_IMMEDIATE: CommitMode = CommitMode {
    wait: CommitWait::Nowait,
    post: CommitPost::Immediate,
};
const RECORD: &[u8] = b"redo of one commit";

struct Rig {
    data: Arc<dyn LogDevice>,
    control: Arc<FaultDevice>,
}

impl Rig {
    fn new() -> Rig {
        let geometry = Geometry {
            block_bytes: 512,
            seal_blocks: 1,
            groups: 2,
            blocks_per_group: BLOCKS / 2,
            header_bytes: 4096,
            file_bytes: 4096 + BLOCKS / 2 * 512,
        };
        let disk = |bytes: u64| {
            let disk = SimDisk::new(bytes as usize, 512, false);
            disk.set_immediate(true);
            Arc::new(disk)
        };
        let control = Arc::new(FaultDevice::new(disk(CONTROL_BYTES)));
        Log::format_devices(control.clone(), geometry, LogId([1; 16])).expect("healthy");
        Rig {
            data: disk(geometry.file_bytes * 2),
            control,
        }
    }

    fn open(&self) -> (Log, Vec<Vec<u8>>) {
        let (data, control) = (Arc::clone(&self.data), Arc::clone(&self.control));
        let (log, recovery) =
            Log::open_devices(data, control, Options::default()).expect("it opens");
        let mut found = Vec::new();
        recovery
            .for_each(|_, record| found.push(record.to_vec()))
            .expect("readable");
        (log, found)
    }
}

fn fill(log: &Log, commits: u64) {
    let mut session = log.session();
    for _ in 0..commits {
        session.append(&[RECORD]).expect("room");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    }
}

/// The log writer waited for the checkpoint, which failed; it then took the wait to be over and
/// wrote over the oldest log, whose commits had been acknowledged.
#[test]
fn a_failed_checkpoint_poisons_the_log_and_overwrites_nothing() {
    let rig = Rig::new();
    let (log, _) = rig.open();
    fill(&log, BLOCKS);
    let appended = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut session = log.session();
            session.append(&[RECORD]).expect("room in the log buffer");
            appended.store(1, Ordering::Release);
            session.commit(CommitMode::WAIT_IMMEDIATE)
        });
        while appended.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        // Either way the commit must fail; usually it waits for the checkpoint by now.
        std::thread::sleep(Duration::from_millis(30));
        rig.control.inject(Injection {
            target: Target::Write,
            nth: 1,
            fault: Fault::Errno(EIO),
            for_good: true,
        });
        let failed = log.checkpoint(log.durable());
        assert!(matches!(failed, Err(Error::Control { .. })), "{failed:?}");
        let refused = waiter.join().expect("no panic");
        let poisoned = matches!(refused, Err(Error::Poisoned(Cause::Control(_))));
        assert!(poisoned, "{refused:?}");
    });
    let again = log.checkpoint(log.durable());
    assert!(matches!(again, Err(Error::Poisoned(_))), "{again:?}");
    drop(log);
    rig.control.heal();
    let (_log, found) = rig.open();
    assert_eq!(found.len() as u64, BLOCKS);
}

/// A log that was poisoned with its redo sealed but not written was recorded as closed behind
/// that redo, and never opened again.
#[test]
fn a_poisoned_log_is_not_recorded_as_closed() {
    let rig = Rig::new();
    let data = Arc::new(FaultDevice::new(Arc::clone(&rig.data)));
    let control = Arc::clone(&rig.control);
    let (log, _) = Log::open_devices(data.clone(), control, Options::default()).expect("opens");
    fill(&log, 5);
    data.inject(Injection {
        target: Target::Write,
        nth: 1,
        fault: Fault::Errno(EIO),
        for_good: true,
    });
    let mut session = log.session();
    session.append(&[RECORD]).expect("room in the log buffer");
    let refused = session.commit(CommitMode::WAIT_IMMEDIATE);
    assert!(
        matches!(refused, Err(Error::Poisoned(Cause::Write(_)))),
        "{refused:?}"
    );
    let closed = log.close();
    assert!(matches!(closed, Err(Error::Poisoned(_))), "{closed:?}");
    let (_log, found) = rig.open();
    assert_eq!(found.len(), 5);
}

#[test]
fn closing_a_log_that_waits_for_a_checkpoint_ends_and_says_why() {
    for close in [true, false] {
        let rig = Rig::new();
        let (log, _) = rig.open();
        fill(&log, BLOCKS);
        let mut session = log.session();
        session.append(&[RECORD]).expect("room in the log buffer");
        session.commit(NOWAIT_IMMEDIATE).expect("only requested");
        let (tell, told) = channel();
        let closer = std::thread::spawn(move || {
            let result = if close { Some(log.close()) } else { None };
            tell.send(result).expect("somebody listens");
        });
        let result = told
            .recv_timeout(Duration::from_secs(300))
            .expect("closing or dropping ends");
        closer.join().expect("no panic");
        if let Some(result) = result {
            assert!(
                matches!(result, Err(Error::CheckpointIncomplete)),
                "{result:?}"
            );
        }
        drop(session);
        let (_log, found) = rig.open();
        assert_eq!(found.len() as u64, BLOCKS, "close: {close}");
    }
}
