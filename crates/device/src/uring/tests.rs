//! Tests of rings on real files of the temporary directory. Where the system permits no io_uring
//! they say so; what is done then has tests of its own here.

use super::queue::tests::Injected;
use super::*;
use crate::file::SyncMethod;
use crate::file::tests::Scratch;
use crate::queue::{OpKind, Piece, flush, write_durable};
use rustix::io::Errno;
use std::sync::atomic::Ordering;

const EACH: u64 = 64 << 10;

fn set(scratch: &Scratch, files: usize, method: SyncMethod) -> Option<FileSet> {
    let paths: Vec<_> = (0..files)
        .map(|i| scratch.file(&format!("log{i}"), EACH))
        .collect();
    match FileSet::open(&paths, EACH, method) {
        Ok(set) => Some(set),
        Err(DeviceError::Unsuitable { what, .. }) if what.contains("O_DIRECT") => {
            println!("skipped: the temporary directory refuses O_DIRECT");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Files behind rings of 8 entries, so that the backlog is used.
fn rings(scratch: &Scratch, files: usize, method: SyncMethod) -> Option<UringFiles> {
    let options = UringOptions {
        entries: 8,
        ..UringOptions::default()
    };
    if let Err(refused) = options.check() {
        println!("skipped: {refused}");
        return None;
    }
    Some(UringFiles::new(set(scratch, files, method)?, options))
}

fn write(id: u64, addr: u64, pieces: [(usize, usize); 2]) -> Op {
    let pieces = pieces.map(|(at, len)| Piece { at, len });
    let kind = OpKind::Write { addr, pieces };
    Op { id, kind }
}

fn flush_op(id: u64) -> Op {
    let kind = OpKind::Flush;
    Op { id, kind }
}

fn all(queue: &mut dyn Queue, count: usize) -> Vec<(u64, Result<u64, i32>)> {
    let mut done = Vec::new();
    while done.len() < count {
        assert!(queue.poll(&mut done, true) > 0, "something is in flight");
    }
    assert_eq!(queue.poll(&mut done, true), 0, "nothing is left");
    done.sort_by_key(|c| c.id);
    let told = done.iter().map(|c| (c.id, c.result.map_err(|f| f.errno)));
    told.collect()
}

fn run(queue: &mut dyn Queue, ops: &[Op]) -> Vec<(u64, Result<u64, i32>)> {
    queue.submit(ops);
    all(queue, ops.len())
}

fn states(set: &FileSet) -> Vec<(u64, u64)> {
    let shared = set.shared();
    let states = shared.files.iter().map(|f| {
        (
            f.written.load(Ordering::Relaxed),
            f.flushed.load(Ordering::Relaxed),
        )
    });
    states.collect()
}

#[test]
fn what_is_written_is_read_under_every_method() {
    for method in SyncMethod::ALL {
        let scratch = Scratch::new();
        let Some(device) = rings(&scratch, 2, method) else {
            continue;
        };
        let bytes: Vec<u8> = (0..8192_u32).map(|i| (i >> 2) as u8 ^ i as u8).collect();
        write_durable(&device, EACH - 4096, &bytes).expect("writable");
        let mut back = vec![0; bytes.len()];
        device.read(EACH - 4096, &mut back).expect("readable");
        assert!(back == bytes, "{method}");
        assert!(!device.caps().blocking);
        assert_eq!(device.caps().durable_writes, method.durable_writes());
        let due = u64::from(!method.durable_writes());
        assert_eq!(states(&device.set), [(due, due); 2], "{method}");
    }
}

#[test]
fn a_write_over_boundaries_is_divided() {
    let cases = [
        (EACH - 4096, [(0, 8192), (0, 0)]),
        (EACH - 4096, [(12_288, 4096), (0, 4096)]),
        (EACH - 8192, [(8192, 4096), (0, 8192)]),
        (4096, [(0, 4096), (8192, 2 * EACH as usize)]),
    ];
    for (addr, pieces) in cases {
        let scratch = Scratch::new();
        let Some(device) = rings(&scratch, 3, SyncMethod::Direct) else {
            return;
        };
        let mut region = Region::new(4 * EACH as usize).expect("memory");
        let source: Vec<u8> = (0..region.len()).map(|i| (i % 251) as u8 + 1).collect();
        region.fill(0, &source);
        let region = Arc::new(region);
        let mut queue = device.queue(region).expect("queue");
        let op = write(7, addr, pieces);
        let len = op.bytes() as u64;
        assert_eq!(run(&mut *queue, &[op]), [(7, Ok(len))]);
        flush(&mut *queue).expect("flushes");
        let mut space = vec![0; device.bytes() as usize];
        device.read(0, &mut space).expect("readable");
        let mut expected = vec![0; space.len()];
        let [(a, n), (b, m)] = pieces;
        let written = [&source[a..a + n], &source[b..b + m]].concat();
        expected[addr as usize..][..written.len()].copy_from_slice(&written);
        assert!(space == expected, "{addr} {pieces:?}");
    }
}

/// Many more operations than the ring has entries, of random places and lengths, polled now and
/// then: each comes back once, and the files hold what was written.
#[test]
fn more_than_the_ring_holds_comes_back_once_each() {
    let seed = 0x5eed_u64;
    let mut state = seed;
    let mut below = |n: u64| measure::workload::split_mix(&mut state) % n;
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 3, SyncMethod::Buffered) else {
        return;
    };
    let mut region = Region::new(1 << 20).expect("memory");
    let source: Vec<u8> = (0..region.len()).map(|i| (i % 253) as u8 + 1).collect();
    region.fill(0, &source);
    let region = Arc::new(region);
    let mut queue = device.queue(region).expect("queue");
    let mut expected = vec![0; device.bytes() as usize];
    let mut done = Vec::new();
    for round in 0..40 {
        // Within a round no two writes overlap, since their order is nobody's.
        let (mut ops, mut addr) = (Vec::new(), below(4096));
        while ops.len() < 60 {
            let [n, m] = [1 + below(3000) as usize, below(2000) as usize];
            if addr + (n + m) as u64 > device.bytes() {
                break;
            }
            let (a, b) = (below(1 << 19) as usize, below(1 << 19) as usize);
            ops.push(write(
                round * 1000 + ops.len() as u64,
                addr,
                [(a, n), (b, m)],
            ));
            let bytes = [&source[a..a + n], &source[b..b + m]].concat();
            expected[addr as usize..][..bytes.len()].copy_from_slice(&bytes);
            addr += (n + m) as u64 + below(1000);
        }
        ops.insert(ops.len() / 2, flush_op(round * 1000 + 999));
        for some in ops.chunks(1 + below(50) as usize) {
            queue.submit(some);
            queue.poll(&mut done, false);
        }
        while queue.poll(&mut done, true) > 0 {}
        let told = |op: &Op| {
            let mut named = done.iter().filter(|c| c.id == op.id);
            let result = named.next().map(|c| c.result);
            assert!(named.next().is_none(), "seed {seed:#x}: {op:?} came twice");
            result
        };
        for op in &ops {
            assert_eq!(told(op), Some(Ok(op.bytes() as u64)), "seed {seed:#x}");
        }
        done.clear();
    }
    let mut space = vec![0; expected.len()];
    device.read(0, &mut space).expect("readable");
    assert!(space == expected, "seed {seed:#x}");
}

#[test]
fn a_flush_covers_queues_of_either_kind_and_only_files_with_writes() {
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 3, SyncMethod::Buffered) else {
        return;
    };
    let region = Arc::new(Region::new(8192).expect("memory"));
    let mut ring = device.queue(Arc::clone(&region)).expect("queue");
    let mut threads = device.files().queue(region).expect("queue");
    assert_eq!((ring.kind(), threads.kind()), ("io_uring", "threads"));
    run(&mut *ring, &[write(1, EACH, [(0, 512), (0, 0)])]);
    run(&mut *threads, &[write(2, EACH + 512, [(0, 512), (0, 0)])]);
    assert_eq!(states(device.files()), [(0, 0), (2, 0), (0, 0)]);
    flush(&mut *ring).expect("flushes");
    assert_eq!(states(device.files()), [(0, 0), (2, 2), (0, 0)]);
    run(&mut *ring, &[write(3, 2 * EACH - 256, [(0, 512), (0, 0)])]);
    assert_eq!(states(device.files()), [(0, 0), (3, 2), (1, 0)]);
    flush(&mut *threads).expect("flushes");
    assert_eq!(states(device.files()), [(0, 0), (3, 3), (1, 1)]);
    // A write in flight is never counted as flushed before it is counted as written.
    for id in 4..50 {
        ring.submit(&[write(id, 0, [(0, 512), (0, 0)])]);
        flush(&mut *threads).expect("flushes");
        assert_eq!(all(&mut *ring, 1), [(id, Ok(512))]);
        let (written, flushed) = states(device.files())[0];
        assert!(written == id - 3 && flushed <= written);
    }
}

#[test]
fn a_lost_flush_stays_lost_for_rings_too() {
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 2, SyncMethod::Buffered) else {
        return;
    };
    let region = Arc::new(Region::new(4096).expect("memory"));
    let mut queue = device.queue(region).expect("queue");
    device.files().shared().files[1]
        .lost
        .store(true, Ordering::Release);
    for id in 1..3 {
        assert_eq!(run(&mut *queue, &[flush_op(id)]), [(id, Err(5))]);
    }
}

#[test]
fn what_lies_outside_or_is_misaligned_is_refused() {
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 1, SyncMethod::Direct) else {
        return;
    };
    let region = Arc::new(Region::new(8192).expect("memory"));
    let mut queue = device.queue(region).expect("queue");
    let ops = [
        write(1, EACH - 256, [(0, 512), (0, 0)]),
        write(2, u64::MAX - 100, [(0, 512), (0, 0)]),
        write(3, 0, [(0, 0), (0, 0)]),
        write(4, 4096, [(0, 4096), (0, 0)]),
        write(5, 100, [(0, 100), (0, 0)]),
    ];
    let results = run(&mut *queue, &ops);
    let told = [Err(22), Err(22), Ok(0), Ok(4096), Err(22)];
    assert_eq!(results.iter().map(|r| r.1).collect::<Vec<_>>(), told);
}

/// The kernel's answers to the parts of an operation become one result.
#[test]
fn short_and_failed_parts_become_one_result() {
    const EINTR: i32 = Errno::INTR.raw_os_error();
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 2, SyncMethod::Buffered) else {
        return;
    };
    // Pieces of 1,000 and 2,000 bytes; the first file ends after 1,500 bytes: three parts.
    let op = write(1, EACH - 1500, [(0, 1000), (0, 2000)]);
    type Case = (&'static [(usize, i32)], Result<u64, i32>);
    let cases: [Case; 8] = [
        (&[(0, 1000), (1, 500), (2, 1500)], Ok(3000)),
        (&[(2, 1500), (1, 500), (0, 1000)], Ok(3000)),
        (&[(0, 1000), (1, 500), (2, 1499)], Ok(2999)),
        (&[(0, 1000), (1, 0), (2, 1500)], Ok(1000)),
        (&[(2, 7), (1, 300), (0, 1000)], Ok(1300)),
        (&[(0, 10), (1, -5), (2, 1500)], Err(5)),
        (&[(2, -28), (0, 1000), (1, -5)], Err(5)),
        (&[(0, -EINTR), (1, 500), (2, 1500), (0, 1000)], Ok(3000)),
    ];
    for (answers, expected) in cases {
        let region = Arc::new(Region::new(4096).expect("memory"));
        let mut queue = Injected::new(&device, region);
        let result = queue.answer(op, answers);
        assert_eq!(result, expected, "{answers:?}");
    }
}

#[test]
fn a_failed_flush_is_told_once_and_for_all() {
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 2, SyncMethod::Buffered) else {
        return;
    };
    let region = Arc::new(Region::new(4096).expect("memory"));
    let mut queue = Injected::new(&device, Arc::clone(&region));
    device.files().shared().files[0]
        .written
        .store(1, Ordering::Release);
    const ECANCELED: i32 = Errno::CANCELED.raw_os_error();
    // Cancelled before it began: nothing is lost, and the next one is free to succeed.
    let cancelled = queue.answer(flush_op(1), &[(0, -ECANCELED)]);
    assert_eq!(cancelled, Err(ECANCELED));
    // Interrupted by a signal: nothing is lost either, and it is asked for again.
    const EINTR: i32 = Errno::INTR.raw_os_error();
    let twice = [(0, -EINTR), (0, -EINTR), (0, 0)];
    assert_eq!(queue.answer(flush_op(2), &twice), Ok(0));
    assert_eq!(states(device.files())[0], (1, 1));
    device.files().shared().files[0]
        .written
        .store(2, Ordering::Release);
    let lost = [(0, -EINTR), (0, -28)];
    assert_eq!(queue.answer(flush_op(2), &lost), Err(28));
    assert_eq!(queue.answer(flush_op(3), &[]), Err(5));
    let mut other = device.files().queue(region).expect("queue");
    other.submit(&[flush_op(4)]);
    assert_eq!(all(&mut *other, 1), [(4, Err(5))]);
}

/// Both files of a batch over a boundary are flushed at once, and the flush ends with the second.
#[test]
fn a_flush_of_a_write_over_two_files_needs_both() {
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 3, SyncMethod::Buffered) else {
        return;
    };
    let region = Arc::new(Region::new(8192).expect("memory"));
    let mut queue = Injected::new(&device, region);
    let op = write(1, EACH - 4096, [(0, 8192), (0, 0)]);
    for (answers, expected) in [
        ([(1, 0), (0, 0)], Ok(0)),
        ([(0, 0), (1, 0)], Ok(0)),
        ([(0, 0), (1, -5)], Err(5)),
    ] {
        let wrote = queue.answer(op, &[(0, 4096), (1, 4096)]);
        assert_eq!(wrote, Ok(8192));
        // `answer` looks that nothing ends before the last part.
        assert_eq!(queue.answer(flush_op(2), &answers), expected);
    }
    assert_eq!(states(device.files()), [(3, 3), (3, 2), (0, 0)]);
}

#[test]
fn a_linked_batch_runs_in_order_and_breaks_at_the_first_failure() {
    let scratch = Scratch::new();
    let Some(plain) = rings(&scratch, 2, SyncMethod::Direct) else {
        return;
    };
    let options = UringOptions {
        linked: true,
        entries: 16,
        ..UringOptions::default()
    };
    let device = UringFiles::new(plain.set, options);
    let region = Arc::new(Region::new(1 << 20).expect("memory"));
    let mut queue = device.queue(region).expect("queue");
    let good = |id, addr| write(id, addr, [(0, 4096), (0, 0)]);
    let batch = [good(1, EACH - 4096), good(2, EACH), flush_op(3)];
    let told = run(&mut *queue, &batch);
    assert_eq!(told, [(1, Ok(4096)), (2, Ok(4096)), (3, Ok(0))]);
    assert_eq!(states(device.files()), [(1, 1), (1, 1)]);
    // The medium refuses it (misaligned), and the space does (outside).
    for bad in [
        write(2, 100, [(0, 100), (0, 0)]),
        write(2, 4 * EACH, [(0, 4096), (0, 0)]),
    ] {
        let told = run(&mut *queue, &[good(1, 0), bad, flush_op(3), good(4, 0)]);
        let results: Vec<_> = told.iter().map(|t| t.1).collect();
        assert_eq!(results, [Ok(4096), Err(22), Err(125), Err(125)], "{bad:?}");
    }
    flush(&mut *queue).expect("a cancelled flush has lost nothing");
    let many: Vec<Op> = (0..17).map(|id| good(id, 0)).collect();
    let told = run(&mut *queue, &many);
    assert!(told.iter().all(|t| t.1 == Err(7)), "longer than the ring");
}

#[test]
fn a_dropped_queue_has_given_its_memory_back() {
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 2, SyncMethod::DirectDsync) else {
        return;
    };
    for round in 0..20 {
        let region = Arc::new(Region::holding(&vec![round; EACH as usize]).expect("memory"));
        let mut queue = device.queue(Arc::clone(&region)).expect("queue");
        let ops: Vec<Op> = (0..30)
            .map(|i| write(i, 4096 * i, [(0, 4096), (0, 0)]))
            .collect();
        queue.submit(&ops);
        drop(queue);
        let memory = Arc::try_unwrap(region).expect("nobody else holds it");
        drop(memory);
    }
}

#[test]
fn a_refused_ring_is_replaced_and_says_so() {
    let scratch = Scratch::new();
    let set = set(&scratch, 1, SyncMethod::Buffered).expect("no O_DIRECT needed");
    for (errno, word) in [(1, "io_uring_disabled"), (38, "none"), (12, "ulimit -l")] {
        let options = UringOptions {
            refuse_setup: Some(errno),
            ..UringOptions::default()
        };
        let refused = options.check().expect_err("as asked").to_string();
        assert!(refused.contains(word), "{refused}");
    }
    let options = UringOptions {
        refuse_setup: Some(1),
        ..UringOptions::default()
    };
    let device = UringFiles::new(set, options);
    let region = Arc::new(Region::new(4096).expect("memory"));
    let mut queue = device.queue(region).expect("replaced");
    assert_eq!(queue.kind(), "threads");
    let notes = queue.notes().join("; ");
    assert!(notes.contains("with threads instead"), "{notes}");
    assert_eq!(
        run(&mut *queue, &[write(1, 0, [(0, 512), (0, 0)]), flush_op(2)]),
        [(1, Ok(512)), (2, Ok(0))]
    );
}

/// A thread that may lock no more memory than the limit gets plain writes, which is noted.
#[test]
fn memory_that_may_not_be_locked_is_written_from_plainly() {
    use rustix::process::{Resource, getrlimit};
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 1, SyncMethod::Direct) else {
        return;
    };
    let limit = getrlimit(Resource::Memlock).current.unwrap_or(u64::MAX);
    if limit > 256 << 20 {
        println!("skipped: the limit of locked memory is {limit} bytes");
        return;
    }
    // Capabilities belong to a thread, and this one ends.
    let thread = std::thread::spawn(move || {
        let mut sets = capabilities(None).expect("own capabilities");
        sets.effective.remove(CapabilitySet::IPC_LOCK);
        set_capabilities(None, sets).expect("less is always allowed");
        let region = Arc::new(Region::new(limit as usize + (1 << 20)).expect("memory"));
        let mut queue = device.queue(region).expect("queue");
        let told = run(&mut *queue, &[write(1, 0, [(0, 4096), (0, 0)])]);
        assert_eq!((told[0], queue.kind()), ((1, Ok(4096)), "io_uring"));
        let notes = queue.notes().join("; ");
        assert!(notes.contains("fixed buffer") && notes.contains("ulimit -l"));
    });
    thread.join().expect("no panic");
}

/// A queue that waits for a write and for a bell returns for either; afterwards nobody is counted
/// as a sleeper, and a later ring is not swallowed.
#[test]
fn parking_ends_with_a_completion_or_a_ring() {
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 1, SyncMethod::Direct) else {
        return;
    };
    let region = Arc::new(Region::new(4096).expect("memory"));
    let mut queue = device.queue(region).expect("queue");
    let bell = Arc::new(Doorbell::default());
    for id in 0..200 {
        let seen = bell.read();
        queue.submit(&[write(id, 4096, [(0, 4096), (0, 0)])]);
        let mut done = Vec::new();
        while queue.poll(&mut done, false) == 0 {
            // Without a timeout: a completion that it missed would hang it.
            queue.park(&bell, seen, None);
        }
        assert_eq!((done[0].id, done[0].result), (id, Ok(4096)));
        assert_eq!(bell.sleepers(), 0);
    }
    // Operations and rings that meet.
    for _ in 0..50 {
        let seen = bell.read();
        let ringer = {
            let bell = Arc::clone(&bell);
            std::thread::spawn(move || {
                while bell.sleepers() == 0 {
                    std::thread::yield_now();
                }
                bell.ring();
            })
        };
        let mut done = Vec::new();
        while bell.read() == seen {
            queue.submit(&[flush_op(1), write(2, 0, [(0, 4096), (0, 0)])]);
            queue.park(&bell, seen, None);
            while queue.poll(&mut done, true) > 0 {}
            queue.park(&bell, seen, Some(Duration::from_millis(1)));
        }
        ringer.join().expect("no panic");
        assert_eq!(bell.sleepers(), 0);
    }
}

/// What io_uring offers for a wait in the kernel is a real wait: an operation that does not end
/// (reading a pipe that nobody writes) keeps it asleep until the bell rings.
#[test]
fn a_ring_ends_a_wait_whose_operation_does_not_end() {
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 1, SyncMethod::Buffered) else {
        return;
    };
    let region = Arc::new(Region::new(4096).expect("memory"));
    let mut queue = Injected::new(&device, region);
    let bell = Arc::new(Doorbell::default());
    for round in 0..20 {
        let seen = bell.read();
        let ringer = {
            let bell = Arc::clone(&bell);
            std::thread::spawn(move || {
                while bell.sleepers() == 0 {
                    std::thread::yield_now();
                }
                bell.ring();
            })
        };
        while bell.read() == seen {
            queue.park_with_one_in_flight(&bell, seen, None);
        }
        ringer.join().expect("no panic");
        assert_eq!(bell.sleepers(), 0, "round {round}");
        // The time is up, and the bell was not rung.
        let unchanged = bell.read();
        queue.park_with_one_in_flight(&bell, unchanged, Some(Duration::from_millis(1)));
        assert_eq!(bell.sleepers(), 0, "round {round}");
    }
}

/// What the kernel says of operations that were failed with the ring is nobody's any more, however
/// often the queue is asked, and whatever takes their numbers.
#[test]
fn a_ring_that_was_given_up_tells_each_operation_once() {
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 1, SyncMethod::Buffered) else {
        return;
    };
    let region = Arc::new(Region::new(8192).expect("memory"));
    let queue = Injected::new(&device, region);
    let ops = [1, 2].map(|id| write(id, 4096 * id, [(0, 4096), (0, 0)]));
    let errno = Errno::NXIO.raw_os_error();
    let mut queue = queue.give_up_with(&ops, errno);
    let failed = |id| (id, Err(errno));
    assert_eq!(all(&mut *queue, 2), [failed(1), failed(2)]);
    assert_eq!(
        run(&mut *queue, &[flush_op(3), ops[0]]),
        [(1, Err(errno)), (3, Ok(0))]
    );
    let bell = Arc::new(Doorbell::default());
    queue.park(&bell, bell.read(), Some(Duration::from_millis(1)));
}

#[test]
#[should_panic(expected = "range outside the region")]
fn memory_that_reaches_beyond_the_region_is_refused() {
    let scratch = Scratch::new();
    let Some(device) = rings(&scratch, 1, SyncMethod::Buffered) else {
        panic!("range outside the region: not tried, there are no rings here");
    };
    let region = Arc::new(Region::new(8192).expect("memory"));
    let mut queue = device.queue(region).expect("queue");
    queue.submit(&[write(1, 0, [(4096, 8192), (0, 0)])]);
}
