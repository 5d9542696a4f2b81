//! The primitives of concurrency that this crate uses, in one place, so that loom can replace
//! them and explore every interleaving of the protocols in `buffer` and `wait`.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

/// Lets another thread run.
pub(crate) fn yield_now() {
    #[cfg(not(loom))]
    std::thread::yield_now();
    #[cfg(loom)]
    loom::thread::yield_now();
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
