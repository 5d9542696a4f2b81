//! How far log file sync is from what it cannot do without: the durable write of as many bytes as
//! a log write has (goal G4 of the engine), and with many threads also the time that they take
//! from each other without any device. Rounds are interleaved in one process.
//!
//! `cargo bench -p redolab-redo --bench sync_time -- [DIRECTORY] [ROUNDS] [SECONDS] [JOBS]`
//! (JOBS as 8,64,256)
//!
//! In each round and for each log writer: commits onto files, raw writes of the mean size that
//! these had, commits onto the null device. Up to 8 jobs the yardstick is the raw write, above it
//! the raw write and the null device's mean together. `bound_per_s` is what no log can exceed by
//! writing so many bytes at a time: the jobs over the time of the raw write, or the commits without
//! a device where these are fewer.

mod common;

use common::{AnyError, on_nothing, raw_writes, waited_for};
use device::{IoEngine, SyncMethod};
use redo::engine::LogWrite;
use redo::{Log, LogWriter, Options, Shape};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const RECORD_BYTES: u32 = 2000;
const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(256 << 20);
/// Jobs up to which the raw write alone is the yardstick.
const FEW: u32 = 8;

/// A mean time, the mean bytes of a log write, and commits per second.
struct Mean {
    us: f64,
    write_bytes: f64,
    per_s: f64,
}

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let directory = common::folder(args.next(), "sync-time-bench")?;
    let rounds: usize = args.next().map_or(Ok(5), |r| r.parse())?;
    let time = Duration::from_secs_f64(args.next().map_or(Ok(2.0), |s| s.parse())?);
    let jobs = args.next().unwrap_or_else(|| "8,64,256".to_owned());
    let jobs: Vec<u32> = jobs.split(',').map(str::parse).collect::<Result<_, _>>()?;
    std::fs::create_dir_all(&directory)?;
    let mut ratios: Vec<(String, Vec<f64>)> = Vec::new();
    println!(
        "round,case,jobs,log_file_sync_us,write_bytes,floor_us,null_us,ratio,per_s,bound_per_s"
    );
    for round in 0..rounds {
        for writer in [LogWriter::Auto, LogWriter::Inline, LogWriter::Lgwr] {
            for &jobs in &jobs {
                let file = on_files(&directory, writer, jobs, time)?;
                let len = (file.write_bytes / 4096.0).ceil() as u32 * 4096;
                let way = (SyncMethod::Direct, IoEngine::Threads);
                let floor = raw_writes(&directory, SHAPE, way, (len, false), time)?.0;
                let floor_us = floor.mean() / 1e3;
                let null = |options: Options| {
                    let log_writer = writer;
                    on_nothing(SHAPE, options.log_writer(log_writer))
                };
                let null = mean(jobs, time, null)?;
                let null_us = null.us;
                let bound = (f64::from(jobs) * 1e6 / floor_us).min(null.per_s);
                let others_us = if jobs <= FEW { 0.0 } else { null_us };
                let ratio = file.us / (floor_us + others_us);
                println!(
                    "{round},{writer},{jobs},{:.1},{:.0},{floor_us:.1},{null_us:.1},{ratio:.3},{:.0},{bound:.0}",
                    file.us, file.write_bytes, file.per_s
                );
                let name = format!("{writer} {jobs}");
                match ratios.iter_mut().find(|c| c.0 == name) {
                    Some(case) => case.1.push(ratio),
                    None => ratios.push((name, vec![ratio])),
                }
            }
        }
    }
    println!("# case: mean log file sync over its yardstick, median (least to most)");
    for (name, mut all) in ratios {
        all.sort_by(f64::total_cmp);
        let last = all.len() - 1;
        let (median, least, most) = (all[last / 2], all[0], all[last]);
        println!("# {name}: {median:.3} ({least:.3} to {most:.3})");
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// A fresh log in `directory`.
fn on_files(
    directory: &Path,
    log_writer: LogWriter,
    jobs: u32,
    time: Duration,
) -> Result<Mean, AnyError> {
    std::fs::remove_dir_all(directory)?;
    std::fs::create_dir_all(directory)?;
    Log::builder(directory).shape(SHAPE).create()?;
    mean(jobs, time, |options| {
        let options = options
            .log_writer(log_writer)
            .sync_method(SyncMethod::Direct)
            .io(IoEngine::Threads);
        Ok(Log::builder(directory).options(options).open()?.0)
    })
}

fn mean(
    jobs: u32,
    time: Duration,
    open: impl FnOnce(Options) -> Result<Log, AnyError>,
) -> Result<Mean, AnyError> {
    let (writes, blocks) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let seen = (Arc::clone(&writes), Arc::clone(&blocks));
    let log = Arc::new(open(Options::default().observer(
        move |write: &LogWrite| {
            seen.0.fetch_add(1, Ordering::Relaxed);
            seen.1.fetch_add(write.blocks.into(), Ordering::Relaxed);
        },
    ))?);
    let (times, took) = waited_for(&log, jobs, RECORD_BYTES, time)?;
    let block_bytes = f64::from(log.geometry().block_bytes);
    let writes = writes.load(Ordering::Relaxed).max(1) as f64;
    Ok(Mean {
        us: times.mean() / 1e3,
        per_s: times.count() as f64 / took.as_secs_f64(),
        write_bytes: blocks.load(Ordering::Relaxed) as f64 * block_bytes / writes,
    })
}
