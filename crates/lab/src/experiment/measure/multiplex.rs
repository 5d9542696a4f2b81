//! Many closed-loop sessions on one thread: each has one transaction in flight, and begins its next
//! one when its thread, which has learnt that the last one ended, comes to it.
//!
//! The thread reads its clock once for a group of sessions. That reading ends the last transaction
//! of each of them and begins its next one, so that no time of a session belongs to no transaction:
//! waiting for the thread counts, and the mean latency is jobs divided by throughput but for the
//! ends. A time is wrong by at most the work of one group.

use super::sample::Sample;
use super::shared::{BUFFERED, BUFFERED_NS, Shared};
use super::span::{Span, second_time};
use measure::driver::{Begun, DriverError, SessionGroup, Transaction};
use measure::{Clock, Nanos, RealClock};

/// Sessions for which the clock is read once.
const GROUP: usize = 32;

struct Job {
    number: u32,
    done: u64,
    start: Nanos,
    span: Span,
}

/// A moment by the sessions' clock, and by the other one where it was read.
type Moment = (Nanos, Option<Nanos>);

struct Thread<'a> {
    shared: &'a Shared,
    clock: RealClock,
    group: Box<dyn SessionGroup>,
    jobs: Vec<Job>,
    samples: Vec<Sample>,
    handed_over: Nanos,
    /// Which shard of the recorder.
    shard: usize,
}

/// Runs the sessions with these numbers until they end.
///
/// # Errors
/// Of the target.
pub(crate) fn run(
    group: Box<dyn SessionGroup>,
    clock: RealClock,
    numbers: Vec<u32>,
    shared: &Shared,
) -> Result<(), DriverError> {
    let shard = numbers.first().map_or(0, |n| *n as usize);
    let jobs = numbers.into_iter().map(|number| Job {
        number,
        done: 0,
        start: Nanos::ZERO,
        span: Span::of(number, shared.planted),
    });
    let mut thread = Thread {
        shared,
        clock,
        group,
        jobs: jobs.collect(),
        samples: Vec::with_capacity(BUFFERED + GROUP),
        handed_over: clock.now(),
        shard,
    };
    let outcome = match shared.waits() {
        true => thread.in_flight(),
        false => thread.in_turn(),
    };
    thread.hand_over(clock.now());
    for (index, mut job) in thread.jobs.into_iter().enumerate() {
        let counts = thread.group.counts(index);
        job.span.leave(counts);
        shared.control.add_space_waits(counts.as_ref());
        shared.control.add_span(job.span);
    }
    outcome
}

impl Thread<'_> {
    /// Now. The other clock is read where a session may need it.
    fn now(&self) -> Moment {
        let now = self.clock.now();
        let few = self.jobs.len() < GROUP / 2;
        let wanted = !few || self.jobs.iter().any(|job| job.span.is_timed());
        (now, wanted.then(|| second_time(self.clock, now)).flatten())
    }

    /// Every session has one transaction in flight.
    fn in_flight(&mut self) -> Result<(), DriverError> {
        for first in (0..self.jobs.len()).step_by(GROUP) {
            let now = self.now();
            for index in first..self.jobs.len().min(first + GROUP) {
                self.begin(index, now)?;
            }
        }
        while self.group.wait() > 0 {
            let mut now = self.now();
            let mut in_group = 0;
            while let Some((index, transaction)) = self.group.take(now.0)? {
                self.end(index, transaction, now);
                self.begin(index, now)?;
                in_group += 1;
                if in_group == GROUP {
                    now = self.now();
                    in_group = 0;
                }
            }
            self.look_at_buffer(now.0);
        }
        Ok(())
    }

    /// Begins the next transaction of a session, unless it has ended.
    fn begin(&mut self, index: usize, (now, second): Moment) -> Result<(), DriverError> {
        let control = &self.shared.control;
        let job = &mut self.jobs[index];
        if !control.goes_on(now.0) || control.commits.is_some_and(|n| job.done >= n) {
            return Ok(());
        }
        job.start = now;
        if job.span.is_next_timed() {
            job.span.mark(second);
        }
        match self.group.begin(index, now)? {
            Begun::InFlight => Ok(()),
            Begun::Returned(_) => Err(DriverError::failed(
                "the target did not wait for a transaction that waits",
            )),
        }
    }

    fn end(&mut self, index: usize, transaction: Transaction, (now, second): Moment) {
        self.ended(index, transaction, second);
        if self.samples.len() >= BUFFERED {
            self.hand_over(now);
        }
    }

    /// A session's transaction ended.
    fn ended(&mut self, index: usize, transaction: Transaction, second: Option<Nanos>) {
        let job = &mut self.jobs[index];
        job.done += 1;
        let control = &self.shared.control;
        let start = job.start.0;
        let when = (job.start, control.is_before(start), control.records(start));
        let sample = Sample::of(transaction, job.start, job.number);
        job.span.end(when, sample, second, &mut self.samples);
    }

    /// Nobody waits (NOWAIT), so there is nothing to learn: the sessions take turns.
    fn in_turn(&mut self) -> Result<(), DriverError> {
        let control = &self.shared.control;
        let mut running = true;
        let begun = self.clock.now();
        self.jobs.iter_mut().for_each(|job| job.start = begun);
        while running {
            running = false;
            for index in 0..self.jobs.len() {
                let job = &mut self.jobs[index];
                if !control.goes_on(job.start.0) || control.commits.is_some_and(|n| job.done >= n) {
                    continue;
                }
                running = true;
                let start = job.start;
                let transaction = match self.group.begin(index, start)? {
                    Begun::Returned(transaction) => transaction,
                    Begun::InFlight => self.waited_for(index)?,
                };
                let span = &self.jobs[index].span;
                let timed = span.is_marked() || span.is_soon_timed();
                let second = timed.then(|| second_time(self.clock, transaction.returned));
                let second = second.flatten();
                self.ended(index, transaction, second);
                let job = &mut self.jobs[index];
                job.start = transaction.returned;
                if job.span.is_next_timed() {
                    job.span.mark(second);
                }
            }
            let now = self.clock.now();
            if self.samples.len() >= BUFFERED {
                self.hand_over(now);
            }
            self.look_at_buffer(now);
        }
        Ok(())
    }

    /// The one transaction in flight, of the session with that index, has ended.
    fn waited_for(&mut self, index: usize) -> Result<Transaction, DriverError> {
        let _ = self.group.wait();
        match self.group.take(self.clock.now())? {
            Some((ended, transaction)) if ended == index => Ok(transaction),
            _ => Err(DriverError::failed(
                "the target lost a transaction that was in flight",
            )),
        }
    }

    fn look_at_buffer(&mut self, now: Nanos) {
        if now.since(self.handed_over).0 > BUFFERED_NS {
            self.hand_over(now);
        }
    }

    fn hand_over(&mut self, now: Nanos) {
        self.shared.recorder.samples(self.shard, &self.samples);
        self.samples.clear();
        self.handed_over = now;
    }
}
