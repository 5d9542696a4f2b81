//! Wake words: how foregrounds sleep until their redo is durable, and how they are woken.
//!
//! A word is a counter. A waiter reads it, checks its condition, and sleeps only if the word is
//! still what it read; a waker changes the condition, bumps the word, then wakes. Between
//! reading and sleeping nothing can be lost, provided that every waker bumps.

#[cfg(feature = "loom")]
use crate::sync::{AtomicU32, Ordering, fence};

#[cfg(not(feature = "loom"))]
pub(crate) use device::Doorbell as WaitWord;

/// The same counters over loom's mutex and condition variable in the place of the kernel's queue.
#[cfg(feature = "loom")]
#[derive(Debug, Default)]
pub(crate) struct WaitWord {
    word: AtomicU32,
    sleepers: AtomicU32,
    queue: loom::sync::Mutex<()>,
    woken: loom::sync::Condvar,
}

#[cfg(feature = "loom")]
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
        let queue = self.queue.lock().expect("loom");
        if self.word.load(Ordering::SeqCst) == seen {
            drop(self.woken.wait(queue).expect("loom"));
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    pub(crate) fn wake(&self, n: u32) {
        if self.sleepers() > 0 {
            let queue = self.queue.lock().expect("loom");
            for _ in 0..n.min(4) {
                self.woken.notify_one();
            }
            drop(queue);
        }
    }

    pub(crate) fn wake_all(&self) {
        if self.sleepers() > 0 {
            let queue = self.queue.lock().expect("loom");
            self.woken.notify_all();
            drop(queue);
        }
    }
}
