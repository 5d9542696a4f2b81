//! A thread that reads processors and device once per second, and windows over what it has read.
//!
//! Invariants: a window's totals are read at its own ends, not at the thread's ticks; what lies
//! before the present window is forgotten, so memory stays bounded by the longest row; stopping
//! ends the thread at once. One sample costs two small reads.

use super::background::own_written_bytes;
use super::cpu::{CpuShares, CpuTimes, OwnUsage};
use super::diskstats::{Counters, DiskStats};
use super::mountstats::Share;
use super::topology::DevNo;
use measure::record::{DeviceCounts, Observations, ProcessorTicks, Recording};
use measure::run::NfsRequests;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest part of /proc/stat that is read: its first line is what counts.
const STAT_HEAD_BYTES: usize = 512;

/// What was read at one moment.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    cpu: Option<CpuTimes>,
    disk: Option<DiskStats>,
}

/// One interval of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// End of the interval, after the window's start.
    pub end: Duration,
    /// Its length.
    pub length: Duration,
    /// Processors.
    pub cpu: Option<CpuShares>,
    /// What the device counted in it.
    pub disk: Option<DiskStats>,
    /// Device utilisation, percent.
    pub device_util_pct: Option<f64>,
}

/// All of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledWindow {
    /// The whole window.
    pub total: Observed,
    /// Processor time in it; `None` where it cannot be read.
    pub ticks: Option<ProcessorTicks>,
    /// This process, over the window.
    pub own: Option<OwnUsage>,
    /// Bytes that this process wrote in it, where the kernel accounts for them.
    pub own_written_bytes: Option<u64>,
    /// Requests of the NFS client in it, where the target is on NFS.
    pub nfs: Option<NfsRequests>,
    /// Its intervals, each a sampling period long but the first and the last.
    pub intervals: Vec<Observed>,
}

impl SampledWindow {
    /// Adds what the kernel counted of device and processors of a machine to what was measured
    /// meanwhile.
    pub fn add_to(&self, made: &mut Recording, device: Option<DevNo>, machine: &str) {
        let window = made.windows.first().copied().unwrap_or_default();
        if let Some((device, disk)) = device.zip(self.total.disk) {
            let length = self.total.length.as_nanos();
            let counts = DeviceCounts {
                observed_ns: u64::try_from(length).unwrap_or(u64::MAX),
                writes: disk.data_writes(),
                written_bytes: disk.written_bytes(),
                busy_ms: disk.busy_ms,
            };
            made.devices = Observations::one(&format!("{machine}/{device}"), window, counts);
        }
        if let Some(ticks) = self.ticks {
            made.processors = Observations::one(machine, window, ticks);
        }
    }
}

/// A window that is open.
#[derive(Debug)]
pub struct Window {
    start: Sample,
    own: Option<OwnUsage>,
    own_written: Option<u64>,
    nfs: Option<NfsRequests>,
}

struct Source {
    stat: Option<File>,
    counters: Option<Counters>,
    /// Read at the ends of a window only: its file covers all mounts.
    share: Option<Share>,
}

impl Source {
    fn sample(&self) -> Sample {
        let cpu = self.stat.as_ref().and_then(|file| {
            let mut buffer = [0_u8; STAT_HEAD_BYTES];
            let length = file.read_at(&mut buffer, 0).ok()?;
            let text = String::from_utf8_lossy(buffer.get(..length)?).into_owned();
            CpuTimes::parse(&text)
        });
        Sample {
            at: Instant::now(),
            cpu,
            disk: self.counters.as_ref().and_then(|c| c.read().ok()),
        }
    }
}

#[derive(Default)]
struct Shared {
    samples: Mutex<Vec<Sample>>,
    stop: Mutex<bool>,
    stopped: Condvar,
}

/// The sampling thread. Dropping it stops it.
pub struct Sampler {
    source: Arc<Source>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sampler")
    }
}

impl Sampler {
    /// Starts sampling every `period`. `counters` is `None` where the target has no device.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(counters: Option<Counters>, period: Duration) -> std::io::Result<Sampler> {
        Sampler::start_on(counters, None, period)
    }

    /// The same on a target that may be a share on NFS.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start_on(
        counters: Option<Counters>,
        share: Option<Share>,
        period: Duration,
    ) -> std::io::Result<Sampler> {
        let source = Arc::new(Source {
            stat: File::open("/proc/stat").ok(),
            counters,
            share,
        });
        let shared = Arc::new(Shared::default());
        let (from, to) = (Arc::clone(&source), Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample_until_stopped(&from, &to, period))?;
        Ok(Sampler {
            source,
            shared,
            thread: Some(thread),
        })
    }

    /// Opens a window here and now and forgets all that lies before it.
    #[must_use]
    pub fn begin(&self) -> Window {
        lock(&self.shared.samples).clear();
        Window {
            start: self.source.sample(),
            own: OwnUsage::now().ok(),
            own_written: own_written_bytes(),
            nfs: self.requests(),
        }
    }

    /// The device whose counters are read, where there is one.
    #[must_use]
    pub fn device(&self) -> Option<DevNo> {
        self.source.counters.as_ref().map(Counters::dev)
    }

    /// What the device has counted so far, read here and now.
    #[must_use]
    pub fn disk(&self) -> Option<DiskStats> {
        self.source.counters.as_ref()?.read().ok()
    }

    fn requests(&self) -> Option<NfsRequests> {
        self.source.share.as_ref()?.requests()
    }

    /// Closes a window here and now.
    #[must_use]
    pub fn end(&self, window: Window) -> SampledWindow {
        let own = OwnUsage::now().ok();
        let own_written = own_written_bytes();
        let nfs = self.requests();
        let end = self.source.sample();
        let samples: Vec<Sample> = lock(&self.shared.samples).clone();
        SampledWindow {
            total: between(&window.start, &window.start, &end),
            ticks: end
                .cpu
                .zip(window.start.cpu)
                .map(|(now, then)| now.ticks_since(&then)),
            own: own.zip(window.own).map(|(now, then)| now.since(&then)),
            own_written_bytes: own_written
                .zip(window.own_written)
                .map(|(now, then)| now.saturating_sub(then)),
            nfs: nfs.zip(window.nfs).map(|(now, then)| NfsRequests {
                writes: now.writes.saturating_sub(then.writes),
                commits: now.commits.saturating_sub(then.commits),
            }),
            intervals: intervals(&window.start, &samples, &end),
        }
    }

    fn halt(&mut self) {
        *lock(&self.shared.stop) = true;
        self.shared.stopped.notify_all();
        if let Some(thread) = self.thread.take() {
            // A sampler that panicked has been told by its own message; the run goes on.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.halt();
    }
}

fn sample_until_stopped(source: &Source, shared: &Shared, period: Duration) {
    let mut due = Instant::now() + period;
    let mut stop = lock(&shared.stop);
    while !*stop {
        let now = Instant::now();
        if now < due {
            let wait = shared.stopped.wait_timeout(stop, due - now);
            stop = wait.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        let sample = source.sample();
        lock(&shared.samples).push(sample);
        // A sampler that was held up skips ticks instead of catching up with short intervals.
        while due <= Instant::now() {
            due += period;
        }
    }
}

/// The samples between two ends as consecutive intervals.
fn intervals(start: &Sample, samples: &[Sample], end: &Sample) -> Vec<Observed> {
    let mut last = *start;
    let mut out = Vec::new();
    let inside = samples.iter().filter(|s| s.at > start.at && s.at < end.at);
    for sample in inside.chain([end]) {
        out.push(between(start, &last, sample));
        last = *sample;
    }
    out
}

fn between(window: &Sample, from: &Sample, to: &Sample) -> Observed {
    let length = to.at.saturating_duration_since(from.at);
    let disk = to.disk.zip(from.disk).map(|(b, a)| b.since(&a));
    let ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    Observed {
        end: to.at.saturating_duration_since(window.at),
        length,
        cpu: to.cpu.zip(from.cpu).and_then(|(b, a)| b.since(&a)),
        disk,
        device_util_pct: disk.map(|d| d.utilisation_pct(ns)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_cover_the_window_without_gaps() {
        let zero = Instant::now();
        let sample = |ms: u64| Sample {
            at: zero + Duration::from_millis(ms),
            cpu: None,
            disk: Some(DiskStats {
                writes: ms,
                busy_ms: ms / 2,
                ..DiskStats::default()
            }),
        };
        let (start, end) = (sample(300), sample(2_500));
        let ticks: Vec<Sample> = [0, 1_000, 2_000, 3_000].map(sample).into();
        let got = intervals(&start, &ticks, &end);
        let ends: Vec<u128> = got.iter().map(|o| o.end.as_millis()).collect();
        assert_eq!(ends, [700, 1_700, 2_200]);
        let writes: u64 = got.iter().filter_map(|o| o.disk).map(|d| d.writes).sum();
        assert_eq!(writes, 2_200);
        assert_eq!(got[1].device_util_pct, Some(50.0));
    }

    #[test]
    fn a_live_window_has_totals_and_intervals() {
        let sampler = Sampler::start(None, Duration::from_millis(20)).expect("a thread");
        let window = sampler.begin();
        while lock(&sampler.shared.samples).len() < 3 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let seen = sampler.end(window);
        assert!(seen.intervals.len() >= 3, "{}", seen.intervals.len());
        let sum: Duration = seen.intervals.iter().map(|i| i.length).sum();
        assert_eq!(sum, seen.total.length);
        assert!(seen.own.is_some() && seen.total.disk.is_none());
        drop(sampler);
    }

    #[test]
    fn stopping_does_not_wait_for_the_period() {
        let period = Duration::from_secs(3600);
        let sampler = Sampler::start(None, period).expect("a thread");
        let start = Instant::now();
        drop(sampler);
        assert!(start.elapsed() < period);
    }
}
