//! Tests of the fault device over a device that never fails by itself.

use super::*;
use crate::null::NullDevice;
use crate::sim_disk::SimDisk;

/// Waits end long before, unless something hangs.
const PATIENCE: Duration = Duration::from_secs(300);

fn null(blocking: bool) -> FaultDevice {
    let caps = Caps {
        logical_bytes: 512,
        physical_bytes: 512,
        memory_align: 512,
        max_io_bytes: 1 << 20,
        durable_writes: false,
        blocking,
    };
    FaultDevice::new(Arc::new(NullDevice::new(1 << 20, caps)))
}

fn queue_of(device: &FaultDevice) -> Box<dyn Queue> {
    let region = Arc::new(Region::new(4096).expect("memory"));
    device.queue(region).expect("the null device takes any")
}

fn write(id: u64) -> Op {
    let pieces = [
        Piece { at: 0, len: 1024 },
        Piece {
            at: 2048,
            len: 1024,
        },
    ];
    let kind = OpKind::Write { addr: 0, pieces };
    Op { id, kind }
}

fn flush(id: u64) -> Op {
    let kind = OpKind::Flush;
    Op { id, kind }
}

/// Results in the order of submission.
fn run(queue: &mut dyn Queue, ops: &[Op]) -> Vec<Result<u64, i32>> {
    queue.submit(ops);
    let mut done = Vec::new();
    while done.len() < ops.len() {
        assert!(queue.poll(&mut done, true) > 0, "an operation was lost");
    }
    done.sort_by_key(|c| c.id);
    done.iter().map(|c| c.result.map_err(|f| f.errno)).collect()
}

#[test]
fn faults_strike_the_call_they_name() {
    use Fault::{Errno, Short};
    let (w, f) = (FaultTarget::Write, FaultTarget::Flush);
    // Four rounds of a write and a flush, each alone; what each round returned.
    let ok = (Ok(2048), Ok(0));
    let cases = [
        (w, 2, Errno(EIO), false, [ok, (Err(EIO), Ok(0)), ok, ok]),
        (w, 3, Errno(EINTR), false, [ok, ok, (Err(EINTR), Ok(0)), ok]),
        (
            w,
            4,
            Errno(ENOSPC),
            true,
            [ok, ok, ok, (Err(ENOSPC), Ok(0))],
        ),
        (
            f,
            1,
            Errno(EINTR),
            false,
            [(Ok(2048), Err(EINTR)), ok, ok, ok],
        ),
        (
            f,
            3,
            Errno(EIO),
            true,
            [ok, ok, (Ok(2048), Err(EIO)), (Ok(2048), Err(EIO))],
        ),
        (w, 2, Short(1500), false, [ok, (Ok(1500), Ok(0)), ok, ok]),
        (
            w,
            3,
            Short(0),
            true,
            [ok, ok, (Ok(0), Ok(0)), (Ok(0), Ok(0))],
        ),
        (w, 1, Short(9999), false, [ok; 4]),
    ];
    for (target, nth, fault, for_good, expected) in cases {
        let device = null(true);
        let injection = Injection {
            target,
            nth,
            fault,
            for_good,
        };
        device.inject(injection);
        let mut queue = queue_of(&device);
        for (round, expected) in expected.into_iter().enumerate() {
            let wrote = run(&mut *queue, &[write(1)])[0];
            let flushed = run(&mut *queue, &[flush(2)])[0];
            assert_eq!((wrote, flushed), expected, "{injection:?} in round {round}");
        }
        let counts = device.counts();
        assert_eq!((counts.writes, counts.flushes), (4, 4));
        assert!(counts.struck > 0);
    }
}

#[test]
fn a_failed_batch_ends_as_the_device_below_would_end_it() {
    for (blocking, rest) in [(true, Err(ECANCELED)), (false, Ok(0))] {
        let device = null(blocking);
        device.inject(Injection {
            target: FaultTarget::Write,
            nth: 2,
            fault: Fault::Errno(EIO),
            for_good: false,
        });
        let results = run(&mut *queue_of(&device), &[write(1), write(2), flush(3)]);
        assert_eq!(results, [Ok(2048), Err(EIO), rest]);
    }
}

#[test]
fn counting_spans_queues_and_healing_ends_faults() {
    let device = null(true);
    device.inject(Injection {
        target: FaultTarget::Flush,
        nth: 2,
        fault: Fault::Errno(EIO),
        for_good: true,
    });
    let (mut one, mut two) = (queue_of(&device), queue_of(&device));
    assert_eq!(run(&mut *one, &[flush(1)]), [Ok(0)]);
    assert_eq!(run(&mut *two, &[flush(1)]), [Err(EIO)]);
    device.heal();
    assert_eq!(run(&mut *one, &[flush(2)]), [Ok(0)]);
    assert_eq!(device.counts().flushes, 3);
    assert_eq!(device.counts().struck, 1);
}

#[test]
fn a_short_write_leaves_its_tail_unwritten() {
    let disk = SimDisk::new(8192, 512, true);
    disk.set_immediate(true);
    let device = FaultDevice::new(Arc::new(disk.clone()));
    device.inject(Injection {
        target: FaultTarget::Write,
        nth: 1,
        fault: Fault::Short(1536),
        for_good: false,
    });
    device.inject(Injection {
        target: FaultTarget::Read,
        nth: 2,
        fault: Fault::Errno(EIO),
        for_good: false,
    });
    let region = Arc::new(Region::holding(&[1; 4096]).expect("memory"));
    let mut queue = device.queue(region).expect("queue");
    assert_eq!(run(&mut *queue, &[write(1)]), [Ok(1536)]);
    let mut back = [9; 2048];
    device.read(0, &mut back).expect("the first read");
    assert!(back[..1536].iter().all(|b| *b == 1) && back[1536..].iter().all(|b| *b == 0));
    assert!(device.read(0, &mut back).is_err());
}

#[test]
fn a_gate_orders_completions() {
    let device = null(true);
    let mut queue = queue_of(&device);
    queue.submit(&[write(9)]);
    let gate = device.gate();
    queue.submit(&[write(1), write(2), flush(3)]);
    let held = gate.pending();
    assert!(held.iter().map(|h| h.op.id).eq([1, 2, 3]));
    let mut done = Vec::new();
    assert_eq!(queue.poll(&mut done, true), 1, "submitted before the gate");
    assert_eq!(queue.poll(&mut done, false), 0);
    assert!(gate.release(held[2].ticket) && gate.release(held[0].ticket));
    assert!(!gate.release(held[0].ticket), "released only once");
    queue.poll(&mut done, true);
    assert!(done.iter().map(|c| c.id).eq([9, 3, 1]));
    drop(gate);
    queue.submit(&[write(4)]);
    queue.poll(&mut done, true);
    assert!(done.iter().map(|c| c.id).eq([9, 3, 1, 2, 4]));
    assert_eq!(queue.poll(&mut done, true), 0, "nothing is in flight");
}

#[test]
fn a_waiting_poll_wakes_when_the_gate_releases() {
    let device = null(true);
    let gate = device.gate();
    let mut queue = queue_of(&device);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || run(&mut *queue, &[write(1), flush(2)]));
        let held = gate.await_pending(2, PATIENCE).expect("both submitted");
        assert!(gate.await_pending(3, Duration::from_millis(1)).is_none());
        gate.release(held[1].ticket);
        std::thread::sleep(Duration::from_millis(2));
        assert!(!waiting.is_finished(), "the write is still held");
        gate.release_all();
        assert_eq!(waiting.join().expect("no panic"), [Ok(2048), Ok(0)]);
    });
}

#[test]
fn a_delay_is_spent_before_each_operation() {
    let device = null(true);
    device.set_delay(Duration::from_millis(3));
    let start = std::time::Instant::now();
    run(&mut *queue_of(&device), &[write(1), flush(2)]);
    assert!(start.elapsed() >= Duration::from_millis(6));
}

#[test]
fn a_waiting_poll_waits_for_the_device_below() {
    let disk = SimDisk::new(8192, 512, false);
    let device = FaultDevice::new(Arc::new(disk.clone()));
    let mut queue = queue_of(&device);
    queue.submit(&[write(1)]);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let mut done = Vec::new();
            queue.poll(&mut done, true)
        });
        std::thread::sleep(Duration::from_millis(20));
        let ticket = disk.pending()[0].ticket;
        disk.finish(ticket, crate::sim_disk::OpOutcome::Done);
        assert_eq!(waiting.join().expect("no panic"), 1);
    });
}

#[test]
fn a_queue_is_named_as_the_one_below() {
    let device = null(true);
    let region = || Arc::new(Region::new(4096).expect("memory"));
    let below = NullDevice::new(1 << 20, NullDevice::PLAIN);
    let below = below.queue(region()).expect("the null device takes any");
    let queue = queue_of(&device);
    assert_eq!((queue.kind(), queue.notes()), (below.kind(), below.notes()));
}
