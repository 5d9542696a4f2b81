//! The log buffer: a ring of redo blocks that foregrounds copy redo into, concurrently.
//!
//! The protocol, in the order in which a byte meets it:
//! 1. **Reserve.** One word holds `batch: u32 | bytes in batch: u32`. A compare-and-swap moves the
//!    bytes on and gives the appender its batch (hence its wake word) and its place. The batch's
//!    first block was written to its slot before the word named the batch. A batch that nobody
//!    waits for takes no more than its part of the ring: while it is written, the next is filled.
//! 2. **Copy.** Each piece that lands in a block is counted into the block's fill word. The thread
//!    that fills payload byte 0 writes `first_record`. The one that completes the count checksums
//!    the block while it is in cache, writes its header and marks it `DONE`.
//! 3. **Seal.** The holder of the baton moves the word to the next batch, which begins on the next
//!    seal boundary. It counts the padding into the last block as if it were redo; the amount
//!    travels in the fill word's upper half, so the one that completes the block knows `used`.
//! 4. **Release.** After a batch was written its fill words are zeroed, then `released` moves on;
//!    a reservation reads `released` first, so a slot is reused only after it was released.
//!
//! What it must not know: devices, clocks, who waits, when to write.
#![allow(unsafe_code)]

mod batch;
mod memory;
mod seal;

use crate::format::{
    self, BLOCK_HEADER_BYTES, BlockHeader, NO_RECORD, RECORD_HEADER_BYTES, Summer,
};
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use crate::rules;
use crate::sync::{AtomicU32, AtomicU64, Isolated, Ordering, fence};
use crate::wait::WaitWord;
pub use batch::{Batch, Stations};
pub(crate) use batch::{BatchSlot, Full, Reservation, Source};
pub(crate) use memory::Memory;

/// Slots of batches; a batch's slot is its number modulo this. At most a few batches are open at
/// a time; the rest gives slow waiters time to read what their batch left.
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
pub const BATCH_SLOTS: u64 = 256;
/// Under loom few, so that they are reused within a model.
#[cfg(feature = "loom")]
pub const BATCH_SLOTS: u64 = 4;
/// Under shuttle as few as the deepest policy can do with.
#[cfg(feature = "shuttle")]
pub const BATCH_SLOTS: u64 = 16;

const DONE: u32 = u32::MAX;

/// The ring.
pub(crate) struct LogBuffer {
    word: Isolated<AtomicU64>,
    released: Isolated<AtomicU64>,
    published: Isolated<AtomicU64>,
    durable_block: AtomicU64,
    /// A filler died: its block will never be filled.
    abandoned: AtomicU32,
    pub(crate) space: WaitWord,
    memory: Memory,
    fill: Box<[AtomicU32]>,
    batches: Box<[Isolated<BatchSlot>]>,
    geometry: Geometry,
    ring_blocks: u64,
    /// Bytes of a batch that nobody waits for, at most, but for one that is a single record.
    batch_bytes: u32,
    /// A batch with so many bytes may have refused a record.
    nearly_full: u32,
    incarnation: u32,
    summer: Summer,
    planted: Planted,
}

fn split(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

impl LogBuffer {
    /// A buffer over `memory` whose first batch is `first_batch` and begins at block `start`.
    ///
    /// `first_batch` is 0 but in tests, which begin near a wrap of its lower half.
    pub(crate) fn new(
        memory: Memory,
        geometry: Geometry,
        incarnation: u32,
        summer: Summer,
        start: StreamBlock,
        first_batch: u64,
        planted: Planted,
    ) -> LogBuffer {
        let ring_blocks = (memory.len() / geometry.block_bytes as usize) as u64;
        assert!(
            ring_blocks * u64::from(geometry.payload()) < 1 << 31,
            "offsets are 32 bits"
        );
        assert_eq!(
            start,
            geometry.round_up(start),
            "a batch begins on a seal boundary"
        );
        let buffer = LogBuffer {
            word: Isolated(AtomicU64::new(first_batch << 32)),
            released: Isolated(AtomicU64::new(start)),
            published: Isolated(AtomicU64::new(first_batch)),
            durable_block: AtomicU64::new(start),
            abandoned: AtomicU32::new(0),
            space: WaitWord::default(),
            memory,
            fill: (0..ring_blocks).map(|_| AtomicU32::new(0)).collect(),
            batches: (0..BATCH_SLOTS).map(|_| Isolated::default()).collect(),
            geometry,
            ring_blocks,
            batch_bytes: u32::MAX,
            nearly_full: u32::MAX,
            incarnation,
            summer,
            planted,
        };
        buffer
            .slot(first_batch)
            .start
            .store(start, Ordering::Relaxed);
        buffer
    }

    /// With batches for one that is filled while others are in flight, `depth` of them at
    /// most.
    pub(crate) fn for_depth(mut self, depth: u32) -> LogBuffer {
        let longest = self.geometry.max_record(self.ring_blocks) + RECORD_HEADER_BYTES as u64;
        // Both are below 2^31, as offsets are.
        self.batch_bytes = rules::batch_bytes(&self.geometry, self.ring_blocks, depth) as u32;
        self.nearly_full = self.batch_bytes - longest as u32;
        self
    }

    #[cfg(test)]
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn ring_blocks(&self) -> u64 {
        self.ring_blocks
    }

    pub(crate) fn slot(&self, batch: u64) -> &BatchSlot {
        &self.batches[(batch % BATCH_SLOTS) as usize]
    }

    fn ring_slot(&self, block: StreamBlock) -> usize {
        (block % self.ring_blocks) as usize
    }

    fn byte_of(&self, block: StreamBlock) -> usize {
        self.ring_slot(block) * self.geometry.block_bytes as usize
    }

    /// Where the blocks `start..start + blocks` lie in the buffer: one piece, or two at the
    /// ring's end.
    pub(crate) fn pieces(&self, start: StreamBlock, blocks: u64) -> [device::Piece; 2] {
        let block_bytes = self.geometry.block_bytes as usize;
        let until_end = self.ring_blocks - start % self.ring_blocks;
        let first = blocks.min(until_end);
        [
            device::Piece {
                at: self.byte_of(start),
                len: first as usize * block_bytes,
            },
            device::Piece {
                at: usize::from(self.planted.has(Bug::RingWrapOffByOne)) * block_bytes,
                len: (blocks - first) as usize * block_bytes,
            },
        ]
    }

    /// The number of batches whose redo is durable; those before it are.
    #[inline]
    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    /// The number of batches whose blocks were released, durable or not: for a planted bug.
    #[cold]
    pub(crate) fn released_batches(&self) -> u64 {
        let (open, _) = self.open_batch();
        let released = self.released.load(Ordering::Acquire);
        let end = |batch: u64| self.slot(batch + 1).start.load(Ordering::Acquire);
        let first = self.published();
        let over = (first..open).find(|batch| end(*batch) > released);
        over.unwrap_or(open)
    }

    /// All blocks before this one are durable.
    pub(crate) fn durable_block(&self) -> StreamBlock {
        self.durable_block.load(Ordering::Acquire)
    }

    /// All blocks before this one are written.
    pub(crate) fn written_block(&self) -> StreamBlock {
        self.released.load(Ordering::Acquire)
    }

    /// The open batch's number, its first block and its bytes so far.
    pub(crate) fn open_batch(&self) -> (u64, u32) {
        // The durable one first: read later it could have passed the batch.
        let base = self.published.load(Ordering::Acquire);
        let (batch, bytes) = split(self.word.load(Ordering::Acquire));
        (base + u64::from(batch.wrapping_sub(base as u32)), bytes)
    }

    /// Where the open batch begins. Only for the holder of the baton, who alone moves it.
    pub(crate) fn open_start(&self) -> StreamBlock {
        self.slot(self.open_batch().0).start.load(Ordering::Acquire)
    }

    /// Commits that wait for batch `batch`.
    pub(crate) fn commits(&self, batch: u64) -> u32 {
        self.slot(batch).commits.load(Ordering::Relaxed)
    }

    /// Counts a commit that is going to wait for `batch`.
    #[inline]
    pub(crate) fn register(&self, batch: u64) {
        self.slot(batch).commits.fetch_add(1, Ordering::Relaxed);
    }

    /// The full number of an open or sealed batch from its lower half: it is the published one or
    /// at most 2^31 after it.
    #[inline]
    fn widen(&self, batch: u32) -> u64 {
        if self.planted.has(Bug::NarrowBatchNumber) {
            return batch.into();
        }
        let base = self.published.load(Ordering::Acquire);
        base + u64::from(batch.wrapping_sub(base as u32))
    }

    /// Step 1: takes `len` bytes (record header included) of the open batch.
    #[inline]
    pub(crate) fn reserve(&self, len: u32) -> Result<Reservation, Full> {
        let payload = self.geometry.payload();
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let (batch, offset) = split(word);
            let start = self.slot(u64::from(batch)).start.load(Ordering::Acquire);
            let counted = if self.planted.has(Bug::OverReserve) {
                offset
            } else {
                offset + len
            };
            let end = self
                .geometry
                .round_up(start + u64::from(counted.div_ceil(payload)));
            let released = self.released.load(Ordering::Acquire);
            let room = released + self.ring_blocks;
            let over = offset + len > self.batch_bytes && self.is_for_nobody(batch, offset);
            if over || end > room && !(self.planted.has(Bug::SlotReuse) && end <= room + 1) {
                // The word may have moved since `start` was read; only what is full is reported.
                let now = self.word.load(Ordering::Acquire);
                if now == word {
                    return Err(Full);
                }
                word = now;
                continue;
            }
            match self.word.compare_exchange_weak(
                word,
                word + u64::from(len),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    return Ok(Reservation {
                        batch: self.widen(batch),
                        start,
                        offset,
                        len,
                    });
                }
                Err(now) => word = now,
            }
        }
    }

    /// Nobody waits for that batch, and there is something in it. A session that waits fills no
    /// more: a limit would only leave some of their commits to the next log write.
    #[cold]
    fn is_for_nobody(&self, batch: u32, offset: u32) -> bool {
        offset > 0 && self.commits(u64::from(batch)) == 0
    }

    /// Step 2: copies a record; `source` holds as many bytes as were reserved.
    #[inline]
    pub(crate) fn fill(&self, reservation: &Reservation, mut source: Source<'_>) {
        let mut done = 0;
        while done < reservation.len {
            done += self.fill_block(reservation, done, &mut source);
        }
    }

    /// Copies what of the record lands in one block, `done` bytes of it being copied already.
    /// Returns how many it copied.
    #[inline]
    pub(crate) fn fill_block(
        &self,
        reservation: &Reservation,
        done: u32,
        source: &mut Source<'_>,
    ) -> u32 {
        let payload = self.geometry.payload();
        let at = reservation.offset + done;
        let (block, inside) = (reservation.start + u64::from(at / payload), at % payload);
        let left = reservation.len - done;
        let n = left.min(payload - inside);
        let base = self.byte_of(block);
        if inside == 0 {
            let first = match (done, left) {
                (0, _) => 0,
                (_, left) if left < payload && !self.planted.has(Bug::WrongFirstRecord) => {
                    left as u16
                }
                _ => NO_RECORD,
            };
            let first = first.to_le_bytes();
            // SAFETY: this header field belongs to the holder of payload byte 0, until its bytes
            // are counted in below.
            unsafe { self.memory.write(base + FIRST_RECORD_AT, &first) };
        }
        source.copy(n as usize, |offset, bytes| {
            let at = base + BLOCK_HEADER_BYTES + inside as usize + offset;
            // SAFETY: the reservation gave these bytes to nobody else, their slot was released
            // before, and no device is given them before they are counted in below.
            unsafe { self.memory.write(at, bytes) };
        });
        self.count_in(block, n, 0);
        n
    }

    /// Counts `n` filled bytes, of which `pad` are padding, and completes the block if they were
    /// the last.
    #[inline]
    fn count_in(&self, block: StreamBlock, n: u32, pad: u32) {
        let payload = self.geometry.payload();
        let add = n | pad << 16;
        let fill = &self.fill[self.ring_slot(block)];
        let total = if n == payload {
            add
        } else {
            fill.fetch_add(add, Ordering::AcqRel) + add
        };
        if total & 0xFFFF == payload {
            self.complete(block, payload - (total >> 16));
            fill.store(DONE, Ordering::Release);
        }
    }

    fn complete(&self, block: StreamBlock, used: u32) {
        let base = self.byte_of(block);
        let durable_upto = match self.planted.has(Bug::DurableUptoTooHigh) {
            true => block,
            false => self.durable_block.load(Ordering::Relaxed),
        };
        let encode = |bytes: &[u8]| {
            let header = BlockHeader {
                stream_block: block,
                durable_upto,
                incarnation: self.incarnation,
                life: self.summer.life(),
                used: used as u16,
                first_record: format::le16(bytes, FIRST_RECORD_AT),
            };
            header.encode(&self.summer, &bytes[BLOCK_HEADER_BYTES..])
        };
        let len = BLOCK_HEADER_BYTES + used as usize;
        // SAFETY: the count is complete, so that everybody else is done with the block, with
        // their writes before (the fill word is AcqRel); a device is given it after `DONE`.
        let encoded = unsafe { self.memory.read(base, len, encode) };
        // SAFETY: as above.
        unsafe { self.memory.write(base, &encoded) };
    }

    /// The batches before `batches` and the blocks before `block` are durable.
    pub(crate) fn publish(&self, batches: u64, block: StreamBlock) {
        self.durable_block.store(block, Ordering::Release);
        self.published.store(batches, Ordering::Release);
    }

    /// Leaves for a batch's committers when its write passed its stations.
    pub(crate) fn leave_stations(&self, batch: u64, stations: Stations) {
        let slot = self.slot(batch);
        // A thread that reads while this is half done must find a batch that is not its own.
        slot.served.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        slot.submitted_ns
            .store(stations.submitted_ns, Ordering::Relaxed);
        slot.written_ns
            .store(stations.written_ns, Ordering::Relaxed);
        slot.durable_ns
            .store(stations.durable_ns, Ordering::Relaxed);
        slot.served.store(batch + 1, Ordering::Release);
    }

    /// The stations of `batch`, unless its slot has been reused since.
    pub(crate) fn stations(&self, batch: u64) -> Option<Stations> {
        let slot = self.slot(batch);
        let before = slot.served.load(Ordering::Acquire);
        let stations = Stations {
            submitted_ns: slot.submitted_ns.load(Ordering::Acquire),
            written_ns: slot.written_ns.load(Ordering::Acquire),
            durable_ns: slot.durable_ns.load(Ordering::Acquire),
        };
        fence(Ordering::Acquire);
        let after = slot.served.load(Ordering::Relaxed);
        (before == batch + 1 && after == before).then_some(stations)
    }
}

const FIRST_RECORD_AT: usize = 28;

#[cfg(all(test, not(feature = "loom")))]
mod tests;
