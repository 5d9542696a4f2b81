//! What restoring files by hand can put together, beside a history: control information of one
//! moment with the log of another, and the control file of a copy that went on by itself.
//!
//! Invariants: the images are read and never written; what is drawn comes from [`Env::aside`], so
//! that the history stays what it is. Whatever is put together is refused, or nothing is missing
//! of what the control information was written for.

use super::env::{Env, LOG, Moment};
use crate::control::ControlFile;
use crate::error::Error;
use crate::recovery::Reader;
use device::LogDevice;
use device::sim_disk::SimDisk;
use std::path::Path;
use std::sync::Arc;

/// A checkpoint is durable.
pub(super) fn checkpointed(env: &mut Env, durable: usize) {
    if env.plan.disks() > 1 {
        return;
    }
    env.moments.checkpoint = Some((env.disks.control[0].durable_image(), durable));
}

/// A recovery returned and was judged: reads what can be put together with the moment before, and
/// keeps this one.
pub(super) fn recovered(env: &mut Env) -> Result<(), String> {
    if env.plan.disks() > 1 {
        // Each member has a moment of its own.
        return Ok(());
    }
    let mut moments = std::mem::take(&mut env.moments);
    env.moments.written = moments.written;
    let disks = &env.disks;
    let (data, control) = (
        disks.data[0].durable_image(),
        disks.control[0].durable_image(),
    );
    if let Some(last) = &moments.last
        && env.aside.chance(1, 4)
    {
        let all = env.oracle.len();
        let mut cases = vec![
            ("older control information", &last.control, &data, all, true),
            ("the control file of a copy", &last.copy, &data, all, false),
            ("older log files", &control, &last.data, all, false),
        ];
        if let Some(older) = &moments.older {
            let what = "control information of two recoveries before";
            cases.push((what, older, &data, all, true));
        }
        if let Some((control, durable)) = &moments.checkpoint {
            let what = "log files from before a checkpoint";
            cases.push((what, control, &last.data, *durable, false));
        }
        for (what, control, data, least, older) in cases {
            restore(env, control, data, (least, older)).map_err(|e| format!("I9: {what}: {e}"))?;
        }
    }
    let copy = copied(env, &control).map_err(|e| e.to_string())?;
    moments.older = moments.last.take().map(|last| last.control);
    moments.checkpoint = None;
    moments.last = Some(Moment {
        data,
        control,
        copy,
    });
    env.moments = moments;
    Ok(())
}

/// Reads `data` as `control` says: at least `least` records must be there, or it is refused.
/// `older` control information may find records that recovery left out later.
fn restore(
    env: &mut Env,
    control: &[u8],
    data: &[u8],
    (least, older): (usize, bool),
) -> Result<(), String> {
    let control = disk(env, control);
    let file = ControlFile::load(Arc::new(control), Path::new(LOG));
    let file = file.map_err(|e| e.to_string())?;
    let data = disk(env, data);
    let data: &dyn LogDevice = &data;
    let mut found = Vec::new();
    let scan = Reader::new(data, file.info(), Path::new(LOG), env.planted)
        .damage_scan(env.plan.damage_scan)
        .scan(|rba, _, record| found.push((rba, record.to_vec())));
    match scan {
        Err(Error::Corrupt { .. } | Error::MixedCopies { .. }) => {
            env.coverage.restores_refused += 1;
            Ok(())
        }
        Err(other) => Err(other.to_string()),
        Ok(scan) => {
            let reached = env.oracle.reaches(file.info().checkpoint, found, older)?;
            // Under older control information the torn beginning of the log's next use looks like
            // the end, and hides what is behind it (assumption 23).
            let next_use = scan.end + env.plan.geometry.capacity_blocks();
            let hidden = older && env.moments.written > next_use;
            if reached < least && !hidden {
                let what = format!("{least} records were promised, {reached} are there");
                return Err(what);
            }
            env.coverage.restores_whole += u64::from(reached >= least);
            Ok(())
        }
    }
}

fn disk(env: &Env, image: &[u8]) -> SimDisk {
    let disk = SimDisk::new(image.len(), env.plan.sector_bytes, false);
    disk.load(image);
    disk.set_immediate(true);
    disk
}

/// The control disk of a copy that was taken before this incarnation began.
fn copied(env: &mut Env, control: &[u8]) -> Result<Vec<u8>, Error> {
    let disk = disk(env, control);
    let mut file = ControlFile::load(Arc::new(disk.clone()), Path::new(LOG))?;
    let life = env.draw_life();
    file.update(|info| {
        if let Some(current) = info.incarnations.last_mut() {
            current.life = Some(life);
        }
        Ok(())
    })?;
    Ok(disk.durable_image())
}
