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
use crate::format::{BlockHeader, LifeId, LifeMark, Summer};
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use crate::rba::Rba;
use crate::read_ahead::{ALONE_BYTES, Chunk, Pace, read_ahead};
use device::LogDevice;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

mod before;
mod behind;
mod reading;
mod records;
mod recovered;
mod salvage;
pub use behind::DamageScan;
use behind::{Behind, begins_as};
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
    /// The last block before the checkpoint, where it is damaged. Recovery needs nothing of it.
    pub damaged_before: Option<Rba>,
}

impl Scan {
    /// What is not as it should be, although the log opens.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let before = self.damaged_before.map(|rba| {
            format!(
                "the block at RBA {rba}, the last one before the checkpoint, is damaged: recovery \
                 does not need it, so nothing is lost; the device lost or changed data that was \
                 durable, so check the device and copy the log to another one"
            )
        });
        before.into_iter().collect()
    }
}

/// A log as recovery reads it.
pub struct Reader<'a> {
    data: &'a dyn LogDevice,
    control: &'a ControlInfo,
    path: &'a Path,
    summer: Summer,
    damage_scan: DamageScan,
    planted: Planted,
}

const CHUNK_BYTES: u64 = 1 << 20;
const PAGE_BYTES: u64 = 4096;

impl<'a> Reader<'a> {
    /// A reader of the log in `data`, whose errors name `path`. Behind the end it reads the whole
    /// log.
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
            damage_scan: DamageScan::Whole,
            planted,
        }
    }

    /// This reader, reading so much behind the end.
    #[must_use]
    pub fn damage_scan(self, damage_scan: DamageScan) -> Reader<'a> {
        Reader {
            damage_scan,
            ..self
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
        let (mut scan, behind) = self.read_and_look_behind(|rba, next, record| {
            visit(rba, next, record);
            ControlFlow::Continue(())
        })?;
        // Blocks behind the gap before an incarnation speak of what lies before its first block,
        // so the end is judged before it is moved back over the gap.
        scan.how = match behind {
            Behind::Nothing(how) => how,
            Behind::Durable { expected, found } => {
                return Err(self.corrupt(scan.end, &expected, found));
            }
            Behind::Older { before } => {
                let expected = "the durable block before the checkpoint, or redo behind it";
                let found = String::from("a block that does not count");
                return Err(self.corrupt(before, expected, found));
            }
        };
        scan.end = self.before_gap(scan.end);
        Ok(scan)
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
        visit: impl FnMut(Rba, Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<Scan, Error> {
        self.read_on(&AtomicU64::new(limit), visit, |_, _| false)
    }

    /// As [`Reader::read`]; then, without a pause of the device, calls `behind` with the first
    /// block that does not count and with those after it, until it says no or `limit` is reached,
    /// which it may lower.
    fn read_on(
        &self,
        limit: &AtomicU64,
        mut visit: impl FnMut(Rba, Position, &[u8]) -> ControlFlow<()>,
        mut behind: impl FnMut(StreamBlock, &[u8]) -> bool,
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
        let mut end = None;
        let last = self.walk(checkpoint.block, limit, |block, bytes| {
            if end.is_some() {
                return behind(block, bytes);
            }
            match self.judge(block, bytes) {
                Ok(Some(header)) => match records.block(block, &header, bytes, &mut visit) {
                    Ok(()) => return wanted.get(),
                    Err(what) => {
                        problem = Some(self.corrupt(block, "records that follow each other", what));
                    }
                },
                Ok(None) if self.in_incarnation_gap(block) && !self.planted.has(Bug::StopAtGap) => {
                    return true;
                }
                Ok(None) => {
                    end = Some(block);
                    return behind(block, bytes);
                }
                Err(error) => problem = Some(error),
            }
            false
        })?;
        if let Some(error) = problem {
            return Err(error);
        }
        Ok(Scan {
            end: end.unwrap_or(last),
            how: End::Clean,
            records: records.count,
            bytes: records.bytes,
            first: records.first,
            last: records.last,
            damaged_before: None,
        })
    }

    /// Calls `each` with every block of `from..limit` until it says no; returns that block. `each`
    /// may lower the limit.
    fn walk(
        &self,
        from: StreamBlock,
        limit: &AtomicU64,
        mut each: impl FnMut(StreamBlock, &[u8]) -> bool,
    ) -> Result<StreamBlock, Error> {
        let geometry = *self.geometry();
        let block_bytes = u64::from(geometry.block_bytes);
        let most = (CHUNK_BYTES / block_bytes).max(1);
        let mut next = from;
        let plan = std::iter::from_fn(move || {
            let start = next;
            let left = limit
                .load(Relaxed)
                .checked_sub(start)
                .filter(|left| *left > 0)?;
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
        let blocks = most.min(limit.load(Relaxed).saturating_sub(from));
        let pace = Pace {
            alone_bytes: ALONE_BYTES,
            chunk_bytes: (blocks * block_bytes) as usize,
        };
        let mut at = from;
        read_ahead(self.data, plan, pace, |chunk| {
            chunk.chunks_exact(block_bytes as usize).all(|bytes| {
                let more = at < limit.load(Relaxed) && each(at, bytes);
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

    /// Whether these bytes are the block, and count.
    ///
    /// # Errors
    /// As [`Reader::scan`], for what shows that the control information is older than the log, or
    /// that another copy of it wrote the block.
    #[cfg_attr(feature = "loom", allow(dead_code))]
    pub(crate) fn counts(&self, block: StreamBlock, bytes: &[u8]) -> Result<bool, Error> {
        Ok(self.judge(block, bytes)?.is_some())
    }

    /// No block counts here, between two incarnations.
    #[cfg_attr(feature = "loom", allow(dead_code))]
    pub(crate) fn is_gap(&self, block: StreamBlock) -> bool {
        self.in_incarnation_gap(block)
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

    fn corrupt(&self, block: StreamBlock, expected: &str, found: String) -> Error {
        Error::Corrupt {
            path: self.path.to_owned(),
            rba: self.geometry().rba(block, 0),
            expected: expected.to_owned(),
            found,
        }
    }
}

/// Recovers the log: flushes what may still be in caches, of the control file too, finds the end,
/// reading behind it as `damage_scan` says, and makes a new incarnation durable, whose identity
/// `life` is. A log of version 1 becomes one of
/// [`crate::format::FORMAT_VERSION`] with that.
///
/// # Errors
/// Damage, or a device that fails; nothing was exposed then.
pub fn recover(
    data: &Arc<dyn LogDevice>,
    control: &mut ControlFile,
    path: &Path,
    (life, damage_scan): (LifeId, DamageScan),
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
    let reader = Reader::new(&**data, control.info(), path, planted).damage_scan(damage_scan);
    let scan = reader.scan(|_, _, _| {})?;
    let before = control.info().clone();
    let begin = |info: &mut ControlInfo| {
        info.closed_at = None;
        let begun = info.begin_incarnation(scan.end, life)?;
        if scan.damaged_before.is_some() {
            // Its end was judged here, for good: an opening after a crash has less to judge it by.
            info.salvaged = begun.number;
        }
        Ok(())
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
