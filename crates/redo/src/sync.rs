//! The primitives of concurrency that this crate uses, in one place, so that loom can replace
//! them and explore every interleaving of the protocols in `buffer` and `wait`, and shuttle draw
//! schedules of whole logs.

#[cfg(not(any(feature = "loom", feature = "shuttle")))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
};

#[cfg(feature = "loom")]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
};

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
};

/// A shared registration; loom also finds one that is never given up.
#[cfg(feature = "loom")]
pub(crate) use loom::sync::Arc as Shared;
#[cfg(not(feature = "loom"))]
pub(crate) use std::sync::Arc as Shared;

/// The waker of one task. Neither method blocks.
#[derive(Debug, Default)]
pub(crate) struct WakerCell(
    #[cfg(not(feature = "loom"))] atomic_waker::AtomicWaker,
    #[cfg(feature = "loom")] loom::future::AtomicWaker,
);

impl WakerCell {
    /// Keeps `waker` in the place of an earlier one. Called by one thread at a time.
    #[inline]
    pub(crate) fn register(&self, waker: &std::task::Waker) {
        #[cfg(not(feature = "loom"))]
        self.0.register(waker);
        #[cfg(feature = "loom")]
        self.0.register_by_ref(waker);
    }

    /// Takes the waker out.
    #[inline]
    pub(crate) fn take(&self) -> Option<std::task::Waker> {
        #[cfg(not(feature = "loom"))]
        return self.0.take();
        #[cfg(feature = "loom")]
        self.0.take_waker()
    }
}

/// Threads of the engine; loom's models start their own.
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
pub(crate) use std::thread::{Builder, JoinHandle, current};

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::thread::{Builder, JoinHandle, current};

/// Whether this thread is the one of `handle`, whose end it cannot wait for.
#[cfg(not(feature = "loom"))]
pub(crate) fn is_own(handle: &JoinHandle<()>) -> bool {
    handle.thread().id() == current().id()
}

/// The engine's clock.
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
pub use measure::RealClock as EngineClock;

/// The engine's clock under shuttle: a microsecond passes with each look at it, so that a schedule
/// alone decides what happens.
#[cfg(feature = "shuttle")]
#[derive(Clone, Copy, Debug)]
pub struct EngineClock;

#[cfg(feature = "shuttle")]
impl EngineClock {
    pub(crate) fn new() -> EngineClock {
        TICKS.set(0);
        EngineClock
    }
}

#[cfg(feature = "shuttle")]
impl Default for EngineClock {
    fn default() -> EngineClock {
        EngineClock::new()
    }
}

#[cfg(feature = "shuttle")]
impl measure::Clock for EngineClock {
    fn now(&self) -> measure::Nanos {
        TICKS.set(TICKS.get() + 1);
        measure::Nanos::from_micros(TICKS.get())
    }
}

#[cfg(feature = "shuttle")]
std::thread_local! {
    // Of the thread that runs the test: all threads of a schedule are its coroutines.
    static TICKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    #[cfg(not(any(feature = "loom", feature = "shuttle")))]
    std::thread::yield_now();
    #[cfg(feature = "loom")]
    loom::thread::yield_now();
    #[cfg(feature = "shuttle")]
    shuttle::thread::yield_now();
}

/// Times that a wait for another thread yields before it sleeps: half a millisecond or so where
/// nobody else wants the processor.
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
const YIELDS: u32 = 1000;
/// The first sleep, and the longest.
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
const SLEEPS_US: (u64, u64) = (50, 1000);

/// Lets other threads run; to be called again with the next `turn`, from 0, while one waits for
/// what another thread is about to do. Yielding does for a thread that was taken off its processor.
/// One that stays away (it is stopped, it waits for a page, or this one has a real-time priority
/// and its processor) needs this one to sleep.
#[cold]
pub(crate) fn make_way(turn: u32) {
    #[cfg(not(any(feature = "loom", feature = "shuttle")))]
    if turn >= YIELDS {
        let doublings = (turn - YIELDS).min(10);
        let micros = (SLEEPS_US.0 << doublings).min(SLEEPS_US.1);
        std::thread::sleep(std::time::Duration::from_micros(micros));
        return;
    }
    let _ = turn;
    yield_now();
}

/// Keeps what different threads write off each other's cache lines (two lines: adjacent ones are
/// fetched in pairs).
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct Isolated<T>(pub(crate) T);

impl<T> std::ops::Deref for Isolated<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}
