//! What is collected while a row runs, interval by interval.

use super::waits::RowWaits;
use super::workers::WorkerWork;
use super::{Lab, Shared, Spec, stored_name};
use crate::experiment::Failure;
use crate::experiment::measure::recorder::{Foregrounds, NodeSamples};
use crate::experiment::measure::span::WindowEdge;
use crate::observe::machine;
use crate::observe::sampler::SampledWindow;
use measure::driver::{LearntSoFar, TprocCCounts};
use measure::record::{Background, IntervalRecord, LogLife, TimeWindow, WaitPeak};
use measure::run::{CapturedEvents, ConsistencyCondition};
use measure::{Clock, Nanos, RealClock, WaitEvent};
use std::time::{SystemTime, UNIX_EPOCH};

/// What was recorded while a row ran.
pub(super) struct Collected {
    pub(super) foregrounds: Foregrounds,
    /// Transactions of all kinds.
    pub(super) commits: u64,
    pub(super) background: Background,
    /// Of several logs, what each did.
    pub(super) nodes: Vec<NodeSamples>,
    pub(super) intervals: Vec<IntervalRecord>,
    pub(super) elapsed: Nanos,
    /// When its measured time ended, on the sessions' clock.
    pub(super) until: Nanos,
    /// The row's beginning and both ends of its measured time, as read by this thread.
    pub(super) begun: WindowEdge,
    pub(super) ends: [WindowEdge; 2],
    /// Flushes of checkpoints, in the same window as the device's counters.
    pub(super) checkpoint_flushes: u64,
    /// When the window began.
    pub(super) from: Nanos,
    /// The zero of the sessions' clock, in nanoseconds since 1970 UTC.
    zero_utc_ns: u64,
    /// What adaptive learning had come to before and after.
    pub(super) learnt: Option<(LearntSoFar, LearntSoFar)>,
    /// What the log writer's workers did in the window.
    pub(super) workers: Vec<WorkerWork>,
    /// What sessions waited for in the target's server.
    pub(super) waits: RowWaits,
    /// The kernel's counts begin after the window.
    pub(super) counts_late: bool,
    /// What was counted of TPROC-C before and after.
    pub(super) tproc_c: Option<(TprocCCounts, TprocCCounts)>,
    /// What the log's database writer and archiver did in the window.
    pub(super) log_life: Option<LogLife>,
    /// The consistency conditions of the target after the row.
    pub(super) conditions: Vec<ConsistencyCondition>,
    /// What was captured, where it was asked for.
    pub(super) events: Option<CapturedEvents>,
    /// An open loop's arrivals that were due at the end and had not begun, and the most ever seen.
    pub(super) backlog: (u64, u64),
}

impl Collected {
    /// Nothing yet, of a window that begins at `from`.
    pub(super) fn new(clock: RealClock, from: Nanos, begun: WindowEdge) -> Collected {
        Collected {
            foregrounds: Foregrounds::default(),
            commits: 0,
            background: Background::default(),
            nodes: Vec::new(),
            intervals: Vec::new(),
            from,
            zero_utc_ns: zero_utc_ns(clock),
            elapsed: Nanos::ZERO,
            until: Nanos::ZERO,
            begun,
            ends: [begun; 2],
            checkpoint_flushes: 0,
            learnt: None,
            workers: Vec::new(),
            waits: RowWaits::default(),
            counts_late: false,
            tproc_c: None,
            log_life: None,
            conditions: Vec::new(),
            events: None,
            backlog: (0, 0),
        }
    }

    /// The moment `at` of the sessions' clock, in nanoseconds since 1970 UTC.
    pub(super) fn utc_ns(&self, at: Nanos) -> u64 {
        self.zero_utc_ns.saturating_add(at.0)
    }
}

fn zero_utc_ns(clock: RealClock) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    u64::try_from(now)
        .unwrap_or(u64::MAX)
        .saturating_sub(clock.now().0)
}

/// Notes how many arrivals of an open loop are due at `now` and have not begun.
pub(super) fn note_backlog(all: &mut Collected, shared: &Shared, now: Nanos) {
    if let Some(pacer) = &shared.pacer {
        let backlog = pacer.backlog(now);
        all.backlog = (backlog, all.backlog.1.max(backlog));
    }
}

/// Empties the recorder into an interval from `start` to `end` of a row that began at `from`, and
/// stores it.
pub(super) fn collect(
    lab: &mut Lab<'_>,
    number: usize,
    spec: &Spec,
    all: &mut Collected,
    (from, start, end): (Nanos, Nanos, Nanos),
) -> Result<(), Failure> {
    let (foregrounds, log_writes, nodes) = lab.target.recorder.take();
    let foreground = foregrounds.all();
    let background = &log_writes.background;
    for (at_ns, scalable) in &log_writes.modes {
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
        let row = stored_name(number, spec);
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
    let window = TimeWindow::of(all.utc_ns(start), end.since(start).0);
    let block_bytes = lab.target.driver.block_bytes().map(u64::from);
    let observed = block_bytes.is_some();
    all.intervals.push(IntervalRecord {
        window,
        commits: foreground.latency.count(),
        redo_bytes: observed.then_some(background.redo_bytes),
        written_bytes: block_bytes.map(|bytes| background.blocks.saturating_mul(bytes)),
        sync: WaitPeak::of(&foreground.sync),
        sync_p99_ns: foreground.sync.quantile(0.99),
        write: WaitPeak::of(&background.write),
        log_switches: observed.then_some(background.switches),
        device_util_pct: None,
        rss_bytes: machine::resident_bytes(),
        backlog: spec.arrivals.map(|_| all.backlog.0),
    });
    all.foregrounds.merge(&foregrounds);
    all.commits += foreground.latency.count();
    all.background.merge(background);
    all.nodes.resize_with(nodes.len(), NodeSamples::default);
    for (sum, part) in all.nodes.iter_mut().zip(&nodes) {
        sum.foreground.merge(&part.foreground);
        sum.background.merge(&part.background);
    }
    Ok(())
}

/// Adds what the device did in each interval.
pub(super) fn fill_utilisation(all: &mut Collected, observed: &SampledWindow) {
    let begun_ns = all.utc_ns(all.from);
    for interval in &mut all.intervals {
        let middle_ns = interval.window.middle_ns().saturating_sub(begun_ns);
        let middle = Nanos(middle_ns).as_secs();
        let found = observed.intervals.iter().find(|o| {
            let end = o.end.as_secs_f64();
            (end - o.length.as_secs_f64()..=end).contains(&middle)
        });
        interval.device_util_pct = found.and_then(|o| o.device_util_pct);
    }
}
