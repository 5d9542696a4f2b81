//! Control information (`redo.ctl`): what must be known before a block of the log is believed.
//!
//! Two copies on separate sectors, each with a generation and a checksum. An update writes one
//! copy, flushes, then writes the other and flushes: torn, the other copy still holds; damaged
//! later, or unreadable, the other copy holds the same. The copy with the higher generation is
//! believed, and written last.
//!
//! Invariants: the checkpoint position only grows, and so does the archived one while redo behind
//! damage is not given up; incarnation numbers and first blocks grow.

use crate::error::Error;
use crate::format::{FORMAT_VERSION, LifeId, LogId, Summer};
use crate::format::{
    VERSION_OF_ARCHIVE, VERSION_OF_MEMBERS, VERSION_OF_RING, VERSION_WITHOUT_LIVES,
};
use crate::format::{is_readable_control, le16, le32, le64};
use crate::group::{Geometry, StreamBlock};
use crate::rba::Rba;

mod file;
mod place;
mod ring;
mod sense;
mod table;
pub use file::ControlFile;
#[cfg_attr(feature = "loom", allow(unused_imports))]
pub(crate) use place::{Carried, Carrier};
pub use ring::{RingKind, RingTable};
pub use sense::CopyProblem;
use sense::{plausible, possible};
pub use table::{MEMBERS_MAX, MemberTable};

/// Bytes of one copy. A multiple of every sector size in use.
pub const COPY_BYTES: usize = 16_384;
/// Bytes of `redo.ctl`.
pub const CONTROL_BYTES: u64 = 2 * COPY_BYTES as u64;
/// Incarnations that a copy can hold.
pub const MAX_INCARNATIONS: usize = (COPY_BYTES - HEAD_BYTES - 4) / INCARNATION_BYTES;
/// Incarnations that a copy of version 1 could hold.
const MAX_WITHOUT_LIVES: usize = (COPY_BYTES - HEAD_BYTES - 4) / BYTES_WITHOUT_LIFE;

const MAGIC: [u8; 8] = *b"REDOCTL\0";
const HEAD_BYTES: usize = 128;
const INCARNATION_BYTES: usize = 40;
const BYTES_WITHOUT_LIFE: usize = 24;
const NONE: u64 = u64::MAX;
const MEMBERS_AT: usize = 108;
const ARCHIVED_AT: usize = 116;

/// A life of the log between two recoveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incarnation {
    /// Its number; each is one more than the one before.
    pub number: u32,
    /// Where the incarnation before it ended: the first block that recovery did not accept.
    pub previous_end: StreamBlock,
    /// Its first block: `previous_end` rounded up to where a write may begin.
    pub first: StreamBlock,
    /// What distinguishes it from an incarnation of the same number in a copy of the log. `None`
    /// when version 1 wrote it, and in a new log, where nothing was written yet.
    pub life: Option<LifeId>,
}

/// Where recovery begins: every record before it has been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// Block of the stream.
    pub block: StreamBlock,
    /// Byte of its payload.
    pub offset: u16,
}

impl Position {
    /// The position of an address; `None` for an address that this log cannot have.
    pub(crate) fn of(geometry: &Geometry, rba: Rba) -> Option<Position> {
        geometry.stream_block(rba).map(|block| Position {
            block,
            offset: rba.offset,
        })
    }
}

/// What the control file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlInfo {
    /// Version of the format in which it is kept.
    pub version: u8,
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
    /// All blocks before this one were durable when this information was written.
    pub durable: StreamBlock,
    /// Number of the incarnation that was begun where redo behind damage was given up last; 0 when
    /// none was. Blocks of earlier incarnations prove nothing of what lies behind its first block.
    pub salvaged: u32,
    /// The members of the log, where it has several.
    pub members: Option<MemberTable>,
    /// The ring of the log, where it has one.
    pub ring: Option<RingTable>,
    /// In archive mode: every record before this position has been archived durably, and no log
    /// that holds a later one is reused. `None` for a log that is not in archive mode.
    pub archived: Option<Position>,
    /// Incarnations whose blocks may still be needed, oldest first; never empty.
    pub incarnations: Vec<Incarnation>,
}

impl ControlInfo {
    /// Whether it says the same as `other`, whichever members' they are.
    #[must_use]
    pub(crate) fn states_as(&self, other: &ControlInfo) -> bool {
        let of_all = |info: &ControlInfo| {
            let mut info = info.clone();
            info.members = info.members.map(MemberTable::of_all);
            info
        };
        of_all(self) == of_all(other)
    }

    /// Of a new log.
    #[must_use]
    pub fn new(log_id: LogId, geometry: Geometry) -> ControlInfo {
        ControlInfo {
            version: FORMAT_VERSION,
            log_id,
            geometry,
            generation: 1,
            checkpoint: Position::default(),
            closed_at: Some(0),
            durable: 0,
            salvaged: 0,
            members: None,
            ring: None,
            archived: None,
            incarnations: vec![Incarnation {
                number: 1,
                previous_end: 0,
                first: 0,
                life: None,
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

    /// The incarnation of this number, if it is kept.
    #[must_use]
    pub fn incarnation(&self, number: u32) -> Option<Incarnation> {
        let found = self
            .incarnations
            .binary_search_by_key(&number, |i| i.number);
        found.ok().and_then(|at| self.incarnations.get(at)).copied()
    }

    /// All blocks before this one were durable: this information proves it, whatever the log's
    /// blocks look like. The rest may be durable too.
    #[must_use]
    pub fn known_durable(&self) -> StreamBlock {
        let Position { block, offset } = self.checkpoint;
        // A position inside a block is given only when the whole block is durable.
        let checkpoint = block + u64::from(offset > 0);
        checkpoint
            .max(self.closed_at.unwrap_or(0))
            .max(self.current().previous_end)
            .max(self.durable)
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

    /// Begins a new incarnation where recovery ended, in the version that this program writes.
    ///
    /// # Errors
    /// When the list is full: the checkpoint has to move on first.
    pub fn begin_incarnation(
        &mut self,
        end: StreamBlock,
        life: LifeId,
    ) -> Result<Incarnation, Error> {
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
        let keep_from = self.kept_from().block;
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
            life: Some(life),
        };
        self.version = self.own_version();
        self.durable = self.durable.max(previous_end);
        self.incarnations.push(incarnation);
        Ok(incarnation)
    }

    /// Enters archive mode with what was archived so far, notes that more was, or leaves archive
    /// mode.
    pub fn set_archived(&mut self, archived: Option<Position>) {
        self.archived = archived;
        self.version = self.own_version();
    }

    /// The version in which this program writes such information.
    fn own_version(&self) -> u8 {
        match (self.archived, &self.members) {
            _ if self.ring.is_some() => VERSION_OF_RING,
            (Some(_), _) => VERSION_OF_ARCHIVE,
            (None, Some(_)) => VERSION_OF_MEMBERS,
            (None, None) => FORMAT_VERSION,
        }
    }

    /// Every record from here on is kept: the checkpoint or, in archive mode, what was archived,
    /// if that is less. Logs that lie before it may be reused.
    #[must_use]
    pub fn kept_from(&self) -> Position {
        let archived = self.archived.unwrap_or(self.checkpoint);
        archived.min(self.checkpoint)
    }

    /// Gives up the redo behind damage at `end`: begins an incarnation there, and takes back what
    /// this information proves of the blocks behind. What was archived of them is not part of the
    /// log any more, so archiving goes on at `end`.
    ///
    /// # Errors
    /// As [`ControlInfo::begin_incarnation`].
    pub fn give_up_behind(&mut self, end: StreamBlock, life: LifeId) -> Result<(), Error> {
        (self.closed_at, self.durable) = (None, 0);
        let end_of_redo = Position {
            block: end,
            offset: 0,
        };
        self.archived = self.archived.map(|archived| archived.min(end_of_redo));
        let begun = self.begin_incarnation(end, life)?;
        self.salvaged = begun.number;
        Ok(())
    }

    /// One copy's bytes, in the version that it names.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(COPY_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[self.version, 0, 0, 0]);
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
        out.extend_from_slice(&[0; 2]);
        let lives = self.version != VERSION_WITHOUT_LIVES;
        if lives {
            out.extend_from_slice(&self.durable.to_le_bytes());
            out.extend_from_slice(&self.salvaged.to_le_bytes());
        }
        if let Some(members) = &self.members {
            out.extend_from_slice(&members.encode());
        }
        if let Some(ring) = &self.ring {
            out.extend_from_slice(&ring.encode(self.archived.is_some()));
        }
        if let Some(archived) = &self.archived {
            out.resize(ARCHIVED_AT, 0);
            out.extend_from_slice(&archived.block.to_le_bytes());
            out.extend_from_slice(&archived.offset.to_le_bytes());
        }
        out.resize(HEAD_BYTES, 0);
        for i in &self.incarnations {
            out.extend_from_slice(&i.number.to_le_bytes());
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&i.previous_end.to_le_bytes());
            out.extend_from_slice(&i.first.to_le_bytes());
            if lives {
                out.extend_from_slice(&i.life.map_or([0; 16], LifeId::bytes));
            }
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
        let version = match bytes.get(8) {
            Some(&version) if is_readable_control(version) => version,
            Some(&other) => return Err(CopyProblem::Version(other)),
            None => return Err(CopyProblem::Damaged),
        };
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
        let (each, most) = match version {
            VERSION_WITHOUT_LIVES => (BYTES_WITHOUT_LIFE, MAX_WITHOUT_LIVES),
            _ => (INCARNATION_BYTES, MAX_INCARNATIONS),
        };
        if count == 0 || count > most || !plausible(&geometry) {
            return Err(CopyProblem::Damaged);
        }
        let incarnations = (copy[HEAD_BYTES..].chunks_exact(each).take(count))
            .map(incarnation)
            .collect();
        let closed = le64(copy, 84);
        let (ring, archives) = ring_and_archive(version, &copy[MEMBERS_AT..ARCHIVED_AT])?;
        let info = ControlInfo {
            version,
            log_id,
            geometry,
            generation: le64(copy, 68),
            checkpoint: Position {
                block: le64(copy, 76),
                offset: le16(copy, 92),
            },
            closed_at: (closed != NONE).then_some(closed),
            durable: match version {
                VERSION_WITHOUT_LIVES => 0,
                _ => le64(copy, 96),
            },
            salvaged: match version {
                VERSION_WITHOUT_LIVES => 0,
                _ => le32(copy, 104),
            },
            members: members(version, &copy[MEMBERS_AT..ARCHIVED_AT])?,
            ring,
            archived: archives.then(|| Position {
                block: le64(copy, ARCHIVED_AT),
                offset: le16(copy, ARCHIVED_AT + 8),
            }),
            incarnations,
        };
        possible(&info).then_some(info).ok_or(CopyProblem::Damaged)
    }
}

/// The ring of a copy, if the log has one, and whether it says what is archived.
fn ring_and_archive(version: u8, table: &[u8]) -> Result<(Option<RingTable>, bool), CopyProblem> {
    if version != VERSION_OF_RING {
        return Ok((None, version == VERSION_OF_ARCHIVE));
    }
    let (ring, archives) = RingTable::decode(table).ok_or(CopyProblem::Damaged)?;
    Ok((Some(ring), archives))
}

/// The member table of a copy, if the log has members.
fn members(version: u8, table: &[u8]) -> Result<Option<MemberTable>, CopyProblem> {
    let there = match version {
        VERSION_OF_MEMBERS => true,
        VERSION_OF_ARCHIVE => table.iter().any(|byte| *byte != 0),
        _ => false,
    };
    let decoded = || MemberTable::decode(table).ok_or(CopyProblem::Damaged);
    there.then(decoded).transpose()
}

/// Decodes an entry, of 24 bytes in version 1.
fn incarnation(entry: &[u8]) -> Incarnation {
    Incarnation {
        number: le32(entry, 0),
        previous_end: le64(entry, 8),
        first: le64(entry, 16),
        life: (entry.get(24..40))
            .and_then(|id| id.try_into().ok())
            .and_then(LifeId::from_bytes),
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests;
