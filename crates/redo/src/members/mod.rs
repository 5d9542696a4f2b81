//! Members: several devices that hold the same log.
//!
//! Each member has the whole log, its control information included, and a queue of its own. Cells
//! of members mirror each other, the members of a cell race ([`MemberTable`]). To the log writer
//! they are one device, [`Members`], which keeps the rules of one:
//! - a write is complete when in each cell one member has completed it;
//! - a flush is complete when in each cell one member has completed a flush of its own that it
//!   submitted after *it* had completed every write that the flush covers.
//!
//! So at the moment at which redo is acknowledged, one member of each cell holds all of it: a
//! mirror acknowledges at the minimum of its members, a race at the maximum. Which members may be
//! believed is durable on the others before the first acknowledgement that one of them lacks.
//!
//! Memory: a member writes from memory of its own, into which submission copies, because a member
//! that is late still writes when the log writer has its completion and fills the log buffer anew.
//!
//! What lives here: the device, its queue ([`queue`]), and what makes members equal when a log is
//! opened ([`heal`]). What it must not know: when to write, sessions, commits.
#![allow(unsafe_code)]

pub(crate) mod heal;
mod lane;
mod queue;

pub(crate) use queue::MembersQueue;

use crate::control::MemberTable;
use crate::planted::Planted;
use device::queue::{Caps, IoOrDevice, LogDevice, Queue};
use device::{DeviceError, Region};
use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Marks members stale, durably, on all others; false when that failed.
pub(crate) type Fence = Box<dyn Fn(u16) -> bool + Send + Sync>;

/// How the members of an open log are, for the log writer, who opens and who asks.
pub(crate) struct Standing {
    pub(crate) table: MemberTable,
    /// A bit for each member that is stale.
    stale: AtomicU16,
    /// A bit for each member that is to be given up: it is too late, or somebody says so.
    condemned: AtomicU16,
    /// The member whose flush was acknowledged last: it has everything.
    leader: AtomicUsize,
    fence: OnceLock<Fence>,
    pub(crate) stats: Vec<MemberStats>,
}

/// What a member did since the log was opened.
#[derive(Debug, Default)]
pub struct MemberStats {
    writes_first: AtomicU64,
    flushes_first: AtomicU64,
    /// Bytes that it had not completed when its cell acknowledged, at most.
    behind_bytes: AtomicU64,
}

impl MemberStats {
    /// Writes that it completed first in its cell.
    #[must_use]
    pub fn writes_first(&self) -> u64 {
        self.writes_first.load(Ordering::Relaxed)
    }

    /// Flushes that it completed first in its cell.
    #[must_use]
    pub fn flushes_first(&self) -> u64 {
        self.flushes_first.load(Ordering::Relaxed)
    }

    /// Bytes of redo that it had not completed when its cell acknowledged, at most. What the loss
    /// of the others costs is more: also what it had completed and not flushed.
    #[must_use]
    pub fn behind_bytes(&self) -> u64 {
        self.behind_bytes.load(Ordering::Relaxed)
    }
}

impl Standing {
    pub(crate) fn new(table: MemberTable) -> Arc<Standing> {
        Arc::new(Standing {
            table,
            stale: AtomicU16::new(table.stale),
            condemned: AtomicU16::new(0),
            leader: AtomicUsize::new(table.all().find(|m| table.in_sync(*m)).unwrap_or(0)),
            fence: OnceLock::new(),
            stats: table.all().map(|_| MemberStats::default()).collect(),
        })
    }

    /// What marks members stale; before it is set no member can be given up.
    pub(crate) fn set_fence(&self, fence: Fence) {
        // Only the first is kept: a log is opened once.
        let _ = self.fence.set(fence);
    }

    pub(crate) fn is_stale(&self, member: usize) -> bool {
        self.stale.load(Ordering::SeqCst) >> member & 1 != 0
    }

    /// The control information says that these are stale, durably.
    pub(crate) fn marked(&self, stale: u16) {
        self.stale.fetch_or(stale, Ordering::SeqCst);
    }

    /// Has the queue give `member` up as soon as the others have what was acknowledged.
    pub(crate) fn condemn(&self, member: usize) {
        self.condemned.fetch_or(1 << member, Ordering::SeqCst);
    }

    fn is_condemned(&self, member: usize) -> bool {
        self.condemned.load(Ordering::SeqCst) >> member & 1 != 0
    }

    fn fence(&self, members: u16) -> bool {
        let held = self.fence.get().is_some_and(|fence| fence(members));
        if held {
            self.marked(members);
        }
        held
    }
}

/// The members of a log as one device. Devices of members that are stale or not there are `None`.
pub(crate) struct Members {
    pub(crate) devices: Vec<Option<Arc<dyn LogDevice>>>,
    pub(crate) standing: Arc<Standing>,
    pub(crate) planted: Planted,
}

impl Members {
    fn in_sync(&self) -> impl Iterator<Item = (usize, &Arc<dyn LogDevice>)> {
        let all = self.devices.iter().enumerate();
        all.filter_map(|(member, device)| {
            let device = device.as_ref()?;
            (!self.standing.is_stale(member)).then_some((member, device))
        })
    }
}

// SAFETY: what a member writes is copied at submission, while the log owns the source, into memory
// of that member's queue alone.
unsafe impl LogDevice for Members {
    /// What all members can do.
    fn caps(&self) -> Caps {
        let each = self.in_sync().map(|(_, device)| device.caps());
        let all = each.reduce(|a, b| Caps {
            logical_bytes: a.logical_bytes.max(b.logical_bytes),
            physical_bytes: a.physical_bytes.max(b.physical_bytes),
            memory_align: a.memory_align.max(b.memory_align),
            max_io_bytes: a.max_io_bytes.min(b.max_io_bytes),
            durable_writes: false,
            blocking: a.blocking || b.blocking,
        });
        let all = all.expect("a log has a member in sync");
        // In a race each member's writes may be complete in another order.
        Caps {
            durable_writes: false,
            ..all
        }
    }

    fn bytes(&self) -> u64 {
        self.in_sync().map(|(_, d)| d.bytes()).min().unwrap_or(0)
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(MembersQueue::new(self, region)?))
    }

    /// From the member that has everything that was acknowledged; where it fails, from another.
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let leader = self.standing.leader.load(Ordering::SeqCst);
        let mut all: Vec<_> = self.in_sync().collect();
        all.sort_by_key(|(member, _)| *member != leader);
        let mut failed = None;
        for (_, device) in all {
            match device.read(addr, out) {
                Ok(()) => return Ok(()),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.expect("a log has a member in sync"))
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        self.in_sync().try_for_each(|(_, device)| device.settle())
    }
}
