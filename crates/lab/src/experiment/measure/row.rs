//! One row: a workload with a number of jobs, warmed up, measured second by second, stopped.

mod collected;
mod recording;
mod server;
mod spec;
mod waits;
mod warm_up;
mod window;
mod workers;

pub use spec::{INTERVAL, Spec};

use super::busy::BusyThreads;
use super::control::Control;
use super::load;
use super::pace::Pacer;
use super::shared::Shared;
use super::span::WindowEdge;
use crate::experiment::Failure;
use crate::experiment::target::LoadTarget;
use crate::observe::sampler::Sampler;
use crate::signals::Interrupt;
use crate::store::RunWriter;
use measure::driver::Driver;
use measure::run::Row;
use measure::workload::CommitPost;
use measure::workload::arrivals::Arrivals;
use measure::{Clock, Nanos};
use server::ServerReading;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use warm_up::begin_events;
use window::RowWindow;

/// Bytes of pseudo-random payload that sessions share.
pub(crate) const POOL_BYTES: usize = 4 << 20;
/// How often the end of a row is looked for.
const LOOK: Duration = Duration::from_millis(5);
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
    let outcome = RowWindow::open((&mut *lab, number, spec), &shared, (started, begun), window)
        .and_then(RowWindow::measure);
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
pub(crate) fn stored_name(number: usize, spec: &Spec) -> String {
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
