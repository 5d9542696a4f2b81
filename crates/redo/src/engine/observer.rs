//! What is called for each log write.
//!
//! Invariant: an observer that one log alone has is called without a lock
//! (experiments/engine-versions).

use super::host::LogWrite;
// The observer is no part of what schedules and models draw.
use std::sync::{Arc, Mutex, PoisonError};

type Observe = dyn FnMut(&LogWrite) + Send;

/// What [`Options::observer`](crate::Options::observer) gave: called for each log write by the
/// holder of the baton: it must be quick and must not call the log.
#[derive(Clone)]
pub struct Observer(Arc<Mutex<Box<Observe>>>);

impl Observer {
    pub(super) fn new(observe: impl FnMut(&LogWrite) + Send + 'static) -> Observer {
        Observer(Arc::new(Mutex::new(Box::new(observe))))
    }

    /// Calls it, also after a call that panicked.
    pub fn observe(&self, write: &LogWrite) {
        let mut observe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (*observe)(write);
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
    pub(super) fn observe(&mut self, write: &LogWrite) {
        match self {
            LogObserver::Own(observe) => observe(write),
            LogObserver::Shared(observer) => observer.observe(write),
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
