//! The crash simulation of logs with a ring or with failover: disk and ring fail, are late, lose
//! their power together or alone; the ring is taken away where nothing is lost, and returns.
//!
//! `REDOLAB_CRASH_SEEDS` sets how many histories, `REDOLAB_CRASH_FROM` the first,
//! `REDOLAB_CRASH_SEED` replays one and prints what happened.

use crate::histories::{Histories, expect_reached};
use redo::crash::{run_ring, trace_ring};
use redo::planted::{Bug, Planted};

const HISTORIES: Histories = Histories {
    file: "crash_ring",
    run: run_ring,
    trace: trace_ring,
};
/// Histories by default.
const SEEDS: u64 = if cfg!(debug_assertions) {
    1_000
} else {
    10_000
};
/// From so many histories on, everything must have been reached so often.
const MANY: u64 = 5_000;
const REACHED: u64 = 20;

#[test]
fn no_promise_is_broken_with_a_ring() {
    let Some((seeds, reached)) = HISTORIES.hold(SEEDS) else {
        return;
    };
    let mut all = reached.rings.all();
    all.push(("power_cuts", reached.all.power_cuts));
    all.push(("kills", reached.all.kills));
    all.push(("closes", reached.all.closes));
    all.push(("checkpoints", reached.all.checkpoints));
    all.push(("acknowledged", reached.all.acknowledged));
    all.push(("cancelled", reached.all.cancelled));
    all.push(("log_switches", reached.all.log_switches));
    let busy = reached.all.all_lives_cancelled_and_switched;
    all.push(("all_lives_cancelled_and_switched", busy));
    all.push(("reused_log_writes", reached.all.reused_log_writes));
    expect_reached(&all, if seeds >= MANY { REACHED } else { 0 });
}

#[test]
fn a_seed_with_a_ring_is_a_history_byte_for_byte() {
    for seed in 0..100 {
        let first = run_ring(seed, Planted::none());
        assert_eq!(first, run_ring(seed, Planted::none()), "seed {seed}");
    }
}

/// Those at which planted bugs were found first.
#[test]
fn seeds_that_find_bugs_in_rings_pass() {
    HISTORIES.pass(&[0, 4, 32, 249, 777, 1125, 2201]);
}

#[test]
fn each_bug_planted_in_rings_is_found() {
    HISTORIES.find(&[
        (Bug::AcknowledgeBeforeFlush, 0),
        (Bug::AcceptOldIncarnation, 0),
        (Bug::RingReusedEarly, 0),
        (Bug::RingUnflushed, 1800),
        (Bug::RingWithHole, 61_400),
        (Bug::RingOfOtherLife, 0),
        (Bug::RingUnsettled, 6100),
        (Bug::RingNamesOneLife, 12_200),
        (Bug::RingSpareEarly, 800),
    ]);
}
