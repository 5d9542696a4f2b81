//! What a host does for the writer that defers flushes: checkpoints that it does not wait for, and
//! the flush that somebody began to wait for. It holds no policy.

use super::core::Core;
use super::host::Host;
use crate::turn::LeadOutcome;
use crate::writer::Event;
use device::OpCompletion;
use measure::Clock;

impl Host {
    /// Gives the writer a checkpoint that it does not wait for: with more free log files it may
    /// defer more.
    #[inline]
    pub(super) fn learn_of_checkpoint<const RECORD: bool, const DIRECT: bool>(
        &mut self,
        core: &Core,
    ) {
        if !core.rules.defers {
            return;
        }
        let checkpoint = core.reusable();
        if checkpoint > self.hands.known_checkpoint {
            self.hands.known_checkpoint = checkpoint;
            let now = core.clock.now();
            self.step::<RECORD, DIRECT>(core, now, Event::Checkpoint(checkpoint));
        }
    }

    /// Has the writer flush what it deferred, if somebody waits for it or it is time, and waits for
    /// the end of the flush.
    #[cold]
    pub(super) fn flush_deferred<const RECORD: bool>(&mut self, core: &Core) -> LeadOutcome {
        let first = core.buffer.published();
        let batches = core.wanted();
        self.step::<RECORD, true>(core, core.clock.now(), Event::Wanted { batches });
        while self.hands.in_flight > 0 && !self.writer.is_poisoned() {
            let OpCompletion { id: op, result, .. } = self.hands.await_completion();
            self.step::<RECORD, true>(core, core.clock.now(), Event::Io { op, result });
        }
        if core.buffer.published() == first && !self.writer.is_poisoned() {
            return LeadOutcome::Nothing;
        }
        LeadOutcome::From(first)
    }
}
