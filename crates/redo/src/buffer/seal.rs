//! Steps 3 and 4 of the log buffer: closing a batch, and giving its blocks back. Only the holder of
//! the baton does them.

use super::{Batch, DONE, FIRST_RECORD_AT, LogBuffer, split};
use crate::format::{BLOCK_HEADER_BYTES, NO_RECORD};
use crate::group::StreamBlock;
use crate::planted::Bug;
use crate::sync::{Ordering, make_way};

impl LogBuffer {
    /// Step 3: closes the open batch and begins the next; `None` when it is empty. Only for the
    /// holder of the baton.
    pub(crate) fn seal(&self) -> Option<Batch> {
        let payload = self.geometry.payload();
        let mut word = self.word.load(Ordering::Acquire);
        let (id, start, bytes) = loop {
            let (batch, bytes) = split(word);
            if bytes == 0 {
                return None;
            }
            let start = self.slot(u64::from(batch)).start.load(Ordering::Acquire);
            let end = self
                .geometry
                .round_up(start + u64::from(bytes.div_ceil(payload)));
            let next = batch.wrapping_add(1);
            let slot = self.slot(u64::from(next));
            slot.start.store(end, Ordering::Relaxed);
            slot.commits.store(0, Ordering::Relaxed);
            match self.word.compare_exchange(
                word,
                u64::from(next) << 32,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => break (self.widen(batch), start, bytes),
                Err(now) => word = now,
            }
        };
        if bytes > self.nearly_full {
            // Who found no place in it finds one in the next.
            self.space.bump();
            self.space.wake_all();
        }
        let data_blocks = bytes.div_ceil(payload);
        let end = self.geometry.round_up(start + u64::from(data_blocks));
        self.pad(start, bytes, end);
        let blocks = (end - start) as u32;
        Some(Batch {
            id,
            start,
            blocks,
            bytes,
            commits: self.commits(id),
        })
    }

    /// Pads the batch's last block of redo and fills whole blocks of padding up to `end`.
    fn pad(&self, start: StreamBlock, bytes: u32, end: StreamBlock) {
        let payload = self.geometry.payload();
        let last = start + u64::from((bytes - 1) / payload);
        let used = (bytes - 1) % payload + 1;
        if used < payload {
            let at = self.byte_of(last) + BLOCK_HEADER_BYTES + used as usize;
            // SAFETY: no reservation of the sealed batch reaches behind its last byte.
            unsafe { self.memory.zero(at, (payload - used) as usize) };
            self.count_in(last, payload - used, payload - used);
        }
        for block in last + 1..end {
            let base = self.byte_of(block);
            let (bytes, none) = (self.geometry.block_bytes as usize, NO_RECORD.to_le_bytes());
            // SAFETY: the blocks from the last of redo to the batch's end are the sealer's.
            unsafe {
                self.memory.zero(base, bytes);
                self.memory.write(base + FIRST_RECORD_AT, &none);
            }
            self.count_in(block, payload, payload);
        }
    }

    /// All blocks of the batch are filled and checksummed.
    #[cfg(all(any(test, feature = "crash"), not(feature = "loom")))]
    pub(crate) fn is_filled(&self, batch: &Batch) -> bool {
        (batch.start..batch.end())
            .all(|block| self.fill[self.ring_slot(block)].load(Ordering::Acquire) == DONE)
    }

    /// Waits until the batch is filled. Fillers never block between reserving and filling, so
    /// this takes as long as a copy, or as a scheduler that took a filler off its processor. A
    /// filler that is stopped, or waits for a page of its source, stops the batch (assumption 29).
    /// False when a filler died.
    pub(crate) fn await_filled(&self, batch: &Batch) -> bool {
        const SPINS: u32 = 64;
        let mut spins = 0_u32;
        for block in batch.start..batch.end() {
            while self.fill[self.ring_slot(block)].load(Ordering::Acquire) != DONE {
                spins = spins.saturating_add(1);
                if cfg!(any(feature = "loom", feature = "shuttle")) || spins > SPINS {
                    if self.abandoned.load(Ordering::Acquire) != 0 {
                        return false;
                    }
                    make_way(spins.saturating_sub(SPINS + 1));
                } else {
                    std::hint::spin_loop();
                }
            }
        }
        true
    }

    /// A filler died between reserving and filling.
    #[cold]
    pub(crate) fn abandon(&self) {
        self.abandoned.store(1, Ordering::Release);
    }

    /// Step 4: the blocks before `upto` were written, their slots may be reused. Only for the
    /// holder of the baton.
    pub(crate) fn release(&self, upto: StreamBlock) {
        let from = self.released.load(Ordering::Relaxed);
        if self.planted.has(Bug::ReleaseBeforeZero) {
            self.released.store(upto, Ordering::Release);
        }
        for block in from..upto {
            self.fill[self.ring_slot(block)].store(0, Ordering::Relaxed);
        }
        self.released.store(upto, Ordering::Release);
        self.space.bump();
        self.space.wake_all();
    }
}
