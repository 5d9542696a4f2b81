//! Members of which only counts are known, for a world in virtual time: what each of them carries
//! out, and what is complete of the set. The decisions are those of the queue over real devices.
//!
//! What it leaves out: members that fail, are late or return; rings.

use super::MemberTable;
use super::lane::{Abilities, LaneState, Upto};
use super::queue::{Pending, winner};
use device::{Op, OpCompletion, OpKind};

/// What a member carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberOp {
    /// So many bytes behind a place of the log.
    Write {
        /// The place.
        addr: u64,
        /// Bytes.
        bytes: u64,
    },
    /// What this member has completed becomes durable.
    Flush,
}

/// Members in cells: cells mirror each other, the members of a cell race.
pub struct CountedMembers {
    table: MemberTable,
    lanes: Vec<LaneState>,
    pending: Vec<Pending>,
    submitted: Upto,
    returned: u64,
    flushed: bool,
}

impl CountedMembers {
    /// Members with so many in a cell, that write from a log buffer of `bytes`; `durable_writes`
    /// says of each whether a write that is complete is durable.
    /// `None` without members, of too many, or with a cell that does not divide them.
    #[must_use]
    pub fn new(
        durable_writes: &[bool],
        cell: usize,
        bytes: u64,
        max_io_bytes: u64,
    ) -> Option<CountedMembers> {
        let table = MemberTable::new(durable_writes.len(), cell)?;
        let can = |durable_writes: &bool| Abilities {
            durable_writes: *durable_writes,
            ..Abilities::of_a_cell(cell > 1, max_io_bytes)
        };
        let lane = |durable: &bool| LaneState::counted(bytes, can(durable));
        Some(CountedMembers {
            table,
            lanes: durable_writes.iter().map(lane).collect(),
            pending: Vec::new(),
            submitted: Upto::default(),
            returned: 0,
            flushed: false,
        })
    }

    /// Gives all members an operation of the log writer with that id.
    pub fn submit(&mut self, id: u64, op: MemberOp) {
        let (upto, bytes, flush) = match op {
            MemberOp::Write { addr, bytes } => {
                self.submitted = Upto {
                    number: self.submitted.number + 1,
                    bytes: self.submitted.bytes + bytes,
                };
                let upto = self.submitted;
                for lane in &mut self.lanes {
                    lane.write(upto, (addr, bytes as usize), |_, _| {});
                    // Where the last write was flushed, this one will be.
                    if self.flushed {
                        lane.want(upto.number);
                    }
                }
                (upto, bytes, false)
            }
            MemberOp::Flush => {
                let covers = Upto {
                    number: self.returned,
                    bytes: 0,
                };
                self.lanes
                    .iter_mut()
                    .for_each(|lane| lane.want(covers.number));
                (covers, 0, true)
            }
        };
        self.flushed = flush;
        self.pending.push(Pending {
            id,
            upto,
            bytes,
            flush,
        });
    }

    /// What `member` begins to carry out now, with the id by which its end is known.
    pub fn next(&mut self, member: usize) -> Option<(u64, MemberOp)> {
        let op: Op = self.lanes.get_mut(member)?.next()?;
        let bytes = op.bytes() as u64;
        Some(match op.kind {
            OpKind::Write { addr, .. } => (op.id, MemberOp::Write { addr, bytes }),
            OpKind::Flush => (op.id, MemberOp::Flush),
        })
    }

    /// What `member` carried out under that id has ended.
    pub fn ended(&mut self, member: usize, id: u64, op: MemberOp) {
        let result = Ok(match op {
            MemberOp::Write { bytes, .. } => bytes,
            MemberOp::Flush => 0,
        });
        if let Some(lane) = self.lanes.get_mut(member) {
            lane.ended(OpCompletion { id, result, by: 0 });
        }
    }

    /// An operation of the log writer that is complete, its bytes, and the member that decided it.
    pub fn complete(&mut self) -> Option<(u64, u64, usize)> {
        let lanes = self.lanes.iter().map(LaneState::status).enumerate();
        let of = |pending| winner(self.table, lanes.clone(), pending, false);
        let mut pending = self.pending.iter().enumerate();
        let found = pending.find_map(|(at, pending)| Some((at, of(pending)?)));
        let (at, member) = found?;
        let pending = self.pending.remove(at);
        if !pending.flush {
            self.returned = self.returned.max(pending.upto.number);
        }
        Some((pending.id, pending.bytes, member))
    }

    /// A member had no room in its memory: it was left behind by more than the log buffer holds.
    #[must_use]
    pub fn left_behind(&self) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.status().failed)
    }
}

impl std::fmt::Debug for CountedMembers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CountedMembers({})", self.lanes.len())
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use super::*;

    /// Which operations of the log writer are complete once the members have ended theirs in this
    /// order.
    fn completes(cell: usize, order: [usize; 4]) -> Vec<(u64, usize)> {
        let mut set = CountedMembers::new(&[false, false], cell, 1 << 20, 1 << 20).expect("two");
        set.submit(
            7,
            MemberOp::Write {
                addr: 0,
                bytes: 4096,
            },
        );
        let mut out = Vec::new();
        let mut asked = false;
        for member in order {
            if let Some((id, op)) = set.next(member) {
                set.ended(member, id, op);
            }
            while let Some((id, _, by)) = set.complete() {
                out.push((id, by));
                if !std::mem::replace(&mut asked, true) {
                    set.submit(8, MemberOp::Flush);
                }
            }
        }
        out
    }

    #[test]
    fn a_race_ends_with_its_first_member_and_a_mirror_with_its_last() {
        assert_eq!(completes(2, [1, 1, 0, 0]), [(7, 1), (8, 1)]);
        assert_eq!(completes(2, [0, 1, 1, 0]), [(7, 0), (8, 1)]);
        assert_eq!(completes(1, [1, 1, 0, 0]), [(7, 0)]);
        assert_eq!(completes(1, [1, 0, 1, 0]), [(7, 0), (8, 0)]);
    }
}
