//! The doorbell under shuttle: a mutex and a condition variable in the place of the kernel's queue,
//! so that a drawn schedule decides who runs. It is what the real one promises, and no more.
//!
//! What it must not know: time. A wake-up that is lost is not hidden by a time that runs out.

use super::Asleep;
use shuttle::sync::atomic::{AtomicU32, Ordering};
use shuttle::sync::{Condvar, Mutex};
use std::sync::PoisonError;
use std::time::Duration;

/// More are never woken at once: no test has as many threads.
const SLEEPERS_MAX: u32 = 16;

/// A counter that counts its sleepers.
#[derive(Debug, Default)]
pub struct DrawnDoorbell {
    word: AtomicU32,
    pub(super) sleepers: AtomicU32,
    queue: Mutex<()>,
    woken: Condvar,
    /// For queues of the kernel's, of which there are none here.
    kernel: std::sync::atomic::AtomicU32,
}

impl DrawnDoorbell {
    /// What to hand to [`DrawnDoorbell::wait`].
    #[must_use]
    pub fn read(&self) -> u32 {
        self.word.load(Ordering::SeqCst)
    }

    /// Makes every `wait` with an earlier reading return.
    pub fn bump(&self) {
        self.word.fetch_add(1, Ordering::SeqCst);
    }

    /// Bumps, and wakes one sleeper.
    pub fn ring(&self) {
        self.bump();
        self.wake(1);
    }

    /// Sleepers at this moment.
    #[must_use]
    pub fn sleepers(&self) -> u32 {
        self.sleepers.load(Ordering::SeqCst)
    }

    /// Never waited for: no queue waits in the kernel here.
    #[must_use]
    pub fn word(&self) -> &std::sync::atomic::AtomicU32 {
        &self.kernel
    }

    /// Counts a sleeper until what is returned is dropped.
    #[must_use]
    pub fn asleep(&self) -> Asleep<'_> {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        Asleep(self)
    }

    /// Sleeps while the word is `seen`. Compares and sleeps in one, like a futex.
    pub fn wait(&self, seen: u32) {
        let _asleep = self.asleep();
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if self.word.load(Ordering::SeqCst) == seen {
            drop(self.woken.wait(queue).expect("nobody panics with it"));
        }
    }

    /// As [`DrawnDoorbell::wait`]: time does not pass.
    pub fn wait_timeout(&self, seen: u32, _timeout: Option<Duration>) {
        self.wait(seen);
    }

    /// Wakes at most `n` sleepers.
    pub fn wake(&self, n: u32) {
        if self.sleepers() > 0 {
            // A schedule that failed unwinds all its threads: a thread that wakes there must not
            // panic again.
            let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            for _ in 0..n.min(SLEEPERS_MAX) {
                self.woken.notify_one();
            }
            drop(queue);
        }
    }

    /// Wakes all sleepers.
    pub fn wake_all(&self) {
        self.wake(SLEEPERS_MAX);
    }
}
