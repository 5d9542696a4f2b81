//! What is written: records and sectors that can be computed again from the test's identity, so
//! that every byte on the disk can be compared with what was acknowledged.
//!
//! Invariants: no two records and no two sectors of a test are alike, and none can be compressed;
//! a sector describes itself, whatever its neighbours are.

use crc_fast::{CrcAlgorithm, Digest};
use device::file::fill_noise;
use measure::workload::split_mix;

/// Unit of a medium that is written whole or not at all.
pub(super) const SECTOR: usize = 512;
/// Bytes of a record's head, which names session and sequence.
const RECORD_HEAD: usize = 16;
const SECTOR_MAGIC: [u8; 4] = *b"RLps";
const SECTOR_HEAD: usize = 56;

/// Identity of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TestId(pub(super) [u8; 16]);

impl TestId {
    /// From its 32 hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<TestId> {
        from_hex(text).map(TestId)
    }

    /// What content of this test is drawn from, for each of the `parts` that name it.
    fn state(self, parts: &[u64]) -> u64 {
        let (low, high) = self.0.split_at(8);
        let word = |part: &[u8]| part.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        let all = [word(low), word(high)];
        let mix = |state: u64, part: &u64| split_mix(&mut (state ^ part));
        all.iter().chain(parts).fold(0, mix)
    }
}

impl std::fmt::Display for TestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// The 16 bytes that 32 hexadecimal digits are.
pub(super) fn from_hex(text: &str) -> Option<[u8; 16]> {
    let digits = text.as_bytes();
    let is_hex = digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit);
    let mut out = [0; 16];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    is_hex.then_some(out)
}

/// CRC-64 of bytes.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    digest.update(bytes);
    digest.finalize()
}

fn crc32c(bytes: &[u8]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(bytes);
    digest.finalize() as u32
}

/// Makes `out` the record number `sequence` of a session, of the length that it has.
pub(super) fn record(out: &mut [u8], test: TestId, session: u32, sequence: u64) {
    fill_noise(out, test.state(&[u64::from(session), sequence]), 0);
    let mut head = [0; RECORD_HEAD];
    head[..4].copy_from_slice(&session.to_le_bytes());
    head[4..12].copy_from_slice(&sequence.to_le_bytes());
    head[12..].copy_from_slice(&(out.len() as u32).to_le_bytes());
    let len = out.len().min(RECORD_HEAD);
    out[..len].copy_from_slice(&head[..len]);
}

/// What a sector says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SectorName {
    /// The test.
    pub(super) test: TestId,
    /// Number of the file.
    pub(super) file: u32,
    /// Number of the write in the file, from 0.
    pub(super) write: u64,
    /// The slot that the write lies in.
    pub(super) slot: u64,
    /// Number of the sector in the write, from 0.
    pub(super) index: u32,
}

impl SectorName {
    /// Makes `out` the sector of this name.
    pub(super) fn write_to(&self, out: &mut [u8; SECTOR]) {
        let names = [u64::from(self.file), self.write, u64::from(self.index)];
        fill_noise(out, self.test.state(&names), 0);
        out[..4].copy_from_slice(&SECTOR_MAGIC);
        out[4..8].copy_from_slice(&self.file.to_le_bytes());
        out[8..24].copy_from_slice(&self.test.0);
        out[24..32].copy_from_slice(&self.write.to_le_bytes());
        out[32..40].copy_from_slice(&self.slot.to_le_bytes());
        out[40..44].copy_from_slice(&self.index.to_le_bytes());
        out[44..SECTOR_HEAD].fill(0);
        let sum = crc32c(&out[..SECTOR - 4]);
        out[SECTOR - 4..].copy_from_slice(&sum.to_le_bytes());
    }

    /// The name of a whole sector; `None` where it is none, or was torn.
    pub(super) fn read(sector: &[u8; SECTOR]) -> Option<SectorName> {
        let u32_at = |at: usize| sector[at..].first_chunk().map(|b| u32::from_le_bytes(*b));
        let u64_at = |at: usize| sector[at..].first_chunk().map(|b| u64::from_le_bytes(*b));
        let whole = u32_at(SECTOR - 4)? == crc32c(&sector[..SECTOR - 4]);
        if sector[..4] != SECTOR_MAGIC || !whole {
            return None;
        }
        Some(SectorName {
            test: TestId(*sector[8..].first_chunk()?),
            file: u32_at(4)?,
            write: u64_at(24)?,
            slot: u64_at(32)?,
            index: u32_at(40)?,
        })
    }
}

/// How much of `expected` is in `found`, by pieces of 16 bytes, of which none is like another:
/// pieces that are the same, and pieces that are not. What is shorter at the end is not counted
/// unless there is nothing else.
pub(super) fn common_pieces(expected: &[u8], found: &[u8]) -> (usize, usize) {
    const PIECE: usize = 16;
    let pairs = expected.chunks(PIECE).zip(found.chunks(PIECE));
    let mut same = 0;
    let mut all = 0;
    for (wanted, there) in pairs {
        if wanted.len() < PIECE && all > 0 {
            break;
        }
        all += 1;
        same += usize::from(wanted == there);
    }
    (same, all - same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const TEST: TestId = TestId([7; 16]);

    #[test]
    fn records_differ_and_come_again() {
        let of = |test, session, sequence, len| {
            let mut out = vec![0; len];
            record(&mut out, test, session, sequence);
            out
        };
        let mut seen = BTreeSet::new();
        for test in [TEST, TestId([8; 16])] {
            for session in 0..4 {
                for sequence in 0..200 {
                    let made = of(test, session, sequence, 100);
                    assert_eq!(made, of(test, session, sequence, 100));
                    assert!(seen.insert(made[RECORD_HEAD..].to_vec()), "alike");
                }
            }
        }
        assert_eq!(of(TEST, 1, 2, 5).len(), 5, "shorter than its head");
    }

    #[test]
    fn a_sector_names_itself_and_is_refused_when_a_byte_is_wrong() {
        let name = SectorName {
            test: TEST,
            file: 3,
            write: 1 << 40,
            slot: 9,
            index: 7,
        };
        let mut sector = [0; SECTOR];
        name.write_to(&mut sector);
        assert_eq!(SectorName::read(&sector), Some(name));
        for at in [0, 5, 100, SECTOR / 2, SECTOR - 1] {
            let mut bad = sector;
            bad[at] ^= 1;
            assert_eq!(SectorName::read(&bad), None, "{at}");
        }
    }

    #[test]
    fn pieces_are_counted() {
        let mut expected = vec![0; 100];
        record(&mut expected, TEST, 0, 0);
        assert_eq!(common_pieces(&expected, &expected), (6, 0));
        let mut half = expected.clone();
        half[48..].fill(0);
        assert_eq!(common_pieces(&expected, &half), (3, 3));
        assert_eq!(common_pieces(&expected[..7], &expected[..7]), (1, 0));
        assert_eq!(common_pieces(&[], &[]), (0, 0));
    }

    #[test]
    fn hexadecimal_digits_are_read_and_nothing_else_is() {
        assert_eq!(TestId::parse(&TEST.to_string()), Some(TEST));
        for text in ["", "07", &"0".repeat(31), &"g".repeat(32), &"é".repeat(16)] {
            assert_eq!(TestId::parse(text), None, "{text}");
        }
    }
}
