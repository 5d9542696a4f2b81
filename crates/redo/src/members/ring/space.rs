//! The room of a ring: which bytes of it a batch has, and when they are free again.
//!
//! Invariant: batches are taken and given back in the same order, and none lies across the end.

use std::collections::VecDeque;

/// Where a batch lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its place in the ring, bytes from the ring's begin.
    pub(super) at: u64,
    /// Its bytes, a multiple of the unit.
    pub(super) len: u64,
    /// What is free when it is given back: bytes taken since the ring was empty.
    end: u64,
}

/// The room of a ring of so many bytes.
#[derive(Debug)]
pub(super) struct Space {
    bytes: u64,
    /// Batches begin and end at multiples of this.
    unit: u64,
    head: u64,
    tail: u64,
    taken: VecDeque<u64>,
}

impl Space {
    pub(super) fn new(bytes: u64, unit: u64) -> Space {
        Space {
            bytes: bytes - bytes % unit,
            unit,
            head: 0,
            tail: 0,
            taken: VecDeque::new(),
        }
    }

    /// Bytes that can be used.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that a batch of `len` takes.
    pub(super) fn rounded(&self, len: u64) -> u64 {
        len.next_multiple_of(self.unit)
    }

    /// Room for a batch of `len` bytes, if it is free.
    pub(super) fn take(&mut self, len: u64) -> Option<Slot> {
        let len = self.rounded(len);
        let mut at = self.head.checked_rem(self.bytes)?;
        if self.taken.is_empty() {
            // An empty ring has all of its bytes, wherever it was used last.
            if at + len > self.bytes {
                (self.head, at) = (self.head.next_multiple_of(self.bytes), 0);
            }
            self.tail = self.head;
        }
        let (at, skipped) = match at + len > self.bytes {
            true => (0, self.bytes - at),
            false => (at, 0),
        };
        let end = self.head + skipped + len;
        if end - self.tail > self.bytes {
            return None;
        }
        self.head = end;
        self.taken.push_back(end);
        Some(Slot { at, len, end })
    }

    /// The oldest batch is given back.
    pub(super) fn give_back(&mut self, slot: Slot) {
        let oldest = self.taken.pop_front();
        debug_assert_eq!(oldest, Some(slot.end));
        self.tail = slot.end;
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn no_two_batches_share_bytes_and_none_lies_across_the_end() {
        let mut state = 42;
        let mut space = Space::new(16 * 512 + 100, 512);
        assert_eq!(space.bytes(), 16 * 512);
        let mut held: VecDeque<Slot> = VecDeque::new();
        let (mut refused, mut wrapped) = (0, 0);
        for _ in 0..10_000 {
            let draw = measure::workload::split_mix(&mut state);
            if draw.is_multiple_of(2) {
                let Some(slot) = space.take(1 + draw % 3_000) else {
                    refused += 1;
                    continue;
                };
                assert!(slot.at + slot.len <= space.bytes());
                wrapped += u64::from(slot.at == 0);
                for other in &held {
                    let apart = slot.at + slot.len <= other.at || other.at + other.len <= slot.at;
                    assert!(apart, "{slot:?} and {other:?}");
                }
                held.push_back(slot);
            } else if let Some(slot) = held.pop_front() {
                space.give_back(slot);
            }
        }
        assert!(refused > 100 && wrapped > 100, "{refused} {wrapped}");
        assert!(Space::new(16 * 512, 512).take(16 * 512 + 1).is_none());
        // An empty ring takes a batch of its whole size, wherever the last one ended.
        let mut empty = Space::new(16 * 512, 512);
        let first = empty.take(5 * 512).expect("it is empty");
        assert!(empty.take(16 * 512).is_none());
        empty.give_back(first);
        assert_eq!(empty.take(16 * 512).expect("empty again").at, 0);
        assert!(Space::new(100, 512).take(1).is_none());
    }
}
