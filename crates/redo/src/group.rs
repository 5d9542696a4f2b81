//! Log groups: where a block of the stream lies.
//!
//! The stream of redo blocks is numbered from 0 and never resets. Groups are equal and are used
//! in a circle; each use of a group is a log with a log sequence number. All of it follows from
//! the block's number, so a log switch writes nothing of its own.

use crate::rba::Rba;

/// Number of a block in the stream. Blocks of all logs are counted through.
pub type StreamBlock = u64;

/// The largest unit that writes are sealed to; every log buffer holds one.
pub const MAX_SEAL_BYTES: u64 = 1 << 20;
/// The largest log file.
pub const MAX_FILE_BYTES: u64 = 1 << 40;

/// The shape of a log: fixed when it is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Redo block size in bytes: 512 or 4096 (any size over the header in models).
    pub block_bytes: u32,
    /// Writes end on a multiple of this many blocks, so that no acknowledged physical sector is
    /// written again.
    pub seal_blocks: u32,
    /// Log groups, at least 2.
    pub groups: u32,
    /// Redo blocks of each group, a multiple of `seal_blocks`.
    pub blocks_per_group: u64,
    /// Bytes before the first block of each log file.
    pub header_bytes: u64,
    /// Bytes of each log file.
    pub file_bytes: u64,
}

impl Geometry {
    /// Payload bytes of a block.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> u32 {
        self.block_bytes - crate::format::BLOCK_HEADER_BYTES as u32
    }

    /// Blocks of all groups together.
    #[must_use]
    pub fn capacity_blocks(&self) -> u64 {
        u64::from(self.groups) * self.blocks_per_group
    }

    /// Log sequence number of the log that holds `block`; the first is 1.
    #[must_use]
    pub fn log_seq(&self, block: StreamBlock) -> u64 {
        block / self.blocks_per_group + 1
    }

    /// Group (from 0) that holds `block`.
    #[must_use]
    pub fn group(&self, block: StreamBlock) -> u32 {
        (block / self.blocks_per_group % u64::from(self.groups)) as u32
    }

    /// First byte of `block` in the device's space.
    #[must_use]
    pub fn address(&self, block: StreamBlock) -> u64 {
        u64::from(self.group(block)) * self.file_bytes
            + self.header_bytes
            + block % self.blocks_per_group * u64::from(self.block_bytes)
    }

    /// Blocks from `block` to the end of its log.
    #[must_use]
    pub fn left_in_log(&self, block: StreamBlock) -> u64 {
        self.blocks_per_group - block % self.blocks_per_group
    }

    /// The first block that may *not* be written while the checkpoint position is `checkpoint`:
    /// a log is reused only when the checkpoint has passed the whole of its former content.
    #[must_use]
    pub fn reuse_limit(&self, checkpoint: StreamBlock) -> StreamBlock {
        (checkpoint / self.blocks_per_group + u64::from(self.groups)) * self.blocks_per_group
    }

    /// The first block after `block` (inclusive) at which a write may begin.
    #[must_use]
    pub fn round_up(&self, block: StreamBlock) -> StreamBlock {
        block.next_multiple_of(u64::from(self.seal_blocks))
    }

    /// The address of byte `offset` of `block`'s payload.
    #[must_use]
    pub fn rba(&self, block: StreamBlock, offset: u32) -> Rba {
        Rba {
            log_seq: self.log_seq(block),
            block: (block % self.blocks_per_group) as u32,
            offset: offset as u16,
        }
    }

    /// The block that an address lies in; `None` for an address that this log cannot have.
    #[must_use]
    pub fn stream_block(&self, rba: Rba) -> Option<StreamBlock> {
        let before = rba
            .log_seq
            .checked_sub(1)?
            .checked_mul(self.blocks_per_group)?;
        let fits =
            u64::from(rba.block) < self.blocks_per_group && u32::from(rba.offset) <= self.payload();
        if fits {
            before.checked_add(u64::from(rba.block))
        } else {
            None
        }
    }

    /// The longest record that is accepted, bytes of payload: an eighth of the log buffer or a
    /// quarter of a log, whichever is less.
    #[must_use]
    pub fn max_record(&self, ring_blocks: u64) -> u64 {
        let blocks = (ring_blocks / 8).min(self.blocks_per_group / 4).max(1);
        (blocks * u64::from(self.payload())).min(1 << 30)
            - crate::format::RECORD_HEADER_BYTES as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Geometry {
        Geometry {
            block_bytes: 512,
            seal_blocks: 2,
            groups: 3,
            blocks_per_group: 10,
            header_bytes: 4096,
            file_bytes: 4096 + 10 * 512,
        }
    }

    #[test]
    fn blocks_go_round_the_groups() {
        let g = small();
        assert_eq!((g.log_seq(0), g.group(0), g.address(0)), (1, 0, 4096));
        assert_eq!((g.log_seq(29), g.group(29)), (3, 2));
        assert_eq!((g.log_seq(30), g.group(30), g.address(30)), (4, 0, 4096));
        assert_eq!(g.address(11), g.file_bytes + 4096 + 512);
        assert_eq!(g.left_in_log(19), 1);
    }

    #[test]
    fn a_log_is_reused_only_when_the_checkpoint_has_passed_all_of_it() {
        let g = small();
        assert_eq!(g.reuse_limit(0), 30);
        assert_eq!(g.reuse_limit(9), 30);
        assert_eq!(g.reuse_limit(10), 40);
    }

    #[test]
    fn addresses_come_back() {
        let g = small();
        for block in [0, 1, 9, 10, 29, 30, 12_345] {
            assert_eq!(g.stream_block(g.rba(block, 7)), Some(block));
        }
        assert_eq!(
            g.stream_block(Rba {
                log_seq: 0,
                block: 0,
                offset: 0
            }),
            None
        );
        assert_eq!(
            g.stream_block(Rba {
                log_seq: 1,
                block: 10,
                offset: 0
            }),
            None
        );
        assert_eq!(
            g.stream_block(Rba {
                log_seq: u64::MAX,
                block: 1,
                offset: 0
            }),
            None
        );
    }

    #[test]
    fn the_longest_record_fills_its_blocks_with_its_header() {
        let header = crate::format::RECORD_HEADER_BYTES as u64;
        let g = Geometry {
            blocks_per_group: 400,
            ..small()
        };
        let payload = u64::from(g.payload());
        for (ring_blocks, blocks) in [(80, 10), (87, 10), (800, 100), (8000, 100), (1, 1)] {
            assert_eq!(g.max_record(ring_blocks) + header, blocks * payload);
        }
    }
}
