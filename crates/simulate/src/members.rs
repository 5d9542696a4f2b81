//! A log with members: each carries out what the set's rules give it, on a device of its own.

use crate::agenda::Moment;
use crate::chance::Chance;
use crate::device_model::{Device, Operation};
use crate::setup::SimulationSetup;
use crate::state::Step;
use crate::world::{SimulationStopped, World};
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
    set: CountedMembers,
    devices: Vec<Device>,
    /// Of each member, what it carries out.
    running: Vec<Vec<(u64, MemberOp)>>,
    /// Operations of the log writer that are on their way to them.
    coming: Vec<(u64, MemberOp)>,
    /// Threads of members that sleep, by their numbers; all that have something to return, with
    /// the member and what that is.
    idle_threads: Vec<u32>,
    returning: Vec<(u32, u16, u64)>,
    pub(crate) counts: Vec<MemberCount>,
}

impl Members {
    /// The members of a setup; `None` of a log without.
    pub(crate) fn of(
        setup: &SimulationSetup,
        log_bytes: u64,
        chance: &mut Chance,
    ) -> Result<Option<Members>, SimulationStopped> {
        let Some(of) = &setup.members else {
            return Ok(None);
        };
        let durable: Vec<bool> = setup.devices().map(|d| d.has_durable_writes()).collect();
        let block = u64::from(setup.log.geometry.block_bytes);
        let memory = setup.log.buffer_blocks * block;
        let set = CountedMembers::new(&durable, of.cell, memory, MAX_IO_BYTES);
        let set = set.ok_or_else(|| {
            let what = "members: use 2 to 16, in cells of equal size";
            SimulationStopped::NotModelled(what.to_owned())
        })?;
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
    fn begin(&mut self, now: u64, chance: &mut Chance, mut at: impl FnMut(u64, u16, u64)) {
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

    fn end(&mut self, member: u16, id: u64) {
        let running = &mut self.running[usize::from(member)];
        let at = running.iter().position(|(of, _)| *of == id);
        let (id, op) = running.swap_remove(at.expect("it was begun"));
        self.set.ended(usize::from(member), id, op);
    }
}

impl World<'_> {
    /// Gives an operation of the log writer to all members when it arrives there.
    pub(crate) fn submit_to_members(&mut self, op: u64, operation: Operation, arrives: u64) {
        let members = self.members.as_mut().expect("a log with members");
        let of = match operation {
            Operation::Write { place, bytes } => MemberOp::Write { addr: place, bytes },
            Operation::Flush => MemberOp::Flush,
        };
        if arrives > self.now {
            members.coming.push((op, of));
            return self.agenda.add(arrives, Moment::Reaches(op));
        }
        members.set.submit(op, of);
        self.begin_on_members();
        // A member may have flushed already, unasked.
        while let Some(op) = self.next_complete() {
            self.lead.done.push_back(op);
        }
    }

    /// An operation of the log writer is at its members.
    pub(crate) fn reaches_members(&mut self, op: u64) {
        let members = self.members.as_mut().expect("a log with members");
        let at = members.coming.iter().position(|(of, _)| *of == op);
        let (op, of) = members.coming.remove(at.expect("it was on its way"));
        members.set.submit(op, of);
        self.begin_on_members();
        self.return_complete();
    }

    fn begin_on_members(&mut self) {
        let members = self.members.as_mut().expect("a log with members");
        let agenda = &mut self.agenda;
        members.begin(self.now, &mut self.chance, |ends, member, id| {
            agenda.add(ends, Moment::MemberEnded(member, id));
        });
    }

    /// A member's device has carried something out: a thread returns it, if there is one.
    pub(crate) fn member_ended(&mut self, member: u16, id: u64) {
        let members = self.members.as_mut().expect("a log with members");
        let Some(thread) = members.idle_threads.pop() else {
            return self.returned_by_member(member, id);
        };
        members.returning.push((thread, member, id));
        let costs = &self.setup.costs;
        self.wake(thread, Step::MemberReturns, costs.io_ns + costs.wake_ns);
    }

    /// A member's thread is on a processor: it returns what it carried out, and sleeps.
    pub(crate) fn member_returns(&mut self, thread: u32) {
        let members = self.members.as_mut().expect("a log with members");
        let at = members.returning.iter().position(|(of, ..)| *of == thread);
        let (_, member, id) = members
            .returning
            .swap_remove(at.expect("it was woken to return"));
        members.idle_threads.push(thread);
        self.sleep();
        self.returned_by_member(member, id);
    }

    /// What is complete of the set is returned.
    fn returned_by_member(&mut self, member: u16, id: u64) {
        let members = self.members.as_mut().expect("a log with members");
        members.end(member, id);
        self.begin_on_members();
        self.return_complete();
    }

    fn return_complete(&mut self) {
        // The thread that returns it has paid for the operation.
        let have_threads = Members::threads_of(self.setup) > 0;
        let io = if have_threads {
            0
        } else {
            self.setup.costs.io_ns
        };
        while let Some(op) = self.next_complete() {
            self.ended_for(op, io);
        }
    }

    /// An operation of the log writer that is complete, which is counted.
    fn next_complete(&mut self) -> Option<u64> {
        let members = self.members.as_mut()?;
        let (op, bytes, by) = members.set.complete()?;
        let is_durable = bytes == 0 || self.setup.has_durable_writes();
        let count = &mut members.counts[by];
        count.first += 1;
        count.first_durable += u64::from(is_durable);
        Some(op)
    }

    /// Why it cannot go on: a member that would be given up.
    pub(crate) fn left_behind(&self) -> Option<SimulationStopped> {
        let member = self.members.as_ref()?.set.left_behind()?;
        Some(SimulationStopped::NotModelled(format!(
            "member {member} is behind by more than the log buffer holds: a log would give it up"
        )))
    }
}
