//! The tail of one session's commits beside raw durable writes of the same bytes (goal G2 of the
//! engine): chunks of 2,000 of each take turns in one process on one thread, so that both meet the
//! same disturbances of the machine. See experiments/commit-against-floor.
//!
//! `cargo bench -p redolab-redo --bench tails -- [DIRECTORY] [COMMITS] [PROCESSOR]`
//!
//! A line of CSV per chunk: the median, and the longest times, which are all that p99.9 of many
//! chunks needs (`tails.sh` beside the data computes it, with its interval).

mod common;

use common::{AnyError, RawWriter};
use device::{FileSet, Region, SyncMethod};
use measure::workload::{Generator, pool};
use redo::engine::Paths;
use redo::{CommitMode, Log, Options, Session, Shape};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(256 << 20);
const RECORD_BYTES: u32 = 2000;
/// A log write of one commit of that size.
const WRITE_BYTES: usize = 4096;
const CHUNK: usize = 2000;
/// Longest times of a chunk that are kept: p99.9 needs two per chunk in the mean.
const KEPT: usize = 40;

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let directory = common::folder(args.next(), "tails-bench")?;
    let commits: usize = args.next().map_or(Ok(200_000), |n| n.parse())?;
    if let Some(processor) = args.next() {
        let mut set = CpuSet::new();
        set.set(processor.parse()?);
        sched_setaffinity(None, &set)?;
    }
    let (own, bare) = (directory.join("log"), directory.join("raw"));
    for folder in [&own, &bare] {
        std::fs::create_dir_all(folder)?;
        Log::builder(folder).shape(SHAPE).create()?;
    }
    let (log, _) = Log::builder(&own)
        .options(Options::default().sync_method(SyncMethod::Direct))
        .open()?;
    let mut session = log.session();
    let mut generator = Generator::new(pool(1, 1 << 20), 0, 1);
    let mut floor = raw(&bare)?;
    println!("chunk,case,p50_ns,longest_ns");
    // The first pair warms both up.
    for chunk in 0..=commits.div_ceil(CHUNK) {
        for turn in [chunk % 2, 1 - chunk % 2] {
            let (case, times) = match turn {
                0 => ("commit", commit(&log, &mut session, &mut generator)?),
                _ => ("raw", floor.times(CHUNK)?),
            };
            if chunk > 0 {
                print(chunk, case, times);
            }
        }
    }
    drop((session, log));
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn print(chunk: usize, case: &str, mut times: Vec<u64>) {
    times.sort_unstable();
    let longest: Vec<String> = times.iter().rev().take(KEPT).map(u64::to_string).collect();
    println!(
        "{chunk},{case},{},{}",
        times[times.len() / 2],
        longest.join(" ")
    );
}

/// The times of a chunk of commits. The checkpoint follows between chunks.
fn commit(
    log: &Log,
    session: &mut Session,
    generator: &mut Generator,
) -> Result<Vec<u64>, AnyError> {
    let mut times = Vec::with_capacity(CHUNK);
    for _ in 0..CHUNK {
        let before = Instant::now();
        generator.next_transaction();
        let (stamp, body) = generator.record(0, RECORD_BYTES);
        session.append(&[&stamp, body])?;
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
        times.push(before.elapsed().as_nanos() as u64);
    }
    log.checkpoint(log.durable())?;
    Ok(times)
}

/// Raw writes of one block and a flush, one after the other over files like those of the log, from
/// memory as large as its log buffer.
fn raw(directory: &Path) -> Result<RawWriter, AnyError> {
    let paths = Paths::new(directory).logs(SHAPE.groups);
    let files = FileSet::open(&paths, SHAPE.file_bytes, SyncMethod::Direct)?;
    let memory = Options::default().buffer_bytes;
    let mut region = Region::new(memory)?;
    region.fill(0, &pool(9, memory));
    RawWriter::new(&files, Arc::new(region), SHAPE, WRITE_BYTES)
}
