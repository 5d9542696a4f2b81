//! The log writer's thread: it sleeps until it is posted, or until redo has lain for too long.

use crate::agenda::Moment;
use crate::state::Step;
use crate::world::World;
use measure::Nanos;
use redo::rules;

impl World<'_> {
    /// Posts the log writer. True where it sleeps, and has to be woken.
    pub(crate) fn post(&mut self) -> bool {
        self.serve.posts += 1;
        self.serve.sleeps
    }

    /// Who posted the log writer has woken it.
    pub(crate) fn wake_log_writer(&mut self) {
        if std::mem::take(&mut self.serve.sleeps) {
            let log_writer = self.log_writer();
            self.wake(log_writer, Step::Serve, 0);
        }
    }

    pub(crate) fn serve(&mut self, thread: u32) {
        let (_, bytes) = self.buffer.open_batch();
        let posted = self.serve.posts != self.serve.handled;
        let overdue = self.serve.overdue;
        let deferred = self.lead.deferred > 0;
        if self.flush_is_wanted() || rules::is_due(bytes, posted, overdue, deferred) {
            if !self.lead.is_free() {
                self.serve.for_baton = true;
                return self.sleep();
            }
            self.serve.handled = self.serve.posts;
            self.serve.overdue = false;
            return self.begin_to_lead(thread);
        }
        self.serve.handled = self.serve.posts;
        self.serve.overdue = false;
        self.serve.sleeps = true;
        self.serve.looked = self.now;
        self.watch();
        self.sleep();
    }

    fn watch(&mut self) {
        let period = self.setup.log.triggers.period;
        if let Some(wait) = rules::sleeps_for(Nanos(0), period)
            && !std::mem::replace(&mut self.serve.watched, true)
        {
            let at = self.now.saturating_add(wait.as_nanos() as u64);
            self.agenda.add(at, Moment::Period);
        }
    }

    /// It may be time to write redo that nobody asked for.
    pub(crate) fn period(&mut self) {
        self.serve.watched = false;
        if !self.serve.sleeps {
            return;
        }
        let lain = Nanos(self.now - self.serve.looked);
        let due = rules::is_overdue(lain, self.setup.log.triggers.period);
        let (_, bytes) = self.buffer.open_batch();
        if rules::is_due(bytes, false, due, self.lead.deferred > 0) {
            self.serve.overdue = true;
            self.wake_log_writer();
        } else {
            self.watch();
        }
    }
}
