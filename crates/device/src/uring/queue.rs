//! The queue over a ring: what is in the backlog goes into the ring as far as it fits, and what
//! ends there completes its operation.
//!
//! Invariants: a part is in the backlog, in the ring or ended; what is in the ring never exceeds
//! what the kernel can answer; the bytes of a write are those before its first gap.

use super::UringOptions;
use super::parts::{Part, Slots, Underway, Work};
use super::ring::{Ended, Ring};
use crate::doorbell::Doorbell;
use crate::error::DeviceError;
use crate::file::FileSet;
use crate::file::set::Shared;
use crate::queue::{IoFailure, Op, OpCompletion, OpKind, Queue};
use crate::region::Region;
use rustix::io::Errno;
use rustix::io_uring::{
    IoringFsyncFlags, IoringOp, IoringSqeFlags, addr_or_splice_off_in_union, buf_union,
    io_uring_ptr, io_uring_sqe, len_union, off_or_addr2_union, op_flags_union,
};
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Times that a submission is tried again, a millisecond apart, while the kernel has no memory
/// for it and nothing is in flight that could free some.
const TRIES_WITHOUT_MEMORY: u32 = 1000;

/// What is done where files cannot be registered.
const WITHOUT_FIXED_FILES: &str = "each write looks its file up, and the lock of a killed process \
                                   does not wait for its last writes";

pub(super) struct UringQueue {
    pub(super) ring: Ring,
    pub(super) shared: Arc<Shared>,
    /// In the order of the set's files; registered where `fixed_files`.
    files: Box<[OwnedFd]>,
    pub(super) region: Arc<Region>,
    fixed_files: bool,
    fixed_buffer: bool,
    pub(super) linked: bool,
    /// A planted bug.
    pub(super) flush_ahead: bool,
    pub(super) operations: Slots<Underway>,
    pub(super) parts: Slots<Part>,
    /// Parts that are not in the ring yet.
    pub(super) backlog: VecDeque<usize>,
    /// Parts in the ring.
    inside: usize,
    pub(super) done: Vec<OpCompletion>,
    notes: Vec<String>,
    /// The log's lock. A ring that is given up keeps it for as long as the process lives.
    lock: Weak<OwnedFd>,
    /// The ring is no more, and why.
    pub(super) broken: Option<i32>,
    /// The kernel can wait for a futex beside the operations.
    pub(super) waits_for_bell: bool,
    /// A wait for a bell is in the ring, and the cancellation of one.
    pub(super) bell_inside: bool,
    pub(super) cancel_inside: bool,
}

/// Names of entries that are no part: a wait for a bell, and its cancellation.
pub(super) const BELL: u64 = u64::MAX;
pub(super) const CANCEL: u64 = u64::MAX - 1;

impl UringQueue {
    pub(super) fn new(
        set: &FileSet,
        region: Arc<Region>,
        ring: Ring,
        options: UringOptions,
        lock: &Weak<OwnedFd>,
    ) -> Result<UringQueue, DeviceError> {
        let files = set.reopen()?;
        let mut notes = Vec::new();
        // The lock comes behind the files, and no operation names it.
        let owner = lock.upgrade();
        let held = files.iter().chain(owner.as_deref()).map(AsFd::as_fd);
        let held: Vec<_> = held.collect();
        let fixed_files = match ring.register_files(&held) {
            Ok(()) => true,
            Err(errno) => {
                notes.push(note("fixed files", errno, WITHOUT_FIXED_FILES));
                false
            }
        };
        let fixed_buffer = options.fixed_buffer && {
            // Before the pages are pinned, so that no fork comes between.
            let registered = region.keep_from_children().and_then(|()| {
                // SAFETY: the queue holds the region and gives it up only after the ring's last
                // completion; a ring that cannot be waited for leaks it.
                unsafe { ring.register_buffer(region.base(), region.len()) }
            });
            match registered {
                Ok(()) => true,
                Err(errno) => {
                    notes.push(note("the fixed buffer", errno, "plain writes instead"));
                    false
                }
            }
        };
        let waits_for_bell = ring.knows(IoringOp::FutexWait) && ring.knows(IoringOp::AsyncCancel);
        if !waits_for_bell {
            notes.push(note(
                "waiting for a futex",
                Errno::OPNOTSUPP,
                "a log writer that waits for commits and writes at once looks in short intervals",
            ));
        }
        Ok(UringQueue {
            ring,
            shared: set.shared(),
            files,
            region,
            fixed_files,
            fixed_buffer,
            linked: options.linked,
            flush_ahead: options.flush_ahead,
            operations: Slots::default(),
            parts: Slots::default(),
            backlog: VecDeque::new(),
            inside: 0,
            done: Vec::with_capacity(64),
            notes,
            lock: Weak::clone(lock),
            broken: None,
            waits_for_bell,
            bell_inside: false,
            cancel_inside: false,
        })
    }
}

fn note(what: &str, errno: Errno, instead: &str) -> String {
    let hint = match errno {
        Errno::NOMEM => " (the limit of locked memory, ulimit -l, is too low)",
        Errno::MFILE => " (the limit of open files, ulimit -n, is too low)",
        _ => "",
    };
    let system = std::io::Error::from(errno);
    format!("io_uring: {what} refused: {system}{hint}: {instead}")
}

impl Queue for UringQueue {
    fn submit(&mut self, ops: &[Op]) {
        let (first, ended) = (self.backlog.len(), self.done.len());
        for op in ops {
            let cancelled = self.linked && self.done[ended..].iter().any(|c| c.result.is_err());
            match op.kind {
                _ if cancelled => self.end(op.id, Err(Errno::CANCELED.raw_os_error())),
                OpKind::Write { addr, pieces } => self.add_write(op.id, addr, pieces),
                OpKind::Flush => self.add_flush(op.id, first),
            }
        }
        if self.linked {
            self.link(first);
        }
        self.advance(0);
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        self.reap();
        if !self.backlog.is_empty() {
            self.advance(0);
        }
        while wait && self.done.is_empty() && self.in_flight() > 0 {
            self.advance(1);
        }
        let finished = self.done.len();
        out.append(&mut self.done);
        finished
    }

    fn kind(&self) -> &'static str {
        "io_uring"
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn park(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        self.park_for(bell, seen, timeout);
    }
}

impl UringQueue {
    /// Operations that have not ended.
    pub(super) fn in_flight(&self) -> usize {
        self.inside + self.backlog.len()
    }

    pub(super) fn end(&mut self, id: u64, result: Result<u64, i32>) {
        self.done.push(OpCompletion {
            id,
            result: result.map_err(|errno| IoFailure { errno }),
            by: 0,
        });
    }

    /// Moves the backlog into the ring as far as it fits, submits, waits for `want` completions
    /// and reads what is there.
    pub(super) fn advance(&mut self, want: u32) {
        if let Some(errno) = self.broken {
            return self.give_up(errno);
        }
        let mut tries = 0;
        loop {
            self.fill();
            if want == 0 && self.ring.unsubmitted() == 0 {
                return self.reap();
            }
            let asked = if want > 0 && self.done.is_empty() {
                self.ring.enter(want)
            } else {
                self.ring.enter(0)
            };
            self.reap();
            match asked {
                Ok(()) if self.ring.unsubmitted() == 0 => break,
                // A submission ends early at an entry that the kernel refused: go on behind it.
                Ok(()) => {}
                Err(Errno::AGAIN | Errno::BUSY) => {
                    // Entries that the kernel has not taken cannot end.
                    if self.inside > self.ring.unsubmitted() as usize {
                        if let Err(errno) = self.ring.wait(1) {
                            return self.give_up(errno.raw_os_error());
                        }
                        self.reap();
                        continue;
                    }
                    tries += 1;
                    if tries > TRIES_WITHOUT_MEMORY {
                        return self.give_up(Errno::NOMEM.raw_os_error());
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(errno) => return self.give_up(errno.raw_os_error()),
            }
        }
    }

    /// Pushes parts, whole chains only.
    fn fill(&mut self) {
        while !self.backlog.is_empty() {
            let chain = self.backlog.iter().position(|n| !self.parts.get(*n).linked);
            let chain = chain.map_or(self.backlog.len(), |last| last + 1);
            let answers = (self.ring.completions() as usize).saturating_sub(self.inside);
            if chain > answers.min(self.ring.room() as usize) {
                return;
            }
            for _ in 0..chain {
                let number = self.backlog.pop_front().expect("counted above");
                let entry = self.entry(number);
                // SAFETY: the region outlives the ring's last completion, and nobody writes this
                // part of it meanwhile: it belongs to the device from submission on. Files are
                // open as long as the queue lives.
                unsafe { self.ring.push(entry) };
                self.inside += 1;
            }
        }
    }

    fn entry(&self, number: usize) -> io_uring_sqe {
        let part = self.parts.get(number);
        let mut entry = io_uring_sqe {
            user_data: (number as u64).into(),
            ..io_uring_sqe::default()
        };
        entry.fd = if self.fixed_files {
            entry.flags |= IoringSqeFlags::FIXED_FILE;
            i32::try_from(part.file).expect("fewer files than descriptors")
        } else {
            self.files[part.file].as_raw_fd()
        };
        entry.flags.set(IoringSqeFlags::IO_LINK, part.linked);
        match part.work {
            Work::Write {
                at, len, offset, ..
            } => {
                // SAFETY: in bounds of the region, as `add_write` checked.
                let from = unsafe { self.region.base().add(at) };
                entry.opcode = match self.fixed_buffer {
                    true => IoringOp::WriteFixed,
                    false => IoringOp::Write,
                };
                entry.buf = buf_union { buf_index: 0 };
                entry.addr_or_splice_off_in = addr_or_splice_off_in_union {
                    addr: io_uring_ptr::new(from.cast()),
                };
                let len = u32::try_from(len).expect("a region has at most 1 GiB");
                entry.len = len_union { len };
                entry.off_or_addr2 = off_or_addr2_union { off: offset };
                entry.op_flags = op_flags_union {
                    rw_flags: self.shared.method.write_flags(),
                };
            }
            Work::Flush { .. } => {
                entry.opcode = IoringOp::Fsync;
                entry.op_flags = op_flags_union {
                    fsync_flags: IoringFsyncFlags::DATASYNC,
                };
            }
        }
        entry
    }

    /// Reads what has ended, also what the kernel had set aside.
    pub(super) fn reap(&mut self) {
        // Of a ring that was given up everything has ended already, whatever the kernel says later.
        if self.broken.is_some() {
            return;
        }
        loop {
            while let Some(ended) = self.ring.pop() {
                match ended.user_data {
                    BELL => self.bell_inside = false,
                    CANCEL => self.cancel_inside = false,
                    _ => {
                        self.inside -= 1;
                        self.part_ended(ended);
                    }
                }
            }
            if !self.ring.overflowed() || self.ring.wait(0).is_err() {
                return;
            }
        }
    }

    fn part_ended(&mut self, ended: Ended) {
        let number = usize::try_from(ended.user_data).expect("names are the parts' numbers");
        let part = self.parts.get(number);
        let errno = (ended.result < 0).then_some(-ended.result);
        let state = &self.shared.files[part.file];
        match part.work {
            Work::Write { len, before, .. } => {
                let nothing_done = [Errno::INTR, Errno::AGAIN].map(|e| Some(e.raw_os_error()));
                if nothing_done.contains(&errno) && !self.linked && self.broken.is_none() {
                    // Interrupted before the first byte: nothing has happened, so this is no
                    // retry of something that failed.
                    self.backlog.push_front(number);
                    return;
                }
                if !self.shared.method.durable_writes() {
                    state.written.fetch_add(1, Ordering::AcqRel);
                }
                let operation = self.operations.at(part.operation);
                match errno {
                    Some(errno) => operation.fail(before, errno),
                    None if (ended.result as usize) < len => {
                        operation.reached = operation.reached.min(before + ended.result as u64);
                    }
                    None => {}
                }
            }
            Work::Flush { written } => {
                let interrupted = errno == Some(Errno::INTR.raw_os_error());
                if interrupted && !self.linked && self.broken.is_none() {
                    // As `uninterrupted` says.
                    self.backlog.push_front(number);
                    return;
                }
                let cancelled = errno == Some(Errno::CANCELED.raw_os_error());
                match errno {
                    None => {
                        state.flushed.fetch_max(written, Ordering::AcqRel);
                    }
                    Some(_) if !cancelled => state.lost.store(true, Ordering::Release),
                    Some(_) => {}
                }
                let lost = state.lost.load(Ordering::Acquire);
                let operation = self.operations.at(part.operation);
                if let Some(errno) = errno {
                    operation.fail(0, errno);
                } else if lost {
                    operation.fail(0, Errno::IO.raw_os_error());
                }
            }
        }
        self.parts.take(number);
        self.operations.at(part.operation).left -= 1;
        self.settle(part.operation);
    }

    /// A part that never reached the kernel.
    pub(super) fn fail_part(&mut self, number: usize, errno: i32) {
        let part = self.parts.take(number);
        let operation = self.operations.at(part.operation);
        operation.fail(0, errno);
        operation.left -= 1;
        self.settle(part.operation);
    }

    /// Completes an operation whose parts have ended.
    pub(super) fn settle(&mut self, operation: usize) {
        let state = self.operations.get(operation);
        if state.left > 0 {
            return;
        }
        self.operations.take(operation);
        match state.failed {
            Some((_, errno)) => self.end(state.id, Err(errno)),
            None => self.end(state.id, Ok(state.reached)),
        }
    }

    /// The kernel may still write what it was given: its memory stays, and so does the log's lock,
    /// so that nobody acknowledges redo where a late write would land.
    fn leave_behind(&self) {
        std::mem::forget(Arc::clone(&self.region));
        std::mem::forget(self.lock.upgrade());
    }

    /// The ring cannot be asked any more: everything has failed. What the kernel may still hold
    /// keeps its memory.
    pub(super) fn give_up(&mut self, errno: i32) {
        self.broken = Some(errno);
        self.backlog.clear();
        if self.inside > 0 {
            self.leave_behind();
            self.inside = 0;
        }
        for number in self.parts.all() {
            let part = self.parts.get(number);
            if let Work::Flush { .. } = part.work {
                // It may have failed, and then it was the one that was told.
                let state = &self.shared.files[part.file];
                state.lost.store(true, Ordering::Release);
            }
            self.fail_part(number, errno);
        }
    }
}

impl Drop for UringQueue {
    fn drop(&mut self) {
        if self.broken.is_some() {
            return;
        }
        // What the kernel has not taken yet is never begun.
        while self.inside > self.ring.unsubmitted() as usize {
            let before = self.inside;
            let asked = self.ring.wait(1);
            while self.ring.pop().is_some() {
                self.inside -= 1;
            }
            let stuck = !matches!(asked, Ok(()) | Err(Errno::AGAIN | Errno::BUSY));
            if stuck && self.inside == before {
                self.leave_behind();
                return;
            }
        }
        if self.fixed_files {
            self.ring.unregister_files();
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::uring::UringFiles;

    /// A queue whose kernel is the test: parts get the answers that it gives.
    pub(in crate::uring) struct Injected(UringQueue);

    impl Injected {
        pub(in crate::uring) fn new(device: &UringFiles, region: Arc<Region>) -> Injected {
            let options = UringOptions {
                fixed_buffer: false,
                ..device.options
            };
            let ring = options.ring().expect("looked before");
            let queue = UringQueue::new(&device.set, region, ring, options, &device.lock);
            Injected(queue.expect("queue"))
        }

        /// The result of an operation whose parts, in their order, are answered so.
        pub(in crate::uring) fn answer(
            &mut self,
            op: Op,
            answers: &[(usize, i32)],
        ) -> Result<u64, i32> {
            let queue = &mut self.0;
            match op.kind {
                OpKind::Write { addr, pieces } => queue.add_write(op.id, addr, pieces),
                OpKind::Flush => queue.add_flush(op.id, 0),
            }
            let parts: Vec<usize> = queue.backlog.drain(..).collect();
            for (part, result) in answers {
                assert!(queue.done.is_empty(), "not before its last part");
                queue.part_ended(Ended {
                    user_data: parts[*part] as u64,
                    result: *result,
                });
            }
            let ended = queue.done.pop().expect("every part was answered");
            assert_eq!(ended.id, op.id);
            ended.result.map_err(|f| f.errno)
        }

        /// Gives the ring up while the kernel has these writes; what the kernel says of them is
        /// there afterwards.
        pub(in crate::uring) fn give_up_with(mut self, ops: &[Op], errno: i32) -> Box<dyn Queue> {
            let queue = &mut self.0;
            for op in ops {
                match op.kind {
                    OpKind::Write { addr, pieces } => queue.add_write(op.id, addr, pieces),
                    OpKind::Flush => unreachable!("writes only"),
                }
            }
            queue.fill();
            queue.ring.enter(0).expect("submitted");
            queue.give_up(errno);
            let all = u32::try_from(ops.len()).expect("a few");
            queue.ring.wait(all).expect("ended");
            Box::new(self.0)
        }

        /// Parks as if as much were in flight as the ring can answer, so that a write that is to be
        /// asked for again stays outside of it.
        pub(in crate::uring) fn park_beside_a_backlog(&mut self, write: Op, bell: &Arc<Doorbell>) {
            let queue = &mut self.0;
            let OpKind::Write { addr, pieces } = write.kind else {
                unreachable!("a write");
            };
            queue.add_write(write.id, addr, pieces);
            let all = queue.ring.completions() as usize;
            queue.inside += all;
            queue.park_for(bell, bell.read(), None);
            queue.inside -= all;
        }

        /// Parks as if an operation were in flight that never ends.
        pub(in crate::uring) fn park_with_one_in_flight(
            &mut self,
            bell: &Arc<Doorbell>,
            seen: u32,
            timeout: Option<Duration>,
        ) {
            self.0.inside += 1;
            self.0.park_for(bell, seen, timeout);
            self.0.inside -= 1;
        }
    }

    #[test]
    fn a_refusal_names_the_limit_that_is_too_low() {
        for (errno, limit) in [
            (Errno::NOMEM, Some("ulimit -l")),
            (Errno::MFILE, Some("ulimit -n")),
            (Errno::PERM, None),
        ] {
            let text = note("a ring", errno, "threads");
            assert!(
                text.contains("a ring refused") && text.ends_with("threads"),
                "{text}"
            );
            let named = ["ulimit -l", "ulimit -n"]
                .into_iter()
                .find(|l| text.contains(l));
            assert_eq!(named, limit, "{text}");
        }
    }
}
