//! Each mechanism of the log against its absence, interleaved in one process: who writes,
//! gathering, how foregrounds learn, workers, block sizes, pre-writing, commit modes. See
//! experiments/mechanisms.
//!
//! `cargo bench -p redolab-redo --bench mechanisms -- [DIRECTORY] [ROUNDS] [SECONDS] [GROUP,…]`
//!
//! In a group the first case is what the others are compared with, within each round.

mod common;

use common::{AnyError, cpu_us, ratios};
use device::file::create_fallocated;
use measure::Histogram;
use measure::workload::{Generator, pool};
use redo::CommitWait;
use redo::engine::{LogWrite, Paths};
use redo::writer::Policy;
use redo::{CommitMode, Log, LogFileSync, LogWriter, Options, Shape};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape::new().groups(3).file_bytes(256 << 20);

/// One way of running the log.
#[derive(Clone, Copy)]
struct Case {
    group: &'static str,
    name: &'static str,
    jobs: u32,
    writer: LogWriter,
    learn: LogFileSync,
    gather: bool,
    prewritten: bool,
    block_bytes: Option<u32>,
    record_bytes: u32,
    commit: CommitMode,
    /// A flush that nobody waits for is deferred by so many bytes.
    defer_bytes: u64,
    /// Beside the jobs, a thread streams redo that it does not wait for.
    stream: bool,
}

const CASE: Case = Case {
    group: "",
    name: "",
    jobs: 8,
    writer: LogWriter::Inline,
    learn: LogFileSync::PostWait,
    gather: true,
    prewritten: true,
    block_bytes: None,
    record_bytes: 2000,
    commit: CommitMode::WAIT_IMMEDIATE,
    defer_bytes: 32 << 20,
    stream: false,
};

/// Every case, groups together, the yardstick of each first.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |group, name, change: &dyn Fn(&mut Case)| {
        let mut case = Case {
            group,
            name,
            ..CASE
        };
        change(&mut case);
        cases.push(case);
    };
    for (group, jobs) in [
        ("writer-1", 1),
        ("writer-8", 8),
        ("writer-64", 64),
        ("writer-256", 256),
    ] {
        add(group, "inline", &|c| c.jobs = jobs);
        for (name, writer) in [
            ("lgwr", LogWriter::Lgwr),
            ("workers=1", LogWriter::Workers(1)),
            ("workers=2", LogWriter::Workers(2)),
            ("workers=3", LogWriter::Workers(3)),
            ("workers=4", LogWriter::Workers(4)),
            ("adaptive", LogWriter::Adaptive),
        ] {
            add(group, name, &|c| (c.jobs, c.writer) = (jobs, writer));
        }
    }
    for (group, jobs) in [("gather-1", 1), ("gather-8", 8), ("gather-64", 64)] {
        add(group, "gather", &|c| c.jobs = jobs);
        add(group, "no gather", &|c| (c.jobs, c.gather) = (jobs, false));
    }
    for (group, jobs) in [
        ("learn-1", 1),
        ("learn-8", 8),
        ("learn-64", 64),
        ("learn-256", 256),
    ] {
        for (name, learn) in [
            ("post/wait", LogFileSync::PostWait),
            ("polling", LogFileSync::Polling),
            ("adaptive", LogFileSync::Adaptive),
        ] {
            add(group, name, &|c| {
                (c.jobs, c.learn, c.writer) = (jobs, learn, LogWriter::Lgwr);
            });
        }
    }
    for (group, jobs) in [("files-1", 1), ("files-8", 8)] {
        add(group, "pre-written", &|c| c.jobs = jobs);
        add(group, "allocated", &|c| {
            (c.jobs, c.prewritten) = (jobs, false)
        });
    }
    for (group, jobs) in [("blocks-1", 1), ("blocks-64", 64)] {
        add(group, "4096", &|c| {
            (c.jobs, c.block_bytes) = (jobs, Some(4096))
        });
        add(group, "512", &|c| {
            (c.jobs, c.block_bytes) = (jobs, Some(512))
        });
    }
    // What commits that wait pay for the deferred flush of redo that nobody waits for.
    for (group, jobs) in [("defer-1", 1), ("defer-8", 8)] {
        for (name, defer_bytes) in [("at once", 0), ("16 MiB", 16 << 20), ("32 MiB", 32 << 20)] {
            add(group, name, &|c| {
                (c.jobs, c.stream, c.defer_bytes) = (jobs, true, defer_bytes);
            });
        }
    }
    // S0, item 7: the modes separate scheduling from I/O. Larger records, as its OLTP had.
    for (name, commit) in [
        ("wait immediate", CommitMode::WAIT_IMMEDIATE),
        ("wait batch", CommitMode::WAIT_BATCH),
        ("nowait immediate", CommitMode::NOWAIT_IMMEDIATE),
        ("nowait batch", CommitMode::NOWAIT_BATCH),
    ] {
        add("commit-write", name, &|c| {
            (c.jobs, c.commit, c.record_bytes) = (64, commit, 6000);
        });
    }
    cases
}

/// What one turn gave.
#[derive(Clone, Copy, Default)]
struct Turn {
    per_s: f64,
    mb_per_s: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    max_us: f64,
    cpu_us: f64,
    commits_per_write: f64,
    flushes_per_commit: f64,
    /// Of the log as it was made: a block is never smaller than the device's sector.
    block_bytes: u32,
    /// Bytes written to the files for each byte of redo, record headers included.
    amplification: f64,
}

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let directory = common::folder(args.next(), "mechanisms-bench")?;
    let rounds: usize = args.next().map_or(Ok(5), |r| r.parse())?;
    let time = Duration::from_secs_f64(args.next().map_or(Ok(1.0), |s| s.parse())?);
    let wanted: Option<Vec<String>> = args
        .next()
        .map(|g| g.split(',').map(str::to_owned).collect());
    let mut cases = cases();
    cases.retain(|c| {
        let named = |w: &String| c.group == w || c.group.split('-').next() == Some(w);
        wanted.as_ref().is_none_or(|all| all.iter().any(named))
    });
    let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); cases.len()];
    println!(
        "round,group,case,jobs,block_bytes,per_s,mb_per_s,p50_us,p99_us,p999_us,max_us,\
         cpu_us_per_commit,commits_per_write,flushes_per_commit,bytes_per_redo_byte"
    );
    for round in 0..rounds {
        for (case, turns) in cases.iter().zip(&mut turns) {
            let t = turn(&directory, case, time)?;
            println!(
                "{round},{},{},{},{},{:.0},{:.0},{:.1},{:.1},{:.1},{:.1},{:.2},{:.1},{:.3},{:.4}",
                case.group,
                case.name,
                case.jobs,
                t.block_bytes,
                t.per_s,
                t.mb_per_s,
                t.p50_us,
                t.p99_us,
                t.p999_us,
                t.max_us,
                t.cpu_us,
                t.commits_per_write,
                t.flushes_per_commit,
                t.amplification
            );
            turns.push(t);
        }
    }
    summary(&cases, &turns);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Each case over the first of its group, paired by round.
fn summary(cases: &[Case], turns: &[Vec<Turn>]) {
    println!("# case over the first of its group: rate, p50, p99.9, CPU a commit (least to most)");
    for (case, own) in cases.iter().zip(turns) {
        let first = cases.iter().position(|c| c.group == case.group);
        let Some(base) = first.map(|at| &turns[at]) else {
            continue;
        };
        let ratio = |of: &dyn Fn(&Turn) -> f64| ratios(own, base, of);
        println!(
            "# {} {}: {}, {}, {}, {}",
            case.group,
            case.name,
            ratio(&|t| t.per_s),
            ratio(&|t| t.p50_us),
            ratio(&|t| t.p999_us),
            ratio(&|t| t.cpu_us)
        );
    }
}

/// What the observer counts.
#[derive(Default)]
struct Counted {
    writes: AtomicU64,
    flushes: AtomicU64,
    blocks: AtomicU64,
    redo: AtomicU64,
}

fn prepare(directory: &Path, case: &Case) -> Result<(), AnyError> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)?;
    }
    std::fs::create_dir_all(directory)?;
    let shape = SHAPE.block_bytes(case.block_bytes);
    Log::builder(directory).shape(shape).create()?;
    if case.prewritten {
        return Ok(());
    }
    // The same files with nothing but their headers written.
    for path in Paths::new(directory).logs(shape.groups) {
        let mut header = vec![0; 4096];
        File::open(&path)?.read_exact(&mut header)?;
        std::fs::remove_file(&path)?;
        create_fallocated(&path, shape.file_bytes)?;
        let mut file = File::options().write(true).open(&path)?;
        file.write_all(&header)?;
        file.sync_all()?;
    }
    Ok(())
}

fn options(case: &Case, seen: Arc<Counted>) -> Options {
    Options::default()
        .log_writer(case.writer)
        .log_file_sync(case.learn)
        .policy(
            Policy::default()
                .gather(case.gather)
                .defer_bytes(case.defer_bytes),
        )
        .observer(move |write: &LogWrite| {
            let add = |to: &AtomicU64, n: u64| to.fetch_add(n, Ordering::Relaxed);
            add(&seen.writes, 1);
            add(&seen.flushes, write.flushes.into());
            add(&seen.blocks, write.blocks.into());
            add(&seen.redo, write.redo_bytes.into());
        })
}

fn turn(directory: &Path, case: &Case, time: Duration) -> Result<Turn, AnyError> {
    prepare(directory, case)?;
    let counted = Arc::new(Counted::default());
    let options = options(case, Arc::clone(&counted));
    let log = Arc::new(Log::builder(directory).options(options).open()?.0);
    let stop = Arc::new(AtomicBool::new(false));
    let barrier = Arc::new(Barrier::new(case.jobs as usize + 1));
    let threads: Vec<_> = (0..case.jobs)
        .map(|job| {
            let (stop, barrier) = (Arc::clone(&stop), Arc::clone(&barrier));
            let (log, case) = (Arc::clone(&log), *case);
            std::thread::spawn(move || foreground(&log, &case, job, &stop, &barrier))
        })
        .collect();
    let stream = case.stream.then(|| {
        let (log, stop) = (Arc::clone(&log), Arc::clone(&stop));
        std::thread::spawn(move || stream(&log, &stop))
    });
    let cpu = cpu_us();
    barrier.wait();
    let start = Instant::now();
    let mut last = log.durable().log_seq;
    while start.elapsed() < time {
        std::thread::sleep(Duration::from_millis(2));
        follow(&log, &mut last)?;
    }
    stop.store(true, Ordering::Relaxed);
    let streams = || stream.as_ref().is_some_and(|s| !s.is_finished());
    while streams() || threads.iter().any(|t| !t.is_finished()) {
        follow(&log, &mut last)?;
        std::thread::sleep(Duration::from_millis(1));
    }
    if let Some(stream) = stream {
        stream.join().map_err(|_| "the stream panicked")??;
    }
    let mut times = Histogram::new();
    for thread in threads {
        times.merge(&thread.join().map_err(|_| "a job panicked")??);
    }
    log.flush()?;
    let seconds = start.elapsed().as_secs_f64();
    let commits = times.count() as f64;
    let of = |n: &AtomicU64| n.load(Ordering::Relaxed) as f64;
    let us = |q: f64| times.quantile_raw(q) as f64 / 1e3;
    Ok(Turn {
        per_s: commits / seconds,
        mb_per_s: of(&counted.redo) / 1048576.0 / seconds,
        p50_us: us(0.5),
        p99_us: us(0.99),
        p999_us: us(0.999),
        max_us: times.max() as f64 / 1e3,
        cpu_us: (cpu_us() - cpu) / commits,
        commits_per_write: commits / of(&counted.writes),
        flushes_per_commit: of(&counted.flushes) / commits,
        block_bytes: log.geometry().block_bytes,
        amplification: of(&counted.blocks) * f64::from(log.geometry().block_bytes)
            / of(&counted.redo),
    })
}

/// Moves the checkpoint behind each log switch.
fn follow(log: &Log, last: &mut u64) -> Result<(), redo::Error> {
    let durable = log.durable();
    if durable.log_seq > *last {
        *last = durable.log_seq;
        log.checkpoint(durable)?;
    }
    Ok(())
}

/// Transactions of 488 kB that are not waited for.
fn stream(log: &Log, stop: &AtomicBool) -> Result<(), redo::Error> {
    let (mut session, bytes) = (log.session(), pool(2, 1 << 20));
    while !stop.load(Ordering::Relaxed) {
        for record in bytes.chunks_exact(8000).take(61) {
            session.append(&[record])?;
        }
        session.commit(CommitMode::NOWAIT_BATCH)?;
    }
    Ok(())
}

fn foreground(
    log: &Log,
    case: &Case,
    job: u32,
    stop: &AtomicBool,
    barrier: &Barrier,
) -> Result<Histogram, redo::Error> {
    let mut session = log.session();
    let mut generator = Generator::new(pool(1, 1 << 20), job, 1);
    let mut times = Histogram::new();
    let clock = Instant::now();
    barrier.wait();
    let mut before = clock.elapsed();
    while !stop.load(Ordering::Relaxed) {
        generator.next_transaction();
        let (stamp, body) = generator.record(0, case.record_bytes);
        session.append(&[&stamp, body])?;
        session.commit(case.commit)?;
        let now = clock.elapsed();
        times.record((now - before).as_nanos() as u64);
        before = now;
    }
    if case.commit.wait == CommitWait::Nowait {
        // What was only asked for counts when it is durable.
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
    }
    Ok(times)
}
