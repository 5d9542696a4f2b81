//! Writing a run's events: they are staged, and a part is made when enough are there, when the
//! oldest waits for long, and at the end of a row.
//!
//! Invariants: memory is bounded by [`PART_EVENTS`] of each kind and one encoded part; after a
//! failure nothing more is written, and the row cannot end well; a part is in place
//! whole or not at all. Parts are synchronised at the end of the run only, so that storing adds no
//! flush to the device that is being measured.

use super::part::{self, Common, Event};
use super::{SyncEvent, WriteEvent, part_name};
use crate::folder::Folder;
use crate::store::error::io_error;
use crate::store::{FileSum, StoreError, hex, hlog};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Events of a part at most. At 200,000 commits a second a part is made every 1.3 s; staged they
/// take 23 MB.
pub const PART_EVENTS: usize = 1 << 18;
/// A kill loses no events older than this.
const PART_AGE: Duration = Duration::from_secs(30);

/// What the events of a row have in common.
#[derive(Clone, Debug)]
pub struct RowFacts {
    /// Row of the run, from 1.
    pub row: u32,
    /// Its workload.
    pub workload: String,
    /// Its sessions.
    pub jobs: u32,
    /// UTC nanoseconds since 1970 at the zero of the log's clock.
    pub utc_at_zero_ns: i64,
}

/// What was written of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Log file syncs that are in parts.
    pub syncs: u64,
    /// Log file parallel writes that are in parts.
    pub writes: u64,
}

/// Writes the events of a run, row after row.
#[derive(Debug)]
pub struct EventWriter {
    parts: Parts,
    syncs: Stage<SyncEvent>,
    writes: Stage<WriteEvent>,
    written: Written,
}

/// Events of a kind that wait for their part.
#[derive(Debug)]
struct Stage<E> {
    events: Vec<E>,
    oldest: Option<Instant>,
    sequence: u32,
}

impl<E> Stage<E> {
    fn new() -> Stage<E> {
        Stage {
            events: Vec::new(),
            oldest: None,
            sequence: 0,
        }
    }

    fn is_due(&self) -> bool {
        self.events.len() >= PART_EVENTS || self.oldest.is_some_and(|at| at.elapsed() > PART_AGE)
    }
}

/// The parts in place.
#[derive(Debug)]
struct Parts {
    folder: Folder,
    facts: RowFacts,
    sums: BTreeMap<String, FileSum>,
    /// A part could not be put in place: nothing more is written.
    broken: bool,
    /// Why, until it was reported.
    failure: Option<StoreError>,
}

impl EventWriter {
    pub(in crate::store) fn new(folder: Folder) -> EventWriter {
        let facts = RowFacts {
            row: 0,
            workload: String::new(),
            jobs: 0,
            utc_at_zero_ns: 0,
        };
        EventWriter {
            parts: Parts {
                folder,
                facts,
                sums: BTreeMap::new(),
                broken: false,
                failure: None,
            },
            syncs: Stage::new(),
            writes: Stage::new(),
            written: Written::default(),
        }
    }

    /// What comes belongs to this row.
    pub fn begin_row(&mut self, facts: RowFacts) {
        self.parts.facts = facts;
        self.written = Written::default();
        self.syncs.sequence = 0;
        self.writes.sequence = 0;
    }

    /// Takes log file syncs of the row.
    pub fn syncs(&mut self, events: &[SyncEvent]) {
        for some in events.chunks(PART_EVENTS) {
            stage(&mut self.syncs, some);
            if self.syncs.is_due() {
                self.part_of_syncs();
            }
        }
    }

    /// Takes log file parallel writes of the row.
    pub fn writes(&mut self, events: &[WriteEvent]) {
        for some in events.chunks(PART_EVENTS) {
            stage(&mut self.writes, some);
            if self.writes.is_due() {
                self.part_of_writes();
            }
        }
    }

    /// Makes parts of what is staged, and says what is in parts of the row.
    ///
    /// # Errors
    /// What went wrong first, once; some of the row's events are not there then.
    pub fn end_row(&mut self) -> Result<Written, StoreError> {
        self.part_of_syncs();
        self.part_of_writes();
        self.parts.failure.take().map_or(Ok(self.written), Err)
    }

    /// Something went wrong, and nothing more is written.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.parts.broken
    }

    /// The parts that are in place; `None` where some are not.
    pub(in crate::store) fn into_parts(self) -> Option<BTreeMap<String, FileSum>> {
        (!self.parts.broken).then_some(self.parts.sums)
    }

    fn part_of_syncs(&mut self) {
        self.written.syncs += self.parts.make(&mut self.syncs);
    }

    fn part_of_writes(&mut self) {
        self.written.writes += self.parts.make(&mut self.writes);
    }
}

impl Parts {
    /// Makes a part of what is staged: how many events are in it.
    fn make<E: Event>(&mut self, stage: &mut Stage<E>) -> u64 {
        let count = stage.events.len() as u64;
        // After a failure a further part would hide a hole.
        if count > 0 && !self.broken {
            stage.sequence += 1;
            self.failure = self.place(&stage.events, stage.sequence).err();
            self.broken = self.failure.is_some();
        }
        stage.events.clear();
        stage.oldest = None;
        if self.broken { 0 } else { count }
    }

    fn place<E: Event>(&mut self, events: &[E], sequence: u32) -> Result<(), StoreError> {
        let name = part_name(E::KIND, self.facts.row, sequence);
        let path = self.folder.path().join(&name);
        let common = Common {
            row: self.facts.row,
            workload: &self.facts.workload,
            jobs: self.facts.jobs,
            utc_at_zero_ns: self.facts.utc_at_zero_ns,
        };
        let failed = |e| io_error(&path, "writing events", e);
        let bytes = part::encode(events, &common).map_err(|e| failed(std::io::Error::other(e)))?;
        self.folder.place(&name, &bytes).map_err(failed)?;
        let sum = FileSum {
            bytes: bytes.len() as u64,
            crc32c: hex(hlog::crc32c(&bytes)),
        };
        self.sums.insert(name, sum);
        Ok(())
    }
}

fn stage<E: Copy>(stage: &mut Stage<E>, events: &[E]) {
    if !events.is_empty() {
        stage.oldest.get_or_insert_with(Instant::now);
        stage.events.extend_from_slice(events);
    }
}
