//! The log writer's thread on each processor against wherever the scheduler puts it, under load and
//! beside busy loops, interleaved in one process. See experiments/placement.
//!
//! `cargo bench -p redolab-redo --bench placement -- [DIRECTORY] [ROUNDS] [SECONDS] [LOOPS]`
//!
//! `LOOPS` is the number of processes that only compute meanwhile. In a group (a log writer with a
//! number of sessions) the first case is unpinned, and the others are compared with it in each
//! round.

mod common;

use common::{AnyError, cpu_us, ratios, waited_for};
use redo::{Log, LogWriter, Options, Shape};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const SHAPE: Shape = Shape::new().groups(3).file_bytes(128 << 20);
const RECORD_BYTES: u32 = 2000;
/// What makes this program one that only computes.
const SPIN: &str = "spin";

/// One way of running the log.
#[derive(Clone)]
struct Case {
    jobs: u32,
    writer: LogWriter,
    /// The only processor of the log writer's threads, if it is pinned.
    cpu: Option<usize>,
}

impl Case {
    fn place(&self) -> String {
        self.cpu.map_or("any".to_owned(), |cpu| cpu.to_string())
    }

    fn is_group_of(&self, other: &Case) -> bool {
        (self.jobs, self.writer) == (other.jobs, other.writer)
    }
}

/// What one turn gave.
struct Turn {
    per_s: f64,
    p50_us: f64,
    p99_us: f64,
    cpu_us: f64,
}

/// A process that only computes, until this is dropped.
struct Spinning(Child);

impl Drop for Spinning {
    fn drop(&mut self) {
        // It is gone already if this fails.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let first = args.next();
    if first.as_deref() == Some(SPIN) {
        loop {
            std::hint::black_box(0);
        }
    }
    let directory = common::folder(first, "placement-bench")?;
    let rounds: usize = args.next().map_or(Ok(5), |r| r.parse())?;
    let time = Duration::from_secs_f64(args.next().map_or(Ok(0.5), |s| s.parse())?);
    let loops: usize = args.next().map_or(Ok(0), |l| l.parse())?;
    let cases = cases()?;
    std::fs::create_dir_all(&directory)?;
    Log::builder(&directory).shape(SHAPE).create()?;
    let _spinning: Vec<Spinning> = (0..loops).map(|_| spin()).collect::<Result<_, _>>()?;
    let mut turns: Vec<Vec<Turn>> = cases.iter().map(|_| Vec::new()).collect();
    println!("loops,round,writer,jobs,cpu,per_s,p50_us,p99_us,cpu_us_per_commit");
    for round in 0..rounds {
        for at in 0..cases.len() {
            // Every second round the other way around: what drifts falls on all alike.
            let at = if round % 2 == 0 {
                at
            } else {
                cases.len() - 1 - at
            };
            let case = &cases[at];
            let t = turn(&directory, case, time)?;
            println!(
                "{loops},{round},{},{},{},{:.0},{:.1},{:.1},{:.2}",
                case.writer,
                case.jobs,
                case.place(),
                t.per_s,
                t.p50_us,
                t.p99_us,
                t.cpu_us
            );
            turns[at].push(t);
        }
    }
    summary(&cases, &turns);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn cases() -> Result<Vec<Case>, AnyError> {
    let cpus = device::cpus::allowed()?;
    let mut cases = Vec::new();
    for writer in [LogWriter::Lgwr, LogWriter::Adaptive] {
        for jobs in [1, 8, 64] {
            let places = std::iter::once(None).chain(cpus.iter().copied().map(Some));
            cases.extend(places.map(|cpu| Case { jobs, writer, cpu }));
        }
    }
    Ok(cases)
}

fn spin() -> Result<Spinning, AnyError> {
    let mut command = Command::new(std::env::current_exe()?);
    let child = command.arg(SPIN).stdin(Stdio::null()).stdout(Stdio::null());
    Ok(Spinning(child.spawn()?))
}

fn turn(directory: &Path, case: &Case, time: Duration) -> Result<Turn, AnyError> {
    let options = Options::default()
        .log_writer(case.writer)
        .log_writer_cpus(case.cpu.into_iter().collect());
    let log = Arc::new(Log::builder(directory).options(options).open()?.0);
    let before = cpu_us();
    let (times, took) = waited_for(&log, case.jobs, RECORD_BYTES, time)?;
    let cpu = cpu_us() - before;
    // The next opening has nothing to read.
    log.checkpoint(log.durable())?;
    let commits = times.count().max(1) as f64;
    let us = |q: f64| times.quantile_raw(q) as f64 / 1e3;
    Ok(Turn {
        per_s: commits / took.as_secs_f64(),
        p50_us: us(0.5),
        p99_us: us(0.99),
        cpu_us: cpu / commits,
    })
}

/// Each case over the unpinned one of its group, paired by round.
fn summary(cases: &[Case], turns: &[Vec<Turn>]) {
    println!("# pinned over unpinned: rate, p50, p99, CPU per commit (least to most)");
    for (case, own) in cases.iter().zip(turns) {
        let first = cases.iter().position(|c| c.is_group_of(case));
        let Some(base) = first.map(|at| &turns[at]) else {
            continue;
        };
        let ratio = |of: &dyn Fn(&Turn) -> f64| ratios(own, base, of);
        println!(
            "# {} {} sessions on {}: {}, {}, {}, {}",
            case.writer,
            case.jobs,
            case.place(),
            ratio(&|t| t.per_s),
            ratio(&|t| t.p50_us),
            ratio(&|t| t.p99_us),
            ratio(&|t| t.cpu_us)
        );
    }
}
