//! Sessions of an open loop: each on a thread of its own, or many on a few threads. When which
//! begins, and what is measured from where, is [`super::pace`]'s.
//!
//! A thread with several sessions never sleeps in the target while one of them is free: it looks
//! for ended transactions and for the next intended start in turn, and gives its processor away in
//! between. Time that it spends inside the target's calls is the target's, also where another of
//! its sessions was due meanwhile.

use super::pace::{Pacer, SLICE, Served, serve};
use super::sample::Sample;
use super::shared::{BUFFERED, BUFFERED_NS, Shared};
use measure::driver::{Begun, DriverError, DriverSession, SessionGroup, Transaction};
use measure::{Clock, Nanos, RealClock};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Transactions that a thread begins before it looks for ended ones again.
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

    /// A transaction of the session with that number.
    fn add(&mut self, session: u32, served: Served, transaction: Transaction) {
        let control = &self.shared.control;
        self.returned += u64::from(control.records(served.ended.0));
        if control.records(served.intended.0) {
            self.served.push(served);
            self.samples.push(Sample {
                latency_ns: served.latency().0,
                transaction,
                session,
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
/// Of the target.
pub(crate) fn session(
    mut session: Box<dyn DriverSession>,
    clock: RealClock,
    job: u32,
    shared: &Shared,
    pacer: &Pacer,
) -> Result<(), DriverError> {
    wake_on_time();
    let mut kept = Kept::new(shared, pacer, job as usize, clock.now());
    let last = std::cell::Cell::new(None);
    let outcome = serve(
        (pacer, &shared.control),
        &clock,
        &std::thread::sleep,
        |_| {
            let transaction = session.transaction()?;
            last.set(Some(transaction));
            Ok(transaction.returned)
        },
        |served| {
            if let Some(transaction) = last.get() {
                kept.add(job, served, transaction);
            }
        },
    );
    kept.hand_over(clock.now());
    shared.control.add_space_waits(session.counts().as_ref());
    outcome
}

struct Job {
    number: u32,
    /// Of its transaction, or of its last one.
    times: Served,
}

struct Thread<'a> {
    kept: Kept<'a>,
    clock: RealClock,
    jobs: Vec<Job>,
    idle: VecDeque<usize>,
    group: Box<dyn SessionGroup>,
    /// When this thread came back from a call of the target's that may have taken long.
    back: Nanos,
    claim: Option<Nanos>,
}

/// Runs the sessions with these numbers on this thread until the row ends.
///
/// # Errors
/// Of the target.
pub(crate) fn thread(
    group: Box<dyn SessionGroup>,
    clock: RealClock,
    numbers: Vec<u32>,
    shared: &Shared,
    pacer: &Pacer,
) -> Result<(), DriverError> {
    wake_on_time();
    let now = clock.now();
    let shard = numbers.first().map_or(0, |n| *n as usize);
    let jobs = numbers.into_iter().map(|number| Job {
        number,
        times: Served {
            intended: now,
            free: now,
            begun: now,
            ended: now,
        },
    });
    let jobs: Vec<Job> = jobs.collect();
    let mut thread = Thread {
        kept: Kept::new(shared, pacer, shard, now),
        clock,
        idle: (0..jobs.len()).collect(),
        group,
        jobs,
        back: now,
        claim: None,
    };
    let outcome = thread.run();
    if let Some(at) = thread.drop_claim() {
        pacer.abandon(at);
    }
    thread.kept.hand_over(clock.now());
    for index in 0..thread.jobs.len() {
        let counts = thread.group.counts(index);
        shared.control.add_space_waits(counts.as_ref());
    }
    outcome
}

impl Thread<'_> {
    fn run(&mut self) -> Result<(), DriverError> {
        loop {
            let goes_on = self.begin_what_is_due()?;
            let free = goes_on && !self.idle.is_empty();
            if self.group.is_idle() {
                if !goes_on {
                    return Ok(());
                }
                self.sleep();
                continue;
            }
            if free {
                if self.group.poll() == 0 {
                    std::thread::yield_now();
                    continue;
                }
            } else {
                let _ = self.group.wait();
                self.back = self.clock.now();
            }
            let now = self.clock.now();
            while let Some((index, transaction)) = self.group.take(now)? {
                self.end(index, transaction);
            }
        }
    }

    /// Begins transactions that are due, as long as sessions are free. Whether more will come.
    fn begin_what_is_due(&mut self) -> Result<bool, DriverError> {
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

    fn begin(&mut self, index: usize, at: Nanos) -> Result<(), DriverError> {
        let job = &mut self.jobs[index];
        let begun = self.clock.now();
        job.times = Served {
            intended: at,
            free: job.times.ended.max(self.back).min(begun),
            begun,
            ended: begun,
        };
        if let Begun::Returned(transaction) = self.group.begin(index, begun)? {
            self.end(index, transaction);
        }
        self.back = self.clock.now();
        Ok(())
    }

    fn end(&mut self, index: usize, transaction: Transaction) {
        let job = &mut self.jobs[index];
        job.times.ended = transaction.returned;
        let (number, times) = (job.number, job.times);
        self.kept.add(number, times, transaction);
        self.idle.push_back(index);
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
