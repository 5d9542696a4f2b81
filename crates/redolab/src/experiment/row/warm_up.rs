//! Where the measured part of a row begins and ends: after its warm-up, and at its time or where
//! its share of `--max-write` was used.

use super::{Control, Lab, Spec, await_until};
use crate::experiment::Failure;
use crate::experiment::planted::Lie;
use measure::{Clock, Nanos};
use std::sync::atomic::Ordering;

/// How often a warm-up under a limit is looked after.
const WARM_LOOK: Nanos = Nanos::from_millis(1);

/// Lets sessions run unmeasured. In a closed loop under `--max-write` this ends early when it has
/// used its part of the row's share.
pub(super) fn warm_up(
    lab: &Lab<'_>,
    spec: &Spec,
    control: &Control,
    started: Nanos,
) -> Result<(), Failure> {
    let until = started.plus(spec.warmup);
    if spec.arrivals.is_some() || lab.target.meter.budget().limit().is_none() {
        return await_until(lab, control, until);
    }
    let clock = lab.target.log.clock();
    while clock.now() < until && !lab.target.meter.is_warm() {
        await_until(lab, control, until.min(clock.now().plus(WARM_LOOK)))?;
        if control.running.load(Ordering::SeqCst) == 0 {
            break;
        }
    }
    Ok(())
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
