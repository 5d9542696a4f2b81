//! A member's part of a queue: what it was given, has completed, and has made durable.
//!
//! Invariants: a member's flush is submitted when *this* member has completed every write that the
//! flush covers; it has one flush in flight at a time, which covers all that are ready; its memory
//! is filled again only when its own operation has returned.

use device::pool::Workers;
use device::queue::{LogDevice, Queue};
use device::{DeviceError, Doorbell, Op, OpCompletion, OpKind, Piece, Region};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A number of the set's operations, from 1; unique and rising in the order of submission.
pub(super) type Number = u64;

/// The bit of an operation's id that says that it is a flush.
const FLUSH: u64 = 1 << 63;

/// Memory of its own that a member writes from: a ring.
struct Memory {
    region: Arc<Region>,
    head: u64,
    tail: u64,
    /// Bytes of each write, oldest first, and whether it has returned.
    taken: VecDeque<(Number, u64, bool)>,
}

impl Memory {
    fn new(len: usize) -> Result<Memory, DeviceError> {
        Ok(Memory {
            region: Arc::new(Region::new(len)?),
            head: 0,
            tail: 0,
            taken: VecDeque::new(),
        })
    }

    /// Room for `len` bytes; `None` where what is still written leaves less.
    fn take(&mut self, number: Number, len: usize) -> Option<[Piece; 2]> {
        let (ring, len) = (self.region.len() as u64, len as u64);
        if self.head + len - self.tail > ring {
            return None;
        }
        let at = self.head % ring;
        let first = len.min(ring - at);
        self.head += len;
        self.taken.push_back((number, len, false));
        let piece = |at: u64, len: u64| Piece {
            at: at as usize,
            len: len as usize,
        };
        Some([piece(at, first), piece(0, len - first)])
    }

    fn give_back(&mut self, number: Number) {
        if let Some(taken) = self.taken.iter_mut().find(|taken| taken.0 == number) {
            taken.2 = true;
        }
        while let Some(&(_, len, true)) = self.taken.front() {
            self.tail += len;
            self.taken.pop_front();
        }
    }
}

/// A member in a queue.
pub(super) struct Lane {
    pub(super) member: usize,
    queue: Box<dyn Queue>,
    memory: Memory,
    /// Writes that it has not completed, with their bytes.
    writing: Vec<(Number, u64)>,
    /// Flushes that wait for writes of this member, oldest first.
    waiting: VecDeque<(Number, Vec<Number>)>,
    /// The flush in flight.
    flushing: Option<Number>,
    /// Flushes up to this one are complete.
    pub(super) flushed: Number,
    /// Operations in flight.
    pub(super) in_flight: usize,
    /// It failed, or it had no room: nothing of it counts any more.
    pub(super) failed: bool,
    done: Vec<OpCompletion>,
}

impl Lane {
    /// With a thread of its own where the device blocks, which rings `bell`.
    pub(super) fn open(
        member: usize,
        device: &dyn LogDevice,
        bytes: usize,
        bell: &Arc<Doorbell>,
    ) -> Result<Lane, DeviceError> {
        let memory = Memory::new(bytes)?;
        let region = &memory.region;
        let queue: Box<dyn Queue> = if device.caps().blocking {
            let mut workers = Workers::start(device, region, 1, &[])?;
            workers.park(bell, bell.read(), Some(Duration::ZERO));
            Box::new(workers)
        } else {
            device.queue(Arc::clone(region))?
        };
        Ok(Lane {
            member,
            queue,
            memory,
            writing: Vec::new(),
            waiting: VecDeque::new(),
            flushing: None,
            flushed: 0,
            in_flight: 0,
            failed: false,
            done: Vec::new(),
        })
    }

    /// Gives it a write of the bytes that `copy` writes into the region at the pieces. Where there
    /// is no room the member is too late, and fails.
    pub(super) fn write(
        &mut self,
        number: Number,
        (addr, len): (u64, usize),
        copy: impl FnOnce(&Region, [Piece; 2]),
    ) {
        if self.failed {
            return;
        }
        let Some(pieces) = self.memory.take(number, len) else {
            self.failed = true;
            return;
        };
        copy(&self.memory.region, pieces);
        self.writing.push((number, len as u64));
        self.in_flight += 1;
        let kind = OpKind::Write { addr, pieces };
        self.queue.submit(&[Op { id: number, kind }]);
    }

    /// Gives it a flush that covers the writes for which `covers` holds.
    pub(super) fn flush(&mut self, number: Number, covers: impl Fn(Number) -> bool) {
        if self.failed {
            return;
        }
        let writing = self.writing.iter().map(|(number, _)| *number);
        let needs = writing.filter(|write| covers(*write)).collect();
        self.waiting.push_back((number, needs));
        self.advance();
    }

    /// Whether it has completed this write.
    pub(super) fn has_written(&self, number: Number) -> bool {
        !self.failed && self.writing.iter().all(|(write, _)| *write != number)
    }

    /// Bytes that it was given and has not completed.
    pub(super) fn behind(&self) -> u64 {
        self.writing.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Takes what has ended; returns whether anything had.
    pub(super) fn pump(&mut self) -> bool {
        let mut done = std::mem::take(&mut self.done);
        self.queue.poll(&mut done, false);
        let any = !done.is_empty();
        for completion in done.drain(..) {
            self.ended(completion);
        }
        self.done = done;
        self.advance();
        any
    }

    fn ended(&mut self, completion: OpCompletion) {
        self.in_flight -= 1;
        if completion.id & FLUSH != 0 {
            match (self.flushing.take(), completion.result) {
                (Some(number), Ok(_)) if !self.failed => self.flushed = number,
                _ => self.failed = true,
            }
            return;
        }
        let number = completion.id;
        self.memory.give_back(number);
        let at = self.writing.iter().position(|(write, _)| *write == number);
        let bytes = at.map(|at| self.writing[at].1);
        if completion.result.ok() != bytes {
            // It stays among those that it has not completed.
            self.failed = true;
            return;
        }
        if let Some(at) = at {
            self.writing.swap_remove(at);
        }
        for (_, needs) in &mut self.waiting {
            needs.retain(|write| *write != number);
        }
    }

    /// Submits the flush of all that are ready.
    fn advance(&mut self) {
        if self.failed || self.flushing.is_some() {
            return;
        }
        while let Some((number, needs)) = self.waiting.front() {
            if !needs.is_empty() {
                break;
            }
            self.flushing = Some(*number);
            self.waiting.pop_front();
        }
        if let Some(number) = self.flushing {
            self.in_flight += 1;
            let id = FLUSH | number;
            let kind = OpKind::Flush;
            self.queue.submit(&[Op { id, kind }]);
        }
    }
}
