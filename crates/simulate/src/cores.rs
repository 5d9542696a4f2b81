//! Processors: who runs, who waits for one, who looks again and again.
//!
//! A thread has a processor for a *burst*, which nothing interrupts: bursts are microseconds. A
//! thread that polls keeps a processor without a burst and gives it to who is ready. Threads that
//! are ready wait in one queue, first come first served.
//!
//! What it must not know: logs, sessions, devices.

use crate::agenda::{Agenda, Moment};
use crate::setup::Costs;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Cores {
    count: u32,
    busy: u32,
    /// Threads that poll.
    pollers: u32,
    queue: VecDeque<(u32, u64, u64)>,
    costs: Costs,
    /// Time of all bursts, nanoseconds.
    pub(crate) used_ns: u64,
    /// Waits for a processor and their sum, nanoseconds.
    pub(crate) queued: (u64, u64),
}

impl Cores {
    pub(crate) fn new(count: u32, costs: Costs) -> Cores {
        Cores {
            count,
            busy: 0,
            pollers: 0,
            queue: VecDeque::new(),
            costs,
            used_ns: 0,
            queued: (0, 0),
        }
    }

    /// A thread that slept is ready to run for `ns`.
    #[inline]
    pub(crate) fn ready(&mut self, now: u64, agenda: &mut Agenda, thread: u32, ns: u64) {
        if self.busy == self.count {
            self.queue.push_back((thread, ns, now));
            return;
        }
        let free = self.count - self.busy;
        let latency = match free > self.pollers {
            // The processor sleeps, and has to be woken.
            true => self.costs.idle_ns,
            // One that polls gives way when it has looked.
            false => self.costs.poll_ns / 2,
        };
        self.busy += 1;
        self.begin(now + latency, agenda, thread, ns);
    }

    /// A thread that has a processor goes on for `ns`.
    #[inline]
    pub(crate) fn go_on(&mut self, now: u64, agenda: &mut Agenda, thread: u32, ns: u64) {
        let takes = self.contended(ns);
        agenda.add(now + takes, Moment::Ran(thread));
    }

    /// How long `ns` of work take beside the work of other processors, which share memory and
    /// locks.
    #[inline]
    fn contended(&mut self, ns: u64) -> u64 {
        let others = f64::from(self.busy.saturating_sub(1));
        let takes = (ns as f64 * (1.0 + self.costs.contention * others)) as u64;
        self.used_ns += takes;
        takes
    }

    /// The thread that runs gives its processor up: it sleeps, or polls.
    #[inline]
    pub(crate) fn leave(&mut self, now: u64, agenda: &mut Agenda) {
        match self.queue.pop_front() {
            Some((thread, ns, since)) => {
                self.queued.0 += 1;
                self.queued.1 += now - since;
                self.begin(now, agenda, thread, ns);
            }
            None => self.busy -= 1,
        }
    }

    #[inline]
    fn begin(&mut self, at: u64, agenda: &mut Agenda, thread: u32, ns: u64) {
        let takes = self.contended(self.costs.switch_ns + ns);
        agenda.add(at + takes, Moment::Ran(thread));
    }

    /// The thread that runs begins to poll.
    pub(crate) fn poll(&mut self, now: u64, agenda: &mut Agenda) {
        self.pollers += 1;
        self.leave(now, agenda);
    }

    /// How long those that poll take until each of them has looked once, where there are more of
    /// them than free processors; 0 otherwise.
    pub(crate) fn round_ns(&self) -> u64 {
        let free = (self.count - self.busy).max(1);
        match self.pollers > free {
            true => {
                let look = self.costs.poll_ns + self.costs.switch_ns;
                u64::from(self.pollers) * look / u64::from(free)
            }
            false => 0,
        }
    }

    /// A thread that polls has found what it looked for, and goes on.
    pub(crate) fn found(&mut self, now: u64, agenda: &mut Agenda, thread: u32) {
        self.pollers -= 1;
        if self.busy == self.count {
            self.queue.push_back((thread, 0, now));
            return;
        }
        self.busy += 1;
        // As many as there are free processors look at any time; the others had given way.
        agenda.add(now + self.costs.poll_ns / 2, Moment::Ran(thread));
    }
}
