//! A thread that shows whether this process gets a processor, and that looks at the canary while a
//! probe is under way.
//!
//! Each beat writes as much as a probe to one page of a file in memory (tmpfs), so that a beat that
//! is late shows that this process had no processor, and nothing of a disk.
//!
//! Invariants: memory is bounded, however long a probe takes; the lock is never held across a call
//! that can block on a device.

use super::judge::{PROBE_BYTES, WaitedIn};
use crate::observe::diskstats::{Counters, DiskStats};
use crate::observe::pressure::DirtyPages;
use crate::observe::thread::ThreadFiles;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two beats.
const PERIOD: Duration = Duration::from_millis(5);
/// A beat that is late by less is on time: timers of an idle machine are not better.
const ON_TIME: Duration = Duration::from_millis(1);
/// A probe that takes longer is looked at with each beat.
const LOOK_AFTER: Duration = Duration::from_millis(4);
/// Late beats that are kept.
const LATE_KEPT: usize = 4096;
/// Functions that are counted for one probe.
const FUNCTIONS_KEPT: usize = 16;

/// What the canary's thread has the heartbeat look at.
#[derive(Debug)]
pub(super) struct Watched {
    /// The thread.
    pub(super) thread: ThreadFiles,
    /// The device below the file; `None` where it has no counters.
    pub(super) device: Option<Counters>,
}

/// What was seen of one probe while it was under way.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeSamples {
    /// How often it was looked at.
    pub(super) samples: u32,
    functions: BTreeMap<String, u32>,
    /// Most dirty pages and pages under writeback.
    pub(super) pages: Option<DirtyPages>,
    /// Most requests in flight.
    pub(super) in_flight_most: Option<u64>,
    /// Samples with a request in flight.
    pub(super) in_flight_samples: Option<u32>,
    /// Longest time for which the device had requests in flight and completed none.
    pub(super) no_completion: Option<Duration>,
    /// Since when the device was not seen to complete anything, and what it had completed then.
    unchanged: Option<(Instant, u64)>,
}

impl ProbeSamples {
    /// Takes the pages of one moment.
    pub(super) fn add_pages(&mut self, now: Option<DirtyPages>) {
        if let Some(now) = now {
            let most = self.pages.get_or_insert(now);
            most.dirty_bytes = most.dirty_bytes.max(now.dirty_bytes);
            most.writeback_bytes = most.writeback_bytes.max(now.writeback_bytes);
        }
    }

    /// The device turned out not to count.
    pub(super) fn forget_device(&mut self) {
        (self.in_flight_most, self.in_flight_samples) = (None, None);
        self.no_completion = None;
    }

    fn add(&mut self, waits_in: Option<String>, device: Option<DiskStats>, now: Instant) {
        self.samples = self.samples.saturating_add(1);
        if let Some(function) = waits_in {
            let is_known = self.functions.contains_key(&function);
            if is_known || self.functions.len() < FUNCTIONS_KEPT {
                *self.functions.entry(function).or_insert(0) += 1;
            }
        }
        if let Some(device) = device {
            self.in_flight_most = self.in_flight_most.max(Some(device.in_flight));
            *self.in_flight_samples.get_or_insert(0) += u32::from(device.in_flight > 0);
            self.add_completed(&device, now);
        }
    }

    /// Takes what the device had completed at one moment.
    fn add_completed(&mut self, device: &DiskStats, now: Instant) {
        let completed = device.completed();
        let since = match self.unchanged {
            Some((since, before)) if before == completed && device.in_flight > 0 => since,
            _ => now,
        };
        // Without requests there is nothing to complete: it counts from the next sample with one.
        self.unchanged = (device.in_flight > 0).then_some((since, completed));
        let unchanged = now.saturating_duration_since(since);
        self.no_completion = self.no_completion.max(Some(unchanged));
    }

    /// Where the canary waited, the most frequent first.
    pub(super) fn waited_in(&self) -> Vec<WaitedIn> {
        let one = |(function, samples): (&String, &u32)| WaitedIn {
            function: function.clone(),
            samples: *samples,
        };
        let mut all: Vec<WaitedIn> = self.functions.iter().map(one).collect();
        all.sort_by_key(|waited| std::cmp::Reverse(waited.samples));
        all
    }
}

/// Beats that were late, and the one that is due.
#[derive(Debug)]
struct Beats {
    late: VecDeque<(Instant, Instant)>,
    next: Instant,
}

impl Beats {
    /// Adds a beat that was due at one moment and over at another.
    fn add(&mut self, due: Instant, over: Instant) {
        if over.saturating_duration_since(due) >= ON_TIME {
            if self.late.len() == LATE_KEPT {
                self.late.pop_front();
            }
            self.late.push_back((due, over));
        }
    }

    /// Time between two moments for which a beat was overdue.
    fn overdue(&self, from: Instant, to: Instant) -> Duration {
        let within =
            |due: Instant, over: Instant| over.min(to).saturating_duration_since(due.max(from));
        let late = self.late.iter().map(|(due, over)| within(*due, *over));
        let waited: Duration = late.sum();
        let outstanding = within(self.next, to);
        waited
            + if outstanding >= ON_TIME {
                outstanding
            } else {
                Duration::ZERO
            }
    }
}

/// A probe that is under way, and what was seen of it.
#[derive(Debug, Default)]
struct UnderWay {
    since: Option<Instant>,
    seen: ProbeSamples,
}

/// What heartbeat and canary share.
#[derive(Debug)]
pub(super) struct Heartbeat {
    beats: Mutex<Beats>,
    probe: Mutex<UnderWay>,
    stop: AtomicBool,
}

impl Heartbeat {
    pub(super) fn new() -> Heartbeat {
        Heartbeat {
            beats: Mutex::new(Beats {
                late: VecDeque::new(),
                next: Instant::now() + PERIOD,
            }),
            probe: Mutex::new(UnderWay::default()),
            stop: AtomicBool::new(false),
        }
    }

    /// A file in memory for the beats; without one a beat is a timer alone.
    pub(super) fn memory() -> Option<File> {
        let fd = rustix::fs::memfd_create("redolab-canary", rustix::fs::MemfdFlags::CLOEXEC);
        fd.ok().map(File::from)
    }

    /// Beats until [`Heartbeat::stop`].
    pub(super) fn run(&self, watched: &Watched, memory: Option<&File>) {
        let page = [0x5a; PROBE_BYTES as usize];
        while !self.stop.load(Ordering::Relaxed) {
            let due = lock(&self.beats).next;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if let Some(memory) = memory {
                // It is full or it is not: what counts is the time.
                let _ = memory.write_all_at(&page, 0);
            }
            let over = Instant::now();
            {
                let mut beats = lock(&self.beats);
                beats.add(due, over);
                beats.next = (due + PERIOD).max(over);
            }
            self.look(watched, over);
        }
    }

    /// Looks at the canary, if its probe takes long.
    fn look(&self, watched: &Watched, now: Instant) {
        let since = lock(&self.probe).since;
        let Some(since) = since.filter(|since| now.saturating_duration_since(*since) >= LOOK_AFTER)
        else {
            return;
        };
        let waits_in = watched.thread.waits_in();
        let counted = watched
            .device
            .as_ref()
            .and_then(|device| device.read().ok());
        let pages = DirtyPages::now();
        let mut probe = lock(&self.probe);
        // It may have ended meanwhile, and another one may have begun.
        if probe.since == Some(since) {
            probe.seen.add(waits_in, counted, now);
            probe.seen.add_pages(pages);
        }
    }

    /// A probe begins.
    pub(super) fn begin(&self, at: Instant) {
        *lock(&self.probe) = UnderWay {
            since: Some(at),
            seen: ProbeSamples::default(),
        };
    }

    /// The probe has ended: what was seen of it.
    pub(super) fn end(&self) -> ProbeSamples {
        std::mem::take(&mut *lock(&self.probe)).seen
    }

    /// Time between two moments for which the heartbeat was overdue.
    pub(super) fn overdue(&self, from: Instant, to: Instant) -> Duration {
        lock(&self.beats).overdue(from, to)
    }

    /// Ends the thread at its next beat.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overdue_time_is_that_within_the_window() {
        let zero = Instant::now();
        let at = |ms: u64| zero + Duration::from_millis(ms);
        let mut beats = Beats {
            late: VecDeque::new(),
            next: at(1000),
        };
        beats.add(at(100), at(150));
        beats.add(at(200), at(200) + ON_TIME / 2);
        beats.add(at(300), at(340));
        for (from, to, overdue) in [
            (0, 90, 0),
            (0, 400, 90),
            (120, 320, 50),
            (150, 300, 0),
            (340, 1000, 0),
            (340, 1060, 60),
        ] {
            let expected = Duration::from_millis(overdue);
            assert_eq!(beats.overdue(at(from), at(to)), expected, "{from} {to}");
        }
        for n in 0..2 * LATE_KEPT as u64 {
            beats.add(at(n * 10), at(n * 10 + 5));
        }
        assert_eq!(beats.late.len(), LATE_KEPT);
    }

    #[test]
    fn samples_are_counted_by_function_and_bounded() {
        let mut seen = ProbeSamples::default();
        let now = Instant::now();
        seen.add(Some("b".to_owned()), Some(stats(0, 0)), now);
        seen.add(Some("a".to_owned()), Some(stats(3, 0)), now);
        seen.add(Some("a".to_owned()), None, now);
        seen.add(None, None, now);
        assert_eq!((seen.samples, seen.in_flight_samples), (4, Some(1)));
        assert_eq!(seen.in_flight_most, Some(3));
        let first = seen.waited_in().into_iter().next().expect("two functions");
        assert_eq!((first.function.as_str(), first.samples), ("a", 2));
        for n in 0..100 {
            seen.add(Some(format!("f{n}")), None, now);
        }
        assert_eq!(seen.waited_in().len(), FUNCTIONS_KEPT);
    }

    fn stats(in_flight: u64, writes: u64) -> DiskStats {
        DiskStats {
            in_flight,
            writes,
            ..DiskStats::default()
        }
    }

    #[test]
    fn time_without_a_completion_needs_a_request_in_flight() {
        let zero = Instant::now();
        let longest = |samples: &[(u64, u64, u64)]| {
            let mut seen = ProbeSamples::default();
            for (ms, in_flight, writes) in samples {
                let at = zero + Duration::from_millis(*ms);
                seen.add(None, Some(stats(*in_flight, *writes)), at);
            }
            seen.no_completion.map(|time| time.as_millis())
        };
        assert_eq!(longest(&[]), None);
        assert_eq!(longest(&[(0, 1, 7)]), Some(0));
        assert_eq!(longest(&[(0, 1, 7), (90, 4, 7), (95, 4, 7)]), Some(95));
        // One completes at 50 ms.
        assert_eq!(longest(&[(0, 4, 7), (50, 3, 8), (120, 3, 8)]), Some(70));
        // Nothing was in flight at 50 ms.
        assert_eq!(
            longest(&[(0, 1, 7), (50, 0, 7), (80, 2, 7), (100, 2, 7)]),
            Some(20)
        );
        assert_eq!(longest(&[(0, 0, 7), (200, 0, 7)]), Some(0));
        // Reads, discards and flushes are completions too.
        let mut flushed = stats(1, 7);
        flushed.flushes = Some(1);
        flushed.discards = Some(2);
        flushed.reads = 3;
        assert_eq!(flushed.completed(), 13);
    }

    #[test]
    fn only_a_probe_that_takes_long_is_looked_at() {
        let heartbeat = Heartbeat::new();
        let watched = Watched {
            thread: ThreadFiles::of_this_thread(),
            device: None,
        };
        let begun = Instant::now();
        heartbeat.look(&watched, begun + LOOK_AFTER);
        heartbeat.begin(begun);
        heartbeat.look(&watched, begun + LOOK_AFTER / 2);
        assert_eq!(heartbeat.end().samples, 0);
        heartbeat.begin(begun);
        heartbeat.look(&watched, begun + LOOK_AFTER);
        let seen = heartbeat.end();
        assert_eq!((seen.samples, seen.in_flight_samples), (1, None));
        assert!(heartbeat.end().waited_in().is_empty());
    }
}
