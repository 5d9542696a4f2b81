//! A member's part of a queue: what it was given, has completed, and has made durable.
//!
//! Invariants: a member's flush is submitted when *this* member has completed every write that the
//! flush covers; it has one flush in flight at a time, which covers all that are ready; its memory
//! is filled again only when its own operation has returned. It has one write in flight: what comes
//! meanwhile and follows it on the device goes in one write with it, so that a member that is late
//! catches up, though it is no faster than the others.

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

    /// Room for `len` bytes, by the place at which it begins; `None` where what is still written
    /// leaves less.
    fn take(&mut self, number: Number, len: usize) -> Option<u64> {
        let (ring, len) = (self.region.len() as u64, len as u64);
        if self.head + len - self.tail > ring {
            return None;
        }
        let from = self.head;
        self.head += len;
        self.taken.push_back((number, len, false));
        Some(from)
    }

    /// The memory from this place on.
    fn pieces(&self, from: u64, len: u64) -> [Piece; 2] {
        let ring = self.region.len() as u64;
        let at = from % ring;
        let first = len.min(ring - at);
        let piece = |at: u64, len: u64| Piece {
            at: at as usize,
            len: len as usize,
        };
        [piece(at, first), piece(0, len - first)]
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

/// A write that is not submitted yet.
struct Held {
    number: Number,
    addr: u64,
    len: u64,
    /// Where it begins in the member's memory, in bytes taken since the log was opened.
    from: u64,
}

/// A flush that waits for writes of its member.
struct Wanted {
    number: Number,
    needs: Vec<Number>,
    /// The log's bytes that it covers.
    bytes: u64,
}

/// A member in a queue.
pub(super) struct Lane {
    pub(super) member: usize,
    queue: Box<dyn Queue>,
    memory: Memory,
    /// Writes that it has not completed.
    writing: Vec<Number>,
    /// Of those, the ones that are not submitted, oldest first.
    held: VecDeque<Held>,
    /// The write in flight: which it carries, and their bytes.
    carried: Option<(Vec<Number>, u64)>,
    /// Bytes of a write at most.
    max_io_bytes: u64,
    /// Flushes that wait for writes of this member, oldest first.
    waiting: VecDeque<Wanted>,
    /// The flush in flight, and the bytes that were returned before it was wanted.
    flushing: Option<(Number, u64)>,
    /// Flushes up to this one are complete.
    pub(super) flushed: Number,
    /// The log's bytes that were returned before that one was wanted: it has them durably.
    pub(super) durable_bytes: u64,
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
            held: VecDeque::new(),
            carried: None,
            max_io_bytes: device.caps().max_io_bytes.into(),
            waiting: VecDeque::new(),
            flushing: None,
            flushed: 0,
            durable_bytes: 0,
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
        let Some(from) = self.memory.take(number, len) else {
            self.failed = true;
            return;
        };
        let len = len as u64;
        copy(&self.memory.region, self.memory.pieces(from, len));
        self.writing.push(number);
        self.held.push_back(Held {
            number,
            addr,
            len,
            from,
        });
        self.advance_writes();
    }

    /// Submits what is held and follows each other on the device, where no write is in flight.
    fn advance_writes(&mut self) {
        if self.failed || self.carried.is_some() {
            return;
        }
        let Some(first) = self.held.pop_front() else {
            return;
        };
        let (mut numbers, mut len) = (vec![first.number], first.len);
        while let Some(next) = self.held.front() {
            let follows = next.addr == first.addr + len && next.from == first.from + len;
            if !follows || len + next.len > self.max_io_bytes {
                break;
            }
            len += next.len;
            numbers.push(next.number);
            self.held.pop_front();
        }
        let pieces = self.memory.pieces(first.from, len);
        let addr = first.addr;
        let kind = OpKind::Write { addr, pieces };
        let id = first.number;
        self.carried = Some((numbers, len));
        self.in_flight += 1;
        self.queue.submit(&[Op { id, kind }]);
    }

    /// Gives it a flush that covers the writes for which `covers` holds, `bytes` of the log.
    pub(super) fn flush(&mut self, number: Number, bytes: u64, covers: impl Fn(Number) -> bool) {
        if self.failed {
            return;
        }
        let writing = self.writing.iter().copied();
        let needs = writing.filter(|write| covers(*write)).collect();
        self.waiting.push_back(Wanted {
            number,
            needs,
            bytes,
        });
        self.advance();
    }

    /// Whether it has completed this write.
    pub(super) fn has_written(&self, number: Number) -> bool {
        !self.failed && !self.writing.contains(&number)
    }

    /// Nothing of it is on its way or wanted.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0 && (self.failed || self.waiting.is_empty() && self.held.is_empty())
    }

    /// From now on nothing is submitted: the process that would do it has ended.
    #[cfg(feature = "crash")]
    pub(super) fn halt(&mut self) {
        self.held.clear();
        self.waiting.clear();
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
                (Some((number, bytes)), Ok(_)) if !self.failed => {
                    (self.flushed, self.durable_bytes) = (number, bytes);
                }
                _ => self.failed = true,
            }
            return;
        }
        let Some((numbers, bytes)) = self.carried.take() else {
            return;
        };
        numbers
            .iter()
            .for_each(|number| self.memory.give_back(*number));
        if completion.result != Ok(bytes) {
            // They stay among those that it has not completed.
            self.failed = true;
            return;
        }
        let ended = |write: &Number| numbers.contains(write);
        self.writing.retain(|write| !ended(write));
        for wanted in &mut self.waiting {
            wanted.needs.retain(|write| !ended(write));
        }
        self.advance_writes();
    }

    /// Submits the flush of all that are ready.
    fn advance(&mut self) {
        if self.failed || self.flushing.is_some() {
            return;
        }
        while let Some(wanted) = self.waiting.front() {
            if !wanted.needs.is_empty() {
                break;
            }
            self.flushing = Some((wanted.number, wanted.bytes));
            self.waiting.pop_front();
        }
        if let Some((number, _)) = self.flushing {
            self.in_flight += 1;
            let id = FLUSH | number;
            let kind = OpKind::Flush;
            self.queue.submit(&[Op { id, kind }]);
        }
    }
}
