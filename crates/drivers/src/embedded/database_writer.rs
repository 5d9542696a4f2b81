//! A stand-in for the database writer: what a workload writes is never needed again, so the
//! checkpoint moves after each log switch.

use redo::Log;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it looks for a log switch.
const LOOK: Duration = Duration::from_millis(2);
/// Flushes of a checkpoint: two copies of the control information.
const CHECKPOINT_FLUSHES: u64 = 2;

/// Flushes of checkpoints so far: the device counts them with the log's.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushes(Arc<AtomicU64>);

impl Flushes {
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Moves the checkpoint after each log switch.
pub(super) struct DatabaseWriter {
    stop: Arc<AtomicBool>,
    flushes: Flushes,
    thread: JoinHandle<()>,
}

impl DatabaseWriter {
    pub(super) fn start(log: Arc<Log>) -> std::io::Result<DatabaseWriter> {
        let stop = Arc::new(AtomicBool::new(false));
        let flushes = Flushes::default();
        let (stopped, counted) = (Arc::clone(&stop), flushes.clone());
        let thread = std::thread::Builder::new()
            .name("dbwr".to_owned())
            .spawn(move || {
                let mut last = log.durable().log_seq;
                while !stopped.load(Ordering::SeqCst) {
                    let durable = log.durable();
                    if durable.log_seq > last {
                        last = durable.log_seq;
                        // A log that failed reports that to its sessions.
                        if log.checkpoint(durable).is_err() {
                            return;
                        }
                        counted.0.fetch_add(CHECKPOINT_FLUSHES, Ordering::Relaxed);
                    }
                    std::thread::sleep(LOOK);
                }
            })?;
        Ok(DatabaseWriter {
            stop,
            flushes,
            thread,
        })
    }

    pub(super) fn flushes(&self) -> Flushes {
        self.flushes.clone()
    }

    /// Ends it.
    pub(super) fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        // It reports nothing: what the log failed of every caller learns.
        let _ = self.thread.join();
    }
}
