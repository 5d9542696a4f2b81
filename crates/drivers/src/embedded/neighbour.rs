//! A neighbour of the log: it appends to a file of its own and calls fsync again and again, as
//! other software does on the same file system. On ext4 an fsync flushes the whole transaction of
//! the journal, so that log and neighbour wait for each other.
//!
//! What it must not know: the log, and what its file is good for.

use super::background::{Background, Progress, Stop};
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that are appended before each fsync.
const APPENDED_BYTES: usize = 4096;
/// The file of a neighbour begins anew at this size.
pub const NEIGHBOUR_BYTES: u64 = 64 << 20;
/// A neighbour does nothing longer than this without looking whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// A neighbour's file, and how often it is synchronised.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// Empty, and open for writing.
    pub file: Arc<File>,
    /// From the beginning of an fsync to that of the next. One that takes longer delays the next.
    pub every: Duration,
}

/// The time of each fsync so far, nanoseconds, in their order.
#[derive(Debug, Default)]
pub(super) struct NeighbourTimes(Mutex<Vec<u64>>);

impl NeighbourTimes {
    fn push(&self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(ns);
    }

    pub(super) fn read(&self) -> Vec<u64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

/// Begins to append and to synchronise.
///
/// # Errors
/// When the system gives no thread.
pub(super) fn start(
    neighbour: Neighbour,
    times: Arc<NeighbourTimes>,
    progress: Progress,
) -> std::io::Result<Background> {
    Background::start("neighbour", progress, move |stop| {
        let ended = run(&neighbour, &times, stop);
        ended.map_err(|error| format!("the neighbour's file: {error}"))
    })
}

fn run(neighbour: &Neighbour, times: &NeighbourTimes, stop: &Stop) -> std::io::Result<()> {
    let mut file = &*neighbour.file;
    let content = [0x6e; APPENDED_BYTES];
    let mut due = Instant::now();
    let mut bytes = 0;
    while !stop.is_asked() {
        let left = due.saturating_duration_since(Instant::now());
        if left > Duration::ZERO {
            stop.sleep(left.min(LOOK));
            continue;
        }
        if bytes >= NEIGHBOUR_BYTES {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            bytes = 0;
        }
        file.write_all(&content)?;
        bytes += APPENDED_BYTES as u64;
        let begun = Instant::now();
        file.sync_all()?;
        times.push(begun.elapsed());
        due = begun + neighbour.every;
    }
    Ok(())
}
