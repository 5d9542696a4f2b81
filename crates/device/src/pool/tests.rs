//! Tests of the pool: completions in any order, flushes that cover, ends that wait.
#![allow(unsafe_code)]

use super::*;
use crate::fault::{FaultDevice, Gate};
use crate::null::NullDevice;
use crate::queue::{Caps, OpKind, Piece};
use crate::sim_disk::SimDisk;
use measure::{Clock, Nanos};
use std::sync::atomic::AtomicBool;

const PATIENCE: Duration = Duration::from_secs(300);

fn region() -> Arc<Region> {
    Arc::new(Region::new(1 << 16).expect("memory"))
}

fn write(id: u64, addr: u64) -> Op {
    let pieces = [Piece { at: 0, len: 512 }, Piece::default()];
    let kind = OpKind::Write { addr, pieces };
    Op { id, kind }
}

fn gated() -> (FaultDevice, Gate) {
    let null = NullDevice::new(1 << 20, NullDevice::PLAIN);
    let device = FaultDevice::new(Arc::new(null));
    let gate = device.gate();
    (device, gate)
}

#[test]
fn operations_end_in_every_order() {
    let orders: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for order in orders {
        let (device, gate) = gated();
        let mut pool = Workers::start(&device, &region(), 3, &[]).expect("workers");
        pool.submit(&[write(1, 0), write(2, 512), write(3, 1024)]);
        let mut held = gate.await_pending(3, PATIENCE).expect("all are under way");
        held.sort_by_key(|held| held.op.id);
        let mut done = Vec::new();
        for which in order {
            assert_eq!(pool.poll(&mut done, false), 0, "nothing was released");
            assert!(gate.release(held[which].ticket));
            assert_eq!(pool.poll(&mut done, true), 1);
            assert_eq!(done.last().map(|c| c.id), Some(held[which].op.id));
        }
        let mut by: Vec<u16> = done.iter().map(|c| c.by).collect();
        by.sort_unstable();
        assert_eq!(by, [0, 1, 2], "each by a worker of its own");
        assert_eq!(pool.poll(&mut done, true), 0, "nothing is left to wait for");
    }
}

/// Operations that come one after the other, while those before them are still under way.
#[test]
fn who_is_busy_leaves_the_next_operation_to_others() {
    const LONG: Duration = Duration::from_secs(30);
    let (device, gate) = gated();
    let mut pool = Workers::start(&device, &region(), 3, &[]).expect("workers");
    // Dropped before the pool, whose end waits for what the gate holds.
    let gate = gate;
    for round in 0..5 {
        let mut held = Vec::new();
        for count in 1..=3 {
            pool.submit(&[write(count as u64, 0)]);
            let under_way = gate.await_pending(count, LONG);
            held = under_way.unwrap_or_else(|| panic!("no worker for {count} in round {round}"));
        }
        for held in held {
            assert!(gate.release(held.ticket));
        }
        let mut done = Vec::new();
        while done.len() < 3 {
            pool.poll(&mut done, true);
        }
    }
}

#[test]
fn what_finds_no_idle_worker_waits_for_one() {
    let null = NullDevice::new(1 << 20, NullDevice::PLAIN);
    let mut pool = Workers::start(&null, &region(), 2, &[]).expect("workers");
    let mut done = Vec::new();
    for round in 0..50 {
        let ops: Vec<Op> = (0..16).map(|i| write(round * 16 + i, 512 * i)).collect();
        pool.submit(&ops);
        let before = done.len();
        while done.len() < before + ops.len() {
            pool.poll(&mut done, true);
        }
    }
    let mut ids: Vec<u64> = done.iter().map(|c| c.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..800).collect::<Vec<_>>(), "each exactly once");
    let carried: u64 = pool.stats().iter().map(|s| s.operations()).sum();
    assert_eq!(carried, 800);
}

/// The disk notes a broken rule when memory changes under a write, and keeps only what a flush
/// covered.
#[test]
fn a_flush_covers_what_another_worker_wrote() {
    let disk = SimDisk::new(1 << 16, 512, false);
    disk.set_immediate(true);
    let mut region = Region::new(1 << 16).expect("memory");
    region.fill(0, &[7; 512]);
    let region = Arc::new(region);
    let mut pool = Workers::start(&disk, &region, 3, &[]).expect("workers");
    let mut done = Vec::new();
    let mut await_all = |pool: &mut Workers, ops: &[Op]| {
        pool.submit(ops);
        done.clear();
        while done.len() < ops.len() {
            pool.poll(&mut done, true);
        }
        assert!(done.iter().all(|c| c.result.is_ok()), "{done:?}");
    };
    await_all(&mut pool, &[write(1, 0), write(2, 1024)]);
    await_all(
        &mut pool,
        &[
            Op {
                id: 3,
                kind: OpKind::Flush,
            },
            write(4, 4096),
        ],
    );
    let kept = disk.durable_image();
    assert!(kept[..512].iter().chain(&kept[1024..1536]).all(|b| *b == 7));
    assert_eq!(disk.violations(), Vec::<String>::new());
}

#[test]
fn a_parked_owner_hears_of_completions_and_of_others() {
    let (device, gate) = gated();
    let mut pool = Workers::start(&device, &region(), 2, &[]).expect("workers");
    let bell = Arc::new(Doorbell::default());
    let mut done = Vec::new();
    pool.submit(&[write(1, 0)]);
    let held = gate.await_pending(1, PATIENCE).expect("under way");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Somebody else rings first, then the operation ends.
            while bell.sleepers() == 0 {
                std::thread::yield_now();
            }
            bell.ring();
        });
        let seen = bell.read();
        while bell.read() == seen {
            pool.park(&bell, seen, None);
        }
        assert_eq!(pool.poll(&mut done, false), 0);
        scope.spawn(|| {
            while bell.sleepers() == 0 {
                std::thread::yield_now();
            }
            assert!(gate.release(held[0].ticket));
        });
        loop {
            let seen = bell.read();
            if pool.poll(&mut done, false) > 0 {
                break;
            }
            pool.park(&bell, seen, None);
        }
    });
    assert_eq!(done[0].id, 1);
}

/// Dropping a pool waits for a worker that hangs in its device, and for nothing that no worker had
/// begun.
#[test]
fn dropping_waits_for_what_is_carried_out() {
    let (device, gate) = gated();
    let mut pool = Workers::start(&device, &region(), 1, &[]).expect("a worker");
    pool.submit(&[write(1, 0), write(2, 512)]);
    gate.await_pending(1, PATIENCE).expect("under way");
    let released = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            released.store(true, Ordering::SeqCst);
            gate.release_all();
        });
        drop(pool);
        assert!(released.load(Ordering::SeqCst), "it waited");
    });
    assert_eq!(device.counts().writes, 1, "the second was never begun");
}

/// A device whose queues die at the second operation.
struct Fragile;

struct FragileQueue(u32);

// SAFETY: it never touches a region.
unsafe impl LogDevice for Fragile {
    fn caps(&self) -> Caps {
        NullDevice::PLAIN
    }

    fn bytes(&self) -> u64 {
        1 << 20
    }

    fn queue(&self, _region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(FragileQueue(0)))
    }

    fn read(&self, _addr: u64, _out: &mut [u8]) -> Result<(), DeviceError> {
        Ok(())
    }

    fn settle(&self) -> Result<(), crate::queue::IoOrDevice> {
        Ok(())
    }
}

impl Queue for FragileQueue {
    fn submit(&mut self, _ops: &[Op]) {
        self.0 += 1;
        assert!(self.0 < 2, "as this test wants it");
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        out.push(OpCompletion {
            id: 1,
            result: Ok(512),
            by: 0,
        });
        1
    }
}

#[test]
fn an_operation_whose_worker_dies_fails() {
    let mut pool = Workers::start(&Fragile, &region(), 1, &[]).expect("a worker");
    let mut done = Vec::new();
    pool.submit(&[write(1, 0)]);
    pool.poll(&mut done, true);
    pool.submit(&[write(2, 0)]);
    pool.poll(&mut done, true);
    let results: Vec<_> = done.iter().map(|c| (c.id, c.result)).collect();
    assert_eq!(results, [(1, Ok(512)), (2, Err(IoFailure { errno: EIO }))]);
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    let null = NullDevice::new(1 << 20, NullDevice::PLAIN);
    let refused = Workers::start(&null, &region(), 1, &[100_000]);
    let said = refused.err().expect("no such CPU").to_string();
    assert!(said.contains("CPU 100000"), "{said}");
}

#[test]
fn idle_times_are_those_of_the_clock_that_was_given() {
    #[derive(Default)]
    struct Stopped(AtomicU64);
    impl Clock for Stopped {
        fn now(&self) -> Nanos {
            Nanos(self.0.load(Ordering::SeqCst))
        }
    }
    let null = NullDevice::new(1 << 20, NullDevice::PLAIN);
    let stopped = Arc::new(Stopped::default());
    let clock: Arc<dyn Clock> = Arc::clone(&stopped) as _;
    let pool = Workers::start_by(&clock, &null, &region(), 1, &[]).expect("a worker");
    let stats = &pool.stats()[0];
    while !stats.idle().going_on {
        std::thread::yield_now();
    }
    assert_eq!(stats.idle().ns, 0);
    stopped.0.store(7, Ordering::SeqCst);
    assert_eq!(stats.idle().ns, 7);
}
