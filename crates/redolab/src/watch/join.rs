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
mod tasks;

pub use device::{DeviceTimes, LogRange};

use self::device::Devices;
use self::tasks::{BufferedWrite, OpenSync, Task};
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
                write.end = pos.saturating_add(length);
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
        let counts = &mut self.counts;
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

    fn direct_begins(&mut self, at: u64, tid: i32, file: TracedFile, pos: u64) {
        let Some(state) = self.files.get_mut(&file) else {
            return;
        };
        let task = task_of(&mut self.tasks, tid);
        let goes_on =
            |write: &OpenDirect| Some((file, write.pos)) == task.direct && pos >= write.pos;
        if state.open.iter().any(goes_on) {
            return;
        }
        let before = state.open.len();
        state.open.retain(|write| write.pos != pos);
        if state.open.len() >= OPEN_MAX {
            state.open.remove(0);
        }
        self.counts.without_end += before.saturating_sub(state.open.len()) as u64;
        task.direct = Some((file, pos));
        state.open.push(OpenDirect {
            tid,
            pos,
            begin_ns: at,
            is_queued: false,
            flush_ns: None,
        });
    }

    fn direct_queued(&mut self, tid: i32, file: TracedFile) {
        let direct = self.tasks.get_mut(&tid).and_then(|task| task.direct.take());
        let Some((_, pos)) = direct.filter(|(of, _)| *of == file) else {
            return;
        };
        let state = self.files.get_mut(&file);
        if let Some(write) = state.and_then(|s| s.open.iter_mut().find(|w| w.pos == pos)) {
            write.is_queued = true;
        }
    }

    fn direct_ends(&mut self, at: u64, tid: i32, file: TracedFile, end: (u64, bool, i64)) {
        let (pos, is_durable, result) = end;
        let Some(state) = self.files.get_mut(&file) else {
            return;
        };
        let bytes = u64::try_from(result).unwrap_or(0);
        let Some(began_at) = pos.checked_sub(bytes) else {
            return;
        };
        let Some(index) = state.open.iter().position(|write| write.pos == began_at) else {
            return;
        };
        let mut write = state.open.swap_remove(index);
        if let Some(task) = self.tasks.get_mut(&write.tid) {
            task.direct.take_if(|direct| *direct == (file, write.pos));
        }
        if let Some(task) = self.tasks.get_mut(&tid) {
            // The flush within it ended just before, or ends with it.
            let own = |begin_ns: u64, of: TracedFile| of == file && begin_ns >= write.begin_ns;
            let inner = task.sync.take_if(|s| s.is_inner && own(s.begin_ns, s.file));
            let held = task.held.take_if(|s| is_durable && own(s.begin_ns, s.file));
            let flush_ns = inner.map(|sync| at.saturating_sub(sync.begin_ns));
            let flush_ns = flush_ns.or(held.map(|s| s.end_ns.saturating_sub(s.begin_ns)));
            write.flush_ns = write.flush_ns.or(flush_ns);
        }
        if result < 0 {
            self.failed(result);
            return;
        }
        if write.pos < state.rules.header_bytes {
            self.counts.left_out += 1;
            return;
        }
        let done = DoneWrite {
            begin_ns: write.begin_ns,
            end_ns: at,
            bytes,
            calls: 1,
            busy_ns: None,
        };
        self.written(file, done, is_durable, write.flush_ns);
    }

    fn sync_begins(&mut self, at: u64, tid: i32, file: TracedFile, has_end: bool) {
        let task = task_of(&mut self.tasks, tid);
        let open = self.files.get(&file).map_or(&[][..], |state| &state.open);
        let writes = |pos: u64| {
            open.iter()
                .any(|write| write.pos == pos && write.tid == tid)
        };
        let is_inner = task
            .direct
            .is_some_and(|(of, pos)| of == file && writes(pos))
            || task
                .buffered
                .as_ref()
                .is_some_and(|write| write.file == file);
        let request = (!has_end && !is_inner)
            .then(|| self.ring.pop_front())
            .flatten();
        let lost = task.sync.replace(OpenSync {
            begin_ns: at,
            end_ns: at,
            file,
            is_inner,
            has_end,
            request: request.map(|(request, _)| request),
            covered: Vec::new(),
        });
        self.counts.without_end += u64::from(lost.is_some());
        let (Some(state), Some(sync)) = (self.files.get_mut(&file), task.sync.as_mut()) else {
            return;
        };
        // What the lost one was to make durable, this one does.
        let lost = lost
            .filter(|lost| lost.file == file)
            .map(|lost| lost.covered);
        sync.covered = lost.unwrap_or_default();
        if is_inner {
            state.unflushed.extend(sync.covered.drain(..));
            return;
        }
        let mut waiting = VecDeque::new();
        for write in state.unflushed.drain(..) {
            match write.end_ns <= at {
                true => sync.covered.push(write),
                false => waiting.push_back(write),
            }
        }
        state.unflushed = waiting;
    }

    /// A flush of the thread has ended.
    fn sync_ends(&mut self, at: u64, tid: i32, file: Option<TracedFile>, result: i64) {
        let Some(task) = self.tasks.get_mut(&tid) else {
            return;
        };
        let is_it = |sync: &mut OpenSync| file.is_none_or(|file| sync.file == file);
        let Some(mut sync) = task.sync.take_if(is_it) else {
            return;
        };
        sync.end_ns = at;
        if result < 0 {
            self.failed(result);
            return;
        }
        let took = at.saturating_sub(sync.begin_ns);
        let state = self.files.get_mut(&sync.file);
        if sync.is_inner {
            let direct = task.direct;
            if let Some(write) = task
                .buffered
                .as_mut()
                .filter(|write| write.file == sync.file)
            {
                write.flush_ns = Some(took);
            } else if let Some((_, pos)) = direct
                && let Some(write) = state.and_then(|s| s.open.iter_mut().find(|w| w.pos == pos))
            {
                write.flush_ns = Some(took);
            }
            return;
        }
        // The thread may be one of the kernel that ends a write which is durable by itself.
        if state.is_some_and(|state| state.open.iter().any(|write| write.is_queued)) {
            let before = task.held.replace(sync);
            before.into_iter().for_each(|sync| self.flushed(sync));
            return;
        }
        self.flushed(sync);
    }

    /// A flush that somebody asked for has ended.
    fn flushed(&mut self, sync: OpenSync) {
        let is_being_filled = self
            .files
            .get(&sync.file)
            .is_some_and(|f| f.is_being_filled);
        let Some(first) = sync.covered.iter().map(|write| write.begin_ns).min() else {
            self.counts.other_flushes += u64::from(!is_being_filled);
            return;
        };
        let flush_ns = sync.end_ns.saturating_sub(sync.begin_ns);
        let mut windows: Vec<(u64, u64)> = Vec::with_capacity(sync.covered.len() + 1);
        windows.extend(
            sync.covered
                .iter()
                .map(|write| (write.begin_ns, write.end_ns)),
        );
        let merged: Option<u64> = sync.covered.iter().filter_map(|w| w.busy_ns).max();
        let write_ns = merged.unwrap_or_else(|| device::union_ns(&mut windows.clone()));
        windows.push((sync.begin_ns, sync.end_ns));
        let sum = |of: fn(&DoneWrite) -> u64| {
            let each = sync.covered.iter().map(of);
            each.fold(0, u64::saturating_add)
        };
        self.counts.flushes += 1;
        self.out.flushes_ns.push(flush_ns);
        self.out.writes.push(SeenWrite {
            begin_ns: first,
            end_ns: sync.end_ns,
            write_ns,
            flush_ns,
            bytes: sum(|write| write.bytes),
            calls: u32::try_from(sum(|write| u64::from(write.calls))).unwrap_or(u32::MAX),
            flushes: 1,
            device: self.devices.times(sync.file, &mut windows),
            file: sync.file,
        });
    }

    /// A call that wrote redo is complete.
    fn written(&mut self, file: TracedFile, done: DoneWrite, durable: bool, flush: Option<u64>) {
        let took = done.end_ns.saturating_sub(done.begin_ns);
        self.counts.calls += 1;
        self.counts.call_bytes = self.counts.call_bytes.saturating_add(done.bytes);
        self.out.calls_ns.push(took);
        let Some(state) = self.files.get_mut(&file) else {
            return;
        };
        if !durable {
            add_unflushed(&mut state.unflushed, done);
            return;
        }
        self.out.flushes_ns.extend(flush);
        let flush_ns = flush.unwrap_or(0).min(took);
        self.out.writes.push(SeenWrite {
            begin_ns: done.begin_ns,
            end_ns: done.end_ns,
            write_ns: took - flush_ns,
            flush_ns,
            bytes: done.bytes,
            calls: 1,
            flushes: 0,
            device: self
                .devices
                .times(file, &mut [(done.begin_ns, done.end_ns)]),
            file,
        });
    }

    fn call_ends(&mut self, at: u64, tid: i32, call: SystemCall, result: i64) {
        let Some(task) = self.tasks.get_mut(&tid) else {
            return;
        };
        if call.is_sync() {
            if task
                .sync
                .as_ref()
                .is_some_and(|sync| !sync.has_end && !sync.is_inner)
            {
                self.sync_ends(at, tid, None, result);
            }
            return;
        }
        let Some(write) = task.buffered.take() else {
            return;
        };
        let inner = task
            .sync
            .take_if(|sync| sync.is_inner && sync.file == write.file);
        let flush_ns = write
            .flush_ns
            .or(inner.map(|s| at.saturating_sub(s.begin_ns)));
        let Some(state) = self.files.get_mut(&write.file) else {
            return;
        };
        let Ok(bytes) = u64::try_from(result) else {
            self.failed(result);
            return;
        };
        if state.is_being_filled && call != SystemCall::Pwrite {
            self.counts.filled_bytes = self.counts.filled_bytes.saturating_add(bytes);
            return;
        }
        state.is_being_filled = false;
        if write.pos < state.rules.header_bytes {
            self.counts.left_out += 1;
            return;
        }
        let done = DoneWrite {
            begin_ns: write.begin_ns,
            end_ns: at,
            bytes,
            calls: 1,
            busy_ns: None,
        };
        self.written(write.file, done, flush_ns.is_some(), flush_ns);
    }

    fn ring_done(&mut self, at: u64, request: u64, result: i64) {
        let is_it = |task: &Task| {
            task.sync
                .as_ref()
                .is_some_and(|s| s.request == Some(request))
        };
        let found = self.tasks.iter().find(|(_, task)| is_it(task));
        if let Some(tid) = found.map(|(tid, _)| *tid) {
            self.sync_ends(at, tid, None, result);
            return;
        }
        self.ring.retain(|(queued, _)| *queued != request);
    }

    fn failed(&mut self, result: i64) {
        if result != AGAIN {
            self.counts.errors += 1;
            self.counts.last_error = result;
        }
    }
}

fn task_of(tasks: &mut HashMap<i32, Task>, tid: i32) -> &mut Task {
    if tasks.len() >= TASKS_MAX && !tasks.contains_key(&tid) {
        // Threads without anything in flight are dropped at once; so many have lost their ends.
        tasks.clear();
    }
    tasks.entry(tid).or_default()
}

fn add_unflushed(unflushed: &mut VecDeque<DoneWrite>, done: DoneWrite) {
    let took = |write: &DoneWrite| write.end_ns.saturating_sub(write.begin_ns);
    let is_full = unflushed.len() >= UNFLUSHED_MAX;
    match unflushed.back_mut().filter(|_| is_full) {
        Some(last) => {
            last.busy_ns = Some(
                last.busy_ns
                    .unwrap_or(took(last))
                    .saturating_add(took(&done)),
            );
            last.end_ns = last.end_ns.max(done.end_ns);
            last.bytes = last.bytes.saturating_add(done.bytes);
            last.calls = last.calls.saturating_add(done.calls);
        }
        None => unflushed.push_back(done),
    }
}

#[cfg(test)]
mod tests;
