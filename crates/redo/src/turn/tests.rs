//! Tests of waking: who wakes whom.

use super::*;
use crate::buffer::Memory;
use crate::format::{LogId, Summer};
use crate::planted::Planted;
use device::Region;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn turn() -> SharedBaton<()> {
    let geometry = Geometry {
        block_bytes: 512,
        seal_blocks: 1,
        groups: 2,
        blocks_per_group: 64,
        header_bytes: 4096,
        file_bytes: 4096 + 64 * 512,
    };
    let memory = Memory::new(Arc::new(Region::new(16 * 512).expect("memory")));
    let (summer, planted) = (Summer::new(LogId([3; 16])), Planted::none());
    let buffer = LogBuffer::new(memory, geometry, 1, summer, 0, 0, planted);
    SharedBaton::new(buffer, &geometry, (), 0, Rules::default())
}

fn until(what: &str, done: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn of_a_herd_the_leader_wakes_half_and_leaves_the_rest_to_them() {
    const HERD: u32 = rules::WAKE_ALONE + 16;
    let turn = turn();
    let slot = turn.buffer.slot(0);
    let woken = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..HERD {
            scope.spawn(|| {
                slot.wake.wait(slot.wake.read());
                woken.fetch_add(1, Ordering::SeqCst);
            });
        }
        until("all sleep", || slot.wake.sleepers() == HERD);
        // Who is counted may still be on the way to sleep.
        std::thread::sleep(Duration::from_millis(50));
        turn.wake_batch(0);
        until("half are woken", || {
            woken.load(Ordering::SeqCst) >= HERD / 2
        });
        std::thread::sleep(Duration::from_millis(20));
        let by_leader = woken.load(Ordering::SeqCst);
        let left = slot.chain.load(Ordering::SeqCst);
        // Before anything is asserted: a waiter that sleeps on would hang the test.
        slot.wake.bump();
        slot.wake.wake_all();
        assert!(by_leader < HERD, "some are left to those that were woken");
        assert_eq!(left, HERD / 2, "as many as were woken");
    });
    assert_eq!(woken.load(Ordering::SeqCst), HERD);
}
