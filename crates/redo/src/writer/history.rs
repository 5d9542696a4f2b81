//! The writer's history: every event with its time and the actions that followed, as bytes.
//! Replaying the events on a fresh writer must give the same bytes; where it does not, a host
//! broke the line between policy and concurrency.

use super::{Action, Actions, Cause, Event, Io, Writer};
use crate::buffer::Batch;
use device::IoFailure;
use measure::Nanos;

/// Recorded steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    bytes: Vec<u8>,
    steps: u64,
}

/// Where a replay parted from its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayMismatch {
    /// The step, from 0.
    pub step: u64,
}

const ACTIONS_END: u8 = 0xFF;

impl History {
    /// Appends one step.
    pub fn record(&mut self, now: Nanos, event: Event, actions: &Actions) {
        self.put(now.0);
        self.event(event);
        for action in actions.iter() {
            self.action(action);
        }
        self.bytes.push(ACTIONS_END);
        self.steps += 1;
    }

    /// The record.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of steps.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Feeds the recorded events to `writer` and compares the bytes.
    ///
    /// # Errors
    /// The first step whose bytes differ, or that cannot be read.
    pub fn replay(&self, mut writer: Writer) -> Result<u64, ReplayMismatch> {
        let mut at = 0;
        for step in 0..self.steps {
            let wrong = ReplayMismatch { step };
            let rest = self.bytes.get(at..).ok_or(wrong)?;
            let (now, event) = read_event(rest).ok_or(wrong)?;
            let mut actions = Actions::default();
            writer.step(now, event, &mut actions);
            let mut again = History::default();
            again.record(now, event, &actions);
            if !rest.starts_with(&again.bytes) {
                return Err(wrong);
            }
            at += again.bytes.len();
        }
        if at == self.bytes.len() {
            Ok(self.steps)
        } else {
            Err(ReplayMismatch { step: self.steps })
        }
    }

    fn put(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn tagged(&mut self, tag: u8, values: &[u64]) {
        self.bytes.push(tag);
        for value in values {
            self.put(*value);
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Pending {
                commits,
                bytes,
                carried,
            } => {
                self.tagged(1, &[commits.into(), bytes.into(), carried.into()]);
            }
            Event::Gathered => self.tagged(2, &[]),
            Event::Sealed(b) => {
                let fields = [
                    b.id,
                    b.start,
                    b.blocks.into(),
                    b.bytes.into(),
                    b.commits.into(),
                ];
                self.tagged(3, &fields);
            }
            Event::Filled { batch } => self.tagged(4, &[batch]),
            Event::Io { op, result: Ok(n) } => self.tagged(5, &[op, n]),
            Event::Io { op, result: Err(e) } => self.tagged(6, &[op, errno(e)]),
            Event::Checkpoint(block) => self.tagged(7, &[block]),
            Event::NoCheckpoint => self.tagged(8, &[]),
            Event::Wanted { batches } => self.tagged(9, &[batches]),
        }
    }

    fn action(&mut self, action: Action) {
        match action {
            Action::Gather { want, until } => self.tagged(1, &[want.into(), until.0]),
            Action::Seal => self.tagged(2, &[]),
            Action::Io {
                op,
                io: Io::Write { start, blocks },
            } => {
                self.tagged(3, &[op, start, blocks.into()]);
            }
            Action::Io { op, io: Io::Flush } => {
                self.tagged(4, &[op]);
            }
            Action::AwaitCheckpoint { log_seq } => self.tagged(5, &[log_seq]),
            Action::Release { upto } => self.tagged(6, &[upto]),
            Action::Publish { batches, block } => self.tagged(7, &[batches, block]),
            Action::Poison(Cause::Write(e)) => self.tagged(8, &[errno(e)]),
            Action::Poison(Cause::ShortWrite { written, wanted }) => {
                self.tagged(9, &[written, wanted]);
            }
            Action::Poison(Cause::Flush(e)) => self.tagged(10, &[errno(e)]),
            Action::Poison(Cause::Abandoned) => self.tagged(11, &[]),
            Action::Idle => self.tagged(12, &[]),
            Action::Poison(Cause::Control(e)) => self.tagged(13, &[errno(e)]),
            Action::Poison(Cause::NoCheckpoint) => self.tagged(14, &[]),
            Action::Defer { batches } => self.tagged(15, &[batches]),
        }
    }
}

fn errno(failure: IoFailure) -> u64 {
    u64::from(failure.errno as u32)
}

fn read_event(bytes: &[u8]) -> Option<(Nanos, Event)> {
    let word = |index: usize, tagged: usize| -> Option<u64> {
        let at = index * 8 + tagged;
        Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    };
    let field = |index: usize| word(index + 1, 1);
    let short = |index: usize| field(index).map(|v| v as u32);
    let event = match bytes.get(8)? {
        1 => Event::Pending {
            commits: short(0)?,
            bytes: short(1)?,
            carried: short(2)?,
        },
        2 => Event::Gathered,
        3 => Event::Sealed(Batch {
            id: field(0)?,
            start: field(1)?,
            blocks: short(2)?,
            bytes: short(3)?,
            commits: short(4)?,
        }),
        4 => Event::Filled { batch: field(0)? },
        5 => Event::Io {
            op: field(0)?,
            result: Ok(field(1)?),
        },
        6 => Event::Io {
            op: field(0)?,
            result: Err(IoFailure {
                errno: short(1)? as i32,
            }),
        },
        7 => Event::Checkpoint(field(0)?),
        8 => Event::NoCheckpoint,
        9 => Event::Wanted { batches: field(0)? },
        _ => return None,
    };
    Some((Nanos(word(0, 0)?), event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn recorded(event: Event) -> Vec<u8> {
        let mut history = History::default();
        history.record(Nanos(77), event, &Actions::default());
        history.bytes().to_vec()
    }

    #[test]
    fn every_event_is_read_as_it_was_recorded() {
        let errno = 28;
        for event in [
            Event::Pending {
                commits: 1,
                bytes: 2,
                carried: 3,
            },
            Event::Gathered,
            Event::Sealed(Batch {
                id: 1 << 40,
                start: 1 << 41,
                blocks: 4,
                bytes: 5,
                commits: 6,
            }),
            Event::Filled { batch: 1 << 42 },
            Event::Io {
                op: 1 << 43,
                result: Ok(1 << 44),
            },
            Event::Io {
                op: 7,
                result: Err(IoFailure { errno }),
            },
            Event::Checkpoint(1 << 45),
            Event::NoCheckpoint,
            Event::Wanted { batches: 1 << 46 },
        ] {
            let bytes = recorded(event);
            assert_eq!(read_event(&bytes), Some((Nanos(77), event)));
            let whole = bytes.len() - 1;
            assert_eq!(read_event(&bytes[..whole - 1]), None, "{event:?} cut short");
        }
        let mut unknown = recorded(Event::Gathered);
        unknown[8] = 99;
        assert_eq!(read_event(&unknown), None);
    }

    #[test]
    fn every_action_leaves_bytes_of_its_own() {
        let failure = IoFailure { errno: 5 };
        let write = |start, blocks| Action::Io {
            op: 1,
            io: Io::Write { start, blocks },
        };
        let flush = |op| Action::Io { op, io: Io::Flush };
        let until = Nanos(9);
        let actions = [
            Action::Gather { want: 2, until },
            Action::Gather { want: 3, until },
            Action::Seal,
            write(1, 2),
            write(2, 2),
            write(1, 3),
            flush(1),
            flush(2),
            Action::AwaitCheckpoint { log_seq: 1 },
            Action::Release { upto: 1 },
            Action::Publish {
                batches: 1,
                block: 2,
            },
            Action::Publish {
                batches: 2,
                block: 2,
            },
            Action::Idle,
            Action::Defer { batches: 1 },
            Action::Poison(Cause::Write(failure)),
            Action::Poison(Cause::ShortWrite {
                written: 1,
                wanted: 2,
            }),
            Action::Poison(Cause::Flush(failure)),
            Action::Poison(Cause::Control(failure)),
            Action::Poison(Cause::Abandoned),
            Action::Poison(Cause::NoCheckpoint),
        ];
        let mut seen = BTreeSet::from([recorded(Event::Gathered)]);
        for action in actions {
            let (mut history, mut decided) = (History::default(), Actions::default());
            decided.push(action);
            history.record(Nanos(77), Event::Gathered, &decided);
            assert!(seen.insert(history.bytes().to_vec()), "{action:?}");
        }
    }
}
