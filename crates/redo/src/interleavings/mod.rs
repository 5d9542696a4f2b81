//! Every interleaving, within bounds, of the code that runs in production: the log buffer
//! (`crate::buffer`) and the turn-taking (`crate::turn`), under loom.
//!
//! Only what the holder of the baton does is a model: the [`Scribe`] seals the open batch, waits
//! until it is filled, checks every block as recovery would, releases and publishes. Geometry is
//! tiny (a [`Shape`]; 4 batch slots), so that everything that wraps wraps. The bound on
//! preemptions is beside each model; `LOOM_MAX_PREEMPTIONS` overrides it.
#![allow(unsafe_code)]

mod commits;
mod futures;
mod pipeline;
mod ring;
mod tickets;

use crate::buffer::{LogBuffer, Memory, Reservation, Source};
use crate::format::{
    BLOCK_HEADER_BYTES, BlockHeader, LogId, RECORD_HEADER_BYTES, Summer, decode_record_header,
    encode_record_header,
};
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use crate::turn::{LeadOutcome, Leadership, Rules, SharedBaton};
use crate::writer::Cause;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const ID: LogId = LogId([7; 16]);

/// Of a log: bytes of payload a block, blocks of the ring, blocks that are sealed together.
#[derive(Clone, Copy, Debug)]
struct Shape {
    payload: usize,
    ring: usize,
    seal: u32,
}

const TINY: Shape = Shape {
    payload: 8,
    ring: 4,
    seal: 1,
};

fn geometry(shape: Shape) -> Geometry {
    let block_bytes = (BLOCK_HEADER_BYTES + shape.payload) as u32;
    Geometry {
        block_bytes,
        seal_blocks: shape.seal,
        groups: 2,
        blocks_per_group: 1 << 20,
        header_bytes: 4096,
        file_bytes: 4096 + (u64::from(block_bytes) << 20),
    }
}

/// A log of the models: turns around a scribe.
type Log = SharedBaton<Scribe>;

fn log(start: StreamBlock, first_batch: u64, way: Leadership, planted: Planted) -> Log {
    log_with(start, first_batch, rules_of(way, planted))
}

/// The rules of a way with a planted bug, all else as usual.
fn rules_of(way: Leadership, planted: Planted) -> Rules {
    Rules {
        way,
        planted,
        ..Rules::default()
    }
}

fn log_with(start: StreamBlock, first_batch: u64, rules: Rules) -> Log {
    shaped_with(TINY, start, first_batch, rules)
}

fn shaped(
    shape: Shape,
    start: StreamBlock,
    first_batch: u64,
    way: Leadership,
    planted: Planted,
) -> Log {
    shaped_with(shape, start, first_batch, rules_of(way, planted))
}

fn shaped_with(shape: Shape, start: StreamBlock, first_batch: u64, rules: Rules) -> Log {
    let geometry = geometry(shape);
    let buffer = LogBuffer::new(
        Memory::cells(shape.ring * geometry.block_bytes as usize),
        geometry,
        1,
        Summer::new(ID),
        start,
        first_batch,
        rules.planted,
    );
    let scribe = Scribe {
        next: start,
        ..Scribe::default()
    };
    SharedBaton::new(buffer, &geometry, scribe, start, rules)
}

/// Holds the baton: writes to a vector.
#[derive(Default)]
struct Scribe {
    /// The block that comes next.
    next: StreamBlock,
    /// The redo of all blocks so far, without padding.
    redo: Vec<u8>,
    /// Where the first record of each block was said to begin, in `redo`.
    firsts: Vec<usize>,
    /// Writes that succeed before one fails.
    fails_after: Option<u32>,
}

impl Scribe {
    /// What the host does for one batch.
    fn lead(&mut self, log: &Log) -> LeadOutcome {
        if log.buffer.open_batch().1 == 0 || self.fails_after == Some(0) && self.failed(log) {
            return LeadOutcome::Nothing;
        }
        let first = log.buffer.published();
        let batch = log.buffer.seal().expect("it has bytes");
        assert_eq!(batch.start, self.next, "batches are contiguous");
        assert_eq!(batch.id, first, "nothing else is in flight");
        if !log.buffer.await_filled(&batch) {
            return LeadOutcome::Nothing;
        }
        if self.fails_after == Some(0) {
            log.poison_as_holder(Cause::Write(device::IoFailure { errno: 5 }));
            return LeadOutcome::From(first);
        }
        self.fails_after = self.fails_after.map(|left| left - 1);
        let before = self.redo.len();
        for block in batch.start..batch.end() {
            self.take(log, block);
        }
        assert_eq!(self.redo.len() - before, batch.bytes as usize);
        self.next = batch.end();
        log.buffer.release(batch.end());
        log.buffer.publish(batch.id + 1, batch.end());
        LeadOutcome::From(first)
    }

    fn failed(&self, log: &Log) -> bool {
        matches!(log.check(), Err(crate::Error::Poisoned(Cause::Write(_))))
    }

    /// Reads a block as recovery would.
    fn take(&mut self, log: &Log, block: StreamBlock) {
        let [piece, rest] = log.buffer.pieces(block, 1);
        assert_eq!(rest.len, 0, "one block is one piece");
        let memory = log.buffer.memory();
        // SAFETY: loom looks.
        let bytes = unsafe { memory.read(piece.at, piece.len, <[u8]>::to_vec) };
        let header = BlockHeader::decode(&Summer::new(ID), &bytes).expect("a block that counts");
        assert_eq!((header.stream_block, header.incarnation), (block, 1));
        assert!(header.durable_upto <= block, "{header:?}");
        let used = usize::from(header.used);
        let first = usize::from(header.first_record);
        if first < used {
            self.firsts.push(self.redo.len() + first);
        }
        self.redo
            .extend_from_slice(&bytes[BLOCK_HEADER_BYTES..BLOCK_HEADER_BYTES + used]);
    }

    /// The records in order; each block's first one was found where its header said.
    fn records(&self) -> Vec<Vec<u8>> {
        let (mut records, mut begins) = (Vec::new(), Vec::new());
        let mut rest = &self.redo[..];
        while let Some((head, behind)) = rest.split_first_chunk::<RECORD_HEADER_BYTES>() {
            begins.push(self.redo.len() - rest.len());
            let len = decode_record_header(head).expect("a record's header") as usize;
            let (body, behind) = behind.split_at_checked(len).expect("a whole record");
            records.push(body.to_vec());
            rest = behind;
        }
        assert!(rest.is_empty(), "records fill the batches");
        for first in &self.firsts {
            assert!(begins.contains(first), "a record begins at {first}");
        }
        records
    }
}

/// Copies `body` into a reserved place.
fn fill(log: &Log, reservation: &Reservation, body: &[u8]) {
    let header = encode_record_header(body.len() as u32);
    log.buffer.fill(reservation, Source::new(&header, &[body]));
    log.appended(reservation);
}

/// Appends a record as a session does; its batch.
fn append(log: &Log, body: &[u8]) -> Result<u64, crate::Error> {
    log.check()?;
    let len = (RECORD_HEADER_BYTES + body.len()) as u32;
    let reservation = match log.buffer.reserve(len) {
        Ok(reservation) => reservation,
        Err(_) => log.reserve_when_room(len, |scribe| scribe.lead(log))?,
    };
    fill(log, &reservation, body);
    Ok(reservation.batch)
}

/// Appends and commits as a session does.
fn commit(log: &Log, body: &[u8]) -> Result<(), crate::Error> {
    let batch = append(log, body)?;
    log.await_durable(batch, true, |scribe| scribe.lead(log))?;
    assert!(log.buffer.published() > batch, "who returns is durable");
    Ok(())
}

/// A log writer, dedicated or fallback, that sleeps until it is posted: no timed wait hides a
/// lost wake-up.
fn serving(log: &loom::sync::Arc<Log>) -> loom::thread::JoinHandle<()> {
    let log = loom::sync::Arc::clone(log);
    loom::thread::spawn(move || {
        log.serve(
            |scribe| scribe.lead(&log),
            |post, seen| {
                post.wait(seen);
                false
            },
        );
    })
}

fn sorted(mut records: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    records.sort();
    records
}

/// Explores `model` with at most so many preemptions of a thread that could run on.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(bound);
    builder.max_branches = 20_000;
    let begun = std::time::Instant::now();
    let runs = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&runs);
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let (runs, took) = (runs.load(Ordering::Relaxed), begun.elapsed());
    let name = std::thread::current().name().unwrap_or("?").to_owned();
    println!("{name}: {runs} interleavings, at most {bound} preemptions, {took:.1?}");
}

/// Explores, in a process of its own, a model in which a bug was planted, and gives what that
/// process said when it failed. Loom ends by aborting when a model fails with threads in it.
fn failure(test: &str, preemptions: usize, model: impl Fn() + Sync + Send + 'static) -> String {
    const ASKED: &str = "REDO_PLANTED";
    if std::env::var_os(ASKED).is_some() {
        explore(preemptions, model);
        std::process::exit(0);
    }
    let child = std::process::Command::new(std::env::current_exe().expect("a test has a path"))
        .args([&format!("interleavings::{test}"), "--exact", "--nocapture"])
        .env(ASKED, "1")
        // It needs so many preemptions, and is searched for until it is found.
        .env_remove("LOOM_MAX_PREEMPTIONS")
        .env_remove("LOOM_MAX_DURATION")
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("the test runs again");
    assert!(!child.status.success(), "the planted bug is found");
    let told = String::from_utf8_lossy(&child.stderr).into_owned();
    let line = told.lines().find(|line| line.contains("panicked at"));
    println!("found: {}", line.expect("a panic says where"));
    told
}
