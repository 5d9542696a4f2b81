//! Records one by one, in the order of the log: what recovery found, or what an open log holds.
//!
//! Invariants: no record is given before it is durable; every block is judged by its checksum, its
//! place and its incarnation after it was read, so that a block which the log writer overwrites
//! meanwhile is never taken for redo; an error comes where its record would have been.

use super::{CHUNK_BYTES, Reader, Records};
use crate::control::{ControlInfo, Position};
use crate::error::Error;
use crate::group::StreamBlock;
use crate::planted::{Bug, Planted};
use crate::rba::Rba;
use device::LogDevice;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// A record of the log, copied out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedoRecord {
    /// The record's address, as append returned it.
    pub rba: Rba,
    /// The position behind the record: reading goes on from there.
    pub next: Rba,
    /// The record's bytes.
    pub bytes: Vec<u8>,
}

/// How much of a log can be read at a moment.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    /// All blocks before this one are durable.
    pub(crate) end: StreamBlock,
    /// Blocks before this one may be overwritten at any time.
    pub(crate) reusable: StreamBlock,
}

/// Reads the records of a log in order, without changing it.
///
/// An iterator: of an open log it yields `None` at the durable position, and goes on when more is
/// durable. After an error it yields `None` for good.
pub struct RecordReader<'a> {
    data: Arc<dyn LogDevice>,
    control: ControlInfo,
    path: &'a Path,
    planted: Planted,
    reach: Box<dyn Fn() -> Reach + Send + 'a>,
    records: Records,
    /// The next block to be read.
    at: StreamBlock,
    chunk: Vec<u8>,
    /// Records that were read and not yet given.
    ready: VecDeque<RedoRecord>,
    /// What comes behind them.
    failed: Option<Error>,
    over: bool,
}

impl<'a> RecordReader<'a> {
    pub(crate) fn new(
        data: Arc<dyn LogDevice>,
        control: ControlInfo,
        path: &'a Path,
        from: Position,
        planted: Planted,
        reach: impl Fn() -> Reach + Send + 'a,
    ) -> RecordReader<'a> {
        RecordReader {
            data,
            records: Records::new(control.geometry, from, planted),
            control,
            path,
            planted,
            reach: Box::new(reach),
            at: from.block,
            chunk: Vec::new(),
            ready: VecDeque::new(),
            failed: None,
            over: false,
        }
    }

    /// Reads further durable blocks, as many as lie together; false where there are none.
    fn fill(&mut self) -> Result<bool, Error> {
        let geometry = self.control.geometry;
        let block_bytes = u64::from(geometry.block_bytes);
        let reach = (self.reach)();
        let left = reach.end.saturating_sub(self.at);
        let most = (CHUNK_BYTES / block_bytes).max(1);
        let blocks = left.min(geometry.left_in_log(self.at)).min(most);
        if blocks == 0 {
            return Ok(false);
        }
        self.chunk.resize((blocks * block_bytes) as usize, 0);
        self.data.read(geometry.address(self.at), &mut self.chunk)?;
        let chunk = std::mem::take(&mut self.chunk);
        for bytes in chunk.chunks_exact(block_bytes as usize) {
            self.block(bytes, reach)?;
            self.at += 1;
        }
        self.chunk = chunk;
        Ok(true)
    }

    /// Takes the records out of the bytes of the next block; `before` is how much could be read
    /// when it was read.
    fn block(&mut self, bytes: &[u8], before: Reach) -> Result<(), Error> {
        let block = self.at;
        let reader = Reader::new(&*self.data, &self.control, self.path, self.planted);
        let geometry = &self.control.geometry;
        let ready = &mut self.ready;
        let mut keep = |rba, next: Position, record: &[u8]| {
            ready.push_back(RedoRecord {
                rba,
                next: geometry.rba(next.block, next.offset.into()),
                bytes: record.to_vec(),
            });
        };
        let problem = match reader.judge(block, bytes) {
            Ok(Some(header)) => match self.records.block(block, &header, bytes, &mut keep) {
                Ok(()) => return Ok(()),
                Err(what) => reader.corrupt(block, "records that follow each other", what),
            },
            Ok(None) if reader.in_incarnation_gap(block) => return Ok(()),
            Ok(None) => {
                let found = String::from("a block that does not count");
                reader.corrupt(block, "a durable block", found)
            }
            Err(error) => error,
        };
        // Asked after the block was read: a writer that overwrites it was allowed to before.
        let reusable = match self.planted.has(Bug::ReachBeforeRead) {
            true => before.reusable,
            false => (self.reach)().reusable,
        };
        if block < reusable {
            return Err(overwritten(&self.control, block, reusable));
        }
        Err(problem)
    }
}

/// The error of a reader that comes too late for `block`.
pub(crate) fn overwritten(
    control: &ControlInfo,
    block: StreamBlock,
    reusable: StreamBlock,
) -> Error {
    let oldest = control.incarnations.first().map_or(0, |i| i.first);
    Error::Overwritten {
        asked: control.geometry.rba(block, 0),
        kept: control.geometry.rba(reusable.max(oldest), 0),
    }
}

impl Iterator for RecordReader<'_> {
    type Item = Result<RedoRecord, Error>;

    fn next(&mut self) -> Option<Result<RedoRecord, Error>> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Some(Ok(record));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            if self.over {
                return None;
            }
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => (self.over, self.failed) = (true, Some(error)),
            }
        }
    }
}

impl std::fmt::Debug for RecordReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordReader")
            .field("path", &self.path)
            .field("next", &self.control.geometry.rba(self.at, 0))
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use super::*;
    use crate::format::LogId;
    use crate::group::Geometry;
    use device::sim_disk::SimDisk;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// What a reader gets whose block is overwritten while it is read: before, nothing may be
    /// overwritten, and afterwards the block is another one's.
    fn read_late(planted: Planted) -> Error {
        let geometry = Geometry {
            block_bytes: 512,
            seal_blocks: 1,
            groups: 2,
            blocks_per_group: 8,
            header_bytes: 4096,
            file_bytes: 8192,
        };
        let control = ControlInfo::new(LogId([9; 16]), geometry);
        let disk = SimDisk::new(16_384, 512, false);
        let asked = AtomicU64::new(0);
        let reach = move || Reach {
            end: 1,
            reusable: 100 * asked.fetch_add(1, Ordering::SeqCst).min(1),
        };
        let from = Position::default();
        let path = Path::new("log");
        let mut reader = RecordReader::new(Arc::new(disk), control, path, from, planted, reach);
        let first = reader.next().expect("the block is durable");
        first.expect_err("it is not there any more")
    }

    #[test]
    fn a_block_that_is_overwritten_while_it_is_read_is_called_overwritten() {
        let found = read_late(Planted::none());
        assert!(matches!(found, Error::Overwritten { .. }), "{found}");
    }

    #[cfg(feature = "crash")]
    #[test]
    fn a_planted_reader_that_asks_too_early_calls_it_damaged() {
        let found = read_late(Planted::with(Bug::ReachBeforeRead));
        assert!(matches!(found, Error::Corrupt { .. }), "{found}");
    }
}
