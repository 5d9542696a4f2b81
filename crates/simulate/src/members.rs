//! A log with members: each carries out what the set's rules give it, on a device of its own.

use crate::agenda::Moment;
use crate::device_model::Operation;
use crate::member_set::Members;
use crate::state::Step;
use crate::world::{SimulationStopped, World};
use redo::MemberOp;

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
