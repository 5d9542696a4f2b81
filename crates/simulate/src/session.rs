//! Sessions: they append redo, commit, wait, and begin again.

use crate::buffer::{Place, RECORD_HEADER_BYTES};
use crate::state::Step;
use crate::world::World;
use measure::Nanos;
use measure::record::WaitSum;
use measure::workload::{CommitPost, CommitWait};
use redo::rules::{self, Waiter};
use redo::{Commit, Stations};

/// Copies that take less than this are over at once: no log writer has to wait for them.
const COPIED_AT_ONCE_NS: u64 = 1000;

impl World<'_> {
    /// The work before a commit, drawn.
    pub(crate) fn work(&mut self) -> u64 {
        let costs = &self.setup.costs;
        let factor = self.chance.factor(costs.work_variation);
        (costs.work_ns as f64 * factor) as u64
    }

    fn record_bytes(&self) -> u32 {
        let workload = &self.setup.workload;
        workload.redo_bytes / workload.records.max(1) + RECORD_HEADER_BYTES
    }

    /// Appends a record, or waits for room.
    pub(crate) fn append(&mut self, thread: u32) {
        let bytes = self.record_bytes();
        let Some(place) = self.buffer.reserve(bytes) else {
            return self.no_room(thread);
        };
        let of = &mut self.threads[thread as usize];
        if let Some(since) = of.no_room.take() {
            let waited = self.now - since;
            self.space_waits = self.space_waits.plus(WaitSum {
                count: 1,
                total_ns: waited,
            });
        }
        of.batch = place.batch;
        let copy = u64::from(bytes) * self.setup.costs.copy_ns_per_kb / 1024;
        let posts = rules::posts_for_size(place.offset, place.end, self.post_bytes);
        if copy >= COPIED_AT_ONCE_NS {
            self.buffer.slot(place.batch).unfilled += 1;
            self.go_on(thread, Step::Copied(place), copy);
        } else if posts && self.post() {
            let wake = self.setup.costs.wake_ns;
            self.go_on(thread, Step::PostedAndGoesOn, copy + wake);
        } else {
            self.next_record(thread);
        }
    }

    /// A record is copied.
    pub(crate) fn copied(&mut self, thread: u32, place: Place) {
        self.buffer.slot(place.batch).unfilled -= 1;
        self.look_at_fill(place.batch);
        let posts = rules::posts_for_size(place.offset, place.end, self.post_bytes);
        if posts && self.post() {
            let wake = self.setup.costs.wake_ns;
            return self.go_on(thread, Step::PostedAndGoesOn, wake);
        }
        self.next_record(thread);
    }

    pub(crate) fn next_record(&mut self, thread: u32) {
        let of = &mut self.threads[thread as usize];
        of.records -= 1;
        if of.records > 0 {
            return self.append(thread);
        }
        self.commit(thread);
    }

    fn no_room(&mut self, thread: u32) {
        let of = &mut self.threads[thread as usize];
        of.no_room.get_or_insert(self.now);
        if self.way.inline && self.may_lead && self.lead.is_free() {
            return self.begin_to_lead(thread);
        }
        if self.post() {
            let wake = self.setup.costs.wake_ns;
            return self.go_on(thread, Step::PostedForSpace, wake);
        }
        self.await_space(thread);
    }

    /// Sleeps until redo was written, unless there is room already.
    pub(crate) fn await_space(&mut self, thread: u32) {
        self.threads[thread as usize].step = Step::Append;
        self.for_space.push(thread);
        self.sleep();
    }

    /// There may be room in the log buffer.
    pub(crate) fn give_space(&mut self) {
        for thread in std::mem::take(&mut self.for_space) {
            self.wake(thread, Step::Append, 0);
        }
    }

    fn commit(&mut self, thread: u32) {
        let batch = self.threads[thread as usize].batch;
        self.threads[thread as usize].asked = self.now;
        let commit = self.setup.workload.commit;
        let durable = self.buffer.published() > batch;
        let immediate = commit.post == CommitPost::Immediate && self.setup.log.triggers.commit;
        let wake = self.setup.costs.wake_ns;
        if commit.wait == CommitWait::Nowait {
            let posts = !durable && immediate && self.ask(batch) && self.post();
            if posts {
                self.threads[thread as usize].slept = false;
                return self.go_on(thread, Step::WokeOn, wake);
            }
            return self.returned(thread);
        }
        if durable {
            return self.returned(thread);
        }
        let slot = self.buffer.slot(batch);
        slot.commits += 1;
        let begun = slot.handed;
        self.look_at_gathering();
        self.lead.wanted = self.lead.wanted.max(batch + 1);
        let waiter = Waiter {
            willing: immediate,
            leads: self.may_lead && self.way.inline,
            late: self.lead.deferred > batch,
        };
        let of = &mut self.threads[thread as usize];
        (of.begun, of.slept, of.waiter) = (begun, false, waiter);
        let first = immediate && self.ask(batch);
        if waiter.posts(|| first) && self.post() {
            return self.go_on(thread, Step::Posted, wake);
        }
        self.look(thread);
    }

    /// Says that somebody wants `batch` written. True for the first while it is open.
    fn ask(&mut self, batch: u64) -> bool {
        let (open, _) = self.buffer.open_batch();
        let asked = &mut self.buffer.slot(batch).asked;
        let first = *asked <= batch;
        *asked = (*asked).max(batch + 1);
        first && open <= batch
    }

    /// Looks whether its batch is durable; leads, polls or sleeps otherwise.
    pub(crate) fn look(&mut self, thread: u32) {
        let of = self.threads[thread as usize];
        if self.buffer.published() > of.batch {
            if of.slept && self.buffer.slot(of.batch).chain > 0 {
                self.buffer.slot(of.batch).chain -= 1;
                let wake = self.setup.costs.wake_ns;
                return self.go_on(thread, Step::WokeOn, wake);
            }
            return self.returned(thread);
        }
        let polls = self.way.polling;
        let open = self.buffer.open_batch().0;
        let handed = self.buffer.slot(of.batch).handed != of.begun;
        let tries = of.waiter.tries_to_lead(handed, polls, || open <= of.batch);
        if self.may_lead && tries && self.lead.is_free() {
            return self.begin_to_lead(thread);
        }
        let slot = self.buffer.slot(of.batch);
        self.threads[thread as usize].step = Step::Look;
        if polls {
            slot.pollers.push(thread);
            self.cores.poll(self.now, &mut self.agenda);
        } else {
            self.threads[thread as usize].slept = true;
            slot.sleepers.push_back(thread);
            self.sleep();
        }
    }

    /// Wakes the one that the leader left to this woken one.
    pub(crate) fn wake_on(&mut self, thread: u32) {
        let of = self.threads[thread as usize];
        if !of.slept {
            return self.wake_log_writer();
        }
        if let Some(next) = self.buffer.slot(of.batch).sleepers.pop_front() {
            self.wake(next, Step::Look, 0);
        }
    }

    /// Its commit is over: the next transaction begins.
    pub(crate) fn returned(&mut self, thread: u32) {
        let of = self.threads[thread as usize];
        let sync = self.waits().then_some(self.now - of.asked);
        let path = self
            .waits()
            .then(|| self.path(of.batch, of.asked))
            .flatten();
        self.foreground.add(self.now - of.began, sync, path);
        let of = &mut self.threads[thread as usize];
        of.records = self.setup.workload.records.max(1);
        of.began = self.now;
        let work = self.work();
        self.go_on(thread, Step::Append, work);
    }

    /// Where the wait went; `None` where the record of its log write is gone.
    fn path(&mut self, batch: u64, asked: u64) -> Option<[u64; 4]> {
        let [submitted_ns, written_ns, durable_ns] = self.buffer.slot(batch).stations;
        let commit = Commit {
            batch,
            durable: true,
            immediate: false,
            requested: Nanos(asked),
            returned: Nanos(self.now),
            stations: (durable_ns > 0).then_some(Stations {
                submitted_ns,
                written_ns,
                durable_ns,
            }),
        };
        let path = commit.path()?;
        Some([path.queue_ns, path.write_ns, path.flush_ns, path.wake_ns])
    }
}
