//! The log's tail on the ring: what was written and the disk does not have durably.
//!
//! Invariants: an entry goes when the disk's flush covers it, the oldest first; its place in the
//! ring is written anew when, besides, no write of the ring names its memory, so that a ring that
//! does not answer holds its places and nothing more; what the ring has durably are batches whose
//! write had completed when the flush was submitted. A batch has the same place in memory and in
//! the ring.
//!
//! What it must not know: when to write.

use super::format::{BatchHead, HEAD_BYTES, LEAST_UNIT, RING_DATA_AT};
use super::space::{Slot, Space};
use crate::format::{LifeId, LogId, Summer};
use crate::members::errands::{LOOK, is_late};
use crate::members::lane::Number;
use crate::planted::{Bug, Planted};
use crate::sync::Builder;
use device::pool::Workers;
use device::queue::{LogDevice, Queue};
use device::{DeviceError, Doorbell, Op, OpCompletion, OpKind, Piece, Region};
use measure::{Clock, Nanos};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Operations of the ring: one write and one flush at most.
const WRITE: u64 = 1;
const FLUSH: u64 = 2;

/// How far an entry is on the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It is not there, and will not be.
    Nowhere,
    /// In memory; nobody wants it on the ring.
    Held,
    Wanted,
    Writing,
    /// Its write has completed.
    Written,
    Durable,
}

/// A log write that the disk does not have durably.
struct Entry {
    number: Number,
    addr: u64,
    bytes: u64,
    slot: Option<Slot>,
    /// The first flush that covers it.
    covered_by: Option<Number>,
    place: Place,
}

impl Entry {
    fn is_on_disk(&self, flushed: Number) -> bool {
        self.covered_by.is_some_and(|flush| flush <= flushed)
    }
}

/// What became of a log write on the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// It has a place.
    Yes,
    /// There is no room: the disk has not made durable what is there.
    Busy,
    /// It is larger than the ring.
    Large,
    /// The ring was given up.
    Failed,
}

/// Whose batches these are.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) log_id: LogId,
    pub(super) life: LifeId,
}

pub(super) struct Tail {
    queue: Box<dyn Queue>,
    /// It has a thread of its own.
    blocking: bool,
    clock: Arc<dyn Clock>,
    /// When the last write and the last flush were submitted.
    begun: (Nanos, Nanos),
    region: Arc<Region>,
    space: Space,
    max_io_bytes: u64,
    owner: Owner,
    sums: Summer,
    /// Batches so far.
    batches: u64,
    entries: VecDeque<Entry>,
    /// Places of what the disk has durably, the oldest first, and whether the ring's write in
    /// flight names their memory.
    leaving: VecDeque<(Slot, bool)>,
    /// So many of them, the oldest, are covered by a flush and durable on the ring.
    settled: usize,
    /// Their bytes, of all entries.
    lag_bytes: u64,
    /// Bytes of the write in flight.
    writing: Option<u64>,
    /// What the flush in flight covers.
    flushing: Option<Vec<Number>>,
    /// Nothing of it counts any more.
    pub(super) failed: bool,
    #[cfg(feature = "crash")]
    halted: bool,
    planted: Planted,
    done: Vec<OpCompletion>,
}

impl Tail {
    /// On `device`, of `ring_bytes`; with a thread of its own where the device blocks, which rings
    /// `bell`.
    pub(super) fn open(
        device: &dyn LogDevice,
        ring_bytes: u64,
        owner: Owner,
        bell: &Arc<Doorbell>,
        clock: &Arc<dyn Clock>,
        planted: Planted,
    ) -> Result<Tail, DeviceError> {
        let caps = device.caps();
        let unit = u64::from(caps.physical_bytes.max(caps.logical_bytes)).max(LEAST_UNIT);
        let space = Space::new(ring_bytes, unit);
        let region = Arc::new(Region::new(space.bytes().max(unit) as usize)?);
        let queue: Box<dyn Queue> = if caps.blocking {
            let mut workers = Workers::start_by(clock, device, &region, 1, &[])?;
            workers.park(bell, bell.read(), Some(Duration::ZERO));
            Box::new(workers)
        } else {
            device.queue(Arc::clone(&region))?
        };
        Ok(Tail {
            queue,
            blocking: caps.blocking,
            clock: Arc::clone(clock),
            begun: (Nanos::ZERO, Nanos::ZERO),
            region,
            space,
            max_io_bytes: caps.max_io_bytes.into(),
            sums: Summer::of_life(owner.log_id, Some(owner.life)),
            owner,
            batches: 0,
            entries: VecDeque::new(),
            leaving: VecDeque::new(),
            settled: 0,
            lag_bytes: 0,
            writing: None,
            flushing: None,
            failed: false,
            #[cfg(feature = "crash")]
            halted: false,
            planted,
            done: Vec::new(),
        })
    }

    /// A log write begins whose bytes `copy` writes into the region at the pieces.
    pub(super) fn begin(
        &mut self,
        number: Number,
        (addr, len): (u64, usize),
        copy: impl FnOnce(&Region, [Piece; 2]),
    ) -> Kept {
        let bytes = len as u64;
        let room = HEAD_BYTES as u64 + bytes;
        let large = self.space.rounded(room) > self.space.bytes().min(self.max_io_bytes);
        let (slot, kept) = match large || self.failed {
            true if self.failed => (None, Kept::Failed),
            true => (None, Kept::Large),
            false => match self.space.take(room) {
                Some(slot) => (Some(slot), Kept::Yes),
                None => (None, Kept::Busy),
            },
        };
        if let Some(slot) = slot {
            let at = slot.at as usize + HEAD_BYTES;
            copy(&self.region, [Piece { at, len }, Piece::default()]);
        }
        self.lag_bytes += bytes;
        self.entries.push_back(Entry {
            number,
            addr,
            bytes,
            slot,
            covered_by: None,
            place: match slot {
                Some(_) => Place::Held,
                None => Place::Nowhere,
            },
        });
        kept
    }

    /// Of the log writes, those for which `returned` holds are covered by `flush`.
    pub(super) fn cover(&mut self, flush: Number, returned: impl Fn(Number) -> bool) {
        for entry in self.entries.range_mut(self.settled..) {
            if entry.covered_by.is_none() && returned(entry.number) {
                entry.covered_by = Some(flush);
            }
        }
        self.settle();
    }

    fn settle(&mut self) {
        let is_settled = |e: &Entry| e.place == Place::Durable && e.covered_by.is_some();
        while self.entries.get(self.settled).is_some_and(is_settled) {
            self.settled += 1;
        }
    }

    /// Wants at most `most` of what is in memory on the ring; returns how many, and whether more
    /// was there.
    pub(super) fn want(&mut self, most: u64) -> (u64, bool) {
        let mut wanted = 0;
        let (region, owner) = (&self.region, &self.owner);
        for entry in self.entries.range_mut(self.settled..) {
            let (Place::Held, Some(slot)) = (entry.place, entry.slot) else {
                continue;
            };
            if wanted == most {
                return (wanted, true);
            }
            let (at, blocks_at) = (slot.at as usize, slot.at as usize + HEAD_BYTES);
            let head = BatchHead {
                life: owner.life.bytes(),
                number: self.batches,
                addr: entry.addr,
                bytes: entry.bytes as u32,
            };
            // SAFETY: the slot is this entry's alone, and no operation names it yet.
            unsafe {
                let blocks = region.slice(blocks_at, entry.bytes as usize);
                let head = head.encode(owner.log_id, &self.sums, blocks);
                region.write(at, &head);
            }
            self.batches += 1;
            entry.place = Place::Wanted;
            wanted += 1;
        }
        (wanted, false)
    }

    /// Whether the ring has this write, in a cache at least.
    pub(super) fn has_written(&self, number: Number) -> bool {
        let found = self.entries.binary_search_by_key(&number, |e| e.number);
        let found = found.ok().and_then(|at| self.entries.get(at));
        found.is_some_and(|entry| matches!(entry.place, Place::Written | Place::Durable))
    }

    /// Whether everything that `flush` covers is durable: on the disk, which has made durable what
    /// its flush `flushed` covers, or on the ring.
    pub(super) fn is_durable(&self, flush: Number, flushed: Number) -> bool {
        let early = self.planted.has(Bug::RingUnflushed);
        let on_ring =
            |entry: &Entry| entry.place == Place::Durable || early && entry.place == Place::Written;
        let covered = |entry: &&Entry| entry.covered_by.is_some_and(|by| by <= flush);
        let mut all = self.entries.range(self.settled..).filter(covered);
        if self.planted.has(Bug::RingWithHole) {
            return all.next_back().is_none_or(on_ring);
        }
        all.all(|entry| entry.is_on_disk(flushed) || on_ring(entry))
    }

    /// Lets go of what the disk has made durable with its flush `flushed`; `written` holds for
    /// writes that it has completed.
    pub(super) fn release(&mut self, flushed: Number, written: impl Fn(Number) -> bool) {
        let is_on_disk = |entry: &&Entry| entry.is_on_disk(flushed);
        while let Some(oldest) = self.entries.front().filter(is_on_disk) {
            if let Some(slot) = oldest.slot {
                let named = oldest.place == Place::Writing;
                self.leaving.push_back((slot, named));
            }
            self.lag_bytes -= oldest.bytes;
            self.settled = self.settled.saturating_sub(1);
            self.entries.pop_front();
        }
        while let Some(&(slot, false)) = self.leaving.front() {
            self.space.give_back(slot);
            self.leaving.pop_front();
        }
        if !self.planted.has(Bug::RingReusedEarly) || !self.leaving.is_empty() {
            return;
        }
        for entry in &mut self.entries {
            let gone = matches!(entry.place, Place::Durable) && written(entry.number);
            match entry.slot {
                Some(slot) if gone => self.space.give_back(slot),
                Some(_) => break,
                None => continue,
            }
            entry.slot = None;
        }
    }

    /// Log bytes that the disk does not have durably.
    pub(super) fn lag_bytes(&self) -> u64 {
        self.lag_bytes
    }

    /// Nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.writing.is_none() && self.flushing.is_none()
    }

    /// An operation has been in flight for so long.
    pub(super) fn hangs(&self, patience: Duration) -> bool {
        let late = |since| is_late(self.clock.now().since(since), patience);
        let (write, flush) = self.begun;
        self.writing.is_some() && late(write) || self.flushing.is_some() && late(flush)
    }

    /// The log is closed: what is in flight is waited for as long as it does not hang. A thread
    /// that hangs is left behind then, and its queue holds the lock of the ring.
    pub(super) fn end(mut self, patience: Duration) {
        if !self.blocking {
            return;
        }
        loop {
            self.pump();
            if self.is_idle() {
                return;
            }
            if self.hangs(patience) && !self.planted.has(Bug::CloseWaitsForMember) {
                break;
            }
            std::thread::sleep(LOOK);
        }
        // Where the system gives no thread it is waited for.
        let left = Builder::new().name("ring-left".to_owned());
        let _ = left.spawn(move || drop(self));
    }

    #[cfg(feature = "crash")]
    pub(super) fn halt(&mut self) {
        self.halted = true;
    }

    /// Overlays `out`, what the disk holds at `addr`, with what was written since.
    pub(super) fn overlay(&self, addr: u64, out: &mut [u8], mask: &mut [bool]) {
        for entry in &self.entries {
            let Some(slot) = entry.slot else { continue };
            let from = addr.max(entry.addr);
            let upto = (addr + out.len() as u64).min(entry.addr + entry.bytes);
            if from >= upto {
                continue;
            }
            let at = (slot.at as usize) + HEAD_BYTES + (from - entry.addr) as usize;
            // SAFETY: the slot is this entry's alone, and nobody writes its memory any more.
            let bytes = unsafe { self.region.slice(at, (upto - from) as usize) };
            let into = (from - addr) as usize..(upto - addr) as usize;
            out[into.clone()].copy_from_slice(bytes);
            mask[into].fill(true);
        }
    }

    /// Takes what has ended.
    pub(super) fn pump(&mut self) {
        let mut done = std::mem::take(&mut self.done);
        self.queue.poll(&mut done, false);
        for completion in done.drain(..) {
            self.ended(completion);
        }
        self.done = done;
    }

    fn ended(&mut self, completion: OpCompletion) {
        if completion.id == FLUSH {
            let covered = self.flushing.take().unwrap_or_default();
            if completion.result.is_err() {
                self.fail();
            }
            let later = self.planted.has(Bug::RingFlushCountsLater);
            for entry in self.entries.range_mut(self.settled..) {
                if entry.place == Place::Written && (later || covered.contains(&entry.number)) {
                    entry.place = Place::Durable;
                }
            }
            self.settle();
            return;
        }
        let bytes = self.writing.take();
        let done = bytes.is_some_and(|bytes| completion.result == Ok(bytes));
        let done = done && !self.failed;
        for (_, named) in &mut self.leaving {
            *named = false;
        }
        for entry in self.entries.range_mut(self.settled..) {
            if entry.place == Place::Writing {
                entry.place = match done {
                    true => Place::Written,
                    false => Place::Nowhere,
                };
            }
        }
        if !done {
            self.fail();
        }
    }

    /// Gives the ring up: what it has counts no more for what is acknowledged from now on.
    pub(super) fn fail(&mut self) {
        (self.failed, self.settled) = (true, 0);
        for entry in &mut self.entries {
            if entry.place != Place::Writing {
                entry.place = Place::Nowhere;
            }
        }
    }

    /// Submits what is wanted, as far as nothing is in flight; a flush where one of `flushes`,
    /// which nobody has completed, needs it.
    pub(super) fn advance(&mut self, flushes: impl Iterator<Item = Number>) {
        #[cfg(feature = "crash")]
        if self.halted {
            return;
        }
        if self.failed {
            return;
        }
        if self.writing.is_none() {
            self.submit_write();
        }
        if self.flushing.is_none() {
            self.submit_flush(flushes);
        }
    }

    /// Writes what is wanted and follows each other in the ring.
    fn submit_write(&mut self) {
        let live = self.entries.range_mut(self.settled..);
        let mut wanted = live.skip_while(|e| e.place != Place::Wanted);
        let Some(first) = wanted.next() else {
            return;
        };
        let slot = first.slot.expect("what is wanted has a place");
        first.place = Place::Writing;
        let mut len = slot.len;
        for next in wanted {
            let Some(other) = next.slot.filter(|_| next.place == Place::Wanted) else {
                break;
            };
            if other.at != slot.at + len || len + other.len > self.max_io_bytes {
                break;
            }
            len += other.len;
            next.place = Place::Writing;
        }
        let piece = Piece {
            at: slot.at as usize,
            len: len as usize,
        };
        let kind = OpKind::Write {
            addr: RING_DATA_AT + slot.at,
            pieces: [piece, Piece::default()],
        };
        self.begun.0 = self.clock.now();
        self.writing = Some(len);
        self.queue.submit(&[Op { id: WRITE, kind }]);
    }

    fn submit_flush(&mut self, flushes: impl Iterator<Item = Number>) {
        let is_needed = |flush: &Number| {
            let covered = |entry: &&Entry| entry.covered_by.is_some_and(|by| by <= *flush);
            let mut some = false;
            for entry in self.entries.range(self.settled..).filter(covered) {
                match entry.place {
                    Place::Wanted | Place::Writing => return false,
                    Place::Written => some = true,
                    Place::Nowhere | Place::Held | Place::Durable => {}
                }
            }
            some
        };
        if !flushes.into_iter().any(|flush| is_needed(&flush)) {
            return;
        }
        let live = self.entries.range(self.settled..);
        let written = live.filter(|e| e.place == Place::Written);
        let covers = written.map(|entry| entry.number).collect();
        self.begun.1 = self.clock.now();
        self.flushing = Some(covers);
        let kind = OpKind::Flush;
        self.queue.submit(&[Op { id: FLUSH, kind }]);
    }
}
