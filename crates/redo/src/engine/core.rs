//! What all threads of a log share: the turn-taking of `crate::turn` with the [`Host`] as what
//! the holder of the baton owns, and the clock.

use super::host::Host;
use crate::error::Error;
use crate::group::{Geometry, StreamBlock};
use crate::sync::EngineClock;
use crate::turn::{LeadOutcome, SharedBaton, SwitchHold};

pub(crate) struct Core {
    turn: SharedBaton<Host>,
    pub(crate) geometry: Geometry,
    pub(crate) clock: EngineClock,
    pub(crate) max_record: u64,
}

/// A core is its turn-taking, with more around it.
impl std::ops::Deref for Core {
    type Target = SharedBaton<Host>;

    #[inline]
    fn deref(&self) -> &SharedBaton<Host> {
        &self.turn
    }
}

impl Core {
    pub(crate) fn new(turn: SharedBaton<Host>, geometry: Geometry, clock: EngineClock) -> Core {
        let max_record = geometry.max_record(turn.buffer.ring_blocks());
        Core {
            turn,
            geometry,
            clock,
            max_record,
        }
    }

    /// Waits until `batch` is durable. See [`SharedBaton::await_durable`].
    #[inline]
    pub(crate) fn await_durable(&self, batch: u64, willing: bool) -> Result<(), Error> {
        let lead = |host: &mut Host| host.lead(self);
        self.turn.await_durable(batch, willing, lead)
    }

    /// Writes out everything that was appended before the call.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        let (open, bytes) = self.buffer.open_batch();
        let target = open + u64::from(bytes > 0);
        if target > self.buffer.published() {
            self.want(target - 1);
        }
        if self.pipelined && target > self.buffer.published() {
            self.check()?;
            // Whatever the flush triggers are.
            self.post();
            return self
                .turn
                .await_published(target - 1, true, |_| LeadOutcome::Nothing);
        }
        while self.buffer.published() < target {
            self.check()?;
            self.lead(self.baton()?, |host| host.lead(self));
        }
        self.check()
    }

    /// Writes out what is left in the buffer of a closed log.
    pub(crate) fn drain(&self) -> Result<(), Error> {
        self.turn.drain(|host| host.lead(self))
    }

    fn first_block(&self, log_seq: u64) -> StreamBlock {
        (log_seq - 1) * self.geometry.blocks_per_group
    }

    /// Who holds the log `log_seq`. See [`SharedBaton::switch_hold`].
    pub(crate) fn switch_hold(&self, log_seq: u64) -> Option<SwitchHold> {
        let start = self.first_block(log_seq);
        self.turn.switch_hold(&self.geometry, start)
    }

    /// Waits until `hold` lets the log `log_seq` be written. See [`SharedBaton::await_switch`].
    pub(crate) fn await_switch(&self, hold: SwitchHold, log_seq: u64) -> bool {
        let start = self.first_block(log_seq);
        self.turn.await_switch(hold, &self.geometry, start)
    }
}
