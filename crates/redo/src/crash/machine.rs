//! The machine of the exhaustive model: a control disk and the members' disks, which lose power
//! together. Everything is deterministic, so a state is explored again by doing it again.
#![allow(unsafe_code)]

use super::disks::EIO;
use super::oracle::{Appended, Oracle, Recovered};
use crate::buffer::{LogBuffer, Memory, Source};
use crate::control::{CONTROL_BYTES, COPY_BYTES, ControlFile, ControlInfo, Position};
use crate::error::Error;
use crate::format::{LifeId, LogId, RECORD_HEADER_BYTES, Summer, encode_record_header};
use crate::group::Geometry;
use crate::planted::Planted;
use crate::recovery::{DamageScan, recover};
use device::queue::{Caps, LogDevice, Op, OpCompletion, OpKind, Queue};
use device::sim_disk::{OpOutcome, SimDisk};
use device::{DeviceError, IoFailure, Region};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What all disks hold: the control file, then each member.
pub(super) type Images = Vec<Vec<u8>>;

const LOG: &str = "modelled log";

/// The log under test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) geometry: Geometry,
    pub(super) sector_bytes: usize,
    pub(super) planted: Planted,
    /// Which copy of the log this is: lives and records of another copy differ.
    pub(super) copy: u8,
}

impl Setup {
    /// The life of an incarnation that begins after `generation` updates of the control file.
    fn life(&self, generation: u64) -> LifeId {
        let mut bytes = [self.copy + 1; 16];
        bytes[1..5].copy_from_slice(&(generation as u32).to_le_bytes());
        LifeId::from_bytes(bytes).expect("its first byte is not zero")
    }
}

/// Where a recovery is interrupted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    /// The blocking operation that is under way, from 0.
    pub(super) at: usize,
    /// The process is killed and the operation ends; otherwise it stays in flight, for a cut.
    pub(super) killed: bool,
}

pub(super) struct Machine {
    setup: Setup,
    /// One sector a copy: whatever is torn within a copy fails its checksum alike.
    control: SimDisk,
    members: Vec<SimDisk>,
}

impl Machine {
    /// A machine whose disks hold `images`.
    pub(super) fn boot(setup: Setup, images: &Images) -> Machine {
        let disk = |image: &Vec<u8>, sector| {
            let disk = SimDisk::new(image.len(), sector, false);
            disk.load(image);
            disk
        };
        let (control, members) = images.split_first().expect("a control disk");
        Machine {
            setup,
            control: disk(control, COPY_BYTES),
            members: members
                .iter()
                .map(|image| disk(image, setup.sector_bytes))
                .collect(),
        }
    }

    /// The images of a new log.
    pub(super) fn create(setup: Setup) -> Images {
        let control = SimDisk::new(CONTROL_BYTES as usize, COPY_BYTES, false);
        control.set_immediate(true);
        let info = ControlInfo::new(LogId([5; 16]), setup.geometry);
        ControlFile::create(Arc::new(control.clone()), Path::new(LOG), info)
            .expect("an immediate disk does not fail");
        let g = setup.geometry;
        let member = vec![0; g.file_bytes as usize * g.groups as usize];
        vec![control.durable_image(), member]
    }

    fn disks(&self) -> impl Iterator<Item = &SimDisk> {
        std::iter::once(&self.control).chain(&self.members)
    }

    /// Every state of all disks that a power cut now could leave.
    pub(super) fn cuts(&self) -> Vec<Images> {
        let choices: Vec<Vec<usize>> = self
            .disks()
            .map(|disk| disk.crash_choices().iter().map(|c| c.options).collect())
            .collect();
        let options: Vec<usize> = choices.concat();
        let mut picks = vec![0; options.len()];
        let mut out = Vec::new();
        loop {
            let mut rest = &picks[..];
            let images = self.disks().zip(&choices).map(|(disk, own)| {
                let (mine, others) = rest.split_at(own.len());
                rest = others;
                disk.crash_with(mine).image
            });
            out.push(images.collect());
            let Some(at) = (0..picks.len()).find(|i| picks[*i] + 1 < options[*i]) else {
                return out;
            };
            picks[..at].fill(0);
            picks[at] += 1;
        }
    }

    /// Recovers. With `stop`, the process ends while that blocking operation (from 0) is under
    /// way, and `None` is returned.
    pub(super) fn recover(
        &self,
        stop: Option<Stop>,
    ) -> Option<Result<(ControlFile, Recovered), Error>> {
        let steps = Arc::new(AtomicUsize::new(0));
        let device = |disk: &SimDisk| -> Arc<dyn LogDevice> {
            Arc::new(Stepped {
                disk: disk.clone(),
                steps: Arc::clone(&steps),
                stop,
            })
        };
        let data = device(&self.members[0]);
        let result = ControlFile::load(device(&self.control), Path::new(LOG)).and_then(|mut c| {
            let begin = (self.setup.life(c.info().generation), DamageScan::default());
            let recovery = recover(&data, &mut c, Path::new(LOG), begin, self.setup.planted)?;
            let mut found = Vec::new();
            recovery.recover(|rba, record| {
                found.push((rba, record.to_vec()));
                Ok::<(), crate::Error>(())
            })?;
            Ok((c, found))
        });
        let stopped = stop.is_some_and(|stop| steps.load(Ordering::Relaxed) > stop.at);
        (!stopped).then_some(result)
    }

    /// The control file as it is, without a recovery.
    pub(super) fn load(&self) -> Result<ControlFile, Error> {
        let device = Stepped {
            disk: self.control.clone(),
            steps: Arc::default(),
            stop: None,
        };
        ControlFile::load(Arc::new(device), Path::new(LOG))
    }

    /// The log open for writing, as `control` says.
    pub(super) fn open(&self, control: ControlFile) -> Open<'_> {
        let info = control.info();
        let g = self.setup.geometry;
        let ring = g.blocks_per_group as usize * g.block_bytes as usize;
        let region = Arc::new(Region::new(ring).expect("a page of memory"));
        let queue = self.members[0]
            .queue(Arc::clone(&region))
            .expect("never refused");
        let buffer = LogBuffer::new(
            Memory::new(region),
            g,
            info.current().number,
            Summer::of_life(info.log_id, info.current().life),
            info.current().first,
            0,
            self.setup.planted,
        );
        Open {
            machine: self,
            control,
            buffer,
            queue,
            ops: 0,
        }
    }
}

/// A log that is being written, batch by batch.
pub(super) struct Open<'a> {
    machine: &'a Machine,
    control: ControlFile,
    buffer: LogBuffer,
    queue: Box<dyn Queue>,
    ops: u64,
}

impl Open<'_> {
    /// Appends records of these payload lengths, seals and writes them: they are in the cache.
    /// Returns the number of the last record.
    pub(super) fn write(&mut self, lens: &[usize], oracle: &mut Oracle) -> usize {
        let g = self.machine.setup.geometry;
        let mut last = 0;
        for len in lens {
            last = self.append(*len, oracle);
        }
        let batch = self.buffer.seal().expect("records were appended");
        let limit = g.reuse_limit(self.control.info().checkpoint.block);
        assert!(batch.end() <= limit, "the script keeps below the limit");
        let mut at = batch.start;
        while at < batch.end() {
            let blocks = (batch.end() - at).min(g.left_in_log(at));
            let addr = g.address(at);
            let pieces = self.buffer.pieces(at, blocks);
            self.run(OpKind::Write { addr, pieces });
            at += blocks;
        }
        self.buffer.release(batch.end());
        last
    }

    fn append(&mut self, len: usize, oracle: &mut Oracle) -> usize {
        let g = self.machine.setup.geometry;
        let reservation = self
            .buffer
            .reserve((len + RECORD_HEADER_BYTES) as u32)
            .expect("the script fits");
        let place = |offset: u32| Position {
            block: reservation.start + u64::from(offset / g.payload()),
            offset: (offset % g.payload()) as u16,
        };
        let (begin, end) = (place(reservation.offset), place(reservation.end()));
        // No two records are alike: the place and the length of the history are in each byte.
        let salt = begin.block as usize * 31 + usize::from(begin.offset) + oracle.len() * 7;
        let salt = salt + usize::from(self.machine.setup.copy) * 101;
        let payload: Vec<u8> = (0..len).map(|i| (salt + i) as u8).collect();
        let head = encode_record_header(len as u32);
        let vectors: [&[u8]; 1] = [&payload];
        self.buffer.fill(&reservation, Source::new(&head, &vectors));
        let rba = g.rba(begin.block, begin.offset.into());
        let record = Appended {
            rba,
            payload,
            begin,
            end,
        };
        oracle.append(record).expect("places are in order")
    }

    /// Flushes: everything written is durable.
    pub(super) fn flush(&mut self) {
        self.run(OpKind::Flush);
        let (open, _) = self.buffer.open_batch();
        self.buffer.publish(open, self.buffer.open_start());
    }

    /// Moves the checkpoint behind the first `count` records.
    pub(super) fn checkpoint(&mut self, count: usize, oracle: &mut Oracle) {
        let position = oracle.behind(count).expect("so many records");
        oracle.checkpointing(count);
        let durable = self.buffer.durable_block();
        self.control
            .update(|info| {
                info.checkpoint = position;
                info.durable = info.durable.max(durable);
                Ok(())
            })
            .expect("nothing stops it");
        oracle.checkpointed();
    }

    fn run(&mut self, kind: OpKind) {
        self.ops += 1;
        self.queue.submit(&[Op { id: self.ops, kind }]);
        finish_all(&self.machine.members[0]);
        let mut done = Vec::new();
        self.queue.poll(&mut done, false);
        assert_eq!(done.len(), 1, "one operation at a time");
    }
}

/// A disk on which blocking operations succeed until one is under way when the process ends.
struct Stepped {
    disk: SimDisk,
    steps: Arc<AtomicUsize>,
    stop: Option<Stop>,
}

// SAFETY: the disk below is given the operations that came; where it stops the process it
// completes one that is in flight, and whoever waited for that writes to no region any more.
unsafe impl LogDevice for Stepped {
    fn caps(&self) -> Caps {
        self.disk.caps()
    }

    fn bytes(&self) -> u64 {
        self.disk.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(SteppedQueue {
            inner: self.disk.queue(region)?,
            disk: self.disk.clone(),
            steps: Arc::clone(&self.steps),
            stop: self.stop,
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.disk.read(addr, out)
    }

    fn settle(&self) -> Result<(), device::queue::IoOrDevice> {
        device::queue::settle_by_flush(self)
    }
}

struct SteppedQueue {
    inner: Box<dyn Queue>,
    disk: SimDisk,
    steps: Arc<AtomicUsize>,
    stop: Option<Stop>,
}

impl Queue for SteppedQueue {
    fn submit(&mut self, ops: &[Op]) {
        self.inner.submit(ops);
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        let step = self.steps.fetch_add(1, Ordering::Relaxed);
        let stop = self.stop.filter(|stop| step >= stop.at);
        if stop.is_none_or(|stop| stop.killed) {
            finish_all(&self.disk);
        }
        if let Some(stop) = stop {
            if stop.killed {
                // The system ends what it was given, and nobody hears of it.
                self.inner.poll(&mut Vec::new(), false);
            }
            // The code that waits is dead, which it notices by an error.
            let result = Err(IoFailure { errno: EIO });
            out.push(OpCompletion {
                id: 0,
                result,
                by: 0,
            });
            return 1;
        }
        self.inner.poll(out, false)
    }
}

fn finish_all(disk: &SimDisk) {
    for pending in disk.pending() {
        disk.finish(pending.ticket, OpOutcome::Done);
    }
}
