//! What a member was given, has completed, and has made durable: a state machine without a thread.
//! What carries its operations out is in [`super::driver`].
//!
//! Invariants:
//! - A member's flush covers what *this* member had completed when the flush was handed out; it has
//!   one flush in flight at a time, which covers all that is complete.
//! - Only what is complete without a hole counts, from the first write on: the blocks of a write
//!   that ended before an older one count when the older one has ended too.
//! - Its memory is filled again only when its own operation has returned.
//! - It has a few writes in flight at most. What comes meanwhile and follows each other on the
//!   device goes in one write, so that a member that is late catches up, though it is no faster
//!   than the others.
//! - A flush is handed out only where it was wanted: by the log writer, or by a write that is
//!   expected to be flushed next.

use device::{Op, OpCompletion, OpKind, Piece, Region};
use std::collections::VecDeque;
use std::sync::Arc;

/// A number of the set's operations, from 1; unique and rising in the order of submission.
pub(super) type Number = u64;

/// The id of a flush. Those of writes are their numbers.
pub(super) const FLUSH: u64 = 1 << 63;

/// A place in the log as the set was given it: behind a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Upto {
    /// The write.
    pub(super) number: Number,
    /// Bytes of all writes up to this one, since the log was opened.
    pub(super) bytes: u64,
}

/// Memory of its own that a member writes from: a ring.
struct Memory {
    /// `None` where only counts are kept.
    region: Option<Arc<Region>>,
    len: u64,
    head: u64,
    tail: u64,
    /// Bytes of each write, oldest first, and whether it has returned.
    taken: VecDeque<(Number, u64, bool)>,
}

impl Memory {
    fn new(len: u64, region: Option<Arc<Region>>) -> Memory {
        Memory {
            region,
            len,
            head: 0,
            tail: 0,
            taken: VecDeque::new(),
        }
    }

    /// Room for `len` bytes, by the place at which it begins; `None` where what is still written
    /// leaves less.
    fn take(&mut self, number: Number, len: usize) -> Option<u64> {
        let len = len as u64;
        if self.head + len - self.tail > self.len {
            return None;
        }
        let from = self.head;
        self.head += len;
        self.taken.push_back((number, len, false));
        Some(from)
    }

    /// The memory from this place on.
    fn pieces(&self, from: u64, len: u64) -> [Piece; 2] {
        let at = from % self.len;
        let first = len.min(self.len - at);
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

/// A write that the member was given, until it and all older ones are complete.
struct Given {
    upto: Upto,
    complete: bool,
}

/// A write in flight: which it carries, and their bytes.
struct Carried {
    id: u64,
    numbers: Vec<Number>,
    bytes: u64,
}

/// Writes that a member of a race has in flight at most. The member that was second is still at the
/// write before when the next one comes: with one in flight it would not take part.
const RACE_DEPTH: usize = 4;

/// What a member can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    /// Writes that it has in flight at most.
    pub(super) depth: usize,
    /// Bytes of a write at most.
    pub(super) max_io_bytes: u64,
    /// A write is durable when it is complete.
    pub(super) durable_writes: bool,
    /// A planted bug: flushes do not wait for this member's writes.
    pub(super) flushes_early: bool,
}

impl Abilities {
    /// Of a device that flushes; `races` says that others of its cell may complete a write before
    /// it does.
    pub(super) const fn of_a_cell(races: bool, max_io_bytes: u64) -> Abilities {
        Abilities {
            depth: if races { RACE_DEPTH } else { 1 },
            max_io_bytes,
            durable_writes: false,
            flushes_early: false,
        }
    }
}

/// How a member is, for those who ask without its lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LaneStatus {
    /// All writes up to here are complete.
    pub(super) complete: Upto,
    /// All writes up to here are durable.
    pub(super) durable: Upto,
    /// Operations in flight.
    pub(super) in_flight: usize,
    /// Bytes of its memory that writes have which have not returned.
    pub(super) held_bytes: u64,
    /// It failed, or it had no room: nothing of it counts any more.
    pub(super) failed: bool,
    /// Nothing of it is on its way or wanted.
    pub(super) idle: bool,
}

impl LaneStatus {
    /// Whether it has everything up to a write: durable where that is `true`.
    pub(super) fn has(self, (durable, number): (bool, Number)) -> bool {
        let has = if durable { self.durable } else { self.complete };
        !self.failed && has.number >= number
    }
}

/// A member's part of a queue.
pub(super) struct LaneState {
    can: Abilities,
    memory: Memory,
    /// Writes behind what is complete, oldest first.
    given: VecDeque<Given>,
    /// Of those, the ones that are not submitted, oldest first.
    held: VecDeque<Held>,
    carried: Vec<Carried>,
    /// Flushes are wanted that cover these writes, oldest first.
    wanted: VecDeque<Number>,
    /// What the flush in flight covers.
    flushing: Option<Upto>,
    last: Upto,
    complete: Upto,
    durable: Upto,
    in_flight: usize,
    failed: bool,
    /// Nothing is handed out for now.
    on_hold: bool,
}

impl LaneState {
    /// One that writes from this memory.
    pub(super) fn new(region: Arc<Region>, can: Abilities) -> LaneState {
        let bytes = region.len() as u64;
        LaneState::with(Memory::new(bytes, Some(region)), can)
    }

    /// One that keeps counts and no bytes.
    #[cfg(feature = "internals")]
    pub(super) fn counted(bytes: u64, can: Abilities) -> LaneState {
        LaneState::with(Memory::new(bytes, None), can)
    }

    fn with(memory: Memory, can: Abilities) -> LaneState {
        LaneState {
            can,
            memory,
            given: VecDeque::new(),
            held: VecDeque::new(),
            carried: Vec::new(),
            wanted: VecDeque::new(),
            flushing: None,
            last: Upto::default(),
            complete: Upto::default(),
            durable: Upto::default(),
            in_flight: 0,
            failed: false,
            on_hold: false,
        }
    }

    /// It is given what comes behind `upto`; what lies before it has in another way.
    pub(super) fn begin_behind(&mut self, upto: Upto) {
        assert!(self.last == Upto::default(), "before it was given anything");
        (self.last, self.complete, self.durable) = (upto, upto, upto);
    }

    /// Nothing is handed out while it is on hold.
    pub(super) fn hold(&mut self, on_hold: bool) {
        self.on_hold = on_hold;
    }

    /// Gives it a write of the bytes that `copy` writes into the region at the pieces. Where there
    /// is no room the member is too late, and fails.
    pub(super) fn write(
        &mut self,
        upto: Upto,
        (addr, len): (u64, usize),
        copy: impl FnOnce(&Region, [Piece; 2]),
    ) {
        if self.failed {
            return;
        }
        let Some(from) = self.memory.take(upto.number, len) else {
            self.failed = true;
            return;
        };
        let len = len as u64;
        if let Some(region) = &self.memory.region {
            copy(region, self.memory.pieces(from, len));
        }
        self.last = upto;
        self.given.push_back(Given {
            upto,
            complete: false,
        });
        self.held.push_back(Held {
            number: upto.number,
            addr,
            len,
            from,
        });
    }

    /// A flush is wanted that covers the writes up to this one.
    pub(super) fn want(&mut self, covers: Number) {
        let known = self.wanted.back().is_some_and(|last| *last >= covers);
        if !known && self.durable.number < covers {
            self.wanted.push_back(covers);
        }
    }

    /// Nothing more is handed out; what is in flight still returns.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    /// From now on nothing is submitted: the process that would do it has ended.
    #[cfg(feature = "crash")]
    pub(super) fn halt(&mut self) {
        self.held.clear();
        self.wanted.clear();
    }

    pub(super) fn status(&self) -> LaneStatus {
        let at_rest = self.wanted.is_empty() && self.held.is_empty();
        LaneStatus {
            complete: self.complete,
            durable: self.durable,
            in_flight: self.in_flight,
            held_bytes: self.memory.head - self.memory.tail,
            failed: self.failed,
            idle: self.in_flight == 0 && (self.failed || at_rest),
        }
    }

    /// Whether [`LaneState::next`] has something.
    pub(super) fn is_ready(&self) -> bool {
        self.flush_is_due() || self.may_write()
    }

    /// What is to be carried out now, if anything: it is in flight from here on.
    pub(super) fn next(&mut self) -> Option<Op> {
        let op = if self.flush_is_due() {
            let covers = match self.can.flushes_early {
                true => self.last,
                false => self.complete,
            };
            self.flushing = Some(covers);
            Op {
                id: FLUSH,
                kind: OpKind::Flush,
            }
        } else {
            self.next_write()?
        };
        self.in_flight += 1;
        Some(op)
    }

    fn flush_is_due(&self) -> bool {
        let complete = |wanted: &Number| *wanted <= self.complete.number || self.can.flushes_early;
        let free = !self.failed && !self.on_hold && self.flushing.is_none();
        free && self.wanted.front().is_some_and(complete)
    }

    fn may_write(&self) -> bool {
        let free = !self.failed && !self.on_hold && self.carried.len() < self.can.depth;
        free && !self.held.is_empty()
    }

    /// What is held and follows each other on the device, where no more writes are in flight than
    /// may be.
    fn next_write(&mut self) -> Option<Op> {
        if !self.may_write() {
            return None;
        }
        let first = self.held.pop_front()?;
        let (mut numbers, mut len) = (vec![first.number], first.len);
        while let Some(next) = self.held.front() {
            let follows = next.addr == first.addr + len && next.from == first.from + len;
            if !follows || len + next.len > self.can.max_io_bytes {
                break;
            }
            len += next.len;
            numbers.push(next.number);
            self.held.pop_front();
        }
        let (id, addr, bytes) = (first.number, first.addr, len);
        self.carried.push(Carried { id, numbers, bytes });
        let pieces = self.memory.pieces(first.from, len);
        let kind = OpKind::Write { addr, pieces };
        Some(Op { id, kind })
    }

    /// Takes in what has ended.
    pub(super) fn ended(&mut self, completion: OpCompletion) {
        self.in_flight -= 1;
        if completion.id == FLUSH {
            match (self.flushing.take(), completion.result) {
                (Some(covers), Ok(_)) if !self.failed => self.is_durable(covers),
                _ => self.failed = true,
            }
            return;
        }
        let carried = self.carried.iter().position(|c| c.id == completion.id);
        let Some(carried) = carried.map(|at| self.carried.swap_remove(at)) else {
            return;
        };
        for number in &carried.numbers {
            self.memory.give_back(*number);
        }
        if completion.result != Ok(carried.bytes) {
            // They stay among those that it has not completed.
            self.failed = true;
            return;
        }
        for given in &mut self.given {
            given.complete |= carried.numbers.contains(&given.upto.number);
        }
        while let Some(Given {
            upto,
            complete: true,
        }) = self.given.front()
        {
            self.complete = *upto;
            self.given.pop_front();
        }
        if self.can.durable_writes && !self.failed {
            self.is_durable(self.complete);
        }
    }

    fn is_durable(&mut self, upto: Upto) {
        self.durable = upto;
        let satisfied = self.wanted.iter().take_while(|w| **w <= upto.number);
        let satisfied = satisfied.count();
        self.wanted.drain(..satisfied);
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests;
