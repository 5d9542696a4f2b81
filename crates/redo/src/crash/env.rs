//! What outlives a life of the log: chance, the plan, the disks, what was promised and what was
//! reached.
//!
//! Invariant: what a log without members draws does not depend on members being possible.

use super::coverage::{Coverage, MemberCoverage, RingCoverage};
use super::disks::{Disks, OpenRing, Together};
use super::oracle::Oracle;
use super::plan::{Plan, Rng};
use crate::control::{ControlInfo, MemberTable, Position};
use crate::format::LifeId;
use crate::group::StreamBlock;
use crate::members::{Members, Standing};
use crate::planted::Planted;
use crate::rules;
use device::sim_disk::{Pending, SimDisk};
use device::{LogDevice, Queue, Region};
use measure::workload::split_mix;
use measure::{Clock, Nanos};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const LOG: &str = "simulated log";

/// What outlives a life.
pub(super) struct Env {
    pub(super) rng: Rng,
    /// For what is done beside the history, which must not change what happens in it.
    pub(super) aside: Rng,
    pub(super) hangs: Hangs,
    /// The clock of the life.
    pub(super) clock: Arc<LifeClock>,
    pub(super) moments: Moments,
    pub(super) plan: Plan,
    pub(super) planted: Planted,
    pub(super) coverage: Coverage,
    pub(super) oracle: Oracle,
    pub(super) disks: Disks,
    /// The members of the open log, where it has any.
    pub(super) together: Option<Together>,
    pub(super) members: MemberCoverage,
    /// The ring of the open log, where it has one.
    pub(super) ring: Option<OpenRing>,
    pub(super) rings: RingCoverage,
    /// The last opening had no ring.
    pub(super) ring_was_away: bool,
    /// Of a log in archive mode.
    pub(super) archive: Option<SimArchive>,
    /// Each life so far had a dropped future and a log switch.
    pub(super) all_busy: bool,
    /// A flush failed since the power came on: what caches hold is no longer what flushes cover.
    pub(super) flush_failed: bool,
    pub(super) violation: Option<String>,
    pub(super) trace: Option<Vec<String>>,
}

impl Env {
    /// Notes a broken promise; the first counts.
    pub(super) fn violated(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.note(|| format!("VIOLATION {what}"));
        self.violation.get_or_insert(what);
    }

    /// The identity of an incarnation that begins.
    pub(super) fn draw_life(&mut self) -> LifeId {
        let mut bytes = [1; 16];
        bytes[8..].copy_from_slice(&self.aside.below(u64::MAX).to_le_bytes());
        bytes.rotate_left(8);
        LifeId::from_bytes(bytes).unwrap_or_else(|| self.draw_life())
    }

    pub(super) fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(what());
        }
    }

    pub(super) fn acknowledge(&mut self, number: usize) {
        self.coverage.acknowledged += 1;
        self.note(|| format!("acknowledged up to record {number}"));
        self.oracle.acknowledge(number);
    }

    /// The block up to which logs may be reused, as the engine computes it from what `checkpoint`
    /// and `info` say.
    pub(super) fn reusable(&self, info: &ControlInfo, checkpoint: Position) -> StreamBlock {
        let archived = info.archived.map_or(rules::NOT_ARCHIVING, |at| at.block);
        rules::reusable(checkpoint.block, archived, self.planted)
    }

    /// The queue that a life writes its redo through.
    pub(super) fn open_queue(&self, region: Arc<Region>) -> Box<dyn Queue> {
        if let Some(ring) = &self.ring {
            return ring.device.queue(region).expect("never refused");
        }
        let Some(together) = &self.together else {
            return self.disks.data[0].queue(region).expect("never refused");
        };
        let standing = Arc::clone(&together.standing);
        let device = |(member, disk): (usize, &SimDisk)| -> Option<Arc<dyn LogDevice>> {
            (!standing.is_stale(member)).then(|| Arc::new(disk.clone()) as Arc<dyn LogDevice>)
        };
        let members = Members {
            devices: self.disks.data.iter().enumerate().map(device).collect(),
            standing: Arc::clone(&standing),
            planted: self.planted,
        };
        members.queue(region).expect("never refused")
    }

    /// The operation that ends next: the oldest of the first disk or any other, rarely one of the
    /// member that is slow.
    pub(super) fn choose(&mut self, pending: &[(usize, Pending)]) -> usize {
        let slow = self.together.as_ref().and_then(|together| together.slow);
        let slow = slow.or_else(|| self.ring.as_ref().and_then(|ring| ring.slow));
        if let Some(slow) = slow
            && !self.rng.chance(1, 8)
        {
            let others = |i: &usize| pending[*i].0 != slow;
            let others: Vec<usize> = (0..pending.len()).filter(others).collect();
            if !others.is_empty() {
                return self.rng.pick(&others);
            }
        }
        if let Some(stuck) = self.together.as_ref().map(|together| &together.stuck)
            && !stuck.is_empty()
            && !self.rng.chance(1, 512)
        {
            let moves = |i: &usize| !stuck.contains(&(pending[*i].0, pending[*i].1.ticket));
            let moves: Vec<usize> = (0..pending.len()).filter(moves).collect();
            if !moves.is_empty() {
                return self.rng.pick(&moves);
            }
        }
        if self.rng.chance(1, 2) {
            return 0;
        }
        self.rng.below(pending.len() as u64) as usize
    }

    /// The log was opened with these members.
    pub(super) fn assembled(&mut self, standing: Arc<Standing>, before: MemberTable, absent: u16) {
        let table = standing.table;
        let was_stale = |m: &usize| !before.in_sync(*m) && table.in_sync(*m);
        self.members.returned += table.all().filter(was_stale).count() as u64;
        let taken = |m: &usize| before.in_sync(*m) && absent >> m & 1 != 0;
        self.members.opened_without += table.all().filter(taken).count() as u64;
        let slow = self.rng.below(2 * u64::from(table.count)) as usize;
        let slow = (slow < usize::from(table.count)).then_some(slow);
        self.members.lives_with_a_slow_member += u64::from(slow.is_some());
        self.members.count_life(table);
        standing.set_clock(Arc::clone(&self.clock) as _);
        self.together = Some(Together::new(standing, slow));
    }

    /// Somebody says that a member is to be given up; rarely.
    pub(super) fn condemn(&mut self) {
        let Some(together) = &mut self.together else {
            return;
        };
        if !self.rng.chance(1, 600) {
            return;
        }
        let table = together.standing.table;
        let member = self.rng.below(u64::from(table.count)) as usize;
        if !together.standing.is_stale(member) {
            together.standing.condemn(member);
            self.members.condemned += 1;
            // What it was doing may take until long after it was given up.
            let pending = self.disks.data[member].pending();
            if !pending.is_empty() && self.rng.chance(1, 2) {
                let stuck = pending.iter().map(|pending| (member, pending.ticket));
                together.stuck.extend(stuck);
                self.members.stuck += 1;
            }
            self.note(|| format!("member {member} is condemned"));
        }
    }

    /// Members that are not given to an opening: never so many that what was acknowledged is lost.
    pub(super) fn draw_absent(&mut self) -> u16 {
        let Some(table) = self.disks.newest_table() else {
            return 0;
        };
        let mut absent = 0_u16;
        for member in table.all() {
            let often = if table.in_sync(member) { 6 } else { 2 };
            if !self.rng.chance(1, often) {
                continue;
            }
            let without = absent | 1 << member;
            if !table.in_sync(member) || table.suffice(|m| without >> m & 1 == 0) {
                absent = without;
            }
        }
        absent
    }
}

/// Hangs of a history.
pub(super) struct Hangs {
    pub(super) rng: Rng,
    /// Operations that hang, in 64ths.
    pub(super) often: u64,
    /// Queues of what hangs.
    stuck: Vec<Box<dyn Queue>>,
}

impl Hangs {
    pub(super) fn draw(plan: &Plan) -> Hangs {
        let mut state = plan.rng.0 ^ 0x6861_6E67_7321;
        let drawn = [0, 0, 0, 8][(split_mix(&mut state) % 4) as usize];
        Hangs {
            rng: Rng(state),
            often: if plan.members.is_some() { drawn } else { 0 },
            stuck: Vec::new(),
        }
    }

    /// Its operation is not waited for any more.
    pub(super) fn keep(&mut self, stuck: Option<Box<dyn Queue>>) {
        self.stuck.extend(stuck);
    }

    /// What ended of it has returned.
    pub(super) fn collect(&mut self) {
        for queue in &mut self.stuck {
            queue.poll(&mut Vec::new(), false);
        }
    }

    /// The process has ended.
    pub(super) fn forget(&mut self) {
        self.stuck.clear();
    }
}

/// The clock of a life.
#[derive(Default)]
pub(super) struct LifeClock(AtomicU64);

impl LifeClock {
    pub(super) fn set(&self, now: Nanos) {
        self.0.store(now.0, Ordering::Relaxed);
    }
}

impl Clock for LifeClock {
    fn now(&self) -> Nanos {
        Nanos(self.0.load(Ordering::Relaxed))
    }
}

/// What the archive holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SimArchive {
    /// Records that are archived, and durably so in the control information.
    pub(super) archived: usize,
    /// Records that are archived, of which the control information may say so or not.
    pub(super) doubtful: Option<usize>,
}

/// The disks right after a recovery, and what was made of them since.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    pub(super) last: Option<Moment>,
    /// The control disk one recovery before the last.
    pub(super) older: Option<Vec<u8>>,
    /// The control disk after the last checkpoint of this life, and the records that were durable.
    pub(super) checkpoint: Option<(Vec<u8>, usize)>,
    /// The block behind the last one that any life began to write.
    pub(super) written: StreamBlock,
}

#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) data: Vec<u8>,
    pub(super) control: Vec<u8>,
    /// The control disk of a copy, whose incarnation has the same number.
    pub(super) copy: Vec<u8>,
}

impl Moments {
    /// A write begins that ends before `end`.
    pub(super) fn written(&mut self, end: StreamBlock) {
        self.written = self.written.max(end);
    }
}
