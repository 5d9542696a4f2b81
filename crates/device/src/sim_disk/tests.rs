//! Tests of the simulated disk: the flush promise, and what crashes can and cannot leave.

use super::*;
use crate::queue::{OpKind, Piece, write_durable};
use std::collections::BTreeSet;

const SECTOR: usize = 4096;
const EIO: i32 = 5;

/// A disk with a queue over a region whose sector `i` holds bytes of `i + 1`.
fn disk(durable_writes: bool) -> (SimDisk, Box<dyn Queue>, Arc<Region>) {
    let disk = SimDisk::new(8 * SECTOR, SECTOR, durable_writes);
    let mut region = Region::new(8 * SECTOR).expect("memory");
    for i in 0..8 {
        region.fill(i * SECTOR, &[i as u8 + 1; SECTOR]);
    }
    let region = Arc::new(region);
    let queue = disk.queue(Arc::clone(&region)).expect("queue");
    (disk, queue, region)
}

/// A write of source sector `value - 1` to `sector`, so that it brings bytes of `value`.
fn write(sector: usize, value: u8) -> Op {
    let at = (value as usize - 1) * SECTOR;
    let pieces = [Piece { at, len: SECTOR }, Piece::default()];
    let addr = (sector * SECTOR) as u64;
    let kind = OpKind::Write { addr, pieces };
    Op {
        id: u64::from(value),
        kind,
    }
}

const FLUSH: Op = Op {
    id: 99,
    kind: OpKind::Flush,
};

/// Submits and returns the ticket.
fn submit(disk: &SimDisk, queue: &mut dyn Queue, op: Op) -> u64 {
    queue.submit(&[op]);
    disk.pending().last().expect("just submitted").ticket
}

fn complete(disk: &SimDisk, queue: &mut dyn Queue, op: Op, outcome: OpOutcome) -> OpCompletion {
    let ticket = submit(disk, queue, op);
    disk.finish(ticket, outcome);
    let mut done = Vec::new();
    assert_eq!(queue.poll(&mut done, true), 1);
    done[0]
}

/// The first byte of each sector.
fn firsts(image: &[u8]) -> Vec<u8> {
    image.chunks(SECTOR).map(|sector| sector[0]).collect()
}

#[test]
fn a_flush_covers_what_was_returned_before_its_submission_and_nothing_else() {
    let (disk, mut queue, _region) = disk(false);
    let queue = &mut *queue;
    let mut done = Vec::new();
    complete(&disk, queue, write(0, 1), OpOutcome::Done);
    let unreturned = submit(&disk, queue, write(1, 2));
    disk.finish(unreturned, OpOutcome::Done);
    let unfinished = submit(&disk, queue, write(2, 3));
    let flush = submit(&disk, queue, FLUSH);
    disk.finish(unfinished, OpOutcome::Done);
    queue.poll(&mut done, false);
    complete(&disk, queue, write(3, 4), OpOutcome::Done);
    disk.finish(flush, OpOutcome::Done);
    assert_eq!(firsts(&disk.durable_image())[..4], [1, 0, 0, 0]);
    queue.poll(&mut done, false);
    complete(&disk, queue, FLUSH, OpOutcome::Done);
    assert_eq!(firsts(&disk.durable_image())[..4], [1, 2, 3, 4]);
    assert!(disk.crash_choices().is_empty());
}

#[test]
fn a_flush_covers_writes_of_other_queues() {
    let (disk, mut one, region) = disk(false);
    let mut two = disk.queue(region).expect("queue");
    complete(&disk, &mut *one, write(0, 1), OpOutcome::Done);
    complete(&disk, &mut *two, FLUSH, OpOutcome::Done);
    assert_eq!(firsts(&disk.durable_image())[0], 1);
}

#[test]
fn what_a_failed_flush_covered_stays_lost() {
    let (disk, mut queue, _region) = disk(false);
    let queue = &mut *queue;
    complete(&disk, queue, write(0, 1), OpOutcome::Done);
    let failed = complete(&disk, queue, FLUSH, OpOutcome::Fail(EIO));
    assert_eq!(failed.result.map_err(|f| f.errno), Err(EIO));
    complete(&disk, queue, write(1, 2), OpOutcome::Done);
    complete(&disk, queue, FLUSH, OpOutcome::Done);
    assert_eq!(firsts(&disk.durable_image())[..2], [0, 2]);
    let options = disk.crash_choices();
    assert_eq!(
        options,
        [CrashChoice {
            sector: 0,
            options: 3
        }]
    );
}

#[test]
fn a_flush_beside_a_failed_one_does_not_bring_back_what_was_lost() {
    // (order of the two flushes' ends, what is durable afterwards)
    for (failing_first, durable) in [(true, [0, 2]), (false, [1, 2])] {
        let (disk, mut queue, _region) = disk(false);
        let queue = &mut *queue;
        complete(&disk, queue, write(0, 1), OpOutcome::Done);
        let failing = submit(&disk, queue, FLUSH);
        complete(&disk, queue, write(1, 2), OpOutcome::Done);
        let passing = submit(&disk, queue, Op { id: 98, ..FLUSH });
        if failing_first {
            disk.finish(failing, OpOutcome::Fail(EIO));
            disk.finish(passing, OpOutcome::Done);
        } else {
            disk.finish(passing, OpOutcome::Done);
            disk.finish(failing, OpOutcome::Fail(EIO));
        }
        assert_eq!(firsts(&disk.durable_image())[..2], durable);
    }
}

#[test]
fn durable_writes_need_no_flush_but_can_fail_in_doubt() {
    let (disk, mut queue, _region) = disk(true);
    let queue = &mut *queue;
    complete(&disk, queue, write(0, 1), OpOutcome::Done);
    complete(&disk, queue, write(1, 2), OpOutcome::Fail(EIO));
    assert_eq!(firsts(&disk.durable_image())[..2], [1, 0]);
    let undecided: Vec<_> = disk.crash_choices().iter().map(|c| c.sector).collect();
    assert_eq!(undecided, [1], "a failed write may have landed");
    let mut seen = [9; 1];
    disk.read(SECTOR as u64, &mut seen).expect("inside");
    assert_eq!(seen, [0], "but nobody reads it before a crash");
}

#[test]
fn a_short_write_brings_its_first_bytes() {
    let (disk, mut queue, _region) = disk(false);
    let short = complete(&disk, &mut *queue, write(0, 1), OpOutcome::Short(700));
    assert_eq!(short.result, Ok(700));
    let mut seen = vec![9; SECTOR];
    disk.read(0, &mut seen).expect("inside");
    assert!(seen[..700].iter().all(|b| *b == 1) && seen[700..].iter().all(|b| *b == 0));
}

#[test]
fn changed_source_memory_is_a_violation() {
    let (disk, mut queue, region) = disk(false);
    let ticket = submit(&disk, &mut *queue, write(0, 1));
    // SAFETY: no other thread; the disk reads the memory in the calls below and not now.
    unsafe { region.write(SECTOR, &[77]) };
    let _other_memory_changed = disk.crash(&mut 1, &CrashMix::default());
    assert!(disk.violations().is_empty());
    // SAFETY: as above; that the write's memory changes is what the disk is to find.
    unsafe { region.write(40, &[77]) };
    disk.finish(ticket, OpOutcome::Done);
    let violations = disk.violations();
    assert_eq!(violations.len(), 1);
    assert!(violations[0].contains("byte 40"), "{violations:?}");
    let mut seen = [0; 1];
    disk.read(40, &mut seen).expect("inside");
    assert_eq!(seen, [77], "data is taken when the write finishes");
}

#[test]
fn writes_outside_or_askew_are_refused_and_noted() {
    let (disk, mut queue, _region) = disk(false);
    for (addr, len) in [
        (8 * SECTOR as u64, 512),
        (u64::MAX - 511, 512),
        (100, 512),
        (0, 100),
    ] {
        let pieces = [Piece { at: 0, len }, Piece::default()];
        let kind = OpKind::Write { addr, pieces };
        queue.submit(&[Op { id: 1, kind }]);
        let mut done = Vec::new();
        queue.poll(&mut done, true);
        assert_eq!(done[0].result.map_err(|f| f.errno), Err(22));
    }
    assert_eq!(disk.violations().len(), 4);
    assert!(disk.read(8 * SECTOR as u64, &mut [0]).is_err());
}

#[test]
fn immediate_mode_serves_blocking_callers() {
    let (disk, mut queue, _region) = disk(false);
    submit(&disk, &mut *queue, write(7, 1));
    disk.set_immediate(true);
    assert!(disk.pending().is_empty());
    write_durable(&disk, 512, &[5; 1024]).expect("immediate");
    let image = disk.durable_image();
    assert!(image[512..1536].iter().all(|b| *b == 5));
    assert_eq!((image[511], image[1536]), (0, 0));
    assert_eq!(image[7 * SECTOR], 0, "its completion was not returned");
}

/// Sector 0: durable 1, then cached 2 and 3. Sector 1: 4 in flight. Sector 2: durable 5.
fn before_a_crash() -> (SimDisk, Box<dyn Queue>) {
    let (disk, mut queue, _region) = disk(false);
    complete(&disk, &mut *queue, write(0, 1), OpOutcome::Done);
    complete(&disk, &mut *queue, write(2, 5), OpOutcome::Done);
    complete(&disk, &mut *queue, FLUSH, OpOutcome::Done);
    complete(&disk, &mut *queue, write(0, 2), OpOutcome::Done);
    complete(&disk, &mut *queue, write(0, 3), OpOutcome::Done);
    submit(&disk, &mut *queue, write(1, 4));
    (disk, queue)
}

#[test]
fn every_crash_can_be_enumerated() {
    let (disk, _queue) = before_a_crash();
    let options: Vec<_> = disk.crash_choices().iter().map(|c| c.options).collect();
    assert_eq!(options, [4, 3]);
    let mut images = BTreeSet::new();
    for first in 0..4 {
        for second in 0..3 {
            let crash = disk.crash_with(&[first, second]);
            assert_eq!(crash, disk.crash_with(&[first, second]), "deterministic");
            let seen = firsts(&crash.image);
            // A torn sector keeps the head of the newest content and nothing behind it.
            assert_eq!(seen[..3], [[1, 2, 3, 3][first], [0, 4, 4][second], 5]);
            let tail = crash.image[SECTOR - 1];
            assert_eq!(first == 3, tail != seen[0], "only a torn tail differs");
            let reordered = first < 2 && second == 1;
            assert_eq!(crash.coverage.reordered, u64::from(reordered));
            images.insert(crash.image);
        }
    }
    assert_eq!(images.len(), 12);
}

#[test]
fn drawn_crashes_reach_every_case_and_never_touch_what_is_durable() {
    let (disk, _queue) = before_a_crash();
    let mut total = CrashCoverage::default();
    let mut images = BTreeSet::new();
    let mut rng = 20_260_101;
    println!("seed {rng}");
    for _ in 0..2_000 {
        let crash = disk.crash(&mut rng, &CrashMix::default());
        assert!(crash.image[2 * SECTOR..3 * SECTOR].iter().all(|b| *b == 5));
        assert!(crash.image[3 * SECTOR..].iter().all(|b| *b == 0));
        if crash.coverage.torn_garbage + crash.coverage.torn_mixed == 0 {
            images.insert(firsts(&crash.image)[..2].to_vec());
        }
        total += crash.coverage;
    }
    assert_eq!(images.len(), 6, "1, 2 or 3 beside 0 or 4");
    assert_eq!((total.crashes, total.with_write_in_flight), (2_000, 2_000));
    assert_eq!(total.with_flush_in_flight, 0);
    let CrashCoverage {
        reordered,
        dropped,
        landed,
        outdated,
        torn_mixed,
        torn_garbage,
        ..
    } = total;
    for count in [
        reordered,
        dropped,
        landed,
        outdated,
        torn_mixed,
        torn_garbage,
    ] {
        assert!(count >= 50, "{total:?}");
    }
    assert!(disk.violations().is_empty());
}

#[test]
fn a_disk_starts_from_an_image() {
    let (disk, _queue) = before_a_crash();
    let after = disk.after_crash(disk.crash_with(&[1, 1]).image);
    assert_eq!(firsts(&after.durable_image())[..3], [2, 4, 5]);
    assert!(after.crash_choices().is_empty());
    assert_eq!(after.caps(), disk.caps());
    let fresh = SimDisk::new(2 * SECTOR, SECTOR, false);
    fresh.load(&[8; SECTOR]);
    assert_eq!(firsts(&fresh.durable_image()), [8, 0]);
}

#[test]
fn a_crash_counts_what_was_in_flight() {
    let (disk, mut queue, _region) = disk(false);
    let in_flight = |disk: &SimDisk| {
        let crash = disk.crash(&mut 1, &CrashMix::default()).coverage;
        (crash.with_write_in_flight, crash.with_flush_in_flight)
    };
    assert_eq!(in_flight(&disk), (0, 0));
    complete(&disk, &mut *queue, write(0, 1), OpOutcome::Done);
    assert_eq!(in_flight(&disk), (0, 0), "it has ended");
    let flush = submit(&disk, &mut *queue, FLUSH);
    assert_eq!(in_flight(&disk), (0, 1));
    submit(&disk, &mut *queue, write(1, 2));
    assert_eq!(in_flight(&disk), (1, 1));
    disk.finish(flush, OpOutcome::Done);
    assert_eq!(in_flight(&disk), (1, 0));
}

/// Three writes to three sectors, the last two of them in flight.
fn three_writes() -> (SimDisk, Box<dyn Queue>) {
    let (disk, mut queue, _region) = disk(false);
    complete(&disk, &mut *queue, write(0, 1), OpOutcome::Done);
    submit(&disk, &mut *queue, write(1, 2));
    submit(&disk, &mut *queue, write(2, 3));
    (disk, queue)
}

#[test]
fn writes_in_flight_arrive_in_the_order_of_their_submission() {
    let (disk, _queue) = three_writes();
    for (landed, reordered) in [
        ([1, 0, 0], 0),
        ([1, 1, 0], 0),
        ([1, 0, 1], 1),
        ([0, 1, 0], 1),
        ([1, 1, 1], 0),
    ] {
        let crash = disk.crash_with(&landed);
        assert_eq!(crash.coverage.reordered, reordered, "{landed:?}");
    }
}

/// A mix of one kind of crash and one kind of sector.
fn only(change: impl FnOnce(&mut CrashMix)) -> CrashMix {
    let mut mix = CrashMix {
        independent: 0,
        all_lost: 0,
        all_landed: 0,
        prefix: 0,
        durable: 0,
        newest: 0,
        any: 0,
        torn_mixed: 0,
        torn_garbage: 0,
    };
    change(&mut mix);
    mix
}

#[test]
fn a_mix_of_one_kind_draws_that_kind() {
    let (disk, _queue) = before_a_crash();
    let two = |mix: CrashMix, seed: u64| {
        let crash = disk.crash(&mut seed.clone(), &mix);
        (firsts(&crash.image)[..2].to_vec(), crash.coverage)
    };
    for seed in 0..50 {
        let (seen, _) = two(only(|m| (m.independent, m.durable) = (1, 1)), seed);
        assert_eq!(seen, [1, 0]);
        let (seen, coverage) = two(only(|m| (m.independent, m.newest) = (1, 1)), seed);
        assert_eq!((seen, coverage.landed), (vec![3, 4], 2));
        let (seen, _) = two(only(|m| (m.independent, m.any) = (1, 1)), seed);
        assert!([2, 3].contains(&seen[0]) && seen[1] == 4, "{seen:?}");
        let (_, coverage) = two(only(|m| (m.independent, m.torn_mixed) = (1, 1)), seed);
        assert_eq!(coverage.torn_mixed, 2);
        let (_, coverage) = two(only(|m| (m.independent, m.torn_garbage) = (1, 1)), seed);
        assert_eq!(coverage.torn_garbage, 2);
        assert_eq!(two(only(|m| m.all_lost = 1), seed).0, [1, 0]);
        assert_eq!(two(only(|m| m.all_landed = 1), seed).0, [3, 4]);
    }
}

#[test]
fn a_prefix_is_what_arrived_before_some_moment() {
    let (disk, _queue) = three_writes();
    let mut seen = BTreeSet::new();
    // The sector at the edge keeps its durable content.
    let mix = only(|m| (m.prefix, m.durable) = (1, 1));
    for seed in 0..200 {
        let crash = disk.crash(&mut seed.clone(), &mix);
        seen.insert(firsts(&crash.image)[..3].to_vec());
    }
    let prefixes = [[0, 0, 0], [1, 0, 0], [1, 2, 0], [1, 2, 3]];
    assert!(seen.into_iter().eq(prefixes));
}

#[test]
#[should_panic(expected = "loading comes before writing")]
fn a_disk_that_was_written_cannot_be_loaded() {
    let (disk, mut queue, _region) = disk(false);
    submit(&disk, &mut *queue, write(0, 1));
    disk.load(&[8; SECTOR]);
}
