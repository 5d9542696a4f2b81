//! A simulated archiver: it copies redo out of the log by the real reader, has it durable in an
//! archive that nothing destroys, and then says so in the real control information.
//!
//! Invariants: what the archive and the log from the archived position on hold together is every
//! record that was promised, in order and unchanged, which is judged after each recovery.

use super::disk::{Blocking, Shared, lock};
use super::disks::{Domain, Part};
use super::env::{Env, LOG, SimArchive};
use super::world::Stage;
use crate::control::{ControlFile, ControlInfo, Position};
use crate::group::StreamBlock;
use crate::planted::Bug;
use crate::recovery::{Reach, RecordReader};
use device::LogDevice;
use std::path::Path;
use std::sync::Arc;

impl SimArchive {
    /// A position up to which more can be archived: behind some record that lies wholly before
    /// `durable`. Returns how many records it passes.
    pub(super) fn candidate(&self, env: &Env, durable: StreamBlock, draw: u64) -> Option<usize> {
        let passed = self.archived.max(self.doubtful.unwrap_or(0));
        let span = env.oracle.before(durable).checked_sub(passed);
        let span = span.filter(|span| *span > 0)?;
        Some(passed + 1 + (draw % span as u64) as usize)
    }
}

fn data(world: &Shared) -> Arc<dyn LogDevice> {
    let domain = Domain {
        member: 0,
        part: Part::Data,
    };
    Blocking::shared(world, domain)
}

/// Reads the records from the archived position of `info` to `upto`, and compares them with those
/// that were appended from the `from`th on. Returns how many there are.
fn compare(
    world: &Shared,
    info: &ControlInfo,
    (from, end): (usize, StreamBlock),
) -> Result<usize, String> {
    let position = info.archived.ok_or("the log left archive mode by itself")?;
    let planted = lock(world).env.planted;
    let reach = || Reach { end, reusable: 0 };
    let path = Path::new(LOG);
    let reader = RecordReader::new(data(world), info.clone(), path, position, planted, reach);
    let mut found = Vec::new();
    for record in reader {
        let record = record.map_err(|e| format!("I10: redo that was not archived is gone: {e}"))?;
        found.push((record.rba, record.bytes));
    }
    let read = found.len();
    let mismatch = lock(world).env.oracle.mismatch(from, &found);
    mismatch.map_or(Ok(read), |why| Err(format!("I10: to be archived: {why}")))
}

/// Copies the redo up to the first `count` records, which end at `position`, and frees it.
pub(super) fn archive(
    world: &Shared,
    control: &mut ControlFile,
    (count, position): (usize, Position),
) {
    let (from, durable) = {
        let mut world = lock(world);
        world.enter(Stage::Archive);
        let durable = world.life.as_ref().map(|life| life.buffer.durable_block());
        let Some(archive) = &mut world.env.archive else {
            return;
        };
        archive.doubtful = Some(count);
        let from = archive.archived;
        (world.env).note(|| format!("archives up to record {count}, at {position:?}"));
        (from, durable.unwrap_or(0))
    };
    let read = compare(world, control.info(), (from, durable)).and_then(|read| {
        let wanted = count - from;
        let least = format!("I10: {read} of {wanted} records that are durable can be archived");
        if read < wanted { Err(least) } else { Ok(()) }
    });
    if let Err(what) = read {
        lock(world).env.violated(what);
        return;
    }
    let fence = |info: &mut ControlInfo| {
        info.set_archived(Some(position));
        info.durable = info.durable.max(durable);
        Ok(())
    };
    if lock(world).env.planted.has(Bug::SkipArchiveFence) {
        let mut early = control.info().clone();
        early.set_archived(Some(position));
        let mut world = lock(world);
        let block = world.env.reusable(&early, early.checkpoint);
        world.tell_checkpoint(block);
    }
    let result = control.update(fence);
    let mut world = lock(world);
    if result.is_err() {
        if let Some(life) = &mut world.life {
            life.control_failed = true;
        }
        return;
    }
    if let Some(archive) = &mut world.env.archive {
        (archive.archived, archive.doubtful) = (count, None);
    }
    world.env.coverage.archived += 1;
    let info = control.info();
    let block = world.env.reusable(info, info.checkpoint);
    world.tell_checkpoint(block);
}

/// Judges, after a recovery, what is archived and what the log still has for the archiver.
pub(super) fn judge(world: &Shared, info: &ControlInfo) -> Result<(), String> {
    let Some(archive) = lock(world).env.archive else {
        return Ok(());
    };
    let position = info
        .archived
        .ok_or("I10: the log left archive mode by itself")?;
    let (from, all) = {
        let env = &lock(world).env;
        let mut known = [Some(archive.archived), archive.doubtful].into_iter();
        let at = |count: &usize| env.oracle.behind(*count).unwrap_or_default() == position;
        let from = known.by_ref().flatten().find(at);
        let from = from.ok_or_else(|| format!("I10: nothing was archived up to {position:?}"))?;
        (from, env.oracle.len())
    };
    // A recovery left out nothing that was archived, and left everything else to be archived.
    let read = compare(world, info, (from, info.current().first))?;
    let mut world = lock(world);
    let env = &mut world.env;
    if from + read != all {
        return Err(format!(
            "I10: {from} records are archived and the log has {read} more, of {all}"
        ));
    }
    let held = info
        .archived
        .is_some_and(|at| at.block < info.checkpoint.block);
    env.coverage.recovered_before_archived += u64::from(held);
    env.archive = Some(SimArchive {
        archived: from,
        doubtful: None,
    });
    Ok(())
}
