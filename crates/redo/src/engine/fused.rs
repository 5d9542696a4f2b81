//! A hand-fused leader: what a log would look like whose policy and I/O were one loop. It exists
//! only to measure what the line between state machine and host costs (experiments/line-cost):
//! no checkpoint, no failure is handled.

use super::core::Core;
use super::host::Host;
use crate::buffer::{Batch, Stations};
use crate::sync::yield_now;
use crate::turn::Led;
use device::{Completion, Op, OpKind, Queue};
use measure::Clock;

/// The fused leader's state.
#[derive(Default)]
pub(crate) struct Fused {
    done: Vec<Completion>,
    op: u64,
    log_end: u64,
    mean_ns: u64,
    last_commits: u32,
    carried: u32,
    skip: u32,
    in_vain: u32,
}

impl Host {
    /// As [`Host::lead`], in one piece.
    pub(crate) fn lead_fused(&mut self, core: &Core) -> Led {
        let (open, bytes) = core.buffer.open_batch();
        if bytes == 0 {
            return Led::Nothing;
        }
        let first = core.buffer.published();
        let (fused, queue) = self.fused_parts();
        let start = core.clock.now();
        fused.gather(core, open, start.0);
        let batch = core.buffer.seal().expect("the batch has bytes");
        fused.last_commits = batch.commits;
        core.buffer.await_filled(&batch);
        let submitted = core.clock.now();
        fused.write(queue, core, &batch);
        let written = core.clock.now();
        core.buffer.release(batch.end());
        let flushed = fused.run(queue, OpKind::Flush);
        assert_eq!(flushed, Ok(0), "the experiment's device does not fail");
        let durable = core.clock.now();
        let took = durable.since(submitted).0;
        fused.mean_ns = if fused.mean_ns == 0 {
            took
        } else {
            fused.mean_ns - fused.mean_ns / 8 + took / 8
        };
        fused.carried = core.buffer.commits(batch.id + 1);
        core.buffer.leave_stations(
            batch.id,
            Stations {
                submitted_ns: submitted.0,
                written_ns: written.0,
                durable_ns: durable.0,
            },
        );
        core.buffer.publish(batch.id + 1, batch.end());
        Led::From(first)
    }
}

impl Fused {
    fn gather(&mut self, core: &Core, open: u64, now: u64) {
        let want = self.last_commits + self.carried;
        if self.last_commits == 0 || want < 2 || core.buffer.commits(open) >= want {
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

    #[inline]
    fn write(&mut self, queue: &mut dyn Queue, core: &Core, batch: &Batch) {
        let mut at = batch.start;
        while at < batch.end() {
            if at >= self.log_end {
                self.log_end = at + core.geometry.left_in_log(at);
            }
            let blocks = (batch.end() - at).min(self.log_end - at);
            let addr = core.geometry.address(at);
            let pieces = core.buffer.pieces(at, blocks);
            let wanted = blocks * u64::from(core.geometry.block_bytes);
            let wrote = self.run(queue, OpKind::Write { addr, pieces });
            assert_eq!(wrote, Ok(wanted), "the experiment's device does not fail");
            at += blocks;
        }
    }

    #[inline]
    fn run(&mut self, queue: &mut dyn Queue, kind: OpKind) -> Result<u64, device::IoFailure> {
        self.op += 1;
        queue.submit(&[Op { id: self.op, kind }]);
        self.done.clear();
        while self.done.is_empty() {
            queue.poll(&mut self.done, true);
        }
        self.done[0].result
    }
}
