//! The members of a log, their devices and what each of them is at.

use crate::chance::Chance;
use crate::device_model::{Device, Operation};
use crate::setup::SimulationSetup;
use redo::{CountedMembers, MemberOp};

/// Operations that a member has in flight at most: four writes of a race, and a flush.
const THREADS_MAX: u32 = 5;
/// Bytes of a member's write at most, as files take them.
const MAX_IO_BYTES: u64 = 1 << 20;

/// What a member did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberCount {
    /// Operations of the log writer that this member of the first cell was the first to complete.
    pub first: u64,
    /// Of them, those that made redo durable.
    pub first_durable: u64,
}

/// The members at work.
#[derive(Debug)]
pub(crate) struct Members {
    pub(crate) set: CountedMembers,
    devices: Vec<Device>,
    /// Of each member, what it carries out.
    running: Vec<Vec<(u64, MemberOp)>>,
    /// Operations of the log writer that are on their way to them.
    pub(crate) coming: Vec<(u64, MemberOp)>,
    /// Threads of members that sleep, by their numbers; all that have something to return, with
    /// the member and what that is.
    pub(crate) idle_threads: Vec<u32>,
    pub(crate) returning: Vec<(u32, u16, u64)>,
    pub(crate) counts: Vec<MemberCount>,
}

impl Members {
    /// The members of a setup; `None` of a log without.
    pub(crate) fn of(
        setup: &SimulationSetup,
        log_bytes: u64,
        chance: &mut Chance,
    ) -> Result<Option<Members>, &'static str> {
        let Some(of) = &setup.members else {
            return Ok(None);
        };
        let durable: Vec<bool> = setup.devices().map(|d| d.has_durable_writes()).collect();
        let block = u64::from(setup.log.geometry.block_bytes);
        let memory = setup.log.buffer_blocks * block;
        let set = CountedMembers::new(&durable, of.cell, memory, MAX_IO_BYTES);
        let set = set.ok_or("members: use 2 to 16, in cells of equal size")?;
        let device = |of| Device::new(of, log_bytes, chance);
        Ok(Some(Members {
            set,
            devices: setup.devices().map(device).collect(),
            running: vec![Vec::new(); durable.len()],
            coming: Vec::new(),
            idle_threads: (0..Members::threads_of(setup))
                .map(|n| setup.sessions + 1 + n)
                .collect(),
            returning: Vec::new(),
            counts: vec![MemberCount::default(); durable.len()],
        }))
    }

    /// Threads of the members.
    pub(crate) fn threads_of(setup: &SimulationSetup) -> u32 {
        let with_threads = setup.members.as_ref().filter(|of| of.have_threads);
        with_threads.map_or(0, |of| (of.others.len() as u32 + 1) * THREADS_MAX)
    }

    /// Gives every device what its member carries out now, and says when each of that ends.
    pub(crate) fn begin(
        &mut self,
        now: u64,
        chance: &mut Chance,
        mut at: impl FnMut(u64, u16, u64),
    ) {
        for (member, device) in self.devices.iter_mut().enumerate() {
            while let Some((id, op)) = self.set.next(member) {
                let operation = match op {
                    MemberOp::Write { addr, bytes } => Operation::Write { place: addr, bytes },
                    MemberOp::Flush => Operation::Flush,
                };
                self.running[member].push((id, op));
                at(device.ends(now, operation, chance), member as u16, id);
            }
        }
    }

    pub(crate) fn end(&mut self, member: u16, id: u64) {
        let running = &mut self.running[usize::from(member)];
        let at = running.iter().position(|(of, _)| *of == id);
        let (id, op) = running.swap_remove(at.expect("it was begun"));
        self.set.ended(usize::from(member), id, op);
    }
}
