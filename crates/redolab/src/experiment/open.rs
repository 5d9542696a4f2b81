//! Sessions of an open loop on a log: each on a thread of its own, or many on a few threads by
//! tickets. When which begins, and what is measured from where, is [`super::pace`]'s.
//!
//! A thread with several sessions never sleeps in the log while one of them is free: it looks for
//! completions and for the next intended start in turn, and gives its processor away in between.
//! Time that it spends inside the log's calls is the log's, also where another of its sessions was
//! due meanwhile.

use super::load::{BUFFERED, BUFFERED_NS, Shared, append, work};
use super::pace::{Pacer, SLICE, Served, serve};
use super::recorder::Sample;
use measure::workload::{CommitWait, Generator};
use measure::{Clock, Nanos, RealClock};
use redo::{Commit, Completion, Completions, Log, Session};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Transactions that a thread begins before it looks for completions again.
const GROUP: usize = 32;

/// Has the system end this thread's sleeps as near to their time as it can: by default it may
/// gather them over 50 µs.
fn wake_on_time() {
    // Refused only where it makes no difference.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// What a thread has measured and not handed over.
struct Kept<'a> {
    shared: &'a Shared,
    pacer: &'a Pacer,
    shard: usize,
    samples: Vec<Sample>,
    served: Vec<Served>,
    returned: u64,
    handed_over: Nanos,
}

impl<'a> Kept<'a> {
    fn new(shared: &'a Shared, pacer: &'a Pacer, shard: usize, now: Nanos) -> Kept<'a> {
        Kept {
            shared,
            pacer,
            shard,
            samples: Vec::with_capacity(BUFFERED),
            served: Vec::with_capacity(BUFFERED),
            returned: 0,
            handed_over: now,
        }
    }

    fn add(&mut self, served: Served, commit: &Commit) {
        let control = &self.shared.control;
        self.returned += u64::from(control.records(served.ended.0));
        if control.records(served.intended.0) {
            let waits = self.shared.workload.commit.wait == CommitWait::Wait;
            self.served.push(served);
            self.samples.push(Sample {
                latency_ns: served.latency().0,
                sync_ns: waits.then(|| commit.log_file_sync().0),
                path: commit.path(),
                requested_ns: commit.requested.0,
                batch: Some(commit.batch),
                session: self.shard as u32,
            });
        }
        let old = served.ended.since(self.handed_over).0 > BUFFERED_NS;
        if old || self.samples.len() >= BUFFERED {
            self.hand_over(served.ended);
        }
    }

    fn hand_over(&mut self, now: Nanos) {
        self.shared.recorder.samples(self.shard, &self.samples);
        self.pacer.record(self.shard, &self.served, self.returned);
        self.samples.clear();
        self.served.clear();
        self.returned = 0;
        self.handed_over = now;
    }
}

/// Runs one session on this thread until the row ends.
///
/// # Errors
/// The log's.
pub(super) fn session(
    mut session: Session,
    clock: RealClock,
    job: u32,
    shared: &Shared,
    pacer: &Pacer,
) -> Result<(), redo::Error> {
    wake_on_time();
    let mut generator = shared.generator(job);
    let mut kept = Kept::new(shared, pacer, job as usize, clock.now());
    let last = std::cell::Cell::new(None);
    let outcome = serve(
        (pacer, &shared.control),
        &clock,
        &std::thread::sleep,
        |_| {
            append(&mut session, &mut generator, &shared.workload)?;
            let _ = work(clock, shared.cpu_per_txn_ns);
            let commit = session.commit(shared.workload.commit)?;
            last.set(Some(commit));
            Ok(commit.returned)
        },
        |served| {
            if let Some(commit) = last.get() {
                kept.add(served, &commit);
            }
        },
    );
    kept.hand_over(clock.now());
    shared.control.add_space_waits(&session);
    outcome
}

struct Job {
    session: Session,
    generator: Generator,
    /// Of its transaction, or of its last one.
    times: Served,
    requested: Nanos,
}

struct Thread<'a> {
    kept: Kept<'a>,
    clock: RealClock,
    jobs: Vec<Job>,
    idle: VecDeque<usize>,
    queue: Completions<usize>,
    /// When this thread came back from a call of the log's that may have taken long.
    back: Nanos,
    claim: Option<Nanos>,
}

/// Runs the sessions with these numbers on this thread until the row ends.
///
/// # Errors
/// The log's.
pub(super) fn thread(
    log: &Log,
    numbers: impl Iterator<Item = u32>,
    shared: &Shared,
    pacer: &Pacer,
) -> Result<(), redo::Error> {
    wake_on_time();
    let clock = log.clock();
    let now = clock.now();
    let numbers: Vec<u32> = numbers.collect();
    let shard = numbers.first().map_or(0, |n| *n as usize);
    let jobs = numbers.into_iter().map(|number| Job {
        session: log.session(),
        generator: shared.generator(number),
        times: Served {
            intended: now,
            free: now,
            begun: now,
            ended: now,
        },
        requested: now,
    });
    let jobs: Vec<Job> = jobs.collect();
    let mut thread = Thread {
        kept: Kept::new(shared, pacer, shard, now),
        clock,
        idle: (0..jobs.len()).collect(),
        queue: log.completions(jobs.len()),
        jobs,
        back: now,
        claim: None,
    };
    let outcome = thread.run();
    if let Some(at) = thread.drop_claim() {
        pacer.abandon(at);
    }
    thread.kept.hand_over(clock.now());
    for job in thread.jobs {
        shared.control.add_space_waits(&job.session);
    }
    outcome
}

impl Thread<'_> {
    fn run(&mut self) -> Result<(), redo::Error> {
        loop {
            let goes_on = self.begin_what_is_due()?;
            let free = goes_on && !self.idle.is_empty();
            if self.queue.is_empty() {
                if !goes_on {
                    return Ok(());
                }
                self.sleep();
                continue;
            }
            if free {
                if self.queue.poll() == 0 {
                    std::thread::yield_now();
                    continue;
                }
            } else {
                let _ = self.queue.wait();
                self.back = self.clock.now();
            }
            let now = self.clock.now();
            while let Some(completion) = self.queue.take() {
                self.end(completion, now)?;
            }
        }
    }

    /// Begins transactions that are due, as long as sessions are free. Whether more will come.
    fn begin_what_is_due(&mut self) -> Result<bool, redo::Error> {
        let control = &self.kept.shared.control;
        for _ in 0..GROUP {
            if control.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let Some(index) = self.idle.front().copied() else {
                return Ok(true);
            };
            let Some(at) = self.claimed() else {
                return Ok(false);
            };
            if at > self.clock.now() {
                return Ok(true);
            }
            self.drop_claim();
            self.kept.pacer.begin();
            self.idle.pop_front();
            self.begin(index, at)?;
        }
        Ok(true)
    }

    /// The arrival that is this thread's to begin; `None` once it is not in the row any more.
    fn claimed(&mut self) -> Option<Nanos> {
        let (pacer, control) = (self.kept.pacer, &self.kept.shared.control);
        let at = match self.claim {
            Some(at) => at,
            None => {
                let at = pacer.claim(control)?;
                // Until it begins it is taken for one that is not due: off by one a thread.
                pacer.wait_ahead(true);
                self.claim = Some(at);
                at
            }
        };
        (at.0 < control.until_ns.load(Ordering::Relaxed)).then_some(at)
    }

    fn drop_claim(&mut self) -> Option<Nanos> {
        let claim = self.claim.take();
        if claim.is_some() {
            self.kept.pacer.wait_ahead(false);
        }
        claim
    }

    fn begin(&mut self, index: usize, at: Nanos) -> Result<(), redo::Error> {
        let shared = self.kept.shared;
        let job = &mut self.jobs[index];
        let begun = self.clock.now();
        job.times = Served {
            intended: at,
            free: job.times.ended.max(self.back).min(begun),
            begun,
            ended: begun,
        };
        append(&mut job.session, &mut job.generator, &shared.workload)?;
        job.requested = work(self.clock, shared.cpu_per_txn_ns).unwrap_or(begun);
        if shared.workload.commit.wait == CommitWait::Nowait {
            let commit = job.session.commit(shared.workload.commit)?;
            job.times.ended = commit.returned;
            let times = job.times;
            self.kept.add(times, &commit);
            self.idle.push_back(index);
        } else {
            let ticket = job.session.commit_async(shared.workload.commit.post)?;
            let queued = self.queue.push(ticket, index);
            assert!(queued.is_ok(), "one commit of each session is in flight");
        }
        self.back = self.clock.now();
        Ok(())
    }

    fn end(&mut self, completion: Completion<usize>, now: Nanos) -> Result<(), redo::Error> {
        completion.outcome?;
        let job = &mut self.jobs[completion.tag];
        let commit = Commit {
            batch: 0,
            durable: true,
            immediate: false,
            requested: job.requested,
            returned: now.max(job.requested),
            stations: completion.stations,
        };
        job.times.ended = commit.returned;
        let times = job.times;
        self.kept.add(times, &commit);
        self.idle.push_back(completion.tag);
        Ok(())
    }

    /// Nothing is in flight, and what comes next is not due.
    fn sleep(&self) {
        let now = self.clock.now();
        let left = self.claim.map_or(Nanos::ZERO, |at| at.since(now));
        if left > Nanos::ZERO {
            std::thread::sleep(Duration::from_nanos(left.min(SLICE).0));
        }
    }
}
