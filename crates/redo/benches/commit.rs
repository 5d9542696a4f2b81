//! Durable commits of 2,000 bytes against the raw floor of the same files, interleaved in one
//! process: one, eight and 64 jobs, inline leader and dedicated log writer. See
//! experiments/commit-against-floor.
//!
//! `cargo bench -p redolab-redo --bench commit -- [DIRECTORY] [ROUNDS] [SECONDS] [JOBS] [WRITERS]`
//! (JOBS as 1,8,64; WRITERS as inline,lgwr,workers=2,workers=3,workers=4,adaptive)
//!
//! `--pin any,0,1`: each round runs once with the threads free and once with all of them on each of
//! these processors (without it: any). The disk's interrupts go to one processor, and being on it
//! is worth more than what is compared, so each is compared with its own floor: the raw method with
//! the least p50 on the same processor, in the same round, on the same files and memory.
//!
//! Anywhere among them: `--io threads,io_uring` and `--sync direct,direct-dsync` name the engines
//! and sync methods that commits and raw writes are made with (without them: threads, direct for
//! commits, every method for raw writes); `--huge-pages` puts the log buffer in huge pages.

mod common;

use common::{AnyError, raw_writes, waited_for};
use device::{IoEngine, SyncMethod};
use measure::Histogram;
use redo::{Log, LogWriter, Options, Shape};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const RECORD_BYTES: u32 = 2000;
const SHAPE: Shape = Shape::new().groups(3).file_bytes(256 << 20);

/// No processor in particular.
const ANY: &str = "any";

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
    /// Processors, or `any`.
    pins: Vec<String>,
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
        let pins = value("--pin")?.unwrap_or_else(|| ANY.to_owned());
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
            pins: pins.split(',').map(str::to_owned).collect(),
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
    let directory = common::folder(args.next(), "commit-bench")?;
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
    std::fs::create_dir_all(&directory)?;
    Log::builder(&directory).shape(SHAPE).create()?;
    let free = sched_getaffinity(None)?;
    let mut cases: Vec<Case> = Vec::new();
    println!("round,cpu,case,per_s,p50_us,p99_us,p999_us,max_us");
    for round in 0..rounds {
        for cpu in &ways.pins {
            pin(cpu, &free)?;
            let mut record = |name: String, turn: Turn| {
                println!(
                    "{round},{cpu},{name},{:.0},{:.1},{:.1},{:.1},{:.1}",
                    turn.per_s,
                    turn.p50_ns as f64 / 1e3,
                    turn.p99_ns as f64 / 1e3,
                    turn.p999_ns as f64 / 1e3,
                    turn.max_ns as f64 / 1e3
                );
                match cases.iter_mut().find(|c| c.cpu == *cpu && c.name == name) {
                    Some(case) => case.turns.push(turn),
                    None => cases.push(Case {
                        cpu: cpu.clone(),
                        name,
                        turns: vec![turn],
                    }),
                }
            };
            for way in ways.of(&ways.raw) {
                let name = format!("raw {} {}", way.0, way.1.name());
                record(name, raw(&directory, way, ways.huge_pages, time)?);
            }
            for &writer in &writers {
                for &jobs in &jobs {
                    for way in ways.of(&ways.commits) {
                        let options = Options::default()
                            .log_writer(writer)
                            .sync_method(way.0)
                            .io(way.1)
                            .huge_pages(ways.huge_pages);
                        let turn = commits(&directory, options, jobs, time)?;
                        let (method, io) = (way.0, way.1.name());
                        record(format!("{writer} {jobs} {method} {io}"), turn);
                    }
                }
            }
        }
    }
    for cpu in &ways.pins {
        let here: Vec<&Case> = cases.iter().filter(|c| c.cpu == *cpu).collect();
        summary(cpu, &here);
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// The rounds of a case on a processor.
struct Case {
    cpu: String,
    name: String,
    turns: Vec<Turn>,
}

/// Has this thread, and those that it starts, run on the processor of that number, or on any.
fn pin(cpu: &str, free: &CpuSet) -> Result<(), AnyError> {
    let mut set = *free;
    if cpu != ANY {
        set.clear();
        set.set(cpu.parse()?);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Each case over the best raw write of its round.
fn summary(cpu: &str, cases: &[&Case]) {
    let raw: Vec<&&Case> = cases.iter().filter(|c| c.name.starts_with("raw")).collect();
    println!("# processor {cpu}: p50, p99.9 and rate over the best raw write's of the round:");
    for case in cases {
        let over = |of: &dyn Fn(&Turn) -> f64| {
            let rounds = case.turns.iter().enumerate().filter_map(|(round, turn)| {
                let here = raw.iter().filter_map(|r| r.turns.get(round));
                let floor = here.min_by_key(|t| t.p50_ns)?;
                Some(of(turn) / of(floor))
            });
            let mut all: Vec<f64> = rounds.collect();
            all.sort_by(f64::total_cmp);
            let last = all.len().saturating_sub(1);
            let at = |index: usize| all.get(index).copied().unwrap_or(f64::NAN);
            format!("{:.3} ({:.3} to {:.3})", at(last / 2), at(0), at(last))
        };
        println!(
            "# {}: {}, {}, {}",
            case.name,
            over(&|t| t.p50_ns as f64),
            over(&|t| t.p999_ns as f64),
            over(&|t| t.per_s)
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

/// A turn of raw durable writes of one block.
fn raw(
    directory: &Path,
    way: (SyncMethod, IoEngine),
    huge_pages: bool,
    time: Duration,
) -> Result<Turn, AnyError> {
    let (times, elapsed) = raw_writes(directory, SHAPE, way, (4096, huge_pages), time)?;
    Ok(turn(&times, elapsed))
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
    Log::builder(directory).shape(SHAPE).create()?;
    let log = Arc::new(Log::builder(directory).options(options).open()?.0);
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| {
        for fallback in &log.back_end().fallbacks {
            println!("# done without: {fallback}");
        }
    });
    let (times, elapsed) = waited_for(&log, jobs, RECORD_BYTES, time)?;
    Ok(turn(&times, elapsed))
}
