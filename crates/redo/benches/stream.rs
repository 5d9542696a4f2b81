//! Redo without waits: appends on the null device against copying memory, and a stream of large
//! transactions onto files against fio, interleaved. See experiments/stream.
//!
//! `cargo bench -p redolab-redo --bench stream -- [DIRECTORY] [ROUNDS] [SECONDS]`
//! The other writer is fio (1 MiB, depth 8, O_DIRECT, huge pages where some are reserved; a final
//! flush counted); without it the stream is timed alone.

mod common;

use common::stream::{MB, Stream, run};
use common::{AnyError, fio};
use device::{IoEngine, LogDevice, NullDevice, SimDisk};
use measure::workload::pool;
use redo::writer::Policy;
use redo::{Log, LogWriter, Options, Shape};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(512 << 20);

/// Bytes that stay in a processor's own cache, so that the log's work is seen and not the
/// memory's: the source, and the log buffer (the smallest there is).
const CACHED_POOL: usize = 64 << 10;
const CACHED_RING: usize = 1 << 20;

/// Ways of writing a stream: name, log writer, engine, batches in flight (for lgwr on rings).
const STREAMS: [(&str, LogWriter, IoEngine, u32); 8] = [
    ("auto", LogWriter::Auto, IoEngine::Auto, 1),
    ("inline", LogWriter::Inline, IoEngine::Threads, 1),
    ("lgwr", LogWriter::Lgwr, IoEngine::Threads, 1),
    ("workers=2", LogWriter::Workers(2), IoEngine::Threads, 1),
    ("workers=4", LogWriter::Workers(4), IoEngine::Threads, 1),
    ("lgwr rings", LogWriter::Lgwr, IoEngine::IoUring, 1),
    ("lgwr rings depth 2", LogWriter::Lgwr, IoEngine::IoUring, 2),
    ("lgwr rings depth 4", LogWriter::Lgwr, IoEngine::IoUring, 4),
];

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let directory = common::folder(args.next(), "stream-bench")?;
    let rounds: usize = args.next().map_or(Ok(7), |r| r.parse())?;
    let time = Duration::from_secs_f64(args.next().map_or(Ok(2.0), |s| s.parse())?);
    std::fs::create_dir_all(&directory)?;
    let mut cases: Vec<(String, Vec<f64>)> = Vec::new();
    println!("round,case,mb_per_s");
    for round in 0..rounds {
        let mut record = |name: &str, rate: f64| {
            println!("{round},{name},{rate:.0}");
            match cases.iter_mut().find(|c| c.0 == name) {
                Some(case) => case.1.push(rate),
                None => cases.push((name.to_owned(), vec![rate])),
            }
        };
        for bytes in [2000, 120] {
            record(&format!("memcpy {bytes}"), memcpy(bytes, time));
            for threads in [1, 2] {
                let stream = Stream {
                    record_bytes: bytes,
                    records: 64,
                    threads,
                    pool_bytes: CACHED_POOL,
                };
                record(&format!("append {bytes} x{threads}"), null(stream, time)?);
            }
        }
        let fio = fio(&directory, SHAPE, time)?;
        if let Some(rate) = fio {
            record("fio", rate);
        }
        // LGWR-THR: about 488 kB a transaction.
        let stream = Stream {
            record_bytes: 8000,
            records: 61,
            threads: 2,
            pool_bytes: 1 << 20,
        };
        for (name, writer, io, depth) in STREAMS {
            let rate = files(&directory, stream, (writer, io, depth), time)?;
            record(&format!("stream {name}"), rate);
        }
    }
    summary(&cases);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Each case over its yardstick, paired by round.
fn summary(cases: &[(String, Vec<f64>)]) {
    for (name, rates) in cases {
        let yardstick = match name.split_once(' ') {
            Some(("append", rest)) => format!("memcpy {}", rest.split(' ').next().unwrap_or(rest)),
            Some(("stream", _)) => "fio".to_owned(),
            _ => continue,
        };
        let Some((_, base)) = cases.iter().find(|c| c.0 == yardstick) else {
            continue;
        };
        let mut ratios: Vec<f64> = rates.iter().zip(base).map(|(a, b)| a / b).collect();
        ratios.sort_by(f64::total_cmp);
        let last = ratios.len() - 1;
        println!(
            "# {name} over {yardstick}: {:.3} ({:.3} to {:.3})",
            ratios[last / 2],
            ratios[0],
            ratios[last]
        );
    }
}

/// Copies records of `bytes` from a pool into a ring, as the log buffer is filled.
fn memcpy(bytes: u32, time: Duration) -> f64 {
    let bytes = bytes as usize;
    let source = pool(1, CACHED_POOL);
    let mut ring = vec![0_u8; CACHED_RING];
    let (mut at, mut from, mut copied) = (0, 0, 0_u64);
    let start = Instant::now();
    while start.elapsed() < time {
        for _ in 0..1024 {
            ring[at..at + bytes].copy_from_slice(&source[from..from + bytes]);
            black_box(&mut ring[at]);
            at = if at + 2 * bytes > ring.len() {
                0
            } else {
                at + bytes
            };
            from = if from + 2 * bytes > source.len() {
                0
            } else {
                from + bytes
            };
        }
        copied += 1024 * bytes as u64;
    }
    copied as f64 / MB / start.elapsed().as_secs_f64()
}

fn null(stream: Stream, time: Duration) -> Result<f64, AnyError> {
    let caps = NullDevice::PLAIN;
    let geometry = SHAPE.geometry(&caps, Path::new("null"))?;
    let control = SimDisk::new(redo::control::CONTROL_BYTES as usize, 4096, false);
    control.set_immediate(true);
    let control: Arc<dyn LogDevice> = Arc::new(control);
    let id = redo::format::LogId(*b"stream-benchmark");
    redo::control::ControlFile::format(Arc::clone(&control), geometry, id)?;
    let bytes = geometry.file_bytes * u64::from(geometry.groups);
    let data = Arc::new(NullDevice::new(bytes, caps));
    let options = Options::default().buffer_bytes(CACHED_RING);
    let (log, _) = Log::builder(redo::Layout::devices(data, control))
        .options(options)
        .open()?;
    run(log, stream, time)
}

fn files(
    directory: &Path,
    stream: Stream,
    (log_writer, io, depth): (LogWriter, IoEngine, u32),
    time: Duration,
) -> Result<f64, AnyError> {
    std::fs::remove_dir_all(directory)?;
    std::fs::create_dir_all(directory)?;
    Log::builder(directory).shape(SHAPE).create()?;
    let options = Options::default()
        .log_writer(log_writer)
        .io(io)
        .policy(Policy::default().depth(depth))
        .buffer_bytes(64 << 20)
        .huge_pages(true);
    let (log, _) = Log::builder(directory).options(options).open()?;
    run(log, stream, time)
}
