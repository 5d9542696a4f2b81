//! A disk or a ring that hangs while the log is written, a checkpoint among it: commits go on with
//! the other one, reports do not wait, and nothing is lost.

use crate::common::{PATIENCE, options, until};
use crate::hangs::{Commits, Live, TestClock};
use crate::places::commit;
use crate::ring_rig::{DELAY, DISK, RING, RingRig};
use device::fault::Hang;
use measure::Clock;
use redo::Log;
use std::sync::Arc;
use std::time::Duration;

const COMMITS: u32 = 60;

#[test]
fn commits_go_on_while_the_disk_or_the_ring_hangs_beside_a_checkpoint() {
    let delays = [None, Some(DELAY)];
    // Which devices hang: all of the disk, its control information alone, the ring.
    let cases: [&[usize]; 3] = [&[0, 1], &[1], &[2]];
    for (delay, hung) in delays.iter().flat_map(|d| cases.map(|hung| (*d, hung))) {
        let rig = RingRig::new(delay);
        let log = rig.open(delay, options());
        commit(&log, 0..10);
        let checkpoint = log.durable();
        let hangs: Vec<_> = hung.iter().map(|at| rig.devices[*at].hang(0)).collect();
        std::thread::scope(|scope| {
            let update = scope.spawn(|| log.checkpoint(checkpoint).expect("durable"));
            let on_disk = hung.contains(&1);
            if hung == [1] {
                assert!(hangs[0].await_hanging(1, PATIENCE), "it reaches the disk");
            }
            // It needs no end of the hang.
            commit(&log, 10..COMMITS);
            assert!(!(update.is_finished() && on_disk));
            assert!(log.ring().is_some_and(|ring| ring.in_use));
            assert!(log.archive_position().is_ok() && log.read_from(log.durable()).is_ok());
            drop(hangs);
            until("the checkpoint ends", || update.is_finished());
        });
        drop(log);
        rig.assert_kept(delay, 10, COMMITS);
    }
}

/// Commits while a device hangs after so many calls; how long they waited, by the clock.
fn commit_beside(
    log: &Arc<Log>,
    clock: &TestClock,
    hang: &Hang,
    numbers: std::ops::Range<u32>,
    delay: Option<Duration>,
) -> Duration {
    let begun = clock.now();
    let writes = Arc::clone(log);
    // Not in a scope: where this test fails the hang ends with it.
    let commits = std::thread::spawn(move || commit(&writes, numbers));
    if let Some(delay) = delay {
        assert!(hang.await_hanging(1, PATIENCE), "it is written there");
        clock.go_on(delay - Duration::from_nanos(1));
        std::thread::sleep(Duration::from_millis(5));
        assert!(!commits.is_finished());
        clock.go_on(Duration::from_nanos(1));
    }
    until("commits go on", || commits.is_finished());
    commits.join().expect("acknowledged");
    Duration::from_nanos(clock.now().since(begun).0)
}

/// The disk, the ring and the disk again hang, each after so many calls: what carries the log alone
/// has hung before. With a ring nobody waits for either, with failover for the disk's delay once.
#[test]
fn a_disk_and_a_ring_that_hung_are_used_again() {
    for (delay, after) in [None, Some(DELAY)]
        .iter()
        .flat_map(|d| (0..4).map(|after| (*d, after)))
    {
        let rig = RingRig::new(delay);
        let clock = Arc::new(TestClock::default());
        let log = rig.open(delay, options().member_clock(Arc::clone(&clock) as _));
        let log = Arc::new(log);
        let mut next = 0;
        for hung in [DISK, RING, DISK] {
            let hang = rig.devices[hung].hang(after);
            let waits = delay.filter(|_| hung == DISK);
            let waited = commit_beside(&log, &clock, &hang, next..next + 10, waits);
            assert_eq!(
                waited,
                waits.unwrap_or_default(),
                "{delay:?}, {hung}, {after}"
            );
            next += 10;
            // With failover the ring is not asked.
            let reached = hung == DISK || delay.is_none();
            assert!(!reached || hang.await_hanging(1, PATIENCE));
            drop(hang);
            let ring = || log.ring().expect("a ring");
            until("the disk has it", || ring().lag_bytes == 0);
            assert!(ring().in_use);
        }
        drop(log);
        rig.assert_kept(delay, 0, next);
    }
}

/// The longest commit while a device hangs, on the system's clock, and how many there were.
fn longest_commit(
    rig: &RingRig,
    delay: Option<Duration>,
    hung: usize,
    after: usize,
) -> (Duration, u32) {
    let log = Arc::new(rig.open(delay, options()));
    // The log has room for all of them.
    let commits = Commits::start(&log, Duration::from_millis(1));
    commits.await_more(10);
    let hang = rig.devices[hung].hang(after);
    // Less than a failover may put on its ring.
    commits.await_more(40);
    drop(hang);
    commits.await_more(10);
    commits.end()
}

/// A disk or a ring that hangs is waited for, if at all, for the delay of the failover.
#[test]
fn commits_go_on_while_the_disk_or_the_ring_hangs() {
    let mut live = Live::new();
    for round in 0..live.rounds() {
        for (delay, hung) in [
            (None, DISK),
            (None, RING),
            (Some(DELAY), DISK),
            (Some(DELAY), RING),
        ] {
            let rig = RingRig::new(delay);
            let mut all = 0;
            live.count(
                &format!("{delay:?}, device {hung}"),
                delay.unwrap_or_default(),
                || {
                    let (worst, commits) = longest_commit(&rig, delay, hung, round as usize % 4);
                    all = commits;
                    worst
                },
            );
            rig.assert_kept(delay, 0, all);
        }
    }
    live.judge();
}
