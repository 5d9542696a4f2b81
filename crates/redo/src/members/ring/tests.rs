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
            planted: Planted::none(),
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
