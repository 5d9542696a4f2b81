//! Waiting until a batch is durable: which thread asks for it to be written, sleeps or polls, and
//! what is learned from which of these serves better.
//!
//! What it must not know: what leading is.

use super::{LeadOutcome, SharedBaton};
use crate::error::Error;
use crate::planted::{Bug, Planted};
use crate::rules::Waiter;
use crate::sync::{Ordering, fence, yield_now};
use crate::triggers::Triggers;
use crate::writer::{CommitWay, Learned, Learner, LogFileSync};
use measure::Nanos;

/// Which thread leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Leadership {
    /// Foregrounds; a log writer serves what none of them waits for.
    Inline,
    /// A log writer that holds the baton across its I/O.
    #[default]
    Dedicated,
    /// A log writer that holds the baton around its steps only ([`SharedBaton::pipeline`]).
    Pipelined,
    /// Foregrounds or a log writer, as it is learned: one alone writes for itself.
    Either,
}

impl Leadership {
    /// Foregrounds lead, always or at times.
    pub(crate) const fn may_lead(self) -> bool {
        matches!(self, Leadership::Inline | Leadership::Either)
    }
}

/// How turns are taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) way: Leadership,
    pub(crate) triggers: Triggers,
    pub(crate) log_file_sync: LogFileSync,
    /// There are processors to poll on.
    pub(crate) may_poll: bool,
    /// The writer may defer flushes.
    pub(crate) defers: bool,
    pub(crate) planted: Planted,
}

impl Rules {
    /// What learns how foregrounds wait and who writes for them; nothing where that is fixed.
    pub(crate) fn learner(&self) -> Option<Learner> {
        Learner::needed(self.inline(), self.log_file_sync, self.may_poll)
    }

    /// How foregrounds wait and who writes for them where that is fixed.
    pub(crate) fn fixed(&self) -> CommitWay {
        CommitWay::fixed(self.inline(), self.log_file_sync)
    }

    /// Whether foregrounds write for themselves; `None` where that is learned.
    fn inline(&self) -> Option<bool> {
        match self.way {
            Leadership::Either => None,
            Leadership::Inline => Some(true),
            Leadership::Dedicated | Leadership::Pipelined => Some(false),
        }
    }
}

impl<H> SharedBaton<H> {
    /// Foregrounds write for themselves now.
    #[inline]
    pub(crate) fn foregrounds_lead(&self) -> bool {
        self.leading.load(Ordering::Relaxed) != 0
    }

    /// Says that somebody wants `batch` written. True for the first who says so while the batch is
    /// open: once sealed it is on its way.
    ///
    /// The mark is the batch's number, not a count of commits: a thread that was stopped for as
    /// long as a slot takes to be used again marks a batch of the past, which changes nothing.
    #[inline]
    fn ask(&self, batch: u64) -> bool {
        let asked = &self.buffer.slot(batch).asked;
        asked.load(Ordering::Relaxed) <= batch
            && asked.fetch_max(batch + 1, Ordering::SeqCst) <= batch
            && self.buffer.open_batch().0 <= batch
    }

    /// Has the log writer, dedicated or fallback, write `batch`: a commit IMMEDIATE that nobody
    /// waits for, or not now. Posts once a batch.
    #[inline]
    pub(crate) fn request(&self, batch: u64) {
        if !self.rules.triggers.commit || !self.ask(batch) {
            return;
        }
        let missing = self.rules.planted.has(Bug::MissingPost) && self.post.read() > 0;
        if !missing {
            self.post();
        }
    }

    /// Registers a commit whose outcome is asked for later.
    #[inline]
    pub(crate) fn commit_async(&self, batch: u64, immediate: bool) {
        if self.buffer.published() > batch {
            return;
        }
        self.buffer.register(batch);
        self.want(batch);
        if immediate && !self.foregrounds_lead() {
            self.request(batch);
        }
    }

    /// Has the log writer flush `batch` where that was deferred, for somebody who looks whether it
    /// is durable.
    #[inline]
    pub(crate) fn request_flush(&self, batch: u64) {
        if !self.rules.defers {
            return;
        }
        self.want(batch);
        fence(Ordering::SeqCst);
        if self.is_late(batch) {
            self.post();
        }
    }

    /// Registers a commit and waits until `batch` is durable. See [`SharedBaton::await_published`].
    #[inline]
    pub(crate) fn await_durable(
        &self,
        batch: u64,
        willing: bool,
        lead: impl FnMut(&mut H) -> LeadOutcome,
    ) -> Result<(), Error> {
        self.buffer.register(batch);
        self.await_published(batch, willing, lead)
    }

    /// Waits until `batch` is durable, leading where that is this host's way. `willing` is false
    /// for a commit that posts nobody: it leads only when it was handed the baton.
    #[inline]
    pub(crate) fn await_published(
        &self,
        batch: u64,
        willing: bool,
        mut lead: impl FnMut(&mut H) -> LeadOutcome,
    ) -> Result<(), Error> {
        let word = &self.buffer.slot(batch).wake;
        // A hand-off from now on moves it.
        let begun = word.read();
        self.want(batch);
        // Who turned to the log writer does not lead unless it is handed the baton: others of its
        // batch may have turned to nobody, and are woken through the same word.
        let mut waiter = Waiter {
            willing: willing && self.rules.triggers.commit,
            leads: self.foregrounds_lead(),
            late: false,
        };
        if waiter.leads {
            let _ = waiter.willing && self.ask(batch);
        } else if waiter.willing {
            self.request(batch);
        }
        let mut slept = false;
        fence(Ordering::SeqCst);
        waiter.late = self.is_late(batch);
        // It has asked for the write that it wants.
        if waiter.posts(|| false) {
            self.post();
        }
        loop {
            let seen = word.read();
            if self.buffer.published() > batch {
                if slept {
                    self.wake_on(batch);
                }
                return Ok(());
            }
            self.check()?;
            let polls = self.polling.load(Ordering::Relaxed) != 0;
            if self.rules.way.may_lead()
                && waiter.tries_to_lead(seen != begun, polls, || self.may_be_led(batch))
                && let Some(holder) = self.try_baton()
            {
                self.lead(holder, &mut lead);
                continue;
            }
            if polls {
                yield_now();
                continue;
            }
            if self.rules.planted.has(Bug::SleepUnchecked) {
                word.wait(word.read());
            } else {
                word.wait(seen);
            }
            slept = true;
        }
    }

    /// The batch is not sealed: nobody leads for it yet.
    #[inline]
    fn may_be_led(&self, batch: u64) -> bool {
        self.buffer.open_batch().0 <= batch && !self.rules.planted.has(Bug::PollerNeverLeads)
    }

    /// Gives the policy of adaptive learning what was published, and does what it says. A session
    /// that sleeps is woken when foregrounds begin to poll; one that polls sleeps when they stop.
    #[inline]
    pub(super) fn learn(&self, first: u64, upto: u64) {
        let Some(learner) = self.learner.as_ref().filter(|_| upto > first) else {
            return;
        };
        let Some(stations) = upto.checked_sub(1).and_then(|b| self.buffer.stations(b)) else {
            return;
        };
        let commits = (first..upto).map(|b| u64::from(self.buffer.commits(b)));
        let carried = self.buffer.commits(self.buffer.open_batch().0);
        if let Ok(mut learner) = learner.lock() {
            let durable = Nanos(stations.durable_ns);
            let took = durable.since(Nanos(stations.submitted_ns));
            let way = learner.published(durable, took, commits.sum(), carried.into());
            self.set_way(way);
        }
    }

    fn set_way(&self, way: CommitWay) {
        self.polling.store(way.polling.into(), Ordering::Relaxed);
        self.leading.store(way.inline.into(), Ordering::Relaxed);
    }

    /// For models: the policy of adaptive learning changed its mind.
    #[cfg(all(test, any(feature = "loom", feature = "shuttle")))]
    pub(crate) fn change_mind(&self, polling: bool, inline: bool) {
        let inline = match self.rules.way {
            Leadership::Either => inline,
            way => way == Leadership::Inline,
        };
        self.set_way(CommitWay { inline, polling });
    }

    /// What adaptive learning came to; `None` where the way is fixed.
    pub(crate) fn learned(&self) -> Option<Learned> {
        let learner = self.learner.as_ref()?.lock().ok()?;
        Some(learner.learned().clone())
    }
}
