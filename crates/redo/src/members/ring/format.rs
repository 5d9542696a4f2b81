//! What a ring holds: two copies of its announcement, then batches that describe themselves.
//!
//! ```text
//! announcement, at 0 and at 16 KiB:
//!  0 magic "REDORHD\0"   8 version   9 0   12 log_id   28 life   44 number u64
//! 52 ring_bytes u64   60 lives u32   64 as many lives, 16 bytes each   1088 crc u32   1092
//! batch, from 32 KiB on:
//!  0 magic "REDORNG\0"   8 version   9 0   12 log_id   28 life   44 number u64   52 addr u64
//! 60 bytes u32   64 crc u32   68 0   80 blocks
//! ```
//!
//! What lives here: bytes. What it must not know: which of them count.

use crate::format::{HeaderProblem, LifeId, LogId, Summer, le32, le64};

/// Bytes before the batches: two copies of the announcement, on sectors of their own.
pub(crate) const RING_DATA_AT: u64 = 2 * SLOT_BYTES;
/// Where the second copy lies; a multiple of every sector size in use.
pub(super) const SLOT_BYTES: u64 = 16_384;
/// Lives that an announcement names at most.
const LIVES: usize = 64;
const LIVES_AT: usize = 64;
const CRC_AT: usize = LIVES_AT + 16 * LIVES;
/// Bytes of an announcement that are used.
const ANNOUNCEMENT_BYTES: usize = CRC_AT + 4;
/// Bytes of a batch before its blocks.
pub(super) const HEAD_BYTES: usize = 80;
/// Batches begin at multiples of this at least.
pub(super) const LEAST_UNIT: u64 = 512;

const VERSION: u8 = 1;
const ANNOUNCED: [u8; 8] = *b"REDORHD\0";
const BATCH: [u8; 8] = *b"REDORNG\0";

/// Which log a ring belongs to, and whose batches in it may count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    pub(crate) log_id: LogId,
    /// The log's life when it was opened; all zeros where it had none.
    pub(super) life: [u8; 16],
    /// The lives that openings were about to begin since, the oldest first: what an interrupted one
    /// wrote to the control information may become durable later.
    pub(super) next: Vec<[u8; 16]>,
    /// Grows with each announcement; its parity is the copy that it is written to.
    pub(super) number: u64,
    /// Bytes of the ring behind [`RING_DATA_AT`].
    pub(crate) ring_bytes: u64,
}

impl Announcement {
    /// Of a new ring.
    pub(crate) fn of_new(log_id: LogId, ring_bytes: u64) -> Announcement {
        Announcement {
            log_id,
            life: [0; 16],
            next: Vec::new(),
            number: 0,
            ring_bytes,
        }
    }

    /// The next one: an opening of a log of `current` life is about to begin `next`.
    pub(super) fn followed(&self, current: [u8; 16], next: [u8; 16]) -> Announcement {
        let mut lives = match current == self.life {
            true => self.next.clone(),
            false => Vec::new(),
        };
        if lives.len() == LIVES {
            lives.remove(0);
        }
        lives.push(next);
        Announcement {
            life: current,
            next: lives,
            number: self.number + 1,
            ..self.clone()
        }
    }

    /// Whether the ring was used, or was to be used, in this life or in the one before it.
    pub(super) fn names(&self, life: [u8; 16]) -> bool {
        life == self.life || self.next.contains(&life)
    }

    pub(crate) fn encode(&self) -> [u8; ANNOUNCEMENT_BYTES] {
        let mut out = [0; ANNOUNCEMENT_BYTES];
        out[..8].copy_from_slice(&ANNOUNCED);
        out[8] = VERSION;
        out[12..28].copy_from_slice(&self.log_id.0);
        out[28..44].copy_from_slice(&self.life);
        out[44..52].copy_from_slice(&self.number.to_le_bytes());
        out[52..60].copy_from_slice(&self.ring_bytes.to_le_bytes());
        out[60..64].copy_from_slice(&(self.next.len() as u32).to_le_bytes());
        for (to, life) in out[LIVES_AT..CRC_AT].chunks_exact_mut(16).zip(&self.next) {
            to.copy_from_slice(life);
        }
        let crc = Summer::new(self.log_id).sum(&out[..CRC_AT], &[]);
        out[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Announcement, HeaderProblem> {
        let head: &[u8; ANNOUNCEMENT_BYTES] = bytes.first_chunk().ok_or(HeaderProblem::NotOurs)?;
        if head[..8] != ANNOUNCED {
            return Err(HeaderProblem::NotOurs);
        }
        if head[8] != VERSION {
            return Err(HeaderProblem::Version(head[8]));
        }
        let log_id = LogId(sixteen(head, 12));
        let lives = le32(head, 60) as usize;
        let is_whole = Summer::new(log_id).sum(&head[..CRC_AT], &[]) == le32(head, CRC_AT);
        if !is_whole || lives > LIVES {
            return Err(HeaderProblem::Damaged);
        }
        let each = (0..lives).map(|life| sixteen(head, LIVES_AT + 16 * life));
        Ok(Announcement {
            log_id,
            life: sixteen(head, 28),
            next: each.collect(),
            number: le64(head, 44),
            ring_bytes: le64(head, 52),
        })
    }
}

/// Whether these are the first [`RING_DATA_AT`] bytes of a ring that no log was opened with: there
/// is the announcement of its creation and no other.
pub(crate) fn is_unused(bytes: &[u8]) -> bool {
    let (first, second) = bytes.split_at(SLOT_BYTES as usize);
    let created = Announcement::decode(first).is_ok_and(|found| found.number == 0);
    created && matches!(Announcement::decode(second), Err(HeaderProblem::NotOurs))
}

fn sixteen(bytes: &[u8], at: usize) -> [u8; 16] {
    let mut out = [0; 16];
    out.copy_from_slice(&bytes[at..at + 16]);
    out
}

/// What a batch says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchHead {
    pub(super) life: [u8; 16],
    /// Counts the batches of a life.
    pub(super) number: u64,
    /// Where its blocks belong in the disk's space.
    pub(super) addr: u64,
    /// Bytes of its blocks.
    pub(super) bytes: u32,
}

impl BatchHead {
    /// The head of a batch of `blocks`, by checksums of its life.
    pub(super) fn encode(&self, log_id: LogId, sums: &Summer, blocks: &[u8]) -> [u8; HEAD_BYTES] {
        let mut out = [0; HEAD_BYTES];
        out[..8].copy_from_slice(&BATCH);
        out[8] = VERSION;
        out[12..28].copy_from_slice(&log_id.0);
        out[28..44].copy_from_slice(&self.life);
        out[44..52].copy_from_slice(&self.number.to_le_bytes());
        out[52..60].copy_from_slice(&self.addr.to_le_bytes());
        out[60..64].copy_from_slice(&self.bytes.to_le_bytes());
        let crc = sums.sum_of(sums.life(), &out[..64], blocks);
        out[64..68].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// The batch of `log_id` that begins here, and its blocks; `None` where there is none, or it is
    /// not whole.
    pub(super) fn find(log_id: LogId, bytes: &[u8]) -> Option<(BatchHead, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        if head[..8] != BATCH || head[8] != VERSION || head[12..28] != log_id.0 {
            return None;
        }
        let found = BatchHead {
            life: sixteen(head, 28),
            number: le64(head, 44),
            addr: le64(head, 52),
            bytes: le32(head, 60),
        };
        let blocks = rest.get(..found.bytes as usize)?;
        let sums = Summer::of_life(log_id, LifeId::from_bytes(found.life));
        let crc = sums.sum_of(sums.life(), &head[..64], blocks);
        (crc == le32(head, 64)).then_some((found, blocks))
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    const ID: LogId = LogId(*b"0123456789abcdef");

    #[test]
    fn an_announcement_comes_back_and_no_changed_byte_passes() {
        let announced = Announcement {
            number: 7,
            ..Announcement::of_new(ID, 1 << 20)
        };
        let mut announced = announced.followed([1; 16], [2; 16]);
        for next in 0..100 {
            announced = announced.followed([1; 16], [next; 16]);
        }
        assert!(announced.names([1; 16]) && announced.names([99; 16]) && announced.names([36; 16]));
        assert!(!announced.names([35; 16]) && !announced.names([100; 16]));
        assert_eq!(announced.followed([99; 16], [7; 16]).next, [[7; 16]]);
        let bytes = announced.encode();
        assert_eq!(Announcement::decode(&bytes), Ok(announced.clone()));
        for at in 0..bytes.len() {
            let mut changed = bytes;
            changed[at] ^= 1;
            assert!(Announcement::decode(&changed).is_err(), "byte {at}");
        }
        assert_eq!(
            Announcement::decode(&bytes[..ANNOUNCEMENT_BYTES - 1]),
            Err(HeaderProblem::NotOurs)
        );
    }

    #[test]
    fn a_batch_is_found_and_none_of_another_log_or_torn() {
        let life = LifeId::from_bytes([9; 16]).expect("a life");
        let head = BatchHead {
            life: life.bytes(),
            number: 3,
            addr: 8192,
            bytes: 1024,
        };
        let blocks = [5; 1024];
        let sums = Summer::of_life(ID, Some(life));
        let mut all = head.encode(ID, &sums, &blocks).to_vec();
        all.extend_from_slice(&blocks);
        assert_eq!(BatchHead::find(ID, &all), Some((head, &blocks[..])));
        assert_eq!(BatchHead::find(LogId([0; 16]), &all), None);
        assert_eq!(BatchHead::find(ID, &all[..all.len() - 1]), None);
        for at in (0..68).chain([HEAD_BYTES, all.len() - 1]) {
            let mut torn = all.clone();
            torn[at] ^= 0x10;
            let found = BatchHead::find(ID, &torn);
            // The bytes 9 to 11 say nothing, and are part of the sum.
            assert_eq!(found, None, "byte {at}");
        }
    }
}
