//! A hand-fused leader: what a log would look like whose policy and I/O were one loop. It exists
//! only to measure what the line between state machine and host costs (experiments/line-cost).
//!
//! It does all that a log write needs: gathering, filling, the fence of the checkpoint, log
//! switches, short and failed operations, stations, the observer. What it cannot do is what the
//! line is for: more than one batch in flight, completions in any order, a history to replay,
//! the same policy in virtual time.

use super::core::Core;
use super::host::{Hands, Host, LogWrite};
use crate::buffer::{Batch, Stations};
use crate::group::StreamBlock;
use crate::sync::yield_now;
use crate::turn::Led;
use crate::writer::{Cause, Policy};
use device::{Completion, IoFailure, Op, OpKind, Queue};
use measure::Clock;

/// The fused leader's state.
#[derive(Default)]
pub(crate) struct Fused {
    done: Vec<Completion>,
    op: u64,
    poisoned: bool,
    reuse_limit: StreamBlock,
    log_end: StreamBlock,
    last_log_seq: u64,
    mean_ns: u64,
    last_commits: u32,
    carried: u32,
    skip: u32,
    in_vain: u32,
}

/// What the writes of a batch came to.
#[derive(Default)]
struct Written {
    writes: u32,
    checkpoint_wait_ns: u64,
}

impl Host {
    /// As [`Host::lead`], in one piece.
    pub(crate) fn lead_fused(&mut self, core: &Core) -> Led {
        let (open, bytes) = core.buffer.open_batch();
        let (fused, hands) = self.fused_parts();
        if bytes == 0 || fused.poisoned {
            return Led::Nothing;
        }
        let first = core.buffer.published();
        if let Err(cause) = fused.log_write(core, hands, open) {
            fused.poisoned = true;
            core.poison(cause);
        }
        Led::From(first)
    }
}

impl Fused {
    #[inline]
    fn log_write(&mut self, core: &Core, hands: &mut Hands, open: u64) -> Result<(), Cause> {
        let start = core.clock.now();
        self.gather(core, open, start.0);
        let batch = core.buffer.seal().expect("the batch has bytes");
        self.last_commits = batch.commits;
        core.buffer.await_filled(&batch);
        let submitted = core.clock.now();
        let wrote = self.write(&mut *hands.queue, core, &batch)?;
        let written = core.clock.now();
        core.buffer.release(batch.end());
        self.run(&mut *hands.queue, OpKind::Flush)
            .map_err(Cause::Flush)?;
        let durable = core.clock.now();
        let took = durable.since(submitted).0;
        self.mean_ns = if self.mean_ns == 0 {
            took
        } else {
            self.mean_ns - self.mean_ns / 8 + took / 8
        };
        self.carried = core.buffer.commits(batch.id + 1);
        let stations = Stations {
            submitted_ns: submitted.0,
            written_ns: written.0,
            durable_ns: durable.0,
        };
        core.buffer.leave_stations(batch.id, stations);
        if hands.observer.is_some() {
            self.report(core, hands, &batch, &wrote, stations);
        }
        core.buffer.publish(batch.id + 1, batch.end());
        Ok(())
    }

    fn gather(&mut self, core: &Core, open: u64, now: u64) {
        let want = self.last_commits + self.carried;
        let commits = core.buffer.commits(open);
        if self.last_commits == 0 || want < 2 || commits >= want {
            return;
        }
        let room = u64::from(Policy::default().gather_bytes) * u64::from(commits.max(1));
        let bytes = u64::from(core.buffer.open_batch().1.max(1));
        let want = u64::from(want).min(room / bytes) as u32;
        if commits >= want {
            return;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        let until = now + self.mean_ns / 2;
        while core.buffer.commits(open) < want && core.clock.now().0 < until {
            yield_now();
        }
        if core.clock.now().0 < until {
            self.in_vain = 0;
        } else {
            self.in_vain = (self.in_vain + 1).min(7);
            self.skip = 1 << (self.in_vain - 1);
        }
    }

    /// Writes the batch, one write for each log that it lies in.
    #[inline]
    fn write(
        &mut self,
        queue: &mut dyn Queue,
        core: &Core,
        batch: &Batch,
    ) -> Result<Written, Cause> {
        let mut done = Written::default();
        let mut at = batch.start;
        while at < batch.end() {
            if at >= self.reuse_limit {
                done.checkpoint_wait_ns += self.await_checkpoint(core, at);
                continue;
            }
            if at >= self.log_end {
                self.log_end = at + core.geometry.left_in_log(at);
            }
            let blocks = (batch.end() - at).min(self.log_end - at);
            let addr = core.geometry.address(at);
            let pieces = core.buffer.pieces(at, blocks);
            let wanted = blocks * u64::from(core.geometry.block_bytes);
            let kind = OpKind::Write { addr, pieces };
            let written = self.run(queue, kind).map_err(Cause::Write)?;
            if written != wanted {
                return Err(Cause::ShortWrite { written, wanted });
            }
            done.writes += 1;
            at += blocks;
        }
        Ok(done)
    }

    #[cold]
    fn await_checkpoint(&mut self, core: &Core, at: StreamBlock) -> u64 {
        let start = core.clock.now();
        let checkpoint = core.await_checkpoint(core.geometry.log_seq(at));
        let checkpoint =
            checkpoint.expect("the experiment's logs are not closed while they are led");
        self.reuse_limit = core.geometry.reuse_limit(checkpoint);
        core.clock.now().since(start).0
    }

    #[cold]
    fn report(
        &mut self,
        core: &Core,
        hands: &mut Hands,
        batch: &Batch,
        wrote: &Written,
        stations: Stations,
    ) {
        let Some(observer) = &mut hands.observer else {
            return;
        };
        let log_seq = core.geometry.log_seq(batch.end() - 1);
        observer(&LogWrite {
            batch: batch.id,
            commits: core.buffer.commits(batch.id),
            redo_bytes: batch.bytes,
            blocks: batch.blocks,
            writes: wrote.writes,
            flushes: 1,
            log_seq,
            switched: log_seq != self.last_log_seq,
            checkpoint_wait_ns: wrote.checkpoint_wait_ns,
            scalable: false,
            worker: None,
            group_wait_ns: 0,
            stations,
        });
        self.last_log_seq = log_seq;
    }

    #[inline]
    fn run(&mut self, queue: &mut dyn Queue, kind: OpKind) -> Result<u64, IoFailure> {
        self.op += 1;
        queue.submit(&[Op { id: self.op, kind }]);
        self.done.clear();
        while self.done.is_empty() {
            queue.poll(&mut self.done, true);
        }
        self.done[0].result
    }
}
