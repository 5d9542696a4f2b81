//! Whether control information can be that of a log at all.
//!
//! What lives here: the limits of what a copy may say. What it must not know: where a copy came
//! from, and whether its checksum was right.

use super::{ControlInfo, Incarnation};
use crate::format::{BLOCK_HEADER_BYTES, RECORD_HEADER_BYTES};
use crate::group::{Geometry, MAX_FILE_BYTES, MAX_SEAL_BYTES, StreamBlock};

/// Blocks beyond this number are never reached; positions below it can be added to without
/// overflow.
const LAST_BLOCK: StreamBlock = 1 << 60;

/// A checksum proves origin, not sense: a copy with a shape that no log has is refused.
pub(super) fn plausible(g: &Geometry) -> bool {
    let least = (BLOCK_HEADER_BYTES + RECORD_HEADER_BYTES) as u32;
    (least + 1..=1 << 16).contains(&g.block_bytes)
        && g.seal_blocks >= 1
        && u64::from(g.seal_blocks) * u64::from(g.block_bytes) <= MAX_SEAL_BYTES
        && (2..=1 << 10).contains(&g.groups)
        && g.blocks_per_group >= 1
        && g.blocks_per_group.is_multiple_of(u64::from(g.seal_blocks))
        && g.blocks_per_group <= u64::from(u32::MAX)
        && g.header_bytes <= MAX_SEAL_BYTES
        && g.file_bytes <= MAX_FILE_BYTES
        && g.file_bytes >= g.header_bytes + g.blocks_per_group * u64::from(g.block_bytes)
}

/// As [`plausible`], for what changes: numbers that can still grow, incarnations in order.
pub(super) fn possible(info: &ControlInfo) -> bool {
    let each =
        |i: &Incarnation| i.previous_end <= i.first && i.first <= LAST_BLOCK && i.number < u32::MAX;
    let follows =
        |pair: &[Incarnation]| pair[0].number < pair[1].number && pair[0].first < pair[1].first;
    info.generation < u64::MAX
        && (info.archived.iter().chain([&info.checkpoint])).all(|position| {
            position.block <= LAST_BLOCK && u32::from(position.offset) <= info.geometry.payload()
        })
        && info.durable <= LAST_BLOCK
        && info.closed_at.is_none_or(|end| end <= LAST_BLOCK)
        && info.salvaged <= info.current().number
        && info.incarnations.iter().all(each)
        && info.incarnations.windows(2).all(follows)
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
