//! Tests of the writer: events in, actions out, compared as a whole.

use super::*;
use device::IoFailure;

const EIO: IoFailure = IoFailure { errno: 5 };
const BLOCK: u64 = 512;

fn geometry() -> Geometry {
    Geometry {
        block_bytes: 512,
        seal_blocks: 1,
        groups: 3,
        blocks_per_group: 10,
        header_bytes: 4096,
        file_bytes: 4096 + 5120,
    }
}

fn policy(depth: u32) -> Policy {
    Policy {
        depth,
        gather: false,
        ..Policy::default()
    }
}

/// A writer whose actions come back as lists.
struct Rig {
    writer: Writer,
    now: Nanos,
    next: Batch,
}

impl Rig {
    fn new(policy: Policy, start: StreamBlock, planted: Planted) -> Rig {
        Rig {
            writer: Writer::new(geometry(), policy, 0, start, start, planted),
            now: Nanos(1000),
            next: Batch {
                id: 0,
                start,
                blocks: 0,
                bytes: 100,
                commits: 1,
            },
        }
    }

    fn feed(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Actions::default();
        self.writer.step(self.now, event, &mut actions);
        actions.iter().collect()
    }

    fn pend(&mut self, commits: u32, carried: u32) -> Vec<Action> {
        self.feed(Event::Pending {
            commits,
            bytes: 100,
            carried,
        })
    }

    /// Answers a seal with a batch of `blocks`.
    fn seal(&mut self, blocks: u32) -> u64 {
        let batch = Batch {
            blocks,
            ..self.next
        };
        assert_eq!(self.feed(Event::Sealed(batch)), []);
        self.next.id += 1;
        self.next.start += u64::from(blocks);
        batch.id
    }

    /// Pending, sealed and filled: what is issued.
    fn batch(&mut self, blocks: u32) -> Vec<Action> {
        assert_eq!(self.pend(1, 0), [Action::Seal]);
        let batch = self.seal(blocks);
        self.feed(Event::Filled { batch })
    }

    fn done(&mut self, op: u64, bytes: u64) -> Vec<Action> {
        let result = Ok(bytes);
        self.feed(Event::Io { op, result })
    }
}

fn write(op: u64, start: StreamBlock, blocks: u32) -> Action {
    let io = Io::Write { start, blocks };
    Action::Io { op, io }
}

fn flush(op: u64) -> Action {
    let io = Io::Flush;
    Action::Io { op, io }
}

fn release(upto: StreamBlock) -> Action {
    Action::Release { upto }
}

fn publish(batches: u64, block: StreamBlock) -> Action {
    Action::Publish { batches, block }
}

#[test]
fn one_batch_is_written_flushed_and_published() {
    let mut rig = Rig::new(policy(1), 0, Planted::none());
    assert_eq!(rig.batch(2), [write(1, 0, 2)]);
    assert_eq!(rig.pend(1, 0), [], "at depth 1 the next batch waits");
    assert_eq!(rig.done(1, 2 * BLOCK), [release(2), flush(2)]);
    assert_eq!(rig.done(2, 0), [publish(1, 2), Action::Idle]);
}

#[test]
fn durable_writes_are_published_without_a_flush() {
    let durable = Policy {
        durable_writes: true,
        ..policy(1)
    };
    let mut rig = Rig::new(durable, 0, Planted::none());
    assert_eq!(rig.batch(1), [write(1, 0, 1)]);
    let all = [release(1), publish(1, 1), Action::Idle];
    assert_eq!(rig.done(1, BLOCK), all);
}

#[test]
fn nothing_pending_is_idle_and_an_unfilled_batch_is_not_written() {
    let mut rig = Rig::new(policy(2), 0, Planted::none());
    let nothing = Event::Pending {
        commits: 0,
        bytes: 0,
        carried: 0,
    };
    assert_eq!(rig.feed(nothing), [Action::Idle]);
    rig.pend(1, 0);
    let first = rig.seal(1);
    rig.pend(1, 0);
    let second = rig.seal(1);
    assert_eq!(rig.feed(Event::Filled { batch: second }), []);
    let both = [write(1, 0, 1), write(2, 1, 1)];
    assert_eq!(rig.feed(Event::Filled { batch: first }), both);
}

#[test]
fn a_flush_covers_what_was_complete_before_it_and_no_more() {
    let mut rig = Rig::new(policy(3), 0, Planted::none());
    assert_eq!(rig.batch(1), [write(1, 0, 1)]);
    assert_eq!(rig.done(1, BLOCK), [release(1), flush(2)]);
    assert_eq!(rig.batch(1), [write(3, 1, 1)]);
    assert_eq!(rig.done(3, BLOCK), [release(2)], "one flush at a time");
    assert_eq!(rig.done(2, 0), [publish(1, 1), flush(4)]);
    assert_eq!(rig.done(4, 0), [publish(2, 2), Action::Idle]);
}

#[test]
fn a_batch_waits_for_the_one_before_it() {
    for durable_writes in [false, true] {
        let deep = Policy {
            durable_writes,
            ..policy(2)
        };
        let mut rig = Rig::new(deep, 0, Planted::none());
        assert_eq!(rig.batch(1), [write(1, 0, 1)]);
        assert_eq!(rig.batch(2), [write(2, 1, 2)]);
        assert_eq!(rig.done(2, 2 * BLOCK), [], "the first is not complete");
        let made_durable = if durable_writes {
            vec![release(3), publish(2, 3), Action::Idle]
        } else {
            vec![release(3), flush(3)]
        };
        assert_eq!(rig.done(1, BLOCK), made_durable);
    }
}

#[test]
fn a_log_switch_splits_the_write_and_both_parts_count() {
    for (first, second) in [(1, 2), (2, 1)] {
        let mut rig = Rig::new(policy(1), 8, Planted::none());
        assert_eq!(rig.batch(5), [write(1, 8, 2), write(2, 10, 3)]);
        let bytes = |op| if op == 1 { 2 * BLOCK } else { 3 * BLOCK };
        assert_eq!(rig.done(first, bytes(first)), []);
        let both = [release(13), flush(3)];
        assert_eq!(rig.done(second, bytes(second)), both);
    }
}

#[test]
fn a_log_is_reused_only_after_the_checkpoint() {
    let mut rig = Rig::new(policy(1), 0, Planted::none());
    rig.writer = Writer::new(geometry(), policy(1), 0, 28, 5, Planted::none());
    rig.next.start = 28;
    let wait = Action::AwaitCheckpoint { log_seq: 4 };
    assert_eq!(rig.batch(4), [write(1, 28, 2), wait]);
    assert_eq!(rig.feed(Event::Checkpoint(9)), [wait], "still in log 1");
    assert_eq!(rig.done(1, 2 * BLOCK), [], "the batch is not complete");
    assert_eq!(rig.feed(Event::Checkpoint(10)), [write(2, 30, 2)]);
    assert_eq!(rig.done(2, 2 * BLOCK), [release(32), flush(3)]);
}

#[test]
fn without_a_checkpoint_to_come_nothing_is_overwritten() {
    let mut rig = Rig::new(policy(1), 0, Planted::none());
    rig.writer = Writer::new(geometry(), policy(1), 0, 30, 5, Planted::none());
    rig.next.start = 30;
    assert_eq!(rig.batch(1), [Action::AwaitCheckpoint { log_seq: 4 }]);
    let poison = Action::Poison(Cause::NoCheckpoint);
    assert_eq!(rig.feed(Event::NoCheckpoint), [poison]);
    assert_eq!(rig.feed(Event::Checkpoint(20)), []);
}

#[test]
fn one_checkpoint_may_let_everything_go_at_once() {
    let depth = MAX_DEPTH as u32;
    let mut rig = Rig::new(policy(depth), 0, Planted::none());
    rig.writer = Writer::new(geometry(), policy(depth), 0, 32, 5, Planted::none());
    rig.next.start = 32;
    let wait = |log_seq| Action::AwaitCheckpoint { log_seq };
    for _ in 0..MAX_DEPTH - 1 {
        assert_eq!(rig.batch(1), [wait(4)]);
    }
    assert_eq!(rig.batch(3), [wait(4)]);
    let mut all: Vec<Action> = (0..7).map(|i| write(i + 1, 32 + i, 1)).collect();
    all.extend([write(8, 39, 1), wait(5)]);
    assert_eq!(rig.feed(Event::Checkpoint(10)), all);

    let mut all: Vec<Action> = vec![write(9, 40, 2)];
    assert_eq!(rig.feed(Event::Checkpoint(20)), all);
    all.clear();
    assert_eq!(rig.feed(Event::Checkpoint(20)), all, "nothing twice");
}

#[test]
fn the_first_failure_poisons_and_nothing_follows() {
    let failed = |op| Event::Io {
        op,
        result: Err(EIO),
    };
    let short = Event::Io {
        op: 1,
        result: Ok(BLOCK),
    };
    let cut_short = Cause::ShortWrite {
        written: BLOCK,
        wanted: 2 * BLOCK,
    };
    // (events before, the failure, its cause)
    for (before, event, cause) in [
        (vec![], failed(1), Cause::Write(EIO)),
        (vec![], short, cut_short),
        (vec![1], failed(3), Cause::Flush(EIO)),
    ] {
        let mut rig = Rig::new(policy(2), 0, Planted::none());
        assert_eq!(rig.batch(2), [write(1, 0, 2)]);
        assert_eq!(rig.batch(1), [write(2, 2, 1)]);
        for op in before {
            assert_eq!(rig.done(op, 2 * BLOCK), [release(2), flush(3)]);
        }
        assert_eq!(rig.feed(event), [Action::Poison(cause)]);
        assert!(rig.writer.is_poisoned() && !rig.writer.wants_pending());
        assert_eq!(rig.done(2, BLOCK), [], "{cause}");
        assert_eq!(rig.done(3, 0), [], "{cause}");
        assert_eq!(rig.pend(1, 0), [], "{cause}");
        assert_eq!(rig.feed(Event::Checkpoint(20)), [], "{cause}");
    }
}

#[test]
fn commits_of_the_last_batch_are_gathered() {
    let gathering = Policy {
        gather: true,
        ..policy(1)
    };
    let mut rig = Rig::new(gathering, 0, Planted::none());
    rig.next.commits = 4;
    assert_eq!(rig.batch(1), [write(1, 0, 1)], "nothing to go by yet");
    rig.now = Nanos(101_000);
    rig.done(1, BLOCK);
    assert_eq!(rig.done(2, 0), [publish(1, 1), Action::Idle]);
    let [Action::Gather { want, until }] = rig.pend(1, 0)[..] else {
        panic!("three commits are missing");
    };
    // Half of the 100 us that a log write took, but for the rounding to 256ths.
    assert_eq!((want, until), (4, Nanos(101_000 + 100_000 / 256 * 128)));
    assert_eq!(rig.pend(2, 0), [], "not twice");
    assert_eq!(rig.feed(Event::Gathered), [Action::Seal]);
    let batch = rig.seal(1);
    assert_eq!(rig.feed(Event::Filled { batch }), [write(3, 1, 1)]);
}

#[test]
fn a_history_replays_and_a_changed_one_does_not() {
    let mut rig = Rig::new(policy(1), 0, Planted::none());
    let fresh = rig.writer.clone();
    let mut history = History::default();
    let batch = Batch {
        blocks: 2,
        ..rig.next
    };
    let pending = Event::Pending {
        commits: 1,
        bytes: 100,
        carried: 0,
    };
    let (wrote, flushed) = (Ok(2 * BLOCK), Err(EIO));
    for event in [
        pending,
        Event::Sealed(batch),
        Event::Filled { batch: 0 },
        Event::Io {
            op: 1,
            result: wrote,
        },
        Event::Checkpoint(0),
        Event::Io {
            op: 2,
            result: flushed,
        },
    ] {
        let mut actions = Actions::default();
        rig.writer.step(rig.now, event, &mut actions);
        history.record(rig.now, event, &actions);
    }
    assert_eq!(history.steps(), 6);
    assert_eq!(history.replay(fresh), Ok(6));
    let other = Writer::new(geometry(), policy(1), 0, 9, 0, Planted::none());
    let parted = std::panic::catch_unwind(|| history.replay(other));
    assert!(!matches!(parted, Ok(Ok(_))), "another writer, other bytes");
}

/// Writes batches of one block that nobody waits for until the next log needs a checkpoint. Returns
/// the block before which redo is durable then, when all that was submitted has ended.
fn durable_when_full(planted: Planted) -> StreamBlock {
    let deferring = Policy {
        defer_bytes: u64::MAX,
        defer_time: Nanos(u64::MAX),
        ..policy(1)
    };
    let mut rig = Rig::new(deferring, 0, planted);
    rig.next.commits = 0;
    let mut durable = 0;
    loop {
        assert_eq!(rig.pend(0, 0), [Action::Seal]);
        let batch = rig.seal(1);
        let mut wanted = rig.feed(Event::Filled { batch });
        while let Some(action) = wanted.pop() {
            match action {
                Action::AwaitCheckpoint { log_seq } => {
                    assert_eq!(log_seq, geometry().log_seq(batch));
                    return durable;
                }
                Action::Io { op, io } => {
                    let bytes = if io == Io::Flush { 0 } else { BLOCK };
                    wanted.extend(rig.done(op, bytes));
                }
                Action::Publish { block, .. } => durable = block,
                _ => {}
            }
        }
    }
}

/// The writer waits for a checkpoint, which can only be as far as redo is durable: what is deferred
/// must never be what it waits for.
#[test]
fn a_checkpoint_that_is_waited_for_can_always_come() {
    let geometry = geometry();
    let full = geometry.capacity_blocks();
    let durable = durable_when_full(Planted::none());
    assert!(
        geometry.reuse_limit(durable) > full,
        "durable up to {durable}"
    );
}

#[cfg(feature = "crash")]
#[test]
fn a_planted_deferral_waits_for_itself() {
    let durable = durable_when_full(Planted::with(Bug::DeferInTheWay));
    assert!(geometry().reuse_limit(durable) <= geometry().capacity_blocks());
}

#[cfg(feature = "crash")]
#[test]
fn planted_bugs_do_what_they_say() {
    let mut rig = Rig::new(policy(1), 0, Planted::with(Bug::AcknowledgeBeforeFlush));
    rig.batch(1);
    assert!(rig.done(1, BLOCK).contains(&publish(1, 1)));

    let mut rig = Rig::new(policy(1), 0, Planted::with(Bug::IgnoreShortWrite));
    rig.batch(2);
    assert_eq!(rig.done(1, BLOCK), [release(2), flush(2)]);

    let mut rig = Rig::new(policy(1), 0, Planted::with(Bug::RetryFailedFlush));
    rig.batch(1);
    rig.done(1, BLOCK);
    let (op, result) = (2, Err(EIO));
    assert_eq!(rig.feed(Event::Io { op, result }), [flush(3)]);
}

#[test]
fn only_an_adaptive_writer_changes_its_mode() {
    let mut rig = Rig::new(policy(1), 0, Planted::none());
    for op in [1, 3, 5] {
        rig.batch(1);
        rig.done(op, BLOCK);
        rig.done(op + 1, 0);
    }
    assert!(rig.writer.is_idle());
    assert_eq!((rig.writer.switches(), rig.writer.is_single()), (0, false));
}
