//! One row: a workload with a number of jobs, warmed up, measured second by second, stopped.

mod collected;
mod recording;
mod server;
mod spec;
mod waits;
mod warm_up;
mod workers;

pub use spec::{INTERVAL, Spec};

use super::busy::BusyThreads;
use super::capture::Capture;
use super::control::Control;
use super::load;
use super::pace::Pacer;
use super::shared::Shared;
use super::span::WindowEdge;
use crate::experiment::Failure;
use crate::experiment::target::LoadTarget;
use crate::observe::sampler::{SampledWindow, Sampler};
use crate::signals::Interrupt;
use crate::store::RunWriter;
use collected::{Collected, collect, fill_utilisation, note_backlog};
use measure::driver::Driver;
use measure::record::IntervalRecord;
use measure::run::Row;
use measure::workload::CommitPost;
use measure::workload::arrivals::Arrivals;
use measure::{Clock, Nanos};
use server::ServerReading;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use waits::RowWaits;
use warm_up::begin_events;
use workers::worker_work;

/// Bytes of pseudo-random payload that sessions share.
pub(crate) const POOL_BYTES: usize = 4 << 20;
/// How often the end of a row is looked for.
const LOOK: Duration = Duration::from_millis(5);
/// So long after the end of an open loop transactions that were due in it may still begin.
const GRACE: Nanos = Nanos(crate::experiment::judge::doubt::GRACE_NS);
/// A session that does not end after the row hangs in its device.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a row is run with.
pub struct Lab<'a> {
    /// The target.
    pub target: &'a LoadTarget,
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
    /// Asked once per second, with the redo written in this row.
    pub guard: &'a dyn Fn(u64) -> Result<(), Failure>,
    /// Called once per second.
    pub progress: &'a dyn Fn(RowProgress),
    /// Called with what is worth a line with `-v`.
    pub log: &'a dyn Fn(&str),
}

/// How far a row is.
#[derive(Clone, Copy, Debug)]
pub struct RowProgress {
    /// Part that is done, from 0 to 1.
    pub part: f64,
    /// Commits per second of the last interval; `None` before the first one has ended.
    pub commits_per_s: Option<f64>,
    /// 99th percentile of log file sync in the last interval, nanoseconds; `None` where there were
    /// too few waits.
    pub sync_p99_ns: Option<u64>,
}

/// Runs the row `number` (from 1, for the store).
///
/// # Errors
/// An interrupt, a target that fails, a guard that refuses.
pub fn run(lab: &mut Lab<'_>, number: usize, spec: &Spec) -> Result<Row, Failure> {
    let control = Arc::new(Control::new(spec.commits));
    let driver = &*lab.target.driver;
    let clock = driver.clock();
    let seed = spec.seed.wrapping_add(number as u64);
    let pool = spec.payload.pool(spec.seed, POOL_BYTES);
    let mut shared = Shared {
        control: Arc::clone(&control),
        recorder: Arc::clone(&lab.target.recorder),
        workload: Arc::new(spec.workload.clone()),
        pool,
        cpu_per_txn: spec.cpu_per_txn,
        seed,
        payload: spec.payload,
        pacer: None,
        planted: spec.planted,
    };
    // Busy until the row has ended, however it ends.
    let _busy = begin_condition(lab, spec)?;
    let sessions = (spec.jobs, spec.api);
    let sessions = load::open_sessions(driver, sessions, &shared, lab.interrupt)?;
    // What a driver makes for its sessions, such as tables, is before that.
    let server = ServerReading::now(lab);
    let window = lab.sampler.begin();
    let started = clock.now();
    let begun = WindowEdge::read(clock, started, &lab.target.recorder);
    let pace = |arrivals: Arrivals| Arc::new(Pacer::new(arrivals.schedule(seed), started));
    shared.pacer = spec.arrivals.map(pace);
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
    let threads = load::start(sessions, &lab.target.driver, &shared)
        .map_err(Failure::system(format!("starting {} sessions", spec.jobs)))?;
    let outcome = measure(lab, number, spec, &shared, (started, begun), window);
    if outcome.is_err() {
        control.halt();
    }
    let joined = join(threads, &control, driver, spec.workload.commit.post);
    let (mut collected, observed) = outcome?;
    // Why sessions failed, if what runs beside them did.
    driver.check()?;
    joined?;
    if let Some(error) = control.take_error() {
        return Err(error.into());
    }
    driver.drain()?;
    collected.conditions = driver.conditions()?;
    lab.target.meter.end();
    let mut recording = recording::recording(lab, spec, &shared, &collected, &observed);
    if let Some(before) = server {
        let record = server::record(&before, before.after(lab), &collected);
        recording.flush_audit = server::flush_audit(lab, &record);
        recording.server = Some(record);
    }
    // A row that was ended in its warm-up is left out, and nothing of it is stored.
    let nothing = lab.target.meter.ended_ns().is_some() && collected.commits == 0;
    if let Some(store) = lab.store.as_mut().filter(|_| !nothing) {
        store.recording(&stored_name(number, spec), &recording)?;
    }
    Ok(recording.row())
}

/// Makes the condition of a row, where it has one.
fn begin_condition(lab: &Lab<'_>, spec: &Spec) -> Result<BusyThreads, Failure> {
    let condition = spec.condition.as_ref();
    lab.target.recorder.join_earlier_writes(condition.is_some());
    let count = condition.map_or(0, |condition| condition.busy_threads);
    let started = BusyThreads::start(count);
    started.map_err(Failure::system(format!("starting {count} busy threads")))
}

/// The name of what is stored of the row `number`.
fn stored_name(number: usize, spec: &Spec) -> String {
    format!("{number:02}-{}-{}", spec.workload.name, spec.jobs)
}

/// Waits for all sessions to end; false when they don't.
fn drained(control: &Control, driver: &dyn Driver, post: CommitPost) -> bool {
    let end = std::time::Instant::now() + PATIENCE;
    while control.running.load(Ordering::SeqCst) > 0 {
        if std::time::Instant::now() > end {
            return false;
        }
        driver.nudge(post);
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

fn join(
    threads: Vec<std::thread::JoinHandle<()>>,
    control: &Control,
    driver: &dyn Driver,
    post: CommitPost,
) -> Result<(), Failure> {
    if !drained(control, driver, post) {
        let source = std::io::Error::from(std::io::ErrorKind::TimedOut);
        return Err(Failure::System {
            what: "sessions hang in the target".to_owned(),
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
) -> Result<(Collected, SampledWindow), Failure> {
    let driver = &*lab.target.driver;
    let clock = driver.clock();
    let control = &*shared.control;
    let (mut from, mut edge, mut counts_late) = (started, begun, false);
    let capture = lab.target.recorder.capture();
    if spec.commits.is_none() {
        let opened = warm_up::open(lab, number, spec, control, started)?;
        (from, edge, window, counts_late) =
            (opened.from, opened.edge, opened.counts, opened.counts_late);
    }
    let before = driver.counters();
    let mut all = Collected::new(clock, from, begun);
    all.counts_late = counts_late;
    all.waits = RowWaits::begin(lab);
    let end = from.plus(spec.time);
    let mut last = from;
    loop {
        let next = clock.now().max(last).plus(INTERVAL);
        let next = next.min(last.plus(spec.interval()));
        let until = spec.commits.map_or(next.min(end), |_| next);
        await_until(lab, control, until)?;
        let mut now = clock.now();
        lab.target.look(now);
        let over = control.running.load(Ordering::SeqCst) == 0
            || lab.target.meter.ended_ns().is_some()
            || (spec.commits.is_none() && now >= end)
            || all.background.redo_bytes >= spec.max_redo_bytes;
        if over {
            let planned = spec.commits.is_none().then_some(end.0);
            let used_up = lab.target.meter.row_is_over(planned).map(Nanos);
            now = warm_up::ended_at(spec, used_up, (last, now, end));
            now = spec.commits.map_or(now.min(end), |_| now);
            control.until_ns.store(now.0, Ordering::SeqCst);
            lab.target.recorder.close(now.0);
            all.ends = [edge, WindowEdge::read(clock, now, &lab.target.recorder)];
            all.waits.end();
            let observed = lab.sampler.end(window);
            let counters = driver.counters();
            all.checkpoint_flushes = counters.other_flushes - before.other_flushes;
            all.workers = worker_work(&counters.workers, &before.workers);
            all.tproc_c = before.tproc_c.zip(counters.tproc_c);
            let life = counters.log_life.zip(before.log_life);
            all.log_life = life.map(|(after, before)| after.since(&before));
            note_backlog(&mut all, shared, now);
            wait_for_the_due(lab, shared, now.plus(GRACE));
            // What began in the window belongs to it: a device that stalls here is waited for.
            drained(control, driver, spec.workload.commit.post);
            all.learnt = before.learnt.zip(driver.counters().learnt);
            collect(lab, number, spec, &mut all, (from, last, now))?;
            all.events = capture.map(Capture::end_row).transpose()?;
            all.until = now;
            all.elapsed = warm_up::elapsed(spec, from, now);
            fill_utilisation(&mut all, &observed);
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
        (lab.progress)(progress(spec, &all, now.since(from)));
    }
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

/// Waits, in short sleeps, for a time, the end of all sessions or an error.
fn await_until(lab: &Lab<'_>, control: &Control, until: Nanos) -> Result<(), Failure> {
    let clock = lab.target.driver.clock();
    loop {
        if lab.interrupt.requested() {
            return Err(Failure::Interrupted);
        }
        lab.target.driver.check()?;
        let now = clock.now();
        if now >= until || control.running.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        lab.target.look(now);
        std::thread::sleep(LOOK.min(Duration::from_nanos(until.since(now).0)));
    }
}
