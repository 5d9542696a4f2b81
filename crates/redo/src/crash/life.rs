//! A life of the log between a recovery and its end: sessions, the real buffer and writer, and
//! the steps between which everything may stop.

use super::env::Env;
use super::sessions::Session;
use crate::buffer::{Batch, LogBuffer, Memory};
use crate::control::ControlInfo;
use crate::format::Summer;
use crate::group::StreamBlock;
use crate::rules;
use crate::writer::{Event, History, Writer};
use device::{OpCompletion, Queue, Region};
use measure::Nanos;
use std::sync::Arc;

/// A write or flush that the device has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) op: u64,
    /// The block after its last; of a flush, one that is never released.
    pub(super) end: StreamBlock,
    /// Bytes that it should transfer.
    pub(super) bytes: u64,
}

pub(super) struct Life {
    pub(super) buffer: LogBuffer,
    pub(super) writer: Writer,
    fresh: Writer,
    pub(super) queue: Box<dyn Queue>,
    pub(super) history: History,
    pub(super) now: Nanos,
    sessions: Vec<Session>,
    /// Completions that were returned and that the writer has not received.
    pub(super) inbox: Vec<OpCompletion>,
    pub(super) flights: Vec<Flight>,
    /// Sealed batches of which the writer does not know that they are filled.
    pub(super) unfilled: Vec<Batch>,
    /// Sealed batches that are not released.
    pub(super) sealed: Vec<Batch>,
    pub(super) gathering: Option<(u32, Nanos)>,
    pub(super) awaits_checkpoint: bool,
    /// The log that was written last.
    pub(super) log: Option<u64>,
    /// What was counted when it began: dropped futures and log switches.
    before: (u64, u64),
    /// The flush of the batches before this one is deferred; 0 where none is.
    pub(super) deferred: u64,
    pub(super) carried: u32,
    pub(super) poisoned: bool,
    /// The writer has received a failure.
    pub(super) failed: bool,
    pub(super) closing: bool,
    pub(super) control_failed: bool,
}

impl Life {
    /// Begins where recovery left `control`.
    pub(super) fn begin(info: &ControlInfo, env: &mut Env) -> Life {
        let geometry = info.geometry;
        let bytes = env.plan.ring_blocks as usize * geometry.block_bytes as usize;
        let region = Arc::new(Region::new(bytes).expect("a few pages of memory"));
        let queue = env.open_queue(Arc::clone(&region));
        // Some lives begin where the lower half of the batch numbers is about to wrap.
        let first_batch = if env.rng.chance(1, 4) {
            u64::from(u32::MAX) - env.rng.below(4)
        } else {
            0
        };
        env.coverage.count_plan(&env.plan);
        env.coverage.lives_before_batch_wrap += u64::from(first_batch > 0);
        let start = info.current().first;
        let buffer = LogBuffer::new(
            Memory::new(region),
            geometry,
            info.current().number,
            Summer::of_life(info.log_id, info.current().life),
            start,
            first_batch,
            env.planted,
        )
        .for_depth(env.plan.policy.depth);
        let checkpoint = env.reusable(info, info.checkpoint);
        let policy = env.plan.policy;
        let writer = Writer::new(
            geometry,
            policy,
            first_batch,
            start,
            checkpoint,
            env.planted,
        );
        Life {
            buffer,
            fresh: writer.clone(),
            writer,
            queue,
            history: History::default(),
            now: Nanos(1),
            sessions: (0..env.plan.sessions)
                .map(|_| Session::new(&env.plan))
                .collect(),
            inbox: Vec::new(),
            flights: Vec::new(),
            unfilled: Vec::new(),
            sealed: Vec::new(),
            gathering: None,
            awaits_checkpoint: false,
            log: None,
            before: (env.coverage.cancelled, env.coverage.log_switches),
            deferred: 0,
            carried: 0,
            poisoned: false,
            failed: false,
            closing: false,
            control_failed: false,
        }
    }

    /// One thing that happens next: a session's step, the device's, or the host's.
    pub(super) fn step(&mut self, env: &mut Env) {
        self.now = self.now.plus(Nanos(1 + env.rng.below(30_000)));
        env.clock.set(self.now);
        env.condemn();
        env.draw_late();
        if env.rng.chance(env.plan.device_share, 16) {
            match env.rng.below(5) {
                0 | 1 => self.finish_one(env),
                2 => self.collect(),
                _ => self.deliver(env),
            }
            return;
        }
        let index = env.rng.below(self.sessions.len() as u64) as usize;
        let waits = self.sessions.get(index).is_some_and(Session::posts);
        // A session that waits lets the host go on, most of the time.
        match env.rng.below(if waits { 4 } else { 8 }) {
            0 => self.pend(env),
            1 => self.fill_check(env),
            2 if self.gathering.is_some() => self.gather(env),
            _ => {
                if let Some(session) = self.sessions.get_mut(index) {
                    session.step(&self.buffer, self.poisoned, self.closing, env);
                }
            }
        }
    }

    /// Somebody takes the baton, because a commit waits, room is needed, the log closes, or a
    /// timer went off.
    fn pend(&mut self, env: &mut Env) {
        if self.waits_for_itself(env) {
            env.violated("liveness: the log waits for a checkpoint of what it does not flush");
            return;
        }
        if self.look_at_flush(env) {
            return;
        }
        let (open, bytes) = self.buffer.open_batch();
        let posted = self.closing || self.sessions.iter().any(Session::posts);
        if bytes == 0 || !self.writer.wants_pending() {
            return;
        }
        let overdue = !posted && env.rng.chance(1, 4);
        if !rules::is_due(bytes, posted, overdue, false) {
            return;
        }
        let event = Event::Pending {
            commits: self.buffer.commits(open),
            bytes,
            carried: self.carried,
        };
        self.feed(event, env);
    }

    /// The writer learns of a batch whose bytes are all in place.
    fn fill_check(&mut self, env: &mut Env) {
        let ready = |b: &Batch| self.buffer.is_filled(b);
        let ready: Vec<usize> = (0..self.unfilled.len())
            .filter(|i| self.unfilled.get(*i).is_some_and(ready))
            .collect();
        if ready.is_empty() {
            return;
        }
        let index = env.rng.pick(&ready);
        env.coverage.filled_out_of_order += u64::from(index > 0);
        let batch = self.unfilled.remove(index);
        self.feed(Event::Filled { batch: batch.id }, env);
    }

    fn gather(&mut self, env: &mut Env) {
        let Some((want, until)) = self.gathering else {
            return;
        };
        let (open, _) = self.buffer.open_batch();
        let commits = self.buffer.commits(open);
        if !rules::has_gathered(commits, (want, until), || self.now) {
            if env.rng.chance(1, 4) {
                self.now = until;
            }
            return;
        }
        let in_vain = u64::from(commits < want);
        env.coverage.gathered += 1 - in_vain;
        env.coverage.gathered_in_vain += in_vain;
        self.gathering = None;
        self.feed(Event::Gathered, env);
    }

    /// The batch behind the last that somebody waits for.
    pub(super) fn waited_for(&self) -> u64 {
        let all = self.sessions.iter().filter_map(Session::waits_for);
        let open = self.closing.then(|| self.buffer.open_batch().0);
        all.chain(open).max().unwrap_or(0)
    }

    /// Somebody waits for redo that is not durable.
    pub(super) fn somebody_waits(&self) -> bool {
        self.waited_for() > self.buffer.published()
    }

    /// Somebody waits for what is written, and nothing will make it durable.
    pub(super) fn is_forgotten(&self, env: &Env) -> bool {
        let (_, bytes) = self.buffer.open_batch();
        self.writer.is_idle()
            && bytes == 0
            && self.flights.is_empty()
            && self.inbox.is_empty()
            // A member that is late or was given up has operations of its own.
            && (env.together.is_some() || env.ring.is_some() || env.disks.pending().is_empty())
            && self.somebody_waits()
    }

    /// A log writer that holds the baton while it waits needs a checkpoint beyond what is durable,
    /// and nothing that would make more durable is under way.
    fn waits_for_itself(&self, env: &Env) -> bool {
        let policy = &env.plan.policy;
        let holds = self.writer.is_single() || policy.adaptive.is_none() && policy.depth == 1;
        if !(self.awaits_checkpoint && self.deferred > 0 && holds && self.flights.is_empty()) {
            return false;
        }
        let durable = self.buffer.durable_block();
        let needs = |b: &Batch| !rules::lets_write(&env.plan.geometry, durable, b.end() - 1);
        self.inbox.is_empty() && self.sealed.last().is_some_and(needs)
    }

    /// Everything that was appended is durable and nothing is under way.
    pub(super) fn is_drained(&self) -> bool {
        let (open, bytes) = self.buffer.open_batch();
        bytes == 0
            && self.writer.is_idle()
            && self.buffer.published() == open
            && !self.sessions.iter().any(Session::is_filling)
    }

    /// A future was dropped and a log switch made in it.
    pub(super) fn cancelled_and_switched(&self, env: &Env) -> bool {
        let (cancelled, switches) = self.before;
        env.coverage.cancelled > cancelled && env.coverage.log_switches > switches
    }

    /// It goes on, and one of the two has not happened in it.
    pub(super) fn lacks_events(&self, env: &Env) -> bool {
        let ends = self.closing || self.failed || self.control_failed;
        !ends && !self.cancelled_and_switched(env)
    }

    /// The history again on a fresh writer: it must be the same.
    pub(super) fn check_replay(&self, env: &mut Env) {
        if let Err(mismatch) = self.history.replay(self.fresh.clone()) {
            env.violated(format!("replay: step {} differs", mismatch.step));
        }
    }

    /// Counts the states in which power is cut now.
    pub(super) fn count_cut(&self, env: &mut Env) {
        let geometry = &env.plan.geometry;
        let across = |b: &&Batch| geometry.log_seq(b.start) != geometry.log_seq(b.end() - 1);
        let issued = |b: &&Batch| {
            self.flights
                .iter()
                .any(|f| (b.start..b.end()).contains(&(f.end - 1)))
        };
        let mid_switch = self.sealed.iter().filter(across).any(|b| issued(&b));
        env.coverage.cut_mid_switch += u64::from(mid_switch);
        let outstanding = self.sessions.iter().any(|s| s.tickets() > 0);
        env.coverage.cut_with_tickets += u64::from(outstanding);
        env.coverage.cut_with_deferred += u64::from(self.deferred > 0);
        env.coverage.cut_before_filled += u64::from(!self.unfilled.is_empty());
        env.coverage.cut_before_alone += u64::from(self.writer.is_leaving());
        env.coverage.cut_awaiting_checkpoint += u64::from(self.awaits_checkpoint);
        if let Some(together) = &env.together {
            let behind = together
                .standing
                .report()
                .iter()
                .any(|m| m.window_bytes > 0);
            env.members.cut_with_a_member_behind += u64::from(behind);
            env.members.cut_between_pieces += u64::from(together.resilvering);
            env.members.cut_after_return += u64::from(together.returned != 0);
        }
    }
}
