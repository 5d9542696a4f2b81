//! The measured time of a row, from its opening, after the warm-up, to its end, in intervals.
//!
//! Invariant: at the end transactions stop counting first; then the kernel's and the target's
//! counts are read, so that they have all that counts; then the sessions end.

use super::collected::{Collected, collect, fill_utilisation, note_backlog};
use super::waits::RowWaits;
use super::workers::worker_work;
use super::{INTERVAL, LOOK, Lab, RowProgress, Shared, Spec, await_until, drained, warm_up};
use crate::experiment::Failure;
use crate::experiment::judge::doubt::GRACE_NS;
use crate::experiment::measure::capture::Capture;
use crate::experiment::measure::span::WindowEdge;
use crate::observe::sampler::{SampledWindow, Window};
use measure::driver::DriverCounters;
use measure::record::IntervalRecord;
use measure::{Clock, Nanos};
use std::sync::atomic::Ordering;

/// So long after the end of an open loop transactions that were due in it may still begin.
const GRACE: Nanos = Nanos(GRACE_NS);

/// The measured time of a row that is under way.
pub(super) struct RowWindow<'a, 'l> {
    lab: &'a mut Lab<'l>,
    number: usize,
    spec: &'a Spec,
    shared: &'a Shared,
    /// When it began, and when its present interval did.
    from: Nanos,
    last: Nanos,
    /// Its beginning, as read by this thread.
    edge: WindowEdge,
    /// The kernel's counts, and those of the target at the beginning.
    counts: Window,
    before: DriverCounters,
    all: Collected,
}

impl<'a, 'l> RowWindow<'a, 'l> {
    /// Opens it: after the warm-up where it has a length, with the first commit where commits are
    /// counted.
    ///
    /// # Errors
    /// An interrupt, or a target that fails.
    pub(super) fn open(
        (lab, number, spec): (&'a mut Lab<'l>, usize, &'a Spec),
        shared: &'a Shared,
        (started, begun): (Nanos, WindowEdge),
        mut counts: Window,
    ) -> Result<RowWindow<'a, 'l>, Failure> {
        let (mut from, mut edge, mut counts_late) = (started, begun, false);
        if spec.commits.is_none() {
            let opened = warm_up::open(lab, number, spec, &shared.control, started)?;
            (from, edge, counts, counts_late) =
                (opened.from, opened.edge, opened.counts, opened.counts_late);
        }
        let driver = &lab.target.driver;
        let before = driver.counters();
        let mut all = Collected::new(driver.clock(), from, begun);
        all.counts_late = counts_late;
        all.waits = RowWaits::begin(lab);
        Ok(RowWindow {
            lab,
            number,
            spec,
            shared,
            from,
            last: from,
            edge,
            counts,
            before,
            all,
        })
    }

    /// Measures until the row is over, and ends its sessions.
    ///
    /// # Errors
    /// An interrupt, a target that fails, a guard that refuses.
    pub(super) fn measure(mut self) -> Result<(Collected, SampledWindow), Failure> {
        loop {
            await_until(self.lab, &self.shared.control, self.next_look())?;
            let now = self.lab.target.driver.clock().now();
            self.lab.target.look(now);
            if self.is_over(now) {
                return self.close(now);
            }
            if now >= self.last.plus(self.spec.interval()) {
                self.end_interval(now)?;
            }
            (self.lab.guard)(self.all.background.redo_bytes)?;
            (self.lab.progress)(progress(self.spec, &self.all, now.since(self.from)));
        }
    }

    /// When it is meant to end; without effect where commits are counted.
    fn end(&self) -> Nanos {
        self.from.plus(self.spec.time)
    }

    /// When the row is looked after next: once per second, and at the end of an interval and of the
    /// row.
    fn next_look(&self) -> Nanos {
        let now = self.lab.target.driver.clock().now();
        let next = now.max(self.last).plus(INTERVAL);
        let next = next.min(self.last.plus(self.spec.interval()));
        self.spec.commits.map_or(next.min(self.end()), |_| next)
    }

    fn is_over(&self, now: Nanos) -> bool {
        self.shared.control.running.load(Ordering::SeqCst) == 0
            || self.lab.target.meter.ended_ns().is_some()
            || (self.spec.commits.is_none() && now >= self.end())
            || self.all.background.redo_bytes >= self.spec.max_redo_bytes
    }

    fn end_interval(&mut self, now: Nanos) -> Result<(), Failure> {
        note_backlog(&mut self.all, self.shared, now);
        let times = (self.from, self.last, now);
        collect(self.lab, self.number, self.spec, &mut self.all, times)?;
        let capture = self.lab.target.recorder.capture();
        if let Some(failed) = capture.filter(|c| c.has_failed()) {
            failed.end_row()?;
        }
        self.last = now;
        Ok(())
    }

    /// Ends the counting of transactions of a row that is over `now`; returns when the row ended.
    fn stop_counting(&self, now: Nanos) -> Nanos {
        let (spec, target, end) = (self.spec, self.lab.target, self.end());
        let planned = spec.commits.is_none().then_some(end.0);
        let used_up = target.meter.row_is_over(planned).map(Nanos);
        let until = warm_up::ended_at(spec, used_up, (self.last, now, end));
        let until = spec.commits.map_or(until.min(end), |_| until);
        self.shared
            .control
            .until_ns
            .store(until.0, Ordering::SeqCst);
        target.recorder.close(until.0);
        until
    }

    fn close(self, now: Nanos) -> Result<(Collected, SampledWindow), Failure> {
        let until = self.stop_counting(now);
        let (lab, spec, shared, mut all) = (self.lab, self.spec, self.shared, self.all);
        let target = lab.target;
        let driver = &*target.driver;
        all.ends = [
            self.edge,
            WindowEdge::read(driver.clock(), until, &target.recorder),
        ];
        all.waits.end();
        let observed = lab.sampler.end(self.counts);
        add_counters(&mut all, &self.before, driver.counters());
        note_backlog(&mut all, shared, until);
        wait_for_the_due(lab, shared, until.plus(GRACE));
        // What began in the window belongs to it: a device that stalls here is waited for.
        drained(&shared.control, driver, spec.workload.commit.post);
        all.learnt = self.before.learnt.zip(driver.counters().learnt);
        collect(
            lab,
            self.number,
            spec,
            &mut all,
            (self.from, self.last, until),
        )?;
        all.events = target
            .recorder
            .capture()
            .map(Capture::end_row)
            .transpose()?;
        all.until = until;
        all.elapsed = warm_up::elapsed(spec, self.from, until);
        fill_utilisation(&mut all, &observed);
        Ok((all, observed))
    }
}

/// Adds what the target counted of itself in the window.
fn add_counters(all: &mut Collected, before: &DriverCounters, after: DriverCounters) {
    all.checkpoint_flushes = after.other_flushes - before.other_flushes;
    all.workers = worker_work(&after.workers, &before.workers);
    all.tproc_c = before.tproc_c.zip(after.tproc_c);
    let life = after.log_life.zip(before.log_life.as_ref());
    all.log_life = life.map(|(after, before)| after.since(before));
}

/// Has the sessions end. In an open loop what was due before the end may still begin for a while:
/// leaving it out would leave out those that waited longest.
fn wait_for_the_due(lab: &Lab<'_>, shared: &Shared, last: Nanos) {
    let control = &*shared.control;
    let clock = lab.target.driver.clock();
    let waits = shared.pacer.is_some();
    while waits && control.running.load(Ordering::SeqCst) > 0 && clock.now() < last {
        std::thread::sleep(LOOK);
    }
    control.stop.store(true, Ordering::SeqCst);
}

/// How far the row is, and the figures of its last interval.
fn progress(spec: &Spec, all: &Collected, elapsed: Nanos) -> RowProgress {
    let part = match spec.commits {
        Some(n) => {
            let asked = n as f64 * f64::from(spec.jobs);
            all.commits as f64 / asked.max(1.0)
        }
        None => elapsed.as_secs() / spec.time.as_secs().max(1e-9),
    };
    let seconds = |i: &IntervalRecord| Nanos(i.window.length_ns()).as_secs();
    let rate = |i: &IntervalRecord| i.commits as f64 / seconds(i).max(1e-9);
    let last = all.intervals.last();
    RowProgress {
        part: part.min(1.0),
        commits_per_s: last.map(rate),
        sync_p99_ns: last.and_then(|interval| interval.sync_p99_ns),
    }
}
