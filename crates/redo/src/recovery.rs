//! Recovery: reading a log from its checkpoint to its end, and distinguishing a torn tail from
//! damage.
//!
//! A block counts when its checksum is right, it names its own place in the stream, and it was
//! written by the incarnation that owns this place. Recovery stops at the first block that does
//! not. If a later block says that everything before it was durable when it was written
//! (`durable_upto`), or the control information proves that the log went on behind the gap, the gap
//! is damage and the log is not opened; otherwise it is the torn tail of what was never
//! acknowledged. A block of a known incarnation with the mark of another life was written by
//! another copy of the log, and is refused wherever it is found.
//!
//! Nothing is exposed before (1) what was read is durable and (2) the new incarnation is.

use crate::control::{ControlFile, ControlInfo, Incarnation, Position};
use crate::error::Error;
use crate::format::{BlockHeader, LifeId, LifeMark, Summer, le64};
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use crate::rba::Rba;
use crate::read_ahead::{Chunk, read_ahead};
use device::LogDevice;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

mod reading;
mod records;
mod recovered;
mod salvage;
pub(crate) use reading::{Reach, overwritten};
pub use reading::{RecordReader, RedoRecord};
use records::Records;
pub use recovered::Recovery;
pub use salvage::Salvage;
pub(crate) use salvage::{foresee, salvage};

/// How a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where it was closed, or where nothing was written behind the last whole batch.
    Clean,
    /// In a write that was never acknowledged.
    Torn,
}

/// What a scan found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scan {
    /// The first block that does not count.
    pub end: StreamBlock,
    /// How the log ends.
    pub how: End,
    /// Whole records from the checkpoint on.
    pub records: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// The first record.
    pub first: Option<Rba>,
    /// The last record.
    pub last: Option<Rba>,
}

/// What lies behind the first block that does not count.
enum Behind {
    /// Nothing that was durable: the log ends there.
    Nothing(End),
    /// Redo that was durable: the block is damaged.
    Durable {
        /// What should be in its place.
        expected: String,
        /// What proves it.
        found: String,
    },
}

/// A log as recovery reads it.
pub struct Reader<'a> {
    data: &'a dyn LogDevice,
    control: &'a ControlInfo,
    path: &'a Path,
    summer: Summer,
    planted: Planted,
}

const CHUNK_BYTES: u64 = 1 << 20;
const PAGE_BYTES: u64 = 4096;

impl<'a> Reader<'a> {
    /// A reader of the log in `data`, whose errors name `path`.
    #[must_use]
    pub fn new(
        data: &'a dyn LogDevice,
        control: &'a ControlInfo,
        path: &'a Path,
        planted: Planted,
    ) -> Reader<'a> {
        Reader {
            data,
            control,
            path,
            summer: Summer::of_life(control.log_id, control.current().life),
            planted,
        }
    }

    fn geometry(&self) -> &Geometry {
        &self.control.geometry
    }

    /// Reads from the checkpoint to the end and hands each whole record, with its address and the
    /// position behind it, to `visit`.
    ///
    /// # Errors
    /// Damage, or a device that fails.
    pub fn scan(&self, mut visit: impl FnMut(Rba, Position, &[u8])) -> Result<Scan, Error> {
        self.check_before_checkpoint()?;
        let limit = self.geometry().reuse_limit(self.control.checkpoint.block);
        let mut scan = self.read(limit, |rba, next, record| {
            visit(rba, next, record);
            ControlFlow::Continue(())
        })?;
        self.check_behind_limit(limit)?;
        // Blocks behind the gap before an incarnation speak of what lies before its first block,
        // so the end is judged before it is moved back over the gap.
        scan.how = self.judge_end(scan.end, limit)?;
        scan.end = self.before_gap(scan.end);
        Ok(scan)
    }

    /// Looks at the block before a checkpoint that lies between two blocks: it was durable, and its
    /// log is not reused before the checkpoint has left it, so a block that is not whole shows that
    /// the log file is damaged or older than the control information.
    fn check_before_checkpoint(&self) -> Result<(), Error> {
        let geometry = self.geometry();
        let Position { block, offset } = self.control.checkpoint;
        // Nothing was written into the gap before an incarnation.
        let gap = |i: &&Incarnation| i.previous_end < block && block <= i.first;
        let gap = self.control.incarnations.iter().find(gap);
        let behind = gap.map_or(block, |i| i.previous_end);
        let Some(before) = behind.checked_sub(1) else {
            return Ok(());
        };
        let same_log = geometry.log_seq(before) == geometry.log_seq(block);
        if offset > 0 || !same_log || self.planted.has(Bug::IgnoreKnownDurable) {
            return Ok(());
        }
        let mut bytes = vec![0; geometry.block_bytes as usize];
        self.data.read(geometry.address(before), &mut bytes)?;
        // An incarnation that is not kept any more has no entry to compare with.
        let kept = self.control.incarnation_of(before).is_some();
        let whole = match self.judge(before, &bytes)? {
            Some(_) => true,
            None if kept => false,
            None => BlockHeader::decode(&self.summer, &bytes)
                .is_some_and(|header| header.stream_block == before),
        };
        if whole {
            return Ok(());
        }
        let found = String::from("a block that does not count");
        Err(self.corrupt(before, "the durable block before the checkpoint", found))
    }

    /// Looks at the first place that this checkpoint does not let be reused: a block that was
    /// written there all the same shows a later checkpoint, even where the log seems to end before.
    fn check_behind_limit(&self, limit: StreamBlock) -> Result<(), Error> {
        let geometry = self.geometry();
        let mut bytes = vec![0; geometry.block_bytes as usize];
        self.data.read(geometry.address(limit), &mut bytes)?;
        match BlockHeader::decode(&self.summer, &bytes) {
            Some(header)
                if header.stream_block >= limit && !self.planted.has(Bug::IgnoreLaterUse) =>
            {
                let found = format!("block {} of a later use", header.stream_block);
                Err(self.corrupt(limit, "control information as new as the log", found))
            }
            _ => Ok(()),
        }
    }

    /// Reads from the checkpoint to the first block that does not count, at most to `limit`,
    /// without judging what lies behind; less when `visit` breaks off, which then gets no further
    /// record.
    fn read(
        &self,
        limit: StreamBlock,
        mut visit: impl FnMut(Rba, Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<Scan, Error> {
        let checkpoint = self.control.checkpoint;
        let mut records = Records::new(*self.geometry(), checkpoint, self.planted);
        let mut problem = None;
        let wanted = Cell::new(true);
        let mut visit = |rba, next, record: &[u8]| {
            if wanted.get() {
                wanted.set(visit(rba, next, record).is_continue());
            }
        };
        let from = checkpoint.block;
        let end = self.walk(from, limit, |block, bytes| match self.judge(block, bytes) {
            Ok(Some(header)) => match records.block(block, &header, bytes, &mut visit) {
                Ok(()) => wanted.get(),
                Err(what) => {
                    problem = Some(self.corrupt(block, "records that follow each other", what));
                    false
                }
            },
            Ok(None) => self.in_incarnation_gap(block) && !self.planted.has(Bug::StopAtGap),
            Err(error) => {
                problem = Some(error);
                false
            }
        })?;
        if let Some(error) = problem {
            return Err(error);
        }
        Ok(Scan {
            end,
            how: End::Clean,
            records: records.count,
            bytes: records.bytes,
            first: records.first,
            last: records.last,
        })
    }

    /// Calls `each` with every block of `from..limit` until it says no; returns that block.
    fn walk(
        &self,
        from: StreamBlock,
        limit: StreamBlock,
        mut each: impl FnMut(StreamBlock, &[u8]) -> bool,
    ) -> Result<StreamBlock, Error> {
        let geometry = *self.geometry();
        let block_bytes = u64::from(geometry.block_bytes);
        let most = (CHUNK_BYTES / block_bytes).max(1);
        let mut next = from;
        let plan = std::iter::from_fn(move || {
            let start = next;
            let left = limit.checked_sub(start).filter(|left| *left > 0)?;
            let addr = geometry.address(start);
            // After a first short chunk all begin where a device can read without a copy.
            let odd = addr % PAGE_BYTES / block_bytes;
            let most = if odd > 0 {
                PAGE_BYTES / block_bytes - odd
            } else {
                most
            };
            let blocks = left.min(geometry.left_in_log(start)).min(most);
            next += blocks;
            let len = (blocks * block_bytes) as usize;
            Some(Chunk { addr, len })
        });
        let mut at = from;
        read_ahead(self.data, plan, |chunk| {
            chunk.chunks_exact(block_bytes as usize).all(|bytes| {
                let more = each(at, bytes);
                at += u64::from(more);
                more
            })
        })?;
        Ok(at)
    }

    /// The header, when the block counts; `None` when it does not; an error when it shows that
    /// the control information is older than the log, or that another copy of it wrote the block.
    fn judge(&self, block: StreamBlock, bytes: &[u8]) -> Result<Option<BlockHeader>, Error> {
        let blind = self.planted.has(Bug::SkipBlockChecksum);
        let unsummed = || blind.then(|| BlockHeader::parse(bytes)).flatten();
        let summed = BlockHeader::decode(&self.summer, bytes);
        let Some(header) = summed.or_else(unsummed) else {
            return Ok(None);
        };
        let capacity = self.geometry().capacity_blocks();
        let same_slot = header.stream_block % capacity == block % capacity;
        let later_use = same_slot && header.stream_block > block;
        if later_use && !self.planted.has(Bug::IgnoreLaterUse) {
            let found = format!("block {} of a later use", header.stream_block);
            return Err(self.corrupt(block, "control information as new as the log", found));
        }
        if header.stream_block != block && !self.planted.has(Bug::AcceptStaleBlock) {
            return Ok(None);
        }
        let newer = header.incarnation > self.control.current().number;
        if newer && !self.planted.has(Bug::IgnoreNewerIncarnation) {
            let found = format!("incarnation {}", header.incarnation);
            return Err(self.corrupt(block, "control information as new as the log", found));
        }
        self.check_life(block, &header)?;
        let owner = self.control.incarnation_of(block);
        let owned = owner.is_some_and(|i| i.number == header.incarnation)
            || self.planted.has(Bug::AcceptOldIncarnation);
        Ok(owned.then_some(header))
    }

    /// Refuses a block whose incarnation is known here with another life.
    fn check_life(&self, block: StreamBlock, header: &BlockHeader) -> Result<(), Error> {
        let Some(known) = self.control.incarnation(header.incarnation) else {
            return Ok(());
        };
        let expected = known.life.map(LifeId::mark);
        if header.life == expected || self.planted.has(Bug::IgnoreLife) {
            return Ok(());
        }
        let text = |life: Option<LifeMark>| {
            life.map_or_else(|| String::from("none (version 1)"), |life| life.to_string())
        };
        Err(Error::MixedCopies {
            path: self.path.to_owned(),
            rba: self.geometry().rba(block, 0),
            incarnation: header.incarnation,
            expected: text(expected),
            found: text(header.life),
        })
    }

    /// `block` lies between the end of an incarnation and the first block of the next.
    fn in_incarnation_gap(&self, block: StreamBlock) -> bool {
        let gap = |i: &Incarnation| i.previous_end <= block && block < i.first;
        self.control.incarnations.iter().any(gap)
    }

    /// A scan that ended on the first block of the current incarnation, having stepped over the
    /// gap before it, ended where the incarnation before did.
    fn before_gap(&self, end: StreamBlock) -> StreamBlock {
        let current = self.control.current();
        if end == current.first {
            current.previous_end.max(self.control.checkpoint.block)
        } else {
            end
        }
    }

    /// Distinguishes a torn tail from damage, and a torn tail from a clean end.
    fn judge_end(&self, end: StreamBlock, limit: StreamBlock) -> Result<End, Error> {
        match self.look_behind(end, limit)? {
            Behind::Nothing(how) => Ok(how),
            Behind::Durable { expected, found } => Err(self.corrupt(end, &expected, found)),
        }
    }

    /// Looks for proof that redo behind `end`, the first block that does not count, was durable.
    fn look_behind(&self, end: StreamBlock, limit: StreamBlock) -> Result<Behind, Error> {
        let known = match self.planted.has(Bug::IgnoreKnownDurable) {
            true => (self.control.closed_at.unwrap_or(0)).max(self.control.current().previous_end),
            false => self.control.known_durable(),
        };
        if end < known {
            let known = self.geometry().rba(known, 0);
            return Ok(Behind::Durable {
                expected: format!("redo, proved durable up to {known} by control information"),
                found: String::from("a block that does not count"),
            });
        }
        let mut how = End::Clean;
        let mut proof = None;
        self.walk(end.min(limit), limit, |block, bytes| {
            match self.judge(block, bytes) {
                Ok(Some(header)) if self.proves(&header, end) => proof = Some(Ok(header)),
                Ok(Some(_)) => how = End::Torn,
                Ok(None) => match BlockHeader::decode(&self.summer, bytes) {
                    // Wherever a block lies, what it says of those before it holds.
                    Some(header) if self.proves(&header, end) => proof = Some(Ok(header)),
                    Some(_) => {}
                    None if begins_as(block, bytes) => how = End::Torn,
                    None => {}
                },
                Err(error) => proof = Some(Err(error)),
            }
            proof.is_none()
        })?;
        match proof {
            None => Ok(Behind::Nothing(how)),
            Some(Err(error)) => Err(error),
            Some(Ok(header)) => Ok(Behind::Durable {
                expected: String::from("a block that counts"),
                found: format!(
                    "block {}, written when all before {} was durable",
                    header.stream_block, header.durable_upto
                ),
            }),
        }
    }

    /// A block with this header proves that redo behind `end` was durable. What incarnations before
    /// a salvage wrote proves nothing: its owner gave up what they had made durable.
    fn proves(&self, header: &BlockHeader, end: StreamBlock) -> bool {
        header.durable_upto > end && header.incarnation >= self.control.salvaged
    }

    fn corrupt(&self, block: StreamBlock, expected: &str, found: String) -> Error {
        Error::Corrupt {
            path: self.path.to_owned(),
            rba: self.geometry().rba(block, 0),
            expected: expected.to_owned(),
            found,
        }
    }
}

/// The bytes begin as `block` does, whatever follows.
fn begins_as(block: StreamBlock, bytes: &[u8]) -> bool {
    bytes
        .first_chunk::<16>()
        .is_some_and(|head| head.starts_with(b"RdBk") && le64(head, 8) == block)
}

/// Recovers the log: flushes what may still be in caches, of the control file too, finds the end,
/// and makes a new incarnation durable, whose identity `life` is. A log of version 1 becomes one of
/// [`crate::format::FORMAT_VERSION`] with that.
///
/// # Errors
/// Damage, or a device that fails; nothing was exposed then.
pub fn recover(
    data: &Arc<dyn LogDevice>,
    control: &mut ControlFile,
    path: &Path,
    life: LifeId,
    planted: Planted,
) -> Result<Recovery, Error> {
    control.plant(planted);
    if !planted.has(Bug::SkipTailFlushFence) {
        data.settle().map_err(|source| Error::TailFlush {
            path: path.to_owned(),
            source,
        })?;
    }
    if !planted.has(Bug::SkipControlFlushFence) {
        control.settle()?;
    }
    let scan = Reader::new(&**data, control.info(), path, planted).scan(|_, _, _| {})?;
    let before = control.info().clone();
    let begin = |info: &mut ControlInfo| {
        info.closed_at = None;
        info.begin_incarnation(scan.end, life).map(|_| ())
    };
    if planted.has(Bug::SkipIncarnationFence) {
        control.change_in_memory(begin)?;
    } else {
        control.update(begin)?;
    }
    Ok(Recovery {
        data: Arc::clone(data),
        control: before,
        path: path.to_owned(),
        scan,
        planted,
    })
}
