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

mod assemble;
mod carrier;
mod contest;
#[cfg(feature = "internals")]
mod counted;
mod driver;
mod errands;
mod giving_up;
pub(crate) mod heal;
mod lane;
mod patience;
mod queue;
mod reading;
mod returning;
pub(crate) mod ring;

use contest::{CellStats, MemberStats, nanos};

pub(crate) use assemble::{Assembled, Assembly, CopyTo, newest};
#[cfg(feature = "internals")]
pub use counted::{CountedMembers, MemberOp};

pub(crate) use carrier::{MemberCarrier, MemberClock, OPENING};
pub(crate) use errands::{Errands, is_late};
pub(crate) use queue::MembersQueue;
pub(crate) use returning::{Resilver, ResilverStep};

use queue::QueueState;

use crate::control::{ControlFile, MemberTable};
use crate::planted::Planted;
use crate::sync::{EngineClock, Mutex};
use device::queue::{Caps, IoOrDevice, LogDevice, Queue};
use device::{DeviceError, Doorbell, Region};
use measure::{Clock, Nanos};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, TryLockError, Weak};
use std::time::Duration;

/// A log write of which a member takes longer is an outlier: 500 ms, as Oracle counts them.
const OUTLIER_NS: u64 = 500_000_000;
/// A member that does nothing for so long is given up.
const PATIENCE_NS: u64 = 30_000_000_000;

/// A member that was given.
pub(crate) struct GivenMember {
    /// What errors name.
    pub(crate) path: PathBuf,
    /// Its control information.
    pub(crate) file: ControlFile,
    /// Its redo.
    pub(crate) data: Arc<dyn LogDevice>,
}

/// What came of marking members stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marked {
    /// The mark is durable on all others.
    Durable,
    /// Not yet: ask again. The crash simulation answers later.
    #[cfg_attr(not(feature = "crash"), allow(dead_code))]
    Waiting,
    /// It could not be made: nothing may be acknowledged any more.
    Failed,
}

/// Marks members stale, durably, on all others.
pub(crate) type Fence = Box<dyn Fn(u16) -> Marked + Send + Sync>;

/// How the members of an open log are, for the log writer, the opening, and callers of
/// `Log::members`.
pub(crate) struct Standing {
    pub(crate) table: MemberTable,
    /// A bit for each member that is stale.
    stale: AtomicU16,
    /// A bit for each member that is to be given up: it is too late, or somebody says so.
    condemned: AtomicU16,
    /// A bit for each member that is being copied, until it is used as the others are.
    resilvering: AtomicU16,
    /// Of those, the ones that acknowledgements wait for, while the control information still calls
    /// them stale.
    returning: AtomicU16,
    /// A bit for each member that may be marked stale, alone: in each cell others have everything
    /// that was acknowledged, and nothing is acknowledged until the mark is durable.
    unmarked: AtomicU16,
    /// The queue of the open log.
    queue: Mutex<Weak<Mutex<QueueState>>>,
    /// Rung when the queue has to be looked at.
    bell: Arc<Doorbell>,
    clock: OnceLock<Arc<dyn Clock>>,
    /// Threads that read members of the open log, by their numbers, while nobody waits for them:
    /// what they read was returned, or given up.
    readers: Vec<Mutex<Vec<Errands>>>,
    /// Rung when a member was given up, or is copied no more.
    pub(crate) news: Doorbell,
    /// No member returns any more.
    returns_end: AtomicBool,
    /// A member that has something to do and completes nothing for so long is given up; ns.
    patience_ns: AtomicU64,
    /// The member whose flush was acknowledged last: it has everything.
    leader: AtomicUsize,
    fence: OnceLock<Fence>,
    /// Bytes of the log that are acknowledged, since it was opened.
    acknowledged_bytes: AtomicU64,
    /// A log write that takes a member longer is an outlier, nanoseconds.
    outlier_ns: AtomicU64,
    stats: Vec<MemberStats>,
    cells: Vec<CellStats>,
    /// The simulated process has ended.
    #[cfg(feature = "crash")]
    halted: AtomicBool,
}

impl Standing {
    pub(crate) fn new(table: MemberTable) -> Arc<Standing> {
        Arc::new(Standing {
            table,
            stale: AtomicU16::new(table.stale),
            condemned: AtomicU16::new(0),
            resilvering: AtomicU16::new(0),
            returning: AtomicU16::new(0),
            unmarked: AtomicU16::new(0),
            queue: Mutex::new(Weak::new()),
            bell: Arc::default(),
            clock: OnceLock::new(),
            readers: table.all().map(|_| Mutex::new(Vec::new())).collect(),
            news: Doorbell::default(),
            returns_end: false.into(),
            patience_ns: AtomicU64::new(PATIENCE_NS),
            leader: AtomicUsize::new(table.all().find(|m| table.in_sync(*m)).unwrap_or(0)),
            fence: OnceLock::new(),
            acknowledged_bytes: AtomicU64::new(0),
            outlier_ns: AtomicU64::new(OUTLIER_NS),
            stats: table.all().map(|_| MemberStats::default()).collect(),
            cells: table.cells().map(|_| CellStats::default()).collect(),
            #[cfg(feature = "crash")]
            halted: false.into(),
        })
    }

    /// The clock by which members are late. Only the first counts.
    pub(crate) fn set_clock(&self, clock: Arc<dyn Clock>) {
        let _ = self.clock.set(clock);
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        let real = || -> Arc<dyn Clock> { Arc::new(EngineClock::default()) };
        self.clock.get_or_init(real)
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock().now()
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
        self.unmarked.fetch_and(!stale, Ordering::SeqCst);
        self.news.ring();
        self.bell.ring();
    }

    /// Members that may be marked stale, alone and now, a bit for each.
    pub(crate) fn unmarked(&self) -> u16 {
        self.unmarked.load(Ordering::SeqCst)
    }

    /// Whether what waits for `member`, for too long where it is `late`, goes on without it. Asked
    /// by the holder of the control information, for the log writer may be asleep. Where it does,
    /// the holder has the member marked before anything else.
    pub(crate) fn goes_on_without(&self, member: usize, late: bool) -> bool {
        let given_up = |of: &AtomicU16| of.load(Ordering::SeqCst) >> member & 1 != 0;
        if given_up(&self.stale) || given_up(&self.unmarked) {
            return true;
        }
        if !late && !self.is_condemned(member) {
            return false;
        }
        // While the log is opened, and when it was closed, nothing is acknowledged.
        let Some(queue) = self.queue() else {
            return late;
        };
        let mut queue = match queue.try_lock() {
            Ok(queue) => queue,
            Err(TryLockError::Poisoned(queue)) => queue.into_inner(),
            // The log writer has it, perhaps to have this member marked.
            Err(TryLockError::WouldBlock) => return false,
        };
        queue.goes_on_without(member)
    }

    /// The control information was updated and calls these stale. Those that return are about to be
    /// called in sync.
    pub(crate) fn updated(&self, stale: u16) {
        let stale = stale & !self.returning.load(Ordering::SeqCst);
        if stale & !self.stale.load(Ordering::SeqCst) != 0 {
            self.marked(stale);
        }
    }

    /// The members that are stale and are not being copied.
    pub(crate) fn left_behind(&self) -> impl Iterator<Item = usize> {
        let stale = self.stale.load(Ordering::SeqCst) & !self.resilvering.load(Ordering::SeqCst);
        self.table.all().filter(move |m| stale >> m & 1 != 0)
    }

    /// An operation of a member that was given up has not returned.
    #[cfg(feature = "crash")]
    pub(crate) fn waits_for_own(&self, member: usize) -> bool {
        let same = |lane: &driver::Lane| lane.member == member;
        let waits = |queue: Arc<Mutex<QueueState>>| queue::lock(&queue).given_up.iter().any(same);
        self.queue().is_some_and(waits)
    }

    fn begin_return(&self, member: usize) {
        self.condemned.fetch_and(!(1 << member), Ordering::SeqCst);
        self.resilvering.fetch_or(1 << member, Ordering::SeqCst);
    }

    /// Acknowledgements wait for it: if it fails from here on, that is marked.
    fn require(&self, member: usize) {
        self.returning.fetch_or(1 << member, Ordering::SeqCst);
        self.stale.fetch_and(!(1 << member), Ordering::SeqCst);
    }

    fn is_returning(&self, member: usize) -> bool {
        self.returning.load(Ordering::SeqCst) >> member & 1 != 0
    }

    fn returns_no_more(&self, member: usize) {
        self.returning.fetch_and(!(1 << member), Ordering::SeqCst);
    }

    /// Takes in what has ended on members: while nobody commits nobody else does.
    pub(crate) fn look(&self) {
        if let Some(queue) = self.queue() {
            queue::lock(&queue).pump();
        }
    }

    /// No member returns from now on; whatever that waits for is given up at once.
    pub(crate) fn end_returns(&self) {
        self.returns_end.store(true, Ordering::SeqCst);
        self.news.ring();
    }

    pub(crate) fn returns_end(&self) -> bool {
        self.returns_end.load(Ordering::SeqCst)
    }

    /// It is copied no more: it is used as the others are, or it is stale.
    fn end_return(&self, member: usize) {
        self.resilvering.fetch_and(!(1 << member), Ordering::SeqCst);
        // It may have to be tried again.
        self.news.ring();
    }

    fn set_queue(&self, queue: &Arc<Mutex<QueueState>>) {
        let mut kept = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Arc::downgrade(queue);
    }

    fn queue(&self) -> Option<Arc<Mutex<QueueState>>> {
        let kept = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        kept.upgrade()
    }

    /// From now on a member is given up that completes nothing for so long.
    pub(crate) fn set_patience(&self, time: Duration) {
        self.patience_ns.store(nanos(time), Ordering::Relaxed);
    }

    fn patience(&self) -> Duration {
        Duration::from_nanos(self.patience_ns.load(Ordering::Relaxed))
    }

    fn condemn_all(&self, members: u16) {
        self.condemned.fetch_or(members, Ordering::SeqCst);
        self.bell.ring();
    }

    /// Has the queue give `member` up as soon as the others have what was acknowledged.
    pub(crate) fn condemn(&self, member: usize) {
        self.condemn_all(1 << member);
    }

    /// The simulated process ends: its queues submit nothing any more.
    #[cfg(feature = "crash")]
    pub(crate) fn halt(&self) {
        self.halted.store(true, Ordering::SeqCst);
    }

    #[cfg(feature = "crash")]
    fn is_halted(&self) -> bool {
        self.halted.load(Ordering::SeqCst)
    }

    pub(crate) fn is_condemned(&self, member: usize) -> bool {
        self.condemned.load(Ordering::SeqCst) >> member & 1 != 0
    }

    /// From now on log writes that take longer are outliers.
    pub(crate) fn set_outlier(&self, time: Duration) {
        self.outlier_ns.store(nanos(time), Ordering::Relaxed);
    }

    /// How each member is, without its path.
    pub(crate) fn report(&self) -> Vec<MemberState> {
        let get = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let copied = self.resilvering.load(Ordering::SeqCst);
        let resilvering = |member: usize| copied >> member & 1 != 0;
        let each = self.stats.iter().enumerate().map(|(member, stats)| {
            let cell = member / usize::from(self.table.cell);
            MemberState {
                path: PathBuf::new(),
                cell,
                in_sync: !self.is_stale(member) && !resilvering(member),
                resilvering: resilvering(member),
                writes: get(&stats.writes),
                first: get(&stats.first),
                margin_ns: get(&stats.margin_ns),
                slow: get(&stats.slow),
                all_slow: get(&self.cells[cell].all_slow),
                longest_ns: get(&stats.longest_ns),
                window_bytes: get(&stats.window_bytes),
                window_ns: get(&stats.window_ns),
            }
        });
        each.collect()
    }

    /// Has members marked. Who holds the control information and waits for one of them goes on
    /// without it from here on.
    fn fence(&self, members: u16) -> Marked {
        self.unmarked.fetch_or(members, Ordering::SeqCst);
        let fence = self.fence.get();
        let marked = fence.map_or(Marked::Failed, |fence| fence(members));
        if marked == Marked::Durable {
            self.marked(members);
        }
        marked
    }
}

/// How a member of an open log is, and what it did since the log was opened. A log write is here
/// what a flush made durable, from the submission of its first write to that member's completion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberState {
    /// Its place.
    pub path: PathBuf,
    /// Its cell, from 0: cells mirror each other, the members of a cell race.
    pub cell: usize,
    /// It is in sync; others lack redo that was acknowledged, or may lack it.
    pub in_sync: bool,
    /// It was given up and is being copied, while the log is in use.
    pub resilvering: bool,
    /// Log writes that it completed.
    pub writes: u64,
    /// Of those, the ones that it was the first in its cell to complete.
    pub first: u64,
    /// By how much it was before the others of its cell then, nanoseconds, summed.
    pub margin_ns: u64,
    /// Log writes that were outliers on it.
    pub slow: u64,
    /// Log writes that were outliers on all members of its cell.
    pub all_slow: u64,
    /// The longest log write, nanoseconds.
    pub longest_ns: u64,
    /// The most that was acknowledged and that it did not have durably, bytes: what would have been
    /// lost with the others of its cell, where no other cell had it.
    pub window_bytes: u64,
    /// The longest time for which something acknowledged was not durable on it, nanoseconds.
    pub window_ns: u64,
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
        let all = Caps::common(each).expect("a log has a member in sync");
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
        // A log that is being opened is read by several threads, and nothing waits for its commits.
        let open = self.standing.fence.get().is_some();
        for (member, device) in all {
            let read = match open && device.caps().blocking {
                true => self.standing.read(member, device, (addr, out)),
                false => device.read(addr, out),
            };
            match read {
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
