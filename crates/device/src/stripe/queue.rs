//! The queue of a stripe: operations divided among the devices' queues, and put together again.
//!
//! Where a device blocks, all but one of an operation's parts go to workers, and the thread that
//! submits carries out the last one itself: a write that lies on one device costs no hand-over.
//! Then the queue's operations run inside `submit`, in order, and after a failed one the rest of
//! the batch is cancelled, as with files. Other devices' operations end when the devices end them.
//!
//! Invariants: a device's counter of writes grows before the stripe's completion is returned; a
//! flush that was submitted counts only writes that were counted before it was submitted.

use super::Column;
use super::parts::{StripeMap, split};
use crate::doorbell::Doorbell;
use crate::error::DeviceError;
use crate::fault::{ECANCELED, EIO};
use crate::file::set::take_front;
use crate::pool::Workers;
use crate::queue::{IoFailure, Op, OpCompletion, OpKind, Piece, Queue};
use crate::region::Region;
use std::sync::Arc;
use std::time::Duration;

/// What the system answers to an address that is not there.
const EINVAL: i32 = 22;
/// Workers of each device that blocks: as many parts of one write can run on it at once.
const WORKERS: usize = 4;
/// Longest sleep while several queues are in flight of which only one can be waited for.
const MOMENT: Duration = Duration::from_micros(100);

/// The queue over the devices' queues.
pub(super) struct StripeQueue {
    columns: Arc<[Column]>,
    map: StripeMap,
    lanes: Vec<Lane>,
    slots: Slab<Slot>,
    parts: Slab<Part>,
    /// Parts of the operation that is submitted now.
    batch: Vec<(usize, Op)>,
    arrived: Vec<OpCompletion>,
    ready: Vec<OpCompletion>,
    /// Operations run inside `submit`.
    blocking: bool,
    notes: Vec<String>,
}

/// A device's queues.
struct Lane {
    own: Box<dyn Queue>,
    /// Its device's operations run inside `submit`.
    blocking: bool,
    /// None where the device does not block, or no operation is divided.
    workers: Option<Workers>,
    /// Parts that were submitted and not returned.
    in_flight: usize,
}

/// An operation of the stripe.
#[derive(Clone, Copy)]
struct Slot {
    op: Op,
    parts_left: usize,
    /// Bytes before the first one that was not transferred.
    transferred: u64,
    /// The failure of the part that comes first, with the bytes before that part.
    failed: Option<(u64, IoFailure)>,
}

/// A part of an operation.
#[derive(Clone, Copy)]
struct Part {
    slot: usize,
    /// Bytes of the operation before it.
    before: u64,
    /// Bytes of a write; zero for a flush.
    len: u64,
    /// Writes that a flush makes durable.
    covers: u64,
}

impl StripeQueue {
    pub(super) fn new(
        columns: &Arc<[Column]>,
        map: StripeMap,
        blocking: bool,
        region: &Arc<Region>,
    ) -> Result<StripeQueue, DeviceError> {
        // Control information and headers: two parts at most, out of a commit's path.
        let is_divided = region.len() as u64 > map.width();
        let mut lanes = Vec::with_capacity(columns.len());
        let mut notes: Vec<String> = Vec::new();
        for column in &**columns {
            let device = &*column.device;
            let blocking = device.caps().blocking;
            let workers = match blocking && is_divided {
                true => Some(Workers::start(device, region, WORKERS, &[])?),
                false => None,
            };
            let own = device.queue(Arc::clone(region))?;
            let new = own.notes().iter().filter(|note| !notes.contains(note));
            let new: Vec<String> = new.cloned().collect();
            notes.extend(new);
            lanes.push(Lane {
                own,
                blocking,
                workers,
                in_flight: 0,
            });
        }
        Ok(StripeQueue {
            columns: Arc::clone(columns),
            map,
            lanes,
            slots: Slab::default(),
            parts: Slab::default(),
            batch: Vec::with_capacity(16),
            arrived: Vec::with_capacity(16),
            ready: Vec::with_capacity(16),
            blocking,
            notes,
        })
    }

    /// Divides an operation and submits its parts. Returns what it failed with at once.
    fn begin(&mut self, op: Op) -> Result<(), IoFailure> {
        let slot = self.slots.insert(Slot {
            op,
            parts_left: 0,
            transferred: op.bytes() as u64,
            failed: None,
        });
        self.batch.clear();
        let refused = match op.kind {
            OpKind::Write { addr, pieces } => self.divide(slot, addr, pieces),
            OpKind::Flush => self.flush(slot),
        };
        self.slots.at(slot).parts_left = self.batch.len();
        if let Err(errno) = refused {
            self.slots.take(slot);
            return Err(IoFailure { errno });
        }
        if self.batch.is_empty() {
            self.end(slot);
        }
        self.hand_out();
        Ok(())
    }

    fn divide(&mut self, slot: usize, addr: u64, mut pieces: [Piece; 2]) -> Result<(), i32> {
        let bytes = pieces[0].len + pieces[1].len;
        if !self.map.holds(addr, bytes) {
            return Err(EINVAL);
        }
        for (before, len, place) in split(self.map, addr, bytes) {
            let id = self.parts.insert(Part {
                slot,
                before: before as u64,
                len: len as u64,
                covers: 0,
            }) as u64;
            let (addr, pieces) = (place.addr, take_front(&mut pieces, len));
            let kind = OpKind::Write { addr, pieces };
            self.batch.push((place.column, Op { id, kind }));
        }
        Ok(())
    }

    /// A flush of every device that a write reached since its last one.
    fn flush(&mut self, slot: usize) -> Result<(), i32> {
        if self.columns.iter().any(Column::is_lost) {
            return Err(EIO);
        }
        for (at, column) in self.columns.iter().enumerate() {
            if !column.is_dirty() {
                continue;
            }
            let id = self.parts.insert(Part {
                slot,
                before: 0,
                len: 0,
                covers: column.writes(),
            }) as u64;
            let kind = OpKind::Flush;
            self.batch.push((at, Op { id, kind }));
        }
        Ok(())
    }

    /// Submits the parts; the last one of those that block runs here.
    fn hand_out(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let own = batch.iter().rposition(|(at, _)| self.lanes[*at].blocking);
        let others = batch.iter().enumerate().filter(|(n, _)| Some(*n) != own);
        for (_, (at, op)) in others {
            let lane = &mut self.lanes[*at];
            match (&mut lane.workers, lane.blocking) {
                (Some(workers), _) => {
                    lane.in_flight += 1;
                    workers.submit(&[*op]);
                }
                (None, false) => {
                    lane.in_flight += 1;
                    lane.own.submit(&[*op]);
                }
                (None, true) => self.run(*at, *op),
            }
        }
        if let Some((at, op)) = own.and_then(|n| batch.get(n)) {
            self.run(*at, *op);
        }
        self.batch = batch;
    }

    /// Carries out a part on this thread.
    fn run(&mut self, at: usize, op: Op) {
        let own = &mut self.lanes[at].own;
        own.submit(&[op]);
        let mut arrived = std::mem::take(&mut self.arrived);
        while arrived.is_empty() {
            own.poll(&mut arrived, true);
        }
        for completion in arrived.drain(..) {
            self.ended(at, completion);
        }
        self.arrived = arrived;
    }

    /// Takes what ended on a device; returns how many parts.
    fn pump(&mut self, at: usize, wait: bool) -> usize {
        let lane = &mut self.lanes[at];
        if lane.in_flight == 0 {
            return 0;
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        let returned = match &mut lane.workers {
            Some(workers) => workers.poll(&mut arrived, wait),
            None => lane.own.poll(&mut arrived, wait),
        };
        lane.in_flight -= returned;
        for completion in arrived.drain(..) {
            self.ended(at, completion);
        }
        self.arrived = arrived;
        returned
    }

    /// A part has ended.
    fn ended(&mut self, at: usize, completion: OpCompletion) {
        let part = self.parts.take(completion.id as usize);
        let column = &self.columns[at];
        let slot = self.slots.at(part.slot);
        slot.parts_left -= 1;
        let result = match slot.op.kind {
            OpKind::Write { .. } => column.has_written(completion.result),
            OpKind::Flush => column.has_flushed(completion.result, part.covers),
        };
        if let Ok(bytes) = result
            && bytes < part.len
        {
            slot.transferred = slot.transferred.min(part.before + bytes);
        }
        if let Err(failure) = result
            && slot.failed.is_none_or(|(before, _)| part.before < before)
        {
            slot.failed = Some((part.before, failure));
        }
        if slot.parts_left == 0 {
            self.end(part.slot);
        }
    }

    /// An operation has ended.
    fn end(&mut self, slot: usize) {
        let slot = self.slots.take(slot);
        let result = match slot.failed {
            Some((_, failure)) => Err(failure),
            None => Ok(slot.transferred),
        };
        self.ready.push(OpCompletion {
            id: slot.op.id,
            result,
            by: 0,
        });
    }

    /// Waits for all that is in flight; returns whether the operation that ended last succeeded.
    fn finish(&mut self, op: Op) -> bool {
        for at in 0..self.lanes.len() {
            while self.lanes[at].in_flight > 0 {
                self.pump(at, true);
            }
        }
        let last = self.ready.last();
        last.is_some_and(|last| last.id == op.id && last.result == Ok(op.bytes() as u64))
    }

    fn pump_all(&mut self) {
        for at in 0..self.lanes.len() {
            self.pump(at, false);
        }
    }

    fn fail(&mut self, id: u64, failure: IoFailure) {
        let result = Err(failure);
        self.ready.push(OpCompletion { id, result, by: 0 });
    }
}

impl Queue for StripeQueue {
    fn submit(&mut self, ops: &[Op]) {
        let mut broken = false;
        for op in ops {
            if broken {
                self.fail(op.id, IoFailure { errno: ECANCELED });
                continue;
            }
            match self.begin(*op) {
                Err(failure) => {
                    self.fail(op.id, failure);
                    broken = true;
                }
                Ok(()) => broken = self.blocking && !self.finish(*op),
            }
        }
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        loop {
            self.pump_all();
            let returned = self.ready.len();
            out.append(&mut self.ready);
            if returned > 0 || !wait {
                return returned;
            }
            // No operation ends before the device that is waited for here ends its part of one.
            let busy = self.lanes.iter().position(|lane| lane.in_flight > 0);
            let Some(busy) = busy else { return 0 };
            if self.pump(busy, true) == 0 {
                // A simulated disk: only the caller can end something.
                return 0;
            }
        }
    }

    fn kind(&self) -> &'static str {
        self.lanes[0].own.kind()
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Several devices whose operations end by themselves cannot be waited for together: then it
    /// looks again after a moment.
    fn park(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        self.pump_all();
        if !self.ready.is_empty() {
            return;
        }
        let mut busy = self.lanes.iter_mut().filter(|lane| lane.in_flight > 0);
        match (busy.next(), busy.next()) {
            (None, _) => bell.wait_timeout(seen, timeout),
            (Some(lane), None) => lane.own.park(bell, seen, timeout),
            (Some(lane), Some(_)) => {
                let moment = timeout.map_or(MOMENT, |t| t.min(MOMENT));
                lane.own.park(bell, seen, Some(moment));
            }
        }
    }
}

/// Values by number; numbers of values that were taken are used again.
struct Slab<T> {
    values: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab {
            values: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    fn insert(&mut self, value: T) -> usize {
        let number = self.free.pop().unwrap_or_else(|| {
            self.values.push(None);
            self.values.len() - 1
        });
        self.values[number] = Some(value);
        number
    }

    fn at(&mut self, number: usize) -> &mut T {
        self.values[number].as_mut().expect("in use")
    }

    fn take(&mut self, number: usize) -> T {
        self.free.push(number);
        self.values[number].take().expect("in use")
    }
}
