//! A thread beside the sessions of a log: the database writer, the archiver. One that fails closes
//! the log, so that sessions do not wait for it for ever, and keeps why.

use redo::Log;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// Flushes of an update of the control information: two copies.
const CONTROL_FLUSHES: u64 = 2;

/// What all threads of a log report to.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    log: Arc<Log>,
    /// Updates of the control information: the device counts their flushes with the log's.
    updates: Arc<AtomicU64>,
    /// Why one of them stopped.
    failed: Arc<OnceLock<String>>,
}

impl Progress {
    pub(super) fn of(log: &Arc<Log>) -> Progress {
        Progress {
            log: Arc::clone(log),
            updates: Arc::default(),
            failed: Arc::default(),
        }
    }

    /// The control information was updated.
    pub(super) fn updated_control(&self) {
        self.updates.fetch_add(1, Ordering::Relaxed);
    }

    /// Flushes of control information so far.
    pub(super) fn control_flushes(&self) -> u64 {
        self.updates.load(Ordering::Relaxed) * CONTROL_FLUSHES
    }

    /// Why a thread stopped, if one did.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failed.get().map(String::as_str)
    }
}

/// Whether a thread is to end.
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(super) fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub(super) fn sleep(&self, time: Duration) {
        if !self.is_asked() {
            std::thread::sleep(time);
        }
    }
}

/// A thread that runs.
pub(super) struct Background {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Background {
    /// Runs `work` until it is stopped or fails. What it fails of is kept before the log is closed.
    pub(super) fn start(
        name: &str,
        progress: Progress,
        work: impl FnOnce(&Stop) -> Result<(), String> + Send + 'static,
    ) -> std::io::Result<Background> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Stop(Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                if let Err(why) = work(&stopped) {
                    // The first reason is the one that is reported.
                    let _ = progress.failed.set(why);
                    // It reports to the sessions that the log is closed; why is kept.
                    let _ = progress.log.close();
                }
            })?;
        Ok(Background { stop, thread })
    }

    /// Ends it.
    pub(super) fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        // It reports nothing: why it failed is kept.
        let _ = self.thread.join();
    }
}
