//! How a history goes: recover until it succeeds, judge what was recovered, live, and again.
//! What blocks (recovery, control information) runs here, outside the world's lock, so that the
//! rest of the log can go on while it waits.

use super::Report;
use super::archive;
use super::coverage::{Coverage, MemberCoverage, RingCoverage};
use super::disk::{Blocking, Shared, lock};
use super::disks::{self, Domain, Part};
use super::env::{Env, Hangs, LOG, Moments, SimArchive};
use super::hangs;
use super::life::Life;
use super::oracle::{Oracle, Recovered};
use super::plan::{Plan, Rng};
use super::resilvers;
use super::restores;
use super::rings::{self, RING};
use super::world::{Stage, Turn, World};
use crate::control::{ControlFile, ControlInfo, Position, RingTable};
use crate::error::Error;
use crate::format::{LifeId, LogId};
use crate::group::StreamBlock;
use crate::members::ring::RingDevice;
use crate::members::{Assembled, Assembly, GivenMember, Standing};
use crate::planted::{Bug, Planted};
use crate::recovery::{DamageScan, Recovery, recover};
use device::LogDevice;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Steps for which a life goes on at most until a future was dropped and a log switch made in it.
const PATIENCE: u64 = 4_000;

/// Lives through a whole history.
pub(super) fn live(plan: Plan, planted: Planted, trace: bool) -> Report {
    let mut rng = plan.rng.clone();
    let g = plan.geometry;
    let data_bytes = g.file_bytes as usize * g.groups as usize;
    let durable = (plan.durable_writes, rng.chance(1, 8));
    let count = plan.disks() - usize::from(plan.ring.is_some());
    let mut disks = disks::make(data_bytes, plan.sector_bytes, durable, count);
    let mut info = ControlInfo::new(LogId([rng.below(256) as u8; 16]), g);
    if let Some(ring) = plan.ring {
        info = info.with_ring(RingTable::new(ring.kind));
        disks.data.push(rings::make(ring, info.log_id));
    }
    if let Some(members) = plan.members {
        info = info.with_members(members);
    }
    if plan.archive {
        info.set_archived(Some(Position::default()));
    }
    disks.format(&info);
    let (lives, archive) = (plan.lives, plan.archive.then(SimArchive::default));
    let env = Env {
        hangs: Hangs::draw(&plan),
        clock: Arc::default(),
        aside: Rng(rng.0 ^ 0x0061_7369_6465),
        moments: Moments::default(),
        rng,
        plan,
        planted,
        coverage: Coverage::default(),
        oracle: Oracle::default(),
        disks,
        together: None,
        members: MemberCoverage::default(),
        ring: None,
        rings: RingCoverage::default(),
        ring_was_away: false,
        archive,
        all_busy: true,
        flush_failed: false,
        violation: None,
        trace: trace.then(Vec::new),
    };
    let world = Arc::new(Mutex::new(World::new(env)));
    // The last recovery only judges.
    for life in 0..=lives {
        let Some(control) = open(&world) else { break };
        if life < lives {
            run_life(&world, control);
        }
        if lock(&world).env.violation.is_some() {
            break;
        }
    }
    let mut world = lock(&world);
    let all_busy = world.env.all_busy && lives > 1;
    world.env.coverage.all_lives_cancelled_and_switched += u64::from(all_busy);
    Report::of(&mut world)
}

/// A log's disks as those who open it get them: `None` for a member that is not given.
struct Places {
    data: Vec<Option<Arc<dyn LogDevice>>>,
    control: Vec<Option<Arc<dyn LogDevice>>>,
}

impl Places {
    /// `device` makes each, for those that are not `absent`.
    fn new(plan: &Plan, absent: u16, device: impl Fn(Domain) -> Arc<dyn LogDevice>) -> Places {
        let each = |part| {
            let count = match part {
                Part::Control if plan.ring.is_some() => 1,
                Part::Control | Part::Data => plan.disks(),
            };
            let there = |member: usize| absent >> member & 1 == 0;
            let device = |member| there(member).then(|| device(Domain { member, part }));
            (0..count).map(device).collect()
        };
        Places {
            data: each(Part::Data),
            control: each(Part::Control),
        }
    }
}

/// A log that was recovered.
struct Opened {
    control: ControlFile,
    recovery: Recovery,
    standing: Option<Arc<Standing>>,
    /// Of a log with a ring: the ring, if it is used, and the blocks that it gave the disk.
    ring: Option<(Option<Arc<RingDevice>>, u64)>,
}

/// Opens the log on `places`, as the engine does.
fn start(
    mut places: Places,
    plan: &Plan,
    begin: (LifeId, DamageScan),
    planted: Planted,
) -> Result<Opened, Error> {
    let path = Path::new(LOG);
    if let Some(planned) = plan.ring {
        let ring = places.data.remove(RING);
        let [data, control] = [places.data, places.control].map(|mut all| all.remove(0));
        let (data, control) = (data.expect("always given"), control.expect("always given"));
        let mut control = ControlFile::load_member(control, path)?;
        let opened = rings::assemble(data, ring, &mut control, (begin.0, planned.kind), planted)?;
        let recovery = recover(&opened.device, &mut control, path, begin, planted)?;
        return Ok(Opened {
            control,
            recovery,
            standing: None,
            ring: Some((opened.ring, opened.copied)),
        });
    }
    if plan.members.is_none() {
        let [data, control] = [places.data, places.control].map(|mut all| all.remove(0));
        let (data, control) = (data.expect("the only one"), control.expect("the only one"));
        let mut control = ControlFile::load(control, path)?;
        let recovery = recover(&data, &mut control, path, begin, planted)?;
        return Ok(Opened {
            control,
            recovery,
            standing: None,
            ring: None,
        });
    }
    let mut given = Vec::new();
    for (member, there) in places.data.into_iter().zip(places.control).enumerate() {
        if let (Some(data), Some(control)) = there {
            let path = PathBuf::from(format!("member {member}"));
            let file = ControlFile::load_member(control, &path)?;
            given.push(GivenMember { path, file, data });
        }
    }
    let assembly = Assembly::of(given, true, planted)?;
    let Assembled {
        mut control,
        members,
        ..
    } = assembly.open(begin.1, planted)?;
    let standing = Arc::clone(&members.standing);
    let data: Arc<dyn LogDevice> = Arc::new(members);
    let recovery = recover(&data, &mut control, path, begin, planted)?;
    Ok(Opened {
        control,
        recovery,
        standing: Some(standing),
        ring: None,
    })
}

/// Recovers until it succeeds; `None` when a promise was broken.
fn open(world: &Shared) -> Option<ControlFile> {
    lock(world).recoveries_cut = 0;
    loop {
        lock(world).restart();
        let (planted, begin, plan, before, absent) = {
            let env = &mut lock(world).env;
            (env.together, env.ring) = (None, None);
            let begin = (env.draw_life(), env.plan.damage_scan);
            let plan = env.plan.clone();
            let before = env.disks.newest_table();
            let absent = match (plan.members, plan.ring) {
                (Some(_), _) => env.draw_absent(),
                (None, Some(_)) => env.draw_absent_ring(),
                (None, None) => 0,
            };
            let held = env.disks.generations();
            env.note(|| format!("opens, without members {absent:#b}: {before:?}, {held:?}"));
            (env.planted, begin, plan, before, absent)
        };
        let places = Places::new(&plan, absent, |domain| Blocking::shared(world, domain));
        let result = start(places, &plan, begin, planted);
        let (outcome, opened) = match result {
            Ok(Opened {
                control,
                recovery,
                standing,
                ring,
            }) => (Ok(recovery), Some((control, standing, ring))),
            Err(error) => (Err(error), None),
        };
        let may_judge = lock(world).judge_outcome(&outcome);
        if let (true, Ok(recovery), Some((control, standing, ring))) = (may_judge, outcome, opened)
        {
            if let Some((ring, copied)) = ring {
                lock(world).env.opened_ring(ring.as_deref(), copied);
            }
            if let (Some(standing), Some(before)) = (standing, before) {
                lock(world).env.assembled(standing, before, absent);
            }
            return judge(world, &recovery, &control).then_some(control);
        }
        lock(world).env.members.cut_assembling += u64::from(plan.members.is_some());
        if plan.ring.is_some() {
            lock(world).env.rings.cut();
        }
        if lock(world).env.violation.is_some() {
            return None;
        }
    }
}

fn judge(shared: &Shared, recovery: &Recovery, control: &ControlFile) -> bool {
    let found = collect(recovery);
    let mut world = lock(shared);
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
    drop(world);
    let judged = judged.and_then(|()| archive::judge(shared, control.info()));
    let mut world = lock(shared);
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
    let mut disks = env.disks.clone();
    for time in 1..=2 {
        let (images, ..) = disks.crash(&mut env.rng, None);
        disks = disks.after_crash(images);
        disks.set_immediate(true);
        let failed = |e: Error| format!("I4/I7: refused to open after cut {time}: {e}");
        let begin = (env.draw_life(), env.plan.damage_scan);
        let places = Places::new(&env.plan, 0, |domain| {
            Arc::new(disks.of(domain).clone()) as Arc<dyn LogDevice>
        });
        let opened = start(places, &env.plan, begin, env.planted).map_err(failed)?;
        let recovery = opened.recovery;
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
fn run_life(world: &Shared, mut control: ControlFile) {
    {
        let mut world = lock(world);
        let world = &mut *world;
        world.life = Some(Life::begin(control.info(), &mut world.env));
        world.steps_left = 1 + world.env.rng.below(world.env.plan.steps);
        world.grace = world.env.rng.pick(&[0, 60, 60, 60]);
        world.patience = if world.env.plan.cancels { PATIENCE } else { 0 };
    }
    hangs::carry(world, &mut control);
    let mut resilver = None;
    loop {
        let turn = lock(world).turn();
        match turn {
            Turn::Go => {}
            Turn::Over => return,
            Turn::Checkpoint(count, position) => checkpoint(world, &mut control, count, position),
            Turn::Close(end) => close(world, &mut control, end),
            Turn::Archive(count, position) => {
                archive::archive(world, &mut control, (count, position));
            }
            Turn::Mark(members) => mark(world, &mut control, members),
            Turn::Resilver => resilvers::go_on(world, &mut control, &mut resilver),
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
            let block = world.env.reusable(control.info(), position);
            world.tell_checkpoint(block);
        }
    }
    let durable = lock(world)
        .life
        .as_ref()
        .map(|life| life.buffer.durable_block());
    let spare = lock(world).env.may_spare();
    let result = control.update(|info| {
        if let Some(ring) = &mut info.ring {
            ring.spare |= spare;
        }
        info.checkpoint = info.checkpoint.max(position);
        info.durable = info.durable.max(durable.unwrap_or(0));
        Ok(())
    });
    let mut world = lock(world);
    if let Some(together) = &world.env.together {
        let table = result.as_ref().ok().and_then(|()| control.info().members);
        let marked = table.is_some_and(|t| {
            t.all()
                .any(|m| !t.in_sync(m) && !together.standing.is_stale(m))
        });
        together.answer(table);
        world.env.members.marked_by_checkpoint += u64::from(marked);
    }
    match result {
        Ok(()) => {
            world.env.oracle.checkpointed();
            world.env.coverage.checkpoints += 1;
            world.env.rings.spared += u64::from(spare);
            if !world.is_over() {
                let records = world.env.oracle.before(durable.unwrap_or(0));
                restores::checkpointed(&mut world.env, records);
            }
            let block = world.env.reusable(control.info(), position);
            world.tell_checkpoint(block);
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
        if let Some(ring) = &mut info.ring {
            ring.spare = true;
        }
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

/// Marks members stale; until it is durable the log writer acknowledges nothing.
fn mark(world: &Shared, control: &mut ControlFile, stale: u16) {
    {
        let mut world = lock(world);
        world.enter(Stage::Mark);
        world.env.note(|| format!("marks members {stale:#b} stale"));
    }
    let result = control.update(|info| {
        if let Some(members) = &mut info.members {
            members.stale |= stale;
        }
        Ok(())
    });
    let mut world = lock(world);
    let table = result.ok().and_then(|()| control.info().members);
    if let Some(together) = &world.env.together {
        together.answer(table);
    }
    match (table, &mut world.life) {
        (Some(_), _) => {
            let returned = world.env.together.as_ref().map_or(0, |t| t.returned);
            world.env.members.given_up += 1;
            world.env.members.given_up_again += u64::from(returned & stale != 0);
        }
        (None, Some(life)) => life.control_failed = true,
        (None, None) => {}
    }
}
