//! The writer's host in the simulation: carries out actions and gives the writer what came of
//! them, at moments that are drawn. No policy.

use super::disks::EIO;
use super::env::Env;
use super::life::{Flight, Life};
use super::tasks;
use crate::planted::Bug;
use crate::writer::{Action, Actions, Event, Io, MAX_DEPTH};
use device::sim_disk::{OpOutcome, Pending};
use device::{Op, OpKind};

impl Life {
    /// One step of the writer, and what it wants done.
    pub(super) fn feed(&mut self, event: Event, env: &mut Env) {
        let mut actions = Actions::default();
        let switches = self.writer.switches();
        self.writer.step(self.now, event, &mut actions);
        self.history.record(self.now, event, &actions);
        if self.writer.switches() > switches {
            let alone = self.writer.is_single();
            env.coverage.switched_to_alone += u64::from(alone);
            env.coverage.switched_to_workers += u64::from(!alone);
            env.note(|| format!("adaptive: alone {alone}"));
        }
        for action in actions.iter() {
            match action {
                Action::Gather { want, until } => self.gathering = Some((want, until)),
                Action::Seal => self.seal(env),
                Action::Io { op, io } => self.submit(op, io, env),
                Action::AwaitCheckpoint { .. } => {
                    env.coverage.awaited_checkpoint += u64::from(!self.awaits_checkpoint);
                    self.awaits_checkpoint = true;
                }
                Action::Release { upto } => {
                    self.flights.retain(|f| f.end > upto);
                    self.sealed.retain(|b| b.end() > upto);
                    self.buffer.release(upto);
                }
                Action::Publish { batches, block } => self.publish(batches, block, env),
                Action::Defer { batches } => {
                    env.note(|| format!("the flush of batches before {batches} is deferred"));
                    env.coverage.deferred += 1;
                    self.deferred = batches;
                }
                Action::Poison(cause) => {
                    env.note(|| format!("poisoned: {cause}"));
                    self.poisoned = true;
                    tasks::wake_all(&self.buffer);
                }
                Action::Idle => {}
            }
        }
    }

    fn seal(&mut self, env: &mut Env) {
        let batch = self.buffer.seal().expect("only a batch with bytes");
        env.note(|| format!("sealed {batch:?}"));
        let geometry = &env.plan.geometry;
        let across = geometry.log_seq(batch.start) != geometry.log_seq(batch.end() - 1);
        env.coverage.batches_across_logs += u64::from(across);
        let wraps = batch.id > 0 && batch.id.is_multiple_of(1 << 32);
        env.coverage.batch_number_wraps += u64::from(wraps);
        self.unfilled.push(batch);
        self.sealed.push(batch);
        env.coverage.deep += u64::from(self.sealed.len() > 1);
        let underway = batch.id + 1 - self.buffer.published();
        env.coverage.deepest += u64::from(underway == MAX_DEPTH as u64);
        self.feed(Event::Sealed(batch), env);
    }

    fn submit(&mut self, op: u64, io: Io, env: &mut Env) {
        let (kind, end) = match io {
            Io::Write { start, blocks } => {
                let pieces = self.buffer.pieces(start, u64::from(blocks));
                env.coverage.ring_wraps += u64::from(pieces[1].len > 0);
                let reused = start >= env.plan.geometry.capacity_blocks();
                env.coverage.reused_log_writes += u64::from(reused);
                env.moments.written(start + u64::from(blocks));
                let log = env.plan.geometry.log_seq(start);
                let switches = self.log.replace(log).is_some_and(|last| last != log);
                env.coverage.log_switches += u64::from(switches);
                let addr = env.plan.geometry.address(start);
                (OpKind::Write { addr, pieces }, start + u64::from(blocks))
            }
            Io::Flush => {
                env.coverage.flushed_deferred += u64::from(self.deferred > 0);
                self.deferred = 0;
                (OpKind::Flush, u64::MAX)
            }
        };
        env.note(|| format!("op {op}: {io:?}"));
        let op = Op { id: op, kind };
        let bytes = op.bytes() as u64;
        self.flights.push(Flight {
            op: op.id,
            end,
            bytes,
        });
        self.queue.submit(&[op]);
    }

    /// Has the writer flush what it deferred, if somebody waits for it or it may be time. Returns
    /// whether it did.
    pub(super) fn look_at_flush(&mut self, env: &mut Env) -> bool {
        if self.deferred == 0 || self.poisoned {
            return false;
        }
        let waits = self.waited_for() > self.buffer.published();
        let waits = waits && !env.planted.has(Bug::DeferUnlooked);
        if !waits && !env.rng.chance(1, 16) {
            return false;
        }
        let batches = if waits { self.waited_for() } else { 0 };
        if !waits && env.rng.chance(1, 2) {
            self.now = self.now.plus(env.plan.policy.defer_time);
        }
        let before = env.coverage.flushed_deferred;
        self.feed(Event::Wanted { batches }, env);
        let flushed = env.coverage.flushed_deferred - before;
        env.coverage.flushed_deferred = before;
        env.coverage.flushed_for_waiter += if waits { flushed } else { 0 };
        env.coverage.flushed_overdue += if waits { 0 } else { flushed };
        flushed > 0
    }

    fn publish(&mut self, batches: u64, block: u64, env: &mut Env) {
        env.note(|| format!("published batches before {batches}, blocks before {block}"));
        if self.failed {
            env.violated("I8: published after the first failure");
        }
        let first = self.buffer.published();
        let together = batches - first > 1;
        env.coverage.published_together += u64::from(together);
        let (open, _) = self.buffer.open_batch();
        self.carried = self.buffer.commits(open);
        self.buffer.publish(batches, block);
        tasks::wake(&self.buffer, first, batches);
    }

    /// The disk ends one operation, the oldest or any other.
    pub(super) fn finish_one(&mut self, env: &mut Env) {
        let pending = env.disks.pending();
        if pending.is_empty() {
            return;
        }
        let index = env.choose(&pending);
        let Some((member, chosen)) = pending.get(index) else {
            return;
        };
        let outcome = draw_outcome(chosen, env);
        if chosen.op.kind != OpKind::Flush {
            let same = |p: &&(usize, Pending)| p.0 == *member;
            let is_flush = |p: &(usize, Pending)| p.1.op.kind == OpKind::Flush;
            let flushing = pending.iter().filter(same).any(is_flush);
            env.coverage.written_during_flush += u64::from(flushing);
            let older = pending
                .iter()
                .take(index)
                .filter(same)
                .any(|p| !is_flush(p));
            env.coverage.out_of_order += u64::from(older);
        }
        env.note(|| format!("op {} of disk {member} ends: {outcome:?}", chosen.op.id));
        env.disks.finish(*member, chosen.ticket, outcome);
    }

    /// The host takes what has ended from the queue.
    pub(super) fn collect(&mut self) {
        self.queue.poll(&mut self.inbox, false);
    }

    /// Gives the writer an operation that ended, in any order.
    pub(super) fn deliver(&mut self, env: &mut Env) {
        if self.inbox.is_empty() {
            self.collect();
        }
        if self.inbox.is_empty() {
            return;
        }
        let index = env.rng.below(self.inbox.len() as u64) as usize;
        let completion = self.inbox.remove(index);
        let Some(at) = self.flights.iter().position(|f| f.op == completion.id) else {
            // Only a planted bug releases what is in flight; the disk notes the consequences.
            return;
        };
        let flight = self.flights.remove(at);
        if self.failed {
            env.coverage.completions_after_failure += u64::from(completion.result.is_ok());
        }
        let event = Event::Io {
            op: completion.id,
            result: completion.result,
        };
        self.failed |= completion.result != Ok(flight.bytes);
        self.feed(event, env);
    }
}

/// How an operation of the log ends.
fn draw_outcome(pending: &Pending, env: &mut Env) -> OpOutcome {
    if !env.rng.chance(env.plan.faults, 4096) {
        return OpOutcome::Done;
    }
    match pending.op.kind {
        OpKind::Flush => {
            env.coverage.failed_flushes += 1;
            env.flush_failed = true;
            OpOutcome::Fail(EIO)
        }
        OpKind::Write { .. } if env.rng.chance(1, 2) => {
            env.coverage.short_writes += 1;
            OpOutcome::Short(env.rng.below(pending.op.bytes() as u64))
        }
        OpKind::Write { .. } => {
            env.coverage.failed_writes += 1;
            OpOutcome::Fail(EIO)
        }
    }
}
