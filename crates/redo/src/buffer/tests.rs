//! Tests of the log buffer: what is filled comes back from its blocks, whatever the sizes, the
//! order of filling and the place in the ring.

use super::*;
use crate::format::{LifeId, LogId, RECORD_HEADER_BYTES};
use crate::format::{decode_record_header, encode_record_header};
use device::Region;
use measure::workload::split_mix;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ID: LogId = LogId([3; 16]);
const INCARNATION: u32 = 9;

fn geometry(seal_blocks: u32) -> Geometry {
    Geometry {
        block_bytes: 512,
        seal_blocks,
        groups: 3,
        blocks_per_group: 64,
        header_bytes: 4096,
        file_bytes: 4096 + 64 * 512,
    }
}

fn buffer(seal_blocks: u32, ring: u64, start: StreamBlock, first_batch: u64) -> LogBuffer {
    let region = Region::new(ring as usize * 512).expect("memory");
    let memory = Memory::new(Arc::new(region));
    let planted = Planted::none();
    let life = LifeId::from_bytes([6; 16]);
    let (geometry, summer) = (geometry(seal_blocks), Summer::of_life(ID, life));
    LogBuffer::new(
        memory,
        geometry,
        INCARNATION,
        summer,
        start,
        first_batch,
        planted,
    )
}

fn record(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut out = encode_record_header(len as u32).to_vec();
    out.extend((0..len).map(|_| split_mix(&mut state) as u8));
    out
}

fn put(buffer: &LogBuffer, record: &[u8]) -> Reservation {
    let reservation = buffer.reserve(record.len() as u32).expect("room");
    let (head, payload) = record.split_at(RECORD_HEADER_BYTES);
    // In two vectors, as sessions do.
    let (one, two) = payload.split_at(payload.len() / 3);
    buffer.fill(&reservation, Source::new(head, &[one, two]));
    reservation
}

/// The batch's blocks as a device would be given them.
fn blocks(buffer: &LogBuffer, batch: &Batch) -> Vec<(BlockHeader, Vec<u8>)> {
    assert!(buffer.is_filled(batch));
    let mut out = Vec::new();
    for block in batch.start..batch.end() {
        let [piece, rest] = buffer.pieces(block, 1);
        assert_eq!((piece.len, rest.len), (512, 0));
        let mut bytes = vec![0; 512];
        // SAFETY: the block is filled, and its batch is not released while it is looked at.
        unsafe { buffer.memory().region().copy_to(piece.at, &mut bytes) };
        let header = BlockHeader::decode(&Summer::new(ID), &bytes).expect("a valid block");
        assert!(header.life.is_some(), "every block carries its life");
        assert_eq!(
            (header.stream_block, header.incarnation),
            (block, INCARNATION)
        );
        let used = usize::from(header.used);
        assert!(
            bytes[BLOCK_HEADER_BYTES + used..].iter().all(|b| *b == 0),
            "padding is zero"
        );
        out.push((header, bytes[BLOCK_HEADER_BYTES..][..used].to_vec()));
    }
    out
}

/// Splits a batch's redo into its records and checks every `first_record` on the way.
fn records(blocks: &[(BlockHeader, Vec<u8>)]) -> Vec<Vec<u8>> {
    let redo: Vec<u8> = blocks.iter().flat_map(|b| b.1.clone()).collect();
    let (mut out, mut begins, mut at) = (Vec::new(), Vec::new(), 0);
    while at < redo.len() {
        let head = redo[at..].first_chunk().expect("a whole header");
        let len = decode_record_header(head).expect("a record header") as usize;
        let end = at + RECORD_HEADER_BYTES + len;
        begins.push(at);
        out.push(redo[at..end].to_vec());
        at = end;
    }
    let mut from = 0;
    for (header, used) in blocks {
        let mut inside = begins
            .iter()
            .filter(|b| (from..from + used.len()).contains(*b));
        match inside.next() {
            Some(first) => assert_eq!(usize::from(header.first_record), first - from),
            None => assert!(
                header.first_record >= header.used,
                "none begins: {header:?}"
            ),
        }
        from += used.len();
    }
    out
}

#[test]
fn what_is_put_comes_back_and_first_records_are_right() {
    let payload = geometry(1).payload() as usize;
    let head = RECORD_HEADER_BYTES;
    // Lengths around the edges of one and several blocks.
    let lens = [
        0,
        1,
        payload - head - 1,
        payload - head,
        payload - head + 1,
        2 * payload - head,
        2 * payload - head + 3,
        3 * payload,
    ];
    for seal_blocks in [1, 4, 8] {
        for first in lens {
            for second in lens {
                let buffer = buffer(seal_blocks, 32, 0, 0);
                let given = [record(first, 1), record(second, 2), record(5, 3)];
                for record in &given {
                    put(&buffer, record);
                }
                let batch = buffer.seal().expect("not empty");
                assert_eq!(batch.blocks % seal_blocks, 0);
                assert_eq!(batch.bytes as usize, given.concat().len());
                let found = records(&blocks(&buffer, &batch));
                assert_eq!(found, given, "seal {seal_blocks}, {first} and {second}");
            }
        }
    }
}

#[test]
fn the_ring_and_batch_numbers_wrap() {
    // (first batch, first block): near the wrap of the lower half, and anywhere in the ring.
    for (first_batch, start) in [(0, 0), (u64::from(u32::MAX) - 2, 24), (7 << 32, 60)] {
        let buffer = buffer(2, 8, start, first_batch);
        let mut at = start;
        for id in first_batch..first_batch + 600 {
            assert!(buffer.seal().is_none(), "empty");
            let given = [record((id % 900) as usize, id), record(3, id + 1)];
            for record in &given {
                assert_eq!(put(&buffer, record).batch, id);
            }
            buffer.register(id);
            let batch = buffer.seal().expect("not empty");
            assert_eq!((batch.id, batch.start, batch.commits), (id, at, 1));
            assert_eq!(records(&blocks(&buffer, &batch)), given, "batch {id}");
            at = batch.end();
            buffer.release(at);
            buffer.publish(id + 1, at);
            assert_eq!(buffer.published(), id + 1);
            assert_eq!(buffer.open_batch(), (id + 1, 0));
        }
    }
}

/// What crosses the ring's end is two pieces, the second one at its beginning.
#[test]
fn blocks_lie_in_the_ring_in_one_piece_or_in_two() {
    let buffer = buffer(1, 8, 0, 0);
    assert_eq!(buffer.ring_blocks(), 8);
    for (start, blocks, expected) in [
        (0, 8, [(0, 4096), (0, 0)]),
        (3, 2, [(1536, 1024), (0, 0)]),
        (6, 2, [(3072, 1024), (0, 0)]),
        (6, 5, [(3072, 1024), (0, 1536)]),
        (8 * 1000 + 7, 8, [(3584, 512), (0, 3584)]),
    ] {
        let pieces = buffer.pieces(start, blocks);
        let found = pieces.map(|piece| (piece.at, piece.len));
        assert_eq!(found[0], expected[0], "{blocks} from {start}");
        assert_eq!(found[1].1, expected[1].1, "{blocks} from {start}");
        assert!(found[1].1 == 0 || found[1].0 == expected[1].0);
    }
}

#[test]
fn a_full_ring_says_so_and_release_makes_room() {
    let buffer = buffer(2, 4, 0, 0);
    let block = record(geometry(2).payload() as usize - RECORD_HEADER_BYTES, 1);
    for _ in 0..4 {
        put(&buffer, &block);
    }
    assert_eq!(buffer.reserve(1).err(), Some(Full));
    let batch = buffer.seal().expect("not empty");
    assert_eq!(
        buffer.reserve(1).err(),
        Some(Full),
        "sealed is not released"
    );
    buffer.release(batch.end());
    let reservation = buffer.reserve(1).expect("room");
    assert_eq!((reservation.batch, reservation.start), (1, 4));
}

#[test]
fn blocks_carry_what_was_durable_when_they_were_made() {
    let buffer = buffer(1, 8, 0, 0);
    for (batch, durable) in [(0, 0), (1, 1), (2, 2)] {
        put(&buffer, &record(10, batch));
        let sealed = buffer.seal().expect("not empty");
        let found = blocks(&buffer, &sealed);
        assert_eq!(found[0].0.durable_upto, durable);
        buffer.release(sealed.end());
        buffer.publish(batch + 1, sealed.end());
    }
}

#[test]
fn a_batch_is_filled_only_when_its_last_byte_is_in_place() {
    let buffer = buffer(2, 8, 0, 0);
    let (long, short) = (record(1000, 1), record(20, 2));
    let first = buffer.reserve(long.len() as u32).expect("room");
    put(&buffer, &short);
    let batch = buffer.seal().expect("not empty");
    let mut done = 0;
    while done < first.len {
        assert!(!buffer.is_filled(&batch), "{done} of {}", first.len);
        let mut source = Source::new(&long[done as usize..], &[]);
        done += buffer.fill_block(&first, done, &mut source);
    }
    assert_eq!(records(&blocks(&buffer, &batch)), [long, short]);
}

#[test]
fn stations_are_those_of_the_batch_or_nothing() {
    let buffer = buffer(1, 8, 0, 0);
    let stations = Stations {
        submitted_ns: 1,
        written_ns: 2,
        durable_ns: 3,
    };
    assert_eq!(buffer.stations(5), None);
    buffer.leave_stations(5, stations);
    assert_eq!(buffer.stations(5), Some(stations));
    assert_eq!(buffer.stations(5 + BATCH_SLOTS), None);
    buffer.leave_stations(5 + BATCH_SLOTS, stations);
    assert_eq!(buffer.stations(5), None, "its slot was reused");
}

/// Appenders on real threads, a sealer that takes batches as they come: every byte arrives once,
/// each thread's records in its own order.
#[test]
fn threads_lose_nothing() {
    const THREADS: u64 = 4;
    let records_each: u64 = if cfg!(miri) { 20 } else { 3_000 };
    for (seal_blocks, ring, first_batch) in [(1, 8, u64::from(u32::MAX) - 50), (4, 64, 0)] {
        let buffer = buffer(seal_blocks, ring, 0, first_batch);
        let total = THREADS * records_each;
        let mut found: Vec<Vec<u8>> = Vec::new();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let buffer = &buffer;
                scope.spawn(move || append(buffer, thread, records_each));
            }
            while (found.len() as u64) < total {
                let Some(batch) = buffer.seal() else {
                    std::thread::yield_now();
                    continue;
                };
                buffer.await_filled(&batch);
                found.extend(records(&blocks(&buffer, &batch)));
                buffer.release(batch.end());
                buffer.publish(batch.id + 1, batch.end());
            }
        });
        let mut next = [0; THREADS as usize];
        for record in found {
            let thread = usize::from(record[RECORD_HEADER_BYTES]);
            assert_eq!(record, stamped(thread as u64, next[thread]));
            next[thread] += 1;
        }
        assert_eq!(next, [records_each; THREADS as usize]);
        assert!(buffer.seal().is_none());
    }
}

fn append(buffer: &LogBuffer, thread: u64, count: u64) {
    for number in 0..count {
        let record = stamped(thread, number);
        let reservation = loop {
            match buffer.reserve(record.len() as u32) {
                Ok(reservation) => break reservation,
                Err(Full) => std::thread::yield_now(),
            }
        };
        buffer.fill(&reservation, Source::new(&record, &[]));
    }
}

/// Record `number` of `thread`: 1 to about 1,600 bytes, the first of which names the thread.
fn stamped(thread: u64, number: u64) -> Vec<u8> {
    let len = 1 + (number * 37 + thread * 11) % if number.is_multiple_of(9) { 1_600 } else { 90 };
    let mut out = record(len as usize, thread << 32 | number);
    out[RECORD_HEADER_BYTES] = thread as u8;
    out
}

/// A number of a thread of this process in a file of procfs: the word at `place` of the line that
/// begins with `name`.
fn number_of(thread: &str, file: &str, name: &str, place: usize) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/{file}")).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(place)?.parse().ok()
}

fn own_thread() -> String {
    rustix::thread::gettid().as_raw_nonzero().to_string()
}

/// A leader does not spin for ever on a filler that is stopped: it sleeps, and goes on when the
/// filler does.
#[test]
fn who_waits_for_a_stopped_filler_sleeps() {
    const SLEEPS: u64 = 50;
    // On a busy machine the leader yields for long before it sleeps.
    const PATIENCE: Duration = Duration::from_secs(30);
    let buffer = buffer(1, 16, 0, 0);
    let reservation = buffer.reserve(100).expect("room");
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let leader = scope.spawn(|| {
            let tell = tell;
            let batch = buffer.seal().expect("a batch");
            tell.send(own_thread()).expect("heard");
            buffer.await_filled(&batch) && buffer.is_filled(&batch)
        });
        let leaders = told.recv().expect("it begins");
        // How often it gave its processor away because it had nothing to do.
        let sleeps = || number_of(&leaders, "status", "voluntary_ctxt_switches:", 1);
        let (start, before) = (Instant::now(), sleeps().expect("Linux counts them"));
        let slept = || sleeps().is_some_and(|now| now >= before + SLEEPS);
        while !slept() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        let has_slept = slept();
        buffer.fill(&reservation, Source::new(&[7; 100], &[]));
        assert!(leader.join().expect("no panic"), "filled");
        assert!(has_slept, "not {SLEEPS} times in {:?}", start.elapsed());
    });
}

const REAL_TIME: &str = "REDO_REAL_TIME_LEADER";

/// A leader with a real-time priority lets a filler without one run, on the one processor that
/// both have. In a child with a time limit, since otherwise it might keep that processor.
#[test]
fn a_real_time_leader_lets_the_filler_run() {
    const NAME: &str = "buffer::tests::a_real_time_leader_lets_the_filler_run";
    if std::env::var_os(REAL_TIME).is_some() {
        return lead_in_real_time();
    }
    let mut child = std::process::Command::new(std::env::current_exe().expect("known"))
        .args([NAME, "--exact", "--nocapture"])
        .env(REAL_TIME, "1")
        .spawn()
        .expect("a child");
    let start = Instant::now();
    let ended = loop {
        match child.try_wait().expect("our child") {
            Some(status) => break status.success(),
            None if start.elapsed() > Duration::from_secs(30) => break false,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    // It may have ended by itself.
    drop(child.kill());
    drop(child.wait());
    assert!(ended, "the leader let the filler run");
}

fn lead_in_real_time() {
    let cpus = device::cpus::allowed().expect("known");
    device::cpus::pin(&cpus[..1]).expect("allowed");
    let buffer = buffer(1, 16, 0, 0);
    let reservation = buffer.reserve(100).expect("room");
    let waits = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let leader = scope.spawn(|| {
            let thread = own_thread();
            let real_time = std::process::Command::new("chrt")
                .args(["--fifo", "--pid", "1", &thread])
                .output();
            if !real_time.is_ok_and(|done| done.status.success()) {
                println!("skipped: chrt sets no real-time priority here");
            }
            let batch = buffer.seal().expect("a batch");
            let before = number_of(&thread, "schedstat", "", 0);
            waits.store(true, Ordering::SeqCst);
            assert!(buffer.await_filled(&batch));
            Some(number_of(&thread, "schedstat", "", 0)? - before?)
        });
        while !waits.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        buffer.fill(&reservation, Source::new(&[7; 100], &[]));
        let Some(ran_ns) = leader.join().expect("no panic") else {
            println!("skipped: the system does not count what a thread ran");
            return;
        };
        // Spinning, it runs until the system's limit for such threads, 950 ms of each second.
        assert!(ran_ns < 300_000_000, "the leader ran for {ran_ns} ns");
    });
}

#[test]
fn a_full_batch_leaves_room_for_the_next() {
    for depth in [1, 3] {
        let ring = 64;
        let buffer = buffer(1, ring, 0, 0).for_depth(depth);
        let payload = u64::from(geometry(1).payload());
        let most = (ring / u64::from(depth + 1).min(3) * payload) as u32;
        let record = record(700, 5);
        let len = record.len() as u32;
        let fill = || {
            let mut taken = 0;
            while buffer.reserve(len).is_ok() {
                taken += len;
            }
            taken
        };
        let taken = fill();
        assert!(taken <= most && taken + len > most, "{taken} of {most}");
        let seen = buffer.space.read();
        let batch = buffer.seal().expect("a batch");
        assert_eq!(batch.bytes, taken);
        assert_ne!(buffer.space.read(), seen, "who was refused is woken");
        // Nothing was released.
        assert_eq!(buffer.reserve(len).expect("room").batch, 1);
        let seen = buffer.space.read();
        buffer.seal().expect("a batch");
        assert_eq!(buffer.space.read(), seen, "nobody was refused");
        assert!(buffer.reserve(len).is_ok());
        buffer.register(2);
        let left = (ring - buffer.open_start()) * payload;
        let taken = len + fill();
        assert!(
            u64::from(taken + len) > left,
            "somebody waits for it: all that there is"
        );
    }
}

#[test]
fn the_longest_record_has_a_batch_whatever_the_depth() {
    for depth in 1..=crate::writer::MAX_DEPTH as u32 {
        for ring in [1, 2, 7, 64] {
            let buffer = buffer(1, ring, 0, 0).for_depth(depth);
            let longest = geometry(1).max_record(ring) as u32 + RECORD_HEADER_BYTES as u32;
            assert_eq!(buffer.reserve(longest).expect("room").batch, 0);
        }
    }
}
