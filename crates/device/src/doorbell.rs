//! A doorbell: how one thread sleeps until another one has something for it.
//!
//! It is a counter. A thread that waits reads it, looks at what it waits for, and sleeps only if
//! the counter is still what he read; who rings changes that first, bumps the counter, then wakes.
//! Between looking and sleeping nothing can be lost, provided that everybody who changes something
//! bumps.

#[cfg(feature = "shuttle")]
mod drawn;

#[cfg(feature = "shuttle")]
pub use drawn::DrawnDoorbell as Doorbell;
#[cfg(not(feature = "shuttle"))]
use rustix::thread::{Timespec, futex};
#[cfg(not(feature = "shuttle"))]
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
#[cfg(not(feature = "shuttle"))]
use std::time::Duration;

/// A futex word that counts its sleepers, so that nobody is woken by a system call in vain.
#[cfg(not(feature = "shuttle"))]
#[derive(Debug, Default)]
pub struct Doorbell {
    word: AtomicU32,
    sleepers: AtomicU32,
}

#[cfg(not(feature = "shuttle"))]
impl Doorbell {
    /// What to hand to [`Doorbell::wait`].
    #[inline]
    #[must_use]
    pub fn read(&self) -> u32 {
        self.word.load(Ordering::SeqCst)
    }

    /// Makes every `wait` with an earlier reading return.
    #[inline]
    pub fn bump(&self) {
        self.word.fetch_add(1, Ordering::SeqCst);
    }

    /// Bumps, and wakes one sleeper.
    #[inline]
    pub fn ring(&self) {
        self.bump();
        self.wake(1);
    }

    /// Sleepers at this moment.
    #[inline]
    #[must_use]
    pub fn sleepers(&self) -> u32 {
        self.sleepers.load(Ordering::SeqCst)
    }

    /// The futex word itself, for a queue that waits for it in the kernel beside its operations.
    /// Such a queue counts itself among the sleepers with [`Doorbell::asleep`].
    #[must_use]
    pub fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Counts a sleeper until what is returned is dropped: the thread that rings makes the system
    /// call.
    #[must_use]
    pub fn asleep(&self) -> Asleep<'_> {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        Asleep(self)
    }

    /// Sleeps while the word is `seen`. May return early; callers check their condition again.
    pub fn wait(&self, seen: u32) {
        self.wait_timeout(seen, None);
    }

    /// As [`Doorbell::wait`], at most for `timeout`.
    pub fn wait_timeout(&self, seen: u32, timeout: Option<Duration>) {
        let _asleep = self.asleep();
        let spec = timeout.map(|t| Timespec {
            tv_sec: i64::try_from(t.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: t.subsec_nanos().into(),
        });
        // Every error is a reason to look again: the word moved, a signal came, time is up.
        let _ = futex::wait(&self.word, futex::Flags::PRIVATE, seen, spec.as_ref());
    }

    /// Wakes at most `n` sleepers; costs no system call when there are none.
    #[inline]
    pub fn wake(&self, n: u32) {
        if self.sleepers() > 0 {
            // Waking cannot fail on a valid address; a count is not needed.
            let _ = futex::wake(&self.word, futex::Flags::PRIVATE, n);
        }
    }

    /// Wakes all sleepers.
    #[inline]
    pub fn wake_all(&self) {
        self.wake(i32::MAX as u32);
    }
}

/// A sleeper that is counted.
#[derive(Debug)]
pub struct Asleep<'a>(&'a Doorbell);

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        self.0.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn who_was_rung_for_before_he_sleeps_does_not_sleep() {
        let bell = Doorbell::default();
        let seen = bell.read();
        bell.ring();
        // Without a timeout: it would hang.
        bell.wait(seen);
        assert_ne!(bell.read(), seen);
        assert_eq!(bell.sleepers(), 0);
    }

    #[test]
    fn a_ring_wakes_a_sleeper() {
        let bell = Doorbell::default();
        let seen = bell.read();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while bell.read() == seen {
                    bell.wait(seen);
                }
            });
            while bell.sleepers() == 0 {
                std::thread::yield_now();
            }
            bell.ring();
        });
    }
}
