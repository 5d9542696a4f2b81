//! Small histories of logs, each with its right answer: garbage behind the end, a flush that fails
//! once, a switch whose first half is late, a torn tail of the medium's size, openings without
//! commits.
#![allow(unsafe_code)]

use crate::common::{Scratch, commit, create, open, open_on, options, recovered, whose};
use device::fault::{EIO, Fault, FaultTarget, Injection};
use device::sim_disk::{CrashMix, SimDisk};
use device::{Caps, DeviceError, FaultDevice, LogDevice, Op, OpCompletion, OpKind, Queue, Region};
use measure::workload::split_mix;
use redo::control::{CONTROL_BYTES, ControlFile};
use redo::format::LogId;
use redo::group::Geometry;
use redo::writer::Cause;
use redo::{CommitMode, CommitPost, Error, Log, LogWriter, Recovery, Session, Shape};
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

fn numbers(recovery: &Recovery) -> Vec<u32> {
    let mut found = Vec::new();
    let read = recovery.recover(|_, bytes| {
        found.push(whose(bytes).1);
        Ok::<(), Error>(())
    });
    read.expect("readable");
    found
}

fn commits(session: &mut Session, numbers: std::ops::Range<u32>) {
    for which in numbers {
        commit(session, 0, which).expect("durable");
    }
}

/// Disks of a log that loses its power.
struct Disks {
    data: SimDisk,
    control: SimDisk,
    geometry: Geometry,
}

impl Disks {
    /// A new log of this shape on sectors of 4 KiB that hold eight of the host's.
    fn new(shape: Shape) -> Disks {
        let disk = |bytes: u64| {
            let disk = SimDisk::new(bytes as usize, 4096, false);
            disk.set_immediate(true);
            disk
        };
        let data = disk(2 << 20);
        let shape = shape.groups(2).file_bytes(1 << 20);
        let geometry = shape.geometry(&data.caps(), Path::new("log"));
        let (geometry, control) = (geometry.expect("possible"), disk(CONTROL_BYTES));
        let shared: Arc<dyn LogDevice> = Arc::new(control.clone());
        ControlFile::format(shared, geometry, LogId([5; 16])).expect("healthy");
        Disks {
            data,
            control,
            geometry,
        }
    }

    fn open(&self, log_writer: LogWriter) -> (Arc<FaultDevice>, Log, Recovery) {
        let data = Arc::new(FaultDevice::new(Arc::new(self.data.clone())));
        let control = Arc::new(self.control.clone());
        let ways = options().log_writer(log_writer);
        let (log, recovery) = open_on(data.clone(), control, ways).expect("it opens");
        (data, log, recovery)
    }

    /// What a power cut leaves.
    fn cut(&self, rng: &mut u64) -> Disks {
        let mix = CrashMix::default();
        let after = |disk: &SimDisk, rng: &mut u64| {
            let after = disk.after_crash(disk.crash(rng, &mix).image);
            after.set_immediate(true);
            after
        };
        Disks {
            data: after(&self.data, rng),
            control: after(&self.control, rng),
            geometry: self.geometry,
        }
    }
}

/// What lies behind the end was never of this log, or only looks like it: it is no redo, and it
/// does not come between what is committed next and the opening after that.
#[test]
fn garbage_behind_the_end_hides_no_later_commit() {
    for seed in 0..24_u64 {
        let mut rng = seed;
        let scratch = Scratch::with_log();
        let log = open(&scratch.0);
        let mut session = log.session();
        commits(&mut session, 0..10);
        let (geometry, end) = (*log.geometry(), u64::from(log.durable().block));
        drop((session, log));
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(scratch.0.join("redo01.log"));
        let file = file.expect("there");
        for block in end..end + 8 {
            let mut garbage: Vec<u8> = (0..4096).map(|_| split_mix(&mut rng) as u8).collect();
            if seed % 3 > 0 {
                // It begins as a block does: with its own number, or with a later one.
                garbage[..4].copy_from_slice(b"RdBk");
                let number = block + (seed % 3 - 1) * 5;
                garbage[8..16].copy_from_slice(&number.to_le_bytes());
            }
            let place = geometry.address(block);
            file.write_all_at(&garbage, place).expect("written");
        }
        let log = open(&scratch.0);
        let mut session = log.session();
        commits(&mut session, 10..15);
        drop((session, log));
        for _ in 0..2 {
            let (records, _) = recovered(&scratch.0);
            let found: Vec<u32> = records.iter().map(|(_, bytes)| whose(bytes).1).collect();
            assert_eq!(found, (0..15).collect::<Vec<_>>(), "seed {seed}");
        }
    }
}

/// After a failed flush nobody knows what the device has. That its next flush succeeds proves
/// nothing: the log asks for none.
#[test]
fn a_flush_that_fails_once_is_not_asked_again() {
    for log_writer in crate::common::WRITERS {
        let disks = Disks::new(Shape::new());
        let (data, log, _) = disks.open(log_writer);
        let mut session = log.session();
        commit(&mut session, 0, 0).expect("durable");
        data.inject(Injection {
            target: FaultTarget::Flush,
            nth: data.counts().flushes + 1,
            fault: Fault::Errno(EIO),
            for_good: false,
        });
        let failed = commit(&mut session, 0, 1).expect_err("its flush failed");
        assert!(
            matches!(failed, Error::Poisoned(Cause::Flush(_))),
            "{failed}"
        );
        let before = data.counts();
        for _ in 0..5 {
            commit(&mut log.session(), 0, 2).expect_err("until it is opened again");
            log.flush().expect_err("nothing is durable");
            log.checkpoint(log.durable())
                .expect_err("nothing more is stated");
        }
        assert_eq!(
            data.counts(),
            before,
            "{log_writer}: the device was asked again"
        );
        drop((session, log));
        let (_, log, recovery) = disks.open(log_writer);
        // The commit whose flush failed may be there: only recovery tells.
        assert!([&[0][..], &[0, 1]].contains(&&numbers(&recovery)[..]));
        let next = numbers(&recovery).len() as u32;
        commit(&mut log.session(), 0, next).expect("durable again");
    }
}

/// The first write behind a log switch is complete, the last one before it is not.
#[test]
fn what_lies_behind_a_switch_waits_for_what_lies_before_it() {
    for workers in [2, 4] {
        let disks = Disks::new(Shape::new().block_bytes(Some(4096)));
        let (data, log, _) = disks.open(LogWriter::Workers(workers));
        let mut session = log.session();
        let last = disks.geometry.blocks_per_group as u32 - 1;
        commits(&mut session, 0..last);
        let mut queue = log.completions(2);
        let gate = data.gate();
        for which in [last, last + 1] {
            session
                .append(&[&crate::common::record(0, which)])
                .expect("open");
            let ticket = session.commit_async(CommitPost::Immediate).expect("open");
            queue.push(ticket, which).expect("room");
            let held = which - last + 1;
            gate.await_pending(held as usize, crate::common::PATIENCE)
                .expect("in flight");
        }
        let held = gate.pending();
        let behind = held.iter().max_by_key(|operation| operation.ticket);
        assert!(
            gate.release(behind.expect("two").ticket),
            "the second is complete"
        );
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert_eq!(queue.poll(), 0, "nothing before it is durable");
        }
        // The power fails now.
        for seed in 0..8 {
            let after = disks.cut(&mut seed.clone());
            let (_, _, recovery) = after.open(LogWriter::Inline);
            // What was not acknowledged may be there, without a gap.
            let found = numbers(&recovery);
            assert!(found.len() >= last as usize, "{found:?}");
            assert!(found.iter().copied().eq(0..found.len() as u32), "{found:?}");
        }
        drop(gate);
        while !queue.is_empty() {
            assert!(queue.wait() > 0);
            while let Some(done) = queue.take() {
                done.outcome.expect("durable");
            }
        }
        let (_, _, recovery) = disks.cut(&mut 1).open(LogWriter::Inline);
        assert_eq!(numbers(&recovery), (0..last + 2).collect::<Vec<_>>());
    }
}

/// Notes what is written.
struct Noting {
    disk: SimDisk,
    writes: Arc<Mutex<Vec<(u64, u64)>>>,
}

// SAFETY: the disk below is given the operations that came.
unsafe impl LogDevice for Noting {
    fn caps(&self) -> Caps {
        self.disk.caps()
    }

    fn bytes(&self) -> u64 {
        self.disk.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(NotingQueue {
            inner: self.disk.queue(region)?,
            writes: Arc::clone(&self.writes),
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.disk.read(addr, out)
    }

    fn settle(&self) -> Result<(), device::queue::IoOrDevice> {
        self.disk.settle()
    }
}

struct NotingQueue {
    inner: Box<dyn Queue>,
    writes: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Queue for NotingQueue {
    fn submit(&mut self, ops: &[Op]) {
        let writes = ops.iter().filter(|op| op.kind != OpKind::Flush);
        let places = writes.filter_map(|op| match op.kind {
            OpKind::Write { addr, .. } => Some((addr, op.bytes() as u64)),
            OpKind::Flush => None,
        });
        self.writes.lock().expect("whole").extend(places);
        self.inner.submit(ops);
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        self.inner.poll(out, wait)
    }
}

/// With the padding that a log has by itself, a sector of the medium that holds acknowledged redo
/// is not written again, so a torn one takes only what was not acknowledged.
#[test]
fn an_acknowledged_sector_of_the_medium_is_never_written_again() {
    for block in [None, Some(512), Some(4096)] {
        for seed in 0..6_u64 {
            let disks = Disks::new(Shape::new().block_bytes(block));
            let writes = Arc::new(Mutex::default());
            let noting = Arc::new(Noting {
                disk: disks.data.clone(),
                writes: Arc::clone(&writes),
            });
            let control = Arc::new(disks.control.clone());
            let (log, _) = open_on(noting, control, options()).expect("it opens");
            let mut session = log.session();
            commits(&mut session, 0..40);
            drop((session, log));
            let mut written = BTreeMap::new();
            for (addr, bytes) in writes.lock().expect("whole").iter() {
                assert_eq!(
                    (addr % 4096, bytes % 4096),
                    (0, 0),
                    "{block:?}: {addr}, {bytes}"
                );
                for sector in addr / 4096..(addr + bytes) / 4096 {
                    *written.entry(sector).or_insert(0) += 1;
                }
            }
            assert!(
                written.len() >= 40,
                "{block:?}: each commit has sectors of its own"
            );
            assert!(
                written.values().all(|times| *times == 1),
                "{block:?}: {written:?}"
            );
            // The power tears the next write.
            let (data, log, _) = disks.open(LogWriter::Inline);
            data.inject(Injection {
                target: FaultTarget::Flush,
                nth: data.counts().flushes + 1,
                fault: Fault::Errno(EIO),
                for_good: true,
            });
            let mut session = log.session();
            session
                .append(&[&crate::common::record(0, 40)])
                .expect("open");
            session
                .commit(CommitMode::WAIT_IMMEDIATE)
                .expect_err("it fails");
            drop((session, log));
            let (_, _, recovery) = disks.cut(&mut seed.clone()).open(LogWriter::Inline);
            let found = numbers(&recovery);
            assert!((40..=41).contains(&found.len()), "{block:?}: {found:?}");
            assert!(found.iter().copied().eq(0..found.len() as u32));
        }
    }
}

/// Names and sizes of what is in a directory.
fn files(directory: &Path) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let sized = entries.map(|entry| {
        let bytes = entry.metadata().expect("its size").len();
        (entry.file_name().to_string_lossy().into_owned(), bytes)
    });
    sized.collect()
}

/// Each opening begins an incarnation. Neither that nor what it writes takes room.
#[test]
fn openings_without_commits_leave_the_files_as_they_are() {
    for (count, closes) in [(0, true), (0, false), (7, true), (7, false)] {
        let scratch = Scratch::new();
        create(&scratch.0);
        let log = open(&scratch.0);
        let mut session = log.session();
        commits(&mut session, 0..count);
        drop((session, log));
        let before = files(&scratch.0);
        for opening in 0..41 {
            let (log, recovery) =
                crate::common::open_with(&scratch.0, options()).expect("it opens");
            assert_eq!(
                numbers(&recovery),
                (0..count).collect::<Vec<_>>(),
                "{opening}"
            );
            if closes {
                log.close().expect("healthy");
            }
        }
        assert_eq!(
            files(&scratch.0),
            before,
            "commits {count}, closes {closes}"
        );
    }
}
