//! What is called for each log write.
//!
//! Invariant: an observer that one log alone has is called without a lock
//! (experiments/engine-versions).

use crate::buffer::Stations;
// The observer is no part of what schedules and models draw.
use std::sync::{Arc, Mutex, PoisonError};

/// One log write, as it is reported to an observer when it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogWrite {
    /// The batch.
    pub batch: u64,
    /// Commits that waited for it when it was sealed or joined until it was durable.
    pub commits: u32,
    /// Bytes of redo, record headers included.
    pub redo_bytes: u32,
    /// Blocks written.
    pub blocks: u32,
    /// Operations that wrote it.
    pub writes: u32,
    /// Operations that made it durable: flushes, or its writes where each is durable by itself;
    /// none where a flush that an earlier batch reports covered it.
    pub flushes: u32,
    /// Nanoseconds for which it was written and its flush was deferred, because nobody waited.
    pub deferred_ns: u64,
    /// Log sequence number of its last block.
    pub log_seq: u64,
    /// A log switch happened in it.
    pub switched: bool,
    /// Nanoseconds that it waited for the checkpoint: `log file switch (checkpoint incomplete)`.
    pub checkpoint_wait_ns: u64,
    /// Nanoseconds that it waited for the archiver, after the checkpoint where it waited for both:
    /// `log file switch (archiving needed)`. 0 outside of archive mode.
    pub archive_wait_ns: u64,
    /// Several batches could be in flight when it was sealed; otherwise it was written alone.
    pub scalable: bool,
    /// The worker that ended its last write, from 0; `None` where the log writer wrote itself.
    pub worker: Option<u16>,
    /// Nanoseconds that redo somebody wanted written waited for a place in flight before this
    /// batch was sealed: `LGWR any worker group`.
    pub group_wait_ns: u64,
    /// When it passed its stations.
    pub stations: Stations,
}

/// One batch, as it is reported to an observer when it is written: its redo left the log buffer,
/// and nobody who waits for it was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenBatch {
    /// The batch.
    pub batch: u64,
    /// Blocks written.
    pub blocks: u32,
    /// Operations that wrote it.
    pub writes: u32,
    /// A log switch happened in it.
    pub switched: bool,
    /// When the last of these operations ended, nanoseconds on the log's clock.
    pub at_ns: u64,
}

/// What an observer is called with, for each batch twice and in this order.
#[derive(Clone, Copy, Debug)]
pub enum BatchEvent<'a> {
    /// It is written. Count bytes here: it may be durable much later.
    Written(&'a WrittenBatch),
    /// It is durable, and those who wait for it are released next.
    Durable(&'a LogWrite),
}

type Observe = dyn FnMut(BatchEvent<'_>) + Send;

/// What [`Options::observer`](crate::Options::observer) or
/// [`Options::observe_batches`](crate::Options::observe_batches) gave: called for each log write by
/// the holder of the baton: it must be quick and must not call the log.
#[derive(Clone)]
pub struct Observer(Arc<Mutex<Box<Observe>>>);

impl Observer {
    pub(super) fn new(observe: impl FnMut(BatchEvent<'_>) + Send + 'static) -> Observer {
        Observer(Arc::new(Mutex::new(Box::new(observe))))
    }

    /// Calls it, also after a call that panicked.
    pub fn observe(&self, event: BatchEvent<'_>) {
        let mut observe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (*observe)(event);
    }

    /// As a log that is opened has it.
    pub(super) fn of_log(self) -> LogObserver {
        match Arc::try_unwrap(self.0) {
            Ok(own) => LogObserver::Own(own.into_inner().unwrap_or_else(PoisonError::into_inner)),
            Err(shared) => LogObserver::Shared(Observer(shared)),
        }
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer")
    }
}

/// The observer of an open log.
pub(super) enum LogObserver {
    /// No options have it any more.
    Own(Box<Observe>),
    /// Options have it, with which other logs may be opened or are open.
    Shared(Observer),
}

impl LogObserver {
    /// Calls it.
    pub(super) fn observe(&mut self, event: BatchEvent<'_>) {
        match self {
            LogObserver::Own(observe) => observe(event),
            LogObserver::Shared(observer) => observer.observe(event),
        }
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn only_an_observer_that_options_share_is_locked() {
        let observer = Observer::new(|_| {});
        let other = observer.clone();
        assert!(matches!(observer.of_log(), LogObserver::Shared(_)));
        assert!(matches!(other.of_log(), LogObserver::Own(_)));
    }
}
