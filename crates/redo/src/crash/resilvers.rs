//! Members that return while the log is in use, in the simulation: they are copied piece by piece,
//! between which everything else goes on.

use super::disk::{Blocking, Shared, lock};
use super::disks::{Domain, Part};
use super::env::Env;
use super::world::Stage;
use crate::control::ControlFile;
use crate::members::{Resilver, ResilverStep, Standing};
use device::LogDevice;
use std::path::Path;
use std::sync::Arc;

impl Env {
    /// Whether the resilver takes a turn. Draws only where a member was given up.
    pub(super) fn resilvers(&mut self) -> bool {
        let Some(together) = &self.together else {
            return false;
        };
        if together.resilvering {
            return self.rng.chance(1, 3);
        }
        together.standing.left_behind().next().is_some() && self.rng.chance(1, 16)
    }
}

/// One step of the member that returns; of one of those that may where none does.
pub(super) fn go_on(world: &Shared, control: &mut ControlFile, kept: &mut Option<Resilver>) {
    let standing = {
        let mut world = lock(world);
        world.enter(Stage::Resilver);
        let together = world.env.together.as_ref();
        together.map(|together| Arc::clone(&together.standing))
    };
    let Some(standing) = standing else {
        return;
    };
    let Some(mut resilver) = kept.take().or_else(|| begin(world, &standing, control)) else {
        return;
    };
    match resilver.step() {
        ResilverStep::Again | ResilverStep::Wait => {
            *kept = Some(resilver);
            return;
        }
        ResilverStep::Mark => mark(world, control, resilver),
        ResilverStep::Failed => lock(world).env.members.resilvered_in_vain += 1,
    }
    if let Some(together) = &mut lock(world).env.together {
        together.resilvering = false;
    }
}

fn begin(shared: &Shared, standing: &Arc<Standing>, control: &ControlFile) -> Option<Resilver> {
    let (member, piece) = {
        let env = &mut lock(shared).env;
        let left: Vec<usize> = standing.left_behind().collect();
        let member = env.rng.pick(&left);
        let sectors = env.disks.data[member].bytes() / env.plan.sector_bytes as u64;
        let pieces = 1 + env.rng.below(4);
        let piece = sectors.div_ceil(pieces) * env.plan.sector_bytes as u64;
        (member, piece)
    };
    if !control.is_at_rest(member) {
        lock(shared).env.members.waited_for_own += 1;
        return None;
    }
    let part = Part::Data;
    let to = Blocking::shared(shared, Domain { member, part });
    let path = format!("member {member}");
    let resilver = Resilver::begin(standing, member, (&to, Path::new(&path)), None, piece);
    let env = &mut lock(shared).env;
    let waits = resilver.is_none() && standing.waits_for_own(member);
    env.members.waited_for_own += u64::from(waits);
    env.members.resilvered += u64::from(resilver.is_some());
    if resilver.is_some() {
        // Whatever of its own came later would overwrite what it is given now.
        let own = [&env.disks.data[member], &env.disks.control[member]];
        if own.iter().any(|disk| !disk.pending().is_empty()) {
            env.violated(format!(
                "M14: member {member} is copied, and an operation of its own has not returned"
            ));
        }
        env.note(|| format!("member {member} begins to return, {piece} bytes at once"));
        if let Some(together) = &mut env.together {
            together.resilvering = true;
        }
    }
    resilver
}

/// Makes it durable that the member is in sync.
fn mark(shared: &Shared, control: &mut ControlFile, resilver: Resilver) {
    let member = resilver.member();
    {
        let mut world = lock(shared);
        world.enter(Stage::Return);
        world
            .env
            .note(|| format!("member {member} is in sync again"));
    }
    if !resilver.may_be_marked() {
        lock(shared).env.members.resilvered_in_vain += 1;
        return;
    }
    let result = control.readmit(member);
    let mut world = lock(shared);
    let Ok(in_sync) = result else {
        if let Some(life) = &mut world.life {
            life.control_failed = true;
        }
        if let Some(together) = &world.env.together {
            together.answer(None);
        }
        return;
    };
    resilver.marked(in_sync);
    if let Some(together) = &world.env.together {
        together.answer(control.info().members);
    }
    let returned = resilver.believe();
    let env = &mut world.env;
    env.note(|| format!("member {member} returned: {returned}"));
    let counter = match returned {
        true => &mut env.members.returned_in_life,
        false => &mut env.members.resilvered_in_vain,
    };
    *counter += 1;
    if let Some(together) = &mut env.together {
        together.returned |= u16::from(returned) << member;
    }
}
