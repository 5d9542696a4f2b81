//! The queue of a log's members: what is complete, and when a member is given up.
//!
//! Invariants: nothing is returned between a member's failure and the moment at which the others
//! hold everything that was returned before, and the mark is durable on them; what a member that
//! was given up still has in flight is waited for before its queue goes, as long as the member's
//! patience lasts.

use super::contest::Contest;
use super::driver::Lane;
use super::lane::{LaneStatus, Number, Upto};
use super::patience::Patience;
use super::{Marked, MemberTable, Members, Standing};
use crate::planted::{Bug, Planted};
use crate::sync::{Mutex, MutexGuard};
use device::queue::{LogDevice, Queue};
use device::{DeviceError, Doorbell, IoFailure, Op, OpCompletion, OpKind, Region};
use measure::Clock;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

const EIO: i32 = 5;

/// An operation that was not returned.
pub(super) struct Pending {
    pub(super) id: u64,
    /// Of a write itself; of a flush the last write that it covers.
    pub(super) upto: Upto,
    /// Bytes that it transfers.
    pub(super) bytes: u64,
    pub(super) flush: bool,
}

/// Whether of each cell that has a lane one has completed `pending`; the first that has. Lanes are
/// given with their members. A planted bug ends `at_first` of them.
pub(super) fn winner(
    table: MemberTable,
    lanes: impl Iterator<Item = (usize, LaneStatus)> + Clone,
    pending: &Pending,
    at_first: bool,
) -> Option<usize> {
    let has = |status: LaneStatus| status.has((pending.flush, pending.upto.number));
    let mut first = None;
    for cell in table.cells() {
        let mut of_cell = lanes.clone().filter(|(member, _)| cell.contains(member));
        if of_cell.clone().next().is_none() {
            continue;
        }
        let (found, _) = of_cell.find(|(_, status)| has(*status))?;
        first = first.or(Some(found));
        if at_first {
            break;
        }
    }
    first
}

/// The queue over the members' queues.
pub(crate) struct MembersQueue {
    state: Arc<Mutex<QueueState>>,
    standing: Arc<Standing>,
    bell: Arc<Doorbell>,
    blocking: bool,
}

/// What the queue is about.
pub(super) struct QueueState {
    pub(super) standing: Arc<Standing>,
    pub(super) devices: Vec<Option<Arc<dyn LogDevice>>>,
    pub(super) region: Arc<Region>,
    /// Members in sync, in their order.
    pub(super) lanes: Vec<Lane>,
    /// Members that were given up while they had operations in flight.
    pub(super) given_up: Vec<Lane>,
    /// The member that is being copied.
    pub(super) returning: Option<Returning>,
    /// Attempts to return so far.
    pub(super) attempts: u64,
    pending: Vec<Pending>,
    /// The last write that was submitted.
    pub(super) submitted: Upto,
    /// The last write that was returned: flushes cover it and those before it.
    returned: Upto,
    /// What the last flush that was returned covers.
    pub(super) acknowledged: Number,
    /// The last operation was a flush: the next write is expected to be flushed, too, and each
    /// member flushes it without being asked. A guess costs a flush, where it is wrong.
    flushed: bool,
    pub(super) contest: Contest,
    pub(super) patience: Patience,
    /// All is lost: every operation fails.
    pub(super) broken: bool,
    pub(super) bell: Arc<Doorbell>,
    pub(super) planted: Planted,
}

/// The member that is being copied.
pub(super) struct Returning {
    pub(super) lane: Lane,
    pub(super) attempt: u64,
    /// Nothing is returned that it lacks.
    pub(super) required: bool,
}

/// What came of giving up members.
pub(super) enum GivenUp {
    /// No member is believed that is lost.
    All,
    /// Nothing may be returned yet.
    NotYet,
    /// Nothing may be returned before these are marked.
    Mark(u16),
}

/// A lane that is not open yet.
pub(super) struct LaneToOpen {
    member: usize,
    device: Arc<dyn LogDevice>,
    memory: (usize, bool),
    bell: Arc<Doorbell>,
    clock: Arc<dyn Clock>,
    planted: Planted,
}

impl LaneToOpen {
    pub(super) fn open(self) -> Result<Lane, DeviceError> {
        let (device, bell, clock) = (&*self.device, &self.bell, &self.clock);
        Lane::open(self.member, device, self.memory, bell, clock, self.planted)
    }
}

/// Nothing that panics holds it.
pub(super) fn lock(state: &Mutex<QueueState>) -> MutexGuard<'_, QueueState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MembersQueue {
    pub(super) fn new(members: &Members, region: Arc<Region>) -> Result<MembersQueue, DeviceError> {
        let state = QueueState::new(members, region)?;
        let (bell, blocking) = (Arc::clone(&state.bell), state.is_blocking());
        let state = Arc::new(Mutex::new(state));
        members.standing.set_queue(&state);
        Ok(MembersQueue {
            state,
            standing: Arc::clone(&members.standing),
            bell,
            blocking,
        })
    }
}

impl QueueState {
    fn new(members: &Members, region: Arc<Region>) -> Result<QueueState, DeviceError> {
        let mut state = QueueState {
            standing: Arc::clone(&members.standing),
            devices: members.devices.clone(),
            region,
            lanes: Vec::new(),
            given_up: Vec::new(),
            returning: None,
            attempts: 0,
            pending: Vec::new(),
            submitted: Upto::default(),
            returned: Upto::default(),
            acknowledged: 0,
            flushed: false,
            contest: Contest::new(
                members.devices.len(),
                Duration::from_nanos(members.standing.outlier_ns.load(Ordering::Relaxed)),
            ),
            patience: Patience::new(members.devices.len()),
            broken: false,
            bell: Arc::clone(&members.standing.bell),
            planted: members.planted,
        };
        for (member, _) in members.in_sync() {
            let lane = state.lane_to_open(member).map(|lane| lane.open());
            state.lanes.extend(lane.transpose()?);
        }
        Ok(state)
    }

    /// What opens the lane of a member, which may take long.
    pub(super) fn lane_to_open(&self, member: usize) -> Option<LaneToOpen> {
        Some(LaneToOpen {
            member,
            device: self.devices[member].clone()?,
            memory: (self.region.len(), self.standing.table.cell > 1),
            bell: Arc::clone(&self.bell),
            clock: Arc::clone(self.standing.clock()),
            planted: self.planted,
        })
    }

    fn is_blocking(&self) -> bool {
        let devices = self.lanes.iter().map(|lane| &self.devices[lane.member]);
        let mut there = devices.flatten();
        there.any(|device| device.caps().blocking)
    }

    fn submit_one(&mut self, op: Op) {
        let region = &*self.region;
        let flush = op.kind == OpKind::Flush;
        let upto = match op.kind {
            OpKind::Write { addr, pieces } => {
                self.contest.writing(self.standing.now());
                let upto = Upto {
                    number: self.submitted.number + 1,
                    bytes: self.submitted.bytes + op.bytes() as u64,
                };
                self.submitted = upto;
                for lane in &mut self.lanes {
                    lane.write(upto, self.flushed, (addr, op.bytes()), |to, room| {
                        copy(region, pieces, to, room);
                    });
                }
                if let Some(returning) = &mut self.returning {
                    let flush = self.flushed && returning.required;
                    let lane = &mut returning.lane;
                    lane.write(upto, flush, (addr, op.bytes()), |to, room| {
                        copy(region, pieces, to, room);
                    });
                }
                upto
            }
            OpKind::Flush => {
                let covers = self.returned;
                let cells = self.standing.cells.len();
                self.contest.flushing(covers.number, &self.lanes, cells);
                for lane in &mut self.lanes {
                    lane.want(covers.number);
                }
                if let Some(returning) = self.returning.as_mut().filter(|r| r.required) {
                    returning.lane.want(covers.number);
                }
                covers
            }
        };
        self.flushed = flush;
        self.pending.push(Pending {
            id: op.id,
            upto,
            bytes: op.bytes() as u64,
            flush,
        });
    }

    /// Whether a member of each cell has completed `pending`; the first that has.
    fn winner(&self, pending: &Pending) -> Option<usize> {
        let wanted = (pending.flush, pending.upto.number);
        let required = self.returning.as_ref().filter(|r| r.required);
        if !required.is_none_or(|returning| returning.lane.status().has(wanted)) {
            return None;
        }
        let lanes = self.lanes.iter().map(|lane| (lane.member, lane.status()));
        let at_first = self.planted.has(Bug::MirrorAtFirst);
        winner(self.standing.table, lanes, pending, at_first)
    }

    pub(super) fn pump(&mut self) {
        #[cfg(feature = "crash")]
        if self.standing.is_halted() {
            self.lanes
                .iter_mut()
                .chain(&mut self.given_up)
                .chain(self.returning.as_mut().map(|returning| &mut returning.lane))
                .for_each(Lane::halt);
        }
        let mut any = self.contest.has_unseen();
        for lane in &mut self.lanes {
            any |= lane.pump();
        }
        let returning = self.returning.as_mut();
        for lane in returning
            .map(|r| &mut r.lane)
            .into_iter()
            .chain(&mut self.given_up)
        {
            lane.pump();
        }
        if any {
            self.contest.look(&self.lanes, &self.standing);
        }
        self.given_up.retain(Lane::is_in_flight);
    }

    /// Returns what is complete, when members that are lost were given up.
    fn deliver(&mut self, out: &mut Vec<OpCompletion>) -> usize {
        let before = out.len();
        let mut at = 0;
        while at < self.pending.len() {
            let pending = &self.pending[at];
            let winner = self.winner(pending);
            let result = match (self.broken, winner) {
                (true, _) => Err(IoFailure { errno: EIO }),
                (false, Some(_)) => Ok(pending.bytes),
                (false, None) => {
                    at += 1;
                    continue;
                }
            };
            let pending = self.pending.remove(at);
            if let (Some(member), Ok(_)) = (winner, result) {
                self.count(&pending, member);
            }
            out.push(OpCompletion {
                id: pending.id,
                result,
                by: winner.unwrap_or(0) as u16,
            });
        }
        out.len() - before
    }

    fn count(&mut self, pending: &Pending, member: usize) {
        if !pending.flush {
            if self.returned.number < pending.upto.number {
                self.returned = pending.upto;
            }
            return;
        }
        self.acknowledged = self.acknowledged.max(pending.upto.number);
        self.standing.leader.store(member, Ordering::SeqCst);
        let (lanes, standing) = (&self.lanes, &self.standing);
        self.contest
            .acknowledged(pending.upto.bytes, lanes, standing);
    }

    /// Nothing is on its way to a member that is still believed.
    fn is_idle(&self) -> bool {
        let required = self.returning.as_ref().filter(|r| r.required);
        self.lanes.iter().all(Lane::is_idle) && required.is_none_or(|r| r.lane.is_idle())
    }
}

/// Copies the bytes of `pieces` in `from` to `room` in `to`, of as many bytes in all.
pub(super) fn copy(
    from: &Region,
    pieces: [device::Piece; 2],
    to: &Region,
    room: [device::Piece; 2],
) {
    let mut room = room.into_iter();
    let mut into = room.next().expect("two");
    for piece in pieces {
        let mut piece = piece;
        while piece.len > 0 {
            if into.len == 0 {
                into = room.next().expect("as much room as bytes");
            }
            let len = piece.len.min(into.len);
            // SAFETY: the source is named by a write that was submitted and not returned; the room
            // was taken for this write, and no operation of the member names it yet.
            unsafe { to.write(into.at, from.slice(piece.at, len)) };
            (piece.at, piece.len) = (piece.at + len, piece.len - len);
            (into.at, into.len) = (into.at + len, into.len - len);
        }
    }
}

impl Queue for MembersQueue {
    fn submit(&mut self, ops: &[Op]) {
        let mut state = lock(&self.state);
        for op in ops {
            state.submit_one(*op);
        }
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        loop {
            let seen = self.bell.read();
            let mut state = lock(&self.state);
            state.pump();
            let returned = loop {
                match state.give_up_lost() {
                    GivenUp::All => break state.deliver(out),
                    GivenUp::NotYet => break 0,
                    GivenUp::Mark(members) => {
                        // Others may look at the queue while that is made durable.
                        drop(state);
                        let marked = self.standing.fence(members);
                        state = lock(&self.state);
                        match marked {
                            Marked::Durable => {}
                            Marked::Waiting => break 0,
                            Marked::Failed => state.broken = true,
                        }
                        if state.broken {
                            break state.deliver(out);
                        }
                    }
                }
            };
            // A thread that waits with nothing to come gives the queue up: late members catch up
            // first.
            let over = state.pending.is_empty() && (state.broken || state.is_idle());
            if returned > 0 || !wait || over || !self.blocking {
                return returned;
            }
            let timeout = state.look_for_late();
            drop(state);
            self.bell.wait_timeout(seen, timeout);
        }
    }

    fn kind(&self) -> &'static str {
        "members"
    }

    fn park(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        // Members ring a bell of their own; look again soon.
        let soon = Duration::from_millis(1);
        bell.wait_timeout(seen, Some(timeout.map_or(soon, |t| t.min(soon))));
    }
}

impl Drop for MembersQueue {
    /// Members with threads are waited for, as [`Lane::end`] says: their bytes must not reach a
    /// member later than those of the next process that opens the log. Other queues do not.
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.pump();
        let returning = state.returning.take().map(|returning| returning.lane);
        let mut lanes: Vec<Lane> = returning.into_iter().collect();
        lanes.append(&mut state.lanes);
        lanes.append(&mut state.given_up);
        drop(state);
        // All of them, before one is waited for.
        lanes.iter().for_each(Lane::stop);
        for lane in &mut lanes {
            lane.end(self.standing.patience());
        }
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests;
