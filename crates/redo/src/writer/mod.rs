//! The log writer: one deterministic state machine. Events in, actions out; it does no I/O, reads
//! no clock and knows no threads. Policy lives here and nowhere else: when to gather, seal,
//! issue, flush or leave the flush for later, publish, wait for the checkpoint, poison.
//!
//! It works by batch and position, never by commit or byte; the holder of the baton owns it.
//!
//! Invariants:
//! - A batch is published only when all of it and all before it is durable: its writes completed
//!   in full and, unless writes are durable by themselves, a flush that was *submitted after*
//!   those completions has succeeded.
//! - A block is written only below the reuse limit that the durable checkpoint allows.
//! - After the first failed or short operation nothing is published or issued any more.

mod adaptive;
mod deferral;
mod fifo;
mod history;
mod learning;
mod policy;
mod protocol;

pub use adaptive::Adaptive;
pub(crate) use deferral::MAX_UNDERWAY;
pub(crate) use fifo::Fifo;
pub use history::{History, ReplayMismatch};
pub use learning::{CommitWay, Learned, Learner, LogFileSync, RECENT_SWITCHES, SyncSwitch};
pub use policy::Policy;
pub(crate) use protocol::Out;
pub use protocol::{Action, Actions, Cause, Event, Io, MAX_ACTIONS, MAX_DEPTH};

pub use crate::buffer::Batch;
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use adaptive::Mode;
use deferral::{Deferral, Flush, MAX_UNFLUSHED, Place};
use device::IoFailure;
use measure::Nanos;
use policy::Gatherer;

#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    batch: Batch,
    filled: bool,
    /// Blocks of it that were handed to the device.
    issued: u32,
    /// Writes of it that have not come back.
    outstanding: u32,
    issued_at: Nanos,
}

impl InFlight {
    fn complete(&self) -> bool {
        self.filled && self.issued == self.batch.blocks && self.outstanding == 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Ready,
    Gathering,
    Sealing,
    Poisoned,
}

#[derive(Clone, Copy, Debug, Default)]
struct Write {
    op: u64,
    batch: u64,
    bytes: u64,
}

/// The state machine.
#[derive(Clone, Debug)]
pub struct Writer {
    geometry: Geometry,
    policy: Policy,
    planted: Planted,
    phase: Phase,
    gatherer: Gatherer,
    /// Of an adaptive writer.
    mode: Option<Mode>,
    next_op: u64,
    /// Sealed batches that are not written yet.
    batches: Fifo<InFlight, MAX_DEPTH>,
    /// Writes that have not come back. A batch lies in two logs at most, because the log buffer
    /// is never larger than a log.
    writes: Fifo<Write, { 2 * MAX_DEPTH }>,
    /// The log that was written last: its first block and the first of the next.
    log: (StreamBlock, StreamBlock),
    flush: Option<Flush>,
    deferral: Deferral,
    /// Everything before is complete.
    written: Place,
    written_since: Option<Nanos>,
    /// Batches that are written and not durable and that somebody waited for when they were
    /// written.
    held: u64,
    /// Everything before is durable.
    durable: Place,
    reuse_limit: StreamBlock,
}

impl Writer {
    /// A writer whose first batch is `first_batch` and begins at block `start`, the durable
    /// checkpoint, or what was archived if that is less, being at `checkpoint`.
    #[must_use]
    pub fn new(
        geometry: Geometry,
        policy: Policy,
        first_batch: u64,
        start: StreamBlock,
        checkpoint: StreamBlock,
        planted: Planted,
    ) -> Writer {
        assert!(
            (1..=MAX_DEPTH as u32).contains(&policy.depth),
            "depth is 1 to {MAX_DEPTH}"
        );
        let place = Place {
            batches: first_batch,
            block: start,
        };
        Writer {
            geometry,
            policy,
            planted,
            phase: Phase::Ready,
            gatherer: Gatherer::new(policy),
            mode: policy.adaptive.map(Mode::new),
            next_op: 1,
            batches: Fifo::default(),
            writes: Fifo::default(),
            log: (0, 0),
            flush: None,
            deferral: Deferral::new(&policy, &geometry, place, planted),
            written: place,
            written_since: None,
            held: 0,
            durable: place,
            reuse_limit: geometry.reuse_limit(checkpoint),
        }
    }

    /// Another batch may be sealed now: the host may send [`Event::Pending`].
    #[inline]
    #[must_use]
    pub fn wants_pending(&self) -> bool {
        let most = match &self.mode {
            None => self.policy.depth,
            Some(mode) => mode.depth(self.policy.depth),
        };
        let unflushed = self.written.batches - self.durable.batches;
        self.phase == Phase::Ready
            && self.underway() < u64::from(most)
            && unflushed + (self.batches.len() as u64) < MAX_UNFLUSHED + MAX_DEPTH as u64
    }

    /// Batches that are sealed and not durable, without those that nobody waits for and that are
    /// written.
    #[inline]
    fn underway(&self) -> u64 {
        self.held + self.batches.len() as u64
    }

    /// It works alone now: one batch at a time, on the host's own queue. Changes only while nothing
    /// is in flight.
    #[inline]
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.mode.as_ref().is_some_and(|mode| !mode.is_scalable())
    }

    /// Working alone was decided, and waits until nothing is in flight.
    #[cfg(feature = "crash")]
    pub(crate) fn is_leaving(&self) -> bool {
        self.mode.as_ref().is_some_and(Mode::is_leaving)
    }

    /// How often an adaptive writer changed between alone and workers.
    #[must_use]
    pub fn switches(&self) -> u64 {
        self.mode.as_ref().map_or(0, Mode::switches)
    }

    /// Nothing is in flight; what is written may still have to be flushed.
    #[inline]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Ready && self.batches.len() == 0 && self.flush.is_none()
    }

    /// Each write is durable by itself.
    #[must_use]
    pub(crate) fn has_durable_writes(&self) -> bool {
        self.policy.durable_writes
    }

    /// It was poisoned.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.phase == Phase::Poisoned
    }

    /// One step. `now` is the host's clock; actions are appended to `out`.
    pub fn step(&mut self, now: Nanos, event: Event, out: &mut Actions) {
        if !self.is_poisoned() {
            self.step_into(now, event, out);
        }
    }

    /// As [`Writer::step`], each action given to `out` as it is decided. Nothing that `out` does
    /// can change the rest of the step, so a host may carry an action out at once. Only for a
    /// writer that is not poisoned.
    ///
    /// Inlined into its caller, whose event and actions then never are values in memory: where an
    /// event is made, only its own branch remains, and where an action is decided, only what
    /// carries it out (experiments/line-cost).
    #[inline(always)]
    pub(crate) fn step_into(&mut self, now: Nanos, event: Event, out: &mut impl Out) {
        match event {
            Event::Pending {
                commits,
                bytes,
                carried,
            } => {
                self.pending(now, commits, bytes, carried, out);
            }
            Event::Gathered => {
                assert_eq!(self.phase, Phase::Gathering, "nothing was being gathered");
                self.gatherer.gathered(now);
                self.phase = Phase::Sealing;
                out.act(Action::Seal);
            }
            Event::Sealed(batch) => self.sealed(now, batch),
            Event::Filled { batch } => self.filled(now, batch, out),
            Event::Io { op, result } => self.io(now, op, result, out),
            Event::Checkpoint(block) => {
                self.reuse_limit = self.reuse_limit.max(self.geometry.reuse_limit(block));
                self.issue(now, out);
            }
            Event::Wanted { batches } => {
                self.deferral.want(batches, self.written.batches);
                self.make_durable(now, out);
            }
            Event::NoCheckpoint => {
                self.phase = Phase::Poisoned;
                out.act(Action::Poison(Cause::NoCheckpoint));
            }
        }
    }

    #[inline(always)]
    fn pending(&mut self, now: Nanos, commits: u32, bytes: u32, carried: u32, out: &mut impl Out) {
        if !self.wants_pending() || bytes == 0 {
            if self.is_idle() {
                out.act(Action::Idle);
            }
            return;
        }
        let overlapping = self.underway() > 0;
        if let Some(mode) = &mut self.mode {
            mode.begun(commits, carried, overlapping);
        }
        if let Some((want, until)) = self.gatherer.gather(now, (commits, bytes), carried) {
            self.phase = Phase::Gathering;
            out.act(Action::Gather { want, until });
        } else {
            self.phase = Phase::Sealing;
            out.act(Action::Seal);
        }
    }

    #[inline(always)]
    fn sealed(&mut self, now: Nanos, batch: Batch) {
        assert_eq!(self.phase, Phase::Sealing, "no seal was asked for");
        let expected = match self.batches.back() {
            Some(last) => (last.batch.id + 1, last.batch.end()),
            None => (self.written.batches, self.written.block),
        };
        assert_eq!((batch.id, batch.start), expected, "batches are contiguous");
        self.gatherer.sealed(batch.commits);
        self.batches.push(InFlight {
            batch,
            filled: false,
            issued: 0,
            outstanding: 0,
            issued_at: now,
        });
        self.phase = Phase::Ready;
    }

    #[inline(always)]
    fn filled(&mut self, now: Nanos, id: u64, out: &mut impl Out) {
        let entry = self.batches.iter_mut().find(|b| b.batch.id == id);
        let entry = entry.expect("only sealed batches are filled");
        entry.filled = true;
        let upto = entry.batch.end();
        self.issue(now, out);
        if self.planted.has(Bug::ReleaseEarly) {
            out.act(Action::Release { upto });
        }
    }

    /// Issues the writes of filled batches, in order, as far as the checkpoint allows.
    #[inline(always)]
    fn issue(&mut self, now: Nanos, out: &mut impl Out) {
        for entry in self.batches.iter_mut() {
            if !entry.filled && !self.planted.has(Bug::WriteUnfilled) {
                return;
            }
            while entry.issued < entry.batch.blocks {
                let start = entry.batch.start + u64::from(entry.issued);
                let early = u64::from(self.planted.has(Bug::ReuseOneBlockEarly));
                if start >= self.reuse_limit + early {
                    let log_seq = self.geometry.log_seq(start);
                    out.act(Action::AwaitCheckpoint { log_seq });
                    return;
                }
                if !(self.log.0..self.log.1).contains(&start) {
                    self.log = (start, start + self.geometry.left_in_log(start));
                }
                let left = u64::from(entry.batch.blocks - entry.issued);
                let blocks = left.min(self.log.1 - start) as u32;
                let op = self.next_op;
                self.next_op += 1;
                let bytes = u64::from(blocks) * u64::from(self.geometry.block_bytes);
                if entry.issued == 0 {
                    entry.issued_at = now;
                }
                let batch = entry.batch.id;
                self.writes.push(Write { op, batch, bytes });
                entry.outstanding += 1;
                entry.issued += blocks;
                let io = Io::Write { start, blocks };
                out.act(Action::Io { op, io });
            }
        }
    }

    #[inline(always)]
    fn take_op(&mut self) -> u64 {
        let op = self.next_op;
        self.next_op += 1;
        op
    }

    #[inline(always)]
    fn io(&mut self, now: Nanos, op: u64, result: Result<u64, IoFailure>, out: &mut impl Out) {
        let ended = match self.flush {
            Some(flush) if flush.op == op => self.flushed(now, flush, result, out),
            _ => self.wrote(now, op, result, out),
        };
        if let Err(cause) = ended {
            self.phase = Phase::Poisoned;
            return out.act(Action::Poison(cause));
        }
        self.make_durable(now, out);
        if self.flush.is_none() && self.is_idle() {
            if let Some(mode) = &mut self.mode {
                mode.idle();
            }
            out.act(Action::Idle);
        }
    }

    #[inline(always)]
    fn wrote(
        &mut self,
        now: Nanos,
        op: u64,
        result: Result<u64, IoFailure>,
        out: &mut impl Out,
    ) -> Result<(), Cause> {
        let write = self.writes.take(|w| w.op == op);
        let write = write.expect("a completion of an operation in flight");
        let wanted = write.bytes;
        let written = result.map_err(Cause::Write)?;
        if written != wanted && !self.planted.has(Bug::IgnoreShortWrite) {
            return Err(Cause::ShortWrite { written, wanted });
        }
        let entry = self.batches.find_mut(|b| b.batch.id == write.batch);
        entry
            .expect("a batch stays until its writes are back")
            .outstanding -= 1;
        self.advance_written(now, out);
        Ok(())
    }

    /// Moves the written position over the complete batches at the front.
    #[inline(always)]
    fn advance_written(&mut self, now: Nanos, out: &mut impl Out) {
        let before = self.written;
        while let Some(entry) = self.batches.front() {
            let skip = self.planted.has(Bug::PublishOutOfOrder)
                && self.batches.iter().any(InFlight::complete);
            if !entry.complete() && !skip {
                break;
            }
            self.written_since.get_or_insert(entry.issued_at);
            self.held += u64::from(self.deferral.wrote(now, &entry.batch));
            self.written = Place {
                batches: entry.batch.id + 1,
                block: entry.batch.end(),
            };
            if let Some(mode) = &mut self.mode {
                mode.wrote(entry.batch.bytes);
            }
            self.batches.drop_front();
        }
        if self.written != before {
            out.act(Action::Release {
                upto: self.written.block,
            });
        }
    }

    /// Publishes or flushes what is written and not yet durable, or leaves it for later.
    #[inline(always)]
    fn make_durable(&mut self, now: Nanos, out: &mut impl Out) {
        if self.written == self.durable {
            return;
        }
        let flushes = |w: &Writer| w.deferral.flushes(now, w.written, w.reuse_limit);
        if self.policy.durable_writes
            || self.planted.has(Bug::AcknowledgeBeforeFlush)
            || self.planted.has(Bug::PublishDeferred) && self.flush.is_none() && !flushes(self)
        {
            let since = self.written_since.take();
            self.publish(now, self.written, self.held, since, out);
        } else if self.flush.is_some() {
        } else if flushes(self) {
            let op = self.take_op();
            let deferred = self.deferral.flushing(self.written);
            self.flush = Some(Flush {
                op,
                covers: self.written,
                held: self.held,
                since: self.written_since.take().filter(|_| !deferred),
            });
            let io = Io::Flush;
            out.act(Action::Io { op, io });
        } else if self.deferral.defers(self.written.batches) {
            out.act(Action::Defer {
                batches: self.written.batches,
            });
        }
    }

    #[inline(always)]
    fn flushed(
        &mut self,
        now: Nanos,
        flush: Flush,
        result: Result<u64, IoFailure>,
        out: &mut impl Out,
    ) -> Result<(), Cause> {
        self.flush = None;
        if let Err(failure) = result {
            if self.planted.has(Bug::RetryFailedFlush) {
                self.deferral.forget(self.durable);
                return Ok(());
            }
            return Err(Cause::Flush(failure));
        }
        let (covers, held) = if self.planted.has(Bug::PublishBeyondSnapshot) {
            (self.written, self.held)
        } else {
            (flush.covers, flush.held)
        };
        self.publish(now, covers, held, flush.since, out);
        Ok(())
    }

    #[inline(always)]
    fn publish(
        &mut self,
        now: Nanos,
        upto: Place,
        held: u64,
        since: Option<Nanos>,
        out: &mut impl Out,
    ) {
        if let Some(since) = since {
            self.gatherer.served(now.since(since));
        }
        if let Some(mode) = &mut self.mode {
            mode.published(now, upto.batches - self.durable.batches);
        }
        self.durable = upto;
        self.held -= held;
        let Place { batches, block } = upto;
        out.act(Action::Publish { batches, block });
    }
}

#[cfg(test)]
mod tests;
