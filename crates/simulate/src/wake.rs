//! After leading: the baton is laid down, handed on where somebody waits for more, and those who
//! were served are woken one after the other.

use crate::buffer::CountBuffer;
use crate::state::Step;
use crate::world::World;
use measure::Nanos;
use redo::rules;

/// In the place of a batch: the log writer is to be woken.
const LOG_WRITER: u64 = u64::MAX;

impl World<'_> {
    /// The leader lays the baton down, hands on, and begins to wake.
    pub(crate) fn led(&mut self, thread: u32) {
        let (first, upto) = (self.lead.first, self.buffer.published());
        for batch in first..upto {
            self.buffer.slot(batch).handed += 1;
        }
        self.learn(first, upto);
        self.lead.holder = None;
        if std::mem::take(&mut self.serve.for_baton) {
            let log_writer = self.log_writer();
            self.wake(log_writer, Step::Serve, 0);
        }
        self.hand_off(thread);
        for batch in first..upto {
            let sleepers = self.buffer.slot(batch).sleepers.len() as u32;
            let wakes = rules::wakes(sleepers, rules::WAKE_ALONE);
            self.buffer.slot(batch).chain += wakes.by_woken;
            self.leaves(thread, batch, wakes.by_leader.min(sleepers));
        }
        self.wake_next(thread);
    }

    /// `thread` has so many threads of `batch` to wake.
    fn leaves(&mut self, thread: u32, batch: u64, count: u32) {
        if count > 0 {
            self.to_wake[thread as usize].push_back((batch, count));
        }
    }

    /// Wakes the next thread, which takes a while, or goes on where there is none.
    pub(crate) fn wake_next(&mut self, thread: u32) {
        while let Some((batch, left)) = self.to_wake[thread as usize].front().copied() {
            let somebody = match batch {
                LOG_WRITER => self.serve.sleeps,
                _ => !self.buffer.slot(batch).sleepers.is_empty(),
            };
            if left > 0 && somebody {
                let wake = self.setup.costs.wake_ns;
                return self.go_on(thread, Step::Wake, wake);
            }
            self.to_wake[thread as usize].pop_front();
        }
        if thread == self.log_writer() {
            self.serve(thread);
        } else if self.threads[thread as usize].no_room.is_some() {
            self.append(thread);
        } else {
            self.look(thread);
        }
    }

    /// It has woken a thread.
    pub(crate) fn woke(&mut self, thread: u32) {
        let next = self.to_wake[thread as usize].front_mut();
        let (batch, left) = next.expect("it was waking somebody");
        *left -= 1;
        match *batch {
            LOG_WRITER => self.wake_log_writer(),
            batch => {
                if let Some(sleeper) = self.buffer.slot(batch).sleepers.pop_front() {
                    self.wake(sleeper, Step::Look, 0);
                }
            }
        }
        self.wake_next(thread);
    }

    fn learn(&mut self, first: u64, upto: u64) {
        let Some(learner) = self.learner.as_mut().filter(|_| upto > first) else {
            return;
        };
        let of = |buffer: &mut CountBuffer, batch| u64::from(buffer.slot(batch).commits);
        let commits: u64 = (first..upto).map(|b| of(&mut self.buffer, b)).sum();
        let (open, _) = self.buffer.open_batch();
        let carried = of(&mut self.buffer, open);
        let [submitted, _, durable] = self.buffer.slot(upto - 1).stations;
        let took = Nanos(durable - submitted);
        self.way = learner.published(Nanos(durable), took, commits, carried);
    }

    /// Who waits for redo that was left in the open batch must lead on, or have it led.
    fn hand_off(&mut self, thread: u32) {
        let (open, bytes) = self.buffer.open_batch();
        let asked = self.buffer.slot(open).asked;
        let hands_on = self.may_lead && rules::hands_on(bytes, || asked, open);
        if hands_on && self.way.inline {
            let slot = self.buffer.slot(open);
            slot.handed += 1;
            if slot.sleepers.is_empty()
                && let Some(poller) = slot.pollers.pop()
            {
                self.found(poller, Step::Look);
            }
            self.leaves(thread, open, 1);
        } else if hands_on && self.post() {
            self.leaves(thread, LOG_WRITER, 1);
        }
        if self.flush_is_wanted() && self.post() {
            self.leaves(thread, LOG_WRITER, 1);
        }
    }
}
