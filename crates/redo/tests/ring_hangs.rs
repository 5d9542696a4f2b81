//! A disk or a ring that hangs while the log is written, a checkpoint among it: commits go on with
//! the other one, reports do not wait, and nothing is lost.

mod common;

use common::{PATIENCE, SMALL, Scratch, options, until};
use device::fault::FaultDevice;
use device::{FileSet, LogDevice, SyncMethod};
use redo::control::CONTROL_BYTES;
use redo::engine::Paths;
use redo::{Error, Log, MemberLayout};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Has room for all that is committed here.
const RING_BYTES: u64 = 4 << 20;
const COMMITS: u32 = 60;

struct Rig {
    scratch: Scratch,
    /// The redo of the disk, its control information, the ring.
    devices: [Arc<FaultDevice>; 3],
}

fn layout(scratch: &Scratch, delay: Option<Duration>) -> MemberLayout {
    let [disk, ring] = ["disk", "ring"].map(|name| scratch.0.join(name));
    let layout = match delay {
        None => MemberLayout::ring(disk, ring, RING_BYTES),
        Some(delay) => MemberLayout::failover(disk, ring, RING_BYTES, delay),
    };
    layout.force_same_device(true)
}

impl Rig {
    fn new(delay: Option<Duration>) -> Rig {
        let scratch = Scratch::new();
        for name in ["disk", "ring"] {
            std::fs::create_dir(scratch.0.join(name)).expect("a directory");
        }
        let made = Log::builder(layout(&scratch, delay)).shape(SMALL).create();
        made.expect("a new log");
        let disk = Paths::new(scratch.0.join("disk"));
        let device = |files: &[PathBuf], bytes| {
            let set = FileSet::open(files, bytes, SyncMethod::Buffered).expect("files");
            Arc::new(FaultDevice::new(Arc::new(set)))
        };
        let ring = scratch.0.join("ring").join(Paths::RING);
        let bytes = std::fs::metadata(&ring).expect("a file").len();
        let devices = [
            device(&disk.logs(SMALL.groups), SMALL.file_bytes),
            device(&[disk.control()], CONTROL_BYTES),
            device(&[ring], bytes),
        ];
        Rig { scratch, devices }
    }

    fn open(&self, delay: Option<Duration>) -> Log {
        let [data, control, ring] = self
            .devices
            .clone()
            .map(|device| device as Arc<dyn LogDevice>);
        let layout = MemberLayout::ring_on_devices((data, control), ring, delay);
        let opened = Log::builder(layout).options(options()).open();
        opened.expect("a log").0
    }
}

#[test]
fn commits_go_on_while_the_disk_or_the_ring_hangs_beside_a_checkpoint() {
    let delays = [None, Some(Duration::from_millis(20))];
    // Which devices hang: all of the disk, its control information alone, the ring.
    let cases: [&[usize]; 3] = [&[0, 1], &[1], &[2]];
    for (delay, hung) in delays.iter().flat_map(|d| cases.map(|hung| (*d, hung))) {
        let rig = Rig::new(delay);
        let log = rig.open(delay);
        let commit = |numbers: std::ops::Range<u32>| {
            let mut session = log.session();
            for number in numbers {
                common::commit(&mut session, 0, number).expect("acknowledged");
            }
        };
        commit(0..10);
        let checkpoint = log.durable();
        let hangs: Vec<_> = hung.iter().map(|at| rig.devices[*at].hang(0)).collect();
        std::thread::scope(|scope| {
            let update = scope.spawn(|| log.checkpoint(checkpoint).expect("durable"));
            let on_disk = hung.contains(&1);
            if hung == [1] {
                assert!(hangs[0].await_hanging(1, PATIENCE), "it reaches the disk");
            }
            // It needs no end of the hang.
            commit(10..COMMITS);
            assert!(!(update.is_finished() && on_disk));
            assert!(log.ring().is_some_and(|ring| ring.in_use));
            assert!(log.archive_position().is_ok() && log.read_from(log.durable()).is_ok());
            drop(hangs);
            until("the checkpoint ends", || update.is_finished());
        });
        drop(log);
        let (_log, recovery) = Log::builder(layout(&rig.scratch, delay))
            .open()
            .expect("a log");
        let mut next = 10;
        let read = recovery.recover(|rba, bytes| {
            assert_eq!(common::whose(bytes), (0, next), "{rba}");
            next += 1;
            Ok::<(), Error>(())
        });
        read.expect("what was recovered is readable");
        assert_eq!(next, COMMITS);
    }
}
