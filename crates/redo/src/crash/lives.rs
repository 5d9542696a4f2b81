//! How a history goes: recover until it succeeds, judge what was recovered, live, and again.
//! What blocks (recovery, control information) runs here, outside the world's lock, so that the
//! rest of the log can go on while it waits.

use super::disk::{Blocking, Shared, lock};
use super::life::{Env, Life};
use super::oracle::Recovered;
use super::restores;
use super::world::{Domain, LOG, Stage, Turn};
use crate::control::{ControlFile, Position};
use crate::error::Error;
use crate::group::StreamBlock;
use crate::planted::Bug;
use crate::recovery::{Recovery, recover};
use device::LogDevice;
use device::sim_disk::CrashMix;
use std::path::Path;
use std::sync::Arc;

/// Recovers until it succeeds; `None` when a promise was broken.
pub(super) fn open(world: &Shared) -> Option<ControlFile> {
    let (data, control) = (
        Blocking::shared(world, Domain::Data),
        Blocking::shared(world, Domain::Control),
    );
    lock(world).recoveries_cut = 0;
    loop {
        lock(world).restart();
        let (planted, begin) = {
            let env = &mut lock(world).env;
            (env.planted, (env.draw_life(), env.plan.damage_scan))
        };
        let mut control = match ControlFile::load(Arc::clone(&control), Path::new(LOG)) {
            Ok(control) => control,
            Err(error) => {
                lock(world).env.violated(format!("I1: no control: {error}"));
                return None;
            }
        };
        let result = recover(&data, &mut control, Path::new(LOG), begin, planted);
        let may_judge = lock(world).judge_outcome(&result);
        if let (true, Ok(recovery)) = (may_judge, result) {
            return judge(world, &recovery, &control).then_some(control);
        }
        if lock(world).env.violation.is_some() {
            return None;
        }
    }
}

fn judge(world: &Shared, recovery: &Recovery, control: &ControlFile) -> bool {
    let found = collect(recovery);
    let mut world = lock(world);
    let judged = found.and_then(|found| {
        let lost = {
            let from = control.info().checkpoint;
            world.env.oracle.recovered(from, &found)?
        };
        world.count_recovery(recovery, control.info(), lost);
        world.env.note(|| {
            format!(
                "recovered {} records, lost {lost}: {:?}",
                found.len(),
                recovery.scan()
            )
        });
        if world.env.rng.chance(1, 3) {
            probe(&mut world.env, &found)?;
        }
        restores::recovered(&mut world.env)
    });
    if let Err(what) = judged {
        world.env.violated(what);
    }
    world.env.violation.is_none()
}

fn collect(recovery: &Recovery) -> Result<Recovered, String> {
    let mut found = Vec::new();
    recovery
        .recover(|rba, record| {
            found.push((rba, record.to_vec()));
            Ok::<(), crate::Error>(())
        })
        .map_err(|e| format!("I4: what was recovered cannot be read: {e}"))?;
    Ok(found)
}

/// Power is cut right after a recovery, twice: each time the same must be recovered.
fn probe(env: &mut Env, found: &Recovered) -> Result<(), String> {
    let (mut data, mut control) = (env.data.clone(), env.control.clone());
    for time in 1..=2 {
        let mix = CrashMix::default();
        data = data.after_crash(data.crash(&mut env.rng.0, &mix).image);
        control = control.after_crash(control.crash(&mut env.rng.0, &mix).image);
        data.set_immediate(true);
        control.set_immediate(true);
        let failed = |e: Error| format!("I4/I7: refused to open after cut {time}: {e}");
        let shared: Arc<dyn LogDevice> = Arc::new(data.clone());
        let mut file =
            ControlFile::load(Arc::new(control.clone()), Path::new(LOG)).map_err(failed)?;
        let begin = (env.draw_life(), env.plan.damage_scan);
        let recovery =
            recover(&shared, &mut file, Path::new(LOG), begin, env.planted).map_err(failed)?;
        let again = collect(&recovery)?;
        if again != *found {
            let (again, found) = (again.len(), found.len());
            return Err(format!(
                "I4/I7: {again} records after cut {time} right after a recovery of {found}"
            ));
        }
    }
    env.coverage.recovered_twice += 1;
    Ok(())
}

/// Runs a life to its end.
pub(super) fn run_life(world: &Shared, mut control: ControlFile) {
    {
        let mut world = lock(world);
        let world = &mut *world;
        world.life = Some(Life::begin(control.info(), &mut world.env));
        world.steps_left = 1 + world.env.rng.below(world.env.plan.steps);
        world.grace = world.env.rng.pick(&[0, 60, 60, 60]);
    }
    loop {
        let turn = lock(world).turn();
        match turn {
            Turn::Go => {}
            Turn::Over => return,
            Turn::Checkpoint(count, position) => checkpoint(world, &mut control, count, position),
            Turn::Close(end) => close(world, &mut control, end),
        }
    }
}

fn checkpoint(world: &Shared, control: &mut ControlFile, count: usize, position: Position) {
    {
        let mut world = lock(world);
        world.enter(Stage::Checkpoint);
        world.env.oracle.checkpointing(count);
        world
            .env
            .note(|| format!("checkpoint behind {count} records, at {position:?}"));
        if world.env.planted.has(Bug::SkipCheckpointFence) {
            world.tell_checkpoint(position.block);
        }
    }
    let durable = lock(world)
        .life
        .as_ref()
        .map(|life| life.buffer.durable_block());
    let result = control.update(|info| {
        info.checkpoint = info.checkpoint.max(position);
        info.durable = info.durable.max(durable.unwrap_or(0));
        Ok(())
    });
    let mut world = lock(world);
    match result {
        Ok(()) => {
            world.env.oracle.checkpointed();
            world.env.coverage.checkpoints += 1;
            if !world.is_over() {
                let records = world.env.oracle.before(durable.unwrap_or(0));
                restores::checkpointed(&mut world.env, records);
            }
            world.tell_checkpoint(position.block);
        }
        Err(_) => {
            if let Some(life) = &mut world.life {
                life.control_failed = true;
            }
        }
    }
}

fn close(world: &Shared, control: &mut ControlFile, end: StreamBlock) {
    lock(world).enter(Stage::Close);
    let result = control.update(|info| {
        info.closed_at = Some(end);
        info.durable = end;
        Ok(())
    });
    let mut world = lock(world);
    if result.is_ok() && !world.is_over() {
        world.env.coverage.closes += 1;
        world.env.note(|| format!("closed at {end}"));
        // A closed log is left like this; the power may fail all the same.
        world.end();
    } else if let Some(life) = &mut world.life {
        life.control_failed = true;
    }
}
