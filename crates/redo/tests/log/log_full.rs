//! A log whose every file is still needed: nothing is overwritten and nobody hangs, whether the
//! checkpoint that would free a file fails or never comes.
#![allow(unsafe_code)]

use device::fault::{EIO, Fault, FaultTarget, Injection};
use device::{Caps, DeviceError, FaultDevice, LogDevice, Op, OpCompletion, Queue, Region, SimDisk};
use redo::control::CONTROL_BYTES;
use redo::format::LogId;
use redo::group::Geometry;
use redo::writer::Cause;
use redo::{CommitMode, Error, Log, LogWriter, Options, Triggers};
use redo::{CommitPost, CommitWait};
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
const PATIENCE: Duration = Duration::from_secs(60);
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
        redo::control::ControlFile::format(control.clone(), geometry, LogId([1; 16]))
            .expect("healthy");
        Rig {
            data: disk(geometry.file_bytes * 2),
            control,
        }
    }

    fn open(&self) -> (Log, Vec<Vec<u8>>) {
        let (data, control) = (Arc::clone(&self.data), Arc::clone(&self.control));
        let (log, recovery) =
            crate::common::open_on(data, control, Options::default()).expect("it opens");
        let mut found = Vec::new();
        recovery
            .recover(|_, record| {
                found.push(record.to_vec());
                Ok::<(), redo::Error>(())
            })
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
            target: FaultTarget::Write,
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
    let (log, _) =
        crate::common::open_on(data.clone(), control, Options::default()).expect("opens");
    fill(&log, 5);
    data.inject(Injection {
        target: FaultTarget::Write,
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

/// A device that carries out nothing before somebody waits for it.
struct Late {
    disk: Arc<dyn LogDevice>,
    in_flight: Arc<AtomicU64>,
}

// SAFETY: the disk below is given the operations that came.
unsafe impl LogDevice for Late {
    fn caps(&self) -> Caps {
        self.disk.caps()
    }

    fn bytes(&self) -> u64 {
        self.disk.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(LateQueue {
            inner: self.disk.queue(region)?,
            held: Vec::new(),
            in_flight: Arc::clone(&self.in_flight),
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.disk.read(addr, out)
    }

    fn settle(&self) -> Result<(), device::queue::IoOrDevice> {
        self.disk.settle()
    }
}

struct LateQueue {
    inner: Box<dyn Queue>,
    held: Vec<Op>,
    in_flight: Arc<AtomicU64>,
}

impl Queue for LateQueue {
    fn submit(&mut self, ops: &[Op]) {
        self.held.extend_from_slice(ops);
        self.in_flight.fetch_add(ops.len() as u64, Ordering::SeqCst);
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        if wait {
            self.inner.submit(&self.held);
            self.held.clear();
        }
        let ended = self.inner.poll(out, wait);
        self.in_flight.fetch_sub(ended as u64, Ordering::SeqCst);
        ended
    }
}

/// The next process that opens the log must not be overtaken by a write of who had it before,
/// though sessions that live on still hold its queue.
#[test]
fn what_is_in_flight_when_the_log_is_closed_is_waited_for() {
    for log_writer in [LogWriter::Inline, LogWriter::Lgwr] {
        let rig = Rig::new();
        let in_flight = Arc::new(AtomicU64::new(0));
        let data = Arc::new(Late {
            disk: Arc::clone(&rig.data),
            in_flight: Arc::clone(&in_flight),
        });
        let options = Options::default()
            .log_writer(log_writer)
            .triggers(Triggers::NONE);
        let opened = crate::common::open_on(data, rig.control.clone(), options);
        let log = opened.expect("it opens").0;
        let mut session = log.session();
        for _ in 0..BLOCKS - 2 {
            session.append(&[RECORD]).expect("room");
            log.flush().expect("room");
        }
        // Two blocks fit; what is behind them needs a checkpoint that does not come.
        session.append(&[&[7; 2000]]).expect("buffered");
        let refused = log.close();
        assert!(
            matches!(refused, Err(Error::CheckpointIncomplete)),
            "{log_writer}: {refused:?}"
        );
        assert_eq!(in_flight.load(Ordering::SeqCst), 0, "{log_writer}");
        assert!(matches!(
            session.commit(CommitMode::WAIT_IMMEDIATE),
            Err(Error::CheckpointIncomplete)
        ));
    }
}

/// Redo of a session that fills the log buffer while another one leads, and wants nothing
/// afterwards, is written out though no flush trigger asks for it and nobody waits for the batch.
#[test]
fn a_full_log_buffer_is_written_whatever_the_triggers_are() {
    let rig = Rig::new();
    let data = Arc::new(FaultDevice::new(Arc::clone(&rig.data)));
    let options = Options::default()
        .log_writer(LogWriter::Inline)
        .triggers(Triggers::NONE.commit(true));
    let opened = crate::common::open_on(data.clone(), rig.control.clone(), options);
    let log = opened.expect("it opens").0;
    let gate = data.gate();
    let (mut leader, mut filler) = (log.session(), log.session());
    let leads = std::thread::spawn(move || {
        leader.append(&[RECORD]).expect("room");
        leader.commit(CommitMode::WAIT_IMMEDIATE)
    });
    let held = gate.await_pending(1, PATIENCE).expect("the write");
    assert!(gate.release(held[0].ticket));
    // The write's blocks were released: the leader does so no more.
    gate.await_pending(1, PATIENCE).expect("the flush");
    let room = log.buffer_bytes() / 512;
    let filled = Arc::new(AtomicU64::new(0));
    let (told, ends) = channel();
    let fills = {
        let filled = Arc::clone(&filled);
        std::thread::spawn(move || {
            for _ in 0..room + room / 4 {
                filler.append(&[&[7; 440]]).expect("room in the end");
                filled.fetch_add(1, Ordering::SeqCst);
            }
            told.send(()).expect("somebody listens");
        })
    };
    // It may sleep by then, or not yet: both must do.
    // A batch that nobody waits for takes half of the buffer.
    while filled.load(Ordering::SeqCst) < room * 9 / 20 {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(20));
    drop(gate);
    assert!(leads.join().expect("no panic").expect("durable").durable);
    ends.recv_timeout(PATIENCE).expect("somebody writes");
    fills.join().expect("no panic");
}

/// Redo that nobody waits for is flushed late. The log writer that waits for the checkpoint must
/// not hold back what the checkpoint waits for.
#[test]
fn a_stream_that_nobody_waits_for_goes_on_as_long_as_checkpoints_come() {
    for log_writer in crate::common::WRITERS {
        let rig = Rig::new();
        let options = Options::default().log_writer(log_writer);
        let opened = crate::common::open_on(Arc::clone(&rig.data), rig.control.clone(), options);
        let log = Arc::new(opened.expect("it opens").0);
        let (told, ends) = channel();
        let streaming = Arc::clone(&log);
        let stream = std::thread::spawn(move || {
            let mut session = streaming.session();
            for _ in 0..30 * BLOCKS {
                session.append(&[&[7; 440]])?;
                session.commit(NOWAIT_IMMEDIATE)?;
            }
            told.send(()).expect("somebody listens");
            Ok::<(), Error>(())
        });
        let end = std::time::Instant::now() + PATIENCE;
        while ends.try_recv().is_err() {
            log.checkpoint(log.durable()).expect("durable");
            let late = std::time::Instant::now() > end;
            assert!(
                !late,
                "{log_writer}: stopped, durable up to {}",
                log.durable()
            );
            std::thread::yield_now();
        }
        stream.join().expect("no panic").expect("healthy");
    }
}
