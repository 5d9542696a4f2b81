//! The floor from each processor: small durable writes from several processors in turns, and where
//! the disk's interrupts arrive meanwhile.
//!
//! What it must not know: which differences are noise.

use super::floor::{Allowed, FloorGround, Point, PointMeter, failure};
use crate::experiment::Failure;
use crate::signals::Interrupt;
use device::SyncMethod;
use device::identify::{DiskInterrupts, Watched};
use device::placement::{self, PlaceTiming, PlacementPlan, ProcessorMap, RunQueueTime};
use measure::Nanos;
use measure::run::{PlaceFigures, PlacementFigures, ProcessorInterrupts};
use measure::stack::Stack;
use std::time::Duration;

/// Bytes of each write: those of a small commit.
const WRITE_BYTES: u64 = 4096;

/// Measures for about `time`; `None` where `allowed` has no room for it. The disks are those of
/// `stack`.
///
/// # Errors
/// An interrupt, or a device that fails.
pub(crate) fn measure(
    ground: &FloorGround<'_>,
    stack: &Stack,
    method: SyncMethod,
    time: Nanos,
    allowed: Allowed<'_>,
    interrupt: &Interrupt,
) -> Result<Option<PlacementFigures>, Failure> {
    let processors = ProcessorMap::live().map_err(Failure::system("asking for processors"))?;
    let point = Point {
        method,
        bytes: WRITE_BYTES,
        pre_written: true,
    };
    let mut meter = PointMeter::new(allowed.budget, allowed.share(1), point);
    if !meter.fits() {
        return Ok(None);
    }
    let interrupts = Watched::of(stack).and_then(|watched| DiskInterrupts::live(&watched));
    let plan = PlacementPlan {
        processors: &processors,
        interrupts: interrupts.as_ref(),
        budget: Duration::from_nanos(time.0),
    };
    let mut bench = ground.queue(point)?;
    let mut go_on = || !interrupt.requested() && meter.next();
    let timings = placement::measure(&mut bench, plan, &mut go_on).map_err(|e| failure(&e))?;
    if interrupt.requested() {
        return Err(Failure::Interrupted);
    }
    Ok(Some(PlacementFigures {
        sync_method: method.name().to_owned(),
        write_bytes: WRITE_BYTES,
        allowed_cpus: number(processors.allowed.len()),
        places: timings
            .into_iter()
            .map(|t| figures(t, &processors))
            .collect(),
    }))
}

fn figures(timing: PlaceTiming, processors: &ProcessorMap) -> PlaceFigures {
    let taken = |(cpu, count): (usize, u64)| ProcessorInterrupts {
        cpu: number(cpu),
        count,
    };
    let share = |time: RunQueueTime| {
        (time.elapsed_ns > 0).then(|| 100.0 * time.waited_ns as f64 / time.elapsed_ns as f64)
    };
    PlaceFigures {
        run_queue_pct: timing.run_queue.and_then(share),
        cpu: timing.cpu.map(number),
        numa_node: timing.cpu.and_then(|cpu| processors.node_of(cpu)),
        latency: timing.total.stats(),
        round_p50_ns: timing.round_p50_ns,
        interrupts: timing
            .interrupts
            .map(|all| all.into_iter().map(taken).collect()),
    }
}

/// A processor's number; Linux has fewer than 2^32 of them.
fn number(cpu: usize) -> u32 {
    u32::try_from(cpu).unwrap_or(u32::MAX)
}
