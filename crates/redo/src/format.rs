//! The bytes of a log: the only encoding and decoding of blocks, records and file headers.
//! docs/format.md draws these bytes and carries the hash of this file.
//!
//! All integers are little-endian. Nothing here reads a device or decides what is recovered.

use crc_fast::{CrcAlgorithm, Digest};

mod life;
mod stripe;
pub use life::{LifeId, LifeMark};
pub use stripe::{STRIPE_DATA_AT, STRIPE_HEADER_BYTES, StripeHeader};

/// Version of what is written. Version 1 is read, and becomes this one at its next incarnation;
/// a log of any other version is refused.
pub const FORMAT_VERSION: u8 = 2;
/// Version whose incarnations have no life id.
pub const VERSION_WITHOUT_LIVES: u8 = 1;
/// Bytes of a block's header.
pub const BLOCK_HEADER_BYTES: usize = 40;
/// Bytes of a record's header.
pub const RECORD_HEADER_BYTES: usize = 8;
/// `first_record` of a block in which no record begins.
pub const NO_RECORD: u16 = u16::MAX;
/// Bytes of a log file's header that are used; the header's extent is larger
/// ([`FILE_HEADER_MIN_BYTES`]).
pub const FILE_HEADER_BYTES: usize = 64;
/// Smallest extent of a file header: blocks begin at this offset or, where the physical sector is
/// larger, at the sector's size.
pub const FILE_HEADER_MIN_BYTES: u64 = 4096;

/// On a raw device, where the control information begins.
pub const RAW_CONTROL_AT: u64 = 0;
/// On a raw device, where the first group begins: everything before it is the log's too.
pub const RAW_LOG_AT: u64 = 1 << 20;
/// On a raw device, bytes at its end that hold zeros: where other formats keep their second
/// super block, nothing of an earlier use must be left.
pub const RAW_TAIL_BYTES: u64 = 1 << 20;

const BLOCK_MAGIC: [u8; 4] = *b"RdBk";
const FILE_MAGIC: [u8; 8] = *b"REDOLAB\0";
const LIFE_AT: usize = 30;
const CRC_AT: usize = 36;

/// Identity of a log, drawn when it is created. Seeds every checksum, so a block of another log
/// never passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogId(pub [u8; 16]);

/// The version of control information of a log that has members: a program that does not know
/// them must not go on with one of them alone. Everything else keeps [`FORMAT_VERSION`].
pub const VERSION_OF_MEMBERS: u8 = 3;

/// The version of control information of a log in archive mode, with or without members: a program
/// that does not know archive mode must not reuse logs that were not archived.
pub const VERSION_OF_ARCHIVE: u8 = 4;

/// The version of control information of a log with a ring, in archive mode or not: a program that
/// does not know rings must not go on without what the ring alone has.
pub const VERSION_OF_RING: u8 = 5;

/// Whether this program reads what the version byte `version` names.
pub(crate) fn is_readable(version: u8) -> bool {
    matches!(version, VERSION_WITHOUT_LIVES | FORMAT_VERSION)
}

/// Whether this program reads control information of version `version`.
pub(crate) fn is_readable_control(version: u8) -> bool {
    is_readable(version)
        || matches!(
            version,
            VERSION_OF_MEMBERS | VERSION_OF_ARCHIVE | VERSION_OF_RING
        )
}

/// Checksums of one log: CRC32C over header (its own field zero) and used payload. Its initial
/// state is made of the log's id and, for blocks, of the mark of the life that wrote them.
#[derive(Clone)]
pub struct Summer {
    id: LogId,
    life: Option<LifeMark>,
    /// Of blocks of `life`.
    seed: u64,
}

impl Summer {
    /// Checksums of the log `id`: of its file headers, its control information, and the blocks of
    /// version 1.
    #[must_use]
    pub fn new(id: LogId) -> Summer {
        Summer::of_life(id, None)
    }

    /// As [`Summer::new`], with the initial state for the blocks of `life` computed once. Blocks of
    /// other lives are summed too, a little slower.
    #[must_use]
    pub fn of_life(id: LogId, life: Option<LifeId>) -> Summer {
        let life = life.map(LifeId::mark);
        let seed = seed(id, life);
        Summer { id, life, seed }
    }

    /// The life whose blocks these checksums were prepared for.
    #[inline]
    #[must_use]
    pub fn life(&self) -> Option<LifeMark> {
        self.life
    }

    /// CRC32C of two pieces, seeded with the log alone.
    #[must_use]
    pub fn sum(&self, head: &[u8], body: &[u8]) -> u32 {
        self.sum_of(None, head, body)
    }

    /// CRC32C of two pieces, seeded with the log and `life`.
    #[inline]
    #[must_use]
    pub fn sum_of(&self, life: Option<LifeMark>, head: &[u8], body: &[u8]) -> u32 {
        let seed = match life == self.life {
            true => self.seed,
            false => seed(self.id, life),
        };
        let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, seed);
        digest.update(head);
        digest.update(body);
        digest.finalize() as u32
    }
}

/// The initial state of checksums.
fn seed(id: LogId, life: Option<LifeMark>) -> u64 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&id.0);
    if let Some(mark) = life {
        digest.update(&mark.bytes());
    }
    digest.finalize() & 0xFFFF_FFFF
}

/// Header of a redo block.
///
/// ```text
///  0 magic "RdBk"   4 version   5 flags (0)   6 used u16   8 stream_block u64
/// 16 durable_upto u64   24 incarnation u32   28 first_record u16   30 life   36 crc u32   40
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// Number in the stream.
    pub stream_block: u64,
    /// All blocks before this one were durable when the block was formatted. Any earlier value
    /// is a safe lower bound.
    pub durable_upto: u64,
    /// Number of the incarnation that wrote it.
    pub incarnation: u32,
    /// Mark of that incarnation's life; `None` in a block of version 1.
    pub life: Option<LifeMark>,
    /// Bytes of payload that hold redo.
    pub used: u16,
    /// Payload offset at which the first record of the block begins, or [`NO_RECORD`]. An offset
    /// equal to `used` also means that none begins.
    pub first_record: u16,
}

impl BlockHeader {
    /// Encodes the header of a block whose used payload is `body`.
    ///
    /// # Panics
    /// When `body` is not `used` bytes long: a block must never claim what it does not hold.
    #[inline]
    #[must_use]
    pub fn encode(&self, summer: &Summer, body: &[u8]) -> [u8; BLOCK_HEADER_BYTES] {
        assert_eq!(
            body.len(),
            usize::from(self.used),
            "a block claims what it holds"
        );
        let mut out = [0_u8; BLOCK_HEADER_BYTES];
        out[0..4].copy_from_slice(&BLOCK_MAGIC);
        out[4] = match self.life {
            Some(_) => FORMAT_VERSION,
            None => VERSION_WITHOUT_LIVES,
        };
        out[6..8].copy_from_slice(&self.used.to_le_bytes());
        out[8..16].copy_from_slice(&self.stream_block.to_le_bytes());
        out[16..24].copy_from_slice(&self.durable_upto.to_le_bytes());
        out[24..28].copy_from_slice(&self.incarnation.to_le_bytes());
        out[28..30].copy_from_slice(&self.first_record.to_le_bytes());
        if let Some(mark) = self.life {
            out[LIFE_AT..CRC_AT].copy_from_slice(&mark.bytes());
        }
        let crc = summer.sum_of(self.life, &out, body);
        out[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// The bytes begin like a block, whatever their checksum says.
    #[must_use]
    pub fn is_marked(block: &[u8]) -> bool {
        block.starts_with(&BLOCK_MAGIC)
    }

    /// Decodes and verifies a block of any life; `None` when it is not a block of this log with a
    /// right checksum. Whether its life is one that the log knows is for the caller to decide.
    #[must_use]
    pub fn decode(summer: &Summer, block: &[u8]) -> Option<BlockHeader> {
        let header = BlockHeader::parse(block)?;
        let (head, behind) = block.split_first_chunk::<BLOCK_HEADER_BYTES>()?;
        let body = behind.get(..usize::from(header.used))?;
        let mut unsummed = *head;
        unsummed[CRC_AT..].fill(0);
        (summer.sum_of(header.life, &unsummed, body) == le32(head, CRC_AT)).then_some(header)
    }

    /// Decodes what looks like a block, without its checksum.
    pub(crate) fn parse(block: &[u8]) -> Option<BlockHeader> {
        let head: &[u8; BLOCK_HEADER_BYTES] = block.first_chunk()?;
        if head[0..4] != BLOCK_MAGIC || head[5] != 0 {
            return None;
        }
        let life = LifeMark::of([head[30], head[31], head[32], head[33], head[34], head[35]]);
        let version = match life {
            Some(_) => FORMAT_VERSION,
            None => VERSION_WITHOUT_LIVES,
        };
        if head[4] != version {
            return None;
        }
        Some(BlockHeader {
            life,
            stream_block: le64(head, 8),
            durable_upto: le64(head, 16),
            incarnation: le32(head, 24),
            used: le16(head, 6),
            first_record: le16(head, 28),
        })
    }
}

/// Header of a record: payload length, then four bytes that are zero in this version.
#[inline]
#[must_use]
pub fn encode_record_header(len: u32) -> [u8; RECORD_HEADER_BYTES] {
    let mut out = [0_u8; RECORD_HEADER_BYTES];
    out[..4].copy_from_slice(&len.to_le_bytes());
    out
}

/// Payload length of a record; `None` when the header is not one of this version.
#[must_use]
pub fn decode_record_header(bytes: &[u8; RECORD_HEADER_BYTES]) -> Option<u32> {
    (le32(bytes, 4) == 0).then(|| le32(bytes, 0))
}

/// What a log file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// The log that it belongs to.
    pub log_id: LogId,
    /// Its group, from 0.
    pub group: u32,
    /// Groups of the log.
    pub groups: u32,
    /// Redo block size.
    pub block_bytes: u32,
    /// Bytes before the first block.
    pub header_bytes: u32,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// Why a file header was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderProblem {
    /// Not a redolab log file at all.
    NotOurs,
    /// A version that this program does not read.
    Version(u8),
    /// Ours, but its checksum is wrong.
    Damaged,
}

impl FileHeader {
    /// Encodes the used part of the header.
    #[must_use]
    pub fn encode(&self) -> [u8; FILE_HEADER_BYTES] {
        let mut out = [0_u8; FILE_HEADER_BYTES];
        out[0..8].copy_from_slice(&FILE_MAGIC);
        out[8] = FORMAT_VERSION;
        out[12..28].copy_from_slice(&self.log_id.0);
        out[28..32].copy_from_slice(&self.group.to_le_bytes());
        out[32..36].copy_from_slice(&self.groups.to_le_bytes());
        out[36..40].copy_from_slice(&self.block_bytes.to_le_bytes());
        out[40..44].copy_from_slice(&self.header_bytes.to_le_bytes());
        out[44..52].copy_from_slice(&self.file_bytes.to_le_bytes());
        let crc = Summer::new(self.log_id).sum(&out[..60], &[]);
        out[60..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes a header. The version is checked right after the magic.
    ///
    /// # Errors
    /// Which of the three it fails.
    pub fn decode(bytes: &[u8]) -> Result<FileHeader, HeaderProblem> {
        let head: &[u8; FILE_HEADER_BYTES] = bytes
            .get(..FILE_HEADER_BYTES)
            .and_then(|b| b.try_into().ok())
            .ok_or(HeaderProblem::NotOurs)?;
        if head[0..8] != FILE_MAGIC {
            return Err(HeaderProblem::NotOurs);
        }
        // The header is the same in both versions.
        if !is_readable(head[8]) {
            return Err(HeaderProblem::Version(head[8]));
        }
        let mut id = [0_u8; 16];
        id.copy_from_slice(&head[12..28]);
        let log_id = LogId(id);
        if Summer::new(log_id).sum(&head[..60], &[]) != le32(head, 60) {
            return Err(HeaderProblem::Damaged);
        }
        Ok(FileHeader {
            log_id,
            group: le32(head, 28),
            groups: le32(head, 32),
            block_bytes: le32(head, 36),
            header_bytes: le32(head, 40),
            file_bytes: le64(head, 44),
        })
    }
}

/// The little-endian u16 at `at` of a fixed header. Panics only on an offset outside the array,
/// which is a constant of this module.
#[inline]
pub(crate) fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// As [`le16`], for u32.
#[inline]
pub(crate) fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// As [`le16`], for u64.
#[inline]
pub(crate) fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from(le32(bytes, at)) | u64::from(le32(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: LogId = LogId([7; 16]);
    const LIFE: LifeId = LifeId::from_bytes([9; 16]).expect("not zero");

    fn block(body: &[u8]) -> Vec<u8> {
        block_of(Some(LIFE), body)
    }

    fn block_of(life: Option<LifeId>, body: &[u8]) -> Vec<u8> {
        let header = BlockHeader {
            life: life.map(LifeId::mark),
            stream_block: 0x0123_4567_89AB,
            durable_upto: 42,
            incarnation: 3,
            used: body.len() as u16,
            first_record: 5,
        };
        let mut bytes = header.encode(&Summer::new(ID), body).to_vec();
        bytes.extend_from_slice(body);
        bytes.resize(512, 0);
        bytes
    }

    #[test]
    fn blocks_come_back() {
        let bytes = block(b"redo");
        let header = BlockHeader::decode(&Summer::new(ID), &bytes).expect("valid");
        assert_eq!(
            (header.stream_block, header.durable_upto),
            (0x0123_4567_89AB, 42)
        );
        assert_eq!(
            (header.incarnation, header.used, header.first_record),
            (3, 4, 5)
        );
        assert_eq!(header.life, Some(LIFE.mark()));
        let old = block_of(None, b"redo");
        let header = BlockHeader::decode(&Summer::of_life(ID, Some(LIFE)), &old).expect("valid");
        assert_eq!((old[4], header.life), (VERSION_WITHOUT_LIVES, None));
    }

    /// Whether the checksums were prepared for the life or not.
    #[test]
    fn a_block_is_verified_whichever_life_wrote_it() {
        let other = LifeId::from_bytes([8; 16]).expect("not zero");
        for life in [None, Some(LIFE), Some(other)] {
            let bytes = block_of(life, b"redo");
            for prepared in [None, Some(LIFE), Some(other)] {
                let summer = Summer::of_life(ID, prepared);
                let header = BlockHeader::decode(&summer, &bytes).expect("valid");
                assert_eq!(header.life, life.map(LifeId::mark));
                assert_eq!(
                    header.encode(&summer, b"redo")[..],
                    bytes[..BLOCK_HEADER_BYTES]
                );
            }
        }
    }

    /// A version byte that does not fit the mark is not a block, even with a right checksum.
    #[test]
    fn versions_and_marks_belong_together() {
        for (life, version) in [(Some(LIFE), 1), (None, 2), (Some(LIFE), 3), (None, 0)] {
            let mut bytes = block_of(life, b"redo");
            bytes[4] = version;
            bytes[CRC_AT..BLOCK_HEADER_BYTES].fill(0);
            for seed in [None, Some(LIFE.mark())] {
                let (head, body) = bytes.split_at(BLOCK_HEADER_BYTES);
                let crc = Summer::new(ID).sum_of(seed, head, &body[..4]);
                let mut summed = bytes.clone();
                summed[CRC_AT..BLOCK_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
                assert_eq!(
                    BlockHeader::decode(&Summer::new(ID), &summed),
                    None,
                    "{version}"
                );
            }
        }
    }

    #[test]
    fn no_flipped_bit_of_header_or_redo_is_accepted() {
        let good = block(b"some redo that matters");
        let covered = BLOCK_HEADER_BYTES + 22;
        for bit in 0..covered * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                BlockHeader::decode(&Summer::new(ID), &bad),
                None,
                "bit {bit}"
            );
        }
    }

    #[test]
    fn a_block_of_another_log_or_cut_short_is_refused() {
        let good = block(b"redo");
        assert_eq!(
            BlockHeader::decode(&Summer::new(LogId([8; 16])), &good),
            None
        );
        for len in 0..BLOCK_HEADER_BYTES + 4 {
            assert_eq!(
                BlockHeader::decode(&Summer::new(ID), &good[..len]),
                None,
                "{len}"
            );
        }
    }

    #[test]
    fn file_headers_say_what_is_wrong_with_them() {
        let header = FileHeader {
            log_id: ID,
            group: 1,
            groups: 3,
            block_bytes: 4096,
            header_bytes: 4096,
            file_bytes: 1 << 26,
        };
        let bytes = header.encode();
        assert_eq!(FileHeader::decode(&bytes), Ok(header));
        assert_eq!(FileHeader::decode(b"PNG"), Err(HeaderProblem::NotOurs));
        let mut newer = bytes;
        newer[8] = 9;
        assert_eq!(FileHeader::decode(&newer), Err(HeaderProblem::Version(9)));
        // Version 1 had the same header.
        let mut older = bytes;
        older[8] = VERSION_WITHOUT_LIVES;
        let crc = Summer::new(ID).sum(&older[..60], &[]);
        older[60..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(FileHeader::decode(&older), Ok(header));
        let mut damaged = bytes;
        damaged[45] ^= 1;
        assert_eq!(FileHeader::decode(&damaged), Err(HeaderProblem::Damaged));
    }
}
