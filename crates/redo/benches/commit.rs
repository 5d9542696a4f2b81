//! Durable commits of 2,000 bytes against the raw floor of the same files, interleaved in one
//! process: one, eight and 64 jobs, inline leader and dedicated log writer. See
//! experiments/commit-against-floor.
//!
//! `cargo bench -p redolab-redo --bench commit -- [DIRECTORY] [ROUNDS] [SECONDS] [JOBS] [WRITERS]`
//! (JOBS as 1,8,64; WRITERS as inline,lgwr,workers=2,workers=3,workers=4,adaptive; pin the process
//! to one processor to compare one job with the floor: the disk's interrupts go to one processor,
//! and being on it is worth more than what is compared)
//!
//! Anywhere among them: `--io threads,io_uring` and `--sync direct,direct-dsync` name the engines
//! and sync methods that commits and raw writes are made with (without them: threads, direct for
//! commits, every method for raw writes); `--huge-pages` puts the log buffer in huge pages.

use device::{FileSet, IoEngine, LogDevice, Op, OpKind, Piece, Region, SyncMethod};
use device::{UringFiles, UringOptions};
use measure::Histogram;
use measure::workload::{Generator, pool};
use redo::engine::Paths;
use redo::{CommitMode, Log, LogWriter, Options, Shape};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

type AnyError = Box<dyn std::error::Error>;

const RECORD_BYTES: u32 = 2000;
const SHAPE: Shape = Shape {
    block_bytes: None,
    groups: 3,
    file_bytes: 256 << 20,
};

/// What one turn gave.
struct Turn {
    per_s: f64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
}

/// How writes reach the device, in every combination.
struct Ways {
    engines: Vec<IoEngine>,
    /// Sync methods of raw writes, and of commits.
    raw: Vec<SyncMethod>,
    commits: Vec<SyncMethod>,
    huge_pages: bool,
}

impl Ways {
    /// Takes the named options out of `args`.
    fn take(args: &mut Vec<String>) -> Result<Ways, AnyError> {
        let mut value = |name: &str| -> Result<Option<String>, AnyError> {
            let Some(at) = args.iter().position(|a| a == name) else {
                return Ok(None);
            };
            args.remove(at);
            let missing = || format!("{name}: a value is missing");
            (at < args.len())
                .then(|| Some(args.remove(at)))
                .ok_or_else(|| missing().into())
        };
        let engines = value("--io")?.unwrap_or_else(|| "threads".to_owned());
        let methods = value("--sync")?;
        let parsed = |text: &str| -> Result<Vec<SyncMethod>, AnyError> {
            let each = text.split(',').map(str::parse);
            Ok(each.collect::<Result<_, _>>()?)
        };
        let huge_pages = args.iter().position(|a| a == "--huge-pages");
        huge_pages.map(|at| args.remove(at));
        Ok(Ways {
            engines: engines
                .split(',')
                .map(str::parse)
                .collect::<Result<_, _>>()?,
            raw: match &methods {
                Some(text) => parsed(text)?,
                None => SyncMethod::ALL.to_vec(),
            },
            commits: parsed(methods.as_deref().unwrap_or("direct"))?,
            huge_pages: huge_pages.is_some(),
        })
    }

    fn of(&self, methods: &[SyncMethod]) -> Vec<(SyncMethod, IoEngine)> {
        let with = |io: &IoEngine| methods.iter().map(|m| (*m, *io)).collect::<Vec<_>>();
        self.engines.iter().flat_map(with).collect()
    }
}

fn main() -> Result<(), AnyError> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    args.retain(|a| a != "--bench");
    let ways = Ways::take(&mut args)?;
    let mut args = args.into_iter();
    let fallback = || std::env::temp_dir().join("commit-bench");
    let directory = args.next().map_or_else(fallback, PathBuf::from);
    let rounds: usize = args.next().map_or(Ok(7), |r| r.parse())?;
    let time = Duration::from_secs_f64(args.next().map_or(Ok(2.0), |s| s.parse())?);
    let jobs = args.next().unwrap_or_else(|| "1,8,64".to_owned());
    let jobs: Vec<u32> = jobs.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let writers = args.next();
    let writers = writers.as_deref().unwrap_or("inline,lgwr");
    let writers: Vec<LogWriter> = writers
        .split(',')
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    if directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    std::fs::create_dir_all(&directory)?;
    Log::create(&directory, SHAPE, &|_, _| {}, &|| false)?;
    let mut cases: Vec<(String, Vec<Turn>)> = Vec::new();
    println!("round,case,per_s,p50_us,p99_us,p999_us,max_us");
    for round in 0..rounds {
        let mut record = |name: String, turn: Turn| {
            println!(
                "{round},{name},{:.0},{:.1},{:.1},{:.1},{:.1}",
                turn.per_s,
                turn.p50_ns as f64 / 1e3,
                turn.p99_ns as f64 / 1e3,
                turn.p999_ns as f64 / 1e3,
                turn.max_ns as f64 / 1e3
            );
            match cases.iter_mut().find(|c| c.0 == name) {
                Some(case) => case.1.push(turn),
                None => cases.push((name, vec![turn])),
            }
        };
        for way in ways.of(&ways.raw) {
            let name = format!("raw {} {}", way.0, way.1.name());
            record(name, raw(&directory, way, time)?);
        }
        for &writer in &writers {
            for &jobs in &jobs {
                for way in ways.of(&ways.commits) {
                    let huge_pages = ways.huge_pages;
                    let options = Options {
                        log_writer: writer,
                        sync_method: way.0,
                        io: way.1,
                        huge_pages,
                        ..Options::default()
                    };
                    let turn = commits(&directory, options, jobs, time)?;
                    let (method, io) = (way.0, way.1.name());
                    record(format!("{writer} {jobs} {method} {io}"), turn);
                }
            }
        }
    }
    summary(&cases);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn summary(cases: &[(String, Vec<Turn>)]) {
    let median = |turns: &[Turn], of: &dyn Fn(&Turn) -> f64| {
        let mut values: Vec<f64> = turns.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        (values[last / 2], values[0], values[last])
    };
    let p50 = |t: &Turn| t.p50_ns as f64;
    let raw = cases.iter().filter(|c| c.0.starts_with("raw"));
    let best = raw.min_by(|a, b| median(&a.1, &p50).0.total_cmp(&median(&b.1, &p50).0));
    let Some((name, floor)) = best else { return };
    println!("# floor: {name}");
    println!("# case: p50 over the floor's, rate over the floor's: median (least to most)");
    for (case, turns) in cases {
        let pairs = || turns.iter().zip(floor);
        let mut slower: Vec<f64> = pairs().map(|(t, f)| p50(t) / p50(f)).collect();
        let mut faster: Vec<f64> = pairs().map(|(t, f)| t.per_s / f.per_s).collect();
        slower.sort_by(f64::total_cmp);
        faster.sort_by(f64::total_cmp);
        let last = slower.len() - 1;
        println!(
            "# {case}: {:.3} ({:.3} to {:.3}), {:.2} ({:.2} to {:.2}), {:.0}/s",
            slower[last / 2],
            slower[0],
            slower[last],
            faster[last / 2],
            faster[0],
            faster[last],
            median(turns, &|t| t.per_s).0
        );
    }
}

fn turn(times: &Histogram, elapsed: Duration) -> Turn {
    Turn {
        per_s: times.count() as f64 / elapsed.as_secs_f64(),
        p50_ns: times.quantile_raw(0.5),
        p99_ns: times.quantile_raw(0.99),
        p999_ns: times.quantile_raw(0.999),
        max_ns: times.max(),
    }
}

/// Raw durable writes of one block to the log's own first file, through the same back end.
fn raw(
    directory: &Path,
    (method, io): (SyncMethod, IoEngine),
    time: Duration,
) -> Result<Turn, AnyError> {
    let path = Paths::new(directory).logs(1).remove(0);
    let files = FileSet::open(&[path], SHAPE.file_bytes, method)?;
    let device: Box<dyn LogDevice> = match io {
        IoEngine::IoUring => {
            let uring = UringOptions::default();
            uring.check()?;
            Box::new(UringFiles::new(files, uring))
        }
        IoEngine::Threads | IoEngine::Auto => Box::new(files),
    };
    let region = Arc::new(Region::new(4096)?);
    region.fill(0, &pool(9, 4096));
    let mut queue = device.queue(region)?;
    let durable = device.caps().durable_writes;
    let mut times = Histogram::new();
    let mut done = Vec::with_capacity(2);
    let mut addr = 4096;
    let start = Instant::now();
    while start.elapsed() < time {
        let before = Instant::now();
        let pieces = [Piece { at: 0, len: 4096 }, Piece::default()];
        let write = OpKind::Write { addr, pieces };
        let kinds: &[OpKind] = if durable {
            &[write]
        } else {
            &[write, OpKind::Flush]
        };
        for kind in kinds {
            queue.submit(&[Op { id: 1, kind: *kind }]);
            done.clear();
            queue.poll(&mut done, true);
            done[0].result.map_err(|e| e.to_string())?;
        }
        times.record(before.elapsed().as_nanos() as u64);
        addr = 4096 + (addr - 4096 + 4096) % (SHAPE.file_bytes - 8192);
    }
    Ok(turn(&times, start.elapsed()))
}

fn commits(
    directory: &Path,
    options: Options,
    jobs: u32,
    time: Duration,
) -> Result<Turn, AnyError> {
    // The raw turns wrote over the first log: begin anew, as a new log would.
    std::fs::remove_dir_all(directory)?;
    std::fs::create_dir_all(directory)?;
    Log::create(directory, SHAPE, &|_, _| {}, &|| false)?;
    let log = Arc::new(Log::open(directory, options)?.0);
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| {
        for fallback in &log.back_end().fallbacks {
            println!("# done without: {fallback}");
        }
    });
    let stop = Arc::new(AtomicBool::new(false));
    let barrier = Arc::new(Barrier::new(jobs as usize + 1));
    let bytes = pool(1, 1 << 20);
    let threads: Vec<_> = (0..jobs)
        .map(|job| {
            let (stop, barrier) = (Arc::clone(&stop), Arc::clone(&barrier));
            let mut session = log.session();
            let mut generator = Generator::new(bytes.clone(), job, 1);
            std::thread::spawn(move || -> Result<Histogram, redo::Error> {
                let mut times = Histogram::new();
                barrier.wait();
                while !stop.load(Ordering::Relaxed) {
                    let before = Instant::now();
                    generator.next_transaction();
                    let (stamp, body) = generator.record(0, RECORD_BYTES);
                    session.append(&[&stamp, body])?;
                    session.commit(CommitMode::WAIT_IMMEDIATE)?;
                    times.record(before.elapsed().as_nanos() as u64);
                }
                Ok(times)
            })
        })
        .collect();
    barrier.wait();
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
    let mut all = Histogram::new();
    for thread in threads {
        all.merge(&thread.join().map_err(|_| "a job panicked")??);
    }
    Ok(turn(&all, start.elapsed()))
}
