//! What lies before the checkpoint: recovery needs nothing of it, and looks at one block of it.
//!
//! The last block before a checkpoint that lies between two blocks was durable, and its log file is
//! not reused before the checkpoint has left it. So a block that is not whole there shows that the
//! block is damaged, or that the log file is older than the control information. The first is a
//! finding and no more. In an older file redo behind the checkpoint may be missing, of which
//! there may be no other sign.
//!
//! What it must not know: what records are, and what lies behind the end.

use super::{Reader, Scan, begins_as};
use crate::control::{Incarnation, Position};
use crate::error::Error;
use crate::format::BlockHeader;
use crate::group::StreamBlock;
use crate::planted::Bug;

/// The last block before the checkpoint, which is not whole.
#[derive(Clone, Copy)]
pub(super) struct Unsound {
    pub(super) block: StreamBlock,
    /// It begins as the block that was written there: the file is not older than that.
    begins: bool,
}

impl Reader<'_> {
    /// Looks at the last block before the checkpoint; `None` where it is whole, or none was durable
    /// there.
    ///
    /// # Errors
    /// What shows that the control information is older than the log, or blocks of another copy; a
    /// device that fails.
    pub(super) fn look_before_checkpoint(&self) -> Result<Option<Unsound>, Error> {
        let geometry = self.geometry();
        let Position { block, offset } = self.control.checkpoint;
        // Nothing was written into the gap before an incarnation.
        let gap = |i: &&Incarnation| i.previous_end < block && block <= i.first;
        let gap = self.control.incarnations.iter().find(gap);
        let behind = gap.map_or(block, |i| i.previous_end);
        let Some(before) = behind.checked_sub(1) else {
            return Ok(None);
        };
        let same_log = geometry.log_seq(before) == geometry.log_seq(block);
        if offset > 0 || !same_log || self.planted.has(Bug::IgnoreKnownDurable) {
            return Ok(None);
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
        Ok((!whole).then(|| Unsound {
            block: before,
            begins: begins_as(before, &bytes),
        }))
    }

    /// Whether the log file may be older than the control information, as far as `unsound` shows,
    /// where `scan` is what was found from the checkpoint on. It is not where the block itself was
    /// written in it, or a later one; where the log was closed nothing can be missing behind what
    /// control information proves; and where redo was given up, or an opening has judged the end
    /// with this block as it is, the block proves nothing.
    pub(super) fn may_be_older(&self, unsound: Unsound, scan: &Scan) -> bool {
        let (geometry, info) = (self.geometry(), self.control);
        let checkpoint = info.checkpoint.block;
        let in_gap = |i: &&Incarnation| i.previous_end <= checkpoint && checkpoint < i.first;
        let gap = info.incarnations.iter().find(in_gap);
        let next = gap.map_or(checkpoint, |i| i.first);
        let goes_on = scan.end > next && geometry.log_seq(next) == geometry.log_seq(unsound.block);
        // Incarnations that are not kept any more are older than the first that is.
        let oldest = info.incarnations.first().map_or(0, |i| i.number);
        let owner = info.incarnation_of(unsound.block).map(|i| i.number);
        let judged = owner.map_or(oldest <= info.salvaged, |owner| owner < info.salvaged);
        !(unsound.begins || goes_on || judged || info.closed_at.is_some())
    }
}
