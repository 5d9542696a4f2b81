//! Where the measured part of a row begins and ends: after its warm-up, and at its time or where
//! its share of `--max-write` was used.

use super::{Control, Lab, Spec, await_until};
use crate::experiment::Failure;
use crate::experiment::measure::planted::Lie;
use crate::experiment::measure::span::WindowEdge;
use crate::observe::sampler::Window;
use measure::{Clock, Nanos};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often a warm-up under a limit is looked after.
const WARM_LOOK: Nanos = Nanos::from_millis(1);
/// So long before its beginning a measured time is announced, at most.
const LEAD: Nanos = Nanos::from_millis(20);

/// Lets sessions run unmeasured. In a closed loop under `--max-write` this ends early when it has
/// used its part of the row's share.
fn warm_up(lab: &Lab<'_>, spec: &Spec, control: &Control, started: Nanos) -> Result<(), Failure> {
    let until = started.plus(spec.warmup);
    if spec.arrivals.is_some() {
        // Its window opens by itself.
        return await_until(lab, control, Nanos(until.0.saturating_sub(LEAD.0)));
    }
    if lab.target.meter.budget().limit().is_none() {
        return await_until(lab, control, until);
    }
    let clock = lab.target.driver.clock();
    while clock.now() < until && !lab.target.meter.is_warm() {
        await_until(lab, control, until.min(clock.now().plus(WARM_LOOK)))?;
        if control.running.load(Ordering::SeqCst) == 0 {
            break;
        }
    }
    Ok(())
}

/// What is captured from now on belongs to this row.
pub(super) fn begin_events(lab: &Lab<'_>, number: usize, spec: &Spec, now: Nanos) {
    if let Some(capture) = lab.target.recorder.capture() {
        capture.begin_row(number as u32, &spec.workload.name, spec.jobs, now);
    }
}

/// The measured window of a row, as it opens.
pub(super) struct Opened {
    pub(super) from: Nanos,
    pub(super) edge: WindowEdge,
    pub(super) counts: Window,
    /// The kernel's counts begin after it, so they lack something of it: this machine was busy.
    pub(super) counts_late: bool,
}

/// Warms up, and opens the window. The kernel's counts begin before it, since they are to have all
/// that happens in it.
pub(super) fn open(
    lab: &Lab<'_>,
    number: usize,
    spec: &Spec,
    control: &Control,
    started: Nanos,
) -> Result<Opened, Failure> {
    warm_up(lab, spec, control, started)?;
    let counts = lab.sampler.begin();
    let begun = lab.target.driver.clock().now();
    let (from, edge) = open_window(lab, number, spec, control, started);
    Ok(Opened {
        from,
        edge,
        counts,
        counts_late: begun > from,
    })
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
    let clock = lab.target.driver.clock();
    begin_events(lab, number, spec, clock.now());
    // Ahead of both ends, so that every session knows them before they come, even where this thread
    // is interrupted meanwhile. Sessions write in this time too, which --max-write pays for.
    let now = clock.now();
    let lead = lab.target.meter.lead(now.since(started), LEAD);
    let from = now.plus(lead);
    let end = from.plus(spec.time);
    lab.target.recorder.open(from.0);
    lab.target.recorder.close(end.0);
    control.until_ns.store(end.0, Ordering::SeqCst);
    control.from_ns.store(from.0, Ordering::SeqCst);
    std::thread::sleep(Duration::from_nanos(lead.0));
    (from, WindowEdge::read(clock, from, &lab.target.recorder))
}

/// When a row ended that is over `now`, was meant to `end`, and was last looked at at `last`. Of an
/// open loop that is its planned end, also where all were served before: nothing more was due. A
/// row that has used its share of `--max-write` ended with the log write that used it.
pub(super) fn ended_at(
    spec: &Spec,
    used_up: Option<Nanos>,
    (last, now, end): (Nanos, Nanos, Nanos),
) -> Nanos {
    match used_up {
        Some(at) => at.max(last),
        None => spec.arrivals.map_or(now, |_| end),
    }
}

/// The measured time of a row.
pub(super) fn elapsed(spec: &Spec, from: Nanos, until: Nanos) -> Nanos {
    let elapsed = until.since(from);
    if spec.planted.has(Lie::Window) {
        return Nanos(elapsed.0 + elapsed.0 * 3 / 100);
    }
    elapsed
}
