//! Control information (`redo.ctl`): what must be known before a block of the log is believed.
//!
//! Two copies on separate sectors, each with a generation and a checksum. An update writes one
//! copy, flushes, then writes the other and flushes: torn, the other copy still holds; damaged
//! later, or unreadable, the other copy holds the same. The copy with the higher generation is
//! believed, and written last.
//!
//! Invariants: the checkpoint position only grows; incarnation numbers and first blocks grow.

use crate::error::Error;
use crate::format::{FORMAT_VERSION, LogId, Summer};
use crate::format::{le16, le32, le64};
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use device::LogDevice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod sense;
use sense::{plausible, possible};

/// Bytes of one copy. A multiple of every sector size in use.
pub const COPY_BYTES: usize = 16_384;
/// Bytes of `redo.ctl`.
pub const CONTROL_BYTES: u64 = 2 * COPY_BYTES as u64;
/// Incarnations that a copy can hold.
pub const MAX_INCARNATIONS: usize = (COPY_BYTES - HEAD_BYTES - 4) / INCARNATION_BYTES;

const MAGIC: [u8; 8] = *b"REDOCTL\0";
const HEAD_BYTES: usize = 128;
const INCARNATION_BYTES: usize = 24;
const NONE: u64 = u64::MAX;

/// A life of the log between two recoveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incarnation {
    /// Its number; each is one more than the one before.
    pub number: u32,
    /// Where the incarnation before it ended: the first block that recovery did not accept.
    pub previous_end: StreamBlock,
    /// Its first block: `previous_end` rounded up to where a write may begin.
    pub first: StreamBlock,
}

/// Where recovery begins: every record before it has been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// Block of the stream.
    pub block: StreamBlock,
    /// Byte of its payload.
    pub offset: u16,
}

/// What the control file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlInfo {
    /// The log's identity.
    pub log_id: LogId,
    /// Its shape.
    pub geometry: Geometry,
    /// Grows with each update.
    pub generation: u64,
    /// Where recovery begins.
    pub checkpoint: Position,
    /// Where a clean close ended; `None` while the log is open or after a crash.
    pub closed_at: Option<StreamBlock>,
    /// Incarnations whose blocks may still be needed, oldest first; never empty.
    pub incarnations: Vec<Incarnation>,
}

impl ControlInfo {
    /// Of a new log.
    #[must_use]
    pub fn new(log_id: LogId, geometry: Geometry) -> ControlInfo {
        ControlInfo {
            log_id,
            geometry,
            generation: 1,
            checkpoint: Position::default(),
            closed_at: Some(0),
            incarnations: vec![Incarnation {
                number: 1,
                previous_end: 0,
                first: 0,
            }],
        }
    }

    /// The current incarnation.
    #[must_use]
    pub fn current(&self) -> Incarnation {
        *self
            .incarnations
            .last()
            .expect("never empty, by construction and decoding")
    }

    /// The incarnation that wrote `block`; `None` for the gap before an incarnation's first block
    /// and for blocks older than all that are kept.
    #[must_use]
    pub fn incarnation_of(&self, block: StreamBlock) -> Option<Incarnation> {
        let index = self
            .incarnations
            .partition_point(|i| i.first <= block)
            .checked_sub(1)?;
        let next = self.incarnations.get(index + 1);
        let ended = next.is_some_and(|n| block >= n.previous_end);
        if ended {
            None
        } else {
            self.incarnations.get(index).copied()
        }
    }

    /// Begins a new incarnation where recovery ended.
    ///
    /// # Errors
    /// When the list is full: the checkpoint has to move on first.
    pub fn begin_incarnation(&mut self, end: StreamBlock) -> Result<Incarnation, Error> {
        let first = self.geometry.round_up(end);
        let number = self.current().number + 1;
        // An incarnation that wrote nothing that counts leaves no trace but the end before it.
        let mut previous_end = end;
        while let Some(last) = self.incarnations.last().copied() {
            if last.first < first {
                break;
            }
            previous_end = previous_end.min(last.previous_end);
            self.incarnations.pop();
        }
        let keep_from = self.checkpoint.block;
        while self
            .incarnations
            .get(1)
            .is_some_and(|next| next.first <= keep_from)
        {
            self.incarnations.remove(0);
        }
        if self.incarnations.len() >= MAX_INCARNATIONS {
            return Err(Error::TooManyIncarnations {
                kept: self.incarnations.len(),
            });
        }
        let incarnation = Incarnation {
            number,
            previous_end,
            first,
        };
        self.incarnations.push(incarnation);
        Ok(incarnation)
    }

    /// One copy's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(COPY_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[FORMAT_VERSION, 0, 0, 0]);
        out.extend_from_slice(&self.log_id.0);
        let g = &self.geometry;
        for value in [
            g.block_bytes,
            g.seal_blocks,
            g.groups,
            self.incarnations.len() as u32,
        ] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        for value in [
            g.blocks_per_group,
            g.header_bytes,
            g.file_bytes,
            self.generation,
            self.checkpoint.block,
            self.closed_at.unwrap_or(NONE),
        ] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        out.extend_from_slice(&self.checkpoint.offset.to_le_bytes());
        out.resize(HEAD_BYTES, 0);
        for i in &self.incarnations {
            out.extend_from_slice(&i.number.to_le_bytes());
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&i.previous_end.to_le_bytes());
            out.extend_from_slice(&i.first.to_le_bytes());
        }
        out.resize(COPY_BYTES - 4, 0);
        let crc = Summer::new(self.log_id).sum(&out, &[]);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes one copy.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<ControlInfo, CopyProblem> {
        if bytes.get(..8) != Some(&MAGIC) {
            return Err(CopyProblem::NotOurs);
        }
        match bytes.get(8) {
            Some(&FORMAT_VERSION) => {}
            Some(&other) => return Err(CopyProblem::Version(other)),
            None => return Err(CopyProblem::Damaged),
        }
        let copy: &[u8; COPY_BYTES] = bytes.try_into().map_err(|_| CopyProblem::Damaged)?;
        let mut id = [0_u8; 16];
        id.copy_from_slice(&copy[12..28]);
        let log_id = LogId(id);
        if Summer::new(log_id).sum(&copy[..COPY_BYTES - 4], &[]) != le32(copy, COPY_BYTES - 4) {
            return Err(CopyProblem::Damaged);
        }
        let geometry = Geometry {
            block_bytes: le32(copy, 28),
            seal_blocks: le32(copy, 32),
            groups: le32(copy, 36),
            blocks_per_group: le64(copy, 44),
            header_bytes: le64(copy, 52),
            file_bytes: le64(copy, 60),
        };
        let count = le32(copy, 40) as usize;
        if count == 0 || count > MAX_INCARNATIONS || !plausible(&geometry) {
            return Err(CopyProblem::Damaged);
        }
        let incarnations = (0..count)
            .map(|i| HEAD_BYTES + i * INCARNATION_BYTES)
            .map(|at| Incarnation {
                number: le32(copy, at),
                previous_end: le64(copy, at + 8),
                first: le64(copy, at + 16),
            })
            .collect();
        let closed = le64(copy, 84);
        let info = ControlInfo {
            log_id,
            geometry,
            generation: le64(copy, 68),
            checkpoint: Position {
                block: le64(copy, 76),
                offset: le16(copy, 92),
            },
            closed_at: (closed != NONE).then_some(closed),
            incarnations,
        };
        possible(&info).then_some(info).ok_or(CopyProblem::Damaged)
    }
}

/// Why a copy was not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyProblem {
    /// No control file of ours.
    NotOurs,
    /// Another version.
    Version(u8),
    /// The checksum is wrong, or it says what no log can be.
    Damaged,
}

/// The control file, open.
pub struct ControlFile {
    device: Arc<dyn LogDevice>,
    path: PathBuf,
    info: ControlInfo,
    /// The only copy that is believed; an update writes the other first. `None` when both copies
    /// say the same.
    good: Option<u64>,
    planted: Planted,
}

impl ControlFile {
    /// Reads the control file.
    ///
    /// # Errors
    /// When neither copy can be believed, with what is wrong with it.
    pub fn load(device: Arc<dyn LogDevice>, path: &Path) -> Result<ControlFile, Error> {
        let mut best: Option<ControlInfo> = None;
        let mut good = None;
        let mut problem = CopyProblem::Damaged;
        let mut unreadable = None;
        for copy in 0..2 {
            let mut bytes = vec![0_u8; COPY_BYTES];
            if let Err(error) = device.read(copy * COPY_BYTES as u64, &mut bytes) {
                unreadable = Some(error);
                continue;
            }
            match ControlInfo::decode(&bytes) {
                Ok(info) if best.as_ref().is_none_or(|b| b.generation < info.generation) => {
                    best = Some(info);
                    good = Some(copy);
                }
                Ok(info) if best.as_ref() == Some(&info) => good = None,
                Ok(_) => {}
                Err(CopyProblem::Damaged) => {}
                Err(other) => problem = other,
            }
        }
        let path = path.to_owned();
        if let (None, Some(error)) = (&best, unreadable) {
            return Err(error.into());
        }
        match (best, problem) {
            (Some(_), CopyProblem::Version(found)) => Err(Error::Version { path, found }),
            (Some(info), _) => Ok(ControlFile {
                device,
                path,
                info,
                good,
                planted: Planted::none(),
            }),
            (None, CopyProblem::NotOurs) => Err(Error::NotALog { path }),
            (None, CopyProblem::Version(found)) => Err(Error::Version { path, found }),
            (None, CopyProblem::Damaged) => Err(Error::ControlDamaged { path }),
        }
    }

    /// Writes the first control information of a new log.
    ///
    /// # Errors
    /// When the device fails.
    pub fn create(
        device: Arc<dyn LogDevice>,
        path: &Path,
        info: ControlInfo,
    ) -> Result<ControlFile, Error> {
        let mut file = ControlFile {
            device,
            path: path.to_owned(),
            info,
            good: None,
            planted: Planted::none(),
        };
        file.store()?;
        Ok(file)
    }

    /// What it holds.
    #[must_use]
    pub fn info(&self) -> &ControlInfo {
        &self.info
    }

    /// From now on it has this bug.
    pub(crate) fn plant(&mut self, planted: Planted) {
        self.planted = planted;
    }

    /// Makes durable what was read. A process that was killed between writing a copy and flushing
    /// it leaves that copy in a cache, where it is believed; without this an update would write
    /// the other copy, which is then the only durable one.
    ///
    /// # Errors
    /// When the device fails; nothing was changed then.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        let settled = self.device.settle();
        settled.map_err(|e| Error::control(&self.path, e))
    }

    /// Changes the information and makes the change durable before it returns. When that fails
    /// the change is not kept: what the disk holds is unknown, and the caller must not go on.
    ///
    /// # Errors
    /// Of the change itself, or of the device.
    pub fn update<R>(
        &mut self,
        change: impl FnOnce(&mut ControlInfo) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let before = self.info.clone();
        let result = change(&mut self.info).and_then(|value| {
            self.info.generation += 1;
            self.store().map(|()| value)
        });
        if result.is_err() {
            self.info = before;
        }
        result
    }

    /// Changes the information without making the change durable: a fence that a test removes.
    pub(crate) fn change_in_memory(
        &mut self,
        change: impl FnOnce(&mut ControlInfo) -> Result<(), Error>,
    ) -> Result<(), Error> {
        change(&mut self.info)
    }

    /// Writes both copies, one after the other. First the one that is not believed, so that a torn
    /// write never hits the only good one. Where both say the same, the generation decides: an
    /// update that was interrupted before had the same number, so what it left in doubt, though it
    /// may read well, is what this one writes first.
    fn store(&mut self) -> Result<(), Error> {
        let bytes = self.info.encode();
        let first = match self.good {
            Some(good) if self.planted.has(Bug::GoodCopyFirst) => good,
            Some(good) => 1 - good,
            None => self.info.generation % 2,
        };
        if self.planted.has(Bug::ControlCopiesTogether) {
            return self.store_together(&bytes);
        }
        for copy in [first, 1 - first] {
            device::queue::write_durable(&*self.device, copy * COPY_BYTES as u64, &bytes)
                .map_err(|e| Error::control(&self.path, e))?;
        }
        self.good = None;
        Ok(())
    }

    /// Both copies behind one flush: a fence that a test removes.
    #[cold]
    fn store_together(&self, bytes: &[u8]) -> Result<(), Error> {
        device::queue::write_durable(&*self.device, 0, &[bytes, bytes].concat())
            .map_err(|e| Error::control(&self.path, e))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    pub(crate) fn geometry() -> Geometry {
        Geometry {
            block_bytes: 512,
            seal_blocks: 4,
            groups: 3,
            blocks_per_group: 100,
            header_bytes: 4096,
            file_bytes: 4096 + 51_200,
        }
    }

    #[test]
    fn copies_come_back_and_no_flipped_bit_is_believed() {
        let mut info = ControlInfo::new(LogId([9; 16]), geometry());
        info.checkpoint = Position {
            block: 17,
            offset: 99,
        };
        info.begin_incarnation(30).expect("room");
        let bytes = info.encode();
        assert_eq!(ControlInfo::decode(&bytes), Ok(info));
        for byte in (0..COPY_BYTES).step_by(7).chain(0..HEAD_BYTES) {
            let mut bad = bytes.clone();
            bad[byte] ^= 0x10;
            assert!(ControlInfo::decode(&bad).is_err(), "byte {byte}");
        }
    }

    #[test]
    fn incarnations_own_their_blocks_and_nothing_between() {
        let mut info = ControlInfo::new(LogId([1; 16]), geometry());
        let second = info.begin_incarnation(30).expect("room");
        assert_eq!((second.number, second.first), (2, 32));
        let number = |b| info.incarnation_of(b).map(|i| i.number);
        assert_eq!((number(0), number(29)), (Some(1), Some(1)));
        assert_eq!((number(30), number(31), number(32)), (None, None, Some(2)));
    }

    #[test]
    fn an_incarnation_that_wrote_nothing_leaves_no_trace() {
        let mut info = ControlInfo::new(LogId([1; 16]), geometry());
        for _ in 0..10_000 {
            info.begin_incarnation(30).expect("room");
        }
        assert_eq!(info.incarnations.len(), 2);
        assert_eq!(info.current().number, 10_001);
        assert_eq!(info.incarnation_of(31), None);
    }

    #[test]
    fn incarnations_behind_the_checkpoint_are_dropped() {
        let mut info = ControlInfo::new(LogId([1; 16]), geometry());
        for life in 1..5_000_u64 {
            info.checkpoint.block = life * 8;
            info.begin_incarnation(life * 8 + 4).expect("room");
        }
        assert!(info.incarnations.len() < 4, "{:?}", info.incarnations.len());
        let mut stuck = ControlInfo::new(LogId([1; 16]), geometry());
        let full = (1..5_000_u64).find_map(|life| stuck.begin_incarnation(life * 8).err());
        assert!(
            matches!(full, Some(Error::TooManyIncarnations { .. })),
            "{full:?}"
        );
    }
}
