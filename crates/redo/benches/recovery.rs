//! Recovery against a sequential read of the same files, interleaved: megabytes of redo that it
//! recovers per second, from opening the log to its being open. Bytes behind the end, where it
//! looks for proof of damage, count as time and not as redo. And how long opening takes for a
//! little redo in logs of several sizes. Each is measured with the bounded search for damage, which
//! is the default, and with the search of the whole log. Who reads first alternates, and each
//! reader begins after a pause. See experiments/recovery.
//!
//! `cargo bench -p redolab-redo --bench recovery -- [DIRECTORY] [ROUNDS] [MEGABYTES]`
//! `cargo bench -p redolab-redo --bench recovery -- opening [DIRECTORY] [ROUNDS] [MEGABYTES…]`
//! The other reader is fio (1 MiB, depth 8, O_DIRECT, huge pages where some are reserved); without
//! it only recovery is timed.

mod common;

use common::AnyError;
use measure::workload::{Generator, pool};
use redo::engine::Paths;
use redo::{CommitMode, DamageScan, Log, Options, Shape};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const RECORD_BYTES: u32 = 2000;
const GROUPS: u32 = 4;
/// Before each reader of much: a disk that grants bursts grants both the same.
const PAUSE: Duration = Duration::from_secs(1);
/// Before each opening of a log with little redo.
const SHORT_PAUSE: Duration = Duration::from_millis(200);
/// Redo in the logs whose opening is timed.
const LITTLE_BYTES: u64 = 10 << 20;

/// The searches that are compared.
fn searches() -> [(&'static str, DamageScan); 2] {
    [
        ("bounded", DamageScan::default()),
        ("whole", DamageScan::Whole),
    ]
}

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .peekable();
    if args.next_if(|a| a == "opening").is_some() {
        let directory = common::folder(args.next(), "recovery-bench")?;
        let rounds = args.next().map_or(Ok(7), |r| r.parse())?;
        let mut sizes: Vec<u64> = args.map(|m| m.parse()).collect::<Result<_, _>>()?;
        if sizes.is_empty() {
            sizes = vec![256, 512, 1024, 2048, 4096];
        }
        return openings(&directory, rounds, &sizes);
    }
    let directory = common::folder(args.next(), "recovery-bench")?;
    let rounds: usize = args.next().map_or(Ok(7), |r| r.parse())?;
    let megabytes: u64 = args.next().map_or(Ok(1024), |m| m.parse())?;
    // One log is never filled: what is read is the redo and not the rest of the log.
    let log = Made::new(
        &directory,
        (megabytes << 20) / u64::from(GROUPS - 1),
        megabytes << 20,
    )?;
    let mut ratios = Vec::new();
    println!("case,round,redo_mb,log_mb,read_mb,seconds,redo_mb_per_s,fio_mb_per_s,ratio");
    for round in 0..rounds {
        for (case, damage_scan) in searches() {
            let (opened, fio) = if round % 2 == 0 {
                let fio = fio(&directory)?;
                std::thread::sleep(PAUSE);
                (log.open(&directory, damage_scan)?, fio)
            } else {
                std::thread::sleep(PAUSE);
                let opened = log.open(&directory, damage_scan)?;
                (opened, fio(&directory)?)
            };
            let rate = opened.redo_mb / opened.seconds;
            let (fio_text, ratio) = fio.map_or((String::new(), String::new()), |fio| {
                if damage_scan != DamageScan::Whole {
                    ratios.push(rate / fio);
                }
                (format!("{fio:.0}"), format!("{:.3}", rate / fio))
            });
            println!(
                "{case},{round},{:.0},{:.0},{:.0},{:.3},{rate:.0},{fio_text},{ratio}",
                opened.redo_mb, log.log_mb, opened.read_mb, opened.seconds
            );
        }
    }
    ratios.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (ratios.first(), ratios.last()) {
        let median = ratios[(ratios.len() - 1) / 2];
        println!("# redo recovered over sequential read: {median:.3} ({least:.3} to {most:.3})");
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// How long it takes to open logs of `sizes` megabytes with a little redo.
fn openings(directory: &Path, rounds: usize, sizes: &[u64]) -> Result<(), AnyError> {
    println!("case,round,log_mb,redo_mb,read_mb,ms");
    for megabytes in sizes {
        let file_bytes = (megabytes << 20) / u64::from(GROUPS);
        let log = Made::new(directory, file_bytes, LITTLE_BYTES)?;
        for round in 0..rounds {
            for (case, damage_scan) in searches() {
                std::thread::sleep(SHORT_PAUSE);
                let opened = log.open(directory, damage_scan)?;
                println!(
                    "{case},{round},{megabytes},{:.1},{:.1},{:.2}",
                    opened.redo_mb,
                    opened.read_mb,
                    opened.seconds * 1e3
                );
            }
        }
        std::fs::remove_dir_all(directory)?;
    }
    Ok(())
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// A log as a crash leaves it.
struct Made {
    /// Bytes of records in it, at least.
    bytes: u64,
    log_mb: f64,
}

/// An opening.
struct Opened {
    seconds: f64,
    redo_mb: f64,
    /// What the device was asked for.
    read_mb: f64,
}

impl Made {
    fn new(directory: &Path, file_bytes: u64, redo_bytes: u64) -> Result<Made, AnyError> {
        std::fs::create_dir_all(directory)?;
        let file_bytes = file_bytes / 4096 * 4096;
        let shape = Shape::new().groups(GROUPS).file_bytes(file_bytes);
        Log::builder(directory).shape(shape).create()?;
        Ok(Made {
            bytes: write(directory, redo_bytes)?,
            log_mb: mb(file_bytes * u64::from(GROUPS)),
        })
    }

    fn open(&self, directory: &Path, damage_scan: DamageScan) -> Result<Opened, AnyError> {
        let options = Options::default().damage_scan(damage_scan);
        let (before, start) = (read_bytes(), Instant::now());
        let (log, recovery) = Log::builder(directory).options(options).open()?;
        let seconds = start.elapsed().as_secs_f64();
        let read_mb = mb(read_bytes() - before);
        let found = recovery.scan().bytes + 8 * recovery.scan().records;
        let bytes = self.bytes;
        assert!(found >= bytes, "recovered {found} of {bytes} bytes");
        drop((log, recovery));
        Ok(Opened {
            seconds,
            redo_mb: mb(found),
            read_mb,
        })
    }
}

/// Bytes that this process has had read from devices so far (proc_pid_io(5)).
fn read_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("read_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
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

/// Megabytes per second of a sequential read of the log files, where fio is installed.
fn fio(directory: &Path) -> Result<Option<f64>, AnyError> {
    let files = Paths::new(directory).logs(GROUPS);
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    std::thread::sleep(PAUSE);
    let mut command = Command::new("fio");
    command.args(["--name=read", "--rw=read", "--bs=1M", "--iodepth=8"]);
    command.args(["--ioengine=libaio", "--direct=1", "--readonly"]);
    command.args(["--file_service_type=sequential", "--output-format=terse"]);
    let reserved = std::fs::read_to_string("/proc/sys/vm/nr_hugepages")?;
    let huge = reserved.trim().parse::<u64>().is_ok_and(|n| n >= 16);
    command.arg(if huge {
        "--iomem=shmhuge"
    } else {
        "--iomem=malloc"
    });
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
