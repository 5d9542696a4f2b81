//! What happened to tests, as records of the server's log, and what they add up to.
//!
//! Invariants: an event is applied in one place ([`KeptTests::apply`]), whether it just happened or
//! is recovered; what belongs to a copy changes the copy alone until the copy has ended.
//!
//! What it must not know: logs, files, and when copies are made.

use super::super::PowerTestError;
use super::super::messages::{
    ACK_BYTES, NewTest, PowerAck, TestNote, TestRecord, TestedFiles, decode_acks,
};
use super::super::records::TestId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What happened to a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeepEvent {
    Opened(Box<NewTest>),
    Files(String, TestedFiles),
    Released(String, u32, u64, u32),
    Noted(String, TestNote),
    Closed(String),
    /// A copy of what is needed begins; what follows up to `CopyEnded` belongs to it.
    CopyBegun,
    /// A test in the copy, with the acknowledgements that it had without those that follow.
    Copied(Box<CopiedTest>),
    CopyEnded,
}

/// A test without its acknowledgements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CopiedTest {
    pub(super) new: NewTest,
    pub(super) files: Option<TestedFiles>,
    pub(super) acknowledged: u64,
    pub(super) released: Vec<(u32, u64, u32)>,
    pub(super) ended: Option<String>,
    pub(super) failed: Option<String>,
    pub(super) clock_jumps: Vec<i64>,
    #[serde(default)]
    pub(super) record: TestRecord,
}

/// A test that was not judged.
#[derive(Clone, Debug)]
pub(super) struct KeptTest {
    pub(super) test: CopiedTest,
    pub(super) acks: Vec<PowerAck>,
}

/// Tests that were not judged, by their identities.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptTests {
    pub(super) tests: BTreeMap<String, KeptTest>,
    /// A copy that has not ended.
    pub(super) copy: Option<Box<KeptTests>>,
}

pub(super) const ACKS: u8 = b'A';
const EVENT: u8 = b'E';

impl KeptTests {
    /// Takes in a record of the log.
    pub(super) fn apply(&mut self, record: &[u8]) -> Result<(), String> {
        match record.split_first() {
            Some((&ACKS, rest)) => {
                let (test, acks) = rest.split_first_chunk::<16>().ok_or("it is too short")?;
                let acks = decode_acks(acks).ok_or("a part of an acknowledgement is missing")?;
                let test = TestId(*test).to_string();
                self.target().acknowledged(&test, &acks);
                Ok(())
            }
            Some((&EVENT, json)) => {
                let event = serde_json::from_slice(json).map_err(|e| e.to_string())?;
                self.happened(event);
                Ok(())
            }
            _ => Err("it is of an unknown kind".to_owned()),
        }
    }

    /// What an event is about: the copy, while one is being written.
    fn target(&mut self) -> &mut KeptTests {
        if self.copy.is_none() {
            return self;
        }
        self.copy.as_mut().expect("it was looked at above")
    }

    fn happened(&mut self, event: KeepEvent) {
        match event {
            KeepEvent::CopyBegun => self.copy = Some(Box::default()),
            KeepEvent::CopyEnded => {
                if let Some(copy) = self.copy.take() {
                    *self = *copy;
                }
            }
            KeepEvent::Copied(test) => {
                let (id, acks) = (test.new.test_id.clone(), Vec::new());
                let kept = KeptTest { test: *test, acks };
                self.target().tests.insert(id, kept);
            }
            KeepEvent::Opened(new) => {
                // A copy without an end is nothing: the server was ended while it wrote it.
                self.copy = None;
                let id = new.test_id.clone();
                let test = CopiedTest {
                    new: *new,
                    files: None,
                    acknowledged: 0,
                    released: Vec::new(),
                    ended: None,
                    failed: None,
                    clock_jumps: Vec::new(),
                    record: TestRecord::default(),
                };
                let acks = Vec::new();
                self.tests.insert(id, KeptTest { test, acks });
            }
            KeepEvent::Files(id, files) => self.change(&id, |test| test.files = Some(files)),
            KeepEvent::Noted(id, note) => self.change(&id, |test| noted(test, note)),
            KeepEvent::Released(id, stream, at, offset) => self.released(&id, stream, at, offset),
            KeepEvent::Closed(id) => {
                self.copy = None;
                self.tests.remove(&id);
            }
        }
    }

    fn change(&mut self, id: &str, change: impl FnOnce(&mut CopiedTest)) {
        self.copy = None;
        if let Some(kept) = self.tests.get_mut(id) {
            change(&mut kept.test);
        }
    }

    fn acknowledged(&mut self, id: &str, acks: &[PowerAck]) {
        let Some(kept) = self.tests.get_mut(id) else {
            return;
        };
        kept.test.acknowledged += acks.len() as u64;
        let released = &kept.test.released;
        let wanted = |ack: &&PowerAck| !is_released(released, ack);
        kept.acks.extend(acks.iter().filter(wanted));
    }

    fn released(&mut self, id: &str, stream: u32, at: u64, offset: u32) {
        self.copy = None;
        let Some(kept) = self.tests.get_mut(id) else {
            return;
        };
        let released = &mut kept.test.released;
        match released.iter_mut().find(|(of, ..)| *of == stream) {
            Some(place) if (place.1, place.2) < (at, offset) => *place = (stream, at, offset),
            Some(_) => return,
            None => released.push((stream, at, offset)),
        }
        kept.acks
            .retain(|ack| !is_released(&kept.test.released, ack));
    }

    /// Bytes that a copy takes, about.
    pub(super) fn copy_bytes(&self) -> u64 {
        let of = |kept: &KeptTest| kept.acks.len() as u64 * (ACK_BYTES as u64 + 2) + (72 << 10);
        self.tests.values().map(of).sum()
    }
}

fn noted(test: &mut CopiedTest, note: TestNote) {
    match note {
        TestNote::Ended(why) => test.ended = Some(why),
        TestNote::Failed(how) => test.failed = Some(how),
        TestNote::ClockJumped(ns) => test.clock_jumps.push(ns),
        TestNote::Began(state) => test.record.began = Some(state),
        TestNote::DeviceFailed(failure) => {
            test.failed = Some(failure.error.clone());
            test.record.failure = Some(failure);
        }
        TestNote::Switched(switched) => test.record.switched = Some(switched),
        TestNote::Closed => test.record.closed = true,
    }
}

fn is_released(released: &[(u32, u64, u32)], ack: &PowerAck) -> bool {
    let found = released.iter().find(|(stream, ..)| *stream == ack.stream);
    found.is_some_and(|(_, at, offset)| (ack.at, ack.offset) < (*at, *offset))
}

/// The record of an event.
pub(super) fn event_record(event: &KeepEvent) -> Result<Vec<u8>, PowerTestError> {
    let mut out = vec![EVENT];
    serde_json::to_writer(&mut out, event)
        .map_err(|e| PowerTestError::Failed(format!("an event cannot be written: {e}")))?;
    Ok(out)
}
