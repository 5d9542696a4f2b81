//! Batches, the places reserved in them, and the pieces of a record that is copied.

use crate::group::StreamBlock;
use crate::sync::{AtomicU32, AtomicU64};
use crate::wait::WaitWord;
use crate::wakers::WakerList;

/// When the write that served a batch passed its stations, on the log's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stations {
    /// Submitted to the device.
    pub submitted_ns: u64,
    /// Complete.
    pub written_ns: u64,
    /// Durable.
    pub durable_ns: u64,
}

/// What a batch's committers share.
#[derive(Debug, Default)]
pub(crate) struct BatchSlot {
    pub(super) start: AtomicU64,
    pub(super) commits: AtomicU32,
    /// The newest batch of this slot that somebody wants written, plus one.
    pub(crate) asked: AtomicU64,
    pub(crate) wake: WaitWord,
    /// Tasks that await the batch.
    pub(crate) wakers: WakerList,
    /// Sleepers that the woken have to wake.
    pub(crate) chain: AtomicU32,
    pub(super) served: AtomicU64,
    pub(super) submitted_ns: AtomicU64,
    pub(super) written_ns: AtomicU64,
    pub(super) durable_ns: AtomicU64,
}

/// A sealed batch: contiguous blocks that are written together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Its number; batches are written and published in this order.
    pub id: u64,
    /// Its first block.
    pub start: StreamBlock,
    /// Its blocks, padding included.
    pub blocks: u32,
    /// Bytes of redo, record headers included.
    pub bytes: u32,
    /// Commits that wait for it, as far as they had said so when it was sealed.
    pub commits: u32,
}

impl Batch {
    /// The block after its last.
    #[must_use]
    pub fn end(&self) -> StreamBlock {
        self.start + u64::from(self.blocks)
    }
}

/// A place in the log buffer that must now be filled.
#[derive(Debug)]
pub(crate) struct Reservation {
    pub(crate) batch: u64,
    pub(crate) start: StreamBlock,
    pub(crate) offset: u32,
    pub(crate) len: u32,
}

impl Reservation {
    /// Bytes of the batch up to and including this reservation.
    pub(crate) fn end(&self) -> u32 {
        self.offset + self.len
    }
}

/// There is no room: `log buffer space`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// The pieces of a record, read one after the other: its header, then its vectors.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    current: &'a [u8],
    rest: &'a [&'a [u8]],
}

impl<'a> Source<'a> {
    pub(crate) fn new(header: &'a [u8], vectors: &'a [&'a [u8]]) -> Source<'a> {
        Source {
            current: header,
            rest: vectors,
        }
    }

    /// Gives the next `n` bytes, piece by piece with their offset among the `n`.
    #[inline]
    pub(super) fn copy(&mut self, n: usize, mut put: impl FnMut(usize, &[u8])) {
        let mut given = 0;
        while given < n {
            if self.current.is_empty() {
                let (next, rest) = self.rest.split_first().expect("as many bytes as reserved");
                (self.current, self.rest) = (next, rest);
                continue;
            }
            let take = self.current.len().min(n - given);
            let (piece, left) = self.current.split_at(take);
            put(given, piece);
            given += take;
            self.current = left;
        }
    }
}
