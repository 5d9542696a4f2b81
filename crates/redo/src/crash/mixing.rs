//! What recovery must refuse although every block is whole: blocks of another copy of the log, and
//! control information that is older than the log.
//!
//! Invariants: exhaustive over blocks of small logs, nothing is drawn; the oracle of one copy
//! judges what is recovered, so a record of the other copy is an invention.

use super::machine::{Images, Machine, Setup};
use super::model::{Explored, Model, script};
use super::oracle::Oracle;
use crate::control::{COPY_BYTES, ControlInfo};
use crate::error::Error;
use crate::format::{BlockHeader, NO_RECORD, Summer};
use crate::group::StreamBlock;
use crate::planted::Planted;

/// A copy of a log that went on by itself.
struct Copy {
    setup: Setup,
    images: Images,
    oracle: Oracle,
    control: ControlInfo,
}

impl Copy {
    /// Its blocks since it was copied.
    fn own(&self) -> std::ops::Range<StreamBlock> {
        self.control.current().first..self.oracle.end_block()
    }

    fn block(&self, block: StreamBlock) -> &[u8] {
        let g = self.setup.geometry;
        &self.images[1][g.address(block) as usize..][..g.block_bytes as usize]
    }

    /// Recovers from `images`; what is not refused must be a part of this copy's records.
    fn judge(&self, images: &Images, mixed: bool) -> Result<bool, String> {
        let machine = Machine::boot(self.setup, images);
        match machine.recover(None).expect("nothing stops it") {
            Err(Error::MixedCopies { .. }) => Ok(true),
            Err(Error::Corrupt { .. }) if !mixed => Ok(true),
            Err(other) => Err(other.to_string()),
            Ok((control, found)) => {
                let mut oracle = self.oracle.clone();
                oracle.forget_promises();
                oracle.recovered(control.info().checkpoint, &found)?;
                match mixed {
                    true => Err(format!("opened with {} records", found.len())),
                    false => Ok(false),
                }
            }
        }
    }
}

fn control(images: &Images) -> ControlInfo {
    let copies = images[0].chunks_exact(COPY_BYTES);
    let whole = copies.filter_map(|copy| ControlInfo::decode(copy).ok());
    whole
        .max_by_key(|info| info.generation)
        .expect("one is whole")
}

/// Two copies of a log go on by themselves; then blocks of one are put into the other, one by one
/// and from each block to the end, and the control file of one beside the blocks of the other.
///
/// # Errors
/// What was recovered of a log that is none.
pub fn mixed(sector_bytes: usize, planted: Planted) -> Result<Explored, String> {
    let mut model = Model::new(sector_bytes, planted);
    for reused in [false, true] {
        let (base, oracle) = model.base(reused)?;
        let mut copies = Vec::new();
        for (copy, batches) in [(0, 1), (1, 3), (2, 2)] {
            model.setup.copy = copy;
            let (machine, oracle) = model.live(&base, &oracle, script(batches, 0, false))?;
            let images = machine.cuts().pop().expect("one, all being durable");
            copies.push(Copy {
                setup: model.setup,
                control: control(&images),
                images,
                oracle,
            });
        }
        for first in &copies {
            for second in copies.iter().filter(|c| c.setup.copy != first.setup.copy) {
                mix(&mut model.explored, first, second)
                    .map_err(|what| format!("reused log: {reused}: {what}"))?;
            }
        }
    }
    Ok(model.explored)
}

fn mix(explored: &mut Explored, into: &Copy, from: &Copy) -> Result<(), String> {
    let end = into.own().end.max(from.own().end);
    let begin = into.oracle.checkpoint_block();
    let g = into.setup.geometry;
    for block in begin..end {
        for tail in [block + 1, end] {
            let mut images = into.images.clone();
            for block in block..tail {
                let at = g.address(block) as usize;
                images[1][at..][..g.block_bytes as usize].copy_from_slice(from.block(block));
            }
            if images == into.images {
                continue;
            }
            // What the other copy did not write is older, or nothing.
            let foreign = (block..tail).any(|block| from.own().contains(&block));
            let refused = into.judge(&images, foreign);
            let refused = refused.map_err(|e| format!("blocks {block} to {tail}: {e}"))?;
            explored.states += 1;
            explored.refused += u64::from(refused);
            explored.untold += u64::from(!refused);
        }
    }
    let images = vec![into.images[0].clone(), from.images[1].clone()];
    let refused = into.judge(&images, true);
    refused.map_err(|e| format!("the control file of another copy: {e}"))?;
    explored.states += 1;
    explored.refused += 1;
    Ok(())
}

/// Control information that is older than the log: from before the current incarnation, and from
/// before the log was reused, with no block behind that would prove damage.
///
/// # Errors
/// A log that was opened although acknowledged records are missing.
pub fn outdated(sector_bytes: usize, planted: Planted) -> Result<Explored, String> {
    let mut model = Model::new(sector_bytes, planted);
    for reused in [false, true] {
        let (base, oracle) = model.base(reused)?;
        for batches in [1, 2, 3] {
            let (machine, _) = model.live(&base, &oracle, script(batches, 0, false))?;
            let now = machine.cuts().pop().expect("one, all being durable");
            let before = vec![base[0].clone(), now[1].clone()];
            refuse(&mut model, &before, "an incarnation before")?;
            let info = control(&now);
            for block in info.current().first + u64::from(batches as u32)..model.limit(&info) {
                let mut later = now.clone();
                model.put_later_use(&mut later, &info, block);
                refuse(&mut model, &later, "a later use")?;
            }
        }
    }
    Ok(model.explored)
}

/// The last batch is acknowledged and a checkpoint lies inside it, which proves its block durable:
/// each damage of that block, and log files from before it, must be refused.
///
/// # Errors
/// A log that was opened although control information proves that redo is missing.
pub fn proved(sector_bytes: usize, planted: Planted) -> Result<Explored, String> {
    let mut model = Model::new(sector_bytes, planted);
    let (base, oracle) = model.base(false)?;
    // Behind the first record since `base`, behind the second, which ends the batch.
    for (behind, batches) in [(1, 1), (2, 1), (3, 2), (1, 3)] {
        let (machine, mut oracle) = model.live(&base, &oracle, script(batches, 0, false))?;
        let count = oracle.len() - 2 * batches + behind;
        let before = control(&machine.cuts().pop().expect("all durable"));
        let file = machine.load().map_err(|e| e.to_string())?;
        machine.open(file).checkpoint(count, &mut oracle);
        let now = machine.cuts().pop().expect("one, all being durable");
        let info = control(&now);
        assert!(info.checkpoint > before.checkpoint, "the script moves it");
        let older = vec![now[0].clone(), base[1].clone()];
        refuse(&mut model, &older, "older log files")?;
        let g = model.setup.geometry;
        for bit in [0, 65, 130, 250, 300, 330] {
            let mut damaged = now.clone();
            damaged[1][g.address(info.checkpoint.block) as usize + bit / 8] ^= 1 << (bit % 8);
            refuse(
                &mut model,
                &damaged,
                "a flipped bit in the checkpoint's block",
            )?;
        }
    }
    Ok(model.explored)
}

fn refuse(model: &mut Model, images: &Images, what: &str) -> Result<(), String> {
    model.explored.states += 1;
    let machine = Machine::boot(model.setup, images);
    match machine.recover(None).expect("nothing stops it") {
        Err(Error::Corrupt { .. }) => {
            model.explored.refused += 1;
            Ok(())
        }
        Err(other) => Err(format!("{what}: {other}")),
        Ok((_, found)) => Err(format!("{what}: opened with {} records", found.len())),
    }
}

impl Model {
    fn limit(&self, info: &ControlInfo) -> StreamBlock {
        let g = self.setup.geometry;
        g.reuse_limit(info.checkpoint.block)
    }

    /// Puts into the place of `block` what the next use of its log file would put there first.
    fn put_later_use(&self, images: &mut Images, info: &ControlInfo, block: StreamBlock) {
        let g = self.setup.geometry;
        let current = info.current();
        let header = BlockHeader {
            stream_block: block + g.capacity_blocks(),
            durable_upto: 0,
            incarnation: current.number,
            life: current.life.map(crate::format::LifeId::mark),
            used: 0,
            first_record: NO_RECORD,
        };
        let head = header.encode(&Summer::of_life(info.log_id, current.life), &[]);
        images[1][g.address(block) as usize..][..head.len()].copy_from_slice(&head);
    }
}
