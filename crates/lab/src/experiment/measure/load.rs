//! Load: sessions on a log, each on a thread of its own, or many on a few threads (`multiplex`).
//! In a closed loop (here) a session begins a transaction when the one before has returned; in
//! an open loop (`open`) transactions are due at given times.
//!
//! A transaction of a closed loop begins when the one before has returned, and ends when its own
//! commit has: a session that the system does not let run is a session that waits. Only while
//! samples are put away time passes between two transactions; it is kept apart. The phase shows
//! sessions whether to record: transactions that *begin* in the measured window count, however
//! long they take. Leaving out those that end after it would leave out the longest waits.

use super::control::Control;
use super::multiplex;
use super::open;
use super::sample::Sample;
use super::shared::{BUFFERED, BUFFERED_NS, Shared};
use super::span::{Span, second_clock, second_time};
use crate::experiment::Failure;
use crate::signals::Interrupt;
use device::placement::run_queue_ns;
use measure::driver::{Driver, DriverError, DriverSession, SessionGroup};
use measure::{Clock, Nanos, RealClock};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// A user that pauses looks so often whether the row has ended.
const PAUSE_SLICE: Duration = Duration::from_millis(50);
/// Sessions need little stack.
const STACK_BYTES: usize = 256 << 10;

/// Threads of the asynchronous API when none are named.
pub const DEFAULT_THREADS: u32 = 2;
/// Threads that sessions may share, at most.
pub const MAX_THREADS: u32 = 1024;

/// How sessions commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitApi {
    /// Each on a thread of its own, waiting for its commit.
    Sync,
    /// Many on each of a few threads, by tickets, each with one commit in flight.
    Async {
        /// How many threads at most.
        threads: u32,
    },
}

impl CommitApi {
    /// Its name in options and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CommitApi::Sync => "sync",
            CommitApi::Async { .. } => "async",
        }
    }

    /// Threads that run `jobs` sessions.
    #[must_use]
    pub fn threads(self, jobs: u32) -> u32 {
        match self {
            CommitApi::Sync => jobs,
            CommitApi::Async { threads } => threads.min(jobs),
        }
    }
}

/// The sessions of a thread, opened.
pub enum ThreadSessions {
    /// One, with its number.
    One(u32, Box<dyn DriverSession>),
    /// Several, with their numbers.
    Group(Vec<u32>, Box<dyn SessionGroup>),
}

/// Opens `jobs` sessions on `driver`, by the threads that will run them.
///
/// # Errors
/// Of the target; [`Failure::Interrupted`] when `interrupt` is requested meanwhile.
pub fn open_sessions(
    driver: &dyn Driver,
    (jobs, api): (u32, CommitApi),
    shared: &Shared,
    interrupt: &Interrupt,
) -> Result<Vec<ThreadSessions>, Failure> {
    let count = api.threads(jobs);
    let of_thread = |thread| match api {
        _ if interrupt.requested() => Err(Failure::Interrupted),
        CommitApi::Sync => {
            let session = driver.session(shared.load(thread));
            let session = session.map_err(|e| e.of_session(thread + 1, jobs))?;
            Ok(ThreadSessions::One(thread, session))
        }
        CommitApi::Async { .. } => {
            // Every session whose number leaves this rest.
            let numbers: Vec<u32> = (thread..jobs).step_by(count as usize).collect();
            let loads = numbers.iter().map(|number| shared.load(*number)).collect();
            Ok(ThreadSessions::Group(numbers, driver.group(loads)?))
        }
    };
    (0..count).map(of_thread).collect()
}

/// Starts a thread for each of `sessions`.
///
/// # Errors
/// When the system gives no more threads; those already started are stopped.
pub fn start(
    sessions: Vec<ThreadSessions>,
    driver: &Arc<dyn Driver>,
    shared: &Shared,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    let clock = driver.clock();
    let mut threads = Vec::with_capacity(sessions.len());
    for (thread, mine) in sessions.into_iter().enumerate() {
        let (shared, driver) = (shared.clone(), Arc::clone(driver));
        let control = Arc::clone(&shared.control);
        control.running.fetch_add(1, Ordering::SeqCst);
        let body = move || {
            let _ended = Ended(Arc::clone(&shared.control));
            let outcome = match (mine, shared.pacer.as_deref()) {
                (ThreadSessions::One(number, session), None) => {
                    run(session, clock, number, &shared)
                }
                (ThreadSessions::One(number, session), Some(pacer)) => {
                    open::session(session, clock, number, &shared, pacer)
                }
                (ThreadSessions::Group(numbers, group), None) => {
                    multiplex::run(group, clock, numbers, &shared)
                }
                (ThreadSessions::Group(numbers, group), Some(pacer)) => {
                    open::thread(group, clock, numbers, &shared, pacer)
                }
            };
            // Until now: a target whose sessions hang is not ended by those who gave up on them.
            drop(driver);
            if let Err(error) = outcome {
                shared.control.fail(error);
            }
        };
        let spawned = std::thread::Builder::new()
            .name(format!("job-{thread}"))
            .stack_size(STACK_BYTES)
            .spawn(body);
        match spawned {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                control.running.fetch_sub(1, Ordering::SeqCst);
                control.halt();
                for thread in threads {
                    // Its outcome is in the control; it was told to stop.
                    let _ = thread.join();
                }
                return Err(error);
            }
        }
    }
    Ok(threads)
}

/// Counts a session out, also when it panics.
struct Ended(Arc<Control>);

impl Drop for Ended {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt();
        }
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn run(
    mut session: Box<dyn DriverSession>,
    clock: RealClock,
    job: u32,
    shared: &Shared,
) -> Result<(), DriverError> {
    let control = &shared.control;
    let mut buffer = Vec::with_capacity(BUFFERED + 1);
    let mut handed_over = clock.now();
    let queued = run_queue_ns();
    let mut done = 0;
    let mut start = handed_over;
    let mut span = Span::of(job, shared.planted);
    while control.goes_on(start.0) && control.commits.is_none_or(|n| done < n) {
        let pause = session.pause();
        if pause > Nanos::ZERO {
            // Not when the pause is over: the samples belong to the interval that goes on now.
            shared.recorder.samples(job as usize, &buffer);
            buffer.clear();
            start = wait_out(clock, start.plus(pause), control);
            if !control.goes_on(start.0) {
                break;
            }
        }
        let sample = Sample::of(session.transaction()?, start, job);
        done += 1;
        let end = start.plus(Nanos(sample.latency_ns));
        let timed = span.is_marked() || span.is_soon_timed();
        let mut second = timed.then(|| second_time(clock, end)).flatten();
        let counts = control.records(start.0);
        let until = control.until_ns.load(Ordering::Relaxed);
        let when = (start, control.is_before(start.0), counts);
        span.end(when, sample, second, &mut buffer);
        start = end;
        if buffer.len() >= BUFFERED || end.since(handed_over).0 > BUFFERED_NS {
            let before = second_clock();
            shared.recorder.samples(job as usize, &buffer);
            buffer.clear();
            start = clock.now();
            handed_over = start;
            if counts && start.0 < until {
                span.put_away(end, start, second_clock().since(before).0);
            }
            second = None;
        }
        if span.is_next_timed() {
            span.mark(second);
        }
    }
    let waited = run_queue_ns().zip(queued).map(|(now, then)| now - then);
    control.add_run_queue(done, waited);
    let counts = session.counts();
    span.leave(counts);
    control.add_span(span);
    shared.recorder.samples(job as usize, &buffer);
    control.add_space_waits(counts.as_ref());
    Ok(())
}

/// Waits, in short sleeps, until `until` or the stop. When that was.
fn wait_out(clock: RealClock, until: Nanos, control: &Control) -> Nanos {
    loop {
        let now = clock.now();
        if now >= until || control.stop.load(Ordering::Acquire) {
            return now;
        }
        std::thread::sleep(Duration::from_nanos(until.since(now).0).min(PAUSE_SLICE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::measure::planted::PlantedLie;
    use crate::experiment::measure::row::POOL_BYTES;
    use crate::experiment::target::{LoadTarget, Setup};
    use measure::workload::{Payload, Workload};

    /// What a session records that is stopped before it begins, in a row that goes on for 20 ms,
    /// and whether it ran to the end of that.
    fn stopped_at_once(api: CommitApi, workload: &str, halted: bool) -> (u64, bool) {
        let target = LoadTarget::null(Setup::default()).expect("a log");
        let control = Arc::new(Control::new(None));
        let payload = Payload::default();
        let shared = Shared {
            control: Arc::clone(&control),
            recorder: Arc::clone(&target.recorder),
            workload: Arc::new(Workload::by_name(workload).expect("known")),
            pool: payload.pool(1, POOL_BYTES),
            cpu_per_txn: Nanos::ZERO,
            seed: 1,
            payload,
            pacer: None,
            planted: PlantedLie::default(),
        };
        let clock = target.driver.clock();
        let interrupt = Interrupt::default();
        let sessions = open_sessions(&*target.driver, (1, api), &shared, &interrupt);
        let sessions = sessions.expect("a session");
        let from = clock.now();
        let until = from.plus(Nanos::from_millis(20));
        control.from_ns.store(from.0, Ordering::SeqCst);
        control.until_ns.store(until.0, Ordering::SeqCst);
        control.stop.store(true, Ordering::SeqCst);
        if halted {
            control.halt();
        }
        for thread in start(sessions, &target.driver, &shared).expect("a thread") {
            thread.join().expect("no panic");
        }
        let commits = target.recorder.take().0.all().latency.count();
        (commits, clock.now() >= until)
    }

    /// A session that was interrupted between two transactions until after the stop: its last
    /// transaction began in the measured time, and reaches to its end.
    #[test]
    fn no_time_of_a_session_is_left_out_at_the_end() {
        for api in [CommitApi::Sync, CommitApi::Async { threads: 1 }] {
            for workload in ["LAT1", "THR"] {
                let (commits, to_the_end) = stopped_at_once(api, workload, false);
                assert!(commits > 0 && to_the_end, "{api:?}, {workload}");
                let (commits, _) = stopped_at_once(api, workload, true);
                assert_eq!(commits, 0, "{api:?}, {workload}: the row has failed");
            }
        }
    }
}
