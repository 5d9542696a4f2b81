//! Looking for single records in the blocks of a log whose end is not believed: for tests of what a
//! power cut left.
//!
//! What lives here: [`LogBlocks`], which reads log files by a geometry and identities that were
//! written down elsewhere, so that neither control information nor a file has to be whole.
//! Invariants: files are opened only to be read; a file that is missing or has another size is read
//! as one without blocks; nothing that is found makes it fail. What recovery would return is the
//! business of [`Inspection`](super::Inspection).

use super::options::Paths;
use crate::format::{
    BLOCK_HEADER_BYTES, BlockHeader, LifeId, LogId, RAW_LOG_AT, Summer, encode_record_header,
};
use crate::group::{Geometry, StreamBlock};
use device::file::Directory;
use device::{FileSet, LogDevice};
use std::path::Path;

/// Blocks are searched in pieces of this many bytes.
const CHUNK_BYTES: u64 = 1 << 20;
/// Unit in which a record is compared with what is found. No two units of the records that are
/// looked for are alike.
const PIECE_BYTES: usize = 16;

/// What was found in the place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFound {
    /// Each of its blocks is whole and holds it.
    Whole,
    /// A block of it is not there: in its place is what was there before.
    Missing,
    /// A part of a block is there.
    Torn,
    /// A whole block of another place, or with another content.
    Foreign,
}

/// The blocks of a log.
pub struct LogBlocks {
    geometry: Geometry,
    life: LifeId,
    summer: Summer,
    space: LogSpace,
    /// The block that was read last.
    block: Option<StreamBlock>,
    bytes: Vec<u8>,
}

/// Where the blocks are.
enum LogSpace {
    /// In files, by group; `None` for one that cannot be read.
    Files(Vec<Option<FileSet>>),
    /// On a raw device; `None` where that cannot be read.
    Device(Option<FileSet>),
}

impl LogBlocks {
    /// The blocks of the log `log_id`, as its life `life` wrote them, in a directory.
    #[must_use]
    pub fn open(
        directory: &Directory,
        geometry: Geometry,
        log_id: LogId,
        life: LifeId,
    ) -> LogBlocks {
        let open =
            |name: String| FileSet::open_read_only_at(directory, &[name], geometry.file_bytes).ok();
        let names = Paths::log_names(geometry.groups);
        let files = names.into_iter().map(open).collect();
        LogBlocks::of(LogSpace::Files(files), geometry, log_id, life)
    }

    /// The same on a raw device.
    #[must_use]
    pub fn open_device(path: &Path, geometry: Geometry, log_id: LogId, life: LifeId) -> LogBlocks {
        let space = LogSpace::Device(device::raw::read_only(path).ok());
        LogBlocks::of(space, geometry, log_id, life)
    }

    fn of(space: LogSpace, geometry: Geometry, log_id: LogId, life: LifeId) -> LogBlocks {
        LogBlocks {
            geometry,
            life,
            summer: Summer::of_life(log_id, Some(life)),
            space,
            block: None,
            bytes: vec![0; geometry.block_bytes as usize],
        }
    }

    /// Reads `out.len()` bytes from `block` on, as far as one file holds them. False where that
    /// cannot be read.
    fn read(&self, block: StreamBlock, out: &mut [u8]) -> bool {
        let address = self.geometry.address(block);
        let group = self.geometry.group(block);
        match &self.space {
            LogSpace::Files(files) => files.get(group as usize).is_some_and(|file| {
                let at = address - u64::from(group) * self.geometry.file_bytes;
                file.as_ref().is_some_and(|file| file.read(at, out).is_ok())
            }),
            LogSpace::Device(device) => device
                .as_ref()
                .is_some_and(|device| device.read(RAW_LOG_AT + address, out).is_ok()),
        }
    }

    /// Looks for a record of these bytes at `offset` of the payload of `block`; with the first
    /// block of it that is not whole.
    pub fn record(
        &mut self,
        block: StreamBlock,
        offset: u32,
        record: &[u8],
    ) -> (RecordFound, StreamBlock) {
        let header = encode_record_header(record.len() as u32);
        let expected = [&header[..], record].concat();
        let payload = self.geometry.payload() as usize;
        let (mut rest, mut offset, mut at) = (&expected[..], offset as usize, block);
        while !rest.is_empty() {
            let here = payload.saturating_sub(offset).min(rest.len());
            if here == 0 {
                return (RecordFound::Foreign, at);
            }
            let (part, behind) = rest.split_at(here);
            let found = self.part(at, offset, part);
            if found != RecordFound::Whole {
                return (found, at);
            }
            (rest, offset, at) = (behind, 0, at + 1);
        }
        (RecordFound::Whole, block)
    }

    /// Looks for a part of a record in one block.
    fn part(&mut self, block: StreamBlock, offset: usize, expected: &[u8]) -> RecordFound {
        if self.block != Some(block) {
            let mut bytes = std::mem::take(&mut self.bytes);
            let readable = self.read(block, &mut bytes);
            self.bytes = bytes;
            self.block = readable.then_some(block);
            if !readable {
                return RecordFound::Missing;
            }
        }
        let there = self
            .bytes
            .get(BLOCK_HEADER_BYTES + offset..)
            .unwrap_or_default();
        let there = &there[..there.len().min(expected.len())];
        match BlockHeader::decode(&self.summer, &self.bytes) {
            Some(header) if self.is_it(&header, block) => match there == expected {
                true => RecordFound::Whole,
                false => RecordFound::Foreign,
            },
            // An earlier use of the place: nothing was written over it.
            Some(header) if self.is_earlier(&header, block) => RecordFound::Missing,
            Some(_) => RecordFound::Foreign,
            None if self.is_marked(block) || has_pieces(expected, there) => RecordFound::Torn,
            None => RecordFound::Missing,
        }
    }

    fn is_it(&self, header: &BlockHeader, block: StreamBlock) -> bool {
        header.stream_block == block && header.life == Some(self.life.mark())
    }

    fn is_earlier(&self, header: &BlockHeader, block: StreamBlock) -> bool {
        let capacity = self.geometry.capacity_blocks();
        header.stream_block < block && header.stream_block % capacity == block % capacity
    }

    /// The block that was read begins with the head of `block`, whatever its checksum is.
    fn is_marked(&self, block: StreamBlock) -> bool {
        BlockHeader::parse(&self.bytes).is_some_and(|header| self.is_it(&header, block))
    }

    /// The last whole block of this life from `from` on, up to where the log would be reused.
    #[must_use]
    pub fn last_whole(&self, from: StreamBlock) -> Option<StreamBlock> {
        let block_bytes = u64::from(self.geometry.block_bytes);
        let limit = from.saturating_add(self.geometry.capacity_blocks());
        let (mut at, mut last) = (from, None);
        let mut chunk = Vec::new();
        while at < limit {
            let most = (CHUNK_BYTES / block_bytes).max(1);
            let blocks = (limit - at).min(self.geometry.left_in_log(at)).min(most);
            chunk.resize((blocks * block_bytes) as usize, 0);
            if self.read(at, &mut chunk) {
                for (block, bytes) in (at..).zip(chunk.chunks_exact(block_bytes as usize)) {
                    let header = BlockHeader::decode(&self.summer, bytes);
                    if header.is_some_and(|header| self.is_it(&header, block)) {
                        last = Some(block);
                    }
                }
            }
            at += blocks;
        }
        last
    }
}

/// Whether pieces of `expected` are in their places.
fn has_pieces(expected: &[u8], there: &[u8]) -> bool {
    let pairs = expected.chunks(PIECE_BYTES).zip(there.chunks(PIECE_BYTES));
    let whole = pairs.filter(|(wanted, _)| wanted.len() == PIECE_BYTES);
    whole.into_iter().any(|(wanted, found)| wanted == found)
}

#[cfg(test)]
mod tests;
