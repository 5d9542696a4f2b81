//! The log buffer, counted: batches, their places, bytes and commits, and no bytes.
//!
//! Invariant: a batch's blocks follow from its bytes as in the real log buffer, padding included,
//! and redo finds no room where it would find none there.

use redo::group::{Geometry, StreamBlock};
use redo::rules;
use redo::writer::Batch;

/// Slots of batches, as many as the real log buffer has.
const SLOTS: usize = 256;

/// What threads share of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) commits: u32,
    /// The newest batch of this slot that somebody wants written, plus one.
    pub(crate) asked: u64,
    /// Wake word: what was counted up for a hand-off.
    pub(crate) handed: u64,
    /// Records that are being copied.
    pub(crate) unfilled: u32,
    /// Threads that sleep until it is durable, in their order.
    pub(crate) sleepers: std::collections::VecDeque<u32>,
    /// Threads that poll.
    pub(crate) pollers: Vec<u32>,
    /// Sleepers that the woken have to wake.
    pub(crate) chain: u32,
    /// When it was submitted, written and durable.
    pub(crate) stations: [u64; 3],
}

#[derive(Debug)]
pub(crate) struct CountBuffer {
    geometry: Geometry,
    ring_blocks: u64,
    batch_bytes: u64,
    slots: Vec<Slot>,
    open: u64,
    start: StreamBlock,
    bytes: u32,
    released: StreamBlock,
    published: u64,
}

/// A place for a record in the open batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) batch: u64,
    /// Bytes of the batch before it and behind it.
    pub(crate) offset: u32,
    pub(crate) end: u32,
}

impl CountBuffer {
    pub(crate) fn new(geometry: Geometry, ring_blocks: u64, depth: u32) -> CountBuffer {
        CountBuffer {
            geometry,
            ring_blocks,
            batch_bytes: rules::batch_bytes(&geometry, ring_blocks, depth),
            slots: vec![Slot::default(); SLOTS],
            open: 0,
            start: 0,
            bytes: 0,
            released: 0,
            published: 0,
        }
    }

    #[inline]
    pub(crate) fn slot(&mut self, batch: u64) -> &mut Slot {
        &mut self.slots[batch as usize % SLOTS]
    }

    /// Takes `len` bytes, record header included; `None` where there is no room.
    #[inline]
    pub(crate) fn reserve(&mut self, len: u32) -> Option<Place> {
        let (offset, end) = (self.bytes, self.bytes + len);
        let over = u64::from(end) > self.batch_bytes;
        if over && offset > 0 && self.slots[self.open as usize % SLOTS].commits == 0 {
            return None;
        }
        if self.end_of(end) > self.released + self.ring_blocks {
            return None;
        }
        self.bytes = end;
        let batch = self.open;
        Some(Place { batch, offset, end })
    }

    fn end_of(&self, bytes: u32) -> StreamBlock {
        let blocks = bytes.div_ceil(self.geometry.payload());
        self.geometry.round_up(self.start + u64::from(blocks))
    }

    /// The open batch and its bytes.
    #[inline]
    pub(crate) fn open_batch(&self) -> (u64, u32) {
        (self.open, self.bytes)
    }

    #[inline]
    pub(crate) fn published(&self) -> u64 {
        self.published
    }

    /// Closes the open batch, which has bytes.
    pub(crate) fn seal(&mut self) -> Batch {
        let end = self.end_of(self.bytes);
        let batch = Batch {
            id: self.open,
            start: self.start,
            blocks: (end - self.start) as u32,
            bytes: self.bytes,
            commits: self.slot(self.open).commits,
        };
        (self.open, self.start, self.bytes) = (self.open + 1, end, 0);
        let next = self.slot(batch.id + 1);
        (next.commits, next.chain, next.stations) = (0, 0, [0; 3]);
        batch
    }

    /// The blocks before `upto` are written.
    pub(crate) fn release(&mut self, upto: StreamBlock) {
        self.released = upto;
    }

    /// The batches before `batches` are durable.
    pub(crate) fn publish(&mut self, batches: u64) {
        self.published = batches;
    }
}

/// Bytes of a record's header.
pub(crate) const RECORD_HEADER_BYTES: u32 = redo::format::RECORD_HEADER_BYTES as u32;
