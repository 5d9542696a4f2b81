//! One row: a workload with a number of jobs, warmed up, measured second by second, stopped.

mod figures;
mod warm_up;
mod workers;

use super::Failure;
use super::capture::Capture;
use super::load::{self, CommitApi, Control, Shared};
use super::pace::Pacer;
use super::planted::Planted;
use super::recorder::{Background, Foreground};
use super::span::WindowEdge;
use super::target::LogTarget;
use crate::observe::machine;
use crate::observe::sampler::{Observation, Sampler};
use crate::signals::Interrupt;
use crate::store::RunWriter;
use measure::run::{CapturedEvents, Interval, Row};
use measure::workload::arrivals::Arrivals;
use measure::workload::{CommitPost, Payload, Workload};
use measure::{Clock, Nanos, WaitEvent};
use redo::Log;
use redo::writer::Learned;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use workers::{WorkerWork, worker_stats, worker_work};

/// Bytes of pseudo-random payload that sessions share.
pub(super) const POOL_BYTES: usize = 4 << 20;
/// How often the end of a row is looked for.
const LOOK: Duration = Duration::from_millis(5);
/// So long before its beginning a measured time is announced.
const LEAD: Nanos = Nanos::from_millis(20);
/// Length of an interval, and how often a row is looked after in longer ones.
pub const INTERVAL: Nanos = Nanos::from_secs(1);
/// Intervals of a soak at most: what is stored of it is bounded, however long it takes.
const SOAK_INTERVALS: u64 = 1200;
/// Intervals of another row at most: a run of ten rows of hours can still be stored and read.
const ROW_INTERVALS: u64 = 5000;
/// So long after the end of an open loop transactions that were due in it may still begin.
const GRACE: Nanos = Nanos::from_secs(1);
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
    /// When transactions are meant to begin; `None` for a closed loop.
    pub arrivals: Option<Arrivals>,
    /// What redo is made of.
    pub payload: Payload,
    /// It runs for the sake of its intervals.
    pub soak: bool,
    /// What a test has planted; nothing otherwise.
    pub planted: Planted,
}

impl Spec {
    /// A closed loop for that time, of incompressible and unique redo.
    #[must_use]
    pub fn closed(workload: Workload, jobs: u32, time: Nanos, warmup: Nanos) -> Spec {
        Spec {
            workload,
            jobs,
            api: CommitApi::Sync,
            time,
            warmup,
            commits: None,
            cpu_per_txn: Nanos::ZERO,
            seed: 1,
            max_redo_bytes: u64::MAX,
            arrivals: None,
            payload: Payload::default(),
            soak: false,
            planted: Planted::default(),
        }
    }

    /// Length of its intervals: whole seconds, so many that a soak's store stays small.
    #[must_use]
    pub fn interval(&self) -> Nanos {
        let most = if self.soak {
            SOAK_INTERVALS
        } else {
            ROW_INTERVALS
        };
        Nanos::from_secs(self.time.0.div_ceil(most * INTERVAL.0).max(1))
    }
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
    /// When its measured time ended, on the sessions' clock.
    until: Nanos,
    /// The row's beginning and both ends of its measured time, as read by this thread.
    begun: WindowEdge,
    ends: [WindowEdge; 2],
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
    /// An open loop's arrivals that were due at the end and had not begun, and the most ever seen.
    backlog: (u64, u64),
}

impl Collected {
    /// Nothing yet, of a window that begins at `from`.
    fn new(from: Nanos, begun: WindowEdge, learned_before: Option<Learned>) -> Collected {
        Collected {
            foreground: Foreground::default(),
            background: Background::default(),
            intervals: Vec::new(),
            from,
            elapsed: Nanos::ZERO,
            until: Nanos::ZERO,
            begun,
            ends: [begun; 2],
            checkpoint_flushes: 0,
            learned_before,
            learned: None,
            workers: Vec::new(),
            events: None,
            backlog: (0, 0),
        }
    }
}

/// Runs the row `number` (from 1, for the store).
///
/// # Errors
/// An interrupt, a log that fails, a guard that says no.
pub fn run(lab: &mut Lab<'_>, number: usize, spec: &Spec) -> Result<Row, Failure> {
    let control = Arc::new(Control::new(spec.commits));
    let clock = lab.target.log.clock();
    let seed = spec.seed.wrapping_add(number as u64);
    let pool = spec.payload.pool(spec.seed, POOL_BYTES);
    let window = lab.sampler.begin();
    let started = clock.now();
    let begun = WindowEdge::read(clock, started, &lab.target.recorder);
    let pace = |arrivals: Arrivals| Arc::new(Pacer::new(arrivals.schedule(seed), started));
    let shared = Shared {
        control: Arc::clone(&control),
        recorder: Arc::clone(&lab.target.recorder),
        workload: Arc::new(spec.workload.clone()),
        pool,
        cpu_per_txn_ns: spec.cpu_per_txn.0,
        seed,
        payload: spec.payload,
        pacer: spec.arrivals.map(pace),
        planted: spec.planted,
    };
    let from = match (spec.commits, spec.arrivals) {
        (Some(_), _) => Some(Nanos::ZERO),
        (None, Some(_)) => Some(started.plus(spec.warmup)),
        (None, None) => None,
    };
    if let Some(from) = from {
        let _ = lab.target.recorder.take();
        begin_events(lab, number, spec, from.max(started));
        control.from_ns.store(from.0, Ordering::SeqCst);
    }
    if spec.arrivals.is_some() {
        // Both ends are known before: no arrival is lost or counted for want of a moment.
        let until = started.plus(spec.warmup).plus(spec.time);
        control.until_ns.store(until.0, Ordering::SeqCst);
    }
    lab.target.recorder.open(from.unwrap_or_default().0);
    lab.target.meter.begin(&control);
    let threads = load::start(&lab.target.log, spec.jobs, spec.api, &shared)
        .map_err(Failure::system(format!("starting {} sessions", spec.jobs)))?;
    let outcome = measure(lab, number, spec, &shared, (started, begun), window);
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
    lab.target.meter.end();
    Ok(figures::row(lab, spec, &shared, &collected, &observed))
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
    shared: &Shared,
    (started, begun): (Nanos, WindowEdge),
    mut window: crate::observe::sampler::Window,
) -> Result<(Collected, Observation), Failure> {
    let clock = lab.target.log.clock();
    let control = &*shared.control;
    let (mut from, mut opened) = (started, begun);
    let capture = lab.target.recorder.capture();
    if spec.commits.is_none() {
        warm_up::warm_up(lab, spec, control, started)?;
        (from, opened) = open_window(lab, number, spec, control, started);
        window = lab.sampler.begin();
    }
    let mut all = Collected::new(from, begun, lab.target.log.learned());
    let work_before = worker_stats(lab);
    let flushes_before = lab.target.checkpoint_flushes();
    let end = from.plus(spec.time);
    let mut last = from;
    loop {
        let next = clock.now().max(last).plus(INTERVAL);
        let next = next.min(last.plus(spec.interval()));
        let until = spec.commits.map_or(next.min(end), |_| next);
        await_until(lab, control, until)?;
        let mut now = clock.now();
        lab.target.meter.look(now.0);
        let used_up = lab.target.meter.ended_ns().map(Nanos);
        let over = control.running.load(Ordering::SeqCst) == 0
            || used_up.is_some()
            || (spec.commits.is_none() && now >= end)
            || all.background.redo_bytes >= spec.max_redo_bytes;
        if over {
            now = warm_up::ended_at(spec, used_up, (last, now, end));
            now = spec.commits.map_or(now.min(end), |_| now);
            control.until_ns.store(now.0, Ordering::SeqCst);
            lab.target.recorder.close(now.0);
            all.ends = [opened, WindowEdge::read(clock, now, &lab.target.recorder)];
            let observed = lab.sampler.end(window);
            all.checkpoint_flushes = lab.target.checkpoint_flushes() - flushes_before;
            all.workers = worker_work(lab, &work_before);
            note_backlog(&mut all, shared, now);
            wait_for_the_due(lab, shared, now.plus(GRACE));
            // What began in the window belongs to it: a device that stalls here is waited for.
            drained(control, &lab.target.log, spec.workload.commit.post);
            all.learned = lab.target.log.learned();
            collect(lab, number, spec, &mut all, (from, last, now))?;
            all.events = capture.map(Capture::end_row).transpose()?;
            all.until = now;
            all.elapsed = warm_up::elapsed(spec, from, now);
            fill_utilisation(&mut all.intervals, &observed);
            return Ok((all, observed));
        }
        if now >= last.plus(spec.interval()) {
            note_backlog(&mut all, shared, now);
            collect(lab, number, spec, &mut all, (from, last, now))?;
            if let Some(failed) = capture.filter(|c| c.has_failed()) {
                failed.end_row()?;
            }
            last = now;
        }
        (lab.guard)(all.background.redo_bytes)?;
        let (part, rate) = progress(spec, &all, now.since(from));
        (lab.progress)(part, rate);
    }
}

/// What is captured from now on belongs to this row.
fn begin_events(lab: &Lab<'_>, number: usize, spec: &Spec, now: Nanos) {
    if let Some(capture) = lab.target.recorder.capture() {
        capture.begin_row(number as u32, &spec.workload.name, spec.jobs, now);
    }
}

/// Has transactions count from now on; those of an open loop do so by themselves. When that is.
fn open_window(
    lab: &Lab<'_>,
    number: usize,
    spec: &Spec,
    control: &Control,
    started: Nanos,
) -> (Nanos, WindowEdge) {
    if spec.arrivals.is_some() {
        return (started.plus(spec.warmup), WindowEdge::default());
    }
    // Before anything counts, so that the first samples are not thrown away with the warm-up.
    lab.target.recorder.open(u64::MAX);
    let _ = lab.target.recorder.take();
    let clock = lab.target.log.clock();
    begin_events(lab, number, spec, clock.now());
    // Ahead of both ends, so that every session knows them before they come, even where this thread
    // is interrupted meanwhile.
    let from = clock.now().plus(LEAD);
    let end = from.plus(spec.time);
    lab.target.recorder.open(from.0);
    lab.target.recorder.close(end.0);
    control.until_ns.store(end.0, Ordering::SeqCst);
    control.from_ns.store(from.0, Ordering::SeqCst);
    std::thread::sleep(Duration::from_nanos(LEAD.0));
    (from, WindowEdge::read(clock, from, &lab.target.recorder))
}

/// Has the sessions end. In an open loop what was due before the end may still begin for a while:
/// leaving it out would leave out those that waited longest.
fn wait_for_the_due(lab: &Lab<'_>, shared: &Shared, last: Nanos) {
    let control = &*shared.control;
    let clock = lab.target.log.clock();
    let waits = shared.pacer.is_some();
    while waits && control.running.load(Ordering::SeqCst) > 0 && clock.now() < last {
        std::thread::sleep(LOOK);
    }
    control.stop.store(true, Ordering::SeqCst);
}

fn note_backlog(all: &mut Collected, shared: &Shared, now: Nanos) {
    if let Some(pacer) = &shared.pacer {
        let backlog = pacer.backlog(now);
        all.backlog = (backlog, all.backlog.1.max(backlog));
    }
}

/// Which part of the row is done (0 to 1), and the commits a second of its last interval.
fn progress(spec: &Spec, all: &Collected, elapsed: Nanos) -> (f64, f64) {
    let part = match spec.commits {
        Some(n) => {
            let asked = n as f64 * f64::from(spec.jobs);
            all.foreground.latency.count() as f64 / asked.max(1.0)
        }
        None => elapsed.as_secs() / spec.time.as_secs().max(1e-9),
    };
    let rate = |i: &Interval| i.commits as f64 / i.seconds.max(1e-9);
    (part.min(1.0), all.intervals.last().map_or(0.0, rate))
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
        lab.target.meter.look(now.0);
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
    // A row that was ended in its warm-up is left out, and nothing of it is stored.
    let nothing = lab.target.meter.ended_ns().is_some() && foreground.latency.count() == 0;
    if let Some(store) = lab.store.as_mut().filter(|_| !nothing) {
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
        rss_bytes: machine::resident_bytes(),
        backlog: spec.arrivals.map(|_| all.backlog.0),
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
