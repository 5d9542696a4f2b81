//! The pipelined host: a log writer that seals a further batch while earlier ones are in flight.
//! It holds the baton around a turn of steps; what a turn wants done leaves through an outbox, and
//! what has ended comes back through an inbox, both carried without the baton. It holds no policy.
//!
//! Invariants:
//! - Completions are delivered in the order in which the queue returns them, which is any.
//! - Where the writer works alone ([`Writer::is_single`](crate::writer::Writer::is_single)), it
//!   leads as the dedicated log writer does, on the host's own queue; nothing else is in flight.
//! - After a close what is in flight is waited for, and nothing more is begun; after a failure it
//!   is waited for only by dropping the queue.

use super::core::Core;
use super::host::{Host, Next, PipelinedBatch};
use crate::planted::Bug;
use crate::rules;
use crate::sync::yield_now;
use crate::turn::{SwitchHold, Turned};
use crate::writer::Event;
use device::{Op, OpCompletion, Queue};
use measure::{Clock, Nanos};

/// What the host keeps between two turns.
#[derive(Debug, Default)]
pub(super) struct Between {
    /// Operations that the queue has not been given.
    pub(super) outbox: Vec<Op>,
    /// Completions that the writer has not received.
    inbox: Vec<OpCompletion>,
    /// Posts that were served.
    handled: u32,
    /// Committers are being waited for.
    gathering: bool,
    /// The writer waits since then for what lets the next log be written.
    awaits_checkpoint: Option<Nanos>,
    /// What held it when that was looked at last.
    held_by: Option<SwitchHold>,
    /// Redo that was asked for finds no place in flight since then.
    full_since: Option<Nanos>,
    /// When a batch was sealed last, or the open one was found empty.
    looked: Nanos,
}

/// What passes between the turns and the queue.
#[derive(Default)]
struct Carrier {
    outbox: Vec<Op>,
    inbox: Vec<OpCompletion>,
    in_flight: usize,
}

/// The log writer's life on a queue that does not block.
pub(super) fn run(core: &Core, mut queue: Box<dyn Queue>) {
    let carrier = std::cell::RefCell::new(Carrier::default());
    core.pipeline(
        |host| {
            let mut carrier = carrier.borrow_mut();
            let hands = &mut host.hands;
            std::mem::swap(&mut hands.between.inbox, &mut carrier.inbox);
            let turned = host.turn(core);
            std::mem::swap(&mut host.hands.between.outbox, &mut carrier.outbox);
            turned
        },
        |bell, seen, turned| {
            let carrier = &mut *carrier.borrow_mut();
            if turned == Turned::Over {
                return;
            }
            if !carrier.outbox.is_empty() {
                carrier.in_flight += carrier.outbox.len();
                queue.submit(&carrier.outbox);
                carrier.outbox.clear();
            }
            if carrier.in_flight > 0 {
                carrier.in_flight -= queue.poll(&mut carrier.inbox, false);
            }
            match turned {
                _ if !carrier.inbox.is_empty() => {}
                Turned::Again => {}
                Turned::Yield => yield_now(),
                Turned::Wait(timeout) => queue.park(bell, seen, timeout),
                Turned::Over => {}
            }
        },
    );
    // Here the queue is dropped, which waits for what is in flight after a failure.
}

impl Host {
    /// One turn: gives the writer all that has come, and seals what it wants.
    fn turn(&mut self, core: &Core) -> Turned {
        if self.history.is_some() {
            self.turn_on::<true>(core)
        } else {
            self.turn_on::<false>(core)
        }
    }

    fn turn_on<const RECORD: bool>(&mut self, core: &Core) -> Turned {
        let closing = !core.is_open();
        self.deliver::<RECORD>(core);
        if self.is_over(core) {
            return Turned::Over;
        }
        if self.hands.between.gathering && (closing || self.gathered(core)) {
            self.hands.between.gathering = false;
            let now = core.clock.now();
            self.step::<RECORD, false>(core, now, Event::Gathered);
            self.seal_and_issue::<RECORD>(core);
        }
        if self.hands.between.awaits_checkpoint.is_none() && !self.hands.between.gathering {
            self.learn_of_checkpoint::<RECORD, false>(core);
        }
        let led = !closing && self.seal_what_was_asked_for::<RECORD>(core);
        self.look_at_checkpoint::<RECORD>(core, closing);
        if core.is_deferred() {
            self.look_at_flush::<RECORD>(core);
        }
        if self.is_over(core) {
            return Turned::Over;
        }
        let between = &self.hands.between;
        if led {
            return Turned::Again;
        }
        if between.gathering {
            return Turned::Yield;
        }
        if closing && self.hands.in_flight == 0 && between.awaits_checkpoint.is_none() {
            return Turned::Over;
        }
        let lain = core.clock.now().since(between.looked);
        Turned::Wait(rules::sleeps_for(lain, core.rules.triggers.period))
    }

    /// Nothing can be written any more: the writer was poisoned, or the log by somebody else.
    fn is_over(&self, core: &Core) -> bool {
        self.hands.stuck || self.writer.is_poisoned() || core.is_poisoned()
    }

    /// Gives the writer what has ended.
    fn deliver<const RECORD: bool>(&mut self, core: &Core) {
        let mut inbox = std::mem::take(&mut self.hands.between.inbox);
        for completion in inbox.drain(..) {
            if self.is_over(core) {
                break;
            }
            self.hands.in_flight -= 1;
            let (op, result) = (completion.id, completion.result);
            self.hands.carried_out(op, completion.by);
            let now = core.clock.now();
            let next = self.step::<RECORD, false>(core, now, Event::Io { op, result });
            self.note(now, next);
        }
        // Its room is used again.
        self.hands.between.inbox = inbox;
    }

    /// Keeps what a step left to be waited for.
    fn note(&mut self, now: Nanos, next: Next) {
        match next {
            Next::Checkpoint => {
                self.hands.between.awaits_checkpoint.get_or_insert(now);
            }
            Next::Gather => self.hands.between.gathering = true,
            Next::Completion | Next::Seal | Next::Over => {}
        }
    }

    /// Gives the writer the checkpoint that it waits for. To be called after every step that
    /// may have made it wait: nobody rings for a checkpoint that had come before.
    fn look_at_checkpoint<const RECORD: bool>(&mut self, core: &Core, closing: bool) {
        while let Some(since) = self.hands.between.awaits_checkpoint {
            if self.is_over(core) {
                return;
            }
            let hold = core.switch_hold(self.hands.awaited_log_seq);
            let now = core.clock.now();
            if let Some(held) = self.hands.between.held_by
                && hold != Some(held)
            {
                self.hands.waited_for_switch(held, now.since(since).0);
                self.hands.between.awaits_checkpoint = Some(now);
            }
            self.hands.between.held_by = hold;
            let event = match hold {
                None => Event::Checkpoint(core.reusable()),
                // What is in flight may still be durable, and told.
                Some(_) if closing && self.hands.in_flight == 0 => Event::NoCheckpoint,
                Some(_) => return,
            };
            self.hands.between.awaits_checkpoint = None;
            self.hands.between.held_by = None;
            let next = self.step::<RECORD, false>(core, now, event);
            self.note(now, next);
        }
    }

    /// Has the writer flush what it deferred, if somebody waits for it or it is time. To be called
    /// after every step that may have deferred something.
    #[cold]
    fn look_at_flush<const RECORD: bool>(&mut self, core: &Core) {
        if self.is_over(core) {
            return;
        }
        if self.writer.is_single() {
            // On the host's own queue: alone, the writer has nothing in flight elsewhere.
            self.flush_deferred::<RECORD>(core);
            return;
        }
        let batches = match core.flush_is_wanted() {
            true => core.wanted(),
            // The writer looks at the time.
            false => 0,
        };
        let now = core.clock.now();
        self.step::<RECORD, false>(core, now, Event::Wanted { batches });
    }

    /// Enough committers have come, or time is up.
    fn gathered(&self, core: &Core) -> bool {
        let (open, _) = core.buffer.open_batch();
        let commits = core.buffer.commits(open);
        rules::has_gathered(commits, self.hands.gather, || core.clock.now())
    }

    /// Seals as long as somebody asked for what is in the open batch and the writer has room for
    /// it. Returns whether there may be more to do at once.
    fn seal_what_was_asked_for<const RECORD: bool>(&mut self, core: &Core) -> bool {
        loop {
            if self.is_over(core) || self.hands.between.gathering {
                return false;
            }
            let now = core.clock.now();
            let asked = core.asked();
            let (open, bytes) = core.buffer.open_batch();
            let between = &mut self.hands.between;
            let lain = now.since(between.looked);
            let overdue = rules::is_overdue(lain, core.rules.triggers.period);
            if bytes == 0 {
                between.handled = asked;
                between.full_since = None;
                if overdue {
                    between.looked = now;
                }
                return false;
            }
            if !rules::is_due(bytes, asked != between.handled, overdue, false) {
                return false;
            }
            if !self.writer.wants_pending() {
                between.full_since.get_or_insert(now);
                return false;
            }
            between.handled = asked;
            between.looked = now;
            if self.writer.is_single() {
                between.full_since = None;
                self.lead_all(core);
                return true;
            }
            let commits = core.buffer.commits(open);
            let carried = self.hands.carried;
            let pending = Event::Pending {
                commits,
                bytes,
                carried,
            };
            let next = self.step::<RECORD, false>(core, now, pending);
            self.note(now, next);
            if matches!(next, Next::Seal) {
                self.seal_and_issue::<RECORD>(core);
            }
        }
    }

    /// Seals the open batch and has it written once it is filled.
    fn seal_and_issue<const RECORD: bool>(&mut self, core: &Core) {
        let now = core.clock.now();
        // Whoever had asked by now is in this batch or an earlier one.
        self.hands.between.handled = core.asked();
        self.hands.between.looked = now;
        let batch = self.hands.seal(core);
        let waited = self.hands.between.full_since.take();
        let sealed = self.hands.underway.back_mut();
        sealed.expect("it was sealed just now").pipelined = Some(PipelinedBatch {
            group_wait_ns: waited.map_or(0, |since| now.since(since).0),
            ..PipelinedBatch::default()
        });
        self.step::<RECORD, false>(core, now, Event::Sealed(batch));
        if !core.buffer.await_filled(&batch) {
            self.hands.stuck = true;
            return;
        }
        if core.rules.planted.has(Bug::HandledAfterSeal) {
            self.hands.between.handled = core.asked();
        }
        let now = core.clock.now();
        let next = self.step::<RECORD, false>(core, now, Event::Filled { batch: batch.id });
        self.note(now, next);
    }
}
