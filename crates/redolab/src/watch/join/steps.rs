//! The steps of the join: what each kind of event does to what is in flight.

use super::device;
use super::tasks::{OpenSync, Task};
use super::{
    AGAIN, DoneWrite, Join, OPEN_MAX, OpenDirect, SeenWrite, SystemCall, TASKS_MAX, TracedFile,
    UNFLUSHED_MAX,
};
use std::collections::{HashMap, VecDeque};

impl Join {
    pub(super) fn direct_begins(&mut self, at: u64, tid: i32, file: TracedFile, pos: u64) {
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

    pub(super) fn direct_queued(&mut self, tid: i32, file: TracedFile) {
        let direct = self.tasks.get_mut(&tid).and_then(|task| task.direct.take());
        let Some((_, pos)) = direct.filter(|(of, _)| *of == file) else {
            return;
        };
        let state = self.files.get_mut(&file);
        if let Some(write) = state.and_then(|s| s.open.iter_mut().find(|w| w.pos == pos)) {
            write.is_queued = true;
        }
    }

    pub(super) fn direct_ends(
        &mut self,
        at: u64,
        tid: i32,
        file: TracedFile,
        end: (u64, bool, i64),
    ) {
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
        let call = (write.pos, write.begin_ns, at, bytes);
        self.call_written(file, call, is_durable, write.flush_ns);
    }

    /// A call has written `bytes` at `pos`, from `begin_ns` to `end_ns`. What is in a header is not
    /// redo.
    fn call_written(
        &mut self,
        file: TracedFile,
        (pos, begin_ns, end_ns, bytes): (u64, u64, u64, u64),
        is_durable: bool,
        flush_ns: Option<u64>,
    ) {
        let header_bytes = self.files.get(&file).map(|state| state.rules.header_bytes);
        if header_bytes.is_some_and(|header| pos < header) {
            self.counts.left_out += 1;
            return;
        }
        let done = DoneWrite {
            begin_ns,
            end_ns,
            bytes,
            calls: 1,
            busy_ns: None,
        };
        self.written(file, done, is_durable, flush_ns);
    }

    pub(super) fn sync_begins(&mut self, at: u64, tid: i32, file: TracedFile, has_end: bool) {
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
        self.flush_seen_ns = self.flush_seen_ns.max(at);
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
    pub(super) fn sync_ends(&mut self, at: u64, tid: i32, file: Option<TracedFile>, result: i64) {
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
        self.flush_seen_ns = self.flush_seen_ns.max(at);
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
    pub(super) fn flushed(&mut self, sync: OpenSync) {
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
    pub(super) fn written(
        &mut self,
        file: TracedFile,
        done: DoneWrite,
        durable: bool,
        flush: Option<u64>,
    ) {
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

    pub(super) fn call_ends(&mut self, at: u64, tid: i32, call: SystemCall, result: i64) {
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
        let call = (write.pos, write.begin_ns, at, bytes);
        self.call_written(write.file, call, flush_ns.is_some(), flush_ns);
    }

    pub(super) fn ring_done(&mut self, at: u64, request: u64, result: i64) {
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

    pub(super) fn failed(&mut self, result: i64) {
        if result != AGAIN {
            self.counts.errors += 1;
            self.counts.last_error = result;
        }
    }
}

pub(super) fn task_of(tasks: &mut HashMap<i32, Task>, tid: i32) -> &mut Task {
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
