//! Waiting for the checkpoint: `log file switch (checkpoint incomplete)`.

use super::SharedBaton;
use crate::group::{Geometry, StreamBlock};
use crate::rules;
use crate::sync::Ordering;

impl<H> SharedBaton<H> {
    /// Waits until the log that begins at `start` may be written: `log file switch (checkpoint
    /// incomplete)`. Returns the checkpoint's block; `None` when the log was closed or poisoned,
    /// since then no checkpoint comes.
    pub(crate) fn await_checkpoint(
        &self,
        geometry: &Geometry,
        start: StreamBlock,
    ) -> Option<StreamBlock> {
        loop {
            let seen = self.switch.read();
            let checkpoint = self.checkpoint.load(Ordering::Acquire);
            if rules::lets_write(geometry, checkpoint, start) {
                return Some(checkpoint);
            }
            if !self.is_open() {
                return None;
            }
            self.switch.wait(seen);
        }
    }

    /// The durable checkpoint's block.
    pub(crate) fn checkpoint(&self) -> StreamBlock {
        self.checkpoint.load(Ordering::Acquire)
    }

    /// The checkpoint's block is durable at `block`.
    pub(crate) fn checkpointed(&self, block: StreamBlock) {
        self.checkpoint.fetch_max(block, Ordering::AcqRel);
        self.switch.bump();
        self.switch.wake_all();
        if self.pipelined {
            self.post.bump();
            self.post.wake(1);
        }
    }
}
