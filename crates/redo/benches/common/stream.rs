//! A stream of redo that nobody waits for, in large transactions.

use super::AnyError;
use measure::workload::pool;
use redo::{CommitMode, Log};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a megabyte in these figures.
pub const MB: f64 = 1048576.0;

/// A stream: records of one size, a NOWAIT BATCH commit after so many.
#[derive(Clone, Copy)]
pub struct Stream {
    /// Bytes of a record.
    pub record_bytes: u32,
    /// Records of a transaction.
    pub records: u32,
    /// Sessions, each on a thread.
    pub threads: u32,
    /// Bytes that records are taken from.
    pub pool_bytes: usize,
}

/// Megabytes of redo per second, the last flush counted.
pub fn run(log: Log, stream: Stream, time: Duration) -> Result<f64, AnyError> {
    let log = Arc::new(log);
    let stop = Arc::new(AtomicBool::new(false));
    let total = Arc::new(AtomicU64::new(0));
    let bytes = pool(2, stream.pool_bytes);
    let start = Instant::now();
    let threads: Vec<_> = (0..stream.threads)
        .map(|job| {
            let (stop, total) = (Arc::clone(&stop), Arc::clone(&total));
            let mut session = log.session();
            let bytes = bytes.clone();
            std::thread::spawn(move || -> Result<(), redo::Error> {
                let len = stream.record_bytes as usize;
                let (mut at, mut appended) = (job as usize, 0);
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..stream.records {
                        at = if at + 2 * len > bytes.len() {
                            0
                        } else {
                            at + len
                        };
                        session.append(&[&bytes[at..at + len]])?;
                    }
                    session.commit(CommitMode::NOWAIT_BATCH)?;
                    appended += u64::from(stream.record_bytes) * u64::from(stream.records);
                }
                total.fetch_add(appended, Ordering::Relaxed);
                Ok(())
            })
        })
        .collect();
    let mut last = log.durable().log_seq;
    while start.elapsed() < time {
        std::thread::sleep(Duration::from_millis(1));
        let durable = log.durable();
        if durable.log_seq > last {
            last = durable.log_seq;
            log.checkpoint(durable)?;
        }
    }
    stop.store(true, Ordering::Relaxed);
    while threads.iter().any(|t| !t.is_finished()) {
        // A session that waits for log buffer space may wait for a checkpoint.
        let durable = log.durable();
        log.checkpoint(durable)?;
        std::thread::sleep(Duration::from_millis(1));
    }
    for thread in threads {
        thread.join().map_err(|_| "a job panicked")??;
    }
    log.flush()?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(total.load(Ordering::Relaxed) as f64 / MB / seconds)
}
