//! Giving up redo behind damage: the owner of a damaged log decides to go on with what lies before
//! the first bad block, and without everything behind it.
//!
//! Invariants: nothing is changed but the control information, in one update; it is changed only
//! for the position that recovery would refuse, named by the caller. What lies behind stays in its
//! place until it is overwritten, and never counts again: its incarnations own no block there, and
//! what they say was durable proves nothing any more.
//!
//! What it must not know: who has the log open. Its caller holds the log's lock, without which the
//! damage might be a write of a living owner that is still under way.

use super::{Behind, Reader, Records, Scan};
use crate::control::{ControlFile, Position};
use crate::error::Error;
use crate::format::LifeId;
use crate::group::{Geometry, StreamBlock};
use crate::planted::Planted;
use crate::rba::Rba;
use device::LogDevice;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What was kept and what was given up when the redo behind damage was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvage {
    /// The damaged block: everything from here on was given up.
    pub at: Rba,
    /// Whole records from the checkpoint up to the damage, which were kept.
    pub kept_records: u64,
    /// The last of them; `None` where there is none.
    pub last_kept: Option<Rba>,
    /// The position up to which redo is known to have been written.
    pub lost_upto: Rba,
    /// Blocks from the damage up to there.
    pub lost_blocks: u64,
    /// Those of them that could still be read.
    pub readable_blocks: u64,
    /// Whole records in the blocks that could still be read. What the others held is not known.
    pub lost_records: u64,
}

impl std::fmt::Display for Salvage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unreadable = self.lost_blocks - self.readable_blocks;
        write!(
            f,
            "kept {} records before RBA {}; gave up {} blocks up to RBA {}: {} readable ones with {} \
             whole records, and {unreadable} whose content is not known",
            self.kept_records,
            self.at,
            self.lost_blocks,
            self.lost_upto,
            self.readable_blocks,
            self.lost_records,
        )?;
        if self.lost_blocks == 0 {
            f.write_str("; if redo followed the checkpoint, nothing of it is left")?;
        }
        Ok(())
    }
}

/// What giving up would keep and lose at this moment; `None` where recovery accepts the log.
/// Nothing is changed.
///
/// # Errors
/// [`Error::Salvage`] where nothing that recovery would give lies before the damage; what recovery
/// refuses for other reasons; a device that fails.
pub(crate) fn foresee(reader: &Reader<'_>) -> Result<Option<Salvage>, Error> {
    let Some(damage) = reader.damage()? else {
        return Ok(None);
    };
    let outcome = damage.outcome(reader.geometry());
    reader.check_something_kept(&damage, outcome.at)?;
    Ok(Some(outcome))
}

/// Damage that recovery refuses.
struct Damage {
    /// The damaged block.
    at: StreamBlock,
    /// What lies before it; its end is where redo is given up.
    scan: Scan,
    /// Behind the last block that is known to have been written.
    upto: StreamBlock,
    readable: u64,
    records: u64,
}

impl Damage {
    /// What is kept and lost when the redo from here on is given up.
    fn outcome(&self, geometry: &Geometry) -> Salvage {
        Salvage {
            at: geometry.rba(self.at, 0),
            kept_records: self.scan.records,
            last_kept: self.scan.last,
            lost_upto: geometry.rba(self.upto, 0),
            lost_blocks: self.upto - self.scan.end,
            readable_blocks: self.readable,
            lost_records: self.records,
        }
    }
}

impl Reader<'_> {
    /// Refuses damage in the block in which the checkpoint lies.
    fn check_something_kept(&self, damage: &Damage, asked: Rba) -> Result<(), Error> {
        let Position { block, offset } = self.control.checkpoint;
        if damage.scan.end != block || offset == 0 {
            return Ok(());
        }
        let why = "the damaged block is the one in which the checkpoint lies, so nothing that \
                   recovery would give lies before it: make a new log";
        Err(Error::Salvage {
            path: self.path.to_owned(),
            asked,
            why: why.to_owned(),
        })
    }

    /// The damage for which recovery refuses the log; `None` where it accepts it. Whatever else is
    /// wrong is an error: control information that is older than the log, blocks of another copy.
    fn damage(&self) -> Result<Option<Damage>, Error> {
        let (scan, behind) = self.read_and_look_behind(|_, _, _| ControlFlow::Continue(()))?;
        let limit = self.geometry().reuse_limit(self.control.checkpoint.block);
        match behind {
            Behind::Nothing(_) => Ok(None),
            Behind::Durable { .. } => self.survey(scan.end, scan, limit).map(Some),
            Behind::Older { before } => Ok(Some(Damage {
                at: before,
                upto: scan.end,
                scan,
                readable: 0,
                records: 0,
            })),
        }
    }

    /// Looks at every block behind the damage.
    fn survey(&self, at: StreamBlock, scan: Scan, limit: StreamBlock) -> Result<Damage, Error> {
        let from = Position {
            block: scan.end,
            offset: 0,
        };
        let mut records = Records::new(*self.geometry(), from, self.planted);
        let mut upto = self.control.known_durable().max(scan.end + 1);
        let mut readable = 0;
        let mut problem = None;
        self.walk(scan.end, &AtomicU64::new(limit), |block, bytes| {
            match self.judge(block, bytes) {
                Ok(Some(header)) => {
                    readable += 1;
                    upto = upto.max(block + 1).max(header.durable_upto.min(limit));
                    if records
                        .block(block, &header, bytes, &mut |_, _, _| {})
                        .is_err()
                    {
                        records.skip();
                    }
                }
                Ok(None) => records.skip(),
                Err(error) => problem = Some(error),
            }
            problem.is_none()
        })?;
        problem.map_or(Ok(()), Err)?;
        let records = records.count;
        Ok(Damage {
            at,
            scan,
            upto,
            readable,
            records,
        })
    }
}

/// Gives up the redo from the damaged block at `at` on: a new incarnation, whose identity `life`
/// is, begins there, durably. The caller holds the log's lock.
///
/// # Errors
/// [`Error::Salvage`] for a log that is not damaged, or not there; what recovery refuses for other
/// reasons; a device that fails. Nothing was changed then, unless the device failed while the new
/// incarnation was recorded.
pub(crate) fn salvage(
    data: &Arc<dyn LogDevice>,
    control: &mut ControlFile,
    path: &Path,
    at: Rba,
    life: LifeId,
) -> Result<Salvage, Error> {
    data.settle().map_err(|source| Error::TailFlush {
        path: path.to_owned(),
        source,
    })?;
    control.settle()?;
    let refuse = |why: String| Error::Salvage {
        path: path.to_owned(),
        asked: at,
        why,
    };
    let info = control.info().clone();
    let reader = Reader::new(&**data, &info, path, Planted::none());
    let Some(damage) = reader.damage()? else {
        let why = "the log is not damaged: opening it loses nothing that was acknowledged";
        return Err(refuse(why.to_owned()));
    };
    let outcome = damage.outcome(&info.geometry);
    if outcome.at != at {
        return Err(refuse(format!("it is damaged at RBA {}", outcome.at)));
    }
    reader.check_something_kept(&damage, at)?;
    let end = reader.before_gap(damage.scan.end);
    control.update(|info| info.give_up_behind(end, life))?;
    Ok(outcome)
}
