//! Many closed-loop sessions on one thread, by tickets: each has one commit in flight, and begins
//! its next transaction when its thread, that has learned that the last one is durable, comes to
//! it.
//!
//! The thread reads its clock once for a group of sessions. That reading ends the last transaction
//! of each of them and begins its next one, so that no time of a session belongs to no transaction:
//! waiting for the thread counts, and the mean latency is jobs divided by throughput but for the
//! ends. A time is wrong by at most the work of one group.

use super::load::{BUFFERED, BUFFERED_NS, Shared, append, work};
use super::recorder::Sample;
use super::span::{Span, second_time};
use measure::workload::{CommitWait, Generator};
use measure::{Clock, Nanos, RealClock};
use redo::{Commit, Completion, Completions, Log, Session};

/// Sessions for which the clock is read once.
const GROUP: usize = 32;

struct Job {
    number: u32,
    session: Session,
    generator: Generator,
    done: u64,
    start: Nanos,
    /// When its commit was asked for.
    requested: Nanos,
    span: Span,
}

/// A moment by the sessions' clock, and by the other one where it was read.
type Moment = (Nanos, Option<Nanos>);

struct Thread<'a> {
    shared: &'a Shared,
    clock: RealClock,
    jobs: Vec<Job>,
    queue: Completions<usize>,
    samples: Vec<Sample>,
    handed_over: Nanos,
    /// Which shard of the recorder.
    shard: usize,
}

/// Runs the sessions with these numbers until they end.
///
/// # Errors
/// The log's.
pub(super) fn run(
    log: &Log,
    numbers: impl Iterator<Item = u32>,
    shared: &Shared,
) -> Result<(), redo::Error> {
    let clock = log.clock();
    let numbers: Vec<u32> = numbers.collect();
    let shard = numbers.first().map_or(0, |n| *n as usize);
    let jobs = numbers.into_iter().map(|number| Job {
        number,
        session: log.session(),
        generator: shared.generator(number),
        done: 0,
        start: Nanos::ZERO,
        requested: Nanos::ZERO,
        span: Span::of(number, shared.planted),
    });
    let jobs: Vec<Job> = jobs.collect();
    let mut thread = Thread {
        shared,
        clock,
        queue: log.completions(jobs.len()),
        jobs,
        samples: Vec::with_capacity(BUFFERED + GROUP),
        handed_over: clock.now(),
        shard,
    };
    let outcome = if shared.workload.commit.wait == CommitWait::Wait {
        thread.in_flight()
    } else {
        thread.in_turn()
    };
    thread.hand_over(clock.now());
    for mut job in thread.jobs {
        job.span.leave(job.session.appended());
        shared.control.add_space_waits(&job.session);
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

    /// Every session has one commit in flight.
    fn in_flight(&mut self) -> Result<(), redo::Error> {
        for first in (0..self.jobs.len()).step_by(GROUP) {
            let now = self.now();
            for index in first..self.jobs.len().min(first + GROUP) {
                self.begin(index, now)?;
            }
        }
        while self.queue.wait() > 0 {
            let mut now = self.now();
            let mut in_group = 0;
            while let Some(completion) = self.queue.take() {
                if in_group == GROUP {
                    now = self.now();
                    in_group = 0;
                }
                in_group += 1;
                let index = completion.tag;
                self.end(completion, now)?;
                self.begin(index, now)?;
            }
            self.look_at_buffer(now.0);
        }
        Ok(())
    }

    /// Begins the next transaction of a session, unless it has ended.
    fn begin(&mut self, index: usize, (now, second): Moment) -> Result<(), redo::Error> {
        let control = &self.shared.control;
        let job = &mut self.jobs[index];
        if !control.goes_on(now.0) || control.commits.is_some_and(|n| job.done >= n) {
            return Ok(());
        }
        let workload = &self.shared.workload;
        job.start = now;
        if job.span.is_next_timed() {
            job.span.mark(second);
        }
        append(&mut job.session, &mut job.generator, workload)?;
        job.requested = work(self.clock, self.shared.cpu_per_txn_ns).unwrap_or(now);
        let ticket = job.session.commit_async(workload.commit.post)?;
        let queued = self.queue.push(ticket, index);
        assert!(queued.is_ok(), "one commit of each session is in flight");
        Ok(())
    }

    fn end(
        &mut self,
        completion: Completion<usize>,
        (now, second): Moment,
    ) -> Result<(), redo::Error> {
        completion.outcome?;
        let commit = Commit {
            batch: 0,
            durable: true,
            immediate: false,
            requested: self.jobs[completion.tag].requested,
            returned: now.max(self.jobs[completion.tag].requested),
            stations: completion.stations,
        };
        self.ended(completion.tag, &commit, commit.log_file_sync().0, second);
        if self.samples.len() >= BUFFERED {
            self.hand_over(now);
        }
        Ok(())
    }

    /// A session's transaction ended with this commit, for which it waited `sync_ns`.
    fn ended(
        &mut self,
        index: usize,
        commit: &Commit,
        sync_ns: impl Into<Option<u64>>,
        second: Option<Nanos>,
    ) {
        let job = &mut self.jobs[index];
        job.done += 1;
        let control = &self.shared.control;
        let start = job.start.0;
        let when = (job.start, control.is_before(start), control.records(start));
        let sample = Sample {
            latency_ns: commit.returned.since(job.start).0,
            sync_ns: sync_ns.into(),
            path: commit.path(),
            requested_ns: commit.requested.0,
            batch: None,
            session: job.number,
        };
        job.span.end(when, sample, second, &mut self.samples);
    }

    /// Nobody waits (NOWAIT), so there is nothing to learn: the sessions take turns.
    fn in_turn(&mut self) -> Result<(), redo::Error> {
        let shared = self.shared;
        let control = &shared.control;
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
                append(&mut job.session, &mut job.generator, &shared.workload)?;
                let _ = work(self.clock, shared.cpu_per_txn_ns);
                let commit = job.session.commit(shared.workload.commit)?;
                let timed = job.span.is_marked() || job.span.is_soon_timed();
                let second = timed.then(|| second_time(self.clock, commit.returned));
                let second = second.flatten();
                self.ended(index, &commit, None, second);
                let job = &mut self.jobs[index];
                job.start = commit.returned;
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
