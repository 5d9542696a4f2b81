//! The queue of a log's members: what is complete, and when a member is given up.
//!
//! Invariants: nothing is returned between a member's failure and the moment at which the others
//! hold everything that was returned before, and the mark is durable on them; what a member that
//! was given up still has in flight is waited for before its queue goes.

use super::contest::Contest;
use super::driver::Lane;
use super::lane::{Number, Upto};
use super::patience::Patience;
use super::returning::Returning;
use super::{Marked, Members, Standing};
use crate::planted::{Bug, Planted};
use crate::sync::{Mutex, MutexGuard};
use device::queue::{LogDevice, Queue};
use device::{DeviceError, Doorbell, IoFailure, Op, OpCompletion, OpKind, Region};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

const EIO: i32 = 5;

/// An operation that was not returned.
struct Pending {
    id: u64,
    /// Of a write itself; of a flush the last write that it covers.
    upto: Upto,
    /// Bytes that it transfers.
    bytes: u64,
    flush: bool,
}

/// The queue over the members' queues.
pub(crate) struct MembersQueue {
    state: Arc<Mutex<QueueState>>,
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
    acknowledged: Number,
    /// The last operation was a flush: the next write is expected to be flushed, too, and each
    /// member flushes it without being asked. A guess costs a flush, where it is wrong.
    flushed: bool,
    pub(super) contest: Contest,
    patience: Patience,
    /// All is lost: every operation fails.
    pub(super) broken: bool,
    pub(super) bell: Arc<Doorbell>,
    pub(super) planted: Planted,
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
            bell: Arc::new(Doorbell::default()),
            planted: members.planted,
        };
        for (member, device) in members.in_sync() {
            let lane = state.open_lane(member, device)?;
            state.lanes.push(lane);
        }
        Ok(state)
    }

    pub(super) fn open_lane(
        &self,
        member: usize,
        device: &Arc<dyn LogDevice>,
    ) -> Result<Lane, DeviceError> {
        let memory = (self.region.len(), self.standing.table.cell > 1);
        Lane::open(member, &**device, memory, &self.bell, self.planted)
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
                self.contest.writing();
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
        let has = |lane: &&Lane| {
            let has = match pending.flush {
                true => lane.durable().number,
                false => lane.complete(),
            };
            !lane.has_failed() && has >= pending.upto.number
        };
        let required = self.returning.as_ref().filter(|r| r.required);
        if !required.is_none_or(|returning| has(&&returning.lane)) {
            return None;
        }
        let mut first = None;
        for cell in self.standing.table.cells() {
            let mut of_cell = self.lanes.iter().filter(|l| cell.contains(&l.member));
            if of_cell.clone().next().is_none() {
                continue;
            }
            let found = of_cell.find(has)?.member;
            first = first.or(Some(found));
            if self.planted.has(Bug::MirrorAtFirst) {
                break;
            }
        }
        first
    }

    /// Gives up the members that failed, were condemned, or are stale by now. False while nothing
    /// may be returned: the others catch up with what was.
    fn give_up_failed(&mut self) -> bool {
        for lane in &mut self.lanes {
            if self.standing.is_condemned(lane.member) && !lane.has_failed() {
                lane.fail();
            }
        }
        let returning = self.give_up_returning();
        let is_marked = |lane: &Lane| self.standing.is_stale(lane.member);
        let failed = |lane: &&Lane| lane.has_failed() && !is_marked(lane);
        let mut mask = self.lanes.iter().filter(failed).fold(returning, bit);
        if mask == 0 && !self.lanes.iter().any(is_marked) {
            return true;
        }
        let is_left = |lane: &Lane| !lane.has_failed() && !is_marked(lane);
        let mut cells_left = 0;
        for cell in self.standing.table.cells() {
            let of_cell = || self.lanes.iter().filter(|l| cell.contains(&l.member));
            let left: Vec<&Lane> = of_cell().filter(|l| is_left(l)).collect();
            let lost = of_cell().any(|lane| !is_left(lane));
            let early = self.planted.has(Bug::StaleBeforeCaughtUp);
            let has = |lane: &&Lane| lane.durable().number >= self.acknowledged;
            let caught_up = left.iter().any(has);
            if lost && !left.is_empty() && !caught_up && !early {
                return false;
            }
            cells_left += usize::from(!left.is_empty());
        }
        if cells_left == 0 {
            self.broken = true;
            return true;
        }
        if self.planted.has(Bug::SkipStaleFence) {
            self.standing.marked(mask);
            mask = 0;
        }
        let marked = match mask {
            0 => Marked::Durable,
            _ => self.standing.fence(mask),
        };
        match marked {
            Marked::Durable => {}
            Marked::Waiting => return false,
            Marked::Failed => {
                self.broken = true;
                return true;
            }
        }
        let (standing, lanes) = (&self.standing, &mut self.lanes);
        let gone = lanes.extract_if(.., |lane| standing.is_stale(lane.member));
        self.given_up.extend(gone.filter(Lane::is_in_flight));
        if returning != 0 {
            self.end_return();
        }
        true
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

    /// Returns what is complete.
    fn deliver(&mut self, out: &mut Vec<OpCompletion>) -> usize {
        let before = out.len();
        if !self.give_up_failed() {
            return 0;
        }
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

    /// Has members given up that have done nothing for too long, where others suffice; returns for
    /// how long the others may go on so.
    fn look_for_late(&mut self) -> Option<Duration> {
        let QueueState {
            lanes,
            standing,
            acknowledged,
            ..
        } = self;
        let returning = self.returning.as_ref().filter(|r| r.required);
        let returning = returning.map(|r| &r.lane);
        let (late, left) = self.patience.look(lanes, returning, standing.patience());
        // At least one member goes on that has everything.
        let goes_on = |lane: &&Lane| {
            !lane.has_failed()
                && late >> lane.member & 1 == 0
                && lane.durable().number >= *acknowledged
        };
        if late != 0 && lanes.iter().any(|lane| goes_on(&lane)) {
            standing.condemn_all(late);
            return Some(Duration::ZERO);
        }
        left
    }
}

fn bit(mask: u16, lane: &Lane) -> u16 {
    mask | 1 << lane.member
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
            let returned = state.deliver(out);
            // Who waits with nothing to come gives the queue up: late members catch up first.
            let over = state.pending.is_empty() && state.is_idle();
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
    /// Queues with threads of their own wait for what is in flight when they are dropped: its bytes
    /// must not reach a member later than those of who opens the log next. Other queues do not.
    fn drop(&mut self) {
        lock(&self.state).pump();
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests;
