//! A log on a disk with a ring, which can be made to hang.
#![allow(dead_code)]

use crate::common::{self, SMALL, Scratch};
use device::fault::FaultDevice;
use device::{FileSet, LogDevice, SyncMethod};
use redo::control::CONTROL_BYTES;
use redo::engine::Paths;
use redo::{Error, Log, MemberLayout, Options};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Has room for all that is committed here.
const RING_BYTES: u64 = 4 << 20;
/// Devices of a rig.
pub const DISK: usize = 0;
pub const CONTROL: usize = 1;
pub const RING: usize = 2;
/// With failover.
pub const DELAY: Duration = Duration::from_millis(20);

pub struct RingRig {
    scratch: Scratch,
    /// The redo of the disk, its control information, the ring.
    pub devices: [Arc<FaultDevice>; 3],
}

fn layout(scratch: &Scratch, delay: Option<Duration>) -> MemberLayout {
    let [disk, ring] = ["disk", "ring"].map(|name| scratch.0.join(name));
    let layout = match delay {
        None => MemberLayout::ring(disk, ring, RING_BYTES),
        Some(delay) => MemberLayout::failover(disk, ring, RING_BYTES, delay),
    };
    layout.force_same_device(true)
}

impl RingRig {
    pub fn new(delay: Option<Duration>) -> RingRig {
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
        RingRig { scratch, devices }
    }

    pub fn open(&self, delay: Option<Duration>, options: Options) -> Log {
        let [data, control, ring] = self
            .devices
            .clone()
            .map(|device| device as Arc<dyn LogDevice>);
        let layout = MemberLayout::ring_on_devices((data, control), ring, delay);
        let opened = Log::builder(layout).options(options).open();
        opened.expect("a log").0
    }

    /// Records from `first` on are there, so many in all.
    pub fn assert_kept(&self, delay: Option<Duration>, first: u32, all: u32) {
        assert_eq!(self.kept(delay, first), all);
    }

    /// How many records are there, from `first` on.
    pub fn kept(&self, delay: Option<Duration>, first: u32) -> u32 {
        let opened = Log::builder(layout(&self.scratch, delay)).open();
        let (_log, recovery) = opened.expect("a log");
        let mut next = first;
        let read = recovery.recover(|rba, bytes| {
            assert_eq!(common::whose(bytes), (0, next), "{rba}");
            next += 1;
            Ok::<(), Error>(())
        });
        read.expect("what was recovered is readable");
        next
    }

    /// The place of the ring is lost.
    pub fn lose_ring(&self) {
        let ring = self.scratch.0.join("ring");
        std::fs::rename(&ring, ring.with_extension("away")).expect("renamed");
    }
}
