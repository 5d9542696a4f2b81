//! Wake words: how foregrounds sleep until their redo is durable, and how they are woken.
//!
//! A word is a counter. A waiter reads it, checks its condition, and sleeps only if the word is
//! still what it read; a waker changes the condition, bumps the word, then wakes. Between
//! reading and sleeping nothing can be lost, provided that every waker bumps.

use crate::sync::{AtomicU32, Ordering};
#[cfg(any(loom, shuttle))]
use crate::sync::{Condvar, Mutex, fence};
#[cfg(not(any(loom, shuttle)))]
use rustix::thread::futex;

/// A futex word that counts its sleepers, so that nobody is woken by a system call in vain.
#[cfg(not(any(loom, shuttle)))]
#[derive(Debug, Default)]
pub(crate) struct WaitWord {
    word: AtomicU32,
    sleepers: AtomicU32,
}

#[cfg(not(any(loom, shuttle)))]
impl WaitWord {
    /// What to hand to [`WaitWord::wait`].
    #[inline]
    pub(crate) fn read(&self) -> u32 {
        self.word.load(Ordering::SeqCst)
    }

    /// Makes every `wait` with an earlier reading return.
    #[inline]
    pub(crate) fn bump(&self) {
        self.word.fetch_add(1, Ordering::SeqCst);
    }

    /// Sleepers at this moment.
    #[inline]
    pub(crate) fn sleepers(&self) -> u32 {
        self.sleepers.load(Ordering::SeqCst)
    }

    /// Sleeps while the word is `seen`. May return early; callers check their condition again.
    pub(crate) fn wait(&self, seen: u32) {
        self.wait_timeout(seen, None);
    }

    /// As [`WaitWord::wait`], at most for `timeout`.
    pub(crate) fn wait_timeout(&self, seen: u32, timeout: Option<std::time::Duration>) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let spec = timeout.map(|t| rustix::thread::Timespec {
            tv_sec: i64::try_from(t.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: t.subsec_nanos().into(),
        });
        // Every error is a reason to look again: the word moved, a signal came, time is up.
        let _ = futex::wait(&self.word, futex::Flags::PRIVATE, seen, spec.as_ref());
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes at most `n` sleepers; costs no system call when there are none.
    #[inline]
    pub(crate) fn wake(&self, n: u32) {
        if self.sleepers() > 0 {
            // Waking cannot fail on a valid address; a count is not needed.
            let _ = futex::wake(&self.word, futex::Flags::PRIVATE, n);
        }
    }

    /// Wakes all sleepers.
    #[inline]
    pub(crate) fn wake_all(&self) {
        self.wake(i32::MAX as u32);
    }
}

/// The same counters over a mutex and condition variable of loom's or shuttle's in the place of the
/// kernel's queue.
#[cfg(any(loom, shuttle))]
#[derive(Debug, Default)]
pub(crate) struct WaitWord {
    word: AtomicU32,
    sleepers: AtomicU32,
    queue: Mutex<()>,
    woken: Condvar,
}

#[cfg(any(loom, shuttle))]
impl WaitWord {
    pub(crate) fn read(&self) -> u32 {
        self.word.load(Ordering::SeqCst)
    }

    pub(crate) fn bump(&self) {
        self.word.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn sleepers(&self) -> u32 {
        // Loom takes a sequentially consistent access for acquire and release only; the fences
        // here and below give back what the real ones have.
        fence(Ordering::SeqCst);
        self.sleepers.load(Ordering::SeqCst)
    }

    /// Compares and sleeps in one, like a futex. A wake-up that comes for another reason returns
    /// too.
    pub(crate) fn wait(&self, seen: u32) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let queue = self.queue.lock().expect("nobody panics with it");
        if self.word.load(Ordering::SeqCst) == seen {
            drop(self.woken.wait(queue).expect("nobody panics with it"));
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Time does not pass: a wake-up that is lost is not hidden by a time that runs out.
    #[cfg(shuttle)]
    pub(crate) fn wait_timeout(&self, seen: u32, _timeout: Option<std::time::Duration>) {
        self.wait(seen);
    }

    pub(crate) fn wake(&self, n: u32) {
        if self.sleepers() > 0 {
            let queue = self.queue.lock().expect("nobody panics with it");
            for _ in 0..n.min(16) {
                self.woken.notify_one();
            }
            drop(queue);
        }
    }

    pub(crate) fn wake_all(&self) {
        if self.sleepers() > 0 {
            let queue = self.queue.lock().expect("nobody panics with it");
            self.woken.notify_all();
            drop(queue);
        }
    }
}
