//! Events of the kernel in, log writes and flushes out: a state machine without clock and without
//! I/O.
//!
//! A **log write** is what one flush made durable: the writes to a log file that were complete when
//! the flush began; or one write that was durable by itself. Its time is the time for which its
//! writes and its flush were in flight. Between a write and the flush that somebody asks for later
//! nothing is in flight, and that time is not counted.
//!
//! Invariants: every write and flush is attributed by the inode that the file system itself names;
//! what the events do not show (the end of a write whose end was lost) is counted as unknown and
//! never invented; memory is bounded whatever the events are.
//!
//! What it must not know: where events come from, and what is done with what comes out.

mod device;
mod steps;
mod tasks;

pub use device::{DeviceTimes, LogRange};

use self::device::Devices;
use self::steps::task_of;
use self::tasks::{BufferedWrite, Task};
use crate::observe::tracefs::events::{RING_FSYNC, SystemCall, TimedEvent, TraceEvent, TracedFile};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Writes of a file that wait for a flush and are kept one by one, at most; further ones are added
/// to the last.
const UNFLUSHED_MAX: usize = 4096;
/// Direct writes of a file in flight, at most.
const OPEN_MAX: usize = 4096;
/// Threads that are kept, at most.
const TASKS_MAX: usize = 65_536;
/// Operations of io_uring that are kept, at most.
const RING_MAX: usize = 4096;
/// An operation that began longer ago has lost its end.
const LOST_NS: u64 = 120_000_000_000;
/// A flush waits so long for the end of the write that it may belong to.
const HELD_NS: u64 = 5_000_000;
/// The kernel asks the caller to try again (`EAGAIN`): io_uring then does so itself.
const AGAIN: i64 = -11;

/// What is written to a log file and is not redo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileRules {
    /// Writes that begin below are headers and checkpoints.
    pub header_bytes: u64,
    /// It is filled before it is used: only calls of `pwrite64` are log writes, from the first on.
    pub is_filled_first: bool,
}

/// A log write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenWrite {
    /// When its first write began, on the trace's clock.
    pub begin_ns: u64,
    /// When it was durable.
    pub end_ns: u64,
    /// Time for which its writes were in flight.
    pub write_ns: u64,
    /// Time for which its flush was in flight; 0 where its write was durable by itself.
    pub flush_ns: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Calls that wrote them.
    pub calls: u32,
    /// Flushes: 1, or 0 where its write was durable by itself.
    pub flushes: u32,
    /// What of its time the device took; `None` where requests to the device are not followed.
    pub device: Option<DeviceTimes>,
    /// The file.
    pub file: TracedFile,
}

impl SeenWrite {
    /// Its time: log file parallel write.
    #[must_use]
    pub fn took_ns(&self) -> u64 {
        self.write_ns.saturating_add(self.flush_ns)
    }
}

/// What comes out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinOutput {
    /// Log writes, about in the order of their ends.
    pub writes: Vec<SeenWrite>,
    /// Times of the single calls that wrote, in nanoseconds.
    pub calls_ns: Vec<u64>,
    /// Times of flushes, in nanoseconds: of those that made log writes durable, and of those within
    /// a write that is durable by itself.
    pub flushes_ns: Vec<u64>,
    /// Times of requests that wrote log files, at the device.
    pub device_writes_ns: Vec<u64>,
    /// Times of flushes at the device, of anybody.
    pub device_flushes_ns: Vec<u64>,
}

/// What was counted since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinCounts {
    /// Calls that wrote redo.
    pub calls: u64,
    /// Their bytes.
    pub call_bytes: u64,
    /// Flushes that the writer asked for, and that made log writes durable.
    pub flushes: u64,
    /// Flushes of log files without a log write before them.
    pub other_flushes: u64,
    /// Writes of headers and checkpoints.
    pub left_out: u64,
    /// Bytes with which new log files were filled.
    pub filled_bytes: u64,
    /// Requests that wrote to the log files' extents at the device.
    pub device_writes: u64,
    /// Their bytes.
    pub device_bytes: u64,
    /// Writes and flushes that failed.
    pub errors: u64,
    /// The last of these errors, as the kernel numbers them.
    pub last_error: i64,
    /// Writes and flushes whose end was not seen.
    pub without_end: u64,
}

/// A write that is complete and waits for its flush.
#[derive(Clone, Copy, Debug)]
struct DoneWrite {
    begin_ns: u64,
    end_ns: u64,
    bytes: u64,
    calls: u32,
    /// Time in flight, where several calls were merged into one.
    busy_ns: Option<u64>,
}

/// A direct write in flight.
#[derive(Clone, Copy, Debug)]
struct OpenDirect {
    tid: i32,
    pos: u64,
    begin_ns: u64,
    is_queued: bool,
    /// The flush within it.
    flush_ns: Option<u64>,
}

#[derive(Debug, Default)]
struct FileState {
    rules: FileRules,
    is_being_filled: bool,
    open: Vec<OpenDirect>,
    unflushed: VecDeque<DoneWrite>,
}

/// Joins events to log writes.
#[derive(Debug, Default)]
pub struct Join {
    files: BTreeMap<TracedFile, FileState>,
    tasks: HashMap<i32, Task>,
    /// Flushes that io_uring handed to its workers and that have not begun, oldest first.
    ring: VecDeque<(u64, u64)>,
    devices: Devices,
    /// When a flush of the log was seen last: its begin, its end, or that its end is lost.
    flush_seen_ns: u64,
    counts: JoinCounts,
    out: JoinOutput,
}

impl Join {
    /// Follows a file from now on. `is_new`: it was made while the log is watched.
    pub fn follow(&mut self, file: TracedFile, rules: FileRules, is_new: bool) {
        self.files.entry(file).or_insert_with(|| FileState {
            rules,
            is_being_filled: is_new && rules.is_filled_first,
            ..FileState::default()
        });
    }

    /// Whether the file is followed.
    #[must_use]
    pub fn follows(&self, file: TracedFile) -> bool {
        self.files.contains_key(&file)
    }

    /// Takes over where the log files lie on a device; requests outside are not theirs.
    pub fn place(&mut self, dev: u32, ranges: Vec<LogRange>) {
        self.devices.place(dev, ranges);
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> JoinCounts {
        self.counts
    }

    /// Calls that wrote redo which no flush has made durable yet.
    #[must_use]
    pub fn not_flushed(&self) -> u64 {
        let of_file = |file: &FileState| {
            file.unflushed
                .iter()
                .map(|w| u64::from(w.calls))
                .sum::<u64>()
        };
        self.files.values().map(of_file).sum()
    }

    /// Time for which the oldest of these calls has waited at `now_ns` for a flush of the log to
    /// begin; 0 while one is in flight. `None` where none waits.
    #[must_use]
    pub fn unflushed_ns(&self, now_ns: u64) -> Option<u64> {
        let waiting = self
            .files
            .values()
            .filter_map(|file| file.unflushed.front());
        let oldest = waiting.map(|write| write.end_ns).min()?;
        let syncs = self.tasks.values().filter_map(|task| task.sync.as_ref());
        let in_flight = syncs.filter(|sync| !sync.is_inner).count() > 0;
        let since = oldest.max(self.flush_seen_ns);
        Some(if in_flight {
            0
        } else {
            now_ns.saturating_sub(since)
        })
    }

    /// What came out since the last call.
    #[must_use]
    pub fn take(&mut self) -> JoinOutput {
        std::mem::take(&mut self.out)
    }

    /// The file of an event, where it is about a file.
    #[must_use]
    pub fn file_of(event: &TraceEvent) -> Option<TracedFile> {
        match *event {
            TraceEvent::DirectBegin { file, .. }
            | TraceEvent::DirectQueued { file }
            | TraceEvent::DirectEnd { file, .. }
            | TraceEvent::BufferedBegin { file, .. }
            | TraceEvent::SyncBegin { file, .. }
            | TraceEvent::SyncEnd { file, .. } => Some(file),
            _ => None,
        }
    }

    /// Takes an event. Events come in the order of their times.
    pub fn step(&mut self, timed: &TimedEvent) {
        if Join::file_of(&timed.event).is_some_and(|file| !self.follows(file)) {
            return;
        }
        let (at, tid) = (timed.at_ns, timed.tid);
        match timed.event {
            TraceEvent::DirectBegin { file, pos } => self.direct_begins(at, tid, file, pos),
            TraceEvent::DirectQueued { file } => self.direct_queued(tid, file),
            TraceEvent::DirectEnd {
                file,
                pos,
                is_durable,
                result,
            } => self.direct_ends(at, tid, file, (pos, is_durable, result)),
            TraceEvent::BufferedBegin { file, pos, length } => {
                let task = task_of(&mut self.tasks, tid);
                let Some(write) = task.buffered.as_mut().filter(|w| w.goes_on(file, pos)) else {
                    let lost = task
                        .buffered
                        .replace(BufferedWrite::new(at, file, pos, length));
                    self.counts.without_end += u64::from(lost.is_some());
                    return;
                };
                write.end = write.end.max(pos.saturating_add(length));
            }
            TraceEvent::SyncBegin { file, has_end, .. } => self.sync_begins(at, tid, file, has_end),
            TraceEvent::SyncEnd { file, result } => self.sync_ends(at, tid, Some(file), result),
            TraceEvent::CallEnd { call, result } => self.call_ends(at, tid, call, result),
            TraceEvent::RingQueued { request, opcode } => {
                if opcode == RING_FSYNC && self.ring.len() < RING_MAX {
                    self.ring.push_back((request, at));
                }
            }
            TraceEvent::RingDone { request, result } => self.ring_done(at, request, result),
            TraceEvent::BlockIssue(request) => self.devices.issued(at, &request),
            TraceEvent::BlockDone(request) => {
                self.devices
                    .done(at, &request, &mut self.counts, &mut self.out);
            }
        }
    }

    /// Everything until `now_ns` was taken: gives up what has lost its end.
    pub fn settle(&mut self, now_ns: u64) {
        let is_old = |begin_ns: u64| begin_ns.saturating_add(LOST_NS) < now_ns;
        let (mut held, mut waiting) = (Vec::new(), Vec::new());
        let (counts, seen_ns) = (&mut self.counts, &mut self.flush_seen_ns);
        self.tasks.retain(|_, task| {
            if let Some(sync) = task
                .held
                .take_if(|s| s.end_ns.saturating_add(HELD_NS) < now_ns)
            {
                held.push(sync);
            }
            let lost = task.buffered.take_if(|w| is_old(w.begin_ns)).is_some();
            let lost_sync = task.sync.take_if(|s| is_old(s.begin_ns));
            counts.without_end += u64::from(lost) + u64::from(lost_sync.is_some());
            // It may still be in flight.
            *seen_ns = if lost_sync.is_some() {
                now_ns
            } else {
                *seen_ns
            };
            waiting.extend(lost_sync.map(|sync| (sync.file, sync.covered)));
            !task.is_idle()
        });
        for (file, covered) in waiting {
            if let Some(file) = self.files.get_mut(&file) {
                file.unflushed.extend(covered);
            }
        }
        for file in self.files.values_mut() {
            let before = file.open.len();
            file.open.retain(|write| !is_old(write.begin_ns));
            counts.without_end += (before - file.open.len()) as u64;
        }
        self.ring.retain(|(_, at)| !is_old(*at));
        let files = &self.files;
        for task in self.tasks.values_mut() {
            task.direct.take_if(|(file, pos)| {
                let open = files.get(file).map_or(&[][..], |state| &state.open);
                !open.iter().any(|write| write.pos == *pos)
            });
        }
        held.sort_by_key(|sync| sync.end_ns);
        held.into_iter().for_each(|sync| self.flushed(sync));
    }
}

#[cfg(test)]
mod tests;
