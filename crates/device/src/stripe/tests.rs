//! Tests of stripes: the same bytes as a plain device, failures of a part, and the flush promise.

use super::*;
use crate::fault::{ECANCELED, ENOSPC, Fault, FaultTarget, Injection};
use crate::queue::{Op, OpCompletion, OpKind, Piece, run_one, write_durable};
use crate::sim_disk::OpOutcome;
use crate::{FaultDevice, NullDevice, SimDisk};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;

const WIDE: usize = 128 << 10;
const SECTOR: u64 = 4096;

/// A disk in memory whose operations run inside `submit`.
struct BlockingDisk(SimDisk);

// SAFETY: all operations go to the disk as they came.
unsafe impl LogDevice for BlockingDisk {
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

fn drawn(seed: &mut u64, below: u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

fn write(id: u64, addr: u64, at: usize, len: usize) -> Op {
    let pieces = [Piece { at, len }, Piece::default()];
    let kind = OpKind::Write { addr, pieces };
    Op { id, kind }
}

fn flush(id: u64) -> Op {
    let kind = OpKind::Flush;
    Op { id, kind }
}

/// Disks whose operations end at once, and a stripe over them.
fn stripe_over(sizes: &[usize], blocking: bool) -> (Vec<SimDisk>, StripedDevice) {
    let disk = |bytes: &usize| {
        let disk = SimDisk::new(*bytes, SECTOR as usize, false);
        disk.set_immediate(true);
        disk
    };
    let disks: Vec<SimDisk> = sizes.iter().map(disk).collect();
    let device = |disk: &SimDisk| -> Arc<dyn LogDevice> {
        match blocking {
            true => Arc::new(BlockingDisk(disk.clone())),
            false => Arc::new(disk.clone()),
        }
    };
    let devices = disks.iter().map(device).collect();
    let stripe = StripedDevice::new(devices, StripeWidth::Fine, "stripe").expect("fits");
    (disks, stripe)
}

/// Two faulty devices below a stripe, with a queue over a region of `wide` stripe widths.
fn faulty(wide: usize, blocking: bool) -> ([Arc<FaultDevice>; 2], Box<dyn Queue>) {
    let fault = || {
        let disk = SimDisk::new(1 << 20, SECTOR as usize, false);
        disk.set_immediate(true);
        Arc::new(FaultDevice::new(match blocking {
            true => Arc::new(BlockingDisk(disk)),
            false => Arc::new(disk),
        }))
    };
    let faults = [fault(), fault()];
    let devices = faults.iter().map(|f| Arc::clone(f) as Arc<dyn LogDevice>);
    let stripe = StripedDevice::new(devices.collect(), StripeWidth::Fine, "stripe").expect("fits");
    let region = Arc::new(Region::new(wide * WIDE).expect("memory"));
    let queue = stripe.queue(region).expect("queue");
    (faults, queue)
}

fn run(queue: &mut dyn Queue, ops: &[Op]) -> BTreeMap<u64, Result<u64, i32>> {
    queue.submit(ops);
    let mut done = Vec::new();
    while done.len() < ops.len() {
        queue.poll(&mut done, true);
    }
    assert_eq!(queue.poll(&mut done, true), 0, "each completes once");
    done.iter()
        .map(|c| (c.id, c.result.map_err(|f| f.errno)))
        .collect()
}

fn struck(target: FaultTarget, nth: u64, fault: Fault) -> Injection {
    let for_good = false;
    Injection {
        target,
        nth,
        fault,
        for_good,
    }
}

/// Drawn writes in two pieces, over a stripe and over plain memory: the same bytes are read, and
/// after a flush they are on the devices.
#[test]
fn a_stripe_holds_what_a_plain_device_holds() {
    for (sizes, blocking, seed) in [
        (&[1 << 20, 1 << 20][..], true, 1),
        (&[1 << 20, 1 << 20][..], false, 2),
        (&[(640 << 10) + 4096, 768 << 10, 1 << 20][..], true, 3),
        (
            &[640 << 10, 768 << 10, 1 << 20, 1 << 20, 1 << 20][..],
            false,
            4,
        ),
    ] {
        let mut seed = seed;
        let (disks, stripe) = stripe_over(sizes, blocking);
        let smallest = sizes.iter().min().expect("devices") / WIDE * WIDE;
        assert_eq!(stripe.bytes(), (smallest * sizes.len()) as u64);
        let source: Vec<u8> = (0..1_u32 << 20)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let region = Arc::new(Region::holding(&source).expect("memory"));
        let mut queue = stripe.queue(Arc::clone(&region)).expect("queue");
        let mut plain = vec![0; stripe.bytes() as usize];
        for id in 1..60 {
            let sectors = stripe.bytes() / SECTOR;
            let first = drawn(&mut seed, sectors);
            let most = (sectors - first).min(120);
            let count = 1 + drawn(&mut seed, most);
            let len = (count * SECTOR) as usize;
            let head = (drawn(&mut seed, count + 1) * SECTOR) as usize;
            // A ring's end, then its begin.
            let pieces = [
                Piece {
                    at: source.len() - head,
                    len: head,
                },
                Piece {
                    at: 8192,
                    len: len - head,
                },
            ];
            let addr = first * SECTOR;
            let kind = OpKind::Write { addr, pieces };
            assert_eq!(run(&mut *queue, &[Op { id, kind }])[&id], Ok(len as u64));
            let bytes = pieces.iter().flat_map(|p| &source[p.at..p.at + p.len]);
            let to = addr as usize..addr as usize + len;
            plain[to]
                .iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to = *from);
        }
        let mut read = vec![0; plain.len()];
        stripe.read(0, &mut read).expect("readable");
        assert!(read == plain, "{sizes:?} {blocking}");
        let mut part = vec![0; 3 * WIDE];
        stripe.read(77, &mut part).expect("readable");
        assert!(part == plain[77..77 + 3 * WIDE]);
        assert_eq!(run(&mut *queue, &[flush(9)])[&9], Ok(0));
        for (at, piece) in plain.chunks(WIDE).enumerate() {
            let from = at / disks.len() * WIDE;
            let durable = disks[at % disks.len()].durable_image();
            assert!(durable[from..from + WIDE] == *piece, "piece {at}");
        }
        assert!(disks.iter().all(|disk| disk.violations().is_empty()));
    }
}

#[test]
fn a_write_fails_as_its_first_part_that_fails() {
    for blocking in [true, false] {
        let ([first, second], mut queue) = faulty(4, blocking);
        // Parts 0 and 2 are on the first device, 1 and 3 on the second.
        second.inject(struck(FaultTarget::Write, 1, Fault::Errno(ENOSPC)));
        first.inject(struck(FaultTarget::Write, 2, Fault::Errno(EIO)));
        let whole = write(1, 0, 0, 4 * WIDE);
        let failed = run(&mut *queue, &[whole, flush(2)]);
        let errno = failed[&1].expect_err("a part failed");
        // Workers may take the parts of one device in another order.
        assert!(errno == ENOSPC || (blocking && errno == EIO), "{errno}");
        let next = failed[&2];
        assert_eq!(next.err(), blocking.then_some(ECANCELED), "{blocking}");
    }
}

#[test]
fn a_short_part_makes_the_write_short_there() {
    for blocking in [true, false] {
        let ([_, second], mut queue) = faulty(1, blocking);
        second.inject(struck(FaultTarget::Write, 1, Fault::Short(8192)));
        let over_the_border = write(1, (WIDE - 4096) as u64, 0, 32 << 10);
        let short = run(&mut *queue, &[over_the_border])[&1];
        assert_eq!(short, Ok(4096 + 8192), "{blocking}");
        second.inject(struck(FaultTarget::Write, 2, Fault::Short(0)));
        let nothing = run(&mut *queue, &[write(2, WIDE as u64, 0, 4096)])[&2];
        assert_eq!(nothing, Ok(0), "{blocking}");
    }
}

#[test]
fn after_a_failed_flush_every_flush_fails() {
    for blocking in [true, false] {
        let ([first, second], mut queue) = faulty(2, blocking);
        second.inject(struck(FaultTarget::Flush, 1, Fault::Errno(ENOSPC)));
        assert_eq!(
            run(&mut *queue, &[write(1, 0, 0, 2 * WIDE)])[&1],
            Ok(2 * WIDE as u64)
        );
        assert_eq!(run(&mut *queue, &[flush(2)])[&2], Err(ENOSPC), "{blocking}");
        assert_eq!((first.counts().flushes, second.counts().flushes), (1, 1));
        assert_eq!(run(&mut *queue, &[flush(3)])[&3], Err(EIO), "{blocking}");
        assert_eq!(run(&mut *queue, &[write(4, 0, 0, 4096)])[&4], Ok(4096));
        assert_eq!(run(&mut *queue, &[flush(5)])[&5], Err(EIO), "{blocking}");
    }
}

#[test]
fn a_flush_goes_to_the_devices_that_were_written() {
    for blocking in [true, false] {
        let ([first, second], mut queue) = faulty(4, blocking);
        let flushes = || (first.counts().flushes, second.counts().flushes);
        let mut step = |op: Op, expected| {
            assert_eq!(run(&mut *queue, &[op])[&op.id], Ok(op.bytes() as u64));
            assert_eq!(flushes(), expected, "{op:?} {blocking}");
        };
        step(flush(1), (0, 0));
        step(write(2, 0, 0, 4096), (0, 0));
        step(flush(3), (1, 0));
        step(flush(4), (1, 0));
        step(write(5, WIDE as u64, 0, 4096), (1, 0));
        step(flush(6), (1, 1));
        step(write(7, 0, 0, 3 * WIDE), (1, 1));
        step(flush(8), (2, 2));
    }
}

#[test]
fn a_flush_covers_what_another_queue_wrote() {
    let (disks, stripe) = stripe_over(&[1 << 20, 1 << 20], true);
    let region = || Arc::new(Region::holding(&[7; 4096]).expect("memory"));
    let (mut one, mut other) = (
        stripe.queue(region()).expect("q"),
        stripe.queue(region()).expect("q"),
    );
    assert_eq!(
        run(&mut *one, &[write(1, WIDE as u64, 0, 4096)])[&1],
        Ok(4096)
    );
    assert_eq!(disks[1].durable_image()[0], 0);
    assert_eq!(run(&mut *other, &[flush(1)])[&1], Ok(0));
    assert_eq!(disks[1].durable_image()[0], 7);
}

/// Its writes and flushes end when as many are under way on all devices together.
struct Meeting {
    barrier: Arc<Barrier>,
    inner: NullDevice,
}

struct MeetingQueue {
    barrier: Arc<Barrier>,
    inner: Box<dyn Queue>,
}

// SAFETY: it never touches a region.
unsafe impl LogDevice for Meeting {
    fn caps(&self) -> Caps {
        self.inner.caps()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(MeetingQueue {
            barrier: Arc::clone(&self.barrier),
            inner: self.inner.queue(region)?,
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.inner.read(addr, out)
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        self.inner.settle()
    }
}

impl Queue for MeetingQueue {
    fn submit(&mut self, ops: &[Op]) {
        self.barrier.wait();
        self.inner.submit(ops);
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        self.inner.poll(out, wait)
    }
}

/// It would hang if one part waited for another, also of the same device.
#[test]
fn parts_of_an_operation_run_at_once() {
    for (devices, width, widths, parts) in [
        (2, StripeWidth::Fine, 8, 8),
        (3, StripeWidth::Coarse, 3, 3),
        (4, StripeWidth::Fine, 4, 4),
    ] {
        let barrier = Arc::new(Barrier::new(parts));
        let device = |barrier: &Arc<Barrier>| -> Arc<dyn LogDevice> {
            let barrier = Arc::clone(barrier);
            let inner = NullDevice::new(8 << 20, NullDevice::PLAIN);
            Arc::new(Meeting { barrier, inner })
        };
        let all = std::iter::repeat_with(|| device(&barrier)).take(devices);
        let stripe = StripedDevice::new(all.collect(), width, "stripe").expect("fits");
        let len = widths * width.bytes() as usize;
        let region = Arc::new(Region::new(len).expect("memory"));
        let mut queue = stripe.queue(region).expect("queue");
        run_one(&mut *queue, write(1, 0, 0, len), len as u64).expect("all parts at once");
        if parts == devices {
            run_one(&mut *queue, flush(2), 0).expect("all flushes at once");
        }
    }
}

/// What an acknowledged flush covers is durable on every device, whatever order the devices end
/// their operations in. Returns how often it was not.
fn lost_redo(seed: u64, skips: Option<usize>) -> usize {
    let mut seed = seed;
    let disks: Vec<SimDisk> = (0..3)
        .map(|_| SimDisk::new(2 * WIDE, SECTOR as usize, false))
        .collect();
    let devices = disks
        .iter()
        .map(|d| Arc::new(d.clone()) as Arc<dyn LogDevice>)
        .collect();
    let stripe = StripedDevice::with_planted(devices, StripeWidth::Fine, "stripe", skips);
    let stripe = stripe.expect("fits");
    let region = Arc::new(Region::holding(&vec![0xA5; 2 * WIDE]).expect("memory"));
    let mut queue = stripe.queue(region).expect("queue");
    // Sectors are written once each; what was returned, and what each flush covers.
    let mut fresh: Vec<u64> = (0..stripe.bytes() / SECTOR).collect();
    let (mut writes, mut returned) = (BTreeMap::new(), BTreeSet::new());
    let mut covers: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let (mut next, mut lost, mut in_flight) = (1, 0, 0);
    let mut done = Vec::new();
    for _ in 0..300 {
        match drawn(&mut seed, 4) {
            0 if !fresh.is_empty() => {
                let first = drawn(&mut seed, fresh.len() as u64) as usize;
                let count = 1 + drawn(&mut seed, 40) as usize;
                let run = fresh[first..].iter().zip(0..).take(count);
                let run = run.take_while(|(s, n)| **s == fresh[first] + n).count();
                let sectors: Vec<u64> = fresh.drain(first..first + run).collect();
                let len = run * SECTOR as usize;
                queue.submit(&[write(next, sectors[0] * SECTOR, 0, len)]);
                writes.insert(next, sectors);
                (next, in_flight) = (next + 1, in_flight + 1);
            }
            1 => {
                covers.insert(next, returned.clone());
                queue.submit(&[flush(next)]);
                (next, in_flight) = (next + 1, in_flight + 1);
            }
            _ => {
                let disk = &disks[drawn(&mut seed, 3) as usize];
                let pending = disk.pending();
                if !pending.is_empty() {
                    let one = drawn(&mut seed, pending.len() as u64) as usize;
                    disk.finish(pending[one].ticket, OpOutcome::Done);
                }
            }
        }
        queue.poll(&mut done, drawn(&mut seed, 2) == 0);
        for completion in done.drain(..) {
            in_flight -= 1;
            assert!(completion.result.is_ok(), "{completion:?}");
            if writes.contains_key(&completion.id) {
                returned.insert(completion.id);
                continue;
            }
            let images: Vec<_> = disks.iter().map(SimDisk::durable_image).collect();
            let is_durable = |sector: &u64| {
                let addr = (sector * SECTOR) as usize;
                let (piece, inside) = (addr / WIDE, addr % WIDE);
                images[piece % 3][piece / 3 * WIDE + inside] == 0xA5
            };
            let covered = covers[&completion.id].iter();
            lost += usize::from(!covered.flat_map(|id| &writes[id]).all(is_durable));
        }
    }
    disks.iter().for_each(|disk| disk.set_immediate(true));
    while in_flight > 0 {
        in_flight -= queue.poll(&mut done, true);
    }
    assert!(disks.iter().all(|disk| disk.violations().is_empty()));
    lost
}

#[test]
fn what_a_flush_covers_is_durable_on_every_device() {
    for seed in 1..200 {
        assert_eq!(lost_redo(seed, None), 0, "seed {seed}");
    }
}

#[test]
fn a_flush_that_leaves_a_device_out_is_caught() {
    for device in 0..3 {
        let found = (1..200).find(|seed| lost_redo(*seed, Some(device)) > 0);
        assert!(found.is_some(), "device {device}");
    }
}

#[test]
fn a_stripe_can_do_what_all_devices_can() {
    let device = |caps: Caps| Arc::new(NullDevice::new(4 << 20, caps)) as Arc<dyn LogDevice>;
    let plain = NullDevice::PLAIN;
    let other = Caps {
        logical_bytes: 4096,
        physical_bytes: 512,
        memory_align: 8,
        max_io_bytes: 512 << 10,
        durable_writes: true,
        blocking: false,
    };
    let stripe = |devices, width| StripedDevice::new(devices, width, "/s");
    let both = stripe(vec![device(plain), device(other)], StripeWidth::Fine).expect("fits");
    let expected = Caps {
        logical_bytes: 4096,
        physical_bytes: 4096,
        memory_align: 512,
        max_io_bytes: 1 << 20,
        durable_writes: false,
        blocking: true,
    };
    assert_eq!((both.caps(), both.devices()), (expected, 2));
    let coarse = stripe(vec![device(plain), device(other)], StripeWidth::Coarse).expect("fits");
    assert_eq!(
        coarse.caps().max_io_bytes,
        512 << 10,
        "no part is larger than a device takes"
    );
    let durable = stripe(vec![device(other), device(other)], StripeWidth::Fine).expect("fits");
    assert!(durable.caps().durable_writes && !durable.caps().blocking);
    let odd = Caps {
        physical_bytes: 3 * 4096,
        ..plain
    };
    let small = Arc::new(NullDevice::new(128 << 10, plain)) as Arc<dyn LogDevice>;
    for (devices, words) in [
        (vec![device(plain)], "from 2 to 32"),
        (vec![device(plain); 33], "from 2 to 32"),
        (vec![device(plain), device(odd)], "is not a multiple"),
        (
            vec![device(plain), small],
            "device 2 of the stripe has 131072 bytes",
        ),
    ] {
        let refused = stripe(devices, StripeWidth::Coarse)
            .err()
            .expect("refused")
            .to_string();
        assert!(
            refused.starts_with("/s: ") && refused.contains(words),
            "{refused}"
        );
    }
}

#[test]
fn nothing_outside_the_stripe_is_reached() {
    let (_, stripe) = stripe_over(&[256 << 10, 384 << 10], true);
    assert!(stripe.read(stripe.bytes() - 1, &mut [0; 2]).is_err());
    let region = Arc::new(Region::new(8192).expect("memory"));
    let mut queue = stripe.queue(region).expect("queue");
    let outside = write(1, stripe.bytes() - 4096, 0, 8192);
    let results = run(&mut *queue, &[outside, write(2, 0, 0, 4096)]);
    assert_eq!((results[&1], results[&2]), (Err(22), Err(ECANCELED)));
    assert_eq!(run(&mut *queue, &[write(3, 0, 0, 0)])[&3], Ok(0));
}

/// Every device is asked, also behind one that fails.
#[test]
fn settling_a_stripe_settles_every_device() {
    let ([first, second], _) = faulty(1, true);
    let devices = [&first, &second].map(|f| Arc::clone(f) as Arc<dyn LogDevice>);
    let stripe = StripedDevice::new(devices.to_vec(), StripeWidth::Fine, "s").expect("fits");
    stripe.settle().expect("both settle");
    first.inject(struck(FaultTarget::Flush, 2, Fault::Errno(EIO)));
    stripe.settle().expect_err("the first one's failure");
    assert_eq!((first.counts().flushes, second.counts().flushes), (2, 2));
    write_durable(&stripe, 0, &[1; 4096]).expect("its own flushes are others");
}

/// A parked queue sleeps while nothing has ended, and returns when something has.
#[test]
fn a_parked_stripe_returns_for_what_ended() {
    use crate::Doorbell;
    use std::time::{Duration, Instant};
    let disks = [0, 1].map(|_| SimDisk::new(1 << 20, SECTOR as usize, false));
    let devices = disks
        .iter()
        .map(|d| Arc::new(d.clone()) as Arc<dyn LogDevice>)
        .collect();
    let stripe = StripedDevice::new(devices, StripeWidth::Fine, "s").expect("fits");
    let region = Arc::new(Region::new(2 * WIDE).expect("memory"));
    let mut queue = stripe.queue(region).expect("queue");
    let bell = Arc::new(Doorbell::default());
    let (begun, moment) = (Instant::now(), Duration::from_millis(20));
    while begun.elapsed() < moment {
        queue.park(&bell, bell.read(), Some(moment));
    }
    queue.submit(&[write(1, 0, 0, 2 * WIDE)]);
    disks.iter().for_each(|disk| disk.set_immediate(true));
    queue.park(&bell, bell.read(), None);
    let mut done = Vec::new();
    assert_eq!(queue.poll(&mut done, false), 1);
    assert_eq!(done[0].result, Ok(2 * WIDE as u64));
}
