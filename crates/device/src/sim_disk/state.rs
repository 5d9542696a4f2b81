//! The disk's state: what is durable, what is in the cache, what is in flight.
//!
//! Invariants: a sector's versions are in the order in which they arrived; a version is a whole
//! physical sector, what a write did not cover being as the cache had it then.

use super::{OpOutcome, Pending};
use crate::queue::{IoFailure, Op, OpCompletion, OpKind};
use crate::region::Region;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const EINVAL: i32 = 22;

/// A content that a sector might have on the medium.
pub(super) struct Version {
    /// The write that brought it.
    pub(super) ticket: u64,
    /// Order of arrival, over all sectors.
    pub(super) seq: u64,
    /// Reads see it: its write did not fail.
    visible: bool,
    pub(super) data: Vec<u8>,
}

pub(super) struct Flight {
    pub(super) pending: Pending,
    kind: Kind,
}

enum Kind {
    Write {
        region: Arc<Region>,
        /// The source as it was at submission.
        source: Vec<u8>,
    },
    /// Writes whose completion had been returned and that were not durable.
    Flush { covers: BTreeSet<u64> },
}

pub(super) struct State {
    pub(super) sector_bytes: usize,
    pub(super) durable_writes: bool,
    pub(super) durable: Vec<u8>,
    pub(super) cache: BTreeMap<u64, Vec<Version>>,
    pub(super) flights: BTreeMap<u64, Flight>,
    pub(super) violations: Vec<String>,
    immediate: bool,
    /// Finished writes and their completions that were not returned yet.
    finished: Vec<(u32, u64, OpCompletion)>,
    /// Returned writes that a flush can make durable.
    returned: BTreeSet<u64>,
    tickets: u64,
    arrivals: u64,
    queues: u32,
}

impl State {
    pub(super) fn new(durable: Vec<u8>, sector_bytes: usize, durable_writes: bool) -> State {
        State {
            sector_bytes,
            durable_writes,
            durable,
            cache: BTreeMap::new(),
            flights: BTreeMap::new(),
            violations: Vec::new(),
            immediate: false,
            finished: Vec::new(),
            returned: BTreeSet::new(),
            tickets: 0,
            arrivals: 0,
            queues: 0,
        }
    }

    pub(super) fn is_untouched(&self) -> bool {
        self.tickets == 0
    }

    pub(super) fn new_queue(&mut self) -> u32 {
        self.queues += 1;
        self.queues - 1
    }

    pub(super) fn pending(&self) -> Vec<Pending> {
        self.flights.values().map(|flight| flight.pending).collect()
    }

    pub(super) fn set_immediate(&mut self, immediate: bool) {
        self.immediate = immediate;
        while let Some((&ticket, _)) = self.flights.first_key_value().filter(|_| immediate) {
            self.finish(ticket, OpOutcome::Done);
        }
    }

    pub(super) fn submit(&mut self, queue: u32, op: Op, region: &Arc<Region>) {
        let ticket = self.tickets;
        self.tickets += 1;
        let kind = match op.kind {
            OpKind::Flush => Kind::Flush {
                covers: self.returned.clone(),
            },
            OpKind::Write { addr, .. } => {
                if let Some(wrong) = self.objection(addr, op.bytes()) {
                    let what = format!("write {}: {} bytes at {addr} {wrong}", op.id, op.bytes());
                    self.violations.push(what);
                    self.complete(queue, ticket, op.id, Err(EINVAL));
                    return;
                }
                Kind::Write {
                    region: Arc::clone(region),
                    source: source_of(&op, region),
                }
            }
        };
        let pending = Pending { ticket, queue, op };
        self.flights.insert(ticket, Flight { pending, kind });
        if self.immediate {
            self.finish(ticket, OpOutcome::Done);
        }
    }

    fn objection(&self, addr: u64, len: usize) -> Option<&'static str> {
        let aligned = |n: u64| n.is_multiple_of(super::LOGICAL_BYTES as u64);
        if !aligned(addr) || !aligned(len as u64) {
            return Some("are not aligned to the logical sector");
        }
        (!self.holds(addr, len)).then_some("lie outside the disk")
    }

    fn holds(&self, addr: u64, len: usize) -> bool {
        let end = addr.checked_add(len as u64);
        end.is_some_and(|end| end <= self.durable.len() as u64)
    }

    fn complete(&mut self, queue: u32, ticket: u64, id: u64, result: Result<u64, i32>) {
        let result = result.map_err(|errno| IoFailure { errno });
        self.finished
            .push((queue, ticket, OpCompletion { id, result, by: 0 }));
    }

    pub(super) fn finish(&mut self, ticket: u64, outcome: OpOutcome) {
        let flight = self.flights.remove(&ticket).expect("the ticket is pending");
        let Pending { queue, op, .. } = flight.pending;
        let bytes = match (op.kind, outcome) {
            (OpKind::Write { .. }, OpOutcome::Short(bytes)) => {
                assert!(bytes <= op.bytes() as u64, "a short write is no longer");
                bytes
            }
            (OpKind::Flush, OpOutcome::Short(_)) => panic!("a flush transfers no bytes"),
            _ => op.bytes() as u64,
        };
        let failure = match outcome {
            OpOutcome::Fail(errno) => Some(errno),
            OpOutcome::Done | OpOutcome::Short(_) => None,
        };
        match (&flight.kind, op.kind) {
            (Kind::Write { .. }, OpKind::Write { addr, .. }) => {
                let mut data = self.source_now(&flight);
                data.truncate(usize::try_from(bytes).expect("within the write"));
                self.arrive(ticket, addr, &data, failure.is_none());
            }
            (Kind::Flush { covers }, _) if failure.is_none() => self.make_durable(covers),
            (Kind::Flush { covers }, _) => self.lose(covers),
            (Kind::Write { .. }, OpKind::Flush) => unreachable!("a flight is of its operation"),
        }
        self.complete(queue, ticket, op.id, failure.map_or(Ok(bytes), Err));
    }

    /// A flight's source as it is now; noted when it differs from what was submitted.
    fn source_now(&mut self, flight: &Flight) -> Vec<u8> {
        let Kind::Write { region, source } = &flight.kind else {
            return Vec::new();
        };
        let now = source_of(&flight.pending.op, region);
        if let Some(at) = now.iter().zip(source).position(|(a, b)| a != b) {
            self.violations.push(format!(
                "write {} of queue {}: byte {at} of its source changed while it was in flight",
                flight.pending.op.id, flight.pending.queue
            ));
        }
        now
    }

    /// Puts a write's data into the cache, or onto the medium where writes are durable.
    fn arrive(&mut self, ticket: u64, addr: u64, data: &[u8], visible: bool) {
        let seq = self.arrivals;
        self.arrivals += 1;
        for (sector, at, part) in sectors(self.sector_bytes, addr, data) {
            let mut whole = self.current(sector).to_vec();
            whole[at..at + part.len()].copy_from_slice(part);
            if visible && self.durable_writes {
                self.settle(sector, &whole);
                self.cache.remove(&sector);
                continue;
            }
            self.cache.entry(sector).or_default().push(Version {
                ticket,
                seq,
                visible,
                data: whole,
            });
        }
    }

    /// What reads see of a sector.
    fn current(&self, sector: u64) -> &[u8] {
        let versions = self.cache.get(&sector).into_iter().flatten();
        match versions.rev().find(|version| version.visible) {
            Some(version) => &version.data,
            None => &self.durable[self.span(sector)],
        }
    }

    pub(super) fn span(&self, sector: u64) -> std::ops::Range<usize> {
        let at = usize::try_from(sector).expect("a sector of the disk") * self.sector_bytes;
        at..at + self.sector_bytes
    }

    fn settle(&mut self, sector: u64, content: &[u8]) {
        let span = self.span(sector);
        self.durable[span].copy_from_slice(content);
    }

    /// In each sector the last covered version becomes durable and replaces all before it.
    fn make_durable(&mut self, covers: &BTreeSet<u64>) {
        self.returned.retain(|write| !covers.contains(write));
        let mut cache = std::mem::take(&mut self.cache);
        cache.retain(|sector, versions| {
            let last = versions.iter().rposition(|v| covers.contains(&v.ticket));
            if let Some(last) = last {
                self.settle(*sector, &versions[last].data);
                versions.drain(..=last);
            }
            !versions.is_empty()
        });
        self.cache = cache;
    }

    /// After a failed flush: no flush that succeeds from now on covers those writes.
    fn lose(&mut self, lost: &BTreeSet<u64>) {
        self.returned.retain(|write| !lost.contains(write));
        for flight in self.flights.values_mut() {
            if let Kind::Flush { covers } = &mut flight.kind {
                covers.retain(|write| !lost.contains(write));
            }
        }
    }

    pub(super) fn poll(&mut self, queue: u32, out: &mut Vec<OpCompletion>) -> usize {
        let before = out.len();
        let (returned, durable) = (&mut self.returned, self.durable_writes);
        self.finished.retain(|(of, ticket, completion)| {
            if *of != queue {
                return true;
            }
            if matches!(completion.result, Ok(bytes) if bytes > 0) && !durable {
                returned.insert(*ticket);
            }
            out.push(*completion);
            false
        });
        out.len() - before
    }

    pub(super) fn read(&self, addr: u64, out: &mut [u8]) -> bool {
        if !self.holds(addr, out.len()) {
            return false;
        }
        let (mut addr, mut out) = (addr as usize, out);
        while !out.is_empty() {
            let (sector, at) = (addr / self.sector_bytes, addr % self.sector_bytes);
            let take = (self.sector_bytes - at).min(out.len());
            let (part, rest) = out.split_at_mut(take);
            part.copy_from_slice(&self.current(sector as u64)[at..at + take]);
            (addr, out) = (addr + take, rest);
        }
        true
    }

    /// The contents that a crash now could leave in each undecided sector besides the durable
    /// one, oldest first; writes in flight come last, in the order of submission.
    pub(super) fn contenders(&self) -> BTreeMap<u64, Vec<(u64, Vec<u8>)>> {
        let mut all: BTreeMap<u64, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
        for (sector, versions) in &self.cache {
            let known = versions.iter().map(|v| (v.seq, v.data.clone()));
            all.insert(*sector, known.collect());
        }
        let mut seq = self.arrivals;
        for flight in self.flights.values() {
            let (OpKind::Write { addr, .. }, Kind::Write { region, .. }) =
                (flight.pending.op.kind, &flight.kind)
            else {
                continue;
            };
            let data = source_of(&flight.pending.op, region);
            for (sector, at, part) in sectors(self.sector_bytes, addr, &data) {
                let contenders = all.entry(sector).or_default();
                let base = contenders.last().map(|(_, data)| data.clone());
                let mut whole = base.unwrap_or_else(|| self.durable[self.span(sector)].to_vec());
                whole[at..at + part.len()].copy_from_slice(part);
                contenders.push((seq, whole));
            }
            seq += 1;
        }
        all
    }

    /// Compares the sources of everything in flight.
    pub(super) fn check_sources(&mut self) {
        let flights = std::mem::take(&mut self.flights);
        for flight in flights.values() {
            self.source_now(flight);
        }
        self.flights = flights;
    }

    /// Writes and flushes in flight.
    pub(super) fn in_flight(&self) -> (u64, u64) {
        let is_write = |f: &&Flight| matches!(f.kind, Kind::Write { .. });
        let writes = self.flights.values().filter(is_write).count() as u64;
        (writes, self.flights.len() as u64 - writes)
    }
}

fn source_of(op: &Op, region: &Region) -> Vec<u8> {
    let OpKind::Write { pieces, .. } = op.kind else {
        return Vec::new();
    };
    let mut source = vec![0; op.bytes()];
    let (first, second) = source.split_at_mut(pieces[0].len);
    // SAFETY: the write is in flight, so its pieces belong to this disk.
    unsafe {
        region.copy_to(pieces[0].at, first);
        region.copy_to(pieces[1].at, second);
    }
    source
}

/// The sectors that `data` at `addr` touches: sector, offset in it, and its part of the data.
fn sectors(sector_bytes: usize, addr: u64, data: &[u8]) -> Vec<(u64, usize, &[u8])> {
    let mut parts = Vec::with_capacity(data.len() / sector_bytes + 2);
    let (mut addr, mut data) = (addr, data);
    while !data.is_empty() {
        let at = (addr % sector_bytes as u64) as usize;
        let (part, rest) = data.split_at((sector_bytes - at).min(data.len()));
        parts.push((addr / sector_bytes as u64, at, part));
        addr += part.len() as u64;
        data = rest;
    }
    parts
}
