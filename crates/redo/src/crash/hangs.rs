//! Members that hang while their control information is written, in the simulation: the log goes on
//! without them, and what they were doing ends at some time, or never.
//!
//! Invariant: whether and when a member hangs is drawn apart from everything else, so that the
//! histories in which none does stay what they were.

use super::disk::{Shared, lock};
use super::disks::{Domain, Part, end_all};
use super::world::{Stage, World};
use crate::control::{Carried, Carrier, ControlFile};
use crate::members::Standing;
use device::queue::IoOrDevice;
use std::sync::Arc;

/// Steps after which the log goes on without a member that hangs, where others go on.
const MOST_STEPS: u64 = 500;

impl World {
    /// Blocking code waits for an operation that may hang: whether it waits no more.
    pub(super) fn hangs(&mut self, domain: Domain) -> bool {
        let in_life = self.life.is_some() && self.stage() != Stage::Recovery;
        let hangs = &mut self.env.hangs;
        let may = in_life && domain.part == Part::Control && hangs.often > 0;
        if !may || !hangs.rng.chance(hangs.often, 64) {
            return false;
        }
        let patience = hangs.rng.below(MOST_STEPS / 4);
        let Some(standing) = self.env.together.as_ref().map(|t| Arc::clone(&t.standing)) else {
            return false;
        };
        let member = domain.member;
        self.env.members.hung += 1;
        self.env
            .note(|| format!("member {member} hangs in an update"));
        let mut could = 0;
        while could < MOST_STEPS {
            self.step_life();
            if self.is_over() {
                return false;
            }
            if standing.goes_on_without(member, could >= patience) {
                self.env.members.gone_without += 1;
                self.env
                    .note(|| format!("the update goes on without member {member}"));
                return true;
            }
            if !self.others_go_on(&standing, member) {
                // Until it answers.
                return false;
            }
            could += 1;
        }
        let waits = self.life.as_ref().is_some_and(|life| life.somebody_waits());
        self.env.violated(format!(
            "liveness: an update waits for member {member}, which hangs, and others go on; \
             somebody waits for a commit: {waits}"
        ));
        false
    }

    /// Another member is in sync, and is not being given up.
    fn others_go_on(&self, standing: &Standing, member: usize) -> bool {
        let report = standing.report();
        let lost = |other| standing.is_condemned(other) || standing.unmarked() >> other & 1 != 0;
        let goes_on = |other: usize| other != member && report[other].in_sync && !lost(other);
        let healthy = |life: &super::life::Life| !life.poisoned && !life.failed;
        standing.table.all().any(goes_on) && self.life.as_ref().is_some_and(healthy)
    }

    /// What hangs may end now, in some way.
    pub(super) fn end_hangs(&mut self) {
        for disk in &self.env.disks.control {
            if self.env.hangs.often > 0
                && !disk.pending().is_empty()
                && self.env.hangs.rng.chance(1, 64)
            {
                end_all(disk, &mut self.env.hangs.rng);
                self.env.hangs.collect();
            }
        }
    }
}

/// Carries control information to a member's disk, on which an operation may hang.
struct SimCarrier {
    world: Shared,
    member: usize,
}

impl Carrier for SimCarrier {
    fn carry(&self, work: Carried) -> Result<(), IoOrDevice> {
        work()
    }

    fn is_busy(&self) -> bool {
        !lock(&self.world).env.disks.control[self.member]
            .pending()
            .is_empty()
    }
}

/// Has updates of `control` go on without members that hang.
pub(super) fn carry(world: &Shared, control: &mut ControlFile) {
    let standing = {
        let world = lock(world);
        let together = world.env.together.as_ref();
        together.map(|together| Arc::clone(&together.standing))
    };
    let Some(standing) = standing else {
        return;
    };
    for member in standing.table.all() {
        let world = Arc::clone(world);
        let carrier: Arc<dyn Carrier> = Arc::new(SimCarrier { world, member });
        control.carried_by(member, &carrier);
    }
    control.agree(Box::new(move || standing.unmarked()));
}
