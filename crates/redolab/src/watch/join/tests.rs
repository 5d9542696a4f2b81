//! Sequences of events as the kernel records them, in small: who writes how, and what comes out.

use super::*;
use crate::observe::tracefs::events::BlockRequest;
use proptest::prelude::*;

const LOG: TracedFile = TracedFile { dev: 7, ino: 12 };
const OTHER: TracedFile = TracedFile { dev: 7, ino: 13 };
/// Threads: two writers, and one of the kernel that ends I/O.
const A: i32 = 100;
const B: i32 = 200;
const KERNEL: i32 = 9;

fn join() -> Join {
    let mut join = Join::default();
    join.follow(LOG, FileRules::default(), false);
    join
}

/// Takes events, each a microsecond after the one before, and what came out.
fn all(join: &mut Join, events: &[(i32, TraceEvent)]) -> JoinOutput {
    for (at, (tid, event)) in (1..).zip(events) {
        join.step(&TimedEvent {
            at_ns: at * 1000,
            tid: *tid,
            event: *event,
        });
    }
    join.settle(1_000_000_000);
    join.take()
}

fn begin(pos: u64) -> TraceEvent {
    TraceEvent::DirectBegin { file: LOG, pos }
}

/// A direct write of `bytes` ended at `pos`.
fn end(pos: u64, bytes: i64, is_durable: bool) -> TraceEvent {
    TraceEvent::DirectEnd {
        file: LOG,
        pos,
        is_durable,
        result: bytes,
    }
}

fn buffered(pos: u64, length: u64) -> TraceEvent {
    TraceEvent::BufferedBegin {
        file: LOG,
        pos,
        length,
    }
}

fn sync() -> TraceEvent {
    TraceEvent::SyncBegin {
        file: LOG,
        is_data_only: Some(true),
        has_end: true,
    }
}

fn xfs_sync() -> TraceEvent {
    TraceEvent::SyncBegin {
        file: LOG,
        is_data_only: None,
        has_end: false,
    }
}

fn synced() -> TraceEvent {
    TraceEvent::SyncEnd {
        file: LOG,
        result: 0,
    }
}

fn returns(call: SystemCall, result: i64) -> TraceEvent {
    TraceEvent::CallEnd { call, result }
}

const QUEUED: TraceEvent = TraceEvent::DirectQueued { file: LOG };

/// Begin, bytes, calls, flushes, write and flush time in microseconds.
fn shown(out: &JoinOutput) -> Vec<(u64, u64, u32, u32, u64, u64)> {
    let us = |ns: u64| ns / 1000;
    let each = out.writes.iter().map(|w| {
        (
            us(w.begin_ns),
            w.bytes,
            w.calls,
            w.flushes,
            us(w.write_ns),
            us(w.flush_ns),
        )
    });
    each.collect()
}

#[test]
fn a_write_past_the_cache_and_its_flush_are_one_log_write() {
    let mut join = join();
    let out = all(
        &mut join,
        &[
            (A, begin(0)),
            (A, end(4096, 4096, false)),
            (A, begin(4096)),
            (A, end(12_288, 8192, false)),
            (B, sync()),
            (B, synced()),
            // Of another file, and of no log write.
            (
                A,
                TraceEvent::SyncBegin {
                    file: OTHER,
                    is_data_only: None,
                    has_end: true,
                },
            ),
            (B, sync()),
            (B, synced()),
        ],
    );
    assert_eq!(shown(&out), [(1, 12_288, 2, 1, 2, 1)]);
    let counts = join.counts();
    assert_eq!((counts.calls, counts.call_bytes), (2, 12_288));
    assert_eq!(
        (counts.flushes, counts.other_flushes, join.not_flushed()),
        (1, 1, 0)
    );
    assert_eq!(
        (out.calls_ns, out.flushes_ns),
        (vec![1000, 1000], vec![1000])
    );
}

#[test]
fn time_between_a_write_and_its_flush_is_nobodys() {
    let mut join = join();
    let events = [(A, begin(0)), (A, end(512, 512, false))];
    all(&mut join, &events);
    let later = |at_ns, event| TimedEvent {
        at_ns,
        tid: A,
        event,
    };
    join.step(&later(900_000_000, sync()));
    join.step(&later(900_500_000, synced()));
    let out = join.take();
    let write = out.writes.first().expect("one");
    assert_eq!(
        (write.took_ns(), write.end_ns),
        (1_000 + 500_000, 900_500_000)
    );
}

#[test]
fn a_write_in_flight_when_the_flush_begins_waits_for_the_next() {
    let mut join = join();
    let out = all(
        &mut join,
        &[
            (A, begin(0)),
            (A, end(512, 512, false)),
            (A, begin(512)),
            (B, sync()),
            (A, end(1024, 512, false)),
            (B, synced()),
            (B, sync()),
            (B, synced()),
        ],
    );
    assert_eq!(shown(&out), [(1, 512, 1, 1, 1, 2), (3, 512, 1, 1, 2, 1)]);
}

#[test]
fn a_write_that_is_durable_by_itself_is_a_log_write_with_its_flush_in_it() {
    // On the writer's own thread; then through a queue, where a thread of the kernel flushes.
    let own = [
        (A, begin(0)),
        (A, sync()),
        (A, synced()),
        (A, end(4096, 4096, true)),
    ];
    let queued = [
        (A, begin(0)),
        (A, QUEUED),
        (KERNEL, sync()),
        (KERNEL, synced()),
        (KERNEL, end(4096, 4096, true)),
    ];
    let xfs = [(A, begin(0)), (A, xfs_sync()), (A, end(4096, 4096, true))];
    let without = [(A, begin(0)), (A, end(4096, 4096, true))];
    for (events, expected, flushes) in [
        (&own[..], (1, 4096, 1, 0, 2, 1), 1),
        (&queued, (1, 4096, 1, 0, 3, 1), 1),
        (&xfs, (1, 4096, 1, 0, 1, 1), 1),
        (&without, (1, 4096, 1, 0, 1, 0), 0),
    ] {
        let mut join = join();
        let out = all(&mut join, events);
        assert_eq!(shown(&out), [expected], "{events:?}");
        assert_eq!(out.flushes_ns.len(), flushes);
        let counts = join.counts();
        assert_eq!((counts.flushes, counts.other_flushes), (0, 0), "{events:?}");
    }
}

/// As fio does with libaio: the flush begins while the write is in flight, on the same thread.
#[test]
fn a_flush_beside_a_queued_write_is_not_part_of_it() {
    let mut join = join();
    let out = all(
        &mut join,
        &[
            (A, begin(0)),
            (A, QUEUED),
            (A, sync()),
            (KERNEL, end(4096, 4096, false)),
            (A, synced()),
            (A, begin(4096)),
            (A, QUEUED),
            (KERNEL, end(8192, 4096, false)),
            (A, sync()),
            (A, synced()),
        ],
    );
    assert_eq!(shown(&out), [(1, 8192, 2, 1, 5, 1)]);
    assert_eq!((join.counts().flushes, join.counts().other_flushes), (1, 1));
}

#[test]
fn a_direct_write_over_several_extents_is_one_call() {
    let mut join = join();
    let out = all(
        &mut join,
        &[
            (A, begin(0)),
            (A, begin(4096)),
            (A, begin(8192)),
            (A, end(12_288, 12_288, true)),
        ],
    );
    assert_eq!(shown(&out), [(1, 12_288, 1, 0, 3, 0)]);
    assert_eq!(join.counts().without_end, 0);
}

#[test]
fn a_write_through_the_cache_ends_with_its_system_call() {
    let mut join = join();
    let out = all(
        &mut join,
        &[
            // Two folios of one call; and a call of another thread that wrote something else.
            (A, buffered(0, 4096)),
            (B, returns(SystemCall::Pwrite, 100)),
            (A, buffered(4096, 4096)),
            (A, returns(SystemCall::Pwrite, 8192)),
            (A, sync()),
            (A, synced()),
            (A, returns(SystemCall::Fdatasync, 0)),
            // O_DSYNC.
            (B, buffered(8192, 8192)),
            (B, sync()),
            (B, synced()),
            (B, returns(SystemCall::Pwrite, 8192)),
        ],
    );
    assert_eq!(shown(&out), [(1, 8192, 1, 1, 3, 1), (8, 8192, 1, 0, 2, 1)]);
    assert_eq!((join.counts().calls, join.counts().flushes), (2, 1));
}

#[test]
fn xfs_flushes_end_with_their_system_call_or_their_operation() {
    let mut join = join();
    let out = all(
        &mut join,
        &[
            (A, buffered(0, 8192)),
            (A, returns(SystemCall::Pwrite, 8192)),
            (A, xfs_sync()),
            (A, returns(SystemCall::Fdatasync, 0)),
            // io_uring: a worker flushes.
            (A, begin(8192)),
            (A, QUEUED),
            (KERNEL, end(12_288, 4096, false)),
            (
                A,
                TraceEvent::RingQueued {
                    request: 77,
                    opcode: RING_FSYNC,
                },
            ),
            (B, xfs_sync()),
            (
                A,
                TraceEvent::RingDone {
                    request: 78,
                    result: 0,
                },
            ),
            (
                A,
                TraceEvent::RingDone {
                    request: 77,
                    result: 0,
                },
            ),
            // O_DSYNC through the cache.
            (A, buffered(12_288, 8192)),
            (A, xfs_sync()),
            (A, returns(SystemCall::Pwrite, 8192)),
        ],
    );
    let expected = [
        (1, 8192, 1, 1, 1, 1),
        (5, 4096, 1, 1, 2, 2),
        (12, 8192, 1, 0, 1, 1),
    ];
    assert_eq!(shown(&out), expected);
}

#[test]
fn headers_checkpoints_and_the_filling_of_new_files_are_left_out() {
    let mut join = Join::default();
    let rules = FileRules {
        header_bytes: 0x3000,
        is_filled_first: true,
    };
    join.follow(LOG, rules, true);
    let out = all(
        &mut join,
        &[
            (A, buffered(0, 131_072)),
            (A, returns(SystemCall::Pwritev, 131_072)),
            (A, sync()),
            (A, synced()),
            (A, returns(SystemCall::Fsync, 0)),
            (A, buffered(0x1000, 4096)),
            (A, returns(SystemCall::Pwrite, 4096)),
            (A, begin(0x2000)),
            (A, end(0x3000, 4096, false)),
            (A, buffered(0x3000, 8192)),
            (A, returns(SystemCall::Pwrite, 8192)),
            (A, sync()),
            (A, synced()),
        ],
    );
    assert_eq!(shown(&out), [(10, 8192, 1, 1, 1, 1)]);
    let counts = join.counts();
    assert_eq!((counts.filled_bytes, counts.left_out), (131_072, 2));
    assert_eq!(
        (counts.calls, counts.flushes, counts.other_flushes),
        (1, 1, 0)
    );
}

#[test]
fn failures_are_counted_and_are_no_log_writes() {
    let mut join = join();
    let failed = |result| TraceEvent::DirectEnd {
        file: LOG,
        pos: 0,
        is_durable: false,
        result,
    };
    let out = all(
        &mut join,
        &[
            // io_uring tries again by itself.
            (A, begin(0)),
            (A, failed(AGAIN)),
            (B, begin(0)),
            (B, end(4096, 4096, false)),
            (A, begin(0)),
            (A, failed(-5)),
            (A, sync()),
            (
                A,
                TraceEvent::SyncEnd {
                    file: LOG,
                    result: -5,
                },
            ),
        ],
    );
    assert_eq!(shown(&out), []);
    assert_eq!((join.counts().errors, join.counts().last_error), (2, -5));
}

#[test]
fn what_the_device_did_within_a_log_write_is_joined_by_place() {
    let mut join = join();
    // What lies together, as two extents.
    let range = |begin, end| LogRange {
        begin,
        end,
        file: LOG,
    };
    join.place(254, vec![range(1010, 1016), range(1000, 1010)]);
    let write = |sector, sectors, is_write| BlockRequest {
        dev: 254,
        sector,
        sectors,
        is_flush: false,
        is_write,
    };
    let flush = BlockRequest {
        is_flush: true,
        ..write(0, 0, false)
    };
    let issue = TraceEvent::BlockIssue;
    let done = TraceEvent::BlockDone;
    let out = all(
        &mut join,
        &[
            (A, begin(0)),
            // Over the end of the file's range; of others, one of them on another disk; a read.
            (A, issue(write(1008, 16, true))),
            (B, issue(write(2000, 8, true))),
            (
                B,
                issue(BlockRequest {
                    dev: 8,
                    ..write(1000, 8, true)
                }),
            ),
            (B, issue(write(1000, 8, false))),
            (KERNEL, done(write(1008, 16, true))),
            (KERNEL, done(write(2000, 8, true))),
            (A, end(4096, 4096, false)),
            (A, sync()),
            (KERNEL, issue(flush)),
            (KERNEL, done(flush)),
            // The request that asked for the flush, without data.
            (
                KERNEL,
                done(BlockRequest {
                    is_flush: false,
                    is_write: true,
                    ..flush
                }),
            ),
            (A, synced()),
        ],
    );
    assert_eq!(shown(&out), [(1, 4096, 1, 1, 7, 4)]);
    let device = out
        .writes
        .first()
        .and_then(|write| write.device)
        .expect("followed");
    assert_eq!(
        device,
        DeviceTimes {
            write_ns: 4_000,
            flush_ns: 1_000
        }
    );
    let counts = join.counts();
    assert_eq!((counts.device_writes, counts.device_bytes), (1, 8 * 512));
    assert_eq!(
        (out.device_writes_ns, out.device_flushes_ns),
        (vec![4_000], vec![1_000])
    );
}

#[test]
fn ends_that_are_lost_are_counted_and_forgotten() {
    let mut join = join();
    let out = all(
        &mut join,
        &[
            (KERNEL, begin(0)),
            (A, begin(0)),
            (A, end(512, 512, true)),
            (B, buffered(0, 512)),
            (B, buffered(8192, 512)),
            (B, returns(SystemCall::Pwrite, 512)),
            (B, sync()),
            (B, sync()),
            (B, synced()),
        ],
    );
    assert_eq!(out.writes.len(), 2);
    assert_eq!(join.counts().without_end, 3);
    all(
        &mut join,
        &[(A, begin(0)), (B, sync()), (KERNEL, buffered(0, 1))],
    );
    join.settle(u64::MAX);
    assert_eq!(join.counts().without_end, 6);
}

proptest! {
    /// Whatever the order of events is, nothing panics, bytes are those of calls that ended, and
    /// what is kept is bounded.
    #[test]
    fn any_order_of_events_is_survived(
        steps in prop::collection::vec((0_u8..14, 0_i32..4, 0_u64..6, any::<bool>()), 0..300),
    ) {
        let mut join = join();
        join.place(7, vec![LogRange { begin: 0, end: 64, file: LOG }]);
        let events: Vec<(i32, TraceEvent)> = steps.iter().map(|(kind, tid, n, odd)| {
            let request = BlockRequest {
                dev: 7, sector: *n, sectors: u32::from(*odd), is_flush: !odd, is_write: *odd,
            };
            let event = match kind {
                0 => begin(n * 512),
                1 => QUEUED,
                2 => end(n * 512, 512, *odd),
                3 => end(n * 512, -5, *odd),
                4 => buffered(n * 512, 512),
                5 => sync(),
                6 => xfs_sync(),
                7 => synced(),
                8 => returns(SystemCall::Pwrite, 512),
                9 => returns(SystemCall::Fdatasync, 0),
                10 => TraceEvent::RingQueued { request: *n, opcode: RING_FSYNC },
                11 => TraceEvent::RingDone { request: *n, result: 0 },
                12 => TraceEvent::BlockIssue(request),
                _ => TraceEvent::BlockDone(request),
            };
            (*tid, event)
        }).collect();
        let out = all(&mut join, &events);
        let durable: u64 = out.writes.iter().map(|write| write.bytes).sum();
        prop_assert!(durable <= join.counts().call_bytes);
        prop_assert_eq!(join.counts().call_bytes, 512 * join.counts().calls);
        let calls: u64 = out.writes.iter().map(|write| u64::from(write.calls)).sum();
        prop_assert!(calls + join.not_flushed() <= join.counts().calls);
        let is_within = |write: &SeenWrite| {
            let most = write.took_ns();
            write.device.is_some_and(|d| d.write_ns <= most && d.flush_ns <= most)
        };
        prop_assert!(out.writes.iter().all(is_within));
    }
}

#[test]
fn a_write_waits_for_a_flush_to_begin() {
    let at = |join: &Join, us: u64| join.unflushed_ns(us * 1000).map(|ns| ns / 1000);
    let written = [(A, begin(0)), (A, end(4096, 4096, false))];
    let mut join = join();
    assert_eq!(at(&join, 50), None, "nothing was written");
    all(&mut join, &written);
    assert_eq!(at(&join, 50), Some(48), "since the end of the write");
    // One that is in flight will make it durable, or began before it and shows that somebody does.
    let mut flushing = self::join();
    let events = [
        &written[..],
        &[(B, sync()), (A, begin(4096)), (A, end(8192, 4096, false))],
    ];
    all(&mut flushing, &events.concat());
    assert_eq!((flushing.not_flushed(), at(&flushing, 50)), (1, Some(0)));
    flushing.step(&TimedEvent {
        at_ns: 20_000,
        tid: B,
        event: synced(),
    });
    assert_eq!(at(&flushing, 50), Some(30), "since the end of the flush");
    // At the end of the watching it is given up, and may have been in flight.
    let mut ended = self::join();
    all(&mut ended, &events.concat());
    ended.settle(u64::MAX);
    assert_eq!((ended.not_flushed(), at(&ended, 50)), (2, Some(0)));
    let mut durable = self::join();
    all(&mut durable, &[(A, begin(0)), (A, end(4096, 4096, true))]);
    assert_eq!(at(&durable, 50), None, "durable by itself");
}

/// Seen: an append that crosses a page is announced once more at the page, with what is left.
#[test]
fn a_write_over_the_end_of_a_page_is_one() {
    let mut join = join();
    let out = all(
        &mut join,
        &[
            (A, buffered(4_000, 200)),
            (A, buffered(4_096, 104)),
            (A, returns(SystemCall::Write, 200)),
            (A, sync()),
            (A, synced()),
        ],
    );
    assert_eq!(shown(&out), [(1, 200, 1, 1, 2, 1)]);
    assert_eq!(join.counts().without_end, 0);
}
