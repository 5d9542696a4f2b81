//! The log writer in virtual time: the real log buffer, log writer and queue of members, over disks
//! whose log writes take what a model draws, under sessions in a closed loop.
//!
//! Invariants:
//! - Nothing here decides what is written when: that is [`crate::writer`] and [`crate::members`].
//! - Computing takes no time; what it costs on a machine has to be in the models.
//! - The same setup and seed give the same times.
//!
//! What it leaves out: threads, processors, real devices; members that fail.

mod model;

pub use model::{DiskModel, SessionModel, Tail};

use crate::buffer::{Batch, LogBuffer, Memory, Reservation, Source};
use crate::control::MemberTable;
use crate::format::{LifeId, LogId, RECORD_HEADER_BYTES, Summer, encode_record_header};
use crate::group::{Geometry, StreamBlock};
use crate::members::{Members, Standing};
use crate::planted::Planted;
use crate::writer::{Action, Actions, Event, Io, Policy, Writer};
use device::sim_disk::{OpOutcome, SimDisk};
use device::{LogDevice, Op, OpCompletion, OpKind, Queue, Region};
use measure::Nanos;
use model::Chance;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

const LOG_BUFFER_BYTES: usize = 8 << 20;
const GEOMETRY: Geometry = Geometry {
    block_bytes: 512,
    seal_blocks: 1,
    groups: 3,
    blocks_per_group: 32_764,
    header_bytes: 2048,
    file_bytes: 16 << 20,
};

/// What is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct RaceModel {
    /// The disks. More than one race: each log write goes to all, and the first completion counts.
    pub disks: Vec<DiskModel>,
    /// What is before all disks, in the way to them: a tail that no race can hide.
    pub upstream: Tail,
    /// What each log write costs besides, before it goes to the disks, microseconds.
    pub overhead_us: f64,
    /// The sessions.
    pub sessions: SessionModel,
    /// The log writer lets the commits of the batch before rejoin, as this log does and Oracle's
    /// does not.
    pub gather: bool,
    /// Log file syncs.
    pub commits: u64,
    /// Of the drawn times.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitTimes {
    /// Each log file sync, nanoseconds, in the order in which they ended.
    pub log_file_syncs: Vec<u64>,
    /// Log writes.
    pub log_writes: u64,
    /// Of these, the ones that each disk was the first to complete.
    pub first: Vec<u64>,
    /// Virtual time that went by, nanoseconds.
    pub elapsed_ns: u64,
}

/// Simulates `setup`.
///
/// # Panics
/// Without disks or sessions, with more than four disks, with a record that is larger than a
/// quarter of the log buffer (8 MiB).
#[must_use]
pub fn run(setup: &RaceModel) -> CommitTimes {
    assert!((1..=4).contains(&setup.disks.len()), "one to four disks");
    assert!(setup.sessions.sessions > 0, "somebody commits");
    assert!((setup.sessions.redo_bytes as usize) < LOG_BUFFER_BYTES / 4);
    let mut clockwork = Clockwork::new(setup);
    while (clockwork.outcome.log_file_syncs.len() as u64) < setup.commits {
        clockwork.step();
    }
    clockwork.finish()
}

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// A session commits.
    Commit(usize),
    /// An operation of a disk ends.
    Ended { disk: usize, ticket: u64 },
    /// The time for gathering is up.
    Gathered,
}

/// A commit that is waited for.
#[derive(Clone, Copy)]
struct Waiting {
    session: usize,
    batch: u64,
    since: u64,
}

struct Clockwork<'a> {
    setup: &'a RaceModel,
    chance: Chance,
    now: u64,
    agenda: BinaryHeap<Reverse<(u64, Moment)>>,
    disks: Vec<SimDisk>,
    /// Of each disk, the first ticket that has no time yet.
    seen: Vec<u64>,
    /// Where there is more than one disk.
    standing: Option<Arc<Standing>>,
    queue: Box<dyn Queue>,
    buffer: LogBuffer,
    writer: Writer,
    waiting: Vec<Waiting>,
    unfilled: Vec<Batch>,
    gathering: Option<(u32, u64)>,
    checkpoint: StreamBlock,
    /// When the last log write reaches the disks.
    arrives: u64,
    /// What the log writer is given after the actions that led to it.
    later: Vec<Event>,
    outcome: CommitTimes,
}

impl<'a> Clockwork<'a> {
    fn new(setup: &'a RaceModel) -> Clockwork<'a> {
        let bytes = GEOMETRY.file_bytes as usize * GEOMETRY.groups as usize;
        let alone = setup.disks.len() == 1;
        let disk = |_: &DiskModel| SimDisk::new(bytes, 512, alone);
        let disks: Vec<SimDisk> = setup.disks.iter().map(disk).collect();
        let (device, standing) = together(&disks);
        let region = Arc::new(Region::new(LOG_BUFFER_BYTES).expect("eight mebibytes"));
        let queue = device
            .queue(Arc::clone(&region))
            .expect("a queue in memory");
        let life = LifeId::from_bytes([7; 16]).expect("not zero");
        let (planted, start) = (Planted::default(), 0);
        let buffer = LogBuffer::new(
            Memory::new(region),
            GEOMETRY,
            1,
            Summer::of_life(LogId([3; 16]), Some(life)),
            start,
            0,
            planted,
        );
        let policy = Policy::default()
            .durable_writes(device.caps().durable_writes)
            .gather(setup.gather);
        let mut clockwork = Clockwork {
            setup,
            chance: Chance(setup.seed),
            now: 1,
            agenda: BinaryHeap::new(),
            seen: vec![0; disks.len()],
            disks,
            standing,
            queue,
            buffer,
            writer: Writer::new(GEOMETRY, policy, 0, start, start, planted),
            waiting: Vec::new(),
            unfilled: Vec::new(),
            gathering: None,
            checkpoint: start,
            arrives: 0,
            later: Vec::new(),
            outcome: CommitTimes::default(),
        };
        for session in 0..setup.sessions.sessions as usize {
            clockwork.think(session);
        }
        clockwork
    }

    fn at(&mut self, after: u64, moment: Moment) {
        self.agenda.push(Reverse((self.now + after, moment)));
    }

    fn think(&mut self, session: usize) {
        let between = self.setup.sessions.between(&mut self.chance);
        self.at(between, Moment::Commit(session));
    }

    fn step(&mut self) {
        let Reverse((at, moment)) = self.agenda.pop().expect("sessions commit for ever");
        self.now = at;
        match moment {
            Moment::Commit(session) => self.commit(session),
            Moment::Ended { disk, ticket } => {
                self.disks[disk].finish(ticket, OpOutcome::Done);
            }
            Moment::Gathered => {}
        }
        self.settle();
    }

    /// What follows from what happened, at the same moment.
    fn settle(&mut self) {
        loop {
            let mut done: Vec<OpCompletion> = Vec::new();
            self.queue.poll(&mut done, false);
            let mut any = !done.is_empty();
            for ended in done {
                let (op, result) = (ended.id, ended.result);
                self.feed(Event::Io { op, result });
            }
            for batch in std::mem::take(&mut self.unfilled) {
                self.feed(Event::Filled { batch: batch.id });
                any = true;
            }
            for event in std::mem::take(&mut self.later) {
                self.feed(event);
                any = true;
            }
            any |= self.look();
            any |= self.schedule();
            if !any {
                return;
            }
        }
    }

    /// The log writer is asked to write, or has gathered.
    fn look(&mut self) -> bool {
        let (open, bytes) = self.buffer.open_batch();
        let commits = self.buffer.commits(open);
        if let Some((want, until)) = self.gathering {
            if commits < want && self.now < until {
                return false;
            }
            self.gathering = None;
            self.feed(Event::Gathered);
            return true;
        }
        if bytes == 0 || !self.writer.wants_pending() {
            return false;
        }
        self.feed(Event::Pending {
            commits,
            bytes,
            carried: 0,
        });
        true
    }

    /// New operations of the disks are given the time at which they end. A disk begins a log write
    /// when it has arrived, and when its own queue has submitted it.
    fn schedule(&mut self) -> bool {
        let mut any = false;
        for disk in 0..self.disks.len() {
            for pending in self.disks[disk].pending() {
                if pending.ticket < self.seen[disk] {
                    continue;
                }
                self.seen[disk] = pending.ticket + 1;
                any = true;
                let ticket = pending.ticket;
                match pending.op.kind {
                    // The cache is protected.
                    OpKind::Flush => self.disks[disk].finish(ticket, OpOutcome::Done),
                    OpKind::Write { .. } => {
                        let way = self.arrives.saturating_sub(self.now);
                        let takes = way + self.setup.disks[disk].draw(&mut self.chance);
                        self.at(takes, Moment::Ended { disk, ticket });
                    }
                }
            }
        }
        any
    }

    fn commit(&mut self, session: usize) {
        let bytes = self.setup.sessions.redo_bytes;
        let mut record = encode_record_header(bytes).to_vec();
        record.resize(RECORD_HEADER_BYTES + bytes as usize, session as u8);
        let reserved = self.buffer.reserve(record.len() as u32);
        let Ok(reservation) = reserved else {
            // The log buffer is full: again when a log write has ended.
            self.at(1000, Moment::Commit(session));
            return;
        };
        fill(&self.buffer, &reservation, &record);
        self.buffer.register(reservation.batch);
        self.waiting.push(Waiting {
            session,
            batch: reservation.batch,
            since: self.now,
        });
    }

    fn feed(&mut self, event: Event) {
        let mut actions = Actions::default();
        self.writer.step(Nanos(self.now), event, &mut actions);
        for action in actions.iter() {
            match action {
                Action::Gather { want, until } => {
                    self.gathering = Some((want, until.0));
                    let left = until.0.saturating_sub(self.now);
                    self.at(left, Moment::Gathered);
                }
                Action::Seal => {
                    let batch = self.buffer.seal().expect("only a batch with bytes");
                    self.unfilled.push(batch);
                    self.feed(Event::Sealed(batch));
                }
                Action::Io { op, io } => self.submit(op, io),
                Action::Release { upto } => self.buffer.release(upto),
                Action::Publish { batches, block } => self.publish(batches, block),
                Action::AwaitCheckpoint { .. } | Action::Idle => {}
                Action::Defer { batches } => self.later.push(Event::Wanted { batches }),
                Action::Poison(cause) => unreachable!("disks that cannot fail: {cause}"),
            }
        }
    }

    fn submit(&mut self, id: u64, io: Io) {
        let kind = match io {
            Io::Write { start, blocks } => {
                self.outcome.log_writes += 1;
                let overhead = (self.setup.overhead_us * 1000.0) as u64;
                let way = overhead + self.setup.upstream.draw(&mut self.chance);
                self.arrives = self.now + way;
                OpKind::Write {
                    addr: GEOMETRY.address(start),
                    pieces: self.buffer.pieces(start, blocks.into()),
                }
            }
            Io::Flush => OpKind::Flush,
        };
        self.queue.submit(&[Op { id, kind }]);
    }

    fn publish(&mut self, batches: u64, block: StreamBlock) {
        self.buffer.publish(batches, block);
        let wakeup = self.setup.sessions.wakeup();
        for served in std::mem::take(&mut self.waiting) {
            if served.batch >= batches {
                self.waiting.push(served);
                continue;
            }
            let took = self.now + wakeup - served.since;
            self.outcome.log_file_syncs.push(took);
            let between = self.setup.sessions.between(&mut self.chance);
            self.at(wakeup + between, Moment::Commit(served.session));
        }
        // The database writer keeps up.
        if block - self.checkpoint > GEOMETRY.blocks_per_group / 2 {
            self.checkpoint = block;
            self.later.push(Event::Checkpoint(block));
        }
    }

    fn finish(mut self) -> CommitTimes {
        self.outcome.elapsed_ns = self.now;
        let report = self.standing.map(|standing| standing.report());
        self.outcome.first = match report {
            Some(members) => members.iter().map(|member| member.first).collect(),
            None => vec![self.outcome.log_writes],
        };
        self.outcome
    }
}

fn fill(buffer: &LogBuffer, reservation: &Reservation, record: &[u8]) {
    let mut done = 0;
    while done < reservation.len {
        let mut source = Source::new(&record[done as usize..], &[]);
        done += buffer.fill_block(reservation, done, &mut source);
    }
}

/// The disks as one device: the only one, or a race of all.
fn together(disks: &[SimDisk]) -> (Arc<dyn LogDevice>, Option<Arc<Standing>>) {
    let devices = disks.iter().map(|disk| Arc::new(disk.clone()));
    let mut devices = devices.map(|disk| disk as Arc<dyn LogDevice>);
    let count = disks.len();
    if count == 1 {
        return (devices.next().expect("one"), None);
    }
    let standing = Standing::new(MemberTable::new(count, count).expect("two to four"));
    let members = Members {
        devices: devices.map(Some).collect(),
        standing: Arc::clone(&standing),
        planted: Planted::default(),
    };
    (Arc::new(members), Some(standing))
}

#[cfg(test)]
mod tests;
