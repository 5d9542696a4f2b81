//! Threads that keep processors busy beside the sessions of a row, so that sessions compete for
//! them.
//!
//! Invariant: the threads end with the value that holds them, on failures too.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

/// Rounds of the loop between two looks at the end: some microseconds.
const ROUNDS: u32 = 1000;

/// Threads that compute until this is dropped.
#[derive(Debug)]
pub(crate) struct BusyThreads {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyThreads {
    /// Starts `count` threads.
    ///
    /// # Errors
    /// When the system gives no more threads; those that were started end.
    pub(crate) fn start(count: u32) -> std::io::Result<BusyThreads> {
        let mut busy = BusyThreads {
            stop: Arc::default(),
            threads: Vec::new(),
        };
        for number in 0..count {
            let stop = Arc::clone(&busy.stop);
            let thread = Builder::new().name(format!("busy-{number}"));
            busy.threads.push(thread.spawn(move || spin(&stop))?);
        }
        Ok(busy)
    }
}

impl Drop for BusyThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It cannot panic.
            let _ = thread.join();
        }
    }
}

/// Computes without a system call and without pausing the processor.
fn spin(stop: &AtomicBool) {
    let mut state = 1_u64;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..ROUNDS {
            state = hint::black_box(measure::workload::split_mix(&mut state));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn they_run_until_they_are_dropped() {
        let names = || {
            let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
            let name = |task: std::io::Result<std::fs::DirEntry>| {
                std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
            };
            let busy = |name: &String| name.starts_with("busy-");
            tasks.filter_map(name).filter(busy).count()
        };
        let busy = BusyThreads::start(3).expect("threads");
        let end = Instant::now() + Duration::from_secs(60);
        while names() < 3 {
            assert!(Instant::now() < end, "three threads have started");
        }
        drop(busy);
        assert_eq!(names(), 0, "they have ended");
    }
}
