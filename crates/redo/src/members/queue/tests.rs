//! The queue over simulated disks: a seed is a history of writes and flushes that end in any order
//! on each member, of members that fail or are given up, and of a power cut at the end.
//!
//! The oracle knows what was returned and what each disk holds for certain. It promises:
//! - M1: of a write that a returned flush covers, each cell has a member in sync that holds it, and
//!   all others before it, after a power cut;
//! - M2: nothing is returned between a failure and the durable mark;
//! - M3: while each cell has a member that goes on, everything that was submitted is returned;
//! - M4: a returned write has all of its bytes on some member, or in flight to it.

use super::super::{Members, Standing};
use super::*;
use crate::control::MemberTable;
use crate::sync::EngineClock;
use device::fault::FaultDevice;
use device::sim_disk::{CrashMix, OpOutcome, SimDisk};
use device::{LogDevice, NullDevice, Piece};
use measure::workload::split_mix;
use std::sync::Mutex as Shared;
use std::time::Instant;

const BLOCK: usize = 512;
const BLOCKS: usize = 64;
/// Blocks of the log writer's memory.
const RING: usize = 16;

struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        split_mix(&mut self.0) % limit
    }

    fn chance(&mut self, parts: u64, of: u64) -> bool {
        self.below(of) < parts
    }
}

/// What was reached by all histories.
#[derive(Debug, Default)]
struct Reached {
    acknowledged: u64,
    given_up: u64,
    held_back: u64,
    broken: u64,
    behind: u64,
    late_memory: u64,
    /// Operations that another member than the first one completed first.
    not_the_first: u64,
}

struct History {
    draw: Draw,
    disks: Vec<SimDisk>,
    standing: Arc<Standing>,
    queue: MembersQueue,
    region: Arc<Region>,
    /// Members that the mark names durably.
    marked: Arc<Shared<u16>>,
    next_block: u64,
    next_id: u64,
    /// Of each operation that was not returned: its id, and the block of a write.
    open: Vec<(u64, Option<u64>)>,
    /// Writes that were returned, oldest first.
    written: Vec<u64>,
    /// Of a flush that was not returned: the writes that were returned before it.
    covers: Vec<(u64, usize)>,
    /// So many of `written` are promised.
    promised: usize,
    failing: bool,
}

fn byte_of(block: u64) -> u8 {
    (block * 7 + 1) as u8
}

impl History {
    fn begin(seed: u64, planted: Planted) -> History {
        let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let shapes = [(2, 1), (2, 2), (3, 1), (3, 3), (4, 2)];
        let (count, cell) = shapes[draw.below(shapes.len() as u64) as usize];
        let table = MemberTable::new(count, cell).expect("members");
        let disks: Vec<SimDisk> = (0..count)
            .map(|_| SimDisk::new(BLOCK * BLOCKS, BLOCK, false))
            .collect();
        let standing = Standing::new(table);
        let marked = Arc::new(Shared::new(0));
        let marks = Arc::clone(&marked);
        let seen = Arc::clone(&standing);
        standing.set_fence(Box::new(move |members| {
            let mut marks = marks.lock().expect("one thread");
            *marks |= members;
            seen.marked(*marks);
            Marked::Durable
        }));
        let members = Members {
            devices: disks
                .iter()
                .map(|disk| Some(Arc::new(disk.clone()) as Arc<dyn LogDevice>))
                .collect(),
            standing: Arc::clone(&standing),
            planted,
        };
        let region = Arc::new(Region::new(BLOCK * RING).expect("memory"));
        let queue = MembersQueue::new(&members, Arc::clone(&region)).expect("never refused");
        History {
            failing: draw.chance(1, 2),
            draw,
            disks,
            standing,
            queue,
            region,
            marked,
            next_block: 0,
            next_id: 1,
            open: Vec::new(),
            written: Vec::new(),
            covers: Vec::new(),
            promised: 0,
        }
    }

    fn submit(&mut self) {
        let id = self.next_id;
        let writing = self
            .open
            .iter()
            .filter(|(_, block)| block.is_some())
            .count();
        let flush = self.draw.chance(2, 5) || writing >= RING;
        if flush && self.open.iter().any(|(_, block)| block.is_none()) {
            return;
        }
        let kind = if flush {
            self.covers.push((id, self.written.len()));
            OpKind::Flush
        } else {
            if self.next_block as usize >= BLOCKS {
                return;
            }
            let block = self.next_block;
            self.next_block += 1;
            let at = block as usize % RING * BLOCK;
            // SAFETY: the slot's last write was returned: at most RING are not, and they are the
            // last that were submitted or this would be one of them.
            unsafe { self.region.write(at, &[byte_of(block); BLOCK]) };
            OpKind::Write {
                addr: block * BLOCK as u64,
                pieces: [Piece { at, len: BLOCK }, Piece::default()],
            }
        };
        self.next_id += 1;
        let block = (!flush).then(|| self.next_block - 1);
        self.open.push((id, block));
        self.queue.submit(&[Op { id, kind }]);
    }

    /// Whether the slot of the next block is not named by a write that was not returned.
    fn has_slot(&self) -> bool {
        let slot = self.next_block % RING as u64;
        let blocks = self.open.iter().filter_map(|(_, block)| *block);
        blocks.into_iter().all(|block| block % RING as u64 != slot)
    }

    /// A disk ends an operation in some way.
    fn finish(&mut self) {
        let member = self.draw.below(self.disks.len() as u64) as usize;
        let pending = self.disks[member].pending();
        if pending.is_empty() {
            return;
        }
        let chosen = pending[self.draw.below(pending.len() as u64) as usize];
        let fails = self.failing && self.draw.chance(1, 40);
        let outcome = match fails {
            true => OpOutcome::Fail(EIO),
            false => OpOutcome::Done,
        };
        self.disks[member].finish(chosen.ticket, outcome);
    }

    fn poll(&mut self, reached: &mut Reached) -> Result<(), String> {
        let mut out = Vec::new();
        let stale = |history: &History| history.standing.stale.load(Ordering::SeqCst);
        let before = stale(self);
        self.queue.poll(&mut out, false);
        reached.given_up += u64::from((stale(self) & !before).count_ones());
        let durable = *self.marked.lock().expect("one thread");
        if stale(self) != durable && !out.is_empty() {
            return Err(String::from("M2: returned before the mark was durable"));
        }
        let failed = lock(&self.queue.state).lanes.iter().any(Lane::has_failed);
        reached.held_back += u64::from(failed && out.is_empty() && !self.open.is_empty());
        for completion in out {
            let at = self.open.iter().position(|(id, _)| *id == completion.id);
            let (_, block) = self.open.remove(at.ok_or("returned twice")?);
            if completion.result.is_err() {
                reached.broken += 1;
                continue;
            }
            match block {
                Some(block) => self.written.push(block),
                None => {
                    let covers = self.covers.iter().find(|(id, _)| *id == completion.id);
                    self.promised = self.promised.max(covers.ok_or("no such flush")?.1);
                    reached.acknowledged += 1;
                    self.judge()?;
                }
            }
        }
        Ok(())
    }

    /// M1, on what each disk holds for certain now.
    fn judge(&self) -> Result<(), String> {
        let images: Vec<Vec<u8>> = self.disks.iter().map(SimDisk::durable_image).collect();
        self.judge_images(&images)
    }

    fn judge_images(&self, images: &[Vec<u8>]) -> Result<(), String> {
        let durable = *self.marked.lock().expect("one thread");
        let holds = |member: usize| {
            self.written[..self.promised].iter().all(|block| {
                let at = *block as usize * BLOCK;
                images[member][at..at + BLOCK]
                    .iter()
                    .all(|b| *b == byte_of(*block))
            })
        };
        for (number, cell) in self.standing.table.cells().enumerate() {
            let mut in_sync = cell.filter(|member| durable >> member & 1 == 0).peekable();
            if in_sync.peek().is_some() && !in_sync.any(holds) {
                return Err(format!(
                    "M1: no member of cell {number} holds what was acknowledged"
                ));
            }
        }
        Ok(())
    }
}

/// Lives through a history; what was broken, if anything.
fn history(seed: u64, planted: Planted, reached: &mut Reached) -> Result<(), String> {
    let mut life = History::begin(seed, planted);
    let steps = 40 + life.draw.below(400);
    for _ in 0..steps {
        match life.draw.below(8) {
            0 | 1 if life.has_slot() => life.submit(),
            2..=5 => life.finish(),
            6 if life.failing && life.draw.chance(1, 30) => {
                let member = life.draw.below(life.disks.len() as u64) as usize;
                life.standing.condemn(member);
            }
            _ => life.poll(reached)?,
        }
    }
    // M3: every disk ends what it has.
    for _ in 0..200 {
        for disk in &life.disks {
            for pending in disk.pending() {
                disk.finish(pending.ticket, OpOutcome::Done);
            }
        }
        life.poll(reached)?;
    }
    if !life.open.is_empty() {
        return Err(format!(
            "M3: {} operations were never returned",
            life.open.len()
        ));
    }
    for disk in &life.disks {
        if let Some(first) = disk.violations().first() {
            return Err(format!("memory: {first}"));
        }
    }
    let stats = life.standing.report();
    reached.not_the_first += stats[1..].iter().map(|s| s.first).sum::<u64>();
    reached.behind += stats.iter().map(|s| s.window_bytes).sum::<u64>();
    reached.late_memory += u64::from(life.next_block as usize > RING);
    let mut rng = life.draw.0;
    let crash = |disk: &SimDisk| disk.crash(&mut rng, &CrashMix::default()).image;
    let images: Vec<Vec<u8>> = life.disks.iter().map(crash).collect();
    life.judge_images(&images)
}

fn seeds() -> u64 {
    let given = std::env::var("REDOLAB_MEMBER_SEEDS").ok();
    given.map_or(20_000, |n| n.parse().expect("a number of seeds"))
}

#[test]
fn what_was_acknowledged_is_on_a_member_of_each_cell() {
    let mut reached = Reached::default();
    for seed in 0..seeds() {
        if let Err(what) = history(seed, Planted::none(), &mut reached) {
            panic!("seed {seed}: {what}");
        }
    }
    println!("{reached:?}");
    let all = [
        reached.acknowledged,
        reached.given_up,
        reached.held_back,
        reached.broken,
        reached.behind,
        reached.late_memory,
        reached.not_the_first,
    ];
    assert!(all.iter().all(|count| *count > 100), "{reached:?}");
}

#[cfg(feature = "crash")]
#[test]
fn planted_bugs_of_members_are_found() {
    for bug in [
        Bug::FlushOfTheFirst,
        Bug::MirrorAtFirst,
        Bug::StaleBeforeCaughtUp,
        Bug::SkipStaleFence,
    ] {
        let mut reached = Reached::default();
        let found = (0..20_000).find_map(|seed| {
            let what = history(seed, Planted::with(bug), &mut reached).err()?;
            Some((seed, what))
        });
        let (seed, what) = found.unwrap_or_else(|| panic!("{bug:?} was not found"));
        println!("{bug:?}: seed {seed}: {what}");
    }
}

/// Submits one operation and has the disks end everything; returns the flushes that they ended.
fn carry_out(life: &mut History, flush: bool) -> usize {
    let kind = match flush {
        true => OpKind::Flush,
        false => OpKind::Write {
            addr: life.next_block * BLOCK as u64,
            pieces: [Piece { at: 0, len: BLOCK }, Piece::default()],
        },
    };
    life.next_block += u64::from(!flush);
    life.next_id += 1;
    let id = life.next_id;
    life.queue.submit(&[Op { id, kind }]);
    let (mut flushes, mut out) = (0, Vec::new());
    for _ in 0..4 {
        for disk in &life.disks {
            for pending in disk.pending() {
                flushes += usize::from(pending.op.kind == OpKind::Flush);
                disk.finish(pending.ticket, OpOutcome::Done);
            }
        }
        life.queue.poll(&mut out, false);
    }
    assert_eq!(out.len(), 1);
    flushes
}

#[test]
fn flushes_follow_writes_unasked_only_where_the_last_write_was_flushed() {
    let mut life = History::begin(0, Planted::none());
    let members = life.disks.len();
    assert_eq!(carry_out(&mut life, false), 0);
    assert_eq!(carry_out(&mut life, true), members);
    for _ in 0..3 {
        assert_eq!(carry_out(&mut life, false), members, "it was expected");
        assert_eq!(carry_out(&mut life, true), 0, "it was done already");
    }
    // Nobody waits any more: one flush of each member is in vain.
    let flushes: usize = (0..10).map(|_| carry_out(&mut life, false)).sum();
    assert_eq!(flushes, members);
    assert_eq!(carry_out(&mut life, true), members);
}

#[test]
fn a_log_write_is_counted_when_it_is_returned_and_not_when_the_next_one_comes() {
    const IDLE: Duration = Duration::from_millis(300);
    let mut life = History::begin(0, Planted::none());
    for round in 1..=3 {
        carry_out(&mut life, false);
        // From the second round on the members have flushed already.
        carry_out(&mut life, true);
        for stats in &life.standing.stats {
            assert_eq!(stats.writes.load(Ordering::Relaxed), round);
            let longest = stats.longest_ns.load(Ordering::Relaxed);
            assert!(u128::from(longest) < IDLE.as_nanos(), "{longest} ns");
        }
        std::thread::sleep(IDLE);
    }
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(EngineClock::default())
}

#[test]
fn what_a_member_completed_between_two_looks_at_it_is_reported_once() {
    let device = NullDevice::new(1 << 20, NullDevice::PLAIN);
    assert!(device.caps().blocking);
    let memory = (BLOCK * RING, false);
    let bell = Arc::new(Doorbell::default());
    let mut lane =
        Lane::open(0, &device, memory, &bell, &clock(), Planted::none()).expect("threads");
    for number in 1..=10 {
        let upto = Upto {
            number,
            bytes: number * BLOCK as u64,
        };
        lane.write(upto, true, (upto.bytes, BLOCK), |_, _| {});
        // It is asked for something else until it has ended.
        while lane.durable() != upto || !lane.is_idle() {
            lane.want(number);
            std::thread::yield_now();
        }
        assert!(lane.pump(), "write {number}");
        assert!(!lane.pump(), "write {number}");
    }
}

/// Drops a member while its device does not answer, at the end of a log whose patience is over, and
/// waits so long for the drop. Whether it returned before the device did.
fn outlives_its_write(planted: Planted, ends: bool, waits: Duration) -> bool {
    let null = NullDevice::new(1 << 20, NullDevice::PLAIN);
    let device = FaultDevice::new(Arc::new(null));
    let gate = device.gate();
    let memory = (BLOCK * RING, false);
    let bell = Arc::new(Doorbell::default());
    let mut lane = Lane::open(0, &device, memory, &bell, &clock(), planted).expect("threads");
    let upto = Upto {
        number: 1,
        bytes: BLOCK as u64,
    };
    lane.write(upto, true, (0, BLOCK), |_, _| {});
    let held = gate.await_pending(1, Duration::from_secs(300));
    assert!(held.is_some(), "it is in flight");
    let dropping = std::thread::spawn(move || {
        if ends {
            lane.stop();
            lane.end(Duration::ZERO);
        }
        drop(lane);
    });
    let end = Instant::now() + waits;
    while !dropping.is_finished() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    let early = dropping.is_finished();
    drop(gate);
    dropping.join().expect("no panic");
    early
}

/// A write of a log that is gone would reach the device after those of its next owner.
#[test]
fn a_member_is_given_up_when_nothing_of_it_is_in_flight() {
    let moment = Duration::from_millis(200);
    assert!(!outlives_its_write(Planted::none(), false, moment));
}

/// Its queue holds its lock.
#[test]
fn a_member_that_hangs_is_left_behind_at_the_end_of_the_log() {
    let patience = Duration::from_secs(300);
    assert!(outlives_its_write(Planted::none(), true, patience));
}

#[cfg(feature = "crash")]
#[test]
fn a_planted_log_waits_for_a_member_that_hangs() {
    let planted = Planted::with(Bug::CloseWaitsForMember);
    assert!(!outlives_its_write(
        planted,
        true,
        Duration::from_millis(200)
    ));
}

#[cfg(feature = "crash")]
#[test]
fn a_planted_member_is_given_up_while_it_writes() {
    let planted = Planted::with(Bug::MembersOutliveLog);
    assert!(outlives_its_write(planted, false, Duration::from_secs(300)));
}
