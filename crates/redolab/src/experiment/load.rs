//! Load: sessions on a log, each on a thread of its own, or many on a few threads (`multiplex`).
//! In a closed loop (here) a session begins a transaction when the one before has returned; in
//! an open loop (`open`) transactions are due at given times.
//!
//! A transaction of a closed loop begins when the one before has returned, and ends when its own
//! commit has: a session that the system does not let run is a session that waits. Only while
//! samples are put away time passes between two transactions; it is kept apart. The phase shows
//! sessions whether to record: transactions that *begin* in the measured window count, however
//! long they take. Leaving out those that end after it would leave out the longest waits.

use super::pace::Pacer;
use super::planted::PlantedLie;
use super::recorder::{Recorder, Sample};
use super::span::{self, Counted, Span, second_clock, second_time};
use super::{Failure, multiplex, open};
use crate::signals::Interrupt;
use measure::driver::{
    Driver, DriverError, DriverSession, SessionCounts, SessionGroup, SessionLoad,
};
use measure::record::WaitSum;
use measure::run::{CrossCheck, SessionFigures, SessionTime};
use measure::workload::{CommitWait, Payload, Workload};
use measure::{Clock, Nanos, RealClock};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Samples that a session keeps before it hands them over.
pub(super) const BUFFERED: usize = 64;
/// A buffered sample is handed over at the latest after this time.
pub(super) const BUFFERED_NS: u64 = 200_000_000;
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

/// What sessions of a row are given.
#[derive(Debug)]
pub struct Control {
    /// Transactions that begin before this time are not recorded.
    pub from_ns: AtomicU64,
    /// Transactions that begin at this time or later are not recorded.
    pub until_ns: AtomicU64,
    /// No further transaction but those that began in the measured time.
    pub stop: AtomicBool,
    /// Commits of a session after which it ends by itself.
    pub commits: Option<u64>,
    /// Threads of sessions that have not ended.
    pub running: AtomicU64,
    /// The first error of a session.
    error: Mutex<Option<DriverError>>,
    /// `None` once a session has ended for which the target did not count.
    space_waits: Mutex<Option<WaitSum>>,
    spans: Mutex<Vec<Span>>,
}

impl Control {
    /// Nothing is recorded until `from_ns` is set.
    #[must_use]
    pub fn new(commits: Option<u64>) -> Control {
        Control {
            from_ns: AtomicU64::new(u64::MAX),
            until_ns: AtomicU64::new(u64::MAX),
            stop: AtomicBool::new(false),
            commits,
            running: AtomicU64::new(0),
            error: Mutex::new(None),
            space_waits: Mutex::new(Some(WaitSum::default())),
            spans: Mutex::new(Vec::new()),
        }
    }

    /// The first error of a session, if there was one.
    pub fn take_error(&self) -> Option<DriverError> {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Waits for log buffer space; `None` where the target does not count them.
    #[must_use]
    pub fn space_waits(&self) -> Option<WaitSum> {
        *self
            .space_waits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what a session that ended waited for log buffer space.
    pub(super) fn add_space_waits(&self, counts: Option<&SessionCounts>) {
        let mut sum = self
            .space_waits
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *sum = sum
            .zip(counts)
            .map(|(sum, counts)| sum.plus(counts.space_waits));
    }

    /// Adds when a session's counted transactions began and ended.
    pub(super) fn add_span(&self, span: Span) {
        self.spans().push(span);
    }

    /// A transaction that began then is recorded.
    pub(super) fn records(&self, start_ns: u64) -> bool {
        let from = self.from_ns.load(Ordering::Relaxed);
        start_ns >= from && start_ns < self.until_ns.load(Ordering::Relaxed)
    }

    /// A transaction that began then began before the measured time.
    pub(super) fn is_before(&self, start_ns: u64) -> bool {
        start_ns < self.from_ns.load(Ordering::Relaxed)
    }

    /// Whether a session of a closed loop makes the transaction that begins at `start_ns`, when the
    /// one before ended. After the stop too, where that is in the measured time: a session that the
    /// system did not let run since then was waiting, and that wait would be in no latency.
    pub(super) fn goes_on(&self, start_ns: u64) -> bool {
        !self.stop.load(Ordering::Acquire) || self.records(start_ns)
    }

    /// No further transaction, and none is recorded: the row has failed.
    pub(super) fn halt(&self) {
        self.until_ns.store(0, Ordering::SeqCst);
        self.stop.store(true, Ordering::SeqCst);
    }

    /// The time of all sessions that ended, in a row from `from` to `until`, that no latency shows.
    #[must_use]
    pub fn session_time(&self, from: Nanos, until: Nanos) -> SessionTime {
        span::session_time(&self.spans(), from, until)
    }

    /// The closed loop's sessions that ended, by number.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionFigures> {
        span::sessions(&self.spans())
    }

    /// The second count of a closed loop whose sessions have ended.
    pub(super) fn cross_check(&self, row: &Counted<'_>) -> Option<CrossCheck> {
        span::cross_check(&self.spans(), row)
    }

    fn spans(&self) -> MutexGuard<'_, Vec<Span>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: DriverError) {
        let mut slot = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert(error);
        self.halt();
    }
}

/// What all sessions of a row share.
#[derive(Clone)]
pub struct Shared {
    /// The control.
    pub control: Arc<Control>,
    /// Where samples go.
    pub recorder: Arc<Recorder>,
    /// What a transaction is.
    pub workload: Arc<Workload>,
    /// Pseudo-random bytes.
    pub pool: Arc<[u8]>,
    /// CPU work before each commit.
    pub cpu_per_txn: Nanos,
    /// Seed of the payload.
    pub seed: u64,
    /// What it is made of.
    pub payload: Payload,
    /// When transactions are meant to begin, in an open loop.
    pub pacer: Option<Arc<Pacer>>,
    /// What a test has planted.
    pub planted: PlantedLie,
}

impl Shared {
    fn load(&self, number: u32) -> SessionLoad {
        SessionLoad {
            number,
            workload: Arc::clone(&self.workload),
            cpu_per_txn: self.cpu_per_txn,
            payload: self.payload,
            pool: Arc::clone(&self.pool),
            seed: self.seed,
        }
    }

    /// Whether sessions wait until their redo is durable.
    pub(super) fn waits(&self) -> bool {
        self.workload.commit.wait == CommitWait::Wait
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
    use crate::experiment::row::POOL_BYTES;
    use crate::experiment::target::{LoadTarget, Setup};

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
