//! What lies behind the end of the redo: the search for proof that redo is missing there.
//!
//! What lives here: [`DamageScan`], how far the search goes; the samples that it takes behind the
//! part that it reads in full; and the judgement, torn tail or damage.
//!
//! Invariants: what was written and never acknowledged proves nothing, so a log that only crashed
//! is judged alike however far the search goes. A search that goes less far finds less damage, and
//! nothing else. The bytes that a bounded search reads do not grow with the log, but for a page per
//! log file and a few dozen pages each time that its length doubles.
//!
//! What it must not know: what records are, and what is done with the judgement.

use super::{End, PAGE_BYTES, Reader, Scan};
use crate::control::Position;
use crate::error::Error;
use crate::format::{BlockHeader, le64};
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use crate::rba::Rba;
use crate::read_ahead::{Chunk, Pace, read_ahead};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much is read behind the end of the redo when a log is opened, to distinguish damage from a
/// torn tail. A later block that was written when the missing redo was already durable proves
/// damage, and the log is then not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamageScan {
    /// Every block of the next `window_bytes`; behind these one page (4 KiB) at least every MiB or
    /// every 64th part of the distance from the end, whichever is longer, and the first page of
    /// each log file. A damaged range that begins where the redo seems to end is detected if it is
    /// shorter than the window, or if intact redo that was written after the missing redo was
    /// durable covers one of these pages: a MiB of it or a 63rd part of the damaged range is
    /// always enough. Shorter redo behind a longer range can be missed.
    Bounded {
        /// Bytes behind the end that are read in full. The log buffer's size is used if it is
        /// larger.
        window_bytes: u64,
    },
    /// Every block up to where the log may be reused: as much as the log holds, at every opening.
    /// Any later block that proves the damage is found.
    Whole,
}

impl DamageScan {
    /// Bytes that are read in full behind the end unless something else is asked for: four log
    /// buffers of the default size.
    pub const WINDOW_BYTES: u64 = 32 << 20;

    /// With at least so many bytes read in full.
    pub(crate) fn at_least(self, bytes: u64) -> DamageScan {
        match self {
            DamageScan::Bounded { window_bytes } => DamageScan::Bounded {
                window_bytes: window_bytes.max(bytes),
            },
            DamageScan::Whole => DamageScan::Whole,
        }
    }

    /// Where the part that is read in full ends, of `end..limit`.
    fn window_end(self, geometry: &Geometry, end: StreamBlock, limit: StreamBlock) -> StreamBlock {
        match self {
            DamageScan::Bounded { window_bytes } => {
                let blocks = window_bytes.div_ceil(u64::from(geometry.block_bytes));
                // A newer incarnation, which shows that the control information is older than the
                // log, begins less than a seal unit behind the end before it.
                let least = u64::from(geometry.seal_blocks);
                end.saturating_add(blocks.max(least)).min(limit)
            }
            DamageScan::Whole => limit,
        }
    }
}

impl Default for DamageScan {
    fn default() -> DamageScan {
        DamageScan::Bounded {
            window_bytes: DamageScan::WINDOW_BYTES,
        }
    }
}

/// What lies behind the first block that does not count.
pub(super) enum Behind {
    /// Nothing that was durable: the log ends there.
    Nothing(End),
    /// Redo that was durable: the block is damaged.
    Durable {
        /// What should be in its place.
        expected: String,
        /// What proves it.
        found: String,
    },
    /// Nothing, but the log file may be older than the control information: redo may have been
    /// there.
    Older {
        /// The durable block that is missing, the last one before the checkpoint.
        before: StreamBlock,
    },
}

/// Samples are no closer to each other than this,
const SAMPLE_STEP_BYTES: u64 = 1 << 20;
/// nor than this part of their distance from the end.
const SAMPLE_PART: u64 = 64;
/// So many samples are read one after the other.
const FEW_SAMPLES: usize = 8;

/// Blocks that are read together, behind the part that is read in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sample {
    block: StreamBlock,
    blocks: u64,
}

impl Sample {
    /// The page in which `block` lies, as far as its log holds it.
    fn around(geometry: &Geometry, block: StreamBlock) -> Sample {
        let page = (PAGE_BYTES / u64::from(geometry.block_bytes)).max(1);
        let block = block - block % geometry.blocks_per_group % page;
        Sample {
            block,
            blocks: page.min(geometry.left_in_log(block)),
        }
    }
}

/// The samples of `from..limit`, in order; the log ends at `end`.
fn samples(
    geometry: &Geometry,
    end: StreamBlock,
    (from, limit): (StreamBlock, StreamBlock),
    planted: Planted,
) -> Vec<Sample> {
    let block_bytes = u64::from(geometry.block_bytes);
    let step = |block: &StreamBlock| {
        let distance = (*block - end).saturating_mul(block_bytes);
        let bytes = (distance / SAMPLE_PART).max(SAMPLE_STEP_BYTES);
        Some(*block + bytes / block_bytes)
    };
    let spread = std::iter::successors(Some(from), step)
        .take_while(|block| *block < limit && !planted.has(Bug::SkipDamageSamples));
    let per_group = geometry.blocks_per_group;
    let starts = (from.div_ceil(per_group)..limit.div_ceil(per_group))
        .take_while(|_| !planted.has(Bug::SkipLogStarts))
        .map(|log| log * per_group);
    let mut all: Vec<Sample> = spread
        .chain(starts)
        .map(|block| Sample::around(geometry, block))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What a search has found so far.
struct Search {
    end: StreamBlock,
    how: End,
    proof: Option<Result<BlockHeader, Error>>,
}

impl Search {
    fn behind(end: StreamBlock) -> Search {
        Search {
            end,
            how: End::Clean,
            proof: None,
        }
    }
}

impl Reader<'_> {
    /// Reads from the checkpoint to the end, calls `visit` with each record, and looks for proof
    /// that redo behind the end, the first block that does not count, was durable.
    pub(super) fn read_and_look_behind(
        &self,
        visit: impl FnMut(Rba, Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<(Scan, Behind), Error> {
        let unsound = self.look_before_checkpoint()?;
        let limit = self.geometry().reuse_limit(self.control.checkpoint.block);
        let known = match self.planted.has(Bug::IgnoreKnownDurable) {
            true => (self.control.closed_at.unwrap_or(0)).max(self.control.current().previous_end),
            false => self.control.known_durable(),
        };
        let upto = AtomicU64::new(limit);
        let mut search: Option<Search> = None;
        let mut scan = self.read_on(&upto, visit, |block, bytes| {
            let search = search.get_or_insert_with(|| {
                upto.store(self.window_end(block, limit), Ordering::Relaxed);
                Search::behind(block)
            });
            let seek = search.end >= known && !self.planted.has(Bug::NoDamageScan);
            seek && self.look_at(block, bytes, search)
        })?;
        self.check_behind_limit(limit)?;
        if scan.end < known {
            let known = self.geometry().rba(known, 0);
            let behind = Behind::Durable {
                expected: format!("redo, proved durable up to {known} by control information"),
                found: String::from("a block that does not count"),
            };
            return Ok((scan, behind));
        }
        if let Some(unsound) = unsound {
            let before = unsound.block;
            if self.may_be_older(unsound, &scan) {
                return Ok((scan, Behind::Older { before }));
            }
            scan.damaged_before = Some(self.geometry().rba(before, 0));
        }
        let mut search = search.unwrap_or_else(|| Search::behind(scan.end));
        if search.proof.is_none() && !self.planted.has(Bug::NoDamageScan) {
            self.look_at_samples(&mut search, limit)?;
        }
        match search.proof {
            None => Ok((scan, Behind::Nothing(search.how))),
            Some(Err(error)) => Err(error),
            Some(Ok(header)) => {
                let behind = Behind::Durable {
                    expected: String::from("a block that counts"),
                    found: format!(
                        "block {}, written when all before {} was durable",
                        header.stream_block, header.durable_upto
                    ),
                };
                Ok((scan, behind))
            }
        }
    }

    /// Where the part that is read in full ends.
    fn window_end(&self, end: StreamBlock, limit: StreamBlock) -> StreamBlock {
        let window_end = self.damage_scan.window_end(self.geometry(), end, limit);
        let short = u64::from(self.planted.has(Bug::DamageWindowShort));
        window_end.saturating_sub(short).max(end)
    }

    /// Reads the samples behind what was read in full, until something is found.
    fn look_at_samples(&self, search: &mut Search, limit: StreamBlock) -> Result<(), Error> {
        let (geometry, end) = (self.geometry(), search.end.min(limit));
        let from = self.damage_scan.window_end(geometry, end, limit);
        let samples = samples(geometry, end, (from, limit), self.planted);
        let block_bytes = u64::from(geometry.block_bytes);
        let plan = samples.iter().map(|sample| Chunk {
            addr: geometry.address(sample.block),
            len: (sample.blocks * block_bytes) as usize,
        });
        let mut order = samples.iter();
        // Each is a read of its own, far from the one before: they are worth several at once,
        // unless they are so few that threads start for longer than they read.
        let few = samples.len() <= FEW_SAMPLES;
        let pace = Pace {
            alone_bytes: if few { usize::MAX } else { 0 },
            chunk_bytes: PAGE_BYTES.max(block_bytes) as usize,
        };
        read_ahead(self.data, plan, pace, |page| {
            let Some(sample) = order.next() else {
                return false;
            };
            (sample.block..)
                .zip(page.chunks_exact(block_bytes as usize))
                // A page may begin before: what was read in full was judged there.
                .all(|(block, bytes)| block < from || self.look_at(block, bytes, search))
        })?;
        Ok(())
    }

    /// Takes in a block behind the end; false when nothing more needs to be read.
    fn look_at(&self, block: StreamBlock, bytes: &[u8], search: &mut Search) -> bool {
        let end = search.end;
        match self.judge(block, bytes) {
            Ok(Some(header)) if self.proves(&header, end) => search.proof = Some(Ok(header)),
            Ok(Some(_)) => search.how = End::Torn,
            Ok(None) => match BlockHeader::decode(&self.summer, bytes) {
                // Wherever a block lies, what it says of those before it holds.
                Some(header) if self.proves(&header, end) => search.proof = Some(Ok(header)),
                Some(_) => {}
                None if begins_as(block, bytes) => search.how = End::Torn,
                None => {}
            },
            Err(error) => search.proof = Some(Err(error)),
        }
        search.proof.is_none()
    }

    /// A block with this header proves that redo behind `end` was durable. What incarnations before
    /// a salvage wrote proves nothing: its owner gave up what they had made durable.
    fn proves(&self, header: &BlockHeader, end: StreamBlock) -> bool {
        header.durable_upto > end && header.incarnation >= self.control.salvaged
    }
}

/// The bytes begin as `block` does, whatever follows.
pub(super) fn begins_as(block: StreamBlock, bytes: &[u8]) -> bool {
    bytes
        .first_chunk::<16>()
        .is_some_and(|head| head.starts_with(b"RdBk") && le64(head, 8) == block)
}
