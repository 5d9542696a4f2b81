//! What the line between state machine and host costs: the writer with its inline host against a
//! hand-fused leader over the same log buffer, on the null device and on files with O_DIRECT,
//! with one and eight jobs. Two logs are open at once and take turns in short chunks, A B B A, so
//! that drift of the machine cancels within a pair. See experiments/line-cost.
//!
//! `cargo bench -p redolab-redo --features experiment --bench line_cost -- [DIRECTORY] [PAIRS]
//! [null]`, or `-- count fused|line COMMITS` under `valgrind --tool=callgrind`.

mod common;

use device::{LogDevice, NullDevice};
use measure::workload::{Generator, pool};
use redo::{CommitMode, Log, Options, Session, Shape};
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

type AnyError = Box<dyn std::error::Error>;

const RECORD_BYTES: u32 = 1997;
/// Small enough for a cache, as a transaction's redo would be.
const POOL_BYTES: usize = 1 << 18;

fn main() -> Result<(), AnyError> {
    let args = std::env::args().skip(1).filter(|a| a != "--bench");
    let args: Vec<String> = args.collect();
    if let [command, which, commits] = &args[..]
        && command == "count"
    {
        return count(which, commits.parse()?);
    }
    let mut args = args.into_iter();
    let directory = common::folder(args.next(), "line-cost-bench")?;
    let pairs: usize = args.next().map_or(Ok(101), |r| r.parse())?;
    println!(
        "device,jobs,pairs,fused_p10_ns,line_p10_ns,ratio_of_p10,fused_p50_ns,line_p50_ns,ratio_p25,ratio_p50,ratio_p75"
    );
    let only_null = args.next().as_deref() == Some("null");
    for (jobs, commits) in [(1, 2_000), (8, 2_000)] {
        let logs = [null_log(true)?, null_log(false)?];
        compare("null", logs, jobs, commits, pairs)?;
    }
    if only_null {
        return Ok(());
    }
    for (jobs, commits) in [(1, 500), (8, 250)] {
        let logs = [
            file_log(&directory.join("a"), true)?,
            file_log(&directory.join("b"), false)?,
        ];
        compare("direct", logs, jobs, commits, pairs)?;
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// One log on the null device, one job, a fixed number of commits: for counting instructions, as
/// the difference between two numbers of commits.
fn count(which: &str, commits: u32) -> Result<(), AnyError> {
    let log = null_log(which == "fused")?;
    chunk(&log, &pool(1, POOL_BYTES), 1, commits)?;
    log.close()?;
    Ok(())
}

fn compare(
    device: &str,
    logs: [Log; 2],
    jobs: u32,
    commits: u32,
    pairs: usize,
) -> Result<(), AnyError> {
    let bytes = pool(1, POOL_BYTES);
    let mut took = [Vec::new(), Vec::new()];
    for pair in 0..pairs + 2 {
        let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
        for which in order {
            let ns = chunk(&logs[which], &bytes, jobs, commits)?;
            if pair >= 2 {
                took[which].push(ns);
            }
        }
    }
    let mut ratios: Vec<f64> = took[1].iter().zip(&took[0]).map(|(l, f)| l / f).collect();
    let quantile = |values: &mut Vec<f64>, q: f64| {
        values.sort_by(f64::total_cmp);
        values[((values.len() - 1) as f64 * q).round() as usize]
    };
    let [mut fused, mut line] = took;
    let (low_fused, low_line) = (quantile(&mut fused, 0.1), quantile(&mut line, 0.1));
    println!(
        "{device},{jobs},{pairs},{low_fused:.1},{low_line:.1},{:.4},{:.1},{:.1},{:.4},{:.4},{:.4}",
        low_line / low_fused,
        quantile(&mut fused, 0.5),
        quantile(&mut line, 0.5),
        quantile(&mut ratios, 0.25),
        quantile(&mut ratios, 0.5),
        quantile(&mut ratios, 0.75)
    );
    for log in logs {
        log.close()?;
    }
    Ok(())
}

/// Nanoseconds a commit. One job runs on the calling thread, so that a chunk may be shorter than
/// a scheduler's turn; of several, the time is from the first start to the last end.
fn chunk(log: &Log, bytes: &Arc<[u8]>, jobs: u32, commits: u32) -> Result<f64, AnyError> {
    log.checkpoint(log.durable())?;
    let job = |number| {
        let generator = Generator::new(bytes.clone(), number, 1);
        (log.session(), generator)
    };
    let per_commit = |d: Duration| d.as_nanos() as f64 / f64::from(commits * jobs);
    if jobs == 1 {
        let (session, generator) = job(0);
        let (start, end) = work(session, generator, commits)?;
        return Ok(per_commit(end - start));
    }
    let barrier = Arc::new(Barrier::new(jobs as usize));
    let threads: Vec<_> = (0..jobs)
        .map(|number| {
            let (barrier, (session, generator)) = (Arc::clone(&barrier), job(number));
            std::thread::spawn(move || {
                barrier.wait();
                work(session, generator, commits)
            })
        })
        .collect();
    let mut spans = Vec::new();
    for thread in threads {
        spans.push(thread.join().map_err(|_| "a job panicked")??);
    }
    let start = spans.iter().map(|span| span.0).min();
    let end = spans.iter().map(|span| span.1).max();
    let span = start.zip(end).ok_or("there is at least one job")?;
    Ok(per_commit(span.1 - span.0))
}

#[inline(never)]
fn work(
    mut session: Session,
    mut generator: Generator,
    commits: u32,
) -> Result<(Instant, Instant), redo::Error> {
    let start = Instant::now();
    for _ in 0..commits {
        generator.next_transaction();
        let (stamp, body) = generator.record(0, RECORD_BYTES);
        session.append(&[&stamp, body])?;
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
    }
    Ok((start, Instant::now()))
}

fn options(fused: bool) -> Options {
    Options {
        fused,
        ..Options::default()
    }
}

fn null_log(fused: bool) -> Result<Log, AnyError> {
    let caps = NullDevice::PLAIN;
    let geometry = Shape::default().geometry(&caps, Path::new("null"))?;
    let bytes = redo::control::CONTROL_BYTES as usize;
    let control = device::sim_disk::SimDisk::new(bytes, 4096, false);
    control.set_immediate(true);
    let control: Arc<dyn LogDevice> = Arc::new(control);
    redo::control::ControlFile::format(
        Arc::clone(&control),
        geometry,
        redo::format::LogId([1; 16]),
    )?;
    let data = NullDevice::new(geometry.file_bytes * u64::from(geometry.groups), caps);
    Ok(Log::builder(redo::Layout::devices(Arc::new(data), control))
        .options(options(fused))
        .open()?
        .0)
}

fn file_log(directory: &Path, fused: bool) -> Result<Log, AnyError> {
    if directory.join("redo.ctl").exists() {
        std::fs::remove_dir_all(directory)?;
    }
    std::fs::create_dir_all(directory)?;
    Log::builder(directory).create()?;
    Ok(Log::builder(directory).options(options(fused)).open()?.0)
}
