//! One row: a workload with a number of jobs, warmed up, measured second by second, stopped.

mod figures;

use super::Failure;
use super::capture::Capture;
use super::load::{self, CommitApi, Control, Shared};
use super::recorder::{Background, Foreground};
use super::target::LogTarget;
use crate::observe::sampler::{Observation, Sampler};
use crate::signals::Interrupt;
use crate::store::RunWriter;
use device::pool::IdleTime;
use measure::run::{CapturedEvents, Interval, Row};
use measure::workload::{CommitPost, Workload, pool};
use measure::{Clock, Nanos, WaitEvent};
use redo::Log;
use redo::writer::Learned;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Bytes of pseudo-random payload that sessions share.
const POOL_BYTES: usize = 4 << 20;
/// How often the end of a row is looked for.
const LOOK: Duration = Duration::from_millis(5);
/// Length of an interval.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// A session that does not end after the row hangs in its device.
const PATIENCE: Duration = Duration::from_secs(60);

/// What to run.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The workload.
    pub workload: Workload,
    /// Sessions.
    pub jobs: u32,
    /// How they commit.
    pub api: CommitApi,
    /// Measured time; ignored when commits are counted.
    pub time: Nanos,
    /// Time before, not measured.
    pub warmup: Nanos,
    /// Commits a session.
    pub commits: Option<u64>,
    /// CPU work before each commit.
    pub cpu_per_txn: Nanos,
    /// Seed of the payload.
    pub seed: u64,
    /// The row ends early when it has written this much redo.
    pub max_redo_bytes: u64,
}

/// What a row is run with.
pub struct Lab<'a> {
    /// The log.
    pub target: &'a LogTarget,
    /// Processors and device, second by second.
    pub sampler: &'a Sampler,
    /// The kernel believes the device's cache volatile.
    pub declares_cache: Option<bool>,
    /// Devices below the path that count flushes.
    pub devices: usize,
    /// Where intervals are stored.
    pub store: Option<&'a mut RunWriter>,
    /// Asked while the row runs.
    pub interrupt: &'a Interrupt,
    /// Asked once a second, with the redo written in this row.
    pub guard: &'a dyn Fn(u64) -> Result<(), Failure>,
    /// Told once a second: part done (0 to 1), commits a second.
    pub progress: &'a dyn Fn(f64, f64),
    /// Told what is worth a line to who asked for more.
    pub log: &'a dyn Fn(&str),
}

struct Collected {
    foreground: Foreground,
    background: Background,
    intervals: Vec<Interval>,
    elapsed: Nanos,
    /// Flushes of checkpoints, in the same window as the device's counters.
    checkpoint_flushes: u64,
    /// When the window began.
    from: Nanos,
    /// What adaptive learning had come to before and after.
    learned_before: Option<Learned>,
    learned: Option<Learned>,
    /// What the log writer's workers did in the window.
    workers: Vec<WorkerWork>,
    /// What was captured, where it was asked for.
    events: Option<CapturedEvents>,
}

impl Collected {
    /// Nothing yet, of a window that begins.
    fn new(lab: &Lab<'_>, from: Nanos) -> Collected {
        Collected {
            foreground: Foreground::default(),
            background: Background::default(),
            intervals: Vec::new(),
            from,
            elapsed: Nanos::ZERO,
            checkpoint_flushes: 0,
            learned_before: lab.target.log.learned(),
            learned: None,
            workers: Vec::new(),
            events: None,
        }
    }
}

/// What a worker did: operations, waits for work (those too of which a part falls into the
/// window), nanoseconds of those.
#[derive(Clone, Copy, Debug, Default)]
struct WorkerWork {
    operations: u64,
    idle_count: u64,
    idle_ns: u64,
}

/// What each worker did so far.
fn worker_stats(lab: &Lab<'_>) -> Vec<(u64, IdleTime)> {
    let workers = lab.target.log.workers().iter();
    workers.map(|w| (w.operations(), w.idle())).collect()
}

/// What each worker did since `before`.
fn worker_work(lab: &Lab<'_>, before: &[(u64, IdleTime)]) -> Vec<WorkerWork> {
    let now = worker_stats(lab).into_iter().zip(before);
    now.map(
        |((operations, idle), (operations_before, idle_before))| WorkerWork {
            operations: operations - operations_before,
            idle_count: idle.ended + u64::from(idle.going_on) - idle_before.ended,
            idle_ns: idle.ns.saturating_sub(idle_before.ns),
        },
    )
    .collect()
}

/// Runs the row `number` (from 1, for the store).
///
/// # Errors
/// An interrupt, a log that fails, a guard that says no.
pub fn run(lab: &mut Lab<'_>, number: usize, spec: &Spec) -> Result<Row, Failure> {
    let control = Arc::new(Control::new(spec.commits));
    let shared = Shared {
        control: Arc::clone(&control),
        recorder: Arc::clone(&lab.target.recorder),
        workload: Arc::new(spec.workload.clone()),
        pool: pool(spec.seed, POOL_BYTES),
        cpu_per_txn_ns: spec.cpu_per_txn.0,
        seed: spec.seed.wrapping_add(number as u64),
    };
    let clock = lab.target.log.clock();
    if spec.commits.is_some() {
        let _ = lab.target.recorder.take();
        begin_events(lab, number, spec, clock.now());
        control.from_ns.store(0, Ordering::SeqCst);
    }
    let window = lab.sampler.begin();
    lab.target.recorder.open(0);
    let started = clock.now();
    let threads = load::start(&lab.target.log, spec.jobs, spec.api, &shared)
        .map_err(Failure::system(format!("starting {} sessions", spec.jobs)))?;
    let outcome = measure(lab, number, spec, &control, started, window);
    control.stop.store(true, Ordering::SeqCst);
    let joined = join(
        threads,
        &control,
        &lab.target.log,
        spec.workload.commit.post,
    );
    let (collected, observed) = outcome?;
    joined?;
    if let Some(error) = control.take_error() {
        return Err(error.into());
    }
    lab.target.log.flush()?;
    Ok(figures::row(lab, spec, &control, &collected, &observed))
}

/// Waits for all sessions to end; false when they don't. Who waits for a flush trigger that may
/// not come any more, now that nobody begins anything, is served: a commit BATCH posts nobody.
fn drained(control: &Control, log: &Log, post: CommitPost) -> bool {
    let posts = log.triggers().commit && post == CommitPost::Immediate;
    let end = std::time::Instant::now() + PATIENCE;
    while control.running.load(Ordering::SeqCst) > 0 {
        if std::time::Instant::now() > end {
            return false;
        }
        // A log that failed tells its sessions.
        let _ = posts || log.flush().is_ok();
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

fn join(
    threads: Vec<std::thread::JoinHandle<()>>,
    control: &Control,
    log: &Log,
    post: CommitPost,
) -> Result<(), Failure> {
    if !drained(control, log, post) {
        let source = std::io::Error::from(std::io::ErrorKind::TimedOut);
        return Err(Failure::System {
            what: "sessions hang in the device".to_owned(),
            source,
        });
    }
    for thread in threads {
        thread.join().map_err(|_| Failure::System {
            what: "a session".to_owned(),
            source: std::io::Error::other("panicked"),
        })?;
    }
    Ok(())
}

/// Warm-up, then the measured window in intervals.
fn measure(
    lab: &mut Lab<'_>,
    number: usize,
    spec: &Spec,
    control: &Control,
    started: Nanos,
    mut window: crate::observe::sampler::Window,
) -> Result<(Collected, Observation), Failure> {
    let clock = lab.target.log.clock();
    let mut from = started;
    let capture = lab.target.recorder.capture();
    if spec.commits.is_none() {
        await_until(lab, control, started.plus(spec.warmup))?;
        // Before anything counts, so that the first samples are not thrown away with the warm-up.
        lab.target.recorder.open(u64::MAX);
        let _ = lab.target.recorder.take();
        from = clock.now();
        begin_events(lab, number, spec, from);
        lab.target.recorder.open(from.0);
        control.from_ns.store(from.0, Ordering::SeqCst);
        window = lab.sampler.begin();
    }
    let mut all = Collected::new(lab, from);
    let work_before = worker_stats(lab);
    let flushes_before = lab.target.checkpoint_flushes();
    let end = from.plus(spec.time);
    let mut last = from;
    loop {
        let next = last.plus(INTERVAL);
        let until = if spec.commits.is_some() {
            next
        } else {
            next.min(end)
        };
        await_until(lab, control, until)?;
        let now = clock.now();
        let over = control.running.load(Ordering::SeqCst) == 0
            || (spec.commits.is_none() && now >= end)
            || all.background.redo_bytes >= spec.max_redo_bytes;
        if over {
            control.until_ns.store(now.0, Ordering::SeqCst);
            control.stop.store(true, Ordering::SeqCst);
            lab.target.recorder.close(now.0);
            let observed = lab.sampler.end(window);
            all.checkpoint_flushes = lab.target.checkpoint_flushes() - flushes_before;
            all.workers = worker_work(lab, &work_before);
            // What began in the window belongs to it: a device that stalls here is waited for.
            drained(control, &lab.target.log, spec.workload.commit.post);
            all.learned = lab.target.log.learned();
            collect(lab, number, spec, &mut all, (from, last, now))?;
            all.events = capture.map(Capture::end_row).transpose()?;
            all.elapsed = now.since(from);
            fill_utilisation(&mut all.intervals, &observed);
            return Ok((all, observed));
        }
        collect(lab, number, spec, &mut all, (from, last, now))?;
        if let Some(failed) = capture.filter(|c| c.has_failed()) {
            failed.end_row()?;
        }
        last = now;
        (lab.guard)(all.background.redo_bytes)?;
        let part = now.since(from).as_secs() / spec.time.as_secs().max(1e-9);
        let rate = all.foreground.latency.count() as f64 / now.since(from).as_secs().max(1e-9);
        (lab.progress)(part.min(1.0), rate);
    }
}

/// What is captured from now on belongs to this row.
fn begin_events(lab: &Lab<'_>, number: usize, spec: &Spec, now: Nanos) {
    if let Some(capture) = lab.target.recorder.capture() {
        capture.begin_row(number as u32, &spec.workload.name, spec.jobs, now);
    }
}

/// Waits, in short sleeps, for a time, the end of all sessions or an error.
fn await_until(lab: &Lab<'_>, control: &Control, until: Nanos) -> Result<(), Failure> {
    let clock = lab.target.log.clock();
    loop {
        if lab.interrupt.requested() {
            return Err(Failure::Interrupted);
        }
        let now = clock.now();
        if now >= until || control.running.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        std::thread::sleep(LOOK.min(Duration::from_nanos(until.since(now).0)));
    }
}

fn collect(
    lab: &mut Lab<'_>,
    number: usize,
    spec: &Spec,
    all: &mut Collected,
    (from, start, end): (Nanos, Nanos, Nanos),
) -> Result<(), Failure> {
    let (foreground, background) = lab.target.recorder.take();
    for (at_ns, scalable) in &background.modes {
        let at_s = Nanos(*at_ns).since(from).as_secs();
        let change = if *scalable {
            "lgwr -> workers"
        } else {
            "workers -> lgwr"
        };
        (lab.log)(&format!("adaptive log writer, second {at_s:.3}: {change}"));
    }
    if let Some(store) = &mut lab.store {
        let row = format!("{number:02}-{}-{}", spec.workload.name, spec.jobs);
        for (key, histogram) in [
            (WaitEvent::LogFileSync.key(), &foreground.sync),
            ("commit_latency", &foreground.latency),
            (WaitEvent::LogFileParallelWrite.key(), &background.write),
            ("commits_per_write", &background.commits),
        ] {
            if histogram.count() > 0 {
                store.interval(&format!("{row}/{key}"), start, end, histogram)?;
            }
        }
    }
    let sync = foreground.sync.stats();
    let write = background.write.stats();
    all.intervals.push(Interval {
        t_s: end.since(from).as_secs(),
        seconds: end.since(start).as_secs(),
        commits: foreground.latency.count(),
        redo_bytes: background.redo_bytes,
        log_file_sync_mean_ns: sync.mean_ns,
        log_file_sync_p99_ns: sync.p99_ns,
        log_file_sync_max_ns: sync.max_ns,
        log_file_parallel_write_mean_ns: write.mean_ns,
        log_file_parallel_write_max_ns: write.max_ns,
        log_switches: background.switches,
        device_util_pct: None,
    });
    all.foreground.merge(&foreground);
    all.background.merge(&background);
    Ok(())
}

fn fill_utilisation(intervals: &mut [Interval], observed: &Observation) {
    for interval in intervals {
        let middle = interval.t_s - interval.seconds / 2.0;
        let found = observed.intervals.iter().find(|o| {
            let end = o.end.as_secs_f64();
            (end - o.length.as_secs_f64()..=end).contains(&middle)
        });
        interval.device_util_pct = found.and_then(|o| o.device_util_pct);
    }
}
