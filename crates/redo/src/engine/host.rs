//! The host of the log writer: carries out its actions on a queue and the log buffer. It holds no
//! policy. The holder of the baton (the mutex around it) runs it: the inline leader, the fallback
//! log writer or the dedicated one.

use super::core::Core;
use super::observer::Observer;
use super::pipeline::Between;
use super::reports::Reports;
use super::retired::Retired;
use crate::buffer::{Batch, Stations};
use crate::group::StreamBlock;
use crate::rules;
use crate::sync::yield_now;
use crate::turn::{LeadOutcome, SwitchHold};
use crate::writer::Writer;
use crate::writer::{Action, Actions, Event, Fifo, History, Io, MAX_DEPTH, MAX_UNDERWAY, Out};
use device::{Op, OpCompletion, OpKind, Queue};
use measure::{Clock, Nanos};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Underway {
    pub(super) batch: Batch,
    pub(super) writes: u32,
    pub(super) stations: Stations,
    /// How long it waited for the log that it switches to.
    pub(super) switch_waits: SwitchWaits,
    pub(super) pipelined: Option<PipelinedBatch>,
}

/// Nanoseconds of waiting for a log to be reused, by what held it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SwitchWaits {
    pub(super) checkpoint_ns: u64,
    pub(super) archive_ns: u64,
}

impl SwitchWaits {
    fn add(&mut self, hold: SwitchHold, waited_ns: u64) {
        match hold {
            SwitchHold::Checkpoint => self.checkpoint_ns += waited_ns,
            SwitchHold::Archive => self.archive_ns += waited_ns,
        }
    }
}

/// What is known of a batch that is written while others are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PipelinedBatch {
    /// Its writes: it lies in two logs at most.
    pub(super) ops: [u64; 2],
    pub(super) worker: u16,
    pub(super) group_wait_ns: u64,
}

/// What the holder of the baton owns.
pub(crate) struct Host {
    pub(crate) writer: Writer,
    pub(super) hands: ActionExecutor,
    pub(crate) history: Option<History>,
}

/// What carries out the writer's actions.
pub(super) struct ActionExecutor {
    pub(super) queue: Box<dyn Queue>,
    done: Vec<OpCompletion>,
    next_done: usize,
    pub(super) in_flight: u32,
    /// Commits in the open batch when the last batch was published.
    pub(super) carried: u32,
    pub(super) underway: Fifo<Underway, MAX_UNDERWAY>,
    /// What to gather, and until when.
    pub(super) gather: (u32, Nanos),
    /// The log that waits for the checkpoint.
    pub(super) awaited_log_seq: u64,
    /// The last checkpoint that the writer was given without waiting for it.
    pub(super) known_checkpoint: StreamBlock,
    reports: Reports,
    /// A filler died: the batch will never be whole, and nothing is led any more.
    pub(super) stuck: bool,
    /// What a pipelined log writer keeps between its turns.
    pub(super) between: Between,
}

/// What the writer waits for after a step; the particulars are left in [`ActionExecutor`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// The end of an operation.
    Completion,
    /// Committers, as [`Action::Gather`] says.
    Gather,
    /// A sealed batch.
    Seal,
    /// What lets the next log be written: the checkpoint, or the archiver.
    Checkpoint,
    /// Nothing: it is idle or poisoned.
    Over,
}

impl Host {
    pub(crate) fn new(
        writer: Writer,
        queue: Box<dyn Queue>,
        observer: Option<Observer>,
        record: bool,
        log_seq: u64,
    ) -> Host {
        let hands = ActionExecutor {
            queue,
            done: Vec::with_capacity(4 * MAX_DEPTH),
            next_done: 0,
            in_flight: 0,
            carried: 0,
            underway: Fifo::default(),
            gather: (0, Nanos::ZERO),
            awaited_log_seq: 0,
            known_checkpoint: 0,
            reports: Reports::new(observer, writer.has_durable_writes(), log_seq),
            stuck: false,
            between: Between::default(),
        };
        Host {
            writer,
            hands,
            history: record.then(History::default),
        }
    }

    /// Waits for what a leader left in flight that gave up: nobody receives its outcome, but its
    /// bytes must not reach the device later than those of the next process that opens the log.
    /// Members that are late catch up, or are given up.
    pub(crate) fn catch_up(&mut self) {
        let mut ended = Vec::new();
        while self.hands.queue.poll(&mut ended, true) > 0 {}
    }

    /// Gives the queue up when it has caught up, and with it the files: sessions that outlive the
    /// log hold this host.
    pub(crate) fn retire(&mut self) {
        self.catch_up();
        self.hands.queue = Box::new(Retired::default());
    }

    /// Writes the open batch, and what comes while it is on its way, until nothing is in flight.
    /// Where somebody waits only for what is written already, it is flushed and no more.
    pub(crate) fn lead(&mut self, core: &Core) -> LeadOutcome {
        self.lead_for(core, false)
    }

    /// As [`Host::lead`], and writes the open batch in any case.
    pub(crate) fn lead_all(&mut self, core: &Core) -> LeadOutcome {
        self.lead_for(core, true)
    }

    fn lead_for(&mut self, core: &Core, all: bool) -> LeadOutcome {
        match self.history {
            Some(_) => self.lead_on::<true>(core, all),
            None => self.lead_on::<false>(core, all),
        }
    }

    #[inline(always)]
    fn lead_on<const RECORD: bool>(&mut self, core: &Core, all: bool) -> LeadOutcome {
        let (open, bytes) = core.buffer.open_batch();
        if self.hands.stuck || self.writer.is_poisoned() {
            return LeadOutcome::Nothing;
        }
        let first = core.buffer.published();
        if core.is_deferred() && (bytes == 0 || core.flush_is_wanted()) {
            let flushed = self.flush_deferred::<RECORD>(core);
            if bytes == 0 || !all || self.writer.is_poisoned() {
                return flushed;
            }
            // They need not sleep for the write of what they don't wait for.
            core.wake_from(first);
        }
        if bytes == 0 {
            return LeadOutcome::Nothing;
        }
        self.learn_of_checkpoint::<RECORD, true>(core);
        let pending = Event::Pending {
            commits: core.buffer.commits(open),
            bytes,
            carried: self.hands.carried,
        };
        let mut now = core.clock.now();
        let mut next = self.step::<RECORD, true>(core, now, pending);
        // Each event is made where it is sent: there the step shrinks to what that event does.
        loop {
            next = match next {
                Next::Completion => {
                    let OpCompletion { id: op, result, .. } = self.hands.await_completion();
                    now = core.clock.now();
                    self.step::<RECORD, true>(core, now, Event::Io { op, result })
                }
                Next::Gather => {
                    self.hands.gather(core);
                    now = core.clock.now();
                    self.step::<RECORD, true>(core, now, Event::Gathered)
                }
                Next::Seal => {
                    let batch = self.hands.seal(core);
                    self.step::<RECORD, true>(core, now, Event::Sealed(batch));
                    if !core.buffer.await_filled(&batch) {
                        self.hands.stuck = true;
                        return LeadOutcome::From(first);
                    }
                    now = core.clock.now();
                    self.step::<RECORD, true>(core, now, Event::Filled { batch: batch.id })
                }
                Next::Checkpoint => {
                    let checkpoint = self.hands.await_switch(core);
                    now = core.clock.now();
                    let event = checkpoint.map_or(Event::NoCheckpoint, Event::Checkpoint);
                    self.step::<RECORD, true>(core, now, event)
                }
                Next::Over => {
                    if core.flush_is_wanted() && !self.writer.is_poisoned() {
                        self.flush_deferred::<RECORD>(core);
                    }
                    return LeadOutcome::From(first);
                }
            }
        }
    }

    /// One step of the writer and its actions. Inlined, so that what remains of it at each call
    /// is the one event's way through the writer.
    #[inline(always)]
    pub(super) fn step<const RECORD: bool, const DIRECT: bool>(
        &mut self,
        core: &Core,
        now: Nanos,
        event: Event,
    ) -> Next {
        if RECORD {
            return self.recorded_step::<DIRECT>(core, now, event);
        }
        let mut act = Acting::<DIRECT> {
            hands: &mut self.hands,
            core,
            now,
            next: Next::Completion,
        };
        self.writer.step_into(now, event, &mut act);
        act.next
    }

    /// As [`Host::step`], written into the history.
    #[cold]
    #[inline(never)]
    fn recorded_step<const DIRECT: bool>(&mut self, core: &Core, now: Nanos, event: Event) -> Next {
        let mut actions = Actions::default();
        self.writer.step(now, event, &mut actions);
        if let Some(history) = &mut self.history {
            history.record(now, event, &actions);
        }
        let mut act = Acting::<DIRECT> {
            hands: &mut self.hands,
            core,
            now,
            next: Next::Completion,
        };
        for action in actions.iter() {
            act.act(action);
        }
        act.next
    }
}

/// A step's actions being carried out. `DIRECT` ones are submitted at once, to the host's own
/// queue; others are left in the outbox for the thread that submits them without the baton.
struct Acting<'a, const DIRECT: bool> {
    hands: &'a mut ActionExecutor,
    core: &'a Core,
    now: Nanos,
    next: Next,
}

impl<const DIRECT: bool> Out for Acting<'_, DIRECT> {
    #[inline(always)]
    fn act(&mut self, action: Action) {
        let (core, now) = (self.core, self.now);
        match action {
            Action::Gather { want, until } => {
                self.hands.gather = (want, until);
                self.next = Next::Gather;
            }
            Action::Seal => self.next = Next::Seal,
            Action::Io { op, io } => self.hands.submit::<DIRECT>(core, now, op, io),
            Action::AwaitCheckpoint { log_seq } => {
                self.hands.awaited_log_seq = log_seq;
                self.next = Next::Checkpoint;
            }
            Action::Release { upto } => self.hands.release(core, now, upto),
            Action::Defer { batches } => {
                self.hands.reports.defers(batches);
                core.defer(batches);
            }
            Action::Publish { batches, block } => self.hands.publish(core, now, batches, block),
            Action::Poison(cause) => {
                core.poison_as_holder(cause);
                self.next = Next::Over;
            }
            Action::Idle => self.next = Next::Over,
        }
    }
}

impl ActionExecutor {
    #[inline]
    pub(super) fn seal(&mut self, core: &Core) -> Batch {
        let batch = core
            .buffer
            .seal()
            .expect("only a batch with bytes is sealed");
        self.underway.push(Underway {
            batch,
            writes: 0,
            stations: Stations::default(),
            switch_waits: SwitchWaits::default(),
            pipelined: None,
        });
        batch
    }

    #[inline(always)]
    fn submit<const DIRECT: bool>(&mut self, core: &Core, now: Nanos, op: u64, io: Io) {
        let kind = match io {
            Io::Write { start, blocks } => {
                let mut all = self.underway.iter_mut();
                let owner = all.find(|u| start < u.batch.end());
                if let Some(underway) = owner {
                    if let Some(carried) = &mut underway.pipelined {
                        carried.ops[(underway.writes & 1) as usize] = op;
                    }
                    underway.writes += 1;
                    if underway.stations.submitted_ns == 0 {
                        underway.stations.submitted_ns = now.0;
                    }
                }
                OpKind::Write {
                    addr: core.geometry.address(start),
                    pieces: core.buffer.pieces(start, u64::from(blocks)),
                }
            }
            Io::Flush => {
                self.reports.flushing(now);
                core.defer(0);
                OpKind::Flush
            }
        };
        self.in_flight += 1;
        let op = Op { id: op, kind };
        if DIRECT {
            self.queue.submit(&[op]);
        } else {
            self.between.outbox.push(op);
        }
    }

    #[inline(always)]
    pub(super) fn await_completion(&mut self) -> OpCompletion {
        if self.next_done == self.done.len() {
            self.done.clear();
            self.next_done = 0;
            assert!(
                self.in_flight > 0,
                "the writer waits for something that is in flight"
            );
            while self.done.is_empty() {
                self.queue.poll(&mut self.done, true);
            }
        }
        let completion = self.done[self.next_done];
        self.next_done += 1;
        self.in_flight -= 1;
        completion
    }

    /// `by` ended the operation `op`.
    pub(super) fn carried_out(&mut self, op: u64, by: u16) {
        let mut all = self.underway.iter_mut();
        let owner = all.find_map(|u| u.pipelined.as_mut().filter(|c| c.ops.contains(&op)));
        if let Some(carried) = owner {
            carried.worker = by;
        }
    }

    /// The first batch that was not submitted waited so long for the log that it switches to.
    pub(super) fn waited_for_switch(&mut self, hold: SwitchHold, waited_ns: u64) {
        let mut all = self.underway.iter_mut();
        if let Some(first) = all.find(|u| u.stations.submitted_ns == 0) {
            first.switch_waits.add(hold, waited_ns);
        }
    }

    /// Waits until the log that the writer switches to may be reused; `None` when it never will.
    #[cold]
    fn await_switch(&mut self, core: &Core) -> Option<StreamBlock> {
        while let Some(hold) = core.switch_hold(self.awaited_log_seq) {
            let start = core.clock.now();
            let goes_on = core.await_switch(hold, self.awaited_log_seq);
            let waited = core.clock.now().since(start).0;
            if let Some(last) = self.underway.back_mut() {
                last.switch_waits.add(hold, waited);
            }
            if !goes_on {
                return None;
            }
        }
        Some(core.reusable())
    }

    #[inline(always)]
    fn release(&mut self, core: &Core, now: Nanos, upto: u64) {
        for underway in self.underway.iter_mut() {
            if underway.batch.end() <= upto && underway.stations.written_ns == 0 {
                underway.stations.written_ns = now.0;
                if self.reports.are_wanted() {
                    self.reports.written(core, underway);
                }
            }
        }
        core.buffer.release(upto);
    }

    #[inline(always)]
    fn publish(&mut self, core: &Core, now: Nanos, batches: u64, block: u64) {
        let (open, _) = core.buffer.open_batch();
        self.carried = core.buffer.commits(open);
        while let Some(underway) = self.underway.front_mut() {
            if underway.batch.id >= batches {
                break;
            }
            underway.stations.durable_ns = now.0;
            let batch = underway.batch.id;
            core.buffer.leave_stations(batch, underway.stations);
            if self.reports.are_wanted() {
                self.reports.durable(core, underway);
            }
            self.underway.drop_front();
        }
        core.buffer.publish(batches, block);
    }

    /// Lets committers run until enough of them wait for the open batch.
    fn gather(&mut self, core: &Core) {
        let (open, _) = core.buffer.open_batch();
        let now = || core.clock.now();
        while !rules::has_gathered(core.buffer.commits(open), self.gather, now) {
            yield_now();
        }
    }
}
