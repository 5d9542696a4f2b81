//! What goes to a ring and what does not, on simulated disks.

use super::*;
use device::queue::{Op, OpCompletion, OpKind};
use device::sim_disk::{OpOutcome, SimDisk};
use device::{LogDevice, Piece};

const BLOCK: usize = 512;

struct Bench {
    disk: SimDisk,
    ring: SimDisk,
    device: RingDevice,
    region: Arc<Region>,
    queue: Box<dyn Queue>,
    next: u64,
}

impl Bench {
    /// A ring of so many sectors, whose operations end at once; those of the disk do not.
    fn new(kind: RingKind, delay: Duration, sectors: u64) -> Bench {
        Bench::planted(kind, delay, sectors, Planted::none())
    }

    fn planted(kind: RingKind, delay: Duration, sectors: u64, planted: Planted) -> Bench {
        let ring_bytes = sectors * BLOCK as u64;
        let disk = SimDisk::new(4096 * BLOCK, BLOCK, false);
        let ring = SimDisk::new((RING_DATA_AT + ring_bytes) as usize, BLOCK, false);
        ring.set_immediate(true);
        let patience = Patience::Clock(delay);
        let device = RingDevice {
            disk: Arc::new(disk.clone()),
            ring: Arc::new(ring.clone()),
            log_id: LogId([7; 16]),
            life: LifeId::from_bytes([8; 16]).expect("a life"),
            standing: Arc::new(RingStanding::new(kind, ring_bytes, patience)),
            planted,
            shared: Arc::default(),
        };
        let region = Arc::new(Region::new(64 * BLOCK).expect("memory"));
        let queue = device.queue(Arc::clone(&region)).expect("a queue");
        Bench {
            disk,
            ring,
            device,
            region,
            queue,
            next: 0,
        }
    }

    /// What is complete by now.
    fn poll(&mut self) -> Vec<OpCompletion> {
        let mut done = Vec::new();
        for _ in 0..4 {
            self.queue.poll(&mut done, false);
        }
        done
    }

    /// Writes so many blocks behind those before, and returns whether it is complete.
    fn write(&mut self, blocks: u64) -> bool {
        let (addr, len) = (self.next * BLOCK as u64, blocks as usize * BLOCK);
        self.next += blocks;
        let bytes = vec![self.next as u8; len];
        // SAFETY: nothing is in flight from this memory: it was copied.
        unsafe { self.region.write(0, &bytes) };
        let pieces = [Piece { at: 0, len }, Piece::default()];
        let kind = OpKind::Write { addr, pieces };
        self.queue.submit(&[Op { id: 1, kind }]);
        !self.poll().is_empty()
    }

    fn flush(&mut self) -> bool {
        let kind = OpKind::Flush;
        self.queue.submit(&[Op { id: 2, kind }]);
        !self.poll().is_empty()
    }

    /// The disk ends what it has, again and again.
    fn disk_ends(&mut self) {
        self.disk_ends_those(|_| true);
    }

    /// As [`Bench::disk_ends`], but of writes alone: all is in its cache.
    fn disk_writes(&mut self) {
        self.disk_ends_those(|op| op.kind != OpKind::Flush);
    }

    fn disk_ends_those(&mut self, those: impl Fn(&Op) -> bool) {
        loop {
            let mut pending = self.disk.pending();
            pending.retain(|pending| those(&pending.op));
            for pending in &pending {
                self.disk.finish(pending.ticket, OpOutcome::Done);
            }
            self.poll();
            if pending.is_empty() {
                return;
            }
        }
    }

    /// The ring ends its writes, or its flushes; how many.
    fn ring_ends(&mut self, flushes: bool) -> usize {
        let mut pending = self.ring.pending();
        pending.retain(|pending| (pending.op.kind == OpKind::Flush) == flushes);
        for pending in &pending {
            self.ring.finish(pending.ticket, OpOutcome::Done);
        }
        pending.len()
    }

    /// Blocks at the begin of the disk that have what was written, durably.
    fn durable_blocks(&self) -> u64 {
        let image = self.disk.durable_image();
        let written = image.chunks(BLOCK).take_while(|block| block[0] != 0);
        written.count() as u64
    }

    fn state(&self) -> RingState {
        self.device.standing.report()
    }
}

#[test]
fn nothing_goes_to_the_ring_of_failover_while_the_disk_answers() {
    let mut bench = Bench::new(RingKind::Failover, Duration::MAX, 64);
    let before = bench.ring.durable_image();
    for _ in 0..100 {
        assert!(!bench.write(1));
        bench.disk_ends();
        assert!(!bench.flush());
        bench.disk_ends();
    }
    assert_eq!(bench.state().ring_writes, 0);
    assert_eq!(bench.ring.durable_image(), before);
}

#[test]
fn failover_hedges_one_write_in_twenty_and_64_more() {
    let mut bench = Bench::new(RingKind::Failover, Duration::ZERO, 4096);
    // The disk answers nothing.
    for write in 0..64 {
        assert!(bench.write(1) && bench.flush(), "{write}");
    }
    // 64 and three of the 64, then the disk is waited for.
    let hedged = (0..20)
        .take_while(|_| bench.write(1) && bench.flush())
        .count();
    assert_eq!(hedged, 3);
    assert_eq!(bench.state().ring_writes, 67);
    assert!(bench.state().over_budget);
    bench.disk_writes();
    assert!(!bench.flush(), "the last write is in the disk's cache only");
    assert_eq!(bench.device.has_caught_up(), Some(false));
    bench.disk_ends();
    assert_eq!(bench.device.has_caught_up(), Some(true));
    assert_eq!(bench.state().lag_bytes, 0);
    assert_eq!(bench.durable_blocks(), bench.next);
}

#[test]
fn a_full_ring_is_skipped_and_a_write_that_is_larger_too() {
    let mut bench = Bench::new(RingKind::Ring, Duration::ZERO, 8);
    // With its head a block takes two sectors.
    for write in 0..4 {
        assert!(bench.write(1) && bench.flush(), "{write}");
    }
    assert!(!bench.write(1), "there is no room");
    assert!(!bench.write(8), "it is larger than the ring");
    let state = bench.state();
    assert_eq!((state.skip_busy, state.skip_large), (1, 1));
    assert_eq!((state.ring_writes, state.first), (4, 4));
    assert_eq!(bench.device.has_caught_up(), Some(false));
    bench.disk_writes();
    assert!(
        !bench.flush(),
        "what was skipped is in the disk's cache only"
    );
    bench.disk_ends();
    assert_eq!(bench.device.has_caught_up(), Some(true));
    assert_eq!(bench.durable_blocks(), bench.next);
    assert!(bench.write(1) && bench.flush(), "there is room again");
}

#[test]
fn what_only_the_ring_has_is_read() {
    let mut bench = Bench::new(RingKind::Ring, Duration::ZERO, 64);
    assert!(bench.write(2) && bench.write(1) && bench.flush());
    let mut out = vec![0xFF; 4 * BLOCK];
    bench.device.read(0, &mut out).expect("readable");
    let firsts = out.chunks(BLOCK).map(|block| block[BLOCK - 1]);
    assert_eq!(firsts.collect::<Vec<_>>(), [2, 2, 3, 0]);
    assert!(bench.disk.durable_image().iter().all(|byte| *byte == 0));
}

#[test]
fn a_ring_that_is_given_up_is_not_waited_for() {
    let mut bench = Bench::new(RingKind::Ring, Duration::ZERO, 64);
    assert!(bench.write(1) && bench.flush());
    bench.device.standing.condemn();
    assert!(!bench.write(1));
    assert!(bench.device.standing.has_failed());
    bench.disk_ends();
    assert!(!bench.flush());
    bench.disk_ends();
    assert_eq!(bench.device.has_caught_up(), Some(true));
    assert_eq!(bench.state().ring_writes, 1);
}

#[test]
fn when_the_disk_fails_everything_fails() {
    let mut bench = Bench::new(RingKind::Ring, Duration::ZERO, 64);
    assert!(bench.write(1));
    for op in bench.disk.pending() {
        bench.disk.finish(op.ticket, OpOutcome::Fail(5));
    }
    let kind = OpKind::Flush;
    bench.queue.submit(&[Op { id: 9, kind }]);
    let done = bench.poll();
    assert!(
        matches!(
            done[..],
            [OpCompletion {
                id: 9,
                result: Err(_),
                ..
            }]
        ),
        "{done:?}"
    );
    assert_eq!(bench.device.has_caught_up(), None);
    assert!(bench.device.catch_up().is_err());
}

/// A ring that is faster than its disk is ahead of it at every moment while commits come.
#[test]
fn a_disk_that_is_always_behind_catches_up_with_what_came_before() {
    let mut bench = Bench::new(RingKind::Ring, Duration::ZERO, 64);
    assert!(bench.write(1) && bench.flush());
    let device = RingDevice {
        shared: Arc::clone(&bench.device.shared),
        disk: Arc::clone(&bench.device.disk),
        ring: Arc::clone(&bench.device.ring),
        standing: Arc::clone(&bench.device.standing),
        ..bench.device
    };
    let waiting = std::thread::spawn(move || device.catch_up().is_ok());
    let end = std::time::Instant::now() + Duration::from_secs(60);
    let mut in_time = true;
    while !waiting.is_finished() && in_time {
        let before = bench.disk.pending();
        bench.next %= 4095;
        assert!(bench.write(1) && bench.flush(), "the ring has room");
        // The disk ends what it had before that.
        for op in before {
            bench.disk.finish(op.ticket, OpOutcome::Done);
        }
        bench.poll();
        assert_eq!(bench.device.has_caught_up(), Some(false));
        in_time = std::time::Instant::now() < end;
    }
    bench.disk_ends();
    assert!(waiting.join().expect("no panic"));
    assert!(in_time, "it waited until nothing more came");
}

#[test]
fn a_ring_that_does_not_answer_holds_its_places_and_no_more() {
    let mut bench = Bench::new(RingKind::Ring, Duration::ZERO, 64);
    bench.ring.set_immediate(false);
    for _ in 0..100 {
        assert!(!bench.write(1));
        bench.disk_ends();
        assert!(!bench.flush());
        bench.disk_ends();
    }
    assert_eq!(bench.ring.pending().len(), 1, "its first write");
    let state = bench.state();
    assert_eq!((state.lag_bytes, state.first), (0, 0));
    assert_eq!(bench.device.has_caught_up(), Some(true));
    assert!(state.skip_busy > 0 && state.in_use);
    // It answers again.
    for op in bench.ring.pending() {
        bench.ring.finish(op.ticket, OpOutcome::Done);
    }
    bench.ring.set_immediate(true);
    bench.poll();
    assert!(bench.write(1) && bench.flush());
    assert_eq!(bench.state().first, 1);
}

/// Whether a log write that the ring completes while it flushes an earlier one is durable without a
/// flush of its own.
fn is_covered_by_the_flush_before(planted: Planted) -> bool {
    let mut bench = Bench::planted(RingKind::Ring, Duration::ZERO, 64, planted);
    bench.ring.set_immediate(false);
    assert!(!bench.write(1));
    assert_eq!(bench.ring_ends(false), 1);
    assert_eq!(bench.poll().len(), 1, "the ring has it");
    assert!(!bench.flush());
    assert!(!bench.write(1), "the ring flushes meanwhile");
    assert_eq!(bench.ring_ends(false), 1);
    assert_eq!(bench.poll().len(), 1, "the ring has it, too");
    assert_eq!(bench.ring_ends(true), 1);
    assert_eq!(bench.poll().len(), 1, "the first is durable");
    let covered = bench.flush();
    assert_eq!(
        bench.ring_ends(true) == 0,
        covered,
        "it has a flush of its own"
    );
    assert_eq!(bench.poll().is_empty(), covered);
    covered
}

#[test]
fn a_flush_of_the_ring_covers_nothing_that_ends_while_it_is_under_way() {
    assert!(!is_covered_by_the_flush_before(Planted::none()));
}

#[cfg(feature = "crash")]
#[test]
fn a_planted_flush_of_the_ring_covers_what_ends_meanwhile() {
    use crate::planted::Bug;
    let planted = Planted::with(Bug::RingFlushCountsLater);
    assert!(is_covered_by_the_flush_before(planted));
}

/// A device of which each operation takes the thread that submits it.
struct Blocks(SimDisk);

// SAFETY: the disk below copies what it is given.
unsafe impl LogDevice for Blocks {
    fn caps(&self) -> Caps {
        Caps {
            blocking: true,
            ..self.0.caps()
        }
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        self.0.queue(region)
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.0.read(addr, out)
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        self.0.settle()
    }
}

/// What ends on the disk rings no bell, and the ring has no room.
#[test]
fn a_disk_that_does_not_block_is_waited_for_beside_a_ring_that_does() {
    let bench = Bench::new(RingKind::Ring, Duration::ZERO, 8);
    let device = RingDevice {
        ring: Arc::new(Blocks(bench.ring.clone())),
        disk: Arc::clone(&bench.device.disk),
        standing: Arc::clone(&bench.device.standing),
        shared: Arc::default(),
        ..bench.device
    };
    let mut queue = device.queue(Arc::clone(&bench.region)).expect("a queue");
    let pieces = [
        Piece {
            at: 0,
            len: 8 * BLOCK,
        },
        Piece::default(),
    ];
    let kind = OpKind::Write { addr: 0, pieces };
    queue.submit(&[Op { id: 1, kind }]);
    let waiting = std::thread::spawn(move || {
        let mut done = Vec::new();
        while queue.poll(&mut done, true) == 0 {}
        done.len()
    });
    // It sleeps by then, or sees the completion at once.
    std::thread::sleep(Duration::from_millis(20));
    for op in bench.disk.pending() {
        bench.disk.finish(op.ticket, OpOutcome::Done);
    }
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while !waiting.is_finished() {
        assert!(std::time::Instant::now() < end, "nobody woke it");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(waiting.join().expect("no panic"), 1);
}
