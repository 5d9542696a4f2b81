//! Recovery against a sequential read of the same files, interleaved: megabytes of redo that it
//! recovers a second, from opening the log to its being open. Bytes behind the end, where it looks
//! for proof of damage, count as time and not as redo. See experiments/recovery.
//!
//! `cargo bench -p redolab-redo --bench recovery -- [DIRECTORY] [ROUNDS] [MEGABYTES]`
//! The other reader is fio (1 MiB, depth 8, O_DIRECT); without it only recovery is timed.

mod common;

use measure::workload::{Generator, pool};
use redo::engine::Paths;
use redo::{CommitMode, Log, Shape};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

type AnyError = Box<dyn std::error::Error>;

const RECORD_BYTES: u32 = 2000;
const GROUPS: u32 = 4;

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let directory = common::folder(args.next(), "recovery-bench")?;
    let rounds: usize = args.next().map_or(Ok(7), |r| r.parse())?;
    let megabytes: u64 = args.next().map_or(Ok(1024), |m| m.parse())?;
    std::fs::create_dir_all(&directory)?;
    let shape = Shape::new()
        .groups(GROUPS)
        // One log is never filled: what is read is the redo and not the rest of the log.
        .file_bytes((megabytes << 20) / u64::from(GROUPS - 1) / 4096 * 4096);
    Log::builder(&directory).shape(shape).create()?;
    let bytes = write(&directory, megabytes << 20)?;
    let mut ratios = Vec::new();
    println!("round,redo_mb,log_mb,seconds,redo_mb_per_s,fio_mb_per_s,ratio");
    for round in 0..rounds {
        let fio = fio(&directory)?;
        let start = Instant::now();
        let (log, recovery) = Log::builder(&directory).open()?;
        let seconds = start.elapsed().as_secs_f64();
        let found = recovery.scan().bytes + 8 * recovery.scan().records;
        assert!(found >= bytes, "recovered {found} of {bytes} bytes");
        drop((log, recovery));
        let mb = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let redo = mb(found);
        let rate = redo / seconds;
        let (fio_text, ratio) = fio.map_or((String::new(), String::new()), |fio| {
            ratios.push(rate / fio);
            (format!("{fio:.0}"), format!("{:.3}", rate / fio))
        });
        let log = mb(shape.file_bytes * u64::from(GROUPS));
        println!("{round},{redo:.0},{log:.0},{seconds:.3},{rate:.0},{fio_text},{ratio}");
    }
    ratios.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (ratios.first(), ratios.last()) {
        let median = ratios[(ratios.len() - 1) / 2];
        println!("# redo recovered over sequential read: {median:.3} ({least:.3} to {most:.3})");
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Fills the log with `bytes` of redo and leaves it as a crash would.
fn write(directory: &Path, bytes: u64) -> Result<u64, AnyError> {
    let (log, _) = Log::builder(directory).open()?;
    let mut session = log.session();
    let mut generator = Generator::new(pool(3, 1 << 20), 0, 3);
    let mut written = 0;
    // Headers of blocks and padding take room too.
    while written < bytes - bytes / 16 {
        for _ in 0..256 {
            generator.next_transaction();
            let (stamp, body) = generator.record(0, RECORD_BYTES);
            session.append(&[&stamp, body])?;
            written += 8 + u64::from(RECORD_BYTES);
        }
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
    }
    log.flush()?;
    Ok(written)
}

/// Megabytes a second of a sequential read of the log files, where fio is installed.
fn fio(directory: &Path) -> Result<Option<f64>, AnyError> {
    let files = Paths::new(directory).logs(GROUPS);
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    let mut command = Command::new("fio");
    command.args(["--name=read", "--rw=read", "--bs=1M", "--iodepth=8"]);
    command.args(["--ioengine=libaio", "--direct=1", "--readonly"]);
    command.args(["--file_service_type=sequential", "--output-format=terse"]);
    command.args([
        "--terse-version=3",
        &format!("--filename={}", names.join(":")),
    ]);
    let output = match command.output() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let text = String::from_utf8_lossy(&output.stdout);
    // Terse format 3: the seventh field is the bandwidth of reads in KiB/s.
    let field = text.lines().find_map(|line| line.split(';').nth(6));
    let kib: f64 = field.ok_or("fio printed no result")?.parse()?;
    Ok(Some(kib / 1024.0))
}
