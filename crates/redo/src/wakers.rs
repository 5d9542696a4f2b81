//! Lists of wakers: how tasks that await a commit are woken, as wake words (`crate::wait`) are for
//! threads that sleep.
//!
//! Each batch has a list. A task puts its [`Registration`] on it and looks again at what it awaits;
//! a waker changes that, takes the whole list and wakes each task. Between looking and returning
//! nothing can be lost, provided that both put a full fence between their two steps.
//!
//! Putting on the list is one compare-and-swap, taking it one exchange: nothing here blocks,
//! allocates or makes a system call. A registration is in one list at most, however often its task
//! is polled. One whose future was dropped stays on the list without its waker; when these are as
//! many as the others, the list is swept, so that its length is bounded by the futures that live.
//!
//! What it must not know: batches, who publishes, executors.
#![allow(unsafe_code)]

use crate::sync::{AtomicBool, AtomicPtr, AtomicU32, Ordering, Shared, WakerCell};
use std::ptr::null_mut;
use std::task::Waker;

/// Registrations of dropped futures that a list holds before it is swept.
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
const SWEEP_AT: u32 = 64;
#[cfg(any(feature = "loom", feature = "shuttle"))]
const SWEEP_AT: u32 = 1;

/// What wakes one task.
#[derive(Debug)]
pub(crate) struct Registration {
    /// What it awaits: that this batch is published.
    pub(crate) batch: u64,
    waker: WakerCell,
    /// It is in a list, which shares it then. Set by its owner, cleared by the thread that takes
    /// the list.
    listed: AtomicBool,
    /// Its future was dropped.
    dropped: AtomicBool,
    next: AtomicPtr<Registration>,
}

impl Registration {
    pub(crate) fn new(batch: u64) -> Shared<Registration> {
        Shared::new(Registration {
            batch,
            waker: WakerCell::default(),
            listed: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
            next: AtomicPtr::new(null_mut()),
        })
    }

    /// It is in a list.
    pub(crate) fn is_listed(&self) -> bool {
        self.listed.load(Ordering::Acquire)
    }

    /// Its task needs not be woken any more.
    #[inline]
    pub(crate) fn silence(&self) {
        drop(self.waker.take());
    }

    /// Wakes its task. It is on no list any more, so that its task puts it on one again if it has
    /// to: the waker is taken after that can be seen.
    fn wake(&self) {
        self.listed.store(false, Ordering::Release);
        if let Some(waker) = self.waker.take() {
            shielded(|| waker.wake());
        }
    }
}

/// A waker is code of the embedder. One that panics costs its own task, not the log writer.
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
fn shielded(wake: impl FnOnce()) {
    drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(wake)));
}

/// Models fail by panics, which must not be caught.
#[cfg(any(feature = "loom", feature = "shuttle"))]
fn shielded(wake: impl FnOnce()) {
    wake();
}

/// The tasks that await the same.
#[derive(Debug)]
pub(crate) struct WakerList {
    head: AtomicPtr<Registration>,
    /// About as many registrations of dropped futures are on the list.
    dropped: AtomicU32,
    sweep_at: AtomicU32,
}

impl Default for WakerList {
    fn default() -> WakerList {
        WakerList {
            head: AtomicPtr::new(null_mut()),
            dropped: AtomicU32::new(0),
            sweep_at: AtomicU32::new(SWEEP_AT),
        }
    }
}

impl WakerList {
    /// Sees to it that `waker`, in the place of an earlier one, is woken when the list is. To be
    /// called by the future's owner, who then looks again at what it awaits, after a full fence.
    #[inline]
    pub(crate) fn register(&self, registration: &Shared<Registration>, waker: &Waker) {
        registration.waker.register(waker);
        if !registration.is_listed() {
            registration.listed.store(true, Ordering::Relaxed);
            self.push(Shared::clone(registration));
        }
    }

    #[inline]
    fn push(&self, registration: Shared<Registration>) {
        let next = &raw const registration.next;
        let pushed = Shared::into_raw(registration).cast_mut();
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: until the exchange below succeeds, the share that `into_raw` gave belongs to
            // this thread and keeps the registration alive.
            unsafe { &*next }.store(head, Ordering::Relaxed);
            match self
                .head
                .compare_exchange_weak(head, pushed, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes everything that is on the list, in the order in which it was put there.
    #[inline]
    fn take(&self) -> TakenWakers {
        if self.head.load(Ordering::Relaxed).is_null() {
            return TakenWakers(null_mut());
        }
        TakenWakers(self.head.swap(null_mut(), Ordering::AcqRel)).reversed()
    }

    /// Wakes every task on the list. To be called after what they await has happened, and a full
    /// fence.
    #[inline]
    pub(crate) fn wake(&self) {
        let taken = self.take();
        if taken.0.is_null() {
            return;
        }
        self.dropped.store(0, Ordering::Relaxed);
        self.sweep_at.store(SWEEP_AT, Ordering::Relaxed);
        for registration in taken {
            registration.wake();
        }
    }

    /// The future of `registration`, which may be on this list, was dropped. Returns whether the
    /// list is to be swept.
    #[inline]
    pub(crate) fn forget(&self, registration: &Registration) -> bool {
        registration.silence();
        if !registration.is_listed() {
            return false;
        }
        registration.dropped.store(true, Ordering::Release);
        let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
        dropped >= self.sweep_at.load(Ordering::Relaxed)
    }

    /// Forgets who is on the list: for a planted bug.
    #[cold]
    pub(crate) fn lose(&self) {
        drop(self.take());
    }

    /// Gives up the registrations of dropped futures. Returns the least batch that one of the
    /// others awaits: a thread that took the list meanwhile did not find them, so that the caller,
    /// after a full fence, has to look again at what they await.
    #[cold]
    pub(crate) fn sweep(&self) -> Option<u64> {
        let taken = self.take();
        self.dropped.store(0, Ordering::Relaxed);
        let (mut least, mut alive) = (None, 0_u32);
        for registration in taken {
            if registration.dropped.load(Ordering::Acquire) {
                registration.listed.store(false, Ordering::Release);
                continue;
            }
            least = Some(least.map_or(registration.batch, |l: u64| l.min(registration.batch)));
            alive += 1;
            self.push(registration);
        }
        self.sweep_at.store(alive.max(SWEEP_AT), Ordering::Relaxed);
        least
    }
}

impl Drop for WakerList {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// What was on a list, linked by `next`; each is shared by this chain.
struct TakenWakers(*mut Registration);

impl TakenWakers {
    /// A list is a stack: the last comes first.
    fn reversed(self) -> TakenWakers {
        let mut reversed = TakenWakers(null_mut());
        for registration in self {
            registration.next.store(reversed.0, Ordering::Relaxed);
            reversed.0 = Shared::into_raw(registration).cast_mut();
        }
        reversed
    }
}

impl Iterator for TakenWakers {
    type Item = Shared<Registration>;

    #[inline]
    fn next(&mut self) -> Option<Shared<Registration>> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: every pointer of the chain came from `into_raw`, whose share nobody else took
        // back: a list is taken by one exchange, and a registration is in one list at most.
        let registration = unsafe { Shared::from_raw(self.0.cast_const()) };
        self.0 = registration.next.load(Ordering::Relaxed);
        Some(registration)
    }
}

impl Drop for TakenWakers {
    fn drop(&mut self) {
        while self.next().is_some() {}
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests;
