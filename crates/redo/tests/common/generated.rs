//! A log whose blocks are computed when they are read, so that it may have any size: one record in
//! each block, a batch of blocks at a time, and damage where a test wants it. It counts what is
//! read of it, and keeps nothing of what is written.
#![allow(unsafe_code, dead_code)]

use device::queue::IoOrDevice;
use device::{Caps, DeviceError, LogDevice, NullDevice, Queue, Region, SimDisk};
use redo::control::{CONTROL_BYTES, ControlFile, ControlInfo, Incarnation, Position};
use redo::format::{
    BLOCK_HEADER_BYTES, BlockHeader, LifeId, LogId, Summer, VERSION_WITHOUT_LIVES,
    encode_record_header,
};
use redo::group::{Geometry, StreamBlock};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a block.
pub const BLOCK: u64 = 4096;
/// Bytes of the record in each block.
pub const RECORD: usize = 24;
/// Blocks before the first one of a log file, in blocks.
const HEADER: u64 = 1;

/// What is read, and how often.
#[derive(Debug, Default)]
pub struct Reads {
    pub bytes: AtomicU64,
    pub reads: AtomicU64,
}

/// The log.
#[derive(Clone)]
pub struct Generated {
    pub control: ControlInfo,
    /// Blocks before this one were written, and not by the use of the files before.
    pub written: StreamBlock,
    /// The incarnation that wrote them.
    pub by: Incarnation,
    /// Each block says that all before its batch was durable.
    pub batch: u64,
    /// Blocks that hold noise instead.
    pub damaged: Range<StreamBlock>,
    /// Blocks that hold something else, by their place.
    pub instead: BTreeMap<StreamBlock, BlockHeader>,
    pub read: Arc<Reads>,
}

/// The life of the generated blocks, and another.
pub fn life(which: u8) -> LifeId {
    LifeId::from_bytes([which + 1; 16]).expect("not zero")
}

impl Generated {
    /// A log of `groups` files of `file_bytes`, whose checkpoint is at `from`; blocks up to
    /// `written` are there.
    pub fn new(groups: u32, file_bytes: u64, blocks: Range<StreamBlock>) -> Generated {
        let geometry = Geometry {
            block_bytes: BLOCK as u32,
            seal_blocks: 1,
            groups,
            blocks_per_group: file_bytes / BLOCK - HEADER,
            header_bytes: HEADER * BLOCK,
            file_bytes,
        };
        let mut control = ControlInfo::new(LogId([7; 16]), geometry);
        control.closed_at = None;
        control.begin_incarnation(0, life(0)).expect("room");
        control.checkpoint = Position {
            block: blocks.start,
            offset: 0,
        };
        Generated {
            by: control.current(),
            control,
            written: blocks.end,
            batch: 8,
            damaged: 0..0,
            instead: BTreeMap::new(),
            read: Arc::default(),
        }
    }

    /// The same as version 1 wrote it.
    pub fn of_version_1(mut self) -> Generated {
        self.control.version = VERSION_WITHOUT_LIVES;
        for incarnation in &mut self.control.incarnations {
            incarnation.life = None;
        }
        self.by = self.control.current();
        self
    }

    /// The same with other damage.
    pub fn damaged(&self, damaged: Range<StreamBlock>) -> Generated {
        let mut log = self.clone();
        log.damaged = damaged;
        log
    }

    /// Its control information on a device.
    pub fn control_device(&self) -> Arc<dyn LogDevice> {
        let disk = SimDisk::new(CONTROL_BYTES as usize, BLOCK as usize, false);
        disk.set_immediate(true);
        let disk: Arc<dyn LogDevice> = Arc::new(disk);
        let path = Path::new("redo.ctl");
        ControlFile::create(Arc::clone(&disk), path, self.control.clone()).expect("in memory");
        disk
    }

    /// A header as the block would have it.
    pub fn header(&self, block: StreamBlock) -> BlockHeader {
        BlockHeader {
            stream_block: block,
            durable_upto: block / self.batch * self.batch,
            incarnation: self.by.number,
            life: self.by.life.map(LifeId::mark),
            used: RECORD as u16,
            first_record: 0,
        }
    }

    fn fill(&self, slot: u64, out: &mut [u8]) {
        let capacity = self.control.geometry.capacity_blocks();
        // The last use of this place.
        let uses = (self.written.saturating_sub(slot)).div_ceil(capacity);
        let block = uses.checked_sub(1).map(|use_| slot + use_ * capacity);
        let header = match block {
            Some(block) if self.damaged.contains(&block) => None,
            Some(block) => Some(self.header(block)),
            None => None,
        };
        let instead = self.instead.iter().find(|(at, _)| *at % capacity == slot);
        let Some(header) = instead.map(|(_, header)| *header).or(header) else {
            out.fill(0x5A);
            return;
        };
        out.fill(0);
        let mut body = [0; RECORD];
        body[..8].copy_from_slice(&encode_record_header(RECORD as u32 - 8));
        body[8..16].copy_from_slice(&header.stream_block.to_le_bytes());
        let life = match header.life {
            Some(mark) if mark == life(1).mark() => Some(life(1)),
            _ => self.by.life,
        };
        let summer = Summer::of_life(self.control.log_id, life);
        let head = header.encode(&summer, &body);
        out[..BLOCK_HEADER_BYTES].copy_from_slice(&head);
        out[BLOCK_HEADER_BYTES..][..RECORD].copy_from_slice(&body);
    }
}

// SAFETY: it reads no region; the null device's queue takes the operations.
unsafe impl LogDevice for Generated {
    fn caps(&self) -> Caps {
        NullDevice::PLAIN
    }

    fn bytes(&self) -> u64 {
        self.control.geometry.file_bytes * u64::from(self.control.geometry.groups)
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        NullDevice::new(self.bytes(), self.caps()).queue(region)
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.read.reads.fetch_add(1, Ordering::Relaxed);
        let bytes = out.len() as u64;
        self.read.bytes.fetch_add(bytes, Ordering::Relaxed);
        let geometry = &self.control.geometry;
        for (at, out) in (addr / BLOCK..).zip(out.chunks_mut(BLOCK as usize)) {
            let (group, place) = (at * BLOCK / geometry.file_bytes, at * BLOCK);
            match (place % geometry.file_bytes / BLOCK).checked_sub(HEADER) {
                Some(block) => self.fill(group * geometry.blocks_per_group + block, out),
                None => out.fill(0),
            }
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        Ok(())
    }
}
