//! A member that was given up returns while the log is in use.
//!
//! It is copied whole from a member in sync, in pieces, while it is given what is written: what it
//! held may be of another life. Then acknowledgements wait for it, too; then it becomes durable
//! that it is in sync, on itself first; and only then may an acknowledgement rest on it.
//!
//! Invariants:
//! - It is not copied while an operation of its own has not returned.
//! - While a piece is copied it is given nothing, and the piece is read from a member that has
//!   everything that it was given: so what it got in the stream is never overwritten with what came
//!   before.
//! - From before the update of the control information until that is over, what is acknowledged is
//!   on it and on the others.
//! - If it fails before that, it is stale as it was; if it fails from there on, it is marked stale
//!   as any other.
//!
//! What it must not know: what makes it durable that a member is in sync, and when to try again.

use super::Standing;
use super::carrier::{MemberCarrier, ReturnCarrier};
use super::driver::Lane;
use super::heal::{CHUNK_BYTES, Copier, MemberData};
use super::lane::Number;
use super::queue::{QueueState, Returning, lock};
use crate::planted::{Bug, Planted};
use device::LogDevice;
use std::path::Path;
use std::sync::Arc;

impl QueueState {
    /// Whether `member` may return now.
    fn may_return(&self, member: usize) -> bool {
        let same = |lane: &Lane| lane.member == member;
        let waits = self.given_up.iter().any(same) && !self.planted.has(Bug::ReturnedInFlight);
        let free = self.returning.is_none() && !self.broken && !waits;
        free && self.standing.is_stale(member) && !self.lanes.iter().any(same)
    }

    /// Begins an attempt on this lane: from now on the member is given what is written.
    fn admit(&mut self, mut lane: Lane) -> Option<u64> {
        self.pump();
        if !self.may_return(lane.member) {
            return None;
        }
        lane.begin_behind(self.submitted);
        lane.hold(true);
        self.attempts += 1;
        self.standing.begin_return(lane.member);
        self.returning = Some(Returning {
            lane,
            attempt: self.attempts,
            required: false,
        });
        Some(self.attempts)
    }

    fn attempt(&mut self, attempt: u64) -> Option<&mut Returning> {
        let same = |returning: &&mut Returning| returning.attempt == attempt;
        let returning = self.returning.as_mut().filter(same)?;
        (!returning.lane.has_failed()).then_some(returning)
    }

    /// A member to copy from, when one has everything that the returning one was given.
    fn source(&mut self, attempt: u64) -> Option<Option<(usize, Arc<dyn LogDevice>)>> {
        self.pump();
        let beside = self.planted.has(Bug::CopyBesideStream);
        let lane = &self.attempt(attempt)?.lane;
        let (given, moves) = (lane.complete(), lane.is_in_flight());
        if moves && !beside {
            return Some(None);
        }
        let has = |lane: &&Lane| !lane.has_failed() && (lane.complete() >= given || beside);
        let source = self.lanes.iter().find(has).map(|lane| lane.member);
        Some(source.and_then(|member| Some((member, self.devices[member].clone()?))))
    }

    /// The member has room for more of what is written while it is copied, and is copied still.
    fn has_room(&mut self, attempt: u64) -> bool {
        let memory = self.region.len() as u64;
        let returning = self.attempt(attempt);
        returning.is_some_and(|returning| returning.lane.held_bytes() < memory / 4)
    }

    /// Acknowledgements wait for it from now on. Returns the last write that was submitted.
    fn require(&mut self, attempt: u64) -> Option<Number> {
        let (last, planted) = (self.submitted.number, self.planted);
        let standing = Arc::clone(&self.standing);
        let returning = self.attempt(attempt)?;
        returning.required = !planted.has(Bug::MarkedBeforeRequired);
        returning.lane.want(last);
        standing.require(returning.lane.member);
        Some(last)
    }

    /// It is in sync, durably.
    fn believe(&mut self, attempt: u64) -> bool {
        self.pump();
        let member = self.attempt(attempt).map(|returning| returning.lane.member);
        if member.is_none_or(|member| self.standing.is_stale(member)) {
            return false;
        }
        let Some(Returning { lane, .. }) = self.returning.take() else {
            return false;
        };
        self.standing.end_return(lane.member);
        self.contest.returned(lane.member);
        let at = self
            .lanes
            .partition_point(|other| other.member < lane.member);
        self.lanes.insert(at, lane);
        self.bell.ring();
        true
    }

    /// Gives up a member that fails while it returns. A bit for it where that has to be marked
    /// first.
    pub(super) fn give_up_returning(&mut self) -> u16 {
        let Some(returning) = &mut self.returning else {
            return 0;
        };
        let member = returning.lane.member;
        if self.standing.is_condemned(member) && !returning.lane.has_failed() {
            returning.lane.fail();
        }
        let stale = self.standing.is_stale(member);
        // An update of the control information may have marked it after its return.
        let marked = returning.required && stale;
        if !returning.lane.has_failed() && !marked {
            return 0;
        }
        self.standing.returns_no_more(member);
        if stale {
            self.end_return();
            return 0;
        }
        1 << member
    }

    /// What copies it cannot go on.
    fn abort(&mut self, attempt: u64) {
        let Some(returning) = self.attempt(attempt) else {
            return;
        };
        if returning.required {
            returning.lane.fail();
            self.bell.ring();
        } else {
            self.end_return();
        }
    }

    /// The attempt is over without success; what is in flight is waited for.
    pub(super) fn end_return(&mut self) {
        if let Some(Returning { mut lane, .. }) = self.returning.take() {
            lane.fail();
            self.standing.end_return(lane.member);
            self.given_up.extend(Some(lane).filter(Lane::is_in_flight));
        }
    }
}

/// How an attempt goes on.
pub(crate) enum ResilverStep {
    /// Call again at once.
    Again,
    /// Call again when something may have moved.
    Wait,
    /// The member has everything, durably. The holder of the control information makes durable
    /// that it is in sync, if [`Resilver::may_be_marked`] still holds, then calls
    /// [`Resilver::marked`].
    Mark,
    /// It came to nothing.
    Failed,
}

enum Stage {
    /// The stream of writes is to be stopped.
    Stop,
    /// The next piece is to be copied.
    Copy,
    /// It gets what was written meanwhile, up to this write.
    Stream(Number),
    /// It is flushed, up to this write.
    CatchUp(Number),
}

/// An attempt to have one member return. Blocks while it copies, for as long as the patience of a
/// member lasts at most.
pub(crate) struct Resilver {
    standing: Arc<Standing>,
    member: usize,
    attempt: u64,
    copier: Copier,
    stage: Stage,
    /// Bytes that are copied at once.
    piece: u64,
    /// Bytes that are copied, of so many.
    copied: u64,
    bytes: u64,
    planted: Planted,
}

impl Resilver {
    /// Bytes that are copied at once, outside of tests: many, for waiting to take little of the
    /// time.
    pub(crate) const PIECE_BYTES: u64 = 8 * CHUNK_BYTES;

    /// Begins to copy to `member`, whose device is `to`, so many bytes at once; `carrier` carries
    /// out what is done to one that may hang. `None` where it cannot return now: it is not stale,
    /// its operations have not all returned, another one is returning, or it refuses.
    pub(crate) fn begin(
        standing: &Arc<Standing>,
        member: usize,
        (to, path): (&Arc<dyn LogDevice>, &Path),
        carrier: Option<Arc<MemberCarrier>>,
        piece: u64,
    ) -> Option<Resilver> {
        let queue = standing.queue()?;
        let (planted, opening) = {
            let state = lock(&queue);
            let opening = state.may_return(member).then(|| state.lane_to_open(member));
            (state.planted, opening??)
        };
        let carrier = carrier.filter(|_| !planted.has(Bug::CopyWaitsForMember));
        let bytes = to.bytes();
        let piece = piece.min(bytes);
        let (device, path) = (Arc::clone(to), path.to_owned());
        // Opening its files may take long, and the log writer needs the queue.
        let open = move || {
            let (device, path) = (&device, &*path);
            let data = MemberData { device, path };
            let copier = Copier::new(&data, piece.min(CHUNK_BYTES) as usize);
            Some((copier.ok()?, opening.open().ok()?))
        };
        let (mut copier, lane) = match &carrier {
            Some(carrier) => carrier.ask_returning(open)??,
            None => open()?,
        };
        if let Some(carrier) = carrier {
            copier.carried_by(Arc::new(ReturnCarrier(carrier)));
        }
        let attempt = lock(&queue).admit(lane)?;
        Some(Resilver {
            standing: Arc::clone(standing),
            member,
            attempt,
            copier,
            stage: Stage::Stop,
            copied: 0,
            piece,
            bytes,
            planted,
        })
    }

    /// The member.
    pub(crate) fn member(&self) -> usize {
        self.member
    }

    /// Goes on for as long as one piece takes.
    pub(crate) fn step(&mut self) -> ResilverStep {
        let step = self.try_step();
        if step.is_none()
            && let Some(queue) = self.standing.queue()
        {
            lock(&queue).abort(self.attempt);
        }
        step.unwrap_or(ResilverStep::Failed)
    }

    fn try_step(&mut self) -> Option<ResilverStep> {
        let queue = self.standing.queue()?;
        let hold = |hold: bool| {
            let mut queue = lock(&queue);
            let given = queue.submitted.number;
            let hold = hold && !queue.planted.has(Bug::CopyBesideStream);
            queue.attempt(self.attempt)?.lane.hold(hold);
            Some(given)
        };
        self.stage = match self.stage {
            Stage::Stop => {
                hold(true)?;
                Stage::Copy
            }
            Stage::Copy => {
                let source = lock(&queue).source(self.attempt)?;
                let Some((member, device)) = source else {
                    return Some(ResilverStep::Wait);
                };
                let len = self.piece.min(self.bytes - self.copied);
                let has_room = || lock(&queue).has_room(self.attempt);
                let read =
                    |at, out: &mut [u8]| self.standing.read_to_copy(member, &device, (at, out));
                let copied = self.copier.range(&read, self.copied, len, has_room);
                self.copied += copied.ok()?;
                Stage::Stream(hold(false)?)
            }
            Stage::Stream(given) => {
                {
                    let mut queue = lock(&queue);
                    queue.pump();
                    if queue.attempt(self.attempt)?.lane.complete() < given {
                        return Some(ResilverStep::Wait);
                    }
                }
                if self.copied < self.bytes {
                    Stage::Stop
                } else {
                    if !self.planted.has(Bug::ReturnedUnflushed) {
                        self.copier.flush().ok()?;
                    }
                    Stage::CatchUp(lock(&queue).require(self.attempt)?)
                }
            }
            Stage::CatchUp(last) => {
                let mut queue = lock(&queue);
                queue.pump();
                if queue.attempt(self.attempt)?.lane.durable().number < last {
                    return Some(ResilverStep::Wait);
                }
                if self.planted.has(Bug::ReturnedBeforeMarked) {
                    queue.believe(self.attempt);
                }
                return Some(ResilverStep::Mark);
            }
        };
        Some(ResilverStep::Again)
    }

    /// It is not to return now.
    pub(crate) fn give_up(self) {
        if let Some(queue) = self.standing.queue() {
            lock(&queue).abort(self.attempt);
        }
    }

    /// It still may be made durable that the member is in sync. Asked by the holder of the control
    /// information: a later mark that it is stale comes after.
    pub(crate) fn may_be_marked(&self) -> bool {
        self.standing.is_returning(self.member)
    }

    /// What came of it, while the control information is still held: it is durable that the member
    /// is in sync, or that it is stale.
    pub(crate) fn marked(&self, in_sync: bool) {
        self.standing.returns_no_more(self.member);
        if !in_sync {
            self.standing.marked(1 << self.member);
        }
    }

    /// After [`Resilver::marked`], and when the control information is held no more: it is used as
    /// the others are. False when it failed meanwhile.
    pub(crate) fn believe(self) -> bool {
        let queue = self.standing.queue();
        queue.is_some_and(|queue| lock(&queue).believe(self.attempt))
    }
}
