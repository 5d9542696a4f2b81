//! Which members the queue gives up, when, and what has to be true before one may be marked.
//!
//! Invariants: a member is to be marked only when in its cell others have everything that was
//! returned; from then on nothing is returned until it is marked. A member that does nothing for
//! too long is given up where another one goes on.
//!
//! What it must not know: how the mark is made durable.

use super::driver::Lane;
use super::queue::{GivenUp, QueueState};
use crate::planted::Bug;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What is to be done about members that are lost.
enum Lost {
    /// Nothing: there are none.
    Nobody,
    /// Nothing yet, and nothing may be returned: the others catch up with what was.
    Early,
    /// All are.
    All,
    /// These are to be marked, a bit for each, where they are not.
    Some(u16),
}

impl QueueState {
    /// Looks for members that failed, were condemned, or are stale by now.
    fn look_for_lost(&mut self) -> Lost {
        for lane in &mut self.lanes {
            if self.standing.is_condemned(lane.member) && !lane.has_failed() {
                lane.fail();
            }
        }
        let returning = self.give_up_returning();
        let is_marked = |lane: &Lane| self.standing.is_stale(lane.member);
        let failed = |lane: &&Lane| lane.has_failed() && !is_marked(lane);
        let mask = self.lanes.iter().filter(failed).fold(returning, bit);
        if mask == 0 && !self.lanes.iter().any(is_marked) {
            return Lost::Nobody;
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
                return Lost::Early;
            }
            cells_left += usize::from(!left.is_empty());
        }
        match cells_left {
            0 => Lost::All,
            _ => Lost::Some(mask),
        }
    }

    /// Gives up the members that are lost.
    pub(super) fn give_up_lost(&mut self) -> GivenUp {
        let mask = match self.look_for_lost() {
            Lost::Nobody => return GivenUp::All,
            Lost::Early => return GivenUp::NotYet,
            Lost::All => {
                self.broken = true;
                return GivenUp::All;
            }
            Lost::Some(mask) => mask,
        };
        if self.planted.has(Bug::SkipStaleFence) {
            self.standing.marked(mask);
        } else if mask != 0 {
            return GivenUp::Mark(mask);
        }
        let (standing, lanes) = (&self.standing, &mut self.lanes);
        let gone = lanes.extract_if(.., |lane| standing.is_stale(lane.member));
        self.given_up.extend(gone.filter(Lane::is_in_flight));
        GivenUp::All
    }

    /// Gives up `member`, which does not answer, where another one goes on. Whether it may be
    /// marked: in each cell others have everything that was acknowledged. From then on nothing is
    /// returned until it is.
    pub(super) fn goes_on_without(&mut self, member: usize) -> bool {
        if self.planted.has(Bug::UpdateWaitsForMember) {
            return false;
        }
        self.pump();
        if !self.standing.is_condemned(member) {
            let (late, _) = self.look_for_patience();
            let late = late | 1 << member;
            let goes_on = |lane: &Lane| {
                let lost = lane.has_failed() || self.standing.is_condemned(lane.member);
                !lost && late >> lane.member & 1 == 0
            };
            if !self.lanes.iter().any(goes_on) {
                return false;
            }
            self.standing.condemn(member);
        }
        match self.look_for_lost() {
            // Nothing will be acknowledged any more.
            Lost::All => return true,
            Lost::Some(mask) => {
                self.standing.unmarked.fetch_or(mask, Ordering::SeqCst);
            }
            Lost::Nobody | Lost::Early => {}
        }
        self.standing.unmarked() >> member & 1 != 0
    }

    /// As [`Patience::look`], now.
    fn look_for_patience(&mut self) -> (u16, Option<Duration>) {
        let returning = self.returning.as_ref().filter(|r| r.required);
        let returning = returning.map(|r| &r.lane);
        let times = (self.standing.now(), self.standing.patience());
        self.patience.look(&self.lanes, returning, times)
    }

    /// Has members given up that have done nothing for too long, where others suffice; returns for
    /// how long the others may go on so.
    pub(super) fn look_for_late(&mut self) -> Option<Duration> {
        let (late, left) = self.look_for_patience();
        let (lanes, standing, acknowledged) = (&self.lanes, &self.standing, self.acknowledged);
        // At least one member goes on that has everything.
        let goes_on = |lane: &&Lane| {
            !lane.has_failed()
                && late >> lane.member & 1 == 0
                && lane.durable().number >= acknowledged
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
