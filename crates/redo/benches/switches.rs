//! Commits beside log switches: the tail within 100 ms after a switch against the tail elsewhere,
//! in one run. See experiments/log-switches.
//!
//! `cargo bench -p redolab-redo --bench switches -- [DIRECTORY] [ROUNDS] [SECONDS] [JOBS] [MB]`
//! (MB a log file: small enough that a round sees ten switches, large enough that most of the time
//! lies outside their 100 ms)

mod common;

use measure::workload::{Generator, pool};
use measure::{Clock, Histogram};
use redo::engine::LogWrite;
use redo::{CommitMode, Log, Options, Shape};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

type AnyError = Box<dyn std::error::Error>;

/// After a switch.
const NEAR_NS: u64 = 100_000_000;

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let directory = common::folder(args.next(), "switch-bench")?;
    let rounds: usize = args.next().map_or(Ok(5), |r| r.parse())?;
    let time = Duration::from_secs_f64(args.next().map_or(Ok(20.0), |s| s.parse())?);
    let jobs: u32 = args.next().map_or(Ok(8), |j| j.parse())?;
    let megabytes: u64 = args.next().map_or(Ok(128), |m| m.parse())?;
    let mut ratios = Vec::new();
    println!("round,switches,near,p999_near_us,max_near_us,elsewhere,p999_us,max_us,ratio");
    for round in 0..rounds {
        let (switches, near, far) = round_of(&directory, time, jobs, megabytes)?;
        let ratio = near.quantile_raw(0.999) as f64 / far.quantile_raw(0.999).max(1) as f64;
        ratios.push(ratio);
        println!(
            "{round},{switches},{},{:.1},{:.1},{},{:.1},{:.1},{ratio:.3}",
            near.count(),
            near.quantile_raw(0.999) as f64 / 1e3,
            near.max() as f64 / 1e3,
            far.count(),
            far.quantile_raw(0.999) as f64 / 1e3,
            far.max() as f64 / 1e3,
        );
    }
    ratios.sort_by(f64::total_cmp);
    let last = ratios.len() - 1;
    println!(
        "# p99.9 near a switch over p99.9 elsewhere: {:.3} ({:.3} to {:.3})",
        ratios[last / 2],
        ratios[0],
        ratios[last]
    );
    Ok(())
}

/// When a commit was asked for, and how long it took; nanoseconds.
type Sample = (u64, u32);

/// Switches, and the times of commits near one and elsewhere.
fn round_of(
    directory: &Path,
    time: Duration,
    jobs: u32,
    megabytes: u64,
) -> Result<(usize, Histogram, Histogram), AnyError> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)?;
    }
    std::fs::create_dir_all(directory)?;
    let shape = Shape::new().groups(3).file_bytes(megabytes << 20);
    Log::builder(directory).shape(shape).create()?;
    let switches = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&switches);
    let options = Options::default().observer(move |write: &LogWrite| {
        if write.switched {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push(write.stations.submitted_ns);
        }
    });
    let log = Arc::new(Log::builder(directory).options(options).open()?.0);
    let stop = Arc::new(AtomicBool::new(false));
    let bytes = pool(4, 1 << 20);
    let threads: Vec<_> = (0..jobs)
        .map(|job| {
            let stop = Arc::clone(&stop);
            let (mut session, clock) = (log.session(), log.clock());
            let mut generator = Generator::new(bytes.clone(), job, 4);
            std::thread::spawn(move || -> Result<Vec<Sample>, redo::Error> {
                let mut samples = Vec::with_capacity(1 << 20);
                while !stop.load(Ordering::Relaxed) {
                    generator.next_transaction();
                    let (stamp, body) = generator.record(0, 2000);
                    let start = clock.now();
                    session.append(&[&stamp, body])?;
                    let commit = session.commit(CommitMode::WAIT_IMMEDIATE)?;
                    let took = commit.returned.since(start).0;
                    samples.push((start.0, u32::try_from(took).unwrap_or(u32::MAX)));
                }
                Ok(samples)
            })
        })
        .collect();
    let start = Instant::now();
    let mut last = log.durable().log_seq;
    while start.elapsed() < time {
        std::thread::sleep(Duration::from_millis(2));
        let durable = log.durable();
        if durable.log_seq > last {
            last = durable.log_seq;
            log.checkpoint(durable)?;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let (mut near, mut far) = (Histogram::new(), Histogram::new());
    let mut samples = Vec::new();
    for thread in threads {
        samples.append(&mut thread.join().map_err(|_| "a job panicked")??);
    }
    drop(log);
    std::fs::remove_dir_all(directory)?;
    let switches = switches.lock().unwrap_or_else(PoisonError::into_inner);
    for (asked, took) in samples {
        // The first switch at or after the commit was asked for may be its own.
        let end = asked + u64::from(took);
        let before = switches.partition_point(|s| *s <= end);
        let close = before > 0 && end - switches[before - 1] < NEAR_NS;
        if close { &mut near } else { &mut far }.record(took.into());
    }
    Ok((switches.len(), near, far))
}
