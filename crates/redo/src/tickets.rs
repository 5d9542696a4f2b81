//! Tickets of commits that nobody waits for one by one, and the queue in which a thread keeps them
//! until their outcome is known.
//!
//! A queue is first in, first out: a ticket's outcome is reported after those of the tickets before
//! it. So it is enough to look at the durable position, and after the first ticket that failed no
//! later one is reported durable. Each ticket is reported once. Nothing here allocates but the
//! making of a queue.
//!
//! What it must not know: devices, clocks, who leads (`crate::turn`).

use crate::buffer::{LogBuffer, Stations};
use crate::error::Error;
use crate::planted::{Bug, Planted};
use crate::turn::{LeadOutcome, SharedBaton};
use std::collections::VecDeque;

/// A commit that was requested, as numbers: what a ticket of any log consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommitRequest {
    /// So many batches must be durable.
    pub(crate) through: u64,
    /// Somebody wants it written.
    pub(crate) immediate: bool,
}

/// The outcome of a ticket.
#[must_use]
#[derive(Debug)]
pub struct Completion<T> {
    /// What the ticket was queued with.
    pub tag: T,
    /// The log write that served it: when it was submitted, complete and durable, on the log's
    /// clock. `None` where it failed, nothing was to be written, or it was long ago.
    pub stations: Option<Stations>,
    /// The redo is durable; or the log failed or was closed, and whether the redo is there is known
    /// only after recovery.
    pub outcome: Result<(), Error>,
}

/// Tickets in the order in which they were queued.
pub(crate) struct Tickets<T> {
    entries: VecDeque<(u64, T)>,
    capacity: usize,
    /// Entries at the front whose outcome is known, and how many of these are durable.
    decided: usize,
    durable: usize,
    /// The newest entry's batches, and those of the newest that wants to be written.
    last: u64,
    wanted: u64,
    failed: bool,
}

impl<T> Tickets<T> {
    pub(crate) fn new(capacity: usize) -> Tickets<T> {
        let capacity = capacity.max(1);
        Tickets {
            entries: VecDeque::with_capacity(capacity),
            capacity,
            decided: 0,
            durable: 0,
            last: 0,
            wanted: 0,
            failed: false,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, request: CommitRequest, tag: T) -> Result<(), T> {
        if self.entries.len() >= self.capacity {
            return Err(tag);
        }
        // Sessions of a thread may commit in another order than they appended in.
        self.last = self.last.max(request.through);
        if request.immediate {
            self.wanted = self.last;
        }
        self.entries.push_back((self.last, tag));
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The batches that the first undecided ticket needs, and whether somebody wants them written.
    pub(crate) fn next(&self) -> Option<(u64, bool)> {
        let (through, _) = self.entries.get(self.decided)?;
        Some((*through, self.wanted >= *through))
    }

    /// Somebody wants something of it written.
    #[cfg(all(feature = "crash", not(feature = "loom")))]
    pub(crate) fn wanted(&self) -> bool {
        self.next().is_some_and(|(_, wanted)| wanted)
    }

    /// The batches that the last undecided ticket needs.
    #[cfg(all(feature = "crash", not(feature = "loom")))]
    pub(crate) fn waits_for(&self) -> Option<u64> {
        self.next().map(|_| self.last)
    }

    /// Decides what can be decided. `open` must have been read before `durable`: what was durable
    /// when the log failed is reported as failed.
    #[inline]
    pub(crate) fn decide(&mut self, open: bool, durable: u64) {
        if !self.failed {
            let undecided = self.entries.range(self.decided..);
            let more = undecided.take_while(|(through, _)| *through <= durable);
            let more = more.count();
            self.decided += more;
            self.durable += more;
            self.failed = !open && self.decided < self.entries.len();
        }
        if self.failed {
            self.decided = self.entries.len();
        }
    }

    /// The next ticket whose outcome is known: its tag, and the batches that are durable with it;
    /// `None` if it failed.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(T, Option<u64>)> {
        self.decided = self.decided.checked_sub(1)?;
        let (through, tag) = self.entries.pop_front()?;
        let durable = self.durable > 0;
        self.durable -= usize::from(durable);
        Some((tag, durable.then_some(through)))
    }

    /// Decides without waiting; has written what nobody writes yet. How many are decided.
    #[inline]
    pub(crate) fn poll<H>(&mut self, turn: &SharedBaton<H>) -> usize {
        self.look(turn);
        if self.decided == 0
            && let Some((through, wanted)) = self.next()
        {
            if wanted {
                turn.request(through - 1);
            }
            turn.request_flush(through - 1);
        }
        self.decided
    }

    #[inline]
    fn look<H>(&mut self, turn: &SharedBaton<H>) {
        let open = turn.is_open();
        self.decide(open, durable_batches(&turn.buffer, turn.rules.planted));
    }

    /// Waits until one is decided, leading where that is this host's way. How many are: zero only
    /// when none is queued.
    pub(crate) fn wait<H>(
        &mut self,
        turn: &SharedBaton<H>,
        mut lead: impl FnMut(&mut H) -> LeadOutcome,
    ) -> usize {
        loop {
            self.look(turn);
            let Some((through, wanted)) = self.next().filter(|_| self.decided == 0) else {
                return self.decided;
            };
            // Why it failed is told with each ticket.
            let _ = turn.await_published(through - 1, wanted, &mut lead);
        }
    }
}

/// Number of batches whose tickets may be reported durable.
#[inline]
pub(crate) fn durable_batches(buffer: &LogBuffer, planted: Planted) -> u64 {
    if planted.has(Bug::TicketAtWritten) {
        return buffer.released_batches();
    }
    buffer.published()
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    fn ticket(through: u64) -> CommitRequest {
        CommitRequest {
            through,
            immediate: true,
        }
    }

    fn unhurried(through: u64) -> CommitRequest {
        CommitRequest {
            through,
            immediate: false,
        }
    }

    fn taken(queue: &mut Tickets<u32>) -> Vec<(u32, bool)> {
        let told = std::iter::from_fn(|| queue.take());
        told.map(|(tag, durable)| (tag, durable.is_some()))
            .collect()
    }

    #[test]
    fn tickets_come_back_once_in_order_when_their_batches_are_durable() {
        let mut queue = Tickets::new(8);
        for (through, tag) in [(0, 1), (3, 2), (3, 3), (2, 4), (5, 5)] {
            queue.push(ticket(through), tag).expect("room");
        }
        queue.decide(true, 2);
        assert_eq!(taken(&mut queue), [(1, true)], "nothing to wait for");
        queue.decide(true, 3);
        queue.decide(true, 3);
        assert_eq!(taken(&mut queue), [(2, true), (3, true), (4, true)]);
        assert_eq!(taken(&mut queue), []);
        assert_eq!(queue.len(), 1);
    }

    #[test]
    fn after_the_first_that_failed_none_is_durable() {
        let mut queue = Tickets::new(8);
        for tag in 1..=4 {
            queue.push(ticket(tag.into()), tag).expect("room");
        }
        queue.decide(true, 1);
        queue.decide(false, 2);
        // A log that was closed is written out behind the failure.
        queue.decide(false, 4);
        queue.push(ticket(1), 5).expect("room");
        queue.decide(false, 4);
        let all = [(1, true), (2, true), (3, false), (4, false), (5, false)];
        assert_eq!(taken(&mut queue), all);
    }

    #[test]
    fn a_full_queue_gives_the_tag_back() {
        let mut queue = Tickets::new(0);
        assert_eq!(queue.capacity(), 1);
        queue.push(ticket(1), 1).expect("room for one");
        let full = queue.push(ticket(2), 2).expect_err("no room");
        assert_eq!(full, 2);
        queue.decide(true, 1);
        assert!(queue.push(ticket(2), 2).is_err(), "decided is not taken");
        assert_eq!(taken(&mut queue), [(1, true)]);
    }

    #[test]
    fn who_posts_behind_who_does_not_has_both_written() {
        let mut queue = Tickets::new(4);
        queue.push(unhurried(2), 1).expect("room");
        assert_eq!(queue.next(), Some((2, false)));
        queue.push(ticket(4), 2).expect("room");
        queue.push(unhurried(6), 3).expect("room");
        assert_eq!(queue.next(), Some((2, true)));
        queue.decide(true, 4);
        assert_eq!(queue.next(), Some((6, false)));
    }
}
