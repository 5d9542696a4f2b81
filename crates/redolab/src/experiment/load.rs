//! Load: closed-loop sessions on a log, each on a thread of its own.
//!
//! A transaction begins when the one before has returned, and ends when its own commit has: a
//! session that the system does not let run is a session that waits. Only while samples are put
//! away time passes between two transactions; it is kept apart. The phase tells sessions whether
//! to record: transactions that *begin* in the measured window count, however long they take.
//! Leaving out those that end after it would leave out the longest waits.

use super::recorder::{Recorder, Sample};
use measure::run::SessionTime;
use measure::workload::{CommitWait, Generator, Workload};
use measure::{Clock, Nanos, RealClock};
use redo::{Log, Session};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Samples that a session keeps before it hands them over.
const BUFFERED: usize = 64;
/// A buffered sample is handed over at the latest after this time.
const BUFFERED_NS: u64 = 200_000_000;
/// Sessions need little stack.
const STACK_BYTES: usize = 256 << 10;

/// What sessions of a row are told.
#[derive(Debug)]
pub struct Control {
    /// Transactions that begin before this time are not recorded.
    pub from_ns: AtomicU64,
    /// Transactions that begin at this time or later are not recorded.
    pub until_ns: AtomicU64,
    /// No further transaction.
    pub stop: AtomicBool,
    /// Commits of a session after which it ends by itself.
    pub commits: Option<u64>,
    /// Sessions that have not ended.
    pub running: AtomicU64,
    /// The first error of a session.
    error: Mutex<Option<redo::Error>>,
    space_waits: Mutex<(u64, u64)>,
    spans: Mutex<Vec<Span>>,
}

/// What of a session's time its counted transactions cover.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    /// Start of the first and end of the last, when there was one.
    counted: Option<(Nanos, Nanos)>,
    /// Time between them in which the lab put samples away.
    lab_ns: u64,
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
            space_waits: Mutex::new((0, 0)),
            spans: Mutex::new(Vec::new()),
        }
    }

    /// The first error of a session, if there was one.
    pub fn take_error(&self) -> Option<redo::Error> {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Waits for log buffer space: how many, and nanoseconds together.
    #[must_use]
    pub fn space_waits(&self) -> (u64, u64) {
        *self
            .space_waits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of all sessions that ended, in a row from `from` to `until`, that no latency shows.
    #[must_use]
    pub fn session_time(&self, from: Nanos, until: Nanos) -> SessionTime {
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let signed = |later: Nanos, earlier: Nanos| later.0 as i64 - earlier.0 as i64;
        let mut time = SessionTime::default();
        for span in spans.iter() {
            time.lab_ns += span.lab_ns;
            time.beyond_ns += match span.counted {
                Some((first, last)) => signed(last, until) - signed(first, from),
                None => -signed(until, from),
            };
        }
        time
    }

    fn fail(&self, error: redo::Error) {
        let mut slot = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert(error);
        self.stop.store(true, Ordering::SeqCst);
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
    /// Nanoseconds of CPU work before each commit.
    pub cpu_per_txn_ns: u64,
    /// Seed of the payload.
    pub seed: u64,
}

/// Starts `jobs` sessions.
///
/// # Errors
/// When the system gives no more threads; those already started are stopped.
pub fn start(log: &Log, jobs: u32, shared: &Shared) -> std::io::Result<Vec<JoinHandle<()>>> {
    let mut threads = Vec::with_capacity(jobs as usize);
    for job in 0..jobs {
        let (session, clock, shared) = (log.session(), log.clock(), shared.clone());
        let control = Arc::clone(&shared.control);
        control.running.fetch_add(1, Ordering::SeqCst);
        let body = move || {
            let _ended = Ended(Arc::clone(&shared.control));
            if let Err(error) = run(session, clock, job, &shared) {
                shared.control.fail(error);
            }
        };
        let thread = std::thread::Builder::new()
            .name(format!("job-{job}"))
            .stack_size(STACK_BYTES)
            .spawn(body);
        match thread {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                control.running.fetch_sub(1, Ordering::SeqCst);
                control.stop.store(true, Ordering::SeqCst);
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
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn run(
    mut session: Session,
    clock: RealClock,
    job: u32,
    shared: &Shared,
) -> Result<(), redo::Error> {
    let control = &shared.control;
    let mut generator = Generator::new(Arc::clone(&shared.pool), job, shared.seed);
    let mut buffer = Vec::with_capacity(BUFFERED);
    let mut handed_over = clock.now();
    let mut done = 0;
    let mut span = Span::default();
    let mut start = handed_over;
    while !control.stop.load(Ordering::Relaxed) && control.commits.is_none_or(|n| done < n) {
        let sample = transaction(&mut session, clock, &mut generator, shared, start)?;
        done += 1;
        let end = start.plus(Nanos(sample.latency_ns));
        let from = control.from_ns.load(Ordering::Relaxed);
        let until = control.until_ns.load(Ordering::Relaxed);
        let counts = start.0 >= from && start.0 < until;
        if counts {
            buffer.push(sample);
            let first = span.counted.map_or(start, |(first, _)| first);
            span.counted = Some((first, end));
        }
        start = end;
        if buffer.len() == BUFFERED || end.since(handed_over).0 > BUFFERED_NS {
            shared.recorder.samples(job as usize, &buffer);
            buffer.clear();
            start = clock.now();
            handed_over = start;
            if counts && start.0 < until {
                span.lab_ns += start.since(end).0;
                span.counted = span.counted.map(|(first, _)| (first, start));
            }
        }
    }
    let mut spans = control.spans.lock().unwrap_or_else(PoisonError::into_inner);
    spans.push(span);
    drop(spans);
    shared.recorder.samples(job as usize, &buffer);
    let waits = session.space_waits();
    let mut sum = control
        .space_waits
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    sum.0 += waits.count;
    sum.1 += waits.total.0;
    Ok(())
}

fn transaction(
    session: &mut Session,
    clock: RealClock,
    generator: &mut Generator,
    shared: &Shared,
    start: Nanos,
) -> Result<Sample, redo::Error> {
    let workload = &*shared.workload;
    generator.next_transaction();
    for index in 0..workload.records.max(1) {
        let (stamp, body) = generator.record(index, workload.record_bytes(index));
        session.append(&[&stamp, body])?;
    }
    if shared.cpu_per_txn_ns > 0 {
        let until = clock.now().0 + shared.cpu_per_txn_ns;
        while clock.now().0 < until {
            std::hint::spin_loop();
        }
    }
    let commit = session.commit(workload.commit)?;
    let waits = workload.commit.wait == CommitWait::Wait;
    Ok(Sample {
        latency_ns: commit.returned.since(start).0,
        sync_ns: waits.then(|| commit.log_file_sync().0),
        path: commit.path(),
    })
}
